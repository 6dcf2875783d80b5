/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a group's object.  It is written when it differs from what the watch shows.  What
 * was written is kept until the watch shows it, so that each change is written once. */
#include "frontend/report/report_impl.h"

#include "frontend/api/apipath.h"
#include "frontend/api/discovery.h"
#include "frontend/base/probe.h"
#include "frontend/report/event.h"

#include <stdlib.h>
#include <string.h>

void report_status_forget(struct group *g)
{
	free(g->sent);
	g->sent = NULL;
	free(g->sent_version);
	g->sent_version = NULL;
}

static bool is_served(const struct report *r, const struct gang_view *gang)
{
	const char *queue = *gang->status->queue ? gang->status->queue : "default";

	if (gang->writes->queues)
		for (size_t i = 0; i < r->config.volcano_queues_n; i++)
			if (strcmp(r->config.volcano_queues[i], queue) == 0)
				return true;
	return false;
}

/* The wanted status; texts live as long as *now and the gang's view. Without `g` no wait reason is
 * known. */
static void status_want(const struct report *r, const struct group *g, const struct gang_view *gang,
                        const char *now, struct group_status *want)
{
	struct group_facts facts = { .gang = gang,
		                         .why = WAIT_NONE,
		                         .message = "",
		                         .reason = "",
		                         .now = now,
		                         .enqueue = is_served(r, gang) };

	if (g && g->why) {
		facts.why = g->why_kind;
		facts.message = g->why->text;
		facts.reason = g->why_reason;
	}
	*want = *gang->status;
	gang->writes->want(&facts, want);
}

/* True if a write is not on the watch yet; the group is looked at again when it is, or should be.
 */
static bool status_echo(struct group *g, const struct gang_view *gang,
                        const struct group_status *want)
{
	uint64_t due = g->sent_ns + ECHO_NS;

	if (!g->sent || g->sent_ns == 0 || strcmp(g->sent_version, gang->resource_version) != 0) {
		report_status_forget(g);
		return false;
	}
	if (group_status_equal(g->sent, want))
		return true; /* pending, or the server dropped it */
	if (env_now(g->item.report->config.env) >= due)
		return false;
	g->again = true;
	return true;
}

/* How long an answer of discovery is good: the CRD of a running cluster may be replaced. */
#define DISCOVERED_NS (300 * NS_PER_S)

static struct status_where *where_of(const struct group *g, const struct gang_view *gang)
{
	return &g->item.report->where[gang->dialect_index];
}

static bool is_discovered(const struct group *g, const struct status_where *where)
{
	return where->asked_ns > 0 &&
	       env_now(g->item.report->config.env) - where->asked_ns < DISCOVERED_NS;
}

bool report_status_missing(struct group *g)
{
	struct report *r = g->item.report;
	const struct status_where *where;
	struct gang_view gang;

	/* Gone on the watch, too; or the place is known, and it is gone. */
	if (!model_gang(r->config.model, g->gang, g->generation, &gang) || !gang.resource ||
	    gang.writes->strategic)
		return false;
	where = where_of(g, &gang);
	if (where->place != g->sent_to)
		return true;
	g->discovers = where->place == STATUS_SUBRESOURCE && !is_discovered(g, where);
	if (!g->discovers && log_allowed(&r->limit, r->config.env, "reports"))
		env_log(r->config.env, "info",
		        "can't write the status of group %s/%s: HTTP 404, though the watch still has it",
		        gang.namespace, gang.name);
	return g->discovers;
}

void report_status_discovered(struct group *g, const char *body, size_t body_bytes)
{
	struct report *r = g->item.report;
	struct status_where *where;
	enum status_place place;
	struct gang_view gang;
	bool has;

	g->discovers = false;
	if (!model_gang(r->config.model, g->gang, g->generation, &gang) || !gang.resource)
		return;
	where = where_of(g, &gang);
	where->asked_ns = env_now(r->config.env);
	if (discovery_has(body, body_bytes, gang.resource, "status", &has) < 0)
		return;
	place = has ? STATUS_SUBRESOURCE : STATUS_OBJECT;
	if (where->place == place)
		return;
	where->place = place;
	env_log(r->config.env, "info", "%s of %s have %s: their status is written %s",
	        gang.resource->plural, gang.resource->group,
	        has ? "a status subresource" : "no status subresource",
	        has ? "there" : "with a patch of the object");
}

static void discovery_ask(struct group *g, const struct gang_view *gang)
{
	struct report *r = g->item.report;

	discovery_path(&r->path, gang->resource);
	report_item_request(&g->item, "GET", NULL);
}

static void status_write(struct group *g, const struct gang_view *gang,
                         const struct group_status *want, const char *now)
{
	struct report *r = g->item.report;

	report_status_forget(g);
	g->dialect = gang->dialect_index;
	g->sent = group_status_copy(want);
	g->sent_version = must_copy(gang->resource_version);
	g->sent_ns = 0;
	if (!g->sent)
		fatal_memory();
	apipath_one(&r->path, gang->resource, gang->namespace, gang->name);
	g->sent_to = where_of(g, gang)->place;
	if (g->sent_to == STATUS_SUBRESOURCE)
		jsonout_add(&r->path, "/status");
	if (gang->writes->strategic)
		jsonout_add(&r->body, "{\"metadata\":{\"uid\":@s},\"status\":", gang->uid);
	else
		jsonout_add(&r->body,
		            "{\"metadata\":{\"resourceVersion\":@s},\"status\":", gang->resource_version);
	group_status_write(gang->writes, gang->status, want, now, &r->body);
	jsonout_add(&r->body, "}");
	PROBE(group_status_ask, g->gang, g->generation);
	report_item_request(&g->item, "PATCH",
	                    gang->writes->strategic ? "application/strategic-merge-patch+json"
	                                            : "application/merge-patch+json");
}

bool report_status_send(struct group *g, const struct gang_view *gang)
{
	const struct env *env = g->item.report->config.env;
	char now[EVENT_TIME_BYTES];
	struct group_status want;

	if (!gang->writes || !gang->status)
		return false;
	event_time(now, sizeof(now), env->wall_ns(env->context), false);
	status_want(g->item.report, g, gang, now, &want);
	if (group_status_equal(gang->status, &want)) {
		report_status_forget(g);
		return false;
	}
	if (status_echo(g, gang, &want))
		return false;
	/* The API server ignores a status in a patch of an object with the subresource. */
	if (where_of(g, gang)->place == STATUS_OBJECT && !is_discovered(g, where_of(g, gang)))
		g->discovers = true;
	if (g->discovers)
		discovery_ask(g, gang);
	else
		status_write(g, gang, &want, now);
	return true;
}

enum showing report_status_showing(const struct report *r, const struct group *g,
                                   const struct gang_view *gang, const char *now)
{
	struct group_status want;

	if (!gang->writes || !gang->status)
		return SHOWS;
	status_want(r, g, gang, now, &want);
	if (group_status_equal(gang->status, &want))
		return SHOWS;
	if (g && g->sent && g->sent_ns > 0 && strcmp(g->sent_version, gang->resource_version) == 0 &&
	    group_status_equal(g->sent, &want))
		return NOT_KEPT;
	return SHOWS_OTHER;
}
