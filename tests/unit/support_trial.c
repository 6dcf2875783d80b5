/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_trial.h"
#include "tests/unit/test.h"

static bool trial_may(const struct trial *t, uint32_t node)
{
	return t->p->nodes[node].exists && (t->nodes >> node & 1);
}

bool trial_pending(const struct trial *t, uint32_t pod)
{
	return t->p->pods[pod].exists && t->p->pods[pod].node == PLAIN_NONE;
}

uint32_t trial_have(const struct trial *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->members; i++)
		n += t->p->pods[i].exists && t->p->pods[i].node != PLAIN_NONE && !t->p->pods[i].deleting;
	return n;
}

struct need trial_need(const struct trial *t)
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

void need_add(struct need *need, const struct plain_pod *pod)
{
	need->all--;
	need->roles[pod->role] -= pod->role > 0;
}

bool need_met(const struct need *need)
{
	bool met = need->all <= 0;

	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		met = met && need->roles[r] <= 0;
	return met;
}

uint32_t trial_best_node(const struct trial *t, uint32_t pod)
{
	struct plain_verdict v;
	uint32_t best = PLAIN_NONE;

	plain_evaluate(t->p, pod, t->score, &v);
	for (uint32_t n = 0; n < PLAIN_NODES; n++)
		if (trial_may(t, n) && v.whys[n] == 0 &&
		    (best == PLAIN_NONE || v.scores[n] > v.scores[best]))
			best = n;
	return best;
}

static void forget(struct trial *t, const uint32_t nodes[TRIAL_MEMBERS])
{
	for (uint32_t i = 0; i < t->members; i++)
		if (nodes[i] != PLAIN_NONE)
			t->p->pods[i].node = PLAIN_NONE;
}

/* Who has to start comes first: the first of each role, and of all whom no role needs. */
uint32_t trial_in_turn(const struct trial *t, uint32_t order[TRIAL_MEMBERS])
{
	struct need need = trial_need(t);
	uint32_t n = 0, others[TRIAL_MEMBERS], others_n = 0;
	int free = need.all;

	for (uint32_t r = 1; r <= PLAIN_ROLES; r++)
		free -= need.roles[r];
	for (uint32_t i = 0; i < t->members; i++) {
		uint32_t role = t->p->pods[i].role;

		if (!trial_pending(t, i))
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
uint32_t trial_slow_plan(struct trial *t, uint32_t nodes[TRIAL_MEMBERS])
{
	uint32_t placed = 0, order[TRIAL_MEMBERS], n = trial_in_turn(t, order);

	for (uint32_t i = 0; i < TRIAL_MEMBERS; i++)
		nodes[i] = PLAIN_NONE;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = order[k];

		nodes[i] = trial_best_node(t, i);
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

/* Is there any way, in any order, to place so many?  False when the evaluations ran out, too. */
bool trial_brute(struct trial *t, struct need need)
{
	struct plain_verdict v;
	bool found = need_met(&need);

	for (uint32_t i = 0; i < t->members && !found && t->evaluations > 0; i++) {
		struct need less = need;
		bool first = trial_pending(t, i);

		for (uint32_t k = 0; k < i && first; k++)
			first = !(trial_pending(t, k) && same_kind(t->p, i, k));
		if (!first)
			continue;
		t->evaluations--;
		need_add(&less, &t->p->pods[i]);
		plain_evaluate(t->p, i, t->score, &v);
		for (uint32_t n = 0; n < PLAIN_NODES && !found; n++) {
			if (!trial_may(t, n) || v.whys[n] != 0)
				continue;
			t->p->pods[i].node = n;
			found = trial_brute(t, less);
			t->p->pods[i].node = PLAIN_NONE;
		}
	}
	return found;
}

/* Can those that were bound have come one after the other, each where it was allowed? */
bool trial_sound(struct trial *t, const uint32_t nodes[TRIAL_MEMBERS], uint32_t left)
{
	struct plain_verdict v;
	bool found = left == 0;

	for (uint32_t i = 0; i < t->members && !found; i++) {
		if (nodes[i] == PLAIN_NONE || !trial_pending(t, i))
			continue;
		plain_evaluate(t->p, i, t->score, &v);
		if (v.whys[nodes[i]] != 0)
			continue;
		t->p->pods[i].node = nodes[i];
		found = trial_sound(t, nodes, left - 1);
		t->p->pods[i].node = PLAIN_NONE;
	}
	return found;
}

uint32_t trial_told(const struct trial *t, uint32_t nodes[TRIAL_MEMBERS])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < TRIAL_MEMBERS; i++) {
		nodes[i] = i < t->members && trial_pending(t, i) ? t->p->binds[i] : PLAIN_NONE;
		n += nodes[i] != PLAIN_NONE;
	}
	return n;
}

/* Are enough there to start, of each role? */
bool trial_could_start(const struct trial *t)
{
	struct need need = trial_need(t);

	for (uint32_t i = 0; i < t->members; i++)
		if (trial_pending(t, i))
			need_add(&need, &t->p->pods[i]);
	return need_met(&need);
}

uint32_t trial_waiting(const struct trial *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->members; i++)
		n += trial_pending(t, i);
	return n;
}

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
	return (struct plain_clauses){
		.n = 1,
		.at = { { .op = REQUIRE_IN, .key = PLAIN_KEY_APP, .values = { value }, .values_n = 1 } }
	};
}

