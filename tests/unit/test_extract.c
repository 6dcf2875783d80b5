/* The extractor against a slow one over cJSON's tree, and the effective request
 * by hand. */
#include "frontend/extract.h"

#include "tests/unit/support_kubectl.h"
#include "tests/unit/support_random.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- the slow one ------------------------------------------------------------------ */

static const cJSON *get(const cJSON *object, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNull(value) ? NULL : value;
}

static const char *string(const cJSON *object, const char *name)
{
	const cJSON *value = get(object, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

static void same_text(struct text t, const char *expected, const char *what)
{
	cr_assert(strlen(expected) == t.bytes && (t.bytes == 0 || memcmp(expected, t.at, t.bytes) == 0),
		  "%s: \"%.*s\", not \"%s\"", what, (int)t.bytes, t.at ? t.at : "", expected);
}

static void same_pairs(const struct pairs *p, const cJSON *map, struct arena *raw)
{
	const cJSON *value;

	cr_assert_eq((int)p->n, cJSON_GetArraySize(map));
	cJSON_ArrayForEach(value, map)
	{
		const struct text *found = pairs_find(p, value->string);

		cr_assert(found, "%s", value->string);
		if (raw)
			cr_assert_str_eq(extract_annotation(*found, raw), value->valuestring);
		else
			same_text(*found, value->valuestring, value->string);
	}
}

static void same_meta(const struct meta *m, const cJSON *object, struct arena *arena)
{
	const cJSON *metadata = get(object, "metadata");
	struct tm tm = { 0 };

	same_text(m->name, string(metadata, "name"), "name");
	same_text(m->namespace, string(metadata, "namespace"), "namespace");
	same_text(m->uid, string(metadata, "uid"), "uid");
	same_text(m->version, string(metadata, "resourceVersion"), "resourceVersion");
	cr_assert_eq(m->deleting, get(metadata, "deletionTimestamp") != NULL);
	if (get(metadata, "creationTimestamp")) {
		cr_assert(strptime(string(metadata, "creationTimestamp"), "%Y-%m-%dT%H:%M:%SZ", &tm));
		cr_assert_eq(m->created_ns, (uint64_t)timegm(&tm) * 1000000000);
	}
	same_pairs(&m->labels, get(metadata, "labels"), NULL);
	same_pairs(&m->annotations, get(metadata, "annotations"), arena);
}

static bool any_required(const cJSON *affinity, const char *kind)
{
	return cJSON_GetArraySize(get(get(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")) > 0;
}

static bool any_preferred(const cJSON *affinity, const char *kind)
{
	return cJSON_GetArraySize(get(get(affinity, kind), "preferredDuringSchedulingIgnoredDuringExecution")) > 0;
}

static bool has_host_port(const cJSON *spec)
{
	const char *const lists[] = { "containers", "initContainers" };
	const cJSON *container, *port;

	for (int i = 0; i < 2; i++) {
		cJSON_ArrayForEach(container, get(spec, lists[i]))
		{
			if (i == 1 && strcmp(string(container, "restartPolicy"), "Always") != 0)
				continue;
			cJSON_ArrayForEach(port, get(container, "ports"))
				if (get(port, "hostPort") || cJSON_IsTrue(get(spec, "hostNetwork")))
					return true;
		}
	}
	return false;
}

static bool has_volume(const cJSON *spec, const char *kind)
{
	const cJSON *volume;

	cJSON_ArrayForEach(volume, get(spec, "volumes"))
		if (get(volume, kind))
			return true;
	return false;
}

static uint32_t asks_of(const cJSON *spec, bool *soft)
{
	const cJSON *affinity = get(spec, "affinity"), *item;
	uint32_t asks = 0;

	*soft = any_preferred(affinity, "podAffinity") || any_preferred(affinity, "podAntiAffinity");
	cJSON_ArrayForEach(item, get(get(affinity, "nodeAffinity"), "preferredDuringSchedulingIgnoredDuringExecution"))
		*soft |= cJSON_GetArraySize(get(get(item, "preference"), "matchExpressions")) > 0 ||
			 cJSON_GetArraySize(get(get(item, "preference"), "matchFields")) > 0;
	asks |= any_required(affinity, "podAffinity") ? ASKS_POD_AFFINITY : 0;
	asks |= any_required(affinity, "podAntiAffinity") ? ASKS_POD_ANTI_AFFINITY : 0;
	asks |= has_host_port(spec) ? ASKS_HOST_PORT : 0;
	asks |= has_volume(spec, "persistentVolumeClaim") ? ASKS_CLAIM : 0;
	asks |= has_volume(spec, "ephemeral") ? ASKS_EPHEMERAL_VOLUME : 0;
	asks |= has_volume(spec, "awsElasticBlockStore") || has_volume(spec, "gcePersistentDisk") ||
		has_volume(spec, "iscsi") || has_volume(spec, "rbd") || has_volume(spec, "azureDisk") ||
		has_volume(spec, "cinder") ? ASKS_DISK : 0;
	asks |= cJSON_GetArraySize(get(spec, "resourceClaims")) > 0 ? ASKS_RESOURCE_CLAIM : 0;
	cJSON_ArrayForEach(item, get(spec, "topologySpreadConstraints"))
	{
		if (strcmp(string(item, "whenUnsatisfiable"), "ScheduleAnyway") == 0)
			*soft = true;
		else
			asks |= ASKS_SPREAD;
	}
	return asks;
}

static void same_terms(const struct pod_object *pod, const cJSON *spec)
{
	static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };
	const cJSON *required = get(get(get(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution");
	const cJSON *term, *rule, *value;
	size_t t = 0;

	cr_assert_eq(pod->has_node_terms, required != NULL);
	cJSON_ArrayForEach(term, get(required, "nodeSelectorTerms"))
	{
		const struct node_term *found = &pod->terms[t++];
		size_t r = 0;

		cr_assert_leq(t, pod->terms_n);
		for (const cJSON *list = term->child; list; list = list->next) {
			cJSON_ArrayForEach(rule, list)
			{
				const struct node_rule *f = &found->rules[r++];
				size_t v = 0;

				cr_assert_leq(r, found->n);
				same_text(f->key, string(rule, "key"), "key");
				cr_assert_str_eq(operators[f->op], string(rule, "operator"));
				cr_assert_eq(f->is_field, strcmp(list->string, "matchFields") == 0);
				cJSON_ArrayForEach(value, get(rule, "values"))
					same_text(f->values[v++], value->valuestring, "value");
				cr_assert_eq(v, f->values_n);
			}
		}
		cr_assert_eq(r, found->n);
	}
	cr_assert_eq(t, pod->terms_n);
}

static void same_tolerations(const struct pod_object *pod, const cJSON *spec)
{
	static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute" };
	const cJSON *item;
	size_t n = 0;

	cJSON_ArrayForEach(item, get(spec, "tolerations"))
	{
		const struct toleration_object *t = &pod->tolerations[n++];

		cr_assert_leq(n, pod->tolerations_n);
		same_text(t->key, string(item, "key"), "key");
		same_text(t->value, string(item, "value"), "value");
		cr_assert_str_eq(effects[t->effect], string(item, "effect"));
		cr_assert_eq(t->exists, strcmp(string(item, "operator"), "Exists") == 0);
	}
	cr_assert_eq(n, pod->tolerations_n);
}

static void same_pod(const cJSON *object, struct arena *arena)
{
	const cJSON *spec = get(object, "spec"), *status = get(object, "status"), *item;
	char *text = cJSON_PrintUnformatted(object);
	struct pod_object pod;
	struct decode_error error;
	const char *condition = "";
	bool soft;

	cr_assert_eq(extract_pod(text, strlen(text), arena, &pod, &error), 0, "%s: %s %s", error.object, error.field, error.text);
	same_meta(&pod.meta, object, arena);
	same_text(pod.scheduler_name, string(spec, "schedulerName"), "schedulerName");
	same_text(pod.node_name, string(spec, "nodeName"), "nodeName");
	cr_assert_eq(pod.priority, get(spec, "priority") ? get(spec, "priority")->valueint : 0);
	cr_assert_eq(pod.gated, cJSON_GetArraySize(get(spec, "schedulingGates")) > 0);
	cr_assert_eq(pod.asks & ~(uint32_t)ASKS_DECLARED_FEATURE, asks_of(spec, &soft));
	cr_assert_eq(pod.has_soft_rules, soft);
	same_pairs(&pod.node_selector, get(spec, "nodeSelector"), NULL);
	same_terms(&pod, spec);
	same_tolerations(&pod, spec);
	cr_assert_eq((int)pod.containers_n, cJSON_GetArraySize(get(spec, "containers")) + cJSON_GetArraySize(get(spec, "initContainers")));
	cr_assert_eq(pod.ended, strcmp(string(status, "phase"), "Succeeded") == 0 || strcmp(string(status, "phase"), "Failed") == 0);
	cJSON_ArrayForEach(item, get(status, "conditions"))
		if (strcmp(string(item, "type"), "PodScheduled") == 0)
			condition = string(item, "status");
	same_text(pod.condition_status, condition, "PodScheduled");
	free(text);
}

static void same_node(const cJSON *object, struct arena *arena)
{
	const cJSON *spec = get(object, "spec"), *item;
	char *text = cJSON_PrintUnformatted(object);
	struct node_object node;
	struct decode_error error;
	size_t n = 0;

	cr_assert_eq(extract_node(text, strlen(text), arena, &node, &error), 0, "%s: %s %s", error.object, error.field, error.text);
	same_meta(&node.meta, object, arena);
	cr_assert_eq(node.cordoned, cJSON_IsTrue(get(spec, "unschedulable")));
	cJSON_ArrayForEach(item, get(spec, "taints"))
	{
		same_text(node.taints[n].key, string(item, "key"), "key");
		same_text(node.taints[n++].value, string(item, "value"), "value");
	}
	cr_assert_eq(n, node.taints_n);
	for (size_t i = 0; i < node.allocatable.n; i++) {
		const struct quantity_of *q = &node.allocatable.at[i];
		char name[300];
		nano_t amount;

		snprintf(name, sizeof(name), "%.*s", (int)node.resources.at[q->resource].bytes, node.resources.at[q->resource].at);
		item = get(get(get(object, "status"), "allocatable"), name);
		cr_assert(item, "%s", name);
		cr_assert_eq(quantity_parse(item->valuestring, strlen(item->valuestring), &amount), 0);
		cr_assert(amount == q->amount);
	}
	free(text);
}

struct seen {
	size_t pods, nodes;
};

static void same_cluster(void *context, const char *path, const char *expect)
{
	struct seen *seen = context;
	cJSON *list = kubectl_read(path);
	struct arena arena = { 0 };
	const cJSON *item;

	cr_assert(list, "%s", path);
	cJSON_ArrayForEach(item, get(list, "items"))
	{
		arena_reset(&arena);
		if (strcmp(string(item, "kind"), "Pod") == 0) {
			same_pod(item, &arena);
			seen->pods++;
		} else if (strcmp(string(item, "kind"), "Node") == 0) {
			same_node(item, &arena);
			seen->nodes++;
		}
	}
	arena_free(&arena);
	cJSON_Delete(list);
}

Test(extract, as_the_slow_one)
{
	struct seen seen = { 0 };

	kubectl_verdicts(same_cluster, &seen);
	printf("%zu pods, %zu nodes\n", seen.pods, seen.nodes);
	cr_assert(seen.pods > 100 && seen.nodes > 30);
}

/* ---- broken ones --------------------------------------------------------------------- */

/* Bytes of real objects changed at random: read or refused with a text, never past
 * the end, and the short reading agrees on who it is. */
static void break_cluster(void *context, const char *path, const char *expect)
{
	struct random *r = context;
	cJSON *list = kubectl_read(path);
	struct arena arena = { 0 };
	const cJSON *item;

	if (strncmp(path, "tests/", 6) != 0) {
		cJSON_Delete(list);
		return;
	}
	cJSON_ArrayForEach(item, get(list, "items"))
	{
		char *text = cJSON_PrintUnformatted(item);

		for (int round = 0; round < 40; round++) {
			size_t n = strlen(text), cut = random_below(r, 4) ? n : random_below(r, (uint32_t)n + 1);
			char *copy = malloc(cut + (cut == 0));
			struct pod_object pod, basics;
			struct node_object node;
			struct decode_error error = { .text = "" };
			int rc;

			cr_assert(copy);
			memcpy(copy, text, cut);
			for (uint32_t i = random_below(r, 4); i > 0 && cut > 0; i--)
				copy[random_below(r, (uint32_t)cut)] = "{}[]\",:0n-\\\x01\xff"[random_below(r, 13)];
			arena_reset(&arena);
			rc = extract_pod(copy, cut, &arena, &pod, &error);
			cr_assert(rc == 0 || (rc == -EINVAL && error.text[0]));
			if (rc == 0) {
				struct effective e;

				extract_effective(&pod, true, &e);
				cr_assert_eq(extract_pod_basics(copy, cut, &arena, &basics, NULL), 0);
				cr_assert(text_equal(pod.meta.name, basics.meta.name) && text_equal(pod.node_name, basics.node_name));
				cr_assert_eq(pod.ended, basics.ended);
			}
			rc = extract_node(copy, cut, &arena, &node, &error);
			cr_assert(rc == 0 || (rc == -EINVAL && error.text[0]));
			free(copy);
		}
		free(text);
	}
	arena_free(&arena);
	cJSON_Delete(list);
}

Test(extract, broken_objects_are_no_harm)
{
	struct random r = random_start("extract broken");

	kubectl_verdicts(break_cluster, &r);
}

/* ---- times ------------------------------------------------------------------------------ */

static bool created(const char *time, uint64_t *out)
{
	char json[200];
	struct arena arena = { 0 };
	struct meta meta;
	int n = snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":\"%s\"}}", time), rc;

	rc = extract_meta(json, (size_t)n, &arena, &meta, NULL);
	*out = meta.created_ns;
	arena_free(&arena);
	return rc == 0;
}

Test(extract, times)
{
	static const char *const bad[] = { "now", "2026-03-05", "2026-03-05T12:15:08", "2026-13-05T12:15:08Z", "2026-03-05 12:15:08Z",
					   "2026-03-05T25:15:08Z", "2026-03-05T12:15:08+1", "2026-03-05T12:15:08Zx" };
	struct random r = random_start("times");
	uint64_t t;

	cr_assert(created("2026-03-05T12:15:08Z", &t) && t == UINT64_C(1772712908000000000));
	cr_assert(created("2026-03-05T13:15:08.25+01:00", &t) && t == UINT64_C(1772712908250000000));
	cr_assert(created("1969-12-31T23:59:59Z", &t) && t == 0);
	cr_assert(created("9999-12-31T23:59:59Z", &t) && t == INT64_MAX);
	cr_assert(created("", &t) && t == 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(created(bad[i], &t), "%s", bad[i]);
	for (int i = 0; i < 20000; i++) {
		time_t seconds = (time_t)(random_next(&r) % UINT64_C(9000000000));
		char text[40];
		struct tm tm;

		gmtime_r(&seconds, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
		cr_assert(created(text, &t) && t == (uint64_t)seconds * 1000000000, "%s", text);
	}
}

/* ---- the effective request ----------------------------------------------------------------- */

#define R(cpu, memory) "\"resources\":{\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}"

static struct effective effective_of(const char *spec, const char *status, bool bound, struct pod_object *pod)
{
	char json[4096];
	struct arena arena = { 0 };
	struct effective e;
	struct decode_error error;
	int n = snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"p\"},\"spec\":{%s},\"status\":{%s}}", spec, status);

	cr_assert_eq(extract_pod(json, (size_t)n, &arena, pod, &error), 0, "%s %s", error.field, error.text);
	extract_effective(pod, bound, &e);
	arena_free(&arena);
	return e;
}

Test(extract, effective_requests)
{
	static const struct {
		const char *what, *spec, *status;
		bool bound;
		int64_t cpu, memory, scored_cpu, scored_memory;
	} rows[] = {
		{ "containers add up and are rounded once",
		  "\"containers\":[{" R("0.5m", "1500m") "},{" R("0.5m", "1500m") "},{" R("0.5m", "1500m") "}]", "", false, 2, 5, 2, 5 },
		{ "nothing asked for: scores count something for each container",
		  "\"containers\":[{},{}],\"initContainers\":[{}]", "", false, 0, 0, 200, 419430400 },
		{ "a zero that is written stays zero", "\"containers\":[{" R("0", "0") "}]", "", false, 0, 0, 0, 0 },
		{ "the largest init container, if it is more than all others",
		  "\"containers\":[{" R("1", "1") "}],\"initContainers\":[{" R("3", "2") "},{" R("2", "9") "}]", "", false, 3000, 9, 3000, 9 },
		{ "a sidecar runs beside containers and beside later init containers",
		  "\"containers\":[{" R("1", "1") "}],\"initContainers\":[{" R("2", "1") "},{\"restartPolicy\":\"Always\"," R("1", "1") "},{" R("2", "1") "}]",
		  "", false, 3000, 2, 3000, 2 },
		{ "overhead comes on top", "\"containers\":[{" R("1", "10") "}],\"overhead\":{\"cpu\":\"250m\",\"memory\":\"5\"}", "", false, 1250, 15, 1250, 15 },
		{ "limits are requests where there are none",
		  "\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"7\"},\"requests\":{\"cpu\":\"1\"}}}]", "", false, 1000, 7, 1000, 7 },
		{ "the pod level goes before its containers, but not in the score of a new pod",
		  "\"containers\":[{" R("1", "10") "}],\"resources\":{\"requests\":{\"cpu\":\"5\"}}", "", false, 5000, 10, 1000, 10 },
		{ "of a bound pod the pod level is scored", "\"containers\":[{" R("1", "10") "}],\"resources\":{\"requests\":{\"cpu\":\"5\"}}", "", true, 5000, 10, 5000, 10 },
		{ "a pod's limit is its request if no container asks",
		  "\"containers\":[{}],\"resources\":{\"limits\":{\"cpu\":\"5\",\"memory\":\"6\"}}", "", true, 5000, 6, 5000, 6 },
		{ "a container's request goes before the pod's limit",
		  "\"containers\":[{" R("1", "2") "}],\"resources\":{\"limits\":{\"cpu\":\"5\",\"memory\":\"6\"}}", "", true, 1000, 2, 1000, 2 },
		{ "what was given counts while a container is resized",
		  "\"containers\":[{\"name\":\"a\"," R("1", "1") "}]", "\"containerStatuses\":[{\"name\":\"a\"," R("2", "1") ",\"allocatedResources\":{\"memory\":\"3\"}}]",
		  true, 2000, 3, 2000, 3 },
		{ "... not for a pod that waits", "\"containers\":[{\"name\":\"a\"," R("1", "1") "}]", "\"containerStatuses\":[{\"name\":\"a\"," R("2", "1") "}]",
		  false, 1000, 1, 1000, 1 },
		{ "... and alone when the resize can't be", "\"containers\":[{\"name\":\"a\"," R("9", "1") "}]",
		  "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\"}],"
		  "\"containerStatuses\":[{\"name\":\"a\"," R("2", "1") "}]", true, 2000, 1, 2000, 1 },
		{ "what saturates stays so", "\"containers\":[{" R("9223372036854775807", "8Ei") "},{" R("1e30", "8Ei") "}]", "", false,
		  INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX },
	};
	static struct pod_object pod;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct effective e = effective_of(rows[i].spec, rows[i].status, rows[i].bound, &pod);

		cr_assert_eq(e.amount[RESOURCE_CPU], rows[i].cpu, "%s: cpu %lld", rows[i].what, (long long)e.amount[RESOURCE_CPU]);
		cr_assert_eq(e.amount[RESOURCE_MEMORY], rows[i].memory, "%s: memory %lld", rows[i].what, (long long)e.amount[RESOURCE_MEMORY]);
		cr_assert_eq(e.scored_cpu_milli, rows[i].scored_cpu, "%s: scored %lld", rows[i].what, (long long)e.scored_cpu_milli);
		cr_assert_eq(e.scored_memory_bytes, rows[i].scored_memory, "%s: scored %lld", rows[i].what, (long long)e.scored_memory_bytes);
	}
}

Test(extract, which_resources_count)
{
	static const char *const counted[] = { "cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu", "hugepages-2Mi",
					       "attachable-volumes-x", "kubernetes.io/x", "requests.kubernetes.io/x" };
	static const char *const passed_over[] = { "", "storage", "gpu", "requests.example.com/x", "cpux" };

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		cr_assert(extract_is_counted(text_of(counted[i])), "%s", counted[i]);
	for (size_t i = 0; i < sizeof(passed_over) / sizeof(passed_over[0]); i++)
		cr_assert_not(extract_is_counted(text_of(passed_over[i])), "%s", passed_over[i]);
}

/* A pod can't name more resources than there are columns, and says so. */
Test(extract, too_many_resources)
{
	char json[8192];
	struct arena arena = { 0 };
	static struct pod_object pod;
	struct decode_error error;
	int n = snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"overhead\":{");

	for (int i = 0; i < 61; i++)
		n += snprintf(json + n, sizeof(json) - (size_t)n, "%s\"a/%d\":\"1\"", i ? "," : "", i);
	n += snprintf(json + n, sizeof(json) - (size_t)n, "}}}");
	cr_assert_eq(extract_pod(json, (size_t)n, &arena, &pod, &error), -EINVAL);
	cr_assert_str_eq(error.field, "spec.overhead[\"a/60\"]");
	cr_assert_str_eq(error.text, "is one of more than 64 resources");
	arena_free(&arena);
}
