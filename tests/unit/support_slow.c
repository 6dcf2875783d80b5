#include "support_slow.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU, MEMORY, PODS, GPU, AMOUNTS };
static const uint32_t columns[AMOUNTS] = { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_PODS, RESOURCE_EXTENDED };

static const struct limits limits = { .nodes = SLOW_NODES, .pods = SLOW_PODS, .gangs = SLOW_GANGS,
	                              .shapes = SLOW_SHAPES, .names = 12, .resources = 8, .name_bytes = 8192,
	                              .command_ring_bytes = 4096 };
enum { TAINT_NAME = 8, KEY_ZONE = 1, KEY_TAINT = 2, TAINT_VALUE = 5 };

struct shape {
	int64_t amounts[AMOUNTS];
	uint32_t zone; /* 0: any */
	bool tolerates;
	bool told;
};

struct node {
	bool live, present, cordoned, tainted;
	uint32_t generation, zone;
	int64_t amounts[AMOUNTS];
};

struct gang {
	bool live, missing, refused;
	uint32_t generation, quorum;
	int64_t cpu; /* minResources */
	uint64_t created;
	uint32_t why; /* last told */
	bool alike;   /* before the plan */
	bool started; /* in this plan */
};

enum where { NOWHERE, IN_FLIGHT, ANSWERED, BOUND };

struct pod {
	bool live, ours, gated, deleting, refused;
	uint32_t generation, gang, shape, node, attempt, why;
	enum where where;
	int32_t priority;
	uint64_t created, retry_ns, refusals;
};

struct slow {
	struct random *r;
	enum score_policy score;
	bool strict, judging, breaking, refreshed;
	struct core *core;
	struct ledger *ledger;
	uint64_t time_ns, epoch;
	uint32_t room; /* commands that fit; replayed by marks in the log */
	struct shape shapes[SLOW_SHAPES];
	struct node nodes[SLOW_NODES];
	struct gang gangs[SLOW_GANGS];
	struct pod pods[SLOW_PODS];
	unsigned char *log, *said;
	size_t log_n, log_room, said_n, said_room;
	struct slow_counts counts;
	alignas(8) unsigned char record[4096];
	size_t used;
};

/* ---- logs -------------------------------------------------------------------------- */

static void append(unsigned char **to, size_t *n, size_t *room, const void *bytes, size_t more)
{
	while (*n + more > *room) {
		*room = *room * 2 + 65536;
		*to = realloc(*to, *room);
		cr_assert(*to);
	}
	memcpy(*to + *n, bytes, more);
	*n += more;
}

static void log_add(struct slow *s, const void *bytes, size_t n)
{
	append(&s->log, &s->log_n, &s->log_room, bytes, n);
}

static void said_add(struct slow *s, enum record_kind kind, const void *body, uint32_t bytes)
{
	uint32_t head[2] = { (uint32_t)kind, bytes };

	append(&s->said, &s->said_n, &s->said_room, head, sizeof(head));
	append(&s->said, &s->said_n, &s->said_room, body, bytes);
}

/* ---- what is true --------------------------------------------------------------------- */

static bool takes_room(const struct pod *p, uint32_t node)
{
	return p->live && p->where != NOWHERE && p->node == node;
}

static int64_t used(const struct slow *s, uint32_t node, int amount)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		if (takes_room(&s->pods[i], node))
			sum += s->shapes[s->pods[i].shape].amounts[amount];
	return sum;
}

static bool allowed(const struct slow *s, uint32_t shape, uint32_t node)
{
	const struct node *n = &s->nodes[node];

	return n->live && n->present && !n->cordoned && (!n->tainted || s->shapes[shape].tolerates) &&
	       (s->shapes[shape].zone == 0 || s->shapes[shape].zone == n->zone);
}

static bool fits(const struct slow *s, uint32_t shape, uint32_t node)
{
	if (!allowed(s, shape, node))
		return false;
	for (int a = 0; a < AMOUNTS; a++) {
		int64_t request = s->shapes[shape].amounts[a];

		if (request > 0 && used(s, node, a) + request > s->nodes[node].amounts[a])
			return false;
	}
	return true;
}

