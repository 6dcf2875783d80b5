/* SPDX-License-Identifier: Apache-2.0 */
/* The seccomp filter of muster-core, installed before the first peer is accepted: an allow list of
 * system calls.  None of them creates or connects a socket, executes or opens a file, or creates a
 * process or thread. */
#ifndef MUSTER_CORE_CONFINE_H
#define MUSTER_CORE_CONFINE_H

#include <stdbool.h>

/* 0, or as confine().  Whatever the filter forbids has to exist already: the socket, the recording,
 * the threads, the time zone. */
int core_confine(bool json);

#endif
