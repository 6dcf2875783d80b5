/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that owns the core: records in, commands out, no lock and no system
 * call on the way while work is at hand.
 *
 * Connections come from the control thread (core/daemon/control.h) through one word:
 *
 *   loop_offer()       FREE -> OFFERED     control: here is a frontend's intake
 *                   OFFERED -> SERVED      loop: rings set up, epoch chosen
 *                    SERVED -> BROKEN      loop: it wrote nonsense
 *   loop_take_back() SERVED, BROKEN -> LEAVING   control: it is gone
 *                   LEAVING -> LEFT        loop: not a byte of it is used any more
 *   loop_free()        LEFT -> FREE        control: unmapped
 *
 * `notify` is called by the loop after SERVED, BROKEN and LEFT. */
#ifndef MUSTER_CORE_LOOP_H
#define MUSTER_CORE_LOOP_H

#include "core/daemon/recorder.h"
#include "core/step/core.h"
#include "ipc/link.h"
#include "ipc/segment.h"

#include <pthread.h>

enum loop_peer { PEER_FREE, PEER_OFFERED, PEER_SERVED, PEER_BROKEN, PEER_LEAVING, PEER_LEFT };

struct loop_config {
	struct limits limits;
	enum score_policy score;
	uint64_t hold_after_ns;
	uint64_t spin_ns;
	int cpu;                   /* -1: any */
	struct recorder *recorder; /* of all that the core hears and says; NULL: none */
	void (*notify)(void *context);
	void *context;
};

struct loop;

/* Make the ledger and the core, and start the thread.  A negative errno and *what (a
 * static text) on failure. */
int loop_start(struct loop **out, const struct loop_config *config, const char **what);

/* Stop the thread; frees all but the ledger's readers' maps. */
void loop_stop(struct loop *loop);

const struct segment *loop_ledger(const struct loop *loop);

enum loop_peer loop_peer(const struct loop *loop);

/* peer stays the caller's, and in place until PEER_LEFT. */
void loop_offer(struct loop *loop, const struct link_peer *peer);
void loop_take_back(struct loop *loop);
void loop_free(struct loop *loop);

/* The epoch of the peer that is PEER_SERVED. */
uint64_t loop_epoch(const struct loop *loop);

/* Wake the loop if it sleeps; may be lost, so repeat it until it was heard. */
void loop_poke(struct loop *loop);

#endif
