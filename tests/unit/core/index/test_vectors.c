/* SPDX-License-Identifier: Apache-2.0 */
/* Vector scans against scan_node(): whole and fractional quotients, empty and overcommitted nodes,
 * numbers too large for floats and for doubles, any order of ids, with and without AVX2. */
#include "core/cluster/rule_node.h"
#include "core/index/views_impl.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

enum { NODES = 500, SHAPES = 60, RESOURCES = 8, SCANS = 200 };

static const struct limits limits =
	LIMITS_WITH(.nodes = NODES, .pods = 1000, .gangs = 1, .shapes = 1, .names = 64,
                .resources = RESOURCES, .name_bytes = 1 << 16);

struct world {
	struct ledger_view ledger;
	struct nodes nodes;
	struct shapes shapes;
	struct pod_counts pod_counts;
	struct views views;
	struct view view;
	struct {
		struct event_shape body;
		struct amount amounts[4];
	} bodies[SHAPES];
	struct shape classes[SHAPES];
	struct random random;
};

static int64_t pick(struct random *r, const int64_t *from, uint32_t n)
{
	return from[random_below(r, n)];
}

/* Mostly round numbers, so that quotients are whole; some that no double holds. */
static int64_t allocatable(struct random *r, uint32_t resource)
{
	static const int64_t some[] = { 1000,
		                            64000,
		                            96000,
		                            7919,
		                            1,
		                            0,
		                            INT64_C(1) << 34,
		                            (INT64_C(1) << 37) + 12345,
		                            INT64_C(1) << 46,
		                            INT64_C(1) << 52,
		                            INT64_MAX };
	/* Nearly every whole percent of 6100 comes out lower in single precision. */
	static const int64_t cpu[] = { 6100, 3000, 12000, 48800 };
	static const int64_t memory[] = { INT64_C(6100) << 20, INT64_C(25) << 32,
		                              (INT64_C(1) << 36) + (9 << 10), 8300001 };

	if (resource == RESOURCE_PODS)
		return 1 + (int64_t)random_below(r, random_below(r, 50) ? 110 : 1 << 21);
	if (resource <= RESOURCE_MEMORY && random_below(r, 3) > 0)
		return pick(r, resource == RESOURCE_CPU ? cpu : memory, 4);
	return pick(r, some, random_below(r, 8) == 0 ? 11 : 8);
}

static int64_t request(struct random *r, uint32_t resource)
{
	static const int64_t some[] = {
		0, 1, 250, 1000, 4096, 333, INT64_C(1) << 30, INT64_C(1) << 47, INT64_MAX
	};

	if (resource == RESOURCE_MEMORY && random_below(r, 3) > 0)
		return (INT64_C(1) << 20) * (random_below(r, 2) ? random_below(r, 3000) : 61);
	if (resource == RESOURCE_CPU && random_below(r, 2) > 0)
		return 61 * (1 + (int64_t)random_below(r, 8));

	return pick(r, some, random_below(r, 8) == 0 ? 9 : 7);
}

static void node_make(struct world *w, uint32_t id)
{
	struct amount amounts[5];
	struct event_node body = { .node = id, .generation = 1, .amounts_n = 5, .flags = NODE_PRESENT };
	char name[16];
	bool rules;

	for (uint32_t i = 0; i < 5; i++)
		amounts[i] = (struct amount){ .resource = i, .value = allocatable(&w->random, i) };
	/* The first half sorts in the order of ids. */
	snprintf(name, sizeof(name), "n%06u",
	         id < NODES / 2 ? id : NODES + random_below(&w->random, 100000) * NODES + id);
	body.name_bytes = (uint32_t)strlen(name);
	cr_assert_eq(nodes_set(&w->nodes,
	                       &(struct node_record){ .body = &body, .name = name, .amounts = amounts },
	                       &rules),
	             0);
}

/* Without images and attachments: record_shape() has the lists behind the others. */
static void lists_end(struct shape_record *r)
{
	const void *end = (const char *)r->body + r->bytes;

	r->images = end;
	r->attachments = end;
}

