/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/table.h"

#include "ctl/term/edge.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN "   "

struct text_table {
	char *right;
	size_t columns;
	char **cells;
	size_t n, room;
	size_t edge;       /* 0: none */
	const char *spare; /* NULL: no column */
	char *left_out;    /* of the parts of one table; NULL: there is one */
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

void text_table_cut(struct text_table *t, size_t edge, const char *spare, char *left_out)
{
	t->edge = edge;
	t->spare = spare;
	t->left_out = left_out;
}

void text_table_fit(struct text_table *t, enum output output, const char *spare)
{
	if (output == OUTPUT_TEXT)
		text_table_cut(t, edge_columns(stdout), spare, NULL);
}

/* The widest cell of each column; to be freed. */
static size_t *widths_of(const struct text_table *t)
{
	size_t *width = must_array(t->columns, sizeof(*width));

	for (size_t i = 0; i < t->n; i++) {
		const size_t n = edge_width(t->cells[i]);

		if (width[i % t->columns] < n)
			width[i % t->columns] = n;
	}
	return width;
}

/* The columns whose spare digit is above that of `kept`, and those of 0. */
static bool is_shown(const struct text_table *t, size_t column, char kept)
{
	return t->spare == NULL || t->spare[column] == '0' || t->spare[column] > kept;
}

/* The digit up to which columns are left out: '0', none. */
static char left_out(const struct text_table *t, const size_t *width)
{
	const size_t last = width[t->columns - 1];
	const size_t needed = last < EDGE_LAST ? last : EDGE_LAST;
	char kept = '0';

	for (; t->edge > 0 && t->spare != NULL && kept < '9'; kept++) {
		size_t before = 0;

		for (size_t i = 0; i + 1 < t->columns; i++)
			before += is_shown(t, i, kept) ? width[i] + strlen(BETWEEN) : 0;
		if (before + needed <= t->edge)
			break;
	}
	return kept;
}

static void line_print(const struct text_table *t, size_t row, const size_t *width, char kept,
                       FILE *to)
{
	const size_t cells = row_cells(t, row);
	const char *between = "";

	for (size_t i = 0; i < cells; i++) {
		const char *cell = t->cells[row + i];
		const bool right = t->right[i] == 'R';
		const int pad = (int)(width[i] - edge_width(cell));

		if (!is_shown(t, i, kept))
			continue;
		fprintf(to, "%s%*s%s%*s", between, right ? pad : 0, "", cell,
		        right || i + 1 == cells ? 0 : pad, "");
		between = BETWEEN;
	}
}

void text_table_print(const struct text_table *t, FILE *to)
{
	size_t *width = widths_of(t);
	const char kept = t->left_out && *t->left_out ? *t->left_out : left_out(t, width);

	for (size_t row = 0; row + t->columns <= t->n; row += t->columns) {
		char *line = NULL;
		size_t bytes;
		FILE *memory = open_memstream(&line, &bytes);

		if (memory == NULL)
			fatal_memory();
		line_print(t, row, width, kept, memory);
		if (fclose(memory) != 0)
			fatal_memory();
		edge_print(line, t->edge, to);
		fputc('\n', to);
		free(line);
	}
	if (t->left_out)
		*t->left_out = kept;
	free(width);
}
