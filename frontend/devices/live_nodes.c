/* SPDX-License-Identifier: Apache-2.0 */
/* Slices by node: the devices of a node in the allocator's order, what is taken, and the records.
 */
#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 1024

void live_node_free(struct live_node *n)
{
	free(n->slices);
	free(n->matched);
	free(n->name);
	free(n->labels_text);
	arena_free(&n->labels_arena);
	arena_free(&n->arena);
	free(n);
}

static void due_set(struct live *l, struct live_node *n, bool due)
{
	l->nodes_due += (uint32_t)due - n->due;
	n->due = due;
}

void live_node_touch(struct live *l, uint32_t node)
{
	struct live_node *n = node < l->nodes_n ? l->nodes[node] : NULL;

	if (n && !n->skipped)
		due_set(l, n, true);
}

void live_node_rematch(struct live *l, uint32_t node)
{
	l->nodes[node]->matched_n = 0;
	free(l->nodes[node]->matched);
	l->nodes[node]->matched = NULL;
	live_node_touch(l, node);
}

static void device_reach(struct live *l, uint32_t device)
{
	l->taken = must_reach(l->taken, &l->taken_n, device, 1024, sizeof(*l->taken));
	l->whole = must_reach(l->whole, &l->whole_n, device, 1024, sizeof(*l->whole));
	l->device_node =
		must_reach(l->device_node, &l->device_node_n, device, 1024, sizeof(*l->device_node));
}

void live_device_touch(struct live *l, uint32_t device)
{
	const uint32_t at = device < l->device_node_n ? l->device_node[device] : 0;

	if (at & LIVE_COMMON)
		live_common_touch(l, at & ~LIVE_COMMON);
	else if (at > 0)
		live_node_touch(l, at - 1);
}

void live_device_take(struct live *l, uint32_t device)
{
	device_reach(l, device);
	if (l->taken[device]++ == 0)
		live_device_touch(l, device);
}

void live_device_give(struct live *l, uint32_t device)
{
	if (--l->taken[device] == 0)
		live_device_touch(l, device);
}

void live_device_whole(struct live *l, uint32_t device, int sign)
{
	const bool before = l->whole[device] > 0;
	const uint32_t node = l->device_node[device];

	l->whole[device] += (uint32_t)sign;
	if (before != (l->whole[device] > 0) && node > 0 && !(node & LIVE_COMMON) &&
	    l->nodes[node - 1]->shared)
		live_node_touch(l, node - 1);
}

void live_node_relay(struct live *l, uint32_t node)
{
	l->nodes[node]->relaid = true;
	live_node_touch(l, node);
}

struct live_node *live_node_of(struct live *l, struct text name, uint32_t *number)
{
	struct live_node *n;

	*number = live_number(&l->node_names, name);
	l->nodes = must_reach(l->nodes, &l->nodes_n, *number, 256, sizeof(struct live_node *));
	n = l->nodes[*number];
	if (n) {
		intern_give(&l->node_names, *number); /* one reference for each entry */
		return n;
	}
	n = l->nodes[*number] = must_alloc(sizeof(*n));
	n->name = must_alloc(name.bytes + 1);
	memcpy(n->name, name.at, name.bytes);
	return n;
}

/* Neither a slice nor the core has it. */
static void node_drop(struct live *l, uint32_t number)
{
	struct live_node *n = l->nodes[number];

	live_node_unlay(l, number);
	due_set(l, n, false);
	l->nodes[number] = NULL;
	live_node_free(n);
	intern_give(&l->node_names, number);
}

static void slice_leave(struct live *l, struct live_slice *s)
{
	struct live_node *n = s->node != LIVE_NONE ? l->nodes[s->node] : NULL;
	size_t i = 0;

	if (!n)
		return;
	while (n->slices[i] != s)
		i++;
	n->slices[i] = n->slices[--n->slices_n];
	if (n->skipped && n->slices_n == 0) {
		node_drop(l, s->node);
		return;
	}
	/* What was laid out points into the slice. */
	n->relaid = true;
	live_node_lay(l, n);
	live_node_touch(l, s->node);
}

