/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/pods.h"

#include "frontend/model/base/objects.h"

#include <stdlib.h>

bool pod_equal(const void *item, const void *key)
{
	const struct pod_key *k = key;
	const char *texts = ((const struct pod_entry *)item)->texts;

	return text_is(k->namespace, texts) && text_is(k->name, next_text(texts));
}

uint32_t pod_hash(const struct model *m, struct text namespace, struct text name)
{
	uint64_t key[2] = { siphash(m->hash_key, namespace.at, namespace.bytes), m->hash_key[1] };

	return (uint32_t)siphash(key, name.at, name.bytes);
}

uint32_t pod_find(const struct model *m, struct text namespace, struct text name)
{
	struct pod_key key = { namespace, name };

	return store_find(&m->pods, pod_hash(m, namespace, name), &key);
}

void pod_free(struct pod_entry *e)
{
	free(e->texts);
	free(e->labels);
	free(e->storage_refusal);
	free(e->policy_refusal);
	free(e->limit_refusal);
	free(e->nominated);
}
