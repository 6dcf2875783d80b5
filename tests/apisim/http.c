/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/http.h"

#include "tests/apisim/api.h"
#include "tests/apisim/kubelet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BODY_BYTES_MAX ((size_t)3 * 1024 * 1024)
#define CONNECTIONS_MAX 4000
/* MHD clears all of it between two requests of a connection. */
#define CONNECTION_BYTES ((size_t)32 * 1024)
#define NS_PER_MS UINT64_C(1000000)

struct as_server {
	struct as_api *api;
	struct as_kubelets *kubelets;
	struct as_server_config config;
	struct MHD_Daemon *daemon;
	int epoll_fd; /* MHD's, the stop fd, and connections that sleep */
	uint64_t now_ns;
	struct exchange *asleep;  /* suspended: held answers and idle watches */
	struct exchange *streams; /* all watches */
	bool stopping;            /* nothing may fall asleep any more */
	char trouble[256];        /* last message of MHD */
	bool woken;               /* MHD_run() has work that MHD_get_timeout() hides */
};

/* One request and its answer. */
struct exchange {
	struct as_server *server;
	struct MHD_Connection *connection;
	char *target;
	struct as_text body;
	bool begun, too_large, handled;
	struct as_response response;
	uint64_t held_until_ns;
	bool sleeps, gone; /* gone: end the stream by an error */
	struct exchange *asleep_next, *asleep_before;
	struct exchange *stream_next, *stream_before;
};

uint64_t as_clock_ns(void)
{
	static uint64_t offset;
	struct timespec t;
	uint64_t monotonic;

	clock_gettime(CLOCK_MONOTONIC, &t);
	monotonic = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (offset == 0) {
		clock_gettime(CLOCK_REALTIME, &t);
		offset = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - monotonic;
	}
	return monotonic + offset;
}

static int socket_of(const struct exchange *x)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info != NULL ? info->connect_fd : -1;
}

/* MHD does not look at a suspended connection, so a client that leaves one is
 * noticed here. */
static void fall_asleep(struct exchange *x)
{
	struct as_server *s = x->server;
	struct epoll_event e = { .events = EPOLLRDHUP, .data.ptr = x };

	x->sleeps = true;
	x->asleep_before = NULL;
	x->asleep_next = s->asleep;
	if (s->asleep != NULL)
		s->asleep->asleep_before = x;
	s->asleep = x;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, socket_of(x), &e);
	MHD_suspend_connection(x->connection);
}

static void wake_up(struct exchange *x)
{
	struct as_server *s = x->server;

	x->sleeps = false;
	if (x->asleep_next != NULL)
		x->asleep_next->asleep_before = x->asleep_before;
	if (x->asleep_before != NULL)
		x->asleep_before->asleep_next = x->asleep_next;
	else
		s->asleep = x->asleep_next;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, socket_of(x), NULL);
	MHD_resume_connection(x->connection);
	s->woken = true;
}

static void cut_stream(struct exchange *x)
{
	x->gone = true;
	shutdown(socket_of(x), SHUT_RDWR);
	if (x->sleeps)
		wake_up(x);
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t room)
{
	struct exchange *x = context;
	enum as_watch_state state;
	size_t n;

	if (x->gone || x->server->stopping)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = as_watch_read(x->response.watch, x->server->now_ns, out, room, &state);
	if (n > 0)
		return (ssize_t)n;
	if (state == AS_WATCH_ENDED)
		return MHD_CONTENT_READER_END_OF_STREAM;
	fall_asleep(x);
	return 0;
}

static void join_streams(struct exchange *x)
{
	struct as_server *s = x->server;

	x->stream_next = s->streams;
	if (s->streams != NULL)
		s->streams->stream_before = x;
	s->streams = x;
}

static void leave_streams(struct exchange *x)
{
	if (x->stream_next != NULL)
		x->stream_next->stream_before = x->stream_before;
	if (x->stream_before != NULL)
		x->stream_before->stream_next = x->stream_next;
	else
		x->server->streams = x->stream_next;
}

static enum MHD_Result answer(struct exchange *x)
{
	struct as_response *response = &x->response;
	struct MHD_Response *r;
	enum MHD_Result rc;

