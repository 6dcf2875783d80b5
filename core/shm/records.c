/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shm/records.h"

#include "core/shm/ledger.h"
#include "core/shm/records_impl.h"

#include <stdbool.h>
#include <string.h>

#define TERMS_MOST 4096u
#define WEIGHT_MOST 100                            /* as the API server allows */
#define SELECTOR_WORDS_MOST (RECORD_BYTES_MAX / 2) /* of all selectors of a shape, expanded */

const char *record_check(const struct record *r)
{
	if (r->bytes < sizeof(*r) || r->bytes > RECORD_BYTES_MAX || r->bytes % 8 != 0)
		return "the length of the record is invalid";
	if (r->flags != 0)
		return "the record has unknown flags";
	if (r->kind < EVENT_BEGIN || r->kind > EVENT_ANSWER)
		return "the kind of the record is unknown";
	if ((r->kind == EVENT_BEGIN || r->kind == EVENT_SYNCED || r->kind == EVENT_TICK ||
	     r->kind == EVENT_PLAN) &&
	    r->bytes != sizeof(*r))
		return "the record has a body and must not";
	return NULL;
}

static const char *text_fault(const char *text, uint32_t bytes)
{
	if (bytes == 0 || bytes > NAME_BYTES_MAX)
		return "a name is empty or too long";
	if (memchr(text, 0, bytes))
		return "a name contains a NUL";
	return NULL;
}

/* `names`: ids from `resources` up to this are of resources that no node has, sorted at the end. */
static const char *amounts_fault(const struct amount *amounts, uint32_t n, uint32_t resources,
                                 uint32_t names)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (amounts[i].resource >= names)
			return "a resource is out of bounds";
		if (amounts[i].value < 0)
			return "an amount is negative";
		if (i > 0 && amounts[i - 1].resource >= resources &&
		    amounts[i].resource <= amounts[i - 1].resource)
			return "resources without a column are not sorted";
		if (amounts[i].resource >= resources)
			continue;
		if (seen >> amounts[i].resource & 1)
			return "a resource occurs twice";
		seen |= UINT64_C(1) << amounts[i].resource;
	}
	return NULL;
}

const char *record_name(const struct record *r, const struct limits *l, struct name_record *out)
{
	struct body b = body_of(r);
	struct name_record n = { 0 };

	n.body = take(&b, 1, sizeof(*n.body));
	n.text = n.body ? take(&b, n.body->bytes, 1) : NULL;
	if (!n.text || b.left != 0)
		return "the name record has a wrong length";
	if (n.body->id >= l->names)
		return "a name id is out of bounds";
	if (n.body->kind != (n.body->id < l->resources ? NAME_RESOURCE : NAME_TAINT))
		return "the kind of a name does not match its id";
	*out = n;
	return text_fault(n.text, n.body->bytes);
}

static const char *labels_fault(const struct node_record *n)
{
	for (uint32_t i = 1; i < n->body->labels_n; i++)
		if (n->labels[i - 1].key >= n->labels[i].key)
			return "node labels are not sorted by key";
	return NULL;
}

static const char *images_fault(const struct node_record *n)
{
	for (uint32_t i = 0; i < n->body->images_n; i++) {
		if (n->images[i].bytes < 0)
			return "the size of an image is negative";
		if (i > 0 && n->images[i - 1].image >= n->images[i].image)
			return "images are not sorted";
	}
	return NULL;
}

static const char *taints_fault(const struct node_record *n, const struct limits *l)
{
	for (uint32_t i = 0; i < n->body->taints_n; i++) {
		uint32_t effect = n->taints[i].effect;

		if (effect < EFFECT_NO_SCHEDULE || effect > EFFECT_NO_EXECUTE)
			return "the effect of a taint is unknown";
		if (n->taints[i].name < l->resources || n->taints[i].name >= l->names)
			return "the name of a taint is out of bounds";
	}
	return NULL;
}

