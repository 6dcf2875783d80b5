/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/support_edit.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/support_layout.h"

#define WORDS_MOST 512 /* of a record that is made longer */
#define ROOM_MORE 4096
#define N(array) (sizeof(array) / sizeof((array)[0]))

struct edit {
	uint8_t what, record;
	uint16_t at;
	uint32_t value;
};

/* The bits above EDITS in `what`: whether a changed copy is appended behind all others. */
enum {
	EDIT_WORD,
	EDIT_EXTREME,
	EDIT_BIT,
	EDIT_ADD,
	EDIT_LONG,
	EDIT_DROP,
	EDIT_DOUBLE,
	EDIT_SWAP,
	EDIT_LENGTH,
	EDIT_MIX,
	EDIT_NEW,
	EDIT_HEADER,
	EDIT_BEGIN,
	EDIT_TIME,
	EDIT_TAIL,
	EDIT_FIELD,
	EDIT_FIELD_2,
	EDIT_ELEMENT,
	EDIT_COUNT,
	EDITS
};

static struct record *record_copy(const struct record *r, uint64_t cap)
{
	struct record *copy = calloc(1, cap > r->bytes ? cap : r->bytes);

	if (copy == NULL)
		fuzz_found("memory was short");
	memcpy(copy, r, r->bytes);
	return copy;
}

static void item_set(struct item *it, struct record *r)
{
	if (it->own)
		free(it->r);
	*it = (struct item){ .r = r, .own = true, .raw = it->raw };
}

/* To be changed. */
static struct record *item_own(struct item *it)
{
	if (!it->own)
		item_set(it, record_copy(it->r, 0));
	return it->r;
}

static void item_insert(struct edited *d, size_t at, struct record *r)
{
	if (d->n == N(d->items)) {
		free(r);
		return;
	}
	at = at < d->n ? at : d->n;
	memmove(d->items + at + 1, d->items + at, (d->n - at) * sizeof(d->items[0]));
	d->items[at] = (struct item){ .r = r, .own = true };
	d->n++;
}

static void item_drop(struct edited *d, size_t at)
{
	if (d->items[at].own)
		free(d->items[at].r);
	memmove(d->items + at, d->items + at + 1, (d->n - at - 1) * sizeof(d->items[0]));
	d->n--;
}

void edited_end(struct edited *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->items[i].own)
			free(d->items[i].r);
	d->n = 0;
	d->tail_add = 0;
}

void edited_begin(struct edited *d)
{
	const struct stream *s = stream_get();

	edited_end(d);
	for (size_t i = 0; i < s->n; i++) {
		s->at[i]->epoch = s->at[i]->sequence = 0;
		d->items[d->n++] = (struct item){ .r = s->at[i] };
	}
}

/* The place of an edit in the body, 4 bytes of it; NULL when there is none. */
static unsigned char *place(const struct edit *e, struct record *r)
{
	uint32_t words = (r->bytes - (uint32_t)sizeof(*r)) / 4;

	return words > 0 ? (unsigned char *)(r + 1) + 4 * (e->at % words) : NULL;
}

static void word_edit(const struct edit *e, struct record *r)
{
	static const uint32_t extremes[] = {
		0,  1,  UINT32_MAX, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX - 7, 15, 16, 47,
		48, 63, 64,         65536
	};
	unsigned char *at = place(e, r);
	uint32_t word;

	if (at == NULL)
		return;
	memcpy(&word, at, sizeof(word));
	if (e->what % EDITS == EDIT_WORD)
		word = e->value;
	else if (e->what % EDITS == EDIT_EXTREME)
		word = extremes[e->value % N(extremes)];
	else if (e->what % EDITS == EDIT_BIT)
		word ^= UINT32_C(1) << e->value % 32;
	else
		word += (uint32_t)(int8_t)(uint8_t)e->value;
	memcpy(at, &word, sizeof(word));
}

static void long_edit(const struct edit *e, struct record *r)
{
	static const int64_t extremes[] = {
		0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1, INT64_MAX - 1, INT64_C(1) << 32
	};
	uint32_t longs = (r->bytes - (uint32_t)sizeof(*r)) / 8;

	if (longs > 0)
		memcpy((unsigned char *)(r + 1) + 8 * (size_t)(e->at % longs), &extremes[e->value % 8], 8);
}

