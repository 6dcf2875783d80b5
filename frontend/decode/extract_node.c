/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/extract.h"

#include <string.h>

struct taint_read {
	struct taint_object taint;
	struct text effect;
};

static const struct json_field taint_fields[] = {
	JSON_FIELD("key", json_field_text, struct taint_read, taint.key),
	JSON_FIELD("value", json_field_text, struct taint_read, taint.value),
	JSON_FIELD("effect", json_field_text, struct taint_read, effect),
};

/* A taint whose effect Kubernetes does not define keeps no pod away. */
static void extract_taint(struct json *j, void *node)
{
	struct taint_read r = { .taint = { .key = TEXT_NONE, .value = TEXT_NONE },
		                    .effect = TEXT_NONE };
	struct node_object *out = node;

	json_fields(j, taint_fields, &r);
	if (text_is(r.effect, "NoSchedule"))
		r.taint.effect = EFFECT_NO_SCHEDULE;
	else if (text_is(r.effect, "NoExecute"))
		r.taint.effect = EFFECT_NO_EXECUTE;
	else if (text_is(r.effect, "PreferNoSchedule"))
		r.taint.effect = EFFECT_PREFER_NO_SCHEDULE;
	else
		return;
	*EXTRACT_ADD(j->arena, out->taints, out->taints_n, out->taints_cap) = r.taint;
}

static void extract_taints(struct json *j, void *node)
{
	((struct node_object *)node)->taints_n = 0;
	json_items(j, extract_taint, node);
}

static const struct json_field spec_fields[] = {
	JSON_FIELD("unschedulable", json_field_bool, struct node_object, cordoned),
	JSON_WHOLE("taints", extract_taints),
};

/* The images before `first` are those of earlier items. */
struct image_read {
	struct node_object *node;
	size_t first;
	int64_t bytes;
};

static void extract_image_name(struct json *j, void *node)
{
	struct node_object *out = node;
	struct text name;

	if (json_string(j, &name) && name.bytes > 0)
		EXTRACT_ADD(j->arena, out->images, out->images_n, out->images_cap)->name = name;
}

static void extract_image_names(struct json *j, void *read)
{
	struct image_read *r = read;

	r->node->images_n = r->first;
	json_items(j, extract_image_name, r->node);
}

static void extract_image_bytes(struct json *j, void *bytes)
{
	json_int64(j, bytes);
}

static const struct json_field image_fields[] = {
	JSON_WHOLE("names", extract_image_names),
	JSON_FIELD("sizeBytes", extract_image_bytes, struct image_read, bytes),
};

/* All names of an image have its size. */
static void extract_node_image(struct json *j, void *node)
{
	struct node_object *out = node;
	struct image_read r = { .node = out, .first = out->images_n };

	json_fields(j, image_fields, &r);
	for (size_t i = r.first; i < out->images_n; i++)
		out->images[i].bytes = r.bytes > 0 ? r.bytes : 0;
}

static void extract_node_images(struct json *j, void *node)
{
	((struct node_object *)node)->images_n = 0;
	json_items(j, extract_node_image, node);
}

static void extract_feature(struct json *j, void *restarts_all)
{
	struct text name;

	if (json_string(j, &name) && text_is(name, "RestartAllContainersOnContainerExits"))
		*(bool *)restarts_all = true;
}

static void extract_features(struct json *j, void *restarts_all)
{
	*(bool *)restarts_all = false;
	json_items(j, extract_feature, restarts_all);
}

static const struct json_field status_fields[] = {
	JSON_FIELD("allocatable", extract_quantities, struct node_object, allocatable),
	JSON_WHOLE("images", extract_node_images),
	JSON_FIELD("declaredFeatures", extract_features, struct node_object, restarts_all),
};

static const struct json_field node_fields[] = {
	JSON_FIELD("metadata", extract_metadata, struct node_object, meta),
	JSON_NESTED("spec", spec_fields),
	JSON_NESTED("status", status_fields),
};

int extract_node(const char *json, size_t bytes, struct arena *arena, struct node_object *out,
                 struct decode_error *error)
{
	struct json j;

	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	json_begin(&j, json, bytes, arena);
	j.context = &out->resources;
	if (!json_fields(&j, node_fields, out))
		json_fail(&j, "is null, not an object");
	return extract_end(&j, &out->meta, "Node", error);
}
