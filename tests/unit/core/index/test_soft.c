/* SPDX-License-Identifier: Apache-2.0 */
/* Soft rules in closed form against evaluate(): on random clusters of some hundred nodes each
 * member of a gang goes to the node that the evaluation scores highest, within a mask as well,
 * while labels, taints, sizes, images and other pods change in between. */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"

#include "core/filter/evaluate.h"
#include "core/lifecycle/state.h"
#include "core/step/core.h"
#include "core/index/views_impl.h"
#include "tests/unit/test.h"

enum {
	NODES = 240,
	SPARE = 20,
	ALL = NODES + SPARE,
	SHAPES = 24,
	GANGS = 24,
	MEMBERS = 40,
	CHANGES = 6,
	CLUSTERS = 6
};
enum { KEY_HOST = 1, KEY_ZONE, KEY_RACK, KEY_DISK, KEY_APP, KEY_TAINT };
enum { VALUE_APP = 10, VALUE_NAMESPACE = 20, VALUE_ZONE = 30, VALUE_NODE = 1000 };
enum {
	APPS = 3,
	ZONES = 5,
	DISKS = 3,
	IMAGES = 6,
	RESOURCES = 4,
	PODS = 2000,
	FIRST_PENDING = 1500
};

static const struct limits limits =
	LIMITS_WITH(.nodes = ALL, .pods = PODS, .shapes = SHAPES, .names = 16, .resources = RESOURCES,
                .name_bytes = 1 << 18);

struct world {
	struct random r;
	struct core *core;
	struct ledger *ledger;
	struct evaluation e;
	uint64_t time_ns;
	uint32_t pods;               /* that are placed */
	bool taints;                 /* PreferNoSchedule */
	bool few_images;             /* on nodes */
	uint32_t generations[SPARE]; /* of nodes without pods, which join and leave; 0: not there */
	uint32_t joined;
	uint32_t images[ALL];          /* bits of what each node has, by image */
	uint32_t plain, moved, masked; /* choices compared: plain, weighed, weighed within a mask */
	/* the plain ones of classes with images: of which a node has one, of which no node has any */
	uint32_t with_image, without;
	uint32_t shared,
		apart; /* reads of a class of the same requests: of the same view, of its own */
	alignas(8) unsigned char bytes[4096];
	size_t used;
};

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	return context == NULL || kind == CMD_BIND || body || bytes;
}

static void add(struct world *w, const void *what, size_t bytes)
{
	const size_t padded = (bytes + 7) / 8 * 8;

	cr_assert(w->used + padded <= sizeof(w->bytes));
	memset(w->bytes + w->used, 0, padded);
	memcpy(w->bytes + w->used, what, bytes);
	w->used += padded;
}

static void begin(struct world *w, enum record_kind kind)
{
	const struct record head = { .kind = (uint16_t)kind,
		                         .epoch = 1,
		                         .time_ns = w->time_ns += 1000 };

	w->used = 0;
	add(w, &head, sizeof(head));
}

static void feed(struct world *w)
{
	struct record *r = (void *)w->bytes;

	r->bytes = (uint32_t)w->used;
	cr_assert_eq(core_step(w->core, r), 0, "%s", core_fault(w->core));
}

static void mark(struct world *w, enum record_kind kind)
{
	begin(w, kind);
	feed(w);
}

