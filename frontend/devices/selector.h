/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between devices and the evaluator of their selectors. */
#ifndef MUSTER_FRONTEND_SELECTOR_H
#define MUSTER_FRONTEND_SELECTOR_H

#include "frontend/cel/cel.h"

struct selector; /* a compiled expression */

/* Never NULL: an expression that is wrong gives its error for each device. */
struct selector *selector_new(struct text expression);
void selector_free(struct selector *s);

/* What the expression uses that muster does not know; NULL: nothing. */
const char *selector_refused(const struct selector *s);

/* Memory that it has. */
size_t selector_bytes(const struct selector *s);

enum selector_result { SELECTOR_TRUE = 1, SELECTOR_FALSE, SELECTOR_ERROR };
/* SELECTOR_ERROR: `error`. */
enum selector_result selector_match(struct selector *s, const struct cel_device *device,
                                    char *error, size_t error_bytes);
/* That the last match took (frontend/cel/cel.h). */
uint64_t selector_steps(const struct selector *s);

#endif
