/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of our own for a socket and logs, gone at the end. */
#ifndef MUSTER_CTL_FOLDER_H
#define MUSTER_CTL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define FOLDER_BYTES 96
#define FOLDER_SOCKET "muster.sock"

/* In $XDG_RUNTIME_DIR if there is a usable one, else in /tmp; mode 0700.  It is locked until this
 * process ends. Those of this user whose maker was killed go, as far as nothing but a socket is in
 * them.  False: errno says why. */
bool folder_make(char out[FOLDER_BYTES]);

/* The sockets FOLDER_SOCKET in such folders of this user that somebody answers.  How many there
 * are; their paths, separated by ", ", in out as far as there is room. */
size_t folder_sockets(char *out, size_t out_bytes);

/* The folder and the files in it.  "" is no folder. */
void folder_remove(const char *folder);

#endif
