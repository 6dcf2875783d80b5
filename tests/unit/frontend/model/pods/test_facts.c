/* SPDX-License-Identifier: Apache-2.0 */
/* What searches for victims need of objects, as records: budgets, facts of pods, modes of groups.
 */
#include "tests/unit/support_rules.h"

static void begin(void)
{
	start_model((struct model_config){ .limits = SMALL, .preemption = true }, 1);
	replay_add_core(&s.replay);
}

TestSuite(model_facts, .init = begin, .fini = end);

#define BUDGET "policy/v1", "PodDisruptionBudget"

static struct budget_record budget;
static struct event_pod_facts facts;
static unsigned budgets_n, facts_n;
static uint32_t preemption; /* the last flags */
static union {
	struct record head;
	char bytes[RECORD_BYTES_MAX];
} got;

/* A sink that keeps the last record of each kind, before the replay gets it. */
static void watch_kinds(size_t from)
{
	for (size_t i = from; i < s.replay.queue_n; i++) {
		const struct replay_record *q = &s.replay.queue[i];
		const char *body = q->data + sizeof(struct record);

		if (q->kind == EVENT_BUDGET) {
			memcpy(got.bytes, q->data, q->bytes);
			cr_assert_null(record_budget(&got.head, &budget));
			budgets_n++;
		} else if (q->kind == EVENT_POD_FACTS) {
			memcpy(&facts, body, sizeof(facts));
			facts_n++;
		} else if (q->kind == EVENT_PREEMPTION) {
			memcpy(&preemption, body, sizeof(preemption));
		}
	}
}

static void send(void)
{
	budgets_n = facts_n = 0;
	s.replay.room = 10000;
	cr_assert(model_flush(s.m, &s.replay.sink));
	watch_kinds(0);
	flush();
}

static int put_budget(const char *name, const char *selector, const char *status)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "\"spec\":{%s},\"status\":{%s}", selector, status);
	return put(BUDGET, "ns", name, "", rest);
}

