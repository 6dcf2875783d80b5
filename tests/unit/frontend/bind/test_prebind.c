/* SPDX-License-Identifier: Apache-2.0 */
/* The stage before Bindings, with two kinds of work that the tests let succeed or fail. */
#include "frontend/bind/binder.h"
#include "frontend/bind/prebind.h"
#include "frontend/journal/journal.h"
#include "frontend/base/log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support_world.h"

#define GROUP "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g"
#define POD "/api/v1/namespaces/ns/pods/"
#define PODS 8u

/* Of one kind: what it is to do for the pod with that number, and what was called. */
struct kind {
	struct prebind_kind ops;
	char letter;
	bool wants[PODS], no_choice[PODS], left[PODS];
	enum prebind_state state[PODS];
	bool undo_lasts;
	unsigned asked; /* if a pod wants it */
};

static struct bench {
	struct world w;
	struct model *m;
	struct binder *binder;
	struct journal *journal; /* NULL: none is kept */
	struct kind kinds[2];
	const struct prebind_kind *list[2];
	char said[256]; /* results and calls, in order */
	char noticed[256];
	uint32_t attempt; /* of the last result */
} b;

static void say(const char *what, char letter, pod_id pod)
{
	const size_t n = strlen(b.said);

	cr_assert_lt(n, sizeof(b.said) - 32);
	snprintf(b.said + n, sizeof(b.said) - n, "%s:%.1s%u ", what, letter ? &letter : "", pod);
}

struct work {
	struct kind *kind;
	pod_id pod;
	bool suspended, undone;
};

static bool any(void *context)
{
	const struct kind *k = context;

	for (unsigned i = 0; i < PODS; i++)
		if (k->wants[i] || k->left[i])
			return true;
	return false;
}

static bool wants(void *context, pod_id pod, uint32_t generation)
{
	struct kind *k = context;

	(void)generation;
	k->asked++;
	return k->wants[pod];
}

static struct work *work_new(struct kind *k, pod_id pod)
{
	struct work *w = calloc(1, sizeof(*w));

	*w = (struct work){ .kind = k, .pod = pod };
	return w;
}

static void *prepare(void *context, const struct prebind_member *m, struct prebind_why *why)
{
	struct kind *k = context;

	cr_assert_str_eq(m->node_name, "n1");
	cr_assert_str_eq(m->namespace, "ns");
	if (k->no_choice[m->pod]) {
		strcpy(why->text, "no choice");
		why->retry_ms = 20;
		return NULL;
	}
	return work_new(k, m->pod);
}

static void start(void *context, void *work)
{
	say("start", ((const struct kind *)context)->letter, ((const struct work *)work)->pod);
}

static enum prebind_state look(void *context, void *work, struct prebind_why *why)
{
	const struct kind *k = context;
	const struct work *w = work;

	if (w->undone)
		return k->undo_lasts ? PREBIND_BUSY : PREBIND_DONE;
	if (k->state[w->pod] == PREBIND_FAILED)
		strcpy(why->text, "it failed");
	return k->state[w->pod];
}

static void undo(void *context, void *work)
{
	struct work *w = work;

	cr_assert_not(w->suspended);
	say("undo", ((const struct kind *)context)->letter, w->pod);
	w->undone = true;
}

static void suspend(void *context, void *work, bool suspended)
{
	struct work *w = work;

	(void)context;
	cr_assert_neq(w->suspended, suspended);
	w->suspended = suspended;
}

static void *find_left(void *context, const struct prebind_member *m)
{
	struct kind *k = context;

	return k->left[m->pod] ? work_new(k, m->pod) : NULL;
}

static void work_free(void *context, void *work)
{
	(void)context;
	free(work);
}

static uint64_t poll(void *context)
{
	(void)context;
	return UINT64_MAX;
}

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	(void)context;
	b.attempt = r->attempt;
	say(kind == RESULT_REFUSED ? "refused" : "bound", '\0', r->pod);
}

static void on_notice(void *context, const struct bind_notice *n)
{
	const size_t used = strlen(b.noticed);

	(void)context;
	if (n->error)
		snprintf(b.noticed + used, sizeof(b.noticed) - used, "%s: %s; ", n->name, n->error);
}

