/* SPDX-License-Identifier: Apache-2.0 */
/* Placement rules of many parts: bounded in the frontend, evaluated in one pass in the core. */
#include "core/cluster/nodes.h"
#include "core/cluster/rule_node.h"
#include "core/cluster/shapes.h"
#include "frontend/model/model.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

static const struct limits LIMITS =
	LIMITS_WITH(.pods = 8, .shapes = 8, .name_bytes = 2048, .command_ring_bytes = 8192);

/* The refusal of a pod with that many terms of one requirement, values and tolerations. */
static void check_refusal(unsigned terms, unsigned values, unsigned tolerations,
                          const char *expected)
{
	struct model *m = model_new(&(struct model_config){ .limits = LIMITS, .hash_key = { 1, 2 } });
	struct decode_error error;
	struct pod_view pod;
	char *json;
	size_t bytes;
	FILE *f = open_memstream(&json, &bytes);

	cr_assert(m && f);
	fprintf(f, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{\"tolerations\":[");
	for (unsigned i = 0; i < tolerations; i++)
		fprintf(f, "%s{\"key\":\"t%u\",\"operator\":\"Exists\"}", i ? "," : "", i);
	fprintf(
		f,
		"],\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[");
	for (unsigned t = 0; t < terms; t++) {
		fprintf(f, "%s{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[",
		        t ? "," : "");
		for (unsigned v = 0; v < values / terms; v++)
			fprintf(f, "%s\"%u\"", v ? "," : "", v);
		fprintf(f, "]}]}");
	}
	fprintf(f, "]}}}}}");
	fclose(f);
	model_put(m, RESOURCE_INDEX_PODS, json, bytes, &error);
	cr_assert(model_pod_by_name(m, "ns", "p", &pod));
	if (expected)
		cr_assert(strstr(pod.refusal, expected), "%u %u %u: %s", terms, values, tolerations,
		          pod.refusal);
	else
		cr_assert_str_eq(pod.refusal, "");
	free(json);
	model_free(m);
}

Test(rules, have_a_bound_in_all)
{
	check_refusal(1, 4095, 0, NULL);
	check_refusal(1, 4096, 0, "too long");
	check_refusal(1, 3, 0, NULL);
	check_refusal(1, 95, 4096, "too long"); /* past one record as well */
	check_refusal(1, 3500, 700, "too long");
	check_refusal(1024, 1024, 0, NULL);
	check_refusal(1025, 1025, 0, "too long");
	check_refusal(1000, 4000, 0, "too long");
}

enum { REQUIREMENTS = 12, KEYS = 4, VALUES = 3 };

struct labels {
	struct label at[KEYS];
	uint32_t n;
};

static bool holds(const struct requirement *q, const uint32_t *values, const struct labels *labels)
{
	const struct label *label = NULL;
	bool among = false;

	for (uint32_t i = 0; i < labels->n; i++)
		if (labels->at[i].key == q->key)
			label = &labels->at[i];
	for (uint32_t i = 0; label && i < q->values_n; i++)
		among = among || values[q->values_first + i] == label->value;
	switch (q->op) {
	case REQUIRE_IN:
		return label && among;
	case REQUIRE_NOT_IN:
		return !label || !among;
	case REQUIRE_EXISTS:
		return label;
	case REQUIRE_GT:
		return label && label->number != LABEL_NOT_A_NUMBER && label->number > q->number;
	case REQUIRE_LT:
		return label && label->number != LABEL_NOT_A_NUMBER && label->number < q->number;
	default:
		return !label;
	}
}

/* One term after the other: the definition. */
static bool allowed(const struct event_shape *e, const struct requirement *q,
                    const uint32_t *values, const struct labels *labels)
{
	for (uint32_t term = 0; term <= e->terms_n; term++) {
		bool any = term == 0, all = true;

		for (uint32_t i = 0; i < e->requirements_n; i++) {
			if (q[i].term != term)
				continue;
			any = true;
			all = all && holds(&q[i], values, labels);
		}
		if (term == 0 && !all)
			return false;
		if (term == 0 ? e->terms_n == 0 : any && all)
			return true;
	}
	return false;
}

/* Any number of labels, numbers and taints is stored in one piece and read back unchanged. */
Test(rules, of_a_node_are_kept_whole)
{
	struct random r = random_start("rules.node");

	for (int round = 0; round < 2000; round++) {
		struct label labels[KEYS];
		struct taint taints[3];
		uint32_t labels_n = random_below(&r, KEYS + 1), taints_n = random_below(&r, 4),
				 numbers = random_below(&r, 3);
		struct node_rules *rules;

		for (uint32_t i = 0; i < labels_n; i++)
			labels[i] =
				(struct label){ .key = 2 * i,
				                .value = (uint32_t)random_next(&r),
				                .number = random_below(&r, 2) < numbers ? (int64_t)random_next(&r)
				                                                        : LABEL_NOT_A_NUMBER };
		for (uint32_t i = 0; i < taints_n; i++)
			taints[i] = (struct taint){ .key = (uint32_t)random_next(&r),
				                        .effect = 1 + random_below(&r, 3),
				                        .name = i };
		rules = node_rules_make(labels, labels_n, taints, taints_n);
		cr_assert_eq(rules == NULL, labels_n + taints_n == 0);
		cr_assert(node_rules_are(rules, labels, labels_n, taints, taints_n));
		for (uint32_t i = 0; i < labels_n; i++) {
			const struct node_label *label = rules_label(rules, labels[i].key);

			cr_assert(label && label->value == labels[i].value &&
			          rules_number(rules, label) == labels[i].number);
			cr_assert_null(rules_label(rules, labels[i].key + 1));
			labels[i].number ^= 1;
			cr_assert(!node_rules_are(rules, labels, labels_n, taints, taints_n));
			labels[i].number ^= 1;
		}
		cr_assert_eq(rules_taints_n(rules), taints_n);
		cr_assert(taints_n == 0 ||
		          memcmp(rules_taints(rules), taints, taints_n * sizeof(taints[0])) == 0);
		if (taints_n > 0) {
			taints[taints_n - 1].value ^= 1;
			cr_assert(!node_rules_are(rules, labels, labels_n, taints, taints_n));
		}
		free(rules);
	}
}

Test(rules, are_evaluated_in_one_pass)
{
	struct random r = random_start("rules");
	unsigned yes = 0, no = 0;

	for (int round = 0; round < 20000; round++) {
		uint32_t values[REQUIREMENTS], term = 0, arg;
		struct requirement q[REQUIREMENTS] = { 0 };
		struct labels labels = { .n = 0 };
		const bool numbers = random_below(&r, 2);
		struct event_shape e = { .requirements_n = random_below(&r, REQUIREMENTS + 1),
			                     .values_n = REQUIREMENTS };
		struct node n = { .generation = 1, .flags = NODE_PRESENT };
		struct shape s = { .body = &e, .parts = { .requirements = q, .values = values } };

		for (uint32_t key = 0; key < KEYS; key++)
			if (random_below(&r, 2))
				labels.at[labels.n++] =
					(struct label){ .key = key,
					                .value = random_below(&r, VALUES),
					                .number = numbers && random_below(&r, 2)
					                              ? (int64_t)random_below(&r, 5) - 2
					                              : LABEL_NOT_A_NUMBER };
		n.rules = node_rules_make(labels.at, labels.n, NULL, 0);
		cr_assert(node_rules_are(n.rules, labels.at, labels.n, NULL, 0));
		for (uint32_t i = 0; i < e.requirements_n; i++) {
			/* Terms without requirements between them. */
			term += random_below(&r, 2) ? random_below(&r, 3) : 0;
			q[i] = (struct requirement){ .term = term,
				                         .op = random_below(&r, REQUIRE_OPS),
				                         .number = (int64_t)random_below(&r, 5) - 2,
				                         .key = random_below(&r, KEYS),
				                         .values_first = i,
				                         .values_n = 1 };
			values[i] = random_below(&r, VALUES);
		}
		e.terms_n = term + random_below(&r, 2);
		cr_assert_eq(shape_filter(&s, &n, &arg) == FILTER_PASSED, allowed(&e, q, values, &labels),
		             "round %d", round);
		free(n.rules);
		if (allowed(&e, q, values, &labels))
			yes++;
		else
			no++;
	}
	cr_assert(yes > 1000 && no > 1000);
}
