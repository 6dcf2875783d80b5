/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/serve_impl.h"

#include "frontend/serve/address.h"
#include "frontend/serve/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PORT_CONNECTIONS 128u
#define PORT_CONNECTIONS_OF_ADDRESS 32u
#define PORT_DEADLINE_MS 10000u
#define HEALTH_CONNECTIONS 32u
#define HEALTH_CONNECTIONS_OF_ADDRESS 16u
#define HEALTH_DEADLINE_MS 5000u
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define CONNECTION_BYTES 32768u /* headers, and pieces of bodies */

void serve_refused(struct serve *s, enum port_refusal why, const char *what, const char *text)
{
	struct log_field fields[] = { { .key = "value", .text = text ? text : "" } };

	s->refused[why]++;
	s->refused_limit[why].most = 1;
	if (log_allowed(&s->refused_limit[why], s->config.env, what))
		env_tell(s->config.env, "warn", what, fields, 1);
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Browsers send both fields, and pages cannot change them. */
static const char *site_fault(struct serve *s, struct MHD_Connection *connection)
{
	const char *host = header(connection, MHD_HTTP_HEADER_HOST);
	const char *origin = header(connection, MHD_HTTP_HEADER_ORIGIN);

	if (!request_host_is_allowed(host, s->config.allowed_hosts, s->config.allowed_hosts_n)) {
		serve_refused(s, PORT_HOST, "a request for a host that --allowed-hosts does not name",
		              host);
		return "this Host is not allowed: see --allowed-hosts";
	}
	if (origin && !request_origin_is_own(origin, host)) {
		serve_refused(s, PORT_ORIGIN, "a request of another site's page", origin);
		return "this Origin is not allowed";
	}
	return NULL;
}

static bool is_read(const char *method)
{
	return strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **state)
{
	struct serve *s = context;
	const char *fault;

	if (*state)
		return serve_post(s, connection, url, upload, upload_bytes, state);
	connections_advance(s->port.connections, connection);
	if (is_read(method) && serve_is_health(url))
		return serve_health(s, connection, url, false);
	fault = site_fault(s, connection);
	if (fault)
		return serve_answer_line(connection, MHD_HTTP_FORBIDDEN, fault);
	if (strcmp(method, MHD_HTTP_METHOD_POST) == 0 &&
	    (strcmp(url, "/pod") == 0 ||
	     (s->config.extends && (strcmp(url, "/filter") == 0 || strcmp(url, "/prioritize") == 0))))
		return serve_post(s, connection, url, upload, upload_bytes, state);
	if (!is_read(method))
		return serve_answer_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
	return serve_get(s, connection, url);
}

static enum MHD_Result on_health(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_bytes, void **state)
{
	struct serve *s = context;

	connections_advance(s->health.connections, connection);
	if (!is_read(method))
		return serve_answer_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
	if (!serve_is_health(url))
		return serve_answer_line(connection, MHD_HTTP_NOT_FOUND, "/healthz, /livez, /readyz");
	return serve_health(s, connection, url, true);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
	struct serve *s = context;

	connections_advance(s->port.connections, connection);
	if (*state)
		serve_post_end(s, *state);
	*state = NULL;
}

static void on_health_completed(void *context, struct MHD_Connection *connection, void **state,
                                enum MHD_RequestTerminationCode code)
{
	struct serve *s = context;

	connections_advance(s->health.connections, connection);
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

struct review_job *serve_take_review(struct serve *s)
{
	struct review_job *job;

	pthread_mutex_lock(&s->lock);
	job = TAILQ_FIRST(&s->reviews);
	if (job)
		TAILQ_REMOVE(&s->reviews, job, link);
	pthread_mutex_unlock(&s->lock);
	return job;
}

/* How a listener differs from the other one. */
struct listener_config {
	const char *listen;
	const char *flag;
	MHD_AccessHandlerCallback on_request;
	MHD_RequestCompletedCallback on_completed;
	struct connections_config connections;
	struct tls *tls; /* NULL: plain */
};

/* Appends what TLS needs to options, which have space for three more and the end. */
static void tls_options(const struct tls *t, struct MHD_OptionItem *at)
{
	*at++ = (struct MHD_OptionItem){ .option = MHD_OPTION_HTTPS_PRIORITIES,
		                             .ptr_value = (void *)(uintptr_t)TLS_PRIORITIES };
	*at++ = (struct MHD_OptionItem){ .option = MHD_OPTION_HTTPS_CERT_CALLBACK,
		                             .ptr_value = (void *)(uintptr_t)tls_certificate };
	if (tls_client_ca(t))
		*at++ = (struct MHD_OptionItem){ .option = MHD_OPTION_HTTPS_MEM_TRUST,
			                             .ptr_value = (void *)(uintptr_t)tls_client_ca(t) };
}

static int listener_start(struct serve *s, const struct listener_config *c, struct listener *out,
                          char *error, size_t error_bytes)
{
	unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem more[4] = { { .option = MHD_OPTION_END } };
	union address address;
	int rc;

	if (address_is_off(c->listen))
		return 0;
	rc = address_read(c->listen, &address, error, error_bytes);
	if (rc < 0)
		return rc;
	if (address.any.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (c->tls) {
		flags |= MHD_USE_TLS;
		tls_options(c->tls, more);
	}
	out->connections = connections_new(&c->connections);
	errno = 0;
	out->daemon = MHD_start_daemon(flags, 0, NULL, NULL, c->on_request, s, MHD_OPTION_SOCK_ADDR,
	                               &address.any, MHD_OPTION_CONNECTION_LIMIT, c->connections.most,
	                               MHD_OPTION_CONNECTION_TIMEOUT, c->connections.deadline_ms / 1000,
	                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
	                               MHD_OPTION_NOTIFY_COMPLETED, c->on_completed, s,
	                               MHD_OPTION_NOTIFY_CONNECTION, connections_notify,
	                               out->connections, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
	if (out->daemon)
		return 0;
	rc = errno ? -errno : -EIO;
	snprintf(error, error_bytes, "%s: can't listen on %s: %s", c->flag, c->listen, strerror(-rc));
	return rc;
}

static void listener_stop(struct listener *l)
{
	if (l->daemon)
		MHD_stop_daemon(l->daemon);
	connections_free(l->connections);
	*l = (struct listener){ 0 };
}

static void serve_free(struct serve *s)
{
	listener_stop(&s->health);
	listener_stop(&s->port);
	tls_free(s->tls);
	serve_questions_free(s);
	metrics_queues_give(&s->metrics);
	pthread_cond_destroy(&s->fresh);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct serve *serve_new(const struct serve_config *config)
{
	struct serve *s = must_alloc(sizeof(*s));
	pthread_condattr_t attributes;

	s->config = *config;
	TAILQ_INIT(&s->jobs);
	TAILQ_INIT(&s->reviews);
	s->metrics.taken_ns = env_now(config->env);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->fresh, &attributes);
	pthread_condattr_destroy(&attributes);
	return s;
}

static int tls_start(struct serve *s, char *error, size_t error_bytes)
{
	const struct tls_files files = { .cert = s->config.tls_cert,
		                             .key = s->config.tls_key,
		                             .client_ca = s->config.client_ca };

	return files.cert ? tls_new(&files, s->config.env, &s->tls, error, error_bytes) : 0;
}

static int port_start(struct serve *s, char *error, size_t error_bytes)
{
	const struct listener_config port = {
		.listen = s->config.listen,
		.flag = "--listen",
		.on_request = on_request,
		.on_completed = on_completed,
		.connections = { PORT_CONNECTIONS, PORT_CONNECTIONS_OF_ADDRESS, PORT_DEADLINE_MS },
		.tls = s->tls,
	};

	return listener_start(s, &port, &s->port, error, error_bytes);
}

static int health_start(struct serve *s, char *error, size_t error_bytes)
{
	const struct listener_config health = {
		.listen = s->config.health_listen,
		.flag = "--health-listen",
		.on_request = on_health,
		.on_completed = on_health_completed,
		.connections = { HEALTH_CONNECTIONS, HEALTH_CONNECTIONS_OF_ADDRESS, HEALTH_DEADLINE_MS },
	};

	return listener_start(s, &health, &s->health, error, error_bytes);
}

int serve_start(const struct serve_config *config, struct serve **out, char *error,
                size_t error_bytes)
{
	struct serve *s = serve_new(config);
	int rc = tls_start(s, error, error_bytes);

	if (rc == 0)
		rc = port_start(s, error, error_bytes);
	if (rc == 0)
		rc = health_start(s, error, error_bytes);
	if (rc < 0) {
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
	serve_posts_stop(s);
	serve_free(s);
}

unsigned serve_port(const struct serve *s)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(s->port.daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

bool serve_is_wanted(struct serve *s, bool *whole)
{
	bool wanted;

	/* Relaxed: see serve_wait_fresh(). */
	wanted = atomic_exchange_explicit(&s->wanted, false, memory_order_relaxed);
	*whole = atomic_exchange_explicit(&s->whole_wanted, false, memory_order_relaxed);
	return wanted || *whole;
}

void serve_update(struct serve *s, const struct metrics *m, bool whole)
{
	pthread_mutex_lock(&s->lock);
	metrics_queues_give(&s->metrics);
	s->metrics = *m;
	metrics_queues_hold(&s->metrics);
	s->updates++;
	s->whole_updates += whole;
	pthread_cond_broadcast(&s->fresh);
	pthread_mutex_unlock(&s->lock);
}
