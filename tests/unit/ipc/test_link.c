/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a core with frontends and observers in other processes, and
 * every way in which it is refused. */
#include "ipc/clock.h"
#include "ipc/link.h"
#include "ipc/memory.h"
#include "ipc/message.h"
#include "ipc/ring.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/test.h"

#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process can be made to have another layout. */
uint64_t real_layout_hash(void);
#define abi_layout_hash real_layout_hash
#include "ipc/abi.c"
#undef abi_layout_hash

static uint64_t layout_salt;

uint64_t abi_layout_hash(void)
{
	return real_layout_hash() ^ layout_salt;
}

#define EPOCH UINT64_C(41)
#define MS UINT64_C(1000000)

static const struct limits limits =
	LIMITS_WITH(.nodes = 100, .pods = 200, .gangs = 50, .shapes = 10, .names = 80, .resources = 5);

/* A core in a folder of its own. */
static struct world {
	char folder[64];
	char path[100];
	int listen_fd;
	struct segment ledger;
} w;

static void make_ledger(struct segment *s)
{
	uint64_t at = sizeof(struct ledger);
	struct ledger *ledger;

	cr_assert_eq(segment_create(s, "test-ledger", 32 << 20), 0);
	ledger = s->base;
	ledger->head = (struct segment_head){ .magic = LEDGER_MAGIC,
		                                  .layout_hash = abi_layout_hash(),
		                                  .bytes = s->bytes };
	ledger->limits = limits;
	ledger->command_ring = (struct ring_place){ .offset = at, .bytes = limits.command_ring_bytes };
	ledger->nodes_offset = at += limits.command_ring_bytes;
	ledger->amounts_offset = at += sizeof(struct node_row) * limits.nodes;
	ledger->gangs_offset = at +=
		sizeof(struct node_amounts) * AMOUNT_BLOCKS(limits.resources) * limits.nodes;
	ledger->names_offset = at += sizeof(struct gang_row) * limits.gangs;
	ledger->queues_offset = at += sizeof(struct name_row) * limits.names;
	ledger->arena_offset = at + QUEUES_MAX * QUEUE_ROW_BYTES(limits.resources);
	cr_assert_leq(ledger->arena_offset + limits.name_bytes, s->bytes);
}

static void world_new(void)
{
	w = (struct world){ .folder = "/tmp/test-link-XXXXXX" };
	cr_assert(mkdtemp(w.folder));
	snprintf(w.path, sizeof(w.path), "%s/run/muster.sock", w.folder);
	w.listen_fd = link_listen(w.path, LINK_NO_READERS);
	cr_assert_geq(w.listen_fd, 0);
	make_ledger(&w.ledger);
}

static void world_free(void)
{
	char file[160];

	close(w.listen_fd);
	segment_close(&w.ledger);
	unlink(w.path);
	snprintf(file, sizeof(file), "%s.lock", w.path);
	unlink(file);
	snprintf(file, sizeof(file), "%s/run", w.folder);
	rmdir(file);
	cr_assert_eq(rmdir(w.folder), 0, "something stayed behind");
}

TestSuite(link, .init = world_new, .fini = world_free);

/* Run `child` in a process that dies with the test. */
static pid_t spawn(int (*child)(void))
{
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(child());
	}
	return pid;
}

static void expect_exit(pid_t pid, int status)
{
	int got = 0;

	cr_assert_eq(waitpid(pid, &got, 0), pid);
	cr_assert(WIFEXITED(got), "killed by %d", WTERMSIG(got));
	cr_assert_eq(WEXITSTATUS(got), status, "exit %d", WEXITSTATUS(got));
}

