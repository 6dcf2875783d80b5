/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/sheet.h"

#include "ctl/term/ctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sheet_line(struct sheet *s)
{
	if (s->n == s->room) {
		s->room = s->room * 2 + 32;
		s->lines = ctl_grow(s->lines, s->room, sizeof(*s->lines));
	}
	s->lines[s->n++] = (struct sheet_line){ 0 };
}

void sheet_add(struct sheet *s, enum ink ink, const char *format, ...)
{
	struct sheet_line *line;
	va_list args;
	char *text;
	int n;

	if (s->n == 0)
		sheet_line(s);
	line = &s->lines[s->n - 1];
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		ctl_no_memory();
	if (line->n + (size_t)n > line->room) {
		line->room = (line->n + (size_t)n) * 2;
		line->text = ctl_grow(line->text, line->room, 1);
		line->inks = ctl_grow(line->inks, line->room, 1);
	}
	for (int i = 0; i < n; i++) {
		line->text[line->n] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
		line->inks[line->n++] = (unsigned char)ink;
	}
	free(text);
}

void sheet_clear(struct sheet *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->lines[i].text);
		free(s->lines[i].inks);
	}
	free(s->lines);
	*s = (struct sheet){ 0 };
}

void sheet_print(const struct sheet *s, FILE *to)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct sheet_line *line = &s->lines[i];
		size_t n = line->n;

		while (n > 0 && line->text[n - 1] == ' ')
			n--;
		if (n > 0)
			fwrite(line->text, 1, n, to);
		fputc('\n', to);
	}
}
