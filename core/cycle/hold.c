/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/hold_impl.h"

#include "core/base/probe.h"
#include "core/cluster/rule_node.h"
#include "core/filter/rule_policy.h"
#include "core/lifecycle/members.h"
#include "core/plan/minimum.h"

#include <stdlib.h>
#include <string.h>

/* About 0.5 ms, in steps as in core/cycle/decide.c: so long one tick searches for a gang that may
 * hold. */
#define SEARCH_STEPS 50000u
#define GANG_STEPS 10u
#define NODE_STEPS 2u /* for each kind */

/* Whether members of several kinds or with rules between pods could ever fit, or minResources be
 * met, isn't known for sure: without a timeout of their own they hold no longer than this at a
 * time. */
#define TURN_NS (600 * UINT64_C(1000000000))

bool hold_stands_before(const struct core *c, uint32_t index)
{
	return c->held != ID_NONE && c->held != index && gang_before(&c->gangs, c->held, index);
}

static void hold_end(struct core *c)
{
	if (c->held == ID_NONE)
		return;
	PROBE(hold_ended, c->held, c->gangs.slots[c->held].generation);
	c->held = ID_NONE;
	stat_set(&c->ledger.ledger->gauges.held, 0);
	views_hold(&c->views, NULL, 0, NULL, NULL);
	c->nodes.room_version++; /* there is more for those behind it */
}

void hold_forget(struct core *c, uint32_t index)
{
	if (c->held == index)
		hold_end(c);
}

/* ---- could it ever fit? --------------------------------------------------------- */

/* The kinds of its ready members; false when they are too many to keep room for. */
static bool wanted_find(const struct core *c, const struct gang *g, struct wanted *w)
{
	*w = (struct wanted){ 0 };
	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE;
	     id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];
		uint32_t i = 0;

		if (p->class != MEMBER_READY)
			continue;
		while (i < w->n && w->kinds[i] != p->kind)
			i++;
		if (i == HOLD_KINDS_MAX)
			return false;
		w->kinds[i] = p->kind;
		w->members[i]++;
		w->n += i == w->n;
	}
	return true;
}

/* How many pods of the shape the node takes when nobody is there. */
static uint32_t empty_count(const struct nodes *ns, node_id id, const struct shape *s,
                            uint32_t most)
{
	uint32_t least = most;

	if (!shape_allows(s, id))
		return 0;
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		uint32_t count =
			amount_count(nodes_allocatable(ns, id, q->resource), q->value, q->inverse, most);

		least = count < least ? count : least;
	}
	return least;
}

uint32_t empty_most(const struct core *c, node_id id, const struct shape *s, uint32_t most)
{
	return empty_count(&c->nodes, id, s, s->body->ports_n > 0 && most > 1 ? 1 : most);
}

/* What a topology's domains could take. */
struct reach {
	uint64_t *sums;   /* by domain */
	bool *counted;    /* by domain: a spread wants it even with the others */
	uint64_t without; /* on nodes without the key */
	uint32_t domains;
};

static void reach_find(const struct core *c, kind_id kind, topology_id topology,
                       const struct spread *spread, uint32_t most, struct reach *r)
{
	const struct topology *t = &c->census.topologies.slots[topology];
	const struct shape *s = &c->shapes.slots[c->census.kinds.slots[kind].shape];

	memset(r->sums, 0, c->nodes.limit * sizeof(*r->sums));
	memset(r->counted, 0, c->nodes.limit * sizeof(*r->counted));
	r->without = 0;
	r->domains = t->domains;
	for (node_id id = 0; id < c->nodes.used; id++) {
		const struct node *n = &c->nodes.slots[id];
		uint32_t d = t->domain[id];

		if (!node_present(n))
			continue;
		if (d == DOMAIN_NONE) {
			r->without += empty_most(c, id, s, most);
			continue;
		}
		r->sums[d] += empty_most(c, id, s, most);
		if (spread && ((spread->flags & SPREAD_IGNORES_AFFINITY) || rule_affinity(s, n)) &&
		    !((spread->flags & SPREAD_HONORS_TAINTS) && rule_taint(s, n)))
			r->counted[d] = true;
	}
}

/* Those who bar their like: one a domain.  Those who seek their like: one domain.  Those who seek
 * others: where these are now. */
