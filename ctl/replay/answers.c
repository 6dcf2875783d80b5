/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/replay/answers.h"

#include "core/world/search_again.h"
#include "ctl/replay/recording.h"
#include "ctl/term/ctl.h"
#include "ipc/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answers {
	struct answers_counts counts;
	struct search_again *again;
	struct record **all; /* by position, then as they were recorded */
	size_t cap;
	uint64_t n, next;
	uint64_t position; /* records applied */
};

static const struct event_answer *body_of(const struct record *r)
{
	return (const struct event_answer *)(const void *)(r + 1);
}

/* They come in the order of their positions within an epoch, and epochs do not overlap: insertion.
 */
static void add(struct answers *a, const struct record *r)
{
	uint64_t at = a->n;
	struct record *copy = must_alloc(r->bytes);

	memcpy(copy, r, r->bytes);
	a->all = must_reach(a->all, &a->cap, a->n, 64, sizeof(struct record *));
	for (; at > 0 && body_of(a->all[at - 1])->position > body_of(copy)->position; at--)
		a->all[at] = a->all[at - 1];
	a->all[at] = copy;
	a->n++;
}

int answers_read(struct answers **out, const char *path, char *error, size_t error_bytes)
{
	struct answers *a = must_alloc(sizeof(*a));
	struct recording r = { 0 };
	struct recording_step step;
	int rc = recording_open(&r, path), more = 0;

	while (rc == EXIT_DONE && (more = recording_next(&r, &step)) > 0)
		if (step.record->kind == EVENT_ANSWER && step.error == 0)
			add(a, step.record);
	if (rc == EXIT_DONE && more < 0)
		rc = EXIT_USAGE;
	if (rc == EXIT_DONE)
		a->again = search_again_new(&r.head.limits);
	else
		snprintf(error, error_bytes, "%s", r.error);
	recording_close(&r);
	a->counts.answers = a->n;
	*out = a;
	return rc;
}

void answers_free(struct answers *a)
{
	for (uint64_t i = 0; i < a->n; i++)
		free(a->all[i]);
	free(a->all);
	search_again_free(a->again);
	free(a);
}

static const char *verdict_text(uint32_t verdict)
{
	static const char *const texts[ANSWER_VERDICTS] = { "victims", "free",   "impossible", "never",
		                                                "gave up", "packed", "unasked" };

	return verdict < ANSWER_VERDICTS ? texts[verdict] : "?";
}

/* All but the steps: they depend on what was searched in the same core before. */
static bool is_equal(const struct record *recorded, const struct record *here)
{
	struct event_answer x = *body_of(recorded), y = *body_of(here);

	x.steps = y.steps = 0;
	return recorded->bytes == here->bytes && memcmp(&x, &y, sizeof(x)) == 0 &&
	       memcmp(body_of(recorded) + 1, body_of(here) + 1,
	              here->bytes - sizeof(*here) - sizeof(x)) == 0;
}

static void compare(struct answers *a, const struct record *recorded, const struct record *here)
{
	const struct event_answer *x = body_of(recorded), *y = here ? body_of(here) : NULL;

	if (here && is_equal(recorded, here)) {
		a->counts.equal++;
		return;
	}
	if (search_again_was_cut(x)) {
		a->counts.cut++;
		return;
	}
	if (a->counts.differ++ > 0)
		return;
	if (!y)
		snprintf(a->counts.difference, sizeof(a->counts.difference),
		         "ticket %" PRIu64 ", after %" PRIu64
		         " records: recorded %s; here there is no such ticket",
		         x->ticket, x->position, verdict_text(x->verdict));
	else
		snprintf(a->counts.difference, sizeof(a->counts.difference),
		         "ticket %" PRIu64 ", after %" PRIu64
		         " records: recorded %s, %u victims, %u places; here %s, %u victims, %u places",
		         x->ticket, x->position, verdict_text(x->verdict), x->victims_n, x->places_n,
		         verdict_text(y->verdict), y->victims_n, y->places_n);
}

void answers_follow(struct answers *a, const struct core *core, const struct record *r, int rc)
{
	a->position++;
	search_again_follow(a->again, r, rc);
	for (; a->next < a->n && body_of(a->all[a->next])->position <= a->position; a->next++) {
		const struct event_answer *e = body_of(a->all[a->next]);
		struct record *here = e->position == a->position
		                          ? search_again(a->again, core, e->ticket, e->position)
		                          : NULL;

		compare(a, a->all[a->next], here);
		free(here);
	}
}

const struct answers_counts *answers_counts(const struct answers *a)
{
	return &a->counts;
}
