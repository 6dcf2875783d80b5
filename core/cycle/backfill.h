/* SPDX-License-Identifier: Apache-2.0 */
/* The backfill reservation: capacity that is reserved for a gang which has waited too long, so that
 * smaller gangs behind it in the queue cannot pass it forever.  design.md, Backfill; decisions 006,
 * 016, 032, 046, 047.
 *
 * As EASY backfill (Lifka 1995) it reserves for one job; conservative backfill reserves for every
 * job in the queue (Mu'alem and Feitelson 2001).  Both have estimates of run times and let a
 * job pass that ends before the reservation begins.  Here there is no estimate: no gang behind the
 * owner uses what is reserved.
 *
 * The owner is the first gang of the queue that has waited config.reserve_after_ns for capacity
 * and would fit when all pods that end by themselves had ended (core/cluster/lasting.h).  Gangs
 * behind it see what is left without the capacity that it could use (core/index/views.h), and
 * capacity that becomes free is added to the reservation.  Gangs before it see everything.  There
 * is one reservation at a time.
 *
 *   after another reserve_after_ns   whole nodes are reserved until they are empty enough, of those
 *                                    in use a share that shrinks, for a share of time that does
 *   a partially bound gang           needs not have waited, and replaces an owner that is not
 *
 * The reservation ends when the owner is placed, changes, is deleted or can't fit any more; after
 * the gang's own timeout, or an hour; and after ten minutes where it is not certain that the gang
 * could fit (several classes, rules between pods, minResources).  After each that ended by time the
 * owner waits twice as long for the next one.
 *
 * A gang of BAND_LAST is promoted after the same wait: until something of it is placed it is
 * ordered by priority and age.  With reserve_after_ns 0 there is no reservation and no
 * promotion. */
#ifndef MUSTER_CORE_BACKFILL_H
#define MUSTER_CORE_BACKFILL_H

#include "core/lifecycle/state.h"

/* True if gang `index` is queued behind the owner of the backfill reservation, and so must not use
 * reserved capacity. */
bool backfill_is_behind(const struct core *c, uint32_t index);

/* A cycle for the gang ended: it waits for capacity or not, and something of it was `placed` or
 * not. */
void backfill_gang_tried(struct core *c, uint32_t index, bool waits_for_capacity, bool placed);

/* Once in REFRESH_NS: promotes gangs of BAND_LAST, reviews the reservation, and looks for a new
 * owner. */
void backfill_tick(struct core *c);

#endif
