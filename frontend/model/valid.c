/* SPDX-License-Identifier: Apache-2.0 */
/* Recomputes all counts of the model from its entries; for tests. */
#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/shapes/held.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/node_names.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/shapes/shape_draft.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/model/nodes/unaccounted.h"
#include "frontend/model/valid.h"
#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct model *m;
	char *why;
	size_t why_bytes;
	bool good;
	/* References found, by slot. */
	uint32_t *keys, *values, *columns, *taints, *schedulers, *images, *image_nodes;
	uint32_t *shapes, *nodes, *members;
	uint32_t *unaccounted, *namespaces, *spreading, *policies, *declared_specs;
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

static void count_resource(struct check *c, uint32_t id)
{
	if (id < RESOURCES_MAX)
		c->columns[id]++;
	else
		c->taints[id - RESOURCES_MAX]++;
}

static void count_amounts(struct check *c, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		count_resource(c, amounts[i].resource);
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
	case NUMBER_RESOURCE:
		count_resource(c, number);
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

	STORE_EACH(&m->pods, i)
	{
		const struct pod_entry *p = pod_at(m, i);

		c->shapes[p->shape]++;
		c->schedulers[p->scheduler]++;
		if (p->node != ID_NONE)
			c->nodes[p->node]++;
		if (p->unaccounted && p->node == ID_NONE)
			bad(c, "pod %u is unaccounted without a node", i);
		else if (p->unaccounted)
			c->unaccounted[p->node]++;
		if (p->binding != ID_NONE)
			c->nodes[p->binding]++;
		if (p->gang != ID_NONE)
			c->members[p->gang]++;
		if (p->declared_spec != ID_NONE)
			c->declared_specs[p->declared_spec]++;
		if (p->role != ID_NONE)
			c->values[p->role]++;
		count_labels(c, p->labels, p->labels_n);
		c->namespaces[p->namespace]++;
		c->spreading[p->namespace] += p->spreads;
		if (p->owner != ID_NONE)
			c->values[p->owner]++;
		if (p->policy != ID_NONE)
			c->policies[p->policy]++;
		if (pod_rare(p, POD_POLICY_REFUSAL) && (p->policy == ID_NONE || !(p->flags & POD_REFUSED)))
			bad(c, "pod %u is refused by a policy, and is not", i);
	}
}

static void check_owners(struct check *c)
{
	const struct model *m = c->m;

	STORE_EACH(&m->owners, i)
	{
		const struct owner_entry *o = owner_at(m, i);

		c->namespaces[o->key.namespace]++;
		c->values[o->key.name]++;
		for (uint32_t k = 0; o->rules && k < o->rules->n; k++)
			c->keys[o->rules->at[k].key]++;
		for (uint32_t k = 0; o->rules && k < o->rules->values_n; k++)
			c->values[o->rules->values[k]]++;
	}
}

static void check_budgets(struct check *c)
{
	const struct model *m = c->m;
	size_t bytes = 0;

	STORE_EACH(&m->budgets, i)
	{
		const struct budget_entry *e = budget_at(m, i);

		c->namespaces[e->key.namespace]++;
		c->values[e->key.name]++;
		for (uint32_t k = 0; e->rules && k < e->rules->n; k++)
			c->keys[e->rules->at[k].key]++;
		for (uint32_t k = 0; e->rules && k < e->rules->values_n; k++)
			c->values[e->rules->values[k]]++;
		if (!e->entry.stamp && (e->entry.slot.sent == 0 || e->rules || e->names))
			bad(c, "budget %u is not used", i);
		bytes += budget_held_bytes(e);
	}
	if (bytes != m->budget_bytes)
		bad(c, "budgets hold %zu bytes, %zu are counted", bytes, m->budget_bytes);
}

