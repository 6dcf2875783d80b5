/* SPDX-License-Identifier: Apache-2.0 */
/* /gang.json: one gang, why it waits, its members and the gangs before it. */
#include "frontend/page/answer_impl.h"

#include "frontend/dialect/reason.h"
#include "ipc/states.h"

#include <stdlib.h>
#include <string.h>

#define BEFORE_SHOWN 10u
#define PODS_BYTES (ANSWER_BYTES_MAX - ((size_t)64 << 10))

/* Amounts as `explain` has them: what it needs, what its members can use, what is free at all. */
static void add_shortfalls(const struct answer_source *s, const struct reason *r,
                           struct jsonout *out)
{
	struct usage_figures *usage = must_alloc(sizeof(*usage));
	char name[OBSERVE_NAME_MAX];

	usage_read(usage, s->ledger);
	jsonout_add(out, ",\"shortfalls\":[");
	for (uint32_t i = 0; i < r->shortfalls_n && i < SHORTFALLS_MAX; i++) {
		const struct shortfall *f = &r->shortfalls[i];
		const struct usage_row *row = usage_pieces(usage, r, f);

		jsonout_add(out, i > 0 ? ",{\"resource\":@s" : "{\"resource\":@s",
		            observe_name(s->ledger, f->resource, name));
		answer_number(out, ",\"need\":@r", f->need);
		answer_number(out, ",\"have\":@r", f->have);
		if (usage_is_short(r, f->resource))
			jsonout_add(out, ",\"short\":true");
		if (row) {
			answer_number(out, ",\"free\":@r", (int64_t)row->free);
			answer_number(out, ",\"largest_free\":@r", (int64_t)row->largest_free);
		}
		jsonout_add(out, "}");
	}
	jsonout_add(out, "]");
	free(usage);
}

static void add_rules(const struct answer_source *s, const struct reason *r, struct jsonout *out)
{
	struct reason_names names = reason_names_of(s->model);

	jsonout_add(out, ",\"nodes_n\":@u,\"rules\":[", (ull)r->nodes);
	for (uint32_t i = 0; i < r->counts_n && i < FILTER_COUNTS_MAX; i++) {
		char text[512];

		reason_node_text(r->counts[i].why, r->counts[i].arg, &names, text, sizeof(text));
		jsonout_add(out, i > 0 ? ",{\"reason\":@s,\"nodes\":@u}" : "{\"reason\":@s,\"nodes\":@u}",
		            text, (ull)r->counts[i].nodes);
	}
	jsonout_add(out, "]");
}

/* The nearest ones, first of the queue first. */
static void add_before(const struct answer_source *s, const struct gang_list *l,
                       const struct gang_place *place, struct jsonout *out)
{
	const uint32_t first = place->position > BEFORE_SHOWN ? place->position - BEFORE_SHOWN : 1;
	const struct gang_place *before[BEFORE_SHOWN] = { NULL };
	bool begun = false;

	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].position >= first && l->at[i].position < place->position)
			before[l->at[i].position - first] = &l->at[i];
	jsonout_add(out, ",\"queued\":@u,\"before_n\":@u,\"before\":[", (ull)l->queued,
	            (ull)(place->position > 0 ? place->position - 1 : 0));
	for (size_t i = 0; i < BEFORE_SHOWN; i++) {
		const struct gang_place *p = before[i];

		if (!p)
			continue;
		jsonout_add(out,
		            begun ? ",{\"gang\":@s,\"state\":@s,\"position\":@u,\"members\":@u"
		                  : "{\"gang\":@s,\"state\":@s,\"position\":@u,\"members\":@u",
		            p->name, gang_state_text(p->state), (ull)p->position, (ull)p->members);
		begun = true;
		answer_number(out, ",\"priority\":@r", p->key.priority);
		jsonout_add(out, ",\"waited_s\":@u}", (ull)answer_since_s(p->waiting_since_ns, s->wall_ns));
	}
	jsonout_add(out, "]");
}

struct members {
	const struct answer_source *s;
	struct jsonout *out;
	size_t n, told;
	uint64_t first_ns; /* when the first of those with times was read; 0: none */
};

static void note_first(void *context, const struct pod_view *pod)
{
	struct members *m = context;
	struct latency_times t;

	if (m->s->latency &&
	    latency_times(m->s->latency, pod->id, pod->generation, m->s->metrics->taken_ns, &t) &&
	    (m->first_ns == 0 || t.read_ns < m->first_ns))
		m->first_ns = t.read_ns;
}

