/* SPDX-License-Identifier: Apache-2.0 */
/* Strategic merge patches of built-in kinds. */
#ifndef MUSTER_APISIM_PATCH_H
#define MUSTER_APISIM_PATCH_H

#include "tests/apisim/json.h"

/* Change `target`, an object, by the patch.  False and *error, a static text,
 * for a directive that is not known or not well formed. */
bool as_strategic_merge(struct as_arena *a, struct as_json *target, const struct as_json *patch,
                        const char **error);

#endif
