/* SPDX-License-Identifier: Apache-2.0 */
/* Sends what the core does not have yet, in an order in which nothing is referenced before it was
 * sent, and nothing dropped that is still referenced:
 *
 *   BEGIN   PREEMPTION   names   queues   shapes   nodes   namespaces   budgets   gangs
 *           pods and their drops   facts of pods
 *           nodes that are accounted for again
 *                            drops of gangs, nodes, shapes   SYNCED
 *
 * Each call starts from the left, so that what was put since the last call is sent before what may
 * reference it. */
#include "frontend/devices/live.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/flush/columns_refresh.h"
#include "frontend/model/pods/facts.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/nodes/images.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/model/flush/shares_refresh.h"
#include "frontend/model/nodes/unaccounted.h"
#include "frontend/volume/volume.h"

#include <assert.h>
#include <string.h>

struct flush {
	struct model *m;
	const struct model_sink *sink;
};

static char *reserve(const struct flush *f, enum record_kind kind, size_t bytes)
{
	char *p = f->sink->reserve(f->sink->context, kind, (uint32_t)PADDED(bytes));

	/* No old memory in the padding. */
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

	while (m->shapes.dirty.first != SLOT_NONE) {
		uint32_t shape = m->shapes.dirty.first;
		struct shape_entry *s = shape_at(m, shape);
		char *p = reserve(f, EVENT_SHAPE, s->bytes);
		struct event_shape *e;

		if (!p)
			return false;
		memcpy(p, s->body, s->bytes);
		e = (void *)p;
		e->shape = shape;
		amounts_to_wire(m, (void *)(e + 1), e->amounts_n);
		s->entry.slot.sent = s->entry.slot.generation;
		list_remove(&m->shapes.dirty, &m->shapes.pool, shape);
	}
	return true;
}

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
	char *p = reserve(f, EVENT_NODE, fixed + tail.bytes);
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
		n->entry.slot.sent = n->entry.slot.generation;
		n->unaccounted.sent = unaccounted;
		m->accounted_nodes_due = m->accounted_nodes_due || waits;
		list_remove(&m->nodes.dirty, &m->nodes.pool, node);
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

static bool flush_questions(const struct flush *f)
{
	struct live *l = f->m->live;
	uint32_t question;

	while ((question = live_question_next(l)) != UINT32_MAX) {
		char *p = reserve(f, EVENT_QUESTION, live_question_bytes(l, question));

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
		char *p = reserve(f, EVENT_MATCH, live_match_bytes(l, at, question));

		if (!p)
			return false;
		live_match_write(l, at, question, node, generation, p);
	}
	return true;
}

