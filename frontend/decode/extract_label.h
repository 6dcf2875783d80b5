/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax of keys and values of labels in Kubernetes. */
#ifndef MUSTER_FRONTEND_EXTRACT_LABEL_H
#define MUSTER_FRONTEND_EXTRACT_LABEL_H

#include "frontend/base/arena.h"

#include <stdbool.h>

bool label_key_is_valid(struct text key);
bool label_value_is_valid(struct text value);

#endif
