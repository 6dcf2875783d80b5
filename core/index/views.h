/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of pod finds on every node: how many of it fit, and how good the node is.
 *
 * A view is worked out once for a kind and then follows the log of changed nodes, so that
 * the next plan reads a tree instead of every node.  Three ways, by what the kind asks for:
 *
 *   VIEW_PLAIN    each node by itself: room, rules over one node, ports, images
 *   VIEW_GATED    hard rules between pods beside that: core/index/gates.h
 *   VIEW_WEIGHED  weighed against all other nodes (preferences, soft rules): what each node is by
 *                 itself is kept, the rest is judged anew after each change, core/filter/judge.h
 *   VIEW_JUDGED   claims and disks that may be in use anywhere: judged anew in all
 *
 * All four choose the node that judge() puts first.  A view holds nothing that can't be worked
 * out anew, and view_check() does so. */
#ifndef MUSTER_CORE_VIEWS_H
#define MUSTER_CORE_VIEWS_H

#include "core/base/tree.h"
#include "core/filter/judge.h"
#include "core/index/digest.h"
#include "core/index/gates.h"

/* Views take so much memory, or as much as the fewest need; the one not used for longest
 * gives way. */
#define VIEWS_BYTES (UINT64_C(64) << 20)
#define VIEWS_LEAST 16u
#define VIEWS_MOST 1024u
#define HOLD_KINDS_MAX 8u

#define NO_NODE UINT32_MAX

/* Why nodes fall out for a kind, and how far each resource would reach; core/plan/reason.c. */
struct facts {
	uint64_t log_n;         /* of the nodes when it was worked out; 0: never */
	uint64_t rules_version; /* of the census then */
	uint32_t counts_n;
	struct why_count counts[WHY_COUNTS_MAX];
	uint64_t members[RESOURCES_MAX]; /* that this resource alone lets in */
};

/* Room that is kept for a gang that waits for it; see core/cycle/hold.h.  Whoever comes behind
 * that gang sees what is left beside it. */
struct hold {
	uint64_t version; /* counts holds; 0: none */
	uint32_t kinds_n;
	kind_id kinds[HOLD_KINDS_MAX];
	bool within; /* only on nodes of views.hold_nodes */
	/* Of one kind what it would place on a node is kept there.  Of several, and on nodes of
	 * views.hold_whole, nodes that any of them may go to are kept whole. */
	bool some_whole;
};

enum view_mode { VIEW_PLAIN, VIEW_GATED, VIEW_WEIGHED, VIEW_JUDGED };

/* Arrays are by rank, so that the first of equals has the lowest name. */
struct view {
	kind_id kind;
	enum view_mode mode;
	bool plain_room;   /* how many fit falls by one with each: no ports, and no hold beside it */
	uint64_t hold;     /* version of the hold that it leaves room for; 0: it sees all room */
	uint64_t position; /* in the log of nodes */
	uint64_t order_version; /* of the ranks */
	uint64_t rules_version; /* of the census */
	uint64_t capacity;      /* of VIEW_PLAIN the sum of counts and exact; else no fewer than fit */
	struct tree tree; /* keys: score + 1; 0: not one fits.  VIEW_GATED: but for the gates, else with
	                   * the tiers of a policy, of which those below the best 27 are one */
	uint32_t *counts; /* how many fit, by the node itself; VIEW_JUDGED: 0 where no member of the
	                   * gang can help it in */
	uint64_t counted; /* sum of counts */
	struct gates *gates; /* VIEW_GATED */
	tree_key *points;    /* VIEW_WEIGHED: key of the node by itself; see also `masked` */
	uint8_t *facts_of;   /* enum node_facts */
	uint8_t *images_of;  /* judge_images(), if the kind asks for any */
	int32_t *preferred;  /* of preferences, NULL: none */
	bool stale;          /* VIEW_WEIGHED: to be weighed before it is used */
	uint64_t masked; /* version of the mask: other nodes have key 0 and are in no sum, and but for
	                  * VIEW_WEIGHED `points` has the keys without it; 0: none */
	struct facts facts;
};

#define AHEAD_KEYS 4u

/* A node that takes pods ahead: see view_take_ahead(). */
struct ahead {
	uint32_t rank;
	uint32_t taken;
	tree_key keys[AHEAD_KEYS]; /* after pod i + 1, i + 1 + AHEAD_KEYS ... */
};

