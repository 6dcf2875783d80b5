/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all slices as a list, with the claims that hold them. */
#include "frontend/devices/devices_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static const char *id_of(struct devices *d, struct text driver, struct text pool, struct text name)
{
	return arena_printf(&d->arena, "%.*s/%.*s/%.*s", (int)driver.bytes, driver.at, (int)pool.bytes,
	                    pool.at, (int)name.bytes, name.at);
}

static int row_order(const void *a, const void *b)
{
	const struct devices_row *x = a, *y = b;

	return strcmp(x->id, y->id);
}

/* The slices of a pool are neighbours: devices_prepare() sorts them.  Returns the end of its pool.
 */
static size_t pool_end(const struct devices *d, size_t first, int64_t *newest)
{
	size_t i = first;

	*newest = d->slices[first]->generation;
	for (; i < d->slices_n && same_pool(d->slices[first], d->slices[i]); i++)
		if (d->slices[i]->generation > *newest)
			*newest = d->slices[i]->generation;
	return i;
}

static size_t slice_list(struct devices *d, const struct slice *s, struct devices_row *rows)
{
	for (size_t i = 0; i < s->devices_n; i++) {
		const struct device_entry *e = &s->devices[i];
		struct text own = jsontree_text(jsontree_get(e->tree, "nodeName"));

		rows[i] = (struct devices_row){
			.id = id_of(d, s->driver, s->pool, e->name),
			.node = arena_copy(&d->arena, own.bytes > 0 ? own : s->node),
			.tainted = !tolerated(e, jsontree_get(e->tree, "")),
			.device = &e->facts,
		};
	}
	return s->devices_n;
}

static void claim_list(struct devices *d, const struct claim_entry *c, struct devices_row *rows,
                       size_t n)
{
	TREE_EACH(result, jsontree_get(jsontree_get(c->allocation, "devices"), "results"))
	{
		const struct devices_row wanted = { .id = id_of(
												d, jsontree_text(jsontree_get(result, "driver")),
												jsontree_text(jsontree_get(result, "pool")),
												jsontree_text(jsontree_get(result, "device"))) };
		struct devices_row *row = bsearch(&wanted, rows, n, sizeof(wanted), row_order);

		if (row == NULL)
			continue;
		row->claims = arena_grow(&d->arena, row->claims, row->claims_n, &row->claims_cap,
		                         sizeof(*row->claims));
		row->claims[row->claims_n++] =
			arena_printf(&d->arena, "%.*s/%.*s", (int)c->namespace.bytes, c->namespace.at,
		                 (int)c->name.bytes, c->name.at);
	}
}

struct devices_row *devices_list(struct devices *d, size_t *n)
{
	struct devices_row *rows = must_array((size_t)d->devices_n + 1, sizeof(*rows));
	int64_t newest;

	devices_prepare(d);
	*n = 0;
	for (size_t i = 0, end; i < d->slices_n; i = end) {
		end = pool_end(d, i, &newest);
		for (size_t k = i; k < end; k++)
			if (d->slices[k]->generation == newest)
				*n += slice_list(d, d->slices[k], &rows[*n]);
	}
	qsort(rows, *n, sizeof(*rows), row_order);
	for (size_t i = 0; i < d->claims_n; i++)
		if (d->claims[i]->allocation != NULL)
			claim_list(d, d->claims[i], rows, *n);
	return rows;
}
