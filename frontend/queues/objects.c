/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of other schedulers, and what pods and groups name. */
#include "frontend/queues/read.h"

#include "ipc/clean.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(struct json *j, void *out)
{
	if (!json_null(j))
		json_fail(j, "muster does not serve a queue with it");
}

static void amounts_at(struct json *j, struct queue_read *q, enum queue_amount_kind kind)
{
	queue_amounts_read(j, &q->amounts[kind]);
}

static void read_guarantee(struct json *j, void *q)
{
	amounts_at(j, q, AMOUNT_GUARANTEE);
}

static void read_deserved(struct json *j, void *q)
{
	amounts_at(j, q, AMOUNT_DESERVED);
}

static void read_limit(struct json *j, void *q)
{
	amounts_at(j, q, AMOUNT_LIMIT);
}

static void read_weights(struct json *j, void *q)
{
	amounts_at(j, q, AMOUNT_WEIGHT);
}

static void read_texts(struct json *j, void *q)
{
	queue_texts_read(j, q);
}

static void read_weight(struct json *j, void *q)
{
	queue_weights_read(j, q);
}

static void read_priority(struct json *j, void *q)
{
	queue_priority_read(j, q);
}

static void read_min_runtime(struct json *j, void *q)
{
	if (!json_null(j))
		queue_duration_read(j, &((struct queue_read *)q)->min_run_s);
}

static void read_parent(struct json *j, void *q)
{
	queue_text_read(j, &((struct queue_read *)q)->parent);
}

static void read_traverse(struct json *j, void *q)
{
	queue_order_read(j, q, "traverse");
}

static void read_state(struct json *j, void *q)
{
	queue_state_read(j, q);
}

static void read_reclaimable(struct json *j, void *q)
{
	if (!json_null(j))
		queue_reclaimable_read(j, q);
}

static const struct json_field volcano_guarantee[] = { JSON_WHOLE("resource", read_guarantee) };
static const struct json_field volcano_spec[] = {
	JSON_WHOLE("weight", read_weight),
	JSON_WHOLE("capability", read_limit),
	JSON_WHOLE("deserved", read_deserved),
	JSON_NESTED("guarantee", volcano_guarantee),
	JSON_WHOLE("parent", read_parent),
	JSON_WHOLE("priority", read_priority),
	JSON_WHOLE("dequeueStrategy", read_traverse),
	JSON_WHOLE("reclaimable", read_reclaimable),
	JSON_WHOLE("affinity", refuse),
	JSON_WHOLE("extendClusters", refuse),
};
static const struct json_field volcano_status[] = { JSON_WHOLE("state", read_state) };
static const struct json_field volcano_annotations[] = {
	JSON_WHOLE("volcano.sh/hierarchy", refuse),
	JSON_WHOLE("volcano.sh/hierarchy-weights", refuse),
};
static const struct json_field volcano_metadata[] = { JSON_NESTED("annotations",
	                                                              volcano_annotations) };
static const struct json_field volcano_queue[] = {
	JSON_NESTED("metadata", volcano_metadata),
	JSON_NESTED("spec", volcano_spec),
	JSON_NESTED("status", volcano_status),
};

/* Reads the JSON of an annotation's text. */
static void read_inner(struct json *j, void *q, json_read_fn read)
{
	struct arena arena = { 0 };
	struct json inner;
	struct text t;

	if (!json_string(j, &t) || t.bytes == 0)
		return;
	json_begin(&inner, t.at, t.bytes, &arena);
	read(&inner, q);
	if (!json_end(&inner))
		json_fail(j, "%s", inner.error);
	arena_free(&arena);
}

static void read_shared_weight(struct json *j, void *q)
{
	read_inner(j, q, read_weights);
}

static void read_guaranteed(struct json *j, void *q)
{
	read_inner(j, q, read_deserved);
}

static void read_namespaces(struct json *j, void *q)
{
	read_inner(j, q, read_texts);
}

