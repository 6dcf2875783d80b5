/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shm/records.h"

#include "core/shm/ledger.h"

#include <stdbool.h>
#include <string.h>

#define TERMS_MOST 4096u
#define WEIGHT_MOST 100 /* as the API server allows */
#define SELECTOR_WORDS_MOST                                                                        \
	(RECORD_BYTES_MAX / 2) /* of all selectors of a shape: several times a record's */

/* What is left of a record's body. */
struct body {
	const unsigned char *at;
	uint64_t left;
};

static struct body body_of(const struct record *r)
{
	return (struct body){ .at = (const unsigned char *)(r + 1), .left = r->bytes - sizeof(*r) };
}

/* The next n things of `bytes` each, padded to 8; NULL when the record is shorter.
 * 64 bits hold any count times any of our sizes. */
static const void *take(struct body *b, uint64_t n, uint64_t bytes)
{
	const void *at = b->at;
	uint64_t whole = PADDED(n * bytes);

	if (whole > b->left)
		return NULL;
	b->at += whole;
	b->left -= whole;
	return at;
}

const char *record_check(const struct record *r)
{
	if (r->bytes < sizeof(*r) || r->bytes > RECORD_BYTES_MAX || r->bytes % 8 != 0)
		return "length of the record";
	if (r->flags != 0)
		return "flags of the record";
	if (r->kind < EVENT_BEGIN || r->kind > EVENT_PLAN)
		return "kind of the record";
	if ((r->kind == EVENT_BEGIN || r->kind == EVENT_SYNCED || r->kind == EVENT_TICK ||
	     r->kind == EVENT_PLAN) &&
	    r->bytes != sizeof(*r))
		return "a body where none belongs";
	return NULL;
}

static const char *text_fault(const char *text, uint32_t bytes)
{
	if (bytes == 0 || bytes > NAME_BYTES_MAX)
		return "length of a name";
	if (memchr(text, 0, bytes))
		return "a NUL in a name";
	return NULL;
}

static const char *amounts_fault(const struct amount *amounts, uint32_t n, uint32_t resources)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (amounts[i].resource >= resources)
			return "resource out of bounds";
		if (amounts[i].value < 0)
			return "negative amount";
		if (seen >> amounts[i].resource & 1)
			return "a resource twice";
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
		return "length of a name record";
	if (n.body->id >= l->names)
		return "name id out of bounds";
	if (n.body->kind != (n.body->id < l->resources ? NAME_RESOURCE : NAME_TAINT))
		return "kind of a name";
	*out = n;
	return text_fault(n.text, n.body->bytes);
}

static const char *labels_fault(const struct node_record *n)
{
	for (uint32_t i = 1; i < n->body->labels_n; i++)
		if (n->labels[i - 1].key >= n->labels[i].key)
			return "labels not sorted by key";
	return NULL;
}

static const char *images_fault(const struct node_record *n)
{
	for (uint32_t i = 0; i < n->body->images_n; i++) {
		if (n->images[i].bytes < 0)
			return "size of an image";
		if (i > 0 && n->images[i - 1].image >= n->images[i].image)
			return "images not sorted";
	}
	return NULL;
}

static const char *taints_fault(const struct node_record *n, const struct limits *l)
{
	for (uint32_t i = 0; i < n->body->taints_n; i++) {
		uint32_t effect = n->taints[i].effect;

		if (effect < EFFECT_NO_SCHEDULE || effect > EFFECT_NO_EXECUTE)
			return "effect of a taint";
		if (n->taints[i].name < l->resources || n->taints[i].name >= l->names)
			return "name of a taint out of bounds";
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
		return "length of a node record";
	if (n.body->node >= l->nodes)
		return "node id out of bounds";
	if (n.body->generation == 0)
		return "generation of a node";
	if (n.body->flags & ~(uint32_t)(NODE_PRESENT | NODE_CORDONED | NODE_RESTARTS_ALL))
		return "flags of a node";
	*out = n;
	fault = amounts_fault(n.amounts, n.body->amounts_n, l->resources);
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
			return "operator of a requirement";
		if (q->term > s->body->terms_n || (i > 0 && q->term < q[-1].term))
			return "term of a requirement";
		if ((uint64_t)q->values_first + q->values_n > s->body->values_n)
			return "values of a requirement";
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
			return "a clause";
	}
	for (uint32_t i = 0; i < s->body->preferences_n; i++)
		if (!span_within(s->preferences[i].clauses, s->body->clauses_n) ||
		    s->preferences[i].weight < 0 || s->preferences[i].weight > WEIGHT_MOST)
			return "a preference";
	for (uint32_t i = 0; i < s->body->alternatives_n; i++)
		if (!span_within(s->alternatives[i], s->body->clauses_n))
			return "an alternative";
	for (uint32_t i = 0; i < s->body->volume_rules_n; i++)
		if (!span_within(s->volume_rules[i].alternatives, s->body->alternatives_n) ||
		    s->volume_rules[i].why == NODE_FITS || s->volume_rules[i].why >= NODE_WHY_KINDS)
			return "a volume rule";
	return NULL;
}