/* After pods. */
static void check_policies(struct check *c)
{
	const struct model *m = c->m;

	STORE_EACH(&m->policies, i)
	{
		const struct policy_entry *e = policy_at(m, i);
		const struct label_rules *selector = e->rules ? e->rules->selector : NULL;
		uint32_t n = 0;

		c->namespaces[e->key.namespace]++;
		c->values[e->key.name]++;
		if (e->rules)
			c->keys[e->rules->topology]++;
		for (uint32_t k = 0; e->rules && k < e->rules->shares_n; k++)
			c->values[e->rules->shares[k].value]++;
		for (uint32_t k = 0; selector && k < selector->n; k++)
			c->keys[selector->at[k].key]++;
		for (uint32_t k = 0; selector && k < selector->values_n; k++)
			c->values[selector->values[k]]++;
		for (uint32_t p = e->pods_first; p != SLOT_NONE && n <= e->entry.refs;
		     p = pod_at(m, p)->policy_link.next)
			n += pod_at(m, p)->policy == i;
		if (e->entry.refs != c->policies[i] || n != e->entry.refs)
			bad(c, "policy %u: %u pods, %u in its list, %u name it", i, e->entry.refs, n,
			    c->policies[i]);
		if (e->entry.refs == 0 && !e->entry.stamp)
			bad(c, "policy %u is not used", i);
	}
}

/* After pods, owners and policies. */
static void check_namespaces(struct check *c)
{
	const struct model *m = c->m;

	STORE_EACH(&m->namespaces, i)
	{
		const struct namespace_entry *n = namespace_at(m, i);
		uint32_t listed = 0;

		c->values[n->name]++;
		count_labels(c, n->labels, n->labels_n);
		if (n->entry.refs != c->namespaces[i])
			bad(c, "namespace %u: %u refs, %u found", i, n->entry.refs, c->namespaces[i]);
		if (n->entry.refs == 0 && !n->entry.stamp && n->entry.slot.sent == 0 &&
		    !namespace_is_charged(n))
			bad(c, "namespace %u is not used", i);
		for (uint32_t p = n->pods_first; p != SLOT_NONE && listed <= c->spreading[i];
		     p = pod_at(m, p)->spread_link.next)
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
	STORE_EACH(&m->shapes, i)
	{
		const struct shape_entry *s = shape_at(m, i);

		shape_visit(s->body, count_number, c);
		if (s->entry.refs != c->shapes[i])
			bad(c, "shape %u: %u refs, %u found", i, s->entry.refs, c->shapes[i]);
		if (s->entry.refs == 0 && s->entry.slot.list != STORE_DEAD &&
		    s->entry.slot.list != SHAPES_IDLE)
			bad(c, "shape %u is not used, not idle and not dead", i);
		if ((s->entry.refs == 0 && s->namespace != ID_NONE) ||
		    (s->entry.refs > 0 && s->entry.slot.list >= STORE_DEAD))
			bad(c, "shape %u has %u refs and is charged or dead", i, s->entry.refs);
	}
}

static uint64_t check_texts(const struct intern *in, uint64_t (*used)[SHARES])
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < in->pool.n; i++) {
		if (!intern_text(in, i))
			continue;
		sum += intern_bytes(in, i);
		if (intern_payer(in, i) != ID_NONE)
			used[intern_payer(in, i)][SHARE_MEMORY] += intern_bytes(in, i);
	}
	return sum;
}

/* The bytes of what is stored, if they are counted, each at its namespace. */
static uint64_t check_memory(const struct model *m, uint64_t (*used)[SHARES])
{
	uint64_t sum = 0;

	if (m->memory_limit == 0)
		return 0;
	sum =
		check_texts(&m->keys, used) + check_texts(&m->values, used) + check_texts(&m->images, used);
	STORE_EACH(&m->pods, i)
	{
		sum += pod_at(m, i)->bytes;
		used[pod_at(m, i)->namespace][SHARE_MEMORY] += pod_at(m, i)->bytes;
	}
	STORE_EACH(&m->shapes, i)
	{
		const struct shape_entry *s = shape_at(m, i);

		sum += sizeof(*s) + s->bytes;
		if (s->namespace != ID_NONE)
			used[s->namespace][SHARE_MEMORY] += sizeof(*s) + s->bytes;
	}
	STORE_EACH(&m->owners, i)
	{
		sum += rules_memory(owner_at(m, i)->rules);
		used[owner_at(m, i)->key.namespace][SHARE_MEMORY] += rules_memory(owner_at(m, i)->rules);
	}
	return sum;
}

