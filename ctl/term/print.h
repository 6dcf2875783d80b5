/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of JSON that several commands print. */
#ifndef MUSTER_CTL_PRINT_H
#define MUSTER_CTL_PRINT_H

#include "ipc/abi.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* `node`; ends the process if cJSON returned NULL for want of memory. */
cJSON *json_checked(cJSON *node);

/* cJSON keeps numbers in a double; a count of bytes may need 64 bits. */
void json_add_number(cJSON *object, const char *name, int64_t value);
void json_add_text(cJSON *object, const char *name, const char *value);

/* Prints the object and a newline, and frees it. */
void json_print(cJSON *object, bool indented);
/* Prints the object as one line of an array and frees it. */
void json_print_line(cJSON *object, bool first);

/* "shortfall": [{"resource": ..., "unit": ..., "need": ..., "have": ...}]; without `units` as
 * docs/design.md has it for simulate. */
void json_add_shortfalls(cJSON *object, const struct reason *reason, bool units,
                         const char *(*name)(const void *context, uint32_t id),
                         const void *context);

#endif
