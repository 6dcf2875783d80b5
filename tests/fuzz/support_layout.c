/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/support_layout.h"

#include "core/shm/ledger.h"
#include "ipc/devices.h"
#include "tests/fuzz/support_stream.h"

#include <stddef.h>
#include <string.h>

#define N(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define U32(type, name, low, high)                                                                 \
	{                                                                                              \
		RULE_WITHIN, WIDTH_U32, offsetof(type, name), low, high                                    \
	}
#define I32(type, name, low, high)                                                                 \
	{                                                                                              \
		RULE_WITHIN, WIDTH_I32, offsetof(type, name), low, high                                    \
	}
#define I64(type, name, low, high)                                                                 \
	{                                                                                              \
		RULE_WITHIN, WIDTH_I64, offsetof(type, name), low, high                                    \
	}
#define ANY(type, name) U32(type, name, 0, UINT32_MAX)
#define NONE(type, name, high)                                                                     \
	{                                                                                              \
		RULE_OR_NONE, WIDTH_U32, offsetof(type, name), 0, high                                     \
	}
#define BITS(type, name, bits)                                                                     \
	{                                                                                              \
		RULE_BITS, WIDTH_U32, offsetof(type, name), 0, bits                                        \
	}
#define RISES(type, name)                                                                          \
	{                                                                                              \
		RULE_RISES, WIDTH_U32, offsetof(type, name), 0, UINT32_MAX                                 \
	}
#define SPAN(type, name, part)                                                                     \
	{                                                                                              \
		RULE_SPAN, WIDTH_U32, offsetof(type, name), part, 0                                        \
	}

static const struct field request_fields[] = {
	{ RULE_REQUESTED, WIDTH_U32, offsetof(struct amount, resource), STREAM_RESOURCES,
	  STREAM_NAMES - 1 },
	I64(struct amount, value, 0, INT64_MAX),
};
static const struct field amount_fields[] = {
	{ RULE_ONCE, WIDTH_U32, offsetof(struct amount, resource), 0, STREAM_RESOURCES - 1 },
	I64(struct amount, value, 0, INT64_MAX),
};
static const struct field label_fields[] = { RISES(struct label, key), ANY(struct label, value),
	                                         I64(struct label, number, INT64_MIN, INT64_MAX) };
static const struct field taint_fields[] = {
	ANY(struct taint, key),
	ANY(struct taint, value),
	U32(struct taint, effect, EFFECT_NO_SCHEDULE, EFFECT_NO_EXECUTE),
	U32(struct taint, name, STREAM_RESOURCES, STREAM_NAMES - 1),
};
static const struct field image_fields[] = { RISES(struct node_image, image),
	                                         I64(struct node_image, bytes, 0, INT64_MAX) };
static const struct field limit_fields[] = { ANY(struct attach_limit, driver),
	                                         ANY(struct attach_limit, most) };
static const struct field attachment_fields[] = { ANY(struct attachment, driver),
	                                              ANY(struct attachment, volume) };

static const struct field name_fields[] = { U32(struct event_name, id, 0, STREAM_NAMES - 1),
	                                        ANY(struct event_name, kind) };

static const struct field node_fields[] = {
	U32(struct event_node, node, 0, STREAM_NODES - 1),
	U32(struct event_node, generation, 1, UINT32_MAX),
	BITS(struct event_node, flags, NODE_PRESENT | NODE_CORDONED | NODE_RESTARTS_ALL),
};

/* The parts of a shape, in their order. */
enum {
	AMOUNTS,
	REQUIREMENTS,
	VALUES,
	TOLERATIONS,
	CLAUSES,
	PREFERENCES,
	ALTERNATIVES,
	VOLUME_RULES,
	POD_TERMS,
	SPREADS,
	PORTS,
	IMAGES,
	ATTACHMENTS,
	EXCLUSIVES,
	POLICIES,
	SHARES
};

static const struct field requirement_fields[] = {
	ANY(struct requirement, term),
	U32(struct requirement, op, 0, REQUIRE_OPS - 1),
	ANY(struct requirement, key),
	SPAN(struct requirement, values_first, VALUES),
	I64(struct requirement, number, INT64_MIN, INT64_MAX),
};
static const struct field clause_fields[] = {
	U32(struct requirement, term, 0, 0),
	U32(struct requirement, op, 0, REQUIRE_OPS - 1),
	ANY(struct requirement, key),
	SPAN(struct requirement, values_first, VALUES),
	I64(struct requirement, number, INT64_MIN, INT64_MAX),
};
static const struct field number_fields[] = { { RULE_WITHIN, WIDTH_U32, 0, 0, UINT32_MAX } };
static const struct field toleration_fields[] = {
	ANY(struct toleration, key),
	ANY(struct toleration, value),
	U32(struct toleration, any_value, 0, 1),
	U32(struct toleration, effect, EFFECT_ANY, EFFECT_NO_EXECUTE),
};
static const struct field preference_fields[] = { I32(struct preference, weight, 0, 100),
	                                              SPAN(struct preference, clauses, CLAUSES) };
