/* SPDX-License-Identifier: Apache-2.0 */
/* The pools that a node sees (structured: GatherPools): the slices of the newest generation that
 * select it, and those with shared counters; whether they are complete and valid; their order. */
#include "frontend/devices/asked.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct asked *asked_new(void)
{
	return must_alloc(sizeof(struct asked));
}

void asked_free(struct asked *a)
{
	arena_free(&a->arena);
	free(a);
}

uint32_t value_number(struct devices *d, struct text text, uint32_t type)
{
	uint32_t number = intern_find(&d->values[type], text);

	if (number == SLOT_NONE && intern_take(&d->values[type], text, &number) < 0)
		fatal_memory(); /* 2^32 of them */
	return number + 1;
}

static int name_order(const void *a, const void *b)
{
	return text_order(*(const struct text *)a, *(const struct text *)b);
}

/* True if a name of `names`, which are sorted here, occurs twice. */
static bool has_twin(struct text *names, size_t n)
{
	if (n > 1)
		qsort(names, n, sizeof(*names), name_order);
	for (size_t i = 1; i < n; i++)
		if (text_equal(names[i - 1], names[i]))
			return true;
	return false;
}

static const struct device_counter *counter_find(const struct asked_pool *p, struct text set,
                                                 struct text name, uint32_t *index)
{
	*index = 0;
	for (size_t i = 0; i < p->slices_n; i++)
		for (size_t k = 0; k < p->slices[i]->counters_n; k++, (*index)++)
			if (text_equal(p->slices[i]->counters[k].set, set) &&
			    text_equal(p->slices[i]->counters[k].name, name))
				return &p->slices[i]->counters[k];
	return NULL;
}

static bool is_invalid(struct asked *a, const struct asked_pool *p)
{
	size_t devices = 0, sets = 0, n = 0, m = 0;
	struct text *names, *set_names;
	uint32_t unused;

	for (size_t i = 0; i < p->slices_n; i++) {
		devices += p->slices[i]->devices_n;
		sets += p->slices[i]->sets->n;
	}
	names = arena_array(&a->arena, devices, sizeof(*names));
	set_names = arena_array(&a->arena, sets, sizeof(*set_names));
	for (size_t i = 0; i < p->slices_n; i++) {
		const struct slice *s = p->slices[i];

		TREE_EACH(set, s->sets)
		set_names[m++] = jsontree_text(jsontree_get(set, "name"));
		for (size_t k = 0; k < s->devices_n; k++) {
			names[n++] = s->devices[k].name;
			for (size_t u = 0; u < s->devices[k].uses_n; u++)
				if (counter_find(p, s->devices[k].uses[u].set, s->devices[k].uses[u].name,
				                 &unused) == NULL)
					return true;
		}
	}
	return has_twin(names, n) || has_twin(set_names, m);
}

/* The slices of one pool, in all generations.  False: the node does not see the pool. */
static bool pool_of(struct asked *a, struct slice *const *group, size_t n, struct asked_pool *p)
{
	const struct slice **kept = arena_array(&a->arena, n, sizeof(*kept));
	int64_t newest = INT64_MIN;
	size_t all = 0;

	*p = (struct asked_pool){ .slices = kept };
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < n; i++) {
			const struct slice *s = group[i];

			if (s->sets->n == 0 && !slice_selected(s, a->node))
				continue;
			if (pass == 0 && s->generation > newest)
				newest = s->generation;
			else if (pass == 1 && s->generation == newest)
				kept[p->slices_n++] = s;
		}
	if (p->slices_n == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		all += group[i]->generation == newest;
	if ((int64_t)p->slices_n < kept[0]->count) {
		for (size_t i = 0; i < n; i++)
			if (group[i]->generation > newest)
				return false;
		if ((int64_t)all != kept[0]->count)
			p->state = POOL_INCOMPLETE;
	}
	if (p->state == POOL_USABLE && is_invalid(a, p))
		p->state = POOL_INVALID;
	for (size_t i = 0; i < p->slices_n; i++)
		for (size_t k = 0; k < kept[i]->devices_n; k++)
			p->waits =
				p->waits || jsontree_get(kept[i]->devices[k].tree, "bindingConditions")->n > 0;
	return true;
}

bool same_pool(const struct slice *a, const struct slice *b)
{
	return text_equal(a->driver, b->driver) && text_equal(a->pool, b->pool);
}

/* Pools in which no device has binding conditions come first. */
static void pools_order(struct asked *a)
{
	struct asked_pool *sorted = arena_array(&a->arena, a->pools_n, sizeof(*sorted));
	size_t n = 0;

	for (int waits = 0; waits < 2; waits++)
		for (size_t i = 0; i < a->pools_n; i++)
			if (a->pools[i].waits == waits)
				sorted[n++] = a->pools[i];
	a->pools = sorted;
}

/* What is left of the pool's counters by allocated devices of all nodes. */
static void counters_fill(const struct devices *d, const struct asked_pool *p,
                          device_amount *counters)
{
	uint32_t n = 0, at;

	for (size_t i = 0; i < p->slices_n; i++)
		for (size_t k = 0; k < p->slices[i]->counters_n; k++)
			counters[n++] = p->slices[i]->counters[k].value;
	for (size_t i = 0; i < d->slices_n; i++) {
		const struct slice *s = d->slices[i];

		if (!same_pool(s, p->slices[0]) || s->generation != p->slices[0]->generation)
			continue;
		for (size_t k = 0; k < s->devices_n; k++) {
			const struct device_entry *e = &s->devices[k];

			for (size_t u = 0; (e->taken > 0 || e->shares > 0) && u < e->uses_n; u++)
				if (counter_find(p, e->uses[u].set, e->uses[u].name, &at) != NULL)
					counters[at] -= e->uses[u].value;
		}
	}
}

