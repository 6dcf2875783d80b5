/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/views_impl.h"

#include "core/classes/things.h"
#include "core/cluster/rule_node.h"
#include "core/filter/rule_policy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* kube-scheduler's total: weights 1, 1, 1, 3, 2, 2, 2, each up to SCORE_MOST. */
#define TOTAL_MOST (12 * SCORE_MOST)
static_assert(TOTAL_MOST + 1 <= TREE_KEY_MOST, "a key has 15 bits");
static_assert(TOTAL_MOST < POLICY_TIER_SCORE, "a tier goes before all scores");

/* So many tiers of a policy a key can tell apart. */
#define KEY_TIERS (TREE_KEY_MOST / (TOTAL_MOST + 1))

static size_t whole_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static uint32_t views_number(size_t bytes)
{
	uint64_t n = VIEWS_BYTES / bytes;

	return n < VIEWS_LEAST ? VIEWS_LEAST : n > VIEWS_MOST ? VIEWS_MOST : (uint32_t)n;
}

int views_init(struct views *vs, const struct limits *limits, struct census *census,
               enum score_policy score)
{
	const size_t keys = whole_lines(tree_bytes(limits->nodes));
	const size_t counts = whole_lines((size_t)limits->nodes * sizeof(uint32_t));
	const size_t points = whole_lines((size_t)limits->nodes * sizeof(tree_key));
	const size_t bytes = keys + counts + points + 2 * whole_lines(limits->nodes);
	const size_t kinds = census->kinds.limit;

	*vs = (struct views){ .census = census,
		                  .nodes = census->nodes,
		                  .score = score,
		                  .most = limits->pods,
		                  .wide_lanes = lanes_are_wide() };
	vs->slots_n = views_number(bytes);
	vs->slots = calloc(vs->slots_n, sizeof(*vs->slots));
	vs->last_used = calloc(vs->slots_n, sizeof(*vs->last_used));
	/* In one piece, and never touched for kinds that nobody waits with. */
	vs->memory = calloc(1, vs->slots_n * bytes + CACHE_LINE);
	vs->of_kind[0] = malloc(2 * kinds * sizeof(*vs->of_kind[0]));
	vs->hold_nodes = calloc((limits->nodes + 63) / 64, sizeof(*vs->hold_nodes));
	vs->hold_whole = calloc((limits->nodes + 63) / 64, sizeof(*vs->hold_whole));
	vs->ahead_at = calloc(limits->nodes, sizeof(*vs->ahead_at));
	vs->ahead = calloc(limits->nodes, sizeof(*vs->ahead));
	if (!vs->slots || !vs->last_used || !vs->memory || !vs->of_kind[0] || !vs->hold_nodes ||
	    !vs->hold_whole || !vs->ahead_at || !vs->ahead || digest_init(&vs->digest, limits) < 0 ||
	    judgement_init(&vs->judgement, limits, false) < 0) {
		views_free(vs);
		return -ENOMEM;
	}
	vs->of_kind[1] = vs->of_kind[0] + kinds;
	memset(vs->of_kind[0], 0xff, 2 * kinds * sizeof(*vs->of_kind[0]));
	for (uint32_t i = 0; i < vs->slots_n; i++) {
		unsigned char *at = (unsigned char *)vs->memory + CACHE_LINE -
		                    (uintptr_t)vs->memory % CACHE_LINE + i * bytes;

		tree_open(&vs->slots[i].tree, at, limits->nodes);
		vs->slots[i].counts = (uint32_t *)(void *)(at + keys);
		vs->slots[i].points = (tree_key *)(void *)(at + keys + counts);
		vs->slots[i].facts_of = at + keys + counts + points;
		vs->slots[i].images_of = vs->slots[i].facts_of + whole_lines(limits->nodes);
		vs->slots[i].kind = KIND_NONE;
	}
	return 0;
}