static const struct field alternative_fields[] = { { RULE_SPAN, WIDTH_U32, 0, CLAUSES, 0 } };
static const struct field volume_rule_fields[] = {
	U32(struct volume_rule, why, FILTER_PASSED + 1, FILTER_REASONS - 1),
	SPAN(struct volume_rule, alternatives, ALTERNATIVES),
};
static const struct field pod_term_fields[] = {
	U32(struct pod_term, kind, 0, POD_TERM_KINDS - 1),
	I32(struct pod_term, weight, 0, 100),
	ANY(struct pod_term, topology),
	BITS(struct pod_term, flags,
	     TERM_MATCHES_NOTHING | TERM_EVERY_NAMESPACE | TERM_NAMESPACES_CHOSEN),
	SPAN(struct pod_term, namespaces, VALUES),
	SPAN(struct pod_term, namespace_clauses, CLAUSES),
	SPAN(struct pod_term, clauses, CLAUSES),
};
static const struct field spread_fields[] = {
	ANY(struct spread, topology),
	BITS(struct spread, flags,
	     SPREAD_HARD | SPREAD_IGNORES_AFFINITY | SPREAD_HONORS_TAINTS | SPREAD_MATCHES_NOTHING |
	         SPREAD_DEFAULT | SPREAD_BY_NODE),
	U32(struct spread, max_skew, 1, INT32_MAX),
	U32(struct spread, min_domains, 1, INT32_MAX),
	SPAN(struct spread, clauses, CLAUSES),
};
static const struct field port_fields[] = { ANY(struct host_port, address),
	                                        ANY(struct host_port, protocol),
	                                        ANY(struct host_port, port) };
static const struct field exclusive_fields[] = {
	ANY(struct exclusive, item), BITS(struct exclusive, flags, EXCLUSIVE_CLAIM | EXCLUSIVE_SHARED)
};
static const struct field policy_fields[] = {
	ANY(struct policy, topology),
	BITS(struct policy, flags, POLICY_REQUIRED | POLICY_FILL | POLICY_UNSELECTED),
	SPAN(struct policy, clauses, CLAUSES),
	SPAN(struct policy, shares, SHARES),
};
static const struct field share_fields[] = { RISES(struct policy_share, value),
	                                         U32(struct policy_share, replicas, 0, INT32_MAX) };
static const struct field shape_fields[] = {
	U32(struct event_shape, shape, 0, STREAM_SHAPES - 1),
	BITS(struct event_shape, flags, SHAPE_TOLERATES_CORDON | SHAPE_NEEDS_RESTART_ALL),
	U32(struct event_shape, terms_n, 0, 4096),
	I64(struct event_shape, scored_cpu_milli, 0, INT64_MAX),
	I64(struct event_shape, scored_memory_bytes, 0, INT64_MAX),
	I64(struct event_shape, placed_cpu_milli, INT64_MIN, INT64_MAX),
	I64(struct event_shape, placed_memory_bytes, INT64_MIN, INT64_MAX),
	ANY(struct event_shape, namespace),
	ANY(struct event_shape, image_containers),
};

static const struct field gang_fields[] = {
	U32(struct event_gang, gang, 0, STREAM_GANGS - 1),
	U32(struct event_gang, generation, 1, UINT32_MAX),
	BITS(struct event_gang, flags,
	     GANG_OBJECT_MISSING | GANG_REFUSED | GANG_PRIORITY | GANG_AFTER_OTHERS | GANG_UNCHANGED |
	         GANG_WHOLE | GANG_ENDED_COUNT),
	ANY(struct event_gang, dialect),
	ANY(struct event_gang, quorum),
	ANY(struct event_gang, succeeded),
	ANY(struct event_gang, failed),
	BITS(struct event_gang, disruption, GANG_DISRUPT_POD | GANG_DISRUPT_WHOLE | GANG_DISRUPT_NEVER),
	I32(struct event_gang, priority, INT32_MIN, INT32_MAX),
	I64(struct event_gang, created_ns, INT64_MIN, INT64_MAX),
	I64(struct event_gang, timeout_ns, INT64_MIN, INT64_MAX),
};
static const struct field role_fields[] = { RISES(struct gang_role, role),
	                                        ANY(struct gang_role, quorum) };
static const struct field level_fields[] = { ANY(struct gang_level, topology),
	                                         BITS(struct gang_level, flags, LEVEL_REQUIRED) };

static const struct field pod_fields[] = {
	U32(struct event_pod, pod, 0, STREAM_PODS - 1),
	U32(struct event_pod, generation, 1, UINT32_MAX),
	BITS(struct event_pod, flags,
	     POD_OURS | POD_GATED | POD_DELETING | POD_REFUSED | POD_BINDING | POD_LASTS | POD_INTENTS),
	NONE(struct event_pod, gang, STREAM_GANGS - 1),
	U32(struct event_pod, shape, 0, STREAM_SHAPES - 1),
	NONE(struct event_pod, node, STREAM_NODES - 1),
	I32(struct event_pod, priority, INT32_MIN, INT32_MAX),
	U32(struct event_pod, namespace, 0, UINT32_MAX - 1),
	ANY(struct event_pod, role),
	ANY(struct event_pod, scheduled_s),
	ANY(struct event_pod, keep_ms),
	ANY(struct event_pod, run_s),
	NONE(struct event_pod, queue, QUEUES_MAX - 1),
	ANY(struct event_pod, expected_s),
	ANY(struct event_pod, stated_s),
	I64(struct event_pod, created_ns, INT64_MIN, INT64_MAX),
	I64(struct event_pod, uid, INT64_MIN, INT64_MAX),
};
static const struct field pod_label_fields[] = {
	RISES(struct pod_label, key),
	U32(struct pod_label, key, 0, UINT32_MAX - 1),
	U32(struct pod_label, value, 0, UINT32_MAX - 1),
};
static const struct field namespace_fields[] = { ANY(struct event_namespace, name) };

