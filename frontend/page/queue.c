/* SPDX-License-Identifier: Apache-2.0 */
/* /gangs.json: the gangs in the order of the queue or of a field, in pieces. */
#include "frontend/page/answer_impl.h"

#include "frontend/dialect/dialects.h"
#include "frontend/dialect/reason.h"
#include "ipc/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REASON_BYTES 1024u
/* The last rows are left out before the answer is too long: a byte of a name may take six. */
#define GANGS_BYTES (ANSWER_BYTES_MAX - ((size_t)64 << 10))

static int compare_keys(const struct gang_place *x, const struct gang_place *y)
{
	const int order = gang_key_compare(&x->key, &y->key);

	return order != 0 ? order : strcmp(x->name, y->name);
}

static int compare_queue(const void *a, const void *b)
{
	return compare_keys(a, b);
}

/* Waiting gangs first. */
static int compare_lists(const void *a, const void *b)
{
	const struct gang_place *x = a, *y = b;
	const uint32_t left = gang_state_rank(x->state), right = gang_state_rank(y->state);

	return left != right ? (left < right ? -1 : 1) : compare_keys(x, y);
}

static void note_usable(struct gang_list *l, const struct gang_row *row)
{
	const struct reason *r = &row->reason;

	for (uint32_t i = 0; i < r->shortfalls_n && i < SHORTFALLS_MAX; i++) {
		const struct shortfall *s = &r->shortfalls[i];

		if (s->resource < RESOURCES_MAX && usage_is_short(r, s->resource) &&
		    s->have > l->usable[s->resource])
			l->usable[s->resource] = s->have;
	}
}

static struct gang_place place_of(gang_id id, const struct gang_copy *g)
{
	return (struct gang_place){
		.id = id,
		.state = g->row.state < GANG_STATES ? g->row.state : GANG_NONE,
		.name = must_copy(g->name),
		.key = { .band = g->row.band, .priority = g->row.priority, .age_ns = g->row.created_ns },
		.members = g->row.members,
		.bound = g->row.bound,
		.position = gang_is_queued(g->row.placement, g->row.reason.why),
		.waiting_since_ns = g->row.waiting_since_ns,
	};
}

struct gang_list gang_list_read(const struct observer *o)
{
	struct gang_copy *one = must_alloc(sizeof(*one));
	struct gang_list l = { 0 };
	size_t cap = 0;

	for (size_t r = 0; r < RESOURCES_MAX; r++)
		l.usable[r] = -1;
	for (gang_id id = 0, there = observe_gangs_there(o); id < there; id++) {
		if (!observe_gang(o, id, one) ||
		    one->row.members + one->row.succeeded + one->row.failed == 0)
			continue; /* without a member of ours */
		l.at = must_reach(l.at, &cap, l.n, 256, sizeof(*l.at));
		l.at[l.n++] = place_of(id, one);
		l.states[l.at[l.n - 1].state]++;
		if (one->row.placement == GANG_WAITING)
			note_usable(&l, &one->row);
	}
	free(one);
	if (l.n > 1)
		qsort(l.at, l.n, sizeof(*l.at), compare_queue);
	for (size_t i = 0; i < l.n; i++)
		if (l.at[i].position > 0)
			l.at[i].position = (uint32_t)++l.queued;
	if (l.n > 1)
		qsort(l.at, l.n, sizeof(*l.at), compare_lists);
	return l;
}

void gang_list_free(struct gang_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i].name);
	free(l->at);
}

/* The refusal of its PodGroup, or of one of its pods. */
static void note_refusal(void *context, const struct pod_view *pod)
{
	char *text = context;

	if (text[0] == '\0')
		snprintf(text, REASON_BYTES, "%s", pod->refusal);
}

static void add_reason(const struct answer_source *s, const struct gang_copy *g, gang_id id,
                       struct jsonout *out)
{
	const struct reason *r = &g->row.reason;
	struct reason_names names = reason_names_of(s->model);
	struct reason_about about = { .gang = g->name };
	struct gang_view view;
	char refusal[REASON_BYTES] = "", text[REASON_BYTES];

	if (model_gang(s->model, id, g->row.generation, &view)) {
		about.texts = view.texts;
		snprintf(refusal, sizeof(refusal), "%s", view.refusal);
		if (refusal[0] == '\0' && r->why == WAIT_REFUSED)
			model_gang_pending(s->model, id, note_refusal, refusal);
	}
	about.refusal = refusal;
	about.queue = model_gang_queue(s->model, id);
	reason_text(r, &about, &names, text, sizeof(text));
	jsonout_add(out, ",\"reason\":@s,\"need\":@u,\"fit\":@u", text, (ull)r->need, (ull)r->fit);
}

