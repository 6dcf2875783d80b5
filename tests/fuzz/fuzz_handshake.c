/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the socket against a hostile peer: any message, with any number of descriptors, and
 * segments whose headers are wrong, before and after they are checked.  The peer is accepted or
 * refused with a message; no descriptor leaks; nothing outside an accepted segment is read.
 *
 * An input is a script: the side, the message and what is passed, then edits of eight bytes {what,
 * -, where, value}. */
#include "core/shm/ledger.h"
#include "ipc/link.h"
#include "ipc/message.h"
#include "ipc/observe.h"
#include "ipc/ring.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/support_script.h"
#include "tests/unit/support_limits.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define START_BYTES 3
#define EDIT_BYTES 8
#define EDITS_MOST 12
#define FDS_MOST 6
#define EPOCH UINT64_C(7)
#define SHORT 512 /* more than any message of a handshake has */
#define ROOM (sizeof(union message) + SHORT)

static size_t change(struct random *r, uint8_t *data, size_t bytes, size_t cap)
{
	return script_change(r, data, bytes, cap, START_BYTES, EDIT_BYTES);
}

const struct fuzzer fuzzer = { .name = "handshake",
	                           .bytes_max = START_BYTES + EDITS_MOST * EDIT_BYTES,
	                           .change = change };

struct edit {
	uint8_t what, unused;
	uint16_t at;
	uint32_t value;
};

/* The first three bytes: the side that is played, its message, the descriptors. */
enum { PLAY_FRONTEND, PLAY_OBSERVER, PLAY_CORE, PLAY_CORE_OF_OBSERVER, PLAYS };
enum { SAY_RIGHT, SAY_HELLO, SAY_WELCOME, SAY_REFUSED, SAY_NOTHING, SAYS };
enum {
	PASS_RIGHT,
	PASS_NONE,
	PASS_TWO,
	PASS_MANY,
	PASS_NULL,
	PASS_PIPE,
	PASS_UNSEALED,
	PASS_HOLE,
	PASS_OTHER,
	PASS_FOLDER,
	PASSES
};
enum {
	EDIT_BYTE,
	EDIT_LENGTH,
	EDIT_WORD,
	EDIT_PLACE,
	EDIT_SHIFT,
	EDIT_LATE_WORD,
	EDIT_LATE_PLACE,
	EDITS
};

static const struct limits limits =
	LIMITS_WITH(.gangs = 8, .shapes = 8, .names = 8, .resources = 5, .name_bytes = 1024);

struct script {
	unsigned play, say, pass;
	struct edit edits[EDITS_MOST];
	size_t edits_n;
	unsigned char message[ROOM];
	size_t bytes;
	int fds[FDS_MOST];
	size_t fds_n;
	struct segment intake, ledger; /* created for each input; passed, and edited */
	struct segment *passed;        /* the one of these that matters */
};

/* A core for frontends to meet, and one that is played. */
static struct {
	char folder[64], real[96], played[96];
	int real_fd, played_fd;
	pthread_t thread;
	struct script *script; /* for the thread: set before a peer connects */
} place;

static void segments_make(struct script *s)
{
	struct ledger_view view;
	const char *what = "";
	uint64_t bytes = ledger_bytes(&limits, &what);

	if (bytes == 0 || link_make_intake(&s->intake, RING_BYTES_MIN, 4096) < 0 ||
	    segment_create(&s->ledger, "fuzz-ledger", bytes) < 0)
		fuzz_found("no segments: %s", what);
	ledger_open(&view, s->ledger.base, &limits, NULL, NULL);
	((struct ledger *)s->ledger.base)->epoch = EPOCH;
}

static void word_put(const struct segment *s, uint64_t at, const void *value, size_t bytes)
{
	at = s->bytes > bytes ? at % (s->bytes - bytes) : 0;
	memcpy((unsigned char *)s->base + at, value, bytes);
}

