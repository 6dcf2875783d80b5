/* SPDX-License-Identifier: Apache-2.0 */
/* POST pods/NAME/eviction: a deletion that a PodDisruptionBudget may refuse.
 *
 * The order of checks and the messages follow the real server's
 * pkg/registry/core/pod/storage.  Budgets are objects of policy/v1 poddisruptionbudgets, if the
 * server has that resource; no controller computes their status, so a test writes it. */
#include "tests/apisim/call.h"
#include "tests/apisim/selector.h"

#define DISRUPTED_MAX 2000

static const char violates[] = "Cannot evict pod as it would violate the pod's disruption budget.";

static struct as_requirement *add(struct as_call *c, struct as_selector *s, const char *name)
{
	struct as_requirement *r = as_arena_alloc(c->arena, sizeof(*r));

	*r = (struct as_requirement){ .name = name, .next = s->labels };
	s->labels = r;
	return r;
}

static void set_values(struct as_call *c, struct as_requirement *r, const struct as_json *list)
{
	const char **values;
	size_t n = 0;

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next)
		r->n++;
	values = as_arena_alloc(c->arena, (r->n + 1) * sizeof(*values));
	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next)
		values[n++] = e->text != NULL ? e->text : "";
	r->values = values;
}

/* A LabelSelector; false: it has an operator that is none, and matches nothing. */
static bool read_selector(struct as_call *c, const struct as_json *selector,
                          struct as_selector *out)
{
	const struct as_json *labels = as_json_get(selector, "matchLabels");
	const struct as_json *list = as_json_array(selector, "matchExpressions");
	static const char *const ops[] = { "In", "NotIn", "Exists", "DoesNotExist" };

	*out = (struct as_selector){ 0 };
	for (const struct as_json *m = labels != NULL ? labels->first : NULL; m != NULL; m = m->next) {
		struct as_requirement *r = add(c, out, m->name);
		const char **value = as_arena_alloc(c->arena, sizeof(*value));

		*value = m->text != NULL ? m->text : "";
		r->op = AS_IN;
		r->values = value;
		r->n = 1;
	}
	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		const char *key = as_json_string(e, "key"), *op = as_json_string(e, "operator");
		int found = -1;

		for (int i = 0; i < 4; i++)
			if (op != NULL && strcmp(op, ops[i]) == 0)
				found = i;
		if (found < 0 || key == NULL)
			return false;
		set_values(c, add(c, out, key), as_json_array(e, "values"));
		out->labels->op = AS_IN + (unsigned)found;
	}
	return true;
}

/* The budgets that match the pod: the first one in *out.  One with a nil or empty selector matches
 * no pod. */
static size_t find_budgets(struct as_call *c, const struct as_resource *budgets,
                           const struct as_object *pod, struct as_object **out)
{
	struct as_cursor cursor;
	struct as_selector selector;
	struct as_object *o;
	size_t n = 0;

	as_cursor_open(c->api->store, budgets, c->arena, c->namespace, NULL,
	               as_store_version(c->api->store), &cursor);
	while ((o = as_cursor_next(&cursor)) != NULL) {
		const struct as_json *spec = as_json_get(as_object_tree(c->arena, o), "spec");

		if (!read_selector(c, as_json_get(spec, "selector"), &selector) ||
		    selector.labels == NULL || !as_selector_matches(&selector, pod))
			continue;
		if (n++ == 0)
			*out = o;
	}
	return n;
}

static int refuse_budget(struct as_call *c, uint32_t retry_after_s, const char *cause)
{
	struct as_json *status = as_json_new(c->arena, AS_OBJECT), *details, *causes, *e;

	as_json_set_string(c->arena, status, "kind", "Status");
	as_json_set_string(c->arena, status, "apiVersion", "v1");
	as_json_set(c->arena, status, "metadata", as_json_new(c->arena, AS_OBJECT));
	as_json_set_string(c->arena, status, "status", "Failure");
	as_json_set_string(c->arena, status, "message", violates);
	as_json_set_string(c->arena, status, "reason", "TooManyRequests");
	details = as_json_member(c->arena, status, "details", AS_OBJECT);
	causes = as_json_member(c->arena, details, "causes", AS_ARRAY);
	e = as_json_new(c->arena, AS_OBJECT);
	as_json_set_string(c->arena, e, "reason", "DisruptionBudget");
	as_json_set_string(c->arena, e, "message", cause);
	as_json_append(causes, e);
	if (retry_after_s > 0)
		as_json_set_integer(c->arena, details, "retryAfterSeconds", retry_after_s);
	as_json_set_integer(c->arena, status, "code", 429);
	c->response->retry_after_s = retry_after_s;
	as_answer_json(c, 429, status);
	return -1;
}

