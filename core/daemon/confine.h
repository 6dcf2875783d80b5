/* SPDX-License-Identifier: Apache-2.0 */
/* What muster-core gives up before the first peer is let in: a list of the system calls that its
 * work takes, and no other.  None of them makes a socket or connects one, runs or opens anything,
 * or makes a process or a thread. */
#ifndef MUSTER_CORE_CONFINE_H
#define MUSTER_CORE_CONFINE_H

#include <stdbool.h>

/* 0, or as confine().  Everything that core_confine() forbids is to be there already: the socket,
 * the recording, the threads, the time zone. */
int core_confine(bool json);

#endif
