/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/inflight.h"

#include "core/base/probe.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/precedence.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ASSUME_AGAIN_MS 30000u /* not in the record: the earlier epoch's expiry is lost */

/* Everything with a node that the initial lists need not show: not CONFIRMED; nor NOMINATED, which
 * has no binding. */
static bool outlives_epoch(const struct pod *p)
{
	return p->generation != 0 && p->node != ID_NONE &&
	       !reservation_in(p, RESERVATION_BIT(CONFIRMED) | RESERVATION_BIT(NOMINATED));
}

struct inflight *inflight_collect(const struct core *c, size_t *n)
{
	const size_t before = c->synced ? 0 : c->inflight_n;
	struct inflight *all, *next;

	*n = before;
	for (pod_id id = 0; id < c->pods.used; id++)
		*n += outlives_epoch(&c->pods.slots[id]);
	if (*n == 0)
		return NULL;
	all = must_array(*n, sizeof(*all));
	if (before > 0)
		memcpy(all, c->inflight, before * sizeof(*all));
	next = all + before;
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];
		struct name name;

		if (!outlives_epoch(p))
			continue;
		name = node_name(&c->nodes.slots[p->node]);
		memcpy(next->uid, p->uid, sizeof(p->uid));
		next->journaled = next->cancelled = false;
		next->keep_ms = 0;
		next->retained = reservation_is_retained(p);
		next->node_bytes = name.bytes;
		memcpy(next++->node, name_text(&c->ledger, name), name.bytes);
	}
	return all;
}

void inflight_note(struct core *c, const struct event_pod *e)
{
	const struct name name = node_name(&c->nodes.slots[e->node]);
	struct inflight *next;

	c->inflight = must_grow(c->inflight, (c->inflight_n + 1) * sizeof(*c->inflight));
	next = &c->inflight[c->inflight_n++];
	*next = (struct inflight){ .uid = { e->uid[0], e->uid[1] },
		                       .retained = e->flags & POD_INTENT_RETAIN,
		                       .cancelled = e->flags & POD_INTENT_CANCEL,
		                       .journaled = true,
		                       .keep_ms = e->keep_ms,
		                       .node_bytes = name.bytes };
	memcpy(next->node, name_text(&c->ledger, name), name.bytes);
}

static int by_uid(const void *a, const void *b)
{
	const struct inflight *left = a, *right = b;

	if (left->uid[0] != right->uid[0])
		return left->uid[0] < right->uid[0] ? -1 : 1;
	return left->uid[1] < right->uid[1] ? -1 : left->uid[1] > right->uid[1];
}

static int by_uid_journaled_first(const void *a, const void *b)
{
	const struct inflight *left = a, *right = b;
	const int order = by_uid(a, b);

	return order ? order : (int)right->journaled - (int)left->journaled;
}

/* Sorts, and keeps one for each pod. */
static void inflight_sort(struct core *c)
{
	size_t n = 0;

	qsort(c->inflight, c->inflight_n, sizeof(*c->inflight), by_uid_journaled_first);
	for (size_t i = 0; i < c->inflight_n; i++)
		if (n == 0 || by_uid(&c->inflight[n - 1], &c->inflight[i]) != 0)
			c->inflight[n++] = c->inflight[i];
	c->inflight_n = n;
}

static void resolve_binding(struct core *c, pod_id id, node_id node, const struct inflight *found)
{
	const uint64_t keep_ms = found->keep_ms > 0 ? found->keep_ms : ASSUME_AGAIN_MS;
	const struct pod *p = &c->pods.slots[id];
	const struct shape *s = &c->shapes.slots[p->shape];
	/* Without its claims, which an earlier frontend did not finish to write, it can't be bound. */
	const bool fits = nodes_fit(&c->nodes, node, s) && pod_counts_serves(&c->pod_counts, node, s);

	PROBE(inflight_restored, id, node);
	if (!(p->flags & POD_OURS)) {
		if (fits)
			pod_assume(c, id, node, c->now_ns + keep_ms * NS_PER_MS);
		return;
	}
	if (fits && p->readiness == MEMBER_READY && !found->cancelled)
		pod_reserve_again(c, id, node, RESERVATION_RETRY);
	else
		pod_reserve_again(c, id, node, RESERVATION_CANCEL);
}

static void resolve_retained(struct core *c, pod_id id, node_id node)
{
	const struct pod *p = &c->pods.slots[id];

	if (p->readiness == MEMBER_READY && nodes_fit(&c->nodes, node, &c->shapes.slots[p->shape]))
		pod_reserve_again(c, id, node, RESERVATION_RETAINED);
}

static void resolve_all(struct core *c, bool retained)
{
	for (pod_id id = 0; id < c->pods.used && c->inflight_n > 0; id++) {
		const struct pod *p = &c->pods.slots[id];
		struct inflight key = { .uid = { p->uid[0], p->uid[1] } };
		const struct inflight *found;
		const struct node *n;

		/* A pod with gates or a deletionTimestamp can't be bound any more. */
		if (p->generation == 0 || p->reservation != RESERVATION_NONE ||
		    p->flags & (POD_DELETING | POD_GATED))
			continue;
		found = bsearch(&key, c->inflight, c->inflight_n, sizeof(key), by_uid);
		if (!found || found->retained != retained)
			continue;
		n = nodes_named(&c->nodes, found->node, found->node_bytes);
		if (n && retained)
			resolve_retained(c, id, nodes_id(&c->nodes, n));
		else if (n)
			resolve_binding(c, id, nodes_id(&c->nodes, n), found);
	}
}

void inflight_resolve(struct core *c)
{
	assert(c->inflight || c->inflight_n == 0);
	if (c->inflight_n > 0)
		inflight_sort(c);
	resolve_all(c, false);
	/* Members were added or deleted meanwhile: part of a gang is not bound again. */
	for (pod_id id = 0; id < c->pods.used && c->sends.n > 0; id++)
		if (reservation_is_unsent(&c->pods.slots[id]))
			gang_cancel_unsent(c, c->pods.slots[id].gang);
	precedence_restore(c);
	/* After all bindings: they decide whether a gang is partially bound. */
	resolve_all(c, true);
	free(c->inflight);
	c->inflight = NULL;
	c->inflight_n = 0;
}
