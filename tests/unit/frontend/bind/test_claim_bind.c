/* SPDX-License-Identifier: Apache-2.0 */
/* When the allocation of a claim is taken back, and when it must not be. */
#include "frontend/bind/claim_bind.h"
#include "frontend/base/log.h"
#include "frontend/bind/binder.h"
#include "frontend/bind/prebind.h"
#include "frontend/devices/live_impl.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define CLAIM "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a-gpu"
#define POD "/api/v1/namespaces/ns/pods/"
#define UID "00000000-0000-0000-0000-000000000061" /* of pod a */
#define CLEARED "\"allocation\":null"
#define PODS_ENTRY(name, uid) "{\"resource\":\"pods\",\"name\":\"" name "\",\"uid\":\"" uid "\"}"

#define FOREIGN                                                                                    \
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"x\",\"uid\":\"x\",\"resourceVersion\":\"9\"}," \
	"\"spec\":{\"devices\":{}},\"status\":{\"allocation\":{\"devices\":{\"results\":[{"            \
	"\"request\":\"r\",\"driver\":\"d\",\"pool\":\"n1\",\"device\":\"gpu-0\"}]}}}}"

static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	struct claim_bind *claims;
	const struct prebind_kind *kinds[1];
	char said[256];
	bool named;             /* the claim is of no template */
	const char *conditions; /* of its device, True ones; NULL: there is nothing to wait for */
	const char *others;     /* consumers of the claim */
	bool unreserved;        /* pod a is none */
	bool admin;             /* it was given with adminAccess */
	unsigned waits;         /* how often a wait for conditions was told */
} b;

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	const size_t n = strlen(b.said);

	snprintf(b.said + n, sizeof(b.said) - n, "%s:%u ", kind == RESULT_REFUSED ? "refused" : "bound",
	         r->retry_ms);
}

static void on_wait(void *context, pod_id pod, uint32_t generation, const char *node)
{
	cr_assert_str_eq(node, "n1");
	b.waits++;
}

static void on_notice(void *context, const struct bind_notice *n)
{
}

static void put(enum live_kind kind, const char *json)
{
	world_put(b.m, model_resource_index(b.m, "resource.k8s.io/v1", live_resources[kind].kind),
	          json);
}

/* Of pod a, from a template; allocated on n1 for it, or not. */
static const char *claim_text(const char *version, bool allocated)
{
	static char text[4096], status[2048] = "";

	status[0] = '\0';
	if (allocated)
		snprintf(status, sizeof(status),
		         ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":"
		         "\"r\",\"driver\":\"d\",\"pool\":\"n1\",\"device\":\"gpu-0\"%s%s}]},"
		         "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
		         "\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]}]},"
		         "\"allocationTimestamp\":\"2023-11-14T22:30:00Z\"},"
		         "\"devices\":[{\"driver\":\"d\",\"pool\":\"n1\",\"device\":\"gpu-0\","
		         "\"conditions\":[%s]}],\"reservedFor\":[%s%s]}",
		         b.conditions ? ",\"bindingConditions\":[\"Attached\",\"Clean\"],"
		                        "\"bindingFailureConditions\":[\"Broken\"]"
		                      : "",
		         b.admin ? ",\"adminAccess\":true" : "", b.conditions ? b.conditions : "",
		         b.others ? b.others : "", b.unreserved ? "" : PODS_ENTRY("a", UID));
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a-gpu\",\"uid\":\"uid-a-gpu\","
	         "\"resourceVersion\":\"%s\",\"finalizers\":[\"" LIVE_FINALIZER "\"],"
	         "\"ownerReferences\":[{\"kind\":\"%s\",\"name\":\"a\",\"uid\":\"" UID "\","
	         "\"controller\":%s}]},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}%s}",
	         version, b.named ? "Job" : "Pod", b.named ? "false" : "true", status);
	return text;
}

/* Node n1 with one device, pod a with a claim, pod b without; one connection. */
static void begin(bool allocated)
{
	struct binder_config config = { .env = &b.w.env,
		                            .connections = 1,
		                            .result = on_result,
		                            .notice = on_notice,
		                            .prebind = b.kinds,
		                            .prebind_n = 1 };

	world_init(&b.w);
	config.model = b.m =
		world_model_with((struct model_config){ .hash_key = { 1, 2 }, .devices_live = true });
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	put(LIVE_CLASSES, "{\"metadata\":{\"name\":\"gpu\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
	                  "\"spec\":{}}");
	put(LIVE_SLICES,
	    "{\"metadata\":{\"name\":\"n1-d\",\"uid\":\"s\",\"resourceVersion\":\"1\"},"
	    "\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
	    "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"gpu-0\"}]}}");
	put(LIVE_CLAIMS, claim_text("11", allocated));
	world_put(
		b.m, RESOURCE_INDEX_PODS,
		world_pod(
			"a", "21",
			b.named ? "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"a-gpu\"}]"
					: "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t\"}]",
			"\"resourceClaimStatuses\":[{\"name\":\"gpu\","
			"\"resourceClaimName\":\"a-gpu\"}]"));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("b", "22", "", ""));
	world_flush(b.m);
	b.claims = claim_bind_new(&b.w.env, b.m, 600 * NS_PER_S);
	claim_bind_on_wait(b.claims, on_wait, NULL);
	b.kinds[0] = claim_bind_kind(b.claims);
	b.binder = binder_new(&config);
}

