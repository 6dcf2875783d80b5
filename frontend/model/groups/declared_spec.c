/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/declared_spec.h"

#include "frontend/model/base/body.h"
#include "frontend/model/base/objects.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

struct declared_key {
	uint32_t gang;
	const struct body *body;
	const char *refusal, *agree;
};

bool declared_spec_equal(const void *item, const void *key)
{
	const struct declared_spec *d = item;
	const struct declared_key *k = key;

	return d->gang == k->gang && d->object.bytes == k->body->bytes &&
	       memcmp(d->object.body, k->body->at, k->body->bytes) == 0 &&
	       same_text(d->object.refusal, k->refusal) && same_text(d->agree, k->agree);
}

void declared_spec_free(struct declared_spec *d)
{
	group_object_free(&d->object);
	free(d->agree);
}

static uint32_t key_hash(const struct model *m, const struct declared_key *k)
{
	uint64_t hash = siphash(m->hash_key, k->body->at, k->body->bytes) + k->gang;

	if (k->agree)
		hash += siphash(m->hash_key, k->agree, strlen(k->agree));
	return (uint32_t)hash;
}

/* The entry takes over the references of m->body. */
static uint32_t declared_spec_make(struct model *m, const struct declared_key *k)
{
	struct declared_spec *d;
	uint32_t spec;

	if (store_add(&m->declared_specs, key_hash(m, k), &spec) < 0)
		fatal_memory(); /* 2^32 of them */
	d = declared_spec_at(m, spec);
	d->gang = k->gang;
	d->object = (struct group_object){ .there = true,
		                               .bytes = (uint32_t)k->body->bytes,
		                               .body = body_copy(k->body) };
	d->object.refusal = k->refusal ? must_copy(k->refusal) : NULL;
	d->agree = k->agree ? must_copy(k->agree) : NULL;
	return spec;
}

void declared_spec_take(struct model *m, uint32_t gang, uint32_t dialect,
                        const struct pod_object *pod, uint32_t *spec)
{
	struct group_spec from;
	struct declared_key k = { .gang = gang, .body = &m->body };
	const char *flag;
	int rc;

	if (!dialect_pod_spec(pod, dialect, &m->arena, &from))
		return;
	from.refusal = group_spec_refusal(m, &from);
	rc = group_build(m, dialect, 0, &from, &flag);
	assert(rc == 0); /* pods declare no minResources: the part that has a limit */
	(void)rc;
	k.refusal = from.refusal;
	k.agree = from.agree;
	*spec = store_find(&m->declared_specs, key_hash(m, &k), &k);
	if (*spec == SLOT_NONE)
		*spec = declared_spec_make(m, &k);
	else
		group_release(m, m->body.at);
	declared_spec_at(m, *spec)->entry.refs++;
}

void declared_spec_give(struct model *m, uint32_t spec)
{
	struct declared_spec *d = declared_spec_at(m, spec);

	assert(d->entry.slot.live && d->uses <= d->entry.refs);
	assert(d->entry.refs > 0);
	if (--d->entry.refs > 0)
		return;
	assert(d->uses == 0);
	group_object_clear(m, &d->object);
	free(d->agree);
	store_remove(&m->declared_specs, spec);
}