static void craft_policy(struct plain_shape *s, struct random *r, uint32_t topology,
                         const struct plain_clauses *whom)
{
	s->policy = (struct plain_policy){ .given = true,
		                               .topology = topology,
		                               .labels = *whom,
		                               .flags = (one_in(r, 4) ? 0 : POLICY_REQUIRED) |
		                                        (one_in(r, 2) ? POLICY_FILL : 0) };
	for (uint32_t i = 0; i < PLAIN_LIST; i++)
		s->policy.shares[s->policy.shares_n++] = (struct policy_share){
			topology == PLAIN_KEY_HOST
				? 20 + i + random_below(r, 2) * (PLAIN_LIST - 1) * (i == PLAIN_LIST - 1)
				: 1 + i,
			one_in(r, 8) ? 0 : 1 + random_below(r, 3)
		};
}

/* One or two hard rules about its like or its neighbours, and nothing else that could bar it. */
static void craft(struct plain_shape *s, struct random *r, uint32_t id, bool policies)
{
	uint32_t rules = 1 + random_below(r, 2), cpu = 200 + 300 * random_below(r, 4);

	*s = (struct plain_shape){ .containers = 1,
		                       .amounts = { cpu },
		                       .scored = { cpu, 209715200 },
		                       .placed = { cpu, 209715200 },
		                       .flags = SHAPE_TOLERATES_CORDON };
	for (uint32_t i = 0; i < rules; i++) {
		uint32_t topology = PLAIN_KEY_ZONE + random_below(r, 3);
		struct plain_clauses whom =
			app_is(1 + (id + (one_in(r, 3) ? 1 + random_below(r, 2) : 0)) % 3);

		if ((policies ? i == 0 : one_in(r, 4)) && !s->policy.given)
			craft_policy(s, r, topology, &whom);
		else if (one_in(r, 3))
			s->spreads[s->spreads_n++] =
				(struct plain_spread){ .topology = topology,
				                       .flags =
				                           SPREAD_HARD | (one_in(r, 2) ? SPREAD_HONORS_TAINTS : 0),
				                       .max_skew = 1 + random_below(r, 2),
				                       .min_domains = 1,
				                       .labels = whom };
		else
			s->pod_terms[s->pod_terms_n++] =
				(struct plain_term){ .kind = one_in(r, policies ? 6 : 2) ? POD_TERM_AFFINITY
				                                                         : POD_TERM_ANTI_AFFINITY,
				                     .topology = topology,
				                     .labels = whom };
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
		t->p->roles[0][r] = t->roles[r] =
			members[r] > 0 && !one_in(t->r, 3) ? 1 + random_below(t->r, members[r]) : 0;
}

static void random_levels(struct trial *t)
{
	static const uint32_t keys[] = { PLAIN_KEY_ZONE, PLAIN_KEY_RACK, PLAIN_KEY_HOST };
	struct plain_levels *l = &t->p->levels[0];

	l->n = 0;
	for (uint32_t i = 0; i < 3; i++)
		if (one_in(t->r, 2 + i))
			l->at[l->n++] = (struct gang_level){ keys[one_in(t->r, 8) ? random_below(t->r, 3) : i],
				                                 one_in(t->r, 2) ? LEVEL_REQUIRED : 0 };
	if (l->n == 0)
		l->at[l->n++] = (struct gang_level){ keys[random_below(t->r, 2)],
			                                 one_in(t->r, 3) ? 0 : LEVEL_REQUIRED };
}

static void random_gang(struct trial *t)
{
	struct plain *p = t->p;
	uint32_t kinds = one_in(t->r, 2) ? 1 : 2 + random_below(t->r, 2);

	t->members = 1 + random_below(t->r, kinds == 1 ? TRIAL_MEMBERS : 4);
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
	if (t->with_levels)
		random_levels(t);
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

/* Nothing that weighs a node against others, and no rule between pods. */
static void tame_node(const struct trial *t, struct plain_node *n)
{
	for (uint32_t i = 0; t->plain && i < n->taints_n; i++)
		if (n->taints[i].effect == EFFECT_PREFER_NO_SCHEDULE)
			n->taints[i].effect = EFFECT_NO_SCHEDULE;
}

/* Racks, mostly, of one zone, so that they nest; some have names that other zones have, too. */
static void rack_nodes(const struct trial *t, struct plain_node *n)
{
	uint32_t zone = 0;

	for (uint32_t i = 0; t->with_levels && i < n->labels_n; i++) {
		zone = n->labels[i].key == PLAIN_KEY_ZONE ? n->labels[i].value : zone;
		if (n->labels[i].key == PLAIN_KEY_RACK && n->labels[i].value <= 2 && !one_in(t->r, 4))
			n->labels[i].value += 2 * zone;
	}
}

static void node_finish(const struct trial *t, struct plain_node *n)
{
	tame_node(t, n);
	rack_nodes(t, n);
}

static void tame_shape(struct plain_shape *s)
{
	s->pod_terms_n = s->spreads_n = s->preferences_n = s->exclusives_n = s->attachments_n = 0;
	s->policy.given = false;
}

/* Somebody else comes, begins to leave or goes. */
static void change_other(struct trial *t)
{
	uint32_t id = TRIAL_OTHERS + random_below(t->r, PLAIN_PODS - TRIAL_OTHERS);
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
		n->taints[0] =
			(struct taint){ PLAIN_KEY_TAINT, 1,
			                one_in(t->r, 2) ? EFFECT_NO_SCHEDULE : EFFECT_NO_EXECUTE, 12 };
		break;
	default:
		n->amounts[RESOURCE_CPU] = 1000 + 1000 * random_below(t->r, 4);
	}
	node_finish(t, n);
	plain_tell_node(t->p, id);
}

static void change(struct trial *t)
{
	uint32_t what = random_below(t->r, 12), id;

	if (what == 0) {
		id = random_below(t->r, PLAIN_NAMESPACES);
		t->p->namespaces[id] =
			(struct plain_namespace){ random_below(t->r, 3) > 0, random_below(t->r, 4) };
		plain_tell_namespace(t->p, id);
	} else if (what < 4) {
		change_node(t);
	} else {
		change_other(t);
	}
}

/* What is worked out anew from time to time finds nothing, so that it's the change itself that
 * wakes whoever it lets in. */
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

void trial_begin(struct trial *t)
{
	struct random *r = t->r;

	t->p = plain_new(t->score);
	t->nodes = UINT32_MAX;
	for (uint32_t i = 0; i < PLAIN_NODES; i++) {
		plain_random_node(t->p, r, i);
		t->p->nodes[i].taints_n = one_in(r, 3) ? t->p->nodes[i].taints_n : 0;
		if (t->with_policies)
			make_open(&t->p->nodes[i], r, i);
		node_finish(t, &t->p->nodes[i]);
		plain_tell_node(t->p, i);
	}
	for (uint32_t i = 0; i < PLAIN_SHAPES; i++) {
		plain_random_shape(t->p, r, i);
		simplify(&t->p->shapes[i], r);
		if (crafted(i))
			craft(&t->p->shapes[i], r, i, t->with_policies && !one_in(r, 3));
		if (t->plain)
			tame_shape(&t->p->shapes[i]);
	}
	plain_synced(t->p);
	for (uint32_t i = 0; i < 6; i++)
		change_other(t);
	random_gang(t);
}

/* One that has a node goes, and another comes in its place. */
static bool member_again(struct trial *t)
{
	const uint32_t id = random_below(t->r, t->members);
	struct plain_pod pod = t->p->pods[id];

	if (!pod.exists || pod.node == PLAIN_NONE)
		return false;
	plain_drop_pod(t->p, id);
	pod.generation++;
	pod.node = PLAIN_NONE;
	t->p->pods[id] = pod;
	plain_tell_pod(t->p, id);
	return true;
}

void trial_next(struct trial *t)
{
	if (t->with_levels && one_in(t->r, 2) && member_again(t)) {
		if (one_in(t->r, 2))
			change(t);
	} else if (trial_waiting(t) == 0 || one_in(t->r, 5)) {
		drop_gang(t);
		random_gang(t);
	} else {
		refresh(t);
		change(t);
	}
}
