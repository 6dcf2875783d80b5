/* SPDX-License-Identifier: Apache-2.0 */
/* The loop between watch and binding, with a core and an API server that the test
 * plays. */
#include "frontend/loop/frontend.h"

#include "frontend/api/lease.h"

#include "tests/unit/support_world.h"

struct core {
	char seen[4096]; /* kinds of the events, "begin name node ... " */
	char results[1024];
	unsigned cap; /* events that still fit */
	unsigned result_room;
	bool read_all; /* events_read() */
	unsigned published;
	unsigned ticks;
	uint32_t pod_flags; /* of the last EVENT_POD */
	enum record_kind kind;
	_Alignas(8) unsigned char body[RECORD_BYTES_MAX];
};

static struct bench {
	struct world w;
	struct model *m;
	struct frontend *f;
	struct core core;
	struct frontend_port port;
	struct limits limits;
} b;

/* The body is written after its room was given: look at the last one first. */
static void core_look(struct core *c)
{
	if (c->kind == EVENT_POD)
		c->pod_flags = ((const struct event_pod *)(const void *)c->body)->flags;
	c->kind = RECORD_PAD;
}

static void *core_event(void *context, enum record_kind kind, uint32_t bytes)
{
	static const char *const names[RECORD_KINDS] = {
		[EVENT_BEGIN] = "begin",
		[EVENT_SYNCED] = "synced",
		[EVENT_NAME] = "name",
		[EVENT_NODE] = "node",
		[EVENT_NODE_DROP] = "-node",
		[EVENT_SHAPE] = "shape",
		[EVENT_SHAPE_DROP] = "-shape",
		[EVENT_GANG] = "gang",
		[EVENT_GANG_DROP] = "-gang",
		[EVENT_POD] = "pod",
		[EVENT_POD_DROP] = "-pod",
		[EVENT_NAMESPACE] = "namespace",
		[EVENT_NAMESPACE_DROP] = "-namespace",
	};
	struct core *c = context;

	core_look(c);
	cr_assert(bytes % 8 == 0 && bytes <= sizeof(c->body));
	if (c->cap == 0)
		return NULL;
	c->cap--;
	c->kind = kind;
	if (kind == EVENT_TICK) {
		c->ticks++;
	} else if (kind != EVENT_NAME && kind != EVENT_SHAPE && kind != EVENT_SHAPE_DROP) {
		strcat(c->seen, names[kind]);
		strcat(c->seen, " ");
	}
	return c->body;
}

static bool core_result(void *context, enum record_kind kind, const struct result *r)
{
	struct core *c = context;
	size_t n = strlen(c->results);

	if (c->result_room == 0)
		return false;
	c->result_room--;
	snprintf(c->results + n, sizeof(c->results) - n, "%s:%u ",
	         kind == RESULT_BOUND     ? "bound"
	         : kind == RESULT_REFUSED ? "refused"
	                                  : "unknown",
	         r->pod);
	return true;
}

static void core_publish(void *context)
{
	core_look(context);
	((struct core *)context)->published++;
}

static bool core_read(void *context)
{
	return ((struct core *)context)->read_all;
}

static void end(void)
{
	frontend_free(b.f);
	model_free(b.m);
	world_free(&b.w);
}

static void begin_model(const struct lease_config *lease, uint64_t memory_bytes)
{
	struct frontend_config config = {
		.bind_connections = 4,
		.report_per_second = 100,
		.report_queue = 100,
		.instance = "muster-test",
		.lease = lease,
	};

	if (b.m)
		end();
	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = world_model_with((struct model_config){ .memory_bytes = memory_bytes });
	b.core = (struct core){ .cap = 1000, .result_room = 1000, .read_all = true };
	b.port = (struct frontend_port){
		.event = core_event,
		.result = core_result,
		.publish = core_publish,
		.events_read = core_read,
		.context = &b.core,
	};
	b.limits = world_limits;
	b.f = frontend_new(&config, &b.w.env, b.m);
}

