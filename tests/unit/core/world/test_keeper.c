/* SPDX-License-Identifier: Apache-2.0 */
/* Random clusters: the core that is made of the kept records has every pod where the world has it,
 * and searching in it changes nothing of the world, which still says what the loop says. */
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "core/world/keeper_impl.h"
#include "tests/unit/support_followed.h"
#include "tests/unit/support_slow.h"
#include "tests/unit/test.h"

#define CLUSTERS 24
#define STEPS 300

struct seen {
	unsigned made, searched, found, in_flight, idle;
};

/* What is in no struct kept_pod. */
static void assert_same_pod(const struct core *world, const struct core *made, pod_id id)
{
	const struct pod *p = &world->pods.slots[id], *q = &made->pods.slots[id];
	const struct label_set *a = &world->pod_counts.labels.sets[p->labels];
	const struct label_set *b = &made->pod_counts.labels.sets[q->labels];

	cr_assert_eq(p->shape, q->shape);
	cr_assert_eq(p->priority, q->priority);
	cr_assert_eq(p->role, q->role);
	cr_assert_eq(p->created_ns, q->created_ns);
	cr_assert_arr_eq(p->uid, q->uid, sizeof(p->uid));
	cr_assert_eq(p->name_bytes, q->name_bytes);
	cr_assert_arr_eq(p->name, q->name, p->name_bytes);
	cr_assert(labels_equal(a, b->namespace, b->at, b->n), "pod %u", id);
}

static void assert_equal(const struct core *world, struct core *made, struct seen *seen)
{
	char why[256];

	core_show(made);
	cr_assert(core_valid(made, why, sizeof(why)), "%s", why);
	cr_assert_eq(world->nodes.present, made->nodes.present);
	for (node_id id = 0; id < world->nodes.used; id++) {
		if (!nodes_find(&world->nodes, id))
			continue;
		cr_assert_eq(world->nodes.slots[id].generation, made->nodes.slots[id].generation);
		cr_assert_eq(world->nodes.slots[id].flags, made->nodes.slots[id].flags);
	}
	for (shape_id id = 0; id < world->shapes.used; id++)
		seen->idle += world->shapes.slots[id].body && world->shapes.slots[id].pods == 0;
	for (shape_id id = 0; id < made->shapes.used; id++)
		cr_assert(!shapes_find(&made->shapes, id) || world->shapes.slots[id].pods > 0);
	for (pod_id id = 0; id < world->pods.used; id++) {
		const struct pod *p = &world->pods.slots[id], *q = &made->pods.slots[id];

		if (p->generation && reservation_is_bound(p) && p->node == ID_NONE) {
			cr_assert(id >= made->pods.used || q->generation == 0, "on a node that is gone");
			continue;
		}
		if (id >= made->pods.used) {
			cr_assert_eq(p->generation, 0);
			continue;
		}
		cr_assert_eq(p->generation, q->generation);
		if (p->generation == 0)
			continue;
		cr_assert_eq(p->node, q->node, "pod %u", id);
		assert_same_pod(world, made, id);
		cr_assert_eq(p->gang, q->gang);
		cr_assert_eq(reservation_is_bound(p), reservation_is_bound(q));
		seen->in_flight += p->node != ID_NONE && !reservation_is_bound(p);
	}
}

static unsigned search(struct kept *kept, struct seen *seen)
{
	unsigned found_n = 0;

	kept->facts.steps_most = 200000;
	for (gang_id id = 0; id < kept->core->gangs.groups; id++) {
		struct gang_search found;

		if (search_gang(kept->core, &kept->facts, id, &found) < 0)
			continue;
		seen->searched += found.steps > 0;
		seen->found += found.found;
		found_n = found_n * 31 + (found.found ? found.steps : 0);
		gang_search_free(&found);
	}
	return found_n;
}

