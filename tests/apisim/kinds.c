/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces, events, leases, priority classes. */
#include "tests/apisim/kinds.h"

#include "tests/apisim/meta.h"

#include <string.h>

static int namespace_create(struct as_call *c, struct as_json *object)
{
	struct as_arena *a = c->arena;
	struct as_json *metadata = as_json_get(object, "metadata");
	struct as_json *spec = as_json_member(a, object, "spec", AS_OBJECT);
	struct as_json *status = as_json_new(a, AS_OBJECT), *labels, *finalizers;
	const char *name = as_json_string(metadata, "name");

	labels = as_json_member(a, metadata, "labels", AS_OBJECT);
	if (labels != NULL && name != NULL)
		as_json_set_string(a, labels, "kubernetes.io/metadata.name", name);
	finalizers = spec != NULL ? as_json_member(a, spec, "finalizers", AS_ARRAY) : NULL;
	if (finalizers != NULL && finalizers->first == NULL)
		as_json_append(finalizers, as_json_new_string(a, "kubernetes"));
	as_json_set_string(a, status, "phase", "Active");
	as_json_set(a, object, "status", status);
	return 0;
}

static int namespace_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                            bool status)
{
	return as_check_status(c, object);
}

const struct as_strategy as_namespace_strategy = { .create = namespace_create,
	                                               .update = namespace_update };

static void require_text(struct as_call *c, const struct as_json *object, const char *name)
{
	const char *value = as_json_string(object, name);

	if (value == NULL || value[0] == '\0')
		as_invalid(c, "FieldValueRequired", name, "Required value");
	else if (strlen(value) > 128)
		as_invalid(c, "FieldValueInvalid", name,
		           "Invalid value: \"%s\": can have at most 128 characters", value);
}

/* As legacyValidateEvent(): without eventTime little else is looked at. */
static void validate_event(struct as_call *c, const struct as_json *object)
{
	const char *namespace = as_json_string(as_json_get(object, "metadata"), "namespace");
	const char *regarding = as_json_string(as_json_get(object, "regarding"), "namespace");
	const char *controller = as_json_string(object, "reportingController");
	const char *note = as_json_string(object, "note");
	bool timed = as_json_string(object, "eventTime") != NULL, none;

	regarding = regarding != NULL ? regarding : "";
	namespace = namespace != NULL ? namespace : "";
	none = regarding[0] == '\0';
	if (none
	        ? strcmp(namespace, "default") != 0 && !(timed && strcmp(namespace, "kube-system") == 0)
	        : !timed && strcmp(namespace, regarding) != 0)
		as_invalid(c, "FieldValueInvalid", "involvedObject.namespace",
		           "Invalid value: \"%s\": does not match event.namespace", regarding);
	if (!timed) {
		as_invalid(c, "FieldValueRequired", "eventTime", "Required value");
		return;
	}
	require_text(c, object, "reportingController");
	if (!as_label_name_valid(controller != NULL ? controller : ""))
		as_invalid(c, "FieldValueInvalid", "reportingController",
		           "Invalid value: \"%s\": not a qualified name",
		           controller != NULL ? controller : "");
	require_text(c, object, "reportingInstance");
	require_text(c, object, "action");
	require_text(c, object, "reason");
	if (note != NULL && strlen(note) > 1024)
		as_invalid(c, "FieldValueInvalid", "message",
		           "Invalid value: \"\": can have at most 1024 characters");
}

static int event_create(struct as_call *c, struct as_json *object)
{
	const char *type = as_json_string(object, "type");

	validate_event(c, object);
	if (type == NULL || (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0))
		as_invalid(c, "FieldValueInvalid", "type", "Invalid value: \"\": has invalid value: %s",
		           type != NULL ? type : "");
	return 0;
}

/* An event is immutable but for its series. */
static int event_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                        bool status)
{
	/* Named as the core kind names them. */
	static const char *const fixed[][2] = {
		{ "regarding", "involvedObject" },
		{ "related", "related" },
		{ "reason", "reason" },
		{ "action", "action" },
		{ "type", "type" },
		{ "note", "message" },
		{ "eventTime", "eventTime" },
		{ "reportingController", "reportingController" },
		{ "reportingInstance", "reportingInstance" },
	};

	validate_event(c, object);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (!as_json_equal(as_json_get(object, fixed[i][0]), as_json_get(old, fixed[i][0])))
			as_invalid(c, "FieldValueInvalid", fixed[i][1], "Invalid value: field is immutable");
	return 0;
}

const struct as_strategy as_event_strategy = { .create = event_create, .update = event_update };

void as_event_view(struct as_arena *a, struct as_json *object)
{
	static const char *const names[][2] = {
		{ "regarding", "involvedObject" },
		{ "note", "message" },
		{ "deprecatedSource", "source" },
		{ "deprecatedFirstTimestamp", "firstTimestamp" },
		{ "deprecatedLastTimestamp", "lastTimestamp" },
		{ "deprecatedCount", "count" },
		{ "reportingController", "reportingComponent" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct as_json *value = as_json_get(object, names[i][0]);

		if (value == NULL)
			continue;
		value = as_json_copy(a, value);
		as_json_remove(object, names[i][0]);
		as_json_set(a, object, names[i][1], value);
	}
}

static void validate_lease(struct as_call *c, const struct as_json *object)
{
	const struct as_json *spec = as_json_get(object, "spec");
	int64_t value;

	if (as_json_integer(spec, "leaseDurationSeconds", &value) && value <= 0)
		as_invalid(c, "FieldValueInvalid", "spec.leaseDurationSeconds",
		           "Invalid value: %lld: must be greater than 0", (long long)value);
	if (as_json_integer(spec, "leaseTransitions", &value) && value < 0)
		as_invalid(c, "FieldValueInvalid", "spec.leaseTransitions",
		           "Invalid value: %lld: must be greater than or equal to 0", (long long)value);
}

static int lease_create(struct as_call *c, struct as_json *object)
{
	validate_lease(c, object);
	return 0;
}

static int lease_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                        bool status)
{
	validate_lease(c, object);
	return 0;
}

const struct as_strategy as_lease_strategy = { .create = lease_create, .update = lease_update };

static int class_create(struct as_call *c, struct as_json *object)
{
	const char *name;
	int64_t value;

	name = as_json_string(as_json_get(object, "metadata"), "name");
	as_json_default_string(c->arena, object, "preemptionPolicy", "PreemptLowerPriority");
	if (!as_json_integer(object, "value", &value)) {
		as_json_set_integer(c->arena, object, "value", 0);
		value = 0;
	}
	if (value > 1000000000 && name != NULL && strncmp(name, "system-", 7) != 0)
		as_invalid(c, "FieldValueForbidden", "value",
		           "Forbidden: maximum allowed value of a user defined priority is 1000000000");
	return 0;
}

static int class_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                        bool status)
{
	if (!as_json_equal(as_json_get(object, "value"), as_json_get(old, "value")))
		as_invalid(c, "FieldValueForbidden", "value",
		           "Forbidden: may not be changed in an update.");
	return 0;
}

const struct as_strategy as_priority_class_strategy = { .create = class_create,
	                                                    .update = class_update };
