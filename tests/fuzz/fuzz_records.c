/* A frontend gone mad, or worse: the records of a small cluster, changed, dropped, doubled and moved, through
 * the ring and into a core.  Whatever it was told, its sums agree, its commands are sound, and it serves the
 * next frontend, which says the truth, as if nothing had been.
 *
 * An input is a script: how the core is answered, then edits of eight bytes {what, which record, where, value}. */
#include "core/core.h"
#include "ipc/ring.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/support_script.h"
#include "tests/fuzz/support_stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EDIT_BYTES  8
#define EDITS_MOST  24
#define RING_BYTES  (UINT64_C(1) << 18)
#define ROUNDS_MOST 200 /* of planning, in one go */
#define BINDS_MOST  256
#define WORDS_MOST  512 /* of a record that is made longer */

static size_t change(struct random *r, uint8_t *data, size_t bytes, size_t room)
{
	return script_change(r, data, bytes, room, 1, EDIT_BYTES);
}

const struct fuzzer fuzzer = { .name = "records", .bytes_max = 1 + EDITS_MOST * EDIT_BYTES, .change = change };

struct edit {
	uint8_t what, record;
	uint16_t at;
	uint32_t value;
};

enum { EDIT_WORD, EDIT_EXTREME, EDIT_BIT, EDIT_ADD, EDIT_LONG, EDIT_DROP, EDIT_DOUBLE, EDIT_SWAP, EDIT_LENGTH, EDIT_MIX, EDIT_NEW,
       EDIT_HEADER, EDIT_BEGIN, EDIT_TIME, EDIT_TAIL, EDITS };

struct item {
	struct record *r; /* our own copy */
	bool raw;         /* its header stays as it is: epoch and sequence too */
};

/* The bits of the first byte. */
enum { ANSWER_BITS = 3, SCARCE = 4, LATE = 8, EARLY_PLANS = 16, CARRY = 32 };

struct world {
	struct core *core;
	struct ledger *ledger;
	uint64_t epoch, time_ns;
	struct item items[STREAM_RECORDS + EDITS_MOST];
	size_t n;
	uint64_t tail_add; /* what the tail lies */
	unsigned emitted;
	bool scarce; /* every third command finds no room */
	struct cmd_bind binds[BINDS_MOST];
	size_t binds_n;
};

/* ---- commands ------------------------------------------------------------------------- */

static void check_reason(const struct reason *r)
{
	if (r->why >= WHY_KINDS || r->counts_n > WHY_COUNTS_MAX || r->shortfalls_n > SHORTFALLS_MAX)
		fuzz_found("reason %u with %u counts and %u shortfalls", r->why, r->counts_n, r->shortfalls_n);
	for (uint32_t i = 0; i < r->counts_n; i++)
		if (r->counts[i].why >= NODE_WHY_KINDS)
			fuzz_found("a count of %u", r->counts[i].why);
}

static void check_bind(const struct cmd_bind *b)
{
	const struct limits *l = &stream_limits;

	if (b->pod >= l->pods || b->node >= l->nodes || b->pod_generation == 0 || b->node_generation == 0 ||
	    (b->gang != ID_NONE && b->gang >= l->gangs))
		fuzz_found("pod %u on node %u for gang %u", b->pod, b->node, b->gang);
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct world *w = context;

	if (w->scarce && ++w->emitted % 3 == 0)
		return false;
	if (kind == CMD_BIND && bytes == sizeof(struct cmd_bind)) {
		check_bind(body);
		if (w->binds_n < BINDS_MOST)
			w->binds[w->binds_n++] = *(const struct cmd_bind *)body;
	} else if (kind == CMD_REASON && bytes == sizeof(struct cmd_reason)) {
		check_reason(&((const struct cmd_reason *)body)->reason);
	} else if (kind == CMD_CLAIM && bytes == sizeof(struct cmd_claim)) {
		check_reason(&((const struct cmd_claim *)body)->reason);
	} else if (kind != CMD_GANG || bytes != sizeof(struct cmd_gang)) {
		fuzz_found("command %u of %u bytes", kind, bytes);
	}
	return true;
}

/* ---- edits ---------------------------------------------------------------------------------- */

static struct record *record_copy(const struct record *r, uint32_t room)
{
	struct record *copy = calloc(1, room > r->bytes ? room : r->bytes);

	if (copy == NULL)
		fuzz_found("memory was short");
	memcpy(copy, r, r->bytes);
	return copy;
}

