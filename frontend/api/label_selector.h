/* SPDX-License-Identifier: Apache-2.0 */
/* Validates a label selector as kubectl and the API server accept it: "gpu=a100,zone in
 * (a,b),!spot". */
#ifndef MUSTER_FRONTEND_LABEL_SELECTOR_H
#define MUSTER_FRONTEND_LABEL_SELECTOR_H

#include <stddef.h>

/* 0 if the API server accepts it, else -EINVAL and the reason in `why`. An empty one selects
 * everything. */
int label_selector_check(const char *text, char *why, size_t why_bytes);

#endif
