/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/state.h"

#include "frontend/dialect/dialects.h"
#include "frontend/base/log.h"
#include "frontend/dialect/reason.h"
#include "ipc/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bounds of each part leave space for the next: a byte of a name may take six. */
#define CELLS_BYTES (STATE_BYTES_MAX / 2)
#define GANGS_BYTES (STATE_BYTES_MAX - ((size_t)32 << 10))
#define REASON_BYTES 1024u

typedef unsigned long long ull;

static void add_signed(struct jsonout *out, const char *format, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	jsonout_add(out, format, text);
}

enum cell_flags { CELL_CORDONED = 1, CELL_GONE = 2 };

struct cell_node {
	char *name;
	uint32_t share;
	uint32_t scarcest;
	uint32_t flags;
};

struct cells {
	struct cell_node *at; /* sorted by name */
	size_t n;
	double used[RESOURCES_MAX], allocatable[RESOURCES_MAX]; /* over existing nodes */
};

static int compare_cells(const void *a, const void *b)
{
	return strcmp(((const struct cell_node *)a)->name, ((const struct cell_node *)b)->name);
}

static void take_node(struct cells *c, const struct node_view *n, uint32_t resources)
{
	struct cell_node *cell = &c->at[c->n++];

	cell->name = must_copy(n->name);
	cell->share = observe_node_share(n, resources, &cell->scarcest);
	cell->flags = ((n->flags & NODE_CORDONED) ? CELL_CORDONED : 0u) |
	              ((n->flags & NODE_PRESENT) ? 0u : CELL_GONE);
	for (uint32_t r = 0; r < resources && (n->flags & NODE_PRESENT); r++) {
		c->used[r] += (double)n->used[r];
		c->allocatable[r] += (double)n->allocatable[r];
	}
}

static void take_nodes(struct cells *c, const struct observer *o)
{
	struct node_view *one = must_alloc(sizeof(*one));
	size_t cap = 0;

	for (node_id id = 0; id < o->places.limits.nodes; id++) {
		if (!observe_node(o, id, one))
			continue;
		if (c->n == cap) {
			cap = cap * 2 + 256;
			c->at = must_grow(c->at, cap * sizeof(*c->at));
		}
		take_node(c, one, o->places.limits.resources);
	}
	free(one);
	if (c->n > 1)
		qsort(c->at, c->n, sizeof(*c->at), compare_cells);
}

/* One number for each cell of `each` nodes: the maximum. */
static void add_numbers(const struct cells *c, size_t each, size_t field, struct jsonout *out)
{
	for (size_t i = 0; i < c->n; i += each) {
		const struct cell_node *fullest = &c->at[i];
		uint32_t number;

		for (size_t k = i; k < c->n && k < i + each; k++)
			if (c->at[k].share > fullest->share)
				fullest = &c->at[k];
		memcpy(&number, (const char *)fullest + field, sizeof(number));
		jsonout_add(out, i > 0 ? ",@u" : "@u", (ull)number);
	}
}

static void add_resources(const struct cells *c, const struct observer *o, struct jsonout *out)
{
	char name[OBSERVE_NAME_MAX], number[64];

	jsonout_add(out, "],\"resources\":[");
	for (uint32_t r = 0; r < o->places.limits.resources; r++) {
		snprintf(number, sizeof(number), "%.0f,\"allocatable\":%.0f", c->used[r],
		         c->allocatable[r]);
		jsonout_add(out, r > 0 ? ",{\"name\":@s,\"used\":@r}" : "{\"name\":@s,\"used\":@r}",
		            observe_name(o, r, name), number);
	}
}

