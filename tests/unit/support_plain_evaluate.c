/* SPDX-License-Identifier: Apache-2.0 */
/* What kube-scheduler would say, by loops over pods and nodes.  Written from its rules and
 * not from core/: nothing here is counted in advance. */
#include "tests/unit/support_plain.h"

#include <math.h>
#include <string.h>

struct asked {
	const struct plain *p;
	const struct plain_pod *pod;
	const struct plain_shape *shape;
};

/* found: the label is there, with that value and number. */
static bool requirement_holds(const struct plain_requirement *q, bool found, uint32_t value,
                              int64_t number)
{
	bool among = false;

	for (uint32_t i = 0; i < q->values_n; i++)
		among = among || q->values[i] == value;
	switch (q->op) {
	case REQUIRE_IN:
		return found && among;
	case REQUIRE_NOT_IN:
		return !(found && among);
	case REQUIRE_EXISTS:
		return found;
	case REQUIRE_NOT_EXISTS:
		return !found;
	case REQUIRE_GT:
		return found && number != LABEL_NOT_A_NUMBER && number > q->number;
	default:
		return found && number != LABEL_NOT_A_NUMBER && number < q->number;
	}
}

static const struct label *node_label(const struct plain_node *n, uint32_t key)
{
	for (uint32_t i = 0; i < n->labels_n; i++)
		if (n->labels[i].key == key)
			return &n->labels[i];
	return NULL;
}

static bool node_matches(const struct plain_clauses *c, const struct plain_node *n)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct label *l = node_label(n, c->at[i].key);

		if (!requirement_holds(&c->at[i], l, l ? l->value : 0, l ? l->number : 0))
			return false;
	}
	return true;
}

static bool labels_match(const struct plain_clauses *c, const struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct pod_label *found = NULL;

		for (uint32_t l = 0; l < n; l++)
			if (labels[l].key == c->at[i].key)
				found = &labels[l];
		if (!requirement_holds(&c->at[i], found, found ? found->value : 0, LABEL_NOT_A_NUMBER))
			return false;
	}
	return true;
}

static uint32_t namespace_of(const struct plain *p, const struct plain_pod *pod)
{
	return p->shapes[pod->shape].namespace;
}

static bool namespace_matches(const struct plain *p, const struct plain_term *t, uint32_t own,
                              uint32_t namespace, bool incoming)
{
	const struct plain_namespace *object = &p->namespaces[namespace];
	struct pod_label label = { PLAIN_KEY_TEAM, object->label };

	if (t->every)
		return true;
	for (uint32_t i = 0; i < t->namespaces_n; i++)
		if (t->namespaces[i] == namespace)
			return true;
	if (!t->chosen)
		return t->namespaces_n == 0 && namespace == own;
	if (incoming && labels_match(&t->namespace_labels, NULL, 0))
		return true;
	return labels_match(&t->namespace_labels, &label, object->exists && object->label);
}

/* Does the term of `holder` speak of `other`? */
static bool term_matches(const struct plain *p, const struct plain_term *t,
                         const struct plain_pod *holder, const struct plain_pod *other,
                         bool incoming)
{
	return !t->nothing && labels_match(&t->labels, other->labels, other->labels_n) &&
	       namespace_matches(p, t, namespace_of(p, holder), namespace_of(p, other), incoming);
}

static bool counts(const struct plain *p, const struct plain_pod *pod)
{
	return pod->exists && pod->node != PLAIN_NONE && p->nodes[pod->node].exists;
}

/* Both have the key, with one value. */
static bool same_domain(const struct plain *p, uint32_t key, uint32_t a, uint32_t b)
{
	const struct label *x = node_label(&p->nodes[a], key), *y = node_label(&p->nodes[b], key);

	return x && y && x->value == y->value;
}

static bool term_names(const struct plain_clauses *term, uint32_t name)
{
	for (uint32_t i = 0; i < term->n; i++)
		if (term->at[i].key == LABEL_KEY_NODE_NAME && term->at[i].op == REQUIRE_IN &&
		    !requirement_holds(&term->at[i], true, name, 0))
			return false;
	return true;
}