const char *record_node(const struct record *r, const struct limits *l, struct node_record *out)
{
	struct body b = body_of(r);
	struct node_record n = { 0 };
	const char *fault;

	n.body = take(&b, 1, sizeof(*n.body));
	if (n.body) {
		n.amounts = take(&b, n.body->amounts_n, sizeof(*n.amounts));
		n.labels = take(&b, n.body->labels_n, sizeof(*n.labels));
		n.taints = take(&b, n.body->taints_n, sizeof(*n.taints));
		n.images = take(&b, n.body->images_n, sizeof(*n.images));
		n.limits = take(&b, n.body->limits_n, sizeof(*n.limits));
		n.attached = take(&b, n.body->attached_n, sizeof(*n.attached));
		n.name = take(&b, n.body->name_bytes, 1);
	}
	if (!n.body || !n.amounts || !n.labels || !n.taints || !n.images || !n.limits || !n.attached ||
	    !n.name || b.left != 0)
		return "the node record has a wrong length";
	if (n.body->node >= l->nodes)
		return "a node id is out of bounds";
	if (n.body->generation == 0)
		return "the generation of a node is 0";
	if (n.body->flags & ~(uint32_t)NODE_FLAGS)
		return "a node has unknown flags";
	*out = n;
	fault = amounts_fault(n.amounts, n.body->amounts_n, l->resources, l->resources);
	if (!fault)
		fault = labels_fault(&n);
	if (!fault)
		fault = taints_fault(&n, l);
	if (!fault)
		fault = images_fault(&n);
	return fault ? fault : text_fault(n.name, n.body->name_bytes);
}

static const char *requirements_fault(const struct shape_record *s)
{
	for (uint32_t i = 0; i < s->body->requirements_n; i++) {
		const struct requirement *q = &s->requirements[i];

		if (q->op >= REQUIRE_OPS)
			return "the operator of a requirement is unknown";
		if (q->term > s->body->terms_n || (i > 0 && q->term < q[-1].term))
			return "the terms of requirements are out of bounds or not sorted";
		if ((uint64_t)q->values_first + q->values_n > s->body->values_n)
			return "the values of a requirement are out of bounds";
	}
	return NULL;
}

static bool span_within(struct span span, uint32_t n)
{
	return (uint64_t)span.first + span.n <= n;
}

static const char *clauses_fault(const struct shape_record *s)
{
	for (uint32_t i = 0; i < s->body->clauses_n; i++) {
		const struct requirement *q = &s->clauses[i];

		if (q->op >= REQUIRE_OPS || q->term != 0 ||
		    !span_within((struct span){ q->values_first, q->values_n }, s->body->values_n))
			return "a clause is invalid";
	}
	for (uint32_t i = 0; i < s->body->preferences_n; i++)
		if (!span_within(s->preferences[i].clauses, s->body->clauses_n) ||
		    s->preferences[i].weight < 0 || s->preferences[i].weight > WEIGHT_MOST)
			return "a preference is invalid";
	for (uint32_t i = 0; i < s->body->alternatives_n; i++)
		if (!span_within(s->alternatives[i], s->body->clauses_n))
			return "an alternative is out of bounds";
	for (uint32_t i = 0; i < s->body->volume_rules_n; i++)
		if (!span_within(s->volume_rules[i].alternatives, s->body->alternatives_n) ||
		    s->volume_rules[i].why == FILTER_PASSED || s->volume_rules[i].why >= FILTER_REASONS)
			return "a volume rule is invalid";
	return NULL;
}

/* Clauses about labels of pods or namespaces, which have no Gt and Lt.  *words sums up the expanded
 * size, since clauses can share values: a record that expands to more is rejected. */
static bool selector_sound(const struct shape_record *s, struct span clauses, uint64_t *words)
{
	if (!span_within(clauses, s->body->clauses_n))
		return false;
	for (uint32_t i = 0; i < clauses.n && *words <= SELECTOR_WORDS_MOST; i++) {
		if (s->clauses[clauses.first + i].op > REQUIRE_NOT_EXISTS)
			return false;
		*words += 3 + (uint64_t)s->clauses[clauses.first + i].values_n;
	}
	return *words <= SELECTOR_WORDS_MOST;
}

