/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes that are being written for a claim, and places where a claim was not served.  A collision
 * of hashes, which are keyed, costs a volume or a node for a while. */
#include "frontend/volume/volume_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static const struct text none = { "", 0 };

void volume_holds_init(struct volume_holds *h)
{
	volume_keys_init(&h->assumed);
	volume_keys_init(&h->avoided);
	volume_keys_init(&h->busy);
	volume_keys_init(&h->claims);
}

void volume_holds_free(struct volume_holds *h)
{
	for (size_t i = 0; i < h->avoids_n; i++) {
		free(h->avoids[i].namespace);
		free(h->avoids[i].claim);
	}
	free(h->avoids);
	free(h->planned);
	store_free(&h->assumed);
	store_free(&h->avoided);
	store_free(&h->busy);
	store_free(&h->claims);
}

static struct volume_keyed *count_up(struct store *ks, uint64_t hash)
{
	struct volume_keyed *k = volume_keyed_at(ks, volume_keys_add(ks, hash));

	k->count++;
	return k;
}

static void count_down(struct store *ks, uint64_t hash)
{
	struct volume_keyed *k = volume_keys_find(ks, hash);

	if (k && --k->count == 0)
		store_remove(ks, store_find(ks, (uint32_t)hash, &hash));
}

static uint64_t claim_hash(const struct volumes *vs, struct text uid)
{
	return volume_hash(vs, HOLD_CLAIM, uid, none);
}

static const struct volume_keyed *assumption(const struct volumes *vs, struct text volume)
{
	if (vs->holds.assumed.pool.used == 0)
		return NULL;
	return volume_keys_find(&vs->holds.assumed, volume_hash(vs, HOLD_ASSUMED, volume, none));
}

bool volumes_are_busy(const struct volumes *vs, struct text claim_uid)
{
	return vs->holds.busy.pool.used > 0 &&
	       volume_keys_find(&vs->holds.busy, volume_hash(vs, HOLD_BUSY, claim_uid, none));
}

bool volume_is_busy(const struct volumes *vs, const struct claim_object *claim)
{
	return volumes_are_busy(vs, claim->head.uid);
}

void volumes_busy(struct volumes *vs, const struct volume_choice *claim, bool more)
{
	const uint64_t hash = volume_hash(vs, HOLD_BUSY, claim->claim_uid, none);

	if (more)
		count_up(&vs->holds.busy, hash);
	else
		count_down(&vs->holds.busy, hash);
	volume_touch(vs, VOLUME_KIND_CLAIM, claim->namespace, claim->claim);
}

bool volume_is_held(const struct volumes *vs, const struct claim_object *claim)
{
	return vs->holds.claims.pool.used > 0 &&
	       volume_keys_find(&vs->holds.claims, claim_hash(vs, claim->head.uid));
}

bool volume_is_assumed(const struct volumes *vs, const struct pv_object *pv)
{
	return assumption(vs, pv->head.name);
}

bool volume_is_assumed_for(const struct volumes *vs, const struct pv_object *pv,
                           const struct claim_object *claim)
{
	const struct volume_keyed *k = assumption(vs, pv->head.name);

	return k && k->first == (uint32_t)claim_hash(vs, claim->head.uid);
}

bool volume_is_avoided(const struct volumes *vs, const struct claim_object *claim,
                       enum volume_place place, struct text name)
{
	return vs->holds.avoided.pool.used > 0 &&
	       volume_keys_find(&vs->holds.avoided,
	                        volume_hash(vs, HOLD_AVOIDED + place, claim->head.uid, name));
}

void volumes_assume_for(struct volumes *vs, struct text volume, struct text claim_uid)
{
	const uint64_t claim = claim_hash(vs, claim_uid);

	count_up(&vs->holds.assumed, volume_hash(vs, HOLD_ASSUMED, volume, none))->first =
		(uint32_t)claim;
	count_up(&vs->holds.claims, claim);
	volume_touch(vs, VOLUME_KIND_VOLUME, none, volume);
}

void volumes_unassume(struct volumes *vs, struct text volume, struct text claim_uid)
{
	count_down(&vs->holds.assumed, volume_hash(vs, HOLD_ASSUMED, volume, none));
	count_down(&vs->holds.claims, claim_hash(vs, claim_uid));
	volume_touch(vs, VOLUME_KIND_VOLUME, none, volume);
}

static char *text_dup(struct text t)
{
	char *copy = must_alloc(t.bytes + 1);

	memcpy(copy, t.at, t.bytes);
	return copy;
}

void volumes_avoid(struct volumes *vs, const struct volume_choice *claim, enum volume_place place,
                   struct text name, uint64_t until_ns)
{
	struct volume_holds *h = &vs->holds;
	const uint64_t hash = volume_hash(vs, HOLD_AVOIDED + place, claim->claim_uid, name);
	struct volume_avoid *a;

	if (h->avoids_n >= AVOIDS_MAX || volume_keys_find(&h->avoided, hash))
		return;
	h->avoids = must_reach(h->avoids, &h->avoids_cap, h->avoids_n, 64, sizeof(*h->avoids));
	a = &h->avoids[h->avoids_n++];
	*a = (struct volume_avoid){ .hash = hash,
		                        .claim_hash = claim_hash(vs, claim->claim_uid),
		                        .namespace = text_dup(claim->namespace),
		                        .claim = text_dup(claim->claim),
		                        .until_ns = until_ns };
	count_up(&h->avoided, a->hash);
	count_up(&h->claims, a->claim_hash);
	volume_touch(vs, VOLUME_KIND_CLAIM, claim->namespace, claim->claim);
}

uint64_t volumes_expire(struct volumes *vs, uint64_t now_ns)
{
	struct volume_holds *h = &vs->holds;
	uint64_t next = UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < h->avoids_n; i++) {
		struct volume_avoid *a = &h->avoids[i];

		if (a->until_ns > now_ns) {
			next = a->until_ns < next ? a->until_ns : next;
			h->avoids[n++] = *a;
			continue;
		}
		count_down(&h->avoided, a->hash);
		count_down(&h->claims, a->claim_hash);
		volume_touch(vs, VOLUME_KIND_CLAIM, text_of(a->namespace), text_of(a->claim));
		free(a->namespace);
		free(a->claim);
	}
	h->avoids_n = n;
	return next;
}

uint64_t volume_space(const struct volumes *vs, const struct capacity_object *capacity)
{
	return volume_hash(vs, HOLD_SPACE, capacity->head.namespace, capacity->head.name) | 1;
}

static struct volume_planned *planned_at(const struct volumes *vs, uint64_t space)
{
	for (size_t i = 0; i < vs->holds.planned_n; i++)
		if (vs->holds.planned[i].space == space)
			return &vs->holds.planned[i];
	return NULL;
}

nano_t volume_planned(const struct volumes *vs, uint64_t space)
{
	const struct volume_planned *p = planned_at(vs, space);

	return p ? p->sum : 0;
}

void volumes_plan_space(struct volumes *vs, uint64_t space, nano_t size, bool more)
{
	struct volume_holds *h = &vs->holds;
	struct volume_planned *p = planned_at(vs, space);

	if (!p && more) {
		h->planned = must_reach(h->planned, &h->planned_cap, h->planned_n, 16, sizeof(*h->planned));
		p = &h->planned[h->planned_n++];
		*p = (struct volume_planned){ .space = space };
	}
	if (!p)
		return;
	p->sum += more ? size : -size;
	if (p->sum <= 0)
		*p = h->planned[--h->planned_n];
}