static bool asks_names(const struct plain_clauses *term)
{
	for (uint32_t i = 0; i < term->n; i++)
		if (term->at[i].key == LABEL_KEY_NODE_NAME && term->at[i].op == REQUIRE_IN)
			return true;
	return false;
}

/* Which names are asked for: all of them are tried. */
static bool named(const struct asked *a, uint32_t name)
{
	for (uint32_t i = 0; i < a->shape->terms_n; i++)
		if (term_names(&a->shape->terms[i], name))
			return true;
	return false;
}

static bool all_ask_names(const struct asked *a)
{
	for (uint32_t i = 0; i < a->shape->terms_n; i++)
		if (!asks_names(&a->shape->terms[i]))
			return false;
	return a->shape->terms_n > 0;
}

static bool conflict(const struct asked *a)
{
	bool any = false;

	for (uint32_t name = 0; name < PLAIN_NODES + 3; name++)
		any = any || named(a, PLAIN_VALUE_NODE + name);
	return all_ask_names(a) && !any;
}

static bool affinity(const struct asked *a, const struct plain_node *n)
{
	if (!node_matches(&a->shape->selector, n))
		return false;
	for (uint32_t i = 0; i < a->shape->terms_n; i++)
		if (a->shape->terms[i].n > 0 && node_matches(&a->shape->terms[i], n))
			return true;
	return a->shape->terms_n == 0;
}

static bool tolerates(const struct asked *a, const struct taint *t)
{
	for (uint32_t i = 0; i < a->shape->tolerations_n; i++) {
		const struct toleration *q = &a->shape->tolerations[i];

		if ((q->effect == EFFECT_ANY || q->effect == t->effect) &&
		    (q->key == TOLERATE_EVERY_KEY || q->key == t->key) &&
		    (q->any_value || q->value == t->value))
			return true;
	}
	return false;
}

static bool tainted(const struct asked *a, const struct plain_node *n)
{
	for (uint32_t i = 0; i < n->taints_n; i++)
		if (n->taints[i].effect != EFFECT_PREFER_NO_SCHEDULE && !tolerates(a, &n->taints[i]))
			return true;
	return false;
}

static bool ports_clash(const struct host_port *a, const struct host_port *b)
{
	return a->port == b->port && a->protocol == b->protocol &&
	       (a->address == b->address || a->address == PORT_EVERY_ADDRESS ||
	        b->address == PORT_EVERY_ADDRESS);
}

/* Each pair of a port (or thing) of the pod and one of a pod that is there. */
static bool ports_taken(const struct asked *a, uint32_t node)
{
	for (uint32_t i = 0; i < PLAIN_PODS; i++) {
		const struct plain_shape *other = &a->p->shapes[a->p->pods[i].shape];

		if (!counts(a->p, &a->p->pods[i]) || a->p->pods[i].node != node)
			continue;
		for (uint32_t x = 0; x < a->shape->ports_n; x++)
			for (uint32_t y = 0; y < other->ports_n; y++)
				if (ports_clash(&a->shape->ports[x], &other->ports[y]))
					return true;
	}
	return false;
}

static bool exclusive_taken(const struct asked *a, uint32_t node, const struct exclusive *wanted)
{
	for (uint32_t i = 0; i < PLAIN_PODS; i++) {
		const struct plain_shape *other = &a->p->shapes[a->p->pods[i].shape];

		if (!counts(a->p, &a->p->pods[i]))
			continue;
		for (uint32_t y = 0; y < other->exclusives_n; y++) {
			const struct exclusive *had = &other->exclusives[y];
			bool claims = wanted->flags & had->flags & EXCLUSIVE_CLAIM;
			bool disks = !((wanted->flags | had->flags) & EXCLUSIVE_CLAIM) &&
			             a->p->pods[i].node == node &&
			             !(wanted->flags & had->flags & EXCLUSIVE_SHARED);

			if (wanted->item == had->item && (claims || disks))
				return true;
		}
	}
	return false;
}

