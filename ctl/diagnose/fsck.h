/* SPDX-License-Identifier: Apache-2.0 */
/* What the live ledger says against what is worked out anew. */
#ifndef MUSTER_CTL_FSCK_H
#define MUSTER_CTL_FSCK_H

#include "ctl/live/rows.h"

#include <stddef.h>
#include <stdint.h>

/* One ledger at one moment. */
struct ledger_look {
	struct nodes nodes;
	struct gangs gangs;
	char names[RESOURCES_MAX][OBSERVE_NAME_MAX]; /* of resources; "": none */
	uint64_t in_flight;                          /* pods that have room reserved and no node yet */
};

void ledger_look_take(const struct observer *o, struct ledger_look *out);
void ledger_look_free(struct ledger_look *look);

enum finding_kind { FINDING_NODE, FINDING_GANG };

struct finding {
	enum finding_kind kind;
	char name[OBSERVE_NAME_MAX];  /* of the node or gang */
	char field[OBSERVE_NAME_MAX]; /* "used cpu" */
	uint32_t resource;            /* of the live ledger, for units; ID_NONE */
	int64_t live;
	int64_t anew;
	bool in_flight; /* no difference: bindings on their way explain it */
};

struct findings {
	struct finding *at; /* sorted by kind, name */
	size_t n;
	size_t moving; /* values that changed meanwhile and were not compared */
};

/* `before` and `after` are the live ledger around the moment at which the objects of `anew` were
 * listed. */
void findings_make(const struct ledger_look *before, const struct ledger_look *after,
                   const struct ledger_look *anew, struct findings *out);

/* Keep those that the earlier ones have too, off by as much: what only lagged is off by something
 * else, or not at all. */
void findings_confirm(struct findings *f, const struct findings *earlier);

/* Tell apart what `in_flight` pods explain: more is used than is bound, by no more pods than those.
 */
void findings_set_in_flight(struct findings *f, uint64_t in_flight);

void findings_free(struct findings *f);

#endif