/* The first kilobyte has the offsets, sizes and limits. */
static void place_edit(const struct segment *s, const struct edit *e)
{
	const uint64_t extremes[] = { 0,
		                          1,
		                          s->bytes,
		                          s->bytes - 64,
		                          s->bytes + 64,
		                          UINT64_MAX,
		                          UINT64_MAX - 63,
		                          UINT64_C(1) << 63,
		                          UINT64_C(1) << 32,
		                          4096,
		                          64,
		                          1u << 16,
		                          1u << 17,
		                          INT64_MAX };
	uint64_t value = extremes[e->value % (sizeof(extremes) / sizeof(extremes[0]))];

	word_put(s, 8 * (uint64_t)(e->at % 128), &value, sizeof(value));
}

static void shift_edit(const struct segment *s, const struct edit *e)
{
	uint64_t at = 8 * (uint64_t)(e->at % 32), value;

	memcpy(&value, (unsigned char *)s->base + at, sizeof(value));
	value += (uint64_t)(int64_t)((int32_t)e->value % 4096) * 8;
	word_put(s, at, &value, sizeof(value));
}

/* `late`: those that the peer makes when it was let in. */
static void segment_edit(struct script *s, bool late)
{
	for (size_t i = 0; i < s->edits_n; i++) {
		const struct edit *e = &s->edits[i];

		switch (e->what % EDITS) {
		case EDIT_WORD:
			if (!late)
				word_put(s->passed, 4 * (uint64_t)e->at, &e->value, sizeof(e->value));
			break;
		case EDIT_PLACE:
			if (!late)
				place_edit(s->passed, e);
			break;
		case EDIT_SHIFT:
			if (!late)
				shift_edit(s->passed, e);
			break;
		case EDIT_LATE_WORD:
			if (late)
				word_put(s->passed, 4 * (uint64_t)e->at, &e->value, sizeof(e->value));
			break;
		case EDIT_LATE_PLACE:
			if (late)
				place_edit(s->passed, e);
			break;
		default:
			break;
		}
	}
}

static void fd_add(struct script *s, int fd)
{
	if (fd < 0)
		fuzz_found("no descriptor: %s", strerror(errno));
	s->fds[s->fds_n++] = fd;
}

static int memfd(size_t bytes, bool sealed)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		fuzz_found("no memory to pass");
	if (sealed &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
		fuzz_found("no seals");
	return fd;
}

static void pass_pipe(struct script *s)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		fuzz_found("no pipe");
	fd_add(s, ends[0]);
	close(ends[1]);
}

static void passed_set(struct script *s)
{
	const struct segment *other = s->passed == &s->intake ? &s->ledger : &s->intake;
	int times = s->pass == PASS_MANY ? FDS_MOST : s->pass == PASS_TWO ? 2 : 1;

	switch (s->pass) {
	case PASS_NONE:
		break;
	case PASS_NULL:
		fd_add(s, open("/dev/null", O_RDWR | O_CLOEXEC));
		break;
	case PASS_PIPE:
		pass_pipe(s);
		break;
	case PASS_UNSEALED:
		fd_add(s, memfd(s->passed->bytes, false));
		break;
	case PASS_HOLE:
		fd_add(s, memfd(s->passed->bytes, true));
		break;
	case PASS_OTHER:
		fd_add(s, dup(other->fd));
		break;
	case PASS_FOLDER:
		fd_add(s, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		break;
	default:
		while (times-- > 0)
			fd_add(s, dup(s->passed->fd));
	}
}

static void message_set(struct script *s)
{
	union message m = { .head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash() } };
	bool core = s->play >= PLAY_CORE;
	unsigned say = s->say != SAY_RIGHT ? s->say : core ? SAY_WELCOME : SAY_HELLO;

	s->bytes = sizeof(m.head);
	if (say == SAY_HELLO) {
		m.head.kind = MESSAGE_HELLO;
		m.head.arg = s->play == PLAY_OBSERVER ? LINK_OBSERVER : LINK_FRONTEND;
	} else if (say == SAY_WELCOME) {
		m.head.kind = MESSAGE_WELCOME;
		m.welcome.epoch = EPOCH;
		m.welcome.limits = limits;
		s->bytes = sizeof(m.welcome);
	} else if (say == SAY_REFUSED) {
		m.head.kind = MESSAGE_REFUSED;
		m.head.arg = LINK_REFUSED_BUSY;
		memset(m.refused.text, 'x', sizeof(m.refused.text));
		s->bytes = sizeof(m.refused);
	} else {
		s->bytes = 0;
	}
	memcpy(s->message, &m, sizeof(m));
	for (size_t i = 0; i < s->edits_n; i++) {
		const struct edit *e = &s->edits[i];

		if (e->what % EDITS == EDIT_BYTE)
			memcpy(s->message + e->at % (SHORT - 4), &e->value, 1 + e->at % 4);
		else if (e->what % EDITS == EDIT_LENGTH)
			s->bytes = e->value % (e->at % 2 ? ROOM : SHORT);
	}
}

