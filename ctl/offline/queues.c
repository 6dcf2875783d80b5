/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of files, and the queue of each pod. */
#include "ctl/objects/read.h"
#include "ctl/offline/queues_impl.h"
#include "ctl/term/ctl.h"
#include "frontend/decode/extract.h"
#include "frontend/queues/unshared.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	queues_read_free(q->read);
	names_free(&q->pods);
	names_free(&q->groups);
	names_free(&q->namespaces);
	free(q->defs);
	free(q->of_pod);
	free(q->named);
	for (uint32_t i = 0; q->keys != NULL && i < q->pods_n; i++)
		free(q->keys[i]);
	free(q->keys);
	free(q);
}

/* What pods and groups name. */

static void name_add(struct queue_names *names, const struct object *object, struct text queue)
{
	names->at = must_reach(names->at, &names->room, names->n, 64, sizeof(*names->at));
	names->at[names->n++] =
		(struct queue_name){ .key = ctl_print("%s/%s", object->namespace, object->name),
		                     .queue = ctl_print("%.*s", (int)queue.bytes, queue.at) };
}

/* What is malformed is reported by the model's reader. */
static void object_note(struct queues *q, const struct object *object)
{
	const bool group = strcmp(object->kind, "PodGroup") == 0;
	struct arena arena = { 0 };
	struct text name;

	if (!group && strcmp(object->kind, "Pod") != 0)
		return;
	name = queues_mark(q->read->source, group, object->json, &arena);
	if (name.bytes > 0)
		name_add(group ? &q->groups : &q->pods, object, name);
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

static size_t selects(const struct queues_read *read, const struct object *object)
{
	struct arena arena = { 0 };
	struct decode_error error;
	struct meta meta = { 0 };
	size_t at = SIZE_MAX;

	if (extract_meta(object->json.at, object->json.bytes, &arena, &meta, &error) == 0)
		at = queues_select(read, &meta.labels);
	arena_free(&arena);
	return at;
}

/* Once the queues have their order.  A namespace that is in no file counts as one without labels.
 */
static void namespaces_note(struct queues *q, const struct object *objects, size_t n)
{
	const struct pairs none = { 0 };

	q->unlabelled = queues_select(q->read, &none);
	for (size_t i = 0; i < n && q->read->selects; i++) {
		size_t at;

		if (strcmp(objects[i].kind, "Namespace") != 0 || strcmp(objects[i].api_version, "v1") != 0)
			continue;
		at = selects(q->read, &objects[i]);
		name_add(&q->namespaces, &objects[i],
		         text_of(at != SIZE_MAX ? q->read->queues[at].name : ""));
	}
	names_sort(&q->namespaces);
}

static size_t selected(const struct queues *q, const char *namespace)
{
	const char *name = names_find(&q->namespaces, "", namespace);

	if (name == NULL)
		return q->unlabelled;
	return name[0] != '\0' ? queues_find(q->read, name) : SIZE_MAX;
}

static bool file_read(struct queues_read *q, const char *path, char *error, size_t error_bytes)
{
	struct bytes text = { 0 };
	bool ok = read_whole(path, &text, error, error_bytes) &&
	          queues_read_config(q, path, (struct text){ text.at, text.n }, error, error_bytes);

	bytes_free(&text);
	return ok;
}

static bool object_read(struct queues_read *q, const struct object *object, char *error,
                        size_t error_bytes)
{
	char where[512], why[1024];

	if (!queues_is_object(q->source, object->api_version, object->kind) ||
	    queues_read_object(q, object->namespace, object->name, object->json, why, sizeof(why)))
		return true;
	snprintf(error, error_bytes, "%s: %s %s: %s", object_where(object, where, sizeof(where)),
	         object->kind, object->name, why);
	ctl_plain(error);
	return false;
}

static bool unshared_read(const struct arguments *names, char *error, size_t error_bytes)
{
	char why[200];

	for (size_t i = 0; i < names->n; i++)
		if (!unshared_check(names->at[i], why, sizeof(why))) {
			snprintf(error, error_bytes, "--unshared-resource %s: %s", names->at[i], why);
			ctl_plain(error);
			return false;
		}
	return true;
}

struct queues *queues_read(const char *source, const struct arguments *unshared,
                           const struct files *files, char *error, size_t error_bytes)
{
	struct queues *q = must_alloc(sizeof(*q));
	enum queue_source from = QUEUES_CONFIG;
	const struct object *objects;
	size_t n;
	bool ok;

	for (int s = QUEUES_VOLCANO; s < QUEUE_SOURCES; s++)
		if (strcmp(source, queue_sources[s]) == 0)
			from = (enum queue_source)s;
	q->read = queues_new(from);
	q->unshared = unshared;
	ok = unshared_read(unshared, error, error_bytes);
	if (ok && from == QUEUES_CONFIG)
		ok = file_read(q->read, source, error, error_bytes);
	objects = files_objects(files, &n);
	for (size_t i = 0; ok && i < n; i++) {
		ok = object_read(q->read, &objects[i], error, error_bytes);
		object_note(q, &objects[i]);
	}
	ok = ok && queues_arrange(q->read, true, error, error_bytes);
	if (ok)
		namespaces_note(q, objects, n);
	names_sort(&q->pods);
	names_sort(&q->groups);
	if (ok)
		return q;
	queues_free(q);
	return NULL;
}

bool queues_take(const struct queues *q, const char *api_version, const char *kind)
{
	return queues_is_object(q->read->source, api_version, kind);
}

const char *queues_source(const struct queues *q)
{
	return queue_sources[q->read->source];
}

/* By the numbers of the model. */

static uint32_t resource_find(const void *model, const char *name)
{
	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		if (strcmp(model_name(model, r), name) == 0)
			return r;
	return UINT32_MAX;
}

static uint32_t index_of(const struct queues *q, const char *name)
{
	const size_t at = queues_find(q->read, name);

	return at != SIZE_MAX ? (uint32_t)at : SHARE_MISSING;
}

static void def_set(const struct queues *q, const struct model *model, uint32_t i)
{
	const struct queue_read *read = &q->read->queues[i];
	struct queue_amount amounts[RESOURCES_MAX];
	const uint32_t n =
		queues_amounts(read, q->read->source, resource_find, model, amounts, RESOURCES_MAX);
	struct share_def *d = &q->defs[i];

	*d = (struct share_def){ .name = read->name,
		                     .parent = index_of(q, read->parent),
		                     .priority = (int32_t)read->priority,
		                     .fifo = read->fifo,
		                     .kept = read->kept,
		                     .state = read->state,
		                     .max_run_s = read->max_run_s };
	for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
		d->weight[r] = queues_weight(read);
		d->limit[r] = QUEUE_NO_LIMIT;
	}
	for (uint32_t k = 0; k < n; k++) {
		d->guarantee[amounts[k].resource] = amounts[k].guarantee;
		d->reserved[amounts[k].resource] = amounts[k].reserved;
		d->limit[amounts[k].resource] = amounts[k].limit;
		d->weight[amounts[k].resource] = amounts[k].weight;
	}
}

