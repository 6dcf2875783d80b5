/* SPDX-License-Identifier: Apache-2.0 */
/* The known word that is nearest to one with a typing error. */
#ifndef MUSTER_CTL_NEAR_H
#define MUSTER_CTL_NEAR_H

#include <stddef.h>

/* Letters to insert, remove, replace or swap with the next one until a is b; words of 32 letters
 * at most, else 99 (optimal string alignment). */
unsigned near_distance(const char *a, const char *b);

/* The nearest of `words`, if at most a third of its letters are wrong, and two of them; NULL: none
 * is so near, or two are equally near. */
const char *near_word(const char *text, const char *const *words, size_t n);

#endif