/* The resource of which the least part of the need is there. */
static void add_lack(const struct observer *o, const struct reason *r, struct jsonout *out)
{
	const struct shortfall *worst = NULL;
	char name[OBSERVE_NAME_MAX];

	for (uint32_t i = 0; i < r->shortfalls_n && i < SHORTFALLS_MAX; i++) {
		const struct shortfall *s = &r->shortfalls[i];

		if (s->need > 0 && s->have < s->need && usage_is_short(r, s->resource) &&
		    (!worst ||
		     (double)s->have * (double)worst->need < (double)worst->have * (double)s->need))
			worst = s;
	}
	if (!worst)
		return;
	jsonout_add(out, ",\"lack\":{\"resource\":@s", observe_name(o, worst->resource, name));
	answer_number(out, ",\"need\":@r", worst->need);
	answer_number(out, ",\"have\":@r}", worst->have);
}

void answer_gang_row(const struct answer_source *s, const struct gang_copy *g,
                     const struct gang_place *place, struct jsonout *out)
{
	const struct gang_row *row = &g->row;

	jsonout_add(
		out,
		"{\"gang\":@s,\"state\":@s,\"dialect\":@s,\"quorum\":@u,\"members\":@u,\"placed\":@u,"
		"\"succeeded\":@u,\"failed\":@u",
		g->name, gang_state_text(row->state),
		row->dialect < dialects_n ? dialects[row->dialect]->name : "unknown", (ull)row->quorum,
		(ull)row->members, (ull)row->bound, (ull)row->succeeded, (ull)row->failed);
	answer_number(out, ",\"priority\":@r", row->priority);
	jsonout_add(out, ",\"age_s\":@u", (ull)answer_since_s(row->created_ns, s->wall_ns));
	if (place->position > 0)
		jsonout_add(out, ",\"position\":@u", (ull)place->position);
	if (row->waiting_since_ns > 0)
		jsonout_add(out, ",\"waited_s\":@u",
		            (ull)answer_since_s(row->waiting_since_ns, s->wall_ns));
	if (!gang_state_is_done(row->state) && row->reason.why != WAIT_NONE) {
		add_reason(s, g, place->id, out);
		add_lack(s->ledger, &row->reason, out);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct gang_place *)a)->name, ((const struct gang_place *)b)->name);
}

#define COMPARE(field)                                                                             \
	{                                                                                              \
		const struct gang_place *x = a, *y = b;                                                    \
		return x->field != y->field ? (x->field < y->field ? -1 : 1) : strcmp(x->name, y->name);   \
	}

static int by_age(const void *a, const void *b)
	COMPARE(key.age_ns) static int by_priority(const void *a, const void *b)
		COMPARE(key.priority) static int by_members(const void *a, const void *b)
			COMPARE(members) static int by_placed(const void *a, const void *b)
				COMPARE(bound) static int by_state(const void *a, const void *b)
					COMPARE(state) static int by_waiting(const void *a, const void *b)
						COMPARE(waiting_since_ns)

							static void list_sort(struct gang_list *l, const char *field)
{
	static const struct {
		const char *name;
		int (*compare)(const void *a, const void *b);
	} orders[] = {
		{ "gang", by_name },        { "age_s", by_age },     { "priority", by_priority },
		{ "members", by_members },  { "placed", by_placed }, { "state", by_state },
		{ "waited_s", by_waiting },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strcmp(orders[i].name, field) == 0 && l->n > 1)
			qsort(l->at, l->n, sizeof(*l->at), orders[i].compare);
}

/* "waits": all that are neither running nor ended. */
static bool is_chosen(const struct gang_place *p, const struct question *q)
{
	if (q->filter[0] != '\0' && !strcasestr(p->name, q->filter))
		return false;
	if (strcmp(q->state, "waits") == 0)
		return !gang_state_is_done(p->state);
	return q->state[0] == '\0' || strcasecmp(q->state, gang_state_text(p->state)) == 0;
}

void answer_gangs(const struct answer_source *s, const struct question *q, struct jsonout *out)
{
	const uint32_t most = q->count > 0 && q->count < ANSWER_GANGS ? q->count : ANSWER_GANGS;
	struct gang_copy *one = must_alloc(sizeof(*one));
	struct gang_list l = { 0 };
	size_t chosen = 0, told = 0;

	if (s->ledger)
		l = gang_list_read(s->ledger);
	list_sort(&l, q->sort);
	jsonout_add(out, "{\"from\":@u,\"gangs\":[", (ull)q->from);
	for (size_t i = 0; i < l.n; i++) {
		const struct gang_place *p = &l.at[q->down ? l.n - 1 - i : i];

		if (!is_chosen(p, q) || chosen++ < q->from || told >= most || out->bytes >= GANGS_BYTES ||
		    !observe_gang(s->ledger, p->id, one))
			continue;
		jsonout_add(out, told++ > 0 ? ",\n" : "");
		answer_gang_row(s, one, p, out);
		jsonout_add(out, "}");
	}
	jsonout_add(out, "],\"gangs_n\":@u,\"chosen\":@u,\"told\":@u}\n", (ull)l.n, (ull)chosen,
	            (ull)told);
	gang_list_free(&l);
	free(one);
}
