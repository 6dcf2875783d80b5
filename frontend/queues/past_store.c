/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/queues/past_store.h"

#include "frontend/api/apistatus.h"
#include "frontend/api/configmap.h"
#include "frontend/base/backoff.h"
#include "frontend/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS (10 * NS_PER_S) /* for the first read */
#define TRIES 3u                    /* of a write, until it counts as idle */
#define REQUEST_TIMEOUT_MS 4000u
#define FRESH_NS (60 * NS_PER_S)

enum request { REQUEST_GET, REQUEST_CREATE, REQUEST_UPDATE };

struct past_store {
	struct past_store_config config;
	struct http_call *call;
	enum request request;
	struct configmap object;
	uint64_t claimed_ns; /* 0: it wasn't */
	bool read;           /* past_store_is_read() */
	struct queues_past *past;
	struct jsonout data; /* to be written; 0 bytes: nothing */
	bool changed;        /* by past_store_put(), since the request in flight began */
	unsigned tries;
	uint64_t retry_ns; /* not before */
	uint64_t fresh_until_ns;
	struct backoff backoff;
	char fault[600];
	struct log_limit limit;
	struct jsonout path, body;
};

struct past_store *past_store_new(const struct past_store_config *config)
{
	struct past_store *s = must_alloc(sizeof(*s));

	s->config = *config;
	s->object = (struct configmap){ .namespace = config->namespace, .name = config->name };
	s->backoff = (struct backoff){ .first_ns = 100 * NS_PER_MS,
		                           .cap_ns = 30 * NS_PER_S,
		                           .reset_ns = 60 * NS_PER_S };
	return s;
}

void past_store_free(struct past_store *s)
{
	if (!s)
		return;
	if (s->call)
		s->config.env->transport->ops->cancel(s->config.env->transport, s->call);
	past_free(s->past);
	configmap_forget(&s->object, false);
	jsonout_free(&s->data);
	jsonout_free(&s->path);
	jsonout_free(&s->body);
	free(s);
}

void past_store_claim(struct past_store *s)
{
	if (s->claimed_ns == 0)
		s->claimed_ns = env_now(s->config.env);
}

bool past_store_is_read(const struct past_store *s)
{
	return s->read;
}

struct queues_past *past_store_take(struct past_store *s)
{
	struct queues_past *past = s->past;

	s->past = NULL;
	return past;
}

void past_store_put(struct past_store *s, const struct queues_past *past)
{
	size_t left_out;

	jsonout_clear(&s->data);
	left_out = past_write(past, &s->data);
	s->changed = true;
	s->tries = 0;
	if (left_out > 0 && log_allowed(&s->limit, s->config.env, "history of queues"))
		env_log(s->config.env, "warn",
		        "the ConfigMap %s/%s has no room for the history of %zu of %zu queues",
		        s->config.namespace, s->config.name, left_out, past->n);
}

bool past_store_is_idle(const struct past_store *s)
{
	return (s->data.bytes == 0 || s->tries >= TRIES) && !s->call;
}

static uint64_t wall_s(const struct past_store *s)
{
	return s->config.env->wall_ns(s->config.env->context) / NS_PER_S;
}

/* At the start: what an earlier instance left. */
static void past_judge(struct past_store *s, struct text data)
{
	const uint64_t now = wall_s(s);
	const struct env *env = s->config.env;
	char why[700];
	struct queues_past *p = past_read(data.at, data.bytes, now, why, sizeof(why));
	uint64_t age;

	s->read = true;
	if (!p) {
		env_log(env, "error",
		        "the ConfigMap %s/%s is not a history of queues: %s; nothing of it is used, and it "
		        "is written again",
		        s->config.namespace, s->config.name, why);
		return;
	}
	age = now > p->at_s ? now - p->at_s : 0;
	if (age > 2 * (uint64_t)s->config.half_life_s) {
		env_log(env, "info",
		        "the history of queues in the ConfigMap %s/%s is not used: it is %llu s old, more "
		        "than two half-lives of %u s",
		        s->config.namespace, s->config.name, (unsigned long long)age,
		        s->config.half_life_s);
		past_free(p);
		return;
	}
	env_log(env, "info", "the history of %zu queues was read in the ConfigMap %s/%s, %llu s old",
	        p->n, s->config.namespace, s->config.name, (unsigned long long)age);
	s->past = p;
}

/* Without it histories begin with 0. */
static void read_end(struct past_store *s)
{
	env_log(s->config.env, "warn",
	        "the ConfigMap %s/%s can't be read: %s; the history of queues begins with 0",
	        s->config.namespace, s->config.name, s->fault);
	s->read = true;
}

