/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of jobs through the core, compared with a slow model: a list of times, on which everything
 * is tried. */
#include "bench/trace/trace.h"

#include "ipc/memory.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <unistd.h>

#define NEVER TRACE_NOT_STARTED
#define JOBS_MOST 400u

struct job {
	uint64_t submit_s, run_s, limit_s;
	uint32_t members;
};

static void trace_of(struct trace *t, const struct job *jobs, uint32_t n)
{
	*t = (struct trace){ .jobs = must_array(n, sizeof(*t->jobs)), .jobs_n = n, .node_milli = 1000 };
	for (uint32_t i = 0; i < n; i++)
		t->jobs[i] = (struct trace_job){ .number = i + 1,
			                             .submit_s = jobs[i].submit_s,
			                             .run_s = jobs[i].run_s,
			                             .limit_s = jobs[i].limit_s,
			                             .members = jobs[i].members,
			                             .milli = 1000,
			                             .place = i };
}

static void play(struct play *p, const struct trace *t, uint32_t nodes, uint32_t depth)
{
	const struct play_options o = { .nodes = nodes, .promise_depth = depth, .check = true };

	cr_assert(trace_play(p, t, &o));
}

/* Plays the jobs and compares starts and first promises. */
static void expect(const struct job *jobs, uint32_t n, uint32_t nodes, uint32_t depth,
                   const uint64_t *starts, const uint64_t *told)
{
	struct trace t;
	struct play p;

	trace_of(&t, jobs, n);
	play(&p, &t, nodes, depth);
	for (uint32_t i = 0; i < n; i++) {
		cr_expect_eq(p.jobs[i].start_s, starts[i], "job %u starts at %lu, not %lu", i,
		             p.jobs[i].start_s, starts[i]);
		if (told)
			cr_expect_eq(p.jobs[i].told_s, told[i], "job %u is told %lu, not %lu", i,
			             p.jobs[i].told_s, told[i]);
	}
	cr_expect_eq(p.late, 0);
	cr_expect_eq(p.moved_later, 0);
	play_free(&p);
	trace_free(&t);
}

#define EXPECT(nodes, depth, jobs, starts, told)                                                   \
	expect(jobs, sizeof(jobs) / sizeof(jobs[0]), nodes, depth, starts, told)

/* BF-1 to BF-5 and BF-14 of the contract; the first ones are cases of pyss. */
Test(trace, bf_1_a_short_job_passes_the_head_of_the_queue)
{
	const struct job jobs[] = {
		{ 0, 100, 100, 50 }, { 1, 100, 100, 100 }, { 2, 100, 100, 60 }, { 20, 10, 10, 10 }
	};
	const uint64_t starts[] = { 0, 100, 200, 20 };

	EXPECT(100, 1, jobs, starts, NULL);
	EXPECT(100, 64, jobs, starts, NULL);
}

Test(trace, bf_2_and_3_a_deeper_promise_keeps_a_long_job_back)
{
	const struct job jobs[] = {
		{ 0, 100, 100, 70 }, { 1, 100, 100, 80 }, { 2, 100, 100, 90 }, { 50, 250, 250, 20 }
	};
	const uint64_t kept[] = { 0, 100, 200, 300 }, told[] = { NEVER, 100, 200, 300 };
	const uint64_t easy[] = { 0, 100, 300, 50 };

	EXPECT(100, 64, jobs, kept, told);
	EXPECT(100, 1, jobs, easy, NULL);
}

Test(trace, bf_4_an_early_end_moves_all_earlier)
{
	const struct job jobs[] = {
		{ 0, 60, 100, 70 }, { 1, 100, 100, 80 }, { 2, 100, 100, 90 }, { 50, 250, 250, 20 }
	};
	const uint64_t starts[] = { 0, 60, 160, 260 }, told[] = { NEVER, 100, 200, 300 };

	EXPECT(100, 64, jobs, starts, told);
}

