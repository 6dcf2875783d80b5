/* Views against a look at every node, over more nodes than a block, more changes than
 * the log keeps and more shapes than there are views. */
#include "core/views.h"

#include "support_random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 200, SHAPES = 160, PODS = 3000, STEPS = 60000, PHASE = 12000, USED = 4, KEY = 1 };

static const struct limits LIMITS = { .nodes = NODES, .pods = PODS, .gangs = 1, .shapes = SHAPES, .names = 8, .resources = 5,
				      .name_bytes = 16 * 1024, .command_ring_bytes = 4096 };

struct world {
	struct random r;
	struct ledger *ledger;
	struct ledger_view view;
	struct nodes nodes;
	struct shapes shapes;
	struct views views;
	uint32_t generation[NODES];
	char names[NODES][8];
	struct { shape_id shape; node_id node; } pods[PODS];
	uint32_t pods_n;
};

static struct amount amount(uint32_t resource, int64_t value)
{
	return (struct amount){ .resource = resource, .value = value };
}

static void add_shape(struct world *w, shape_id id)
{
	struct {
		struct event_shape e;
		struct amount amounts[3];
		struct requirement zone;
		uint32_t values[2];
	} body = { .e = { .shape = id, .amounts_n = 3, .requirements_n = id % 3 == 0, .values_n = id % 3 == 0 } };
	struct shape_record record = { .body = &body.e, .amounts = body.amounts, .requirements = &body.zone,
				       .values = body.values, .bytes = sizeof(body) };

	body.amounts[0] = amount(RESOURCE_CPU, 100 * (1 + random_below(&w->r, 40)));
	body.amounts[1] = amount(RESOURCE_MEMORY, random_below(&w->r, 5) * 1000);
	body.amounts[2] = amount(RESOURCE_EXTENDED, random_below(&w->r, 6) == 0);
	body.e.scored_cpu_milli = body.amounts[0].value;
	body.e.scored_memory_bytes = body.amounts[1].value;
	body.zone = (struct requirement){ .op = REQUIRE_IN, .key = KEY, .values_n = 1 };
	body.values[0] = random_below(&w->r, 2);
	record.tolerations = (const void *)(body.values + 2);
	cr_assert_eq(shapes_add(&w->shapes, &record, w->nodes.slots, w->nodes.used), 0);
	views_forget(&w->views, id);
}

static void set_node(struct world *w, node_id id)
{
	struct label zone = { .key = KEY, .value = random_below(&w->r, 2), .number = LABEL_NOT_A_NUMBER };
	struct amount amounts[4] = {
		amount(RESOURCE_CPU, 1000 * random_below(&w->r, 17)), amount(RESOURCE_MEMORY, 1000 * (1 + random_below(&w->r, 64))),
		amount(RESOURCE_PODS, random_below(&w->r, 30)), amount(RESOURCE_EXTENDED, random_below(&w->r, 3)),
	};
	struct event_node e = { .node = id, .generation = w->generation[id], .amounts_n = 4, .labels_n = 1, .flags = NODE_PRESENT };
	struct node_record record = { .body = &e, .amounts = amounts, .labels = &zone, .name = w->names[id] };
	bool rules;

	if (random_below(&w->r, 10) == 0)
		e.flags = random_below(&w->r, 2) ? 0 : NODE_PRESENT | NODE_CORDONED;
	e.name_bytes = (uint32_t)strlen(w->names[id]);
	cr_assert_eq(nodes_set(&w->nodes, &record, &rules), 0);
	if (rules)
		shapes_follow(&w->shapes, id, &w->nodes.slots[id]);
}

/* Names in no order of the ids, each once at a time. */
static void new_node(struct world *w, node_id id)
{
	w->generation[id]++;
	snprintf(w->names[id], sizeof(w->names[id]), "%c%03u", 'a' + (char)random_below(&w->r, 26), id);
	set_node(w, id);
}

static void drop_node(struct world *w, node_id id)
{
	if (w->nodes.slots[id].pods > 0)
		return;
	nodes_drop(&w->nodes, id);
	shapes_follow(&w->shapes, id, &w->nodes.slots[id]);
	nodes_publish(&w->nodes);
}

/* ---- the plain look -------------------------------------------------------------- */

static uint64_t fits_on(const struct world *w, node_id id, const struct shape *s)
{
	uint64_t least = PODS;

	if (!node_present(&w->nodes.slots[id]) || !shape_allows(s, id))
		return 0;
	for (uint32_t i = 0; i < s->requests_n; i++) {
		int64_t room = nodes_room(&w->nodes, id, s->requests[i].resource);
		uint64_t count = room > 0 ? (uint64_t)(room / s->requests[i].value) : 0;

		least = count < least ? count : least;
	}
	return least;
}

