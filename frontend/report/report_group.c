/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about a group: the status of its object (report_status.c), an Event when it starts to
 * wait and when it is placed, and the timeout on its members. */
#include "frontend/report/report_impl.h"

#include "frontend/report/event.h"
#include "frontend/dialect/reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct report *report_of(const struct group *g)
{
	return g->item.report;
}

void report_group_free(struct group *g)
{
	struct report *r = report_of(g);

	if (g->gang < r->by_gang_n && r->by_gang[g->gang] == g)
		r->by_gang[g->gang] = NULL;
	report_status_forget(g);
	free(g->reason);
	report_note_drop(&g->why);
	report_note_drop(&g->reported_why);
	report_note_drop(&g->item.note);
	free(g);
}

static struct group *group_find(const struct report *r, gang_id gang, uint32_t generation)
{
	struct group *g = gang < r->by_gang_n ? r->by_gang[gang] : NULL;

	return g && g->generation == generation ? g : NULL;
}

/* Another gang owns the slot; an item in flight ends by itself. */
static void group_part(struct report *r, struct group *g)
{
	r->by_gang[g->gang] = NULL;
	if (g->item.flying)
		return;
	report_item_unlist(&g->item);
	report_group_free(g);
}

static struct group *group_of(struct report *r, gang_id gang, uint32_t generation)
{
	struct group *g;

	r->by_gang = must_reach(r->by_gang, &r->by_gang_n, gang, 256, sizeof(struct group *));
	g = group_find(r, gang, generation);
	if (g)
		return g;
	if (r->by_gang[gang])
		group_part(r, r->by_gang[gang]);
	g = must_alloc(sizeof(*g));
	g->item.report = r;
	g->item.kind = ITEM_GROUP;
	g->gang = gang;
	g->generation = generation;
	r->by_gang[gang] = g;
	return g;
}

/* Schedules the group for due_ns or earlier. */
static void group_wake(struct group *g, uint64_t due_ns)
{
	struct item *i = &g->item;

	if (i->flying) {
		g->again = true;
		return;
	}
	if (i->queued && i->step == STEP_EVENT) {
		g->again = true;
		return;
	}
	if (i->queued && i->due_ns <= due_ns)
		return;
	report_item_unlist(i);
	i->due_ns = due_ns;
	i->step = STEP_CONDITION;
	i->tries = 0;
	report_item_queue(i);
}

static void group_wake_soon(struct group *g)
{
	group_wake(g, env_now(report_of(g)->config.env) + report_of(g)->config.delay_ns);
}

static bool has_timeout(const struct gang_view *gang)
{
	return gang->texts && gang->texts->timeout && gang->timeout_ns > 0;
}

void report_gang(struct report *r, const struct cmd_gang *cmd)
{
	struct gang_view gang;
	struct group *g;

	if (!model_gang(r->config.model, cmd->gang, cmd->generation, &gang) ||
	    (!gang.writes && !has_timeout(&gang) && !group_find(r, cmd->gang, cmd->generation)))
		return;
	g = group_of(r, cmd->gang, cmd->generation);
	g->state = cmd->state;
	g->members = cmd->members;
	g->bound = cmd->bound;
	g->quorum = cmd->quorum;
	if (g->state == GANG_BINDING || g->state == GANG_PLACED) {
		report_note_drop(&g->why);
		g->waits_ns = 0;
		g->timed_out = false;
		g->held_back_ns = 0;
		g->held_back = false;
	}
	g->began |= g->state == GANG_BINDING;
	group_wake_soon(g);
}

uint64_t report_group_timeout(const struct report *r, const struct cmd_reason *cmd,
                              const struct gang_view *gang)
{
	const struct group *g = group_find(r, cmd->gang, cmd->gang_generation);

	return g && g->timed_out && has_timeout(gang) ? gang->timeout_ns : 0;
}

static bool lacks_members(const struct reason *reason, const struct gang_view *gang)
{
	return reason->why == WAIT_MEMBERS && reason->members > 0 &&
	       (!gang->texts || gang->texts->held_back);
}