/* Some lack a zone or a rack; a rack has about two nodes, a host one. */
static void node(struct world *w, uint32_t id)
{
	struct random *r = &w->r;
	const struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = 2000 + 2000 * random_below(r, 4) },
		{ .resource = RESOURCE_MEMORY, .value = INT64_C(1) << (32 + random_below(r, 3)) },
		{ .resource = RESOURCE_PODS, .value = 4 + random_below(r, 20) },
	};
	struct label labels[5];
	struct node_image images[IMAGES];
	struct taint taint = { .key = KEY_TAINT,
		                   .effect = w->taints && random_below(r, 2) ? EFFECT_PREFER_NO_SCHEDULE
		                                                             : EFFECT_NO_SCHEDULE,
		                   .name = RESOURCES };
	char name[16];
	struct event_node e = { .node = id,
		                    .generation = id < NODES ? 1 : w->generations[id - NODES],
		                    .flags = NODE_PRESENT | (random_below(r, 30) ? 0 : NODE_CORDONED),
		                    .amounts_n = 3,
		                    .taints_n = random_below(r, 4) == 0 };

	labels[e.labels_n++] = (struct label){ .key = LABEL_KEY_NODE_NAME, .value = VALUE_NODE + id };
	if (random_below(r, 20))
		labels[e.labels_n++] = (struct label){ .key = KEY_HOST, .value = VALUE_NODE + id };
	if (random_below(r, 12))
		labels[e.labels_n++] =
			(struct label){ .key = KEY_ZONE, .value = VALUE_ZONE + random_below(r, ZONES) };
	if (random_below(r, 6))
		labels[e.labels_n++] = (struct label){ .key = KEY_RACK, .value = VALUE_NODE + id / 2 };
	if (random_below(r, 2))
		labels[e.labels_n++] =
			(struct label){ .key = KEY_DISK, .value = 1 + random_below(r, DISKS) };
	for (uint32_t i = 0; i < e.labels_n; i++)
		labels[i].number = LABEL_NOT_A_NUMBER;
	/* One node of so many has it: of less than some GB that is no point. */
	for (uint32_t i = 0; i < IMAGES; i++)
		if (w->images[id] >> i & 1)
			images[e.images_n++] =
				(struct node_image){ .image = i, .bytes = INT64_C(30000000000) * (1 + i) };
	e.name_bytes =
		(uint32_t)snprintf(name, sizeof(name), "n%04u-%u", id * 7919 % 10000, e.generation);
	begin(w, EVENT_NODE);
	add(w, &e, sizeof(e));
	add(w, amounts, sizeof(amounts));
	add(w, labels, e.labels_n * sizeof(labels[0]));
	if (e.taints_n > 0)
		add(w, &taint, sizeof(taint));
	add(w, images, e.images_n * sizeof(images[0]));
	add(w, name, e.name_bytes);
	feed(w);
}

struct parts {
	struct event_shape e;
	struct amount amounts[3];
	struct toleration tolerations[1];
	struct requirement clauses[8];
	uint32_t values[8];
	struct preference preferences[2];
	struct pod_term terms[3];
	struct spread spreads[3];
	uint32_t images[2];
};

/* A clause over the labels of pods or nodes with one value. */
static struct span clause(struct parts *p, uint32_t key, uint32_t value)
{
	p->values[p->e.values_n] = value;
	p->clauses[p->e.clauses_n] = (struct requirement){
		.op = REQUIRE_IN, .key = key, .values_first = p->e.values_n++, .values_n = 1
	};
	return (struct span){ .first = p->e.clauses_n++, .n = 1 };
}

static uint32_t any_topology(struct random *r)
{
	return KEY_HOST + random_below(r, 3);
}

static void term(struct parts *p, struct random *r)
{
	/* Required rules are rare: they close most nodes. */
	const uint32_t kind = random_below(r, 6) == 0 ? POD_TERM_ANTI_AFFINITY
	                      : random_below(r, 2)    ? POD_TERM_PREFERRED
	                                              : POD_TERM_PREFERRED_ANTI;

	p->terms[p->e.pod_terms_n++] = (struct pod_term){
		.kind = kind,
		.weight = kind == POD_TERM_ANTI_AFFINITY ? 0 : 1 + (int32_t)random_below(r, 100),
		.topology = kind == POD_TERM_ANTI_AFFINITY ? KEY_HOST : any_topology(r),
		.flags = TERM_EVERY_NAMESPACE,
		.clauses = clause(p, KEY_APP, VALUE_APP + random_below(r, APPS)),
	};
}

static void spread(struct parts *p, struct random *r, uint32_t topology, uint32_t flags,
                   uint32_t skew)
{
	if (topology == KEY_HOST && !(flags & SPREAD_HARD))
		flags |= SPREAD_BY_NODE;
	p->spreads[p->e.spreads_n++] =
		(struct spread){ .topology = topology,
		                 .flags = flags | (random_below(r, 4) ? 0 : SPREAD_IGNORES_AFFINITY) |
		                          (random_below(r, 4) ? 0 : SPREAD_HONORS_TAINTS),
		                 .max_skew = skew,
		                 .min_domains = 1,
		                 .clauses = clause(p, KEY_APP, VALUE_APP + random_below(r, APPS)) };
}

