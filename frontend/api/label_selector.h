/* SPDX-License-Identifier: Apache-2.0 */
/* A label selector as kubectl and the API server have it: "gpu=a100,zone in (a,b),!spot". */
#ifndef MUSTER_FRONTEND_LABEL_SELECTOR_H
#define MUSTER_FRONTEND_LABEL_SELECTOR_H

#include <stddef.h>

/* 0 when the API server takes it, else -EINVAL and what is wrong in `why`.  An empty one
 * selects everything. */
int label_selector_check(const char *text, char *why, size_t why_bytes);

#endif
