/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the score policies, in flags and files. */
#ifndef MUSTER_CORE_POLICY_H
#define MUSTER_CORE_POLICY_H

#include "core/step/core.h"

#include <stdbool.h>

#define POLICY_NAMES "kube, pack, bestfit, fgd, muster"

/* "kube", for one; NULL: no such policy. */
const char *policy_name(enum score_policy policy);

/* False, and *out unchanged, if no policy has this name. */
bool policy_find(const char *name, enum score_policy *out);

#endif
