/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/configmap.h"

#include "frontend/json/json.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

void configmap_forget(struct configmap *c, bool absent)
{
	free(c->metadata);
	c->metadata = NULL;
	c->absent = absent;
}

struct configmap_object {
	struct text metadata, data;
};

static const struct json_field fields[] = {
	JSON_FIELD("metadata", json_field_raw, struct configmap_object, metadata),
	JSON_FIELD("data", json_field_raw, struct configmap_object, data),
};

bool configmap_take(struct configmap *c, const char *body, size_t bytes, struct text *data)
{
	struct configmap_object o = { 0 };
	struct arena arena = { 0 };
	struct json json;
	bool whole;

	json_begin(&json, body, bytes, &arena);
	json_fields(&json, fields, &o);
	*data = o.data;
	whole = json_end(&json) && o.metadata.at;
	arena_free(&arena);
	if (!whole)
		return false;
	configmap_forget(c, false);
	c->metadata = must_alloc(o.metadata.bytes + 1);
	memcpy(c->metadata, o.metadata.at, o.metadata.bytes);
	return true;
}

void configmap_path(const struct configmap *c, bool create, struct jsonout *out)
{
	jsonout_add(out, "/api/v1/namespaces/@p/configmaps", c->namespace);
	if (!create)
		jsonout_add(out, "/@p", c->name);
}

void configmap_begin(const struct configmap *c, bool create, struct jsonout *out)
{
	jsonout_add(out, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":");
	if (create)
		jsonout_add(out, "{\"name\":@s,\"namespace\":@s}", c->name, c->namespace);
	else
		jsonout_add(out, "@r", c->metadata);
	jsonout_add(out, ",\"data\":");
}
