/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigMaps are watched for those that describe a group, and a cluster has thousands that
 * don't.  One of these is a group only when pods name it, and then it is refused for what it does
 * not say; pods may come after it.  So no more than a hash of its name is kept (decision 017). */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <string.h>

static struct hollow_entry *hollow_at(const struct model *m, uint32_t slot)
{
	return pool_at(&m->hollows, slot);
}

struct wanted {
	const struct model *m;
	uint32_t dialect;
	uint64_t hash;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;

	return hollow_at(w->m, slot)->hash == w->hash && hollow_at(w->m, slot)->dialect == w->dialect;
}

static uint32_t hollow_slot(const struct model *m, uint32_t dialect, const char *name,
                            uint64_t *hash)
{
	struct wanted w = { m, dialect, siphash(m->hash_key, name, strlen(name)) };

	*hash = w.hash;
	return table_find(&m->hollows_index, (uint32_t)w.hash, is_wanted, &w);
}

static void hollow_drop(struct model *m, uint32_t slot)
{
	table_remove(&m->hollows_index, (uint32_t)hollow_at(m, slot)->hash, slot);
	pool_give(&m->hollows, slot);
}

int hollow_add(struct model *m, uint32_t dialect, const char *name, uint32_t round)
{
	uint64_t hash;
	uint32_t slot = hollow_slot(m, dialect, name, &hash);
	int rc;

	if (slot == SLOT_NONE) {
		if (table_reserve(&m->hollows_index) < 0)
			return -ENOMEM;
		rc = pool_take(&m->hollows, &slot);
		if (rc < 0)
			return -ENOMEM;
		hollow_at(m, slot)->hash = hash;
		hollow_at(m, slot)->dialect = dialect;
		table_put(&m->hollows_index, (uint32_t)hash, slot);
		if (!referred_fits(m, &m->hollows)) {
			hollow_drop(m, slot);
			return -ENOSPC;
		}
	}
	hollow_at(m, slot)->seen = round;
	return 0;
}

void hollow_remove(struct model *m, uint32_t dialect, const char *name)
{
	uint64_t hash;
	uint32_t slot = hollow_slot(m, dialect, name, &hash);

	if (slot != SLOT_NONE)
		hollow_drop(m, slot);
}

bool hollow_find(const struct model *m, uint32_t dialect, const char *name, uint32_t *round)
{
	uint64_t hash;
	uint32_t slot = hollow_slot(m, dialect, name, &hash);

	if (slot == SLOT_NONE)
		return false;
	*round = hollow_at(m, slot)->seen;
	return true;
}

void hollows_replaced(struct model *m, uint32_t dialect, uint32_t round)
{
	for (uint32_t i = 0; i < m->hollows.n; i++) {
		const struct hollow_entry *h = hollow_at(m, i);

		if (h->slot.live && h->dialect == dialect && h->seen != round)
			hollow_drop(m, i);
	}
}
