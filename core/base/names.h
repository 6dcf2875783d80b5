/* SPDX-License-Identifier: Apache-2.0 */
/* Names are compared by their bytes; of two that begin alike the shorter one is first. */
#ifndef MUSTER_CORE_BASE_NAMES_H
#define MUSTER_CORE_BASE_NAMES_H

#include <stdint.h>
#include <string.h>

static inline int names_compare(const char *a, uint32_t a_bytes, const char *b, uint32_t b_bytes)
{
	const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

#endif
