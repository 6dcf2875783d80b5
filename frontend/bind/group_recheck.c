/* SPDX-License-Identifier: Apache-2.0 */
/* Rereads the group before a gang's first Binding. Pods and groups are watched on two connections,
 * and members may arrive before the quorum that was raised for them. The object that is read goes
 * into the model as if the watch had delivered it, and a plan for another specification is returned
 * to the core (docs/decisions/035). */
#include "frontend/bind/binder_impl.h"

#include "frontend/api/apipath.h"
#include "frontend/api/apistatus.h"
#include "frontend/base/probe.h"

#include <stdlib.h>
#include <string.h>

#define READS_AT_ONCE 4u
#define READ_TIMEOUT_MS 15000
#define PLAN_AGAIN_MS 1 /* by then the core has the current group */

void group_recheck_landed(const struct bind *b)
{
	struct binder *w = b->binder;

	if (!b->group)
		return;
	w->begun_gangs = must_reach(w->begun_gangs, &w->begun_gangs_n, b->group->gang, 256,
	                            sizeof(w->begun_gangs[0]));
	w->begun_gangs[b->group->gang] = b->group->generation;
}

static bool has_begun(const struct binder *w, const struct cmd_bind *cmd)
{
	return cmd->gang < w->begun_gangs_n && w->begun_gangs[cmd->gang] == cmd->gang_generation;
}

/* True if the group has an object, and no member is known to have a node or all that have one may
 * have it from another scheduler, or from the process before. */
static bool is_to_be_read(const struct binder *w, const struct cmd_bind *cmd)
{
	struct gang_object object;
	struct gang_view gang;

	return cmd->gang != ID_NONE &&
	       model_gang(w->config.model, cmd->gang, cmd->gang_generation, &gang) &&
	       (gang.pods.bound == 0 || !has_begun(w, cmd)) &&
	       model_gang_object(w->config.model, cmd->gang, cmd->gang_generation, &object);
}

static struct group_read *read_of(struct binder *w, const struct cmd_bind *cmd)
{
	struct group_read *r;

	w->by_gang = must_reach(w->by_gang, &w->by_gang_n, cmd->gang, 256, sizeof(struct group_read *));
	r = w->by_gang[cmd->gang];
	if (r && r->generation == cmd->gang_generation)
		return r;
	r = must_alloc(sizeof(*r));
	r->binder = w;
	r->gang = cmd->gang;
	r->generation = cmd->gang_generation;
	r->backoff = (struct backoff){ .first_ns = 20 * NS_PER_MS,
		                           .cap_ns = 10 * NS_PER_S,
		                           .reset_ns = 120 * NS_PER_S };
	TAILQ_INIT(&r->held);
	TAILQ_INSERT_TAIL(&w->groups, r, link);
	TAILQ_INSERT_TAIL(&w->groups_due, r, due);
	w->by_gang[cmd->gang] = r;
	return r;
}

bool group_recheck_hold(struct bind *b)
{
	struct group_read *r;

	if (!is_to_be_read(b->binder, &b->cmd))
		return false;
	r = read_of(b->binder, &b->cmd);
	b->group = r;
	r->binds++;
	if (r->answered)
		return false;
	TAILQ_INSERT_TAIL(&r->held, b, link);
	return true;
}

static void read_drop(struct group_read *r)
{
	struct binder *w = r->binder;

	if (--r->binds > 0)
		return;
	if (r->call) {
		w->config.env->transport->ops->cancel(w->config.env->transport, r->call);
		w->groups_flying--;
	} else if (!r->answered) {
		TAILQ_REMOVE(&w->groups_due, r, due);
	}
	TAILQ_REMOVE(&w->groups, r, link);
	if (w->by_gang[r->gang] == r)
		w->by_gang[r->gang] = NULL;
	free(r);
}

void group_recheck_leave(struct bind *b)
{
	struct group_read *r = b->group;

	b->group = NULL;
	read_drop(r);
}

void group_recheck_forget(struct binder *w)
{
	struct group_read *r, *after;
	struct bind *b;

	for (r = TAILQ_FIRST(&w->groups); r; r = after) {
		after = TAILQ_NEXT(r, link);
		r->binds++;
		while ((b = TAILQ_FIRST(&r->held)) != NULL) {
			TAILQ_REMOVE(&r->held, b, link);
			group_recheck_leave(b);
			binder_drop(b);
		}
		read_drop(r);
	}
}

/* True if all that is held was planned for the current group.  Later plans of a gang count on the
 * members of the earlier ones. */
static bool is_current(const struct group_read *r)
{
	const struct model *m = r->binder->config.model;
	struct gang_view gang;
	const struct bind *b;

	if (!model_gang(m, r->gang, r->generation, &gang))
		return false;
	TAILQ_FOREACH (b, &r->held, link)
		if (b->cmd.spec_id != model_gang_spec_id(m, r->gang))
			return false;
	return true;
}

