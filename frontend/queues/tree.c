/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of what was read, and the queue of a name or a namespace. */
#include "frontend/queues/read.h"

#include "frontend/base/compare.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const queue_sources[QUEUE_SOURCES] = { "config", "volcano", "koordinator", "kai" };

/* Where a pod goes that names no queue. */
static const char *const default_queues[QUEUE_SOURCES] = { "default", "default",
	                                                       "koordinator-default-quota",
	                                                       "default-queue" };

char *queue_text_copy(struct text t)
{
	char *out = must_array(t.bytes + 1, 1);

	if (t.bytes > 0)
		memcpy(out, t.at, t.bytes);
	return out;
}

struct queue_read *queue_new(struct queues_read *q, struct text name)
{
	q->queues = must_reach(q->queues, &q->room, q->n, 16, sizeof(*q->queues));
	q->queues[q->n] = (struct queue_read){ .name = queue_text_copy(name),
		                                   .parent = must_copy(""),
		                                   .namespace = must_copy(""),
		                                   .weight = 1 };
	return &q->queues[q->n++];
}

struct queues_read *queues_new(enum queue_source source)
{
	struct queues_read *q = must_alloc(sizeof(*q));

	q->source = source;
	queue_new(q, text_of("root"));
	return q;
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
	free(q->selectors);
	free(q->name);
	free(q->parent);
	free(q->namespace);
}

void queues_read_free(struct queues_read *q)
{
	if (q == NULL)
		return;
	for (size_t i = 0; i < q->n; i++)
		queue_free(&q->queues[i]);
	free(q->queues);
	free(q->by_name);
	free(q->namespaces);
	arena_free(&q->arena);
	free(q);
}

static bool is_root(const struct queues_read *q, const char *name)
{
	return name[0] == '\0' || strcmp(name, "root") == 0 ||
	       (q->source == QUEUES_KOORDINATOR && strcmp(name, "koordinator-root-quota") == 0);
}

static int queues_compare(const void *a, const void *b)
{
	const struct queue_read *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order != 0 ? order : strcmp(x->namespace, y->namespace);
}

/* The first name is that of the queue after the root. */
static const char *sorted_name(const void *queues, size_t i)
{
	return ((const struct queues_read *)queues)->queues[1 + i].name;
}

/* By name, of queues 1 and up, which are sorted; 0 of one that isn't there. */
static size_t sorted_find(const struct queues_read *q, const char *name)
{
	return 1 + names_find(name, q->n - 1, sorted_name, q); /* SIZE_MAX: 0 */
}

/* An object that is the root itself says what all may have. */
static void root_merge(struct queues_read *q)
{
	for (size_t i = 1; i < q->n; i++) {
		struct queue_values *limit = &q->queues[i].amounts[AMOUNT_LIMIT];

		if (!is_root(q, q->queues[i].name))
			continue;
		if (q->source != QUEUES_KOORDINATOR && q->queues[0].amounts[AMOUNT_LIMIT].n == 0) {
			q->queues[0].amounts[AMOUNT_LIMIT] = *limit;
			*limit = (struct queue_values){ 0 };
		}
		queue_free(&q->queues[i]);
		q->queues[i--] = q->queues[--q->n];
	}
}

struct place {
	uint32_t depth; /* QUEUE_DEPTH_MAX + 1: the root isn't reached */
	size_t parent, queue;
	bool missing; /* its parent */
};

static void places_find(const struct queues_read *q, struct place *places)
{
	for (size_t i = 1; i < q->n; i++) {
		const char *parent = q->queues[i].parent;

		places[i].queue = i;
		places[i].parent = is_root(q, parent) ? 0 : sorted_find(q, parent);
		places[i].missing = places[i].parent == 0 && !is_root(q, parent);
	}
	for (size_t i = 1; i < q->n; i++) {
		bool missing = false;

		for (size_t at = i; at != 0 && places[i].depth <= QUEUE_DEPTH_MAX; at = places[at].parent) {
			places[i].depth++;
			missing = missing || places[at].missing;
		}
		if (missing)
			places[i].depth = QUEUE_DEPTH_MAX + 1;
	}
}