static uint32_t exclusives(const struct asked *a, uint32_t node)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < a->shape->exclusives_n; i++) {
		const struct exclusive *e = &a->shape->exclusives[i];

		if (exclusive_taken(a, node, e))
			found |= e->flags & EXCLUSIVE_CLAIM ? FILTER_BIT(FILTER_CLAIM_IN_USE)
			                                    : FILTER_BIT(FILTER_DISK);
	}
	return found & FILTER_BIT(FILTER_DISK) ? FILTER_BIT(FILTER_DISK) : found;
}

static bool has(const struct attachment *list, uint32_t n, const struct attachment *one)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].driver == one->driver && list[i].volume == one->volume)
			return true;
	return false;
}

static void gather(struct attachment *all, uint32_t *n, const struct attachment *more,
                   uint32_t more_n)
{
	for (uint32_t i = 0; i < more_n; i++)
		if (!has(all, *n, &more[i]))
			all[(*n)++] = more[i];
}

static uint32_t of_driver(const struct attachment *list, uint32_t n, uint32_t driver)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += list[i].driver == driver;
	return count;
}

static bool attach_fits(const struct asked *a, uint32_t node)
{
	struct attachment there[(PLAIN_PODS + 2) * PLAIN_LIST];
	const struct plain_node *n = &a->p->nodes[node];
	uint32_t before = 0, after;

	gather(there, &before, n->attached, n->attached_n);
	for (uint32_t i = 0; i < PLAIN_PODS; i++)
		if (counts(a->p, &a->p->pods[i]) && a->p->pods[i].node == node)
			gather(there, &before, a->p->shapes[a->p->pods[i].shape].attachments,
			       a->p->shapes[a->p->pods[i].shape].attachments_n);
	after = before;
	gather(there, &after, a->shape->attachments, a->shape->attachments_n);
	for (uint32_t i = 0; i < n->limits_n; i++) {
		uint32_t had = of_driver(there, before, n->limits[i].driver);
		uint32_t wanted = of_driver(there, after, n->limits[i].driver);

		if (wanted > had && wanted > n->limits[i].most)
			return false;
	}
	return true;
}

static uint32_t volumes(const struct asked *a, const struct plain_node *n)
{
	uint32_t broken = 0;

	for (uint32_t i = 0; i < a->shape->volume_rules_n; i++) {
		const struct plain_volume_rule *rule = &a->shape->volume_rules[i];
		bool holds = false;

		for (uint32_t k = 0; k < rule->n; k++)
			holds = holds || node_matches(&rule->alternatives[k], n);
		if (!holds)
			broken |= FILTER_BIT(rule->why);
	}
	if (broken & ~FILTER_BIT(FILTER_VOLUME_ZONE))
		broken &= ~FILTER_BIT(FILTER_VOLUME_ZONE);
	return broken;
}

static int64_t used(const struct plain *p, uint32_t node, uint32_t resource, bool scored)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < PLAIN_PODS; i++) {
		const struct plain_shape *s = &p->shapes[p->pods[i].shape];

		if (!counts(p, &p->pods[i]) || p->pods[i].node != node)
			continue;
		sum += scored ? s->placed[resource] : resource == RESOURCE_PODS ? 1 : s->amounts[resource];
	}
	return sum;
}

static uint64_t short_of(const struct asked *a, uint32_t node)
{
	uint64_t found = 0;

	for (uint32_t r = 0; r < PLAIN_RESOURCES; r++) {
		int64_t wanted = r == RESOURCE_PODS ? 1 : a->shape->amounts[r];

		if (wanted > 0 && wanted > a->p->nodes[node].amounts[r] - used(a->p, node, r, false))
			found |= UINT64_C(1) << r;
	}
	return found;
}

static bool spread_counts_pod(const struct asked *a, const struct plain_spread *t,
                              const struct plain_pod *pod)
{
	return counts(a->p, pod) && !pod->deleting && namespace_of(a->p, pod) == a->shape->namespace &&
	       !(t->flags & SPREAD_MATCHES_NOTHING) && t->labels.n > 0 &&
	       labels_match(&t->labels, pod->labels, pod->labels_n);
}