static void give_up(struct views *vs, uint32_t at)
{
	struct view *v = &vs->slots[at];

	vs->of_kind[v->hold > 0][v->kind] = NO_NODE;
	v->kind = KIND_NONE;
	vs->last_used[at] = 0;
	v->masked = 0;
	gates_free(v->gates);
	free(v->preferred);
	v->gates = NULL;
	v->preferred = NULL;
}

void views_clear(struct views *vs)
{
	for (uint32_t i = 0; i < vs->slots_n; i++)
		if (vs->slots[i].kind != KIND_NONE)
			give_up(vs, i);
	vs->hold = (struct hold){ 0 };
	vs->behind = false;
}

void views_free(struct views *vs)
{
	for (uint32_t i = 0; vs->slots && i < vs->slots_n; i++) {
		gates_free(vs->slots[i].gates);
		free(vs->slots[i].preferred);
	}
	free(vs->slots);
	free(vs->last_used);
	free(vs->memory);
	free(vs->of_kind[0]);
	free(vs->hold_nodes);
	free(vs->hold_whole);
	free(vs->ahead_at);
	free(vs->ahead);
	digest_free(&vs->digest);
	judgement_free(&vs->judgement);
	*vs = (struct views){ 0 };
}

void views_forget(struct views *vs, kind_id kind)
{
	for (uint32_t i = 0; i < vs->hold.kinds_n; i++)
		if (vs->hold.kinds[i] == kind)
			views_hold(vs, NULL, 0, NULL, NULL);
	for (int behind = 0; behind < 2; behind++)
		if (vs->of_kind[behind][kind] != NO_NODE)
			give_up(vs, vs->of_kind[behind][kind]);
}

/* ---- which way --------------------------------------------------------------- */

static bool term_is_soft(uint32_t kind)
{
	return kind == POD_TERM_PREFERRED || kind == POD_TERM_PREFERRED_ANTI;
}

/* Does a pod that is there, or may come, weigh in on where this kind goes?  Required affinity
 * counts a little, too. */
static bool bonds_weigh(const struct census *cs, kind_id kind)
{
	for (bond_id id = 0; id < cs->bonds_n; id++) {
		const struct bond *b = &cs->bonds[id];

		if (b->refs > 0 && b->kind != POD_TERM_ANTI_AFFINITY &&
		    kind_matches(&cs->kinds, kind, b->selector))
			return true;
	}
	return false;
}

static bool links_weigh(const struct shape_links *links)
{
	for (uint32_t i = 0; links && i < links->terms_n; i++)
		if (term_is_soft(links->terms[i].term->kind))
			return true;
	for (uint32_t i = 0; links && i < links->spreads_n; i++)
		if (!(links->spreads[i].spread->flags & SPREAD_HARD))
			return true;
	return false;
}

static bool soft_taints(const struct views *vs, const struct shape *s)
{
	const struct shapes *ss = vs->census->shapes;

	for (uint32_t word = 0; word < ss->words; word++)
		for (uint64_t bits = ss->soft[word]; bits; bits &= bits - 1)
			if (rule_soft_taints(
					s, &vs->nodes->slots[word * 64 + (uint32_t)__builtin_ctzll(bits)]) > 0)
				return true;
	return false;
}

static enum view_mode mode_of(const struct views *vs, kind_id kind)
{
	const struct census *cs = vs->census;
	const struct shape *s = shape_of(vs, kind);

	if (s->body->exclusives_n > 0 || s->body->attachments_n > 0)
		return VIEW_JUDGED;
	if (vs->score == SCORE_KUBE &&
	    (s->body->preferences_n > 0 || links_weigh(cs->links[cs->kinds.slots[kind].shape]) ||
	     bonds_weigh(cs, kind) || soft_taints(vs, s)))
		return VIEW_WEIGHED;
	return VIEW_PLAIN;
}

/* ---- masks ------------------------------------------------------------------ */

/* A node that the mask leaves out. */
static bool hidden(const struct views *vs, const struct view *v, uint32_t rank)
{
	return v->masked && !(vs->mask[rank / 64] >> (rank % 64) & 1);
}

