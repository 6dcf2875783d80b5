/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/nodes/nodes.h"

#include "frontend/base/compare.h"
#include "frontend/devices/live.h"
#include "frontend/model/base/body.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/nodes/node_names.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Return the numbers in a body; its counts say how far it was built. */
static void node_release(struct model *m, const char *body)
{
	const struct event_node *e = (const void *)body;
	const struct amount *amounts = (const void *)(body + sizeof(*e));
	const struct label *labels = (const void *)(amounts + e->amounts_n);
	const struct taint *taints = (const void *)(labels + e->labels_n);

	for (uint32_t i = 0; i < e->amounts_n; i++)
		column_give(m, amounts[i].resource);
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

/* Resources that found no column; *flag: the limit. */
struct left_out {
	struct text names[RESOURCES_MAX];
	uint32_t n;
	const char *flag;
};

/* A resource without a column does not count on the node. */
static void build_amounts(struct model *m, const struct node_object *node,
                          struct left_out *left_out)
{
	size_t from = m->body.bytes;
	struct event_node *e = head_of(m);

	for (size_t i = 0; i < node->allocatable.n; i++) {
		const struct quantity_of *q = &node->allocatable.at[i];
		const struct text name = node->resources.at[q->resource];
		struct amount a = { .value = q->resource == RESOURCE_CPU ? quantity_milli(q->amount)
			                                                     : quantity_value(q->amount) };

		if (a.value == 0)
			continue;
		if (column_take(m, name, &a.resource, &left_out->flag) < 0) {
			left_out->names[left_out->n++] = name;
			continue;
		}
		body_add(&m->body, &a, sizeof(a)); /* at most RESOURCES_MAX: they fit */
		e->amounts_n++;
	}
	qsort(m->body.at + from, e->amounts_n, sizeof(struct amount), amount_order);
}

static int build_label(struct model *m, struct text key, struct text value, bool is_name)
{
	/* Until they are sorted, `number` is the place in the body. */
	struct label l = { .key = LABEL_KEY_NODE_NAME, .number = (int64_t)m->body.bytes };

	if (!is_name)
		l.key = model_number(&m->keys, key);
	l.value = model_number(&m->values, value);
	if (body_add(&m->body, &l, sizeof(l))) {
		head_of(m)->labels_n++;
		return 0;
	}
	intern_give(&m->values, l.value);
	if (!is_name)
		intern_give(&m->keys, l.key);
	return -EINVAL;
}

static int label_order(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The node's name is its first label.  Of a key that JSON has twice the last value counts. */
static int build_labels(struct model *m, const struct node_object *node)
{
	struct label *labels = (void *)(m->body.at + m->body.bytes);
	int rc = build_label(m, node->meta.name, node->meta.name, true);
	uint32_t kept = 1, n;

	for (size_t i = node->meta.labels.n; rc == 0 && i-- > 0;)
		rc = build_label(m, node->meta.labels.at[i].key, node->meta.labels.at[i].value, false);
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

/* Its text as kube-scheduler prints it: "key: value". */
static int build_taint(struct model *m, const struct taint_object *from, const char **flag)
{
	struct taint t = { .effect = from->effect };
	char *text = arena_printf(&m->arena, "%.*s: %.*s", (int)from->key.bytes, from->key.at,
	                          (int)from->value.bytes, from->value.at);
	int rc;

	if (strlen(text) > TAINT_TEXT_MAX)
		text[TAINT_TEXT_MAX] = '\0'; /* only shown to people */
	t.key = model_number(&m->keys, from->key);
	t.value = model_number(&m->values, from->value);
	rc = model_intern(m, &m->taints, text_of(text), &t.name, flag);
	if (rc == 0 && body_add(&m->body, &t, sizeof(t))) {
		head_of(m)->taints_n++;
		return 0;
	}
	if (rc == 0) {
		intern_give(&m->taints, t.name);
		rc = -EINVAL;
	}
	intern_give(&m->values, t.value);
	intern_give(&m->keys, t.key);
	return rc;
}

/* Leaves space in a record for the name. */
#define NODE_BODY_MAX (RECORD_BYTES_MAX - sizeof(struct record) - 256)

/* The record of a node in m->body up to its taints.
 *   -EINVAL  too many labels and taints for a record
 *   -ENOSPC  with *flag */
static int node_build(struct model *m, const struct node_object *node, struct left_out *left_out,
                      const char **flag)
{
	struct event_node head = { .flags = NODE_PRESENT | (node->cordoned ? NODE_CORDONED : 0) |
		                                (node->restarts_all ? NODE_RESTARTS_ALL : 0),
		                       .name_bytes = (uint32_t)node->meta.name.bytes };
	int rc;

	body_start(&m->body);
	body_add(&m->body, &head, sizeof(head));
	build_amounts(m, node, left_out);
	rc = build_labels(m, node);
	for (size_t i = 0; rc == 0 && i < node->taints_n; i++)
		rc = build_taint(m, &node->taints[i], flag);
	if (rc == 0 && m->body.bytes > NODE_BODY_MAX)
		rc = -EINVAL;
	if (rc < 0)
		node_release(m, m->body.at);
	return rc;
}

bool node_equal(const void *item, const void *key)
{
	return text_is(*(const struct text *)key, ((const struct node_entry *)item)->name);
}

static uint32_t node_hash(const struct model *m, struct text name)
{
	return (uint32_t)siphash(m->hash_key, name.at, name.bytes);
}

uint32_t node_find(const struct model *m, struct text name)
{
	return store_find(&m->nodes, node_hash(m, name), &name);
}

/* A node without object and references. */
static int node_make(struct model *m, struct text name, uint32_t *node, const char **flag)
{
	struct node_entry *e;

	assert(name.bytes > 0);
	*flag = "--max-name-bytes";
	if (!model_name_fits(m, name.bytes))
		return -ENOSPC;
	*flag = "--max-nodes";
	if (store_add(&m->nodes, node_hash(m, name), node) < 0)
		return -ENOSPC;
	e = node_at(m, *node);
	e->name = memcpy(must_alloc(name.bytes + 1), name.at, name.bytes);
	e->unaccounted = (struct unaccounted){ .lost = m->lost, .round = m->lost_round };
	m->name_bytes += name_bytes_of(name.bytes);
	return 0;
}

static void node_release_if_unused(struct model *m, uint32_t node)
{
	const struct node_entry *e = node_at(m, node);

	assert(e->entry.stamp || !e->body); /* without an object nothing is known of it */
	if (!e->entry.stamp && e->entry.refs == 0 && store_retire(&m->nodes, node))
		node_bury(m, node);
}

void node_free(struct node_entry *e)
{
	free(e->name);
	free(e->body);
	free(e->images);
	free(e->storage);
	free(e->left_out);
}

/* Bound pods of a node that is removed were left out: a new entry of that name can be made before
 * the next list of pods, and has to be unaccounted too. */
static void keep_lost(struct model *m, const struct unaccounted *u)
{
	if (!u->lost || (m->lost && m->lost_round >= u->round))
		return;
	m->lost = true;
	m->lost_round = u->round;
}

void node_bury(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	assert(e->entry.refs == 0 && e->unaccounted.pods == 0);
	assert(m->name_bytes >= name_bytes_of(strlen(e->name)));
	assert(!e->entry.stamp && !e->body && !e->images && !e->storage);
	keep_lost(m, &e->unaccounted);
	m->name_bytes -= name_bytes_of(strlen(e->name));
	if (m->live)
		live_node_gone(m->live, text_of(e->name));
	node_free(e);
	store_remove(&m->nodes, node);
}

void node_hold(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	assert(e->entry.slot.live);
	if (e->entry.refs++ == 0 && !e->entry.stamp)
		store_mark_dirty(&m->nodes, node);
}

void node_give(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	assert(e->entry.refs > 0);
	e->entry.refs--;
	node_release_if_unused(m, node);
}

int node_take(struct model *m, struct text name, uint32_t *node, const char **flag)
{
	*node = node_find(m, name);
	if (*node == SLOT_NONE && node_make(m, name, node, flag) < 0)
		return -ENOSPC;
	node_hold(m, *node);
	return 0;
}

static void node_clear_body(struct model *m, struct node_entry *e)
{
	if (e->body)
		node_release(m, e->body);
	free(e->body);
	e->body = NULL;
}

static void node_set_left_out(struct model *m, struct node_entry *e, const struct left_out *from)
{
	uint32_t n = from ? from->n : 0, *numbers = NULL;

	if (n > 0)
		numbers = must_array(n, sizeof(*numbers));
	for (uint32_t i = 0; i < n; i++)
		numbers[i] = column_leave_out(m, from->names[i]);
	for (uint32_t i = 0; i < e->left_out_n; i++)
		column_give_left_out(m, e->left_out[i]);
	free(e->left_out);
	e->left_out = numbers;
	e->left_out_n = n;
}

/* The core gets a node that does not exist. */
static void node_clear(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (e->body)
		node_names_remove(m->node_names, text_of(e->name), node);
	node_clear_body(m, e);
	node_set_left_out(m, e, NULL);
	images_give(m, e->images, e->images_n);
	e->images = NULL;
	e->images_n = 0;
	node_storage_clear(m, node, &e->storage);
	store_mark_dirty(&m->nodes, node);
}

void node_forget_object(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (!e->entry.stamp)
		return;
	stamp_clear(&e->entry);
	node_clear(m, node);
	assert(m->counts.nodes > 0);
	m->counts.nodes--;
	node_release_if_unused(m, node);
}

/* The object exists but cannot be used: nothing is placed on this node until it can. */
static void node_set_bad(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	if (e->body || !e->entry.retry)
		node_clear(m, node);
	e->entry.retry = true;
}

/* Moves the numbers of m->body to the entry; true if it differs from the body before. */
static bool node_take_body(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	assert(m->body.bytes >= sizeof(struct event_node) && m->body.bytes <= NODE_BODY_MAX);
	if (e->body && e->bytes == m->body.bytes && memcmp(e->body, m->body.at, e->bytes) == 0) {
		node_release(m, m->body.at);
		return false;
	}
	if (!e->body)
		node_names_put(m->node_names, text_of(e->name), node);
	node_clear_body(m, e);
	e->body = body_copy(&m->body);
	e->bytes = (uint32_t)m->body.bytes;
	return true;
}

static bool node_take_images(struct model *m, struct node_entry *e,
                             const struct node_object *object)
{
	uint32_t n;
	struct image_on_node *images = images_take(m, object, &n);
	bool changed = !images_equal_sent(m, e->images, e->images_n, images, n);

	images_give(m, e->images, e->images_n);
	e->images = images;
	e->images_n = n;
	return changed;
}

/* The rest of the node counts. */
static int node_lacks_column(struct model *m, const struct node_object *object,
                             const struct left_out *left_out, struct decode_error *error)
{
	size_t n;

	model_limit_meta(m, &object->meta, left_out->flag, error);
	if (error) {
		n = strlen(error->text);
		snprintf(error->text + n, sizeof(error->text) - n,
		         "; its %.*s does not count, and pods that request it are rejected",
		         (int)left_out->names[0].bytes, left_out->names[0].at);
	}
	return -ENOSPC;
}

static int node_accept(struct model *m, uint32_t node, const struct node_object *object,
                       struct decode_error *error)
{
	struct node_entry *e = node_at(m, node);
	struct left_out left_out = { 0 };
	const char *flag = NULL;
	int rc = node_build(m, object, &left_out, &flag);

	if (rc == 0) {
		bool changed = node_take_body(m, node);

		node_set_left_out(m, e, &left_out);

		changed |= node_take_images(m, e, object);
		changed |= node_storage_set(m, node, object, &e->storage);
		if (changed)
			store_mark_dirty(&m->nodes, node);
		e->entry.retry = left_out.n > 0;
		return left_out.n > 0 ? node_lacks_column(m, object, &left_out, error) : 0;
	}
	node_set_bad(m, node);
	if (rc == -ENOSPC)
		return model_limit_meta(m, &object->meta, flag, error);
	decode_error_set(error, &object->meta, "metadata.labels",
	                 "has more labels and taints than fit one record");
	return rc;
}

/* The entry of a node whose object exists from now on. */
static int node_enter(struct model *m, const struct meta *meta, uint32_t *node,
                      struct decode_error *error)
{
	const char *flag;
	struct node_entry *e;

	if (*node == SLOT_NONE && node_make(m, meta->name, node, &flag) < 0)
		return model_limit_meta(m, meta, flag, error);
	e = node_at(m, *node);
	e->entry.seen = m->replace[RESOURCE_INDEX_NODES].round;
	if (!e->entry.stamp) {
		m->counts.nodes++;
		list_remove(&m->nodes.dead, &m->nodes.pool, *node);
	}
	stamp_set(&e->entry.stamp, meta);
	return 0;
}

int node_put(struct model *m, const char *json, size_t bytes, struct decode_error *error)
{
	struct node_object object;
	uint32_t node;
	int read = extract_node(json, bytes, &m->arena, &object, error), rc;

	m->counts.objects_bad += read < 0;
	if (object.meta.name.bytes == 0)
		return read;
	if (!model_names_valid(&object.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	object.meta.namespace.bytes = 0; /* for messages: nodes have none */
	node = node_find(m, object.meta.name);
	if (node != SLOT_NONE &&
	    object_is_known(m, RESOURCE_INDEX_NODES, &node_at(m, node)->entry, &object.meta))
		return 0;
	rc = node_enter(m, &object.meta, &node, read < 0 ? NULL : error);
	if (rc < 0)
		return rc;
	if (read == 0)
		return node_accept(m, node, &object, error);
	node_set_bad(m, node);
	return read;
}

void node_remove(struct model *m, const struct meta *meta)
{
	uint32_t node = node_find(m, meta->name);
	const struct node_entry *e = node != SLOT_NONE ? node_at(m, node) : NULL;

	if (e && e->entry.stamp && !stamp_is_successor(m, e->entry.stamp, meta))
		node_forget_object(m, node);
}

void nodes_refresh_images(struct model *m)
{
	if (!m->images_due)
		return;
	m->images_due = false;
	STORE_EACH(&m->nodes, i)
	{
		const struct node_entry *n = node_at(m, i);
		bool any = false;

		for (uint32_t k = 0; n->body && !any && k < n->images_n; k++)
			any = m->image_uses[n->images[k].image].fresh;
		if (any)
			list_push(&m->nodes.dirty, &m->nodes.pool, i);
	}
	for (size_t i = 0; i < m->image_uses_n; i++)
		m->image_uses[i].fresh = false;
}