static bool has_keys(const struct asked *a, uint32_t node, bool hard)
{
	for (uint32_t i = 0; i < a->shape->spreads_n; i++)
		if (!(a->shape->spreads[i].flags & SPREAD_HARD) == !hard &&
		    !node_label(&a->p->nodes[node], a->shape->spreads[i].topology))
			return false;
	return true;
}

static bool policies(const struct asked *a, const struct plain_spread *t, uint32_t node)
{
	const struct plain_node *n = &a->p->nodes[node];

	return ((t->flags & SPREAD_IGNORES_AFFINITY) || affinity(a, n)) &&
	       (!(t->flags & SPREAD_HONORS_TAINTS) || !tainted(a, n));
}

static bool counts_node(const struct asked *a, const struct plain_spread *t, uint32_t node)
{
	return a->p->nodes[node].exists && policies(a, t, node) &&
	       ((t->flags & SPREAD_DEFAULT) || has_keys(a, node, t->flags & SPREAD_HARD));
}

/* Pods in the domain that this node lies in, on nodes that count. */
static int64_t domain_pods(const struct asked *a, const struct plain_spread *t, uint32_t node)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < PLAIN_PODS; i++)
		if (spread_counts_pod(a, t, &a->p->pods[i]) && counts_node(a, t, a->p->pods[i].node) &&
		    same_domain(a->p, t->topology, a->p->pods[i].node, node))
			sum++;
	return sum;
}

static int64_t least_domain(const struct asked *a, const struct plain_spread *t)
{
	int64_t least = INT64_MAX;
	uint32_t domains = 0;

	for (uint32_t node = 0; node < PLAIN_NODES; node++) {
		bool first = true;
		int64_t pods;

		if (!counts_node(a, t, node))
			continue;
		for (uint32_t before = 0; before < node; before++)
			if (counts_node(a, t, before) && same_domain(a->p, t->topology, before, node))
				first = false;
		domains += first;
		pods = domain_pods(a, t, node);
		least = pods < least ? pods : least;
	}
	return domains < t->min_domains ? 0 : least;
}

static uint32_t spread(const struct asked *a, uint32_t node)
{
	for (uint32_t i = 0; i < a->shape->spreads_n; i++) {
		const struct plain_spread *t = &a->shape->spreads[i];
		bool self = !(t->flags & SPREAD_MATCHES_NOTHING) &&
		            labels_match(&t->labels, a->pod->labels, a->pod->labels_n);

		if (!(t->flags & SPREAD_HARD))
			continue;
		if (!node_label(&a->p->nodes[node], t->topology))
			return FILTER_BIT(FILTER_SPREAD_LABEL);
		if (domain_pods(a, t, node) + self - least_domain(a, t) > (int64_t)t->max_skew)
			return FILTER_BIT(FILTER_SPREAD);
	}
	return 0;
}

static bool matches_all(const struct asked *a, const struct plain_pod *other)
{
	for (uint32_t i = 0; i < a->shape->pod_terms_n; i++)
		if (a->shape->pod_terms[i].kind == POD_TERM_AFFINITY &&
		    !term_matches(a->p, &a->shape->pod_terms[i], a->pod, other, true))
			return false;
	return true;
}

/* Someone who matches all terms, on a node with the key; in the node's domain when there is one. */
static bool someone(const struct asked *a, uint32_t key, uint32_t node)
{
	for (uint32_t i = 0; i < PLAIN_PODS; i++) {
		const struct plain_pod *other = &a->p->pods[i];

		if (counts(a->p, other) && matches_all(a, other) &&
		    node_label(&a->p->nodes[other->node], key) &&
		    (node == PLAIN_NONE || same_domain(a->p, key, other->node, node)))
			return true;
	}
	return false;
}

static bool pod_affinity(const struct asked *a, uint32_t node)
{
	bool everywhere = true, anywhere = false, any = false;

	for (uint32_t i = 0; i < a->shape->pod_terms_n; i++) {
		const struct plain_term *t = &a->shape->pod_terms[i];

		if (t->kind != POD_TERM_AFFINITY)
			continue;
		any = true;
		if (!node_label(&a->p->nodes[node], t->topology))
			return false;
		everywhere = everywhere && someone(a, t->topology, node);
		anywhere = anywhere || someone(a, t->topology, PLAIN_NONE);
	}
	return !any || everywhere || (!anywhere && matches_all(a, a->pod));
}