static void add_cells(const struct observer *o, struct jsonout *out)
{
	struct cells c = { 0 };
	size_t each;

	take_nodes(&c, o);
	each = (c.n + STATE_CELLS - 1) / STATE_CELLS;
	each = each > 0 ? each : 1;
	jsonout_add(out, ",\"cells\":{\"nodes\":@u,\"nodes_per_cell\":@u,\"share\":[", (ull)c.n,
	            (ull)each);
	add_numbers(&c, each, offsetof(struct cell_node, share), out);
	jsonout_add(out, "],\"scarcest\":[");
	add_numbers(&c, each, offsetof(struct cell_node, scarcest), out);
	jsonout_add(out, "],\"flags\":[");
	add_numbers(&c, each, offsetof(struct cell_node, flags), out);
	jsonout_add(out, "],\"name\":[");
	/* The first name of each cell; names beyond the bound are omitted. */
	for (size_t i = 0; i < c.n && out->bytes < CELLS_BYTES; i += each)
		jsonout_add(out, i > 0 ? ",@s" : "@s", c.at[i].name);
	add_resources(&c, o, out);
	jsonout_add(out, "]}");
	for (size_t i = 0; i < c.n; i++)
		free(c.at[i].name);
	free(c.at);
}

/* The refusal of its PodGroup, or of one of its pods. */
static void note_refusal(void *context, const struct pod_view *pod)
{
	char *text = context;

	if (text[0] == '\0')
		snprintf(text, REASON_BYTES, "%s", pod->refusal);
}

static void add_reason(const struct gang_copy *g, gang_id id, const struct model *model,
                       struct jsonout *out)
{
	struct reason_names names = reason_names_of(model);
	struct reason_about about = { .gang = g->name };
	struct gang_view view;
	char refusal[REASON_BYTES] = "", text[REASON_BYTES];

	if (model_gang(model, id, g->row.generation, &view)) {
		about.texts = view.texts;
		snprintf(refusal, sizeof(refusal), "%s", view.refusal);
		if (refusal[0] == '\0' && g->row.reason.why == WAIT_REFUSED)
			model_gang_pending(model, id, note_refusal, refusal);
	}
	about.refusal = refusal;
	reason_text(&g->row.reason, &about, &names, text, sizeof(text));
	jsonout_add(out, ",\"reason\":@s,\"need\":@u,\"fit\":@u", text, (ull)g->row.reason.need,
	            (ull)g->row.reason.fit);
}

static void add_gang(const struct gang_copy *g, gang_id id, const struct model *model,
                     uint64_t wall_ns, struct jsonout *out)
{
	uint64_t age =
		g->row.created_ns != 0 && g->row.created_ns < wall_ns ? wall_ns - g->row.created_ns : 0;

	jsonout_add(
		out,
		"{\"gang\":@s,\"state\":@s,\"dialect\":@s,\"quorum\":@u,\"members\":@u,\"placed\":@u,"
		"\"succeeded\":@u,\"failed\":@u",
		g->name, gang_state_text(g->row.state),
		g->row.dialect < dialects_n ? dialects[g->row.dialect]->name : "unknown",
		(ull)g->row.quorum, (ull)g->row.members, (ull)g->row.bound, (ull)g->row.succeeded,
		(ull)g->row.failed);
	add_signed(out, ",\"priority\":@r", g->row.priority);
	jsonout_add(out, ",\"age_s\":@u", (ull)(age / NS_PER_S));
	if (!gang_state_is_done(g->row.state) && g->row.reason.why != WAIT_NONE)
		add_reason(g, id, model, out);
	jsonout_add(out, "}");
}

struct gang_place {
	gang_id id;
	uint32_t state;
	int32_t priority;
	uint64_t created_ns;
};

