/* SPDX-License-Identifier: Apache-2.0 */
/* SIMD: four doubles or eight floats in one step.
 *
 * The types are GCC's vector extensions, which every target supports.  Functions that use them are
 * compiled twice on x86-64, for SSE2 and for AVX2; simd_has_avx2() (core/index/views_impl.h)
 * selects one at run time.  A comparison gives an integer vector: -1 where it is true, 0
 * elsewhere. */
#ifndef MUSTER_CORE_SIMD_H
#define MUSTER_CORE_SIMD_H

#include "core/base/tree.h"

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

#define F64_LANES 4u
typedef double f64x4 __attribute__((vector_size(F64_LANES * sizeof(double))));
typedef int64_t i64x4 __attribute__((vector_size(F64_LANES * sizeof(int64_t))));
typedef int32_t i32x4 __attribute__((vector_size(F64_LANES * sizeof(int32_t))));
typedef tree_key keyx4 __attribute__((vector_size(F64_LANES * sizeof(tree_key))));

#define F32_LANES 8u
typedef float f32x8 __attribute__((vector_size(F32_LANES * sizeof(float))));
typedef int32_t i32x8 __attribute__((vector_size(F32_LANES * sizeof(int32_t))));
typedef tree_key keyx8 __attribute__((vector_size(F32_LANES * sizeof(tree_key))));

INLINE f64x4 f64x4_set(double value)
{
	return (f64x4){ value, value, value, value };
}

INLINE f32x8 f32x8_set(float value)
{
	return (f32x8){ value, value, value, value, value, value, value, value };
}

/* Minimum and maximum are loops: compilers turn them into one instruction each, but a selection by
 * a mask into two or three. */

INLINE f64x4 f64x4_min(f64x4 a, f64x4 b)
{
	for (uint32_t i = 0; i < F64_LANES; i++)
		a[i] = a[i] < b[i] ? a[i] : b[i];
	return a;
}

INLINE f64x4 f64x4_max(f64x4 a, f64x4 b)
{
	for (uint32_t i = 0; i < F64_LANES; i++)
		a[i] = a[i] > b[i] ? a[i] : b[i];
	return a;
}

INLINE f32x8 f32x8_min(f32x8 a, f32x8 b)
{
	for (uint32_t i = 0; i < F32_LANES; i++)
		a[i] = a[i] < b[i] ? a[i] : b[i];
	return a;
}

INLINE f32x8 f32x8_max(f32x8 a, f32x8 b)
{
	for (uint32_t i = 0; i < F32_LANES; i++)
		a[i] = a[i] > b[i] ? a[i] : b[i];
	return a;
}

#endif
