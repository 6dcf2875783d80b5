#include "ctl/top.h"

#include "ctl/ctl.h"
#include "ctl/units.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAP_ROWS_PLAIN 40u
#define NAME_WIDE_MAX 48

const char *const top_sort_names[TOP_SORTS] = {"queue", "name", "age", "priority", "members"};

/* ---- looking -------------------------------------------------------------------------- */

void top_look_take(const struct observer *o, struct top_look *out)
{
	const struct core_stats *s = &o->ledger->stats;
	const struct core_gauges *g = &o->ledger->gauges;
	uint64_t held = observe_count(&g->held);
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	*out = (struct top_look){
		.there = true, .wall_ns = live_wall_ns(), .events = observe_count(&s->events),
		.plans = observe_count(&s->plans), .plan_ns_sum = observe_count(&s->plan_ns_sum),
		.plan_ns_max = observe_count(&s->plan_ns_max), .binds = observe_count(&s->binds_accepted),
		.pods = observe_count(&g->pods), .pods_pending = observe_count(&g->pods_pending),
		.pods_bound = observe_count(&g->pods_bound), .epoch = observe_count(&o->ledger->epoch),
		.synced = observe_count(&g->synced) != 0,
		.at_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec,
	};
	if (held > 0 && held <= o->places.limits.gangs) {
		struct gang_copy *gang = ctl_alloc(1, sizeof(*gang));

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
	*look = (struct top_look){0};
}

/* ---- the head --------------------------------------------------------------------------- */

static void draw_rates(struct sheet *s, const struct top_look *now, const struct top_look *was)
{
	double seconds;
	uint64_t plans;

	sheet_line(s);
	sheet_add(s, INK_DIM, "rates   ");
	/* Another core, or the same one anew: it counts from 0. */
	if (was == NULL || was->at_ns >= now->at_ns || was->epoch != now->epoch || was->events > now->events) {
		sheet_add(s, INK_DIM, "not known yet");
		return;
	}
	seconds = (double)(now->at_ns - was->at_ns) * 1e-9;
	plans = now->plans - was->plans;
	sheet_add(s, INK_PLAIN, "%.1f binds/s   %.1f plans/s   %.1f events/s", (double)(now->binds - was->binds) / seconds,
	          (double)plans / seconds, (double)(now->events - was->events) / seconds);
	if (plans > 0)
		sheet_add(s, INK_PLAIN, "   a plan takes %.1f us", (double)(now->plan_ns_sum - was->plan_ns_sum) / 1e3 / (double)plans);
	sheet_add(s, INK_DIM, "   (longest ever %.1f us)", (double)now->plan_ns_max / 1e3);
}

static void draw_used(struct sheet *s, const struct live *l, const struct top_look *look)
{
	size_t present = 0;

	for (size_t i = 0; i < look->nodes.n; i++)
		present += (look->nodes.at[i].flags & NODE_PRESENT) != 0;
	sheet_line(s);
	sheet_add(s, INK_DIM, "nodes   ");
	sheet_add(s, INK_PLAIN, "%zu", present);
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
			sheet_add(s, INK_PLAIN, "   %s %.1f %%", live_name(l, r), used * 100 / all);
	}
}

static void draw_counts(struct sheet *s, const struct top_look *look)
{
	uint64_t states[GANG_STATES] = {0};

	for (size_t i = 0; i < look->gangs.n; i++)
		states[look->gangs.at[i].row.state < GANG_STATES ? look->gangs.at[i].row.state : GANG_NONE]++;
	sheet_line(s);
	sheet_add(s, INK_DIM, "pods    ");
	sheet_add(s, INK_PLAIN, "%" PRIu64 ": %" PRIu64 " pending, %" PRIu64 " bound", look->pods, look->pods_pending,
	          look->pods_bound);
	sheet_line(s);
	sheet_add(s, INK_DIM, "gangs   ");
	sheet_add(s, INK_PLAIN, "%zu: %" PRIu64 " incomplete, %" PRIu64 " waiting, %" PRIu64 " binding, %" PRIu64 " placed",
	          look->gangs.n, states[GANG_INCOMPLETE], states[GANG_WAITING], states[GANG_BINDING], states[GANG_PLACED]);
	if (look->held[0] != '\0')
		sheet_add(s, INK_BUSY, "   room is held for %s", look->held);
}

