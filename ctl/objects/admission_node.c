/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of a node that no API server has seen. */
#include "ctl/objects/admission.h"

#include "frontend/base/bytes.h"
#include "frontend/json/json.h"

#include <string.h>

/* status.capacity and status.allocatable, raw; empty when not given. */
static bool read_status(struct json *j, struct text *capacity, struct text *allocatable)
{
	struct text name;

	if (!json_object(j))
		return false;
	while (json_member(j, &name)) {
		if (!text_is(name, "status")) {
			json_skip(j);
			continue;
		}
		if (!json_object(j))
			continue;
		while (json_member(j, &name)) {
			if (text_is(name, "capacity"))
				json_raw(j, capacity);
			else if (text_is(name, "allocatable"))
				json_raw(j, allocatable);
			else
				json_skip(j);
		}
	}
	return !j->failed;
}

struct text admission_node(const struct object *node, struct bytes *made)
{
	const char *after, *end = node->json.at + node->json.bytes;
	struct text capacity = { 0 }, allocatable = { 0 };
	struct arena arena = { 0 };
	struct json j;
	bool read;

	json_begin(&j, node->json.at, node->json.bytes, &arena);
	read = read_status(&j, &capacity, &allocatable); /* the model refuses what can't be read */
	arena_free(&arena);
	if (!read || capacity.bytes == 0 || capacity.at[0] != '{' ||
	    (allocatable.bytes > 0 && !text_is(allocatable, "null")))
		return node->json;
	made->n = 0;
	if (allocatable.bytes > 0) {
		after = allocatable.at + allocatable.bytes;
		bytes_add(made, node->json.at, (size_t)(allocatable.at - node->json.at));
	} else {
		after = capacity.at + capacity.bytes;
		bytes_add(made, node->json.at, (size_t)(after - node->json.at));
		bytes_put(made, ",\"allocatable\":");
	}
	bytes_add(made, capacity.at, capacity.bytes);
	bytes_add(made, after, (size_t)(end - after));
	return (struct text){ made->at, made->n };
}
