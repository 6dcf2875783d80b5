/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/top.h"

#include "ctl/term/ctl.h"
#include "ctl/term/table.h"
#include "ctl/term/units.h"
#include "ipc/clock.h"
#include "ipc/order.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAP_ROWS_PLAIN 40u
#define NAME_WIDE_MAX 48
/* Columns of a row between the name and the reason: all of them, and without numbers. */
#define GANG_WIDE 56u
#define GANG_NARROW 32u
#define LEGEND_WIDE 100u
#define WHY_ROWS 3u
#define WHY_HIGH_MIN 20u /* a screen with fewer lines shows gangs only */

const char *const top_sort_names[TOP_SORTS] = { "queue", "name", "age", "priority", "members" };

void top_look_take(const struct observer *o, struct top_look *out)
{
	const struct core_stats *s = &o->ledger->stats;
	const struct core_gauges *g = &o->ledger->gauges;
	uint64_t held = observe_count(&g->reserved_gang);

	*out = (struct top_look){
		.there = true,
		.wall_ns = live_wall_ns(),
		.events = observe_count(&s->events),
		.plans = observe_count(&s->plans),
		.plan_ns_sum = observe_count(&s->plan_ns_sum),
		.plan_ns_max = observe_count(&s->plan_ns_max),
		.binds = observe_count(&s->binds_accepted),
		.pods = observe_count(&g->pods),
		.pods_pending = observe_count(&g->pods_pending),
		.pods_bound = observe_count(&g->pods_bound),
		.epoch = observe_count(&o->ledger->epoch),
		.synced = observe_count(&g->synced) != 0,
		.at_ns = clock_ns(CLOCK_BOOTTIME),
	};
	if (held > 0 && held <= o->places.limits.gangs) {
		struct gang_copy *gang = must_alloc(sizeof(*gang));

		if (observe_gang(o, (gang_id)(held - 1), gang))
			memcpy(out->held, gang->name, sizeof(out->held));
		free(gang);
	}
	out->nodes = rows_nodes(o);
	out->gangs = rows_gangs(o, NULL);
}

void top_look_free(struct top_look *look)
{
	free(look->nodes.at);
	free(look->gangs.at);
	*look = (struct top_look){ 0 };
}

static void draw_rates(struct styled_text *s, const struct top_look *now,
                       const struct top_look *was)
{
	double seconds;
	uint64_t plans;

	styled_line(s);
	styled_add(s, STYLE_DIM, "rates   ");
	/* A restarted core counts from 0. */
	if (was == NULL || was->at_ns >= now->at_ns || was->epoch != now->epoch ||
	    was->events > now->events) {
		styled_add(s, STYLE_DIM, "not known yet");
		return;
	}
	seconds = (double)(now->at_ns - was->at_ns) * 1e-9;
	plans = now->plans - was->plans;
	styled_add(s, STYLE_PLAIN, "%.1f binds/s   %.1f plans/s   %.1f events/s",
	           (double)(now->binds - was->binds) / seconds, (double)plans / seconds,
	           (double)(now->events - was->events) / seconds);
	if (plans > 0)
		styled_add(s, STYLE_PLAIN, "   a plan takes %.1f us",
		           (double)(now->plan_ns_sum - was->plan_ns_sum) / 1e3 / (double)plans);
	styled_add(s, STYLE_DIM, "   (longest ever %.1f us)", (double)now->plan_ns_max / 1e3);
}

static void draw_used(struct styled_text *s, const struct live *l, const struct top_look *look)
{
	size_t present = 0;

	for (size_t i = 0; i < look->nodes.n; i++)
		present += (look->nodes.at[i].flags & NODE_PRESENT) != 0;
	styled_line(s);
	styled_add(s, STYLE_DIM, "nodes   ");
	styled_add(s, STYLE_PLAIN, "%zu", present);
	for (uint32_t r = 0; r < look->nodes.resources; r++) {
		double used = 0, all = 0;

		for (size_t i = 0; look->nodes.shown[r] && i < look->nodes.n; i++) {
			const struct node_view *n = &look->nodes.at[i];

			if ((n->flags & NODE_PRESENT) != 0) {
				used += (double)n->used[r];
				all += (double)n->allocatable[r];
			}
		}
		if (all > 0)
			styled_add(s, STYLE_PLAIN, "   %s %.1f %%", live_name(l, r), used * 100 / all);
	}
}