static void spreads(struct parts *p, struct random *r)
{
	switch (random_below(r, 4)) {
	case 0: /* podtopologyspread: systemDefaultConstraints */
		spread(p, r, KEY_HOST, SPREAD_DEFAULT, 3);
		spread(p, r, KEY_ZONE, SPREAD_DEFAULT, 5);
		break;
	case 1:
		for (uint32_t n = 1 + random_below(r, 2); n > 0; n--)
			spread(p, r, any_topology(r), 0, 1 + random_below(r, 3));
		break;
	case 2:
		spread(p, r, KEY_ZONE, SPREAD_HARD, 2 + random_below(r, 4));
		spread(p, r, KEY_HOST, 0, 1);
		break;
	default:
		break;
	}
}

static void shape(struct world *w, uint32_t id)
{
	struct random *r = &w->r;
	struct parts p = {
		.e = { .shape = id, .amounts_n = 3, .namespace = VALUE_NAMESPACE },
		.amounts = { { .resource = RESOURCE_CPU, .value = 100 + 200 * random_below(r, 4) },
		             { .resource = RESOURCE_MEMORY, .value = INT64_C(1) << 28 },
		             { .resource = RESOURCE_PODS, .value = 1 } },
		.tolerations = { { .key = KEY_TAINT, .any_value = 1, .effect = EFFECT_NO_SCHEDULE } },
	};

	/* Without rules two of them, and another two, differ in images alone. */
	if (id % 6 == 0)
		p.amounts[0].value = 300 + 300 * (id / 12);
	p.e.scored_cpu_milli = p.amounts[0].value;
	p.e.scored_memory_bytes = p.amounts[1].value;
	p.e.tolerations_n = id % 6 ? random_below(r, 2) : 0;
	for (uint32_t n = id % 6 ? random_below(r, 3) : 0; n > 0; n--)
		p.preferences[p.e.preferences_n++] =
			(struct preference){ .weight = 1 + (int32_t)random_below(r, 100),
			                     .clauses = clause(&p, KEY_DISK, 1 + random_below(r, DISKS)) };
	for (uint32_t n = id % 6 ? random_below(r, 3) : 0; n > 0; n--)
		term(&p, r);
	if (id % 6)
		spreads(&p, r);
	p.e.images_n = p.e.image_containers = id % 6 == 0 || id % 4 ? 1 + random_below(r, 2) : 0;
	for (uint32_t i = 0; i < p.e.images_n; i++)
		p.images[i] = random_below(r, IMAGES);
	begin(w, EVENT_SHAPE);
	add(w, &p.e, sizeof(p.e));
	add(w, p.amounts, sizeof(p.amounts));
	add(w, p.values, p.e.values_n * sizeof(p.values[0]));
	add(w, p.tolerations, p.e.tolerations_n * sizeof(p.tolerations[0]));
	add(w, p.clauses, p.e.clauses_n * sizeof(p.clauses[0]));
	add(w, p.preferences, p.e.preferences_n * sizeof(p.preferences[0]));
	add(w, p.terms, p.e.pod_terms_n * sizeof(p.terms[0]));
	add(w, p.spreads, p.e.spreads_n * sizeof(p.spreads[0]));
	add(w, p.images, p.e.images_n * sizeof(p.images[0]));
	feed(w);
}

/* The pods of a shape have one app, so that they are one class.  No rule selects those of shapes
 * without rules, whose views are plain. */
