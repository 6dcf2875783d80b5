/* SPDX-License-Identifier: Apache-2.0 */
/* A list is merged by the key that the Go type of its field names in patchMergeKey; any other list
 * is replaced. */
#include "tests/apisim/patch.h"

#include <string.h>

static const struct {
	const char *field;
	const char *key; /* "" for lists of plain values */
					 /* clang-format off */
} merge_keys[] = {
	{ "conditions", "type" }, { "addresses", "type" }, { "containers", "name" },
	{ "initContainers", "name" }, { "ephemeralContainers", "name" }, { "env", "name" },
	{ "volumes", "name" }, { "volumeMounts", "mountPath" }, { "volumeDevices", "devicePath" },
	{ "ports", "containerPort" }, { "ownerReferences", "uid" }, { "hostAliases", "ip" },
	{ "imagePullSecrets", "name" }, { "podIPs", "ip" }, { "hostIPs", "ip" },
	{ "topologySpreadConstraints", "topologyKey" }, { "schedulingGates", "name" },
	{ "resourceClaims", "name" }, { "finalizers", "" }, { "podCIDRs", "" },
};
/* clang-format on */

static const char *merge_key(const char *field)
{
	for (size_t i = 0; i < sizeof(merge_keys) / sizeof(merge_keys[0]); i++)
		if (strcmp(merge_keys[i].field, field) == 0)
			return merge_keys[i].key;
	return NULL;
}

static bool fail(const char **error, const char *why)
{
	*error = why;
	return false;
}

/* The element of a list that has the same key as `like`. */
static struct as_json *find_element(const struct as_json *list, const char *key,
                                    const struct as_json *like)
{
	const struct as_json *wanted = key[0] != '\0' ? as_json_get(like, key) : like;

	for (struct as_json *e = list->first; wanted != NULL && e != NULL; e = e->next)
		if (as_json_equal(key[0] != '\0' ? as_json_get(e, key) : e, wanted))
			return e;
	return NULL;
}

static bool merge_list(struct as_arena *a, struct as_json *list, const struct as_json *patch,
                       const char *key, const char **error)
{
	for (const struct as_json *e = patch->first; e != NULL; e = e->next) {
		const char *directive = as_json_string(e, "$patch");
		struct as_json *found, *made;

		if (directive != NULL && strcmp(directive, "replace") == 0) {
			list->first = list->last = NULL;
			continue;
		}
		if (key[0] != '\0' && as_json_get(e, key) == NULL)
			return fail(error, "map: does not contain declared merge key");
		found = find_element(list, key, e);
		if (directive != NULL && strcmp(directive, "delete") != 0 &&
		    strcmp(directive, "merge") != 0)
			return fail(error, "unknown $patch directive");
		if (directive != NULL && directive[0] == 'd') {
			if (found != NULL)
				as_json_remove_element(list, found);
			continue;
		}
		if (found == NULL) {
			made = key[0] != '\0' ? as_json_new(a, AS_OBJECT) : as_json_copy(a, e);
			as_json_append(list, made);
			found = made;
		}
		if (key[0] != '\0' && !as_strategic_merge(a, found, e, error))
			return false;
	}
	return true;
}

/* The index of an element in a list, or -1. */
static int place_of(const struct as_json *list, const char *key, const struct as_json *element)
{
	const struct as_json *found = find_element(list, key, element);
	int place = 0;

	if (found == NULL)
		return -1;
	for (const struct as_json *e = list->first; e != found; e = e->next)
		place++;
	return place;
}

/* As mergeSortedSlice(): elements that `order` names are in its order; the others are inserted at
 * their positions in the list before the patch, where these are known. */
static void reorder(struct as_json *list, const struct as_json *order, const struct as_json *before,
                    const char *key)
{
	struct as_json others = *list, named = { .kind = AS_ARRAY };

	for (const struct as_json *o = order->first; o != NULL; o = o->next) {
		struct as_json *e = find_element(&others, key, o);

		if (e == NULL)
			continue;
		as_json_remove_element(&others, e);
		as_json_append(&named, e);
	}
	list->first = list->last = NULL;
	while (others.first != NULL || named.first != NULL) {
		struct as_json *from = &named, *e;

		if (named.first == NULL) {
			from = &others;
		} else if (others.first != NULL) {
			int other = place_of(before, key, others.first),
				ours = place_of(before, key, named.first);

			if (other >= 0 && ours >= 0 && other < ours)
				from = &others;
		}
		e = from->first;
		as_json_remove_element(from, e);
		as_json_append(list, e);
	}
}