static const struct field preemption_fields[] = {
	BITS(struct event_preemption, flags, PREEMPTION_FLAGS),
	ANY(struct event_preemption, min_run_s),
	ANY(struct event_preemption, cooldown_s),
	ANY(struct event_preemption, patience_s),
	ANY(struct event_preemption, reclaim_patience_s),
};
static const struct field budget_fields[] = {
	U32(struct event_budget, budget, 0, BUDGETS_MAX - 1),
	BITS(struct event_budget, flags, BUDGET_GONE),
	ANY(struct event_budget, namespace),
	I32(struct event_budget, allowed, INT32_MIN, INT32_MAX),
};
static const struct field budget_clause_fields[] = {
	U32(struct requirement, term, 0, 0),
	U32(struct requirement, op, 0, REQUIRE_NOT_EXISTS),
	ANY(struct requirement, key),
	SPAN(struct requirement, values_first, 1),
	I64(struct requirement, number, INT64_MIN, INT64_MAX),
};
static const struct field facts_fields[] = {
	U32(struct event_pod_facts, pod, 0, STREAM_PODS - 1),
	ANY(struct event_pod_facts, generation),
	ANY(struct event_pod_facts, start_s),
	BITS(struct event_pod_facts, flags, FACT_OURS | FACT_SPARED | FACT_NEVER | FACT_LEADS),
	ANY(struct event_pod_facts, evicted_s),
	ANY(struct event_pod_facts, ends_s),
	NONE(struct event_pod_facts, nominated, STREAM_NODES - 1),
	ANY(struct event_pod_facts, grace_s),
	I32(struct event_pod_facts, deletion_cost, INT32_MIN, INT32_MAX),
	I32(struct event_pod_facts, completion_index, -1, INT32_MAX),
};
static const struct field answer_fields[] = {
	I64(struct event_answer, ticket, INT64_MIN, INT64_MAX),
	U32(struct event_answer, gang, 0, STREAM_GANGS - 1),
	ANY(struct event_answer, generation),
	U32(struct event_answer, verdict, 0, ANSWER_VERDICTS - 1),
};
static const struct field answer_pod_fields[] = {
	U32(struct answer_pod, pod, 0, STREAM_PODS - 1),
	ANY(struct answer_pod, generation),
	U32(struct answer_pod, node, 0, STREAM_NODES - 1),
};
static const struct field evicted_fields[] = {
	I64(struct evict_result, ticket, INT64_MIN, INT64_MAX),
	U32(struct evict_result, pod, 0, STREAM_PODS - 1),
	U32(struct evict_result, generation, 1, UINT32_MAX),
	U32(struct evict_result, node, 0, STREAM_NODES - 1),
};
static const struct field queue_fields[] = {
	U32(struct event_queue, queue, 0, QUEUES_MAX - 1),
	NONE(struct event_queue, parent, QUEUES_MAX - 1),
	BITS(struct event_queue, flags, QUEUE_FIFO | QUEUE_GONE | QUEUE_UNRECLAIMABLE),
	I32(struct event_queue, priority, INT32_MIN, INT32_MAX),
	U32(struct event_queue, state, 0, QUEUE_STATES - 1),
	U32(struct event_queue, source, 0, QUEUE_SOURCES - 1),
	U32(struct event_queue, name_bytes, 1, QUEUE_NAME_MAX - 1),
	I64(struct event_queue, weight, QUEUE_WEIGHT_OF_LIMIT, INT64_MAX),
	ANY(struct event_queue, min_run_s),
	ANY(struct event_queue, max_run_s),
	ANY(struct event_queue, unshared),
};
static const struct field queue_amount_fields[] = {
	RISES(struct queue_amount, resource),
	U32(struct queue_amount, resource, 0, STREAM_RESOURCES - 1),
	I64(struct queue_amount, guarantee, QUEUE_ALL, INT64_MAX),
	I64(struct queue_amount, reserved, 0, INT64_MAX),
	I64(struct queue_amount, limit, 0, INT64_MAX),
	I64(struct queue_amount, weight, QUEUE_WEIGHT_OF_LIMIT, INT64_MAX),
};
static const struct field queue_terms_fields[] = {
	U32(struct event_queue_terms, factor, 0, QUEUE_FACTOR_MAX),
};
static const struct field queue_past_fields[] = {
	U32(struct event_queue_past, queue, 0, QUEUES_MAX - 1),
	I64(struct event_queue_past, at_s, INT64_MIN, INT64_MAX),
};
static const struct field past_fields[] = {
	RISES(struct queue_past, resource),
	U32(struct queue_past, resource, 0, STREAM_RESOURCES - 1),
	U32(struct queue_past, part, 0, QUEUE_PAST_ONE - 1),
	I64(struct queue_past, value, 0, INT64_MAX),
};
static const struct field assume_fields[] = {
	U32(struct event_assume, pod, 0, STREAM_PODS - 1),
	ANY(struct event_assume, pod_generation),
	U32(struct event_assume, words, 0, (STREAM_NODES + 63) / 64),
	ANY(struct event_assume, keep_ms),
};
static const struct field promised_fields[] = {
	U32(struct event_promised, pod, 0, STREAM_PODS - 1),
	ANY(struct event_promised, generation),
	I64(struct event_promised, at_ns, 1, INT64_MAX - 1),
};
static const struct field node_devices_fields[] = {
	U32(struct event_node_devices, node, 0, STREAM_NODES - 1),
	ANY(struct event_node_devices, generation),
	U32(struct event_node_devices, layout, 1, UINT32_MAX),
	U32(struct event_node_devices, devices_n, 0, NODE_DEVICES_MAX),
	BITS(struct event_node_devices, flags, NODE_DEVICES_INVALID | NODE_DEVICES_SHARED),
	U32(struct event_node_devices, counters_n, 0, NODE_COUNTERS_MAX),
	U32(struct event_node_devices, uses_n, 0, NODE_USES_MAX),
	U32(struct event_node_devices, capacities_n, 0, NODE_CAPACITIES_MAX),
	U32(struct event_node_devices, commons_n, 0, NODE_DEVICES_MAX),
};
#define AMOUNT_HIGH_MAX (INT64_C(1) << 48)
static const struct field counter_fields[] = {
	ANY(struct node_counter, pool),
	I64(struct node_counter, low, INT64_MIN, INT64_MAX),
	I64(struct node_counter, high, 0, AMOUNT_HIGH_MAX),
};
static const struct field use_fields[] = {
	U32(struct node_use, device, 0, NODE_DEVICES_MAX - 1),
	U32(struct node_use, counter, 0, NODE_COUNTERS_MAX - 1),
	I64(struct node_use, low, INT64_MIN, INT64_MAX),
	I64(struct node_use, high, 0, AMOUNT_HIGH_MAX),
};
#define SHARE_HIGH_MAX (INT64_C(1) << 31)
static const struct field capacity_fields[] = {
	U32(struct node_capacity, device, 0, NODE_DEVICES_MAX - 1),
	I64(struct node_capacity, value_low, INT64_MIN, INT64_MAX),
	I64(struct node_capacity, value_high, 0, SHARE_HIGH_MAX),
	I64(struct node_capacity, consumed_low, INT64_MIN, INT64_MAX),
	I64(struct node_capacity, consumed_high, 0, SHARE_HIGH_MAX),
};
static const struct field common_fields[] = {
	U32(struct node_common, device, 0, NODE_DEVICES_MAX - 1),
	U32(struct node_common, common, 0, COMMON_DEVICES_MAX - 1),
};
static const struct field match_amount_fields[] = {
	I64(struct match_amount, low, INT64_MIN, INT64_MAX),
	I64(struct match_amount, high, 0, SHARE_HIGH_MAX),
};
static const struct field question_fields[] = {
	U32(struct event_question, question, 0, QUESTIONS_MAX - 1),
	U32(struct event_question, options_n, 1, QUESTION_OPTIONS_MAX),
	U32(struct event_question, constraints_n, 0, QUESTION_CONSTRAINTS_MAX),
	U32(struct event_question, text_bytes, 0, QUESTION_TEXT_MAX),
};
static const struct field option_fields[] = {
	U32(struct question_option, claim, 0, QUESTION_OPTIONS_MAX - 1),
	U32(struct question_option, request, 0, QUESTION_OPTIONS_MAX - 1),
	BITS(struct question_option, flags,
	     QUESTION_ALL | QUESTION_ADMIN | QUESTION_PREFERS | QUESTION_ONE | QUESTION_GROUPS),
	ANY(struct question_option, count),
};
static const struct field constraint_fields[] = {
	I64(struct question_constraint, options, INT64_MIN, INT64_MAX),
	U32(struct question_constraint, claim, 0, QUESTION_OPTIONS_MAX - 1),
	BITS(struct question_constraint, flags, QUESTION_DISTINCT),
};
static const struct field match_fields[] = {
	U32(struct event_match, question, 0, QUESTIONS_MAX - 1),
	U32(struct event_match, node, 0, STREAM_NODES - 1),
	ANY(struct event_match, generation),
	U32(struct event_match, layout, 1, UINT32_MAX),
	U32(struct event_match, devices_n, 0, NODE_DEVICES_MAX),
	U32(struct event_match, options_n, 0, QUESTION_OPTIONS_MAX),
	U32(struct event_match, constraints_n, 0, QUESTION_CONSTRAINTS_MAX),
	U32(struct event_match, capacities_n, 0, NODE_CAPACITIES_MAX),
};
static const struct field result_fields[] = {
	U32(struct result, pod, 0, STREAM_PODS - 1),
	U32(struct result, generation, 1, UINT32_MAX),
	U32(struct result, node, 0, STREAM_NODES - 1),
	ANY(struct result, attempt),
	ANY(struct result, retry_ms),
};