struct totals {
	size_t devices, uses, capacities, counters;
};

static struct totals count(const struct asked *a)
{
	struct totals t = { 0 };

	for (size_t i = 0; i < a->pools_n; i++) {
		const struct asked_pool *p = &a->pools[i];

		for (size_t k = 0; p->state == POOL_USABLE && k < p->slices_n; k++) {
			const struct slice *s = p->slices[k];

			t.devices += s->devices_n;
			t.counters += s->counters_n;
			for (size_t x = 0; x < s->devices_n; x++) {
				t.uses += s->devices[x].uses_n;
				t.capacities += s->devices[x].facts.capacities_n;
			}
		}
	}
	return t;
}

struct filling {
	struct device_pool *pools;
	struct device *devices;
	struct device_use *uses;
	struct device_capacity *capacities;
	device_amount *counters;
	uint32_t uses_n, capacities_n, counters_n;
};

static void device_fill(struct asked *a, struct filling *f, size_t pool, struct device_entry *e)
{
	const struct asked_pool *p = &a->pools[pool];
	struct device *out = &f->devices[a->devices_n];

	*out = (struct device){
		.pool = (uint32_t)pool,
		.flags = (e->taken > 0 ? DEVICE_TAKEN : 0) |
		         (e->facts.allow_multiple_allocations ? DEVICE_SHARED : 0) |
		         (e->shares > 0 ? DEVICE_DRAWN : 0),
		.uses = { f->uses_n, (uint32_t)e->uses_n },
		.capacities = { f->capacities_n, (uint32_t)e->facts.capacities_n },
	};
	for (size_t u = 0; u < e->uses_n; u++) {
		uint32_t at;

		counter_find(p, e->uses[u].set, e->uses[u].name, &at);
		f->uses[f->uses_n++] =
			(struct device_use){ f->pools[pool].counters.first + at, e->uses[u].value };
	}
	for (size_t i = 0; i < e->facts.capacities_n; i++)
		f->capacities[f->capacities_n++] =
			(struct device_capacity){ e->facts.capacities[i].value.nano, e->consumed[i] };
	a->first_capacity[a->devices_n] = out->capacities.first;
	a->devices[a->devices_n++] = e;
}

static void pool_fill(const struct devices *d, struct asked *a, struct filling *f, size_t i)
{
	const struct asked_pool *p = &a->pools[i];
	struct device_pool *out = &f->pools[i];

	*out = (struct device_pool){
		.state = p->state,
		.devices = { (uint32_t)a->devices_n, 0 },
		.counters = { f->counters_n, 0 },
	};
	a->problem.invalid = a->problem.invalid || p->state == POOL_INVALID;
	if (p->state != POOL_USABLE)
		return;
	for (size_t k = 0; k < p->slices_n; k++)
		out->counters.n += (uint32_t)p->slices[k]->counters_n;
	counters_fill(d, p, &f->counters[f->counters_n]);
	f->counters_n += out->counters.n;
	for (size_t k = 0; k < p->slices_n; k++)
		for (size_t x = 0; slice_selected(p->slices[k], a->node) && x < p->slices[k]->devices_n;
		     x++)
			device_fill(a, f, i, &p->slices[k]->devices[x]);
	out->devices.n = (uint32_t)a->devices_n - out->devices.first;
}

void asked_pools(struct devices *d, struct asked *a)
{
	struct filling f = { 0 };
	struct totals t;

	a->pools = arena_array(&a->arena, d->slices_n, sizeof(*a->pools));
	for (size_t i = 0, end; i < d->slices_n; i = end) {
		for (end = i + 1; end < d->slices_n && same_pool(d->slices[i], d->slices[end]);)
			end++;
		a->pools_n += pool_of(a, &d->slices[i], end - i, &a->pools[a->pools_n]);
	}
	pools_order(a);
	t = count(a);
	f.pools = arena_array(&a->arena, a->pools_n, sizeof(*f.pools));
	f.devices = arena_array(&a->arena, t.devices, sizeof(*f.devices));
	f.uses = arena_array(&a->arena, t.uses, sizeof(*f.uses));
	f.capacities = arena_array(&a->arena, t.capacities, sizeof(*f.capacities));
	f.counters = arena_array(&a->arena, t.counters, sizeof(*f.counters));
	a->devices = arena_array(&a->arena, t.devices, sizeof(struct device_entry *));
	a->first_capacity = arena_array(&a->arena, t.devices, sizeof(*a->first_capacity));
	for (size_t i = 0; i < a->pools_n; i++)
		pool_fill(d, a, &f, i);
	a->problem.node = (struct device_node){
		.pools = f.pools,
		.pools_n = (uint32_t)a->pools_n,
		.devices = f.devices,
		.devices_n = (uint32_t)a->devices_n,
		.uses = f.uses,
		.capacities = f.capacities,
		.capacities_n = f.capacities_n,
		.counters = f.counters,
		.counters_n = f.counters_n,
	};
}
