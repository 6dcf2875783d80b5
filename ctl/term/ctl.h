/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all commands of musterctl: exit codes, messages, text. Results go to standard output,
 * diagnostics to standard error. */
#ifndef MUSTER_CTL_CTL_H
#define MUSTER_CTL_CTL_H

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	EXIT_DONE = 0,
	EXIT_NO = 1,      /* for example: a gang waits, a difference was found */
	EXIT_USAGE = 2,   /* usage or bad input */
	EXIT_CONFIG = 78, /* another memory layout; of a daemon also an address in use */
};

enum output { OUTPUT_TEXT, OUTPUT_WIDE, OUTPUT_JSON };

/* Prints a message, to which it adds the newline. Returns EXIT_USAGE. */
int ctl_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Names come from outside, and a terminal interprets control characters: each becomes "?".
 * ctl_plain() changes the text itself; ctl_say() prints to standard output and keeps newlines. */
void ctl_plain(char *text);
void ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* printf() into memory that the caller frees. */
char *ctl_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *ctl_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* "NAMESPACE/NAME" of a gang or pod that is given so, or as NAME alone of a namespace (NULL:
 * default), either of them after "gang/" or "pod/".  To be freed. */
char *ctl_gang_named(const char *word, const char *namespace);

/* For qsort() and bsearch() of char *, by bytes. */
int ctl_compare_texts(const void *a, const void *b);

/* Flushes standard output. False, and a message the first time, if it can't be written. */
bool ctl_flush(const char *command);

/* For tables: muster's own clause of a reason first, kube-scheduler's sentence after it; to be
 * freed. */
char *ctl_reason_turned(const char *gang, const char *reason);

#endif
