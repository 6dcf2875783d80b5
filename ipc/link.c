/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake, from both sides.  All data from the socket is copied to private memory
 * before it is checked. */
#include "ipc/clean.h"
#include "ipc/link.h"
#include "ipc/memory.h"
#include "ipc/message.h"
#include "ipc/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HELLO_TIMEOUT_NS UINT64_C(1000000000)

static_assert(sizeof(((struct link_error *)0)->text) >= 108 + 2 * 18 + MESSAGE_TEXT_BYTES + 128,
              "path, hashes and the words around them fit");

/* Fills e, which may be NULL; returns rc. */
__attribute__((format(printf, 5, 6))) static int fail(struct link_error *e, int rc,
                                                      enum link_refusal refusal,
                                                      uint64_t their_hash, const char *format, ...)
{
	va_list args;

	if (e == NULL)
		return rc;
	*e = (struct link_error){
		.rc = rc, .refusal = refusal, .our_hash = abi_layout_hash(), .their_hash = their_hash
	};
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
	return rc;
}

static int refusal_errno(enum link_refusal refusal)
{
	switch (refusal) {
	case LINK_REFUSED_LAYOUT:
		return -EPROTONOSUPPORT;
	case LINK_REFUSED_BUSY:
		return -EBUSY;
	case LINK_REFUSED_SEGMENT:
		return -EINVAL;
	case LINK_REFUSED_PEER:
		return -EPERM;
	case LINK_REFUSED_MESSAGE:
		break;
	}
	return -EPROTO;
}

static const char *refusal_text(enum link_refusal refusal)
{
	switch (refusal) {
	case LINK_REFUSED_LAYOUT:
		return "another layout of the shared memory";
	case LINK_REFUSED_BUSY:
		return "another frontend is connected";
	case LINK_REFUSED_SEGMENT:
		return "the intake is not sealed, not allocated or not of the right size";
	case LINK_REFUSED_PEER:
		return "another user id";
	case LINK_REFUSED_MESSAGE:
		break;
	}
	return "a malformed message";
}

/* The path of the socket, for messages. */
static void socket_path(int fd, struct sockaddr_un *address)
{
	socklen_t bytes = sizeof(*address);

	memset(address, 0, sizeof(*address));
	if (getsockname(fd, (struct sockaddr *)address, &bytes) < 0 || address->sun_path[0] == '\0')
		snprintf(address->sun_path, sizeof(address->sun_path), "(unnamed socket)");
	address->sun_path[sizeof(address->sun_path) - 1] = '\0';
}

/* Best effort: a peer that doesn't read is closed as well. */
static void send_refused(int fd, enum link_refusal refusal, const char *text)
{
	struct message_refused m = {
		.head = { .magic = MESSAGE_MAGIC,
		          .hash = abi_layout_hash(),
		          .kind = MESSAGE_REFUSED,
		          .arg = (uint32_t)refusal },
	};

	snprintf(m.text, sizeof(m.text), "%s", text ? text : refusal_text(refusal));
	(void)message_send(fd, &m, sizeof(m), -1);
}

