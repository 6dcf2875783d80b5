/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the journal for held bindings: 16 of 32, in shares of namespaces. */
#include "frontend/base/log.h"
#include "frontend/bind/binder.h"
#include "frontend/bind/prebind.h"
#include "frontend/journal/journal.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/"
#define JOURNAL "/api/v1/namespaces/ns/configmaps/j"
#define LINES 32u
#define MOST 16u

/* Pods whose names begin with "v" have a volume that nobody provisions, but for "vd". */
static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	struct journal *journal;
	struct prebind_kind kind;
	const struct prebind_kind *list[1];
	unsigned version;
	unsigned started, undone, refused, bound;
	char noticed[512]; /* the last one */
} b;

static bool any(void *context)
{
	return true;
}

static bool wants(void *context, pod_id pod, uint32_t generation)
{
	struct pod_view v;

	return model_pod(b.m, pod, generation, &v) && v.name[0] == 'v';
}

static void *prepare(void *context, const struct prebind_member *m, struct prebind_why *why)
{
	char *work = calloc(1, 1);

	cr_assert(work);
	*work = m->name[1] == 'd';
	return work;
}

static void start(void *context, void *work)
{
	b.started++;
}

static enum prebind_state look(void *context, void *work, struct prebind_why *why)
{
	return *(char *)work ? PREBIND_DONE : PREBIND_BUSY;
}

static void undo(void *context, void *work)
{
	*(char *)work = 1;
	b.undone++;
}

static void *find_left(void *context, const struct prebind_member *m)
{
	return NULL;
}

static void work_free(void *context, void *work)
{
	free(work);
}

static uint64_t poll(void *context)
{
	return UINT64_MAX;
}

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	b.refused += kind == RESULT_REFUSED;
	b.bound += kind == RESULT_BOUND;
}

static void on_notice(void *context, const struct bind_notice *n)
{
	if (n->error)
		snprintf(b.noticed, sizeof(b.noticed), "%s: %s", n->name, n->error);
}

static struct http_call *open_call(const char *method, const char *part)
{
	for (struct http_call *c = b.w.calls; c; c = c->next)
		if (c->open && strcmp(c->method, method) == 0 && strstr(c->path, part))
			return c;
	return NULL;
}

static void pod_put(const char *namespace, const char *name, const char *uid, const char *group,
                    const char *version, const char *node)
{
	char json[800];

	snprintf(json, sizeof(json),
	         "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\","
	         "\"uid\":\"%s\",\"resourceVersion\":\"%s\","
	         "\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
	         "\"labels\":{\"%s\":\"%s\"}},"
	         "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"%s\","
	         "\"containers\":[{\"name\":\"c\"}]},"
	         "\"status\":{\"phase\":\"Pending\"}}",
	         namespace, name, uid, version, *group ? "scheduling.x-k8s.io/pod-group" : "alone",
	         group, node);
	world_put(b.m, RESOURCE_INDEX_PODS, json);
}

/* The Binding is accepted, and the watch shows it. */
static void binding_taken(struct http_call *c)
{
	char namespace[64], name[64], uid[64], gang[64];
	struct pod_view v;

	cr_assert_eq(sscanf(c->path, "/api/v1/namespaces/%63[^/]/pods/%63[^/]/", namespace, name), 2);
	cr_assert(model_pod_by_name(b.m, namespace, name, &v), "%s", name);
	snprintf(uid, sizeof(uid), "%s", v.uid);
	snprintf(gang, sizeof(gang), "%s", v.gang);
	world_answer(c, 201, "{}");
	pod_put(namespace, name, uid, gang, "6", "n1");
}

/* Whatever is asked of the API server but for the provisioner succeeds. */
static void turns(unsigned n)
{
	struct http_call *c;

	while (n-- > 0) {
		b.w.now_ns += 50 * NS_PER_MS;
		binder_poll(b.binder);
		journal_poll(b.journal);
		while ((c = open_call("PUT", JOURNAL)) != NULL)
			world_answer(c, 200, world_journal(++b.version, ""));
		while ((c = open_call("POST", "/binding")) != NULL)
			binding_taken(c);
		while ((c = open_call("GET", GROUPS)) != NULL)
			world_answer(c, 200, world_group("g", "3", 4));
	}
}

static void begin(void)
{
	const struct journal_config journal = {
		.env = &b.w.env, .namespace = "ns", .name = "j", .identity = "me", .intents_most = LINES
	};
	struct binder_config config = { .env = &b.w.env,
		                            .connections = 64,
		                            .result = on_result,
		                            .notice = on_notice,
		                            .prebind = b.list,
		                            .prebind_n = 1 };

	memset(&b, 0, sizeof(b));
	b.kind = (struct prebind_kind){ .name = "kind",
		                            .timeout_ns = 600 * NS_PER_S,
		                            .late = "too late",
		                            .any = any,
		                            .wants = wants,
		                            .prepare = prepare,
		                            .start = start,
		                            .look = look,
		                            .undo = undo,
		                            .recover = find_left,
		                            .free = work_free,
		                            .poll = poll };
	b.list[0] = &b.kind;
	world_init(&b.w);
	config.model = b.m = world_model();
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	config.journal = b.journal = journal_new(&journal);
	b.binder = binder_new(&config);
	journal_claim(b.journal);
	journal_poll(b.journal);
	world_answer(world_take(&b.w, "GET", JOURNAL), 200, world_journal(++b.version, ""));
	journal_poll(b.journal);
	world_answer(world_take(&b.w, "PUT", JOURNAL), 200, world_journal(++b.version, ""));
	cr_assert(journal_is_open(b.journal));
}

