/* SPDX-License-Identifier: Apache-2.0 */
/* What is written for a pod: its claims, the check of a choice, and the allocations. */
#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t live_claims_n(const struct live *l, uint32_t pod)
{
	const struct live_pod *p = live_pod_of(l, pod);

	return p ? p->refs_n + live_extended_n(l, p) : 0;
}

static const char *others_of(const struct live *l, const struct live_claim *c, const char *uid)
{
	struct live *at = (struct live *)(uintptr_t)l;
	struct bytes list = { 0 };

	for (size_t i = 0; i < c->reserved_n; i++) {
		if (strcmp(c->reserved[i], uid) == 0)
			continue;
		bytes_put(&list, list.n > 0 ? "," : "");
		bytes_put(&list, c->consumers[i]);
	}
	bytes_add(&list, "", 1);
	free(at->text);
	at->text = list.at;
	return list.at;
}

uint32_t live_claim_pods(const struct live *l, uint32_t pod, uint32_t i)
{
	const struct live_pod *p = live_pod_of(l, pod);
	const uint32_t claim = p && i < p->refs_n ? p->refs[i].claim : LIVE_NONE;

	return claim < l->users_n ? (uint32_t)l->users[claim].n : 0;
}

static void view_fill(const struct live *l, const struct live_claim *c, const char *pod_uid,
                      struct live_claim_view *out)
{
	*out = (struct live_claim_view){
		.name = c->name,
		.uid = c->uid,
		.version = c->version,
		.allocated = c->allocation != NULL,
		.reserved = live_is_reserved(c, pod_uid),
		.owned = strcmp(c->owner, pod_uid) == 0,
		.deleting = c->deleting,
		.finalizer = c->finalizer,
		.node = c->node,
		.selector = c->selector,
		.conditions = c->conditions,
		.failure = c->failure,
		.allocated_s = c->allocated_s,
		.spec = c->spec,
	};
	out->others = c->reserved_n > (out->reserved ? 1u : 0u);
	out->finalizers = c->finalizers;
	out->consumers = others_of(l, c, pod_uid);
}

bool live_claim(const struct live *l, uint32_t pod, uint32_t i, struct live_claim_view *out)
{
	const struct live_pod *p = live_pod_of(l, pod);
	const struct live_claim *c = p ? live_claim_of(l, p, i) : NULL;

	if (!c)
		return false;
	view_fill(l, c, p->uid, out);
	out->extended = i >= p->refs_n;
	return true;
}

bool live_claim_named(const struct live *l, const char *namespace, const char *name,
                      const char *pod_uid, struct live_claim_view *out)
{
	char key[1024];
	const struct live_claim *c;

	snprintf(key, sizeof(key), "%s/%s", namespace, name);
	c = live_claim_at(l, intern_find(&l->claim_names, text_of(key)));
	if (!c)
		return false;
	view_fill(l, c, pod_uid, out);
	return true;
}

static const struct option_entry *option_of(const struct live_question *q,
                                            const struct device_pick *k)
{
	const struct request_entry *r;

	if (k->claim >= q->claims_n || k->request >= q->claims[k->claim].requests_n)
		return NULL;
	r = &q->claims[k->claim].requests[k->request];
	return k->option < r->options_n ? &r->options[k->option] : NULL;
}

/* adminAccess takes nothing: such a device may be in use, but is in a claim once.  Shares are
 * amounts. */
static bool picks_clash(const struct live_question *q, const struct live_node *n,
                        const struct device_pick *a, const struct device_pick *b)
{
	return a->device == b->device && !live_is_shared(n, a->device) &&
	       (a->claim == b->claim || (!option_of(q, a)->admin && !option_of(q, b)->admin));
}

/* `more`: what the picks before take of capacities. */
static bool pick_is_free(const struct live *l, const struct live_node *n,
                         const struct option_entry *o, uint32_t device, device_amount *more)
{
	if (live_is_avoided(l, n->keys[device]))
		return false;
	if (o->admin)
		return true;
	if (live_is_shared(n, device))
		return live_share_fits(l, n, device, o, more);
	return l->taken[n->keys[device]] == 0;
}

static uint32_t group_of(const struct live_question *q, uint32_t claim, uint32_t request)
{
	return live_group_of_request(q->claims[claim].spec, request);
}

