/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_plain.h"

#include "core/lifecycle/state.h"
#include "tests/unit/test.h"

enum { TAINT_NAME = 12 };

static void add(struct plain *p, const void *bytes, size_t n)
{
	cr_assert(p->used + PADDED(n) <= sizeof(p->record));
	if (n > 0)
		memcpy(p->record + p->used, bytes, n);
	memset(p->record + p->used + n, 0, (size_t)PADDED(n) - n);
	p->used += (size_t)PADDED(n);
}

static void step(struct plain *p, enum record_kind kind)
{
	struct record *r = (struct record *)(void *)p->record;
	char why[256];

	*r = (struct record){ .bytes = (uint32_t)p->used,
		                  .kind = (uint16_t)kind,
		                  .epoch = 1,
		                  .time_ns = ++p->records + p->ahead_ns };
	cr_assert_eq(core_step(p->core, r), 0, "record %u of kind %d: %s", p->records, (int)kind,
	             core_fault(p->core));
	p->used = sizeof(struct record);
	cr_assert(core_valid(p->core, why, sizeof(why)), "record %u: %s", p->records, why);
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct plain *p = context;
	const struct cmd_bind *b = body;
	const struct cmd_reason *r = body;

	if (kind == CMD_BIND) {
		p->binds[b->pod] = b->node;
		p->binds_n++;
	} else if (kind == CMD_REASON && r->gang != ID_NONE) {
		p->reasons[r->gang] = r->reason;
	}
	return true;
}

static void tell_name(struct plain *p, uint32_t id, const char *text)
{
	struct event_name e = { .id = id,
		                    .bytes = (uint32_t)strlen(text),
		                    .kind = id < p->limits.resources ? NAME_RESOURCE : NAME_TAINT };

	add(p, &e, sizeof(e));
	add(p, text, strlen(text));
	step(p, EVENT_NAME);
}

static struct plain *plain_new_reserving(enum score_policy score, uint64_t reserve_after_ns)
{
	struct plain *p = calloc(1, sizeof(*p));
	struct core_config config = {
		.score = score, .emit = emit, .context = p, .reserve_after_ns = reserve_after_ns
	};
	size_t bytes;

	cr_assert(p);
	p->limits =
		(struct limits)LIMITS_WITH(.nodes = PLAIN_NODES, .pods = PLAIN_PODS, .gangs = PLAIN_GANGS,
	                               .shapes = PLAIN_SHAPES, .names = 16, .name_bytes = 8192);
	config.limits = p->limits;
	bytes = (size_t)core_ledger_bytes(&p->limits, NULL);
	p->ledger = aligned_alloc(4096, bytes);
	cr_assert(p->ledger);
	memset(p->ledger, 0, bytes);
	p->core = core_new(&config, p->ledger);
	cr_assert(p->core);
	p->used = sizeof(struct record);
	for (uint32_t i = 0; i < PLAIN_PODS; i++)
		p->pods[i].node = p->binds[i] = PLAIN_NONE;
	step(p, EVENT_BEGIN);
	tell_name(p, RESOURCE_EXTENDED, "gpu");
	tell_name(p, TAINT_NAME, "k: v");
	return p;
}

struct plain *plain_new(enum score_policy score)
{
	return plain_new_reserving(score, 0);
}

struct plain *plain_uniform(uint64_t reserve_after_ns)
{
	struct plain *p = plain_new_reserving(SCORE_KUBE, reserve_after_ns);

	for (uint32_t i = 0; i < PLAIN_SHAPES; i++)
		p->shapes[i] = (struct plain_shape){ .containers = 1,
			                                 .amounts = { 1000 },
			                                 .scored = { 1000, 209715200 },
			                                 .placed = { 1000, 209715200 } };
	plain_synced(p);
	return p;
}

void plain_free(struct plain *p)
{
	core_free(p->core);
	free(p->ledger);
	free(p);
}

void plain_synced(struct plain *p)
{
	step(p, EVENT_SYNCED);
}