/* ---- the map ---------------------------------------------------------------------------- */

static void draw_cell(struct sheet *s, const struct top_look *look, size_t first, size_t each)
{
	uint32_t most = 0, flags = 0, scarcest;
	enum ink ink;

	for (size_t i = first; i < look->nodes.n && i < first + each; i++) {
		const struct node_view *n = &look->nodes.at[i];
		uint32_t share = observe_node_share(n, look->nodes.resources, &scarcest);

		most = share > most ? share : most;
		flags = n->flags;
	}
	ink = (enum ink)(INK_HEAT + (most >= 1000 ? 4 : most / 250));
	if (each == 1 && (flags & NODE_PRESENT) == 0)
		sheet_add(s, INK_BAD, "x");
	else if (each == 1 && (flags & NODE_CORDONED) != 0)
		sheet_add(s, INK_BAD, "c");
	else if (most >= 1000)
		sheet_add(s, ink, "#");
	else if (most < 100)
		sheet_add(s, ink, ".");
	else
		sheet_add(s, ink, "%" PRIu32, most / 100);
}

static void draw_map(struct sheet *s, const struct top_look *look, size_t wide, size_t rows)
{
	size_t room = wide * rows, each = room > 0 ? (look->nodes.n + room - 1) / room : 1;

	each = each > 0 ? each : 1;
	sheet_line(s);
	sheet_line(s);
	sheet_add(s, INK_STRONG, "NODES ");
	sheet_add(s, INK_DIM, "by name, %zu to a cell: tenths of the resource that is scarcest there; . nearly empty, # full", each);
	if (each == 1)
		sheet_add(s, INK_DIM, ", c cordoned, x gone");
	for (size_t i = 0, column = 0; i < look->nodes.n; i += each, column++) {
		if (column % wide == 0)
			sheet_line(s);
		draw_cell(s, look, i, each);
	}
}

/* ---- gangs ------------------------------------------------------------------------------ */

