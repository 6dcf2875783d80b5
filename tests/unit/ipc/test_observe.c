/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a ledger that its writer changes, or that makes no sense at all. */
#include "ipc/clock.h"
#include "ipc/message.h"
#include "ipc/states.h"
#include "ctl/term/units.h"

#include "tests/unit/support_observer.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES 4u
#define GANGS 4u
#define ARENA 256u
#define PART_ROOM UINT64_C(65536) /* whole pages on every machine */

static struct observer make(void)
{
	struct observer o = observer_make(NODES, GANGS, ARENA);

	memcpy((char *)o.link.ledger.base + o.places.arena_offset, "node-x", 6);
	return o;
}

static struct node_row *node_rows(const struct observer *o)
{
	return (struct node_row *)(void *)((char *)o->link.ledger.base + o->places.nodes_offset);
}

static struct gang_row *gang_rows(const struct observer *o)
{
	return (struct gang_row *)(void *)((char *)o->link.ledger.base + o->places.gangs_offset);
}

static struct node_amounts *amounts(const struct observer *o)
{
	return (struct node_amounts *)(void *)((char *)o->link.ledger.base + o->places.amounts_offset);
}

static void set_node(const struct observer *o, uint64_t name_offset, uint32_t name_bytes)
{
	struct node_row *row = &node_rows(o)[1];

	row->generation = 1;
	row->flags = NODE_PRESENT;
	row->pods = 3;
	row->name_offset = name_offset;
	row->name_bytes = name_bytes;
	amounts(o)[1].allocatable[RESOURCE_CPU] = 8000;
	amounts(o)[1].used[RESOURCE_CPU] = 500;
	amounts(o)[NODES + 1].allocatable[RESOURCE_EXTENDED % AMOUNTS_BLOCK] = 9;
}

Test(observe, a_row_is_copied)
{
	struct observer o = make();
	struct node_view node;

	set_node(&o, 0, 6);
	cr_assert(!observe_node(&o, 0, &node));
	cr_assert(observe_node(&o, 1, &node));
	cr_assert_str_eq(node.name, "node-x");
	cr_assert(node.pods == 3 && node.allocatable[RESOURCE_CPU] == 8000 &&
	          node.used[RESOURCE_CPU] == 500);
	cr_assert(node.allocatable[RESOURCE_EXTENDED] == 9 && node.used[RESOURCE_EXTENDED] == 0);
	cr_assert(!observe_node(&o, NODES, &node));
	cr_expect_eq(observe_resources_there(&o), o.places.limits.resources);
	node = (struct node_view){ 0 };
	cr_assert(observe_node_amounts(&o, 1, RESOURCE_EXTENDED, &node));
	cr_expect(node.flags == NODE_PRESENT && node.allocatable[RESOURCE_CPU] == 8000 &&
	          node.used[RESOURCE_CPU] == 500 && node.allocatable[RESOURCE_EXTENDED] == 0);
	cr_expect_str_eq(node.name, "");
	cr_expect(!observe_node_amounts(&o, 0, RESOURCE_EXTENDED, &node));
	free(o.link.ledger.base);
}

Test(observe, offsets_that_make_no_sense_read_nothing)
{
	static const struct {
		uint64_t offset;
		uint32_t bytes;
	} wild[] = {
		{ UINT64_MAX, 6 }, { 0, UINT32_MAX }, { ARENA, 1 }, { ARENA - 1, 2 }, { UINT64_MAX - 2, 6 }
	};
	struct observer o = make();
	struct node_view node;
	struct name_row *names =
		(struct name_row *)(void *)((char *)o.link.ledger.base + o.places.names_offset);
	char text[OBSERVE_NAME_MAX];

	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		set_node(&o, wild[i].offset, wild[i].bytes);
		cr_assert(observe_node(&o, 1, &node));
		cr_expect_str_eq(node.name, "");
		names[2] = (struct name_row){ .offset = wild[i].offset,
			                          .bytes = wild[i].bytes,
			                          .kind = NAME_RESOURCE };
		cr_expect_str_eq(observe_name(&o, 2, text), "");
	}
	cr_expect_str_eq(observe_name(&o, NAMES, text), "");
	cr_expect_str_eq(observe_name(&o, UINT32_MAX, text), "");
	free(o.link.ledger.base);
}

