#include "core/members.h"

#include "core/probe.h"
#include "core/say.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)
#define BACKOFF_FIRST_MS 1000u
#define BACKOFF_MOST_MS 10000u
#define BACKOFF_GRAIN_NS (20 * NS_PER_MS) /* so that many refusals cost few walks */

/* ---- gangs in their queues ------------------------------------------------------ */

void gang_hold(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];

	if (g->place == PLACE_CHANGED) {
		queue_remove(&c->changed, index);
	} else if (g->place == PLACE_WAITING) {
		if (c->cursor == index)
			c->cursor = queue_next(&c->waiting, index);
		queue_remove(&c->waiting, index);
		waits_leave(&c->waits, g);
	}
}

void gang_touch(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];
	/* There is nothing to find out about a lone pod that waits for nothing. */
	const bool ask = gang_is_group(&c->gangs, index) || gang_pending(g) > 0;

	if (index == c->looked_at || (g->place == PLACE_CHANGED && ask && gang_queued_right(g)))
		return;
	gang_hold(c, index);
	if (ask)
		queue_insert(&c->changed, index);
}

/* ---- room ------------------------------------------------------------------------- */

/* Where one pod is, others that want to be near it or evenly spread may find room now. */
static void room_eased(struct core *c, const struct pod *p)
{
	if (census_eases(&c->census, p->kind))
		c->nodes.room_version++;
}

static void room_take(struct core *c, struct pod *p, node_id node)
{
	p->node = node;
	p->leaving = p->flags & POD_DELETING;
	if (node == ID_NONE)
		return;
	census_take(&c->census, node, p->kind, p->leaving);
	room_eased(c, p);
}

static void room_give(struct core *c, struct pod *p)
{
	if (p->node == ID_NONE)
		return;
	census_give(&c->census, p->node, p->kind, p->leaving);
	p->node = ID_NONE;
	c->nodes.room_version++;
}

/* ---- room of members that were refused --------------------------------------------------- */

static void keep_begin(struct core *c, const struct pod *p)
{
	c->gangs.slots[p->gang].kept += pod_keeps_room(p);
}

static void keep_end(struct core *c, struct pod *p)
{
	if (!pod_keeps_room(p))
		return;
	c->gangs.slots[p->gang].kept--;
	room_give(c, p);
}

void gang_keep_room(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];

	if (g->kept == 0 || (gang_has_begun(g) && gang_members(g) >= g->quorum))
		return;
	for (pod_id id = g->first; g->kept > 0; id = c->pods.slots[id].next)
		keep_end(c, &c->pods.slots[id]);
}

void gang_lend_room(struct core *c, const struct gang *g)
{
	uint32_t left = g->kept;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (!pod_keeps_room(p))
			continue;
		census_give(&c->census, p->node, p->kind, p->leaving);
		left--;
	}
}

/* It is free already, and kept no longer. */
static void lent_gone(struct core *c, struct gang *g, struct pod *p)
{
	p->node = ID_NONE;
	g->kept--;
	c->nodes.room_version++; /* it may be elsewhere now */
}

void gang_lent_room_back(struct core *c, struct gang *g)
{
	uint32_t left = g->kept;

	for (pod_id id = g->first; left > 0; id = c->pods.slots[id].next) {
		struct pod *p = &c->pods.slots[id];

		if (!pod_keeps_room(p))
			continue;
		if (views_count_at(&c->views, p->node, p->kind) > 0)
			census_take(&c->census, p->node, p->kind, p->leaving);
		else
			lent_gone(c, g, p);
		left--;
	}
}

void gang_lent_room_gone(struct core *c, struct gang *g)
{
	for (pod_id id = g->first; g->kept > 0; id = c->pods.slots[id].next)
		if (pod_keeps_room(&c->pods.slots[id]))
			lent_gone(c, g, &c->pods.slots[id]);
}

/* ---- members ------------------------------------------------------------------------ */

