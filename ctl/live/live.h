/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands that read a live scheduler: their flags, the connection, names, and the
 * messages when no scheduler runs. */
#ifndef MUSTER_CTL_LIVE_H
#define MUSTER_CTL_LIVE_H

#include "ctl/live/list.h"
#include "ctl/term/options.h"
#include "ipc/observe.h"
#include "frontend/dialect/reason.h"

#include <stdint.h>

struct live {
	const char *command;
	const char *socket;
	enum output output;
	struct list_options list;
	const char *namespace; /* of lists: NULL: all */
	bool all_namespaces;
	const char *state;       /* of gangs: NULL: all */
	struct cluster *cluster; /* of gangs: its pods of the API server; NULL: not asked */
	bool from_cluster;   /* gangs or nodes are the API server's: no scheduler's ledger is open */
	bool selects;        /* only gangs that the cluster's selector matches */
	uint32_t progress_s; /* of status: 0: not checked */
	struct observer observer;
	char **names;               /* by name id; NULL: not read yet */
	char queue[QUEUE_NAME_MAX]; /* the name that a reason was given last */
};

#define FLAG_SOCKET(type, field)                                                                   \
	{                                                                                              \
		"socket", 0, "--socket PATH", SOCKET_HELP, NULL, option_text, offsetof(type, field)        \
	}
#define SOCKET_HELP                                                                                \
	"muster-core's socket (default: $MUSTER_SOCKET, or\n" LINK_DEFAULT_SOCKET                      \
	", or that of musterctl up)"

/* The exit status of a command that reads a live scheduler. */
#define LIVE_EXITS                                                                                 \
	"0 done, 1 no scheduler runs or nothing has that name, 2 usage,\n"                             \
	"78 it has another memory layout."

/* Calls list() at once, and each second with --watch, with the items that it returned before (NULL
 * at first); it returns new ones, or NULL after a message.  The items are printed.  Returns the
 * exit code. */
int live_list(struct live *l, const struct list_kind *kind, const char *argument,
              cJSON *(*list)(struct live *l, const char *argument));

/* A whole command with flags into a struct live: reads them, connects, and calls show() with the
 * first argument, or NULL.  Returns the exit code. */
int live_run(const struct command *c, int argc, char **argv,
             int (*show)(struct live *l, const char *argument));

/* Connect to l->socket.  If that is NULL: $MUSTER_SOCKET, else the default; and if nothing is
 * there, the socket of the `musterctl up` that this user runs without --socket.  With several of
 * those the message names them. EXIT_DONE, or the exit code and a message. */
int live_open(struct live *l);
/* False if no socket is named, and nothing is where live_open() would look for one. */
bool live_is_served(const struct live *l);
/* Reads a ledger of this process instead, with from_cluster set; it outlives l. */
void live_own(struct live *l, const struct ledger *ledger);
void live_close(struct live *l);

/* singles.c: lists the pods without a gang of l->cluster.  The exit code. */
int singles_show(struct live *l);

/* True if muster-core still serves what is mapped. Cached names are dropped then. */
bool live_is_there(struct live *l);

/* Connects to the muster-core that runs now, without a message; the previous mapping is gone.
 * False: none runs, and nothing has changed. */
bool live_again(struct live *l);

/* Text of a resource or taint; good until live_close(). */
const char *live_name(const void *live, uint32_t id);
/* ... if the ledger has none. */
void live_name_lacks(const struct live *l, uint32_t id, const char *text);

/* Of what the ledger has. */
struct reason_names live_names(const struct live *l);

/* Why a gang waits, or a lone pod, whose gang has no name; to be freed. */
char *live_reason(const struct live *l, const struct gang_copy *gang);

/* The name of a queue, "": none has the id; to be freed. */
char *live_queue_name(const struct live *l, uint32_t queue);

/* Asks the core.  EXIT_DONE, or the exit code and a message: it gave no answer, or refused. */
int live_ask(const struct live *l, const struct live_question *q, struct live_answer *out);
int live_ask_pod(const struct live *l, const struct live_pod *p, struct live_answer *out);
int live_ask_gang(const struct live *l, const struct live_gang *g, struct live_answer *out);

uint64_t live_wall_ns(void);

#endif
