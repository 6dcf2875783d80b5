/* SPDX-License-Identifier: Apache-2.0 */
/* What is written for claims that wait for their first consumer, and what each answer does. */
#include "frontend/bind/binder.h"
#include "frontend/bind/prebind.h"
#include "frontend/bind/volume_bind.h"
#include "frontend/base/log.h"
#include "frontend/volume/volume.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define CLAIM "/api/v1/namespaces/ns/persistentvolumeclaims/"
#define VOLUME "/api/v1/persistentvolumes/"
#define POD "/api/v1/namespaces/ns/pods/"
#define SELECTED "\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n1\"}"

static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	struct volume_bind *volumes;
	const struct prebind_kind *kinds[1];
	char said[256];
	char noticed[512];
} b;

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	const size_t n = strlen(b.said);

	snprintf(b.said + n, sizeof(b.said) - n, "%s:%u ", kind == RESULT_REFUSED ? "refused" : "bound",
	         r->retry_ms);
}

static void on_notice(void *context, const struct bind_notice *n)
{
	if (n->error)
		snprintf(b.noticed, sizeof(b.noticed), "%s: %s", n->name, n->error);
}

__attribute__((format(printf, 2, 3))) static void put(enum volume_kind kind, const char *format,
                                                      ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	cr_assert_lt(vsnprintf(text, sizeof(text), format, args), (int)sizeof(text));
	va_end(args);
	world_put(b.m, model_volume_resource(b.m, kind), text);
}

static void class_put(const char *provisioner)
{
	put(VOLUME_KIND_CLASS,
	    "{\"metadata\":{\"name\":\"c\",\"uid\":\"sc\",\"resourceVersion\":\"1\"},"
	    "\"provisioner\":\"%s\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}",
	    provisioner);
}

/* more_meta: ",..." */
static const char *claim_text(const char *name, const char *version, const char *more_meta,
                              const char *volume)
{
	static char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"uid-%s\","
		"\"resourceVersion\":\"%s\"%s},\"spec\":{\"storageClassName\":\"c\",%s%s%s"
		"\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}",
		name, name, version, more_meta, *volume ? "\"volumeName\":\"" : "", volume,
		*volume ? "\"," : "");
	return text;
}

static const char *volume_text(const char *name, const char *version, const char *claim)
{
	static char text[1024];
	char ref[256] = "";

	if (*claim)
		snprintf(ref, sizeof(ref),
		         "\"claimRef\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"uid-%s\"},", claim,
		         claim);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%s\",\"resourceVersion\":\"%s\"},"
	         "\"spec\":{\"storageClassName\":\"c\",%s\"accessModes\":[\"ReadWriteOnce\"],"
	         "\"capacity\":{\"storage\":\"1Gi\"}},\"status\":{\"phase\":\"Available\"}}",
	         name, name, version, ref);
	return text;
}

static void claim_put(const char *text)
{
	world_put(b.m, model_volume_resource(b.m, VOLUME_KIND_CLAIM), text);
}

static void volume_put(const char *text)
{
	world_put(b.m, model_volume_resource(b.m, VOLUME_KIND_VOLUME), text);
}

static void pod_put(const char *name, const char *version)
{
	char spec[256];

	snprintf(spec, sizeof(spec),
	         "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}]",
	         name);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod(name, version, spec, ""));
}

/* Node n1, pods a and b with claims of those names. */
static void begin(const char *provisioner)
{
	struct binder_config config = { .env = &b.w.env,
		                            .connections = 8,
		                            .result = on_result,
		                            .notice = on_notice,
		                            .prebind = b.kinds,
		                            .prebind_n = 1 };

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	config.model = b.m =
		world_model_with((struct model_config){ .hash_key = { 1, 2 }, .binds_claims = true });
	class_put(provisioner);
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	claim_put(claim_text("a", "11", "", ""));
	claim_put(claim_text("b", "12", "", ""));
	pod_put("a", "21");
	pod_put("b", "22");
	world_flush(b.m);
	b.volumes = volume_bind_new(&b.w.env, b.m, 600 * NS_PER_S);
	b.kinds[0] = volume_bind_kind(b.volumes);
	b.binder = binder_new(&config);
}

