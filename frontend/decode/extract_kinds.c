/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that pods refer to: Service and controllers. */
#include "frontend/decode/extract.h"

#include <string.h>

static const struct json_field service_spec[] = {
	JSON_FIELD("selector", extract_text_map, struct service_object, selector),
};

static const struct json_field service_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct service_object),
	JSON_NESTED("spec", service_spec),
};

int extract_service(const char *json, size_t bytes, struct arena *arena, struct service_object *out,
                    struct decode_error *error)
{
	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	return extract_document(json, bytes, arena, service_fields, out, &out->meta, "Service", error);
}

struct replication {
	struct selector_object selector;
	struct selector_object labels; /* of its pods */
};

static const struct json_field template_metadata[] = {
	JSON_FIELD("labels", extract_selector_map, struct replication, labels),
};

static const struct json_field template_fields[] = { JSON_NESTED("metadata", template_metadata) };

static const struct json_field replication_spec[] = {
	JSON_FIELD("selector", extract_selector_map, struct replication, selector),
	JSON_NESTED("template", template_fields),
};

/* A ReplicationController's selector is a map; without one it is the labels of its pods. */
static void extract_replication(struct json *j, void *selector)
{
	struct selector_object *out = selector;
	struct replication r = { .selector = *out };

	if (!json_fields(j, replication_spec, &r))
		return;
	*out = r.selector.rules.n == 0 && r.labels.rules.n > 0 ? r.labels : r.selector;
}

static const struct json_field replication_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct controller_object),
	JSON_FIELD("spec", extract_replication, struct controller_object, selector),
};

static const struct json_field controller_spec[] = {
	JSON_FIELD("selector", extract_selector, struct controller_object, selector),
};

static const struct json_field controller_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct controller_object),
	JSON_NESTED("spec", controller_spec),
};

int extract_controller(const char *json, size_t bytes, struct arena *arena, const char *kind,
                       struct controller_object *out, struct decode_error *error)
{
	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	if (text_is(text_of(kind), "ReplicationController"))
		return extract_document(json, bytes, arena, replication_fields, out, &out->meta, kind,
		                        error);
	return extract_document(json, bytes, arena, controller_fields, out, &out->meta, kind, error);
}
