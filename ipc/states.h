/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the states of a gang, for all programs. */
#ifndef MUSTER_IPC_STATES_H
#define MUSTER_IPC_STATES_H

#include "ipc/abi.h"

/* "Placed", "Waiting", ...; "Unknown" for other numbers. */
const char *gang_state_text(uint32_t state);

#endif
