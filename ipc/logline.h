/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the log, as both daemons write it: logfmt, or one JSON object. */
#ifndef MUSTER_IPC_LOGLINE_H
#define MUSTER_IPC_LOGLINE_H

#include <stddef.h>

/* The text between quotes, so that nothing in it ends the quotes or the line: control bytes and
 * what is no UTF-8 become '?'.  Cut to the room, at least 3 bytes, always terminated; its length.
 */
size_t logline_quote(char *out, size_t room, const char *text);

/* The line of logfmt, without its newline, as a JSON object with the same keys in the same order:
 * whole numbers that are not quoted are numbers, all else are texts.  What has no room is left out.
 */
size_t logline_json(char *out, size_t room, const char *line);

#endif
