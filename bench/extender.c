/* SPDX-License-Identifier: Apache-2.0 */
/* How long does kube-scheduler wait for muster's /filter and /prioritize? The whole path, over
 * HTTP: both daemons on muster-apisim, and a client that sends all node names (nodeCacheCapable)
 * on one connection, for one pod after the other, as kube-scheduler does: one request after the
 * other, and at a rate, each measured from when it was due, whatever became of those before. */
#include "bench/bench.h"
#include "bench/stage.h"
#include "ipc/clock.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NODES 5000u
#define PODS 200u
#define QUESTIONS 2000u
#define OPEN_QUESTIONS 1000u
#define WARM_UP 100u
#define ANSWER_BYTES (UINT32_C(1) << 22)
#define RATE 100u /* a second, in the open loop */
#define GOAL_P99_US 2000.0
/* The goals of the open loop: for 5,000 names, and beyond. */
#define GOAL_OPEN_P99_US 500.0
#define GOAL_OPEN_P99_MANY_US 3000.0

struct asker {
	int fd;
	uint16_t port;
	char *answer;
	size_t bytes;
	char *pods[PODS]; /* as the API server has them */
	char *names;      /* ["bench-00000",...] */
};

static bool asker_connect(struct asker *a)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		                      .sin_port = htons(a->port),
		                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;

	a->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return a->fd >= 0 && setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
	       connect(a->fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
}

static bool send_all(int fd, const char *at, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		at += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* Head and body; returns the body, or NULL. */
static const char *receive(struct asker *a)
{
	const char *head_end = NULL, *length;
	size_t whole = 0;

	a->bytes = 0;
	while (whole == 0 || a->bytes < whole) {
		ssize_t n = a->bytes < ANSWER_BYTES
		                ? recv(a->fd, a->answer + a->bytes, ANSWER_BYTES - a->bytes, 0)
		                : 0;

		if (n <= 0)
			return NULL;
		a->bytes += (size_t)n;
		a->answer[a->bytes] = '\0';
		if (whole > 0)
			continue;
		head_end = strstr(a->answer, "\r\n\r\n");
		length = head_end ? strcasestr(a->answer, "content-length:") : NULL;
		if (length && length < head_end)
			whole = (size_t)(head_end + 4 - a->answer) + strtoul(length + 15, NULL, 10);
		else if (head_end)
			return NULL;
	}
	return strncmp(a->answer, "HTTP/1.1 200 ", 13) == 0 ? head_end + 4 : NULL;
}

/* A request, which the caller frees; NULL without memory. */
static char *compose(const struct asker *a, const char *path, const char *pod)
{
	const size_t bytes =
		strlen("{\"Pod\":,\"Nodes\":null,\"NodeNames\":}") + strlen(pod) + strlen(a->names);
	char *request;

	return asprintf(&request,
	                "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/json\r\n"
	                "Content-Length: %zu\r\n\r\n{\"Pod\":%s,\"Nodes\":null,\"NodeNames\":%s}",
	                path, a->port, bytes, pod, a->names) < 0
	           ? NULL
	           : request;
}

/* Sends a request and validates the response: a node of all, or a score for each. */
static bool ask(struct asker *a, const char *request, const char *wanted)
{
	const char *said = send_all(a->fd, request, strlen(request)) ? receive(a) : NULL;
	const bool ok = said && strstr(said, wanted);

	if (!ok)
		fprintf(stderr, "muster-bench: %.30s: %.300s\n", request,
		        said           ? said
		        : a->bytes > 0 ? a->answer
		                       : "no answer");
	return ok;
}

static bool read_pods(struct asker *a, struct stage *s)
{
	char namespace[64], path[160];

	if (!stage_others(s, PODS, namespace, sizeof(namespace)))
		return false;
	for (uint32_t i = 0; i < PODS; i++) {
		snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/pod-%05u", namespace, i);
		if (client_one(&s->client, "GET", path, NULL) != 200)
			return false;
		a->pods[i] = strdup(client_said(&s->client));
		if (!a->pods[i])
			return false;
	}
	return true;
}

static bool write_names(struct asker *a, const struct stage *s)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; i < s->nodes_n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(s->nodes[i]));
	a->names = cJSON_PrintUnformatted(list);
	cJSON_Delete(list);
	return a->names;
}

/* Request i, sent at once if due_ns is 0, else when it is due; the sample begins then.  On the
 * clock that it sleeps by: bench_now_ns() is off by milliseconds after some seconds. */