static int number_order(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* The order in which they are planned: those that wait first. */
static int queue_order(const struct gang_row *x, const struct gang_row *y)
{
	static const int rank[GANG_STATES] = {[GANG_WAITING] = 0, [GANG_BINDING] = 1, [GANG_INCOMPLETE] = 2,
	                                      [GANG_PLACED] = 3, [GANG_NONE] = 4};

	if (x->state != y->state)
		return x->state < GANG_STATES && y->state < GANG_STATES ? rank[x->state] - rank[y->state] : 0;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return number_order(x->created_ns, y->created_ns);
}

static int compare(const void *a, const void *b, void *context)
{
	const struct gang_copy *x = *(const struct gang_copy *const *)a, *y = *(const struct gang_copy *const *)b;
	const struct top_view *view = context;
	int order = 0;

	switch (view->sort) {
	case TOP_AGE: order = number_order(x->row.created_ns, y->row.created_ns); break;
	case TOP_PRIORITY: order = (y->row.priority > x->row.priority) - (y->row.priority < x->row.priority); break;
	case TOP_MEMBERS: order = number_order(y->row.members, x->row.members); break;
	case TOP_QUEUE: order = queue_order(&x->row, &y->row); break;
	case TOP_NAME:
	case TOP_SORTS: break;
	}
	if (order == 0)
		order = strcmp(x->name, y->name);
	return view->reversed ? -order : order;
}

static bool is_chosen(const struct gang_copy *g, const struct top_view *view)
{
	if (view->waiting_only && g->row.state == GANG_PLACED)
		return false;
	return view->filter[0] == '\0' || strcasestr(g->name, view->filter) != NULL ||
	       strcasestr(gang_state_text(g->row.state), view->filter) != NULL;
}

static enum ink state_ink(uint32_t state)
{
	return state == GANG_PLACED ? INK_GOOD : state == GANG_BINDING ? INK_BUSY : INK_BAD;
}

static void draw_gang(struct sheet *s, const struct live *l, const struct top_look *look, const struct gang_copy *g,
                      int name_wide)
{
	bool waits = rows_gang_waits(g);
	char age[32] = "-", need[32] = "";
	char *reason = waits ? live_reason(l, g) : NULL;

	if (g->row.created_ns != 0)
		units_age(rows_gang_age_ns(g, look->wall_ns), age, sizeof(age));
	if (waits)
		snprintf(need, sizeof(need), "%" PRIu32 "/%" PRIu32, g->row.reason.fit, g->row.reason.need);
	sheet_line(s);
	sheet_add(s, INK_PLAIN, "%-*s   ", name_wide, g->name);
	sheet_add(s, state_ink(g->row.state), "%-10s", gang_state_text(g->row.state));
	sheet_add(s, INK_PLAIN, " %9s %6" PRIu32 " %7" PRIu32 " %8" PRId32 " %5s   %s", need, g->row.bound, g->row.members,
	          g->row.priority, age, waits ? reason : "");
	free(reason);
}

static const struct gang_copy **chosen_gangs(const struct top_look *look, struct top_view *view, size_t *n, int *name_wide)
{
	const struct gang_copy **chosen = ctl_alloc(look->gangs.n + 1, sizeof(*chosen));

	*n = 0;
	*name_wide = 4;
	for (size_t i = 0; i < look->gangs.n; i++) {
		const struct gang_copy *g = &look->gangs.at[i];
		size_t wide = strlen(g->name);

		if (!is_chosen(g, view))
			continue;
		chosen[(*n)++] = g;
		if (wide > (size_t)*name_wide)
			*name_wide = wide < NAME_WIDE_MAX ? (int)wide : NAME_WIDE_MAX;
	}
	if (*n > 1)
		qsort_r(chosen, *n, sizeof(*chosen), compare, view);
	return chosen;
}

/* `rows` of them at most. */
static void draw_gangs(struct sheet *s, const struct live *l, const struct top_look *look, struct top_view *view, size_t rows)
{
	size_t n;
	int name_wide;
	const struct gang_copy **chosen = chosen_gangs(look, view, &n, &name_wide);

	if (view->first >= n)
		view->first = n > 0 ? n - 1 : 0;
	sheet_line(s);
	sheet_line(s);
	sheet_add(s, INK_STRONG, "GANGS ");
	sheet_add(s, INK_DIM, "%zu of %zu by %s%s%s", n, look->gangs.n, view->reversed ? "falling " : "",
	          top_sort_names[view->sort], view->waiting_only ? ", that wait" : "");
	if (view->filter[0] != '\0' || view->typing)
		sheet_add(s, INK_BUSY, ", with \"%s%s\"", view->filter, view->typing ? "_" : "");
	sheet_line(s);
	sheet_add(s, INK_STRONG, "%-*s   %-10s %9s %6s %7s %8s %5s   %s", name_wide, "GANG", "STATE", "FIT/NEED", "PLACED",
	          "MEMBERS", "PRIORITY", "AGE", "REASON");
	for (size_t i = view->first; i < n && i - view->first < rows; i++)
		draw_gang(s, l, look, chosen[i], name_wide);
	free(chosen);
}

void top_draw(struct sheet *s, const struct live *l, const struct top_look *look, const struct top_look *earlier,
              struct top_view *view, size_t wide, size_t high)
{
	size_t map_rows = high > 0 ? high / 4 + 1 : MAP_ROWS_PLAIN, rows = SIZE_MAX;

	sheet_clear(s);
	sheet_line(s);
	sheet_add(s, INK_STRONG, "muster on %s: ", l->socket);
	if (!look->there)
		sheet_add(s, INK_BAD, "it is gone; what is below is old");
	else if (!look->synced)
		sheet_add(s, INK_BAD, "lists are not in yet");
	else
		sheet_add(s, INK_GOOD, "in step with the cluster");
	draw_rates(s, look, earlier);
	draw_used(s, l, look);
	draw_counts(s, look);
	draw_map(s, look, wide > 0 ? wide : 1, map_rows);
	/* Three lines of headings, one of keys. */
	if (high > 0)
		rows = s->n + 4 < high ? high - s->n - 4 : 0;
	draw_gangs(s, l, look, view, rows);
	if (high == 0)
		return;
	while (s->n + 1 < high)
		sheet_line(s);
	sheet_line(s);
	sheet_add(s, INK_DIM, "q ends  s n a p m sort by queue name age priority members (again: reversed)  w waiting  / filter  arrows");
}
