/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/style.h"

#include "ctl/term/ctl.h"
#include "ctl/term/edge.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void styled_line(struct styled_text *s)
{
	s->lines = must_reach(s->lines, &s->room, s->n, 32, sizeof(*s->lines));
	s->lines[s->n++] = (struct styled_line){ 0 };
}

void styled_add(struct styled_text *s, enum style style, const char *format, ...)
{
	struct styled_line *line;
	va_list args;
	char *text;
	int n;

	if (s->n == 0)
		styled_line(s);
	line = &s->lines[s->n - 1];
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		fatal_memory();
	if (line->n + (size_t)n > line->room) {
		line->room = (line->n + (size_t)n) * 2;
		line->text = must_grow(line->text, line->room);
		line->styles = must_grow(line->styles, line->room);
	}
	for (int i = 0; i < n; i++) {
		line->text[line->n] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
		line->styles[line->n++] = (unsigned char)style;
	}
	free(text);
}

void styled_clear(struct styled_text *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->lines[i].text);
		free(s->lines[i].styles);
	}
	free(s->lines);
	*s = (struct styled_text){ 0 };
}

void styled_print(const struct styled_text *s, size_t edge, FILE *to)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct styled_line *line = &s->lines[i];
		size_t n = line->n;
		char *text;

		while (n > 0 && line->text[n - 1] == ' ')
			n--;
		text = ctl_print("%.*s", (int)n, n > 0 ? line->text : "");
		edge_print(text, edge, to);
		fputc('\n', to);
		free(text);
	}
}
