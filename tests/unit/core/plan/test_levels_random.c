/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs with levels on random clusters, against a slow planner that goes by the definition
 * (docs/decisions/020): it groups nodes by labels, tries every domain, and distributes members one
 * domain at a time. */
#include "tests/unit/support_trial.h"
#include "tests/unit/test.h"

#include "core/lifecycle/state.h"

TestSuite(levels_random);

enum {
	CLUSTERS = 120,
	ROUNDS = 14,
	BRUTE_EVALUATIONS = 700,
	PLACES = PLAIN_NODES + 1,
	SPANS = GANG_LEVELS_MAX
};

struct seen {
	uint32_t plans, exact, started, joined, waited, proved, gave_up, together;
};

/* Bits of nodes. */
struct places {
	uint32_t at[PLACES];
	uint32_t n;
	uint32_t without; /* those without the key */
};

struct model {
	struct trial *t;
	struct gang_level required[GANG_LEVELS_MAX], preferred[GANG_LEVELS_MAX];
	uint32_t required_n, preferred_n;
	struct places places; /* of all required levels */
	uint32_t fixed;       /* 0: no place is */
	uint32_t stand;       /* bits of nodes that have members */
	uint64_t room[PLAIN_NODES];
	uint32_t score[PLAIN_NODES];
};

static bool value_of(const struct plain_node *n, uint32_t key, uint32_t *value)
{
	for (uint32_t i = 0; i < n->labels_n; i++)
		if (n->labels[i].key == key) {
			*value = n->labels[i].value;
			return true;
		}
	return false;
}

/* Nodes of one value each, in the order of the first of them. */
static struct places take_apart(const struct plain *p, uint32_t nodes, uint32_t key)
{
	struct places out = { 0 };
	uint32_t values[PLACES], value;

	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		uint32_t i = 0;

		if (!(nodes >> n & 1))
			continue;
		if (!value_of(&p->nodes[n], key, &value)) {
			out.without |= 1u << n;
			continue;
		}
		while (i < out.n && values[i] != value)
			i++;
		values[i] = value;
		out.n += i == out.n;
		out.at[i] |= 1u << n;
	}
	return out;
}

static void places_find(struct model *m)
{
	uint32_t all = 0;

	for (uint32_t n = 0; n < PLAIN_NODES; n++)
		all |= (uint32_t)m->t->p->nodes[n].exists << n;
	m->places = (struct places){ .at = { all }, .n = 1 };
	for (uint32_t i = 0; i < m->required_n; i++) {
		struct places next = { 0 };

		for (uint32_t k = 0; k < m->places.n; k++) {
			struct places parts = take_apart(m->t->p, m->places.at[k], m->required[i].topology);

			for (uint32_t j = 0; j < parts.n; j++)
				next.at[next.n++] = parts.at[j];
		}
		m->places = next;
	}
}

/* Placed members fix the place: the one with most, then the one with the first node. */
static void fixed_find(struct model *m)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < m->t->members; i++) {
		const struct plain_pod *pod = &m->t->p->pods[i];

		if (pod->exists && pod->node != PLAIN_NONE && !pod->deleting)
			m->stand |= 1u << pod->node;
	}
	for (uint32_t k = 0; m->required_n > 0 && k < m->places.n; k++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < m->t->members; i++) {
			const struct plain_pod *pod = &m->t->p->pods[i];

			n += pod->exists && !pod->deleting && pod->node != PLAIN_NONE &&
			     (m->places.at[k] >> pod->node & 1);
		}
		if (n > most ||
		    (n == most && n > 0 && __builtin_ctz(m->places.at[k]) < __builtin_ctz(m->fixed)))
			m->fixed = m->places.at[k];
		most = n > most ? n : most;
	}
}

static bool eligible(const struct model *m, uint32_t place)
{
	return m->fixed == 0 || m->fixed == place;
}

static void model_begin(struct model *m, struct trial *t)
{
	const struct plain_levels *l = &t->p->levels[0];

	*m = (struct model){ .t = t };
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].flags & LEVEL_REQUIRED)
			m->required[m->required_n++] = l->at[i];
		else
			m->preferred[m->preferred_n++] = l->at[i];
	places_find(m);
	fixed_find(m);
}

