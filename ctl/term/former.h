/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of JSON that were renamed: they have both names for one minor version (docs/versions.md).
 */
#ifndef MUSTER_CTL_FORMER_H
#define MUSTER_CTL_FORMER_H

#include <cjson/cJSON.h>

/* Adds to each object in `value`, at any depth, the former names of its fields, which refer to the
 * same values: it is not changed any more until it is printed.  Not in `labels`. */
void json_add_former(cJSON *value);

#endif
