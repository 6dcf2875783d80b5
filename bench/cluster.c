#include "bench/cluster.h"

#include "bench/bench.h"
#include "bench/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GIB (INT64_C(1) << 30)
#define SPARE_NAMES 256u
#define GANGS 4096u

/* Numbers of label keys and of values, as the frontend would choose them. */
enum { KEY_NODE_NAME = LABEL_KEY_NODE_NAME, KEY_HOSTNAME, KEY_ZONE, KEY_POOL, KEY_APP, KEY_OWN, KEY_DEDICATED = 90 };
enum { VALUE_ZONES = 10, VALUE_RARE = 20, VALUE_COMMON, VALUE_ANTI, VALUE_SPREAD, VALUE_NAMESPACE, VALUE_FREE = 1000 };
enum { RESOURCE_GPU = RESOURCE_EXTENDED };
enum { RARE_EVERY = 500 };

static const struct node_type {
	int64_t cpu_milli, memory_bytes, gpus;
	bool tainted;
} types[CLUSTER_TYPES] = {
	{ 32000, 128 * GIB, 0, false }, { 64000, 256 * GIB, 0, false }, { 96000, 384 * GIB, 0, false },
	{ 16000, 64 * GIB, 0, false },  { 96000, 768 * GIB, 8, false }, { 64000, 256 * GIB, 2, false },
	{ 48000, 192 * GIB, 0, false }, { 96000, 1024 * GIB, 8, true },
};

/* Eighths of a node. */
static const int64_t fills[CLUSTER_FILLS] = { 2, 3, 4, 6 };

enum rule { RULE_ZONE = 1, RULE_TOLERANT = 2, RULE_RARE = 4, RULE_ANTI = 8, RULE_SPREAD = 16 };

struct shape_spec {
	int64_t cpu_milli, memory_bytes, gpus;
	uint32_t rules; /* enum rule */
};

static struct shape_spec shape_spec(const struct cluster *c, uint32_t shape)
{
	static const struct shape_spec fixed[] = {
		[SHAPE_CPU] = { 1000, 2 * GIB, 0, 0 },
		[SHAPE_GPU] = { 4000, 16 * GIB, 1, 0 },
		[SHAPE_ZONE] = { 2000, 4 * GIB, 0, RULE_ZONE },
		[SHAPE_TOLERANT] = { 1000, 8 * GIB, 1, RULE_TOLERANT },
		[SHAPE_RARE] = { 16000, 32 * GIB, 0, RULE_RARE },
		[SHAPE_ANTI] = { 1000, 2 * GIB, 0, RULE_ANTI },
		[SHAPE_SPREAD] = { 1000, 2 * GIB, 0, RULE_SPREAD },
	};
	const struct node_type *t;
	int64_t i;

	if (shape < SHAPE_NEW)
		return fixed[shape];
	if (shape == SHAPE_NEW)
		return (struct shape_spec){ 1000 + c->new_shapes % 500, 2 * GIB, 0, 0 };
	if (shape < SHAPE_BIG) {
		i = shape - SHAPE_MIX;
		return (struct shape_spec){ 250 * (i + 1), (i * 7 % CLUSTER_MIX + 1) * GIB / 2, i % 8 == 7,
			                    i % 4 == 3 ? RULE_TOLERANT : i % 4 == 2 ? RULE_ZONE : 0 };
	}
	if (shape < SHAPE_FILL) {
		i = shape - SHAPE_BIG;
		return (struct shape_spec){ 40000 + 500 * i, (96 + i) * GIB, 0, 0 };
	}
	t = &types[(shape - SHAPE_FILL) / CLUSTER_FILLS];
	i = fills[(shape - SHAPE_FILL) % CLUSTER_FILLS];
	return (struct shape_spec){ t->cpu_milli * i / 8, t->memory_bytes * i / 8, t->gpus * i / 8, 0 };
}

/* ---- records ------------------------------------------------------------------ */

static void begin(struct builder *b, const struct cluster *c, enum record_kind kind)
{
	builder_begin(b, kind, c->time_ns);
}

static void end(struct builder *b, struct cluster *c)
{
	const struct record *r = builder_end(b);

	c->time_ns += 1000;
	if (!c->batching) {
		if (!c->feed(c, r))
			exit(1);
		return;
	}
	if (c->batch_bytes + r->bytes > c->batch_room) {
		c->batch_room = 2 * c->batch_room + (1u << 20);
		c->batch = realloc(c->batch, c->batch_room);
		if (!c->batch) {
			fprintf(stderr, "muster-bench: no memory for a batch\n");
			exit(1);
		}
	}
	memcpy(c->batch + c->batch_bytes, r, r->bytes);
	c->batch_bytes += r->bytes;
}

