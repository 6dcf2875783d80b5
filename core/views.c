#include "core/views.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERDICT_ARG_BITS 24 /* names are fewer than 2^22 */

static_assert(NODE_WHY_KINDS <= 256, "a verdict has 8 bits for its kind");
static_assert(SCORE_MOST + 1 <= TREE_KEY_MOST, "a key has 15 bits");

int views_init(struct views *vs, const struct limits *limits, struct nodes *nodes, struct shapes *shapes,
               enum score_policy score)
{
	const size_t keys = (tree_bytes(limits->nodes) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	const size_t words = ((size_t)limits->nodes * sizeof(uint32_t) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	const size_t bytes = keys + 2 * words;

	*vs = (struct views){ .nodes = nodes, .shapes = shapes, .score = score, .most = limits->pods };
	/* In one piece, and never touched for shapes that nobody waits with. */
	vs->memory = calloc(1, VIEWS_MAX * bytes + CACHE_LINE);
	vs->of_shape[0] = malloc(2 * limits->shapes * sizeof(*vs->of_shape[0]));
	if (!vs->memory || !vs->of_shape[0]) {
		views_free(vs);
		return -ENOMEM;
	}
	vs->of_shape[1] = vs->of_shape[0] + limits->shapes;
	memset(vs->of_shape[0], 0xff, 2 * limits->shapes * sizeof(*vs->of_shape[0]));
	for (uint32_t i = 0; i < VIEWS_MAX; i++) {
		unsigned char *at = (unsigned char *)vs->memory + CACHE_LINE - (uintptr_t)vs->memory % CACHE_LINE + i * bytes;
		struct view *v = &vs->slots[i];

		v->shape = ID_NONE;
		tree_open(&v->tree, at, limits->nodes);
		v->counts = (uint32_t *)(void *)(at + keys);
		v->verdicts = (uint32_t *)(void *)(at + keys + words);
	}
	return 0;
}

void views_free(struct views *vs)
{
	free(vs->memory);
	free(vs->of_shape[0]);
}

static void give_up(struct views *vs, uint32_t at)
{
	struct view *v = &vs->slots[at];

	vs->of_shape[v->hold > 0][v->shape] = NO_NODE;
	v->shape = ID_NONE;
	v->last_used = 0;
}

void views_clear(struct views *vs)
{
	for (uint32_t i = 0; i < VIEWS_MAX; i++)
		if (vs->slots[i].shape != ID_NONE)
			give_up(vs, i);
	vs->hold.version = 0;
	vs->behind = false;
}

void views_forget(struct views *vs, shape_id shape)
{
	for (uint32_t i = 0; i < vs->hold.shapes_n; i++)
		if (vs->hold.shapes[i] == shape)
			views_hold(vs, NULL, 0);
	for (int behind = 0; behind < 2; behind++)
		if (vs->of_shape[behind][shape] != NO_NODE)
			give_up(vs, vs->of_shape[behind][shape]);
}

/* ---- one node ------------------------------------------------------------- */

/* How many fit beside `kept` pods of another shape, which have room themselves. */
static uint32_t count_beside(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most,
                             const struct shape *other, uint32_t kept)
{
	int64_t others[RESOURCES_MAX] = { 0 };
	uint32_t least = most;

	for (uint32_t i = 0; i < other->requests_n; i++)
		others[other->requests[i].resource] = amount_times(other->requests[i].value, kept);
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		int64_t room = nodes_room(ns, id, q->resource) - others[q->resource];
		uint32_t count = amount_count(room, q->value, q->inverse, most);

		least = count < least ? count : least;
	}
	return least;
}

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

/* ... as far as the hold leaves room. */
static uint32_t count_behind(const struct views *vs, node_id id, const struct shape *s)
{
	const struct shape *other = &vs->shapes->slots[vs->hold.shapes[0]];
	uint32_t kept;

	if (vs->hold.shapes_n > 1) {
		for (uint32_t i = 0; i < vs->hold.shapes_n; i++)
			if (shape_allows(&vs->shapes->slots[vs->hold.shapes[i]], id))
				return 0;
		return node_count(vs->nodes, id, s, vs->most);
	}
	kept = shape_allows(other, id) ? node_count(vs->nodes, id, other, vs->most) : 0;
	if (kept == 0)
		return node_count(vs->nodes, id, s, vs->most);
	return count_beside(vs->nodes, id, s, vs->most, other, kept);
}

static struct look node_look(const struct views *vs, const struct shape *s, node_id id, bool behind)
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
	look.count = behind ? count_behind(vs, id, s) : node_count(vs->nodes, id, s, vs->most);
	if (look.count > 0)
		look.key = score_node(vs->score, vs->nodes, id, s) + 1;
	return look;
}

