/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "frontend/queues/decays.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_story.h"
#include "tests/unit/test.h"

#define GIB (INT64_C(1) << 30)
#define MS UINT64_C(1000000)

enum { KEY_NAME = LABEL_KEY_NODE_NAME, KEY_ZONE, KEY_TAINT };

static const struct limits limits = LIMITS_WITH(.nodes = 130, .pods = STORY_MAX, .gangs = STORY_MAX,
                                                .shapes = 64, .names = 64, .name_bytes = 1 << 16);

/* Names of one kind; the index is the id. */
struct table {
	char *name[STORY_MAX];
	uint32_t generation[STORY_MAX];
	bool sent[STORY_MAX];
	uint32_t n;
};

struct shape_key {
	int64_t cpu_milli, memory_bytes, gpu;
	uint32_t zone, tolerates; /* texts + 1 */
	uint32_t devices;
};

struct story {
	struct core *core;
	struct ledger *ledger;
	uint64_t time_ns, epoch;
	bool synced;
	struct table nodes, gangs, pods, texts;
	struct story_pod specs[STORY_MAX];
	struct cmd_bind binds[STORY_MAX]; /* by pod; attempt 0: none */
	struct reason why_gang[STORY_MAX], why_pod[STORY_MAX];
	struct shape_key shapes[64];
	bool shape_sent[64];
	uint32_t shapes_n;
	uint32_t pod_shape[STORY_MAX];
	uint32_t room;
	char said[65536];
	size_t said_n;
	alignas(8) unsigned char record[8192];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct story *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	s->said_n += (size_t)vsnprintf(s->said + s->said_n, sizeof(s->said) - s->said_n, format, args);
	va_end(args);
	cr_assert(s->said_n < sizeof(s->said));
}

static const char *resource_name(uint32_t resource)
{
	static const char *const names[] = { "cpu", "memory", "ephemeral", "pods", "gpu" };

	return resource < 5 ? names[resource] : "?";
}

static void say_numbers(struct story *s, const struct reason *r)
{
	for (uint32_t i = 0; i < r->counts_n; i++) {
		const struct filter_count *c = &r->counts[i];

		say(s, ", %u ", c->nodes);
		if (c->why == FILTER_INSUFFICIENT)
			say(s, "short of %s", resource_name(c->arg));
		else if (c->why == FILTER_TAINT)
			say(s, "tainted %s", s->texts.name[c->arg - limits.resources]);
		else if (c->why == FILTER_DEVICES)
			say(s, "devices");
		else
			say(s, "%s", c->why == FILTER_CORDONED ? "cordoned" : "not selected");
	}
	for (uint32_t i = 0; i < r->shortfalls_n; i++)
		say(s, ", %s %lld of %lld", resource_name(r->shortfalls[i].resource),
		    (long long)r->shortfalls[i].have, (long long)r->shortfalls[i].need);
}

static void say_assume(struct story *s, const struct cmd_assume *c)
{
	cr_assert_eq(c->pod_generation, s->pods.generation[c->pod]);
	if (c->node != ID_NONE) {
		cr_assert_eq(c->node_generation, s->nodes.generation[c->node]);
		say(s, "assume %s %s\n", s->pods.name[c->pod], s->nodes.name[c->node]);
		return;
	}
	say(s, "assume %s nowhere", s->pods.name[c->pod]);
	say_numbers(s, &c->reason);
	say(s, "\n");
}

