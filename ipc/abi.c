/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of everything in abi.h that two programs must have in common: name, offset
 * and size of each field, each number of each enum, each bound.
 *
 * Structs are listed field by field.  For structs without alignment gaps the list is
 * checked to be complete: a field that is added only in abi.h does not compile here. */
#include "ipc/abi.h"

/* Another number gives another layout hash: for tests of different peers. */
#ifndef MUSTER_ABI_SALT
#define MUSTER_ABI_SALT 0
#endif

/* clang-format off */
/* F(struct, field) for each field, in order. */
#define FIELDS_limits(F, s) \
	F(s, nodes) F(s, pods) F(s, gangs) F(s, shapes) F(s, names) F(s, resources) F(s, name_bytes) \
	F(s, command_ring_bytes)
#define FIELDS_segment_head(F, s) F(s, magic) F(s, layout_hash) F(s, bytes) F(s, reserved)
#define FIELDS_ring_place(F, s) F(s, offset) F(s, bytes)
#define FIELDS_intake(F, s) \
	F(s, head) F(s, event_ring) F(s, result_ring) F(s, event_tail) F(s, result_tail) \
	F(s, command_head) \
	F(s, frontend_parked) F(s, core_doorbell) F(s, padding)
#define FIELDS_core_stats(F, s) \
	F(s, events) F(s, bad_records) F(s, plans) F(s, plans_placed) F(s, plans_refused) \
	F(s, plan_ns_sum) \
	F(s, plan_ns_max) F(s, plan_ns_last) F(s, binds_sent) F(s, binds_accepted) F(s, binds_refused) \
	F(s, limits_hit) F(s, sleeps) F(s, saturated) F(s, epochs) F(s, stale_results)
#define FIELDS_core_gauges(F, s) \
	F(s, nodes) F(s, pods) F(s, pods_pending) F(s, pods_bound) F(s, gangs) F(s, gangs_waiting) \
	F(s, gangs_binding) F(s, gangs_placed) F(s, shapes) F(s, names) F(s, synced) \
	F(s, reservations) F(s, reserved_gang) \
	F(s, pods_binding) F(s, pods_assumed) F(s, reserved)
#define FIELDS_ledger(F, s) \
	F(s, head) F(s, limits) F(s, command_ring) F(s, nodes_offset) F(s, names_offset) \
	F(s, gangs_offset) \
	F(s, arena_offset) F(s, amounts_offset) F(s, queues_offset) F(s, committed) F(s, epoch) \
	F(s, command_tail) \
	F(s, event_head) \
	F(s, result_head) F(s, core_parked) F(s, frontend_doorbell) F(s, padding0) F(s, progress) \
	F(s, padding1) F(s, stats) F(s, gauges) F(s, plans) F(s, starts) F(s, world) F(s, searches) \
	F(s, preemption) F(s, loop) F(s, published) F(s, victims)
#define FIELDS_core_loop(F, s) F(s, took) F(s, ns) F(s, runqueue_ns)
#define FIELDS_publication(F, s) F(s, sequence) F(s, ns)
#define FIELDS_core_published(F, s) F(s, n) F(s, reserved) F(s, at)
#define FIELDS_core_plans(F, s) F(s, took) F(s, reserved)
#define FIELDS_core_world(F, s) \
	F(s, state) F(s, events) F(s, mismatches) F(s, waiting_bytes) F(s, snapshots) \
	F(s, chunks_copied) F(s, chunks_shared) F(s, snapshots_put_off) F(s, audits) \
	F(s, audit_faults) F(s, reserved)
#define FIELDS_core_searches(F, s) \
	F(s, answers) F(s, steps) F(s, ns) F(s, made_ns) F(s, cut) F(s, kept_bytes) F(s, reserved)
#define FIELDS_victims_counts(F, s) F(s, n) F(s, sum)
#define FIELDS_core_preemption(F, s) \
	F(s, tickets) F(s, answers) F(s, stale) F(s, expired) F(s, packed) F(s, nominations) \
	F(s, placed) F(s, elsewhere) F(s, changed) F(s, refused) F(s, stuck) F(s, taken_over) \
	F(s, lost) F(s, evictions) F(s, wasted) F(s, open) F(s, victims) F(s, broken)
