/* SPDX-License-Identifier: Apache-2.0 */
/* PodDisruptionBudgets, and what evictions read of pods and groups. */
#include "frontend/decode/eviction.h"

#include "frontend/base/compare.h"
#include "frontend/decode/extract.h"

#include <errno.h>
#include <string.h>

static const struct json_field budget_spec[] = {
	JSON_FIELD("selector", extract_selector, struct budget_object, selector),
};

static const struct json_field budget_status[] = {
	JSON_FIELD("disruptionsAllowed", extract_optional_int32, struct budget_object, allowed),
	JSON_FIELD("disruptedPods", extract_raw_map, struct budget_object, disrupted),
};

static const struct json_field budget_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct budget_object),
	JSON_NESTED("spec", budget_spec),
	JSON_NESTED("status", budget_status),
};

int extract_budget(const char *json, size_t bytes, struct arena *arena, struct budget_object *out,
                   struct decode_error *error)
{
	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	return extract_document(json, bytes, arena, budget_fields, out, &out->meta,
	                        "PodDisruptionBudget", error);
}

struct condition {
	struct text type, status, reason;
};

static const struct json_field condition_fields[] = {
	JSON_FIELD("type", json_field_text, struct condition, type),
	JSON_FIELD("status", json_field_text, struct condition, status),
	JSON_FIELD("reason", json_field_text, struct condition, reason),
};

/* defaultpreemption: podTerminatingByPreemption. */
static void extract_condition(struct json *j, void *pod)
{
	struct condition c = { TEXT_NONE, TEXT_NONE, TEXT_NONE };

	json_fields(j, condition_fields, &c);
	if (text_is(c.type, "DisruptionTarget"))
		((struct evicted_pod_object *)pod)->preempted =
			text_is(c.status, "True") && text_is(c.reason, "PreemptionByScheduler");
}

static void extract_conditions(struct json *j, void *pod)
{
	json_items(j, extract_condition, pod);
}

static const struct json_field pod_metadata[] = {
	EXTRACT_METADATA_FIELDS(struct evicted_pod_object, meta),
	JSON_FIELD("ownerReferences", extract_owners, struct evicted_pod_object, owner),
};

static const struct json_field pod_spec[] = {
	JSON_FIELD("schedulerName", json_field_text, struct evicted_pod_object, scheduler_name),
	JSON_FIELD("priorityClassName", json_field_text, struct evicted_pod_object, priority_class),
	JSON_FIELD("preemptionPolicy", json_field_text, struct evicted_pod_object, policy),
};

static const struct json_field pod_status[] = {
	JSON_FIELD("startTime", extract_time, struct evicted_pod_object, start_ns),
	JSON_FIELD("nominatedNodeName", json_field_text, struct evicted_pod_object, nominated),
	JSON_WHOLE("conditions", extract_conditions),
};

static const struct json_field pod_fields[] = {
	JSON_NESTED("metadata", pod_metadata),
	EXTRACT_KIND_FIELDS(struct evicted_pod_object),
	JSON_NESTED("spec", pod_spec),
	JSON_NESTED("status", pod_status),
};

int extract_evicted_pod(const char *json, size_t bytes, struct arena *arena,
                        struct evicted_pod_object *out, struct decode_error *error)
{
	*out = (struct evicted_pod_object){ .owner = EXTRACT_OWNER_NONE,
		                                .scheduler_name = TEXT_NONE,
		                                .priority_class = TEXT_NONE,
		                                .policy = TEXT_NONE,
		                                .nominated = TEXT_NONE };
	extract_meta_start(&out->meta);
	if (extract_document(json, bytes, arena, pod_fields, out, &out->meta, "Pod", error) < 0)
		return -EINVAL;
	if (out->scheduler_name.bytes == 0)
		out->scheduler_name = text_of("default-scheduler");
	return 0;
}

/* "Pod" or "PodGroup" of 1.36, {"single": {}} or {"all": {}} of 1.37; a group of another dialect
 * has something else there, or nothing. */
static void extract_mode(struct json *j, void *mode)
{
	struct text *out = mode, raw;
	struct json inner;

	if (!json_raw(j, &raw))
		return;
	*out = TEXT_NONE;
	json_begin(&inner, raw.at, raw.bytes, j->arena);
	if (raw.at[0] == '"')
		json_string(&inner, out);
	else if (raw.at[0] == '{' && json_object(&inner))
		json_key(&inner, out);
}

static const struct json_field group_spec[] = {
	JSON_FIELD("disruptionMode", extract_mode, struct evicted_group_object, mode),
};

static const struct json_field group_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct evicted_group_object),
	JSON_NESTED("spec", group_spec),
};

int extract_evicted_group(const char *json, size_t bytes, struct arena *arena,
                          struct evicted_group_object *out, struct decode_error *error)
{
	*out = (struct evicted_group_object){ .mode = TEXT_NONE };
	extract_meta_start(&out->meta);
	return extract_document(json, bytes, arena, group_fields, out, &out->meta, "PodGroup", error);
}