static void begin_with(const struct lease_config *lease)
{
	begin_model(lease, 0);
}

static void begin(void)
{
	begin_with(NULL);
}

TestSuite(frontend, .init = begin, .fini = end);

static void answer_list(const char *path, const char *items)
{
	char text[16384];

	snprintf(text, sizeof(text), "{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[%s]}",
	         items);
	world_answer(world_take(&b.w, "GET", path), 200, text);
}

/* There is nothing of all the other kinds; groups are not answered yet if they are left out. */
static void answer_other_lists(bool but_groups)
{
	size_t n;
	const struct resource *r = model_resources(b.m, &n);

	for (size_t i = RESOURCE_INDEX_PODS + 1; i < n; i++) {
		char path[200];

		snprintf(path, sizeof(path), "/api%s%s/%s/%s?limit", *r[i].group ? "s/" : "", r[i].group,
		         r[i].version, r[i].plural);
		if (!but_groups || i != RESOURCE_INDEX_DIALECTS)
			answer_list(path, "");
		else
			world_take(&b.w, "GET", path);
	}
}

static unsigned watches(void)
{
	size_t n;

	model_resources(b.m, &n);
	return (unsigned)n;
}

/* Nodes n1, a lone pod "a", nothing else; all kinds are watched. */
static void up(void)
{
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	answer_list("/api/v1/nodes?limit", world_node("n1", "1"));
	answer_list("/api/v1/pods?limit", world_pod("a", "5", "", ""));
	answer_other_lists(false);
	frontend_poll(b.f);
	for (unsigned i = 0; i < watches(); i++)
		world_take(&b.w, "GET", "/ap");
}

static struct http_call *watch_call(const char *path)
{
	for (struct http_call *c = b.w.calls; c; c = c->next)
		if (c->open && strncmp(c->path, path, strlen(path)) == 0)
			return c;
	cr_assert_fail("no %s", path);
	return NULL;
}

static int command(enum record_kind kind, const void *body, size_t bytes)
{
	static _Alignas(8) unsigned char cap[RECORD_BYTES_MAX];
	struct record *r = (struct record *)cap;

	*r = (struct record){ .bytes = (uint32_t)(sizeof(*r) + bytes), .kind = (uint16_t)kind };
	memcpy(r + 1, body, bytes);
	return frontend_command(b.f, r);
}

static struct cmd_bind bind_of(const char *pod)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	return (struct cmd_bind){
		.pod = v.id,
		.pod_generation = v.generation,
		.node = 0,
		.node_generation = 1,
		.gang = ID_NONE,
		.attempt = 1,
	};
}

Test(frontend, does_nothing_before_there_is_a_core)
{
	frontend_poll(b.f);
	cr_assert_eq(world_open(&b.w), 0);
}

Test(frontend, tells_the_core_everything_and_then_that_it_is_all)
{
	frontend_core_up(b.f, &b.limits, &b.port);
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "begin ");
	answer_list("/api/v1/nodes", world_node("n1", "1"));
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "begin node ");
	answer_list("/api/v1/pods", world_pod("a", "5", "", ""));
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "begin node pod ", "not synced while a list is missing");
	answer_other_lists(true);
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "begin node pod ", "not synced while a list is missing");
	world_answer(watch_call("/apis/scheduling.x-k8s.io"), 404, "404 page not found");
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "begin node pod synced ");
}

/* An earlier instance may have sent b when it died amid its gang. */
Test(frontend, plans_nothing_before_a_gang_that_had_begun_is_settled)
{
	char pods[8192];
	size_t n;

	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	answer_list("/api/v1/nodes?limit", world_node("n1", "1"));
	n = (size_t)snprintf(pods, sizeof(pods), "%s,",
	                     world_member("a", "4", "g", "\"nodeName\":\"n1\""));
	snprintf(pods + n, sizeof(pods) - n, "%s", world_member("b", "5", "g", ""));
	answer_list("/api/v1/pods?limit", pods);
	answer_other_lists(false);
	frontend_poll(b.f);
	for (unsigned i = 0; i < watches(); i++)
		world_take(&b.w, "GET", "/ap");
	cr_assert(!strstr(b.core.seen, "synced"), "%s", b.core.seen);
	world_answer(world_take(&b.w, "PATCH", "/api/v1/namespaces/ns/pods/b/status"), 200,
	             world_member("b", "60", "g", ""));
	frontend_poll(b.f);
	cr_assert(strstr(b.core.seen, "synced"), "%s", b.core.seen);
}

