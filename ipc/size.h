/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes on command lines: "1073741824", "1Gi", "500M", with the suffixes of Kubernetes' quantities
 * from k to T. */
#ifndef MUSTER_IPC_SIZE_H
#define MUSTER_IPC_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* False: it is no size, or none of 64 bits; *out as before. */
bool size_read(const char *text, uint64_t *out);

#define MAX_MEMORY_LEAST (UINT64_C(16) << 20)
#define MAX_MEMORY_MOST (UINT64_C(1) << 44)
#define MAX_MEMORY_RANGE "16Mi to 16Ti"

/* --max-memory of muster-core and muster-frontend, also in the file of musterctl up: a size in that
 * range. */
bool max_memory_read(const char *text, uint64_t *out);

#endif
