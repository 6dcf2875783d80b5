#include "tests/apisim/requests.h"

#include "tests/apisim/meta.h"

#include "tests/apisim/quantity.h"

#include <string.h>

int64_t as_saturated_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

/* ---- reading --------------------------------------------------------- */

static struct as_amount *amount_of(struct as_arena *arena, struct as_amounts *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->at[i].name, name) == 0)
			return &a->at[i];
	if (a->n == a->room) {
		struct as_amount *more;

		a->room = a->room > 0 ? a->room * 2 : 8;
		more = as_arena_alloc(arena, a->room * sizeof(*more));
		if (a->n > 0)
			memcpy(more, a->at, a->n * sizeof(*more));
		a->at = more;
	}
	a->at[a->n] = (struct as_amount){.name = name};
	return &a->at[a->n++];
}

int64_t as_amounts_get(const struct as_amounts *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->at[i].name, name) == 0)
			return a->at[i].value;
	return 0;
}

/* What the store holds has been checked; what is no quantity counts as 0. */
static struct as_amounts read_amounts(struct as_arena *arena, const struct as_json *map)
{
	struct as_amounts out = {0};

	for (const struct as_json *m = map != NULL && map->kind == AS_OBJECT ? map->first : NULL; m != NULL;
	     m = m->next) {
		struct as_quantity q;

		if (m->kind != AS_STRING || !as_quantity_parse(m->text, &q))
			continue;
		amount_of(arena, &out, m->name)->value =
			strcmp(m->name, "cpu") == 0 ? as_quantity_milli(&q) : as_quantity_value(&q);
	}
	return out;
}

static void add(struct as_arena *arena, struct as_amounts *to, const struct as_amounts *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct as_amount *x = amount_of(arena, to, from->at[i].name);

		x->value = as_saturated_add(x->value, from->at[i].value);
	}
}

static void raise(struct as_arena *arena, struct as_amounts *to, const struct as_amounts *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct as_amount *x = amount_of(arena, to, from->at[i].name);

		if (x->value < from->at[i].value)
			x->value = from->at[i].value;
	}
}

static struct as_amounts container_requests(struct as_arena *arena, const struct as_json *container)
{
	return read_amounts(arena, as_json_find(container, "resources", "requests", NULL));
}

/* Containers and sidecars run together; an init container runs with the sidecars
 * that were started before it. */
static struct as_amounts init_requests(struct as_arena *arena, const struct as_json *spec, struct as_amounts *sum)
{
	const struct as_json *list = as_json_array(spec, "initContainers");
	struct as_amounts most = {0}, sidecars = {0};

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		struct as_amounts own = container_requests(arena, e), now = {0};
		const char *policy = as_json_string(e, "restartPolicy");

		if (policy != NULL && strcmp(policy, "Always") == 0) {
			add(arena, sum, &own);
			add(arena, &sidecars, &own);
			add(arena, &now, &sidecars);
		} else {
			add(arena, &now, &own);
			add(arena, &now, &sidecars);
		}
		raise(arena, &most, &now);
	}
	return most;
}

struct as_amounts as_pod_requests(struct as_arena *arena, const struct as_json *pod)
{
	const struct as_json *spec = as_json_get(pod, "spec"), *list = as_json_array(spec, "containers");
	struct as_amounts sum = {0}, init, own, overhead;

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		own = container_requests(arena, e);
		add(arena, &sum, &own);
	}
	init = init_requests(arena, spec, &sum);
	raise(arena, &sum, &init);
	own = read_amounts(arena, as_json_find(spec, "resources", "requests", NULL));
	for (size_t i = 0; i < own.n; i++) /* pod-level requests stand for all containers */
		amount_of(arena, &sum, own.at[i].name)->value = own.at[i].value;
	overhead = read_amounts(arena, as_json_get(spec, "overhead"));
	add(arena, &sum, &overhead);
	amount_of(arena, &sum, "pods")->value = 1;
	return sum;
}

struct as_amounts as_node_allocatable(struct as_arena *arena, const struct as_json *node)
{
	return read_amounts(arena, as_json_find(node, "status", "allocatable", NULL));
}

/* ---- normalising ----------------------------------------------------- */

int as_amounts_normalise(struct as_call *c, struct as_json *amounts)
{
	if (amounts == NULL)
		return 0;
	if (amounts->kind != AS_OBJECT)
		return as_refuse_bad(c, "%s in version \"v1\" cannot be handled as a %s: a list of quantities is not "
		                        "an object",
		                     c->resource->kind, c->resource->kind);
	for (struct as_json *m = amounts->first; m != NULL; m = m->next) {
		struct as_quantity q;
		char text[64];

		if ((m->kind != AS_STRING && m->kind != AS_NUMBER) || !as_quantity_parse(m->text, &q))
			return as_refuse_bad(c,
			                     "%s in version \"v1\" cannot be handled as a %s: quantities must match the "
			                     "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
			                     c->resource->kind, c->resource->kind);
		as_quantity_print(&q, text);
		m->kind = AS_STRING;
		m->bytes = (uint32_t)strlen(text);
		m->text = as_arena_copy(c->arena, text, m->bytes);
	}
	return 0;
}