static void mark(struct cluster *c, enum record_kind kind)
{
	struct builder b;

	begin(&b, c, kind);
	end(&b, c);
}

static void name_record(struct cluster *c, uint32_t id, enum name_kind kind, const char *text)
{
	struct event_name e = { .id = id, .kind = kind, .bytes = (uint32_t)strlen(text) };
	struct builder b;

	begin(&b, c, EVENT_NAME);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, text, strlen(text));
	end(&b, c);
}

static void node_record(struct cluster *c, uint32_t node, int64_t more_memory)
{
	const struct node_type *t = &types[node % CLUSTER_TYPES];
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = t->cpu_milli },
		{ .resource = RESOURCE_MEMORY, .value = t->memory_bytes + more_memory },
		{ .resource = RESOURCE_EPHEMERAL, .value = 100 * GIB },
		{ .resource = RESOURCE_PODS, .value = 110 },
		{ .resource = RESOURCE_GPU, .value = t->gpus },
	};
	struct label labels[] = {
		{ .key = KEY_NODE_NAME, .value = VALUE_FREE + node, .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_HOSTNAME, .value = VALUE_FREE + node, .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_ZONE, .value = VALUE_ZONES + node / CLUSTER_TYPES % CLUSTER_ZONES,
		  .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_POOL, .value = node % RARE_EVERY == 1 ? VALUE_RARE : VALUE_COMMON,
		  .number = LABEL_NOT_A_NUMBER },
	};
	struct taint taint = { .key = KEY_DEDICATED, .effect = EFFECT_NO_SCHEDULE, .name = c->limits.resources };
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "node-%07u", node);
	struct event_node e = { .node = node, .generation = 1, .flags = NODE_PRESENT, .name_bytes = (uint32_t)name_bytes,
		                .amounts_n = 5, .labels_n = 4, .taints_n = t->tainted };
	struct builder b;

	begin(&b, c, EVENT_NODE);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, amounts, sizeof(amounts));
	builder_add(&b, labels, sizeof(labels));
	if (t->tainted)
		builder_add(&b, &taint, sizeof(taint));
	builder_add(&b, name, (size_t)name_bytes);
	end(&b, c);
}

/* What a shape's record counts, filled in by its rules. */
struct shape_parts {
	struct event_shape e;
	struct amount amounts[4];
	struct requirement requirements[1], clauses[1];
	uint32_t values[2];
	struct toleration tolerations[1];
	struct pod_term terms[1];
	struct spread spreads[1];
};

static void shape_rules(struct shape_parts *p, uint32_t rules)
{
	if (rules & (RULE_ZONE | RULE_RARE)) {
		p->requirements[p->e.requirements_n++] = (struct requirement){
			.op = REQUIRE_IN, .key = rules & RULE_ZONE ? KEY_ZONE : KEY_POOL, .values_n = 1 };
		p->values[p->e.values_n++] = rules & RULE_ZONE ? VALUE_ZONES + 1 : VALUE_RARE;
	}
	if (rules & RULE_TOLERANT)
		p->tolerations[p->e.tolerations_n++] =
			(struct toleration){ .key = KEY_DEDICATED, .any_value = 1, .effect = EFFECT_ANY };
	if (!(rules & (RULE_ANTI | RULE_SPREAD)))
		return;
	p->values[0] = rules & RULE_ANTI ? VALUE_ANTI : VALUE_SPREAD;
	p->values[1] = VALUE_NAMESPACE;
	p->e.values_n = 2;
	p->clauses[p->e.clauses_n++] = (struct requirement){ .op = REQUIRE_IN, .key = KEY_APP, .values_n = 1 };
	if (rules & RULE_ANTI)
		p->terms[p->e.pod_terms_n++] = (struct pod_term){ .kind = POD_TERM_ANTI_AFFINITY, .topology = KEY_HOSTNAME,
			                                          .namespaces = { .first = 1, .n = 1 },
			                                          .clauses = { .n = 1 } };
	else
		p->spreads[p->e.spreads_n++] = (struct spread){ .topology = KEY_ZONE, .flags = SPREAD_HARD, .max_skew = 1,
			                                        .min_domains = 1, .clauses = { .n = 1 } };
}

