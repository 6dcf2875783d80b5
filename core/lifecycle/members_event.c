/* SPDX-License-Identifier: Apache-2.0 */
/* What a record says of a pod. */
#include "core/lifecycle/members_impl.h"

#include "core/base/probe.h"
#include "core/cycle/hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where a pod stands after a record. */
struct standing {
	enum pod_state state;
	node_id node;
	bool confirmed;
	bool any_attempt;
	bool carried, withdrawn;
};

/* alike: its kind is the same as before. */
static struct standing standing_after(const struct pod *p, const struct event_pod *e, uint32_t gang,
                                      bool alike, uint64_t time_ns)
{
	struct standing now = { .state = (enum pod_state)p->state,
		                    .node = p->node,
		                    .confirmed = p->confirmed,
		                    .any_attempt = p->any_attempt,
		                    .carried = p->carried,
		                    .withdrawn = p->withdrawn };
	/* Is what was planned for it still what it asks for? */
	bool same = (e->flags & POD_OURS) && !(e->flags & (POD_GATED | POD_DELETING | POD_REFUSED)) &&
	            alike && p->gang == gang;

	if (e->node != ID_NONE && !(e->flags & POD_BINDING))
		return (struct standing){ .state = POD_BOUND, .node = e->node, .confirmed = true };
	if (p->state == POD_BOUND && !p->confirmed)
		return now; /* the API server said so; the watch is behind */
	/* A binding that was answered after this record was written is over. */
	if (e->node != ID_NONE && (p->answered_ns == 0 || time_ns > p->answered_ns)) {
		now.any_attempt = p->state != POD_RESERVED || p->list == LIST_SEND || p->node != e->node ||
		                  p->any_attempt;
		now.state = POD_RESERVED;
		now.node = e->node;
		return now;
	}
	if (p->state == POD_RESERVED && p->list == LIST_SEND && p->carried) {
		now.withdrawn = p->withdrawn || !same;
		return now;
	}
	if (p->state == POD_RESERVED && (p->list != LIST_SEND || same))
		return now;
	if (pod_keeps_room(p) && same)
		return now;
	return (struct standing){ .state = POD_PENDING, .node = ID_NONE };
}

/* The pod has that shape and those labels from now on; it is on no node. */
static void kind_set(struct core *c, struct pod *p, shape_id shape, labels_id labels)
{
	if (p->shape != ID_NONE) {
		census_pod_leave(&c->census, pods_id(&c->pods, p));
		c->shapes.slots[p->shape].pods--;
	}
	c->shapes.slots[shape].pods++;
	p->shape = shape;
	census_pod_enter(&c->census, pods_id(&c->pods, p), labels);
}

/* labels: LABELS_NONE when neither they nor the shape are others. */
static void standing_apply(struct core *c, struct pod *p, const struct event_pod *e,
                           labels_id labels, const struct standing *now)
{
	bool stays =
		p->node == now->node && labels == LABELS_NONE && p->leaving == !!(e->flags & POD_DELETING);
	bool in_flight = now->state == POD_RESERVED && p->state == POD_RESERVED && !now->any_attempt;

	if (!(p->list == LIST_SEND && in_flight) &&
	    !(p->list == LIST_BACKOFF && now->state == POD_PENDING) &&
	    !(p->list == LIST_CLAIM && now->state == POD_RESERVED))
		list_leave(c, p);
	if (!stays)
		room_give(c, p);
	if (labels != LABELS_NONE)
		kind_set(c, p, e->shape, labels);
	if (!stays)
		room_take(c, p, now->node);
	if (now->state != POD_PENDING)
		p->refusals = now->state == POD_BOUND ? 0 : p->refusals;
	p->state = (uint8_t)now->state;
	p->confirmed = now->confirmed;
	p->any_attempt = now->any_attempt;
	p->carried = now->carried;
	p->withdrawn = now->withdrawn;
}

static void named_set(struct core *c, struct pod *p, node_id node)
{
	if (p->named != ID_NONE)
		c->nodes.slots[p->named].named--;
	if (node != ID_NONE)
		c->nodes.slots[node].named++;
	p->named = node;
}

/* The gang of one around a pod without a group. */
static void lone_begin(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	c->gangs.slots[c->gangs.groups + id] = (struct gang){ .generation = p->generation,
		                                                  .quorum = 1,
		                                                  .name = p->name,
		                                                  .name_bytes = p->name_bytes,
		                                                  .wait_kind = KIND_NONE };
}