static bool is_list(const struct as_json *v)
{
	return v != NULL && v->kind == AS_ARRAY;
}

/* A member whose name begins with '$'. */
static bool apply_directive(struct as_json *target, const struct as_json *m, const char **error)
{
	const char *slash = strchr(m->name, '/');
	struct as_json *list = as_json_array(target, slash != NULL ? slash + 1 : "");

	if (strcmp(m->name, "$patch") == 0)
		return m->kind == AS_STRING &&
		               (strcmp(m->text, "merge") == 0 || strcmp(m->text, "replace") == 0 ||
		                strcmp(m->text, "delete") == 0)
		           ? true
		           : fail(error, "unknown $patch directive");
	if (!is_list(m))
		return fail(error, "a directive must be a list");
	if (strncmp(m->name, "$setElementOrder/", 17) == 0)
		return true; /* merge_member() has seen to it */
	if (strncmp(m->name, "$deleteFromPrimitiveList/", 25) == 0) {
		for (const struct as_json *e = m->first; list != NULL && e != NULL; e = e->next) {
			struct as_json *found;

			while ((found = find_element(list, "", e)) != NULL)
				as_json_remove_element(list, found);
		}
		return true;
	}
	if (strcmp(m->name, "$retainKeys") == 0) {
		for (struct as_json *t = target->first, *next; t != NULL; t = next) {
			next = t->next;
			if (find_element(m, "",
			                 &(struct as_json){ .kind = AS_STRING,
			                                    .text = t->name,
			                                    .bytes = t->name_bytes }) == NULL)
				as_json_remove(target, t->name);
		}
		return true;
	}
	return fail(error, "unknown directive in a strategic merge patch");
}

/* The order that the patch sets: that of its directive, or of its list. */
static bool merge_keyed(struct as_arena *a, struct as_json *list, const struct as_json *m,
                        const struct as_json *patch, const char *key, const char **error)
{
	const char *name = as_arena_printf(a, "$setElementOrder/%s", m->name);
	const struct as_json *order = as_json_array(patch, name), *before = as_json_copy(a, list);

	if (!merge_list(a, list, m, key, error))
		return false;
	reorder(list, order != NULL ? order : m, before, key);
	return true;
}

static bool merge_member(struct as_arena *a, struct as_json *target, const struct as_json *m,
                         const struct as_json *patch, const char **error)
{
	struct as_json *old = as_json_get(target, m->name), *fresh;
	const char *key = merge_key(m->name);

	if (m->kind == AS_NULL) {
		as_json_remove(target, m->name);
		return true;
	}
	if (m->kind == AS_OBJECT) {
		if (old == NULL || old->kind != AS_OBJECT) {
			fresh = as_json_new(a, AS_OBJECT);
			as_json_set(a, target, m->name, fresh);
			old = fresh;
		}
		return as_strategic_merge(a, old, m, error);
	}
	if (m->kind == AS_ARRAY && key != NULL) {
		if (!is_list(old)) {
			old = as_json_new(a, AS_ARRAY);
			as_json_set(a, target, m->name, old);
		}
		return merge_keyed(a, old, m, patch, key, error);
	}
	as_json_set(a, target, m->name, as_json_copy(a, m));
	return true;
}

bool as_strategic_merge(struct as_arena *a, struct as_json *target, const struct as_json *patch,
                        const char **error)
{
	const char *directive = as_json_string(patch, "$patch");

	if (directive != NULL && strcmp(directive, "merge") != 0)
		target->first = target->last = NULL;
	if (directive != NULL && strcmp(directive, "delete") == 0)
		return true;
	for (const struct as_json *m = patch->first; m != NULL; m = m->next)
		if (m->name[0] != '$' && !merge_member(a, target, m, patch, error))
			return false;
	/* Order and retained keys apply to the merged lists. */
	for (const struct as_json *m = patch->first; m != NULL; m = m->next)
		if (m->name[0] == '$' && !apply_directive(target, m, error))
			return false;
	return true;
}
