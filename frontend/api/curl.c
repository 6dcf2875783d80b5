/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/curl.h"

#include "frontend/api/credentials.h"
#include "frontend/base/bytes.h"
#include "frontend/base/log.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_MS 10000
#define BODY_BYTES_MAX (256u << 20) /* a page of a list */
#define BODY_BYTES_KEPT (64u << 10) /* an idle handle keeps no more */
#define USER_TIMEOUT_MS 30000u
#define PERFORM_NS (100 * NS_PER_MS)

struct http_call {
	TAILQ_ENTRY(http_call) link;
	struct curl_transport *transport;
	CURL *easy;
	enum http_lane lane;
	struct http_handler handler;
	struct bytes url, send; /* of the request, terminated */
	struct bytes body;      /* of the answer, terminated if there is any */
	struct curl_slist *headers;
	const char *headers_type;    /* content type they were made for */
	uint64_t headers_generation; /* of the token in them */
	uint64_t tls_generation;     /* of the CA and the certificate that are set */
	uint64_t pair_generation;
	char error[CURL_ERROR_SIZE];
	bool guarded;   /* it is a write */
	bool reached;   /* connected, and about to be sent */
	bool repeated;  /* ... twice or more */
	bool forbidden; /* ... but may_write() returned false */
	bool stopped;   /* data() returned false */
	size_t body_bytes_max;
	bool too_large;
};
TAILQ_HEAD(call_list, http_call);

struct curl_transport {
	struct transport interface;
	struct curl_config config;
	CURLM *multi;
	char *base; /* URL up to the path */
	struct curl_slist *connect_to;
	struct credentials credentials;
	uint64_t pair_generation; /* of all watches */
	struct call_list idle[HTTP_LANES];
	struct call_list waiting[HTTP_LANES]; /* the lane is full */
	struct call_list active;
	unsigned active_n[HTTP_LANES];
	struct curl_counts counts;
	uint64_t performed_ns;
};

static void transport_renew(struct transport *interface)
{
	struct curl_transport *t = (struct curl_transport *)interface;

	t->counts.renewals++;
	credentials_renew(&t->credentials);
}

static bool body_add(struct http_call *c, const char *bytes, size_t n)
{
	if (c->body.n + n > c->body_bytes_max) {
		c->too_large = true;
		return false;
	}
	bytes_add(&c->body, bytes, n);
	*bytes_room(&c->body, 1) = '\0';
	return true;
}

static size_t on_data(char *bytes, size_t size, size_t n, void *context)
{
	struct http_call *c = context;
	long status = 0;
	bool go_on;

	if (c->handler.data) {
		curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
		go_on = c->handler.data(c->handler.context, (int)status, bytes, size * n);
		c->stopped = !go_on;
	} else {
		go_on = body_add(c, bytes, size * n);
	}
	return go_on ? size * n : 0;
}

/* Called when the connection is open and the request is about to be sent. libcurl sends again by
 * itself, also a request that was sent whole, when a kept connection ends before any byte of an
 * answer: so this, and not how the last try ended, decides whether anything may have reached the
 * server. */
static int on_request(void *context, char *ip, char *local_ip, int port, int local_port)
{
	struct http_call *c = context;
	struct curl_transport *t = c->transport;

	if (c->guarded && t->config.may_write && !t->config.may_write(t->config.context)) {
		c->forbidden = true; /* libcurl sets an error text of its own for that */
		return CURL_PREREQFUNC_ABORT;
	}
	c->repeated = c->reached;
	c->reached = true;
	return CURL_PREREQFUNC_OK;
}

/* A peer that does not acknowledge our bytes is given up. */
static int on_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
	struct curl_transport *t = context;
	unsigned timeout_ms =
		t->config.unacknowledged_ms ? t->config.unacknowledged_ms : USER_TIMEOUT_MS;

	t->counts.connects++;
	if (purpose == CURLSOCKTYPE_IPCXN)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	return CURL_SOCKOPT_OK;
}

