#include "core/views.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERDICT_ARG_BITS 24 /* names are fewer than 2^22 */

static_assert(NODE_WHY_KINDS <= 256, "a verdict has 8 bits for its kind");
static_assert(SCORE_MOST + 1 <= UINT8_MAX, "a key is a byte");

int views_init(struct views *vs, const struct limits *limits, struct nodes *nodes, struct shapes *shapes,
               enum score_policy score)
{
	const size_t ranks = (limits->nodes + VIEW_BLOCK - 1) / VIEW_BLOCK * VIEW_BLOCK;
	const size_t bytes = ranks * (2 * sizeof(uint32_t) + sizeof(uint8_t));

	*vs = (struct views){ .nodes = nodes, .shapes = shapes, .score = score, .most = limits->pods,
		              .blocks = (limits->nodes + VIEW_BLOCK - 1) / VIEW_BLOCK };
	/* In one piece, and never touched for shapes that nobody waits with. */
	vs->memory = calloc(VIEWS_MAX, bytes);
	vs->of_shape = malloc(limits->shapes * sizeof(*vs->of_shape));
	if (!vs->memory || !vs->of_shape) {
		views_free(vs);
		return -ENOMEM;
	}
	memset(vs->of_shape, 0xff, limits->shapes * sizeof(*vs->of_shape));
	for (uint32_t i = 0; i < VIEWS_MAX; i++) {
		unsigned char *at = (unsigned char *)vs->memory + i * bytes;
		struct view *v = &vs->slots[i];

		v->shape = ID_NONE;
		v->counts = (uint32_t *)(void *)at;
		v->verdicts = v->counts + ranks;
		v->keys = (uint8_t *)(v->verdicts + ranks);
	}
	return 0;
}

void views_free(struct views *vs)
{
	free(vs->memory);
	free(vs->of_shape);
}

void views_clear(struct views *vs)
{
	for (uint32_t i = 0; i < VIEWS_MAX; i++)
		if (vs->slots[i].shape != ID_NONE)
			views_forget(vs, vs->slots[i].shape);
}

void views_forget(struct views *vs, shape_id shape)
{
	uint32_t at = vs->of_shape[shape];

	if (at == NO_NODE)
		return;
	vs->slots[at].shape = ID_NONE;
	vs->slots[at].last_used = 0;
	vs->of_shape[shape] = NO_NODE;
}

/* ---- one node ------------------------------------------------------------- */

static uint32_t node_count(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most)
{
	uint32_t least = most;

	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		uint32_t count = amount_count(nodes_room(ns, id, q->resource), q->value, q->inverse, most);

		least = count < least ? count : least;
	}
	return least;
}

static uint32_t verdict_pack(enum node_why why, uint32_t arg)
{
	return (uint32_t)why << VERDICT_ARG_BITS | arg;
}

enum node_why view_verdict(const struct view *v, uint32_t rank, uint32_t *arg)
{
	*arg = v->verdicts[rank] & ((1u << VERDICT_ARG_BITS) - 1);
	return (enum node_why)(v->verdicts[rank] >> VERDICT_ARG_BITS);
}

struct look {
	uint32_t key, count, verdict;
};

static struct look node_look(const struct views *vs, const struct shape *s, node_id id)
{
	const struct node *n = &vs->nodes->slots[id];
	struct look look = { 0 };
	uint32_t arg;

	if (!shape_allows(s, id)) {
		if (node_present(n)) {
			enum node_why why = shape_judges(s, n, &arg);

			look.verdict = verdict_pack(why, arg);
		}
		return look;
	}
	look.count = node_count(vs->nodes, id, s, vs->most);
	if (look.count > 0)
		look.key = score_node(vs->score, vs->nodes, id, s) + 1;
	return look;
}

/* ---- following -------------------------------------------------------------- */

static void rebuild(struct views *vs, struct view *v, const struct shape *s)
{
	const struct nodes *ns = vs->nodes;

	v->capacity = 0;
	memset(v->keys, 0, (size_t)vs->blocks * VIEW_BLOCK);
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		struct look look = node_look(vs, s, ns->order[rank]);

		v->keys[rank] = (uint8_t)look.key;
		v->counts[rank] = look.count;
		v->verdicts[rank] = look.verdict;
		v->capacity += look.count;
	}
	v->order_version = ns->order_version;
	v->position = ns->log_n;
	vs->steps += 4 * (uint64_t)ns->count;
}

