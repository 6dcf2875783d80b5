/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons as kube-scheduler words them, with the numbers of a gang behind. */
#include "frontend/dialect/reason.h"

#include "tests/unit/test.h"

static const char *resource_name(const void *context, uint32_t resource)
{
	static const char *const names[] = { "cpu",  "memory",         "ephemeral-storage",
		                                 "pods", "nvidia.com/gpu", "hugepages-2Mi" };

	return resource < 6 ? names[resource] : "";
}

static const char *taint_name(const void *context, uint32_t name)
{
	return name == 20 ? "dedicated: ml" : "";
}

static const struct reason_names NAMES = { .resource = resource_name, .taint = taint_name };
static const struct reason_about ABOUT = { .gang = "ns/g" };

/* Good until the next one. */
static const char *text_with(const struct reason *r, const struct reason_about *about,
                             const struct reason_names *names)
{
	static char out[4096];
	size_t n = reason_text(r, about, names, out, sizeof(out));

	cr_assert_eq(n, strlen(out));
	return out;
}

static const char *text_of(const struct reason *r, const char *gang, const char *refusal)
{
	const struct reason_about about = { .gang = gang, .refusal = refusal };

	return text_with(r, &about, &NAMES);
}

static void has(const char *text, const char *part)
{
	cr_assert(strstr(text, part), "%s", text);
}

/* Of so many nodes, with these counts. */
#define expect_counts(of_nodes, text, ...)                                                         \
	do {                                                                                           \
		const struct filter_count counts_[] = { __VA_ARGS__ };                                     \
		struct reason r_ = { .why = WAIT_ROOM, .nodes = (of_nodes) };                              \
		r_.counts_n = sizeof(counts_) / sizeof(counts_[0]);                                        \
		memcpy(r_.counts, counts_, sizeof(counts_));                                               \
		cr_assert_str_eq(text_of(&r_, NULL, NULL), text);                                          \
	} while (0)

Test(reason, nodes_as_kube_scheduler_counts_them)
{
	expect_counts(12,
	              "0/12 nodes are available: 4 Insufficient nvidia.com/gpu, 8 node(s) didn't match "
	              "Pod's node affinity/selector.",
	              { FILTER_AFFINITY, 0, 8, 0 }, { FILTER_INSUFFICIENT, 4, 4, 0 });
	/* Sorted as text, so 12 stands before 2; one part for each text. */
	expect_counts(
		14,
		"0/14 nodes are available: 1 node(s) for other reasons, 1 node(s) were unschedulable, "
		"12 node(s) had untolerated taint(s), 2 Too many pods, 3 Insufficient cpu.",
		{ FILTER_INSUFFICIENT, RESOURCE_PODS, 2, 0 }, { FILTER_CORDONED, 0, 1, 0 },
		{ FILTER_TAINT, 20, 10, 0 }, { FILTER_INSUFFICIENT, RESOURCE_CPU, 3, 0 }, { 99, 0, 1, 0 },
		{ FILTER_TAINT, 20, 2, 0 });
}

/* Texts that kube-scheduler 1.36.3 said, of tests/data/verdicts and of others like them. */
Test(reason, every_rule_in_kube_schedulers_words)
{
	expect_counts(
		39,
		"0/39 nodes are available: 10 node(s) exceed max volume count, 28 node(s) didn't find "
		"available persistent volumes to bind, 29 node(s) didn't match PersistentVolume's "
		"node affinity.",
		{ FILTER_VOLUME_NODE, 0, 29, 0 }, { FILTER_ATTACH, 0, 10, 0 },
		{ FILTER_VOLUME_BIND, 0, 28, 0 });
	expect_counts(
		15,
		"0/15 nodes are available: 1 node(s) had untolerated taint(s), 6 node(s) didn't match pod "
		"topology spread constraints (missing required label), 8 node(s) didn't match pod "
		"topology spread constraints.",
		{ FILTER_SPREAD, 0, 8, 0 }, { FILTER_SPREAD_LABEL, 0, 6, 0 }, { FILTER_TAINT, 20, 1, 0 });
	expect_counts(
		30,
		"0/30 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 29 node(s) "
		"didn't satisfy plugin(s) [NodeAffinity].",
		{ FILTER_NOT_NAMED, 0, 29, 0 }, { FILTER_AFFINITY, 0, 1, 0 });
	/* Of the pod as a whole: once and without a count. */
	expect_counts(8, "0/8 nodes are available: pod affinity terms conflict.",
	              { FILTER_CONFLICT, 0, 8, 0 });
	cr_assert_str_eq(text_of(&(struct reason){ .why = WAIT_REFUSED, .nodes = 9 }, NULL,
	                         "persistentvolumeclaim \"missing-pzw\" not found"),
	                 "0/9 nodes are available: persistentvolumeclaim \"missing-pzw\" not found.");
}

