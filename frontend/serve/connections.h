/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of one listener of libmicrohttpd, which itself bounds only their number and their
 * silence: clients that send a byte now and then would keep all of them for ever.
 *
 *   accepted ──► HEAD ──headers read──► ANSWER ──answer sent──► HEAD ...
 *                  └── connections_config.deadline_ms in each ──┴──► shut down
 *
 * A listener that is full shuts down the connection with the earliest deadline, so a new one never
 * waits behind clients that do nothing; of an address with more than its share, one of its own.
 * A suspended connection waits for us, and is shut down by its deadline alone.
 *
 * Shutting down makes libmicrohttpd's thread find the end of the stream and close.  A thread of
 * its own watches the deadlines.  All functions lock. */
#ifndef MUSTER_FRONTEND_CONNECTIONS_H
#define MUSTER_FRONTEND_CONNECTIONS_H

#include "frontend/serve/metrics.h"

#include <microhttpd.h>
#include <stdbool.h>

struct connections_config {
	unsigned most; /* as MHD_OPTION_CONNECTION_LIMIT */
	unsigned most_of_address;
	unsigned deadline_ms;
};

struct connections;

struct connections *connections_new(const struct connections_config *config);
/* After MHD_stop_daemon(). */
void connections_free(struct connections *cs);

/* For MHD_OPTION_NOTIFY_CONNECTION; `context` is the struct connections. */
void connections_notify(void *context, struct MHD_Connection *connection, void **entry,
                        enum MHD_ConnectionNotificationCode code);

/* The headers of a request were read, or its answer was sent: the next deadline counts. */
void connections_advance(struct connections *cs, struct MHD_Connection *connection);
/* The connection is suspended, or is not any more. */
void connections_set_suspended(struct connections *cs, struct MHD_Connection *connection, bool is);

void connections_counts(struct connections *cs, struct connection_counts *out);

#endif
