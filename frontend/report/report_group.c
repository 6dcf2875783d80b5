/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be said about a group: the status of its object, and an Event when it comes
 * to wait and when it is placed; and to its members, that its timeout has passed.
 *
 * A status is written when it differs from what the watch shows.  What was written is
 * remembered until the watch shows it, so that each change is written once. */
#include "frontend/report/report_impl.h"

#include "frontend/api/apipath.h"
#include "frontend/base/probe.h"
#include "frontend/dialect/reason.h"
#include "frontend/report/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ECHO_NS (5 * NS_PER_S) /* the watch shows what was written by then, or it was not kept */
#define EVENT_GAP_NS (10 * NS_PER_S)

static struct report *report_of(const struct group *g)
{
	return g->item.report;
}

static void forget_sent(struct group *g)
{
	free(g->sent);
	g->sent = NULL;
	free(g->sent_version);
	g->sent_version = NULL;
}

void report_group_free(struct group *g)
{
	struct report *r = report_of(g);

	if (g->gang < r->by_gang_n && r->by_gang[g->gang] == g)
		r->by_gang[g->gang] = NULL;
	forget_sent(g);
	free(g->reason);
	report_note_drop(&g->why);
	report_note_drop(&g->item.note);
	report_note_drop(&g->item.event_note);
	free(g->item.event_name);
	free(g);
}

static struct group *group_find(const struct report *r, gang_id gang, uint32_t generation)
{
	struct group *g = gang < r->by_gang_n ? r->by_gang[gang] : NULL;

	return g && g->generation == generation ? g : NULL;
}

/* Another gang has the slot now; a flying one ends by itself. */
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
	g->item.pod = ID_NONE;
	g->item.group = g;
	g->gang = gang;
	g->generation = generation;
	r->by_gang[gang] = g;
	return g;
}

/* ---- what happens to it ------------------------------------------------------------- */

/* Look at it at that time, or before. */
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
	    (!gang.writes && !has_timeout(&gang)))
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

void report_group_waits(struct report *r, const struct cmd_reason *cmd,
                        const struct gang_view *gang, struct note *note)
{
	struct group *g;

	if (!gang->writes && !has_timeout(gang))
		return;
	g = group_of(r, cmd->gang, cmd->gang_generation);
	report_note_drop(&g->why);
	g->why = report_note_use(note);
	g->why_kind = cmd->reason.why;
	g->why_reason = reason_condition(&cmd->reason, note->text);
	g->began = true;
	if (has_timeout(gang)) {
		if (!g->reason)
			g->reason = must_alloc(sizeof(*g->reason));
		*g->reason = cmd->reason;
	}
	if (g->waits_ns == 0)
		g->waits_ns = env_now(r->config.env);
	group_wake_soon(g);
}

/* ---- its timeout ---------------------------------------------------------------------- */

/* When the timeout is to be told, or NEVER_NS. */
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

/* ---- its status ----------------------------------------------------------------------------- */

/* What it is to be; texts live as long as *now and the gang's view.  Without `g` nothing is known
 * that it waits for. */
static void status_want(const struct group *g, const struct gang_view *gang, const char *now,
                        struct group_status *want)
{
	struct group_facts facts = {
		.gang = gang, .why = WHY_NONE, .message = "", .reason = "", .now = now
	};

	if (g && g->why) {
		facts.why = g->why_kind;
		facts.message = g->why->text;
		facts.reason = g->why_reason;
	}
	*want = *gang->status;
	gang->writes->want(&facts, want);
}

/* Was something written that the watch does not show yet?  Then it is looked at again
 * when it does, or when it should have. */
static bool status_echo(struct group *g, const struct gang_view *gang,
                        const struct group_status *want)
{
	uint64_t due = g->sent_ns + ECHO_NS;

	if (!g->sent || g->sent_ns == 0 || strcmp(g->sent_version, gang->resource_version) != 0) {
		forget_sent(g);
		return false;
	}
	if (group_status_equal(g->sent, want))
		return true; /* it comes, or the server does not keep it */
	if (env_now(report_of(g)->config.env) >= due)
		return false;
	g->again = true;
	return true;
}

static void status_write(struct group *g, const struct gang_view *gang,
                         const struct group_status *want, const char *now)
{
	struct report *r = report_of(g);

	forget_sent(g);
	g->sent = group_status_copy(want);
	g->sent_version = must_copy(gang->resource_version);
	g->sent_ns = 0;
	if (!g->sent)
		fatal_memory();
	apipath_one(&r->path, gang->resource, gang->namespace, gang->name);
	jsonout_add(&r->path, "/status");
	if (gang->writes->strategic)
		jsonout_add(&r->body, "{\"metadata\":{\"uid\":@s},\"status\":", gang->uid);
	else
		jsonout_add(&r->body,
		            "{\"metadata\":{\"resourceVersion\":@s},\"status\":", gang->resource_version);
	group_status_write(gang->writes, gang->status, want, now, &r->body);
	jsonout_add(&r->body, "}");
	PROBE(group_status_ask, g->gang, g->generation);
	report_item_fly(&g->item, "PATCH",
	                gang->writes->strategic ? "application/strategic-merge-patch+json"
	                                        : "application/merge-patch+json");
}

