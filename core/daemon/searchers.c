/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/searchers.h"

#include "core/daemon/questions.h"
#include "core/world/answers.h"
#include "core/world/follower.h"
#include "core/world/live_verdict.h"
#include "core/world/lookout.h"
#include "core/world/snapshot.h"
#include "core/world/what_if.h"
#include "ipc/clock.h"
#include "ipc/logline.h"
#include "ipc/memory.h"
#include "ipc/wake.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 1024u
#define SLEEP_NS (10 * NS_PER_S)
#define NAP_FIRST_NS NS_PER_MS
#define NAP_MOST_NS (4 * NAP_FIRST_NS)
#define NAPS 8u /* without a record, before it sleeps until it is woken */
#define JOIN_NS (NS_PER_S / 100)
#define SNAPSHOT_NS (NS_PER_S / 10) /* between two */
#define AUDIT_NS (10 * NS_PER_S)    /* between two */
#define WAIT_NS (NS_PER_S / 20)     /* for a snapshot; then the world is woken again */
#define QUESTION_NS (2 * NS_PER_S)  /* the most that an answer takes */
#define QUESTION_SHARE 5u           /* of the time, at most one part is for answers */

struct searcher {
	struct searchers *of;
	uint32_t index;
	pthread_t thread;
	struct audit *audit;
	uint64_t audited; /* records applied as of the last audit */
};

struct searchers {
	struct searchers_config config;
	struct feed *feed;
	struct answers *answers;   /* to the loop */
	struct follower *follower; /* the world thread's once it runs */
	struct core_world *stats;
	struct snapshots *snapshots;
	struct lookout *lookout; /* the world thread's */
	struct questions *questions;
	struct verdicts *verdicts; /* the world thread's */
	uint64_t answers_until_ns; /* the world thread's: of the question that is open */
	uint64_t answers_from_ns;  /* ... and no answer before */
	uint64_t published_ns;     /* the world thread's */
	pthread_t thread;
	bool runs;
	struct searcher all[SEARCHERS_MOST];
	uint32_t searchers_n;       /* that run */
	_Atomic uint32_t stop;      /* a futex word, for searchers */
	_Atomic uint32_t wanted;    /* a snapshot */
	_Atomic uint32_t published; /* counts snapshots */
};

int searchers_open(struct searchers **out, const struct searchers_config *config)
{
	struct searchers *s = must_alloc(sizeof(*s));
	int rc = feed_open(&s->feed, FEED_BYTES);

	if (rc < 0) {
		free(s);
		return rc;
	}
	s->config = *config;
	s->answers = answers_new();
	s->questions = questions_new(config->answered, config->context);
	s->verdicts = verdicts_new();
	*out = s;
	return 0;
}

struct feed *searchers_feed(const struct searchers *s)
{
	return s->feed;
}

struct answers *searchers_answers(const struct searchers *s)
{
	return s->answers;
}

struct questions *searchers_questions(const struct searchers *s)
{
	return s->questions;
}

void searchers_wake(struct searchers *s)
{
	wake_poke(&s->feed->doorbell);
}

static bool is_stopped(const struct searchers *s)
{
	/* Relaxed: it is polled. */
	return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

static bool is_wanted(const struct searchers *s)
{
	/* Relaxed: it is polled. */
	return atomic_load_explicit(&s->wanted, memory_order_relaxed);
}

static bool ready(void *context)
{
	const struct searchers *s = context;

	return follower_has_news(s->follower) || is_wanted(s) || is_stopped(s) ||
	       questions_wait(s->questions);
}

static void count(_Atomic uint64_t *figure, uint64_t more)
{
	atomic_fetch_add_explicit(figure, more, memory_order_relaxed);
}

/* The world thread: a snapshot if one is wanted and due. */
static void publish(struct searchers *s)
{
	const struct core *core = follower_core(s->follower);
	uint32_t copied, shared;
	uint64_t now_ns;

	if (!core || !is_wanted(s))
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns - s->published_ns < SNAPSHOT_NS)
		return;
	s->published_ns = now_ns;
	if (!snapshots_has_room(s->snapshots)) {
		count(&s->stats->snapshots_put_off, 1);
		return;
	}
	atomic_store_explicit(&s->wanted, 0, memory_order_relaxed);
	snapshots_publish(s->snapshots, snapshot_make(core, follower_position(s->follower)), &copied,
	                  &shared);
	count(&s->stats->snapshots, 1);
	count(&s->stats->chunks_copied, copied);
	count(&s->stats->chunks_shared, shared);
	/* Relaxed: the snapshot is ordered by its root. */
	atomic_fetch_add_explicit(&s->published, 1, memory_order_relaxed);
}