	if (response->cut)
		return MHD_NO;
	if (response->watch != NULL) {
		r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64 * 1024, read_stream, x, NULL);
		join_streams(x);
	} else {
		r = MHD_create_response_from_buffer(response->body.bytes, response->body.at,
		                                    MHD_RESPMEM_MUST_FREE);
		response->body = (struct as_text){ 0 };
	}
	if (r == NULL)
		as_die("out of memory for a response");
	MHD_add_response_header(r, "Content-Type", response->content_type);
	if (response->retry_after_s > 0) {
		char seconds[16];

		snprintf(seconds, sizeof(seconds), "%u", response->retry_after_s);
		MHD_add_response_header(r, "Retry-After", seconds);
	}
	rc = MHD_queue_response(x->connection, (unsigned)response->status, r);
	MHD_destroy_response(r);
	return rc;
}

static void refuse(struct exchange *x, int code, const char *reason)
{
	x->response = (struct as_response){ .status = code, .content_type = "application/json" };
	as_text_printf(
		&x->response.body,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}\n",
		reason, reason, code);
}

static bool is_health(const char *path)
{
	return strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0 ||
	       strcmp(path, "/readyz") == 0;
}

/* In constant time: it does not reveal how many bytes of the token match. */
static bool token_is_right(const char *header, const char *token)
{
	size_t n = strlen(token);
	unsigned char difference = 0;

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0 || strlen(header + 7) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		difference |= (unsigned char)(header[7 + i] ^ token[i]);
	return difference == 0;
}

static void handle(struct exchange *x, const char *path, const char *method)
{
	struct as_server *s = x->server;
	struct as_request request = {
		.method = method,
		.target = x->target,
		.content_type = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
		                                            MHD_HTTP_HEADER_CONTENT_TYPE),
		.accept =
			MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
		.body = x->body.at != NULL ? x->body.at : "",
		.body_bytes = x->body.bytes,
		.now_ns = s->now_ns,
	};
	uint32_t hold_ms;

	x->handled = true;
	if (s->config.token != NULL && !is_health(path) &&
	    !token_is_right(MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
	                                                MHD_HTTP_HEADER_AUTHORIZATION),
	                    s->config.token)) {
		refuse(x, 401, "Unauthorized");
		return;
	}
	if (x->too_large) {
		refuse(x, 413, "RequestEntityTooLarge");
		return;
	}
	as_api_handle(s->api, &request, &x->response);
	if (x->response.cut_watches)
		for (struct exchange *w = s->streams; w != NULL; w = w->stream_next)
			cut_stream(w);
	hold_ms = x->response.delay_ms + (x->response.watch == NULL ? s->config.latency_ms : 0);
	if (hold_ms > 0)
		x->held_until_ns = s->now_ns + hold_ms * NS_PER_MS;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *data, size_t *bytes, void **state)
{
	struct exchange *x = *state;

	if (!x->begun) {
		x->begun = true;
		x->connection = connection;
		return MHD_YES;
	}
	if (*bytes > 0) {
		x->too_large = x->too_large || x->body.bytes + *bytes > BODY_BYTES_MAX;
		if (!x->too_large)
			as_text_add(&x->body, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	if (!x->handled)
		handle(x, path, method);
	if (x->held_until_ns > x->server->now_ns && !x->gone && !x->server->stopping) {
		fall_asleep(x);
		return MHD_YES;
	}
	return answer(x);
}

/* MHD decodes the path and splits off the query; the server needs both as sent. */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
	struct exchange *x = as_alloc(sizeof(*x));

	x->server = context;
	x->target = as_copy(target);
	return x;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
	struct exchange *x = *state;

	if (x == NULL)
		return;
	if (x->response.watch != NULL) {
		if (x->stream_before != NULL || x->server->streams == x)
			leave_streams(x);
		as_watch_free(x->response.watch);
	}
	free(x->target);
	as_text_free(&x->body);
	as_text_free(&x->response.body);
	free(x);
	*state = NULL;
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format,
                                                         va_list list)
{
	struct as_server *s = context;

	/* A client that disconnects is not logged; a start that fails is. */
	vsnprintf(s->trouble, sizeof(s->trouble), format, list);
}

static void watch_fd(struct as_server *s, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL };

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		as_die("epoll_ctl: %s", strerror(errno));
}

