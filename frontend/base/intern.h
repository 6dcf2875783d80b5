/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as numbers: equal text, equal number, as long as someone holds it.
 *
 * A number that nobody holds any more stays taken until intern_recycle(): what
 * the core has was written with it. */
#ifndef MUSTER_FRONTEND_INTERN_H
#define MUSTER_FRONTEND_INTERN_H

#include "frontend/base/arena.h"
#include "frontend/base/table.h"

struct intern {
	struct pool pool;
	struct table table;
	struct list unused; /* nobody holds it, not yet recycled */
	struct list dirty;  /* for who sends them: new since it was emptied */
	uint64_t key[2];
	uint64_t text_bytes; /* of all texts, each padded to 16 */
};

void intern_init(struct intern *in, const uint64_t key[2], uint32_t limit);
void intern_free(struct intern *in);

/* Is it there already, held or not recycled yet? */
bool intern_has(const struct intern *in, struct text t);

/* The number of the text, held once more.
 *   -ENOSPC  pool.limit are taken
 *   -ENOMEM */
int intern_take(struct intern *in, struct text t, uint32_t *number);
void intern_hold(struct intern *in, uint32_t number);
void intern_give(struct intern *in, uint32_t number);

/* The terminated text of a number that is taken, or NULL.  Does not move while it is. */
const char *intern_text(const struct intern *in, uint32_t number);

/* How often it is held; 0 when it is free. */
uint32_t intern_refs(const struct intern *in, uint32_t number);

/* Nothing out there is written with unused numbers any more. */
void intern_recycle(struct intern *in);

/* The next that was never sent, or SLOT_NONE; intern_sent() takes it off. */
uint32_t intern_next_dirty(const struct intern *in);
void intern_sent(struct intern *in, uint32_t number);
/* Whoever knew them is gone: recycle, and all are dirty again, in order. */
void intern_restart(struct intern *in);

#endif
