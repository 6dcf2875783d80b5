/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/serve.h"

#include "frontend/base/log.h"
#include "frontend/serve/extender.h"
#include "frontend/serve/page.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRESH_MS 200               /* how long a busy loop is waited for */
#define STATE_NS (500 * NS_PER_MS) /* how long /state.json is good for everybody */
#define OLD_NS (20 * NS_PER_S)     /* the loop has not run for that long: it hangs */

struct serve {
	struct MHD_Daemon *daemon;
	struct serve_config config;
	pthread_mutex_t lock; /* around all below */
	pthread_cond_t fresh;
	uint64_t updates;
	struct metrics metrics;
	_Atomic bool wanted;
	char *state; /* /state.json, NULL: none yet */
	size_t state_bytes;
	uint64_t state_ns; /* when it was made */
	_Atomic bool state_wanted;
	TAILQ_HEAD(, extender_job) jobs; /* not taken by the loop yet */
	bool stopping;
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int address_read(const char *listen, union address *out, char *error, size_t error_bytes)
{
	const char *colon = strrchr(listen, ':');
	char host[64];
	char *end;
	long port;

	memset(out, 0, sizeof(*out));
	if (!colon || (size_t)(colon - listen) >= sizeof(host)) {
		snprintf(error, error_bytes, "\"%s\" is not ADDR:PORT", listen);
		return -EINVAL;
	}
	memcpy(host, listen, (size_t)(colon - listen));
	host[colon - listen] = '\0';
	errno = 0;
	port = strtol(colon + 1, &end, 10);
	if (errno || end == colon + 1 || *end || port < 0 || port > 65535) {
		snprintf(error, error_bytes, "\"%s\": \"%s\" is not a port", listen, colon + 1);
		return -EINVAL;
	}
	out->v4.sin_family = AF_INET;
	out->v4.sin_port = htons((uint16_t)port);
	if (!*host || inet_pton(AF_INET, host, &out->v4.sin_addr) == 1)
		return 0;
	if (strcmp(host, "localhost") == 0) {
		out->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons((uint16_t)port);
	if (host[0] == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1)
			return 0;
	}
	snprintf(error, error_bytes, "\"%s\": \"%s\" is not an address", listen, host);
	return -EINVAL;
}

int serve_address_check(const char *listen, char *error, size_t error_bytes)
{
	union address a;

	return address_read(listen, &a, error, error_bytes);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *text, size_t bytes)
{
	/* libmicrohttpd copies it, and its argument is no const. */
	struct MHD_Response *r =
		MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result queued;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	queued = MHD_queue_response(connection, status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result answer_line(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
	char line[1200];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	return answer(connection, status, "text/plain; charset=utf-8", line, (size_t)n);
}

static void write_latency(const struct metrics *m, FILE *out)
{
	latency_write(&m->latency, m->taken_ns, out);
}

/* What is written of the figures. */
static enum MHD_Result answer_written(struct MHD_Connection *connection, const char *type,
                                      const struct metrics *m,
                                      void (*write)(const struct metrics *m, FILE *out))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	enum MHD_Result queued;

	if (!out)
		return MHD_NO;
	write(m, out);
	fclose(out);
	queued = answer(connection, MHD_HTTP_OK, type, text, bytes);
	free(text);
	return queued;
}

/* Until when a busy loop is waited for. */
static struct timespec fresh_until(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += FRESH_MS * (long)NS_PER_MS;
	until.tv_sec += until.tv_nsec / (long)NS_PER_S;
	until.tv_nsec %= (long)NS_PER_S;
	return until;
}

/* Ask the loop for new figures; those of before when it does not come to it. */
static void figures_take(struct serve *s, struct metrics *m)
{
	struct timespec until = fresh_until();
	uint64_t seen;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	seen = s->updates;
	/* Relaxed: the wake orders it, and the loop looks again in the end. */
	atomic_store_explicit(&s->wanted, true, memory_order_relaxed);
	s->config.wanted(s->config.context);
	while (s->updates == seen && rc == 0)
		rc = pthread_cond_timedwait(&s->fresh, &s->lock, &until);
	*m = s->metrics;
	pthread_mutex_unlock(&s->lock);
}

/* ---- the page --------------------------------------------------------------------------- */

static enum MHD_Result answer_page(struct MHD_Connection *connection)
{
	const struct page *page = page_get();
	struct MHD_Response *r = MHD_create_response_from_buffer(
		page->bytes, (void *)(uintptr_t)page->html, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result queued;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
	MHD_add_response_header(r, "Content-Security-Policy", page->policy);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	queued = MHD_queue_response(connection, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return queued;
}

/* A copy of it, made lately; NULL when the loop does not come to it. */
static char *state_take(struct serve *s, size_t *bytes)
{
	struct timespec until = fresh_until();
	char *copy = NULL;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->state || s->config.monotonic_ns(NULL) - s->state_ns > STATE_NS) {
		uint64_t seen = s->state_ns;

		/* Relaxed: as in figures_take(). */
		atomic_store_explicit(&s->state_wanted, true, memory_order_relaxed);
		s->config.wanted(s->config.context);
		while (s->state_ns == seen && rc == 0)
			rc = pthread_cond_timedwait(&s->fresh, &s->lock, &until);
	}
	if (rc == 0) {
		copy = must_alloc(s->state_bytes + 1);
		memcpy(copy, s->state, s->state_bytes);
		*bytes = s->state_bytes;
	}
	pthread_mutex_unlock(&s->lock);
	return copy;
}

static enum MHD_Result answer_state(struct serve *s, struct MHD_Connection *connection)
{
	enum MHD_Result queued;
	size_t bytes;
	char *json = state_take(s, &bytes);

	if (!json)
		return answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the loop is busy");
	queued = answer(connection, MHD_HTTP_OK, "application/json", json, bytes);
	free(json);
	return queued;
}

/* ---- questions of another scheduler ------------------------------------------------------ */

/* A POST, from its first byte to its answer. */
struct post {
	struct extender_job job;
	struct serve *serve;
	struct MHD_Connection *connection;
	enum extender_verb verb;
	struct arena arena;
	char *body;
	size_t bytes, room;
	bool too_long;
	bool asked; /* the job went to the loop, and is done when we are called again */
};

static void post_free(struct post *p)
{
	arena_free(&p->arena);
	free(p->body);
	free(p);
}

static void post_done(struct extender_job *job)
{
	struct post *p = job->context;

	MHD_resume_connection(p->connection);
}

static void post_collect(struct post *p, const char *upload, size_t bytes)
{
	size_t room = p->room ? p->room : 4096;

	if (p->too_long || bytes > EXTENDER_BYTES_MAX - p->bytes) {
		p->too_long = true;
		return;
	}
	while (room < p->bytes + bytes)
		room *= 2;
	if (room > p->room) {
		p->body = must_grow(p->body, room);
		p->room = room;
	}
	memcpy(p->body + p->bytes, upload, bytes);
	p->bytes += bytes;
}

static enum MHD_Result post_answer(struct post *p)
{
	struct jsonout out = { 0 };
	enum MHD_Result queued;

	extender_write(&p->job.question, &p->job.answer, &out);
	/* Scores have no field for an error. */
	if (p->verb == EXTENDER_PRIORITIZE && p->job.answer.error)
		queued = answer_line(p->connection, MHD_HTTP_SERVICE_UNAVAILABLE, p->job.answer.error);
	else
		queued = answer(p->connection, MHD_HTTP_OK, "application/json", out.at, out.bytes);
	jsonout_free(&out);
	return queued;
}

static enum MHD_Result post_ask(struct post *p)
{
	struct serve *s = p->serve;
	char error[512];
	bool stopping;
	int rc;

	if (p->too_long)
		return answer_line(p->connection, MHD_HTTP_CONTENT_TOO_LARGE,
		                   "the request is longer than 64 MiB");
	rc = extender_read(p->verb, p->body, p->bytes, &p->arena, &p->job.question, error,
	                   sizeof(error));
	if (rc < 0)
		return answer_line(p->connection,
		                   rc == -ENOMEM ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_BAD_REQUEST,
		                   rc == -ENOMEM ? "no memory" : error);
	p->job.done = post_done;
	p->job.context = p;
	p->asked = true;
	MHD_suspend_connection(p->connection);
	pthread_mutex_lock(&s->lock);
	stopping = s->stopping;
	if (!stopping)
		TAILQ_INSERT_TAIL(&s->jobs, &p->job, link);
	pthread_mutex_unlock(&s->lock);
	if (stopping) {
		p->job.answer =
			(struct extender_answer){ .chosen = EXTENDER_NOWHERE, .error = "muster is stopping" };
		MHD_resume_connection(p->connection);
	} else {
		s->config.wanted(s->config.context);
	}
	return MHD_YES;
}

static enum MHD_Result on_post(struct serve *s, struct MHD_Connection *connection, const char *url,
                               const char *upload, size_t *upload_bytes, void **state)
{
	struct post *p = *state;

	if (!p) {
		p = must_alloc(sizeof(*p));
		p->serve = s;
		p->connection = connection;
		p->verb = strcmp(url, "/filter") == 0 ? EXTENDER_FILTER : EXTENDER_PRIORITIZE;
		*state = p;
		return MHD_YES;
	}
	if (*upload_bytes > 0) {
		post_collect(p, upload, *upload_bytes);
		*upload_bytes = 0;
		return MHD_YES;
	}
	return p->asked ? post_answer(p) : post_ask(p);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
	(void)context;
	(void)connection;
	(void)code;
	if (*state)
		post_free(*state);
	*state = NULL;
}

struct extender_job *serve_take_job(struct serve *s)
{
	struct extender_job *job;

	pthread_mutex_lock(&s->lock);
	job = TAILQ_FIRST(&s->jobs);
	if (job)
		TAILQ_REMOVE(&s->jobs, job, link);
	pthread_mutex_unlock(&s->lock);
	return job;
}

/* Those that the loop will not take any more. */
static void jobs_end(struct serve *s)
{
	struct extender_job *job;

	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_mutex_unlock(&s->lock);
	while ((job = serve_take_job(s)) != NULL) {
		job->answer =
			(struct extender_answer){ .chosen = EXTENDER_NOWHERE, .error = "muster is stopping" };
		job->done(job);
	}
}

/* ---- requests ------------------------------------------------------------------------------ */

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **state)
{
	struct serve *s = context;
	struct metrics *m;
	const char *why = NULL;
	char text[1000];
	enum MHD_Result queued;

	(void)version;
	if (s->config.extends && strcmp(method, "POST") == 0 &&
	    (strcmp(url, "/filter") == 0 || strcmp(url, "/prioritize") == 0))
		return on_post(s, connection, url, upload, upload_bytes, state);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answer_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
	if (strcmp(url, "/") == 0)
		return answer_page(connection);
	if (strcmp(url, "/state.json") == 0)
		return answer_state(s, connection);
	m = must_alloc(sizeof(*m));
	figures_take(s, m);
	if (s->config.monotonic_ns(NULL) - m->taken_ns > OLD_NS)
		why = "the loop does not run";
	if (strcmp(url, "/metrics") == 0) {
		queued = answer_written(connection, "text/plain; version=0.0.4; charset=utf-8", m,
		                        metrics_write);
	} else if (strcmp(url, "/latency") == 0) {
		queued = answer_written(connection, "application/json", m, write_latency);
	} else if (strcmp(url, "/healthz") == 0 || strcmp(url, "/livez") == 0) {
		queued = answer_line(connection, why ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_OK,
		                     why ? why : "ok");
	} else if (strcmp(url, "/readyz") == 0) {
		if (!why)
			why = metrics_not_ready(m, text, sizeof(text));
		queued = answer_line(connection, why ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
		                     why ? why : "ok");
	} else {
		queued = answer_line(connection, MHD_HTTP_NOT_FOUND,
		                     "/, /state.json, /metrics, /latency, /healthz, /livez, /readyz");
	}
	free(m);
	return queued;
}

static void serve_free(struct serve *s)
{
	pthread_cond_destroy(&s->fresh);
	pthread_mutex_destroy(&s->lock);
	free(s->state);
	free(s);
}

static struct serve *serve_new(const struct serve_config *config)
{
	struct serve *s = must_alloc(sizeof(*s));
	pthread_condattr_t attributes;

	s->config = *config;
	TAILQ_INIT(&s->jobs);
	s->metrics.taken_ns = config->monotonic_ns(NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->fresh, &attributes);
	pthread_condattr_destroy(&attributes);
	return s;
}

int serve_start(const struct serve_config *config, struct serve **out, char *error,
                size_t error_bytes)
{
	struct serve *s;
	union address address;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;

	if (address_read(config->listen, &address, error, error_bytes) < 0)
		return -EINVAL;
	if (address.any.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	s = serve_new(config);
	errno = 0;
	s->daemon =
		MHD_start_daemon(flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, &address.any,
	                     MHD_OPTION_CONNECTION_LIMIT, 32u, MHD_OPTION_CONNECTION_TIMEOUT, 10u,
	                     MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
	if (!s->daemon) {
		int rc = errno ? -errno : -EIO;

		snprintf(error, error_bytes, "can't listen on %s: %s", config->listen, strerror(-rc));
		serve_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void serve_stop(struct serve *s)
{
	if (!s)
		return;
	jobs_end(s);
	MHD_stop_daemon(s->daemon);
	serve_free(s);
}

unsigned serve_port(const struct serve *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

bool serve_is_wanted(struct serve *s)
{
	/* Relaxed: see figures_take(). */
	return atomic_exchange_explicit(&s->wanted, false, memory_order_relaxed);
}

void serve_update(struct serve *s, const struct metrics *m)
{
	pthread_mutex_lock(&s->lock);
	s->metrics = *m;
	s->updates++;
	pthread_cond_broadcast(&s->fresh);
	pthread_mutex_unlock(&s->lock);
}

bool serve_state_is_wanted(struct serve *s)
{
	/* Relaxed: see figures_take(). */
	return atomic_exchange_explicit(&s->state_wanted, false, memory_order_relaxed);
}

void serve_state_update(struct serve *s, const char *json, size_t bytes)
{
	pthread_mutex_lock(&s->lock);
	s->state = must_grow(s->state, bytes + 1);
	memcpy(s->state, json, bytes);
	s->state_bytes = bytes;
	s->state_ns = s->config.monotonic_ns(NULL);
	pthread_cond_broadcast(&s->fresh);
	pthread_mutex_unlock(&s->lock);
}