Test(frontend, a_watch_event_becomes_an_event_and_a_command_a_binding)
{
	struct cmd_bind cmd;
	char event[5000];

	up();
	b.core.seen[0] = '\0';
	snprintf(event, sizeof(event), "{\"type\":\"ADDED\",\"object\":%s}",
	         world_pod("b", "60", "", ""));
	world_text(watch_call("/api/v1/pods?watch"), event);
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "pod ");
	cmd = bind_of("b");
	cr_assert_eq(command(CMD_BIND, &cmd, sizeof(cmd)), 0);
	frontend_poll(b.f);
	world_answer(world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/b/binding"), 201, "{}");
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.results, "bound:1 ");
	world_take_with(&b.w, "POST", "/apis/events.k8s.io/v1/namespaces/ns/events",
	                "Successfully assigned ns/b to n1");
}

Test(frontend, a_reason_becomes_a_condition)
{
	struct cmd_bind of;
	struct cmd_reason cmd = { .gang = ID_NONE, .reason = { .why = WAIT_NO_NODES } };

	up();
	of = bind_of("a");
	cmd.pod = of.pod;
	cmd.pod_generation = of.pod_generation;
	cr_assert_eq(command(CMD_REASON, &cmd, sizeof(cmd)), 0);
	frontend_poll(b.f);
	cr_assert_eq(world_open(&b.w), watches(), "it may be over in a moment");
	b.w.now_ns += SECOND;
	frontend_poll(b.f);
	world_take_with(&b.w, "PATCH", "/api/v1/namespaces/ns/pods/a/status", "no nodes available");
}

Test(frontend, commands_that_make_no_sense_are_refused)
{
	struct cmd_bind good, bad;
	struct cmd_reason reason = { .gang = ID_NONE };

	up();
	good = bind_of("a");
#define BAD(field, value)                                                                          \
	bad = good;                                                                                    \
	bad.field = (value);                                                                           \
	cr_assert_eq(command(CMD_BIND, &bad, sizeof(bad)), -EPROTO, #field)
	BAD(pod, 256);
	BAD(pod, ID_NONE);
	BAD(node, 64);
	BAD(pod_generation, 0);
	BAD(node_generation, 0);
	cr_assert_eq(command(CMD_BIND, &good, sizeof(good) - 8), -EPROTO);
	cr_assert_eq(command(CMD_BIND, &good, 0), -EPROTO);
	cr_assert_eq(command(EVENT_TICK, &good, 0), -EPROTO);
	cr_assert_eq(command(RECORD_KINDS, &good, 0), -EPROTO);
	reason.pod = 256;
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	reason = (struct cmd_reason){ .gang = 64 };
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	reason = (struct cmd_reason){ .gang = ID_NONE, .reason.why = WAIT_REASONS };
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	reason = (struct cmd_reason){ .gang = ID_NONE, .reason.counts_n = FILTER_COUNTS_MAX + 1 };
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	reason = (struct cmd_reason){ .gang = ID_NONE, .reason.shortfalls_n = SHORTFALLS_MAX + 1 };
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	reason = (struct cmd_reason){ .gang = ID_NONE, .reason.lacks_n = DEVICE_LACKS_MAX + 1 };
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	reason = (struct cmd_reason){ .gang = ID_NONE,
		                          .reason = { .counts_n = 1, .counts[0].why = FILTER_REASONS } };
	cr_assert_eq(command(CMD_REASON, &reason, sizeof(reason)), -EPROTO);
	frontend_poll(b.f);
	cr_assert_eq(world_open(&b.w), watches(), "nothing was sent for them");
	cr_assert_eq(command(CMD_BIND, &good, sizeof(good)), 0);
}

/* A core and a pod that just went: no mistake of the core's. */
Test(frontend, a_binding_of_a_pod_that_went_is_refused)
{
	struct cmd_bind cmd;

	up();
	cmd = bind_of("a");
	cmd.pod_generation++;
	cr_assert_eq(command(CMD_BIND, &cmd, sizeof(cmd)), 0);
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.results, "refused:0 ");
}

