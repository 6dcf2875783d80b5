/* SPDX-License-Identifier: Apache-2.0 */
/* The core's parts by themselves: arithmetic, the arena of names, the queue, limits. */
#include "core/base/amount.h"
#include "core/step/core.h"
#include "core/shm/ledger.h"
#include "core/queue/queue.h"
#include "tests/unit/support_ledger.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

static const struct limits small =
	LIMITS_WITH(.nodes = 10, .pods = 100, .gangs = 50, .shapes = 10, .names = 10, .resources = 5);

/* Any width, with many near the ends of int64. */
static int64_t any_amount(struct random *r)
{
	int64_t value = (int64_t)(random_next(r) >> (1 + random_below(r, 63)));

	return random_below(r, 8) == 0 ? INT64_MAX - value % 5 : value;
}

Test(amount, count_is_a_division)
{
	struct random r = random_start("amount.count");

	for (int i = 0; i < 1000000; i++) {
		int64_t room = any_amount(&r), request = any_amount(&r) | 1;
		uint32_t most = (uint32_t)random_next(&r);
		int64_t exact = request == INT64_MAX ? 0 : room / request;

		if (i % 2) /* about a whole number of requests */
			room = wide_cut((wide)request * random_below(&r, 1000) + random_below(&r, 3) - 1);
		if (room < 0)
			room = 0;
		exact = request == INT64_MAX ? 0 : room / request;
		cr_assert_eq(amount_count(room, request, 1.0 / (double)request, most),
		             exact < most ? exact : most, "%lld / %lld", (long long)room,
		             (long long)request);
	}
}

Test(amount, ends)
{
	cr_assert_eq(amount_count(-1, 1, 1.0, 9), 0);
	cr_assert_eq(amount_count(INT64_MIN, 1, 1.0, 9), 0);
	cr_assert_eq(amount_count(INT64_MAX, 1, 1.0, 9), 9);
	cr_assert_eq(amount_count(INT64_MAX, INT64_MAX, 1.0 / (double)INT64_MAX, 9), 0);
	cr_assert_eq(amount_free(5, (wide)INT64_MAX + 1), INT64_MIN);
	cr_assert_eq(amount_free(5, 7), -2);
	cr_assert_eq(amount_times(INT64_MAX, 2), INT64_MAX);
	cr_assert(!amount_fits(INT64_MAX, INT64_MAX));
}

static struct ledger *ledger_make(struct ledger_view *v, const struct limits *limits)
{
	size_t bytes = (size_t)ledger_bytes(limits, NULL);
	struct ledger *ledger = aligned_alloc(4096, bytes);

	cr_assert(ledger);
	memset(ledger, 0, bytes);
	ledger_open(v, ledger, limits, NULL, NULL);
	return ledger;
}

/* Names never lie on each other and are never changed by others, through any order
 * of adding and dropping; and when all are dropped, as many fit as ever. */
Test(names, keep_their_bytes)
{
	struct random r = random_start("names");
	struct ledger_view v;
	struct ledger *ledger = ledger_make(&v, &small);
	struct {
		struct name name;
		unsigned char mark;
	} names[200] = { 0 };
	unsigned full = 0, most = 0;
	uint32_t live = 0;
	char text[NAME_BYTES_MAX];

	for (int i = 0; i < 50000; i++) {
		uint32_t at = random_below(&r, 200),
				 bytes = 1 + random_below(&r, random_below(&r, 4) ? 60 : NAME_BYTES_MAX);
		int rc;

		if (names[at].name.bytes > 0) {
			for (uint32_t k = 0; k < names[at].name.bytes; k++)
				cr_assert_eq((unsigned char)name_text(&v, names[at].name)[k], names[at].mark);
			name_drop(&v, &names[at].name);
			live--;
			continue;
		}
		names[at].mark = (unsigned char)(1 + random_below(&r, 255));
		memset(text, names[at].mark, bytes);
		rc = name_add(&v, text, bytes, &names[at].name);
		cr_assert(rc == 0 || rc == -ENOSPC);
		cr_assert(rc == 0 ? names[at].name.offset + bytes <= small.name_bytes
		                  : names[at].name.bytes == 0);
		full += rc < 0;
		live += rc == 0;
		most = live > most ? live : most;
	}
	cr_assert(full > 0 && most > 20, "%u times full, %u at most", full, most);
	free(ledger);
}

