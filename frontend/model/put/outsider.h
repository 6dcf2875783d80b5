/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a pod that the cluster does not have, for a question to the core: what a watch
 * would have made of its object.
 *
 *   JSON ──► decoded, checked, put without a gang ──► EVENT_SHAPE, EVENT_POD ──► forgotten
 *
 * Nothing of it is stored or sent: counts, limits and marks for the next model_flush() are as they
 * were.  A text that no object has gets a number that matches nothing.  For as long as the core may
 * be asked, no object gets that number: the model holds the numbers of the last OUTSIDERS_HELD
 * pods.
 *
 * What the core knows of images is what pods of the cluster ask for, so an image that none has
 * scores no points. */
#ifndef MUSTER_FRONTEND_MODEL_PUT_OUTSIDER_H
#define MUSTER_FRONTEND_MODEL_PUT_OUTSIDER_H

#include "frontend/model/model.h"
#include "ipc/question.h"

/* Numbers of texts are free again when model_flush() has sent all.  So many pods are read until it
 * has: without a core, or while it takes no records, clients would use up the memory. */
#define OUTSIDERS_UNSENT 16u

/* A resource that the pod requests and no node has: the core has no text for its id. */
struct outsider_name {
	name_id id;
	const char *text; /* the model's, until the next call */
};

struct outsider_records {
	struct live_pod pod;
	const char *refusal; /* why muster would not place it; NULL: it would.  As a name's text */
	struct outsider_name names[RESOURCES_MAX];
	uint32_t names_n;
};

/* The scheduler that the pod names does not matter.
 *
 *   -EINVAL  with *error: it can't be read, is bound, has ended, the cluster has a pod of its name,
 *            it asks for devices, or its rules are too long for a question
 *   -ENOSPC  with *error: a limit is reached, or OUTSIDERS_UNSENT */
int model_outsider(struct model *m, const char *json, size_t bytes, struct outsider_records *out,
                   struct decode_error *error);

#endif