Test(reason, no_two_rules_share_a_text)
{
	char texts[FILTER_REASONS][256];

	for (uint32_t why = FILTER_CORDONED; why < FILTER_REASONS; why++) {
		size_t n = reason_node_text(why, RESOURCE_CPU, &NAMES, texts[why], sizeof(texts[why]));

		cr_assert_eq(n, strlen(texts[why]));
		cr_assert_str_neq(texts[why], "node(s) for other reasons");
		for (uint32_t other = FILTER_CORDONED; other < why; other++)
			cr_assert_str_neq(texts[why], texts[other], "%u and %u", why, other);
	}
}

Test(reason, a_message_from_parts)
{
	struct reason_part parts[] = { { "Too many pods", 2 },
		                           { "Insufficient cpu", 11 },
		                           { "Insufficient memory", 11 } };
	struct reason_part whole = { "pod affinity terms conflict", 0 };
	char out[256];

	reason_nodes_text(11, parts, 3, out, sizeof(out));
	cr_assert_str_eq(
		out,
		"0/11 nodes are available: 11 Insufficient cpu, 11 Insufficient memory, 2 Too many pods.");
	reason_nodes_text(11, &whole, 1, out, sizeof(out));
	cr_assert_str_eq(out, "0/11 nodes are available: pod affinity terms conflict.");
	reason_nodes_text(0, parts, 3, out, sizeof(out));
	cr_assert_str_eq(out, "no nodes available to schedule pods");
}

Test(reason, a_gang_has_its_numbers_behind)
{
	struct reason r = { .why = WAIT_ROOM,
		                .nodes = 12,
		                .need = 16,
		                .fit = 8,
		                .counts_n = 1,
		                .shortfalls_n = 3,
		                .counts = { { FILTER_INSUFFICIENT, 4, 12, 0 } },
		                .shortfalls = {
							{ 4, 0, 64, 32 },
							{ RESOURCE_CPU, 0, 64000, 31500 },
							{ RESOURCE_MEMORY, 0, INT64_C(3) << 30, INT64_C(1536) << 20 } } };

	cr_assert_str_eq(
		text_of(&r, "ns/g", NULL),
		"0/12 nodes are available: 12 Insufficient nvidia.com/gpu. gang ns/g: 8 of 16 members have "
		"room; nvidia.com/gpu: need 64, have 32; cpu: need 64, have 31500m; memory: need 3Gi, "
		"have 1536Mi.");
}

/* "pods: need 4, have 3" reads as members that are missing. */
Test(reason, what_nodes_lack_for_pods_is_no_lack_of_members)
{
	struct reason r = { .why = WAIT_ROOM,
		                .nodes = 1,
		                .need = 4,
		                .fit = 3,
		                .counts_n = 1,
		                .shortfalls_n = 1,
		                .counts = { { FILTER_INSUFFICIENT, RESOURCE_PODS, 1, 0 } },
		                .shortfalls = { { RESOURCE_PODS, 0, 4, 3 } } };

	cr_assert_str_eq(text_of(&r, "ns/g", NULL),
	                 "0/1 nodes are available: 1 Too many pods. gang ns/g: 3 of 4 members have "
	                 "room; pod slots (maxPods): need 4, have 3.");
}