Test(names, of_one_size_fill_the_arena_again_and_again)
{
	struct ledger_view v;
	struct ledger *ledger = ledger_make(&v, &small);
	struct name names[256];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 256; i++)
			cr_assert_eq(name_add(&v, "0123456789abcdef", 16, &names[i]), 0);
		cr_assert_eq(name_add(&v, "x", 1, &(struct name){ 0 }), -ENOSPC);
		for (int i = 0; i < 256; i++)
			name_drop(&v, &names[i]);
	}
	free(ledger);
}

struct maker {
	struct ledger *ledger;
	bool refuses;
	uint32_t calls;
};

static int make(void *context, uint64_t offset, uint64_t bytes)
{
	struct maker *m = context;

	if (m->refuses)
		return -ENOSPC;
	m->calls++;
	return guarded_make(m->ledger, offset, bytes);
}

static int feed_by(int (*take)(struct core *, const struct record *), struct core *c,
                   enum record_kind kind, const void *body, uint32_t bytes)
{
	alignas(8) unsigned char buffer[256] = { 0 };
	const struct record head = { .bytes = (uint32_t)sizeof(head) + (uint32_t)PADDED(bytes),
		                         .kind = (uint16_t)kind,
		                         .epoch = 1,
		                         .time_ns = 1 };

	cr_assert_leq(head.bytes, sizeof(buffer));
	memcpy(buffer, &head, sizeof(head));
	if (bytes > 0)
		memcpy(buffer + sizeof(head), body, bytes);
	return take(c, (const struct record *)(const void *)buffer);
}

static int feed(struct core *c, enum record_kind kind, const void *body, uint32_t bytes)
{
	return feed_by(core_step, c, kind, body, bytes);
}

/* The record commits more of a part. */
static void expect_committed(struct core *c, struct maker *m, enum record_kind kind,
                             const void *body, uint32_t bytes)
{
	const uint32_t calls = m->calls;
	char why[256];

	cr_assert_eq(feed(c, kind, body, bytes), 0);
	cr_assert_gt(m->calls, calls);
	cr_assert(core_valid(c, why, sizeof(why)), "%s", why);
}

Test(parts, are_committed_when_they_are_needed)
{
	const struct limits limits =
		LIMITS_WITH(.nodes = 3001, .pods = 100, .gangs = 5000, .shapes = 10, .names = 20,
	                .resources = 9, .name_bytes = 1 << 20);
	struct {
		struct event_name e;
		char text[8];
	} first = { { .id = 4, .kind = NAME_RESOURCE, .bytes = 3 }, "gpu" },
	  third = { { .id = 8, .kind = NAME_RESOURCE, .bytes = 3 }, "fpg" };
	struct {
		struct event_gang e;
		char text[8];
	} gang = { { .gang = 4000, .generation = 1, .quorum = 1, .name_bytes = 3 }, "n/g" };
	struct {
		struct event_node e;
		char name[8];
	} near = { { .node = 3, .generation = 1, .name_bytes = 2 }, "n3" },
	  far = { { .node = 3000, .generation = 1, .name_bytes = 2 }, "nf" };
	struct maker m = { .ledger = guarded_new(&limits) };
	struct core_config config = { .limits = limits, .make = make, .context = &m };
	struct core *core = core_new(&config, m.ledger);

	cr_assert(core);
	cr_assert_eq(m.calls, 0);
	cr_assert_eq(feed(core, EVENT_BEGIN, NULL, 0), 0);
	expect_committed(core, &m, EVENT_NODE, &near, sizeof(near));
	/* cpu, memory, ephemeral storage, pods: 1024 nodes at once */
	cr_assert_eq(m.ledger->committed[PART_AMOUNTS], 1024 * sizeof(struct node_amounts));
	cr_assert_eq(m.ledger->committed[PART_NODES], 2048 * sizeof(struct node_row));
	cr_assert_eq(m.ledger->committed[PART_AMOUNTS + 1], 0);
	expect_committed(core, &m, EVENT_NAME, &first, sizeof(first));
	cr_assert_eq(m.ledger->committed[PART_AMOUNTS + 1], 1024 * sizeof(struct node_amounts));
	expect_committed(core, &m, EVENT_NODE, &far, sizeof(far));
	cr_assert_eq(m.ledger->committed[PART_AMOUNTS], 3001 * sizeof(struct node_amounts));
	cr_assert_eq(m.ledger->committed[PART_AMOUNTS + 1], 3001 * sizeof(struct node_amounts));
	cr_assert_eq(m.ledger->committed[PART_NODES], 3001 * sizeof(struct node_row));
	expect_committed(core, &m, EVENT_NAME, &third, sizeof(third));
	cr_assert_eq(m.ledger->committed[PART_AMOUNTS + 2], 3001 * sizeof(struct node_amounts));
	expect_committed(core, &m, EVENT_GANG, &gang, sizeof(gang));
	cr_assert_geq(m.ledger->committed[PART_GANGS], 4001 * sizeof(struct gang_row));
	cr_assert_lt(m.ledger->committed[PART_GANGS], 5000 * sizeof(struct gang_row));
	/* A new epoch keeps what is committed. */
	m.refuses = true;
	cr_assert_eq(feed(core, EVENT_BEGIN, NULL, 0), 0);
	cr_assert_eq(feed(core, EVENT_NODE, &far, sizeof(far)), 0);
	cr_assert_eq(feed(core, EVENT_NAME, &first, sizeof(first)), 0);
	cr_assert_eq(feed(core, EVENT_GANG, &gang, sizeof(gang)), 0);
	core_free(core);
	guarded_free(m.ledger);
}

