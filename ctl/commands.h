/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of musterctl, in the order of --help (ctl/main.c). */
#ifndef MUSTER_CTL_COMMANDS_H
#define MUSTER_CTL_COMMANDS_H

#include "ctl/term/options.h"

extern const struct command *const commands[];
extern const size_t commands_n;

#endif
