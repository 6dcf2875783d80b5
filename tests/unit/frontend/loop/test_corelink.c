/* SPDX-License-Identifier: Apache-2.0 */
/* When a core counts as one that makes no progress.  The core is this test: a ledger whose heads it
 * sets. */
#include "frontend/loop/corelink.h"

#include "ipc/ring.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#include <pthread.h>
#include <unistd.h>

static const struct limits limits = LIMITS_WITH(.nodes = 4, .pods = 16, .shapes = 4, .names = 8);

struct bench {
	struct world w;
	char folder[64], path[100];
	int listen_fd;
	struct segment segment;
	struct ledger *ledger;
	struct link_peer peer;
	struct corelink *link;
	struct frontend_port port;
};

static struct bench b;

static void make_ledger(void)
{
	uint64_t at = sizeof(struct ledger);
	struct ledger *l;

	cr_assert_eq(segment_create(&b.segment, "test-ledger", 32 << 20), 0);
	l = b.ledger = b.segment.base;
	l->head = (struct segment_head){ .magic = LEDGER_MAGIC,
		                             .layout_hash = abi_layout_hash(),
		                             .bytes = b.segment.bytes };
	l->limits = limits;
	l->command_ring = (struct ring_place){ .offset = at, .bytes = limits.command_ring_bytes };
	l->nodes_offset = at += limits.command_ring_bytes;
	l->amounts_offset = at += sizeof(struct node_row) * limits.nodes;
	l->gangs_offset = at +=
		sizeof(struct node_amounts) * AMOUNT_BLOCKS(limits.resources) * limits.nodes;
	l->names_offset = at += sizeof(struct gang_row) * limits.gangs;
	l->queues_offset = at += sizeof(struct name_row) * limits.names;
	l->arena_offset = at + QUEUES_MAX * QUEUE_ROW_BYTES(limits.resources);
}

static void *core(void *context)
{
	struct link_error e;

	while (link_accept(b.listen_fd, false, &b.peer, &e) == -EAGAIN)
		usleep(1000);
	link_welcome(&b.peer, &b.segment, &limits, 7);
	return NULL;
}

static void woken(void *context)
{
}

static void begin(void)
{
	struct corelink_config config = { .event_ring_bytes = RING_BYTES_MIN,
		                              .result_ring_bytes = 4096,
		                              .wake = woken };
	struct link_error e;
	pthread_t thread;

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	strcpy(b.folder, "/tmp/test-corelink-XXXXXX");
	cr_assert(mkdtemp(b.folder));
	snprintf(b.path, sizeof(b.path), "%s/s", b.folder);
	b.listen_fd = link_listen(b.path, LINK_NO_READERS);
	cr_assert_geq(b.listen_fd, 0);
	make_ledger();
	config.path = b.path;
	config.env = &b.w.env;
	cr_assert_eq(corelink_new(&config, &b.link), 0);
	cr_assert_eq(pthread_create(&thread, NULL, core, NULL), 0);
	cr_assert_eq(corelink_connect(b.link, LINK_ANSWER_NS, &e), 0, "%s", e.text);
	pthread_join(thread, NULL);
	b.port = corelink_port(b.link);
}

static void end(void)
{
	char file[110];

	corelink_free(b.link);
	link_peer_close(&b.peer);
	segment_close(&b.segment);
	close(b.listen_fd);
	unlink(b.path);
	snprintf(file, sizeof(file), "%s.lock", b.path);
	unlink(file);
	rmdir(b.folder);
	world_free(&b.w);
}

TestSuite(corelink, .init = begin, .fini = end, .timeout = 30);

static void send_tick(void)
{
	cr_assert(b.port.event(b.port.context, EVENT_TICK, 0));
	b.port.publish(b.port.context);
}

/* So many checks, one a second. */
static uint64_t checks(int n)
{
	uint64_t stalled = 0;

	for (int i = 0; i < n; i++) {
		b.w.now_ns += SECOND;
		stalled = corelink_stalled_ns(b.link);
	}
	return stalled;
}

static void gang_row(uint32_t id, uint32_t bound, uint32_t quorum, uint32_t succeeded)
{
	struct gang_row *rows = (void *)((char *)b.segment.base + b.ledger->gangs_offset);

	rows[id] = (struct gang_row){ .generation = 1,
		                          .state = GANG_PLACED,
		                          .members = bound,
		                          .bound = bound,
		                          .quorum = quorum,
		                          .succeeded = succeeded };
}

Test(corelink, members_beyond_a_quorum_of_which_some_have_succeeded)
{
	struct link_figures f;

	b.ledger->committed[PART_GANGS] = 4 * sizeof(struct gang_row);
	b.ledger->gauges.gangs = 4;
	gang_row(0, 3, 4, 2); /* 1 */
	gang_row(1, 3, 4, 9); /* 3: the succeeded ones alone are a quorum */
	gang_row(2, 1, 4, 2);
	gang_row(3, 6, 4, 0); /* 2 */
	corelink_figures(b.link, &f);
	cr_assert_eq(f.extras, 6);
}

Test(corelink, a_core_that_reads_nothing_while_records_wait_is_stalled)
{
	cr_assert_eq(checks(30), 0, "nothing waits");
	send_tick();
	cr_assert_eq(checks(5), 5 * SECOND);
	send_tick();
	cr_assert_eq(checks(5), 10 * SECOND);
	atomic_store(&b.ledger->event_head, sizeof(struct record));
	cr_assert_eq(checks(1), 0, "it read one of two");
	cr_assert_eq(checks(3), 3 * SECOND);
	atomic_store(&b.ledger->event_head, 2 * sizeof(struct record));
	cr_assert_eq(checks(3), 0);
}

/* Both were stopped, with their machine. */
Test(corelink, time_in_which_this_process_did_not_run_does_not_count)
{
	send_tick();
	cr_assert_eq(checks(1), SECOND);
	b.w.now_ns += 600 * SECOND;
	cr_assert_eq(corelink_stalled_ns(b.link), 3 * SECOND);
}
