/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors from JSON to the core's answer: pods that a term matches, against the texts in
 * cJSON's tree.
 *
 * The input is a pod with terms of affinity and spread constraints.  A small world of other
 * pods and namespaces is made of the keys and values that its selectors name. */
#include "core/classes/selectors.h"
#include "frontend/decode/extract.h"

#include "tests/fuzz/fuzz.h"
#include "tests/unit/support_extract.h"
#include "tests/unit/support_limits.h"

#define BYTES_MAX 4096
#define TEXTS_MAX 400
#define CLAUSES_MAX 400
#define VALUES_MAX 1200
#define PODS 40
#define PARTS_MAX 40

/* clang-format off */
static const char *const words[] = {
	"\"app\"", "\"tier\"", "\"web\"", "\"db\"", "\"In\"", "\"NotIn\"", "\"Exists\"",
	"\"DoesNotExist\"", "{}", "[]", "null", ",", "\"labelSelector\":{},",
	"\"namespaceSelector\":{},", "\"namespaces\":[\"team-a\"],", "\"matchLabelKeys\":[\"app\"],",
	"\"mismatchLabelKeys\":[\"tier\"],", "{\"key\":\"app\",\"operator\":\"Exists\"},",
	"{\"key\":\"tier\",\"operator\":\"DoesNotExist\"},",
	"{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"web\"]},",
	"\"matchLabels\":{\"app\":\"web\"},", "\"values\":[\"a\",\"b\"],", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "selector", .bytes_max = BYTES_MAX, .words = words };

struct numbers {
	char *at[TEXTS_MAX];
	uint32_t n;
};

struct space {
	bool exists;
	struct pod_label labels[4];
	uint32_t n;
};

struct other {
	uint32_t namespace;
	struct pod_label labels[8]; /* sorted by key */
	uint32_t n;
	labels_id id;
};

/* All of one input. */
struct world {
	struct random r;
	struct numbers keys, values;
	struct requirement clauses[CLAUSES_MAX];
	uint32_t clauses_n;
	uint32_t lists[VALUES_MAX];
	uint32_t lists_n;
	bool too_much;
	uint32_t spaces_n;
	uint32_t space_names[6];
	struct space spaces[6];
	struct other pods[PODS];
	struct labels labels;
	struct selectors selectors;
};

static struct world w;

static uint32_t number_of(struct numbers *list, const char *text, size_t bytes)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (strlen(list->at[i]) == bytes && memcmp(list->at[i], text, bytes) == 0)
			return i;
	if (list->n == TEXTS_MAX) {
		w.too_much = true;
		return 0;
	}
	list->at[list->n] = strndup(text, bytes);
	return list->n++;
}

static void numbers_free(struct numbers *list)
{
	while (list->n > 0)
		free(list->at[--list->n]);
}

static uint32_t value_list(const struct text *texts, size_t n)
{
	uint32_t first = w.lists_n;

	if (n > VALUES_MAX - w.lists_n) {
		w.too_much = true;
		return first;
	}
	for (size_t i = 0; i < n; i++)
		w.lists[w.lists_n++] = number_of(&w.values, texts[i].at, texts[i].bytes);
	return first;
}

/* The rules as clauses; their first one. */
static const struct requirement *clauses_of(const struct node_term *rules)
{
	const struct requirement *first = &w.clauses[w.clauses_n];

	if (rules->n > CLAUSES_MAX - w.clauses_n) {
		w.too_much = true;
		return first;
	}
	for (size_t i = 0; i < rules->n; i++) {
		const struct node_rule *r = &rules->rules[i];

		w.clauses[w.clauses_n++] = (struct requirement){
			.op = r->op,
			.key = number_of(&w.keys, r->key.at, r->key.bytes),
			.values_first = value_list(r->values, r->values_n),
			.values_n = (uint32_t)r->values_n,
		};
	}
	return first;
}

static struct selector_part part_of(const struct pod_object *pod, const struct pod_term_object *t,
                                    bool incoming)
{
	struct selector_part part = { .clauses_n = (uint32_t)t->selector.rules.n,
		                          .incoming = incoming,
		                          .clause_values = w.lists };

	part.clauses = clauses_of(&t->selector.rules);
	part.flags = t->selector.is_given ? 0 : TERM_MATCHES_NOTHING;
	part.namespaces_n = (uint32_t)t->namespaces.n;
	part.namespaces = &w.lists[value_list(t->namespaces.at, t->namespaces.n)];
	if (t->namespaces.n == 0 && !t->namespace_selector.is_given) {
		part.namespaces_n = 1;
		part.namespaces = &w.lists[value_list(&pod->meta.namespace, 1)];
	}
	if (!t->namespace_selector.is_given)
		return part;
	part.flags |=
		t->namespace_selector.rules.n == 0 ? TERM_EVERY_NAMESPACE : TERM_NAMESPACES_CHOSEN;
	part.namespace_clauses_n = (uint32_t)t->namespace_selector.rules.n;
	part.namespace_clauses = clauses_of(&t->namespace_selector.rules);
	return part;
}

