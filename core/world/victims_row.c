/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/victims_row.h"

#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "core/shm/ledger.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static enum victims_answer answer_of(enum gang_answer answer)
{
	switch (answer) {
	case VICTIMS_PROVED:
		return VICTIMS_ROW_PROVED;
	case VICTIMS_GAVE_UP:
		return VICTIMS_ROW_GAVE_UP;
	case VICTIMS_IMPOSSIBLE:
		return VICTIMS_ROW_IMPOSSIBLE;
	case VICTIMS_NEVER:
		return VICTIMS_ROW_NEVER;
	case VICTIMS_DEVICES:
		return VICTIMS_ROW_DEVICES;
	default: /* needless, waits; unasked: it lacks members by now */
		return VICTIMS_ROW_FITS;
	}
}

/* As its unit goes: the gang's own priority, else the highest of its bound members. */
static void row_gang(const struct core *c, const struct search_facts *facts,
                     struct victims_gang *out)
{
	const struct gang *g = &c->gangs.slots[out->gang];

	out->generation = g->generation;
	out->quorum = g->declared;
	out->start_s = START_NONE;
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (p->node == ID_NONE || !reservation_is_bound(p))
			continue;
		if (out->bound == 0 || p->priority > out->priority)
			out->priority = p->priority;
		if (facts->pods[id].start_s < out->start_s)
			out->start_s = facts->pods[id].start_s;
		out->bound++;
	}
	if (g->flags & GANG_PRIORITY)
		out->priority = g->parts->priority;
	out->broken = out->bound + facts->gangs[out->gang].succeeded >= g->declared &&
	              out->bound + facts->gangs[out->gang].succeeded - out->goes < g->declared;
}

static void row_count(const struct core *c, struct victims_row *row, pod_id pod)
{
	const struct pod *p = &c->pods.slots[pod];
	uint32_t i = 0;

	if (p->gang == ID_NONE || !gang_is_group(&c->gangs, p->gang)) {
		row->lone++;
		return;
	}
	while (i < row->gangs_n && row->gangs[i].gang != p->gang)
		i++;
	if (i == VICTIMS_GANGS)
		return;
	if (i == row->gangs_n)
		row->gangs[row->gangs_n++] = (struct victims_gang){ .gang = p->gang };
	row->gangs[i].goes++;
}

static void row_name(const struct core *c, struct victims_row *row, pod_id pod)
{
	uint32_t bytes;
	const char *name = search_pod_name(c, pod, &bytes);

	/* One byte is left for the reader's end. */
	if (row->text_bytes + bytes + 2 > VICTIMS_TEXT)
		return;
	memcpy(row->text + row->text_bytes, name, bytes);
	row->text[row->text_bytes + bytes] = '\n';
	row->text_bytes += bytes + 1;
	row->listed++;
}

/* Gangs with a member among the pods. */
static uint32_t gangs_all(const struct core *c, const struct gang_search *s)
{
	bool *seen = must_array(c->gangs.groups, sizeof(*seen));
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->objective.pods; i++) {
		const uint32_t gang = c->pods.slots[s->pods[i]].gang;

		if (gang == ID_NONE || !gang_is_group(&c->gangs, gang))
			continue;
		n += !seen[gang];
		seen[gang] = true;
	}
	free(seen);
	return n;
}

static void set_fill(const struct victims_found *f, struct victims_row *row)
{
	const struct objective *o = &f->search->objective;

	row->found = 1;
	row->violations = o->violations;
	row->highest = o->highest;
	row->broken = o->broken;
	row->sum = o->sum;
	row->pods = o->pods;
	row->start_sum = o->start_sum;
	for (uint32_t i = 0; i < o->pods; i++) {
		row_count(f->core, row, f->search->pods[i]);
		row_name(f->core, row, f->search->pods[i]);
	}
	for (uint32_t i = 0; i < row->gangs_n; i++)
		row_gang(f->core, f->facts, &row->gangs[i]);
	row->gangs_all = gangs_all(f->core, f->search);
}

/* The row but for its version. */
static void row_write(struct victims_row *row, const struct victims_row *from)
{
	const size_t head = sizeof(row->version);

	row_begin(&row->version);
	memcpy((char *)row + head, (const char *)from + head, sizeof(*row) - head);
	row_end(&row->version);
}

enum victims_answer victims_row_set(struct victims_row *row, const struct victims_found *f)
{
	struct victims_row made = { .generation = f->generation,
		                        .gang = f->gang,
		                        .answer = answer_of(f->search->answer),
		                        .searched_ns = f->core->now_ns,
		                        .steps = f->search->steps,
		                        .budgets_unknown = f->budgets_unknown,
		                        .young = f->young.pods,
		                        .young_until_s = f->young.until_s };

	assert(f->generation != 0);
	if (f->search->found)
		set_fill(f, &made);
	row_write(row, &made);
	return (enum victims_answer)made.answer;
}

void victims_row_clear(struct victims_row *row)
{
	row_write(row, &(struct victims_row){ .generation = 0 });
}