/* After the nodes, and before the pods that ask for them.  A node is done with its matches. */
static bool flush_devices(const struct flush *f)
{
	struct live *l = f->m->live;
	uint32_t at;

	if (!flush_questions(f))
		return false;
	live_flush_begin(l);
	while (!live_flush_ends(l) && (at = live_node_next(l)) != UINT32_MAX) {
		const uint32_t node = node_find(f->m, text_of(live_node_name(l, at)));
		char *p;

		if (node == SLOT_NONE || node_at(f->m, node)->entry.slot.sent == 0) {
			live_node_skip(l, at);
			continue;
		}
		p = reserve(f, EVENT_NODE_DEVICES, live_node_bytes(l, at));
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

static bool flush_namespaces(const struct flush *f)
{
	struct model *m = f->m;

	while (m->namespaces.dirty.first != SLOT_NONE) {
		uint32_t namespace = m->namespaces.dirty.first;
		struct namespace_entry *n = namespace_at(m, namespace);
		struct slot *s = &n->entry.slot;

		if (n->entry.stamp ? !send_namespace(f, n)
		                   : s->sent != 0 && !send_drop(f, EVENT_NAMESPACE_DROP, n->name, 0))
			return false;
		s->sent = n->entry.stamp ? s->generation : 0;
		list_remove(&m->namespaces.dirty, &m->namespaces.pool, namespace);
		namespace_release_if_unused(m, namespace);
	}
	return true;
}

static bool flush_budgets(const struct flush *f)
{
	struct model *m = f->m;

	while (m->budgets.dirty.first != SLOT_NONE) {
		const uint32_t budget = m->budgets.dirty.first;
		struct entry *e = &budget_at(m, budget)->entry;

		if (e->stamp || e->slot.sent != 0) {
			char *p = reserve(f, EVENT_BUDGET, budget_bytes(budget_at(m, budget)));

			if (!p)
				return false;
			budget_write(m, budget, p);
		}
		e->slot.sent = e->stamp ? e->slot.generation : 0;
		list_remove(&m->budgets.dirty, &m->budgets.pool, budget);
		budget_release_if_unused(m, budget);
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
	e->generation = g->entry.slot.generation;
	e->dialect = form.dialect;
	e->spec_id = gang_spec_id(f->m, &form);
	e->flags |= form.object && form.refusal ? GANG_REFUSED : 0;
	e->flags |= form.object && form.object->unchanged ? GANG_UNCHANGED : 0;
	e->levels_n += form.object ? form.levels_n : 0;
	e->name_bytes = (uint32_t)name;
	e->disruption = form.object ? form.object->disruption : 0;
	gang_life_to_wire(f->m, gang, &form, e);
	amounts_to_wire(f->m, (void *)(e + 1), e->amounts_n);
	return true;
}

static bool flush_gangs(const struct flush *f)
{
	struct model *m = f->m;

	while (m->gangs.dirty.first != SLOT_NONE) {
		uint32_t gang = m->gangs.dirty.first;
		struct gang_entry *g = gang_at(m, gang);

		if (g->entry.slot.sent != 0 || !gang_is_void(m, gang)) {
			if (!send_gang(f, gang, g))
				return false;
			g->entry.slot.sent = g->entry.slot.generation;
		}
		list_remove(&m->gangs.dirty, &m->gangs.pool, gang);
	}
	return true;
}

static uint32_t expected_of(const struct model *m, const struct pod_entry *p)
{
	struct gang_form form;

	if (p->expected_s > 0 || p->gang == ID_NONE || (p->flags & POD_LASTS))
		return p->expected_s;
	gang_form(m, p->gang, &form);
	return form.object ? form.object->expected_s : 0;
}

static bool send_pod(const struct flush *f, uint32_t pod, const struct pod_entry *p)
{
	size_t namespace = strlen(p->texts), name = strlen(p->texts + namespace + 1);
	bool is_member = p->gang != ID_NONE && !gang_is_void(f->m, p->gang);
	struct event_pod e = {
		.pod = pod,
		.generation = p->entry.slot.generation,
		.flags = pod_flags_of(f->m, p),
		.gang = is_member ? p->gang : ID_NONE,
		.shape = p->shape,
		.node = p->node,
		.priority = p->priority,
		.name_bytes = (uint32_t)(namespace + 1 + name),
		.labels_n = p->labels_n,
		.namespace = namespace_at(f->m, p->namespace)->name,
		.role = is_member ? p->role : ID_NONE,
		.scheduled_s = p->scheduled_s,
		.created_ns = p->created_ns,
		.uid = { p->uid[0], p->uid[1] },
		.queue = queues_of_pod(f->m, pod),
		.run_s = p->run_s,
		.expected_s = expected_of(f->m, p),
	};
	size_t labels = p->labels_n * sizeof(*p->labels);
	char *at = reserve(f, EVENT_POD, sizeof(e) + labels + e.name_bytes);

	/* What a record references is sent before it. */
	assert(shape_at(f->m, p->shape)->entry.slot.sent != 0);
	assert(p->node == ID_NONE || node_at(f->m, p->node)->entry.slot.sent != 0);
	assert(p->binding == ID_NONE || node_at(f->m, p->binding)->entry.slot.sent != 0);
	assert(!is_member || gang_at(f->m, p->gang)->entry.slot.sent != 0);
	if (!at)
		return false;
	if (p->node == ID_NONE && p->binding != ID_NONE) {
		e.flags |= p->intent ? p->intent : POD_BINDING;
		e.node = p->binding;
		e.keep_ms = p->keep_ms;
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

/* A slot may have another user than the one that was sent: the drop of that one goes first. */
static bool flush_pods(const struct flush *f)
{
	struct model *m = f->m;

	while (m->pods.dirty.first != SLOT_NONE) {
		uint32_t pod = m->pods.dirty.first;
		struct slot *s = &pod_at(m, pod)->entry.slot;

		if (s->sent != 0 && (!s->live || s->sent != s->generation)) {
			if (!send_drop(f, EVENT_POD_DROP, pod, s->sent))
				return false;
			s->sent = 0;
		}
		if (s->live) {
			if (!send_pod(f, pod, pod_at(m, pod)))
				return false;
			if (s->sent == 0)
				facts_mark(m, pod);
			s->sent = s->generation;
		}
		list_remove(&m->pods.dirty, &m->pods.pool, pod);
	}
	return true;
}

static bool flush_facts(const struct flush *f)
{
	struct model *m = f->m;

	while (m->facts_first != SLOT_NONE) {
		const uint32_t pod = m->facts_first;
		struct event_pod_facts e;
		char *p = reserve(f, EVENT_POD_FACTS, sizeof(e));

		if (!p)
			return false;
		e = facts_of(m, pod);
		memcpy(p, &e, sizeof(e));
		facts_unmark(m, pod);
	}
	return true;
}

static bool flush_preemption(const struct flush *f)
{
	struct model *m = f->m;
	const bool unknown = m->budgets_unserved || m->budgets_left_out;
	const struct event_preemption e = {
		.flags = PREEMPTION_EXPLAIN | PREEMPTION_PACK | m->preemption_flags |
		         (m->evicts ? PREEMPTION_ON : 0u) | (unknown ? PREEMPTION_BUDGETS_UNKNOWN : 0u),
		.min_run_s = m->preempt_min_run_s,
		.cooldown_s = m->preempt_cooldown_s,
		.patience_s = m->preempt_patience_s,
	};
	char *p;

	if (!m->preemption_due)
		return true;
	p = reserve(f, EVENT_PREEMPTION, sizeof(e));
	if (p)
		memcpy(p, &e, sizeof(e));
	m->preemption_due = !p;
	return p;
}

static bool flush_dead(const struct flush *f, struct store *store, enum record_kind kind,
                       void (*bury)(struct model *m, uint32_t slot))
{
	while (store->dead.first != SLOT_NONE) {
		uint32_t slot = store->dead.first;
		const struct entry *e = store_at(store, slot);

		assert(e->refs == 0 && e->slot.sent != 0);
		if (!send_drop(f, kind, slot, kind == EVENT_SHAPE_DROP ? 0 : e->slot.sent))
			return false;
		bury(f->m, slot);
	}
	return true;
}

static bool flush_drops(const struct flush *f)
{
	struct model *m = f->m;

	return flush_dead(f, &m->gangs, EVENT_GANG_DROP, gang_bury) &&
	       flush_dead(f, &m->nodes, EVENT_NODE_DROP, node_bury) &&
	       flush_dead(f, &m->shapes, EVENT_SHAPE_DROP, shape_bury);
}

/* What an earlier instance promised, once for each core, before EVENT_SYNCED. */
static bool flush_promised(const struct flush *f)
{
	struct model *m = f->m;

	if (!m->synced_due)
		return true;
	for (; m->promised_next < m->pods.pool.n; m->promised_next++) {
		const struct pod_entry *p = pod_at(m, m->promised_next);
		struct event_promised e = { .pod = m->promised_next,
			                        .generation = p->entry.slot.generation,
			                        .at_ns = p->promised_s * UINT64_C(1000000000) };
		char *to;

		if (!p->entry.slot.live || p->promised_s == 0 || p->node != ID_NONE ||
		    p->entry.slot.sent != p->entry.slot.generation)
			continue;
		to = reserve(f, EVENT_PROMISED, sizeof(e));
		if (!to)
			return false;
		memcpy(to, &e, sizeof(e));
	}
	return true;
}

/* Send a record without a body if it is due; false when the sink is full. */
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

/* False if pods are left, for the next call. */
static bool refresh_storage(struct model *m)
{
	uint32_t left = volumes_are_live(m->volumes) ? VOLUME_JOINS_MAX : UINT32_MAX, slot;

	while (left-- > 0 && volumes_next_pod(m->volumes, &slot))
		pod_join_again(m, slot);
	while (m->live && live_next_pod(m->live, &slot))
		pod_join_again(m, slot);
	while (volumes_next_node(m->volumes, &slot)) {
		struct node_entry *n = node_at(m, slot);

		if (n->body && node_storage_join(m, slot, &n->storage))
			store_mark_dirty(&m->nodes, slot);
	}
	return left != UINT32_MAX || !volumes_are_live(m->volumes);
}

static bool refresh(struct model *m)
{
	columns_refresh(m);
	shares_refresh(m);
	if (m->queues)
		queues_refresh(m);
	return refresh_storage(m);
}

void model_refresh(struct model *m)
{
	while (!refresh(m))
		continue;
}

bool model_flush(struct model *m, const struct model_sink *sink)
{
	struct flush f = { m, sink };
	const bool fresh = refresh(m);

	nodes_refresh_images(m);
	if (!flush_mark(&f, &m->begin_due, EVENT_BEGIN) || !flush_preemption(&f) ||
	    !flush_names(&f, &m->columns, NAME_RESOURCE, 0) ||
	    !flush_names(&f, &m->taints, NAME_TAINT, m->limits.resources) ||
	    (m->queues && !queues_flush(m, sink)) || !flush_shapes(&f) || !flush_nodes(&f) ||
	    (m->live && !flush_devices(&f)) || !flush_namespaces(&f) || !flush_budgets(&f) ||
	    !flush_gangs(&f) || !flush_pods(&f) || !flush_facts(&f) || !fresh)
		return false;
	if (m->queues)
		queues_flushed(m);
	unaccounted_refresh(m);
	if (!flush_nodes(&f) || !flush_drops(&f) || !flush_promised(&f) ||
	    !flush_mark(&f, &m->synced_due, EVENT_SYNCED))
		return false;
	m->promised_next = 0;
	recycle(m);
	return true;
}

static void restart_namespaces(struct model *m)
{
	store_restart(&m->namespaces);
	STORE_EACH(&m->namespaces, i)
	{
		if (namespace_at(m, i)->entry.stamp)
			continue;
		list_remove(&m->namespaces.dirty, &m->namespaces.pool, i);
		namespace_release_if_unused(m, i);
	}
}

static void restart_budgets(struct model *m)
{
	store_restart(&m->budgets);
	STORE_EACH(&m->budgets, i)
	{
		if (budget_at(m, i)->entry.stamp)
			continue;
		list_remove(&m->budgets.dirty, &m->budgets.pool, i);
		budget_release_if_unused(m, i);
	}
}

static void bury_dead(struct model *m, struct store *s,
                      void (*bury)(struct model *m, uint32_t slot))
{
	while (s->dead.first != SLOT_NONE)
		bury(m, s->dead.first);
	store_restart(s);
}

void model_restart(struct model *m)
{
	bury_dead(m, &m->gangs, gang_bury);
	bury_dead(m, &m->nodes, node_bury);
	bury_dead(m, &m->shapes, shape_bury);
	store_restart(&m->pods);
	if (m->live)
		live_restart(m->live);
	restart_budgets(m);
	restart_namespaces(m);
	queues_restart(m);
	recycle(m);
	intern_restart(&m->columns);
	intern_restart(&m->taints);
	m->begin_due = true;
	m->promised_next = 0;
	m->preemption_due = m->preemption;
	m->synced_due = m->synced;
}

void model_set_synced(struct model *m)
{
	m->synced = true;
	m->synced_due = true;
	facts_synced(m);
}
