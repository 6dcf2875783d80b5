/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a pod's spec: what a test of a scheduler can get wrong, with
 * the fields and reasons of the real server. */
#include "tests/apisim/meta.h"
#include "tests/apisim/pod.h"
#include "tests/apisim/quantity.h"

#include <string.h>

static bool is_extended(const char *name)
{
	static const char *const native[] = { "cpu", "memory", "ephemeral-storage", "storage", "pods" };

	for (size_t i = 0; i < sizeof(native) / sizeof(native[0]); i++)
		if (strcmp(native[i], name) == 0)
			return false;
	return strncmp(name, "hugepages-", 10) != 0;
}

static void validate_amount(struct as_call *c, const struct as_json *m, const char *field)
{
	struct as_quantity q = { 0 };

	as_quantity_parse(m->text, &q);
	if (q.nano < 0)
		as_invalid(c, "FieldValueInvalid", field,
		           "Invalid value: \"%s\": must be greater than or equal to 0", m->text);
	else if (is_extended(m->name) && strchr(m->name, '/') == NULL)
		as_invalid(c, "FieldValueInvalid", field,
		           "Invalid value: \"%s\": must be a standard resource type or fully qualified",
		           m->name);
	else if (is_extended(m->name) && q.nano % 1000000000 != 0)
		as_invalid(c, "FieldValueInvalid", field, "Invalid value: \"%s\": must be an integer",
		           m->text);
}

static void validate_resources(struct as_call *c, const struct as_json *resources, const char *path)
{
	const struct as_json *limits = as_json_get(resources, "limits"),
						 *requests = as_json_get(resources, "requests");

	for (const struct as_json *m = limits != NULL ? limits->first : NULL; m != NULL; m = m->next)
		validate_amount(c, m, as_arena_printf(c->arena, "%s.limits[%s]", path, m->name));
	for (const struct as_json *m = requests != NULL ? requests->first : NULL; m != NULL;
	     m = m->next) {
		const struct as_json *limit = as_json_get(limits, m->name);
		const char *field = as_arena_printf(c->arena, "%s.requests[%s]", path, m->name);
		struct as_quantity q = { 0 }, most = { 0 };

		validate_amount(c, m, field);
		as_quantity_parse(m->text, &q);
		if (limit != NULL)
			as_quantity_parse(limit->text, &most);
		if (limit != NULL && is_extended(m->name) && q.nano != most.nano)
			as_invalid(c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.requests", path),
			           "Invalid value: \"%s\": must be equal to %s limit of %s", m->text, m->name,
			           limit->text);
		else if (limit != NULL && q.nano > most.nano)
			as_invalid(c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.requests", path),
			           "Invalid value: \"%s\": must be less than or equal to %s limit of %s",
			           m->text, m->name, limit->text);
		else if (limit == NULL && is_extended(m->name) && strchr(m->name, '/') != NULL)
			as_invalid(c, "FieldValueRequired", as_arena_printf(c->arena, "%s.limits", path),
			           "Required value: Limit must be set for non overcommitable resources");
	}
}

static void validate_containers(struct as_call *c, const struct as_json *list, const char *path)
{
	size_t i = 0;

	for (const struct as_json *e = list->first; e != NULL; e = e->next, i++) {
		const char *name = as_json_string(e, "name"), *image = as_json_string(e, "image");
		const char *at = as_arena_printf(c->arena, "%s[%zu]", path, i);

		if (name == NULL || name[0] == '\0')
			as_invalid(c, "FieldValueRequired", as_arena_printf(c->arena, "%s.name", at),
			           "Required value");
		else if (!as_name_valid(name, false, 63))
			as_invalid(
				c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.name", at),
				"Invalid value: \"%s\": a lowercase RFC 1123 label must consist of lower case "
				"alphanumeric characters or '-'",
				name);
		for (const struct as_json *o = list->first; name != NULL && o != e; o = o->next)
			if (as_json_string(o, "name") != NULL && strcmp(as_json_string(o, "name"), name) == 0) {
				as_invalid(c, "FieldValueDuplicate", as_arena_printf(c->arena, "%s.name", at),
				           "Duplicate value: \"%s\"", name);
				break;
			}
		if (image == NULL || image[0] == '\0')
			as_invalid(c, "FieldValueRequired", as_arena_printf(c->arena, "%s.image", at),
			           "Required value");
		validate_resources(c, as_json_get(e, "resources"),
		                   as_arena_printf(c->arena, "%s.resources", at));
	}
}

static bool one_of(const char *value, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(value, *list) == 0)
			return true;
	return false;
}