/* A crash-only core: without memory for a part the process ends. */
Test(parts, without_memory_end_the_process, .exit_code = 1)
{
	const struct {
		struct event_name e;
		char text[8];
	} gpu = { { .id = 4, .kind = NAME_RESOURCE, .bytes = 3 }, "gpu" };
	const struct limits limits = LIMITS_WITH(.nodes = 200, .pods = 100, .gangs = 10, .shapes = 10,
	                                         .names = 20, .resources = 9, .name_bytes = 1 << 20);
	struct maker m = { .ledger = guarded_new(&limits) };
	struct core_config config = { .limits = limits, .make = make, .context = &m };
	struct core *core = core_new(&config, m.ledger);

	cr_assert_eq(feed(core, EVENT_BEGIN, NULL, 0), 0);
	m.refuses = true;
	feed(core, EVENT_NAME, &gpu, sizeof(gpu));
}

/* A new epoch before the changes of the last one were published. */
Test(parts, a_new_epoch_in_the_middle_of_a_batch)
{
	const struct {
		struct event_node e;
		struct amount cpu;
		char name[8];
	} node = { { .generation = 1, .flags = NODE_PRESENT, .amounts_n = 1, .name_bytes = 2 },
		       { .resource = RESOURCE_CPU, .value = 1000 },
		       "n1" };
	struct core_config config = { .limits = small };
	struct ledger_view v;
	struct ledger *ledger = ledger_make(&v, &small);
	struct core *c = core_new(&config, ledger);
	char why[256];

	cr_assert(c);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(feed_by(core_apply, c, EVENT_BEGIN, NULL, 0), 0);
		cr_assert_eq(feed_by(core_apply, c, EVENT_NODE, &node, sizeof(node)), 0);
	}
	core_show(c);
	cr_assert(core_valid(c, why, sizeof(why)), "%s", why);
	core_free(c);
	free(ledger);
}