#define FIELDS_victims_gang(F, s) \
	F(s, gang) F(s, generation) F(s, goes) F(s, bound) F(s, quorum) F(s, priority) F(s, start_s) \
	F(s, broken)
#define FIELDS_victims_row(F, s) \
	F(s, version) F(s, generation) F(s, gang) F(s, answer) F(s, searched_ns) F(s, steps) \
	F(s, violations) F(s, sum) F(s, start_sum) F(s, found) F(s, highest) F(s, broken) F(s, pods) \
	F(s, lone) F(s, gangs_all) F(s, gangs_n) F(s, listed) F(s, text_bytes) F(s, budgets_unknown) \
	F(s, young) F(s, young_until_s) F(s, gangs) F(s, text)
#define FIELDS_name_row(F, s) F(s, offset) F(s, bytes) F(s, kind)
#define FIELDS_node_row(F, s) \
	F(s, version) F(s, generation) F(s, flags) F(s, pods) F(s, name_offset) F(s, name_bytes) \
	F(s, reserved)
#define FIELDS_node_amounts(F, s) F(s, allocatable) F(s, used)
#define FIELDS_filter_count(F, s) F(s, why) F(s, arg) F(s, nodes) F(s, reserved)
#define FIELDS_shortfall(F, s) F(s, resource) F(s, reserved) F(s, need) F(s, have)
#define FIELDS_reason(F, s) \
	F(s, why) F(s, quorum) F(s, members) F(s, gated) F(s, bound) F(s, need) F(s, fit) F(s, nodes) \
	F(s, role) F(s, role_quorum) F(s, role_members) F(s, domains) F(s, domain_key) \
	F(s, domain_value) \
	F(s, domain_fit) F(s, unpromised) F(s, promised_away) F(s, retained_nodes) F(s, retained_gang) \
	F(s, retained_generation) F(s, victims) \
	F(s, stuck_pod) F(s, stuck_generation) F(s, taken_pod) F(s, taken_generation) F(s, queue_by) \
	F(s, queue) F(s, queue_behind) \
	F(s, queue_behind_generation) F(s, queue_state) F(s, queue_run_s) F(s, queue_most_s) \
	F(s, lacks_n) F(s, counts_n) F(s, shortfalls_n) F(s, counts) \
	F(s, shortfalls) F(s, promised) F(s, lacks)
#define FIELDS_device_lack(F, s) \
	F(s, question) F(s, option) F(s, members) F(s, count) F(s, match) F(s, taken) F(s, tainted) \
	F(s, shut) F(s, free) F(s, nodes) F(s, most) F(s, alike) F(s, names_offset) F(s, names_bytes) \
	F(s, reserved)
#define FIELDS_promised(F, s) \
	F(s, at_ns) F(s, first_ns) F(s, flags) F(s, earlier) F(s, later) F(s, moves_n) F(s, nodes_n) \
	F(s, waits_n) F(s, nodes) F(s, waits) F(s, moves)
#define FIELDS_promise_wait(F, s) F(s, end_ns) F(s, who) F(s, pods)
#define FIELDS_promised_moved(F, s) F(s, from_ns) F(s, to_ns) F(s, why) F(s, who)
#define FIELDS_event_promised(F, s) F(s, pod) F(s, generation) F(s, at_ns)
#define FIELDS_core_starts(F, s) \
	F(s, standing) F(s, made) F(s, lost) F(s, earlier) F(s, later) F(s, errors) F(s, late_s) \
	F(s, early_s) F(s, backfilled) F(s, overruns) F(s, reserved)
#define FIELDS_gang_row(F, s) \
	F(s, version) F(s, generation) F(s, state) F(s, placement) F(s, dialect) F(s, quorum) \
	F(s, members) F(s, bound) F(s, succeeded) F(s, failed) F(s, priority) F(s, queue) \
	F(s, created_ns) F(s, waiting_since_ns) \
	F(s, name_offset) F(s, name_bytes) F(s, band) F(s, reclaimed_ns) F(s, reclaimed_by) \
	F(s, reserved) F(s, reason)
#define FIELDS_record(F, s) F(s, bytes) F(s, kind) F(s, flags) F(s, epoch) F(s, sequence) \
	F(s, time_ns)
