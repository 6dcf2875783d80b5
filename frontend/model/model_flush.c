/* SPDX-License-Identifier: Apache-2.0 */
/* What the core does not know yet, in an order in which nothing is named before
 * it was sent, and nothing dropped that is still named:
 *
 *   BEGIN   names   shapes   nodes   namespaces   gangs   pods and their drops
 *           nodes that got their room back
 *                            drops of gangs, nodes, shapes   SYNCED
 *
 * Each call starts from the left, so what came in since the last one is sent
 * before whatever may refer to it. */
#include "frontend/model/model_impl.h"

#include <assert.h>
#include <string.h>

struct flush {
	struct model *m;
	const struct model_sink *sink;
};

static char *reserve(const struct flush *f, enum record_kind kind, size_t bytes)
{
	char *p = f->sink->reserve(f->sink->context, kind, (uint32_t)PADDED(bytes));

	/* Padding never carries old memory to the other side. */
	if (p && PADDED(bytes) > bytes)
		memset(p + bytes, 0, PADDED(bytes) - bytes);
	return p;
}

static bool send_drop(const struct flush *f, enum record_kind kind, uint32_t id,
                      uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };
	char *p = reserve(f, kind, sizeof(e));

	if (p)
		memcpy(p, &e, sizeof(e));
	return p;
}

/* ---- names, shapes ------------------------------------------------------------------------ */

static bool flush_names(const struct flush *f, struct intern *in, enum name_kind kind,
                        uint32_t first)
{
	uint32_t number;

	while ((number = intern_next_dirty(in)) != SLOT_NONE) {
		const char *text = intern_text(in, number);
		struct event_name e = { .id = first + number,
			                    .kind = kind,
			                    .bytes = (uint32_t)strlen(text) };
		char *p = reserve(f, EVENT_NAME, sizeof(e) + e.bytes);

		if (!p)
			return false;
		memcpy(p, &e, sizeof(e));
		memcpy(p + sizeof(e), text, e.bytes);
		intern_sent(in, number);
	}
	return true;
}

static bool flush_shapes(const struct flush *f)
{
	struct model *m = f->m;

	while (m->shapes_dirty.first != SLOT_NONE) {
		uint32_t shape = m->shapes_dirty.first;
		struct shape_entry *s = shape_at(m, shape);
		char *p = reserve(f, EVENT_SHAPE, s->bytes);

		if (!p)
			return false;
		memcpy(p, s->body, s->bytes);
		((struct event_shape *)(void *)p)->shape = shape;
		s->slot.sent = s->slot.generation;
		list_remove(&m->shapes_dirty, &m->shapes, shape);
	}
	return true;
}

/* ---- nodes, gangs, pods --------------------------------------------------------------------- */

/* What follows the taints of a node. */
struct node_tail {
	uint32_t images, limits, attached;
	size_t bytes; /* the name included */
};

static uint32_t at_most(uint32_t n, size_t room, size_t bytes)
{
	return n < room / bytes ? n : (uint32_t)(room / bytes);
}

/* As much as there is room for: labels that leave too little for limits of drivers, volumes
 * and images are no cluster's. */
static struct node_tail tail_of(const struct model *m, const struct node_entry *n)
{
	size_t room = RECORD_BYTES_MAX - sizeof(struct record) - n->bytes - PADDED(strlen(n->name));
	struct node_tail t = { 0 };

