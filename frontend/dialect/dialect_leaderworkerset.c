/* SPDX-License-Identifier: Apache-2.0 */
/* LeaderWorkerSet without a gang provider: the labels that its controller writes on the pods of a
 * group, a leader and its workers.  With a provider (Volcano, the native PodGroup) pods also have
 * that mark, which takes precedence.
 *
 * The revision of the template belongs to the gang: in a rolling update the new leader is created
 * while the workers of the old revision still run, and is not one more of their gang.
 *
 * With an exclusive topology the workers are created when the leader has a node: such pods are
 * ordinary ones, and the affinity that the controller writes keeps them together.  With
 * startupPolicy LeaderReady they are created when the leader is ready, which no mark shows: users
 * of it turn this dialect off. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/base/compare.h"
#include "frontend/dialect/reason.h"

#define PREFIX "leaderworkerset.sigs.k8s.io/"

static enum mark leaderworkerset_mark(const struct pod_object *pod, struct arena *arena,
                                      const char **name)
{
	const char *set = read_label(pod, PREFIX "name", arena),
			   *index = read_label(pod, PREFIX "group-index", arena),
			   *revision = read_label(pod, PREFIX "template-revision-hash", arena);

	if (!set || !index || !read_annotation(&pod->meta.annotations, PREFIX "size", arena) ||
	    read_annotation(&pod->meta.annotations, PREFIX "exclusive-topology", arena))
		return MARK_NONE;
	/* The leader's name, and the revision: as its Volcano provider names the PodGroup.  Controllers
	 * before 0.4 write none. */
	return read_mark(
		arena_printf(arena, "%s-%s%s%s", set, index, revision ? "-" : "", revision ? revision : ""),
		name);
}

static bool leaderworkerset_group(const struct pod_object *pod, struct arena *arena,
                                  struct group_spec *out)
{
	const char *text = read_annotation(&pod->meta.annotations, PREFIX "size", arena);
	int64_t size;

	if (!text || !int64_parse(text_of(text), &size) || size < 1 || size > INT32_MAX)
		read_refuse(out, arena, "annotation " PREFIX "size: \"%.60s\" is not a number of pods",
		            text ? text : "");
	else
		read_quorum(out, arena, PREFIX "size", (int32_t)size);
	return true;
}

extern const struct dialect dialect_leaderworkerset;
const struct dialect dialect_leaderworkerset = {
	.name = "leaderworkerset",
	.texts = &texts_leaderworkerset,
	.mark = "label " PREFIX "group-index",
	.yields = true,
	.pod_mark = leaderworkerset_mark,
	.pod_group = leaderworkerset_group,
	.quorum_mark = "annotation " PREFIX "size",
};