/* The keys of level 0 were written. */
static void keys_set(struct views *vs, struct view *v)
{
	tree_build(&v->tree);
	if (v->gates)
		gates_rebase(v->gates, v->tree.levels[0]);
	vs->steps += vs->nodes->count / (v->gates ? 2 : 16);
}

static uint64_t counts_sum(const struct views *vs, const struct view *v)
{
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < vs->nodes->count; rank++)
		sum += hidden(vs, v, rank) ? 0 : v->counts[rank];
	return sum;
}

static void mask_undo(struct views *vs, struct view *v)
{
	v->masked = 0;
	v->stale = v->mode == VIEW_WEIGHED;
	v->counted = v->capacity = counts_sum(vs, v);
	if (v->mode == VIEW_WEIGHED)
		return;
	memcpy(v->tree.levels[0], v->points, vs->nodes->count * sizeof(*v->points));
	keys_set(vs, v);
}

static void mask_apply(struct views *vs, struct view *v)
{
	v->masked = vs->mask_version;
	v->stale = v->mode == VIEW_WEIGHED;
	v->counted = v->capacity = counts_sum(vs, v);
	if (v->mode == VIEW_WEIGHED)
		return;
	memcpy(v->points, v->tree.levels[0], vs->nodes->count * sizeof(*v->points));
	for (uint32_t rank = 0; rank < vs->nodes->count; rank++)
		if (hidden(vs, v, rank))
			v->tree.levels[0][rank] = 0;
	keys_set(vs, v);
}

void views_mask(struct views *vs, const uint64_t *bits)
{
	vs->mask = bits;
	vs->mask_version = bits ? ++vs->masks : 0;
}

uint32_t view_most_at(const struct view *v, uint32_t rank)
{
	return v->mode == VIEW_GATED ? gates_most_at(v->gates, rank, v->counts[rank]) : v->counts[rank];
}

/* ---- following -------------------------------------------------------------- */

/* What another member of the same gang can change by coming to a node. */
#define MAY_OPEN (WHY_BIT(NODE_WHY_SPREAD) | WHY_BIT(NODE_WHY_POD_AFFINITY))

/* The highest tiers of a policy in the judgement have numbers of their own, the others share 0;
 * those that are not there don't count.  Without a policy all is 0. */
struct tiers {
	uint8_t number[POLICY_TIERS];
};

static struct tiers tiers_find(const struct views *vs, const struct shape *s)
{
	const struct judgement *j = &vs->judgement;
	bool there[POLICY_TIERS] = { false };
	struct tiers tiers = { 0 };
	uint8_t next = KEY_TIERS - 1;

	for (node_id id = 0; s->body->policies_n > 0 && id < vs->nodes->used; id++)
		if (j->whys[id] == 0)
			there[j->scores[id] / POLICY_TIER_SCORE] = true;
	for (uint32_t tier = POLICY_TIERS; tier-- > 0 && next > 0;)
		if (there[tier])
			tiers.number[tier] = next--;
	return tiers;
}

/* Of a feasible node. */
static tree_key judged_key(const struct views *vs, const struct tiers *tiers, node_id id)
{
	uint32_t score = vs->judgement.scores[id];

	return (tree_key)(tiers->number[score / POLICY_TIER_SCORE] * (TOTAL_MOST + 1) +
	                  score % POLICY_TIER_SCORE + 1);
}

/* Judged anew in all, and what fits beside the hold. */
static void rejudge(struct views *vs, struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->kind);
	struct tiers tiers;

	judge(vs->census, v->kind, vs->score, &vs->judgement);
	tiers = tiers_find(vs, s);
	v->capacity = 0;
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];
		uint32_t count = 0, whys = vs->judgement.whys[id];

		if (node_present(&ns->slots[id]) && !(whys & ~MAY_OPEN))
			count = v->hold > 0 ? node_count_behind(vs, id, s) : node_count(ns, id, s, vs->most);
		v->capacity += count;
		v->counts[rank] = count;
		v->tree.levels[0][rank] = count > 0 && !whys ? judged_key(vs, &tiers, id) : 0;
	}
	v->masked = 0;
	vs->steps += 8 * (uint64_t)ns->count;
}