Test(frontend, a_full_event_ring_loses_nothing)
{
	uint64_t due;

	up();
	b.core.seen[0] = '\0';
	b.core.cap = 0;
	for (int i = 0; i < 5; i++) {
		char event[5000], version[8];

		snprintf(version, sizeof(version), "%d", 60 + i);
		snprintf(event, sizeof(event), "{\"type\":\"MODIFIED\",\"object\":%s}",
		         world_pod("a", version, "", ""));
		memcpy(strstr(event, "\"cpu\":\"1\""),
		       (char[]){ '"', 'c', 'p', 'u', '"', ':', '"', (char)('2' + i) }, 8);
		world_text(watch_call("/api/v1/pods?watch"), event);
		due = frontend_poll(b.f);
		cr_assert_eq(due, b.w.now_ns + MS, "looked at again soon");
	}
	b.core.cap = 1000;
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "pod ", "the latest state, once");
}

Test(frontend, a_full_result_ring_loses_nothing)
{
	struct cmd_bind cmd;

	up();
	cmd = bind_of("a");
	command(CMD_BIND, &cmd, sizeof(cmd));
	frontend_poll(b.f);
	b.core.result_room = 0;
	world_answer(world_take(&b.w, "POST", "/"), 201, "{}");
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.results, "");
	cr_assert(!frontend_idle(b.f));
	b.core.result_room = 10;
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.results, "bound:0 ");
	cr_assert(frontend_idle(b.f));
}

Test(frontend, time_goes_on_each_second_and_faster_while_pods_wait)
{
	char event[5000];

	up(); /* "a" waits */
	b.core.ticks = 0;
	for (int i = 0; i < 1000; i++) {
		b.w.now_ns += MS;
		frontend_poll(b.f);
	}
	cr_assert(b.core.ticks >= 9 && b.core.ticks <= 11, "%u ticks", b.core.ticks);
	snprintf(event, sizeof(event), "{\"type\":\"MODIFIED\",\"object\":%s}",
	         world_pod("a", "60", "\"nodeName\":\"n1\"", ""));
	world_text(watch_call("/api/v1/pods?watch"), event);
	frontend_poll(b.f);
	b.w.now_ns += SECOND;
	b.core.ticks = 0;
	for (int i = 0; i < 3000; i++) {
		frontend_poll(b.f);
		b.w.now_ns += MS;
	}
	cr_assert(b.core.ticks >= 3 && b.core.ticks <= 4, "%u ticks", b.core.ticks);
}

Test(frontend, a_new_core_hears_everything_and_then_the_results)
{
	struct cmd_bind cmd;
	struct http_call *c;

	up();
	cmd = bind_of("a");
	command(CMD_BIND, &cmd, sizeof(cmd));
	frontend_poll(b.f);
	c = world_take(&b.w, "POST", "/");
	frontend_core_down(b.f);
	frontend_poll(b.f);
	b.core.seen[0] = '\0';
	b.core.read_all = false;
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.seen, "begin node pod synced ");
	cr_assert(b.core.pod_flags & POD_BINDING);
	world_answer(c, 201, "{}");
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.results, "", "it does not know the pod yet");
	b.core.read_all = true;
	frontend_poll(b.f);
	cr_assert_str_eq(b.core.results, "bound:0 ");
	cr_assert_eq(watch_call("/api/v1/pods?watch")->open, true, "the watches go on");
}