static void slice_free(struct live_slice *s)
{
	arena_free(&s->arena);
	free(s);
}

void live_slice_drop(struct live *l, uint32_t number)
{
	struct live_slice *s = number < l->slices_n ? l->slices[number] : NULL;

	if (!s)
		return;
	l->slices[number] = NULL;
	if (live_is_several(s->slice))
		live_several_leave(l, s);
	else
		slice_leave(l, s);
	slice_free(s);
	intern_give(&l->slice_names, number);
}

void live_slice_put(struct live *l, const struct tree *t, struct live_slice *s)
{
	const uint32_t number = live_number(
		&l->slice_names, jsontree_text(jsontree_get(jsontree_get(t, "metadata"), "name")));
	struct live_node *n;

	l->slices = must_reach(l->slices, &l->slices_n, number, 256, sizeof(struct live_slice *));
	live_slice_drop(l, number);
	l->slices[number] = s;
	s->name = number;
	s->node = LIVE_NONE;
	if (live_is_several(s->slice)) {
		live_several_add(l, s);
		return;
	}
	n = live_node_of(l, s->slice->node, &s->node);
	if (n->slices_n == n->slices_cap) {
		n->slices_cap = n->slices_cap * 2 + 2;
		n->slices = must_grow(n->slices, n->slices_cap * sizeof(*n->slices));
	}
	n->slices[n->slices_n++] = s;
	live_node_relay(l, s->node);
}

/* Of the newest generation of each pool; the rest are not used.  0: at most NODE_DEVICES_MAX. */
static size_t devices_many(const struct live_node *n)
{
	size_t all = 0, sum = 0;

	for (size_t i = 0; i < n->slices_n; i++)
		all += n->slices[i]->slice->devices_n;
	if (all <= NODE_DEVICES_MAX)
		return 0;
	for (size_t i = 0; i < n->slices_n; i++) {
		const struct slice *s = n->slices[i]->slice;
		bool newest = true;

		for (size_t k = 0; newest && k < n->slices_n; k++)
			newest = !same_pool(n->slices[k]->slice, s) ||
			         n->slices[k]->slice->generation <= s->generation;
		sum += newest ? s->devices_n : 0;
	}
	return sum;
}

void live_node_note(struct live *l, const struct live_slice *s, struct decode_error *error)
{
	struct live_node *n = s->node == LIVE_NONE ? NULL : l->nodes[s->node];
	const size_t devices = n ? devices_many(n) : 0;
	const size_t excess = devices > NODE_DEVICES_MAX ? devices - NODE_DEVICES_MAX : 0;

	if (n && excess > 0 && excess != n->excess) {
		snprintf(
			error->text, sizeof(error->text),
			"%zu of the %zu devices of node %s are not used: those beyond the first %u by pool",
			excess, devices, n->name, NODE_DEVICES_MAX);
		snprintf(error->object, sizeof(error->object), "ResourceSlice %s",
		         intern_text(&l->slice_names, s->name));
	}
	if (n)
		n->excess = excess;
}

static void key_of(char *key, const struct device_entry *e)
{
	const struct slice *s = e->slice;

	snprintf(key, KEY_BYTES, "%.*s/%.*s/%.*s", (int)s->driver.bytes, s->driver.at,
	         (int)s->pool.bytes, s->pool.at, (int)e->name.bytes, e->name.at);
}

static void keys_give(struct live *l, struct live_node *n)
{
	live_shares_give(l, n);
	live_commons_give(l, n);
	for (uint32_t i = 0; i < n->devices_n; i++) {
		if (!(l->device_node[n->keys[i]] & LIVE_COMMON))
			l->device_node[n->keys[i]] = 0;
		intern_give(&l->device_names, n->keys[i]);
	}
	n->devices_n = 0;
}

static void matches_forget(struct live_node *n)
{
	n->matched_n = 0;
	free(n->matched);
	n->matched = NULL;
}