static void end(void)
{
	binder_free(b.binder);
	claim_bind_free(b.claims);
	model_free(b.m);
	world_free(&b.w);
	memset(&b, 0, sizeof(b));
}

TestSuite(claim_bind, .fini = end);

static void turns(unsigned n)
{
	while (n-- > 0) {
		b.w.now_ns += 50 * NS_PER_MS;
		claim_bind_poll(b.claims, b.binder);
		binder_poll(b.binder);
	}
}

/* With the device that the core chose. */
static void bind(const char *pod, bool chosen)
{
	const struct cmd_bind cmd = world_bind(b.m, "ns", pod);
	const struct live *l = model_live(b.m);
	const struct device_pick pick = { .device = 0 };
	struct cmd_devices devices = { .pod = cmd.pod,
		                           .pod_generation = cmd.pod_generation,
		                           .node_generation = 1,
		                           .attempt = cmd.attempt,
		                           .picks_n = 1 };

	if (chosen) {
		devices.layout = l->nodes[0]->layout;
		devices.question = l->pods[cmd.pod].question;
		claim_bind_devices(b.claims, &devices, &pick);
	}
	cr_assert_eq(binder_bind(b.binder, CMD_BIND, &cmd), 0);
	turns(8);
}

static void expect(const char *said)
{
	cr_assert_str_eq(b.said, said, "\"%s\"", b.said);
	b.said[0] = '\0';
}

static void answer(struct http_call *c, int status, const char *body)
{
	world_answer(c, status, body);
	turns(8);
}

Test(claim_bind, an_allocation_stays_while_the_binding_waits_for_a_connection)
{
	struct http_call *slow;

	begin(true);
	bind("b", false);
	slow = world_take(&b.w, "POST", POD "b/binding");
	bind("a", false);
	turns(40 * 20);
	cr_assert_eq(world_open(&b.w), 1, "a claim was deallocated under a Binding that is queued");
	world_answer(slow, 201, "{}");
	turns(1);
	world_answer(world_take(&b.w, "POST", POD "a/binding"), 201, "{}");
	expect("bound:0 bound:0 ");
}

Test(claim_bind, nothing_is_bound_while_what_was_left_is_taken_back)
{
	struct http_call *c;

	begin(true);
	turns(23 * 20);
	c = world_take_with(&b.w, "PATCH", CLAIM "/status", CLEARED);
	bind("a", false);
	expect("refused:1000 ");
	answer(c, 200, claim_text("12", false));
	cr_assert_eq(world_open(&b.w), 0);
}

/* An earlier instance wrote nothing of the claim, and the core holds a device for the pod. */
Test(claim_bind, a_pod_asks_for_its_devices_while_an_earlier_binding_of_it_is_taken_back)
{
	struct cmd_bind cmd;

	begin(false);
	cmd = world_bind(b.m, "ns", "a");
	cr_assert(model_live(b.m)->pods[cmd.pod].asks);
	cr_assert_eq(binder_bind(b.binder, CMD_CANCEL_BIND, &cmd), 0);
	turns(1);
	world_flush(b.m);
	cr_assert(model_pod_binds(b.m, cmd.pod));
	cr_assert(model_live(b.m)->pods[cmd.pod].asks, "the device is another pod's");
}

/* A slice of several nodes, so that the labels of nodes are known, and a claim that is allocated
 * for the nodes of a zone. */
static void allocated_in(const char *zone)
{
	char json[1024];

	world_put(b.m, RESOURCE_INDEX_NODES,
	          "{\"metadata\":{\"name\":\"n1\",\"uid\":\"u-n1\",\"resourceVersion\":\"2\","
	          "\"labels\":{\"zone\":\"z1\"}},\"status\":{\"allocatable\":{\"cpu\":\"8\","
	          "\"memory\":\"8Gi\",\"pods\":\"99\"}}}");
	put(LIVE_SLICES,
	    "{\"metadata\":{\"name\":\"fabric\",\"uid\":\"f\",\"resourceVersion\":\"1\"},"
	    "\"spec\":{\"driver\":\"d\",\"allNodes\":true,\"pool\":{\"name\":\"fabric\","
	    "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"link\"}]}}");
	snprintf(json, sizeof(json),
	         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a-gpu\",\"uid\":\"uid-a-gpu\","
	         "\"resourceVersion\":\"12\",\"finalizers\":[\"" LIVE_FINALIZER "\"]},"
	         "\"spec\":{\"devices\":{}},\"status\":{\"allocation\":{\"devices\":{\"results\":[{"
	         "\"request\":\"r\",\"driver\":\"d\",\"pool\":\"fabric\",\"device\":\"link\"}]},"
	         "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\","
	         "\"operator\":\"In\",\"values\":[\"%s\"]}]}]}}}}",
	         zone);
	world_flush(b.m);
	put(LIVE_CLAIMS, json);
}