/* What has saturated is no exact number. */
Test(reason, a_sum_without_end_is_told_as_such)
{
	struct reason r = { .why = WAIT_ROOM,
		                .nodes = 1,
		                .need = 30,
		                .counts_n = 1,
		                .shortfalls_n = 2,
		                .counts = { { FILTER_INSUFFICIENT, RESOURCE_MEMORY, 1, 0 } },
		                .shortfalls = { { RESOURCE_MEMORY, 0, INT64_MAX, INT64_C(1) << 30 },
		                                { RESOURCE_CPU, 0, INT64_MAX - 1, 0 } } };

	cr_assert_str_eq(
		text_of(&r, "ns/g", NULL),
		"0/1 nodes are available: 1 Insufficient memory. gang ns/g: 0 of 30 members have room; "
		"memory: need at least 9223372036854775807, have 1Gi; cpu: need "
		"9223372036854775806m, have 0.");
}

Test(reason, different_taints_are_one_part_and_a_gang_names_them)
{
	struct reason r = { .why = WAIT_ROOM,
		                .nodes = 6,
		                .need = 2,
		                .counts_n = 3,
		                .counts = { { FILTER_TAINT, 20, 3, 0 },
		                            { FILTER_CORDONED, 0, 1, 0 },
		                            { FILTER_TAINT, 20, 2, 0 } } };

	cr_assert_str_eq(
		text_of(&r, NULL, NULL),
		"0/6 nodes are available: 1 node(s) were unschedulable, 5 node(s) had untolerated taint(s).");
	cr_assert_str_eq(
		text_of(&r, "ns/g", NULL),
		"0/6 nodes are available: 1 node(s) were unschedulable, 5 node(s) had untolerated taint(s). gang ns/g: 0 of 2 "
		"members have room; taints not tolerated: {dedicated: ml} on 3 nodes, {dedicated: ml} on 2 nodes.");
}