/* Exit 0: welcomed, read a record of the core, and answered it. */
static int child_frontend(void)
{
	static _Alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct record *record = (struct record *)(void *)buffer;
	struct segment intake;
	struct intake *own;
	const struct ledger *ledger;
	struct ring_reader commands;
	struct ring_writer events;
	struct link l;
	struct link_error e;

	if (link_make_intake(&intake, RING_BYTES_MIN, 4096) < 0)
		return 10;
	own = intake.base;
	if (link_connect(w.path, LINK_FRONTEND, &intake, &l, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return 11;
	}
	if (l.epoch != EPOCH || memcmp(&l.limits, &limits, sizeof(limits)) != 0 || l.ledger.writable)
		return 12;
	ledger = l.ledger.base;
	ring_reader_init(&commands, (const unsigned char *)l.ledger.base + l.places.command_ring.offset,
	                 l.places.command_ring.bytes, &ledger->command_tail, &own->command_head,
	                 l.epoch);
	ring_writer_init(&events, (unsigned char *)intake.base + own->event_ring.offset,
	                 own->event_ring.bytes, &own->event_tail, &ledger->event_head, l.epoch);
	for (uint64_t start = clock_monotonic_ns(); ring_read(&commands, record) == 0;) {
		if (clock_monotonic_ns() - start > 5000 * MS)
			return 13;
	}
	if (ring_reserve(&events, EVENT_BEGIN, 0, record->time_ns + 1) == NULL)
		return 14;
	ring_publish(&events);
	return pause(); /* until killed: the core sees it go */
}

static struct link_peer accept_peer(enum link_role role)
{
	struct link_peer peer;
	struct link_error e;

	cr_assert_eq(link_accept(w.listen_fd, false, &peer, &e), 0, "%s", e.text);
	cr_assert_eq(peer.role, role);
	return peer;
}

static bool closed(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1 && (p.revents & POLLHUP) != 0;
}

/* A command there, an event back, and the death of the peer seen within 10 ms
 * (best of some: the machine may be busy). */
Test(link, brings_two_processes_together_and_shows_when_one_dies)
{
	static _Alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
	struct record *record = (struct record *)(void *)buffer;
	struct ledger *ledger = w.ledger.base;
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < 5; round++) {
		pid_t child = spawn(child_frontend);
		struct link_peer peer = accept_peer(LINK_FRONTEND);
		const struct intake *intake = peer.intake.base;
		struct ring_writer commands;
		struct ring_reader events;
		uint64_t start;

		cr_assert_not(peer.intake.writable);
		ring_writer_init(&commands, (unsigned char *)w.ledger.base + ledger->command_ring.offset,
		                 ledger->command_ring.bytes, &ledger->command_tail, &intake->command_head,
		                 EPOCH);
		ring_reader_init(
			&events, (const unsigned char *)peer.intake.base + peer.places.event_ring.offset,
			peer.places.event_ring.bytes, &intake->event_tail, &ledger->event_head, EPOCH);
		atomic_store(&ledger->frontend_doorbell, 9);
		cr_assert_eq(link_welcome(&peer, &w.ledger, &limits, EPOCH), 0);
		cr_assert_eq(atomic_load(&ledger->frontend_doorbell), 0, "announcements start again");
		cr_assert(ring_reserve(&commands, CMD_BIND, sizeof(struct cmd_bind), 5));
		ring_publish(&commands);
		for (start = clock_monotonic_ns(); ring_read(&events, record) == 0;)
			cr_assert_lt(clock_monotonic_ns() - start, 5000 * MS);
		cr_assert_eq(record->kind, EVENT_BEGIN);
		cr_assert_eq(record->time_ns, 6);
		cr_assert_not(closed(peer.fd, 0));

		kill(child, SIGKILL);
		start = clock_monotonic_ns();
		cr_assert(closed(peer.fd, 5000));
		best = clock_monotonic_ns() - start < best ? clock_monotonic_ns() - start : best;
		waitpid(child, NULL, 0);
		link_peer_close(&peer);
	}
	cr_assert_lt(best, 10 * MS);
}

static int child_observer(void)
{
	struct link l;
	struct link_error e;

	if (link_connect(w.path, LINK_OBSERVER, NULL, &l, &e) < 0)
		return 1;
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, l.ledger.fd, 0) != MAP_FAILED)
		return 2;
	if (memcmp(&((const struct ledger *)l.ledger.base)->limits, &limits, sizeof(limits)) != 0)
		return 3;
	link_close(&l);
	return 0;
}

Test(link, lets_an_observer_read_the_ledger)
{
	pid_t child = spawn(child_observer);
	struct link_peer peer = accept_peer(LINK_OBSERVER);

	cr_assert_null(peer.intake.base);
	cr_assert_eq(link_welcome(&peer, &w.ledger, &limits, EPOCH), 0);
	expect_exit(child, 0);
	link_peer_close(&peer);
}

