/* SPDX-License-Identifier: Apache-2.0 */
/* muster-core's loop and socket, with this test as the frontend: handshakes, epochs,
 * records through the rings, and a frontend that sends malformed records. */
#include "core/daemon/control.h"
#include "ipc/logline.h"
#include "ipc/link.h"
#include "ipc/ring.h"
#include "ipc/wake.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/test.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 10000

struct daemon {
	char folder[64];
	char socket[96];
	pid_t pid;
};

static const struct limits limits = LIMITS_WITH(.nodes = 64, .pods = 256, .gangs = 16, .names = 32);

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void daemon_start(struct daemon *d)
{
	struct control_config config = {
		.socket = d->socket, .core.limits = limits, .spin_us = 20, .cpu = -1, .searchers = 1
	};
	struct link_error e;
	struct link observer;

	strcpy(d->folder, "/tmp/muster-core-XXXXXX");
	cr_assert(mkdtemp(d->folder));
	snprintf(d->socket, sizeof(d->socket), "%s/s", d->folder);
	d->pid = fork();
	cr_assert(d->pid >= 0);
	if (d->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		log_set_level(LOG_ERROR);
		_exit(control_run(&config));
	}
	/* The file exists a moment before the socket accepts. */
	for (int i = 0; link_connect(d->socket, LINK_OBSERVER, NULL, &observer, &e) < 0; i++) {
		cr_assert(i < WAIT_MS, "the core does not listen: %s", e.text);
		nap();
	}
	link_close(&observer);
}

/* Its exit code. */
static int daemon_stop(struct daemon *d)
{
	char lock[128];
	int status, gone;

	kill(d->pid, SIGTERM);
	cr_assert_eq(waitpid(d->pid, &status, 0), d->pid);
	cr_assert(WIFEXITED(status), "ended by a signal");
	gone = access(d->socket, F_OK);
	cr_assert(gone < 0, "the socket file is left behind");
	snprintf(lock, sizeof(lock), "%s.lock", d->socket);
	unlink(lock);
	rmdir(d->folder);
	return WEXITSTATUS(status);
}

struct peer {
	struct segment intake;
	struct link link;
	struct ring_writer events, results;
	struct ring_reader commands;
};

static const struct ledger *ledger_of(const struct peer *p)
{
	return p->link.ledger.base;
}

static int peer_connect(struct peer *p, const struct daemon *d, struct link_error *e)
{
	struct intake *intake;
	unsigned char *base;
	int rc;

	memset(p, 0, sizeof(*p));
	cr_assert_eq(link_make_intake(&p->intake, RING_BYTES_MIN, 4096), 0);
	intake = p->intake.base;
	base = p->intake.base;
	rc = link_connect(d->socket, LINK_FRONTEND, &p->intake, &p->link, e);
	if (rc < 0) {
		segment_close(&p->intake);
		return rc;
	}
	ring_writer_init(&p->events, base + intake->event_ring.offset, intake->event_ring.bytes,
	                 &intake->event_tail, &ledger_of(p)->event_head, p->link.epoch);
	ring_writer_init(&p->results, base + intake->result_ring.offset, intake->result_ring.bytes,
	                 &intake->result_tail, &ledger_of(p)->result_head, p->link.epoch);
	ring_reader_init(&p->commands,
	                 (const unsigned char *)ledger_of(p) + p->link.places.command_ring.offset,
	                 p->link.places.command_ring.bytes, &ledger_of(p)->command_tail,
	                 &intake->command_head, p->link.epoch);
	return 0;
}

static void peer_close(struct peer *p)
{
	link_close(&p->link);
	segment_close(&p->intake);
}

static void publish(struct peer *p)
{
	ring_publish(&p->events);
	ring_publish(&p->results);
	wake_up(&((struct intake *)p->intake.base)->core_doorbell, &ledger_of(p)->core_parked);
}

static void send_record(struct peer *p, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct record *r = NULL;

	for (int i = 0; !r; i++) {
		cr_assert(i < WAIT_MS, "the event ring stays full");
		r = ring_reserve(&p->events, kind, (uint32_t)PADDED(bytes), 1);
		if (!r) {
			publish(p);
			nap();
		}
	}
	memset(r + 1, 0, (size_t)PADDED(bytes));
	if (bytes > 0)
		memcpy(r + 1, body, bytes);
}

static void send_cluster(struct peer *p)
{
	struct {
		struct event_node e;
		struct amount amounts[3];
		char name[8];
	} node = {
		{ .node = 3, .generation = 1, .flags = NODE_PRESENT, .name_bytes = 2, .amounts_n = 3 },
		{ { .resource = RESOURCE_CPU, .value = 100000 },
		  { .resource = RESOURCE_MEMORY, .value = 100000 },
		  { .resource = RESOURCE_PODS, .value = 1000 } },
		"n3"
	};
	struct event_shape shape = { .shape = 1 };

	send_record(p, EVENT_BEGIN, NULL, 0);
	send_record(p, EVENT_SHAPE, &shape, sizeof(shape));
	send_record(p, EVENT_NODE, &node, sizeof(node));
}