/* Weighed anew: what each node is by itself is known. */
static void weigh(struct views *vs, struct view *v)
{
	const struct weighing known = { .points = v->points,
		                            .facts = v->facts_of,
		                            .preferred = v->preferred };
	const struct nodes *ns = vs->nodes;
	const struct judgement *j = &vs->judgement;
	struct tiers tiers;

	judge_weigh(vs->census, v->kind, &known, &vs->judgement);
	tiers = tiers_find(vs, shape_of(vs, v->kind));
	v->capacity = v->counted;
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];

		if (hidden(vs, v, rank)) {
			v->tree.levels[0][rank] = 0;
			continue;
		}
		v->tree.levels[0][rank] = j->whys[id] ? 0 : judged_key(vs, &tiers, id);
		if (v->points[rank] > 0 && (j->whys[id] & ~MAY_OPEN))
			v->capacity -= v->counts[rank];
	}
	tree_build(&v->tree);
	v->stale = false;
	vs->steps += 4 * (uint64_t)ns->count;
}

/* What only weighing asks of a node. */
static void facts_set(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	node_id id = vs->nodes->order[rank];
	const struct node *n = &vs->nodes->slots[id];

	v->facts_of[rank] = FACT_AFFINITY | FACT_TAINTS;
	if (!shape_allows(s, id))
		v->facts_of[rank] = (uint8_t)((rule_affinity(s, n) ? FACT_AFFINITY : 0) |
		                              (rule_taint(s, n) ? 0 : FACT_TAINTS));
	if (v->preferred)
		v->preferred[rank] = (int32_t)rule_preferred(s, n);
}

static void look_at_all(struct views *vs, struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->kind);
	tree_key *keys = v->mode == VIEW_WEIGHED ? v->points : v->tree.levels[0];

	for (uint32_t rank = 0; s->body->images_n > 0 && rank < ns->count; rank++)
		v->images_of[rank] = (uint8_t)judge_images(vs->census, s, ns->order[rank]);
	v->counted = all_look(vs, v, s, keys, v->counts);
	for (uint32_t rank = 0; v->mode == VIEW_WEIGHED && rank < ns->count; rank++)
		facts_set(vs, v, s, rank);
	v->capacity = v->counted;
	vs->steps += 4 * (uint64_t)ns->count;
}

static bool preferred_reach(const struct views *vs, struct view *v)
{
	if (shape_of(vs, v->kind)->body->preferences_n > 0 && !v->preferred)
		v->preferred = calloc(vs->nodes->limit, sizeof(*v->preferred));
	return v->preferred || shape_of(vs, v->kind)->body->preferences_n == 0;
}

static void rebuild(struct views *vs, struct view *v)
{
	struct nodes *ns = vs->nodes;

	gates_free(v->gates);
	v->gates = NULL;
	v->masked = 0;
	memset(v->tree.levels[0] + ns->count, 0, (ns->limit - ns->count) * sizeof(tree_key));
	v->mode = mode_of(vs, v->kind);
	v->plain_room = shape_of(vs, v->kind)->body->ports_n == 0 && v->hold == 0;
	/* Short of memory it is judged, which needs none. */
	if (v->mode == VIEW_WEIGHED && !preferred_reach(vs, v))
		v->mode = VIEW_JUDGED;
	if (v->mode != VIEW_JUDGED)
		look_at_all(vs, v);
	if (v->mode == VIEW_PLAIN) {
		if (gates_new(&v->gates, vs->census, v->kind, v->tree.levels[0]) < 0)
			v->mode = VIEW_JUDGED;
		else if (v->gates)
			v->mode = VIEW_GATED;
	}
	if (v->mode == VIEW_JUDGED)
		rejudge(vs, v);
	v->stale = v->mode == VIEW_WEIGHED;
	tree_build(&v->tree);
	v->order_version = ns->order_version;
	v->rules_version = vs->census->rules_version;
	v->position = ns->log_n;
}