static int child_used_intake(void)
{
	struct segment intake;
	struct intake *own;
	struct link l;

	if (link_make_intake(&intake, RING_BYTES_MIN, 4096) < 0)
		return 1;
	own = intake.base;
	atomic_store(&own->event_tail, 64);
	atomic_store(&own->result_tail, 64);
	atomic_store(&own->command_head, 64);
	atomic_store(&own->core_doorbell, 3);
	return link_connect(w.path, LINK_FRONTEND, &intake, &l, NULL) == 0 ? 0 : 2;
}

/* An intake that served one epoch serves the next: a new core counts from 0. */
Test(link, starts_a_used_intake_again)
{
	pid_t child = spawn(child_used_intake);
	struct link_peer peer = accept_peer(LINK_FRONTEND);
	const struct intake *intake = peer.intake.base;

	cr_assert_eq(atomic_load(&intake->event_tail), 0);
	cr_assert_eq(atomic_load(&intake->result_tail), 0);
	cr_assert_eq(atomic_load(&intake->command_head), 0);
	cr_assert_eq(atomic_load(&intake->core_doorbell), 0);
	cr_assert_eq(link_welcome(&peer, &w.ledger, &limits, EPOCH), 0);
	expect_exit(child, 0);
	link_peer_close(&peer);
}

/* Exit status: what link_connect() said, as a positive errno. */
static int connect_status(struct link_error *e)
{
	struct segment intake;
	struct link l;
	int rc;

	if (link_make_intake(&intake, RING_BYTES_MIN, 4096) < 0)
		return 255;
	rc = link_connect(w.path, LINK_FRONTEND, &intake, &l, e);
	if (rc != e->rc)
		return 254;
	return -rc;
}

static int child_of_another_build(void)
{
	struct link_error e = { 0 };
	char theirs[32], ours[32];
	int rc;

	layout_salt = 0xabc;
	rc = connect_status(&e);
	snprintf(theirs, sizeof(theirs), "0x%016llx", (unsigned long long)real_layout_hash());
	snprintf(ours, sizeof(ours), "0x%016llx", (unsigned long long)abi_layout_hash());
	if (e.refusal != LINK_REFUSED_LAYOUT || e.our_hash != abi_layout_hash() ||
	    e.their_hash != real_layout_hash())
		return 253;
	if (!strstr(e.text, theirs) || !strstr(e.text, ours) || !strstr(e.text, w.path))
		return 252;
	return rc;
}

Test(link, refuses_another_layout_with_both_hashes_on_both_sides)
{
	pid_t child = spawn(child_of_another_build);
	char theirs[32], ours[32];
	struct link_peer peer;
	struct link_error e;

	cr_assert_eq(link_accept(w.listen_fd, false, &peer, &e), -EPROTONOSUPPORT);
	cr_assert_eq(e.refusal, LINK_REFUSED_LAYOUT);
	cr_assert_eq(e.our_hash, real_layout_hash());
	cr_assert_eq(e.their_hash, real_layout_hash() ^ 0xabc);
	snprintf(ours, sizeof(ours), "0x%016llx", (unsigned long long)e.our_hash);
	snprintf(theirs, sizeof(theirs), "0x%016llx", (unsigned long long)e.their_hash);
	cr_assert(strstr(e.text, ours) && strstr(e.text, theirs) && strstr(e.text, w.path), "%s",
	          e.text);
	expect_exit(child, EPROTONOSUPPORT);
}

static int child_busy(void)
{
	struct link_error e = { 0 };
	int rc = connect_status(&e);

	if (e.refusal != LINK_REFUSED_BUSY || !strstr(e.text, "a second? one"))
		return 253;
	return rc;
}

Test(link, tells_a_second_frontend_that_it_is_busy)
{
	pid_t child = spawn(child_busy);
	struct link_peer peer = accept_peer(LINK_FRONTEND);

	link_refuse(&peer, LINK_REFUSED_BUSY, "a second\x1b one"); /* not for a terminal */
	cr_assert_eq(peer.fd, -1);
	cr_assert_null(peer.intake.base);
	expect_exit(child, EBUSY);
}

/* What the core says, as the peer is to understand it. */
struct refused {
	enum link_refusal refusal;
	int rc;
	const char *text;
};

