/* SPDX-License-Identifier: Apache-2.0 */
/* Bound pods that cannot be counted: the core must not get allocatable amounts of their node. */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_model.h"

static const struct limits LIMITS =
	LIMITS_WITH(.nodes = 3, .pods = 3, .gangs = 2, .shapes = 3, .resources = 6, .name_bytes = 2048,
                .command_ring_bytes = 8192);

static void start(void)
{
	start_model((struct model_config){ .limits = LIMITS }, 1);
	replay_add_core(&s.replay);
}

TestSuite(unaccounted, .init = start, .fini = end);

static int put_node(const char *name, int version)
{
	return put_object(
		RESOURCE_INDEX_NODES,
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"},\"status\":"
		"{\"allocatable\":{\"cpu\":\"8\",\"pods\":\"110\"}}}",
		name, name, version);
}

/* A pod bound by another scheduler; `requests` as JSON. */
static int put_pod(const char *name, int version, const char *node, const char *requests)
{
	return put_object(
		RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":"
		"\"%d\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{%s}}}]}}",
		name, name, version, node, requests);
}

static void delete (int resource, const char *name)
{
	char uid[64];

	snprintf(uid, sizeof(uid), "u-%s", name);
	remove_object(resource, name, uid, 0);
}

/* True if the core got amounts of the node.  Record by record, so that no state in between is
 * missed. */
static bool room_on(const char *name)
{
	const struct event_node *e;

	while (!replay_flush(&s.replay, s.m, 1))
		;
	check();
	e = replay_node(&s.replay, name);
	cr_assert(e, "node %s", name);
	return e->amounts_n > 0;
}

static void list(bool begin)
{
	if (begin)
		model_replace_begin(s.m, RESOURCE_INDEX_PODS);
	else
		model_replace_end(s.m, RESOURCE_INDEX_PODS);
}

#define CPU(n) "\"cpu\":\"" #n "\""

/* No free shape: the pod is known, its requests are not. */
Test(unaccounted, a_shape_is_missing)
{
	put_node("n1", 1);
	put_node("n2", 1);
	put_pod("a", 1, "n1", CPU(1));
	put_pod("b", 2, "n1", CPU(2));
	cr_assert(room_on("n2"));
	cr_assert_eq(put_pod("c", 3, "n2", CPU(3)), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-shapes is 3; node n2 gets no more pods"), "%s",
	          s.error.text);
	cr_assert(room_on("n1"));
	cr_assert_not(room_on("n2"));
	put_node("n2", 4); /* a new version of the node changes nothing */
	cr_assert_not(room_on("n2"));
	/* There is a free shape again, and a list has the same version. */
	delete (RESOURCE_INDEX_PODS, "a");
	room_on("n2");
	cr_assert_eq(put_pod("c", 3, "n2", CPU(3)), 0);
	cr_assert(room_on("n2"));
}

/* That of pod c. */
static void a_shape_too_many(void)
{
	put_node("n2", 1);
	put_pod("a", 1, "n1", CPU(1));
	put_pod("b", 2, "n1", CPU(2));
	put_pod("c", 3, "n2", CPU(3));
	cr_assert_not(room_on("n2"));
}

/* The shape of a pod is sent before the amounts of its node. */
Test(unaccounted, amounts_are_sent_after_the_pods)
{
	const struct event_pod *c;

	a_shape_too_many();
	delete (RESOURCE_INDEX_PODS, "a");
	room_on("n2");
	put_pod("c", 3, "n2", CPU(3));
	put_node("n2", 5);
	put_object(
		RESOURCE_INDEX_NODES,
		"{\"metadata\":{\"name\":\"n2\",\"uid\":\"u-n2\",\"resourceVersion\":\"6\"},\"status\":"
		"{\"allocatable\":{\"cpu\":\"9\",\"pods\":\"110\"}}}");
	while (!replay_flush(&s.replay, s.m, 1)) {
		c = replay_pod(&s.replay, "ns/c");
		if (replay_node(&s.replay, "n2")->amounts_n > 0)
			cr_assert_eq(replay_shape(&s.replay, c)->amounts_n, 1,
			             "room before the pod was counted");
	}
	cr_assert(room_on("n2"));
}

