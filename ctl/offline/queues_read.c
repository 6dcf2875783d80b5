/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as they are written: muster's own list, and the objects of other schedulers.  The rows of
 * docs/fairness.md, "Whose queues". */
#include "ctl/objects/read.h"
#include "ctl/offline/queues_impl.h"
#include "ctl/term/ctl.h"
#include "frontend/json/quantity.h"
#include "frontend/json/yaml.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(struct text a, const char *b)
{
	return a.bytes == strlen(b) && memcmp(a.at, b, a.bytes) == 0;
}

static char *copy(struct text t)
{
	char *out = must_array(t.bytes + 1, 1);

	if (t.bytes > 0)
		memcpy(out, t.at, t.bytes);
	return out;
}

static void amount_set(struct queue_amounts *a, const char *resource, size_t bytes, int64_t value)
{
	a->at = must_grow(a->at, (a->n + 1) * sizeof(*a->at));
	a->at[a->n++] =
		(struct queue_amount){ .resource = copy((struct text){ resource, bytes }), .value = value };
}

/* A quantity in the ledger's units; false: the error is in j. */
static bool quantity_read(struct json *j, bool milli, bool negative, int64_t *out)
{
	struct text t;
	nano_t nano;

	if (!json_scalar(j, &t))
		return false;
	if (quantity_parse(t.at, t.bytes, &nano) != 0 || (nano < 0 && !negative)) {
		json_fail(j, "%.*s is not %s", (int)(t.bytes < 64 ? t.bytes : 64), t.at,
		          negative ? "a number" : "a quantity of 0 or more");
		return false;
	}
	*out = nano < 0 ? -1 : milli ? quantity_milli(nano) : quantity_value(nano);
	return true;
}

/* {"cpu": "4", "nvidia.com/gpu": 8} */
static void amounts_read(struct json *j, struct queue_amounts *a)
{
	struct text key;
	int64_t value;

	if (!json_object(j))
		return;
	while (json_key(j, &key))
		if (quantity_read(j, is(key, "cpu"), false, &value))
			amount_set(a, key.at, key.bytes, value);
}

/* A number for all resources, or an object of numbers. */
static void weights_read(struct json *j, struct queue_read *q)
{
	struct text raw, key;
	int64_t value;

	while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
		j->at++;
	if (j->at < j->end && *j->at != '{') {
		nano_t nano;

		if (!json_scalar(j, &raw))
			return;
		if (quantity_parse(raw.at, raw.bytes, &nano) != 0 || nano < 0 || nano % 1000000000 != 0)
			json_fail(j, "%.*s is not a whole number of 0 or more",
			          (int)(raw.bytes < 64 ? raw.bytes : 64), raw.at);
		else
			q->weight = quantity_value(nano);
		return;
	}
	if (!json_object(j))
		return;
	while (json_key(j, &key))
		if (quantity_read(j, is(key, "cpu"), false, &value))
			amount_set(&q->amounts[AMOUNT_WEIGHT], key.at, key.bytes, value);
}

static void texts_read(struct json *j, struct queue_read *q)
{
	struct text t;

	if (!json_array(j))
		return;
	while (json_item(j))
		if (json_string(j, &t)) {
			q->namespaces =
				must_grow(q->namespaces, (q->namespaces_n + 1) * sizeof(*q->namespaces));
			q->namespaces[q->namespaces_n++] = copy(t);
		}
}

static void text_read(struct json *j, char **out)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	free(*out);
	*out = copy(t);
}

static void order_read(struct json *j, struct queue_read *q, const char *skip)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	if (is(t, "fifo"))
		q->fifo = true;
	else if (t.bytes > 0 && !is(t, skip))
		json_fail(j, "%.*s: %s and fifo are the orders there are",
		          (int)(t.bytes < 64 ? t.bytes : 64), t.at, skip);
}

static void state_read(struct json *j, struct queue_read *q)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	if (is(t, "Closing") || is(t, "Closed"))
		q->state = is(t, "Closing") ? SHARE_CLOSING : SHARE_CLOSED;
	else if (t.bytes > 0 && !is(t, "Open") && !is(t, "Unknown"))
		json_fail(j, "%.*s: Open, Closing and Closed are the states there are",
		          (int)(t.bytes < 64 ? t.bytes : 64), t.at);
}

static void priority_read(struct json *j, struct queue_read *q)
{
	if (json_int64(j, &q->priority) && (q->priority > INT32_MAX || q->priority < INT32_MIN))
		json_fail(j, "%lld is beyond 32 bits", (long long)q->priority);
}

