/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of the core with a frontend or an observer, on a SOCK_SEQPACKET
 * unix socket of mode 0600, or 0660 for a group of readers.  It passes the segments; afterwards
 * the socket of a frontend carries no data, that of an observer its questions (ipc/question.h),
 * and it is closed when the peer dies.
 *
 *   frontend                                core
 *      HELLO {hash, role, intake fd}  --->
 *                                     <---  WELCOME {hash, epoch, limits, ledger fd}
 *                                      or   REFUSED {hash, why}
 *
 * An observer sends HELLO without an fd and gets the ledger read-only.
 *
 * Who may connect is decided by the mode of the socket file, and who may be what by the user id of
 * the peer: a frontend is of the core's user or root, a reader of the group is an observer. */
#ifndef MUSTER_IPC_LINK_H
#define MUSTER_IPC_LINK_H

#include "ipc/abi.h"
#include "ipc/check.h"
#include "ipc/segment.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LINK_DEFAULT_SOCKET "/run/muster/muster.sock"

enum link_role { LINK_FRONTEND = 1, LINK_OBSERVER = 2 };

enum link_refusal {
	LINK_REFUSED_LAYOUT = 1, /* another layout hash: exit 78 */
	LINK_REFUSED_BUSY,       /* a frontend is connected already */
	LINK_REFUSED_SEGMENT,    /* the intake is not sealed or not of the right size */
	LINK_REFUSED_PEER,       /* another user id, and no observer of the group */
	LINK_REFUSED_MESSAGE,    /* malformed */
};

/* A refusal or a failure, with a text for the user.
 *
 *   -EPROTONOSUPPORT  layouts differ         -EBUSY       a frontend is connected
 *   -EPERM            another user           -EPROTO      a malformed message
 *   -EINVAL           an invalid intake      -ETIMEDOUT   no answer
 *   -ECONNRESET       the peer closed        -ENOENT, -ECONNREFUSED   no core is running
 *
 * or another negative errno of a system call.  A segment that does not fit into the address space
 * ends the process as any lack of memory does (ipc/memory.h): what the process has allocated since
 * it had the former segment stays, so a later try would fail as well. */
struct link_error {
	int rc;
	enum link_refusal refusal; /* 0: not refused */
	uint64_t our_hash;
	uint64_t their_hash; /* 0: unknown */
	char text[512];      /* one sentence */
};

#define LINK_NO_READERS ((gid_t)-1)

/* Listens on path.  Replaces a socket file without a listener and creates a missing
 * folder with mode 0700.  The file path.lock, which stays, is locked while the socket
 * file is replaced.  Returns the fd or a negative errno (-EADDRINUSE: another core
 * listens, or the file is no socket).
 *
 * `readers`: the group whose members may connect, too: the file gets it and mode 0660, and a
 * folder that is created 0710.  -EPERM: we are neither root nor one of its members. */
int link_listen(const char *path, gid_t readers);

struct link_peer {
	int fd; /* owned; POLLHUP when the peer died */
	enum link_role role;
	bool reader;           /* neither of our user nor root; its role is 0 until link_hello() */
	struct segment intake; /* of a frontend: mapped read-only, head checked */
	struct intake_places places; /* of its rings: use these, not those in the segment */
};

/* Accepts one connection and reads its HELLO.  Blocks for a connection, so poll first,
 * and at most one second for the HELLO.  On a refusal REFUSED was sent, nothing is left
 * open, and e has the reason.  -ECONNRESET: the peer closed without a HELLO, as a probe
 * of the socket does.
 *
 * `readers`: other users may observe, as link_listen() let them in.  Their HELLO is not waited for,
 * since they could keep everybody else out by saying nothing: link_hello() reads it. */
int link_accept(int listen_fd, bool readers, struct link_peer *peer, struct link_error *e);

/* The HELLO of a reader whose socket is readable: it is an observer.  On a refusal REFUSED was
 * sent, the peer stays to be closed, and e has the reason.  -ECONNRESET: as above. */
int link_hello(struct link_peer *peer, struct link_error *e);

/* Sends WELCOME with the ledger's fd; epoch as in ledger->epoch.  The ends of the rings
 * are initialized before (ring.h).  Resets the frontend's doorbell to 0, since the new
 * peer counts its announcements from 0 (wake.h). */
int link_welcome(const struct link_peer *peer, const struct segment *ledger,
                 const struct limits *limits, uint64_t epoch);
/* Sends REFUSED, and closes the peer. */
void link_refuse(struct link_peer *peer, enum link_refusal refusal, const char *text);
void link_peer_close(struct link_peer *peer);

struct link {
	int fd; /* owned */
	uint64_t epoch;
	struct limits limits;        /* private copy */
	struct segment ledger;       /* mapped read-only, head and offsets checked */
	struct ledger_places places; /* of its parts: use these, not those in the segment */
};

/* Connects and does the handshake; intake is NULL for an observer, and stays owned by
 * the caller.  For a frontend the core has to run as our user or as root.  Waits at most
 * five seconds for the answer.  Resets tails, head and doorbell of the intake to 0,
 * so that it can be used for the next epoch.  On failure nothing is left open and e is
 * filled (-ENOENT, -ECONNREFUSED: no core is running). */
int link_connect(const char *path, enum link_role role, const struct segment *intake,
                 struct link *l, struct link_error *e);

#define LINK_ANSWER_NS UINT64_C(5000000000)

/* The same with another timeout for the answer. */
int link_connect_within(const char *path, enum link_role role, const struct segment *intake,
                        uint64_t answer_ns, struct link *l, struct link_error *e);
void link_close(struct link *l);

/* Creates an intake segment with rings of these sizes and fills its head.  -EINVAL: a
 * size is no power of two, or less than RING_BYTES_MIN for events, 4096 for results. */
int link_make_intake(struct segment *s, uint64_t event_ring_bytes, uint64_t result_ring_bytes);

#endif