/* Each request of a group has some, unless the node serves it: then it has none. */
static bool groups_hold(const struct live_question *q, const struct device_pick *picks, uint32_t n,
                        uint32_t served)
{
	for (uint32_t c = 0; c < q->claims_n; c++)
		for (uint32_t r = 0; r < q->claims[c].requests_n; r++) {
			const uint32_t group = group_of(q, c, r);
			bool any = false;

			for (uint32_t i = 0; i < n; i++)
				any = any || (picks[i].claim == c && picks[i].request == r);
			if (group > 0 && any == (served >> group & 1))
				return false;
		}
	return true;
}

/* The claim of the pod that is not allocated, of which there is one. */
static uint32_t one_of(const struct live *l, const struct live_pod *p)
{
	for (uint32_t i = 0; i < p->refs_n; i++) {
		const struct live_claim *c =
			p->refs[i].not_needed ? NULL : live_claim_at(l, p->refs[i].claim);

		if (c && !c->allocation)
			return c->number;
	}
	return LIVE_NONE;
}

/* Another pod that has devices written for the one claim of its question; NULL: none. */
static const struct live_pod *sharer_of(const struct live *l, const struct live_pod *p)
{
	const uint32_t claim = l->questions[p->question].one ? one_of(l, p) : LIVE_NONE;
	const struct live_users *u = claim < l->users_n ? &l->users[claim] : NULL;

	for (size_t i = 0; u && i < u->n; i++) {
		const struct live_pod *other = &l->pods[u->at[i].pod];

		if (other != p && other->writing && other->question == p->question)
			return other;
	}
	return NULL;
}

/* The picks are the devices that it has. */
static bool picks_join(const struct live_pod *sharer, const struct live_node *n,
                       const struct live_question *q, const struct device_pick *picks,
                       uint32_t picks_n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < picks_n; i++) {
		const struct option_entry *o = option_of(q, &picks[i]);

		if (!o || picks[i].device >= n->devices_n)
			return false;
		if (!o->admin &&
		    (at == sharer->writing_n || sharer->writing[at++] != n->keys[picks[i].device]))
			return false;
	}
	return at == sharer->writing_n;
}

/* *sharer: sharer_of() the pod. */
static bool picks_hold(const struct live *l, const struct live_node *n, const struct live_pod *p,
                       const struct cmd_devices *cmd, const struct device_pick *picks,
                       uint32_t served, const struct live_pod **sharer)
{
	const struct live_question *q;
	uint32_t taken[DEVICE_PICKS_MAX], taken_n = 0;
	device_amount more[NODE_CAPACITIES_MAX] = { 0 };

	if (!n || n->relaid || n->layout != cmd->layout || cmd->question != p->question ||
	    p->question == LIVE_NONE || cmd->picks_n == 0 || cmd->picks_n > DEVICE_PICKS_MAX)
		return false;
	q = &l->questions[p->question];
	if (!groups_hold(q, picks, cmd->picks_n, served))
		return false;
	*sharer = sharer_of(l, p);
	if (*sharer)
		return picks_join(*sharer, n, q, picks, cmd->picks_n);
	for (uint32_t i = 0; i < cmd->picks_n; i++) {
		const struct device_pick *k = &picks[i];
		const struct option_entry *o = option_of(q, k);

		if (!o || k->device >= n->devices_n || !pick_is_free(l, n, o, k->device, more))
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (picks_clash(q, n, &picks[j], k))
				return false;
		/* A second share takes no counters. */
		if (!o->admin && l->taken[n->keys[k->device]] == 0)
			taken[taken_n++] = k->device;
	}
	return live_counters_suffice(l, n, taken, taken_n);
}

/* asked.h, of the question's claims on the node, of the last one what it does not serve; `to`: by
 * request of that one, its number.  A claim that is left without requests is not there. */
static void asked_fill(struct live *l, const struct live_node *n, struct live_question *q,
                       uint32_t served, struct node_entry *node, struct claim_entry **claims,
                       uint32_t *to)
{
	struct asked *a = l->store->asked;
	struct arena arena = a->arena;
	const uint32_t last = q->claims_n - 1;

	arena_reset(&arena);
	*node = live_node_entry(n);
	for (uint32_t i = 0; i < q->claims_n; i++)
		claims[i] = &q->claims[i];
	claims[last] = arena_array(&arena, 1, sizeof(*claims[last]));
	live_extended_cut(q, last, served, claims[last], to, &arena);
	*a = (struct asked){ .arena = arena,
		                 .node = node,
		                 .claims = claims,
		                 .claims_n = q->claims_n - (claims[last]->requests_n == 0),
		                 .devices = n->devices,
		                 .devices_n = n->devices_n };
}

