/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_truth.h"

#include "core/shm/records.h"
#include "frontend/model/shapes/shapes.h"

static bool is_known(const struct pod_truth *p)
{
	return p->exists && !p->ended && (p->ours || p->node >= 0);
}

static bool text_allows(const struct pod_truth *p, const struct node_truth *n, int node)
{
	int label = n->labels[p->key];

	if (n->cordoned || (n->taint >= 0 && n->taint != p->tolerates))
		return false;
	switch (p->rule) {
	case RULE_SELECTOR:
		return label == p->value;
	case RULE_NOT_IN:
		return label < 0 || label != p->value;
	case RULE_EXISTS:
		return label >= 0;
	case RULE_NAME:
		return node == p->value;
	case RULE_GT:
		return label >= 0 && label > p->value;
	default:
		return true;
	}
}

static bool selects(const struct service_truth *v, const struct pod_truth *p)
{
	bool any = false;

	for (int k = 0; v->exists && k < PAIRS; k++) {
		if (v->selects[k] >= 0 && v->selects[k] != p->labels[k])
			return false;
		any |= v->selects[k] >= 0;
	}
	return any;
}

/* The default constraints count by the pairs of all services that select the pod. */
static void same_spread(struct truth *t, const struct pod_truth *p, const struct event_pod *e)
{
	struct shape_record r;
	uint32_t pairs = 0;

	replay_parts(&t->replay, e, &r);
	for (int k = 0; k < PAIRS && !p->spreads && p->ours && p->node < 0; k++) {
		bool asked = false;

		for (int i = 0; i < SERVICES; i++)
			asked |= selects(&t->services[i], p) && t->services[i].selects[k] >= 0;
		pairs += asked;
	}
	if (pairs == 0) {
		cr_assert_eq(r.body->spreads_n, p->spreads && p->ours && p->node < 0);
		cr_assert(r.body->spreads_n == 0 || !(r.spreads[0].flags & SPREAD_DEFAULT));
		return;
	}
	cr_assert_eq(r.body->spreads_n, 2);
	cr_assert_eq(r.spreads[0].clauses.n, pairs);
	for (uint32_t i = 0; i < pairs; i++) {
		const struct requirement *q = &r.clauses[r.spreads[1].clauses.first + i];
		const char *key = intern_text(&t->m->keys, q->key);

		cr_assert(q->op == REQUIRE_IN && q->values_n == 1 && key[0] == 'l');
		cr_assert_eq(atoi(intern_text(&t->m->values, r.values[q->values_first])),
		             p->labels[key[1] - '0']);
	}
}

/* The policy that must be in the pod's shape. */
static const struct policy_truth *good_policy(const struct truth *t, const struct pod_truth *p)
{
	bool named = p->policy >= 0 && p->policy < POLICIES && p->ours && p->node < 0;

	return named && t->policies[p->policy].exists && !t->policies[p->policy].bad
	           ? &t->policies[p->policy]
	           : NULL;
}

static void same_policy(struct truth *t, const struct pod_truth *p, const struct event_pod *e)
{
	const struct policy_truth *y = good_policy(t, p);
	struct shape_record r;

	replay_parts(&t->replay, e, &r);
	cr_assert_eq(r.body->policies_n, y != NULL);
	cr_assert_eq(r.body->shares_n, y ? (uint32_t)y->shares : 0);
	if (!y)
		return;
	cr_assert_eq(r.policies[0].flags,
	             (y->fill ? POLICY_FILL : 0u) | (y->required ? POLICY_REQUIRED : 0u) |
	                 (y->selects >= 0 && y->selects != p->labels[0] ? POLICY_UNSELECTED : 0u));
	cr_assert_str_eq(intern_text(&t->m->keys, r.policies[0].topology), "k1");
	cr_assert_eq(r.policies[0].clauses.n, y->selects >= 0);
	for (uint32_t i = 0; i < r.body->shares_n; i++)
		cr_assert_eq(
			r.shares[i].replicas,
			(uint32_t)(atoi(intern_text(&t->m->values, r.shares[i].value)) + y->version % 3));
}

