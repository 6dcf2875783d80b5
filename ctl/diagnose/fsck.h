/* SPDX-License-Identifier: Apache-2.0 */
/* The live ledger compared with a computed one. */
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
	uint64_t in_flight;                          /* pods with a reservation and no node yet */
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
	int64_t relisted;
	bool in_flight; /* no difference: bindings in flight explain it */
};

struct findings {
	struct finding *at; /* sorted by kind, name */
	size_t n;
	size_t moving; /* values that changed during the comparison and were left out */
};

/* `before` and `after` are the live ledger around the moment at which the objects of `relisted`
 * were listed. */
void findings_make(const struct ledger_look *before, const struct ledger_look *after,
                   const struct ledger_look *relisted, struct findings *out);

/* Keeps the findings that `earlier` has too with the same difference: a delayed value differs by
 * another amount, or not at all. */
void findings_confirm(struct findings *f, const struct findings *earlier);

/* Marks the findings that `in_flight` pods explain: more is used than is bound, by no more pods
 * than those. */
void findings_set_in_flight(struct findings *f, uint64_t in_flight);

void findings_free(struct findings *f);

#endif
