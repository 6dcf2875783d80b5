/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of several nodes: with nodeSelector, allNodes, or perDeviceNodeSelection.  Their devices
 * are in the list of each node that they select, with a common number by which the core knows that
 * they are the same.
 *
 * Whether one is taken is in the records of all nodes that list it, and holds for all of them as
 * the last record says: so a change makes one record due (commons_due), whichever node it is of.
 *
 * What such devices take of counters is known on a node that lists all of the pool that take some:
 * the bits of those in use say it.  Pools of which no node may list all are barred. */
#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool live_is_several(const struct slice *s)
{
	return s->node.bytes == 0 || s->per_device;
}

bool live_has_several(const struct live *l)
{
	return l->several_n > 0;
}

bool live_wants_nodes(const struct live *l)
{
	return l->wants_nodes;
}

void live_nodes_known(struct live *l)
{
	l->wants_nodes = false;
}

struct node_entry live_node_entry(const struct live_node *n)
{
	static const struct tree none;

	return (struct node_entry){ .name = text_of(n->name), .labels = n->labels ? n->labels : &none };
}

void live_node_seen(struct live *l, struct text name, struct text labels)
{
	struct live_node *n;
	char error[200];
	uint32_t number;

	n = live_node_of(l, name, &number);
	if (n->labels_text && text_equal(text_of(n->labels_text), labels))
		return;
	free(n->labels_text);
	arena_reset(&n->labels_arena);
	n->labels_text = must_alloc(labels.bytes + 1);
	memcpy(n->labels_text, labels.at, labels.bytes);
	n->labels = jsontree_read(n->labels_text, labels.bytes, &n->labels_arena, error, sizeof(error));
	live_node_relay(l, number);
}

bool live_selector_takes(const struct live *l, const char *selector, const char *node)
{
	const uint32_t number = intern_find(&l->node_names, text_of(node));
	const struct live_node *n = number < l->nodes_n ? l->nodes[number] : NULL;
	struct arena arena = { 0 };
	struct node_entry entry;
	char error[200];
	bool takes;

	if (!n || !n->labels)
		return true;
	entry = live_node_entry(n);
	takes = node_selector_matches(
		jsontree_read(selector, strlen(selector), &arena, error, sizeof(error)), &entry);
	arena_free(&arena);
	return takes;
}

/* What the slices of several nodes of one pool, of its newest generation, have of counters. */
struct counting {
	int64_t n, count;
	size_t users; /* slices with devices that take some */
	bool has, here_alone, shared;
};

static void counting_add(struct counting *c, const struct slice *s)
{
	bool uses = false;

	for (size_t i = 0; i < s->devices_n; i++) {
		const struct device_entry *e = &s->devices[i];

		uses = uses || e->uses_n > 0;
		c->shared = c->shared || (e->uses_n > 0 && e->facts.allow_multiple_allocations);
	}
	c->n++;
	c->count = s->count;
	c->users += uses;
	c->has = c->has || uses || s->sets->n > 0;
	c->here_alone = c->here_alone || (uses && !s->all_nodes);
}

static struct counting counting_of(const struct live *l, const struct slice *pool)
{
	struct counting c = { 0 };
	int64_t newest = INT64_MIN;

	for (size_t i = 0; i < l->several_n; i++) {
		const struct slice *s = l->several[i]->slice;

		if (!same_pool(s, pool) || s->generation < newest)
			continue;
		if (s->generation > newest)
			c = (struct counting){ 0 };
		newest = s->generation;
		counting_add(&c, s);
	}
	return c;
}

/* A node that lists one of its devices that take counters may not list all, or not know what they
 * take. */
static bool is_barred(const struct counting *c)
{
	return c->has && (c->n != c->count || c->shared || (c->users > 1 && c->here_alone));
}

static void bar_note(const struct live *l, const struct slice *s, struct decode_error *error)
{
	const struct counting c = counting_of(l, s);

	if (c.n != c.count)
		snprintf(
			error->text, sizeof(error->text),
			"its devices are not used: pool %.*s has counters, and %lld of its %lld slices are "
			"of several nodes",
			(int)s->pool.bytes, s->pool.at, (long long)c.n, (long long)c.count);
	else
		snprintf(error->text, sizeof(error->text),
		         "its devices are not used: they are of several nodes, and pool %.*s has counters "
		         "that %s take too",
		         (int)s->pool.bytes, s->pool.at,
		         c.shared ? "devices with allowMultipleAllocations" : "slices of other nodes");
}

void live_several_note(const struct live *l, const struct live_slice *s, struct decode_error *error)
{
	if (!live_is_several(s->slice))
		return;
	if (s->barred)
		bar_note(l, s->slice, error);
	for (size_t i = 0; !s->barred && i < s->slice->devices_n; i++) {
		const struct device_entry *e = &s->slice->devices[i];

		if (e->facts.allow_multiple_allocations && error->text[0] == '\0')
			snprintf(error->text, sizeof(error->text),
			         "device %.*s is not used, nor those like it: they are of several nodes, and "
			         "allowMultipleAllocations is true",
			         (int)e->name.bytes, e->name.at);
	}
	if (error->text[0] != '\0')
		snprintf(error->object, sizeof(error->object), "ResourceSlice %s",
		         intern_text(&l->slice_names, s->name));
}