static void failed(struct past_store *s, const struct http_answer *answer, const char *body,
                   size_t bytes)
{
	const bool answered = answer->end == HTTP_ANSWERED;
	/* Another try has the same answer. */
	const bool refused = answered && answer->status >= 400 && answer->status < 500 &&
	                     answer->status != 401 && answer->status != 408 && answer->status != 429;
	struct apistatus status;

	configmap_forget(&s->object, false);
	if (!answered)
		s->fresh_until_ns = env_now(s->config.env) + FRESH_NS;
	else if (answer->status == 401)
		env_renew_credentials(s->config.env);
	s->retry_ns = env_now(s->config.env) + backoff_answer(&s->backoff, s->config.env, answer);
	apistatus_read(body ? body : "", bytes, &status);
	snprintf(s->fault, sizeof(s->fault), "%d %.500s", answer->status,
	         answered ? status.message : answer->error);
	if (!s->read) {
		if (refused)
			read_end(s);
		return;
	}
	s->tries = refused ? TRIES : s->tries + 1;
	if (refused)
		jsonout_clear(&s->data); /* until the next one is due */
	if (log_allowed(&s->limit, s->config.env, "history of queues"))
		env_log(s->config.env, "warn",
		        "the ConfigMap %s/%s can't be written: %s; a restart loses the history of queues "
		        "since its last write",
		        s->config.namespace, s->config.name, s->fault);
}

/* Another writer was faster, or an earlier write of ours whose answer was lost. */
static void conflict(struct past_store *s)
{
	configmap_forget(&s->object, false);
	s->tries++;
	s->retry_ns = env_now(s->config.env) + backoff_failed(&s->backoff, s->config.env);
}

static void accepted(struct past_store *s, const char *body, size_t bytes)
{
	struct text data;

	if (!configmap_take(&s->object, body, bytes, &data))
		configmap_forget(&s->object, false);
	backoff_reset(&s->backoff);
	if (!s->changed)
		jsonout_clear(&s->data);
}

static void on_done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct past_store *s = context;
	const enum request request = s->request;
	const bool ok =
		answer->end == HTTP_ANSWERED && (answer->status == 200 || answer->status == 201);
	struct text data;

	s->call = NULL;
	if (ok && request != REQUEST_GET) {
		accepted(s, body, bytes);
	} else if (ok && configmap_take(&s->object, body, bytes, &data)) {
		if (!s->read)
			past_judge(s, data);
	} else if (request != REQUEST_CREATE && apistatus_says(answer, 404, body, bytes)) {
		configmap_forget(&s->object, true);
		s->read = true;
	} else if (request != REQUEST_GET && apistatus_says(answer, 409, body, bytes)) {
		conflict(s);
	} else {
		failed(s, answer, body, bytes);
	}
}

static void body_write(struct past_store *s)
{
	jsonout_clear(&s->body);
	configmap_begin(&s->object, s->request == REQUEST_CREATE, &s->body);
	jsonout_add(&s->body, "@r}", s->data.at);
	s->changed = false;
}

static void request_send(struct past_store *s, enum request request)
{
	static const char *const methods[] = {
		[REQUEST_GET] = "GET",
		[REQUEST_CREATE] = "POST",
		[REQUEST_UPDATE] = "PUT",
	};
	const struct env *env = s->config.env;
	struct http_request r = { .method = methods[request],
		                      .lane = HTTP_CALL,
		                      .timeout_ms = REQUEST_TIMEOUT_MS,
		                      .fresh_connection = env_now(env) < s->fresh_until_ns };
	const struct http_handler handler = { .done = on_done, .context = s };

	s->request = request;
	jsonout_clear(&s->path);
	configmap_path(&s->object, request == REQUEST_CREATE, &s->path);
	r.path = s->path.at;
	if (request != REQUEST_GET) {
		body_write(s);
		r.content_type = "application/json";
		r.body = s->body.at;
		r.body_bytes = s->body.bytes;
	}
	s->call = env->transport->ops->start(env->transport, &r, &handler);
	if (!s->call)
		fatal_memory();
}

uint64_t past_store_poll(struct past_store *s)
{
	const uint64_t now = env_now(s->config.env);

	if (s->claimed_ns == 0 || s->call)
		return NEVER_NS;
	if (!s->read && now >= s->claimed_ns + PATIENCE_NS)
		read_end(s);
	if (s->read && s->data.bytes == 0)
		return NEVER_NS;
	if (now < s->retry_ns)
		return s->read || s->retry_ns < s->claimed_ns + PATIENCE_NS ? s->retry_ns
		                                                            : s->claimed_ns + PATIENCE_NS;
	if (!s->read || (!s->object.metadata && !s->object.absent))
		request_send(s, REQUEST_GET);
	else
		request_send(s, s->object.absent ? REQUEST_CREATE : REQUEST_UPDATE);
	return NEVER_NS;
}