/* Around every change of a pod that its gang's numbers depend on.  In between a queue has the gang as it
 * was. */
static void member_out(struct core *c, struct pod *p)
{
	c->pods.classes[p->class]--;
	if (p->state == POD_BOUND)
		c->pods.bound--;
	if (p->gang == ID_NONE)
		return;
	gang_uncount(&c->gangs.slots[p->gang], p);
}

static void member_in(struct core *c, struct pod *p)
{
	struct gang *g;

	p->class = (uint8_t)pod_class(p);
	c->pods.classes[p->class]++;
	if (p->state == POD_BOUND)
		c->pods.bound++;
	if (p->gang == ID_NONE)
		return;
	g = &c->gangs.slots[p->gang];
	gang_count(g, p);
	g->hopeless = 0;
	if (g->kept > 0)
		gang_keep_room(c, p->gang);
	gang_touch(c, p->gang);
}

static void list_leave(struct core *c, struct pod *p)
{
	pod_id id = pods_id(&c->pods, p);

	if (p->list == LIST_SEND)
		pod_queue_remove(&c->sends, &c->pods, id);
	else if (p->list == LIST_BACKOFF)
		pod_queue_remove(&c->backoff, &c->pods, id);
	else if (p->list == LIST_CLAIM)
		pod_queue_remove(&c->claims.kept, &c->pods, id);
}

/* The pod has its room, and a CMD_BIND is due. */
static inline void reserved(struct core *c, struct pod *p)
{
	p->state = POD_RESERVED;
	p->any_attempt = false;
	p->attempt++;
	PROBE(reserved, pods_id(&c->pods, p), p->generation, p->node, p->gang);
}

void pod_reserve(struct core *c, pod_id id, node_id node)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->state == POD_PENDING && p->node == ID_NONE);
	member_out(c, p);
	list_leave(c, p);
	room_take(c, p, node);
	reserved(c, p);
	pod_queue_push(&c->sends, &c->pods, id);
	member_in(c, p);
}

/* A member has its room: it is counted, and its command is written. */
static inline void member_reserve(struct core *c, struct gang *g, struct cmd_bind *bind, pod_id id, node_id node)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->class == MEMBER_READY && p->list == LIST_NONE && p->node == ID_NONE);
	gang_uncount(g, p);
	p->node = node;
	p->leaving = false;
	reserved(c, p);
	/* Those before it go first. */
	if (c->sends.n > 0 || !say_bind(c, bind, id))
		pod_queue_push(&c->sends, &c->pods, id);
	p->class = MEMBER_BINDING;
	gang_count(g, p);
}

void gang_reserve(struct core *c, uint32_t index, const struct plan *plan)
{
	struct gang *g = &c->gangs.slots[index];
	struct cmd_bind bind = say_bind_of(c, index);
	kind_id kind = KIND_NONE;
	uint32_t n = 0;

	assert(g->place == PLACE_NONE && c->looked_at == index);
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct pod *p = &c->pods.slots[plan->pods[i]];

		if (plan->nodes[i] == ID_NONE)
			continue;
		if (p->kind != kind) /* of a kind the first says it all */
			room_eased(c, p);
		kind = p->kind;
		member_reserve(c, g, &bind, plan->pods[i], plan->nodes[i]);
		n++;
	}
	c->pods.classes[MEMBER_READY] -= n;
	c->pods.classes[MEMBER_BINDING] += n;
	g->hopeless = 0;
	gang_keep_room(c, index);
}

void pod_reserve_again(struct core *c, pod_id id, node_id node, bool withdrawn)
{
	struct pod *p = &c->pods.slots[id];

	p->carried = true;
	p->withdrawn = withdrawn;
	pod_reserve(c, id, node);
}

/* ---- reservations that were not sent ------------------------------------------------ */

