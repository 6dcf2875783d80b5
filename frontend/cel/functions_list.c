/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of lists, and sets written as lists. */
#include "frontend/cel/ast.h"
#include "frontend/cel/function.h"

#include <stdlib.h>
#include <string.h>

struct cel_value cel_list_sum(struct cel_call *c)
{
	const struct cel_value *list = &c->args[0];
	struct cel_value sum = cel_int(0);
	uint32_t i;

	cel_charge(c->s, list->n);
	for (i = 0; i < list->n; i++) {
		if (i == 0) {
			sum = list->items[0];
			continue;
		}
		sum = cel_operate(c->s, OPERATOR_ADD, &sum, &list->items[i]);
		if (sum.kind == CEL_ERROR)
			return sum;
	}
	return sum;
}

static struct cel_value extreme(struct cel_call *c, int replaced_when, const char *name)
{
	const struct cel_value *list = &c->args[0], *best = list->items;
	uint32_t i;

	if (list->n == 0)
		return cel_error(c->s, "%s called on empty list", name);
	for (i = 1; i < list->n && !c->s->exceeded; i++) {
		struct cel_value order;

		if (!cel_comparable(&list->items[i]))
			return cel_no_overload();
		order = cel_compare(c->s, best, &list->items[i]);
		cel_charge(c->s, 1);
		if (order.kind == CEL_INT && order.i == replaced_when)
			best = &list->items[i];
	}
	return *best;
}

struct cel_value cel_list_min(struct cel_call *c)
{
	return extreme(c, 1, "min");
}

struct cel_value cel_list_max(struct cel_call *c)
{
	return extreme(c, -1, "max");
}

struct cel_value cel_list_is_sorted(struct cel_call *c)
{
	const struct cel_value *list = &c->args[0];
	uint32_t i;

	cel_charge(c->s, list->n);
	for (i = 0; i < list->n && !c->s->exceeded; i++) {
		struct cel_value order;

		if (!cel_comparable(&list->items[i]))
			return cel_no_overload();
		if (i == 0)
			continue;
		order = cel_compare(c->s, &list->items[i - 1], &list->items[i]);
		if (order.kind == CEL_INT && order.i == 1)
			return cel_bool(false);
	}
	return cel_bool(true);
}

/* Merge sort: no recursion, and not more comparisons than are counted. */
static void sort_items(struct cel_scratch *s, struct cel_value *items, struct cel_value *space,
                       uint32_t n)
{
	uint32_t width, at;

	for (width = 1; width < n; width *= 2) {
		for (at = 0; at < n; at += 2 * width) {
			uint32_t middle = at + width < n ? at + width : n;
			uint32_t end = at + 2 * width < n ? at + 2 * width : n;
			uint32_t i = at, k = middle, to = at;

			while (to < end) {
				bool second = i == middle;

				if (!second && k < end) {
					struct cel_value order = cel_compare(s, &items[k], &items[i]);

					second = order.kind == CEL_INT && order.i < 0;
				}
				space[to++] = second ? items[k++] : items[i++];
			}
		}
		cel_charge(s, (size_t)n * 16);
		memcpy(items, space, n * sizeof(items[0]));
		if (s->exceeded)
			return;
	}
}

struct cel_value cel_list_sort(struct cel_call *c)
{
	const struct cel_value *list = &c->args[0];
	struct cel_value sorted, space;
	uint32_t i;

	if (list->n == 0)
		return *list;
	if (!cel_comparable(&list->items[0]))
		return cel_error_text("list elements must be comparable");
	for (i = 1; i < list->n; i++)
		if (list->items[i].kind != list->items[0].kind)
			return cel_error_text("list elements must have the same type");
	sorted = cel_list(c->s, list->n);
	space = cel_list(c->s, list->n);
	if (sorted.kind == CEL_ERROR || space.kind == CEL_ERROR)
		return cel_error_text("");
	memcpy(sorted.items, list->items, list->n * sizeof(sorted));
	sort_items(c->s, sorted.items, space.items, list->n);
	return sorted;
}

static struct cel_value position(struct cel_call *c, bool last)
{
	const struct cel_value *list = &c->args[0];
	uint32_t i;

	for (i = 0; i < list->n && !c->s->exceeded; i++) {
		uint32_t at = last ? list->n - 1 - i : i;

		if (cel_same(c->s, &list->items[at], &c->args[1]))
			return cel_int(at);
	}
	return cel_int(-1);
}

struct cel_value cel_list_index_of(struct cel_call *c)
{
	return position(c, false);
}

struct cel_value cel_list_last_index_of(struct cel_call *c)
{
	return position(c, true);
}

struct cel_value cel_list_slice(struct cel_call *c)
{
	struct cel_value list = c->args[0];
	long long start = c->args[1].i, end = c->args[2].i;

	if (start < 0 || end < 0)
		return cel_error(c->s, "cannot slice(%lld, %lld), negative indexes not supported", start,
		                 end);
	if (start > end)
		return cel_error(
			c->s, "cannot slice(%lld, %lld), start index must be less than or equal to end index",
			start, end);
	if (end > list.n)
		return cel_error(c->s, "cannot slice(%lld, %lld), list is length %u", start, end, list.n);
	list.items += start;
	list.n = (uint32_t)(end - start);
	return list;
}