static void say_reason(struct story *s, const struct reason *r)
{
	static const char *const whys[] = { "none",         "group missing", "members",       "gated",
		                                "no nodes",     "room",          "min resources", "refused",
		                                "bind refused", "gave up",       "held",          "role",
		                                "topology",     "queue",         "victims" };

	cr_assert(r->why < WAIT_REASONS);
	say(s, "%s", whys[r->why]);
	if (r->why == WAIT_MEMBERS || r->why == WAIT_GATED)
		say(s, " %u of %u", r->members, r->quorum);
	if (r->why == WAIT_GATED)
		say(s, ", %u gated", r->gated);
	if (r->why == WAIT_ROOM || r->why == WAIT_GAVE_UP || r->why == WAIT_RESERVED)
		say(s, " %u of %u", r->fit, r->need);
	if (r->why == WAIT_RESERVED && r->promised_away)
		say(s, " by promises");
	if (r->why == WAIT_RESERVED && r->retained_generation != 0)
		say(s, " for %s",
		    r->retained_gang < limits.gangs ? s->gangs.name[r->retained_gang]
		                                    : s->pods.name[r->retained_gang - limits.gangs]);
	if (r->why == WAIT_QUEUE)
		say(s, " %u at %d", r->queue_by, (int)r->queue);
	if (r->why == WAIT_ROLE)
		say(s, " %s %u of %u", s->texts.name[r->role], r->role_members, r->role_quorum);
	say_numbers(s, r);
	if (r->retained_nodes > 0)
		say(s, ", retained on %u by %s", r->retained_nodes, s->gangs.name[r->retained_gang]);
	if (r->unpromised)
		say(s, ", no promise");
}

static void say_why(struct story *s, const struct cmd_reason *c)
{
	cr_assert(c->reason.why != WAIT_NONE);
	*(c->gang != ID_NONE ? &s->why_gang[c->gang] : &s->why_pod[c->pod]) = c->reason;
	say(s, "why %s: ", c->gang != ID_NONE ? s->gangs.name[c->gang] : s->pods.name[c->pod]);
	say_reason(s, &c->reason);
	say(s, "\n");
}

static void say_devices(struct story *s, const struct cmd_devices *c)
{
	const struct device_pick *picks = (const void *)(c + 1);

	say(s, "devices %s %s:", s->pods.name[c->pod], s->nodes.name[c->node]);
	for (uint32_t i = 0; i < c->picks_n; i++)
		say(s, " %u", picks[i].device);
	say(s, "\n");
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	static const char *const states[] = { "none", "incomplete", "waiting", "binding", "placed" };
	struct story *s = context;
	const struct cmd_gang *g = body;
	const struct cmd_bind *b = body;

	cr_assert(bytes % 8 == 0);
	if (s->room == 0)
		return false;
	if (s->room != UINT32_MAX)
		s->room--;
	if (record_is_bind(kind)) {
		cr_assert_eq(b->pod_generation, s->pods.generation[b->pod]);
		cr_assert_eq(b->node_generation, s->nodes.generation[b->node]);
		s->binds[b->pod] = *b;
		say(s, "%s %s %s\n",
		    kind == CMD_BIND         ? "bind"
		    : kind == CMD_RETRY_BIND ? "retry-bind"
		                             : "cancel-bind",
		    s->pods.name[b->pod], s->nodes.name[b->node]);
	} else if (kind == CMD_GANG) {
		say(s, "gang %s %s %u/%u of %u\n", s->gangs.name[g->gang], states[g->state], g->bound,
		    g->quorum, g->members);
	} else if (kind == CMD_ASSUME) {
		say_assume(s, body);
	} else if (kind == CMD_DEVICES) {
		say_devices(s, body);
	} else {
		cr_assert_eq(kind, CMD_REASON);
		say_why(s, body);
	}
	return true;
}

static void add(struct story *s, const void *bytes, size_t n)
{
	cr_assert(s->used + PADDED(n) <= sizeof(s->record));
	if (n > 0)
		memcpy(s->record + s->used, bytes, n);
	memset(s->record + s->used + n, 0, (size_t)PADDED(n) - n);
	s->used += (size_t)PADDED(n);
}

static int step(struct story *s, enum record_kind kind)
{
	struct record *r = (struct record *)(void *)s->record;
	char why[256];
	int rc;

	*r = (struct record){ .bytes = (uint32_t)s->used,
		                  .kind = (uint16_t)kind,
		                  .epoch = s->epoch,
		                  .time_ns = ++s->time_ns };
	s->used = sizeof(struct record);
	rc = core_step(s->core, r);
	cr_assert(core_valid(s->core, why, sizeof(why)), "after kind %d: %s", (int)kind, why);
	return rc;
}

static void must_step(struct story *s, enum record_kind kind)
{
	int rc = step(s, kind);

	cr_assert_eq(rc, 0, "kind %d: %d, %s", (int)kind, rc, core_fault(s->core));
}