/* Microseconds: of its start, after the first member; then of each stage that it reached. */
static void add_times(struct members *m, const struct pod_view *pod)
{
	struct latency_times t;

	if (!m->s->latency ||
	    !latency_times(m->s->latency, pod->id, pod->generation, m->s->metrics->taken_ns, &t))
		return;
	jsonout_add(m->out, ",\"start_us\":@u,\"at\":@s,\"us\":[",
	            (ull)((t.read_ns - m->first_ns) / 1000), stage_names[t.stage]);
	for (uint32_t i = STAGE_EXTRACT; i <= STAGE_BIND && i <= t.stage; i++)
		jsonout_add(m->out, i > 0 ? ",@u" : "@u", (ull)(t.ns[i] / 1000));
	jsonout_add(m->out, "]");
}

static void add_member(void *context, const struct pod_view *pod)
{
	struct members *m = context;

	m->n++;
	if (m->told >= ANSWER_PODS || m->out->bytes >= PODS_BYTES)
		return;
	jsonout_add(m->out,
	            m->told++ > 0 ? ",\n{\"pod\":@s,\"node\":@s,\"stage\":@s"
	                          : "{\"pod\":@s,\"node\":@s,\"stage\":@s",
	            pod->name, *pod->node ? pod->node : pod->binding, answer_stage(pod));
	jsonout_add(m->out, ",\"age_s\":@u", (ull)answer_since_s(pod->created_ns, m->s->wall_ns));
	if (*pod->refusal)
		jsonout_add(m->out, ",\"refusal\":@b", pod->refusal);
	add_times(m, pod);
	jsonout_add(m->out, "}");
}

static void add_members(const struct answer_source *s, const struct gang_copy *g, gang_id id,
                        struct jsonout *out)
{
	struct members m = { .s = s, .out = out };

	jsonout_add(out, ",\"stages\":[");
	for (uint32_t i = STAGE_EXTRACT; i <= STAGE_BIND; i++)
		jsonout_add(out, i > 0 ? ",[@s,@s]" : "[@s,@s]", stage_names[i], stage_texts[i]);
	jsonout_add(out, "],\"pods\":[");
	/* A ledger and a model of different times may have another gang there. */
	if (model_gang_generation(s->model, id) == g->row.generation) {
		model_gang_members(s->model, id, note_first, &m);
		model_gang_members(s->model, id, add_member, &m);
	}
	jsonout_add(out, "],\"pods_n\":@u", (ull)m.n);
	if (m.first_ns > 0)
		jsonout_add(out, ",\"start_unix_us\":@u,\"start_boot_us\":@u",
		            (ull)((s->wall_ns - (s->metrics->taken_ns - m.first_ns)) / 1000),
		            (ull)(m.first_ns / 1000));
}

static bool is_owner_of_reservation(const struct observer *o, gang_id id)
{
	return observe_count(&o->ledger->gauges.reserved_gang) == (uint64_t)id + 1;
}

static void write_gang(const struct answer_source *s, const struct gang_list *l,
                       const struct gang_place *place, struct jsonout *out)
{
	struct gang_copy *g = must_alloc(sizeof(*g));
	struct gang_view view;

	if (!observe_gang(s->ledger, place->id, g)) {
		free(g);
		return;
	}
	answer_gang_row(s, g, place, out);
	if (model_gang(s->model, place->id, g->row.generation, &view))
		jsonout_add(out, ",\"owners\":@b,\"scheduler\":@s", view.owners, view.scheduler_name);
	if (is_owner_of_reservation(s->ledger, place->id))
		jsonout_add(out, ",\"reserved\":true");
	if (!gang_state_is_done(g->row.state) && g->row.reason.why != WAIT_NONE) {
		add_shortfalls(s, &g->row.reason, out);
		add_rules(s, &g->row.reason, out);
	}
	add_before(s, l, place, out);
	add_members(s, g, place->id, out);
	jsonout_add(out, "}\n");
	free(g);
}

bool answer_gang(const struct answer_source *s, const struct question *q, struct jsonout *out)
{
	struct gang_list l = { 0 };

	if (s->ledger)
		l = gang_list_read(s->ledger);
	for (size_t i = 0; i < l.n && out->bytes == 0; i++)
		if (strcmp(l.at[i].name, q->name) == 0)
			write_gang(s, &l, &l.at[i], out);
	gang_list_free(&l);
	return out->bytes > 0;
}