/* Until the lookout wants to look again. */
static uint64_t sleep_ns(const struct searchers *s)
{
	const uint64_t due_ns = lookout_due_ns(s->lookout), now_ns = clock_monotonic_ns();

	if (due_ns <= now_ns)
		return NAP_MOST_NS;
	return due_ns - now_ns < SLEEP_NS ? due_ns - now_ns : SLEEP_NS;
}

/* Naps while records come, so that the loop makes no system call for each of them. */
static void rest(struct searchers *s, uint32_t idle)
{
	const uint64_t nap_ns = NAP_FIRST_NS << (idle < 2 ? idle : 2);

	if (idle < NAPS || is_wanted(s) || questions_wait(s->questions))
		nanosleep(
			&(struct timespec){ .tv_nsec = (long)(nap_ns < NAP_MOST_NS ? nap_ns : NAP_MOST_NS) },
			NULL);
	else
		follower_sleep(s->follower, ready, s, sleep_ns(s));
}

/* hooks.ends: the world has to follow, and an answer is waited for. */
static bool answer_ends(void *context)
{
	const struct searchers *s = context;

	return is_stopped(s) || follower_waiting(s->follower) > FEED_BYTES / 2 ||
	       clock_monotonic_ns() > s->answers_until_ns;
}

/* The world thread: one question, if it is time for one. */
static void answer_one(struct searchers *s)
{
	const struct keeper_hooks hooks = { .ends = answer_ends, .context = s };
	const struct core *world = follower_core(s->follower);
	struct asked_question asked;
	struct live_answer answer;
	uint64_t begun_ns;
	uint32_t slot;

	if (!world || !questions_wait(s->questions))
		return;
	begun_ns = clock_monotonic_ns();
	if (begun_ns < s->answers_from_ns || !questions_next(s->questions, &slot, &asked))
		return;
	s->answers_until_ns = begun_ns + QUESTION_NS;
	if (asked.question.about == ABOUT_POD) {
		const struct verdict_of of = { .world = world,
			                           .position = follower_position(s->follower),
			                           .pod = asked.with_pod ? &asked.pod : NULL,
			                           .hooks = &hooks };

		verdicts_answer(s->verdicts, &of, &asked.question, &answer);
	} else {
		what_if(&(struct what_if_of){ .keeper = follower_keeper(s->follower),
		                              .world = world,
		                              .gang = asked.with_gang ? &asked.gang : NULL,
		                              .hooks = &hooks },
		        &asked.question, &answer);
		answer.position = follower_position(s->follower);
	}
	questions_answer(s->questions, slot, &answer);
	s->answers_from_ns = begun_ns + QUESTION_SHARE * (clock_monotonic_ns() - begun_ns);
}

static void *follow(void *context)
{
	struct searchers *s = context;
	uint32_t idle = 0;

	snapshots_enter();
	while (!is_stopped(s) && follower_state(s->follower) == WORLD_FOLLOWS) {
		const uint32_t n = follower_run(s->follower, BATCH);

		publish(s);
		if (n < BATCH) {
			lookout_run(s->lookout, clock_monotonic_ns());
			answer_one(s);
		}
		if (n > 0) {
			idle = 0;
			continue;
		}
		rest(s, idle);
		idle += idle < NAPS;
	}
	lookout_clear(s->lookout);
	questions_close(s->questions);
	snapshots_leave();
	return NULL;
}

/* True if there is a snapshot that is newer than the question. */
static bool snapshot_ask(struct searchers *s)
{
	const uint32_t before = atomic_load_explicit(&s->published, memory_order_relaxed);

	for (uint64_t waited_ns = 0; waited_ns < NS_PER_S && !is_stopped(s); waited_ns += WAIT_NS) {
		atomic_store_explicit(&s->wanted, 1, memory_order_relaxed);
		wake_poke(&s->feed->doorbell);
		wake_wait_doorbell(&s->stop, 0, WAIT_NS);
		if (atomic_load_explicit(&s->published, memory_order_relaxed) != before)
			return true;
	}
	return false;
}

