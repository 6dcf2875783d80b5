/* SPDX-License-Identifier: Apache-2.0 */
/* The right edge of a terminal, at which lines of tables are cut. */
#ifndef MUSTER_CTL_EDGE_H
#define MUSTER_CTL_EDGE_H

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that `to` writes to, else $COLUMNS.  0, no edge: it is none, or its
 * width is not known.  Sets LC_CTYPE, by which characters have a width. */
size_t edge_columns(FILE *to);

/* Columns that the text takes on a terminal. */
size_t edge_width(const char *text);

/* Prints the text, cut to `edge` columns with an ellipsis at its end; 0: whole. */
void edge_print(const char *text, size_t edge, FILE *to);

#endif
