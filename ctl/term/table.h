/* SPDX-License-Identifier: Apache-2.0 */
/* A table with aligned columns, as kubectl prints it. */
#ifndef MUSTER_CTL_TABLE_H
#define MUSTER_CTL_TABLE_H

#include <stdio.h>

struct text_table;

/* `right` has an R for each column whose cells are numbers, anything else for text;
 * its length is the number of columns. */
struct text_table *text_table_new(const char *right);
void text_table_free(struct text_table *g);

/* The next cell, row by row, the heading first; copied, without control characters. */
void text_table_cell(struct text_table *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void text_table_print(const struct text_table *g, FILE *to);

#endif
