#include "core/hold.h"

#include <string.h>

#define LOOK_MOST 4096u /* gangs that one tick passes over */

struct wanted {
	kind_id kinds[HOLD_KINDS_MAX];
	uint32_t members[HOLD_KINDS_MAX];
	uint32_t n;
};

bool hold_stands_before(const struct core *c, uint32_t index)
{
	return c->held != ID_NONE && c->held != index && c->gangs.slots[c->held].generation == c->held_generation &&
	       gang_before(&c->gangs, c->held, index);
}

static void hold_end(struct core *c)
{
	if (c->held == ID_NONE)
		return;
	c->held = ID_NONE;
	stat_set(&c->ledger.ledger->gauges.held, 0);
	views_hold(&c->views, NULL, 0);
	c->nodes.room_version++; /* there is more for those behind it */
}

void hold_forget(struct core *c, uint32_t index)
{
	if (c->held == index)
		hold_end(c);
}

/* ---- could it ever fit? --------------------------------------------------------- */

/* The kinds of its ready members; false when they are too many to keep room for. */
static bool wanted_find(const struct core *c, const struct gang *g, struct wanted *w)
{
	*w = (struct wanted){ 0 };
	for (pod_id id = g->members > 0 ? g->first : ID_NONE; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];
		uint32_t i = 0;

		if (p->class != MEMBER_READY)
			continue;
		while (i < w->n && w->kinds[i] != p->kind)
			i++;
		if (i == HOLD_KINDS_MAX)
			return false;
		w->kinds[i] = p->kind;
		w->members[i]++;
		w->n += i == w->n;
	}
	return true;
}

/* How many pods of the shape the node takes when nobody is there. */
static uint32_t empty_count(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most)
{
	uint32_t least = most;

	if (!shape_allows(s, id))
		return 0;
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		uint32_t count = amount_count(nodes_allocatable(ns, id, q->resource), q->value, q->inverse, most);

		least = count < least ? count : least;
	}
	return least;
}

static bool could_fit(const struct core *c, const struct gang *g, const struct wanted *w)
{
	uint64_t need = gang_have(g) < g->quorum ? g->quorum - gang_have(g) : 1, fit = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct shape *s = &c->shapes.slots[c->census.kinds.slots[w->kinds[i]].shape];
		uint32_t left = w->members[i];

		for (node_id id = 0; id < c->nodes.used && left > 0; id++)
			left -= empty_count(&c->nodes, id, s, left);
		fit += w->members[i] - left;
	}
	return fit >= need;
}

static bool holds_what_it_wants(const struct core *c, const struct gang *g)
{
	const struct hold *hold = &c->views.hold;
	struct wanted w;

	return wanted_find(c, g, &w) && hold->version > 0 && w.n == hold->kinds_n &&
	       memcmp(w.kinds, hold->kinds, w.n * sizeof(w.kinds[0])) == 0;
}

void hold_looked(struct core *c, uint32_t index, bool waits_for_room)
{
	struct gang *g = &c->gangs.slots[index];

	if (waits_for_room) {
		if (g->waits_ns == 0)
			g->waits_ns = c->now_ns ? c->now_ns : 1;
		if (c->held == index && !holds_what_it_wants(c, g))
			hold_end(c); /* and may begin anew */
		return;
	}
	g->waits_ns = 0;
	hold_forget(c, index);
}

/* ---- begin and end ----------------------------------------------------------------- */

static void hold_begin(struct core *c, uint32_t index, const struct wanted *w)
{
	c->held = index;
	c->held_generation = c->gangs.slots[index].generation;
	c->held_ns = c->now_ns;
	views_hold(&c->views, w->kinds, w->n);
	stat_add(&c->ledger.ledger->gauges.holds, 1);
	stat_set(&c->ledger.ledger->gauges.held, index + UINT64_C(1));
	/* Those behind it have other numbers now; nobody has more room. */
}

/* The first that has waited long enough and isn't known to be hopeless. */
static uint32_t candidate(const struct core *c)
{
	uint32_t index = queue_first(&c->waiting);

	for (uint32_t i = 0; i < LOOK_MOST && index != ID_NONE; i++, index = queue_next(&c->waiting, index)) {
		const struct gang *g = &c->gangs.slots[index];

		if (g->waits_ns > 0 && c->now_ns - g->waits_ns >= c->config.hold_after_ns &&
		    g->hopeless != c->nodes.order_version)
			return index;
	}
	return ID_NONE;
}

void hold_tick(struct core *c)
{
	struct wanted w;
	struct gang *g;
	uint32_t index;

	if (c->config.hold_after_ns == 0)
		return;
	if (c->held != ID_NONE) {
		g = &c->gangs.slots[c->held];
		if (g->generation != c->held_generation || c->views.hold.version == 0) {
			hold_end(c);
		} else if (g->timeout_ns > 0 && c->now_ns - c->held_ns >= g->timeout_ns) {
			g->waits_ns = c->now_ns; /* it has had its turn */
			hold_end(c);
		} else if (!wanted_find(c, g, &w) || !could_fit(c, g, &w)) {
			hold_end(c);
		}
		return;
	}
	index = candidate(c);
	if (index == ID_NONE)
		return;
	g = &c->gangs.slots[index];
	if (wanted_find(c, g, &w) && could_fit(c, g, &w))
		hold_begin(c, index, &w);
	else
		g->hopeless = c->nodes.order_version;
}
