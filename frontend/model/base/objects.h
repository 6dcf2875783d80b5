/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of objects: names, uids, and the version stamp of an entry (frontend/base/store.h). */
#ifndef MUSTER_FRONTEND_MODEL_OBJECTS_H
#define MUSTER_FRONTEND_MODEL_OBJECTS_H

#include "frontend/model/base/state.h"

void model_default_namespace(struct meta *meta);
/* False with *error: a name is too long or has a slash.  A missing namespace becomes "default". */
bool model_names_valid(struct meta *meta, struct decode_error *error);

/* Replace a stamp: the object has this version. */
void stamp_set(char **stamp, const struct meta *meta);
void stamp_clear(struct entry *e); /* there is no object any more */
/* True if the object is passed over: the stamp (NULL: none) has the same uid and this version or a
 * newer one.  `retry`: this version is read again.  Older ones are counted. */
bool stamp_covers(struct model *m, const char *stamp, const struct meta *meta, bool retry);
/* The same for the object of an entry, which is put in the current list round of that resource. */
bool object_is_known(struct model *m, int resource, struct entry *e, const struct meta *meta);
/* DELETED came for `meta`.  True: the stamp is of a newer object of the same name with another uid,
 * so that the event is passed over; counted. */
bool stamp_is_successor(struct model *m, const char *stamp, const struct meta *meta);

/* The uid as a number that is the same in every epoch and process. */
void pod_uid_number(const struct meta *meta, uint64_t out[2]);
/* True if the pod names one of our schedulers. */
bool pod_is_ours(const struct model *m, const struct pod_object *pod);

/* Of what the API server takes a name of at any length, which is kept for each pod. */
#define OBJECT_NAME_MAX 253u
/* Its spec.schedulerName, or another text for one that is longer. */
struct text pod_scheduler_name(const struct pod_object *pod);

static inline const char *next_text(const char *text)
{
	return text + strlen(text) + 1;
}

/* Either may be NULL. */
static inline bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

#endif
