/* SPDX-License-Identifier: Apache-2.0 */
/* The states of one binding: POST, then whatever it takes to learn the outcome. */
#include "frontend/bind/binder_impl.h"

#include "frontend/api/apistatus.h"
#include "frontend/bind/bindanswer.h"
#include "frontend/bind/fence.h"
#include "frontend/trace/latency.h"
#include "frontend/base/probe.h"
#include "frontend/base/version.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define POST_TIMEOUT_MS 30000
#define READ_TIMEOUT_MS 15000
#define RETRY_INVALID_MS 600000
#define FENCES_SILENT                                                                              \
	3u /* a server that has just started rejects what it accepts a second later                    \
	    */

void binding_tell(struct bind *b, enum record_kind kind)
{
	struct result r = {
		.pod = b->cmd.pod,
		.generation = b->cmd.pod_generation,
		.node = b->cmd.node,
		.attempt = b->cmd.attempt,
		.retry_ms = kind == RESULT_REFUSED ? b->retry_ms : 0,
	};

	b->binder->config.result(b->binder->config.context, kind, &r);
}

static void notice(struct bind *b, const char *error)
{
	struct bind_notice n = {
		.namespace = b->namespace,
		.name = b->name,
		.uid = b->uid,
		.node = b->node,
		.scheduler = b->scheduler,
		.error = error,
	};

	b->binder->config.notice(b->binder->config.context, &n);
}