/* What namespaces are charged. */
static void check_shares(struct check *c)
{
	const struct model *m = c->m;
	uint64_t(*used)[SHARES] = must_array(m->namespaces.pool.n + 1u, sizeof(*used));
	uint32_t tenants = 0;
	uint64_t memory, terms = 0;

	STORE_EACH(&m->pods, i)
	used[pod_at(m, i)->namespace][SHARE_PODS]++;
	STORE_EACH(&m->shapes, i)
	{
		terms += shape_at(m, i)->terms;
		if (shape_at(m, i)->namespace == ID_NONE)
			continue;
		used[shape_at(m, i)->namespace][SHARE_SHAPES]++;
		used[shape_at(m, i)->namespace][SHARE_TERMS] += shape_at(m, i)->terms;
	}
	if (terms != m->terms)
		bad(c, "shapes have %llu terms, not %llu", (unsigned long long)terms,
		    (unsigned long long)m->terms);
	STORE_EACH(&m->gangs, i)
	{
		used[gang_at(m, i)->namespace][SHARE_GANGS]++;
		used[gang_at(m, i)->namespace][SHARE_NAME_BYTES] +=
			name_bytes_of(strlen(gang_at(m, i)->name));
	}
	memory = check_memory(m, used);
	if (memory != m->memory_used)
		bad(c, "%llu bytes are used, not %llu", (unsigned long long)memory,
		    (unsigned long long)m->memory_used);
	STORE_EACH(&m->namespaces, i)
	{
		uint64_t any = 0;

		for (int of = 0; of < SHARES; of++) {
			any |= used[i][of];
			if (used[i][of] != namespace_at(m, i)->used[of])
				bad(c, "namespace %u is charged %llu of table %d, not %llu", i,
				    (unsigned long long)namespace_at(m, i)->used[of], of,
				    (unsigned long long)used[i][of]);
		}
		tenants += any > 0;
	}
	if (tenants != m->tenants)
		bad(c, "%u namespaces are charged, not %u", tenants, m->tenants);
	free(used);
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

	STORE_EACH(&m->nodes, i)
	{
		const struct node_entry *n = node_at(m, i);
		node_id id;

		if (n->body)
			count_node(c, n->body);
		node_names_find(m->node_names, &(struct text){ n->name, strlen(n->name) }, 1, &id);
		if (id != (n->body ? i : ID_NONE))
			bad(c, "node %s: its name has the id %u", n->name, id);
		for (uint32_t k = 0; k < n->images_n; k++) {
			c->images[n->images[k].image]++;
			c->image_nodes[n->images[k].image]++;
		}
		count_storage(c, n->storage);
		if (n->entry.refs != c->nodes[i])
			bad(c, "node %s: %u refs, %u found", n->name, n->entry.refs, c->nodes[i]);
		if (n->unaccounted.pods != c->unaccounted[i])
			bad(c, "node %s: %u pods not counted, not %u", n->name, c->unaccounted[i],
			    n->unaccounted.pods);
		if (n->unaccounted.sent != node_is_unaccounted(n) && n->entry.slot.list == 0 &&
		    !m->accounted_nodes_due && n->entry.slot.sent != 0)
			bad(c, "node %s: sent as accounted for or not, and is not", n->name);
		if (n->entry.refs == 0 && !n->entry.stamp && n->entry.slot.list != STORE_DEAD)
			bad(c, "node %s is not used and not dead", n->name);
	}
}