static size_t members_n(const struct as_json *object)
{
	size_t n = 0;

	for (const struct as_json *m = object != NULL ? object->first : NULL; m != NULL; m = m->next)
		n++;
	return n;
}

/* As checkAndDecrement(). */
static int take_disruption(struct as_call *c, struct as_resource *budgets,
                           const struct as_object *budget)
{
	struct as_json *tree = as_object_tree(c->arena, budget);
	struct as_json *status = as_json_member(c->arena, tree, "status", AS_OBJECT), *disrupted;
	int64_t allowed = 0, desired = 0, current = 0, generation = 0, observed = 0;

	as_json_integer(as_json_get(tree, "metadata"), "generation", &generation);
	as_json_integer(status, "disruptionsAllowed", &allowed);
	as_json_integer(status, "desiredHealthy", &desired);
	as_json_integer(status, "currentHealthy", &current);
	disrupted = as_json_member(c->arena, status, "disruptedPods", AS_OBJECT);
	if (as_json_integer(status, "observedGeneration", &observed) && observed < generation)
		return refuse_budget(
			c, 10,
			as_arena_printf(c->arena,
		                    "The disruption budget %s is still being processed by the server.",
		                    budget->name));
	if (allowed < 0)
		return as_refuse_forbidden(c, "pdb disruptions allowed is negative");
	if (members_n(disrupted) > DISRUPTED_MAX)
		return as_refuse_forbidden(c, "DisruptedPods map too big");
	if (allowed == 0)
		return refuse_budget(
			c, 0,
			as_arena_printf(c->arena,
		                    "The disruption budget %s needs %lld healthy pods and has %lld "
		                    "currently",
		                    budget->name, (long long)desired, (long long)current));
	if (c->dry_run)
		return 0;
	as_json_set_integer(c->arena, status, "disruptionsAllowed", allowed - 1);
	as_json_set_string(c->arena, disrupted, c->name, as_time(c->arena, c->now_ns));
	as_commit(c->api, budgets, c->arena, tree, c->now_ns);
	return 0;
}

static bool is_ready(const struct as_json *pod)
{
	const struct as_json *list = as_json_array(as_json_get(pod, "status"), "conditions");

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		const char *type = as_json_string(e, "type"), *status = as_json_string(e, "status");

		if (type != NULL && status != NULL && strcmp(type, "Ready") == 0)
			return strcmp(status, "True") == 0;
	}
	return false;
}

/* 0: no budget is in the way. */
static int check_budgets(struct as_call *c, const struct as_object *pod)
{
	struct as_resource *budgets =
		as_resources_find(&c->api->resources, "policy", "v1", "poddisruptionbudgets");
	struct as_json *tree = as_object_tree(c->arena, pod);
	const char *phase = as_object_field(pod, "status.phase");
	struct as_object *budget = NULL;
	int64_t desired = 0, current = 0;
	size_t n;

	if (budgets == NULL || pod->deleting || strcmp(phase, "Running") != 0)
		return 0;
	n = find_budgets(c, budgets, pod, &budget);
	if (n == 0)
		return 0;
	if (n > 1)
		return as_refuse(c, 500, "",
		                 "This pod has more than one PodDisruptionBudget, which the eviction "
		                 "subresource does not support.");
	if (!is_ready(tree)) {
		const struct as_json *status = as_json_get(as_object_tree(c->arena, budget), "status");

		as_json_integer(status, "desiredHealthy", &desired);
		as_json_integer(status, "currentHealthy", &current);
		if (current >= desired && desired > 0)
			return 0;
	}
	return take_disruption(c, budgets, budget);
}

int as_evict(struct as_call *c)
{
	struct as_json *body;
	const struct as_json *metadata;
	struct as_object *pod;
	const char *name;
	int rc;

	if (c->namespace == NULL)
		return as_refuse_no_resource(c);
	body = as_body(c);
	if (body == NULL)
		return -1;
	metadata = as_json_get(body, "metadata");
	name = as_json_string(metadata, "name");
	if (name == NULL || strcmp(name, c->name) != 0)
		return as_refuse_bad(c, "name in URL does not match name in Eviction object");
	pod = as_index_find(&c->resource->index, as_object_key(c->arena, c->namespace, c->name));
	if (pod == NULL)
		return as_refuse_not_found(c, c->resource, c->name);
	as_object_ref(pod);
	rc = check_budgets(c, pod);
	as_object_unref(pod);
	if (rc < 0)
		return -1;
	if (as_delete_evicted(c, as_json_get(body, "deleteOptions")) < 0)
		return -1;
	return as_answer_success(c, 201, NULL);
}