static const char *policy_fault(const struct shape_record *s, uint64_t *words)
{
	const struct policy *p = s->policies;

	if (s->body->policies_n > 1)
		return "a shape has more than one policy";
	for (uint32_t i = 0; i < s->body->shares_n; i++)
		if (s->shares[i].replicas > INT32_MAX)
			return "the replicas of a policy share are too many";
	for (uint32_t i = 1; i < s->body->shares_n; i++)
		if (s->shares[i].value <= s->shares[i - 1].value)
			return "policy shares are not sorted";
	if (s->body->policies_n == 0)
		return s->body->shares_n > 0 ? "a shape has shares but no policy" : NULL;
	if (p->flags & ~(uint32_t)(POLICY_REQUIRED | POLICY_FILL | POLICY_UNSELECTED) ||
	    !span_within(p->shares, s->body->shares_n) || !selector_sound(s, p->clauses, words))
		return "a policy is invalid";
	return NULL;
}

static const char *pod_rules_fault(const struct shape_record *s)
{
	const struct event_shape *e = s->body;
	uint64_t words = 0;

	for (uint32_t i = 0; i < e->pod_terms_n; i++) {
		const struct pod_term *t = &s->pod_terms[i];

		words += t->namespaces.n;
		if (t->kind >= POD_TERM_KINDS || t->weight < 0 || t->weight > WEIGHT_MOST ||
		    t->flags &
		        ~(uint32_t)(TERM_MATCHES_NOTHING | TERM_EVERY_NAMESPACE | TERM_NAMESPACES_CHOSEN) ||
		    !span_within(t->namespaces, e->values_n) ||
		    !selector_sound(s, t->namespace_clauses, &words) ||
		    !selector_sound(s, t->clauses, &words))
			return "a pod term is invalid";
	}
	for (uint32_t i = 0; i < e->spreads_n; i++) {
		const struct spread *t = &s->spreads[i];

		if (t->flags & ~(uint32_t)(SPREAD_HARD | SPREAD_IGNORES_AFFINITY | SPREAD_HONORS_TAINTS |
		                           SPREAD_MATCHES_NOTHING | SPREAD_DEFAULT | SPREAD_BY_NODE) ||
		    t->max_skew == 0 || t->max_skew > INT32_MAX || t->min_domains == 0 ||
		    t->min_domains > INT32_MAX || !selector_sound(s, t->clauses, &words))
			return "a spread constraint is invalid";
	}
	if ((e->spreads_n > 0 || e->policies_n > 0) && e->namespace == ID_NONE)
		return "spread constraints or a policy lack a namespace";
	for (uint32_t i = 0; i < e->exclusives_n; i++)
		if (s->exclusives[i].flags & ~(uint32_t)(EXCLUSIVE_CLAIM | EXCLUSIVE_SHARED))
			return "an exclusive item has unknown flags";
	return policy_fault(s, &words);
}

static const char *tolerations_fault(const struct shape_record *s)
{
	for (uint32_t i = 0; i < s->body->tolerations_n; i++)
		if (s->tolerations[i].effect > EFFECT_NO_EXECUTE || s->tolerations[i].any_value > 1)
			return "a toleration is invalid";
	return NULL;
}

