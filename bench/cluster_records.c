/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/cluster_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (INT64_C(1) << 30)

/* Numbers of label keys and values, in the frontend's numbering. */
enum {
	KEY_NODE_NAME = LABEL_KEY_NODE_NAME,
	KEY_HOSTNAME,
	KEY_ZONE,
	KEY_POOL,
	KEY_APP,
	KEY_OWN,
	KEY_BLOCK,
	KEY_RACK,
	KEY_DEDICATED = 90
};
enum {
	VALUE_ZONES = 10,
	VALUE_RARE = 20,
	VALUE_COMMON,
	VALUE_ANTI,
	VALUE_SPREAD,
	VALUE_NAMESPACE,
	VALUE_SOFT, /* and the next, a shape each */
	VALUE_FREE = 1000
};
enum { RESOURCE_GPU = RESOURCE_EXTENDED };
enum { RARE_EVERY = 500, PODS_IN_A_SECOND = 1000 };

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

enum rule {
	RULE_ZONE = 1,
	RULE_TOLERANT = 2,
	RULE_RARE = 4,
	RULE_ANTI = 8,
	RULE_SPREAD = 16,
	RULE_SERVICE = 32,
	RULE_PREFER_HOST = 64,
	RULE_PREFER_ZONE = 128,
	RULE_PREFER_NODE = 256
};

/* Rules over pods with the shape's own label. */
#define RULES_OF_PODS (RULE_ANTI | RULE_SPREAD | RULE_SERVICE | RULE_PREFER_HOST | RULE_PREFER_ZONE)

struct shape_spec shape_spec(const struct cluster *c, uint32_t shape)
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

	if (shape == SHAPE_DEVICE)
		return (struct shape_spec){ 1000, 2 * GIB, 0, 0 };
	if (shape >= SHAPE_SERVICE)
		return (struct shape_spec){ 1000, 2 * GIB, 0, RULE_SERVICE << (shape - SHAPE_SERVICE) };
	if (shape < SHAPE_NEW)
		return fixed[shape];
	if (shape == SHAPE_NEW)
		return (struct shape_spec){ 1000 + c->new_shapes % 500, 2 * GIB, 0, 0 };
	if (shape < SHAPE_BIG) {
		i = shape - SHAPE_MIX;
		return (struct shape_spec){ 250 * (i + 1), (i * 7 % CLUSTER_MIX + 1) * GIB / 2, i % 8 == 7,
			                        i % 4 == 3   ? RULE_TOLERANT
			                        : i % 4 == 2 ? RULE_ZONE
			                                     : 0 };
	}
	if (shape < SHAPE_FILL) {
		i = shape - SHAPE_BIG;
		return (struct shape_spec){ 40000 + 500 * i, (96 + i) * GIB, 0, 0 };
	}
	t = &types[(shape - SHAPE_FILL) / CLUSTER_FILLS];
	i = fills[(shape - SHAPE_FILL) % CLUSTER_FILLS];
	return (struct shape_spec){ t->cpu_milli * i / 8, t->memory_bytes * i / 8, t->gpus * i / 8, 0 };
}

struct shape_spec shape_spec_scarce(struct shape_spec s)
{
	s.cpu_milli += 15000;
	s.rules = RULE_RARE;
	return s;
}

void tell(struct cluster *c, enum record_kind kind, const struct part *parts)
{
	struct builder b;
	const struct record *r = builder_make(&b, kind, c->time_ns, parts);

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

static void name_record(struct cluster *c, uint32_t id, enum name_kind kind, const char *text)
{
	struct event_name e = { .id = id, .kind = kind, .bytes = (uint32_t)strlen(text) };

	tell(c, EVENT_NAME, PARTS({ &e, sizeof(e) }, { text, strlen(text) }));
}

void tell_names(struct cluster *c)
{
	name_record(c, RESOURCE_GPU, NAME_RESOURCE, "nvidia.com/gpu");
	name_record(c, c->limits.resources, NAME_TAINT, "dedicated: ");
}

void tell_node(struct cluster *c, uint32_t node, int64_t more_memory)
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
		{ .key = KEY_ZONE,
		  .value = VALUE_ZONES + node / CLUSTER_TYPES % CLUSTER_ZONES,
		  .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_POOL,
		  .value = node % RARE_EVERY == 1 ? VALUE_RARE : VALUE_COMMON,
		  .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_BLOCK,
		  .value = VALUE_FREE + node / CLUSTER_BLOCK,
		  .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_RACK,
		  .value = VALUE_FREE + node / CLUSTER_RACK,
		  .number = LABEL_NOT_A_NUMBER },
	};
	struct taint taint = { .key = KEY_DEDICATED,
		                   .effect = EFFECT_NO_SCHEDULE,
		                   .name = c->limits.resources };
	char name[32];
	int name_bytes = c->scattered
	                     ? snprintf(name, sizeof(name), "node-%08x", node * UINT32_C(2654435761))
	                     : snprintf(name, sizeof(name), "node-%07u", node);
	struct event_node e = { .node = node,
		                    .generation = 1,
		                    .flags = NODE_PRESENT,
		                    .name_bytes = (uint32_t)name_bytes,
		                    .amounts_n = 5,
		                    .labels_n = c->racks ? 6 : 4,
		                    .taints_n = t->tainted };

	tell(c, EVENT_NODE,
	     PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) },
	           { labels, e.labels_n * sizeof(labels[0]) },
	           { &taint, t->tainted ? sizeof(taint) : 0 }, { name, name_bytes }));
}

