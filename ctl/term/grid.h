/* SPDX-License-Identifier: Apache-2.0 */
/* A table with aligned columns, as kubectl prints it. */
#ifndef MUSTER_CTL_GRID_H
#define MUSTER_CTL_GRID_H

#include <stdio.h>

struct grid;

/* `right` has an R for each column whose cells are numbers, anything else for text;
 * its length is the number of columns. */
struct grid *grid_new(const char *right);
void grid_free(struct grid *g);

/* The next cell, row by row, the heading first; copied, without control characters. */
void grid_cell(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

void grid_print(const struct grid *g, FILE *to);

#endif
