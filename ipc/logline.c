/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/logline.h"

#include "ipc/clean.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 8192
#define MESSAGE_BYTES 4096

static const char *const level_names[] = { "debug", "info", "warn", "error" };
static enum log_level lowest = LOG_INFO;
static bool json;

size_t logline_quote(char *out, size_t out_bytes, const char *text)
{
	size_t n = 0;

	out[n++] = '"';
	while (*text) {
		size_t left = strnlen(text, 4), bytes = clean_char(text, left);
		bool escape = *text == '"' || *text == '\\';

		if (n + (escape ? 2 : bytes > 0 ? bytes : 1) + 2 > out_bytes)
			break;
		if (escape)
			out[n++] = '\\';
		if (bytes > 0)
			memcpy(out + n, text, bytes);
		else
			out[n] = '?';
		n += bytes > 0 ? bytes : 1;
		text += bytes > 0 ? bytes : clean_skip(text, left);
	}
	out[n++] = '"';
	out[n] = '\0';
	return n;
}

/* An integer that a double holds exactly. */
static bool is_number(const char *at, size_t n)
{
	size_t first = n > 0 && at[0] == '-';

	if (n == first || n - first > 15 || (at[first] == '0' && n - first > 1))
		return false;
	for (size_t i = first; i < n; i++)
		if (at[i] < '0' || at[i] > '9')
			return false;
	return true;
}

/* Length of the value at p, quotes included. */
static size_t value_bytes(const char *p)
{
	size_t n = 0;

	if (*p != '"')
		return strcspn(p, " ");
	for (n = 1; p[n] && p[n] != '"'; n++)
		n += p[n] == '\\' && p[n + 1];
	return p[n] == '"' ? n + 1 : n;
}

size_t logline_json(char *out, size_t out_bytes, const char *line)
{
	size_t n = 0;

	out[n++] = '{';
	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		size_t key = strcspn(line, "= "), bytes;
		const char *value = line + key + 1;
		bool quote;

		if (line[key] != '=') {
			line += key;
			continue;
		}
		bytes = value_bytes(value);
		if (*value == '"' && (bytes < 2 || value[bytes - 1] != '"'))
			break; /* the line was truncated */
		quote = *value != '"' && !is_number(value, bytes);
		if (n + key + bytes + 10 > out_bytes)
			break;
		if (n > 1)
			out[n++] = ',';
		out[n++] = '"';
		memcpy(out + n, line, key);
		n += key;
		out[n++] = '"';
		out[n++] = ':';
		if (quote)
			out[n++] = '"';
		memcpy(out + n, value, bytes);
		n += bytes;
		if (quote)
			out[n++] = '"';
		line = value + bytes;
	}
	out[n++] = '}';
	out[n] = '\0';
	return n;
}

bool log_level_read(const char *text, enum log_level *out)
{
	for (int i = 0; i <= LOG_ERROR; i++)
		if (strcmp(text, level_names[i]) == 0) {
			*out = (enum log_level)i;
			return true;
		}
	return false;
}

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

const char *log_quote(struct log_text *out, const char *text)
{
	logline_quote(out->at, sizeof(out->at), text);
	return out->at;
}

size_t log_fields_write(char *out, size_t out_bytes, const struct log_field *fields, size_t n)
{
	size_t bytes = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const struct log_field *f = &fields[i];
		size_t key = strlen(f->key);

		if (f->text && !*f->text)
			continue;
		/* A number has 20 characters at most; a text is cut rather than left out. */
		if (bytes + key + 32 > out_bytes)
			break;
		bytes += (size_t)snprintf(out + bytes, out_bytes - bytes, " %s=", f->key);
		if (f->text)
			bytes += logline_quote(out + bytes, out_bytes - bytes, f->text);
		else
			bytes += (size_t)snprintf(out + bytes, out_bytes - bytes, "%lld", (long long)f->number);
	}
	return bytes;
}

/* The time and the level; their length. */
static size_t begin(char line[LINE_BYTES], enum log_level level)
{
	struct timespec now;
	struct tm utc;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	n = strftime(line, LINE_BYTES, "ts=%Y-%m-%dT%H:%M:%S", &utc);
	return n + (size_t)snprintf(line + n, LINE_BYTES - n, ".%03ldZ level=%s ",
	                            now.tv_nsec / 1000000, level_names[level]);
}

/* `line` is terminated and has two bytes left. */
static void end(char *line, size_t n)
{
	char object[LINE_BYTES + 1024], *out = line;
	ssize_t ignored;

	if (json) {
		n = logline_json(object, sizeof(object) - 1, line);
		out = object;
	}
	out[n++] = '\n';
	ignored = write(STDERR_FILENO, out, n); /* an error can't be reported anywhere */
	(void)ignored;
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;
	size_t n;
	int more;

	if (level < lowest)
		return;
	n = begin(line, level);
	va_start(args, format);
	more = vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	n += more > 0 ? (size_t)more : 0;
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n] = '\0';
	end(line, n);
}

void log_message(enum log_level level, const char *message, const struct log_field *fields,
                 size_t n)
{
	char line[LINE_BYTES];
	size_t bytes;

	if (level < lowest)
		return;
	bytes = begin(line, level);
	bytes += (size_t)snprintf(line + bytes, sizeof(line) - bytes, "msg=");
	bytes += logline_quote(line + bytes, MESSAGE_BYTES, message);
	bytes += log_fields_write(line + bytes, sizeof(line) - bytes - 1, fields, n);
	end(line, bytes);
}