Test(unaccounted, until_the_pod_is_removed)
{
	a_shape_too_many();
	delete (RESOURCE_INDEX_PODS, "c");
	cr_assert(room_on("n2"));
}

/* No slot for the pod: until a whole list of pods left none out. */
Test(unaccounted, a_pod_is_left_out)
{
	put_node("n2", 1);
	put_pod("a", 1, "n1", CPU(1));
	put_pod("b", 2, "n1", CPU(1));
	put_pod("c", 3, "n1", CPU(1));
	cr_assert(room_on("n2"));
	cr_assert_eq(put_pod("d", 4, "n2", CPU(1)), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-pods is 3; node n2 gets no more pods"), "%s",
	          s.error.text);
	cr_assert_not(room_on("n2"));
	list(true);
	put_pod("a", 1, "n1", CPU(1));
	put_pod("b", 2, "n1", CPU(1));
	put_pod("c", 3, "n1", CPU(1));
	put_pod("d", 4, "n2", CPU(1));
	list(false);
	cr_assert_not(room_on("n2"), "it was left out again");
	delete (RESOURCE_INDEX_PODS, "a");
	list(true);
	cr_assert_not(room_on("n2"), "the list is not over");
	put_pod("b", 2, "n1", CPU(1));
	put_pod("c", 3, "n1", CPU(1));
	put_pod("d", 4, "n2", CPU(1));
	list(false);
	cr_assert(room_on("n2"));
	cr_assert_eq(replay_pod(&s.replay, "ns/d")->node, replay_node(&s.replay, "n2")->node);
}

/* The pod's node found no slot, and is stored when there is one. */
Test(unaccounted, a_node_that_is_put_later)
{
	put_node("n1", 1);
	put_node("n2", 1);
	put_node("n3", 1);
	cr_assert_eq(put_pod("a", 1, "n4", CPU(1)), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-nodes is 3; node n4 gets no more pods"), "%s",
	          s.error.text);
	cr_assert(room_on("n1"));
	delete (RESOURCE_INDEX_NODES, "n1");
	room_on("n2");
	cr_assert_eq(put_node("n4", 1), 0);
	cr_assert_not(room_on("n4"));
	/* Removed and put again: still unaccounted. */
	delete (RESOURCE_INDEX_NODES, "n4");
	room_on("n2");
	put_node("n4", 2);
	cr_assert_not(room_on("n4"));
	list(true);
	put_pod("a", 1, "n4", CPU(1));
	list(false);
	cr_assert(room_on("n4"));
}

/* A bound pod that cannot be read: its usage is not known. */
Test(unaccounted, a_pod_that_can_not_be_read)
{
	put_node("n1", 1);
	put_node("n2", 1);
	cr_assert_eq(put_pod("a", 1, "n1", CPU(-1)), -EINVAL);
	cr_assert(strstr(s.error.text, "node n1 gets no more pods"), "%s", s.error.text);
	cr_assert_not(room_on("n1"));
	cr_assert(room_on("n2"));
	put_pod("a", 2, "n1", CPU(1));
	cr_assert(room_on("n1"));
	/* Its last known usage still counts. */
	cr_assert_eq(put_pod("a", 3, "n1", CPU(-1)), -EINVAL);
	cr_assert(room_on("n1"));
}

/* A new core gets the same. */
Test(unaccounted, a_new_core)
{
	put_node("n1", 1);
	put_pod("a", 1, "n1", CPU(-1));
	cr_assert_not(room_on("n1"));
	replay_forget(&s.replay);
	model_restart(s.m);
	cr_assert_not(room_on("n1"));
	put_pod("a", 2, "n1", CPU(1));
	replay_forget(&s.replay);
	model_restart(s.m);
	cr_assert(room_on("n1"));
}

