/* SPDX-License-Identifier: Apache-2.0 */
/* Units of time, also for who may not read a clock (ipc/clock.h). */
#ifndef MUSTER_IPC_UNITS_H
#define MUSTER_IPC_UNITS_H

#include <stdint.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

#endif
