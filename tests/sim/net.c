/* SPDX-License-Identifier: Apache-2.0 */
/* The network between the frontend and the API server.
 *
 *   start() ──► sent ──► reaches the server ──► effect ──► answer ──► done()
 *                 └ each of these may be lost, late or another one by the call's fate
 *
 * A watch's bytes come in pieces of any length, each after a delay of its own. */
#include "tests/sim/claims.h"
#include "tests/apisim/call.h"
#include "tests/sim/net_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 1500u

/* Of the one group that is read, in any namespace, or NULL. */
static const char *group_read(const struct http_call *c)
{
	static const char of[] = "/podgroups/";
	const char *at = strstr(c->path, of);

	if (strcmp(c->method, "GET") != 0 || at == NULL ||
	    strncmp(c->path, "/apis/scheduling.x-k8s.io/", 26) != 0)
		return NULL;
	at += strlen(of);
	return strpbrk(at, "/?") == NULL ? at : NULL;
}

static enum fate fate_draw(struct net *n, const struct http_call *c)
{
	for (int f = FATE_SOUND + 1; f < FATES; f++)
		if (n->sim->now_ns < n->window[f].until_ns && fate_suits(c, (enum fate)f) &&
		    (!n->window[f].bindings || call_is_binding(c)) &&
		    sim_percent(&n->sim->faults_random, n->window[f].percent)) {
			n->faults++;
			return (enum fate)f;
		}
	return FATE_SOUND;
}

static void call_free(struct http_call *c)
{
	as_watch_free(c->watch);
	as_text_free(&c->said);
	as_text_free(&c->line);
	free(c->method);
	free(c->path);
	free(c->type);
	free(c->body);
	free(c);
}

/* As frontend/api/curl.c sends it on an open connection. */
static bool may_go(struct net *n, const struct http_call *c)
{
	if (strcmp(c->method, "GET") == 0 || c->lease)
		return true;
	if (!n->may_write(n->context))
		return false;
	invariants_writes(n->sim->invariants, n->instance, c->path);
	return true;
}

static struct http_call *net_start(struct transport *t, const struct http_request *r,
                                   const struct http_handler *h)
{
	struct net *n = (struct net *)t;
	struct http_call *c = as_alloc(sizeof(*c));
	uint64_t now = n->sim->now_ns;

	c->serial = ++n->serial;
	c->handler = *h;
	c->method = as_copy(r->method);
	c->path = as_copy(r->path);
	c->type = as_copy(r->content_type != NULL ? r->content_type : "application/json");
	c->body = as_alloc(r->body_bytes + 1);
	if (r->body_bytes > 0)
		memcpy(c->body, r->body, r->body_bytes);
	c->body_bytes = r->body_bytes;
	c->lease = r->before_lease;
	c->fate = now < n->down_until_ns || !may_go(n, c) ? FATE_NOT_SENT : fate_draw(n, c);
	c->arrive_ns = now + 200000 + net_random_ns(n, 3 * SIM_MS);
	c->answer_ns = c->arrive_ns + 200000 + net_random_ns(n, 3 * SIM_MS);
	c->deadline_ns = r->timeout_ms > 0 ? now + r->timeout_ms * SIM_MS : SIM_NEVER;
	c->speaks_ns = SIM_NEVER;
	fate_delay(n, c);
	if (call_is_binding(c) && !fate_refuses(c))
		invariants_sent(n->sim->invariants, c->path);
	if (call_is_binding(c))
		claims_judge_sent(n->sim, instance_model(n->context), c->path, c->body);
	*n->end = c;
	n->end = &c->next;
	if (c->fate != FATE_SOUND || strcmp(c->method, "GET") != 0)
		story_tell(n->sim, "request %llu %s %s%s%s %s", (unsigned long long)c->serial, c->method,
		           c->path, c->fate == FATE_SOUND ? "" : ", fate ",
		           c->fate == FATE_SOUND ? "" : fate_name(c->fate), c->body);
	return c;
}

static void net_cancel(struct transport *t, struct http_call *c)
{
	c->orphan = true;
}

static void net_renew(struct transport *t)
{
}

static const struct transport_ops net_ops = { .start = net_start,
	                                          .cancel = net_cancel,
	                                          .renew_credentials = net_renew };

