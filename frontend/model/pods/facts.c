/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/facts.h"

#include "frontend/decode/eviction.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/base/objects.h"
#include "ipc/memory.h"

#include <stdlib.h>

#define LINK offsetof(struct pod_entry, facts_link)

static bool reclaims(const struct model *m)
{
	return m->preemption_flags & PREEMPTION_RECLAIM;
}

static uint8_t flags_of(struct model *m, const struct pod_object *o)
{
	const bool spared = extract_is_spared(&o->meta, &o->owner, &m->arena);
	const bool leads = reclaims(m) && extract_leads(&o->meta, &m->arena);

	return (uint8_t)((pod_is_ours(m, o) ? FACT_OURS : 0u) | (spared ? FACT_SPARED : 0u) |
	                 (text_is(o->preemption_policy, "Never") ? FACT_NEVER : 0u) |
	                 (leads ? FACT_LEADS : 0u));
}

static const char *nominated_of(const struct pod_entry *p)
{
	return pod_nominated(p->texts);
}

static uint32_t seconds_of(uint64_t ns)
{
	return (uint32_t)(ns / UINT64_C(1000000000));
}

static uint32_t evicted_at(const struct model *m, uint64_t owner)
{
	const struct owner_evicted *e = m->evicted ? &m->evicted[owner % EVICTED_OWNERS] : NULL;

	return e && owner != 0 && e->owner == owner ? e->at_s : 0;
}

/* What only evictions need. */
static void evictions_set(struct model *m, uint32_t pod, const struct pod_object *object,
                          const char *nominated)
{
	struct pod_entry *p = pod_at(m, pod);
	const uint32_t ends_s = seconds_of(object->meta.ends_ns);
	uint32_t evicted_s;

	p->owner_hash = object->owner.uid.bytes > 0
	                    ? siphash(m->hash_key, object->owner.uid.at, object->owner.uid.bytes) | 1
	                    : 0;
	evicted_s = evicted_at(m, p->owner_hash);
	if (p->ends_s == ends_s && p->grace_s == object->meta.grace_s && p->evicted_s == evicted_s &&
	    strcmp(nominated_of(p), nominated) == 0)
		return;
	p->ends_s = ends_s;
	p->grace_s = object->meta.grace_s;
	p->evicted_s = evicted_s;
	facts_mark(m, pod);
}

/* What decides between members beyond a quorum. */
static void giving_set(struct model *m, uint32_t pod, const struct meta *meta)
{
	struct pod_entry *p = pod_at(m, pod);
	const int32_t cost = extract_deletion_cost(meta, &m->arena);
	const int32_t index = extract_completion_index(meta, &m->arena);

	if (p->deletion_cost == cost && p->completion_index == index)
		return;
	p->deletion_cost = cost;
	p->completion_index = index;
	facts_mark(m, pod);
}

void facts_set(struct model *m, uint32_t pod, const struct pod_object *object,
               const char *nominated)
{
	struct pod_entry *p = pod_at(m, pod);
	const uint32_t start_s = seconds_of(object->start_ns);
	uint8_t flags;

	if (!m->preemption)
		return;
	if (m->may_evict)
		evictions_set(m, pod, object, nominated);
	if (reclaims(m))
		giving_set(m, pod, &object->meta);
	flags = flags_of(m, object);
	if (p->start_s == start_s && p->facts == flags)
		return;
	p->start_s = start_s;
	p->facts = flags;
	facts_mark(m, pod);
}

/* Of a pod that waits only that it may not preempt is of use, and to which node it is nominated. */
static bool has_facts(const struct model *m, const struct pod_entry *p)
{
	return p->node != ID_NONE || (p->facts & FACT_NEVER) ||
	       (m->evicts && (pod_rare(p, POD_NOMINATED) || p->nominated_sent || *nominated_of(p)));
}

void facts_mark(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	if (!m->preemption || p->facts_due || !has_facts(m, p))
		return;
	chain_push(&m->pods.pool, LINK, &m->facts_first, pod);
	p->facts_due = true;
}

