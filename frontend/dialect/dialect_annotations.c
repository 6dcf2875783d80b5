/* SPDX-License-Identifier: Apache-2.0 */
/* The batch fork of kube-scheduler: two annotations and no object.  Pods of Volcano have the first
 * one alone. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/base/compare.h"
#include "frontend/dialect/reason.h"

#define NAME "scheduling.k8s.io/group-name"
#define NUMBER "scheduling.k8s.io/group-pod-num"

/* The quorum, or 0 if the pod is an ordinary one. */
static uint32_t number_of(const struct pod_object *pod, struct arena *arena)
{
	const char *text = read_annotation(&pod->meta.annotations, NUMBER, arena);
	int64_t value;

	return text && int64_parse(text_of(text), &value) && value > 0 && value <= INT32_MAX
	           ? (uint32_t)value
	           : 0;
}

static enum mark annotations_mark(const struct pod_object *pod, struct arena *arena,
                                  const char **name)
{
	const char *value = read_annotation(&pod->meta.annotations, NAME, arena);

	return read_mark(value && number_of(pod, arena) > 0 ? value : NULL, name);
}

static bool annotations_group(const struct pod_object *pod, struct arena *arena,
                              struct group_spec *out)
{
	out->quorum = number_of(pod, arena);
	out->quorum_text = (int32_t)out->quorum;
	return true;
}

extern const struct dialect dialect_annotations;
const struct dialect dialect_annotations = {
	.name = "annotations",
	.texts = &texts_plain,
	.mark = "annotation " NAME,
	.timeout = GROUP_TIMEOUT_ANNOTATIONS,
	.pod_mark = annotations_mark,
	.pod_group = annotations_group,
	.quorum_mark = "annotation " NUMBER,
};