static void say(int fd, const struct script *s)
{
	alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(FDS_MOST * sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)s->message, .iov_len = s->bytes };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (s->say == SAY_NOTHING)
		return;
	if (s->fds_n > 0) {
		struct cmsghdr *c;

		header.msg_control = control;
		header.msg_controllen = CMSG_SPACE(s->fds_n * sizeof(int));
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(s->fds_n * sizeof(int));
		memcpy(CMSG_DATA(c), s->fds, s->fds_n * sizeof(int));
	}
	if (sendmsg(fd, &header, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		fuzz_found("can't speak: %s", strerror(errno));
}

static void check_within(const struct segment *s, uint64_t offset, uint64_t bytes, const char *what)
{
	if (offset > s->bytes || bytes > s->bytes - offset)
		fuzz_found("the %s lies outside", what);
}

static void read_ring(const struct segment *s, struct ring_place at, const _Atomic uint64_t *tail,
                      const char *what)
{
	static _Alignas(8) unsigned char cap[RECORD_BYTES_MAX];
	_Atomic uint64_t head;
	struct ring_reader r;

	check_within(s, at.offset, at.bytes, what);
	ring_reader_init(&r, (const unsigned char *)s->base + at.offset, at.bytes, tail, &head, EPOCH);
	for (int i = 0; i < 64 && ring_read(&r, (struct record *)(void *)cap) > 0; i++)
		ring_release(&r);
}

static void check_peer(struct script *s, const struct link_peer *peer)
{
	const struct intake *intake = peer->intake.base;

	if (peer->role != LINK_FRONTEND && peer->role != LINK_OBSERVER)
		fuzz_found("role %u", peer->role);
	if (peer->role == LINK_OBSERVER)
		return;
	segment_edit(s, true);
	read_ring(&peer->intake, peer->places.event_ring, &intake->event_tail, "event ring");
	read_ring(&peer->intake, peer->places.result_ring, &intake->result_tail, "result ring");
}

static void check_link(struct script *s, const struct link *l)
{
	struct observer o = { .places = l->places, .ledger = l->ledger.base, .segment = l->ledger };
	char name[OBSERVE_NAME_MAX];
	struct node_view node;
	struct gang_copy gang;

	segment_edit(s, true);
	read_ring(&l->ledger, l->places.command_ring, &o.ledger->command_tail, "command ring");
	for (uint32_t i = 0; i < 16; i++) {
		if (observe_node(&o, i, &node) && strlen(node.name) >= OBSERVE_NAME_MAX)
			fuzz_found("a long name");
		if (observe_gang(&o, i, &gang) && gang.row.reason.counts_n > FILTER_COUNTS_MAX)
			fuzz_found("%u counts", gang.row.reason.counts_n);
		observe_name(&o, i, name);
	}
}

static void check_error(const struct link_error *e, int rc)
{
	if (rc == -ETIMEDOUT || *e->text == '\0')
		fuzz_found("%d: \"%s\"", rc, e->text);
	for (const unsigned char *c = (const void *)e->text; *c != '\0'; c++) {
		/* The second byte of a C1 control, U+0080 to U+009F, follows 0xc2. */
		if (*c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0) || *c > 0xf4)
			fuzz_found("a byte %02x in the message", *c);
		if (*c >= 0xc2 && (c[1] & 0xc0) != 0x80)
			fuzz_found("the message is not UTF-8");
	}
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		fuzz_found("can't connect: %s", strerror(errno));
	return fd;
}

