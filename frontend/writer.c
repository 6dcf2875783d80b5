#include "frontend/writer.h"

#include "frontend/backoff.h"
#include "frontend/bindanswer.h"
#include "frontend/apistatus.h"
#include "frontend/jsonout.h"
#include "frontend/log.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define POST_TIMEOUT_MS 30000
#define READ_TIMEOUT_MS 15000
#define LANDED_LOOK_NS (200 * NS_PER_MS)
#define RETRY_FORBIDDEN_MS 30000
#define RETRY_INVALID_MS 600000

enum bind_step { STEP_POST, STEP_READ, STEP_FENCE };

struct bind {
	TAILQ_ENTRY(bind) link;
	struct writer *writer;
	struct cmd_bind cmd;
	enum bind_step step;  /* to be done next, or under way */
	struct http_call *call;
	struct backoff backoff;
	uint64_t due_ns;
	uint64_t sent_ns;
	bool begun;      /* model_bind_begin() was called */
	bool maybe;      /* an earlier POST with `version` may still land */
	bool told;       /* RESULT_UNKNOWN was sent */
	bool renewed;    /* the token was read again for this one */
	bool give_up;    /* refuse it once nothing can land */
	uint32_t retry_ms;
	char version[64];
	char *namespace;
	char *name;
	char *uid;
	char *node;
	char *scheduler;
	char error[400]; /* why give_up; "" */
};
TAILQ_HEAD(bind_list, bind);

struct writer {
	struct writer_config config;
	struct bind_list queue;   /* never sent */
	struct bind_list retries; /* due_ns says when */
	struct bind_list flying;
	struct bind_list landed;  /* accepted, not seen on the watch yet */
	size_t queued, retrying, in_flight;
	uint64_t retries_due_ns;
	struct bind **by_pod;
	size_t by_pod_n;
	unsigned window;
	unsigned window_credit;
	uint64_t pause_until_ns;
	struct backoff pause; /* the server is not there or wants less */
	uint64_t landed_look_ns;
	struct jsonout path, body;
	struct writer_counts counts;
	struct log_limit limit;
};

struct writer *writer_new(const struct writer_config *config)
{
	struct writer *w = must_alloc(sizeof(*w));

	w->config = *config;
	w->window = config->connections;
	w->pause = (struct backoff){.first_ns = 100 * NS_PER_MS, .cap_ns = 5 * NS_PER_S, .reset_ns = 30 * NS_PER_S};
	w->retries_due_ns = NEVER_NS;
	TAILQ_INIT(&w->queue);
	TAILQ_INIT(&w->retries);
	TAILQ_INIT(&w->flying);
	TAILQ_INIT(&w->landed);
	return w;
}

static uint64_t now_ns(const struct writer *w)
{
	return env_now(w->config.env);
}

static void bind_forget(struct bind *b)
{
	struct writer *w = b->writer;

	if (b->cmd.pod < w->by_pod_n && w->by_pod[b->cmd.pod] == b)
		w->by_pod[b->cmd.pod] = NULL;
	free(b->namespace);
	free(b->name);
	free(b->uid);
	free(b->node);
	free(b->scheduler);
	free(b);
}

static void list_free(struct bind_list *list)
{
	struct bind *b;

	while ((b = TAILQ_FIRST(list)) != NULL) {
		struct writer *w = b->writer;

		TAILQ_REMOVE(list, b, link);
		if (b->call)
			w->config.env->transport->ops->cancel(w->config.env->transport, b->call);
		bind_forget(b);
	}
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	list_free(&w->queue);
	list_free(&w->retries);
	list_free(&w->flying);
	list_free(&w->landed);
	jsonout_free(&w->path);
	jsonout_free(&w->body);
	free(w->by_pod);
	free(w);
}

/* ---- what the core is told ---------------------------------------------- */

static void tell(struct bind *b, enum record_kind kind)
{
	struct result r = {
		.pod = b->cmd.pod,
		.generation = b->cmd.pod_generation,
		.node = b->cmd.node,
		.attempt = b->cmd.attempt,
		.retry_ms = kind == RESULT_REFUSED ? b->retry_ms : 0,
	};

	b->writer->config.result(b->writer->config.context, kind, &r);
}

