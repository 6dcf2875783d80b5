/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of what was read, and the queue of each pod. */
#include "ctl/offline/queues_impl.h"
#include "ctl/term/ctl.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const queue_sources[QUEUE_SOURCES] = { "config", "volcano", "koordinator", "kai" };

/* Where a pod goes that names no queue. */
static const char *const default_queues[QUEUE_SOURCES] = { "default", "default",
	                                                       "koordinator-default-quota",
	                                                       "default-queue" };

static char *text_copy(struct text t)
{
	char *out = must_array(t.bytes + 1, 1);

	if (t.bytes > 0)
		memcpy(out, t.at, t.bytes);
	return out;
}

struct queue_read *queue_new(struct queues *q, struct text name)
{
	if (q->n == q->room) {
		q->room = q->room * 2 + 16;
		q->queues = must_grow(q->queues, q->room * sizeof(*q->queues));
	}
	q->queues[q->n] = (struct queue_read){
		.name = text_copy(name), .parent = must_copy(""), .namespace = must_copy(""), .weight = 1
	};
	return &q->queues[q->n++];
}

static void queue_free(struct queue_read *q)
{
	for (int kind = 0; kind < AMOUNT_KINDS; kind++) {
		for (size_t i = 0; i < q->amounts[kind].n; i++)
			free(q->amounts[kind].at[i].resource);
		free(q->amounts[kind].at);
	}
	for (size_t i = 0; i < q->namespaces_n; i++)
		free(q->namespaces[i]);
	free(q->namespaces);
	free(q->name);
	free(q->parent);
	free(q->namespace);
}

static void names_free(struct queue_names *n)
{
	for (size_t i = 0; i < n->n; i++) {
		free(n->at[i].key);
		free(n->at[i].queue);
	}
	free(n->at);
}

void queues_free(struct queues *q)
{
	if (q == NULL)
		return;
	for (size_t i = 0; i < q->n; i++)
		queue_free(&q->queues[i]);
	free(q->queues);
	names_free(&q->pods);
	names_free(&q->groups);
	free(q->defs);
	free(q->of_pod);
	free(q->named);
	for (uint32_t i = 0; q->keys != NULL && i < q->pods_n; i++)
		free(q->keys[i]);
	free(q->keys);
	free(q);
}

/* What pods and groups name. */

struct marks {
	struct text label, annotation, spec;
};

static const struct json_field config_marks[] = { JSON_FIELD("muster.dev/queue", json_field_text,
	                                                         struct marks, label) };
static const struct json_field koordinator_marks[] = {
	JSON_FIELD("quota.scheduling.koordinator.sh/name", json_field_text, struct marks, label),
};
static const struct json_field kai_marks[] = { JSON_FIELD("kai.scheduler/queue", json_field_text,
	                                                      struct marks, label) };
static const struct json_field volcano_marks[] = {
	JSON_FIELD("scheduling.volcano.sh/queue-name", json_field_text, struct marks, annotation),
};
static const struct json_field queue_spec[] = { JSON_FIELD("queue", json_field_text, struct marks,
	                                                       spec) };

static const struct json_field config_metadata[] = { JSON_NESTED("labels", config_marks) };
static const struct json_field koordinator_metadata[] = { JSON_NESTED("labels",
	                                                                  koordinator_marks) };
static const struct json_field kai_metadata[] = { JSON_NESTED("labels", kai_marks) };
static const struct json_field volcano_metadata[] = { JSON_NESTED("annotations", volcano_marks) };

static const struct json_field config_object[] = { JSON_NESTED("metadata", config_metadata) };
static const struct json_field koordinator_object[] = { JSON_NESTED("metadata",
	                                                                koordinator_metadata) };
static const struct json_field kai_object[] = { JSON_NESTED("metadata", kai_metadata) };
static const struct json_field volcano_object[] = { JSON_NESTED("metadata", volcano_metadata) };
static const struct json_field group_object[] = { JSON_NESTED("spec", queue_spec) };

