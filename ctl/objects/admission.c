/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/admission.h"

#include "frontend/base/bytes.h"
#include "ctl/term/ctl.h"
#include "ctl/objects/json_check.h"
#include "frontend/json/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct priority_class {
	const char *name;
	int32_t value;
};

/* Raw JSON texts; `at` is NULL for a field that the class does not have. */
struct runtime_class {
	const char *name;
	struct text overhead;
	struct text node_selector;
	struct text tolerations;
};

struct admission {
	struct priority_class *priorities;
	size_t priorities_n;
	bool has_default;
	int32_t default_value;
	struct runtime_class *runtimes;
	size_t runtimes_n;
	struct arena arena; /* of the object in work */
	struct bytes made;  /* the last result of admission_pod() */
};

/* Fields of a pod; texts are pieces of its JSON. */
struct places {
	bool has_uid; /* already admitted by an API server */
	bool is_bound;
	bool has_priority;
	bool has_overhead;
	struct text priority_class;
	struct text runtime_class;
	struct text spec; /* raw, as those below; `at` is NULL: no such field */
	struct text node_selector;
	struct text tolerations;
};

/* A text to insert before a byte of the pod's JSON. */
struct edit {
	const char *before;
	struct bytes text;
};

enum { EDIT_SELECTOR, EDIT_TOLERATIONS, EDIT_SPEC, EDITS };

struct admission *admission_new(void)
{
	return must_alloc(sizeof(struct admission));
}

void admission_free(struct admission *a)
{
	if (a == NULL)
		return;
	free(a->priorities);
	free(a->runtimes);
	arena_free(&a->arena);
	bytes_free(&a->made);
	free(a);
}

bool admission_takes(const struct object *object)
{
	return (strcmp(object->kind, "PriorityClass") == 0 &&
	        strncmp(object->api_version, "scheduling.k8s.io/", 18) == 0) ||
	       (strcmp(object->kind, "RuntimeClass") == 0 &&
	        strncmp(object->api_version, "node.k8s.io/", 12) == 0);
}