static void bar(struct live *l, const struct slice *changed)
{
	const struct counting c = counting_of(l, changed);

	for (size_t i = 0; i < l->several_n; i++)
		if (same_pool(l->several[i]->slice, changed))
			l->several[i]->barred = is_barred(&c);
}

/* The pool of the slice is of the node, or would be with it: how many slices the pool has counts
 * for all nodes that see some of it. */
static bool sees_pool(const struct live *l, const struct live_node *n, const struct slice *s)
{
	const struct node_entry node = live_node_entry(n);

	if (slice_selected(s, &node))
		return true;
	for (size_t i = 0; i < n->slices_n; i++)
		if (same_pool(n->slices[i]->slice, s))
			return true;
	for (size_t i = 0; i < l->several_n; i++)
		if (same_pool(l->several[i]->slice, s) && slice_selected(l->several[i]->slice, &node))
			return true;
	return false;
}

void live_several_add(struct live *l, struct live_slice *s)
{
	l->wants_nodes = l->wants_nodes || l->several_n == 0;
	if (l->several_n == l->several_cap) {
		l->several_cap = l->several_cap * 2 + 4;
		l->several = must_grow(l->several, l->several_cap * sizeof(*l->several));
	}
	l->several[l->several_n++] = s;
	bar(l, s->slice);
	for (uint32_t i = 0; i < l->nodes_n; i++)
		if (l->nodes[i] && l->nodes[i]->labels && sees_pool(l, l->nodes[i], s->slice))
			live_node_relay(l, i);
}

void live_several_leave(struct live *l, struct live_slice *s)
{
	size_t at = 0;

	for (uint32_t i = 0; i < l->nodes_n; i++)
		if (l->nodes[i] &&
		    (l->nodes[i]->relaid || (l->nodes[i]->labels && sees_pool(l, l->nodes[i], s->slice))))
			live_node_unlay(l, i);
	while (l->several[at] != s)
		at++;
	l->several[at] = l->several[--l->several_n];
	bar(l, s->slice);
}

/* Common numbers. */

void live_commons_lay(struct live *l, struct live_node *n)
{
	n->commons = arena_array(&n->arena, n->devices_n + 1, sizeof(*n->commons));
	for (uint32_t i = 0; i < n->devices_n; i++) {
		const struct device_entry *e = n->devices[i];
		const char *name = intern_text(&l->device_names, n->keys[i]);

		n->commons[i] = LIVE_NONE;
		if (!live_is_several(e->slice))
			continue;
		l->device_node[n->keys[i]] = 0;
		if (e->facts.allow_multiple_allocations ||
		    intern_take(&l->common_names, text_of(name), &n->commons[i]) < 0) {
			n->commons[i] = LIVE_NONE; /* it is not served */
			continue;
		}
		l->device_node[n->keys[i]] = LIVE_COMMON | n->commons[i];
		n->commons_n++;
	}
}

void live_commons_give(struct live *l, struct live_node *n)
{
	for (uint32_t i = 0; i < n->devices_n; i++)
		if (n->commons[i] != LIVE_NONE)
			intern_give(&l->common_names, n->commons[i]);
	n->commons_n = 0;
}

static void due_set(struct live *l, uint32_t common, bool due)
{
	const uint64_t bit = UINT64_C(1) << common % 64;
	uint64_t *word = &l->commons_due[common / 64];

	l->commons_due_n += (uint32_t)due - (uint32_t)((*word & bit) != 0);
	*word = due ? *word | bit : *word & ~bit;
}

void live_common_touch(struct live *l, uint32_t common)
{
	due_set(l, common, true);
}

void live_commons_write(struct live *l, struct live_node *n, struct node_common *out)
{
	for (uint32_t i = 0; n->commons_n > 0 && i < n->devices_n; i++) {
		if (n->commons[i] == LIVE_NONE)
			continue;
		*out++ = (struct node_common){ .device = i, .common = n->commons[i] };
		due_set(l, n->commons[i], false);
	}
}

static bool lists(const struct live_node *n, uint32_t common)
{
	for (uint32_t i = 0; n->commons_n > 0 && i < n->devices_n; i++)
		if (n->commons[i] == common)
			return true;
	return false;
}

/* One that no node lists, or none that the core has, needs no record: when a node enters, its own
 * is due. */
uint32_t live_commons_next(struct live *l)
{
	for (uint32_t common = 0; l->commons_due_n > 0 && common < COMMON_DEVICES_MAX; common++) {
		if (!device_in(l->commons_due, common))
			continue;
		for (uint32_t i = 0; i < l->nodes_n; i++) {
			if (!l->nodes[i] || l->nodes[i]->skipped || !lists(l->nodes[i], common))
				continue;
			live_node_touch(l, i);
			return i;
		}
		due_set(l, common, false);
	}
	return UINT32_MAX;
}

void live_common_rematch(struct live *l, uint32_t common)
{
	for (uint32_t i = 0; i < l->nodes_n; i++)
		if (l->nodes[i] && lists(l->nodes[i], common))
			live_node_rematch(l, i);
}
