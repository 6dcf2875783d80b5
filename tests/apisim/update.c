/* SPDX-License-Identifier: Apache-2.0 */
/* PUT and PATCH, of objects and of their status. */
#include "tests/apisim/call.h"
#include "tests/apisim/meta.h"
#include "tests/apisim/patch.h"

static int check_names(struct as_call *c, const struct as_json *metadata)
{
	const char *name = as_json_string(metadata, "name"),
			   *ns = as_json_string(metadata, "namespace");

	if (name == NULL || strcmp(name, c->name) != 0)
		return as_refuse_bad(c,
		                     "the name of the object (%s) does not match the name on the URL (%s)",
		                     name != NULL ? name : "", c->name);
	if (ns != NULL && ns[0] != '\0' && strcmp(ns, c->namespace != NULL ? c->namespace : "") != 0)
		return as_refuse_bad(
			c,
			"the namespace of the provided object does not match the namespace sent on the request");
	return 0;
}

/* uid and resourceVersion of what was sent are preconditions. */
static int check_preconditions(struct as_call *c, const struct as_json *metadata,
                               const struct as_object *current)
{
	const char *uid = as_json_string(metadata, "uid"),
			   *version = as_json_string(metadata, "resourceVersion");
	uint64_t wanted;

	if (uid != NULL && uid[0] != '\0' && strcmp(uid, current->uid) != 0) {
		/* A PATCH names the uid as content, a PUT as a precondition. */
		if (strcmp(c->request->method, "PATCH") == 0) {
			as_invalid(c, "FieldValueInvalid", "metadata.uid",
			           "Invalid value: \"%s\": field is immutable", uid);
			return as_refuse_invalid(c, c->name);
		}
		return as_refuse_conflict(
			c, c->resource->qualified, c->name,
			"StorageError: invalid object, Code: 4, Key: /registry/%s%s%s/%s, ResourceVersion: 0, "
			"AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
			c->resource->plural, c->namespace != NULL ? "/" : "",
			c->namespace != NULL ? c->namespace : "", c->name, uid, current->uid);
	}
	if (version == NULL || version[0] == '\0' || strcmp(version, "0") == 0) {
		if (!c->resource->needs_version)
			return 0;
		as_invalid(c, "FieldValueInvalid", "metadata.resourceVersion",
		           "Invalid value: 0: must be specified for an update");
		return as_refuse_invalid_kind(c, c->resource->group, c->resource->plural,
		                              c->resource->plural, c->name);
	}
	if (!as_parse_version(version, &wanted))
		return as_refuse(c, 500, "", "resourceVersion: Invalid value: \"%s\"", version);
	if (wanted != current->version)
		return as_refuse_conflict(
			c, c->resource->qualified, c->name,
			"the object has been modified; please apply your changes to the latest "
			"version and try again");
	return 0;
}

/* What the server owns stays as it is. */
static void keep_metadata(struct as_call *c, struct as_json *metadata, const struct as_json *old)
{
	static const char *const ours[] = { "namespace",         "uid",
		                                "creationTimestamp", "deletionTimestamp",
		                                "generation",        "deletionGracePeriodSeconds",
		                                "generateName",      "resourceVersion" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		const struct as_json *was = as_json_get(old, ours[i]);

		if (was != NULL)
			as_json_set(c->arena, metadata, ours[i], as_json_copy(c->arena, was));
		else
			as_json_remove(metadata, ours[i]);
	}
	as_json_remove(metadata, "managedFields");
	as_json_remove(metadata, "selfLink");
}

static void take_member(struct as_call *c, struct as_json *to, const struct as_json *from,
                        const char *name)
{
	const struct as_json *value = as_json_get(from, name);

	if (value != NULL)
		as_json_set(c->arena, to, name, as_json_copy(c->arena, value));
	else
		as_json_remove(to, name);
}

/* A write of the status changes nothing else, and the other way round.  The
 * status of a built-in kind takes labels and annotations along, a custom one's
 * does not. */
static struct as_json *keep_other_half(struct as_call *c, struct as_json *object,
                                       const struct as_json *old, bool status)
{
	struct as_json *result;

	if (!c->resource->has_status)
		return object;
	if (!status) {
		take_member(c, object, old, "status");
		return object;
	}
	result = as_json_copy(c->arena, old);
	take_member(c, result, object, "status");
	if (!c->resource->custom)
		take_member(c, result, object, "metadata");
	return result;
}

