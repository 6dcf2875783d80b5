/* SPDX-License-Identifier: Apache-2.0 */
/* YuniKorn's task groups: an application is one gang, and each of its task groups a role with its
 * own quorum.  The list of task groups need not be on every pod.
 *
 * YuniKorn creates placeholder pods for members that do not exist yet.  muster creates no pods, so
 * an application whose first pod creates the others (Spark's driver) can't be one gang. */
#include "frontend/dialect/dialect_read.h"
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

struct task_group {
	struct text name;
	int32_t minimum;
};

static const struct json_field task_group_fields[] = {
	JSON_FIELD("name", json_field_text, struct task_group, name),
	JSON_FIELD("minMember", extract_int32, struct task_group, minimum),
};

static void read_task_group(struct json *j, void *spec)
{
	struct task_group g = { .name = TEXT_NONE };

	if (json_fields(j, task_group_fields, &g) && !j->failed)
		read_role(spec, j->arena, arena_copy(j->arena, g.name), g.minimum);
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
	json_items(&j, read_task_group, out);
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
