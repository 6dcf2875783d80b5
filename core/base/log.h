/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for the operator on standard error:
 *   ts=2026-01-02T03:04:05.678Z level=info msg="..." key=value
 * or the same as JSON. */
#ifndef MUSTER_CORE_LOG_H
#define MUSTER_CORE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Before any thread. */
void log_set_level(enum log_level level);
void log_set_json(bool on);
bool log_is_json(void);

/* `format` makes what follows the level: msg="..." key=value ... */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text from elsewhere as a value, its quotes included; good as long as the room. */
struct log_text {
	char at[1200];
};
const char *log_quote(struct log_text *room, const char *text);

#endif
