/* SPDX-License-Identifier: Apache-2.0 */
/* The history of queues in the loop: read beside the lists, sent before EVENT_SYNCED, copied from
 * the ledger, written every five minutes and at the end. */
#include "frontend/loop/frontend.h"

#include "core/shm/ledger.h"
#include "frontend/queues/past.h"
#include "ipc/memory.h"
#include "ipc/observe.h"
#include "tests/unit/support_world.h"

#define ALL "/api/v1/namespaces/sys/configmaps"
#define ONE ALL "/h"
#define WALL_S UINT64_C(1790000000)

static struct bench {
	struct world w;
	struct model *m;
	struct frontend *f;
	struct frontend_port port;
	struct limits limits;
	struct ledger_view ledger;
	char seen[400]; /* "past VALUE at AGE", "synced" */
	unsigned observed;
	enum record_kind kind;
	_Alignas(8) unsigned char body[RECORD_BYTES_MAX];
} b;

/* The body is written after its room was given. */
static void look(void)
{
	const struct event_queue_past *e = (const void *)b.body;
	const struct queue_past *a = (const void *)(e + 1);
	const size_t n = strlen(b.seen);

	if (b.kind == EVENT_QUEUE_PAST)
		snprintf(b.seen + n, sizeof(b.seen) - n, "past %lld at %llu ", (long long)a->value,
		         (unsigned long long)(e->at_s - WALL_S));
	else if (b.kind == EVENT_SYNCED)
		snprintf(b.seen + n, sizeof(b.seen) - n, "synced ");
	b.kind = RECORD_PAD;
}

static void *core_event(void *context, enum record_kind kind, uint32_t bytes)
{
	look();
	cr_assert_leq(bytes, sizeof(b.body));
	b.kind = kind;
	return b.body;
}

static void core_publish(void *context)
{
	look();
}

static bool core_read(void *context)
{
	return true;
}

static void core_observe(void *context, struct observer *out)
{
	b.observed++;
	*out = (struct observer){ 0 };
	observer_own(out, b.ledger.ledger);
}

static uint64_t wall(void *context)
{
	return WALL_S * SECOND + ((struct world *)context)->now_ns;
}

static void row_set(int64_t history)
{
	struct queue_row *row = ledger_queue(&b.ledger, 1);
	struct queue_amounts *amounts = (struct queue_amounts *)(row + 1);

	row_begin(&row->version);
	row->there = 1;
	snprintf(row->name, sizeof(row->name), "a");
	amounts[RESOURCE_CPU].history = history;
	row_end(&row->version);
}

static void core_up(void)
{
	b.seen[0] = '\0';
	cr_assert_eq(frontend_core_up(b.f, &b.limits, &b.port), 0);
}

static void begin(void)
{
	const struct past_config past = { .namespace = "sys", .name = "h", .half_life_s = 1000 };
	const struct frontend_config config = { .bind_connections = 4,
		                                    .report_per_second = 100,
		                                    .report_queue = 100,
		                                    .instance = "muster-test",
		                                    .past = &past };
	struct name name;
	uint64_t bytes;

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.w.env.wall_ns = wall;
	b.w.now_ns = SECOND;
	b.m = world_model_with((struct model_config){ .queues = MODEL_QUEUES_CONFIG,
	                                              .queues_namespace = "sys",
	                                              .queues_name = "q",
	                                              .history_factor = 1000,
	                                              .history_half_life_s = 1000 });
	b.port = (struct frontend_port){ .event = core_event,
		                             .publish = core_publish,
		                             .events_read = core_read,
		                             .observe = core_observe };
	b.limits = world_limits;
	bytes = ledger_bytes(&b.limits, NULL);
	ledger_open(&b.ledger, must_aligned(4096, bytes), &b.limits, NULL, NULL);
	cr_assert_eq(name_add(&b.ledger, "cpu", 3, &name), 0);
	b.ledger.names[RESOURCE_CPU] =
		(struct name_row){ .offset = name.offset, .bytes = name.bytes, .kind = NAME_RESOURCE };
	b.f = frontend_new(&config, &b.w.env, b.m);
	core_up();
}

static void end(void)
{
	frontend_free(b.f);
	model_free(b.m);
	world_free(&b.w);
	free(b.ledger.ledger);
}

TestSuite(past_loop, .init = begin, .fini = end);

static struct http_call *call_of(const char *method, const char *part)
{
	for (struct http_call *c = b.w.calls; c; c = c->next)
		if (c->open && strcmp(c->method, method) == 0 && strstr(c->path, part))
			return c;
	return NULL;
}