Test(observe, counts_of_a_reason_are_bounded)
{
	struct observer o = make();
	struct gang_copy gang;

	gang_rows(&o)[0].generation = 1;
	gang_rows(&o)[0].reason.counts_n = UINT32_MAX;
	gang_rows(&o)[0].reason.shortfalls_n = 1000;
	cr_assert(observe_gang(&o, 0, &gang));
	cr_expect(gang.row.reason.counts_n == FILTER_COUNTS_MAX);
	cr_expect(gang.row.reason.shortfalls_n == SHORTFALLS_MAX);
	cr_expect_str_eq(gang_state_text(77), "Unknown");
	free(o.link.ledger.base);
}

/* What observer_ask() makes of a message that a core had ready. */
static int asked_and_got(uint32_t about, const void *message, size_t bytes, struct live_answer *out)
{
	struct live_question q = { .version = QUESTION_VERSION, .about = about };
	struct observer o = { 0 };
	int ends[2], rc;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	cr_assert_eq(message_send(ends[1], message, bytes, -1), 0);
	o.link.fd = ends[0];
	rc = observer_ask(&o, &q, NS_PER_S, out);
	close(ends[0]);
	close(ends[1]);
	return rc;
}

static struct message_answer answer_of(uint32_t version, uint32_t verdict)
{
	return (struct message_answer){
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_ANSWER },
		.answer = { .version = version, .verdict = verdict }
	};
}

static int asked(uint32_t about, uint32_t verdict, struct live_answer *out)
{
	struct message_answer m = answer_of(QUESTION_VERSION, verdict);

	if (verdict != QUESTION_NODES)
		m.answer.page.absent_n = UINT32_MAX;
	return asked_and_got(about, &m, sizeof(m), out);
}

/* Whatever the length of its answers, and not if there is no version in it. */
Test(observe, a_core_of_another_version_of_questions_is_known)
{
	static const size_t head = sizeof(struct message_head);
	struct longer {
		struct message_answer m;
		unsigned char more[64];
	} longer = { .m = answer_of(QUESTION_VERSION + 1, QUESTION_REFUSED) };
	const struct message_answer older = answer_of(QUESTION_VERSION - 1, QUESTION_VERDICTS);
	const struct message_answer ours = answer_of(QUESTION_VERSION, QUESTION_REFUSED);
	struct live_answer a = { 0 };

	cr_expect_eq(asked_and_got(ABOUT_POD, &longer, sizeof(longer), &a), -EPROTONOSUPPORT);
	cr_expect_eq(a.version, QUESTION_VERSION + 1);
	cr_expect_eq(asked_and_got(ABOUT_GANG, &older, head + 4, &a), -EPROTONOSUPPORT);
	cr_expect_eq(a.version, QUESTION_VERSION - 1);
	cr_expect_eq(asked_and_got(ABOUT_GANG, &older, head + 3, &a), -EPROTO);
	cr_expect_eq(asked_and_got(ABOUT_GANG, &ours, sizeof(ours) - 1, &a), -EPROTO);
}

/* Its counts of resources were read from another member of the union, unchecked. */
Test(observe, an_answer_to_another_question_is_none)
{
	static const bool of_pod[QUESTION_VERDICTS] = {
		[QUESTION_NODES] = true, [QUESTION_PLACED] = true
	};
	struct live_answer a;

	for (uint32_t verdict = 0; verdict < QUESTION_VERDICTS; verdict++) {
		const bool any = verdict == QUESTION_REFUSED;

		cr_expect_eq(asked(ABOUT_POD, verdict, &a), any || of_pod[verdict] ? 0 : -EPROTO);
		cr_expect_eq(asked(ABOUT_GANG, verdict, &a), any || !of_pod[verdict] ? 0 : -EPROTO);
	}
}

