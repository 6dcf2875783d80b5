/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/facts.h"

#include "frontend/decode/eviction.h"
#include "frontend/model/objects.h"

#define LINK offsetof(struct pod_entry, facts_link)

static uint8_t flags_of(struct model *m, const struct pod_object *o)
{
	const bool spared = extract_is_spared(&o->meta, &o->owner, &m->arena);

	return (uint8_t)((pod_is_ours(m, o) ? FACT_OURS : 0u) | (spared ? FACT_SPARED : 0u) |
	                 (text_is(o->preemption_policy, "Never") ? FACT_NEVER : 0u));
}

void facts_set(struct model *m, uint32_t pod, const struct pod_object *object)
{
	struct pod_entry *p = pod_at(m, pod);
	const uint32_t start_s = (uint32_t)(object->start_ns / UINT64_C(1000000000));
	uint8_t flags;

	if (!m->preemption)
		return;
	flags = flags_of(m, object);
	if (p->start_s == start_s && p->facts == flags)
		return;
	p->start_s = start_s;
	p->facts = flags;
	facts_mark(m, pod);
}

/* Of a pod that waits only that it may not preempt is of use. */
void facts_mark(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	if (!m->preemption || p->facts_due || (p->node == ID_NONE && !(p->facts & FACT_NEVER)))
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

struct event_pod_facts facts_of(const struct model *m, uint32_t pod)
{
	const struct pod_entry *p = pod_at(m, pod);

	return (struct event_pod_facts){
		.pod = pod,
		.generation = p->entry.slot.generation,
		.start_s = p->start_s,
		.flags = p->facts | (namespace_at(m, p->namespace)->spared ? FACT_SPARED : 0u),
		.nominated = ID_NONE
	};
}
