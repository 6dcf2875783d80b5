/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/preempt/facts.h"

#include "frontend/decode/eviction.h"
#include "frontend/decode/extract.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODE_ANNOTATION "muster.dev/disruption-mode"

struct facts {
	const struct offline *offline;
	struct facts_policy policy;
	struct search_facts facts;
	uint32_t pods_n, gangs_n;
	struct search_pod *pods;
	struct search_gang *gangs;
	bool *opted_out;   /* by pod: excluded from every question */
	char **schedulers; /* by pod: scheduler name */
	uint32_t *items;
	uint32_t items_n;
	size_t items_cap;
	int32_t *allowed;

	/* While the objects are read. */
	struct arena arena;
	struct budget_object *budgets;
	size_t budgets_n;
	struct priority_class_object *classes;
	size_t classes_n;
	struct text *namespaces; /* where no pod may be evicted */
	size_t namespaces_n;
	struct gang_ref *groups; /* sorted */
	size_t groups_n;
};

/* A gang by the object that describes it. */
struct gang_ref {
	int index; /* of its resource */
	const char *namespace;
	const char *name;
	gang_id id;
};

static bool fail(const struct object *o, const struct decode_error *e, char *error,
                 size_t error_bytes)
{
	char where[512];

	snprintf(error, error_bytes, "%s: %s: %s%s%s", object_where(o, where, sizeof(where)), e->object,
	         e->field, e->field[0] != '\0' ? ": " : "", e->text);
	return false;
}

static bool is_kind(const struct object *o, const char *kind, const char *group)
{
	return strcmp(o->kind, kind) == 0 && strncmp(o->api_version, group, strlen(group)) == 0;
}

static bool read_budget(struct facts *f, const struct object *o, char *error, size_t error_bytes)
{
	struct decode_error e = { 0 };

	f->budgets = must_grow(f->budgets, (f->budgets_n + 1) * sizeof(*f->budgets));
	if (extract_budget(o->json.at, o->json.bytes, &f->arena, &f->budgets[f->budgets_n], &e) < 0)
		return fail(o, &e, error, error_bytes);
	if (f->budgets[f->budgets_n].meta.namespace.bytes == 0)
		f->budgets[f->budgets_n].meta.namespace = text_of(o->namespace);
	f->budgets_n++;
	return true;
}

static bool read_class(struct facts *f, const struct object *o, char *error, size_t error_bytes)
{
	struct decode_error e = { 0 };

	f->classes = must_grow(f->classes, (f->classes_n + 1) * sizeof(*f->classes));
	if (extract_priority_class(o->json.at, o->json.bytes, &f->arena, &f->classes[f->classes_n],
	                           &e) < 0)
		return fail(o, &e, error, error_bytes);
	f->classes_n++;
	return true;
}

static bool read_namespace(struct facts *f, const struct object *o, char *error, size_t error_bytes)
{
	struct decode_error e = { 0 };
	struct meta meta;

	if (extract_namespace(o->json.at, o->json.bytes, &f->arena, &meta, &e) < 0)
		return fail(o, &e, error, error_bytes);
	if (!extract_is_marked(&meta, "muster.dev/preemption", "never", &f->arena))
		return true;
	f->namespaces = must_grow(f->namespaces, (f->namespaces_n + 1) * sizeof(*f->namespaces));
	f->namespaces[f->namespaces_n++] = meta.name;
	return true;
}

static int refs_compare(const void *a, const void *b)
{
	const struct gang_ref *x = a, *y = b;
	int order = x->index - y->index;

	order = order != 0 ? order : strcmp(x->namespace, y->namespace);
	return order != 0 ? order : strcmp(x->name, y->name);
}

/* Gangs of the model, to be found by their objects; and how many members have ended well. */
static void find_groups(struct facts *f)
{
	const struct model *m = offline_model(f->offline);
	const uint32_t slots = model_gang_slots(m);

	f->groups = must_array(slots + 1u, sizeof(*f->groups));
	for (gang_id id = 0; id < slots && id < f->gangs_n; id++) {
		const uint32_t generation = model_gang_generation(m, id);
		struct gang_object object;
		struct gang_view view;

		if (generation == 0 || !model_gang(m, id, generation, &view))
			continue;
		f->gangs[id].succeeded = view.pods.phases[POD_PHASE_SUCCEEDED];
		if (model_gang_object(m, id, generation, &object))
			f->groups[f->groups_n++] =
				(struct gang_ref){ object.index, object.namespace, object.name, id };
	}
	if (f->groups_n > 1)
		qsort(f->groups, f->groups_n, sizeof(*f->groups), refs_compare);
}

