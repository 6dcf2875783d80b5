/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on the link, each with at most one file descriptor: send, receive with a
 * timeout, and check of the peer. */
#ifndef MUSTER_IPC_MESSAGE_H
#define MUSTER_IPC_MESSAGE_H

#include "ipc/question.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_MAGIC UINT64_C(0x31306b4c2e74736d) /* "mst.Lk01" */

enum message_kind {
	MESSAGE_HELLO = 1,
	MESSAGE_WELCOME,
	MESSAGE_REFUSED,
	MESSAGE_QUESTION,
	MESSAGE_ANSWER,
	MESSAGE_POD,
	MESSAGE_GANG
};

/* Never changes, and neither do HELLO and REFUSED: peers of different layouts have
 * to understand them. */
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
	char text[MESSAGE_TEXT_BYTES]; /* terminated */
};

struct message_question {
	struct message_head head;
	struct live_question question;
};

struct message_pod {
	struct message_head head;
	struct live_pod pod;
};

struct message_gang {
	struct message_head head;
	struct live_gang gang;
};

struct message_answer {
	struct message_head head;
	struct live_answer answer;
};

union message {
	struct message_head head;
	struct message_welcome welcome;
	struct message_refused refused;
	struct message_question question;
	struct message_pod pod;
	struct message_gang gang;
	struct message_answer answer;
};

static_assert(sizeof(struct message_head) == 24, "the same in every version");
static_assert(sizeof(struct message_refused) == 24 + MESSAGE_TEXT_BYTES,
              "the same in every version");

/* Sends a message; fd < 0: without a descriptor.  Never blocks: a full socket is an error. */
int message_send(int socket_fd, const void *message, size_t bytes, int fd);

/* Receives one message within timeout_ns.  Returns its length; *fd is the descriptor
 * that came with it, owned by the caller, or -1.
 *
 *   -ETIMEDOUT   no message
 *   -ECONNRESET  the peer has closed
 *   -EPROTO      too long, without magic, or with more than one descriptor (all are
 *                closed) */
int message_receive(int socket_fd, union message *m, int *fd, uint64_t timeout_ns);

/* True if the peer process runs as our user or as root. */
bool message_peer_is_ours(int socket_fd);

#endif
