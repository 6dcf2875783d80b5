/* SPDX-License-Identifier: Apache-2.0 */
/* What Kubernetes takes as the key and as the value of a label. */
#ifndef MUSTER_FRONTEND_EXTRACT_LABEL_H
#define MUSTER_FRONTEND_EXTRACT_LABEL_H

#include "frontend/base/arena.h"

#include <stdbool.h>

bool label_key_is_valid(struct text key);
bool label_value_is_valid(struct text value);

#endif
