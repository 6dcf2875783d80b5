/* The census against a slow and obvious model: random pods, labels, namespaces, nodes and rules
 * come, change and go, and every count is made again by looking at every pod. */
#include "core/state.h"
#include "tests/unit/support_random.h"

#include <criterion/criterion.h>

enum { NODES = 7, PODS = 40, SHAPES = 9, SPACES = 4, KEYS = 3, VALUES = 3, TERMS = 3, CLAUSES = 2, STEPS = 6000 };
enum { KEY_ZONE = 1, KEY_HOST, KEY_POD = 10, KEY_INDEX = 20, KEY_SPACE = 30, THINGS = 3, DRIVERS = 2 };

struct clause {
	uint32_t op, key, n;
	uint32_t values[2];
};

struct term {
	uint32_t kind, topology, flags, weight;
	uint32_t spaces_n, spaces[2];
	uint32_t space_clauses_n, clauses_n;
	struct clause space_clauses[CLAUSES], clauses[CLAUSES];
};

struct things_asked {
	uint32_t ports_n, exclusives_n, attachments_n;
	struct host_port ports[2];
	struct exclusive exclusives[2];
	struct attachment attachments[2];
};

struct model_shape {
	bool live;
	uint32_t terms_n, spreads_n, space;
	struct term terms[TERMS], spreads[2];
	struct things_asked things;
};

struct model_pod {
	bool live;
	uint32_t generation, shape, node, space, labels_n, flags;
	struct pod_label labels[KEYS + 1];
};

struct model_node {
	bool live, present;
	uint32_t generation, zone, host; /* 0: no label */
	uint32_t limit; /* of driver 0; UINT32_MAX: none */
	uint32_t attached; /* volume of driver 0; 0: none */
	uint32_t image_bytes; /* of image 5; 0: not there */
};

struct model_space {
	uint32_t n;
	struct pod_label labels[2];
};

struct model {
	struct random r;
	struct core *core;
	struct ledger *ledger;
	struct model_shape shapes[SHAPES];
	struct model_pod pods[PODS];
	struct model_node nodes[NODES];
	struct model_space spaces[SPACES];
	uint32_t generation;
	uint64_t time_ns;
	_Alignas(8) unsigned char record[8192];
	size_t used;
	unsigned relabelled, matched, conflicts, retired;
};

static uint32_t below(struct model *m, uint32_t n)
{
	return random_below(&m->r, n);
}

/* ---- records ---------------------------------------------------------------------- */

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

static int feed(struct model *m)
{
	uint32_t bytes = (uint32_t)m->used;

	memcpy(m->record, &bytes, sizeof(bytes));
	return core_step(m->core, (const struct record *)(const void *)m->record);
}

static void must(struct model *m)
{
	int rc = feed(m);

	cr_assert_eq(rc, 0, "%d: %s", rc, core_fault(m->core));
}

static void drop(struct model *m, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };

	begin(m, kind);
	add(m, &e, sizeof(e));
	must(m);
}

/* ---- random things ---------------------------------------------------------------- */

static uint32_t random_clauses(struct model *m, struct clause *out, uint32_t key, uint32_t keys)
{
	uint32_t n = below(m, CLAUSES + 1);

	for (uint32_t i = 0; i < n; i++) {
		out[i] = (struct clause){ .op = below(m, REQUIRE_GT), .key = key + below(m, keys) };
		out[i].n = out[i].op <= REQUIRE_NOT_IN ? 1 + below(m, 2) : 0;
		for (uint32_t k = 0; k < out[i].n; k++)
			out[i].values[k] = below(m, VALUES);
	}
	return n;
}

static struct term random_term(struct model *m)
{
	struct term t = { .kind = below(m, POD_TERM_KINDS), .topology = KEY_ZONE + below(m, 2), .weight = 1 + below(m, 3) };

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

static void random_asked(struct model *m, struct things_asked *t)
{
	t->ports_n = below(m, 3) ? 0 : 1 + below(m, 2);
	t->exclusives_n = below(m, 3) ? 0 : 1 + below(m, 2);
	t->attachments_n = below(m, 2) ? 0 : 1 + below(m, 2);
	for (uint32_t i = 0; i < t->ports_n; i++)
		t->ports[i] = (struct host_port){ .address = below(m, 3) ? below(m, 2) : PORT_EVERY_ADDRESS,
			                          .protocol = below(m, 2), .port = 80 + below(m, 2) };
	for (uint32_t i = 0; i < t->exclusives_n; i++)
		t->exclusives[i] = (struct exclusive){ .thing = below(m, THINGS), .flags = below(m, 3) };
	/* A claim and a disk are different things. */
	for (uint32_t i = 0; i < t->exclusives_n; i++)
		t->exclusives[i].thing += t->exclusives[i].flags & EXCLUSIVE_CLAIM ? 10 : 0;
	for (uint32_t i = 0; i < t->attachments_n; i++)
		t->attachments[i] = (struct attachment){ .driver = below(m, DRIVERS), .volume = 1 + below(m, 6) };
}

/* ---- events ------------------------------------------------------------------------- */

struct parts {
	struct requirement clauses[64];
	uint32_t clauses_n;
	uint32_t values[256];
	uint32_t values_n;
};

static struct span put_clauses(struct parts *p, const struct clause *clauses, uint32_t n)
{
	struct span span = { .first = p->clauses_n, .n = n };