	if (n->storage) {
		t.limits = at_most(n->storage->limits_n, room, sizeof(struct attach_limit));
		room -= t.limits * sizeof(struct attach_limit);
		t.attached = at_most(n->storage->attached_n, room, sizeof(struct attachment));
		room -= t.attached * sizeof(struct attachment);
	}
	for (uint32_t i = 0; i < n->images_n; i++)
		t.images += m->image_uses[n->images[i].image].sent;
	t.images = at_most(t.images, room, sizeof(struct node_image));
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

/* A blind one goes without amounts: nothing fits there. */
static bool send_node_object(const struct flush *f, uint32_t node, const struct node_entry *n,
                             bool blind)
{
	const struct event_node *body = (const void *)n->body;
	size_t left_out = blind ? body->amounts_n * sizeof(struct amount) : 0,
		   fixed = n->bytes - left_out;
	const struct node_tail tail = tail_of(f->m, n);
	char *p = reserve(f, EVENT_NODE, fixed + tail.bytes);
	struct event_node *e = (void *)p;
	struct taint *taints;

	if (!p)
		return false;
	memcpy(p, body, sizeof(*body));
	memcpy(p + sizeof(*body), n->body + sizeof(*body) + left_out, fixed - sizeof(*body));
	e->amounts_n = blind ? 0 : body->amounts_n;
	e->node = node;
	e->generation = n->slot.generation;
	e->images_n = tail.images;
	e->limits_n = tail.limits;
	e->attached_n = tail.attached;
	/* The names of taints come behind those of resources. */
	taints = (void *)(p + sizeof(*e) + e->amounts_n * sizeof(struct amount) +
	                  e->labels_n * sizeof(struct label));
	for (uint32_t i = 0; i < e->taints_n; i++)
		taints[i].name += f->m->limits.resources;
	write_tail(f->m, n, &tail, p + fixed);
	return true;
}

/* A node that only pods name. */
static bool send_node_name(const struct flush *f, uint32_t node, const struct node_entry *n)
{
	struct event_node e = { .node = node,
		                    .generation = n->slot.generation,
		                    .name_bytes = (uint32_t)strlen(n->name) };
	char *p = reserve(f, EVENT_NODE, sizeof(e) + e.name_bytes);

	if (!p)
		return false;
	memcpy(p, &e, sizeof(e));
	memcpy(p + sizeof(e), n->name, e.name_bytes);
	return true;
}

static bool flush_nodes(const struct flush *f)
{
	struct model *m = f->m;

	while (m->nodes_dirty.first != SLOT_NONE) {
		uint32_t node = m->nodes_dirty.first;
		struct node_entry *n = node_at(m, node);
		/* It sees again only after the pods that it waited for. */
		bool waits = n->blind.sent && m->pods_dirty.first != SLOT_NONE;
		bool blind = node_is_blind(n) || waits;

		if (!(n->body ? send_node_object(f, node, n, blind) : send_node_name(f, node, n)))
			return false;
		n->slot.sent = n->slot.generation;
		n->blind.sent = blind;
		m->sight_due = m->sight_due || waits;
		list_remove(&m->nodes_dirty, &m->nodes, node);
	}
	return true;
}

static bool send_namespace(const struct flush *f, const struct namespace_entry *n)
{
	struct event_namespace e = { .name = n->name, .labels_n = n->labels_n };
	char *p = reserve(f, EVENT_NAMESPACE, sizeof(e) + n->labels_n * sizeof(*n->labels));

	if (!p)
		return false;
	memcpy(p, &e, sizeof(e));
	if (n->labels_n > 0)
		memcpy(p + sizeof(e), n->labels, n->labels_n * sizeof(*n->labels));
	return true;
}

static bool flush_namespaces(const struct flush *f)
{
	struct model *m = f->m;

	while (m->namespaces_dirty.first != SLOT_NONE) {
		uint32_t namespace = m->namespaces_dirty.first;
		struct namespace_entry *n = namespace_at(m, namespace);

		if (n->has_object ? !send_namespace(f, n)
		                  : n->slot.sent != 0 && !send_drop(f, EVENT_NAMESPACE_DROP, n->name, 0))
			return false;
		n->slot.sent = n->has_object ? n->slot.generation : 0;
		list_remove(&m->namespaces_dirty, &m->namespaces, namespace);
		namespace_release_if_unused(m, namespace);
	}
	return true;
}

static bool send_gang(const struct flush *f, uint32_t gang, const struct gang_entry *g)
{
	static const struct event_gang missing = { .flags = GANG_OBJECT_MISSING };
	struct gang_form form;
	size_t body, levels, name = strlen(g->name);
	struct event_gang *e;
	char *p;

	gang_form(f->m, gang, &form);
	body = form.object ? form.object->bytes : sizeof(missing);
	levels = form.object ? form.levels_n * sizeof(*form.levels) : 0;
	p = reserve(f, EVENT_GANG, body + levels + name);
	if (!p)
		return false;
	memcpy(p, form.object ? form.object->body : (const void *)&missing, body);
	if (levels > 0)
		memcpy(p + body, form.levels, levels);
	memcpy(p + body + levels, g->name, name);
	e = (void *)p;
	e->gang = gang;
	e->generation = g->slot.generation;
	e->dialect = form.dialect;
	e->terms = gang_terms(f->m, &form);
	e->flags |= form.object && form.refusal ? GANG_REFUSED : 0;
	e->levels_n += form.object ? form.levels_n : 0;
	e->name_bytes = (uint32_t)name;
	return true;
}

static bool flush_gangs(const struct flush *f)
{
	struct model *m = f->m;

	while (m->gangs_dirty.first != SLOT_NONE) {
		uint32_t gang = m->gangs_dirty.first;
		struct gang_entry *g = gang_at(m, gang);

		if (g->slot.sent != 0 || !gang_is_void(m, gang)) {
			if (!send_gang(f, gang, g))
				return false;
			g->slot.sent = g->slot.generation;
		}
		list_remove(&m->gangs_dirty, &m->gangs, gang);
	}
	return true;
}

static bool send_pod(const struct flush *f, uint32_t pod, const struct pod_entry *p)
{
	size_t namespace = strlen(p->texts), name = strlen(p->texts + namespace + 1);
	bool is_member = p->gang != ID_NONE && !gang_is_void(f->m, p->gang);
	struct event_pod e = {
		.pod = pod,
		.generation = p->slot.generation,
		.flags = p->flags,
		.gang = is_member ? p->gang : ID_NONE,
		.shape = p->shape,
		.node = p->node,
		.priority = p->priority,
		.name_bytes = (uint32_t)(namespace + 1 + name),
		.labels_n = p->labels_n,
		.namespace = namespace_at(f->m, p->namespace)->name,
		.role = is_member ? p->role : ID_NONE,
		.created_ns = p->created_ns,
		.uid = { p->uid[0], p->uid[1] },
	};
	size_t labels = p->labels_n * sizeof(*p->labels);
	char *at = reserve(f, EVENT_POD, sizeof(e) + labels + e.name_bytes);

	if (!at)
		return false;
	if (p->node == ID_NONE && p->binding != ID_NONE) {
		e.flags |= POD_BINDING;
		e.node = p->binding;
	}
	memcpy(at, &e, sizeof(e));
	at += sizeof(e);
	if (labels > 0)
		memcpy(at, p->labels, labels);
	at += labels;
	memcpy(at, p->texts, namespace);
	at[namespace] = '/';
	memcpy(at + namespace + 1, p->texts + namespace + 1, name);
	return true;
}

/* A slot may have another user than the one the core knows: first the drop. */
static bool flush_pods(const struct flush *f)
{
	struct model *m = f->m;

	while (m->pods_dirty.first != SLOT_NONE) {
		uint32_t pod = m->pods_dirty.first;
		struct slot *s = &pod_at(m, pod)->slot;

		if (s->sent != 0 && (!s->live || s->sent != s->generation)) {
			if (!send_drop(f, EVENT_POD_DROP, pod, s->sent))
				return false;
			s->sent = 0;
		}
		if (s->live) {
			if (!send_pod(f, pod, pod_at(m, pod)))
				return false;
			s->sent = s->generation;
		}
		list_remove(&m->pods_dirty, &m->pods, pod);
	}
	return true;
}

/* ---- drops -------------------------------------------------------------------------------------
 */

static bool flush_dead(const struct flush *f, struct pool *pool, struct list *dead,
                       enum record_kind kind, void (*bury)(struct model *m, uint32_t slot))
{
	while (dead->first != SLOT_NONE) {
		uint32_t slot = dead->first;
		const struct slot *s = pool_at(pool, slot);

		if (!send_drop(f, kind, slot, kind == EVENT_SHAPE_DROP ? 0 : s->sent))
			return false;
		bury(f->m, slot);
	}
	return true;
}

static bool flush_drops(const struct flush *f)
{
	struct model *m = f->m;

	return flush_dead(f, &m->gangs, &m->gangs_dead, EVENT_GANG_DROP, gang_bury) &&
	       flush_dead(f, &m->nodes, &m->nodes_dead, EVENT_NODE_DROP, node_bury) &&
	       flush_dead(f, &m->shapes, &m->shapes_dead, EVENT_SHAPE_DROP, shape_bury);
}

/* ---- all
 * ----------------------------------------------------------------------------------------- */

/* A record without a body that is due; false when there is no room. */
static bool flush_mark(const struct flush *f, bool *due, enum record_kind kind)
{
	if (*due && !f->sink->reserve(f->sink->context, kind, 0))
		return false;
	*due = false;
	return true;
}

static void recycle(struct model *m)
{
	intern_recycle(&m->keys);
	intern_recycle(&m->values);
	intern_recycle(&m->columns);
	intern_recycle(&m->taints);
	intern_recycle(&m->schedulers);
	intern_recycle(&m->images);
}

bool model_flush(struct model *m, const struct model_sink *sink)
{
	struct flush f = { m, sink };

	model_settle(m);
	images_sight(m);
	if (!flush_mark(&f, &m->begin_due, EVENT_BEGIN) ||
	    !flush_names(&f, &m->columns, NAME_RESOURCE, 0) ||
	    !flush_names(&f, &m->taints, NAME_TAINT, m->limits.resources) || !flush_shapes(&f) ||
	    !flush_nodes(&f) || !flush_namespaces(&f) || !flush_gangs(&f) || !flush_pods(&f))
		return false;
	blind_sight(m);
	if (!flush_nodes(&f) || !flush_drops(&f) || !flush_mark(&f, &m->synced_due, EVENT_SYNCED))
		return false;
	recycle(m);
	return true;
}

/* ---- a new core
 * ------------------------------------------------------------------------------------ */

/* Nothing is known of a pool's slots: those in use are dirty, in order. */
static void restart_pool(struct pool *pool, struct list *dirty)
{
	for (uint32_t i = 0; i < pool->n; i++) {
		struct slot *s = pool_at(pool, i);

		list_remove(dirty, pool, i);
		s->sent = 0;
		if (s->live)
			list_push(dirty, pool, i);
	}
}

static void restart_namespaces(struct model *m)
{
	for (uint32_t i = 0; i < m->namespaces.n; i++) {
		struct namespace_entry *n = namespace_at(m, i);

		if (!n->slot.live)
			continue;
		list_remove(&m->namespaces_dirty, &m->namespaces, i);
		n->slot.sent = 0;
		if (n->has_object)
			list_push(&m->namespaces_dirty, &m->namespaces, i);
		else
			namespace_release_if_unused(m, i);
	}
}

void model_restart(struct model *m)
{
	while (m->gangs_dead.first != SLOT_NONE)
		gang_bury(m, m->gangs_dead.first);
	while (m->nodes_dead.first != SLOT_NONE)
		node_bury(m, m->nodes_dead.first);
	while (m->shapes_dead.first != SLOT_NONE)
		shape_bury(m, m->shapes_dead.first);
	restart_pool(&m->shapes, &m->shapes_dirty);
	restart_pool(&m->nodes, &m->nodes_dirty);
	restart_pool(&m->gangs, &m->gangs_dirty);
	restart_pool(&m->pods, &m->pods_dirty);
	restart_namespaces(m);
	recycle(m);
	intern_restart(&m->columns);
	intern_restart(&m->taints);
	m->begin_due = true;
	m->synced_due = m->synced;
}

void model_set_synced(struct model *m)
{
	m->synced = true;
	m->synced_due = true;
}

/* ---- binds in flight
 * -------------------------------------------------------------------------------- */

void model_bind_begin(struct model *m, pod_id id, uint32_t generation, node_id node)
{
	struct pod_entry *p;

	if (id >= m->pods.n || node >= m->nodes.n || !node_at(m, node)->slot.live)
		return;
	p = pod_at(m, id);
	if (!p->slot.live || p->slot.generation != generation)
		return;
	node_hold(m, node);
	if (p->binding != ID_NONE)
		node_give(m, p->binding);
	p->binding = node;
}

void model_bind_end(struct model *m, pod_id id, uint32_t generation)
{
	struct pod_entry *p = id < m->pods.n ? pod_at(m, id) : NULL;

	if (!p || !p->slot.live || p->slot.generation != generation || p->binding == ID_NONE)
		return;
	node_give(m, p->binding);
	p->binding = ID_NONE;
}