/* A writer that died in the middle of a row. */
Test(observe, a_row_that_never_holds_still_is_left_out)
{
	struct observer o = make();
	struct node_view node;
	struct gang_copy gang;

	set_node(&o, 0, 6);
	node_rows(&o)[1].version = 7;
	gang_rows(&o)[1].generation = 1;
	gang_rows(&o)[1].version = 9;
	cr_expect(!observe_node(&o, 1, &node));
	cr_expect(!observe_gang(&o, 1, &gang));
	free(o.link.ledger.base);
}

/* The same in a segment whose parts are made later. */
static struct observer make_bare(struct segment *ours)
{
	struct observer plain = make(), o = plain;
	struct ledger *ledger;

	/* Each part on pages of its own. */
	o.places.gangs_offset = 1 * PART_ROOM;
	o.places.arena_offset = 2 * PART_ROOM;
	o.places.amounts_offset = 3 * PART_ROOM;
	cr_assert_eq(segment_create_bare(ours, "test-observed", 4 * PART_ROOM), 0);
	cr_assert_eq(segment_make(ours, 0, PART_ROOM), 0);
	ledger = ours->base;
	memcpy(ledger, plain.ledger, sizeof(*ledger));
	free(plain.link.ledger.base);
	o.link.ledger = *ours;
	cr_assert_eq(segment_open_bare(&o.segment, dup(ours->fd), 1, 4 * PART_ROOM), 0);
	o.ledger = o.segment.base;
	return o;
}

static uint64_t pages_of(const struct segment *s)
{
	struct stat st;

	cr_assert_eq(fstat(s->fd, &st), 0);
	return (uint64_t)st.st_blocks * 512 / PART_ROOM;
}

/* What its writer did not make is empty, whatever it says it made, and no look makes it. */
Test(observe, parts_that_are_not_there_are_not_read)
{
	struct segment ours;
	struct observer o = make_bare(&ours);
	struct ledger *ledger = ours.base;
	struct node_row *row = &node_rows(&o)[1];
	struct node_view node;
	struct gang_copy gang;

	*row = (struct node_row){ .generation = 1, .flags = NODE_PRESENT, .pods = 3, .name_bytes = 6 };
	cr_expect(!observe_node(&o, 1, &node));
	cr_expect_eq(observe_nodes_there(&o), 0);
	ledger->committed[PART_NODES] = NODES * sizeof(*row);
	cr_expect_eq(observe_nodes_there(&o), NODES);
	for (int lies = 0; lies < 2; lies++) {
		cr_assert(observe_node(&o, 1, &node));
		cr_expect(node.pods == 3 && node.allocatable[RESOURCE_CPU] == 0 &&
		          node.used[RESOURCE_CPU] == 0);
		cr_expect_str_eq(node.name, "");
		cr_expect(!observe_gang(&o, 1, &gang));
		cr_expect_eq(observe_gangs_there(&o), 0);
		cr_expect_eq(observe_resources_there(&o), 0);
		cr_expect_eq(pages_of(&ours), 1);
		for (int part = 0; part < LEDGER_PARTS; part++)
			ledger->committed[part] = UINT64_MAX;
	}
	cr_assert_eq(segment_make(&ours, 0, 4 * PART_ROOM), 0);
	set_node(&o, 0, 6);
	memcpy((char *)ours.base + o.places.arena_offset, "node-x", 6);
	gang_rows(&o)[1].generation = 1;
	cr_assert(observe_node(&o, 1, &node));
	cr_expect(node.allocatable[RESOURCE_CPU] == 8000 && node.used[RESOURCE_CPU] == 500);
	cr_expect_str_eq(node.name, "node-x");
	cr_expect_eq(observe_resources_there(&o), o.places.limits.resources);
	cr_expect(observe_gang(&o, 1, &gang));
	cr_expect(!observe_gang(&o, GANGS, &gang));
	segment_close(&o.segment);
	segment_close(&ours);
}

struct writer {
	struct observer *o;
	_Atomic bool stop;
};