static void draw_counts(struct styled_text *s, const struct top_look *look)
{
	char states[256];

	styled_line(s);
	styled_add(s, STYLE_DIM, "pods    ");
	styled_add(s, STYLE_PLAIN, "%" PRIu64 ": %" PRIu64 " pending, %" PRIu64 " bound", look->pods,
	           look->pods_pending, look->pods_bound);
	styled_line(s);
	styled_add(s, STYLE_DIM, "gangs   ");
	styled_add(s, STYLE_PLAIN, "%s", rows_states_text(&look->gangs, states));
	if (look->held[0] != '\0')
		styled_add(s, STYLE_BUSY, "   capacity reserved for %s", look->held);
}

static void draw_cell(struct styled_text *s, const struct top_look *look, size_t first, size_t each)
{
	uint32_t most = 0, flags = 0, scarcest;
	enum style style;

	for (size_t i = first; i < look->nodes.n && i < first + each; i++) {
		const struct node_view *n = &look->nodes.at[i];
		uint32_t share = observe_node_share(n, look->nodes.resources, &scarcest);

		most = share > most ? share : most;
		flags = n->flags;
	}
	style = (enum style)(STYLE_HEAT + (most >= 1000 ? 4 : most / 250));
	if (each == 1 && (flags & NODE_PRESENT) == 0)
		styled_add(s, STYLE_BAD, "x");
	else if (each == 1 && (flags & NODE_CORDONED) != 0)
		styled_add(s, STYLE_BAD, "c");
	else if (most >= 1000)
		styled_add(s, style, "#");
	else if (most < 100)
		styled_add(s, style, ".");
	else
		styled_add(s, style, "%" PRIu32, most / 100);
}

static void draw_map(struct styled_text *s, const struct top_look *look, size_t wide, size_t rows)
{
	size_t room = wide * rows, each = room > 0 ? (look->nodes.n + room - 1) / room : 1;

	each = each > 0 ? each : 1;
	styled_line(s);
	styled_line(s);
	styled_add(s, STYLE_STRONG, "NODES ");
	if (wide < LEGEND_WIDE)
		styled_add(s, STYLE_DIM, "by name, %zu to a cell: tenths used; . empty, # full%s", each,
		           each == 1 ? ", c cordoned, x gone" : "");
	else
		styled_add(
			s, STYLE_DIM,
			"by name, %zu to a cell: tenths of the resource that is scarcest there; . nearly empty, # full%s",
			each, each == 1 ? ", c cordoned, x gone" : "");
	for (size_t i = 0, column = 0; i < look->nodes.n; i += each, column++) {
		if (column % wide == 0)
			styled_line(s);
		draw_cell(s, look, i, each);
	}
}

