/* SPDX-License-Identifier: Apache-2.0 */
/* /queues.json: what the queues have, in pieces, and the starts that are promised, the earliest
 * first: of gangs; lone pods have no row in the ledger. */
#include "frontend/page/answer_impl.h"

#include "frontend/queues/queues.h"
#include "ipc/queue_names.h"

#include <stdlib.h>
#include <string.h>

#define RESOURCES_SHOWN 8u
/* The last rows are left out before the answer is too long. */
#define QUEUES_BYTES (ANSWER_BYTES_MAX - ((size_t)64 << 10))

/* A queue in the list. */
struct queue_place {
	uint32_t id, depth;
	char *path;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct queue_place *)a)->path, ((const struct queue_place *)b)->path);
}

/* What the bar of a resource is measured by: the limit, else all there is. */
static void add_amounts(const struct observer *o, const struct queue_copy *q,
                        const struct usage_figures *usage, struct jsonout *out)
{
	char name[OBSERVE_NAME_MAX];
	uint32_t shown = 0;

	jsonout_add(out, ",\"resources\":[");
	for (uint32_t r = 0; r < o->places.limits.resources && shown < RESOURCES_SHOWN; r++) {
		const struct queue_amounts *a = &q->amounts[r];
		const int64_t all = r < usage->n ? (int64_t)usage->rows[r].allocatable : 0;

		if (r == RESOURCE_PODS || (a->used == 0 && a->guarantee == 0 && a->asked == 0 &&
		                           (a->limit == QUEUE_NO_LIMIT || a->limit >= all)))
			continue;
		jsonout_add(out, shown++ > 0 ? ",{\"name\":@s" : "{\"name\":@s", observe_name(o, r, name));
		answer_number(out, ",\"used\":@r", a->used);
		answer_number(out, ",\"guarantee\":@r", a->guarantee);
		answer_number(out, ",\"asked\":@r", a->asked);
		answer_number(out, ",\"all\":@r", all);
		if (a->limit != QUEUE_NO_LIMIT)
			answer_number(out, ",\"limit\":@r", a->limit);
		jsonout_add(out, "}");
	}
	jsonout_add(out, "]");
}

static void add_queue(const struct observer *o, const struct queue_place *p,
                      const struct queue_copy *q, const struct usage_figures *usage,
                      struct jsonout *out)
{
	static const char *const states[QUEUE_STATES] = { "Open", "Closing", "Closed" };
	const struct queue_row *row = &q->row;
	char share[40];

	jsonout_add(out, "{\"queue\":@s,\"path\":@s,\"depth\":@u,\"source\":@s,\"state\":@s", row->name,
	            p->path, (ull)p->depth,
	            row->source < QUEUE_SOURCES ? queue_sources[row->source] : "unknown",
	            row->flags & QUEUE_ROW_PARKED ? "Parked" : states[row->state % QUEUE_STATES]);
	jsonout_add(out, ",\"waiting\":@u,\"placed\":@u,\"first\":@s", (ull)row->waiting,
	            (ull)row->placed, row->first);
	if (row->share != QUEUE_SHARE_INFINITE) {
		snprintf(share, sizeof(share), "%.6g", (double)row->share / (double)QUEUE_SHARE_ONE);
		jsonout_add(out, ",\"share\":@r", share);
	}
	add_amounts(o, q, usage, out);
	jsonout_add(out, "}");
}