static void gang_leave(struct core *c, struct pod *p)
{
	uint32_t index = p->gang;

	if (index == ID_NONE)
		return;
	gang_unlink(&c->gangs, index, pods_id(&c->pods, p));
	if (gang_is_group(&c->gangs, index)) {
		c->gangs.slots[index].hopeless = 0;
		gang_keep_room(c, index);
		gang_touch(c, index);
		return;
	}
	gang_hold(c, index);
	hold_forget(c, index);
	memset(&c->gangs.slots[index], 0, sizeof(c->gangs.slots[index]));
}

static void gang_join(struct core *c, struct pod *p, uint32_t index)
{
	pod_id id = pods_id(&c->pods, p);

	if (index == ID_NONE)
		return;
	if (!gang_is_group(&c->gangs, index))
		lone_begin(c, id);
	gang_link(&c->gangs, index, id);
}

/* The gang a pod counts in: foreign pods without a group are in none. */
static uint32_t gang_wanted(const struct core *c, const struct event_pod *e)
{
	if (e->gang != ID_NONE)
		return e->gang;
	return e->flags & POD_OURS ? c->gangs.groups + e->pod : ID_NONE;
}

static int pod_check(struct core *c, const struct pod_record *record)
{
	const struct event_pod *e = record->body;
	const struct pod *p = &c->pods.slots[e->pod];

	if (!shapes_find(&c->shapes, e->shape))
		return refuse(c, "pod of an unknown shape");
	if (e->gang != ID_NONE && !gangs_group(&c->gangs, e->gang))
		return refuse(c, "pod of an unknown gang");
	if (e->node != ID_NONE && !nodes_find(&c->nodes, e->node))
		return refuse(c, "pod on an unknown node");
	if (p->generation == e->generation &&
	    (p->name_bytes != e->name_bytes || memcmp(p->name, record->name, e->name_bytes) != 0))
		return refuse(c, "a pod changed its name");
	return 0;
}

static void pod_remove(struct core *c, struct pod *p)
{
	uint32_t index = p->gang;

	member_out(c, p);
	keep_end(c, p);
	gang_leave(c, p);
	list_leave(c, p);
	room_give(c, p);
	named_set(c, p, ID_NONE);
	PROBE(pod_left, pods_id(&c->pods, p), p->generation);
	census_pod_leave(&c->census, pods_id(&c->pods, p));
	c->shapes.slots[p->shape].pods--;
	c->pods.count--;
	free(p->name);
	memset(p, 0, sizeof(*p));
	if (c->sends.n > 0)
		gang_cancel_unsent(c, index);
}

static void pod_begin(struct core *c, const struct event_pod *e, char *name)
{
	struct pod *p = &c->pods.slots[e->pod];

	*p = (struct pod){ .generation = e->generation,
		               .gang = ID_NONE,
		               .shape = ID_NONE,
		               .kind = KIND_NONE,
		               .labels = LABELS_NONE,
		               .node = ID_NONE,
		               .named = ID_NONE,
		               .name = name,
		               .name_bytes = (uint16_t)e->name_bytes };
	c->pods.count++;
	if (e->pod >= c->pods.used)
		c->pods.used = e->pod + 1;
	c->pods.classes[p->class]++; /* taken out again at once */
}

/* What has to be had before anything changes. */
struct means {
	labels_id labels; /* held, with room for the things of the shape; LABELS_NONE: as before */
	char *name;       /* of a pod that is new; NULL */
};

static int means_have(struct core *c, const struct pod_record *record, struct means *m)
{
	const struct event_pod *e = record->body;
	const struct pod *p = &c->pods.slots[e->pod];
	const bool fresh = p->generation != e->generation;
	int rc;

	*m = (struct means){ .labels = LABELS_NONE };
	if (!fresh && p->shape == e->shape &&
	    labels_equal(&c->census.labels.sets[p->labels], e->namespace, record->labels, e->labels_n))
		return 0;
	rc = things_reserve(c->census.things, &c->shapes.slots[e->shape]);
	if (rc < 0)
		return rc;
	rc = census_labels_take(&c->census, e->namespace, record->labels, e->labels_n, &m->labels);
	if (rc < 0)
		goto release;
	m->name = fresh ? malloc(e->name_bytes) : NULL;
	if (fresh && !m->name) {
		rc = -ENOMEM;
		goto give_labels;
	}
	if (fresh)
		memcpy(m->name, record->name, e->name_bytes);
	return 0;

give_labels:
	census_labels_give(&c->census, m->labels);
release:
	things_release(c->census.things, &c->shapes.slots[e->shape]);
	return rc;
}

/* Is the pod's kind what it was? */
static bool means_alike(const struct core *c, const struct pod *p, const struct event_pod *e,
                        const struct means *m)
{
	const struct label_set *sets = c->census.labels.sets;

	return m->labels == LABELS_NONE || (p->shape == e->shape && p->labels != LABELS_NONE &&
	                                    sets[p->labels].class == sets[m->labels].class);
}