/* Labels of the known keys and values; sorted, since keys are gone through in order. */
static uint32_t any_labels(struct pod_label *out, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t key = 0; key < w.keys.n && n < most; key++)
		if (random_below(&w.r, w.keys.n) < most)
			out[n++] = (struct pod_label){ key, random_below(&w.r, w.values.n) };
	return n;
}

static void make_spaces(void)
{
	static const char *const names[] = { "default", "team-a", "nowhere" };

	for (uint32_t i = 0; i < 6; i++) {
		struct space *s = &w.spaces[i];

		w.space_names[i] = i < 3 ? number_of(&w.values, names[i], strlen(names[i]))
		                         : random_below(&w.r, w.values.n);
		for (uint32_t k = 0; k < i; k++)
			if (w.space_names[k] == w.space_names[i])
				return;
		w.spaces_n = i + 1;
		s->exists = i != 2;
		if (!s->exists)
			continue;
		s->n = any_labels(s->labels, 4);
		namespace_labels_set(&w.labels, w.space_names[i], s->labels, s->n);
	}
}

static void make_pods(void)
{
	bool fresh;

	for (uint32_t i = 0; i < PODS; i++) {
		struct other *p = &w.pods[i];

		p->namespace = w.space_names[random_below(&w.r, w.spaces_n)];
		p->n = any_labels(p->labels, 8);
		p->id = label_set_ref(&w.labels, p->namespace, p->labels, p->n, &fresh);
	}
}

static const char *label_text(const struct pod_label *labels, uint32_t n, const char *key)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(w.keys.at[labels[i].key], key) == 0)
			return w.values.at[labels[i].value];
	return NULL;
}

static bool expression_holds(const cJSON *rule, const struct pod_label *labels, uint32_t n)
{
	const char *operator= tree_string(tree_get(rule, "operator"));
	const char *value = label_text(labels, n, tree_string(tree_get(rule, "key")));
	const cJSON *one;
	bool listed = false;

	cJSON_ArrayForEach(one, tree_get(rule, "values")) listed |=
		value && strcmp(value, tree_string(one)) == 0;
	if (strcmp(operator, "In") == 0)
		return listed;
	if (strcmp(operator, "NotIn") == 0)
		return !listed;
	return strcmp(operator, "Exists") == 0 ? value != NULL : value == NULL;
}

/* A selector that is given.  Of lists that come twice all count, of a label the last value. */
static bool selector_holds(const cJSON *selector, const struct pod_label *labels, uint32_t n)
{
	const cJSON *part, *rule;

	cJSON_ArrayForEach(part, selector)
	{
		if (strcmp(part->string, "matchLabels") == 0)
			cJSON_ArrayForEach(rule, part)
			{
				const char *value = label_text(labels, n, rule->string), *wanted = "";
				const cJSON *other;

				cJSON_ArrayForEach(other, part) if (strcmp(other->string, rule->string) == 0)
					wanted = tree_string(other);
				if (!value || strcmp(value, wanted) != 0)
					return false;
			}
		if (strcmp(part->string, "matchExpressions") == 0)
			cJSON_ArrayForEach(rule, part) if (!expression_holds(rule, labels, n)) return false;
	}
	return true;
}

static bool selector_names(const cJSON *selector, const char *key)
{
	const cJSON *part, *rule;

	cJSON_ArrayForEach(part, selector)
	{
		if (strcmp(part->string, "matchLabels") == 0)
			cJSON_ArrayForEach(rule, part) if (strcmp(rule->string, key) == 0) return true;
		if (strcmp(part->string, "matchExpressions") == 0)
			cJSON_ArrayForEach(rule, part) if (strcmp(tree_string(tree_get(rule, "key")), key) ==
			                                   0) return true;
	}
	return false;
}

static const char *own_label(const cJSON *pod, const char *key)
{
	const cJSON *label, *found = NULL;

	cJSON_ArrayForEach(label, tree_of(pod, "metadata", "labels")) if (strcmp(label->string, key) ==
	                                                                  0) found = label;
	return found ? tree_string(found) : NULL;
}

/* As if the API server had written the keys into the selector, one after the other. */
static bool keys_hold(const cJSON *pod, const cJSON *term, const struct other *p)
{
	static const char *const members[] = { "matchLabelKeys", "mismatchLabelKeys" };
	const cJSON *key, *before;

	for (int i = 0; i < 2; i++)
		cJSON_ArrayForEach(key, tree_get(term, members[i]))
		{
			const char *own = own_label(pod, tree_string(key));
			const char *value = label_text(p->labels, p->n, tree_string(key));
			bool known = !own || selector_names(tree_get(term, "labelSelector"), tree_string(key));

			cJSON_ArrayForEach(
				before, tree_get(term, members[0])) if (i == 1 && strcmp(tree_string(before),
			                                                             tree_string(key)) == 0)
				known = true;
			if (!known && (value && strcmp(value, own) == 0) != (i == 0))
				return false;
		}
	return true;
}