static const char *name_more(const struct view_of *v)
{
	const struct event_name *e = (const void *)v->body;

	return e->kind == (e->id < STREAM_RESOURCES ? NAME_RESOURCE : NAME_TAINT) ? NULL
	                                                                          : "kind of a name";
}

static const char *gang_more(const struct view_of *v)
{
	return v->n[1] > GANG_ROLES_MAX || v->n[2] > GANG_LEVELS_MAX ? "number of roles or levels"
	                                                             : NULL;
}

static const char *pod_more(const struct view_of *v)
{
	const struct event_pod *e = (const void *)v->body;
	const uint32_t intents = e->flags & POD_INTENTS;

	if ((e->flags & POD_BINDING) != 0 && e->node == ID_NONE)
		return "binding to no node";
	if ((intents & (intents - 1)) != 0)
		return "two intents";
	return intents != 0 && (e->node == ID_NONE || (e->flags & POD_BINDING) != 0)
	           ? "an intent without a node, or with a binding"
	           : NULL;
}

/* Counters are sorted by pool, uses by device, and a device uses those of one pool.  Capacities are
 * sorted by device, and of devices in the second set; common numbers are of the others, one each.
 */
static const char *node_devices_more(const struct view_of *v)
{
	const struct event_node_devices *e = (const void *)v->body;
	const struct node_counter *c = (const void *)v->at[1];
	const struct node_use *u = (const void *)v->at[2];
	const struct node_capacity *k = (const void *)v->at[3];
	const struct node_common *m = (const void *)v->at[4];
	const uint64_t *shared = (const uint64_t *)(const void *)v->at[0] + v->n[0] / 2;

	for (uint32_t i = 1; i < v->n[1]; i++)
		if (c[i - 1].pool > c[i].pool)
			return "order of counters";
	for (uint32_t i = 0; i < v->n[2]; i++) {
		if (u[i].device >= e->devices_n || u[i].counter >= v->n[1])
			return "a use of nothing";
		if (i > 0 && u[i - 1].device > u[i].device)
			return "order of uses";
		if (i > 0 && u[i - 1].device == u[i].device &&
		    c[u[i - 1].counter].pool != c[u[i].counter].pool)
			return "a device of two pools";
	}
	for (uint32_t i = 0; i < v->n[3]; i++) {
		if ((e->flags & NODE_DEVICES_SHARED) == 0 || k[i].device >= e->devices_n ||
		    (shared[k[i].device / 64] >> k[i].device % 64 & 1) == 0)
			return "a capacity of nothing";
		if (i > 0 && k[i - 1].device > k[i].device)
			return "order of capacities";
	}
	for (uint32_t i = 0; i < v->n[4]; i++) {
		if (m[i].device >= e->devices_n || (i > 0 && m[i - 1].device >= m[i].device))
			return "order of common numbers";
		if ((e->flags & NODE_DEVICES_SHARED) != 0 &&
		    (shared[m[i].device / 64] >> m[i].device % 64 & 1) != 0)
			return "a common number of a shared device";
	}
	return NULL;
}