static bool places_right(const struct queues_read *q, const struct place *places, char *error,
                         size_t error_bytes)
{
	for (size_t i = 1; i < q->n; i++)
		if (places[i].missing) {
			snprintf(error, error_bytes, "queue %s: parent: queue %s does not exist",
			         q->queues[i].name, q->queues[i].parent);
			return false;
		}
	for (size_t i = 1; i < q->n; i++)
		if (places[i].depth > QUEUE_DEPTH_MAX) {
			snprintf(error, error_bytes,
			         "queue %s: parent: a cycle, or more than %u queues on the way to the root",
			         q->queues[i].name, QUEUE_DEPTH_MAX);
			return false;
		}
	return true;
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->queue < y->queue ? -1 : 1;
}

/* Parents before their children; names among them by name. */
static bool tree_order(struct queues_read *q, bool strict, char *error, size_t error_bytes)
{
	struct place *places = must_array(q->n, sizeof(*places));
	struct queue_read *arranged;
	bool ok;

	places_find(q, places);
	ok = !strict || places_right(q, places, error, error_bytes);
	if (ok) {
		arranged = must_array(q->n, sizeof(*arranged));
		qsort(places, q->n, sizeof(*places), place_compare);
		for (size_t i = 0; i < q->n; i++)
			arranged[i] = q->queues[places[i].queue];
		free(q->queues);
		q->queues = arranged;
		q->room = q->n;
	}
	free(places);
	return ok;
}

static int name_compare(const void *a, const void *b, void *context)
{
	const struct queues_read *q = context;

	return strcmp(q->queues[*(const size_t *)a].name, q->queues[*(const size_t *)b].name);
}

static int namespace_compare(const void *a, const void *b)
{
	const struct queue_namespace *x = a, *y = b;
	const int order = strcmp(x->namespace, y->namespace);

	if (order != 0)
		return order;
	return x->queue < y->queue ? -1 : x->queue > y->queue;
}

/* A quota that is named like its namespace comes before those that list it. */
static void namespaces_index(struct queues_read *q)
{
	size_t n = 0, kept = 0;

	for (size_t i = 1; i < q->n; i++)
		n += 1 + q->queues[i].namespaces_n;
	q->namespaces = must_array(n + 1, sizeof(*q->namespaces));
	n = 0;
	for (size_t i = 1; i < q->n; i++)
		for (size_t k = 0; k < q->queues[i].namespaces_n; k++)
			q->namespaces[n++] = (struct queue_namespace){ q->queues[i].namespaces[k], q->n + i };
	for (size_t i = 1; i < q->n && q->source == QUEUES_KOORDINATOR; i++)
		if (strcmp(q->queues[i].name, q->queues[i].namespace) == 0)
			q->namespaces[n++] = (struct queue_namespace){ q->queues[i].name, i };
	qsort(q->namespaces, n, sizeof(*q->namespaces), namespace_compare);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && strcmp(q->namespaces[kept - 1].namespace, q->namespaces[i].namespace) == 0)
			continue;
		q->namespaces[kept] = q->namespaces[i];
		if (q->namespaces[kept].queue >= q->n)
			q->namespaces[kept].queue -= q->n;
		kept++;
	}
	q->namespaces_n = kept;
}

static void names_index(struct queues_read *q)
{
	q->by_name = must_array(q->n, sizeof(*q->by_name));
	for (size_t i = 0; i < q->n; i++)
		q->by_name[i] = i;
	qsort_r(q->by_name + 1, q->n - 1, sizeof(*q->by_name), name_compare, q);
}

/* A record of a queue has no room for more (struct event_queue). */
static bool names_short(const struct queues_read *q, char *error, size_t error_bytes)
{
	for (size_t i = 1; i < q->n; i++)
		if (strlen(q->queues[i].name) >= QUEUE_NAME_MAX) {
			snprintf(error, error_bytes, "queue %.64s...: name: %zu bytes, of at most %u",
			         q->queues[i].name, strlen(q->queues[i].name), QUEUE_NAME_MAX - 1);
			return false;
		}
	return true;
}