static void send_pod(struct peer *p, uint32_t id)
{
	struct {
		struct event_pod e;
		char name[8];
	} pod = { .e = { .pod = id,
		             .generation = 1,
		             .flags = POD_OURS,
		             .gang = ID_NONE,
		             .shape = 1,
		             .node = ID_NONE } };

	pod.e.name_bytes = (uint32_t)snprintf(pod.name, sizeof(pod.name), "p%03u", id);
	send_record(p, EVENT_POD, &pod, sizeof(pod));
}

/* The next command, or NULL after a while. */
static const struct record *command(struct peer *p, int wait_ms)
{
	static alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct record *r = (struct record *)(void *)buffer;

	for (int i = 0; i < wait_ms; i++) {
		int rc = ring_read(&p->commands, r);

		cr_assert(rc >= 0);
		ring_release(&p->commands);
		if (rc > 0)
			return r;
		nap();
	}
	return NULL;
}

static bool hangs_up(const struct peer *p)
{
	struct pollfd fd = { .fd = p->link.fd, .events = POLLIN };

	return poll(&fd, 1, WAIT_MS) > 0;
}

/* The world has every record of the loop, and differs in nothing. */
static void world_caught_up(const struct peer *p)
{
	const struct ledger *l = ledger_of(p);

	for (int i = 0; atomic_load(&l->world.events) < atomic_load(&l->stats.events); i++) {
		cr_assert(i < WAIT_MS, "the world has %" PRIu64 " records of %" PRIu64,
		          atomic_load(&l->world.events), atomic_load(&l->stats.events));
		nap();
	}
	cr_assert(atomic_load(&l->stats.events) > 200);
	cr_assert_eq(atomic_load(&l->world.state), WORLD_FOLLOWS);
	cr_assert_eq(atomic_load(&l->world.mismatches), 0);
}

Test(daemon, places_pods_and_takes_results, .timeout = 60)
{
	struct daemon d;
	struct peer p;
	struct link_error e;
	uint32_t bound = 0;

	daemon_start(&d);
	cr_assert_eq(peer_connect(&p, &d, &e), 0, "%s", e.text);
	cr_assert_eq(p.link.limits.pods, 256);
	send_cluster(&p);
	for (uint32_t id = 0; id < 200; id++)
		send_pod(&p, id); /* more commands than fit into the ring */
	send_record(&p, EVENT_SYNCED, NULL, 0);
	publish(&p);
	while (bound < 200) {
		const struct record *r = command(&p, WAIT_MS);
		struct cmd_bind b;
		struct result result;
		struct record *answer;

		cr_assert(r && r->kind == CMD_BIND, "after %u", bound);
		memcpy(&b, r + 1, sizeof(b));
		cr_assert_eq(b.node, 3);
		cr_assert_eq(b.pod, bound++);
		result = (struct result){ .pod = b.pod, .generation = 1, .node = 3, .attempt = b.attempt };
		answer = ring_reserve(&p.results, RESULT_BOUND, sizeof(result), 2);
		cr_assert(answer);
		memcpy(answer + 1, &result, sizeof(result));
		publish(&p);
		while (!ring_has_room(&p.results, sizeof(result)))
			nap();
	}
	for (int i = 0; atomic_load(&ledger_of(&p)->stats.binds_accepted) < 200; i++) {
		cr_assert(i < WAIT_MS);
		nap();
	}
	cr_assert_eq(atomic_load(&ledger_of(&p)->gauges.pods_bound), 200);
	world_caught_up(&p);
	peer_close(&p);
	cr_assert_eq(daemon_stop(&d), 0);
}

Test(daemon, serves_one_frontend_after_the_other, .timeout = 60)
{
	struct daemon d;
	struct peer first, second;
	struct link_error e;
	struct link observer;
	uint64_t epoch;

	daemon_start(&d);
	cr_assert_eq(peer_connect(&first, &d, &e), 0);
	epoch = first.link.epoch;
	cr_assert(epoch >> 32 != 0);
	cr_assert_eq(peer_connect(&second, &d, &e), -EBUSY);
	cr_assert_eq(e.refusal, LINK_REFUSED_BUSY);
	cr_assert_eq(link_connect(d.socket, LINK_OBSERVER, NULL, &observer, &e), 0, "%s", e.text);
	cr_assert_eq(observer.epoch, epoch);
	for (uint64_t i = 1; i <= 5; i++) {
		int rc = -EBUSY;

		peer_close(&first);
		for (int k = 0; rc == -EBUSY && k < WAIT_MS; k++) {
			rc = peer_connect(&first, &d, &e);
			nap();
		}
		cr_assert_eq(rc, 0, "%s", e.text);
		cr_assert_eq(first.link.epoch, epoch + i);
		send_cluster(&first);
		send_pod(&first, 7);
		send_record(&first, EVENT_SYNCED, NULL, 0);
		publish(&first);
		cr_assert(command(&first, WAIT_MS));
	}
	link_close(&observer);
	peer_close(&first);
	cr_assert_eq(daemon_stop(&d), 0);
}