#define FIELDS_event_name(F, s) F(s, id) F(s, kind) F(s, bytes) F(s, reserved)
#define FIELDS_amount(F, s) F(s, resource) F(s, flags) F(s, value)
#define FIELDS_label(F, s) F(s, key) F(s, value) F(s, number)
#define FIELDS_taint(F, s) F(s, key) F(s, value) F(s, effect) F(s, name)
#define FIELDS_event_node(F, s) \
	F(s, node) F(s, generation) F(s, flags) F(s, name_bytes) F(s, amounts_n) F(s, labels_n) \
	F(s, taints_n) \
	F(s, images_n) F(s, limits_n) F(s, attached_n)
#define FIELDS_node_image(F, s) F(s, image) F(s, reserved) F(s, bytes)
#define FIELDS_attach_limit(F, s) F(s, driver) F(s, most)
#define FIELDS_attachment(F, s) F(s, driver) F(s, volume)
#define FIELDS_span(F, s) F(s, first) F(s, n)
#define FIELDS_preference(F, s) F(s, weight) F(s, reserved) F(s, clauses)
#define FIELDS_volume_rule(F, s) F(s, why) F(s, reserved) F(s, alternatives)
#define FIELDS_pod_term(F, s) \
	F(s, kind) F(s, weight) F(s, topology) F(s, flags) F(s, namespaces) \
	F(s, namespace_clauses) F(s, clauses)
#define FIELDS_spread(F, s) F(s, topology) F(s, flags) F(s, max_skew) F(s, min_domains) \
	F(s, clauses)
#define FIELDS_host_port(F, s) F(s, address) F(s, protocol) F(s, port) F(s, reserved)
#define FIELDS_exclusive(F, s) F(s, item) F(s, flags)
#define FIELDS_requirement(F, s) \
	F(s, term) F(s, op) F(s, key) F(s, values_first) F(s, values_n) F(s, reserved) F(s, number)
#define FIELDS_toleration(F, s) F(s, key) F(s, value) F(s, any_value) F(s, effect)
#define FIELDS_event_shape(F, s) \
	F(s, shape) F(s, flags) F(s, amounts_n) F(s, requirements_n) F(s, values_n) \
	F(s, tolerations_n) \
	F(s, terms_n) F(s, clauses_n) F(s, preferences_n) F(s, alternatives_n) \
	F(s, volume_rules_n) F(s, pod_terms_n) \
	F(s, spreads_n) F(s, ports_n) F(s, images_n) F(s, attachments_n) F(s, exclusives_n) \
	F(s, image_containers) \
	F(s, scored_cpu_milli) F(s, scored_memory_bytes) F(s, placed_cpu_milli) \
	F(s, placed_memory_bytes) F(s, namespace) F(s, policies_n) \
	F(s, shares_n) F(s, devices)
#define FIELDS_policy(F, s) F(s, topology) F(s, flags) F(s, clauses) F(s, shares)
#define FIELDS_policy_share(F, s) F(s, value) F(s, replicas)
#define FIELDS_gang_role(F, s) F(s, role) F(s, quorum)
#define FIELDS_gang_level(F, s) F(s, topology) F(s, flags)
#define FIELDS_event_gang(F, s) \
	F(s, gang) F(s, generation) F(s, flags) F(s, dialect) F(s, quorum) F(s, amounts_n) \
	F(s, name_bytes) \
	F(s, roles_n) F(s, levels_n) F(s, priority) F(s, created_ns) F(s, timeout_ns) \
	F(s, spec_id) F(s, succeeded) F(s, failed) F(s, disruption)
#define FIELDS_event_preemption(F, s) F(s, flags) F(s, min_run_s) F(s, cooldown_s) \
	F(s, patience_s) F(s, reclaim_patience_s) F(s, reserved)
#define FIELDS_event_budget(F, s) \
	F(s, budget) F(s, flags) F(s, namespace) F(s, allowed) F(s, clauses_n) F(s, values_n) \
	F(s, names_bytes) F(s, reserved)
#define FIELDS_event_pod_facts(F, s) \
	F(s, pod) F(s, generation) F(s, start_s) F(s, flags) F(s, evicted_s) F(s, ends_s) \
	F(s, nominated) F(s, grace_s) F(s, deletion_cost) F(s, completion_index)
