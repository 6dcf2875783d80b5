/* Lines for the operator on standard error:
 *   ts=2026-01-02T03:04:05.678Z level=info msg="..." key=value */
#ifndef MUSTER_CORE_LOG_H
#define MUSTER_CORE_LOG_H

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level);

/* `format` makes what follows the level: msg="..." key=value ... */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
