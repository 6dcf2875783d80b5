/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/dialect/dialect_read.h"

#include "frontend/decode/extract.h"
#include "ipc/clean.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_KEY_BYTES_MAX 317 /* a prefix of 253, a slash and a name of 63 */

const char *read_label(const struct pod_object *pod, const char *key, struct arena *arena)
{
	const struct text *value = pairs_find(&pod->meta.labels, key);

	return value && value->bytes > 0 ? arena_copy(arena, *value) : NULL;
}

const char *read_annotation(const struct pairs *annotations, const char *key, struct arena *arena)
{
	const char *value = annotation_find(annotations, key, arena);

	return value && *value ? value : NULL;
}

enum mark read_mark(const char *value, const char **name)
{
	if (!value)
		return MARK_NONE;
	*name = value;
	return MARK_MEMBER;
}

enum mark read_refused_mark(const struct pod_object *pod, const char *mark, const char *value,
                            const char *why, struct arena *arena, const char **refusal)
{
	char *text = arena_printf(arena, "pod %.*s/%.*s: %s is \"%.100s\": %s",
	                          (int)pod->meta.namespace.bytes, pod->meta.namespace.at,
	                          (int)pod->meta.name.bytes, pod->meta.name.at, mark, value, why);

	clean_text(text);
	*refusal = text;
	return MARK_REFUSED;
}

uint64_t read_timeout(int64_t seconds)
{
	if (seconds <= 0)
		return 1;
	return (uint64_t)(seconds < GROUP_TIMEOUT_MAX_S ? seconds : GROUP_TIMEOUT_MAX_S) * 1000000000;
}

void read_refuse(struct group_spec *out, struct arena *arena, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (out->refusal)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	out->refusal = arena_printf(arena, "%s", text);
}

void read_quorum(struct group_spec *out, struct arena *arena, const char *field, int32_t value)
{
	out->quorum_text = value;
	out->quorum = value < 0 ? 0 : (uint32_t)value;
	if (value < 0)
		read_refuse(out, arena, "%s: %d is negative", field, (int)value);
}

/* The amount of that name, which is added if it is new; NULL if the name is an error. */
static struct amount_text *amount_of(struct json *j, struct text name, struct group_spec *out)
{
	for (size_t i = 0; i < out->min_resources_n; i++)
		if (text_is(name, out->min_resources[i].resource))
			return &out->min_resources[i];
	if (name.bytes == 0 || name.bytes > RESOURCE_NAME_BYTES_MAX) {
		json_fail(j, "is not the name of a resource");
		return NULL;
	}
	if (out->min_resources_n == RESOURCES_MAX) {
		json_fail(j, "is one of more than %d resources", RESOURCES_MAX);
		return NULL;
	}
	out->min_resources[out->min_resources_n].resource = arena_copy(j->arena, name);
	return &out->min_resources[out->min_resources_n++];
}

/* Resources that scheduling does not count are kept: no node has them.  "pods" is ignored: the
 * number of pods is the quorum. */
void read_min_resources(struct json *j, void *spec)
{
	struct group_spec *out = spec;
	struct amount_text *a;
	struct text name;
	nano_t amount;

	out->min_resources_n = 0;
	out->min_resources = arena_alloc(j->arena, RESOURCES_MAX * sizeof(*a));
	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		extract_quantity(j, &amount);
		if (j->failed || text_is(name, "pods"))
			continue;
		a = amount_of(j, name, out);
		if (a)
			a->value = text_is(name, "cpu") ? quantity_milli(amount) : quantity_value(amount);
	}
}

void read_role(struct group_spec *out, struct arena *arena, const char *role, int64_t quorum)
{
	if (quorum < 0 || quorum > INT32_MAX) {
		read_refuse(out, arena, "the quorum of %.63s is %lld", role, (long long)quorum);
		return;
	}
	for (size_t i = 0; i < out->roles_n; i++) {
		if (strcmp(out->roles[i].role, role) == 0) {
			out->roles[i].quorum = (uint32_t)quorum;
			return;
		}
	}
	if (out->roles_n == GANG_ROLES_MAX) {
		read_refuse(out, arena, "muster counts up to %d roles of a group", GANG_ROLES_MAX);
		return;
	}
	if (!out->roles)
		out->roles = arena_alloc(arena, GANG_ROLES_MAX * sizeof(*out->roles));
	out->roles[out->roles_n++] = (struct role_text){ role, (uint32_t)quorum };
}

void read_roles(struct json *j, void *spec)
{
	struct group_spec *out = spec;
	struct text name;
	int32_t quorum;

	out->roles_n = 0;
	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		quorum = 0;
		extract_int32(j, &quorum);
		read_role(out, j->arena, arena_copy(j->arena, name), quorum);
	}
}