#define FIELDS_event_answer(F, s) \
	F(s, ticket) F(s, position) F(s, gang) F(s, generation) F(s, verdict) F(s, gap) \
	F(s, victims_n) F(s, places_n) F(s, steps)
#define FIELDS_answer_pod(F, s) F(s, pod) F(s, generation) F(s, node) F(s, node_generation)
#define FIELDS_cmd_evict(F, s) \
	F(s, ticket) F(s, pod) F(s, pod_generation) F(s, node) F(s, node_generation) F(s, gang) \
	F(s, gang_generation) F(s, victims) F(s, members) F(s, cause)
#define FIELDS_evict_cause(F, s) \
	F(s, rule) F(s, resource) F(s, taker) F(s, giver) F(s, taker_branch) F(s, giver_branch) \
	F(s, taker_used) F(s, taker_guarantee) F(s, giver_used) F(s, giver_guarantee) \
	F(s, extra) F(s, breaks_at)
#define FIELDS_cmd_cancel_evict(F, s) F(s, ticket) F(s, pod) F(s, pod_generation)
#define FIELDS_cmd_nominate(F, s) F(s, ticket) F(s, pod) F(s, pod_generation) F(s, node) \
	F(s, node_generation)
#define FIELDS_evict_result(F, s) F(s, ticket) F(s, pod) F(s, generation) F(s, node) \
	F(s, reserved)
#define FIELDS_event_pod(F, s) \
	F(s, pod) F(s, generation) F(s, flags) F(s, gang) F(s, shape) F(s, node) F(s, priority) \
	F(s, name_bytes) \
	F(s, labels_n) F(s, namespace) F(s, role) F(s, scheduled_s) F(s, created_ns) F(s, uid) \
	F(s, keep_ms) F(s, run_s) F(s, expected_s) F(s, queue) F(s, stated_s) F(s, reserved)
#define FIELDS_event_queue(F, s) \
	F(s, queue) F(s, parent) F(s, flags) F(s, priority) F(s, state) F(s, source) \
	F(s, amounts_n) F(s, name_bytes) F(s, weight) F(s, min_run_s) F(s, max_run_s) \
	F(s, unshared)
#define FIELDS_queue_amount(F, s) \
	F(s, resource) F(s, padding) F(s, guarantee) F(s, reserved) F(s, limit) F(s, weight)
#define FIELDS_event_queue_terms(F, s) F(s, factor) F(s, reserved) F(s, decays)
#define FIELDS_event_queue_past(F, s) F(s, queue) F(s, amounts_n) F(s, at_s)
#define FIELDS_queue_past(F, s) F(s, resource) F(s, part) F(s, value)
#define FIELDS_queue_row(F, s) \
	F(s, version) F(s, there) F(s, parent) F(s, flags) F(s, priority) F(s, state) F(s, source) \
	F(s, waiting) F(s, placed) F(s, by) F(s, at) F(s, resource) F(s, need) F(s, have) F(s, share) \
	F(s, why) F(s, min_run_s) F(s, max_run_s) F(s, padding) F(s, name) F(s, first)
#define FIELDS_queue_amounts(F, s) \
	F(s, guarantee) F(s, reserved) F(s, limit) F(s, used) F(s, asked) F(s, history) \
	F(s, history_part) F(s, padding)
#define FIELDS_pod_label(F, s) F(s, key) F(s, value)
#define FIELDS_event_namespace(F, s) F(s, name) F(s, labels_n)
#define FIELDS_event_assume(F, s) \
	F(s, pod) F(s, pod_generation) F(s, ticket) F(s, words) F(s, keep_ms) F(s, reserved)
#define FIELDS_event_drop(F, s) F(s, id) F(s, generation)
#define FIELDS_result(F, s) \
	F(s, pod) F(s, generation) F(s, node) F(s, attempt) F(s, retry_ms) F(s, reserved)
#define FIELDS_cmd_bind(F, s) \
	F(s, pod) F(s, pod_generation) F(s, node) F(s, node_generation) F(s, gang) \
	F(s, gang_generation) \
	F(s, attempt) F(s, spec_id)
#define FIELDS_event_node_devices(F, s) \
	F(s, node) F(s, generation) F(s, layout) F(s, devices_n) F(s, flags) F(s, counters_n) \
	F(s, uses_n) F(s, capacities_n) F(s, commons_n) F(s, reserved)
