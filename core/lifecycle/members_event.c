/* SPDX-License-Identifier: Apache-2.0 */
/* Records of pods. */
#include "core/lifecycle/members.h"

#include "core/base/probe.h"
#include "core/filter/gpus.h"
#include "core/lifecycle/backfill_state.h"
#include "core/lifecycle/evicted.h"
#include "core/lifecycle/inflight.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/precedence.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/retain.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The pod's reservation after the record, and its node in *node.  `same`: the pod still requests
 * what was planned. */
static enum reservation reservation_after(const struct pod *p, const struct event_pod *e, bool same,
                                          uint64_t time_ns, node_id *node)
{
	const enum reservation now = (enum reservation)p->reservation;
	/* A binding whose result is newer than this record is not in flight. */
	const bool binding = e->node != ID_NONE && (p->answered_ns == 0 || time_ns > p->answered_ns);

	*node = e->node;
	if (e->node != ID_NONE && !(e->flags & POD_BINDING))
		return RESERVATION_CONFIRMED;
	if (binding && (now == RESERVATION_ASSUMED || reservation_is_cancelled(p)))
		return now;
	if (binding && now != RESERVATION_BOUND)
		return now == RESERVATION_SENT && p->node == e->node ? now : RESERVATION_IN_FLIGHT;
	*node = p->node;
	switch (now) {
	case RESERVATION_BOUND: /* the watch is behind the result */
	case RESERVATION_SENT:
	case RESERVATION_IN_FLIGHT:
	case RESERVATION_CANCEL:
	case RESERVATION_CANCEL_SENT:
	case RESERVATION_ASSUMED:
		return now;
	case RESERVATION_RETRY:
		return same ? now : RESERVATION_CANCEL;
	case RESERVATION_RESERVED:
	case RESERVATION_RETAINED:
	case RESERVATION_NOMINATED:
		if (same)
			return now;
		break;
	default:
		break;
	}
	*node = ID_NONE;
	return RESERVATION_NONE;
}

static __attribute__((noinline, cold)) void lasting_end(struct core *c, struct pod *p)
{
	lasting_remove(&c->lasting, p->named, &c->shapes.slots[p->shape]);
	p->lasting = false;
}

/* The pod is counted on `node`, if it lasts. */
static __attribute__((noinline, cold)) void lasting_set(struct core *c, struct pod *p, node_id node)
{
	const bool lasts = node != ID_NONE && (p->flags & POD_LASTS);

	if (p->lasting && (!lasts || p->named != node))
		lasting_end(c, p);
	if (lasts && !p->lasting)
		lasting_add(&c->lasting, node, &c->shapes.slots[p->shape]);
	p->lasting = lasts;
}

/* Sets the pod's shape and labels; it is on no node. */
static void class_set(struct core *c, struct pod *p, shape_id shape, labels_id labels)
{
	if (p->lasting)
		lasting_end(c, p);
	if (p->shape != ID_NONE) {
		pod_counts_pod_leave(&c->pod_counts, pods_id(&c->pods, p));
		c->shapes.slots[p->shape].pods--;
	}
	c->shapes.slots[shape].pods++;
	if (c->pod_counts.gpus && c->shapes.slots[shape].body->devices > 0)
		gpus_ask(&c->pod_counts, c->shapes.slots[shape].body->devices - 1);
	p->shape = shape;
	pod_counts_pod_enter(&c->pod_counts, pods_id(&c->pods, p), labels);
}

/* Its node counts it by class and by whether it is being deleted, so what it takes is released and
 * allocated again.  A pod that stays on its node goes on as it began. */
static __attribute__((noinline)) void reservation_recount(struct core *c, struct pod *p,
                                                          shape_id shape, labels_id labels,
                                                          enum reservation now, node_id node)
{
	struct timeline *t = c->promises.timeline;
	const pod_id id = pods_id(&c->pods, p);
	const bool stays = t && p->node != ID_NONE && p->node == node;
	const struct timeline_begun begun =
		stays ? timeline_pod_begun(t, id) : (struct timeline_begun){ 0 };

