/* SPDX-License-Identifier: Apache-2.0 */
/* What every command of musterctl shares: exit codes, options, memory.
 *
 * Results go to standard output, diagnostics to standard error. */
#ifndef MUSTER_CTL_CTL_H
#define MUSTER_CTL_CTL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	EXIT_DONE = 0,
	EXIT_NO = 1,      /* the answer is no */
	EXIT_USAGE = 2,   /* usage or bad input */
	EXIT_CONFIG = 78, /* another memory layout; of a daemon also an address that is taken */
};

enum output { OUTPUT_TEXT, OUTPUT_JSON };

/* argv[0] is "musterctl COMMAND", for messages. */
int simulate_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int verdict_main(int argc, char **argv);
int up_main(int argc, char **argv);
int replay_main(int argc, char **argv);
int status_main(int argc, char **argv);
int gangs_main(int argc, char **argv);
int nodes_main(int argc, char **argv);
int top_main(int argc, char **argv);
int fsck_main(int argc, char **argv);
int latency_main(int argc, char **argv);
int completion_main(int argc, char **argv);

/* Value of -o: false, and a message, for anything but "json". */
bool ctl_output(const char *command, const char *value, enum output *out);

/* A last word before exit 2; the message gets no newline. */
int ctl_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Names come from outside, and a terminal obeys control characters: each becomes a question mark.
 * ctl_plain() changes the text itself; ctl_say() prints to standard output, with newlines as they
 * are. */
void ctl_plain(char *text);
void ctl_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory, zeroed when new.  There is no answer without it: a message and exit 2. */
void *ctl_alloc(size_t n, size_t each);
void *ctl_grow(void *old, size_t n, size_t each);
char *ctl_copy(const char *text);
char *ctl_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *ctl_vprint(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
_Noreturn void ctl_no_memory(void);

/* Write out what standard output still holds; false and a message when it
 * can't be written. */
bool ctl_flush(const char *command);

#endif