/* A pod without facts is spared, so the random ones get some. */
static void facts_feed(struct loop *l, const struct record *after)
{
	struct {
		struct record head;
		struct event_pod_facts facts;
	} r = { .head = *after };
	const struct event_pod *e = (const void *)(after + 1);

	r.head.kind = EVENT_POD_FACTS;
	r.head.bytes = sizeof(r);
	r.facts = (struct event_pod_facts){ .nominated = ID_NONE,
		                                .pod = e->pod,
		                                .generation = e->generation,
		                                .start_s = 1 + e->pod % 3,
		                                .flags = FACT_OURS,
		                                .completion_index = e->pod % 2 == 0 ? -1 : 3 };
	loop_step(l, &r.head, UINT32_MAX);
}

static void preemption_feed(struct loop *l, const struct record *after)
{
	struct {
		struct record head;
		struct event_preemption preemption;
	} r = { .head = *after, .preemption = { .flags = PREEMPTION_EXPLAIN } };

	r.head.kind = EVENT_PREEMPTION;
	r.head.bytes = sizeof(r);
	loop_step(l, &r.head, UINT32_MAX);
}

static void follow(struct loop *l, const struct record *record, uint32_t room)
{
	loop_step(l, record, room);
	if (record->kind == EVENT_BEGIN)
		preemption_feed(l, record);
	else if (record->kind == EVENT_POD && core_fault(l->core)[0] == '\0')
		facts_feed(l, record);
}

/* `again`: of the look before, if any. */
static void look(struct loop *l, struct kept *again, struct seen *seen)
{
	const struct keeper *k = follower_keeper(l->world);
	struct kept kept;
	unsigned found;

	follower_run(l->world, UINT32_MAX);
	cr_assert_eq(follower_state(l->world), WORLD_FOLLOWS);
	cr_assert(keeper_is_on(k));
	cr_assert_eq(keeper_make(k, follower_core(l->world), NULL, &kept), 0);
	assert_equal(follower_core(l->world), kept.core, seen);
	found = search(&kept, seen);
	assert_equal(follower_core(l->world), kept.core, seen);
	kept_free(&kept);
	cr_assert_eq(keeper_make_again(k, follower_core(l->world), NULL, again), 0);
	assert_equal(follower_core(l->world), again->core, seen);
	cr_assert_eq(search(again, seen), found, "in a core that was made before");
	seen->made++;
}

Test(keeper, makes_the_worlds_core)
{
	struct random r = random_start("keeper.makes");
	struct seen seen = { 0 };

	for (int i = 0; i < CLUSTERS; i++) {
		struct slow *s = slow_new(&r, SCORE_KUBE, i % 2 == 0);
		const struct record *record;
		struct loop l;
		size_t at = 0;
		uint32_t room;
		struct kept again = { 0 };

		for (int k = 0; k < STEPS; k++)
			slow_step(s);
		loop_new(&l, slow_core_config(s), FEED_BYTES_LEAST * 4);
		while ((record = slow_log_next(s, &at, &room))) {
			follow(&l, record, room);
			if (random_below(&r, 16) == 0)
				look(&l, &again, &seen);
			else if (random_below(&r, 4) == 0)
				follower_run(l.world, UINT32_MAX);
		}
		look(&l, &again, &seen);
		cr_assert_eq(l.stats.mismatches, 0);
		kept_free(&again);
		loop_end(&l);
		slow_free(s);
	}
	fprintf(stderr, "keeper: %u cores, %u searches, %u sets, %u pods in flight, %u idle shapes\n",
	        seen.made, seen.searched, seen.found, seen.in_flight, seen.idle);
	cr_assert(seen.made > 50 && seen.searched > 100 && seen.found > 5 && seen.in_flight > 20);
	cr_assert(seen.idle > 50);
}