static int normalise_resources(struct as_call *c, const struct as_json *holder)
{
	const struct as_json *resources = as_json_get(holder, "resources");

	if (as_amounts_normalise(c, as_json_get(resources, "requests")) < 0)
		return -1;
	return as_amounts_normalise(c, as_json_get(resources, "limits"));
}

int as_pod_normalise(struct as_call *c, struct as_json *spec)
{
	static const char *const lists[] = {"initContainers", "containers"};

	if (normalise_resources(c, spec) < 0 || as_amounts_normalise(c, as_json_get(spec, "overhead")) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		const struct as_json *list = as_json_get(spec, lists[i]);

		if (list != NULL && list->kind != AS_ARRAY)
			return as_refuse_bad(c, "Pod in version \"v1\" cannot be handled as a Pod: spec.%s is not a list",
			                     lists[i]);
		for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
			if (e->kind != AS_OBJECT)
				return as_refuse_bad(
					c, "Pod in version \"v1\" cannot be handled as a Pod: spec.%s has an element "
					   "that is not an object",
					lists[i]);
			if (normalise_resources(c, e) < 0)
				return -1;
		}
	}
	return 0;
}

/* ---- validation ------------------------------------------------------ */

static bool is_extended(const char *name)
{
	static const char *const native[] = {"cpu", "memory", "ephemeral-storage", "storage", "pods"};

	for (size_t i = 0; i < sizeof(native) / sizeof(native[0]); i++)
		if (strcmp(native[i], name) == 0)
			return false;
	return strncmp(name, "hugepages-", 10) != 0;
}

static void validate_amount(struct as_call *c, const struct as_json *m, const char *field)
{
	struct as_quantity q = {0};

	as_quantity_parse(m->text, &q);
	if (q.nano < 0)
		as_invalid(c, "FieldValueInvalid", field, "Invalid value: \"%s\": must be greater than or equal to 0",
		           m->text);
	else if (is_extended(m->name) && strchr(m->name, '/') == NULL)
		as_invalid(c, "FieldValueInvalid", field,
		           "Invalid value: \"%s\": must be a standard resource type or fully qualified", m->name);
	else if (is_extended(m->name) && q.nano % 1000000000 != 0)
		as_invalid(c, "FieldValueInvalid", field, "Invalid value: \"%s\": must be an integer", m->text);
}

static void validate_resources(struct as_call *c, const struct as_json *resources, const char *path)
{
	const struct as_json *limits = as_json_get(resources, "limits"),
			     *requests = as_json_get(resources, "requests");

	for (const struct as_json *m = limits != NULL ? limits->first : NULL; m != NULL; m = m->next)
		validate_amount(c, m, as_arena_printf(c->arena, "%s.limits[%s]", path, m->name));
	for (const struct as_json *m = requests != NULL ? requests->first : NULL; m != NULL; m = m->next) {
		const struct as_json *limit = as_json_get(limits, m->name);
		const char *field = as_arena_printf(c->arena, "%s.requests[%s]", path, m->name);
		struct as_quantity q = {0}, most = {0};

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
			           "Invalid value: \"%s\": must be less than or equal to %s limit of %s", m->text, m->name,
			           limit->text);
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
			as_invalid(c, "FieldValueRequired", as_arena_printf(c->arena, "%s.name", at), "Required value");
		else if (!as_name_valid(name, false, 63))
			as_invalid(c, "FieldValueInvalid", as_arena_printf(c->arena, "%s.name", at),
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
			as_invalid(c, "FieldValueRequired", as_arena_printf(c->arena, "%s.image", at), "Required value");
		validate_resources(c, as_json_get(e, "resources"), as_arena_printf(c->arena, "%s.resources", at));
	}
}

static bool one_of(const char *value, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(value, *list) == 0)
			return true;
	return false;
}

void as_pod_validate(struct as_call *c, const struct as_json *spec)
{
	static const char *const policies[] = {"Always", "OnFailure", "Never", NULL};
	const struct as_json *containers = as_json_array(spec, "containers"),
			     *init = as_json_array(spec, "initContainers");
	const char *policy = as_json_string(spec, "restartPolicy"), *node = as_json_string(spec, "nodeName");

	if (containers == NULL || containers->first == NULL)
		as_invalid(c, "FieldValueRequired", "spec.containers", "Required value");
	else
		validate_containers(c, containers, "spec.containers");
	if (init != NULL)
		validate_containers(c, init, "spec.initContainers");
	validate_resources(c, as_json_get(spec, "resources"), "spec.resources");
	if (policy == NULL || !one_of(policy, policies))
		as_invalid(c, "FieldValueNotSupported", "spec.restartPolicy",
		           "Unsupported value: \"%s\": supported values: \"Always\", \"Never\", \"OnFailure\"",
		           policy != NULL ? policy : "");
	if (node != NULL && node[0] != '\0' && !as_name_valid(node, true, 253))
		as_invalid(c, "FieldValueInvalid", "spec.nodeName", "Invalid value: \"%s\"", node);
}