void view_follow(struct views *vs, struct view *v)
{
	struct nodes *ns = vs->nodes;
	const struct shape *s = &vs->shapes->slots[v->shape];

	nodes_sort(ns);
	if (v->order_version != ns->order_version || ns->log_n - v->position > NODE_LOG) {
		rebuild(vs, v, s);
		return;
	}
	vs->steps += 4 * (ns->log_n - v->position);
	for (; v->position < ns->log_n; v->position++) {
		node_id id = ns->log[v->position % NODE_LOG];
		uint32_t rank = ns->slots[id].rank;
		struct look look = node_look(vs, s, id);

		v->capacity += (uint64_t)look.count - v->counts[rank];
		v->keys[rank] = (uint8_t)look.key;
		v->counts[rank] = look.count;
		v->verdicts[rank] = look.verdict;
	}
}

struct view *views_get(struct views *vs, shape_id shape)
{
	uint32_t at = vs->of_shape[shape];
	struct view *v;

	if (at == NO_NODE) {
		at = 0;
		for (uint32_t i = 1; i < VIEWS_MAX; i++)
			if (vs->slots[i].last_used < vs->slots[at].last_used)
				at = i;
		v = &vs->slots[at];
		if (v->shape != ID_NONE)
			views_forget(vs, v->shape);
		v->facts.log_n = 0;
		v->shape = shape;
		v->order_version = vs->nodes->order_version - 1;
		vs->of_shape[shape] = at;
	}
	v = &vs->slots[at];
	v->last_used = ++vs->uses;
	view_follow(vs, v);
	return v;
}

/* ---- choosing ----------------------------------------------------------------- */

/* Fixed blocks, so that the compiler makes whole vectors of them. */
static uint8_t block_best(const uint8_t *keys)
{
	uint8_t best = 0;

	for (uint32_t i = 0; i < VIEW_BLOCK; i++)
		best = keys[i] > best ? keys[i] : best;
	return best;
}

static uint8_t block_best_below(const uint8_t *keys, uint8_t limit)
{
	uint8_t best = 0;

	for (uint32_t i = 0; i < VIEW_BLOCK; i++) {
		uint8_t key = keys[i] < limit ? keys[i] : 0;

		best = key > best ? key : best;
	}
	return best;
}

static node_id first_with(struct views *vs, const struct view *v, uint32_t key, uint32_t from, uint32_t *rank)
{
	const uint8_t *found = from < vs->nodes->count ? memchr(v->keys + from, (int)key, vs->nodes->count - from) : NULL;

	if (!found)
		return NO_NODE;
	*rank = (uint32_t)(found - v->keys);
	return vs->nodes->order[*rank];
}

node_id view_best(struct views *vs, const struct view *v)
{
	uint8_t best = 0;
	uint32_t rank;

	vs->steps += vs->blocks / 4 + 1;
	for (uint32_t b = 0; b < vs->blocks; b++) {
		uint8_t key = block_best(v->keys + (size_t)b * VIEW_BLOCK);

		best = key > best ? key : best;
	}
	return best > 0 ? first_with(vs, v, best, 0, &rank) : NO_NODE;
}

node_id view_after(struct views *vs, const struct view *v, uint32_t *key, uint32_t *rank)
{
	uint8_t best = 0;
	node_id id = NO_NODE;

	vs->steps += vs->blocks / 2 + 1;
	if (*key <= UINT8_MAX)
		id = first_with(vs, v, *key, *rank + 1, rank);
	if (id != NO_NODE)
		return id;
	for (uint32_t b = 0; b < vs->blocks; b++) {
		uint8_t below = *key > UINT8_MAX ? block_best(v->keys + (size_t)b * VIEW_BLOCK)
		                                 : block_best_below(v->keys + (size_t)b * VIEW_BLOCK, (uint8_t)*key);

		best = below > best ? below : best;
	}
	*key = best;
	return best > 0 ? first_with(vs, v, best, 0, rank) : NO_NODE;
}

bool view_check(const struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	uint64_t capacity = 0;

	for (uint32_t rank = 0; rank < ns->count; rank++) {
		struct look look = node_look(vs, &vs->shapes->slots[v->shape], ns->order[rank]);

		capacity += look.count;
		if (look.key != v->keys[rank] || look.count != v->counts[rank] || look.verdict != v->verdicts[rank])
			return false;
	}
	return capacity == v->capacity;
}