static bool anti_affinity(const struct asked *a, uint32_t node)
{
	for (uint32_t i = 0; i < a->shape->pod_terms_n; i++)
		for (uint32_t k = 0; k < PLAIN_PODS; k++) {
			const struct plain_term *t = &a->shape->pod_terms[i];
			const struct plain_pod *other = &a->p->pods[k];

			if (t->kind == POD_TERM_ANTI_AFFINITY && counts(a->p, other) &&
			    term_matches(a->p, t, a->pod, other, true) &&
			    same_domain(a->p, t->topology, other->node, node))
				return false;
		}
	return true;
}

static bool existing_anti_affinity(const struct asked *a, uint32_t node)
{
	for (uint32_t k = 0; k < PLAIN_PODS; k++) {
		const struct plain_pod *other = &a->p->pods[k];
		const struct plain_shape *s = &a->p->shapes[other->shape];

		for (uint32_t i = 0; counts(a->p, other) && i < s->pod_terms_n; i++)
			if (s->pod_terms[i].kind == POD_TERM_ANTI_AFFINITY &&
			    term_matches(a->p, &s->pod_terms[i], other, a->pod, false) &&
			    same_domain(a->p, s->pod_terms[i].topology, other->node, node))
				return false;
	}
	return true;
}

/* The node's domain has a share of *replicas, of which *pods are taken. */
static bool policy_share(const struct asked *a, uint32_t node, uint32_t *replicas, uint32_t *pods)
{
	const struct plain_policy *policy = &a->shape->policy;
	const struct label *domain = node_label(&a->p->nodes[node], policy->topology);
	bool found = false;

	for (uint32_t i = 0; domain && i < policy->shares_n; i++) {
		if (policy->shares[i].value != domain->value)
			continue;
		*replicas = policy->shares[i].replicas;
		found = true;
	}
	*pods = 0;
	for (uint32_t k = 0; found && k < PLAIN_PODS; k++) {
		const struct plain_pod *other = &a->p->pods[k];

		*pods += counts(a->p, other) && !other->deleting &&
		         namespace_of(a->p, other) == a->shape->namespace &&
		         labels_match(&policy->labels, other->labels, other->labels_n) &&
		         same_domain(a->p, policy->topology, other->node, node);
	}
	return found;
}

static uint32_t policy(const struct asked *a, uint32_t node)
{
	uint32_t replicas, pods;

	if (!a->shape->policy.given)
		return 0;
	if (a->shape->policy.flags & POLICY_UNSELECTED)
		return FILTER_BIT(FILTER_POLICY_SELECTOR);
	if (!node_label(&a->p->nodes[node], a->shape->policy.topology))
		return FILTER_BIT(FILTER_POLICY_LABEL);
	if (!policy_share(a, node, &replicas, &pods))
		return FILTER_BIT(FILTER_POLICY_VALUE);
	if (pods >= replicas && (a->shape->policy.flags & POLICY_REQUIRED))
		return FILTER_BIT(FILTER_POLICY_FULL);
	return 0;
}

/* A share that is not reached goes before one that is; then its percentage. */
static uint32_t policy_score(const struct asked *a, uint32_t node)
{
	uint32_t replicas, pods;

	if (!a->shape->policy.given || !policy_share(a, node, &replicas, &pods) || pods >= replicas)
		return 0;
	if (!(a->shape->policy.flags & POLICY_FILL))
		pods = replicas - pods;
	return 10000 * (1 + 100 * pods / replicas);
}