Test(trace, bf_5_nobody_takes_the_room_into_which_another_moved)
{
	const struct job jobs[] = {
		{ 0, 30, 30, 5 }, { 1, 20, 40, 3 }, { 2, 15, 30, 8 }, { 3, 5, 10, 6 }
	};
	const uint64_t starts[] = { 0, 1, 35, 30 }, told[] = { NEVER, NEVER, 41, 30 };

	EXPECT(10, 64, jobs, starts, told);
}

Test(trace, bf_14_what_slurm_answers)
{
	const struct job jobs[] = { { 0, 70, 120, 70 }, { 0, 60, 120, 80 },  { 0, 60, 120, 90 },
		                        { 0, 45, 60, 20 },  { 0, 100, 180, 20 }, { 0, 10, 60, 100 } };
	const uint64_t starts[] = { 0, 70, 145, 0, 45, 205 };
	const uint64_t told[] = { NEVER, 120, 240, NEVER, 60, 360 };

	EXPECT(100, 64, jobs, starts, told);
}

/* The slow model. */

struct slow {
	const struct trace_job *jobs;
	uint32_t n, places, depth;
	uint64_t start_s[JOBS_MOST], told_s[JOBS_MOST], at_s[JOBS_MOST]; /* at_s: promised; NEVER */
	bool runs[JOBS_MOST];
};

static uint64_t slow_runs(const struct trace_job *j)
{
	return j->run_s < j->limit_s ? j->run_s : j->limit_s;
}

/* Free places at a time by known ends and promises, without job `skip`. */
static int64_t slow_free(const struct slow *s, uint64_t at_s, uint32_t skip)
{
	int64_t left = s->places;

	for (uint32_t i = 0; i < s->n; i++) {
		const uint64_t from_s = s->runs[i] ? s->start_s[i] : s->at_s[i];

		if ((s->runs[i] || (s->at_s[i] != NEVER && i != skip)) && from_s <= at_s &&
		    at_s < from_s + s->jobs[i].limit_s)
			left -= s->jobs[i].members;
	}
	return left;
}

static bool slow_fits(const struct slow *s, uint32_t job, uint64_t at_s)
{
	if (slow_free(s, at_s, job) < s->jobs[job].members)
		return false;
	for (uint32_t i = 0; i < s->n; i++) { /* what is free falls at starts of promises alone */
		if (i != job && s->at_s[i] != NEVER && s->at_s[i] > at_s &&
		    s->at_s[i] < at_s + s->jobs[job].limit_s &&
		    slow_free(s, s->at_s[i], job) < s->jobs[job].members)
			return false;
	}
	return true;
}

static uint64_t slow_earliest(const struct slow *s, uint32_t job, uint64_t now_s)
{
	uint64_t best_s = slow_fits(s, job, now_s) ? now_s : NEVER;

	for (uint32_t i = 0; i < s->n && best_s != now_s; i++) {
		const uint64_t from_s = s->runs[i] ? s->start_s[i] : s->at_s[i];
		const uint64_t end_s = from_s == NEVER ? NEVER : from_s + s->jobs[i].limit_s;

		if (i != job && end_s != NEVER && end_s > now_s && end_s < best_s &&
		    slow_fits(s, job, end_s))
			best_s = end_s;
	}
	return best_s;
}

/* Each promise is tried alone, those that would end first first. */
static void slow_improve(struct slow *s, uint64_t now_s)
{
	bool tried[JOBS_MOST] = { false };
	uint64_t ends_s[JOBS_MOST];

	for (uint32_t i = 0; i < s->n; i++)
		ends_s[i] = s->at_s[i] == NEVER ? NEVER : s->at_s[i] + s->jobs[i].limit_s;
	for (;;) {
		uint32_t next = JOBS_MOST;
		uint64_t at_s;

		for (uint32_t i = 0; i < s->n; i++)
			if (ends_s[i] != NEVER && !tried[i] && (next == JOBS_MOST || ends_s[i] < ends_s[next]))
				next = i;
		if (next == JOBS_MOST)
			return;
		tried[next] = true;
		at_s = slow_earliest(s, next, now_s);
		if (at_s < s->at_s[next])
			s->at_s[next] = at_s;
	}
}

