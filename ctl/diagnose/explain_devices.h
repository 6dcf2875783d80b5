/* SPDX-License-Identifier: Apache-2.0 */
/* What one pod needs of devices, in text and JSON: numbers for each request of its claims, and who
 * holds the devices that would do. */
#ifndef MUSTER_CTL_EXPLAIN_DEVICES_H
#define MUSTER_CTL_EXPLAIN_DEVICES_H

#include "ctl/objects/files.h"
#include "ctl/offline/fetch.h"
#include "frontend/devices/devices.h"
#include "frontend/model/model.h"

#include <cjson/cJSON.h>

/* Objects that devices are made of, and pods.  False and `error`. */
bool explain_devices_put(struct devices *d, const struct files *files, char *error,
                         size_t error_bytes);

/* Nothing for a pod without claims.  `m` knows the gangs of pods. */
void explain_devices_print(struct devices *d, const struct model *m, const char *pod);
void explain_devices_json(cJSON *o, struct devices *d, const struct model *m, const char *pod);

#endif