static bool sample(struct asker *a, const char *path, const char *wanted, uint32_t i,
                   uint64_t due_ns, double *us)
{
	const struct timespec due = { .tv_sec = (time_t)(due_ns / NS_PER_S),
		                          .tv_nsec = (long)(due_ns % NS_PER_S) };
	char *request = compose(a, path, a->pods[i % PODS]);
	uint64_t start_ns = due_ns;
	bool ok;

	if (!request)
		return false;
	if (due_ns > 0)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	else
		start_ns = clock_monotonic_ns();
	ok = ask(a, request, wanted);
	*us = (double)(clock_monotonic_ns() - start_ns) / 1e3;
	free(request);
	return ok;
}

/* Questions at RATE. */
static bool measure_open(struct bench_report *report, struct asker *a, const struct stage *s,
                         double *samples, uint32_t questions)
{
	const uint64_t start_ns = clock_monotonic_ns() + NS_PER_S / RATE;
	char name[64];

	for (uint32_t i = 0; i < questions; i++)
		if (!sample(a, "/filter", "\"NodeNames\":[\"", i, start_ns + i * (NS_PER_S / RATE),
		            &samples[i]))
			return false;
	snprintf(name, sizeof(name), "filter-open/%u", s->nodes_n);
	bench_add(report, name, "us", samples, questions, false, 0);
	snprintf(name, sizeof(name), "filter-open-p99/%u", s->nodes_n);
	bench_add_one(report, name, "us", samples[(size_t)questions * 99 / 100], false,
	              s->nodes_n <= NODES ? GOAL_OPEN_P99_US : GOAL_OPEN_P99_MANY_US);
	return true;
}

static bool measure(struct bench_report *report, struct asker *a, const struct stage *s, bool quick)
{
	const uint32_t questions = quick ? QUESTIONS / 4 : QUESTIONS;
	static const struct {
		const char *name, *path, *wanted;
	} verbs[] = {
		{ "filter", "/filter", "\"NodeNames\":[\"" },
		{ "prioritize", "/prioritize", "\"Score\":10" },
	};
	double *samples = calloc(questions, sizeof(*samples)), warm;
	bool ok = samples;

	for (size_t v = 0; ok && v < sizeof(verbs) / sizeof(verbs[0]); v++) {
		char name[64];

		for (uint32_t i = 0; ok && i < WARM_UP; i++)
			ok = sample(a, verbs[v].path, verbs[v].wanted, i, 0, &warm);
		for (uint32_t i = 0; ok && i < questions; i++)
			ok = sample(a, verbs[v].path, verbs[v].wanted, i, 0, &samples[i]);
		if (!ok)
			break;
		snprintf(name, sizeof(name), "%s/%u", verbs[v].name, s->nodes_n);
		bench_add(report, name, "us", samples, questions, false, 0);
		/* The goal is for the tail; the samples are sorted now. */
		snprintf(name, sizeof(name), "%s-p99/%u", verbs[v].name, s->nodes_n);
		bench_add_one(report, name, "us", samples[(size_t)questions * 99 / 100], false,
		              v == 0 ? GOAL_P99_US : 0);
	}
	ok = ok && measure_open(report, a, s, samples, quick ? OPEN_QUESTIONS / 10 : OPEN_QUESTIONS);
	free(samples);
	return ok;
}

static void asker_free(struct asker *a)
{
	if (a->fd >= 0)
		close(a->fd);
	for (uint32_t i = 0; i < PODS; i++)
		free(a->pods[i]);
	cJSON_free(a->names);
	free(a->answer);
}

bool bench_extender(struct bench_report *report, const struct bench_options *o)
{
	struct contender muster = { .name = "muster", .extends = true };
	struct asker a = { .fd = -1, .answer = malloc(ANSWER_BYTES + 1) };
	char kubeconfig[PROCESS_PATH];
	struct process apisim = { 0 };
	struct stage s;
	bool ok;

	bench_unpin();
	if (!a.answer || !stage_init(&s)) {
		asker_free(&a);
		return false;
	}
	muster.kubeconfig = kubeconfig;
	ok = stage_apisim(&s, &apisim, 0, kubeconfig) &&
	     stage_open(&s, kubeconfig, o->nodes ? o->nodes : NODES) && write_names(&a, &s) &&
	     read_pods(&a, &s) && contender_start(&muster, &s);
	a.port = muster.port;
	if (ok && !asker_connect(&a)) {
		fprintf(stderr, "muster-bench: can't connect to muster-frontend\n");
		ok = false;
	}
	ok = ok && measure(report, &a, &s, o->quick);
	if (!ok && muster.child.name)
		process_show_log(&muster.child);
	contender_stop(&muster);
	child_stop(&apisim);
	stage_free(&s);
	asker_free(&a);
	return ok;
}
