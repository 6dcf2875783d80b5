/* SPDX-License-Identifier: Apache-2.0 */
/* Bound pods that can't be counted: the core may not see room on their node. */
#include "frontend/model/model_impl.h"

#include "tests/unit/support_replay.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct limits LIMITS = { .nodes = 3,
	                                  .pods = 3,
	                                  .gangs = 2,
	                                  .shapes = 3,
	                                  .names = 24,
	                                  .resources = 6,
	                                  .name_bytes = 2048,
	                                  .command_ring_bytes = 8192 };

struct story {
	struct model *m;
	struct replay replay;
	struct decode_error error;
};

static void start(struct story *s)
{
	static const char *const names[] = { "muster" };
	struct model_config config = {
		.scheduler_names = names, .scheduler_names_n = 1, .limits = LIMITS, .hash_key = { 1, 2 }
	};

	memset(s, 0, sizeof(*s));
	s->m = model_new(&config);
	cr_assert(s->m);
	replay_start(&s->replay, &LIMITS);
	replay_add_core(&s->replay);
}

static void end(struct story *s)
{
	model_free(s->m);
	replay_free(&s->replay);
}

__attribute__((format(printf, 3, 4))) static int put(struct story *s, int resource,
                                                     const char *format, ...)
{
	char json[8192], why[200] = "";
	va_list args;
	int n, rc;

	va_start(args, format);
	n = vsnprintf(json, sizeof(json), format, args);
	va_end(args);
	cr_assert(n > 0 && n < (int)sizeof(json));
	rc = model_put(s->m, resource, json, (size_t)n, &s->error);
	cr_assert(model_valid(s->m, why, sizeof(why)), "%s", why);
	return rc;
}

static int put_node(struct story *s, const char *name, int version)
{
	return put(
		s, RESOURCE_INDEX_NODES,
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"},\"status\":"
		"{\"allocatable\":{\"cpu\":\"8\",\"pods\":\"110\"}}}",
		name, name, version);
}

/* A pod that another scheduler bound; `requests` as JSON. */
static int put_pod(struct story *s, const char *name, int version, const char *node,
                   const char *requests)
{
	return put(
		s, RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":"
		"\"%d\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{%s}}}]}}",
		name, name, version, node, requests);
}

static void delete (struct story *s, int resource, const char *name)
{
	char json[256], why[200] = "";
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\"}}", name,
	                 name);

	cr_assert_eq(model_remove(s->m, resource, json, (size_t)n, &s->error), 0);
	cr_assert(model_valid(s->m, why, sizeof(why)), "%s", why);
}

/* Has the core been told of room on the node?  Record by record, so that nothing is
 * left out in between. */
static bool room_on(struct story *s, const char *name)
{
	const struct event_node *e;
	char why[200] = "";

	while (!replay_flush(&s->replay, s->m, 1))
		;
	cr_assert(model_valid(s->m, why, sizeof(why)), "%s", why);
	e = replay_node(&s->replay, name);
	cr_assert(e, "node %s", name);
	return e->amounts_n > 0;
}

static void list(struct story *s, bool begin)
{
	if (begin)
		model_replace_begin(s->m, RESOURCE_INDEX_PODS);
	else
		model_replace_end(s->m, RESOURCE_INDEX_PODS);
}

#define CPU(n) "\"cpu\":\"" #n "\""

/* All shapes are taken: the pod is known, not what it asks for. */
Test(blind, a_shape_is_missing)
{
	struct story s;

	start(&s);
	put_node(&s, "n1", 1);
	put_node(&s, "n2", 1);
	put_pod(&s, "a", 1, "n1", CPU(1));
	put_pod(&s, "b", 2, "n1", CPU(2));
	cr_assert(room_on(&s, "n2"));
	cr_assert_eq(put_pod(&s, "c", 3, "n2", CPU(3)), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-shapes is 3; node n2 gets no more pods"), "%s",
	          s.error.text);
	cr_assert(room_on(&s, "n1"));
	cr_assert_not(room_on(&s, "n2"));
	put_node(&s, "n2", 4); /* news of the node change nothing */
	cr_assert_not(room_on(&s, "n2"));
	/* There is room again, and a list brings the same version. */
	delete (&s, RESOURCE_INDEX_PODS, "a");
	room_on(&s, "n2");
	cr_assert_eq(put_pod(&s, "c", 3, "n2", CPU(3)), 0);
	cr_assert(room_on(&s, "n2"));
	end(&s);
}