/* Copied, since requests in flight use them. */
static void set_blob(CURL *easy, CURLoption option, const struct blob *b)
{
	struct curl_blob blob = { .data = b->at, .len = b->bytes, .flags = CURL_BLOB_COPY };

	if (b->at)
		curl_easy_setopt(easy, option, &blob);
}

/* libcurl does not reuse a connection that was made with other credentials. */
static void call_set_credentials(struct http_call *c)
{
	const struct credentials *now = &c->transport->credentials;

	set_blob(c->easy, CURLOPT_CAINFO_BLOB, credentials_ca(now));
	set_blob(c->easy, CURLOPT_SSLCERT_BLOB, credentials_cert(now));
	set_blob(c->easy, CURLOPT_SSLKEY_BLOB, credentials_key(now));
	c->tls_generation = now->tls_generation;
	c->pair_generation = now->pair_generation;
}

static void easy_set_tls(struct curl_transport *t, CURL *easy)
{
	const struct access *a = t->config.access;

	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, a->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, a->insecure ? 0L : 2L);
	if (a->ca.at)
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	if (t->connect_to)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, t->connect_to);
	curl_easy_setopt(easy, CURLOPT_PROXY, a->proxy ? a->proxy : ""); /* "": not the environment's */
}

static void easy_set(struct curl_transport *t, struct http_call *c)
{
	CURL *easy = c->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 20L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, t);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, c);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "muster-frontend/" MUSTER_VERSION);
	easy_set_tls(t, easy);
	call_set_credentials(c);
}

static struct http_call *call_take(struct curl_transport *t, enum http_lane lane)
{
	struct http_call *c = TAILQ_FIRST(&t->idle[lane]);

	if (c) {
		TAILQ_REMOVE(&t->idle[lane], c, link);
		return c;
	}
	c = must_alloc(sizeof(*c));
	c->transport = t;
	c->lane = lane;
	c->easy = curl_easy_init();
	if (!c->easy)
		fatal_memory();
	easy_set(t, c);
	return c;
}

static void call_free(struct http_call *c)
{
	curl_easy_cleanup(c->easy);
	curl_slist_free_all(c->headers);
	bytes_free(&c->url);
	bytes_free(&c->send);
	bytes_free(&c->body);
	free(c);
}

static void call_rest(struct http_call *c)
{
	if (c->body.cap > BODY_BYTES_KEPT)
		bytes_free(&c->body);
	TAILQ_INSERT_HEAD(&c->transport->idle[c->lane], c, link);
}

static void header_add(struct curl_slist **list, const char *header)
{
	struct curl_slist *longer = curl_slist_append(*list, header);

	if (!longer)
		fatal_memory();
	*list = longer;
}

/* Builds the headers if the token or the content type has changed. */
static void call_headers(struct http_call *c, const char *type)
{
	struct curl_transport *t = c->transport;
	char line[128];
	bool same_type =
		type == c->headers_type || (type && c->headers_type && strcmp(type, c->headers_type) == 0);

	if (c->headers && c->headers_generation == t->credentials.token_generation && same_type)
		return;
	curl_slist_free_all(c->headers);
	c->headers = NULL;
	header_add(&c->headers, "Accept: application/json");
	if (t->credentials.authorization)
		header_add(&c->headers, t->credentials.authorization);
	if (type) {
		snprintf(line, sizeof(line), "Content-Type: %s", type);
		header_add(&c->headers, line);
		header_add(&c->headers, "Expect:");
	}
	c->headers_type = type;
	c->headers_generation = t->credentials.token_generation;
	curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, c->headers);
}

static void call_method(struct http_call *c, const struct http_request *r)
{
	if (!r->content_type) {
		curl_easy_setopt(c->easy, CURLOPT_HTTPGET, 1L);
		curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST,
		                 strcmp(r->method, "GET") == 0 ? NULL : r->method);
		return;
	}
	c->send.n = 0;
	bytes_add(&c->send, r->body, r->body_bytes);
	*bytes_room(&c->send, 1) = '\0'; /* never NULL: libcurl would read standard input */
	curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->send.at);
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE, (long)r->body_bytes);
	curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST,
	                 strcmp(r->method, "POST") == 0 ? NULL : r->method);
}

