/* Placement rules of many parts: bounded where they are read, one pass where they are
 * judged. */
#include "core/nodes.h"
#include "core/shapes.h"
#include "frontend/model.h"

#include "support_random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the frontend ------------------------------------------------------------- */

static const struct limits LIMITS = { .nodes = 8, .pods = 8, .gangs = 4, .shapes = 8, .names = 24, .resources = 8,
				      .name_bytes = 2048, .command_ring_bytes = 8192 };

/* Why a pod is refused that has so many values, in terms of one requirement each, and
 * so many tolerations. */
static void check_refusal(unsigned terms, unsigned values, unsigned tolerations, const char *expected)
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
	fprintf(f, "],\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[");
	for (unsigned t = 0; t < terms; t++) {
		fprintf(f, "%s{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[", t ? "," : "");
		for (unsigned v = 0; v < values / terms; v++)
			fprintf(f, "%s\"%u\"", v ? "," : "", v);
		fprintf(f, "]}]}");
	}
	fprintf(f, "]}}}}}");
	fclose(f);
	model_put(m, RESOURCE_INDEX_PODS, json, bytes, &error);
	cr_assert(model_pod_by_name(m, "ns", "p", &pod));
	if (expected)
		cr_assert(strstr(pod.refusal, expected), "%u %u %u: %s", terms, values, tolerations, pod.refusal);
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

/* ---- the core ------------------------------------------------------------------- */

enum { REQUIREMENTS = 12, KEYS = 4, VALUES = 3 };

static bool holds(const struct requirement *q, const uint32_t *values, const struct node *n)
{
	const struct label *label = NULL;
	bool among = false;

	for (uint32_t i = 0; i < n->labels_n; i++)
		if (n->labels[i].key == q->key)
			label = &n->labels[i];
	for (uint32_t i = 0; label && i < q->values_n; i++)
		among = among || values[q->values_first + i] == label->value;
	switch (q->op) {
	case REQUIRE_IN: return label && among;
	case REQUIRE_NOT_IN: return !label || !among;
	case REQUIRE_EXISTS: return label;
	default: return !label;
	}
}

/* Term after term, as the words say it. */
static bool allowed(const struct event_shape *e, const struct requirement *q, const uint32_t *values, const struct node *n)
{
	for (uint32_t term = 0; term <= e->terms_n; term++) {
		bool any = term == 0, all = true;

		for (uint32_t i = 0; i < e->requirements_n; i++) {
			if (q[i].term != term)
				continue;
			any = true;
			all = all && holds(&q[i], values, n);
		}
		if (term == 0 && !all)
			return false;
		if (term == 0 ? e->terms_n == 0 : any && all)
			return true;
	}
	return false;
}

Test(rules, are_judged_in_one_pass)
{
	struct random r = random_start("rules");
	unsigned yes = 0, no = 0;

	for (int round = 0; round < 20000; round++) {
		uint32_t values[REQUIREMENTS], term = 0, arg;
		struct requirement q[REQUIREMENTS] = { 0 };
		struct label labels[KEYS];
		struct event_shape e = { .requirements_n = random_below(&r, REQUIREMENTS + 1), .values_n = REQUIREMENTS };
		struct node n = { .generation = 1, .flags = NODE_PRESENT, .labels = labels };
		struct shape s = { .body = &e, .parts = { .requirements = q, .values = values } };

		for (uint32_t key = 0; key < KEYS; key++)
			if (random_below(&r, 2))
				labels[n.labels_n++] = (struct label){ .key = key, .value = random_below(&r, VALUES) };
		for (uint32_t i = 0; i < e.requirements_n; i++) {
			/* Terms without requirements between them. */
			term += random_below(&r, 2) ? random_below(&r, 3) : 0;
			q[i] = (struct requirement){ .term = term, .op = random_below(&r, REQUIRE_GT), .key = random_below(&r, KEYS),
						     .values_first = i, .values_n = 1 };
			values[i] = random_below(&r, VALUES);
		}
		e.terms_n = term + random_below(&r, 2);
		cr_assert_eq(shape_judges(&s, &n, &arg) == NODE_FITS, allowed(&e, q, values, &n), "round %d", round);
		if (allowed(&e, q, values, &n))
			yes++;
		else
			no++;
	}
	cr_assert(yes > 1000 && no > 1000);
}