void plain_tell_gang(struct plain *p, uint32_t id, uint32_t quorum)
{
	const struct plain_levels *levels = &p->levels[id];
	struct event_gang e = {
		.gang = id, .generation = 1, .quorum = quorum, .name_bytes = 3, .levels_n = levels->n
	};
	const char name[] = { 'n', '/', (char)('A' + id) };
	struct gang_role roles[PLAIN_ROLES];

	for (uint32_t i = 1; i <= PLAIN_ROLES; i++)
		if (p->roles[id][i] > 0)
			roles[e.roles_n++] = (struct gang_role){ .role = i, .quorum = p->roles[id][i] };
	add(p, &e, sizeof(e));
	add(p, roles, e.roles_n * sizeof(roles[0]));
	add(p, levels->at, levels->n * sizeof(levels->at[0]));
	add(p, name, sizeof(name));
	step(p, EVENT_GANG);
}

void plain_tick(struct plain *p, uint64_t ns)
{
	p->ahead_ns += ns;
	step(p, EVENT_TICK);
}

void plain_round(struct plain *p)
{
	step(p, EVENT_PLAN);
}

void plain_plan(struct plain *p)
{
	for (uint32_t rounds = 0; core_wants_plan(p->core); rounds++) {
		cr_assert(rounds < 1000, "the core never has enough");
		step(p, EVENT_PLAN);
	}
}

void plain_settle(struct plain *p)
{
	for (uint32_t id = 0; id < PLAIN_PODS; id++) {
		if (!p->pods[id].exists || p->pods[id].node != PLAIN_NONE || p->binds[id] == PLAIN_NONE)
			continue;
		p->pods[id].node = p->binds[id];
		plain_tell_pod(p, id);
	}
}

void plain_drop_node(struct plain *p, uint32_t id)
{
	struct event_drop e = { .id = id, .generation = 1 };

	add(p, &e, sizeof(e));
	step(p, EVENT_NODE_DROP);
	p->nodes[id].exists = false;
}

static uint32_t amounts(struct amount out[PLAIN_RESOURCES], const int64_t values[PLAIN_RESOURCES])
{
	uint32_t n = 0;

	memset(out, 0, PLAIN_RESOURCES * sizeof(out[0]));
	for (uint32_t r = 0; r < PLAIN_RESOURCES; r++)
		if (values[r] > 0)
			out[n++] = (struct amount){ .resource = r, .value = values[r] };
	return n;
}

void plain_tell_node(struct plain *p, uint32_t id)
{
	const struct plain_node *n = &p->nodes[id];
	struct amount list[PLAIN_RESOURCES];
	struct event_node e = { .node = id,
		                    .generation = 1,
		                    .name_bytes = 1,
		                    .amounts_n = amounts(list, n->amounts),
		                    .flags = n->flags | (n->exists ? NODE_PRESENT : 0),
		                    .labels_n = n->labels_n,
		                    .taints_n = n->taints_n,
		                    .images_n = n->images_n,
		                    .limits_n = n->limits_n,
		                    .attached_n = n->attached_n };
	char name = (char)('a' + id);

	add(p, &e, sizeof(e));
	add(p, list, e.amounts_n * sizeof(list[0]));
	add(p, n->labels, n->labels_n * sizeof(n->labels[0]));
	add(p, n->taints, n->taints_n * sizeof(n->taints[0]));
	add(p, n->images, n->images_n * sizeof(n->images[0]));
	add(p, n->limits, n->limits_n * sizeof(n->limits[0]));
	add(p, n->attached, n->attached_n * sizeof(n->attached[0]));
	add(p, &name, 1);
	step(p, EVENT_NODE);
}

/* What the parts of a shape's record are gathered in. */
struct gathered {
	struct requirement requirements[32], clauses[64];
	uint32_t requirements_n, clauses_n;
	uint32_t values[256], values_n;
	struct span alternatives[16];
	uint32_t alternatives_n;
	struct amount amounts[PLAIN_RESOURCES];
	struct preference preferences[PLAIN_LIST];
	struct volume_rule rules[PLAIN_LIST];
	struct pod_term terms[PLAIN_LIST];
	struct spread spreads[PLAIN_LIST];
	struct policy policy;
};

