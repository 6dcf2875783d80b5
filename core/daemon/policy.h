/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the score policies, as flags and files have them. */
#ifndef MUSTER_CORE_POLICY_H
#define MUSTER_CORE_POLICY_H

#include "core/step/core.h"

#include <stdbool.h>

/* "kube"; NULL when there is no such policy. */
const char *policy_name(enum score_policy policy);

/* False, and nothing changed, when no policy has this name. */
bool policy_find(const char *name, enum score_policy *out);

#endif