	for (uint32_t i = 0; i < n; i++) {
		p->clauses[p->clauses_n++] = (struct requirement){ .op = clauses[i].op, .key = clauses[i].key,
			                                           .values_first = p->values_n, .values_n = clauses[i].n };
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
	struct event_shape e = { .shape = id, .pod_terms_n = s->terms_n, .spreads_n = s->spreads_n,
		                 .ports_n = s->things.ports_n, .exclusives_n = s->things.exclusives_n,
		                 .attachments_n = s->things.attachments_n, .namespace = s->space };

	for (uint32_t i = 0; i < s->terms_n; i++) {
		const struct term *t = &s->terms[i];

		terms[i] = (struct pod_term){ .kind = t->kind, .weight = (int32_t)t->weight, .topology = t->topology,
			                      .flags = t->flags, .namespaces = { p.values_n, t->spaces_n } };
		for (uint32_t k = 0; k < t->spaces_n; k++)
			p.values[p.values_n++] = t->spaces[k];
		terms[i].namespace_clauses = put_clauses(&p, t->space_clauses, t->space_clauses_n);
		terms[i].clauses = put_clauses(&p, t->clauses, t->clauses_n);
	}
	for (uint32_t i = 0; i < s->spreads_n; i++)
		spreads[i] = (struct spread){ .topology = s->spreads[i].topology, .max_skew = 1, .min_domains = 1,
			                      .flags = SPREAD_HARD | (s->spreads[i].flags ? SPREAD_MATCHES_NOTHING : 0),
			                      .clauses = put_clauses(&p, s->spreads[i].clauses, s->spreads[i].clauses_n) };
	e.clauses_n = p.clauses_n;
	e.values_n = p.values_n;
	begin(m, EVENT_SHAPE);
	add(m, &e, sizeof(e));
	add(m, p.values, p.values_n * sizeof(p.values[0]));
	add(m, p.clauses, p.clauses_n * sizeof(p.clauses[0]));
	add(m, terms, s->terms_n * sizeof(terms[0]));
	add(m, spreads, s->spreads_n * sizeof(spreads[0]));
	add(m, s->things.ports, s->things.ports_n * sizeof(s->things.ports[0]));
	add(m, s->things.attachments, s->things.attachments_n * sizeof(s->things.attachments[0]));
	add(m, s->things.exclusives, s->things.exclusives_n * sizeof(s->things.exclusives[0]));
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
	*s = (struct model_shape){ .live = true, .terms_n = below(m, TERMS + 1), .spreads_n = below(m, 3),
		                   .space = below(m, SPACES) };
	for (uint32_t i = 0; i < s->terms_n; i++)
		s->terms[i] = random_term(m);
	for (uint32_t i = 0; i < s->spreads_n; i++)
		s->spreads[i] = (struct term){ .topology = KEY_ZONE + below(m, 2), .flags = below(m, 8) == 0 };
	for (uint32_t i = 0; i < s->spreads_n; i++)
		s->spreads[i].clauses_n = random_clauses(m, s->spreads[i].clauses, KEY_POD, KEYS);
	random_asked(m, &s->things);
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
	struct label labels[2];
	struct node_image image = { .image = 5, .bytes = n->image_bytes };
	struct attach_limit limit = { .most = n->limit };
	struct attachment attached = { .volume = n->attached };
	struct event_node e = { .node = id, .generation = n->generation, .flags = n->present ? NODE_PRESENT : 0, .name_bytes = 2,
		                .images_n = n->image_bytes > 0, .limits_n = n->limit != UINT32_MAX, .attached_n = n->attached > 0 };
	char name[2] = { 'n', (char)('a' + id) };

	if (n->zone)
		labels[e.labels_n++] = (struct label){ .key = KEY_ZONE, .value = n->zone };
	if (n->host)
		labels[e.labels_n++] = (struct label){ .key = KEY_HOST, .value = n->host };
	begin(m, EVENT_NODE);
	add(m, &e, sizeof(e));
	add(m, labels, e.labels_n * sizeof(labels[0]));
	add(m, &image, e.images_n * sizeof(image));
	add(m, &limit, e.limits_n * sizeof(limit));
	add(m, &attached, e.attached_n * sizeof(attached));
	add(m, name, sizeof(name));
	must(m);
}

static void node_step(struct model *m)
{
	uint32_t id = below(m, NODES);
	struct model_node *n = &m->nodes[id];

	if (n->live && !node_used(m, id) && below(m, 3) == 0) {
		drop(m, EVENT_NODE_DROP, id, n->generation);
		*n = (struct model_node){ 0 };
		return;
	}
	*n = (struct model_node){ .live = true, .present = below(m, 6) > 0, .generation = n->live ? n->generation : ++m->generation,
		                  .zone = below(m, 4), .host = below(m, 6) ? 100 + id : 0,
		                  .limit = below(m, 2) ? below(m, 4) : UINT32_MAX, .attached = below(m, 4),
		                  .image_bytes = below(m, 2) ? 1000 : 0 };
	node_tell(m, id);
}

static void pod_tell(struct model *m, uint32_t id)
{
	const struct model_pod *p = &m->pods[id];
	struct event_pod e = { .pod = id, .generation = p->generation, .flags = p->flags, .gang = ID_NONE, .shape = p->shape,
		               .node = p->node, .name_bytes = 2, .labels_n = p->labels_n, .namespace = p->space };
	char name[2] = { 'p', (char)('0' + id) };

	begin(m, EVENT_POD);
	add(m, &e, sizeof(e));
	add(m, p->labels, p->labels_n * sizeof(p->labels[0]));
	add(m, name, sizeof(name));
	must(m);
}

static void pod_step(struct model *m)
{
	uint32_t id = below(m, PODS), shape = below(m, SHAPES), node = below(m, NODES);
	struct model_pod *p = &m->pods[id];

	if (p->live && below(m, 4) == 0) {
		drop(m, EVENT_POD_DROP, id, p->generation);
		*p = (struct model_pod){ 0 };
		return;
	}
	if (!m->shapes[shape].live)
		return;
	*p = (struct model_pod){ .live = true, .generation = p->live && below(m, 3) ? p->generation : ++m->generation,
		                 .shape = p->live && below(m, 2) ? p->shape : shape, .space = below(m, SPACES),
		                 .node = m->nodes[node].live && below(m, 5) ? node : ID_NONE,
		                 .flags = below(m, 4) ? POD_OURS : POD_DELETING };
	for (uint32_t key = 0; key < KEYS; key++)
		if (below(m, 3))
			p->labels[p->labels_n++] = (struct pod_label){ KEY_POD + key, below(m, VALUES) };
	if (below(m, 2))
		p->labels[p->labels_n++] = (struct pod_label){ KEY_INDEX, id };
	pod_tell(m, id);
}

/* ---- what is right ------------------------------------------------------------------- */

static bool clause_right(const struct clause *c, const struct pod_label *labels, uint32_t n)
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

static bool clauses_right(const struct clause *c, uint32_t n, const struct pod_label *labels, uint32_t labels_n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!clause_right(&c[i], labels, labels_n))
			return false;
	return true;
}

static bool term_right(const struct model *m, const struct term *t, const struct model_pod *p, bool incoming)
{
	const struct model_space *s = &m->spaces[p->space];
	bool within = t->flags & TERM_EVERY_NAMESPACE;

	if (t->flags & TERM_MATCHES_NOTHING)
		return false;
	for (uint32_t i = 0; i < t->spaces_n; i++)
		within = within || t->spaces[i] == p->space;
	if (t->flags & TERM_NAMESPACES_CHOSEN) {
		within = within || clauses_right(t->space_clauses, t->space_clauses_n, s->labels, s->n);
		within = within || (incoming && clauses_right(t->space_clauses, t->space_clauses_n, NULL, 0));
	}
	return within && clauses_right(t->clauses, t->clauses_n, p->labels, p->labels_n);
}

static bool affinity_right(const struct model *m, const struct model_shape *s, const struct model_pod *p)
{
	for (uint32_t i = 0; i < s->terms_n; i++)
		if (s->terms[i].kind == POD_TERM_AFFINITY && !term_right(m, &s->terms[i], p, true))
			return false;
	return true;
}

static bool spread_right(const struct model_shape *s, const struct term *t, const struct model_pod *p)
{
	return p->space == s->space && clauses_right(t->clauses, t->clauses_n, p->labels, p->labels_n);
}

/* right[i]: pod i matches. */
static void check_selector(struct model *m, selector_id id, const bool right[PODS])
{
	const struct census *cs = &m->core->census;
	const struct selector *s = &cs->selectors.slots[id];
	uint32_t placed[NODES] = { 0 }, staying[NODES] = { 0 };
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		if (!p->live)
			continue;
		cr_assert_eq(kind_matches(&cs->kinds, m->core->pods.slots[i].kind, id), right[i], "pod %u, selector %u", i, id);
		m->matched += right[i];
		if (p->node == ID_NONE || !right[i])
			continue;
		placed[p->node]++;
		staying[p->node] += !(p->flags & POD_DELETING);
		sum += m->nodes[p->node].present;
	}
	cr_assert_arr_eq(placed, s->placed, sizeof(placed));
	cr_assert_arr_eq(staying, s->staying, sizeof(staying));
	cr_assert_eq(sum, s->placed_n);
}