Test(limits, that_can_not_be_are_named)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} bad[] = {
		{ offsetof(struct limits, nodes), 0 },
		{ offsetof(struct limits, nodes), UINT32_MAX },
		{ offsetof(struct limits, pods), 0 },
		{ offsetof(struct limits, pods), UINT32_MAX },
		{ offsetof(struct limits, gangs), 0 },
		{ offsetof(struct limits, gangs), UINT32_MAX },
		{ offsetof(struct limits, shapes), 0 },
		{ offsetof(struct limits, shapes), UINT32_MAX },
		{ offsetof(struct limits, names), 0 },
		{ offsetof(struct limits, names), UINT32_MAX },
		{ offsetof(struct limits, resources), 3 },
		{ offsetof(struct limits, resources), 65 },
		{ offsetof(struct limits, name_bytes), 1 },
		{ offsetof(struct limits, command_ring_bytes), 5000 },
	};
	const char *what = NULL;

	cr_assert(core_ledger_bytes(&small, &what) > 0);
	cr_assert_null(what);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct limits l = small;

		memcpy((char *)&l + bad[i].offset, &bad[i].value, sizeof(bad[i].value));
		what = NULL;
		cr_assert_eq(core_ledger_bytes(&l, &what), 0, "case %zu", i);
		cr_assert(what && strlen(what) > 0);
	}
}

static bool behind(const struct gang *g)
{
	return (g->flags & GANG_AFTER_OTHERS) && !g->promoted;
}

static bool earlier(const struct gang *a, const struct gang *b)
{
	int32_t high = a->flags & GANG_PRIORITY ? a->parts->priority : a->priority;
	int32_t low = b->flags & GANG_PRIORITY ? b->parts->priority : b->priority;
	int order;

	if (behind(a) != behind(b))
		return behind(b);
	if (behind(a) && a->age_ns != b->age_ns)
		return a->age_ns < b->age_ns;
	if (high != low)
		return high > low;
	if (a->age_ns != b->age_ns)
		return a->age_ns < b->age_ns;
	order =
		strncmp(a->name, b->name, a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes);
	if (order != 0 || a->name_bytes != b->name_bytes)
		return order ? order < 0 : a->name_bytes < b->name_bytes;
	return a < b;
}

static void queue_check(const struct queue *q, const struct gangs *gs)
{
	uint32_t n = 0, first = ID_NONE;

	for (uint32_t i = queue_first(q); i != ID_NONE; i = queue_next(q, i)) {
		uint32_t next = queue_next(q, i);

		cr_assert_eq(gs->slots[i].queue, q->which);
		cr_assert(next == ID_NONE || earlier(&gs->slots[i], &gs->slots[next]));
		first = first == ID_NONE && behind(&gs->slots[i]) ? i : first;
		n++;
	}
	cr_assert_eq(n, q->n);
	cr_assert_eq(queue_first_of_last_band(q), first);
}

Test(queue, is_in_order_whatever_comes_and_goes)
{
	struct random r = random_start("queue");
	struct pods pods;
	struct gangs gs;
	struct queue_links links[150];
	struct queue changed, waiting;
	char name[] = "abcdefgh";
	struct gang_parts own[3] = { { .priority = -1 }, { .priority = 0 }, { .priority = 1 } };

	pods_init(&pods, &small);
	gangs_init(&gs, &small, &pods);
	cr_assert_eq(gs.n, 150);
	queue_init(&changed, &gs, links, QUEUE_ACTIVE);
	queue_init(&waiting, &gs, links, QUEUE_UNSCHEDULABLE);
	for (int i = 0; i < 20000; i++) {
		uint32_t at = random_below(&r, gs.n);
		struct gang *g = &gs.slots[at];

		if (g->queue == QUEUE_ACTIVE) {
			queue_remove(&changed, at);
		} else if (g->queue == QUEUE_UNSCHEDULABLE) {
			queue_remove(&waiting, at);
		} else {
			g->flags = (random_below(&r, 2) ? GANG_AFTER_OTHERS : 0) |
			           (random_below(&r, 3) ? 0 : GANG_PRIORITY);
			g->promoted = random_below(&r, 2);
			g->parts = &own[random_below(&r, 3)];
			g->priority = (int32_t)random_below(&r, 3) - 1;
			g->age_ns = random_below(&r, 3);
			g->name = name + random_below(&r, 3);
			g->name_bytes = 1 + random_below(&r, 4);
			queue_insert(random_below(&r, 2) ? &changed : &waiting, at);
		}
		if (i % 16 == 0) {
			queue_check(&changed, &gs);
			queue_check(&waiting, &gs);
		}
	}
	gangs_free(&gs);
	pods_free(&pods);
}
