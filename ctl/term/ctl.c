/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/ctl.h"

#include "ipc/clean.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ctl_plain(char *text)
{
	clean_text(text);
}

void ctl_say(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = ctl_vprint(format, args);
	va_end(args);
	clean_lines(text);
	fputs(text, stdout);
	free(text);
}

int ctl_usage(const char *command, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = ctl_vprint(format, args);
	va_end(args);
	ctl_plain(text);
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", command, text);
	free(text);
	return EXIT_USAGE;
}

char *ctl_vprint(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		fatal_memory();
	return text;
}

char *ctl_print(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = ctl_vprint(format, args);
	va_end(args);
	return text;
}

char *ctl_gang_named(const char *word, const char *namespace)
{
	const char *slash = strchr(word, '/');

	if (strncmp(word, "gang/", 5) == 0 || strncmp(word, "pod/", 4) == 0)
		word = slash + 1;
	return strchr(word, '/') != NULL
	           ? must_copy(word)
	           : ctl_print("%s/%s", namespace != NULL ? namespace : "default", word);
}

int ctl_compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool ctl_flush(const char *command)
{
	static bool failed;

	if (!failed && (fflush(stdout) != 0 || ferror(stdout))) {
		failed = true;
		fprintf(stderr, "%s: standard output: %s\n", command, strerror(errno));
	}
	return !failed;
}

char *ctl_reason_turned(const char *gang, const char *reason)
{
	char *mark = ctl_print(". gang %s: ", gang);
	const char *at = strstr(reason, mark), *own = at != NULL ? at + strlen(mark) : NULL;
	char *text =
		own == NULL ? must_copy(reason) : ctl_print("%s %.*s.", own, (int)(at - reason), reason);

	free(mark);
	return text;
}