Test(frontend, a_core_with_too_little_room_is_refused)
{
	struct limits small;

	up();
	small = b.limits;
	frontend_core_down(b.f);
	for (const char *name = "bcdefghijk"; *name; name++)
		world_put(b.m, RESOURCE_INDEX_PODS, world_pod((char[]){ *name, 0 }, "70", "", ""));
	small.pods = 4;
	cr_assert_eq(frontend_core_up(b.f, &small, &b.port), -ENOSPC);
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
}

/* What found no room is remembered nowhere: it is listed again once something
 * went, and not too often. */
Test(frontend, what_found_no_room_is_listed_again_when_something_goes)
{
	char event[5000];

	b.limits.pods = 1;
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	answer_list("/api/v1/nodes?limit", world_node("n1", "1"));
	answer_list("/api/v1/pods?limit", world_pod("a", "5", "", ""));
	answer_other_lists(false);
	frontend_poll(b.f);
	snprintf(event, sizeof(event), "{\"type\":\"ADDED\",\"object\":%s}",
	         world_pod("b", "60", "", ""));
	world_text(watch_call("/api/v1/pods?watch"), event);
	cr_assert(world_said(&b.w, "max-pods"), "%s", b.w.log);
	frontend_poll(b.f);
	b.w.now_ns += 60 * SECOND;
	frontend_poll(b.f);
	watch_call("/api/v1/pods?watch");
	snprintf(event, sizeof(event), "{\"type\":\"DELETED\",\"object\":%s}",
	         world_pod("a", "61", "", ""));
	world_text(watch_call("/api/v1/pods?watch"), event);
	frontend_poll(b.f);
	watch_call("/api/v1/pods?watch");
	b.w.now_ns += SECOND;
	frontend_poll(b.f);
	cr_assert_eq(world_open(&b.w), watches() + 1);
	snprintf(event, sizeof(event), "{\"metadata\":{\"resourceVersion\":\"70\"},\"items\":[%s]}",
	         world_pod("b", "60", "", ""));
	world_answer(watch_call("/api/v1/pods?limit"), 200, event);
	cr_assert(model_pod_by_name(b.m, "ns", "b", &(struct pod_view){ 0 }));
	cr_assert_eq(world_open(&b.w), watches());
	watch_call("/api/v1/pods?watch");
}

/* What the pod's labels take is kept of it, as long as there is memory. */
static void pod_of_sent(const char *namespace, const char *type, const char *name, int version,
                        int labels)
{
	static char text[1 << 17];
	size_t n = (size_t)snprintf(text, sizeof(text),
	                            "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\","
	                            "\"namespace\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\","
	                            "\"labels\":{\"app\":\"%s\"",
	                            type, name, namespace, name, version, name);

	for (int i = 0; i < labels; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"%s-%d.%080d\":\"%s%d\"", name, i, 0,
		                      name, i);
	snprintf(text + n, sizeof(text) - n, "}},\"spec\":{\"schedulerName\":\"muster\"}}}");
	world_text(watch_call("/api/v1/pods?watch"), text);
}

static void pod_sent(const char *type, const char *name, int version, int labels)
{
	pod_of_sent("ns", type, name, version, labels);
}

static void pod_event(const char *type, const char *name, int version, int labels)
{
	pod_sent(type, name, version, labels);
	frontend_poll(b.f);
}

static bool lists_pods(void)
{
	frontend_poll(b.f);
	for (struct http_call *c = b.w.calls; c; c = c->next)
		if (c->open && strncmp(c->path, "/api/v1/pods?limit", 18) == 0)
			return true;
	return false;
}

static void up_with_memory(uint64_t bytes)
{
	const struct limits limits = b.limits;

	begin_model(NULL, bytes);
	b.limits = limits;
	b.core.cap = 100000;
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	answer_list("/api/v1/nodes?limit", world_node("n1", "1"));
	answer_list("/api/v1/pods?limit", "");
	answer_other_lists(false);
	frontend_poll(b.f);
}

/* Each deleted pod was a list of all pods: one that --max-memory never has space for, and another
 * one that comes and goes, made them without end. */
