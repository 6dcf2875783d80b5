/* SPDX-License-Identifier: Apache-2.0 */
/* Muster's own list, and the fields that it has in common with the objects of others. */
#include "frontend/queues/read.h"

#include "frontend/json/quantity.h"
#include "frontend/json/yaml.h"
#include "ipc/clean.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void queue_amount_set(struct queue_values *a, const char *resource, size_t bytes, int64_t value)
{
	a->at = must_grow(a->at, (a->n + 1) * sizeof(*a->at));
	a->at[a->n++] =
		(struct queue_value){ .resource = queue_text_copy((struct text){ resource, bytes }),
		                      .value = value };
}

/* A quantity in the ledger's units; false: the error is in j. */
bool queue_quantity_read(struct json *j, bool milli, bool negative, int64_t *out)
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
void queue_amounts_read(struct json *j, struct queue_values *a)
{
	struct text key;
	int64_t value;

	if (!json_object(j))
		return;
	while (json_key(j, &key))
		if (queue_quantity_read(j, text_is(key, "cpu"), false, &value))
			queue_amount_set(a, key.at, key.bytes, value);
}

/* A number for all resources, or an object of numbers. */
void queue_weights_read(struct json *j, struct queue_read *q)
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
		if (queue_quantity_read(j, text_is(key, "cpu"), false, &value))
			queue_amount_set(&q->amounts[AMOUNT_WEIGHT], key.at, key.bytes, value);
}

void queue_namespace_add(struct queue_read *q, struct text name)
{
	q->namespaces = must_grow(q->namespaces, (q->namespaces_n + 1) * sizeof(*q->namespaces));
	q->namespaces[q->namespaces_n++] = queue_text_copy(name);
}

void queue_texts_read(struct json *j, struct queue_read *q)
{
	struct text t;

	if (!json_array(j))
		return;
	while (json_item(j))
		if (json_string(j, &t))
			queue_namespace_add(q, t);
}

void queue_text_read(struct json *j, char **out)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	free(*out);
	*out = queue_text_copy(t);
}

void queue_order_read(struct json *j, struct queue_read *q, const char *skip)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	if (text_is(t, "fifo"))
		q->fifo = true;
	else if (t.bytes > 0 && !text_is(t, skip))
		json_fail(j, "%.*s: %s and fifo are the orders there are",
		          (int)(t.bytes < 64 ? t.bytes : 64), t.at, skip);
}

void queue_reclaimable_read(struct json *j, struct queue_read *q)
{
	bool reclaimable = true;

	if (json_bool(j, &reclaimable))
		q->kept = !reclaimable;
}

void queue_state_read(struct json *j, struct queue_read *q)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	if (text_is(t, "Closing") || text_is(t, "Closed"))
		q->state = text_is(t, "Closing") ? QUEUE_CLOSING : QUEUE_CLOSED;
	else if (t.bytes > 0 && !text_is(t, "Open") && !text_is(t, "Unknown"))
		json_fail(j, "%.*s: Open, Closing and Closed are the states there are",
		          (int)(t.bytes < 64 ? t.bytes : 64), t.at);
}

void queue_priority_read(struct json *j, struct queue_read *q)
{
	if (json_int64(j, &q->priority) && (q->priority > INT32_MAX || q->priority < INT32_MIN))
		json_fail(j, "%lld is beyond 32 bits", (long long)q->priority);
}

/* A whole number of seconds below 2^32. */
static void seconds_read(struct json *j, uint32_t *out)
{
	int64_t value;

	if (!json_int64(j, &value))
		return;
	if (value < 0 || value > UINT32_MAX)
		json_fail(j, "%lld is not a number of seconds", (long long)value);
	else
		*out = (uint32_t)value;
}

struct duration_unit {
	const char *name;
	uint64_t ns;
};

/* The unit at the begin of the text; NULL: there is none. */
static const struct duration_unit *unit_of(struct text t)
{
	static const struct duration_unit units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 }, /* before m */
		{ "s", UINT64_C(1000000000) },
		{ "m", UINT64_C(60000000000) },
		{ "h", UINT64_C(3600000000000) },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		const size_t bytes = strlen(units[i].name);

		if (t.bytes >= bytes && memcmp(t.at, units[i].name, bytes) == 0)
			return &units[i];
	}
	return NULL;
}