struct as_server *as_server_start(struct as_api *api, struct as_kubelets *kubelets,
                                  const struct as_server_config *config)
{
	struct as_server *s = as_alloc(sizeof(*s));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(config->port) };
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = { { MHD_OPTION_END, 0, NULL },
		                            { MHD_OPTION_END, 0, NULL },
		                            { MHD_OPTION_END, 0, NULL } };

	*s = (struct as_server){ .api = api, .kubelets = kubelets, .config = *config };
	if (inet_pton(AF_INET, config->address, &address.sin_addr) != 1) {
		fprintf(stderr, "muster-apisim: %s is not an IPv4 address\n", config->address);
		free(s);
		return NULL;
	}
	if (config->key_pem != NULL) {
		flags |= MHD_USE_TLS;
		tls[0] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0,
			                              (void *)(uintptr_t)config->key_pem };
		tls[1] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0,
			                              (void *)(uintptr_t)config->certificate_pem };
	}
	s->now_ns = as_clock_ns();
	s->daemon = MHD_start_daemon(
		flags, config->port, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log, s,
		MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (s->daemon == NULL) {
		fprintf(stderr, "muster-apisim: can't listen on %s:%u: %s\n", config->address, config->port,
		        s->trouble[0] != '\0' ? s->trouble : strerror(errno));
		free(s);
		return NULL;
	}
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		as_die("epoll_create1: %s", strerror(errno));
	watch_fd(s, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
	return s;
}

uint16_t as_server_port(const struct as_server *s)
{
	return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

/* Wakes exchanges that have something to send; returns when the next one is due. */
static uint64_t wake_sleepers(struct as_server *s)
{
	uint64_t due = UINT64_MAX;

	for (struct exchange *x = s->asleep, *next; x != NULL; x = next) {
		uint64_t own;

		next = x->asleep_next;
		if (x->response.watch != NULL && x->held_until_ns <= s->now_ns) {
			own = as_watch_due_ns(x->response.watch);
			if (as_watch_ready(x->response.watch, s->now_ns)) {
				wake_up(x);
				continue;
			}
		} else {
			own = x->held_until_ns;
			if (own <= s->now_ns) {
				wake_up(x);
				continue;
			}
		}
		if (own < due)
			due = own;
	}
	return due;
}

static void drop_slow(struct as_server *s)
{
	for (struct exchange *x = s->streams; x != NULL; x = x->stream_next)
		if (!x->gone && as_watch_lags(x->response.watch)) {
			as_api_count_lag(s->api);
			cut_stream(x);
		}
}

static int wait_ms(const struct as_server *s, uint64_t due_ns)
{
	MHD_UNSIGNED_LONG_LONG own;
	uint64_t ms = 60000;

	if (s->woken || due_ns <= s->now_ns)
		return 0;
	if (due_ns != UINT64_MAX && (due_ns - s->now_ns) / NS_PER_MS < ms)
		ms = (due_ns - s->now_ns) / NS_PER_MS + 1;
	if (MHD_get_timeout(s->daemon, &own) == MHD_YES && own < ms)
		ms = own;
	return (int)ms;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void as_server_run(struct as_server *s, int stop_fd)
{
	struct epoll_event events[64];
	struct epoll_event stop = { .events = EPOLLIN, .data.ptr = s };

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, stop_fd, &stop) < 0)
		as_die("epoll_ctl: %s", strerror(errno));
	for (;;) {
		uint64_t due;
		int n;

		s->now_ns = as_clock_ns();
		s->woken = false;
		MHD_run(s->daemon);
		s->now_ns = as_clock_ns();
		as_api_advance(s->api, s->now_ns);
		as_kubelets_run(s->kubelets, s->now_ns);
		due = earlier(as_api_due_ns(s->api), as_kubelets_due_ns(s->kubelets));
		drop_slow(s);
		due = earlier(due, wake_sleepers(s));
		n = epoll_wait(s->epoll_fd, events, 64, wait_ms(s, due));
		for (int i = 0; i < n; i++) {
			struct exchange *x = events[i].data.ptr;

			if (events[i].data.ptr == s)
				return;
			if (x == NULL || !x->sleeps)
				continue;
			x->gone = true;
			wake_up(x);
		}
	}
}

void as_server_stop(struct as_server *s)
{
	s->stopping = true;
	while (s->asleep != NULL)
		wake_up(s->asleep);
	MHD_run(s->daemon);
	MHD_stop_daemon(s->daemon);
	close(s->epoll_fd);
	free(s);
}
