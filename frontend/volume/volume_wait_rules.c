/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the waiting claims of a pod: which nodes can satisfy them.
 *
 * Rules over labels can't express it when claims compete for volumes, so the rules name nodes.
 * Pods of one workload have equal claims: the results for single claims are cached until a volume,
 * class, driver, capacity or node changes. */
#include "frontend/volume/volume_wait.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

/* Nodes rejected for one reason, or the others, whichever list is shorter. */
struct wait_rule {
	bool given; /* false: no node is rejected */
	enum filter_reason why;
	enum require_op op; /* REQUIRE_IN, REQUIRE_NOT_IN */
	struct texts names;
};

struct wait_rules {
	struct wait_rule bind, space;
};

static void answer_rule(struct volume_join *j, const uint8_t *answers, uint8_t bad,
                        enum filter_reason why, struct wait_rule *out)
{
	const struct volume_users *nodes = &j->vs->facts.users[1];
	size_t bad_n = 0, all_n = 0;

	*out = (struct wait_rule){ .why = why };
	for (uint32_t i = 0; i < nodes->n; i++) {
		all_n += nodes->at[i].what != NULL;
		bad_n += nodes->at[i].what && answers[i] == bad;
	}
	if (bad_n == 0)
		return;
	out->given = true;
	out->op = bad_n <= all_n - bad_n ? REQUIRE_NOT_IN : REQUIRE_IN;
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct volume_node_labels *node = nodes->at[i].what;

		if (node && (answers[i] == bad) == (out->op == REQUIRE_NOT_IN))
			*EXTRACT_ADD(j->arena, out->names.at, out->names.n, out->names.cap) = node->name;
	}
}

static void ask_nodes(struct volume_join *j, struct waitings *ws, struct wait_rules *out)
{
	const struct volume_users *nodes = &j->vs->facts.users[1];
	uint8_t *answers = arena_alloc(j->arena, nodes->n + (size_t)1);

	volume_look_nodes(j);
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->at[i].what)
			answers[i] = (uint8_t)wait_ask(ws, nodes->at[i].what);
	answer_rule(j, answers, WAIT_NO_VOLUME, FILTER_VOLUME_BIND, &out->bind);
	answer_rule(j, answers, WAIT_NO_SPACE, FILTER_VOLUME_SPACE, &out->space);
}

static void add_rule(struct arena *arena, const struct wait_rule *from, struct pod_storage *out)
{
	struct volume_rule_object *rule;
	struct node_term *term;

	if (!from->given)
		return;
	rule = volume_rule_add(arena, out, from->why);
	if (from->op == REQUIRE_IN && from->names.n == 0)
		return; /* no node matches */
	term = volume_term_add(arena, rule);
	volume_clause_add(arena, term, text_of("metadata.name"), from->op, from->names.at,
	                  from->names.n);
	term->rules[0].is_field = true;
}

/* The result for claims equal to this one for which no volume is reserved. */
struct wait_kept {
	struct arena arena;
	bool valid;
	uint64_t epoch;
	struct claim_object claim;
	const struct pv_object **reserved; /* volumes of the class that are bound to any claim */
	size_t reserved_n, reserved_cap;
	bool single; /* volume_wait_single() */
	struct wait_rules rules;
};

#define WAIT_KEPT 8

struct wait_cache {
	struct wait_kept kept[WAIT_KEPT];
	size_t next; /* to be replaced */
};

void volume_wait_free(struct volumes *vs)
{
	for (size_t i = 0; vs->waits && i < WAIT_KEPT; i++)
		arena_free(&vs->waits->kept[i].arena);
	free(vs->waits);
}

static bool is_plain(const struct claim_object *c)
{
	return !c->has_selected_node && !c->selector.is_given;
}

static bool is_alike(const struct claim_object *a, const struct claim_object *b)
{
	return a->request == b->request && a->has_request == b->has_request && a->modes == b->modes &&
	       a->is_block == b->is_block && text_equal(a->class, b->class) &&
	       text_equal(a->attributes_class, b->attributes_class);
}

/* A copy of the claim without its name, so that no volume is reserved for it. */
static void kept_claim(struct wait_kept *k, const struct claim_object *claim)
{
	k->claim = (struct claim_object){
		.head.namespace = text_of("/"),
		.head.name = text_of("/"),
		.class = text_of(arena_copy(&k->arena, claim->class)),
		.attributes_class = text_of(arena_copy(&k->arena, claim->attributes_class)),
		.request = claim->request,
		.has_request = claim->has_request,
		.modes = claim->modes,
		.is_block = claim->is_block,
	};
}

static void kept_reserved(struct volume_join *j, struct wait_kept *k)
{
	const union volume_any *o;
	uint32_t at = SLOT_NONE;

	while ((o = volume_look_group(j, VOLUME_KIND_VOLUME, k->claim.class, &at)))
		if (o->pv.has_claim)
			*EXTRACT_ADD(j->arena, k->reserved, k->reserved_n, k->reserved_cap) = &o->pv;
}

