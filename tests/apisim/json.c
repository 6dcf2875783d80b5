/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool name_is(const struct as_json *member, const char *name, size_t bytes)
{
	return member->name_bytes == bytes && memcmp(member->name, name, bytes) == 0;
}

struct as_json *as_json_get(const struct as_json *object, const char *name)
{
	size_t bytes = strlen(name);

	if (object == NULL || object->kind != AS_OBJECT)
		return NULL;
	for (struct as_json *m = object->first; m != NULL; m = m->next)
		if (name_is(m, name, bytes))
			return m;
	return NULL;
}

struct as_json *as_json_find(const struct as_json *object, ...)
{
	const struct as_json *at = object;
	const char *name;
	va_list list;

	va_start(list, object);
	while (at != NULL && (name = va_arg(list, const char *)) != NULL)
		at = as_json_get(at, name);
	va_end(list);
	return (struct as_json *)(uintptr_t)at;
}

struct as_json *as_json_array(const struct as_json *object, const char *name)
{
	struct as_json *m = as_json_get(object, name);

	return m != NULL && m->kind == AS_ARRAY ? m : NULL;
}

const char *as_json_string(const struct as_json *object, const char *name)
{
	const struct as_json *m = as_json_get(object, name);

	return m != NULL && m->kind == AS_STRING ? m->text : NULL;
}

bool as_json_integer(const struct as_json *object, const char *name, int64_t *out)
{
	const struct as_json *m = as_json_get(object, name);
	char *end;
	long long value;

	if (m == NULL || m->kind != AS_NUMBER)
		return false;
	value = strtoll(m->text, &end, 10);
	if (end != m->text + m->bytes)
		return false;
	*out = value;
	return true;
}

bool as_json_true(const struct as_json *object, const char *name)
{
	const struct as_json *m = as_json_get(object, name);

	return m != NULL && m->kind == AS_TRUE;
}

static bool members_equal(const struct as_json *a, const struct as_json *b)
{
	size_t n = 0;

	for (const struct as_json *m = a->first; m != NULL; m = m->next, n++) {
		const struct as_json *other = as_json_get(b, m->name);

		if (other == NULL || !as_json_equal(m, other))
			return false;
	}
	for (const struct as_json *m = b->first; m != NULL; m = m->next)
		n--;
	return n == 0;
}

bool as_json_equal(const struct as_json *a, const struct as_json *b)
{
	const struct as_json *x, *y;

	if (a == NULL || b == NULL)
		return a == b;
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case AS_NUMBER:
	case AS_STRING:
		return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
	case AS_OBJECT:
		return members_equal(a, b);
	case AS_ARRAY:
		for (x = a->first, y = b->first; x != NULL && y != NULL; x = x->next, y = y->next)
			if (!as_json_equal(x, y))
				return false;
		return x == y;
	default:
		return true;
	}
}

struct as_json *as_json_new(struct as_arena *a, enum as_json_kind kind)
{
	struct as_json *v = as_arena_alloc(a, sizeof(*v));

	*v = (struct as_json){ .kind = kind };
	return v;
}

static struct as_json *new_text(struct as_arena *a, enum as_json_kind kind, const char *text)
{
	struct as_json *v = as_json_new(a, kind);
	size_t bytes = strlen(text);

	v->text = as_arena_copy(a, text, bytes);
	v->bytes = (uint32_t)bytes;
	return v;
}

struct as_json *as_json_new_string(struct as_arena *a, const char *text)
{
	return new_text(a, AS_STRING, text);
}

struct as_json *as_json_new_integer(struct as_arena *a, int64_t value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%lld", (long long)value);
	return new_text(a, AS_NUMBER, digits);
}

/* Texts are shared: nothing in a tree is changed in place. */
struct as_json *as_json_copy(struct as_arena *a, const struct as_json *value)
{
	struct as_json *v = as_json_new(a, value->kind);

	*v = *value;
	v->first = v->last = v->next = NULL;
	for (const struct as_json *m = value->first; m != NULL; m = m->next) {
		struct as_json *copy = as_json_copy(a, m);

		as_json_append(v, copy);
	}
	return v;
}

void as_json_append(struct as_json *array, struct as_json *value)
{
	value->next = NULL;
	if (array->last == NULL)
		array->first = value;
	else
		array->last->next = value;
	array->last = value;
}

void as_json_set(struct as_arena *a, struct as_json *object, const char *name,
                 struct as_json *value)
{
	size_t bytes = strlen(name);
	struct as_json **link = &object->first;

