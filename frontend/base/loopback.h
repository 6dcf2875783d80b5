/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts by address: no name but "localhost" is resolved or compared by its beginning, since a name
 * such as 127.evil.example belongs to anybody. */
#ifndef MUSTER_FRONTEND_LOOPBACK_H
#define MUSTER_FRONTEND_LOOPBACK_H

#include <stdbool.h>

/* An IPv4 address with four numbers, or an IPv6 address, in brackets or without. */
bool host_is_address(const char *host);

/* An address of 127.0.0.0/8, ::1 or ::ffff:127.0.0.0/104, or exactly "localhost" in any case. */
bool host_is_loopback(const char *host);

#endif
