/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings as logs: what becomes a job, and with which times; the play of it. */
#include "bench/builder.h"
#include "bench/trace/queues.h"
#include "bench/trace/world.h"

#include "core/daemon/recorder.h"
#include "ipc/logline.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define BEGIN_S UINT64_C(1700000000)
#define NEVER TRACE_NOT_STARTED
#define OURS POD_OURS

static const struct limits limits = LIMITS_WITH(.gangs = 8, .shapes = 4, .names = 16);

static char path[64];
static struct recorder *recorder;
static uint64_t now_s;       /* of the recording */
static uint32_t stated_s;    /* of its next pods */
static uint32_t max_run_s;   /* of its next queues */
static struct random *spoil; /* NULL: records are as they should be */

static void record_begin(void)
{
	const struct recorder_config config = { .path = path,
		                                    .bytes = RECORD_BYTES_DEFAULT,
		                                    .core = { .limits = limits, .promise_depth = 3 } };

	log_set_level(LOG_ERROR + 1);
	strcpy(path, "/tmp/muster-recorded-XXXXXX");
	close(mkstemp(path));
	unlink(path);
	cr_assert_eq(recorder_open(&recorder, &config), 0);
	now_s = 0;
	stated_s = max_run_s = 0;
}

static void put(enum record_kind kind, const struct part *parts)
{
	struct builder b;
	struct record *r = builder_make(&b, kind, (BEGIN_S + now_s) * SECOND_NS, parts);
	const uint32_t words = (r->bytes - (uint32_t)sizeof(*r)) / sizeof(uint32_t);

	if (spoil && words > 0 && random_below(spoil, 25) == 0)
		((uint32_t *)(void *)(r + 1))[random_below(spoil, words)] =
			(uint32_t[]){ 0, 1, 2, UINT32_MAX,
			              (uint32_t)random_next(spoil) }[random_below(spoil, 5)];
	recorder_input(recorder, r);
	recorder_done(recorder, 0, false);
}

static void name(uint32_t id, const char *text)
{
	const struct event_name e = { .id = id,
		                          .kind = id < limits.resources ? NAME_RESOURCE : NAME_TAINT,
		                          .bytes = (uint32_t)strlen(text) };

	put(EVENT_NAME, PARTS({ &e, sizeof(e) }, { text, e.bytes }));
}

static void node(uint32_t id, const char *text, int64_t cpu, uint32_t flags)
{
	const struct amount amounts[] = { { RESOURCE_CPU, 0, cpu * 1000 }, { RESOURCE_PODS, 0, 10 } };
	const struct event_node e = { .node = id,
		                          .generation = 1,
		                          .flags = flags,
		                          .name_bytes = (uint32_t)strlen(text),
		                          .amounts_n = 2 };

	put(EVENT_NODE, PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }, { text, e.name_bytes }));
}

static void shape(uint32_t id, int64_t cpu)
{
	const struct amount amounts[] = { { RESOURCE_CPU, 0, cpu * 1000 }, { RESOURCE_PODS, 0, 1 } };
	const struct event_shape e = { .shape = id, .amounts_n = 2, .namespace = ID_NONE };

	put(EVENT_SHAPE, PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }));
}

static void gang(uint32_t id, uint32_t generation, const char *text, uint32_t quorum)
{
	const struct event_gang e = {
		.gang = id, .generation = generation, .quorum = quorum, .name_bytes = (uint32_t)strlen(text)
	};

	put(EVENT_GANG, PARTS({ &e, sizeof(e) }, { text, e.name_bytes }));
}

/* Of shape 0, in namespace "ns"; its uid is its number. */
static void pod_of(uint32_t id, uint32_t uid, uint32_t of, uint32_t on, uint32_t flags,
                   uint32_t queue)
{
	static const char text[] = "ns/pod";
	const struct event_pod e = { .pod = id,
		                         .generation = uid,
		                         .flags = flags,
		                         .gang = of,
		                         .node = on,
		                         .role = ID_NONE,
		                         .uid = { uid, 7 },
		                         .created_ns = (BEGIN_S + now_s) * SECOND_NS,
		                         .queue = queue,
		                         .stated_s = stated_s,
		                         .name_bytes = sizeof(text) - 1 };

	put(EVENT_POD, PARTS({ &e, sizeof(e) }, { text, e.name_bytes }));
}