/* Another scheduler allocates it while the Binding is on its way. */
Test(claim_bind, a_claim_that_is_allocated_for_other_nodes_ends_the_binding)
{
	b.named = true;
	begin(false);
	allocated_in("z2");
	bind("a", false);
	cr_assert_eq(world_open(&b.w), 0, "it is reserved for a pod that can't use it");
	expect("refused:20 ");
}

Test(claim_bind, a_claim_that_is_allocated_for_these_nodes_is_reserved)
{
	b.named = true;
	begin(false);
	allocated_in("z1");
	bind("a", false);
	world_take_with(&b.w, "PATCH", CLAIM "/status", "reservedFor");
}

/* Nobody else would ever give it back: the API server keeps it while the pod is there. */
Test(claim_bind, a_named_claim_that_is_left_for_a_pod_that_waits_is_deallocated)
{
	b.named = true;
	begin(true);
	turns(23 * 20);
	answer(world_take_with(&b.w, "PATCH", CLAIM "/status", CLEARED), 200, claim_text("12", false));
	cr_assert_eq(world_open(&b.w), 0);
}

/* Both had reserved it when muster died, and then had no node any more: each took the other for a
 * consumer that still needs it. */
Test(claim_bind, a_claim_that_is_left_for_pods_that_share_it_is_given_back)
{
	struct http_call *c;

	b.named = true;
	b.others = PODS_ENTRY("z", "z") ",";
	begin(true);
	turns(23 * 20);
	c = world_take(&b.w, "PATCH", CLAIM "/status");
	cr_assert_null(strstr(c->body, CLEARED), "%s", c->body);
	cr_assert_null(strstr(c->body, UID), "%s", c->body);
	cr_assert_not_null(strstr(c->body, PODS_ENTRY("z", "z")), "%s", c->body);
	b.others = NULL;
	world_answer(c, 200, claim_text("12", true));
}

/* A write without an answer may be applied after the claim was read: another pod has the device
 * by then. */
Test(claim_bind, a_write_that_is_late_finds_another_version)
{
	struct decode_error e = { 0 };
	struct http_call *c;

	begin(false);
	bind("a", true);
	c = world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\"");
	world_fail(c, HTTP_BROKEN);
	turns(8);
	c = world_take(&b.w, "GET", CLAIM);
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_NODES, world_node("n1", "2"),
	                          strlen(world_node("n1", "2")), &e),
	             0);
	turns(2);
	answer(c, 200, claim_text("11", false));
	expect("");
	answer(world_take_with(&b.w, "PATCH", CLAIM, "muster.dev/fence"), 200, claim_text("12", false));
	expect("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

static bool is_taken(void)
{
	const struct live *l = model_live(b.m);

	return l->taken[l->nodes[0]->keys[0]] > 0;
}

/* Up to the read of a claim whose last write may have been applied, and the pod's node is known. */
static struct http_call *unsure_of_a_pod_that_another_bound(void)
{
	begin(false);
	bind("a", true);
	world_fail(world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\""),
	           HTTP_BROKEN);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "23", "\"nodeName\":\"n2\"", ""));
	world_flush(b.m);
	turns(8);
	cr_assert(is_taken(), "free before the write's effect is known");
	return world_take(&b.w, "GET", CLAIM);
}

/* Its devices went to another pod, and the allocation had been applied. */
Test(claim_bind, devices_stay_taken_when_the_pod_is_bound_elsewhere_before_the_claim_is_read)
{
	struct http_call *c = unsure_of_a_pod_that_another_bound();

	answer(c, 200, claim_text("12", true));
	cr_assert(is_taken(), "the claim has it");
	cr_assert_eq(world_open(&b.w), 0, "a claim of a pod that has a node is not taken back");
	put(LIVE_CLAIMS, claim_text("13", false));
	cr_assert_not(is_taken());
}

Test(claim_bind, a_write_that_is_late_finds_another_version_after_the_pod_is_bound_elsewhere)
{
	struct http_call *c = unsure_of_a_pod_that_another_bound();

	answer(c, 200, claim_text("11", false));
	cr_assert(is_taken());
	answer(world_take_with(&b.w, "PATCH", CLAIM, "muster.dev/fence"), 200, claim_text("12", false));
	cr_assert_not(is_taken());
	cr_assert_eq(world_open(&b.w), 0);
}

