/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile frontend: the records of a small cluster, changed, dropped, duplicated and moved, fed
 * to a core, in one run of four through the ring.  The core accepts exactly the records that are
 * valid by a second implementation of ipc/abi.h (support_layout.h) and consistent with those before
 * (support_told.h); its sums agree, its commands are valid, and it serves the next frontend, whose
 * records are correct, as a new core does.
 *
 * An input is a script: how the core is answered, then edits (support_edit.h).  The core lives for
 * 64 runs. */
#include "core/step/core.h"
#include "core/shm/records.h"
#include "ipc/ring.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/support_edit.h"
#include "tests/fuzz/support_layout.h"
#include "tests/fuzz/support_script.h"
#include "tests/fuzz/support_told.h"

#define RING_BYTES (UINT64_C(1) << 18)
#define ROUNDS_MOST 200 /* of planning, in one go */
#define BINDS_MOST 256
#define EPOCH_FIRST (UINT64_C(1) << 20) /* edits may go back from it */

/* The bits of the first byte. */
enum { ANSWER_BITS = 3, SCARCE = 4, LATE = 8, EARLY_PLANS = 16, CARRY = 32, RING_BITS = 64 | 128 };

/* Several edits at a time. */
static size_t change(struct random *r, uint8_t *data, size_t bytes, size_t cap)
{
	size_t changed = 0;

	for (uint32_t i = random_below(r, 32); i < 32; i++) {
		changed = script_change(r, data, bytes, cap, 1, EDIT_BYTES);
		bytes = changed > 0 ? changed : bytes;
	}
	return changed;
}

static struct world {
	struct core *core;
	struct ledger *ledger;
	uint64_t epoch, time_ns;
	struct edited records;
	struct told told;
	unsigned emitted;
	bool scarce; /* every third command does not fit into the ring */
	struct cmd_bind binds[BINDS_MOST];
	size_t binds_n;
} world;

static void world_close(void);

const struct fuzzer fuzzer = { .name = "records",
	                           .bytes_max = 1 + EDITS_MOST * EDIT_BYTES,
	                           .change = change,
	                           .fresh = world_close };

static void check_reason(const struct reason *r)
{
	if (r->why >= WAIT_REASONS || r->counts_n > FILTER_COUNTS_MAX ||
	    r->shortfalls_n > SHORTFALLS_MAX || r->lacks_n > DEVICE_LACKS_MAX)
		fuzz_found("reason %u with %u counts and %u shortfalls", r->why, r->counts_n,
		           r->shortfalls_n);
	for (uint32_t i = 0; i < r->counts_n; i++)
		if (r->counts[i].why >= FILTER_REASONS)
			fuzz_found("a count of %u", r->counts[i].why);
}

static void check_bind(const struct cmd_bind *b)
{
	const struct limits *l = &stream_limits;

	if (b->pod >= l->pods || b->node >= l->nodes || b->pod_generation == 0 ||
	    b->node_generation == 0 || (b->gang != ID_NONE && b->gang >= l->gangs))
		fuzz_found("pod %u on node %u for gang %u", b->pod, b->node, b->gang);
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct world *w = context;

	if (w->scarce && ++w->emitted % 3 == 0)
		return false;
	if (record_is_bind(kind) && bytes == sizeof(struct cmd_bind)) {
		check_bind(body);
		if (w->binds_n < BINDS_MOST)
			w->binds[w->binds_n++] = *(const struct cmd_bind *)body;
	} else if (kind == CMD_REASON && bytes == sizeof(struct cmd_reason)) {
		check_reason(&((const struct cmd_reason *)body)->reason);
	} else if (kind == CMD_ASSUME && bytes == sizeof(struct cmd_assume)) {
		check_reason(&((const struct cmd_assume *)body)->reason);
	} else if (kind == CMD_DEVICES && bytes >= sizeof(struct cmd_devices)) {
		const struct cmd_devices *d = body;

		if (d->pod >= STREAM_PODS || d->node >= STREAM_NODES || d->picks_n > DEVICE_PICKS_MAX ||
		    bytes != sizeof(*d) + d->picks_n * sizeof(struct device_pick))
			fuzz_found("devices of pod %u on node %u", d->pod, d->node);
	} else if (kind != CMD_GANG || bytes != sizeof(struct cmd_gang)) {
		fuzz_found("command %u of %u bytes", kind, bytes);
	}
	return true;
}

