/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about a group: the status of its object (report_status.c), and an Event when it starts to
 * wait and when it is placed. */
#include "frontend/report/report_impl.h"

#include "frontend/report/event.h"

#include <stdio.h>
#include <string.h>

static struct report *report_of(const struct group *g)
{
	return g->item.report;
}

static void held_back_look(struct group *g, const struct gang_view *gang)
{
	struct cmd_reason cmd = { .gang = g->gang, .gang_generation = g->generation, .pod = ID_NONE };

	if (env_now(report_of(g)->config.env) < report_group_held_back_due(g))
		return;
	if (gang->pods.n == 0) {
		g->held_back_ns = 0;
		return;
	}
	g->held_back = true;
	cmd.reason = *g->reason;
	report_gang_reason(report_of(g), &cmd, 0);
}

static void timeout_look(struct group *g, const struct gang_view *gang)
{
	struct cmd_reason cmd = { .gang = g->gang, .gang_generation = g->generation, .pod = ID_NONE };

	if (env_now(report_of(g)->config.env) < report_group_timeout_due(g, gang))
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
		if (report_group_find(r, gang, generation) ||
		    (model_gang(r->config.model, gang, generation, &view) &&
		     report_status_showing(r, NULL, &view, now) != SHOWS))
			report_group_wake_soon(report_group_of(r, gang, generation));
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
	struct note *why = g->reporting == GANG_PLACED ? NULL : g->item.note ? g->item.note : g->why;

	report_note_drop(&g->reported_why);
	g->reported_why = why ? report_note_use(why) : NULL;
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

static bool group_send(struct item *i)
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

static void group_finish(struct item *i)
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
		report_group_wake(g, due);
	}
	due = report_group_timeout_due(g, &gang);
	if (report_group_held_back_due(g) < due)
		due = report_group_held_back_due(g);
	if (g->event_due_ns > 0 && g->event_due_ns < due)
		due = g->event_due_ns;
	if (due != NEVER_NS)
		report_group_wake(g, due);
}

static void group_written(struct item *i)
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
	group_finish(i);
}

static struct right *group_right(const struct item *i)
{
	return &i->report->statuses[group_of_item(i)->dialect];
}

/* A status that is rejected is not written again for the same version of the object. */
static void group_give_up(struct item *i)
{
	struct group *g = group_of_item(i);

	if (g->item.step == STEP_CONDITION)
		g->sent_ns = env_now(report_of(g)->config.env);
	else
		event_done(g);
}

/* True if a group asks discovery where its status is written (STATUS_OBJECT), or has the answer.
 * Another 404 of the place that discovery named is final for DISCOVERED_NS. */
static bool group_answered(struct item *i, const struct http_answer *answer, const char *body,
                           size_t body_bytes)
{
	if (answer->end != HTTP_ANSWERED)
		return false;
	if (group_of_item(i)->discovers && answer->status == 200) {
		report_status_discovered(group_of_item(i), body, body_bytes);
		i->tries = 0;
		return true;
	}
	return answer->status == 404 && i->step == STEP_CONDITION && !group_of_item(i)->discovers &&
	       report_status_missing(group_of_item(i));
}

static void group_free(struct item *i)
{
	report_group_free(group_of_item(i));
}

const struct item_ops report_group_ops = {
	.what = "status of a group (patch podgroups/status, or podgroups)",
	.send = group_send,
	.written = group_written,
	.give_up = group_give_up,
	.defer = group_finish,
	.finish = group_finish,
	.answered = group_answered,
	.right = group_right,
	.free = group_free,
};

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
		report_group_wake_soon(g);
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
	g = report_group_find(r, gang, generation);
	if (!r->lists_in || !model_gang(r->config.model, gang, generation, &view))
		return;
	showing = report_status_showing(r, g, &view, now);
	if (g || showing == SHOWS_OTHER)
		entry_sweep(g ? g : report_group_of(r, gang, generation), &view, showing);
}
