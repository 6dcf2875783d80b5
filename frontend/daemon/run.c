/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/daemon/daemon.h"

#include "frontend/base/probe.h"
#include "frontend/serve/extender.h"

#include <unistd.h>

#define ANSWERS_NS (10 * NS_PER_S) /* for Bindings in flight, at the end */
#define RELEASE_NS (2 * NS_PER_S)  /* for the lease, after that */
/* The same before it starts over: without a lease it could do nothing then. */
#define RELEASE_AGAIN_NS (10 * NS_PER_S)
#define SLEEP_MAX_MS 1000

static uint32_t sleep_ms(const struct daemon *d, uint64_t next_ns)
{
	uint64_t now = env_now(&d->env), ms;

	if (!corelink_is_up(d->link) && d->connect_ns < next_ns)
		next_ns = d->connect_ns;
	if (d->ready_ns < next_ns)
		next_ns = d->ready_ns;
	if (next_ns <= now)
		return 0;
	if (next_ns == NEVER_NS)
		return SLEEP_MAX_MS;
	ms = (next_ns - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms < SLEEP_MAX_MS ? (uint32_t)ms : SLEEP_MAX_MS;
}

static void questions_take(struct daemon *d)
{
	struct extender_job *job;
	struct review_job *review;

	while (d->serve && (review = serve_take_review(d->serve)) != NULL)
		frontend_review(d->frontend, review);
	while (d->serve && (job = serve_take_job(d->serve)) != NULL)
		frontend_extender_request(d->frontend, job);
}

static uint64_t part_end(struct daemon *d, enum turn_part part, uint64_t begun_ns,
                         uint64_t waited_ns)
{
	return turns_add(&d->metrics.turns, part, begun_ns, env_now(&d->env), waited_ns);
}

static void loop_turn(struct daemon *d)
{
	bool more, gone = false, asleep = false;
	uint64_t begun = env_now(&d->env), next, waited;
	uint32_t ms;

	more = core_read(d);
	begun = part_end(d, TURN_COMMANDS, begun, 0);
	questions_take(d);
	begun = part_end(d, TURN_QUESTIONS, begun, 0);
	next = frontend_poll(d->frontend);
	begun = part_end(d, TURN_REQUESTS, begun, 0);
	publish(d);
	publish_ready(d);
	begun = part_end(d, TURN_PAGES, begun, 0);
	ms = more ? 0 : sleep_ms(d, next);
	if (ms > 0 && corelink_is_up(d->link)) {
		asleep = corelink_sleep(d->link);
		if (!asleep)
			ms = 0;
	}
	waited = curl_transport_poll(d->curl, ms, corelink_fd(d->link), &gone);
	part_end(d, TURN_RESPONSES, begun, waited);
	if (asleep)
		corelink_awake(d->link);
	if (gone) {
		d->metrics.lost.gone++;
		core_lost(d, "muster-core is gone");
	} else if (corelink_is_up(d->link) && corelink_broken(d->link)) {
		d->metrics.lost.bad_ring++;
		core_lost(d, "muster-core moved a ring to where it can't be; connection closed");
	} else if (corelink_is_up(d->link) &&
	           corelink_stalled_ns(d->link) >= (uint64_t)d->options->core_stall_s * NS_PER_S) {
		core_stalled(d);
	}
}

static void lease_check(const struct daemon *d)
{
	if (!frontend_lost_lease(d->frontend))
		return;
	env_log(&d->env, "error", "the lease is lost, or the journal: ending at once");
	_exit(1); /* nothing more is sent, not even the rest of a request */
}

/* Graceful stop: sends no new Binding and waits for answers to those in flight, which the next
 * instance could not enumerate. */
static void loop_quiesce(struct daemon *d)
{
	uint64_t until = env_now(&d->env) + ANSWERS_NS;

	PROBE(stopping);
	frontend_stop(d->frontend);
	while (!frontend_idle(d->frontend) && env_now(&d->env) < until) {
		lease_check(d);
		loop_turn(d);
	}
	if (corelink_is_up(d->link))
		frontend_poll(d->frontend);
	PROBE(quiesced);
	if (!frontend_idle(d->frontend))
		env_log(&d->env, "warn", "some bindings were not answered");
}

/* Quiesces and releases the lease, so that the next leader need not wait for it to expire. */
static void loop_end(struct daemon *d, uint64_t patience_ns)
{
	uint64_t until;

	loop_quiesce(d);
	until = env_now(&d->env) + patience_ns;
	while (!frontend_release_lease(d->frontend) && env_now(&d->env) < until)
		loop_turn(d);
}

int daemon_run(struct daemon *d)
{
	while (!signals_stop_wanted()) {
		int code = core_connect(d);

		if (code >= 0)
			return code;
		lease_check(d);
		loop_turn(d);
		/* In a cluster the token may be rotated at any moment; a kubeconfig is input of the user.
		 */
		if (!d->access.in_cluster && frontend_refused_at_start(d->frontend))
			return EXIT_INPUT;
		if (frontend_must_restart(d->frontend)) {
			env_log(&d->env, "warn", "starting over with nothing known");
			loop_end(d, RELEASE_AGAIN_NS);
			return signals_stop_wanted() ? 0 : START_AGAIN;
		}
	}
	env_log(&d->env, "info", "stopping");
	loop_end(d, RELEASE_NS);
	env_log(&d->env, "info", "stopped");
	return 0;
}
