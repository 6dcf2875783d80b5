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

bool configmap_take(struct configmap *c, const char *body, size_t bytes, struct text *data)
{
	struct arena arena = { 0 };
	struct text name, metadata = { 0 };
	struct json json;
	bool whole;

	*data = (struct text){ 0 };
	json_begin(&json, body, bytes, &arena);
	if (json_object(&json))
		while (json_member(&json, &name)) {
			if (text_is(name, "metadata"))
				json_raw(&json, &metadata);
			else if (text_is(name, "data"))
				json_raw(&json, data);
			else
				json_skip(&json);
		}
	whole = !json.failed && json_end(&json) && metadata.at;
	arena_free(&arena);
	if (!whole)
		return false;
	configmap_forget(c, false);
	c->metadata = must_alloc(metadata.bytes + 1);
	memcpy(c->metadata, metadata.at, metadata.bytes);
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