Test(reason, each_of_them)
{
	static const struct {
		struct reason r;
		const char *gang, *refusal, *text;
	} rows[] = {
		{ { .why = WAIT_GROUP_MISSING }, "ns/g", NULL, "PodGroup not found: ns/g" },
		{ { .why = WAIT_MEMBERS, .members = 2, .quorum = 3 },
		  "ns/g",
		  NULL,
		  "pre-filter pod cannot find enough sibling pods, current pods number: 2, minMember of group: 3. gang ns/g: 2 of 3 members "
		  "are there." },
		{ { .why = WAIT_MEMBERS, .quorum = 3 },
		  "ns/g",
		  NULL,
		  "no member is there: not created yet, ended, or of another scheduler" },
		{ { .why = WAIT_GATED },
		  NULL,
		  NULL,
		  "Scheduling is blocked due to non-empty scheduling gates" },
		{ { .why = WAIT_GATED, .members = 3, .gated = 1, .quorum = 3 },
		  "ns/g",
		  NULL,
		  "pre-filter pod cannot proceed due to gated pods in the same PodGroup. gang ns/g: 1 of 3 members have scheduling gates, "
		  "2 of the quorum of 3 can start." },
		{ { .why = WAIT_NO_NODES }, NULL, NULL, "no nodes available to schedule pods" },
		{ { .why = WAIT_MIN_RESOURCES,
		    .shortfalls_n = 2,
		    .shortfalls = { { RESOURCE_CPU, 0, 10000, 8000 }, { 5, 0, 4194304, 0 } } },
		  "ns/g",
		  NULL,
		  "resource gap: cpu: need 10, have 8; hugepages-2Mi: need 4Mi, have 0. gang ns/g: its minResources are more than "
		  "what is free." },
		{ { .why = WAIT_REFUSED },
		  NULL,
		  "muster does not support host ports yet",
		  "muster does not support host ports yet" },
		{ { .why = WAIT_REFUSED }, "ns/g", "", "muster can't judge a member of its gang" },
		{ { .why = WAIT_BIND_REFUSED, .bound = 1, .quorum = 3 },
		  "ns/g",
		  NULL,
		  "the API server refused a binding, muster will try again. gang ns/g: 1 of 3 members are bound." },
		{ { .why = WAIT_GAVE_UP, .nodes = 3, .fit = 2, .need = 4 },
		  "ns/g",
		  NULL,
		  "0/3 nodes are available. No plan was found within the step limit. gang ns/g: 2 of 4 members have room." },
		{ { .why = WAIT_NONE }, NULL, NULL, "not looked at yet" },
		{ { .why = 1000 }, NULL, NULL, "not looked at yet" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(text_of(&rows[i].r, rows[i].gang, rows[i].refusal), rows[i].text);
}

static const char *key_name(const void *context, uint32_t key)
{
	return key == 7 ? "topology.kubernetes.io/zone" : "";
}

static const char *value_name(const void *context, uint32_t value)
{
	return value == 9 ? "worker" : value == 11 ? "z1" : "";
}

static const char *said(const struct reason *r, const struct reason_about *about, bool texts)
{
	struct reason_names names = NAMES;

	if (texts) {
		names.key = key_name;
		names.value = value_name;
	}
	return text_with(r, about, &names);
}

static bool device_name(const void *context, const struct device_lack *l, char *out,
                        size_t out_bytes)
{
	snprintf(out, out_bytes, l->question == 5 ? "gpus gpu d/board " : "s/x gpu - ");
	return l->question < 7;
}

static const char *with_devices(const struct device_lack *l)
{
	struct reason_names names = NAMES;
	struct reason r = {
		.why = WAIT_ROOM, .nodes = 3, .need = 4, .fit = 1, .lacks_n = 1, .lacks = { *l }
	};

	r.counts_n = 1;
	r.counts[0] = (struct filter_count){ FILTER_DEVICES, 0, 3, 0 };
	names.device = device_name;
	return text_with(&r, &ABOUT, &names);
}

#define NODES_AND_GANG                                                                             \
	"0/3 nodes are available: 3 cannot allocate all claims. gang ns/g: 1 of 4 members have room; "

Test(reason, devices_with_their_numbers)
{
	struct device_lack l = { .question = 5, .members = 2, .count = 2 };

	l.match = 12;
	l.taken = 3;
	l.free = 9;
	l.nodes = 3;
	l.most = 3;
	l.alike = 1;
	cr_expect_str_eq(
		with_devices(&l), NODES_AND_GANG
		"request gpus: 4 devices of class gpu are needed, 9 are free on 3 nodes (12 match, "
		"3 are taken), no 2 of them on one node under one d/board.");
	l = (struct device_lack){ .question = 6, .members = 1, .count = 1, .match = 4, .tainted = 1 };
	l.shut = 1;
	l.taken = 1;
	l.free = 1;
	l.nodes = 1;
	l.most = 1;
	cr_expect_str_eq(
		with_devices(&l), NODES_AND_GANG
		"request s/x: 1 device of class gpu is needed, 1 is free on 1 node (4 match, 1 is "
		"taken, 1 is tainted, 1 finds no counters left).");
	l = (struct device_lack){ .question = 7, .members = 3, .match = 1 };
	cr_expect_str_eq(
		with_devices(&l), NODES_AND_GANG
		"request ?: all devices of class ? of a node are needed, by 3 members, 0 are free "
		"on 0 nodes (1 match).");
}

Test(reason, roles_and_levels_with_their_numbers)
{
	struct reason r = {
		.why = WAIT_ROLE, .members = 5, .role = 9, .role_quorum = 3, .role_members = 2
	};

	cr_assert_str_eq(
		said(&r, &ABOUT, true),
		"gang ns/g: role worker has 2 of the 3 members that it needs; 5 members are there in all.");
	cr_assert_str_eq(
		said(&r, &ABOUT, false),
		"gang ns/g: a role has 2 of the 3 members that it needs; 5 members are there in all.");
	r = (struct reason){ .why = WAIT_TOPOLOGY,
		                 .nodes = 6,
		                 .need = 4,
		                 .domains = 3,
		                 .domain_key = 7,
		                 .domain_value = 11,
		                 .domain_fit = 2 };
	cr_assert_str_eq(
		said(&r, &ABOUT, true),
		"gang ns/g: none of 3 domains of topology.kubernetes.io/zone has room for all 4 members; the "
		"closest, z1, has room for 2.");
	cr_assert_str_eq(
		said(&r, &ABOUT, false),
		"gang ns/g: none of 3 domains of the level has room for all 4 members; the closest has room "
		"for 2.");
	r.domain_value = ID_NONE;
	r.shortfalls_n = 1;
	r.shortfalls[0] = (struct shortfall){ RESOURCE_CPU, 0, 4000, 0 };
	r.counts_n = 1;
	r.counts[0] = (struct filter_count){ FILTER_INSUFFICIENT, RESOURCE_CPU, 6, 0 };
	cr_assert_str_eq(
		said(&r, &ABOUT, true),
		"0/6 nodes are available: 6 Insufficient cpu. gang ns/g: none of 3 domains of "
		"topology.kubernetes.io/zone has room for all 4 members; cpu: need 4, have 0.");
	r = (struct reason){ .why = WAIT_TOPOLOGY, .domain_key = 7, .domain_value = ID_NONE };
	cr_assert_str_eq(
		said(&r, &ABOUT, true),
		"gang ns/g: no node has the label topology.kubernetes.io/zone that its members are to have in "
		"common.");
}

Test(reason, an_error_of_a_plugin_is_no_verdict_about_nodes)
{
	const struct reason_about about = { .refusal =
		                                    "running \"DynamicResources\" filter plugin: x" };
	const struct reason r = { .why = WAIT_REFUSED, .nodes = 2 };
	const char *text = said(&r, &about, false);

	cr_assert_str_eq(text, about.refusal);
	cr_assert_str_eq(reason_condition(&r, text), "SchedulerError");
}

/* D11: what users of each system look for stands at the beginning. */
Test(reason, each_dialect_in_its_own_words)
{
	const struct reason_about configmap = { .gang = "ns/g", .texts = &texts_configmap },
							  late = { .gang = "ns/g",
		                               .texts = &texts_configmap,
		                               .timed_out_ns = 20000000000 },
							  plain = { .gang = "ns/g", .texts = &texts_plain, .timed_out_ns = 1 };
	struct reason r = { .why = WAIT_GROUP_MISSING };
	const char *text;

	text = said(&r, &late, false);
	cr_assert_str_eq(
		text,
		"running Permit plugin \"sample\": podgroup configmap not found, please create configmap first: ns/g");
	cr_assert_str_eq(reason_condition(&r, text), "SchedulerError");
	cr_assert_str_eq(reason_condition(&r, said(&r, &ABOUT, false)), "Unschedulable");
	r = (struct reason){ .why = WAIT_MEMBERS, .members = 2, .quorum = 3 };
	cr_assert_str_eq(said(&r, &configmap, false), "gang ns/g: 2 of 3 members are there.");
	cr_assert_str_eq(said(&r, &plain, false), "gang ns/g: 2 of 3 members are there.");
	text = said(&r, &late, false);
	cr_assert_str_eq(
		text,
		"rejected due to timeout after waiting 20s at plugin sample: gang ns/g could not be completed. gang ns/g: 2 of 3 "
		"members are there.");
	cr_assert_str_eq(reason_condition(&r, text), "Unschedulable");
}

/* "pre-filter pod X cannot find ...": one text for all members, and where X belongs. */
Test(reason, where_a_pods_name_belongs)
{
	const struct reason_about configmap = { .gang = "ns/g", .texts = &texts_configmap },
							  lone = { 0 };
	struct reason r = { .why = WAIT_MEMBERS, .members = 1, .quorum = 3 };

	cr_assert_eq(reason_pod_at(&r, &ABOUT), strlen("pre-filter pod"));
	cr_assert_eq(reason_pod_at(&r, &configmap), 0);
	r.members = 0;
	cr_assert_eq(reason_pod_at(&r, &ABOUT), 0);
	r.why = WAIT_GATED;
	cr_assert_eq(reason_pod_at(&r, &ABOUT), strlen("pre-filter pod"));
	cr_assert_eq(reason_pod_at(&r, &lone), 0);
	r.why = WAIT_ROOM;
	cr_assert_eq(reason_pod_at(&r, &ABOUT), 0);
}

Test(reason, durations_as_go_writes_them)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 1, "0.000000001s" },     { 500000000, "0.5s" },
		{ 20000000000, "20s" },    { 60000000000, "1m0s" },
		{ 90000000000, "1m30s" },  { 3600000000000, "1h0m0s" },
		{ 900000000000, "15m0s" }, { UINT64_MAX, "5124095h34m33.709551615s" },
	};
	struct reason r = { .why = WAIT_NO_NODES };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reason_about about = { .gang = "ns/g",
			                                .texts = &texts_configmap,
			                                .timed_out_ns = rows[i].ns };
		char wanted[200];

		snprintf(wanted, sizeof(wanted),
		         "rejected due to timeout after waiting %s at plugin sample: ", rows[i].text);
		cr_assert_eq(strncmp(said(&r, &about, false), wanted, strlen(wanted)), 0, "%s",
		             said(&r, &about, false));
	}
}

