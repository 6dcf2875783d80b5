/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the API server through libcurl: HTTP/1.1, TLS 1.2 or later and
 * always verified, keep-alive connections, no redirects, no compression.
 *
 * All in one thread except curl_transport_wake(). */
#ifndef MUSTER_FRONTEND_CURL_H
#define MUSTER_FRONTEND_CURL_H

#include "frontend/base/env.h"
#include "frontend/api/kubeconfig.h"

#include <stddef.h>
#include <stdint.h>

struct curl_transport;

struct curl_config {
	const struct access *access;   /* outlives the transport */
	const struct env *env;         /* for logs and time; its transport is not used */
	unsigned lane_max[HTTP_LANES]; /* requests at once; more wait inside */
	uint32_t unacknowledged_ms;    /* TCP_USER_TIMEOUT: a peer that does not acknowledge our bytes
	                                  for so long is given up; 0: 30 s */
	/* Called with an open connection, right before a write is sent: false ends it as HTTP_NOT_SENT.
	 * NULL: always true. */
	bool (*may_write)(void *context);
	void *context;
};

struct curl_counts {
	uint64_t requests[HTTP_LANES];
	uint64_t not_sent, broken;
	uint64_t by_class[6]; /* answers of 1xx ... 5xx */
	uint64_t connects;
	uint64_t renewals; /* tokens read again after a 401 */
};

/* NULL and an error text: libcurl can't be set up like that. */
struct curl_transport *curl_transport_new(const struct curl_config *config, const char **error);
void curl_transport_free(struct curl_transport *t); /* requests under way are cancelled */

struct transport *curl_transport_interface(struct curl_transport *t);

/* Runs callbacks that are due. If there are none, waits for at most timeout_ms, or until
 * curl_transport_wake(), or until `extra_fd` (-1: none) is readable or closed; *extra_ready is set
 * then.  Returns how long it waited, in ns. */
uint64_t curl_transport_poll(struct curl_transport *t, uint32_t timeout_ms, int extra_fd,
                             bool *extra_ready);

/* From any thread: makes the poll return. */
void curl_transport_wake(struct curl_transport *t);

const struct curl_counts *curl_transport_counts(const struct curl_transport *t);

#endif