Test(claim_bind, a_write_that_is_late_finds_another_version_after_its_retry_is_refused)
{
	begin(false);
	bind("a", true);
	world_fail(world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\""),
	           HTTP_BROKEN);
	turns(8);
	answer(world_take(&b.w, "GET", CLAIM), 200, claim_text("11", false));
	answer(world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\""), 403,
	       "{\"kind\":\"Status\",\"message\":\"no\",\"code\":403}");
	cr_assert(is_taken());
	answer(world_take_with(&b.w, "PATCH", CLAIM, "muster.dev/fence"), 200, claim_text("12", false));
	cr_assert_not(is_taken());
	expect("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* The work is undone from the time on that the pod has a node, before the write ends. */
Test(claim_bind, a_write_in_flight_when_the_pod_is_bound_elsewhere_finds_another_version)
{
	struct http_call *c;

	begin(false);
	bind("a", true);
	c = world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\"");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "23", "\"nodeName\":\"n2\"", ""));
	world_flush(b.m);
	turns(8);
	world_fail(c, HTTP_BROKEN);
	turns(8);
	answer(world_take(&b.w, "GET", CLAIM), 200, claim_text("11", false));
	cr_assert(is_taken());
	answer(world_take_with(&b.w, "PATCH", CLAIM, "muster.dev/fence"), 200, claim_text("12", false));
	cr_assert_not(is_taken());
}

Test(claim_bind, a_write_in_flight_when_the_node_goes_finds_another_version)
{
	struct decode_error e = { 0 };
	struct http_call *c;

	begin(false);
	bind("a", true);
	c = world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\"");
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_NODES, world_node("n1", "2"),
	                          strlen(world_node("n1", "2")), &e),
	             0);
	turns(8);
	world_fail(c, HTTP_BROKEN);
	turns(8);
	answer(world_take(&b.w, "GET", CLAIM), 200, claim_text("11", false));
	answer(world_take_with(&b.w, "PATCH", CLAIM, "muster.dev/fence"), 200, claim_text("12", false));
	cr_assert_eq(world_open(&b.w), 0);
}

/* Another pod may have its slot by then. */
Test(claim_bind, devices_stay_taken_when_the_pod_is_deleted_before_the_claim_is_read)
{
	const char *gone = world_pod("a", "24", "", "");
	struct decode_error e = { 0 };
	struct http_call *c;

	begin(false);
	bind("a", true);
	world_fail(world_take(&b.w, "PATCH", CLAIM "/status"), HTTP_BROKEN);
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_PODS, gone, strlen(gone), &e), 0);
	world_flush(b.m);
	turns(8);
	c = world_take(&b.w, "GET", CLAIM);
	cr_assert(is_taken());
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("z", "25", "", ""));
	world_flush(b.m);
	cr_assert(is_taken());
	answer(c, 404,
	       "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404,"
	       "\"details\":{\"name\":\"a-gpu\",\"kind\":\"resourceclaims\"}}");
	cr_assert_not(is_taken());
}

/* The API server answers nothing for minutes: what was sent may still be applied. */
Test(claim_bind, devices_stay_taken_until_what_was_written_is_taken_back)
{
	struct http_call *c;

	begin(false);
	bind("a", true);
	world_fail(world_take(&b.w, "PATCH", CLAIM "/status"), HTTP_BROKEN);
	turns(8);
	c = world_take(&b.w, "GET", CLAIM);
	turns(92 * 20);
	expect("refused:0 ");
	world_flush(b.m);
	bind("a", true);
	expect("refused:1000 ");
	cr_assert_gt(model_live(b.m)->taken[model_live(b.m)->nodes[0]->keys[0]], 0);
	answer(c, 200, claim_text("11", false));
	answer(world_take_with(&b.w, "PATCH", CLAIM, "muster.dev/fence"), 200, claim_text("12", false));
	world_flush(b.m);
	bind("a", true);
	c = world_take_with(&b.w, "PATCH", CLAIM "/status", "\"device\":\"gpu-0\"");
}

/* By the record of the node; a share takes all of it. */
static bool is_consumed(void)
{
	struct live *l = model_live(b.m);
	struct {
		struct event_node_devices e;
		uint64_t taken, shared;
		struct node_capacity capacity;
	} record;

	cr_assert_eq(live_node_bytes(l, 0), sizeof(record));
	live_node_write(l, 0, 0, 1, &record);
	return record.capacity.consumed_low > 0;
}