/* One that was asked late has not every record. */
Test(keeper, keeps_nothing_unless_asked_first)
{
	struct random r = random_start("keeper.late");
	struct slow *s = slow_new(&r, SCORE_KUBE, true);
	const struct record *record;
	struct loop l;
	size_t at = 0, n = 0;
	uint32_t room;

	for (int k = 0; k < STEPS / 4; k++)
		slow_step(s);
	loop_new(&l, slow_core_config(s), FEED_BYTES_LEAST * 4);
	while ((record = slow_log_next(s, &at, &room))) {
		loop_step(&l, record, room);
		if (n++ == 3)
			preemption_feed(&l, record);
	}
	follower_run(l.world, UINT32_MAX);
	cr_assert_eq(follower_state(l.world), WORLD_FOLLOWS);
	cr_assert(n > 20 && !keeper_is_on(follower_keeper(l.world)));
	cr_assert_eq(keeper_bytes(follower_keeper(l.world)), 0);
	loop_end(&l);
	slow_free(s);
}

static void take(struct keeper *k, enum record_kind kind, const void *body, size_t bytes)
{
	struct {
		struct record head;
		unsigned char body[sizeof(struct event_pod)];
	} r = { .head = { .bytes = (uint32_t)(sizeof(r.head) + bytes),
		              .kind = (uint16_t)kind,
		              .time_ns = UINT64_C(7000000000) } };

	if (bytes > 0)
		memcpy(r.body, body, bytes);
	keeper_take(k, &r.head);
}

static void take_pod(struct keeper *k, uint32_t pod, uint32_t generation)
{
	take(k, EVENT_POD, &(struct event_pod){ .pod = pod, .generation = generation },
	     sizeof(struct event_pod));
}

static struct event_pod_facts plain_facts(uint32_t pod)
{
	return (struct event_pod_facts){ .pod = pod,
		                             .generation = 1,
		                             .start_s = 100 + pod,
		                             .flags = FACT_OURS,
		                             .nominated = ID_NONE,
		                             .completion_index = -1 };
}

static void take_facts(struct keeper *k, const struct event_pod_facts *f)
{
	struct kept_facts kept;

	take(k, EVENT_POD_FACTS, f, sizeof(*f));
	kept = keeper_facts(k, f->pod);
	cr_assert_eq(memcmp(&kept.sent, f, sizeof(*f)), 0, "pod %u", f->pod);
}

/* A cluster has hundreds of thousands of pods; of nearly all the facts are a start and flags. */
Test(keeper, keeps_32_bytes_of_a_pod_with_plain_facts)
{
	const struct event_preemption explain = { .flags = PREEMPTION_EXPLAIN };
	struct keeper *k = keeper_new(&(struct limits){ .pods = 64 });
	struct event_pod_facts f;

	take(k, EVENT_BEGIN, NULL, 0);
	take(k, EVENT_PREEMPTION, &explain, sizeof(explain));
	for (uint32_t pod = 0; pod < 10; pod++) {
		take_pod(k, pod, 1);
		cr_assert_eq(keeper_facts(k, pod).sent.generation, 0);
		f = plain_facts(pod);
		take_facts(k, &f);
	}
	cr_assert_eq(keeper_bytes(k), 10 * 32);

	f.ends_s = 200;
	take_facts(k, &f);
	cr_assert_eq(keeper_facts(k, 9).deleting_ns, UINT64_C(7000000000));
	take_pod(k, 9, 1);
	cr_assert_eq(keeper_facts(k, 9).sent.ends_s, 200);
	take_pod(k, 9, 2);
	cr_assert_eq(keeper_facts(k, 9).sent.generation, 0, "those of the pod that had the slot");
	take(k, EVENT_POD_FACTS, &f, sizeof(f));
	cr_assert_eq(keeper_facts(k, 9).sent.generation, 0, "of another generation");
	f = plain_facts(9);
	f.generation = 2;
	take_facts(k, &f);
	take(k, EVENT_POD_DROP, &f.pod, sizeof(f.pod));
	cr_assert_eq(keeper_facts(k, 9).sent.generation, 0);
	keeper_free(k);
}