/* A reason comes from the other process: counts out of bounds are cut off. */
Test(reason, wild_counts_and_small_rooms)
{
	struct reason r = {
		.why = WAIT_ROOM, .nodes = UINT32_MAX, .counts_n = UINT32_MAX, .shortfalls_n = UINT32_MAX
	};
	char whole[4096], cut[4096];
	size_t n;

	memset(r.counts, 0xff, sizeof(r.counts));
	memset(r.shortfalls, 0xff, sizeof(r.shortfalls));
	n = reason_text(&r, &ABOUT, &NAMES, whole, sizeof(whole));
	cr_assert_eq(n, strlen(whole));
	for (size_t cap = 1; cap <= n + 1; cap++) {
		memset(cut, 'x', sizeof(cut));
		cr_assert_eq(reason_text(&r, &ABOUT, &NAMES, cut, cap), n);
		cr_assert_eq(strlen(cut), cap - 1);
		cr_assert_eq(strncmp(cut, whole, cap - 1), 0);
		cr_assert_eq(cut[cap], 'x');
	}
}

static bool gang_name(const void *context __attribute__((unused)), uint32_t gang,
                      uint32_t generation, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "other/h");
	return gang == 3 && generation == 7;
}

/* A gang of another namespace is not named to users of this one. */
Test(reason, capacity_that_others_retain)
{
	struct reason_names names = NAMES;
	struct reason r = { .why = WAIT_ROOM,
		                .nodes = 2,
		                .counts_n = 1,
		                .counts = { { FILTER_INSUFFICIENT, RESOURCE_CPU, 2, 0 } },
		                .retained_nodes = 2,
		                .retained_gang = 3,
		                .retained_generation = 7 };
	struct reason_about about = { 0 };

	names.gang = gang_name;
	cr_assert_str_eq(text_with(&r, &about, &names),
	                 "0/2 nodes are available: 2 Insufficient cpu. 2 nodes have capacity "
	                 "reserved for gang other/h, which is bound in part: the API server "
	                 "refused a binding.");
	about.tenant = "other";
	has(text_with(&r, &about, &names), "for gang other/h,");
	r.retained_nodes = 1;
	about.tenant = "othe";
	has(text_with(&r, &about, &names),
	    " 1 node has capacity reserved for a gang of another namespace,");
	r.retained_generation = 8;
	has(text_with(&r, &about, &names), "for a gang, which");
	has(text_of(&r, NULL, NULL), "for a gang, which");
}