static int64_t score(const struct slow *s, uint32_t shape, uint32_t node)
{
	int64_t sum = 0, parts = 0;

	for (int a = CPU; a <= MEMORY; a++) {
		int64_t have = s->nodes[node].amounts[a];
		int64_t take = used(s, node, a) + s->shapes[shape].amounts[a];

		if (have == 0)
			continue;
		parts++;
		if (s->score == SCORE_PACK)
			sum += (take < have ? take : have) * 100 / have;
		else if (take <= have)
			sum += (have - take) * 100 / have;
	}
	return parts ? sum / parts : 0;
}

/* Names sort as ids do here: one letter each, see node_name(). */
static uint32_t best(const struct slow *s, uint32_t shape)
{
	uint32_t found = ID_NONE;

	for (uint32_t i = 0; i < SLOW_NODES; i++)
		if (fits(s, shape, i) && (found == ID_NONE || score(s, shape, i) > score(s, shape, found)))
			found = i;
	return found;
}

static bool ready(const struct slow *s, const struct pod *p)
{
	return p->live && p->where == NOWHERE && p->ours && !p->gated && !p->deleting && !p->refused &&
	       p->retry_ns <= s->time_ns;
}

static bool counts(const struct pod *p, uint32_t gang)
{
	return p->live && p->gang == gang && !p->deleting && (p->where != NOWHERE || p->ours);
}

static uint32_t have(const struct slow *s, uint32_t gang)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		n += counts(&s->pods[i], gang) && s->pods[i].where != NOWHERE;
	return n;
}

/* Can `need` of these pods be placed at once?  Tries everything. */
static bool can_place(struct slow *s, const uint32_t *pods, uint32_t n, uint32_t need)
{
	bool found = false;

	if (need == 0)
		return true;
	if (n < need)
		return false;
	for (uint32_t node = 0; node < SLOW_NODES && !found; node++) {
		struct pod *p = &s->pods[pods[0]];

		if (!fits(s, p->shape, node))
			continue;
		p->where = IN_FLIGHT;
		p->node = node;
		found = can_place(s, pods + 1, n - 1, need - 1);
		p->where = NOWHERE;
	}
	return found || can_place(s, pods + 1, n - 1, need);
}

static bool minimum(const struct slow *s, uint32_t gang)
{
	const struct gang *g = &s->gangs[gang];
	int64_t cpu = 0, pods = 0;

	if (g->cpu == 0)
		return true;
	for (uint32_t node = 0; node < SLOW_NODES; node++) {
		int64_t free_cpu = s->nodes[node].amounts[CPU] - used(s, node, CPU);
		int64_t free_pods = s->nodes[node].amounts[PODS] - used(s, node, PODS);

		if (!s->nodes[node].live || !s->nodes[node].present)
			continue;
		for (uint32_t i = 0; i < SLOW_PODS; i++) {
			if (!takes_room(&s->pods[i], node) || s->pods[i].gang != gang)
				continue;
			free_cpu += s->shapes[s->pods[i].shape].amounts[CPU];
			free_pods++;
		}
		cpu += free_cpu > 0 ? free_cpu : 0;
		pods += free_pods > 0 ? free_pods : 0;
	}
	return cpu >= g->cpu && pods >= g->quorum;
}

/* ---- commands --------------------------------------------------------------------------- */

static void judge_bind(struct slow *s, const struct cmd_bind *b)
{
	struct pod *p = &s->pods[b->pod];

	cr_assert(p->live && p->generation == b->pod_generation, "a binding of another pod");
	cr_assert_eq(b->gang, p->gang);
	cr_assert(ready(s, p), "pod %u is not to be planned", b->pod);
	cr_assert(b->attempt > p->attempt);
	cr_assert_eq(b->node_generation, s->nodes[b->node].generation);
	cr_assert(fits(s, p->shape, b->node), "pod %u does not fit on node %u", b->pod, b->node);
	if (p->gang == ID_NONE || s->gangs[p->gang].alike)
		cr_assert_eq(b->node, best(s, p->shape), "pod %u: node %u is not the best, %u is", b->pod, b->node,
		             best(s, p->shape));
}

