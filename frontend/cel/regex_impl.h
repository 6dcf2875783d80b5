/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a regular expression, between regex_parse.c and regex.c. */
#ifndef MUSTER_FRONTEND_CEL_REGEX_IMPL_H
#define MUSTER_FRONTEND_CEL_REGEX_IMPL_H

#include "frontend/cel/regex.h"

#include <stdlib.h>

struct regex_range {
	uint32_t low, high;
};

enum regex_kind {
	REGEX_EMPTY,
	REGEX_CLASS, /* one code point in one of the ranges */
	REGEX_ASSERT,
	REGEX_SEQUENCE,
	REGEX_ALTERNATIVES,
	REGEX_REPEAT,
};

enum regex_assertion {
	REGEX_BEGIN,
	REGEX_END,
	REGEX_BEGIN_LINE,
	REGEX_END_LINE,
	REGEX_WORD_BOUNDARY,
	REGEX_NOT_WORD_BOUNDARY,
};

struct regex_node {
	enum regex_kind kind;
	enum regex_assertion assertion;
	bool nullable; /* may match the empty text */
	bool greedy;
	int min, max;     /* REGEX_REPEAT; max -1: no limit */
	unsigned repeats; /* the product of the repetitions inside, at most 1000 */
	uint32_t n;
	union {
		struct regex_range *ranges;
		struct regex_node **many;
		struct regex_node *one;
	};
};

/* As regex_compile(). */
enum regex_result regex_parse(struct text pattern, struct arena *arena, struct regex_node **out,
                              char error[256]);

#endif
