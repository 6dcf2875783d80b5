/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a daemon that we start, and which flags it takes: those that its
 * own --help names, so that there is no second list to keep. */
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

/* Find the program and ask it for its help.  False and a message when it isn't there or
 * doesn't answer. */
bool flags_init(struct flags *f, const char *command, const char *program);
void flags_free(struct flags *f);

void flags_add(struct flags *f, const char *argument);

/* Does the help name this flag? */
bool flags_knows(const struct flags *f, const char *name);

/* Add it when the program knows it; value NULL: none.  It is one word: a flag that stands for yes
 * takes no word after it. */
bool flags_pass(struct flags *f, const char *name, const char *value);

/* Take "--name=value" or "--name" and the argument after it apart.  The value, or NULL
 * when none follows. */
const char *flags_split(char **argv, char *name, size_t name_bytes);

#endif