static void waits(uint32_t pod, uint32_t of)
{
	pod_of(pod, pod + 1, of, ID_NONE, OURS, 0);
}

static void bound(uint32_t pod, uint32_t on)
{
	const struct result e = { .pod = pod, .generation = pod + 1, .node = on, .attempt = 1 };

	put(RESULT_BOUND, PARTS({ &e, sizeof(e) }));
}

static void drop(enum record_kind kind, uint32_t id, uint32_t generation)
{
	const struct event_drop e = { .id = id, .generation = generation };

	put(kind, PARTS({ &e, sizeof(e) }));
}

static void ends(uint32_t pod)
{
	drop(EVENT_POD_DROP, pod, pod + 1);
}

static void queue(uint32_t id, const char *text, int64_t limit_cpu)
{
	const struct queue_amount amount = { .resource = RESOURCE_CPU,
		                                 .limit = limit_cpu < 0 ? QUEUE_NO_LIMIT : limit_cpu * 1000,
		                                 .weight = 1 };
	const struct event_queue e = {
		.queue = id,
		.amounts_n = 1,
		.name_bytes = (uint32_t)strlen(text),
		.weight = 1,
		.max_run_s = max_run_s,
		.unshared = 1u << RESOURCE_PODS,
	};

	put(EVENT_QUEUE, PARTS({ &e, sizeof(e) }, { &amount, sizeof(amount) }, { text, e.name_bytes }));
}

/* Shape 1 of one cpu, for nodes with that label; and a node with it, and with a taint. */
static void shape_for_label(uint32_t key)
{
	const struct amount amounts[] = { { RESOURCE_CPU, 0, 1000 }, { RESOURCE_PODS, 0, 1 } };
	const struct requirement has = { .op = REQUIRE_EXISTS, .key = key };
	const struct toleration all = { .key = TOLERATE_EVERY_KEY, .any_value = 1 };
	const struct event_shape e = {
		.shape = 1, .amounts_n = 2, .requirements_n = 1, .tolerations_n = 1, .namespace = ID_NONE
	};

	put(EVENT_SHAPE, PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }, { &has, sizeof(has) },
	                       { &all, sizeof(all) }));
}

static void node_with_label(uint32_t id, const char *text, uint32_t key)
{
	const struct amount amounts[] = { { RESOURCE_CPU, 0, 1000 }, { RESOURCE_PODS, 0, 10 } };
	const struct label label = { .key = key, .number = LABEL_NOT_A_NUMBER };
	const struct taint taint = { .key = 3, .effect = EFFECT_NO_SCHEDULE, .name = 9 };
	const struct event_node e = { .node = id,
		                          .generation = 1,
		                          .flags = NODE_PRESENT,
		                          .name_bytes = (uint32_t)strlen(text),
		                          .amounts_n = 2,
		                          .labels_n = 1,
		                          .taints_n = 1 };

	put(EVENT_NODE,
	    PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }, { &label, sizeof(label) },
	          { &taint, sizeof(taint) }, { text, e.name_bytes }));
}

static void waits_for_label(uint32_t pod)
{
	static const char text[] = "ns/pod";
	const struct event_pod e = { .pod = pod,
		                         .generation = pod + 1,
		                         .flags = OURS,
		                         .gang = ID_NONE,
		                         .shape = 1,
		                         .node = ID_NONE,
		                         .role = ID_NONE,
		                         .uid = { pod + 1, 7 },
		                         .name_bytes = sizeof(text) - 1 };

	put(EVENT_POD, PARTS({ &e, sizeof(e) }, { text, e.name_bytes }));
}