/* How many more of a shape a node takes, by amounts alone. */
static uint64_t amounts_room(const struct plain *p, uint32_t node, const struct plain_shape *s)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t r = 0; r < PLAIN_RESOURCES; r++) {
		int64_t each = r == RESOURCE_PODS ? 1 : s->amounts[r], left = p->nodes[node].amounts[r];

		for (uint32_t i = 0; i < PLAIN_PODS; i++)
			if (p->pods[i].exists && p->pods[i].node == node)
				left -= r == RESOURCE_PODS ? 1 : p->shapes[p->pods[i].shape].amounts[r];
		if (each > 0 && (left > 0 ? (uint64_t)(left / each) : 0) < least)
			least = left > 0 ? (uint64_t)(left / each) : 0;
	}
	return s->ports_n > 0 && least > 1 ? 1 : least;
}

static uint32_t a_member(const struct trial *t)
{
	uint32_t i = 0;

	while (!trial_pending(t, i))
		i++;
	return i;
}

static void room_find(struct model *m)
{
	const uint32_t pod = a_member(m->t);
	struct plain_verdict v;

	plain_evaluate(m->t->p, pod, m->t->score, &v);
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		if (!m->t->p->nodes[n].exists || v.whys[n] != 0)
			continue;
		m->room[n] = amounts_room(m->t->p, n, &m->t->p->shapes[m->t->p->pods[pod].shape]);
		m->score[n] = v.scores[n];
	}
}

static uint64_t room_of(const struct model *m, uint32_t nodes)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < PLAIN_NODES; n++)
		sum += nodes >> n & 1 ? m->room[n] : 0;
	return sum;
}

static uint32_t best_of(const struct model *m, uint32_t nodes)
{
	uint32_t best = PLAIN_NONE;

	for (uint32_t n = 0; n < PLAIN_NODES; n++)
		if ((nodes >> n & 1) && m->room[n] > 0 &&
		    (best == PLAIN_NONE || m->score[n] > m->score[best]))
			best = n;
	return best;
}

struct shared {
	uint32_t spans[SPANS];
	uint32_t nodes[PLACES * PLAIN_NODES]; /* bits of innermost domains, in their order */
	uint64_t members[PLACES * PLAIN_NODES];
	uint32_t n;
};

static void share(const struct model *m, uint32_t nodes, uint32_t level, uint64_t members,
                  struct shared *out);

/* True if x is better than y for so many members. */
static bool better(const struct model *m, uint32_t x, uint32_t y, uint32_t below, uint64_t members)
{
	uint64_t x_takes = room_of(m, x), y_takes = room_of(m, y), x_left, y_left;
	uint32_t x_best = best_of(m, x), y_best = best_of(m, y);
	struct shared xs = { 0 }, ys = { 0 };

	x_left = x_takes > members ? x_takes - members : 0;
	y_left = y_takes > members ? y_takes - members : 0;
	x_takes -= x_left;
	y_takes -= y_left;
	if (x_takes != y_takes)
		return x_takes > y_takes;
	share(m, x, below, x_takes, &xs);
	share(m, y, below, y_takes, &ys);
	for (uint32_t i = 0; i < SPANS; i++)
		if (xs.spans[i] != ys.spans[i])
			return xs.spans[i] < ys.spans[i];
	if (x_left != y_left)
		return x_left < y_left;
	return m->score[x_best] != m->score[y_best] ? m->score[x_best] > m->score[y_best]
	                                            : x_best < y_best;
}

/* 0: has members, 1: other domains, 2: nodes without the key. */
static uint32_t sort_of(const struct model *m, const struct places *parts, uint32_t i)
{
	if (parts->at[i] & m->stand)
		return 0;
	return parts->at[i] == parts->without ? 2 : 1;
}

static void share(const struct model *m, uint32_t nodes, uint32_t level, uint64_t members,
                  struct shared *out)
{
	struct places parts;
	uint32_t used = 0;