/* Nothing of ours can be applied any more. b is in no list, and freed. */
void binding_refused(struct bind *b)
{
	struct binder *w = b->binder;

	assert(!b->maybe);
	PROBE(bind_refused, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
	w->counts.refused++;
	w->counts.ambiguous_refused += b->unknown;
	if (w->config.latency)
		latency_refused(w->config.latency, &b->cmd, b->error[0] != '\0',
		                b->scheduler ? b->scheduler : "");
	if (b->begun) {
		model_bind_end(w->config.model, b->cmd.pod, b->cmd.pod_generation);
		if (!b->withdrawn) {
			binder_note_refused(w, &b->cmd);
			intent_retain(b, &w->refused[b->cmd.pod]);
		}
	}
	binding_tell(b, RESULT_REFUSED);
	if (b->error[0])
		notice(b, b->error);
	binder_forget(b);
}

/* Records the times of a finished binding; the slowest ones keep their names. */
static void time_bound(const struct bind *b)
{
	struct binder *w = b->binder;
	struct latency_story *story = NULL;
	struct pod_view pod;

	if (w->config.latency)
		story = latency_bound(w->config.latency, &b->cmd, b->scheduler, binder_now(w));
	if (!story)
		return;
	snprintf(story->namespace, sizeof(story->namespace), "%s", b->namespace);
	snprintf(story->name, sizeof(story->name), "%s", b->name);
	snprintf(story->node, sizeof(story->node), "%s", b->node);
	if (model_pod(w->config.model, b->cmd.pod, b->cmd.pod_generation, &pod))
		snprintf(story->gang, sizeof(story->gang), "%s", pod.gang);
}

/* Kept until the watch shows the node: a core that restarts before must not plan the pod again. */
static void bind_landed(struct bind *b)
{
	struct binder *w = b->binder;

	PROBE(bind_landed, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
	w->counts.bound++;
	w->counts.ambiguous_bound += b->unknown;
	b->maybe = false;
	if (b->held)
		prebind_end(b);
	group_recheck_landed(b);
	intent_end(b);
	time_bound(b);
	binding_tell(b, RESULT_BOUND);
	PROBE(bind_told, b->cmd.pod, b->cmd.pod_generation);
	notice(b, NULL);
	TAILQ_INSERT_TAIL(&w->landed, b, link);
	backoff_reset(&w->pause);
}

static void bind_fly(struct bind *b, const struct http_request *request,
                     const struct http_handler *handler)
{
	struct binder *w = b->binder;

	b->sent_ns = binder_now(w);
	b->call = w->config.env->transport->ops->start(w->config.env->transport, request, handler);
	if (!b->call)
		fatal_memory();
	TAILQ_INSERT_TAIL(&w->flying, b, link);
	w->in_flight++;
}

static void bind_unfly(struct bind *b)
{
	struct binder *w = b->binder;

	b->call = NULL;
	TAILQ_REMOVE(&w->flying, b, link);
	w->in_flight--;
}

void binding_give_up(struct bind *b, uint32_t retry_ms)
{
	b->give_up = true;
	b->retry_ms = retry_ms;
	b->maybe = b->maybe || b->earlier;
	b->left = b->left || (b->earlier && !b->prebound);
	if (b->maybe)
		binder_later(b, STEP_READ, backoff_failed(&b->backoff, b->binder->config.env));
	else
		binding_refused(b);
}

static void say_refused(const struct bind *b, int status)
{
	struct pod_view pod = { .gang = "" };
	char message[1200], name[600], gang[600] = "";
	const struct log_field fields[] = {
		{ "pod", name, 0 },     { "uid", b->uid, 0 },       { "gang", gang, 0 },
		{ "node", b->node, 0 }, { "status", NULL, status },
	};

	snprintf(name, sizeof(name), "%s/%s", b->namespace, b->name);
	snprintf(message, sizeof(message), "pod %s: %s", name, b->error);
	if (model_pod(b->binder->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) && pod.gang[0])
		snprintf(gang, sizeof(gang), "%s/%s", b->namespace, pod.gang);
	env_tell(b->binder->config.env, "error", message, fields, sizeof(fields) / sizeof(fields[0]));
}

static void bind_explain(struct bind *b, const struct http_answer *answer, const char *body,
                         size_t body_bytes)
{
	struct apistatus s;

	apistatus_read(body, body_bytes, &s);
	snprintf(b->error, sizeof(b->error),
	         "binding to node %s was refused by the API server: HTTP %d: %.200s", b->node,
	         answer->status, s.message);
	if (log_allowed(&b->binder->limit, b->binder->config.env, "bindings"))
		say_refused(b, answer->status);
}

/* Unknown outcome: the pod is read before anything else. */
static void bind_unknown(struct bind *b, const struct http_answer *answer)
{
	struct binder *w = b->binder;

	PROBE(bind_unknown, b->cmd.pod, b->cmd.pod_generation, answer->status);
	b->maybe = true;
	if (!b->unknown) {
		b->unknown = true;
		w->counts.ambiguous++;
		binding_tell(b, RESULT_UNKNOWN);
	}
	if (log_allowed(&w->limit, w->config.env, "bindings"))
		env_log(w->config.env, "warn",
		        "pod %s/%s: the answer to its binding to node %s does not say whether it holds "
		        "(HTTP %d %s); reading the pod",
		        b->namespace, b->name, b->node, answer->status, answer->error);
	binder_window_slower(b);
	binder_later(b, STEP_READ, backoff_failed(&b->backoff, w->config.env));
}

static void bind_renew(struct bind *b)
{
	struct binder *w = b->binder;

	env_renew_credentials(w->config.env);
	if (!b->renewed) {
		b->renewed = true;
		binder_later(b, b->step, 0);
		return;
	}
	if (log_allowed(&w->limit, w->config.env, "bindings"))
		env_log(w->config.env, "error",
		        "the API server refuses these credentials (401) to bind pods");
	binder_pause(w, backoff_failed(&w->pause, w->config.env));
	binder_later(b, b->step, 0);
}

static void post_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct bind *b = context;
	struct binder *w = b->binder;
	enum bind_answer said;

	PROBE(answered, b->cmd.pod, b->cmd.pod_generation, answer->status);
	bind_unfly(b);
	w->counts.post_ns_sum += binder_now(w) - b->sent_ns;
	/* What this server rejects, another one may have applied before it died. */
	b->maybe = b->maybe || answer->repeated;
	said = bind_answer_read(answer, body, body_bytes);
	if (said == BIND_NOT_SENT || said == BIND_SLOWER || said == BIND_RENEW)
		prebind_had_no_effect(b);
	switch (said) {
	case BIND_TAKEN:
		binder_window_answered(b);
		bind_landed(b);
		return;
	case BIND_REFUSED:
		binding_give_up(b, 0);
		return;
	case BIND_READ:
		binder_later(b, STEP_READ, 0);
		return;
	case BIND_UNKNOWN:
		bind_unknown(b, answer);
		return;
	case BIND_NOT_SENT:
		w->counts.retries++;
		binder_pause(w, backoff_failed(&w->pause, w->config.env));
		binder_later(b, STEP_POST, 0);
		return;
	case BIND_SLOWER:
		w->counts.slowed++;
		/* Without Retry-After the pause doubles with each flight, and not within one. */
		if (binder_window_slower(b) || answer->retry_after_ms >= 0)
			binder_pause(w, backoff_answer(&w->pause, w->config.env, answer));
		binder_later(b, STEP_POST, 0);
		return;
	case BIND_RENEW:
		bind_renew(b);
		return;
	case BIND_FORBIDDEN:
		bind_explain(b, answer, body, body_bytes);
		/* The core has its own backoff: an API server that has just started rejects what it accepts
		 * a second later. */
		binding_give_up(b, 0);
		return;
	case BIND_INVALID:
		bind_explain(b, answer, body, body_bytes);
		binding_give_up(b, RETRY_INVALID_MS);
		return;
	}
}

/* A core that has been taken over may name any pod: those of other schedulers and unsupported ones
 * are not its to place. */
static bool may_be_placed(const struct pod_view *pod)
{
	return pod->ours && pod->refusal[0] == '\0';
}

/* False if the binding is obsolete; then it is answered here. Only while nothing of ours can be
 * applied. */
static bool post_wanted(struct bind *b)
{
	struct pod_view pod;

	if (!model_pod(b->binder->config.model, b->cmd.pod, b->cmd.pod_generation, &pod) ||
	    pod.deleting || pod.gated) {
		binding_refused(b);
		return false;
	}
	if (!pod.node[0] && !may_be_placed(&pod)) {
		b->earlier = b->earlier && pod.ours;
		binding_give_up(b, 0);
		return false;
	}
	if (pod.node[0]) {
		if (strcmp(pod.node, b->node) == 0)
			bind_landed(b);
		else
			binding_refused(b);
		return false;
	}
	if (version_newer(pod.resource_version, b->version) &&
	    strlen(pod.resource_version) < sizeof(b->version))
		strcpy(b->version, pod.resource_version);
	return true;
}

void binding_begin(struct bind *b)
{
	b->begun = true;
	PROBE(bind_begun, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
	binder_forget_refused(b->binder, b->cmd.pod);
	model_bind_begin(b->binder->config.model, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
}

/* b is in no list. */
static void post_start(struct bind *b)
{
	struct binder *w = b->binder;
	struct http_request request = {
		.method = "POST",
		.content_type = "application/json",
		.lane = HTTP_BIND,
		.timeout_ms = POST_TIMEOUT_MS,
	};
	struct http_handler handler = { .done = post_done, .context = b };

	if (!b->maybe && !post_wanted(b))
		return;
	if (!model_node(w->config.model, b->cmd.node, b->cmd.node_generation)) {
		binding_give_up(b, 0);
		return;
	}
	if (!intent_permits(b))
		return;
	if (b->held && !prebind_admits(b))
		return;
	b->maybe = b->maybe || b->earlier;
	if (!b->begun)
		binding_begin(b);
	jsonout_clear(&w->path);
	jsonout_add(&w->path, "/api/v1/namespaces/@p/pods/@p/binding", b->namespace, b->name);
	if (w->config.deadline_ms)
		jsonout_add(&w->path, "?timeout=@ums", (unsigned long long)w->config.deadline_ms);
	jsonout_clear(&w->body);
	jsonout_add(
		&w->body,
		"{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":@s,\"namespace\":@s,"
		"\"uid\":@s,\"resourceVersion\":@s},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":@s}}",
		b->name, b->namespace, b->uid, b->version, b->node);
	request.path = w->path.at;
	request.body = w->body.at;
	request.body_bytes = w->body.bytes;
	w->counts.posts++;
	PROBE(post, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
	bind_fly(b, &request, &handler);
	PROBE(posted, b->cmd.pod, b->cmd.pod_generation, b->cmd.node);
	if (w->config.latency)
		latency_posted(w->config.latency, &b->cmd, b->sent_ns);
}

/* Decides by the current pod. */
static void read_decide(struct bind *b, const struct bind_pod *pod)
{
	bool moved = !b->earlier && strcmp(pod->version, b->version) != 0;

	if (strcmp(pod->uid, b->uid) != 0 || (pod->node[0] && strcmp(pod->node, b->node) != 0)) {
		b->maybe = false;
		binding_refused(b);
		return;
	}
	if (pod->node[0]) {
		bind_landed(b);
		return;
	}
	if (moved)
		b->maybe = false;
	/* Bindings of an earlier frontend carry this version or an older one. */
	b->earlier = false;
	strcpy(b->version, pod->version);
	if (!b->maybe && (b->give_up || pod->deleting || pod->gated || pod->ended)) {
		if (!prebind_take_back(b))
			binding_refused(b);
		return;
	}
	if (b->settle && !b->maybe) {
		b->settle = false;
		b->step = STEP_POST;
		b->binder->queued++;
		if (prebind_hold(b))
			return;
		/* It needs no work any more.  The next core has it as in flight: it is not among those that
		 * end with this one. */
		b->binder->queued--;
		intent_need(b);
	}
	binder_later(b, b->give_up || b->settle ? STEP_FENCE : STEP_POST,
	             backoff_failed(&b->backoff, b->binder->config.env));
}

static void read_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct bind *b = context;
	struct bind_pod pod;

	PROBE(read_answered, b->cmd.pod, b->cmd.pod_generation, answer->status);
	bind_unfly(b);
	if (answer->end == HTTP_ANSWERED && answer->status == 200 &&
	    bind_pod_read(body, body_bytes, &pod) == 0) {
		read_decide(b, &pod);
		return;
	}
	if (apistatus_says(answer, 404, body, body_bytes)) {
		b->maybe = false;
		binding_refused(b);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 401) {
		bind_renew(b);
		return;
	}
	binder_later(b, STEP_READ, backoff_answer(&b->backoff, b->binder->config.env, answer));
}

static void read_start(struct bind *b)
{
	struct binder *w = b->binder;
	struct http_request request = { .method = "GET",
		                            .lane = HTTP_CALL,
		                            .timeout_ms = READ_TIMEOUT_MS };
	struct http_handler handler = { .done = read_done, .context = b };

	jsonout_clear(&w->path);
	jsonout_add(&w->path, "/api/v1/namespaces/@p/pods/@p", b->namespace, b->name);
	request.path = w->path.at;
	w->counts.reads++;
	PROBE(read_ask, b->cmd.pod, b->cmd.pod_generation);
	bind_fly(b, &request, &handler);
}

/* The pod cannot be bound elsewhere, nor its capacity released, until the fence succeeds: log it.
 */
static void fence_refused(struct bind *b, const struct http_answer *answer, const char *body,
                          size_t body_bytes)
{
	struct binder *w = b->binder;
	char text[400];
	struct apistatus s;

	apistatus_read(body, body_bytes, &s);
	snprintf(text, sizeof(text),
	         "the binding to node %s may still land: the API server refuses the write of the pod's "
	         "status that takes it back: HTTP %d: %.200s",
	         b->node, answer->status, s.message);
	if (log_allowed(&w->limit, w->config.env, "bindings"))
		env_log(w->config.env, "error", "pod %s/%s: %s (patch pods/status)", b->namespace, b->name,
		        text);
	if (++b->fences_refused == FENCES_SILENT)
		notice(b, text);
}

/* The pod is read next in any case: only that shows the outcome of the Binding. */
static void fence_done(void *context, const struct http_answer *answer, const char *body,
                       size_t body_bytes)
{
	struct bind *b = context;

	PROBE(fence_answered, b->cmd.pod, b->cmd.pod_generation, answer->status);
	bind_unfly(b);
	switch (fence_read(answer, body, body_bytes)) {
	case FENCE_TAKEN:
	case FENCE_GONE:
	case FENCE_MOVED:
		binder_later(b, STEP_READ, 0);
		return;
	case FENCE_RENEW:
		bind_renew(b);
		return;
	case FENCE_REFUSED:
		fence_refused(b, answer, body, body_bytes);
		break;
	case FENCE_UNKNOWN:
		break;
	}
	binder_later(b, STEP_READ, backoff_answer(&b->backoff, b->binder->config.env, answer));
}

static void fence_start(struct bind *b)
{
	struct binder *w = b->binder;
	const struct fence fence = { .namespace = b->namespace,
		                         .name = b->name,
		                         .uid = b->uid,
		                         .version = b->version,
		                         .node = b->node };
	const struct http_request request = fence_request(&fence, w->config.env, &w->path, &w->body);
	const struct http_handler handler = { .done = fence_done, .context = b };

	w->counts.fences++;
	PROBE(fence_ask, b->cmd.pod, b->cmd.pod_generation);
	bind_fly(b, &request, &handler);
}

void binding_step(struct bind *b)
{
	switch (b->step) {
	case STEP_POST:
		post_start(b);
		break;
	case STEP_READ:
		read_start(b);
		break;
	case STEP_FENCE:
		fence_start(b);
		break;
	}
}