#define FIELDS_node_common(F, s) F(s, device) F(s, common)
#define FIELDS_node_counter(F, s) F(s, pool) F(s, reserved) F(s, low) F(s, high)
#define FIELDS_node_use(F, s) F(s, device) F(s, counter) F(s, low) F(s, high)
#define FIELDS_node_capacity(F, s) \
	F(s, device) F(s, reserved) F(s, value_low) F(s, value_high) F(s, consumed_low) \
	F(s, consumed_high)
#define FIELDS_match_amount(F, s) F(s, low) F(s, high)
#define FIELDS_event_question(F, s) \
	F(s, question) F(s, options_n) F(s, constraints_n) F(s, text_bytes)
#define FIELDS_question_option(F, s) F(s, claim) F(s, request) F(s, flags) F(s, count)
#define FIELDS_question_constraint(F, s) F(s, options) F(s, claim) F(s, flags)
#define FIELDS_event_match(F, s) \
	F(s, question) F(s, node) F(s, generation) F(s, layout) F(s, devices_n) F(s, options_n) \
	F(s, constraints_n) F(s, capacities_n)
#define FIELDS_cmd_devices(F, s) \
	F(s, pod) F(s, pod_generation) F(s, node) F(s, node_generation) F(s, attempt) F(s, layout) \
	F(s, question) F(s, picks_n)
#define FIELDS_device_pick(F, s) F(s, claim) F(s, request) F(s, option) F(s, device)
#define FIELDS_cmd_assume(F, s) \
	F(s, pod) F(s, pod_generation) F(s, ticket) F(s, node) F(s, node_generation) \
	F(s, reserved) F(s, reason)
#define FIELDS_cmd_reason(F, s) F(s, gang) F(s, gang_generation) F(s, pod) \
	F(s, pod_generation) F(s, reason)
#define FIELDS_cmd_gang(F, s) \
	F(s, gang) F(s, generation) F(s, state) F(s, members) F(s, bound) F(s, quorum) F(s, reserved)

#define DENSE_STRUCTS(S) \
	S(limits) S(segment_head) S(ring_place) S(core_stats) S(core_gauges) S(core_plans) \
	S(core_starts) S(core_world) \
	S(core_searches) S(victims_counts) S(core_preemption) S(victims_gang) S(victims_row) \
	S(core_loop) S(publication) S(core_published) \
	S(name_row) S(node_row) S(node_amounts) \
	S(filter_count) S(shortfall) S(promise_wait) S(promised_moved) S(promised) S(reason) \
	S(gang_row) S(record) S(event_name) S(amount) \
	S(label) S(taint) \
	S(event_node) S(node_image) S(attach_limit) S(attachment) S(requirement) S(toleration) S(span) \
	S(preference) S(volume_rule) S(pod_term) S(spread) S(host_port) S(exclusive) S(policy) \
	S(policy_share) \
	S(event_shape) S(gang_role) S(gang_level) S(event_gang) \
	S(event_preemption) S(event_budget) S(event_pod_facts) S(event_answer) S(answer_pod) \
	S(cmd_evict) S(evict_cause) S(cmd_cancel_evict) S(cmd_nominate) S(evict_result) \
	S(event_queue) S(queue_amount) S(queue_row) S(queue_amounts) \
	S(event_queue_terms) S(event_queue_past) S(queue_past) \
	S(event_pod) S(pod_label) S(event_namespace) S(event_assume) S(event_drop) \
	S(result) S(cmd_bind) S(cmd_reason) S(cmd_gang) S(cmd_assume) \
	S(event_node_devices) S(node_counter) S(node_use) S(node_capacity) S(node_common) \
	S(match_amount) \
	S(event_question) S(question_option) S(question_constraint) \
	S(event_match) S(device_lack) S(cmd_devices) S(device_pick) S(event_promised)
/* One cache line for each writer: gaps are intended. */
#define SPREAD_STRUCTS(S) S(intake) S(ledger)