static void item_insert(struct world *w, size_t at, struct record *r)
{
	at = at < w->n ? at : w->n;
	memmove(w->items + at + 1, w->items + at, (w->n - at) * sizeof(w->items[0]));
	w->items[at] = (struct item){ .r = r };
	w->n++;
}

static void item_drop(struct world *w, size_t at)
{
	free(w->items[at].r);
	memmove(w->items + at, w->items + at + 1, (w->n - at - 1) * sizeof(w->items[0]));
	w->n--;
}

/* The place of an edit in the body, 4 bytes of it; NULL when there is none. */
static unsigned char *place(const struct edit *e, struct record *r)
{
	uint32_t words = (r->bytes - (uint32_t)sizeof(*r)) / 4;

	return words > 0 ? (unsigned char *)(r + 1) + 4 * (e->at % words) : NULL;
}

static void word_edit(const struct edit *e, struct record *r)
{
	static const uint32_t extremes[] = { 0, 1, UINT32_MAX, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX - 7, 15, 16, 47, 48, 63, 64, 65536 };
	unsigned char *at = place(e, r);
	uint32_t word;

	if (at == NULL)
		return;
	memcpy(&word, at, sizeof(word));
	if (e->what % EDITS == EDIT_WORD)
		word = e->value;
	else if (e->what % EDITS == EDIT_EXTREME)
		word = extremes[e->value % (sizeof(extremes) / sizeof(extremes[0]))];
	else if (e->what % EDITS == EDIT_BIT)
		word ^= UINT32_C(1) << e->value % 32;
	else
		word += (uint32_t)(int8_t)(uint8_t)e->value;
	memcpy(at, &word, sizeof(word));
}

static void long_edit(const struct edit *e, struct record *r)
{
	static const int64_t extremes[] = { 0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1, INT64_MAX - 1, INT64_C(1) << 32 };
	uint32_t longs = (r->bytes - (uint32_t)sizeof(*r)) / 8;

	if (longs > 0)
		memcpy((unsigned char *)(r + 1) + 8 * (size_t)(e->at % longs), &extremes[e->value % 8], 8);
}

static void header_edit(const struct edit *e, struct item *it)
{
	it->raw = true;
	switch (e->at % 5) {
	case 0:
		it->r->kind = (uint16_t)(e->value % (RECORD_KINDS + 1));
		it->raw = false;
		break;
	case 1:
		it->r->flags = (uint16_t)e->value;
		break;
	case 2:
		it->r->epoch += (int8_t)e->value;
		break;
	case 3:
		it->r->sequence += (int8_t)e->value;
		break;
	default:
		it->r->bytes = e->value;
	}
}

/* A record that no list has. */
static struct record *record_new(const struct edit *e)
{
	static const enum record_kind kinds[] = { RESULT_BOUND, RESULT_REFUSED, RESULT_UNKNOWN, EVENT_NODE_DROP, EVENT_SHAPE_DROP,
		                                  EVENT_GANG_DROP, EVENT_NAMESPACE_DROP, EVENT_POD_DROP, EVENT_CLAIM };
	enum record_kind kind = kinds[e->at % (sizeof(kinds) / sizeof(kinds[0]))];
	struct {
		struct record head;
		uint32_t words[8];
	} made = { .head = { .kind = (uint16_t)kind, .time_ns = UINT64_C(1000000000) } };
	uint32_t words = kind == EVENT_CLAIM ? 8 : kind <= EVENT_CLAIM ? 2 : 6;

	made.words[0] = e->value % 64;
	made.words[1] = e->value >> 6 & 3;
	if (kind == EVENT_CLAIM) {
		made.words[3] = 1; /* one word of nodes: the last two */
		made.words[4] = e->value >> 8 & 0xffff;
		made.words[6] = e->value >> 8;
	} else {
		made.words[2] = e->value >> 8 & 15;
		made.words[3] = e->value >> 12 & 3;
	}
	made.head.bytes = (uint32_t)sizeof(made.head) + 4 * words;
	return record_copy(&made.head, 0);
}

static void length_edit(const struct edit *e, struct item *it)
{
	uint32_t bytes = (uint32_t)sizeof(struct record) + 8 * (e->value % WORDS_MOST);
	struct record *r = record_copy(it->r, bytes);

	r->bytes = bytes;
	free(it->r);
	it->r = r;
}

/* A piece of another record at the same place. */
static void mix(struct world *w, const struct edit *e, struct record *r)
{
	const struct record *from = w->items[e->value % w->n].r;
	uint32_t most = (from->bytes < r->bytes ? from->bytes : r->bytes) - (uint32_t)sizeof(*r), at, n;

	if (most == 0)
		return;
	at = e->at % most;
	n = 1 + (e->value >> 16) % 64;
	n = n < most - at ? n : most - at;
	memmove((unsigned char *)(r + 1) + at, (const unsigned char *)(from + 1) + at, n);
}