static void call_begin(struct http_call *c)
{
	struct curl_transport *t = c->transport;

	credentials_refresh(&t->credentials);
	if (c->tls_generation != t->credentials.tls_generation)
		call_set_credentials(c);
	call_headers(c, c->headers_type);
	t->counts.requests[c->lane]++;
	t->active_n[c->lane]++;
	TAILQ_INSERT_TAIL(&t->active, c, link);
	if (curl_multi_add_handle(t->multi, c->easy) != CURLM_OK)
		fatal_memory();
}

static struct http_call *transport_start(struct transport *interface, const struct http_request *r,
                                         const struct http_handler *handler)
{
	struct curl_transport *t = (struct curl_transport *)interface;
	struct http_call *c = call_take(t, r->lane);

	c->handler = *handler;
	c->reached = false;
	c->repeated = false;
	c->guarded = !r->before_lease && strcmp(r->method, "GET") != 0;
	c->forbidden = false;
	c->stopped = false;
	c->too_large = false;
	c->body_bytes_max = BODY_BYTES_MAX;
	if (r->answer_bytes_max > 0 && r->answer_bytes_max < BODY_BYTES_MAX)
		c->body_bytes_max = r->answer_bytes_max;
	c->error[0] = '\0';
	c->body.n = 0;
	c->url.n = 0;
	bytes_put(&c->url, t->base);
	bytes_add(&c->url, r->path, strlen(r->path) + 1);
	if (r->answer_bytes > 0 && r->answer_bytes < c->body_bytes_max)
		bytes_room(&c->body, r->answer_bytes);
	curl_easy_setopt(c->easy, CURLOPT_URL, c->url.at);
	curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	curl_easy_setopt(c->easy, CURLOPT_FRESH_CONNECT, r->fresh_connection ? 1L : 0L);
	curl_easy_setopt(c->easy, CURLOPT_FORBID_REUSE, r->fresh_connection ? 1L : 0L);
	curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_LIMIT, r->silence_timeout_ms ? 1L : 0L);
	curl_easy_setopt(c->easy, CURLOPT_LOW_SPEED_TIME, (long)((r->silence_timeout_ms + 999) / 1000));
	call_method(c, r);
	call_headers(c, r->content_type);
	if (t->active_n[c->lane] < t->config.lane_max[c->lane])
		call_begin(c);
	else
		TAILQ_INSERT_TAIL(&t->waiting[c->lane], c, link);
	return c;
}

static bool call_is_waiting(const struct http_call *c)
{
	struct http_call *other;

	TAILQ_FOREACH (other, &c->transport->waiting[c->lane], link)
		if (other == c)
			return true;
	return false;
}

static void call_end(struct http_call *c)
{
	struct curl_transport *t = c->transport;
	struct http_call *next;

	curl_multi_remove_handle(t->multi, c->easy);
	TAILQ_REMOVE(&t->active, c, link);
	t->active_n[c->lane]--;
	next = TAILQ_FIRST(&t->waiting[c->lane]);
	if (next) {
		TAILQ_REMOVE(&t->waiting[c->lane], next, link);
		call_begin(next);
	}
}

static void transport_cancel(struct transport *interface, struct http_call *c)
{
	struct curl_transport *t = (struct curl_transport *)interface;

	if (call_is_waiting(c))
		TAILQ_REMOVE(&t->waiting[c->lane], c, link);
	else
		call_end(c);
	call_rest(c);
}

/* The error of a request without an answer. */
static const char *error_text(struct http_call *c, CURLcode code)
{
	if (c->too_large) {
		snprintf(c->error, sizeof(c->error), "the answer is longer than %zu bytes",
		         c->body_bytes_max);
		return c->error;
	}
	if (c->stopped)
		return "broken off";
	if (c->forbidden)
		return c->reached ? "not sent again: the lease is not held"
		                  : "not sent: the lease is not held";
	return c->error[0] ? c->error : curl_easy_strerror(code);
}