static const char *text_of(const struct as_json *object, const char *name)
{
	const char *text = as_json_string(object, name);

	return text != NULL ? text : "";
}

static void validate_toleration(struct as_call *c, const struct as_json *t, const char *path)
{
	static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute",
		                                   NULL };
	static const char *const operators[] = { "", "Equal", "Exists", NULL };
	const char *operator_field = as_arena_printf(c->arena, "%s.operator", path);
	const char *effect_field = as_arena_printf(c->arena, "%s.effect", path);
	const char *key = text_of(t, "key"), *operator= text_of(t, "operator"),
			   *effect = text_of(t, "effect");
	bool exists = strcmp(operator, "Exists") == 0;
	int64_t seconds;

	if (key[0] != '\0' && !as_label_name_valid(key))
		as_invalid(c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.key", path),
		           "Invalid value: \"%s\": not a label name", key);
	if (key[0] == '\0' && !exists)
		as_invalid(
			c, "FieldValueInvalid", operator_field,
			"Invalid value: \"%s\": operator must be Exists when `key` is empty, which means \"match all "
			"values and all keys\"",
			operator);
	if (as_json_integer(t, "tolerationSeconds", &seconds) && strcmp(effect, "NoExecute") != 0)
		as_invalid(
			c, "FieldValueInvalid", effect_field,
			"Invalid value: \"%s\": effect must be 'NoExecute' when `tolerationSeconds` is set",
			effect);
	if (!one_of(operator, operators))
		as_invalid(c, "FieldValueNotSupported", operator_field,
		           "Unsupported value: \"%s\"", operator);
	else if (exists && text_of(t, "value")[0] != '\0')
		as_invalid(c, "FieldValueInvalid", operator_field,
		           "Invalid value: \"%s\": value must be empty when `operator` is 'Exists'",
		           text_of(t, "value"));
	else if (!exists && !as_label_value_valid(text_of(t, "value")))
		as_invalid(c, "FieldValueInvalid", operator_field,
		           "Invalid value: \"%s\": not a label value", text_of(t, "value"));
	if (!one_of(effect, effects))
		as_invalid(c, "FieldValueNotSupported", effect_field, "Unsupported value: \"%s\"", effect);
}

static void validate_gates(struct as_call *c, const struct as_json *gates)
{
	size_t i = 0;

	for (const struct as_json *e = gates->first; e != NULL; e = e->next, i++) {
		const char *at = as_arena_printf(c->arena, "spec.schedulingGates[%zu]", i);

		if (!as_label_name_valid(text_of(e, "name")))
			as_invalid(c, "FieldValueInvalid", at, "Invalid value: \"%s\": not a qualified name",
			           text_of(e, "name"));
		for (const struct as_json *o = gates->first; o != e; o = o->next)
			if (strcmp(text_of(o, "name"), text_of(e, "name")) == 0) {
				as_invalid(c, "FieldValueDuplicate", at, "Duplicate value: \"%s\"",
				           text_of(e, "name"));
				break;
			}
	}
}

static void validate_node_selector(struct as_call *c, const struct as_json *map)
{
	for (const struct as_json *m = map->first; m != NULL; m = m->next) {
		if (!as_label_name_valid(m->name))
			as_invalid(c, "FieldValueInvalid", "spec.nodeSelector",
			           "Invalid value: \"%s\": not a label name", m->name);
		if (m->kind != AS_STRING || !as_label_value_valid(m->text))
			as_invalid(c, "FieldValueInvalid", "spec.nodeSelector",
			           "Invalid value: \"%s\": not a label value",
			           m->kind == AS_STRING ? m->text : "");
	}
}

static void validate_expression(struct as_call *c, const struct as_json *e, const char *path)
{
	const struct as_json *values = as_json_array(e, "values");
	const char *field = as_arena_printf(c->arena, "%s.values", path),
			   *operator= text_of(e, "operator");
	bool none = values == NULL || values->first == NULL,
		 one = !none && values->first == values->last;

	if (strcmp(operator, "In") == 0 || strcmp(operator, "NotIn") == 0) {
		if (none)
			as_invalid(c, "FieldValueRequired", field,
			           "Required value: must be specified when `operator` is 'In' or 'NotIn'");
	} else if (strcmp(operator, "Exists") == 0 || strcmp(operator, "DoesNotExist") == 0) {
		if (!none)
			as_invalid(
				c, "FieldValueForbidden", field,
				"Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	} else if (strcmp(operator, "Gt") == 0 || strcmp(operator, "Lt") == 0) {
		if (!one)
			as_invalid(
				c, "FieldValueRequired", field,
				"Required value: must be specified single value when `operator` is 'Lt' or 'Gt'");
	} else {
		as_invalid(c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.operator", path),
		           "Invalid value: \"%s\": not a valid selector operator", operator);
	}
	if (!as_label_name_valid(text_of(e, "key")))
		as_invalid(c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.key", path),
		           "Invalid value: \"%s\": not a label name", text_of(e, "key"));
}

static void validate_term(struct as_call *c, const struct as_json *term, const char *path)
{
	const struct as_json *list = as_json_array(term, "matchExpressions");
	size_t i = 0;

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next, i++)
		validate_expression(c, e, as_arena_printf(c->arena, "%s.matchExpressions[%zu]", path, i));
}