static const struct json_field class_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct priority_class_object),
	JSON_FIELD("preemptionPolicy", json_field_text, struct priority_class_object, policy),
	JSON_FIELD("globalDefault", json_field_bool, struct priority_class_object, is_default),
};

int extract_priority_class(const char *json, size_t bytes, struct arena *arena,
                           struct priority_class_object *out, struct decode_error *error)
{
	*out = (struct priority_class_object){ .policy = TEXT_NONE };
	extract_meta_start(&out->meta);
	return extract_document(json, bytes, arena, class_fields, out, &out->meta, "PriorityClass",
	                        error);
}

static bool text_among(struct text t, const struct text *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_equal(t, list[i]))
			return true;
	return false;
}

static const struct text *label_of(const struct pairs *labels, struct text key)
{
	for (size_t i = 0; i < labels->n; i++)
		if (text_equal(labels->at[i].key, key))
			return &labels->at[i].value;
	return NULL;
}

bool selector_object_matches(const struct selector_object *selector, const struct pairs *labels)
{
	for (size_t i = 0; i < selector->rules.n; i++) {
		const struct node_rule *r = &selector->rules.rules[i];
		const struct text *value = label_of(labels, r->key);
		const bool among = value && text_among(*value, r->values, r->values_n);

		if ((r->op == REQUIRE_IN && !among) || (r->op == REQUIRE_NOT_IN && among) ||
		    (r->op == REQUIRE_EXISTS && !value) || (r->op == REQUIRE_NOT_EXISTS && value) ||
		    r->is_void)
			return false;
	}
	return selector->is_given;
}

bool annotation_is(const struct meta *meta, const char *key, const char *value, struct arena *arena)
{
	const char *text = annotation_find(&meta->annotations, key, arena);

	return text && strcmp(text, value) == 0;
}

bool extract_is_marked(const struct meta *meta, const char *key, const char *value,
                       struct arena *arena)
{
	const struct text *label = pairs_find(&meta->labels, key);

	return (label && text_is(*label, value)) || annotation_is(meta, key, value, arena);
}

/* GetDeletionCostFromPodAnnotations() of k8s.io/kubernetes: neither a plus sign nor leading zeros,
 * but after a minus sign. */
int32_t extract_deletion_cost(const struct meta *meta, struct arena *arena)
{
	const char *text =
		annotation_find(&meta->annotations, "controller.kubernetes.io/pod-deletion-cost", arena);
	int64_t n;

	if (!text || text[0] == '+' || (text[0] == '0' && text[1]) || !int64_parse(text_of(text), &n))
		return 0;
	return n < INT32_MIN || n > INT32_MAX ? 0 : (int32_t)n;
}

/* getCompletionIndex() of its Job controller. */
int32_t extract_completion_index(const struct meta *meta, struct arena *arena)
{
	const char *text =
		annotation_find(&meta->annotations, "batch.kubernetes.io/job-completion-index", arena);
	int64_t n;

	if (!text || !int64_parse(text_of(text), &n) || n < 0)
		return -1;
	return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

static bool has_mark(const struct meta *meta, const char *const marks[][2], size_t n,
                     struct arena *arena)
{
	for (size_t i = 0; i < n; i++)
		if (extract_is_marked(meta, marks[i][0], marks[i][1], arena))
			return true;
	return false;
}

bool extract_opts_out(const struct meta *meta, struct arena *arena)
{
	static const char *const no[][2] = {
		{ "muster.dev/preemptible", "false" },
		{ "volcano.sh/preemptable", "false" },
		{ "quota.scheduling.koordinator.sh/preemptible", "false" },
		{ "yunikorn.apache.org/allow-preemption", "false" },
		{ "kai.scheduler/preemptibility", "non-preemptible" },
	};

	return has_mark(meta, no, sizeof(no) / sizeof(no[0]), arena);
}

/* Kubeflow's trainers, KubeRay, LeaderWorkerSet, and the default name of the master's task in the
 * plugins of Volcano. */
bool extract_leads(const struct meta *meta, struct arena *arena)
{
	static const char *const leaders[][2] = {
		{ "training.kubeflow.org/job-role", "master" },
		{ "training.kubeflow.org/job-role", "launcher" },
		{ "ray.io/node-type", "head" },
		{ "leaderworkerset.sigs.k8s.io/worker-index", "0" },
		{ "volcano.sh/task-spec", "master" },
	};

	return has_mark(meta, leaders, sizeof(leaders) / sizeof(leaders[0]), arena);
}

bool extract_is_spared(const struct meta *meta, const struct owner_object *owner,
                       struct arena *arena)
{
	return text_is(owner->kind, "DaemonSet") ||
	       pairs_find(&meta->annotations, "kubernetes.io/config.mirror") ||
	       extract_opts_out(meta, arena);
}
