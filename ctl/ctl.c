#include "ctl/ctl.h"

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

int ctl_usage(const char *command, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
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