static void edit(struct world *w, const struct edit *e)
{
	size_t i = w->n > 0 ? e->record % w->n : 0, other = w->n > 0 ? e->value % w->n : 0;
	struct item swapped;

	/* A length that is no length: what lies behind it is not to be looked at. */
	if (w->n == 0 || (w->items[i].raw && e->what % EDITS != EDIT_DROP) || w->items[other].raw)
		return;
	switch (e->what % EDITS) {
	case EDIT_LONG:
		long_edit(e, w->items[i].r);
		break;
	case EDIT_DROP:
		item_drop(w, i);
		break;
	case EDIT_DOUBLE:
		item_insert(w, other, record_copy(w->items[i].r, 0));
		break;
	case EDIT_SWAP:
		swapped = w->items[i];
		w->items[i] = w->items[other];
		w->items[other] = swapped;
		break;
	case EDIT_LENGTH:
		length_edit(e, &w->items[i]);
		break;
	case EDIT_MIX:
		mix(w, e, w->items[i].r);
		break;
	case EDIT_NEW:
		item_insert(w, e->record, record_new(e));
		break;
	case EDIT_HEADER:
		header_edit(e, &w->items[i]);
		break;
	case EDIT_BEGIN:
		if (!w->items[0].raw)
			item_insert(w, i, record_copy(w->items[0].r, 0));
		break;
	case EDIT_TIME:
		w->items[i].r->time_ns += (uint64_t)e->value << e->at % 33;
		break;
	case EDIT_TAIL:
		w->tail_add = (uint64_t)e->value << e->at % 40;
		break;
	default:
		word_edit(e, w->items[i].r);
	}
}

/* ---- an epoch ----------------------------------------------------------------------------- */

static int step(struct world *w, struct record *r)
{
	int rc = core_step(w->core, r);

	if (rc != 0 && rc != -EPROTO && rc != -ENOSPC)
		fuzz_found("record %u: %d", r->kind, rc);
	if (rc == -EPROTO && *core_fault(w->core) == '\0')
		fuzz_found("record %u is refused without a word", r->kind);
	w->time_ns = r->time_ns;
	return rc;
}

static void plan(struct world *w)
{
	for (unsigned i = 0; i < ROUNDS_MOST && core_wants_plan(w->core); i++) {
		struct record r = { .bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = w->epoch, .time_ns = w->time_ns };

		if (step(w, &r) < 0)
			fuzz_found("no plan: %s", core_fault(w->core));
	}
}

/* Each binding that the core asked for, by `how`: 0 not, 1 bound, 2 refused, 3 unknown. */
static void answer(struct world *w, unsigned how)
{
	static const enum record_kind kinds[] = { RECORD_PAD, RESULT_BOUND, RESULT_REFUSED, RESULT_UNKNOWN };
	size_t n = w->binds_n;

	w->binds_n = 0;
	for (size_t i = 0; how > 0 && i < n; i++) {
		struct {
			struct record head;
			struct result result;
		} a = { .head = { .bytes = sizeof(a), .kind = (uint16_t)kinds[how], .epoch = w->epoch, .time_ns = w->time_ns },
			.result = { .pod = w->binds[i].pod, .generation = w->binds[i].pod_generation, .node = w->binds[i].node,
			            .attempt = w->binds[i].attempt } };

		if (step(w, &a.head) < 0)
			fuzz_found("an answer is refused: %s", core_fault(w->core));
	}
}

/* Into a ring as it would lie in the segment; how many bytes. */
static uint64_t ring_fill(struct world *w, unsigned char *data)
{
	uint64_t at = 0, sequence = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct record *r = w->items[i].r;
		uint32_t bytes = w->items[i].raw ? (uint32_t)sizeof(*r) : r->bytes;

		if (at + bytes > RING_BYTES)
			break;
		r->epoch = w->epoch + (w->items[i].raw ? r->epoch : 0);
		r->sequence = ++sequence + (w->items[i].raw ? r->sequence : 0);
		memcpy(data + at, r, bytes);
		at += bytes;
	}
	return at;
}