#define NUMBERS(N) \
	N(PLAN_BOUNDS) N(VICTIMS_BOUNDS) N(PUBLISHED_KEPT) \
	N(LOOP_RESULTS) N(LOOP_EVENTS) N(LOOP_ANSWERS) N(LOOP_PLANS) N(LOOP_DOORBELL) N(LOOP_PARTS) \
	N(INTAKE_MAGIC) N(LEDGER_MAGIC) N(CACHE_LINE) N(ID_NONE) N(RESOURCES_MAX) \
	N(RECORD_BYTES_MAX) \
	N(FILTER_COUNTS_MAX) N(SHORTFALLS_MAX) N(LABEL_NOT_A_NUMBER) N(LABEL_KEY_NODE_NAME) \
	N(TOLERATE_EVERY_KEY) N(NAME_ROW_EMPTY) N(PADDED(1)) \
	N(RESOURCE_CPU) N(RESOURCE_MEMORY) N(RESOURCE_EPHEMERAL) N(RESOURCE_PODS) N(RESOURCE_EXTENDED) \
	N(NAME_RESOURCE) N(NAME_TAINT) \
	N(AMOUNTS_BLOCK) N(PART_NODES) N(PART_GANGS) N(PART_ARENA) N(PART_AMOUNTS) N(PART_QUEUES) \
	N(LEDGER_PARTS) \
	N(NODE_PRESENT) N(NODE_CORDONED) N(NODE_RESTARTS_ALL) \
	N(VICTIMS_ROW_EMPTY) N(VICTIMS_ROW_PROVED) N(VICTIMS_ROW_GAVE_UP) N(VICTIMS_ROW_IMPOSSIBLE) \
	N(VICTIMS_ROW_NEVER) N(VICTIMS_ROW_FITS) N(VICTIMS_ROW_DEVICES) N(VICTIMS_ROW_ANSWERS) \
	N(VICTIMS_ROWS) N(VICTIMS_GANGS) N(VICTIMS_TEXT) \
	N(WORLD_OFF) N(WORLD_FOLLOWS) N(WORLD_MISMATCH) N(WORLD_FULL) N(WORLD_STATES) \
	N(GANG_NONE) N(GANG_INCOMPLETE) N(GANG_WAITING) N(GANG_BINDING) N(GANG_PLACED) \
	N(GANG_FINISHED) N(GANG_FAILED) N(GANG_DEGRADED) N(GANG_STATES) \
	N(RECORD_PAD) N(EVENT_BEGIN) N(EVENT_SYNCED) N(EVENT_TICK) N(EVENT_NAME) N(EVENT_NODE) \
	N(EVENT_NODE_DROP) N(EVENT_SHAPE) N(EVENT_SHAPE_DROP) N(EVENT_GANG) N(EVENT_GANG_DROP) \
	N(EVENT_NAMESPACE) N(EVENT_NAMESPACE_DROP) N(EVENT_POD) \
	N(EVENT_POD_DROP) N(EVENT_PREEMPTION) N(EVENT_BUDGET) \
	N(EVENT_POD_FACTS) N(EVENT_ASSUME) N(EVENT_QUEUE) N(EVENT_QUEUE_TERMS) \
	N(EVENT_QUEUE_PAST) N(EVENT_NODE_DEVICES) N(EVENT_QUESTION) N(EVENT_QUESTION_DROP) \
	N(EVENT_MATCH) N(EVENT_PROMISED) \
	N(RESULT_BOUND) N(RESULT_REFUSED) N(RESULT_UNKNOWN) \
	N(RESULT_EVICT_SENT) N(RESULT_EVICT_REFUSED) N(RESULT_EVICT_NOT_SENT) \
	N(EVENT_PLAN) N(EVENT_ANSWER) N(CMD_BIND) \
	N(CMD_REASON) N(CMD_GANG) N(CMD_ASSUME) N(CMD_RETRY_BIND) N(CMD_CANCEL_BIND) \
	N(CMD_NOMINATE) N(CMD_EVICT) N(CMD_CANCEL_EVICT) N(CMD_DEVICES) N(RECORD_KINDS) \
	N(QUESTIONS_MAX) N(QUESTION_TEXT_MAX) N(DEVICE_LACKS_MAX) \
	N(QUESTION_OPTIONS_MAX) N(QUESTION_CONSTRAINTS_MAX) N(NODE_DEVICES_MAX) \
	N(DEVICE_PICKS_MAX) N(NODE_DEVICES_INVALID) N(QUESTION_ALL) N(QUESTION_DISTINCT) \
	N(QUESTION_ADMIN) N(QUESTION_PREFERS) N(QUESTION_ONE) N(QUESTION_GROUPS) \
	N(NODE_COUNTERS_MAX) N(NODE_USES_MAX) \
	N(NODE_DEVICES_SHARED) N(NODE_CAPACITIES_MAX) N(MATCH_AMOUNTS_MAX) N(COMMON_DEVICES_MAX) \
	N(EFFECT_ANY) N(EFFECT_NO_SCHEDULE) N(EFFECT_PREFER_NO_SCHEDULE) N(EFFECT_NO_EXECUTE) \
	N(REQUIRE_IN) N(REQUIRE_NOT_IN) N(REQUIRE_EXISTS) N(REQUIRE_NOT_EXISTS) N(REQUIRE_GT) \
	N(REQUIRE_LT) \
	N(REQUIRE_OPS) \
	N(SHAPE_TOLERATES_CORDON) N(SHAPE_NEEDS_RESTART_ALL) N(SHAPE_FLAGS) N(SHAPE_NODE_RULES) \
	N(POD_TERM_AFFINITY) N(POD_TERM_ANTI_AFFINITY) N(POD_TERM_PREFERRED) \
	N(POD_TERM_PREFERRED_ANTI) \
	N(POD_TERM_KINDS) N(TERM_MATCHES_NOTHING) N(TERM_EVERY_NAMESPACE) N(TERM_NAMESPACES_CHOSEN) \
	N(SPREAD_HARD) N(SPREAD_IGNORES_AFFINITY) N(SPREAD_HONORS_TAINTS) N(SPREAD_MATCHES_NOTHING) \
	N(SPREAD_DEFAULT) N(SPREAD_BY_NODE) N(PORT_EVERY_ADDRESS) N(EXCLUSIVE_CLAIM) \
	N(EXCLUSIVE_SHARED) \
	N(GANG_OBJECT_MISSING) N(GANG_REFUSED) N(GANG_PRIORITY) N(GANG_AFTER_OTHERS) N(GANG_UNCHANGED) \
	N(GANG_WHOLE) N(GANG_ENDED_COUNT) \
	N(GANG_DISRUPT_POD) N(GANG_DISRUPT_WHOLE) N(GANG_DISRUPT_NEVER) \
	N(PREEMPTION_EXPLAIN) N(PREEMPTION_BUDGETS_UNKNOWN) N(PREEMPTION_ON) N(PREEMPTION_BEST_EFFORT) \
	N(PREEMPTION_ALL) N(PREEMPTION_PACK) N(PREEMPTION_RECLAIM) N(PREEMPTION_FAIR) \
	N(ANSWER_VICTIMS) N(ANSWER_FREE) N(ANSWER_IMPOSSIBLE) \
	N(ANSWER_NEVER) N(ANSWER_GAVE_UP) N(ANSWER_PACKED) N(ANSWER_UNASKED) N(ANSWER_VERDICTS) \
	N(EVICT_PRIORITY) N(EVICT_GUARANTEE) N(EVICT_FAIR) N(EVICT_RULES) \
	N(ANSWER_PODS_MAX) N(BUDGET_GONE) N(BUDGETS_MAX) \
	N(FACT_OURS) N(FACT_SPARED) N(FACT_NEVER) N(FACT_LEADS) \
	N(QUEUE_FACTOR_MAX) N(QUEUE_DECAYS) N(QUEUE_PAST_ONE) \
	N(QUEUES_MAX) N(QUEUE_MISSING) N(QUEUE_NO_LIMIT) N(QUEUE_ALL) N(QUEUE_WEIGHT_OF_LIMIT) \
	N(QUEUE_OPEN) N(QUEUE_CLOSING) N(QUEUE_CLOSED) N(QUEUE_STATES) N(QUEUE_FIFO) N(QUEUE_GONE) \
	N(QUEUE_UNRECLAIMABLE) \
	N(QUEUES_CONFIG) N(QUEUES_VOLCANO) N(QUEUES_KOORDINATOR) N(QUEUES_KAI) N(QUEUE_SOURCES) \
	N(QUEUE_BY_NONE) N(QUEUE_BY_LIMIT) N(QUEUE_BY_NEVER) N(QUEUE_BY_KEPT) N(QUEUE_BY_STATE) \
	N(QUEUE_BY_MISSING) N(QUEUE_BY_TWO) N(QUEUE_BY_CHILDREN) N(QUEUE_BY_FIFO) N(QUEUE_BY_PARKED) \
	N(QUEUE_BY_RUN) \
	N(QUEUE_ROW_FIFO) N(QUEUE_ROW_SCALED) N(QUEUE_ROW_PARKED) N(QUEUE_ROW_INNER) \
	N(QUEUE_SHARE_ONE) \
	N(GANG_ROLES_MAX) N(GANG_LEVELS_MAX) N(LEVEL_REQUIRED) N(POLICY_REQUIRED) N(POLICY_FILL) \
	N(POLICY_UNSELECTED) \
	N(POD_OURS) N(POD_GATED) N(POD_DELETING) N(POD_REFUSED) N(POD_BINDING) N(POD_LASTS) \
	N(POD_INTENT_BIND) N(POD_INTENT_CANCEL) N(POD_INTENT_RETAIN) \
	N(MOVE_NONE) N(MOVE_NODE_LOST) N(MOVE_END_OVERRUN) N(MOVE_ROOM_TAKEN) N(MOVE_OUTRANKED) \
	N(MOVE_GANG_CHANGED) N(MOVE_RESTARTED) N(MOVE_RECLAIMED) N(MOVE_QUEUE_CHANGED) \
	N(MOVES) N(PROMISE_MOVES_MAX) N(PROMISE_NODES_MAX) \
	N(PROMISE_WAITS_MAX) N(PROMISE_SOFT) N(PROMISE_BORROWS) N(PROMISE_ERRORS) \
	N(OVERRUN_HARD) N(OVERRUN_SOFT) N(OVERRUN_EVICTED) N(OVERRUNS)
