/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of groups: their state, why and since when they wait, and the timeout on their
 * members. */
#include "frontend/report/report_impl.h"

#include "frontend/dialect/reason.h"

#include <stdlib.h>

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

struct group *report_group_find(const struct report *r, gang_id gang, uint32_t generation)
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

struct group *report_group_of(struct report *r, gang_id gang, uint32_t generation)
{
	struct group *g;

	r->by_gang = must_reach(r->by_gang, &r->by_gang_n, gang, 256, sizeof(struct group *));
	g = report_group_find(r, gang, generation);
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

void report_group_wake(struct group *g, uint64_t due_ns)
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

void report_group_wake_soon(struct group *g)
{
	report_group_wake(g, env_now(report_of(g)->config.env) + report_of(g)->config.delay_ns);
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
	    (!gang.writes && !has_timeout(&gang) && !report_group_find(r, cmd->gang, cmd->generation)))
		return;
	g = report_group_of(r, cmd->gang, cmd->generation);
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
	report_group_wake_soon(g);
}

uint64_t report_group_timeout(const struct report *r, const struct cmd_reason *cmd,
                              const struct gang_view *gang)
{
	const struct group *g = report_group_find(r, cmd->gang, cmd->gang_generation);

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
	const struct group *g = report_group_find(r, cmd->gang, cmd->gang_generation);

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

struct start_published *report_group_start(struct report *r, gang_id gang, uint32_t generation)
{
	return &report_group_of(r, gang, generation)->start;
}

uint64_t report_group_held_back_due(const struct group *g)
{
	return g->held_back_ns > 0 && !g->held_back && g->reason ? g->held_back_ns + HELD_BACK_NS
	                                                         : NEVER_NS;
}

void report_group_waits(struct report *r, const struct cmd_reason *cmd,
                        const struct gang_view *gang, struct note *note)
{
	struct group *g;

	if (!gang->writes && !has_timeout(gang) && !lacks_members(&cmd->reason, gang) &&
	    !report_group_find(r, cmd->gang, cmd->gang_generation))
		return;
	g = report_group_of(r, cmd->gang, cmd->gang_generation);
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
	report_group_wake_soon(g);
}

uint64_t report_group_timeout_due(const struct group *g, const struct gang_view *gang)
{
	if (g->waits_ns == 0 || !g->reason || g->timed_out || !has_timeout(gang) ||
	    gang->timeout_ns > NEVER_NS - g->waits_ns)
		return NEVER_NS;
	return g->waits_ns + gang->timeout_ns;
}
