/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/requests.h"

#include "tests/apisim/quantity.h"

#include <string.h>

int64_t as_saturated_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

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
	a->at[a->n] = (struct as_amount){ .name = name };
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
	struct as_amounts out = { 0 };

	for (const struct as_json *m = map != NULL && map->kind == AS_OBJECT ? map->first : NULL;
	     m != NULL; m = m->next) {
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
static struct as_amounts init_requests(struct as_arena *arena, const struct as_json *spec,
                                       struct as_amounts *sum)
{
	const struct as_json *list = as_json_array(spec, "initContainers");
	struct as_amounts most = { 0 }, sidecars = { 0 };

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		struct as_amounts own = container_requests(arena, e), now = { 0 };
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
	const struct as_json *spec = as_json_get(pod, "spec"),
						 *list = as_json_array(spec, "containers");
	struct as_amounts sum = { 0 }, init, own, overhead;

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

int as_amounts_normalise(struct as_call *c, struct as_json *amounts)
{
	if (amounts == NULL)
		return 0;
	if (amounts->kind != AS_OBJECT)
		return as_refuse_undecodable(c, "a list of quantities is not an object");
	for (struct as_json *m = amounts->first; m != NULL; m = m->next) {
		struct as_quantity q;
		char text[AS_QUANTITY_BYTES];

		if ((m->kind != AS_STRING && m->kind != AS_NUMBER) || !as_quantity_parse(m->text, &q))
			return as_refuse_undecodable(c, "quantities must match the regular expression "
			                                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
		as_quantity_canonical(m->text, &q, text);
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
	static const char *const lists[] = { "initContainers", "containers" };

	if (normalise_resources(c, spec) < 0 ||
	    as_amounts_normalise(c, as_json_get(spec, "overhead")) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		const struct as_json *list = as_json_get(spec, lists[i]);

		if (list != NULL && list->kind != AS_ARRAY)
			return as_refuse_undecodable(c, "spec.%s is not a list", lists[i]);
		for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
			if (e->kind != AS_OBJECT)
				return as_refuse_undecodable(c,
				                             "spec.%s has an element "
				                             "that is not an object",
				                             lists[i]);
			if (normalise_resources(c, e) < 0)
				return -1;
		}
	}
	return 0;
}