/* Waiting gangs first, then by the order of the queue. */
static int compare_gangs(const void *a, const void *b)
{
	const struct gang_place *x = a, *y = b;

	if (x->state != y->state)
		return gang_state_rank(x->state) < gang_state_rank(y->state) ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static struct gang_place *take_gangs(const struct observer *o, size_t *n)
{
	struct gang_copy *one = must_alloc(sizeof(*one));
	struct gang_place *places = NULL;
	size_t cap = 0;

	*n = 0;
	for (gang_id id = 0; id < o->places.limits.gangs; id++) {
		if (!observe_gang(o, id, one) ||
		    one->row.members + one->row.succeeded + one->row.failed == 0)
			continue; /* without a member of ours */
		if (*n == cap) {
			cap = cap * 2 + 256;
			places = must_grow(places, cap * sizeof(*places));
		}
		places[(*n)++] = (struct gang_place){
			.id = id,
			.state = one->row.state < GANG_STATES ? one->row.state : GANG_NONE,
			.priority = one->row.priority,
			.created_ns = one->row.created_ns,
		};
	}
	free(one);
	if (*n > 1)
		qsort(places, *n, sizeof(*places), compare_gangs);
	return places;
}

static void add_gangs(const struct observer *o, const struct model *model, uint64_t wall_ns,
                      struct jsonout *out)
{
	uint64_t states[GANG_STATES] = { 0 };
	size_t n, told = 0;
	struct gang_place *places = take_gangs(o, &n);
	struct gang_copy *one = must_alloc(sizeof(*one));

	jsonout_add(out, ",\"gangs\":[");
	for (size_t i = 0; i < n; i++) {
		states[places[i].state]++;
		if (told >= STATE_GANGS || out->bytes >= GANGS_BYTES || !observe_gang(o, places[i].id, one))
			continue;
		jsonout_add(out, told > 0 ? ",\n" : "");
		add_gang(one, places[i].id, model, wall_ns, out);
		told++;
	}
	jsonout_add(out, "],\"gangs_n\":@u,\"gangs_told\":@u,\"states\":{", (ull)n, (ull)told);
	for (uint32_t s = GANG_INCOMPLETE; s < GANG_STATES; s++)
		jsonout_add(out, s > GANG_INCOMPLETE ? ",@s:@u" : "@s:@u", gang_state_text(s),
		            (ull)states[s]);
	jsonout_add(out, "}");
	free(one);
	free(places);
}

static void add_figures(const struct metrics *m, struct jsonout *out)
{
	const struct metrics_core *c = &m->core;
	const struct {
		const char *name;
		uint64_t value;
	} figures[] = {
		{ "events", c->events },
		{ "plans", c->plans },
		{ "plans_placed", c->plans_placed },
		{ "plans_refused", c->plans_refused },
		{ "plan_ns_sum", c->plan_ns_sum },
		{ "plan_ns_max", c->plan_ns_max },
		{ "binds_accepted", c->binds_accepted },
		{ "binds_refused", c->binds_refused },
		{ "nodes", c->nodes },
		{ "pods", c->pods },
		{ "pods_pending", c->pods_pending },
		{ "pods_bound", c->pods_bound },
		{ "posts", m->binder.posts },
		{ "post_ns_sum", m->binder.post_ns_sum },
		{ "binds_queued", m->binds_queued },
		{ "binds_in_flight", m->binds_in_flight },
	};

	jsonout_add(out, ",\"figures\":{");
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		jsonout_add(out, i > 0 ? ",@s:@u" : "@s:@u", figures[i].name, (ull)figures[i].value);
	jsonout_add(out, "}");
}

void state_write(const struct observer *ledger, const struct model *model, const struct metrics *m,
                 uint64_t wall_ns, struct jsonout *out)
{
	char text[1000], name[OBSERVE_NAME_MAX] = "";
	const char *why = metrics_not_ready(m, text, sizeof(text));

	jsonout_clear(out);
	jsonout_add(out, "{\"version\":@s,\"wall_ms\":@u,\"taken_ms\":@u,\"not_ready\":@b",
	            MUSTER_VERSION, (ull)(wall_ns / NS_PER_MS), (ull)(m->taken_ns / NS_PER_MS),
	            why != NULL ? why : "");
	add_figures(m, out);
	if (ledger != NULL) {
		struct gang_copy *held = must_alloc(sizeof(*held));
		uint64_t index = observe_count(&ledger->ledger->gauges.reserved_gang);

		if (index > 0 && index <= ledger->places.limits.gangs &&
		    observe_gang(ledger, (gang_id)(index - 1), held))
			memcpy(name, held->name, sizeof(name));
		free(held);
		jsonout_add(out, ",\"reserved_for\":@s,\"held\":@s", name,
		            name); /* held: the former name */
		add_cells(ledger, out);
		add_gangs(ledger, model, wall_ns, out);
	}
	jsonout_add(out, "}\n");
}
