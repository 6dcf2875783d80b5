/* SPDX-License-Identifier: Apache-2.0 */
/* Private to pod_counts*.c and outsider.c. */
#ifndef MUSTER_CORE_POD_COUNTS_IMPL_H
#define MUSTER_CORE_POD_COUNTS_IMPL_H

#include "core/classes/pod_counts.h"

/* Frees the counts; the slot is empty afterwards. */
void placed_term_forget(struct placed_term *b);

/* core/classes/pod_counts_match.c */

/* selector_ref(); if the selector is new, classes and counts of the matching pods follow. */
selector_id pod_counts_selector_ref(struct pod_counts *cs, const struct selector_part *parts,
                                    uint32_t parts_n);
/* Drops the idle selectors if they are more than cs->idle_most. */
void pod_counts_tidy(struct pod_counts *cs);

#endif
