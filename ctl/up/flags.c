/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/flags.h"

#include "ctl/term/ctl.h"
#include "ctl/up/supervise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELP_BYTES_MAX ((size_t)1 << 16)

void flags_add(struct flags *f, const char *argument)
{
	f->argv = ctl_grow(f->argv, f->n + 2, sizeof(*f->argv));
	f->argv[f->n++] = ctl_copy(argument);
	f->argv[f->n] = NULL;
}

void flags_free(struct flags *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->argv[i]);
	free(f->argv);
	bytes_free(&f->help);
}

static void read_to_end(int fd, struct bytes *out)
{
	ssize_t got;

	while (out->n < HELP_BYTES_MAX && (got = read(fd, bytes_room(out, 4096), 4096)) > 0)
		out->n += (size_t)got;
	bytes_add(out, "", 1);
	out->n--;
}

static bool ask_for_help(struct flags *f)
{
	int fds[2], status;
	pid_t pid;

	if (pipe(fds) < 0)
		return false;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execl(f->argv[0], f->argv[0], "--help", (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (pid > 0)
		read_to_end(fds[0], &f->help);
	close(fds[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

bool flags_init(struct flags *f, const char *command, const char *program)
{
	char *path = supervise_find(program);

	if (path == NULL) {
		fprintf(stderr, "%s: %s is neither beside musterctl nor in $PATH\n", command, program);
		return false;
	}
	flags_add(f, path);
	free(path);
	if (ask_for_help(f))
		return true;
	fprintf(stderr, "%s: %s --help doesn't answer\n", command, f->argv[0]);
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
