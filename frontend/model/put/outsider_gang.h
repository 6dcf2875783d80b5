/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a gang that the cluster does not have: its members, and the object that describes
 * it if there is one, as outsider.h has it of a pod.  Or of pods that are in no gang, each of which
 * starts when it can.
 *
 *   [PodGroup, Pod, Pod, ...] ──► put, as a watch does ──► EVENT_SHAPEs, EVENT_GANG, EVENT_PODs
 *                             ──► forgotten
 */
#ifndef MUSTER_FRONTEND_MODEL_PUT_OUTSIDER_GANG_H
#define MUSTER_FRONTEND_MODEL_PUT_OUTSIDER_GANG_H

#include "frontend/model/put/outsider.h"

struct outsider_gang {
	struct live_gang gang;
	/* Why muster would not place it; NULL: it would.  As the other texts the model's, until the
	 * next call. */
	const char *refusal;
	const char *name; /* "namespace/name" of the gang, or of the first pod */
	uint32_t lone;    /* pods without a gang; 0: it is a gang */
	uint32_t dialect;
	struct outsider_name names[RESOURCES_MAX];
	uint32_t names_n;
};

/* An array of objects: pods, all members of one gang, and its group; or pods of no gang.  As
 * model_outsider(), and
 *
 *   -EINVAL  other objects, several gangs, a gang beside other pods, or one that the cluster has */
int model_outsider_gang(struct model *m, const char *json, size_t bytes, struct outsider_gang *out,
                        struct decode_error *error);

#endif
