/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/lack.h"

#include "ctl/term/print.h"

cJSON *device_lack_json(const struct device_lack *l, const struct reason_names *names)
{
	cJSON *o = json_checked(cJSON_CreateObject());
	struct device_names about;

	reason_device_names(l, names, &about);
	json_add_text(o, "request", about.request);
	json_add_text(o, "class", about.class);
	json_add_number(o, "members", l->members);
	if (l->count > 0)
		json_add_number(o, "needed", (int64_t)l->count * l->members);
	json_add_number(o, "free", l->free);
	json_add_number(o, "nodes", l->nodes);
	json_add_number(o, "match", l->match);
	json_add_number(o, "taken", l->taken);
	json_add_number(o, "tainted", l->tainted);
	json_add_number(o, "without_counters", l->shut);
	json_add_number(o, "most_on_a_node", l->most);
	if (about.attribute[0] != '\0') {
		json_add_text(o, "attribute", about.attribute);
		json_add_number(o, "most_alike", l->alike);
	}
	return o;
}

void json_add_devices(cJSON *o, const struct reason *r, const struct reason_names *names)
{
	cJSON *list;

	if (r->lacks_n == 0)
		return;
	list = json_checked(cJSON_AddArrayToObject(o, "devices"));
	for (uint32_t i = 0; i < r->lacks_n; i++)
		cJSON_AddItemToArray(list, device_lack_json(&r->lacks[i], names));
}
