/* SPDX-License-Identifier: Apache-2.0 */
/* The socket on which core and frontend, or an observer, find each other: a
 * SOCK_SEQPACKET unix socket, mode 0600.  It passes the segments and from then on
 * carries nothing: it is open while the peer lives, closed when it died.
 *
 *   frontend                                core
 *      HELLO {hash, role, intake fd}  --->
 *                                     <---  WELCOME {hash, epoch, limits, ledger fd}
 *                                      or   REFUSED {hash, why}
 *
 * An observer sends HELLO without an fd and gets the ledger read-only. */
#ifndef MUSTER_IPC_LINK_H
#define MUSTER_IPC_LINK_H

#include "ipc/abi.h"
#include "ipc/check.h"
#include "ipc/segment.h"

#include <stddef.h>
#include <stdint.h>

#define LINK_DEFAULT_SOCKET "/run/muster/muster.sock"

enum link_role { LINK_FRONTEND = 1, LINK_OBSERVER = 2 };

enum link_refusal {
	LINK_REFUSED_LAYOUT = 1, /* another layout hash: exit 78 */
	LINK_REFUSED_BUSY,       /* a frontend is connected already */
	LINK_REFUSED_SEGMENT,    /* the intake is not sealed or not of the right size */
	LINK_REFUSED_PEER,       /* another user id */
	LINK_REFUSED_MESSAGE,    /* malformed */
};

/* A refusal or failure, for a message to the user.
 *
 *   -EPROTONOSUPPORT  layouts differ         -EBUSY       a frontend is connected
 *   -EPERM            another user           -EPROTO      a malformed message
 *   -EINVAL           the intake is no good  -ETIMEDOUT   no answer
 *   -ECONNRESET       the peer went away     -ENOENT, -ECONNREFUSED   no core there
 *
 * or another negative errno of a system call. */
struct link_error {
	int rc;
	enum link_refusal refusal; /* 0: nobody refused */
	uint64_t our_hash;
	uint64_t their_hash; /* 0: not heard of */
	char text[512];      /* one sentence */
};

/* ---- core's side ---- */

/* Listen on path; an old socket file that nobody serves is replaced, a folder that
 * is missing is made with mode 0700.  A file path.lock stays behind: who changes
 * the socket file holds a lock on it.  Returns the fd or a negative errno
 * (-EADDRINUSE: another core serves it, or the file is no socket). */
int link_listen(const char *path);

struct link_peer {
	int fd; /* owned; POLLHUP when the peer died */
	enum link_role role;
	struct segment intake;       /* frontends: mapped read-only and its head checked */
	struct intake_places places; /* where its rings are: use these, not the segment's */
};

/* Accept one connection and read its HELLO (waits for a connection when there is
 * none, so poll first; at most one second for the HELLO).  On refusal the peer has
 * been told, nothing is left open, and e says why.  Someone who only looks whether
 * the socket is served connects and goes: -ECONNRESET. */
int link_accept(int listen_fd, struct link_peer *peer, struct link_error *e);

/* Answer.  The ledger's fd is passed; epoch as in ledger->epoch.  The ends of the
 * rings are set up before (ring.h); the frontend's bell is set to 0 here, since
 * the new peer's announcements start again (wake.h). */
int link_welcome(const struct link_peer *peer, const struct segment *ledger,
                 const struct limits *limits, uint64_t epoch);
void link_refuse(struct link_peer *peer, enum link_refusal refusal, const char *text);
void link_peer_close(struct link_peer *peer);

/* ---- frontend's and observer's side ---- */

struct link {
	int fd; /* owned */
	uint64_t epoch;
	struct limits limits;        /* our private copy */
	struct segment ledger;       /* mapped read-only, head and offsets checked */
	struct ledger_places places; /* where its parts are: use these, not the segment's */
};

/* Connect and shake hands; intake is NULL for an observer, and stays the caller's.
 * The core has to be of our user or of root; root observes any.  Waits at most five
 * seconds for the answer.  Tails, head and bell of the intake are set to 0, so that it
 * can serve again for the next epoch.  On failure nothing is open and e is filled
 * (-ENOENT and -ECONNREFUSED: no core there yet). */
int link_connect(const char *path, enum link_role role, const struct segment *intake,
                 struct link *l, struct link_error *e);

/* The same, with another time for the answer. */
int link_connect_within(const char *path, enum link_role role, const struct segment *intake,
                        uint64_t answer_ns, struct link *l, struct link_error *e);
void link_close(struct link *l);

/* An intake segment with rings of these sizes (powers of two; of events at least
 * RING_BYTES_MIN, of results 4096: else -EINVAL), head filled in. */
int link_make_intake(struct segment *s, uint64_t event_ring_bytes, uint64_t result_ring_bytes);

#endif
