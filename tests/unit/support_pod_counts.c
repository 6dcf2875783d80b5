/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_pod_counts.h"
#include "tests/unit/test.h"

static uint32_t below(struct model *m, uint32_t n)
{
	return random_below(&m->r, n);
}

static void begin(struct model *m, enum record_kind kind)
{
	struct record head = { .kind = (uint16_t)kind, .epoch = 1, .time_ns = ++m->time_ns };

	memcpy(m->record, &head, sizeof(head));
	m->used = sizeof(head);
}

static void add(struct model *m, const void *bytes, size_t n)
{
	if (n > 0)
		memcpy(m->record + m->used, bytes, n);
	memset(m->record + m->used + n, 0, PADDED(n) - n);
	m->used += PADDED(n);
}

static const struct record *record_of(const void *bytes)
{
	return (const struct record *)bytes;
}

static void check_valid(const struct model *m)
{
	char why[256];

	cr_assert(core_valid(m->core, why, sizeof(why)), "%s", why);
}

/* One word replaced, never one of the header: test_core_random does those. */
static void feed_broken(struct model *m)
{
	alignas(8) unsigned char broken[sizeof(m->record)];
	uint32_t words = (uint32_t)(m->used - sizeof(struct record)) / 4;
	uint32_t word = below(m, 3) ? below(m, 40) : UINT32_MAX - below(m, 3);
	int rc;

	if (words == 0)
		return;
	memcpy(broken, m->record, m->used);
	memcpy(broken + sizeof(struct record) + 4 * (size_t)below(m, words), &word, sizeof(word));
	rc = core_step(m->core, record_of(broken));
	cr_assert(rc == 0 || rc == -EPROTO || rc == -ENOSPC, "%d", rc);
	if (rc < 0)
		m->refused++;
	else
		m->taken++;
	check_valid(m);
}

static void must(struct model *m)
{
	uint32_t bytes = (uint32_t)m->used;
	int rc;

	memcpy(m->record, &bytes, sizeof(bytes));
	if (m->feeding == FEED_BROKEN && below(m, 2))
		feed_broken(m);
	rc = core_step(m->core, record_of(m->record));
	cr_assert(rc == 0 || (m->feeding == FEED_BROKEN && (rc == -EPROTO || rc == -ENOSPC)), "%d: %s",
	          rc, core_fault(m->core));
}

static void drop(struct model *m, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };

	begin(m, kind);
	add(m, &e, sizeof(e));
	must(m);
}

static uint32_t random_clauses(struct model *m, struct asked_clause *out, uint32_t key,
                               uint32_t keys)
{
	uint32_t n = below(m, CLAUSES + 1);

	for (uint32_t i = 0; i < n; i++) {
		out[i] = (struct asked_clause){ .op = below(m, REQUIRE_GT), .key = key + below(m, keys) };
		out[i].n = out[i].op <= REQUIRE_NOT_IN ? 1 + below(m, 2) : 0;
		for (uint32_t k = 0; k < out[i].n; k++)
			out[i].values[k] = below(m, VALUES);
	}
	return n;
}

static struct asked_term random_term(struct model *m)
{
	struct asked_term t = { .kind = below(m, POD_TERM_KINDS),
		                    .topology = KEY_ZONE + below(m, 3),
		                    .weight = 1 + below(m, 3) };

	t.flags = below(m, 12) == 0 ? TERM_MATCHES_NOTHING : 0;
	t.flags |= below(m, 6) == 0 ? TERM_EVERY_NAMESPACE : 0;
	t.flags |= below(m, 3) == 0 ? TERM_NAMESPACES_CHOSEN : 0;
	t.spaces_n = below(m, 3);
	for (uint32_t i = 0; i < t.spaces_n; i++)
		t.spaces[i] = below(m, SPACES);
	t.space_clauses_n = random_clauses(m, t.space_clauses, KEY_SPACE, 2);
	t.clauses_n = random_clauses(m, t.clauses, KEY_POD, KEYS);
	return t;
}

