/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of texts that are in a question to the core and in no object: held, so that they are not
 * given to other texts before it is answered (frontend/model/put/outsider.h). */
#ifndef MUSTER_FRONTEND_MODEL_HELD_H
#define MUSTER_FRONTEND_MODEL_HELD_H

#include "frontend/model/shapes/shape_draft.h"

#define OUTSIDERS_HELD 16u

struct held;

/* A new list, in the place of the oldest one. */
void held_begin(struct model *m);
/* A shape_visit_fn of struct model *: one number more in the newest list. */
void held_add(void *model, enum number_of of, uint32_t number);
/* Calls `visit` for each. */
void held_visit(const struct model *m, shape_visit_fn visit, void *context);
void held_free(struct model *m); /* without the references */

#endif