static void header_edit(const struct edit *e, struct item *it)
{
	struct record *r = item_own(it);

	it->raw = true;
	switch (e->at % 5) {
	case 0:
		r->kind = (uint16_t)(e->value % (RECORD_KINDS + 1));
		it->raw = false;
		break;
	case 1:
		r->flags = (uint16_t)e->value;
		it->raw = false;
		break;
	case 2:
		r->epoch = e->value >> 8 & 1 ? EDIT_EPOCH_0 : (uint64_t)(int8_t)e->value;
		break;
	case 3:
		r->sequence = (uint64_t)(int8_t)e->value;
		break;
	default:
		r->bytes = e->value;
	}
}

/* A record that no list has. */
static struct record *record_new(const struct edit *e)
{
	static const enum record_kind kinds[] = {
		RESULT_BOUND,    RESULT_REFUSED,       RESULT_UNKNOWN, EVENT_NODE_DROP, EVENT_SHAPE_DROP,
		EVENT_GANG_DROP, EVENT_NAMESPACE_DROP, EVENT_POD_DROP, EVENT_ASSUME
	};
	enum record_kind kind = kinds[e->at % N(kinds)];
	struct {
		struct record head;
		uint32_t words[8];
	} made = { .head = { .kind = (uint16_t)kind, .time_ns = UINT64_C(1000000000) } };
	uint32_t words = kind == EVENT_ASSUME ? 8 : kind <= EVENT_ASSUME ? 2 : 6;