static void same_labels(struct truth *t, const struct pod_truth *p, const struct event_pod *e)
{
	uint32_t n = 1 + (p->group >= 0) + (p->policy >= 0);

	for (int k = 0; k < PAIRS; k++)
		n += p->labels[k] >= 0;
	cr_assert_eq(e->labels_n, n);
	cr_assert_str_eq(intern_text(&t->m->values, e->namespace), "ns");
	for (uint32_t i = 0; i < n; i++) {
		const char *key = intern_text(&t->m->keys, replay_pod_labels(e)[i].key);

		if (key[0] == 'l')
			cr_assert_eq(atoi(intern_text(&t->m->values, replay_pod_labels(e)[i].value)),
			             p->labels[key[1] - '0']);
	}
}

static void same_pod(struct truth *t, int i, size_t *found)
{
	const struct pod_truth *p = &t->pods[i];
	const struct event_pod *e;
	const struct event_shape *s;
	char name[16], group[16];

	snprintf(name, sizeof(name), "ns/p%d", i);
	e = replay_pod(&t->replay, name);
	cr_assert_eq(e != NULL, is_known(p), "%s", name);
	if (!e)
		return;
	++*found;
	cr_assert_eq(
		e->flags & ~(uint32_t)POD_BINDING,
		(p->ours ? POD_OURS : 0u) | (p->gated ? POD_GATED : 0u) |
			(p->deleting ? POD_DELETING : POD_LASTS) |
			(p->policy >= 0 && p->ours && p->node < 0 && !good_policy(t, p) ? POD_REFUSED : 0u));
	cr_assert_eq(e->priority, p->priority);
	snprintf(group, sizeof(group), "ns/g%d", p->group);
	cr_assert_eq(e->gang,
	             p->group >= 0 && p->ours ? replay_gang(&t->replay, group)->gang : ID_NONE);
	snprintf(name, sizeof(name), "n%d", p->node);
	if (!(e->flags & POD_BINDING))
		cr_assert_eq(e->node, p->node >= 0 ? replay_node(&t->replay, name)->node : ID_NONE);
	same_labels(t, p, e);
	same_spread(t, p, e);
	same_policy(t, p, e);
	s = replay_shape(&t->replay, e);
	cr_assert_eq(replay_amount(&t->replay, replay_shape_amounts(s), s->amounts_n, "cpu"),
	             p->cpu > 0 ? p->cpu * 1000 : -1);
	snprintf(name, sizeof(name), "example.com/g%d", p->cpu % 4);
	cr_assert_eq(replay_amount(&t->replay, replay_shape_amounts(s), s->amounts_n, name), 1);
	for (int n = 0; n < NODES && p->ours && p->node < 0; n++) {
		const struct event_node *node;

		snprintf(name, sizeof(name), "n%d", n);
		node = replay_node(&t->replay, name);
		if (node && (node->flags & NODE_PRESENT))
			cr_assert_eq(replay_allows(s, node), text_allows(p, &t->nodes[n], n), "p%d on n%d", i,
			             n);
	}
}

static void same_node(struct truth *t, int i, size_t *found)
{
	const struct node_truth *n = &t->nodes[i];
	bool is_named = false;
	const struct event_node *e;
	char name[16];

	for (int p = 0; p < PODS; p++)
		is_named |= is_known(&t->pods[p]) && (t->pods[p].node == i || t->pods[p].binding == i);
	snprintf(name, sizeof(name), "n%d", i);
	e = replay_node(&t->replay, name);
	cr_assert_eq(e != NULL, n->exists || is_named, "%s: %d, %d", name, n->exists, is_named);
	if (!e)
		return;
	++*found;
	cr_assert_eq(e->flags,
	             n->exists && !n->bad ? NODE_PRESENT | (n->cordoned ? NODE_CORDONED : 0u) : 0u,
	             "%s: flags %u, exists %d, bad %d: %s", name, e->flags, n->exists, n->bad, n->json);
	if (!(e->flags & NODE_PRESENT))
		return;
	cr_assert_eq(replay_amount(&t->replay, replay_node_amounts(e), e->amounts_n, "cpu"),
	             n->cpu * 1000);
	snprintf(name, sizeof(name), "example.com/g%d", n->gpu % 3);
	cr_assert_eq(replay_amount(&t->replay, replay_node_amounts(e), e->amounts_n, name),
	             n->gpu > 0 ? n->gpu : -1);
	cr_assert_eq(e->taints_n, n->taint >= 0);
	if (n->taint >= 0) {
		snprintf(name, sizeof(name), "t%d: x", n->taint);
		cr_assert_str_eq(model_name(t->m, replay_taints(e)[0].name), name);
	}
}

