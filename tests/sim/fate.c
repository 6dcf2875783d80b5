/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of requests: which calls they suit, how late they make them, and what the client
 * sees. */
#include "tests/sim/net_impl.h"

#include <stdlib.h>
#include <string.h>

#define SERVER_TIMEOUT_NS (60 * SIM_S)

static const char *const fate_names[FATES] = {
	[FATE_SOUND] = "sound",
	[FATE_NOT_SENT] = "not-sent",
	[FATE_LOST_REQUEST] = "lost-request",
	[FATE_LOST_REPLY] = "lost-reply",
	[FATE_LATE] = "late",
	[FATE_LATE_LOST] = "late-lost",
	[FATE_500_BEFORE] = "500-before",
	[FATE_500_AFTER] = "500-after",
	[FATE_409_BEFORE] = "409-before",
	[FATE_409_AFTER] = "409-after",
	[FATE_429] = "429",
	[FATE_503_BEFORE] = "503-before",
	[FATE_502_AFTER] = "502-after",
	[FATE_403] = "403",
	[FATE_401] = "401",
	[FATE_SLOW] = "slow",
	[FATE_WEBHOOK] = "webhook",
	[FATE_QUEUE] = "queue",
	[FATE_ETCD] = "etcd",
	[FATE_410] = "410",
	[FATE_HALF_OPEN] = "half-open",
	[FATE_TWICE] = "twice",
};

const char *fate_name(enum fate fate)
{
	return fate_names[fate];
}

uint64_t net_random_ns(struct net *n, uint64_t most)
{
	return sim_below(&n->sim->faults_random, most);
}

bool call_is_watch(const struct http_call *c)
{
	return strstr(c->path, "watch=1") != NULL;
}

bool call_is_binding(const struct http_call *c)
{
	size_t n = strcspn(c->path, "?");

	return n > 8 && strncmp(c->path + n - 8, "/binding", 8) == 0;
}

bool call_is_eviction(const struct http_call *c)
{
	const size_t n = strcspn(c->path, "?");

	return strstr(c->path, "/pods/") != NULL &&
	       (strcmp(c->method, "DELETE") == 0 ||
	        (n > 9 && strncmp(c->path + n - 9, "/eviction", 9) == 0));
}

bool fate_suits(const struct http_call *c, enum fate fate)
{
	switch (fate) {
	case FATE_HALF_OPEN:
	case FATE_TWICE:
		return call_is_watch(c);
	case FATE_410:
		return call_is_watch(c) || strstr(c->path, "continue=") != NULL;
	case FATE_409_BEFORE:
	case FATE_409_AFTER:
	case FATE_403:
	case FATE_WEBHOOK:
		return call_is_binding(c);
	case FATE_ETCD:
		return strcmp(c->method, "GET") != 0;
	case FATE_LATE:
	case FATE_LATE_LOST:
	case FATE_LOST_REPLY:
	case FATE_500_AFTER:
	case FATE_502_AFTER:
	case FATE_QUEUE:
		return !call_is_watch(c);
	default:
		return true;
	}
}

/* How long the server works on it: `?timeout=`, of Bindings in milliseconds. */
static uint64_t server_timeout_ns(const struct http_call *c)
{
	const char *at = strstr(c->path, "?timeout=");

	return at != NULL ? strtoull(at + strlen("?timeout="), NULL, 10) * SIM_MS : SERVER_TIMEOUT_NS;
}

/* The server handles it after that time, or drops it when the limit is over. */
static void hold(struct net *n, struct http_call *c, uint64_t ns, uint64_t limit_ns)
{
	c->dropped = ns > limit_ns;
	if (c->dropped)
		c->answer_ns = c->arrive_ns + limit_ns;
	else
		c->arrive_ns += ns;
	if (!c->dropped)
		c->answer_ns = c->arrive_ns + 200000 + net_random_ns(n, 3 * SIM_MS);
}