int story_feed(struct story *s, enum record_kind kind, const void *body, uint32_t bytes)
{
	s->used = sizeof(struct record);
	add(s, body, bytes);
	return step(s, kind);
}

static uint32_t find(const struct table *t, const char *name)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->name[i] && strcmp(t->name[i], name) == 0)
			return i;
	return ID_NONE;
}

/* A slot for the name, the one it had or a new one. */
static uint32_t take(struct table *t, const char *name)
{
	uint32_t id = find(t, name);

	if (id != ID_NONE)
		return id;
	for (id = 0; id < t->n && t->name[id]; id++)
		;
	cr_assert(id < STORY_MAX);
	if (id == t->n)
		t->n++;
	t->name[id] = strdup(name);
	t->generation[id]++;
	return id;
}

static uint32_t must_find(const struct table *t, const char *name)
{
	uint32_t id = find(t, name);

	cr_assert(id != ID_NONE, "%s is not known", name);
	return id;
}

static void forget(struct table *t, uint32_t id)
{
	free(t->name[id]);
	t->name[id] = NULL;
	t->sent[id] = false;
}

/* The text's number, sent as the name of a taint when it is new. */
static uint32_t text(struct story *s, const char *t)
{
	uint32_t id = take(&s->texts, t);
	struct event_name e = { .id = limits.resources + id,
		                    .kind = NAME_TAINT,
		                    .bytes = (uint32_t)strlen(t) };

	if (s->texts.sent[id])
		return id;
	s->texts.sent[id] = true;
	add(s, &e, sizeof(e));
	add(s, t, strlen(t));
	must_step(s, EVENT_NAME);
	return id;
}

static int64_t milli_of(int64_t cores, int64_t milli)
{
	return cores * 1000 + milli;
}

static uint32_t amounts_of(struct amount out[5], int64_t cpu_milli, int64_t memory_bytes,
                           int64_t pods, int64_t gpu)
{
	const struct amount all[] = { { .resource = RESOURCE_CPU, .value = cpu_milli },
		                          { .resource = RESOURCE_MEMORY, .value = memory_bytes },
		                          { .resource = RESOURCE_PODS, .value = pods },
		                          { .resource = STORY_GPU, .value = gpu } };
	uint32_t n = 0;

	for (uint32_t i = 0; i < 4; i++)
		if (all[i].value > 0)
			out[n++] = all[i];
	return n;
}

void story_set_node(struct story *s, struct story_node node)
{
	struct event_node e = { .generation = 1 };
	struct amount amounts[5];
	struct label labels[2] = { { .key = KEY_NAME, .number = LABEL_NOT_A_NUMBER },
		                       { .key = KEY_ZONE, .number = LABEL_NOT_A_NUMBER } };
	struct taint taint = { .key = KEY_TAINT, .effect = EFFECT_NO_SCHEDULE };

	e.node = take(&s->nodes, node.name);
	s->nodes.sent[e.node] = true;
	e.generation = s->nodes.generation[e.node];
	e.flags = (node.absent ? 0 : NODE_PRESENT) | (node.cordoned ? NODE_CORDONED : 0);
	e.name_bytes = (uint32_t)strlen(node.name);
	e.amounts_n =
		amounts_of(amounts, milli_of(node.cpu, node.cpu_milli),
	               node.memory * GIB + node.memory_bytes, node.pods ? node.pods : 110, node.gpu);
	labels[0].value = 1000 + e.node;
	e.labels_n = 1;
	if (node.zone) {
		labels[1].value = text(s, node.zone);
		e.labels_n = 2;
	}
	if (node.taint) {
		taint.value = text(s, node.taint);
		taint.name = limits.resources + taint.value;
		e.taints_n = 1;
	}
	if (node.absent)
		e.amounts_n = e.labels_n = e.taints_n = 0;
	add(s, &e, sizeof(e));
	add(s, amounts, e.amounts_n * sizeof(amounts[0]));
	add(s, labels, e.labels_n * sizeof(labels[0]));
	add(s, &taint, e.taints_n * sizeof(taint));
	add(s, node.name, e.name_bytes);
	must_step(s, EVENT_NODE);
}