const char *record_shape(const struct record *r, const struct limits *l, struct shape_record *out)
{
	struct body b = body_of(r);
	struct shape_record s = { .bytes = r->bytes - (uint32_t)sizeof(*r) };
	const char *fault;

	s.body = take(&b, 1, sizeof(*s.body));
	if (s.body) {
		s.amounts = take(&b, s.body->amounts_n, sizeof(*s.amounts));
		s.requirements = take(&b, s.body->requirements_n, sizeof(*s.requirements));
		s.values = take(&b, s.body->values_n, sizeof(*s.values));
		s.tolerations = take(&b, s.body->tolerations_n, sizeof(*s.tolerations));
		s.clauses = take(&b, s.body->clauses_n, sizeof(*s.clauses));
		s.preferences = take(&b, s.body->preferences_n, sizeof(*s.preferences));
		s.alternatives = take(&b, s.body->alternatives_n, sizeof(*s.alternatives));
		s.volume_rules = take(&b, s.body->volume_rules_n, sizeof(*s.volume_rules));
		s.pod_terms = take(&b, s.body->pod_terms_n, sizeof(*s.pod_terms));
		s.spreads = take(&b, s.body->spreads_n, sizeof(*s.spreads));
		s.ports = take(&b, s.body->ports_n, sizeof(*s.ports));
		s.images = take(&b, s.body->images_n, sizeof(*s.images));
		s.attachments = take(&b, s.body->attachments_n, sizeof(*s.attachments));
		s.exclusives = take(&b, s.body->exclusives_n, sizeof(*s.exclusives));
		s.policies = take(&b, s.body->policies_n, sizeof(*s.policies));
		s.shares = take(&b, s.body->shares_n, sizeof(*s.shares));
	}
	if (!s.body || !s.amounts || !s.requirements || !s.values || !s.tolerations || !s.clauses ||
	    !s.preferences || !s.alternatives || !s.volume_rules || !s.pod_terms || !s.spreads ||
	    !s.ports || !s.images || !s.attachments || !s.exclusives || !s.policies || !s.shares ||
	    b.left != 0)
		return "the shape record has a wrong length";
	if (s.body->shape >= l->shapes)
		return "a shape id is out of bounds";
	if (s.body->flags & ~(uint32_t)SHAPE_FLAGS)
		return "a shape has unknown flags";
	if (s.body->terms_n > TERMS_MOST)
		return "a shape has too many terms";
	if (s.body->scored_cpu_milli < 0 || s.body->scored_memory_bytes < 0 ||
	    (s.body->placed_cpu_milli < 0 && s.body->scored_cpu_milli + s.body->placed_cpu_milli < 0) ||
	    (s.body->placed_memory_bytes < 0 &&
	     s.body->scored_memory_bytes + s.body->placed_memory_bytes < 0))
		return "the scored amounts of a shape are negative";
	*out = s;
	fault = amounts_fault(s.amounts, s.body->amounts_n, l->resources, l->names);
	if (!fault)
		fault = requirements_fault(&s);
	if (!fault)
		fault = clauses_fault(&s);
	if (!fault)
		fault = pod_rules_fault(&s);
	return fault ? fault : tolerations_fault(&s);
}

static const char *parts_fault(const struct gang_record *g)
{
	if (g->body->roles_n > GANG_ROLES_MAX || g->body->levels_n > GANG_LEVELS_MAX)
		return "a gang has too many roles or levels";
	for (uint32_t i = 1; i < g->body->roles_n; i++)
		if (g->roles[i].role <= g->roles[i - 1].role)
			return "the roles of a gang are not sorted";
	for (uint32_t i = 0; i < g->body->levels_n; i++)
		if (g->levels[i].flags & ~(uint32_t)LEVEL_REQUIRED)
			return "a level of a gang has unknown flags";
	return NULL;
}

const char *record_gang(const struct record *r, const struct limits *l, struct gang_record *out)
{
	struct body b = body_of(r);
	struct gang_record g = { 0 };
	const char *fault;

	g.body = take(&b, 1, sizeof(*g.body));
	if (g.body) {
		g.amounts = take(&b, g.body->amounts_n, sizeof(*g.amounts));
		g.roles = take(&b, g.body->roles_n, sizeof(*g.roles));
		g.levels = take(&b, g.body->levels_n, sizeof(*g.levels));
		g.name = take(&b, g.body->name_bytes, 1);
	}
	if (!g.body || !g.amounts || !g.roles || !g.levels || !g.name || b.left != 0)
		return "the gang record has a wrong length";
	if (g.body->gang >= l->gangs)
		return "a gang id is out of bounds";
	if (g.body->generation == 0)
		return "the generation of a gang is 0";
	if (g.body->flags &
	    ~(uint32_t)(GANG_OBJECT_MISSING | GANG_REFUSED | GANG_PRIORITY | GANG_AFTER_OTHERS |
	                GANG_UNCHANGED | GANG_WHOLE | GANG_ENDED_COUNT))
		return "a gang has unknown flags";
	if (g.body->disruption &
	    ~(uint32_t)(GANG_DISRUPT_POD | GANG_DISRUPT_WHOLE | GANG_DISRUPT_NEVER))
		return "the disruption of a gang has unknown flags";
	*out = g;
	fault = amounts_fault(g.amounts, g.body->amounts_n, l->resources, l->names);
	if (!fault)
		fault = parts_fault(&g);
	return fault ? fault : text_fault(g.name, g.body->name_bytes);
}