static void pod_bind(void *context, const struct pod_view *pod)
{
	struct queues *q = context;
	const char *name;

	if (pod->id >= q->pods_n)
		return;
	name = queues_name_of(q->read, names_find(&q->pods, pod->namespace, pod->name),
	                      pod->gang[0] ? names_find(&q->groups, pod->namespace, pod->gang) : NULL,
	                      pod->namespace, selected(q, pod->namespace));
	q->of_pod[pod->id] = index_of(q, name);
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
	q->defs = must_array(q->read->n, sizeof(*q->defs));
	for (uint32_t i = 0; i < q->read->n; i++)
		def_set(q, model, i);
	q->pods_n = pods;
	q->of_pod = must_array(pods, sizeof(*q->of_pod));
	q->named = must_array(pods, sizeof(*q->named));
	q->keys = must_array(pods, sizeof(*q->keys));
	for (uint32_t i = 0; i < pods; i++)
		q->of_pod[i] = SHARE_MISSING;
	model_each_pod(model, pod_bind, q);
	q->set = (struct share_set){
		.defs = q->defs,
		.n = (uint32_t)q->read->n,
		.resources = resources,
		.unshared = unshared_bits(q->unshared->n > 0 ? q->unshared->at : NULL, q->unshared->n,
		                          resource_find, model),
		.of_pod = of_pod,
		.context = q,
	};
	return &q->set;
}

const char *queues_name(const struct queues *q, uint32_t queue)
{
	return queue < q->set.n ? q->defs[queue].name : "";
}

const char *queues_named(const struct queues *q, uint32_t pod)
{
	return pod < q->pods_n && q->named[pod] != NULL ? q->named[pod] : "";
}

const char *queues_pod_name(const struct queues *q, uint32_t pod)
{
	return pod < q->pods_n && q->keys[pod] != NULL ? q->keys[pod] : "";
}