/* Is a before b, for a shape that fits on both? */
static bool is_better(const struct world *w, const struct shape *s, node_id a, node_id b)
{
	uint32_t left = score_node(w->views.score, &w->nodes, a, s), right = score_node(w->views.score, &w->nodes, b, s);

	return left != right ? left > right : strcmp(w->names[a], w->names[b]) < 0;
}

static void check_view(struct world *w, shape_id shape)
{
	struct view *v = views_get(&w->views, shape);
	const struct shape *s = &w->shapes.slots[shape];
	node_id best = NO_NODE;
	uint64_t capacity = 0;

	for (node_id id = 0; id < NODES; id++) {
		uint64_t count = fits_on(w, id, s);

		capacity += count;
		if (count > 0 && (best == NO_NODE || is_better(w, s, id, best)))
			best = id;
	}
	cr_assert_eq(v->capacity, capacity);
	cr_assert_eq(view_best(v), best == NO_NODE ? TREE_NONE : w->nodes.slots[best].rank);
	cr_assert(view_check(&w->views, v));
}

/* ---- what happens ------------------------------------------------------------------ */

static void pod_comes(struct world *w)
{
	shape_id shape = random_below(&w->r, SHAPES);
	node_id node = random_below(&w->r, NODES); /* fit or not */

	if (w->pods_n == PODS || !w->nodes.slots[node].generation)
		return;
	if (random_below(&w->r, 2)) {
		struct view *v;
		uint32_t rank;

		shape = random_below(&w->r, USED);
		v = views_get(&w->views, shape);
		rank = view_best(v);
		if (rank == TREE_NONE)
			return;
		node = w->nodes.order[rank];
		view_take(&w->views, v, rank);
	} else {
		nodes_take(&w->nodes, node, &w->shapes.slots[shape]);
	}
	w->pods[w->pods_n].shape = shape;
	w->pods[w->pods_n++].node = node;
}

static void pod_goes(struct world *w)
{
	uint32_t i;

	if (w->pods_n == 0)
		return;
	i = random_below(&w->r, w->pods_n);
	nodes_give(&w->nodes, w->pods[i].node, &w->shapes.slots[w->pods[i].shape]);
	w->pods[i] = w->pods[--w->pods_n];
}

/* `settled`: nodes change, but none comes or goes. */
static void step(struct world *w, bool settled)
{
	uint32_t kind = random_below(&w->r, 100);
	node_id id = random_below(&w->r, NODES);

	if (kind < 50)
		pod_comes(w);
	else if (kind < 94)
		pod_goes(w);
	else if (w->nodes.slots[id].generation && kind < 98)
		set_node(w, id);
	else if (!w->nodes.slots[id].generation)
		new_node(w, id);
	else if (!settled)
		drop_node(w, id);
}

static void run(enum score_policy score, const char *name)
{
	struct world *w = calloc(1, sizeof(*w));
	size_t bytes = core_ledger_bytes(&LIMITS, NULL);

	cr_assert(w && bytes > 0);
	w->r = random_start(name);
	w->ledger = aligned_alloc(4096, bytes);
	memset(w->ledger, 0, bytes);
	ledger_open(&w->view, w->ledger, &LIMITS);
	cr_assert_eq(nodes_init(&w->nodes, &LIMITS, &w->view), 0);
	cr_assert_eq(shapes_init(&w->shapes, &LIMITS), 0);
	cr_assert_eq(views_init(&w->views, &LIMITS, &w->nodes, &w->shapes, score), 0);
	for (shape_id id = 0; id < SHAPES; id++)
		add_shape(w, id);
	for (node_id id = 0; id < NODES; id++)
		new_node(w, id);
	for (uint32_t i = 0; i < STEPS; i++) {
		step(w, i / PHASE % 2 == 0);
		/* Some views are used all the time, others fall behind the log or are given up. */
		if (i % 16 == 0)
			check_view(w, random_below(&w->r, USED));
		if (i % 64 == 0)
			check_view(w, random_below(&w->r, i / PHASE % 2 ? SHAPES : SHAPES / 2));
	}
	views_free(&w->views);
	shapes_free(&w->shapes);
	nodes_free(&w->nodes);
	free(w->ledger);
	free(w);
}

Test(views, are_what_a_look_at_every_node_gives)
{
	run(SCORE_KUBE, "views.kube");
}

Test(views, are_what_a_look_at_every_node_gives_when_packing)
{
	run(SCORE_PACK, "views.pack");
}
