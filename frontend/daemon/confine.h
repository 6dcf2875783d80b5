/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of muster-frontend, entered once connections, port and threads can be created. It
 * still needs sockets, files, threads, and what libcurl, the resolver and the TLS library use, so
 * this is a deny list: programs and processes, memory of other processes, writing files, mounts,
 * modules, namespaces, other users, and memory that is written and then executed. */
#ifndef MUSTER_FRONTEND_CONFINE_H
#define MUSTER_FRONTEND_CONFINE_H

#include <stdbool.h>

/* 0, or the error of confine() in ipc/confine.h. */
int frontend_confine(bool json);

#endif
