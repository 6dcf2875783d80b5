/* SPDX-License-Identifier: Apache-2.0 */
/* gang-scheduler: a label names a ConfigMap whose data has the quorum. */
#include "frontend/dialect/dialect_read.h"
#include "frontend/base/compare.h"
#include "frontend/dialect/reason.h"

#define LABEL "pod-group.scheduling.bdap.com/podgroup-configmap"
#define MISSING "minAvailable field not found in podgroup configmap"

static enum mark configmap_mark(const struct pod_object *pod, struct arena *arena,
                                const char **name)
{
	return read_mark(read_label(pod, LABEL, arena), name);
}

/* A decimal number; otherwise refuses the group and returns false. */
static bool read_data_number(struct json *j, const char *key, struct text value,
                             struct group_spec *out, int64_t *number)
{
	const char *text = arena_copy(j->arena, value);

	if (int64_parse(text_of(text), number))
		return true;
	read_refuse(
		out, j->arena,
		"data.%s of the podgroup configmap: strconv.Atoi: parsing \"%.100s\": invalid syntax", key,
		text);
	return false;
}

static void read_minimum(struct json *j, struct text value, struct group_spec *out)
{
	int64_t minimum;

	if (!read_data_number(j, "minAvailable", value, out, &minimum))
		return;
	if (minimum > INT32_MAX)
		read_refuse(out, j->arena, "data.minAvailable: %lld is more than 2147483647",
		            (long long)minimum);
	else
		out->quorum_text = minimum < INT32_MIN ? INT32_MIN : (int32_t)minimum;
	out->quorum = out->quorum_text > 0 ? (uint32_t)out->quorum_text : 0;
}

/* Checks in the order of gang-scheduler: the first error is the refusal. */
static void read_data(struct json *j, void *spec)
{
	struct group_spec *out = spec;
	struct text name, minimum = { NULL, 0 }, timeout = { NULL, 0 };
	int64_t seconds;

	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		if (text_is(name, "minAvailable"))
			json_string(j, &minimum);
		else if (text_is(name, "scheduleTimeoutSeconds"))
			json_string(j, &timeout);
		else
			json_skip(j);
	}
	if (j->failed || (!minimum.at && !timeout.at))
		return;
	out->hollow = false;
	if (minimum.at)
		read_minimum(j, minimum, out);
	else
		read_refuse(out, j->arena, MISSING);
	/* A group of one never waits, so gang-scheduler does not read its timeout. */
	if (timeout.at && (out->quorum > 1 || out->refusal) &&
	    read_data_number(j, "scheduleTimeoutSeconds", timeout, out, &seconds))
		out->timeout_ns = read_timeout(seconds);
}

static int configmap_read(const char *json, size_t bytes, struct arena *arena,
                          struct group_spec *out, struct decode_error *error)
{
	int rc;

	*out = (struct group_spec){ .hollow = true, .after_others = true };
	rc = read_group(json, bytes, arena, "ConfigMap", "data", read_data, out, error);
	if (rc == 0 && out->hollow)
		read_refuse(out, arena, MISSING);
	return rc;
}

static const struct resource configmap_resource = {
	.group = "",
	.version = "v1",
	.plural = "configmaps",
	.kind = "ConfigMap",
};

extern const struct dialect dialect_configmap;
const struct dialect dialect_configmap = {
	.name = "configmap",
	.texts = &texts_configmap,
	.mark = "label " LABEL,
	.timeout = GROUP_TIMEOUT_CONFIGMAP,
	.resource = &configmap_resource,
	.hollow = MISSING,
	.pod_mark = configmap_mark,
	.group_read = configmap_read,
};
