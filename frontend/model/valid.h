/* SPDX-License-Identifier: Apache-2.0 */
/* Counts all that the model keeps counted. */
#ifndef MUSTER_FRONTEND_MODEL_VALID_H
#define MUSTER_FRONTEND_MODEL_VALID_H

#include "frontend/model/base/state.h"

/* True if all that is counted is what is there; else false, and one line in `why`.  For tests. */
bool model_valid(const struct model *m, char *why, size_t why_bytes);

#endif
