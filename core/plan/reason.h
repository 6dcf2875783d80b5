/* SPDX-License-Identifier: Apache-2.0 */
/* Why a gang waits, in numbers (struct reason, ipc/abi.h). */
#ifndef MUSTER_CORE_REASON_H
#define MUSTER_CORE_REASON_H

#include "core/queue/gangs.h"
#include "core/plan/plan.h"

#include <stddef.h>
#include <string.h>

/* Scratch: counters by taint and resource. */
struct tally;

struct tally *tally_new(const struct limits *limits);
void tally_free(struct tally *tally);

/* Sets r to the gang's own numbers, and all else to zero; of r->promised at_ns alone, the rest of
 * which is not read without it. */
void reason_begin(struct reason *r, const struct gang *g, const struct nodes *ns);

/* Copies to where a promise is whole or all zero.  Few reasons have one, which is a third of their
 * bytes. */
static inline void reason_copy(struct reason *to, const struct reason *from)
{
	memcpy(to, from, offsetof(struct reason, promised));
	if (from->promised.at_ns > 0)
		to->promised = from->promised;
	else if (to->promised.at_ns > 0)
		memset(&to->promised, 0, sizeof(to->promised));
	memcpy(to->lacks, from->lacks, from->lacks_n * sizeof(from->lacks[0]));
}

/* `fit` of `need` members fit, and plan->failed is the first class that failed.  The counts are of
 * the filter that rejects one more pod of it on each node that is present (kube-scheduler:
 * Diagnosis). */
void reason_capacity(struct reason *r, struct tally *tally, struct views *vs,
                     const struct plan *plan, uint32_t need, uint32_t fit);

/* After it, for a gang: how many devices there are of what that class asks for, if too few of them
 * are why some node rejects it. */
void reason_devices(struct reason *r, const struct views *vs, const struct plan *plan);

/* Too few members of a role: the one of which most are missing. */
void reason_role(struct reason *r, const struct gang *g);

/* After reason_capacity(), for a gang with required levels: the domain that takes most members, and
 * what that one is short of. */
void reason_domain(struct reason *r, const struct views *vs, const struct plan *plan);

/* Adds a resource of which there is too little. */
void reason_short(struct reason *r, uint32_t resource, int64_t need, int64_t have);

/* Equal for equal reasons; never 0. */
uint64_t reason_hash(const struct reason *r);

#endif
