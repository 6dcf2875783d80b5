/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of musterctl, in the order in which --help tells them (ctl/main.c). */
#ifndef MUSTER_CTL_COMMANDS_H
#define MUSTER_CTL_COMMANDS_H

#include <stddef.h>

struct command {
	const char *name;
	const char *says;
	int (*main)(int argc, char **argv);
};

extern const struct command commands[];
extern const size_t commands_n;

#endif
