/* SPDX-License-Identifier: Apache-2.0 */
/* The log of both daemons, a line each on standard error:
 *
 *   ts=2026-01-02T03:04:05.678Z level=info msg="..." key=value
 *
 * or the same as one JSON object.  A line is one write(), so that lines of two threads never mix.
 */
#ifndef MUSTER_IPC_LOGLINE_H
#define MUSTER_IPC_LOGLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* "debug", "info", "warn", "error".  False: another text. */
bool log_level_read(const char *text, enum log_level *out);

/* Of the process; before any other thread.  At the start: info, no JSON. */
void log_set_level(enum log_level lowest);
void log_set_json(bool on);
bool log_is_json(void);

/* A value; one whose text is "" is left out. */
struct log_field {
	const char *key;  /* static: letters and _ */
	const char *text; /* NULL: the number */
	int64_t number;
};

/* `format` makes what follows the level: msg="..." key=value ...  Cut to 8 KiB. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same from a text and values that may come from outside. */
void log_message(enum log_level level, const char *message, const struct log_field *fields,
                 size_t n);

/* A text as a value, its quotes included; good as long as *out. */
struct log_text {
	char at[1200];
};
const char *log_quote(struct log_text *out, const char *text);

/* The values as logfmt, a space before each, cut between two of them; its length. */
size_t log_fields_write(char *out, size_t out_bytes, const struct log_field *fields, size_t n);

/* The text between quotes, so that nothing in it ends the quotes or the line: control bytes and
 * what else ipc/clean.h hides become '?'.  Cut to out_bytes, at least 3, always terminated; its
 * length. */
size_t logline_quote(char *out, size_t out_bytes, const char *text);

/* A line of logfmt, without its newline, as a JSON object with the same keys in the same order:
 * whole numbers that are not quoted are numbers, all else are texts.  Keys that do not fit are left
 * out. */
size_t logline_json(char *out, size_t out_bytes, const char *line);

#endif
