/* What `musterctl explain` found out about one gang. */
#ifndef MUSTER_CTL_EXPLAIN_H
#define MUSTER_CTL_EXPLAIN_H

#include "ctl/ctl.h"
#include "ctl/trial.h"

#define HELPS_MAX 3  /* kinds of nodes that are told */
#define KINDS_MAX 12 /* ... and that are tried */

/* So many more nodes like this one let it start; half as many, or one less, do not. */
struct help_nodes {
	const struct object *like;
	uint32_t nodes;
	uint32_t there; /* nodes of that kind */
};

struct explanation {
	const char *gang;
	const struct trial_config *config;
	struct world now; /* as things are */
	const struct gang_result *result; /* of `now` */

	bool helps_tried;     /* what follows was looked for */
	struct help_nodes helps[HELPS_MAX];
	size_t helps_n;
	bool kinds_cut;       /* there were more than KINDS_MAX */
	bool starts_first;    /* it would start if its turn came before all others */
	struct world first;   /* then */
	int64_t starts_by_s;  /* at the latest, when pods with a known end have ended; 0: that does not let it start */
	uint32_t ended;       /* such pods */
};

/* explain_help.c: fill in what would help.  Progress goes to a terminal. */
void explain_help(struct explanation *x);

/* explain_print.c */
void explain_print(const struct explanation *x, enum output output);

#endif