static void bind(struct slow *s, const struct cmd_bind *b)
{
	struct pod *p = &s->pods[b->pod];

	if (s->breaking)
		return;
	if (s->judging)
		judge_bind(s, b);
	s->counts.binds++;
	p->where = IN_FLIGHT;
	p->node = b->node;
	p->attempt = b->attempt;
	if (b->gang != ID_NONE)
		s->gangs[b->gang].started = true;
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct slow *s = context;
	const struct cmd_reason *why = body;

	if (s->room == 0)
		return false;
	if (s->room != UINT32_MAX)
		s->room--;
	said_add(s, kind, body, bytes);
	if (kind == CMD_BIND)
		bind(s, body);
	if (kind == CMD_REASON && why->gang != ID_NONE)
		s->gangs[why->gang].why = why->reason.why;
	else if (kind == CMD_REASON)
		s->pods[why->pod].why = why->reason.why;
	return true;
}

/* ---- records ----------------------------------------------------------------------------- */

static void add(struct slow *s, const void *bytes, size_t n)
{
	cr_assert(s->used + PADDED(n) <= sizeof(s->record));
	memcpy(s->record + s->used, bytes, n);
	memset(s->record + s->used + n, 0, (size_t)PADDED(n) - n);
	s->used += (size_t)PADDED(n);
}

static void check_valid(struct slow *s, const char *when)
{
	char why[256];

	cr_assert(core_valid(s->core, why, sizeof(why)), "%s, record %u: %s", when, s->counts.records, why);
}

/* The ledger's rows, which an error may not change. */
static unsigned char *rows_copy(const struct slow *s, size_t *bytes)
{
	const unsigned char *from = (const unsigned char *)s->ledger + s->ledger->nodes_offset;
	unsigned char *copy;

	*bytes = (size_t)(s->ledger->command_ring.offset - s->ledger->nodes_offset);
	copy = malloc(*bytes);
	cr_assert(copy);
	memcpy(copy, from, *bytes);
	return copy;
}

static void step_broken(struct slow *s)
{
	alignas(8) unsigned char broken[sizeof(s->record)];
	struct record *r = (struct record *)(void *)broken;
	uint32_t at = random_below(s->r, (uint32_t)s->used / 4) * 4, bytes, word;
	size_t rows_bytes;
	unsigned char *rows = rows_copy(s, &rows_bytes);
	int rc;

	memcpy(broken, s->record, s->used);
	memcpy(&word, broken + at, sizeof(word));
	switch (random_below(s->r, 4)) {
	case 0:
		word = (uint32_t)random_next(s->r);
		break;
	case 1:
		word ^= 1u << random_below(s->r, 32);
		break;
	case 2:
		word += random_below(s->r, 5) - 2;
		break;
	default:
		word = random_below(s->r, 2) ? UINT32_MAX : 0;
	}
	memcpy(broken + at, &word, sizeof(word));
	bytes = r->bytes;
	/* The ring gives no more than there is, whatever the record says. */
	if (bytes > s->used)
		r->bytes = (uint32_t)s->used;
	rc = core_step(s->core, r);
	check_valid(s, "after a broken record");
	if (rc == 0)
		s->counts.accepted_broken++;
	else
		cr_assert(memcmp(rows, (const unsigned char *)s->ledger + s->ledger->nodes_offset, rows_bytes) == 0,
		          "a refused record changed something");
	s->counts.refused_records += rc != 0;
	free(rows);
}

static void step(struct slow *s, enum record_kind kind)
{
	struct record *r = (struct record *)(void *)s->record;
	uint32_t room = s->room;
	int rc;

	*r = (struct record){ .bytes = (uint32_t)s->used, .kind = (uint16_t)kind, .epoch = s->epoch, .time_ns = s->time_ns };
	if (s->breaking && random_below(s->r, 2))
		step_broken(s);
	log_add(s, &room, sizeof(room));
	log_add(s, r, r->bytes);
	s->counts.records++;
	rc = core_step(s->core, r);
	s->used = sizeof(struct record);
	if (!s->breaking)
		cr_assert_eq(rc, 0, "record %u of kind %d: %s", s->counts.records, (int)kind, core_fault(s->core));
	check_valid(s, "after a record");
}

static uint32_t amounts(struct amount out[AMOUNTS], const int64_t values[AMOUNTS])
{
	uint32_t n = 0;

	memset(out, 0, AMOUNTS * sizeof(out[0]));
	for (int a = 0; a < AMOUNTS; a++)
		if (values[a] > 0)
			out[n++] = (struct amount){ .resource = columns[a], .value = values[a] };
	return n;
}

