/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"

#include "ipc/logline.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static enum log_level lowest = LOG_INFO;
static bool json;

void log_set_level(enum log_level level)
{
	lowest = level;
}

void log_set_json(bool on)
{
	json = on;
}

bool log_is_json(void)
{
	return json;
}

const char *log_quote(struct log_text *room, const char *text)
{
	logline_quote(room->at, sizeof(room->at), text);
	return room->at;
}

/* One write for each line, so that lines of two threads never mix. */
void log_line(enum log_level level, const char *format, ...)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };
	char line[4096], object[4608], *out = line;
	struct timespec now;
	struct tm utc;
	va_list args;
	size_t n;
	int more;
	ssize_t ignored;

	if (level < lowest)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	n = strftime(line, sizeof(line), "ts=%Y-%m-%dT%H:%M:%S", &utc);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ".%03ldZ level=%s ", now.tv_nsec / 1000000,
	                      names[level]);
	va_start(args, format);
	more = vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	n += more > 0 ? (size_t)more : 0;
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n] = '\0';
	if (json) {
		n = logline_json(object, sizeof(object) - 1, line);
		out = object;
	}
	out[n++] = '\n';
	ignored = write(STDERR_FILENO, out, n);
	(void)ignored;
}
