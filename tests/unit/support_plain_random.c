/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters full of edges: few values of everything, so that rules meet. */
#include "tests/unit/support_plain.h"

#include <string.h>

static bool one_in(struct random *r, uint32_t n)
{
	return random_below(r, n) == 0;
}

/* 0 .. most, mostly 0. */
static uint32_t few(struct random *r, uint32_t most)
{
	return one_in(r, 3) ? random_below(r, most + 1) : 0;
}

static void add_label(struct plain_node *n, uint32_t key, uint32_t value, int64_t number)
{
	n->labels[n->labels_n++] = (struct label){ key, value, number };
}

static void random_labels(struct plain_node *n, struct random *r, uint32_t id)
{
	static const int64_t sizes[] = { LABEL_NOT_A_NUMBER, INT64_MAX, -1, 0, 7, 8 };
	uint32_t size = random_below(r, 6);

	add_label(n, LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + id, LABEL_NOT_A_NUMBER);
	if (!one_in(r, 6))
		add_label(n, PLAIN_KEY_ZONE, 1 + random_below(r, 3), LABEL_NOT_A_NUMBER);
	if (!one_in(r, 8))
		add_label(n, PLAIN_KEY_HOST, one_in(r, 10) ? 1 : 20 + id, LABEL_NOT_A_NUMBER);
	if (one_in(r, 2))
		add_label(n, PLAIN_KEY_RACK, 1 + random_below(r, 2), LABEL_NOT_A_NUMBER);
	if (!one_in(r, 3))
		add_label(n, PLAIN_KEY_SIZE, 10 + size, sizes[size]);
	if (one_in(r, 12))
		add_label(n, PLAIN_KEY_RARE, 1 + random_below(r, 2), LABEL_NOT_A_NUMBER);
}

void plain_random_node(struct plain *p, struct random *r, uint32_t id)
{
	struct plain_node *n = &p->nodes[id];

	*n = (struct plain_node){ .exists = !one_in(r, 10) };
	n->flags = (one_in(r, 8) ? NODE_CORDONED : 0) | (one_in(r, 2) ? NODE_RESTARTS_ALL : 0);
	n->amounts[RESOURCE_CPU] = one_in(r, 20) ? 0 : 1000 + 1000 * random_below(r, 4);
	n->amounts[RESOURCE_MEMORY] =
		one_in(r, 20) ? 0 : INT64_C(1000000000) + random_below(r, 3) * INT64_C(777777777);
	n->amounts[RESOURCE_PODS] = 2 + random_below(r, 12);
	n->amounts[RESOURCE_EXTENDED] = random_below(r, 3);
	random_labels(n, r, id);
	n->taints_n = few(r, 3);
	for (uint32_t i = 0; i < n->taints_n; i++)
		n->taints[i] = (struct taint){ PLAIN_KEY_TAINT + random_below(r, 2), 1 + random_below(r, 2),
			                           one_in(r, 4)   ? EFFECT_NO_EXECUTE
			                           : one_in(r, 2) ? EFFECT_NO_SCHEDULE
			                                          : EFFECT_PREFER_NO_SCHEDULE,
			                           12 };
	for (uint32_t image = 1; image <= 3; image++)
		if (one_in(r, 2))
			n->images[n->images_n++] =
				(struct node_image){ .image = image, .bytes = INT64_C(123456789) * image * image };
	for (uint32_t driver = 1; driver <= 2; driver++)
		if (one_in(r, 2))
			n->limits[n->limits_n++] = (struct attach_limit){ driver, random_below(r, 4) };
	n->attached_n = few(r, 2);
	for (uint32_t i = 0; i < n->attached_n; i++)
		n->attached[i] = (struct attachment){ 1 + i, 1 + random_below(r, 4) };
}

static struct plain_requirement node_requirement(struct random *r)
{
	static const int64_t numbers[] = { -1, 0, 6, 7, INT64_MAX };
	struct plain_requirement q = { .op = random_below(r, REQUIRE_OPS) };

