/* SPDX-License-Identifier: Apache-2.0 */
/* Header fields by which a request of a browser for another site is known: DNS rebinding and
 * cross-site requests. */
#ifndef MUSTER_FRONTEND_REQUEST_H
#define MUSTER_FRONTEND_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

/* True if the Host field, with or without a port, is an address, "localhost" or one of the `n`
 * names.  Rebinding needs a name of the attacker's; a Service's or pod's address is one that we
 * cannot know. */
bool request_host_is_allowed(const char *host, const char *const *names, size_t n);

/* True if the page of that Origin came from this Host. */
bool request_origin_is_own(const char *origin, const char *host);

/* True for application/json, whatever its parameters.  A browser asks before it sends that to
 * another site (CORS). */
bool request_type_is_json(const char *type);

#endif
