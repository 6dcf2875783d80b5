/* Plans of gangs on random clusters with every rule, against a slow planner: each pod is judged by
 * loops, each member of one kind takes the best node there is, and where muster says that a gang
 * can't start, every way to place it is tried. */
#include "tests/unit/support_plain.h"

#include "core/state.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(plans);

enum { CLUSTERS = 90, ROUNDS = 14, MEMBERS = 7, OTHERS = MEMBERS, BRUTE_JUDGES = 1500 };

struct seen {
	uint32_t plans, equal, begun_elsewhere, started, with_roles, waited, brute, gave_up, gave_up_wrongly;
};

struct trial {
	struct plain *p;
	struct random *r;
	enum score_policy score;
	uint32_t members; /* pods 0 .. members - 1 */
	uint32_t quorum;
	uint32_t roles[PLAIN_ROLES + 1]; /* their quorums; the first stays 0 */
	bool alike;
	uint32_t judges; /* left for brute force */
};

/* ---- the slow planner -------------------------------------------------------------------- */

static bool pending(const struct trial *t, uint32_t pod)
{
	return t->p->pods[pod].exists && t->p->pods[pod].node == PLAIN_NONE;
}

static uint32_t have(const struct trial *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->members; i++)
		n += t->p->pods[i].exists && t->p->pods[i].node != PLAIN_NONE && !t->p->pods[i].deleting;
	return n;
}

/* How many have to start, of all and of each role. */
struct need {
	int all, roles[PLAIN_ROLES + 1];
};

static struct need need_of(const struct trial *t)
{
	struct need need = { .all = (int)t->quorum };
	int sum = 0;

	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		need.roles[r] = (int)t->roles[r];
	for (uint32_t i = 0; i < t->members; i++) {
		const struct plain_pod *pod = &t->p->pods[i];
		bool has = pod->exists && pod->node != PLAIN_NONE && !pod->deleting;

		need.all -= has;
		need.roles[pod->role] -= has;
	}
	need.roles[0] = 0;
	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		sum += need.roles[r] = need.roles[r] > 0 ? need.roles[r] : 0;
	need.all = need.all > sum ? need.all : sum;
	need.all = need.all > 1 ? need.all : 1;
	return need;
}

static void need_add(struct need *need, const struct plain_pod *pod)
{
	need->all--;
	need->roles[pod->role] -= pod->role > 0;
}

static bool need_met(const struct need *need)
{
	bool met = need->all <= 0;

	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		met = met && need->roles[r] <= 0;
	return met;
}

static uint32_t best_node(const struct trial *t, uint32_t pod)
{
	struct plain_verdict v;
	uint32_t best = PLAIN_NONE;

	plain_judge(t->p, pod, t->score, &v);
	for (uint32_t n = 0; n < PLAIN_NODES; n++)
		if (t->p->nodes[n].exists && v.whys[n] == 0 && (best == PLAIN_NONE || v.scores[n] > v.scores[best]))
			best = n;
	return best;
}

static void forget(struct trial *t, const uint32_t nodes[MEMBERS])
{
	for (uint32_t i = 0; i < t->members; i++)
		if (nodes[i] != PLAIN_NONE)
			t->p->pods[i].node = PLAIN_NONE;
}

/* Who has to start comes first: the first of each role, and of all whom no role needs. */
static uint32_t in_turn(const struct trial *t, uint32_t order[MEMBERS])
{
	struct need need = need_of(t);
	uint32_t n = 0, others[MEMBERS], others_n = 0;
	int free = need.all;

	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		free -= need.roles[r];
	for (uint32_t i = 0; i < t->members; i++) {
		uint32_t role = t->p->pods[i].role;

		if (!pending(t, i))
			continue;
		if (need.roles[role]-- > 0 || free-- > 0)
			order[n++] = i;
		else
			others[others_n++] = i;
	}
	for (uint32_t i = 0; i < others_n; i++)
		order[n++] = others[i];
	return n;
}

/* Member after member, each on its best node; how many. */
static uint32_t slow_plan(struct trial *t, uint32_t nodes[MEMBERS])
{
	uint32_t placed = 0, order[MEMBERS], n = in_turn(t, order);

	for (uint32_t i = 0; i < MEMBERS; i++)
		nodes[i] = PLAIN_NONE;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = order[k];

		nodes[i] = best_node(t, i);
		if (nodes[i] == PLAIN_NONE)
			break;
		t->p->pods[i].node = nodes[i];
		placed++;
	}
	forget(t, nodes);
	return placed;
}

