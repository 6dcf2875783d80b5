/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the history of queues fades, for struct event_queue_terms. */
#ifndef MUSTER_FRONTEND_QUEUES_DECAYS_H
#define MUSTER_FRONTEND_QUEUES_DECAYS_H

#include "ipc/abi.h"

/* decays[i] = 2^(-2^i / half_life_s), in parts of 2^32, rounded.  half_life_s is 1 at least.
 * In whole numbers, so that it is the same on all machines. */
void queues_decays(uint32_t half_life_s, uint32_t decays[QUEUE_DECAYS]);

#endif