/* A new frontend is served after a bad one was thrown out. */
static void thrown_out(void (*misbehave)(struct peer *p))
{
	struct daemon d;
	struct peer p;
	struct link_error e;
	int rc = -EBUSY;

	daemon_start(&d);
	cr_assert_eq(peer_connect(&p, &d, &e), 0, "%s", e.text);
	send_cluster(&p);
	misbehave(&p);
	publish(&p);
	cr_assert(hangs_up(&p), "nobody hangs up");
	peer_close(&p);
	for (int k = 0; rc == -EBUSY && k < WAIT_MS; k++) {
		rc = peer_connect(&p, &d, &e);
		nap();
	}
	cr_assert_eq(rc, 0, "%s", e.text);
	send_cluster(&p);
	send_pod(&p, 0);
	send_record(&p, EVENT_SYNCED, NULL, 0);
	publish(&p);
	cr_assert(command(&p, WAIT_MS));
	peer_close(&p);
	cr_assert_eq(daemon_stop(&d), 0);
}

static void bad_record(struct peer *p)
{
	struct event_drop drop = { .id = 99, .generation = 1 };

	send_record(p, EVENT_POD_DROP, &drop, sizeof(drop));
}

static void bad_tail(struct peer *p)
{
	publish(p);
	atomic_store(&((struct intake *)p->intake.base)->event_tail, UINT64_MAX / 2);
}

static void bad_kind(struct peer *p)
{
	send_record(p, CMD_BIND, NULL, 0);
}

static void bad_plan(struct peer *p)
{
	struct record *r = ring_reserve(&p->events, EVENT_TICK, 0, 1);

	cr_assert(r);
	r->kind = EVENT_PLAN;
}

static void bad_ring(struct peer *p)
{
	struct result result = { .generation = 1 };

	send_record(p, RESULT_BOUND, &result, sizeof(result));
}

static void bad_head(struct peer *p)
{
	atomic_store(&((struct intake *)p->intake.base)->command_head, 4096 * 1024 + 8);
	for (uint32_t id = 0; id < 200; id++)
		send_pod(p, id);
	send_record(p, EVENT_SYNCED, NULL, 0);
}

Test(daemon, throws_a_bad_frontend_out, .timeout = 120)
{
	thrown_out(bad_record);
	thrown_out(bad_tail);
	thrown_out(bad_kind);
	thrown_out(bad_plan);
	thrown_out(bad_ring);
	thrown_out(bad_head);
}

/* An observer above the limit is refused, and accepted once another one leaves. */
/* Also without a frontend and without work; a process that is stopped makes none. */
Test(daemon, its_loop_counts_its_turns, .timeout = 60)
{
	const struct ledger *ledger;
	struct link_error e;
	struct daemon d;
	struct link l;
	uint64_t seen;
	int status;

	daemon_start(&d);
	cr_assert_eq(link_connect(d.socket, LINK_OBSERVER, NULL, &l, &e), 0);
	ledger = l.ledger.base;
	for (int i = 0; i < 3; i++) {
		seen = atomic_load(&ledger->progress);
		for (int ms = 0; atomic_load(&ledger->progress) == seen; ms++) {
			cr_assert(ms < WAIT_MS);
			nap();
		}
	}
	kill(d.pid, SIGSTOP);
	cr_assert_eq(waitpid(d.pid, &status, WUNTRACED), d.pid);
	seen = atomic_load(&ledger->progress);
	for (int ms = 0; ms < 300; ms++)
		nap();
	cr_assert_eq(atomic_load(&ledger->progress), seen);
	kill(d.pid, SIGCONT);
	link_close(&l);
	cr_assert_eq(daemon_stop(&d), 0);
}

Test(daemon, observers_have_a_limit, .timeout = 60)
{
	enum { MOST = 64 };
	struct link observers[MOST], more;
	struct link_error e;
	struct daemon d;
	int rc = -EBUSY;

	daemon_start(&d);
	/* The observer of daemon_start() may still be counted. */
	for (int i = 0, tries = 0; i < MOST; tries++) {
		rc = link_connect(d.socket, LINK_OBSERVER, NULL, &observers[i], &e);
		cr_assert(rc == 0 || (rc == -EBUSY && tries < WAIT_MS), "observer %d: %s", i, e.text);
		i += rc == 0;
		if (rc < 0)
			nap();
	}
	cr_assert_eq(link_connect(d.socket, LINK_OBSERVER, NULL, &more, &e), -EBUSY);
	cr_assert(strstr(e.text, "too many observers"), "%s", e.text);
	link_close(&observers[7]);
	for (int i = 0; (rc = link_connect(d.socket, LINK_OBSERVER, NULL, &more, &e)) < 0; i++) {
		cr_assert(rc == -EBUSY && i < WAIT_MS, "%s", e.text);
		nap();
	}
	link_close(&more);
	for (int i = 0; i < MOST; i++)
		if (i != 7)
			link_close(&observers[i]);
	cr_assert_eq(daemon_stop(&d), 0);
}
