/* SPDX-License-Identifier: Apache-2.0 */
/* When the core published its commands, for statistics of the frontend alone.
 *
 * A publication is entered after its records can be read, so that they don't wait for it: a reader
 * that was faster finds nothing, and the records were published just now.  One writer; a reader in
 * another process for each connection.  Whichever dies, no more than the statistics is lost. */
#ifndef MUSTER_IPC_PUBLISHED_H
#define MUSTER_IPC_PUBLISHED_H

#include "ipc/abi.h"

/* The writer, before a connection begins: sequences start again. */
static inline void published_reset(struct core_published *p)
{
	/* Relaxed: ordered by the handshake. */
	atomic_store_explicit(&p->n, 0, memory_order_relaxed);
}

/* The records up to `sequence` were published at ns. */
static inline void published_add(struct core_published *p, uint64_t sequence, uint64_t ns)
{
	/* Relaxed: this is its one writer. */
	const uint64_t n = atomic_load_explicit(&p->n, memory_order_relaxed);
	struct publication *at = &p->at[n % PUBLISHED_KEPT];

	/* Relaxed: the next store orders them.  A reader that is a whole round behind may see one
	 * entry of two publications: a wrong time, which it bounds. */
	atomic_store_explicit(&at->sequence, sequence, memory_order_relaxed);
	atomic_store_explicit(&at->ns, ns, memory_order_relaxed);
	atomic_store_explicit(&p->n, n + 1, memory_order_release);
}

struct published_reader {
	uint64_t next;         /* the publication that is looked at next */
	uint64_t sequence, ns; /* the latest one that was looked at */
};

/* When the record was published; 0: it is not entered yet.  Records are asked for in their order.
 * Of one whose publication is no longer kept: when the first one was that is. */
static inline uint64_t published_find(struct published_reader *r, const struct core_published *p,
                                      uint64_t sequence)
{
	uint64_t n;

	if (sequence <= r->sequence)
		return r->ns;
	n = atomic_load_explicit(&p->n, memory_order_acquire);
	if (n > r->next + PUBLISHED_KEPT)
		r->next = n - PUBLISHED_KEPT;
	while (r->next < n) {
		const struct publication *at = &p->at[r->next++ % PUBLISHED_KEPT];

		/* Relaxed: see published_add(). */
		r->sequence = atomic_load_explicit(&at->sequence, memory_order_relaxed);
		r->ns = atomic_load_explicit(&at->ns, memory_order_relaxed);
		if (sequence <= r->sequence)
			return r->ns;
	}
	return 0;
}

#endif