/* The reading half of core/loop.c.  False when the peer was found out. */
static bool take_all(struct world *w, unsigned char *data, unsigned how)
{
	static _Alignas(8) unsigned char room[RECORD_BYTES_MAX];
	struct record *r = (struct record *)(void *)room;
	_Atomic uint64_t tail = 0, head = 0;
	struct ring_reader reader;
	bool good = true;
	unsigned n = 0;
	int rc;

	ring_reader_init(&reader, data, RING_BYTES, &tail, &head, w->epoch);
	tail = ring_fill(w, data) + w->tail_add;
	while ((rc = ring_read(&reader, r)) > 0) {
		/* In the program the first refusal is the end; that it changes nothing shows when it goes on. */
		good = step(w, r) == 0 && good;
		if ((how & EARLY_PLANS) && ++n % 8 == 0)
			plan(w);
	}
	return good && rc == 0;
}

static void check_valid(const struct world *w, const char *when)
{
	char why[400] = "";

	if (!core_valid(w->core, why, sizeof(why)))
		fuzz_found("%s: %s", when, why);
}

static void items_reset(struct world *w)
{
	const struct stream *s = stream_get();

	while (w->n > 0)
		free(w->items[--w->n].r);
	for (size_t i = 0; i < s->n; i++)
		w->items[w->n++] = (struct item){ .r = record_copy(s->at[i], 0) };
	w->tail_add = 0;
	w->binds_n = 0;
	w->emitted = 0;
	w->epoch++;
}

/* A cluster with nothing in it: bindings that were in flight are carried no longer. */
static void tell_nothing(struct world *w, unsigned char *data)
{
	items_reset(w);
	for (size_t i = w->n; i-- > 0;)
		if (w->items[i].r->kind != EVENT_BEGIN && w->items[i].r->kind != EVENT_SYNCED)
			item_drop(w, i);
	if (!take_all(w, data, 0))
		fuzz_found("nothing is refused: %s", core_fault(w->core));
	plan(w);
	check_valid(w, "after nothing");
}

/* All as it is: every record is taken, and `said` is what the core would do. */
static void tell_truth(struct world *w, unsigned char *data, char *said, size_t room)
{
	size_t n = 0;

	items_reset(w);
	w->scarce = false;
	if (!take_all(w, data, 0))
		fuzz_found("the truth is refused: %s", core_fault(w->core));
	plan(w);
	check_valid(w, "after the truth");
	for (size_t i = 0; i < w->binds_n && n < room; i++)
		n += (size_t)snprintf(said + n, room - n, "%u:%u ", w->binds[i].pod, w->binds[i].node);
}

static void world_open(struct world *w)
{
	struct core_config config = { .limits = stream_limits, .hold_after_ns = UINT64_C(5000000000), .emit = emit, .context = w };
	const char *what = "";
	uint64_t bytes = core_ledger_bytes(&stream_limits, &what);

	*w = (struct world){ .ledger = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE) };
	if (bytes == 0 || w->ledger == NULL)
		fuzz_found("no ledger: %s", what);
	memset(w->ledger, 0, bytes);
	w->core = core_new(&config, w->ledger);
	if (w->core == NULL)
		fuzz_found("memory was short");
}

static void world_close(struct world *w)
{
	while (w->n > 0)
		free(w->items[--w->n].r);
	core_free(w->core);
	free(w->ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char expected[4096], said[4096];
	static unsigned char *ring;
	unsigned how = bytes > 0 ? data[0] : 0;
	struct world w;

	if (ring == NULL)
		ring = aligned_alloc(CACHE_LINE, RING_BYTES);
	if (*expected == '\0') {
		world_open(&w);
		tell_truth(&w, ring, expected, sizeof(expected));
		world_close(&w);
	}
	world_open(&w);
	items_reset(&w);
	w.scarce = how & SCARCE;
	for (size_t at = 1; at + EDIT_BYTES <= bytes && at < fuzzer.bytes_max; at += EDIT_BYTES) {
		struct edit e;

		memcpy(&e, data + at, sizeof(e));
		edit(&w, &e);
	}
	take_all(&w, ring, how);
	check_valid(&w, "after the records");
	for (int i = 0; i < 2; i++) {
		plan(&w);
		answer(&w, how & ANSWER_BITS);
		if (how & LATE)
			w.time_ns += UINT64_C(20000000000);
	}
	check_valid(&w, "after the answers");
	if (!(how & CARRY))
		tell_nothing(&w, ring);
	*said = '\0';
	tell_truth(&w, ring, said, sizeof(said));
	/* What was in flight goes first and where it was sent: the order is another one then. */
	if (!(how & CARRY) && strcmp(said, expected) != 0)
		fuzz_found("the next frontend gets %s\ninstead of %s", said, expected);
	world_close(&w);
	return 0;
}