/* About labels of pods or namespaces, which know no Gt and Lt.  *words counts what it says, also
 * what it says with others' words: a record that folds out to more is nobody's. */
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
		return "policies of a shape";
	for (uint32_t i = 0; i < s->body->shares_n; i++)
		if (s->shares[i].replicas > INT32_MAX)
			return "replicas of a policy's share";
	for (uint32_t i = 1; i < s->body->shares_n; i++)
		if (s->shares[i].value <= s->shares[i - 1].value)
			return "order of a policy's shares";
	if (s->body->policies_n == 0)
		return s->body->shares_n > 0 ? "shares without a policy" : NULL;
	if (p->flags & ~(uint32_t)(POLICY_REQUIRED | POLICY_FILL | POLICY_UNSELECTED) ||
	    !span_within(p->shares, s->body->shares_n) || !selector_sound(s, p->clauses, words))
		return "a policy";
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
			return "a pod term";
	}
	for (uint32_t i = 0; i < e->spreads_n; i++) {
		const struct spread *t = &s->spreads[i];

		if (t->flags & ~(uint32_t)(SPREAD_HARD | SPREAD_IGNORES_AFFINITY | SPREAD_HONORS_TAINTS |
		                           SPREAD_MATCHES_NOTHING | SPREAD_DEFAULT | SPREAD_BY_NODE) ||
		    t->max_skew == 0 || t->max_skew > INT32_MAX || t->min_domains == 0 ||
		    t->min_domains > INT32_MAX || !selector_sound(s, t->clauses, &words))
			return "a spread constraint";
	}
	if ((e->spreads_n > 0 || e->policies_n > 0) && e->namespace == ID_NONE)
		return "spread constraints or a policy without a namespace";
	for (uint32_t i = 0; i < e->exclusives_n; i++)
		if (s->exclusives[i].flags & ~(uint32_t)(EXCLUSIVE_CLAIM | EXCLUSIVE_SHARED))
			return "flags of an exclusive thing";
	return policy_fault(s, &words);
}

static const char *tolerations_fault(const struct shape_record *s)
{
	for (uint32_t i = 0; i < s->body->tolerations_n; i++)
		if (s->tolerations[i].effect > EFFECT_NO_EXECUTE || s->tolerations[i].any_value > 1)
			return "a toleration";
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
		return "length of a shape record";
	if (s.body->shape >= l->shapes)
		return "shape id out of bounds";
	if (s.body->flags & ~(uint32_t)(SHAPE_TOLERATES_CORDON | SHAPE_NEEDS_RESTART_ALL))
		return "flags of a shape";
	if (s.body->terms_n > TERMS_MOST)
		return "terms of a shape";
	if (s.body->scored_cpu_milli < 0 || s.body->scored_memory_bytes < 0 ||
	    (s.body->placed_cpu_milli < 0 && s.body->scored_cpu_milli + s.body->placed_cpu_milli < 0) ||
	    (s.body->placed_memory_bytes < 0 &&
	     s.body->scored_memory_bytes + s.body->placed_memory_bytes < 0))
		return "scored amounts of a shape";
	*out = s;
	fault = amounts_fault(s.amounts, s.body->amounts_n, l->resources);
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
		return "roles or levels of a gang";
	for (uint32_t i = 1; i < g->body->roles_n; i++)
		if (g->roles[i].role <= g->roles[i - 1].role)
			return "order of a gang's roles";
	for (uint32_t i = 0; i < g->body->levels_n; i++)
		if (g->levels[i].flags & ~(uint32_t)LEVEL_REQUIRED)
			return "flags of a gang's level";
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
		return "length of a gang record";
	if (g.body->gang >= l->gangs)
		return "gang id out of bounds";
	if (g.body->generation == 0)
		return "generation of a gang";
	if (g.body->flags &
	    ~(uint32_t)(GANG_OBJECT_MISSING | GANG_REFUSED | GANG_PRIORITY | GANG_AFTER_OTHERS))
		return "flags of a gang";
	*out = g;
	fault = amounts_fault(g.amounts, g.body->amounts_n, l->resources);
	if (!fault)
		fault = parts_fault(&g);
	return fault ? fault : text_fault(g.name, g.body->name_bytes);
}

