/* SPDX-License-Identifier: Apache-2.0 */
/* The extractor against a slow one over cJSON's tree, and the effective request
 * by hand. */
#include "frontend/decode/extract.h"

#include "tests/unit/support_extract.h"
#include "tests/unit/support_kubectl.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <time.h>

static struct pod_object pod;
static struct node_object node;

struct seen {
	size_t pods, nodes, others;
};

#define CHECK(kind, differs, ...)                                                                  \
	do {                                                                                           \
		cr_assert_eq(extract_##kind(text, n, arena, __VA_ARGS__, &error), 0, "%s: %s: %s",         \
		             error.object, error.field, error.text);                                       \
		wrong = differs;                                                                           \
	} while (0)

/* Which of the others it is; false when it is none that is read here. */
static bool same_other(const char *kind, const cJSON *object, const char *text, size_t n,
                       struct arena *arena)
{
	static const char *const controllers[] = { "ReplicaSet", "StatefulSet",
		                                       "ReplicationController" };
	struct decode_error error = { .text = "" };
	struct service_object service;
	struct controller_object controller;
	struct meta meta;
	const char *wrong = NULL;
	bool found = true;

	if (strcmp(kind, "Namespace") == 0)
		CHECK(namespace, meta_differs(&meta, object), &meta);
	else if (strcmp(kind, "Service") == 0)
		CHECK(service, service_differs(&service, object), &service);
	else
		found = false;
	for (int i = 0; i < 3 && !found; i++) {
		if (strcmp(kind, controllers[i]) != 0)
			continue;
		CHECK(controller, controller_differs(&controller, object, i == 2), kind, &controller);
		found = true;
	}
	cr_assert_null(wrong, "%s: %s", text, wrong);
	return found;
}

static void same_object(const cJSON *object, struct arena *arena, struct seen *seen)
{
	const char *kind = tree_string(tree_get(object, "kind")), *wrong = NULL;
	char *text = cJSON_PrintUnformatted(object);
	size_t n = strlen(text);
	struct decode_error error = { .text = "" };

	if (strcmp(kind, "Pod") == 0) {
		CHECK(pod, pod_differs(&pod, object), &pod);
		seen->pods++;
	} else if (strcmp(kind, "Node") == 0) {
		CHECK(node, node_differs(&node, object), &node);
		seen->nodes++;
	} else {
		seen->others += same_other(kind, object, text, n, arena);
	}
	cr_assert_null(wrong, "%s: %s", text, wrong);
	free(text);
}

static void same_cluster(void *context, const char *path, const char *expect)
{
	cJSON *list = kubectl_read(path);
	struct arena arena = { 0 };
	const cJSON *item;

	cr_assert(list, "%s", path);
	cJSON_ArrayForEach(item, tree_get(list, "items"))
	{
		arena_reset(&arena);
		same_object(item, &arena, context);
	}
	arena_free(&arena);
	cJSON_Delete(list);
}