/* Claims that came since with the same names may ask for something else. */
static bool question_holds(const struct live_question *q, const struct live_claim *const *claims,
                           uint32_t n)
{
	bool same = n == q->claims_n;

	for (uint32_t i = 0; same && i < n; i++)
		same = text_is(q->claims[i].spec->raw, claims[i]->spec[0] ? claims[i]->spec : "{}");
	return same;
}

static struct devices_pick pick_full(struct live *l, const struct live_node *n,
                                     const struct live_question *q, const struct device_pick *k,
                                     const uint64_t share[2])
{
	struct devices_pick full = { k->claim,  k->request, k->option,
		                         k->device, NULL,       { share[0], share[1] } };

	if (live_is_shared(n, k->device))
		full.consumed =
			live_share_amounts(n->devices[k->device], option_of(q, k), &l->store->asked->arena);
	return full;
}

static void pick_take(struct live *l, struct live_pod *p, const struct live_node *n,
                      const struct live_question *q, const struct device_pick *k, uint32_t claim,
                      bool joins)
{
	const uint32_t device = n->keys[k->device];

	p->writing[p->writing_n++] = device;
	intern_hold(&l->device_names, device);
	live_device_take(l, device);
	if (live_is_shared(n, k->device) && !joins)
		live_share_take(l, n, k->device, option_of(q, k), claim, &p->draws);
}

bool live_writing(struct live *l, uint32_t pod, const char *node_name,
                  const struct cmd_devices *cmd, const struct device_pick *picks, uint32_t served,
                  const uint64_t share[2],
                  void (*each)(void *context, const char *claim, const char *allocation),
                  void *context)
{
	const uint32_t number = intern_find(&l->node_names, text_of(node_name));
	const struct live_node *n = number < l->nodes_n ? l->nodes[number] : NULL;
	struct live_pod *p = live_pod_of(l, pod);
	const struct live_claim *claims[POD_CLAIMS_MAX + 1];
	struct claim_entry *entries[POD_CLAIMS_MAX + 1];
	struct devices_pick full[DEVICE_PICKS_MAX];
	uint32_t to[QUESTION_OPTIONS_MAX];
	struct live_question *q;
	struct node_entry node;
	const struct live_pod *sharer = NULL;

	if (!p || !p->name || p->writing || !picks_hold(l, n, p, cmd, picks, served, &sharer))
		return false;
	q = &l->questions[p->question];
	if (!question_holds(q, claims, live_claims_of(l, p, false, claims)))
		return false;
	asked_fill(l, n, q, served, &node, entries, to);
	p->writing = must_array(cmd->picks_n, sizeof(*p->writing));
	for (uint32_t i = 0; i < cmd->picks_n; i++) {
		full[i] = pick_full(l, n, q, &picks[i], (const uint64_t[]){ share[0], share[1] + i });
		if (!option_of(q, &picks[i])->admin)
			pick_take(l, p, n, q, &picks[i], claims[picks[i].claim]->number, sharer != NULL);
		if (full[i].claim == q->claims_n - 1)
			full[i].request = to[full[i].request];
	}
	live_writings_count(l, p, 1);
	if (p->asks)
		live_draws_hold(l, &p->draws, 1);
	for (uint32_t i = 0; i < l->store->asked->claims_n; i++) {
		struct bytes json = { 0 };

		allocation_write(l->store, full, cmd->picks_n, i, &json);
		bytes_add(&json, "", 1);
		each(context, claims[i]->name, json.at);
		bytes_free(&json);
	}
	return true;
}

void live_writing_left(struct live *l, uint32_t pod)
{
	struct live_pod *p = live_pod_of(l, pod);

	if (!p || !p->writing)
		return;
	if (p->asks)
		live_draws_hold(l, &p->draws, -1);
	p->asks = false;
	p->left = true;
}

static void device_free(struct live *l, uint32_t device)
{
	live_device_give(l, device);
	intern_give(&l->device_names, device);
}

/* Pods that were dropped.  A pod may be bound by another scheduler, or deleted, before the effect
 * of the last write of its claim is known: until then its devices are not free. */