void live_node_unlay(struct live *l, uint32_t node)
{
	struct live_node *n = l->nodes[node];

	keys_give(l, n);
	matches_forget(n);
	live_errors_forget(l, n);
	live_node_relay(l, node);
}

/* The store is the scratch: its slices are those of the node, and of several nodes. */
static void asked_of(struct live *l, struct live_node *n, struct asked *a)
{
	struct devices *d = l->store;
	struct node_entry *node = arena_array(&a->arena, 1, sizeof(*node));

	d->slices_cap = n->slices_n + l->several_n + 1;
	d->slices = must_grow(d->slices, d->slices_cap * sizeof(*d->slices));
	d->slices_n = 0;
	for (size_t i = 0; i < n->slices_n; i++)
		d->slices[d->slices_n++] = n->slices[i]->slice;
	for (size_t i = 0; n->labels && i < l->several_n; i++)
		if (!l->several[i]->barred)
			d->slices[d->slices_n++] = l->several[i]->slice;
	if (d->slices_n > 1)
		qsort(d->slices, d->slices_n, sizeof(*d->slices), slice_order);
	d->sorted = true;
	*node = live_node_entry(n);
	a->node = node;
	asked_pools(d, a);
	d->slices_n = 0;
}

static void *keep(struct live_node *n, const void *from, size_t count, size_t bytes)
{
	void *to = arena_array(&n->arena, count + 1, bytes);

	if (count > 0)
		memcpy(to, from, count * bytes);
	return to;
}

/* It takes counters, on whichever node it is in use, and has no number by which that is known. */
static bool is_unnumbered(const struct live_node *n, const struct device_node *from, uint32_t i)
{
	return from->devices[i].uses.n > 0 && n->commons[i] == LIVE_NONE &&
	       live_is_several(n->devices[i]->slice);
}

/* Of devices of pools that are usable; too many, or one below 0: none of them is used.  Nor if the
 * node does not list one that takes some: what is left would not be known. */
static void counters_lay(struct live_node *n, const struct device_node *from, size_t devices_n)
{
	bool below = false; /* or not known */

	n->counted = (struct device_node){ 0 };
	n->uses_n = 0;
	for (uint32_t i = 0; i < n->devices_n; i++) {
		n->uses_n += from->devices[i].uses.n;
		below = below || is_unnumbered(n, from, i);
	}
	for (size_t i = n->devices_n; i < devices_n; i++)
		below = below || from->devices[i].uses.n > 0;
	for (uint32_t i = 0; i < n->uses_n; i++)
		below = below || from->uses[i].amount < 0;
	for (uint32_t i = 0; i < from->counters_n; i++)
		below = below || from->counters[i] < 0;
	n->counted.counters_n = from->counters_n;
	if (below || n->uses_n == 0 || n->uses_n > NODE_USES_MAX ||
	    from->counters_n > NODE_COUNTERS_MAX ||
	    sizeof(struct record) + live_node_space(n, 0, false) > RECORD_BYTES_MAX) {
		n->uses_n = n->counted.counters_n = 0;
		return;
	}
	n->counted.devices = keep(n, from->devices, n->devices_n, sizeof(*from->devices));
	n->counted.uses = keep(n, from->uses, n->uses_n, sizeof(*from->uses));
	n->counted.counters = keep(n, from->counters, from->counters_n, sizeof(*from->counters));
	n->pool_of = arena_array(&n->arena, from->counters_n + 1, sizeof(*n->pool_of));
	for (uint32_t i = 0; i < from->pools_n; i++)
		for (uint32_t k = 0; k < from->pools[i].counters.n; k++)
			n->pool_of[from->pools[i].counters.first + k] = i;
}