Test(frontend, a_pod_too_large_for_the_memory_is_not_listed_for_each_that_goes)
{
	up_with_memory(64 << 10);
	pod_event("ADDED", "large", 60, 900);
	cr_assert(world_said(&b.w, "--max-memory"), "%s", b.w.log);
	for (int i = 0; i < 10; i++) {
		pod_event("ADDED", "b", 61 + 2 * i, 1);
		pod_event("DELETED", "b", 62 + 2 * i, 1);
		b.w.now_ns += 2 * SECOND;
		cr_assert(!lists_pods(), "after %d", i);
	}
}

/* Pods that come meanwhile hide nothing of what became free. */
Test(frontend, a_pod_is_listed_when_there_is_memory_for_it)
{
	char name[16];

	up_with_memory(64 << 10);
	pod_event("ADDED", "first", 60, 200);
	pod_event("ADDED", "second", 61, 200);
	pod_event("ADDED", "third", 62, 200);
	cr_assert(world_said(&b.w, "--max-memory"), "%s", b.w.log);
	pod_event("DELETED", "first", 63, 200); /* the core gets the drop */
	frontend_poll(b.f);                     /* the texts go */
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		pod_sent("ADDED", name, 70 + i, 0);
	}
	frontend_poll(b.f);
	b.w.now_ns += 2 * SECOND;
	cr_assert(lists_pods());
}

/* Where all memory is in use by namespaces within their shares, one that deletes pods of its own
 * has space for those that were left out: less than a sixteenth of all. */
Test(frontend, a_namespace_below_its_share_again_is_listed)
{
	char name[16];
	int n = 0;

	up_with_memory(256 << 10);
	for (; !world_said(&b.w, "--max-memory"); n++) {
		snprintf(name, sizeof(name), "p%d", n);
		pod_of_sent(n % 2 ? "a" : "b", "ADDED", name, 60 + n, 8);
		frontend_poll(b.f);
		cr_assert_lt(n, 1000);
	}
	for (int i = 1; i <= 2; i++) { /* of the same namespace */
		snprintf(name, sizeof(name), "p%d", n - 1 - 2 * i);
		pod_of_sent((n - 1) % 2 ? "a" : "b", "DELETED", name, 60 + n + i, 8);
	}
	frontend_poll(b.f);
	frontend_poll(b.f);
	b.w.now_ns += 2 * SECOND;
	cr_assert(lists_pods());
}

/* A pod that has to be away from four others. */
static void repelled_sent(const char *type, const char *name, int version)
{
	char text[4096], rules[2048] = "";
	size_t n = 0;

	for (int i = 0; i < 4; i++)
		n += (size_t)snprintf(rules + n, sizeof(rules) - n,
		                      "%s{\"topologyKey\":\"kubernetes.io/hostname\",\"labelSelector\":{"
		                      "\"matchLabels\":{\"app\":\"%s-%d\"}}}",
		                      i > 0 ? "," : "", name, i);
	snprintf(text, sizeof(text),
	         "{\"type\":\"%s\",\"object\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\","
	         "\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"},\"spec\":{\"schedulerName\":\"muster\","
	         "\"affinity\":{\"podAntiAffinity\":{"
	         "\"requiredDuringSchedulingIgnoredDuringExecution\":[%s]}}}}}",
	         type, name, name, version, rules);
	world_text(watch_call("/api/v1/pods?watch"), text);
}

/* Pods that come meanwhile hid that terms became free, which only the number of entries showed. */
Test(frontend, a_pod_is_listed_when_there_are_terms_for_it)
{
	char name[16];
	int version = 60;

	b.limits.shapes = 16;
	up_with_memory(0);
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		repelled_sent("ADDED", name, version++);
		frontend_poll(b.f);
	}
	b.w.now_ns += 60 * SECOND;
	cr_assert(!lists_pods(), "32 of 32 terms are in use");
	repelled_sent("DELETED", "r0", version++);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		pod_sent("ADDED", name, version++, 0);
		if (i % 2 == 1)
			frontend_poll(b.f);
	}
	b.w.now_ns += 2 * SECOND;
	cr_assert(lists_pods());
}