/* Counts in a shape's record, set by its rules. */
struct shape_parts {
	struct event_shape e;
	struct amount amounts[4];
	struct requirement requirements[1], clauses[1];
	uint32_t values[2];
	struct toleration tolerations[1];
	struct pod_term terms[1];
	struct preference preferences[1];
	struct spread spreads[2];
};

/* podtopologyspread: systemDefaultConstraints. */
static void service_spreads(struct shape_parts *p)
{
	p->spreads[0] = (struct spread){ .topology = KEY_HOSTNAME,
		                             .flags = SPREAD_DEFAULT | SPREAD_BY_NODE,
		                             .max_skew = 3,
		                             .min_domains = 1,
		                             .clauses = { .n = 1 } };
	p->spreads[1] = (struct spread){ .topology = KEY_ZONE,
		                             .flags = SPREAD_DEFAULT,
		                             .max_skew = 5,
		                             .min_domains = 1,
		                             .clauses = { .n = 1 } };
	p->e.spreads_n = 2;
}

static void own_term(struct shape_parts *p, uint32_t kind, uint32_t topology, int32_t weight)
{
	p->terms[p->e.pod_terms_n++] = (struct pod_term){ .kind = kind,
		                                              .weight = weight,
		                                              .topology = topology,
		                                              .namespaces = { .first = 1, .n = 1 },
		                                              .clauses = { .n = 1 } };
}

static uint32_t own_app(uint32_t rules)
{
	if (rules & (RULE_ANTI | RULE_SPREAD))
		return rules & RULE_ANTI ? VALUE_ANTI : VALUE_SPREAD;
	return VALUE_SOFT + (uint32_t)__builtin_ctz(rules / RULE_SERVICE);
}

static void shape_rules(struct shape_parts *p, uint32_t rules)
{
	if (rules & (RULE_ZONE | RULE_RARE)) {
		p->requirements[p->e.requirements_n++] = (struct requirement){
			.op = REQUIRE_IN, .key = rules & RULE_ZONE ? KEY_ZONE : KEY_POOL, .values_n = 1
		};
		p->values[p->e.values_n++] = rules & RULE_ZONE ? VALUE_ZONES + 1 : VALUE_RARE;
	}
	if (rules & RULE_TOLERANT)
		p->tolerations[p->e.tolerations_n++] =
			(struct toleration){ .key = KEY_DEDICATED, .any_value = 1, .effect = EFFECT_ANY };
	if (rules & RULE_PREFER_NODE) {
		p->values[p->e.values_n++] = VALUE_ZONES + 1;
		p->clauses[p->e.clauses_n++] =
			(struct requirement){ .op = REQUIRE_IN, .key = KEY_ZONE, .values_n = 1 };
		p->preferences[p->e.preferences_n++] =
			(struct preference){ .weight = 10, .clauses = { .n = 1 } };
	}
	if (!(rules & RULES_OF_PODS))
		return;
	p->values[0] = own_app(rules);
	p->values[1] = VALUE_NAMESPACE;
	p->e.values_n = 2;
	p->clauses[p->e.clauses_n++] =
		(struct requirement){ .op = REQUIRE_IN, .key = KEY_APP, .values_n = 1 };
	if (rules & RULE_ANTI)
		own_term(p, POD_TERM_ANTI_AFFINITY, KEY_HOSTNAME, 0);
	else if (rules & RULE_PREFER_HOST)
		own_term(p, POD_TERM_PREFERRED_ANTI, KEY_HOSTNAME, 100);
	else if (rules & RULE_PREFER_ZONE)
		own_term(p, POD_TERM_PREFERRED, KEY_ZONE, 100);
	else if (rules & RULE_SERVICE)
		service_spreads(p);
	else
		p->spreads[p->e.spreads_n++] = (struct spread){ .topology = KEY_ZONE,
			                                            .flags = SPREAD_HARD,
			                                            .max_skew = 1,
			                                            .min_domains = 1,
			                                            .clauses = { .n = 1 } };
}