static int by_role(const void *a, const void *b)
{
	const struct gang_role *left = a, *right = b;

	return left->role < right->role ? -1 : left->role > right->role;
}

static uint32_t roles_of(struct story *s, struct gang_role out[STORY_ROLES],
                         const struct story_role *roles)
{
	uint32_t n = 0;

	for (; n < STORY_ROLES && roles[n].name; n++)
		out[n] = (struct gang_role){ .role = text(s, roles[n].name), .quorum = roles[n].quorum };
	qsort(out, n, sizeof(out[0]), by_role);
	return n;
}

void story_set_gang(struct story *s, struct story_gang gang)
{
	struct amount amounts[5];
	struct gang_role roles[STORY_ROLES];
	struct event_gang e = { .quorum = gang.quorum,
		                    .name_bytes = (uint32_t)strlen(gang.name),
		                    .created_ns = gang.created,
		                    .dialect = 1,
		                    .priority = gang.priority,
		                    .spec_id = gang.spec,
		                    .succeeded = gang.succeeded,
		                    .failed = gang.failed };

	e.roles_n = roles_of(s, roles, gang.roles);
	e.gang = take(&s->gangs, gang.name);
	s->gangs.sent[e.gang] = true;
	e.generation = s->gangs.generation[e.gang];
	e.flags = (gang.missing ? GANG_OBJECT_MISSING : 0) | (gang.refused ? GANG_REFUSED : 0) |
	          (gang.has_priority ? GANG_PRIORITY : 0) |
	          (gang.after_others ? GANG_AFTER_OTHERS : 0) | (gang.changed ? 0 : GANG_UNCHANGED) |
	          (gang.whole ? GANG_WHOLE : 0) | (gang.ended_count ? GANG_ENDED_COUNT : 0);
	e.amounts_n = amounts_of(amounts, gang.cpu * 1000, 0, 0, gang.gpu);
	add(s, &e, sizeof(e));
	add(s, amounts, e.amounts_n * sizeof(amounts[0]));
	add(s, roles, e.roles_n * sizeof(roles[0]));
	add(s, gang.name, e.name_bytes);
	must_step(s, EVENT_GANG);
}

static void send_shape(struct story *s, uint32_t id, const struct story_pod *p)
{
	const struct shape_key *k = &s->shapes[id];
	struct amount amounts[5];
	uint32_t values[1] = { k->zone - 1 };
	struct requirement zone = { .op = REQUIRE_IN, .key = KEY_ZONE, .values_n = 1 };
	struct toleration toleration = { .key = KEY_TAINT, .effect = EFFECT_ANY };
	struct event_shape e = { .shape = id,
		                     .requirements_n = k->zone != 0,
		                     .values_n = k->zone != 0,
		                     .tolerations_n = k->tolerates != 0,
		                     .devices = k->devices,
		                     .scored_cpu_milli = k->cpu_milli ? k->cpu_milli : 100,
		                     .scored_memory_bytes = k->memory_bytes ? k->memory_bytes : 200 << 20 };

	s->shape_sent[id] = true;
	toleration.value = k->tolerates - 1;
	e.amounts_n = amounts_of(amounts, k->cpu_milli, k->memory_bytes, 1, k->gpu);
	for (uint32_t i = 0; k->devices > 0 && i < e.amounts_n; i++)
		if (amounts[i].resource == STORY_GPU)
			amounts[i].flags = AMOUNT_DEVICES | 1u << AMOUNT_GROUP_SHIFT;
	add(s, &e, sizeof(e));
	add(s, amounts, e.amounts_n * sizeof(amounts[0]));
	add(s, &zone, e.requirements_n * sizeof(zone));
	add(s, values, e.values_n * sizeof(values[0]));
	add(s, &toleration, e.tolerations_n * sizeof(toleration));
	must_step(s, EVENT_SHAPE);
}