static void shape_record(struct cluster *c, uint32_t shape, const struct shape_spec *s)
{
	struct shape_parts p = {
		.e = { .shape = shape, .amounts_n = s->gpus ? 4 : 3, .scored_cpu_milli = s->cpu_milli,
		       .scored_memory_bytes = s->memory_bytes,
		       .namespace = s->rules & RULE_SPREAD ? VALUE_NAMESPACE : ID_NONE },
		.amounts = { { .resource = RESOURCE_CPU, .value = s->cpu_milli },
		             { .resource = RESOURCE_MEMORY, .value = s->memory_bytes },
		             { .resource = RESOURCE_PODS, .value = 1 },
		             { .resource = RESOURCE_GPU, .value = s->gpus } },
	};
	struct builder b;

	shape_rules(&p, s->rules);
	begin(&b, c, EVENT_SHAPE);
	builder_add(&b, &p.e, sizeof(p.e));
	builder_add(&b, p.amounts, p.e.amounts_n * sizeof(p.amounts[0]));
	builder_add(&b, p.requirements, p.e.requirements_n * sizeof(p.requirements[0]));
	builder_add(&b, p.values, p.e.values_n * sizeof(p.values[0]));
	builder_add(&b, p.tolerations, p.e.tolerations_n * sizeof(p.tolerations[0]));
	builder_add(&b, p.clauses, p.e.clauses_n * sizeof(p.clauses[0]));
	builder_add(&b, p.terms, p.e.pod_terms_n * sizeof(p.terms[0]));
	builder_add(&b, p.spreads, p.e.spreads_n * sizeof(p.spreads[0]));
	end(&b, c);
}

struct pod_spec {
	pod_id pod;
	gang_id gang;
	uint32_t shape;
	node_id node;    /* ID_NONE: pending */
	bool foreign;
	uint32_t labels; /* of its own */
};

static void pod_record(struct cluster *c, const struct pod_spec *s)
{
	static const uint32_t apps[] = { [SHAPE_ANTI] = VALUE_ANTI, [SHAPE_SPREAD] = VALUE_SPREAD };
	uint32_t app = s->shape <= SHAPE_SPREAD && apps[s->shape] ? apps[s->shape] : VALUE_FREE + s->shape;
	struct pod_label labels[16] = { { .key = KEY_APP, .value = app } };
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "bench/pod-%08u", s->pod);
	struct event_pod e = { .pod = s->pod, .generation = c->generations[s->pod], .flags = s->foreign ? 0 : POD_OURS,
		               .gang = s->gang, .shape = s->shape, .node = s->node, .name_bytes = (uint32_t)name_bytes,
		               .labels_n = 1, .namespace = VALUE_NAMESPACE, .created_ns = c->time_ns,
		               .uid = { s->pod, c->generations[s->pod] } };
	struct builder b;

	for (; e.labels_n <= s->labels && e.labels_n < 16; e.labels_n++)
		labels[e.labels_n] = (struct pod_label){ .key = KEY_OWN + e.labels_n, .value = VALUE_FREE + s->pod };
	begin(&b, c, EVENT_POD);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, labels, e.labels_n * sizeof(labels[0]));
	builder_add(&b, name, (size_t)name_bytes);
	end(&b, c);
}

/* ---- what benches ask for ------------------------------------------------------- */

static pod_id pod_take_id(struct cluster *c)
{
	pod_id pod = c->free_n > 0 ? c->free_pods[--c->free_n] : c->next_pod++;

	if (pod >= c->pods_limit) {
		fprintf(stderr, "muster-bench: more than %u pods at once\n", c->pods_limit);
		exit(1);
	}
	c->generations[pod] = ++c->generation;
	return pod;
}

pod_id cluster_pod(struct cluster *c, gang_id gang, uint32_t shape)
{
	pod_id pod = pod_take_id(c);

	pod_record(c, &(struct pod_spec){ .pod = pod, .gang = gang, .shape = shape, .node = ID_NONE });
	return pod;
}

pod_id cluster_pod_labelled(struct cluster *c, uint32_t shape, uint32_t labels)
{
	pod_id pod = pod_take_id(c);

	pod_record(c, &(struct pod_spec){ .pod = pod, .gang = ID_NONE, .shape = shape, .node = pod % c->nodes,
	                                  .foreign = true, .labels = labels });
	return pod;
}

