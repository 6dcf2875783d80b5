/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/extract.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Fills *error from a scanner that failed; -EINVAL. */
static int extract_failed(const struct json *j, const struct meta *meta, struct decode_error *error)
{
	if (error) {
		extract_object_name(meta, error->object, sizeof(error->object));
		json_path(j, error->field, sizeof(error->field));
		snprintf(error->text, sizeof(error->text), "%s", j->error);
	}
	return -EINVAL;
}

int extract_end(struct json *j, struct meta *meta, const char *kind, struct decode_error *error)
{
	if (kind && meta->kind.bytes == 0)
		meta->kind = text_of(kind);
	if (!json_end(j))
		return extract_failed(j, meta, error);
	if (meta->name.bytes == 0) {
		json_fail(j, "is missing");
		extract_failed(j, meta, error);
		if (error)
			snprintf(error->field, sizeof(error->field), "metadata.name");
		return -EINVAL;
	}
	return 0;
}

int extract_document_n(const char *json, size_t bytes, struct arena *arena,
                       const struct json_field *fields, size_t n, void *out, struct meta *meta,
                       const char *kind, struct decode_error *error)
{
	struct json j;

	json_begin(&j, json, bytes, arena);
	if (!json_fields_n(&j, fields, n, out))
		json_fail(&j, "is null, not an object");
	return extract_end(&j, meta, kind, error);
}

static const struct json_field meta_fields[] = {
	JSON_WHOLE("metadata", extract_metadata),
	JSON_FIELD("kind", json_field_text, struct meta, kind),
	JSON_FIELD("apiVersion", json_field_text, struct meta, api_version),
};

int extract_meta(const char *json, size_t bytes, struct arena *arena, struct meta *out,
                 struct decode_error *error)
{
	extract_meta_start(out);
	return extract_document(json, bytes, arena, meta_fields, out, out, NULL, error);
}

int extract_namespace(const char *json, size_t bytes, struct arena *arena, struct meta *out,
                      struct decode_error *error)
{
	extract_meta_start(out);
	return extract_document(json, bytes, arena, meta_fields, out, out, "Namespace", error);
}

static void extract_generation(struct json *j, void *out)
{
	json_int64(j, out);
}

struct generation_only {
	int64_t generation;
};

static const struct json_field generation_metadata[] = {
	JSON_FIELD("generation", extract_generation, struct generation_only, generation),
};

static const struct json_field generation_fields[] = { JSON_NESTED("metadata",
	                                                               generation_metadata) };

bool extract_is_unchanged(const char *json, size_t bytes, struct arena *arena)
{
	struct generation_only out = { 0 };
	struct json j;

	json_begin(&j, json, bytes, arena);
	json_fields(&j, generation_fields, &out);
	return !j.failed && out.generation == 1;
}

static const struct json_field metadata_fields[] = {
	EXTRACT_METADATA_FIELDS(struct pod_object, meta),
	JSON_FIELD("ownerReferences", extract_owners, struct pod_object, owner),
};

static void pod_metadata(struct json *j, void *out)
{
	json_fields(j, metadata_fields, out);
}

#define POD_FIELDS JSON_WHOLE("metadata", pod_metadata), EXTRACT_KIND_FIELDS(struct pod_object)

static const struct json_field pod_fields[] = {
	POD_FIELDS,
	JSON_WHOLE("spec", extract_pod_spec),
	JSON_WHOLE("status", extract_pod_status),
};

static void pod_start(struct json *j, const char *json, size_t bytes, struct arena *arena,
                      struct pod_object *out)
{
	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	resource_names_seed(&out->resources);
	out->scheduler_name = text_of("default-scheduler");
	out->node_name = TEXT_NONE;
	out->condition_status = out->condition_reason = out->condition_message = TEXT_NONE;
	out->owner = (struct owner_object)EXTRACT_OWNER_NONE;
	json_begin(j, json, bytes, arena);
	j->context = &out->resources;
}

static int pod_end(struct json *j, struct pod_object *out, struct decode_error *error,
                   bool is_given)
{
	if (!is_given)
		json_fail(j, "is null, not an object");
	if (!j->failed) {
		extract_containers_finish(out, j->arena);
		extract_match_keys(out, j->arena);
	}
	return extract_end(j, &out->meta, "Pod", error);
}

int extract_pod(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                struct decode_error *error)
{
	struct json j;

	pod_start(&j, json, bytes, arena, out);
	return pod_end(&j, out, error, json_fields(&j, pod_fields, out));
}

int extract_pod_first(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                      size_t *used, struct decode_error *error)
{
	struct json j;
	int rc;

	pod_start(&j, json, bytes, arena, out);
	j.open = true;
	rc = pod_end(&j, out, error, json_fields(&j, pod_fields, out));
	*used = rc == 0 ? (size_t)(j.at - json) : 0;
	return rc;
}

static const struct json_field pod_usage_fields[] = {
	POD_FIELDS,
	JSON_WHOLE("spec", extract_usage_spec),
	JSON_WHOLE("status", extract_pod_status),
};

int extract_pod_usage(const char *json, size_t bytes, struct arena *arena,
                      const struct resource_names *known, struct pod_object *out,
                      struct decode_error *error)
{
	struct json j;

	pod_start(&j, json, bytes, arena, out);
	out->resources = *known;
	out->resources.closed = true;
	return pod_end(&j, out, error, json_fields(&j, pod_usage_fields, out));
}

static const struct json_field basics_spec_fields[] = {
	JSON_FIELD("schedulerName", json_field_text, struct pod_object, scheduler_name),
	JSON_FIELD("nodeName", json_field_text, struct pod_object, node_name),
};

static void basics_spec(struct json *j, void *object)
{
	struct pod_object *out = object;

	if (json_fields(j, basics_spec_fields, out) && out->scheduler_name.bytes == 0)
		out->scheduler_name = text_of("default-scheduler");
}

static void basics_phase(struct json *j, void *ended)
{
	struct text phase;

	if (json_string(j, &phase))
		*(bool *)ended = text_is(phase, "Succeeded") || text_is(phase, "Failed");
}

static const struct json_field basics_status[] = {
	JSON_FIELD("phase", basics_phase, struct pod_object, ended),
};

static const struct json_field basics_fields[] = {
	POD_FIELDS,
	JSON_WHOLE("spec", basics_spec),
	JSON_NESTED("status", basics_status),
};

int extract_pod_basics(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                       struct decode_error *error)
{
	struct json j;

	pod_start(&j, json, bytes, arena, out);
	return pod_end(&j, out, error, json_fields(&j, basics_fields, out));
}