static void end(void)
{
	binder_free(b.binder);
	volume_bind_free(b.volumes);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(volume_bind, .fini = end);

static void turns(void)
{
	for (int i = 0; i < 8; i++) {
		b.w.now_ns += 50 * NS_PER_MS;
		binder_poll(b.binder);
	}
}

static void command(enum record_kind kind, const char *pod)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", pod);

	cr_assert_eq(binder_bind(b.binder, kind, &cmd), 0);
	turns();
}

static void expect(const char *said)
{
	cr_assert_str_eq(b.said, said, "\"%s\"", b.said);
	b.said[0] = '\0';
}

static void answer(struct http_call *c, int status, const char *body)
{
	world_answer(c, status, body);
	turns();
}

static void soon(const char *said)
{
	turns();
	expect(said);
}

static void bound(const char *pod)
{
	char path[128];

	snprintf(path, sizeof(path), "/api/v1/namespaces/ns/pods/%s/binding", pod);
	turns();
	world_answer(world_take(&b.w, "POST", path), 201, "{}");
	expect("bound:0 ");
}

#define COMPLETED(more) ",\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"" more "}"

Test(volume_bind, provisions_on_the_node_and_waits)
{
	struct http_call *c;

	begin("disks");
	command(CMD_BIND, "a");
	c = world_take(&b.w, "PATCH", CLAIM "a");
	cr_assert_str_eq(c->type, "application/merge-patch+json");
	cr_assert_str_eq(c->body,
	                 "{\"metadata\":{\"uid\":\"uid-a\",\"resourceVersion\":\"11\"," SELECTED "}}");
	answer(c, 200, claim_text("a", "31", "," SELECTED, ""));
	cr_assert_eq(world_open(&b.w), 0);
	volume_put(volume_text("pv", "40", "a"));
	claim_put(claim_text("a", "41", COMPLETED(""), "pv"));
	bound("a");
	cr_assert_eq(volume_bind_counts(b.volumes)->bound, 1);
}

Test(volume_bind, writes_the_claim_into_the_volume)
{
	struct http_call *c;

	begin("kubernetes.io/no-provisioner");
	volume_put(volume_text("pv", "30", ""));
	world_flush(b.m);
	command(CMD_BIND, "a");
	c = world_take(&b.w, "PATCH", VOLUME "pv");
	cr_assert_str_eq(
		c->body,
		"{\"metadata\":{\"uid\":\"uid-pv\",\"resourceVersion\":\"30\",\"annotations\":{"
		"\"pv.kubernetes.io/bound-by-controller\":\"yes\"}},\"spec\":{\"claimRef\":{"
		"\"kind\":\"PersistentVolumeClaim\",\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"uid-a\","
		"\"apiVersion\":\"v1\",\"resourceVersion\":\"11\"}}}");
	answer(c, 200, volume_text("pv", "31", "a"));
	cr_assert_eq(world_open(&b.w), 0);
	claim_put(claim_text("a", "41", COMPLETED(""), "pv"));
	bound("a");
}

Test(volume_bind, what_is_written_already_is_not_written_again)
{
	begin("disks");
	claim_put(claim_text("a", "31", "," SELECTED, ""));
	world_flush(b.m);
	command(CMD_RETRY_BIND, "a");
	world_binding_dies(&b.w, "a", turns);
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(binder_held(b.binder), 1);
}

Test(volume_bind, a_volume_that_another_is_about_to_get_is_not_chosen)
{
	begin("kubernetes.io/no-provisioner");
	volume_put(volume_text("pv", "30", ""));
	world_flush(b.m);
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	expect("refused:20 ");
	cr_assert_str_eq(b.noticed, "");
	world_take(&b.w, "PATCH", VOLUME "pv");
	cr_assert_eq(world_open(&b.w), 1);
}

Test(volume_bind, after_a_conflict_the_object_is_read_and_written_with_its_version)
{
	begin("disks");
	command(CMD_BIND, "a");
	answer(world_take(&b.w, "PATCH", CLAIM "a"), 409, world_status(409, "Conflict", "no"));
	answer(world_take(&b.w, "GET", CLAIM "a"), 200, claim_text("a", "35", "", ""));
	world_take_with(&b.w, "PATCH", CLAIM "a", "\"resourceVersion\":\"35\"");
}

