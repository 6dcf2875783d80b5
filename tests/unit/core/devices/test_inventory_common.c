/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that several nodes list, compared with a list of all that is held. */
#include "core/devices/inventory.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#define NODES 4u
#define DEVICES 10u
#define COMMONS 6u
#define PODS 16u
#define HOLDINGS 64u
#define NOTHING UINT32_MAX

enum { ONE, TWO, ALL, QUESTIONS };

static const struct limits limits = { .nodes = NODES, .pods = PODS };

struct plain_node {
	uint32_t layout, n;
	uint32_t common[DEVICES]; /* NOTHING: of this node alone */
	bool taken[DEVICES];      /* of this node alone, by a claim */
	uint64_t match[QUESTIONS];
};

struct plain_holding {
	uint32_t node, question, pod;
	uint64_t picks;
};

/* The same without any set that is kept up to date. */
struct plain_devices {
	struct inventory *v;
	struct random r;
	struct plain_node nodes[NODES];
	bool taken[COMMONS];
	struct plain_holding held[HOLDINGS]; /* by time */
	uint32_t held_n, layouts;
};

static bool is_free(const struct plain_devices *p, uint32_t node, uint32_t device)
{
	const struct plain_node *n = &p->nodes[node];
	const uint32_t common = n->common[device];

	if (common == NOTHING ? n->taken[device] : p->taken[common])
		return false;
	for (uint32_t i = 0; i < p->held_n; i++) {
		const struct plain_holding *h = &p->held[i];

		for (uint32_t d = 0; d < DEVICES; d++) {
			const bool same = common == NOTHING ? h->node == node && d == device
			                                    : p->nodes[h->node].common[d] == common;

			if (h->picks >> d & 1 && same)
				return false;
		}
	}
	return true;
}

/* 0: there are too few. */
static uint64_t choice(const struct plain_devices *p, uint32_t node, uint32_t question)
{
	const uint32_t count = question == TWO ? 2 : 1;
	uint64_t picks = 0;
	uint32_t n = 0;

	for (uint32_t d = 0; d < p->nodes[node].n; d++) {
		if (!(p->nodes[node].match[question] >> d & 1))
			continue;
		if (question == ALL && !is_free(p, node, d))
			return 0;
		if ((question != ALL && n == count) || !is_free(p, node, d))
			continue;
		picks |= UINT64_C(1) << d;
		n++;
	}
	return question == ALL || n == count ? picks : 0;
}

static uint32_t room(struct plain_devices *p, uint32_t node, uint32_t question)
{
	const uint32_t before = p->held_n;
	uint64_t picks;
	uint32_t n;

	while ((picks = choice(p, node, question)) != 0)
		p->held[p->held_n++] = (struct plain_holding){ node, question, NOTHING, picks };
	n = p->held_n - before;
	p->held_n = before;
	return n;
}

static void tell_matches(const struct plain_devices *p, uint32_t node)
{
	static const uint32_t no_value;
	const struct plain_node *n = &p->nodes[node];

	for (uint32_t q = 0; q < QUESTIONS; q++)
		cr_assert(inventory_match_set(p->v,
		                              &(struct event_match){ .question = q,
		                                                     .node = node,
		                                                     .layout = n->layout,
		                                                     .devices_n = n->n,
		                                                     .options_n = 1 },
		                              (const uint64_t[]){ n->match[q], UINT64_MAX }, &no_value,
		                              NULL));
}

/* The record of a node has the devices of others as the cluster has them. */
static void tell_node(const struct plain_devices *p, uint32_t node)
{
	const struct plain_node *n = &p->nodes[node];
	struct node_common commons[DEVICES];
	struct event_node_devices e = { .node = node, .layout = n->layout, .devices_n = n->n };
	uint64_t taken = 0;

	for (uint32_t d = 0; d < n->n; d++) {
		const bool is = n->common[d] == NOTHING ? n->taken[d] : p->taken[n->common[d]];

		taken |= (uint64_t)is << d;
		if (n->common[d] != NOTHING)
			commons[e.commons_n++] = (struct node_common){ d, n->common[d] };
	}
	inventory_node_set(p->v, &e, &(struct node_lists){ .taken = &taken, .commons = commons });
}

