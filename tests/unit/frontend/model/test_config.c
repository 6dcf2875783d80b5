/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of the model: dialects and policies that are off, default timeouts of groups. */
#include "frontend/dialect/dialects.h"
#include "frontend/model/model.h"

#include "tests/unit/test.h"

#define S UINT64_C(1000000000)
#define GROUPS "scheduling.x-k8s.io/v1alpha1"
#define LIMITS                                                                                     \
	{                                                                                              \
		.nodes = 8, .pods = 16, .gangs = 8, .shapes = 8, .names = 64, .resources = 8,              \
		.name_bytes = 4096, .command_ring_bytes = 4096                                             \
	}

static const char *const schedulers[] = { "muster" };

struct bench {
	struct model *m;
	_Alignas(8) unsigned char body[RECORD_BYTES_MAX];
	enum record_kind kind; /* of what is in body */
	uint64_t timeout_ns;   /* of the last gang */
	uint32_t pod_flags, gangs;
	gang_id pod_gang;
};

/* Reads the previous record. */
static void look(struct bench *b)
{
	const struct event_gang *g = (const void *)b->body;
	const struct event_pod *p = (const void *)b->body;

	if (b->kind == EVENT_GANG) {
		b->gangs++;
		b->timeout_ns = g->timeout_ns;
	}
	if (b->kind == EVENT_POD) {
		b->pod_flags = p->flags;
		b->pod_gang = p->gang;
	}
}

static void *reserve(void *context, enum record_kind kind, uint32_t bytes)
{
	struct bench *b = context;

	look(b);
	cr_assert_leq(bytes, sizeof(b->body));
	b->kind = kind;
	return b->body;
}

static void begin(struct bench *b, const struct model_config *more)
{
	struct model_config config = *more;

	memset(b, 0, sizeof(*b));
	b->kind = EVENT_BEGIN;
	config.scheduler_names = schedulers;
	config.scheduler_names_n = 1;
	config.limits = (struct limits)LIMITS;
	b->m = model_new(&config);
	cr_assert_not_null(b->m);
}

static void put(struct bench *b, int resource, const char *json)
{
	struct decode_error e;

	cr_assert_geq(resource, 0);
	cr_assert_eq(model_put(b->m, resource, json, strlen(json), &e), 0);
}

static void put_pod(struct bench *b, const char *labels)
{
	char json[600];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{%s}},"
		"\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
		labels);
	put(b, RESOURCE_INDEX_PODS, json);
}

static void put_group(struct bench *b, const char *spec)
{
	char json[400];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"g\",\"uid\":\"ug\",\"resourceVersion\":\"6\"},\"spec\":{%s}}",
		spec);
	put(b, model_resource_index(b->m, GROUPS, "PodGroup"), json);
}

static void flush(struct bench *b)
{
	struct model_sink sink = { reserve, b };

	cr_assert(model_flush(b->m, &sink));
	look(b);
	b->kind = EVENT_BEGIN;
}

static bool watches(const struct bench *b, const char *group, const char *plural)
{
	size_t n;
	const struct resource *r = model_resources(b->m, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(r[i].group, group) == 0 && strcmp(r[i].plural, plural) == 0)
			return true;
	return false;
}

/* Marks of a dialect that is off are plain labels, and its objects are not watched. */
Test(model_config, dialect_off)
{
	struct bench b;

	for (int off = 0; off < 2; off++) {
		begin(&b, &(struct model_config){
					  .dialects_off = off ? UINT64_C(1) << dialect_find("scheduler-plugins") : 0 });
		put_pod(&b, "\"scheduling.x-k8s.io/pod-group\":\"g\"");
		flush(&b);
		cr_expect_eq(watches(&b, "scheduling.x-k8s.io", "podgroups"), !off);
		cr_expect_eq(b.pod_flags & POD_REFUSED, 0);
		cr_expect_eq(b.pod_gang == ID_NONE, off == 1);
		model_free(b.m);
	}
}

/* All are off: every pod is scheduled alone, with any marks. */
Test(model_config, all_dialects_off)
{
	struct bench b;

	begin(&b, &(struct model_config){ .dialects_off = UINT64_MAX, .policies_off = true });
	for (size_t i = 0; i < dialects_n; i++)
		if (dialects[i]->resource && dialects[i]->resource->optional)
			cr_expect_not(watches(&b, dialects[i]->resource->group, dialects[i]->resource->plural),
			              "%s", dialects[i]->name);
	put_pod(&b,
	        "\"scheduling.x-k8s.io/pod-group\":\"a\",\"pod-group.scheduling.sigs.k8s.io\":\"b\"");
	flush(&b);
	cr_expect_eq(b.pod_gang, ID_NONE);
	cr_expect_eq(b.pod_flags & POD_REFUSED, 0);
	model_free(b.m);
}

Test(model_config, policies_off)
{
	struct bench b;

	for (int off = 0; off < 2; off++) {
		begin(&b, &(struct model_config){ .policies_off = off == 1 });
		put_pod(&b, "\"workload-policy/kosmos.io\":\"none\"");
		flush(&b);
		cr_expect_eq(watches(&b, "kosmos.io", "workloadpolicies"), !off);
		cr_expect_eq((b.pod_flags & POD_REFUSED) != 0, !off, "a policy that is not there");
		model_free(b.m);
	}
}

/* A group has its own timeout, else that of its dialect, else none. */
Test(model_config, timeouts)
{
	static const struct {
		const char *spec;
		uint64_t without, with; /* a timeout of 40 s in the configuration */
	} cases[] = {
		{ "\"minMember\":2", 0, 40 * S },
		{ "\"minMember\":2,\"scheduleTimeoutSeconds\":7", 7 * S, 7 * S },
		{ "\"minMember\":2,\"scheduleTimeoutSeconds\":0", 0, 40 * S },
		{ "\"minMember\":2,\"scheduleTimeoutSeconds\":null", 0, 40 * S },
	};
	struct bench b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int with = 0; with < 2; with++) {
			begin(&b, &(struct model_config){
						  .timeouts_ns = { [GROUP_TIMEOUT_COSCHEDULING] = with ? 40 * S : 0,
			                               [GROUP_TIMEOUT_CONFIGMAP] = 99 * S } });
			put_group(&b, cases[i].spec);
			put_pod(&b, "\"scheduling.x-k8s.io/pod-group\":\"g\"");
			flush(&b);
			cr_expect_eq(b.gangs, 1);
			cr_expect_eq(b.timeout_ns, with ? cases[i].with : cases[i].without, "%s: %llu",
			             cases[i].spec, (unsigned long long)b.timeout_ns);
			model_free(b.m);
		}
}