static void check_bond(const struct model *m, const struct term *t, const struct model_shape *owner, bond_id id)
{
	const struct bond *b = &m->core->census.bonds[id];
	uint32_t least[NODES] = { 0 };

	cr_assert(b->kind == t->kind && b->weight == (int32_t)t->weight);
	for (uint32_t i = 0; i < PODS; i++)
		if (m->pods[i].live && m->pods[i].node != ID_NONE && &m->shapes[m->pods[i].shape] == owner)
			least[m->pods[i].node]++;
	/* Other shapes may hold the same term. */
	for (uint32_t n = 0; n < NODES; n++)
		cr_assert_geq(b->holders[n], least[n]);
}

static void check_topology(const struct model *m, topology_id id, uint32_t key)
{
	const struct topology *t = &m->core->census.topologies.slots[id];

	cr_assert_eq(t->key, key);
	for (uint32_t i = 0; i < NODES; i++) {
		const struct model_node *n = &m->nodes[i];
		uint32_t value = key == KEY_ZONE ? n->zone : n->host;

		cr_assert_eq(t->domain[i] == DOMAIN_NONE, !n->live || !n->present || value == 0);
		if (t->domain[i] != DOMAIN_NONE)
			cr_assert_eq(t->values[t->domain[i]], value);
	}
}

