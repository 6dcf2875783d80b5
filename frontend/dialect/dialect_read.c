/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/dialect/dialect_read.h"

#include "frontend/decode/extract.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_KEY_BYTES_MAX 317 /* a prefix of 253, a slash and a name of 63 */

/* ---- marks ----------------------------------------------------------------------- */

const char *read_label(const struct pod_object *pod, const char *key, struct arena *arena)
{
	const struct text *value = pairs_find(&pod->meta.labels, key);

	return value && value->bytes > 0 ? arena_copy(arena, *value) : NULL;
}

const char *read_annotation(const struct pairs *annotations, const char *key, struct arena *arena)
{
	const struct text *raw = pairs_find(annotations, key);
	const char *value = raw ? extract_annotation(*raw, arena) : NULL;

	return value && *value ? value : NULL;
}

enum mark read_mark(const char *value, const char **name)
{
	if (!value)
		return MARK_NONE;
	*name = value;
	return MARK_MEMBER;
}

bool read_number(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	int64_t value = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (!*text)
		return false;
	for (; *text; text++) {
		int digit = *text - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return false;
	}
	*out = value;
	return true;
}

uint64_t read_timeout(int64_t seconds)
{
	if (seconds <= 0)
		return 1;
	return (uint64_t)(seconds < GROUP_TIMEOUT_MAX_S ? seconds : GROUP_TIMEOUT_MAX_S) * 1000000000;
}

/* ---- refusals --------------------------------------------------------------------- */

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
	if (!out->refusal)
		out->refusal = format;
}

void read_quorum(struct group_spec *out, struct arena *arena, const char *field, int32_t value)
{
	out->quorum_text = value;
	out->quorum = value < 0 ? 0 : (uint32_t)value;
	if (value < 0)
		read_refuse(out, arena, "%s: %d is negative", field, (int)value);
}

/* ---- minResources ------------------------------------------------------------------ */

/* The amount of that name, new or known; NULL: the scanner has failed. */
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
	if (!out->min_resources[out->min_resources_n].resource) {
		json_no_memory(j);
		return NULL;
	}
	return &out->min_resources[out->min_resources_n++];
}

/* What scheduling does not count stays in, since no node has it.  The number of pods is
 * the quorum, whatever is written here. */
void read_min_resources(struct json *j, struct group_spec *out)
{
	struct amount_text *a;
	struct text name;
	nano_t amount;

	out->min_resources_n = 0;
	out->min_resources = arena_alloc(j->arena, RESOURCES_MAX * sizeof(*a));
	if (!out->min_resources) {
		json_no_memory(j);
		return;
	}
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

/* ---- roles --------------------------------------------------------------------------- */

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
	if (out->roles)
		out->roles[out->roles_n++] = (struct role_text){ role, (uint32_t)quorum };
}

void read_roles(struct json *j, struct group_spec *out)
{
	struct text name;
	int32_t quorum;
	char *role;

	out->roles_n = 0;
	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		quorum = 0;
		extract_int32(j, &quorum);
		role = arena_copy(j->arena, name);
		if (!role)
			json_no_memory(j);
		else
			read_role(out, j->arena, role, quorum);
	}
}

/* ---- levels ---------------------------------------------------------------------------- */

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
	out->levels[out->levels_n].key = arena_copy(arena, key);
	out->levels[out->levels_n].required = required;
	out->levels_n += out->levels[out->levels_n].key != NULL;
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
		const char *list = read_annotation(annotations, keys[i].key, arena);

		if (list)
			read_level_list(list, out, arena, keys[i].required);
	}
}

/* ---- gangs of gangs ------------------------------------------------------------------------ */

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

	if (!list || !own)
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

/* ---- objects ----------------------------------------------------------------------------- */

int read_group(const char *json, size_t bytes, struct arena *arena, const char *kind,
               const char *member, read_spec_fn spec, struct group_spec *out,
               struct decode_error *error)
{
	struct json j;
	struct meta meta;
	struct text name;
	int rc;

	extract_meta_start(&meta);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (text_is(name, "metadata"))
			extract_metadata(&j, &meta);
		else if (text_is(name, member))
			spec(&j, out);
		else
			json_skip(&j);
	}
	rc = extract_end(&j, &meta, kind, error);
	if (rc < 0)
		return rc;
	read_levels(&meta.annotations, out, arena);
	read_gang_groups(&meta.annotations, meta.namespace, arena_copy(arena, meta.name), out, arena);
	return 0;
}

void read_pod_group_spec(struct json *j, const struct spec_member *members, size_t n,
                         struct group_spec *out)
{
	int32_t minimum = 0;
	struct text name;
	size_t i;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		for (i = 0; i < n && !text_is(name, members[i].name); i++)
			;
		if (i < n)
			members[i].read(j, out);
		else if (text_is(name, "minMember"))
			extract_int32(j, &minimum);
		else
			json_skip(j);
	}
	read_quorum(out, j->arena, "spec.minMember", minimum);
}