/* Objects that are left out and go by turns cost a tenth of the time. */
Test(frontend, lists_for_what_is_left_out_take_a_tenth_of_the_time)
{
	char list[8192];

	b.limits.pods = 1;
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	answer_list("/api/v1/nodes?limit", world_node("n1", "1"));
	b.w.now_ns += 4 * SECOND; /* that is what a list of pods takes */
	answer_list("/api/v1/pods?limit", world_pod("a", "5", "", ""));
	answer_other_lists(false);
	frontend_poll(b.f);
	pod_event("ADDED", "b", 60, 0);
	pod_event("DELETED", "a", 61, 0);
	b.w.now_ns += SECOND;
	cr_assert(lists_pods(), "the first at once");
	b.w.now_ns += 4 * SECOND;
	snprintf(list, sizeof(list), "{\"metadata\":{\"resourceVersion\":\"62\"},\"items\":[%s]}",
	         world_pod("b", "60", "", ""));
	world_answer(watch_call("/api/v1/pods?limit"), 200, list);
	frontend_poll(b.f);
	pod_event("ADDED", "a", 70, 0);
	pod_event("DELETED", "b", 71, 0);
	b.w.now_ns += 34 * SECOND;
	cr_assert(!lists_pods());
	b.w.now_ns += 3 * SECOND;
	cr_assert(lists_pods());
}

Test(frontend, after_a_stop_nothing_is_sent_but_answers_are_taken)
{
	struct cmd_bind cmd;
	struct http_call *c;

	up();
	cmd = bind_of("a");
	command(CMD_BIND, &cmd, sizeof(cmd));
	frontend_poll(b.f);
	c = world_take(&b.w, "POST", "/");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("b", "70", "", ""));
	cmd = bind_of("b");
	command(CMD_BIND, &cmd, sizeof(cmd));
	frontend_stop(b.f);
	cr_assert(!frontend_idle(b.f));
	frontend_poll(b.f);
	cr_assert_eq(world_open(&b.w), watches() + 1, "the watches and the first binding");
	world_answer(c, 201, "{}");
	frontend_poll(b.f);
	cr_assert(frontend_idle(b.f));
	cr_assert_str_eq(b.core.results, "bound:0 ");
}

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/sys/leases/muster"

static const struct lease_config lease = {
	.namespace = "sys",
	.name = "muster",
	.identity = "me",
	.duration_ns = 15 * SECOND,
	.renew_ns = 10 * SECOND,
	.retry_ns = 2 * SECOND,
};

/* A core was there, and the lease is asked for. */
static struct http_call *candidate(void)
{
	begin_with(&lease);
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	for (unsigned i = 0; i < watches(); i++)
		world_take(&b.w, "GET", "/api");
	return world_take(&b.w, "GET", LEASE);
}

static const char *lease_of(const char *holder, int seconds)
{
	static char text[400];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"muster\",\"namespace\":\"sys\",\"resourceVersion\":\"7\"},"
	         "\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d}}",
	         holder, seconds);
	return text;
}

static void lead(void)
{
	world_answer(candidate(), 200, lease_of("", 1));
	world_answer(world_take(&b.w, "PUT", LEASE), 200, lease_of("me", 15));
	cr_assert(frontend_may_write(b.f));
}

/* ... renewing it, for so many seconds. */
static void leads_for(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i += 2) {
		cr_assert(!frontend_must_restart(b.f), "after %u s", i);
		b.w.now_ns += 2 * SECOND;
		frontend_poll(b.f);
		world_answer(world_take(&b.w, "PUT", LEASE), 200, lease_of("me", 15));
	}
}

/* Not before now. */
static void expect_gives_up(const char *said)
{
	cr_assert(!frontend_must_restart(b.f));
	b.w.now_ns += 2 * SECOND;
	frontend_poll(b.f);
	cr_assert(frontend_must_restart(b.f));
	cr_assert(world_said(&b.w, said));
}

