/* SPDX-License-Identifier: Apache-2.0 */
/* States of an attempt that were searched without a solution: a depth and the pieces that are left
 * then.  Whole states are compared; a state that another has replaced is searched again. */
#include "core/pack/pack_impl.h"

#include "ipc/memory.h"

#include <string.h>

#define DEAD_STATES (1u << 15)

static uint32_t *slot(const struct pack_search *s)
{
	uint64_t hash = s->depth * UINT64_C(0x9e3779b97f4a7c15);

	for (uint32_t k = 0; k < s->p->kinds; k++)
		hash = (hash ^ s->left[k]) * UINT64_C(0x100000001b3) ^ hash >> 29;
	hash ^= hash >> 32;
	return &s->dead[(hash % DEAD_STATES) * (s->p->kinds + 2)];
}

void pack_dead_init(struct pack_search *s)
{
	s->dead = must_array(DEAD_STATES, (s->p->kinds + 2) * sizeof(*s->dead));
}

bool pack_is_dead(const struct pack_search *s)
{
	const uint32_t *at = slot(s);

	return at[0] == s->attempt && at[1] == s->depth &&
	       memcmp(at + 2, s->left, s->p->kinds * sizeof(*at)) == 0;
}

void pack_dead_add(struct pack_search *s)
{
	uint32_t *at = slot(s);

	at[0] = s->attempt;
	at[1] = s->depth;
	memcpy(at + 2, s->left, s->p->kinds * sizeof(*at));
}
