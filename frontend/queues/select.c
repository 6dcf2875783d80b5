/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that select namespaces by labels. */
#include "frontend/queues/read.h"

#include "frontend/decode/eviction.h"
#include "frontend/decode/fields.h"
#include "ipc/memory.h"

#include <stdlib.h>

/* Unlike the API server, which ignores them, other fields are refused: a selector whose only field
 * is misspelled would select every namespace. */
static void fields_check(struct json *j)
{
	struct text key;

	if (!json_object(j))
		return;
	while (json_member(j, &key)) {
		if (!text_is(key, "matchLabels") && !text_is(key, "matchExpressions"))
			json_fail(j, "not a field of a label selector: matchLabels and matchExpressions are");
		json_skip(j);
	}
}

static void selector_read(struct json *j, struct text raw, struct queues_read *tree,
                          struct queue_read *q)
{
	const char *text = arena_copy(&tree->arena, raw);
	struct selector_object selector = { 0 };
	struct json own;
	char path[256];

	json_begin(&own, text, raw.bytes, &tree->arena);
	fields_check(&own);
	if (!own.failed) {
		json_begin(&own, text, raw.bytes, &tree->arena);
		extract_selector(&own, &selector);
	}
	if (own.failed) {
		json_path(&own, path, sizeof(path));
		json_fail(j, "%s: %s", path, own.error);
		return;
	}
	q->selectors = must_grow(q->selectors, (q->selectors_n + 1) * sizeof(*q->selectors));
	q->selectors[q->selectors_n++] = selector;
	tree->selects = true;
}

void queue_namespaces_read(struct json *j, struct queues_read *tree, struct queue_read *q)
{
	struct text raw, name;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		struct json own;

		if (!json_raw(j, &raw))
			return;
		if (raw.bytes > 0 && raw.at[0] == '{') {
			selector_read(j, raw, tree, q);
			continue;
		}
		json_begin(&own, raw.at, raw.bytes, &tree->arena);
		if (json_string(&own, &name))
			queue_namespace_add(q, name);
		else
			json_fail(j, "neither a name nor a label selector");
	}
}

size_t queues_select(const struct queues_read *q, const struct pairs *labels)
{
	for (size_t i = 1; i < q->n && q->selects; i++)
		for (size_t k = 0; k < q->queues[i].selectors_n; k++)
			if (selector_object_matches(&q->queues[i].selectors[k], labels))
				return i;
	return SIZE_MAX;
}
