/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/discovery.h"

#include "frontend/json/json.h"

#include <errno.h>
#include <string.h>

void discovery_path(struct jsonout *out, const struct resource *of)
{
	if (of->group[0])
		jsonout_add(out, "/apis/@p/@p", of->group, of->version);
	else
		jsonout_add(out, "/api/@p", of->version);
}

struct list_read {
	struct text kind;
	const char *plural, *subresource;
	bool has_resource, has_subresource;
};

static void read_name(struct json *j, void *list)
{
	struct list_read *r = list;
	size_t plural = strlen(r->plural);
	struct text name;

	if (!json_string(j, &name))
		return;
	r->has_resource |= text_is(name, r->plural);
	r->has_subresource |=
		name.bytes > plural && memcmp(name.at, r->plural, plural) == 0 && name.at[plural] == '/' &&
		text_is((struct text){ name.at + plural + 1, name.bytes - plural - 1 }, r->subresource);
}

static const struct json_field resource_fields[] = { JSON_WHOLE("name", read_name) };

static void read_resource(struct json *j, void *list)
{
	json_fields(j, resource_fields, list);
}

static void read_resources(struct json *j, void *list)
{
	json_items(j, read_resource, list);
}

static const struct json_field list_fields[] = {
	JSON_FIELD("kind", json_field_text, struct list_read, kind),
	JSON_WHOLE("resources", read_resources),
};

int discovery_has(const char *body, size_t bytes, const struct resource *of,
                  const char *subresource, bool *has)
{
	struct list_read r = { .kind = { "", 0 }, .plural = of->plural, .subresource = subresource };
	struct arena arena = { 0 };
	struct json j;
	bool whole;

	if (!body || bytes == 0)
		return -EINVAL;
	json_begin(&j, body, bytes, &arena);
	json_fields(&j, list_fields, &r);
	whole = json_end(&j) && text_is(r.kind, "APIResourceList") && r.has_resource;
	arena_free(&arena);
	if (!whole)
		return -EINVAL;
	*has = r.has_subresource;
	return 0;
}
