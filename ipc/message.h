/* SPDX-License-Identifier: Apache-2.0 */
/* One message on the link, with at most one file descriptor: how it is sent,
 * received within a time, and who sent it. */
#ifndef MUSTER_IPC_MESSAGE_H
#define MUSTER_IPC_MESSAGE_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAGIC UINT64_C(0x31306b4c2e74736d) /* "mst.Lk01" */

enum message_kind { MESSAGE_HELLO = 1, MESSAGE_WELCOME, MESSAGE_REFUSED };

/* Never changes, and neither do HELLO and REFUSED: peers of different layouts have
 * to be able to tell each other so. */
struct message_head {
	uint64_t magic;
	uint64_t hash;
	uint32_t kind; /* enum message_kind */
	uint32_t arg;  /* HELLO: enum link_role; REFUSED: enum link_refusal */
};

struct message_welcome {
	struct message_head head;
	uint64_t epoch;
	struct limits limits;
};

#define MESSAGE_TEXT_BYTES 128

struct message_refused {
	struct message_head head;
	char text[MESSAGE_TEXT_BYTES]; /* ends on a 0 */
};

union message {
	struct message_head head;
	struct message_welcome welcome;
	struct message_refused refused;
};

static_assert(sizeof(struct message_head) == 24, "the same in every version");
static_assert(sizeof(struct message_refused) == 24 + MESSAGE_TEXT_BYTES, "likewise");

/* Send; fd < 0 sends none.  Never waits: a socket that is full is an error. */
int message_send(int socket_fd, const void *message, size_t bytes, int fd);

/* Receive one message within timeout_ns.  Returns its length; *fd is the descriptor
 * that came with it (owned now) or -1.
 *
 *   -ETIMEDOUT   none came
 *   -ECONNRESET  the peer has closed
 *   -EPROTO      too long, without magic, or more than one descriptor came (all
 *                are closed) */
int message_receive(int socket_fd, union message *m, int *fd, uint64_t timeout_ns);

/* Is the process at the other end ours: our user or root? */
bool message_peer_is_ours(int socket_fd);

#endif
