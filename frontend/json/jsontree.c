/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/jsontree.h"

#include <stdio.h>

static const struct tree nothing;

static bool read_value(struct json *j, struct tree *out);

static void add(struct tree *t, struct tree ***last, struct tree *item)
{
	**last = item;
	*last = (struct tree **)(uintptr_t)&item->next;
	t->n++;
}

static void read_list(struct json *j, struct tree *t)
{
	struct tree *first = NULL, **last = &first;

	t->kind = TREE_LIST;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		struct tree *item = arena_alloc(j->arena, sizeof(*item));

		if (!read_value(j, item))
			break;
		add(t, &last, item);
	}
	t->first = first;
}

static void read_map(struct json *j, struct tree *t)
{
	struct tree *first = NULL, **last = &first;
	struct text key;

	t->kind = TREE_MAP;
	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		struct tree *item = arena_alloc(j->arena, sizeof(*item));

		if (!read_value(j, item))
			break;
		item->key = key;
		add(t, &last, item);
	}
	t->first = first;
}

/* Without its contents: no field that is read is so deep, and parameters of drivers are any JSON.
 */
static void leave(struct json *j, struct tree *out, enum tree_kind kind)
{
	out->kind = kind;
	json_skip(j);
}

/* JSON_DEPTH limits this recursion. */
static bool read_value(struct json *j, struct tree *out)
{
	const char *from;

	*out = (struct tree){ 0 };
	if (json_null(j))
		return !j->failed;
	from = j->at;
	switch (j->at < j->end ? *j->at : '\0') {
	case '{':
		if (j->depth < JSON_DEPTH)
			read_map(j, out);
		else
			leave(j, out, TREE_MAP);
		break;
	case '[':
		if (j->depth < JSON_DEPTH)
			read_list(j, out);
		else
			leave(j, out, TREE_LIST);
		break;
	case '"':
		out->kind = TREE_TEXT;
		json_string(j, &out->text);
		break;
	case 't':
	case 'f':
		out->kind = TREE_BOOL;
		json_bool(j, &out->truth);
		break;
	default:
		out->kind = TREE_NUMBER;
		json_scalar(j, &out->text);
	}
	out->raw = (struct text){ from, (size_t)(j->at - from) };
	return !j->failed;
}

const struct tree *jsontree_read(const char *json, size_t bytes, struct arena *arena, char *error,
                                 size_t error_bytes)
{
	struct tree *t = arena_alloc(arena, sizeof(*t));
	char path[256];
	struct json j;

	json_begin(&j, json, bytes, arena);
	if (read_value(&j, t) && json_end(&j))
		return t;
	json_path(&j, path, sizeof(path));
	snprintf(error, error_bytes, "%s%s%s", path, path[0] != '\0' ? ": " : "", j.error);
	return NULL;
}

const struct tree *jsontree_find(const struct tree *t, struct text key)
{
	const struct tree *found = &nothing;

	if (t->kind == TREE_MAP)
		TREE_EACH(item, t)
	if (text_equal(item->key, key))
		found = item;
	return found;
}

const struct tree *jsontree_get(const struct tree *t, const char *key)
{
	return jsontree_find(t, text_of(key));
}

struct text jsontree_text(const struct tree *t)
{
	return t->kind == TREE_TEXT ? t->text : text_of("");
}

bool jsontree_true(const struct tree *t)
{
	return t->kind == TREE_BOOL && t->truth;
}

bool jsontree_int64(const struct tree *t, int64_t *out)
{
	struct arena unused = { 0 };
	struct json j;
	bool ok;

	if (t->kind != TREE_NUMBER)
		return false;
	json_begin(&j, t->raw.at, t->raw.bytes, &unused);
	ok = json_int64(&j, out) && json_end(&j);
	arena_free(&unused);
	return ok;
}