Test(extract, as_the_slow_one)
{
	struct seen seen = { 0 };

	kubectl_verdicts(same_cluster, &seen);
	printf("%zu pods, %zu nodes, %zu others\n", seen.pods, seen.nodes, seen.others);
	cr_assert(seen.pods > 100 && seen.nodes > 30 && seen.others > 30);
}

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
	cJSON_ArrayForEach(item, tree_get(list, "items"))
	{
		char *text = cJSON_PrintUnformatted(item);

		for (int round = 0; round < 40; round++) {
			size_t n = strlen(text),
				   cut = random_below(r, 4) ? n : random_below(r, (uint32_t)n + 1);
			char *copy = malloc(cut + (cut == 0));
			struct pod_object basics;
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
				cr_assert(text_equal(pod.meta.name, basics.meta.name) &&
				          text_equal(pod.node_name, basics.node_name));
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

static bool created(const char *time, uint64_t *out)
{
	char json[200];
	struct arena arena = { 0 };
	struct meta meta;
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"x\",\"creationTimestamp\":\"%s\"}}", time),
		rc;

	rc = extract_meta(json, (size_t)n, &arena, &meta, NULL);
	*out = meta.created_ns;
	arena_free(&arena);
	return rc == 0;
}

Test(extract, times)
{
	static const char *const bad[] = { "now",
		                               "2026-03-05",
		                               "2026-03-05T12:15:08",
		                               "2026-13-05T12:15:08Z",
		                               "2026-03-05 12:15:08Z",
		                               "2026-03-05T25:15:08Z",
		                               "2026-03-05T12:15:08+1",
		                               "2026-03-05T12:15:08Zx" };
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

#define R(cpu, memory)                                                                             \
	"\"resources\":{\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}"

static struct effective effective_of(const char *spec, const char *status, bool bound)
{
	char json[4096];
	struct arena arena = { 0 };
	struct effective e;
	struct decode_error error;
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"p\"},\"spec\":{%s},\"status\":{%s}}", spec, status);

	cr_assert_eq(extract_pod(json, (size_t)n, &arena, &pod, &error), 0, "%s %s", error.field,
	             error.text);
	extract_effective(&pod, bound, &e);
	arena_free(&arena);
	return e;
}

struct effective_row {
	const char *what, *spec, *status;
	bool bound;
	int64_t cpu, memory, scored_cpu, scored_memory;
};

static void check_effective(const struct effective_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct effective e = effective_of(rows[i].spec, rows[i].status, rows[i].bound);

		cr_assert_eq(e.amount[RESOURCE_CPU], rows[i].cpu, "%s: cpu %lld", rows[i].what,
		             (long long)e.amount[RESOURCE_CPU]);
		cr_assert_eq(e.amount[RESOURCE_MEMORY], rows[i].memory, "%s: memory %lld", rows[i].what,
		             (long long)e.amount[RESOURCE_MEMORY]);
		cr_assert_eq(e.scored_cpu_milli, rows[i].scored_cpu, "%s: scored %lld", rows[i].what,
		             (long long)e.scored_cpu_milli);
		cr_assert_eq(e.scored_memory_bytes, rows[i].scored_memory, "%s: scored %lld", rows[i].what,
		             (long long)e.scored_memory_bytes);
	}
}

