/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/flags.h"

#include "ctl/term/ctl.h"
#include "ctl/up/process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_S 60
#define HELP_BYTES_MAX ((size_t)1 << 16)

void flags_add(struct flags *f, const char *argument)
{
	f->argv = must_grow(f->argv, (f->n + 2) * sizeof(*f->argv));
	f->argv[f->n++] = must_copy(argument);
	f->argv[f->n] = NULL;
}

void flags_free(struct flags *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->argv[i]);
	free(f->argv);
	bytes_free(&f->help);
}

bool flags_init(struct flags *f, const char *command, const char *program)
{
	char *path = process_find(program);

	if (path == NULL) {
		fprintf(stderr, "%s: %s is neither next to musterctl nor in $PATH\n", command, program);
		return false;
	}
	flags_add(f, path);
	free(path);
	if (process_output((const char *[]){ f->argv[0], "--help", NULL }, HELP_S, false,
	                   HELP_BYTES_MAX, &f->help))
		return true;
	fprintf(stderr, "%s: %s --help fails\n", command, f->argv[0]);
	return false;
}

bool flags_knows(const struct flags *f, const char *name)
{
	size_t bytes = strlen(name);

	for (const char *at = f->help.at; (at = strstr(at, name)) != NULL; at += bytes)
		if (!isalnum((unsigned char)at[bytes]) && at[bytes] != '-' &&
		    (at == f->help.at || (!isalnum((unsigned char)at[-1]) && at[-1] != '-')))
			return true;
	return false;
}

bool flags_pass(struct flags *f, const char *name, const char *value)
{
	char *word;

	if (!flags_knows(f, name))
		return false;
	if (value == NULL) {
		flags_add(f, name);
		return true;
	}
	word = ctl_print("%s=%s", name, value);
	flags_add(f, word);
	free(word);
	return true;
}

const char *flags_split(char **argv, char *name, size_t name_bytes)
{
	size_t bytes = strcspn(argv[0], "=");

	snprintf(name, name_bytes, "%.*s", (int)bytes, argv[0]);
	if (argv[0][bytes] == '=')
		return argv[0] + bytes + 1;
	/* A value may begin with one dash, as a negative number does. */
	return argv[1] != NULL && strncmp(argv[1], "--", 2) != 0 ? argv[1] : NULL;
}
