/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a pod in the answers of verdict and simulate. */
#ifndef MUSTER_CTL_DEVICES_JSON_H
#define MUSTER_CTL_DEVICES_JSON_H

#include "ctl/offline/claims.h"

#include <cjson/cJSON.h>

/* [{"claim":"c","request":"r","device":"d/p/x","admin":true,"consumed":{...}}], the last two only
 * when they are set; NULL of NULL. */
cJSON *devices_json(const struct claim_devices *list);

#endif
