/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of a node that no API server has seen. */
#include "ctl/objects/admission.h"

#include "frontend/base/bytes.h"
#include "frontend/json/json.h"

#include <string.h>

/* status.capacity and status.allocatable, raw; empty when not given. */
struct amounts {
	struct text capacity, allocatable;
};

static const struct json_field status_fields[] = {
	JSON_FIELD("capacity", json_field_raw, struct amounts, capacity),
	JSON_FIELD("allocatable", json_field_raw, struct amounts, allocatable),
};

static const struct json_field node_fields[] = { JSON_NESTED("status", status_fields) };

struct text admission_node(const struct object *node, struct bytes *made)
{
	const char *after, *end = node->json.at + node->json.bytes;
	struct amounts s = { 0 };
	struct arena arena = { 0 };
	struct json j;
	bool read;

	json_begin(&j, node->json.at, node->json.bytes, &arena);
	read = json_fields(&j, node_fields, &s) && !j.failed; /* else the model refuses it */
	arena_free(&arena);
	if (!read || s.capacity.bytes == 0 || s.capacity.at[0] != '{' ||
	    (s.allocatable.bytes > 0 && !text_is(s.allocatable, "null")))
		return node->json;
	made->n = 0;
	if (s.allocatable.bytes > 0) {
		after = s.allocatable.at + s.allocatable.bytes;
		bytes_add(made, node->json.at, (size_t)(s.allocatable.at - node->json.at));
	} else {
		after = s.capacity.at + s.capacity.bytes;
		bytes_add(made, node->json.at, (size_t)(after - node->json.at));
		bytes_put(made, ",\"allocatable\":");
	}
	bytes_add(made, s.capacity.at, s.capacity.bytes);
	bytes_add(made, after, (size_t)(end - after));
	return (struct text){ made->at, made->n };
}
