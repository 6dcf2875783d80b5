/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: YAML with a schema, which is the table of frontend/config/settings.h.
 *
 *     apiVersion: muster.dev/v1alpha1
 *     kind: Configuration
 *     schedulerNames: [muster, batch]
 *     core:
 *       maxNodes: 20000
 *
 * A key that is not in the table, or there twice, and a value of another type or out of
 * range are errors with their place.  A null is as good as not there. */
#ifndef MUSTER_FRONTEND_CONFIG_H
#define MUSTER_FRONTEND_CONFIG_H

#include "frontend/config/settings.h"

#include <stdio.h>

#define CONFIG_API_VERSION "muster.dev/v1alpha1"
#define CONFIG_KIND "Configuration"
#define CONFIG_BYTES_MAX ((size_t)1 << 18)

/* Read the file over what is in *o.
 *
 *   -EINVAL  and others: `error` says what is wrong, as "FILE:LINE:COLUMN: KEY: ..." */
int config_read(const char *path, struct options *o, char *error, size_t error_bytes);

/* The same of a text; `name` is for messages. */
int config_read_text(const char *name, const char *text, size_t bytes, struct options *o,
                     char *error, size_t error_bytes);

/* ---- config_print.c ---- */

/* A file with every key, what it is for and its default, all as comments: it says nothing
 * until some are taken out. */
void config_print_schema(FILE *out);

/* A file that says what *o says.  options_settle() was called. */
void config_print(const struct options *o, FILE *out);

/* The flags of muster-frontend, for --help. */
void config_print_flags(FILE *out);

#endif