static void notice(struct bind *b, const char *error)
{
	struct bind_notice n = {
		.namespace = b->namespace, .name = b->name, .uid = b->uid, .node = b->node,
		.scheduler = b->scheduler, .error = error,
	};

	b->writer->config.notice(b->writer->config.context, &n);
}

/* Nothing of ours can land any more.  b is in no list, and gone afterwards. */
static void bind_refused(struct bind *b)
{
	struct writer *w = b->writer;

	assert(!b->maybe);
	w->counts.refused++;
	if (b->begun)
		model_bind_end(w->config.model, b->cmd.pod, b->cmd.pod_generation);
	tell(b, RESULT_REFUSED);
	if (b->error[0])
		notice(b, b->error);
	bind_forget(b);
}

/* Kept until the watch shows the node: should the core die before that, its
 * successor must not think that the pod is free. */
static void bind_landed(struct bind *b)
{
	struct writer *w = b->writer;

	w->counts.bound++;
	b->maybe = false;
	tell(b, RESULT_BOUND);
	notice(b, NULL);
	TAILQ_INSERT_TAIL(&w->landed, b, link);
	backoff_reset(&w->pause);
	if (++w->window_credit >= w->window && w->window < w->config.connections) {
		w->window++;
		w->window_credit = 0;
	}
}

/* ---- steps ---------------------------------------------------------------- */

static void bind_later(struct bind *b, enum bind_step step, uint64_t wait_ns)
{
	struct writer *w = b->writer;

	b->step = step;
	b->due_ns = now_ns(w) + wait_ns;
	TAILQ_INSERT_TAIL(&w->retries, b, link);
	w->retrying++;
	if (b->due_ns < w->retries_due_ns)
		w->retries_due_ns = b->due_ns;
}

static void bind_fly(struct bind *b, const struct http_request *request, const struct http_handler *handler)
{
	struct writer *w = b->writer;

	b->sent_ns = now_ns(w);
	b->call = w->config.env->transport->ops->start(w->config.env->transport, request, handler);
	if (!b->call)
		fatal_memory();
	TAILQ_INSERT_TAIL(&w->flying, b, link);
	w->in_flight++;
}

static void bind_unfly(struct bind *b)
{
	struct writer *w = b->writer;

	b->call = NULL;
	TAILQ_REMOVE(&w->flying, b, link);
	w->in_flight--;
}

static void writer_pause(struct writer *w, uint64_t wait_ns)
{
	uint64_t until = now_ns(w) + wait_ns;

	if (until > w->pause_until_ns)
		w->pause_until_ns = until;
}

static void window_halve(struct writer *w)
{
	w->window = w->window > 1 ? w->window / 2 : 1;
	w->window_credit = 0;
}

/* Refuse it, now or once what is under way can't land any more. */
static void bind_give_up(struct bind *b, uint32_t retry_ms)
{
	b->give_up = true;
	b->retry_ms = retry_ms;
	if (b->maybe)
		bind_later(b, STEP_READ, backoff_failed(&b->backoff, b->writer->config.env));
	else
		bind_refused(b);
}

static void bind_explain(struct bind *b, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct apistatus s;

	apistatus_read(body, body_bytes, &s);
	snprintf(b->error, sizeof(b->error), "binding to node %s was refused by the API server: HTTP %d: %.200s", b->node,
	         answer->status, s.message);
	if (log_allowed(&b->writer->limit, b->writer->config.env, "bindings"))
		env_log(b->writer->config.env, "error", "pod %s/%s: %s", b->namespace, b->name, b->error);
}

/* It may have landed or may still land: read the pod before anything else. */
static void bind_unknown(struct bind *b, const struct http_answer *answer)
{
	struct writer *w = b->writer;

	b->maybe = true;
	if (!b->told) {
		b->told = true;
		w->counts.ambiguous++;
		tell(b, RESULT_UNKNOWN);
	}
	if (log_allowed(&w->limit, w->config.env, "bindings"))
		env_log(w->config.env, "warn", "pod %s/%s: the answer to its binding to node %s does not say whether it holds "
		        "(HTTP %d %s); reading the pod", b->namespace, b->name, b->node, answer->status, answer->error);
	window_halve(w);
	bind_later(b, STEP_READ, backoff_failed(&b->backoff, w->config.env));
}

