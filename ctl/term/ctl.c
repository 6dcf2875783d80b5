/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ctl_output(const char *command, const char *value, enum output *out)
{
	if (strcmp(value, "json") == 0) {
		*out = OUTPUT_JSON;
		return true;
	}
	ctl_usage(command, "-o %s: json is the only other form of output", value);
	return false;
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

void ctl_plain(char *text)
{
	for (; *text != '\0'; text++)
		if (is_control(*text))
			*text = '?';
}

void ctl_say(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = ctl_vprint(format, args);
	va_end(args);
	for (char *c = text; *c != '\0'; c++)
		if (is_control(*c) && *c != '\n')
			*c = '?';
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

void ctl_no_memory(void)
{
	fputs("musterctl: out of memory\n", stderr);
	exit(EXIT_USAGE);
}

void *ctl_alloc(size_t n, size_t each)
{
	void *p = calloc(n > 0 ? n : 1, each);

	if (p == NULL)
		ctl_no_memory();
	return p;
}

void *ctl_grow(void *old, size_t n, size_t each)
{
	void *p;

	if (n == 0 || n > SIZE_MAX / each)
		ctl_no_memory();
	p = realloc(old, n * each);
	if (p == NULL)
		ctl_no_memory();
	return p;
}

char *ctl_vprint(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		ctl_no_memory();
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

char *ctl_copy(const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		ctl_no_memory();
	return copy;
}

bool ctl_flush(const char *command)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: standard output: %s\n", command, strerror(errno));
	return false;
}