static void marks_read(struct json *j, enum queue_source source, struct marks *marks)
{
	switch (source) {
	case QUEUES_VOLCANO:
		json_fields(j, volcano_object, marks);
		break;
	case QUEUES_KOORDINATOR:
		json_fields(j, koordinator_object, marks);
		break;
	case QUEUES_KAI:
		json_fields(j, kai_object, marks);
		break;
	default:
		json_fields(j, config_object, marks);
	}
}

static void name_add(struct queue_names *names, const struct object *object, struct text queue)
{
	if (names->n == names->room) {
		names->room = names->room * 2 + 64;
		names->at = must_grow(names->at, names->room * sizeof(*names->at));
	}
	names->at[names->n++] =
		(struct queue_name){ .key = ctl_print("%s/%s", object->namespace, object->name),
		                     .queue = text_copy(queue) };
}

/* The first of these is the queue: spec.queue of a group, a label, an annotation.  What is
 * malformed is reported by the model's reader. */
static void object_note(struct queues *q, const struct object *object)
{
	const bool group = strcmp(object->kind, "PodGroup") == 0;
	struct arena arena = { 0 };
	struct marks marks = { 0 };
	struct json j;

	if (!group && strcmp(object->kind, "Pod") != 0)
		return;
	json_begin(&j, object->json.at, object->json.bytes, &arena);
	marks_read(&j, q->source, &marks);
	if (group && (q->source == QUEUES_VOLCANO || q->source == QUEUES_KAI)) {
		json_begin(&j, object->json.at, object->json.bytes, &arena);
		json_fields(&j, group_object, &marks);
	}
	if (marks.spec.bytes == 0)
		marks.spec = marks.label.bytes > 0 ? marks.label : marks.annotation;
	if (!j.failed && marks.spec.bytes > 0)
		name_add(group ? &q->groups : &q->pods, object, marks.spec);
	arena_free(&arena);
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(((const struct queue_name *)a)->key, ((const struct queue_name *)b)->key);
}

static void names_sort(struct queue_names *names)
{
	if (names->n > 0)
		qsort(names->at, names->n, sizeof(*names->at), names_compare);
}

static const char *names_find(const struct queue_names *names, const char *namespace,
                              const char *name)
{
	struct queue_name key = { .key = ctl_print("%s/%s", namespace, name) };
	const struct queue_name *found =
		names->n > 0 ? bsearch(&key, names->at, names->n, sizeof(key), names_compare) : NULL;

	free(key.key);
	return found != NULL ? found->queue : NULL;
}

/* The tree. */

static bool is_root(const struct queues *q, const char *name)
{
	return strcmp(name, "root") == 0 ||
	       (q->source == QUEUES_KOORDINATOR && strcmp(name, "koordinator-root-quota") == 0);
}

static int queues_compare(const void *a, const void *b)
{
	return strcmp(((const struct queue_read *)a)->name, ((const struct queue_read *)b)->name);
}

/* By name, of queues 1 and up; 0 of one that isn't there. */
static size_t queue_find(const struct queues *q, const char *name, size_t sorted)
{
	size_t from = 1, to = sorted;

	while (from < to) {
		const size_t at = (from + to) / 2;
		const int order = strcmp(name, q->queues[at].name);

		if (order == 0)
			return at;
		if (order < 0)
			to = at;
		else
			from = at + 1;
	}
	return 0;
}

/* An object that is the root itself says what all may have. */
static void root_merge(struct queues *q)
{
	for (size_t i = 1; i < q->n; i++) {
		struct queue_amounts *limit = &q->queues[i].amounts[AMOUNT_LIMIT];

		if (!is_root(q, q->queues[i].name))
			continue;
		if (q->source != QUEUES_KOORDINATOR) {
			q->queues[0].amounts[AMOUNT_LIMIT] = *limit;
			*limit = (struct queue_amounts){ 0 };
		}
		queue_free(&q->queues[i]);
		q->queues[i--] = q->queues[--q->n];
	}
}

