#include "bench/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (INT64_C(1) << 30)

enum { KEY_NODE_NAME = LABEL_KEY_NODE_NAME, KEY_ZONE, KEY_DEDICATED };
enum { RESOURCE_GPU = RESOURCE_EXTENDED };

static const struct node_type {
	int64_t cpu_milli, memory_bytes, gpus;
	bool tainted;
} types[8] = {
	{ 32000, 128 * GIB, 0, false }, { 64000, 256 * GIB, 0, false },  { 96000, 384 * GIB, 0, false },
	{ 16000, 64 * GIB, 0, false },  { 96000, 768 * GIB, 8, false },  { 64000, 256 * GIB, 2, false },
	{ 48000, 192 * GIB, 0, false }, { 96000, 1024 * GIB, 8, true },
};

static const struct shape_spec {
	int64_t cpu_milli, memory_bytes, gpus;
	bool zone, tolerant;
} shapes[SHAPES_N] = {
	[SHAPE_CPU] = { 1000, 2 * GIB, 0, false, false },
	[SHAPE_GPU] = { 4000, 16 * GIB, 1, false, false },
	[SHAPE_ZONE] = { 2000, 4 * GIB, 0, true, false },
	[SHAPE_TOLERANT] = { 1000, 8 * GIB, 1, false, true },
	[SHAPE_HUGE] = { 2000000, 4096 * GIB, 0, false, false },
};

struct builder {
	alignas(8) unsigned char bytes[4096];
	size_t used;
};

static void *add(struct builder *b, const void *what, size_t bytes)
{
	void *at = b->bytes + b->used;

	memcpy(at, what, bytes);
	memset(b->bytes + b->used + bytes, 0, (size_t)PADDED(bytes) - bytes);
	b->used += (size_t)PADDED(bytes);
	return at;
}

static void begin(struct builder *b, struct cluster *c, enum record_kind kind)
{
	struct record head = { .kind = (uint16_t)kind, .epoch = 1, .time_ns = c->time_ns };

	b->used = 0;
	add(b, &head, sizeof(head));
}

static void step(struct builder *b, struct cluster *c)
{
	int rc;

	((struct record *)b->bytes)->bytes = (uint32_t)b->used;
	c->time_ns += 1000;
	rc = core_step(c->core, (struct record *)b->bytes);
	if (rc != 0) {
		fprintf(stderr, "muster-bench: record kind %u: %s\n", ((struct record *)b->bytes)->kind, strerror(-rc));
		exit(1);
	}
}

static void mark(struct cluster *c, enum record_kind kind)
{
	struct builder b;

	begin(&b, c, kind);
	step(&b, c);
}

static void name_record(struct cluster *c, uint32_t id, enum name_kind kind, const char *text)
{
	struct event_name e = { .id = id, .kind = kind, .bytes = (uint32_t)strlen(text) };
	struct builder b;

	begin(&b, c, EVENT_NAME);
	add(&b, &e, sizeof(e));
	add(&b, text, strlen(text));
	step(&b, c);
}

static void node_record(struct cluster *c, uint32_t node, uint32_t taint_name)
{
	const struct node_type *t = &types[node % 8];
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = t->cpu_milli },
		{ .resource = RESOURCE_MEMORY, .value = t->memory_bytes },
		{ .resource = RESOURCE_EPHEMERAL, .value = 100 * GIB },
		{ .resource = RESOURCE_PODS, .value = 110 },
		{ .resource = RESOURCE_GPU, .value = t->gpus },
	};
	struct label labels[] = {
		{ .key = KEY_NODE_NAME, .value = 100 + node, .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_ZONE, .value = node / 8 % 3, .number = LABEL_NOT_A_NUMBER },
	};
	struct taint taint = { .key = KEY_DEDICATED, .effect = EFFECT_NO_SCHEDULE, .name = taint_name };
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "node-%07u", node);
	struct event_node e = { .node = node, .generation = 1, .flags = NODE_PRESENT, .name_bytes = (uint32_t)name_bytes,
		                .amounts_n = 5, .labels_n = 2, .taints_n = t->tainted };
	struct builder b;

	begin(&b, c, EVENT_NODE);
	add(&b, &e, sizeof(e));
	add(&b, amounts, sizeof(amounts));
	add(&b, labels, sizeof(labels));
	if (t->tainted)
		add(&b, &taint, sizeof(taint));
	add(&b, name, (size_t)name_bytes);
	step(&b, c);
}

static void shape_record(struct cluster *c, uint32_t shape)
{
	const struct shape_spec *s = &shapes[shape];
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = s->cpu_milli },
		{ .resource = RESOURCE_MEMORY, .value = s->memory_bytes },
		{ .resource = RESOURCE_PODS, .value = 1 },
		{ .resource = RESOURCE_GPU, .value = s->gpus },
	};
	struct requirement zone = { .term = 0, .op = REQUIRE_IN, .key = KEY_ZONE, .values_n = 1 };
	uint32_t values[1] = { 1 };
	struct toleration tolerate = { .key = KEY_DEDICATED, .any_value = 1, .effect = EFFECT_ANY };
	struct event_shape e = { .shape = shape, .amounts_n = s->gpus ? 4 : 3, .requirements_n = s->zone,
		                 .values_n = s->zone, .tolerations_n = s->tolerant, .scored_cpu_milli = s->cpu_milli,
		                 .scored_memory_bytes = s->memory_bytes };
	struct builder b;

	begin(&b, c, EVENT_SHAPE);
	add(&b, &e, sizeof(e));
	add(&b, amounts, e.amounts_n * sizeof(amounts[0]));
	if (s->zone) {
		add(&b, &zone, sizeof(zone));
		add(&b, values, sizeof(values));
	}
	if (s->tolerant)
		add(&b, &tolerate, sizeof(tolerate));
	step(&b, c);
}