/* The shape of a pod is told before the node has room again. */
Test(blind, sight_comes_after_the_pods)
{
	const struct event_pod *c;
	struct story s;

	start(&s);
	put_node(&s, "n2", 1);
	put_pod(&s, "a", 1, "n1", CPU(1));
	put_pod(&s, "b", 2, "n1", CPU(2));
	put_pod(&s, "c", 3, "n2", CPU(3));
	cr_assert_not(room_on(&s, "n2"));
	delete (&s, RESOURCE_INDEX_PODS, "a");
	room_on(&s, "n2");
	put_pod(&s, "c", 3, "n2", CPU(3));
	put_node(&s, "n2", 5);
	put(&s, RESOURCE_INDEX_NODES,
	    "{\"metadata\":{\"name\":\"n2\",\"uid\":\"u-n2\",\"resourceVersion\":\"6\"},\"status\":"
	    "{\"allocatable\":{\"cpu\":\"9\",\"pods\":\"110\"}}}");
	while (!replay_flush(&s.replay, s.m, 1)) {
		c = replay_pod(&s.replay, "ns/c");
		if (replay_node(&s.replay, "n2")->amounts_n > 0)
			cr_assert_eq(replay_shape(&s.replay, c)->amounts_n, 1,
			             "room before the pod was counted");
	}
	cr_assert(room_on(&s, "n2"));
	end(&s);
}

Test(blind, until_the_pod_that_is_not_counted_goes)
{
	struct story s;

	start(&s);
	put_node(&s, "n2", 1);
	put_pod(&s, "a", 1, "n1", CPU(1));
	put_pod(&s, "b", 2, "n1", CPU(2));
	put_pod(&s, "c", 3, "n2", CPU(3));
	cr_assert_not(room_on(&s, "n2"));
	delete (&s, RESOURCE_INDEX_PODS, "c");
	cr_assert(room_on(&s, "n2"));
	end(&s);
}

/* No room for the pod at all: until a whole list of pods has none left out. */
Test(blind, a_pod_is_left_out)
{
	struct story s;

	start(&s);
	put_node(&s, "n2", 1);
	put_pod(&s, "a", 1, "n1", CPU(1));
	put_pod(&s, "b", 2, "n1", CPU(1));
	put_pod(&s, "c", 3, "n1", CPU(1));
	cr_assert(room_on(&s, "n2"));
	cr_assert_eq(put_pod(&s, "d", 4, "n2", CPU(1)), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-pods is 3; node n2 gets no more pods"), "%s",
	          s.error.text);
	cr_assert_not(room_on(&s, "n2"));
	list(&s, true);
	put_pod(&s, "a", 1, "n1", CPU(1));
	put_pod(&s, "b", 2, "n1", CPU(1));
	put_pod(&s, "c", 3, "n1", CPU(1));
	put_pod(&s, "d", 4, "n2", CPU(1));
	list(&s, false);
	cr_assert_not(room_on(&s, "n2"), "it was left out again");
	delete (&s, RESOURCE_INDEX_PODS, "a");
	list(&s, true);
	cr_assert_not(room_on(&s, "n2"), "the list is not over");
	put_pod(&s, "b", 2, "n1", CPU(1));
	put_pod(&s, "c", 3, "n1", CPU(1));
	put_pod(&s, "d", 4, "n2", CPU(1));
	list(&s, false);
	cr_assert(room_on(&s, "n2"));
	cr_assert_eq(replay_pod(&s.replay, "ns/d")->node, replay_node(&s.replay, "n2")->node);
	end(&s);
}