/* A bound pod of ours whose rules do not fit a shape is counted by its requests. */
Test(unaccounted, rules_of_bound_pods_do_not_matter)
{
	put_node("n1", 1);
	put_pod("a", 1, "n1", CPU(1));
	put_pod("b", 2, "n1", CPU(2));
	cr_assert_eq(
		put_object(
			RESOURCE_INDEX_PODS,
			"{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":"
			"\"3\"},\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n1\",\"nodeSelector\":{\"a\":\"b\"},"
			"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}"),
		0);
	cr_assert(room_on("n1"));
	cr_assert_eq(replay_pod(&s.replay, "ns/c")->shape, replay_pod(&s.replay, "ns/b")->shape);
}

/* Regression: the node stayed unaccounted until the pod was deleted, not until it ended. */
Test(unaccounted, one_that_can_not_be_read_ends)
{
#define UNREAD(version, phase)                                                                                       \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u-a\",\"resourceVersion\":\"" version              \
	"\"},"                                                                                                           \
	"\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"x\"}}}]}," \
	"\"status\":{\"phase\":\"" phase "\"}}"

	put_node("n1", 1);
	put_pod("a", 3, "n1", "\"cpu\":\"x\"");
	cr_assert(!room_on("n1"));
	put_object(RESOURCE_INDEX_PODS, UNREAD("2", "Succeeded"));
	cr_assert(!room_on("n1"), "that is older than what is known");
	put_object(RESOURCE_INDEX_PODS, UNREAD("4", "Running"));
	cr_assert(!room_on("n1"));
	put_object(RESOURCE_INDEX_PODS, UNREAD("5", "Succeeded"));
	cr_assert(room_on("n1"));
#undef UNREAD
}

/* A pod that a tenant binds by hand, with more resources than there are columns: a kubelet admits
 * it and minds none that its node lacks.  What the node has of it is counted. */
#define MADE_UP 70

static int put_many(int version, const char *more)
{
	char requests[4096];
	size_t at = (size_t)snprintf(requests, sizeof(requests), CPU(1));

	for (int i = 0; i < MADE_UP; i++)
		at += (size_t)snprintf(requests + at, sizeof(requests) - at, ",\"evil/r%d\":\"1\"", i);
	snprintf(requests + at, sizeof(requests) - at, "%s", more);
	return put_pod("a", version, "n1", requests);
}

static void put_rich_node(int version, const char *more)
{
	put_object(RESOURCE_INDEX_NODES,
	           "{\"metadata\":{\"name\":\"n1\",\"uid\":\"u-n1\",\"resourceVersion\":\"%d\"},"
	           "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"pods\":\"110\",\"a/gpu\":\"4\"%s}}}",
	           version, more);
}

static uint32_t amounts_of(const char *pod)
{
	return replay_shape(&s.replay, replay_pod(&s.replay, pod))->amounts_n;
}

Test(unaccounted, more_resources_than_columns)
{
	put_rich_node(1, "");
	cr_assert_eq(put_many(1, ",\"a/gpu\":\"2\""), -EINVAL);
	cr_assert(strstr(s.error.text, "one of more than 64 resources"), "%s", s.error.text);
	cr_assert_null(strstr(s.error.text, "gets no more pods"), "%s", s.error.text);
	cr_assert(room_on("n1"));
	cr_assert_eq(amounts_of("ns/a"), 2, "cpu and a/gpu");
	cr_assert_not(model_lacks(s.m, RESOURCE_INDEX_PODS));
	/* The node gets one of the others: not before the pod was read again. */
	put_rich_node(2, ",\"evil/r69\":\"1\"");
	cr_assert_not(room_on("n1"));
	cr_assert(model_lacks(s.m, RESOURCE_INDEX_PODS));
	list(true);
	put_many(1, ",\"a/gpu\":\"2\"");
	list(false);
	cr_assert(room_on("n1"));
	cr_assert_eq(amounts_of("ns/a"), 3);
}

/* One whose rules cannot be read is counted, too. */
Test(unaccounted, rules_that_can_not_be_read)
{
	put_node("n1", 1);
	cr_assert_eq(
		put_object(
			RESOURCE_INDEX_PODS,
			"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":"
			"\"3\"},\"spec\":{\"nodeName\":\"n1\",\"tolerations\":[{\"key\":\"a\",\"operator\":\"New\"}],"
			"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}"),
		-EINVAL);
	cr_assert(room_on("n1"));
	cr_assert_eq(amounts_of("ns/a"), 1);
}