/* One item of muster's own list. */
static void item_read(struct json *j, struct queue_read *q)
{
	struct text key;

	if (!json_object(j))
		return;
	while (json_member(j, &key)) {
		if (is(key, "name"))
			text_read(j, &q->name);
		else if (is(key, "parent"))
			text_read(j, &q->parent);
		else if (is(key, "guarantee"))
			amounts_read(j, &q->amounts[AMOUNT_GUARANTEE]);
		else if (is(key, "reserved"))
			amounts_read(j, &q->amounts[AMOUNT_RESERVED]);
		else if (is(key, "limit"))
			amounts_read(j, &q->amounts[AMOUNT_LIMIT]);
		else if (is(key, "weight"))
			weights_read(j, q);
		else if (is(key, "priority"))
			priority_read(j, q);
		else if (is(key, "order"))
			order_read(j, q, "skip");
		else if (is(key, "state"))
			state_read(j, q);
		else if (is(key, "namespaces"))
			texts_read(j, q);
		else
			json_fail(j, "not a field of a queue: name, parent, guarantee, reserved, limit, "
			             "weight, priority, order, state and namespaces are");
	}
	if (!j->failed && q->name[0] == '\0')
		json_fail(j, "a queue without a name");
}

static void list_read(struct json *j, struct queues *q)
{
	if (!json_array(j))
		return;
	while (json_item(j) && !j->failed)
		item_read(j, queue_new(q, (struct text){ "", 0 }));
}

/* An error of the document, with its place. */
static bool wrong(struct json *j, const char *where, char *error, size_t error_bytes)
{
	char path[512];

	json_path(j, path, sizeof(path));
	snprintf(error, error_bytes, "%s: %s%s%s", where, path, path[0] != '\0' ? ": " : "", j->error);
	ctl_plain(error);
	return false;
}

static bool config_json(struct queues *q, const char *path, struct text json, bool of_map,
                        char *error, size_t error_bytes);

static bool config_yaml(struct queues *q, const char *path, struct text yaml, bool of_map,
                        char *error, size_t error_bytes)
{
	struct bytes json = { 0 };
	struct yaml_error e;
	bool ok = false;

	if (!yaml_to_json(yaml.at, yaml.bytes, &json, NULL, &e))
		snprintf(error, error_bytes, "%s: %zu:%zu: %s", path, e.line, e.column, e.text);
	else
		ok = config_json(q, path, (struct text){ json.at, json.n }, of_map, error, error_bytes);
	bytes_free(&json);
	return ok;
}

/* A list; an object with one as `queues`; or a ConfigMap, whose queues.yaml is one of these. */
static bool config_json(struct queues *q, const char *path, struct text json, bool of_map,
                        char *error, size_t error_bytes)
{
	struct arena arena = { 0 };
	struct text key, yaml = { 0 };
	bool found = false;
	struct json j;
	bool ok;

	json_begin(&j, json.at, json.bytes, &arena);
	if (json.bytes > 0 && json.at[0] == '[') {
		found = true;
		list_read(&j, q);
	} else if (json_object(&j)) {
		while (json_member(&j, &key)) {
			if (is(key, "queues")) {
				found = true;
				list_read(&j, q);
			} else if (is(key, "data") && !of_map && json_object(&j)) {
				while (json_key(&j, &key))
					if (!is(key, "queues.yaml"))
						json_skip(&j);
					else if (json_string(&j, &yaml))
						found = true;
			} else {
				json_skip(&j);
			}
		}
	}
	ok = json_end(&j) || wrong(&j, path, error, error_bytes);
	if (ok && !found) {
		snprintf(error, error_bytes,
		         "%s: a list of queues is missing: \"queues\", or \"queues.yaml\" of a ConfigMap",
		         path);
		ok = false;
	}
	if (ok && yaml.at != NULL)
		ok = config_yaml(q, path, yaml, true, error, error_bytes);
	arena_free(&arena);
	return ok;
}

bool queues_read_config(struct queues *q, const char *path, char *error, size_t error_bytes)
{
	struct bytes text = { 0 };
	bool ok = read_whole(path, &text, error, error_bytes) &&
	          config_yaml(q, path, (struct text){ text.at, text.n }, false, error, error_bytes);

	bytes_free(&text);
	return ok;
}

/* Objects of other schedulers. */

static void refuse(struct json *j, void *out)
{
	(void)out;
	if (!json_null(j))
		json_fail(j, "muster does not serve a queue with it");
}