	if (level == m->preferred_n) {
		out->nodes[out->n] = nodes;
		out->members[out->n++] = members;
		return;
	}
	parts = take_apart(m->t->p, nodes, m->preferred[level].topology);
	if (parts.without)
		parts.at[parts.n++] = parts.without;
	while (members > 0) {
		uint32_t best = PLACES;
		uint64_t takes;

		for (uint32_t i = 0; i < parts.n; i++)
			if (!(used >> i & 1) && room_of(m, parts.at[i]) > 0 &&
			    (best == PLACES || sort_of(m, &parts, i) < sort_of(m, &parts, best) ||
			     (sort_of(m, &parts, i) == sort_of(m, &parts, best) &&
			      better(m, parts.at[i], parts.at[best], level + 1, members))))
				best = i;
		cr_assert_neq(best, PLACES);
		takes = room_of(m, parts.at[best]) < members ? room_of(m, parts.at[best]) : members;
		used |= 1u << best;
		out->spans[level] += sort_of(m, &parts, best) > 0;
		share(m, parts.at[best], level + 1, takes, out);
		members -= takes;
	}
}

/* The place for so many of them; 0: none. */
static uint32_t place_choose(const struct model *m, uint32_t need, uint32_t wanted)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < m->places.n; i++) {
		uint32_t x = m->places.at[i];

		if (eligible(m, x) && room_of(m, x) >= need && (best == 0 || better(m, x, best, 0, wanted)))
			best = x;
	}
	return best;
}

static uint64_t most_anywhere(const struct model *m, uint64_t wanted)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < m->places.n; i++)
		if (eligible(m, m->places.at[i]) && room_of(m, m->places.at[i]) > most)
			most = room_of(m, m->places.at[i]);
	return most < wanted ? most : wanted;
}

static uint32_t value_number(const struct model *m, uint32_t place)
{
	uint32_t value = 0;

	value_of(&m->t->p->nodes[__builtin_ctz(place)], m->required[m->required_n - 1].topology,
	         &value);
	return value;
}

/* The reason's domain fields are right when `fit` members fit. */
static void check_reason(const struct model *m, uint64_t fit)
{
	const struct reason *r = &m->t->p->reasons[0];
	bool found = false;

	/* Numbers that change often are published at a limited rate. */
	plain_settle(m->t->p);
	for (int i = 0; i < 2; i++) {
		plain_tick(m->t->p, UINT64_C(3000000000));
		plain_plan(m->t->p);
	}
	if (m->required_n == 0) {
		cr_assert_eq(r->why, WAIT_ROOM);
		return;
	}
	cr_assert_eq(r->why, WAIT_TOPOLOGY, "record %u: why %u", m->t->p->records, r->why);
	cr_assert_eq(r->domains, m->places.n);
	cr_assert_eq(r->domain_key, m->required[m->required_n - 1].topology);
	cr_assert_eq(r->domain_fit, fit, "record %u: %u fit, not %u", m->t->p->records, (unsigned)fit,
	             r->domain_fit);
	found = m->places.n == 0 && r->domain_value == ID_NONE;
	for (uint32_t i = 0; i < m->places.n; i++)
		found = found || (eligible(m, m->places.at[i]) &&
		                  value_number(m, m->places.at[i]) == r->domain_value);
	cr_assert(found, "record %u: domain %u", m->t->p->records, r->domain_value);
}

/* Where each member goes; how many. */
static uint32_t slow_exact(struct model *m, uint32_t need, uint32_t nodes[TRIAL_MEMBERS])
{
	struct trial *t = m->t;
	const uint32_t wanted = trial_waiting(t), place = place_choose(m, need, wanted);
	uint32_t order[TRIAL_MEMBERS], placed = 0;
	struct shared shared = { 0 };

	for (uint32_t i = 0; i < TRIAL_MEMBERS; i++)
		nodes[i] = PLAIN_NONE;
	if (place == 0)
		return 0;
	share(m, place, 0, room_of(m, place) < wanted ? room_of(m, place) : wanted, &shared);
	trial_in_turn(t, order);
	for (uint32_t i = 0; i < shared.n; i++) {
		t->nodes = shared.nodes[i];
		for (uint64_t k = 0; k < shared.members[i]; k++) {
			uint32_t member = order[placed++];

			nodes[member] = trial_best_node(t, member);
			cr_assert_neq(nodes[member], PLAIN_NONE);
			t->p->pods[member].node = nodes[member];
		}
	}
	t->nodes = UINT32_MAX;
	for (uint32_t i = 0; i < TRIAL_MEMBERS; i++)
		if (nodes[i] != PLAIN_NONE)
			t->p->pods[i].node = PLAIN_NONE;
	return placed;
}

