/* SPDX-License-Identifier: Apache-2.0 */
/* What queues use, written into their objects: what is written, when it isn't, and what is
 * retried. */
#include "frontend/report/queue_status.h"

#include "frontend/base/log.h"
#include "tests/unit/support_world.h"

#define QUEUE "/apis/scheduling.volcano.sh/v1beta1/queues/a"
#define QUOTA "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/team/elasticquotas/a"
#define WALL_S UINT64_C(1790000000) /* 2026-09-21T14:13:20Z */
#define OBJECT(status)                                                                             \
	"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"},\"status\":" status "}"
#define MANAGED(name, time, field, status)                                                         \
	"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\",\"managedFields\":[{\"manager\":\""   \
	"kubectl\",\"time\":\"2026-09-21T14:13:19Z\",\"fieldsV1\":{\"f:spec\":{\"f:weight\":{}}}},{"   \
	"\"manager\":\"" name "\",\"time\":\"" time "\",\"subresource\":\"status\",\"fieldsV1\":{"     \
	"\"f:status\":{\"f:" field "\":{\"f:cpu\":{}}}}}]},\"status\":" status "}"

static struct bench {
	struct world w;
	struct model *m;
	struct queue_status *s;
} b;

static uint64_t wall(void *context)
{
	return WALL_S * NS_PER_S + ((struct world *)context)->now_ns;
}

static void begin_with(enum model_queues_of queues, const char *api, const char *kind,
                       const char *namespace)
{
	char json[300];

	world_init(&b.w);
	b.w.env.wall_ns = wall;
	b.w.now_ns = NS_PER_S;
	b.m = world_model_with((struct model_config){ .queues = queues });
	for (int i = 0; i < 2; i++) {
		snprintf(json, sizeof(json),
		         "{\"metadata\":{\"name\":\"%s\"%s,\"uid\":\"u-%d\",\"resourceVersion\":\"1\"},"
		         "\"spec\":{}}",
		         i ? "b" : "a", namespace, i);
		world_put(b.m, model_resource_index(b.m, api, kind), json);
	}
	world_flush(b.m);
	b.s = queue_status_new(&b.w.env, b.m);
}

static void begin(void)
{
	begin_with(MODEL_QUEUES_VOLCANO, "scheduling.volcano.sh/v1beta1", "Queue", "");
}

static void end(void)
{
	queue_status_free(b.s);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(queue_status, .init = begin, .fini = end);

/* Goes on to the next request, whenever it is due, but for what is read again. */
static struct http_call *next(const char *method, const char *path)
{
	const uint64_t from_ns = b.w.now_ns;

	for (int i = 0; world_open(&b.w) == 0; i++)
		world_wait(&b.w, i, queue_status_poll(b.s));
	cr_assert_leq(b.w.now_ns - from_ns, 61 * NS_PER_S);
	return world_take(&b.w, method, path);
}

/* Nothing is due but what is read again. */
static void at_rest(void)
{
	uint64_t due_ns = queue_status_poll(b.s);

	cr_assert_eq(world_open(&b.w), 0);
	if (due_ns <= b.w.now_ns + NS_PER_S) { /* the gap after a request */
		b.w.now_ns = due_ns;
		due_ns = queue_status_poll(b.s);
	}
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_gt(due_ns, b.w.now_ns + 61 * NS_PER_S);
}

/* Its time has come. */
static struct http_call *again(const char *path)
{
	at_rest();
	b.w.now_ns = queue_status_poll(b.s);
	queue_status_poll(b.s);
	return world_take(&b.w, "GET", path);
}

static void reads(const char *path, const char *object)
{
	world_answer(next("GET", path), 200, object);
}

static struct http_call *patches(const char *path, const char *body)
{
	struct http_call *c = next("PATCH", path);

	cr_assert_str_eq(c->body, body, "%s", c->body);
	cr_assert_str_eq(c->type, "application/merge-patch+json");
	return c;
}

#define PATCH_STATUS QUEUE "/status?fieldManager=muster"

Test(queue_status, is_written_once_with_what_is_gone_removed)
{
	queue_status_put(b.s, 5, "a", "{\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"8\"}");
	reads(QUEUE, OBJECT("{\"state\":\"Open\",\"allocated\":{\"cpu\":\"2\",\"old.com/x\":1}}"));
	world_answer(patches(PATCH_STATUS,
	                     "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"allocated\":{"
	                     "\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"8\",\"old.com/x\":null}}}"),
	             200, "{}");
	at_rest();
	queue_status_put(b.s, 5, "a", "{\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"8\"}");
	at_rest();
	queue_status_put(b.s, 5, "a", "{}");
	reads(QUEUE, OBJECT("{\"allocated\":{\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"8\"}}"));
	world_answer(patches(PATCH_STATUS,
	                     "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"allocated\":{"
	                     "\"cpu\":null,\"nvidia.com/gpu\":null}}}"),
	             200, "{}");
	at_rest();
}

Test(queue_status, what_is_written_is_read_again)
{
	const uint64_t from_ns = b.w.now_ns;

	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUEUE, OBJECT("{\"allocated\":{\"cpu\":\"2\"}}"));
	world_answer(again(QUEUE), 200, OBJECT("{\"allocated\":{\"cpu\":\"2\"}}"));
	cr_assert_eq(b.w.now_ns, from_ns + 600 * NS_PER_S);
	world_answer(again(QUEUE), 200, OBJECT("{\"allocated\":{\"cpu\":\"9\"}}"));
	world_answer(next("PATCH", PATCH_STATUS), 200, "{}");
	world_answer(again(QUEUE), 404, world_status(404, "NotFound", "gone"));
	world_answer(again(QUEUE), 200, OBJECT("{}"));
	world_answer(next("PATCH", PATCH_STATUS), 200, "{}");
	at_rest();
}