/* By Kubernetes' native groups, which muster's annotation overrides.  False: no such mode. */
static bool mode_of(struct facts *f, const struct object *o, const struct evicted_group_object *g,
                    enum disruption_mode *mode)
{
	static const char *const names[] = {
		[DISRUPT_QUORUM] = "quorum", [DISRUPT_POD] = "pod", [DISRUPT_WHOLE] = "whole"
	};

	if (strncmp(o->api_version, "scheduling.k8s.io/", 18) == 0) {
		if (text_is(g->mode, "Pod") || text_is(g->mode, "single"))
			*mode = DISRUPT_POD;
		else if (text_is(g->mode, "PodGroup") || text_is(g->mode, "all"))
			*mode = DISRUPT_WHOLE;
	}
	if (pairs_find(&g->meta.annotations, MODE_ANNOTATION) == NULL)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (annotation_is(&g->meta, MODE_ANNOTATION, names[i], &f->arena))
			return *mode = (enum disruption_mode)i, true;
	return false;
}

static bool read_group(struct facts *f, const struct object *o, int index, bool *opted, char *error,
                       size_t error_bytes)
{
	const struct gang_ref key = { .index = index, .namespace = o->namespace, .name = o->name };
	const struct gang_ref *ref;
	struct evicted_group_object group;
	struct decode_error e = { 0 };

	ref = f->groups_n > 0 ? bsearch(&key, f->groups, f->groups_n, sizeof(key), refs_compare) : NULL;
	if (ref == NULL)
		return true;
	if (extract_evicted_group(o->json.at, o->json.bytes, &f->arena, &group, &e) < 0)
		return fail(o, &e, error, error_bytes);
	opted[ref->id] = extract_opts_out(&group.meta, &f->arena);
	if (mode_of(f, o, &group, &f->gangs[ref->id].mode))
		return true;
	snprintf(e.object, sizeof(e.object), "%s %s/%s", o->kind, o->namespace, o->name);
	snprintf(e.field, sizeof(e.field), "metadata.annotations[\"" MODE_ANNOTATION "\"]");
	snprintf(e.text, sizeof(e.text), "pod, quorum and whole are the modes there are");
	return fail(o, &e, error, error_bytes);
}

static void item_add(struct facts *f, uint32_t budget)
{
	f->items = must_reach(f->items, &f->items_cap, f->items_n, 256, sizeof(*f->items));
	f->items[f->items_n++] = budget;
}

/* kube-scheduler: filterPodsWithPDBViolation.  A pod without labels is in no budget, and an empty
 * selector matches nothing; for the Eviction API, which `respect` is about, it matches all. */
static bool budget_matches(const struct facts *f, const struct budget_object *b,
                           const struct evicted_pod_object *pod, const char *namespace)
{
	if (pod->meta.labels.n == 0 || !text_is(b->meta.namespace, namespace))
		return false;
	if (b->selector.rules.n == 0 && !f->policy.respect)
		return false;
	return selector_object_matches(&b->selector, &pod->meta.labels);
}

static void match_budgets(struct facts *f, const struct evicted_pod_object *pod,
                          const char *namespace, struct search_pod *out)
{
	out->items = f->items_n;
	for (size_t i = 0; i < f->budgets_n; i++) {
		bool disrupted = false;

		if (!budget_matches(f, &f->budgets[i], pod, namespace))
			continue;
		for (size_t k = 0; k < f->budgets[i].disrupted.n && !disrupted; k++)
			disrupted = text_equal(f->budgets[i].disrupted.at[k].key, pod->meta.name);
		out->budgets_n++;
		if (!disrupted)
			item_add(f, (uint32_t)i);
	}
	out->items_n = f->items_n - out->items;
}

/* The pod's class; without a name the default one, of which the API server takes the policy too. */
static const struct priority_class_object *class_of(const struct facts *f,
                                                    const struct evicted_pod_object *pod)
{
	for (size_t i = 0; i < f->classes_n; i++)
		if (pod->priority_class.bytes > 0 ? text_equal(f->classes[i].meta.name, pod->priority_class)
		                                  : f->classes[i].is_default)
			return &f->classes[i];
	return NULL;
}

static bool is_opted_out(struct facts *f, const struct evicted_pod_object *pod,
                         const struct priority_class_object *class, const char *namespace)
{
	for (size_t i = 0; i < f->namespaces_n; i++)
		if (text_is(f->namespaces[i], namespace))
			return true;
	return extract_is_spared(&pod->meta, &pod->owner, &f->arena) ||
	       (class != NULL && extract_opts_out(&class->meta, &f->arena));
}

