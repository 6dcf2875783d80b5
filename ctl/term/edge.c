/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/edge.h"

#include "ipc/clean.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define UTF8_BYTES 4u
#define EDGE_MAX 65535u /* ws_col */

size_t edge_columns(FILE *to)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long n;

	if (!isatty(fileno(to)))
		return 0;
	setlocale(LC_CTYPE, "");
	if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	n = columns != NULL ? strtoul(columns, NULL, 10) : 0;
	return n <= EDGE_MAX ? n : 0;
}

/* Bytes of the character at p, and its columns: 2 of a wide one, 0 of a combining one, 1 where the
 * locale does not have it. */
static size_t char_read(const char *p, size_t *columns)
{
	const size_t bytes = clean_char(p, UTF8_BYTES);
	wchar_t c;
	int width = -1;

	if (bytes > 0 && mbrtowc(&c, p, bytes, &(mbstate_t){ 0 }) == bytes)
		width = wcwidth(c);
	*columns = width >= 0 ? (size_t)width : 1;
	return bytes > 0 ? bytes : 1;
}

size_t edge_width(const char *text)
{
	size_t width = 0, columns;

	for (; *text != '\0'; width += columns)
		text += char_read(text, &columns);
	return width;
}

void edge_print(const char *text, size_t edge, FILE *to)
{
	const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	const char *mark = edge < strlen("...") ? "" : utf8 ? "\u2026" : "...";
	const size_t mark_width = edge_width(mark);
	size_t width = 0, columns, bytes;
	const char *p;

	if (edge == 0 || edge_width(text) <= edge) {
		fputs(text, to);
		return;
	}
	for (p = text; *p != '\0'; p += bytes, width += columns) {
		bytes = char_read(p, &columns);
		if (width + columns + mark_width > edge)
			break;
	}
	fprintf(to, "%.*s%s", (int)(p - text), text, mark);
}
