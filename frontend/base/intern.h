/* SPDX-License-Identifier: Apache-2.0 */
/* String interning: equal texts have equal numbers while a reference to the number exists.
 *
 * A number without references is kept until intern_recycle(), because records
 * that the core has were written with it. */
#ifndef MUSTER_FRONTEND_INTERN_H
#define MUSTER_FRONTEND_INTERN_H

#include "frontend/base/arena.h"
#include "frontend/base/table.h"

/* Accounts for the bytes of texts: pay() is called for each new text, pay_back() when it is freed.
 */
struct intern_payer {
	uint32_t now; /* payer of new texts, stored with each of them */
	void (*pay)(void *context, uint32_t payer, uint64_t bytes);
	void (*pay_back)(void *context, uint32_t payer, uint64_t bytes);
	void *context;
};

struct intern {
	struct pool pool;
	struct table table;
	struct list unused; /* without references, not yet recycled */
	struct list dirty;  /* referenced and not yet sent */
	uint64_t key[2];
	uint64_t text_bytes;              /* of all texts, each padded to 16 */
	const struct intern_payer *payer; /* NULL: none.  Set once, outlives it */
};

void intern_init(struct intern *in, const uint64_t key[2], uint32_t limit);
void intern_free(struct intern *in);

/* True if the text has a number, referenced or not recycled yet. */
bool intern_has(const struct intern *in, struct text t);

/* The number of the text, referenced or not recycled yet; SLOT_NONE: it has none. */
uint32_t intern_find(const struct intern *in, struct text t);

/* The number of the text, with one more reference.
 *   -ENOSPC  pool.limit numbers are in use */
int intern_take(struct intern *in, struct text t, uint32_t *number);
void intern_hold(struct intern *in, uint32_t number);
void intern_give(struct intern *in, uint32_t number);

/* The terminated text of a number in use, or NULL.  Does not move while it is in use. */
const char *intern_text(const struct intern *in, uint32_t number);

/* What its payer pays: the memory that it takes. */
uint64_t intern_bytes(const struct intern *in, uint32_t number);
uint32_t intern_payer(const struct intern *in, uint32_t number);
/* Of a text with references the part that falls to each of them. */
uint64_t intern_part_bytes(const struct intern *in, uint32_t number);

/* Number of references; 0 when the number is free. */
uint32_t intern_refs(const struct intern *in, uint32_t number);

/* Free the numbers without references: no record that the core has contains them. */
void intern_recycle(struct intern *in);

/* The next number that was not sent, or SLOT_NONE; intern_sent() removes it from the list. */
uint32_t intern_next_dirty(const struct intern *in);
void intern_sent(struct intern *in, uint32_t number);
/* A new core: recycle, then all numbers are dirty, in order. */
void intern_restart(struct intern *in);

#endif
