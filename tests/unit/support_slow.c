/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "ipc/check.h"
#include "tests/unit/support_ledger.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_slow_impl.h"
#include "tests/unit/test.h"

static const struct limits limits =
	LIMITS_WITH(.nodes = SLOW_NODES, .pods = SLOW_PODS, .gangs = SLOW_GANGS, .shapes = SLOW_SHAPES,
                .names = 12, .name_bytes = 8192);
static const uint32_t columns[AMOUNTS] = { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_PODS,
	                                       RESOURCE_EXTENDED };

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

static void slow_begins(struct slow *s, uint32_t gang)
{
	s->gangs[gang].begun = slow_total(&s->gangs[gang]);
	s->gangs[gang].begins = true;
	for (uint32_t i = 0; i < SLOW_PODS; i++)
		s->pods[i].first = s->pods[i].first && s->pods[i].gang != gang;
}

static void bind(struct slow *s, enum record_kind kind, const struct cmd_bind *b)
{
	struct pod *p = &s->pods[b->pod];

	if (s->breaking)
		return;
	cr_assert(kind == CMD_BIND || !s->checking, "an earlier frontend sent pod %u", b->pod);
	if (s->checking)
		check_bind(s, b);
	if (kind == CMD_BIND && b->gang != ID_NONE && slow_have(s, b->gang) == 0)
		slow_begins(s, b->gang);
	if (kind == CMD_BIND && b->gang != ID_NONE)
		p->first = p->first || s->gangs[b->gang].begins;
	p->withdrawn = kind == CMD_CANCEL_BIND;
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
	if (record_is_bind(kind))
		bind(s, kind, body);
	if (kind == CMD_REASON && why->gang != ID_NONE)
		s->gangs[why->gang].why = why->reason.why;
	else if (kind == CMD_REASON)
		s->pods[why->pod].why = why->reason.why;
	return true;
}

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

	cr_assert(core_valid(s->core, why, sizeof(why)), "%s, record %u: %s", when, s->counts.records,
	          why);
}

/* The ledger's rows, which an error may not change. */
struct rows {
	struct {
		uint64_t offset;
		size_t bytes;
		unsigned char *copy;
	} at[1 + LEDGER_PARTS];
};

static void rows_take(struct rows *rows, const struct slow *s, int i, uint64_t offset,
                      uint64_t bytes)
{
	rows->at[i].offset = offset;
	rows->at[i].bytes = (size_t)bytes;
	rows->at[i].copy = malloc((size_t)bytes + 1);
	cr_assert(rows->at[i].copy);
	memcpy(rows->at[i].copy, (const unsigned char *)s->ledger + offset, (size_t)bytes);
}

static struct rows rows_copy(const struct slow *s)
{
	const struct ledger *l = s->ledger;
	struct rows rows;

	struct ledger_places places = { .limits = l->limits,
		                            .nodes_offset = l->nodes_offset,
		                            .gangs_offset = l->gangs_offset,
		                            .arena_offset = l->arena_offset,
		                            .amounts_offset = l->amounts_offset,
		                            .queues_offset = l->queues_offset };

	for (int part = 0; part < LEDGER_PARTS; part++)
		rows_take(&rows, s, part, ledger_part(&places, part).offset, l->committed[part]);
	rows_take(&rows, s, LEDGER_PARTS, l->names_offset,
	          core_ledger_bytes_first(&limits) - l->names_offset);
	return rows;
}

static bool rows_are(const struct slow *s, const struct rows *rows)
{
	bool same = true;

	for (int i = 0; i < 1 + LEDGER_PARTS; i++)
		same = same && memcmp((const unsigned char *)s->ledger + rows->at[i].offset,
		                      rows->at[i].copy, rows->at[i].bytes) == 0;
	return same;
}

static void rows_free(struct rows *rows)
{
	for (int i = 0; i < 1 + LEDGER_PARTS; i++)
		free(rows->at[i].copy);
}

static void step_broken(struct slow *s)
{
	alignas(8) unsigned char broken[sizeof(s->record)];
	struct record *r = (struct record *)(void *)broken;
	uint32_t at = random_below(s->r, (uint32_t)s->used / 4) * 4, bytes, word;
	struct rows rows = rows_copy(s);
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
		cr_assert(rows_are(s, &rows), "a refused record changed something");
	s->counts.refused_records += rc != 0;
	rows_free(&rows);
}