static void pod(struct world *w, uint32_t id, uint32_t shape_of, node_id on)
{
	struct event_pod e = { .pod = id,
		                   .generation = 1,
		                   .flags = on == ID_NONE ? POD_OURS : 0,
		                   .gang = ID_NONE,
		                   .shape = shape_of,
		                   .node = on,
		                   .name_bytes = 6,
		                   .labels_n = 1,
		                   .namespace = VALUE_NAMESPACE,
		                   .role = ID_NONE,
		                   .created_ns = id + 1,
		                   .uid = { id, 1 } };
	const struct pod_label label = { .key = KEY_APP,
		                             .value = VALUE_APP + (shape_of % 6 ? shape_of % APPS : APPS) };
	char name[16];

	snprintf(name, sizeof(name), "d/%04u", id);
	begin(w, EVENT_POD);
	add(w, &e, sizeof(e));
	add(w, &label, sizeof(label));
	add(w, name, 6);
	feed(w);
}

/* A spare node, with another name each time. */
static void join(struct world *w, uint32_t spare, uint32_t images)
{
	w->generations[spare] = ++w->joined;
	w->images[NODES + spare] = images;
	node(w, NODES + spare);
}

static void join_or_leave(struct world *w)
{
	const uint32_t spare = random_below(&w->r, SPARE);
	const struct event_drop drop = { .id = NODES + spare, .generation = w->generations[spare] };

	if (w->core->nodes.slots[drop.id].pods > 0)
		return;
	if (drop.generation == 0) {
		join(w, spare,
		     random_below(&w->r, 8) || w->few_images ? 0 : 1u << random_below(&w->r, IMAGES));
		return;
	}
	w->generations[spare] = 0;
	w->images[drop.id] = 0;
	begin(w, EVENT_NODE_DROP);
	add(w, &drop, sizeof(drop));
	feed(w);
}

/* A node gets an image, or one that has it loses it: often the first, or the last. */
static void image_change(struct world *w)
{
	const uint32_t bit = 1u << random_below(&w->r, IMAGES);
	node_id id = random_below(&w->r, NODES);

	if (random_below(&w->r, w->few_images ? 20 : 3) == 0) {
		w->images[id] |= bit;
		node(w, id);
		return;
	}
	for (id = 0; id < ALL && !(w->images[id] & bit);)
		id++;
	if (id == ALL)
		return;
	w->images[id] &= ~bit;
	node(w, id);
}

static void order_check(const struct nodes *ns)
{
	cr_assert_not(ns->order_old);
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		const struct node *n = &ns->slots[ns->order[rank]], *next = n;

		cr_assert(n->generation > 0 && ns->ranks[ns->order[rank]] == rank);
		if (rank + 1 == ns->count)
			break;
		next = &ns->slots[ns->order[rank + 1]];
		cr_assert_lt(
			node_name_compare(ns, n, name_text(ns->ledger, node_name(next)), next->name_bytes), 0,
			"ranks %u and %u", rank, rank + 1);
	}
}

static void change(struct world *w)
{
	/* Now and then more than are put in order one by one. */
	const uint32_t joins = random_below(&w->r, 20) ? random_below(&w->r, 3) : 2 * ORDER_LOG;

	for (uint32_t i = 0; i < joins; i++)
		join_or_leave(w);
	if (random_below(&w->r, 4) == 0)
		image_change(w);
	if (random_below(&w->r, 3) == 0)
		node(w, random_below(&w->r, NODES));
	else if (w->pods < FIRST_PENDING)
		pod(w, w->pods++, random_below(&w->r, SHAPES), random_below(&w->r, NODES));
}

static node_id evaluated_best(struct world *w, class_id class, const uint64_t *mask)
{
	struct core *c = w->core;
	node_id best = ID_NONE;

	nodes_sort(&c->nodes);
	evaluate(&c->pod_counts, class, SCORE_KUBE, &w->e);
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		const node_id id = c->nodes.order[rank];

		if (w->e.whys[id] == 0 && (!mask || mask[rank / 64] >> (rank % 64) & 1) &&
		    (best == ID_NONE || w->e.scores[id] > w->e.scores[best]))
			best = id;
	}
	return best;
}

/* The class that differs from this one, whose views are plain, in images alone. */
static void kin_read(struct world *w, uint32_t shape_of, const struct view *v)
{
	const uint32_t kin = shape_of % 12 ? shape_of - 6 : shape_of + 6;
	const class_id class = w->core->pods.slots[FIRST_PENDING + kin].class;
	const struct view *other = views_get(&w->core->views, &(struct view_scope){ 0 }, class);

	cr_assert(other->class == class && view_check(&w->core->views, other), "class %u", class);
	*(other == v ? &w->shared : &w->apart) += 1;
}

