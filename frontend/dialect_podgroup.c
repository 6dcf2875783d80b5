/* scheduler-plugins as it is today: PodGroup of scheduling.x-k8s.io/v1alpha1. */
#include "frontend/dialect.h"

#include "frontend/extract.h"
#include "frontend/json.h"
#include "frontend/object.h"

#define LABEL "scheduling.x-k8s.io/pod-group"

static enum mark podgroup_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	const struct text *value = pairs_find(&pod->meta.labels, LABEL);

	if (!value || value->bytes == 0)
		return MARK_NONE;
	*name = arena_copy(arena, *value);
	if (*name)
		return MARK_MEMBER;
	*name = "no memory";
	return MARK_REFUSED;
}

/* The amount of that name, new or known; NULL: the scanner has failed. */
static struct amount_text *amount_of(struct json *j, struct text name, struct group_spec *out)
{
	for (size_t i = 0; i < out->min_resources_n; i++)
		if (text_is(name, out->min_resources[i].resource))
			return &out->min_resources[i];
	if (name.bytes == 0 || name.bytes > RESOURCE_NAME_BYTES_MAX) {
		json_fail(j, "is not the name of a resource");
		return NULL;
	}
	if (out->min_resources_n == RESOURCES_MAX) {
		json_fail(j, "is one of more than %d resources", RESOURCES_MAX);
		return NULL;
	}
	out->min_resources[out->min_resources_n].resource = arena_copy(j->arena, name);
	if (!out->min_resources[out->min_resources_n].resource) {
		json_no_memory(j);
		return NULL;
	}
	return &out->min_resources[out->min_resources_n++];
}

/* minResources: what scheduling does not count stays in, since no node has it.
 * The number of pods is the quorum, whatever is written here. */
static void read_min_resources(struct json *j, struct group_spec *out)
{
	struct amount_text *a;
	struct text name;
	nano_t amount;

	out->min_resources_n = 0;
	out->min_resources = arena_alloc(j->arena, RESOURCES_MAX * sizeof(*a));
	if (!out->min_resources) {
		json_no_memory(j);
		return;
	}
	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		extract_quantity(j, &amount);
		if (j->failed || text_is(name, "pods"))
			continue;
		a = amount_of(j, name, out);
		if (a)
			a->value = text_is(name, "cpu") ? quantity_milli(amount) : quantity_value(amount);
	}
}

static void read_spec(struct json *j, struct group_spec *out, int32_t *timeout_s)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "minMember"))
			extract_int32(j, &out->quorum_text);
		else if (text_is(name, "scheduleTimeoutSeconds"))
			extract_int32(j, timeout_s);
		else if (text_is(name, "minResources"))
			read_min_resources(j, out);
		else
			json_skip(j);
	}
}

static int podgroup_read(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
			 struct decode_error *error)
{
	struct json j;
	struct meta meta;
	struct text name;
	int32_t timeout_s = 0;
	int rc;

	*out = (struct group_spec){ 0 };
	extract_meta_start(&meta);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (text_is(name, "metadata"))
			extract_metadata(&j, &meta);
		else if (text_is(name, "spec"))
			read_spec(&j, out, &timeout_s);
		else
			json_skip(&j);
	}
	rc = extract_end(&j, &meta, "PodGroup", error);
	if (rc < 0)
		return rc;
	if (out->quorum_text < 0) {
		out->refusal = arena_printf(arena, "spec.minMember: %d is negative", (int)out->quorum_text);
		if (!out->refusal)
			out->refusal = "spec.minMember is negative";
	} else {
		out->quorum = (uint32_t)out->quorum_text;
	}
	if (timeout_s > 0)
		out->timeout_ns = (uint64_t)timeout_s * 1000000000;
	return 0;
}

static const struct resource podgroup_resource = {
	.group = "scheduling.x-k8s.io",
	.version = "v1alpha1",
	.plural = "podgroups",
	.kind = "PodGroup",
	.optional = true,
};

extern const struct dialect dialect_podgroup;
const struct dialect dialect_podgroup = {
	.name = "scheduler-plugins",
	.status = &status_podgroup,
	.mark = "label " LABEL,
	.timeout = GROUP_TIMEOUT_COSCHEDULING,
	.resource = &podgroup_resource,
	.pod_mark = podgroup_mark,
	.group_read = podgroup_read,
};