/* "1.5": in parts of 10^-9; moves the text behind it.  False: no number, or 2^32 and more. */
static bool number_read(struct text *t, nano_t *out)
{
	const char *const begin = t->at;
	int64_t scale = 1000000000;
	bool point = false;

	*out = 0;
	while (t->bytes > 0 && ((*t->at >= '0' && *t->at <= '9') || (*t->at == '.' && !point))) {
		if (*t->at == '.') {
			point = true;
		} else {
			if (point)
				scale /= 10;
			*out = point ? *out + (*t->at - '0') * scale : *out * 10 + (*t->at - '0') * scale;
		}
		if (*out > (nano_t)UINT32_MAX * 1000000000)
			return false;
		t->at++;
		t->bytes--;
	}
	return t->at - begin > point;
}

/* False: it is none, or of 2^32 seconds and more. */
static bool duration_parse(struct text t, uint32_t *out)
{
	nano_t ns = 0, number;

	if (t.bytes == 0)
		return false;
	while (t.bytes > 0) {
		const struct duration_unit *unit;

		if (!number_read(&t, &number))
			return false;
		unit = unit_of(t);
		if (!unit)
			return false;
		t.at += strlen(unit->name);
		t.bytes -= strlen(unit->name);
		ns += (number * (nano_t)unit->ns + 999999999) / 1000000000;
		if (ns > (nano_t)UINT32_MAX * 1000000000)
			return false;
	}
	*out = (uint32_t)((ns + 999999999) / 1000000000);
	return true;
}

void queue_duration_read(struct json *j, uint32_t *out)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	if (text_is(t, "0"))
		*out = 0;
	else if (!duration_parse(t, out))
		json_fail(j, "%.*s is not a duration", (int)(t.bytes < 64 ? t.bytes : 64), t.at);
}

/* One item of muster's own list. */
static void item_read(struct json *j, struct queues_read *tree, struct queue_read *q)
{
	struct text key;

	if (!json_object(j))
		return;
	while (json_member(j, &key)) {
		if (text_is(key, "name"))
			queue_text_read(j, &q->name);
		else if (text_is(key, "parent"))
			queue_text_read(j, &q->parent);
		else if (text_is(key, "guarantee"))
			queue_amounts_read(j, &q->amounts[AMOUNT_GUARANTEE]);
		else if (text_is(key, "reserved"))
			queue_amounts_read(j, &q->amounts[AMOUNT_RESERVED]);
		else if (text_is(key, "limit"))
			queue_amounts_read(j, &q->amounts[AMOUNT_LIMIT]);
		else if (text_is(key, "weight"))
			queue_weights_read(j, q);
		else if (text_is(key, "priority"))
			queue_priority_read(j, q);
		else if (text_is(key, "order"))
			queue_order_read(j, q, "skip");
		else if (text_is(key, "state"))
			queue_state_read(j, q);
		else if (text_is(key, "reclaimable"))
			queue_reclaimable_read(j, q);
		else if (text_is(key, "minRunSeconds"))
			seconds_read(j, &q->min_run_s);
		else if (text_is(key, "runSeconds"))
			seconds_read(j, &q->run_s);
		else if (text_is(key, "maxRunSeconds"))
			seconds_read(j, &q->max_run_s);
		else if (text_is(key, "namespaces"))
			queue_namespaces_read(j, tree, q);
		else if (text_is(key, "perNamespace"))
			json_bool(j, &q->per_namespace);
		else
			json_fail(j, "not a field of a queue: name, parent, guarantee, reserved, limit, "
			             "weight, priority, order, state, reclaimable, minRunSeconds, runSeconds, "
			             "maxRunSeconds, namespaces and perNamespace are");
	}
	if (!j->failed && q->name[0] == '\0')
		json_fail(j, "a queue without a name");
	if (!j->failed && q->per_namespace && q->namespaces_n + q->selectors_n == 0)
		json_fail(j, "queue %.64s: perNamespace: it has no namespaces", q->name);
	if (!j->failed && q->per_namespace && q->selectors_n > 0)
		json_fail(j, "queue %.64s: perNamespace: its namespaces have to be names", q->name);
}

static void list_read(struct json *j, struct queues_read *q)
{
	if (!json_array(j))
		return;
	while (json_item(j) && !j->failed)
		item_read(j, q, queue_new(q, (struct text){ "", 0 }));
}

/* What a document is made of, and where it is. */
struct document {
	struct queues_read *queues;
	const char *where;
	char *error;
	size_t error_bytes;
};

/* The key or value before which the scanner stopped. */
static struct yaml_mark mark_of(const struct yaml_marks *marks, size_t at)
{
	struct yaml_mark mark = { .line = 1, .column = 1 };

	for (size_t i = 0; i < marks->n && marks->marks[i].at < at; i++)
		mark = marks->marks[i];
	return mark;
}