static void departed_free(struct live *l, struct live_departed *d)
{
	for (uint32_t i = 0; i < d->writing_n; i++)
		device_free(l, d->writing[i]);
	live_conflicts_freed(l, d->writing, d->writing_n);
	live_draws_touch(l, &d->draws);
	live_draws_give(l, &d->draws);
	for (uint32_t i = 0; i < d->claims_n; i++)
		intern_give(&l->claim_names, d->claims[i]);
	free(d->claims);
	free(d->writing);
	free(d->uid);
	*d = l->departed[--l->departed_n];
}

static void departed_end(struct live *l, const char *uid)
{
	for (size_t i = l->departed_n; i-- > 0;)
		if (strcmp(l->departed[i].uid, uid) == 0)
			departed_free(l, &l->departed[i]);
}

void live_departed_free(struct live *l)
{
	while (l->departed_n > 0)
		departed_free(l, l->departed);
	free(l->departed);
}

static bool has_device(const struct live_claim *c, uint32_t device)
{
	for (size_t i = 0; i < c->devices_n; i++)
		if (c->devices[i] == device)
			return true;
	return false;
}

static void departed_landed(struct live *l, struct live_departed *d, const struct live_claim *c)
{
	uint32_t kept = 0;

	live_draws_landed(l, c->extended ? LIVE_NONE : c->number, &d->draws);
	for (uint32_t i = 0; i < d->writing_n; i++)
		if (has_device(c, d->writing[i]))
			device_free(l, d->writing[i]);
		else
			d->writing[kept++] = d->writing[i];
	d->writing_n = kept;
	live_conflicts_freed(l, c->devices, c->devices_n);
}

void live_departed_landed(struct live *l, const struct live_claim *c)
{
	for (size_t i = 0; i < l->departed_n; i++)
		for (uint32_t k = 0; k < l->departed[i].claims_n; k++)
			if (l->departed[i].claims[k] == c->number)
				departed_landed(l, &l->departed[i], c);
}

static void departed_name(struct live *l, struct live_departed *d, uint32_t claim)
{
	intern_hold(&l->claim_names, claim);
	d->claims[d->claims_n++] = claim;
}

void live_writing_depart(struct live *l, uint32_t pod)
{
	struct live_pod *p = &l->pods[pod];
	struct live_departed d = { .writing = p->writing, .writing_n = p->writing_n };
	size_t at = l->departed_n;

	if (!p->writing)
		return;
	live_writings_count(l, p, -1);
	live_conflicts_freed(l, p->writing, p->writing_n);
	if (p->asks)
		live_draws_hold(l, &p->draws, -1);
	d.uid = must_copy(p->uid);
	d.draws = p->draws;
	d.claims = must_array(p->refs_n + live_extended_n(l, p) + 1, sizeof(*d.claims));
	for (uint32_t i = 0; i < p->refs_n; i++)
		if (p->refs[i].claim != LIVE_NONE)
			departed_name(l, &d, p->refs[i].claim);
	for (uint32_t i = 0; i < live_extended_n(l, p); i++)
		departed_name(l, &d, live_extended_at(l, p, i)->number);
	p->writing = NULL;
	p->writing_n = 0;
	p->draws = (struct live_draws){ 0 };
	p->asks = p->left = false;
	l->departed = must_reach(l->departed, &l->departed_cap, at, 16, sizeof(d));
	l->departed[l->departed_n++] = d;
	for (uint32_t i = 0; i < d.claims_n; i++) {
		const struct live_claim *c = live_claim_at(l, d.claims[i]);

		if (c && c->allocation)
			departed_landed(l, &l->departed[at], c);
	}
	if (l->departed[at].writing_n == 0 && l->departed[at].draws.n == 0)
		departed_free(l, &l->departed[at]);
}

void live_written(struct live *l, uint32_t pod, const char *uid)
{
	struct live_pod *p = live_pod_of(l, pod);

	if (uid)
		departed_end(l, uid);
	if (!p || (uid && (!p->name || strcmp(p->uid, uid) != 0)))
		return;
	for (uint32_t i = 0; i < p->writing_n; i++)
		device_free(l, p->writing[i]);
	live_writings_count(l, p, -1);
	live_conflicts_freed(l, p->writing, p->writing_n);
	if (p->asks)
		live_draws_hold(l, &p->draws, -1);
	live_draws_touch(l, &p->draws);
	live_draws_give(l, &p->draws);
	free(p->writing);
	p->writing = NULL;
	p->writing_n = 0;
	p->left = false;
	live_pod_note(l, pod);
}
