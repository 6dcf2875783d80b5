/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of what waits to be written, and of gangs and pods that are gone: none. */
#include "frontend/report/report.h"

#include "tests/unit/support_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX 1000
#define GANGS 60u
#define PODS 3u /* of a gang */

/* jemalloc's, with which programs are linked, and the sanitizers'. */
extern int mallctl(const char *name, void *out, size_t *out_bytes, void *in, size_t in_bytes)
	__attribute__((weak));
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Bytes that are allocated now; always 0 with another allocator. */
static int64_t live(void)
{
	uint64_t allocated = 0, freed = 0;
	size_t bytes = sizeof(allocated);

	if (__sanitizer_get_current_allocated_bytes)
		return (int64_t)__sanitizer_get_current_allocated_bytes();
	if (mallctl) {
		cr_assert_eq(mallctl("thread.allocated", &allocated, &bytes, NULL, 0), 0);
		cr_assert_eq(mallctl("thread.deallocated", &freed, &bytes, NULL, 0), 0);
	}
	return (int64_t)(allocated - freed);
}

static struct world w;
static struct model *m;
static struct report *r;

static void begin(void)
{
	struct report_config config = {
		.env = &w.env, .per_second = 100000, .queue_max = QUEUE_MAX, .instance = "i"
	};

	world_init(&w);
	m = world_model();
	config.model = m;
	r = report_new(&config);
	report_lists_in(r);
}

static void end(void)
{
	report_free(r);
	model_free(m);
	world_free(&w);
}

TestSuite(report_memory, .init = begin, .fini = end);

static void bound(const char *pod)
{
	struct bind_notice n = { .namespace = "default",
		                     .name = pod,
		                     .uid = "00000000-0000-0000-0000-000000000061",
		                     .node = "n017",
		                     .scheduler = "muster" };

	report_bind(r, &n);
}

/* At the API server's rate of bindings, Events that it takes more slowly fill the queue, and as
 * many are kept: 20,000 by default. */
Test(report_memory, of_an_event_of_a_binding)
{
	const unsigned n = QUEUE_MAX * 2;
	int64_t before, after;

	bound("j0000000-00");
	before = live();
	for (unsigned i = 0; i < n; i++)
		bound("j0001234-17");
	cr_assert_eq(report_queued(r), n);
	after = live();
	cr_assert_leq(after - before, 160 * (int64_t)n, "%lld bytes each",
	              (long long)(after - before) / n);
}

/* Answers all requests of that many seconds, and forgets them. */
static void run(unsigned seconds)
{
	const uint64_t until = w.now_ns + seconds * SECOND;

	for (; w.now_ns < until; w.now_ns += SECOND / 10)
		do {
			report_poll(r, false);
			for (struct http_call *c = w.calls; c; c = c->next)
				if (c->open)
					world_answer(c, 200, "{}");
			world_free(&w);
			w.calls = NULL;
			w.calls_end = &w.calls;
			report_poll(r, false);
		} while (world_open(&w) > 0);
}

static void gang_name(char *out, size_t bytes, unsigned round, unsigned i)
{
	snprintf(out, bytes, "g%03u-%03u", round, i);
}

static void removed(int resource, const char *json)
{
	struct decode_error e = { 0 };

	cr_assert_eq(model_remove(m, resource, json, strlen(json), &e), 0, "%s", e.text);
}

/* A gang that waits, with a reason; every other one is bound and placed. */
static void gang_comes(unsigned round, unsigned i)
{
	struct cmd_reason waits = { .pod = ID_NONE, .reason = { .why = WAIT_ROOM, .nodes = i + 1 } };
	struct cmd_gang state = { .members = PODS, .quorum = PODS, .state = GANG_WAITING };
	struct pod_view v;
	char name[32], pod[40];

	gang_name(name, sizeof(name), round, i);
	world_put(m, RESOURCE_INDEX_DIALECTS, world_group(name, "5", PODS));
	for (unsigned k = 0; k < PODS; k++) {
		snprintf(pod, sizeof(pod), "%s-%u", name, k);
		world_put(m, RESOURCE_INDEX_PODS, world_member(pod, "5", name, ""));
	}
	cr_assert(model_pod_by_name(m, "ns", pod, &v));
	waits.gang = state.gang = v.gang_id;
	waits.gang_generation = state.generation = model_gang_generation(m, v.gang_id);
	report_reason(r, &waits);
	report_gang(r, &state);
	if (i % 2 == 0)
		return;
	state.state = GANG_BINDING;
	report_gang(r, &state);
	for (unsigned k = 0; k < PODS; k++) {
		snprintf(pod, sizeof(pod), "%s-%u", name, k);
		world_put(m, RESOURCE_INDEX_PODS, world_member(pod, "6", name, "\"nodeName\":\"n1\""));
		bound(pod);
	}
	state.state = GANG_PLACED;
	report_gang(r, &state);
}

static void gang_goes(unsigned round, unsigned i)
{
	char name[32], pod[40];

	gang_name(name, sizeof(name), round, i);
	for (unsigned k = 0; k < PODS; k++) {
		snprintf(pod, sizeof(pod), "%s-%u", name, k);
		removed(RESOURCE_INDEX_PODS, world_member(pod, "7", name, ""));
	}
	removed(RESOURCE_INDEX_DIALECTS, world_group(name, "7", PODS));
}

static void gangs_come_and_go(unsigned round)
{
	for (unsigned i = 0; i < GANGS; i++)
		gang_comes(round, i);
	cr_assert(model_flush(m, &world_sink));
	run(20);
	for (unsigned i = 0; i < GANGS; i++)
		gang_goes(round, i);
	cr_assert(model_flush(m, &world_sink));
	run(80); /* two sweeps */
}

/* Tables keep the size that the first rounds gave them, and nothing is kept of each gang. */
Test(report_memory, of_gangs_that_are_gone)
{
	int64_t before, after;

	gangs_come_and_go(0);
	gangs_come_and_go(1);
	before = live();
	for (unsigned round = 2; round < 40; round++)
		gangs_come_and_go(round);
	after = live();
	cr_expect_eq(after, before, "%lld bytes more", (long long)(after - before));
	cr_expect_eq(report_queued(r), 0);
	cr_expect_geq(report_counts(r)->events, 40 * GANGS / 2 * 2 * PODS);
}
