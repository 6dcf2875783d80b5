/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that two claims have.  kube-scheduler and others may allocate from the same slices, and
 * the API server does not compare claims. */
#include "frontend/devices/live_impl.h"

static uint32_t writings_of(const struct live_pod *p, uint32_t device)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->writing_n; i++)
		n += p->writing[i] == device;
	return n;
}

/* How often the device is taken if nothing else has it: in the claim, and by the pod that chose it
 * for the claim, which another one may share meanwhile. */
static uint32_t ours_of(const struct live *l, uint32_t pod, const struct live_claim *c,
                        uint32_t device)
{
	const struct live_users *u = c->number < l->users_n ? &l->users[c->number] : NULL;
	uint32_t ours = 1 + writings_of(&l->pods[pod], device);

	for (size_t i = 0; u && i < u->n && ours < l->taken[device]; i++)
		if (u->at[i].pod != pod)
			ours += writings_of(&l->pods[u->at[i].pod], device);
	return ours;
}

static const char *conflict_of(const struct live *l, uint32_t pod, const struct live_claim *c,
                               uint32_t *device)
{
	if (live_overdrawn(l, &c->draws, &l->pods[pod].draws, device))
		return intern_text(&l->device_names, *device);
	for (size_t k = 0; k < c->devices_n; k++) {
		*device = c->devices[k];
		if (c->shares[k] && l->whole[*device] == 0)
			continue;
		if (l->taken[*device] > ours_of(l, pod, c, *device))
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

const char *live_conflict_wait(struct live *l, uint32_t pod, const struct live_claim *c)
{
	struct live_pod *p = &l->pods[pod];
	const char *text;
	uint32_t device;

	if (c->reserved_n == (live_is_reserved(c, p->uid) ? 1u : 0u))
		return NULL;
	text = conflict_of(l, pod, c, &device);
	if (!text)
		return NULL;
	l->contested = must_reach(l->contested, &l->contested_n, device, 1024, sizeof(*l->contested));
	l->contested[device] = true;
	live_conflict_set(l, p, true);
	return text;
}

void live_conflict_set(struct live *l, struct live_pod *p, bool conflict)
{
	l->conflicts_n += (uint32_t)conflict - p->conflict;
	p->conflict = conflict;
}

void live_conflicts_freed(struct live *l, const uint32_t *devices, size_t n)
{
	for (size_t i = 0; l->conflicts_n > 0 && i < n; i++)
		if (devices[i] < l->contested_n && l->contested[devices[i]]) {
			l->contested[devices[i]] = false;
			l->conflicts_due = true;
		}
}

void live_conflicts_note(struct live *l)
{
	for (uint32_t i = 0; l->conflicts_due && l->conflicts_n > 0 && i < l->pods_n; i++)
		if (l->pods[i].conflict)
			live_pod_note(l, i);
	l->conflicts_due = false;
}
