/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements on labels as numbers, as services, controllers and policies hold them. */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void rules_free(struct model *m, struct owner_rules *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		intern_give(&m->keys, r->at[i].key);
	for (uint32_t i = 0; i < r->values_n; i++)
		intern_give(&m->values, r->values[i]);
	free(r);
}

static int rules_add(struct model *m, struct owner_rules *r, const struct node_rule *from)
{
	struct requirement *q = &r->at[r->n];

	*q = (struct requirement){ .op = from->op, .values_first = r->values_n };
	for (size_t i = 0; i < from->values_n; i++) {
		if (intern_take(&m->values, from->values[i], &r->values[r->values_n]) < 0)
			return -ENOMEM;
		r->values_n++;
		q->values_n++;
	}
	if (intern_take(&m->keys, from->key, &q->key) < 0)
		return -ENOMEM;
	r->n++;
	return 0;
}

int rules_make(struct model *m, const struct node_rule *rules, size_t n, struct owner_rules **out)
{
	struct owner_rules *r;
	size_t values = 0;

	*out = NULL;
	for (size_t i = 0; i < n; i++) {
		if (rules[i].is_void || rules[i].op > REQUIRE_NOT_EXISTS)
			return 0;
		values += rules[i].values_n;
	}
	if (n == 0)
		return 0;
	r = malloc(sizeof(*r) + n * sizeof(r->at[0]) + values * sizeof(uint32_t));
	if (!r)
		return -ENOMEM;
	*r = (struct owner_rules){ .values = (uint32_t *)(void *)&r->at[n] };
	for (size_t i = 0; i < n; i++) {
		if (rules_add(m, r, &rules[i]) < 0) {
			rules_free(m, r);
			return -ENOMEM;
		}
	}
	*out = r;
	return 0;
}

bool rules_equal(const struct owner_rules *a, const struct owner_rules *b)
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

bool rules_hold(const struct owner_rules *r, const struct pod_label *labels, uint32_t n)
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
