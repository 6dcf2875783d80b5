/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of several users through the core with queues, and what is measured of them. */
#include "bench/trace/queues.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <unistd.h>

static void file_write(char path[64], const char *text)
{
	int fd;

	snprintf(path, 64, "/tmp/muster-trace-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void log_read(struct trace *t, const char *text)
{
	char path[64];

	file_write(path, text);
	cr_assert(trace_read(t, path));
	unlink(path);
}

static struct trace_queues *queues_of(const struct trace *t, const char *yaml)
{
	struct trace_queues *q;
	char path[64];

	file_write(path, yaml);
	q = trace_queues_new(t, path);
	unlink(path);
	return q;
}

static void play(struct play *p, const struct trace *t, uint32_t nodes,
                 const struct trace_queues *q)
{
	const struct play_options o = { .nodes = nodes, .queues = q, .check = true };

	cr_assert(trace_play(p, t, &o));
}

/* Jobs of a node each, a long one first: while it runs, `a` has more than `b`. */
#define TURNS "user,num_gpu,submit_time,duration\na,8,0,10\na,8,0,1\na,8,0,1\nb,8,0,1\nb,8,0,1\n"

Test(trace_queues, users_take_turns)
{
	static const uint64_t starts[] = { 0, 120, 180, 0, 60 };
	struct trace t;
	struct trace_queues *q;
	struct play p;

	log_read(&t, TURNS);
	q = trace_queues_new(&t, "users");
	cr_assert(q);
	play(&p, &t, 2, q);
	for (uint32_t i = 0; i < 5; i++)
		cr_expect_eq(p.jobs[i].start_s, starts[i], "job %u at %lu", i, p.jobs[i].start_s);
	cr_expect_float_eq(fair_others_wait(&p, &t, trace_user(&t, "a")), 30, 1e-9);
	cr_expect_float_eq(fair_wait_p99(&p, &t, q, q->of_user[trace_user(&t, "a")]), 180, 1e-9);
	cr_expect_float_eq(fair_wait_p99(&p, &t, NULL, QUEUE_MISSING), 180, 1e-9);
	cr_expect_lt(fair_wait_p99(&p, &t, q, 0), 0, "the root has no jobs");
	play_free(&p);
	trace_queues_free(q);
	trace_free(&t);
}

Test(trace_queues, a_limit_of_gpus_holds)
{
	struct trace t;
	struct trace_queues *q;
	struct play p;

	log_read(&t, "user,num_gpu,submit_time,duration\na,4,0,1\na,4,0,1\na,9,0,1\nb,4,0,1\n");
	q = queues_of(&t, "- name: lab\n  limit: {nvidia.com/gpu: 4, cpu: 1}\n  namespaces: [a]\n"
	                  "- name: b\n");
	cr_assert(q);
	play(&p, &t, 2, q);
	cr_expect_eq(p.jobs[0].start_s, 0);
	cr_expect_eq(p.jobs[1].start_s, 60, "4 of 4 are used");
	cr_expect_eq(p.jobs[2].start_s, TRACE_NOT_STARTED, "more than the limit");
	cr_expect_eq(p.jobs[3].start_s, 0);
	cr_expect_eq(p.left_out, 1);
	play_free(&p);
	trace_queues_free(q);
	trace_free(&t);
}

/* Plays the log on 2 nodes of 8 GPUs, and what runs is taken back. */
static void play_reclaim(struct play *p, const char *log, const char *yaml, uint32_t flags)
{
	struct play_options o = { .nodes = 2, .reclaim = flags, .check = true };
	struct trace_queues *q;
	struct trace t;

	log_read(&t, log);
	q = queues_of(&t, yaml);
	cr_assert(q);
	o.queues = q;
	cr_assert(trace_play(p, &t, &o));
	trace_queues_free(q);
	trace_free(&t);
}

/* `a` has both nodes for 10 minutes, when `b` comes after one. */
#define FULL "user,num_gpu,submit_time,duration\na,8,0,10\na,8,0,10\nb,8,1,1\n"
#define BOTH PREEMPTION_RECLAIM | PREEMPTION_FAIR

Test(trace_queues, what_more_than_a_share_runs_on_is_taken_back)
{
	struct play p;

	play_reclaim(&p, FULL, "[{name: a}, {name: b}]", BOTH);
	cr_assert_eq(p.lost_n, 1u);
	cr_expect(p.lost[0].start_s == 0 && p.lost[0].end_s == 60 && p.reclaimed_pods == 1);
	cr_expect_eq(p.jobs[2].start_s, 60, "%lu", p.jobs[2].start_s);
	cr_expect_eq(p.jobs[p.lost[0].job].start_s, 120, "when b has ended, from its beginning");
	cr_expect_eq(p.jobs[p.lost[0].job].end_s, 720);
	cr_expect_eq(p.jobs[1 - p.lost[0].job].end_s, 600);
	cr_expect_float_eq(p.lost_share, 60.0 / (2 * 720), 1e-12);
	cr_expect_float_eq(p.utilisation, 1260.0 / (2 * 720), 1e-12);
	cr_expect_float_eq(p.wait_s, 120.0 / 3, 1e-12);
	play_free(&p);
	/* Nobody is guaranteed any. */
	play_reclaim(&p, FULL, "[{name: a}, {name: b}]", PREEMPTION_RECLAIM);
	cr_expect(p.lost_n == 0 && p.jobs[2].start_s == 600 && p.lost_share == 0);
	play_free(&p);
}

Test(trace_queues, a_job_of_two_nodes_goes_whole)
{
	struct play p;

	play_reclaim(&p, "user,num_gpu,submit_time,duration\na,16,0,10\nb,8,1,1\nb,8,1,3\n",
	             "[{name: a}, {name: b, guarantee: {nvidia.com/gpu: 8}}]", PREEMPTION_RECLAIM);
	cr_assert_eq(p.lost_n, 1u);
	cr_expect_eq(p.reclaimed_pods, 2u);
	cr_expect_eq(p.jobs[1].start_s, 60);
	cr_expect_eq(p.jobs[2].start_s, 60, "beyond the guarantee, in room that is free by then");
	cr_expect_eq(p.jobs[0].start_s, 240, "%lu", p.jobs[0].start_s);
	play_free(&p);
}

Test(trace_queues, what_has_not_run_for_long_enough_is_taken_back_later)
{
	struct play p;

	play_reclaim(&p, FULL, "[{name: a, minRunSeconds: 150}, {name: b}]", BOTH);
	cr_assert_eq(p.lost_n, 1u);
	cr_expect(p.jobs[2].start_s >= 150 && p.jobs[2].start_s <= 240, "%lu", p.jobs[2].start_s);
	play_free(&p);
}

/* The ninth number of a line is what the user asked for; -1: nothing. */
Test(trace_queues, jobs_that_ask_for_longer_than_their_queue_allows_never_start)
{
	struct trace t;
	struct trace_queues *q;
	struct play p;

	log_read(&t, "; MaxNodes: 2\n"
	             "1 0 -1 50 1 -1 -1 1 600 -1 1 12 1 -1 -1 -1 -1 -1\n"
	             "2 0 -1 50 1 -1 -1 1 601 -1 1 12 1 -1 -1 -1 -1 -1\n"
	             "3 0 -1 900 1 -1 -1 1 -1 -1 1 12 1 -1 -1 -1 -1 -1\n"
	             "4 0 -1 50 1 -1 -1 1 601 -1 1 13 1 -1 -1 -1 -1 -1\n");
	q = queues_of(&t, "- {name: a, maxRunSeconds: 600, namespaces: [user-12]}\n"
	                  "- {name: b, namespaces: [user-13]}\n");
	cr_assert(q);
	play(&p, &t, 4, q);
	cr_expect_eq(p.jobs[0].start_s, 0);
	cr_expect_eq(p.jobs[1].start_s, TRACE_NOT_STARTED);
	cr_expect_eq(p.jobs[2].start_s, 0, "it asks for nothing");
	cr_expect_eq(p.jobs[3].start_s, 0);
	play_free(&p);
	trace_queues_free(q);
	trace_free(&t);
}

Test(trace_queues, a_user_without_a_queue_is_refused)
{
	struct trace t;

	log_read(&t, TURNS);
	cr_expect_null(queues_of(&t, "- name: a\n"), "b has none");
	cr_expect_null(queues_of(&t, "- name: a\n- name: b\n- name: c\n  parent: b\n"),
	               "b has children");
	cr_expect_null(queues_of(&t, "- name: a\n  weight: x\n"));
	cr_expect_null(trace_queues_new(&t, "/nowhere/queues.yaml"));
	trace_free(&t);
}

/* Jobs without a user go to the queue of a user who has that name. */
Test(trace_queues, a_user_named_default_shares_with_those_without_a_name)
{
	struct trace t;
	struct trace_queues *q;

	log_read(&t, "user,num_gpu,submit_time,duration\n,8,0,1\ndefault,8,0,1\na,8,0,1\n");
	q = trace_queues_new(&t, "users");
	cr_assert(q);
	cr_expect_eq(q->n, 3, "root, default, a");
	cr_expect_eq(q->of_user[trace_user(&t, "")], q->of_user[trace_user(&t, "default")]);
	cr_expect_neq(q->of_user[trace_user(&t, "")], q->of_user[trace_user(&t, "a")]);
	trace_queues_free(q);
	trace_free(&t);
}

/* The index of starts that are given: 2 nodes of 8, and jobs of half an hour by two users. */
static double jain(const char *yaml, const uint64_t starts_s[4])
{
	struct play_job jobs[4];
	struct play p = { .jobs = jobs };
	struct trace_queues *q;
	struct trace t;
	double index;

	log_read(&t, "user,num_gpu,submit_time,duration\na,8,0,30\nb,8,0,30\na,8,0,30\nb,1,60,1\n");
	q = queues_of(&t, yaml);
	cr_assert(q);
	for (uint32_t i = 0; i < 4; i++)
		jobs[i] =
			(struct play_job){ .start_s = starts_s[i], .end_s = starts_s[i] + t.jobs[i].run_s };
	index = fair_jain(&p, &t, q, 2);
	trace_queues_free(q);
	trace_free(&t);
	return index;
}

Test(trace_queues, jains_index_is_of_what_queues_are_entitled_to)
{
	static const uint64_t fair[] = { 0, 0, 1800, 3600 }, late[] = { 0, 1800, 0, 3600 };
	static const char equal[] = "[{name: a}, {name: b}]";
	static const char weights[] = "[{name: a, weight: 3}, {name: b}]";
	static const char guarantee[] = "[{name: a, guarantee: {nvidia.com/gpu: 16}}, {name: b}]";

	/* Each is entitled to a node while both ask for one. */
	cr_expect_float_eq(jain(equal, fair), 1, 1e-12);
	/* a had 2 nodes for 30 minutes, of a node; b one for 30, of a node for 60: 2 and 1/2. */
	cr_expect_float_eq(jain(equal, late), 2.5 * 2.5 / (2 * (4 + 0.25)), 1e-12);
	/* Of 16 GPUs 12 and 4.  fair: a is entitled to 12, then 8, and had 8: 16/20; b 8/4. */
	cr_expect_float_eq(jain(weights, fair), 2.8 * 2.8 / (2 * (0.64 + 4)), 1e-12);
	/* a is entitled to both nodes, and b to none of the first half hour. */
	cr_expect_float_eq(jain(guarantee, late), 1, 1e-12);
}

/* What is entitled does not depend on the order in which children are filled, nor on how the tree
 * is written: a queue between the root and leaves of the same weights changes nothing. */
Test(trace_queues, a_parent_of_all_changes_no_index)
{
	struct random at = random_start("a_parent_of_all_changes_no_index");

	for (int round = 0; round < 50; round++) {
		uint64_t starts[4];

		for (uint32_t i = 0; i < 4; i++)
			starts[i] = (i == 3 ? 3600 : 0) + 60 * random_below(&at, 90);
		cr_expect_float_eq(
			jain("[{name: a, weight: 2}, {name: b}]", starts),
			jain("[{name: top}, {name: a, weight: 2, parent: top}, {name: b, parent: top}]",
		         starts),
			1e-9);
	}
}
