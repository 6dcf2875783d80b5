/* SPDX-License-Identifier: Apache-2.0 */
/* A queue as a row of text, from its JSON: of a live scheduler and of files alike. */
#ifndef MUSTER_CTL_QUEUES_ROW_H
#define MUSTER_CTL_QUEUES_ROW_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#define QUEUES_CELLS 16 /* six of them with `more` alone */

extern const char *const queues_heads[];
extern const char queues_spare[]; /* of text_table_cut() */

/* The cells are to be freed; without `more` the last six are left alone. */
void queues_row(const cJSON *item, bool more, char **cells);

#endif
