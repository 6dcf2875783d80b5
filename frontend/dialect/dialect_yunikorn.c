/* SPDX-License-Identifier: Apache-2.0 */
/* YuniKorn's task groups: an application is one gang, and each of its task groups a role with a
 * quorum of its own.  The list of task groups need not be on every pod.
 *
 * YuniKorn stands placeholders in for pods that come later.  muster makes no pods, so what makes
 * its own later members itself (Spark's driver makes the executors) can't be one gang. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/decode/extract.h"
#include "frontend/dialect/reason.h"

#include <string.h>

#define GROUP "yunikorn.apache.org/task-group-name"
#define GROUPS "yunikorn.apache.org/task-groups"

static const char *application_of(const struct pod_object *pod, struct arena *arena)
{
	static const char *const keys[] = { "yunikorn.apache.org/app-id", "applicationId" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *id = read_annotation(&pod->meta.annotations, keys[i], arena);

		if (!id)
			id = read_label(pod, keys[i], arena);
		if (id)
			return id;
	}
	return NULL;
}

static enum mark yunikorn_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	if (!read_annotation(&pod->meta.annotations, GROUP, arena))
		return MARK_NONE;
	if (read_label(pod, "spark-app-selector", arena)) {
		*name =
			"muster does not support YuniKorn groups of Spark: the executors come when the driver runs "
			"(annotation " GROUP ")";
		return MARK_REFUSED;
	}
	*name = application_of(pod, arena);
	if (*name)
		return MARK_MEMBER;
	*name =
		"its YuniKorn task group has no application: neither yunikorn.apache.org/app-id nor applicationId is there "
		"(annotation " GROUP ")";
	return MARK_REFUSED;
}

static const char *yunikorn_role(const struct pod_object *pod, struct arena *arena)
{
	return read_annotation(&pod->meta.annotations, GROUP, arena);
}

static void read_task_group(struct json *j, struct group_spec *out)
{
	struct text name, group = TEXT_NONE;
	int32_t minimum = 0;
	char *role;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "name"))
			json_string(j, &group);
		else if (text_is(name, "minMember"))
			extract_int32(j, &minimum);
		else
			json_skip(j);
	}
	role = arena_copy(j->arena, group);
	if (role && !j->failed)
		read_role(out, j->arena, role, minimum);
}

static bool yunikorn_group(const struct pod_object *pod, struct arena *arena,
                           struct group_spec *out)
{
	const char *list = read_annotation(&pod->meta.annotations, GROUPS, arena);
	uint64_t sum = 0;
	struct json j;
	char path[200];

	if (!list)
		return false;
	json_begin(&j, list, strlen(list), arena);
	if (json_array(&j))
		while (json_item(&j))
			read_task_group(&j, out);
	if (!json_end(&j)) {
		json_path(&j, path, sizeof(path));
		read_refuse(out, arena, "annotation " GROUPS ": %s: %s", path, j.error);
	}
	for (size_t i = 0; i < out->roles_n; i++)
		sum += out->roles[i].quorum;
	out->quorum = sum < INT32_MAX ? (uint32_t)sum : INT32_MAX;
	out->quorum_text = (int32_t)out->quorum;
	return true;
}

extern const struct dialect dialect_yunikorn;
const struct dialect dialect_yunikorn = {
	.name = "yunikorn",
	.texts = &texts_plain,
	.mark = "annotation " GROUP,
	.pod_mark = yunikorn_mark,
	.pod_role = yunikorn_role,
	.pod_group = yunikorn_group,
	.quorum_mark = "the sum of minMember in annotation " GROUPS,
};
