/* SPDX-License-Identifier: Apache-2.0 */
/* Count anew what the model keeps count of; for tests. */
#include "frontend/model/model_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct model *m;
	char *why;
	size_t why_bytes;
	bool good;
	/* What is held, by slot. */
	uint32_t *keys, *values, *columns, *taints, *schedulers, *images, *shapes, *nodes, *members,
		*blind;
	uint32_t *namespaces, *spreading, *policies, *descriptions;
};

__attribute__((format(printf, 2, 3))) static void bad(struct check *c, const char *format, ...)
{
	va_list args;

	if (!c->good)
		return;
	c->good = false;
	va_start(args, format);
	vsnprintf(c->why, c->why_bytes, format, args);
	va_end(args);
}

static void count_amounts(struct check *c, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		c->columns[amounts[i].resource]++;
}

static void count_number(void *context, enum number_of of, uint32_t number)
{
	struct check *c = context;

	switch (of) {
	case NUMBER_KEY:
		c->keys[number]++;
		break;
	case NUMBER_VALUE:
		c->values[number]++;
		break;
	case NUMBER_COLUMN:
		c->columns[number]++;
		break;
	case NUMBER_IMAGE:
		c->images[number]++;
		if (!c->m->image_uses[number].sent)
			bad(c, "image %u is asked for and not sent", number);
	}
}

static void count_labels(struct check *c, const struct pod_label *labels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		c->keys[labels[i].key]++;
		c->values[labels[i].value]++;
		if (i > 0 && labels[i - 1].key >= labels[i].key)
			bad(c, "labels are not sorted");
	}
}

static void count_node(struct check *c, const char *body)
{
	const struct event_node *e = (const void *)body;
	const struct amount *amounts = (const void *)(e + 1);
	const struct label *l = (const void *)(amounts + e->amounts_n);
	const struct taint *t = (const void *)(l + e->labels_n);

	count_amounts(c, amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->labels_n; i++) {
		if (l[i].key != LABEL_KEY_NODE_NAME)
			c->keys[l[i].key]++;
		c->values[l[i].value]++;
	}
	for (uint32_t i = 0; i < e->taints_n; i++) {
		c->keys[t[i].key]++;
		c->values[t[i].value]++;
		c->taints[t[i].name]++;
	}
}

static void count_pods(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->pods.n; i++) {
		const struct pod_entry *p = pod_at(m, i);

		if (!p->slot.live)
			continue;
		c->shapes[p->shape]++;
		c->schedulers[p->scheduler]++;
		if (p->node != ID_NONE)
			c->nodes[p->node]++;
		if (p->blind && p->node == ID_NONE)
			bad(c, "pod %u is blind without a node", i);
		else if (p->blind)
			c->blind[p->node]++;
		if (p->binding != ID_NONE)
			c->nodes[p->binding]++;
		if (p->gang != ID_NONE)
			c->members[p->gang]++;
		if (p->description != ID_NONE)
			c->descriptions[p->description]++;
		if (p->role != ID_NONE)
			c->values[p->role]++;
		count_labels(c, p->labels, p->labels_n);
		c->namespaces[p->namespace]++;
		c->spreading[p->namespace] += p->spreads;
		if (p->owner != ID_NONE)
			c->values[p->owner]++;
		if (p->policy != ID_NONE)
			c->policies[p->policy]++;
		if (p->policy_refusal && (p->policy == ID_NONE || !(p->flags & POD_REFUSED)))
			bad(c, "pod %u is refused by a policy, and is not", i);
	}
}

static void check_owners(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->owners.n; i++) {
		const struct owner_entry *o = owner_at(m, i);

		if (!o->slot.live)
			continue;
		c->namespaces[o->namespace]++;
		c->values[o->name]++;
		for (uint32_t k = 0; o->rules && k < o->rules->n; k++)
			c->keys[o->rules->at[k].key]++;
		for (uint32_t k = 0; o->rules && k < o->rules->values_n; k++)
			c->values[o->rules->values[k]]++;
	}
}

