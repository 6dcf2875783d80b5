/* SPDX-License-Identifier: Apache-2.0 */
/* The census against a slow and obvious model: every count is made again by looking at every pod.
 */
#include "core/step/core.h"
#include "tests/unit/support_pod_counts.h"
#include "tests/unit/test.h"

#define STEPS 6000

static bool clause_right(const struct asked_clause *c, const struct pod_label *labels, uint32_t n)
{
	const struct pod_label *found = NULL;
	bool among = false;

	for (uint32_t i = 0; i < n; i++)
		if (labels[i].key == c->key)
			found = &labels[i];
	for (uint32_t i = 0; found && i < c->n; i++)
		among = among || c->values[i] == found->value;
	if (c->op == REQUIRE_IN)
		return among;
	if (c->op == REQUIRE_NOT_IN)
		return !among;
	return (c->op == REQUIRE_EXISTS) == (found != NULL);
}

static bool clauses_right(const struct asked_clause *c, uint32_t n, const struct pod_label *labels,
                          uint32_t labels_n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!clause_right(&c[i], labels, labels_n))
			return false;
	return true;
}

static bool term_right(const struct model *m, const struct asked_term *t, const struct model_pod *p,
                       bool incoming)
{
	const struct model_space *s = &m->spaces[p->space];
	bool within = t->flags & TERM_EVERY_NAMESPACE;

	if (t->flags & TERM_MATCHES_NOTHING)
		return false;
	for (uint32_t i = 0; i < t->spaces_n; i++)
		within = within || t->spaces[i] == p->space;
	if (t->flags & TERM_NAMESPACES_CHOSEN) {
		within = within || clauses_right(t->space_clauses, t->space_clauses_n, s->labels, s->n);
		within =
			within || (incoming && clauses_right(t->space_clauses, t->space_clauses_n, NULL, 0));
	}
	return within && clauses_right(t->clauses, t->clauses_n, p->labels, p->labels_n);
}

static bool affinity_right(const struct model *m, const struct model_shape *s,
                           const struct model_pod *p)
{
	for (uint32_t i = 0; i < s->terms_n; i++)
		if (s->terms[i].kind == POD_TERM_AFFINITY && !term_right(m, &s->terms[i], p, true))
			return false;
	return true;
}

static bool spread_right(const struct model_shape *s, const struct asked_term *t,
                         const struct model_pod *p)
{
	return p->space == s->space && clauses_right(t->clauses, t->clauses_n, p->labels, p->labels_n);
}

/* right[i]: pod i matches. */
static void check_selector(struct model *m, selector_id id, const bool right[PODS])
{
	const struct pod_counts *cs = &m->core->pod_counts;
	const struct selector *s = &cs->selectors.slots[id];
	uint32_t placed[NODES] = { 0 }, staying[NODES] = { 0 };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		if (!p->live)
			continue;
		cr_assert_eq(class_matches(&cs->pod_classes, m->core->pods.slots[i].class, id), right[i],
		             "pod %u, selector %u", i, id);
		m->matched += right[i];
		if (p->node == ID_NONE || !right[i])
			continue;
		placed[p->node]++;
		staying[p->node] += !(p->flags & POD_DELETING);
		sum += m->nodes[p->node].present;
	}
	for (uint32_t n = 0; n < NODES; n++) {
		cr_assert_eq(placed[n], n < cs->nodes->span ? node_counts_at(s->placed, n) : 0);
		cr_assert_eq(staying[n], n < cs->nodes->span ? node_counts_at(s->staying, n) : 0);
	}
	cr_assert_eq(sum, s->placed_n);
}

static void check_placed_term(const struct model *m, const struct asked_term *t,
                              const struct model_shape *owner, placed_term_id id)
{
	const struct placed_term *b = &m->core->pod_counts.placed_terms[id];
	uint32_t least[NODES] = { 0 };

	cr_assert(b->kind == t->kind && b->weight == (int32_t)t->weight);
	for (uint32_t i = 0; i < PODS; i++)
		if (m->pods[i].live && m->pods[i].node != ID_NONE && &m->shapes[m->pods[i].shape] == owner)
			least[m->pods[i].node]++;
	/* Other shapes may hold the same term. */
	for (uint32_t n = 0; n < NODES; n++)
		cr_assert_geq(n < m->core->nodes.span ? node_counts_at(b->holders, n) : 0, least[n]);
}