static bool content_changed(const struct as_json *object, const struct as_json *old)
{
	size_t n = 0;

	for (const struct as_json *m = object->first; m != NULL; m = m->next) {
		if (strcmp(m->name, "metadata") == 0 || strcmp(m->name, "status") == 0)
			continue;
		n++;
		if (!as_json_equal(m, as_json_get(old, m->name)))
			return true;
	}
	for (const struct as_json *m = old->first; m != NULL; m = m->next)
		if (strcmp(m->name, "metadata") != 0 && strcmp(m->name, "status") != 0)
			n--;
	return n != 0;
}

static void count_change(struct as_call *c, struct as_json *object, const struct as_json *old)
{
	struct as_json *metadata = as_json_get(object, "metadata");
	int64_t generation = 0;

	if (!c->resource->counts_changes || !content_changed(object, old))
		return;
	as_json_integer(metadata, "generation", &generation);
	as_json_set_integer(c->arena, metadata, "generation", generation + 1);
}

/* Replace `current`, whose tree is `old`, by `object`. */
static int replace(struct as_call *c, struct as_json *object, struct as_object *current,
                   const struct as_json *old)
{
	const struct as_strategy *strategy = c->resource->strategy;
	bool status = c->subresource != NULL;
	struct as_json *metadata;

	if (as_check_type(c, object) < 0)
		return -1;
	as_json_drop_nulls(object);
	metadata = as_metadata(c, object);
	if (metadata == NULL || check_names(c, metadata) < 0 ||
	    check_preconditions(c, metadata, current) < 0)
		return -1;
	as_drop_empty(metadata);
	object = keep_other_half(c, object, old, status);
	keep_metadata(c, as_json_get(object, "metadata"), as_json_get(old, "metadata"));
	as_validate_metadata(c, object);
	if (strategy != NULL && strategy->update != NULL &&
	    strategy->update(c, object, old, status) < 0)
		return -1;
	if (as_refuse_invalid(c, c->name) < 0)
		return -1;
	count_change(c, object, old);
	if (as_json_equal(object, old))
		return as_answer_object(c, 200, current);
	if (c->dry_run)
		return as_answer_tree(c, 200, object);
	return as_answer_object(c, 200, as_commit(c->api, c->resource, c->arena, object, c->now_ns));
}

int as_update(struct as_call *c)
{
	struct as_object *current =
		as_index_find(&c->resource->index, as_object_key(c->arena, c->namespace, c->name));
	struct as_json *object = as_body(c), *metadata;

	if (object == NULL)
		return -1;
	if (current == NULL && c->resource->upserts && c->subresource == NULL) {
		metadata = as_metadata(c, object);
		if (metadata == NULL || check_names(c, metadata) < 0)
			return -1;
		return as_create_object(c, object);
	}
	if (current == NULL)
		return as_refuse_not_found(c, c->resource, c->name);
	return replace(c, object, current, as_object_tree(c->arena, current));
}

static int read_patch(struct as_call *c, bool *strategic, struct as_json **patch)
{
	const char *type = c->request->content_type, *error = NULL;

	*strategic = type != NULL && as_media_type_is(type, "application/strategic-merge-patch+json");
	if (*strategic ? c->resource->custom
	               : type == NULL || !as_media_type_is(type, "application/merge-patch+json"))
		return as_refuse_media_type(c);
	*patch = as_json_parse(c->arena, c->request->body, c->request->body_bytes, &error);
	if (*patch == NULL || (*patch)->kind != AS_OBJECT)
		return as_refuse_bad(c, "error decoding patch: %s",
		                     error != NULL ? error : "not an object");
	return 0;
}

int as_patch(struct as_call *c)
{
	struct as_object *current =
		as_index_find(&c->resource->index, as_object_key(c->arena, c->namespace, c->name));
	struct as_json *object, *patch = NULL, *old;
	const char *error = NULL;
	bool strategic = false;

	if (read_patch(c, &strategic, &patch) < 0)
		return -1;
	if (current == NULL)
		return as_refuse_not_found(c, c->resource, c->name);
	old = as_object_tree(c->arena, current);
	object = as_json_copy(c->arena, old);
	as_json_set_string(c->arena, object, "kind", c->resource->kind);
	as_json_set_string(c->arena, object, "apiVersion", c->resource->api_version);
	if (!strategic)
		object = as_json_merge(c->arena, object, patch);
	else if (!as_strategic_merge(c->arena, object, patch, &error))
		return as_refuse(c, 500, "", "%s", error);
	return replace(c, object, current, old);
}