struct views {
	struct view *slots;
	uint64_t *last_used; /* by slot, as `uses` was; 0: unused */
	uint32_t slots_n;
	void *memory;         /* of all arrays */
	uint32_t *of_kind[2]; /* index into slots, NO_NODE: none; [1]: beside the hold */
	struct hold hold;
	uint64_t holds;                    /* ever */
	uint64_t *hold_nodes, *hold_whole; /* bits by node */
	const uint64_t *mask;              /* bits by rank; core/plan/domains.c */
	uint64_t mask_version;             /* 0: none */
	uint64_t masks;                    /* ever */
	bool wide_lanes;                   /* lanes_are_wide() */
	bool behind; /* whoever asks comes behind the hold; set it before views_get() */
	struct census *census;
	struct nodes *nodes; /* of the census */
	struct digest digest;
	struct judgement judgement; /* scratch */
	enum score_policy score;
	uint32_t most;       /* a node's count is cut off here */
	struct ahead *ahead; /* nodes with pods that are taken ahead */
	uint32_t ahead_n;
	uint32_t *ahead_at; /* by rank: which of them + 1, or 0 */
	uint64_t uses;
	uint64_t steps; /* work done, in units of about 10 ns; the planner's budget */
};

/* -ENOMEM */
int views_init(struct views *vs, const struct limits *limits, struct census *census,
               enum score_policy score);
void views_free(struct views *vs);
void views_clear(struct views *vs);

/* The view of a kind, up to date.  Good until VIEWS_LEAST others were asked for, up to date
 * until a node changes. */
struct view *views_get(struct views *vs, kind_id kind);

/* Rank of the best node that takes one more, by score, then by name; TREE_NONE. */
static inline uint32_t view_best(const struct view *v)
{
	return v->mode == VIEW_GATED ? gates_best(v->gates) : tree_best(&v->tree);
}

/* How good an open node is beside others of the view; > 0. */
static inline uint32_t view_key(const struct view *v, uint32_t rank)
{
	uint32_t key = (uint32_t)tree_at(&v->tree, rank);

	return v->mode == VIEW_GATED ? gates_tier(v->gates, rank) << 16 | key : key;
}

/* The best of the nodes in that domain. */
uint32_t view_best_in(const struct views *vs, const struct view *v, topology_id topology,
                      uint32_t domain);

/* Does the node of that rank take one now? */
static inline bool view_open(const struct view *v, uint32_t rank)
{
	return tree_at(&v->tree, rank) > 0 && (v->mode != VIEW_GATED || gates_open(v->gates, rank));
}

/* From now on views show only the nodes whose bits are set, by rank; NULL: all.  The caller keeps
 * the bits, and no other node changes meanwhile. */
void views_mask(struct views *vs, const uint64_t *bits);

/* No more of the kind than these could ever come to the node of that rank beside who is there now.
 */
uint32_t view_most_at(const struct view *v, uint32_t rank);

/* No more of the kind than these could be placed together now. */
uint64_t view_bound(struct views *vs, const struct view *v);

/* One pod of the view's kind comes to the node of that rank; a view that was up to date
 * stays so. */
void view_take(struct views *vs, struct view *v, uint32_t rank);

/* The same for many in a row, of a plain view that is up to date: pods come to the node, up to
 * `most`, while its key is `least` (> 0) or more, as it is; how many they were.  Counts and the
 * keys of single nodes are right at once; the rest of the tree, and all that others see, by
 * view_settle(), once for each node and before anything else is asked or changed. */
uint32_t view_take_ahead(struct views *vs, struct view *v, uint32_t rank, tree_key least,
                         uint32_t most);
void view_settle(struct views *vs, struct view *v);

/* No more of the kind than these fit on the node by itself. */
uint32_t views_count_at(const struct views *vs, node_id id, kind_id kind);

/* Does the node have room, and ports, for one of the kind beside what is held?  No other rule is
 * asked. */
bool views_room(const struct views *vs, node_id id, kind_id kind);

/* Keep room for those kinds, and for no others; n 0: for nobody.  `within`: on these nodes alone,
 * bits by id, which are copied; NULL: on all.  `whole`: bits likewise; NULL: none. */
void views_hold(struct views *vs, const kind_id *kinds, uint32_t n, const uint64_t *within,
                const uint64_t *whole);

/* Is room kept on those nodes, and so? */
bool views_holds_within(const struct views *vs, const uint64_t *within, const uint64_t *whole);

/* The kind is gone or another. */
void views_forget(struct views *vs, kind_id kind);

/* Is the view, which is up to date, what a look at every node gives?  For tests. */
bool view_check(struct views *vs, const struct view *v);

#endif