bool report_group_held_back(const struct report *r, const struct cmd_reason *cmd,
                            const struct gang_view *gang)
{
	const struct group *g = group_find(r, cmd->gang, cmd->gang_generation);

	return g && g->held_back && lacks_members(&cmd->reason, gang) &&
	       g->held_back_members == cmd->reason.members;
}

static void held_back_set(struct group *g, const struct reason *reason,
                          const struct gang_view *gang)
{
	if (!lacks_members(reason, gang)) {
		g->held_back_ns = 0;
		g->held_back = false;
	} else if (g->held_back_ns == 0 || g->held_back_members != reason->members) {
		g->held_back_ns = env_now(report_of(g)->config.env);
		g->held_back_members = reason->members;
		g->held_back = false;
	}
}

struct start_told *report_group_start(struct report *r, gang_id gang, uint32_t generation)
{
	return &group_of(r, gang, generation)->start;
}

/* When its reason is to name what may hold members back, or NEVER_NS. */
static uint64_t held_back_due(const struct group *g)
{
	return g->held_back_ns > 0 && !g->held_back && g->reason ? g->held_back_ns + HELD_BACK_NS
	                                                         : NEVER_NS;
}

static void held_back_look(struct group *g, const struct gang_view *gang)
{
	struct cmd_reason cmd = { .gang = g->gang, .gang_generation = g->generation, .pod = ID_NONE };

	if (env_now(report_of(g)->config.env) < held_back_due(g))
		return;
	if (gang->pods.n == 0) {
		g->held_back_ns = 0;
		return;
	}
	g->held_back = true;
	cmd.reason = *g->reason;
	report_gang_reason(report_of(g), &cmd, 0);
}

void report_group_waits(struct report *r, const struct cmd_reason *cmd,
                        const struct gang_view *gang, struct note *note)
{
	struct group *g;

	if (!gang->writes && !has_timeout(gang) && !lacks_members(&cmd->reason, gang) &&
	    !group_find(r, cmd->gang, cmd->gang_generation))
		return;
	g = group_of(r, cmd->gang, cmd->gang_generation);
	held_back_set(g, &cmd->reason, gang);
	report_note_drop(&g->why);
	g->why = report_note_use(note);
	g->why_kind = cmd->reason.why;
	g->why_reason = reason_condition(&cmd->reason, note->text);
	g->began = true;
	if (has_timeout(gang) || g->held_back_ns > 0) {
		if (!g->reason)
			g->reason = must_alloc(sizeof(*g->reason));
		*g->reason = cmd->reason;
	}
	if (g->waits_ns == 0)
		g->waits_ns = env_now(r->config.env);
	group_wake_soon(g);
}

/* When the timeout expires, or NEVER_NS. */
static uint64_t timeout_due(const struct group *g, const struct gang_view *gang)
{
	if (g->waits_ns == 0 || !g->reason || g->timed_out || !has_timeout(gang) ||
	    gang->timeout_ns > NEVER_NS - g->waits_ns)
		return NEVER_NS;
	return g->waits_ns + gang->timeout_ns;
}

static void timeout_look(struct group *g, const struct gang_view *gang)
{
	struct cmd_reason cmd = { .gang = g->gang, .gang_generation = g->generation, .pod = ID_NONE };

	if (env_now(report_of(g)->config.env) < timeout_due(g, gang))
		return;
	g->timed_out = true;
	cmd.reason = *g->reason;
	report_gang_reason(report_of(g), &cmd, gang->timeout_ns);
}

void report_groups_changed(struct report *r)
{
	const struct env *env = r->config.env;
	char now[EVENT_TIME_BYTES];
	struct gang_view view;
	uint32_t generation;
	gang_id gang;

	event_time(now, sizeof(now), env->wall_ns(env->context), false);
	while (model_next_status_dirty(r->config.model, &gang, &generation))
		if (group_find(r, gang, generation) ||
		    (model_gang(r->config.model, gang, generation, &view) &&
		     report_status_showing(r, NULL, &view, now) != SHOWS))
			group_wake_soon(group_of(r, gang, generation));
}

