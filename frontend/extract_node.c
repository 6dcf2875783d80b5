#include "frontend/extract.h"

#include "frontend/json.h"

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

static void extract_node_status(struct json *j, struct node_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "allocatable"))
			extract_quantities(j, &out->resources, &out->allocatable);
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