static void bind_renew(struct bind *b)
{
	struct writer *w = b->writer;
	struct transport *t = w->config.env->transport;

	if (!b->renewed && t->ops->renew_credentials) {
		b->renewed = true;
		t->ops->renew_credentials(t);
		bind_later(b, b->step, 0);
		return;
	}
	if (log_allowed(&w->limit, w->config.env, "bindings"))
		env_log(w->config.env, "error", "the API server refuses these credentials (401) to bind pods");
	writer_pause(w, backoff_failed(&w->pause, w->config.env));
	bind_later(b, b->step, 0);
}

static void post_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct bind *b = context;
	struct writer *w = b->writer;

	bind_unfly(b);
	w->counts.post_ns_sum += now_ns(w) - b->sent_ns;
	switch (bind_answer_read(answer, body, body_bytes)) {
	case BIND_TAKEN:
		bind_landed(b);
		return;
	case BIND_REFUSED:
		bind_give_up(b, 0);
		return;
	case BIND_READ:
		bind_later(b, STEP_READ, 0);
		return;
	case BIND_UNKNOWN:
		bind_unknown(b, answer);
		return;
	case BIND_NOT_SENT:
		w->counts.retries++;
		writer_pause(w, backoff_failed(&w->pause, w->config.env));
		bind_later(b, STEP_POST, 0);
		return;
	case BIND_SLOWER:
		w->counts.slowed++;
		window_halve(w);
		writer_pause(w, backoff_answer(&w->pause, w->config.env, answer));
		bind_later(b, STEP_POST, 0);
		return;
	case BIND_RENEW:
		bind_renew(b);
		return;
	case BIND_FORBIDDEN:
		bind_explain(b, answer, body, body_bytes);
		bind_give_up(b, RETRY_FORBIDDEN_MS);
		return;
	case BIND_INVALID:
		bind_explain(b, answer, body, body_bytes);
		bind_give_up(b, RETRY_INVALID_MS);
		return;
	}
}

/* Decimal numbers without leading zeros: the longer one, then the greater text,
 * is newer. */
static bool version_newer(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);

	return na != nb ? na > nb : strcmp(a, b) > 0;
}

/* Is there still a reason to send it?  Else it is answered here.  Only while
 * nothing of ours may land. */
static bool post_wanted(struct bind *b)
{
	struct pod_view pod;

	if (!model_pod(b->writer->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) || pod.deleting || pod.gated) {
		bind_refused(b);
		return false;
	}
	if (pod.node[0]) {
		if (strcmp(pod.node, b->node) == 0)
			bind_landed(b);
		else
			bind_refused(b);
		return false;
	}
	if (version_newer(pod.resource_version, b->version) && strlen(pod.resource_version) < sizeof(b->version))
		strcpy(b->version, pod.resource_version);
	return true;
}

/* b is in no list. */
static void post_start(struct bind *b)
{
	struct writer *w = b->writer;
	struct http_request request = {
		.method = "POST", .content_type = "application/json", .lane = HTTP_BIND, .timeout_ms = POST_TIMEOUT_MS,
	};
	struct http_handler handler = {.done = post_done, .context = b};

	if (!b->maybe && !post_wanted(b))
		return;
	if (!model_node(w->config.model, b->cmd.node, b->cmd.node_generation)) {
		bind_give_up(b, 0);
		return;
	}
	if (!b->begun) {
		b->begun = true;
		model_bind_begin(w->config.model, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
	}
	jsonout_clear(&w->path);
	jsonout_add(&w->path, "/api/v1/namespaces/@p/pods/@p/binding", b->namespace, b->name);
	jsonout_clear(&w->body);
	jsonout_add(&w->body, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":@s,\"namespace\":@s,"
	            "\"uid\":@s,\"resourceVersion\":@s},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":@s}}",
	            b->name, b->namespace, b->uid, b->version, b->node);
	request.path = w->path.at;
	request.body = w->body.at;
	request.body_bytes = w->body.bytes;
	w->counts.posts++;
	bind_fly(b, &request, &handler);
}

/* The pod as it is now decides. */
static void read_decide(struct bind *b, const struct bind_pod *pod)
{
	bool moved = strcmp(pod->version, b->version) != 0;

	if (strcmp(pod->uid, b->uid) != 0 || (pod->node[0] && strcmp(pod->node, b->node) != 0)) {
		b->maybe = false;
		bind_refused(b);
		return;
	}
	if (pod->node[0]) {
		bind_landed(b);
		return;
	}
	if (moved) {
		b->maybe = false;
		strcpy(b->version, pod->version);
	}
	if (!b->maybe && (b->give_up || pod->deleting || pod->gated || pod->ended)) {
		bind_refused(b);
		return;
	}
	bind_later(b, b->give_up ? STEP_FENCE : STEP_POST, backoff_failed(&b->backoff, b->writer->config.env));
}