static uint32_t shape_of(struct story *s, const struct story_pod *p)
{
	struct shape_key k;
	uint32_t id;

	memset(&k, 0, sizeof(k));
	k.cpu_milli = milli_of(p->cpu, p->cpu_milli);
	k.memory_bytes = p->memory * GIB + p->memory_bytes;
	k.gpu = p->gpu;
	k.devices = p->devices;
	k.zone = p->zone ? text(s, p->zone) + 1 : 0;
	k.tolerates = p->tolerates ? text(s, p->tolerates) + 1 : 0;
	for (id = 0; id < s->shapes_n; id++)
		if (memcmp(&s->shapes[id], &k, sizeof(k)) == 0)
			break;
	cr_assert(id < 64);
	if (id == s->shapes_n)
		s->shapes[s->shapes_n++] = k;
	if (!s->shape_sent[id])
		send_shape(s, id, p);
	return id;
}

void story_set_pod(struct story *s, struct story_pod pod)
{
	uint32_t id = take(&s->pods, pod.name);
	struct event_pod e = { .pod = id,
		                   .generation = s->pods.generation[id],
		                   .gang = ID_NONE,
		                   .node = ID_NONE,
		                   .priority = pod.priority,
		                   .name_bytes = (uint32_t)strlen(pod.name),
		                   .role = ID_NONE,
		                   .keep_ms = (uint32_t)pod.keep_ms,
		                   .queue = (uint32_t)pod.queue,
		                   .run_s = (uint32_t)pod.run,
		                   .expected_s = (uint32_t)pod.expected };

	e.shape = s->pod_shape[id] = shape_of(s, &pod);
	if (pod.role)
		e.role = text(s, pod.role);
	e.flags = (pod.foreign ? 0 : POD_OURS) | (pod.gated ? POD_GATED : 0) |
	          (pod.deleting ? POD_DELETING : 0) | (pod.refused ? POD_REFUSED : 0) |
	          (pod.binding ? POD_BINDING : 0) | (pod.lasts ? POD_LASTS : 0) |
	          (pod.intended ? POD_INTENT_BIND : 0) | (pod.void_node ? POD_INTENT_CANCEL : 0) |
	          (pod.retained ? POD_INTENT_RETAIN : 0);
	if ((pod.node && pod.scheduled >= 0) || pod.scheduled > 0)
		e.scheduled_s = pod.scheduled > 0 ? (uint32_t)pod.scheduled : 1;
	if (pod.gang)
		e.gang = must_find(&s->gangs, pod.gang);
	if (pod.node)
		e.node = must_find(&s->nodes, pod.node);
	e.created_ns = pod.created ? pod.created : 1000 + id;
	/* The same name is the same pod in every epoch. */
	for (const char *c = pod.name; *c; c++)
		e.uid[0] = e.uid[0] * 31 + (uint64_t)*c;
	if (!s->pods.sent[id])
		memset(&s->binds[id], 0, sizeof(s->binds[id]));
	s->pods.sent[id] = true;
	s->specs[id] = pod;
	s->specs[id].name = s->pods.name[id];
	add(s, &e, sizeof(e));
	add(s, pod.name, e.name_bytes);
	must_step(s, EVENT_POD);
}

void story_set_queue(struct story *s, struct story_queue q)
{
	const struct queue_amount cpu = { .resource = RESOURCE_CPU,
		                              .guarantee = q.guarantee,
		                              .reserved = q.reserved,
		                              .limit = q.limit > 0 ? q.limit : QUEUE_NO_LIMIT,
		                              .weight = q.weight > 0 ? q.weight : 1 };
	const struct event_queue e = { .queue = (uint32_t)q.id,
		                           .parent = (uint32_t)q.parent,
		                           .flags = (q.fifo ? QUEUE_FIFO : 0) | (q.gone ? QUEUE_GONE : 0),
		                           .priority = q.priority,
		                           .state = (uint32_t)q.state,
		                           .amounts_n = 1,
		                           .name_bytes = (uint32_t)strlen(q.name),
		                           .weight = 1,
		                           .unshared = 1u << RESOURCE_PODS | 1u << RESOURCE_EPHEMERAL };

	add(s, &e, sizeof(e));
	add(s, &cpu, sizeof(cpu));
	add(s, q.name, e.name_bytes);
	must_step(s, EVENT_QUEUE);
}