static bool status_send(struct group *g, const struct gang_view *gang)
{
	const struct env *env = report_of(g)->config.env;
	char now[EVENT_TIME_BYTES];
	struct group_status want;

	if (!gang->writes || !gang->status)
		return false;
	event_time(now, sizeof(now), env->wall_ns(env->context), false);
	status_want(g, gang, now, &want);
	if (group_status_equal(gang->status, &want)) {
		forget_sent(g);
		return false;
	}
	if (status_echo(g, gang, &want))
		return false;
	status_write(g, gang, &want, now);
	return true;
}

/* Of a gang that nothing is remembered of: is there anything to be written? */
static bool is_right(const struct report *r, gang_id gang, uint32_t generation)
{
	const struct env *env = r->config.env;
	char now[EVENT_TIME_BYTES];
	struct group_status want;
	struct gang_view view;

	if (!model_gang(r->config.model, gang, generation, &view) || !view.writes || !view.status)
		return true;
	event_time(now, sizeof(now), env->wall_ns(env->context), false);
	status_want(NULL, &view, now, &want);
	return group_status_equal(view.status, &want);
}

void report_stirred(struct report *r)
{
	uint32_t generation;
	gang_id gang;

	while (model_next_stirred(r->config.model, &gang, &generation))
		if (group_find(r, gang, generation) || !is_right(r, gang, generation))
			group_wake_soon(group_of(r, gang, generation));
}

/* ---- its Events --------------------------------------------------------------------------------
 */

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

/* What an Event is to say of it now; GANG_NONE: nothing. */
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

/* One for each change of its state.  What it waits for may change soon again, and comes not
 * too often. */
static bool event_send(struct group *g, const struct gang_view *gang)
{
	struct event_text e = { .type = "Warning", .reason = "GangWaiting", .action = "Scheduling" };
	enum gang_state state = event_state(g);
	struct item *i = &g->item;
	char version[300];

	g->event_due_ns = 0;
	if (!gang->resource || state == GANG_NONE || state == g->told)
		return false;
	if (state != GANG_PLACED && i->event_ns > 0 &&
	    env_now(i->report->config.env) - i->event_ns < EVENT_GAP_NS) {
		g->event_due_ns = i->event_ns + EVENT_GAP_NS;
		return false;
	}
	report_note_drop(&i->note);
	i->note = state == GANG_PLACED ? placed_note(g, gang) : report_note_use(g->why);
	if (state == GANG_PLACED) {
		e.type = "Normal";
		e.reason = "GangPlaced";
		e.action = "Binding";
	}
	g->told = state;
	event_begin(g, gang, &e, version, sizeof(version));
	report_event_send(i, &e);
	return true;
}

/* ---- its turn
 * ------------------------------------------------------------------------------------- */

bool report_group_send(struct item *i)
{
	struct group *g = i->group;
	struct gang_view gang;

	if (!model_gang(i->report->config.model, g->gang, g->generation, &gang))
		return false;
	if (i->step == STEP_CONDITION) {
		timeout_look(g, &gang);
		if (i->queued) /* it has a new reason, which is told in its own time */
			report_item_unlist(i);
		if (status_send(g, &gang))
			return true;
		i->step = STEP_EVENT;
	}
	return event_send(g, &gang);
}

void report_group_written(struct item *i)
{
	struct report *r = i->report;
	struct group *g = i->group;

	if (i->step == STEP_CONDITION) {
		r->counts.statuses++;
		g->sent_ns = env_now(r->config.env);
		i->step = STEP_EVENT;
		i->due_ns = env_now(r->config.env);
		report_item_queue(i);
		return;
	}
	r->counts.events++;
	i->event_ns = env_now(r->config.env);
	report_group_rest(i);
}

void report_group_rest(struct item *i)
{
	struct group *g = i->group;
	struct report *r = i->report;
	struct gang_view gang;
	uint64_t due;

	if (g->gang >= r->by_gang_n || r->by_gang[g->gang] != g ||
	    !model_gang(r->config.model, g->gang, g->generation, &gang)) {
		report_group_free(g);
		return;
	}
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
	if (g->event_due_ns > 0 && g->event_due_ns < due)
		due = g->event_due_ns;
	if (due != NEVER_NS)
		group_wake(g, due);
}

/* What does not wait and does not bind has nothing more to tell, and is not remembered.  Should the
 * watch still not show its status, that is written once more. */
void report_groups_sweep(struct report *r)
{
	for (size_t i = 0; i < r->by_gang_n; i++) {
		struct group *g = r->by_gang[i];
		struct gang_view gang;

		if (!g || g->item.queued || g->item.flying)
			continue;
		if ((!g->why && g->state != GANG_BINDING) ||
		    !model_gang(r->config.model, g->gang, g->generation, &gang))
			report_group_free(g);
	}
}
