/* SPDX-License-Identifier: Apache-2.0 */
/* core_valid() finds each wrong value: one of a sound core is changed, reported, and restored. */
#include "core/step/core.h"
#include "core/lifecycle/state.h"
#include "tests/unit/support_story.h"

TestSuite(valid, .fini = story_end);

static void expect_wrong(struct core *c, const char *text)
{
	char why[160] = "";

	cr_assert(!core_valid(c, why, sizeof(why)), "not seen: %s", text);
	cr_assert(strstr(why, text), "\"%s\" instead of \"%s\"", why, text);
}

static void expect_valid(struct core *c)
{
	char why[160] = "";

	cr_assert(core_valid(c, why, sizeof(why)), "%s", why);
}

#define BROKEN(core, place, value, text)                                                           \
	do {                                                                                           \
		__typeof__(place) was_ = (place);                                                          \
		(place) = (value);                                                                         \
		expect_wrong(core, text);                                                                  \
		(place) = was_;                                                                            \
		expect_valid(core);                                                                        \
	} while (0)
/* One too many. */
#define OFF(core, place, text) BROKEN(core, place, (place) + 1, text)

static bool is_named(const char *name, uint32_t bytes, const char *wanted)
{
	size_t n = strlen(wanted);

	return bytes >= n && memcmp(name + bytes - n, wanted, n) == 0;
}

static struct pod *pod_of(struct core *c, const char *name)
{
	for (pod_id id = 0; id < c->pods.used; id++) {
		struct pod *p = &c->pods.slots[id];

		if (p->generation && is_named(p->name, p->name_bytes, name))
			return p;
	}
	cr_assert_fail("no pod %s", name);
	return NULL;
}

static struct gang *gang_of(struct core *c, const char *name)
{
	for (uint32_t i = 0; i < c->gangs.used; i++) {
		struct gang *g = &c->gangs.slots[i];

		if (g->generation && is_named(g->name, g->name_bytes, name))
			return g;
	}
	cr_assert_fail("no gang %s", name);
	return NULL;
}

/* Pods of every state: bound, waiting, to be sent, in backoff, of another scheduler, assumed for
 * one. */
static struct story *scene(void)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = 8, .memory = 64, .gpu = 2, .zone = "a");
	story_node(s, .name = "n2", .cpu = 8, .memory = 64, .zone = "b");
	story_gang(s, .name = "placed", .quorum = 3, .roles = { { "leader", 1 }, { "worker", 2 } });
	story_pods(s, 1, .name = "leader", .gang = "placed", .role = "leader", .cpu = 1);
	story_pods(s, 2, .name = "worker", .gang = "placed", .role = "worker", .cpu = 1);
	story_pod(s, .name = "foreign", .foreign = true, .node = "n2", .cpu = 1);
	story_plan(s);
	story_all_bound(s, "leader");
	story_all_bound(s, "worker");
	story_pod(s, .name = "unlucky", .cpu = 1);
	story_plan(s);
	story_refused(s, "unlucky", 60000);
	story_pod(s, .name = "theirs", .foreign = true, .cpu = 1);
	story_assume(s, "theirs", "n1 n2", 60000);
	story_gang(s, .name = "large", .quorum = 2);
	story_pods(s, 2, .name = "large", .gang = "large", .cpu = 8);
	story_gang(s, .name = "larger", .quorum = 3);
	story_pods(s, 3, .name = "larger", .gang = "larger", .cpu = 8);
	story_plan(s);
	story_room(s, 0);
	story_pod(s, .name = "unsent", .cpu = 1);
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	expect_valid(story_core(s));
	return s;
}

Test(valid, a_pod_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct pod *placed = pod_of(c, "leader-0"), *waiting = pod_of(c, "large-0"),
			   *unsent = pod_of(c, "unsent");

	cr_assert_eq(unsent->reservation, RESERVATION_RESERVED);
	BROKEN(c, placed->shape, c->shapes.used, "has no shape");
	BROKEN(c, placed->node, c->nodes.used, "is on a node that is not there");
	BROKEN(c, waiting->node, placed->node, "has a node and no reservation");
	BROKEN(c, placed->readiness, MEMBER_READY, "is counted as");
	BROKEN(c, placed->reservation, RESERVATIONS, "reservation");
	BROKEN(c, placed->reservation, RESERVATION_SENT, "is counted as");
	BROKEN(c, placed->reservation, RESERVATION_RETAINED,
	       "retains its node and can not be bound there");
	BROKEN(c, placed->backoff, true, "is in backoff in state");
	BROKEN(c, unsent->reservation, RESERVATION_SENT, "pods are miscounted");
	BROKEN(c, unsent->node, ID_NONE, "is reserved on no node");
	BROKEN(c, waiting->gang, ID_NONE, "is ours and in no gang");
	BROKEN(c, waiting->gang, c->gangs.groups - 1, "is in a gang that is not there");
	OFF(c, c->pods.count, "pods are miscounted");
	OFF(c, c->pods.reservations[RESERVATION_BOUND], "pods are miscounted");
	OFF(c, c->pods.by_readiness[MEMBER_READY], "pods are miscounted");
}