/* Other devices: what was chosen for those before is void. */
static void lay(struct plain_devices *p, uint32_t node)
{
	struct plain_node *n = &p->nodes[node];
	uint32_t next = random_below(&p->r, 3);

	for (uint32_t i = 0; i < p->held_n; i++)
		if (p->held[i].node == node)
			p->held[i].picks = 0;
	n->layout = ++p->layouts;
	n->n = 1 + random_below(&p->r, DEVICES);
	for (uint32_t d = 0; d < DEVICES; d++) {
		n->common[d] = NOTHING;
		n->taken[d] = random_below(&p->r, 4) == 0;
		if (d >= n->n || next >= COMMONS || random_below(&p->r, 2) > 0)
			continue;
		n->common[d] = next;
		next += 1 + random_below(&p->r, 2);
	}
	for (uint32_t q = 0; q < QUESTIONS; q++)
		n->match[q] = random_next(&p->r) & random_next(&p->r) & ((UINT64_C(1) << n->n) - 1);
	tell_node(p, node);
	tell_matches(p, node);
}

/* A claim of others has a device, or has it no more: one node that lists it says so. */
static void claim(struct plain_devices *p)
{
	const uint32_t node = random_below(&p->r, NODES);
	const uint32_t d = random_below(&p->r, DEVICES);
	struct plain_node *n = &p->nodes[node];
	bool *taken = n->common[d] == NOTHING ? &n->taken[d] : &p->taken[n->common[d]];

	if (d >= n->n)
		return;
	*taken = !*taken;
	tell_node(p, node);
}

static void take(struct plain_devices *p)
{
	const uint32_t node = random_below(&p->r, NODES), question = random_below(&p->r, QUESTIONS);
	const uint32_t n = 1 + random_below(&p->r, 3);

	if (p->held_n + n > HOLDINGS / 2)
		return;
	inventory_take(p->v, node, question, 0, n);
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t picks = choice(p, node, question);

		p->held[p->held_n++] = (struct plain_holding){ node, question, NOTHING, picks };
	}
}

static void forget(struct plain_devices *p, uint32_t at)
{
	memmove(&p->held[at], &p->held[at + 1], (--p->held_n - at) * sizeof(p->held[0]));
}

static void give(struct plain_devices *p)
{
	const uint32_t node = random_below(&p->r, NODES), question = random_below(&p->r, QUESTIONS);

	inventory_give(p->v, node, question);
	for (uint32_t i = p->held_n; i-- > 0;) {
		const struct plain_holding *h = &p->held[i];

		if (h->node != node || h->question != question || h->pod != NOTHING)
			continue;
		forget(p, i);
		return;
	}
}

static void adopt(struct plain_devices *p)
{
	const uint32_t node = random_below(&p->r, NODES), question = random_below(&p->r, QUESTIONS);
	const uint32_t pod = random_below(&p->r, PODS);

	if (inventory_held(p->v, pod))
		return;
	inventory_adopt(p->v, node, question, pod);
	for (uint32_t i = 0; i < p->held_n; i++) {
		struct plain_holding *h = &p->held[i];

		if (h->node != node || h->question != question || h->pod != NOTHING)
			continue;
		h->pod = pod;
		return;
	}
}

static void end(struct plain_devices *p)
{
	const uint32_t pod = random_below(&p->r, PODS);

	inventory_return(p->v, pod);
	for (uint32_t i = 0; i < p->held_n; i++) {
		struct plain_holding h = p->held[i];

		if (h.pod != pod)
			continue;
		forget(p, i);
		h.pod = NOTHING;
		p->held[p->held_n++] = h;
		return;
	}
}

static uint64_t picked(const struct inventory *v, uint32_t node, uint32_t question)
{
	struct device_pick picks[DEVICE_PICKS_MAX];
	uint32_t layout;
	uint64_t set = 0;

	for (uint32_t n = inventory_peek(v, node, question, 0, &layout, picks); n-- > 0;)
		set |= UINT64_C(1) << picks[n].device;
	return set;
}