static void tell_names(struct slow *s)
{
	struct event_name gpu = { .id = RESOURCE_EXTENDED, .kind = NAME_RESOURCE, .bytes = 3 };
	struct event_name taint = { .id = TAINT_NAME, .kind = NAME_TAINT, .bytes = 4 };

	add(s, &gpu, sizeof(gpu));
	add(s, "gpu", 3);
	step(s, EVENT_NAME);
	add(s, &taint, sizeof(taint));
	add(s, "k: v", 4);
	step(s, EVENT_NAME);
}

static void tell_shape(struct slow *s, uint32_t id)
{
	struct shape *shape = &s->shapes[id];
	struct amount list[AMOUNTS];
	struct requirement zone = { .op = REQUIRE_IN, .key = KEY_ZONE, .values_n = 1 };
	struct toleration toleration = { .key = KEY_TAINT, .value = TAINT_VALUE };
	struct event_shape e = { .shape = id, .amounts_n = amounts(list, shape->amounts),
		                 .requirements_n = shape->zone != 0, .values_n = shape->zone != 0,
		                 .tolerations_n = shape->tolerates, .scored_cpu_milli = shape->amounts[CPU],
		                 .scored_memory_bytes = shape->amounts[MEMORY] };

	shape->told = true;
	add(s, &e, sizeof(e));
	add(s, list, e.amounts_n * sizeof(list[0]));
	add(s, &zone, e.requirements_n * sizeof(zone));
	add(s, &shape->zone, e.values_n * sizeof(shape->zone));
	add(s, &toleration, e.tolerations_n * sizeof(toleration));
	step(s, EVENT_SHAPE);
}

static void tell_node(struct slow *s, uint32_t id)
{
	const struct node *n = &s->nodes[id];
	struct amount list[AMOUNTS];
	struct label label = { .key = KEY_ZONE, .value = n->zone, .number = LABEL_NOT_A_NUMBER };
	struct taint taint = { .key = KEY_TAINT, .value = TAINT_VALUE, .effect = EFFECT_NO_SCHEDULE, .name = TAINT_NAME };
	struct event_node e = { .node = id, .generation = n->generation, .name_bytes = 1,
		                .flags = (n->present ? NODE_PRESENT : 0) | (n->cordoned ? NODE_CORDONED : 0),
		                .amounts_n = amounts(list, n->amounts), .labels_n = n->zone != 0, .taints_n = n->tainted };
	char name = (char)('a' + id);

	add(s, &e, sizeof(e));
	add(s, list, e.amounts_n * sizeof(list[0]));
	add(s, &label, e.labels_n * sizeof(label));
	add(s, &taint, e.taints_n * sizeof(taint));
	add(s, &name, 1);
	step(s, EVENT_NODE);
}

static void tell_gang(struct slow *s, uint32_t id)
{
	const struct gang *g = &s->gangs[id];
	struct amount cpu = { .resource = RESOURCE_CPU, .value = g->cpu };
	struct event_gang e = { .gang = id, .generation = g->generation, .quorum = g->quorum, .name_bytes = 1,
		                .flags = (g->missing ? GANG_OBJECT_MISSING : 0) | (g->refused ? GANG_REFUSED : 0),
		                .amounts_n = g->cpu > 0, .created_ns = g->created };
	char name = (char)('A' + id);

	add(s, &e, sizeof(e));
	add(s, &cpu, e.amounts_n * sizeof(cpu));
	add(s, &name, 1);
	step(s, EVENT_GANG);
}

static void tell_pod(struct slow *s, uint32_t id)
{
	struct pod *p = &s->pods[id];
	struct event_pod e = { .pod = id, .generation = p->generation, .gang = p->gang, .shape = p->shape,
		               .node = p->where == BOUND ? p->node : ID_NONE, .priority = p->priority,
		               .created_ns = p->created, .uid = { id, p->generation }, .name_bytes = 4,
		               .flags = (p->ours ? POD_OURS : 0) | (p->gated ? POD_GATED : 0) |
		                        (p->deleting ? POD_DELETING : 0) | (p->refused ? POD_REFUSED : 0) };
	char name[8];

	if (!s->shapes[p->shape].told)
		tell_shape(s, p->shape);
	snprintf(name, sizeof(name), "p%03u", id);
	add(s, &e, sizeof(e));
	add(s, name, 4);
	step(s, EVENT_POD);
}