static void read_lent(struct json *j, void *q)
{
	struct text t;

	if (json_string(j, &t))
		((struct queue_read *)q)->keeps = text_is(t, "false");
}

#define KOORDINATOR "quota.scheduling.koordinator.sh/"
static const struct json_field koordinator_labels[] = {
	JSON_WHOLE(KOORDINATOR "parent", read_parent),
	JSON_WHOLE(KOORDINATOR "allow-lent-resource", read_lent),
	JSON_WHOLE(KOORDINATOR "tree-id", refuse),
};
static const struct json_field koordinator_annotations[] = {
	JSON_WHOLE(KOORDINATOR "shared-weight", read_shared_weight),
	JSON_WHOLE(KOORDINATOR "guaranteed", read_guaranteed),
	JSON_WHOLE(KOORDINATOR "namespaces", read_namespaces),
	JSON_WHOLE(KOORDINATOR "admission", refuse),
};
static const struct json_field koordinator_metadata[] = {
	JSON_NESTED("labels", koordinator_labels),
	JSON_NESTED("annotations", koordinator_annotations),
};
static const struct json_field koordinator_spec[] = {
	JSON_WHOLE("min", read_guarantee),
	JSON_WHOLE("max", read_limit),
};
static const struct json_field koordinator_quota[] = {
	JSON_NESTED("metadata", koordinator_metadata),
	JSON_NESTED("spec", koordinator_spec),
};

static int64_t times(int64_t value, int64_t unit)
{
	return value > INT64_MAX / unit ? INT64_MAX : value * unit;
}

/* KAI counts devices, milli of cpu, and memory in 10^6 bytes; -1 is no bound, and a limit that is
 * not there is 0. */
static void kai_resource(struct json *j, struct queue_read *q, const char *name, int64_t unit)
{
	const size_t bytes = strlen(name);
	int64_t quota = 0, weight = 0, limit = 0;
	struct text key;

	if (!json_object(j))
		return;
	while (json_member(j, &key)) {
		if (text_is(key, "quota"))
			queue_quantity_read(j, false, true, &quota);
		else if (text_is(key, "overQuotaWeight"))
			queue_quantity_read(j, true, false, &weight);
		else if (text_is(key, "limit"))
			queue_quantity_read(j, false, true, &limit);
		else
			json_skip(j);
	}
	queue_amount_set(&q->amounts[AMOUNT_GUARANTEE], name, bytes,
	                 quota < 0 ? QUEUE_ALL : times(quota, unit));
	queue_amount_set(&q->amounts[AMOUNT_LIMIT], name, bytes,
	                 limit < 0 ? QUEUE_NO_LIMIT : times(limit, unit));
	queue_amount_set(&q->amounts[AMOUNT_WEIGHT], name, bytes, weight);
}

static void read_kai_resources(struct json *j, void *q)
{
	static const struct {
		const char *key, *resource;
		int64_t unit;
	} rows[] = { { "gpu", "nvidia.com/gpu", 1 },
		         { "cpu", "cpu", 1 },
		         { "memory", "memory", 1000000 } };
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	bool seen[3] = { false };
	struct text key;
	size_t i;

	if (!json_object(j))
		return;
	while (json_member(j, &key)) {
		for (i = 0; i < n && !text_is(key, rows[i].key); i++)
			;
		if (i == n) {
			json_skip(j);
			continue;
		}
		seen[i] = true;
		kai_resource(j, q, rows[i].resource, rows[i].unit);
	}
	for (i = 0; i < n && !j->failed; i++)
		if (!seen[i])
			queue_amount_set(&((struct queue_read *)q)->amounts[AMOUNT_LIMIT], rows[i].resource,
			                 strlen(rows[i].resource), 0);
}

static const struct json_field kai_spec[] = {
	JSON_WHOLE("parentQueue", read_parent),
	JSON_WHOLE("priority", read_priority),
	JSON_WHOLE("resources", read_kai_resources),
	JSON_WHOLE("reclaimMinRuntime", read_min_runtime),
};
static const struct json_field kai_queue[] = { JSON_NESTED("spec", kai_spec) };