static const char *pod_labels_fault(const struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (labels[i].key == UINT32_MAX || labels[i].value == UINT32_MAX)
			return "the number of a pod label is invalid";
		if (i > 0 && labels[i - 1].key >= labels[i].key)
			return "pod labels are not sorted by key";
	}
	return NULL;
}

const char *record_namespace(const struct record *r, struct namespace_record *out)
{
	struct body b = body_of(r);

	*out = (struct namespace_record){ 0 };
	out->body = take(&b, 1, sizeof(*out->body));
	out->labels = out->body ? take(&b, out->body->labels_n, sizeof(*out->labels)) : NULL;
	if (!out->labels || b.left != 0)
		return "the namespace record has a wrong length";
	return pod_labels_fault(out->labels, out->body->labels_n);
}

const char *record_pod(const struct record *r, const struct limits *l, struct pod_record *out)
{
	const uint64_t head = sizeof(*r) + sizeof(struct event_pod);
	struct pod_record p = { .body = (const void *)(r + 1) };
	uint32_t intents;
	const char *fault;

	if (r->bytes < head || r->bytes != head + PADDED(p.body->labels_n * sizeof(*p.labels)) +
	                                       PADDED(p.body->name_bytes))
		return "the pod record has a wrong length";
	p = pod_record_of(r);
	if (p.body->pod >= l->pods)
		return "a pod id is out of bounds";
	if (p.body->generation == 0)
		return "the generation of a pod is 0";
	if (p.body->flags & ~(POD_OURS | POD_GATED | POD_DELETING | POD_REFUSED | POD_BINDING |
	                      POD_LASTS | POD_INTENTS))
		return "a pod has unknown flags";
	if (p.body->gang != ID_NONE && p.body->gang >= l->gangs)
		return "the gang of a pod is out of bounds";
	if (p.body->shape >= l->shapes)
		return "the shape of a pod is out of bounds";
	if (p.body->node != ID_NONE && p.body->node >= l->nodes)
		return "the node of a pod is out of bounds";
	if (p.body->queue >= QUEUES_MAX && p.body->queue != QUEUE_MISSING)
		return "the queue of a pod is out of bounds";
	if (p.body->namespace == UINT32_MAX)
		return "the namespace of a pod is invalid";
	if ((p.body->flags & POD_BINDING) && p.body->node == ID_NONE)
		return "a pod with a Binding in flight has no node";
	intents = p.body->flags & POD_INTENTS;
	if (intents & (intents - 1))
		return "a pod has two intents";
	if (intents && (p.body->node == ID_NONE || (p.body->flags & POD_BINDING)))
		return "a pod with an intent has no node, or a Binding in flight";
	*out = p;
	fault = pod_labels_fault(p.labels, p.body->labels_n);
	return fault ? fault : text_fault(p.name, p.body->name_bytes);
}

const char *record_preemption(const struct record *r, const struct event_preemption **out)
{
	struct body b = body_of(r);

	*out = take(&b, 1, sizeof(**out));
	if (!*out || b.left != 0)
		return "the preemption record has a wrong length";
	return (*out)->flags & ~PREEMPTION_FLAGS ? "a preemption record has unknown flags" : NULL;
}

const char *record_budget(const struct record *r, struct budget_record *out)
{
	struct body b = body_of(r);
	struct budget_record q = { 0 };

	q.body = take(&b, 1, sizeof(*q.body));
	if (q.body) {
		q.clauses = take(&b, q.body->clauses_n, sizeof(*q.clauses));
		q.values = q.clauses ? take(&b, q.body->values_n, sizeof(*q.values)) : NULL;
		q.names = q.values ? take(&b, q.body->names_bytes, 1) : NULL;
	}
	if (!q.names || b.left != 0)
		return "the budget record has a wrong length";
	if (q.body->budget >= BUDGETS_MAX)
		return "a budget id is out of bounds";
	if (q.body->flags & ~(uint32_t)BUDGET_GONE)
		return "a budget has unknown flags";
	for (uint32_t i = 0; i < q.body->clauses_n; i++) {
		const struct requirement *c = &q.clauses[i];

		if (c->term != 0 || c->op > REQUIRE_NOT_EXISTS)
			return "a requirement of a budget is of no known kind";
		if (c->values_n > q.body->values_n || c->values_first > q.body->values_n - c->values_n)
			return "the values of a budget are out of bounds";
	}
	*out = q;
	return NULL;
}