static void add_queues(const struct observer *o, const struct question *q, struct jsonout *out)
{
	const uint32_t most = q->count > 0 && q->count < ANSWER_QUEUES ? q->count : ANSWER_QUEUES;
	struct queue_names names = queue_names_read(o);
	struct queue_place *places = must_array(names.n + 1u, sizeof(*places));
	struct usage_figures *usage = must_alloc(sizeof(*usage));
	struct queue_copy *copy = must_alloc(sizeof(*copy));
	size_t n = 0, told = 0;

	usage_read(usage, o);
	for (uint32_t id = 0; id < names.n; id++)
		if (queue_names_find(&names, id)) {
			places[n].id = id;
			places[n].path = queue_names_path(&names, id, &places[n].depth);
			n++;
		}
	qsort(places, n, sizeof(*places), by_path);
	for (size_t i = q->from; i < n && told < most && out->bytes < QUEUES_BYTES; i++) {
		if (!observe_queue(o, places[i].id, copy))
			continue;
		jsonout_add(out, told++ > 0 ? ",\n" : "");
		add_queue(o, &places[i], copy, usage, out);
	}
	jsonout_add(out, "],\"queues_n\":@u,\"told\":@u", (ull)n, (ull)told);
	for (size_t i = 0; i < n; i++)
		free(places[i].path);
	free(places);
	free(usage);
	free(copy);
	queue_names_free(&names);
}

/* A gang with a promised start. */
struct start_place {
	gang_id id;
	uint64_t at_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct start_place *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_promised(const struct gang_copy *g)
{
	return g->row.placement == GANG_WAITING && g->row.reason.promised.at_ns > 0;
}

static void add_start(const struct answer_source *s, const struct gang_copy *g, gang_id id,
                      struct jsonout *out)
{
	const struct promised *p = &g->row.reason.promised;
	const char *queue = model_gang_queue(s->model, id);

	jsonout_add(out, "{\"gang\":@s,\"queue\":@s,\"at_ms\":@u,\"first_ms\":@u", g->name,
	            queue ? queue : "", (ull)(p->at_ns / NS_PER_MS), (ull)(p->first_ns / NS_PER_MS));
	jsonout_add(out, ",\"earlier\":@u,\"later\":@u,\"soft\":@r,\"nodes\":@u,\"members\":@u}",
	            (ull)p->earlier, (ull)p->later, p->flags & PROMISE_SOFT ? "true" : "false",
	            (ull)p->nodes_n, (ull)g->row.members);
}

static void add_starts(const struct answer_source *s, struct jsonout *out)
{
	const uint32_t there = observe_gangs_there(s->ledger);
	struct gang_copy *one = must_alloc(sizeof(*one));
	struct start_place *starts = NULL;
	size_t n = 0, cap = 0, told = 0;

	for (gang_id id = 0; id < there; id++)
		if (observe_gang(s->ledger, id, one) && is_promised(one)) {
			starts = must_reach(starts, &cap, n, 64, sizeof(*starts));
			starts[n++] = (struct start_place){ .id = id, .at_ns = one->row.reason.promised.at_ns };
		}
	if (n > 1)
		qsort(starts, n, sizeof(*starts), by_start);
	for (size_t i = 0; i < n && told < ANSWER_STARTS && out->bytes < QUEUES_BYTES; i++) {
		if (!observe_gang(s->ledger, starts[i].id, one) || !is_promised(one))
			continue;
		jsonout_add(out, told++ > 0 ? ",\n" : "");
		add_start(s, one, starts[i].id, out);
	}
	jsonout_add(out, "],\"starts_n\":@u", (ull)n);
	free(starts);
	free(one);
}

bool answer_shares(const struct answer_source *s)
{
	return model_has_queues(s->model) || s->metrics->core.starts.standing > 0;
}

void answer_queues(const struct answer_source *s, const struct question *q, struct jsonout *out)
{
	jsonout_add(out, "{\"wall_ms\":@u,\"from\":@u,\"queues\":[", (ull)(s->wall_ns / NS_PER_MS),
	            (ull)q->from);
	if (s->ledger && model_has_queues(s->model))
		add_queues(s->ledger, q, out);
	else
		jsonout_add(out, "],\"queues_n\":0,\"told\":0");
	jsonout_add(out, ",\"starts\":[");
	if (s->ledger && s->metrics->core.starts.standing > 0)
		add_starts(s, out);
	else
		jsonout_add(out, "],\"starts_n\":0");
	jsonout_add(out, "}\n");
}