static uint32_t gather_values(struct gathered *g, const uint32_t *values, uint32_t n)
{
	uint32_t first = g->values_n;

	for (uint32_t i = 0; i < n; i++)
		g->values[g->values_n++] = values[i];
	return first;
}

static struct requirement gather_requirement(struct gathered *g, const struct plain_requirement *r,
                                             uint32_t term)
{
	return (struct requirement){ .term = term,
		                         .op = r->op,
		                         .key = r->key,
		                         .values_n = r->values_n,
		                         .values_first = gather_values(g, r->values, r->values_n),
		                         .number = r->number };
}

static void gather_terms(struct gathered *g, const struct plain_clauses *c, uint32_t term)
{
	for (uint32_t i = 0; i < c->n; i++)
		g->requirements[g->requirements_n++] = gather_requirement(g, &c->at[i], term);
}

static struct span gather_clauses(struct gathered *g, const struct plain_clauses *c)
{
	struct span span = { .first = g->clauses_n, .n = c->n };

	for (uint32_t i = 0; i < c->n; i++)
		g->clauses[g->clauses_n++] = gather_requirement(g, &c->at[i], 0);
	return span;
}

static struct span gather_alternatives(struct gathered *g, const struct plain_volume_rule *rule)
{
	struct span span = { .first = g->alternatives_n, .n = rule->n };

	for (uint32_t i = 0; i < rule->n; i++)
		g->alternatives[g->alternatives_n++] = gather_clauses(g, &rule->alternatives[i]);
	return span;
}

/* Its own namespace is written out where it is implied. */
static struct pod_term gather_pod_term(struct gathered *g, const struct plain_shape *s,
                                       const struct plain_term *t)
{
	bool implied = t->namespaces_n == 0 && !t->every && !t->chosen;
	uint32_t own = s->namespace, names[2], n = implied ? 1 : t->namespaces_n;

	for (uint32_t i = 0; i < n; i++)
		names[i] = PLAIN_VALUE_NAMESPACE + (implied ? own : t->namespaces[i]);
	return (struct pod_term){ .kind = t->kind,
		                      .weight = t->weight,
		                      .topology = t->topology,
		                      .flags = (t->nothing ? TERM_MATCHES_NOTHING : 0) |
		                               (t->every ? TERM_EVERY_NAMESPACE : 0) |
		                               (t->chosen ? TERM_NAMESPACES_CHOSEN : 0),
		                      .namespaces = { gather_values(g, names, n), n },
		                      .namespace_clauses = gather_clauses(g, &t->namespace_labels),
		                      .clauses = gather_clauses(g, &t->labels) };
}

/* The event without what is gathered from clauses. */
static struct event_shape shape_event(struct gathered *g, const struct plain_shape *s, uint32_t id)
{
	return (struct event_shape){ .shape = id,
		                         .flags = s->flags,
		                         .amounts_n = amounts(g->amounts, s->amounts),
		                         .tolerations_n = s->tolerations_n,
		                         .terms_n = s->terms_n,
		                         .preferences_n = s->preferences_n,
		                         .volume_rules_n = s->volume_rules_n,
		                         .pod_terms_n = s->pod_terms_n,
		                         .spreads_n = s->spreads_n,
		                         .ports_n = s->ports_n,
		                         .images_n = s->images_n,
		                         .attachments_n = s->attachments_n,
		                         .exclusives_n = s->exclusives_n,
		                         .image_containers = s->containers,
		                         .scored_cpu_milli = s->scored[0],
		                         .scored_memory_bytes = s->scored[1],
		                         .placed_cpu_milli = s->placed[0] - s->scored[0],
		                         .placed_memory_bytes = s->placed[1] - s->scored[1],
		                         .policies_n = s->policy.given,
		                         .shares_n = s->policy.given ? s->policy.shares_n : 0,
		                         .namespace = s->spreads_n || s->policy.given
		                                          ? PLAIN_VALUE_NAMESPACE + s->namespace
		                                          : ID_NONE };
}