static bool names_right(struct queues_read *q, bool strict, char *error, size_t error_bytes)
{
	for (size_t i = 2; i < q->n; i++) {
		if (strcmp(q->queues[i - 1].name, q->queues[i].name) != 0)
			continue;
		snprintf(error, error_bytes, "queue %s is there twice", q->queues[i].name);
		if (strict)
			return false;
		queue_free(&q->queues[i]); /* the first one counts */
		memmove(&q->queues[i], &q->queues[i + 1], (--q->n - i) * sizeof(*q->queues));
		i--;
	}
	return true;
}

/* A child of weight 1 for each namespace of those that have one for each. */
static void namespaces_split(struct queues_read *q)
{
	const size_t n = q->n;

	for (size_t i = 1; i < n; i++) {
		char **namespaces = q->queues[i].namespaces;
		const size_t namespaces_n = q->queues[i].namespaces_n;

		if (!q->queues[i].per_namespace)
			continue;
		q->queues[i].namespaces = NULL;
		q->queues[i].namespaces_n = 0;
		for (size_t k = 0; k < namespaces_n; k++) {
			const char *parent = q->queues[i].name; /* queue_new() moves the queues */
			const size_t bytes = strlen(parent) + strlen(namespaces[k]) + 2;
			char *name = must_array(bytes, 1);
			struct queue_read *child;

			snprintf(name, bytes, "%s.%s", parent, namespaces[k]);
			child = queue_new(q, text_of(name));
			free(name);
			free(child->parent);
			child->parent = must_copy(q->queues[i].name);
			child->fifo = q->queues[i].fifo;
			child->namespaces = must_array(1, sizeof(*child->namespaces));
			child->namespaces[child->namespaces_n++] = namespaces[k];
		}
		free(namespaces);
	}
}

bool queues_arrange(struct queues_read *q, bool strict, char *error, size_t error_bytes)
{
	bool there = q->source != QUEUES_KOORDINATOR;

	error[0] = '\0';
	for (size_t i = 1; i < q->n && q->source == QUEUES_CONFIG; i++)
		if (is_root(q, q->queues[i].name)) {
			snprintf(error, error_bytes, "queue root: it is there already, and has no fields");
			return false;
		}
	for (size_t i = 1; i < q->n; i++)
		there = there || strcmp(q->queues[i].name, default_queues[q->source]) == 0;
	if (!there)
		queue_new(q, text_of(default_queues[q->source]));
	namespaces_split(q);
	root_merge(q);
	if (q->n > QUEUES_MAX) {
		snprintf(error, error_bytes, "%zu queues, of at most %u", q->n - 1, QUEUES_MAX - 1);
		return false;
	}
	if (strict && !names_short(q, error, error_bytes)) /* an API server has none of 254 bytes */
		return false;
	qsort(q->queues + 1, q->n - 1, sizeof(*q->queues), queues_compare);
	if (!names_right(q, strict, error, error_bytes) || !tree_order(q, strict, error, error_bytes))
		return false;
	names_index(q);
	namespaces_index(q);
	return true;
}

static const char *indexed_name(const void *queues, size_t i)
{
	const struct queues_read *q = queues;

	return q->queues[q->by_name[1 + i]].name;
}

size_t queues_find(const struct queues_read *q, const char *name)
{
	size_t at;

	if (is_root(q, name))
		return 0;
	at = names_find(name, q->n - 1, indexed_name, q);
	return at != SIZE_MAX ? q->by_name[1 + at] : SIZE_MAX;
}

static const char *namespace_at(const void *queues, size_t i)
{
	return ((const struct queues_read *)queues)->namespaces[i].namespace;
}

static const char *of_namespace(const struct queues_read *q, const char *namespace)
{
	const size_t at = names_find(namespace, q->namespaces_n, namespace_at, q);

	return at != SIZE_MAX ? q->queues[q->namespaces[at].queue].name : NULL;
}

/* Who names a queue with a child for each namespace goes to that of his own, also if another queue
 * lists the namespace before it. */
static const char *child_for(const struct queues_read *q, const char *name, const char *namespace)
{
	const size_t at = q->source == QUEUES_CONFIG ? queues_find(q, name) : SIZE_MAX;
	const struct queue_read *child;
	char text[2 * QUEUE_NAME_MAX];
	size_t below;

	if (at == SIZE_MAX || !q->queues[at].per_namespace)
		return name;
	snprintf(text, sizeof(text), "%s.%s", name, namespace);
	below = queues_find(q, text);
	child = below != SIZE_MAX ? &q->queues[below] : NULL;
	return child && strcmp(child->parent, name) == 0 && child->namespaces_n == 1 &&
	               strcmp(child->namespaces[0], namespace) == 0
	           ? child->name
	           : name;
}