static uint64_t term_most(const struct core *c, kind_id kind, const struct term_link *link,
                          const struct reach *r)
{
	const struct census *cs = &c->census;
	const struct shape_links *links = cs->links[cs->kinds.slots[kind].shape];
	const struct topology *t = &cs->topologies.slots[link->topology];
	const bool near = link->term->kind == POD_TERM_AFFINITY;
	const bool self = kind_matches(&cs->kinds, kind, near ? links->affinity : link->selector);
	uint64_t sum = near ? 0 : r->without, biggest = 0, there = 0;

	for (uint32_t d = 0; d < r->domains; d++) {
		sum += near || !self ? r->sums[d] : r->sums[d] > 0;
		biggest = r->sums[d] > biggest ? r->sums[d] : biggest;
	}
	if (!near)
		return sum;
	/* A domain with two of them is counted twice: it is a bound. */
	for (node_id id = 0; id < c->nodes.used; id++)
		if (t->domain[id] != DOMAIN_NONE && cs->selectors.slots[links->affinity].placed[id] > 0)
			there += r->sums[t->domain[id]];
	return self && biggest > there ? biggest : there;
}

static uint64_t spread_most(const struct core *c, kind_id kind, const struct spread_link *link,
                            const struct reach *r)
{
	const bool self = link->self_always || (link->selector != SELECTOR_NONE &&
	                                        kind_matches(&c->census.kinds, kind, link->selector));
	uint64_t sum = 0, least = UINT64_MAX;
	uint32_t live = 0;

	for (uint32_t d = 0; d < r->domains; d++) {
		live += r->counted[d];
		least = r->counted[d] && r->sums[d] < least ? r->sums[d] : least;
	}
	if (live < link->spread->min_domains || live == 0)
		least = 0;
	for (uint32_t d = 0; d < r->domains; d++)
		sum += self && r->sums[d] > least + link->spread->max_skew ? least + link->spread->max_skew
		                                                           : r->sums[d];
	return sum;
}

static uint64_t policy_most(const struct core *c, kind_id kind, const struct policy_link *link,
                            const struct reach *r)
{
	const struct topology *t = &c->census.topologies.slots[link->topology];
	const bool bounds = policy_bounds(&c->census, kind, link);
	uint64_t sum = 0;

	for (uint32_t d = 0; d < r->domains; d++) {
		uint32_t replicas = policy_replicas(link, t, d);

		if (policy_judges(link, d, replicas, 0) == NODE_FITS)
			sum += bounds && replicas < r->sums[d] ? replicas : r->sums[d];
	}
	return sum;
}

/* No more than these of the kind could be placed by its rules between pods, each for itself. */
static uint64_t rules_most(const struct core *c, kind_id kind, uint32_t most)
{
	const struct shape_links *links = c->census.links[c->census.kinds.slots[kind].shape];
	struct reach r = { .sums = calloc(c->nodes.limit, sizeof(*r.sums)),
		               .counted = calloc(c->nodes.limit, sizeof(*r.counted)) };
	uint64_t least = r.sums && r.counted ? most : 0, now;

	for (uint32_t i = 0; least > 0 && i < links->terms_n; i++) {
		if (links->terms[i].term->kind != POD_TERM_AFFINITY &&
		    links->terms[i].term->kind != POD_TERM_ANTI_AFFINITY)
			continue;
		reach_find(c, kind, links->terms[i].topology, NULL, most, &r);
		now = term_most(c, kind, &links->terms[i], &r);
		least = now < least ? now : least;
	}
	for (uint32_t i = 0; least > 0 && i < links->spreads_n; i++) {
		if (!(links->spreads[i].spread->flags & SPREAD_HARD))
			continue;
		reach_find(c, kind, links->spreads[i].topology, links->spreads[i].spread, most, &r);
		now = spread_most(c, kind, &links->spreads[i], &r);
		least = now < least ? now : least;
	}
	if (least > 0 && links->policy.policy) {
		reach_find(c, kind, links->policy.topology, NULL, most, &r);
		now = policy_most(c, kind, &links->policy, &r);
		least = now < least ? now : least;
	}
	free(r.sums);
	free(r.counted);
	return least;
}

bool kind_has_rules(const struct core *c, kind_id kind)
{
	return c->census.links[c->census.kinds.slots[kind].shape] != NULL;
}

uint32_t ruled_most(struct core *c, kind_id kind, uint32_t most)
{
	const struct shape_links *links = c->census.links[c->census.kinds.slots[kind].shape];

	if (most == 0 || !links)
		return most;
	c->views.steps +=
		(links->terms_n + links->spreads_n + UINT64_C(1)) * c->nodes.used * NODE_STEPS;
	return (uint32_t)rules_most(c, kind, most);
}