static void tell_drop(struct slow *s, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };

	add(s, &e, sizeof(e));
	step(s, kind);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void node_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_NODES);
	struct node *n = &s->nodes[id];
	bool named = false;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		named = named || (s->pods[i].live && s->pods[i].where == BOUND && s->pods[i].node == id);
	if (n->live && !named && random_below(s->r, 4) == 0) {
		n->live = false;
		for (uint32_t i = 0; i < SLOW_PODS; i++)
			if (takes_room(&s->pods[i], id))
				s->pods[i].node = ID_NONE; /* its answer is still to come */
		tell_drop(s, EVENT_NODE_DROP, id, n->generation);
		return;
	}
	if (!n->live) {
		*n = (struct node){ .live = true, .generation = n->generation + 1 };
		n->zone = random_below(s->r, 3);
	}
	n->present = random_below(s->r, 8) > 0;
	n->cordoned = random_below(s->r, 8) == 0;
	n->tainted = random_below(s->r, 6) == 0;
	n->amounts[CPU] = random_below(s->r, 6) * 3000;
	n->amounts[MEMORY] = random_below(s->r, 6) * 4000;
	n->amounts[PODS] = 1 + random_below(s->r, 8);
	n->amounts[GPU] = random_below(s->r, 3) * 2;
	if (!n->present)
		memset(n->amounts, 0, sizeof(n->amounts));
	tell_node(s, id);
}

static void gang_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_GANGS);
	struct gang *g = &s->gangs[id];
	bool has_pods = false;

	for (uint32_t i = 0; i < SLOW_PODS; i++)
		has_pods = has_pods || (s->pods[i].live && s->pods[i].gang == id);
	if (g->live && !has_pods && random_below(s->r, 2)) {
		g->live = false;
		tell_drop(s, EVENT_GANG_DROP, id, g->generation);
		return;
	}
	if (!g->live)
		*g = (struct gang){ .live = true, .generation = g->generation + 1 };
	g->missing = random_below(s->r, 8) == 0;
	g->refused = random_below(s->r, 10) == 0;
	g->quorum = 1 + random_below(s->r, 5);
	g->cpu = random_below(s->r, 4) == 0 ? random_below(s->r, 30) * 1000 : 0;
	g->created = random_below(s->r, 2) * (1 + random_below(s->r, 5));
	tell_gang(s, id);
}

static void pod_new(struct slow *s, uint32_t id)
{
	struct pod *p = &s->pods[id];
	uint32_t node = random_below(s->r, SLOW_NODES), gang = random_below(s->r, SLOW_GANGS);

	*p = (struct pod){ .live = true, .generation = p->generation + 1, .gang = ID_NONE, .node = ID_NONE };
	p->ours = random_below(s->r, 8) > 0;
	if (s->gangs[gang].live && random_below(s->r, 4) > 0)
		p->gang = gang;
	/* Mostly the gang's own shape. */
	p->shape = random_below(s->r, 4) > 0 && p->gang != ID_NONE ? gang % SLOW_SHAPES : random_below(s->r, SLOW_SHAPES);
	p->gated = random_below(s->r, 10) == 0;
	p->refused = random_below(s->r, 16) == 0;
	p->deleting = random_below(s->r, 16) == 0;
	p->priority = (int32_t)random_below(s->r, 3) - 1;
	p->created = random_below(s->r, 10);
	if (s->nodes[node].live && random_below(s->r, 5) == 0) {
		p->where = BOUND;
		p->node = node;
	}
}

static void pod_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_PODS);
	struct pod *p = &s->pods[id];

	if (!p->live) {
		pod_new(s, id);
	} else if (random_below(s->r, 9) < (p->where == BOUND ? 6 : 2)) {
		p->live = false;
		tell_drop(s, EVENT_POD_DROP, id, p->generation);
		return;
	} else if (p->where == ANSWERED && p->node != ID_NONE) {
		p->where = BOUND; /* the watch catches up */
	} else if (random_below(s->r, 4) == 0) {
		p->deleting = true;
	} else {
		p->gated = false;
		p->priority = (int32_t)random_below(s->r, 3) - 1;
	}
	tell_pod(s, id);
}