/* Claims, and the requests of each, are numbered without gaps; several options of one request are
 * its alternatives. */
static const char *question_more(const struct view_of *v)
{
	const struct question_option *o = (const void *)v->at[0];
	const struct question_constraint *c = (const void *)v->at[1];
	uint32_t claim = 0, request = 0, alternatives = 0;

	for (uint32_t i = 0; i < v->n[0]; i++) {
		if (o[i].claim != claim || o[i].request != request) {
			if (i == 0 || o[i].claim > claim + 1 || o[i].claim < claim ||
			    o[i].request != (o[i].claim == claim ? request + 1 : 0))
				return "order of options";
			claim = o[i].claim;
			request = o[i].request;
			alternatives = 0;
		}
		if (++alternatives > DEVICE_OPTIONS_MAX)
			return "number of alternatives";
		if (o[i].count == 0 && (o[i].flags & QUESTION_ALL) == 0)
			return "an option for no device";
		if ((o[i].flags & QUESTION_ONE) != (o->flags & QUESTION_ONE))
			return "options of one claim and of several";
		if ((o[i].flags & QUESTION_ONE) != 0 && (o[i].flags & QUESTION_GROUPS) != 0)
			return "an extended resource that pods share";
	}
	for (uint32_t i = 0; i < v->n[1]; i++)
		if (c[i].claim > claim || (i > 0 && c[i].claim < c[i - 1].claim))
			return "claim of a constraint";
	return NULL;
}

/* Selectors of pods have no Gt and Lt, and expand to half a record at the most. */
static const char *selector_more(const struct view_of *v, struct span of, uint64_t *words)
{
	const struct requirement *q = (const void *)v->at[CLAUSES];

	for (uint64_t i = of.first; i < (uint64_t)of.first + of.n; i++) {
		if (q[i].op == REQUIRE_GT || q[i].op == REQUIRE_LT)
			return "a selector that compares numbers";
		*words += 3 + (uint64_t)q[i].values_n;
	}
	return *words > RECORD_BYTES_MAX / 2 ? "selectors that fold out" : NULL;
}

static const char *selectors_more(const struct view_of *v)
{
	const struct pod_term *terms = (const void *)v->at[POD_TERMS];
	const struct spread *spreads = (const void *)v->at[SPREADS];
	const struct policy *policies = (const void *)v->at[POLICIES];
	const char *fault = NULL;
	uint64_t words = 0;

	for (uint32_t i = 0; !fault && i < v->n[POD_TERMS]; i++) {
		words += terms[i].namespaces.n;
		fault = selector_more(v, terms[i].namespace_clauses, &words);
		fault = fault ? fault : selector_more(v, terms[i].clauses, &words);
	}
	for (uint32_t i = 0; !fault && i < v->n[SPREADS]; i++)
		fault = selector_more(v, spreads[i].clauses, &words);
	for (uint32_t i = 0; !fault && i < v->n[POLICIES]; i++)
		fault = selector_more(v, policies[i].clauses, &words);
	return fault;
}

static const char *shape_more(const struct view_of *v)
{
	const struct event_shape *e = (const void *)v->body;
	const struct requirement *q = (const void *)v->at[REQUIREMENTS];

	for (uint32_t i = 0; i < v->n[REQUIREMENTS]; i++)
		if (q[i].term > e->terms_n || (i > 0 && q[i].term < q[i - 1].term))
			return "order of terms";
	if ((__int128)e->scored_cpu_milli + e->placed_cpu_milli < 0 ||
	    (__int128)e->scored_memory_bytes + e->placed_memory_bytes < 0)
		return "amounts of a placed pod";
	if (e->policies_n > 1 || (e->policies_n == 0 && e->shares_n > 0))
		return "number of policies";
	if (e->namespace == ID_NONE && (e->spreads_n > 0 || e->policies_n > 0))
		return "no namespace";
	return selectors_more(v);
}

