/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the nodes' names, which decides between nodes of equal scores.
 *
 * A few nodes that entered or left since the last sort are put in or taken out one by one, and
 * logged, so that views can do the same (core/index/view_reorder.c).  After more of them all names
 * are sorted. */
#include "core/cluster/nodes.h"

#include "core/base/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int node_name_compare(const struct nodes *ns, const struct node *n, const char *name,
                      uint32_t bytes)
{
	return names_compare(name_text(ns->ledger, node_name(n)), n->name_bytes, name, bytes);
}

static int order_compare(const void *a, const void *b, void *context)
{
	const struct nodes *ns = context;
	node_id left = *(const node_id *)a, right = *(const node_id *)b;
	const struct node *other = &ns->slots[right];
	int order = node_name_compare(ns, &ns->slots[left], name_text(ns->ledger, node_name(other)),
	                              other->name_bytes);

	/* Two nodes of one name are a mistake of the frontend; any fixed order is fine. */
	return order ? order : (left > right) - (left < right);
}

void nodes_order_enter(struct nodes *ns, node_id id)
{
	ns->order_old = true;
	if (ns->entered_n == ORDER_LOG)
		ns->order_lost = true;
	if (!ns->order_lost)
		ns->entered[ns->entered_n++] = id;
}

void nodes_order_leave(struct nodes *ns, node_id id)
{
	uint32_t i = 0;

	ns->order_old = true;
	while (i < ns->entered_n && ns->entered[i] != id)
		i++;
	if (i < ns->entered_n) {
		ns->entered[i] = ns->entered[--ns->entered_n]; /* it was never in the order */
		return;
	}
	if (ns->left_n == ORDER_LOG)
		ns->order_lost = true;
	if (!ns->order_lost)
		ns->left[ns->left_n++] = ns->ranks[id];
}

static void sort_all(struct nodes *ns)
{
	uint32_t n = 0;

	for (node_id id = 0; id < ns->used; id++)
		if (ns->slots[id].generation)
			ns->order[n++] = id;
	assert(n == ns->count);
	qsort_r(ns->order, n, sizeof(*ns->order), order_compare, ns);
	ns->order_log_n += ORDER_LOG + 1;
}

static void log_change(struct nodes *ns, uint32_t rank, bool left)
{
	ns->order_log[ns->order_log_n++ % ORDER_LOG] =
		(struct order_change){ .rank = rank, .left = left };
}

/* The first rank from which on the name is higher. */
static uint32_t place_of(const struct nodes *ns, node_id id, uint32_t n)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (order_compare(&ns->order[middle], &id, (void *)(uintptr_t)ns) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int highest_first(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x > y ? -1 : x < y;
}

/* Returns the first rank that changed. */
static uint32_t sort_some(struct nodes *ns)
{
	uint32_t n = ns->count + ns->left_n - ns->entered_n, first = n;

	qsort(ns->left, ns->left_n, sizeof(*ns->left), highest_first);
	for (uint32_t i = 0; i < ns->left_n; i++) {
		const uint32_t rank = ns->left[i];

		n--;
		memmove(&ns->order[rank], &ns->order[rank + 1], (n - rank) * sizeof(*ns->order));
		log_change(ns, rank, true);
		first = rank < first ? rank : first;
	}
	for (uint32_t i = 0; i < ns->entered_n; i++) {
		const uint32_t rank = place_of(ns, ns->entered[i], n);

		memmove(&ns->order[rank + 1], &ns->order[rank], (n - rank) * sizeof(*ns->order));
		ns->order[rank] = ns->entered[i];
		n++;
		log_change(ns, rank, false);
		first = rank < first ? rank : first;
	}
	assert(n == ns->count);
	return first;
}

void nodes_sort(struct nodes *ns)
{
	uint32_t first = 0;

	if (!ns->order_old)
		return;
	if (ns->order_lost || ns->left_n + ns->entered_n > ORDER_LOG)
		sort_all(ns);
	else
		first = sort_some(ns);
	for (uint32_t rank = first; rank < ns->count; rank++)
		ns->ranks[ns->order[rank]] = rank;
	ns->entered_n = ns->left_n = 0;
	ns->order_old = ns->order_lost = false;
	ns->order_version++;
}

void nodes_sort_few(struct nodes *ns)
{
	if (!ns->order_lost && ns->left_n + ns->entered_n >= ORDER_LOG / 2)
		nodes_sort(ns);
}

struct node *nodes_named(struct nodes *ns, const char *name, uint32_t bytes)
{
	uint32_t low = 0, high = ns->count;

	nodes_sort(ns);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (node_name_compare(ns, &ns->slots[ns->order[middle]], name, bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < ns->count; low++) {
		struct node *n = &ns->slots[ns->order[low]];

		if (node_name_compare(ns, n, name, bytes) != 0)
			return NULL;
		if (node_present(n))
			return n;
	}
	return NULL;
}