	capacity_release(c, p);
	if (labels != LABELS_NONE)
		class_set(c, p, shape, labels);
	reservation_set(c, p, now, node);
	if (stays)
		timeline_pod_goes_on(t, id, &begun);
}

/* p->flags are new already.  labels: LABELS_NONE if neither they nor the shape changed. */
static void reservation_follow(struct core *c, struct pod *p, shape_id shape, labels_id labels,
                               enum reservation now, node_id node)
{
	if (labels != LABELS_NONE || p->leaving != !!(p->flags & POD_DELETING))
		reservation_recount(c, p, shape, labels, now, node);
	else
		reservation_set(c, p, now, node);
	if (reservation_is_bound(p))
		p->refusals = 0;
}

static void named_set(struct core *c, struct pod *p, node_id node)
{
	if (p->lasting || (p->flags & POD_LASTS))
		lasting_set(c, p, node);
	if (p->named != ID_NONE)
		c->nodes.slots[p->named].named--;
	if (node != ID_NONE)
		c->nodes.slots[node].named++;
	p->named = node;
}

/* A gang of one, for a pod without a group. */
static void lone_begin(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	c->gangs.slots[c->gangs.groups + id] = (struct gang){ .generation = p->generation,
		                                                  .quorum = 1,
		                                                  .name = p->name,
		                                                  .name_bytes = p->name_bytes,
		                                                  .hint_kind = CLASS_NONE };
}

static void gang_leave(struct core *c, struct pod *p)
{
	uint32_t index = p->gang;

	if (index == ID_NONE)
		return;
	if (p->first_plan)
		precedence_lose(c, p);
	gang_unlink(&c->gangs, index, pods_id(&c->pods, p));
	if (gang_is_group(&c->gangs, index)) {
		c->gangs.slots[index].infeasible_version = 0;
		gang_retain_check(c, index);
		gang_requeue(c, index);
		return;
	}
	gang_dequeue(c, index);
	backfill_forget(c, index);
	memset(&c->gangs.slots[index], 0, sizeof(c->gangs.slots[index]));
}

static void gang_join(struct core *c, struct pod *p, uint32_t index)
{
	pod_id id = pods_id(&c->pods, p);

	assert(p->gang == ID_NONE);
	if (index == ID_NONE)
		return;
	if (!gang_is_group(&c->gangs, index))
		lone_begin(c, id);
	gang_link(&c->gangs, index, id);
}

/* The gang that counts the pod; ID_NONE: a foreign pod without a group. */
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

	if (c->nominations.n > 0)
		nominations_pod_gone(c, pods_id(&c->pods, p));
	if (taken_is_on(&c->taken))
		evicted_pod_ends(c, p);
	member_out(c, p);
	reservation_set(c, p, RESERVATION_NONE, ID_NONE);
	backoff_leave(c, p);
	gang_leave(c, p);
	named_set(c, p, ID_NONE);
	PROBE(pod_dropped, pods_id(&c->pods, p), p->generation);
	pod_counts_pod_leave(&c->pod_counts, pods_id(&c->pods, p));
	c->shapes.slots[p->shape].pods--;
	pods_note_flags(&c->pods, pods_id(&c->pods, p), 0);
	pods_note_gone(&c->pods);
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
		               .class = CLASS_NONE,
		               .labels = LABELS_NONE,
		               .node = ID_NONE,
		               .named = ID_NONE,
		               .name = name,
		               .name_bytes = (uint16_t)e->name_bytes };
	pods_note_new(&c->pods, e->pod);
	c->pods.by_readiness[p->readiness]++; /* until member_out(), or pod_add_pending() */
}

/* What the record brings, allocated before anything changes. */
struct means {
	labels_id labels; /* with a reference; LABELS_NONE: unchanged */
	char *name;       /* of a new pod; NULL */
};

static struct means means_make(struct core *c, const struct pod_record *record)
{
	const struct event_pod *e = record->body;
	const struct pod *p = &c->pods.slots[e->pod];
	const bool fresh = p->generation != e->generation;
	struct means m = { .labels = LABELS_NONE };

