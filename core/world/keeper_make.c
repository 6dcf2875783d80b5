/* SPDX-License-Identifier: Apache-2.0 */
/* A core from the kept records, with the pods where the world has them; and the facts about it. */
#include "core/world/keeper_impl.h"
#include "core/world/keeper_whole.h"

#include "core/devices/inventory.h"
#include "core/filter/gpus.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "core/step/core.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept_memory {
	struct ledger *ledger;
	uint64_t ledger_bytes;
	struct search_pod *pods;
	struct search_gang *gangs;
	uint32_t *items;
	size_t items_n, items_cap;
	int32_t *allowed;              /* by kept budget */
	bool *evicted;                 /* by pod: a victim of a nomination; NULL: there are none */
	struct budget_record *budgets; /* sorted by namespace, then by id */
	uint32_t budgets_n;
};

/* Of the budgets of one namespace: each is matched with each of its pods. */
#define LOOKED_AT_MAX 1024u
/* The caller's wish to end, asked once for so many objects. */
#define ASKS 256u

static int ended(const struct keeper_hooks *e, uint32_t at)
{
	return e && e->ends && at % ASKS == 0 && e->ends(e->context) ? -ECANCELED : 0;
}

/* core_emit_fn: what this core says has no effect. */
static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	return true;
}

static int core_make(const struct keeper *k, const struct core *world,
                     const struct keeper_hooks *hooks, struct kept *out)
{
	struct core_config config = { .limits = k->limits, .score = world->config.score };
	struct kept_memory *m = out->memory;

	if (hooks && hooks->whole)
		config = world->config;
	config.make = NULL;
	config.context = hooks && hooks->emit ? hooks->context : NULL;
	config.clock_ns = NULL;
	config.emit = hooks && hooks->emit ? hooks->emit : emit;

	m->ledger_bytes = core_ledger_bytes(&k->limits, NULL);
	m->ledger = core_ledger_new(m->ledger_bytes);
	if (!m->ledger)
		return -ENOMEM;
	out->core = core_new(&config, m->ledger);
	return 0;
}

/* One record of this epoch, in the world's present. */
static int apply(struct core *c, const struct core *world, struct record *r)
{
	r->epoch = 1;
	r->time_ns = world->now_ns;
	return core_apply(c, r);
}

static int mark(struct core *c, const struct core *world, enum record_kind kind)
{
	struct record r = { .bytes = sizeof(r), .kind = (uint16_t)kind };

	return apply(c, world, &r);
}

/* Victims of nominations end, whatever their records say. */
static void evicted_mark(const struct core *world, struct kept_memory *m)
{
	if (world->nominations.n == 0)
		return;
	m->evicted = must_array(world->pods.limit, sizeof(*m->evicted));
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++)
		for (uint32_t k = 0; k < world->nominations.all[i].victims_n; k++)
			m->evicted[world->nominations.all[i].victims[k].pod] = true;
}

static bool pod_is_kept(const struct keeper *k, pod_id id)
{
	return id < k->pods_used && k->pods[id].generation != 0;
}

/* The latest record of a pod; the texts are the world's.  Missing are its node, for which there is
 * pod_place(), and what only a core reads that takes a binding over. */
static struct pod_record kept_pod_record(const struct keeper *k, const struct core *world,
                                         pod_id id, struct event_pod *body)
{
	const struct kept_pod *kept = &k->pods[id];
	const struct pod *p = &world->pods.slots[id];
	const struct label_set *labels = &world->pod_counts.labels.sets[p->labels];
	const uint32_t *queues = world->turns.named;

	assert(p->generation == kept->generation);
	*body = (struct event_pod){ .pod = id,
		                        .generation = kept->generation,
		                        .flags = kept->flags,
		                        .gang = kept->gang,
		                        .shape = p->shape,
		                        .node = ID_NONE,
		                        .priority = p->priority,
		                        .name_bytes = p->name_bytes,
		                        .labels_n = labels->n,
		                        .namespace = labels->namespace,
		                        .role = p->role,
		                        .scheduled_s = kept->scheduled_s,
		                        .created_ns = p->created_ns,
		                        .uid = { p->uid[0], p->uid[1] },
		                        .run_s = kept->run_s,
		                        .expected_s = kept->expected_s,
		                        .queue = queues ? queues[id] : QUEUE_MISSING,
		                        .stated_s = queues ? world->turns.stated[id] : 0 };
	return (struct pod_record){ .body = body, .labels = labels->at, .name = p->name };
}

