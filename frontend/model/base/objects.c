/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/base/objects.h"

#include "frontend/base/compare.h"
#include "ipc/clean.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void model_default_namespace(struct meta *meta)
{
	if (meta->namespace.bytes == 0)
		meta->namespace = text_of("default");
}

static const char *name_fault(struct text t)
{
	if (t.bytes > OBJECT_NAME_MAX)
		return "is longer than 253 bytes";
	if (t.bytes > 0 && memchr(t.at, '/', t.bytes))
		return "has a slash in it";
	for (size_t i = 0, n; i < t.bytes; i += n) {
		n = clean_char(t.at + i, t.bytes - i);
		if (n == 0)
			return "has a character that is not shown";
	}
	return NULL;
}

bool model_names_valid(struct meta *meta, struct decode_error *error)
{
	const char *field = "metadata.name", *fault = name_fault(meta->name);

	model_default_namespace(meta);
	if (!fault) {
		field = "metadata.namespace";
		fault = name_fault(meta->namespace);
	}
	if (!fault && (meta->uid.bytes > OBJECT_NAME_MAX || meta->version.bytes > OBJECT_NAME_MAX)) {
		field = "metadata";
		fault = "has a uid or resourceVersion longer than 253 bytes";
	}
	if (fault)
		decode_error_set(error, meta, field, "%s", fault);
	return !fault;
}

void stamp_set(char **stamp, const struct meta *meta)
{
	char *p = must_alloc(meta->uid.bytes + meta->version.bytes + 2);

	assert(meta->uid.bytes <= OBJECT_NAME_MAX && meta->version.bytes <= OBJECT_NAME_MAX);
	if (meta->uid.bytes > 0)
		memcpy(p, meta->uid.at, meta->uid.bytes);
	if (meta->version.bytes > 0)
		memcpy(p + meta->uid.bytes + 1, meta->version.at, meta->version.bytes);
	free(*stamp);
	*stamp = p;
}

void stamp_clear(struct entry *e)
{
	free(e->stamp);
	e->stamp = NULL;
	e->retry = false;
}

bool stamp_covers(struct model *m, const char *stamp, const struct meta *meta, bool retry)
{
	int order;

	if (!stamp || !text_equal(text_of(stamp), meta->uid))
		return false;
	order = version_compare(meta->version, text_of(next_text(stamp)));
	if (order < 0)
		m->counts.objects_stale++;
	return order < 0 || (order == 0 && !retry);
}

bool object_is_known(struct model *m, int resource, struct entry *e, const struct meta *meta)
{
	assert((size_t)resource < m->resources_n && e->slot.live);
	e->seen = m->replace[resource].round;
	return stamp_covers(m, e->stamp, meta, e->retry);
}

bool stamp_is_successor(struct model *m, const char *stamp, const struct meta *meta)
{
	assert(stamp);
	if (text_equal(text_of(stamp), meta->uid) ||
	    version_compare(meta->version, text_of(next_text(stamp))) >= 0)
		return false;
	m->counts.objects_stale++;
	return true;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

void pod_uid_number(const struct meta *meta, uint64_t out[2])
{
	static const uint64_t keys[2][2] = { { 1, 2 }, { 3, 4 } };
	struct text t = meta->uid.bytes > 0 ? meta->uid : meta->name;
	int digits = 0;

	out[0] = out[1] = 0;
	if (t.bytes == 36) {
		for (size_t i = 0; i < t.bytes; i++) {
			int digit = hex_digit(t.at[i]);

			if (digit < 0)
				continue;
			out[digits / 16 % 2] = out[digits / 16 % 2] << 4 | (uint64_t)digit;
			digits++;
		}
		if (digits == 32)
			return;
	}
	out[0] = siphash(keys[0], t.at, t.bytes);
	out[1] = siphash(keys[1], t.at, t.bytes);
	if (meta->uid.bytes == 0)
		out[1] ^= siphash(keys[0], meta->namespace.at, meta->namespace.bytes);
}

bool pod_is_ours(const struct model *m, const struct pod_object *pod)
{
	if (m->scheduler_names_n == 0)
		return true;
	for (size_t i = 0; i < m->scheduler_names_n; i++)
		if (text_is(pod->scheduler_name, m->scheduler_names[i]))
			return true;
	return false;
}

struct text pod_scheduler_name(const struct pod_object *pod)
{
	return pod->scheduler_name.bytes <= OBJECT_NAME_MAX
	           ? pod->scheduler_name
	           : text_of("(a name of more than 253 bytes)");
}
