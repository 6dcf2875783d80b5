/* SPDX-License-Identifier: Apache-2.0 */
/* A good set of victims among gangs that go whole, by sums alone: where to begin for the branches,
 * which decide unit by unit and find little among hundreds of gangs.
 *
 *   free      lone pods and stale gangs break no gang: all of them go
 *   greedily  the gang whose pods make most of the room that is left to make goes, again and again.
 *             Three pods of one node may be worth a member and each alone nothing, so a part of a
 *             member counts too, the less the smaller it is
 *   trim      what is not needed is put back, gangs first, the most important first
 *   exchange  a few gangs are put back, and others go by the same rule: kept if no more are broken
 *
 * Room is counted for a class of members, as in gang_room.c: the planner says if it is enough. */
#include "core/search/gang_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define EXCHANGE_SHARE 64u               /* of all steps: one part for exchanges ... */
#define EXCHANGE_STEPS UINT64_C(1500000) /* ... and no more than this */
#define EXCHANGED_MOST 4u
#define EXCHANGES_VAIN 64u /* for each block: so many without a better set are enough */
#define PART_STEPS 1u

/* What a unit's pods take on a node: deltas[part * requests_n + request]. */
struct part {
	node_id node;
	uint32_t block;
};

struct block {
	uint32_t first, n; /* parts */
	double gain;       /* by worth_of(), if it went */
	bool old;          /* ... before the last change of its nodes */
	bool breaks;       /* a gang that has its quorum */
	bool goes;
	bool banned; /* it may not go now */
	uint64_t sum, rank_sum, start_sum;
	uint32_t pods;
};

/* As struct objective has it; levels and budgets are left out. */
struct block_cost {
	uint64_t sum, rank_sum, start_sum;
	uint32_t broken, pods;
};

struct blocks {
	struct gang_question *q;
	const struct shape *shape;
	uint32_t most; /* members that are missing */
	uint64_t takes;
	int64_t *rows;     /* by node */
	double *worths;    /* by node: worth_of() its row */
	struct block *all; /* by unit of the level */
	uint32_t n;
	struct part *parts;
	int64_t *deltas;
	uint32_t parts_n;
	uint32_t *last; /* by node: index of its last part, plus one */
	uint32_t *ends; /* parts by node: at[ends[node - 1] .. ends[node]), from 0 */
	uint32_t *at;
	struct block_cost cost, best_cost; /* of those that go; of the best set */
	bool *last_set, *best;             /* by block: those that go in the last set that did; ... */
	uint64_t steps, steps_most, random;
	uint64_t counted; /* of the steps: in those of the search */
};

static uint32_t draw(struct blocks *b, uint32_t below)
{
	b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(b->random >> 33) % below;
}

static uint32_t takes_of(const struct blocks *b, const int64_t *row, const int64_t *delta, int sign)
{
	const struct shape *s = b->shape;
	uint32_t most = b->most;

	for (uint32_t i = 0; i < s->requests_n && most > 0; i++)
		if (!s->requests[i].devices)
			most = amount_count(row[i] + sign * (delta ? delta[i] : 0), s->requests[i].value,
			                    s->requests[i].inverse, most);
	return most;
}

/* Members, and half the square of the part of one more that there is room for. */
static double worth_of(const struct blocks *b, const int64_t *row, const int64_t *delta)
{
	const struct shape *s = b->shape;
	const uint32_t whole = takes_of(b, row, delta, 1);
	double part = 1;

	if (whole == b->most)
		return whole;
	for (uint32_t i = 0; i < s->requests_n; i++) {
		const struct request *r = &s->requests[i];
		double left;

		if (r->devices || r->value <= 0)
			continue;
		left = (double)(row[i] + (delta ? delta[i] : 0)) * r->inverse - whole;
		part = left < part ? left : part;
	}
	return part > 0 ? whole + part * part / 2 : whole;
}

static int64_t *row_of(const struct blocks *b, node_id node)
{
	return &b->rows[(size_t)node * b->shape->requests_n];
}

