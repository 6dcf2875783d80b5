/* SPDX-License-Identifier: Apache-2.0 */
/* What allocated claims have of devices beyond what there is: the API server compares no claims. */
#include "frontend/devices/devices_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct excesses {
	struct devices *d;
	const struct devices_row *rows; /* of all devices, by id */
	size_t rows_n;
	struct devices_excess *at;
	size_t n, cap;
};

static int row_order(const void *id, const void *row)
{
	return strcmp(id, ((const struct devices_row *)row)->id);
}

static struct devices_excess *add(struct excesses *e, const char *of, const char *what)
{
	if (e->n == e->cap) {
		e->cap = e->cap * 2 + 16;
		e->at = must_grow(e->at, e->cap * sizeof(*e->at));
	}
	e->at[e->n] = (struct devices_excess){ .of = of, .what = what };
	return &e->at[e->n++];
}

static void add_device(struct excesses *e, const struct device_entry *device, const char *what)
{
	const char *id = device_id(e->d, device->slice->driver, device->slice->pool, device->name);
	const struct devices_row *row = bsearch(id, e->rows, e->rows_n, sizeof(*row), row_order);
	struct devices_excess *x = add(e, id, what);

	if (row == NULL)
		return;
	x->claims = row->claims;
	x->claims_n = row->claims_n;
}

static const char *amounts(struct excesses *e, const char *kind, struct text name, nano_t taken,
                           nano_t value)
{
	struct bytes b = { 0 };
	const char *text;

	bytes_put(&b, kind);
	bytes_add(&b, name.at, name.bytes);
	bytes_put(&b, ": ");
	amount_put(&b, taken);
	bytes_put(&b, " of ");
	amount_put(&b, value);
	text = arena_copy(&e->d->arena, (struct text){ b.at, b.n });
	bytes_free(&b);
	return text;
}

static void look_at_device(struct excesses *e, const struct device_entry *device)
{
	if (device->taken > 1 || (device->taken > 0 && device->shares > 0))
		add_device(e, device, "allocated more than once");
	for (size_t i = 0; i < device->facts.capacities_n; i++) {
		const nano_t value = device->facts.capacities[i].value.nano;

		if (device->consumed[i] > value)
			add_device(e, device,
			           amounts(e, "capacity ", device->capacities[i], device->consumed[i], value));
	}
}

static void look_at_counter(struct excesses *e, const struct slice_pool *p,
                            const struct device_counter *counter)
{
	const nano_t sum = counter_drawn(p, counter);
	const struct slice *s = p->slices[0];
	const char *name;

	if (sum <= counter->value)
		return;
	name = arena_printf(&e->d->arena, "%.*s/%.*s", (int)counter->set.bytes, counter->set.at,
	                    (int)counter->name.bytes, counter->name.at);
	add(e,
	    arena_printf(&e->d->arena, "%.*s/%.*s", (int)s->driver.bytes, s->driver.at,
	                 (int)s->pool.bytes, s->pool.at),
	    amounts(e, "counter ", text_of(name), sum, counter->value));
}

static void look_at_pool(struct excesses *e, const struct slice_pool *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct slice *s = p->slices[i];

		if (s->generation != p->generation)
			continue;
		for (size_t k = 0; k < s->devices_n; k++)
			look_at_device(e, &s->devices[k]);
		for (size_t k = 0; k < s->counters_n; k++)
			look_at_counter(e, p, &s->counters[k]);
	}
}

struct devices_excess *devices_excesses(struct devices *d, size_t *n)
{
	struct excesses e = { .d = d };
	struct devices_row *rows = devices_list(d, &e.rows_n);

	e.rows = rows;
	for (size_t i = 0; i < d->slices_n;) {
		const struct slice_pool p = slice_pool_at(d, i);

		look_at_pool(&e, &p);
		i += p.n;
	}
	free(rows);
	*n = e.n;
	return e.at;
}
