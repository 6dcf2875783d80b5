/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text with inks: printed as they are, or put on a terminal by whoever knows its colours.
 */
#ifndef MUSTER_CTL_SHEET_H
#define MUSTER_CTL_SHEET_H

#include <stddef.h>
#include <stdio.h>

enum ink {
	INK_PLAIN,
	INK_DIM,
	INK_STRONG,
	INK_GOOD,
	INK_BUSY,
	INK_BAD,
	INK_HEAT, /* and the next four: the fuller, the hotter */
	INK_HEAT_LAST = INK_HEAT + 4,
	INKS
};

struct sheet_line {
	char *text;          /* plain ASCII */
	unsigned char *inks; /* of each byte */
	size_t n, room;
};

/* All zero is empty. */
struct sheet {
	struct sheet_line *lines;
	size_t n, room;
};

void sheet_line(struct sheet *s); /* begin the next line */
/* To the last line.  What a terminal can't show, or would obey, becomes "?". */
void sheet_add(struct sheet *s, enum ink ink, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void sheet_clear(struct sheet *s);
void sheet_print(const struct sheet *s, FILE *to);

#endif
