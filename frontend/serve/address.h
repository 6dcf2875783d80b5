/* SPDX-License-Identifier: Apache-2.0 */
/* Where to listen: "ADDR:PORT", ":PORT" (every IPv4 address), "localhost:PORT" or "[ADDR6]:PORT".
 */
#ifndef MUSTER_FRONTEND_ADDRESS_H
#define MUSTER_FRONTEND_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* 0, or -EINVAL with the reason in `error`. */
int address_read(const char *listen, union address *out, char *error, size_t error_bytes);

/* True for "off" and "". */
bool address_is_off(const char *listen);

/* True if only this host can connect; false for a malformed one. */
bool address_is_loopback(const char *listen);

#endif