Test(valid, a_list_of_pods_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct pod_list *lists[] = { &c->sends, &c->backoff, &c->assumes.pods };

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(lists[i]->n, 1);
		BROKEN(c, lists[i]->n, 0, ": pod");
		BROKEN(c, lists[i]->n, 2, "2 kept, 1 are there");
		BROKEN(c, lists[i]->first, ID_NONE, "1 kept, 0 are there");
	}
}

Test(valid, a_node_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct nodes *ns = &c->nodes;
	node_id id = pod_of(c, "leader-0")->node;

	OFF(c, ns->slots[id].pods, "pods kept");
	OFF(c, ns->slots[id].named, "pods kept");
	OFF(c, ns->free[(size_t)id * ns->stride + RESOURCE_CPU], "sum");
	OFF(c, ledger_amounts(ns->ledger, id, RESOURCE_CPU)->used[RESOURCE_CPU], "the ledger's row");
	OFF(c, ns->scored[(size_t)id * SCORED_N + SCORED_MEMORY], "scored sums");
	OFF(c, ns->count, "nodes are miscounted");
	OFF(c, ns->present, "nodes are miscounted");
	OFF(c, ns->free_sum[STORY_GPU], "what is free in the cluster");
}

Test(valid, a_shape_or_a_view_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct shape *shape = &c->shapes.slots[pod_of(c, "large-0")->shape];
	struct view *v = NULL;

	OFF(c, shape->pods, "pods kept");
	BROKEN(c, shape->allowed[0], shape->allowed[0] ^ 1, "node 0");
	OFF(c, c->shapes.count, "shapes are miscounted");
	for (uint32_t i = 0; i < c->views.slots_n && !v; i++)
		if (c->views.slots[i].class != CLASS_NONE && c->views.slots[i].position == c->nodes.log_n &&
		    c->views.slots[i].mode != VIEW_EVALUATED)
			v = &c->views.slots[i];
	cr_assert(v, "no view is up to date");
	OFF(c, v->counts[0], "view of kind");
	OFF(c, v->counted, "view of kind");
	BROKEN(c, v->tree.levels[0][0], (tree_key)(v->tree.levels[0][0] ^ 1), "view of kind");
	BROKEN(c, c->views.of_class[0][v->class].slot, c->views.slots_n + 1, "its kind");
}

Test(valid, what_is_counted_of_kinds_and_labels_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct pod *placed = pod_of(c, "leader-0");

	OFF(c, c->pod_counts.labels.sets[placed->labels].refs, "pod counts: the pods of a label set");
	OFF(c, c->pod_counts.pod_classes.slots[placed->class].pods, "pod counts: the pods of a class");
	BROKEN(c, placed->class, pod_of(c, "large-0")->class, "pod counts: the class of a pod");
	BROKEN(c, placed->leaving, true, "pod counts: a pod that is being deleted");
}

Test(valid, a_gang_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct gang *placed = gang_of(c, "placed"), *large = gang_of(c, "large");

	BROKEN(c, pod_of(c, "worker-1")->previous, ID_NONE, "its list of members");
	OFF(c, large->members, "members are miscounted");
	OFF(c, large->retained, "members are miscounted");
	OFF(c, large->age_n, "of its members");
	BROKEN(c, large->ready_class, 0, "of another class");
	OFF(c, large->counts[MEMBER_GATED], "members are miscounted");
	OFF(c, placed->parts->counts[0][MEMBER_BOUND], "of role");
	BROKEN(c, large->queue, QUEUE_NONE, "could be placed and is in no queue");
	OFF(c, c->gangs.count, "gangs are miscounted");
	OFF(c, c->gangs.states[GANG_WAITING], "gangs are miscounted");
}

Test(valid, a_queue_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct gang *large = gang_of(c, "large");
	uint32_t n = c->queue.unschedulable.n;

	cr_assert_geq(n, 2);
	BROKEN(c, large->queue, QUEUE_ACTIVE, ": gang");
	BROKEN(c, c->queue.unschedulable.n, n - 1, ": gang");
	BROKEN(c, c->queue.unschedulable.n, n + 1, "are there");
	OFF(c, large->queued.age_ns, "is out of order");
	BROKEN(c, large->priority, INT32_MIN, "is out of order");
	BROKEN(c, c->queue.cursor, gangs_index(&c->gangs, gang_of(c, "placed")), "which does not wait");
}

Test(valid, a_hint_that_is_wrong)
{
	struct story *s = scene();
	struct core *c = story_core(s);
	struct gang *large = gang_of(c, "large");

	cr_assert_neq(large->hint, HINT_ANY);
	BROKEN(c, large->hint_need, 0, "its hint");
	BROKEN(c, c->queue.hints.slots[large->hint].gangs, 0, "its hint");
	OFF(c, c->queue.hints.slots[large->hint].gangs, "hints are miscounted");
	OFF(c, c->queue.hints.any, "hints are miscounted");
	OFF(c, c->queue.hints.classes, "hints are miscounted");
}