/* After pods. */
static void check_policies(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->policies.n; i++) {
		const struct policy_entry *e = policy_at(m, i);
		const struct owner_rules *selector = e->rules ? e->rules->selector : NULL;
		uint32_t n = 0;

		if (!e->slot.live)
			continue;
		c->namespaces[e->namespace]++;
		c->values[e->name]++;
		if (e->rules)
			c->keys[e->rules->topology]++;
		for (uint32_t k = 0; e->rules && k < e->rules->shares_n; k++)
			c->values[e->rules->shares[k].value]++;
		for (uint32_t k = 0; selector && k < selector->n; k++)
			c->keys[selector->at[k].key]++;
		for (uint32_t k = 0; selector && k < selector->values_n; k++)
			c->values[selector->values[k]]++;
		for (uint32_t p = e->pods_first; p != SLOT_NONE && n <= e->pods;
		     p = pod_at(m, p)->policy_next)
			n += pod_at(m, p)->policy == i;
		if (e->pods != c->policies[i] || n != e->pods)
			bad(c, "policy %u: %u pods, %u in its list, %u name it", i, e->pods, n, c->policies[i]);
		if (e->pods == 0 && !e->texts)
			bad(c, "policy %u is not used", i);
	}
}

/* After pods, owners and policies. */
static void check_namespaces(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->namespaces.n; i++) {
		const struct namespace_entry *n = namespace_at(m, i);
		uint32_t listed = 0;

		if (!n->slot.live)
			continue;
		c->values[n->name]++;
		count_labels(c, n->labels, n->labels_n);
		if (n->refs != c->namespaces[i])
			bad(c, "namespace %u: %u refs, %u held", i, n->refs, c->namespaces[i]);
		if (n->refs == 0 && !n->has_object && n->slot.sent == 0)
			bad(c, "namespace %u is not used", i);
		for (uint32_t p = n->pods_first; p != SLOT_NONE && listed <= c->spreading[i];
		     p = pod_at(m, p)->spread_next)
			listed += pod_at(m, p)->namespace == i;
		if (listed != c->spreading[i])
			bad(c, "namespace %u: %u pods spread by default, %u in its list", i, c->spreading[i],
			    listed);
	}
}

static void check_shapes(struct check *c)
{
	const struct model *m = c->m;

	c->shapes[m->shape_empty]++;
	for (uint32_t i = 0; i < m->shapes.n; i++) {
		const struct shape_entry *s = shape_at(m, i);

		if (!s->slot.live)
			continue;
		shape_visit(s->body, count_number, c);
		if (s->refs != c->shapes[i])
			bad(c, "shape %u: %u refs, %u held", i, s->refs, c->shapes[i]);
		if (s->refs == 0 && s->slot.list != MODEL_DEAD)
			bad(c, "shape %u is not used and not dead", i);
	}
}

static void count_storage(struct check *c, const struct node_storage_entry *s)
{
	for (uint32_t i = 0; s && i < s->limits_n; i++)
		c->values[s->limits[i].driver]++;
	for (uint32_t i = 0; s && i < s->attached_n; i++) {
		c->values[s->attached[i].driver]++;
		c->values[s->attached[i].volume]++;
	}
}

static void check_nodes(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->nodes.n; i++) {
		const struct node_entry *n = node_at(m, i);

		if (!n->slot.live)
			continue;
		if (n->body)
			count_node(c, n->body);
		for (uint32_t k = 0; k < n->images_n; k++)
			c->images[n->images[k].image]++;
		count_storage(c, n->storage);
		if (n->refs != c->nodes[i])
			bad(c, "node %s: %u refs, %u held", n->name, n->refs, c->nodes[i]);
		if (n->blind.pods != c->blind[i])
			bad(c, "node %s: %u pods not counted, not %u", n->name, c->blind[i], n->blind.pods);
		if (n->blind.sent != node_is_blind(n) && n->slot.list == 0 && !m->sight_due &&
		    n->slot.sent != 0)
			bad(c, "node %s: the core does not know whether it is blind", n->name);
		if (n->refs == 0 && !n->has_object && n->slot.list != MODEL_DEAD)
			bad(c, "node %s is not used and not dead", n->name);
	}
}

