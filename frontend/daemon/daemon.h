/* SPDX-License-Identifier: Apache-2.0 */
/* muster-frontend as a process: struct env over libcurl, the clocks and standard error; signals;
 * the connection to muster-core; the loop; what it publishes.  main.c starts and frees it. */
#ifndef MUSTER_FRONTEND_DAEMON_H
#define MUSTER_FRONTEND_DAEMON_H

#include "frontend/api/curl.h"
#include "frontend/base/log.h"
#include "frontend/config/options.h"
#include "frontend/json/jsonout.h"
#include "frontend/loop/corelink.h"
#include "frontend/loop/frontend.h"
#include "frontend/page/history.h"
#include "frontend/serve/metrics.h"
#include "frontend/serve/serve.h"

#include <pthread.h>
#include <signal.h>

#define EXIT_INPUT 2
#define EXIT_CONFIG 78
#define START_AGAIN (-2)

struct daemon {
	const struct options *options;
	bool no_new_privileges;
	struct access access;
	struct env env;
	struct model *model;
	struct curl_transport *curl;
	struct corelink *link;
	struct frontend *frontend;
	struct serve *serve;
	struct metrics metrics;
	struct jsonout answer;   /* of the page; kept so that its memory is used again */
	struct history *history; /* of the process: a restart in it keeps it */
	char instance[128];
	char identity[160]; /* of this run: a restart in the same process has another */
	struct journal_place journal, queues, past;
	uint64_t connect_ns; /* when to try the core again, monotonic */
	uint64_t figures_ns;
	uint64_t
		ready_ns; /* when to check readiness; NEVER_NS: no service manager, or it was notified */
	bool *core_stalled;   /* of the process: a restart in it keeps it */
	bool no_answer;       /* of the last core that accepted a connection */
	char last_error[512]; /* of the connection, so that each is logged once */
	_Alignas(8) unsigned char record[RECORD_BYTES_MAX];
	pthread_t signal_thread; /* 0: none */
};

uint64_t system_monotonic_ns(void *context);
uint64_t system_wall_ns(void *context);
uint64_t system_random(void *context);
/* All of struct env but the transport. */
struct env system_env(void);

/* Blocks SIGTERM and SIGINT, for this thread and those it creates. */
void signals_block(void);
/* A thread that waits for them and wakes the loop.  A second SIGINT, or a second SIGTERM after a
 * second, ends the process at once. */
void signals_start(struct daemon *d);
/* True once a signal came.  It is of the process: a restart in it ends as well. */
bool signals_stop_wanted(void);
/* Wakes the loop; from any thread.  `context` is the struct daemon. */
void daemon_wake(void *context);

void core_lost(struct daemon *d, const char *why);
/* Disconnects a core that makes no progress; its next answer is awaited shortly. */
void core_stalled(struct daemon *d);
/* Connects if there is no connection and it is time to.  -1: go on; else the exit code. */
int core_connect(struct daemon *d);
/* Reads commands; true if there may be more. */
bool core_read(struct daemon *d);

/* Metrics and the page, if somebody requested them or 5 s have passed; both of one moment. */
void publish(struct daemon *d);
/* READY=1 to the service manager, once, when /readyz is ready. */
void publish_ready(struct daemon *d);

/* Until a signal, an error or a restart (START_AGAIN).  The exit code. */
int daemon_run(struct daemon *d);

#endif