/* An epoch with nodes a and b of that many cpu, and shape 0 of one. */
static void epoch(int64_t cpu)
{
	put(EVENT_BEGIN, NO_PARTS);
	shape(0, 1);
	node(0, "a", cpu, NODE_PRESENT);
	node(1, "b", cpu, NODE_PRESENT);
}

static void at(uint64_t s)
{
	now_s = s;
	put(EVENT_TICK, NO_PARTS);
}

static bool read_back(struct trace *t)
{
	const bool ok = (recorder_close(recorder), trace_read(t, path));

	unlink(path);
	return ok;
}

static void play(struct play *p, const struct trace *t, const struct trace_queues *q)
{
	const struct play_options o = { .nodes = t->nodes, .queues = q, .check = true };

	cr_assert(trace_play(p, t, &o));
}

static void job_is(const struct trace *t, uint32_t job, uint64_t submit_s, uint64_t start_s,
                   uint64_t run_s, uint32_t members)
{
	const struct trace_job *j = &t->jobs[job];

	cr_assert_lt(job, t->jobs_n);
	cr_expect_eq(j->submit_s, submit_s, "job %u: submitted %lu", job, j->submit_s);
	cr_expect_eq(t->world->was[job].start_s, start_s, "job %u: started %lu", job,
	             t->world->was[job].start_s);
	cr_expect_eq(j->run_s, run_s, "job %u: runs %lu", job, j->run_s);
	cr_expect_eq(j->members, members, "job %u: %u members", job, j->members);
}

Test(trace_recording, gangs_and_lone_pods_are_jobs)
{
	struct trace t;
	struct play p;

	record_begin();
	epoch(1);
	gang(0, 1, "ns/g", 2);
	put(EVENT_SYNCED, NO_PARTS);
	at(5);
	waits(0, 0);
	at(10);
	waits(1, 0); /* complete */
	waits(2, ID_NONE);
	at(12);
	bound(0, 0);
	bound(1, 1);
	at(40);
	ends(0);
	at(42);
	ends(1);
	bound(2, 0);
	at(50);
	waits(3, ID_NONE);
	ends(3); /* before it started */
	at(60);
	cr_assert(read_back(&t));
	cr_assert_eq(t.jobs_n, 2);
	job_is(&t, 0, 10, 12, 30, 2);
	job_is(&t, 1, 10, 42, 51, 1); /* beyond the end */
	cr_expect_eq(t.unusable, 1);
	cr_expect_eq(t.world->unfinished, 1);
	cr_expect_eq(t.end_s, 60);
	cr_expect_eq(t.nodes, 2);
	cr_expect_eq(t.node_milli, 1000);
	cr_expect_str_eq(t.users[t.jobs[0].user], "ns");
	cr_expect_eq(t.world->config.promise_depth, 3);

	play(&p, &t, NULL);
	cr_expect_eq(p.jobs[0].start_s, 10);
	cr_expect_eq(p.jobs[1].start_s, 40);
	cr_expect_eq(p.jobs[1].end_s, 60, "it ends with the recording");
	cr_expect_float_eq(p.wait_s, 15, 1e-9);
	cr_expect_float_eq(p.utilisation, (2 * 30 + 20) / 120.0, 1e-9);
	play_free(&p);
	trace_recorded(&p, &t);
	cr_expect_float_eq(p.wait_s, (2 + 32) / 2.0, 1e-9);
	cr_expect_float_eq(p.utilisation, (2 * 30 + 18) / 120.0, 1e-9);
	play_free(&p);
	world_grow(&t, 1);
	cr_expect_eq(t.nodes, 3);
	play(&p, &t, NULL);
	cr_expect_eq(p.jobs[1].start_s, 10, "on the added node");
	play_free(&p);
	trace_free(&t);
}