static uint32_t slow_promises(const struct slow *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->at_s[i] != NEVER;
	return n;
}

static void slow_look(struct slow *s, uint64_t now_s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t at_s = s->at_s[i];

		if (s->start_s[i] != NEVER || s->jobs[i].submit_s > now_s)
			continue;
		if (at_s == NEVER)
			at_s = slow_promises(s) < s->depth ? slow_earliest(s, i, now_s)
			       : slow_fits(s, i, now_s)    ? now_s
			                                   : NEVER;
		s->at_s[i] = at_s;
		if (at_s == now_s) {
			s->start_s[i] = now_s;
			s->at_s[i] = NEVER;
			s->runs[i] = true;
		} else if (s->told_s[i] == NEVER) {
			s->told_s[i] = at_s;
		}
	}
}

static void slow_play(struct slow *s)
{
	uint32_t submitted = 0;

	for (uint32_t i = 0; i < s->n; i++)
		s->start_s[i] = s->told_s[i] = s->at_s[i] = NEVER;
	for (;;) {
		uint64_t now_s = submitted < s->n ? s->jobs[submitted].submit_s : NEVER;
		bool ended = false;

		for (uint32_t i = 0; i < s->n; i++)
			if (s->runs[i] && s->start_s[i] + slow_runs(&s->jobs[i]) < now_s)
				now_s = s->start_s[i] + slow_runs(&s->jobs[i]);
		if (now_s == NEVER)
			return;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->runs[i] && s->start_s[i] + slow_runs(&s->jobs[i]) == now_s) {
				s->runs[i] = false;
				ended = true;
			}
		while (submitted < s->n && s->jobs[submitted].submit_s == now_s)
			submitted++;
		if (ended)
			slow_improve(s, now_s);
		slow_look(s, now_s);
	}
}

static void random_jobs(struct job *jobs, uint32_t n, uint32_t places, struct random *seed)
{
	uint64_t at_s = 0;

	for (uint32_t i = 0; i < n; i++) {
		at_s += random_below(seed, 3) == 0 ? random_below(seed, 60) : 0;
		jobs[i].submit_s = at_s;
		jobs[i].members = 1 + random_below(seed, random_below(seed, 4) ? 4 : places);
		jobs[i].limit_s = 1 + random_below(seed, random_below(seed, 4) ? 50 : 400);
		jobs[i].run_s = random_below(seed, 3) ? random_below(seed, (uint32_t)jobs[i].limit_s + 1)
		                                      : jobs[i].limit_s + random_below(seed, 3);
	}
}

static void compare(uint64_t number, uint32_t depth)
{
	struct random seed = { number };
	static struct slow s;
	struct job jobs[JOBS_MOST];
	const uint32_t n = 60, places = 4 + random_below(&seed, 12);
	struct trace t;
	struct play p;

	random_jobs(jobs, n, places, &seed);
	trace_of(&t, jobs, n);
	play(&p, &t, places, depth);
	memset(&s, 0, sizeof(s));
	s.jobs = t.jobs;
	s.n = n;
	s.places = places;
	s.depth = depth;
	slow_play(&s);
	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(p.jobs[i].start_s, s.start_s[i], "depth %u, job %u: starts at %lu, model %lu",
		             depth, i, p.jobs[i].start_s, s.start_s[i]);
		cr_assert_eq(p.jobs[i].told_s, s.told_s[i], "depth %u, job %u: told %lu, model %lu", depth,
		             i, p.jobs[i].told_s, s.told_s[i]);
	}
	cr_assert_eq(p.late, 0);
	cr_assert_eq(p.moved_later, 0);
	play_free(&p);
	trace_free(&t);
}

Test(trace, random_logs_start_and_are_promised_as_in_the_slow_model)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		compare(seed, 1);
		compare(seed, 3);
		compare(seed, 64);
	}
}

