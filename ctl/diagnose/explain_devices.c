/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/explain_devices.h"

#include "ctl/offline/lack.h"
#include "ctl/offline/offline.h"
#include "ctl/term/print.h"
#include "frontend/devices/needs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool explain_devices_put(struct devices *d, const struct files *files, char *error,
                         size_t error_bytes)
{
	const struct object *objects;
	char text[512];
	size_t n;

	objects = files_objects(files, &n);
	for (size_t i = 0; i < n; i++) {
		const struct object *o = &objects[i];

		if (!devices_take(o->api_version, o->kind) ||
		    devices_put(d, o->kind, o->json.at, o->json.bytes, text, sizeof(text)))
			continue;
		snprintf(error, error_bytes, "%s %s%s%s: %s", o->kind, o->namespace,
		         o->namespace[0] != '\0' ? "/" : "", o->name, text);
		return false;
	}
	return true;
}

static uint32_t number_of(const struct devices *d, const char *pod)
{
	const char *slash = strchr(pod, '/');

	return devices_pod(d, (struct text){ pod, (size_t)(slash - pod) }, text_of(slash + 1));
}

static bool name_of(const void *context, const struct device_lack *lack, char *out,
                    size_t out_bytes)
{
	const struct devices_need *need = context;

	(void)lack;
	snprintf(out, out_bytes, "%s", need->names);
	return true;
}

/* NULL: none, or the pod is not known. */
static const char *gang_of(const struct model *m, const char *pod, char *out, size_t out_bytes)
{
	struct pod_view view;
	const bool has = offline_pod_named(m, pod, &view) && view.gang[0] != '\0';

	if (has)
		snprintf(out, out_bytes, "%s/%s", view.namespace, view.gang);
	return has ? out : NULL;
}

static void print_holder(const struct devices_holder *h, const struct model *m)
{
	char gang[600];

	ctl_say("  held by claim %s: ", h->claim);
	if (h->devices == 1)
		ctl_say("%s", h->device);
	else
		ctl_say("%u devices, the first is %s", h->devices, h->device);
	if (h->pod == NULL)
		ctl_say(", reserved for no pod");
	else
		ctl_say(", pod %s", h->pod);
	if (h->pods > 1)
		ctl_say(" and %u more", h->pods - 1);
	if (h->pod != NULL && gang_of(m, h->pod, gang, sizeof(gang)) != NULL)
		ctl_say(" of gang %s", gang);
	ctl_say("\n");
}

static void print_need(const struct devices_need *need, const struct model *m)
{
	const struct reason_names names = { .context = need, .device = name_of };
	char text[1024];

	if (need->allocated != NULL) {
		ctl_say("claim %s is allocated: %s\n", need->claim, need->allocated);
		return;
	}
	reason_device_text(&need->lack, &names, text, sizeof(text));
	ctl_say("claim %s, request %s\n", need->claim, text);
	if (need->error != NULL)
		ctl_say("  a selector fails on device %s: %s\n", need->failed, need->error);
	for (uint32_t i = 0; i < need->holders_n; i++)
		print_holder(&need->holders[i], m);
	if (need->holders_all > need->holders_n)
		ctl_say("  and by %u more claim%s\n", need->holders_all - need->holders_n,
		        need->holders_all - need->holders_n == 1 ? "" : "s");
}

void explain_devices_print(struct devices *d, const struct model *m, const char *pod)
{
	const uint32_t number = number_of(d, pod);
	struct devices_need *needs = NULL;
	const char **unused;
	size_t n = 0;

	if (number == 0)
		return;
	needs = devices_needs(d, number, &n);
	if (n > 0)
		ctl_say("\n");
	for (size_t i = 0; i < n; i++)
		print_need(&needs[i], m);
	free(needs);
	if (n == 0)
		return;
	unused = devices_unused(d, &n);
	for (size_t i = 0; i < n; i++)
		ctl_say("not used: %s\n", unused[i]);
	free(unused);
}

static cJSON *holder_json(const struct devices_holder *h, const struct model *m)
{
	cJSON *o = json_checked(cJSON_CreateObject());
	char gang[600];

	json_add_text(o, "claim", h->claim);
	json_add_number(o, "devices", h->devices);
	json_add_text(o, "device", h->device);
	json_add_number(o, "pods", h->pods);
	if (h->pod == NULL)
		return o;
	json_add_text(o, "pod", h->pod);
	if (gang_of(m, h->pod, gang, sizeof(gang)) != NULL)
		json_add_text(o, "gang", gang);
	return o;
}

static cJSON *need_json(const struct devices_need *need, const struct model *m)
{
	const struct reason_names names = { .context = need, .device = name_of };
	cJSON *o = need->allocated != NULL ? json_checked(cJSON_CreateObject())
	                                   : device_lack_json(&need->lack, &names);
	cJSON *list;

	json_add_text(o, "claim", need->claim);
	if (need->allocated != NULL) {
		json_add_text(o, "allocated", need->allocated);
		return o;
	}
	if (need->error != NULL) {
		json_add_text(o, "selector_failed_on", need->failed);
		json_add_text(o, "selector_error", need->error);
	}
	list = json_checked(cJSON_AddArrayToObject(o, "held_by"));
	for (uint32_t i = 0; i < need->holders_n; i++)
		cJSON_AddItemToArray(list, holder_json(&need->holders[i], m));
	json_add_number(o, "held_by_claims", need->holders_all);
	return o;
}

void explain_devices_json(cJSON *o, struct devices *d, const struct model *m, const char *pod)
{
	const uint32_t number = number_of(d, pod);
	struct devices_need *needs;
	const char **unused;
	cJSON *list;
	size_t n;

	if (number == 0)
		return;
	needs = devices_needs(d, number, &n);
	if (n > 0) {
		list = json_checked(cJSON_AddArrayToObject(o, "claims"));
		for (size_t i = 0; i < n; i++)
			cJSON_AddItemToArray(list, need_json(&needs[i], m));
		unused = devices_unused(d, &n);
		list = json_checked(cJSON_AddArrayToObject(o, "unused"));
		for (size_t i = 0; i < n; i++)
			cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(unused[i])));
		free(unused);
	}
	free(needs);
}