static void gather_shape(struct gathered *g, const struct plain_shape *s)
{
	gather_terms(g, &s->selector, 0);
	for (uint32_t i = 0; i < s->terms_n; i++)
		gather_terms(g, &s->terms[i], i + 1);
	for (uint32_t i = 0; i < s->preferences_n; i++) {
		g->preferences[i].weight = s->preferences[i].weight;
		g->preferences[i].clauses = gather_clauses(g, &s->preferences[i].clauses);
	}
	for (uint32_t i = 0; i < s->volume_rules_n; i++) {
		g->rules[i].why = s->volume_rules[i].why;
		g->rules[i].alternatives = gather_alternatives(g, &s->volume_rules[i]);
	}
	for (uint32_t i = 0; i < s->pod_terms_n; i++)
		g->terms[i] = gather_pod_term(g, s, &s->pod_terms[i]);
	for (uint32_t i = 0; i < s->spreads_n; i++) {
		const struct plain_spread *t = &s->spreads[i];

		g->spreads[i] = (struct spread){ .topology = t->topology,
			                             .flags = t->flags,
			                             .max_skew = t->max_skew,
			                             .min_domains = t->min_domains,
			                             .clauses = gather_clauses(g, &t->labels) };
	}
	if (s->policy.given)
		g->policy = (struct policy){ .topology = s->policy.topology,
			                         .flags = s->policy.flags,
			                         .clauses = gather_clauses(g, &s->policy.labels),
			                         .shares = { 0, s->policy.shares_n } };
}

#define ADD(list, n) add(p, list, (n) * sizeof((list)[0]))

static void tell_shape(struct plain *p, uint32_t id)
{
	struct plain_shape *s = &p->shapes[id];
	struct gathered g = { 0 };
	struct event_shape e = shape_event(&g, s, id);

	gather_shape(&g, s);
	e.requirements_n = g.requirements_n;
	e.values_n = g.values_n;
	e.clauses_n = g.clauses_n;
	e.alternatives_n = g.alternatives_n;
	add(p, &e, sizeof(e));
	ADD(g.amounts, e.amounts_n);
	ADD(g.requirements, g.requirements_n);
	ADD(g.values, g.values_n);
	ADD(s->tolerations, s->tolerations_n);
	ADD(g.clauses, g.clauses_n);
	ADD(g.preferences, s->preferences_n);
	ADD(g.alternatives, g.alternatives_n);
	ADD(g.rules, s->volume_rules_n);
	ADD(g.terms, s->pod_terms_n);
	ADD(g.spreads, s->spreads_n);
	ADD(s->ports, s->ports_n);
	ADD(s->images, s->images_n);
	ADD(s->attachments, s->attachments_n);
	ADD(s->exclusives, s->exclusives_n);
	add(p, &g.policy, e.policies_n * sizeof(g.policy));
	ADD(s->policy.shares, e.shares_n);
	step(p, EVENT_SHAPE);
	s->told = true;
}

void plain_tell_namespace(struct plain *p, uint32_t id)
{
	const struct plain_namespace *n = &p->namespaces[id];
	struct event_namespace e = { .name = PLAIN_VALUE_NAMESPACE + id, .labels_n = n->label != 0 };
	struct event_drop drop = { .id = PLAIN_VALUE_NAMESPACE + id };
	struct pod_label label = { PLAIN_KEY_TEAM, n->label };

	if (n->exists) {
		add(p, &e, sizeof(e));
		add(p, &label, e.labels_n * sizeof(label));
	} else {
		add(p, &drop, sizeof(drop));
	}
	step(p, n->exists ? EVENT_NAMESPACE : EVENT_NAMESPACE_DROP);
}