	q.key = PLAIN_KEY_ZONE + random_below(r, 4);
	if (one_in(r, 12))
		q.key = LABEL_KEY_NODE_NAME;
	if (q.op == REQUIRE_GT || q.op == REQUIRE_LT) {
		q.key = PLAIN_KEY_SIZE;
		q.number = numbers[random_below(r, 5)];
	}
	q.values_n = q.op <= REQUIRE_NOT_IN ? 1 + random_below(r, 2) : 0;
	for (uint32_t i = 0; i < q.values_n; i++)
		q.values[i] = q.key == LABEL_KEY_NODE_NAME
		                  ? PLAIN_VALUE_NODE + random_below(r, PLAIN_NODES + 2)
		              : q.key == PLAIN_KEY_SIZE ? 10 + random_below(r, 6)
		              : q.key == PLAIN_KEY_HOST ? 20 + random_below(r, PLAIN_NODES)
		                                        : 1 + random_below(r, 3);
	return q;
}

static struct plain_clauses node_clauses(struct random *r, uint32_t least)
{
	struct plain_clauses c = { .n = least + random_below(r, 2) };

	for (uint32_t i = 0; i < c.n; i++)
		c.at[i] = node_requirement(r);
	return c;
}

static void random_node_rules(struct plain_shape *s, struct random *r)
{
	static const uint32_t whys[] = { FILTER_VOLUME_NODE, FILTER_VOLUME_BIND, FILTER_VOLUME_SPACE,
		                             FILTER_VOLUME_GONE, FILTER_VOLUME_ZONE };
	bool names = one_in(r, 10);

	if (one_in(r, 6))
		s->selector = node_clauses(r, 1);
	s->terms_n = names ? 1 + random_below(r, 2) : few(r, 3);
	for (uint32_t i = 0; i < s->terms_n; i++) {
		s->terms[i] = node_clauses(r, one_in(r, 10) ? 0 : 1);
		for (uint32_t k = 0; names && k < s->terms[i].n; k++)
			s->terms[i].at[k] = (struct plain_requirement){
				.op = REQUIRE_IN,
				.key = LABEL_KEY_NODE_NAME,
				.values_n = 1,
				.values = { PLAIN_VALUE_NODE + random_below(r, PLAIN_NODES + 2) }
			};
	}
	s->preferences_n = few(r, 3);
	for (uint32_t i = 0; i < s->preferences_n; i++)
		s->preferences[i] =
			(struct plain_preference){ 1 + (int32_t)random_below(r, 100), node_clauses(r, 1) };
	s->tolerations_n = few(r, 3);
	for (uint32_t i = 0; i < s->tolerations_n; i++)
		s->tolerations[i] =
			(struct toleration){ one_in(r, 5) ? TOLERATE_EVERY_KEY
			                                  : PLAIN_KEY_TAINT + random_below(r, 2),
			                     1 + random_below(r, 2), one_in(r, 2), random_below(r, 4) };
	s->volume_rules_n = one_in(r, 6) ? 1 + random_below(r, 3) : 0;
	for (uint32_t i = 0; i < s->volume_rules_n; i++) {
		s->volume_rules[i] =
			(struct plain_volume_rule){ .why = whys[random_below(r, 5)], .n = random_below(r, 3) };
		for (uint32_t k = 0; k < s->volume_rules[i].n; k++)
			s->volume_rules[i].alternatives[k] = node_clauses(r, 1);
	}
}

static void random_things(struct plain_shape *s, struct random *r)
{
	s->ports_n = few(r, 2);
	for (uint32_t i = 0; i < s->ports_n; i++)
		s->ports[i] = (struct host_port){ one_in(r, 2) ? PORT_EVERY_ADDRESS : random_below(r, 2),
			                              random_below(r, 2), 80 + random_below(r, 2), 0 };
	s->containers = 1 + random_below(r, 2);
	s->images_n = random_below(r, 3);
	for (uint32_t i = 0; i < s->images_n; i++)
		s->images[i] = 1 + random_below(r, 4);
	s->attachments_n = few(r, 2);
	for (uint32_t i = 0; i < s->attachments_n; i++)
		s->attachments[i] = (struct attachment){ 1 + random_below(r, 2), 1 + random_below(r, 4) };
	if (one_in(r, 5)) {
		bool claim = one_in(r, 2);

		s->exclusives_n = 1;
		s->exclusives[0] = (struct exclusive){ (claim ? 60 : 50) + random_below(r, 3),
			                                   claim          ? EXCLUSIVE_CLAIM
			                                   : one_in(r, 2) ? EXCLUSIVE_SHARED
			                                                  : 0 };
	}
}

