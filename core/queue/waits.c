/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/waits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define ASK_STEPS 150000u /* after so much work the gangs themselves are asked, round by round */

int waits_init(struct waits *ws, const struct limits *limits, bool ask)
{
	*ws = (struct waits){ .ask = ask,
		                  .limit = limits->pods < WAITS_MOST ? limits->pods : WAITS_MOST };
	ws->slots = calloc(ws->limit, sizeof(*ws->slots));
	waits_clear(ws);
	return ws->slots ? 0 : -ENOMEM;
}

void waits_free(struct waits *ws)
{
	free(ws->slots);
	ws->slots = NULL;
}

void waits_clear(struct waits *ws)
{
	ws->used = ws->kinds = ws->any = 0;
	ws->free = WAIT_ANY;
}

/* ---- what the view says ------------------------------------------------------------ */

static void note(struct wait *w, struct views *vs, const struct view *v)
{
	w->bound = v->mode == VIEW_PLAIN ? v->capacity : view_bound(vs, v);
	w->plain = v->mode == VIEW_PLAIN;
	w->order_version = v->order_version;
	w->rules_version = v->rules_version;
	w->log_n = w->asked_log_n = vs->nodes->log_n;
	w->room_version = w->asked_room_version = vs->nodes->room_version;
}

static void ask(struct wait *w, struct views *vs)
{
	vs->behind = false;
	note(w, vs, views_get(vs, w->kind));
}

static bool is_asked(const struct wait *w, const struct views *vs)
{
	return w->asked_log_n == vs->nodes->log_n && w->asked_room_version == vs->nodes->room_version;
}

/* ---- who waits ------------------------------------------------------------------- */

/* The view was used just now, so if it is a plain one its bound costs nothing. */
static uint32_t slot_take(struct waits *ws, struct views *vs, kind_id kind)
{
	const struct view *v;
	uint32_t at = ws->free;

	if (at != WAIT_ANY)
		ws->free = ws->slots[at].next;
	else if (ws->used < ws->limit)
		at = ws->used++;
	else
		return WAIT_ANY;
	ws->slots[at] = (struct wait){ .kind = kind, .least = UINT32_MAX, .seen = UINT32_MAX };
	ws->kinds++;
	vs->behind = false;
	v = views_get(vs, kind);
	if (v->mode == VIEW_PLAIN)
		note(&ws->slots[at], vs, v);
	return at;
}

void waits_enter(struct waits *ws, struct views *vs, struct gang *g)
{
	struct kind *k = g->wait_kind != KIND_NONE ? &vs->census->kinds.slots[g->wait_kind] : NULL;
	struct wait *w;

	g->wait = WAIT_ANY;
	if (k) {
		if (k->wait >= ws->used || ws->slots[k->wait].gangs == 0 ||
		    ws->slots[k->wait].kind != g->wait_kind)
			k->wait = slot_take(ws, vs, g->wait_kind);
		g->wait = k->wait;
	}
	if (g->wait == WAIT_ANY) {
		ws->any++;
		return;
	}
	w = &ws->slots[g->wait];
	w->gangs++;
	w->least = g->wait_need < w->least ? g->wait_need : w->least;
	w->seen = g->wait_need < w->seen ? g->wait_need : w->seen;
}

void waits_leave(struct waits *ws, struct gang *g)
{
	struct wait *w;

	if (g->wait == WAIT_ANY) {
		assert(ws->any > 0);
		ws->any--;
		return;
	}
	w = &ws->slots[g->wait];
	assert(w->gangs > 0);
	if (--w->gangs > 0)
		return;
	w->next = ws->free;
	ws->free = g->wait;
	if (--ws->kinds > 0)
		return;
	ws->used = 0;
	ws->free = WAIT_ANY;
}

/* ---- how much room ----------------------------------------------------------------- */

/* The bound as of now, from the nodes that changed if these alone tell. */
static void follow(struct waits *ws, struct wait *w, struct views *vs)
{
	const struct nodes *ns = vs->nodes;

	if (w->room_version == ns->room_version && !ws->ask)
		return;
	if (ws->ask || !w->plain || ns->order_old || w->order_version != ns->order_version ||
	    w->rules_version != vs->census->rules_version || ns->log_n - w->log_n > NODE_LOG) {
		ask(w, vs);
		return;
	}
	vs->steps += 2 * (ns->log_n - w->log_n) + 1;
	for (; w->log_n < ns->log_n; w->log_n++) {
		node_id id = ns->log[w->log_n % NODE_LOG];

		if (id != ID_NONE)
			w->bound += views_count_at(vs, id, w->kind);
	}
	w->room_version = ns->room_version;
}

/* Do so many of the kind have room, as far as its bound tells? */
static bool has_room(struct waits *ws, struct wait *w, struct views *vs, uint32_t need)
{
	follow(ws, w, vs);
	if (w->bound >= need && !is_asked(w, vs))
		ask(w, vs);
	return w->bound >= need;
}

bool waits_open(struct waits *ws, struct views *vs, const struct gang *g)
{
	return g->wait == WAIT_ANY || has_room(ws, &ws->slots[g->wait], vs, g->wait_need);
}

bool waits_any_open(struct waits *ws, struct views *vs)
{
	if (ws->any > 0 || ws->ask)
		return true;
	for (uint32_t i = 0; i < ws->used; i++) {
		struct wait *w = &ws->slots[i];

		if (w->gangs > 0 && (vs->steps > ASK_STEPS || has_room(ws, w, vs, w->least)))
			return true;
	}
	return false;
}

/* ---- the least need ------------------------------------------------------------------ */

void waits_walk_begin(struct waits *ws)
{
	for (uint32_t i = 0; i < ws->used; i++)
		ws->slots[i].seen = UINT32_MAX;
}

void waits_walk_pass(struct waits *ws, const struct gang *g)
{
	struct wait *w = g->wait != WAIT_ANY ? &ws->slots[g->wait] : NULL;

	if (w && g->wait_need < w->seen)
		w->seen = g->wait_need;
}

void waits_walk_end(struct waits *ws)
{
	for (uint32_t i = 0; i < ws->used; i++)
		ws->slots[i].least = ws->slots[i].seen;
}
