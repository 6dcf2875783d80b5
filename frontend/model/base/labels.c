/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/base/labels.h"

#include "frontend/model/base/limits.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pod_labels_give(struct model *m, struct pod_label *labels, uint32_t n)
{
	assert(n == 0 || labels);
	for (uint32_t i = 0; i < n; i++) {
		intern_give(&m->keys, labels[i].key);
		intern_give(&m->values, labels[i].value);
	}
	free(labels);
}

uint32_t labels_find(const struct pod_label *labels, uint32_t n, uint32_t key)
{
	uint32_t from = 0;

	while (n > 0) {
		uint32_t half = n / 2;

		if (labels[from + half].key < key) {
			from += half + 1;
			n -= half + 1;
		} else if (labels[from + half].key > key) {
			n = half;
		} else {
			return labels[from + half].value;
		}
	}
	return ID_NONE;
}

/* Keeps them sorted.  Of a key that JSON has twice the last value counts: labels are inserted from
 * the last to the first. */
static void insert_label(struct model *m, struct pod_label *labels, uint32_t *n, struct pod_label l)
{
	uint32_t at = *n;

	while (at > 0 && labels[at - 1].key > l.key)
		at--;
	if (at > 0 && labels[at - 1].key == l.key) {
		intern_give(&m->keys, l.key);
		intern_give(&m->values, l.value);
		return;
	}
	memmove(&labels[at + 1], &labels[at], (*n - at) * sizeof(*labels));
	labels[at] = l;
	++*n;
}

int pod_labels_take(struct model *m, const struct pairs *from, struct pod_label **labels,
                    uint32_t *n)
{
	if (from->n > LABELS_MAX)
		return -EINVAL;
	*n = 0;
	*labels = from->n > 0 ? must_grow(NULL, from->n * sizeof(**labels)) : NULL;
	for (size_t i = from->n; i-- > 0;) {
		struct pod_label l = { .key = model_number(&m->keys, from->at[i].key),
			                   .value = model_number(&m->values, from->at[i].value) };

		insert_label(m, *labels, n, l);
	}
	return 0;
}

void rules_free(struct model *m, struct label_rules *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		intern_give(&m->keys, r->at[i].key);
	for (uint32_t i = 0; i < r->values_n; i++)
		intern_give(&m->values, r->values[i]);
	free(r);
}

size_t rules_memory(const struct label_rules *r)
{
	return r ? sizeof(*r) + r->n * sizeof(r->at[0]) + r->values_n * sizeof(uint32_t) : 0;
}

uint64_t rules_part_bytes(const struct model *m, const struct label_rules *r)
{
	uint64_t bytes = rules_memory(r);

	for (uint32_t i = 0; r && i < r->n; i++)
		bytes += intern_part_bytes(&m->keys, r->at[i].key);
	for (uint32_t i = 0; r && i < r->values_n; i++)
		bytes += intern_part_bytes(&m->values, r->values[i]);
	return bytes;
}

static void rules_add(struct model *m, struct label_rules *r, const struct node_rule *from)
{
	struct requirement *q = &r->at[r->n++];

	*q = (struct requirement){ .op = from->op, .values_first = r->values_n };
	q->values_n = (uint32_t)from->values_n;
	for (size_t i = 0; i < from->values_n; i++)
		r->values[r->values_n++] = model_number(&m->values, from->values[i]);
	q->key = model_number(&m->keys, from->key);
}

int rules_check(const struct node_rule *rules, size_t n, const struct meta *meta, const char *field,
                const char *effect, struct decode_error *error)
{
	size_t values = 0;

	for (size_t i = 0; i < n; i++)
		values += rules[i].values_n;
	if (n > LABELS_MAX)
		decode_error_set(error, meta, field, "has %zu requirements, the limit is %d%s", n,
		                 LABELS_MAX, effect);
	else if (values > SELECTOR_VALUES_MAX)
		decode_error_set(error, meta, field, "has %zu values, the limit is %d%s", values,
		                 SELECTOR_VALUES_MAX, effect);
	else
		return 0;
	return -EINVAL;
}

struct label_rules *rules_make(struct model *m, const struct node_rule *rules, size_t n)
{
	struct label_rules *r;
	size_t values = 0;

	for (size_t i = 0; i < n; i++) {
		if (rules[i].is_void || rules[i].op > REQUIRE_NOT_EXISTS)
			return NULL;
		values += rules[i].values_n;
	}
	if (n == 0)
		return NULL;
	r = must_alloc(sizeof(*r) + n * sizeof(r->at[0]) + values * sizeof(uint32_t));
	r->values = (uint32_t *)(void *)&r->at[n];
	for (size_t i = 0; i < n; i++)
		rules_add(m, r, &rules[i]);
	assert(r->n == n && r->values_n == values);
	return r;
}

bool rules_equal(const struct label_rules *a, const struct label_rules *b)
{
	if (!a || !b)
		return a == b;
	return a->n == b->n && a->values_n == b->values_n &&
	       memcmp(a->at, b->at, a->n * sizeof(a->at[0])) == 0 &&
	       memcmp(a->values, b->values, a->values_n * sizeof(uint32_t)) == 0;
}

static bool among(const uint32_t *values, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i] == value)
			return true;
	return false;
}

bool rules_hold(const struct label_rules *r, const struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 0; r && i < r->n; i++) {
		const struct requirement *q = &r->at[i];
		uint32_t value = labels_find(labels, n, q->key);
		bool in = value != ID_NONE && among(r->values + q->values_first, q->values_n, value);
		bool holds = q->op == REQUIRE_IN       ? in
		             : q->op == REQUIRE_NOT_IN ? !in
		             : q->op == REQUIRE_EXISTS ? value != ID_NONE
		                                       : value == ID_NONE;

		if (!holds)
			return false;
	}
	return true;
}