void read_level(struct group_spec *out, struct arena *arena, struct text key, bool required)
{
	for (size_t i = 0; i < out->levels_n; i++)
		if (text_is(key, out->levels[i].key))
			return;
	if (key.bytes == 0)
		return;
	if (key.bytes > LEVEL_KEY_BYTES_MAX) {
		read_refuse(out, arena, "topology %.60s... is longer than the key of a label may be",
		            key.at);
		return;
	}
	if (out->levels_n == GANG_LEVELS_MAX) {
		read_refuse(out, arena, "topology %.*s: muster takes up to %d levels", (int)key.bytes,
		            key.at, GANG_LEVELS_MAX);
		return;
	}
	out->levels[out->levels_n++] = (struct level_text){ arena_copy(arena, key), required };
}

/* "KEY[,KEY...]", the widest first. */
static void read_level_list(const char *list, struct group_spec *out, struct arena *arena,
                            bool required)
{
	while (*list) {
		size_t bytes = strcspn(list, ",");
		struct text key = { list, bytes };

		while (key.bytes > 0 && *key.at == ' ') {
			key.at++;
			key.bytes--;
		}
		while (key.bytes > 0 && key.at[key.bytes - 1] == ' ')
			key.bytes--;
		read_level(out, arena, key, required);
		list += bytes + (list[bytes] == ',');
	}
}

void read_levels(const struct pairs *annotations, struct group_spec *out, struct arena *arena)
{
	static const struct {
		const char *key;
		bool required;
	} keys[] = {
		{ "muster.dev/required-topology", true },
		{ "kueue.x-k8s.io/podset-required-topology", true },
		{ "kai.scheduler/topology-required-placement", true },
		{ "muster.dev/preferred-topology", false },
		{ "kueue.x-k8s.io/podset-preferred-topology", false },
		{ "kai.scheduler/topology-preferred-placement", false },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct text *raw = pairs_find(annotations, keys[i].key);
		const char *list = raw ? extract_annotation(*raw, arena) : NULL;

		if (raw && !list)
			read_refuse(out, arena, "annotation %s is not a text that can be read", keys[i].key);
		if (list && *list)
			read_level_list(list, out, arena, keys[i].required);
	}
}

#define GANG_GROUPS "gang.scheduling.koordinator.sh/groups"

void read_gang_groups(const struct pairs *annotations, struct text namespace, const char *name,
                      struct group_spec *out, struct arena *arena)
{
	const char *list = read_annotation(annotations, GANG_GROUPS, arena);
	const char *own = arena_printf(arena, "%.*s/%s", namespace.bytes ? (int)namespace.bytes : 7,
	                               namespace.bytes ? namespace.at : "default", name ? name : "");
	bool others = false;
	struct text group;
	struct json j;

	if (!list)
		return;
	json_begin(&j, list, strlen(list), arena);
	if (json_array(&j))
		while (json_item(&j))
			others |= json_string(&j, &group) && !text_is(group, own);
	if (others || !json_end(&j))
		read_refuse(out, arena,
		            "annotation " GANG_GROUPS
		            ": %.200s: muster does not start several gangs together",
		            list);
}

struct group_read {
	struct meta meta;
	struct group_spec *out;
	json_read_fn spec;
};

static void read_group_spec(struct json *j, void *group)
{
	struct group_read *r = group;

	r->spec(j, r->out);
}

int read_group(const char *json, size_t bytes, struct arena *arena, const char *kind,
               const char *member, json_read_fn spec, struct group_spec *out,
               struct decode_error *error)
{
	const struct json_field fields[] = {
		JSON_FIELD("metadata", extract_metadata, struct group_read, meta),
		{ .name = member, .name_bytes = (uint32_t)strlen(member), .read = read_group_spec },
	};
	struct group_read r = { .out = out, .spec = spec };
	int rc;

	extract_meta_start(&r.meta);
	rc = extract_document(json, bytes, arena, fields, &r, &r.meta, kind, error);
	if (rc < 0)
		return rc;
	read_levels(&r.meta.annotations, out, arena);
	read_gang_groups(&r.meta.annotations, r.meta.namespace, arena_copy(arena, r.meta.name), out,
	                 arena);
	return 0;
}

void read_pod_group_spec_n(struct json *j, const struct json_field *fields, size_t n,
                           struct group_spec *out)
{
	out->quorum_text = 0;
	if (json_fields_n(j, fields, n, out))
		read_quorum(out, j->arena, "spec.minMember", out->quorum_text);
}
