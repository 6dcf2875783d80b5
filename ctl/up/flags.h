/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a daemon to start. A flag is valid if the daemon's --help names it, so that
 * there is no second list. */
#ifndef MUSTER_CTL_FLAGS_H
#define MUSTER_CTL_FLAGS_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

struct flags {
	char **argv; /* argv[0] is the path; NULL at the end */
	size_t n;
	struct bytes help;
};

/* Finds the program and reads its --help. False and a message. */
bool flags_init(struct flags *f, const char *command, const char *program);
void flags_free(struct flags *f);

void flags_add(struct flags *f, const char *argument);

/* True if the help names this flag. */
bool flags_knows(const struct flags *f, const char *name);

/* Adds the flag if the program has it; value NULL: none. It becomes one word, since a bool flag
 * would not take the next one. */
bool flags_pass(struct flags *f, const char *name, const char *value);

/* Splits "--name=value", or "--name" and the argument after it. Returns the value, NULL if none
 * follows. */
const char *flags_split(char **argv, char *name, size_t name_bytes);

#endif