static void check_shape(struct model *m, uint32_t id)
{
	const struct model_shape *s = &m->shapes[id];
	const struct shape_links *links = m->core->census.links[id];
	bool right[PODS];

	cr_assert_eq(links != NULL, s->live && (s->terms_n > 0 || s->spreads_n > 0));
	for (uint32_t i = 0; links && i < s->terms_n; i++) {
		const struct term_link *link = &links->terms[i];

		check_topology(m, link->topology, s->terms[i].topology);
		check_bond(m, &s->terms[i], s, link->bond);
		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && term_right(m, &s->terms[i], &m->pods[k], true);
		if (s->terms[i].kind != POD_TERM_AFFINITY)
			check_selector(m, link->selector, right);
		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && term_right(m, &s->terms[i], &m->pods[k], false);
		check_selector(m, m->core->census.bonds[link->bond].selector, right);
	}
	for (uint32_t k = 0; links && k < PODS; k++)
		right[k] = m->pods[k].live && affinity_right(m, s, &m->pods[k]);
	if (links && links->affinity != SELECTOR_NONE)
		check_selector(m, links->affinity, right);
	for (uint32_t i = 0; links && i < s->spreads_n; i++) {
		const struct term *t = &s->spreads[i];

		for (uint32_t k = 0; k < PODS; k++)
			right[k] = m->pods[k].live && spread_right(s, t, &m->pods[k]);
		cr_assert_eq(links->spreads[i].selector == SELECTOR_NONE, t->flags || t->clauses_n == 0);
		cr_assert_eq(links->spreads[i].self_always, !t->flags && t->clauses_n == 0);
		if (links->spreads[i].selector != SELECTOR_NONE)
			check_selector(m, links->spreads[i].selector, right);
	}
}

/* ---- things ---------------------------------------------------------------------------- */

static bool ports_clash(const struct things_asked *a, const struct things_asked *b)
{
	for (uint32_t i = 0; i < a->ports_n; i++)
		for (uint32_t k = 0; k < b->ports_n; k++) {
			const struct host_port *p = &a->ports[i], *q = &b->ports[k];
			bool wild = p->address == PORT_EVERY_ADDRESS || q->address == PORT_EVERY_ADDRESS;

			if (p->protocol == q->protocol && p->port == q->port && (wild || p->address == q->address))
				return true;
		}
	return false;
}