bool live_counters_suffice(const struct live *l, const struct live_node *n, const uint32_t *more,
                           uint32_t more_n)
{
	uint64_t used[DEVICE_WORDS(NODE_DEVICES_MAX)] = { 0 };
	device_amount left[NODE_COUNTERS_MAX];
	bool suffice = true;

	if (n->counted.counters_n == 0)
		return true;
	memcpy(left, n->counted.counters, n->counted.counters_n * sizeof(*left));
	for (uint32_t i = 0; i < n->devices_n; i++)
		if (l->taken[n->keys[i]] > 0)
			device_add(used, i);
	for (uint32_t i = 0; i < more_n; i++)
		device_add(used, more[i]);
	for (uint32_t i = 0; i < n->devices_n; i++) {
		const struct span *s = &n->counted.devices[i].uses;

		for (uint32_t k = s->first; device_in(used, i) && k < s->first + s->n; k++)
			left[n->counted.uses[k].counter] -= n->counted.uses[k].amount;
	}
	for (uint32_t i = 0; i < more_n; i++) {
		const struct span *s = &n->counted.devices[more[i]].uses;

		for (uint32_t k = s->first; k < s->first + s->n; k++)
			suffice = suffice && left[n->counted.uses[k].counter] >= 0;
	}
	return suffice;
}

void live_node_lay(struct live *l, struct live_node *n)
{
	struct asked a = { 0 };
	char key[KEY_BYTES];
	uint32_t number;

	if (!n->relaid)
		return;
	n->relaid = false;
	n->layout = ++l->layouts;
	keys_give(l, n);
	matches_forget(n);
	live_errors_forget(l, n);
	asked_of(l, n, &a);
	n->invalid = n->broken = a.problem.invalid;
	for (size_t i = 0; i < a.pools_n; i++)
		n->broken = n->broken || a.pools[i].state != POOL_USABLE;
	arena_reset(&n->arena);
	n->devices = arena_array(&n->arena, a.devices_n + 1, sizeof(struct device_entry *));
	n->keys = arena_array(&n->arena, a.devices_n + 1, sizeof(*n->keys));
	for (size_t i = 0; i < a.devices_n && i < NODE_DEVICES_MAX; i++) {
		key_of(key, a.devices[i]);
		number = live_number(&l->device_names, text_of(key));
		device_reach(l, number);
		l->device_node[number] = (uint32_t)intern_find(&l->node_names, text_of(n->name)) + 1;
		n->devices[n->devices_n] = a.devices[i];
		n->keys[n->devices_n++] = number;
	}
	live_commons_lay(l, n);
	counters_lay(n, &a.problem.node, a.devices_n);
	live_shares_lay(l, n);
	arena_free(&a.arena);
}

/* Records. */

uint32_t live_node_next(struct live *l)
{
	for (size_t i = 0; l->nodes_due > 0 && i < l->nodes_n; i++) {
		const size_t at = (l->nodes_at + i) % l->nodes_n;

		if (l->nodes[at] && l->nodes[at]->due)
			return l->nodes_at = (uint32_t)at;
	}
	return live_commons_next(l);
}

const char *live_node_name(const struct live *l, uint32_t at)
{
	return l->nodes[at]->name;
}

void live_node_skip(struct live *l, uint32_t at)
{
	l->nodes[at]->skipped = true;
	due_set(l, l->nodes[at], false);
	if (l->nodes[at]->slices_n == 0)
		node_drop(l, at);
}

void live_node_gone(struct live *l, struct text name)
{
	const uint32_t number = intern_find(&l->node_names, name);
	struct live_node *n = number < l->nodes_n ? l->nodes[number] : NULL;

	if (!n)
		return;
	free(n->labels_text);
	n->labels_text = NULL;
	n->labels = NULL;
	live_node_relay(l, number);
	live_node_skip(l, number);
	live_names_recycle(l);
}

void live_node_again(struct live *l, uint32_t at)
{
	due_set(l, l->nodes[at], true);
}

void live_node_entered(struct live *l, struct text name)
{
	const uint32_t number = intern_find(&l->node_names, name);
	struct live_node *n = number < l->nodes_n ? l->nodes[number] : NULL;

	if (!n)
		return;
	n->skipped = false;
	n->relaid = true; /* the core has nothing of it */
	live_node_touch(l, number);
}

