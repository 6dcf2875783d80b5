/* SPDX-License-Identifier: Apache-2.0 */
/* POST to a collection. */
#include "tests/apisim/call.h"
#include "tests/apisim/meta.h"

#define GENERATED_BYTES 5
#define NAME_BYTES_MAX 63 /* of a generated name */

static void generate_name(struct as_call *c, struct as_json *metadata)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	const char *base = as_json_string(metadata, "generateName");
	const char *name = as_json_string(metadata, "name");
	char suffix[GENERATED_BYTES + 1] = "";

	if (base == NULL || base[0] == '\0' || (name != NULL && name[0] != '\0'))
		return;
	for (int i = 0; i < GENERATED_BYTES; i++)
		suffix[i] = letters[c->api->config.random(c->api->config.context) % (sizeof(letters) - 1)];
	as_json_set_string(
		c->arena, metadata, "name",
		as_arena_printf(c->arena, "%.*s%s", NAME_BYTES_MAX - GENERATED_BYTES, base, suffix));
}

static int check_namespace(struct as_call *c, struct as_json *metadata)
{
	const char *own = as_json_string(metadata, "namespace");
	struct as_object *ns;

	if (own != NULL && own[0] != '\0' && strcmp(own, c->namespace != NULL ? c->namespace : "") != 0)
		return as_refuse_bad(
			c,
			"the namespace of the provided object does not match the namespace sent on the request");
	if (!c->resource->namespaced)
		return 0;
	as_json_set_string(c->arena, metadata, "namespace", c->namespace);
	ns = as_index_find(&c->api->namespaces->index, c->namespace);
	if (ns == NULL)
		return as_refuse_not_found(c, c->api->namespaces, c->namespace);
	if (ns->deleting) {
		c->name = as_json_string(metadata, "name");
		return as_refuse_forbidden(
			c, "unable to create new content in namespace %s because it is being terminated",
			c->namespace);
	}
	return 0;
}

/* What a client may not choose; what is loaded keeps its identity and age. */
static void fill_metadata(struct as_call *c, struct as_json *metadata)
{
	const char *uid = c->request->loading ? as_json_string(metadata, "uid") : NULL;
	const char *created =
		c->request->loading ? as_json_string(metadata, "creationTimestamp") : NULL;
	static const char *const ours[] = {
		"uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"generation", "managedFields",     "selfLink",          "resourceVersion"
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		as_json_remove(metadata, ours[i]);
	generate_name(c, metadata);
	as_json_set_string(c->arena, metadata, "uid",
	                   uid != NULL && strlen(uid) < AS_UID_BYTES ? uid : as_new_uid(c->api));
	as_json_set_string(c->arena, metadata, "creationTimestamp",
	                   created != NULL ? created : as_time(c->arena, c->now_ns));
	if (c->resource->counts_changes)
		as_json_set_integer(c->arena, metadata, "generation", 1);
}

int as_create_object(struct as_call *c, struct as_json *object)
{
	const struct as_strategy *strategy = c->resource->strategy;
	struct as_json *metadata;
	const char *name;

	if (as_check_type(c, object) < 0)
		return -1;
	metadata = as_metadata(c, object);
	if (metadata == NULL)
		return -1;
	if (as_json_get(metadata, "resourceVersion") != NULL &&
	    as_json_string(metadata, "resourceVersion")[0] != '\0')
		return as_refuse(c, 500, "", "resourceVersion should not be set on objects to be created");
	if (check_namespace(c, metadata) < 0)
		return -1;
	fill_metadata(c, metadata);
	as_json_drop_nulls(object);
	as_drop_empty(metadata);
	if (c->resource->custom && c->resource->has_status && !c->request->loading)
		as_json_remove(object, "status");
	as_validate_metadata(c, object);
	if (strategy != NULL && strategy->create != NULL && strategy->create(c, object) < 0)
		return -1;
	name = as_json_string(metadata, "name");
	if (as_refuse_invalid(c, name) < 0)
		return -1;
	if (as_index_find(&c->resource->index, as_object_key(c->arena, c->namespace, name)) != NULL)
		return as_refuse_exists(c, name);
	if (c->dry_run)
		return as_answer_tree(c, 201, object);
	return as_answer_object(c, 201, as_commit(c->api, c->resource, c->arena, object, c->now_ns));
}

int as_create(struct as_call *c)
{
	struct as_json *object = as_body(c);

	return object != NULL ? as_create_object(c, object) : -1;
}