static bool exclusives_clash(const struct things_asked *a, const struct things_asked *b, bool claims)
{
	for (uint32_t i = 0; i < a->exclusives_n; i++)
		for (uint32_t k = 0; k < b->exclusives_n; k++) {
			const struct exclusive *e = &a->exclusives[i], *f = &b->exclusives[k];

			if (e->thing != f->thing || claims != !!(e->flags & EXCLUSIVE_CLAIM))
				continue;
			if (claims || !(e->flags & f->flags & EXCLUSIVE_SHARED))
				return true;
		}
	return false;
}

/* Volumes of driver 0, by number. */
static void volumes_mark(const struct things_asked *t, bool marks[8])
{
	for (uint32_t i = 0; i < t->attachments_n; i++)
		if (t->attachments[i].driver == 0)
			marks[t->attachments[i].volume] = true;
}

static bool exceeded_right(const struct model *m, uint32_t node, const struct things_asked *asked)
{
	const struct model_node *n = &m->nodes[node];
	bool there[8] = { false }, wanted[8] = { false };
	uint32_t count = 0, more = 0;

	for (uint32_t i = 0; i < PODS; i++)
		if (m->pods[i].live && m->pods[i].node == node)
			volumes_mark(&m->shapes[m->pods[i].shape].things, there);
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
	const struct things *t = m->core->census.things;
	const struct shape *s = &m->core->shapes.slots[shape];
	const struct things_asked *asked = &m->shapes[shape].things;
	bool claims = false;
	uint32_t images = 0;

	for (uint32_t n = 0; n < NODES; n++)
		images += m->nodes[n].live && m->nodes[n].present && m->nodes[n].image_bytes > 0;
	for (uint32_t n = 0; n < NODES; n++) {
		bool ports = false, disks = false, image = m->nodes[n].live && m->nodes[n].present && m->nodes[n].image_bytes;
		struct image_fact fact = { 0 };

		for (uint32_t i = 0; i < PODS; i++) {
			const struct things_asked *other = &m->shapes[m->pods[i].shape].things;

			if (!m->pods[i].live || m->pods[i].node != n)
				continue;
			ports = ports || ports_clash(asked, other);
			disks = disks || exclusives_clash(asked, other, false);
			claims = claims || (m->nodes[n].present && exclusives_clash(asked, other, true));
		}
		cr_assert_eq(things_port_conflict(t, n, s), ports);
		cr_assert_eq(things_disk_conflict(t, n, s), disks);
		if (m->nodes[n].live && m->nodes[n].present)
			cr_assert_eq(things_attach_exceeded(t, n, s), exceeded_right(m, n, asked));
		cr_assert_eq(things_image(t, n, 5, &fact), image);
		cr_assert(!image || (fact.nodes == images && fact.bytes == 1000));
		m->conflicts += (unsigned)(ports + disks);
	}
	cr_assert_eq(things_claim_conflict(t, s), claims);
}

/* ---- the test ----------------------------------------------------------------------------- */

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

	*ledger = aligned_alloc(CACHE_LINE, (core_ledger_bytes(&limits, NULL) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	cr_assert(*ledger);
	memset(*ledger, 0, core_ledger_bytes(&limits, NULL));
	core = core_new(&config, *ledger);
	cr_assert(core);
	return core;
}

Test(census, counts_as_a_look_at_every_pod_does)
{
	static struct model m;
	uint32_t idle;
	static void (*const steps[])(struct model *) = { pod_step, pod_step, pod_step, node_step, shape_step, space_step };

	m.r = random_start("census");
	m.core = core_make((struct limits){ .nodes = NODES, .pods = PODS, .gangs = 1, .shapes = SHAPES, .names = 16,
	                                    .resources = 8, .name_bytes = 4096, .command_ring_bytes = 4096 }, &m.ledger);
	m.core->census.idle_most = 4;
	epoch(&m);
	for (int i = 0; i < STEPS; i++) {
		if (below(&m, 1000) == 0)
			epoch(&m);
		idle = m.core->census.selectors.idle_n;
		steps[below(&m, 6)](&m);
		m.retired += m.core->census.selectors.idle_n < idle;
		if (i % 8 == 0)
			check(&m);
	}
	fprintf(stderr, "census: %u pods matched, %u namespaces relabelled, %u conflicts, idle selectors gone %u times\n",
	        m.matched, m.relabelled, m.conflicts, m.retired);
	cr_assert(m.matched > STEPS && m.relabelled > STEPS / 10 && m.conflicts > STEPS / 10 &&
	          m.retired > 3);
	core_free(m.core);
	free(m.ledger);
}
