/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/topologies.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void topologies_init(struct topologies *ts, struct nodes *nodes)
{
	*ts = (struct topologies){ .nodes = nodes };
	id_table_init(&ts->ids, 0);
}

static void topology_forget(struct topologies *ts, topology_id id)
{
	struct topology *t = &ts->slots[id];
	uint32_t at = 0;

	if (t->values) {
		while (ts->somewhere[at] != id)
			at++;
		ts->somewhere[at] = ts->somewhere[--ts->somewhere_n];
		free(t->domain);
		id_table_free(&t->ids);
	}
	*t = (struct topology){ 0 };
}

void topologies_clear(struct topologies *ts)
{
	for (topology_id id = 0; id < ts->n; id++)
		topology_forget(ts, id);
	ts->n = 0;
	id_table_clear(&ts->ids);
	if (ts->keys)
		memset(ts->keys, 0, ts->keys_n * sizeof(*ts->keys));
}

void topologies_free(struct topologies *ts)
{
	topologies_clear(ts);
	id_table_free(&ts->ids);
	free(ts->somewhere);
	free(ts->nowhere);
	free(ts->keys);
	free(ts->slots);
	*ts = (struct topologies){ 0 };
}

static uint32_t domain_of(struct topology *t, uint32_t value)
{
	const uint32_t hash = id_hash(8, value);
	uint32_t domain = id_table_first(&t->ids, hash);

	while (domain != ID_TABLE_NONE && t->values[domain] != value)
		domain = id_table_next(&t->ids, domain);
	if (domain != ID_TABLE_NONE)
		return domain;
	/* At most one domain for each present node, so there is space. */
	domain = id_table_add(&t->ids, hash);
	t->values[domain] = value;
	return domain;
}

static void arrays_new(struct topology *t, uint32_t span)
{
	t->domain = must_array(3 * (size_t)span, sizeof(*t->domain));
	t->values = t->domain + span;
	t->present = t->values + span;
	memset(t->domain, 0xff, span * sizeof(*t->domain)); /* DOMAIN_NONE */
}

static void somewhere_add(struct topologies *ts, topology_id id)
{
	struct topology *t = &ts->slots[id];

	arrays_new(t, ts->nodes->span);
	id_table_init(&t->ids, ts->nodes->span);
	ts->somewhere =
		must_reach(ts->somewhere, &ts->somewhere_cap, ts->somewhere_n, 8, sizeof(*ts->somewhere));
	ts->somewhere[ts->somewhere_n++] = id;
}

static void node_follow(struct topologies *ts, topology_id id, node_id node)
{
	struct topology *t = &ts->slots[id];
	const struct node *n = &ts->nodes->slots[node];
	const struct node_label *label = node_present(n) ? rules_label(n->rules, t->key) : NULL;
	const uint32_t old = t->domain[node];

	if (label ? old != DOMAIN_NONE && t->values[old] == label->value : old == DOMAIN_NONE)
		return;
	ts->version++;
	if (!t->values)
		somewhere_add(ts, id);
	if (old != DOMAIN_NONE && --t->present[old] == 0)
		id_table_remove(&t->ids, old);
	t->domain[node] = label ? domain_of(t, label->value) : DOMAIN_NONE;
	if (label)
		t->present[t->domain[node]]++;
	t->domains = t->ids.used;
	t->live = t->ids.count;
}

static topology_id topology_find(const struct topologies *ts, uint32_t key)
{
	topology_id id = id_table_first(&ts->ids, id_hash(0, key));

	while (id != ID_TABLE_NONE && ts->slots[id].key != key)
		id = id_table_next(&ts->ids, id);
	return id;
}

/* A label of a node: its key is one that nodes have from now on. */
static void label_follow(struct topologies *ts, node_id node, uint32_t key)
{
	const topology_id id = ts->somewhere_n < ts->ids.count ? topology_find(ts, key) : ID_TABLE_NONE;

	ts->keys = must_reach(ts->keys, &ts->keys_n, key / 64, 16, sizeof(*ts->keys));
	ts->keys[key / 64] |= UINT64_C(1) << key % 64;
	if (id != ID_TABLE_NONE && !ts->slots[id].values)
		node_follow(ts, id, node);
}

void topologies_follow(struct topologies *ts, node_id node)
{
	const struct node *n = &ts->nodes->slots[node];

	assert(node < ts->nodes->span && !ts->unfollowed);
	for (uint32_t i = 0; i < ts->somewhere_n; i++)
		node_follow(ts, ts->somewhere[i], node);
	for (uint32_t i = 0; n->rules && i < n->rules->labels_n; i++)
		label_follow(ts, node, n->rules->labels[i].key);
}

static bool some_node_may_have(const struct topologies *ts, uint32_t key)
{
	return ts->unfollowed || (key / 64 < ts->keys_n && ts->keys[key / 64] >> key % 64 & 1);
}

/* The domains of all keys that no node has: keys are what anybody writes who may create pods. */
static void nowhere_reach(struct topologies *ts)
{
	const uint32_t span = ts->nodes->span;

	ts->nowhere = must_grow(ts->nowhere, (span + (size_t)1) * sizeof(*ts->nowhere));
	memset(ts->nowhere, 0xff, span * sizeof(*ts->nowhere)); /* DOMAIN_NONE */
}

void topologies_reach(struct topologies *ts, uint32_t from)
{
	const uint32_t span = ts->nodes->span;

	nowhere_reach(ts);
	for (topology_id id = 0; id < ts->n; id++) {
		struct topology *t = &ts->slots[id];
		const struct topology old = *t;

		if (t->refs > 0 && !t->values)
			t->domain = ts->nowhere;
		if (!t->values)
			continue;
		arrays_new(t, span);
		memcpy(t->domain, old.domain, from * sizeof(*t->domain));
		memcpy(t->values, old.values, from * sizeof(*t->values));
		memcpy(t->present, old.present, from * sizeof(*t->present));
		free(old.domain);
		id_table_reserve(&t->ids, span - t->ids.count);
	}
}

topology_id topology_ref(struct topologies *ts, uint32_t key)
{
	topology_id id = topology_find(ts, key);

	if (id != ID_TABLE_NONE) {
		ts->slots[id].refs++;
		return id;
	}
	if (!ts->nowhere)
		nowhere_reach(ts);
	id_table_reserve(&ts->ids, 1);
	id_table_fit(&ts->ids, &ts->slots, &ts->cap, sizeof(*ts->slots));
	id = id_table_add(&ts->ids, id_hash(0, key));
	ts->n = ts->ids.used;
	ts->slots[id] = (struct topology){ .refs = 1, .key = key, .domain = ts->nowhere };
	for (node_id node = 0; some_node_may_have(ts, key) && node < ts->nodes->used; node++)
		node_follow(ts, id, node);
	return id;
}

void topology_unref(struct topologies *ts, topology_id id)
{
	assert(id < ts->n && ts->slots[id].refs > 0);
	if (--ts->slots[id].refs > 0)
		return;
	topology_forget(ts, id);
	id_table_remove(&ts->ids, id);
}
