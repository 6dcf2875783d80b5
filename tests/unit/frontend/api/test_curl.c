/* SPDX-License-Identifier: Apache-2.0 */
/* The transport against a server that a thread plays: above all, whether a request
 * that failed may have reached it. */
#include "frontend/api/curl.h"

#include "frontend/base/log.h"
#include "tests/unit/support_pair.h"
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* What the server does with each connection, one step a letter:
 *
 *   r  read a request      a  answer it       c  close the connection
 *   l  close the listener  s  answer 429      h  answer half of the body
 *   p  answer in pieces    ,  accept the next connection
 */
struct server {
	int listener;
	uint16_t port;
	const char *script;
	char seen[16384]; /* all requests, one behind the other */
	unsigned accepted;
	pthread_t thread;
};

static void request_read(struct server *s, int fd)
{
	char *end, *at = s->seen + strlen(s->seen), *begin = at;
	size_t length = 0;

	while (!(end = strstr(begin, "\r\n\r\n"))) {
		ssize_t n = read(fd, at, sizeof(s->seen) - (size_t)(at - s->seen) - 1);

		if (n <= 0)
			return;
		at += n;
		*at = '\0';
	}
	if (strstr(begin, "Content-Length: "))
		length = strtoul(strstr(begin, "Content-Length: ") + 16, NULL, 10);
	while ((size_t)(at - end - 4) < length) {
		ssize_t n = read(fd, at, sizeof(s->seen) - (size_t)(at - s->seen) - 1);

		if (n <= 0)
			return;
		at += n;
		*at = '\0';
	}
}

static void say(int fd, const char *text)
{
	ssize_t n = send(fd, text, strlen(text), MSG_NOSIGNAL);

	(void)n;
}

static void pieces_say(int fd)
{
	static const char *const pieces[] = {
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
		"llo\r\n",
		"6\r\n world\r\n",
		"0\r\n\r\n",
	};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		say(fd, pieces[i]);
		usleep(5000);
	}
}