Test(model_facts, of_budgets)
{
	cr_assert_eq(
		put_budget("b",
	               "\"selector\":{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":["
	               "{\"key\":\"tier\",\"operator\":\"NotIn\",\"values\":[\"x\",\"y\"]}]}",
	               "\"disruptionsAllowed\":2,\"disruptedPods\":{\"p-0\":\"t\",\"p-1\":\"t\"}"),
		0);
	send();
	cr_assert(budgets_n == 1 && budget.body->allowed == 2 && budget.body->flags == 0);
	cr_assert(budget.body->clauses_n == 2 && budget.body->values_n == 3);
	cr_assert_eq(budget.body->names_bytes, 7);
	cr_assert(memcmp(budget.names, "p-0/p-1", 7) == 0);
	put_budget("b", "\"selector\":{}", "\"disruptionsAllowed\":1");
	send();
	cr_assert(budgets_n == 1 && budget.body->clauses_n == 0 && budget.body->flags == 0);
	put_budget("b", "\"minAvailable\":1", "\"disruptionsAllowed\":1");
	send();
	cr_assert_eq(budget.body->flags, BUDGET_GONE, "without a selector it matches nothing");
	put_budget("b", "\"selector\":{}", "\"disruptionsAllowed\":1");
	send();
	delete (BUDGET, "ns", "b");
	send();
	cr_assert(budgets_n == 1 && budget.body->flags == BUDGET_GONE);
	delete (BUDGET, "ns", "b");
	send();
	cr_assert_eq(budgets_n, 0);
}

Test(model_facts, a_selector_that_is_too_long_allows_nothing)
{
	static char text[40000];
	size_t used = 0;

	for (int i = 0; i < 200; i++) /* more than 2 KiB */
		used +=
			(size_t)snprintf(text + used, sizeof(text) - used,
		                     "%s{\"key\":\"k%d\",\"operator\":\"Exists\"}", i > 0 ? "," : "", i);
	cr_assert_eq(
		put_object(resource_of(BUDGET),
	               "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
	               "\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"uid\":\"u\","
	               "\"resourceVersion\":\"7\"},\"spec\":{\"selector\":{\"matchExpressions\":"
	               "[%s]}},\"status\":{\"disruptionsAllowed\":5}}",
	               text),
		0);
	send();
	cr_assert(budget.body->clauses_n == 0 && budget.body->allowed == 0 && budget.body->flags == 0);
	cr_assert_eq(s.m->budget_bytes, 0);
}

/* One namespace can't take the memory of all: 16 MiB of selectors in all.  What the counts say is
 * checked at the end: each check reads all budgets. */
Test(model_facts, selectors_above_their_sum_allow_nothing)
{
	static char text[4000], json[5000];
	size_t used = 0;

	for (int i = 0; i < 60; i++)
		used +=
			(size_t)snprintf(text + used, sizeof(text) - used,
		                     "%s{\"key\":\"k%d\",\"operator\":\"Exists\"}", i > 0 ? "," : "", i);
	for (int i = 0; i < 10000; i++) {
		const int n =
			snprintf(json, sizeof(json),
		             "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
		             "\"metadata\":{\"name\":\"b%d\",\"namespace\":\"ns\",\"uid\":\"u%d\","
		             "\"resourceVersion\":\"7\"},\"spec\":{\"selector\":{\"matchExpressions\":"
		             "[%s]}},\"status\":{\"disruptionsAllowed\":5}}",
		             i, i, text);

		cr_assert_eq(model_put(s.m, resource_of(BUDGET), json, (size_t)n, &s.error), 0);
		cr_assert_leq(s.m->budget_bytes, 16u << 20);
	}
	check();
	cr_assert_geq(s.m->budget_bytes, 15u << 20);
}

Test(model_facts, of_pods)
{
	put_pod("p", "", "");
	send();
	cr_assert_eq(facts_n, 0, "it waits");
	put("v1", "Pod", "ns", "p", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]}");
	send();
	cr_assert(facts_n == 1 && facts.flags == FACT_OURS && facts.start_s == 0);
	put("v1", "Pod", "ns", "p", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]},"
	    "\"status\":{\"startTime\":\"1970-01-01T00:01:40Z\"}");
	send();
	cr_assert(facts_n == 1 && facts.start_s == 100);
	put("v1", "Pod", "ns", "p", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]},"
	    "\"status\":{\"startTime\":\"1970-01-01T00:01:40Z\",\"phase\":\"Running\"}");
	send();
	cr_assert_eq(facts_n, 0, "nothing that counts");
	put("v1", "Pod", "ns", "p", "\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}",
	    "\"spec\":{\"schedulerName\":\"other\",\"nodeName\":\"n\",\"containers\":[]}");
	send();
	cr_assert(facts_n == 1 && facts.flags == FACT_SPARED && facts.start_s == 0);
	/* A new core gets them again. */
	model_restart(s.m);
	replay_forget(&s.replay);
	send();
	cr_assert_eq(facts_n, 1);
}

Test(model_facts, of_pods_that_wait)
{
	put("v1", "Pod", "ns", "p", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"preemptionPolicy\":\"Never\",\"containers\":[]}");
	send();
	cr_assert(facts_n == 1 && facts.flags == (FACT_OURS | FACT_NEVER));
}

Test(model_facts, of_a_namespace)
{
	put("v1", "Pod", "ns", "p", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]}");
	send();
	put("v1", "Namespace", "", "ns", "\"annotations\":{\"muster.dev/preemption\":\"never\"}", "");
	send();
	cr_assert(facts_n == 1 && facts.flags == (FACT_OURS | FACT_SPARED));
	delete ("v1", "Namespace", "", "ns");
	send();
	cr_assert(facts_n == 1 && facts.flags == FACT_OURS);
}

Test(model_facts, of_groups)
{
	const struct event_gang *g;

	put("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ns", "g",
	    "\"annotations\":{\"muster.dev/disruption-mode\":\"whole\"}", "\"spec\":{\"minMember\":2}");
	flush();
	g = replay_gang(&s.replay, "ns/g");
	cr_assert_eq(g->disruption, GANG_DISRUPT_WHOLE);
	put("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ns", "g",
	    "\"annotations\":{\"muster.dev/disruption-mode\":\"pod\",\"muster.dev/preemptible\":\"false\"}",
	    "\"spec\":{\"minMember\":2}");
	flush();
	g = replay_gang(&s.replay, "ns/g");
	cr_assert_eq(g->disruption, GANG_DISRUPT_POD | GANG_DISRUPT_NEVER);
	put("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ns", "g",
	    "\"annotations\":{\"muster.dev/disruption-mode\":\"other\"}", "\"spec\":{\"minMember\":2}");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, 0);
}

