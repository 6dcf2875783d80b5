/* SPDX-License-Identifier: Apache-2.0 */
/* Records of devices (ipc/abi_devices.h) to the inventory. */
#ifndef MUSTER_CORE_STEP_DEVICES_H
#define MUSTER_CORE_STEP_DEVICES_H

#include "core/lifecycle/state.h"

/* 0, or -EPROTO: nothing has changed. */
int on_devices(struct core *c, const struct record *r);

#endif