/* Sets the pod where the world has it, whatever its record says: bound, or with a binding in
 * flight. False: it is bound to a node that is gone, and no record can say so. */
static bool pod_place(const struct core *world, const struct kept_memory *m, struct event_pod *e)
{
	const struct pod *p = pods_find(&world->pods, e->pod);

	e->flags &= ~(uint32_t)(POD_BINDING | POD_INTENTS);
	e->node = p ? p->node : ID_NONE;
	if (e->node != ID_NONE && !reservation_is_bound(p))
		e->flags |= POD_BINDING;
	if (m->evicted && m->evicted[e->pod] && e->node != ID_NONE)
		e->flags |= POD_DELETING;
	return e->node != ID_NONE || !p || !reservation_is_bound(p);
}

/* False for a shape that no pod has: hundreds may be kept for pods to come (docs/decisions/113),
 * and each would be evaluated for each node. */
static bool is_needed(const struct core *world, enum kept_table table, uint32_t id)
{
	return table != KEPT_SHAPES || world->shapes.slots[id].pods > 0;
}

static int table_apply(const struct keeper *k, enum kept_table table, struct kept *out,
                       const struct core *world, const struct keeper_hooks *hooks,
                       struct record *copy)
{
	const struct record_table *t = &k->tables[table];
	int rc = 0;

	for (uint32_t id = 0; rc == 0 && id < t->used; id++) {
		rc = ended(hooks, id);
		if (rc < 0 || !t->at[id] || !is_needed(world, table, id))
			continue;
		memcpy(copy, t->at[id], t->at[id]->bytes);
		if (hooks && hooks->edit && !hooks->edit(hooks->context, copy))
			continue;
		rc = apply(out->core, world, copy);
	}
	return rc;
}

static void pod_write(const struct pod_record *pod, struct record *r)
{
	const struct event_pod *e = pod->body;
	const size_t labels = e->labels_n * sizeof(*pod->labels), name = PADDED(e->name_bytes);
	char *at = (char *)(r + 1);

	*r = (struct record){ .bytes = (uint32_t)(sizeof(*r) + sizeof(*e) + labels + name),
		                  .kind = EVENT_POD };
	memcpy(at, e, sizeof(*e));
	at += sizeof(*e);
	if (labels > 0)
		memcpy(at, pod->labels, labels);
	at += labels;
	memset(at, 0, name);
	memcpy(at, pod->name, e->name_bytes);
}

static int pods_apply(const struct keeper *k, struct kept *out, const struct core *world,
                      const struct keeper_hooks *hooks, struct record *copy)
{
	int rc = 0;

	for (pod_id id = 0; rc == 0 && id < k->pods_used; id++) {
		struct event_pod body;
		struct pod_record pod;

		rc = ended(hooks, id);
		if (rc < 0 || !pod_is_kept(k, id))
			continue;
		pod = kept_pod_record(k, world, id, &body);
		if (!pod_place(world, out->memory, &body))
			continue;
		pod_write(&pod, copy);
		if (hooks && hooks->edit && !hooks->edit(hooks->context, copy))
			continue;
		rc = apply(out->core, world, copy);
	}
	return rc;
}