void cluster_bound(struct cluster *c, const struct cluster_bind *bind, gang_id gang, uint32_t shape)
{
	struct result r = { .pod = bind->pod, .generation = bind->pod_generation, .node = bind->node,
		            .attempt = bind->attempt };
	struct builder b;

	begin(&b, c, RESULT_BOUND);
	builder_add(&b, &r, sizeof(r));
	end(&b, c);
	pod_record(c, &(struct pod_spec){ .pod = bind->pod, .gang = gang, .shape = shape, .node = bind->node });
}

static void drop_record(struct cluster *c, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };
	struct builder b;

	begin(&b, c, kind);
	builder_add(&b, &e, sizeof(e));
	end(&b, c);
}

void cluster_pod_end(struct cluster *c, pod_id pod)
{
	drop_record(c, EVENT_POD_DROP, pod, c->generations[pod]);
	c->free_pods[c->free_n++] = pod;
}

void cluster_gang(struct cluster *c, gang_id gang, uint32_t quorum)
{
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "bench/gang-%u", gang);
	struct event_gang e = { .gang = gang, .generation = ++c->generation, .quorum = quorum,
		                .name_bytes = (uint32_t)name_bytes, .created_ns = c->time_ns };
	struct builder b;

	c->gang_generations[gang] = e.generation;
	begin(&b, c, EVENT_GANG);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, name, (size_t)name_bytes);
	end(&b, c);
}

void cluster_gang_end(struct cluster *c, gang_id gang)
{
	drop_record(c, EVENT_GANG_DROP, gang, c->gang_generations[gang]);
}

void cluster_new_shape(struct cluster *c, bool scarce)
{
	struct shape_spec s = shape_spec(c, SHAPE_NEW);

	if (c->new_shapes++ > 0)
		drop_record(c, EVENT_SHAPE_DROP, SHAPE_NEW, 0);
	s = shape_spec(c, SHAPE_NEW);
	if (scarce) {
		s.cpu_milli += 15000;
		s.rules = RULE_RARE;
	}
	shape_record(c, SHAPE_NEW, &s);
}

void cluster_node(struct cluster *c, node_id node, bool more)
{
	node_record(c, node, more ? 8 * GIB : 0);
}

/* On the measured path: nothing here but what the core's own loop does. */
void cluster_decide(struct cluster *c)
{
	while (core_wants_plan(c->core)) {
		const struct record r = { .bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = 1, .time_ns = c->time_ns };

		c->time_ns += 1000;
		if (!c->feed(c, &r))
			exit(1);
		ring_publish(&c->commands);
	}
}

void cluster_take(struct cluster *c)
{
	struct record *r = (struct record *)(void *)c->buffer;

	while (ring_read(&c->taken, r) == 1)
		cluster_command(c, r->kind, r + 1);
	ring_release(&c->taken);
}

uint64_t cluster_plan(struct cluster *c)
{
	uint64_t took = bench_now_ns();

	cluster_decide(c);
	took = bench_now_ns() - took;
	cluster_take(c);
	return took;
}

void cluster_batch(struct cluster *c)
{
	c->batching = true;
	c->batch_bytes = 0;
}

uint64_t cluster_run(struct cluster *c)
{
	uint64_t start = bench_now_ns();

	c->batching = false;
	for (size_t at = 0; at < c->batch_bytes;) {
		const struct record *r = (const void *)(c->batch + at);

		if (!c->feed(c, r))
			exit(1);
		at += r->bytes;
	}
	return bench_now_ns() - start;
}

void cluster_command(struct cluster *c, enum record_kind kind, const void *body)
{
	if (kind == CMD_BIND) {
		const struct cmd_bind *b = body;

		c->bind[c->binds++ % CLUSTER_BINDS] = (struct cluster_bind){ .pod = b->pod, .node = b->node,
			                                                     .pod_generation = b->pod_generation,
			                                                     .attempt = b->attempt };
	} else if (kind == CMD_REASON) {
		c->reasons++;
	}
}

/* ---- a whole cluster -------------------------------------------------------------- */

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct cluster *c = context;
	struct record *r = ring_reserve(&c->commands, kind, bytes, c->time_ns);

	if (r)
		memcpy(r + 1, body, bytes);
	return r;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool feed_core(struct cluster *c, const struct record *r)
{
	int rc = core_step(c->core, r);

	if (rc == 0)
		return true;
	fprintf(stderr, "muster-bench: record kind %u: %s: %s\n", r->kind, strerror(-rc), core_fault(c->core));
	return false;
}