static void *server_run(void *context)
{
	struct server *s = context;
	int fd = -1;

	for (const char *step = s->script; *step; step++) {
		if (fd < 0 && *step != 'l' && *step != ',') {
			fd = accept(s->listener, NULL, NULL);
			s->accepted++;
		}
		switch (*step) {
		case 'r':
			request_read(s, fd);
			break;
		case 'a':
			say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
			break;
		case 's':
			say(fd, "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nslow");
			break;
		case 'h':
			say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf");
			break;
		case 'p':
			pieces_say(fd);
			break;
		case 'l':
			close(s->listener);
			s->listener = -1;
			break;
		case 'c':
			close(fd);
			fd = -1;
			break;
		}
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static struct bench {
	struct server server;
	struct access access;
	struct env env;
	struct curl_transport *t;
	unsigned asked, refuse; /* may_write(): the call that says no; 0: none does */
	char url[64];
	unsigned done;
	struct http_answer last;
	char error[300];
	char body[256];
	char pieces[256];
} b;

static uint64_t real_now(void *context)
{
	return clock_monotonic_ns();
}

static void no_log(void *context, const char *level, const char *message)
{
}

static bool may_write(void *context)
{
	return ++b.asked != b.refuse;
}

/* Also in a test, before what the server has seen is read. */
static void end(void)
{
	if (!b.t)
		return;
	curl_transport_free(b.t);
	if (b.server.listener >= 0)
		shutdown(b.server.listener, SHUT_RDWR);
	pthread_join(b.server.thread, NULL);
	if (b.server.listener >= 0)
		close(b.server.listener);
	free(b.access.token);
	b.t = NULL;
}

static void begin_with(const char *script, const char *scheme, unsigned lane_max)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(address);
	struct curl_config config = { .access = &b.access,
		                          .env = &b.env,
		                          .may_write = may_write,
		                          .context = &b,
		                          .unacknowledged_ms = 1234 };
	const char *error;

	memset(&b, 0, sizeof(b));
	b.server.script = script;
	b.server.listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(b.server.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(b.server.listener, 16), 0);
	getsockname(b.server.listener, (struct sockaddr *)&address, &n);
	b.server.port = ntohs(address.sin_port);
	snprintf(b.url, sizeof(b.url), "%s://127.0.0.1:%u", scheme, b.server.port);
	b.access.server = b.url;
	b.access.token = strdup("sesame");
	b.env = (struct env){ .monotonic_ns = real_now, .log = no_log };
	for (int i = 0; i < HTTP_LANES; i++)
		config.lane_max[i] = lane_max;
	b.t = curl_transport_new(&config, &error);
	cr_assert(b.t, "%s", error);
	pthread_create(&b.server.thread, NULL, server_run, &b.server);
}

static void begin(const char *script)
{
	begin_with(script, "http", 8);
}

TestSuite(curl, .fini = end);

static void on_done(void *context, const struct http_answer *answer, const char *body,
                    size_t body_bytes)
{
	b.done++;
	b.last = *answer;
	snprintf(b.error, sizeof(b.error), "%s", answer->error);
	snprintf(b.body, sizeof(b.body), "%.*s", (int)body_bytes, body);
}

static bool on_data(void *context, int status, const char *bytes, size_t n)
{
	cr_assert_eq(status, 200);
	snprintf(b.pieces + strlen(b.pieces), sizeof(b.pieces) - strlen(b.pieces), "%.*s|", (int)n,
	         bytes);
	return strstr(b.pieces, "world") == NULL;
}

static struct http_call *start(const char *method, const char *body)
{
	struct transport *t = curl_transport_interface(b.t);
	struct http_request r = {
		.method = method,
		.path = "/api/x?y=1",
		.lane = HTTP_BIND,
		.timeout_ms = 2000,
		.content_type = body ? "application/json" : NULL,
		.body = body,
		.body_bytes = body ? strlen(body) : 0,
	};
	struct http_handler h = { .done = on_done, .context = &b };

	return t->ops->start(t, &r, &h);
}

static void run(unsigned until)
{
	uint64_t deadline = real_now(NULL) + 5 * NS_PER_S;
	bool ready;

	while (b.done < until && real_now(NULL) < deadline)
		curl_transport_poll(b.t, 50, -1, &ready);
	cr_assert_eq(b.done, until, "%u answers", b.done);
}

/* One more request, the last of `done`. */
static void ask(const char *method, const char *body, unsigned done)
{
	start(method, body);
	run(done);
}

/* Instead of libcurl's. */
static const char *tls_library = "OpenSSL/3.0.19";

curl_version_info_data *curl_version_info(CURLversion version)
{
	static curl_version_info_data data;

	data.ssl_version = tls_library;
	return &data;
}

Test(curl, a_libcurl_that_ignores_certificates_in_memory_is_refused)
{
	static const char *const libraries[] = { "GnuTLS/3.7.9", NULL };
	struct access access = { .server = strdup("https://127.0.0.1:1") };
	struct env env = { .monotonic_ns = real_now, .log = no_log };
	struct curl_config config = { .access = &access, .env = &env };

	for (size_t i = 0; i < 2; i++) {
		const char *error = NULL;

		tls_library = libraries[i];
		cr_assert_null(curl_transport_new(&config, &error));
		cr_assert(strstr(error, "OpenSSL"), "%s", error);
	}
	free(access.server);
}

Test(curl, sends_what_it_was_given_over_one_connection)
{
	begin("rararara");
	ask("POST", "{\"a\":1}", 1);
	cr_assert(b.last.end == HTTP_ANSWERED && b.last.status == 200 && b.last.retry_after_ms == -1);
	cr_assert_str_eq(b.body, "ok");
	ask("GET", NULL, 2);
	ask("PATCH", "{}", 3);
	ask("GET", NULL, 4);
	end();
	cr_assert_eq(b.server.accepted, 1);
	cr_assert(strncmp(b.server.seen, "POST /api/x?y=1 HTTP/1.1\r\n", 26) == 0);
	cr_assert(strstr(b.server.seen, "Authorization: Bearer sesame\r\n"));
	cr_assert(strstr(b.server.seen, "Content-Type: application/json\r\n"));
	cr_assert(strstr(b.server.seen, "{\"a\":1}GET /api/x?y=1 HTTP/1.1\r\n"));
	cr_assert(strstr(b.server.seen, "\r\n\r\nPATCH /api/x"));
	cr_assert(strstr(b.server.seen, "{}GET /api/x"));
	cr_assert_null(strstr(b.server.seen, "Accept-Encoding"));
	cr_assert_null(strstr(b.server.seen, "Expect"));
}

/* TCP_USER_TIMEOUT of the connection to the server. */
static unsigned user_timeout_ms(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in peer;
		socklen_t n = sizeof(peer);
		unsigned ms = 0;

		if (getpeername(fd, (struct sockaddr *)&peer, &n) < 0 || n != sizeof(peer) ||
		    peer.sin_family != AF_INET || ntohs(peer.sin_port) != b.server.port)
			continue;
		n = sizeof(ms);
		cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &n), 0);
		return ms;
	}
	cr_assert_fail("no connection");
	return 0;
}

