/* SPDX-License-Identifier: Apache-2.0 */
/* A store of volumes is created and freed. */
#include "frontend/volume/volume_impl.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct volumes *volumes_new(const uint64_t hash_key[2], bool can_wait)
{
	struct volumes *vs = must_alloc(sizeof(*vs));

	memcpy(vs->hash_key, hash_key, sizeof(vs->hash_key));
	vs->can_wait = can_wait;
	vs->limit = SLOT_NONE - 1;
	volume_facts_init(&vs->facts);
	volume_keys_init(&vs->shared);
	volume_holds_init(&vs->holds);
	for (int k = 0; k < VOLUME_KINDS; k++) {
		store_init(&vs->kinds[k].entries, sizeof(struct volume_entry), SLOT_NONE,
		           volume_entry_equal);
		volume_keys_init(&vs->kinds[k].groups);
	}
	return vs;
}

void volumes_bind_live(struct volumes *vs)
{
	vs->can_wait = vs->live = true;
}

bool volumes_are_live(const struct volumes *vs)
{
	return vs->live;
}

void volumes_free(struct volumes *vs)
{
	if (!vs)
		return;
	for (int k = 0; k < VOLUME_KINDS; k++) {
		struct volume_table *t = &vs->kinds[k];

		STORE_EACH(&t->entries, e)
		{
			free(volume_entry_at(t, e)->name);
			free(volume_entry_at(t, e)->object);
		}
		store_free(&t->entries);
		store_free(&t->groups);
	}
	volume_facts_free(&vs->facts);
	store_free(&vs->shared);
	volume_holds_free(&vs->holds);
	volume_wait_free(vs);
	free(vs);
}