static uint32_t filter(const struct asked *a, uint32_t node, uint64_t *lacks)
{
	const struct plain_node *n = &a->p->nodes[node];
	uint32_t whys;

	*lacks = 0;
	if (all_ask_names(a) && !named(a, PLAIN_VALUE_NODE + node))
		return FILTER_BIT(FILTER_NOT_NAMED);
	if ((n->flags & NODE_CORDONED) && !(a->shape->flags & SHAPE_TOLERATES_CORDON))
		return FILTER_BIT(FILTER_CORDONED);
	if (tainted(a, n))
		return FILTER_BIT(FILTER_TAINT);
	if (!affinity(a, n))
		return FILTER_BIT(FILTER_AFFINITY);
	if (ports_taken(a, node))
		return FILTER_BIT(FILTER_PORTS);
	*lacks = short_of(a, node);
	if (*lacks)
		return FILTER_BIT(FILTER_INSUFFICIENT);
	whys = exclusives(a, node);
	if (!whys && !attach_fits(a, node))
		whys = FILTER_BIT(FILTER_ATTACH);
	if (!whys)
		whys = volumes(a, n);
	if (!whys)
		whys = spread(a, node);
	if (whys)
		return whys;
	if (!pod_affinity(a, node))
		return FILTER_BIT(FILTER_POD_AFFINITY);
	if (!anti_affinity(a, node))
		return FILTER_BIT(FILTER_ANTI_AFFINITY);
	if (!existing_anti_affinity(a, node))
		return FILTER_BIT(FILTER_EXISTING_ANTI_AFFINITY);
	if ((a->shape->flags & SHAPE_NEEDS_RESTART_ALL) && !(n->flags & NODE_RESTARTS_ALL))
		return FILTER_BIT(FILTER_FEATURES);
	return policy(a, node);
}

static bool feasible(const struct asked *a, const struct plain_verdict *v, uint32_t node)
{
	return a->p->nodes[node].exists && v->whys[node] == 0;
}

static uint32_t fit(const struct asked *a, uint32_t node, enum score_policy policy)
{
	int64_t sum = 0, parts = 0;

	for (uint32_t r = 0; r < PLAIN_RESOURCES; r++) {
		int64_t most = a->p->nodes[node].amounts[r], take, wanted = a->shape->amounts[r];

		if (policy == SCORE_BESTFIT) {
			if (most == 0 || r == RESOURCE_PODS || wanted == 0)
				continue;
			sum += (most - used(a->p, node, r, false) - wanted) * 100 / most;
			parts++;
			continue;
		}
		if (most == 0 || r > RESOURCE_MEMORY)
			continue;
		take = used(a->p, node, r, true) + a->shape->scored[r];
		parts++;
		if (policy == SCORE_PACK)
			sum += (take < most ? take : most) * 100 / most;
		else if (take <= most)
			sum += (most - take) * 100 / most;
	}
	if (policy == SCORE_BESTFIT && parts == 0) {
		int64_t most = a->p->nodes[node].amounts[RESOURCE_PODS];

		return (uint32_t)(100 - (most - used(a->p, node, RESOURCE_PODS, false) - 1) * 100 / most);
	}
	if (policy == SCORE_BESTFIT)
		return (uint32_t)(100 - sum / parts);
	return parts ? (uint32_t)(sum / parts) : 0;
}

static int balance(const struct asked *a, uint32_t node, bool with)
{
	double share[2];

	for (uint32_t r = 0; r < 2; r++) {
		int64_t most = a->p->nodes[node].amounts[r];

		if (most == 0)
			return 100;
		share[r] =
			(double)(used(a->p, node, r, false) + (with ? a->shape->amounts[r] : 0)) / (double)most;
		if (share[r] > 1)
			share[r] = 1;
	}
	return (int)((1 - fabs((share[0] - share[1]) / 2)) * 100);
}

static uint32_t balanced(const struct asked *a, uint32_t node)
{
	if (a->shape->amounts[0] == 0 && a->shape->amounts[1] == 0)
		return 0;
	return (uint32_t)(50 + (50 + balance(a, node, true) - balance(a, node, false)) / 2);
}

static int64_t image_on(const struct plain_node *n, uint32_t image)
{
	for (uint32_t i = 0; i < n->images_n; i++)
		if (n->images[i].image == image)
			return n->images[i].bytes;
	return -1;
}