void facts_unmark(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	if (p->facts_due)
		chain_remove(&m->pods.pool, LINK, &m->facts_first, pod);
	p->facts_due = false;
}

void facts_mark_namespace(struct model *m, uint32_t namespace)
{
	STORE_EACH(&m->pods, i)
	{
		if (pod_at(m, i)->namespace == namespace)
			facts_mark(m, i);
	}
}

void facts_synced(struct model *m)
{
	if (!m->evicts)
		return;
	STORE_EACH(&m->pods, i)
	{
		const struct pod_entry *p = pod_at(m, i);

		if (pod_rare(p, POD_NOMINATED) || *nominated_of(p))
			facts_mark(m, i);
	}
}

/* A node that the core knows, or ID_NONE. */
static uint32_t nominated_node(const struct model *m, const struct pod_entry *p)
{
	const char *own = pod_rare(p, POD_NOMINATED), *name = own ? own : nominated_of(p);
	const uint32_t node =
		p->node == ID_NONE && *name ? node_find(m, text_of(name)) : (uint32_t)SLOT_NONE;

	return node != SLOT_NONE && node_at(m, node)->entry.slot.sent != 0 ? node : ID_NONE;
}

struct event_pod_facts facts_of(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct event_pod_facts f = {
		.pod = pod,
		.generation = p->entry.slot.generation,
		.start_s = p->start_s,
		.flags = p->facts | (namespace_at(m, p->namespace)->spared ? FACT_SPARED : 0u),
		.nominated = ID_NONE,
		.deletion_cost = p->deletion_cost,
		.completion_index = reclaims(m) ? p->completion_index : -1,
	};

	if (!m->evicts)
		return f;
	f.ends_s = p->ends_s;
	f.grace_s = p->grace_s;
	f.evicted_s = p->evicted_s;
	f.nominated = nominated_node(m, p);
	p->nominated_sent = f.nominated != ID_NONE;
	return f;
}

/* All facts again: the core's loop has those that follow PREEMPTION_ON.  A nomination that was sent
 * is marked before has_facts() would pass it over. */
void model_set_evicts(struct model *m, bool evicts)
{
	if (m->evicts == evicts)
		return;
	m->preemption_due = m->preemption;
	m->evicts = true;
	STORE_EACH(&m->pods, i)
	{
		facts_mark(m, i);
	}
	m->evicts = evicts;
}

void model_nominate(struct model *m, pod_id id, uint32_t generation, const char *node)
{
	struct pod_entry *p = store_get(&m->pods, id, generation);

	if (!p)
		return;
	pod_set_rare(p, POD_NOMINATED, node ? must_copy(node) : NULL);
	facts_mark(m, id);
}

void model_evicted(struct model *m, pod_id id, uint32_t generation, uint64_t now_s)
{
	const struct pod_entry *p = store_get(&m->pods, id, generation);

	if (!p || p->owner_hash == 0)
		return;
	if (!m->evicted)
		m->evicted = must_array(EVICTED_OWNERS, sizeof(*m->evicted));
	m->evicted[p->owner_hash % EVICTED_OWNERS] =
		(struct owner_evicted){ .owner = p->owner_hash, .at_s = (uint32_t)now_s };
}

#define BUDGETS_LOOK 4096u

bool model_is_guarded(const struct model *m, pod_id id, uint32_t generation)
{
	const struct pod_entry *p = store_get(&m->pods, id, generation);
	unsigned looked = 0;

	if (!p || p->labels_n == 0)
		return false;
	STORE_EACH(&m->budgets, i)
	{
		const struct budget_entry *b = budget_at(m, i);

		if (++looked > BUDGETS_LOOK)
			return true;
		if (b->key.namespace == p->namespace && !b->matches_none &&
		    rules_hold(b->rules, p->labels, p->labels_n))
			return true;
	}
	return false;
}
