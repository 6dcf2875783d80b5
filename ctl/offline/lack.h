/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the devices that members of a pending gang lack. */
#ifndef MUSTER_CTL_LACK_H
#define MUSTER_CTL_LACK_H

#include "frontend/dialect/reason.h"

#include <cjson/cJSON.h>

/* {"request", "class", "needed", "free", ...} */
cJSON *device_lack_json(const struct device_lack *l, const struct reason_names *names);
/* "devices": [device_lack_json()...], if the reason has any. */
void json_add_devices(cJSON *o, const struct reason *r, const struct reason_names *names);

#endif
