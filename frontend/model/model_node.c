/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the record ---------------------------------------------------------------- */

/* Give back the numbers in a body; its counts say how far it was built. */
static void node_release(struct model *m, const char *body)
{
	const struct event_node *e = (const void *)body;
	const struct amount *amounts = (const void *)(body + sizeof(*e));
	const struct label *labels = (const void *)(amounts + e->amounts_n);
	const struct taint *taints = (const void *)(labels + e->labels_n);

	amounts_release(m, amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->labels_n; i++) {
		if (labels[i].key != LABEL_KEY_NODE_NAME)
			intern_give(&m->keys, labels[i].key);
		intern_give(&m->values, labels[i].value);
	}
	for (uint32_t i = 0; i < e->taints_n; i++) {
		intern_give(&m->keys, taints[i].key);
		intern_give(&m->values, taints[i].value);
		intern_give(&m->taints, taints[i].name);
	}
}

static struct event_node *head_of(struct model *m)
{
	return (void *)m->body.at;
}

static int build_amounts(struct model *m, const struct node_object *node, const char **flag)
{
	struct amount_text list[RESOURCES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < node->allocatable.n; i++) {
		const struct quantity_of *q = &node->allocatable.at[i];
		char *name = arena_copy(&m->arena, node->resources.at[q->resource]);

		if (!name)
			return -ENOMEM;
		list[n].resource = name;
		list[n++].value =
			q->resource == RESOURCE_CPU ? quantity_milli(q->amount) : quantity_value(q->amount);
	}
	return body_amounts(m, &m->body, list, n, &head_of(m)->amounts_n, flag);
}

static int build_label(struct model *m, struct text key, struct text value, bool is_name,
                       const char **flag)
{
	/* Until they are sorted, `number` is the place in the body. */
	struct label l = { .key = LABEL_KEY_NODE_NAME, .number = (int64_t)m->body.bytes };
	int rc = 0;

	if (!is_name)
		rc = model_intern(m, &m->keys, key, &l.key, flag);
	if (rc < 0)
		return rc;
	rc = model_intern(m, &m->values, value, &l.value, flag);
	if (rc < 0)
		goto give_key;
	if (!body_add(&m->body, &l, sizeof(l))) {
		rc = -EINVAL;
		goto give_value;
	}
	head_of(m)->labels_n++;
	return 0;

give_value:
	intern_give(&m->values, l.value);
give_key:
	if (!is_name)
		intern_give(&m->keys, l.key);
	return rc;
}