static void answer_read(struct http_call *c, CURLcode code, struct http_answer *out)
{
	curl_off_t retry_after = 0;
	long status = 0;

	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry_after);
	*out = (struct http_answer){
		.end = HTTP_ANSWERED,
		.status = (int)status,
		.repeated = c->repeated,
		.error = "",
		.buffer = &c->body,
		.retry_after_ms = retry_after > 0 ? (int64_t)retry_after * 1000 : -1,
	};
	if (code == CURLE_OK && status > 0)
		return;
	out->end = c->reached ? HTTP_BROKEN : HTTP_NOT_SENT;
	out->too_long = c->too_large;
	out->error = error_text(c, code);
}

/* In TLS 1.3 a client certificate is refused after the handshake: the connection breaks. The error
 * text of the library under libcurl alone does not show that it is about TLS. */
static void tls_failed(struct http_call *c, CURLcode code)
{
	bool of_tls = code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
	              code == CURLE_SSL_CERTPROBLEM;
	char said[CURL_ERROR_SIZE];

	if (of_tls || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR)
		credentials_distrusted(&c->transport->credentials);
	if (!of_tls || !c->error[0])
		return;
	memcpy(said, c->error, sizeof(said));
	snprintf(c->error, sizeof(c->error), "%s: %.180s", curl_easy_strerror(code), said);
}

static void call_finish(struct http_call *c, CURLcode code)
{
	struct curl_transport *t = c->transport;
	struct http_answer answer;

	tls_failed(c, code);
	answer_read(c, code, &answer);
	if (answer.end == HTTP_NOT_SENT)
		t->counts.not_sent++;
	else if (answer.end == HTTP_BROKEN)
		t->counts.broken++;
	else if (answer.status >= 100 && answer.status < 600)
		t->counts.by_class[answer.status / 100]++;
	call_end(c);
	c->handler.done(c->handler.context, &answer, c->body.n ? c->body.at : "", c->body.n);
	call_rest(c);
}

/* Ends watches that were opened with an old certificate, as if the server had ended them. Other
 * requests are short. */
static void watches_end(struct curl_transport *t)
{
	struct http_call *c;

again:
	TAILQ_FOREACH (c, &t->active, link) {
		if (c->lane != HTTP_WATCH || c->pair_generation == t->credentials.pair_generation)
			continue;
		call_finish(c, CURLE_OK);
		goto again; /* the callback may have started the next watch */
	}
	t->pair_generation = t->credentials.pair_generation;
}

/* Each call asks the kernel about the connection of each transfer, one by one: it is left out when
 * none has news, no timer of libcurl has run down, and the last one was not long ago. */
static void perform(struct curl_transport *t, int ready)
{
	const uint64_t now = env_now(t->config.env);
	long due_ms = -1;
	int running;

	/* 0 as well after a transfer was added, or has more to read */
	curl_multi_timeout(t->multi, &due_ms);
	if (ready == 0 && due_ms != 0 && now - t->performed_ns < PERFORM_NS)
		return;
	t->performed_ns = now;
	curl_multi_perform(t->multi, &running);
}

uint64_t curl_transport_poll(struct curl_transport *t, uint32_t timeout_ms, int extra_fd,
                             bool *extra_ready)
{
	struct curl_waitfd extra = { .fd = extra_fd, .events = CURL_WAIT_POLLIN };
	struct pollfd look = { .fd = extra_fd, .events = POLLIN };
	int left, ready = 0;
	uint64_t waited_ns = 0;
	CURLMsg *m;

	perform(t, 0);
	m = curl_multi_info_read(t->multi, &left);
	if (!m) {
		const uint64_t from_ns = env_now(t->config.env);

		curl_multi_poll(t->multi, extra_fd >= 0 ? &extra : NULL, extra_fd >= 0 ? 1 : 0,
		                (int)timeout_ms, &ready);
		waited_ns = env_now(t->config.env) - from_ns;
		perform(t, ready);
		m = curl_multi_info_read(t->multi, &left);
	} else if (extra_fd >= 0 && poll(&look, 1, 0) > 0) {
		extra.revents = look.revents;
	}
	*extra_ready = extra.revents != 0;
	while (m) {
		struct http_call *c;
		CURLcode code = m->data.result;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
		if (m->msg == CURLMSG_DONE)
			call_finish(c, code);
		m = curl_multi_info_read(t->multi, &left);
	}
	if (t->pair_generation != t->credentials.pair_generation)
		watches_end(t);
	perform(t, 0); /* what the callbacks started goes out before the caller's work */
	return waited_ns;
}

