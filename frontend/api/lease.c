/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/lease.h"

#include "frontend/api/apistatus.h"
#include "frontend/json/json.h"
#include "frontend/json/jsonout.h"
#include "frontend/base/log.h"
#include "frontend/base/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_BYTES 300
#define TIME_BYTES 48
#define RELEASED_S 1 /* as in client-go */
#define FRESH_NS                                                                                   \
	(60 *                                                                                          \
	 NS_PER_S) /* by then the kernel has closed what does not acknowledge (frontend/api/curl.c) */

/* The last seen spec of the object. */
struct lease_record {
	char holder[NAME_BYTES];
	char acquired[TIME_BYTES], renewed[TIME_BYTES];
	int64_t duration_s;
	int64_t transitions;
};

enum request { REQUEST_NONE, REQUEST_GET, REQUEST_CREATE, REQUEST_UPDATE, REQUEST_RELEASE };

struct lease {
	struct lease_config config;
	struct http_call *call;
	enum request request;
	uint64_t sent_ns;           /* start of the request in flight */
	uint64_t next_ns;           /* when the next request is due */
	struct lease_record record; /* last seen */
	uint64_t observed_ns;       /* when it was first seen; 0: never */
	struct lease_record mine;   /* of the request in flight */
	char *metadata;             /* of the last seen object, JSON; NULL: none */
	uint64_t lead_until_ns;     /* 0: never leader */
	uint64_t fresh_until_ns;    /* a request got no answer: kept connections may be dead, so use new
	                               ones until then */
	bool absent;                /* the object did not exist at the last read */
	bool lost, releasing, released;
	bool reread; /* the release hit a conflict, and the object was reread */
	struct jsonout path, body;
	struct log_limit limit;
	struct lease_counts counts;
};

const char *lease_times_fault(uint64_t duration_ns, uint64_t renew_ns, uint64_t retry_ns)
{
	if (duration_ns <= renew_ns)
		return "the lease duration must be longer than the renew deadline";
	if (renew_ns * 10 <= retry_ns * 12)
		return "the renew deadline must be longer than 1.2 times the retry period";
	return retry_ns == 0 ? "the retry period must be longer than 0" : NULL;
}

struct lease *lease_new(const struct lease_config *config)
{
	struct lease *l = must_alloc(sizeof(*l));

	l->config = *config;
	return l;
}

void lease_free(struct lease *l)
{
	if (!l)
		return;
	if (l->call)
		l->config.env->transport->ops->cancel(l->config.env->transport, l->call);
	free(l->metadata);
	jsonout_free(&l->path);
	jsonout_free(&l->body);
	free(l);
}

bool lease_held(const struct lease *l)
{
	return !l->lost && !l->releasing && env_now(l->config.env) < l->lead_until_ns;
}

bool lease_lost(const struct lease *l)
{
	return l->lost ||
	       (l->lead_until_ns > 0 && !l->releasing && env_now(l->config.env) >= l->lead_until_ns);
}

bool lease_released(const struct lease *l)
{
	return l->released;
}

const char *lease_holder(const struct lease *l)
{
	return l->record.holder;
}

const struct lease_counts *lease_counts(const struct lease *l)
{
	return &l->counts;
}

struct lease_object {
	struct text metadata, holder, acquired, renewed;
	int64_t duration_s, transitions;
};

static const struct json_field spec_fields[] = {
	JSON_FIELD("leaseDurationSeconds", json_field_int64, struct lease_object, duration_s),
	JSON_FIELD("leaseTransitions", json_field_int64, struct lease_object, transitions),
	JSON_FIELD("holderIdentity", json_field_text, struct lease_object, holder),
	JSON_FIELD("acquireTime", json_field_text, struct lease_object, acquired),
	JSON_FIELD("renewTime", json_field_text, struct lease_object, renewed),
};

static const struct json_field lease_fields[] = {
	JSON_FIELD("metadata", json_field_raw, struct lease_object, metadata),
	JSON_NESTED("spec", spec_fields),
};

