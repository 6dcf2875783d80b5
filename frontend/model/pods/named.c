/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/named.h"

#include "frontend/model/base/limits.h"
#include "frontend/model/pods/namespaces.h"

bool named_equal(const void *item, const void *key)
{
	return memcmp(&((const struct named *)item)->key, key, sizeof(struct named_key)) == 0;
}

static uint32_t hash_of(const struct model *m, const struct named_key *key)
{
	return (uint32_t)siphash(m->hash_key, key, sizeof(*key));
}

uint32_t named_find(const struct model *m, const struct store *s, const struct named_key *key)
{
	return store_find(s, hash_of(m, key), key);
}

uint32_t named_enter(struct model *m, struct store *s, uint32_t kind, struct text namespace,
                     struct text name, bool *is_new)
{
	struct named_key key = { .kind = kind };
	uint32_t slot;

	key.namespace = namespace_take(m, namespace);
	key.name = model_number(&m->values, name);
	slot = store_enter(s, hash_of(m, &key), &key, is_new);
	if (*is_new) {
		((struct named *)store_at(s, slot))->key = key;
	} else { /* which has these references */
		intern_give(&m->values, key.name);
		namespace_give(m, key.namespace);
	}
	return slot;
}

void named_remove(struct model *m, struct store *s, uint32_t slot)
{
	const struct named_key key = ((const struct named *)store_at(s, slot))->key;

	store_remove(s, slot);
	intern_give(&m->values, key.name);
	namespace_give(m, key.namespace);
}