/* Else the core gives it to the next pod, and to the next: it holds it for none. */
Test(claim_bind, a_share_stays_consumed_until_what_was_written_is_taken_back)
{
	struct http_call *c;

	begin(false);
	put(LIVE_SLICES,
	    "{\"metadata\":{\"name\":\"n1-d\",\"uid\":\"s\",\"resourceVersion\":\"2\"},"
	    "\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
	    "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"gpu-0\","
	    "\"allowMultipleAllocations\":true,\"capacity\":{\"memory\":{\"value\":\"4\"}}}]}}");
	world_flush(b.m);
	bind("a", true);
	cr_assert_not(is_consumed(), "the core holds it");
	world_fail(world_take(&b.w, "PATCH", CLAIM "/status"), HTTP_BROKEN);
	turns(8);
	c = world_take(&b.w, "GET", CLAIM);
	turns(92 * 20);
	expect("refused:0 ");
	world_flush(b.m);
	cr_assert(is_consumed());
	answer(c, 200, claim_text("11", false));
	answer(world_take(&b.w, "PATCH", CLAIM), 200, claim_text("12", false));
	world_flush(b.m);
	cr_assert_not(is_consumed());
}

/* A share was given to others when it was given back: only a new choice knows what is left. */
Test(claim_bind, an_allocation_that_someone_took_away_is_not_written_again)
{
	begin(false);
	bind("a", true);
	world_answer(world_take(&b.w, "PATCH", CLAIM "/status"), 200, claim_text("12", true));
	claim_bind_poll(b.claims, b.binder);
	put(LIVE_CLAIMS, claim_text("13", false));
	turns(8);
	cr_assert_eq(world_open(&b.w), 0);
	expect("refused:0 ");
	world_flush(b.m);
	bind("a", true);
	answer(world_take(&b.w, "PATCH", CLAIM "/status"), 200, claim_text("14", true));
	world_answer(world_take(&b.w, "POST", POD "a/binding"), 201, "{}");
	expect("bound:0 ");
}

/* The core chose while it was there. */
Test(claim_bind, a_pod_whose_claim_is_gone_is_not_bound)
{
	struct decode_error e = { 0 };
	const char *claim;

	begin(true);
	claim = claim_text("12", true);
	cr_assert_eq(model_remove(b.m, model_resource_index(b.m, "resource.k8s.io/v1", "ResourceClaim"),
	                          claim, strlen(claim), &e),
	             0);
	bind("a", false);
	expect("refused:20 ");
	cr_assert_eq(world_open(&b.w), 0);
}

#define IS_TRUE(type) "{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"r\"}"

/* Pod a's claim is written, and its device is not ready. */
static void begin_waiting(void)
{
	b.conditions = IS_TRUE("Attached") ",{\"type\":\"Clean\",\"status\":\"False\"}";
	begin(false);
	bind("a", true);
	world_answer(world_take(&b.w, "PATCH", CLAIM "/status"), 200, claim_text("12", true));
	turns(61 * 20);
	cr_assert_eq(world_open(&b.w), 0, "something is sent meanwhile");
	expect("");
	cr_assert_eq(b.waits, 1, "told once, not at each look");
}

Test(claim_bind, a_binding_is_held_until_all_conditions_of_its_devices_are_true)
{
	begin_waiting();
	b.conditions = IS_TRUE("Attached") "," IS_TRUE("Clean");
	put(LIVE_CLAIMS, claim_text("13", true));
	turns(8);
	world_answer(world_take(&b.w, "POST", POD "a/binding"), 201, "{}");
	expect("bound:0 ");
}

/* The claim is given back, and its device is nobody's for a minute. */
static void expect_undone(void)
{
	const struct live *l = model_live(b.m);
	struct http_call *c;

	turns(8);
	c = world_take_with(&b.w, "PATCH", CLAIM "/status", CLEARED);
	cr_assert_not_null(strstr(c->body, "\"devices\":null"));
	answer(c, 200, claim_text("14", false));
	expect("refused:20 ");
	world_flush(b.m);
	cr_assert_eq(l->taken[l->nodes[0]->keys[0]], 0);
	bind("a", true);
	expect("refused:20 ");
	turns(61 * 20);
	world_flush(b.m);
	bind("a", true);
	cr_assert_not_null(world_take(&b.w, "PATCH", CLAIM "/status"));
}

Test(claim_bind, a_device_whose_binding_failed_is_given_back_and_avoided)
{
	begin_waiting();
	b.conditions = IS_TRUE("Attached") "," IS_TRUE("Broken");
	put(LIVE_CLAIMS, claim_text("13", true));
	expect_undone();
}

Test(claim_bind, a_device_that_does_not_become_ready_is_given_back_after_the_timeout)
{
	begin_waiting();
	turns(537 * 20);
	expect("");
	turns(3 * 20);
	expect_undone();
}

