/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources: what a CustomResourceDefinition declares is served from the
 * moment it is stored.  Schemas are kept and not enforced. */
#include "tests/apisim/call.h"
#include "tests/apisim/kinds.h"
#include "tests/apisim/meta.h"

static void add_condition(struct as_arena *a, struct as_json *list, const char *type,
                          const char *reason, const char *message, const char *now)
{
	struct as_json *e = as_json_new(a, AS_OBJECT);

	as_json_set_string(a, e, "type", type);
	as_json_set_string(a, e, "status", "True");
	as_json_set_string(a, e, "lastTransitionTime", now);
	as_json_set_string(a, e, "reason", reason);
	as_json_set_string(a, e, "message", message);
	as_json_append(list, e);
}

/* The real server has a controller for this, which runs shortly after the write. */
static void set_status(struct as_call *c, struct as_json *object)
{
	struct as_arena *a = c->arena;
	struct as_json *spec = as_json_get(object, "spec"), *status = as_json_new(a, AS_OBJECT),
				   *versions;
	const char *now = as_time(a, c->now_ns);
	struct as_json *list;

	list = as_json_member(a, status, "conditions", AS_ARRAY);
	add_condition(a, list, "NamesAccepted", "NoConflicts", "no conflicts found", now);
	add_condition(a, list, "Established", "InitialNamesAccepted",
	              "the initial names have been accepted", now);
	as_json_set(a, status, "acceptedNames", as_json_copy(a, as_json_get(spec, "names")));
	versions = as_json_member(a, status, "storedVersions", AS_ARRAY);
	as_json_append(
		versions,
		as_json_new_string(a, as_json_string(as_json_array(spec, "versions")->first, "name")));
	as_json_set(a, object, "status", status);
}

static void require(struct as_call *c, const struct as_json *object, const char *name,
                    const char *field)
{
	const char *value = as_json_string(object, name);

	if (value == NULL || value[0] == '\0')
		as_invalid(c, "FieldValueRequired", field, "Required value");
	else if (!as_label_value_valid(value) && !as_name_valid(value, true, 253))
		as_invalid(c, "FieldValueInvalid", field, "Invalid value: \"%s\": not a name", value);
}

/* What as_crd_stored() relies on. */
static int validate(struct as_call *c, const struct as_json *object)
{
	const struct as_json *spec = as_json_get(object, "spec"), *names = as_json_get(spec, "names");
	const struct as_json *versions = as_json_array(spec, "versions");
	const char *scope = as_json_string(spec, "scope"), *name;

	require(c, spec, "group", "spec.group");
	require(c, names, "plural", "spec.names.plural");
	require(c, names, "kind", "spec.names.kind");
	if (scope == NULL || (strcmp(scope, "Namespaced") != 0 && strcmp(scope, "Cluster") != 0))
		as_invalid(c, "FieldValueNotSupported", "spec.scope",
		           "Unsupported value: \"%s\": supported values: \"Cluster\", \"Namespaced\"",
		           scope != NULL ? scope : "");
	if (versions == NULL || versions->first == NULL)
		as_invalid(c, "FieldValueRequired", "spec.versions", "Required value");
	else if (versions->first != versions->last)
		return as_refuse_bad(c, "apisim serves one version of a custom resource, not several");
	else
		require(c, versions->first, "name", "spec.versions[0].name");
	if (c->causes != NULL)
		return 0;
	name = as_json_string(as_json_get(object, "metadata"), "name");
	if (name == NULL ||
	    strcmp(name, as_arena_printf(c->arena, "%s.%s", as_json_string(names, "plural"),
	                                 as_json_string(spec, "group"))) != 0)
		as_invalid(c, "FieldValueInvalid", "metadata.name",
		           "Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group",
		           name != NULL ? name : "");
	return 0;
}

