/* SPDX-License-Identifier: Apache-2.0 */
/* Topology spread constraints of a pod, and what matchLabelKeys add to selectors. */
#include "frontend/decode/extract.h"

#include "frontend/decode/extract_label.h"
#include "frontend/json/json.h"

#include <stdlib.h>

static void extract_positive(struct json *j, int32_t *out)
{
	extract_int32(j, out);
	if (!j->failed && *out < 1)
		json_fail(j, "%d is less than 1", (int)*out);
}

/* Which of two words; null is the default, `second` false. */
static bool extract_choice(struct json *j, const char *first, const char *second, bool by_default)
{
	struct text t;

	if (json_null(j) || !json_string(j, &t))
		return by_default;
	if (!text_is(t, first) && !text_is(t, second))
		json_fail(j, "\"%.*s\" is neither %s nor %s", TEXT_SHOWN(t), first, second);
	return text_is(t, second);
}

static void set_flag(uint32_t *flags, uint32_t flag, bool on)
{
	*flags = on ? *flags | flag : *flags & ~flag;
}

static bool spread_member(struct json *j, struct text name, struct spread_object *s)
{
	if (text_is(name, "topologyKey"))
		json_string(j, &s->topology);
	else if (text_is(name, "maxSkew"))
		extract_positive(j, &s->max_skew);
	else if (text_is(name, "minDomains")) {
		s->min_domains = 0;
		if (!json_null(j))
			extract_positive(j, &s->min_domains);
	} else if (text_is(name, "labelSelector"))
		extract_selector(j, &s->selector);
	else if (text_is(name, "matchLabelKeys"))
		extract_texts(j, &s->match_keys);
	else if (text_is(name, "nodeAffinityPolicy"))
		set_flag(&s->flags, SPREAD_IGNORES_AFFINITY, extract_choice(j, "Honor", "Ignore", false));
	else if (text_is(name, "nodeTaintsPolicy"))
		set_flag(&s->flags, SPREAD_HONORS_TAINTS, extract_choice(j, "Ignore", "Honor", false));
	else
		return false;
	return true;
}

/* What the API server refuses.  Called while the constraint is what is being read. */
static void spread_check(struct json *j, const struct spread_object *s, bool has_action)
{
	if (!label_key_is_valid(s->topology))
		json_fail(
			j, s->topology.bytes > 0 ? "\"%.*s\" is not the key of a label" : "has no topologyKey",
			TEXT_SHOWN(s->topology));
	if (!has_action)
		json_fail(j, "has no whenUnsatisfiable");
	if (s->max_skew == 0)
		json_fail(j, "has no maxSkew");
	if (s->min_domains > 0 && !(s->flags & SPREAD_HARD))
		json_fail(j, "has minDomains without DoNotSchedule");
	if (!s->selector.is_given && s->match_keys.n > 0)
		json_fail(j, "has matchLabelKeys without a labelSelector");
}

static void extract_spread(struct json *j, struct spread_object *s)
{
	bool is_given = json_object(j), has_action = false;
	struct text name;

	s->topology = TEXT_NONE;
	while (is_given && json_member(j, &name)) {
		if (text_is(name, "whenUnsatisfiable")) {
			has_action = true;
			set_flag(&s->flags, SPREAD_HARD,
			         extract_choice(j, "ScheduleAnyway", "DoNotSchedule", false));
		} else if (!spread_member(j, name, s)) {
			json_skip(j);
		}
	}
	spread_check(j, s, has_action);
}

void extract_spreads(struct json *j, struct pod_object *out)
{
	struct spread_object *s;

	out->spreads_n = 0;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		s = extract_more(j, out->spreads, out->spreads_n, &out->spreads_room, sizeof(*s));
		if (!s)
			return;
		out->spreads = s;
		extract_spread(j, &s[out->spreads_n++]);
	}
}

/* ---- matchLabelKeys ------------------------------------------------------------- */

static int key_order(const void *key, const void *pair)
{
	return text_order(*(const struct text *)key, ((const struct pair *)pair)->key);
}

/* Labels are sorted once they are read. */
static const struct text *labels_find(const struct pairs *labels, struct text key)
{
	const struct pair *found = NULL;

	if (labels->n > 0)
		found = bsearch(&key, labels->at, labels->n, sizeof(*labels->at), key_order);
	return found ? &found->value : NULL;
}

static void add_rule(struct json *j, struct selector_object *s, uint32_t op, struct text key,
                     const struct text *value)
{
	struct node_rule *rules =
		extract_more(j, s->rules.rules, s->rules.n, &s->rules.room, sizeof(*rules));
	struct text *values = arena_alloc(j->arena, sizeof(*values));

	if (!rules || !values) {
		json_no_memory(j);
		return;
	}
	s->rules.rules = rules;
	*values = *value;
	rules[s->rules.n++] =
		(struct node_rule){ .key = key, .values = values, .values_n = 1, .op = op };
}

/* The API server refuses a key that the selector has as well: if it is there, then the
 * API server wrote it, with the label of that time. */
static bool has_key(const struct selector_object *s, struct text key)
{
	for (size_t i = 0; i < s->rules.n; i++)
		if (text_equal(s->rules.rules[i].key, key))
			return true;
	return false;
}

static void merge_keys(struct json *j, const struct pairs *labels, const struct texts *keys,
                       struct selector_object *s, uint32_t op)
{
	for (size_t i = 0; i < keys->n && !j->failed; i++) {
		const struct text *value = labels_find(labels, keys->at[i]);

		if (value && !has_key(s, keys->at[i]))
			add_rule(j, s, op, keys->at[i], value);
	}
}

static bool has_rule(const struct selector_object *s, struct text key, const struct text *value)
{
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct node_rule *r = &s->rules.rules[i];

		if (r->op == REQUIRE_IN && r->values_n == 1 && text_equal(r->key, key) &&
		    text_equal(r->values[0], *value))
			return true;
	}
	return false;
}

/* kube-scheduler adds those of a spread constraint whatever the API server has done: when
 * the label has changed since, nothing matches. */
static void merge_spread_keys(struct json *j, const struct pairs *labels, struct spread_object *s)
{
	for (size_t i = 0; i < s->match_keys.n && !j->failed; i++) {
		const struct text *value = labels_find(labels, s->match_keys.at[i]);

		if (value && !has_rule(&s->selector, s->match_keys.at[i], value))
			add_rule(j, &s->selector, REQUIRE_IN, s->match_keys.at[i], value);
	}
}

void extract_match_keys(struct json *j, struct pod_object *out)
{
	for (size_t i = 0; i < out->pod_terms_n; i++) {
		struct pod_term_object *t = &out->pod_terms[i];

		merge_keys(j, &out->meta.labels, &t->match_keys, &t->selector, REQUIRE_IN);
		merge_keys(j, &out->meta.labels, &t->mismatch_keys, &t->selector, REQUIRE_NOT_IN);
	}
	for (size_t i = 0; i < out->spreads_n; i++)
		merge_spread_keys(j, &out->meta.labels, &out->spreads[i]);
}
