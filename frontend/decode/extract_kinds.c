/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that pods refer to: Namespace, Service, controllers. */
#include "frontend/decode/extract.h"

#include "frontend/json/json.h"

#include <string.h>

/* apiVersion, kind or metadata: true when it was one of them. */
static bool common_member(struct json *j, struct text name, struct meta *meta)
{
	if (text_is(name, "metadata"))
		extract_metadata(j, meta);
	else if (text_is(name, "kind"))
		json_string(j, &meta->kind);
	else if (text_is(name, "apiVersion"))
		json_string(j, &meta->api_version);
	else
		return false;
	return true;
}

/* Reads one member of an object and skips the others. */
static void read_part(struct json *j, const char *part, void (*read)(struct json *j, void *out),
                      void *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, part))
			read(j, out);
		else
			json_skip(j);
	}
}

/* ---- Namespace ---------------------------------------------------------------- */

int extract_namespace(const char *json, size_t bytes, struct arena *arena, struct meta *out,
                      struct decode_error *error)
{
	struct json j;
	struct text name;

	extract_meta_start(out);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name))
		if (!common_member(&j, name, out))
			json_skip(&j);
	return extract_end(&j, out, "Namespace", error);
}

/* ---- Service ------------------------------------------------------------------ */

static void read_pairs(struct json *j, void *out)
{
	extract_pairs(j, out, false);
}

int extract_service(const char *json, size_t bytes, struct arena *arena, struct service_object *out,
                    struct decode_error *error)
{
	struct json j;
	struct text name;

	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (common_member(&j, name, &out->meta))
			continue;
		if (text_is(name, "spec"))
			read_part(&j, "selector", read_pairs, &out->selector);
		else
			json_skip(&j);
	}
	return extract_end(&j, &out->meta, "Service", error);
}

/* ---- controllers ---------------------------------------------------------------- */

static void read_selector(struct json *j, void *out)
{
	extract_selector(j, out);
}

static void read_selector_map(struct json *j, void *out)
{
	extract_selector_map(j, out);
}

static void read_labels(struct json *j, void *out)
{
	read_part(j, "labels", read_selector_map, out);
}

static void read_template(struct json *j, void *out)
{
	read_part(j, "metadata", read_labels, out);
}

/* A ReplicationController's selector is a map; without one it is the labels of its pods. */
static void extract_replication(struct json *j, struct controller_object *out)
{
	struct selector_object labels = { 0 };
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "selector"))
			extract_selector_map(j, &out->selector);
		else if (text_is(name, "template"))
			read_template(j, &labels);
		else
			json_skip(j);
	}
	if (out->selector.rules.n == 0 && labels.rules.n > 0)
		out->selector = labels;
}

int extract_controller(const char *json, size_t bytes, struct arena *arena, const char *kind,
                       struct controller_object *out, struct decode_error *error)
{
	bool is_replication = text_is(text_of(kind), "ReplicationController");
	struct json j;
	struct text name;

	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (common_member(&j, name, &out->meta))
			continue;
		if (!text_is(name, "spec"))
			json_skip(&j);
		else if (is_replication)
			extract_replication(&j, out);
		else
			read_part(&j, "selector", read_selector, &out->selector);
	}
	return extract_end(&j, &out->meta, kind, error);
}
