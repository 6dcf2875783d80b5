/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/log.h"

#include <stdarg.h>
#include <stdio.h>

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