static void try_core(struct script *s)
{
	struct link_peer peer;
	struct link_error e = { 0 };
	int fd = connect_to(place.real), rc;

	say(fd, s);
	if (s->say == SAY_NOTHING || s->bytes == 0) {
		close(fd);
		fd = -1;
	}
	rc = link_accept(place.real_fd, false, &peer, &e);
	if (rc == 0) {
		check_peer(s, &peer);
		link_welcome(&peer, &s->ledger, &limits, EPOCH);
		link_peer_close(&peer);
	} else {
		check_error(&e, rc);
	}
	if (fd >= 0)
		close(fd);
}

static void try_frontend(struct script *s)
{
	struct link_error e = { 0 };
	struct link l;
	int rc = link_connect(place.played, s->play == PLAY_CORE ? LINK_FRONTEND : LINK_OBSERVER,
	                      s->play == PLAY_CORE ? &s->intake : NULL, &l, &e);

	if (rc == 0) {
		check_link(s, &l);
		link_close(&l);
	} else {
		check_error(&e, rc);
	}
}

/* Accepts each connection, sends the message of the script, and closes. */
static void *played_core(void *context)
{
	for (;;) {
		int fd = accept4(place.played_fd, NULL, NULL, SOCK_CLOEXEC);
		union message m;
		int passed = -1;

		if (fd < 0)
			return context;
		if (message_receive(fd, &m, &passed, UINT64_C(5000000000)) > 0)
			say(fd, place.script);
		if (passed >= 0)
			close(passed);
		close(fd);
	}
}

static void place_remove(void)
{
	const char *const paths[] = { place.real, place.played };
	char lock[128];

	for (int i = 0; i < 2; i++) {
		snprintf(lock, sizeof(lock), "%s.lock", paths[i]);
		unlink(paths[i]);
		unlink(lock);
	}
	rmdir(place.folder);
}

static void place_make(void)
{
	strcpy(place.folder, "/tmp/muster-fuzz-XXXXXX");
	if (!mkdtemp(place.folder))
		fuzz_found("no folder to work in");
	snprintf(place.real, sizeof(place.real), "%s/real", place.folder);
	snprintf(place.played, sizeof(place.played), "%s/played", place.folder);
	atexit(place_remove);
	place.real_fd = link_listen(place.real, LINK_NO_READERS);
	place.played_fd = link_listen(place.played, LINK_NO_READERS);
	if (place.real_fd < 0 || place.played_fd < 0 ||
	    pthread_create(&place.thread, NULL, played_core, NULL) != 0)
		fuzz_found("no place to meet");
}

static void script_read(struct script *s, const uint8_t *data, size_t bytes)
{
	*s = (struct script){ .play = bytes > 0 ? data[0] % PLAYS : 0,
		                  .say = bytes > 1 ? data[1] % SAYS : 0,
		                  .pass = bytes > 2 ? data[2] % PASSES : 0 };
	for (size_t at = START_BYTES; at + EDIT_BYTES <= bytes && s->edits_n < EDITS_MOST;
	     at += EDIT_BYTES)
		memcpy(&s->edits[s->edits_n++], data + at, EDIT_BYTES);
	segments_make(s);
	s->passed = s->play < PLAY_CORE ? &s->intake : &s->ledger;
	/* An observer passes nothing when all is right. */
	if (s->play == PLAY_OBSERVER && s->pass == PASS_RIGHT)
		s->pass = PASS_NONE;
	passed_set(s);
	message_set(s);
	segment_edit(s, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct script s;
	int before, after;

	if (*place.folder == '\0')
		place_make();
	script_read(&s, data, bytes);
	place.script = &s;
	if (s.play < PLAY_CORE)
		try_core(&s);
	else
		try_frontend(&s);
	while (s.fds_n > 0)
		close(s.fds[--s.fds_n]);
	segment_close(&s.intake);
	segment_close(&s.ledger);
	/* The lowest free descriptor shows whether one leaked; the thread still has one
	 * connection. */
	before = place.played_fd + 1;
	after = dup(place.played_fd);
	close(after);
	if (after > before + 4)
		fuzz_found("descriptors stay open: %d", after - before);
	return 0;
}
