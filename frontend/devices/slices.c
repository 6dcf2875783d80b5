/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of slices, and names of what is in them, for lists of devices. */
#include "frontend/devices/devices_impl.h"

#define TEXT(t) (int)(t).bytes, (t).at

struct slice_pool slice_pool_at(const struct devices *d, size_t first)
{
	struct slice_pool p = { .slices = &d->slices[first],
		                    .generation = d->slices[first]->generation };

	for (; first + p.n < d->slices_n && same_pool(p.slices[0], p.slices[p.n]); p.n++)
		if (p.slices[p.n]->generation > p.generation)
			p.generation = p.slices[p.n]->generation;
	for (size_t i = 0; i < p.n; i++)
		if (p.slices[i]->generation == p.generation) {
			p.found++;
			p.wanted = p.slices[i]->count;
		}
	return p;
}

nano_t counter_drawn(const struct slice_pool *p, const struct device_counter *counter)
{
	nano_t sum = 0;

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; p->slices[i]->generation == p->generation && k < p->slices[i]->devices_n;
		     k++) {
			const struct device_entry *e = &p->slices[i]->devices[k];

			for (size_t u = 0; e->taken + e->shares > 0 && u < e->uses_n; u++)
				if (text_equal(e->uses[u].set, counter->set) &&
				    text_equal(e->uses[u].name, counter->name))
					sum = quantity_add(sum, e->uses[u].value);
		}
	return sum;
}

const char *device_id(struct devices *d, struct text driver, struct text pool, struct text name)
{
	return arena_printf(&d->arena, "%.*s/%.*s/%.*s", TEXT(driver), TEXT(pool), TEXT(name));
}

const char *claim_id(struct devices *d, const struct claim_entry *c)
{
	return arena_printf(&d->arena, "%.*s/%.*s", TEXT(c->namespace), TEXT(c->name));
}