Test(frontend, a_leader_whose_core_stays_away_gives_up_the_lease)
{
	lead();
	frontend_core_down(b.f);
	leads_for(28);
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	leads_for(40);
	frontend_core_down(b.f);
	leads_for(28);
	expect_gives_up("no muster-core for 30 s");
}

/* At once: nothing shows that it goes on soon. */
Test(frontend, a_leader_whose_core_makes_no_progress_gives_up_the_lease)
{
	lead();
	leads_for(4);
	frontend_core_stalled(b.f);
	cr_assert(frontend_must_restart(b.f));
}

Test(frontend, a_follower_whose_core_makes_no_progress_waits_for_it)
{
	world_answer(candidate(), 200, lease_of("her", 15));
	frontend_core_stalled(b.f);
	cr_assert_not(frontend_must_restart(b.f));
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
}

/* Each time it came the waiting began anew. */
Test(frontend, a_leader_whose_core_does_not_last_gives_up_the_lease)
{
	lead();
	for (int i = 0; i < 3; i++) {
		frontend_core_down(b.f);
		leads_for(8);
		cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
		leads_for(10);
	}
	frontend_core_down(b.f);
	leads_for(4);
	expect_gives_up("no muster-core for 30 s, in parts");
}

Test(frontend, a_follower_without_a_core_does_not_want_the_lease)
{
	world_answer(candidate(), 200, lease_of("her", 15));
	frontend_core_down(b.f);
	for (int i = 0; i < 30; i++) {
		b.w.now_ns += SECOND;
		frontend_poll(b.f);
	}
	cr_assert_eq(world_open(&b.w), watches(), "the lists");
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	world_answer(world_take(&b.w, "GET", LEASE), 200, lease_of("her", 15));
	world_take(&b.w, "PUT", LEASE);
}

static void answer_all_lists(const char *pod)
{
	answer_list("/api/v1/nodes?limit", world_node("n1", "1"));
	answer_list("/api/v1/pods?limit", pod);
	answer_other_lists(false);
}

/* Its watches may hang since before the last leader's end. */
Test(frontend, who_stood_by_lists_again_before_anything_is_planned)
{
	begin_with(&lease);
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
	frontend_poll(b.f);
	answer_all_lists(world_pod("a", "5", "", ""));
	world_answer(world_take(&b.w, "GET", LEASE), 200, lease_of("her", 1));
	frontend_poll(b.f);
	for (unsigned i = 0; i < watches(); i++)
		world_take(&b.w, "GET", "/ap");
	b.w.now_ns += 2 * SECOND;
	frontend_poll(b.f);
	world_answer(world_take(&b.w, "GET", LEASE), 200, lease_of("her", 1));
	world_answer(world_take(&b.w, "PUT", LEASE), 200, lease_of("me", 15));
	cr_assert(frontend_may_write(b.f));
	cr_assert_leq(frontend_poll(b.f), b.w.now_ns);
	frontend_poll(b.f);
	cr_assert_null(strstr(b.core.seen, "synced"), "%s", b.core.seen);
	answer_all_lists(world_pod("a", "6", "\"nodeName\":\"n1\"", ""));
	frontend_poll(b.f);
	cr_assert_not_null(strstr(b.core.seen, "synced"), "%s", b.core.seen);
}

Test(frontend, a_refused_token_at_start_is_known)
{
	frontend_core_up(b.f, &b.limits, &b.port);
	frontend_poll(b.f);
	for (unsigned i = 0; i < watches(); i++)
		world_answer(world_take(&b.w, "GET", "/"), 401, "");
	cr_assert(!frontend_refused_at_start(b.f), "the token is read again first");
	frontend_poll(b.f);
	for (unsigned i = 0; i < watches(); i++)
		world_answer(world_take(&b.w, "GET", "/"), 401, "");
	cr_assert(frontend_refused_at_start(b.f));
}