/* Each device once, whichever nodes list it. */
static void check_supply(const struct plain_devices *p, uint32_t question)
{
	uint32_t match = 0, free = 0;
	bool seen[COMMONS] = { false };
	struct device_lack l;

	for (uint32_t node = 0; node < NODES; node++)
		for (uint32_t d = 0; d < p->nodes[node].n; d++) {
			const uint32_t common = p->nodes[node].common[d];

			if (!(p->nodes[node].match[question] >> d & 1) || (common != NOTHING && seen[common]))
				continue;
			if (common != NOTHING)
				seen[common] = true;
			match++;
			free += is_free(p, node, d);
		}
	inventory_supply(p->v, NODES, question, 0, &l);
	cr_assert_eq(l.match, match);
	cr_assert_eq(l.free, free);
	cr_assert_eq(l.taken, match - free);
}

static void check(struct plain_devices *p)
{
	bool loose = false;

	for (uint32_t i = 0; i < p->held_n; i++)
		loose = loose || p->held[i].pod == NOTHING;
	cr_assert_eq(inventory_check(p->v), !loose);
	for (uint32_t question = 0; question < QUESTIONS; question++) {
		bool common = false;

		for (uint32_t node = 0; node < NODES; node++) {
			cr_assert_eq(inventory_room(p->v, node, question, 0, 100), room(p, node, question));
			cr_assert_eq(picked(p->v, node, question), choice(p, node, question));
			for (uint32_t d = 0; d < DEVICES; d++)
				common = common || (p->nodes[node].common[d] != NOTHING &&
				                    p->nodes[node].match[question] >> d & 1);
		}
		cr_assert_eq(inventory_is_common(p->v, question), common);
		check_supply(p, question);
	}
}

/* No order of nodes gives more pods devices than the bound says. */
static void check_bound(struct plain_devices *p, uint32_t question)
{
	struct inventory *v = inventory_copy(p->v, &limits);
	struct common_bound bound = { 0 };
	uint32_t placed = 0, misses = 0;

	for (uint32_t node = 0; node < NODES; node++)
		inventory_bound(v, node, question, inventory_room(v, node, question, 0, 100), &bound);
	while (misses < 4 * NODES) {
		const uint32_t node = random_below(&p->r, NODES);

		if (inventory_room(v, node, question, 0, 1) == 0) {
			misses++;
			continue;
		}
		inventory_take(v, node, question, 0, 1);
		placed++;
	}
	cr_assert_leq(placed, common_bound_pods(&bound));
	inventory_free(v);
}

static void begin(struct plain_devices *p, const char *test)
{
	static const uint32_t counts[QUESTIONS] = { 1, 2, 1 };
	static const struct question_constraint none;

	p->r = random_start(test);
	p->v = inventory_new(&limits);
	for (uint32_t q = 0; q < QUESTIONS; q++) {
		const struct question_option o = { .count = counts[q],
			                               .flags = q == ALL ? QUESTION_ALL : 0 };

		inventory_question_set(p->v, &(struct event_question){ .question = q, .options_n = 1 }, &o,
		                       &none);
	}
	for (uint32_t node = 0; node < NODES; node++)
		lay(p, node);
}

Test(inventory_common, is_that_of_a_list_of_all_holdings)
{
	static void (*const changes[])(struct plain_devices *) = { take,  take, give, adopt,
		                                                       adopt, end,  claim };
	struct plain_devices p = { 0 };

	begin(&p, "inventory_common");
	for (uint32_t step = 0; step < 20000; step++) {
		if (random_below(&p.r, 40) == 0)
			lay(&p, random_below(&p.r, NODES));
		else
			changes[random_below(&p.r, sizeof(changes) / sizeof(changes[0]))](&p);
		check(&p);
		if (step % 16 == 0)
			check_bound(&p, random_below(&p.r, QUESTIONS));
	}
	inventory_free(p.v);
}

/* A node that would come has the same devices of several nodes, and others of its own. */
Test(inventory_common, is_not_more_with_a_node_more)
{
	struct plain_devices p = { 0 };
	struct device_lack before, after;
	struct inventory *copy;

	begin(&p, "inventory_common_like");
	p.nodes[0].n = 2;
	p.nodes[0].layout = ++p.layouts;
	memset(p.nodes[0].taken, 0, sizeof(p.nodes[0].taken));
	memset(p.taken, 0, sizeof(p.taken));
	p.nodes[0].common[0] = 5;
	p.nodes[0].common[1] = NOTHING;
	p.nodes[0].match[ONE] = p.nodes[0].match[TWO] = p.nodes[0].match[ALL] = 3;
	tell_node(&p, 0);
	tell_matches(&p, 0);
	inventory_node_drop(p.v, 1);
	copy = inventory_copy(p.v, &limits);
	inventory_supply(copy, NODES, ONE, 0, &before);
	inventory_node_like(copy, 0, 1);
	inventory_supply(copy, NODES, ONE, 0, &after);
	cr_assert_eq(after.free, before.free + 1);
	inventory_take(copy, 0, ONE, 0, 1);
	cr_assert_eq(inventory_room(copy, 1, ONE, 0, 9), 1, "the first device is gone there, too");
	inventory_free(copy);
	inventory_free(p.v);
}