size_t live_node_space(const struct live_node *n, size_t capacities, bool shared)
{
	return sizeof(struct event_node_devices) +
	       (shared ? 2 : 1) * DEVICE_WORDS(n->devices_n) * sizeof(uint64_t) +
	       n->counted.counters_n * sizeof(struct node_counter) +
	       n->uses_n * sizeof(struct node_use) + capacities * sizeof(struct node_capacity) +
	       n->commons_n * sizeof(struct node_common);
}

size_t live_node_bytes(const struct live *l, uint32_t at)
{
	struct live_node *n = l->nodes[at];

	live_node_lay((struct live *)(uintptr_t)l, n);
	return live_node_space(n, n->capacities_n, n->shared != NULL);
}

/* Where they end. */
static void *counters_write(const struct live_node *n, void *at)
{
	const struct device_node *from = &n->counted;
	struct node_counter *counters = at;
	struct node_use *use = (void *)(counters + from->counters_n);

	for (uint32_t i = 0; i < from->counters_n; i++) {
		counters[i] = (struct node_counter){ .pool = n->pool_of[i] };
		device_amount_split(from->counters[i], &counters[i].low, &counters[i].high);
	}
	for (uint32_t i = 0; n->uses_n > 0 && i < n->devices_n; i++) {
		const struct span *s = &from->devices[i].uses;

		for (uint32_t k = s->first; k < s->first + s->n; k++, use++) {
			*use = (struct node_use){ .device = i, .counter = from->uses[k].counter };
			device_amount_split(from->uses[k].amount, &use->low, &use->high);
		}
	}
	return use;
}

/* A device without capacities that is had as a whole is taken, as one that is not shared. */
static void shared_write(const struct live *l, const struct live_node *n, uint64_t *set)
{
	memset(set, 0, DEVICE_WORDS(n->devices_n) * sizeof(*set));
	for (uint32_t i = 0; i < n->devices_n; i++)
		if (live_is_shared(n, i) &&
		    (l->whole[n->keys[i]] == 0 || n->devices[i]->facts.capacities_n > 0))
			device_add(set, i);
}

void live_node_write(struct live *l, uint32_t at, node_id node, uint32_t generation, void *record)
{
	struct live_node *n = l->nodes[at];
	struct event_node_devices *e = record;
	const size_t words = DEVICE_WORDS(n->devices_n);
	uint64_t *taken = (uint64_t *)(e + 1);
	struct node_capacity *capacities;

	*e = (struct event_node_devices){ .node = node,
		                              .generation = generation,
		                              .layout = n->layout,
		                              .devices_n = n->devices_n,
		                              .flags = (n->invalid ? NODE_DEVICES_INVALID : 0) |
		                                       (n->shared ? NODE_DEVICES_SHARED : 0),
		                              .counters_n = n->counted.counters_n,
		                              .uses_n = n->uses_n,
		                              .capacities_n = n->capacities_n,
		                              .commons_n = n->commons_n };
	memset(taken, 0, words * sizeof(*taken));
	for (uint32_t i = 0; i < n->devices_n; i++)
		if (l->taken[n->keys[i]] > 0)
			device_add(taken, i);
	if (n->shared)
		shared_write(l, n, taken + words);
	capacities = counters_write(n, taken + words * (n->shared ? 2 : 1));
	live_shares_write(l, n, capacities);
	live_commons_write(l, n, (void *)(capacities + n->capacities_n));
	due_set(l, n, false);
}

void live_restart(struct live *l)
{
	for (size_t i = 0; i < l->nodes_n; i++) {
		if (!l->nodes[i])
			continue;
		l->nodes[i]->skipped = false;
		live_node_rematch(l, (uint32_t)i);
	}
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		l->questions[i].sent = false;
	memset(l->named, 0, sizeof(l->named));
	l->names_bytes = 0;
}
