/* SPDX-License-Identifier: Apache-2.0 */
/* Files as kubectl prints them, gzipped or not, as trees of cJSON. */
#ifndef MUSTER_TESTS_SUPPORT_KUBECTL_H
#define MUSTER_TESTS_SUPPORT_KUBECTL_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* The document, or NULL when the file is not there; anything else fails the test. */
cJSON *kubectl_read(const char *path);

/* Calls `each` for the cut of the verdicts in the tree and, when it is there, the
 * whole set: path of NNNN.json.gz, and of NNNN.expect.json.  Says on standard
 * output when the whole set is missing.  How many there were. */
size_t kubectl_verdicts(void (*each)(void *context, const char *cluster, const char *expect),
                        void *context);

#endif