static void look_set(struct view *v, uint32_t rank, struct look look)
{
	v->counted += (uint64_t)look.count - v->counts[rank];
	v->capacity = v->counted;
	v->counts[rank] = look.count;
	if (v->mode == VIEW_WEIGHED || v->masked)
		v->points[rank] = (tree_key)look.key;
	if (v->mode == VIEW_WEIGHED) {
		v->stale = true;
		return;
	}
	tree_set(&v->tree, rank, (tree_key)look.key);
	if (v->gates)
		gates_follow(v->gates, rank, (tree_key)look.key);
}

static void relook(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	look_set(v, rank, node_look(vs, v, s, vs->nodes->order[rank]));
	if (v->mode == VIEW_WEIGHED)
		facts_set(vs, v, s, rank);
}

/* ... after it took one more of the kind itself. */
static void relook_taken(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	struct look look = { .count = v->counts[rank] - 1 };

	if (!v->plain_room || v->counts[rank] == vs->most) {
		relook(vs, v, s, rank);
		return;
	}
	if (look.count > 0)
		look.key = node_key(vs, v, s, vs->nodes->order[rank]);
	look_set(v, rank, look);
}

static void look_in(struct views *vs, struct view *v, const struct shape *s, node_id id,
                    struct look look)
{
	uint32_t rank = vs->nodes->ranks[id];

	look_set(v, rank, look);
	if (v->mode == VIEW_WEIGHED)
		facts_set(vs, v, s, rank);
	vs->steps += v->gates ? gates_steps(v->gates) : 0;
}

/* Nodes to be looked at together. */
struct changes {
	node_id ids[LOOKS_MOST];
	uint32_t ranks[LOOKS_MOST];
	uint32_t n;
};

/* The same for many nodes of a view where nothing else hangs on them. */
static void look_in_many(struct view *v, const struct changes *c, const struct looks *looks)
{
	uint32_t *counts = v->counts;
	uint64_t counted = v->counted;

	for (uint32_t i = 0; i < c->n; i++) {
		const uint32_t rank = c->ranks[i];

		counted += (uint64_t)looks->counts[i] - counts[rank];
		counts[rank] = looks->counts[i];
		tree_set(&v->tree, rank, looks->keys[i]);
	}
	v->counted = v->capacity = counted;
}

/* The nodes that changed and that the shape's rules allow, up to LOOKS_MOST.  False when the view
 * has to be worked out anew. */
static bool changes_collect(struct views *vs, struct view *v, const struct shape *s,
                            struct changes *c)
{
	const struct nodes *ns = vs->nodes;
	const uint32_t *ranks = ns->ranks;
	const uint64_t log_n = ns->log_n, *soft = vs->census->shapes->soft;
	const bool may_turn =
		v->mode != VIEW_WEIGHED && vs->score == SCORE_KUBE && vs->census->shapes->soft_n > 0;
	const bool gated = v->gates != NULL;
	uint64_t at = v->position;
	uint32_t n = 0;

	for (; at < log_n && n < LOOKS_MOST; at++) {
		const node_id id = ns->log[at % NODE_LOG];

		if (id == ID_NONE)
			continue;
		/* With a taint that it is weighed by it is weighed against all others. */
		if ((may_turn && (soft[id / 64] >> (id % 64) & 1) &&
		     rule_soft_taints(s, &ns->slots[id]) > 0) ||
		    (gated && gates_outdated(v->gates, ranks[id])))
			return false;
		if (!shape_allows(s, id)) {
			if (v->mode != VIEW_PLAIN || v->counts[ranks[id]] > 0)
				look_in(vs, v, s, id, (struct look){ 0 });
			continue;
		}
		c->ids[n] = id;
		c->ranks[n++] = ranks[id];
	}
	v->position = at;
	c->n = n;
	return true;
}