Test(extract, effective_requests_of_containers)
{
	static const struct effective_row rows[] = {
		{ "containers add up and are rounded once",
		  "\"containers\":[{" R("0.5m", "1500m") "},{" R("0.5m", "1500m") "},{" R("0.5m",
		                                                                          "1500m") "}]",
		  "", false, 2, 5, 2, 5 },
		{ "nothing asked for: scores count something for each container",
		  "\"containers\":[{},{}],\"initContainers\":[{}]", "", false, 0, 0, 200, 419430400 },
		{ "a zero that is written stays zero", "\"containers\":[{" R("0", "0") "}]", "", false, 0,
		  0, 0, 0 },
		{ "the largest init container, if it is more than all others",
		  "\"containers\":[{" R("1", "1") "}],\"initContainers\":[{" R("3", "2") "},{" R("2",
		                                                                                 "9") "}]",
		  "", false, 3000, 9, 3000, 9 },
		{ "a sidecar runs beside containers and beside later init containers",
		  "\"containers\":[{" R("1", "1") "}],\"initContainers\":[{" R(
			  "2", "1") "},{\"restartPolicy\":\"Always\"," R("1", "1") "},{" R("2", "1") "}]",
		  "", false, 3000, 2, 3000, 2 },
		{ "overhead comes on top",
		  "\"containers\":[{" R("1", "10") "}],\"overhead\":{\"cpu\":\"250m\",\"memory\":\"5\"}",
		  "", false, 1250, 15, 1250, 15 },
		{ "limits are requests where there are none",
		  "\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"7\"},\"requests\":{\"cpu\":\"1\"}}}]",
		  "", false, 1000, 7, 1000, 7 },
		{ "what saturates stays so",
		  "\"containers\":[{" R("9223372036854775807", "8Ei") "},{" R("1e30", "8Ei") "}]", "",
		  false, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX },
	};

	check_effective(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract, effective_requests_of_the_pod_level)
{
	static const struct effective_row rows[] = {
		{ "the pod level goes before its containers, but not in the score of a new pod",
		  "\"containers\":[{" R("1", "10") "}],\"resources\":{\"requests\":{\"cpu\":\"5\"}}", "",
		  false, 5000, 10, 1000, 10 },
		{ "of a bound pod the pod level is scored",
		  "\"containers\":[{" R("1", "10") "}],\"resources\":{\"requests\":{\"cpu\":\"5\"}}", "",
		  true, 5000, 10, 5000, 10 },
		{ "a pod's limit is its request if no container asks",
		  "\"containers\":[{}],\"resources\":{\"limits\":{\"cpu\":\"5\",\"memory\":\"6\"}}", "",
		  true, 5000, 6, 5000, 6 },
		{ "a container's request goes before the pod's limit",
		  "\"containers\":[{" R(
			  "1", "2") "}],\"resources\":{\"limits\":{\"cpu\":\"5\",\"memory\":\"6\"}}",
		  "", true, 1000, 2, 1000, 2 },
	};

	check_effective(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract, effective_requests_while_a_container_is_resized)
{
	static const struct effective_row rows[] = {
		{ "what was given counts while a container is resized",
		  "\"containers\":[{\"name\":\"a\"," R("1", "1") "}]",
		  "\"containerStatuses\":[{\"name\":\"a\"," R(
			  "2", "1") ",\"allocatedResources\":{\"memory\":\"3\"}}]",
		  true, 2000, 3, 2000, 3 },
		{ "... not for a pod that waits", "\"containers\":[{\"name\":\"a\"," R("1", "1") "}]",
		  "\"containerStatuses\":[{\"name\":\"a\"," R("2", "1") "}]", false, 1000, 1, 1000, 1 },
		{ "... and alone when the resize can't be",
		  "\"containers\":[{\"name\":\"a\"," R("9", "1") "}]",
		  "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\"}],"
		  "\"containerStatuses\":[{\"name\":\"a\"," R("2", "1") "}]",
		  true, 2000, 1, 2000, 1 },
		{ "what the pod was given counts while it is resized",
		  "\"containers\":[{" R("1", "1") "}]," R("5", "5"),
		  R("3", "9") ",\"allocatedResources\":{\"cpu\":\"7\"}", true, 7000, 9, 7000, 9 },
		{ "... not for a pod that waits", "\"containers\":[{" R("1", "1") "}]," R("5", "5"),
		  R("6", "9"), false, 5000, 5, 1000, 1 },
		{ "... and alone when that can't be", "\"containers\":[{" R("1", "1") "}]," R("5", "5"),
		  "\"conditions\":[{\"type\":\"PodResizePending\",\"reason\":\"Infeasible\"}]," R("3", "4"),
		  true, 3000, 4, 3000, 4 },
		{ "... which leaves to the containers what the pod was not given",
		  "\"containers\":[{" R("4", "1") "}]," R("100", "5"),
		  "\"conditions\":[{\"type\":\"PodResizePending\",\"reason\":\"Infeasible\"}],"
		  "\"resources\":{\"requests\":{\"memory\":\"4\"}}",
		  true, 4000, 4, 4000, 4 },
		{ "... nothing of it without a request of the pod", "\"containers\":[{" R("1", "1") "}]",
		  R("3", "9"), true, 1000, 1, 1000, 1 },
	};

	check_effective(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract, which_resources_count)
{
	static const char *const counted[] = { "cpu",
		                                   "memory",
		                                   "ephemeral-storage",
		                                   "pods",
		                                   "nvidia.com/gpu",
		                                   "hugepages-2Mi",
		                                   "attachable-volumes-x",
		                                   "kubernetes.io/x",
		                                   "requests.kubernetes.io/x" };
	static const char *const passed_over[] = { "", "storage", "gpu", "requests.example.com/x",
		                                       "cpux" };

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
