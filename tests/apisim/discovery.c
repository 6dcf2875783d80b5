/* SPDX-License-Identifier: Apache-2.0 */
/* /version, /api, /apis and the list of each group. */
#include "tests/apisim/call.h"

static struct as_json *answer_object(struct as_call *c, const char *kind)
{
	struct as_json *o = as_json_new(c->arena, AS_OBJECT);

	as_json_set_string(c->arena, o, "kind", kind);
	as_json_set_string(c->arena, o, "apiVersion", "v1");
	return o;
}

static int version(struct as_call *c)
{
	struct as_json *o = as_json_new(c->arena, AS_OBJECT);

	as_json_set_string(c->arena, o, "major", "1");
	as_json_set_string(c->arena, o, "minor", "36");
	as_json_set_string(c->arena, o, "gitVersion", "v1.36.3+apisim-" MUSTER_VERSION);
	as_json_set_string(c->arena, o, "gitCommit", "");
	as_json_set_string(c->arena, o, "gitTreeState", "clean");
	as_json_set_string(c->arena, o, "buildDate", "1970-01-01T00:00:00Z");
	as_json_set_string(c->arena, o, "goVersion", "");
	as_json_set_string(c->arena, o, "compiler", "");
	as_json_set_string(c->arena, o, "platform", "linux/amd64");
	return as_answer_json(c, 200, o);
}

static int core_versions(struct as_call *c)
{
	struct as_json *o = answer_object(c, "APIVersions");
	struct as_json *versions = as_json_member(c->arena, o, "versions", AS_ARRAY);

	as_json_append(versions, as_json_new_string(c->arena, "v1"));
	return as_answer_json(c, 200, o);
}

/* v1 before v1beta1 before v1alpha2: enough for what is served here. */
static int version_rank(const char *v)
{
	return strstr(v, "alpha") != NULL ? 0 : strstr(v, "beta") != NULL ? 1 : 2;
}

static struct as_json *group_version(struct as_call *c, const struct as_resource *r)
{
	struct as_json *v = as_json_new(c->arena, AS_OBJECT);

	as_json_set_string(c->arena, v, "groupVersion", r->api_version);
	as_json_set_string(c->arena, v, "version", r->version);
	return v;
}

static bool listed(const struct as_json *versions, const char *name)
{
	for (const struct as_json *v = versions->first; v != NULL; v = v->next)
		if (strcmp(as_json_string(v, "version"), name) == 0)
			return true;
	return false;
}

static struct as_json *group_entry(struct as_call *c, const char *group)
{
	const struct as_resources *rs = &c->api->resources;
	struct as_json *entry = as_json_new(c->arena, AS_OBJECT), *versions;
	const struct as_resource *preferred = NULL;

	as_json_set_string(c->arena, entry, "name", group);
	versions = as_json_member(c->arena, entry, "versions", AS_ARRAY);
	for (int rank = 2; rank >= 0; rank--) {
		for (size_t i = 0; i < rs->n; i++) {
			const struct as_resource *r = rs->at[i];

			if (r->gone || strcmp(r->group, group) != 0 || version_rank(r->version) != rank ||
			    listed(versions, r->version))
				continue;
			as_json_append(versions, group_version(c, r));
			if (preferred == NULL)
				preferred = r;
		}
	}
	if (preferred == NULL)
		return NULL;
	as_json_set(c->arena, entry, "preferredVersion", group_version(c, preferred));
	return entry;
}

static int groups(struct as_call *c)
{
	const struct as_resources *rs = &c->api->resources;
	struct as_json *o = answer_object(c, "APIGroupList");
	struct as_json *list = as_json_member(c->arena, o, "groups", AS_ARRAY);

	for (size_t i = 0; i < rs->n; i++) {
		const char *group = rs->at[i]->group;
		bool seen = group[0] == '\0' || rs->at[i]->gone;

		for (const struct as_json *g = list->first; !seen && g != NULL; g = g->next)
			seen = strcmp(as_json_string(g, "name"), group) == 0;
		if (!seen)
			as_json_append(list, group_entry(c, group));
	}
	return as_answer_json(c, 200, o);
}

static int one_group(struct as_call *c, const char *group)
{
	struct as_json *o = answer_object(c, "APIGroup"), *entry = group_entry(c, group);

	for (struct as_json *m = entry->first, *next; m != NULL; m = next) {
		next = m->next;
		as_json_append(o, m);
	}
	return as_answer_json(c, 200, o);
}