Test(reason, capacity_that_is_reserved_for_another)
{
	struct reason_names names = NAMES;
	struct reason r = {
		.why = WAIT_RESERVED, .fit = 1, .need = 2, .retained_gang = 3, .retained_generation = 7
	};
	struct reason_about about = { .gang = "other/g" };

	names.gang = gang_name;
	cr_assert_str_eq(
		text_with(&r, &about, &names),
		"room is held for other/h, which is before it in the queue. gang other/g: 1 of 2 "
		"members have room beside it.");
	about.gang = NULL;
	about.tenant = "other";
	cr_assert_str_eq(text_with(&r, &about, &names),
	                 "room is held for other/h, which is before it in the queue");
	about.tenant = "othe";
	cr_assert_str_eq(text_with(&r, &about, &names),
	                 "room is held for a gang of another namespace that is before it in the queue");
	r.retained_generation = 0;
	cr_assert_str_eq(text_with(&r, &about, &names),
	                 "room is held for a gang that is before it in the queue");
	cr_assert_str_eq(text_of(&r, NULL, NULL),
	                 "room is held for a gang that is before it in the queue");
}

/* As the backfill reservation: of another namespace it is not named. */
Test(reason, capacity_that_is_promised_to_another)
{
	struct reason_names names = NAMES;
	struct reason r = { .why = WAIT_RESERVED,
		                .need = 2,
		                .promised_away = 1,
		                .retained_gang = 3,
		                .retained_generation = 7 };
	struct reason_about about = { .gang = "other/g", .tenant = "other" };
	char out[1024];

	names.gang = gang_name;
	reason_text(&r, &about, &names, out, sizeof(out));
	cr_assert_str_eq(out, "room is promised to other/h. gang other/g: 2 members have room now, but "
	                      "not beside what is promised.");
	about = (struct reason_about){ .tenant = "othe" };
	reason_text(&r, &about, &names, out, sizeof(out));
	cr_assert_str_eq(out, "room is promised to a gang of another namespace");
	about = (struct reason_about){ .gang = "othe/g" };
	r.retained_generation = 0;
	r.need = 1;
	reason_text(&r, &about, &names, out, sizeof(out));
	cr_assert_str_eq(out, "room is promised to others. gang othe/g: 1 member has room now, but not "
	                      "beside what is promised.");
}