/* Does a namespaceSelector also match what has no labels? */
static bool is_bare(const cJSON *selector)
{
	return selector_holds(selector, NULL, 0);
}

static bool namespace_holds(const cJSON *pod, const cJSON *term, uint32_t namespace, bool incoming)
{
	const cJSON *selector = tree_get(term, "namespaceSelector"),
				*list = tree_get(term, "namespaces"), *name;
	const struct space *s = NULL;

	cJSON_ArrayForEach(name, list) if (strcmp(tree_string(name), w.values.at[namespace]) ==
	                                   0) return true;
	if (!selector)
		return cJSON_GetArraySize(list) == 0 &&
		       strcmp(tree_string(tree_of(pod, "metadata", "namespace")), w.values.at[namespace]) ==
		           0;
	if (incoming && is_bare(selector))
		return true;
	for (uint32_t i = 0; i < w.spaces_n; i++)
		if (w.space_names[i] == namespace)
			s = &w.spaces[i];
	return selector_holds(selector, s ? s->labels : NULL, s ? s->n : 0);
}

static bool term_holds(const cJSON *pod, const cJSON *term, const struct other *p, bool incoming)
{
	return tree_get(term, "labelSelector") && namespace_holds(pod, term, p->namespace, incoming) &&
	       selector_holds(tree_get(term, "labelSelector"), p->labels, p->n) &&
	       keys_hold(pod, term, p);
}

static bool has(const uint32_t *list, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

/* An accepted selector, evaluated in all three ways. */
static void look(const struct selector_part *parts, uint32_t parts_n, const cJSON *pod,
                 const cJSON *const *terms, bool incoming)
{
	bool fresh;
	const selector_id id = selector_ref(&w.selectors, parts, parts_n, &fresh);
	uint32_t sets_n, matching_n, *matching, *sets = selector_sets(&w.selectors, id, &sets_n);

	for (uint32_t i = 0; i < PODS; i++) {
		const struct other *p = &w.pods[i];
		bool expected = true;

		for (uint32_t t = 0; t < parts_n; t++)
			expected = expected && term_holds(pod, terms[t], p, incoming);
		matching = selectors_matching(&w.selectors, p->id, &matching_n);
		if (selector_matches(&w.selectors, id, p->id) != expected)
			fuzz_found("pod %u is %s\n", i, expected ? "not matched" : "matched");
		if (has(sets, sets_n, p->id) != expected)
			fuzz_found("pod %u is %s by the list of sets\n", i,
			           expected ? "not matched" : "matched");
		if (has(matching, matching_n, id) != expected)
			fuzz_found("pod %u is %s by the list of selectors\n", i,
			           expected ? "not matched" : "matched");
		free(matching);
	}
	free(sets);
}

static void look_at_all(const struct pod_object *pod, const cJSON *tree, const cJSON *list)
{
	struct selector_part parts[2][PARTS_MAX];
	const cJSON *terms[PARTS_MAX], *term;
	uint32_t n = 0;

	cJSON_ArrayForEach(term, list)
	{
		terms[n] = term;
		parts[0][n] = part_of(pod, &pod->pod_terms[n], false);
		parts[1][n] = part_of(pod, &pod->pod_terms[n], true);
		n++;
	}
	if (w.too_much)
		return;
	/* Of the keys and values that were met. */
	make_spaces();
	if (w.too_much)
		return;
	make_pods();
	for (int incoming = 0; incoming < 2; incoming++) {
		for (uint32_t i = 0; i < n; i++)
			look(&parts[incoming][i], 1, tree, &terms[i], incoming);
		look(parts[incoming], n, tree, terms, incoming);
	}
}

static void run(const struct pod_object *pod, const cJSON *tree, size_t bytes)
{
	static const struct limits limits =
		LIMITS_WITH(.nodes = 4, .pods = 64, .shapes = 8, .names = 64, .resources = 4);
	const cJSON *spec = tree_get(tree, "spec"),
				*affinity = tree_get(tree_get(spec, "affinity"), "podAffinity");
	const cJSON *list = tree_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution");

	if (pod->pod_terms_n == 0 || pod->pod_terms_n > PARTS_MAX ||
	    (size_t)cJSON_GetArraySize(list) != pod->pod_terms_n)
		return;
	memset(&w, 0, sizeof(w));
	w.r = (struct random){ bytes };
	labels_init(&w.labels);
	selectors_init(&w.selectors, limits.nodes, &w.labels);
	number_of(&w.keys, "other", 5);
	number_of(&w.values, "other", 5);
	look_at_all(pod, tree, list);
	selectors_free(&w.selectors);
	labels_free(&w.labels);
	numbers_free(&w.keys);
	numbers_free(&w.values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct pod_object pod;
	struct arena arena = { 0 };
	struct decode_error error;
	cJSON *tree = bytes > 0 ? cJSON_ParseWithLength((const char *)data, bytes) : NULL;

	if (tree && extract_pod((const char *)data, bytes, &arena, &pod, &error) == 0)
		run(&pod, tree, bytes);
	cJSON_Delete(tree);
	arena_free(&arena);
	return 0;
}
