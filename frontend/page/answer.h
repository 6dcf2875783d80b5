/* SPDX-License-Identifier: Apache-2.0 */
/* The data of the page for browsers, as JSON: an overview, the cells of the heat map, the queue in
 * pieces, one gang, one node, queues and promised starts, and a day of history.
 *
 * Each answer is bounded: cells stand for several nodes beyond ANSWER_CELLS, lists name how many
 * entries were left out.  Names and texts that tenants write are cleaned and quoted (jsonout.h).
 * The loop's thread; nothing is kept between two answers. */
#ifndef MUSTER_FRONTEND_ANSWER_H
#define MUSTER_FRONTEND_ANSWER_H

#include "frontend/page/answer_source.h"

#include <stdint.h>

/* The answer to POST /pod: {"epoch":N,"shape":HEX,"pod":HEX,"names":[{"id":N,"name":TEXT}]} with
 * the records of frontend/model/put/outsider.h, {"refused":TEXT}: muster would not place it, or
 * {"object":TEXT,"field":TEXT,"error":TEXT}.  epoch 0: there is no core.  Replaces the content. */
void answer_outsider(struct model *m, uint64_t epoch, const char *json, size_t bytes,
                     struct jsonout *out);

/* Replaces the content of `out`.  False: nothing has that name, and `out` is empty. */
bool answer_write(const struct answer_source *s, const struct question *q, struct jsonout *out);

#endif