/* What its members are in. */
static void check_counts(struct check *c, uint32_t gang)
{
	const struct gang_entry *g = gang_at(c->m, gang);
	uint32_t bound = 0, phases[POD_PHASES] = { 0 }, n = 0;

	for (uint32_t p = g->members_first; p != SLOT_NONE && n++ < g->members;
	     p = pod_at(c->m, p)->gang_next) {
		bound += pod_at(c->m, p)->node != ID_NONE;
		phases[pod_at(c->m, p)->phase]++;
	}
	if (bound != g->bound || memcmp(phases, g->phases, sizeof(phases)) != 0)
		bad(c, "gang %s: %u bound members, not %u, or other phases", g->name, bound, g->bound);
}

/* Pods beside the members, by group. */
static void check_others(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->besides.n; i++) {
		const struct beside_entry *b = pool_at(&m->besides, i);
		struct gang_counts counts = { 0 };
		uint32_t foreign = 0;

		if (!b->slot.live)
			continue;
		if (b->foreign > 0)
			c->schedulers[b->scheduler]++;
		for (uint32_t k = 0; k < m->others.n; k++) {
			const struct other_entry *o = pool_at(&m->others, k);

			if (!o->slot.live || o->beside != i)
				continue;
			if (o->scheduler != ID_NONE) {
				foreign++;
				c->schedulers[o->scheduler]++;
			}
			counts.n++;
			counts.ours += o->ours;
			counts.bound += o->bound;
			counts.phases[o->phase]++;
		}
		if (foreign != b->foreign)
			bad(c, "%u pods of other schedulers, not %u", foreign, b->foreign);
		if (counts.n == 0 || memcmp(&counts, &b->counts, sizeof(counts)) != 0)
			bad(c, "pods beside a group: %u, not %u, or otherwise", counts.n, b->counts.n);
		if (b->gang != SLOT_NONE && gang_at(m, b->gang)->beside != i)
			bad(c, "gang %s does not know the pods beside it", gang_at(m, b->gang)->name);
	}
}

static void count_group(struct check *c, const struct group_object *o)
{
	const struct event_gang *e = (const void *)o->body;
	const struct amount *amounts = (const void *)(e + 1);
	const struct gang_role *roles;
	const struct gang_level *levels;

	if (!e)
		return;
	roles = (const void *)(amounts + e->amounts_n);
	levels = (const void *)(roles + e->roles_n);
	count_amounts(c, amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->roles_n; i++)
		c->values[roles[i].role]++;
	for (uint32_t i = 0; i < e->levels_n; i++)
		c->keys[levels[i].topology]++;
	if ((const char *)(levels + e->levels_n) != o->body + o->bytes)
		bad(c, "a group's record is %u bytes long", o->bytes);
}

/* Members of a gang, as its list has them. */
static void check_members(struct check *c, uint32_t gang)
{
	const struct model *m = c->m;
	const struct gang_entry *g = gang_at(m, gang);
	uint32_t n = 0, said = 0, named[2] = { 0, 0 };

	for (uint32_t p = g->members_first; p != SLOT_NONE && n <= g->members;
	     p = pod_at(m, p)->gang_next) {
		const struct pod_entry *e = pod_at(m, p);

		n += e->gang == gang;
		named[e->gang_dialect != g->dialect]++;
		if (e->description != ID_NONE && description_at(m, e->description)->gang != gang)
			bad(c, "gang %s: pod %u describes another one", g->name, p);
	}
	for (uint32_t i = 0; i < m->descriptions.n; i++)
		said += description_at(m, i)->slot.live && description_at(m, i)->gang == gang;
	if (g->members != c->members[gang] || n != g->members)
		bad(c, "gang %s: %u members, %u in its list, %u name it", g->name, g->members, n,
		    c->members[gang]);
	if (g->named[0] != named[0] || g->named[1] != named[1])
		bad(c, "gang %s: %u and %u members by its marks, not %u and %u", g->name, g->named[0],
		    g->named[1], named[0], named[1]);
	if (g->says != said || (said > 0) != (g->description != ID_NONE))
		bad(c, "gang %s: %u descriptions, not %u", g->name, g->says, said);
}

