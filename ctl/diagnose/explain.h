/* SPDX-License-Identifier: Apache-2.0 */
/* What `musterctl explain` found out about one gang. */
#ifndef MUSTER_CTL_EXPLAIN_H
#define MUSTER_CTL_EXPLAIN_H

#include "ctl/offline/trial.h"
#include "ctl/term/ctl.h"
#include "frontend/dialect/reason.h"

#define HELPS_MAX 3  /* kinds of nodes that are told */
#define KINDS_MAX 12 /* ... and that are tried */

/* So many more nodes like this one let it start; half as many, or one less, do not. */
struct help_nodes {
	const struct object *like;
	uint32_t nodes;
	uint32_t there; /* nodes of that kind */
};

/* What a live scheduler has given away or keeps, beside what is bound. */
struct promises {
	uint64_t pods_binding; /* on their way to their nodes */
	uint64_t pods_claimed; /* other schedulers' pods that room is kept for */
	const char *held;      /* the gang that room is held for; NULL: none */
};

struct explanation {
	const char *gang;
	const struct gang_result
		*result;                     /* the gang's own: what the live scheduler says, or of `now` */
	const struct gang_result *gangs; /* all that there are */
	size_t gangs_n;
	struct reason_names names;       /* of their reasons */
	const struct promises *promises; /* NULL: not a live scheduler's */

	/* Without objects, of files or the API server, nothing is tried. */
	const struct trial_config *config;
	struct world now; /* as things are */

	bool helps_tried; /* what follows was looked for */
	bool starts_now;  /* the live one waits, and these objects placed anew have room for it: a
	                   * promise keeps  it out, or what it waits for has just come */
	struct help_nodes helps[HELPS_MAX];
	size_t helps_n;
	bool kinds_cut;      /* there were more than KINDS_MAX */
	bool starts_first;   /* it would start if its turn came before all others */
	struct world first;  /* then */
	int64_t starts_by_s; /* at the latest, when pods with a known end have ended; 0: that does not
	                        let it start */
	uint32_t ended;      /* such pods */
};

/* explain_print.c: does it wait for room, in its turn?  What lacks members, or is refused, is in no
 * queue: nodes, its turn or the end of others would not let it start. */
bool explain_is_queued(const struct gang_result *g);

/* explain_help.c: fill in what would help.  Progress goes to a terminal. */
void explain_help(struct explanation *x);

/* explain_print.c */
void explain_print(const struct explanation *x, enum output output);

/* explain_live.c: what the scheduler behind a socket knows, read out of its ledger; nobody is
 * asked. */
struct live;
struct explain_live;

/* Copy its gangs out and fill in x, which they have to outlive; x->result is NULL when it does not
 * know the gang. */
struct explain_live *explain_live_take(const struct live *l, struct explanation *x);
void explain_live_free(struct explain_live *picture);

#endif