/* Depth of each queue by its parents; false: a parent is missing, or a cycle. */
static bool depths_find(const struct queues *q, uint32_t *depths, size_t *parents, char *error,
                        size_t error_bytes)
{
	for (size_t i = 1; i < q->n; i++) {
		const char *parent = q->queues[i].parent;

		parents[i] = parent[0] == '\0' || is_root(q, parent) ? 0 : queue_find(q, parent, q->n);
		if (parents[i] == 0 && parent[0] != '\0' && !is_root(q, parent)) {
			snprintf(error, error_bytes, "queue %s: parent: queue %s does not exist",
			         q->queues[i].name, parent);
			return false;
		}
	}
	for (size_t i = 1; i < q->n; i++) {
		for (size_t at = i; at != 0 && depths[i] <= SHARE_DEPTH_MAX; at = parents[at])
			depths[i]++;
		if (depths[i] > SHARE_DEPTH_MAX) {
			snprintf(error, error_bytes,
			         "queue %s: parent: a cycle, or more than %u queues on the way to the root",
			         q->queues[i].name, SHARE_DEPTH_MAX);
			return false;
		}
	}
	return true;
}

struct by_depth {
	uint32_t depth;
	size_t queue;
};

static int depth_compare(const void *a, const void *b)
{
	const struct by_depth *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->queue < y->queue ? -1 : 1;
}

/* Parents before their children; names among them by name. */
static void queues_arrange(struct queues *q, const uint32_t *depths)
{
	struct by_depth *order = must_array(q->n, sizeof(*order));
	struct queue_read *arranged = must_array(q->n, sizeof(*arranged));

	for (size_t i = 0; i < q->n; i++)
		order[i] = (struct by_depth){ depths[i], i };
	qsort(order, q->n, sizeof(*order), depth_compare);
	for (size_t i = 0; i < q->n; i++)
		arranged[i] = q->queues[order[i].queue];
	free(order);
	free(q->queues);
	q->queues = arranged;
	q->room = q->n;
}

static bool queues_check(struct queues *q, char *error, size_t error_bytes)
{
	uint32_t *depths;
	size_t *parents;
	bool ok;

	for (size_t i = 1; i < q->n && q->source == QUEUES_CONFIG; i++)
		if (is_root(q, q->queues[i].name)) {
			snprintf(error, error_bytes, "queue root: it is there already, and has no fields");
			return false;
		}
	root_merge(q);
	if (q->n > SHARE_QUEUES_MAX) {
		snprintf(error, error_bytes, "%zu queues, of at most %u", q->n - 1, SHARE_QUEUES_MAX - 1);
		return false;
	}
	qsort(q->queues + 1, q->n - 1, sizeof(*q->queues), queues_compare);
	for (size_t i = 2; i < q->n; i++)
		if (strcmp(q->queues[i - 1].name, q->queues[i].name) == 0) {
			snprintf(error, error_bytes, "queue %s is there twice", q->queues[i].name);
			return false;
		}
	depths = must_array(q->n, sizeof(*depths));
	parents = must_array(q->n, sizeof(*parents));
	ok = depths_find(q, depths, parents, error, error_bytes);
	if (ok)
		queues_arrange(q, depths);
	free(depths);
	free(parents);
	return ok;
}

struct queues *queues_read(const char *source, const struct files *files, char *error,
                           size_t error_bytes)
{
	struct queues *q = must_alloc(sizeof(*q));
	const struct object *objects;
	bool ok = true;
	size_t n;

	*q = (struct queues){ .source = QUEUES_CONFIG };
	for (int s = QUEUES_VOLCANO; s < QUEUE_SOURCES; s++)
		if (strcmp(source, queue_sources[s]) == 0)
			q->source = (enum queue_source)s;
	queue_new(q, (struct text){ "root", 4 });
	if (q->source == QUEUES_CONFIG)
		ok = queues_read_config(q, source, error, error_bytes);
	objects = files_objects(files, &n);
	for (size_t i = 0; ok && i < n; i++) {
		ok = queues_read_object(q, &objects[i], error, error_bytes);
		object_note(q, &objects[i]);
	}
	if (ok && q->source == QUEUES_KOORDINATOR) {
		bool there = false;

		for (size_t i = 1; i < q->n; i++)
			there = there || strcmp(q->queues[i].name, default_queues[q->source]) == 0;
		if (!there)
			queue_new(
				q, (struct text){ default_queues[q->source], strlen(default_queues[q->source]) });
	}
	ok = ok && queues_check(q, error, error_bytes);
	names_sort(&q->pods);
	names_sort(&q->groups);
	if (ok)
		return q;
	queues_free(q);
	return NULL;
}

