/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/carry.h"

#include "core/base/probe.h"
#include "core/lifecycle/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLAIM_CARRIED_NS (30 * UINT64_C(1000000000)) /* how long it was kept for is not carried */

/* Bound by a result alone counts as well: the watch has not said so yet. */
static bool in_flight(const struct pod *p)
{
	if (p->generation == 0 || p->node == ID_NONE)
		return false;
	return p->state == POD_RESERVED || (p->state == POD_BOUND && !p->confirmed);
}

static bool is_carried(const struct pod *p)
{
	return in_flight(p) || pod_keeps_room(p);
}

int carry_collect(const struct core *c, struct carried **out, size_t *out_n)
{
	size_t n = c->synced ? 0 : c->carried_n, most = n;
	struct carried *all;

	for (pod_id id = 0; id < c->pods.used; id++)
		most += is_carried(&c->pods.slots[id]);
	*out = NULL;
	*out_n = 0;
	if (most == 0)
		return 0;
	all = calloc(most, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (n > 0)
		memcpy(all, c->carried, n * sizeof(*all));
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];
		struct name name;

		if (!is_carried(p))
			continue;
		name = node_name(&c->nodes.slots[p->node]);
		memcpy(all[n].uid, p->uid, sizeof(p->uid));
		all[n].kept = pod_keeps_room(p);
		all[n].node_bytes = name.bytes;
		memcpy(all[n++].node, name_text(&c->ledger, name), name.bytes);
	}
	*out = all;
	*out_n = n;
	return 0;
}

static int by_uid(const void *a, const void *b)
{
	const struct carried *left = a, *right = b;

	if (left->uid[0] != right->uid[0])
		return left->uid[0] < right->uid[0] ? -1 : 1;
	return left->uid[1] < right->uid[1] ? -1 : left->uid[1] > right->uid[1];
}

static void settle(struct core *c, pod_id id, node_id node)
{
	const struct pod *p = &c->pods.slots[id];
	const bool fits = nodes_fit(&c->nodes, node, &c->shapes.slots[p->shape]);

	PROBE(carried, id, node);
	if (p->flags & POD_OURS)
		pod_reserve_again(c, id, node, !fits || p->class != MEMBER_READY);
	else if (fits)
		pod_claim(c, id, node, c->now_ns + CLAIM_CARRIED_NS);
}

static void settle_kept(struct core *c, pod_id id, node_id node)
{
	const struct pod *p = &c->pods.slots[id];

	if (p->class == MEMBER_READY && nodes_fit(&c->nodes, node, &c->shapes.slots[p->shape]))
		pod_keep_again(c, id, node);
}

/* Those whose room was kept come last: what has a node by then tells whether their gang has begun.
 */
static void settle_all(struct core *c, bool kept)
{
	for (pod_id id = 0; id < c->pods.used && c->carried_n > 0; id++) {
		const struct pod *p = &c->pods.slots[id];
		struct carried key = { .uid = { p->uid[0], p->uid[1] } };
		const struct carried *found;
		const struct node *n;

		/* One that is gated or being deleted is another version of it than was sent. */
		if (p->generation == 0 || p->state != POD_PENDING || p->flags & (POD_DELETING | POD_GATED))
			continue;
		found = bsearch(&key, c->carried, c->carried_n, sizeof(key), by_uid);
		n = found && found->kept == kept ? nodes_named(&c->nodes, found->node, found->node_bytes)
		                                 : NULL;
		if (n)
			(kept ? settle_kept : settle)(c, id, nodes_id(&c->nodes, n));
	}
}

void carry_settle(struct core *c)
{
	if (c->carried_n > 0)
		qsort(c->carried, c->carried_n, sizeof(*c->carried), by_uid);
	settle_all(c, false);
	/* Members came or went meanwhile: half a gang is not sent again. */
	for (pod_id id = 0; id < c->pods.used && c->sends.n > 0; id++)
		if (c->pods.slots[id].list == LIST_SEND)
			gang_cancel_unsent(c, c->pods.slots[id].gang);
	settle_all(c, true);
	free(c->carried);
	c->carried = NULL;
	c->carried_n = 0;
}