void link_peer_close(struct link_peer *peer)
{
	segment_close(&peer->intake);
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

void link_refuse(struct link_peer *peer, enum link_refusal refusal, const char *text)
{
	send_refused(peer->fd, refusal, text);
	link_peer_close(peer);
}

/* Refuses a connection before it is a peer, and fills e. */
static int turn_away(int fd, enum link_refusal refusal, uint64_t their_hash, struct link_error *e)
{
	struct sockaddr_un address;

	socket_path(fd, &address);
	send_refused(fd, refusal, NULL);
	if (refusal == LINK_REFUSED_LAYOUT)
		return fail(e, -EPROTONOSUPPORT, refusal, their_hash,
		            "rejected a peer on %s: its layout is 0x%016" PRIx64 ", ours is 0x%016" PRIx64
		            "; both programs have to come from the same build",
		            address.sun_path, their_hash, abi_layout_hash());
	return fail(e, refusal_errno(refusal), refusal, their_hash, "rejected a peer on %s: %s",
	            address.sun_path, refusal_text(refusal));
}

/* The role in a HELLO, or the refusal of it. */
static enum link_refusal hello_check(const struct message_head *hello, size_t bytes, bool has_fd)
{
	if (bytes != sizeof(*hello) || hello->kind != MESSAGE_HELLO)
		return LINK_REFUSED_MESSAGE;
	if (hello->hash != abi_layout_hash())
		return LINK_REFUSED_LAYOUT;
	if (hello->arg != LINK_FRONTEND && hello->arg != LINK_OBSERVER)
		return LINK_REFUSED_MESSAGE;
	return has_fd == (hello->arg == LINK_FRONTEND) ? 0 : LINK_REFUSED_MESSAGE;
}

/* Takes fd. */
static int open_intake(int fd, struct link_peer *peer)
{
	int rc = segment_open(&peer->intake, fd, sizeof(struct intake), INTAKE_BYTES_MAX);

	if (rc < 0)
		return rc;
	rc = intake_check(&peer->intake, &peer->places);
	if (rc < 0)
		segment_close(&peer->intake);
	return rc;
}

static int read_hello(int fd, bool reader, struct link_peer *peer, struct link_error *e)
{
	struct link_peer found = { .fd = fd, .reader = reader, .intake = { .fd = -1 } };
	enum link_refusal refusal;
	union message m;
	int passed, got;

	got = message_receive(fd, &m, &passed, reader ? 0 : HELLO_TIMEOUT_NS);
	if (got == -EPROTO)
		return turn_away(fd, LINK_REFUSED_MESSAGE, 0, e);
	if (got < 0)
		return fail(e, got, 0, 0, "a peer connected and sent no HELLO: %s", strerror(-got));

	refusal = hello_check(&m.head, (size_t)got, passed >= 0);
	if (refusal == 0 && reader && m.head.arg != LINK_OBSERVER)
		refusal = LINK_REFUSED_PEER;
	if (refusal != 0) {
		if (passed >= 0)
			close(passed);
		return turn_away(fd, refusal, m.head.hash, e);
	}
	found.role = (enum link_role)m.head.arg;
	if (found.role == LINK_FRONTEND) {
		const int rc = open_intake(passed, &found);

		if (rc == -ENOMEM)
			fatal_memory();
		if (rc < 0)
			return turn_away(fd, LINK_REFUSED_SEGMENT, m.head.hash, e);
	}
	*peer = found;
	return 0;
}

int link_accept(int listen_fd, bool readers, struct link_peer *peer, struct link_error *e)
{
	int fd, rc;
	bool ours;

	do
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (fd < 0 && errno == EINTR);
	if (fd < 0) {
		rc = -errno;
		return fail(e, rc, 0, 0, "cannot accept a peer: %s", strerror(-rc));
	}
	ours = message_peer_is_ours(fd);
	if (!ours && readers) {
		*peer = (struct link_peer){ .fd = fd, .reader = true, .intake = { .fd = -1 } };
		return 0;
	}
	rc = ours ? read_hello(fd, false, peer, e) : turn_away(fd, LINK_REFUSED_PEER, 0, e);
	if (rc < 0)
		close(fd);
	return rc;
}

int link_hello(struct link_peer *peer, struct link_error *e)
{
	return read_hello(peer->fd, true, peer, e);
}

int link_welcome(const struct link_peer *peer, const struct segment *ledger,
                 const struct limits *limits, uint64_t epoch)
{
	struct message_welcome m = {
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_WELCOME },
		.epoch = epoch,
		.limits = *limits,
	};

	if (peer->role == LINK_FRONTEND) {
		/* Relaxed: the message orders it before anything the peer does. */
		atomic_store_explicit(&((struct ledger *)ledger->base)->frontend_doorbell, 0,
		                      memory_order_relaxed);
	}
	return message_send(peer->fd, &m, sizeof(m), ledger->fd);
}