/* Nodes of eight places and members of one to eight: sums are only a bound, the picture proves. */
Test(trace, no_promise_slips_where_members_share_nodes)
{
	uint64_t promises = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct job jobs[JOBS_MOST];
		struct random at = { seed };
		struct trace t;
		struct play p;

		random_jobs(jobs, 60, 12, &at);
		trace_of(&t, jobs, 60);
		t.node_milli = 8000;
		for (uint32_t i = 0; i < 60; i++) {
			t.jobs[i].milli = 1000 * (1 + random_below(&at, 8));
			t.jobs[i].members = 1 + random_below(&at, 4);
		}
		play(&p, &t, 4, 8);
		cr_expect_eq(p.late, 0, "seed %lu: %lu late", seed, p.late);
		cr_expect_eq(p.moved_later, 0, "seed %lu: %lu moved later", seed, p.moved_later);
		promises += p.promises;
		for (uint32_t i = 0; i < 60; i++)
			cr_expect_neq(p.jobs[i].start_s, NEVER,
			              "seed %lu: job %u of %u x %u never starts, told %lu, submitted %lu", seed,
			              i, t.jobs[i].members, t.jobs[i].milli, p.jobs[i].told_s,
			              t.jobs[i].submit_s);
		play_free(&p);
		trace_free(&t);
	}
	cr_expect_gt(promises, 100);
}

/* Files. */

