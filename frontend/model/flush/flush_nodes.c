/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as records, and their devices. */
#include "frontend/model/flush/flush_impl.h"

#include "frontend/devices/live.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/nodes/unaccounted.h"

#include <assert.h>
#include <string.h>

/* What follows the taints of a node. */
struct node_tail {
	uint32_t images, limits, attached;
	size_t bytes; /* the name included */
};

static uint32_t at_most(uint32_t n, size_t cap, size_t bytes)
{
	return n < cap / bytes ? n : (uint32_t)(cap / bytes);
}

/* As many as fit the record; labels of a real node leave space for all of them. */
static struct node_tail tail_of(const struct model *m, const struct node_entry *n)
{
	size_t cap = RECORD_BYTES_MAX - sizeof(struct record) - n->bytes - PADDED(strlen(n->name));
	struct node_tail t = { 0 };

	if (n->storage) {
		t.limits = at_most(n->storage->limits_n, cap, sizeof(struct attach_limit));
		cap -= t.limits * sizeof(struct attach_limit);
		t.attached = at_most(n->storage->attached_n, cap, sizeof(struct attachment));
		cap -= t.attached * sizeof(struct attachment);
	}
	for (uint32_t i = 0; i < n->images_n; i++)
		t.images += m->image_uses[n->images[i].image].sent;
	t.images = at_most(t.images, cap, sizeof(struct node_image));
	t.bytes = t.images * sizeof(struct node_image) + t.limits * sizeof(struct attach_limit) +
	          t.attached * sizeof(struct attachment) + strlen(n->name);
	return t;
}

static void write_tail(const struct model *m, const struct node_entry *n, const struct node_tail *t,
                       char *p)
{
	for (uint32_t i = 0, written = 0; written < t->images; i++) {
		struct node_image image = { .image = n->images[i].image, .bytes = n->images[i].bytes };

		if (!m->image_uses[image.image].sent)
			continue;
		memcpy(p, &image, sizeof(image));
		p += sizeof(image);
		written++;
	}
	if (t->limits > 0)
		memcpy(p, n->storage->limits, t->limits * sizeof(struct attach_limit));
	p += t->limits * sizeof(struct attach_limit);
	if (t->attached > 0)
		memcpy(p, n->storage->attached, t->attached * sizeof(struct attachment));
	p += t->attached * sizeof(struct attachment);
	memcpy(p, n->name, strlen(n->name));
}

/* An unaccounted node is sent without amounts: no pod fits there. */
static bool send_node_object(const struct flush *f, uint32_t node, const struct node_entry *n,
                             bool unaccounted)
{
	const struct event_node *body = (const void *)n->body;
	size_t left_out = unaccounted ? body->amounts_n * sizeof(struct amount) : 0;
	size_t fixed = n->bytes - left_out;
	const struct node_tail tail = tail_of(f->m, n);
	char *p = flush_reserve(f, EVENT_NODE, fixed + tail.bytes);
	struct event_node *e = (void *)p;
	struct taint *taints;

	assert(n->bytes >= sizeof(*body) + left_out);
	if (!p)
		return false;
	memcpy(p, body, sizeof(*body));
	memcpy(p + sizeof(*body), n->body + sizeof(*body) + left_out, fixed - sizeof(*body));
	e->amounts_n = unaccounted ? 0 : body->amounts_n;
	e->node = node;
	e->generation = n->entry.slot.generation;
	e->images_n = tail.images;
	e->limits_n = tail.limits;
	e->attached_n = tail.attached;
	/* In the core the names of taints are numbered after those of resources. */
	taints = (void *)(p + sizeof(*e) + e->amounts_n * sizeof(struct amount) +
	                  e->labels_n * sizeof(struct label));
	for (uint32_t i = 0; i < e->taints_n; i++)
		taints[i].name += f->m->limits.resources;
	write_tail(f->m, n, &tail, p + fixed);
	return true;
}

/* A node without an object, which pods are bound to. */
static bool send_node_name(const struct flush *f, uint32_t node, const struct node_entry *n)
{
	struct event_node e = { .node = node,
		                    .generation = n->entry.slot.generation,
		                    .name_bytes = (uint32_t)strlen(n->name) };
	char *p = flush_reserve(f, EVENT_NODE, sizeof(e) + e.name_bytes);

	if (!p)
		return false;
	memcpy(p, &e, sizeof(e));
	memcpy(p + sizeof(e), n->name, e.name_bytes);
	return true;
}