static int64_t *delta_of(const struct blocks *b, uint32_t part)
{
	return &b->deltas[(size_t)part * b->shape->requests_n];
}

/* The pod's capacity, added to its node's part of the block. */
static void part_add(struct blocks *b, struct block *k, pod_id id)
{
	const struct core *c = b->q->s.c;
	const struct pod *p = search_at(&b->q->s, id);
	uint32_t *last = &b->last[p->node];

	if (!node_present(&c->nodes.slots[p->node]) || !shape_allows(b->shape, p->node))
		return;
	if (*last <= k->first) {
		b->parts[b->parts_n++] = (struct part){ p->node, (uint32_t)(k - b->all) };
		*last = b->parts_n;
		k->n++;
	}
	search_row_add(b->shape, delta_of(b, *last - 1), class_shape(&c->pod_counts, p->class));
}

static void rows_fill(struct blocks *b)
{
	const struct core *c = b->q->s.c;

	for (node_id id = 0; id < c->nodes.used; id++) {
		int64_t *row = row_of(b, id);

		if (!node_present(&c->nodes.slots[id]) || !shape_allows(b->shape, id))
			continue;
		for (uint32_t i = 0; i < b->shape->requests_n; i++)
			row[i] = nodes_free_amount(&c->nodes, id, b->shape->requests[i].resource);
		b->takes += takes_of(b, row, NULL, 1);
		b->worths[id] = worth_of(b, row, NULL);
	}
	b->steps += c->nodes.used;
}

static void parts_sort(struct blocks *b)
{
	const uint32_t nodes_n = b->q->s.c->nodes.used;

	for (uint32_t i = 0; i < b->parts_n; i++)
		b->ends[b->parts[i].node + 1]++;
	for (uint32_t i = 1; i <= nodes_n; i++)
		b->ends[i] += b->ends[i - 1];
	for (uint32_t i = 0; i < b->parts_n; i++)
		b->at[b->ends[b->parts[i].node]++] = i;
}

/* Units from `first` on; none goes. */
static void blocks_make(struct blocks *b, uint32_t first)
{
	const struct gang_question *q = b->q;
	const struct core *c = q->s.c;
	const uint32_t requests_n = b->shape->requests_n;
	uint32_t pods = 0;

	b->n = q->units_n - first;
	for (uint32_t i = first; i < q->units_n; i++)
		pods += q->units[i].n;
	b->all = must_array(b->n + 1u, sizeof(*b->all));
	b->last_set = must_array(b->n + 1u, sizeof(*b->last_set));
	b->best = must_array(b->n + 1u, sizeof(*b->best));
	b->parts = must_array(pods + 1u, sizeof(*b->parts));
	b->deltas = must_array((size_t)pods * requests_n + 1, sizeof(*b->deltas));
	b->rows = must_array((size_t)c->nodes.used * requests_n + 1, sizeof(*b->rows));
	b->worths = must_array(c->nodes.used + 1u, sizeof(*b->worths));
	b->last = must_array(c->nodes.used + 1u, sizeof(*b->last));
	b->ends = must_array(c->nodes.used + 2u, sizeof(*b->ends));
	b->at = must_array(pods + 1u, sizeof(*b->at));
	rows_fill(b);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct gang_unit *u = &q->units[first + i];
		struct block *k = &b->all[i];
		struct objective o = { .highest = INT32_MIN };

		*k = (struct block){ .first = b->parts_n, .old = true };
		k->breaks = u->whole && !q->s.gangs[u->gang].stale;
		k->banned = !u->whole && u->gang != ID_NONE; /* its gang's other members count */
		for (uint32_t pod = 0; pod < u->n; pod++) {
			objective_add(&o, &q->s, q->pods[u->pods + pod], u->importance.priority);
			part_add(b, k, q->pods[u->pods + pod]);
		}
		k->sum = o.sum;
		k->rank_sum = o.rank_sum;
		k->start_sum = o.start_sum;
		k->pods = u->n;
	}
	b->steps += pods;
	parts_sort(b);
}

