/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/candidates.h"

#include "frontend/model/base/limits.h"

#include <assert.h>
#include <errno.h>

static struct candidate *candidate_at(const struct model *m, uint32_t slot)
{
	return store_at(&m->candidates, slot);
}

bool candidate_equal(const void *item, const void *key)
{
	const struct candidate_key *a = &((const struct candidate *)item)->key, *b = key;

	return a->hash == b->hash && a->dialect == b->dialect;
}

static uint32_t slot_of(const struct model *m, uint32_t dialect, const char *name,
                        struct candidate_key *key)
{
	assert(dialect < dialects_n);
	key->hash = siphash(m->hash_key, name, strlen(name));
	key->dialect = dialect;
	return store_find(&m->candidates, (uint32_t)key->hash, key);
}

int candidate_add(struct model *m, uint32_t dialect, const char *name, uint32_t round)
{
	struct candidate_key key;
	uint32_t slot = slot_of(m, dialect, name, &key);

	if (slot == SLOT_NONE) {
		if (store_add(&m->candidates, (uint32_t)key.hash, &slot) < 0)
			return -ENOSPC;
		candidate_at(m, slot)->key = key;
		if (!referred_fits(m, &m->candidates)) {
			store_remove(&m->candidates, slot);
			return -ENOSPC;
		}
	}
	candidate_at(m, slot)->entry.seen = round;
	return 0;
}

void candidate_remove(struct model *m, uint32_t dialect, const char *name)
{
	struct candidate_key key;
	uint32_t slot = slot_of(m, dialect, name, &key);

	if (slot != SLOT_NONE)
		store_remove(&m->candidates, slot);
}

bool candidate_find(const struct model *m, uint32_t dialect, const char *name, uint32_t *round)
{
	struct candidate_key key;
	uint32_t slot = slot_of(m, dialect, name, &key);

	if (slot == SLOT_NONE)
		return false;
	*round = candidate_at(m, slot)->entry.seen;
	return true;
}

void candidates_replaced(struct model *m, uint32_t dialect, uint32_t round)
{
	STORE_EACH(&m->candidates, i)
	{
		const struct candidate *c = candidate_at(m, i);

		if (c->key.dialect == dialect && c->entry.seen != round)
			store_remove(&m->candidates, i);
	}
}