static void read_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct bind *b = context;
	struct bind_pod pod;
	struct apistatus s;

	bind_unfly(b);
	if (answer->end == HTTP_ANSWERED && answer->status == 200 && bind_pod_read(body, body_bytes, &pod) == 0) {
		read_decide(b, &pod);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 404) {
		apistatus_read(body, body_bytes, &s);
		if (s.code == 404) { /* the pod is gone, not a proxy's path */
			b->maybe = false;
			bind_refused(b);
			return;
		}
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 401) {
		bind_renew(b);
		return;
	}
	bind_later(b, STEP_READ, backoff_answer(&b->backoff, b->writer->config.env, answer));
}

static void read_start(struct bind *b)
{
	struct writer *w = b->writer;
	struct http_request request = {.method = "GET", .lane = HTTP_CALL, .timeout_ms = READ_TIMEOUT_MS};
	struct http_handler handler = {.done = read_done, .context = b};

	jsonout_clear(&w->path);
	jsonout_add(&w->path, "/api/v1/namespaces/@p/pods/@p", b->namespace, b->name);
	request.path = w->path.at;
	w->counts.reads++;
	bind_fly(b, &request, &handler);
}

static void fence_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct bind *b = context;
	bool written = answer->end == HTTP_ANSWERED && answer->status == 200;

	(void)body;
	(void)body_bytes;
	bind_unfly(b);
	if (answer->end == HTTP_ANSWERED && answer->status == 401) {
		bind_renew(b);
		return;
	}
	bind_later(b, STEP_READ, written ? 0 : backoff_answer(&b->backoff, b->writer->config.env, answer));
}

/* A write that changes nothing does not move the version: the number makes each
 * one different. */
static void fence_start(struct bind *b)
{
	struct writer *w = b->writer;
	struct http_request request = {
		.method = "PATCH", .content_type = "application/strategic-merge-patch+json", .lane = HTTP_CALL,
		.timeout_ms = READ_TIMEOUT_MS,
	};
	struct http_handler handler = {.done = fence_done, .context = b};

	w->counts.fences++;
	jsonout_clear(&w->path);
	jsonout_add(&w->path, "/api/v1/namespaces/@p/pods/@p/status", b->namespace, b->name);
	jsonout_clear(&w->body);
	jsonout_add(&w->body, "{\"metadata\":{\"uid\":@s},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\","
	            "\"status\":\"False\",\"reason\":\"SchedulerError\",\"message\":\"taking back the binding to node @r "
	            "(@u)\"}]}}", b->uid, b->node, (unsigned long long)w->config.env->random(w->config.env->context));
	request.path = w->path.at;
	request.body = w->body.at;
	request.body_bytes = w->body.bytes;
	bind_fly(b, &request, &handler);
}

static void bind_step(struct bind *b)
{
	switch (b->step) {
	case STEP_POST: post_start(b); break;
	case STEP_READ: read_start(b); break;
	case STEP_FENCE: fence_start(b); break;
	}
}

/* ---- queue ----------------------------------------------------------------- */

static void by_pod_reach(struct writer *w, pod_id pod)
{
	size_t n = w->by_pod_n ? w->by_pod_n : 1024;

	if (pod < w->by_pod_n)
		return;
	while (n <= pod)
		n *= 2;
	w->by_pod = must_grow(w->by_pod, n * sizeof(struct bind *));
	memset(w->by_pod + w->by_pod_n, 0, (n - w->by_pod_n) * sizeof(struct bind *));
	w->by_pod_n = n;
}

/* Answer at once what can't be sent at all. */
static void refuse_unsent(struct writer *w, const struct cmd_bind *cmd)
{
	struct bind *b = must_alloc(sizeof(*b));

	b->writer = w;
	b->cmd = *cmd;
	bind_refused(b);
}