	made.words[0] = e->value % 64;
	made.words[1] = e->value >> 6 & 3;
	if (kind == EVENT_ASSUME) {
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
	struct record *r = record_copy(it->r, bytes), *exact;

	r->bytes = bytes;
	exact = record_copy(r, 0);
	free(r);
	item_set(it, exact);
}

/* A piece of another record at the same place. */
static void mix(const struct edited *d, const struct edit *e, struct record *r)
{
	const struct item *other = &d->items[e->value % d->n];
	const struct record *from = other->r;
	uint32_t most = (from->bytes < r->bytes ? from->bytes : r->bytes) - (uint32_t)sizeof(*r), at, n;

	if (other->raw || most == 0)
		return;
	at = e->at % most;
	n = 1 + (e->value >> 16) % 64;
	n = n < most - at ? n : most - at;
	memmove((unsigned char *)(r + 1) + at, (const unsigned char *)(from + 1) + at, n);
}

static void span_put(unsigned char *element, const struct field *f, uint32_t n, uint32_t choice,
                     uint32_t pick)
{
	const struct span spans[] = { { 0, n },
		                          { n, 1 },
		                          { 0, n + 1 },
		                          { UINT32_MAX, 2 },
		                          { n, 0 },
		                          { pick % (n + 1), n - pick % (n + 1) },
		                          { pick % (n + 1), 1 },
		                          { n + 1, 0 } };

	memcpy(element + f->offset, &spans[choice % N(spans)], sizeof(struct span));
}

/* The ends of what it may be, what lies beyond, its neighbours, and what another element has. */
static void field_change(const struct view_of *v, const struct field *f, unsigned char *element,
                         const unsigned char *other, uint32_t choice, uint32_t pick)
{
	uint64_t low = (uint64_t)f->low, high = (uint64_t)f->high,
			 now = (uint64_t)field_get(f, element);
	const uint64_t values[] = { low,
		                        high,
		                        low - 1,
		                        high + 1,
		                        now + 1,
		                        now - 1,
		                        UINT32_MAX,
		                        low + pick % 16,
		                        (uint64_t)field_get(f, other),
		                        now ^ UINT64_C(1) << pick % 32,
		                        UINT64_MAX,
		                        (uint64_t)INT64_MIN };

	if (f->rule == RULE_SPAN)
		span_put(element, f, v->n[f->low], choice, pick);
	else
		field_put(f, element, (int64_t)values[choice % N(values)]);
}

static void text_change(unsigned char *text, uint32_t n, uint32_t choice, uint32_t pick)
{
	if (n > 0)
		text[pick % n] = (unsigned char)(choice % 2 ? 0 : 'a' + choice % 26);
}

static void field_edit(const struct edit *e, struct item *it)
{
	uint32_t choice = e->value >> 8 & 0xff, pick = e->value >> 16, group, i;
	const struct part *p;
	unsigned char *first;
	struct view_of v;

	if (!layout_open(item_own(it), &v))
		return;
	group = e->at % (v.layout->parts_n + 1);
	p = group == 0 ? &v.layout->body : &v.layout->parts[group - 1];
	first = group == 0 ? v.body : v.at[group - 1];
	if (p->text) {
		text_change(first, v.n[group - 1], choice, pick);
	} else if (p->fields_n > 0 && (group == 0 || v.n[group - 1] > 0)) {
		uint32_t n = group == 0 ? 1 : v.n[group - 1];
		const struct field *f = &p->fields[e->value % p->fields_n];

		i = e->at / (v.layout->parts_n + 1) % n;
		field_change(&v, f, first + (size_t)i * p->bytes, first + (size_t)(pick % n) * p->bytes,
		             choice, pick);
	}
}

/* Other elements in part `i`, as many as fit into a record and some more. */
static void part_put(struct item *it, const struct view_of *v, uint32_t i,
                     const unsigned char *elements, uint64_t n)
{
	const struct part *p = &v->layout->parts[i];
	uint64_t before = (uint64_t)(v->at[i] - (const unsigned char *)it->r),
			 old = PADDED((uint64_t)v->n[i] * p->bytes);
	uint64_t fresh = PADDED(n * p->bytes), bytes = it->r->bytes - old + fresh;
	uint32_t count = (uint32_t)n;
	struct record *r;

	if (bytes > RECORD_BYTES_MAX + ROOM_MORE)
		return;
	r = calloc(1, bytes);
	if (r == NULL)
		fuzz_found("memory was short");
	memcpy(r, it->r, before);
	if (n > 0)
		memcpy((unsigned char *)r + before, elements, n * p->bytes);
	memcpy((unsigned char *)r + before + fresh, (const unsigned char *)it->r + before + old,
	       it->r->bytes - before - old);
	if (!p->elements)
		memcpy((unsigned char *)(r + 1) + p->count, &count, sizeof(count));
	r->bytes = (uint32_t)bytes;
	item_set(it, r);
}

/* Many more of the last one; what has to rise does. */
static uint32_t many_more(const struct part *p, unsigned char *cap, size_t room_bytes, uint32_t n,
                          uint32_t more)
{
	for (; more > 0 && (size_t)(n + 1) * p->bytes <= room_bytes; more--, n++) {
		unsigned char *at = cap + (size_t)n * p->bytes;

		memcpy(at, at - p->bytes, p->bytes);
		for (uint32_t i = 0; i < p->fields_n; i++)
			if (p->fields[i].rule == RULE_RISES)
				field_put(&p->fields[i], at, (int64_t)((uint64_t)field_get(&p->fields[i], at) + 1));
	}
	return n;
}

enum {
	ELEMENT_DOUBLE,
	ELEMENT_DROP,
	ELEMENT_SWAP,
	ELEMENT_ZERO,
	ELEMENT_MANY,
	ELEMENT_ALL,
	ELEMENT_WAYS
};

static void element_edit(const struct edit *e, struct item *it)
{
	static unsigned char cap[2 * RECORD_BYTES_MAX], one[64];
	uint32_t i, k, n, way = e->value % ELEMENT_WAYS, bytes;
	struct view_of v;

	if (!layout_open(it->r, &v) || v.layout->parts_n == 0)
		return;
	i = e->at % v.layout->parts_n;
	bytes = v.layout->parts[i].bytes;
	n = v.n[i];
	k = n > 0 ? e->at / v.layout->parts_n % n : 0;
	memset(one, way == ELEMENT_ZERO || n == 0 ? 0 : 'x', sizeof(one));
	if (n > 0) {
		memcpy(cap, v.at[i], (size_t)n * bytes);
		if (way != ELEMENT_ZERO)
			memcpy(one, cap + (size_t)k * bytes, bytes);
	}
	if (way == ELEMENT_DROP && n > 0) {
		memmove(cap + (size_t)k * bytes, cap + (size_t)(k + 1) * bytes,
		        (size_t)(n - k - 1) * bytes);
		n--;
	} else if (way == ELEMENT_ALL) {
		n = 0;
	} else if (way == ELEMENT_SWAP && n > 0) {
		memcpy(cap + (size_t)k * bytes, v.at[i] + (size_t)((k + 1) % n) * bytes, bytes);
		memcpy(cap + (size_t)((k + 1) % n) * bytes, one, bytes);
	} else if (way == ELEMENT_MANY && n > 0) {
		n = many_more(&v.layout->parts[i], cap, sizeof(cap), n, 1u << (e->value >> 8) % 13);
	} else if (way != ELEMENT_DROP && way != ELEMENT_SWAP) {
		memcpy(cap + (size_t)n++ * bytes, one, bytes);
	}
	part_put(it, &v, i, cap, n);
}

/* A count that lies. */
static void count_edit(const struct edit *e, struct item *it)
{
	struct view_of v;
	uint32_t i, n;

	if (!layout_open(item_own(it), &v) || v.layout->parts_n == 0)
		return;
	i = e->at % v.layout->parts_n;
	n = e->value % 4 == 0   ? v.n[i] + 1
	    : e->value % 4 == 1 ? v.n[i] - 1
	    : e->value % 4 == 2 ? UINT32_MAX >> (e->value >> 8) % 32
	                        : e->value >> 8;
	if (!v.layout->parts[i].elements)
		memcpy(v.body + v.layout->parts[i].count, &n, sizeof(n));
}

static void order_edit(struct edited *d, const struct edit *e, size_t i, size_t other)
{
	struct item swapped = d->items[i];

	switch (e->what % EDITS) {
	case EDIT_DROP:
		item_drop(d, i);
		break;
	case EDIT_DOUBLE:
		item_insert(d, other, record_copy(d->items[i].r, 0));
		break;
	case EDIT_SWAP:
		d->items[i] = d->items[other];
		d->items[other] = swapped;
		break;
	case EDIT_BEGIN:
		if (!d->items[0].raw)
			item_insert(d, i, record_copy(d->items[0].r, 0));
		break;
	case EDIT_NEW:
		item_insert(d, e->at & 0x8000 ? d->n : e->record, record_new(e));
		break;
	default:
		d->tail_add = (uint64_t)e->value << e->at % 40;
	}
}

static void record_edit(struct edited *d, const struct edit *e, struct item *it)
{
	switch (e->what % EDITS) {
	case EDIT_LONG:
		long_edit(e, item_own(it));
		break;
	case EDIT_LENGTH:
		length_edit(e, it);
		break;
	case EDIT_MIX:
		mix(d, e, item_own(it));
		break;
	case EDIT_HEADER:
		header_edit(e, it);
		break;
	case EDIT_TIME:
		item_own(it)->time_ns += (uint64_t)e->value << e->at % 33;
		break;
	case EDIT_FIELD:
	case EDIT_FIELD_2:
		field_edit(e, it);
		break;
	case EDIT_ELEMENT:
		element_edit(e, it);
		break;
	case EDIT_COUNT:
		count_edit(e, it);
		break;
	default:
		word_edit(e, item_own(it));
	}
}

static bool is_order(unsigned what)
{
	return what == EDIT_DROP || what == EDIT_DOUBLE || what == EDIT_SWAP || what == EDIT_BEGIN ||
	       what == EDIT_NEW || what == EDIT_TAIL;
}

static void edit(struct edited *d, const struct edit *e)
{
	size_t i = d->n > 0 ? e->record % d->n : 0, other = d->n > 0 ? e->value % d->n : 0;
	unsigned what = e->what % EDITS;

	/* A length that is no length: what lies behind it is not to be looked at. */
	if (d->n == 0 || (d->items[i].raw && what != EDIT_DROP) || d->items[other].raw)
		return;
	if (is_order(what)) {
		order_edit(d, e, i, other);
		return;
	}
	if (e->what / EDITS % 4 != 0 && d->n < N(d->items)) {
		item_insert(d, d->n, record_copy(d->items[i].r, 0));
		i = d->n - 1;
	}
	record_edit(d, e, &d->items[i]);
}

void edited_change(struct edited *d, const uint8_t *script, size_t bytes)
{
	for (size_t at = 0; at + EDIT_BYTES <= bytes && at < (size_t)EDITS_MOST * EDIT_BYTES;
	     at += EDIT_BYTES) {
		struct edit e;

		memcpy(&e, script + at, sizeof(e));
		edit(d, &e);
	}
}