static void random_asked(struct model *m, struct usage_asked *t)
{
	t->ports_n = below(m, 3) ? 0 : 1 + below(m, 2);
	t->exclusives_n = below(m, 3) ? 0 : 1 + below(m, 2);
	t->attachments_n = below(m, 2) ? 0 : 1 + below(m, 2);
	for (uint32_t i = 0; i < t->ports_n; i++)
		t->ports[i] = (struct host_port){ .address = below(m, 3) ? below(m, 2) : PORT_EVERY_ADDRESS,
			                              .protocol = below(m, 2),
			                              .port = 80 + below(m, 2) };
	for (uint32_t i = 0; i < t->exclusives_n; i++)
		t->exclusives[i] = (struct exclusive){ .item = below(m, THINGS), .flags = below(m, 3) };
	/* A claim and a disk are different things. */
	for (uint32_t i = 0; i < t->exclusives_n; i++)
		t->exclusives[i].item += t->exclusives[i].flags & EXCLUSIVE_CLAIM ? 10 : 0;
	for (uint32_t i = 0; i < t->attachments_n; i++)
		t->attachments[i] =
			(struct attachment){ .driver = below(m, DRIVERS), .volume = 1 + below(m, 6) };
}

struct parts {
	struct requirement clauses[64];
	uint32_t clauses_n;
	uint32_t values[256];
	uint32_t values_n;
};

static struct span put_clauses(struct parts *p, const struct asked_clause *clauses, uint32_t n)
{
	struct span span = { .first = p->clauses_n, .n = n };

	for (uint32_t i = 0; i < n; i++) {
		p->clauses[p->clauses_n++] = (struct requirement){ .op = clauses[i].op,
			                                               .key = clauses[i].key,
			                                               .values_first = p->values_n,
			                                               .values_n = clauses[i].n };
		for (uint32_t k = 0; k < clauses[i].n; k++)
			p->values[p->values_n++] = clauses[i].values[k];
	}
	return span;
}

static void shape_tell(struct model *m, uint32_t id)
{
	const struct model_shape *s = &m->shapes[id];
	struct parts p = { 0 };
	struct pod_term terms[TERMS];
	struct spread spreads[2];
	struct policy policy = { .topology = s->policy.topology,
		                     .flags = s->policy.flags,
		                     .shares = { 0, 2 } };
	struct policy_share shares[2] = { { 1, id }, { 3, 1 } };
	struct event_shape e = { .shape = id,
		                     .pod_terms_n = s->terms_n,
		                     .spreads_n = s->spreads_n,
		                     .ports_n = s->usage.ports_n,
		                     .exclusives_n = s->usage.exclusives_n,
		                     .attachments_n = s->usage.attachments_n,
		                     .namespace = s->space,
		                     .policies_n = s->policies_n,
		                     .shares_n = 2 * s->policies_n };

	for (uint32_t i = 0; i < s->terms_n; i++) {
		const struct asked_term *t = &s->terms[i];

		terms[i] = (struct pod_term){ .kind = t->kind,
			                          .weight = (int32_t)t->weight,
			                          .topology = t->topology,
			                          .flags = t->flags,
			                          .namespaces = { p.values_n, t->spaces_n } };
		for (uint32_t k = 0; k < t->spaces_n; k++)
			p.values[p.values_n++] = t->spaces[k];
		terms[i].namespace_clauses = put_clauses(&p, t->space_clauses, t->space_clauses_n);
		terms[i].clauses = put_clauses(&p, t->clauses, t->clauses_n);
	}
	for (uint32_t i = 0; i < s->spreads_n; i++)
		spreads[i] = (struct spread){
			.topology = s->spreads[i].topology,
			.max_skew = 1,
			.min_domains = 1,
			.flags = SPREAD_HARD | (s->spreads[i].flags ? SPREAD_MATCHES_NOTHING : 0),
			.clauses = put_clauses(&p, s->spreads[i].clauses, s->spreads[i].clauses_n)
		};
	policy.clauses = put_clauses(&p, s->policy.clauses, s->policy.clauses_n);
	e.clauses_n = p.clauses_n;
	e.values_n = p.values_n;
	begin(m, EVENT_SHAPE);
	add(m, &e, sizeof(e));
	add(m, p.values, p.values_n * sizeof(p.values[0]));
	add(m, p.clauses, p.clauses_n * sizeof(p.clauses[0]));
	add(m, terms, s->terms_n * sizeof(terms[0]));
	add(m, spreads, s->spreads_n * sizeof(spreads[0]));
	add(m, s->usage.ports, s->usage.ports_n * sizeof(s->usage.ports[0]));
	add(m, s->usage.attachments, s->usage.attachments_n * sizeof(s->usage.attachments[0]));
	add(m, s->usage.exclusives, s->usage.exclusives_n * sizeof(s->usage.exclusives[0]));
	add(m, &policy, s->policies_n * sizeof(policy));
	add(m, shares, e.shares_n * sizeof(shares[0]));
	must(m);
}