static void random_amounts(struct plain_shape *s, struct random *r)
{
	if (!one_in(r, 4))
		s->amounts[RESOURCE_CPU] = 1 + 333 * random_below(r, 4);
	if (!one_in(r, 4))
		s->amounts[RESOURCE_MEMORY] = 1 + INT64_C(111111111) * random_below(r, 4);
	s->amounts[RESOURCE_EXTENDED] = one_in(r, 5);
	s->scored[0] = s->amounts[RESOURCE_CPU] ? s->amounts[RESOURCE_CPU] : 100;
	s->scored[1] = s->amounts[RESOURCE_MEMORY] ? s->amounts[RESOURCE_MEMORY] : 209715200;
	for (uint32_t i = 0; i < 2; i++)
		s->placed[i] = one_in(r, 4) ? s->scored[i] / (1 + random_below(r, 3)) : s->scored[i];
}

static struct plain_clauses pod_clauses(struct random *r, uint32_t least)
{
	struct plain_clauses c = { .n = least + random_below(r, 2) };

	for (uint32_t i = 0; i < c.n; i++) {
		struct plain_requirement *q = &c.at[i];

		q->op = one_in(r, 2) ? REQUIRE_IN : random_below(r, REQUIRE_NOT_EXISTS + 1);
		q->key = PLAIN_KEY_APP + random_below(r, 2);
		q->values_n = q->op <= REQUIRE_NOT_IN ? 1 + random_below(r, 2) : 0;
		for (uint32_t k = 0; k < q->values_n; k++)
			q->values[k] = 1 + random_below(r, 3);
	}
	return c;
}

static uint32_t topology_key(struct random *r)
{
	if (one_in(r, 8))
		return one_in(r, 2) ? PLAIN_KEY_RARE : PLAIN_KEY_NOWHERE;
	return PLAIN_KEY_ZONE + random_below(r, 3);
}

static struct plain_term random_term(struct random *r)
{
	struct plain_term t = { .kind = random_below(r, POD_TERM_KINDS), .topology = topology_key(r) };

	if (t.kind >= POD_TERM_PREFERRED)
		t.weight = 1 + (int32_t)random_below(r, 100);
	t.nothing = one_in(r, 12);
	if (!t.nothing)
		t.labels = pod_clauses(r, one_in(r, 8) ? 0 : 1);
	if (one_in(r, 4))
		t.namespaces[t.namespaces_n++] = random_below(r, PLAIN_NAMESPACES);
	if (one_in(r, 8)) {
		t.every = true;
	} else if (one_in(r, 5)) {
		t.chosen = true;
		t.namespace_labels = pod_clauses(r, 1);
		for (uint32_t i = 0; i < t.namespace_labels.n; i++)
			t.namespace_labels.at[i].key = PLAIN_KEY_TEAM;
	}
	return t;
}

static void random_spreads(struct plain_shape *s, struct random *r)
{
	if (one_in(r, 3)) {
		struct plain_clauses labels = pod_clauses(r, 1);

		s->spreads[s->spreads_n++] =
			(struct plain_spread){ PLAIN_KEY_HOST, SPREAD_DEFAULT | SPREAD_BY_NODE, 3, 1, labels };
		s->spreads[s->spreads_n++] =
			(struct plain_spread){ PLAIN_KEY_ZONE, SPREAD_DEFAULT, 5, 1, labels };
		return;
	}
	s->spreads_n = 1 + random_below(r, 3);
	for (uint32_t i = 0; i < s->spreads_n; i++) {
		struct plain_spread *t = &s->spreads[i];

		*t = (struct plain_spread){ .topology = topology_key(r),
			                        .max_skew = 1 + random_below(r, 3),
			                        .min_domains = one_in(r, 3) ? 1 + random_below(r, 4) : 1 };
		t->flags = (one_in(r, 2) ? SPREAD_HARD : 0) | (one_in(r, 3) ? SPREAD_IGNORES_AFFINITY : 0) |
		           (one_in(r, 3) ? SPREAD_HONORS_TAINTS : 0) |
		           (one_in(r, 10) ? SPREAD_MATCHES_NOTHING : 0) |
		           (t->topology == PLAIN_KEY_HOST ? SPREAD_BY_NODE : 0);
		if (!(t->flags & SPREAD_MATCHES_NOTHING))
			t->labels = pod_clauses(r, one_in(r, 6) ? 0 : 1);
	}
}