static bool wrong(struct json *j, const struct document *d, const struct bytes *json,
                  const struct yaml_marks *marks)
{
	const struct yaml_mark mark = mark_of(marks, (size_t)(j->at - json->at));
	char path[512];

	json_path(j, path, sizeof(path));
	snprintf(d->error, d->error_bytes, "%s: %zu:%zu: %s%s%s", d->where, mark.line, mark.column,
	         path, path[0] != '\0' ? ": " : "", j->error);
	clean_text(d->error);
	return false;
}

static bool yaml_read(const struct document *d, struct text yaml, bool of_map);

/* A list; an object with one as `queues`; or a ConfigMap, whose queues.yaml is one of these. */
static bool document_read(struct json *j, const struct document *d, bool list, bool of_map,
                          struct text *yaml)
{
	bool found = list;
	struct text key;

	if (list) {
		list_read(j, d->queues);
	} else if (json_object(j)) {
		while (json_member(j, &key)) {
			if (text_is(key, "queues")) {
				found = true;
				list_read(j, d->queues);
			} else if (text_is(key, "data") && !of_map && json_object(j)) {
				while (json_key(j, &key))
					if (!text_is(key, "queues.yaml"))
						json_skip(j);
					else if (json_string(j, yaml))
						found = true;
			} else {
				json_skip(j);
			}
		}
	}
	return found;
}

static bool json_read(const struct document *d, const struct bytes *json,
                      const struct yaml_marks *marks, bool of_map)
{
	struct arena arena = { 0 };
	struct text yaml = { 0 };
	bool found, ok;
	struct json j;

	json_begin(&j, json->at, json->n, &arena);
	found = document_read(&j, d, json->n > 0 && json->at[0] == '[', of_map, &yaml);
	ok = json_end(&j) || wrong(&j, d, json, marks);
	if (ok && !found) {
		snprintf(d->error, d->error_bytes,
		         "%s: a list of queues is missing: \"queues\", or \"queues.yaml\" of a ConfigMap",
		         d->where);
		ok = false;
	}
	if (ok && yaml.at != NULL)
		ok = yaml_read(d, yaml, true);
	arena_free(&arena);
	return ok;
}

static bool yaml_read(const struct document *d, struct text yaml, bool of_map)
{
	struct bytes json = { 0 };
	struct yaml_marks marks = { 0 };
	struct yaml_error e;
	bool ok = false;

	if (!yaml_to_json(yaml.at, yaml.bytes, &json, &marks, &e))
		snprintf(d->error, d->error_bytes, "%s: %zu:%zu: %s", d->where, e.line, e.column, e.text);
	else
		ok = json_read(d, &json, &marks, of_map);
	bytes_free(&json);
	yaml_marks_free(&marks);
	return ok;
}

static int64_t value_of(const struct queue_values *a, const char *resource)
{
	int64_t value = 0;

	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->at[i].resource, resource) == 0)
			value = a->at[i].value;
	return value;
}

/* What is never lent is a part of what is guaranteed. */
static bool reserved_fits(const struct queue_read *q, const struct document *d)
{
	const struct queue_values *reserved = &q->amounts[AMOUNT_RESERVED];

	for (size_t i = 0; i < reserved->n; i++) {
		const char *resource = reserved->at[i].resource;
		const int64_t has = value_of(&q->amounts[AMOUNT_GUARANTEE], resource);

		if (reserved->at[i].value <= has)
			continue;
		snprintf(d->error, d->error_bytes,
		         "%s: queue %s: reserved[\"%s\"]: %lld is more than its guarantee of %lld",
		         d->where, q->name, resource, (long long)reserved->at[i].value, (long long)has);
		clean_text(d->error);
		return false;
	}
	return true;
}

/* What pods are assumed to run is what they might state. */
static bool run_fits(const struct queue_read *q, const struct document *d)
{
	if (q->max_run_s == 0 || q->run_s <= q->max_run_s)
		return true;
	snprintf(d->error, d->error_bytes,
	         "%s: queue %s: runSeconds: %u is more than its maxRunSeconds of %u", d->where, q->name,
	         q->run_s, q->max_run_s);
	clean_text(d->error);
	return false;
}

bool queues_read_config(struct queues_read *q, const char *where, struct text yaml, char *error,
                        size_t error_bytes)
{
	const struct document d = { q, where, error, error_bytes };
	bool ok = yaml_read(&d, yaml, false);

	for (size_t i = 1; ok && i < q->n; i++)
		ok = reserved_fits(&q->queues[i], &d) && run_fits(&q->queues[i], &d);
	return ok;
}