static void check_descriptions(struct check *c)
{
	const struct model *m = c->m;

	for (uint32_t i = 0; i < m->descriptions.n; i++) {
		const struct description *d = description_at(m, i);

		if (!d->slot.live)
			continue;
		count_group(c, &d->object);
		if (d->refs == 0 || d->refs != c->descriptions[i] || d->uses != d->refs)
			bad(c, "description %u: %u refs, %u uses, %u held", i, d->refs, d->uses,
			    c->descriptions[i]);
	}
}

static void check_gangs(struct check *c)
{
	const struct model *m = c->m;
	uint64_t twice = 0;

	for (uint32_t i = 0; i < m->gangs.n; i++) {
		const struct gang_entry *g = gang_at(m, i);

		if (!g->slot.live)
			continue;
		count_group(c, &g->objects[0]);
		count_group(c, &g->objects[1]);
		check_members(c, i);
		check_counts(c, i);
		twice += g->objects[0].there && g->objects[1].there;
		if (g->members == 0 && !g->objects[0].there && !g->objects[1].there &&
		    g->slot.list != MODEL_DEAD)
			bad(c, "gang %s is not used and not dead", g->name);
	}
	if (m->counts.groups_twice != twice)
		bad(c, "%llu groups have two objects", (unsigned long long)twice);
}

static void check_intern(struct check *c, const struct intern *in, const uint32_t *held,
                         const char *what, uint32_t seeded)
{
	for (uint32_t i = 0; i < in->pool.n; i++) {
		uint32_t refs = intern_refs(in, i), expected = held[i] + (i < seeded);

		if (refs != expected)
			bad(c, "%s %u (%s): %u refs, %u held", what, i,
			    intern_text(in, i) ? intern_text(in, i) : "free", refs, expected);
	}
}

bool model_valid(const struct model *m, char *why, size_t why_bytes)
{
	struct check c = { .m = m, .why = why, .why_bytes = why_bytes, .good = true };
	const uint32_t sizes[] = { m->keys.pool.n,   m->values.pool.n,     m->columns.pool.n,
		                       m->taints.pool.n, m->schedulers.pool.n, m->images.pool.n,
		                       m->shapes.n,      m->nodes.n,           m->gangs.n,
		                       m->nodes.n,       m->namespaces.n,      m->namespaces.n,
		                       m->policies.n,    m->descriptions.n };
	uint32_t **counts[] = { &c.keys,       &c.values,    &c.columns,  &c.taints,      &c.schedulers,
		                    &c.images,     &c.shapes,    &c.nodes,    &c.members,     &c.blind,
		                    &c.namespaces, &c.spreading, &c.policies, &c.descriptions };
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);

	for (size_t i = 0; i < n; i++) {
		*counts[i] = calloc(sizes[i] + 1u, sizeof(uint32_t));
		if (!*counts[i])
			bad(&c, "no memory");
	}
	if (c.good) {
		count_pods(&c);
		check_owners(&c);
		check_policies(&c);
		check_namespaces(&c);
		check_shapes(&c);
		check_nodes(&c);
		check_gangs(&c);
		check_descriptions(&c);
		check_others(&c);
		check_intern(&c, &m->keys, c.keys, "label key", 1);
		check_intern(&c, &m->values, c.values, "label value", 0);
		check_intern(&c, &m->columns, c.columns, "column", RESOURCE_EXTENDED);
		check_intern(&c, &m->taints, c.taints, "taint", 0);
		check_intern(&c, &m->schedulers, c.schedulers, "scheduler", 0);
		check_intern(&c, &m->images, c.images, "image", 0);
	}
	for (size_t i = 0; i < n; i++)
		free(*counts[i]);
	return c.good;
}
