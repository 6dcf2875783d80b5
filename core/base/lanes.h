/* SPDX-License-Identifier: Apache-2.0 */
/* Four numbers in one step.  The vectors are the compiler's own: any machine has them.  A function
 * that works with them is there twice on x86-64, once for AVX2; which one runs is asked of the
 * processor. */
#ifndef MUSTER_CORE_LANES_H
#define MUSTER_CORE_LANES_H

#include "core/base/tree.h"

#include <stdint.h>

#define LANES 4u
#define INLINE static inline __attribute__((always_inline))

typedef double reals __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t masks __attribute__((vector_size(LANES * sizeof(int64_t)))); /* -1: yes, 0: no */
typedef int32_t numbers __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef tree_key keys_of_step __attribute__((vector_size(LANES * sizeof(tree_key))));

INLINE reals same(double value)
{
	return (reals){ value, value, value, value };
}

/* As loops, of which compilers make one instruction; of masks they make two or three. */

INLINE reals smaller(reals a, reals b)
{
	for (uint32_t i = 0; i < LANES; i++)
		a[i] = a[i] < b[i] ? a[i] : b[i];
	return a;
}

INLINE reals larger(reals a, reals b)
{
	for (uint32_t i = 0; i < LANES; i++)
		a[i] = a[i] > b[i] ? a[i] : b[i];
	return a;
}

#endif
