/* Reasons as kube-scheduler words them, with the numbers of a gang behind. */
#include "frontend/reason.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *resource_name(const void *context, uint32_t resource)
{
	static const char *const names[] = { "cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu", "hugepages-2Mi" };

	return resource < 6 ? names[resource] : "";
}

static const char *taint_name(const void *context, uint32_t name)
{
	return name == 20 ? "dedicated: ml" : "";
}

static const struct reason_names NAMES = { .resource = resource_name, .taint = taint_name };
static const struct reason_about ABOUT = { .gang = "ns/g" };

static const char *text_of(const struct reason *r, const char *gang, const char *refusal)
{
	static char out[4096];
	const struct reason_about about = { .gang = gang, .refusal = refusal };
	size_t n = reason_text(r, &about, &NAMES, out, sizeof(out));

	cr_assert_eq(n, strlen(out));
	return out;
}

Test(reason, nodes_as_kube_scheduler_counts_them)
{
	struct reason r = { .why = WHY_ROOM, .nodes = 12, .counts_n = 2,
			    .counts = { { NODE_WHY_AFFINITY, 0, 8, 0 }, { NODE_WHY_INSUFFICIENT, 4, 4, 0 } } };

	cr_assert_str_eq(text_of(&r, NULL, NULL), "0/12 nodes are available: 4 Insufficient nvidia.com/gpu, 8 node(s) didn't match "
						  "Pod's node affinity/selector.");
	/* Sorted as text, so 12 stands before 2; one part for each text. */
	r = (struct reason){ .why = WHY_ROOM, .nodes = 14, .counts_n = 6,
			     .counts = { { NODE_WHY_INSUFFICIENT, RESOURCE_PODS, 2, 0 }, { NODE_WHY_CORDONED, 0, 1, 0 },
					 { NODE_WHY_TAINT, 20, 10, 0 }, { NODE_WHY_INSUFFICIENT, RESOURCE_CPU, 3, 0 }, { 99, 0, 1, 0 }, { NODE_WHY_TAINT, 20, 2, 0 } } };
	cr_assert_str_eq(text_of(&r, NULL, NULL), "0/14 nodes are available: 1 node(s) for other reasons, 1 node(s) were unschedulable, "
						  "12 node(s) had untolerated taint(s), 2 Too many pods, 3 Insufficient cpu.");
}

/* Texts that kube-scheduler 1.36.3 said, of tests/data/verdicts and of others like them. */
Test(reason, every_rule_in_kube_schedulers_words)
{
	struct reason r = { .why = WHY_ROOM, .nodes = 39, .counts_n = 3,
			    .counts = { { NODE_WHY_VOLUME_NODE, 0, 29, 0 }, { NODE_WHY_ATTACH, 0, 10, 0 }, { NODE_WHY_VOLUME_BIND, 0, 28, 0 } } };

	cr_assert_str_eq(text_of(&r, NULL, NULL), "0/39 nodes are available: 10 node(s) exceed max volume count, 28 node(s) didn't find "
						  "available persistent volumes to bind, 29 node(s) didn't match PersistentVolume's "
						  "node affinity.");
	r = (struct reason){ .why = WHY_ROOM, .nodes = 15, .counts_n = 3,
			     .counts = { { NODE_WHY_SPREAD, 0, 8, 0 }, { NODE_WHY_SPREAD_LABEL, 0, 6, 0 }, { NODE_WHY_TAINT, 20, 1, 0 } } };
	cr_assert_str_eq(text_of(&r, NULL, NULL), "0/15 nodes are available: 1 node(s) had untolerated taint(s), 6 node(s) didn't match pod "
						  "topology spread constraints (missing required label), 8 node(s) didn't match pod "
						  "topology spread constraints.");
	r = (struct reason){ .why = WHY_ROOM, .nodes = 30, .counts_n = 2,
			     .counts = { { NODE_WHY_NOT_NAMED, 0, 29, 0 }, { NODE_WHY_AFFINITY, 0, 1, 0 } } };
	cr_assert_str_eq(text_of(&r, NULL, NULL), "0/30 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 29 node(s) "
						  "didn't satisfy plugin(s) [NodeAffinity].");
	/* Of the pod as a whole: once and without a count. */
	r = (struct reason){ .why = WHY_ROOM, .nodes = 8, .counts_n = 1, .counts = { { NODE_WHY_CONFLICT, 0, 8, 0 } } };
	cr_assert_str_eq(text_of(&r, NULL, NULL), "0/8 nodes are available: pod affinity terms conflict.");
	r = (struct reason){ .why = WHY_REFUSED, .nodes = 9 };
	cr_assert_str_eq(text_of(&r, NULL, "persistentvolumeclaim \"missing-pzw\" not found"),
			 "0/9 nodes are available: persistentvolumeclaim \"missing-pzw\" not found.");
}