void tell_shape(struct cluster *c, uint32_t shape, const struct shape_spec *s)
{
	struct shape_parts p = {
		.e = { .shape = shape,
		       .amounts_n = s->gpus ? 4 : 3,
		       .devices = shape == SHAPE_DEVICE,
		       .scored_cpu_milli = s->cpu_milli,
		       .scored_memory_bytes = s->memory_bytes,
		       .namespace = s->rules & (RULE_SPREAD | RULE_SERVICE) ? VALUE_NAMESPACE : ID_NONE },
		.amounts = { { .resource = RESOURCE_CPU, .value = s->cpu_milli },
		             { .resource = RESOURCE_MEMORY, .value = s->memory_bytes },
		             { .resource = RESOURCE_PODS, .value = 1 },
		             { .resource = RESOURCE_GPU, .value = s->gpus } },
	};

	shape_rules(&p, s->rules);
	tell(c, EVENT_SHAPE,
	     PARTS({ &p.e, sizeof(p.e) }, { p.amounts, p.e.amounts_n * sizeof(p.amounts[0]) },
	           { p.requirements, p.e.requirements_n * sizeof(p.requirements[0]) },
	           { p.values, p.e.values_n * sizeof(p.values[0]) },
	           { p.tolerations, p.e.tolerations_n * sizeof(p.tolerations[0]) },
	           { p.clauses, p.e.clauses_n * sizeof(p.clauses[0]) },
	           { p.preferences, p.e.preferences_n * sizeof(p.preferences[0]) },
	           { p.terms, p.e.pod_terms_n * sizeof(p.terms[0]) },
	           { p.spreads, p.e.spreads_n * sizeof(p.spreads[0]) }));
}

/* Creation times as a Job's controller causes them: many in one second, in whole seconds as the API
 * has them, and not in the order of names. The same each time the pod is sent. */
static int pod_name(char name[32], uint32_t generation)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	char suffix[6] = "";
	uint32_t left = generation * UINT32_C(2654435761);

	for (uint32_t i = 0; i < 5; i++, left /= 27)
		suffix[i] = letters[left % 27];
	return snprintf(name, 32, "bench/train-%s-%u", suffix, generation);
}

static uint64_t pod_created_ns(uint32_t generation)
{
	return (1 + generation / PODS_IN_A_SECOND) * UINT64_C(1000000000);
}

void tell_pod(struct cluster *c, const struct pod_spec *s)
{
	static const uint32_t apps[] = { [SHAPE_ANTI] = VALUE_ANTI, [SHAPE_SPREAD] = VALUE_SPREAD };
	uint32_t app = s->shape >= SHAPE_SERVICE ? VALUE_SOFT + s->shape - SHAPE_SERVICE
	               : s->shape <= SHAPE_SPREAD && apps[s->shape] ? apps[s->shape]
	                                                            : VALUE_FREE + s->shape;
	struct pod_label labels[16] = { { .key = KEY_APP, .value = app } };
	char name[32];
	int name_bytes = pod_name(name, c->pods[s->pod].generation);
	struct event_pod e = { .pod = s->pod,
		                   .generation = c->pods[s->pod].generation,
		                   .flags = s->foreign ? 0 : POD_OURS,
		                   .gang = s->gang,
		                   .shape = s->shape,
		                   .node = s->node,
		                   .name_bytes = (uint32_t)name_bytes,
		                   .labels_n = 1,
		                   .namespace = VALUE_NAMESPACE,
		                   .created_ns = pod_created_ns(c->pods[s->pod].generation),
		                   .uid = { s->pod, c->pods[s->pod].generation },
		                   .run_s = s->run_s,
		                   .queue = s->queue };

	for (; e.labels_n <= s->labels && e.labels_n < 16; e.labels_n++)
		labels[e.labels_n] =
			(struct pod_label){ .key = KEY_OWN + e.labels_n, .value = VALUE_FREE + s->pod };
	tell(
		c, EVENT_POD,
		PARTS({ &e, sizeof(e) }, { labels, e.labels_n * sizeof(labels[0]) }, { name, name_bytes }));
}

void tell_gang(struct cluster *c, gang_id gang, uint32_t quorum)
{
	static const struct gang_level levels[] = { { KEY_BLOCK, LEVEL_REQUIRED }, { KEY_RACK, 0 } };
	char name[32];
	int name_bytes = snprintf(name, sizeof(name), "bench/gang-%u", gang);
	struct event_gang e = { .gang = gang,
		                    .generation = c->gang_generations[gang],
		                    .quorum = quorum,
		                    .name_bytes = (uint32_t)name_bytes,
		                    .created_ns = c->time_ns,
		                    .levels_n = c->racks ? 2 : 0 };

	tell(
		c, EVENT_GANG,
		PARTS({ &e, sizeof(e) }, { levels, e.levels_n * sizeof(levels[0]) }, { name, name_bytes }));
}

void tell_queue(struct cluster *c, uint32_t queue, uint32_t parent, bool guaranteed)
{
	const struct queue_amount cpu = {
		.resource = RESOURCE_CPU, .guarantee = 1000, .limit = QUEUE_NO_LIMIT, .weight = 1
	};
	char name[32];
	const int name_bytes = snprintf(name, sizeof(name), "queue-%u", queue);
	const struct event_queue e = { .queue = queue,
		                           .parent = parent,
		                           .amounts_n = guaranteed,
		                           .name_bytes = (uint32_t)name_bytes,
		                           .weight = 1 };

	tell(c, EVENT_QUEUE,
	     PARTS({ &e, sizeof(e) }, { &cpu, guaranteed ? sizeof(cpu) : 0 }, { name, name_bytes }));
}

void tell_drop(struct cluster *c, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };

	tell(c, kind, PARTS({ &e, sizeof(e) }));
}
