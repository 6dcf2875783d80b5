/* A model and a core in one process, without a socket: the very code that the
 * daemons run, on objects from files.
 *
 *   offline_put() for each object ─► offline_place() ─► placements, ledger, reasons */
#ifndef MUSTER_CTL_OFFLINE_H
#define MUSTER_CTL_OFFLINE_H

#include "core/core.h"
#include "ctl/files.h"
#include "frontend/model.h"

#include <stdbool.h>
#include <stddef.h>

struct offline;

struct offline_config {
	const char *const *scheduler_names; /* 0 of them: every pending pod */
	size_t scheduler_names_n;
	enum score_policy score;
};

struct offline *offline_new(const struct offline_config *config);
void offline_free(struct offline *o);

/* False and `error`: file, object, field and value.  A kind that the model doesn't
 * take is counted and passed over. */
bool offline_put(struct offline *o, const struct object *object, char *error, size_t error_bytes);

/* "3 ConfigMap, 1 Service" of the kinds passed over, "" when there were none. */
const char *offline_passed_over(const struct offline *o, char *out, size_t out_bytes);

/* Place what is pending; every binding is taken as accepted.  False and `error`
 * when the core refuses what the model says, which is a mistake of ours. */
bool offline_place(struct offline *o, char *error, size_t error_bytes);

const struct model *offline_model(const struct offline *o);
const struct ledger *offline_ledger(const struct offline *o);

/* Node that a pending pod got, or NULL. */
const char *offline_node(const struct offline *o, pod_id pod);

/* Why it waits: of the pod when it is alone, else of its gang.  NULL: it was
 * never said. */
const struct reason *offline_reason(const struct offline *o, const struct pod_view *pod);

#endif
