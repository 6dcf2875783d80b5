/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/serve_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRESH_NS (200 * NS_PER_MS)  /* how long to wait for a busy loop */
#define RECENT_NS (100 * NS_PER_MS) /* health takes a snapshot that is not older */
#define HASTY_NS NS_PER_S           /* health does not wait again for so long */
#define OLD_NS (20 * NS_PER_S)      /* the loop has not run for that long: it hangs */
/* Between two snapshots for the port: a flood of requests does not keep the loop from its work. */
#define GAP_NS (5 * NS_PER_MS)

static enum MHD_Result answer_with(struct MHD_Connection *connection, unsigned status,
                                   const char *type, struct MHD_Response *r)
{
	enum MHD_Result queued;

	if (!r)
		fatal_memory();
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	queued = MHD_queue_response(connection, status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result answer_copied(struct MHD_Connection *connection, unsigned status,
                                     const char *type, const char *text, size_t bytes)
{
	/* libmicrohttpd copies it; its parameter lacks const. */
	return answer_with(
		connection, status, type,
		MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

enum MHD_Result serve_answer_owned(struct MHD_Connection *connection, unsigned status,
                                   const char *type, char *text, size_t bytes)
{
	return answer_with(connection, status, type,
	                   MHD_create_response_from_buffer_with_free_callback(bytes, text, free));
}

enum MHD_Result serve_answer_line(struct MHD_Connection *connection, unsigned status,
                                  const char *text)
{
	char line[1200];
	int n = snprintf(line, sizeof(line), "%s\n", text);

	return answer_copied(connection, status, "text/plain; charset=utf-8", line, (size_t)n);
}

static void write_latency(const struct metrics *m, FILE *out)
{
	latency_write(&m->latency, m->taken_ns, out);
}

/* Answers with what `write` prints of the metrics. */
static enum MHD_Result answer_written(struct MHD_Connection *connection, const char *type,
                                      const struct metrics *m,
                                      void (*write)(const struct metrics *m, FILE *out))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		fatal_memory();
	write(m, out);
	if (fclose(out) != 0)
		fatal_memory();
	return serve_answer_owned(connection, MHD_HTTP_OK, type, text, bytes);
}

struct timespec serve_after_ns(uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / NS_PER_S);
	until.tv_nsec = (long)(ns % NS_PER_S);
	return until;
}

bool serve_wait_fresh(struct serve *s, _Atomic bool *wanted, const uint64_t *published)
{
	struct timespec until = serve_after_ns(FRESH_NS);
	const uint64_t seen = *published;
	int rc = 0;

	/* Relaxed: the wake-up orders it, and the loop checks again in the end. */
	atomic_store_explicit(wanted, true, memory_order_relaxed);
	s->config.wanted(s->config.context);
	while (*published == seen && rc == 0)
		rc = pthread_cond_timedwait(&s->fresh, &s->lock, &until);
	return rc == 0;
}

static void port_counts_take(struct serve *s, struct port_counts *out)
{
	memcpy(out->refused, s->refused, sizeof(out->refused));
	out->body_bytes = s->body_bytes;
	if (s->port.daemon)
		connections_counts(s->port.connections, &out->listeners[PORT_MAIN]);
	if (s->health.daemon)
		connections_counts(s->health.connections, &out->listeners[PORT_HEALTH]);
}

/* A new snapshot, or the previous one if the loop is late. */
static void figures_take(struct serve *s, struct metrics *m)
{
	uint64_t age;

	pthread_mutex_lock(&s->lock);
	age = env_now(s->config.env) - s->metrics.taken_ns;
	if (age < GAP_NS) {
		struct timespec until = serve_after_ns(GAP_NS - age);

		while (pthread_cond_timedwait(&s->fresh, &s->lock, &until) == 0)
			;
	}
	serve_wait_fresh(s, &s->whole_wanted, &s->whole_updates);
	*m = s->metrics;
	metrics_queues_hold(m);
	pthread_mutex_unlock(&s->lock);
	port_counts_take(s, &m->port);
}

bool serve_is_health(const char *url)
{
	return strcmp(url, "/livez") == 0 || strcmp(url, "/readyz") == 0 ||
	       strcmp(url, "/healthz") == 0;
}

/* Why not, as text or in `text`; NULL if all is well.  With the lock held. */
static const char *health_fault(struct serve *s, bool ready, char *text, size_t text_bytes)
{
	if (env_now(s->config.env) - s->metrics.taken_ns > OLD_NS)
		return "the loop does not run";
	return ready ? metrics_not_ready(&s->metrics, text, text_bytes) : metrics_not_live(&s->metrics);
}

enum MHD_Result serve_health(struct serve *s, struct MHD_Connection *connection, const char *url,
                             bool hasty)
{
	const bool ready = strcmp(url, "/readyz") == 0;
	char text[1000], fault[1000];
	const char *why;
	uint64_t now;

	pthread_mutex_lock(&s->lock);
	now = env_now(s->config.env);
	if (!hasty)
		serve_wait_fresh(s, &s->wanted, &s->updates);
	else if (now - s->metrics.taken_ns > RECENT_NS && now >= s->hasty_until_ns &&
	         !serve_wait_fresh(s, &s->wanted, &s->updates))
		s->hasty_until_ns = now + HASTY_NS;
	why = health_fault(s, ready, text, sizeof(text));
	snprintf(fault, sizeof(fault), "%s", why ? why : "ok");
	pthread_mutex_unlock(&s->lock);
	return serve_answer_line(connection,
	                         !why    ? MHD_HTTP_OK
	                         : ready ? MHD_HTTP_SERVICE_UNAVAILABLE
	                                 : MHD_HTTP_INTERNAL_SERVER_ERROR,
	                         fault);
}

static enum MHD_Result answer_page(const struct page *page, struct MHD_Connection *connection)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		page->bytes, (void *)(uintptr_t)page->html, MHD_RESPMEM_PERSISTENT);

	if (!r)
		fatal_memory();
	MHD_add_response_header(r, "Content-Security-Policy", page->policy);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	return answer_with(connection, MHD_HTTP_OK, "text/html; charset=utf-8", r);
}

enum MHD_Result serve_get(struct serve *s, struct MHD_Connection *connection, const char *url)
{
	const enum question_kind kind = serve_question_kind(url);
	const bool all = strcmp(url, "/metrics") == 0;
	enum MHD_Result queued;
	struct metrics *m;

	if (strcmp(url, "/") == 0)
		return answer_page(s->config.page, connection);
	if (kind != QUESTIONS)
		return serve_question(s, connection, kind);
	if (!all && strcmp(url, "/latency") != 0)
		return serve_answer_line(connection, MHD_HTTP_NOT_FOUND,
		                         "/, /state.json, /metrics, /latency, /healthz, /livez, /readyz");
	m = must_alloc(sizeof(*m));
	figures_take(s, m);
	queued = answer_written(connection,
	                        all ? "text/plain; version=0.0.4; charset=utf-8" : "application/json",
	                        m, all ? metrics_write : write_latency);
	metrics_queues_give(m);
	free(m);
	return queued;
}
