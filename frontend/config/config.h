/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: YAML with a schema, the table of frontend/config/settings.h.
 *
 *     apiVersion: muster.dev/v1alpha1
 *     kind: Configuration
 *     schedulerNames: [muster, batch]
 *     core:
 *       maxNodes: 20000
 *
 * Unknown and duplicate keys and values of a wrong type or out of range are errors with their
 * position. A null counts as missing.
 *
 * A KubeSchedulerConfiguration is refused with the page that says what becomes of it. The section
 * "coscheduling" takes the `args:` of its Coscheduling plugin, with their apiVersion and kind. */
#ifndef MUSTER_FRONTEND_CONFIG_H
#define MUSTER_FRONTEND_CONFIG_H

#include "frontend/config/settings.h"

#include <stdio.h>

#define CONFIG_API_VERSION "muster.dev/v1alpha1"
#define CONFIG_KIND "Configuration"
#define CONFIG_BYTES_MAX ((size_t)1 << 18)

/* Reads the file on top of *o.
 *
 *   -EINVAL  and others: `error` is "FILE:LINE:COLUMN: KEY: ..." */
int config_read(const char *path, struct options *o, char *error, size_t error_bytes);

/* The same for a text; `name` is for messages. */
int config_read_text(const char *name, const char *text, size_t bytes, struct options *o,
                     char *error, size_t error_bytes);

/* Prints a file with every key, its purpose and its default, all commented out. */
void config_print_schema(FILE *out);

/* Prints a file equivalent to *o, after options_settle(). */
void config_print(const struct options *o, FILE *out);

/* Prints the flags of muster-frontend for --help. */
void config_print_flags(FILE *out);

#endif
