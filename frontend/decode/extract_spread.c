/* SPDX-License-Identifier: Apache-2.0 */
/* Topology spread constraints of a pod, and the rules that matchLabelKeys add to selectors. */
#include "frontend/decode/fields.h"

#include "frontend/decode/extract_label.h"

#include <stdlib.h>

struct spread_read {
	struct spread_object s;
	bool has_action;
};

static void extract_positive(struct json *j, void *out)
{
	extract_int32(j, out);
	if (!j->failed && *(int32_t *)out < 1)
		json_fail(j, "%d is less than 1", (int)*(int32_t *)out);
}

static void extract_min_domains(struct json *j, void *out)
{
	*(int32_t *)out = 0;
	if (!json_null(j))
		extract_positive(j, out);
}

/* Sets or clears the flag by which of two words it is; null is `off`. */
static void extract_flag(struct json *j, const char *off, const char *on, uint32_t *flags,
                         uint32_t flag)
{
	struct text t = TEXT_NONE;
	bool is_given = !json_null(j) && json_string(j, &t);

	if (is_given && !text_is(t, off) && !text_is(t, on))
		json_fail(j, "\"%.*s\" is neither %s nor %s", TEXT_SHOWN(t), off, on);
	*flags = is_given && text_is(t, on) ? *flags | flag : *flags & ~flag;
}

static void extract_action(struct json *j, void *spread)
{
	struct spread_read *r = spread;

	r->has_action = true;
	extract_flag(j, "ScheduleAnyway", "DoNotSchedule", &r->s.flags, SPREAD_HARD);
}

static void extract_affinity_policy(struct json *j, void *flags)
{
	extract_flag(j, "Honor", "Ignore", flags, SPREAD_IGNORES_AFFINITY);
}

static void extract_taints_policy(struct json *j, void *flags)
{
	extract_flag(j, "Ignore", "Honor", flags, SPREAD_HONORS_TAINTS);
}

static const struct json_field spread_fields[] = {
	JSON_FIELD("maxSkew", extract_positive, struct spread_read, s.max_skew),
	JSON_FIELD("topologyKey", json_field_text, struct spread_read, s.topology),
	JSON_WHOLE("whenUnsatisfiable", extract_action),
	JSON_FIELD("labelSelector", extract_selector, struct spread_read, s.selector),
	JSON_FIELD("minDomains", extract_min_domains, struct spread_read, s.min_domains),
	JSON_FIELD("nodeAffinityPolicy", extract_affinity_policy, struct spread_read, s.flags),
	JSON_FIELD("nodeTaintsPolicy", extract_taints_policy, struct spread_read, s.flags),
	JSON_FIELD("matchLabelKeys", extract_texts, struct spread_read, s.match_keys),
};

/* Reports what the API server would refuse. */
static void spread_check(struct json *j, const struct spread_read *r)
{
	const struct spread_object *s = &r->s;

	if (!label_key_is_valid(s->topology))
		json_fail(
			j, s->topology.bytes > 0 ? "\"%.*s\" is not the key of a label" : "has no topologyKey",
			TEXT_SHOWN(s->topology));
	if (!r->has_action)
		json_fail(j, "has no whenUnsatisfiable");
	if (s->max_skew == 0)
		json_fail(j, "has no maxSkew");
	if (s->min_domains > 0 && !(s->flags & SPREAD_HARD))
		json_fail(j, "has minDomains without DoNotSchedule");
	if (!s->selector.is_given && s->match_keys.n > 0)
		json_fail(j, "has matchLabelKeys without a labelSelector");
}

static void extract_spread(struct json *j, void *pod)
{
	struct pod_object *out = pod;
	struct spread_read r = { .s = { .topology = TEXT_NONE } };

	json_fields(j, spread_fields, &r);
	spread_check(j, &r);
	*EXTRACT_ADD(j->arena, out->spreads, out->spreads_n, out->spreads_cap) = r.s;
}

