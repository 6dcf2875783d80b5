/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for a socket and logs. */
#ifndef MUSTER_CTL_TEMPDIR_H
#define MUSTER_CTL_TEMPDIR_H

#include <stdbool.h>
#include <stddef.h>

#define TEMPDIR_BYTES 96
#define TEMPDIR_SOCKET "muster.sock"

/* In $XDG_RUNTIME_DIR if it is usable, else in /tmp; mode 0700, locked until this process ends.
 * Also removes those of this user whose process was killed, unless they hold anything but a socket.
 * False: errno. */
bool tempdir_make(char out[TEMPDIR_BYTES]);

/* The sockets TEMPDIR_SOCKET in such directories of this user that accept a connection. Returns how
 * many; their paths, separated by ", ", are in out as far as they fit. */
size_t tempdir_sockets(char *out, size_t out_bytes);

/* Removes the directory and everything below it; "": nothing. */
void tempdir_remove(const char *folder);

#endif
