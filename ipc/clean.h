/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that a tenant may have written, before they are shown: in a log, a condition, an event,
 * JSON or a terminal.
 *
 * Replaced by '?', each character by one: control characters (C0, DEL, C1, with which a terminal is
 * controlled), bidirectional controls (Unicode 15, UAX #9, with which a line shows another text
 * than it has), line and paragraph separators, and bytes that are not UTF-8. */
#ifndef MUSTER_IPC_CLEAN_H
#define MUSTER_IPC_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at p, of `left` bytes (a NUL ends it as well); 0: one that is replaced. */
size_t clean_char(const char *p, size_t left);
/* Bytes of the character that is replaced: 1 if it is not UTF-8. */
size_t clean_skip(const char *p, size_t left);

bool clean_is(const char *text);
/* In place; the text gets no longer. */
void clean_text(char *text);
/* The same for a text of lines, which keeps newlines and tabs. */
void clean_lines(char *text);

#endif
