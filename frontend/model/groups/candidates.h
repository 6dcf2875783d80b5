/* SPDX-License-Identifier: Apache-2.0 */
/* Candidate ConfigMaps: objects without group data, which are groups only if pods name them.
 *
 * ConfigMaps are watched for those that describe a group, and a cluster has thousands that do not.
 * A candidate that pods name is a group that is refused for what it lacks; the pods may come later.
 * So only a hash of its name is stored (decision 017). */
#ifndef MUSTER_FRONTEND_MODEL_CANDIDATES_H
#define MUSTER_FRONTEND_MODEL_CANDIDATES_H

#include "frontend/model/base/state.h"

struct candidate_key {
	uint64_t hash; /* of "namespace/name" */
	uint32_t dialect;
};

struct candidate {
	struct entry entry;
	struct candidate_key key;
};

bool candidate_equal(const void *item, const void *key); /* const struct candidate_key * */

/* -ENOSPC */
int candidate_add(struct model *m, uint32_t dialect, const char *name, uint32_t round);
void candidate_remove(struct model *m, uint32_t dialect, const char *name);
/* True with the list round in which it was put last. */
bool candidate_find(const struct model *m, uint32_t dialect, const char *name, uint32_t *round);
void candidates_replaced(struct model *m, uint32_t dialect, uint32_t round);

#endif