static const char *queue_amounts_fault(const struct queue_record *q, const struct limits *l)
{
	for (uint32_t i = 0; i < q->body->amounts_n; i++) {
		const struct queue_amount *a = &q->amounts[i];

		if (a->resource >= l->resources)
			return "a resource of a queue is out of bounds";
		if (i > 0 && a->resource <= a[-1].resource)
			return "resources of a queue are not sorted";
		if (a->guarantee < QUEUE_ALL || a->reserved < 0 || a->limit < 0 ||
		    a->weight < QUEUE_WEIGHT_OF_LIMIT)
			return "an amount of a queue is negative";
	}
	return NULL;
}

const char *record_queue(const struct record *r, const struct limits *l, struct queue_record *out)
{
	struct body b = body_of(r);
	struct queue_record q = { 0 };
	const char *fault;

	q.body = take(&b, 1, sizeof(*q.body));
	q.amounts = q.body ? take(&b, q.body->amounts_n, sizeof(*q.amounts)) : NULL;
	q.name = q.amounts ? take(&b, q.body->name_bytes, 1) : NULL;
	if (!q.name || b.left != 0)
		return "the queue record has a wrong length";
	if (q.body->queue >= QUEUES_MAX)
		return "a queue id is out of bounds";
	if (q.body->flags & ~(uint32_t)(QUEUE_FIFO | QUEUE_GONE | QUEUE_UNRECLAIMABLE))
		return "a queue has unknown flags";
	if (q.body->parent >= QUEUES_MAX && q.body->parent != QUEUE_MISSING)
		return "the parent of a queue is out of bounds";
	if (q.body->state >= QUEUE_STATES || q.body->source >= QUEUE_SOURCES)
		return "a queue's state or source is unknown";
	if (q.body->weight < QUEUE_WEIGHT_OF_LIMIT)
		return "the weight of a queue is negative";
	if (q.body->name_bytes >= QUEUE_NAME_MAX)
		return "the name of a queue is too long";
	fault = queue_amounts_fault(&q, l);
	*out = q;
	return fault ? fault : text_fault(q.name, q.body->name_bytes);
}

const char *record_queue_terms(const struct record *r, const struct event_queue_terms **out)
{
	struct body b = body_of(r);
	const struct event_queue_terms *t = take(&b, 1, sizeof(*t));

	if (!t || b.left != 0)
		return "the record of the terms of queues has a wrong length";
	if (t->factor > QUEUE_FACTOR_MAX)
		return "the factor of history is out of bounds";
	*out = t;
	return NULL;
}

const char *record_queue_past(const struct record *r, const struct limits *l,
                              struct queue_past_record *out)
{
	struct body b = body_of(r);
	struct queue_past_record q = { 0 };

	q.body = take(&b, 1, sizeof(*q.body));
	q.amounts = q.body ? take(&b, q.body->amounts_n, sizeof(*q.amounts)) : NULL;
	if (!q.amounts || b.left != 0)
		return "the record of a queue's history has a wrong length";
	if (q.body->queue >= QUEUES_MAX)
		return "the queue of a history is out of bounds";
	for (uint32_t i = 0; i < q.body->amounts_n; i++) {
		const struct queue_past *a = &q.amounts[i];

		if (a->resource >= l->resources)
			return "a resource of a history is out of bounds";
		if (i > 0 && a->resource <= a[-1].resource)
			return "resources of a history are not sorted";
		if (a->value < 0 || a->part >= QUEUE_PAST_ONE)
			return "an amount of a history is out of bounds";
	}
	*out = q;
	return NULL;
}

