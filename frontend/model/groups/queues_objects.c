/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that define queues. */
#include "frontend/model/groups/queues_impl.h"

#include "frontend/json/json.h"
#include "frontend/model/base/objects.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void queues_complain(struct model_queues *q, const char *text)
{
	free(q->invalid);
	q->invalid = must_copy(text);
	q->invalid_n++;
}

static void object_free(struct queue_object *o)
{
	free(o->namespace);
	free(o->name);
	free(o->stamp);
	free(o->json);
}

static void object_drop(struct model_queues *q, size_t at)
{
	object_free(&q->objects[at]);
	q->objects[at] = q->objects[--q->objects_n];
	q->due = true;
}

void model_queues_free(struct model *m)
{
	struct model_queues *q = m->queues;

	if (!q)
		return;
	for (size_t i = 0; i < q->objects_n; i++)
		object_free(&q->objects[i]);
	free(q->objects);
	for (uint32_t i = 0; i < q->slots_n; i++) {
		free(q->slots[i].name);
		free(q->slots[i].body);
	}
	free(q->slots);
	for (int s = 0; s < QUEUE_SOURCES; s++) {
		free(q->pods[s].at);
		free(q->groups[s].at);
	}
	free(q->in.at);
	free(q->by_name);
	free(q->ids);
	free(q->config);
	free(q->config_stamp);
	free(q->invalid);
	free(q->fields);
	queues_read_free(q->tree);
	past_free(q->past);
	free(q);
}

static uint64_t hash_more(const uint64_t key[2], uint64_t hash, const void *bytes, size_t n)
{
	const uint64_t mixed[2] = { key[0] ^ hash, key[1] };

	return siphash(mixed, bytes, n);
}

static uint64_t hash_text(const uint64_t key[2], uint64_t hash, const char *text)
{
	return hash_more(key, hash, text, strlen(text) + 1);
}

static uint64_t read_hash(const struct queue_read *r, const uint64_t key[2])
{
	const int64_t numbers[] = { r->weight,   r->priority, r->fifo, r->keeps,
		                        r->by_limit, r->state,    r->kept, r->min_run_s };
	uint64_t hash = hash_more(key, 0, numbers, sizeof(numbers));

	hash = hash_text(key, hash, r->parent);
	for (int kind = 0; kind < AMOUNT_KINDS; kind++)
		for (size_t i = 0; i < r->amounts[kind].n; i++) {
			hash = hash_text(key, hash + (uint64_t)kind, r->amounts[kind].at[i].resource);
			hash = hash_more(key, hash, &r->amounts[kind].at[i].value, sizeof(int64_t));
		}
	for (size_t i = 0; i < r->namespaces_n; i++)
		hash = hash_text(key, hash, r->namespaces[i]);
	return hash;
}

static struct queue_object *object_find(const struct model_queues *q, uint32_t source,
                                        struct text namespace, struct text name)
{
	for (size_t i = 0; i < q->objects_n; i++)
		if (q->objects[i].source == source && text_is(name, q->objects[i].name) &&
		    text_is(namespace, q->objects[i].namespace))
			return &q->objects[i];
	return NULL;
}

static int refuse(struct model *m, const struct meta *meta, const char *why,
                  struct decode_error *error)
{
	char text[1024];

	decode_error_set(error, meta, "QueuesInvalid", "%s", why);
	snprintf(text, sizeof(text), "%s: %s", error->object, why);
	queues_complain(m->queues, text);
	m->counts.objects_bad++;
	return -EINVAL;
}

/* What can't be read leaves the version that was there. */
static int object_put(struct model *m, uint32_t source, const struct meta *meta, uint32_t round,
                      struct text json, struct decode_error *error)
{
	struct model_queues *q = m->queues;
	struct queue_object *o = object_find(q, source, meta->namespace, meta->name);
	struct queues_read *one;
	char why[512] = "it is larger than 64 KiB";
	uint64_t hash;
	bool ok;

	if (o)
		o->seen = round;
	if (o && stamp_covers(m, o->stamp, meta, false))
		return 0;
	one = queues_new((enum queue_source)source);
	ok = json.bytes <= QUEUE_OBJECT_BYTES_MAX &&
	     queues_read_object(one, arena_copy(&m->arena, meta->namespace),
	                        arena_copy(&m->arena, meta->name), json, why, sizeof(why));
	hash = ok ? read_hash(&one->queues[one->n - 1], m->hash_key) : 0;
	queues_read_free(one);
	if (!ok)
		return refuse(m, meta, why, error);
	if (!o && q->objects_n >= QUEUES_MAX)
		return refuse(m, meta, "there are too many queues", error);
	if (!o) {
		q->objects =
			must_reach(q->objects, &q->objects_room, q->objects_n, 16, sizeof(*q->objects));
		o = &q->objects[q->objects_n++];
		*o = (struct queue_object){ .namespace = must_copy(arena_copy(&m->arena, meta->namespace)),
			                        .name = must_copy(arena_copy(&m->arena, meta->name)),
			                        .source = source,
			                        .seen = round };
	}
	stamp_set(&o->stamp, meta);
	if (o->json && o->hash == hash)
		return 0; /* its status, as a rule */
	free(o->json);
	o->json = must_grow(NULL, json.bytes);
	memcpy(o->json, json.at, json.bytes);
	o->bytes = json.bytes;
	o->hash = hash;
	q->due = true;
	return 0;
}