/* What stays: a pod of another scheduler, one that was bound before, a member that was there. */
Test(trace_recording, pods_that_were_there_stay_where_they_were)
{
	struct trace t;
	struct play p;

	record_begin();
	epoch(2);
	gang(0, 1, "ns/g", 2);
	pod_of(0, 1, 0, 0, OURS, 0);
	pod_of(1, 2, ID_NONE, 1, 0, 0);
	waits(2, 0);
	put(EVENT_SYNCED, NO_PARTS);
	bound(2, 0); /* the quorum */
	at(10);
	waits(3, 0); /* one more */
	waits(4, ID_NONE);
	bound(3, 1);
	at(30);
	ends(1);
	bound(4, 1);
	at(45);
	ends(2);
	ends(3);
	ends(4);
	cr_assert(read_back(&t));
	cr_expect_eq(t.world->pods_n, 2);
	cr_assert_eq(t.jobs_n, 3);
	job_is(&t, 0, 0, 0, 45, 1);
	cr_expect_eq(t.jobs[0].quorum, 1, "the other member is there");
	job_is(&t, 1, 10, 10, 35, 1);
	job_is(&t, 2, 10, 30, 15, 1);
	cr_expect_float_eq(t.world->pods_places_s, 1000 * (45 + 30), 1e-9);
	play(&p, &t, NULL);
	cr_expect_eq(p.jobs[1].start_s, 10);
	cr_expect_eq(p.jobs[2].start_s, 30, "as that pod leaves");
	play_free(&p);
	trace_free(&t);
}

Test(trace_recording, nodes_come_and_go)
{
	struct trace t;
	struct play p;

	record_begin();
	epoch(1);
	waits(0, ID_NONE);
	put(EVENT_SYNCED, NO_PARTS);
	bound(0, 0);
	at(10);
	drop(EVENT_NODE_DROP, 0, 1);
	waits(1, ID_NONE);
	bound(1, 1);
	at(20);
	waits(2, ID_NONE);
	at(30);
	node(2, "c", 3, NODE_PRESENT);
	bound(2, 2);
	at(40);
	node(2, "c", 3, NODE_PRESENT | NODE_CORDONED);
	waits(3, ID_NONE);
	at(50);
	ends(0);
	ends(2);
	at(60);
	cr_assert(read_back(&t));
	cr_assert_eq(t.jobs_n, 4);
	cr_expect_eq(t.nodes, 3);
	/* a for 10 s, b for 60, c for 30 of its 3. */
	cr_expect_eq(t.node_milli, 889, "%u", t.node_milli); /* 160 / 60 / 3 */
	play(&p, &t, NULL);
	cr_expect_eq(p.jobs[0].start_s, 0);
	cr_expect_eq(p.jobs[0].end_s, 50, "it ends as it did, on a node that has left");
	cr_expect_eq(p.jobs[2].start_s, 30);
	cr_expect_eq(p.jobs[3].start_s, NEVER, "on the cordoned node: never");
	cr_expect_eq(p.waiting, 1);
	cr_expect_float_eq(p.wait_s, (0 + 0 + 10 + 20) / 4.0, 1e-9);
	cr_expect_float_eq(fair_wait_p99(&p, &t, NULL, QUEUE_MISSING), 20, 1e-9);
	play_free(&p);
	trace_free(&t);
}

/* Selectors and taints are kept as sets of nodes: their numbers are others in the next epoch. */
Test(trace_recording, rules_over_a_node_alone_are_played)
{
	struct trace t;
	struct play p;

	record_begin();
	put(EVENT_BEGIN, NO_PARTS);
	name(9, "taint");
	shape(0, 1);
	shape_for_label(5);
	node(0, "a", 1, NODE_PRESENT);
	node_with_label(1, "b", 5);
	put(EVENT_SYNCED, NO_PARTS);
	waits_for_label(0);
	waits(1, ID_NONE);
	bound(0, 1);
	bound(1, 0);
	waits_for_label(2);
	waits(3, ID_NONE);
	at(10);
	put(EVENT_BEGIN, NO_PARTS);
	name(9, "taint");
	shape_for_label(8);
	shape(0, 1);
	node_with_label(0, "b", 8);
	node(1, "a", 1, NODE_PRESENT);
	for (uint32_t i = 0; i < 4; i++)
		(i % 2 ? waits(i, ID_NONE) : waits_for_label(i));
	put(EVENT_SYNCED, NO_PARTS);
	at(20);
	ends(0);
	bound(2, 0);
	at(30);
	ends(1);
	bound(3, 1);
	at(40);
	cr_assert(read_back(&t));
	cr_assert_eq(t.jobs_n, 4);
	cr_expect_eq(t.world->with_rules, 0);
	cr_expect_eq(t.world->denied.n, 2);
	cr_expect_eq(t.world->shapes_n, 2, "equal in both epochs: %u", t.world->shapes_n);
	play(&p, &t, NULL);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(p.jobs[i].start_s, t.world->was[i].start_s, "job %u: %lu", i,
		             p.jobs[i].start_s);
	play_free(&p);
	trace_free(&t);
}

