/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler-plugins v0.18: two labels and no object.  Members must agree on the quorum and
 * on their priority. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/base/compare.h"

#include <stdint.h>

#define NAME "pod-group.scheduling.sigs.k8s.io/name"
#define MINIMUM "pod-group.scheduling.sigs.k8s.io/min-available"

/* The quorum, or 0 if the pod is an ordinary one. */
static uint32_t minimum_of(const struct pod_object *pod, struct arena *arena)
{
	const char *text = read_label(pod, MINIMUM, arena);
	int64_t value;

	return text && int64_parse(text_of(text), &value) && value >= 1 && value <= INT32_MAX
	           ? (uint32_t)value
	           : 0;
}

static enum mark lightweight_mark(const struct pod_object *pod, struct arena *arena,
                                  const char **name)
{
	const char *value = read_label(pod, NAME, arena);

	return read_mark(value && minimum_of(pod, arena) > 0 ? value : NULL, name);
}

static bool lightweight_group(const struct pod_object *pod, struct arena *arena,
                              struct group_spec *out)
{
	out->quorum = minimum_of(pod, arena);
	out->quorum_text = (int32_t)out->quorum;
	out->agree = arena_printf(arena, "%d", (int)pod->priority);
	return true;
}

extern const struct dialect dialect_lightweight;
const struct dialect dialect_lightweight = {
	.name = "scheduler-plugins-labels",
	.mark = "label " NAME,
	.timeout = GROUP_TIMEOUT_COSCHEDULING,
	.pod_mark = lightweight_mark,
	.pod_group = lightweight_group,
	.quorum_mark = "label " MINIMUM,
	.quorum_differs = "PodGroupMinAvailables do not match",
	.agree_mark = "spec.priority",
	.agree_differs = "Priorities do not match",
};