void story_queue_terms(struct story *s, uint32_t factor, uint32_t half_life_s)
{
	struct event_queue_terms e = { .factor = factor };

	queues_decays(half_life_s, e.decays);
	add(s, &e, sizeof(e));
	must_step(s, EVENT_QUEUE_TERMS);
}

void story_queue_past(struct story *s, uint32_t queue, int64_t cpu, uint64_t ago_s)
{
	const struct event_queue_past e = { .queue = queue,
		                                .amounts_n = 1,
		                                .at_s = s->time_ns / 1000 / MS - ago_s };
	const struct queue_past past = { .resource = RESOURCE_CPU, .value = cpu };

	add(s, &e, sizeof(e));
	add(s, &past, sizeof(past));
	must_step(s, EVENT_QUEUE_PAST);
}

void story_set_pods(struct story *s, uint32_t n, struct story_pod pod)
{
	for (uint32_t i = 0; i < n; i++) {
		struct story_pod one = pod;
		char name[64];

		snprintf(name, sizeof(name), "%s-%u", pod.name, i);
		one.name = name;
		story_set_pod(s, one);
	}
}

static void drop(struct story *s, struct table *t, const char *name, enum record_kind kind)
{
	struct event_drop e = { .id = must_find(t, name) };

	e.generation = t->generation[e.id];
	add(s, &e, sizeof(e));
	must_step(s, kind);
	forget(t, e.id);
}

void story_drop_node(struct story *s, const char *name)
{
	drop(s, &s->nodes, name, EVENT_NODE_DROP);
}

void story_drop_gang(struct story *s, const char *name)
{
	memset(&s->why_gang[must_find(&s->gangs, name)], 0, sizeof(struct reason));
	drop(s, &s->gangs, name, EVENT_GANG_DROP);
}

void story_drop_pod(struct story *s, const char *name)
{
	uint32_t id = must_find(&s->pods, name);

	memset(&s->why_pod[id], 0, sizeof(struct reason));
	memset(&s->binds[id], 0, sizeof(s->binds[id]));
	drop(s, &s->pods, name, EVENT_POD_DROP);
}

static bool shape_is_used(const struct story *s, uint32_t shape)
{
	for (uint32_t id = 0; id < s->pods.n; id++)
		if (s->pods.name[id] && s->pod_shape[id] == shape)
			return true;
	return false;
}

void story_drop_shapes(struct story *s)
{
	for (uint32_t id = 0; id < s->shapes_n; id++) {
		const struct event_drop e = { .id = id };

		if (!s->shape_sent[id] || shape_is_used(s, id))
			continue;
		add(s, &e, sizeof(e));
		must_step(s, EVENT_SHAPE_DROP);
		s->shape_sent[id] = false;
	}
}

static void answer(struct story *s, const char *pod, enum record_kind kind, uint32_t retry_ms)
{
	uint32_t id = must_find(&s->pods, pod);
	const struct cmd_bind *b = &s->binds[id];
	struct result r = { .pod = id,
		                .generation = s->pods.generation[id],
		                .node = b->node,
		                .attempt = b->attempt,
		                .retry_ms = retry_ms };

	cr_assert(b->attempt > 0, "%s was not bound", pod);
	add(s, &r, sizeof(r));
	must_step(s, kind);
	if (kind == RESULT_REFUSED)
		s->binds[id].attempt = 0;
}

void story_bound(struct story *s, const char *pod)
{
	answer(s, pod, RESULT_BOUND, 0);
}

void story_refused(struct story *s, const char *pod, uint32_t retry_ms)
{
	answer(s, pod, RESULT_REFUSED, retry_ms);
}

void story_unknown(struct story *s, const char *pod)
{
	answer(s, pod, RESULT_UNKNOWN, 0);
}

void story_assume(struct story *s, const char *pod, const char *nodes, uint32_t keep_ms)
{
	uint32_t id = must_find(&s->pods, pod);
	struct event_assume e = { .pod = id,
		                      .pod_generation = s->pods.generation[id],
		                      .ticket = 7,
		                      .words = (limits.nodes + 63) / 64,
		                      .keep_ms = keep_ms };
	uint64_t set[STORY_MAX / 64] = { 0 };
	char *names = strdup(nodes), *rest = NULL;

	for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		uint32_t node = must_find(&s->nodes, name);

		set[node / 64] |= UINT64_C(1) << (node % 64);
	}
	free(names);
	add(s, &e, sizeof(e));
	add(s, set, e.words * sizeof(*set));
	must_step(s, EVENT_ASSUME);
}

