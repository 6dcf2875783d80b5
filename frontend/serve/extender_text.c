/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/extender_text.h"

#include "frontend/json/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SCORE_MOST "10"
#define NAME_BYTES_MAX 253 /* of an object: a DNS subdomain */

/* A name or uid, which nothing may inflate in the answer: no escapes, no length. */
static bool is_name(struct json *j, struct text t)
{
	static const bool plain[UCHAR_MAX + 1] = {
		['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true, ['-'] = true, ['.'] = true
	};
	bool is = t.bytes > 0 && t.bytes <= NAME_BYTES_MAX;

	for (size_t i = 0; is && i < t.bytes; i++)
		is = plain[(unsigned char)t.at[i]];
	if (!is)
		json_fail(j, "is not a name");
	return is;
}

static const char *kept(struct json *j, struct text t)
{
	return t.bytes == 0 || is_name(j, t) ? arena_copy(j->arena, t) : "";
}

static void read_pod_meta(struct json *j, struct extender_question *q)
{
	struct text name, value;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		const char **part = text_is(name, "name")        ? &q->name
		                    : text_is(name, "namespace") ? &q->namespace
		                    : text_is(name, "uid")       ? &q->uid
		                                                 : NULL;

		if (part && json_string(j, &value))
			*part = kept(j, value);
		else if (!part)
			json_skip(j);
	}
}

static void read_pod(struct json *j, struct extender_question *q)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "metadata"))
			read_pod_meta(j, q);
		else
			json_skip(j);
	}
}

/* Of the arrays of the question. */
struct caps {
	size_t names, objects;
};

/* There is space for one more name; false beyond the limit. */
static bool name_more(struct json *j, struct extender_question *q, struct caps *caps)
{
	if (q->nodes_n == EXTENDER_NODES_MAX) {
		json_fail(j, "more than %zu nodes", EXTENDER_NODES_MAX);
		return false;
	}
	if (q->nodes_n == caps->names)
		q->names = arena_grow(j->arena, q->names, q->nodes_n, &caps->names, sizeof(*q->names));
	return true;
}

static void read_names(struct json *j, struct extender_question *q, struct caps *caps)
{
	if (!json_array(j))
		return;
	q->names_only = true;
	while (json_item(j)) {
		if (!name_more(j, q, caps) || !json_string(j, &q->names[q->nodes_n]) ||
		    !is_name(j, q->names[q->nodes_n]))
			return;
		q->nodes_n++;
	}
}

/* The name in a node's JSON. */
static struct text object_name(struct json *outer, struct text object)
{
	struct text value = { 0 };
	struct json j;

	json_begin(&j, object.at, object.bytes, outer->arena);
	if (!json_find_text(&j, "metadata", "name", &value))
		json_fail(outer, "is not a node: %s", j.error);
	return value;
}

/* Objects are stored as long as no names alone came: only then they are answered with. */
static void add_object(struct json *j, struct extender_question *q, struct caps *caps,
                       struct text object)
{
	if (q->names_only)
		return;
	q->objects = arena_grow(j->arena, q->objects, q->nodes_n, &caps->objects, sizeof(object));
	q->objects[q->nodes_n] = object;
}

static void read_nodes(struct json *j, struct extender_question *q, struct caps *caps)
{
	struct text name, object;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (!text_is(name, "items")) {
			json_skip(j);
			continue;
		}
		if (!json_array(j))
			continue;
		while (json_item(j)) {
			if (!name_more(j, q, caps) || !json_raw(j, &object))
				return;
			q->names[q->nodes_n] = object_name(j, object);
			if (j->failed || !is_name(j, q->names[q->nodes_n]))
				return;
			add_object(j, q, caps, object);
			q->nodes_n++;
		}
	}
}

int extender_read(enum extender_verb verb, const char *body, size_t bytes, struct arena *arena,
                  struct extender_question *out, char *error, size_t error_bytes)
{
	struct json j;
	struct caps caps = { 0 };
	struct text name;
	char path[256];

	*out = (struct extender_question){ .verb = verb, .namespace = "", .name = "", .uid = "" };
	json_begin(&j, body, bytes, arena);
	if (json_object(&j))
		while (json_member(&j, &name)) {
			if (text_is(name, "Pod"))
				read_pod(&j, out);
			else if (text_is(name, "NodeNames"))
				read_names(&j, out, &caps);
			else if (text_is(name, "Nodes"))
				read_nodes(&j, out, &caps);
			else
				json_skip(&j);
		}
	if (!j.failed && json_end(&j) && *out->name && *out->namespace)
		return 0;
	json_path(&j, path, sizeof(path));
	if (j.failed)
		snprintf(error, error_bytes, "%s%s%s", *path ? path : "the request", *path ? ": " : " ",
		         j.error);
	else
		snprintf(error, error_bytes, "Pod.metadata: no name or no namespace");
	return -EINVAL;
}

#define NO_ROOM "node(s) had no room that muster has not promised to others"

/* `before`, a quoted name, which needs no escapes (is_name()), and `after`. */
static void add_named(struct bytes *b, const char *before, struct text name, const char *after)
{
	bytes_put(b, before);
	bytes_add(b, name.at, name.bytes);
	bytes_put(b, after);
}

static void write_failed(const struct extender_question *q, struct bytes *b)
{
	for (size_t i = 0; i < q->nodes_n; i++)
		add_named(b, i > 0 ? ",\"" : "\"", q->names[i], "\":\"" NO_ROOM "\"");
}

static void write_filter(const struct extender_question *q, const struct extender_answer *a,
                         struct bytes *b)
{
	const bool chosen = a->chosen != EXTENDER_NOWHERE;
	const char *error = a->error ? a->error : "";

	if (q->names_only) {
		bytes_put(b, "{\"Nodes\":null,\"NodeNames\":[");
		if (chosen)
			add_named(b, "\"", q->names[a->chosen], "\"");
		bytes_put(b, "]");
	} else {
		bytes_put(b, "{\"Nodes\":{\"metadata\":{},\"items\":[");
		if (chosen)
			bytes_add(b, q->objects[a->chosen].at, q->objects[a->chosen].bytes);
		bytes_put(b, "]},\"NodeNames\":null");
	}
	bytes_put(b, ",\"FailedNodes\":{");
	if (!chosen && !a->error)
		write_failed(q, b);
	bytes_put(b, "},\"FailedAndUnresolvableNodes\":{},\"Error\":");
	bytes_quote_clean(b, error, strlen(error));
	bytes_put(b, "}");
}

static void write_scores(const struct extender_question *q, const struct extender_answer *a,
                         struct bytes *b)
{
	bytes_put(b, "[");
	for (size_t i = 0; i < q->nodes_n; i++)
		add_named(b, i > 0 ? ",{\"Host\":\"" : "{\"Host\":\"", q->names[i],
		          i == a->chosen ? "\",\"Score\":" SCORE_MOST "}" : "\",\"Score\":0}");
	bytes_put(b, "]");
}

void extender_write(const struct extender_question *q, const struct extender_answer *a,
                    struct bytes *out)
{
	if (q->verb == EXTENDER_FILTER)
		write_filter(q, a, out);
	else
		write_scores(q, a, out);
}