static int number_order(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* Waiting gangs first, in queue order. */
static int queue_order(const struct gang_row *x, const struct gang_row *y)
{
	const uint32_t a = gang_state_rank(x->state), b = gang_state_rank(y->state);

	if (a != b)
		return a < b ? -1 : 1;
	return gang_key_compare(
		&(struct gang_key){ .band = x->band, .priority = x->priority, .age_ns = x->created_ns },
		&(struct gang_key){ .band = y->band, .priority = y->priority, .age_ns = y->created_ns });
}

static int compare(const void *a, const void *b, void *context)
{
	const struct gang_copy *x = *(const struct gang_copy *const *)a,
						   *y = *(const struct gang_copy *const *)b;
	const struct top_view *view = context;
	int order = 0;

	switch (view->sort) {
	case TOP_AGE:
		order = number_order(x->row.created_ns, y->row.created_ns);
		break;
	case TOP_PRIORITY:
		order = (y->row.priority > x->row.priority) - (y->row.priority < x->row.priority);
		break;
	case TOP_MEMBERS:
		order = number_order(y->row.members, x->row.members);
		break;
	case TOP_QUEUE:
		order = queue_order(&x->row, &y->row);
		break;
	case TOP_NAME:
	case TOP_SORTS:
		break;
	}
	if (order == 0)
		order = strcmp(x->name, y->name);
	return view->reversed ? -order : order;
}

static bool is_chosen(const struct gang_copy *g, const struct top_view *view)
{
	if (view->waiting_only && gang_state_is_done(g->row.state))
		return false;
	return view->filter[0] == '\0' || strcasestr(g->name, view->filter) != NULL ||
	       strcasestr(gang_state_text(g->row.state), view->filter) != NULL;
}

static enum style state_ink(uint32_t state)
{
	return state == GANG_FINISHED  ? STYLE_DIM
	       : state == GANG_PLACED  ? STYLE_GOOD
	       : state == GANG_BINDING ? STYLE_BUSY
	                               : STYLE_BAD;
}

/* The gangs to show, in order. */
struct shown {
	const struct gang_copy **at; /* to be freed */
	size_t n;
	int name_wide;
	bool cut;    /* longer names are cut */
	bool narrow; /* PLACED, MEMBERS and PRIORITY are left out in favour of the reason */
};

static void draw_gang(struct styled_text *s, const struct live *l, const struct top_look *look,
                      const struct gang_copy *g, const struct shown *shown)
{
	bool waits = rows_gang_waits(g), cut = shown->cut && strlen(g->name) > (size_t)shown->name_wide;
	char age[32] = "-", need[32] = "";
	char *whole = waits ? live_reason(l, g) : NULL;
	char *reason = waits ? ctl_reason_turned(g->name, whole) : NULL;

	if (g->row.created_ns != 0)
		units_age(rows_gang_age_ns(g, look->wall_ns), age, sizeof(age));
	if (waits)
		snprintf(need, sizeof(need), "%" PRIu32 "/%" PRIu32, g->row.reason.fit, g->row.reason.need);
	styled_line(s);
	if (cut)
		styled_add(s, STYLE_PLAIN, "%.*s~   ", shown->name_wide - 1, g->name);
	else
		styled_add(s, STYLE_PLAIN, "%-*s   ", shown->name_wide, g->name);
	styled_add(s, state_ink(g->row.state), "%-10s", gang_state_text(g->row.state));
	styled_add(s, STYLE_PLAIN, " %9s ", need);
	if (!shown->narrow)
		styled_add(s, STYLE_PLAIN, "%6" PRIu32 " %7" PRIu32 " %8" PRId32 " ", g->row.bound,
		           g->row.members, g->row.priority);
	styled_add(s, STYLE_PLAIN, "%5s   %s", age, waits ? reason : "");
	free(reason);
	free(whole);
}

static struct shown choose_gangs(const struct top_look *look, struct top_view *view, size_t wide,
                                 bool screen)
{
	size_t most = screen && wide / 3 < NAME_WIDE_MAX ? wide / 3 : NAME_WIDE_MAX;
	struct shown shown = { .at = must_array(look->gangs.n + 1, sizeof(*shown.at)),
		                   .name_wide = 4,
		                   .cut = screen };

	for (size_t i = 0; i < look->gangs.n; i++) {
		const struct gang_copy *g = &look->gangs.at[i];
		size_t name_wide = strlen(g->name);

		if (!is_chosen(g, view))
			continue;
		shown.at[shown.n++] = g;
		name_wide = name_wide < most ? name_wide : most;
		if (name_wide > (size_t)shown.name_wide)
			shown.name_wide = (int)name_wide;
	}
	shown.narrow = screen && view->sort != TOP_PRIORITY && view->sort != TOP_MEMBERS &&
	               (size_t)shown.name_wide + GANG_WIDE + EDGE_LAST > wide;
	if (shown.n > 1)
		qsort_r(shown.at, shown.n, sizeof(*shown.at), compare, view);
	if (view->first >= shown.n)
		view->first = shown.n > 0 ? shown.n - 1 : 0;
	return shown;
}

/* At most `rows` of them. */
static void draw_gangs(struct styled_text *s, const struct live *l, const struct top_look *look,
                       const struct top_view *view, const struct shown *shown, size_t rows)
{
	styled_line(s);
	styled_line(s);
	styled_add(s, STYLE_STRONG, "GANGS ");
	styled_add(s, STYLE_DIM, "%zu of %zu by %s%s%s", shown->n, look->gangs.n,
	           view->reversed ? "falling " : "", top_sort_names[view->sort],
	           view->waiting_only ? ", that wait" : "");
	if (view->filter[0] != '\0' || view->typing)
		styled_add(s, STYLE_BUSY, ", with \"%s%s\"", view->filter, view->typing ? "_" : "");
	styled_line(s);
	styled_add(s, STYLE_STRONG, "%-*s   %-10s %9s %s%5s   %s", shown->name_wide, "GANG", "STATE",
	           "FIT/NEED", shown->narrow ? "" : "PLACED MEMBERS PRIORITY ", "AGE", "REASON");
	for (size_t i = view->first; i < shown->n && i - view->first < rows; i++)
		draw_gang(s, l, look, shown->at[i], shown);
}

/* Why the first gang shown waits, if its row is too short for it; to be freed. NULL: nothing. */
static char *why_first(const struct live *l, const struct top_view *view, const struct shown *shown,
                       size_t wide)
{
	const struct gang_copy *g = shown->n > 0 ? shown->at[view->first] : NULL;
	char *reason, *text = NULL;

	if (g == NULL || !rows_gang_waits(g))
		return NULL;
	reason = live_reason(l, g);
	if ((size_t)shown->name_wide + (shown->narrow ? GANG_NARROW : GANG_WIDE) + strlen(reason) >
	    wide)
		text = ctl_print("%s: %s", g->name, reason);
	free(reason);
	return text;
}

/* Bytes of the text that go on a line: up to a space if there is one. */
static size_t line_of(const char *text, size_t wide)
{
	size_t n = strlen(text);

	if (n <= wide)
		return n;
	for (n = wide; n > 0 && text[n] != ' '; n--)
		;
	return n > 0 ? n : wide;
}

/* The lines that a text needs, at most WHY_ROWS; drawn unless `s` is NULL. */
static size_t draw_wrapped(struct styled_text *s, const char *text, size_t wide)
{
	size_t rows = 0;

	for (; *text != '\0' && rows < WHY_ROWS; rows++) {
		size_t n = line_of(text, wide);

		if (s != NULL) {
			styled_line(s);
			styled_add(s, STYLE_BAD, "%.*s", (int)n, text);
		}
		text += n;
		text += strspn(text, " ");
	}
	return rows;
}

static void draw_keys(struct styled_text *s, size_t wide)
{
	static const char all[] =
		"q ends  s n a p m sort by queue name age priority members (again: reversed)  w waiting  / filter  arrows";

	styled_line(s);
	styled_add(s, STYLE_DIM, "%s",
	           wide >= sizeof(all) - 1 ? all
	                                   : "q ends  s n a p m sort  w waiting  / filter  arrows");
}

void top_draw(struct styled_text *s, const struct live *l, const struct top_look *look,
              const struct top_look *earlier, struct top_view *view, size_t wide, size_t high)
{
	size_t map_rows = high > 0 ? high / 4 + 1 : MAP_ROWS_PLAIN, rows = SIZE_MAX, why_rows = 0;
	struct shown shown;
	char *why = NULL;

	wide = wide > 0 ? wide : 1;
	styled_clear(s);
	styled_line(s);
	styled_add(s, STYLE_STRONG, "muster on %s: ", l->socket);
	if (!look->there)
		styled_add(s, STYLE_BAD, "it is gone; what is below is old");
	else if (!look->synced)
		styled_add(s, STYLE_BAD, "lists are not in yet");
	else
		styled_add(s, STYLE_GOOD, "in step with the cluster");
	draw_rates(s, look, earlier);
	draw_used(s, l, look);
	draw_counts(s, look);
	draw_map(s, look, wide, map_rows);
	shown = choose_gangs(look, view, wide, high > 0);
	if (high >= WHY_HIGH_MIN)
		why = why_first(l, view, &shown, wide);
	if (why != NULL)
		why_rows = draw_wrapped(NULL, why, wide);
	/* Three lines of headings, one of keys. */
	if (high > 0)
		rows = s->n + 4 + why_rows < high ? high - s->n - 4 - why_rows : 0;
	draw_gangs(s, l, look, view, &shown, rows);
	free(shown.at);
	while (s->n + 1 + why_rows < high)
		styled_line(s);
	if (why != NULL)
		draw_wrapped(s, why, wide);
	free(why);
	if (high > 0)
		draw_keys(s, wide);
}