/* Of a pod that is bound: does the record say what is known, so that nothing counts otherwise? */
static bool says_the_same(const struct pod *p, const struct event_pod *e, uint32_t gang,
                          const struct means *m, const struct standing *now)
{
	return p->state == POD_BOUND && now->state == POD_BOUND && p->node == now->node &&
	       m->labels == LABELS_NONE && p->gang == gang && p->flags == e->flags &&
	       p->priority == e->priority && p->role == e->role && p->created_ns == e->created_ns;
}

/* What the record says of the pod by itself. */
static void said_set(const struct core *c, struct pod *p, const struct event_pod *e)
{
	p->flags = e->flags;
	/* kube-scheduler finds this fault before it looks for any that a pod is refused for, and
	 * it says so; no plan can place the pod. */
	if (c->shapes.slots[e->shape].named == NODE_WHY_CONFLICT)
		p->flags &= ~(uint32_t)POD_REFUSED;
	p->priority = e->priority;
	p->role = e->role;
	p->created_ns = e->created_ns;
	memcpy(p->uid, e->uid, sizeof(p->uid));
}

/* A pod that is new and has no node: there is nothing that it was before. */
static void pod_comes(struct core *c, struct pod *p, const struct event_pod *e, uint32_t gang,
                      labels_id labels)
{
	c->pods.classes[p->class]--;
	PROBE(pod_changes, e->pod, e->generation, (uint32_t)p->state);
	said_set(c, p, e);
	p->leaving = p->flags & POD_DELETING;
	kind_set(c, p, e->shape, labels);
	gang_join(c, p, gang);
	member_in(c, p);
	PROBE(pod_set, e->pod, e->generation, (uint32_t)p->state, p->node);
}

int pod_event(struct core *c, const struct pod_record *record, uint64_t time_ns)
{
	const struct event_pod *e = record->body;
	struct pod *p = &c->pods.slots[e->pod];
	uint32_t gang = gang_wanted(c, e), gang_before_it;
	struct standing now;
	struct means means;
	int rc = pod_check(c, record);

	if (rc == 0)
		rc = means_have(c, record, &means);
	if (rc < 0)
		return rc;
	if (p->generation != e->generation) {
		if (p->generation)
			pod_remove(c, p);
		pod_begin(c, e, means.name);
		if (e->node == ID_NONE) {
			pod_comes(c, p, e, gang, means.labels);
			return 0;
		}
	}
	now = standing_after(p, e, gang, means_alike(c, p, e, &means), time_ns);
	if (says_the_same(p, e, gang, &means, &now)) {
		p->confirmed = now.confirmed;
		memcpy(p->uid, e->uid, sizeof(p->uid));
		named_set(c, p, e->flags & POD_BINDING ? ID_NONE : e->node);
		PROBE(pod_set, e->pod, e->generation, (uint32_t)p->state, p->node);
		return 0;
	}
	/* The watch can be ahead of the answer, which is stale then. */
	if (pod_is_sent(p) && now.state == POD_BOUND && now.node == p->node)
		stat_add(&core_stats(c)->binds_accepted, 1);
	gang_before_it = p->gang;

	member_out(c, p);
	PROBE(pod_changes, e->pod, e->generation, (uint32_t)p->state);
	if (now.state != POD_PENDING || now.node == ID_NONE)
		keep_end(c, p);
	if (p->created_ns != e->created_ns && p->gang != ID_NONE)
		c->gangs.slots[p->gang].key_old = true; /* it may be as old as that */
	said_set(c, p, e);
	standing_apply(c, p, e, means.labels, &now);
	named_set(c, p, e->flags & POD_BINDING ? ID_NONE : e->node);
	if (gang != gang_before_it) {
		gang_leave(c, p);
		gang_join(c, p, gang);
	}
	member_in(c, p);
	PROBE(pod_set, e->pod, e->generation, (uint32_t)p->state, p->node);
	/* It may be in another gang by now: the one that it was reserved with counts. */
	if (c->sends.n > 0)
		gang_cancel_unsent(c, gang_before_it);
	return 0;
}

int pod_drop(struct core *c, const struct event_drop *drop)
{
	struct pod *p = pods_find(&c->pods, drop->id);

	if (!p || p->generation != drop->generation)
		return refuse(c, "drop of an unknown pod");
	pod_remove(c, p);
	return 0;
}

void pod_moved(void *context, pod_id id)
{
	struct core *c = context;
	const struct pod *p = &c->pods.slots[id];

	if (p->state != POD_PENDING || p->gang == ID_NONE)
		return;
	c->gangs.slots[p->gang].ready_kind = KIND_NONE;
	c->gangs.slots[p->gang].hopeless = 0;
	gang_touch(c, p->gang);
}