static bool is_config(const struct model_queues *q, const struct meta *meta)
{
	return q->name && text_is(meta->namespace, q->namespace) && text_is(meta->name, q->name);
}

/* data["queues.yaml"] */
static bool config_text(const struct model *m, struct text json, struct arena *arena,
                        struct text *out)
{
	struct json j;

	json_begin(&j, json.at, json.bytes, arena);
	return json_find_text(&j, "data", "queues.yaml", out) && out->at;
}

static struct queues_read *config_tree(const char *text, char *why, size_t why_bytes)
{
	struct queues_read *tree = queues_new(QUEUES_CONFIG);

	if (queues_read_config(tree, "queues.yaml", text_of(text), why, why_bytes) &&
	    queues_arrange(tree, true, why, why_bytes))
		return tree;
	queues_read_free(tree);
	return NULL;
}

static int config_put(struct model *m, const struct meta *meta, uint32_t round, struct text json,
                      struct decode_error *error)
{
	struct model_queues *q = m->queues;
	struct text text = { 0 };
	struct queues_read *tree;
	char why[1024], *copy;

	if (!is_config(q, meta))
		return 0;
	q->config_seen = round;
	if (stamp_covers(m, q->config_stamp, meta, false))
		return 0;
	stamp_set(&q->config_stamp, meta);
	if (!config_text(m, json, &m->arena, &text))
		return refuse(m, meta, "the key queues.yaml is missing", error);
	copy = must_copy(arena_copy(&m->arena, text));
	tree = config_tree(copy, why, sizeof(why));
	if (!tree) {
		free(copy);
		return refuse(m, meta, why, error);
	}
	queues_read_free(tree);
	free(q->invalid);
	q->invalid = NULL;
	q->due = q->due || !q->config || strcmp(q->config, copy) != 0;
	free(q->config);
	q->config = copy;
	return 0;
}

int queues_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error)
{
	const uint32_t source = m->which[resource], round = m->replace[resource].round;
	const struct text text = { json, bytes };
	struct decode_error own;
	struct meta meta;

	if (!error)
		error = &own;
	if (extract_meta(json, bytes, &m->arena, &meta, error) < 0 || meta.name.bytes == 0) {
		m->counts.objects_bad++;
		return -EINVAL;
	}
	meta.kind = text_of(m->resources[resource].kind);
	return source == QUEUES_CONFIG ? config_put(m, &meta, round, text, error)
	                               : object_put(m, source, &meta, round, text, error);
}

/* The last good file stays. */
static void config_gone(struct model_queues *q)
{
	if (!q->config_stamp)
		return;
	free(q->config_stamp);
	q->config_stamp = NULL;
	queues_complain(q, "the ConfigMap is gone: its last version stays in force");
}

void queues_remove(struct model *m, int resource, const struct meta *meta)
{
	struct model_queues *q = m->queues;
	struct queue_object *o;

	if (m->which[resource] == QUEUES_CONFIG) {
		if (is_config(q, meta) && !stamp_is_successor(m, q->config_stamp, meta))
			config_gone(q);
		return;
	}
	o = object_find(q, m->which[resource], meta->namespace, meta->name);
	if (!o) /* of a kind without namespaces */
		o = object_find(q, m->which[resource], (struct text){ "", 0 }, meta->name);
	if (o && !stamp_is_successor(m, o->stamp, meta))
		object_drop(q, (size_t)(o - q->objects));
}

void queues_replaced(struct model *m, int resource, uint32_t round)
{
	struct model_queues *q = m->queues;

	if (m->which[resource] == QUEUES_CONFIG) {
		if (q->config_seen != round)
			config_gone(q);
		return;
	}
	for (size_t i = q->objects_n; i-- > 0;)
		if (q->objects[i].source == m->which[resource] && q->objects[i].seen != round)
			object_drop(q, i);
}

/* With `auto`: the source of which there are objects; false: there are none, or of two. */
static bool source_find(struct model_queues *q, char *text, size_t text_bytes)
{
	bool found[QUEUE_SOURCES] = { false };
	uint32_t n = 0, first = 0, second = 0;

	if (!q->automatic)
		return true;
	for (size_t i = 0; i < q->objects_n; i++)
		found[q->objects[i].source] = true;
	for (uint32_t s = 0; s < QUEUE_SOURCES; s++) {
		if (!found[s])
			continue;
		second = n == 1 ? s : second;
		first = n == 0 ? s : first;
		n++;
	}
	if (n > 1)
		snprintf(text, text_bytes, "there are queues of %s and of %s: --queues has to name one",
		         queue_sources[first], queue_sources[second]);
	if (n == 1) /* else the tree that is there is still that of its own source */
		q->source = (enum queue_source)first;
	return n == 1;
}

struct queues_read *queues_tree(struct model_queues *q, char *text, size_t text_bytes)
{
	struct queues_read *tree;

	text[0] = '\0';
	if (!source_find(q, text, text_bytes))
		return NULL;
	if (q->source == QUEUES_CONFIG && q->config)
		return config_tree(q->config, text, text_bytes);
	tree = queues_new(q->source);
	for (size_t i = 0; i < q->objects_n; i++) {
		const struct queue_object *o = &q->objects[i];

		if (o->source == (uint32_t)q->source && o->json)
			queues_read_object(tree, o->namespace, o->name, (struct text){ o->json, o->bytes },
			                   text, text_bytes);
	}
	if (queues_arrange(tree, false, text, text_bytes))
		return tree;
	queues_read_free(tree);
	return NULL;
}