/* ---- following -------------------------------------------------------------- */

static void rebuild(struct views *vs, struct view *v, const struct shape *s)
{
	const struct nodes *ns = vs->nodes;

	v->capacity = 0;
	memset(v->tree.levels[0], 0, vs->nodes->limit * sizeof(tree_key));
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		struct look look = node_look(vs, s, ns->order[rank], v->hold > 0);

		v->tree.levels[0][rank] = (tree_key)look.key;
		v->counts[rank] = look.count;
		v->verdicts[rank] = look.verdict;
		v->capacity += look.count;
	}
	tree_build(&v->tree);
	v->order_version = ns->order_version;
	v->position = ns->log_n;
	vs->steps += 4 * (uint64_t)ns->count;
}

static void relook(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	struct look look = node_look(vs, s, vs->nodes->order[rank], v->hold > 0);

	v->capacity += (uint64_t)look.count - v->counts[rank];
	tree_set(&v->tree, rank, (tree_key)look.key);
	v->counts[rank] = look.count;
	v->verdicts[rank] = look.verdict;
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
	for (; v->position < ns->log_n; v->position++)
		relook(vs, v, s, ns->slots[ns->log[v->position % NODE_LOG]].rank);
}

void view_take(struct views *vs, struct view *v, uint32_t rank)
{
	const struct shape *s = &vs->shapes->slots[v->shape];

	assert(v->position == vs->nodes->log_n);
	nodes_take(vs->nodes, vs->nodes->order[rank], s);
	relook(vs, v, s, rank);
	v->position = vs->nodes->log_n;
}

static uint32_t slot_longest_unused(const struct views *vs)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < VIEWS_MAX; i++)
		if (vs->slots[i].last_used < vs->slots[at].last_used)
			at = i;
	return at;
}

struct view *views_get(struct views *vs, shape_id shape)
{
	bool behind = vs->behind && vs->hold.version > 0;
	uint32_t at = vs->of_shape[behind][shape];
	struct view *v;

	if (at == NO_NODE) {
		at = slot_longest_unused(vs);
		v = &vs->slots[at];
		if (v->shape != ID_NONE)
			give_up(vs, at);
		v->facts.log_n = 0;
		v->shape = shape;
		v->hold = 0;
		v->order_version = vs->nodes->order_version - 1;
		vs->of_shape[behind][shape] = at;
	}
	v = &vs->slots[at];
	if (behind && v->hold != vs->hold.version) {
		v->hold = vs->hold.version;
		v->order_version = vs->nodes->order_version - 1;
	}
	v->last_used = ++vs->uses;
	view_follow(vs, v);
	return v;
}

void views_hold(struct views *vs, const shape_id *shapes, uint32_t n)
{
	for (uint32_t i = 0; i < VIEWS_MAX; i++)
		if (vs->slots[i].shape != ID_NONE && vs->slots[i].hold > 0)
			give_up(vs, i);
	vs->hold.shapes_n = n < HOLD_SHAPES_MAX ? n : HOLD_SHAPES_MAX;
	for (uint32_t i = 0; i < vs->hold.shapes_n; i++)
		vs->hold.shapes[i] = shapes[i];
	vs->hold.version = n > 0 ? ++vs->holds : 0;
}

bool view_check(const struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	uint64_t capacity = 0;

	for (uint32_t rank = 0; rank < ns->count; rank++) {
		struct look look = node_look(vs, &vs->shapes->slots[v->shape], ns->order[rank], v->hold > 0);

		capacity += look.count;
		if ((tree_key)look.key != tree_at(&v->tree, rank) || look.count != v->counts[rank] || look.verdict != v->verdicts[rank])
			return false;
	}
	return capacity == v->capacity;
}