	if (!fresh && p->shape == e->shape &&
	    labels_equal(&c->pod_counts.labels.sets[p->labels], e->namespace, record->labels,
	                 e->labels_n))
		return m;
	m.labels = pod_counts_labels_ref(&c->pod_counts, e->namespace, record->labels, e->labels_n);
	if (fresh) {
		m.name = must_grow(NULL, e->name_bytes);
		memcpy(m.name, record->name, e->name_bytes);
	}
	return m;
}

/* True if the pod, with these labels, still requests what a plan for it was made for. */
static bool same_request(const struct core *c, const struct pod *p, const struct event_pod *e,
                         uint32_t gang, labels_id labels)
{
	const struct label_set *sets = c->pod_counts.labels.sets;

	if (!pod_flags_schedulable(e->flags) || p->gang != gang)
		return false;
	return labels == LABELS_NONE || (p->shape == e->shape && p->labels != LABELS_NONE &&
	                                 sets[p->labels].match_set == sets[labels].match_set);
}

/* True for a bound pod of which the record changes nothing that is counted. */
static bool is_unchanged(const struct pod *p, const struct event_pod *e, uint32_t gang,
                         labels_id labels, node_id node)
{
	return reservation_is_bound(p) && p->node == node && labels == LABELS_NONE && p->gang == gang &&
	       p->flags == e->flags && p->priority == e->priority && p->role == e->role &&
	       p->created_ns == e->created_ns;
}

/* Out of line, as in reservation.c. */
static __attribute__((noinline, cold)) void promises_set(const struct core *c,
                                                         const struct event_pod *e)
{
	const bool lasts = e->flags & POD_LASTS;

	timeline_pod_set(c->promises.timeline, e->pod, lasts ? 0 : e->run_s, lasts ? 0 : e->expected_s,
	                 e->scheduled_s);
}

/* The fields that the record sets as they are. */
static void fields_set(struct core *c, struct pod *p, const struct event_pod *e)
{
	pods_note_flags(&c->pods, e->pod, e->flags);
	p->flags = e->flags;
	/* kube-scheduler's PreFilter rejects the pod before it comes to what muster does not support;
	 * no plan can place it, and that reason is published. */
	if (c->shapes.slots[e->shape].named == FILTER_CONFLICT)
		p->flags &= ~(uint32_t)POD_REFUSED;
	p->priority = e->priority;
	p->role = e->role;
	p->created_ns = e->created_ns;
	memcpy(p->uid, e->uid, sizeof(p->uid));
	if (c->promises.timeline)
		promises_set(c, e);
	if (c->turns.stated)
		queued_record(c, e);
}

/* A new pod without a node: nothing of it was counted before. */
static void pod_add_pending(struct core *c, struct pod *p, const struct event_pod *e, uint32_t gang,
                            labels_id labels)
{
	c->pods.by_readiness[p->readiness]--;
	PROBE(pod_changes, e->pod, e->generation, (uint32_t)p->reservation);
	fields_set(c, p, e);
	p->leaving = p->flags & POD_DELETING;
	class_set(c, p, e->shape, labels);
	gang_join(c, p, gang);
	member_in(c, p);
	PROBE(pod_set, e->pod, e->generation, (uint32_t)p->reservation, p->node);
}