/* A gang is placed member by member, with changes in between, and undone. */
static void gang(struct world *w, class_id class, const uint64_t *mask)
{
	struct core *c = w->core;
	struct view_scope scope = { 0 };
	node_id placed[MEMBERS];
	uint32_t n = 0;

	if (mask)
		view_scope_mask(&c->views, &scope, mask);
	while (n < MEMBERS) {
		struct view *v = views_get(&c->views, &scope, class);
		const uint32_t rank = view_best(v);
		const node_id best = evaluated_best(w, class, mask);

		order_check(&c->nodes);
		cr_assert_eq(rank == TREE_NONE ? ID_NONE : c->nodes.order[rank], best,
		             "class %u, member %u: node %u, not %u", class, n,
		             rank == TREE_NONE ? ID_NONE : c->nodes.order[rank], best);
		cr_assert(n % 16 || mask || view_check(&c->views, v), "class %u, member %u", class, n);
		if (rank == TREE_NONE)
			break;
		cr_assert(view_open(v, rank));
		if (v->mode == VIEW_WEIGHED) {
			cr_assert(v->soft, "no closed form");
			cr_assert_eq(view_key(v, rank), w->e.scores[best] + 1);
			w->moved++;
			w->masked += mask != NULL;
		}
		w->plain += v->mode == VIEW_PLAIN;
		if (v->mode == VIEW_PLAIN && class_shape(&c->pod_counts, class)->body->images_n > 0)
			*(v->has_images ? &w->with_image : &w->without) += 1;
		view_take(&c->views, v, rank);
		placed[n++] = best;
		if (v->mode == VIEW_PLAIN && !mask && random_below(&w->r, 2) == 0)
			kin_read(w, class_shape(&c->pod_counts, class)->body->shape, v);
		if (!mask && random_below(&w->r, 8) == 0)
			change(w);
	}
	while (n-- > 0)
		pod_counts_release(&c->pod_counts, placed[n], class, false);
	cr_assert(view_check(&c->views, views_get(&c->views, &(struct view_scope){ 0 }, class)));
}

static void random_gangs(struct world *w)
{
	uint64_t mask[(ALL + 63) / 64];

	for (uint32_t i = 0; i < GANGS; i++) {
		const class_id class = w->core->pods.slots[FIRST_PENDING + i % SHAPES].class;

		for (uint32_t k = 0; k < CHANGES; k++)
			change(w);
		for (uint32_t k = 0; k < (ALL + 63) / 64; k++)
			mask[k] = random_next(&w->r) & random_next(&w->r);
		gang(w, class, NULL);
		nodes_sort(&w->core->nodes);
		gang(w, class, mask);
	}
}

static void world_fill(struct world *w)
{
	static const struct event_name name = { .id = RESOURCES, .kind = NAME_TAINT, .bytes = 3 };

	mark(w, EVENT_BEGIN);
	begin(w, EVENT_NAME);
	add(w, &name, sizeof(name));
	add(w, "old", 3);
	feed(w);
	for (uint32_t i = 0; i < SHAPES; i++)
		shape(w, i);
	for (uint32_t i = 0; i < NODES; i++)
		node(w, i);
	while (w->pods < NODES / 2)
		pod(w, w->pods++, random_below(&w->r, SHAPES), random_below(&w->r, NODES));
	for (uint32_t i = 0; i < SHAPES; i++)
		pod(w, FIRST_PENDING + i, i, ID_NONE);
	mark(w, EVENT_SYNCED);
}

static void world_make(struct world *w)
{
	const struct core_config config = { .limits = limits, .emit = emit, .score = SCORE_KUBE };
	const uint64_t bytes = (core_ledger_bytes(&limits, NULL) + 63) / 64 * 64;

	w->time_ns = 1;
	w->ledger = aligned_alloc(64, bytes);
	cr_assert_not_null(w->ledger);
	memset(w->ledger, 0, bytes);
	w->core = core_new(&config, w->ledger);
	evaluation_init(&w->e, &limits, false);
	world_fill(w);
}