static void handle(struct net *n, struct http_call *c)
{
	struct sim *s = n->sim;
	struct as_request request = {
		.method = c->method,
		.target = c->path,
		.content_type = c->type,
		.body = c->body,
		.body_bytes = c->body_bytes,
		.now_ns = SIM_EPOCH_NS + s->now_ns,
	};
	struct as_response response;
	bool binding = call_is_binding(c);

	c->arrived = true;
	if (binding)
		invariants_post_begin(s->invariants, c->path, c->body);
	as_api_handle(s->api, &request, &response);
	if (binding)
		invariants_post_end(s->invariants);
	if (response.status < 300 && call_is_eviction(c))
		invariants_evicted(s->invariants, c->path);
	if (group_read(c) != NULL &&
	    (c->fate == FATE_SOUND || c->fate == FATE_SLOW || c->fate == FATE_QUEUE))
		invariants_group_read(s->invariants, group_read(c));
	as_text_free(&c->said);
	c->said = response.body;
	c->watch = response.watch;
	c->answer = (struct http_answer){
		.end = HTTP_ANSWERED, .status = response.status, .retry_after_ms = -1, .error = ""
	};
	if (response.retry_after_s > 0)
		c->answer.retry_after_ms = (int64_t)response.retry_after_s * 1000;
	if (strcmp(c->method, "GET") != 0)
		story_tell(s, "server  %llu answers %d", (unsigned long long)c->serial, response.status);
}

static void call_end(struct http_call *c)
{
	c->state = CALL_OVER;
	as_watch_free(c->watch);
	c->watch = NULL;
}

static void client_done(struct http_call *c)
{
	bool tell = !c->orphan;
	const char *body = c->handler.data == NULL && c->said.bytes > 0 ? c->said.at : NULL;

	call_end(c);
	if (!tell)
		return;
	c->orphan = true;
	if (c->handler.data != NULL && c->answer.end == HTTP_ANSWERED && c->answer.status != 200 &&
	    c->said.bytes > 0)
		c->handler.data(c->handler.context, c->answer.status, c->said.at, c->said.bytes);
	c->handler.done(c->handler.context, &c->answer, body, body != NULL ? c->said.bytes : 0);
}

static void client_broken(struct http_call *c, const char *why)
{
	c->answer = (struct http_answer){
		.end = HTTP_BROKEN, .status = c->watch != NULL ? 200 : 0, .retry_after_ms = -1, .error = why
	};
	c->said.bytes = 0;
	client_done(c);
}

static bool is_slow(const struct net *n)
{
	return n->sim->now_ns < n->slow_until_ns;
}

/* The server has something to send: when it arrives. */
static void stream_listen(struct net *n, struct http_call *c)
{
	const uint64_t version = as_store_version(n->sim->api->store);

	if (c->silent || c->speaks_ns != SIM_NEVER)
		return;
	/* Steps are many, changes are few. */
	if (c->quiet_version == version && SIM_EPOCH_NS + n->sim->now_ns < c->quiet_ns)
		return;
	c->quiet_version = version;
	c->quiet_ns = as_watch_due_ns(c->watch);
	if (as_watch_ready(c->watch, SIM_EPOCH_NS + n->sim->now_ns))
		c->speaks_ns =
			n->sim->now_ns + 100000 + net_random_ns(n, is_slow(n) ? 4 * SIM_S : 2 * SIM_MS);
}

static void line_keep(struct http_call *c, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c->line.bytes > 0 && c->line.at[c->line.bytes - 1] == '\n')
			c->line.bytes = 0;
		as_text_add(&c->line, bytes + i, 1);
	}
}

/* A piece of the stream; false when the client or the server ended it. */
static bool stream_speak(struct net *n, struct http_call *c)
{
	char piece[PIECE_BYTES];
	size_t room = 1 + net_random_ns(n, PIECE_BYTES), got;
	enum as_watch_state state;
	bool twice = c->fate == FATE_TWICE && net_random_ns(n, 4) == 0;

	got = as_watch_read(c->watch, SIM_EPOCH_NS + n->sim->now_ns, piece, room, &state);
	c->speaks_ns = SIM_NEVER;
	c->quiet_version = 0;
	if (c->fate == FATE_TWICE)
		line_keep(c, piece, got);
	if (got > 0 && !c->orphan && !c->handler.data(c->handler.context, 200, piece, got)) {
		client_broken(c, "broken off");
		return false;
	}
	if (twice && state != AS_WATCH_MORE && c->line.bytes > 0 &&
	    c->line.at[c->line.bytes - 1] == '\n' && !c->orphan &&
	    !c->handler.data(c->handler.context, 200, c->line.at, c->line.bytes)) {
		client_broken(c, "broken off");
		return false;
	}
	if (state == AS_WATCH_MORE) {
		c->speaks_ns = n->sim->now_ns + net_random_ns(n, SIM_MS);
	} else if (state == AS_WATCH_ENDED) {
		c->answer = (struct http_answer){
			.end = HTTP_ANSWERED, .status = 200, .retry_after_ms = -1, .error = ""
		};
		client_done(c);
		return false;
	}
	return true;
}