/* Could as many of each role as are missing, when so many of each kind could at all? */
static bool roles_could_fit(struct core *c, const struct gang *g, const struct wanted *w,
                            const uint32_t could[HOLD_KINDS_MAX])
{
	gang_need_find(g, &c->need);
	for (uint32_t r = 0; r < c->need.roles_n; r++) {
		uint32_t members[HOLD_KINDS_MAX] = { 0 };
		uint64_t fit = 0;

		for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
			const struct pod *p = &c->pods.slots[id];

			for (uint32_t i = 0; i < w->n; i++)
				members[i] += p->class == MEMBER_READY && p->kind == w->kinds[i] &&
				              p->role == c->need.roles[r].role;
		}
		for (uint32_t i = 0; i < w->n; i++)
			fit += members[i] < could[i] ? members[i] : could[i];
		if (fit < c->need.roles[r].quorum)
			return false;
	}
	return true;
}

/* On which nodes room is to be kept, if not on all, is written down, too. */
static bool could_fit(struct core *c, const struct gang *g, struct wanted *w)
{
	uint32_t could[HOLD_KINDS_MAX] = { 0 };
	uint64_t fit = 0;

	c->views.steps += (uint64_t)w->n * c->nodes.used * NODE_STEPS;
	if (gang_asks_minimum(g) && !minimum_could_be_met(g, &c->nodes))
		return false;
	if (gang_requires_level(g))
		return domain_could_fit(c, g, w, gang_missing(g));
	for (uint32_t i = 0; i < w->n; i++) {
		const struct shape *s = &c->shapes.slots[c->census.kinds.slots[w->kinds[i]].shape];
		uint32_t left = w->members[i];

		for (node_id id = 0; id < c->nodes.used && left > 0; id++)
			left -= empty_most(c, id, s, left);
		could[i] = ruled_most(c, w->kinds[i], w->members[i] - left);
		fit += could[i];
	}
	return fit >= gang_missing(g) && roles_could_fit(c, g, w, could);
}

/* How long a hold lasts at a time; 0: no end. */
static uint64_t turn_ns(const struct core *c, const struct gang *g, const struct wanted *w)
{
	const bool sure = w->n == 1 && !kind_has_rules(c, w->kinds[0]) && !gang_asks_minimum(g);

	return g->timeout_ns == 0 && !sure ? TURN_NS : g->timeout_ns;
}

static bool holds_what_it_wants(const struct core *c, const struct gang *g)
{
	const struct hold *hold = &c->views.hold;
	struct wanted w;

	return wanted_find(c, g, &w) && hold->version > 0 && w.n == hold->kinds_n &&
	       memcmp(w.kinds, hold->kinds, w.n * sizeof(w.kinds[0])) == 0;
}

/* The gang that holds was looked at: rare, so it is kept out of what every look does. */
static __attribute__((noinline)) void holder_looked(struct core *c, const struct gang *g,
                                                    bool waits_for_room)
{
	/* It may begin anew when it wants something else. */
	if (!waits_for_room || gang_is_whole(g) || !holds_what_it_wants(c, g)) {
		hold_end(c);
	} else if (!gang_key_is(g, &c->held_key)) {
		c->held_key = gang_key(g);
		c->nodes.room_version++; /* some that were behind it may see all room now */
	}
}

void hold_looked(struct core *c, uint32_t index, bool waits_for_room, bool placed)
{
	struct gang *g = &c->gangs.slots[index];

	g->lifted = g->lifted && !placed;
	if (placed || !waits_for_room) {
		g->waits_ns = 0;
		g->had_turn = false;
	}
	if (waits_for_room && g->waits_ns == 0)
		g->waits_ns = c->now_ns ? c->now_ns : 1;
	if (c->held == index)
		holder_looked(c, g, waits_for_room);
}

/* ---- begin and end ----------------------------------------------------------------- */

static void hold_begin(struct core *c, uint32_t index, const struct wanted *w)
{
	c->held = index;
	c->held_ns = c->now_ns;
	c->held_key = gang_key(&c->gangs.slots[index]);
	PROBE(hold_begun, index, c->gangs.slots[index].generation);
	views_hold(&c->views, w->kinds, w->n, w->nodes, w->whole);
	stat_add(&c->ledger.ledger->gauges.holds, 1);
	stat_set(&c->ledger.ledger->gauges.held, index + UINT64_C(1));
	/* Those behind it have other numbers now; nobody has more room. */
}