static bool same_kind(const struct plain *p, uint32_t a, uint32_t b)
{
	const struct plain_pod *x = &p->pods[a], *y = &p->pods[b];

	return x->shape == y->shape && x->role == y->role && x->labels_n == y->labels_n &&
	       memcmp(x->labels, y->labels, x->labels_n * sizeof(x->labels[0])) == 0;
}

/* Is there any way, in any order, to place so many?  False when the judges ran out, too. */
static bool brute(struct trial *t, struct need need)
{
	struct plain_verdict v;
	bool found = need_met(&need);

	for (uint32_t i = 0; i < t->members && !found && t->judges > 0; i++) {
		struct need less = need;
		bool first = pending(t, i);

		for (uint32_t k = 0; k < i && first; k++)
			first = !(pending(t, k) && same_kind(t->p, i, k));
		if (!first)
			continue;
		t->judges--;
		need_add(&less, &t->p->pods[i]);
		plain_judge(t->p, i, t->score, &v);
		for (uint32_t n = 0; n < PLAIN_NODES && !found; n++) {
			if (!t->p->nodes[n].exists || v.whys[n] != 0)
				continue;
			t->p->pods[i].node = n;
			found = brute(t, less);
			t->p->pods[i].node = PLAIN_NONE;
		}
	}
	return found;
}

/* Can those that were bound have come one after the other, each where it was allowed? */
static bool sound(struct trial *t, const uint32_t nodes[MEMBERS], uint32_t left)
{
	struct plain_verdict v;
	bool found = left == 0;

	for (uint32_t i = 0; i < t->members && !found; i++) {
		if (nodes[i] == PLAIN_NONE || !pending(t, i))
			continue;
		plain_judge(t->p, i, t->score, &v);
		if (v.whys[nodes[i]] != 0)
			continue;
		t->p->pods[i].node = nodes[i];
		found = sound(t, nodes, left - 1);
		t->p->pods[i].node = PLAIN_NONE;
	}
	return found;
}

/* ---- comparing --------------------------------------------------------------------------------- */

static uint32_t told(const struct trial *t, uint32_t nodes[MEMBERS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		nodes[i] = i < t->members && pending(t, i) ? t->p->binds[i] : PLAIN_NONE;
		n += nodes[i] != PLAIN_NONE;
	}
	return n;
}

/* Are enough there to start, of each role? */
static bool could_start(const struct trial *t)
{
	struct need need = need_of(t);

	for (uint32_t i = 0; i < t->members; i++)
		if (pending(t, i))
			need_add(&need, &t->p->pods[i]);
	return need_met(&need);
}

static uint32_t waiting(const struct trial *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->members; i++)
		n += pending(t, i);
	return n;
}

/* Nothing was placed: was there a way? */
static void check_waits(struct trial *t, const struct need *need, struct seen *seen)
{
	const uint32_t why = t->p->reasons[0].why;
	bool found;

	seen->waited++;
	cr_assert(why == WHY_ROOM || why == WHY_GAVE_UP, "record %u: why %u", t->p->records, why);
	seen->gave_up += why == WHY_GAVE_UP;
	t->judges = BRUTE_JUDGES;
	found = brute(t, *need);
	if (t->judges == 0 && !found)
		return;
	seen->brute++;
	cr_assert(!found || why == WHY_GAVE_UP, "record %u: %d of %u can start, but are said not to", t->p->records, need->all,
	          t->members);
	seen->gave_up_wrongly += found;
}