/* What its members are in. */
static void check_counts(struct check *c, uint32_t gang)
{
	const struct gang_entry *g = gang_at(c->m, gang);
	uint32_t bound = 0, phases[POD_PHASES] = { 0 }, n = 0;

	for (uint32_t p = g->members_first; p != SLOT_NONE && n++ < g->members;
	     p = pod_at(c->m, p)->gang_link.next) {
		bound += pod_at(c->m, p)->node != ID_NONE;
		phases[pod_at(c->m, p)->phase]++;
	}
	if (bound != g->bound || memcmp(phases, g->phases, sizeof(phases)) != 0)
		bad(c, "gang %s: %u bound members, not %u, or other phases", g->name, bound, g->bound);
}

static void check_non_members(struct check *c)
{
	const struct model *m = c->m;

	STORE_EACH(&m->non_member_sums, i)
	{
		const struct non_member_sum *s = non_member_sum_at(m, i);
		struct gang_counts counts = { 0 };
		uint32_t foreign = 0, succeeded = 0, failed = 0, had = 0;

		if (s->foreign > 0)
			c->schedulers[s->scheduler]++;
		STORE_EACH(&m->non_members, k)
		{
			const struct non_member *o = non_member_at(m, k);

			if (o->sum != i)
				continue;
			if (o->scheduler != ID_NONE) {
				foreign++;
				c->schedulers[o->scheduler]++;
			}
			counts.n++;
			counts.ours += o->ours;
			counts.bound += o->bound;
			counts.phases[o->phase]++;
			succeeded += o->ours && o->phase == POD_PHASE_SUCCEEDED;
			failed += o->ours && o->phase == POD_PHASE_FAILED;
			had += o->ours && o->bound;
		}
		if (succeeded != s->succeeded || failed != s->failed || had != s->had)
			bad(c, "members of a group that ended: %u, %u, %u with a node, not %u, %u, %u",
			    succeeded, failed, had, s->succeeded, s->failed, s->had);
		if (foreign != s->foreign)
			bad(c, "%u pods of other schedulers, not %u", foreign, s->foreign);
		if (counts.n == 0 || memcmp(&counts, &s->counts, sizeof(counts)) != 0)
			bad(c, "non-members of a group: %u, not %u, or other sums", counts.n, s->counts.n);
		if (s->gang != SLOT_NONE && gang_at(m, s->gang)->non_members != i)
			bad(c, "gang %s is not linked with its non-members", gang_at(m, s->gang)->name);
	}
}

static void count_group(struct check *c, const struct group_object *o)
{
	const struct event_gang *e = group_head(o);
	struct group_parts p;

	if (!e)
		return;
	p = group_parts_of(o->body);
	count_amounts(c, p.amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->roles_n; i++)
		c->values[p.roles[i].role]++;
	for (uint32_t i = 0; i < e->levels_n; i++)
		c->keys[p.levels[i].topology]++;
	if ((const char *)(p.levels + e->levels_n) != o->body + o->bytes)
		bad(c, "a group's record is %u bytes long", o->bytes);
}

/* Members of a gang, as its list has them. */
static void check_members(struct check *c, uint32_t gang)
{
	const struct model *m = c->m;
	const struct gang_entry *g = gang_at(m, gang);
	uint32_t n = 0, specs = 0, named[2] = { 0, 0 };

	for (uint32_t p = g->members_first; p != SLOT_NONE && n <= g->members;
	     p = pod_at(m, p)->gang_link.next) {
		const struct pod_entry *e = pod_at(m, p);

		n += e->gang == gang;
		named[e->gang_dialect != g->dialect]++;
		if (e->declared_spec != ID_NONE && declared_spec_at(m, e->declared_spec)->gang != gang)
			bad(c, "gang %s: pod %u has the spec of another one", g->name, p);
	}
	STORE_EACH(&m->declared_specs, i)
	specs += declared_spec_at(m, i)->gang == gang;
	if (g->members != c->members[gang] || n != g->members)
		bad(c, "gang %s: %u members, %u in its list, %u name it", g->name, g->members, n,
		    c->members[gang]);
	if (g->named[0] != named[0] || g->named[1] != named[1])
		bad(c, "gang %s: %u and %u members by its marks, not %u and %u", g->name, g->named[0],
		    g->named[1], named[0], named[1]);
	if (g->specs_n != specs || (specs > 0) != (g->declared_spec != ID_NONE))
		bad(c, "gang %s: %u declared specs, not %u", g->name, g->specs_n, specs);
}

