/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/topologies.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void topologies_init(struct topologies *ts, struct nodes *nodes)
{
	*ts = (struct topologies){ .nodes = nodes };
}

static void topology_forget(struct topology *t)
{
	if (t->values) {
		free(t->domain);
		id_table_free(&t->ids);
	}
	*t = (struct topology){ 0 };
}

void topologies_clear(struct topologies *ts)
{
	for (topology_id id = 0; id < ts->n; id++)
		topology_forget(&ts->slots[id]);
	ts->n = 0;
}

void topologies_free(struct topologies *ts)
{
	topologies_clear(ts);
	free(ts->nowhere);
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

static void node_follow(struct topology *t, node_id id, const struct nodes *ns)
{
	const struct node *n = &ns->slots[id];
	const struct node_label *label = node_present(n) ? rules_label(n->rules, t->key) : NULL;
	const uint32_t old = t->domain[id];

	if (label ? old != DOMAIN_NONE && t->values[old] == label->value : old == DOMAIN_NONE)
		return;
	t->version++;
	if (!t->values) {
		arrays_new(t, ns->span);
		id_table_init(&t->ids, ns->span);
	}
	if (old != DOMAIN_NONE && --t->present[old] == 0)
		id_table_remove(&t->ids, old);
	t->domain[id] = label ? domain_of(t, label->value) : DOMAIN_NONE;
	if (label)
		t->present[t->domain[id]]++;
	t->domains = t->ids.used;
	t->live = t->ids.count;
}

void topologies_follow(struct topologies *ts, node_id node)
{
	assert(node < ts->nodes->span);
	for (topology_id id = 0; id < ts->n; id++)
		if (ts->slots[id].refs > 0)
			node_follow(&ts->slots[id], node, ts->nodes);
}

/* The first unused slot. */
static topology_id slot_new(struct topologies *ts)
{
	topology_id id = 0;

	while (id < ts->n && ts->slots[id].refs > 0)
		id++;
	if (id == ts->n)
		ts->n++;
	ts->slots = must_reach(ts->slots, &ts->cap, id, 8, sizeof(*ts->slots));
	return id;
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

static void topology_fill(struct topologies *ts, struct topology *t, uint32_t key)
{
	if (!ts->nowhere)
		nowhere_reach(ts);
	*t = (struct topology){ .refs = 1, .key = key, .domain = ts->nowhere };
	for (node_id id = 0; id < ts->nodes->used; id++)
		node_follow(t, id, ts->nodes);
}

/* A walk: keys are few (kubernetes.io/hostname, zones, racks). */
topology_id topology_ref(struct topologies *ts, uint32_t key)
{
	topology_id id;

	for (id = 0; id < ts->n; id++)
		if (ts->slots[id].refs > 0 && ts->slots[id].key == key) {
			ts->slots[id].refs++;
			return id;
		}
	id = slot_new(ts);
	topology_fill(ts, &ts->slots[id], key);
	return id;
}

void topology_unref(struct topologies *ts, topology_id id)
{
	assert(id < ts->n && ts->slots[id].refs > 0);
	if (--ts->slots[id].refs == 0)
		topology_forget(&ts->slots[id]);
}
