/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in the tables of live devices, and the list of pods that are to be judged again. */
#include "frontend/devices/live_impl.h"

#include <string.h>

#define UNASKED_ONCE 16u

uint32_t live_number(struct intern *in, struct text t)
{
	uint32_t number;

	if (intern_take(in, t, &number) < 0)
		fatal_memory(); /* 2^32 of them */
	return number;
}

void live_names_recycle(struct live *l)
{
	intern_recycle(&l->slice_names);
	intern_recycle(&l->node_names);
	intern_recycle(&l->claim_names);
	intern_recycle(&l->device_names);
	intern_recycle(&l->draw_names);
	intern_recycle(&l->common_names);
	intern_recycle(&l->spaces);
	intern_recycle(&l->owners);
}

const struct live_claim *live_claim_at(const struct live *l, uint32_t number)
{
	return number < l->claims_n ? l->claims[number] : NULL;
}

uint32_t live_extended_n(const struct live *l, const struct live_pod *p)
{
	const size_t n =
		p->extended && p->extended->owner < l->owned_n ? l->owned[p->extended->owner].n : 0;

	return n < POD_MADE_MAX ? (uint32_t)n : POD_MADE_MAX;
}

const struct live_claim *live_extended_at(const struct live *l, const struct live_pod *p,
                                          uint32_t i)
{
	return live_claim_at(l, l->owned[p->extended->owner].claims[i]);
}

const struct live_claim *live_claim_of(const struct live *l, const struct live_pod *p, uint32_t i)
{
	if (i < p->refs_n)
		return p->refs[i].not_needed ? NULL : live_claim_at(l, p->refs[i].claim);
	return i - p->refs_n < live_extended_n(l, p) ? live_extended_at(l, p, i - p->refs_n) : NULL;
}

bool live_is_reserved(const struct live_claim *c, const char *uid)
{
	for (size_t i = 0; i < c->reserved_n; i++)
		if (strcmp(c->reserved[i], uid) == 0)
			return true;
	return false;
}

bool live_is_avoided(const struct live *l, uint32_t device)
{
	return device < l->avoided_n && l->avoided[device] > 0;
}

void live_pod_note(struct live *l, uint32_t pod)
{
	struct live_pod *p = &l->pods[pod];

	if (!p->name || p->due)
		return;
	p->due = true;
	if (l->due_first > 0 && l->due_first + l->due_n == l->due_cap) {
		memmove(l->due, l->due + l->due_first, l->due_n * sizeof(*l->due));
		l->due_first = 0;
	}
	if (l->due_n == l->due_cap) {
		l->due_cap = l->due_cap * 2 + 64;
		l->due = must_grow(l->due, l->due_cap * sizeof(*l->due));
	}
	l->due[l->due_first + l->due_n++] = pod;
}

/* Some at a time: each costs a comparison with all questions. */
void live_unasked_note(struct live *l)
{
	uint32_t left = UNASKED_ONCE;

	for (size_t i = 0; l->unasked_n > 0 && left > 0 && i < l->pods_n; i++) {
		l->unasked_at = (l->unasked_at + 1) % (uint32_t)l->pods_n;
		if (!l->pods[l->unasked_at].unasked)
			continue;
		live_pod_note(l, l->unasked_at);
		left--;
	}
}
