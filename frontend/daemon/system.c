/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/daemon/daemon.h"

#include "ipc/clock.h"

#include <sys/random.h>

uint64_t system_monotonic_ns(void *context)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t system_wall_ns(void *context)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t system_random(void *context)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = clock_ns(CLOCK_MONOTONIC);
	return n;
}

static void log_fields(void *context, const char *level, const char *message,
                       const struct log_field *fields, size_t n)
{
	enum log_level number = LOG_ERROR;

	log_level_read(level, &number);
	log_message(number, message, fields, n);
}

static void log_text(void *context, const char *level, const char *message)
{
	log_fields(context, level, message, NULL, 0);
}

struct env system_env(void)
{
	return (struct env){
		.monotonic_ns = system_monotonic_ns,
		.wall_ns = system_wall_ns,
		.random = system_random,
		.log = log_text,
		.say = log_fields,
	};
}
