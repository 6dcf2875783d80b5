/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands on a live scheduler share: their flags, the connection, names
 * and answers when there is nobody. */
#ifndef MUSTER_CTL_LIVE_H
#define MUSTER_CTL_LIVE_H

#include "ctl/term/ctl.h"
#include "ipc/observe.h"
#include "frontend/dialect/reason.h"

#include <stdint.h>

struct live {
	const char *command;
	const char *socket;
	enum output output;
	struct observer observer;
	char **names; /* by name id, read when first asked for */
};

/* Read the flags; arguments that are none stay at argv[optind].  -1: go on; else
 * exit with this. */
int live_options(struct live *l, int argc, char **argv, const char *help);

/* The socket of a command: what was given, $MUSTER_SOCKET, the default; and when nothing
 * is there, that of the one `musterctl up` that this user runs without --socket.  With several
 * of those it is the default, and live_open() names them. */
const char *live_socket(const char *given);

/* Connect.  EXIT_DONE, or the exit code and a message. */
int live_open(struct live *l);
void live_close(struct live *l);

/* Does muster-core still serve what is mapped?  When it does, names are read anew. */
bool live_is_there(struct live *l);

/* Connect to the one that is there now, without a message; what was mapped is gone then.  False:
 * there is none, and nothing has changed. */
bool live_again(struct live *l);

/* Text of a resource or taint; good until live_close(). */
const char *live_name(const void *live, uint32_t id);

/* Why a gang waits; to be freed. */
char *live_reason(const struct live *l, const struct gang_copy *gang);

uint64_t live_wall_ns(void);

#endif
