/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a gang in words, as every command prints them. */
#ifndef MUSTER_IPC_STATES_H
#define MUSTER_IPC_STATES_H

#include "ipc/abi.h"

/* "Placed", "Waiting", ...; "Unknown" for a number that is none. */
const char *gang_state_text(uint32_t state);

#endif
