/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all slices as a list, with the claims that hold them. */
#include "frontend/devices/devices_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static int row_order(const void *a, const void *b)
{
	const struct devices_row *x = a, *y = b;

	return strcmp(x->id, y->id);
}

static size_t slice_list(struct devices *d, const struct slice *s, struct devices_row *rows)
{
	for (size_t i = 0; i < s->devices_n; i++) {
		const struct device_entry *e = &s->devices[i];
		struct text own = jsontree_text(jsontree_get(e->tree, "nodeName"));

		rows[i] = (struct devices_row){
			.id = device_id(d, s->driver, s->pool, e->name),
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
		const struct devices_row wanted = { .id = device_id(
												d, jsontree_text(jsontree_get(result, "driver")),
												jsontree_text(jsontree_get(result, "pool")),
												jsontree_text(jsontree_get(result, "device"))) };
		struct devices_row *row = bsearch(&wanted, rows, n, sizeof(wanted), row_order);

		if (row == NULL)
			continue;
		row->claims = arena_grow(&d->arena, row->claims, row->claims_n, &row->claims_cap,
		                         sizeof(*row->claims));
		row->claims[row->claims_n++] = claim_id(d, c);
	}
}

struct devices_row *devices_list(struct devices *d, size_t *n)
{
	struct devices_row *rows = must_array((size_t)d->devices_n + 1, sizeof(*rows));

	devices_prepare(d);
	*n = 0;
	for (size_t i = 0; i < d->slices_n;) {
		const struct slice_pool p = slice_pool_at(d, i);

		for (size_t end = i + p.n; i < end; i++)
			if (d->slices[i]->generation == p.generation)
				*n += slice_list(d, d->slices[i], &rows[*n]);
	}
	qsort(rows, *n, sizeof(*rows), row_order);
	for (size_t i = 0; i < d->claims_n; i++)
		if (d->claims[i]->allocation != NULL)
			claim_list(d, d->claims[i], rows, *n);
	return rows;
}