struct limits cluster_limits(const struct cluster_setup *s)
{
	return (struct limits){ .nodes = s->nodes, .pods = s->pods_more + (s->bare ? 1 : 2 * s->nodes), .gangs = GANGS,
		                .shapes = 128, .names = SPARE_NAMES, .resources = s->resources ? s->resources : 8,
		                .name_bytes = (uint64_t)s->nodes * 64 + (1u << 20), .command_ring_bytes = 1u << 22 };
}

/* Two foreign pods for each node: one of some eighths of it, one of any size. */
static void half_fill(struct cluster *c)
{
	for (uint32_t node = 0; node < c->nodes; node++) {
		uint32_t type = node % CLUSTER_TYPES, mixed = node * 2654435761u >> 16;
		uint32_t shapes[2] = { SHAPE_FILL + type * CLUSTER_FILLS + mixed % CLUSTER_FILLS,
			               SHAPE_MIX + mixed / CLUSTER_FILLS % CLUSTER_MIX };

		for (int i = 0; i < 2; i++)
			pod_record(c, &(struct pod_spec){ .pod = pod_take_id(c), .gang = ID_NONE, .shape = shapes[i],
			                                  .node = node, .foreign = true });
	}
}

static void fill(struct cluster *c, bool bare)
{
	mark(c, EVENT_BEGIN);
	name_record(c, RESOURCE_GPU, NAME_RESOURCE, "nvidia.com/gpu");
	name_record(c, c->limits.resources, NAME_TAINT, "dedicated: ");
	for (uint32_t shape = 0; shape < SHAPES_N; shape++) {
		struct shape_spec s = shape_spec(c, shape);

		if (shape != SHAPE_NEW)
			shape_record(c, shape, &s);
	}
	for (uint32_t node = 0; node < c->nodes; node++)
		node_record(c, node, 0);
	if (!bare)
		half_fill(c);
	mark(c, EVENT_SYNCED);
}

static bool no_room(struct cluster *c, const char *what)
{
	fprintf(stderr, "muster-bench: no memory for %u nodes%s%s\n", c->nodes, what ? ": " : "", what ? what : "");
	cluster_free(c);
	return false;
}

static bool core_init(struct cluster *c)
{
	/* As muster-core has it by default. */
	struct core_config config = { .limits = c->limits, .emit = emit, .context = c, .clock_ns = clock_ns,
		                      .hold_after_ns = UINT64_C(60000000000) };
	const char *what = NULL;
	uint64_t bytes = core_ledger_bytes(&config.limits, &what);
	unsigned char *ring;

	c->feed = feed_core;
	c->ledger = bytes ? aligned_alloc(4096, (bytes + 4095) & ~UINT64_C(4095)) : NULL;
	if (c->ledger)
		memset(c->ledger, 0, bytes);
	c->core = c->ledger ? core_new(&config, c->ledger) : NULL;
	c->buffer = malloc(RECORD_BYTES_MAX);
	if (!c->core || !c->buffer)
		return no_room(c, what);
	ring = (unsigned char *)c->ledger + c->ledger->command_ring.offset;
	ring_writer_init(&c->commands, ring, c->limits.command_ring_bytes, &c->ledger->command_tail, &c->taken_head, 1);
	ring_reader_init(&c->taken, ring, c->limits.command_ring_bytes, &c->ledger->command_tail, &c->taken_head, 1);
	return true;
}

bool cluster_init(struct cluster *c, const struct cluster_setup *setup)
{
	*c = (struct cluster){ .limits = cluster_limits(setup), .nodes = setup->nodes, .feed = setup->feed,
		               .feed_context = setup->feed_context, .time_ns = 1 };
	c->pods_limit = c->limits.pods;
	c->free_pods = malloc(c->pods_limit * sizeof(*c->free_pods));
	c->generations = malloc(c->pods_limit * sizeof(*c->generations));
	c->gang_generations = malloc(GANGS * sizeof(*c->gang_generations));
	c->bind = malloc(CLUSTER_BINDS * sizeof(*c->bind));
	if (!c->free_pods || !c->generations || !c->gang_generations || !c->bind)
		return no_room(c, NULL);
	if (!c->feed && !core_init(c))
		return false;
	fill(c, setup->bare);
	if (c->core)
		cluster_plan(c);
	return true;
}

void cluster_free(struct cluster *c)
{
	core_free(c->core);
	free(c->ledger);
	free(c->free_pods);
	free(c->generations);
	free(c->gang_generations);
	free(c->bind);
	free(c->batch);
	free(c->buffer);
}