/* Stores the server's object; false if it is malformed. */
static bool object_take(struct lease *l, const char *body, size_t bytes)
{
	struct lease_object o = { 0 };
	struct lease_record r;
	struct arena arena = { 0 };
	struct json j;
	bool whole;

	json_begin(&j, body, bytes, &arena);
	json_fields(&j, lease_fields, &o);
	memset(&r, 0, sizeof(r)); /* compared with memcmp() */
	r.duration_s = o.duration_s;
	r.transitions = o.transitions;
	text_fit(r.holder, sizeof(r.holder), o.holder);
	text_fit(r.acquired, sizeof(r.acquired), o.acquired);
	text_fit(r.renewed, sizeof(r.renewed), o.renewed);
	whole = json_end(&j) && o.metadata.at;
	if (whole) {
		l->absent = false;
		free(l->metadata);
		l->metadata = must_alloc(o.metadata.bytes + 1);
		memcpy(l->metadata, o.metadata.at, o.metadata.bytes);
		if (l->observed_ns == 0 || memcmp(&r, &l->record, sizeof(r)) != 0) {
			l->record = r;
			l->observed_ns = env_now(l->config.env);
		}
	}
	arena_free(&arena);
	return whole;
}

static void time_write(const struct env *env, char out[TIME_BYTES])
{
	uint64_t now = env->wall_ns(env->context);
	time_t seconds = (time_t)(now / NS_PER_S);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, TIME_BYTES - n, ".%06uZ", (unsigned)(now % NS_PER_S / 1000));
}