Test(model_facts, of_groups_that_are_not_elastic)
{
	static const struct {
		const char *annotations;
		uint32_t disruption;
	} rows[] = {
		{ "\"muster.dev/elastic\":\"false\"", GANG_DISRUPT_WHOLE },
		{ "\"muster.dev/elastic\":\"true\"", 0 },
		{ "\"muster.dev/elastic\":\"false\",\"muster.dev/disruption-mode\":\"quorum\"",
		  GANG_DISRUPT_WHOLE },
		{ "\"muster.dev/elastic\":\"false\",\"muster.dev/disruption-mode\":\"pod\"",
		  GANG_DISRUPT_POD },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char annotations[160];

		snprintf(annotations, sizeof(annotations), "\"annotations\":{%s}", rows[i].annotations);
		put("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ns", "g", annotations,
		    "\"spec\":{\"minMember\":2}");
		flush();
		cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, rows[i].disruption, "%s",
		             rows[i].annotations);
	}
}

static uint32_t disruption_of(const char *mode)
{
	put("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ns", "g",
	    *mode ? "\"annotations\":{\"muster.dev/disruption-mode\":\"pod\"}" : "",
	    "\"spec\":{\"minMember\":2}");
	flush();
	return replay_gang(&s.replay, "ns/g")->disruption;
}

static void member(const char *name, const char *scheduler)
{
	char spec[200];

	snprintf(spec, sizeof(spec),
	         "\"spec\":{\"schedulerName\":\"%s\",\"nodeName\":\"n\",\"containers\":[]}", scheduler);
	put("v1", "Pod", "ns", name, "\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}", spec);
	flush();
}

/* Members under another scheduler's name are none to the core, which can't keep its quorum. */
Test(model_facts, of_a_group_that_is_not_seen_whole)
{
	member("a", "muster");
	cr_assert_eq(disruption_of(""), 0);
	member("b", "other");
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, GANG_DISRUPT_NEVER);
	member("c", "other");
	delete ("v1", "Pod", "ns", "b");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, GANG_DISRUPT_NEVER);
	cr_assert_eq(disruption_of("pod"), GANG_DISRUPT_POD);
	cr_assert_eq(disruption_of(""), GANG_DISRUPT_NEVER);
	delete ("v1", "Pod", "ns", "c");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, 0);
}

/* A dialect without a status counts such pods for this alone. */
Test(model_facts, of_a_group_without_a_status_that_is_not_seen_whole)
{
	static const char mark[] = "\"labels\":{\"kueue.x-k8s.io/pod-group-name\":\"g\"},"
							   "\"annotations\":{\"kueue.x-k8s.io/pod-group-total-count\":\"2\"}";

	put("v1", "Pod", "ns", "b", mark,
	    "\"spec\":{\"schedulerName\":\"other\",\"nodeName\":\"n\",\"containers\":[]}");
	put("v1", "Pod", "ns", "a", mark,
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]}");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, GANG_DISRUPT_NEVER);
	put("v1", "Pod", "ns", "b", mark,
	    "\"spec\":{\"schedulerName\":\"other\",\"nodeName\":\"n\",\"containers\":[]},"
	    "\"status\":{\"phase\":\"Succeeded\"}");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, 0);
}

/* A list, after a watch that ended, has the pod as it was. */
Test(model_facts, of_a_group_that_is_not_seen_whole_after_a_list)
{
	disruption_of("");
	member("a", "muster");
	member("b", "other");
	model_replace_begin(s.m, RESOURCE_INDEX_PODS);
	s.version -= 2;
	member("a", "muster");
	member("b", "other");
	model_replace_end(s.m, RESOURCE_INDEX_PODS);
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, GANG_DISRUPT_NEVER);
	model_replace_begin(s.m, RESOURCE_INDEX_PODS);
	s.version -= 2;
	member("a", "muster");
	model_replace_end(s.m, RESOURCE_INDEX_PODS);
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, 0);
}

Test(model_facts, whether_budgets_are_known)
{
	const int budgets = resource_of(BUDGET);

	cr_assert(model_resource_without(s.m, budgets) && !model_resource_awaited(s.m, budgets));
	cr_assert(!model_resource_without(s.m, RESOURCE_INDEX_PODS));
	cr_assert(model_resource_awaited(s.m, RESOURCE_INDEX_PODS));
	send();
	cr_assert_eq(preemption, PREEMPTION_EXPLAIN | PREEMPTION_PACK | PREEMPTION_BUDGETS_UNKNOWN);
	model_resource_served(s.m, budgets, true);
	send();
	cr_assert_eq(preemption, PREEMPTION_EXPLAIN | PREEMPTION_PACK);
	model_resource_served(s.m, budgets, false);
	send();
	cr_assert_eq(preemption, PREEMPTION_EXPLAIN | PREEMPTION_PACK | PREEMPTION_BUDGETS_UNKNOWN);
}