static void check_exact(struct model *m, struct seen *seen)
{
	struct trial *t = m->t;
	const struct need need = trial_need(t);
	const uint32_t wanted = trial_waiting(t);
	uint32_t slow[TRIAL_MEMBERS], got[TRIAL_MEMBERS], placed;

	room_find(m);
	placed = slow_exact(m, (uint32_t)need.all, slow);
	plain_plan(t->p);
	trial_told(t, got);
	for (uint32_t i = 0; i < t->members; i++)
		cr_assert_eq(got[i], slow[i], "record %u: member %u of %u went to %u, not to %u",
		             t->p->records, i, t->members, got[i], slow[i]);
	seen->exact++;
	if (placed == 0)
		check_reason(m, most_anywhere(m, wanted));
	else if (placed < wanted)
		check_reason(m, 0);
}

static void check_waits(struct model *m, const struct need *need, struct seen *seen)
{
	struct trial *t = m->t;
	const uint32_t why = t->p->reasons[0].why;
	bool found = false;

	cr_assert(why == WAIT_GAVE_UP || why == (m->required_n > 0 ? WAIT_TOPOLOGY : WAIT_ROOM),
	          "record %u: why %u", t->p->records, why);
	seen->gave_up += why == WAIT_GAVE_UP;
	t->evaluations = BRUTE_EVALUATIONS;
	for (uint32_t i = 0; i < m->places.n && !found; i++) {
		if (!eligible(m, m->places.at[i]))
			continue;
		t->nodes = m->places.at[i];
		found = trial_brute(t, *need);
	}
	t->nodes = UINT32_MAX;
	if (t->evaluations == 0 && !found)
		return;
	seen->proved++;
	cr_assert(!found || why == WAIT_GAVE_UP, "record %u: %d of %u can start, but are said not to",
	          t->p->records, need->all, t->members);
}

/* The place that all of them are in; 0: they are not in one. */
static uint32_t place_of(const struct model *m, uint32_t nodes)
{
	for (uint32_t i = 0; i < m->places.n; i++)
		if (eligible(m, m->places.at[i]) && (nodes & ~m->places.at[i]) == 0)
			return m->places.at[i];
	return 0;
}

/* Innermost domains of a place; how many.  Nodes that lack a key are one only `with` them. */
static uint32_t innermost(const struct model *m, uint32_t place, uint32_t level, bool with,
                          uint32_t *out, uint32_t n)
{
	struct places parts;

	if (level == m->preferred_n) {
		out[n] = place;
		return n + 1;
	}
	parts = take_apart(m->t->p, place, m->preferred[level].topology);
	if (parts.without && with)
		parts.at[parts.n++] = parts.without;
	for (uint32_t i = 0; i < parts.n; i++)
		n = innermost(m, parts.at[i], level + 1, with, out, n);
	return n;
}

static uint32_t slow_within(struct model *m, uint32_t nodes)
{
	uint32_t unused[TRIAL_MEMBERS], n;

	m->t->nodes = nodes;
	n = trial_slow_plan(m->t, unused);
	m->t->nodes = UINT32_MAX;
	return n;
}

/* Members of one class: as good as the slow planner's best. */
static void check_place(struct model *m, uint32_t place, uint32_t bits, uint32_t placed,
                        const uint32_t most[PLACES], uint32_t one_domain, struct seen *seen)
{
	uint32_t inner[PLACES * PLAIN_NODES], n = innermost(m, place, 0, true, inner, 0);

	for (uint32_t i = 0; i < m->places.n; i++)
		cr_assert(!eligible(m, m->places.at[i]) || most[i] <= placed,
		          "record %u: %u were placed, and %u could be", m->t->p->records, placed, most[i]);
	if (m->preferred_n == 0 || m->stand != 0 || !(one_domain & place))
		return;
	seen->together++;
	for (uint32_t i = 0; i < n; i++)
		if ((bits & ~inner[i]) == 0)
			return;
	cr_assert_fail("record %u: all could be in one domain", m->t->p->records);
}