void extract_spreads(struct json *j, void *pod)
{
	((struct pod_object *)pod)->spreads_n = 0;
	json_items(j, extract_spread, pod);
}

static int key_order(const void *key, const void *pair)
{
	return text_order(*(const struct text *)key, ((const struct pair *)pair)->key);
}

/* Which labels of a pod a selector has, so that as many keys as labels, and as many rules, cost no
 * square. */
struct label_marks {
	const struct pairs *labels; /* sorted when they were read */
	uint32_t *at;               /* by label: `selector` if that one has it */
	uint32_t selector;
};

/* Of a label of that key, or NULL. */
static uint32_t *mark_of(const struct label_marks *m, struct text key, const struct text **value)
{
	const struct pair *found = NULL;

	if (m->labels->n > 0)
		found = bsearch(&key, m->labels->at, m->labels->n, sizeof(*found), key_order);
	*value = found ? &found->value : NULL;
	return found ? &m->at[found - m->labels->at] : NULL;
}

static void add_rule(struct arena *arena, struct selector_object *s, uint32_t op, struct text key,
                     const struct text *value)
{
	struct text *values = arena_alloc(arena, sizeof(*values));

	*values = *value;
	*EXTRACT_ADD(arena, s->rules.rules, s->rules.n, s->rules.cap) =
		(struct node_rule){ .key = key, .values = values, .values_n = 1, .op = op };
}

static void marks_next(struct label_marks *m, struct arena *arena)
{
	if (!m->at)
		m->at = arena_array(arena, m->labels->n, sizeof(*m->at));
	m->selector++;
}

static void add_rules(struct arena *arena, struct label_marks *m, const struct texts *keys,
                      struct selector_object *s, uint32_t op)
{
	for (size_t i = 0; i < keys->n; i++) {
		const struct text *value;
		uint32_t *mark = mark_of(m, keys->at[i], &value);

		if (!mark || *mark == m->selector)
			continue;
		*mark = m->selector;
		add_rule(arena, s, op, keys->at[i], value);
	}
}

/* The API server refuses a key that the selector also has: if it is there, the API server added
 * it, with the label of that time. */
static void merge_keys(struct arena *arena, struct label_marks *m, const struct texts *keys,
                       struct selector_object *s, uint32_t op)
{
	if (keys->n == 0)
		return;
	marks_next(m, arena);
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct text *value;
		uint32_t *mark = mark_of(m, s->rules.rules[i].key, &value);

		if (mark)
			*mark = m->selector;
	}
	add_rules(arena, m, keys, s, op);
}

/* kube-scheduler adds those of a spread constraint even if the API server has done so
 * (podtopologyspread.filterTopologySpreadConstraints): if the label has changed since then,
 * nothing matches. */
static void merge_spread_keys(struct arena *arena, struct label_marks *m, struct spread_object *s)
{
	if (s->match_keys.n == 0)
		return;
	marks_next(m, arena);
	for (size_t i = 0; i < s->selector.rules.n; i++) {
		const struct node_rule *r = &s->selector.rules.rules[i];
		const struct text *value;
		uint32_t *mark = mark_of(m, r->key, &value);

		if (mark && r->op == REQUIRE_IN && r->values_n == 1 && text_equal(r->values[0], *value))
			*mark = m->selector;
	}
	add_rules(arena, m, &s->match_keys, &s->selector, REQUIRE_IN);
}

void extract_match_keys(struct pod_object *out, struct arena *arena)
{
	struct label_marks m = { .labels = &out->meta.labels };

	for (size_t i = 0; i < out->pod_terms_n; i++) {
		struct pod_term_object *t = &out->pod_terms[i];

		merge_keys(arena, &m, &t->match_keys, &t->selector, REQUIRE_IN);
		merge_keys(arena, &m, &t->mismatch_keys, &t->selector, REQUIRE_NOT_IN);
	}
	for (size_t i = 0; i < out->spreads_n; i++)
		merge_spread_keys(arena, &m, &out->spreads[i]);
}