const char *record_pod_facts(const struct record *r, const struct limits *l,
                             const struct event_pod_facts **out)
{
	struct body b = body_of(r);
	const struct event_pod_facts *f = take(&b, 1, sizeof(*f));

	if (!f || b.left != 0)
		return "the record of a pod's facts has a wrong length";
	if (f->pod >= l->pods)
		return "the pod of facts is out of bounds";
	if (f->flags & ~(uint32_t)(FACT_OURS | FACT_SPARED | FACT_NEVER | FACT_LEADS))
		return "facts of a pod have unknown flags";
	if (f->nominated != ID_NONE && f->nominated >= l->nodes)
		return "the node that a pod is nominated to is out of bounds";
	if (f->completion_index < -1)
		return "the completion index of a pod is out of bounds";
	*out = f;
	return NULL;
}

static const char *answer_pods_fault(const struct answer_pod *pods, uint32_t n,
                                     const struct limits *l)
{
	for (uint32_t i = 0; i < n; i++)
		if (pods[i].pod >= l->pods || pods[i].node >= l->nodes)
			return "an id of an answer is out of bounds";
	return NULL;
}

const char *record_answer(const struct record *r, const struct limits *l, struct answer_record *out)
{
	struct body b = body_of(r);
	struct answer_record a = { 0 };
	const char *fault;

	a.body = take(&b, 1, sizeof(*a.body));
	a.victims = a.body ? take(&b, a.body->victims_n, sizeof(*a.victims)) : NULL;
	a.places = a.victims ? take(&b, a.body->places_n, sizeof(*a.places)) : NULL;
	if (!a.places || b.left != 0)
		return "the answer record has a wrong length";
	if (a.body->gang >= l->gangs + l->pods)
		return "the gang of an answer is out of bounds";
	if (a.body->verdict >= ANSWER_VERDICTS)
		return "the verdict of an answer is of no known kind";
	*out = a;
	fault = answer_pods_fault(a.victims, a.body->victims_n, l);
	return fault ? fault : answer_pods_fault(a.places, a.body->places_n, l);
}

const char *record_promised(const struct record *r, const struct limits *l,
                            const struct event_promised **out)
{
	struct body b = body_of(r);
	const struct event_promised *p = take(&b, 1, sizeof(*p));

	if (!p || b.left != 0)
		return "the record of a promise has a wrong length";
	if (p->pod >= l->pods)
		return "the pod of a promise is out of bounds";
	if (p->at_ns == 0 || p->at_ns >= INT64_MAX)
		return "the time of a promise is out of bounds";
	*out = p;
	return NULL;
}

const char *record_assume(const struct record *r, const struct limits *l, struct assume_record *out)
{
	struct body b = body_of(r);
	struct assume_record c = { 0 };

	c.body = take(&b, 1, sizeof(*c.body));
	if (c.body)
		c.nodes = take(&b, c.body->words, sizeof(*c.nodes));
	if (!c.body || !c.nodes || b.left != 0)
		return "the assume record has a wrong length";
	if (c.body->pod >= l->pods)
		return "the pod of an assume record is out of bounds";
	if (c.body->words > (l->nodes + 63) / 64)
		return "the nodes of an assume record are out of bounds";
	*out = c;
	return NULL;
}

const char *record_drop(const struct record *r, uint32_t limit, const struct event_drop **out)
{
	struct body b = body_of(r);

	*out = take(&b, 1, sizeof(**out));
	if (!*out || b.left != 0)
		return "the drop record has a wrong length";
	return (*out)->id < limit ? NULL : "the id of a drop record is out of bounds";
}

const char *record_result(const struct record *r, const struct limits *l, const struct result **out)
{
	struct body b = body_of(r);

	*out = take(&b, 1, sizeof(**out));
	if (!*out || b.left != 0)
		return "the result record has a wrong length";
	if ((*out)->pod >= l->pods || (*out)->node >= l->nodes)
		return "an id of a result is out of bounds";
	return (*out)->generation != 0 ? NULL : "the generation of a result is 0";
}

const char *record_evicted(const struct record *r, const struct limits *l,
                           const struct evict_result **out)
{
	struct body b = body_of(r);

	*out = take(&b, 1, sizeof(**out));
	if (!*out || b.left != 0)
		return "the result of an eviction has a wrong length";
	if ((*out)->pod >= l->pods || (*out)->node >= l->nodes)
		return "an id of an eviction's result is out of bounds";
	return (*out)->generation != 0 ? NULL : "the generation of an eviction's result is 0";
}
