/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of muster-frontend: PROBE(name, argument...).  See ipc/probe.h. */
#ifndef MUSTER_FRONTEND_PROBE_H
#define MUSTER_FRONTEND_PROBE_H

#include "ipc/probe.h"

#define PROBE(name, ...) MUSTER_PROBE(muster_frontend, name, ##__VA_ARGS__)

#endif
