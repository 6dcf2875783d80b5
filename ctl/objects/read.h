/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file in memory, unpacked. */
#ifndef MUSTER_CTL_READ_H
#define MUSTER_CTL_READ_H

#include "frontend/base/bytes.h"

#include <stdbool.h>

/* The most bytes of a file, packed or not: a small .gz can hold any amount. */
#define READ_BYTES_MAX ((size_t)4 << 30)

/* Appends the file to *out; "-" is standard input. Content that begins as gzip does is unpacked,
 * whatever its name. False and `error`. */
bool read_whole(const char *path, struct bytes *out, char *error, size_t error_bytes);

#endif