/* The kernel sends nothing again after that, so that no Binding lands once another leads. */
Test(curl, bytes_that_are_not_acknowledged_are_given_up)
{
	begin("rara");
	ask("GET", NULL, 1);
	cr_assert_eq(user_timeout_ms(), 1234);
	ask("GET", NULL, 2);
}

Test(curl, nobody_there_is_not_sent)
{
	begin("l");
	usleep(20000);
	ask("POST", "{}", 1);
	cr_assert_eq(b.last.end, HTTP_NOT_SENT);
	cr_assert(strstr(b.error, "connect"), "%s", b.error);
}

Test(curl, no_tls_is_not_sent)
{
	begin_with("rc", "https", 8);
	start("POST", "{}");
	/* What comes is no request; it answers with nothing. */
	shutdown(b.server.listener, SHUT_RDWR);
	run(1);
	cr_assert_eq(b.last.end, HTTP_NOT_SENT, "%s", b.error);
}

Test(curl, closed_after_the_request_may_have_reached_it)
{
	begin("rc");
	ask("POST", "{}", 1);
	cr_assert_eq(b.last.end, HTTP_BROKEN);
}

/* libcurl sends again by itself when a kept connection is closed on it.  When
 * nobody listens any more its error is that it could not connect, yet the first
 * one was read by the server. */
Test(curl, closed_on_a_kept_connection_may_have_reached_it)
{
	begin("ra"
	      "rlc");
	ask("POST", "{\"n\":1}", 1);
	ask("POST", "{\"n\":2}", 2);
	cr_assert_eq(b.last.end, HTTP_BROKEN, "%s", b.error);
	end();
	cr_assert(strstr(b.server.seen, "{\"n\":2}"), "the server had it");
}

/* Two servers behind one address: who dies with a request may have done it, and the other one
 * answers. */
Test(curl, an_answer_says_that_it_is_to_the_second_try)
{
	begin("ra"
	      "rc"
	      "ra"
	      "ra");
	ask("POST", "{\"n\":1}", 1);
	cr_assert_not(b.last.repeated);
	ask("POST", "{\"n\":2}", 2);
	cr_assert_eq(b.last.status, 200);
	cr_assert(b.last.repeated);
	ask("POST", "{\"n\":3}", 3);
	cr_assert_not(b.last.repeated);
}

Test(curl, a_fresh_connection_is_not_a_kept_one)
{
	struct transport *t;
	struct http_request r = { .method = "GET",
		                      .path = "/",
		                      .lane = HTTP_LEASE,
		                      .timeout_ms = 500,
		                      .fresh_connection = true };
	struct http_handler h = { .done = on_done, .context = &b };

	begin("rar");
	t = curl_transport_interface(b.t);
	ask("GET", NULL, 1);
	t->ops->start(t, &r, &h);
	run(2);
	cr_assert_eq(b.last.end, HTTP_BROKEN,
	             "it waits to be accepted, and the server waits on the first one");
	cr_assert_eq(curl_transport_counts(b.t)->connects, 2);
}

Test(curl, a_short_body_is_broken)
{
	begin("rhc");
	ask("GET", NULL, 1);
	cr_assert(b.last.end == HTTP_BROKEN && b.last.status == 200);
}