static const char *pod_scheduler = "default-scheduler";

static const char *pod_name(const void *context, uint32_t pod, uint32_t generation, char *out,
                            size_t out_bytes)
{
	snprintf(out, out_bytes, "ns/r");
	return pod == 5 && generation == 9 ? pod_scheduler : NULL;
}

/* Its scheduler is named to all, a pod of another namespace is not. */
Test(reason, capacity_that_others_took)
{
	struct reason_names names = NAMES;
	struct reason r = { .why = WAIT_ROOM,
		                .nodes = 1,
		                .counts_n = 1,
		                .counts = { { FILTER_INSUFFICIENT, RESOURCE_CPU, 1, 0 } },
		                .taken_pod = 5,
		                .taken_generation = 9 };
	struct reason_about about = { 0 };

	names.pod = pod_name;
	cr_assert_str_eq(text_with(&r, &about, &names),
	                 "0/1 nodes are available: 1 Insufficient cpu. Capacity that it was to "
	                 "have was taken by pod ns/r of scheduler default-scheduler.");
	about.tenant = "n";
	has(text_with(&r, &about, &names),
	    " by a pod of scheduler default-scheduler in another namespace.");
	r.taken_generation = 8;
	has(text_with(&r, &about, &names), " by a pod that muster did not place.");
	has(text_of(&r, NULL, NULL), " by a pod that muster did not place.");
	r.why = WAIT_QUEUE;
	cr_assert_null(strstr(text_of(&r, NULL, NULL), "taken"));
}

/* The API server takes any text as spec.schedulerName, of a pod that its author put on a node. */
Test(reason, a_scheduler_that_is_no_name_is_not_shown)
{
	static char long_text[5000];
	const char *const texts[] = { "a. Ask b/c to leave", "<b>", "a\nb", "", long_text };
	struct reason_names names = NAMES;
	const struct reason r = {
		.why = WAIT_ROOM, .nodes = 1, .taken_pod = 5, .taken_generation = 9, .unpromised = 1
	};
	struct reason_about about = { 0 };

	memset(long_text, 'a', sizeof(long_text) - 1);
	names.pod = pod_name;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		pod_scheduler = texts[i];
		about.tenant = "n";
		has(text_with(&r, &about, &names), " was taken by a pod in another namespace. No ");
		about.tenant = NULL;
		has(text_with(&r, &about, &names), " was taken by pod ns/r. No ");
	}
	pod_scheduler = "My_scheduler.v2";
	has(text_with(&r, &about, &names), " by pod ns/r of scheduler My_scheduler.v2. No ");
	pod_scheduler = "default-scheduler";
}

Test(reason, capacity_that_nothing_promises)
{
	struct reason r = { .why = WAIT_ROOM, .nodes = 2, .fit = 1, .need = 2, .unpromised = 1 };

	cr_assert_str_eq(text_of(&r, "ns/g", NULL),
	                 "0/2 nodes are available. gang ns/g: 1 of 2 members have room. No capacity is "
	                 "reserved for it: pods that do not end by themselves use what it lacks.");
	r.why = WAIT_BIND_REFUSED;
	cr_assert(!strstr(text_of(&r, "ns/g", NULL), "No capacity"));
}
