/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/keeper_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 64u

struct keeper *keeper_new(const struct limits *limits)
{
	struct keeper *k = must_alloc(sizeof(*k));

	k->limits = *limits;
	id_table_init(&k->namespaces, 0);
	return k;
}

static void drop(struct keeper *k, struct record_table *t, uint32_t id)
{
	if (id >= t->used || !t->at[id])
		return;
	k->bytes -= t->at[id]->bytes;
	free(t->at[id]);
	t->at[id] = NULL;
}

void keeper_clear(struct keeper *k)
{
	for (int i = 0; i < KEPT_TABLES; i++) {
		struct record_table *t = &k->tables[i];

		for (uint32_t id = 0; id < t->used; id++)
			drop(k, t, id);
		free(t->at);
		*t = (struct record_table){ 0 };
	}
	assert(k->bytes == 0);
	id_table_clear(&k->namespaces);
	free(k->pods);
	free(k->more);
	k->pods = NULL;
	k->more = NULL;
	k->pods_used = 0;
	k->flags = 0;
	k->on = false;
	k->begun = false;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	keeper_clear(k);
	id_table_free(&k->namespaces);
	free(k);
}

static void put(struct keeper *k, enum kept_table table, uint32_t id, const struct record *r)
{
	struct record_table *t = &k->tables[table];
	struct record *copy;

	if (id >= t->cap) {
		size_t n = t->cap;

		t->at = must_reach(t->at, &n, id, FIRST, sizeof(struct record *));
		t->cap = (uint32_t)n;
	}
	if (id >= t->used)
		t->used = id + 1;
	copy = t->at[id];
	if (!copy || copy->bytes != r->bytes) {
		drop(k, t, id);
		copy = must_grow(NULL, r->bytes);
		k->bytes += r->bytes;
	}
	memcpy(copy, r, r->bytes);
	t->at[id] = copy;
}

/* The id of the namespace of that name, or ID_TABLE_NONE. */
static uint32_t namespace_find(const struct keeper *k, uint32_t name)
{
	uint32_t id;

	if (k->namespaces.cap == 0)
		return ID_TABLE_NONE;
	id = id_table_first(&k->namespaces, id_hash(0, name));
	while (id != ID_TABLE_NONE) {
		const struct record *r = k->tables[KEPT_NAMESPACES].at[id];

		if (((const struct event_namespace *)(const void *)(r + 1))->name == name)
			return id;
		id = id_table_next(&k->namespaces, id);
	}
	return ID_TABLE_NONE;
}

static void namespace_put(struct keeper *k, const struct record *r)
{
	const uint32_t name = ((const struct event_namespace *)(const void *)(r + 1))->name;
	uint32_t id = namespace_find(k, name);

	if (id == ID_TABLE_NONE) {
		id_table_reserve(&k->namespaces, 1);
		id = id_table_add(&k->namespaces, id_hash(0, name));
	}
	put(k, KEPT_NAMESPACES, id, r);
}

static void namespace_drop(struct keeper *k, uint32_t name)
{
	const uint32_t id = namespace_find(k, name);

	if (id == ID_TABLE_NONE)
		return;
	id_table_remove(&k->namespaces, id);
	drop(k, &k->tables[KEPT_NAMESPACES], id);
}

static void pod_put(struct keeper *k, const struct event_pod *e)
{
	struct kept_pod *p;

	if (!k->pods)
		k->pods = must_array(k->limits.pods, sizeof(*k->pods));
	if (e->pod >= k->pods_used)
		k->pods_used = e->pod + 1;
	p = &k->pods[e->pod];
	if (p->generation != e->generation)
		p->start_s = p->facts = 0;
	p->generation = e->generation;
	p->flags = e->flags;
	p->gang = e->gang;
	p->scheduled_s = e->scheduled_s;
	p->run_s = e->run_s;
	p->expected_s = e->expected_s;
}

static void pod_drop(struct keeper *k, uint32_t id)
{
	if (id < k->pods_used)
		k->pods[id].generation = 0;
}

/* True if the facts are a start and flags, with the defaults of struct event_pod_facts. */
static bool facts_are_plain(const struct event_pod_facts *f)
{
	return f->evicted_s == 0 && f->ends_s == 0 && f->nominated == ID_NONE && f->grace_s == 0 &&
	       f->deletion_cost == 0 && f->completion_index == -1;
}

static void facts_put(struct keeper *k, const struct event_pod_facts *f, uint64_t time_ns)
{
	struct kept_pod *p = f->pod < k->pods_used ? &k->pods[f->pod] : NULL;
	const bool is_plain = facts_are_plain(f);

	if (!p || p->generation != f->generation)
		return; /* of no pod that is here: they follow its record */
	if (!is_plain && !k->more)
		k->more = must_array(k->limits.pods, sizeof(*k->more));
	if (!is_plain && !(p->facts & KEPT_MORE))
		k->more[f->pod] = (struct kept_facts){ .deleting_ns = 0 };
	if (!is_plain)
		facts_keep(&k->more[f->pod], f, time_ns);
	p->start_s = f->start_s;
	p->facts = f->flags | KEPT_FACTS | (is_plain ? 0 : KEPT_MORE);
}