bool queues_is_object(enum queue_source source, const char *api_version, const char *kind)
{
	static const struct {
		const char *group, *kind;
	} of[QUEUE_SOURCES] = {
		[QUEUES_VOLCANO] = { "scheduling.volcano.sh/", "Queue" },
		[QUEUES_KOORDINATOR] = { "scheduling.sigs.k8s.io/", "ElasticQuota" },
		[QUEUES_KAI] = { "scheduling.run.ai/", "Queue" },
	};

	return of[source].group != NULL &&
	       strncmp(kind, of[source].kind, strlen(of[source].kind)) == 0 &&
	       strchr(" ", kind[strlen(of[source].kind)]) != NULL &&
	       strncmp(api_version, of[source].group, strlen(of[source].group)) == 0;
}

bool queues_read_object(struct queues_read *q, const char *namespace, const char *name,
                        struct text json, char *error, size_t error_bytes)
{
	struct arena arena = { 0 };
	struct queue_read *queue = queue_new(q, text_of(name));
	struct json j;
	char path[512];
	bool ok;

	json_begin(&j, json.at, json.bytes, &arena);
	if (q->source == QUEUES_VOLCANO) {
		json_fields(&j, volcano_queue, queue);
	} else if (q->source == QUEUES_KOORDINATOR) {
		free(queue->namespace);
		queue->namespace = must_copy(namespace);
		queue->by_limit = true;
		json_fields(&j, koordinator_quota, queue);
	} else {
		queue->priority = 100;
		json_fields(&j, kai_queue, queue);
	}
	ok = json_end(&j);
	if (!ok) {
		json_path(&j, path, sizeof(path));
		snprintf(error, error_bytes, "%s%s%s", path, path[0] != '\0' ? ": " : "", j.error);
		clean_text(error);
	}
	arena_free(&arena);
	return ok;
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

static const struct json_field config_named[] = { JSON_NESTED("labels", config_marks) };
static const struct json_field koordinator_named[] = { JSON_NESTED("labels", koordinator_marks) };
static const struct json_field kai_named[] = { JSON_NESTED("labels", kai_marks) };
static const struct json_field volcano_named[] = { JSON_NESTED("annotations", volcano_marks) };

static const struct json_field config_marked[] = { JSON_NESTED("metadata", config_named) };
static const struct json_field koordinator_marked[] = { JSON_NESTED("metadata",
	                                                                koordinator_named) };
static const struct json_field kai_marked[] = { JSON_NESTED("metadata", kai_named) };
static const struct json_field volcano_marked[] = { JSON_NESTED("metadata", volcano_named) };
static const struct json_field group_object[] = { JSON_NESTED("spec", queue_spec) };

static void marks_read(struct json *j, enum queue_source source, struct marks *marks)
{
	switch (source) {
	case QUEUES_VOLCANO:
		json_fields(j, volcano_marked, marks);
		break;
	case QUEUES_KOORDINATOR:
		json_fields(j, koordinator_marked, marks);
		break;
	case QUEUES_KAI:
		json_fields(j, kai_marked, marks);
		break;
	default:
		json_fields(j, config_marked, marks);
	}
}

struct text queues_mark(enum queue_source source, bool group, struct text json, struct arena *arena)
{
	struct marks marks = { 0 };
	struct json j;

	json_begin(&j, json.at, json.bytes, arena);
	marks_read(&j, source, &marks);
	if (!j.failed && group && (source == QUEUES_VOLCANO || source == QUEUES_KAI)) {
		json_begin(&j, json.at, json.bytes, arena);
		json_fields(&j, group_object, &marks);
	}
	if (j.failed)
		return (struct text){ 0 };
	if (marks.spec.bytes > 0)
		return marks.spec;
	return marks.label.bytes > 0 ? marks.label : marks.annotation;
}
