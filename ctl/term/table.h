/* SPDX-License-Identifier: Apache-2.0 */
/* A table with aligned columns, as kubectl prints it. */
#ifndef MUSTER_CTL_TABLE_H
#define MUSTER_CTL_TABLE_H

#include "ctl/term/ctl.h"

#include <stddef.h>
#include <stdio.h>

struct text_table;

/* `right` has an R for each column whose cells are numbers, anything else for text;
 * its length is the number of columns. */
struct text_table *text_table_new(const char *right);
void text_table_free(struct text_table *g);

/* The next cell, row by row, the heading first; copied, without control characters. */
void text_table_cell(struct text_table *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints it for a terminal of that many columns (edge_columns()): lines end there.  `spare` has a
 * digit for each column: those of 1 are left out first, then those of 2, until the last column has
 * EDGE_LAST columns or all that it needs; those of 0 never.  NULL: none is left out.  `left_out`, 0
 * at first, is set to the last digit that is left out; otherwise this is a further part of the same
 * table, and leaves out the same columns.  NULL: there is one part. */
void text_table_cut(struct text_table *g, size_t edge, const char *spare, char *left_out);
#define EDGE_LAST 24u

/* The same for standard output, if the output is OUTPUT_TEXT: OUTPUT_WIDE has whole lines. */
void text_table_fit(struct text_table *g, enum output output, const char *spare);

void text_table_print(const struct text_table *g, FILE *to);

#endif
