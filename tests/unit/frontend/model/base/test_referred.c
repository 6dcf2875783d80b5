/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of referred objects (limits.h): an object above it is reported, counted and not stored,
 * stored ones stay, and one that is removed makes space. */
#include "frontend/model/valid.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/test.h"

#define MOST 65536u /* of a kind: four times --max-pods is less */

static const char *const schedulers[] = { "muster" };

static struct model *model_of(uint32_t pods)
{
	struct model *m = model_new(&(struct model_config){
		.limits = LIMITS_WITH(.pods = pods, .gangs = 8, .shapes = 8, .names = 64),
		.scheduler_names = schedulers,
		.scheduler_names_n = 1 });

	cr_assert_not_null(m);
	return m;
}

static int resource_of(const struct model *m, const char *name)
{
	const struct resource *all;
	size_t n;

	all = model_resources(m, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].plural, name) == 0)
			return (int)i;
	cr_assert_fail("no resource %s", name);
	return -1;
}

static void name_of(char *out, size_t out_bytes, uint32_t i)
{
	snprintf(
		out, out_bytes,
		"\"metadata\":{\"name\":\"o%u\",\"namespace\":\"ns\",\"uid\":\"u%u\",\"resourceVersion\":\"%u\"}",
		i, i, i + 1);
}

static int put(struct model *m, int resource, uint32_t i, const char *rest,
               struct decode_error *error)
{
	char json[400], meta[200];

	name_of(meta, sizeof(meta), i);
	snprintf(json, sizeof(json), "{%s%s}", meta, rest);
	return model_put(m, resource, json, strlen(json), error);
}

static void drop(struct model *m, int resource, uint32_t i)
{
	struct decode_error error;
	char json[300], meta[200];

	name_of(meta, sizeof(meta), i);
	snprintf(json, sizeof(json), "{%s}", meta);
	cr_assert_eq(model_remove(m, resource, json, strlen(json), &error), 0);
}

static uint64_t hit(const struct model *m)
{
	struct model_counts counts;

	model_counts(m, &counts);
	return counts.limits_hit;
}

static uint64_t referred(const struct model *m)
{
	struct model_counts counts;

	model_counts(m, &counts);
	return counts.referred;
}

static void expect_valid(const struct model *m)
{
	char why[256];

	cr_assert(model_valid(m, why, sizeof(why)), "%s", why);
}

static void expect_limit(const char *name, const char *kind, const char *rest)
{
	struct model *m = model_of(16);
	int resource = resource_of(m, name);
	struct decode_error error;
	uint64_t known;
	char text[64];

	for (uint32_t i = 0; i < MOST; i++)
		cr_assert_eq(put(m, resource, i, rest, &error), 0, "%s %u: %s", name, i, error.text);
	cr_assert_eq(hit(m), 0);
	known = referred(m);
	cr_assert_geq(known, MOST);
	cr_assert_eq(put(m, resource, MOST, rest, &error), -ENOSPC, "%s above the limit", name);
	snprintf(text, sizeof(text), "%s ", kind);
	cr_assert(strstr(error.object, "o65536") && strncmp(error.object, text, strlen(text)) == 0,
	          "%s", error.object);
	cr_assert(strstr(error.text, "the limit is 65536") && strstr(error.text, "--max-pods"), "%s",
	          error.text);
	cr_assert_eq(hit(m), 1);
	cr_assert_eq(referred(m), known, "%s left something behind", name);
	/* Stored objects may change; one that is removed makes space for one. */
	cr_assert_eq(put(m, resource, 7, rest, &error), 0);
	drop(m, resource, 8);
	cr_assert_eq(put(m, resource, MOST, rest, &error), 0, "%s when there is room again", name);
	cr_assert_eq(put(m, resource, MOST + 1, rest, &error), -ENOSPC);
	cr_assert_eq(hit(m), 2);
	expect_valid(m);
	model_free(m);
}

Test(model_referred, namespaces)
{
	expect_limit("namespaces", "Namespace", "");
}

Test(model_referred, services)
{
	expect_limit("services", "Service", ",\"spec\":{\"selector\":{\"app\":\"a\"}}");
}

Test(model_referred, controllers)
{
	expect_limit("replicasets", "ReplicaSet",
	             ",\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"a\"}}}");
}

Test(model_referred, policies)
{
	expect_limit(
		"workloadpolicies", "WorkloadPolicy",
		",\"spec\":{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"allocationPolicy\":[]}");
}

Test(model_referred, claims)
{
	expect_limit("persistentvolumeclaims", "PersistentVolumeClaim", ",\"spec\":{}");
}

Test(model_referred, config_maps_that_describe_no_group)
{
	expect_limit("configmaps", "ConfigMap", ",\"data\":{\"a\":\"b\"}");
}

/* A pod's own namespace and policy are stored above the limit: its placement may depend on them. */
Test(model_referred, what_a_pod_names_is_taken)
{
	static const char pod[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"o70000\",\"uid\":\"p\",\"resourceVersion\":\"1\"},"
		"\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\"}]}}";
	struct model *m = model_of(16);
	int namespaces = resource_of(m, "namespaces");
	struct decode_error error;

	for (uint32_t i = 0; i < MOST; i++)
		cr_assert_eq(put(m, namespaces, i, "", &error), 0);
	cr_assert_eq(model_put(m, RESOURCE_INDEX_PODS, pod, strlen(pod), &error), 0, "%s", error.text);
	cr_assert_eq(put(m, namespaces, 70000, "", &error), 0, "%s", error.text);
	cr_assert_eq(put(m, namespaces, 70001, "", &error), -ENOSPC);
	expect_valid(m);
	model_free(m);
}

/* A core with a higher --max-pods has a higher limit. */
Test(model_referred, grows_with_max_pods)
{
	struct model *m = model_of(16);
	int namespaces = resource_of(m, "namespaces");
	struct decode_error error;
	struct limits more = LIMITS_WITH(.pods = 20000, .gangs = 8, .shapes = 8, .names = 64);

	for (uint32_t i = 0; i < MOST; i++)
		cr_assert_eq(put(m, namespaces, i, "", &error), 0);
	cr_assert_eq(put(m, namespaces, MOST, "", &error), -ENOSPC);
	cr_assert_eq(model_set_limits(m, &more), 0);
	for (uint32_t i = MOST; i < 80000; i++)
		cr_assert_eq(put(m, namespaces, i, "", &error), 0, "%u: %s", i, error.text);
	cr_assert_eq(put(m, namespaces, 80000, "", &error), -ENOSPC);
	model_free(m);
}