Test(volume_bind, a_write_without_an_answer_that_was_applied_is_not_repeated)
{
	begin("disks");
	command(CMD_BIND, "a");
	world_fail(world_take(&b.w, "PATCH", CLAIM "a"), HTTP_BROKEN);
	turns();
	answer(world_take(&b.w, "GET", CLAIM "a"), 200, claim_text("a", "35", "," SELECTED, ""));
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(binder_held(b.binder), 1);
}

Test(volume_bind, a_volume_that_is_taken_meanwhile_is_planned_again)
{
	begin("kubernetes.io/no-provisioner");
	volume_put(volume_text("pv", "30", ""));
	world_flush(b.m);
	command(CMD_BIND, "a");
	answer(world_take(&b.w, "PATCH", VOLUME "pv"), 409, world_status(409, "Conflict", "no"));
	answer(world_take(&b.w, "GET", VOLUME "pv"), 200, volume_text("pv", "35", "other"));
	expect("refused:20 ");
}

Test(volume_bind, a_write_that_is_forbidden_says_so)
{
	begin("disks");
	command(CMD_BIND, "a");
	answer(world_take(&b.w, "PATCH", CLAIM "a"), 403,
	       world_status(403, "Forbidden", "you may not"));
	expect("refused:0 ");
	cr_assert_str_eq(b.noticed,
	                 "a: running PreBind plugin \"VolumeBinding\": binding volumes: you may not");
}

Test(volume_bind, an_annotation_that_goes_is_a_failure_and_the_node_is_avoided)
{
	struct volume_choice *choices;
	struct arena arena = { 0 };
	enum filter_reason why;
	struct pod_view v;
	size_t n;

	begin("disks");
	command(CMD_BIND, "a");
	world_answer(world_take(&b.w, "PATCH", CLAIM "a"), 200,
	             claim_text("a", "31", "," SELECTED, ""));
	claim_put(claim_text("a", "36", "", ""));
	soon("refused:0 ");
	cr_assert_str_eq(b.noticed, "a: running PreBind plugin \"VolumeBinding\": binding volumes: "
	                            "provisioning failed for PVC \"a\"");
	cr_assert(model_pod_by_name(b.m, "ns", "a", &v));
	cr_assert(volumes_choose(model_volumes(b.m), v.id, 0, &arena, &choices, &n, &why) < 0);
	cr_assert_eq(why, FILTER_VOLUME_BIND);
	volumes_expire(model_volumes(b.m), b.w.now_ns + 61 * NS_PER_S);
	cr_assert_eq(volumes_choose(model_volumes(b.m), v.id, 0, &arena, &choices, &n, &why), 0);
	cr_assert_eq(n, 1);
	arena_free(&arena);
}

Test(volume_bind, a_claim_ref_that_goes_is_a_failure)
{
	begin("kubernetes.io/no-provisioner");
	volume_put(volume_text("pv", "30", ""));
	world_flush(b.m);
	command(CMD_BIND, "a");
	world_answer(world_take(&b.w, "PATCH", VOLUME "pv"), 200, volume_text("pv", "31", "a"));
	volume_put(volume_text("pv", "33", ""));
	soon("refused:0 ");
	cr_assert(strstr(b.noticed, "ClaimRef got reset for pv \"pv\""), "%s", b.noticed);
}

Test(volume_bind, late_ones_are_taken_back)
{
	struct http_call *c;

	begin("disks");
	command(CMD_BIND, "a");
	world_answer(world_take(&b.w, "PATCH", CLAIM "a"), 200,
	             claim_text("a", "31", "," SELECTED, ""));
	b.w.now_ns += 600 * NS_PER_S;
	soon("");
	c = world_take(&b.w, "PATCH", CLAIM "a");
	cr_assert_str_eq(c->body, "{\"metadata\":{\"uid\":\"uid-a\",\"resourceVersion\":\"31\","
	                          "\"annotations\":{\"volume.kubernetes.io/selected-node\":null}}}");
	answer(c, 200, claim_text("a", "37", "", ""));
	expect("refused:0 ");
	cr_assert(strstr(b.noticed, "context deadline exceeded"), "%s", b.noticed);
	cr_assert_eq(volume_bind_counts(b.volumes)->undone, 1);
}

