/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES 200
#define LINE_BYTES 640

struct story {
	char lines[LINES][LINE_BYTES];
	uint64_t n;
	uint64_t hash;
	bool tell_all;
};

struct story *story_new(bool tell_all)
{
	struct story *s = as_alloc(sizeof(*s));

	s->hash = UINT64_C(0xcbf29ce484222325);
	s->tell_all = tell_all;
	return s;
}

void story_free(struct story *s)
{
	free(s);
}

void story_tell(struct sim *s, const char *format, ...)
{
	struct story *story = s->story;
	char *line = story->lines[story->n++ % LINES];
	int n = snprintf(line, LINE_BYTES, "%5llu.%06llu  ", (unsigned long long)(s->now_ns / SIM_S),
	                 (unsigned long long)(s->now_ns % SIM_S / 1000));
	va_list args;

	va_start(args, format);
	vsnprintf(line + n, LINE_BYTES - (size_t)n, format, args);
	va_end(args);
	for (const char *c = line; *c != '\0'; c++)
		story->hash = (story->hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	if (story->tell_all)
		puts(line);
}

uint64_t story_hash(const struct story *s)
{
	return s->hash;
}

void story_print(const struct story *s)
{
	uint64_t from = s->n > LINES ? s->n - LINES : 0;

	if (s->tell_all)
		return;
	for (uint64_t i = from; i < s->n; i++)
		puts(s->lines[i % LINES]);
}
