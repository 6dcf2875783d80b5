/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *body_add(struct body *b, const void *bytes, size_t n)
{
	void *p = b->at + b->bytes;

	if (b->too_long || n > RECORD_BYTES_MAX - sizeof(struct record) - b->bytes) {
		b->too_long = true;
		return NULL;
	}
	if (n > 0)
		memcpy(p, bytes, n);
	b->bytes += n;
	return p;
}

void body_pad(struct body *b)
{
	static const char zeros[8];

	body_add(b, zeros, (size_t)(PADDED(b->bytes) - b->bytes));
}

int64_t label_number(struct text t)
{
	bool negative = t.bytes > 0 && t.at[0] == '-';
	size_t i = t.bytes > 0 && (t.at[0] == '-' || t.at[0] == '+');
	int64_t value = 0;

	if (i == t.bytes)
		return LABEL_NOT_A_NUMBER;
	for (; i < t.bytes; i++) {
		int digit = t.at[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, digit, &value))
			return LABEL_NOT_A_NUMBER;
	}
	/* value is minus the number.  The lowest int64 stands for "none"; no label
	 * is negative, so the one above it compares the same. */
	if (negative)
		return value == INT64_MIN ? INT64_MIN + 1 : value;
	return value == INT64_MIN ? LABEL_NOT_A_NUMBER : -value;
}

const char *model_limit_flag(const struct model *m, const struct intern *in)
{
	return in == &m->columns  ? "--max-resources"
	       : in == &m->taints ? "--max-names"
	                          : "--max-labels";
}

static uint64_t limit_of(const struct model *m, const char *flag)
{
	const struct {
		const char *flag;
		uint64_t limit;
	} flags[] = {
		{ "--max-nodes", m->limits.nodes },         { "--max-pods", m->limits.pods },
		{ "--max-gangs", m->limits.gangs },         { "--max-shapes", m->limits.shapes },
		{ "--max-names", m->limits.names },         { "--max-name-bytes", m->limits.name_bytes },
		{ "--max-resources", m->limits.resources },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(flag, flags[i].flag) == 0)
			return flags[i].limit;
	return UINT32_MAX; /* labels: as many as there are numbers */
}

int model_limit(struct model *m, const char *object, const char *flag, struct decode_error *error)
{
	m->counts.limits_hit++;
	if (error) {
		snprintf(error->object, sizeof(error->object), "%s", object);
		error->field[0] = '\0';
		snprintf(error->text, sizeof(error->text),
		         "there is no room for more, the limit %s is %llu", flag,
		         (unsigned long long)limit_of(m, flag));
	}
	return -ENOSPC;
}

int version_compare(struct text a, struct text b)
{
	int order;

	if (a.bytes == 0 || b.bytes == 0)
		return 1;
	if (a.bytes != b.bytes)
		return a.bytes < b.bytes ? -1 : 1;
	order = memcmp(a.at, b.at, a.bytes);
	return order < 0 ? -1 : order > 0;
}

int model_intern(struct model *m, struct intern *in, struct text t, uint32_t *number,
                 const char **flag)
{
	bool shown = in == &m->columns || in == &m->taints; /* in the core's arena of names */
	int rc;

	if (shown && !intern_has(in, t) && !model_name_room(m, t.bytes)) {
		if (flag)
			*flag = "--max-name-bytes";
		return -ENOSPC;
	}
	rc = intern_take(in, t, number);
	if (rc == -ENOSPC && flag)
		*flag = model_limit_flag(m, in);
	return rc;
}

static int amount_order(const void *a, const void *b)
{
	const struct amount *x = a, *y = b;

	return x->resource < y->resource ? -1 : x->resource > y->resource;
}

int body_amounts(struct model *m, struct body *b, const struct amount_text *list, size_t n,
                 uint32_t *added, const char **flag)
{
	size_t from = b->bytes;
	int result = 0;

	*added = 0;
	for (size_t i = 0; i < n; i++) {
		struct amount a = { .value = list[i].value };
		int rc;

		if (a.value == 0)
			continue;
		rc = model_intern(m, &m->columns, text_of(list[i].resource), &a.resource, flag);
		if (rc == -ENOSPC) {
			result = rc;
			continue;
		}
		if (rc < 0)
			return rc;
		if (!body_add(b, &a, sizeof(a))) {
			intern_give(&m->columns, a.resource);
			return -EINVAL;
		}
		++*added;
	}
	qsort(b->at + from, *added, sizeof(struct amount), amount_order);
	return result;
}

void amounts_release(struct model *m, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		intern_give(&m->columns, amounts[i].resource);
}

char *model_stamp(const struct meta *meta)
{
	char *p = malloc(meta->uid.bytes + meta->version.bytes + 2);

	if (!p)
		return NULL;
	if (meta->uid.bytes > 0)
		memcpy(p, meta->uid.at, meta->uid.bytes);
	p[meta->uid.bytes] = '\0';
	if (meta->version.bytes > 0)
		memcpy(p + meta->uid.bytes + 1, meta->version.at, meta->version.bytes);
	p[meta->uid.bytes + 1 + meta->version.bytes] = '\0';
	return p;
}

bool stamp_covers(struct model *m, const char *stamp, const struct meta *meta, bool again)
{
	int order;

	if (!stamp || !text_equal(text_of(stamp), meta->uid))
		return false;
	order = version_compare(meta->version, text_of(stamp + meta->uid.bytes + 1));
	if (order < 0)
		m->counts.objects_stale++;
	return order < 0 || (order == 0 && !again);
}

bool stamp_is_successor(const char *stamp, const struct meta *meta)
{
	struct text uid = text_of(stamp);

	return !text_equal(uid, meta->uid) &&
	       version_compare(meta->version, text_of(stamp + uid.bytes + 1)) < 0;
}

bool model_name_room(const struct model *m, size_t bytes)
{
	uint64_t used = m->name_bytes + m->columns.text_bytes + m->taints.text_bytes;

	return m->limits.name_bytes >= used && m->limits.name_bytes - used >= NAME_ROOM(bytes);
}

#define NAME_BYTES_MAX 253

void model_default_namespace(struct meta *meta)
{
	if (meta->namespace.bytes == 0)
		meta->namespace = text_of("default");
}

static const char *name_fault(struct text t)
{
	if (t.bytes > NAME_BYTES_MAX)
		return "is longer than 253 bytes";
	if (t.bytes > 0 && memchr(t.at, '/', t.bytes))
		return "has a slash in it";
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
	if (!fault && (meta->uid.bytes > NAME_BYTES_MAX || meta->version.bytes > NAME_BYTES_MAX)) {
		field = "metadata";
		fault = "has a uid or resourceVersion longer than 253 bytes";
	}
	if (fault && error) {
		extract_object_name(meta, error->object, sizeof(error->object));
		snprintf(error->field, sizeof(error->field), "%s", field);
		snprintf(error->text, sizeof(error->text), "%s", fault);
	}
	return !fault;
}
