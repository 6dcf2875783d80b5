/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/table.h"

#include "ctl/term/ctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct text_table {
	char *right;
	size_t columns;
	char **cells;
	size_t n, room;
};

struct text_table *text_table_new(const char *right)
{
	struct text_table *t = must_alloc(sizeof(*t));

	t->right = must_copy(right);
	t->columns = strlen(right);
	return t;
}

void text_table_free(struct text_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->right);
	free(t);
}

void text_table_cell(struct text_table *t, const char *format, ...)
{
	va_list args;
	char *cell;

	va_start(args, format);
	cell = ctl_vprint(format, args);
	va_end(args);
	ctl_plain(cell);
	t->cells = must_reach(t->cells, &t->room, t->n, 64, sizeof(*t->cells));
	t->cells[t->n++] = cell;
}

/* Cells of a row up to the last one that is not empty. */
static size_t row_cells(const struct text_table *t, size_t row)
{
	size_t n = t->columns;

	while (n > 0 && t->cells[row + n - 1][0] == '\0')
		n--;
	return n;
}

void text_table_print(const struct text_table *t, FILE *to)
{
	size_t *width = must_array(t->columns, sizeof(*width));

	for (size_t i = 0; i < t->n; i++) {
		size_t n = strlen(t->cells[i]);

		if (width[i % t->columns] < n)
			width[i % t->columns] = n;
	}
	for (size_t row = 0; row + t->columns <= t->n; row += t->columns) {
		size_t cells = row_cells(t, row);

		for (size_t i = 0; i < cells; i++) {
			int wide = (int)width[i];

			if (t->right[i] != 'R')
				wide = i + 1 < cells ? -wide : 0;
			fprintf(to, "%s%*s", i > 0 ? "   " : "", wide, t->cells[row + i]);
		}
		fputc('\n', to);
	}
	free(width);
}