static void validate_node_affinity(struct as_call *c, const struct as_json *affinity)
{
	static const char path[] = "spec.affinity.nodeAffinity.";
	static const char required_name[] = "requiredDuringSchedulingIgnoredDuringExecution";
	static const char preferred_name[] = "preferredDuringSchedulingIgnoredDuringExecution";
	const struct as_json *required = as_json_get(affinity, required_name), *list;
	size_t i = 0;

	list = as_json_array(required, "nodeSelectorTerms");
	if (required != NULL && (list == NULL || list->first == NULL))
		as_invalid(c, "FieldValueRequired",
		           as_arena_printf(c->arena, "%s%s.nodeSelectorTerms", path, required_name),
		           "Required value: must have at least one node selector term");
	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next, i++)
		validate_term(
			c, e, as_arena_printf(c->arena, "%s%s.nodeSelectorTerms[%zu]", path, required_name, i));

	list = as_json_array(affinity, preferred_name);
	i = 0;
	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next, i++) {
		int64_t weight = 0;

		as_json_integer(e, "weight", &weight);
		if (weight < 1 || weight > 100)
			as_invalid(c, "FieldValueInvalid",
			           as_arena_printf(c->arena, "%s%s[%zu].weight", path, preferred_name, i),
			           "Invalid value: %lld: must be in the range 1-100", (long long)weight);
		validate_term(c, as_json_get(e, "preference"),
		              as_arena_printf(c->arena, "%s%s[%zu].preference", path, preferred_name, i));
	}
}

static void validate_placement(struct as_call *c, const struct as_json *spec)
{
	const struct as_json *tolerations = as_json_array(spec, "tolerations"),
						 *gates = as_json_array(spec, "schedulingGates"),
						 *selector = as_json_get(spec, "nodeSelector"),
						 *affinity = as_json_find(spec, "affinity", "nodeAffinity", NULL);
	size_t i = 0;

	for (const struct as_json *t = tolerations != NULL ? tolerations->first : NULL; t != NULL;
	     t = t->next, i++)
		validate_toleration(c, t, as_arena_printf(c->arena, "spec.tolerations[%zu]", i));
	if (gates != NULL)
		validate_gates(c, gates);
	if (gates != NULL && gates->first != NULL && text_of(spec, "nodeName")[0] != '\0')
		as_invalid(c, "FieldValueForbidden", "spec.nodeName",
		           "Forbidden: cannot be set until all schedulingGates have been cleared");
	if (selector != NULL)
		validate_node_selector(c, selector);
	if (affinity != NULL)
		validate_node_affinity(c, affinity);
}

void as_pod_validate(struct as_call *c, const struct as_json *spec)
{
	static const char *const policies[] = { "Always", "OnFailure", "Never", NULL };
	const struct as_json *containers = as_json_array(spec, "containers"),
						 *init = as_json_array(spec, "initContainers");
	const char *policy = as_json_string(spec, "restartPolicy"),
			   *node = as_json_string(spec, "nodeName");

	if (containers == NULL || containers->first == NULL)
		as_invalid(c, "FieldValueRequired", "spec.containers", "Required value");
	else
		validate_containers(c, containers, "spec.containers");
	if (init != NULL)
		validate_containers(c, init, "spec.initContainers");
	validate_resources(c, as_json_get(spec, "resources"), "spec.resources");
	validate_placement(c, spec);
	if (policy == NULL || !one_of(policy, policies))
		as_invalid(
			c, "FieldValueNotSupported", "spec.restartPolicy",
			"Unsupported value: \"%s\": supported values: \"Always\", \"Never\", \"OnFailure\"",
			policy != NULL ? policy : "");
	if (node != NULL && node[0] != '\0' && !as_name_valid(node, true, 253))
		as_invalid(c, "FieldValueInvalid", "spec.nodeName", "Invalid value: \"%s\"", node);
}