static void amounts_at(struct json *j, struct queue_read *q, enum amount_kind kind)
{
	amounts_read(j, &q->amounts[kind]);
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

static void read_weight(struct json *j, void *q)
{
	weights_read(j, q);
}

static void read_priority(struct json *j, void *q)
{
	priority_read(j, q);
}

static void read_parent(struct json *j, void *q)
{
	text_read(j, &((struct queue_read *)q)->parent);
}

static void read_traverse(struct json *j, void *q)
{
	order_read(j, q, "traverse");
}

static void read_state(struct json *j, void *q)
{
	state_read(j, q);
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

/* The JSON of an annotation's text. */
static void read_inner(struct json *j, struct queue_read *q, enum amount_kind kind)
{
	struct arena arena = { 0 };
	struct json inner;
	struct text t;

	if (!json_string(j, &t) || t.bytes == 0)
		return;
	json_begin(&inner, t.at, t.bytes, &arena);
	amounts_at(&inner, q, kind);
	if (!json_end(&inner))
		json_fail(j, "%s", inner.error);
	arena_free(&arena);
}

static void read_shared_weight(struct json *j, void *q)
{
	read_inner(j, q, AMOUNT_WEIGHT);
}

static void read_guaranteed(struct json *j, void *q)
{
	read_inner(j, q, AMOUNT_DESERVED);
}

static void read_namespaces(struct json *j, void *q)
{
	struct arena arena = { 0 };
	struct json inner;
	struct text t;

	if (!json_string(j, &t) || t.bytes == 0)
		return;
	json_begin(&inner, t.at, t.bytes, &arena);
	texts_read(&inner, q);
	if (!json_end(&inner))
		json_fail(j, "%s", inner.error);
	arena_free(&arena);
}

static void read_lent(struct json *j, void *q)
{
	struct text t;

	if (json_string(j, &t))
		((struct queue_read *)q)->keeps = is(t, "false");
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
		if (is(key, "quota"))
			quantity_read(j, false, true, &quota);
		else if (is(key, "overQuotaWeight"))
			quantity_read(j, true, false, &weight);
		else if (is(key, "limit"))
			quantity_read(j, false, true, &limit);
		else
			json_skip(j);
	}
	amount_set(&q->amounts[AMOUNT_GUARANTEE], name, bytes,
	           quota < 0 ? SHARE_ALL : amount_times(quota, (uint64_t)unit));
	amount_set(&q->amounts[AMOUNT_LIMIT], name, bytes,
	           limit < 0 ? SHARE_NO_LIMIT : amount_times(limit, (uint64_t)unit));
	amount_set(&q->amounts[AMOUNT_WEIGHT], name, bytes, weight);
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
		for (i = 0; i < n && !is(key, rows[i].key); i++)
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
			amount_set(&((struct queue_read *)q)->amounts[AMOUNT_LIMIT], rows[i].resource,
			           strlen(rows[i].resource), 0);
}

static const struct json_field kai_spec[] = {
	JSON_WHOLE("parentQueue", read_parent),
	JSON_WHOLE("priority", read_priority),
	JSON_WHOLE("resources", read_kai_resources),
};
static const struct json_field kai_queue[] = { JSON_NESTED("spec", kai_spec) };

static bool is_queue(enum queue_source source, const char *api_version, const char *kind)
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

bool queues_take(const struct queues *q, const char *api_version, const char *kind)
{
	return is_queue(q->source, api_version, kind);
}

bool queues_read_object(struct queues *q, const struct object *object, char *error,
                        size_t error_bytes)
{
	struct arena arena = { 0 };
	struct queue_read *queue;
	struct json j;
	char where[1024], at[512];
	bool ok;

	if (!is_queue(q->source, object->api_version, object->kind))
		return true;
	queue = queue_new(q, (struct text){ object->name, strlen(object->name) });
	json_begin(&j, object->json.at, object->json.bytes, &arena);
	if (q->source == QUEUES_VOLCANO) {
		json_fields(&j, volcano_queue, queue);
	} else if (q->source == QUEUES_KOORDINATOR) {
		free(queue->namespace);
		queue->namespace = must_copy(object->namespace);
		queue->by_limit = true;
		json_fields(&j, koordinator_quota, queue);
	} else {
		queue->priority = 100;
		json_fields(&j, kai_queue, queue);
	}
	snprintf(where, sizeof(where), "%s: %s %s", object_where(object, at, sizeof(at)), object->kind,
	         object->name);
	ok = json_end(&j) || wrong(&j, where, error, error_bytes);
	arena_free(&arena);
	return ok;
}