struct cel_value cel_list_reverse(struct cel_call *c)
{
	const struct cel_value *list = &c->args[0];
	struct cel_value out = cel_list(c->s, list->n);
	uint32_t i;

	if (out.kind == CEL_LIST)
		for (i = 0; i < list->n; i++)
			out.items[i] = list->items[list->n - 1 - i];
	return out;
}

struct cel_value cel_list_distinct(struct cel_call *c)
{
	const struct cel_value *list = &c->args[0];
	struct cel_value out = cel_list(c->s, list->n);
	uint32_t i, k;

	if (out.kind == CEL_ERROR)
		return out;
	out.n = 0;
	for (i = 0; i < list->n && !c->s->exceeded; i++) {
		for (k = 0; k < out.n; k++)
			if (i != k && cel_same(c->s, &list->items[i], &out.items[k]))
				break;
		if (k == out.n)
			out.items[out.n++] = list->items[i];
	}
	return out;
}

static struct cel_value flatten_once(struct cel_call *c, const struct cel_value *list)
{
	struct cel_value out;
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < list->n; i++)
		n += list->items[i].kind == CEL_LIST ? list->items[i].n : 1;
	out = cel_list(c->s, n);
	if (out.kind == CEL_ERROR)
		return out;
	for (n = 0, i = 0; i < list->n; i++) {
		const struct cel_value *v = &list->items[i];

		if (v->kind != CEL_LIST) {
			out.items[n++] = *v;
			continue;
		}
		if (v->n)
			memcpy(&out.items[n], v->items, v->n * sizeof(*v));
		n += v->n;
	}
	return out;
}

struct cel_value cel_list_flatten(struct cel_call *c)
{
	struct cel_value list = c->args[0];
	int64_t depth = c->n == 2 ? c->args[1].i : 1;
	bool again = true;
	uint32_t i;

	if (depth < 0)
		return cel_error_text("level must be non-negative");
	for (; depth > 0 && again && list.kind == CEL_LIST && !c->s->exceeded; depth--) {
		again = false;
		cel_charge(c->s, list.n);
		for (i = 0; i < list.n; i++)
			again = again || list.items[i].kind == CEL_LIST;
		if (again)
			list = flatten_once(c, &list);
	}
	return list;
}

struct cel_value cel_list_range(struct cel_call *c)
{
	int64_t n = c->args[0].i, i;
	struct cel_value out;

	if (n > CEL_STEPS) {
		c->s->exceeded = true;
		return cel_error_text("");
	}
	out = cel_list(c->s, n > 0 ? (size_t)n : 0);
	if (out.kind == CEL_LIST)
		for (i = 0; i < n; i++)
			out.items[i] = cel_int(i);
	return out;
}

struct cel_value cel_list_first(struct cel_call *c)
{
	return cel_optional(c->s, c->args[0].n ? &c->args[0].items[0] : NULL);
}

struct cel_value cel_list_last(struct cel_call *c)
{
	return cel_optional(c->s, c->args[0].n ? &c->args[0].items[c->args[0].n - 1] : NULL);
}

struct cel_value cel_list_join(struct cel_call *c)
{
	const struct cel_value *list = &c->args[0];
	struct text separator = c->n == 2 ? cel_text(&c->args[1]) : (struct text){ 0 };
	size_t n = 0;
	char *to;
	uint32_t i;

	for (i = 0; i < list->n; i++) {
		if (list->items[i].kind != CEL_STRING) {
			struct text t = cel_print(c->s, &list->items[i]);

			return cel_error(c->s, "join: invalid input: %.*s",
			                 (int)(t.bytes > 400 ? 400 : t.bytes), t.at ? t.at : "");
		}
		n += list->items[i].n + (i ? separator.bytes : 0);
	}
	cel_charge(c->s, n + list->n);
	to = cel_alloc(c->s, n);
	if (!to)
		return cel_error_text("");
	for (n = 0, i = 0; i < list->n; i++) {
		if (i && separator.bytes) {
			memcpy(to + n, separator.at, separator.bytes);
			n += separator.bytes;
		}
		if (list->items[i].n)
			memcpy(to + n, list->items[i].text, list->items[i].n);
		n += list->items[i].n;
	}
	return cel_string((struct text){ to, n });
}

static bool contains(struct cel_call *c, const struct cel_value *list, const struct cel_value *v)
{
	uint32_t i;

	for (i = 0; i < list->n && !c->s->exceeded; i++)
		if (cel_same(c->s, v, &list->items[i]))
			return true;
	return false;
}

static bool contains_all(struct cel_call *c, const struct cel_value *list,
                         const struct cel_value *part)
{
	uint32_t i;

	for (i = 0; i < part->n; i++)
		if (!contains(c, list, &part->items[i]))
			return false;
	return true;
}

struct cel_value cel_sets_contains(struct cel_call *c)
{
	return cel_bool(contains_all(c, &c->args[0], &c->args[1]));
}

struct cel_value cel_sets_equivalent(struct cel_call *c)
{
	return cel_bool(contains_all(c, &c->args[0], &c->args[1]) &&
	                contains_all(c, &c->args[1], &c->args[0]));
}

struct cel_value cel_sets_intersects(struct cel_call *c)
{
	uint32_t i;

	for (i = 0; i < c->args[0].n; i++)
		if (contains(c, &c->args[1], &c->args[0].items[i]))
			return cel_bool(true);
	return cel_bool(false);
}