/* Ids, generations and numbers of resources are others in the next epoch; uids and names are not.
 */
Test(trace_recording, an_epoch_goes_on_where_the_last_one_ended)
{
	struct trace t;

	record_begin();
	epoch(1);
	name(4, "example.com/x");
	gang(0, 5, "ns/g", 2);
	put(EVENT_SYNCED, NO_PARTS);
	waits(0, 0);
	waits(1, ID_NONE);
	waits(2, ID_NONE);
	bound(1, 0);
	at(20);
	put(EVENT_BEGIN, NO_PARTS);
	name(5, "example.com/x");
	shape(3, 1);
	shape(0, 1);
	node(7, "a", 1, NODE_PRESENT);
	gang(3, 1, "ns/g", 2);
	pod_of(9, 1, 3, ID_NONE, OURS, 0);
	pod_of(8, 2, ID_NONE, 7, OURS, 0);
	put(EVENT_SYNCED, NO_PARTS); /* pod 2 and node b are gone */
	at(25);
	pod_of(2, 10, 3, ID_NONE, OURS, 0);
	at(30);
	pod_of(9, 1, 3, 7, OURS, 0);
	pod_of(2, 10, 3, 7, OURS, 0);
	at(40);
	drop(EVENT_POD_DROP, 9, 1);
	drop(EVENT_POD_DROP, 2, 10);
	drop(EVENT_POD_DROP, 8, 2);
	cr_assert(read_back(&t));
	cr_assert_eq(t.jobs_n, 2);
	job_is(&t, 0, 0, 0, 40, 1);
	job_is(&t, 1, 25, 30, 10, 2);
	cr_expect_eq(t.unusable, 1, "it was gone before it started");
	cr_expect_eq(t.nodes, 2);
	cr_expect_eq(t.world->columns_n, WORLD_COLUMNS_FIRST + 1);
	trace_free(&t);
}

Test(trace_recording, its_queues_are_those_of_its_end)
{
	struct trace_queues *q;
	struct trace t;
	struct play p;

	record_begin();
	epoch(4);
	queue(0, "root", -1);
	queue(1, "team", 4);
	put(EVENT_SYNCED, NO_PARTS);
	queue(1, "team", 1);
	for (uint32_t i = 0; i < 3; i++)
		pod_of(i, i + 1, ID_NONE, ID_NONE, OURS, i < 2 ? 1 : QUEUE_MISSING);
	bound(0, 0);
	at(10);
	ends(0);
	bound(1, 0);
	at(30);
	ends(1);
	cr_assert(read_back(&t));
	cr_assert_eq(t.jobs_n, 2);
	cr_expect_eq(t.unusable, 1, "without a queue");
	cr_expect_str_eq(t.users[t.jobs[0].user], "team");
	q = trace_queues_recorded(&t);
	cr_assert(q);
	cr_assert_eq(q->n, 2);
	cr_expect_eq(q->at[1].amount.limit, 1000);
	play(&p, &t, q);
	cr_expect_eq(p.jobs[0].start_s, 0);
	cr_expect_eq(p.jobs[1].start_s, 10, "of one cpu one is used");
	play_free(&p);
	play(&p, &t, NULL);
	cr_expect_eq(p.jobs[1].start_s, 0);
	play_free(&p);
	trace_queues_free(q);
	trace_free(&t);
}