void slow_record(struct slow *s, enum record_kind kind)
{
	struct record *r = (struct record *)(void *)s->record;
	uint32_t room = s->room;
	int rc;

	*r = (struct record){
		.bytes = (uint32_t)s->used, .kind = (uint16_t)kind, .epoch = s->epoch, .time_ns = s->time_ns
	};
	if (s->breaking && random_below(s->r, 2))
		step_broken(s);
	log_add(s, &room, sizeof(room));
	log_add(s, r, r->bytes);
	s->counts.records++;
	rc = core_step(s->core, r);
	s->used = sizeof(struct record);
	if (!s->breaking)
		cr_assert_eq(rc, 0, "record %u of kind %d: %s", s->counts.records, (int)kind,
		             core_fault(s->core));
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

void slow_tell_names(struct slow *s)
{
	struct event_name gpu = { .id = RESOURCE_EXTENDED, .kind = NAME_RESOURCE, .bytes = 3 };
	struct event_name taint = { .id = TAINT_NAME, .kind = NAME_TAINT, .bytes = 4 };

	add(s, &gpu, sizeof(gpu));
	add(s, "gpu", 3);
	slow_record(s, EVENT_NAME);
	add(s, &taint, sizeof(taint));
	add(s, "k: v", 4);
	slow_record(s, EVENT_NAME);
}

static void tell_shape(struct slow *s, uint32_t id)
{
	struct shape *shape = &s->shapes[id];
	struct amount list[AMOUNTS];
	struct requirement zone = { .op = REQUIRE_IN, .key = KEY_ZONE, .values_n = 1 };
	struct toleration toleration = { .key = KEY_TAINT, .value = TAINT_VALUE };
	struct event_shape e = { .shape = id,
		                     .amounts_n = amounts(list, shape->amounts),
		                     .requirements_n = shape->zone != 0,
		                     .values_n = shape->zone != 0,
		                     .tolerations_n = shape->tolerates,
		                     .scored_cpu_milli = shape->amounts[CPU],
		                     .scored_memory_bytes = shape->amounts[MEMORY] };

	shape->told = true;
	add(s, &e, sizeof(e));
	add(s, list, e.amounts_n * sizeof(list[0]));
	add(s, &zone, e.requirements_n * sizeof(zone));
	add(s, &shape->zone, e.values_n * sizeof(shape->zone));
	add(s, &toleration, e.tolerations_n * sizeof(toleration));
	slow_record(s, EVENT_SHAPE);
}

void slow_tell_node(struct slow *s, uint32_t id)
{
	const struct node *n = &s->nodes[id];
	struct amount list[AMOUNTS];
	struct label label = { .key = KEY_ZONE, .value = n->zone, .number = LABEL_NOT_A_NUMBER };
	struct taint taint = {
		.key = KEY_TAINT, .value = TAINT_VALUE, .effect = EFFECT_NO_SCHEDULE, .name = TAINT_NAME
	};
	struct event_node e = { .node = id,
		                    .generation = n->generation,
		                    .name_bytes = 1,
		                    .flags =
		                        (n->present ? NODE_PRESENT : 0) | (n->cordoned ? NODE_CORDONED : 0),
		                    .amounts_n = amounts(list, n->amounts),
		                    .labels_n = n->zone != 0,
		                    .taints_n = n->tainted };
	char name = (char)('a' + id);

	add(s, &e, sizeof(e));
	add(s, list, e.amounts_n * sizeof(list[0]));
	add(s, &label, e.labels_n * sizeof(label));
	add(s, &taint, e.taints_n * sizeof(taint));
	add(s, &name, 1);
	slow_record(s, EVENT_NODE);
}

void slow_tell_gang(struct slow *s, uint32_t id)
{
	const struct gang *g = &s->gangs[id];
	struct amount cpu = { .resource = RESOURCE_CPU, .value = g->cpu };
	struct event_gang e = { .gang = id,
		                    .generation = g->generation,
		                    .quorum = g->quorum,
		                    .name_bytes = 1,
		                    .flags = (g->missing ? GANG_OBJECT_MISSING : 0) |
		                             (g->refused ? GANG_REFUSED : 0) |
		                             (g->after_others ? GANG_AFTER_OTHERS : 0) |
		                             (g->has_priority ? GANG_PRIORITY : 0),
		                    .priority = g->priority,
		                    .amounts_n = g->cpu > 0,
		                    .created_ns = g->created };
	char name = (char)('A' + id);
	struct gang_role roles[SLOW_ROLES];

	for (uint32_t i = 0; i < SLOW_ROLES; i++)
		if (g->roles[i] > 0)
			roles[e.roles_n++] =
				(struct gang_role){ .role = ROLE_FIRST + i, .quorum = g->roles[i] };
	add(s, &e, sizeof(e));
	add(s, &cpu, e.amounts_n * sizeof(cpu));
	add(s, roles, e.roles_n * sizeof(roles[0]));
	add(s, &name, 1);
	slow_record(s, EVENT_GANG);
}

void slow_tell_pod(struct slow *s, uint32_t id)
{
	struct pod *p = &s->pods[id];
	struct event_pod e = { .pod = id,
		                   .generation = p->generation,
		                   .gang = p->gang,
		                   .shape = p->shape,
		                   .node = p->where == BOUND ? p->node : ID_NONE,
		                   .priority = p->priority,
		                   .created_ns = p->created,
		                   .uid = { id, p->generation },
		                   .name_bytes = 4,
		                   .flags = (p->ours ? POD_OURS : 0) | (p->gated ? POD_GATED : 0) |
		                            (p->deleting ? POD_DELETING : 0) |
		                            (p->refused ? POD_REFUSED : 0) | (p->lasts ? POD_LASTS : 0),
		                   .role = p->role < SLOW_ROLES ? ROLE_FIRST + p->role : ID_NONE };
	char name[8];

	if (!s->shapes[p->shape].told)
		tell_shape(s, p->shape);
	snprintf(name, sizeof(name), "p%03u", id);
	add(s, &e, sizeof(e));
	add(s, name, 4);
	slow_record(s, EVENT_POD);
}

void slow_tell_drop(struct slow *s, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };

	add(s, &e, sizeof(e));
	slow_record(s, kind);
}

