/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of namespaces in the tables that tenants fill: pods, gangs, shapes, terms, bytes of names,
 * and memory (memory.h).
 *
 *   up to 7/8 of a table   first come, first served
 *   the last eighth        namespaces below their share: the limit divided by the namespaces that
 *                          use any table; all of it while there was only one
 *
 * When the last eighth is in use, namespaces above their share give way: entries of theirs that
 * only waiting pods use are withdrawn, and the pods wait with a reason that names the limit, the
 * namespace and its share.  They are read again by a list when entries are free (decision 049).
 * Bound pods, pods with a Binding in flight and members of partially bound gangs give nothing up,
 * and entries for bound pods are never refused by a share: nodes stay accounted for.
 *
 * A shape is charged to the namespace of the pod that made it, with its terms: rules between pods,
 * each of which the core counts matching pods for, on every node.  A bound pod of a namespace above
 * its share of them counts without. */
#ifndef MUSTER_FRONTEND_MODEL_SHARES_H
#define MUSTER_FRONTEND_MODEL_SHARES_H

#include "frontend/model/pods/namespaces.h"

/* The namespace (a slot) uses that much more or less.  A charge counts as a reference to it. */
void share_charge(struct model *m, enum share_of of, uint32_t namespace, uint64_t n);
void share_return(struct model *m, enum share_of of, uint32_t namespace, uint64_t n);

/* True if the namespace may take that much more; false: it or others have to give way first. */
bool share_admits(struct model *m, enum share_of of, uint32_t namespace, uint64_t n);

/* "the limit --max-gangs is reached: namespace a has 9 of 16, its share is 8"; in the arena.
 * `flag` may be of a limit without shares. */
const char *share_text(struct model *m, struct arena *arena, const char *flag, uint32_t namespace);

struct share_table {
	const char *flag;
	uint64_t limit, used;
};

struct share_table share_table(const struct model *m, enum share_of of);
/* What the namespace uses of all tables, their units added. */
uint64_t share_charged(const struct namespace_entry *e);
/* Its share of the table. */
uint64_t share_size(const struct model *m, enum share_of of, const struct namespace_entry *e);

#endif