static void random_policy(struct plain_shape *s, struct random *r)
{
	struct plain_policy *policy = &s->policy;

	*policy = (struct plain_policy){ .given = true,
		                             .topology = topology_key(r),
		                             .labels = pod_clauses(r, one_in(r, 4) ? 0 : 1) };
	policy->flags = (one_in(r, 2) ? POLICY_REQUIRED : 0) | (one_in(r, 2) ? POLICY_FILL : 0) |
	                (one_in(r, 12) ? POLICY_UNSELECTED : 0);
	for (uint32_t value = 1; value <= 3; value++)
		if (!one_in(r, 5) && policy->topology != PLAIN_KEY_HOST)
			policy->shares[policy->shares_n++] = (struct policy_share){ value, random_below(r, 7) };
	for (uint32_t node = random_below(r, 2);
	     node < PLAIN_NODES && policy->topology == PLAIN_KEY_HOST; node += 2)
		policy->shares[policy->shares_n++] = (struct policy_share){ 20 + node, random_below(r, 4) };
}

void plain_random_shape(struct plain *p, struct random *r, uint32_t id)
{
	struct plain_shape *s = &p->shapes[id];

	*s = (struct plain_shape){ .namespace = random_below(r, PLAIN_NAMESPACES) };
	s->flags =
		(one_in(r, 4) ? SHAPE_TOLERATES_CORDON : 0) | (one_in(r, 8) ? SHAPE_NEEDS_RESTART_ALL : 0);
	random_amounts(s, r);
	/* A rule in the way hides those that come after it. */
	if (one_in(r, 2))
		random_node_rules(s, r);
	if (one_in(r, 2))
		random_things(s, r);
	else
		s->containers = 1;
	if (one_in(r, 2)) {
		s->pod_terms_n = 1 + random_below(r, 3);
		for (uint32_t i = 0; i < s->pod_terms_n; i++)
			s->pod_terms[i] = random_term(r);
	}
	if (one_in(r, 2))
		random_spreads(s, r);
	if (one_in(r, 4))
		random_policy(s, r);
}

void plain_random_pod(struct plain *p, struct random *r, uint32_t id)
{
	struct plain_pod *pod = &p->pods[id];
	uint32_t generation = pod->generation + 1;

	*pod = (struct plain_pod){ .exists = true,
		                       .generation = generation,
		                       .node = PLAIN_NONE,
		                       .shape = random_below(r, PLAIN_SHAPES) };
	for (uint32_t key = PLAIN_KEY_APP; key <= PLAIN_KEY_TIER; key++)
		if (!one_in(r, 4))
			pod->labels[pod->labels_n++] = (struct pod_label){ key, 1 + random_below(r, 3) };
}

/* A bound pod stays so until it is deleted; it gets a deletionTimestamp at any time. */
static void change_pod(struct plain *p, struct random *r)
{
	uint32_t id = random_below(r, PLAIN_PODS);
	struct plain_pod *pod = &p->pods[id];

	if (!pod->exists) {
		plain_random_pod(p, r, id);
	} else if (pod->node == PLAIN_NONE) {
		pod->node = random_below(r, PLAIN_NODES);
	} else if (!pod->deleting && random_below(r, 3) == 0) {
		pod->deleting = true;
	} else {
		plain_drop_pod(p, id);
		return;
	}
	plain_tell_pod(p, id);
}

void plain_random_change(struct plain *p, struct random *r, uint32_t one_in)
{
	uint32_t what = random_below(r, one_in), id;

	if (what == 0) {
		id = random_below(r, PLAIN_NODES);
		plain_random_node(p, r, id);
		plain_tell_node(p, id);
	} else if (what == 1) {
		id = random_below(r, PLAIN_NAMESPACES);
		p->namespaces[id] = (struct plain_namespace){ random_below(r, 3) > 0, random_below(r, 4) };
		plain_tell_namespace(p, id);
	} else {
		change_pod(p, r);
	}
}
