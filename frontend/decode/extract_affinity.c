/* SPDX-License-Identifier: Apache-2.0 */
/* spec.affinity of a pod. */
#include "frontend/decode/fields.h"

#include "frontend/decode/extract_label.h"

static void extract_weight(struct json *j, void *out)
{
	int64_t weight;

	if (!json_int64(j, &weight))
		return;
	if (weight < 1 || weight > 100)
		json_fail(j, "%lld is not a weight from 1 to 100", (long long)weight);
	else
		*(int32_t *)out = (int32_t)weight;
}

static void need_weight(struct json *j, int32_t weight)
{
	if (weight == 0)
		json_fail(j, "has no weight");
}

static const struct json_field preference_fields[] = {
	JSON_FIELD("weight", extract_weight, struct preference_object, weight),
	JSON_FIELD("preference", extract_node_term, struct preference_object, term),
};

static void extract_preference(struct json *j, void *pod)
{
	struct pod_object *out = pod;
	struct preference_object p = { .weight = 0 };

	json_fields(j, preference_fields, &p);
	need_weight(j, p.weight);
	if (p.term.n > 0) /* kube-scheduler ignores an empty term:
	                   * nodeaffinity.NewPreferredSchedulingTerms */
		*EXTRACT_ADD(j->arena, out->preferences, out->preferences_n, out->preferences_cap) = p;
}

static void extract_preferences(struct json *j, void *pod)
{
	((struct pod_object *)pod)->preferences_n = 0;
	json_items(j, extract_preference, pod);
}

static void extract_required(struct json *j, void *pod)
{
	struct pod_object *out = pod;

	out->has_node_terms = extract_node_terms(j, &out->terms, &out->terms_n, &out->terms_cap);
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static const struct json_field node_affinity_fields[] = {
	JSON_WHOLE(REQUIRED, extract_required),
	JSON_WHOLE(PREFERRED, extract_preferences),
};

static void extract_node_affinity(struct json *j, void *pod)
{
	struct pod_object *out = pod;

	out->preferences_n = 0;
	out->terms_n = 0;
	out->has_node_terms = false;
	json_fields(j, node_affinity_fields, out);
}

static const struct json_field term_fields[] = {
	JSON_FIELD("labelSelector", extract_selector, struct pod_term_object, selector),
	JSON_FIELD("namespaces", extract_texts, struct pod_term_object, namespaces),
	JSON_FIELD("topologyKey", json_field_text, struct pod_term_object, topology),
	JSON_FIELD("namespaceSelector", extract_selector, struct pod_term_object, namespace_selector),
	JSON_FIELD("matchLabelKeys", extract_texts, struct pod_term_object, match_keys),
	JSON_FIELD("mismatchLabelKeys", extract_texts, struct pod_term_object, mismatch_keys),
};

/* Reports what the API server would refuse. */
static void term_check(struct json *j, const struct pod_term_object *t)
{
	if (!label_key_is_valid(t->topology))
		json_fail(
			j, t->topology.bytes > 0 ? "\"%.*s\" is not the key of a label" : "has no topologyKey",
			TEXT_SHOWN(t->topology));
	if (!t->selector.is_given && t->match_keys.n + t->mismatch_keys.n > 0)
		json_fail(j, "has %s without a labelSelector",
		          t->match_keys.n > 0 ? "matchLabelKeys" : "mismatchLabelKeys");
}

/* Replaces all but kind and weight. */
static void extract_pod_term(struct json *j, void *term)
{
	struct pod_term_object *t = term;

	*t = (struct pod_term_object){ .kind = t->kind, .weight = t->weight, .topology = TEXT_NONE };
	json_fields(j, term_fields, t);
	term_check(j, t);
}

struct weighted_read {
	struct pod_term_object term;
	bool has_term;
};

static void extract_inner_term(struct json *j, void *weighted)
{
	struct weighted_read *r = weighted;

	r->has_term = true;
	extract_pod_term(j, &r->term);
}

static const struct json_field weighted_fields[] = {
	JSON_FIELD("weight", extract_weight, struct weighted_read, term.weight),
	JSON_WHOLE("podAffinityTerm", extract_inner_term),
};

static void extract_weighted_term(struct json *j, struct pod_term_object *t)
{
	struct weighted_read r = { .term = *t };

	json_fields(j, weighted_fields, &r);
	*t = r.term;
	need_weight(j, t->weight);
	if (!r.has_term)
		json_fail(j, "has no podAffinityTerm");
}

/* A list that occurs again replaces the former one. */
static void terms_drop(struct pod_object *out, uint32_t kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->pod_terms_n; i++)
		if (out->pod_terms[i].kind != kind)
			out->pod_terms[kept++] = out->pod_terms[i];
	out->pod_terms_n = kept;
}

static void extract_pod_terms(struct json *j, struct pod_object *out, uint32_t kind)
{
	terms_drop(out, kind);
	if (!json_array(j))
		return;
	while (json_item(j)) {
		struct pod_term_object *t =
			EXTRACT_ADD(j->arena, out->pod_terms, out->pod_terms_n, out->pod_terms_cap);

		t->kind = kind;
		if (kind == POD_TERM_PREFERRED || kind == POD_TERM_PREFERRED_ANTI)
			extract_weighted_term(j, t);
		else
			extract_pod_term(j, t);
	}
}

static void extract_pod_required(struct json *j, void *pod)
{
	extract_pod_terms(j, pod, POD_TERM_AFFINITY);
}

static void extract_pod_preferred(struct json *j, void *pod)
{
	extract_pod_terms(j, pod, POD_TERM_PREFERRED);
}

static void extract_anti_required(struct json *j, void *pod)
{
	extract_pod_terms(j, pod, POD_TERM_ANTI_AFFINITY);
}

static void extract_anti_preferred(struct json *j, void *pod)
{
	extract_pod_terms(j, pod, POD_TERM_PREFERRED_ANTI);
}

static const struct json_field pod_affinity_fields[] = {
	JSON_WHOLE(REQUIRED, extract_pod_required),
	JSON_WHOLE(PREFERRED, extract_pod_preferred),
};

static const struct json_field anti_affinity_fields[] = {
	JSON_WHOLE(REQUIRED, extract_anti_required),
	JSON_WHOLE(PREFERRED, extract_anti_preferred),
};

static void extract_pod_affinity(struct json *j, void *pod)
{
	terms_drop(pod, POD_TERM_AFFINITY);
	terms_drop(pod, POD_TERM_PREFERRED);
	json_fields(j, pod_affinity_fields, pod);
}

static void extract_anti_affinity(struct json *j, void *pod)
{
	terms_drop(pod, POD_TERM_ANTI_AFFINITY);
	terms_drop(pod, POD_TERM_PREFERRED_ANTI);
	json_fields(j, anti_affinity_fields, pod);
}

static const struct json_field affinity_fields[] = {
	JSON_WHOLE("nodeAffinity", extract_node_affinity),
	JSON_WHOLE("podAffinity", extract_pod_affinity),
	JSON_WHOLE("podAntiAffinity", extract_anti_affinity),
};

void extract_affinity(struct json *j, void *out)
{
	json_fields(j, affinity_fields, out);
}
