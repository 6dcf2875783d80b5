/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify(3) without its library. */
#ifndef MUSTER_FRONTEND_NOTIFY_H
#define MUSTER_FRONTEND_NOTIFY_H

/* Sends a state such as "READY=1" to the socket that $NOTIFY_SOCKET names: a path, or "@" and an
 * abstract name.
 *
 *   0              sent, or the variable is not set
 *   -EINVAL        the variable is neither
 *   -ENAMETOOLONG  it is too long for a socket
 *
 * or another negative errno of sendto(). */
int notify_send(const char *state);

#endif