static void check_topology(const struct model *m, topology_id id, uint32_t key)
{
	const struct topology *t = &m->core->pod_counts.topologies.slots[id];

	cr_assert_eq(t->key, key);
	for (uint32_t i = 0; i < NODES; i++) {
		const struct model_node *n = &m->nodes[i];
		uint32_t value = key == KEY_ZONE   ? n->zone
		                 : key == KEY_HOST ? n->host
		                                   : n->rare,
				 domain = i < m->core->nodes.span ? t->domain[i] : DOMAIN_NONE;

		cr_assert_eq(domain == DOMAIN_NONE, !n->live || !n->present || value == 0);
		if (domain != DOMAIN_NONE)
			cr_assert_eq(t->values[domain], value);
	}
}

static void check_shape(struct model *m, uint32_t id)
{
	const struct model_shape *s = &m->shapes[id];
	const struct shape_links *links = m->core->pod_counts.links[id];
	bool right[PODS];

	cr_assert_eq(links != NULL,
	             s->live && (s->terms_n > 0 || s->spreads_n > 0 || s->policies_n > 0));
	for (uint32_t i = 0; links && i < s->terms_n; i++) {
		const struct term_link *link = &links->terms[i];

		check_topology(m, link->topology, s->terms[i].topology);
		check_placed_term(m, &s->terms[i], s, link->placed_term);
		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && term_right(m, &s->terms[i], &m->pods[k], true);
		if (s->terms[i].kind != POD_TERM_AFFINITY)
			check_selector(m, link->selector, right);
		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && term_right(m, &s->terms[i], &m->pods[k], false);
		check_selector(m, m->core->pod_counts.placed_terms[link->placed_term].selector, right);
	}
	for (uint32_t k = 0; links && k < PODS; k++)
		right[k] = m->pods[k].live && affinity_right(m, s, &m->pods[k]);
	if (links && links->affinity != SELECTOR_NONE)
		check_selector(m, links->affinity, right);
	for (uint32_t i = 0; links && i < s->spreads_n; i++) {
		const struct asked_term *t = &s->spreads[i];

		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && spread_right(s, t, &m->pods[k]);
		cr_assert_eq(links->spreads[i].selector == SELECTOR_NONE, t->flags || t->clauses_n == 0);
		cr_assert_eq(links->spreads[i].self_always, !t->flags && t->clauses_n == 0);
		if (links->spreads[i].selector != SELECTOR_NONE)
			check_selector(m, links->spreads[i].selector, right);
	}
	if (links && s->policies_n > 0) {
		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && spread_right(s, &s->policy, &m->pods[k]);
		check_topology(m, links->policy.topology, s->policy.topology);
		check_selector(m, links->policy.selector, right);
	}
}

static bool ports_clash(const struct usage_asked *a, const struct usage_asked *b)
{
	for (uint32_t i = 0; i < a->ports_n; i++)
		for (uint32_t k = 0; k < b->ports_n; k++) {
			const struct host_port *p = &a->ports[i], *q = &b->ports[k];
			bool wild = p->address == PORT_EVERY_ADDRESS || q->address == PORT_EVERY_ADDRESS;

			if (p->protocol == q->protocol && p->port == q->port &&
			    (wild || p->address == q->address))
				return true;
		}
	return false;
}

static bool exclusives_clash(const struct usage_asked *a, const struct usage_asked *b, bool claims)
{
	for (uint32_t i = 0; i < a->exclusives_n; i++)
		for (uint32_t k = 0; k < b->exclusives_n; k++) {
			const struct exclusive *e = &a->exclusives[i], *f = &b->exclusives[k];

			if (e->item != f->item || claims != !!(e->flags & EXCLUSIVE_CLAIM))
				continue;
			if (claims || !(e->flags & f->flags & EXCLUSIVE_SHARED))
				return true;
		}
	return false;
}

