/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of what tenants have the model keep, the fifth table with shares (shares.h): texts of
 * labels, rules and images, shapes, pods, and selectors of services and controllers.
 *
 *   text       the namespace whose object brought it first, until nothing has it any more
 *   shape      the namespace of its pod; none for an idle one, which goes first
 *   pod        its own namespace
 *   selector   of a service, controller, budget or policy: its own namespace
 *
 * Texts, shapes and nodes that no namespace pays for are counted in what is used.  An object of a
 * namespace above its share is kept without them while memory is short: a waiting pod is refused, a
 * bound one counts by its requests and ports; a pod whose Binding is in flight stays whole, and
 * members of a partially bound gang give way last.  Nothing is counted without a limit. */
#ifndef MUSTER_FRONTEND_MODEL_MEMORY_H
#define MUSTER_FRONTEND_MODEL_MEMORY_H

#include "frontend/model/pods/shares.h"

/* Before the first text; limit 0: any. */
void memory_start(struct model *m, uint64_t limit);

/* Bytes that are allocated for the namespace (a slot; ID_NONE: none). */
void memory_pay(struct model *m, uint32_t namespace, uint64_t bytes);
void memory_pay_back(struct model *m, uint32_t namespace, uint64_t bytes);

/* Texts that are new from now on are the namespace's; ID_NONE ends that. */
static inline void memory_payer(struct model *m, uint32_t namespace)
{
	m->payer.now = namespace;
}

/* True if the object that is put, of the namespace, may be kept whole. */
static inline bool memory_admits(struct model *m, uint32_t namespace)
{
	return m->memory_limit == 0 || share_admits(m, SHARE_MEMORY, namespace, m->object_bytes);
}

/* True if there is space for that object, whatever its namespace has. */
bool memory_fits(const struct model *m);
/* Fill *error for such an object of the namespace, and count it; -ENOSPC. */
int memory_refuse(struct model *m, uint32_t namespace, const struct meta *meta,
                  struct decode_error *error);

/* An object of the namespace, of so many bytes, is left out or kept with less detail: counted by
 * the caller, too. */
void memory_lack(struct model *m, uint32_t namespace, uint64_t bytes);
/* What follows counts for memory_has_space(). */
void memory_lacks_anew(struct model *m);
/* True if the smallest of these would be admitted now, whosever it is, or the smallest of a
 * namespace was when that had less. */
bool memory_has_space(const struct model *m);

#define MEMORY_PARTS 16u
/* How many of these parts of the limit are used; 0 without one. */
uint64_t memory_parts(const struct model *m);

/* True if the last eighth is in use. */
bool memory_is_short(const struct model *m);

#endif