static void node_seen(struct model *m, const struct node_entry *n)
{
	const struct event_node *e = (const void *)n->body;
	const struct label *labels =
		n->body ? (const void *)(n->body + sizeof(*e) + e->amounts_n * sizeof(struct amount))
				: NULL;
	struct bytes text = { 0 };

	bytes_put(&text, "{");
	for (uint32_t i = 0; labels && i < e->labels_n; i++) {
		const struct label *l = &labels[i];
		const char *key, *value;

		if (l->key == LABEL_KEY_NODE_NAME)
			continue;
		key = intern_text(&m->keys, l->key);
		value = intern_text(&m->values, l->value);
		bytes_put(&text, text.n > 1 ? "," : "");
		bytes_quote(&text, key, strlen(key));
		bytes_put(&text, ":");
		bytes_quote(&text, value, strlen(value));
	}
	bytes_put(&text, "}");
	live_node_seen(m->live, text_of(n->name), (struct text){ text.at, text.n });
	bytes_free(&text);
}

bool flush_nodes(const struct flush *f)
{
	struct model *m = f->m;

	while (m->nodes.dirty.first != SLOT_NONE) {
		uint32_t node = m->nodes.dirty.first;
		struct node_entry *n = node_at(m, node);
		/* Its amounts are sent after the pods that were not accounted for. */
		bool waits = n->unaccounted.sent && m->pods.dirty.first != SLOT_NONE;
		bool unaccounted = node_is_unaccounted(n) || waits;

		if (!(n->body ? send_node_object(f, node, n, unaccounted) : send_node_name(f, node, n)))
			return false;
		if (m->live && n->entry.slot.sent != n->entry.slot.generation)
			live_node_entered(m->live, text_of(n->name));
		if (m->live && live_has_several(m->live))
			node_seen(m, n);
		n->entry.slot.sent = n->entry.slot.generation;
		n->unaccounted.sent = unaccounted;
		m->accounted_nodes_due = m->accounted_nodes_due || waits;
		list_remove(&m->nodes.dirty, &m->nodes.pool, node);
	}
	return true;
}

bool flush_questions(const struct flush *f)
{
	struct live *l = f->m->live;
	uint32_t question;

	live_names_limit(l, model_device_names_most(f->m));
	while ((question = live_question_next(l)) != UINT32_MAX) {
		char *p = flush_reserve(f, EVENT_QUESTION, live_question_bytes(l, question));

		if (!p)
			return false;
		live_question_write(l, question, p);
	}
	return true;
}

static bool flush_matches(const struct flush *f, uint32_t at, node_id node)
{
	const uint32_t generation = node_at(f->m, node)->entry.slot.generation;
	struct live *l = f->m->live;
	uint32_t question;

	while ((question = live_match_next(l, at)) != UINT32_MAX && !live_flush_ends(l)) {
		char *p = flush_reserve(f, EVENT_MATCH, live_match_bytes(l, at, question));

		if (!p)
			return false;
		live_match_write(l, at, question, node, generation, p);
	}
	return true;
}

/* After the nodes, and before the pods that ask for them.  A node is done with its matches. */
bool flush_devices(const struct flush *f)
{
	struct live *l = f->m->live;
	uint32_t at;

	if (!flush_questions(f))
		return false;
	for (uint32_t i = 0; live_wants_nodes(l) && i < f->m->nodes.pool.n; i++)
		if (node_at(f->m, i)->entry.slot.live && node_at(f->m, i)->entry.slot.sent != 0)
			node_seen(f->m, node_at(f->m, i));
	live_nodes_known(l);
	live_flush_begin(l);
	while (!live_flush_ends(l) && (at = live_node_next(l)) != UINT32_MAX) {
		const uint32_t node = node_find(f->m, text_of(live_node_name(l, at)));
		char *p;

		if (node == SLOT_NONE || node_at(f->m, node)->entry.slot.sent == 0) {
			live_node_skip(l, at);
			continue;
		}
		p = flush_reserve(f, EVENT_NODE_DEVICES, live_node_bytes(l, at));
		if (!p)
			return false;
		live_node_write(l, at, node, node_at(f->m, node)->entry.slot.generation, p);
		if (!flush_matches(f, at, node)) {
			live_node_again(l, at);
			return false;
		}
		if (live_match_next(l, at) != UINT32_MAX)
			live_node_again(l, at);
	}
	return true;
}

bool model_has_more(const struct model *m)
{
	return m->live && live_node_next(m->live) != UINT32_MAX;
}
