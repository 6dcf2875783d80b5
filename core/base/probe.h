/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of muster-core: PROBE(name, argument...).  See ipc/probe.h. */
#ifndef MUSTER_CORE_PROBE_H
#define MUSTER_CORE_PROBE_H

#include "ipc/probe.h"

#define PROBE(name, ...) MUSTER_PROBE(muster_core, name, ##__VA_ARGS__)

/* A function that must keep its name in profiles of the linked program. */
#define BY_NAME __attribute__((noinline))

#endif