void curl_transport_wake(struct curl_transport *t)
{
	curl_multi_wakeup(t->multi);
}

static const struct transport_ops curl_ops = {
	.start = transport_start,
	.cancel = transport_cancel,
	.renew_credentials = transport_renew,
};

/* With tls-server-name the URL has that name, and CONNECT_TO the real host. */
static void base_make(struct curl_transport *t, const char **error)
{
	const struct access *a = t->config.access;
	char *host = NULL, *port = NULL, *path = NULL, *scheme = NULL, *line;
	CURLU *url = curl_url();

	if (!url)
		fatal_memory();
	if (curl_url_set(url, CURLUPART_URL, a->server, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PATH, &path, 0) != CURLUE_OK) {
		*error = "the server's URL can't be read";
	} else if (a->tls_server_name) {
		if (asprintf(&t->base, "%s://%s:%s%s", scheme, a->tls_server_name, port,
		             strcmp(path, "/") ? path : "") < 0 ||
		    asprintf(&line, "%s:%s:%s:%s", a->tls_server_name, port, host, port) < 0)
			fatal_memory();
		header_add(&t->connect_to, line);
		free(line);
	} else {
		t->base = must_copy(a->server);
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_url_cleanup(url);
}

/* As many idle connections as the lanes of short requests may use: another handshake costs more
 * than a kept connection. */
static long connections_kept(const struct curl_config *config)
{
	return 64L + (long)config->lane_max[HTTP_BIND] + (long)config->lane_max[HTTP_REPORT];
}

/* libcurl with GnuTLS ignores a CA and a client certificate in memory (docs/decisions/103). */
static bool ignores_blobs(void)
{
	const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;

	return !library || strncmp(library, "GnuTLS", 6) == 0;
}

struct curl_transport *curl_transport_new(const struct curl_config *config, const char **error)
{
	struct curl_transport *t = must_alloc(sizeof(*t));

	*error = NULL;
	t->interface.ops = &curl_ops;
	t->config = *config;
	TAILQ_INIT(&t->active);
	for (int lane = 0; lane < HTTP_LANES; lane++) {
		TAILQ_INIT(&t->idle[lane]);
		TAILQ_INIT(&t->waiting[lane]);
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(t->multi = curl_multi_init()))
		*error = "libcurl can't be set up";
	else if (ignores_blobs())
		*error = "libcurl is the one with GnuTLS, muster needs the one with OpenSSL "
				 "(libcurl4-openssl-dev)";
	else
		base_make(t, error);
	if (*error) {
		curl_transport_free(t);
		return NULL;
	}
	curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, connections_kept(config));
	curl_multi_setopt(t->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	credentials_init(&t->credentials, config->access, config->env);
	return t;
}

static void calls_free(struct call_list *list)
{
	struct http_call *c;

	while ((c = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, c, link);
		call_free(c);
	}
}

void curl_transport_free(struct curl_transport *t)
{
	struct http_call *c;

	if (!t)
		return;
	TAILQ_FOREACH (c, &t->active, link)
		curl_multi_remove_handle(t->multi, c->easy);
	calls_free(&t->active);
	for (int lane = 0; lane < HTTP_LANES; lane++) {
		calls_free(&t->idle[lane]);
		calls_free(&t->waiting[lane]);
	}
	if (t->multi)
		curl_multi_cleanup(t->multi);
	curl_slist_free_all(t->connect_to);
	free(t->base);
	credentials_free(&t->credentials);
	free(t);
}

struct transport *curl_transport_interface(struct curl_transport *t)
{
	return &t->interface;
}

const struct curl_counts *curl_transport_counts(const struct curl_transport *t)
{
	return &t->counts;
}