/* Without preemption there is nothing of this. */
Test(model_facts, off)
{
	start_model((struct model_config){ .limits = SMALL }, 1);
	replay_add_core(&s.replay);
	cr_assert_eq(model_resource_index(s.m, BUDGET), -1);
	preemption = 77;
	put("v1", "Pod", "ns", "p", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]}");
	put("scheduling.x-k8s.io/v1alpha1", "PodGroup", "ns", "g",
	    "\"annotations\":{\"muster.dev/disruption-mode\":\"whole\"}", "\"spec\":{\"minMember\":2}");
	send();
	cr_assert(facts_n == 0 && budgets_n == 0 && preemption == 77);
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->disruption, 0);
}

static void begin_evicting(void)
{
	start_model((struct model_config){ .limits = SMALL,
	                                   .preemption = true,
	                                   .may_evict = true,
	                                   .preemption_flags = PREEMPTION_ALL,
	                                   .preempt_min_run_s = 7,
	                                   .preempt_patience_s = 30 },
	            1);
	replay_add_core(&s.replay);
}

TestSuite(model_evicts, .init = begin_evicting, .fini = end);

static void put_version(const char *name, unsigned version, const char *metadata, const char *spec,
                        const char *status)
{
	char text[1500];

	snprintf(text, sizeof(text),
	         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"%s},"
	         "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\"}]%s},"
	         "\"status\":{%s}}",
	         name, name, version, metadata, spec, status);
	cr_assert_eq(model_put(s.m, RESOURCE_INDEX_PODS, text, strlen(text), NULL), 0);
}

static void put_machine(const char *name)
{
	char text[400];

	snprintf(text, sizeof(text),
	         "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"uid\":"
	         "\"n-%s\",\"resourceVersion\":\"1\"},\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}",
	         name, name);
	cr_assert_eq(model_put(s.m, RESOURCE_INDEX_NODES, text, strlen(text), NULL), 0);
}

#define NOMINATED(node) "\"nominatedNodeName\":\"" node "\""

/* Of a pod that waits nothing is told until its node is known, and gangs evict. */
Test(model_evicts, who_is_nominated)
{
	struct pod_view pod;

	put_version("p", 1, "", "", NOMINATED("n1"));
	put_machine("n1");
	send();
	cr_assert_eq(facts_n, 0, "not with explain");
	cr_assert_eq(preemption, PREEMPTION_EXPLAIN | PREEMPTION_PACK | PREEMPTION_ALL |
	                             PREEMPTION_BUDGETS_UNKNOWN);
	model_set_evicts(s.m, true);
	send();
	cr_assert(preemption & PREEMPTION_ON);
	cr_assert(facts_n == 1 && facts.nominated != ID_NONE);
	cr_assert_str_eq(model_node(s.m, facts.nominated, 1), "n1");
	put_version("p", 2, "", "", "");
	send();
	cr_assert(facts_n == 1 && facts.nominated == ID_NONE, "cleared");
	put_version("q", 1, "", "", NOMINATED("later"));
	send();
	cr_assert(facts_n == 1 && facts.nominated == ID_NONE);
	put_machine("later");
	model_set_synced(s.m);
	send();
	cr_assert(facts_n == 1 && facts.nominated != ID_NONE, "before the lists are complete");
	/* what the journal says, before the status does */
	cr_assert(model_pod_by_name(s.m, "ns", "p", &pod));
	model_nominate(s.m, pod.id, pod.generation, "n1");
	send();
	cr_assert(facts_n == 1 && facts.pod == pod.id && facts.nominated != ID_NONE);
	model_nominate(s.m, pod.id, pod.generation, NULL);
	send();
	cr_assert(facts_n == 1 && facts.nominated == ID_NONE);
	model_set_evicts(s.m, false);
	send();
	cr_assert(!(preemption & PREEMPTION_ON));
	cr_assert_eq(facts.nominated, ID_NONE);
}