#define BODY(type, fields)                                                                         \
	{                                                                                              \
		0, sizeof(type), fields, N(fields), false, NULL                                            \
	}
#define ARRAY(type, count, of, fields)                                                             \
	{                                                                                              \
		offsetof(type, count), sizeof(of), fields, N(fields), false, NULL                          \
	}
#define TEXT(type, count)                                                                          \
	{                                                                                              \
		offsetof(type, count), 1, NULL, 0, true, NULL                                              \
	}

static const struct layout name_layout = {
	BODY(struct event_name, name_fields), { TEXT(struct event_name, bytes) }, 1, name_more
};

static const struct layout node_layout = {
	BODY(struct event_node, node_fields),
	{
		ARRAY(struct event_node, amounts_n, struct amount, amount_fields),
		ARRAY(struct event_node, labels_n, struct label, label_fields),
		ARRAY(struct event_node, taints_n, struct taint, taint_fields),
		ARRAY(struct event_node, images_n, struct node_image, image_fields),
		ARRAY(struct event_node, limits_n, struct attach_limit, limit_fields),
		ARRAY(struct event_node, attached_n, struct attachment, attachment_fields),
		TEXT(struct event_node, name_bytes),
	},
	7,
	NULL,
};

static const struct layout shape_layout = {
	BODY(struct event_shape, shape_fields),
	{
		[AMOUNTS] = ARRAY(struct event_shape, amounts_n, struct amount, request_fields),
		[REQUIREMENTS] =
			ARRAY(struct event_shape, requirements_n, struct requirement, requirement_fields),
		[VALUES] = ARRAY(struct event_shape, values_n, uint32_t, number_fields),
		[TOLERATIONS] =
			ARRAY(struct event_shape, tolerations_n, struct toleration, toleration_fields),
		[CLAUSES] = ARRAY(struct event_shape, clauses_n, struct requirement, clause_fields),
		[PREFERENCES] =
			ARRAY(struct event_shape, preferences_n, struct preference, preference_fields),
		[ALTERNATIVES] = ARRAY(struct event_shape, alternatives_n, struct span, alternative_fields),
		[VOLUME_RULES] =
			ARRAY(struct event_shape, volume_rules_n, struct volume_rule, volume_rule_fields),
		[POD_TERMS] = ARRAY(struct event_shape, pod_terms_n, struct pod_term, pod_term_fields),
		[SPREADS] = ARRAY(struct event_shape, spreads_n, struct spread, spread_fields),
		[PORTS] = ARRAY(struct event_shape, ports_n, struct host_port, port_fields),
		[IMAGES] = ARRAY(struct event_shape, images_n, uint32_t, number_fields),
		[ATTACHMENTS] =
			ARRAY(struct event_shape, attachments_n, struct attachment, attachment_fields),
		[EXCLUSIVES] = ARRAY(struct event_shape, exclusives_n, struct exclusive, exclusive_fields),
		[POLICIES] = ARRAY(struct event_shape, policies_n, struct policy, policy_fields),
		[SHARES] = ARRAY(struct event_shape, shares_n, struct policy_share, share_fields),
	},
	PARTS_MOST,
	shape_more,
};

static const struct layout gang_layout = {
	BODY(struct event_gang, gang_fields),
	{
		ARRAY(struct event_gang, amounts_n, struct amount, request_fields),
		ARRAY(struct event_gang, roles_n, struct gang_role, role_fields),
		ARRAY(struct event_gang, levels_n, struct gang_level, level_fields),
		TEXT(struct event_gang, name_bytes),
	},
	4,
	gang_more,
};

static const struct layout pod_layout = {
	BODY(struct event_pod, pod_fields),
	{ ARRAY(struct event_pod, labels_n, struct pod_label, pod_label_fields),
	  TEXT(struct event_pod, name_bytes) },
	2,
	pod_more,
};

static const struct layout namespace_layout = {
	BODY(struct event_namespace, namespace_fields),
	{ ARRAY(struct event_namespace, labels_n, struct pod_label, pod_label_fields) },
	1,
	NULL,
};

static const struct layout preemption_layout = {
	BODY(struct event_preemption, preemption_fields), { { 0 } }, 0, NULL
};

static const struct layout budget_layout = {
	BODY(struct event_budget, budget_fields),
	{ ARRAY(struct event_budget, clauses_n, struct requirement, budget_clause_fields),
	  ARRAY(struct event_budget, values_n, uint32_t, number_fields),
	  { offsetof(struct event_budget, names_bytes), 1, NULL, 0, false, NULL } },
	3,
	NULL,
};

static const struct layout facts_layout = {
	BODY(struct event_pod_facts, facts_fields), { { 0 } }, 0, NULL
};

static const struct layout answer_layout = {
	BODY(struct event_answer, answer_fields),
	{ ARRAY(struct event_answer, victims_n, struct answer_pod, answer_pod_fields),
	  ARRAY(struct event_answer, places_n, struct answer_pod, answer_pod_fields) },
	2,
	NULL,
};
static const struct layout evicted_layout = {
	BODY(struct evict_result, evicted_fields), { { 0 } }, 0, NULL
};