static bool shape_used(const struct model *m, uint32_t shape)
{
	for (uint32_t i = 0; i < PODS; i++)
		if (m->pods[i].live && m->pods[i].shape == shape)
			return true;
	return false;
}

static void shape_step(struct model *m)
{
	uint32_t id = below(m, SHAPES);
	struct model_shape *s = &m->shapes[id];

	if (shape_used(m, id))
		return;
	if (s->live && below(m, 2)) {
		drop(m, EVENT_SHAPE_DROP, id, 0);
		s->live = false;
		return;
	}
	*s = (struct model_shape){ .live = true,
		                       .terms_n = below(m, TERMS + 1),
		                       .spreads_n = below(m, 3),
		                       .space = below(m, SPACES) };
	for (uint32_t i = 0; i < s->terms_n; i++)
		s->terms[i] = random_term(m);
	for (uint32_t i = 0; i < s->spreads_n; i++)
		s->spreads[i] =
			(struct asked_term){ .topology = KEY_ZONE + below(m, 3), .flags = below(m, 8) == 0 };
	for (uint32_t i = 0; i < s->spreads_n; i++)
		s->spreads[i].clauses_n = random_clauses(m, s->spreads[i].clauses, KEY_POD, KEYS);
	s->policies_n = below(m, 3) == 0;
	s->policy = (struct asked_term){ .topology = KEY_ZONE + below(m, 3), .flags = below(m, 8) };
	s->policy.clauses_n = random_clauses(m, s->policy.clauses, KEY_POD, KEYS);
	random_asked(m, &s->usage);
	shape_tell(m, id);
}

static void space_step(struct model *m)
{
	uint32_t id = below(m, SPACES);
	struct event_namespace e = { .name = id };
	struct model_space *s = &m->spaces[id];

	m->relabelled++;
	s->n = 0;
	if (below(m, 3) == 0) {
		drop(m, EVENT_NAMESPACE_DROP, id, 0);
		return;
	}
	for (uint32_t key = 0; key < 2; key++)
		if (below(m, 2))
			s->labels[s->n++] = (struct pod_label){ KEY_SPACE + key, below(m, VALUES) };
	e.labels_n = s->n;
	begin(m, EVENT_NAMESPACE);
	add(m, &e, sizeof(e));
	add(m, s->labels, s->n * sizeof(s->labels[0]));
	must(m);
}

static bool node_used(const struct model *m, uint32_t node)
{
	for (uint32_t i = 0; i < PODS; i++)
		if (m->pods[i].live && m->pods[i].node == node)
			return true;
	return false;
}

static void node_tell(struct model *m, uint32_t id)
{
	const struct model_node *n = &m->nodes[id];
	struct label labels[3];
	struct node_image image = { .image = 5, .bytes = n->image_bytes };
	struct attach_limit limit = { .most = n->limit };
	struct attachment attached = { .volume = n->attached };
	struct event_node e = { .node = id,
		                    .generation = n->generation,
		                    .flags = n->present ? NODE_PRESENT : 0,
		                    .name_bytes = 2,
		                    .images_n = n->image_bytes > 0,
		                    .limits_n = n->limit != UINT32_MAX,
		                    .attached_n = n->attached > 0 };
	char name[2] = { 'n', (char)('a' + id) };

	if (n->zone)
		labels[e.labels_n++] = (struct label){ .key = KEY_ZONE, .value = n->zone };
	if (n->host)
		labels[e.labels_n++] = (struct label){ .key = KEY_HOST, .value = n->host };
	if (n->rare)
		labels[e.labels_n++] = (struct label){ .key = KEY_RARE, .value = n->rare };
	begin(m, EVENT_NODE);
	add(m, &e, sizeof(e));
	add(m, labels, e.labels_n * sizeof(labels[0]));
	add(m, &image, e.images_n * sizeof(image));
	add(m, &limit, e.limits_n * sizeof(limit));
	add(m, &attached, e.attached_n * sizeof(attached));
	add(m, name, sizeof(name));
	must(m);
}

static uint32_t some_node(struct model *m)
{
	return below(m, below(m, 4) > 0 ? NODES_DENSE : NODES);
}