static void world_free(struct world *w)
{
	core_free(w->core);
	evaluation_free(&w->e);
	free(w->ledger);
}

Test(soft, each_member_goes_where_the_evaluation_says, .timeout = 120)
{
	struct random r = random_start("soft");
	uint32_t plain = 0, moved = 0, masked = 0, with_image = 0, without = 0, shared = 0, apart = 0;

	for (uint32_t i = 0; i < CLUSTERS; i++) {
		struct world w = { .r = { random_next(&r) }, .taints = i % 2, .few_images = i < 2 };

		world_make(&w);
		random_gangs(&w);
		plain += w.plain;
		moved += w.moved;
		masked += w.masked;
		with_image += w.with_image;
		without += w.without;
		shared += w.shared;
		apart += w.apart;
		world_free(&w);
	}
	fprintf(stderr,
	        "soft: %u members, %u of them within a mask; plain %u, %u and %u with images; "
	        "%u views shared, %u not\n",
	        moved, masked, plain, with_image, without, shared, apart);
	cr_assert(plain > 500 && masked > 500 && moved - masked > 500);
	cr_assert(with_image > 100 && without > 100 && shared > 20 && apart > 20);
}

/* Steps of bringing the view of the class up to date. */
static uint64_t steps_of_view(struct world *w, class_id class)
{
	struct views *vs = &w->core->views;
	const struct view *v;

	budget_reset(vs->budget);
	v = views_get(vs, &(struct view_scope){ 0 }, class);
	cr_assert(v->mode == VIEW_PLAIN && view_check(vs, v));
	return vs->budget->spent;
}

Test(soft, a_join_moves_the_view_of_a_class_whose_images_no_node_has)
{
	struct world w = { .r = random_start("soft.images") };
	class_id class;
	uint32_t image;

	world_make(&w);
	class = w.core->pods.slots[FIRST_PENDING + 6].class;
	image = class_shape(&w.core->pod_counts, class)->parts.images[0];
	cr_assert_geq(steps_of_view(&w, class), NODES);
	for (uint32_t i = 0; i < 3; i++) {
		join(&w, i, i == 1 ? 1u << image : 0);
		cr_assert_eq(steps_of_view(&w, class) < NODES / 4, i == 0, "join %u", i);
	}
	w.images[NODES + 1] = 0;
	node(&w, NODES + 1);
	cr_assert_geq(steps_of_view(&w, class), NODES);
	join(&w, 3, 0);
	cr_assert_lt(steps_of_view(&w, class), NODES / 4);
	world_free(&w);
}

/* The shape with its pods leaves, and with it the class that read a view first. */
static void shape_leave(struct world *w, uint32_t shape_of)
{
	struct event_drop drop = { .id = shape_of };

	for (uint32_t id = 0; id < PODS; id++) {
		const struct pod *p = &w->core->pods.slots[id];

		if (p->generation > 0 && p->shape == shape_of) {
			begin(w, EVENT_POD_DROP);
			add(w, &(struct event_drop){ .id = id, .generation = p->generation }, sizeof(drop));
			feed(w);
		}
	}
	begin(w, EVENT_SHAPE_DROP);
	add(w, &drop, sizeof(drop));
	feed(w);
}

Test(soft, a_shared_view_outlives_the_class_that_it_was_built_for)
{
	struct world w = { .r = random_start("soft.kin"), .taints = true };
	const struct view_scope all = { 0 };
	const struct view *first, *v;
	class_id class;

	world_make(&w);
	class = w.core->pods.slots[FIRST_PENDING + 6].class;
	first = views_get(&w.core->views, &all, w.core->pods.slots[FIRST_PENDING].class);
	cr_assert_eq(first->mode, VIEW_WEIGHED, "taints are soft");
	cr_assert_eq(views_get(&w.core->views, &all, class), first);
	shape_leave(&w, 0);
	for (uint32_t i = 0; i < 30; i++) {
		pod(&w, w.pods++, 6, i);
		v = views_get(&w.core->views, &all, class);
		cr_assert_eq(v, first);
		cr_assert(view_check(&w.core->views, v), "node %u", i);
	}
	world_free(&w);
}