/* Breaks the connection in the middle of an answer. */
static void stream_cut(struct net *n, struct http_call *c)
{
	char piece[64];
	enum as_watch_state state;
	size_t got = 0;

	if (c->speaks_ns != SIM_NEVER)
		got = as_watch_read(c->watch, SIM_EPOCH_NS + n->sim->now_ns, piece,
		                    1 + net_random_ns(n, sizeof(piece)), &state);
	if (got > 0 && !c->orphan && !c->handler.data(c->handler.context, 200, piece, got))
		got = 0;
	client_broken(c, "connection reset");
}

static bool is_frozen(const struct net *n)
{
	return n->sim->now_ns < n->frozen_until_ns;
}

/* After a suspension the client may find that the time is over before it reads the answer. */
static bool is_timed_out(struct net *n, const struct http_call *c)
{
	if (n->sim->now_ns < c->deadline_ns)
		return false;
	return n->sim->now_ns < c->answer_ns || net_random_ns(n, 2) == 0;
}

static bool call_run(struct net *n, struct http_call *c)
{
	uint64_t now = n->sim->now_ns;

	if (!c->arrived && fate_has_effect(c) && now >= c->arrive_ns)
		handle(n, c);
	if (is_frozen(n))
		return false;
	if (c->state == CALL_STREAMS && c->cut) {
		stream_cut(n, c);
		return true;
	}
	if (c->state == CALL_STREAMS) {
		stream_listen(n, c);
		if (now >= c->speaks_ns) {
			bool heard = !c->orphan;

			stream_speak(n, c);
			return heard;
		}
		if (now >= c->deadline_ns) {
			client_broken(c, "timeout");
			return true;
		}
		return false;
	}
	if (c->state == CALL_SENT && is_timed_out(n, c)) {
		c->state = CALL_ANSWERED;
		c->said.bytes = 0;
		c->answer =
			(struct http_answer){ .end = HTTP_BROKEN, .retry_after_ms = -1, .error = "timeout" };
	} else if (c->state == CALL_SENT && now >= c->answer_ns) {
		fate_answer(n, c);
		if (c->watch != NULL && c->answer.end == HTTP_ANSWERED && c->answer.status == 200) {
			c->state = CALL_STREAMS;
			c->silent = c->fate == FATE_HALF_OPEN;
			return false;
		}
		c->state = CALL_ANSWERED;
		c->said.bytes = c->answer.end == HTTP_ANSWERED ? c->said.bytes : 0;
	} else {
		return false;
	}
	if (c->orphan) {
		call_end(c);
		return false;
	}
	client_done(c);
	return true;
}

/* An orphan is kept until it has taken effect. */
static bool is_over(const struct http_call *c)
{
	bool effect_over = c->arrived || !fate_has_effect(c);

	return effect_over && (c->state == CALL_OVER || c->orphan);
}

static void sweep(struct net *n)
{
	struct http_call **link = &n->calls, *c;

	while ((c = *link) != NULL) {
		if (!is_over(c)) {
			link = &c->next;
			continue;
		}
		*link = c->next;
		call_free(c);
	}
	n->end = link;
}

bool net_run(struct net *n)
{
	bool heard = false;

	for (struct http_call *c = n->calls; c != NULL; c = c->next) {
		if (c->state == CALL_OVER || c->orphan) {
			if (!c->arrived && fate_has_effect(c) && n->sim->now_ns >= c->arrive_ns)
				handle(n, c);
			continue;
		}
		heard = call_run(n, c) || heard;
	}
	sweep(n);
	return heard;
}

