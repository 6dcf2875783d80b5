/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl queues import: the queues of another scheduler's file as muster's own list. */
#ifndef MUSTER_CTL_QUEUES_IMPORT_H
#define MUSTER_CTL_QUEUES_IMPORT_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stdio.h>

/* The queues of a partition of YuniKorn's queues.yaml, or of a ConfigMap that has it, as YAML for
 * --queues config.  A queue is named by its path below the root, with dots.  What muster has no
 * field for is named in comments.  False: `error` has queue, field and value, and nothing was
 * written. */
bool queues_import_yunikorn(const char *path, const struct bytes *yaml, FILE *out, char *error,
                            size_t error_bytes);

/* Converts a file, to standard output; returns the exit code. */
int queues_import(const char *source, const char *path, const char *command);

#endif
