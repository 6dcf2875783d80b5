/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of RE2's syntax, as Go's package regexp has it: matched in time linear in the
 * text times the size of the pattern, without backtracking (a list of threads, after Pike).
 *
 * Texts of errors are Go's.  Known and refused are classes of Unicode (\p{Greek}) and patterns of
 * more than REGEX_MAX instructions.  Without regard to case only letters of ASCII are equal. */
#ifndef MUSTER_FRONTEND_CEL_REGEX_H
#define MUSTER_FRONTEND_CEL_REGEX_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_MAX 4096
#define REGEX_DEPTH 100 /* of groups and of repetitions */

struct regex;

enum regex_result { REGEX_OK, REGEX_INVALID, REGEX_REFUSED };

/* Compile into the arena.  REGEX_INVALID: error is Go's text, "error parsing regexp: ...".
 * REGEX_REFUSED: error names what is not known. */
enum regex_result regex_compile(struct text pattern, struct arena *arena, const struct regex **out,
                                char error[256]);

/* The number of instructions: a match takes at most that times the bytes of the text. */
size_t regex_size(const struct regex *r);

/* Bytes of the memory that a search needs. */
size_t regex_memory(const struct regex *r);

/* Search from byte `from` on: the leftmost match, of those the first in the order of alternatives.
 * False: none.  `memory` is of regex_memory() bytes, aligned to 16.  *begin and *end may be NULL:
 * only whether one exists. */
bool regex_search(const struct regex *r, struct text text, size_t from, void *memory, size_t *begin,
                  size_t *end);

#endif