static void pod_record(struct cluster *c, gang_id gang, enum cluster_shape shape, pod_id pod, node_id node)
{
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "bench/pod-%08u", pod);
	struct event_pod e = { .pod = pod, .generation = ++c->generation, .flags = node == ID_NONE ? POD_OURS : 0,
		               .gang = gang, .shape = shape, .node = node, .name_bytes = (uint32_t)name_bytes,
		               .created_ns = c->time_ns, .uid = { pod, c->generation } };
	struct builder b;

	begin(&b, c, EVENT_POD);
	add(&b, &e, sizeof(e));
	add(&b, name, (size_t)name_bytes);
	step(&b, c);
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct cluster *c = context;

	(void)bytes;
	if (kind == CMD_BIND) {
		c->binds++;
		c->last_bound = ((const struct cmd_bind *)body)->pod;
	}
	return true;
}

/* Foreign pods take half of the cores, on GPU nodes half of the GPUs. */
static void half_fill(struct cluster *c)
{
	for (uint32_t node = 0; node < c->nodes; node++) {
		const struct node_type *t = &types[node % 8];
		enum cluster_shape shape = t->gpus > 0 ? SHAPE_GPU : SHAPE_ZONE;
		int64_t pods = t->gpus > 0 ? t->gpus / 2 : t->cpu_milli / 2 / shapes[shape].cpu_milli;

		for (int64_t i = 0; i < pods; i++)
			pod_record(c, ID_NONE, shape, c->next_pod++, node);
	}
}

bool cluster_init(struct cluster *c, uint32_t nodes, uint32_t pods_max)
{
	uint32_t filled = nodes * 12;
	struct core_config config = {
		.limits = { .nodes = nodes, .pods = pods_max + filled, .gangs = 4096, .shapes = 64, .names = 256,
		            .resources = 8, .name_bytes = (uint64_t)nodes * 64 + (1u << 20), .command_ring_bytes = 1u << 20 },
		.emit = emit,
		.context = c,
	};
	const char *what = NULL;
	uint64_t bytes = core_ledger_bytes(&config.limits, &what);

	memset(c, 0, sizeof(*c));
	c->nodes = nodes;
	c->time_ns = 1;
	c->ledger = bytes ? aligned_alloc(4096, (bytes + 4095) & ~UINT64_C(4095)) : NULL;
	if (c->ledger)
		memset(c->ledger, 0, bytes);
	c->core = c->ledger ? core_new(&config, c->ledger) : NULL;
	if (c->core == NULL) {
		fprintf(stderr, "muster-bench: no memory for %u nodes%s%s\n", nodes, what ? ": " : "", what ? what : "");
		free(c->ledger);
		return false;
	}
	mark(c, EVENT_BEGIN);
	name_record(c, RESOURCE_GPU, NAME_RESOURCE, "nvidia.com/gpu");
	name_record(c, config.limits.resources, NAME_TAINT, "dedicated: ");
	for (uint32_t shape = 0; shape < SHAPES_N; shape++)
		shape_record(c, shape);
	for (uint32_t node = 0; node < nodes; node++)
		node_record(c, node, config.limits.resources);
	half_fill(c);
	mark(c, EVENT_SYNCED);
	cluster_plan(c);
	return true;
}

void cluster_free(struct cluster *c)
{
	core_free(c->core);
	free(c->ledger);
}

pod_id cluster_pod(struct cluster *c, gang_id gang, enum cluster_shape shape)
{
	pod_record(c, gang, shape, c->next_pod, ID_NONE);
	return c->next_pod++;
}

void cluster_gang(struct cluster *c, gang_id gang, uint32_t quorum)
{
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "bench/gang-%u", gang);
	struct event_gang e = { .gang = gang, .generation = 1, .quorum = quorum, .name_bytes = (uint32_t)name_bytes,
		                .created_ns = c->time_ns };
	struct builder b;

	begin(&b, c, EVENT_GANG);
	add(&b, &e, sizeof(e));
	add(&b, name, (size_t)name_bytes);
	step(&b, c);
}

void cluster_pod_end(struct cluster *c, pod_id pod)
{
	/* Ids count up and generations with them, one for each pod. */
	struct event_drop e = { .id = pod, .generation = pod + 1 };
	struct builder b;

	begin(&b, c, EVENT_POD_DROP);
	add(&b, &e, sizeof(e));
	step(&b, c);
}

void cluster_plan(struct cluster *c)
{
	while (core_wants_plan(c->core))
		mark(c, EVENT_PLAN);
}