Test(queue_status, all_are_read_again_in_turns)
{
	queue_status_put(b.s, 3, "a", "{}");
	queue_status_put(b.s, 7, "b", "{}");
	queue_status_put(b.s, 8, "root", "{}");
	reads(QUEUE, OBJECT("{\"allocated\":{}}"));
	reads("/apis/scheduling.volcano.sh/v1beta1/queues/b", OBJECT("{\"allocated\":{}}"));
	for (int i = 0; i < 4; i++) {
		const uint64_t from_ns = b.w.now_ns;

		world_answer(again(i % 2 ? "/apis/scheduling.volcano.sh/v1beta1/queues/b" : QUEUE), 200,
		             OBJECT("{\"allocated\":{}}"));
		cr_assert(i == 0 || b.w.now_ns == from_ns + 200 * NS_PER_S);
	}
}

/* Volcano's Queues have the subresource: without this, all later writes went to the objects, whose
 * server ignores their status, or to which there is no right. */
Test(queue_status, a_queue_that_goes_before_its_write_changes_no_other)
{
	queue_status_put(b.s, 0, "a", "{}");
	reads(QUEUE, OBJECT("{}"));
	world_answer(next("PATCH", PATCH_STATUS), 404, world_status(404, "NotFound", "gone"));
	at_rest();
	queue_status_put(b.s, 1, "b", "{}");
	reads("/apis/scheduling.volcano.sh/v1beta1/queues/b", OBJECT("{}"));
	next("PATCH", "/apis/scheduling.volcano.sh/v1beta1/queues/b/status");
}

/* Tenants may make them. */
Test(queue_status, an_object_that_is_too_long_stops_no_other)
{
	queue_status_put(b.s, 0, "a", "{}");
	queue_status_put(b.s, 1, "b", "{}");
	world_too_long(next("GET", QUEUE));
	cr_assert_eq(queue_status_poll(b.s), b.w.now_ns + 50 * NS_PER_MS);
	reads("/apis/scheduling.volcano.sh/v1beta1/queues/b", OBJECT("{\"allocated\":{}}"));
	at_rest();
}

Test(queue_status, without_a_status_it_is_begun)
{
	queue_status_put(b.s, 0, "a", "{}");
	reads(QUEUE, "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":null}");
	world_answer(patches(PATCH_STATUS, "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{"
	                                   "\"allocated\":{}}}"),
	             200, "{}");
	at_rest();
}

