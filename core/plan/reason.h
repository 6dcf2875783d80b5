/* SPDX-License-Identifier: Apache-2.0 */
/* Why a gang waits, in numbers. */
#ifndef MUSTER_CORE_REASON_H
#define MUSTER_CORE_REASON_H

#include "core/index/views.h"
#include "core/plan/plan.h"
#include "core/queue/gangs.h"

/* Counters by name and resource. */
struct tally;

struct tally *tally_new(const struct limits *limits); /* NULL when memory is short */
void tally_free(struct tally *tally);

/* Zero but for the numbers of the gang itself. */
void reason_begin(struct reason *r, const struct gang *g, const struct nodes *ns);

/* There is room for `fit` of `need` members, and plan->failed is the first kind that found
 * none.  Counts say what each present node lacks for one more once it has taken all that
 * fit. */
void reason_room(struct reason *r, struct tally *tally, struct views *vs, const struct plan *plan,
                 uint32_t need, uint32_t fit);

/* There are too few members of some role: of which most are missing. */
void reason_role(struct reason *r, const struct gang *g);

/* The same for a gang whose required levels leave too little: beside that, the domain that comes
 * closest and what that is short of. */
void reason_domain(struct reason *r, const struct views *vs, const struct plan *plan);

/* One more resource of which there is too little. */
void reason_short(struct reason *r, uint32_t resource, int64_t need, int64_t have);

/* Of what is said, for comparing: equal reasons, equal numbers, never 0. */
uint64_t reason_hash(const struct reason *r);

#endif