static uint32_t images(const struct asked *a, uint32_t node)
{
	const int64_t least = 23 * 1048576;
	int64_t sum = 0, most = 1000 * 1048576 * (int64_t)a->shape->containers;

	for (uint32_t i = 0; i < a->shape->images_n; i++) {
		int64_t bytes = image_on(&a->p->nodes[node], a->shape->images[i]);
		uint32_t with = 0, all = 0;

		for (uint32_t n = 0; n < PLAIN_NODES; n++) {
			all += a->p->nodes[n].exists;
			with += a->p->nodes[n].exists && image_on(&a->p->nodes[n], a->shape->images[i]) >= 0;
		}
		if (bytes >= 0)
			sum += (int64_t)((double)bytes * ((double)with / (double)all));
	}
	sum = sum < least ? least : sum > most ? most : sum;
	return (uint32_t)(100 * (sum - least) / (most - least));
}

static int64_t soft_taints(const struct asked *a, uint32_t node)
{
	const struct plain_node *n = &a->p->nodes[node];
	int64_t count = 0;

	for (uint32_t i = 0; i < n->taints_n; i++)
		count += n->taints[i].effect == EFFECT_PREFER_NO_SCHEDULE && !tolerates(a, &n->taints[i]);
	return count;
}

static int64_t preferred(const struct asked *a, uint32_t node)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < a->shape->preferences_n; i++)
		if (node_matches(&a->shape->preferences[i].clauses, &a->p->nodes[node]))
			sum += a->shape->preferences[i].weight;
	return sum;
}

static int64_t sign(uint32_t kind)
{
	return kind == POD_TERM_PREFERRED ? 1 : kind == POD_TERM_PREFERRED_ANTI ? -1 : 0;
}

static int64_t pods_like(const struct asked *a, uint32_t node)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < PLAIN_PODS; k++) {
		const struct plain_pod *other = &a->p->pods[k];
		const struct plain_shape *s = &a->p->shapes[other->shape];

		if (!counts(a->p, other))
			continue;
		for (uint32_t i = 0; i < a->shape->pod_terms_n; i++) {
			const struct plain_term *t = &a->shape->pod_terms[i];

			if (term_matches(a->p, t, a->pod, other, true) &&
			    same_domain(a->p, t->topology, other->node, node))
				sum += sign(t->kind) * t->weight;
		}
		for (uint32_t i = 0; i < s->pod_terms_n; i++) {
			const struct plain_term *t = &s->pod_terms[i];

			if (term_matches(a->p, t, other, a->pod, false) &&
			    same_domain(a->p, t->topology, other->node, node))
				sum += t->kind == POD_TERM_AFFINITY ? 1 : sign(t->kind) * t->weight;
		}
	}
	return sum;
}

/* Without the keys of its own constraints a node is not scored: -1. */
static int64_t spread_score(const struct asked *a, const struct plain_verdict *v, uint32_t node)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->shape->spreads_n; i++) {
		const struct plain_spread *t = &a->shape->spreads[i];
		uint32_t domains = 0, keyless = 0;
		int64_t pods = 0;

		if (t->flags & SPREAD_HARD)
			continue;
		if (!(t->flags & SPREAD_DEFAULT) && !has_keys(a, node, false))
			return -1;
		for (uint32_t n = 0; n < PLAIN_NODES; n++) {
			bool first = true;

			if (!feasible(a, v, n) || (!(t->flags & SPREAD_DEFAULT) && !has_keys(a, n, false)))
				continue;
			for (uint32_t m = 0; m < n; m++)
				if (feasible(a, v, m) && ((t->flags & SPREAD_DEFAULT) || has_keys(a, m, false)) &&
				    same_domain(a->p, t->topology, m, n))
					first = false;
			if (t->topology == PLAIN_KEY_HOST)
				domains++;
			else if (!node_label(&a->p->nodes[n], t->topology))
				keyless = 1;
			else
				domains += first;
		}
		if (!node_label(&a->p->nodes[node], t->topology))
			continue;
		for (uint32_t k = 0; t->topology == PLAIN_KEY_HOST && k < PLAIN_PODS; k++)
			pods += spread_counts_pod(a, t, &a->p->pods[k]) && a->p->pods[k].node == node;
		if (t->topology != PLAIN_KEY_HOST)
			pods = domain_pods(a, t, node);
		sum += (double)pods * log((double)(domains + keyless + 2)) + (double)(t->max_skew - 1);
	}
	return (int64_t)round(sum);
}