static const struct refused refusals[] = {
	{ LINK_REFUSED_PEER, EPERM, "another user id" },
	{ LINK_REFUSED_BUSY, EBUSY, "another frontend is connected" },
	{ LINK_REFUSED_SEGMENT, EINVAL,
	  "the intake is not sealed, not allocated or not of the right size" },
	{ LINK_REFUSED_MESSAGE, EPROTO, "a malformed message" },
};
static const struct refused *expected;

static int child_refused(void)
{
	struct link_error e = { 0 };
	int rc = connect_status(&e);

	if (e.refusal != expected->refusal || !strstr(e.text, expected->text) ||
	    !strstr(e.text, w.path))
		return 253;
	return rc;
}

Test(link, tells_each_refusal_by_its_name)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct link_peer peer;
		pid_t child;

		expected = &refusals[i];
		child = spawn(child_refused);
		peer = accept_peer(LINK_FRONTEND);
		link_refuse(&peer, expected->refusal, NULL);
		expect_exit(child, expected->rc);
	}
}

static int child_any(void)
{
	struct link_error e = { 0 };

	return connect_status(&e);
}

#define NO_MEMORY 9

static void no_memory(void)
{
	_exit(NO_MEMORY);
}

/* From here on this process maps no segment: its stack may still grow. */
static void fill_address_space(void)
{
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		_exit(1);
	fclose(f);
	memory_before_end(no_memory);
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20);
	setrlimit(RLIMIT_AS, &limit);
}

static int child_without_memory(void)
{
	fill_address_space();
	link_connect(w.path, LINK_OBSERVER, NULL, &(struct link){ 0 }, NULL);
	return 0;
}

static int child_large_intake(void)
{
	struct segment intake;
	struct link l;

	if (link_make_intake(&intake, 4 << 20, 4096) < 0)
		return 1;
	return link_connect(w.path, LINK_FRONTEND, &intake, &l, NULL) == 0 ? 0 : 2;
}

static int core_without_memory(void)
{
	struct link_peer peer;

	fill_address_space();
	link_accept(w.listen_fd, false, &peer, NULL);
	return 0;
}

/* It would try again and again, and keep what fills its address space. */
Test(link, ends_a_process_that_can_map_no_segment)
{
	pid_t child = spawn(child_without_memory), core;
	struct link_peer peer = accept_peer(LINK_OBSERVER);

	cr_assert_eq(link_welcome(&peer, &w.ledger, &limits, EPOCH), 0);
	expect_exit(child, NO_MEMORY);
	link_peer_close(&peer);

	core = spawn(core_without_memory);
	child = spawn(child_large_intake);
	expect_exit(core, NO_MEMORY);
	close(w.listen_fd);
	w.listen_fd = -1;
	expect_exit(child, 2);
}

/* The core dies between accept and answer. */
Test(link, tells_when_no_answer_comes)
{
	pid_t child = spawn(child_any);
	int fd = accept(w.listen_fd, NULL, NULL);
	union message m;
	int passed;

	cr_assert_eq(message_receive(fd, &m, &passed, 5000 * MS), (int)sizeof(m.head));
	close(passed);
	close(fd);
	expect_exit(child, ECONNRESET);
}

/* A core that is none of ours: what it answers is no message, or one of another build. */
Test(link, frontend_refuses_an_answer_that_is_none)
{
	static const int wanted[] = { EPROTO, EPROTO, EPROTO, EPROTONOSUPPORT, EPERM };
	for (int which = 0; which < 5; which++) {
		struct message_welcome m = {
			.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_WELCOME },
			.epoch = EPOCH,
			.limits = limits,
		};
		pid_t child = spawn(child_any);
		struct link_peer peer = accept_peer(LINK_FRONTEND);
		int passed = -1;

		if (which == 0)
			m.head.kind = MESSAGE_REFUSED; /* of the wrong size */
		else if (which == 1)
			m.head.kind = MESSAGE_HELLO;
		else if (which == 3)
			m.head.hash++;
		else if (which == 4)
			passed = peer.fd; /* 2: a welcome without memory; 4: with what is none */
		cr_assert_eq(message_send(peer.fd, &m, sizeof(m), passed), 0);
		expect_exit(child, wanted[which]);
		link_peer_close(&peer);
	}
}