/* Group g asks for two; a, b and c are its members, l is alone.  The journal never answers. */
static void begin_of(bool has_journal, unsigned connections)
{
	const struct journal_config journal = {
		.env = &b.w.env, .namespace = "ns", .name = "j", .identity = "me"
	};
	struct binder_config config = { .env = &b.w.env,
		                            .connections = connections,
		                            .result = on_result,
		                            .notice = on_notice,
		                            .prebind = b.list,
		                            .prebind_n = 2 };

	memset(&b, 0, sizeof(b));
	for (unsigned i = 0; i < 2; i++) {
		b.kinds[i].letter = (char)('A' + (int)i);
		b.kinds[i].ops = (struct prebind_kind){ .name = "kind",
			                                    .context = &b.kinds[i],
			                                    .timeout_ns = 600 * NS_PER_S,
			                                    .late = "too late",
			                                    .any = any,
			                                    .wants = wants,
			                                    .prepare = prepare,
			                                    .start = start,
			                                    .look = look,
			                                    .suspend = suspend,
			                                    .undo = undo,
			                                    .recover = find_left,
			                                    .free = work_free,
			                                    .poll = poll };
		b.list[i] = &b.kinds[i].ops;
	}
	world_init(&b.w);
	config.model = b.m = world_model();
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 2));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "5", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "6", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "7", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("l", "8", "", ""));
	while (!model_flush(b.m, &world_sink))
		continue;
	if (has_journal)
		b.journal = config.journal = journal_new(&journal);
	b.binder = binder_new(&config);
}

static void begin(void)
{
	begin_of(false, 8);
}

static void end(void)
{
	binder_free(b.binder);
	journal_free(b.journal);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(prebind, .init = begin, .fini = end);

static pod_id id(const char *pod)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	cr_assert_lt(v.id, PODS);
	return v.id;
}

static void command(enum record_kind kind, const char *pod)
{
	struct cmd_bind cmd = { .node = 0, .node_generation = 1, .attempt = 7 };
	struct pod_view v;
	struct gang_view g;

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	cmd.pod = v.id;
	cmd.pod_generation = v.generation;
	cmd.gang = v.gang_id;
	for (cmd.gang_generation = 1; v.gang_id != ID_NONE; cmd.gang_generation++) {
		cr_assert_lt(cmd.gang_generation, 10);
		if (model_gang(b.m, v.gang_id, cmd.gang_generation, &g))
			break;
	}
	cmd.spec_id = v.gang_id != ID_NONE ? model_gang_spec_id(b.m, v.gang_id) : 0;
	cr_assert_eq(binder_bind(b.binder, kind, &cmd), 0);
}

/* Enough turns for every phase, and no time to speak of. */
static void turns(void)
{
	for (int i = 0; i < 8; i++) {
		b.w.now_ns += 50 * NS_PER_MS;
		binder_poll(b.binder);
	}
}

static void group_is_read(void)
{
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "GET", GROUP), 200, world_group("g", "3", 2));
	turns();
}

static void expect(const char *said)
{
	cr_assert_str_eq(b.said, said, "\"%s\"", b.said);
	b.said[0] = '\0';
}

static void binding_sent(const char *pod)
{
	char path[128];

	snprintf(path, sizeof(path), "/api/v1/namespaces/ns/pods/%s/binding", pod);
	world_answer(world_take(&b.w, "POST", path), 201, "{}");
}

static void drop(const char *pod)
{
	struct decode_error e = { 0 };
	struct pod_view v;
	char json[256];

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	snprintf(json, sizeof(json),
	         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\","
	         "\"resourceVersion\":\"99\"}}",
	         pod, v.uid);
	model_remove(b.m, RESOURCE_INDEX_PODS, json, strlen(json), &e);
}