static void answer_event(struct slow *s)
{
	uint32_t id = random_below(s->r, SLOW_PODS);
	struct pod *p;
	struct result result;
	uint32_t kind = random_below(s->r, 4);

	for (uint32_t i = 0; i < SLOW_PODS && s->pods[id].where != IN_FLIGHT; i++)
		id = (id + 1) % SLOW_PODS;
	p = &s->pods[id];
	if (!p->live || p->where != IN_FLIGHT)
		return;
	result = (struct result){ .pod = id, .generation = p->generation, .node = p->node == ID_NONE ? 0 : p->node,
		                  .attempt = p->attempt, .retry_ms = random_below(s->r, 2) * random_below(s->r, 3000) };
	if (kind == 0) {
		uint64_t ms = 1000;

		for (uint64_t i = 0; i < p->refusals && ms < 10000; i++)
			ms *= 2;
		p->refusals++;
		p->where = NOWHERE;
		p->node = ID_NONE;
		p->retry_ns = s->time_ns + (result.retry_ms ? result.retry_ms : ms < 10000 ? ms : 10000) * 1000000;
	} else if (kind < 3) {
		p->where = ANSWERED;
		p->refusals = 0;
	}
	add(s, &result, sizeof(result));
	step(s, kind == 0 ? RESULT_REFUSED : kind < 3 ? RESULT_BOUND : RESULT_UNKNOWN);
}

/* A new frontend: it lists, and knows of no binding in flight. */
static void epoch_event(struct slow *s)
{
	s->epoch++;
	step(s, EVENT_BEGIN);
	tell_names(s);
	for (uint32_t i = 0; i < SLOW_SHAPES; i++)
		s->shapes[i].told = false;
	for (uint32_t i = 0; i < SLOW_NODES; i++)
		if (s->nodes[i].live)
			tell_node(s, i);
	for (uint32_t i = 0; i < SLOW_GANGS; i++) {
		s->gangs[i].why = WHY_NONE;
		if (s->gangs[i].live)
			tell_gang(s, i);
	}
	s->judging = false; /* what is carried over is sent again, fit or not */
	for (uint32_t i = 0; i < SLOW_PODS; i++) {
		struct pod *p = &s->pods[i];

		p->attempt = 0;
		p->retry_ns = 0;
		p->refusals = 0;
		p->why = WHY_NONE;
		/* In flight in the list as not bound; the core sends it again if it can. */
		if (p->where == IN_FLIGHT || p->where == ANSWERED) {
			p->where = NOWHERE;
			p->node = ID_NONE;
		}
		if (p->live)
			tell_pod(s, i);
	}
	step(s, EVENT_SYNCED);
	step(s, EVENT_PLAN);
	while (core_wants_plan(s->core) && s->room > 0)
		step(s, EVENT_PLAN);
	s->judging = s->strict;
}

/* ---- judgement --------------------------------------------------------------------------------- */

static void before_plan(struct slow *s)
{
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		uint32_t shape = ID_NONE;

		s->gangs[gang].alike = true;
		s->gangs[gang].started = false;
		for (uint32_t i = 0; i < SLOW_PODS; i++) {
			const struct pod *p = &s->pods[i];

			if (p->gang != gang || !ready(s, p))
				continue;
			if (shape != ID_NONE && shape != p->shape)
				s->gangs[gang].alike = false;
			shape = p->shape;
		}
	}
}