/* A ledger whose head lies about where things are. */
Test(link, frontend_refuses_a_ledger_that_lies)
{
	struct ledger *ledger = w.ledger.base;
	struct ledger good;

	memcpy(&good, ledger, sizeof(good));
	for (int which = 0; which < 13; which++) {
		struct limits told = limits;
		struct link_peer peer;
		pid_t child;

		memcpy(ledger, &good, sizeof(good));
		switch (which) {
		case 0:
			ledger->head.magic++;
			break;
		case 1:
			ledger->head.bytes++;
			break;
		case 2:
			ledger->limits.nodes = UINT32_MAX;
			told = ledger->limits;
			break;
		case 3:
			ledger->limits.resources = RESOURCES_MAX + 1;
			told = ledger->limits;
			break;
		case 4:
			ledger->amounts_offset = UINT64_MAX - 7;
			break;
		case 5:
			ledger->gangs_offset += 4;
			break;
		case 6:
			ledger->names_offset = 0;
			break;
		case 7:
			ledger->arena_offset = w.ledger.bytes - 1;
			break;
		case 8:
			ledger->command_ring.bytes = 5000;
			break;
		case 9:
			ledger->command_ring.offset += 8;
			break;
		case 10:
			ledger->limits.name_bytes = UINT64_MAX;
			told = ledger->limits;
			break;
		case 11:
			ledger->head.layout_hash++;
			break; /* the message has the right one: no other build */
		default:
			told.pods++;
			break;
		}
		child = spawn(child_any);
		peer = accept_peer(LINK_FRONTEND);
		cr_assert_eq(link_welcome(&peer, &w.ledger, &told, EPOCH), 0);
		expect_exit(child, EPROTO);
		link_peer_close(&peer);
	}
}

static int raw_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", w.path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static struct message_head hello(enum link_role role)
{
	return (struct message_head){
		.magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_HELLO, .arg = role
	};
}

/* The core refuses what was sent on fd, tells so, and leaves nothing open. */
static void expect_refusal(int fd, int rc, enum link_refusal refusal)
{
	struct link_peer peer;
	struct link_error e;
	union message m;
	int passed, before = dup(0), after;

	close(before);
	cr_assert_eq(link_accept(w.listen_fd, false, &peer, &e), rc, "%d: %s", e.rc, e.text);
	cr_assert_eq(e.refusal, refusal);
	after = dup(0);
	close(after);
	cr_assert_eq(after, before, "a descriptor was left open");
	if (refusal != 0) {
		cr_assert_eq(message_receive(fd, &m, &passed, 1000 * MS), (int)sizeof(m.refused));
		cr_assert_eq(m.head.kind, MESSAGE_REFUSED);
		cr_assert_eq(m.head.arg, refusal);
		cr_assert_eq(m.head.hash, abi_layout_hash());
	}
	cr_assert(closed(fd, 1000));
	close(fd);
}

Test(link, refuses_malformed_messages)
{
	for (int which = 0; which < 8; which++) {
		struct message_head good = hello(which == 7 ? LINK_FRONTEND : LINK_OBSERVER);
		unsigned char big[4096] = { 0 };
		int fd = raw_connect();
		size_t bytes = sizeof(good);

		if (which == 0)
			good.magic++;
		else if (which == 1)
			good.kind = MESSAGE_WELCOME;
		else if (which == 2)
			good.arg = 0;
		else if (which == 3)
			good.arg = 99;
		else if (which == 4)
			bytes = sizeof(good) - 1;
		else if (which == 5)
			bytes = sizeof(good) + 8;
		else if (which == 6)
			bytes = sizeof(big);
		memcpy(big, &good, sizeof(good)); /* 7: a frontend without an intake */
		cr_assert_eq(send(fd, big, bytes, 0), (ssize_t)bytes);
		expect_refusal(fd, -EPROTO, LINK_REFUSED_MESSAGE);
	}
}

static void send_fds(int fd, const struct message_head *head, const int *fds, size_t n)
{
	_Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
	struct message_head copy = *head;
	struct iovec part = { .iov_base = &copy, .iov_len = sizeof(copy) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control };
	struct cmsghdr *c;

	header.msg_controllen = CMSG_SPACE(n * sizeof(int));
	c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	cr_assert_eq(sendmsg(fd, &header, 0), (ssize_t)sizeof(copy));
}