/* The time of the allocation is in the claim. */
Test(claim_bind, an_instance_that_comes_after_waits_no_longer)
{
	b.conditions = "";
	begin(true);
	turns(10 * 20);
	bind("a", false);
	turns(588 * 20);
	expect("");
	cr_assert_eq(world_open(&b.w), 0);
	turns(3 * 20);
	world_take_with(&b.w, "PATCH", CLAIM "/status", CLEARED);
}

/* Another pod has it; this one would write and take back for ever. */
Test(claim_bind, nothing_is_written_for_a_shared_claim_whose_binding_has_failed)
{
	b.named = b.unreserved = true;
	b.conditions = IS_TRUE("Broken");
	b.others = PODS_ENTRY("x", "x");
	begin(true);
	bind("a", false);
	expect("refused:5000 ");
	turns(30 * 20);
	cr_assert_eq(world_open(&b.w), 0);
}

#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"

/* Pod e asks for d/gpu, which the class has; it waits on no other claim. */
static void begin_extended(void)
{
	begin(true);
	put(LIVE_CLASSES, "{\"metadata\":{\"name\":\"gpu\",\"uid\":\"u\",\"resourceVersion\":\"2\"},"
	                  "\"spec\":{\"extendedResourceName\":\"d/gpu\"}}");
	put(LIVE_CLAIMS, claim_text("12", false));
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_pod("e", "23",
	                    "\"initContainers\":[{\"name\":\"x\",\"restartPolicy\":\"Always\","
	                    "\"resources\":{\"requests\":{"
	                    "\"d/gpu\":\"1\"},\"limits\":{\"d/gpu\":\"1\"}}}]",
	                    ""));
	world_flush(b.m);
}

/* Of pod e, as its request asked, with more behind. */
static const char *made(const char *post, const char *version, bool finalizer, bool allocated)
{
	static char text[2048];
	char name[80], uid[64];

	cr_assert_eq(sscanf(strstr(post, "\"name\":"), "\"name\":\"%79[^\"]", name), 1);
	cr_assert_eq(sscanf(strstr(post, "\"uid\":"), "\"uid\":\"%63[^\"]", uid), 1);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"made\","
	         "\"resourceVersion\":\"%s\",\"finalizers\":[%s],"
	         "\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":\"true\"},"
	         "\"ownerReferences\":[{\"kind\":\"Pod\",\"name\":\"e\",\"uid\":\"%s\","
	         "\"controller\":true}]},\"spec\":{\"devices\":{\"requests\":[{\"name\":"
	         "\"container-0-request-0\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}%s}",
	         name, version, finalizer ? "\"" LIVE_FINALIZER "\"" : "", uid,
	         !allocated ? ""
	                    : ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{"
	                      "\"request\":\"container-0-request-0\",\"driver\":\"d\","
	                      "\"pool\":\"n1\",\"device\":\"gpu-0\"}]},"
	                      "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
	                      "\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]}]}}}");
	return text;
}

