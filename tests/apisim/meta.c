/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata that the server fills in and guards, and what a write brings with it. */
#include "tests/apisim/meta.h"

#include "tests/apisim/kinds.h"

#include <stdio.h>
#include <string.h>

bool as_name_valid(const char *name, bool dots, size_t longest)
{
	size_t n = strlen(name);
	char before = '.';

	if (n == 0 || n > longest)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!alnum && c != '-' && !(c == '.' && dots))
			return false;
		/* A label neither begins nor ends with a dash. */
		if ((before == '.' && !alnum) || (c == '.' && before == '-'))
			return false;
		before = c;
	}
	return before != '-' && before != '.';
}

static bool qualified_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, at most 63 bytes. */
static bool plain_name(const char *text, size_t n)
{
	if (n == 0 || n > 63 || !qualified_byte(text[0]) || !qualified_byte(text[n - 1]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!qualified_byte(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
			return false;
	return true;
}

void as_drop_empty(struct as_json *metadata)
{
	static const char *const members[] = { "labels", "annotations", "finalizers",
		                                   "ownerReferences" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct as_json *m = as_json_get(metadata, members[i]);

		if (m != NULL && m->first == NULL)
			as_json_remove(metadata, members[i]);
	}
}

bool as_label_name_valid(const char *name)
{
	const char *slash = strchr(name, '/');
	char prefix[254];

	if (slash != NULL) {
		size_t n = (size_t)(slash - name);

		if (n >= sizeof(prefix))
			return false;
		memcpy(prefix, name, n);
		prefix[n] = '\0';
		if (!as_name_valid(prefix, true, 253))
			return false;
		name = slash + 1;
	}
	return plain_name(name, strlen(name));
}

bool as_label_value_valid(const char *value)
{
	return value[0] == '\0' || plain_name(value, strlen(value));
}

static bool check_texts(struct as_call *c, const struct as_json *metadata, const char *member)
{
	const struct as_json *map = as_json_get(metadata, member);

	if (map == NULL || map->kind == AS_NULL)
		return true;
	if (map->kind != AS_OBJECT)
		return false;
	for (const struct as_json *m = map->first; m != NULL; m = m->next)
		if (m->kind != AS_STRING)
			return false;
	return true;
}

struct as_json *as_metadata(struct as_call *c, struct as_json *object)
{
	struct as_json *metadata = as_json_member(c->arena, object, "metadata", AS_OBJECT);
	static const char *const texts[] = { "name", "generateName", "namespace", "uid",
		                                 "resourceVersion" };

	if (metadata == NULL)
		goto bad;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct as_json *m = as_json_get(metadata, texts[i]);

		if (m != NULL && m->kind == AS_NULL)
			as_json_remove(metadata, texts[i]);
		else if (m != NULL && m->kind != AS_STRING)
			goto bad;
	}
	if (!check_texts(c, metadata, "labels") || !check_texts(c, metadata, "annotations"))
		goto bad;
	return metadata;
bad:
	as_refuse_undecodable(c, "metadata has a member of the wrong type");
	return NULL;
}

int as_check_type(struct as_call *c, struct as_json *object)
{
	const char *kind = as_json_string(object, "kind"),
			   *version = as_json_string(object, "apiVersion");
	bool wrong_kind = kind != NULL && kind[0] != '\0' && strcmp(kind, c->resource->kind) != 0;
	bool wrong_version =
		version != NULL && version[0] != '\0' && strcmp(version, c->resource->api_version) != 0;

	if (c->resource->custom && (kind == NULL || version == NULL))
		return as_refuse_bad(
			c, "the object provided is unrecognized: apiVersion and kind must be set");
	if (c->resource->custom && wrong_kind && !wrong_version) {
		as_invalid(c, "FieldValueInvalid", "kind", "Invalid value: \"%s\": must be %s", kind,
		           c->resource->kind);
		return as_refuse_invalid_kind(c, c->resource->group, kind, kind,
		                              as_json_string(as_json_get(object, "metadata"), "name"));
	}
	if (wrong_kind || wrong_version)
		return as_refuse_bad(
			c, "the object provided is unrecognized (must be of type %s): it is %s %s",
			c->resource->kind, version != NULL ? version : "", kind != NULL ? kind : "");
	as_json_remove(object, "kind");
	as_json_remove(object, "apiVersion");
	return 0;
}

int as_check_status(struct as_call *c, const struct as_json *object)
{
	const struct as_json *status = as_json_get(object, "status"),
						 *list = as_json_get(status, "conditions");

	if (status != NULL && status->kind != AS_OBJECT)
		return as_refuse_undecodable(c, "status is not an object");
	if (list != NULL && list->kind != AS_ARRAY)
		return as_refuse_undecodable(c, "status.conditions is not a list");
	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next)
		if (e->kind != AS_OBJECT)
			return as_refuse_undecodable(c,
			                             "status.conditions has an element that is not an object");
	return 0;
}

void as_validate_metadata(struct as_call *c, const struct as_json *object)
{
	const struct as_json *metadata = as_json_get(object, "metadata");
	const struct as_json *labels = as_json_get(metadata, "labels");
	const char *name = as_json_string(metadata, "name");
	bool label = c->resource == c->api->namespaces;

	if (name == NULL || name[0] == '\0')
		as_invalid(c, "FieldValueRequired", "metadata.name",
		           "Required value: name or generateName is required");
	else if (!as_name_valid(name, !label, label ? 63 : 253))
		as_invalid(
			c, "FieldValueInvalid", "metadata.name",
			label ? "Invalid value: \"%s\": a lowercase RFC 1123 label must consist of lower case "
					"alphanumeric characters or '-', and must start and end with an alphanumeric "
					"character (e.g. 'my-name',  or '123-abc', regex used for validation is "
					"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
				  : "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower "
					"case alphanumeric characters, '-' or '.', and must start and end with an "
					"alphanumeric character (e.g. 'example.com', regex used for validation is "
					"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
			name);
	for (const struct as_json *m = labels != NULL && labels->kind == AS_OBJECT ? labels->first
	                                                                           : NULL;
	     m != NULL; m = m->next) {
		if (!as_label_name_valid(m->name))
			as_invalid(c, "FieldValueInvalid", "metadata.labels",
			           "Invalid value: \"%s\": not a label name", m->name);
		if (!as_label_value_valid(m->text))
			as_invalid(c, "FieldValueInvalid", "metadata.labels",
			           "Invalid value: \"%s\": not a label value", m->text);
	}
}

/* An object that is being deleted is removed with its last finalizer.  A pod also needs a grace
 * period of 0, and a namespace has to be empty: the kubelet and the namespace controller see to
 * that. */
static bool is_released(const struct as_api *api, const struct as_resource *resource,
                        const struct as_json *metadata)
{
	const struct as_json *finalizers = as_json_array(metadata, "finalizers");
	int64_t grace = 0;

	if (as_json_get(metadata, "deletionTimestamp") == NULL || resource == api->namespaces)
		return false;
	as_json_integer(metadata, "deletionGracePeriodSeconds", &grace);
	return grace == 0 && (finalizers == NULL || finalizers->first == NULL);
}

struct as_object *as_commit(struct as_api *api, struct as_resource *resource, struct as_arena *a,
                            struct as_json *tree, uint64_t now_ns)
{
	if (resource == api->crds)
		as_crd_stored(api, tree);
	if (is_released(api, resource, as_json_get(tree, "metadata")))
		return as_commit_removal(api, resource, a, tree);
	return as_store_write(api->store, resource, a, tree);
}

struct as_object *as_commit_removal(struct as_api *api, struct as_resource *resource,
                                    struct as_arena *a, struct as_json *tree)
{
	if (resource == api->crds)
		as_crd_removed(api, a, tree);
	return as_store_remove(api->store, resource, a, tree);
}