/* clang-format on */

#define FIELD_BYTES(s, field) +sizeof(((struct s *)0)->field)
#define LISTED_WHOLE(s)                                                                            \
	static_assert((0 FIELDS_##s(FIELD_BYTES, s)) == sizeof(struct s),                              \
	              "list the new field of " #s " above");
DENSE_STRUCTS(LISTED_WHOLE)

struct entry {
	const char *text;
	uint64_t place; /* offset of a field, or value of a number */
	uint64_t bytes;
};

#define STRUCT_ENTRY(s)                                                                            \
	{ "struct " #s, alignof(struct s), sizeof(struct s) }, FIELDS_##s(FIELD_ENTRY, s)
#define FIELD_ENTRY(s, field) { #field, offsetof(struct s, field), sizeof(((struct s *)0)->field) },
#define NUMBER_ENTRY(n) { #n, (uint64_t)(n), 0 },

static const struct entry entries[] = {
	/* clang-format off */
	DENSE_STRUCTS(STRUCT_ENTRY)
	SPREAD_STRUCTS(STRUCT_ENTRY)
	NUMBERS(NUMBER_ENTRY)
#define WAIT_REASON(code, name) NUMBER_ENTRY(WAIT_##code)
#define FILTER_REASON(code, text) NUMBER_ENTRY(FILTER_##code)
#include "ipc/reasons.def"
	NUMBER_ENTRY(WAIT_REASONS)
	NUMBER_ENTRY(FILTER_PASSED)
	NUMBER_ENTRY(FILTER_REASONS)
	/* clang-format on */
};

/* FNV-1a, 64 bits. */
static uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t hash_number(uint64_t hash, uint64_t n)
{
	for (unsigned int shift = 0; shift < 64; shift += 8)
		hash = hash_byte(hash, (unsigned char)(n >> shift));
	return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = hash_byte(hash, (unsigned char)*text);
	return hash_byte(hash, 0);
}

/* One function in each program: tests overwrite it to get "another build". */
__attribute__((noinline, used)) uint64_t abi_layout_hash(void)
{
	static const uint16_t byte_order = 0x0102;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	hash = hash_byte(hash, *(const unsigned char *)&byte_order);
	hash = hash_number(hash, MUSTER_ABI_SALT);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		hash = hash_text(hash, entries[i].text);
		hash = hash_number(hash, entries[i].place);
		hash = hash_number(hash, entries[i].bytes);
	}
	return hash;
}