/* Each candidate is the only one of its place, and all have one place. */
static bool places_are_single(const struct waiting *w)
{
	for (size_t i = 1; i < w->places_n; i++)
		if (text_equal(w->places[i - 1].key, w->places[i].key) &&
		    text_equal(w->places[i - 1].value, w->places[i].value))
			return false;
	return w->loose_n == 0 && w->keys_n <= 1;
}

static const struct wait_kept *keep(const struct volume_join *j, struct wait_kept *k,
                                    const struct claim_object *claim)
{
	struct volume_join own = *j;
	const struct claim_object *claims[1] = { &k->claim };
	struct waitings ws;

	arena_reset(&k->arena);
	*k = (struct wait_kept){ .arena = k->arena };
	own.arena = &k->arena;
	kept_claim(k, claim);
	wait_find(&own, claims, 1, &ws);
	kept_reserved(&own, k);
	ask_nodes(&own, &ws, &k->rules);
	k->single = places_are_single(&ws.at[0]);
	k->epoch = j->vs->epoch;
	k->valid = true;
	return k;
}

static const struct wait_kept *kept(struct volume_join *j, const struct claim_object *claim)
{
	struct wait_cache *cache = j->vs->waits;
	struct wait_kept *k;

	if (!cache)
		cache = j->vs->waits = must_alloc(sizeof(*cache));
	for (size_t i = 0; i < WAIT_KEPT; i++) {
		k = &cache->kept[i];
		if (k->valid && is_alike(&k->claim, claim))
			return k->epoch == j->vs->epoch ? k : keep(j, k, claim);
	}
	k = &cache->kept[cache->next];
	cache->next = (cache->next + 1) % WAIT_KEPT;
	return keep(j, k, claim);
}

static bool is_reserved(const struct wait_kept *k, const struct claim_object *claim)
{
	for (size_t i = 0; i < k->reserved_n; i++)
		if (volume_is_bound_to(k->reserved[i], claim))
			return true;
	return false;
}

/* On all objects that a cached result was made from. */
static void depend_on_all(struct volume_join *j, const struct claim_object *claim)
{
	struct text none = { "", 0 };
	const union volume_any *class = volume_look(j, VOLUME_KIND_CLASS, none, claim->class);
	uint32_t at = SLOT_NONE;

	volume_look(j, VOLUME_KIND_DRIVER, none, class->class.provisioner);
	volume_look_group(j, VOLUME_KIND_VOLUME, claim->class, &at);
	at = SLOT_NONE;
	volume_look_group(j, VOLUME_KIND_CAPACITY, claim->class, &at);
	volume_look_nodes(j);
}

bool volume_wait_single(struct volume_join *j, const struct claim_object *claim)
{
	return is_plain(claim) && !volume_is_held(j->vs, claim) && kept(j, claim)->single;
}

void volume_wait_rules(struct volume_join *j, const struct claim_object *const *claims, size_t n,
                       struct pod_storage *out)
{
	struct wait_rules own, *rules = NULL;
	const struct wait_kept *k;
	struct waitings ws;

	if (n == 1 && is_plain(claims[0]) && !volume_is_held(j->vs, claims[0])) {
		k = kept(j, claims[0]);
		depend_on_all(j, claims[0]);
		if (!is_reserved(k, claims[0])) {
			own = k->rules;
			rules = &own;
		}
	}
	if (!rules) {
		wait_find(j, claims, n, &ws);
		ask_nodes(j, &ws, &own);
	}
	add_rule(j->arena, &own.bind, out);
	add_rule(j->arena, &own.space, out);
}

/* The volume goes to the claim, as if it were bound already. */
static void assume_volume(struct volume_join *j, const struct waiting *w, union volume_any *claim)
{
	union volume_any pv = { .pv = *w->chosen };

	pv.pv.has_claim = true;
	pv.pv.is_available = false;
	pv.pv.claim_namespace = w->claim->head.namespace;
	pv.pv.claim_name = w->claim->head.name;
	pv.pv.claim_uid = w->claim->head.uid;
	claim->claim.volume = text_of(arena_copy(j->arena, pv.head.name));
	claim->claim.bind_completed = true;
	volume_change(j->vs, VOLUME_KIND_VOLUME, &pv);
}

/* Each change frees the object that it replaces: w->chosen, then w->claim. */
static void assume_one(struct volume_join *j, const struct waiting *w, struct text node)
{
	union volume_any claim = { .claim = *w->claim };

	if (w->chosen) {
		assume_volume(j, w, &claim);
	} else {
		claim.claim.has_selected_node = true;
		claim.claim.selected_node = node;
	}
	volume_change(j->vs, VOLUME_KIND_CLAIM, &claim);
}

void volume_wait_assume(struct volume_join *j, const struct claim_object *const *claims, size_t n,
                        uint32_t node)
{
	const struct volume_node_labels *where = volume_user(&j->vs->facts, true, node);
	struct waitings ws;

	if (!where)
		return;
	wait_find(j, claims, n, &ws);
	if (wait_ask(&ws, where) != WAIT_FITS)
		return;
	for (size_t i = 0; i < n; i++)
		assume_one(j, &ws.at[i], where->name);
}