/* What a copy remembers of rooms is never taken for current, however often it changes. */
Test(inventory_common, of_a_copy_are_counted_anew)
{
	struct plain_devices p = { 0 };

	begin(&p, "inventory_common_copy");
	for (uint32_t node = 0; node < 2; node++) {
		p.nodes[node] = (struct plain_node){ .layout = ++p.layouts, .n = 1 };
		p.nodes[node].match[ONE] = p.nodes[node].match[TWO] = p.nodes[node].match[ALL] = 1;
	}
	memset(p.taken, 0, sizeof(p.taken));
	for (uint32_t node = 0; node < 2; node++) {
		tell_node(&p, node);
		tell_matches(&p, node);
	}
	cr_assert_eq(inventory_room(p.v, 0, ALL, 0, 9), 1);
	for (uint32_t changes = 0; changes < 40; changes++) {
		struct inventory *copy = inventory_copy(p.v, &limits);

		inventory_take(copy, 1, ONE, 0, 1);
		for (uint32_t i = 0; i < changes; i++) {
			inventory_take(copy, 1, TWO, 0, 1);
			inventory_give(copy, 1, TWO);
		}
		cr_assert_eq(inventory_room(copy, 0, ALL, 0, 9), 0, "after %u changes", changes);
		inventory_free(copy);
	}
	inventory_free(p.v);
}

/* Two partitions of all nodes, each of which takes two of the three that a counter has. */
static void partitions(struct inventory *v, uint32_t node, uint64_t taken)
{
	static const uint32_t no_value;
	const struct event_node_devices e = {
		.node = node, .layout = 1, .devices_n = 2, .counters_n = 1, .uses_n = 2, .commons_n = 2
	};

	inventory_node_set(
		v, &e,
		&(struct node_lists){ .taken = &taken,
	                          .counters = (const struct node_counter[]){ { .low = 3 } },
	                          .uses = (const struct node_use[]){ { .device = 0, .low = 2 },
	                                                             { .device = 1, .low = 2 } },
	                          .commons = (const struct node_common[]){ { 0, 0 }, { 1, 1 } } });
	cr_assert(inventory_match_set(
		v,
		&(struct event_match){
			.question = ONE, .node = node, .layout = 1, .devices_n = 2, .options_n = 1 },
		(const uint64_t[]){ 3, UINT64_MAX }, &no_value, NULL));
}

Test(inventory_common, counters_are_taken_on_all_nodes)
{
	const struct question_option one = { .count = 1 };
	const struct question_constraint none = { 0 };
	struct inventory *v = inventory_new(&limits);
	struct device_lack lack;

	inventory_question_set(v, &(struct event_question){ .question = ONE, .options_n = 1 }, &one,
	                       &none);
	partitions(v, 0, 0);
	partitions(v, 1, 0);
	cr_assert_eq(inventory_room(v, 0, ONE, 0, 9), 1);
	inventory_take(v, 0, ONE, 0, 1);
	cr_expect_eq(inventory_room(v, 0, ONE, 0, 9), 0);
	cr_expect_eq(inventory_room(v, 1, ONE, 0, 9), 0, "a pod of the other node has them");
	inventory_supply(v, NODES, ONE, 0, &lack);
	cr_expect(lack.match == 2 && lack.taken == 1 && lack.shut == 1 && lack.free == 0);
	inventory_give(v, 0, ONE);
	cr_expect_eq(inventory_room(v, 1, ONE, 0, 9), 1);
	partitions(v, 1, 2);
	cr_expect_eq(inventory_room(v, 0, ONE, 0, 9), 0, "a claim has them, by the other's record");
	partitions(v, 0, 0);
	cr_expect_eq(inventory_room(v, 1, ONE, 0, 9), 1);
	inventory_free(v);
}