static void reservation_cancel(struct core *c, struct pod *p)
{
	member_out(c, p);
	list_leave(c, p);
	room_give(c, p);
	PROBE(reservation_cancelled, pods_id(&c->pods, p), p->generation);
	p->state = POD_PENDING;
	p->carried = p->withdrawn = false;
	member_in(c, p);
}

/* Its Binding is not to be sent; but an earlier one may land. */
static void reservation_give_up(struct core *c, struct pod *p)
{
	if (!p->carried) {
		reservation_cancel(c, p);
		return;
	}
	member_out(c, p);
	p->withdrawn = true;
	member_in(c, p);
}

void pod_claim(struct core *c, pod_id id, node_id node, uint64_t until_ns)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->state == POD_PENDING && p->list == LIST_NONE);
	member_out(c, p);
	room_take(c, p, node);
	p->state = POD_RESERVED;
	p->retry_ns = until_ns;
	PROBE(claim_reserved, id, p->generation, node);
	pod_queue_push(&c->claims.kept, &c->pods, id);
	member_in(c, p);
}

void pod_unclaim(struct core *c, pod_id id)
{
	reservation_cancel(c, &c->pods.slots[id]);
}

void gang_cancel_unsent(struct core *c, uint32_t index)
{
	struct gang *g;
	struct pod *p;
	bool whole;

	if (index == ID_NONE)
		return;
	g = &c->gangs.slots[index];
	whole = gang_is_whole(g) && !(g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED));
	if (g->members == 0 || whole || g->counts[MEMBER_BOUND] > 0)
		return;
	for (pod_id id = g->first; id != ID_NONE; id = p->next) {
		p = &c->pods.slots[id];
		if (p->state == POD_RESERVED && p->list != LIST_SEND && !p->withdrawn)
			return; /* on its way: the gang rolls forward */
	}
	for (pod_id id = g->first; id != ID_NONE; id = p->next) {
		p = &c->pods.slots[id];
		if (p->list == LIST_SEND && !p->withdrawn)
			reservation_give_up(c, p);
	}
}

/* Would the node take the pod that is reserved there as it is now? */
static bool still_fits(const struct core *c, const struct pod *p)
{
	const struct shape *s = &c->shapes.slots[p->shape];

	if (!node_present(&c->nodes.slots[p->node]) || !shape_allows(s, p->node))
		return false;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if (nodes_room(&c->nodes, p->node, s->requests[i].resource) < 0)
			return false;
	return true;
}

static void unreserve(struct core *c, node_id node, bool all)
{
	pod_id id = c->sends.first;

	while (id != ID_NONE) {
		struct pod *p = &c->pods.slots[id];

		if (p->node != node || (!all && (p->withdrawn || still_fits(c, p)))) {
			id = p->list_next;
			continue;
		}
		if (all)
			reservation_cancel(c, p);
		else
			reservation_give_up(c, p);
		gang_cancel_unsent(c, p->gang);
		id = c->sends.first; /* anything may have left the list */
	}
}

void node_unreserve(struct core *c, node_id node)
{
	unreserve(c, node, false);
}

void node_leave(struct core *c, node_id node)
{
	unreserve(c, node, true);
	if (c->nodes.slots[node].pods == 0)
		return;
	for (pod_id id = 0; id < c->pods.used; id++) {
		struct pod *p = &c->pods.slots[id];

		if (p->generation == 0 || p->node != node)
			continue;
		keep_end(c, p);
		room_give(c, p);
	}
}

/* ---- EVENT_POD ------------------------------------------------------------------------ */

/* Where a pod stands after a record. */
struct standing {
	enum pod_state state;
	node_id node;
	bool confirmed;
	bool any_attempt;
	bool carried, withdrawn;
};