static int records_apply(const struct keeper *k, struct kept *out, const struct core *world,
                         const struct keeper_hooks *hooks)
{
	struct record *copy = must_alloc(RECORD_BYTES_MAX);
	const bool is_whole = hooks && hooks->whole;
	int rc = mark(out->core, world, EVENT_BEGIN);

	/* What an earlier making left in flight is in no list of this one. */
	free(out->core->inflight);
	out->core->inflight = NULL;
	out->core->inflight_n = 0;
	/* Pods hold theirs as their records come. */
	if (rc == 0 && hooks && hooks->devices && world->pod_counts.inventory)
		out->core->pod_counts.inventory = inventory_copy(world->pod_counts.inventory, &k->limits);

	for (int table = 0; rc == 0 && table < KEPT_BUDGETS; table++)
		if (is_whole || (table != KEPT_QUEUES && table != KEPT_QUEUE_TERMS))
			rc = table_apply(k, (enum kept_table)table, out, world, hooks, copy);
	if (rc == 0)
		rc = pods_apply(k, out, world, hooks, copy);
	if (rc == 0 && is_whole)
		rc = whole_before(out, world, copy);
	if (rc == 0)
		rc = mark(out->core, world, EVENT_SYNCED);
	if (rc == 0)
		gpus_follow(&out->core->pod_counts);
	if (rc == 0 && is_whole)
		whole_after(out->core, world);
	free(copy);
	return rc;
}

static bool among(const uint32_t *values, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (values[i] == value)
			return true;
	return false;
}

static bool requirement_holds(const struct budget_record *b, const struct requirement *q,
                              const struct pod_record *pod)
{
	const uint32_t value = pod_labels_find(pod->labels, pod->body->labels_n, q->key);
	const bool in = value != UINT32_MAX && among(b->values + q->values_first, q->values_n, value);

	switch (q->op) {
	case REQUIRE_IN:
		return in;
	case REQUIRE_NOT_IN:
		return !in;
	case REQUIRE_EXISTS:
		return value != UINT32_MAX;
	default:
		return value == UINT32_MAX;
	}
}

/* Of one namespace.  As the Eviction API matches: a pod without labels is in no budget. */
static bool budget_matches(const struct budget_record *b, const struct pod_record *pod)
{
	if (pod->body->labels_n == 0)
		return false;
	for (uint32_t i = 0; i < b->body->clauses_n; i++)
		if (!requirement_holds(b, &b->clauses[i], pod))
			return false;
	return true;
}