Test(link, closes_descriptors_that_nobody_asked_for)
{
	static const size_t counts[] = { 2, 4, 5, 16 };
	struct message_head head = hello(LINK_FRONTEND);
	struct segment intake;
	int fds[16];
	int fd;

	cr_assert_eq(link_make_intake(&intake, RING_BYTES_MIN, 4096), 0);
	for (size_t i = 0; i < 16; i++)
		fds[i] = intake.fd;
	for (size_t i = 0; i < 4; i++) {
		fd = raw_connect();
		send_fds(fd, &head, fds, counts[i]);
		expect_refusal(fd, -EPROTO, LINK_REFUSED_MESSAGE);
	}
	head = hello(LINK_OBSERVER);
	fd = raw_connect();
	send_fds(fd, &head, fds, 1);
	expect_refusal(fd, -EPROTO, LINK_REFUSED_MESSAGE);
	head.hash++;
	fd = raw_connect();
	send_fds(fd, &head, fds, 1);
	expect_refusal(fd, -EPROTONOSUPPORT, LINK_REFUSED_LAYOUT);
	segment_close(&intake);
}

/* Unsealed, too small, or with rings that are not where the head says. */
Test(link, refuses_an_intake_that_is_no_good)
{
	struct message_head head = hello(LINK_FRONTEND);

	for (int which = 0; which < 8; which++) {
		struct segment s;
		struct intake *intake;
		int fd = raw_connect();

		cr_assert_eq(link_make_intake(&s, RING_BYTES_MIN, 4096), 0);
		intake = s.base;
		if (which == 0) {
			segment_close(&s);
			s = (struct segment){ .fd = memfd_create("unsealed", MFD_CLOEXEC) };
			cr_assert_eq(ftruncate(s.fd, 1 << 20), 0);
		} else if (which == 1) {
			segment_close(&s);
			cr_assert_eq(segment_create(&s, "small", 128), 0);
		} else if (which == 2) {
			intake->head.magic = LEDGER_MAGIC;
		} else if (which == 3) {
			intake->head.layout_hash++;
		} else if (which == 4) {
			intake->event_ring.bytes *= 2;
		} else if (which == 5) {
			intake->result_ring.offset = UINT64_MAX - 63;
		} else if (which == 6) {
			intake->event_ring.offset = 0;
		} else {
			intake->result_ring.bytes = 0;
		}
		send_fds(fd, &head, &s.fd, 1);
		expect_refusal(fd, -EINVAL, LINK_REFUSED_SEGMENT);
		if (s.base)
			segment_close(&s);
		else
			close(s.fd);
	}
}

Test(link, waits_a_second_for_a_hello_and_no_longer)
{
	int mute = raw_connect();
	uint64_t start = clock_monotonic_ns(), took;

	expect_refusal(mute, -ETIMEDOUT, 0);
	took = clock_monotonic_ns() - start;
	cr_assert_geq(took, 990 * MS);
	cr_assert_lt(took, 3000 * MS);

	close(raw_connect()); /* came and went */
	cr_assert_eq(link_accept(w.listen_fd, false, &(struct link_peer){ 0 }, NULL), -ECONNRESET);
}