static void same_group(struct truth *t, int i, size_t *found)
{
	const struct group_truth *g = &t->groups[i];
	const struct event_gang *e;
	bool is_named = false;
	char name[20];

	for (int p = 0; p < PODS; p++)
		is_named |= is_known(&t->pods[p]) && t->pods[p].ours && t->pods[p].group == i;
	snprintf(name, sizeof(name), "ns/g%d", i);
	e = replay_gang(&t->replay, name);
	cr_assert_eq(e != NULL, g->exists || is_named, "%s", name);
	if (!e)
		return;
	++*found;
	cr_assert_eq(e->flags & ~(uint32_t)(GANG_WHOLE | GANG_ENDED_COUNT),
	             g->exists ? 0u : GANG_OBJECT_MISSING);
	cr_assert_eq(e->quorum, g->exists ? (uint32_t)g->min : 0);
	snprintf(name, sizeof(name), "example.com/h%d", g->gpu % 2);
	cr_assert_eq(replay_amount(&t->replay, replay_gang_amounts(e), e->amounts_n, name),
	             g->exists && g->gpu > 0 ? g->gpu : -1);
}

static void same_namespace(struct truth *t)
{
	const struct event_namespace *e;
	const struct pod_label *l;

	cr_assert_eq(t->replay.namespaces_n, t->namespace.exists);
	if (!t->namespace.exists)
		return;
	e = (const void *)t->replay.namespaces[0].body;
	l = (const void *)(e + 1);
	cr_assert_eq(e->labels_n, 1);
	cr_assert_str_eq(intern_text(&t->m->values, e->name), "ns");
	cr_assert_eq(atoi(intern_text(&t->m->values, l->value)), t->namespace.team);
}

/* The core has the shapes of pods, and a quarter of the table at most while others are idle. */
static void same_shapes(struct truth *t)
{
	const struct limits *l = &t->replay.limits;
	uint32_t idle = 0, n = 0;

	for (uint32_t i = 0; i < l->shapes; i++) {
		bool is_used = i == t->m->shape_empty, is_idle;

		for (uint32_t p = 0; p < l->pods; p++)
			is_used |= t->replay.pods[p].body &&
			           ((struct event_pod *)(void *)t->replay.pods[p].body)->shape == i;
		is_idle = i < t->m->shapes.pool.n && shape_at(t->m, i)->entry.slot.list == SHAPES_IDLE;
		cr_assert_eq(t->replay.shapes[i].generation != 0, is_used || is_idle, "shape %u", i);
		cr_assert(!is_used || !is_idle, "shape %u", i);
		idle += is_idle;
		n += is_used || is_idle;
	}
	cr_assert(idle == 0 || n <= l->shapes / 4, "%u idle of %u shapes", idle, n);
}

void truth_check(struct truth *t)
{
	const struct limits *l = &t->replay.limits;
	size_t pods = 0, nodes = 0, groups = 0;

	for (int i = 0; i < GROUPS; i++)
		same_group(t, i, &groups);
	for (int i = 0; i < NODES; i++)
		same_node(t, i, &nodes);
	for (int i = 0; i < PODS; i++)
		same_pod(t, i, &pods);
	same_namespace(t);
	cr_assert_eq(replay_count(t->replay.pods, l->pods), pods);
	cr_assert_eq(replay_count(t->replay.nodes, l->nodes), nodes);
	cr_assert_eq(replay_count(t->replay.gangs, l->gangs), groups);
	same_shapes(t);
}
