/* SPDX-License-Identifier: Apache-2.0 */
/* spec.affinity of a pod. */
#include "frontend/decode/extract.h"

#include "frontend/decode/extract_label.h"
#include "frontend/json/json.h"

static void extract_weight(struct json *j, int32_t *out)
{
	int64_t weight;

	if (!json_int64(j, &weight))
		return;
	if (weight < 1 || weight > 100)
		json_fail(j, "%lld is not a weight from 1 to 100", (long long)weight);
	else
		*out = (int32_t)weight;
}

/* Called while the term is what is being read. */
static void need_weight(struct json *j, int32_t weight)
{
	if (weight == 0)
		json_fail(j, "has no weight");
}

/* ---- node affinity ------------------------------------------------------------ */

static void extract_preference(struct json *j, struct pod_object *out)
{
	struct preference_object p = { 0 }, *grown;
	bool is_given = json_object(j);
	struct text name;

	while (is_given && json_member(j, &name)) {
		if (text_is(name, "weight"))
			extract_weight(j, &p.weight);
		else if (text_is(name, "preference"))
			extract_node_term(j, &p.term);
		else
			json_skip(j);
	}
	need_weight(j, p.weight);
	if (p.term.n == 0) /* kube-scheduler passes it over */
		return;
	grown = extract_more(j, out->preferences, out->preferences_n, &out->preferences_room,
	                     sizeof(*grown));
	if (!grown)
		return;
	out->preferences = grown;
	grown[out->preferences_n++] = p;
}

static void extract_node_affinity(struct json *j, struct pod_object *out)
{
	struct text name;

	out->preferences_n = 0;
	out->terms_n = 0;
	out->has_node_terms = false;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "requiredDuringSchedulingIgnoredDuringExecution")) {
			out->has_node_terms =
				extract_node_terms(j, &out->terms, &out->terms_n, &out->terms_room);
		} else if (text_is(name, "preferredDuringSchedulingIgnoredDuringExecution")) {
			out->preferences_n = 0;
			if (json_array(j))
				while (json_item(j))
					extract_preference(j, out);
		} else {
			json_skip(j);
		}
	}
}

/* ---- pod affinity --------------------------------------------------------------- */

static bool term_member(struct json *j, struct text name, struct pod_term_object *t)
{
	if (text_is(name, "topologyKey"))
		json_string(j, &t->topology);
	else if (text_is(name, "labelSelector"))
		extract_selector(j, &t->selector);
	else if (text_is(name, "namespaceSelector"))
		extract_selector(j, &t->namespace_selector);
	else if (text_is(name, "namespaces"))
		extract_texts(j, &t->namespaces);
	else if (text_is(name, "matchLabelKeys"))
		extract_texts(j, &t->match_keys);
	else if (text_is(name, "mismatchLabelKeys"))
		extract_texts(j, &t->mismatch_keys);
	else
		return false;
	return true;
}

/* What the API server refuses.  Called while the term is what is being read. */
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

/* In place of what was there, but for kind and weight. */
static void extract_pod_term(struct json *j, struct pod_term_object *t)
{
	struct text name;

	*t = (struct pod_term_object){ .kind = t->kind, .weight = t->weight, .topology = TEXT_NONE };
	if (json_object(j))
		while (json_member(j, &name))
			if (!term_member(j, name, t))
				json_skip(j);
	term_check(j, t);
}

/* One of preferredDuringScheduling... */
static void extract_weighted_term(struct json *j, struct pod_term_object *t)
{
	bool is_given = json_object(j), any = false;
	struct text name;

	while (is_given && json_member(j, &name)) {
		if (text_is(name, "weight")) {
			extract_weight(j, &t->weight);
		} else if (text_is(name, "podAffinityTerm")) {
			any = true;
			extract_pod_term(j, t);
		} else {
			json_skip(j);
		}
	}
	need_weight(j, t->weight);
	if (!any)
		json_fail(j, "has no podAffinityTerm");
}

/* Let a list that comes again replace the former one. */
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
	bool weighted = kind == POD_TERM_PREFERRED || kind == POD_TERM_PREFERRED_ANTI;
	struct pod_term_object *t;

	terms_drop(out, kind);
	if (!json_array(j))
		return;
	while (json_item(j)) {
		t = extract_more(j, out->pod_terms, out->pod_terms_n, &out->pod_terms_room, sizeof(*t));
		if (!t)
			return;
		out->pod_terms = t;
		t += out->pod_terms_n++;
		t->kind = kind;
		if (weighted)
			extract_weighted_term(j, t);
		else
			extract_pod_term(j, t);
	}
}

static void extract_pod_affinity(struct json *j, struct pod_object *out, uint32_t required,
                                 uint32_t preferred)
{
	struct text name;

	terms_drop(out, required);
	terms_drop(out, preferred);
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "requiredDuringSchedulingIgnoredDuringExecution"))
			extract_pod_terms(j, out, required);
		else if (text_is(name, "preferredDuringSchedulingIgnoredDuringExecution"))
			extract_pod_terms(j, out, preferred);
		else
			json_skip(j);
	}
}

void extract_affinity(struct json *j, struct pod_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "nodeAffinity"))
			extract_node_affinity(j, out);
		else if (text_is(name, "podAffinity"))
			extract_pod_affinity(j, out, POD_TERM_AFFINITY, POD_TERM_PREFERRED);
		else if (text_is(name, "podAntiAffinity"))
			extract_pod_affinity(j, out, POD_TERM_ANTI_AFFINITY, POD_TERM_PREFERRED_ANTI);
		else
			json_skip(j);
	}
}