void story_confirm(struct story *s, const char *pod)
{
	uint32_t id = must_find(&s->pods, pod);
	struct story_pod spec = s->specs[id];

	cr_assert(s->binds[id].attempt > 0);
	spec.node = s->nodes.name[s->binds[id].node];
	spec.binding = false;
	story_set_pod(s, spec);
}

static bool has_prefix(const struct story *s, uint32_t id, const char *prefix)
{
	return s->pods.name[id] && strncmp(s->pods.name[id], prefix, strlen(prefix)) == 0 &&
	       s->binds[id].attempt > 0;
}

void story_all_bound(struct story *s, const char *prefix)
{
	for (uint32_t id = 0; id < s->pods.n; id++)
		if (has_prefix(s, id, prefix) && !s->specs[id].node)
			story_confirm(s, s->pods.name[id]);
}

struct story *story_new(enum score_policy score, uint64_t reserve_after_ms)
{
	return story_new_promising(score, reserve_after_ms, &(struct story_promises){ 0 });
}

bool story_promise(struct story *s, const char *name, struct core_promise *out)
{
	for (uint32_t i = 0; i < s->gangs.n; i++)
		if (s->gangs.name[i] && strcmp(s->gangs.name[i], name) == 0)
			return core_promise(s->core, i, out);
	return core_promise(s->core, limits.gangs + must_find(&s->pods, name), out);
}

void story_promised(struct story *s, const char *pod, uint64_t at_s)
{
	const uint32_t id = must_find(&s->pods, pod);
	const struct event_promised e = { .pod = id,
		                              .generation = s->pods.generation[id],
		                              .at_ns = at_s * 1000 * MS };

	add(s, &e, sizeof(e));
	must_step(s, EVENT_PROMISED);
}

static struct story *last; /* for story_end() */

struct story *story_new_promising(enum score_policy score, uint64_t reserve_after_ms,
                                  const struct story_promises *promises)
{
	static const char gpu[] = "nvidia.com/gpu";
	struct story *s = calloc(1, sizeof(*s));
	struct core_config config = { .limits = limits,
		                          .score = score,
		                          .emit = emit,
		                          .context = s,
		                          .reserve_after_ns = reserve_after_ms * MS,
		                          .retain_for_ns = 600000 * MS,
		                          .promise_depth = promises->depth,
		                          .promise_grain_ns = promises->grain_ms * MS,
		                          .promise_window_ns = promises->window_ms * MS,
		                          .backfill_by_soft = promises->by_soft,
		                          .look_steps = promises->look_steps };
	struct event_name e = { .id = STORY_GPU, .kind = NAME_RESOURCE, .bytes = sizeof(gpu) - 1 };

	cr_assert(s);
	s->ledger = aligned_alloc(4096, core_ledger_bytes(&limits, NULL));
	cr_assert(s->ledger);
	memset(s->ledger, 0, core_ledger_bytes(&limits, NULL));
	s->core = core_new(&config, s->ledger);
	cr_assert(s->core);
	s->used = sizeof(struct record);
	s->room = UINT32_MAX;
	s->epoch = 7;
	s->time_ns = promises->at_ms * MS;
	must_step(s, EVENT_BEGIN);
	add(s, &e, sizeof(e));
	add(s, gpu, e.bytes);
	must_step(s, EVENT_NAME);
	last = s;
	return s;
}

static void table_free(struct table *t)
{
	for (uint32_t i = 0; i < STORY_MAX; i++)
		free(t->name[i]);
}

void story_free(struct story *s)
{
	if (last == s)
		last = NULL;
	core_free(s->core);
	free(s->ledger);
	table_free(&s->nodes);
	table_free(&s->gangs);
	table_free(&s->pods);
	table_free(&s->texts);
	free(s);
}