/* As of each queue when an instance begins to lead. */
Test(queue_status, an_object_that_has_it_is_not_written)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\",\"memory\":\"5\"}");
	reads(QUEUE, OBJECT("{\"allocated\":{\"cpu\":\"2\",\"memory\":\"5\"}}"));
	at_rest();
}

Test(queue_status, queues_without_an_object_are_not_read)
{
	queue_status_put(b.s, 0, "root", "{\"cpu\":\"2\"}");
	queue_status_put(b.s, 1, "gone", "{\"cpu\":\"2\"}");
	at_rest();
}

Test(queue_status, an_object_that_is_gone_is_left)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	world_answer(next("GET", QUEUE), 404, world_status(404, "NotFound", "gone"));
	at_rest();
}

/* volcano#3137: two schedulers write in turn. */
Test(queue_status, what_another_manager_wrote_is_left_for_ten_minutes)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUEUE, MANAGED("vc-scheduler", "2026-09-21T14:05:00Z", "allocated",
	                     "{\"allocated\":{\"cpu\":1}}"));
	b.w.now_ns += NS_PER_S;
	cr_assert_eq(queue_status_poll(b.s), b.w.now_ns + 59 * NS_PER_S);
	cr_assert(
		world_said(&b.w, "status.allocated of Queue a is not written: vc-scheduler wrote it"));
	b.w.now_ns += 60 * NS_PER_S;
	reads(QUEUE, MANAGED("vc-scheduler", "2026-09-21T14:04:00Z", "allocated",
	                     "{\"allocated\":{\"cpu\":1}}"));
	world_answer(next("PATCH", QUEUE), 200, "{}");
	at_rest();
}

Test(queue_status, other_fields_and_its_own_name_do_not_count)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUEUE, MANAGED("vc-controller", "2026-09-21T14:13:19Z", "running", "{\"running\":1}"));
	world_answer(next("PATCH", QUEUE), 200, "{}");
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"3\"}");
	reads(QUEUE, MANAGED("muster", "2026-09-21T14:13:19Z", "allocated", "{\"allocated\":{}}"));
	world_answer(next("PATCH", QUEUE), 200, "{}");
	at_rest();
}

Test(queue_status, a_conflict_reads_again)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUEUE, OBJECT("{}"));
	world_answer(next("PATCH", QUEUE), 409, world_status(409, "Conflict", "changed"));
	reads(QUEUE, OBJECT("{\"allocated\":{\"cpu\":\"2\"}}"));
	at_rest();
	cr_assert(!world_said(&b.w, "warn"));
}

Test(queue_status, a_missing_right_stops_all_for_a_minute_and_is_named)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUEUE, OBJECT("{}"));
	world_answer(next("PATCH", QUEUE), 403,
	             world_status(403, "Forbidden", "cannot patch queues/status"));
	queue_status_put(b.s, 1, "b", "{\"cpu\":\"2\"}");
	cr_assert_eq(queue_status_poll(b.s), b.w.now_ns + 60 * NS_PER_S);
	cr_assert(world_said(&b.w, "status.allocated of Queue a can't be written: 403 cannot patch "
	                           "queues/status (deploy/queue-status has the right)"));
	b.w.now_ns += 60 * NS_PER_S;
	for (int i = 0; i < 2; i++) {
		world_answer(next("GET", "/apis/scheduling.volcano.sh/v1beta1/queues/"), 200, OBJECT("{}"));
		world_answer(next("PATCH", "/apis/scheduling.volcano.sh/v1beta1/queues/"), 200, "{}");
	}
	at_rest();
}

Test(queue_status, is_retried_after_an_outage)
{
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	for (int i = 0; i < 5; i++)
		world_fail(next("GET", QUEUE), i % 2 ? HTTP_BROKEN : HTTP_NOT_SENT);
	reads(QUEUE, OBJECT("{}"));
	world_fail(next("PATCH", QUEUE), HTTP_BROKEN);
	reads(QUEUE, OBJECT("{\"allocated\":{\"cpu\":\"2\"}}"));
	at_rest();
}