const char *queues_source(const struct queues *q)
{
	return queue_sources[q->source];
}

/* By the numbers of the model. */

static uint32_t resource_find(const struct model *model, const char *name)
{
	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		if (strcmp(model_name(model, r), name) == 0)
			return r;
	return UINT32_MAX;
}

static void amounts_set(const struct model *model, const struct queue_amounts *a, bool at_least,
                        int64_t *out)
{
	for (size_t i = 0; i < a->n; i++) {
		const uint32_t r = resource_find(model, a->at[i].resource);

		if (r < RESOURCES_MAX && (!at_least || a->at[i].value > out[r]))
			out[r] = a->at[i].value;
	}
}

static void def_set(const struct model *model, const struct queue_read *q, uint32_t parent,
                    enum queue_source source, struct share_def *d)
{
	*d = (struct share_def){ .name = q->name,
		                     .parent = parent,
		                     .priority = (int32_t)q->priority,
		                     .fifo = q->fifo,
		                     .state = q->state };
	for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
		d->weight[r] = q->weight;
		d->limit[r] = SHARE_NO_LIMIT;
	}
	amounts_set(model, &q->amounts[AMOUNT_LIMIT], false, d->limit);
	amounts_set(model, &q->amounts[AMOUNT_GUARANTEE], false, d->guarantee);
	if (source == QUEUES_VOLCANO || q->keeps)
		memcpy(d->reserved, d->guarantee, sizeof(d->reserved));
	amounts_set(model, &q->amounts[AMOUNT_RESERVED], false, d->reserved);
	amounts_set(model, &q->amounts[AMOUNT_DESERVED], true, d->guarantee);
	for (uint32_t r = 0; r < RESOURCES_MAX && q->by_limit; r++)
		d->weight[r] = d->limit[r] == SHARE_NO_LIMIT ? 1 : d->limit[r];
	amounts_set(model, &q->amounts[AMOUNT_WEIGHT], false, d->weight);
}

static uint32_t index_of(const struct queues *q, const char *name)
{
	for (size_t i = 0; i < q->n; i++)
		if (strcmp(q->queues[i].name, name) == 0)
			return (uint32_t)i;
	return SHARE_MISSING;
}

static bool lists(const struct queue_read *q, const char *namespace)
{
	for (size_t i = 0; i < q->namespaces_n; i++)
		if (strcmp(q->namespaces[i], namespace) == 0)
			return true;
	return false;
}

/* The queue of a namespace, for pods that name none themselves; NULL: none. */
static const char *of_namespace(const struct queues *q, const char *namespace)
{
	for (size_t i = 1; i < q->n && q->source == QUEUES_KOORDINATOR; i++)
		if (strcmp(q->queues[i].name, namespace) == 0 &&
		    strcmp(q->queues[i].namespace, namespace) == 0)
			return q->queues[i].name;
	for (size_t i = 1; i < q->n; i++)
		if (lists(&q->queues[i], namespace))
			return q->queues[i].name;
	return NULL;
}