static int connect_to(const char *path, enum link_role role, struct link_error *e)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t bytes = strlen(path);
	int fd, rc;

	if (bytes == 0 || bytes >= sizeof(address.sun_path))
		return fail(e, -ENAMETOOLONG, 0, 0, "the socket path %.200s is empty or too long", path);
	memcpy(address.sun_path, path, bytes);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		rc = -errno;
		return fail(e, rc, 0, 0, "cannot make a socket: %s", strerror(-rc));
	}
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		rc = -errno;
		close(fd);
		return fail(e, rc, 0, 0, "cannot reach muster-core at %s: %s", path, strerror(-rc));
	}
	/* The core of any user may be observed: nothing of it is used unchecked. */
	if (role == LINK_FRONTEND && !message_peer_is_ours(fd)) {
		close(fd);
		return fail(e, -EPERM, 0, 0, "the socket %s is served by another user", path);
	}
	return fd;
}

static int layouts_differ(const char *path, uint64_t their_hash, struct link_error *e)
{
	return fail(
		e, -EPROTONOSUPPORT, LINK_REFUSED_LAYOUT, their_hash,
		"muster-core at %s has another layout of the shared memory: its layout is 0x%016" PRIx64
		", ours is 0x%016" PRIx64 "; both programs have to come from the same build",
		path, their_hash, abi_layout_hash());
}

static int was_refused(const char *path, union message *m, size_t bytes, struct link_error *e)
{
	enum link_refusal refusal = LINK_REFUSED_MESSAGE;

	if (bytes != sizeof(m->refused))
		return fail(e, -EPROTO, 0, m->head.hash, "muster-core at %s sent a malformed refusal",
		            path);
	if (m->head.arg >= LINK_REFUSED_LAYOUT && m->head.arg <= LINK_REFUSED_MESSAGE)
		refusal = (enum link_refusal)m->head.arg;
	if (refusal == LINK_REFUSED_LAYOUT)
		return layouts_differ(path, m->head.hash, e);
	m->refused.text[sizeof(m->refused.text) - 1] = '\0';
	clean_text(m->refused.text);
	return fail(e, refusal_errno(refusal), refusal, m->head.hash,
	            "muster-core at %s rejected this process: %s", path, m->refused.text);
}

/* Takes ledger_fd. */
static int open_ledger(const char *path, const struct message_welcome *m, int ledger_fd,
                       struct link *l, struct link_error *e)
{
	int rc = segment_open_bare(&l->ledger, ledger_fd, sizeof(struct ledger), LEDGER_BYTES_MAX);

	/* No later try would find room: what the process keeps took the place of the former ledger. */
	if (rc == -ENOMEM)
		fatal_memory();
	if (rc < 0)
		return fail(e, rc, 0, m->head.hash, "cannot map the ledger of muster-core at %s: %s", path,
		            strerror(-rc));
	rc = ledger_check(&l->ledger, &l->places);
	/* The message had our layout hash, so this is not another build, for which a retry is
	 * useless. */
	if (rc == -EPROTONOSUPPORT)
		rc = -EPROTO;
	if (rc == 0 && memcmp(&l->places.limits, &m->limits, sizeof(m->limits)) != 0)
		rc = -EPROTO;
	if (rc < 0) {
		segment_close(&l->ledger);
		return fail(e, rc, 0, m->head.hash,
		            "the ledger of muster-core at %s is not laid out as its head says", path);
	}
	l->limits = m->limits;
	l->epoch = m->epoch;
	return 0;
}

static int read_answer(const char *path, int fd, uint64_t answer_ns, struct link *l,
                       struct link_error *e)
{
	union message m;
	int passed;
	int got = message_receive(fd, &m, &passed, answer_ns);
	int rc;

