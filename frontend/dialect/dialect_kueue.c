/* SPDX-License-Identifier: Apache-2.0 */
/* Kueue's groups of plain pods: all members start together.  Kueue admits a group first, by
 * removing its scheduling gate.
 *
 * With fast admission, and for serving pods (of a StatefulSet), Kueue does not wait for all
 * members. Such pods are ordinary ones: a StatefulSet creates them one by one and would never
 * start. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/base/compare.h"
#include "frontend/dialect/reason.h"

#include <string.h>

#define NAME "kueue.x-k8s.io/pod-group-name"
#define COUNT "kueue.x-k8s.io/pod-group-total-count"

static bool is_true(const struct pod_object *pod, const char *key, struct arena *arena)
{
	const char *value = read_annotation(&pod->meta.annotations, key, arena);

	return value && strcmp(value, "true") == 0;
}

static enum mark kueue_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	if (is_true(pod, "kueue.x-k8s.io/pod-group-fast-admission", arena) ||
	    is_true(pod, "kueue.x-k8s.io/pod-group-serving", arena))
		return MARK_NONE;
	return read_mark(read_label(pod, NAME, arena), name);
}

static bool kueue_group(const struct pod_object *pod, struct arena *arena, struct group_spec *out)
{
	const char *text = read_annotation(&pod->meta.annotations, COUNT, arena);
	int64_t count;

	if (!text)
		read_refuse(out, arena, "annotation " COUNT " is missing");
	else if (!int64_parse(text_of(text), &count) || count < 1 || count > INT32_MAX)
		read_refuse(out, arena, "annotation " COUNT ": \"%.60s\" is not a number of pods", text);
	else
		read_quorum(out, arena, COUNT, (int32_t)count);
	return true;
}

extern const struct dialect dialect_kueue;
const struct dialect dialect_kueue = {
	.name = "kueue",
	.texts = &texts_plain,
	.mark = "label " NAME,
	.pod_mark = kueue_mark,
	.pod_group = kueue_group,
	.quorum_mark = "annotation " COUNT,
};