Test(curl, a_body_longer_than_asked_for_is_broken_off)
{
	struct transport *t;
	struct http_request r = {
		.method = "GET", .path = "/", .lane = HTTP_LIST, .timeout_ms = 2000, .answer_bytes_max = 1
	};
	struct http_handler h = { .done = on_done, .context = &b };

	begin("ra");
	t = curl_transport_interface(b.t);
	t->ops->start(t, &r, &h);
	run(1);
	cr_assert(b.last.end == HTTP_BROKEN && b.last.too_long);
	cr_assert_str_eq(b.error, "the answer is longer than 1 bytes");
}

Test(curl, no_answer_in_time_is_broken)
{
	struct transport *t;
	struct http_request r = { .method = "GET", .path = "/", .lane = HTTP_CALL, .timeout_ms = 500 };
	struct http_handler h = { .done = on_done, .context = &b };

	begin("rr");
	t = curl_transport_interface(b.t);
	t->ops->start(t, &r, &h);
	run(1);
	cr_assert_eq(b.last.end, HTTP_BROKEN);
	cr_assert_eq(b.last.status, 0);
}

Test(curl, without_the_lease_nothing_is_sent)
{
	begin("");
	b.refuse = 1;
	ask("POST", "{}", 1);
	cr_assert_eq(b.last.end, HTTP_NOT_SENT);
	cr_assert_str_eq(b.error, "not sent: the lease is not held");
}

/* The lease ends between two tries of one request, of which the first one was read. */
Test(curl, not_sent_again_may_have_reached_it)
{
	begin("ra"
	      "rc");
	ask("POST", "{\"n\":1}", 1);
	b.refuse = 3;
	ask("POST", "{\"n\":2}", 2);
	cr_assert_eq(b.asked, 3);
	cr_assert_eq(b.last.end, HTTP_BROKEN, "%s", b.error);
	cr_assert_str_eq(b.error, "not sent again: the lease is not held");
	end();
	cr_assert(strstr(b.server.seen, "{\"n\":2}"), "the server had it");
}

static struct http_call *start_in(enum http_lane lane)
{
	struct transport *t = curl_transport_interface(b.t);
	struct http_request r = { .method = "GET", .path = "/", .lane = lane, .timeout_ms = 30000 };
	struct http_handler h = { .done = on_done, .context = &b };

	return t->ops->start(t, &r, &h);
}

/* Lists may take a minute each; whoever renews the lease has seconds. */
Test(curl, a_full_lane_holds_up_no_other)
{
	const uint64_t *requests;

	begin_with("", "http", 2);
	requests = curl_transport_counts(b.t)->requests;
	for (int i = 0; i < 3; i++)
		start_in(HTTP_LIST);
	cr_assert_eq(requests[HTTP_LIST], 2);
	start_in(HTTP_LEASE);
	start_in(HTTP_CALL);
	cr_assert(requests[HTTP_LEASE] == 1 && requests[HTTP_CALL] == 1 && requests[HTTP_LIST] == 2);
}

Test(curl, retry_after_is_read)
{
	begin("rs");
	ask("POST", "{}", 1);
	cr_assert(b.last.end == HTTP_ANSWERED && b.last.status == 429 && b.last.retry_after_ms == 7000);
	cr_assert_str_eq(b.body, "slow");
}

Test(curl, a_stream_comes_in_pieces_until_it_is_stopped)
{
	struct transport *t;
	struct http_request r = { .method = "GET", .path = "/", .lane = HTTP_WATCH };
	struct http_handler h = { .data = on_data, .done = on_done, .context = &b };

	begin("rp");
	t = curl_transport_interface(b.t);
	t->ops->start(t, &r, &h);
	run(1);
	cr_assert(strstr(b.pieces, "he"), "%s", b.pieces);
	cr_assert_eq(b.last.end, HTTP_BROKEN);
	cr_assert_str_eq(b.error, "broken off");
}