/* What the core's own reading finds wrong with a record of ids: what is dropped, and results. */
static const char *id_says(const struct record *r, const struct limits *l)
{
	const struct event_drop *drop;
	const struct result *result;
	const struct evict_result *evicted;

	switch (r->kind) {
	case EVENT_NODE_DROP:
		return record_drop(r, l->nodes, &drop);
	case EVENT_SHAPE_DROP:
		return record_drop(r, l->shapes, &drop);
	case EVENT_GANG_DROP:
		return record_drop(r, l->gangs, &drop);
	case EVENT_NAMESPACE_DROP:
		return record_drop(r, UINT32_MAX, &drop);
	case EVENT_POD_DROP:
		return record_drop(r, l->pods, &drop);
	case EVENT_QUESTION_DROP:
		return record_drop(r, QUESTIONS_MAX, &drop);
	case RESULT_BOUND:
	case RESULT_REFUSED:
	case RESULT_UNKNOWN:
		return record_result(r, l, &result);
	case RESULT_EVICT_SENT:
	case RESULT_EVICT_REFUSED:
	case RESULT_EVICT_NOT_SENT:
		return record_evicted(r, l, &evicted);
	default:
		return NULL;
	}
}

/* ... with any record alone. */
static const char *core_says(const struct record *r)
{
	const struct limits *l = &stream_limits;
	union {
		struct name_record name;
		struct node_record node;
		struct shape_record shape;
		struct gang_record gang;
		struct namespace_record namespace;
		struct pod_record pod;
		struct assume_record assume;
		struct budget_record budget;
		struct queue_record queue;
		const struct event_queue_terms *queue_terms;
		struct queue_past_record queue_past;
		const struct event_preemption *preemption;
		const struct event_pod_facts *facts;
		struct answer_record answer;
		const struct event_promised *promised;
		struct node_devices_record node_devices;
		struct question_record question;
		struct match_record match;
	} out;
	const char *fault = record_check(r);

	if (fault != NULL)
		return fault;
	switch (r->kind) {
	case EVENT_NAME:
		return record_name(r, l, &out.name);
	case EVENT_NODE:
		return record_node(r, l, &out.node);
	case EVENT_SHAPE:
		return record_shape(r, l, &out.shape);
	case EVENT_GANG:
		return record_gang(r, l, &out.gang);
	case EVENT_NAMESPACE:
		return record_namespace(r, &out.namespace);
	case EVENT_POD:
		return record_pod(r, l, &out.pod);
	case EVENT_PREEMPTION:
		return record_preemption(r, &out.preemption);
	case EVENT_BUDGET:
		return record_budget(r, &out.budget);
	case EVENT_POD_FACTS:
		return record_pod_facts(r, l, &out.facts);
	case EVENT_QUEUE:
		return record_queue(r, l, &out.queue);
	case EVENT_QUEUE_TERMS:
		return record_queue_terms(r, &out.queue_terms);
	case EVENT_QUEUE_PAST:
		return record_queue_past(r, l, &out.queue_past);
	case EVENT_ASSUME:
		return record_assume(r, l, &out.assume);
	case EVENT_PROMISED:
		return record_promised(r, l, &out.promised);
	case EVENT_NODE_DEVICES:
		return record_node_devices(r, l, &out.node_devices);
	case EVENT_QUESTION:
		return record_question(r, &out.question);
	case EVENT_MATCH:
		return record_match(r, l, &out.match);
	case EVENT_ANSWER:
		return record_answer(r, l, &out.answer);
	default:
		return id_says(r, l);
	}
}

/* Both implementations check every record, and its consistency with those before. */
static int step(struct world *w, struct record *r)
{
	const char *unsound = layout_fault(r), *says = core_says(r), *wrong;
	int rc;

	if ((unsound == NULL) != (says == NULL))
		fuzz_found("a record of kind %u is \"%s\" by ipc/abi.h and \"%s\" by the core", r->kind,
		           unsound ? unsound : "sound", says ? says : "sound");
	wrong = unsound ? unsound : told_fault(&w->told, r);
	rc = core_step(w->core, r);
	if (rc != 0 && rc != -EPROTO && rc != -ENOSPC)
		fuzz_found("record %u: %d", r->kind, rc);
	if (rc == 0 && wrong != NULL)
		fuzz_found("a record of kind %u is taken: %s", r->kind, wrong);
	if (rc == -EPROTO && wrong == NULL)
		fuzz_found("a record of kind %u is refused: %s", r->kind, core_fault(w->core));
	if (rc == -EPROTO && *core_fault(w->core) == '\0')
		fuzz_found("record %u is refused without a word", r->kind);
	if (rc == 0)
		told_add(&w->told, r);
	w->time_ns = r->time_ns;
	return rc;
}