/* "FILE: items[3]: Pod ns/name: ..." */
__attribute__((format(printf, 4, 5))) static bool fail(const struct object *o, char *error,
                                                       size_t error_bytes, const char *format, ...)
{
	char where[512], what[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(error, error_bytes, "%s: %s %s%s%s: %s", object_where(o, where, sizeof(where)),
	         o->kind, o->namespace, o->namespace[0] != '\0' ? "/" : "", o->name, what);
	return false;
}

/* True if the whole object was read; else sets the error. */
static bool read_whole_object(struct json *j, const struct object *o, char *error,
                              size_t error_bytes)
{
	char path[256];

	if (json_end(j))
		return true;
	json_path(j, path, sizeof(path));
	return fail(o, error, error_bytes, "%s: %s", path, j->error);
}

/* Only a field that is present and not null. */
static void read_raw_value(struct json *j, void *out)
{
	if (!json_null(j))
		json_raw(j, out);
}

/* Whether it is present and not null. */
static void read_presence(struct json *j, void *out)
{
	bool *has = out;

	*has = !json_null(j);
	if (*has)
		json_skip(j);
}

/* Whether it is a text that is not empty. */
static void read_has_text(struct json *j, void *out)
{
	struct text value;

	*(bool *)out = json_string(j, &value) && value.bytes > 0;
}

/* Every API server has these two. */
static const struct priority_class system_classes[] = {
	{ "system-cluster-critical", 2000000000 },
	{ "system-node-critical", 2000001000 },
};

struct priority_object {
	int64_t value;
	bool has_value, is_default;
};

static void read_priority(struct json *j, void *object)
{
	struct priority_object *o = object;

	o->has_value = !json_null(j) && json_int64(j, &o->value);
}

static const struct json_field priority_fields[] = {
	JSON_WHOLE("value", read_priority),
	JSON_FIELD("globalDefault", json_field_bool, struct priority_object, is_default),
};

static bool put_priority_class(struct admission *a, const struct object *class, char *error,
                               size_t error_bytes)
{
	struct priority_object o = { 0 };
	struct json j;

	json_begin(&j, class->json.at, class->json.bytes, &a->arena);
	json_fields(&j, priority_fields, &o);
	if (!read_whole_object(&j, class, error, error_bytes))
		return false;
	if (!o.has_value)
		return fail(class, error, error_bytes, "value is missing");
	if (o.value < INT32_MIN || o.value > INT32_MAX)
		return fail(class, error, error_bytes, "value: %" PRId64 " does not fit in 32 bits",
		            o.value);
	a->priorities = must_grow(a->priorities, (a->priorities_n + 1) * sizeof(*a->priorities));
	a->priorities[a->priorities_n++] = (struct priority_class){ class->name, (int32_t)o.value };
	/* Of several defaults the API server takes the lowest (admission plugin Priority). */
	if (o.is_default && (!a->has_default || o.value < a->default_value)) {
		a->has_default = true;
		a->default_value = (int32_t)o.value;
	}
	return true;
}

static const struct json_field overhead_fields[] = {
	JSON_FIELD("podFixed", read_raw_value, struct runtime_class, overhead),
};

static const struct json_field scheduling_fields[] = {
	JSON_FIELD("nodeSelector", read_raw_value, struct runtime_class, node_selector),
	JSON_FIELD("tolerations", read_raw_value, struct runtime_class, tolerations),
};

static const struct json_field runtime_fields[] = {
	JSON_NESTED("overhead", overhead_fields),
	JSON_NESTED("scheduling", scheduling_fields),
};

static bool put_runtime_class(struct admission *a, const struct object *class, char *error,
                              size_t error_bytes)
{
	struct runtime_class c = { .name = class->name };
	struct json j;

	json_begin(&j, class->json.at, class->json.bytes, &a->arena);
	json_fields(&j, runtime_fields, &c);
	if (!read_whole_object(&j, class, error, error_bytes))
		return false;
	if (c.overhead.at != NULL && c.overhead.at[0] != '{')
		return fail(class, error, error_bytes, "overhead.podFixed: not an object");
	if (c.node_selector.at != NULL && c.node_selector.at[0] != '{')
		return fail(class, error, error_bytes, "scheduling.nodeSelector: not an object");
	if (c.tolerations.at != NULL && c.tolerations.at[0] != '[')
		return fail(class, error, error_bytes, "scheduling.tolerations: not an array");
	a->runtimes = must_grow(a->runtimes, (a->runtimes_n + 1) * sizeof(*a->runtimes));
	a->runtimes[a->runtimes_n++] = c;
	return true;
}

bool admission_put(struct admission *a, const struct object *class, char *error, size_t error_bytes)
{
	bool ok;

	if (strcmp(class->kind, "PriorityClass") == 0)
		ok = put_priority_class(a, class, error, error_bytes);
	else
		ok = put_runtime_class(a, class, error, error_bytes);
	arena_reset(&a->arena);
	return ok;
}

static const struct json_field spec_fields[] = {
	JSON_FIELD("nodeName", read_has_text, struct places, is_bound),
	JSON_FIELD("priority", read_presence, struct places, has_priority),
	JSON_FIELD("overhead", read_presence, struct places, has_overhead),
	JSON_FIELD("priorityClassName", json_field_text, struct places, priority_class),
	JSON_FIELD("runtimeClassName", json_field_text, struct places, runtime_class),
	JSON_FIELD("nodeSelector", read_raw_value, struct places, node_selector),
	JSON_FIELD("tolerations", read_raw_value, struct places, tolerations),
};

static void read_spec(struct json *j, void *places)
{
	const char *from = json_blank(j->at, j->end);
	struct places *p = places;

	json_fields(j, spec_fields, p);
	p->spec = (struct text){ from, (size_t)(j->at - from) };
}

static const struct json_field metadata_fields[] = {
	JSON_FIELD("uid", read_has_text, struct places, has_uid),
};

static const struct json_field pod_fields[] = {
	JSON_NESTED("metadata", metadata_fields),
	JSON_WHOLE("spec", read_spec),
};

static bool read_places(struct admission *a, const struct object *pod, struct places *p,
                        char *error, size_t error_bytes)
{
	struct json j;

	json_begin(&j, pod->json.at, pod->json.bytes, &a->arena);
	json_fields(&j, pod_fields, p);
	return read_whole_object(&j, pod, error, error_bytes);
}

static void add_member(struct edit *edit, const char *name)
{
	bytes_put(&edit->text, ",\"");
	bytes_put(&edit->text, name);
	bytes_put(&edit->text, "\":");
}

static bool add_priority(const struct admission *a, const struct places *p,
                         const struct object *pod, struct edit *edits, char *error,
                         size_t error_bytes)
{
	const struct priority_class *found = NULL;
	char number[32];

	for (size_t i = 0; i < sizeof(system_classes) / sizeof(system_classes[0]); i++)
		if (text_is(p->priority_class, system_classes[i].name))
			found = &system_classes[i];
	for (size_t i = 0; i < a->priorities_n; i++)
		if (text_is(p->priority_class, a->priorities[i].name))
			found = &a->priorities[i];
	if (found == NULL && p->priority_class.bytes > 0)
		return fail(pod, error, error_bytes,
		            "spec.priorityClassName: \"%.*s\": no PriorityClass has that name",
		            p->priority_class.bytes > 250 ? 250 : (int)p->priority_class.bytes,
		            p->priority_class.at);
	if (found == NULL && !a->has_default)
		return true;
	snprintf(number, sizeof(number), "%" PRId32, found != NULL ? found->value : a->default_value);
	add_member(&edits[EDIT_SPEC], "priority");
	bytes_put(&edits[EDIT_SPEC].text, number);
	return true;
}

/* True if there is nothing between the brackets. */
static bool is_empty(struct text raw)
{
	return json_blank(raw.at + 1, raw.at + raw.bytes) == raw.at + raw.bytes - 1;
}

/* Appends the items of `more` to those of `raw`, which may be absent. */
static void join(struct edit *edits, int edit, struct text raw, const char *member,
                 struct text more)
{
	if (raw.at == NULL) {
		add_member(&edits[EDIT_SPEC], member);
		bytes_add(&edits[EDIT_SPEC].text, more.at, more.bytes);
		return;
	}
	if (raw.at[0] != more.at[0])
		return; /* decode/ reports what is wrong with the pod */
	edits[edit].before = raw.at + raw.bytes - 1;
	if (!is_empty(raw) && !is_empty(more))
		bytes_put(&edits[edit].text, ",");
	bytes_add(&edits[edit].text, more.at + 1, more.bytes - 2);
}

/* The value of the key in a map of texts. */
static bool find_pair(struct arena *arena, struct text map, struct text key, struct text *value)
{
	struct text name;
	struct json j;
	bool found = false;

	json_begin(&j, map.at, map.bytes, arena);
	if (!json_object(&j))
		return false;
	while (json_key(&j, &name)) {
		if (name.bytes == key.bytes && memcmp(name.at, key.at, key.bytes) == 0)
			found = json_string(&j, value);
		else
			json_skip(&j);
	}
	return found && !j.failed;
}

/* The API server refuses a pod whose value differs from its class (admission plugin
 * RuntimeClass). */
static bool selectors_agree(struct admission *a, const struct places *p,
                            const struct runtime_class *class, const struct object *pod,
                            char *error, size_t error_bytes)
{
	struct text key, wanted, given;
	struct json j;

	if (p->node_selector.at == NULL || p->node_selector.at[0] != '{')
		return true;
	json_begin(&j, class->node_selector.at, class->node_selector.bytes, &a->arena);
	if (!json_object(&j))
		return true;
	while (json_key(&j, &key)) {
		if (!json_string(&j, &wanted) || !find_pair(&a->arena, p->node_selector, key, &given))
			continue;
		if (given.bytes != wanted.bytes || memcmp(given.at, wanted.at, given.bytes) != 0)
			return fail(
				pod, error, error_bytes,
				"spec.nodeSelector[\"%.*s\"]: \"%.*s\": its RuntimeClass %s asks for \"%.*s\"",
				(int)key.bytes, key.at, (int)given.bytes, given.at, class->name, (int)wanted.bytes,
				wanted.at);
	}
	return true;
}

static bool add_runtime(struct admission *a, const struct places *p, const struct object *pod,
                        struct edit *edits, char *error, size_t error_bytes)
{
	const struct runtime_class *class = NULL;

	for (size_t i = 0; i < a->runtimes_n; i++)
		if (text_is(p->runtime_class, a->runtimes[i].name))
			class = &a->runtimes[i];
	if (class == NULL)
		return fail(pod, error, error_bytes,
		            "spec.runtimeClassName: \"%.*s\": no RuntimeClass has that name",
		            p->runtime_class.bytes > 250 ? 250 : (int)p->runtime_class.bytes,
		            p->runtime_class.at);
	if (class->overhead.at != NULL && !p->has_overhead) {
		add_member(&edits[EDIT_SPEC], "overhead");
		bytes_add(&edits[EDIT_SPEC].text, class->overhead.at, class->overhead.bytes);
	}
	if (class->node_selector.at != NULL) {
		if (!selectors_agree(a, p, class, pod, error, error_bytes))
			return false;
		join(edits, EDIT_SELECTOR, p->node_selector, "nodeSelector", class->node_selector);
	}
	if (class->tolerations.at != NULL)
		join(edits, EDIT_TOLERATIONS, p->tolerations, "tolerations", class->tolerations);
	return true;
}

static int compare_edits(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return (x->before > y->before) - (x->before < y->before);
}

static void make(struct admission *a, struct text json, struct edit *edits)
{
	const char *from = json.at;

	a->made.n = 0;
	qsort(edits, EDITS, sizeof(edits[0]), compare_edits);
	for (int i = 0; i < EDITS; i++) {
		if (edits[i].text.n == 0)
			continue;
		bytes_add(&a->made, from, (size_t)(edits[i].before - from));
		bytes_add(&a->made, edits[i].text.at, edits[i].text.n);
		from = edits[i].before;
	}
	bytes_add(&a->made, from, (size_t)(json.at + json.bytes - from));
}

bool admission_pod(struct admission *a, const struct object *pod, struct text *out, char *error,
                   size_t error_bytes)
{
	struct edit edits[EDITS] = { 0 };
	struct places p = { 0 };
	bool ok = true;

	*out = pod->json;
	if (!read_places(a, pod, &p, error, error_bytes)) {
		arena_reset(&a->arena);
		return false;
	}
	/* An empty spec is left to the API server's validation, and a comma would be wrong in it. */
	if (p.spec.at != NULL && p.spec.at[0] == '{' && !is_empty(p.spec)) {
		edits[EDIT_SPEC].before = p.spec.at + p.spec.bytes - 1;
		if (!p.is_bound && !p.has_priority)
			ok = add_priority(a, &p, pod, edits, error, error_bytes);
		if (ok && !p.has_uid && p.runtime_class.bytes > 0)
			ok = add_runtime(a, &p, pod, edits, error, error_bytes);
	}
	for (int i = 0; ok && i < EDITS; i++) {
		if (edits[i].text.n > 0) {
			make(a, pod->json, edits);
			*out = (struct text){ a->made.at, a->made.n };
			break;
		}
	}
	for (int i = 0; i < EDITS; i++)
		bytes_free(&edits[i].text);
	arena_reset(&a->arena);
	return ok;
}
