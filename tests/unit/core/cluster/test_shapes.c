/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that a new shape allows, compared with the rules of each node by itself; and what it
 * costs to find them. */
#include "core/cluster/nodes.h"
#include "core/cluster/rule_node.h"
#include "core/cluster/shapes.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

enum { NODES = 150, KEYS = 12, VALUES = 3, ASKED_MOST = 1500, SHAPES = 4000, CHANGES = 20 };

static const struct limits limits = { .nodes = NODES, .pods = 1, .shapes = 1, .resources = 8 };

struct asked {
	struct event_shape body;
	struct requirement requirements[ASKED_MOST];
	uint32_t values[ASKED_MOST];
};

struct world {
	struct shapes shapes;
	struct node nodes[NODES];
	struct asked asked;
	struct toleration toleration;
	struct random random;
};

static void world_begin(struct world *w)
{
	*w = (struct world){ .random = { 1 } };
	shapes_init(&w->shapes, &limits);
	shapes_reach(&w->shapes, NODES);
}

static void world_end(struct world *w)
{
	for (node_id id = 0; id < NODES; id++)
		free(w->nodes[id].rules);
	shapes_free(&w->shapes);
}

/* With each of these labels, most of them of the value 0. */
static void node_make(struct world *w, node_id id, uint32_t keys)
{
	struct label labels[KEYS];
	struct taint taint = { .key = random_below(&w->random, 30),
		                   .effect = EFFECT_NO_SCHEDULE + random_below(&w->random, 2) };
	struct node *n = &w->nodes[id];
	uint32_t labels_n = 0;

	free(n->rules);
	for (uint32_t key = 0; key < KEYS; key++)
		if (keys >> key & 1)
			labels[labels_n++] = (struct label){ .key = key,
				                                 .value = random_below(&w->random, 4)
				                                              ? 0
				                                              : random_below(&w->random, VALUES),
				                                 .number = LABEL_NOT_A_NUMBER };
	*n = (struct node){ .generation = 1,
		                .flags = random_below(&w->random, 10) ? NODE_PRESENT : 0,
		                .rules = node_rules_make(labels, labels_n, &taint,
		                                         random_below(&w->random, 4) == 0) };
	if (random_below(&w->random, 10) == 0)
		n->flags |= NODE_CORDONED;
	shapes_follow(&w->shapes, id, n);
}

/* nodeSelector: keys from `first` on. */
static void ask(struct world *w, uint32_t first, uint32_t n)
{
	struct asked *a = &w->asked;

	a->body = (struct event_shape){ .requirements_n = n, .values_n = n };
	for (uint32_t i = 0; i < n; i++) {
		a->requirements[i] = (struct requirement){
			.op = REQUIRE_IN, .key = first + i, .values_first = i, .values_n = 1
		};
		a->values[i] = 0;
	}
}

static void make(struct world *w, struct shape *out)
{
	struct asked *a = &w->asked;
	const void *end = a + 1;
	const struct shape_record r = { .body = &a->body,
		                            .requirements = a->requirements,
		                            .values = a->values,
		                            .images = end,
		                            .attachments = end,
		                            .bytes = sizeof(*a) };

	cr_assert_eq(shapes_make(&w->shapes, &r, w->nodes, NODES, out), 0);
}

Test(shapes, of_a_node_selector_allow_the_nodes_that_its_rules_do)
{
	static struct world w;
	uint32_t allowed = 0;

	world_begin(&w);
	for (node_id id = 0; id < NODES; id++)
		node_make(&w, id, random_below(&w.random, 1 << KEYS));
	for (int i = 0; i < SHAPES; i++) {
		const uint32_t n = random_below(&w.random, random_below(&w.random, 4) ? 4 : KEYS + 1);
		struct shape s;

		for (int k = 0; k < CHANGES; k++)
			node_make(&w, random_below(&w.random, NODES),
			          random_below(&w.random, 2) ? UINT32_MAX : random_below(&w.random, 1 << KEYS));
		ask(&w, random_below(&w.random, KEYS + 1 - n), n);
		for (uint32_t k = 0; k < n; k++) {
			struct requirement *q = &w.asked.requirements[k];

			w.asked.values[k] =
				random_below(&w.random, 3) ? 0 : random_below(&w.random, VALUES + 1);
			q->values_first = random_below(&w.random, k + 1);
			q->values_n = k + 1 - q->values_first;
		}
		if (random_below(&w.random, 2))
			w.asked.body.flags = SHAPE_TOLERATES_CORDON;
		make(&w, &s);
		for (node_id id = 0; id < NODES; id++) {
			const struct node *node = &w.nodes[id];
			uint32_t arg;

			cr_assert_eq(shape_allows(&s, id),
			             node_present(node) && shape_filter(&s, node, &arg) == FILTER_PASSED,
			             "shape %d, node %u", i, id);
			allowed += shape_allows(&s, id);
		}
		shapes_unmake(&s);
	}
	cr_assert_gt(allowed, SHAPES);
	world_end(&w);
}

/* A column of labels is read from all nodes, and anybody who may create pods writes the keys. */
Test(shapes, of_many_keys_read_no_column_for_each)
{
	static struct world w;
	struct shape s;
	uint64_t before;

	world_begin(&w);
	for (node_id id = 0; id < NODES; id++)
		node_make(&w, id, UINT32_MAX);
	before = w.shapes.uses;
	ask(&w, 0, KEYS);
	make(&w, &s);
	shapes_unmake(&s);
	cr_assert_leq(w.shapes.uses - before, COLUMNS_MOST / 2, "keys that all nodes have");
	before = w.shapes.uses;
	ask(&w, KEYS, ASKED_MOST);
	make(&w, &s);
	shapes_unmake(&s);
	cr_assert_leq(w.shapes.uses - before, 1, "keys that no node has");
	before = w.shapes.uses;
	ask(&w, KEYS, COLUMNS_MOST / 2);
	make(&w, &s);
	shapes_unmake(&s);
	cr_assert_leq(w.shapes.uses - before, 1, "few keys that no node has");
	world_end(&w);
}