static int label_order(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The node's name is its first label.  A key that JSON has twice counts as it
 * came last. */
static int build_labels(struct model *m, const struct node_object *node, const char **flag)
{
	struct label *labels = (void *)(m->body.at + m->body.bytes);
	int rc = build_label(m, node->meta.name, node->meta.name, true, flag);
	uint32_t kept = 1, n;

	for (size_t i = node->meta.labels.n; rc == 0 && i-- > 0;)
		rc =
			build_label(m, node->meta.labels.at[i].key, node->meta.labels.at[i].value, false, flag);
	if (rc < 0)
		return rc;
	n = head_of(m)->labels_n;
	qsort(labels, n, sizeof(*labels), label_order);
	for (uint32_t i = 1; i < n; i++) {
		if (labels[i].key == labels[kept - 1].key) {
			intern_give(&m->keys, labels[i].key);
			intern_give(&m->values, labels[i].value);
		} else {
			labels[kept++] = labels[i];
		}
	}
	for (uint32_t i = 0; i < kept; i++)
		labels[i].number = label_number(text_of(intern_text(&m->values, labels[i].value)));
	head_of(m)->labels_n = kept;
	m->body.bytes -= (n - kept) * sizeof(*labels);
	return 0;
}

#define TAINT_TEXT_MAX 400

/* As kube-scheduler prints it: "key: value". */
static int build_taint(struct model *m, const struct taint_object *from, const char **flag)
{
	struct taint t = { .effect = from->effect };
	char *text = arena_printf(&m->arena, "%.*s: %.*s", (int)from->key.bytes, from->key.at,
	                          (int)from->value.bytes, from->value.at);
	int rc;

	if (!text)
		return -ENOMEM;
	if (strlen(text) > TAINT_TEXT_MAX)
		text[TAINT_TEXT_MAX] = '\0'; /* shown to people alone */
	rc = model_intern(m, &m->keys, from->key, &t.key, flag);
	if (rc < 0)
		return rc;
	rc = model_intern(m, &m->values, from->value, &t.value, flag);
	if (rc < 0)
		goto give_key;
	rc = model_intern(m, &m->taints, text_of(text), &t.name, flag);
	if (rc < 0)
		goto give_value;
	if (body_add(&m->body, &t, sizeof(t))) {
		head_of(m)->taints_n++;
		return 0;
	}
	rc = -EINVAL;
	intern_give(&m->taints, t.name);
give_value:
	intern_give(&m->values, t.value);
give_key:
	intern_give(&m->keys, t.key);
	return rc;
}

/* What leaves room in a record for the name. */
#define NODE_BODY_MAX (RECORD_BYTES_MAX - sizeof(struct record) - 256)

/* The record of a node in m->body up to its taints, with numbers held. */
static int node_build(struct model *m, const struct node_object *node, const char **flag)
{
	struct event_node head = { .flags = NODE_PRESENT | (node->cordoned ? NODE_CORDONED : 0) |
		                                (node->restarts_all ? NODE_RESTARTS_ALL : 0),
		                       .name_bytes = (uint32_t)node->meta.name.bytes };
	int rc;

	m->body.bytes = 0;
	m->body.too_long = false;
	body_add(&m->body, &head, sizeof(head));
	rc = build_amounts(m, node, flag);
	if (rc == 0)
		rc = build_labels(m, node, flag);
	for (size_t i = 0; rc == 0 && i < node->taints_n; i++)
		rc = build_taint(m, &node->taints[i], flag);
	if (rc == 0 && m->body.bytes > NODE_BODY_MAX)
		rc = -EINVAL;
	if (rc < 0)
		node_release(m, m->body.at);
	return rc;
}

/* ---- entries -------------------------------------------------------------------- */

struct wanted {
	const struct model *m;
	struct text name;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const char *name = node_at(w->m, slot)->name;

	return strncmp(name, w->name.at, w->name.bytes) == 0 && name[w->name.bytes] == '\0';
}

static uint32_t node_hash(const struct model *m, struct text name)
{
	return (uint32_t)siphash(m->hash_key, name.at, name.bytes);
}

uint32_t node_find(const struct model *m, struct text name)
{
	struct wanted w = { m, name };

	return table_find(&m->nodes_index, node_hash(m, name), is_wanted, &w);
}

/* A node that nobody wants yet: neither object nor pods. */
static int node_make(struct model *m, struct text name, uint32_t *node, const char **flag)
{
	struct node_entry *e;
	char *copy;
	int rc;

	if (!model_name_room(m, name.bytes)) {
		*flag = "--max-name-bytes";
		return -ENOSPC;
	}
	if (table_reserve(&m->nodes_index) < 0)
		return -ENOMEM;
	copy = strndup(name.at, name.bytes);
	if (!copy)
		return -ENOMEM;
	rc = pool_take(&m->nodes, node);
	if (rc < 0) {
		free(copy);
		*flag = "--max-nodes";
		return rc;
	}
	e = node_at(m, *node);
	e->hash = node_hash(m, name);
	e->name = copy;
	e->slot.sent = 0;
	blind_node_made(m, e);
	m->name_bytes += NAME_ROOM(name.bytes);
	table_put(&m->nodes_index, e->hash, *node);
	return 0;
}

static void node_dirty(struct model *m, uint32_t node)
{
	list_remove(&m->nodes_dead, &m->nodes, node);
	list_push(&m->nodes_dirty, &m->nodes, node);
}

/* Nobody wants it any more: dead, or gone when the core never knew it. */
static void node_check(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (e->has_object || e->refs > 0)
		return;
	list_remove(&m->nodes_dirty, &m->nodes, node);
	if (e->slot.sent == 0)
		node_bury(m, node);
	else
		list_push(&m->nodes_dead, &m->nodes, node);
}

void node_bury(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	list_remove(&m->nodes_dead, &m->nodes, node);
	table_remove(&m->nodes_index, e->hash, node);
	blind_node_buried(m, e);
	m->name_bytes -= NAME_ROOM(strlen(e->name));
	free(e->name);
	e->name = NULL;
	e->slot.sent = 0;
	pool_give(&m->nodes, node);
}

void node_hold(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (e->refs++ == 0 && !e->has_object)
		node_dirty(m, node);
}

void node_give(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	assert(e->refs > 0);
	e->refs--;
	node_check(m, node);
}

int node_take(struct model *m, struct text name, uint32_t *node, const char **flag)
{
	int rc;

	*node = node_find(m, name);
	if (*node == SLOT_NONE) {
		rc = node_make(m, name, node, flag);
		if (rc < 0)
			return rc;
	}
	node_hold(m, *node);
	return 0;
}

/* The body is gone: the core sees a node that is not there. */
static void node_set_body(struct model *m, uint32_t node, char *body, size_t bytes)
{
	struct node_entry *e = node_at(m, node);

	if (e->body) {
		node_release(m, e->body);
		free(e->body);
	}
	e->body = body;
	e->bytes = (uint32_t)bytes;
	if (!body) {
		node_clear_images(m, node);
		node_clear_storage(m, node);
	}
	node_dirty(m, node);
}

void node_forget_object(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (!e->has_object)
		return;
	e->has_object = false;
	e->bad = false;
	free(e->texts);
	e->texts = NULL;
	node_set_body(m, node, NULL, 0);
	m->counts.nodes--;
	node_check(m, node);
}

/* ---- objects ---------------------------------------------------------------------- */

/* The object is there but can't be used: no room on this node until it can. */
static void node_set_bad(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (e->body || !e->bad)
		node_set_body(m, node, NULL, 0);
	node_at(m, node)->bad = true;
}

/* Takes over m->body; -ENOMEM. */
static int node_take_body(struct model *m, uint32_t node)
{
	const struct node_entry *e = node_at(m, node);
	char *copy;

	if (e->body && e->bytes == m->body.bytes && memcmp(e->body, m->body.at, e->bytes) == 0) {
		node_release(m, m->body.at);
		return 0;
	}
	copy = malloc(m->body.bytes);
	if (!copy) {
		node_release(m, m->body.at);
		return -ENOMEM;
	}
	memcpy(copy, m->body.at, m->body.bytes);
	node_set_body(m, node, copy, m->body.bytes);
	return 0;
}

static int node_accept(struct model *m, uint32_t node, const struct node_object *object,
                       struct decode_error *error)
{
	const char *flag = NULL;
	bool images = false, storage = false;
	int rc = node_build(m, object, &flag);

	if (rc == 0)
		rc = node_take_body(m, node);
	if (rc == 0)
		rc = node_set_images(m, node, object, &images);
	if (rc == 0)
		rc = node_set_storage(m, node, object, &storage);
	if (rc == 0) {
		if (images || storage)
			node_dirty(m, node);
		node_at(m, node)->bad = false;
		return 0;
	}
	node_set_bad(m, node);
	if (error) {
		extract_object_name(&object->meta, error->object, sizeof(error->object));
		snprintf(error->field, sizeof(error->field), "metadata.labels");
		snprintf(error->text, sizeof(error->text),
		         "has more labels and taints than fit one record");
	}
	if (rc == -ENOSPC)
		return model_limit(m, error ? error->object : "", flag, error);
	return rc;
}

/* The entry of a node whose object is there from now on. */
static int node_enter(struct model *m, const struct meta *meta, uint32_t *node,
                      struct decode_error *error)
{
	const char *flag = NULL;
	char *stamp = model_stamp(meta);
	char name[300];
	struct node_entry *e;
	int rc;

	if (!stamp)
		return -ENOMEM;
	if (*node == SLOT_NONE) {
		rc = node_make(m, meta->name, node, &flag);
		if (rc < 0) {
			free(stamp);
			extract_object_name(meta, name, sizeof(name));
			return rc == -ENOSPC ? model_limit(m, name, flag, error) : rc;
		}
	}
	e = node_at(m, *node);
	free(e->texts);
	e->texts = stamp;
	if (!e->has_object) {
		e->has_object = true;
		m->counts.nodes++;
		list_remove(&m->nodes_dead, &m->nodes, *node);
	}
	return 0;
}

int node_put(struct model *m, const char *json, size_t bytes, struct decode_error *error)
{
	struct node_object object;
	uint32_t node = SLOT_NONE;
	int read, rc;

	read = extract_node(json, bytes, &m->arena, &object, error);
	if (read == -ENOMEM)
		return read;
	m->counts.objects_bad += read < 0;
	if (object.meta.name.bytes == 0)
		return read;
	if (!model_names_valid(&object.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	object.meta.namespace.bytes = 0; /* for messages: a node lies in none */
	node = node_find(m, object.meta.name);
	if (node != SLOT_NONE) {
		node_at(m, node)->seen = m->replace[RESOURCE_INDEX_NODES].round;
		if (stamp_covers(m, node_at(m, node)->texts, &object.meta, node_at(m, node)->bad))
			return 0;
	}
	rc = node_enter(m, &object.meta, &node, read < 0 ? NULL : error);
	if (rc < 0)
		return rc;
	node_at(m, node)->seen = m->replace[RESOURCE_INDEX_NODES].round;
	if (read < 0) {
		node_set_bad(m, node);
		return read;
	}
	return node_accept(m, node, &object, error);
}

int node_remove(struct model *m, const struct meta *meta)
{
	uint32_t node = node_find(m, meta->name);

	if (node == SLOT_NONE || !node_at(m, node)->has_object)
		return 0;
	if (stamp_is_successor(node_at(m, node)->texts, meta))
		m->counts.objects_stale++;
	else
		node_forget_object(m, node);
	return 0;
}