/* Volumes of driver 0, by number. */
static void volumes_mark(const struct usage_asked *t, bool marks[8])
{
	for (uint32_t i = 0; i < t->attachments_n; i++)
		if (t->attachments[i].driver == 0)
			marks[t->attachments[i].volume] = true;
}

static bool exceeded_right(const struct model *m, uint32_t node, const struct usage_asked *asked)
{
	const struct model_node *n = &m->nodes[node];
	bool there[8] = { false }, wanted[8] = { false };
	uint32_t count = 0, more = 0;

	for (uint32_t i = 0; i < PODS; i++)
		if (m->pods[i].live && m->pods[i].node == node)
			volumes_mark(&m->shapes[m->pods[i].shape].usage, there);
	if (n->attached)
		there[n->attached] = true;
	volumes_mark(asked, wanted);
	for (uint32_t v = 0; v < 8; v++) {
		count += there[v];
		more += wanted[v] && !there[v];
	}
	return n->limit != UINT32_MAX && more > 0 && count + more > n->limit;
}

static void check_things(struct model *m, uint32_t shape)
{
	const struct usage *t = m->core->pod_counts.usage;
	const struct shape *s = &m->core->shapes.slots[shape];
	const struct usage_asked *asked = &m->shapes[shape].usage;
	bool claims = false;
	uint32_t images = 0;

	for (uint32_t n = 0; n < NODES; n++)
		images += m->nodes[n].live && m->nodes[n].present && m->nodes[n].image_bytes > 0;
	for (uint32_t n = 0; n < NODES; n++) {
		bool ports = false, disks = false,
			 image = m->nodes[n].live && m->nodes[n].present && m->nodes[n].image_bytes;
		struct image_fact fact = { 0 };

		for (uint32_t i = 0; i < PODS; i++) {
			const struct usage_asked *other = &m->shapes[m->pods[i].shape].usage;

			if (!m->pods[i].live || m->pods[i].node != n)
				continue;
			ports = ports || ports_clash(asked, other);
			disks = disks || exclusives_clash(asked, other, false);
			claims = claims || (m->nodes[n].present && exclusives_clash(asked, other, true));
		}
		cr_assert_eq(usage_port_conflict(t, n, s), ports);
		cr_assert_eq(usage_disk_conflict(t, n, s), disks);
		if (m->nodes[n].live && m->nodes[n].present)
			cr_assert_eq(usage_attach_exceeded(t, n, s), exceeded_right(m, n, asked));
		cr_assert_eq(usage_image(t, n, 5, &fact), image);
		cr_assert(!image || (fact.nodes == images && fact.bytes == 1000));
		m->conflicts += (unsigned)(ports + disks);
	}
	cr_assert_eq(usage_claim_conflict(t, s), claims);
}

static void check(struct model *m)
{
	char why[256];

	cr_assert(core_valid(m->core, why, sizeof(why)), "%s", why);
	for (uint32_t id = 0; id < SHAPES; id++) {
		check_shape(m, id);
		if (m->shapes[id].live)
			check_things(m, id);
	}
}

Test(pod_counts, counts_as_a_look_at_every_pod_does)
{
	static struct model m;

	model_begin(&m, "census");
	for (int i = 0; i < STEPS; i++) {
		model_step(&m);
		if (i % 8 == 0)
			check(&m);
	}
	fprintf(
		stderr,
		"pod counts: %u pods matched, %u namespaces relabelled, %u conflicts, idle selectors gone %u times\n",
		m.matched, m.relabelled, m.conflicts, m.retired);
	cr_assert(m.matched > STEPS && m.relabelled > STEPS / 10 && m.conflicts > STEPS / 10 &&
	          m.retired > 3);
	model_end(&m);
}

/* Any word of any record replaced: it is refused, or means something else; all sums hold. */
Test(pod_counts, broken_records)
{
	static struct model m = { .feeding = FEED_BROKEN };

	model_begin(&m, "census.broken");
	for (int i = 0; i < STEPS; i++)
		model_step(&m);
	fprintf(stderr, "census.broken: %u refused, %u taken\n", m.refused, m.taken);
	cr_assert(m.refused > STEPS / 20 && m.taken > STEPS / 20);
	model_end(&m);
}