static void default_names(struct as_arena *a, struct as_json *names)
{
	const char *kind = as_json_string(names, "kind");
	char *singular = as_arena_copy(a, kind, strlen(kind));

	for (char *s = singular; *s != '\0'; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
	as_json_default_string(a, names, "singular", singular);
	as_json_default_string(a, names, "listKind", as_arena_printf(a, "%sList", kind));
}

static int crd_create(struct as_call *c, struct as_json *object)
{
	if (validate(c, object) < 0)
		return -1;
	if (c->causes != NULL)
		return 0;
	default_names(c->arena, as_json_get(as_json_get(object, "spec"), "names"));
	set_status(c, object);
	return 0;
}

/* Labels and schemas may change; what is served under which name may not. */
static int crd_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                      bool status)
{
	static const char *const fixed[] = { "group", "names", "scope" };
	const struct as_json *spec = as_json_get(object, "spec"), *old_spec = as_json_get(old, "spec");

	if (validate(c, object) < 0)
		return -1;
	if (c->causes != NULL)
		return 0;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!as_json_equal(as_json_get(spec, fixed[i]), as_json_get(old_spec, fixed[i])))
			return as_refuse_bad(c, "apisim does not change spec.%s of a definition", fixed[i]);
	if (strcmp(as_json_string(as_json_array(spec, "versions")->first, "name"),
	           as_json_string(as_json_array(old_spec, "versions")->first, "name")) != 0)
		return as_refuse_bad(c, "apisim does not change the version of a definition");
	return 0;
}

const struct as_strategy as_crd_strategy = { .create = crd_create, .update = crd_update };

static struct as_resource *find_served(struct as_api *api, const struct as_json *definition)
{
	const struct as_json *spec = as_json_get(definition, "spec");
	const struct as_json *version = as_json_array(spec, "versions")->first;

	return as_resources_find(&api->resources, as_json_string(spec, "group"),
	                         as_json_string(version, "name"),
	                         as_json_string(as_json_get(spec, "names"), "plural"));
}

void as_crd_stored(struct as_api *api, const struct as_json *definition)
{
	const struct as_json *spec = as_json_get(definition, "spec"),
						 *names = as_json_get(spec, "names");
	const struct as_json *version = as_json_array(spec, "versions")->first;
	const struct as_json *short_names = as_json_array(names, "shortNames");
	const struct as_json *subresources = as_json_get(version, "subresources");

	if (find_served(api, definition) != NULL)
		return;
	as_resources_add(&api->resources,
	                 &(struct as_resource){
						 .group = as_json_string(spec, "group"),
						 .version = as_json_string(version, "name"),
						 .plural = as_json_string(names, "plural"),
						 .singular = as_json_string(names, "singular"),
						 .kind = as_json_string(names, "kind"),
						 .short_name = short_names != NULL && short_names->first != NULL
	                                       ? short_names->first->text
	                                       : NULL,
						 .namespaced = strcmp(as_json_string(spec, "scope"), "Namespaced") == 0,
						 .has_status = as_json_get(subresources, "status") != NULL,
						 .custom = true,
						 .counts_changes = true,
						 .needs_version = true,
					 });
}

/* Objects go with their definition.  The table keeps the entry: history and
 * watches still point at it. */
void as_crd_removed(struct as_api *api, struct as_arena *a, const struct as_json *definition)
{
	struct as_resource *r = find_served(api, definition);

	if (r == NULL)
		return;
	while (r->index.first[0] != NULL) {
		struct as_object *o = as_object_ref(r->index.first[0]->object);

		as_store_remove(api->store, r, a, as_object_tree(a, o));
		as_object_unref(o);
	}
	r->gone = true;
}

int as_api_add_custom(struct as_api *api, const char *group, const char *version,
                      const char *plural, const char *kind, bool namespaced, bool status,
                      uint64_t now_ns, char **why)
{
	struct as_response response = { 0 };
	struct as_text body = { 0 };
	int rc = 0;

	as_text_printf(
		&body,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
		"\"metadata\":{\"name\":\"%s.%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"%s\","
		"\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"%s\","
		"\"served\":true,\"storage\":true,\"subresources\":{%s},\"schema\":{"
		"\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}",
		plural, group, group, namespaced ? "Namespaced" : "Cluster", plural, kind, version,
		status ? "\"status\":{}" : "");
	as_api_handle(api,
	              &(struct as_request){
					  .method = "POST",
					  .target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
					  .body = body.at,
					  .body_bytes = body.bytes,
					  .now_ns = now_ns,
				  },
	              &response);
	if (response.status != 201) {
		as_text_add(&response.body, "", 1);
		*why = response.body.at;
		response.body = (struct as_text){ 0 };
		rc = -EINVAL;
	}
	as_text_free(&response.body);
	as_text_free(&body);
	return rc;
}