static void check(struct trial *t, struct seen *seen)
{
	struct need need = need_of(t), left = need;
	uint32_t slow[MEMBERS], got[MEMBERS], slow_n = 0, got_n;

	if (!could_start(t))
		return;
	if (t->alike)
		slow_n = slow_plan(t, slow);
	plain_plan(t->p);
	got_n = told(t, got);
	seen->plans++;
	if (t->alike && (int)slow_n >= need.all) {
		for (uint32_t i = 0; i < t->members; i++)
			cr_assert_eq(got[i], slow[i], "record %u: member %u of %u went to %u, not to %u", t->p->records, i,
			             t->members, got[i], slow[i]);
		seen->equal++;
	}
	if (got_n == 0) {
		check_waits(t, &need, seen);
		return;
	}
	for (uint32_t i = 0; i < t->members; i++)
		if (got[i] != PLAIN_NONE)
			need_add(&left, &t->p->pods[i]);
	cr_assert(need_met(&left), "record %u: %u of %d", t->p->records, got_n, need.all);
	seen->with_roles += need.roles[1] + need.roles[2] > 0;
	cr_assert(sound(t, got, got_n), "record %u: a member is where it must not be", t->p->records);
	seen->begun_elsewhere += t->alike && (int)slow_n < need.all;
	seen->started++;
	plain_settle(t->p);
	cr_assert_not(core_wants_plan(t->p->core) && have(t) < t->quorum);
	/* Whoever is left has no room by himself. */
	plain_plan(t->p);
	for (uint32_t i = 0; i < t->members; i++)
		if (pending(t, i) && t->p->binds[i] == PLAIN_NONE)
			cr_assert_eq(best_node(t, i), PLAIN_NONE, "record %u: member %u waits for nothing", t->p->records, i);
	plain_settle(t->p);
}

/* ---- what happens ------------------------------------------------------------------------------ */

static bool one_in(struct random *r, uint32_t n)
{
	return random_below(r, n) == 0;
}

/* Rules between pods, and few that hide them. */
static void simplify(struct plain_shape *s, struct random *r)
{
	s->exclusives_n = one_in(r, 8) ? s->exclusives_n : 0;
	s->attachments_n = one_in(r, 8) ? s->attachments_n : 0;
	s->volume_rules_n = one_in(r, 8) ? s->volume_rules_n : 0;
	s->preferences_n = one_in(r, 4) ? s->preferences_n : 0;
	s->terms_n = one_in(r, 4) ? s->terms_n : 0;
	s->selector.n = one_in(r, 4) ? s->selector.n : 0;
	s->flags &= ~(uint32_t)SHAPE_NEEDS_RESTART_ALL;
	s->policy.flags &= ~(uint32_t)POLICY_UNSELECTED;
	s->spreads_n = one_in(r, 2) ? s->spreads_n : 0;
	for (uint32_t i = 0; i < s->pod_terms_n; i++) {
		if (one_in(r, 2))
			s->pod_terms[i].kind = one_in(r, 2) ? POD_TERM_ANTI_AFFINITY : POD_TERM_AFFINITY;
		if (s->pod_terms[i].kind < POD_TERM_PREFERRED)
			s->pod_terms[i].weight = 0;
	}
	for (uint32_t i = 0; i < s->spreads_n; i++)
		if (!(s->spreads[i].flags & SPREAD_DEFAULT) && one_in(r, 2))
			s->spreads[i].flags |= SPREAD_HARD;
}

/* Pods of such a shape carry app = 1 + shape % 3. */
static bool crafted(uint32_t shape)
{
	return shape % 4 != 0;
}

static struct plain_clauses app_is(uint32_t value)
{
	return (struct plain_clauses){ .n = 1, .at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_APP, .values = { value }, .values_n = 1 } } };
}

static void craft_policy(struct plain_shape *s, struct random *r, uint32_t topology, const struct plain_clauses *whom)
{
	s->policy = (struct plain_policy){ .given = true, .topology = topology, .labels = *whom,
		                           .flags = (one_in(r, 4) ? 0 : POLICY_REQUIRED) | (one_in(r, 2) ? POLICY_FILL : 0) };
	for (uint32_t i = 0; i < PLAIN_LIST; i++)
		s->policy.shares[s->policy.shares_n++] = (struct policy_share){
			topology == PLAIN_KEY_HOST ? 20 + i + random_below(r, 2) * (PLAIN_LIST - 1) * (i == PLAIN_LIST - 1) : 1 + i,
			one_in(r, 8) ? 0 : 1 + random_below(r, 3) };
}

