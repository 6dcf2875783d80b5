/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/extract.h"

#include "frontend/json/json.h"

#include <string.h>

/* An effect that Kubernetes does not know keeps nobody away. */
static void extract_taint(struct json *j, struct node_object *out)
{
	struct taint_object taint = { .key = { "", 0 }, .value = { "", 0 } }, *p;
	struct text name, effect = { "", 0 };

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "key"))
			json_string(j, &taint.key);
		else if (text_is(name, "value"))
			json_string(j, &taint.value);
		else if (text_is(name, "effect"))
			json_string(j, &effect);
		else
			json_skip(j);
	}
	if (text_is(effect, "NoSchedule"))
		taint.effect = EFFECT_NO_SCHEDULE;
	else if (text_is(effect, "NoExecute"))
		taint.effect = EFFECT_NO_EXECUTE;
	else if (text_is(effect, "PreferNoSchedule"))
		taint.effect = EFFECT_PREFER_NO_SCHEDULE;
	else
		return;
	p = extract_more(j, out->taints, out->taints_n, &out->taints_room, sizeof(*p));
	if (!p)
		return;
	out->taints = p;
	p[out->taints_n++] = taint;
}

static void extract_node_spec(struct json *j, struct node_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "unschedulable")) {
			json_bool(j, &out->cordoned);
		} else if (text_is(name, "taints")) {
			out->taints_n = 0;
			if (json_array(j))
				while (json_item(j))
					extract_taint(j, out);
		} else {
			json_skip(j);
		}
	}
}

/* ---- images ------------------------------------------------------------------- */

static void extract_names(struct json *j, struct node_object *out)
{
	struct image_object *grown;
	struct text name;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		if (!json_string(j, &name) || name.bytes == 0)
			continue;
		grown = extract_more(j, out->images, out->images_n, &out->images_room, sizeof(*grown));
		if (!grown)
			return;
		out->images = grown;
		grown[out->images_n++] = (struct image_object){ .name = name };
	}
}

/* All its names have one size. */
static void extract_node_image(struct json *j, struct node_object *out)
{
	size_t first = out->images_n;
	int64_t bytes = 0;
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "names")) {
			out->images_n = first;
			extract_names(j, out);
		} else if (text_is(name, "sizeBytes")) {
			json_int64(j, &bytes);
		} else {
			json_skip(j);
		}
	}
	for (size_t i = first; i < out->images_n; i++)
		out->images[i].bytes = bytes > 0 ? bytes : 0;
}

static void extract_node_images(struct json *j, struct node_object *out)
{
	out->images_n = 0;
	if (json_array(j))
		while (json_item(j))
			extract_node_image(j, out);
}

static bool extract_features(struct json *j)
{
	bool found = false;
	struct text name;

	if (json_array(j))
		while (json_item(j))
			if (json_string(j, &name) && text_is(name, "RestartAllContainersOnContainerExits"))
				found = true;
	return found;
}

/* ---- node -------------------------------------------------------------------- */

static void extract_node_status(struct json *j, struct node_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "allocatable"))
			extract_quantities(j, &out->resources, &out->allocatable);
		else if (text_is(name, "images"))
			extract_node_images(j, out);
		else if (text_is(name, "declaredFeatures"))
			out->restarts_all = extract_features(j);
		else
			json_skip(j);
	}
}

int extract_node(const char *json, size_t bytes, struct arena *arena, struct node_object *out,
                 struct decode_error *error)
{
	struct json j;
	struct text name;

	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (text_is(name, "metadata"))
			extract_metadata(&j, &out->meta);
		else if (text_is(name, "spec"))
			extract_node_spec(&j, out);
		else if (text_is(name, "status"))
			extract_node_status(&j, out);
		else
			json_skip(&j);
	}
	return extract_end(&j, &out->meta, "Node", error);
}
