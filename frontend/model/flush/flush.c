/* SPDX-License-Identifier: Apache-2.0 */
/* Sends what the core does not have yet, in an order in which nothing is referenced before it was
 * sent, and nothing dropped that is still referenced:
 *
 *   BEGIN   PREEMPTION   names   queues   shapes   nodes   devices   namespaces   budgets   gangs
 *           pods and their drops   facts of pods
 *           nodes that are accounted for again
 *                            drops of gangs, nodes, shapes   PROMISED   SYNCED
 *
 * Each call starts from the left, so that what was put since the last call is sent before what may
 * reference it. */
#include "frontend/model/flush/flush_impl.h"

#include "frontend/devices/live.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/flush/columns_refresh.h"
#include "frontend/model/pods/facts.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/nodes/images.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/model/flush/shares_refresh.h"
#include "frontend/model/nodes/unaccounted.h"
#include "frontend/volume/volume.h"

#include <assert.h>
#include <string.h>

char *flush_reserve(const struct flush *f, enum record_kind kind, size_t bytes)
{
	char *p = f->sink->reserve(f->sink->context, kind, (uint32_t)PADDED(bytes));

	/* No old memory in the padding. */
	if (p && PADDED(bytes) > bytes)
		memset(p + bytes, 0, PADDED(bytes) - bytes);
	return p;
}

bool flush_record(const struct flush *f, enum record_kind kind, const void *body, size_t bytes)
{
	char *p = flush_reserve(f, kind, bytes);

	if (p)
		memcpy(p, body, bytes);
	return p;
}

bool flush_drop(const struct flush *f, enum record_kind kind, uint32_t id, uint32_t generation)
{
	const struct event_drop e = { .id = id, .generation = generation };

	return flush_record(f, kind, &e, sizeof(e));
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
		char *p = flush_reserve(f, EVENT_NAME, sizeof(e) + e.bytes);

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
		char *p = flush_reserve(f, EVENT_SHAPE, s->bytes);
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

static bool send_namespace(const struct flush *f, const struct namespace_entry *n)
{
	struct event_namespace e = { .name = n->name, .labels_n = n->labels_n };
	char *p = flush_reserve(f, EVENT_NAMESPACE, sizeof(e) + n->labels_n * sizeof(*n->labels));

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

	while (m->namespaces.dirty.first != SLOT_NONE) {
		uint32_t namespace = m->namespaces.dirty.first;
		struct namespace_entry *n = namespace_at(m, namespace);
		struct slot *s = &n->entry.slot;

		if (n->entry.stamp ? !send_namespace(f, n)
		                   : s->sent != 0 && !flush_drop(f, EVENT_NAMESPACE_DROP, n->name, 0))
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
			char *p = flush_reserve(f, EVENT_BUDGET, budget_bytes(budget_at(m, budget)));

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
		.reclaim_patience_s = m->reclaim_patience_s,
	};

	if (m->preemption_due)
		m->preemption_due = !flush_record(f, EVENT_PREEMPTION, &e, sizeof(e));
	return !m->preemption_due;
}

static bool flush_dead(const struct flush *f, struct store *store, enum record_kind kind,
                       void (*bury)(struct model *m, uint32_t slot))
{
	while (store->dead.first != SLOT_NONE) {
		uint32_t slot = store->dead.first;
		const struct entry *e = store_at(store, slot);

		assert(e->refs == 0 && e->slot.sent != 0);
		if (!flush_drop(f, kind, slot, kind == EVENT_SHAPE_DROP ? 0 : e->slot.sent))
			return false;
		bury(f->m, slot);
	}
	return true;
}

static bool flush_drops(const struct flush *f)
{
	struct model *m = f->m;

	shapes_idle_limit(m);
	return flush_dead(f, &m->gangs, EVENT_GANG_DROP, gang_bury) &&
	       flush_dead(f, &m->nodes, EVENT_NODE_DROP, node_bury) &&
	       flush_dead(f, &m->shapes, EVENT_SHAPE_DROP, shape_bury);
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
	m->outsiders = 0;
	m->texts_due = false;
	intern_recycle(&m->keys);
	intern_recycle(&m->values);
	intern_recycle(&m->columns);
	intern_recycle(&m->taints);
	intern_recycle(&m->schedulers);
	intern_recycle(&m->images);
}

/* Pods of a selector that failed on a device that was just sent are judged again, and refused,
 * before they are sent: they would be placed on other nodes. */
static bool flush_live(const struct flush *f)
{
	struct live *l = f->m->live;
	uint32_t slot;

	if (!l)
		return true;
	if (!flush_devices(f))
		return false;
	while (live_next_pod(l, &slot))
		pod_storage_changed(f->m, slot);
	/* A question that was given back may be another pod's by now. */
	return flush_questions(f) && flush_shapes(f);
}

/* False if pods are left, for the next call. */
static bool refresh_storage(struct model *m)
{
	uint32_t left = volumes_are_live(m->volumes) ? VOLUME_JOINS_MAX : UINT32_MAX, slot;

	while (left-- > 0 && volumes_next_pod(m->volumes, &slot))
		pod_storage_changed(m, slot);
	while (m->live && live_next_pod(m->live, &slot))
		pod_storage_changed(m, slot);
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
	    !flush_live(&f) || !flush_namespaces(&f) || !flush_budgets(&f) || !flush_gangs(&f) ||
	    !flush_pods(&f) || !flush_facts(&f) || !fresh)
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

/* What has no object any more is not sent to the new core. */
static void restart_objects(struct model *m, struct store *s,
                            void (*release_if_unused)(struct model *m, uint32_t slot))
{
	store_restart(s);
	STORE_EACH(s, i)
	{
		if (((const struct entry *)store_at(s, i))->stamp)
			continue;
		list_remove(&s->dirty, &s->pool, i);
		release_if_unused(m, i);
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
	shapes_idle_end(m);
	bury_dead(m, &m->shapes, shape_bury);
	store_restart(&m->pods);
	if (m->live)
		live_restart(m->live);
	restart_objects(m, &m->budgets, budget_release_if_unused);
	restart_objects(m, &m->namespaces, namespace_release_if_unused);
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
