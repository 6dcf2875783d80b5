/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices the members of a gang that waits lack, in numbers. */
#ifndef MUSTER_CTL_LACK_H
#define MUSTER_CTL_LACK_H

#include "frontend/dialect/reason.h"

#include <cjson/cJSON.h>

/* "devices": [{"request", "class", "needed", "free", ...}], if the reason has any. */
void json_add_devices(cJSON *o, const struct reason *r, const struct reason_names *names);

#endif
