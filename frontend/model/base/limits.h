/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of what the model stores: those of the core's segment, and the model's own on objects that
 * pods, nodes and claims refer to (docs/limits.md).
 *
 * Referred objects are namespaces, services and controllers, policies, objects of volumes, and
 * ConfigMaps that describe no group.  The core stores none of them one by one, so that its limits
 * do not bound them: of each kind there are at most 4 for each pod of --max-pods, 65,536 at least,
 * and above 262,144 not more than pods.  Names that pods give are always stored: they are no more
 * than pods. */
#ifndef MUSTER_FRONTEND_MODEL_LIMITS_H
#define MUSTER_FRONTEND_MODEL_LIMITS_H

#include "frontend/model/base/state.h"

/* Fill *error (may be NULL) for a limit that was reached, and count it; -ENOSPC. */
int model_limit(struct model *m, const char *object, const char *flag, struct decode_error *error);
int model_limit_meta(struct model *m, const struct meta *meta, const char *flag,
                     struct decode_error *error);

/* Number of that text in `columns` or `taints`, which the core gets as names; referenced.
 *   -ENOSPC  with *flag, the option of the limit */
int model_intern(struct model *m, struct intern *in, struct text t, uint32_t *number,
                 const char **flag);
/* Number of that text in one of the other tables, which have no limit; referenced. */
uint32_t model_number(struct intern *in, struct text t);

/* What a name uses of limits.name_bytes: whole steps of the core's arena. */
static inline uint64_t name_bytes_of(size_t bytes)
{
	return ((uint64_t)bytes + 15) & ~UINT64_C(15);
}
bool model_name_fits(const struct model *m, size_t bytes);
/* What all names use of it. */
uint64_t model_names_used(const struct model *m);
/* What names of devices may use of it: never its last part, which is left to nodes and gangs. */
uint64_t model_device_names_most(const struct model *m);

/* Objects of the resource have to be listed again: model_lacks(). */
void model_note_lack(struct model *m, int resource);
void model_note_lack_of(struct model *m, enum role role, uint32_t which);

/* The limit of terms between pods (shares.h), where that of another table is a flag. */
#define TERMS_LIMIT "of pod affinity terms and spread constraints by --max-shapes"
uint64_t terms_limit(const struct limits *l);

uint32_t referred_limit(const struct limits *l);
/* Checked after an entry was added: true if the store is within the limit. */
bool referred_fits(const struct model *m, const struct store *s);
/* Fill *error for an object that was not stored, and count it; -ENOSPC. */
int referred_refuse(struct model *m, const struct meta *meta, struct decode_error *error);
uint64_t referred_count(const struct model *m);

#endif
