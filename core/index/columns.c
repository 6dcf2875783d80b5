/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/columns.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A step as rows of eight lanes, whatever they hold. */
#define ROW_BYTES (COLUMN_LANES * sizeof(uint32_t))
#define ROWS (sizeof(struct columns_step) / ROW_BYTES)

static_assert(sizeof(struct columns_step) % ROW_BYTES == 0, "vectors of a step are aligned");

static size_t blocks_of(uint32_t nodes)
{
	return (nodes + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
}

static size_t steps_bytes(uint32_t nodes)
{
	return blocks_of(nodes) * (COLUMN_BLOCK / COLUMN_LANES) * sizeof(struct columns_step);
}

void columns_init(struct columns *c, const struct limits *limits)
{
	*c = (struct columns){ .most = limits->pods,
		                   .order_version = UINT64_MAX,
		                   .first = must_array(blocks_of(limits->nodes), sizeof(*c->first)),
		                   .from = must_array(limits->nodes, sizeof(*c->from)) };
	c->steps = must_lines(steps_bytes(limits->nodes), &c->memory);
}

void columns_free(struct columns *c)
{
	free(c->memory);
	free(c->first);
	free(c->from);
	*c = (struct columns){ 0 };
}

static double positive(double amount)
{
	return amount > 0 ? amount : 0;
}

static bool is_exact(const struct node_fit *f)
{
	return fit_exact(f) && f->cpu < COLUMN_MOST && f->memory >= COLUMN_UNIT &&
	       f->memory < COLUMN_MOST * COLUMN_UNIT && f->pods_left < COLUMN_PODS;
}

static bool is_whole(double units)
{
	return units <= (double)(uint64_t)units;
}

/* Products of two whole numbers below 2^24 are exact. */
uint32_t columns_ratio(const struct columns *c, double cpu, double units)
{
	for (uint32_t i = 0; i < c->ratios_n; i++)
		if (c->ratios[i].cpu * units == c->ratios[i].units * cpu)
			return i + 1;
	return 0;
}

/* The ratio of a node that is exact. */
static uint32_t ratio_of(struct columns *c, const struct node_fit *f)
{
	const double units = f->memory / COLUMN_UNIT, used = f->memory_used / COLUMN_UNIT;
	uint32_t ratio;

	if (f->cpu_used > f->cpu || used > units || !is_whole(units) || !is_whole(used) ||
	    f->cpu_used * units != used * f->cpu)
		return 0;
	ratio = columns_ratio(c, f->cpu, units);
	if (ratio > 0 || c->ratios_n == COLUMN_RATIOS)
		return ratio;
	c->ratios[c->ratios_n++] = (struct column_ratio){ .cpu = f->cpu, .units = units };
	return c->ratios_n;
}

static void node_set(struct columns *c, uint32_t rank, const struct node_fit *f)
{
	struct columns_step *s = &c->steps[rank / COLUMN_LANES];
	const uint32_t lane = rank % COLUMN_LANES;
	double pods;

	if (!is_exact(f)) {
		s->cpu_free[lane] = s->memory_free[lane] = COLUMN_MOST;
		s->cpu_left[lane] = s->memory_left[lane] = 0;
		s->cpu_share[lane] = 0;
		s->memory_share[lane] = COLUMN_UNSURE;
		s->others[lane] = 1;
		return;
	}
	pods = positive(f->pods_left < c->most ? f->pods_left : c->most);
	s->cpu_free[lane] = (float)positive(f->cpu - f->cpu_used);
	s->memory_free[lane] = (float)(uint32_t)positive((f->memory - f->memory_used) / COLUMN_UNIT);
	s->cpu_left[lane] = (float)positive((f->cpu - f->cpu_scored) * 100 / f->cpu);
	s->memory_left[lane] = (float)positive((f->memory - f->memory_scored) * 100 / f->memory);
	s->cpu_share[lane] = (float)(100 / f->cpu);
	s->memory_share[lane] = (float)(100 / f->memory * COLUMN_UNIT);
	s->others[lane] = (uint32_t)pods | ratio_of(c, f) << COLUMN_RATIO |
	                  (COLUMN_EVEN - (uint32_t)f->balance) << COLUMN_BALANCE;
}

static uint32_t first_of(const node_id *ids, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (ids[i] != ids[0] + i)
			return ID_NONE;
	return ids[0];
}

/* Of the blocks from that of `rank` on. */
static void firsts_set(struct columns *c, const struct nodes *ns, uint32_t rank)
{
	for (rank -= rank % COLUMN_BLOCK; rank < ns->count; rank += COLUMN_BLOCK)
		c->first[rank / COLUMN_BLOCK] = first_of(
			&ns->order[rank], ns->count - rank < COLUMN_BLOCK ? ns->count - rank : COLUMN_BLOCK);
}

static void compute_all(struct columns *c, const struct nodes *ns)
{
	memset(c->steps, 0, steps_bytes(ns->count));
	for (uint32_t rank = 0; rank < ns->count; rank++)
		node_set(c, rank, &ns->fits[ns->order[rank]]);
	firsts_set(c, ns, 0);
}

/* Sets from[rank] to what the rank was before the changes of the order, ID_NONE for a node that
 * entered.  Returns the first rank that may differ. */
static uint32_t order_trace(struct columns *c, const struct nodes *ns)
{
	uint32_t first = ns->count, n = c->nodes;

	for (uint64_t at = c->order_log; at < ns->order_log_n; at++) {
		const uint32_t rank = ns->order_log[at % ORDER_LOG].rank;

		first = rank < first ? rank : first;
	}
	for (uint32_t rank = first; rank < n; rank++)
		c->from[rank] = rank;
	for (uint64_t at = c->order_log; at < ns->order_log_n; at++) {
		const struct order_change *change = &ns->order_log[at % ORDER_LOG];
		uint32_t *place = &c->from[change->rank];

		if (change->left) {
			n--;
			memmove(place, place + 1, (n - change->rank) * sizeof(*place));
		} else {
			memmove(place + 1, place, (n - change->rank) * sizeof(*place));
			*place = ID_NONE;
			n++;
		}
	}
	assert(n == ns->count);
	return first;
}

static char *lane_at(const struct columns *c, uint32_t rank)
{
	return (char *)&c->steps[rank / COLUMN_LANES] + rank % COLUMN_LANES * sizeof(uint32_t);
}

static void lane_move(struct columns *c, uint32_t to, uint32_t from)
{
	for (size_t row = 0; row < ROWS; row++)
		memcpy(lane_at(c, to) + row * ROW_BYTES, lane_at(c, from) + row * ROW_BYTES,
		       sizeof(uint32_t));
}

/* Eight nodes at once; `to` is the first of a step. */
static void step_move(struct columns *c, uint32_t to, uint32_t from)
{
	const uint32_t before = COLUMN_LANES - from % COLUMN_LANES;
	char *row = lane_at(c, to);
	const char *a = lane_at(c, from), *b = a + sizeof(struct columns_step) - ROW_BYTES;
	uint32_t of_a[COLUMN_LANES], x[COLUMN_LANES], y[COLUMN_LANES];

	if (before == COLUMN_LANES) {
		c->steps[to / COLUMN_LANES] = c->steps[from / COLUMN_LANES];
		return;
	}
	for (uint32_t i = 0; i < COLUMN_LANES; i++)
		of_a[i] = i < before ? UINT32_MAX : 0;
	/* A row at `a` goes on at `b`, in the next step.  Bits, so that compilers vectorize it. */
	for (size_t at = 0; at < sizeof(struct columns_step); at += ROW_BYTES) {
		memcpy(x, a + at, sizeof(x));
		memcpy(y, b + at, sizeof(y));
		for (uint32_t i = 0; i < COLUMN_LANES; i++)
			x[i] = (x[i] & of_a[i]) | (y[i] & ~of_a[i]);
		memcpy(row + at, x, sizeof(x));
	}
}

/* True if the step of `rank` gets eight nodes that followed each other before. */
static bool moves_whole(const struct columns *c, uint32_t rank, uint32_t n)
{
	const uint32_t *from = &c->from[rank];
	uint32_t apart = 0;

	if (n - rank < COLUMN_LANES || from[0] == ID_NONE)
		return false;
	for (uint32_t i = 0; i < COLUMN_LANES; i++) /* without an early exit, for vectors */
		apart |= from[i] ^ (from[0] + i);
	return apart == 0;
}

/* Moves the nodes of [rank, end), of one step: those whose rank fell, or those whose rank rose. */
static void some_move(struct columns *c, uint32_t rank, uint32_t end, bool fell)
{
	for (uint32_t i = rank; i < end; i++) {
		const uint32_t at = fell ? i : end - 1 - (i - rank), from = c->from[at];

		if (from != ID_NONE && (fell ? from > at : from < at))
			lane_move(c, at, from);
	}
}

/* In place: nodes whose rank fell from the lowest on, the others from the highest on, so that none
 * is overwritten before it has moved. */
static void nodes_move(struct columns *c, uint32_t first, uint32_t n, bool fell)
{
	const uint32_t low = first / COLUMN_LANES, high = (n + COLUMN_LANES - 1) / COLUMN_LANES;

	for (uint32_t i = low; i < high; i++) {
		const uint32_t step = fell ? i : high - 1 - (i - low), rank = step * COLUMN_LANES;

		if (rank < first || !moves_whole(c, rank, n))
			some_move(c, rank < first ? first : rank,
			          n - rank < COLUMN_LANES ? n : rank + COLUMN_LANES, fell);
		else if (fell ? c->from[rank] > rank : c->from[rank] < rank)
			step_move(c, rank, c->from[rank]);
	}
}

/* Moves the columns by the log of the order: of nodes that joined or left, a pass over packed steps
 * and not over all nodes. */
static void reorder(struct columns *c, const struct nodes *ns)
{
	const uint32_t first = order_trace(c, ns), end = (uint32_t)blocks_of(ns->count) * COLUMN_BLOCK;

	nodes_move(c, first, ns->count, true);
	nodes_move(c, first, ns->count, false);
	for (uint32_t rank = first; rank < ns->count; rank++)
		if (c->from[rank] == ID_NONE)
			node_set(c, rank, &ns->fits[ns->order[rank]]);
	for (uint32_t rank = ns->count; rank < end; rank++)
		for (size_t row = 0; row < ROWS; row++)
			memset(lane_at(c, rank) + row * ROW_BYTES, 0, sizeof(uint32_t));
	firsts_set(c, ns, first);
}

/* Brings the ranks up to date; of all nodes if the logs have lost some changes. */
static void ranks_follow(struct columns *c, const struct nodes *ns)
{
	if (c->order_version == UINT64_MAX || ns->order_log_n - c->order_log > ORDER_LOG ||
	    ns->log_n - c->position > NODE_LOG) {
		compute_all(c, ns);
		c->position = ns->log_n;
	} else {
		reorder(c, ns);
	}
	c->nodes = ns->count;
	c->order_log = ns->order_log_n;
	c->order_version = ns->order_version;
}

void columns_follow(struct columns *c, const struct nodes *ns)
{
	if (c->order_version != ns->order_version || ns->log_n - c->position > NODE_LOG)
		ranks_follow(c, ns);
	for (; c->position < ns->log_n; c->position++) {
		const node_id id = ns->log[c->position % NODE_LOG];

		if (id != ID_NONE)
			node_set(c, ns->ranks[id], &ns->fits[id]);
	}
}