static void check_declared_specs(struct check *c)
{
	const struct model *m = c->m;

	STORE_EACH(&m->declared_specs, i)
	{
		const struct declared_spec *d = declared_spec_at(m, i);

		count_group(c, &d->object);
		if (d->entry.refs == 0 || d->entry.refs != c->declared_specs[i] || d->uses != d->entry.refs)
			bad(c, "declared spec %u: %u refs, %u uses, %u found", i, d->entry.refs, d->uses,
			    c->declared_specs[i]);
	}
}

static void check_gangs(struct check *c)
{
	const struct model *m = c->m;
	uint64_t twice = 0;

	STORE_EACH(&m->gangs, i)
	{
		const struct gang_entry *g = gang_at(m, i);

		count_group(c, &g->objects[0]);
		count_group(c, &g->objects[1]);
		check_members(c, i);
		check_counts(c, i);
		twice += g->objects[0].there && g->objects[1].there;
		if (g->members == 0 && !g->objects[0].there && !g->objects[1].there &&
		    g->entry.slot.list != STORE_DEAD)
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
			bad(c, "%s %u (%s): %u refs, %u found", what, i,
			    intern_text(in, i) ? intern_text(in, i) : "free", refs, expected);
	}
}

static void check_images(struct check *c)
{
	const struct model *m = c->m;

	check_intern(c, &m->images, c->images, "image", 0);
	for (uint32_t i = 0; i < m->images.pool.n; i++)
		if (intern_refs(&m->images, i) > 0 && m->image_uses[i].nodes != c->image_nodes[i])
			bad(c, "image %u: on %u nodes, found on %u", i, m->image_uses[i].nodes,
			    c->image_nodes[i]);
}

bool model_valid(const struct model *m, char *why, size_t why_bytes)
{
	struct check c = { .m = m, .why = why, .why_bytes = why_bytes, .good = true };
	const uint32_t sizes[] = { m->keys.pool.n,     m->values.pool.n,         m->columns.pool.n,
		                       m->taints.pool.n,   m->schedulers.pool.n,     m->images.pool.n,
		                       m->shapes.pool.n,   m->nodes.pool.n,          m->gangs.pool.n,
		                       m->nodes.pool.n,    m->namespaces.pool.n,     m->namespaces.pool.n,
		                       m->policies.pool.n, m->declared_specs.pool.n, m->images.pool.n };
	uint32_t **counts[] = { &c.keys,       &c.values,         &c.columns,    &c.taints,
		                    &c.schedulers, &c.images,         &c.shapes,     &c.nodes,
		                    &c.members,    &c.unaccounted,    &c.namespaces, &c.spreading,
		                    &c.policies,   &c.declared_specs, &c.image_nodes };
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);

	for (size_t i = 0; i < n; i++)
		*counts[i] = must_array(sizes[i] + 1u, sizeof(uint32_t));
	held_visit(m, count_number, &c);
	count_pods(&c);
	check_owners(&c);
	check_policies(&c);
	check_budgets(&c);
	if (m->jobs && !jobs_valid(m, c.values, c.namespaces))
		bad(&c, "Jobs, or their ends of pods");
	check_namespaces(&c);
	check_shapes(&c);
	check_shares(&c);
	check_nodes(&c);
	check_gangs(&c);
	check_declared_specs(&c);
	check_non_members(&c);
	if (m->queues)
		queues_count(m, c.values);
	check_intern(&c, &m->keys, c.keys, "label key", 1);
	check_intern(&c, &m->values, c.values, "label value", 0);
	check_intern(&c, &m->columns, c.columns, "column", RESOURCE_EXTENDED);
	check_intern(&c, &m->taints, c.taints, "taint", 0);
	check_intern(&c, &m->schedulers, c.schedulers, "scheduler", 0);
	check_images(&c);
	for (size_t i = 0; i < n; i++)
		free(*counts[i]);
	return c.good;
}