static void audit(struct searcher *r)
{
	struct searchers *s = r->of;
	struct audit_difference d;
	const struct snapshot *seen = snapshots_begin(s->snapshots);
	const bool audited = seen && seen->exact;
	const bool equal = !seen || snapshot_audit(seen, r->index, s->config.searchers, r->audit, &d);

	snapshots_end();
	count(&s->stats->audits, audited);
	if (equal)
		return;
	count(&s->stats->audit_faults, 1);
	log_line(LOG_ERROR,
	         "msg=\"the free capacity of a node is not what its pods leave: this is a bug\" "
	         "node=%u resource=%u free=%lld recomputed=%lld",
	         d.node, d.resource, (long long)d.free, (long long)d.recomputed);
}

static void *search(void *context)
{
	struct searcher *r = context;
	struct searchers *s = r->of;

	snapshots_enter();
	while (!is_stopped(s)) {
		uint64_t events;

		wake_wait_doorbell(&s->stop, 0, AUDIT_NS);
		events = atomic_load_explicit(&s->stats->events, memory_order_relaxed);
		if (is_stopped(s) || events == r->audited || !snapshot_ask(s))
			continue;
		r->audited = events;
		audit(r);
	}
	snapshots_leave();
	return NULL;
}

/* As many as can be had. */
static void searchers_begin(struct searchers *s)
{
	for (uint32_t i = 0; i < s->config.searchers; i++) {
		struct searcher *r = &s->all[i];

		*r = (struct searcher){ .of = s,
			                    .index = i,
			                    .audit = audit_new(s->config.core.limits.shapes) };
		if (pthread_create(&r->thread, NULL, search, r) != 0) {
			audit_free(r->audit);
			return;
		}
		pthread_setname_np(r->thread, "muster-search");
		s->searchers_n++;
	}
}

static bool lookout_stopped(void *context)
{
	return is_stopped(context);
}

/* The loop looks at least ten times a second.  One that finds no space is dropped: its ticket
 * expires. */
static void lookout_answer(void *context, struct record *r)
{
	const struct searchers *s = context;

	if (!answers_push(s->answers, r))
		free(r);
}

static struct lookout *lookout_make(struct searchers *s, struct ledger *ledger)
{
	return lookout_new(&(struct lookout_config){ .follower = s->follower,
	                                             .stats = &ledger->searches,
	                                             .rows = ledger->victims,
	                                             .steps_most = LOOKOUT_STEPS,
	                                             .feed_bytes = FEED_BYTES,
	                                             .clock_ns = clock_monotonic_ns,
	                                             .stopped = lookout_stopped,
	                                             .answer = lookout_answer,
	                                             .context = s });
}

int searchers_start(struct searchers *s, struct ledger *ledger)
{
	struct core_world *stats = &ledger->world;
	const struct follower_config config = { .core = s->config.core,
		                                    .feed = s->feed,
		                                    .stats = stats };
	int rc;

	assert(!s->runs && !s->follower);
	rc = follower_new(&s->follower, &config);
	s->stats = stats;
	if (rc == 0) {
		s->snapshots = snapshots_new();
		s->lookout = lookout_make(s, ledger);
	}
	if (rc == 0)
		rc = -pthread_create(&s->thread, NULL, follow, s);
	if (rc < 0) {
		questions_close(s->questions);
		feed_leave(s->feed);
		atomic_store_explicit(&stats->state, WORLD_OFF, memory_order_relaxed);
		return rc;
	}
	s->runs = true;
	/* Traces tell its steps from the loop's by the name. */
	pthread_setname_np(s->thread, "muster-world");
	searchers_begin(s);
	return 0;
}

/* Until the thread has seen `stop`: a wake-up may come before it sleeps. */
static void join(struct searchers *s, pthread_t thread)
{
	struct timespec until;

	do {
		wake_poke(&s->feed->doorbell);
		wake_poke(&s->stop);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)JOIN_NS;
		if (until.tv_nsec >= (long)NS_PER_S) {
			until.tv_sec++;
			until.tv_nsec -= (long)NS_PER_S;
		}
	} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
}

void searchers_stop(struct searchers *s)
{
	if (!s || !s->runs)
		return;
	atomic_store_explicit(&s->stop, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < s->searchers_n; i++) {
		join(s, s->all[i].thread);
		audit_free(s->all[i].audit);
	}
	join(s, s->thread);
	s->runs = false;
}

void searchers_close(struct searchers *s)
{
	if (!s)
		return;
	searchers_stop(s);
	snapshots_free(s->snapshots);
	lookout_free(s->lookout);
	follower_free(s->follower);
	feed_close(s->feed);
	answers_free(s->answers);
	questions_free(s->questions);
	verdicts_free(s->verdicts);
	free(s);
}