static void pod_change(struct core *c, struct pod *p, const struct event_pod *e, uint32_t gang,
                       labels_id labels, enum reservation now, node_id node)
{
	const uint32_t old_gang = p->gang;
	const shape_id old_shape = p->shape;
	/* Sent again as it was: the text of its refusal, which only the frontend has, is another one.
	 */
	const bool told_again = e->flags & POD_REFUSED && p->flags == e->flags && gang == old_gang &&
	                        labels == LABELS_NONE && gang != ID_NONE;

	if (c->nominations.n > 0)
		nominations_pod_changes(c, e->pod, e->flags,
		                        now == RESERVATION_NOMINATED && gang == old_gang);
	member_out(c, p);
	PROBE(pod_changes, e->pod, e->generation, (uint32_t)p->reservation);
	if (now != RESERVATION_RETAINED)
		retained_end(c, p);
	if (p->created_ns != e->created_ns && p->gang != ID_NONE)
		c->gangs.slots[p->gang].key_old = true; /* its age may have been the gang's */
	fields_set(c, p, e);
	reservation_follow(c, p, e->shape, labels, now, node);
	named_set(c, p, e->flags & POD_BINDING ? ID_NONE : e->node);
	if (gang != old_gang) {
		gang_leave(c, p);
		gang_join(c, p, gang);
	}
	if (told_again)
		c->gangs.slots[gang].published_hash = 0;
	member_in(c, p);
	if (p->first_plan && (p->readiness == MEMBER_OUTSIDE ||
	                      (p->shape != old_shape && precedence_asks_more(c, old_shape, p->shape))))
		precedence_lose(c, p);
	PROBE(pod_set, e->pod, e->generation, (uint32_t)p->reservation, p->node);
	/* The gang that it was reserved with, even if it is in another one now. */
	if (c->sends.n > 0)
		gang_cancel_unsent(c, old_gang);
}

/* Of a record that pod_check() accepted.  A pod with an intent has no node yet. */
static int intent_event(struct core *c, const struct pod_record *record, uint64_t time_ns)
{
	struct event_pod body = *record->body;
	const struct pod_record pending = { .body = &body,
		                                .labels = record->labels,
		                                .name = record->name };
	int rc;

	body.node = ID_NONE;
	body.flags &= ~POD_INTENTS;
	rc = pod_event(c, &pending, time_ns);
	if (rc == 0 && !c->synced)
		inflight_note(c, record->body);
	return rc;
}

int pod_event(struct core *c, const struct pod_record *record, uint64_t time_ns)
{
	const struct event_pod *e = record->body;
	struct pod *p = &c->pods.slots[e->pod];
	const uint32_t gang = gang_wanted(c, e);
	const int rc = pod_check(c, record);
	enum reservation now;
	struct means means;
	node_id node;

	if (rc < 0)
		return rc;
	if (e->flags & POD_INTENTS)
		return intent_event(c, record, time_ns);
	if (!c->synced && e->gang != ID_NONE)
		precedence_note_listed(&c->gangs.slots[e->gang], e);
	means = means_make(c, record);
	if (p->generation != e->generation) {
		if (p->generation)
			pod_remove(c, p);
		pod_begin(c, e, means.name);
		if (e->node == ID_NONE) {
			pod_add_pending(c, p, e, gang, means.labels);
			return 0;
		}
	}
	now = reservation_after(p, e, same_request(c, p, e, gang, means.labels), time_ns, &node);
	if (c->nominations.n > 0 && p->reservation == RESERVATION_NONE && now == RESERVATION_CONFIRMED)
		nominations_pod_came(c, e->pod, e->generation, node);
	if ((now == RESERVATION_BOUND || now == RESERVATION_CONFIRMED) &&
	    is_unchanged(p, e, gang, means.labels, node) && !queued_differs(c, e)) {
		reservation_set(c, p, now, node);
		memcpy(p->uid, e->uid, sizeof(p->uid));
		if (c->promises.timeline)
			promises_set(c, e);
		named_set(c, p, e->flags & POD_BINDING ? ID_NONE : e->node);
		PROBE(pod_set, e->pod, e->generation, (uint32_t)p->reservation, p->node);
		return 0;
	}
	/* The watch was ahead of the result, which will be stale. */
	if (reservation_is_sent(p) && now == RESERVATION_CONFIRMED && node == p->node)
		stat_add(&core_stats(c)->binds_accepted, 1);
	pod_change(c, p, e, gang, means.labels, now, node);
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

	assert(id < c->pods.limit);
	if (!reservation_is_pending(p) || p->gang == ID_NONE)
		return;
	c->gangs.slots[p->gang].ready_class = CLASS_NONE;
	c->gangs.slots[p->gang].infeasible_version = 0;
	gang_requeue(c, p->gang);
}