static bool read_pod(struct facts *f, const struct object *o, const bool *opted, char *error,
                     size_t error_bytes)
{
	const struct model *m = offline_model(f->offline);
	const struct priority_class_object *class;
	struct evicted_pod_object pod;
	struct decode_error e = { 0 };
	struct pod_view view;
	struct search_pod *out;

	if (!model_pod_by_name(m, o->namespace, o->name, &view) || view.id >= f->pods_n)
		return true; /* it has ended */
	if (extract_evicted_pod(o->json.at, o->json.bytes, &f->arena, &pod, &e) < 0)
		return fail(o, &e, error, error_bytes);
	class = class_of(f, &pod);
	out = &f->pods[view.id];
	if (pod.start_ns > 0)
		out->start_s = (uint32_t)(pod.start_ns / 1000000000);
	if (view.node[0] == '\0' && pod.nominated.bytes > 0)
		out->nominated = model_node_id(m, pod.nominated);
	out->never = pod.policy.bytes > 0 ? text_is(pod.policy, "Never")
	                                  : class != NULL && text_is(class->policy, "Never");
	out->preempted = pod.preempted;
	f->opted_out[view.id] = is_opted_out(f, &pod, class, view.namespace) ||
	                        (view.gang_id < f->gangs_n && opted[view.gang_id]);
	f->schedulers[view.id] = must_copy(view.scheduler_name);
	match_budgets(f, &pod, view.namespace, out);
	return true;
}

static bool read_referred(struct facts *f, const struct files *files, bool *opted, char *error,
                          size_t error_bytes)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++) {
		const struct object *o = &objects[i];
		int index = model_resource_index(offline_model(f->offline), o->api_version, o->kind);

		if (is_kind(o, "PodDisruptionBudget", "policy/"))
			ok = read_budget(f, o, error, error_bytes);
		else if (is_kind(o, "PriorityClass", "scheduling.k8s.io/"))
			ok = read_class(f, o, error, error_bytes);
		else if (is_kind(o, "Namespace", "v1"))
			ok = read_namespace(f, o, error, error_bytes);
		else if (index >= RESOURCE_INDEX_DIALECTS)
			ok = read_group(f, o, index, opted, error, error_bytes);
	}
	return ok;
}

static bool read_all(struct facts *f, const struct files *files, char *error, size_t error_bytes)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);
	bool *opted = must_array(f->gangs_n + 1u, sizeof(*opted));
	bool ok = read_referred(f, files, opted, error, error_bytes);

	for (size_t i = 0; ok && i < n; i++)
		if (is_kind(&objects[i], "Pod", "v1"))
			ok = read_pod(f, &objects[i], opted, error, error_bytes);
	f->allowed = must_array(f->budgets_n + 1, sizeof(*f->allowed));
	for (size_t i = 0; i < f->budgets_n; i++)
		f->allowed[i] = f->budgets[i].allowed;
	free(opted);
	return ok;
}

struct facts *facts_new(const struct offline *o, const struct files *files,
                        const struct facts_policy *policy, char *error, size_t error_bytes)
{
	const struct limits *limits = &offline_ledger(o)->limits;
	struct facts *f = must_alloc(sizeof(*f));
	bool ok;

	f->offline = o;
	f->policy = *policy;
	f->pods_n = limits->pods;
	f->gangs_n = limits->gangs;
	f->pods = must_array(f->pods_n, sizeof(*f->pods));
	f->gangs = must_array(f->gangs_n, sizeof(*f->gangs));
	f->opted_out = must_array(f->pods_n, sizeof(*f->opted_out));
	f->schedulers = must_array(f->pods_n, sizeof(char *));
	for (uint32_t i = 0; i < f->pods_n; i++) {
		f->pods[i].start_s = START_NONE;
		f->pods[i].nominated = ID_NONE;
	}
	find_groups(f);
	ok = read_all(f, files, error, error_bytes);
	arena_free(&f->arena);
	if (ok)
		return f;
	facts_free(f);
	return NULL;
}

const struct search_facts *facts_for(struct facts *f, const char *scheduler)
{
	for (uint32_t i = 0; i < f->pods_n; i++)
		f->pods[i].spared = f->opted_out[i] || (!f->policy.all && f->schedulers[i] != NULL &&
		                                        strcmp(f->schedulers[i], scheduler) != 0);
	f->facts = (struct search_facts){ .pods = f->pods,
		                              .gangs = f->gangs,
		                              .items = f->items,
		                              .allowed = f->allowed,
		                              .budgets_n = (uint32_t)f->budgets_n,
		                              .respect = f->policy.respect,
		                              .steps_most = f->policy.steps_most };
	return &f->facts;
}

void facts_free(struct facts *f)
{
	if (f == NULL)
		return;
	for (uint32_t i = 0; i < f->pods_n; i++)
		free(f->schedulers[i]);
	free(f->pods);
	free(f->gangs);
	free(f->opted_out);
	free(f->schedulers);
	free(f->items);
	free(f->allowed);
	free(f->budgets);
	free(f->classes);
	free(f->namespaces);
	free(f->groups);
	arena_free(&f->arena);
	free(f);
}