Test(model_evicts, who_ends_and_whose_owner_lost_a_pod)
{
	static const char owned[] =
		",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\","
		"\"uid\":\"o-1\",\"controller\":true}]";
	struct pod_view pod;

	put_machine("n1");
	model_set_evicts(s.m, true);
	put_version("a", 1, owned, ",\"nodeName\":\"n1\"", "");
	send();
	cr_assert(facts_n == 1 && facts.ends_s == 0 && facts.evicted_s == 0);
	cr_assert(model_pod_by_name(s.m, "ns", "a", &pod));
	model_evicted(s.m, pod.id, pod.generation, 1700000000);
	put_version("a", 2,
	            ",\"deletionTimestamp\":\"2026-01-01T00:00:30Z\","
	            "\"deletionGracePeriodSeconds\":20",
	            ",\"nodeName\":\"n1\"", "");
	send();
	cr_assert(facts_n == 1 && facts.ends_s == 1767225630, "%u", facts.ends_s);
	cr_assert_eq(facts.grace_s, 20);
	put_version("a", 3,
	            ",\"deletionTimestamp\":\"2026-01-01T00:00:30Z\","
	            "\"deletionGracePeriodSeconds\":99999999999",
	            ",\"nodeName\":\"n1\"", "");
	send();
	cr_assert(facts_n == 1 && facts.grace_s == UINT32_MAX);
	put_version("b", 1, owned, ",\"nodeName\":\"n1\"", "");
	send();
	cr_assert(facts_n == 1 && facts.evicted_s == 1700000000);
	put_version("c", 1, "", ",\"nodeName\":\"n1\"", "");
	send();
	cr_assert(facts_n == 1 && facts.evicted_s == 0);
}

Test(model_evicts, which_pods_a_budget_matches)
{
	struct pod_view pod;

	put_machine("n1");
	put_version("a", 1, ",\"labels\":{\"app\":\"web\"}", ",\"nodeName\":\"n1\"", "");
	put_version("b", 1, ",\"labels\":{\"app\":\"db\"}", ",\"nodeName\":\"n1\"", "");
	put_version("c", 1, "", ",\"nodeName\":\"n1\"", "");
	put_budget("w", "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}", "\"disruptionsAllowed\":0");
	put_budget("none", "\"minAvailable\":1", "\"disruptionsAllowed\":1");
	for (const char *name = "a\0b\0c\0"; *name; name += 2) {
		cr_assert(model_pod_by_name(s.m, "ns", name, &pod));
		cr_expect_eq(model_is_guarded(s.m, pod.id, pod.generation), *name == 'a', "%s", name);
	}
	put_budget("all", "\"selector\":{}", "\"disruptionsAllowed\":1");
	cr_assert(model_pod_by_name(s.m, "ns", "b", &pod));
	cr_expect(model_is_guarded(s.m, pod.id, pod.generation));
}

static void begin_reclaiming(void)
{
	start_model((struct model_config){ .limits = SMALL,
	                                   .preemption = true,
	                                   .preemption_flags = PREEMPTION_RECLAIM },
	            1);
	replay_add_core(&s.replay);
}

TestSuite(model_giving, .init = begin_reclaiming, .fini = end);

static void put_annotated(const char *annotations)
{
	char metadata[400];

	snprintf(metadata, sizeof(metadata), "\"annotations\":{%s}", annotations);
	put("v1", "Pod", "ns", "p", metadata,
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]}");
	send();
}

#define COST(value) "\"controller.kubernetes.io/pod-deletion-cost\":\"" value "\""
#define INDEX(value) "\"batch.kubernetes.io/job-completion-index\":\"" value "\""

Test(model_giving, what_decides_between_members)
{
	put_annotated("");
	cr_assert(facts_n == 1 && facts.deletion_cost == 0 && facts.completion_index == -1);
	put_annotated(COST("-7") "," INDEX("12"));
	cr_assert(facts_n == 1 && facts.deletion_cost == -7 && facts.completion_index == 12);
	put_annotated(COST("-7") "," INDEX("12"));
	cr_assert_eq(facts_n, 0, "nothing that counts");
	put_annotated(COST("8") "," INDEX("12"));
	cr_assert(facts_n == 1 && facts.deletion_cost == 8, "it is edited");
	put_annotated(INDEX("0"));
	cr_assert(facts_n == 1 && facts.deletion_cost == 0 && facts.completion_index == 0);
}

