/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/log.h"

#include "ipc/logline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_WINDOW_NS (60 * NS_PER_S)
#define LOG_PER_WINDOW 10

void env_log(const struct env *env, const char *level, const char *format, ...)
{
	char line[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	env->log(env->context, level, line);
}

size_t log_fields_write(char *out, size_t room, const struct log_field *fields, size_t n)
{
	size_t bytes = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct log_field *f = &fields[i];
		size_t key = strlen(f->key);

		if (f->text && !*f->text)
			continue;
		/* A number has 20 characters at most; a text is cut rather than left out. */
		if (bytes + key + 32 > room)
			break;
		bytes += (size_t)snprintf(out + bytes, room - bytes, " %s=", f->key);
		if (f->text)
			bytes += logline_quote(out + bytes, room - bytes, f->text);
		else
			bytes += (size_t)snprintf(out + bytes, room - bytes, "%lld", (long long)f->number);
	}
	return bytes;
}

void env_tell(const struct env *env, const char *level, const char *message,
              const struct log_field *fields, size_t n)
{
	char values[3072];

	if (env->say) {
		env->say(env->context, level, message, fields, n);
		return;
	}
	log_fields_write(values, sizeof(values), fields, n);
	env_log(env, level, "%s%s", message, values);
}

bool log_allowed(struct log_limit *l, const struct env *env, const char *what)
{
	uint64_t now = env_now(env);

	if (l->said == 0 || now - l->window_ns >= LOG_WINDOW_NS) {
		if (l->left_out > 0)
			env_log(env, "warn", "%s: %llu more in the last minute", what,
			        (unsigned long long)l->left_out);
		l->window_ns = now;
		l->said = 0;
		l->left_out = 0;
	}
	if (l->said >= (l->most > 0 ? l->most : LOG_PER_WINDOW)) {
		l->left_out++;
		return false;
	}
	l->said++;
	return true;
}

void fatal_memory(void)
{
	static const char text[] = ": out of memory\n";
	ssize_t ignored =
		write(STDERR_FILENO, program_invocation_short_name, strlen(program_invocation_short_name));

	ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	_exit(1);
}

void *must_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		fatal_memory();
	return memory;
}

char *must_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		fatal_memory();
	return copy;
}

void *must_grow(void *items, size_t bytes)
{
	void *memory = realloc(items, bytes);

	if (!memory)
		fatal_memory();
	return memory;
}

void *must_reach(void *items, size_t *n, size_t wanted, size_t first, size_t each)
{
	size_t more = *n ? *n : first;
	char *grown;

	if (wanted < *n)
		return items;
	while (more <= wanted)
		more *= 2;
	grown = must_grow(items, more * each);
	memset(grown + *n * each, 0, (more - *n) * each);
	*n = more;
	return grown;
}