static void blocks_free(struct blocks *b)
{
	free(b->all);
	free(b->last_set);
	free(b->best);
	free(b->parts);
	free(b->deltas);
	free(b->rows);
	free(b->worths);
	free(b->last);
	free(b->ends);
	free(b->at);
}

/* Members less if the block were put back. */
static uint64_t loss_of(struct blocks *b, const struct block *k)
{
	uint64_t loss = 0;

	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const int64_t *row = row_of(b, b->parts[i].node);

		loss += takes_of(b, row, NULL, 1) - takes_of(b, row, delta_of(b, i), -1);
	}
	b->steps += k->n * PART_STEPS;
	return loss;
}

static void cost_add(struct block_cost *c, const struct block *k, bool goes)
{
	c->broken += goes ? k->breaks : 0u - k->breaks;
	c->sum += goes ? k->sum : 0 - k->sum;
	c->pods += goes ? k->pods : 0 - k->pods;
	c->rank_sum += goes ? k->rank_sum : 0 - k->rank_sum;
	c->start_sum += goes ? k->start_sum : 0 - k->start_sum;
}

static bool cost_less(const struct block_cost *x, const struct block_cost *y)
{
	if (x->broken != y->broken)
		return x->broken < y->broken;
	if (x->sum != y->sum)
		return x->sum < y->sum;
	if (x->pods != y->pods)
		return x->pods < y->pods;
	return x->rank_sum != y->rank_sum ? x->rank_sum < y->rank_sum : x->start_sum > y->start_sum;
}

static void block_set(struct blocks *b, struct block *k, bool goes)
{
	const int sign = goes ? 1 : -1;

	if (k->goes == goes)
		return;
	k->goes = goes;
	cost_add(&b->cost, k, goes);
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const node_id node = b->parts[i].node;
		int64_t *row = row_of(b, node);
		const int64_t *delta = delta_of(b, i);

		b->takes -= takes_of(b, row, NULL, 1);
		for (uint32_t r = 0; r < b->shape->requests_n; r++)
			row[r] += sign * delta[r];
		b->takes += takes_of(b, row, NULL, 1);
		b->worths[node] = worth_of(b, row, NULL);
		for (uint32_t at = node == 0 ? 0 : b->ends[node - 1]; at < b->ends[node]; at++)
			b->all[b->parts[b->at[at]].block].old = true;
		b->steps += PART_STEPS * (1 + b->ends[node] - (node == 0 ? 0 : b->ends[node - 1]));
	}
}

static double gain_of(struct blocks *b, struct block *k)
{
	if (!k->old)
		return k->gain;
	k->gain = 0;
	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		const node_id node = b->parts[i].node;
		const int64_t *row = row_of(b, node);

		k->gain += worth_of(b, row, delta_of(b, i)) - b->worths[node];
	}
	k->old = false;
	b->steps += k->n * 2 * PART_STEPS;
	return k->gain;
}

/* True if facts->ends() said so.  Steps alone end nothing here: fill() and exchange() have bounds
 * of their own. */
static bool is_ended(struct blocks *b)
{
	b->q->s.steps += b->steps - b->counted;
	b->counted = b->steps;
	search_spent(&b->q->s);
	return b->q->s.ended;
}

/* Gangs go until the members have room; false if `most` gangs are broken first. */
static bool fill(struct blocks *b, uint32_t most)
{
	while (b->takes < b->most) {
		struct block *next = NULL;
		double gain = 0;

		for (uint32_t i = 0; i < b->n; i++) {
			struct block *k = &b->all[i];

			if (k->goes || k->banned || !k->breaks || gain_of(b, k) < gain || k->gain <= 0)
				continue;
			next = k;
			gain = k->gain;
		}
		b->steps += b->n / 8;
		if (!next || b->cost.broken >= most || b->steps > b->steps_most || is_ended(b))
			return false;
		block_set(b, next, true);
	}
	return true;
}