/* As k8s.io/kubernetes: GetDeletionCostFromPodAnnotations(). */
Test(model_giving, deletion_costs_as_the_replica_set_controller_reads_them)
{
	static const struct {
		const char *annotation;
		int32_t cost;
	} cases[] = {
		{ COST("0"), 0 },
		{ COST("2147483647"), INT32_MAX },
		{ COST("-2147483648"), INT32_MIN },
		{ COST("2147483648"), 0 },
		{ COST("-2147483649"), 0 },
		{ COST("99999999999999999999999"), 0 },
		{ COST("-99999999999999999999999"), 0 },
		{ COST("+10"), 0 },
		{ COST("008"), 0 },
		{ COST("00"), 0 },
		{ COST("-007"), -7 },
		{ COST("-0"), 0 },
		{ COST("-"), 0 },
		{ COST("--1"), 0 },
		{ COST(""), 0 },
		{ COST(" 1"), 0 },
		{ COST("1 "), 0 },
		{ COST("1\\u0000"), 0 },
		{ COST("1_000"), 0 },
		{ COST("0x10"), 0 },
		{ COST("1e3"), 0 },
		{ COST("1.5"), 0 },
		{ COST("\\u0031\\u0032"), 12 },
		{ COST("\\u0661"), 0 }, /* a digit in Arabic */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_annotated(COST("5"));
		cr_assert_eq(facts.deletion_cost, 5);
		put_annotated(cases[i].annotation);
		cr_assert(facts_n == 1 && facts.deletion_cost == cases[i].cost, "%s: %d",
		          cases[i].annotation, facts.deletion_cost);
	}
}

/* As its Job controller: getCompletionIndex(). */
Test(model_giving, completion_indexes_as_the_job_controller_reads_them)
{
	static const struct {
		const char *annotation;
		int32_t index;
	} cases[] = {
		{ INDEX("0"), 0 },
		{ INDEX("2147483646"), 2147483646 },
		{ INDEX("9223372036854775807"), INT32_MAX },
		{ INDEX("9223372036854775808"), -1 },
		{ INDEX("+3"), 3 },
		{ INDEX("003"), 3 },
		{ INDEX("-0"), 0 },
		{ INDEX("-1"), -1 },
		{ INDEX("-9223372036854775808"), -1 },
		{ INDEX(""), -1 },
		{ INDEX("+"), -1 },
		{ INDEX("3 "), -1 },
		{ INDEX("3\\u0000"), -1 },
		{ INDEX("x"), -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_annotated(INDEX("5"));
		cr_assert_eq(facts.completion_index, 5);
		put_annotated(cases[i].annotation);
		cr_assert(facts_n == 1 && facts.completion_index == cases[i].index, "%s: %d",
		          cases[i].annotation, facts.completion_index);
	}
}

static uint32_t flags_with(const char *key, const char *value)
{
	char metadata[200];

	snprintf(metadata, sizeof(metadata), "\"labels\":{\"%s\":\"%s\"}", key, value);
	facts_n = 0;
	put("v1", "Pod", "ns", "p", metadata,
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\",\"containers\":[]}");
	send();
	return facts.flags;
}

Test(model_giving, who_leads)
{
	static const char *const leaders[][3] = {
		{ "training.kubeflow.org/job-role", "master", "worker" },
		{ "training.kubeflow.org/job-role", "launcher", "worker" },
		{ "ray.io/node-type", "head", "worker" },
		{ "leaderworkerset.sigs.k8s.io/worker-index", "0", "1" },
		{ "volcano.sh/task-spec", "master", "worker" },
	};

	for (size_t i = 0; i < sizeof(leaders) / sizeof(leaders[0]); i++) {
		cr_assert_eq(flags_with(leaders[i][0], leaders[i][1]), FACT_OURS | FACT_LEADS, "%s",
		             leaders[i][0]);
		cr_assert_eq(flags_with(leaders[i][0], leaders[i][2]), FACT_OURS, "%s", leaders[i][0]);
	}
}

/* Without reclaim none of this is read. */
Test(model_evicts, without_reclaim_nothing_decides_between_members)
{
	put_annotated("");
	cr_assert(facts_n == 1 && facts.deletion_cost == 0 && facts.completion_index == -1);
	put_annotated(COST("-7") "," INDEX("12"));
	cr_assert_eq(facts_n, 0);
	cr_assert_eq(flags_with("ray.io/node-type", "head"), FACT_OURS);
}