static void add_resource(struct as_call *c, struct as_json *list, const struct as_resource *r,
                         const char *sub, const char *kind, const char *const *verbs)
{
	struct as_arena *a = c->arena;
	struct as_json *e = as_json_new(a, AS_OBJECT), *names;

	as_json_set_string(
		a, e, "name",
		as_arena_printf(a, "%s%s%s", r->plural, sub != NULL ? "/" : "", sub != NULL ? sub : ""));
	as_json_set_string(a, e, "singularName", sub != NULL ? "" : r->singular);
	as_json_set(a, e, "namespaced", as_json_new(a, r->namespaced ? AS_TRUE : AS_FALSE));
	as_json_set_string(a, e, "kind", kind);
	names = as_json_member(a, e, "verbs", AS_ARRAY);
	for (; *verbs != NULL; verbs++)
		as_json_append(names, as_json_new_string(a, *verbs));
	if (sub == NULL && r->short_name != NULL) {
		names = as_json_member(a, e, "shortNames", AS_ARRAY);
		as_json_append(names, as_json_new_string(a, r->short_name));
	}
	as_json_append(list, e);
}

static int resources(struct as_call *c, const char *group, const char *of_version)
{
	static const char *const all[] = { "create", "delete", "deletecollection",
		                               "get",    "list",   "patch",
		                               "update", "watch",  NULL };
	static const char *const single[] = { "create", "delete", "get",   "list",
		                                  "patch",  "update", "watch", NULL };
	static const char *const read[] = { "delete", "get", "list", "watch", NULL };
	static const char *const status[] = { "get", "patch", "update", NULL };
	static const char *const create[] = { "create", NULL };
	const struct as_resources *rs = &c->api->resources;
	struct as_json *o = answer_object(c, "APIResourceList"), *list;

	as_json_set_string(c->arena, o, "groupVersion",
	                   group[0] == '\0' ? of_version
	                                    : as_arena_printf(c->arena, "%s/%s", group, of_version));
	list = as_json_member(c->arena, o, "resources", AS_ARRAY);
	for (size_t i = 0; i < rs->n; i++) {
		const struct as_resource *r = rs->at[i];

		if (r->gone || strcmp(r->group, group) != 0 || strcmp(r->version, of_version) != 0)
			continue;
		add_resource(c, list, r, NULL, r->kind,
		             r->view != NULL ? read
		             : r->one_by_one ? single
		                             : all);
		if (r->has_status)
			add_resource(c, list, r, "status", r->kind, status);
		if (r == c->api->pods)
			add_resource(c, list, r, "binding", "Binding", create);
		if (r == c->api->pods)
			add_resource(c, list, r, "eviction", "Eviction", create);
	}
	return as_answer_json(c, 200, o);
}

static bool serves(const struct as_api *api, const char *group, const char *of_version)
{
	for (size_t i = 0; i < api->resources.n; i++) {
		const struct as_resource *r = api->resources.at[i];

		if (!r->gone && strcmp(r->group, group) == 0 &&
		    (of_version == NULL || strcmp(r->version, of_version) == 0))
			return true;
	}
	return false;
}

bool as_group_served(const struct as_api *api, const char *const *s, size_t n)
{
	if (strcmp(s[0], "api") == 0)
		return n >= 2 && serves(api, "", s[1]);
	return strcmp(s[0], "apis") == 0 && n >= 3 && serves(api, s[1], s[2]);
}

int as_discovery(struct as_call *c, bool *found)
{
	const char *s[5] = { NULL };
	char *at = as_arena_copy(c->arena, c->path, strlen(c->path)), *word;
	size_t n = 0;

	*found = false;
	while (n < 5 && (word = strsep(&at, "/")) != NULL)
		if (word[0] != '\0')
			s[n++] = word;
	if (n == 0 || n > 3 || at != NULL)
		return 0;
	*found = true;
	if (strcmp(c->request->method, "GET") != 0)
		*found = false;
	else if (n == 1 && strcmp(s[0], "version") == 0)
		return version(c);
	else if (n == 1 && strcmp(s[0], "api") == 0)
		return core_versions(c);
	else if (n == 1 && strcmp(s[0], "apis") == 0)
		return groups(c);
	else if (n == 2 && strcmp(s[0], "apis") == 0 && serves(c->api, s[1], NULL))
		return one_group(c, s[1]);
	else if (n == 2 && strcmp(s[0], "api") == 0 && serves(c->api, "", s[1]))
		return resources(c, "", s[1]);
	else if (n == 3 && strcmp(s[0], "apis") == 0 && serves(c->api, s[1], s[2]))
		return resources(c, s[1], s[2]);
	*found = false;
	return 0;
}