/* One or two hard rules about its like or its neighbours, and nothing else that could bar it. */
static void craft(struct plain_shape *s, struct random *r, uint32_t id, bool policies)
{
	uint32_t rules = 1 + random_below(r, 2), cpu = 200 + 300 * random_below(r, 4);

	*s = (struct plain_shape){ .containers = 1, .amounts = { cpu }, .scored = { cpu, 209715200 },
		                   .placed = { cpu, 209715200 }, .flags = SHAPE_TOLERATES_CORDON };
	for (uint32_t i = 0; i < rules; i++) {
		uint32_t topology = PLAIN_KEY_ZONE + random_below(r, 3);
		struct plain_clauses whom = app_is(1 + (id + (one_in(r, 3) ? 1 + random_below(r, 2) : 0)) % 3);

		if ((policies ? i == 0 : one_in(r, 4)) && !s->policy.given)
			craft_policy(s, r, topology, &whom);
		else if (one_in(r, 3))
			s->spreads[s->spreads_n++] = (struct plain_spread){
				.topology = topology, .flags = SPREAD_HARD | (one_in(r, 2) ? SPREAD_HONORS_TAINTS : 0),
				.max_skew = 1 + random_below(r, 2), .min_domains = 1, .labels = whom };
		else
			s->pod_terms[s->pod_terms_n++] = (struct plain_term){
				.kind = one_in(r, policies ? 6 : 2) ? POD_TERM_AFFINITY : POD_TERM_ANTI_AFFINITY,
				.topology = topology, .labels = whom };
	}
}

/* Some members have a role, and some roles a quorum that these can make. */
static void random_roles(struct trial *t)
{
	uint32_t members[PLAIN_ROLES + 1] = { 0 };
	bool any = one_in(t->r, 2);

	for (uint32_t i = 0; i < t->members; i++) {
		t->p->pods[i].role = any ? random_below(t->r, PLAIN_ROLES + 1) : 0;
		members[t->p->pods[i].role]++;
	}
	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		t->p->roles[0][r] = t->roles[r] = members[r] > 0 && !one_in(t->r, 3) ? 1 + random_below(t->r, members[r]) : 0;
}

static void random_gang(struct trial *t)
{
	struct plain *p = t->p;
	uint32_t kinds = one_in(t->r, 2) ? 1 : 2 + random_below(t->r, 2);

	t->members = 1 + random_below(t->r, kinds == 1 ? MEMBERS : 4);
	t->quorum = one_in(t->r, 2) ? t->members : 1 + random_below(t->r, t->members);
	t->alike = kinds == 1;
	for (uint32_t i = 0; i < t->members; i++) {
		plain_random_pod(p, t->r, i);
		p->pods[i].gang = 1;
		if (crafted(p->pods[i].shape)) {
			p->pods[i].labels_n = 1;
			p->pods[i].labels[0] = (struct pod_label){ PLAIN_KEY_APP, 1 + p->pods[i].shape % 3 };
		}
		if (i >= kinds) {
			p->pods[i].shape = p->pods[i % kinds].shape;
			p->pods[i].labels_n = p->pods[i % kinds].labels_n;
			memcpy(p->pods[i].labels, p->pods[i % kinds].labels, sizeof(p->pods[i].labels));
		}
	}
	random_roles(t);
	plain_tell_gang(p, 0, t->quorum);
	for (uint32_t i = 0; i < t->members; i++)
		plain_tell_pod(p, i);
}

static void drop_gang(struct trial *t)
{
	for (uint32_t i = 0; i < t->members; i++)
		if (t->p->pods[i].exists)
			plain_drop_pod(t->p, i);
}

/* Somebody else comes, begins to leave or goes. */
static void change_other(struct trial *t)
{
	uint32_t id = OTHERS + random_below(t->r, PLAIN_PODS - OTHERS);
	struct plain_pod *pod = &t->p->pods[id];

	if (pod->exists && (pod->deleting || one_in(t->r, 2))) {
		plain_drop_pod(t->p, id);
		return;
	}
	if (pod->exists) {
		pod->deleting = true;
	} else {
		plain_random_pod(t->p, t->r, id);
		pod->node = random_below(t->r, PLAIN_NODES);
	}
	plain_tell_pod(t->p, id);
}

static void change_node(struct trial *t)
{
	uint32_t id = random_below(t->r, PLAIN_NODES);
	struct plain_node *n = &t->p->nodes[id];

	switch (random_below(t->r, 4)) {
	case 0:
		plain_random_node(t->p, t->r, id);
		break;
	case 1:
		n->flags ^= NODE_CORDONED;
		break;
	case 2:
		n->taints_n = one_in(t->r, 2);
		n->taints[0] = (struct taint){ PLAIN_KEY_TAINT, 1, one_in(t->r, 2) ? EFFECT_NO_SCHEDULE : EFFECT_NO_EXECUTE, 12 };
		break;
	default:
		n->amounts[RESOURCE_CPU] = 1000 + 1000 * random_below(t->r, 4);
	}
	plain_tell_node(t->p, id);
}