Test(reason, no_two_rules_share_a_text)
{
	char texts[NODE_WHY_KINDS][256];

	for (uint32_t why = NODE_WHY_CORDONED; why < NODE_WHY_KINDS; why++) {
		size_t n = reason_node_text(why, RESOURCE_CPU, &NAMES, texts[why], sizeof(texts[why]));

		cr_assert_eq(n, strlen(texts[why]));
		cr_assert_str_neq(texts[why], "node(s) for other reasons");
		for (uint32_t other = NODE_WHY_CORDONED; other < why; other++)
			cr_assert_str_neq(texts[why], texts[other], "%u and %u", why, other);
	}
}

Test(reason, a_message_from_parts)
{
	struct reason_part parts[] = { { "Too many pods", 2 }, { "Insufficient cpu", 11 }, { "Insufficient memory", 11 } };
	struct reason_part whole = { "pod affinity terms conflict", 0 };
	char out[256];

	reason_nodes_text(11, parts, 3, out, sizeof(out));
	cr_assert_str_eq(out, "0/11 nodes are available: 11 Insufficient cpu, 11 Insufficient memory, 2 Too many pods.");
	reason_nodes_text(11, &whole, 1, out, sizeof(out));
	cr_assert_str_eq(out, "0/11 nodes are available: pod affinity terms conflict.");
	reason_nodes_text(0, parts, 3, out, sizeof(out));
	cr_assert_str_eq(out, "no nodes available to schedule pods");
}

Test(reason, a_gang_has_its_numbers_behind)
{
	struct reason r = { .why = WHY_ROOM, .nodes = 12, .need = 16, .fit = 8, .counts_n = 1, .shortfalls_n = 3,
			    .counts = { { NODE_WHY_INSUFFICIENT, 4, 12, 0 } },
			    .shortfalls = { { 4, 0, 64, 32 }, { RESOURCE_CPU, 0, 64000, 31500 },
					    { RESOURCE_MEMORY, 0, INT64_C(3) << 30, INT64_C(1536) << 20 } } };

	cr_assert_str_eq(text_of(&r, "ns/g", NULL), "0/12 nodes are available: 12 Insufficient nvidia.com/gpu. gang ns/g: 8 of 16 members have "
						    "room; nvidia.com/gpu: need 64, have 32; cpu: need 64, have 31500m; memory: need 3Gi, "
						    "have 1536Mi.");
}

Test(reason, different_taints_are_one_part_and_a_gang_names_them)
{
	struct reason r = { .why = WHY_ROOM, .nodes = 6, .need = 2, .counts_n = 3,
			    .counts = { { NODE_WHY_TAINT, 20, 3, 0 }, { NODE_WHY_CORDONED, 0, 1, 0 }, { NODE_WHY_TAINT, 20, 2, 0 } } };

	cr_assert_str_eq(text_of(&r, NULL, NULL),
			 "0/6 nodes are available: 1 node(s) were unschedulable, 5 node(s) had untolerated taint(s).");
	cr_assert_str_eq(text_of(&r, "ns/g", NULL),
			 "0/6 nodes are available: 1 node(s) were unschedulable, 5 node(s) had untolerated taint(s). gang ns/g: 0 of 2 "
			 "members have room; taints not tolerated: {dedicated: ml} on 3 nodes, {dedicated: ml} on 2 nodes.");
}