/* Takes in as many changes as are looked at together; false as above. */
static bool follow_some(struct views *vs, struct view *v, const struct shape *s)
{
	struct changes c __attribute__((uninitialized));
	struct looks looks __attribute__((uninitialized));

	if (!changes_collect(vs, v, s, &c))
		return false;
	if (c.n == 0)
		return true;
	nodes_look(vs, v, s, c.ids, c.n, &looks);
	if (v->mode == VIEW_PLAIN && !v->masked)
		look_in_many(v, &c, &looks);
	else
		for (uint32_t i = 0; i < c.n; i++)
			look_in(vs, v, s, c.ids[i], (struct look){ (uint32_t)looks.keys[i], looks.counts[i] });
	return true;
}

static void follow(struct views *vs, struct view *v)
{
	struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->kind);

	nodes_sort(ns);
	if (v->order_version != ns->order_version || v->rules_version != vs->census->rules_version ||
	    ns->log_n - v->position > NODE_LOG) {
		rebuild(vs, v);
		return;
	}
	if (v->masked && v->masked != vs->mask_version)
		mask_undo(vs, v);
	if (v->position == ns->log_n)
		return;
	if (v->mode == VIEW_JUDGED) {
		rejudge(vs, v);
		tree_build(&v->tree);
		v->position = ns->log_n;
		return;
	}
	vs->steps += 4 * (ns->log_n - v->position);
	while (v->position < ns->log_n)
		if (!follow_some(vs, v, s)) {
			rebuild(vs, v);
			return;
		}
}

void view_take(struct views *vs, struct view *v, uint32_t rank)
{
	bool current = v->position == vs->nodes->log_n;

	census_take(vs->census, vs->nodes->order[rank], v->kind, false);
	if (v->mode == VIEW_JUDGED || !current)
		return; /* it follows when it is asked for */
	relook_taken(vs, v, shape_of(vs, v->kind), rank);
	v->position = vs->nodes->log_n;
	vs->steps += v->gates ? gates_steps(v->gates) : 0;
}

/* ---- asking ----------------------------------------------------------------- */

uint64_t view_bound(struct views *vs, const struct view *v)
{
	if (view_best(v) == TREE_NONE)
		return 0;
	if (v->mode != VIEW_GATED)
		return v->capacity;
	vs->steps += vs->nodes->count / 4;
	return gates_bound(v->gates, v->counts);
}

static uint32_t slot_longest_unused(const struct views *vs)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < vs->slots_n && vs->last_used[at] > 0; i++)
		if (vs->last_used[i] < vs->last_used[at])
			at = i;
	return at;
}

struct view *views_get(struct views *vs, kind_id kind)
{
	bool behind = vs->behind && vs->hold.version > 0;
	uint32_t at = vs->of_kind[behind][kind];
	struct view *v;

	if (at == NO_NODE) {
		at = slot_longest_unused(vs);
		v = &vs->slots[at];
		if (v->kind != KIND_NONE)
			give_up(vs, at);
		v->facts.log_n = 0;
		v->kind = kind;
		v->hold = 0;
		v->order_version = vs->nodes->order_version - 1;
		vs->of_kind[behind][kind] = at;
	}
	v = &vs->slots[at];
	if (behind && v->hold != vs->hold.version) {
		v->hold = vs->hold.version;
		v->order_version = vs->nodes->order_version - 1;
	}
	vs->last_used[at] = ++vs->uses;
	follow(vs, v);
	if (v->masked != vs->mask_version)
		mask_apply(vs, v);
	if (v->stale)
		weigh(vs, v);
	return v;
}

uint32_t views_count_at(const struct views *vs, node_id id, kind_id kind)
{
	const struct shape *s = shape_of(vs, kind);

	return shape_allows(s, id) ? node_count(vs->nodes, id, s, vs->most) : 0;
}

bool views_room(const struct views *vs, node_id id, kind_id kind)
{
	const struct shape *s = shape_of(vs, kind);
	uint32_t count = vs->hold.version > 0 ? node_count_behind(vs, id, s)
	                                      : node_count(vs->nodes, id, s, vs->most);

	return count > 0 && !(s->body->ports_n > 0 && things_port_conflict(vs->census->things, id, s));
}