/* The model has the current group: releases the bindings, or returns all of them to the core. */
static void read_judge(struct group_read *r)
{
	struct binder *w = r->binder;
	const bool current = is_current(r);
	struct bind *b;

	r->answered = true;
	r->binds++;
	w->counts.groups_changed += !current && !TAILQ_EMPTY(&r->held);
	while ((b = TAILQ_FIRST(&r->held)) != NULL) {
		TAILQ_REMOVE(&r->held, b, link);
		if (current) {
			binder_queue(b);
			continue;
		}
		w->queued--;
		binding_give_up(b, PLAN_AGAIN_MS);
	}
	read_drop(r);
}

/* The read failed: the state from the watch has to do. */
static void read_pass(struct group_read *r, const struct http_answer *answer)
{
	struct binder *w = r->binder;
	struct bind *b;

	if (log_allowed(&w->limit, w->config.env, "bindings"))
		env_log(w->config.env, "warn",
		        "can't read a group before its gang begins (HTTP %d): the user needs get on "
		        "it; its quorum is taken as it was watched",
		        answer->status);
	r->answered = true;
	while ((b = TAILQ_FIRST(&r->held)) != NULL) {
		TAILQ_REMOVE(&r->held, b, link);
		binder_queue(b);
	}
}

static void read_again(struct group_read *r, uint64_t wait_ns)
{
	r->due_ns = binder_now(r->binder) + wait_ns;
	TAILQ_INSERT_TAIL(&r->binder->groups_due, r, due);
}

static void read_renew(struct group_read *r)
{
	const struct env *env = r->binder->config.env;

	env_renew_credentials(env);
	read_again(r, r->renewed ? backoff_failed(&r->backoff, env) : 0);
	r->renewed = true;
}

static void object_put(struct group_read *r, const char *body, size_t body_bytes)
{
	struct model *m = r->binder->config.model;
	struct gang_object object;
	struct decode_error error = { 0 };

	if (model_gang_object(m, r->gang, r->generation, &object))
		model_put(m, object.index, body, body_bytes, &error);
}

/* As its watch will report it. */
static void object_gone(struct group_read *r)
{
	struct binder *w = r->binder;
	struct gang_object object;
	struct decode_error error = { 0 };

	if (!model_gang_object(w->config.model, r->gang, r->generation, &object))
		return;
	jsonout_clear(&w->body);
	jsonout_add(&w->body,
	            "{\"metadata\":{\"namespace\":@s,\"name\":@s,\"uid\":@s,\"resourceVersion\":@s}}",
	            object.namespace, object.name, object.uid, object.resource_version);
	model_remove(w->config.model, object.index, w->body.at, w->body.bytes, &error);
}

static void read_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct group_read *r = context;
	struct binder *w = r->binder;

	PROBE(group_answered, r->gang, r->generation, answer->status);
	r->call = NULL;
	w->groups_flying--;
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		object_put(r, body, body_bytes);
		read_judge(r);
	} else if (apistatus_says(answer, 404, body, body_bytes)) {
		object_gone(r);
		read_judge(r);
	} else if (answer->end == HTTP_ANSWERED && answer->status == 401) {
		read_renew(r);
	} else if (answer->end == HTTP_ANSWERED && answer->status == 403) {
		read_pass(r, answer);
	} else {
		read_again(r, backoff_answer(&r->backoff, w->config.env, answer));
	}
}

/* r is in no list. */
static void read_start(struct group_read *r)
{
	struct binder *w = r->binder;
	struct http_request request = { .method = "GET",
		                            .lane = HTTP_CALL,
		                            .timeout_ms = READ_TIMEOUT_MS };
	struct http_handler handler = { .done = read_done, .context = r };
	const struct resource *of;
	struct gang_object object;
	size_t n;

	if (!model_gang_object(w->config.model, r->gang, r->generation, &object)) {
		read_judge(r);
		return;
	}
	of = &model_resources(w->config.model, &n)[object.index];
	jsonout_clear(&w->path);
	apipath_one(&w->path, of, object.namespace, object.name);
	request.path = w->path.at;
	w->counts.group_reads++;
	PROBE(group_ask, r->gang, r->generation);
	r->call = w->config.env->transport->ops->start(w->config.env->transport, &request, &handler);
	if (!r->call)
		fatal_memory();
	w->groups_flying++;
}

uint64_t group_recheck_send(struct binder *w)
{
	uint64_t now = binder_now(w), next = NEVER_NS;
	struct group_read *r, *after;

	for (r = TAILQ_FIRST(&w->groups_due); r && w->groups_flying < READS_AT_ONCE; r = after) {
		after = TAILQ_NEXT(r, due);
		if (r->due_ns > now) {
			next = r->due_ns < next ? r->due_ns : next;
			continue;
		}
		TAILQ_REMOVE(&w->groups_due, r, due);
		read_start(r);
	}
	return next;
}