/* The pod's node found no slot, and comes when there is one. */
Test(blind, a_node_that_comes_later)
{
	struct story s;

	start(&s);
	put_node(&s, "n1", 1);
	put_node(&s, "n2", 1);
	put_node(&s, "n3", 1);
	cr_assert_eq(put_pod(&s, "a", 1, "n4", CPU(1)), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-nodes is 3; node n4 gets no more pods"), "%s",
	          s.error.text);
	cr_assert(room_on(&s, "n1"));
	delete (&s, RESOURCE_INDEX_NODES, "n1");
	room_on(&s, "n2");
	cr_assert_eq(put_node(&s, "n4", 1), 0);
	cr_assert_not(room_on(&s, "n4"));
	/* Gone and come back, it is no better known. */
	delete (&s, RESOURCE_INDEX_NODES, "n4");
	room_on(&s, "n2");
	put_node(&s, "n4", 2);
	cr_assert_not(room_on(&s, "n4"));
	list(&s, true);
	put_pod(&s, "a", 1, "n4", CPU(1));
	list(&s, false);
	cr_assert(room_on(&s, "n4"));
	end(&s);
}

/* Bound, and it can't be read: nothing is known of what it takes. */
Test(blind, a_pod_that_can_not_be_read)
{
	struct story s;

	start(&s);
	put_node(&s, "n1", 1);
	put_node(&s, "n2", 1);
	cr_assert_eq(put_pod(&s, "a", 1, "n1", CPU(-1)), -EINVAL);
	cr_assert(strstr(s.error.text, "node n1 gets no more pods"), "%s", s.error.text);
	cr_assert_not(room_on(&s, "n1"));
	cr_assert(room_on(&s, "n2"));
	put_pod(&s, "a", 2, "n1", CPU(1));
	cr_assert(room_on(&s, "n1"));
	/* What it took before counts on. */
	cr_assert_eq(put_pod(&s, "a", 3, "n1", CPU(-1)), -EINVAL);
	cr_assert(room_on(&s, "n1"));
	end(&s);
}

/* A new core is told the same. */
Test(blind, a_new_core)
{
	struct story s;

	start(&s);
	put_node(&s, "n1", 1);
	put_pod(&s, "a", 1, "n1", CPU(-1));
	cr_assert_not(room_on(&s, "n1"));
	replay_forget(&s.replay);
	model_restart(s.m);
	cr_assert_not(room_on(&s, "n1"));
	put_pod(&s, "a", 2, "n1", CPU(1));
	replay_forget(&s.replay);
	model_restart(s.m);
	cr_assert(room_on(&s, "n1"));
	end(&s);
}

/* A bound pod of ours whose rules do not fit a shape counts by its requests. */
Test(blind, rules_of_bound_pods_do_not_matter)
{
	struct story s;

	start(&s);
	put_node(&s, "n1", 1);
	put_pod(&s, "a", 1, "n1", CPU(1));
	put_pod(&s, "b", 2, "n1", CPU(2));
	cr_assert_eq(
		put(&s, RESOURCE_INDEX_PODS,
	        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":"
	        "\"3\"},\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n1\",\"nodeSelector\":{\"a\":\"b\"},"
	        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}"),
		0);
	cr_assert(room_on(&s, "n1"));
	cr_assert_eq(replay_pod(&s.replay, "ns/c")->shape, replay_pod(&s.replay, "ns/b")->shape);
	end(&s);
}

/* Its node was blind until it was deleted, though a frontend that started then would not have
 * counted it. */
Test(blind, one_that_can_not_be_read_ends)
{
#define UNREAD(version, phase)                                                                                       \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u-a\",\"resourceVersion\":\"" version              \
	"\"},"                                                                                                           \
	"\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"x\"}}}]}," \
	"\"status\":{\"phase\":\"" phase "\"}}"
	struct story s;

	start(&s);
	put_node(&s, "n1", 1);
	put_pod(&s, "a", 3, "n1", "\"cpu\":\"x\"");
	cr_assert(!room_on(&s, "n1"));
	put(&s, RESOURCE_INDEX_PODS, UNREAD("2", "Succeeded"));
	cr_assert(!room_on(&s, "n1"), "that is older than what is known");
	put(&s, RESOURCE_INDEX_PODS, UNREAD("4", "Running"));
	cr_assert(!room_on(&s, "n1"));
	put(&s, RESOURCE_INDEX_PODS, UNREAD("5", "Succeeded"));
	cr_assert(room_on(&s, "n1"));
	end(&s);
#undef UNREAD
}