static void event_begin(struct group *g, const struct gang_view *gang, struct event_text *e,
                        char *version, size_t bytes)
{
	snprintf(version, bytes, "%s/%s", gang->resource->group, gang->resource->version);
	e->namespace = gang->namespace;
	e->api_version = version;
	e->kind = gang->resource->kind;
	e->object = gang->name;
	e->uid = gang->uid;
	e->controller = *gang->scheduler_name ? gang->scheduler_name : "muster";
}

static struct note *placed_note(const struct group *g, const struct gang_view *gang)
{
	char text[800];

	snprintf(text, sizeof(text), "gang %s/%s: %u of %u members are bound, its quorum is %u.",
	         gang->namespace, gang->name, g->bound, g->members, g->quorum);
	return report_note_new(text);
}

/* The state to report in an Event; GANG_NONE: none. */
static enum gang_state event_state(const struct group *g)
{
	if (!g->began || g->state == GANG_BINDING)
		return GANG_NONE;
	if (g->state == GANG_PLACED)
		return GANG_PLACED;
	if (!g->why)
		return GANG_NONE;
	return g->state == GANG_NONE ? GANG_WAITING : g->state;
}

static bool texts_equal(const struct note *a, const struct note *b)
{
	return a == b || (a && b && strcmp(a->text, b->text) == 0);
}

static bool event_owed(const struct group *g, const struct gang_view *gang)
{
	enum gang_state state = event_state(g);

	return gang->resource && state != GANG_NONE &&
	       (state != g->reported ||
	        (state != GANG_PLACED && !texts_equal(g->why, g->reported_why)));
}

/* The Event that was to be sent was written, or is not sent again. */
static void event_done(struct group *g)
{
	struct note *told = g->reporting == GANG_PLACED ? NULL : g->item.note ? g->item.note : g->why;

	report_note_drop(&g->reported_why);
	g->reported_why = told ? report_note_use(told) : NULL;
	g->reported = g->reporting;
	g->reporting = GANG_NONE;
	g->event_ns = env_now(report_of(g)->config.env);
}

/* One Event for each change of state, and of the reason; those about waiting are rate-limited. */
static bool event_send(struct group *g, const struct gang_view *gang)
{
	struct event_text e = { .type = "Warning", .reason = "GangWaiting", .action = "Scheduling" };
	enum gang_state state = event_state(g);
	struct item *i = &g->item;
	char version[300];

	g->event_due_ns = 0;
	if (!event_owed(g, gang)) {
		g->reporting = GANG_NONE;
		return false;
	}
	if (state != GANG_PLACED && g->event_ns > 0 &&
	    env_now(i->report->config.env) - g->event_ns < EVENT_GAP_NS) {
		g->event_due_ns = g->event_ns + EVENT_GAP_NS;
		return false;
	}
	/* A retry has the name of the first attempt, unless the text is another one by now. */
	if (g->reporting != state || (state != GANG_PLACED && i->note && !texts_equal(i->note, g->why)))
		report_item_happened(i);
	report_note_drop(&i->note);
	i->note = state == GANG_PLACED ? placed_note(g, gang) : report_note_use(g->why);
	if (state == GANG_PLACED) {
		e.type = "Normal";
		e.reason = "GangPlaced";
		e.action = "Binding";
	}
	g->reporting = state;
	event_begin(g, gang, &e, version, sizeof(version));
	e.note = i->note->text;
	report_event_send(i, &e);
	return true;
}

bool report_group_send(struct item *i)
{
	struct group *g = group_of_item(i);
	struct gang_view gang;

	if (!model_gang(i->report->config.model, g->gang, g->generation, &gang))
		return false;
	if (i->step == STEP_CONDITION) {
		timeout_look(g, &gang);
		held_back_look(g, &gang);
		if (i->queued) /* it has a new reason with its own due time */
			report_item_unlist(i);
		if (report_status_send(g, &gang))
			return true;
		i->step = STEP_EVENT;
	}
	return event_send(g, &gang);
}