Test(prebind, without_work_nothing_is_held)
{
	command(CMD_BIND, "l");
	binder_poll(b.binder);
	binding_sent("l");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, a_pod_is_bound_after_both_kinds_one_after_the_other)
{
	b.kinds[0].wants[id("l")] = b.kinds[1].wants[id("l")] = true;
	command(CMD_BIND, "l");
	turns();
	expect("start:A3 ");
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(binder_held(b.binder), 1);
	b.kinds[0].state[3] = PREBIND_DONE;
	turns();
	expect("start:B3 ");
	cr_assert_eq(world_open(&b.w), 0);
	b.kinds[1].state[3] = PREBIND_DONE;
	turns();
	binding_sent("l");
	expect("bound:3 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

/* Its device may break while those of others become ready, which takes minutes. */
Test(prebind, a_member_that_was_done_and_fails_while_it_waits_takes_the_gang_back)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	expect("start:A0 start:A1 ");
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	b.kinds[0].state[0] = PREBIND_FAILED;
	turns();
	expect("undo:A0 undo:A1 refused:0 refused:1 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, a_member_that_was_done_and_writes_once_more_is_waited_for)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	b.kinds[0].state[0] = PREBIND_BUSY;
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	cr_assert_eq(world_open(&b.w), 0, "bound without what it lost");
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	binding_sent("a");
	binding_sent("b");
}

Test(prebind, members_without_work_wait_for_those_with_it)
{
	b.kinds[1].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	expect("start:B1 ");
	cr_assert_eq(world_open(&b.w), 0);
	b.kinds[1].state[1] = PREBIND_DONE;
	turns();
	binding_sent("a");
	binding_sent("b");
	expect("bound:0 bound:1 ");
}

Test(prebind, a_phase_starts_when_all_are_through_the_one_before)
{
	b.kinds[0].wants[id("a")] = b.kinds[1].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	b.kinds[0].state[0] = PREBIND_DONE;
	turns();
	expect("start:A0 start:A1 ");
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	expect("start:B0 ");
}

Test(prebind, nothing_starts_before_the_quorum_is_there)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	group_is_read();
	expect("");
	command(CMD_BIND, "b");
	turns();
	expect("start:A0 start:A1 ");
}

Test(prebind, a_quorum_that_does_not_come_gives_back_what_is_there)
{
	b.kinds[0].wants[id("a")] = true;
	command(CMD_BIND, "a");
	group_is_read();
	b.w.now_ns += 6 * NS_PER_S;
	turns();
	expect("refused:0 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, a_quorum_that_is_raised_while_they_are_held_gives_all_back)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	expect("start:A0 start:A1 ");
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "4", 3));
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	expect("undo:A0 undo:A1 refused:0 refused:1 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind_journal, without_a_quorum_no_lines_are_taken, .fini = end)
{
	begin_of(true, 8);
	b.kinds[0].wants[id("a")] = true;
	command(CMD_BIND, "a");
	group_is_read();
	cr_assert_eq(journal_size(b.journal), 0);
	expect("");
	b.w.now_ns += 6 * NS_PER_S;
	turns();
	expect("refused:0 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, that_a_gang_has_no_work_is_asked_once_in_a_turn)
{
	b.kinds[0].wants[id("l")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	command(CMD_BIND, "c");
	group_is_read();
	/* For all three members, and each for itself: before the group is read, and after. */
	cr_assert_eq(b.kinds[0].asked, 2 * (3 + 3), "%u times", b.kinds[0].asked);
	binding_sent("a");
	binding_sent("b");
	binding_sent("c");
}

Test(prebind, no_choice_for_one_starts_nothing_for_any)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	b.kinds[0].no_choice[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	expect("refused:0 refused:1 ");
	cr_assert_str_eq(b.noticed, "b: no choice; ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, one_that_fails_takes_the_gang_back_after_the_undo)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	b.kinds[0].undo_lasts = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	b.kinds[0].state[0] = PREBIND_DONE;
	b.kinds[0].state[1] = PREBIND_FAILED;
	turns();
	expect("start:A0 start:A1 undo:A1 undo:A0 ");
	b.kinds[0].undo_lasts = false;
	turns();
	expect("refused:0 refused:1 ");
	cr_assert_str_eq(b.noticed, "b: it failed; ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, an_undo_that_never_ends_is_given_up)
{
	b.kinds[0].wants[id("l")] = b.kinds[0].undo_lasts = true;
	command(CMD_BIND, "l");
	turns();
	b.kinds[0].state[3] = PREBIND_FAILED;
	turns();
	expect("start:A3 undo:A3 ");
	b.w.now_ns += 31 * NS_PER_S;
	turns();
	expect("refused:3 ");
	cr_assert(world_said(&b.w, "could not be taken back"));
}

Test(prebind, the_others_go_on_while_they_are_a_quorum)
{
	b.kinds[0].wants[id("c")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	command(CMD_BIND, "c");
	group_is_read();
	b.kinds[0].state[2] = PREBIND_FAILED;
	turns();
	expect("start:A1 start:A2 undo:A2 refused:2 ");
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	binding_sent("a");
	binding_sent("b");
	expect("bound:0 bound:1 ");
}

Test(prebind, a_deleted_pod_is_undone_and_below_the_quorum_so_are_all)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	b.said[0] = '\0';
	drop("b");
	turns();
	expect("undo:A1 undo:A0 refused:0 refused:1 ");
}

Test(prebind, a_phase_that_is_late_fails)
{
	b.kinds[1].wants[id("l")] = true;
	command(CMD_BIND, "l");
	turns();
	b.w.now_ns += 600 * NS_PER_S;
	turns();
	expect("start:B3 undo:B3 refused:3 ");
	cr_assert_str_eq(b.noticed, "l: too late; ");
}

Test(prebind, what_was_started_outlives_the_core)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = b.kinds[0].wants[id("l")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	command(CMD_BIND, "l");
	binder_core_down(b.binder);
	cr_assert_eq(binder_held(b.binder), 2, "the lone pod was not started");
	binder_core_up(b.binder);
	binder_core_read_all(b.binder);
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	binding_sent("a");
	binding_sent("b");
	expect("start:A0 start:A1 bound:0 bound:1 ");
	cr_assert_eq(b.attempt, ATTEMPT_OTHER);
}

/* Its node is gone, so the next core can't be told where it is, and places the pod again. */
Test(prebind, a_pod_whose_held_binding_outlives_the_core_is_refused_meanwhile)
{
	b.kinds[0].wants[id("l")] = b.kinds[0].undo_lasts = true;
	command(CMD_BIND, "l");
	turns();
	expect("start:A3 ");
	b.kinds[0].state[3] = PREBIND_FAILED;
	turns();
	expect("undo:A3 ");
	binder_core_down(b.binder);
	binder_core_up(b.binder);
	command(CMD_BIND, "l");
	expect("refused:3 ");
	cr_assert_eq(binder_held(b.binder), 1, "it is still taken back");
	b.kinds[0].undo_lasts = false;
	turns();
	cr_assert_eq(binder_held(b.binder), 0);
}

/* A Binding of the earlier instance may be in flight: what it needs stays until it is dead. */
Test(prebind, what_a_late_binding_needs_is_not_taken_back_before_it_is_dead)
{
	b.kinds[0].left[id("l")] = b.kinds[0].undo_lasts = true;
	command(CMD_CANCEL_BIND, "l");
	turns();
	expect("");
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "8", "", ""));
	turns();
	world_answer(world_take(&b.w, "PATCH", POD "l/status"), 200, world_pod("l", "9", "", ""));
	turns();
	expect("");
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "9", "", ""));
	turns();
	expect("undo:A3 ");
	cr_assert_eq(world_open(&b.w), 0);
	b.kinds[0].undo_lasts = false;
	turns();
	expect("refused:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, nothing_is_taken_back_of_a_cancelled_binding_that_landed)
{
	b.kinds[0].left[id("l")] = true;
	command(CMD_CANCEL_BIND, "l");
	turns();
	world_answer(world_take(&b.w, "GET", POD "l"), 200,
	             world_pod("l", "9", "\"nodeName\":\"n1\"", ""));
	turns();
	expect("bound:3 ");
}

Test(prebind, a_retried_binding_without_a_quorum_takes_back_what_an_earlier_instance_wrote)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].left[id("a")] = true;
	command(CMD_RETRY_BIND, "a");
	group_is_read();
	world_binding_dies(&b.w, "a", turns);
	b.w.now_ns += 6 * NS_PER_S;
	turns();
	expect("undo:A0 refused:0 ");
	cr_assert_eq(binder_held(b.binder), 0);
}

Test(prebind, a_retried_binding_of_a_core_that_dies_takes_back_what_is_written)
{
	b.kinds[0].wants[id("a")] = b.kinds[0].left[id("a")] = true;
	command(CMD_RETRY_BIND, "a");
	group_is_read();
	binder_core_down(b.binder);
	turns();
	world_binding_dies(&b.w, "a", turns);
	b.w.now_ns += 6 * NS_PER_S;
	turns();
	expect("undo:A0 refused:0 ");
}

Test(prebind, nothing_is_written_for_a_retried_binding_that_landed)
{
	b.kinds[0].wants[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	expect("");
	world_answer(world_take(&b.w, "GET", POD "l"), 200,
	             world_pod("l", "9", "\"nodeName\":\"n1\"", ""));
	turns();
	expect("bound:3 ");
}

/* Its volumes were bound meanwhile, or another member of its gang was. */
Test(prebind, a_retried_binding_that_needs_no_work_any_more_outlives_the_core)
{
	b.kinds[0].wants[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "90", "", ""));
	turns();
	world_answer(world_take(&b.w, "PATCH", POD "l/status"), 200, world_pod("l", "91", "", ""));
	turns();
	b.kinds[0].wants[id("l")] = false;
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "91", "", ""));
	binder_core_down(b.binder);
	turns();
	binding_sent("l");
	expect("bound:3 ");
	cr_assert_eq(b.attempt, ATTEMPT_OTHER);
}

Test(prebind_journal, a_retried_binding_that_needs_no_work_any_more_has_a_line, .fini = end)
{
	begin_of(true, 8);
	b.kinds[0].wants[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	b.kinds[0].wants[id("l")] = false;
	world_binding_dies(&b.w, "l", turns);
	cr_assert_eq(journal_size(b.journal), 1);
	cr_assert_eq(world_open(&b.w), 0, "a POST before its line is durable");
}

Test(prebind, a_retried_binding_without_a_choice_takes_back_what_is_written)
{
	b.kinds[0].wants[id("l")] = b.kinds[0].left[id("l")] = true;
	b.kinds[1].wants[id("l")] = b.kinds[1].no_choice[id("l")] = true;
	command(CMD_RETRY_BIND, "l");
	turns();
	world_binding_dies(&b.w, "l", turns);
	expect("undo:A3 refused:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* All their works are done, and the one connection is taken by pod l. */
static void gang_waits_for_a_connection(void)
{
	begin_of(false, 1);
	b.kinds[0].wants[id("a")] = b.kinds[0].wants[id("b")] = true;
	command(CMD_BIND, "a");
	command(CMD_BIND, "b");
	group_is_read();
	command(CMD_BIND, "l");
	turns();
	b.kinds[0].state[0] = b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	expect("start:A0 start:A1 ");
	cr_assert_eq(binder_held(b.binder), 0);
	cr_assert_eq(world_open(&b.w), 1);
}

Test(prebind_wait, a_member_that_is_lost_before_the_first_binding_takes_the_gang_back, .fini = end)
{
	gang_waits_for_a_connection();
	b.kinds[0].state[1] = PREBIND_FAILED;
	binding_sent("l");
	turns();
	expect("bound:3 undo:A1 undo:A0 refused:1 refused:0 ");
	cr_assert_str_eq(b.noticed, "b: it failed; ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind_wait, what_is_lost_before_the_first_binding_is_waited_for_by_all, .fini = end)
{
	gang_waits_for_a_connection();
	b.kinds[0].state[1] = PREBIND_BUSY;
	binding_sent("l");
	turns();
	cr_assert_eq(world_open(&b.w), 0, "bound without what it lost");
	cr_assert_eq(binder_held(b.binder), 2);
	b.kinds[0].state[1] = PREBIND_DONE;
	turns();
	binding_sent("b");
	turns();
	binding_sent("a");
	expect("bound:3 bound:1 bound:0 ");
}

Test(prebind_wait, a_member_that_is_lost_after_the_first_binding_is_taken_back_alone, .fini = end)
{
	gang_waits_for_a_connection();
	binding_sent("l");
	turns();
	b.kinds[0].state[1] = PREBIND_FAILED;
	binding_sent("a");
	turns();
	expect("bound:3 bound:0 undo:A1 refused:1 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* The first Binding of the gang ends with that status, 0: it is not sent; b loses its device. */
static void first_has_no_effect(int status)
{
	struct http_call *post;

	gang_waits_for_a_connection();
	binding_sent("l");
	turns();
	b.kinds[0].state[1] = PREBIND_FAILED;
	post = world_take(&b.w, "POST", POD "a/binding");
	if (status == 0)
		world_fail(post, HTTP_NOT_SENT);
	else
		world_answer(post, status, "{}");
	b.w.now_ns += 10 * NS_PER_S;
	turns();
	expect("bound:3 undo:A1 undo:A0 refused:1 refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
	end();
}

Test(prebind_wait, a_first_binding_without_effect_does_not_part_the_gang)
{
	first_has_no_effect(0);
	first_has_no_effect(429);
	first_has_no_effect(401);
}

/* A Binding of a has landed and is not seen yet, and b, whose version had changed, is to be sent
 * again: then c and d, which came later, have lost their devices. */
Test(prebind_wait, those_released_after_the_first_binding_are_taken_back_alone, .fini = end)
{
	static const char conflict[] =
		"{\"kind\":\"Status\",\"code\":409,\"reason\":\"Conflict\",\"message\":"
		"\"Precondition failed: ResourceVersion in precondition: 6\"}";

	gang_waits_for_a_connection();
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("d", "9", "g", ""));
	while (!model_flush(b.m, &world_sink))
		continue;
	b.kinds[0].wants[2] = b.kinds[0].wants[4] = true;
	b.kinds[0].state[2] = b.kinds[0].state[4] = PREBIND_DONE;
	binding_sent("l");
	turns();
	command(CMD_BIND, "c");
	command(CMD_BIND, "d");
	turns();
	binding_sent("a");
	turns();
	expect("bound:3 start:A2 start:A4 bound:0 ");
	world_answer(world_take(&b.w, "POST", POD "b/binding"), 409, conflict);
	binder_poll(b.binder);
	world_answer(world_take(&b.w, "GET", POD "b"), 200, world_pod("b", "60", "", ""));
	b.kinds[0].state[2] = b.kinds[0].state[4] = PREBIND_FAILED;
	binder_poll(b.binder); /* b is not due yet */
	turns();
	expect("undo:A2 undo:A4 refused:2 refused:4 ");
	binding_sent("b");
	expect("bound:1 ");
}

Test(prebind_wait, a_core_that_dies_drops_what_waits_for_a_connection, .fini = end)
{
	gang_waits_for_a_connection();
	binder_core_down(b.binder);
	binding_sent("l");
	turns();
	expect("bound:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

/* The answer says nothing, the pod has no node yet, and then the device is lost. */
static void binding_may_land_and_loses(void)
{
	b.kinds[0].wants[id("l")] = true;
	b.kinds[0].state[3] = PREBIND_DONE;
	command(CMD_BIND, "l");
	turns();
	world_fail(world_take(&b.w, "POST", POD "l/binding"), HTTP_BROKEN);
	turns();
	b.kinds[0].state[3] = PREBIND_FAILED;
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "8", "", ""));
	turns();
	expect("start:A3 bound:3 "); /* RESULT_UNKNOWN */
	world_answer(world_take(&b.w, "PATCH", POD "l/status"), 200, world_pod("l", "9", "", ""));
	turns();
	expect("");
}

Test(prebind, nothing_is_taken_back_while_a_binding_may_land)
{
	binding_may_land_and_loses();
	world_answer(world_take(&b.w, "GET", POD "l"), 200, world_pod("l", "9", "", ""));
	turns();
	expect("undo:A3 refused:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, nothing_is_taken_back_of_a_binding_that_landed_before_the_fence)
{
	binding_may_land_and_loses();
	world_answer(world_take(&b.w, "GET", POD "l"), 200,
	             world_pod("l", "9", "\"nodeName\":\"n1\"", ""));
	turns();
	expect("bound:3 ");
	cr_assert_eq(world_open(&b.w), 0);
}

Test(prebind, a_cancelled_binding_with_nothing_left_is_read_at_once)
{
	b.kinds[0].left[id("a")] = true;
	command(CMD_CANCEL_BIND, "l");
	binder_poll(b.binder);
	world_take(&b.w, "GET", POD "l");
}
