/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/pods.h"

#include "frontend/model/base/objects.h"
#include "ipc/memory.h"

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
	for (int i = 0; i < POD_RARE_TEXTS; i++)
		pod_set_rare(e, (enum pod_rare)i, NULL);
}

void pod_set_rare(struct pod_entry *p, enum pod_rare which, char *text)
{
	bool any = false;

	if (!p->rare && !text)
		return;
	if (!p->rare)
		p->rare = must_array(POD_RARE_TEXTS, sizeof(*p->rare));
	free(p->rare[which]);
	p->rare[which] = text;
	for (int i = 0; i < POD_RARE_TEXTS; i++)
		any = any || p->rare[i];
	if (any)
		return;
	free(p->rare);
	p->rare = NULL;
}
