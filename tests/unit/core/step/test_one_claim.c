/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of pods that share a claim, of their questions and of devices: those that hold
 * some hold the same ones, of one node, and core_valid() holds after each record. */
#include "core/devices/inventory.h"
#include "core/lifecycle/state.h"
#include "ipc/devices.h"
#include "tests/unit/support_random.h"
#include "tests/unit/support_story.h"

enum { NODES = 3, QS = 5, PODS = 24, GANGS = 3, STEPS = 300 };

TestSuite(one_claim, .fini = story_end);

static struct random r;
static struct story *s;
static uint32_t layouts[NODES];
static uint64_t taken[NODES];
static bool is_one[QS];
static uint32_t counts[QS] = { 1, 1, 2, 3, 1 };
static struct {
	bool there;
	struct story_pod spec;
	char name[8];
} pods[PODS];
static char gang_names[GANGS][8];
static const char *const node_names[NODES] = { "n0", "n1", "n2" };
static const int64_t cpus[NODES] = { 4, 8, 16 };

static uint32_t below(uint32_t n)
{
	return random_below(&r, n);
}

static void match(uint32_t q, uint32_t node)
{
	struct {
		struct event_match e;
		uint64_t match, tolerated;
	} m = { .e = { .question = q,
		           .node = node,
		           .generation = 1,
		           .layout = layouts[node],
		           .devices_n = 8,
		           .options_n = 1 },
		    .match = 0xff & (random_next(&r) | random_next(&r)),
		    .tolerated = UINT64_MAX };

	cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), 0);
}

static void question(uint32_t q)
{
	struct {
		struct event_question e;
		struct question_option option;
	} e = { .e = { .question = q, .options_n = 1 }, .option = { .count = counts[q] } };

	is_one[q] = q >= 2 && below(8) > 0;
	e.option.flags = is_one[q] ? QUESTION_ONE : 0;
	if (q == 4 && below(2))
		e.option.flags |= QUESTION_ADMIN;
	if (below(4) == 0)
		cr_assert_eq(story_feed(s, EVENT_QUESTION_DROP, &(struct event_drop){ .id = q },
		                        sizeof(struct event_drop)),
		             0);
	cr_assert_eq(story_feed(s, EVENT_QUESTION, &e, sizeof(e)), 0);
	for (uint32_t n = 0; n < NODES; n++)
		if (below(6) > 0)
			match(q, n);
}

static void devices(uint32_t node, bool layout)
{
	struct {
		struct event_node_devices e;
		uint64_t taken;
	} d;

	layouts[node] += layout;
	taken[node] = random_next(&r) & random_next(&r) & 0xff;
	d.e = (struct event_node_devices){
		.node = node, .generation = 1, .layout = layouts[node], .devices_n = 8
	};
	d.taken = taken[node];
	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
	if (layout)
		for (uint32_t q = 0; q < QS; q++)
			match(q, node);
}

/* It has a node by the last command for it. */
static bool in_flight(const char *name, uint32_t i)
{
	return story_where(s, name)[0] && !pods[i].spec.node;
}

static uint32_t some_devices(void)
{
	return below(4) == 0 ? 0 : 1 + below(QS);
}

static void pod_step(void)
{
	const uint32_t i = below(PODS);

	if (!pods[i].there) {
		pods[i].there = true;
		pods[i].spec = (struct story_pod){ .name = pods[i].name,
			                               .gang = below(2) ? gang_names[below(GANGS)] : NULL,
			                               .cpu = 1 + below(3),
			                               .devices = some_devices(),
			                               .priority = (int32_t)below(3) };
		story_set_pod(s, pods[i].spec);
		return;
	}
	switch (below(6)) {
	case 0:
	case 1:
		pods[i].there = false;
		story_drop_pod(s, pods[i].name);
		break;
	case 2:
		pods[i].spec.devices = some_devices();
		story_set_pod(s, pods[i].spec);
		break;
	case 3:
		if (in_flight(pods[i].name, i))
			story_refused(s, pods[i].name, below(2) ? 1000 : 60000);
		break;
	case 4:
		if (in_flight(pods[i].name, i)) {
			pods[i].spec.node = story_where(s, pods[i].name);
			story_bound(s, pods[i].name);
			if (below(2))
				pods[i].spec.devices = 0;
			story_set_pod(s, pods[i].spec);
		}
		break;
	default:
		if (in_flight(pods[i].name, i))
			story_unknown(s, pods[i].name);
	}
}

static void check(void)
{
	const struct inventory *v = story_core(s)->pod_counts.inventory;
	const struct holding *first[QS] = { NULL };

	for (uint32_t p = 0; p < story_core(s)->pods.used; p++) {
		const struct holding *h = inventory_held(v, p), *f;

		if (!h || !h->shared)
			continue;
		f = first[h->question] = first[h->question] ? first[h->question] : h;
		cr_assert(is_one[h->question] && f->node == h->node && f->picks_n == h->picks_n &&
		          memcmp(f->picks, h->picks, h->picks_n * sizeof(*h->picks)) == 0);
	}
}

static void run(void)
{
	s = story_new(SCORE_KUBE, below(2) ? STORY_HOLD_MS : 0);
	for (uint32_t i = 0; i < PODS; i++) {
		memset(&pods[i], 0, sizeof(pods[i]));
		snprintf(pods[i].name, sizeof(pods[i].name), "p%u", i);
	}
	for (uint32_t n = 0; n < NODES; n++) {
		story_node(s, .name = node_names[n], .cpu = cpus[n], .memory = 64);
		layouts[n] = 1;
		devices(n, false);
	}
	for (uint32_t q = 0; q < QS; q++)
		question(q);
	for (uint32_t g = 0; g < GANGS; g++) {
		snprintf(gang_names[g], sizeof(gang_names[g]), "g%u", g);
		story_gang(s, .name = gang_names[g], .quorum = 2 + below(3));
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		switch (below(16)) {
		case 0:
			devices(below(NODES), below(3) == 0);
			break;
		case 1:
			question(below(QS));
			break;
		case 2:
			match(below(QS), below(NODES));
			break;
		case 3:
			story_tick(s, 1000 + below(5000));
			break;
		case 4:
			story_gang(s, .name = gang_names[below(GANGS)], .quorum = 1 + below(4));
			break;
		case 5:
		case 6:
		case 7:
			story_plan(s);
			check();
			break;
		default:
			pod_step();
		}
		check();
		story_skip(s);
		story_drop_shapes(s);
	}
	story_free(s);
}

Test(one_claim, random)
{
	r = random_start("one_claim");
	for (uint32_t i = 0; i < 20; i++)
		run();
}