/* The answer is lost, and there is none of that name: it is sent again, under the same name. */
Test(claim_bind, a_claim_for_extended_resources_is_made_once_and_deleted_when_it_is_undone)
{
	struct http_call *c;
	char post[2048];

	begin_extended();
	bind("e", true);
	c = world_take(&b.w, "POST", CLAIMS);
	snprintf(post, sizeof(post), "%s", c->body);
	cr_assert_not_null(strstr(post, "\"generateName\":\"e-extended-resources-\""), "%s", post);
	world_fail(c, HTTP_BROKEN);
	turns(8);
	answer(world_take(&b.w, "GET", CLAIMS "/e-extended-resources-"), 404,
	       "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
	c = world_take(&b.w, "POST", CLAIMS);
	cr_assert_str_eq(c->body, post);
	answer(c, 409, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}");
	answer(world_take(&b.w, "GET", CLAIMS "/e-extended-resources-"), 200,
	       made(post, "31", false, false));
	answer(world_take(&b.w, "PATCH", CLAIMS "/e-extended-resources-"), 200,
	       made(post, "32", true, false));
	answer(world_take_with(&b.w, "PATCH", CLAIMS "/e-extended-resources-",
	                       "\"request\":\"container-0-request-0\""),
	       403, "{\"kind\":\"Status\",\"message\":\"no\",\"code\":403}");
	answer(world_take_with(&b.w, "PATCH", CLAIMS "/e-extended-resources-", "\"finalizers\":[]"),
	       200, made(post, "33", false, false));
	answer(world_take_with(&b.w, "DELETE", CLAIMS "/e-extended-resources-", "\"uid\":\"made\""),
	       200, "{}");
	expect("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* Pod e is bound by another scheduler when the effect of the allocation of its claim is unknown. */
static struct http_call *unsure_of_a_made_claim(char *post, size_t post_bytes)
{
	struct http_call *c;

	begin_extended();
	bind("e", true);
	c = world_take(&b.w, "POST", CLAIMS);
	snprintf(post, post_bytes, "%s", c->body);
	answer(c, 201, made(post, "31", false, false));
	answer(world_take(&b.w, "PATCH", CLAIMS "/e-extended-resources-"), 200,
	       made(post, "32", true, false));
	world_fail(world_take_with(&b.w, "PATCH", CLAIMS "/e-extended-resources-",
	                           "\"request\":\"container-0-request-0\""),
	           HTTP_BROKEN);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("e", "25", "\"nodeName\":\"n2\"", ""));
	world_flush(b.m);
	turns(8);
	return world_take(&b.w, "GET", CLAIMS "/e-extended-resources-");
}

Test(claim_bind, a_late_write_of_a_made_claim_finds_another_version_after_its_pod_is_dropped)
{
	char post[2048];
	struct http_call *read = unsure_of_a_made_claim(post, sizeof(post));

	answer(read, 200, made(post, "32", true, false));
	cr_assert(is_taken());
	answer(world_take_with(&b.w, "PATCH", CLAIMS "/e-extended-resources-", "muster.dev/fence"), 200,
	       made(post, "33", true, false));
	cr_assert_not(is_taken());
	cr_assert_eq(world_open(&b.w), 0);
}

Test(claim_bind, an_allocation_of_a_made_claim_lands_once_after_its_pod_is_dropped)
{
	const struct live *l;
	char post[2048];

	unsure_of_a_made_claim(post, sizeof(post));
	l = model_live(b.m);
	put(LIVE_CLAIMS, made(post, "33", true, true));
	cr_assert_eq(l->taken[l->nodes[0]->keys[0]], 1);
}

/* Not allocated, so the pod waits for no node: it is deleted before the next one is made. */
Test(claim_bind, a_claim_that_an_earlier_attempt_left_is_deleted)
{
	char post[256];
	struct pod_view v;

	begin_extended();
	cr_assert(model_pod_by_name(b.m, "ns", "e", &v));
	snprintf(post, sizeof(post), "\"name\":\"left\",\"uid\":\"%s\"", v.uid);
	put(LIVE_CLAIMS, made(post, "31", false, false));
	world_flush(b.m);
	bind("e", true);
	world_answer(world_take(&b.w, "DELETE", CLAIMS "/left"), 200, "{}");
	answer(world_take(&b.w, "POST", CLAIMS), 403,
	       "{\"kind\":\"Status\",\"message\":\"no\",\"code\":403}");
	expect("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* The node has come by the resource, or the pod is on another now: kubelet waits for the claim that
 * the status names. */
Test(claim_bind, a_claim_that_was_deleted_is_told_no_more_where_the_node_serves_the_pod)
{
	begin_extended();
	world_put(
		b.m, RESOURCE_INDEX_NODES,
		"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\",\"uid\":\"n-n1\","
		"\"resourceVersion\":\"24\"},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":"
		"\"16Gi\",\"pods\":\"110\",\"d/gpu\":\"2\"}}}");
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_pod("e", "25",
	                    "\"initContainers\":[{\"name\":\"x\",\"resources\":{\"requests\":{"
	                    "\"d/gpu\":\"1\"},\"limits\":{\"d/gpu\":\"1\"}}}]",
	                    "\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"gone\"}"));
	world_flush(b.m);
	bind("e", false);
	answer(world_take_with(&b.w, "PATCH", "/api/v1/namespaces/ns/pods/e/status",
	                       "\"extendedResourceClaimStatus\":null"),
	       200, "{}");
	cr_assert_not_null(world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/e/binding"));
}

/* By an earlier attempt: reserved and unreserved for ever, and the device never given back. */
Test(claim_bind, a_claim_of_before_whose_device_another_has_too_is_deallocated)
{
	b.named = true;
	begin(true);
	put(LIVE_CLAIMS, FOREIGN);
	bind("a", false);
	world_take_with(&b.w, "PATCH", CLAIM "/status", CLEARED);
}

/* Its sharers were told every 5 s that another claim has the device, which was the first pod's. */
Test(claim_bind, a_pod_that_shares_a_claim_that_waits_is_held_with_it)
{
	b.named = true;
	begin_waiting();
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_pod("c", "23",
	                    "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"a-gpu\"}]",
	                    ""));
	world_flush(b.m);
	bind("c", false);
	b.others = PODS_ENTRY("c", "00000000-0000-0000-0000-000000000063") ",";
	answer(world_take(&b.w, "PATCH", CLAIM "/status"), 200, claim_text("13", true));
	expect("");
	cr_assert_eq(world_open(&b.w), 0);
	b.conditions = IS_TRUE("Attached") "," IS_TRUE("Clean");
	put(LIVE_CLAIMS, claim_text("14", true));
	turns(8);
	answer(world_take(&b.w, "POST", POD "a/binding"), 201, "{}");
	world_answer(world_take(&b.w, "POST", POD "c/binding"), 201, "{}");
}

/* It was reserved and unreserved every 5 s, for each pod that names it. */
Test(claim_bind, nothing_is_written_for_a_shared_claim_whose_device_another_has_too)
{
	b.named = b.unreserved = true;
	b.others = PODS_ENTRY("x", "x");
	begin(true);
	put(LIVE_CLAIMS, FOREIGN);
	bind("a", false);
	expect("refused:5000 ");
	turns(30 * 20);
	cr_assert_eq(world_open(&b.w), 0);
}

/* Nobody has it, and no pod gets a node with it. */
Test(claim_bind, a_named_claim_whose_binding_has_failed_is_given_back_though_nobody_has_it)
{
	b.named = b.unreserved = true;
	b.conditions = IS_TRUE("Broken");
	begin(true);
	turns(23 * 20);
	world_take_with(&b.w, "PATCH", CLAIM "/status", CLEARED);
}

/* No other device is chosen then. */
Test(claim_bind, a_device_with_admin_access_that_fails_is_not_tried_again_at_once)
{
	b.admin = true;
	begin_waiting();
	b.conditions = IS_TRUE("Broken");
	put(LIVE_CLAIMS, claim_text("13", true));
	turns(8);
	answer(world_take(&b.w, "PATCH", CLAIM "/status"), 200, claim_text("14", false));
	expect("refused:5000 ");
}

/* Pod a's Binding waits for the connection that pod b's has. */
static struct http_call *begin_queued(void)
{
	struct http_call *slow;

	begin(true);
	bind("b", false);
	slow = world_take(&b.w, "POST", POD "b/binding");
	bind("a", false);
	cr_assert_eq(world_open(&b.w), 1);
	return slow;
}

static void expect_cleared(const char *said)
{
	struct http_call *c = world_take(&b.w, "PATCH", CLAIM "/status");

	cr_assert_eq(world_open(&b.w), 1, "bound with a device that it lost");
	cr_assert_not_null(strstr(c->body, CLEARED));
	answer(c, 200, claim_text("14", false));
	expect(said);
	cr_assert_eq(world_open(&b.w), 0);
}

Test(claim_bind, a_device_that_goes_while_the_binding_waits_is_not_bound_with)
{
	struct http_call *slow = begin_queued();

	put(LIVE_CLAIMS, FOREIGN);
	answer(slow, 201, "{}");
	expect_cleared("bound:0 refused:20 ");
}

Test(claim_bind, a_device_that_is_not_ready_any_more_is_waited_for_again)
{
	struct http_call *slow;

	b.conditions = IS_TRUE("Attached") "," IS_TRUE("Clean");
	slow = begin_queued();
	b.conditions = IS_TRUE("Attached");
	put(LIVE_CLAIMS, claim_text("12", true));
	answer(slow, 201, "{}");
	cr_assert_eq(world_open(&b.w), 0, "bound with a device that is not ready");
	b.conditions = IS_TRUE("Attached") "," IS_TRUE("Clean");
	put(LIVE_CLAIMS, claim_text("13", true));
	turns(8);
	world_answer(world_take(&b.w, "POST", POD "a/binding"), 201, "{}");
	expect("bound:0 bound:0 ");
}

/* Before the fence it may run with the device. */
Test(claim_bind, a_device_that_goes_before_the_binding_is_sent_again_is_given_back_after_a_fence)
{
	begin(true);
	bind("a", false);
	world_fail(world_take(&b.w, "POST", POD "a/binding"), HTTP_BROKEN);
	turns(8);
	put(LIVE_CLAIMS, FOREIGN);
	answer(world_take(&b.w, "GET", POD "a"), 200, world_pod("a", "21", "", ""));
	cr_assert_eq(world_open(&b.w), 1);
	answer(world_take(&b.w, "PATCH", POD "a/status"), 200, world_pod("a", "23", "", ""));
	cr_assert_eq(world_open(&b.w), 1);
	answer(world_take(&b.w, "GET", POD "a"), 200, world_pod("a", "23", "", ""));
	expect_cleared("bound:0 refused:20 "); /* the first is RESULT_UNKNOWN */
}

/* The pod may have run and ended, and the claim be another's by now. */
Test(claim_bind, nothing_is_written_for_a_pod_whose_binding_is_in_flight)
{
	struct http_call *c;

	begin(true);
	bind("a", false);
	c = world_take(&b.w, "POST", POD "a/binding");
	b.unreserved = true;
	put(LIVE_CLAIMS, claim_text("12", true));
	turns(20);
	cr_assert_eq(world_open(&b.w), 1, "it is reserved again");
	world_answer(c, 201, "{}");
	turns(20);
	cr_assert_eq(world_open(&b.w), 0);
	expect("bound:0 ");
}
