/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/topologies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void topologies_init(struct topologies *ts, struct nodes *nodes)
{
	*ts = (struct topologies){ .nodes = nodes };
}

static void topology_forget(struct topology *t)
{
	free(t->domain);
	chains_free(&t->chains);
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
	free(ts->slots);
	*ts = (struct topologies){ 0 };
}

/* ---- domains ---------------------------------------------------------------- */

static uint32_t domain_of(struct topology *t, uint32_t value)
{
	const uint32_t hash = chain_hash(8, value);
	uint32_t domain = chains_first(&t->chains, hash);

	while (domain != CHAIN_NONE && t->values[domain] != value)
		domain = chains_next(&t->chains, domain);
	if (domain != CHAIN_NONE)
		return domain;
	/* At most one for each node that exists. */
	domain = chains_new(&t->chains, hash);
	t->values[domain] = value;
	return domain;
}

static void node_follow(struct topology *t, node_id id, const struct node *n)
{
	const struct node_label *label = node_present(n) ? rules_label(n->rules, t->key) : NULL;
	const uint32_t old = t->domain[id];

	if (label ? old != DOMAIN_NONE && t->values[old] == label->value : old == DOMAIN_NONE)
		return;
	t->version++;
	if (old != DOMAIN_NONE && --t->present[old] == 0)
		chains_drop(&t->chains, old);
	t->domain[id] = label ? domain_of(t, label->value) : DOMAIN_NONE;
	if (label)
		t->present[t->domain[id]]++;
	t->domains = t->chains.used;
	t->live = t->chains.count;
}

void topologies_follow(struct topologies *ts, node_id node)
{
	for (topology_id id = 0; id < ts->n; id++)
		if (ts->slots[id].refs > 0)
			node_follow(&ts->slots[id], node, &ts->nodes->slots[node]);
}

/* ---- the table -------------------------------------------------------------- */

static int slot_free(struct topologies *ts, topology_id *out)
{
	struct topology *grown;
	uint32_t room;

	for (*out = 0; *out < ts->n; (*out)++)
		if (ts->slots[*out].refs == 0)
			return 0;
	if (ts->n < ts->room)
		return 0;
	room = ts->room > 0 ? ts->room * 2 : 8;
	grown = realloc(ts->slots, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	ts->slots = grown;
	ts->room = room;
	return 0;
}

static int topology_fill(struct topology *t, uint32_t key, const struct nodes *nodes)
{
	*t = (struct topology){ .refs = 1, .key = key };
	t->domain = calloc(3 * (size_t)nodes->limit, sizeof(*t->domain));
	if (!t->domain || chains_init(&t->chains, nodes->limit) < 0) {
		free(t->domain);
		*t = (struct topology){ 0 };
		return -ENOMEM;
	}
	t->values = t->domain + nodes->limit;
	t->present = t->values + nodes->limit;
	memset(t->domain, 0xff, nodes->limit * sizeof(*t->domain));
	for (node_id id = 0; id < nodes->used; id++)
		node_follow(t, id, &nodes->slots[id]);
	return 0;
}

/* Keys are few: kubernetes.io/hostname, zones, racks. */
int topology_take(struct topologies *ts, uint32_t key, topology_id *out)
{
	topology_id id;
	int rc;

	for (id = 0; id < ts->n; id++)
		if (ts->slots[id].refs > 0 && ts->slots[id].key == key) {
			ts->slots[id].refs++;
			*out = id;
			return 0;
		}
	rc = slot_free(ts, &id);
	if (rc == 0)
		rc = topology_fill(&ts->slots[id], key, ts->nodes);
	if (rc < 0)
		return rc;
	if (id == ts->n)
		ts->n++;
	*out = id;
	return 0;
}

void topology_give(struct topologies *ts, topology_id id)
{
	if (--ts->slots[id].refs == 0)
		topology_forget(&ts->slots[id]);
}