void fate_delay(struct net *n, struct http_call *c)
{
	const uint64_t timeout_ns = server_timeout_ns(c);

	if (c->fate == FATE_SLOW) {
		c->arrive_ns += net_random_ns(n, 10 * SIM_S);
		c->answer_ns = c->arrive_ns + net_random_ns(n, 10 * SIM_S);
	} else if (c->fate == FATE_LATE) {
		c->answer_ns = c->arrive_ns;
		c->arrive_ns += net_random_ns(n, 40 * SIM_S);
	} else if (c->fate == FATE_LATE_LOST) {
		c->answer_ns = c->arrive_ns + net_random_ns(n, SIM_S);
		c->arrive_ns += net_random_ns(n, 40 * SIM_S);
	} else if (c->fate == FATE_WEBHOOK) {
		hold(n, c, net_random_ns(n, 30 * SIM_S), timeout_ns);
	} else if (c->fate == FATE_QUEUE) {
		hold(n, c, net_random_ns(n, timeout_ns / 2), timeout_ns / 4);
	} else if (c->fate == FATE_ETCD) {
		c->answer_ns = c->arrive_ns + timeout_ns;
		c->dropped = net_random_ns(n, 2) == 0;
		c->arrive_ns += net_random_ns(n, 40 * SIM_S);
	}
}

bool fate_has_effect(const struct http_call *c)
{
	if (c->dropped)
		return false;
	switch (c->fate) {
	case FATE_NOT_SENT:
	case FATE_LOST_REQUEST:
	case FATE_500_BEFORE:
	case FATE_409_BEFORE:
	case FATE_429:
	case FATE_503_BEFORE:
	case FATE_403:
	case FATE_401:
	case FATE_410:
		return false;
	default:
		return true;
	}
}

bool fate_refuses(const struct http_call *c)
{
	return c->fate == FATE_NOT_SENT || c->fate == FATE_429 || c->fate == FATE_403 ||
	       c->fate == FATE_401 || (c->fate == FATE_QUEUE && c->dropped);
}

static void status_text(struct http_call *c, int code, const char *reason, const char *message)
{
	c->said.bytes = 0;
	as_text_printf(
		&c->said,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
		message, reason, code);
	c->answer = (struct http_answer){
		.end = HTTP_ANSWERED, .status = code, .retry_after_ms = -1, .error = ""
	};
}

void fate_answer(struct net *n, struct http_call *c)
{
	switch (c->fate) {
	case FATE_NOT_SENT:
		c->answer = (struct http_answer){ .end = HTTP_NOT_SENT,
			                              .retry_after_ms = -1,
			                              .error = "no connection" };
		break;
	case FATE_LOST_REQUEST:
	case FATE_LOST_REPLY:
	case FATE_LATE_LOST:
		c->answer =
			(struct http_answer){ .end = HTTP_BROKEN, .retry_after_ms = -1, .error = "reset" };
		break;
	case FATE_WEBHOOK:
		if (c->dropped)
			status_text(c, 504, "Timeout", "request did not complete within requested timeout");
		break;
	case FATE_QUEUE:
		if (c->dropped)
			status_text(c, 429, "TooManyRequests", "Too many requests, please try again later.");
		break;
	case FATE_ETCD:
	case FATE_LATE:
		status_text(c, 504, "Timeout", "request did not complete within requested timeout");
		break;
	case FATE_500_BEFORE:
	case FATE_500_AFTER:
		status_text(c, 500, "InternalError", "Internal error occurred: simulated");
		break;
	case FATE_409_BEFORE:
	case FATE_409_AFTER:
		status_text(c, 409, "Conflict",
		            "Operation cannot be fulfilled: etcdserver: request timed out");
		break;
	case FATE_429:
		status_text(c, 429, "TooManyRequests", "Too many requests, please try again later.");
		c->answer.retry_after_ms = 1000 + (int64_t)net_random_ns(n, 3000);
		break;
	case FATE_503_BEFORE:
		status_text(c, 503, "ServiceUnavailable",
		            "the server is currently unable to handle the request");
		break;
	case FATE_502_AFTER:
		c->said.bytes = 0;
		as_text_put(&c->said, "<html>bad gateway</html>");
		c->answer = (struct http_answer){
			.end = HTTP_ANSWERED, .status = 502, .retry_after_ms = -1, .error = ""
		};
		break;
	case FATE_403:
		status_text(c, 403, "Forbidden", "pods is forbidden: simulated");
		break;
	case FATE_401:
		status_text(c, 401, "Unauthorized", "Unauthorized");
		break;
	case FATE_410:
		status_text(c, 410, "Expired", "too old resource version");
		break;
	default:
		break;
	}
}