Test(reason, each_of_them)
{
	static const struct {
		struct reason r;
		const char *gang, *refusal, *text;
	} rows[] = {
		{ { .why = WHY_GROUP_MISSING }, "ns/g", NULL, "PodGroup not found: ns/g" },
		{ { .why = WHY_MEMBERS, .members = 2, .quorum = 3 }, "ns/g", NULL,
		  "pre-filter pod cannot find enough sibling pods, current pods number: 2, minMember of group: 3. gang ns/g: 2 of 3 members "
		  "are there." },
		{ { .why = WHY_MEMBERS, .quorum = 3 }, "ns/g", NULL,
		  "no member is there: not created yet, ended, or of another scheduler" },
		{ { .why = WHY_GATED }, NULL, NULL, "Scheduling is blocked due to non-empty scheduling gates" },
		{ { .why = WHY_GATED, .members = 3, .gated = 1, .quorum = 3 }, "ns/g", NULL,
		  "pre-filter pod cannot proceed due to gated pods in the same PodGroup. gang ns/g: 1 of 3 members have scheduling gates, "
		  "2 of the quorum of 3 can start." },
		{ { .why = WHY_NO_NODES }, NULL, NULL, "no nodes available to schedule pods" },
		{ { .why = WHY_MIN_RESOURCES, .shortfalls_n = 2, .shortfalls = { { RESOURCE_CPU, 0, 10000, 8000 }, { 5, 0, 4194304, 0 } } },
		  "ns/g", NULL, "resource gap: cpu: need 10, have 8; hugepages-2Mi: need 4Mi, have 0. gang ns/g: its minResources are more than "
		  "what is free." },
		{ { .why = WHY_REFUSED }, NULL, "muster does not support host ports yet", "muster does not support host ports yet" },
		{ { .why = WHY_REFUSED }, "ns/g", "", "muster can't judge a member of its gang" },
		{ { .why = WHY_BIND_REFUSED, .bound = 1, .quorum = 3 }, "ns/g", NULL,
		  "the API server refused a binding, muster will try again. gang ns/g: 1 of 3 members are bound." },
		{ { .why = WHY_GAVE_UP, .nodes = 3, .fit = 2, .need = 4 }, "ns/g", NULL,
		  "0/3 nodes are available. No plan was found within the step limit. gang ns/g: 2 of 4 members have room." },
		{ { .why = WHY_NONE }, NULL, NULL, "not looked at yet" },
		{ { .why = 1000 }, NULL, NULL, "not looked at yet" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(text_of(&rows[i].r, rows[i].gang, rows[i].refusal), rows[i].text);
}

/* A reason comes from the other process: counts out of bounds are cut off. */
Test(reason, wild_counts_and_small_rooms)
{
	struct reason r = { .why = WHY_ROOM, .nodes = UINT32_MAX, .counts_n = UINT32_MAX, .shortfalls_n = UINT32_MAX };
	char whole[4096], cut[4096];
	size_t n;

	memset(r.counts, 0xff, sizeof(r.counts));
	memset(r.shortfalls, 0xff, sizeof(r.shortfalls));
	n = reason_text(&r, &ABOUT, &NAMES, whole, sizeof(whole));
	cr_assert_eq(n, strlen(whole));
	for (size_t room = 1; room <= n + 1; room++) {
		memset(cut, 'x', sizeof(cut));
		cr_assert_eq(reason_text(&r, &ABOUT, &NAMES, cut, room), n);
		cr_assert_eq(strlen(cut), room - 1);
		cr_assert_eq(strncmp(cut, whole, room - 1), 0);
		cr_assert_eq(cut[room], 'x');
	}
}
