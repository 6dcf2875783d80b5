/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the ids of a reason to texts of the model. */
#include "frontend/dialect/reason.h"

#include "frontend/devices/live.h"
#include "frontend/model/model.h"

#include <stdio.h>

static const char *name_text(const void *context, uint32_t name)
{
	return model_name(context, name);
}

static const char *key_text(const void *context, uint32_t key)
{
	return model_key_text(context, key);
}

static const char *value_text(const void *context, uint32_t value)
{
	return model_value_text(context, value);
}

static bool gang_text(const void *context, uint32_t gang, uint32_t generation, char *out,
                      size_t out_bytes)
{
	struct gang_view view;
	struct pod_view pod;

	if (model_waiting_pod(context, gang, generation, &pod)) {
		snprintf(out, out_bytes, "%s/%s", pod.namespace, pod.name);
		return true;
	}
	if (!model_gang(context, gang, generation, &view))
		return false;
	snprintf(out, out_bytes, "%s/%s", view.namespace, view.name);
	return true;
}

static const char *pod_text(const void *context, uint32_t id, uint32_t generation, char *out,
                            size_t out_bytes)
{
	struct pod_view pod;

	if (!model_pod(context, id, generation, &pod))
		return NULL;
	snprintf(out, out_bytes, "%s/%s", pod.namespace, pod.name);
	return pod.scheduler_name;
}

static const char *queue_text(const void *context, uint32_t queue)
{
	return model_queue_name(context, queue);
}

static bool device_text(const void *context, const struct device_lack *lack, char *out,
                        size_t out_bytes)
{
	const struct live *l = model_live((struct model *)(uintptr_t)context);

	return l && live_label(l, lack->question, lack->option, out, out_bytes);
}

struct reason_names reason_names_of(const struct model *model)
{
	return (struct reason_names){
		.resource = name_text,
		.taint = name_text,
		.key = key_text,
		.value = value_text,
		.gang = gang_text,
		.pod = pod_text,
		.queue = queue_text,
		.device = device_text,
		.context = model,
	};
}