void plain_tell_pod(struct plain *p, uint32_t id)
{
	struct plain_pod *pod = &p->pods[id];
	const struct plain_shape *s = &p->shapes[pod->shape];
	struct event_pod e = { .pod = id,
		                   .generation = pod->generation,
		                   .gang = pod->gang ? pod->gang - 1 : ID_NONE,
		                   .shape = pod->shape,
		                   .node = pod->node == PLAIN_NONE ? ID_NONE : pod->node,
		                   .name_bytes = 5,
		                   .labels_n = pod->labels_n,
		                   .namespace = PLAIN_VALUE_NAMESPACE + s->namespace,
		                   .uid = { id, pod->generation },
		                   .role = pod->role ? pod->role : ID_NONE,
		                   .created_ns =
		                       1 + id, /* members go by their numbers, however they come */
		                   .flags = POD_OURS | (pod->deleting ? POD_DELETING : 0) };
	char name[8];

	if (!s->told)
		tell_shape(p, pod->shape);
	snprintf(name, sizeof(name), "n/p%02u", id);
	add(p, &e, sizeof(e));
	add(p, pod->labels, pod->labels_n * sizeof(pod->labels[0]));
	add(p, name, 5);
	step(p, EVENT_POD);
}

void plain_drop_pod(struct plain *p, uint32_t id)
{
	struct event_drop e = { .id = id, .generation = p->pods[id].generation };

	add(p, &e, sizeof(e));
	step(p, EVENT_POD_DROP);
	p->binds[id] = PLAIN_NONE;
	p->pods[id].exists = false;
	p->pods[id].node = PLAIN_NONE;
}

static void compare_counts(const struct plain *p, const struct evaluation *j,
                           const struct plain_verdict *want)
{
	struct filter_count counts[EVALUATION_COUNTS_MAX];
	uint32_t n = evaluation_counts(j, &p->core->nodes, counts), whys = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		whys |= FILTER_BIT(counts[i].why);
		sum += counts[i].nodes;
	}
	for (uint32_t node = 0; node < PLAIN_NODES && !want->whole; node++) {
		cr_assert_eq(want->whys[node] & ~whys, 0);
		sum -= (uint32_t)__builtin_popcount(want->whys[node] & ~FILTER_BIT(FILTER_INSUFFICIENT));
		sum -= (uint32_t)__builtin_popcountll(want->short_of[node]);
	}
	cr_assert_eq(sum, 0);
	cr_assert(!want->whole || (n == 1 && counts[0].why == FILTER_CONFLICT));
}

void plain_compare(const struct plain *p, uint32_t pod, enum score_policy score)
{
	struct plain_verdict want;
	struct evaluation got;

	plain_evaluate(p, pod, score, &want);
	evaluation_init(&got, &p->limits, true);
	cr_assert_eq(core_verdict(p->core, pod, &got), 0);
	cr_assert_eq(got.whole, want.whole ? FILTER_CONFLICT : FILTER_PASSED, "record %u pod %u",
	             p->records, pod);
	cr_assert_eq(got.feasible, want.feasible, "record %u pod %u: %u nodes, %u", p->records, pod,
	             got.feasible, want.feasible);
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		if (!p->nodes[n].exists)
			continue;
		cr_assert_eq(got.whys[n], want.whys[n], "record %u pod %u node %u: whys %x, %x is right",
		             p->records, pod, n, got.whys[n], want.whys[n]);
		if (got.whys[n] & FILTER_BIT(FILTER_INSUFFICIENT))
			cr_assert_eq(got.short_of[n], want.short_of[n]);
		if (got.whys[n] & FILTER_BIT(FILTER_TAINT))
			cr_assert_eq(got.taint[n], TAINT_NAME);
		if (got.whys[n] != 0)
			continue;
		for (uint32_t part = 0; part < SCORE_PARTS; part++)
			cr_assert_eq(evaluation_part(&got, part, n), want.parts[part][n],
			             "record %u pod %u node %u: part %u is %u, %u is right", p->records, pod, n,
			             part, evaluation_part(&got, part, n), want.parts[part][n]);
		cr_assert_eq(got.scores[n], want.scores[n]);
	}
	compare_counts(p, &got, &want);
	evaluation_free(&got);
}