static void shape_make(struct world *w, uint32_t i)
{
	struct event_shape *e = &w->bodies[i].body;
	struct amount *amounts = w->bodies[i].amounts;
	struct shape_record record = { .body = e, .amounts = amounts, .bytes = sizeof(w->bodies[i]) };

	*e = (struct event_shape){ .shape = 0 };
	for (uint32_t r = 0; r < 5; r++) {
		int64_t value =
			r == RESOURCE_PODS || random_below(&w->random, 3) == 0 ? 0 : request(&w->random, r);

		/* Most request CPU and memory alone. */
		if (i % 4 > 0 && r != RESOURCE_CPU && r != RESOURCE_MEMORY)
			value = 0;
		if (value > 0)
			amounts[e->amounts_n++] = (struct amount){ .resource = r, .value = value };
		if (r == RESOURCE_CPU)
			e->scored_cpu_milli = value > 0 && value < INT64_MAX ? value : 100;
		if (r == RESOURCE_MEMORY)
			e->scored_memory_bytes = value > 0 && value < INT64_MAX ? value : 200 << 20;
	}
	lists_end(&record);
	nodes_widen(&w->nodes, &record);
	cr_assert_eq(shapes_make(&w->shapes, &record, w->nodes.slots, w->nodes.used, &w->classes[i]),
	             0);
	for (uint32_t id = 0; id < NODES; id++)
		if (i % 3 > 0 && random_below(&w->random, 64) < i)
			w->classes[i].allowed[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct ledger *ledger = aligned_alloc(CACHE_LINE, ledger_bytes(&limits, NULL));

	cr_assert(w && ledger);
	memset(ledger, 0, ledger_bytes(&limits, NULL));
	w->random = random_start("looks");
	ledger_open(&w->ledger, ledger, &limits, NULL, NULL);
	nodes_init(&w->nodes, &limits, &w->ledger);
	nodes_reach(&w->nodes, 5);
	shapes_init(&w->shapes, &limits);
	w->nodes.span = limits.nodes;
	shapes_reach(&w->shapes, limits.nodes);
	for (uint32_t id = 0; id < NODES; id++) {
		node_make(w, id);
		shapes_follow(&w->shapes, id, &w->nodes.slots[id]);
	}
	nodes_sort(&w->nodes);
	for (uint32_t i = 0; i < SHAPES; i++)
		shape_make(w, i);
	for (uint32_t i = 0; i < 2 * NODES; i++)
		nodes_allocate(&w->nodes, random_below(&w->random, NODES),
		               &w->classes[random_below(&w->random, SHAPES)]);
	w->pod_counts = (struct pod_counts){ .nodes = &w->nodes, .shapes = &w->shapes };
	w->views = (struct views){
		.pod_counts = &w->pod_counts, .nodes = &w->nodes, .score = SCORE_KUBE, .most = limits.pods
	};
	columns_init(&w->views.columns, &limits);
	w->view = (struct view){ .plain_counts = true };
	return w;
}

static void world_free(struct world *w)
{
	for (uint32_t i = 0; i < SHAPES; i++)
		shapes_unmake(&w->classes[i]);
	nodes_free(&w->nodes);
	shapes_free(&w->shapes);
	columns_free(&w->views.columns);
	free(w->ledger.ledger);
	free(w);
}

static uint32_t block_check(struct world *w, const struct shape *s, const node_id *ids, uint32_t n)
{
	struct scan_results results;
	uint32_t open = 0;
	uint64_t sum = 0;

	scan_block(&w->views, &w->view, s, ids, n, &results);
	for (uint32_t i = 0; i < n; i++) {
		struct scan_result one = scan_node(&w->views, &w->view, s, ids[i]);

		cr_assert_eq(results.counts[i], one.count, "node %u: %u fit, not %u", ids[i], one.count,
		             results.counts[i]);
		cr_assert_eq((uint32_t)results.keys[i], one.key, "node %u: key %u, not %d", ids[i], one.key,
		             results.keys[i]);
		sum += one.count;
		open += one.count > 0;
	}
	cr_assert_eq(results.sum, sum);
	return open;
}

Test(scan, blocks_equal_single_nodes)
{
	struct world *w = world_new();
	uint32_t open = 0;

	for (int way = 0; way <= (int)simd_has_avx2(); way++) {
		w->views.avx2 = way;
		for (uint32_t i = 0; i < SHAPES * SCANS; i++) {
			uint32_t n = i % 2 ? SCAN_MOST : 1 + random_below(&w->random, SCAN_MOST);
			uint32_t first = random_below(&w->random, NODES - n);

			open += block_check(w, &w->classes[i % SHAPES], &w->nodes.order[first], n);
		}
	}
	cr_assert_gt(open, SHAPES * SCANS);
	world_free(w);
}

static void check_all(struct world *w, const struct shape *s)
{
	static tree_key keys[NODES + COLUMN_BLOCK];
	static uint32_t counts[NODES + COLUMN_BLOCK];
	uint64_t sum = scan_all(&w->views, &w->view, s, keys, counts), plain = 0;

	for (uint32_t rank = 0; rank < w->nodes.count; rank++) {
		const node_id id = w->nodes.order[rank];
		struct scan_result one = scan_node(&w->views, &w->view, s, id);

		cr_assert_eq(counts[rank], one.count, "node %u: %u fit, not %u", id, one.count,
		             counts[rank]);
		cr_assert_eq((uint32_t)keys[rank], one.key, "node %u: key %u, not %d", id, one.key,
		             keys[rank]);
		plain += one.count;
	}
	cr_assert_eq(sum, plain);
}

/* Drops or adds a node, or places a pod on it or removes one. */
static void change(struct world *w)
{
	const node_id id = random_below(&w->random, NODES);
	const struct shape *s = &w->classes[random_below(&w->random, SHAPES)];
	const uint32_t way = random_below(&w->random, 300);

	if (way == 0 && w->nodes.slots[id].pods == 0 && w->nodes.slots[id].generation) {
		nodes_drop(&w->nodes, id);
	} else if (!w->nodes.slots[id].generation) {
		node_make(w, id);
		nodes_sort(&w->nodes);
	} else {
		nodes_allocate(&w->nodes, id, s);
		if (way % 3 > 0)
			nodes_release(&w->nodes, id, s);
	}
	nodes_sort(&w->nodes);
}

Test(scan, all_nodes_equal_single_nodes)
{
	struct world *w = world_new();

	for (uint32_t i = 0; i < SHAPES * 20; i++) {
		w->views.avx2 = i % 2 && simd_has_avx2();
		check_all(w, &w->classes[i % SHAPES]);
		/* Sometimes more changes than the log holds. */
		for (uint32_t n = i % 100 == 99 ? NODE_LOG + 1 : random_below(&w->random, 20); n > 0; n--)
			change(w);
	}
	world_free(w);
}

/* The same columns as computed for all nodes. */
static void columns_check(struct world *w)
{
	const struct columns *c = &w->views.columns;
	const uint32_t blocks = (w->nodes.count + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
	struct columns fresh;

	columns_init(&fresh, &limits);
	memcpy(fresh.ratios, c->ratios, sizeof(fresh.ratios));
	fresh.ratios_n = c->ratios_n;
	columns_follow(&fresh, &w->nodes);
	for (uint32_t i = 0; i < blocks * (COLUMN_BLOCK / COLUMN_LANES); i++)
		cr_assert_eq(memcmp(&c->steps[i], &fresh.steps[i], sizeof(fresh.steps[i])), 0, "step %u",
		             i);
	for (uint32_t i = 0; i < blocks; i++)
		cr_assert_eq(c->first[i], fresh.first[i], "block %u", i);
	columns_free(&fresh);
}

/* A node without pods leaves, or one joins; one with pods changes. */
static void come_or_go(struct world *w)
{
	const node_id id = random_below(&w->random, NODES);

	if (!w->nodes.slots[id].generation)
		node_make(w, id);
	else if (w->nodes.slots[id].pods == 0)
		nodes_drop(&w->nodes, id);
	else
		nodes_touch(&w->nodes, id);
	if (random_below(&w->random, 3) == 0)
		nodes_sort(&w->nodes);
}

Test(scan, columns_follow_nodes_that_come_and_go)
{
	struct world *w = world_new();

	for (uint32_t i = 0; i < 3000; i++) {
		/* Sometimes more than the log of the order holds. */
		for (uint32_t n = i % 50 == 49 ? 2 * ORDER_LOG : random_below(&w->random, 12); n > 0; n--)
			come_or_go(w);
		for (uint32_t n = i % 7 == 0 ? NODE_LOG : 0; n > 0; n--)
			nodes_touch(&w->nodes, w->nodes.order[n % 10]);
		nodes_sort(&w->nodes);
		columns_follow(&w->views.columns, &w->nodes);
		columns_check(w);
	}
	world_free(w);
}

static uint32_t ratio_at(const struct world *w, node_id id)
{
	const uint32_t rank = w->nodes.ranks[id];

	return (w->views.columns.steps[rank / COLUMN_LANES].others[rank % COLUMN_LANES] &
	        (uint32_t)COLUMN_RATIO_BITS) >>
	       COLUMN_RATIO;
}

static void even_node_make(struct world *w, uint32_t id, int64_t times)
{
	const struct amount amounts[] = { { .resource = RESOURCE_CPU, .value = times * 16000 },
		                              { .resource = RESOURCE_MEMORY,
		                                .value = times * (INT64_C(64) << 30) + (id % 5 == 0) },
		                              { .resource = RESOURCE_PODS, .value = 110 } };
	struct event_node body = { .node = id, .generation = 2, .amounts_n = 3, .flags = NODE_PRESENT };
	char name[16];
	bool rules;

	snprintf(name, sizeof(name), "n%06u", id);
	body.name_bytes = (uint32_t)strlen(name);
	cr_assert_eq(nodes_set(&w->nodes,
	                       &(struct node_record){ .body = &body, .name = name, .amounts = amounts },
	                       &rules),
	             0);
}

static void shape_set(struct world *w, uint32_t i, int64_t cpu, int64_t memory)
{
	struct event_shape *e = &w->bodies[i].body;
	struct shape_record record = { .body = e,
		                           .amounts = w->bodies[i].amounts,
		                           .bytes = sizeof(w->bodies[i]) };

	shapes_unmake(&w->classes[i]);
	*e = (struct event_shape){ .amounts_n = 2,
		                       .scored_cpu_milli = cpu,
		                       .scored_memory_bytes = memory };
	w->bodies[i].amounts[0] = (struct amount){ .resource = RESOURCE_CPU, .value = cpu };
	w->bodies[i].amounts[1] = (struct amount){ .resource = RESOURCE_MEMORY, .value = memory };
	lists_end(&record);
	cr_assert_eq(shapes_make(&w->shapes, &record, w->nodes.slots, w->nodes.used, &w->classes[i]),
	             0);
}

/* Of 65,000 nodes up to 56,000 were scanned twice for each view of the simulator's hour. */
Test(scan, nodes_in_the_ratio_of_the_shape_are_known_by_their_column)
{
	struct world *w = world_new();
	uint32_t even = 0;

	for (node_id id = 0; id < NODES; id++) {
		if (w->nodes.slots[id].pods == 0) {
			nodes_drop(&w->nodes, id);
			even_node_make(w, id, 1 + id % 4);
		}
	}
	nodes_sort(&w->nodes);
	shape_set(w, 0, 250, INT64_C(1) << 30);
	shape_set(w, 1, 2000, INT64_C(8) << 30);
	shape_set(w, 2, 1000, (INT64_C(4) << 30) + (1 << 20));
	for (uint32_t i = 0; i < 200; i++) {
		w->views.avx2 = i % 2 && simd_has_avx2();
		check_all(w, &w->classes[i % 3]);
		for (uint32_t n = 0; n < 20; n++)
			nodes_allocate(&w->nodes, random_below(&w->random, NODES),
			               &w->classes[random_below(&w->random, 40) ? i % 2 : 2]);
	}
	columns_follow(&w->views.columns, &w->nodes);
	for (node_id id = 0; id < NODES; id++) {
		const struct node_fit *f = &w->nodes.fits[id];

		if (ratio_at(w, id) == 0)
			continue;
		even++;
		cr_assert_eq(f->balance, 100.0, "node %u", id);
		cr_assert(f->cpu_used * f->memory == f->memory_used * f->cpu, "node %u", id);
	}
	cr_assert(even > NODES / 50 && even < NODES, "%u nodes", even);
	cr_assert_gt(columns_ratio(&w->views.columns, 4000, 16 << 10), 0);
	cr_assert_eq(columns_ratio(&w->views.columns, 4000, (16 << 10) + 1), 0);
	world_free(w);
}

/* 65,000 nodes take 0.6 ms, in the turn of the first plan after each node that joined. */
Test(scan, a_node_that_leaves_leaves_the_columns_of_others_alone)
{
	struct world *w = world_new();
	const node_id other = w->nodes.order[NODES - 1];
	node_id id = 0;

	columns_follow(&w->views.columns, &w->nodes);
	while (w->nodes.slots[id].pods > 0 || id == other)
		id++;
	nodes_drop(&w->nodes, id);
	nodes_sort(&w->nodes);
	w->nodes.fits[other].cpu_used++; /* not logged: seen only where all nodes are computed */
	columns_follow(&w->views.columns, &w->nodes);
	w->nodes.fits[other].cpu_used--;
	columns_check(w);
	world_free(w);
}

enum { KEYS = COLUMNS_MOST + 4, VALUES = 5 };

static void labels_change(struct random *r, struct node *n)
{
	struct label labels[KEYS];
	uint32_t labels_n = 0;

	for (uint32_t key = 1; key <= KEYS; key++)
		if (random_below(r, 4) > 0)
			labels[labels_n++] = (struct label){ .key = key,
				                                 .value = random_below(r, VALUES),
				                                 .number = LABEL_NOT_A_NUMBER };
	free(n->rules);
	n->rules = node_rules_make(labels, labels_n, NULL, 0);
}

/* A shape that requires one of some values of a key. */
static void select_and_check(struct random *r, struct shapes *ss, const struct node *nodes)
{
	struct event_shape body = { .requirements_n = 1, .values_n = 1 + random_below(r, VALUES - 1) };
	struct requirement q = { .op = REQUIRE_IN,
		                     .key = 1 + random_below(r, KEYS),
		                     .values_n = body.values_n };
	alignas(8) unsigned char bytes[sizeof(body) + sizeof(q) + VALUES * sizeof(uint32_t)];
	struct shape_record record = { .body = (const struct event_shape *)(const void *)bytes,
		                           .bytes = sizeof(bytes) };
	uint32_t values[VALUES], arg;
	struct shape s;

	for (uint32_t i = 0; i < VALUES; i++)
		values[i] = i;
	memcpy(bytes, &body, sizeof(body));
	memcpy(bytes + sizeof(body), &q, sizeof(q));
	memcpy(bytes + sizeof(body) + sizeof(q), values, sizeof(values));
	record.requirements = (const struct requirement *)(const void *)(bytes + sizeof(body));
	record.values = (const uint32_t *)(const void *)(bytes + sizeof(body) + sizeof(q));
	lists_end(&record);
	cr_assert_eq(shapes_make(ss, &record, nodes, NODES, &s), 0);
	for (uint32_t id = 0; id < NODES; id++)
		cr_assert_eq(shape_allows(&s, id), shape_filter(&s, &nodes[id], &arg) == FILTER_PASSED,
		             "node %u, key %u", id, q.key);
	shapes_unmake(&s);
}

Test(scan, shapes_may_select_by_more_keys_than_have_a_column)
{
	static struct node nodes[NODES];
	struct random r = random_start("columns");
	struct shapes ss;

	shapes_init(&ss, &limits);
	shapes_reach(&ss, limits.nodes);
	for (uint32_t id = 0; id < NODES; id++) {
		nodes[id] = (struct node){ .generation = 1, .flags = NODE_PRESENT };
		labels_change(&r, &nodes[id]);
		shapes_follow(&ss, id, &nodes[id]);
	}
	for (int i = 0; i < 400; i++) {
		uint32_t id = random_below(&r, NODES);

		select_and_check(&r, &ss, nodes);
		labels_change(&r, &nodes[id]);
		shapes_follow(&ss, id, &nodes[id]);
	}
	for (uint32_t id = 0; id < NODES; id++)
		free(nodes[id].rules);
	shapes_free(&ss);
}