/* alike: its kind is the same as before. */
static struct standing standing_after(const struct pod *p, const struct event_pod *e, uint32_t gang, bool alike,
                                      uint64_t time_ns)
{
	struct standing now = { .state = (enum pod_state)p->state, .node = p->node, .confirmed = p->confirmed,
		                .any_attempt = p->any_attempt, .carried = p->carried, .withdrawn = p->withdrawn };
	/* Is what was planned for it still what it asks for? */
	bool same = (e->flags & POD_OURS) && !(e->flags & (POD_GATED | POD_DELETING | POD_REFUSED)) &&
	            alike && p->gang == gang;

	if (e->node != ID_NONE && !(e->flags & POD_BINDING))
		return (struct standing){ .state = POD_BOUND, .node = e->node, .confirmed = true };
	if (p->state == POD_BOUND && !p->confirmed)
		return now; /* the API server said so; the watch is behind */
	/* A binding that was answered after this record was written is over. */
	if (e->node != ID_NONE && (p->answered_ns == 0 || time_ns > p->answered_ns)) {
		now.any_attempt = p->state != POD_RESERVED || p->list == LIST_SEND || p->node != e->node || p->any_attempt;
		now.state = POD_RESERVED;
		now.node = e->node;
		return now;
	}
	if (p->state == POD_RESERVED && p->list == LIST_SEND && p->carried) {
		now.withdrawn = p->withdrawn || !same;
		return now;
	}
	if (p->state == POD_RESERVED ? p->list != LIST_SEND || same : pod_keeps_room(p) && same)
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
static void standing_apply(struct core *c, struct pod *p, const struct event_pod *e, labels_id labels,
                           const struct standing *now)
{
	bool stays = p->node == now->node && labels == LABELS_NONE && p->leaving == !!(e->flags & POD_DELETING);
	bool in_flight = now->state == POD_RESERVED && p->state == POD_RESERVED && !now->any_attempt;

	if (!(p->list == LIST_SEND && in_flight) && !(p->list == LIST_BACKOFF && now->state == POD_PENDING) &&
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

	c->gangs.slots[c->gangs.groups + id] =
		(struct gang){ .generation = p->generation, .quorum = 1, .name = p->name, .name_bytes = p->name_bytes,
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
	bool unsent = p->list == LIST_SEND;

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
	if (unsent && gang_is_group(&c->gangs, index))
		gang_cancel_unsent(c, index);
}

static void pod_begin(struct core *c, const struct event_pod *e, char *name)
{
	struct pod *p = &c->pods.slots[e->pod];

	*p = (struct pod){ .generation = e->generation, .gang = ID_NONE, .shape = ID_NONE, .kind = KIND_NONE,
		           .labels = LABELS_NONE, .node = ID_NONE, .named = ID_NONE, .name = name,
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
static bool means_alike(const struct core *c, const struct pod *p, const struct event_pod *e, const struct means *m)
{
	const struct label_set *sets = c->census.labels.sets;

	return m->labels == LABELS_NONE ||
	       (p->shape == e->shape && p->labels != LABELS_NONE && sets[p->labels].class == sets[m->labels].class);
}

/* Of a pod that is bound: does the record say what is known, so that nothing counts otherwise? */
static bool says_the_same(const struct pod *p, const struct event_pod *e, uint32_t gang, const struct means *m,
                          const struct standing *now)
{
	return p->state == POD_BOUND && now->state == POD_BOUND && p->node == now->node && m->labels == LABELS_NONE &&
	       p->gang == gang && p->flags == e->flags && p->priority == e->priority && p->role == e->role &&
	       p->created_ns == e->created_ns;
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
static void pod_comes(struct core *c, struct pod *p, const struct event_pod *e, uint32_t gang, labels_id labels)
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
	bool unsent;
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
	unsent = p->list == LIST_SEND;
	/* The watch can be ahead of the answer, which is stale then. */
	if (p->state == POD_RESERVED && p->list == LIST_NONE && now.state == POD_BOUND && now.node == p->node)
		stat_add(&core_stats(c)->binds_accepted, 1);
	gang_before_it = p->gang;

	member_out(c, p);
	PROBE(pod_changes, e->pod, e->generation, (uint32_t)p->state);
	if (now.state != POD_PENDING || now.node == ID_NONE)
		keep_end(c, p);
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
	if (unsent && (p->state == POD_PENDING || p->withdrawn))
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
	c->gangs.slots[p->gang].hopeless = 0;
	gang_touch(c, p->gang);
}

/* ---- answers ------------------------------------------------------------------------ */

static uint64_t backoff_ns(const struct pod *p, uint32_t retry_ms)
{
	uint64_t ms = BACKOFF_FIRST_MS;

	if (retry_ms > 0)
		return retry_ms * NS_PER_MS;
	for (uint32_t i = 1; i < p->refusals && ms < BACKOFF_MOST_MS; i++)
		ms *= 2;
	return (ms < BACKOFF_MOST_MS ? ms : BACKOFF_MOST_MS) * NS_PER_MS;
}

static void backoff_begin(struct core *c, struct pod *p, uint32_t retry_ms)
{
	uint64_t wait_ns;

	p->refusals++;
	wait_ns = backoff_ns(p, retry_ms);
	p->retry_ns = c->now_ns < UINT64_MAX - wait_ns ? c->now_ns + wait_ns : UINT64_MAX;
	pod_queue_push(&c->backoff, &c->pods, pods_id(&c->pods, p));
	if (p->retry_ns < c->backoff_due_ns)
		c->backoff_due_ns = p->retry_ns;
}

void backoff_wake(struct core *c)
{
	uint64_t due_ns = UINT64_MAX;
	pod_id next;

	for (pod_id id = c->backoff.first; id != ID_NONE; id = next) {
		struct pod *p = &c->pods.slots[id];

		next = p->list_next;
		if (p->retry_ns > c->now_ns) {
			due_ns = p->retry_ns < due_ns ? p->retry_ns : due_ns;
			continue;
		}
		member_out(c, p);
		list_leave(c, p);
		PROBE(backoff_over, id, p->generation);
		member_in(c, p);
	}
	c->backoff_due_ns = due_ns > c->now_ns + BACKOFF_GRAIN_NS ? due_ns : c->now_ns + BACKOFF_GRAIN_NS;
	if (c->backoff.n == 0)
		c->backoff_due_ns = UINT64_MAX;
}

void pod_answered(struct core *c, enum record_kind kind, const struct result *result, uint64_t time_ns)
{
	struct pod *p = pods_find(&c->pods, result->pod);
	bool withdrawn;

	if (!p || p->generation != result->generation || p->state != POD_RESERVED || p->list == LIST_SEND ||
	    p->list == LIST_CLAIM || (!p->any_attempt && p->attempt != result->attempt)) {
		stat_add(&core_stats(c)->stale_results, 1);
		return;
	}
	if (kind == RESULT_UNKNOWN)
		return;
	member_out(c, p);
	withdrawn = p->withdrawn;
	p->carried = p->withdrawn = false;
	p->any_attempt = false;
	p->answered_ns = time_ns;
	if (kind == RESULT_BOUND) {
		PROBE(bound, result->pod, result->generation, p->node);
		p->state = POD_BOUND;
		p->confirmed = false;
		p->refusals = 0;
		stat_add(&core_stats(c)->binds_accepted, 1);
	} else {
		PROBE(bind_refused, result->pod, result->generation, p->node);
		p->state = POD_PENDING;
		if (!withdrawn) { /* else nothing was asked for that could be refused */
			backoff_begin(c, p, result->retry_ms);
			stat_add(&core_stats(c)->binds_refused, 1);
		}
		if (pod_class(p) == MEMBER_BACKOFF || pod_class(p) == MEMBER_READY)
			keep_begin(c, p); /* member_in() knows whether its gang has begun */
		else
			room_give(c, p);
	}
	member_in(c, p);
}