struct kept_facts keeper_facts(const struct keeper *k, uint32_t pod)
{
	const struct kept_pod *p = pod < k->pods_used ? &k->pods[pod] : NULL;

	if (!p || p->generation == 0 || !(p->facts & KEPT_FACTS))
		return (struct kept_facts){ .deleting_ns = 0 };
	if (p->facts & KEPT_MORE)
		return k->more[pod];
	return (struct kept_facts){ .sent = { .pod = pod,
		                                  .generation = p->generation,
		                                  .start_s = p->start_s,
		                                  .flags = p->facts & ~(uint32_t)KEPT_FACTS,
		                                  .nominated = ID_NONE,
		                                  .completion_index = -1 } };
}

static void budget_put(struct keeper *k, const struct record *r)
{
	const struct event_budget *b = (const void *)(r + 1);

	if (b->flags & BUDGET_GONE)
		drop(k, &k->tables[KEPT_BUDGETS], b->budget);
	else
		put(k, KEPT_BUDGETS, b->budget, r);
}

static void refused_put(struct keeper *k, const struct record *r)
{
	const struct evict_result *e = (const void *)(r + 1);

	k->refused[k->refused_n++ % REFUSED_MAX] = (struct refused_pod){
		.pod = e->pod, .generation = e->generation, .until_ns = r->time_ns + REFUSED_NS
	};
}

/* Each body begins with what it is about: the core has checked that it is there. */
static void keep(struct keeper *k, const struct record *r)
{
	uint32_t id;

	memcpy(&id, r + 1, sizeof(id));
	switch ((enum record_kind)r->kind) {
	case EVENT_NAME:
		put(k, KEPT_NAMES, id, r);
		break;
	case EVENT_NODE:
		put(k, KEPT_NODES, id, r);
		break;
	case EVENT_NODE_DROP:
		drop(k, &k->tables[KEPT_NODES], id);
		break;
	case EVENT_SHAPE:
		put(k, KEPT_SHAPES, id, r);
		break;
	case EVENT_SHAPE_DROP:
		drop(k, &k->tables[KEPT_SHAPES], id);
		break;
	case EVENT_GANG:
		put(k, KEPT_GANGS, id, r);
		break;
	case EVENT_GANG_DROP:
		drop(k, &k->tables[KEPT_GANGS], id);
		break;
	case EVENT_NAMESPACE:
		namespace_put(k, r);
		break;
	case EVENT_NAMESPACE_DROP:
		namespace_drop(k, id);
		break;
	case EVENT_POD:
		pod_put(k, (const struct event_pod *)(const void *)(r + 1));
		break;
	case EVENT_POD_DROP:
		pod_drop(k, id);
		break;
	case EVENT_BUDGET:
		budget_put(k, r);
		break;
	case EVENT_POD_FACTS:
		facts_put(k, (const struct event_pod_facts *)(const void *)(r + 1), r->time_ns);
		break;
	case RESULT_EVICT_REFUSED:
		refused_put(k, r);
		break;
	case EVENT_QUEUE:
		put(k, KEPT_QUEUES, id, r);
		break;
	case EVENT_QUEUE_TERMS:
		put(k, KEPT_QUEUE_TERMS, 0, r);
		break;
	default: /* results, and what the world has: devices, promises, histories of queues */
		break;
	}
}

static void preemption_set(struct keeper *k, const struct event_preemption *e)
{
	const uint32_t flags = e->flags;

	if (k->begun)
		k->on = flags & PREEMPTION_EXPLAIN;
	else if (!(flags & PREEMPTION_EXPLAIN))
		keeper_clear(k);
	k->flags = flags;
	k->terms = *e;
	k->changes++;
}

void keeper_take(struct keeper *k, const struct record *r)
{
	switch ((enum record_kind)r->kind) {
	case EVENT_BEGIN:
		keeper_clear(k);
		k->begun = true;
		k->changes++;
		return;
	case EVENT_PREEMPTION:
		preemption_set(k, (const struct event_preemption *)(const void *)(r + 1));
		k->begun = false;
		return;
	case EVENT_TICK:
	case EVENT_PLAN:
	case EVENT_ANSWER:
		return;
	default:
		break;
	}
	k->begun = false;
	if (!k->on)
		return;
	k->changes += r->kind != EVENT_NAME;
	if (r->bytes > sizeof(*r))
		keep(k, r);
}

bool keeper_is_on(const struct keeper *k)
{
	return k->on;
}

uint32_t keeper_flags(const struct keeper *k)
{
	return k->flags;
}

uint64_t keeper_changes(const struct keeper *k)
{
	return k->changes;
}

uint64_t keeper_bytes(const struct keeper *k)
{
	const size_t each = (k->pods ? sizeof(*k->pods) : 0) + (k->more ? sizeof(*k->more) : 0);

	return k->bytes + k->pods_used * each;
}