Test(queue_status, a_change_while_it_is_in_flight_is_written_next)
{
	struct http_call *c;

	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUEUE, OBJECT("{}"));
	c = next("PATCH", QUEUE);
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"3\"}");
	world_answer(c, 200, "{}");
	reads(QUEUE, OBJECT("{\"allocated\":{\"cpu\":\"2\"}}"));
	cr_assert(strstr(next("PATCH", QUEUE)->body, "{\"cpu\":\"3\"}"));
}

/* The id of a queue that is gone is used again. */
Test(queue_status, another_queue_in_the_row_gets_what_it_uses_itself)
{
	struct http_call *c;

	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	c = next("GET", QUEUE);
	queue_status_put(b.s, 0, "b", "{\"cpu\":\"3\"}");
	cr_assert(c->cancelled);
	reads("/apis/scheduling.volcano.sh/v1beta1/queues/b", OBJECT("{}"));
	c = next("PATCH", "/apis/scheduling.volcano.sh/v1beta1/queues/b/status");
	cr_assert(strstr(c->body, "{\"cpu\":\"3\"}"));
	queue_status_drop(b.s, 0);
	cr_assert(c->cancelled);
	at_rest();
	queue_status_put(b.s, 0, "b", "{\"cpu\":\"3\"}");
	reads("/apis/scheduling.volcano.sh/v1beta1/queues/b",
	      OBJECT("{\"allocated\":{\"cpu\":\"3\"}}"));
	at_rest();
}

Test(queue_status, requests_have_a_gap)
{
	queue_status_put(b.s, 0, "a", "{}");
	queue_status_put(b.s, 1, "b", "{}");
	queue_status_poll(b.s);
	reads(QUEUE, OBJECT("{\"allocated\":{}}"));
	cr_assert_eq(queue_status_poll(b.s), b.w.now_ns + 50 * NS_PER_MS);
}

Test(queue_status, what_is_no_object_is_told_and_left)
{
	static const char *const bodies[] = { "", "[]", "{}", OBJECT("{\"allocated\":[1]}"),
		                                  OBJECT("{\"allocated\":{\"cpu\":{}}}") };
	char used[32];

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		snprintf(used, sizeof(used), "{\"cpu\":\"%zu\"}", i + 1);
		queue_status_put(b.s, 0, "a", used);
		reads(QUEUE, bodies[i]);
		at_rest();
		cr_assert(world_said(&b.w, "the status of Queue a can't be read"));
	}
}

/* Koordinator's CRD has no status subresource. */
Test(queue_status, a_quota_is_patched_where_its_status_is)
{
	end();
	begin_with(MODEL_QUEUES_KOORDINATOR, "scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota",
	           ",\"namespace\":\"team\"");
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUOTA, MANAGED("x", "2026-09-21T14:13:19Z", "allocated", "{\"used\":{\"cpu\":\"1\"}}"));
	world_answer(next("PATCH", QUOTA "/status?"), 404, world_status(404, "NotFound", "no such"));
	world_answer(patches(QUOTA "?fieldManager=muster",
	                     "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"used\":{\"cpu\":"
	                     "\"2\"}}}"),
	             200, "{}");
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"3\"}");
	reads(QUOTA, OBJECT("{}"));
	world_answer(next("PATCH", QUOTA "?"), 200, "{}");
	queue_status_put(b.s, 2, "koordinator-default-quota", "{\"cpu\":\"3\"}");
	at_rest();
}

/* scheduler-plugins' CRD of the same name has it. */
Test(queue_status, a_quota_that_goes_before_its_write_changes_no_other)
{
	end();
	begin_with(MODEL_QUEUES_KOORDINATOR, "scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota",
	           ",\"namespace\":\"team\"");
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"2\"}");
	reads(QUOTA, OBJECT("{}"));
	for (int i = 0; i < 2; i++)
		world_answer(next("PATCH", i ? QUOTA "?" : QUOTA "/status?"), 404,
		             world_status(404, "NotFound", "gone"));
	at_rest();
	queue_status_put(b.s, 0, "a", "{\"cpu\":\"3\"}");
	reads(QUOTA, OBJECT("{}"));
	world_answer(next("PATCH", QUOTA "/status?"), 200, "{}");
	at_rest();
}