static const char *pod_labels_fault(const struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (labels[i - 1].key >= labels[i].key)
			return "pod labels not sorted by key";
	for (uint32_t i = 0; i < n; i++)
		if (labels[i].key == UINT32_MAX || labels[i].value == UINT32_MAX)
			return "number of a pod's label";
	return NULL;
}

const char *record_namespace(const struct record *r, struct namespace_record *out)
{
	struct body b = body_of(r);

	*out = (struct namespace_record){ 0 };
	out->body = take(&b, 1, sizeof(*out->body));
	out->labels = out->body ? take(&b, out->body->labels_n, sizeof(*out->labels)) : NULL;
	if (!out->labels || b.left != 0)
		return "length of a namespace record";
	return pod_labels_fault(out->labels, out->body->labels_n);
}

const char *record_pod(const struct record *r, const struct limits *l, struct pod_record *out)
{
	struct body b = body_of(r);
	struct pod_record p = { 0 };
	const char *fault;

	p.body = take(&b, 1, sizeof(*p.body));
	p.labels = p.body ? take(&b, p.body->labels_n, sizeof(*p.labels)) : NULL;
	p.name = p.labels ? take(&b, p.body->name_bytes, 1) : NULL;
	if (!p.name || b.left != 0)
		return "length of a pod record";
	if (p.body->pod >= l->pods)
		return "pod id out of bounds";
	if (p.body->generation == 0)
		return "generation of a pod";
	if (p.body->flags &
	    ~(uint32_t)(POD_OURS | POD_GATED | POD_DELETING | POD_REFUSED | POD_BINDING))
		return "flags of a pod";
	if (p.body->gang != ID_NONE && p.body->gang >= l->gangs)
		return "gang of a pod out of bounds";
	if (p.body->shape >= l->shapes)
		return "shape of a pod out of bounds";
	if (p.body->node != ID_NONE && p.body->node >= l->nodes)
		return "node of a pod out of bounds";
	if (p.body->namespace == UINT32_MAX)
		return "namespace of a pod";
	if ((p.body->flags & POD_BINDING) && p.body->node == ID_NONE)
		return "a binding pod without a node";
	*out = p;
	fault = pod_labels_fault(p.labels, p.body->labels_n);
	return fault ? fault : text_fault(p.name, p.body->name_bytes);
}

const char *record_claim(const struct record *r, const struct limits *l, struct claim_record *out)
{
	struct body b = body_of(r);
	struct claim_record c = { 0 };

	c.body = take(&b, 1, sizeof(*c.body));
	if (c.body)
		c.nodes = take(&b, c.body->words, sizeof(*c.nodes));
	if (!c.body || !c.nodes || b.left != 0)
		return "length of a claim";
	if (c.body->pod >= l->pods)
		return "pod of a claim out of bounds";
	if (c.body->words > (l->nodes + 63) / 64)
		return "nodes of a claim out of bounds";
	*out = c;
	return NULL;
}

const char *record_drop(const struct record *r, uint32_t limit, const struct event_drop **out)
{
	struct body b = body_of(r);

	*out = take(&b, 1, sizeof(**out));
	if (!*out || b.left != 0)
		return "length of a drop record";
	return (*out)->id < limit ? NULL : "dropped id out of bounds";
}

const char *record_result(const struct record *r, const struct limits *l, const struct result **out)
{
	struct body b = body_of(r);

	*out = take(&b, 1, sizeof(**out));
	if (!*out || b.left != 0)
		return "length of a result";
	if ((*out)->pod >= l->pods || (*out)->node >= l->nodes)
		return "id of a result out of bounds";
	return (*out)->generation != 0 ? NULL : "generation of a result";
}