static void change(struct trial *t)
{
	uint32_t what = random_below(t->r, 12), id;

	if (what == 0) {
		id = random_below(t->r, PLAIN_NAMESPACES);
		t->p->namespaces[id] = (struct plain_namespace){ random_below(t->r, 3) > 0, random_below(t->r, 4) };
		plain_tell_namespace(t->p, id);
	} else if (what < 4) {
		change_node(t);
	} else {
		change_other(t);
	}
}

/* What is worked out anew from time to time finds nothing, so that it's the change itself that wakes
 * whoever it lets in. */
static void refresh(struct trial *t)
{
	uint32_t binds = t->p->binds_n;

	for (int i = 0; i < 2; i++) {
		plain_tick(t->p, UINT64_C(3000000000));
		plain_plan(t->p);
	}
	cr_assert_eq(t->p->binds_n, binds, "record %u: it waited for nothing", t->p->records);
}

/* A node that keeps nobody off but by its room: racks cross zones. */
static void make_open(struct plain_node *n, struct random *r, uint32_t id)
{
	n->exists = true;
	n->flags = 0;
	n->taints_n = 0;
	n->amounts[RESOURCE_CPU] = 600 + 600 * random_below(r, 3);
	n->amounts[RESOURCE_MEMORY] = INT64_C(8000000000);
	n->amounts[RESOURCE_PODS] = 10;
	n->labels_n = 4;
	n->labels[1] = (struct label){ PLAIN_KEY_ZONE, 1 + id % 2, LABEL_NOT_A_NUMBER };
	n->labels[2] = (struct label){ PLAIN_KEY_HOST, 20 + id, LABEL_NOT_A_NUMBER };
	n->labels[3] = (struct label){ PLAIN_KEY_RACK, 1 + random_below(r, 3), LABEL_NOT_A_NUMBER };
}

static void cluster(struct random *r, enum score_policy score, bool policies, struct seen *seen)
{
	struct trial t = { .p = plain_new(score), .r = r, .score = score };

	for (uint32_t i = 0; i < PLAIN_NODES; i++) {
		plain_random_node(t.p, r, i);
		t.p->nodes[i].taints_n = one_in(r, 3) ? t.p->nodes[i].taints_n : 0;
		if (policies)
			make_open(&t.p->nodes[i], r, i);
		plain_tell_node(t.p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++) {
		plain_random_shape(t.p, r, i);
		simplify(&t.p->shapes[i], r);
		if (crafted(i))
			craft(&t.p->shapes[i], r, i, policies && !one_in(r, 3));
	}
	plain_synced(t.p);
	for (uint32_t i = 0; i < 6; i++)
		change_other(&t);
	random_gang(&t);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		check(&t, seen);
		if (waiting(&t) == 0 || one_in(r, 5)) {
			drop_gang(&t);
			random_gang(&t);
		} else {
			refresh(&t);
			change(&t);
		}
	}
	plain_free(t.p);
}

static void clusters(const char *name, enum score_policy score, bool policies, uint32_t n)
{
	struct random r = random_start(name);
	struct seen seen = { 0 };

	for (uint32_t i = 0; i < n; i++)
		cluster(&r, score, policies, &seen);
	fprintf(stderr, "%s: %u plans, %u equal, %u started (%u not by the best nodes, %u with roles), %u waited (%u proved), %u gave up (%u wrongly)\n",
	        name, seen.plans, seen.equal, seen.started, seen.begun_elsewhere, seen.with_roles, seen.waited, seen.brute,
	        seen.gave_up, seen.gave_up_wrongly);
	cr_assert(seen.equal > 0 && seen.with_roles > 0 && seen.started > seen.equal && seen.brute > 0);
}

Test(plans, are_the_slow_planners)
{
	clusters("plans.kube", SCORE_KUBE, false, CLUSTERS);
}

Test(plans, are_the_slow_planners_when_packing)
{
	clusters("plans.pack", SCORE_PACK, false, CLUSTERS / 3);
}

Test(plans, are_the_slow_planners_when_fitting_best)
{
	clusters("plans.bestfit", SCORE_BESTFIT, false, CLUSTERS / 3);
}

/* Most shapes have one, and whom it counts may have another. */
Test(plans, are_the_slow_planners_with_policies)
{
	clusters("plans.policies", SCORE_KUBE, true, CLUSTERS);
}
