/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of several nodes: which of them a node lists, and whether a claim or a holding anywhere
 * has them. */
#include "core/devices/inventory_impl.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_used(const struct commons *c, uint32_t common)
{
	return device_in(c->taken, common) || c->held[common] > 0;
}

void commons_use(const struct inventory *v, const struct node_devices *n, uint64_t *used)
{
	memcpy(used, n->used, sizeof(n->used));
	for (uint32_t i = 0; i < n->listed->n; i++)
		if (is_used(v->commons, n->listed->at[i].common))
			device_add(used, n->listed->at[i].device);
}

uint32_t common_of(const struct node_devices *n, uint32_t device)
{
	uint32_t first = 0, end = n->listed ? n->listed->n : 0;

	if (!n->listed || !device_in(n->listed->set, device))
		return ID_NONE;
	while (end - first > 1) {
		const uint32_t middle = first + (end - first) / 2;

		if (n->listed->at[middle].device <= device)
			first = middle;
		else
			end = middle;
	}
	return n->listed->at[first].common;
}

bool listed_is(const struct node_devices *n, const struct event_node_devices *e,
               const struct node_lists *lists)
{
	const struct listed *l = n->listed;

	return l ? l->n == e->commons_n && memcmp(l->at, lists->commons, l->n * sizeof(l->at[0])) == 0
	         : e->commons_n == 0;
}

void listed_set(struct inventory *v, struct node_devices *n, const struct event_node_devices *e,
                const struct node_lists *lists)
{
	free(n->listed);
	n->listed = NULL;
	if (e->commons_n == 0)
		return;
	if (!v->commons)
		v->commons = must_alloc(sizeof(*v->commons));
	n->listed = must_alloc(sizeof(*n->listed) + e->commons_n * sizeof(n->listed->at[0]));
	n->listed->n = e->commons_n;
	memcpy(n->listed->at, lists->commons, e->commons_n * sizeof(n->listed->at[0]));
	for (uint32_t i = 0; i < e->commons_n; i++)
		device_add(n->listed->set, lists->commons[i].device);
}

void commons_taken(struct inventory *v, struct node_devices *n)
{
	for (uint32_t i = 0; n->listed && i < n->listed->n; i++) {
		const struct node_common *c = &n->listed->at[i];
		const uint64_t bit = UINT64_C(1) << c->common % 64;
		uint64_t *word = &v->commons->taken[c->common / 64];

		*word = device_in(n->taken, c->device) ? *word | bit : *word & ~bit;
	}
	for (uint32_t i = 0; n->listed && i < DEVICE_WORDS(n->devices_n); i++)
		n->taken[i] &= ~n->listed->set[i];
	if (n->listed)
		v->commons->version++;
}

void commons_hold(struct inventory *v, const struct node_devices *n, const struct holding *h,
                  int sign)
{
	if (!n->listed)
		return;
	for (uint32_t i = 0; i < h->picks_n; i++) {
		const uint32_t common = common_of(n, h->picks[i].device);

		if (common == ID_NONE || device_in(h->idle, i))
			continue;
		assert(sign > 0 || v->commons->held[common] > 0);
		v->commons->held[common] += (uint32_t)sign;
	}
	v->commons->version++;
}

struct listed *listed_copy(const struct listed *l)
{
	const size_t bytes = l ? sizeof(*l) + l->n * sizeof(l->at[0]) : 0;

	return l ? memcpy(must_alloc(bytes), l, bytes) : NULL;
}

/* No holding has any.  The version goes on: version_now() of a copy is none that matches remember.
 */
struct commons *commons_copy(const struct commons *c)
{
	struct commons *to = c ? must_alloc(sizeof(*to)) : NULL;

	if (!to)
		return NULL;
	to->version = c->version;
	memcpy(to->taken, c->taken, sizeof(to->taken));
	return to;
}

bool inventory_is_common(const struct inventory *v, uint32_t question)
{
	return question < QUESTIONS_MAX &&
	       (v->questions[question].commons_n > 0 || v->questions[question].one);
}

bool inventory_is_one(const struct inventory *v, uint32_t question)
{
	return question < QUESTIONS_MAX && v->questions[question].one;
}

/* A pod that none of the set serves has devices of its node alone: as many as are free there serve
 * so many pods, in any order.  Each other pod has one of the set or more. */
void inventory_bound(const struct inventory *v, node_id node, uint32_t question, uint32_t most,
                     struct common_bound *to)
{
	const struct node_devices *n = v->nodes[node];
	const struct match *m = n && question < n->matches_n ? n->matches[question] : NULL;
	const struct question *q = &v->questions[question];
	uint64_t space[NODE_WORDS];
	const uint64_t *used;
	uint32_t own = 0;

	if (!m || !q->simple || q->groups != 1 || n->counted || n->shared) {
		to->pods += most;
		return;
	}
	used = used_now(v, n, space);
	for (uint32_t i = 0; i < DEVICE_WORDS(n->devices_n); i++) {
		const uint64_t listed = n->listed ? n->listed->set[i] : 0;
		const uint64_t bits = m->sets[i] & m->sets[DEVICE_WORDS(n->devices_n) + i] & ~used[i];

		own += (uint32_t)__builtin_popcountll(bits & ~listed);
		for (uint64_t rest = bits & listed; rest; rest &= rest - 1)
			device_add(to->free, common_of(n, i * 64 + (uint32_t)__builtin_ctzll(rest)));
	}
	own /= q->options->count;
	to->pods += own < most ? own : most;
}

bool commons_check(const struct inventory *v)
{
	uint32_t *held;
	bool same;

	if (!v->commons)
		return true;
	held = must_array(COMMON_DEVICES_MAX, sizeof(*held));
	for (uint32_t i = 0; i < v->nodes_n; i++) {
		const struct node_devices *n = v->nodes[i];

		for (uint32_t k = 0; n && n->listed && k < n->holdings_n; k++)
			for (uint32_t p = 0; p < n->holdings[k]->picks_n; p++) {
				const uint32_t common = common_of(n, n->holdings[k]->picks[p].device);

				if (common != ID_NONE && !device_in(n->holdings[k]->idle, p))
					held[common]++;
			}
	}
	same = memcmp(held, v->commons->held, COMMON_DEVICES_MAX * sizeof(*held)) == 0;
	free(held);
	return same;
}