static void node_step(struct model *m)
{
	uint32_t id = some_node(m);
	struct model_node *n = &m->nodes[id];

	if (n->live && !node_used(m, id) && below(m, 3) == 0) {
		drop(m, EVENT_NODE_DROP, id, n->generation);
		*n = (struct model_node){ 0 };
		return;
	}
	*n = (struct model_node){ .live = true,
		                      .present = below(m, 6) > 0,
		                      .generation = n->live ? n->generation : ++m->generation,
		                      .zone = below(m, 4),
		                      .host = below(m, 6) ? 100 + id : 0,
		                      .rare = id >= NODES_DENSE && below(m, 16) == 0 ? 100 + id % 2 : 0,
		                      .limit = below(m, 2) ? below(m, 4) : UINT32_MAX,
		                      .attached = below(m, 4),
		                      .image_bytes = below(m, 2) ? 1000 : 0 };
	node_tell(m, id);
}

static void pod_tell(struct model *m, uint32_t id)
{
	const struct model_pod *p = &m->pods[id];
	struct event_pod e = { .pod = id,
		                   .generation = p->generation,
		                   .flags = p->flags,
		                   .gang = ID_NONE,
		                   .shape = p->shape,
		                   .node = p->node,
		                   .name_bytes = 2,
		                   .labels_n = p->labels_n,
		                   .namespace = p->space };
	char name[2] = { 'p', (char)('0' + id) };

	begin(m, EVENT_POD);
	add(m, &e, sizeof(e));
	add(m, p->labels, p->labels_n * sizeof(p->labels[0]));
	add(m, name, sizeof(name));
	must(m);
}

static void pod_step(struct model *m)
{
	uint32_t id = below(m, PODS), shape = below(m, SHAPES), node = some_node(m);
	struct model_pod *p = &m->pods[id];

	if (p->live && below(m, 4) == 0) {
		drop(m, EVENT_POD_DROP, id, p->generation);
		*p = (struct model_pod){ 0 };
		return;
	}
	if (!m->shapes[shape].live)
		return;
	*p = (struct model_pod){ .live = true,
		                     .generation = p->live && below(m, 3) ? p->generation : ++m->generation,
		                     .shape = p->live && below(m, 2) ? p->shape : shape,
		                     .space = below(m, SPACES),
		                     .node = m->nodes[node].live && below(m, 5) ? node : ID_NONE,
		                     .flags = below(m, 4) ? POD_OURS : POD_DELETING };
	for (uint32_t key = 0; key < KEYS; key++)
		if (below(m, 3))
			p->labels[p->labels_n++] = (struct pod_label){ KEY_POD + key, below(m, VALUES) };
	if (below(m, 2))
		p->labels[p->labels_n++] = (struct pod_label){ KEY_INDEX, id };
	pod_tell(m, id);
}

/* A new frontend: everything is forgotten. */
static void epoch(struct model *m)
{
	memset(m->shapes, 0, sizeof(m->shapes));
	memset(m->pods, 0, sizeof(m->pods));
	memset(m->nodes, 0, sizeof(m->nodes));
	memset(m->spaces, 0, sizeof(m->spaces));
	begin(m, EVENT_BEGIN);
	must(m);
}

static struct core *core_make(struct limits limits, struct ledger **ledger)
{
	struct core_config config = { .limits = limits };
	struct core *core;

	*ledger = aligned_alloc(CACHE_LINE, (core_ledger_bytes(&limits, NULL) + CACHE_LINE - 1) /
	                                        CACHE_LINE * CACHE_LINE);
	cr_assert(*ledger);
	memset(*ledger, 0, core_ledger_bytes(&limits, NULL));
	core = core_new(&config, *ledger);
	cr_assert(core);
	return core;
}

void model_begin(struct model *m, const char *name)
{
	m->r = random_start(name);
	m->core = core_make((struct limits)LIMITS_WITH(.nodes = NODES, .pods = PODS, .gangs = 1,
	                                               .shapes = SHAPES, .names = 16),
	                    &m->ledger);
	m->core->pod_counts.idle_most = 4;
	epoch(m);
}

void model_end(struct model *m)
{
	core_free(m->core);
	free(m->ledger);
}

void model_step(struct model *m)
{
	static void (*const steps[])(struct model *) = { pod_step,  pod_step,   pod_step,
		                                             node_step, shape_step, space_step };
	const uint32_t idle = m->core->pod_counts.selectors.idle_n;

	if (below(m, 1000) == 0)
		epoch(m);
	steps[below(m, 6)](m);
	m->retired += m->core->pod_counts.selectors.idle_n < idle;
}