static void body_write(struct lease *l, const struct lease_record *r)
{
	jsonout_clear(&l->body);
	jsonout_add(&l->body,
	            "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":");
	if (l->request == REQUEST_CREATE)
		jsonout_add(&l->body, "{\"name\":@s,\"namespace\":@s}", l->config.name,
		            l->config.namespace);
	else
		jsonout_add(&l->body, "@r", l->metadata);
	jsonout_add(
		&l->body,
		",\"spec\":{\"holderIdentity\":@s,\"leaseDurationSeconds\":@u,\"acquireTime\":@s,\"renewTime\":@s,"
		"\"leaseTransitions\":@u}}",
		r->holder, (unsigned long long)r->duration_s, r->acquired, r->renewed,
		(unsigned long long)r->transitions);
}

static void on_done(void *context, const struct http_answer *answer, const char *body,
                    size_t body_bytes);

static void request_send(struct lease *l, enum request request)
{
	static const char *const methods[] = {
		[REQUEST_GET] = "GET",
		[REQUEST_CREATE] = "POST",
		[REQUEST_UPDATE] = "PUT",
		[REQUEST_RELEASE] = "PUT",
	};
	const struct env *env = l->config.env;
	uint64_t timeout = l->config.renew_ns / 2 > NS_PER_S ? l->config.renew_ns / 2 : NS_PER_S;
	struct http_request r = { .method = methods[request],
		                      .lane = HTTP_LEASE,
		                      .timeout_ms = (uint32_t)(timeout / NS_PER_MS),
		                      .before_lease = true,
		                      .fresh_connection = env_now(env) < l->fresh_until_ns };
	struct http_handler handler = { .done = on_done, .context = l };

	l->request = request;
	l->sent_ns = env_now(env);
	jsonout_clear(&l->path);
	jsonout_add(&l->path, "/apis/coordination.k8s.io/v1/namespaces/@p/leases", l->config.namespace);
	if (request != REQUEST_CREATE)
		jsonout_add(&l->path, "/@p", l->config.name);
	r.path = l->path.at;
	if (request != REQUEST_GET) {
		body_write(l, &l->mine);
		r.content_type = "application/json";
		r.body = l->body.at;
		r.body_bytes = l->body.bytes;
	}
	PROBE(lease_ask, (uint32_t)request);
	l->call = env->transport->ops->start(env->transport, &r, &handler);
	if (!l->call)
		fatal_memory();
}

/* Acquires or renews the lease. */
static void claim_send(struct lease *l, enum request request)
{
	bool renews = request == REQUEST_UPDATE && strcmp(l->record.holder, l->config.identity) == 0;
	struct lease_record *r = &l->mine;

	*r = (struct lease_record){ .duration_s = (int64_t)(l->config.duration_ns / NS_PER_S) };
	snprintf(r->holder, sizeof(r->holder), "%s", l->config.identity);
	time_write(l->config.env, r->renewed);
	if (renews)
		memcpy(r->acquired, l->record.acquired, sizeof(r->acquired));
	else
		memcpy(r->acquired, r->renewed, sizeof(r->acquired));
	r->transitions = request == REQUEST_CREATE ? 0 : l->record.transitions + !renews;
	request_send(l, request);
}

static void release_send(struct lease *l)
{
	l->mine = l->record;
	l->mine.holder[0] = '\0';
	l->mine.duration_s = RELEASED_S;
	time_write(l->config.env, l->mine.renewed);
	request_send(l, REQUEST_RELEASE);
}

/* Followers retry with jitter. */
static uint64_t wait_ns(const struct lease *l)
{
	const struct env *env = l->config.env;

	if (l->lead_until_ns > 0)
		return l->config.retry_ns;
	return l->config.retry_ns +
	       env->random(env->context) % (l->config.retry_ns + l->config.retry_ns / 5);
}

static void again(struct lease *l, uint64_t in_ns)
{
	l->next_ns = env_now(l->config.env) + in_ns;
}

static bool may_be_taken(const struct lease *l)
{
	uint64_t age = env_now(l->config.env) - l->observed_ns;
	int64_t duration_s = l->record.duration_s > 0 ? l->record.duration_s : 0;

	if (strcmp(l->record.holder, l->config.identity) == 0)
		return true;
	/* A release is marked by this duration; an empty holder with another one was edited by hand. */
	if (!l->record.holder[0] && duration_s <= RELEASED_S)
		return true;
	return age >= (uint64_t)duration_s * NS_PER_S;
}

static void seen(struct lease *l)
{
	bool others = l->record.holder[0] && strcmp(l->record.holder, l->config.identity) != 0;

	if (l->lead_until_ns > 0 && others) {
		env_log(l->config.env, "error", "the lease %s/%s was taken by %s", l->config.namespace,
		        l->config.name, l->record.holder);
		l->lost = true;
	} else if (may_be_taken(l)) {
		claim_send(l, REQUEST_UPDATE);
	} else {
		again(l, wait_ns(l));
	}
}

/* The object does not exist: if it was deleted, its holder may still act. */
static void missing(struct lease *l)
{
	if (!l->absent && l->lead_until_ns == 0) {
		l->record =
			(struct lease_record){ .duration_s = (int64_t)(l->config.duration_ns / NS_PER_S) };
		l->observed_ns = env_now(l->config.env);
		env_log(l->config.env, "info",
		        "there is no lease %s/%s; waiting %d s, in case it was deleted",
		        l->config.namespace, l->config.name, (int)l->record.duration_s);
	}
	l->absent = true;
	if (l->lead_until_ns > 0 || may_be_taken(l))
		claim_send(l, REQUEST_CREATE);
	else
		again(l, wait_ns(l));
}

static void taken(struct lease *l, const char *body, size_t bytes)
{
	bool first = l->lead_until_ns == 0;

	l->counts.renewals++;
	if (!object_take(l, body, bytes)) { /* it was accepted, but its version is unknown: read it */
		free(l->metadata);
		l->metadata = NULL;
	}
	PROBE(lease_taken, l->counts.renewals);
	l->lead_until_ns = l->sent_ns + l->config.renew_ns;
	again(l, l->config.retry_ns);
	if (first)
		env_log(l->config.env, "info", "leading: holder of the lease %s/%s as %s",
		        l->config.namespace, l->config.name, l->config.identity);
}

static void failed(struct lease *l, enum request request, const struct http_answer *answer,
                   const char *body, size_t bytes)
{
	struct apistatus s;

	l->counts.failures++;
	/* The next request rereads it; a conflict only means that another client was faster. */
	free(l->metadata);
	l->metadata = NULL;
	apistatus_read(body ? body : "", bytes, &s);
	if (answer->status == 401)
		env_renew_credentials(l->config.env);
	if (answer->status != 409 && log_allowed(&l->limit, l->config.env, "lease"))
		env_log(l->config.env, "warn", "lease %s/%s: %s %d %.300s", l->config.namespace,
		        l->config.name, request == REQUEST_GET ? "get:" : "write:", answer->status,
		        answer->end == HTTP_ANSWERED ? s.message : answer->error);
	again(l, answer->status == 409 && l->lead_until_ns > 0 ? 0 : wait_ns(l));
}

/* A cancelled renewal may have been applied, or the server was restored: then the object has
 * another version than ours, once. */
static void release_answered(struct lease *l, enum request request,
                             const struct http_answer *answer, const char *body, size_t bytes)
{
	bool answered = answer->end == HTTP_ANSWERED;

	if (request == REQUEST_RELEASE && answered && answer->status == 409 && !l->reread) {
		l->reread = true;
		request_send(l, REQUEST_GET);
	} else if (request == REQUEST_GET && answered && answer->status == 200 &&
	           object_take(l, body, bytes) && strcmp(l->record.holder, l->config.identity) == 0) {
		release_send(l);
	} else {
		l->released = true;
	}
}

static void on_done(void *context, const struct http_answer *answer, const char *body,
                    size_t body_bytes)
{
	struct lease *l = context;
	enum request request = l->request;
	bool ok = answer->end == HTTP_ANSWERED && (answer->status == 200 || answer->status == 201);

	l->call = NULL;
	if (answer->end != HTTP_ANSWERED)
		l->fresh_until_ns = env_now(l->config.env) + FRESH_NS;
	PROBE(lease_answered, (uint32_t)request, answer->status);
	l->request = REQUEST_NONE;
	if (l->releasing) {
		release_answered(l, request, answer, body, body_bytes);
	} else if (l->lost) {
		return;
	} else if (request == REQUEST_GET && answer->end == HTTP_ANSWERED && answer->status == 404) {
		missing(l);
	} else if (request == REQUEST_GET && ok && object_take(l, body, body_bytes)) {
		seen(l);
	} else if (request != REQUEST_GET && ok) {
		taken(l, body, body_bytes);
	} else {
		failed(l, request, answer, body, body_bytes);
	}
}

void lease_release(struct lease *l)
{
	bool held = lease_held(l);

	if (l->releasing)
		return;
	l->releasing = true;
	if (l->call) {
		l->config.env->transport->ops->cancel(l->config.env->transport, l->call);
		l->call = NULL;
	}
	if (held && l->metadata) {
		release_send(l);
	} else if (held) { /* the last renewal failed: its version is to be read */
		l->reread = true;
		request_send(l, REQUEST_GET);
	} else {
		l->released = true;
	}
}

uint64_t lease_poll(struct lease *l)
{
	uint64_t now = env_now(l->config.env), next = l->next_ns;

	if (l->releasing)
		return NEVER_NS;
	if (lease_lost(l)) {
		if (!l->lost)
			env_log(l->config.env, "error", "the lease %s/%s was not renewed in time",
			        l->config.namespace, l->config.name);
		l->lost = true;
		return NEVER_NS;
	}
	if (!l->call && now >= l->next_ns) {
		if (l->lead_until_ns > 0 && l->metadata)
			claim_send(l, REQUEST_UPDATE);
		else
			request_send(l, REQUEST_GET);
	}
	if (l->call)
		next = NEVER_NS;
	return l->lead_until_ns > 0 && l->lead_until_ns < next ? l->lead_until_ns : next;
}
