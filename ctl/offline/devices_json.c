/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/devices_json.h"

#include "ctl/term/print.h"

cJSON *devices_json(const struct claim_devices *list)
{
	cJSON *array;

	if (list == NULL)
		return NULL;
	array = json_checked(cJSON_CreateArray());
	for (size_t i = 0; i < list->n; i++) {
		const struct claim_device *d = &list->at[i];
		cJSON *o = json_checked(cJSON_CreateObject());

		json_add_text(o, "claim", d->claim);
		json_add_text(o, "request", d->request);
		json_add_text(o, "device", d->device);
		if (d->admin)
			json_checked(cJSON_AddBoolToObject(o, "admin", true));
		if (d->consumed != NULL)
			json_checked(cJSON_AddRawToObject(o, "consumed", d->consumed));
		cJSON_AddItemToArray(array, o);
	}
	return array;
}