const char *queues_name_of(const struct queues_read *q, const char *own, const char *of_group,
                           const char *namespace, size_t selected)
{
	const bool group_first = q->source == QUEUES_VOLCANO || q->source == QUEUES_KAI;
	const bool has_own = own && *own, has_group = of_group && *of_group;
	const char *name = has_own && !(group_first && has_group) ? own : of_group;

	if (!has_own && !has_group)
		name = of_namespace(q, namespace);
	if (!has_own && !has_group && name == NULL && selected != SIZE_MAX)
		name = q->queues[selected].name;
	if (name == NULL)
		name = default_queues[q->source];
	name = child_for(q, name, namespace);
	/* Koordinator has a default for names that aren't there, too. */
	if (q->source == QUEUES_KOORDINATOR && queues_find(q, name) == SIZE_MAX)
		name = default_queues[q->source];
	return name;
}

/* Amounts by resource. */

static struct queue_amount *amount_at(struct queue_amount *out, uint32_t *n, uint32_t room,
                                      uint32_t resource, const struct queue_read *q)
{
	uint32_t i = 0;

	while (i < *n && out[i].resource < resource)
		i++;
	if (i < *n && out[i].resource == resource)
		return &out[i];
	if (*n == room)
		return NULL;
	memmove(&out[i + 1], &out[i], (*n - i) * sizeof(*out));
	out[i] = (struct queue_amount){ .resource = resource,
		                            .limit = QUEUE_NO_LIMIT,
		                            .weight = queues_weight(q) };
	++*n;
	return &out[i];
}

int64_t queues_weight(const struct queue_read *q)
{
	return q->by_limit ? QUEUE_WEIGHT_OF_LIMIT : q->weight;
}

uint32_t queues_run_s(const struct queues_read *q, size_t queue)
{
	uint32_t run_s = 0, most = UINT32_MAX;

	/* Queues that are not below the root may be in a cycle. */
	for (uint32_t depth = 0; depth <= QUEUE_DEPTH_MAX && queue != SIZE_MAX; depth++) {
		const struct queue_read *r = &q->queues[queue];

		if (run_s == 0)
			run_s = r->run_s;
		if (r->max_run_s > 0 && r->max_run_s < most)
			most = r->max_run_s;
		if (queue == 0)
			break;
		queue = queues_find(q, r->parent);
	}
	return run_s < most ? run_s : most;
}

static void amount_put(struct queue_amount *a, enum queue_amount_kind kind, int64_t value,
                       bool keeps)
{
	switch (kind) {
	case AMOUNT_GUARANTEE:
		a->guarantee = value;
		if (keeps)
			a->reserved = value;
		break;
	case AMOUNT_RESERVED:
		a->reserved = value;
		break;
	case AMOUNT_LIMIT:
		a->limit = value;
		break;
	case AMOUNT_WEIGHT:
		a->weight = value;
		break;
	default:
		a->guarantee = value > a->guarantee && a->guarantee != QUEUE_ALL ? value : a->guarantee;
	}
}

uint32_t queues_amounts(const struct queue_read *q, enum queue_source source,
                        uint32_t (*find)(const void *context, const char *resource),
                        const void *context, struct queue_amount *out, uint32_t room)
{
	const bool keeps = source == QUEUES_VOLCANO || q->keeps;
	uint32_t n = 0;

	for (int kind = 0; kind < AMOUNT_KINDS; kind++)
		for (size_t i = 0; i < q->amounts[kind].n; i++) {
			const struct queue_value *v = &q->amounts[kind].at[i];
			const uint32_t resource = find(context, v->resource);
			struct queue_amount *a =
				resource != UINT32_MAX ? amount_at(out, &n, room, resource, q) : NULL;

			if (a)
				amount_put(a, (enum queue_amount_kind)kind, v->value, keeps);
		}
	return n;
}