void views_hold(struct views *vs, const kind_id *kinds, uint32_t n, const uint64_t *within,
                const uint64_t *whole)
{
	for (uint32_t i = 0; i < vs->slots_n; i++)
		if (vs->slots[i].kind != KIND_NONE && vs->slots[i].hold > 0)
			give_up(vs, i);
	vs->hold.kinds_n = n < HOLD_KINDS_MAX ? n : HOLD_KINDS_MAX;
	for (uint32_t i = 0; i < vs->hold.kinds_n; i++)
		vs->hold.kinds[i] = kinds[i];
	vs->hold.within = within != NULL;
	vs->hold.some_whole = whole != NULL;
	if (within)
		memcpy(vs->hold_nodes, within, (vs->nodes->limit + 63) / 64 * sizeof(*within));
	if (whole)
		memcpy(vs->hold_whole, whole, (vs->nodes->limit + 63) / 64 * sizeof(*whole));
	vs->hold.version = n > 0 ? ++vs->holds : 0;
}

static bool same_bits(const struct views *vs, bool has, const uint64_t *bits,
                      const uint64_t *others)
{
	return has == (others != NULL) &&
	       (!has || memcmp(bits, others, (vs->nodes->limit + 63) / 64 * sizeof(*bits)) == 0);
}

bool views_holds_within(const struct views *vs, const uint64_t *within, const uint64_t *whole)
{
	return same_bits(vs, vs->hold.within, vs->hold_nodes, within) &&
	       same_bits(vs, vs->hold.some_whole, vs->hold_whole, whole);
}

uint32_t view_best_in(const struct views *vs, const struct view *v, topology_id topology,
                      uint32_t domain)
{
	uint32_t best = TREE_NONE, most = 0;

	for (uint32_t rank = 0; rank < vs->nodes->count; rank++) {
		if (view_key(v, rank) <= most || !view_open(v, rank) ||
		    topology_domain(&vs->census->topologies, topology, vs->nodes->order[rank]) != domain)
			continue;
		most = view_key(v, rank);
		best = rank;
	}
	return best;
}

/* ---- checking ------------------------------------------------------------------- */

static bool judged_check(struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	struct tiers tiers;

	judge(vs->census, v->kind, vs->score, &vs->judgement);
	tiers = tiers_find(vs, shape_of(vs, v->kind));
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];
		bool fits = node_present(&ns->slots[id]) && vs->judgement.whys[id] == 0;

		if (v->hold == 0 && view_open(v, rank) != fits)
			return false;
		if (v->mode >= VIEW_WEIGHED && tree_at(&v->tree, rank) > 0 &&
		    tree_at(&v->tree, rank) != judged_key(vs, &tiers, id))
			return false;
	}
	return true;
}

/* Is the node that it puts first the one that judge() puts first? */
static bool best_check(const struct views *vs, const struct view *v)
{
	uint32_t best = TREE_NONE, most = 0;

	for (uint32_t rank = 0; rank < vs->nodes->count; rank++) {
		node_id id = vs->nodes->order[rank];

		if (!view_open(v, rank) || (best != TREE_NONE && vs->judgement.scores[id] <= most))
			continue;
		best = rank;
		most = vs->judgement.scores[id];
	}
	return best == view_best(v);
}

bool view_check(struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->kind);
	const tree_key *keys = v->mode == VIEW_WEIGHED ? v->points : v->tree.levels[0];
	uint64_t counted = 0;

	for (uint32_t rank = 0; rank < ns->count; rank++) {
		struct look look = node_look(vs, v, s, ns->order[rank]);

		counted += v->counts[rank];
		if (v->mode != VIEW_JUDGED &&
		    ((tree_key)look.key != keys[rank] || look.count != v->counts[rank]))
			return false;
	}
	if (v->mode != VIEW_JUDGED && counted != v->counted)
		return false;
	if ((v->mode < VIEW_WEIGHED && v->capacity != v->counted) ||
	    (v->gates && !gates_check(v->gates)))
		return false;
	return judged_check(vs, v) && best_check(vs, v);
}
