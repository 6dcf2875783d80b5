/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WHOLE ((nano_t)1000000000) /* 1 in units of 10^-9 */

const struct text *pairs_find(const struct pairs *p, const char *key)
{
	for (size_t i = p->n; i-- > 0;)
		if (text_is(p->at[i].key, key))
			return &p->at[i].value;
	return NULL;
}

const nano_t *quantities_find(const struct quantities *q, uint32_t resource)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->at[i].resource == resource)
			return &q->at[i].amount;
	return NULL;
}

void *extract_more(struct arena *arena, void *items, size_t n, size_t *cap, size_t item_bytes)
{
	char *grown = arena_grow(arena, items, n, cap, item_bytes);

	memset(grown + n * item_bytes, 0, item_bytes);
	return grown;
}

void extract_object_name(const struct meta *meta, char *out, size_t out_bytes)
{
	const struct text *ns = &meta->namespace, *name = &meta->name, *kind = &meta->kind;

	if (name->bytes == 0)
		snprintf(out, out_bytes, "object");
	else
		snprintf(out, out_bytes, "%.*s %.*s%s%.*s", (int)(kind->bytes < 64 ? kind->bytes : 64),
		         kind->bytes > 0 ? kind->at : "", (int)(ns->bytes < 253 ? ns->bytes : 253),
		         ns->bytes > 0 ? ns->at : "", ns->bytes > 0 ? "/" : "",
		         (int)(name->bytes < 253 ? name->bytes : 253), name->at);
}

void decode_error_set(struct decode_error *error, const struct meta *meta, const char *field,
                      const char *format, ...)
{
	va_list args;

	if (!error)
		return;
	extract_object_name(meta, error->object, sizeof(error->object));
	snprintf(error->field, sizeof(error->field), "%s", field);
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

bool extract_any(struct json *j)
{
	bool any = false;

	if (!json_array(j))
		return false;
	while (json_item(j)) {
		any = true;
		json_skip(j);
	}
	return any;
}

void extract_not_empty(struct json *j, void *out)
{
	*(bool *)out = extract_any(j);
}

void extract_int32(struct json *j, void *out)
{
	int64_t value;

	if (!json_int64(j, &value))
		return;
	if (value < INT32_MIN || value > INT32_MAX)
		json_fail(j, "%lld is not a 32-bit integer", (long long)value);
	else
		*(int32_t *)out = (int32_t)value;
}

void extract_optional_int32(struct json *j, void *out)
{
	*(int32_t *)out = 0;
	if (!json_null(j))
		extract_int32(j, out);
}

bool extract_is_counted(struct text r)
{
	if (text_is(r, "cpu") || text_is(r, "memory") || text_is(r, "ephemeral-storage") ||
	    text_is(r, "pods"))
		return true;
	if (text_starts(r, "hugepages-") || text_starts(r, "attachable-volumes-"))
		return true;
	if (r.bytes == 0 || !memchr(r.at, '/', r.bytes))
		return false;
	return !text_starts(r, "requests.") || memmem(r.at, r.bytes, "kubernetes.io/", 14);
}

void resource_names_seed(struct resource_names *names)
{
	names->at[RESOURCE_CPU] = text_of("cpu");
	names->at[RESOURCE_MEMORY] = text_of("memory");
	names->at[RESOURCE_EPHEMERAL] = text_of("ephemeral-storage");
	names->at[RESOURCE_PODS] = text_of("pods");
	names->n = RESOURCE_EXTENDED;
}

/* The index of that name, which is added if it is new; RESOURCES_MAX if there are too many, or no
 * more are taken. */
static uint32_t names_index(struct resource_names *names, struct text name)
{
	uint32_t i;

	if (names->n == 0)
		resource_names_seed(names);
	for (i = 0; i < names->n; i++)
		if (text_equal(names->at[i], name))
			return i;
	if (names->closed || i == RESOURCES_MAX)
		return RESOURCES_MAX;
	names->at[names->n++] = name;
	return i;
}

static struct text text_trim(struct text t)
{
	while (t.bytes > 0 && (t.at[0] == ' ' || (t.at[0] >= '\t' && t.at[0] <= '\r'))) {
		t.at++;
		t.bytes--;
	}
	while (t.bytes > 0 &&
	       (t.at[t.bytes - 1] == ' ' || (t.at[t.bytes - 1] >= '\t' && t.at[t.bytes - 1] <= '\r')))
		t.bytes--;
	return t;
}

/* Extended resources and pods: the API server refuses fractions. */
static bool is_counted_whole(struct text r)
{
	if (text_is(r, "pods"))
		return true;
	return r.bytes > 0 && memchr(r.at, '/', r.bytes) &&
	       !memmem(r.at, r.bytes, "kubernetes.io/", 14);
}

/* *text is the text of the quantity. */
static void quantity_read(struct json *j, nano_t *out, struct text *text)
{
	*out = 0;
	*text = TEXT_NONE;
	if (json_null(j) || !json_scalar(j, text))
		return;
	*text = text_trim(*text);
	if (quantity_parse(text->at, text->bytes, out) < 0)
		json_fail(j, "\"%.*s\" is not a quantity", TEXT_SHOWN(*text));
	else if (*out < 0)
		json_fail(j, "\"%.*s\" is negative", TEXT_SHOWN(*text));
}

void extract_quantity(struct json *j, void *out)
{
	struct text text;

	quantity_read(j, out, &text);
}

static void quantities_set(struct arena *arena, struct quantities *q, uint32_t resource,
                           nano_t amount)
{
	for (size_t i = 0; i < q->n; i++) {
		if (q->at[i].resource == resource) {
			q->at[i].amount = amount;
			return;
		}
	}
	*EXTRACT_ADD(arena, q->at, q->n, q->cap) = (struct quantity_of){ resource, amount };
}

void extract_quantities(struct json *j, void *object)
{
	struct resource_names *names = j->context;
	struct quantities *out = object;
	struct text name, text;
	nano_t amount;
	uint32_t resource;

	out->n = 0;
	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		quantity_read(j, &amount, &text);
		if (j->failed)
			return;
		if (!extract_is_counted(name))
			continue;
		if (amount % WHOLE != 0 && is_counted_whole(name)) {
			json_fail(j, "\"%.*s\" is not a whole number", TEXT_SHOWN(text));
			return;
		}
		if (name.bytes > RESOURCE_NAME_BYTES_MAX) {
			json_fail(j, "is not the name of a resource");
			return;
		}
		resource = names_index(names, name);
		if (resource == RESOURCES_MAX && names->closed)
			continue;
		if (resource == RESOURCES_MAX) {
			json_fail(j, "is one of more than %d resources", RESOURCES_MAX);
			return;
		}
		quantities_set(j->arena, out, resource, amount);
	}
}