	value->name = as_arena_copy(a, name, bytes);
	value->name_bytes = (uint32_t)bytes;
	for (; *link != NULL; link = &(*link)->next) {
		struct as_json *old = *link;

		if (old == value)
			return;
		if (!name_is(old, name, bytes))
			continue;
		value->next = old->next;
		*link = value;
		if (object->last == old)
			object->last = value;
		return;
	}
	as_json_append(object, value);
}

void as_json_set_string(struct as_arena *a, struct as_json *object, const char *name,
                        const char *text)
{
	as_json_set(a, object, name, as_json_new_string(a, text));
}

void as_json_set_integer(struct as_arena *a, struct as_json *object, const char *name,
                         int64_t value)
{
	as_json_set(a, object, name, as_json_new_integer(a, value));
}

void as_json_default_string(struct as_arena *a, struct as_json *object, const char *name,
                            const char *text)
{
	const struct as_json *old = as_json_get(object, name);

	if (old == NULL || old->kind == AS_NULL || (old->kind == AS_STRING && old->bytes == 0))
		as_json_set_string(a, object, name, text);
}

void as_json_remove(struct as_json *object, const char *name)
{
	size_t bytes = strlen(name);
	struct as_json *before = NULL;

	if (object == NULL || object->kind != AS_OBJECT)
		return;
	for (struct as_json *m = object->first; m != NULL; before = m, m = m->next) {
		if (!name_is(m, name, bytes))
			continue;
		if (before == NULL)
			object->first = m->next;
		else
			before->next = m->next;
		if (object->last == m)
			object->last = before;
		return;
	}
}

void as_json_remove_element(struct as_json *array, const struct as_json *element)
{
	struct as_json *last = NULL;

	for (struct as_json **link = &array->first; *link != NULL;) {
		if (*link == element) {
			*link = element->next;
			continue;
		}
		last = *link;
		link = &(*link)->next;
	}
	array->last = last;
}

void as_json_drop_nulls(struct as_json *value)
{
	struct as_json **link = &value->first, *last = NULL;

	while (*link != NULL) {
		struct as_json *m = *link;

		if (m->kind == AS_NULL && value->kind == AS_OBJECT) {
			*link = m->next;
			continue;
		}
		as_json_drop_nulls(m);
		last = m;
		link = &m->next;
	}
	value->last = last;
}

struct as_json *as_json_member(struct as_arena *a, struct as_json *object, const char *name,
                               enum as_json_kind kind)
{
	struct as_json *m = as_json_get(object, name);

	if (m == NULL || m->kind == AS_NULL) {
		m = as_json_new(a, kind);
		as_json_set(a, object, name, m);
	}
	return m->kind == kind ? m : NULL;
}

struct as_json *as_json_merge(struct as_arena *a, struct as_json *target,
                              const struct as_json *patch)
{
	if (patch->kind != AS_OBJECT)
		return as_json_copy(a, patch);
	if (target == NULL || target->kind != AS_OBJECT)
		target = as_json_new(a, AS_OBJECT);

	for (const struct as_json *m = patch->first; m != NULL; m = m->next) {
		if (m->kind == AS_NULL) {
			as_json_remove(target, m->name);
			continue;
		}
		as_json_set(a, target, m->name, as_json_merge(a, as_json_get(target, m->name), m));
	}
	return target;
}

void as_json_print(struct as_text *out, const struct as_json *value)
{
	bool object = value->kind == AS_OBJECT;

	switch (value->kind) {
	case AS_NULL:
		as_text_add(out, "null", 4);
		return;
	case AS_FALSE:
		as_text_add(out, "false", 5);
		return;
	case AS_TRUE:
		as_text_add(out, "true", 4);
		return;
	case AS_NUMBER:
		as_text_add(out, value->text, value->bytes);
		return;
	case AS_STRING:
		as_text_quote(out, value->text, value->bytes);
		return;
	case AS_ARRAY:
	case AS_OBJECT:
		break;
	}
	as_text_add(out, object ? "{" : "[", 1);
	for (const struct as_json *m = value->first; m != NULL; m = m->next) {
		if (object) {
			as_text_quote(out, m->name, m->name_bytes);
			as_text_add(out, ":", 1);
		}
		as_json_print(out, m);
		if (m->next != NULL)
			as_text_add(out, ",", 1);
	}
	as_text_add(out, object ? "}" : "]", 1);
}
