/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/members.h"

#include "frontend/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct member *find(const struct members *m, struct text name)
{
	for (size_t i = 0; i < m->n; i++)
		if (text_equal(m->at[i].name, name))
			return &m->at[i];
	return NULL;
}

static void add(struct arena *arena, struct members *m, struct text name, struct text raw)
{
	m->at = arena_grow(arena, m->at, m->n, &m->cap, sizeof(*m->at));
	m->at[m->n++] = (struct member){ name, raw };
}

static int compare_members(const void *a, const void *b)
{
	const struct member *left = *(struct member *const *)a, *right = *(struct member *const *)b;
	const int order = text_order(left->name, right->name);

	return order != 0 ? order : left < right ? -1 : left > right;
}

/* Of a name that occurs twice the first gets the value of the last; the others go.  Sorted, since
 * an object of a tenant may have any number of members. */
static void keep_last(struct arena *arena, struct members *m)
{
	struct member **sorted = arena_array(arena, m->n + 1, sizeof(struct member *)), *first;
	size_t kept = 0;

	for (size_t i = 0; i < m->n; i++)
		sorted[i] = &m->at[i];
	qsort(sorted, m->n, sizeof(struct member *), compare_members);
	first = sorted[0];
	for (size_t i = 1; i < m->n; i++) {
		if (!text_equal(first->name, sorted[i]->name)) {
			first = sorted[i];
			continue;
		}
		first->raw = sorted[i]->raw;
		sorted[i]->raw.at = NULL;
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i].raw.at != NULL)
			m->at[kept++] = m->at[i];
	m->n = kept;
}

struct members members_of(struct arena *arena, struct text raw)
{
	struct members m = { 0 };
	struct text name, value;
	struct json j;

	if (raw.at == NULL || raw.bytes == 0 || raw.at[0] != '{')
		return m;
	json_begin(&j, raw.at, raw.bytes, arena);
	if (!json_object(&j))
		return m;
	/* json_key(): keys of maps may have dots and slashes. */
	while (json_key(&j, &name))
		if (json_raw(&j, &value))
			add(arena, &m, name, value);
	keep_last(arena, &m);
	return m;
}

struct text members_get(const struct members *m, const char *name)
{
	const struct member *found = find(m, text_of(name));

	return found == NULL || text_is(found->raw, "null") ? (struct text){ 0 } : found->raw;
}

struct text members_find(struct arena *arena, struct text raw, const char *path)
{
	while (raw.at != NULL && path[0] != '\0') {
		const size_t n = strcspn(path, ".");
		const struct members m = members_of(arena, raw);
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		raw = members_get(&m, name);
		path += n + (path[n] == '.');
	}
	return raw;
}

void members_set(struct arena *arena, struct members *m, const char *name, struct text raw)
{
	struct member *old = find(m, text_of(name));

	if (old != NULL)
		old->raw = raw;
	else
		add(arena, m, text_of(arena_copy(arena, text_of(name))), raw);
}

/* What was made in a buffer, in the arena. */
static struct text moved(struct arena *arena, struct bytes *b)
{
	struct text t = { arena_copy(arena, (struct text){ b->at, b->n }), b->n };

	bytes_free(b);
	return t;
}

void members_set_text(struct arena *arena, struct members *m, const char *name, const char *value)
{
	struct bytes b = { 0 };

	bytes_quote(&b, value, strlen(value));
	members_set(arena, m, name, moved(arena, &b));
}

struct text members_print(struct arena *arena, const struct members *m)
{
	struct bytes b = { 0 };

	bytes_put(&b, "{");
	for (size_t i = 0; i < m->n; i++) {
		if (i > 0)
			bytes_put(&b, ",");
		bytes_quote(&b, m->at[i].name.at, m->at[i].name.bytes);
		bytes_put(&b, ":");
		bytes_add(&b, m->at[i].raw.at, m->at[i].raw.bytes);
	}
	bytes_put(&b, "}");
	return moved(arena, &b);
}

struct text raw_text(struct arena *arena, struct text raw)
{
	struct text out = { "", 0 };
	struct json j;

	if (raw.at == NULL || raw.bytes == 0 || raw.at[0] != '"')
		return out;
	json_begin(&j, raw.at, raw.bytes, arena);
	return json_string(&j, &out) ? out : (struct text){ "", 0 };
}

bool raw_number(struct text raw, long long *out)
{
	const char *p = raw.at, *end = raw.at + raw.bytes;
	long long n = 0;
	bool negative;

	if (p == NULL || p == end)
		return false;
	negative = *p == '-';
	p += negative;
	if (p == end || end - p > 18)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (*p - '0');
	}
	*out = negative ? -n : n;
	return true;
}