static void pod_bind(void *context, const struct pod_view *pod)
{
	struct queues *q = context;
	const bool group_first = q->source == QUEUES_VOLCANO || q->source == QUEUES_KAI;
	const char *own, *of_group, *name;
	uint32_t queue;

	if (pod->id >= q->pods_n)
		return;
	own = names_find(&q->pods, pod->namespace, pod->name);
	of_group = pod->gang[0] ? names_find(&q->groups, pod->namespace, pod->gang) : NULL;
	name = own && !(group_first && of_group) ? own : of_group;
	if (name == NULL)
		name = of_namespace(q, pod->namespace);
	if (name == NULL)
		name = default_queues[q->source];
	queue = index_of(q, name);
	if (queue == SHARE_MISSING && q->source == QUEUES_KOORDINATOR)
		queue = index_of(q, default_queues[q->source]);
	q->of_pod[pod->id] = queue;
	q->named[pod->id] = name;
	q->keys[pod->id] = ctl_print("%s/%s", pod->namespace, pod->name);
}

static uint32_t of_pod(void *context, uint32_t pod)
{
	const struct queues *q = context;

	return pod < q->pods_n ? q->of_pod[pod] : SHARE_MISSING;
}

const struct share_set *queues_bind(struct queues *q, const struct model *model, uint32_t pods)
{
	uint32_t resources = RESOURCE_EXTENDED;

	for (uint32_t r = RESOURCE_EXTENDED; r < RESOURCES_MAX; r++)
		if (model_name(model, r)[0] != '\0')
			resources = r + 1;
	q->defs = must_array(q->n, sizeof(*q->defs));
	for (uint32_t i = 0; i < q->n; i++) {
		const char *parent = q->queues[i].parent;

		def_set(model, &q->queues[i],
		        parent[0] == '\0' || is_root(q, parent) ? 0 : index_of(q, parent), q->source,
		        &q->defs[i]);
	}
	q->pods_n = pods;
	q->of_pod = must_array(pods, sizeof(*q->of_pod));
	q->named = must_array(pods, sizeof(*q->named));
	q->keys = must_array(pods, sizeof(*q->keys));
	for (uint32_t i = 0; i < pods; i++)
		q->of_pod[i] = SHARE_MISSING;
	model_each_pod(model, pod_bind, q);
	q->set = (struct share_set){
		.defs = q->defs,
		.n = (uint32_t)q->n,
		.resources = resources,
		.unshared = UINT64_C(1) << RESOURCE_PODS | UINT64_C(1) << RESOURCE_EPHEMERAL,
		.of_pod = of_pod,
		.context = q,
	};
	return &q->set;
}

const char *queues_named(const struct queues *q, uint32_t pod)
{
	return pod < q->pods_n && q->named[pod] != NULL ? q->named[pod] : "";
}

const char *queues_pod_name(const struct queues *q, uint32_t pod)
{
	return pod < q->pods_n && q->keys[pod] != NULL ? q->keys[pod] : "";
}

/* The texts are a contract. */
char *queues_reason(const struct queues *q, const struct model *model, uint32_t pod,
                    const struct share_block *b, const char *behind)
{
	static const char *const states[] = { "open", "closing", "closed" };
	const char *name = queues_named(q, pod), *at = b->at < q->set.n ? q->defs[b->at].name : name;
	const char *resource = b->resource < RESOURCES_MAX ? model_name(model, b->resource) : "";
	const long long need = wide_cut(b->need), have = wide_cut(b->have);

	switch (b->by) {
	case SHARE_BY_LIMIT:
		return b->never
		           ? ctl_print("can never start: queue %s has a limit of %lld %s, needs %lld", at,
		                       (long long)q->defs[b->at].limit[b->resource], resource, need)
		           : ctl_print("queue %s is at its limit: %s need %lld, have %lld", at, resource,
		                       need, have);
	case SHARE_BY_KEPT:
		return ctl_print("room is kept for the guarantees of others: %s need %lld, have %lld",
		                 resource, need, have);
	case SHARE_BY_STATE:
		return ctl_print("queue %s is %s", at, states[q->defs[b->at].state]);
	case SHARE_BY_TWO:
		return must_copy("its members name several queues");
	case SHARE_BY_CHILDREN:
		return ctl_print("queue %s has children", at);
	case SHARE_BY_FIFO:
		return ctl_print("waits behind %s in queue %s (fifo)", behind, at);
	default:
		return ctl_print("queue %s does not exist", name);
	}
}