Test(link, socket_and_folder_are_for_their_owner_alone)
{
	char folder[100];
	struct stat st;
	mode_t old = umask(0);

	world_free();
	world_new();
	cr_assert_eq(stat(w.path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	snprintf(folder, sizeof(folder), "%s/run", w.folder);
	cr_assert_eq(stat(folder, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	umask(old);
}

Test(link, socket_and_created_folder_are_given_to_a_group)
{
	const gid_t group = getegid();
	char folder[100];
	struct stat st;
	mode_t old = umask(0077);

	snprintf(folder, sizeof(folder), "%s/run", w.folder);
	close(w.listen_fd);
	w.listen_fd = link_listen(w.path, group);
	cr_assert_geq(w.listen_fd, 0);
	cr_assert_eq(stat(w.path, &st), 0);
	cr_assert(st.st_mode % 010000 == 0660 && st.st_gid == group, "%o", st.st_mode);
	cr_assert_eq(stat(folder, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0700, "a folder that is there stays");

	close(w.listen_fd);
	unlink(w.path);
	snprintf(folder, sizeof(folder), "%s/run/muster.sock.lock", w.folder);
	unlink(folder);
	snprintf(folder, sizeof(folder), "%s/run", w.folder);
	cr_assert_eq(rmdir(folder), 0);
	w.listen_fd = link_listen(w.path, group);
	cr_assert_eq(stat(folder, &st), 0);
	cr_assert(st.st_mode % 010000 == 0710 && st.st_gid == group, "%o", st.st_mode);
	umask(old);
}

/* A process of another user and group. */
static void become_a_reader(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(4343, 4343, 4343) < 0 ||
	    setresuid(4343, 4343, 4343) < 0)
		_exit(252);
}

static void serve_readers(void)
{
	if (geteuid() != 0)
		cr_skip_test("only root becomes another user");
	cr_assert_eq(chmod(w.folder, 0711), 0);
	close(w.listen_fd);
	unlink(w.path);
	w.listen_fd = link_listen(w.path, 4343);
	/* The folder was there with mode 0700. */
	cr_assert_eq(chmod(dirname(strdupa(w.path)), 0711), 0);
}

static int child_reads(void)
{
	struct link_error e = { 0 };
	struct link l;
	int rc;

	become_a_reader();
	rc = link_connect(w.path, LINK_OBSERVER, NULL, &l, &e);
	return rc < 0 ? -rc : mprotect(l.ledger.base, l.ledger.bytes, PROT_READ | PROT_WRITE) == 0;
}

/* As a frontend that does not look who serves the socket. */
static int child_reader_as_frontend(void)
{
	struct message_head m = { .magic = MESSAGE_MAGIC,
		                      .hash = abi_layout_hash(),
		                      .kind = MESSAGE_HELLO,
		                      .arg = LINK_FRONTEND };
	struct segment intake;
	union message answer;
	int fd, passed;

	become_a_reader();
	if (link_make_intake(&intake, RING_BYTES_MIN, 4096) < 0)
		return 253;
	fd = raw_connect();
	if (message_send(fd, &m, sizeof(m), intake.fd) < 0 ||
	    message_receive(fd, &answer, &passed, 5000 * MS) != (int)sizeof(answer.refused))
		return 253;
	return answer.head.kind == MESSAGE_REFUSED ? (int)answer.head.arg : 254;
}

/* Its HELLO, which it sends when it has connected. */
static int hello_of(struct link_peer *peer, struct link_error *e)
{
	struct pollfd p = { .fd = peer->fd, .events = POLLIN };

	cr_assert(peer->reader && peer->role != LINK_OBSERVER && peer->role != LINK_FRONTEND);
	cr_assert_eq(poll(&p, 1, 10000), 1);
	return link_hello(peer, e);
}

Test(link, a_reader_of_the_group_observes_and_is_no_frontend)
{
	struct link_peer peer;
	struct link_error e;
	pid_t child;

	serve_readers();

	child = spawn(child_reads);
	cr_assert_eq(link_accept(w.listen_fd, true, &peer, &e), 0, "%s", e.text);
	cr_assert_eq(hello_of(&peer, &e), 0, "%s", e.text);
	cr_assert(peer.reader && peer.role == LINK_OBSERVER);
	cr_assert_eq(link_welcome(&peer, &w.ledger, &limits, EPOCH), 0);
	expect_exit(child, 0);
	link_peer_close(&peer);

	child = spawn(child_reader_as_frontend);
	cr_assert_eq(link_accept(w.listen_fd, true, &peer, &e), 0, "%s", e.text);
	cr_assert_eq(hello_of(&peer, &e), -EPERM);
	expect_exit(child, LINK_REFUSED_PEER);
	link_peer_close(&peer);

	child = spawn(child_reads);
	cr_assert_eq(link_accept(w.listen_fd, false, &peer, &e), -EPERM, "no group was named");
	expect_exit(child, EPERM);
}

static int child_is_refused(void)
{
	struct link_error e = { 0 };
	struct link l;

	return -link_connect(w.path, LINK_OBSERVER, NULL, &l, &e);
}

/* It was "Connection reset by peer", if the HELLO came before the core had closed. */
Test(link, a_refusal_reaches_a_peer_whose_hello_was_not_read)
{
	const struct message_refused m = { .head = { .magic = MESSAGE_MAGIC,
		                                         .hash = abi_layout_hash(),
		                                         .kind = MESSAGE_REFUSED,
		                                         .arg = LINK_REFUSED_PEER } };
	pid_t child = spawn(child_is_refused);
	struct pollfd p = { .fd = accept(w.listen_fd, NULL, NULL), .events = POLLIN };

	cr_assert_eq(poll(&p, 1, 10000), 1);
	cr_assert_eq(message_send(p.fd, &m, sizeof(m), -1), 0);
	close(p.fd);
	expect_exit(child, EPERM);
}

static int child_says_nothing(void)
{
	char byte;

	become_a_reader();
	return read(raw_connect(), &byte, 1) == 0 ? 0 : 253;
}

/* Each was waited for, a quarter of a second: whoever connected again and again kept the backlog
 * full, and a frontend that was started did not get in. */
Test(link, a_reader_that_says_nothing_is_not_waited_for)
{
	struct link_peer silent, ours;
	struct link_error e;
	pid_t child, frontend;

	serve_readers();

	child = spawn(child_says_nothing);
	cr_assert_eq(link_accept(w.listen_fd, true, &silent, &e), 0, "%s", e.text);
	cr_assert_eq(link_hello(&silent, &e), -ETIMEDOUT);
	cr_assert_geq(silent.fd, 0, "it may still send it");
	frontend = spawn(child_observer);
	cr_assert_eq(link_accept(w.listen_fd, true, &ours, &e), 0, "%s", e.text);
	cr_assert(!ours.reader && ours.role == LINK_OBSERVER);
	cr_assert_eq(link_welcome(&ours, &w.ledger, &limits, EPOCH), 0);
	expect_exit(frontend, 0);
	link_peer_close(&ours);
	link_peer_close(&silent);
	expect_exit(child, 0);
}

Test(link, replaces_a_dead_cores_socket_and_leaves_a_living_ones)
{
	int again = link_listen(w.path, LINK_NO_READERS);

	cr_assert_eq(again, -EADDRINUSE);
	cr_assert_eq(link_accept(w.listen_fd, false, &(struct link_peer){ 0 }, NULL), -ECONNRESET,
	             "it only looked");
	close(w.listen_fd); /* died: the file is still there */
	cr_assert_eq(access(w.path, F_OK), 0);
	w.listen_fd = link_listen(w.path, LINK_NO_READERS);
	cr_assert_geq(w.listen_fd, 0);
}

Test(link, does_not_replace_what_is_no_socket)
{
	int fd;

	close(w.listen_fd);
	unlink(w.path);
	fd = open(w.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(link_listen(w.path, LINK_NO_READERS), -EADDRINUSE);
	w.listen_fd = -1;
}

Test(link, waits_no_longer_than_it_is_told, .timeout = 4)
{
	struct link_error e;
	struct link l;

	cr_assert_eq(link_connect_within(w.path, LINK_OBSERVER, NULL, 20000000, &l, &e), -ETIMEDOUT);
}

Test(link, says_which_paths_do_not_do)
{
	char path[300];
	struct link_error e;
	struct link l;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	cr_assert_eq(link_listen(path, LINK_NO_READERS), -ENAMETOOLONG);
	cr_assert_eq(link_listen("", LINK_NO_READERS), -EINVAL);
	cr_assert_eq(link_listen("/nonexistent/folder/muster.sock", LINK_NO_READERS), -ENOENT);
	cr_assert_eq(link_connect(path, LINK_OBSERVER, NULL, &l, &e), -ENAMETOOLONG);
	cr_assert_eq(link_connect("/nonexistent/muster.sock", LINK_OBSERVER, NULL, &l, &e), -ENOENT);
	cr_assert(strstr(e.text, "/nonexistent/muster.sock"), "%s", e.text);
}

Test(link, makes_an_intake_of_good_sizes_alone)
{
	struct segment s;

	cr_assert_eq(link_make_intake(&s, RING_BYTES_MIN + 8, 4096), -EINVAL);
	cr_assert_eq(link_make_intake(&s, RING_BYTES_MIN / 2, 4096), -EINVAL);
	cr_assert_eq(link_make_intake(&s, RING_BYTES_MIN, 2048), -EINVAL);
	cr_assert_eq(link_make_intake(&s, RING_BYTES_MIN, UINT64_C(1) << 63), -EINVAL);
	cr_assert_eq(link_make_intake(&s, RING_BYTES_MIN, 4096), 0);
	cr_assert_eq(((struct intake *)s.base)->head.layout_hash, abi_layout_hash());
	segment_close(&s);
}