static void end(void)
{
	binder_free(b.binder);
	journal_free(b.journal);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(prebind_lines, .init = begin, .fini = end);

static void pod(const char *namespace, const char *name, const char *group)
{
	static unsigned uid;
	char text[40];

	snprintf(text, sizeof(text), "00000000-0000-0000-0000-%012x", ++uid);
	pod_put(namespace, name, text, group, "5", "");
}

static void command(const char *namespace, const char *name)
{
	const struct cmd_bind cmd = world_bind(b.m, namespace, name);

	cr_assert_eq(binder_bind(b.binder, CMD_BIND, &cmd), 0);
}

/* Pods PREFIX0 and on, all commanded at once. */
static void commands(const char *namespace, const char *prefix, unsigned n, const char *group)
{
	char name[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s%u", prefix, i);
		pod(namespace, name, group);
	}
	world_flush(b.m);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s%u", prefix, i);
		command(namespace, name);
	}
}

static void group(unsigned quorum)
{
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", quorum));
}

Test(prebind_lines, pods_held_for_a_silent_provisioner_leave_lines_for_the_other_bindings)
{
	commands("hostile", "v", 40, "");
	turns(4);
	cr_assert_eq(b.started, MOST, "%u", b.started);
	cr_assert_eq(journal_size(b.journal), MOST);
	group(4);
	commands("ns", "p", 4, "g");
	turns(4);
	cr_assert_eq(b.bound, 4, "%u", b.bound);
	cr_assert_eq(b.undone, 0);
}

Test(prebind_lines, who_gets_none_is_told_the_namespace)
{
	commands("hostile", "v", MOST + 1, "");
	turns(4);
	cr_assert_eq(b.refused, 0);
	b.w.now_ns += 61 * NS_PER_S;
	turns(2);
	cr_assert_eq(b.refused, 1, "%u", b.refused);
	cr_assert_str_eq(b.noticed,
	                 "v16: namespace hostile has 16 of the 16 bindings that may wait for "
	                 "volumes or devices, its share is 16");
}

Test(prebind_lines, the_last_eighth_is_for_those_below_their_share)
{
	commands("ns", "v", 1, "");
	commands("hostile", "v", 40, "");
	turns(4);
	cr_assert_eq(b.started, 14, "%u", b.started);
	commands("ns", "vb", 2, "");
	turns(4);
	cr_assert_eq(b.started, 16, "%u", b.started);
	cr_assert_eq(b.undone, 0);
}

Test(prebind_lines, a_gang_within_the_share_of_its_namespace_makes_others_give_way)
{
	commands("hostile", "v", 40, "");
	turns(4);
	group(4);
	commands("ns", "vg", 4, "g");
	turns(8);
	cr_assert_eq(b.undone, 4, "%u", b.undone);
	cr_assert_eq(b.started, MOST + 4, "%u", b.started);
	cr_assert(strstr(b.noticed, "namespace hostile has"), "%s", b.noticed);
	cr_assert_eq(journal_size(b.journal), MOST);
}

/* Half of its members with lines while another gang has the other half would be of no use. */
Test(prebind_lines, a_gang_gets_lines_for_its_quorum_or_none)
{
	commands("ns", "v", 13, "");
	turns(4);
	group(4);
	commands("ns", "vg", 4, "g");
	turns(4);
	cr_assert_eq(b.started, 13, "%u", b.started);
	cr_assert_eq(journal_size(b.journal), 13);
}

Test(prebind_lines, more_members_than_lines_begin_with_the_quorum)
{
	group(4);
	commands("ns", "vg", 20, "g");
	turns(8);
	cr_assert_eq(b.started, 4, "%u", b.started);
}

/* There are not enough lines for all of them at once, and the quorum needs none of them. */
Test(prebind_lines, members_that_follow_a_bound_quorum_take_the_lines_that_there_are)
{
	commands("ns", "v", 12, "");
	turns(4);
	group(4);
	commands("ns", "vd", 10, "g");
	turns(16);
	cr_assert_geq(b.bound, 4, "%u", b.bound);
	turns(16);
	cr_assert_eq(b.bound, 10, "%u", b.bound);
	cr_assert_eq(b.refused, 0);
	cr_assert_eq(b.undone, 0);
}

Test(prebind_lines, a_gang_that_can_never_fit_is_told_so)
{
	struct http_call *c;

	group(17);
	commands("ns", "vg", 17, "g");
	binder_poll(b.binder);
	while ((c = open_call("GET", GROUPS)) != NULL)
		world_answer(c, 200, world_group("g", "3", 17));
	turns(4);
	cr_assert_eq(b.refused, 17, "%u", b.refused);
	cr_assert(strstr(b.noticed, "more than 16 members of a gang can't wait together for volumes"),
	          "%s", b.noticed);
}