void slow_tell_result(struct slow *s, enum record_kind kind, const struct result *result)
{
	add(s, result, sizeof(*result));
	slow_record(s, kind);
}

static int make(void *context, uint64_t offset, uint64_t bytes)
{
	return guarded_make(((struct slow *)context)->ledger, offset, bytes);
}

struct core_config slow_core_config(const struct slow *s)
{
	/* The reference knows nothing of holds. */
	return (struct core_config){ .limits = limits,
		                         .score = s->score,
		                         .reserve_after_ns = s->strict ? 0 : UINT64_C(3000000000),
		                         .ask_all = s->ask_all };
}

static struct core *core_make(struct slow *s)
{
	struct core_config config = slow_core_config(s);
	struct core *core;

	config.emit = emit;
	config.make = make;
	config.context = s;
	s->ledger = guarded_new(&limits);
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
	s->strict = s->checking = strict;
	s->room = UINT32_MAX;
	s->time_ns = 1;
	s->used = sizeof(struct record);
	s->core = core_make(s);
	shapes_make(s);
	slow_epoch(s);
	return s;
}

void slow_free(struct slow *s)
{
	core_free(s->core);
	guarded_free(s->ledger);
	free(s->log);
	free(s->said);
	free(s);
}

struct core *slow_core(struct slow *s)
{
	return s->core;
}

void slow_step(struct slow *s)
{
	unsigned binds;

	check_before_plan(s);
	slow_event(s);
	if (!s->strict) {
		if (random_below(s->r, 4) == 0)
			s->room = random_below(s->r, 3) == 0 ? UINT32_MAX : random_below(s->r, 4);
		if (random_below(s->r, 3) == 0)
			slow_record(s, EVENT_PLAN);
		return;
	}
	s->refreshed = random_below(s->r, 8) == 0;
	s->time_ns += s->refreshed ? UINT64_C(2100000000) : 0;
	slow_record(s, EVENT_TICK); /* backoffs end before the reference reads at the time */
	check_before_plan(s);
	binds = s->counts.binds;
	while (core_wants_plan(s->core))
		slow_record(s, EVENT_PLAN);
	s->refreshed = s->refreshed && binds == s->counts.binds;
	check_after_plan(s);
}

void slow_break(struct slow *s)
{
	s->breaking = true;
	s->checking = false;
	slow_event(s);
	if (random_below(s->r, 2))
		slow_record(s, EVENT_PLAN);
}

void slow_replay(const struct slow *s, bool ask_all)
{
	struct slow *again = calloc(1, sizeof(*again));
	size_t at = 0;

	cr_assert(again);
	again->breaking = true; /* no model stands behind it */
	again->score = s->score;
	again->strict = s->strict;
	again->ask_all = ask_all;
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

const struct record *slow_log_next(struct slow *s, size_t *at, uint32_t *room)
{
	static alignas(8) unsigned char record[sizeof(s->record)];
	struct record r;

	if (*at == s->log_n)
		return NULL;
	memcpy(room, s->log + *at, sizeof(*room));
	memcpy(&r, s->log + *at + sizeof(*room), sizeof(r));
	memcpy(record, s->log + *at + sizeof(*room), r.bytes);
	*at += sizeof(*room) + r.bytes;
	return (const struct record *)(const void *)record;
}

struct slow_counts slow_counts(const struct slow *s)
{
	return s->counts;
}