/* All kinds are listed, and there is nothing but the queues a and b. */
static void lists(void)
{
	struct http_call *c;
	size_t n = 0;

	while (frontend_poll(b.f), (c = call_of("GET", "?limit")) != NULL) {
		cr_assert_lt(n++, 100);
		world_answer(c, 200,
		             strstr(c->path, "metadata.name%3Dq")
		                 ? "{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[{\"metadata\":{"
		                   "\"name\":\"q\",\"namespace\":\"sys\",\"uid\":\"u\",\"resourceVersion\":"
		                   "\"3\"},\"data\":{\"queues.yaml\":\"[{name: a}, {name: b}]\"}}]}"
		                 : "{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[]}");
	}
}

static void answer_past(int64_t value)
{
	char text[400];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"data\":{\"format\":\"1\",\"unixSeconds\":"
		"\"%llu\",\"halfLifeSeconds\":\"1000\",\"queues\":\"{\\\"a\\\":{\\\"cpu\\\":\\\"%lld\\\"}}"
		"\"}}",
		(unsigned long long)WALL_S, (long long)value);
	cr_assert(call_of("GET", ONE));
	world_answer(call_of("GET", ONE), 200, text);
	frontend_poll(b.f);
}

static void pass(uint64_t seconds)
{
	b.w.now_ns += seconds * SECOND;
	frontend_poll(b.f);
}

static struct http_call *written(const char *value)
{
	struct http_call *c = call_of("PUT", ONE);

	cr_assert(c);
	cr_assert(strstr(c->body, value), "%s", c->body);
	return c;
}

Test(past_loop, is_read_beside_the_lists_and_sent_before_synced)
{
	frontend_poll(b.f);
	cr_assert(call_of("GET", ONE), "while the lists are not in");
	lists();
	cr_assert_str_eq(b.seen, "", "%s", b.seen);
	answer_past(42);
	cr_assert_str_eq(b.seen, "past 42 at 0 synced ");
	cr_assert_eq(b.observed, 0);
}

Test(past_loop, is_written_every_five_minutes_and_at_the_end)
{
	lists();
	answer_past(42);
	row_set(50);
	pass(299);
	cr_assert_null(call_of("PUT", ONE));
	pass(1);
	world_answer(written("\\\"cpu\\\":\\\"50\\\""), 200,
	             "{\"metadata\":{\"resourceVersion\":\"8\"}}");
	row_set(60);
	pass(299);
	cr_assert_null(call_of("PUT", ONE));
	pass(1);
	world_answer(written("\\\"60\\\""), 200, "{\"metadata\":{\"resourceVersion\":\"9\"}}");
	cr_assert(frontend_idle(b.f));
	row_set(70);
	frontend_stop(b.f);
	cr_assert(!frontend_idle(b.f));
	frontend_poll(b.f);
	cr_assert(strstr(written("\\\"70\\\"")->body, "\"resourceVersion\":\"9\""));
	world_answer(written("\\\"70\\\""), 200, "{}");
	cr_assert(frontend_idle(b.f));
}

Test(past_loop, a_new_core_gets_what_the_old_one_had)
{
	lists();
	answer_past(42);
	row_set(50);
	pass(20);
	frontend_core_down(b.f);
	row_set(0); /* another core's */
	core_up();
	frontend_poll(b.f);
	cr_assert_str_eq(b.seen, "past 50 at 21 synced ");
}

/* Its rows may not have yet what it was sent. */
Test(past_loop, a_core_that_dies_at_once_leaves_the_copy_of_before)
{
	lists();
	answer_past(42);
	row_set(0);
	pass(5);
	frontend_core_down(b.f);
	core_up();
	frontend_poll(b.f);
	cr_assert_str_eq(b.seen, "past 42 at 0 synced ");
	frontend_core_down(b.f);
	cr_assert_eq(b.observed, 0);
	frontend_stop(b.f);
	frontend_poll(b.f);
	written("\\\"cpu\\\":\\\"42\\\"");
}

Test(past_loop, without_an_answer_it_begins_after_ten_seconds)
{
	lists();
	for (int i = 0; i < 30 && !strstr(b.seen, "synced"); i++) {
		if (call_of("GET", ONE))
			world_fail(call_of("GET", ONE), HTTP_BROKEN);
		pass(1);
	}
	cr_assert_str_eq(b.seen, "synced ");
	cr_assert_leq(b.w.now_ns, 12 * SECOND);
}