enum normal { OF_MOST, REVERSED, BETWEEN, FEWER };

static void normalise(const struct asked *a, struct plain_verdict *v, uint32_t *part,
                      const int64_t raw[PLAIN_NODES], enum normal how)
{
	int64_t least = INT64_MAX, most = how == BETWEEN ? INT64_MIN : 0;

	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		if (!feasible(a, v, n) || (how == FEWER && raw[n] < 0))
			continue;
		least = raw[n] < least ? raw[n] : least;
		most = raw[n] > most ? raw[n] : most;
	}
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		int64_t points = 0;

		if (!feasible(a, v, n))
			continue;
		if (how == OF_MOST || how == REVERSED)
			points = most ? 100 * raw[n] / most : 0;
		if (how == REVERSED)
			points = 100 - points;
		if (how == BETWEEN && most > least)
			points = (int64_t)(100.0 * ((double)(raw[n] - least) / (double)(most - least)));
		if (how == FEWER && raw[n] >= 0)
			points = most ? 100 * (most + least - raw[n]) / most : 100;
		part[n] = (uint32_t)points;
	}
}

static void scores(const struct asked *a, struct plain_verdict *v, enum score_policy policy)
{
	int64_t raw[4][PLAIN_NODES] = { 0 };
	bool soft = false;

	for (uint32_t i = 0; i < a->shape->spreads_n; i++)
		soft = soft || !(a->shape->spreads[i].flags & SPREAD_HARD);
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		if (!feasible(a, v, n))
			continue;
		v->parts[SCORE_PART_FIT][n] = fit(a, n, policy);
		v->parts[SCORE_PART_BALANCED][n] = balanced(a, n);
		v->parts[SCORE_PART_IMAGES][n] = images(a, n);
		raw[0][n] = soft_taints(a, n);
		raw[1][n] = preferred(a, n);
		raw[2][n] = pods_like(a, n);
		raw[3][n] = spread_score(a, v, n);
	}
	normalise(a, v, v->parts[SCORE_PART_TAINTS], raw[0], REVERSED);
	normalise(a, v, v->parts[SCORE_PART_AFFINITY], raw[1], OF_MOST);
	normalise(a, v, v->parts[SCORE_PART_PODS], raw[2], BETWEEN);
	if (soft)
		normalise(a, v, v->parts[SCORE_PART_SPREAD], raw[3], FEWER);
	for (uint32_t n = 0; n < PLAIN_NODES; n++) {
		static const uint32_t weights[SCORE_PARTS] = { 1, 1, 1, 3, 2, 2, 2 };

		for (uint32_t part = 0; part < SCORE_PARTS; part++) {
			v->parts[part][n] = policy == SCORE_KUBE || part == SCORE_PART_FIT
			                        ? weights[part] * v->parts[part][n]
			                        : 0;
			v->scores[n] += v->parts[part][n];
		}
		v->scores[n] += feasible(a, v, n) ? policy_score(a, n) : 0;
	}
}

void plain_evaluate(const struct plain *p, uint32_t pod, enum score_policy policy,
                    struct plain_verdict *out)
{
	const struct asked a = { .p = p,
		                     .pod = &p->pods[pod],
		                     .shape = &p->shapes[p->pods[pod].shape] };

	memset(out, 0, sizeof(*out));
	out->whole = conflict(&a);
	for (uint32_t node = 0; node < PLAIN_NODES; node++) {
		if (!p->nodes[node].exists)
			continue;
		out->whys[node] =
			out->whole ? FILTER_BIT(FILTER_CONFLICT) : filter(&a, node, &out->short_of[node]);
		out->feasible += out->whys[node] == 0;
	}
	scores(&a, out, policy);
}