/* What a pod stated while it waited, not the end that was planned with. */
Test(trace_recording, stated_run_times_are_kept)
{
	struct trace_queues *q;
	struct trace t;
	struct play p;

	record_begin();
	epoch(4);
	queue(0, "root", -1);
	max_run_s = 60;
	queue(1, "team", -1);
	put(EVENT_SYNCED, NO_PARTS);
	for (uint32_t i = 0; i < 2; i++) {
		stated_s = 60 + i;
		pod_of(i, i + 1, ID_NONE, ID_NONE, OURS, 1);
	}
	bound(0, 0);
	stated_s = 0;
	pod_of(0, 1, ID_NONE, 0, OURS, 1); /* as the API server has it */
	at(10);
	ends(0);
	at(30);
	cr_assert(read_back(&t));
	cr_assert_eq(t.jobs_n, 2);
	cr_expect_eq(t.jobs[0].stated_s, 60);
	cr_expect_eq(t.jobs[1].stated_s, 61);
	q = trace_queues_recorded(&t);
	cr_assert(q);
	play(&p, &t, q);
	cr_expect_eq(p.jobs[0].start_s, 0);
	cr_expect_eq(p.jobs[1].start_s, TRACE_NOT_STARTED);
	play_free(&p);
	play(&p, &t, NULL);
	cr_expect_eq(p.jobs[1].start_s, 0);
	play_free(&p);
	trace_queues_free(q);
	trace_free(&t);
}

static void sample(void)
{
	record_begin();
	epoch(1);
	queue(0, "root", -1);
	queue(1, "team", 4);
	name(4, "nvidia.com/gpu");
	gang(0, 1, "ns/g", 1);
	put(EVENT_SYNCED, NO_PARTS);
	for (uint32_t i = 0; i < 8; i++) {
		at(i);
		pod_of(i, i + 1, i % 2 ? 0 : ID_NONE, ID_NONE, OURS, 1);
		bound(i, i % 2);
		if (i % 3 == 0)
			ends(i);
	}
}

/* Any damage is found by the sums, and a file that is cut is played up to there, or refused. */
Test(trace_recording, a_file_that_is_cut_or_changed)
{
	struct random r = random_start("a_file_that_is_cut_or_changed");
	static char whole[65536], changed[65536];
	size_t bytes;
	FILE *f;

	sample();
	recorder_close(recorder);
	f = fopen(path, "re");
	bytes = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	for (int round = 0; round < 200; round++) {
		const size_t n = random_below(&r, bytes);
		const bool cut = round % 2;
		struct trace t;

		memcpy(changed, whole, bytes);
		changed[n] ^= (char)(cut ? 0 : 1 << random_below(&r, 8));
		f = fopen(path, "we");
		fwrite(changed, 1, cut ? n : bytes, f);
		fclose(f);
		if (trace_read(&t, path)) {
			cr_expect(cut, "byte %zu", n);
			trace_free(&t);
		}
	}
	unlink(path);
}

/* Sums that are right over records that are not: some of their words are others. */
Test(trace_recording, records_that_no_core_would_take)
{
	struct random r = random_start("records_that_no_core_would_take");
	uint32_t played = 0, refused = 0;

	for (int round = 0; round < 60; round++) {
		struct trace_queues *q;
		struct trace t;
		struct play p;

		spoil = &r;
		sample();
		spoil = NULL;
		if (!read_back(&t)) {
			refused++;
			continue;
		}
		q = t.world->queues_n > 0 ? trace_queues_recorded(&t) : NULL;
		play(&p, &t, q);
		if (q)
			cr_expect_geq(fair_jain(&p, &t, q, t.nodes), 0);
		played++;
		play_free(&p);
		trace_queues_free(q);
		trace_free(&t);
	}
	cr_expect(refused > 10 && played > 10, "%u refused, %u played", refused, played);
}
