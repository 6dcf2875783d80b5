/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that two claims have.  kube-scheduler and others may allocate from the same slices, and
 * the API server does not compare claims.
 *
 * A claim may be named by any number of pods, and a device be in any number of claims.  So what
 * pods write is counted with their claims, and a pod that waits is in the list of one device that
 * is contested: a pod is judged again when that one is given back, in steps that don't depend on
 * how many others there are. */
#include "frontend/devices/live_impl.h"

static uint32_t writings_of(const struct live_pod *p, uint32_t device)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->writing_n; i++)
		n += p->writing[i] == device;
	return n;
}

/* The first of its refs to the claim.  The pod is among the claim's users once for each. */
static bool is_first(const struct live_pod *p, uint32_t ref)
{
	for (uint32_t i = 0; i < ref; i++)
		if (p->refs[i].claim == p->refs[ref].claim)
			return false;
	return true;
}

static void written_add(struct live_claim *c, const struct live_pod *p, int sign)
{
	for (size_t k = 0; k < c->devices_n; k++)
		c->written[k] += (uint32_t)sign * writings_of(p, c->devices[k]);
}

void live_writings_count(struct live *l, const struct live_pod *p, int sign)
{
	for (uint32_t i = 0; p->writing_n > 0 && i < p->refs_n; i++) {
		const uint32_t claim = p->refs[i].claim;

		if (claim < l->claims_n && l->claims[claim] && is_first(p, i))
			written_add(l->claims[claim], p, sign);
	}
}

void live_claim_count(struct live *l, struct live_claim *c)
{
	const struct live_users *u = c->number < l->users_n ? &l->users[c->number] : NULL;

	c->written = must_array(c->devices_n + 1, sizeof(*c->written));
	for (size_t i = 0; u && c->devices_n > 0 && i < u->n; i++) {
		const struct live_pod *p = &l->pods[u->at[i].pod];

		if (p->writing_n > 0 && is_first(p, u->at[i].ref))
			written_add(c, p, 1);
	}
}

static bool is_named(const struct live_pod *p, const struct live_claim *c)
{
	for (uint32_t i = 0; i < p->refs_n; i++)
		if (p->refs[i].claim == c->number)
			return true;
	return false;
}

/* How often the device is taken if nothing else has it: in the claim, and by the pod that chose it
 * for the claim, which another one may share meanwhile. */
static uint32_t ours_of(const struct live_pod *p, const struct live_claim *c, size_t at)
{
	const uint32_t own = is_named(p, c) ? 0 : writings_of(p, c->devices[at]);

	return 1 + c->written[at] + own;
}

/* Allocations have more of a capacity of `of` than there is; the device.  `own`: the same pod's,
 * what it still writes is counted with the claim too. */
static bool is_overdrawn(const struct live *l, const struct live_draws *of,
                         const struct live_draws *own, uint32_t *device)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct live_drawn *d = &l->drawn[of->at[i].number];
		device_amount sum = d->sum;

		for (size_t k = 0; k < own->n; k++)
			if (own->at[k].number == of->at[i].number)
				sum -= own->at[k].amount;
		*device = of->at[i].device;
		if (d->known && sum > d->value)
			return true;
	}
	return false;
}

static const char *conflict_of(const struct live *l, uint32_t pod, const struct live_claim *c,
                               uint32_t *device)
{
	if (is_overdrawn(l, &c->draws, &l->pods[pod].draws, device))
		return intern_text(&l->device_names, *device);
	for (size_t k = 0; k < c->devices_n; k++) {
		*device = c->devices[k];
		if (c->shares[k] && l->whole[*device] == 0)
			continue;
		if (l->taken[*device] > ours_of(&l->pods[pod], c, k))
			return intern_text(&l->device_names, *device);
	}
	return NULL;
}

const char *live_conflict(const struct live *l, uint32_t pod, uint32_t i)
{
	const struct live_claim *c = live_claim_of(l, &l->pods[pod], i);
	uint32_t device;

	return c ? conflict_of(l, pod, c, &device) : NULL;
}

static void conflict_begin(struct live *l, uint32_t pod, uint32_t device)
{
	struct live_pod *p = &l->pods[pod];

	l->contested = must_reach(l->contested, &l->contested_n, device, 1024, sizeof(*l->contested));
	p->conflict = true;
	p->contested = device;
	p->contested_before = 0;
	p->contested_next = l->contested[device];
	if (p->contested_next > 0)
		l->pods[p->contested_next - 1].contested_before = pod + 1;
	l->contested[device] = pod + 1;
}

void live_conflict_end(struct live *l, uint32_t pod)
{
	struct live_pod *p = &l->pods[pod];

	if (!p->conflict)
		return;
	p->conflict = false;
	if (p->contested_before > 0)
		l->pods[p->contested_before - 1].contested_next = p->contested_next;
	else
		l->contested[p->contested] = p->contested_next;
	if (p->contested_next > 0)
		l->pods[p->contested_next - 1].contested_before = p->contested_before;
}

const char *live_conflict_wait(struct live *l, uint32_t pod, const struct live_claim *c)
{
	const char *text;
	uint32_t device;

	if (c->reserved_n == (live_is_reserved(c, l->pods[pod].uid) ? 1u : 0u))
		return NULL;
	text = conflict_of(l, pod, c, &device);
	if (!text)
		return NULL;
	conflict_begin(l, pod, device);
	return text;
}

void live_conflicts_freed(struct live *l, const uint32_t *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		while (devices[i] < l->contested_n && l->contested[devices[i]] > 0) {
			const uint32_t pod = l->contested[devices[i]] - 1;

			live_conflict_end(l, pod);
			live_pod_note(l, pod);
		}
}