uint64_t net_due_ns(struct net *n)
{
	uint64_t due = SIM_NEVER, own;

	for (struct http_call *c = n->calls; c != NULL; c = c->next) {
		if (!c->arrived && fate_has_effect(c) && c->arrive_ns < due)
			due = c->arrive_ns;
		if (c->state == CALL_OVER || c->orphan)
			continue;
		if (c->state == CALL_STREAMS) {
			stream_listen(n, c);
			own = c->speaks_ns < c->deadline_ns ? c->speaks_ns : c->deadline_ns;
			if (c->speaks_ns == SIM_NEVER && !c->silent && c->quiet_ns - SIM_EPOCH_NS < own)
				own = c->quiet_ns - SIM_EPOCH_NS;
		} else {
			own = c->answer_ns < c->deadline_ns ? c->answer_ns : c->deadline_ns;
		}
		own = own > n->frozen_until_ns ? own : n->frozen_until_ns;
		due = own < due ? own : due;
	}
	return due;
}

void net_window(struct net *n, enum fate fate, uint64_t until_ns, unsigned percent, bool bindings)
{
	n->window[fate].bindings = bindings;
	n->window[fate].until_ns = until_ns;
	n->window[fate].percent = percent;
}

void net_watches_slow(struct net *n, uint64_t until_ns)
{
	n->slow_until_ns = until_ns;
}

/* The connection breaks: what had not come there yet never does; what had took effect. */
static void call_break(struct net *n, struct http_call *c)
{
	c->cut = c->state == CALL_STREAMS;
	if (c->state == CALL_SENT) {
		c->fate = c->arrived ? FATE_LOST_REPLY : FATE_LOST_REQUEST;
		c->answer_ns = n->sim->now_ns;
	}
	if (is_frozen(n))
		return;
	if (c->cut)
		stream_cut(n, c);
	else
		client_broken(c, "the server went away");
}

void net_cut_watches(struct net *n)
{
	for (struct http_call *c = n->calls; c != NULL; c = c->next)
		if (c->state == CALL_STREAMS && !c->orphan)
			call_break(n, c);
	sweep(n);
}

void net_down(struct net *n, uint64_t until_ns)
{
	n->down_until_ns = until_ns;
	for (struct http_call *c = n->calls; c != NULL; c = c->next) {
		if (c->state == CALL_OVER || c->orphan)
			continue;
		call_break(n, c);
	}
	sweep(n);
}

void net_calm(struct net *n)
{
	memset(n->window, 0, sizeof(n->window));
	n->down_until_ns = n->slow_until_ns = 0;
}

void net_freeze(struct net *n, uint64_t until_ns)
{
	n->frozen_until_ns = until_ns;
}

void net_pause(struct net *n, uint64_t ns)
{
	for (struct http_call *c = n->calls; c != NULL; c = c->next)
		if (!c->orphan && c->deadline_ns != SIM_NEVER)
			c->deadline_ns += ns;
}

static bool is_kept(struct net *n, const struct http_call *c, unsigned late_percent)
{
	return c->state == CALL_SENT && !c->arrived && fate_has_effect(c) &&
	       strcmp(c->method, "GET") != 0 && late_percent > 0 &&
	       sim_percent(&n->sim->faults_random, late_percent);
}

void net_orphan(struct net *n, unsigned late_percent)
{
	n->frozen_until_ns = 0;
	for (struct http_call *c = n->calls; c != NULL; c = c->next) {
		if (!c->orphan && is_kept(n, c, late_percent)) {
			c->arrive_ns += net_random_ns(n, 40 * SIM_S);
			story_tell(n->sim, "request %llu is kept in the network",
			           (unsigned long long)c->serial);
		}
		c->orphan = true;
	}
	sweep(n);
}

unsigned net_busy(const struct net *n)
{
	unsigned busy = 0;

	for (const struct http_call *c = n->calls; c != NULL; c = c->next)
		busy += !c->lease && c->state != CALL_OVER && c->state != CALL_STREAMS && !is_over(c) &&
		        !(call_is_watch(c) && c->orphan);
	return busy;
}

uint64_t net_faults(const struct net *n)
{
	return n->faults;
}

struct transport *net_transport(struct net *n)
{
	return &n->transport;
}

void net_context(struct net *n, void *context)
{
	n->context = context;
}

struct net *net_new(struct sim *s, uint32_t instance, bool (*may_write)(void *context))
{
	struct net *n = as_alloc(sizeof(*n));

	n->instance = instance;
	n->may_write = may_write;

	n->transport.ops = &net_ops;
	n->sim = s;
	n->end = &n->calls;
	return n;
}

void net_free(struct net *n)
{
	struct http_call *c;

	while ((c = n->calls) != NULL) {
		n->calls = c->next;
		call_free(c);
	}
	free(n);
}