/* What is not needed is put back. */
static void trim(struct blocks *b, bool breaks)
{
	for (uint32_t i = 0; i < b->n && b->takes >= b->most; i++) {
		struct block *k = &b->all[i];

		if (k->goes && k->breaks == breaks && b->takes - loss_of(b, k) >= b->most)
			block_set(b, k, false);
	}
}

/* The members have room by those that go.  True if no set was as good. */
static bool remember(struct blocks *b)
{
	const bool better = cost_less(&b->cost, &b->best_cost);

	for (uint32_t i = 0; i < b->n; i++) {
		b->last_set[i] = b->all[i].goes;
		b->best[i] = better ? b->all[i].goes : b->best[i];
	}
	if (better)
		b->best_cost = b->cost;
	b->steps += b->n / 8;
	return better;
}

static void recall(struct blocks *b, const bool *set)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->all[i].goes != set[i])
			block_set(b, &b->all[i], set[i]);
	b->steps += b->n / 8;
}

/* The nth gang that goes and is broken. */
static struct block *broken_at(struct blocks *b, uint32_t n)
{
	uint32_t i = 0;

	while (!(b->all[i].goes && b->all[i].breaks) || n-- > 0)
		i++;
	b->steps += i / 8;
	return &b->all[i];
}

static void exchange(struct blocks *b)
{
	const uint64_t share = b->q->s.facts->steps_most / EXCHANGE_SHARE;
	const uint64_t end = b->steps + (share < EXCHANGE_STEPS ? share : EXCHANGE_STEPS);
	uint64_t vain = 0; /* exchanges since there was a better set */
	uint32_t most = b->cost.broken;

	b->best_cost = (struct block_cost){ .broken = UINT32_MAX };
	remember(b);
	while (b->steps < end && !is_ended(b) && most > 1 && vain++ < (uint64_t)b->n * EXCHANGES_VAIN) {
		const uint32_t n = 1 + draw(b, EXCHANGED_MOST < most ? EXCHANGED_MOST : most - 1);
		struct block *first = NULL;

		for (uint32_t i = 0; i < n; i++) {
			struct block *k = broken_at(b, draw(b, b->cost.broken));

			first = first ? first : k;
			block_set(b, k, false);
		}
		first->banned = true;
		if (fill(b, most)) {
			trim(b, true);
			most = b->cost.broken;
			vain = remember(b) ? 0 : vain;
		} else {
			recall(b, b->last_set);
		}
		first->banned = false;
	}
	recall(b, b->best);
}

/* Of the level's units only whole gangs can go, or do. */
static bool only_gangs(const struct blocks *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (b->all[i].banned || (b->all[i].goes && !b->all[i].breaks))
			return false;
	return true;
}

bool gang_blocks(struct gang_question *q, uint32_t first)
{
	struct blocks b = { .q = q,
		                .shape = gang_shape(q),
		                .most = q->s.c->need.total,
		                .steps_most = q->s.facts->steps_most / 4,
		                .random = 1 };
	bool *goes, kept = false;

	if (!b.shape)
		return false;
	for (uint32_t i = first; i < q->units_n; i++)
		for (uint32_t k = 0; k < q->units[i].n; k++)
			search_restore(&q->s, q->pods[q->units[i].pods + k]);
	blocks_make(&b, first);
	for (uint32_t i = 0; i < b.n; i++)
		if (!b.all[i].breaks && !b.all[i].banned)
			block_set(&b, &b.all[i], true);
	if (fill(&b, UINT32_MAX)) {
		trim(&b, true);
		if (b.cost.broken > 1)
			exchange(&b);
		trim(&b, false);
		goes = must_array(q->units_n + 1u, sizeof(*goes));
		for (uint32_t i = 0; i < b.n; i++)
			goes[first + i] = b.all[i].goes;
		kept = gang_offer(q, first, goes) && only_gangs(&b);
		free(goes);
	}
	q->s.steps += b.steps - b.counted;
	blocks_free(&b);
	return kept;
}