/* Which reason a gang (or pod, as a gang of one) that waits must have been told. */
static uint32_t expected_why(struct slow *s, const uint32_t *pods, uint32_t n, uint32_t held, const struct gang *g,
                             uint32_t gang)
{
	uint32_t ready_n = 0, gated = 0, backoff = 0, members = held + n, nodes = 0, list[SLOW_PODS];

	for (uint32_t i = 0; i < n; i++) {
		const struct pod *p = &s->pods[pods[i]];

		if (ready(s, p))
			list[ready_n++] = pods[i];
		else if (p->gated)
			gated++;
		else if (!p->refused)
			backoff++;
	}
	for (uint32_t i = 0; i < SLOW_NODES; i++)
		nodes += s->nodes[i].live && s->nodes[i].present;
	if (g->missing)
		return WHY_GROUP_MISSING;
	if (g->refused)
		return WHY_REFUSED;
	if (held >= g->quorum && ready_n == 0)
		return backoff ? WHY_BIND_REFUSED : gated ? WHY_GATED : WHY_REFUSED;
	if (held < g->quorum && members < g->quorum)
		return WHY_MEMBERS;
	if (held < g->quorum && held + ready_n < g->quorum)
		return held + ready_n + backoff >= g->quorum           ? WHY_BIND_REFUSED
		       : held + ready_n + backoff + gated >= g->quorum ? WHY_GATED
		                                                       : WHY_REFUSED;
	if (nodes == 0)
		return WHY_NO_NODES;
	if (held < g->quorum && gang != ID_NONE && !minimum(s, gang))
		return WHY_MIN_RESOURCES;
	if (can_place(s, list, ready_n, held < g->quorum ? g->quorum - held : 1))
		return WHY_GAVE_UP;
	return WHY_ROOM;
}

static bool no_room(uint32_t why)
{
	return why == WHY_NO_NODES || why == WHY_ROOM || why == WHY_MIN_RESOURCES;
}

static void judge_waiting(struct slow *s, const uint32_t *pods, uint32_t n, uint32_t held, const struct gang *g,
                          uint32_t gang, uint32_t told)
{
	uint32_t expected;

	if (n == 0)
		return;
	/* A backoff may end a little late, and is judged then. */
	for (uint32_t i = 0; i < n; i++)
		if (told == WHY_BIND_REFUSED && s->pods[pods[i]].retry_ns + 20000000 > s->time_ns)
			return;
	expected = expected_why(s, pods, n, held, g, gang);
	/* Only a gang of several shapes can be beyond the planner, and then it says so;
	 * it may say so of one that can't be placed as well. */
	if (told == WHY_GAVE_UP) {
		cr_assert(gang != ID_NONE && !g->alike, "gang %u: gave up", gang);
		s->counts.gave_up += expected == WHY_GAVE_UP;
		return;
	}
	cr_assert_neq(expected, WHY_GAVE_UP, "gang %u pod %u: told %u, could start", gang, pods[0], told);
	/* Between the kinds of having no room, news may be two seconds late. */
	if (!s->refreshed && no_room(told) && no_room(expected))
		return;
	cr_assert_eq(told, expected, "gang %u pod %u: told %u, %u is right", gang, pods[0], told, expected);
}

static void judge_rest(struct slow *s)
{
	static const struct gang alone = { .quorum = 1, .alike = true };

	before_plan(s); /* `alike` as it is now; `started` is judged already */
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		uint32_t pods[SLOW_PODS], n = 0;

		for (uint32_t i = 0; i < SLOW_PODS; i++)
			if (counts(&s->pods[i], gang) && s->pods[i].where == NOWHERE)
				pods[n++] = i;
		if (s->gangs[gang].live)
			judge_waiting(s, pods, n, have(s, gang), &s->gangs[gang], gang, s->gangs[gang].why);
	}
	for (uint32_t i = 0; i < SLOW_PODS; i++)
		if (counts(&s->pods[i], ID_NONE) && s->pods[i].where == NOWHERE)
			judge_waiting(s, &i, 1, 0, &alone, ID_NONE, s->pods[i].why);
}

