/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/gpus.h"

#include "core/devices/inventory_shares.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define GPU_TASKS 64u /* typical ones; more are no better on openb (docs/decisions/089) */
#define GPU_SHAPES 1024u
#define GPU_COLUMNS 8u
#define GPU_QUESTIONS 24u

static_assert(GPU_COLUMNS + GPU_QUESTIONS <= 32, "a bit for each");
static_assert(GPU_SHAPES <= SHARE_TASKS_MAX, "a task for each");

struct gpus {
	struct share_mix *mix; /* NULL: none */
	uint32_t columns[GPU_COLUMNS], columns_n;
	uint32_t questions[GPU_QUESTIONS], questions_n;
	node_id having[GPU_QUESTIONS]; /* a node with devices for it, when the mix was made */
	bool due;
	uint32_t pods;                      /* when the mix was made */
	uint64_t came;                      /* pods until then */
	uint64_t asked[QUESTIONS_MAX / 64]; /* questions of pods that came since one changed */
};

struct gpus *gpus_new(void)
{
	struct gpus *g = must_alloc(sizeof(*g));

	g->due = true;
	return g;
}

void gpus_free(struct gpus *g)
{
	if (g)
		share_mix_free(g->mix);
	free(g);
}

void gpus_forget(struct pod_counts *cs)
{
	struct gpus *g = cs->gpus;

	if (!g)
		return;
	cs->rules_version += g->mix != NULL;
	share_mix_free(g->mix);
	*g = (struct gpus){ .due = true };
}

static bool is_gpu(const struct name_row *row, const struct ledger_view *ledger)
{
	static const char end[] = "/gpu";
	const struct name name = { .offset = row->offset, .bytes = row->bytes };
	const uint32_t n = sizeof(end) - 1;

	return name.bytes > n && memcmp(name_text(ledger, name) + name.bytes - n, end, n) == 0;
}

static void find_columns(struct gpus *g, const struct nodes *ns)
{
	for (uint32_t i = RESOURCE_EXTENDED; i < ns->columns && g->columns_n < GPU_COLUMNS; i++)
		if (is_gpu(&ns->ledger->names[i], ns->ledger))
			g->columns[g->columns_n++] = i;
}

/* Its number in the mix; `questions_n`: it is not in it. */
static uint32_t question_at(const struct gpus *g, uint32_t question)
{
	uint32_t i = 0;

	while (i < g->questions_n && g->questions[i] != question)
		i++;
	return i;
}

/* The first node that has devices for it; ID_NONE. */
static node_id node_having(const struct pod_counts *cs, uint32_t question)
{
	struct gpu_ask ask = { 0 };

	for (node_id id = 0; id < cs->nodes->used; id++)
		if (node_present(&cs->nodes->slots[id]) &&
		    inventory_share_ask(cs->inventory, id, question, &ask))
			return id;
	return ID_NONE;
}

static void question_add(struct gpus *g, const struct pod_counts *cs, uint32_t question)
{
	node_id id;

	if (!cs->inventory || question >= QUESTIONS_MAX || g->questions_n == GPU_QUESTIONS ||
	    question_at(g, question) < g->questions_n)
		return;
	id = node_having(cs, question);
	if (id == ID_NONE)
		return;
	g->having[g->questions_n] = id;
	g->questions[g->questions_n++] = question;
}

static uint32_t column_bit(uint32_t i)
{
	return 1u << (31 - i);
}

/* GPUs that are asked for as resources; false: more than are counted. */
static bool ask_resources(const struct gpus *g, const struct shape *s, struct gpu_ask *out)
{
	for (uint32_t i = 0; i < s->sums_n; i++) {
		const struct request *q = &s->requests[i];

		if (q->resource == RESOURCE_CPU)
			out->cpu_milli = q->value;
		if (q->resource == RESOURCE_MEMORY)
			out->memory_bytes = q->value;
		for (uint32_t k = 0; k < g->columns_n; k++) {
			if (q->resource != g->columns[k])
				continue;
			if (q->value > SHARE_GPUS_MAX - out->gpus)
				return false;
			out->gpus += (uint32_t)q->value;
			out->models |= column_bit(k);
		}
	}
	out->milli = out->gpus > 0 ? SHARE_WHOLE : 0;
	return true;
}

/* What a pod asks for on the node; ID_NONE: on one that has devices for it. */
static bool ask_of(const struct gpus *g, const struct pod_counts *cs, const struct shape *s,
                   node_id id, struct gpu_ask *out)
{
	uint32_t i;

	*out = (struct gpu_ask){ 0 };
	if (s->absent_n > 0 || !ask_resources(g, s, out))
		return false;
	if (s->body->devices == 0)
		return true;
	i = question_at(g, s->body->devices - 1);
	if (i == g->questions_n || out->gpus > 0)
		return false;
	out->models = 1u << i;
	return inventory_share_ask(cs->inventory, id == ID_NONE ? g->having[i] : id, g->questions[i],
	                           out);
}

static int64_t at_least_0(int64_t amount)
{
	return amount > 0 ? amount : 0;
}

