/* SPDX-License-Identifier: Apache-2.0 */
/* What muster-frontend gives up once its connections, its port and its threads can be made.  It
 * still needs sockets, files to read, threads, and what libcurl, the resolver and the TLS library
 * ask for, so this is a list of what is forbidden: programs and processes, other processes' memory,
 * files written or changed, mounts, modules, namespaces, other users, and memory that is written
 * and then run. */
#ifndef MUSTER_FRONTEND_CONFINE_H
#define MUSTER_FRONTEND_CONFINE_H

#include <stdbool.h>

/* 0, or as confine() in ipc/confine.h. */
int frontend_confine(bool json);

#endif