void story_end(void)
{
	if (last)
		story_free(last);
}

struct core *story_core(struct story *s)
{
	return s->core;
}

const struct gang_row *story_row(struct story *s, const char *gang)
{
	const struct ledger *l = story_ledger(s);
	const struct gang_row *rows = (const void *)((const char *)l + l->gangs_offset);
	const char *arena = (const char *)l + l->arena_offset;

	for (uint32_t i = 0; i < l->limits.gangs; i++)
		if (rows[i].generation && rows[i].name_bytes == strlen(gang) &&
		    memcmp(arena + rows[i].name_offset, gang, rows[i].name_bytes) == 0)
			return &rows[i];
	cr_assert_fail("the ledger has no gang %s", gang);
	return NULL;
}

struct ledger *story_ledger(struct story *s)
{
	return s->ledger;
}

void story_begin(struct story *s)
{
	struct event_name e = { .id = STORY_GPU, .kind = NAME_RESOURCE, .bytes = 3 };

	s->epoch++;
	s->synced = false;
	must_step(s, EVENT_BEGIN);
	memset(s->shape_sent, 0, sizeof(s->shape_sent));
	memset(s->why_gang, 0, sizeof(s->why_gang));
	memset(s->why_pod, 0, sizeof(s->why_pod));
	memset(s->binds, 0, sizeof(s->binds));
	for (uint32_t i = 0; i < STORY_MAX; i++) {
		forget(&s->nodes, i);
		forget(&s->gangs, i);
		forget(&s->pods, i);
		forget(&s->texts, i);
	}
	add(s, &e, sizeof(e));
	add(s, "gpu", 3);
	must_step(s, EVENT_NAME);
}

void story_synced(struct story *s)
{
	if (!s->synced)
		must_step(s, EVENT_SYNCED);
	s->synced = true;
}

void story_plan(struct story *s)
{
	story_synced(s);
	for (uint32_t rounds = 0; core_wants_plan(s->core) && s->room > 0; rounds++) {
		cr_assert(rounds < 100000, "the core never has enough");
		must_step(s, EVENT_PLAN);
	}
}

void story_tick(struct story *s, uint64_t ms)
{
	s->time_ns += ms * MS;
	must_step(s, EVENT_TICK);
}

void story_room(struct story *s, uint32_t commands)
{
	s->room = commands;
}

const char *story_said(const struct story *s)
{
	return s->said;
}

void story_skip(struct story *s)
{
	s->said_n = 0;
	s->said[0] = '\0';
}

void story_expect(struct story *s, const char *expected)
{
	cr_assert(strcmp(s->said, expected) == 0, "said:\n%s\nexpected:\n%s", s->said, expected);
	story_skip(s);
}

const char *story_where(const struct story *s, const char *pod)
{
	uint32_t id = find(&s->pods, pod);

	if (id == ID_NONE || s->binds[id].attempt == 0)
		return "";
	return s->nodes.name[s->binds[id].node] ? s->nodes.name[s->binds[id].node] : "";
}

uint32_t story_spec(const struct story *s, const char *pod)
{
	const uint32_t id = find(&s->pods, pod);

	cr_assert(id != ID_NONE && s->binds[id].attempt > 0, "%s has no binding", pod);
	return s->binds[id].spec_id;
}

uint32_t story_count(const struct story *s, const char *prefix)
{
	uint32_t n = 0;

	for (uint32_t id = 0; id < s->pods.n; id++)
		n += has_prefix(s, id, prefix);
	return n;
}

const char *story_reason(struct story *s, const char *name)
{
	static char text[1024];
	const uint32_t gang = find(&s->gangs, name);
	const size_t before = s->said_n;

	say_reason(s, gang != ID_NONE ? &s->why_gang[gang] : &s->why_pod[must_find(&s->pods, name)]);
	snprintf(text, sizeof(text), "%s", s->said + before);
	s->said_n = before;
	s->said[before] = '\0';
	return text;
}

const char *story_nth(const char *stem, int i)
{
	static char names[64][8];
	static int used;
	char *name = names[used++ % 64];

	snprintf(name, sizeof(names[0]), "%s%d", stem, i);
	return name;
}
