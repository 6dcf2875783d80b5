/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/searchers.h"

#include "core/world/follower.h"
#include "ipc/clock.h"
#include "ipc/logline.h"
#include "ipc/memory.h"
#include "ipc/wake.h"

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

struct searchers {
	struct searchers_config config;
	struct feed *feed;
	struct follower *follower; /* the world thread's once it runs */
	pthread_t thread;
	bool runs;
	_Atomic uint32_t stop;
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
	*out = s;
	return 0;
}

struct feed *searchers_feed(const struct searchers *s)
{
	return s->feed;
}

static bool is_stopped(const struct searchers *s)
{
	/* Relaxed: it is polled. */
	return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

static bool ready(void *context)
{
	const struct searchers *s = context;

	return follower_has_news(s->follower) || is_stopped(s);
}

/* Naps while records come, so that the loop makes no system call for each of them. */
static void rest(struct searchers *s, uint32_t idle)
{
	const uint64_t nap_ns = NAP_FIRST_NS << (idle < 2 ? idle : 2);

	if (idle < NAPS)
		nanosleep(
			&(struct timespec){ .tv_nsec = (long)(nap_ns < NAP_MOST_NS ? nap_ns : NAP_MOST_NS) },
			NULL);
	else
		follower_sleep(s->follower, ready, s, SLEEP_NS);
}

static void *follow(void *context)
{
	struct searchers *s = context;
	uint32_t idle = 0;

	while (!is_stopped(s) && follower_state(s->follower) == WORLD_FOLLOWS) {
		if (follower_run(s->follower, BATCH) > 0) {
			idle = 0;
			continue;
		}
		rest(s, idle);
		idle += idle < NAPS;
	}
	return NULL;
}

int searchers_start(struct searchers *s, struct core_world *stats)
{
	const struct follower_config config = { .limits = s->config.limits,
		                                    .score = s->config.score,
		                                    .reserve_after_ns = s->config.reserve_after_ns,
		                                    .retain_for_ns = s->config.retain_for_ns,
		                                    .feed = s->feed,
		                                    .stats = stats };
	int rc = follower_new(&s->follower, &config);

	if (rc == 0)
		rc = -pthread_create(&s->thread, NULL, follow, s);
	if (rc < 0) {
		feed_leave(s->feed);
		return rc;
	}
	s->runs = true;
	/* Traces tell its steps from the loop's by the name. */
	pthread_setname_np(s->thread, "muster-world");
	return 0;
}

/* Until the thread has seen `stop`: a wake-up may come before it sleeps. */
static void join(struct searchers *s)
{
	struct timespec until;

	do {
		wake_poke(&s->feed->doorbell);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += (long)JOIN_NS;
		if (until.tv_nsec >= (long)NS_PER_S) {
			until.tv_sec++;
			until.tv_nsec -= (long)NS_PER_S;
		}
	} while (pthread_timedjoin_np(s->thread, NULL, &until) == ETIMEDOUT);
}

void searchers_stop(struct searchers *s)
{
	if (!s || !s->runs)
		return;
	atomic_store_explicit(&s->stop, 1, memory_order_relaxed);
	join(s);
	s->runs = false;
}

void searchers_close(struct searchers *s)
{
	if (!s)
		return;
	searchers_stop(s);
	follower_free(s->follower);
	feed_close(s->feed);
	free(s);
}