static void check_other(struct model *m, struct seen *seen)
{
	struct trial *t = m->t;
	const struct need need = trial_need(t);
	struct need left = need;
	const uint32_t wanted = trial_waiting(t);
	uint32_t got[TRIAL_MEMBERS], most[PLACES] = { 0 }, one_domain = 0, bits = 0,
								 inner[PLACES * PLAIN_NODES], n, got_n;

	for (uint32_t i = 0; t->alike && i < m->places.n; i++) {
		most[i] = slow_within(m, m->places.at[i]);
		n = innermost(m, m->places.at[i], 0, false, inner, 0);
		for (uint32_t k = 0; k < n; k++)
			one_domain |= slow_within(m, inner[k]) == wanted ? m->places.at[i] : 0;
	}
	plain_plan(t->p);
	got_n = trial_told(t, got);
	if (got_n == 0) {
		seen->waited++;
		check_waits(m, &need, seen);
		return;
	}
	for (uint32_t i = 0; i < t->members; i++) {
		if (got[i] == PLAIN_NONE)
			continue;
		need_add(&left, &t->p->pods[i]);
		bits |= 1u << got[i];
	}
	cr_assert(need_met(&left), "record %u: %u of %d", t->p->records, got_n, need.all);
	cr_assert(trial_sound(t, got, got_n), "record %u: a member is where it must not be",
	          t->p->records);
	cr_assert(place_of(m, bits), "record %u: members are apart", t->p->records);
	if (t->alike)
		check_place(m, place_of(m, bits), bits, got_n, most, one_domain, seen);
}

static void check(struct trial *t, struct seen *seen)
{
	struct model m;
	uint32_t had = trial_have(t);
	struct need need;

	if (!trial_could_start(t))
		return;
	model_begin(&m, t);
	seen->plans++;
	if (t->plain && t->alike)
		check_exact(&m, seen);
	else
		check_other(&m, seen);
	plain_settle(t->p);
	plain_plan(t->p);
	seen->started += trial_have(t) > had;
	seen->joined += had > 0 && trial_have(t) > had;
	need = trial_need(t);
	if (trial_have(t) < t->quorum || need.roles[1] + need.roles[2] > 0)
		return;
	/* Each member that is left fits nowhere by itself. */
	model_begin(&m, t);
	t->nodes = m.fixed ? m.fixed : m.places.n == 1 && m.required_n == 0 ? m.places.at[0] : 0;
	for (uint32_t i = 0; i < t->members; i++)
		if (trial_pending(t, i) && t->nodes)
			cr_assert_eq(trial_best_node(t, i), PLAIN_NONE,
			             "record %u: member %u waits for nothing", t->p->records, i);
	t->nodes = UINT32_MAX;
}

static void clusters(const char *name, enum score_policy score, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		struct trial t = { .r = &r, .score = score, .plain = i % 2 == 0, .with_levels = true };

		trial_begin(&t);
		for (uint32_t round = 0; round < ROUNDS; round++) {
			check(&t, &seen);
			trial_next(&t);
		}
		plain_free(t.p);
	}
	fprintf(
		stderr,
		"%s: %u plans, %u exact, %u started, %u joined others, %u waited (%u proved), %u gave up, %u in one domain\n",
		name, seen.plans, seen.exact, seen.started, seen.joined, seen.waited, seen.proved,
		seen.gave_up, seen.together);
	cr_assert(seen.exact > 0 && seen.started > 0 && seen.joined > 0 && seen.proved > 0 &&
	          seen.together > 0);
}

Test(levels_random, are_the_slow_planners)
{
	clusters("levels.kube", SCORE_KUBE, CLUSTERS);
}

Test(levels_random, are_the_slow_planners_when_packing)
{
	clusters("levels.pack", SCORE_PACK, CLUSTERS / 2);
}
