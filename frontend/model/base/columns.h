/* SPDX-License-Identifier: Apache-2.0 */
/* Names of resources, and which of them have a column of the core's tables (--max-resources).
 *
 *   held      a node has it: a column, counted by the nodes that have it
 *   left out  nodes have it, and there was no column: it does not count on them, and pods that ask
 *             for it are refused
 *   absent    pods or groups ask for it and no node has it: a name without a column, which no pod
 *             fits; it is kept with the names of taints
 *
 * A user who may create pods takes no column.  Nodes decide: when a name becomes held or
 * absent, columns_refresh() (columns_refresh.h) derives the shapes and groups with that name again
 * (decision 048).
 *
 * The id in a body is a column below RESOURCES_MAX, or RESOURCES_MAX + the number of the name in
 * m->taints; flush.c writes the ids of the records. */
#ifndef MUSTER_FRONTEND_MODEL_COLUMNS_H
#define MUSTER_FRONTEND_MODEL_COLUMNS_H

#include "frontend/model/base/state.h"

/* A column for a node that has the resource.
 *   -ENOSPC  with *flag: none is left; column_leave_out() is the alternative */
int column_take(struct model *m, struct text name, uint32_t *id, const char **flag);
void column_give(struct model *m, uint32_t id);
/* The same resource without a column; its number, for column_give_left_out(). */
uint32_t column_leave_out(struct model *m, struct text name);
void column_give_left_out(struct model *m, uint32_t number);

/* The id of a resource that a pod or group asks for; referenced.
 *   -ENOSPC  with *flag: names of absent resources may use half of --max-names and of
 *            --max-name-bytes */
int resource_take(struct model *m, struct text name, uint32_t *id, const char **flag);
void resource_hold(struct model *m, uint32_t id);
void resource_give(struct model *m, uint32_t id);
/* The id that the name has now, not referenced; ID_NONE. */
uint32_t resource_find(const struct model *m, struct text name);
const char *resource_text(const struct model *m, uint32_t id);

/* The first name among the amounts that nodes have without a column; NULL: none. */
const char *amounts_left_out(const struct model *m, const struct amount *amounts, uint32_t n);

int amount_order(const void *a, const void *b); /* for qsort() of struct amount */

/* True if an id is not current. */
bool amounts_stale(const struct model *m, const struct amount *amounts, uint32_t n);
/* Replaces ids that are not current, and sorts.  A resource that becomes absent while all names are
 * in use keeps its column until a later refresh. */
void amounts_refresh(struct model *m, struct amount *amounts, uint32_t n);

/* The id in a record. */
static inline uint32_t resource_on_wire(const struct model *m, uint32_t id)
{
	return id < RESOURCES_MAX ? id : m->limits.resources + (id - RESOURCES_MAX);
}
void amounts_to_wire(const struct model *m, struct amount *amounts, uint32_t n);

#endif