static void node_of(const struct gpus *g, const struct pod_counts *cs, node_id id,
                    struct share_node *out)
{
	*out = (struct share_node){
		.cpu_milli = at_least_0(nodes_free_amount(cs->nodes, id, RESOURCE_CPU)),
		.memory_bytes = at_least_0(nodes_free_amount(cs->nodes, id, RESOURCE_MEMORY)),
	};
	for (uint32_t i = 0; i < g->columns_n; i++) {
		int64_t n_free = nodes_free_amount(cs->nodes, id, g->columns[i]);

		if (nodes_allocatable(cs->nodes, id, g->columns[i]) > 0)
			out->model |= column_bit(i);
		for (; n_free > 0 && out->gpus < SHARE_GPUS_MAX; n_free--)
			out->free[out->gpus++] = SHARE_WHOLE;
	}
	if (cs->inventory)
		inventory_shares(cs->inventory, id, g->questions, g->questions_n, out);
}

/* Each step-th shape that pods have, so that there are not too many. */
static uint32_t shapes_step(const struct shapes *ss)
{
	uint32_t n = 0;

	for (shape_id id = 0; id < ss->used; id++)
		n += ss->slots[id].body && ss->slots[id].pods > 0;
	return n / GPU_SHAPES + 1;
}

/* By shape: its pods without a node.  NULL without devices.  The caller frees it. */
static uint32_t *waiting_of(const struct pod_counts *cs)
{
	uint32_t *waiting;

	if (!cs->inventory)
		return NULL;
	waiting = must_array(cs->shapes->used + (size_t)1, sizeof(*waiting));
	for (pod_id id = 0; id < cs->pods->used; id++) {
		const struct pod *p = pods_find(cs->pods, id);

		if (p && p->node == ID_NONE && p->shape < cs->shapes->used)
			waiting[p->shape]++;
	}
	return waiting;
}

static void mix_make(struct gpus *g, struct pod_counts *cs)
{
	const struct shapes *ss = cs->shapes;
	const uint32_t step = shapes_step(ss);
	struct share_task *tasks = must_array(GPU_SHAPES, sizeof(*tasks));
	uint32_t *waiting = waiting_of(cs);
	uint32_t tasks_n = 0, seen = 0;

	find_columns(g, cs->nodes);
	for (shape_id id = 0; id < ss->used; id++) {
		const struct shape *s = &ss->slots[id];

		if (!s->body || s->pods == 0 || seen++ % step != 0)
			continue;
		if (s->body->devices > 0)
			question_add(g, cs, s->body->devices - 1);
		if (!ask_of(g, cs, s, ID_NONE, &tasks[tasks_n].ask))
			continue;
		tasks[tasks_n].count = s->pods;
		if (waiting && tasks[tasks_n].ask.gpus == 0)
			tasks[tasks_n].count = waiting[id];
		tasks_n += tasks[tasks_n].count > 0;
	}
	free(waiting);
	g->mix = tasks_n > 0 ? share_mix_new(tasks, tasks_n, GPU_TASKS) : NULL;
	free(tasks);
}

static bool is_due(const struct gpus *g, const struct pods *ps)
{
	const uint32_t few = g->pods / 8;

	return g->due || ps->came - g->came > few || ps->count + few < g->pods;
}

/* Out of line, so that gpus_follow() saves no registers for it. */
static __attribute__((noinline)) void mix_renew(struct pod_counts *cs)
{
	struct gpus *g = cs->gpus;
	uint64_t asked[QUESTIONS_MAX / 64];

	memcpy(asked, g->asked, sizeof(asked));
	gpus_forget(cs);
	memcpy(g->asked, asked, sizeof(asked));
	mix_make(g, cs);
	g->due = false;
	g->pods = cs->pods->count;
	g->came = cs->pods->came;
	cs->rules_version++;
}

void gpus_follow(struct pod_counts *cs)
{
	if (cs->gpus && is_due(cs->gpus, cs->pods))
		mix_renew(cs);
}

void gpus_ask(struct pod_counts *cs, uint32_t question)
{
	struct gpus *g = cs->gpus;

	if (question >= QUESTIONS_MAX || (g->asked[question / 64] >> question % 64 & 1))
		return;
	g->asked[question / 64] |= UINT64_C(1) << question % 64;
	g->due = true;
}

/* As the allocator chooses: the first with room. */
static uint32_t first_with_room(const struct share_node *n, const struct gpu_ask *a)
{
	uint32_t i = 0;

	while (a->gpus == 1 && a->milli < SHARE_WHOLE && n->free[i] < a->milli)
		i++;
	return i;
}

bool gpus_score(enum score_policy policy, const struct pod_counts *cs, node_id id,
                const struct shape *s, uint32_t *points)
{
	const struct gpus *g = cs->gpus;
	struct share_node node;
	struct gpu_ask ask;

	if (!g || !g->mix || !ask_of(g, cs, s, id, &ask))
		return false;
	node_of(g, cs, id, &node);
	*points = 0; /* its GPUs are more than are counted, or shares that are rounded down */
	if (share_fits(&node, &ask))
		*points = share_points(policy == SCORE_FGD ? SHARE_FGD : SHARE_MUSTER, g->mix, &node, &ask,
		                       first_with_room(&node, &ask));
	return true;
}
