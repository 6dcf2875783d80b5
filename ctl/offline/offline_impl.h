/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by offline.c, intake.c and evictions.c. */
#ifndef MUSTER_CTL_OFFLINE_IMPL_H
#define MUSTER_CTL_OFFLINE_IMPL_H

#include "ctl/offline/offline.h"
#include "frontend/base/bytes.h"

struct passed_over {
	char *kind; /* "Secret", with its group "Pod of metrics.k8s.io/v1beta1" */
	size_t n;
};

struct offline {
	struct offline_config config;
	struct model *model;
	struct claims *claims; /* NULL: none are read */
	bool any_claims;       /* some object needs them */
	struct core *core;
	struct ledger *ledger;
	size_t ledger_bytes;

	/* The record that model_flush() is filling in; it is applied before the next. */
	struct record *filling;
	bool filled;
	int failed; /* of core_step(), the first */
	uint64_t sequence, now_ns;
	uint64_t changes; /* counts bindings and evictions */

	/* Bindings that the core sent and that have no result yet. */
	struct cmd_bind *binds;
	size_t binds_n, binds_room;

	node_id *nodes;        /* by pod id: where it was placed, ID_NONE */
	struct reason **pods;  /* by pod id: of lone pods */
	struct reason **gangs; /* by gang id */
	struct limits limits;
	struct queues *queues;         /* NULL: none */
	struct evictions *evictions;   /* NULL: gangs evict no pod */
	struct evaluation *evaluation; /* NULL before the first */

	struct bytes node; /* the last result of admission_node() */

	struct passed_over *passed;
	size_t passed_n;
};

/* Applies a record of that kind, whose body follows its head; a failure is kept in o->failed. */
void offline_step(struct offline *o, enum record_kind kind, struct record *record,
                  size_t body_bytes);
/* Sends what is due of the model; false: it is too much, or the core refused a record. */
bool offline_flush(struct offline *o);
/* Before any pod was put: claims are allocated as in the daemons from now on
 * (ctl/offline/claims.h). All objects are to be put again. */
void offline_claims_by_records(struct offline *o);
/* Until the core wants no plan; every Binding is accepted. */
void offline_plan(struct offline *o);

#endif