/* True if the pod is among status.disruptedPods: it is counted in disruptionsAllowed already. */
static bool is_disrupted(const struct budget_record *b, const struct pod_record *pod)
{
	const char *name = memchr(pod->name, '/', pod->body->name_bytes);
	const char *at = b->names, *end = b->names + b->body->names_bytes;
	uint32_t bytes;

	if (!name)
		return false;
	name++;
	bytes = pod->body->name_bytes - (uint32_t)(name - pod->name);
	while (at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		const size_t n = (size_t)((slash ? slash : end) - at);

		if (n == bytes && memcmp(at, name, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

void keeper_spend(struct keeper *k, const struct core *world, uint32_t pod)
{
	const struct record_table *budgets = &k->tables[KEPT_BUDGETS];
	struct budget_record b;
	struct event_pod pod_body;
	struct pod_record p;

	if (!pod_is_kept(k, pod))
		return;
	p = kept_pod_record(k, world, pod, &pod_body);
	for (uint32_t i = 0; i < budgets->used; i++) {
		struct event_budget *body = budgets->at[i] ? (void *)(budgets->at[i] + 1) : NULL;

		if (body && body->namespace == p.body->namespace && !record_budget(budgets->at[i], &b) &&
		    budget_matches(&b, &p) && !is_disrupted(&b, &p) && body->allowed > 0)
			body->allowed--;
	}
}

static void item_add(struct kept_memory *m, uint32_t budget)
{
	m->items = must_reach(m->items, &m->items_cap, m->items_n, 64, sizeof(*m->items));
	m->items[m->items_n++] = budget;
}

static int budgets_order(const void *a, const void *b)
{
	const struct event_budget *x = ((const struct budget_record *)a)->body;
	const struct event_budget *y = ((const struct budget_record *)b)->body;

	if (x->namespace != y->namespace)
		return x->namespace < y->namespace ? -1 : 1;
	return x->budget < y->budget ? -1 : x->budget > y->budget;
}

static void budgets_sort(const struct keeper *k, struct kept_memory *m)
{
	const struct record_table *t = &k->tables[KEPT_BUDGETS];

	m->budgets = must_array(t->used + 1u, sizeof(*m->budgets));
	for (uint32_t i = 0; i < t->used; i++)
		if (t->at[i] && !record_budget(t->at[i], &m->budgets[m->budgets_n]))
			m->budgets_n++;
	if (m->budgets_n > 1)
		qsort(m->budgets, m->budgets_n, sizeof(*m->budgets), budgets_order);
}

/* The first budget of that namespace, or of a later one. */
static uint32_t budgets_first(const struct kept_memory *m, uint32_t namespace)
{
	uint32_t low = 0, high = m->budgets_n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (m->budgets[middle].body->namespace < namespace)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True if budget i is of the namespace. */
static bool is_of(const struct kept_memory *m, uint32_t i, uint32_t namespace)
{
	return i < m->budgets_n && m->budgets[i].body->namespace == namespace;
}

static void pod_budgets(struct kept_memory *m, const struct pod_record *pod, struct search_pod *out)
{
	const uint32_t namespace = pod->body->namespace, first = budgets_first(m, namespace);

	out->items = (uint32_t)m->items_n;
	if (is_of(m, first + LOOKED_AT_MAX, namespace)) {
		out->budgets_n = 2; /* spared, as a pod that two budgets match */
		return;
	}
	for (uint32_t i = first; is_of(m, i, namespace); i++) {
		const struct budget_record *b = &m->budgets[i];

		if (!budget_matches(b, pod))
			continue;
		out->budgets_n++;
		if (!is_disrupted(b, pod))
			item_add(m, b->body->budget);
	}
	out->items_n = (uint32_t)m->items_n - out->items;
}

static bool is_young(const struct keeper *k, const struct event_pod_facts *f, uint64_t now_s)
{
	return k->terms.min_run_s > 0 &&
	       (f->start_s == 0 || (uint64_t)f->start_s + k->terms.min_run_s > now_s);
}

/* It has not run for long enough, or its owner lost a pod a short time ago. */
static bool terms_spare(const struct keeper *k, const struct event_pod_facts *f, uint64_t now_s)
{
	return is_young(k, f, now_s) ||
	       (f->evicted_s > 0 && (uint64_t)f->evicted_s + k->terms.cooldown_s > now_s);
}

/* Budgets of which a victim was refused allow none. */
static void refused_spend(const struct keeper *k, const struct core *world, struct kept_memory *m)
{
	for (uint32_t i = 0; i < REFUSED_MAX; i++) {
		const struct refused_pod *p = &k->refused[i];
		const struct search_pod *f = &m->pods[p->pod];

		if (p->generation == 0 || world->now_ns > p->until_ns ||
		    world->pods.slots[p->pod].generation != p->generation)
			continue;
		for (uint32_t n = 0; n < f->items_n; n++)
			m->allowed[m->items[f->items + n]] = 0;
	}
}

/* A gang runs for as long as its youngest member. */
static void young_spare(const struct keeper *k, const struct core *world, struct kept_memory *m)
{
	const uint64_t now_s = world->now_ns / 1000000000;
	bool *gangs;

	if (k->terms.min_run_s == 0)
		return;
	gangs = must_array(k->limits.gangs, sizeof(*gangs));
	for (pod_id id = 0; id < world->pods.used; id++) {
		const struct pod *p = &world->pods.slots[id];
		const struct kept_facts kept = keeper_facts(k, id);

		if (p->generation != 0 && p->gang < k->limits.gangs && reservation_is_bound(p) &&
		    is_young(k, &kept.sent, now_s))
			gangs[p->gang] = true;
	}
	for (pod_id id = 0; id < world->pods.used; id++) {
		const uint32_t gang = world->pods.slots[id].gang;

		if (gang < k->limits.gangs && gangs[gang] && m->gangs[gang].mode != DISRUPT_POD)
			m->pods[id].spared = true;
	}
	free(gangs);
}

/* Where a pod does not go no other one is evicted. */
static void stuck_spare(const struct core *c, struct kept_memory *m)
{
	bool *nodes = NULL;

	for (pod_id id = 0; id < c->pods.used; id++)
		if (m->pods[id].stuck && c->pods.slots[id].node != ID_NONE) {
			nodes = nodes ? nodes : must_array(c->nodes.limit, sizeof(*nodes));
			nodes[c->pods.slots[id].node] = true;
		}
	for (pod_id id = 0; nodes && id < c->pods.used; id++)
		if (c->pods.slots[id].node != ID_NONE && nodes[c->pods.slots[id].node])
			m->pods[id].spared = true;
	free(nodes);
}

/* Its hard end is within the patience of reclaim, and has not passed.  A soft one is an annotation:
 * who lent room could move it again and again, and keep it. */
static bool ends_soon(const struct keeper *k, const struct event_pod *pod, uint64_t now_s)
{
	const uint64_t end_s = (uint64_t)pod->scheduled_s + pod->run_s;

	if (!(k->terms.flags & PREEMPTION_RECLAIM) || pod->scheduled_s == 0 || pod->run_s == 0 ||
	    (pod->flags & POD_LASTS))
		return false;
	return end_s >= now_s && end_s < now_s + k->terms.reclaim_patience_s;
}

/* A pod without facts is spared: they come right after its record. */
static void pod_facts(const struct keeper *k, const struct core *world, struct kept_memory *m,
                      pod_id id)
{
	const uint64_t now_s = world->now_ns / 1000000000;
	struct search_pod *out = &m->pods[id];
	const struct kept_facts kept = keeper_facts(k, id);
	const struct event_pod_facts *f = &kept.sent;
	struct event_pod body;
	const struct pod_record pod = kept_pod_record(k, world, id, &body);
	uint32_t gang;

	gang = pod.body->gang;
	*out = (struct search_pod){
		.start_s = f->start_s > 0 ? f->start_s : START_NONE,
		.nominated = ID_NONE,
		.deletion_cost = f->deletion_cost,
		.completion_index = f->completion_index,
		.spared = (!(f->flags & FACT_OURS) && !(k->terms.flags & PREEMPTION_ALL)) ||
		          (f->flags & FACT_SPARED) || terms_spare(k, f, now_s),
		.stuck = facts_overdue(&kept, pod.body->generation, k->terms.patience_s, world->now_ns),
		.soon = ends_soon(k, pod.body, now_s),
		.nominated_room = world->pods.slots[id].reservation == RESERVATION_NOMINATED,
		.never = f->flags & FACT_NEVER,
		.leads = f->flags & FACT_LEADS
	};
	if (gang != ID_NONE && gang < k->tables[KEPT_GANGS].used && k->tables[KEPT_GANGS].at[gang]) {
		const struct event_gang *g = (const void *)(k->tables[KEPT_GANGS].at[gang] + 1);

		out->spared = out->spared || (g->disruption & GANG_DISRUPT_NEVER);
	}
	if (!out->spared)
		pod_budgets(m, &pod, out);
}

static void gang_facts(const struct keeper *k, struct kept_memory *m, gang_id id)
{
	const struct event_gang *g = (const void *)(k->tables[KEPT_GANGS].at[id] + 1);

	m->gangs[id] =
		(struct search_gang){ .mode = g->disruption & GANG_DISRUPT_POD     ? DISRUPT_POD
		                              : g->disruption & GANG_DISRUPT_WHOLE ? DISRUPT_WHOLE
		                                                                   : DISRUPT_QUORUM,
		                      .succeeded = g->succeeded };
}

static int facts_make(const struct keeper *k, const struct core *world,
                      const struct keeper_hooks *hooks, struct kept *out)
{
	struct kept_memory *m = out->memory;
	const struct record_table *budgets = &k->tables[KEPT_BUDGETS];
	int rc = 0;

	m->pods = must_array(k->limits.pods, sizeof(*m->pods));
	m->gangs = must_array(k->limits.gangs, sizeof(*m->gangs));
	m->allowed = must_array(budgets->used + 1u, sizeof(*m->allowed));
	for (uint32_t i = 0; i < budgets->used; i++)
		if (budgets->at[i])
			m->allowed[i] =
				((const struct event_budget *)(const void *)(budgets->at[i] + 1))->allowed;
	budgets_sort(k, m);
	for (pod_id id = 0; rc == 0 && id < k->pods_used; id++) {
		rc = ended(hooks, id);
		if (rc == 0 && pod_is_kept(k, id))
			pod_facts(k, world, m, id);
	}
	refused_spend(k, world, m);
	stuck_spare(out->core, m);
	for (gang_id id = 0; id < k->tables[KEPT_GANGS].used; id++)
		if (k->tables[KEPT_GANGS].at[id])
			gang_facts(k, m, id);
	young_spare(k, world, m);
	out->facts = (struct search_facts){ .pods = m->pods,
		                                .gangs = m->gangs,
		                                .items = m->items,
		                                .allowed = m->allowed,
		                                .budgets_n = budgets->used,
		                                .reclaims = k->terms.flags & PREEMPTION_RECLAIM,
		                                .respect = !(k->terms.flags & PREEMPTION_BEST_EFFORT) };
	return rc;
}

/* All but the core and its ledger. */
static void memory_clear(struct kept_memory *m)
{
	free(m->pods);
	free(m->gangs);
	free(m->items);
	free(m->allowed);
	free(m->evicted);
	free(m->budgets);
	*m = (struct kept_memory){ .ledger = m->ledger, .ledger_bytes = m->ledger_bytes };
}

int keeper_make(const struct keeper *k, const struct core *world, const struct keeper_hooks *hooks,
                struct kept *out)
{
	*out = (struct kept){ 0 };
	return keeper_make_again(k, world, hooks, out);
}

int keeper_make_again(const struct keeper *k, const struct core *world,
                      const struct keeper_hooks *hooks, struct kept *out)
{
	int rc = 0;

	*out = (struct kept){ .core = out->core, .world = world, .memory = out->memory };
	if (out->memory) {
		memory_clear(out->memory);
	} else {
		out->memory = must_alloc(sizeof(*out->memory));
		rc = core_make(k, world, hooks, out);
	}
	evicted_mark(world, out->memory);
	if (rc == 0)
		rc = records_apply(k, out, world, hooks);
	if (rc == 0)
		rc = facts_make(k, world, hooks, out);
	if (rc < 0)
		kept_free(out);
	return rc;
}

void kept_free(struct kept *k)
{
	struct kept_memory *m = k->memory;

	if (!m)
		return;
	core_free(k->core);
	core_ledger_free(m->ledger, m->ledger_bytes);
	memory_clear(m);
	free(m);
	*k = (struct kept){ 0 };
}

int kept_apply(struct kept *k, const struct core *world, struct record *r)
{
	const struct event_pod *e = (const void *)(r + 1);

	if (r->kind == EVENT_POD && k->memory->pods)
		k->memory->pods[e->pod] =
			(struct search_pod){ .start_s = START_NONE, .nominated = ID_NONE, .spared = true };
	return apply(k->core, world, r);
}