Test(curl, a_full_lane_waits_and_what_waits_can_be_cancelled)
{
	struct transport *t;
	struct http_call *c[3];

	begin_with("rara", "http", 1);
	t = curl_transport_interface(b.t);
	for (int i = 0; i < 3; i++)
		c[i] = start("POST", "{}");
	t->ops->cancel(t, c[1]);
	run(2);
	cr_assert_eq(curl_transport_counts(b.t)->requests[HTTP_BIND], 2);
	cr_assert_eq(b.last.end, HTTP_ANSWERED);
	end();
	cr_assert_eq(b.server.accepted, 1, "%u connections", b.server.accepted);
}

Test(curl, a_new_token_is_used_after_a_renewal)
{
	struct transport *t;

	begin("rara");
	t = curl_transport_interface(b.t);
	ask("GET", NULL, 1);
	free(b.access.token);
	b.access.token = strdup("rotated");
	t->ops->renew_credentials(t);
	ask("GET", NULL, 2);
	end();
	cr_assert(strstr(b.server.seen, "Bearer sesame") && strstr(b.server.seen, "Bearer rotated"));
}

/* What was let in with the old one goes on with it: a watch may for minutes. */
Test(curl, a_new_client_certificate_ends_watches_alone)
{
	char folder[] = "/tmp/muster-curl-XXXXXX", cert[64], key[64];
	struct http_request watch = { .method = "GET", .path = "/watch", .lane = HTTP_WATCH };
	struct http_handler handler;
	struct transport *t;
	bool ready;

	cr_assert(mkdtemp(folder));
	snprintf(cert, sizeof(cert), "%s/cert", folder);
	snprintf(key, sizeof(key), "%s/key", folder);
	pair_write(cert, key);
	begin("rh,rh");
	b.access.cert_file = cert;
	b.access.key_file = key;
	handler = (struct http_handler){ .data = on_data, .done = on_done, .context = &b };
	t = curl_transport_interface(b.t);
	t->ops->renew_credentials(t);
	curl_transport_poll(b.t, 0, -1, &ready);
	t->ops->start(t, &watch, &handler);
	for (int i = 0; i < 100 && !b.pieces[0]; i++)
		curl_transport_poll(b.t, 50, -1, &ready);
	t->ops->renew_credentials(t);
	curl_transport_poll(b.t, 20, -1, &ready);
	cr_assert_eq(b.done, 0, "the same one");
	pair_write(NULL, key);
	t->ops->renew_credentials(t);
	curl_transport_poll(b.t, 20, -1, &ready);
	cr_assert_eq(b.done, 0, "no pair");
	pair_write(cert, key);
	t->ops->renew_credentials(t);
	run(1);
	cr_assert(b.last.end == HTTP_ANSWERED && b.last.status == 200, "as if the server had ended it");
	start("GET", NULL);
	pair_write(cert, key);
	t->ops->renew_credentials(t);
	curl_transport_poll(b.t, 20, -1, &ready);
	cr_assert_eq(b.done, 1, "no watch");
	end();
	unlink(cert);
	unlink(key);
	rmdir(folder);
}

/* However many answers there are. */
Test(curl, the_other_descriptor_is_looked_at_in_each_turn)
{
	int ends[2];
	bool ready = true;

	cr_assert_eq(pipe(ends), 0);
	close(ends[1]); /* whoever has the other end sees it closed */
	begin("rararara");
	for (size_t n = 1; n <= 4; n++) {
		start("GET", NULL);
		while (b.done < n && ready) {
			curl_transport_poll(b.t, 0, ends[0], &ready);
			usleep(1000); /* so that the answer is there when the next turn begins */
		}
		cr_assert(ready, "request %zu", n);
	}
	close(ends[0]);
}

static void *wake_run(void *context)
{
	usleep(20000);
	curl_transport_wake(context);
	return NULL;
}

Test(curl, a_wake_ends_the_wait)
{
	pthread_t thread;
	uint64_t before = real_now(NULL);
	bool ready;

	begin("");
	pthread_create(&thread, NULL, wake_run, b.t);
	curl_transport_poll(b.t, 5000, -1, &ready);
	cr_assert_lt(real_now(NULL) - before, 3 * NS_PER_S);
	pthread_join(thread, NULL);
}
