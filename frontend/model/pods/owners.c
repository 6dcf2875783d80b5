/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/owners.h"

#include "frontend/model/base/objects.h"
#include "frontend/model/pods/memory.h"

#include <assert.h>
#include <stdlib.h>

bool service_selects(const struct label_rules *r, const struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 0; r && i < r->n; i++)
		if (labels_find(labels, n, r->at[i].key) != r->values[r->at[i].values_first])
			return false;
	return r;
}

/* Services by the first pair of their selector. */
struct service_key {
	const struct model *m;
	uint32_t namespace, key, value;
};

static uint32_t pair_hash(const struct service_key *k)
{
	const uint32_t pair[3] = { k->namespace, k->key, k->value };

	return (uint32_t)siphash(k->m->hash_key, pair, sizeof(pair));
}

static bool has_pair(const void *context, uint32_t slot)
{
	const struct service_key *k = context;
	const struct owner_entry *e = owner_at(k->m, slot);

	return e->key.namespace == k->namespace && e->rules->at[0].key == k->key &&
	       e->rules->values[0] == k->value;
}

uint32_t service_first(const struct model *m, uint32_t namespace, const struct pod_label *pair)
{
	struct service_key k = { m, namespace, pair->key, pair->value };

	return table_find(&m->services_index, pair_hash(&k), has_pair, &k);
}

static void service_link(struct model *m, uint32_t service)
{
	struct owner_entry *e = owner_at(m, service), *head;
	struct service_key k = { .m = m, .namespace = e->key.namespace };
	uint32_t first;

	e->pair_next = e->pair_prev = SLOT_NONE;
	if (e->key.kind != OWNER_SERVICE || !e->rules)
		return;
	k.key = e->rules->at[0].key;
	k.value = e->rules->values[0];
	first = table_find(&m->services_index, pair_hash(&k), has_pair, &k);
	e->pair_hash = pair_hash(&k);
	e->is_first = first == SLOT_NONE;
	if (e->is_first) {
		table_put(&m->services_index, e->pair_hash, service);
		return;
	}
	head = owner_at(m, first);
	e->pair_prev = first;
	e->pair_next = head->pair_next;
	if (e->pair_next != SLOT_NONE)
		owner_at(m, e->pair_next)->pair_prev = service;
	head->pair_next = service;
}

static void service_unlink(struct model *m, uint32_t service)
{
	struct owner_entry *e = owner_at(m, service);

	if (e->key.kind != OWNER_SERVICE || !e->rules)
		return;
	assert(e->is_first || e->pair_prev != SLOT_NONE);
	if (e->pair_next != SLOT_NONE)
		owner_at(m, e->pair_next)->pair_prev = e->pair_prev;
	if (!e->is_first) {
		owner_at(m, e->pair_prev)->pair_next = e->pair_next;
		return;
	}
	e->is_first = false;
	table_remove(&m->services_index, e->pair_hash, service);
	if (e->pair_next != SLOT_NONE) {
		owner_at(m, e->pair_next)->is_first = true;
		table_put(&m->services_index, e->pair_hash, e->pair_next);
	}
}

void owner_free(struct owner_entry *e)
{
	free(e->rules);
}

uint32_t owner_enter(struct model *m, uint32_t kind, const struct meta *meta)
{
	bool is_new;
	uint32_t owner;

	assert(kind > OWNER_NONE && kind < OWNER_KINDS);
	owner = named_enter(m, &m->owners, kind, meta->namespace, meta->name, &is_new);
	if (is_new)
		owner_at(m, owner)->pair_next = owner_at(m, owner)->pair_prev = SLOT_NONE;
	return owner;
}

void owner_release(struct model *m, uint32_t owner)
{
	assert(owner_at(m, owner)->pair_next == SLOT_NONE && !owner_at(m, owner)->is_first);
	assert(!owner_at(m, owner)->rules);
	named_remove(m, &m->owners, owner);
}

struct label_rules *owner_swap_rules(struct model *m, uint32_t owner, struct label_rules *rules)
{
	struct label_rules *old = owner_at(m, owner)->rules;
	const uint32_t namespace = owner_at(m, owner)->key.namespace;

	memory_pay_back(m, namespace, rules_memory(old));
	memory_pay(m, namespace, rules_memory(rules));
	service_unlink(m, owner);
	owner_at(m, owner)->rules = rules;
	service_link(m, owner);
	return old;
}

uint32_t owner_kind_of(const struct owner_object *owner)
{
	if (owner->name.bytes > OBJECT_NAME_MAX) /* no object has it, and the API server takes it */
		return OWNER_NONE;
	if (text_is(owner->api_version, "apps/v1")) {
		if (text_is(owner->kind, "ReplicaSet"))
			return OWNER_REPLICA_SET;
		if (text_is(owner->kind, "StatefulSet"))
			return OWNER_STATEFUL_SET;
	}
	if (text_is(owner->api_version, "v1") && text_is(owner->kind, "ReplicationController"))
		return OWNER_REPLICATION_CONTROLLER;
	return OWNER_NONE;
}