int writer_bind(struct writer *w, const struct cmd_bind *cmd)
{
	const char *node = model_node(w->config.model, cmd->node, cmd->node_generation);
	struct pod_view pod;
	struct bind *b;

	by_pod_reach(w, cmd->pod);
	b = w->by_pod[cmd->pod];
	if (b && b->cmd.pod_generation == cmd->pod_generation)
		return -EPROTO;
	if (!node || !model_pod(w->config.model, cmd->pod, cmd->pod_generation, &pod) ||
	    strlen(pod.resource_version) >= sizeof(b->version)) {
		refuse_unsent(w, cmd);
		return 0;
	}
	b = must_alloc(sizeof(*b));
	b->writer = w;
	b->cmd = *cmd;
	b->step = STEP_POST;
	b->backoff = (struct backoff){.first_ns = 20 * NS_PER_MS, .cap_ns = 10 * NS_PER_S, .reset_ns = 120 * NS_PER_S};
	strcpy(b->version, pod.resource_version);
	b->namespace = must_copy(pod.namespace);
	b->name = must_copy(pod.name);
	b->uid = must_copy(pod.uid);
	b->node = must_copy(node);
	b->scheduler = must_copy(pod.scheduler_name);
	w->by_pod[cmd->pod] = b;
	TAILQ_INSERT_TAIL(&w->queue, b, link);
	w->queued++;
	return 0;
}

static void retries_send(struct writer *w)
{
	uint64_t now = now_ns(w), next = NEVER_NS;
	size_t left = w->retrying;
	struct bind *b, *after;

	if (now < w->retries_due_ns)
		return;
	/* A step may put its binding back at the end, and bind_later() then notes
	 * when it is due: not in this round. */
	w->retries_due_ns = NEVER_NS;
	for (b = TAILQ_FIRST(&w->retries); b && left > 0; b = after, left--) {
		after = TAILQ_NEXT(b, link);
		if (b->due_ns > now || w->in_flight >= w->window) {
			if (b->due_ns < next)
				next = b->due_ns;
			continue;
		}
		TAILQ_REMOVE(&w->retries, b, link);
		w->retrying--;
		bind_step(b);
	}
	if (next < w->retries_due_ns)
		w->retries_due_ns = next;
}

static void queue_send(struct writer *w)
{
	struct bind *b;

	while (w->in_flight < w->window && (b = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, b, link);
		w->queued--;
		bind_step(b);
	}
}

static void landed_look(struct writer *w)
{
	struct bind *b, *after;

	if (TAILQ_EMPTY(&w->landed) || now_ns(w) < w->landed_look_ns)
		return;
	w->landed_look_ns = now_ns(w) + LANDED_LOOK_NS;
	for (b = TAILQ_FIRST(&w->landed); b; b = after) {
		struct pod_view pod;

		after = TAILQ_NEXT(b, link);
		if (model_pod(w->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) && !pod.node[0])
			continue;
		if (b->begun)
			model_bind_end(w->config.model, b->cmd.pod, b->cmd.pod_generation);
		TAILQ_REMOVE(&w->landed, b, link);
		bind_forget(b);
	}
}

uint64_t writer_poll(struct writer *w)
{
	uint64_t next = NEVER_NS;

	landed_look(w);
	if (!TAILQ_EMPTY(&w->landed))
		next = w->landed_look_ns;
	if (now_ns(w) < w->pause_until_ns) {
		if (w->retrying || w->queued)
			next = w->pause_until_ns < next ? w->pause_until_ns : next;
		return next;
	}
	retries_send(w);
	queue_send(w);
	/* With a full window the next answer calls again. */
	if (w->in_flight < w->window && w->retries_due_ns < next)
		next = w->retries_due_ns;
	return next;
}

void writer_core_down(struct writer *w)
{
	struct bind *b;

	while ((b = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, b, link);
		bind_forget(b);
	}
	w->queued = 0;
}

void writer_core_up(struct writer *w)
{
	struct bind *b;

	TAILQ_FOREACH(b, &w->landed, link)
		tell(b, RESULT_BOUND);
}

size_t writer_queued(const struct writer *w)
{
	return w->queued;
}

size_t writer_flying(const struct writer *w)
{
	return w->in_flight;
}

size_t writer_unknown(const struct writer *w)
{
	return w->in_flight + w->retrying;
}

unsigned writer_window(const struct writer *w)
{
	return w->window;
}

const struct writer_counts *writer_counts(const struct writer *w)
{
	return &w->counts;
}