Test(volume_bind, what_is_bound_meanwhile_is_not_taken_back)
{
	begin("disks");
	command(CMD_BIND, "a");
	world_answer(world_take(&b.w, "PATCH", CLAIM "a"), 200,
	             claim_text("a", "31", "," SELECTED, ""));
	claim_put(claim_text("a", "38", "," SELECTED, "pv"));
	b.w.now_ns += 600 * NS_PER_S;
	soon("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(volume_bind, a_cancelled_binding_takes_back_what_an_earlier_instance_wrote)
{
	begin("kubernetes.io/no-provisioner");
	volume_put(volume_text("pv", "30", "a"));
	world_flush(b.m);
	command(CMD_CANCEL_BIND, "a");
	world_binding_dies(&b.w, "a", turns);
	answer(world_take_with(&b.w, "PATCH", VOLUME "pv", "\"claimRef\":null"), 200,
	       volume_text("pv", "31", ""));
	expect("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(volume_bind, a_volume_that_does_not_reach_the_node_is_refused)
{
	begin("disks");
	command(CMD_BIND, "a");
	world_answer(world_take(&b.w, "PATCH", CLAIM "a"), 200,
	             claim_text("a", "31", "," SELECTED, ""));
	put(VOLUME_KIND_VOLUME,
	    "{\"metadata\":{\"name\":\"pv\",\"uid\":\"u\",\"resourceVersion\":\"40\"},\"spec\":{"
	    "\"storageClassName\":\"c\",\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{"
	    "\"storage\":\"1Gi\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
	    "\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"x\"]}]}]}}}}");
	claim_put(claim_text("a", "41", COMPLETED(""), "pv"));
	soon("refused:20 ");
	cr_assert(strstr(b.noticed, "pv \"pv\" node affinity doesn't match node \"n1\""), "%s",
	          b.noticed);
}

static void volume_elsewhere(void)
{
	put(VOLUME_KIND_VOLUME,
	    "{\"metadata\":{\"name\":\"pv\",\"uid\":\"u\",\"resourceVersion\":\"40\"},\"spec\":{"
	    "\"storageClassName\":\"c\",\"accessModes\":[\"ReadWriteOnce\"],\"capacity\":{"
	    "\"storage\":\"1Gi\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
	    "\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"x\"]}]}]}}}}");
}

/* The plan is older than the claim's volume: without a look at it the Binding would be sent. */
Test(volume_bind, a_claim_that_was_bound_elsewhere_after_the_plan_is_planned_again)
{
	begin("disks");
	volume_elsewhere();
	claim_put(claim_text("a", "41", COMPLETED(""), "pv"));
	world_flush(b.m);
	command(CMD_BIND, "a");
	expect("refused:20 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(volume_bind, a_pod_that_is_written_after_the_plan_is_looked_at_all_the_same)
{
	begin("disks");
	volume_elsewhere();
	claim_put(claim_text("a", "41", COMPLETED(""), "pv"));
	world_flush(b.m);
	pod_put("a", "42"); /* its condition was written */
	command(CMD_BIND, "a");
	expect("refused:20 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(volume_bind, a_claim_of_two_pods_is_written_once)
{
	begin("disks");
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_pod("c", "23",
	                    "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":"
	                    "\"a\"}}]",
	                    ""));
	world_flush(b.m);
	command(CMD_BIND, "b");
	command(CMD_BIND, "a");
	command(CMD_BIND, "c");
	world_take(&b.w, "PATCH", CLAIM "b");
	answer(world_take(&b.w, "PATCH", CLAIM "a"), 200, claim_text("a", "31", "," SELECTED, ""));
	cr_assert_eq(world_open(&b.w), 1, "that of b");
	volume_put(volume_text("pv", "40", "a"));
	claim_put(claim_text("a", "41", COMPLETED(""), "pv"));
	bound("a");
	bound("c");
}

Test(volume_bind, a_pod_with_too_many_claims_that_wait_is_refused)
{
	struct pod_view v;
	char spec[8192] = "\"volumes\":[", name[8];
	size_t n = strlen(spec);

	begin("disks");
	for (int i = 0; i < 65; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		claim_put(claim_text(name, "50", "", ""));
		n += (size_t)snprintf(
			spec + n, sizeof(spec) - n,
			"%s{\"name\":\"v%d\",\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}", i ? "," : "",
			i, name);
	}
	snprintf(spec + n, sizeof(spec) - n, "]");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("many", "60", spec, ""));
	world_flush(b.m);
	cr_assert(model_pod_by_name(b.m, "ns", "many", &v));
	cr_assert_str_eq(v.refusal, "more than 64 claims that wait for their first consumer");
}
