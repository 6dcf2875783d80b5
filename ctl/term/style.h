/* SPDX-License-Identifier: Apache-2.0 */
/* Styled text: printed plain, or drawn on a terminal with colours. */
#ifndef MUSTER_CTL_STYLE_H
#define MUSTER_CTL_STYLE_H

#include <stddef.h>
#include <stdio.h>

enum style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_STRONG,
	STYLE_GOOD,
	STYLE_BUSY,
	STYLE_BAD,
	STYLE_HEAT, /* and the next four, by load */
	STYLE_HEAT_LAST = STYLE_HEAT + 4,
	STYLES
};

struct styled_line {
	char *text;            /* plain ASCII */
	unsigned char *styles; /* of each byte */
	size_t n, room;
};

/* All zero is empty. */
struct styled_text {
	struct styled_line *lines;
	size_t n, room;
};

void styled_line(struct styled_text *s); /* begins the next line */
/* Appends to the last line. Bytes outside printable ASCII become "?". */
void styled_add(struct styled_text *s, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void styled_clear(struct styled_text *s);
/* `edge`: of edge_print(). */
void styled_print(const struct styled_text *s, size_t edge, FILE *to);

#endif
