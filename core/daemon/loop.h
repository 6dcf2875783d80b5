/* SPDX-License-Identifier: Apache-2.0 */
/* The planning thread, which owns the core: records in, commands out, without locks, and without
 * system calls while there is work.
 *
 * The control thread (core/daemon/control.h) passes it connections through one word:
 *
 *   loop_offer()       FREE -> OFFERED     control: a frontend's intake is mapped
 *                   OFFERED -> SERVED      loop: rings set up, epoch chosen
 *                    SERVED -> BROKEN      loop: the peer sent a bad record
 *   loop_take_back() SERVED, BROKEN -> LEAVING   control: the peer hung up
 *                   LEAVING -> LEFT        loop: its memory is no longer used
 *   loop_free()        LEFT -> FREE        control: unmapped
 *
 * `notify` is called by the loop after SERVED, BROKEN and LEFT. */
#ifndef MUSTER_CORE_LOOP_H
#define MUSTER_CORE_LOOP_H

#include "core/step/core.h"
#include "core/daemon/recorder.h"
#include "ipc/link.h"
#include "ipc/segment.h"

#include <pthread.h>

enum loop_peer { PEER_FREE, PEER_OFFERED, PEER_SERVED, PEER_BROKEN, PEER_LEAVING, PEER_LEFT };

struct loop_config {
	struct core_config core; /* its callbacks are not used */
	uint64_t spin_ns;
	int cpu;                   /* -1: any */
	struct recorder *recorder; /* NULL: none */
	struct feed *feed;         /* of the world that follows; NULL: none */
	struct answers *answers;   /* of its searches; NULL: none */
	void (*notify)(void *context);
	void *context;
};

struct loop;

/* Creates the ledger and the core, and starts the thread.  On failure a negative errno, and *what
 * failed (a static text). */
int loop_start(struct loop **out, const struct loop_config *config, const char **what);

/* Stops the thread and frees everything; readers keep their own mappings of the ledger. */
void loop_stop(struct loop *loop);

const struct segment *loop_ledger(const struct loop *loop);

enum loop_peer loop_peer(const struct loop *loop);

/* The caller owns `peer` and keeps it in place until PEER_LEFT. */
void loop_offer(struct loop *loop, const struct link_peer *peer);
void loop_take_back(struct loop *loop);
void loop_free(struct loop *loop);

/* The epoch of the peer in PEER_SERVED. */
uint64_t loop_epoch(const struct loop *loop);

/* Wakes the loop if it sleeps; may be lost, so it is repeated until the state changes. */
void loop_poke(struct loop *loop);

#endif