/* Nodes and their domains, by which it is judged whether a gang could ever fit. */
static uint64_t world_version(const struct core *c)
{
	return c->nodes.facts_version + c->census.rules_version;
}

static bool waited_long(const struct core *c, const struct gang *g)
{
	return g->waits_ns > 0 && c->now_ns - g->waits_ns >= c->config.hold_after_ns;
}

/* Those behind all others that waited long enough stand among them from now on. */
static void lift(struct core *c)
{
	uint32_t index = queue_first_behind(&c->waiting), next;

	for (; index != ID_NONE; index = next) {
		struct gang *g = &c->gangs.slots[index];

		next = queue_next(&c->waiting, index);
		if (!waited_long(c, g))
			continue;
		gang_hold(c, index);
		g->lifted = true;
		gang_touch(c, index); /* it may come before one that holds by now */
	}
}

/* Room that it has is of no use to anybody as long as it waits. */
static bool in_need(const struct core *c, const struct gang *g)
{
	return !gang_is_whole(g) && (waited_long(c, g) || (gang_has_begun(g) && !g->had_turn));
}

/* After the same wait again nodes are emptied for it, half of the time: what runs on them may never
 * end. */
static bool is_emptying(const struct core *c)
{
	const uint64_t held_ns = c->now_ns - c->held_ns;

	return held_ns >= c->config.hold_after_ns &&
	       (held_ns - c->config.hold_after_ns) / TURN_NS % 2 == 0;
}

/* Does the gang that holds still want what is held? */
static void review(struct core *c)
{
	struct wanted w;
	struct gang *g;

	if (c->held == ID_NONE)
		return;
	g = &c->gangs.slots[c->held];
	if (c->views.hold.version == 0 || !wanted_find(c, g, &w) || w.n == 0 || !could_fit(c, g, &w)) {
		hold_end(c);
	} else if (turn_ns(c, g, &w) > 0 && c->now_ns - c->held_ns >= turn_ns(c, g, &w)) {
		g->waits_ns = c->now_ns;
		g->had_turn = true;
		gang_keep_untried(c, c->held);
		hold_end(c);
	} else {
		if (is_emptying(c))
			drain_find(c, &w, gang_missing(g));
		if (views_holds_within(&c->views, w.nodes, w.whole))
			return;
		/* Labels of nodes changed, or levels; or nodes are to be emptied. */
		views_hold(&c->views, w.kinds, w.n, w.nodes, w.whole);
		c->nodes.room_version++;
	}
}

/* Is there no hold, or one that makes way for the gang? */
static bool may_hold(const struct core *c, const struct gang *g)
{
	return c->held == ID_NONE || (gang_has_begun(g) && !gang_has_begun(&c->gangs.slots[c->held]));
}

/* True when it holds from now on: it waited long enough for its quorum, and could fit. */
static bool hold_try(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];
	struct wanted w;

	c->views.steps += GANG_STEPS;
	if (!in_need(c, g) || g->hopeless == world_version(c))
		return false;
	c->views.steps += g->members;
	if (!wanted_find(c, g, &w) || w.n == 0 || !could_fit(c, g, &w)) {
		g->hopeless = world_version(c);
		gang_keep_untried(c, index);
		return false;
	}
	hold_end(c);
	hold_begin(c, index, &w);
	return true;
}

/* The first of the queue that may.  A search that is too long goes on at the next tick, since with
 * each change of a node those that are hopeless have to be asked anew: they would keep all behind
 * them from a hold. */
static void hold_search(struct core *c)
{
	uint32_t index = c->hold_next;

	if (index == ID_NONE || c->gangs.slots[index].place != PLACE_WAITING)
		index = queue_first(&c->waiting);
	c->hold_next = ID_NONE;
	c->views.steps = 0;
	while (index != ID_NONE && may_hold(c, &c->gangs.slots[index]) && !hold_try(c, index)) {
		index = queue_next(&c->waiting, index);
		if (c->views.steps < SEARCH_STEPS)
			continue;
		c->hold_next = index;
		return;
	}
}

void hold_tick(struct core *c)
{
	if (c->config.hold_after_ns == 0)
		return;
	lift(c);
	review(c);
	hold_search(c);
}