void report_group_written(struct item *i)
{
	struct report *r = i->report;
	struct group *g = group_of_item(i);

	if (i->step == STEP_CONDITION) {
		r->counts.statuses++;
		g->sent_ns = env_now(r->config.env);
		i->step = STEP_EVENT;
		i->due_ns = env_now(r->config.env);
		report_item_queue(i);
		return;
	}
	r->counts.events++;
	event_done(g);
	report_group_finish(i);
}

void report_group_finish(struct item *i)
{
	struct group *g = group_of_item(i);
	struct report *r = i->report;
	struct gang_view gang;
	uint64_t due;

	if (g->gang >= r->by_gang_n || r->by_gang[g->gang] != g ||
	    !model_gang(r->config.model, g->gang, g->generation, &gang)) {
		report_group_free(g);
		return;
	}
	/* An Event that was tried, and is not written, keeps its text: event_send() compares it. */
	if (g->reporting == GANG_NONE)
		report_note_drop(&i->note);
	if (g->again) {
		g->again = false;
		due = env_now(r->config.env) + r->config.delay_ns;
		if (g->sent && g->sent_ns + ECHO_NS > due &&
		    strcmp(g->sent_version, gang.resource_version) == 0)
			due = g->sent_ns + ECHO_NS;
		group_wake(g, due);
	}
	due = timeout_due(g, &gang);
	if (held_back_due(g) < due)
		due = held_back_due(g);
	if (g->event_due_ns > 0 && g->event_due_ns < due)
		due = g->event_due_ns;
	if (due != NEVER_NS)
		group_wake(g, due);
}

struct right *report_group_right(const struct item *i)
{
	return &i->report->statuses[group_of_item(i)->dialect];
}

/* A status that is rejected is not written again for the same version of the object. */
void report_group_give_up(struct group *g)
{
	if (g->item.step == STEP_CONDITION)
		g->sent_ns = env_now(report_of(g)->config.env);
	else
		event_done(g);
}

static bool event_is_late(const struct group *g, uint64_t now)
{
	return g->reporting != GANG_NONE && now - g->item.since_ns > EVENT_LATE_NS;
}

/* A gang with an entry that is neither queued nor in flight.  The entry is freed unless the gang
 * waits or binds, or it has something to be written or not to be written again. */
static void entry_sweep(struct group *g, const struct gang_view *gang, enum showing showing)
{
	struct report *r = report_of(g);
	bool owed = event_owed(g, gang), writes;

	if (owed && event_is_late(g, env_now(r->config.env))) {
		event_done(g);
		owed = false;
		report_dropped(r, "the event of a gang could not be written for an hour");
	}
	writes =
		(showing == SHOWS_OTHER && report_may_ask(&r->statuses[gang->dialect_index], g->gang)) ||
		(owed && report_may_ask(&r->events, g->gang));
	if (writes)
		group_wake_soon(g);
	else if (showing == SHOWS && !owed && !g->why && g->state != GANG_BINDING)
		report_group_free(g);
}

void report_group_sweep(struct report *r, gang_id gang, const char *now)
{
	struct group *g = gang < r->by_gang_n ? r->by_gang[gang] : NULL;
	uint32_t generation = model_gang_generation(r->config.model, gang);
	enum showing showing;
	struct gang_view view;

	if (g && (g->item.queued || g->item.flying))
		return;
	if (g && g->generation != generation)
		report_group_free(g);
	g = group_find(r, gang, generation);
	if (!r->lists_in || !model_gang(r->config.model, gang, generation, &view))
		return;
	showing = report_status_showing(r, g, &view, now);
	if (g || showing == SHOWS_OTHER)
		entry_sweep(g ? g : group_of(r, gang, generation), &view, showing);
}