static void plan(struct world *w)
{
	for (unsigned i = 0; i < ROUNDS_MOST && core_wants_plan(w->core); i++) {
		struct record r = {
			.bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = w->epoch, .time_ns = w->time_ns
		};

		if (core_step(w->core, &r) < 0)
			fuzz_found("no plan: %s", core_fault(w->core));
	}
}

/* The result of each binding that the core commanded, by `how`: 0 not, 1 bound, 2 refused, 3
 * unknown. */
static void answer(struct world *w, unsigned how)
{
	static const enum record_kind kinds[] = { RECORD_PAD, RESULT_BOUND, RESULT_REFUSED,
		                                      RESULT_UNKNOWN };
	size_t n = w->binds_n;

	w->binds_n = 0;
	for (size_t i = 0; how > 0 && i < n; i++) {
		struct {
			struct record head;
			struct result result;
		} a = { .head = { .bytes = sizeof(a),
			              .kind = (uint16_t)kinds[how],
			              .epoch = w->epoch,
			              .time_ns = w->time_ns },
			    .result = { .pod = w->binds[i].pod,
			                .generation = w->binds[i].pod_generation,
			                .node = w->binds[i].node,
			                .attempt = w->binds[i].attempt } };

		if (step(w, &a.head) < 0)
			fuzz_found("an answer is refused: %s", core_fault(w->core));
	}
}

static void number(const struct world *w, struct item *it, uint64_t sequence)
{
	bool none = it->raw && it->r->epoch == EDIT_EPOCH_0;

	it->r->epoch = none ? 0 : w->epoch + (it->raw ? it->r->epoch : 0);
	it->r->sequence = sequence + (it->raw ? it->r->sequence : 0);
}

/* Into a ring as it would lie in the segment; how many bytes. */
static uint64_t ring_fill(struct world *w, unsigned char *data)
{
	uint64_t at = 0, sequence = 0;

	for (size_t i = 0; i < w->records.n; i++) {
		struct item *it = &w->records.items[i];
		uint32_t bytes = it->raw ? (uint32_t)sizeof(*it->r) : it->r->bytes;

		if (at + bytes > RING_BYTES)
			break;
		number(w, it, ++sequence);
		memcpy(data + at, it->r, bytes);
		at += bytes;
	}
	return at;
}

/* The daemon ends at the first refusal; that a refusal changes nothing shows if it continues. */
static bool take(struct world *w, struct record *r, unsigned how, unsigned n)
{
	bool good = step(w, r) == 0;

	if ((how & EARLY_PLANS) && n % 8 == 0)
		plan(w);
	return good;
}

/* The reading half of core/daemon/loop.c.  False when the peer was found out. */
static bool take_from_ring(struct world *w, unsigned how)
{
	static _Alignas(8) unsigned char cap[RECORD_BYTES_MAX];
	static unsigned char *data;
	struct record *r = (struct record *)(void *)cap;
	_Atomic uint64_t tail = 0, head = 0;
	struct ring_reader reader;
	bool good = true;
	unsigned n = 0;
	int rc;

	if (data == NULL)
		data = aligned_alloc(CACHE_LINE, RING_BYTES);
	if (data == NULL)
		fuzz_found("memory was short");
	ring_reader_init(&reader, data, RING_BYTES, &tail, &head, w->epoch);
	tail = ring_fill(w, data) + w->records.tail_add;
	while ((rc = ring_read(&reader, r)) > 0)
		good = take(w, r, how, ++n) && good;
	return good && rc == 0;
}

/* Each in an allocation of its very size, and what a ring would not let through as well. */
static bool take_all(struct world *w, unsigned how)
{
	bool good = true;

	if ((how & RING_BITS) == RING_BITS)
		return take_from_ring(w, how);
	for (size_t i = 0; i < w->records.n; i++) {
		struct item *it = &w->records.items[i];

		number(w, it, i + 1);
		/* A length that lies is refused at once, or it is not for the core to see. */
		if (!it->raw || it->r->bytes < sizeof(*it->r) || it->r->bytes > RECORD_BYTES_MAX ||
		    it->r->bytes % 8 != 0 || it->r->bytes == sizeof(*it->r))
			good = take(w, it->r, how, (unsigned)i + 1) && good;
	}
	return good;
}