	/* The reset by a core that had not read the HELLO comes before the REFUSED that it sent. */
	if (got == -ECONNRESET)
		got = message_receive(fd, &m, &passed, 0);
	if (got < 0)
		return fail(e, got, 0, 0, "muster-core at %s gave no answer: %s", path, strerror(-got));
	if (m.head.kind == MESSAGE_WELCOME && m.head.hash == abi_layout_hash() &&
	    (size_t)got == sizeof(m.welcome) && passed >= 0)
		return open_ledger(path, &m.welcome, passed, l, e);

	if (m.head.kind == MESSAGE_REFUSED)
		rc = was_refused(path, &m, (size_t)got, e);
	else if (m.head.hash != abi_layout_hash())
		rc = layouts_differ(path, m.head.hash, e);
	else
		rc = fail(e, -EPROTO, 0, m.head.hash, "muster-core at %s sent a malformed answer", path);
	if (passed >= 0)
		close(passed);
	return rc;
}

/* A new peer counts from 0. */
static void intake_restart(const struct segment *s)
{
	struct intake *intake = s->base;

	/* Relaxed: the message orders them before anything the peer does. */
	atomic_store_explicit(&intake->event_tail, 0, memory_order_relaxed);
	atomic_store_explicit(&intake->result_tail, 0, memory_order_relaxed);
	atomic_store_explicit(&intake->command_head, 0, memory_order_relaxed);
	atomic_store_explicit(&intake->core_doorbell, 0, memory_order_relaxed);
}

int link_connect(const char *path, enum link_role role, const struct segment *intake,
                 struct link *l, struct link_error *e)
{
	return link_connect_within(path, role, intake, LINK_ANSWER_NS, l, e);
}

int link_connect_within(const char *path, enum link_role role, const struct segment *intake,
                        uint64_t answer_ns, struct link *l, struct link_error *e)
{
	struct message_head hello = { .magic = MESSAGE_MAGIC,
		                          .hash = abi_layout_hash(),
		                          .kind = MESSAGE_HELLO,
		                          .arg = (uint32_t)role };
	struct link found = { .ledger = { .fd = -1 } };
	int rc;

	assert((role == LINK_FRONTEND) == (intake != NULL));
	found.fd = connect_to(path, role, e);
	if (found.fd < 0)
		return found.fd;
	if (intake)
		intake_restart(intake);
	rc = message_send(found.fd, &hello, sizeof(hello), intake ? intake->fd : -1);
	/* A core that refuses before it reads has closed, but its REFUSED can be received. */
	if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET)
		rc = read_answer(path, found.fd, answer_ns, &found, e);
	else
		fail(e, rc, 0, 0, "cannot send to muster-core at %s: %s", path, strerror(-rc));
	if (rc < 0) {
		close(found.fd);
		return rc;
	}
	*l = found;
	return 0;
}

void link_close(struct link *l)
{
	segment_close(&l->ledger);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

static bool ring_size_ok(uint64_t bytes, uint64_t min_bytes)
{
	return bytes >= min_bytes && bytes <= INTAKE_BYTES_MAX / 4 && (bytes & (bytes - 1)) == 0;
}

int link_make_intake(struct segment *s, uint64_t event_ring_bytes, uint64_t result_ring_bytes)
{
	uint64_t bytes = sizeof(struct intake) + event_ring_bytes + result_ring_bytes;
	struct intake *intake;
	int rc;

	if (!ring_size_ok(event_ring_bytes, RING_BYTES_MIN) ||
	    !ring_size_ok(result_ring_bytes, SMALL_RING_BYTES_MIN))
		return -EINVAL;
	rc = segment_create(s, "muster-intake", bytes);
	if (rc < 0)
		return rc;
	intake = s->base;
	intake->head = (struct segment_head){ .magic = INTAKE_MAGIC,
		                                  .layout_hash = abi_layout_hash(),
		                                  .bytes = bytes };
	intake->event_ring =
		(struct ring_place){ .offset = sizeof(*intake), .bytes = event_ring_bytes };
	intake->result_ring = (struct ring_place){ .offset = sizeof(*intake) + event_ring_bytes,
		                                       .bytes = result_ring_bytes };
	return 0;
}