static void write_log(char path[64], const char *text)
{
	int fd;

	snprintf(path, 64, "/tmp/muster-trace-XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

Test(trace, a_log_is_read_with_all_that_logs_have)
{
	struct trace t;
	struct play p;
	char path[64];

	write_log(path, "; MaxNodes: 3\n;   MaxProcs: 4\n\n"
	                "7 100 -1 50 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1\r\n"
	                "3 90 -1 10 4 1.5 -1 -1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n" /* allocated; no limit */
	                "4 95 -1 -1 4 -1 -1 4 60 -1 5 1 1 -1 -1 -1 -1 -1\n"   /* cancelled */
	                "5 96 -1 20 -1 -1 -1 -1 60 -1 1\n"                    /* no size; short */
	                "6 100 -1 0 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n"   /* ends at once */
	                "8 101 -1 90 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n"  /* longer than it may */
	                "9 102 -1 10 5 -1 -1 5 60 -1 1 1 1 -1 -1 -1 -1 -1\n");
	cr_assert(trace_read(&t, path));
	unlink(path);
	cr_assert_eq(t.jobs_n, 5);
	cr_expect_eq(t.nodes, 4);
	cr_expect_eq(t.unusable, 2);
	cr_expect_eq(t.jobs[0].number, 3, "sorted by submission");
	cr_expect_eq(t.jobs[0].limit_s, 10);
	cr_expect_eq(t.jobs[0].members, 4);
	cr_expect_eq(t.jobs[1].number, 7, "and by the place in the file");
	cr_expect_eq(t.jobs[1].submit_s, 10);
	play(&p, &t, t.nodes, 64);
	cr_expect_eq(p.left_out, 1, "larger than the cluster");
	cr_expect_eq(p.jobs[2].end_s, p.jobs[2].start_s);
	cr_expect_eq(p.jobs[3].end_s - p.jobs[3].start_s, 60, "ended at its limit");
	play_free(&p);
	trace_free(&t);
}

Test(trace, a_log_that_is_none_is_refused)
{
	static const char *const texts[] = {
		"",
		"; nothing but a comment\n",
		"1 2 3\n",
		"1 2 x 4 5 6\n",
		"a,b,c\n1,2,3\n",
		"num_gpu,submit_time,duration\n1,2,x\n",
		"1 2 3 99999999999 5 6 7 8 9\n",
		"1 2 3 4 5 6 7 90000000 9\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trace t;
		char path[64];

		write_log(path, texts[i]);
		cr_expect_not(trace_read(&t, path), "%s", texts[i]);
		unlink(path);
	}
}

Test(trace, csv_logs_are_read_by_their_headers)
{
	struct trace t;
	char path[64];

	write_log(path, "job_id,user,num_gpu,submit_time,iterations,model_name,duration\n"
	                "0,u,20,2,1,m,3\n1,u,1,1,1,m,0\n");
	cr_assert(trace_read(&t, path));
	unlink(path);
	cr_expect_eq(t.jobs[1].submit_s, 60, "minutes");
	cr_expect_eq(t.jobs[1].members, 3);
	cr_expect_eq(t.jobs[1].milli, 8000);
	trace_free(&t);
	write_log(path, "name,cpu_milli,num_gpu,gpu_milli,creation_time,deletion_time\n"
	                "a,1,1,460,5,8\nb,1,0,0,5,8\n");
	cr_assert(trace_read(&t, path));
	unlink(path);
	cr_expect_eq(t.jobs_n, 1, "without GPUs: %u", t.jobs_n);
	cr_expect_eq(t.jobs[0].milli, 460);
	cr_expect_eq(t.jobs[0].run_s, 3);
	trace_free(&t);
}

Test(trace, users_are_names_of_csv_and_numbers_of_swf)
{
	struct trace t, more;
	char path[64];

	write_log(path, "user,num_gpu,submit_time,duration\nb,1,0,5\na,1,0,5\nb,2,1,5\n,1,2,5\n");
	cr_assert(trace_read(&t, path));
	unlink(path);
	cr_assert_eq(t.users_n, 3);
	cr_expect_eq(t.jobs[0].user, t.jobs[2].user);
	cr_expect_str_eq(t.users[t.jobs[1].user], "a");
	cr_expect_str_eq(t.users[t.jobs[3].user], "");
	cr_expect_eq(trace_user(&t, "b"), t.jobs[0].user);
	cr_expect_eq(trace_user(&t, "c"), t.users_n);
	cr_assert(trace_multiply(&more, &t, t.jobs[0].user, 10));
	cr_expect_eq(more.jobs_n, 22);
	cr_expect_eq(more.jobs[10].user, t.jobs[1].user);
	cr_expect_not(trace_multiply(&more, &t, t.jobs[0].user, 4000000));
	trace_free(&more);
	trace_free(&t);
	write_log(path, "7 100 -1 50 2 -1 -1 2 60 -1 1 12 1 -1 -1 -1 -1 -1\n8 100 -1 50 2\n");
	cr_assert(trace_read(&t, path));
	unlink(path);
	cr_expect_str_eq(t.users[t.jobs[0].user], "user-12");
	cr_expect_str_eq(t.users[t.jobs[1].user], "");
	trace_free(&t);
}

/* 300 jobs of KTH-SP2, where promises differ from EASY; the numbers are those of a model in Python
 * that shares nothing with this one. */
Test(trace, a_cut_of_kth_sp2)
{
	struct trace t;
	struct play p;

	cr_assert(trace_read(&t, "tests/data/kth-sp2/cut.swf"));
	for (uint32_t depth = 1; depth <= 64; depth += 63) {
		const struct play_options o = { .nodes = 100, .promise_depth = depth };

		cr_assert(trace_play(&p, &t, &o));
		cr_expect_float_eq(p.slowdown, depth == 1 ? 189.197626881 : 168.738277292, 1e-6,
		                   "depth %u: %.9f", depth, p.slowdown);
		cr_expect_eq(p.promises, depth == 1 ? 28 : 188);
		cr_expect_eq(p.late, 0);
		play_free(&p);
	}
	trace_free(&t);
}

/* The whole log, where it lies beside the tree. */
Test(trace, kth_sp2)
{
	static const char path[] = "../shared/data/kth-sp2/KTH-SP2.swf.gz";
	const struct play_options o = { .nodes = 100, .promise_depth = 1 };
	struct trace t;
	struct play p;

	if (access(path, R_OK) != 0)
		cr_skip_test("%s is not there: EASY on it was not compared with what is published", path);
	cr_assert(trace_read(&t, path));
	t.jobs_n = 3000; /* 92.69 and 75.16 of all 28,481: docs/decisions/058 */
	cr_assert(trace_play(&p, &t, &o));
	cr_expect_float_eq(p.slowdown, 111.813693727, 1e-6, "%.9f", p.slowdown);
	cr_expect_eq(p.late, 0);
	play_free(&p);
	trace_free(&t);
}