/* Keeps pods, two amounts and flags equal to one number, as a core would. */
static void *write_rows(void *context)
{
	struct writer *w = context;
	struct node_row *row = &node_rows(w->o)[1];
	struct node_amounts *a = &amounts(w->o)[1];

	for (uint32_t n = 1; !atomic_load_explicit(&w->stop, memory_order_relaxed); n++) {
		uint32_t version = atomic_load_explicit(&row->version, memory_order_relaxed);

		atomic_store_explicit(&row->version, version + 1, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		__atomic_store_n(&row->pods, n, __ATOMIC_RELAXED);
		__atomic_store_n(&a->allocatable[RESOURCE_CPU], n, __ATOMIC_RELAXED);
		__atomic_store_n(&a->used[RESOURCE_PODS], n, __ATOMIC_RELAXED);
		atomic_store_explicit(&row->version, version + 2, memory_order_release);
	}
	return NULL;
}

Test(observe, rows_are_never_torn, .timeout = 60)
{
	struct observer o = make();
	struct writer w = { .o = &o };
	struct node_view node;
	pthread_t thread;
	size_t seen = 0;

	node_rows(&o)[1].generation = 1;
	cr_assert(pthread_create(&thread, NULL, write_rows, &w) == 0);
	for (int i = 0; i < 200000; i++) {
		if (!observe_node(&o, 1, &node))
			continue;
		seen++;
		cr_assert(node.allocatable[RESOURCE_CPU] == node.pods &&
		              node.used[RESOURCE_PODS] == node.pods,
		          "torn: %u %lld %lld", node.pods, (long long)node.allocatable[RESOURCE_CPU],
		          (long long)node.used[RESOURCE_PODS]);
	}
	atomic_store_explicit(&w.stop, true, memory_order_relaxed);
	pthread_join(thread, NULL);
	cr_expect(seen > 0);
	free(o.link.ledger.base);
}

Test(units, amounts_as_people_read_them)
{
	static const struct {
		uint32_t resource;
		const char *name;
		int64_t value;
		const char *text;
	} cases[] = {
		{ RESOURCE_CPU, "cpu", 0, "0" },
		{ RESOURCE_CPU, "cpu", 96000, "96" },
		{ RESOURCE_CPU, "cpu", 1500, "1.5" },
		{ RESOURCE_CPU, "cpu", 1, "0.001" },
		{ RESOURCE_CPU, "cpu", 127990, "127.99" },
		{ RESOURCE_CPU, "cpu", 12345678, "12345.678" },
		{ RESOURCE_CPU, "cpu", -50, "-0.05" },
		{ RESOURCE_CPU, "cpu", INT64_MIN, "-9223372036854775.808" },
		{ RESOURCE_MEMORY, "memory", 0, "0" },
		{ RESOURCE_MEMORY, "memory", 1000, "1000" },
		{ RESOURCE_MEMORY, "memory", 1024, "1Ki" },
		{ RESOURCE_MEMORY, "memory", 1048524, "1023.9Ki" },
		{ RESOURCE_MEMORY, "memory", 1048575, "1.0Mi" },
		{ RESOURCE_MEMORY, "memory", -1048575, "-1.0Mi" },
		{ RESOURCE_MEMORY, "memory", INT64_C(7680) << 20, "7.5Gi" },
		{ RESOURCE_MEMORY, "memory", INT64_C(384) << 30, "384Gi" },
		{ RESOURCE_MEMORY, "memory", INT64_MAX, "8Ei" },
		{ RESOURCE_EXTENDED, "nvidia.com/gpu", 1024, "1024" },
		{ RESOURCE_EXTENDED, "hugepages-2Mi", INT64_C(4) << 20, "4Mi" },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(
			units_amount(cases[i].resource, cases[i].name, cases[i].value, text, sizeof(text)),
			cases[i].text, "%s, not %s", text, cases[i].text);
	cr_expect_str_eq(units_age(UINT64_C(119) * 1000000000, text, sizeof(text)), "119s");
	cr_expect_str_eq(units_age(UINT64_C(7199) * 1000000000, text, sizeof(text)), "119m");
	cr_expect_str_eq(units_age(UINT64_C(360000) * 1000000000, text, sizeof(text)), "4d");
}