static void check_valid(const struct world *w, const char *when)
{
	char why[400] = "";

	if (!core_valid(w->core, why, sizeof(why)))
		fuzz_found("%s: %s", when, why);
}

/* Never 0, which is none: an edited EVENT_BEGIN may have had the last number before it. */
static uint64_t next_epoch(struct world *w)
{
	w->epoch += w->epoch == UINT64_MAX ? 2 : 1;
	return w->epoch;
}

static void epoch_begin(struct world *w)
{
	edited_begin(&w->records);
	w->binds_n = 0;
	w->emitted = 0;
	next_epoch(w);
}

/* A cluster with nothing in it: bindings that were in flight are carried no longer. */
static void tell_nothing(struct world *w)
{
	struct record r = {
		.bytes = sizeof(r), .kind = EVENT_BEGIN, .epoch = next_epoch(w), .time_ns = STREAM_TIME_NS
	};

	w->binds_n = 0;
	if (step(w, &r) < 0)
		fuzz_found("nothing is refused: %s", core_fault(w->core));
	r.kind = EVENT_SYNCED;
	if (step(w, &r) < 0)
		fuzz_found("nothing is refused: %s", core_fault(w->core));
	plan(w);
	check_valid(w, "after nothing");
}

/* Unchanged: every record is accepted, and `said` has the commands of the core. */
static void tell_truth(struct world *w, char *said, size_t cap)
{
	size_t n = 0;

	epoch_begin(w);
	w->scarce = false;
	if (!take_all(w, 0))
		fuzz_found("the truth is refused: %s", core_fault(w->core));
	plan(w);
	check_valid(w, "after the truth");
	*said = '\0';
	for (size_t i = 0; i < w->binds_n && n < cap; i++)
		n += (size_t)snprintf(said + n, cap - n, "%u:%u ", w->binds[i].pod, w->binds[i].node);
}

static void world_open(struct world *w)
{
	struct core_config config = { .limits = stream_limits,
		                          .reserve_after_ns = UINT64_C(5000000000),
		                          .emit = emit,
		                          .context = w };
	struct record early = { .bytes = sizeof(early), .kind = EVENT_TICK, .time_ns = STREAM_TIME_NS };
	const char *what = "";
	uint64_t bytes = core_ledger_bytes(&stream_limits, &what);

	*w = (struct world){ .epoch = EPOCH_FIRST,
		                 .ledger = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE *
		                                                         CACHE_LINE) };
	if (bytes == 0 || w->ledger == NULL)
		fuzz_found("no ledger: %s", what);
	memset(w->ledger, 0, bytes);
	w->core = core_new(&config, w->ledger);
	if (w->core == NULL)
		fuzz_found("memory was short");
	if (step(w, &early) == 0)
		fuzz_found("a tick is taken before there is an epoch");
}

static void world_close(void)
{
	edited_end(&world.records);
	core_free(world.core);
	free(world.ledger);
	world.core = NULL;
	world.ledger = NULL;
}

/* The commands to the next frontend equal those of a new core.  Bindings that were in flight come
 * first and keep their nodes, so that the order differs then. */
static void tell_next(struct world *w, const char *expected, bool carried)
{
	static char said[4096];

	tell_truth(w, said, sizeof(said));
	if (!carried && strcmp(said, expected) != 0)
		fuzz_found("the next frontend gets %s\ninstead of %s", said, expected);
	tell_nothing(w);
}

static bool one_of_eight(const uint8_t *data, size_t bytes)
{
	unsigned sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum += data[i];
	return sum % 8 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char expected[4096];
	unsigned how = bytes > 0 ? data[0] : 0;
	struct world *w = &world;

	if (w->core == NULL)
		world_open(w);
	if (*expected == '\0') {
		tell_truth(w, expected, sizeof(expected));
		tell_nothing(w);
	}
	epoch_begin(w);
	w->scarce = how & SCARCE;
	if (bytes > 1)
		edited_change(&w->records, data + 1, bytes - 1);
	take_all(w, how);
	w->epoch = w->told.epoch; /* an EVENT_BEGIN may have had another one */
	check_valid(w, "after the records");
	for (int i = 0; i < 2; i++) {
		plan(w);
		answer(w, how & ANSWER_BITS);
		if (how & LATE)
			w->time_ns += UINT64_C(20000000000);
	}
	check_valid(w, "after the answers");
	if (!(how & CARRY))
		tell_nothing(w);
	if ((how & CARRY) || one_of_eight(data, bytes))
		tell_next(w, expected, how & CARRY);
	return 0;
}