static void judge_started(struct slow *s)
{
	for (uint32_t gang = 0; gang < SLOW_GANGS; gang++) {
		if (!s->gangs[gang].started)
			continue;
		s->counts.gangs_started++;
		cr_assert(have(s, gang) >= s->gangs[gang].quorum, "gang %u started with %u of %u", gang, have(s, gang),
		          s->gangs[gang].quorum);
	}
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static struct core *core_make(struct slow *s)
{
	struct core_config config = { .limits = limits, .score = s->score, .emit = emit, .context = s };
	size_t bytes = (size_t)core_ledger_bytes(&limits, NULL);
	struct core *core;

	s->ledger = aligned_alloc(4096, bytes);
	cr_assert(s->ledger);
	memset(s->ledger, 0, bytes);
	core = core_new(&config, s->ledger);
	cr_assert(core);
	return core;
}

static void shapes_make(struct slow *s)
{
	for (uint32_t i = 0; i < SLOW_SHAPES; i++) {
		struct shape *shape = &s->shapes[i];

		shape->amounts[CPU] = (1 + random_below(s->r, 4)) * 1000;
		shape->amounts[MEMORY] = random_below(s->r, 4) * 1500;
		shape->amounts[PODS] = 1;
		shape->amounts[GPU] = random_below(s->r, 4) == 0;
		shape->zone = random_below(s->r, 4) == 0 ? 1 + random_below(s->r, 2) : 0;
		shape->tolerates = random_below(s->r, 2);
	}
}

struct slow *slow_new(struct random *r, enum score_policy policy, bool strict)
{
	struct slow *s = calloc(1, sizeof(*s));

	cr_assert(s);
	s->r = r;
	s->score = policy;
	s->strict = s->judging = strict;
	s->room = UINT32_MAX;
	s->time_ns = 1;
	s->used = sizeof(struct record);
	s->core = core_make(s);
	shapes_make(s);
	epoch_event(s);
	return s;
}

void slow_free(struct slow *s)
{
	core_free(s->core);
	free(s->ledger);
	free(s->log);
	free(s->said);
	free(s);
}

struct core *slow_core(struct slow *s)
{
	return s->core;
}

static void event(struct slow *s)
{
	uint32_t kind = random_below(s->r, 100);

	s->time_ns += random_below(s->r, 300) * UINT64_C(1000000);
	if (kind < 15)
		node_event(s);
	else if (kind < 25)
		gang_event(s);
	else if (kind < 65)
		pod_event(s);
	else if (kind < 95)
		answer_event(s);
	else if (kind < 99 || random_below(s->r, 4) > 0)
		step(s, EVENT_TICK);
	else
		epoch_event(s);
}

void slow_step(struct slow *s)
{
	unsigned binds;

	before_plan(s);
	event(s);
	if (!s->strict) {
		if (random_below(s->r, 4) == 0)
			s->room = random_below(s->r, 3) == 0 ? UINT32_MAX : random_below(s->r, 4);
		if (random_below(s->r, 3) == 0)
			step(s, EVENT_PLAN);
		return;
	}
	s->refreshed = random_below(s->r, 8) == 0;
	s->time_ns += s->refreshed ? UINT64_C(2100000000) : 0;
	step(s, EVENT_TICK); /* backoffs end before the judge looks at the time */
	before_plan(s);
	binds = s->counts.binds;
	while (core_wants_plan(s->core))
		step(s, EVENT_PLAN);
	s->refreshed = s->refreshed && binds == s->counts.binds;
	judge_started(s);
	judge_rest(s);
}

void slow_break(struct slow *s)
{
	s->breaking = true;
	s->judging = false;
	event(s);
	if (random_below(s->r, 2))
		step(s, EVENT_PLAN);
}

void slow_replay(const struct slow *s)
{
	struct slow *again = calloc(1, sizeof(*again));
	size_t at = 0;

	cr_assert(again);
	again->breaking = true; /* no model stands behind it */
	again->score = s->score;
	again->core = core_make(again);
	while (at < s->log_n) {
		const struct record *r = (const struct record *)(const void *)s->record;

		memcpy(&again->room, s->log + at, sizeof(again->room));
		at += sizeof(again->room);
		memcpy(again->record, s->log + at, sizeof(*r));
		r = (const struct record *)(const void *)again->record;
		memcpy(again->record, s->log + at, r->bytes);
		at += r->bytes;
		core_step(again->core, r);
	}
	cr_assert_eq(again->said_n, s->said_n);
	cr_assert(memcmp(again->said, s->said, s->said_n) == 0, "the same records, other commands");
	slow_free(again);
}

const unsigned char *slow_log(const struct slow *s, size_t *bytes)
{
	*bytes = s->log_n;
	return s->log;
}

const unsigned char *slow_said(const struct slow *s, size_t *bytes)
{
	*bytes = s->said_n;
	return s->said;
}

struct slow_counts slow_counts(const struct slow *s)
{
	return s->counts;
}