static const struct layout assume_layout = {
	BODY(struct event_assume, assume_fields),
	{ ARRAY(struct event_assume, words, uint64_t, number_fields) },
	1,
	NULL,
};
static const struct layout queue_layout = {
	BODY(struct event_queue, queue_fields),
	{ ARRAY(struct event_queue, amounts_n, struct queue_amount, queue_amount_fields),
	  TEXT(struct event_queue, name_bytes) },
	2,
	NULL,
};
static const struct layout queue_terms_layout = {
	BODY(struct event_queue_terms, queue_terms_fields), { { 0 } }, 0, NULL
};
static const struct layout queue_past_layout = {
	BODY(struct event_queue_past, queue_past_fields),
	{ ARRAY(struct event_queue_past, amounts_n, struct queue_past, past_fields) },
	1,
	NULL,
};
static uint32_t saturated(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static uint32_t taken_words(const unsigned char *body)
{
	const struct event_node_devices *e = (const void *)body;

	return saturated(((uint64_t)e->devices_n + 63) / 64 * (e->flags & NODE_DEVICES_SHARED ? 2 : 1));
}

static uint32_t match_words(const unsigned char *body)
{
	const struct event_match *e = (const void *)body;
	__extension__ unsigned __int128 words = ((uint64_t)e->devices_n + 63) / 64;

	words *= 2 * (uint64_t)e->options_n;
	words += (uint64_t)e->constraints_n * (((uint64_t)e->devices_n + 1) / 2);
	return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

static uint32_t match_amounts(const unsigned char *body)
{
	const struct event_match *e = (const void *)body;

	return saturated((uint64_t)e->options_n * e->capacities_n);
}

static const struct layout node_devices_layout = {
	BODY(struct event_node_devices, node_devices_fields),
	{ { 0, 8, number_fields, N(number_fields), false, taken_words },
	  ARRAY(struct event_node_devices, counters_n, struct node_counter, counter_fields),
	  ARRAY(struct event_node_devices, uses_n, struct node_use, use_fields),
	  ARRAY(struct event_node_devices, capacities_n, struct node_capacity, capacity_fields),
	  ARRAY(struct event_node_devices, commons_n, struct node_common, common_fields) },
	5,
	node_devices_more,
};
static const struct layout question_layout = {
	BODY(struct event_question, question_fields),
	{ ARRAY(struct event_question, options_n, struct question_option, option_fields),
	  ARRAY(struct event_question, constraints_n, struct question_constraint, constraint_fields),
	  /* Any bytes: readers of the ledger clean them. */
	  { offsetof(struct event_question, text_bytes), 1, NULL, 0, false, NULL } },
	3,
	question_more,
};
static const struct layout match_layout = {
	BODY(struct event_match, match_fields),
	{ { 0, 8, number_fields, N(number_fields), false, match_words },
	  { 0, sizeof(struct match_amount), match_amount_fields, N(match_amount_fields), false,
	    match_amounts } },
	2,
	NULL,
};
static const struct layout promised_layout = {
	BODY(struct event_promised, promised_fields), { { 0 } }, 0, NULL
};
static const struct layout result_layout = {
	BODY(struct result, result_fields), { { 0 } }, 0, NULL
};

#define DROP(name, limit)                                                                          \
	static const struct field name##_fields[] = { U32(struct event_drop, id, 0, limit - 1),        \
		                                          ANY(struct event_drop, generation) };            \
	static const struct layout name##_layout = {                                                   \
		BODY(struct event_drop, name##_fields), { { 0 } }, 0, NULL                                 \
	}

DROP(node_drop, STREAM_NODES);
DROP(shape_drop, STREAM_SHAPES);
DROP(gang_drop, STREAM_GANGS);
DROP(pod_drop, STREAM_PODS);
DROP(namespace_drop, UINT32_MAX);
DROP(question_drop, QUESTIONS_MAX);

static const struct layout *const layouts[RECORD_KINDS] = {
	[EVENT_NAME] = &name_layout,
	[EVENT_NODE] = &node_layout,
	[EVENT_NODE_DROP] = &node_drop_layout,
	[EVENT_SHAPE] = &shape_layout,
	[EVENT_SHAPE_DROP] = &shape_drop_layout,
	[EVENT_GANG] = &gang_layout,
	[EVENT_GANG_DROP] = &gang_drop_layout,
	[EVENT_NAMESPACE] = &namespace_layout,
	[EVENT_NAMESPACE_DROP] = &namespace_drop_layout,
	[EVENT_POD] = &pod_layout,
	[EVENT_POD_DROP] = &pod_drop_layout,
	[EVENT_PREEMPTION] = &preemption_layout,
	[EVENT_BUDGET] = &budget_layout,
	[EVENT_POD_FACTS] = &facts_layout,
	[EVENT_ASSUME] = &assume_layout,
	[EVENT_QUEUE] = &queue_layout,
	[EVENT_QUEUE_TERMS] = &queue_terms_layout,
	[EVENT_QUEUE_PAST] = &queue_past_layout,
	[EVENT_PROMISED] = &promised_layout,
	[EVENT_NODE_DEVICES] = &node_devices_layout,
	[EVENT_QUESTION] = &question_layout,
	[EVENT_QUESTION_DROP] = &question_drop_layout,
	[EVENT_MATCH] = &match_layout,
	[RESULT_BOUND] = &result_layout,
	[RESULT_REFUSED] = &result_layout,
	[RESULT_UNKNOWN] = &result_layout,
	[RESULT_EVICT_SENT] = &evicted_layout,
	[RESULT_EVICT_REFUSED] = &evicted_layout,
	[RESULT_EVICT_NOT_SENT] = &evicted_layout,
	[EVENT_ANSWER] = &answer_layout,
};

/* NULL for a kind without a body, or no kind of an event. */
static const struct layout *layout_of(unsigned kind)
{
	return kind < RECORD_KINDS ? layouts[kind] : NULL;
}

int64_t field_get(const struct field *f, const unsigned char *element)
{
	uint32_t u32;
	int32_t i32;
	int64_t i64;

	switch (f->width) {
	case WIDTH_U32:
		memcpy(&u32, element + f->offset, sizeof(u32));
		return u32;
	case WIDTH_I32:
		memcpy(&i32, element + f->offset, sizeof(i32));
		return i32;
	default:
		memcpy(&i64, element + f->offset, sizeof(i64));
		return i64;
	}
}

void field_put(const struct field *f, unsigned char *element, int64_t value)
{
	uint32_t low = (uint32_t)(uint64_t)value;

	if (f->width == WIDTH_I64)
		memcpy(element + f->offset, &value, sizeof(value));
	else
		memcpy(element + f->offset, &low, sizeof(low));
}

bool layout_open(const struct record *r, struct view_of *out)
{
	const struct layout *l = layout_of(r->kind);
	uint64_t at, left;

	if (l == NULL || r->bytes < sizeof(*r) + l->body.bytes)
		return false;
	*out = (struct view_of){ .layout = l, .body = (unsigned char *)(uintptr_t)(r + 1) };
	left = r->bytes - sizeof(*r);
	at = PADDED(l->body.bytes);
	for (uint32_t i = 0; i < l->parts_n; i++) {
		if (l->parts[i].elements)
			out->n[i] = l->parts[i].elements(out->body);
		else
			memcpy(&out->n[i], out->body + l->parts[i].count, sizeof(out->n[i]));
		out->at[i] = out->body + at;
		at += PADDED((uint64_t)out->n[i] * l->parts[i].bytes);
		if (at > left)
			return false;
	}
	return at == left;
}

static bool within(const struct field *f, int64_t value)
{
	return value >= f->low && value <= f->high;
}

/* Columns, each once, then names of resources without a column (struct amount), which are sorted.
 */
static const char *requested_fault(const struct part *p, const unsigned char *first, uint32_t i,
                                   const struct field *f, int64_t value)
{
	int64_t earlier;

	if (value > f->high)
		return "out of bounds";
	for (uint32_t k = 0; k < i; k++) {
		earlier = field_get(f, first + (size_t)k * p->bytes);
		if (earlier == value)
			return "twice";
		if (earlier >= f->low && earlier > value)
			return "not sorted";
	}
	return NULL;
}

static const char *field_fault(const struct view_of *v, const struct part *p,
                               const unsigned char *first, uint32_t i, const struct field *f)
{
	const unsigned char *element = first + (size_t)i * p->bytes;
	int64_t value = field_get(f, element);
	uint32_t n;

	switch (f->rule) {
	case RULE_WITHIN:
		return within(f, value) ? NULL : "out of bounds";
	case RULE_OR_NONE:
		return within(f, value) || value == ID_NONE ? NULL : "out of bounds, and not none";
	case RULE_BITS:
		return (value & ~f->high) == 0 ? NULL : "a flag that is none";
	case RULE_RISES:
		return i == 0 || field_get(f, element - p->bytes) < value ? NULL : "not sorted";
	case RULE_ONCE:
		for (uint32_t k = 0; k < i; k++)
			if (field_get(f, first + (size_t)k * p->bytes) == value)
				return "twice";
		return within(f, value) ? NULL : "out of bounds";
	case RULE_REQUESTED:
		return requested_fault(p, first, i, f, value);
	default:
		memcpy(&n, element + f->offset + sizeof(n), sizeof(n));
		return (uint64_t)value + n <= v->n[f->low] ? NULL : "a span past its end";
	}
}

static const char *part_fault(const struct view_of *v, const struct part *p,
                              const unsigned char *first, uint32_t n)
{
	const char *fault = NULL;

	if (p->text && (n == 0 || n > NAME_BYTES_MAX || memchr(first, 0, n)))
		return "a text";
	for (uint32_t i = 0; !fault && i < n; i++)
		for (uint32_t k = 0; !fault && k < p->fields_n; k++)
			fault = field_fault(v, p, first, i, &p->fields[k]);
	return fault;
}

const char *layout_fault(const struct record *r)
{
	struct view_of v;
	const char *fault;

	if (r->bytes < sizeof(*r) || r->bytes > RECORD_BYTES_MAX || r->bytes % 8 != 0 || r->flags != 0)
		return "the header";
	if (r->kind == EVENT_BEGIN || r->kind == EVENT_SYNCED || r->kind == EVENT_TICK ||
	    r->kind == EVENT_PLAN)
		return r->bytes == sizeof(*r) ? NULL : "a body where none belongs";
	if (layout_of(r->kind) == NULL)
		return "no kind of an event";
	if (!layout_open(r, &v))
		return "its length";
	fault = part_fault(&v, &v.layout->body, v.body, 1);
	for (uint32_t i = 0; !fault && i < v.layout->parts_n; i++)
		fault = part_fault(&v, &v.layout->parts[i], v.at[i], v.n[i]);
	return fault || !v.layout->more ? fault : v.layout->more(&v);
}
