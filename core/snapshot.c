/* Who writes what: the writer pieces that no reader can reach yet, `newest` and `retired`;
 * the gardener `returned`; readers `readers` alone.
 *
 * A piece goes round:
 *
 *   spare --publish--> reachable --next publish--> retired --grace period--> returned --> spare
 *   [W]                [W, read by all]            [gardener]                [W]
 *
 * Invariants
 *   S1  what can be reached from `newest` does not change
 *   S2  a piece is retired after a root without it is published
 *   S3  a piece is returned after every reader has rested since it was retired
 *
 * Pairs in this file
 *   R1 -> A1   newest: the pieces below it, writer to readers
 *   R2 -> A2   retired: that they can't be reached any more, writer to gardener
 *   R3 -> A3   returned: the grace period, gardener to writer
 *   R4 -> A4   readers: the next publishing sees that somebody looks */
#include "core/snapshot.h"

#include "core/rcu.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE   64
#define NAP_NS 1000000

/* tests/stress/weaken.sh takes these away and expects a failure. */
#ifdef MUSTER_WEAKEN_SNAPSHOT_R1
#define ORDER_R1 memory_order_relaxed
#else
#define ORDER_R1 memory_order_release
#endif
#ifdef MUSTER_WEAKEN_SNAPSHOT_A1
#define ORDER_A1 memory_order_relaxed
#else
#define ORDER_A1 memory_order_acquire
#endif

enum piece_kind { PIECE_CHUNK, PIECE_PAGE, PIECE_ROOT, PIECE_KINDS };

struct piece {
	struct piece *next; /* of whatever list it is on; nobody who reads looks at it */
	uint32_t kind;      /* enum piece_kind */
	uint32_t reserved;
};

struct chunk {
	struct piece piece;
	uint64_t rows[]; /* row_bytes each */
};

struct page {
	struct piece piece;
	struct chunk *chunks[SNAPSHOT_PAGE_CHUNKS];
};

struct snapshot {
	struct piece piece;
	uint64_t version;
	uint32_t row_words;
	struct page *pages[];
};

struct snapshots {
	/* the writer's */
	uint32_t rows, row_words;
	uint32_t chunks_n, pages_n;
	struct snapshot *current; /* what `newest` says */
	bool *dirty;              /* by chunk */
	uint32_t *dirty_list;
	uint32_t dirty_n;
	struct piece *spare[PIECE_KINDS];
	uint32_t spare_n[PIECE_KINDS];
	struct page **fresh; /* by page, while a picture is made: its copy, or NULL */

	alignas(LINE) _Atomic(struct snapshot *) newest;
	alignas(LINE) _Atomic(struct piece *) retired;
	alignas(LINE) _Atomic(struct piece *) returned;
	alignas(LINE) _Atomic uint32_t readers;
	_Atomic uint32_t stop;

	pthread_t gardener;
	void *memory[PIECE_KINDS]; /* all pieces of a kind */
};

/* ---- lists of pieces ------------------------------------------------------------------ */

static void spare_add(struct snapshots *s, struct piece *p)
{
	p->next = s->spare[p->kind];
	s->spare[p->kind] = p;
	s->spare_n[p->kind]++;
}

static void *spare_take(struct snapshots *s, enum piece_kind kind)
{
	struct piece *p = s->spare[kind];

	assert(p); /* counted before */
	s->spare[kind] = p->next;
	s->spare_n[kind]--;
	return p;
}

/* Put a list in front of one that another thread takes whole.  One thread puts, one takes,
 * so at most one try fails. */
static void hand_over(_Atomic(struct piece *) *to, struct piece *first, struct piece *last)
{
	struct piece *there = atomic_load_explicit(to, memory_order_relaxed);

	do
		last->next = there;
	while (!atomic_compare_exchange_weak_explicit(to, &there, first, memory_order_release, memory_order_relaxed));
}

static struct piece *take_all(_Atomic(struct piece *) *from)
{
	return atomic_exchange_explicit(from, NULL, memory_order_acquire);
}

/* ---- the gardener: waits so that nobody else has to --------------------------------------- */

static void *garden(void *context)
{
	struct snapshots *s = context;
	const struct timespec nap = { .tv_nsec = NAP_NS };

	/* Relaxed: looked at again and again. */
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		struct piece *first = take_all(&s->retired), *last = first; /* A2 */

		if (!first) {
			nanosleep(&nap, NULL);
			continue;
		}
		rcu_grace();
		while (last->next)
			last = last->next;
		hand_over(&s->returned, first, last); /* R3 */
	}
	return NULL;
}

/* ---- the writer ---------------------------------------------------------------------------- */

static void take_returned(struct snapshots *s)
{
	struct piece *p = take_all(&s->returned), *next; /* A3 */

	for (; p; p = next) {
		next = p->next;
		spare_add(s, p);
	}
}

static void mark(struct snapshots *s, uint32_t chunk)
{
	if (s->dirty[chunk])
		return;
	s->dirty[chunk] = true;
	s->dirty_list[s->dirty_n++] = chunk;
}

void snapshots_touch(struct snapshots *s, uint32_t row)
{
	assert(row < s->rows);
	/* Without a picture all rows will be copied. */
	if (s->current)
		mark(s, row / SNAPSHOT_CHUNK_ROWS);
}

static struct piece *retire(struct piece *list, struct piece *p)
{
	p->next = list;
	return p;
}

/* From here on no reader finds these any more. */
static void replace(struct snapshots *s, struct snapshot *root, struct piece *old)
{
	struct piece *last = old;

	s->current = root;
	/* R1: all that lies below the root is written (A1). */
	atomic_store_explicit(&s->newest, root, ORDER_R1);
	if (!old)
		return;
	while (last->next)
		last = last->next;
	hand_over(&s->retired, old, last); /* R2 */
}

/* Nobody looks: the picture would only cost. */
static void forget(struct snapshots *s)
{
	struct snapshot *root = s->current;
	struct piece *old = NULL;

	for (uint32_t i = 0; i < s->chunks_n; i++)
		old = retire(old, &root->pages[i / SNAPSHOT_PAGE_CHUNKS]->chunks[i % SNAPSHOT_PAGE_CHUNKS]->piece);
	for (uint32_t i = 0; i < s->pages_n; i++)
		old = retire(old, &root->pages[i]->piece);
	while (s->dirty_n > 0)
		s->dirty[s->dirty_list[--s->dirty_n]] = false;
	replace(s, NULL, retire(old, &root->piece));
}

/* Are there pieces for what is dirty?  Pages are counted as if each chunk had its own. */
static bool pieces_suffice(const struct snapshots *s)
{
	uint32_t pages = s->dirty_n < s->pages_n ? s->dirty_n : s->pages_n;

	return s->spare_n[PIECE_CHUNK] >= s->dirty_n && s->spare_n[PIECE_PAGE] >= pages && s->spare_n[PIECE_ROOT] > 0;
}

/* The page of the next picture: a copy that may be written. */
static struct page *fresh_page(struct snapshots *s, uint32_t index, struct piece **old)
{
	struct page *page = s->fresh[index];

	if (page)
		return page;
	page = spare_take(s, PIECE_PAGE);
	if (s->current) {
		memcpy(page->chunks, s->current->pages[index]->chunks, sizeof(page->chunks));
		*old = retire(*old, &s->current->pages[index]->piece);
	}
	s->fresh[index] = page;
	return page;
}

static void copy_chunk(struct snapshots *s, uint32_t index, struct piece **old,
                       void (*copy)(void *context, uint32_t row, void *out), void *context)
{
	struct page *page = fresh_page(s, index / SNAPSHOT_PAGE_CHUNKS, old);
	struct chunk **place = &page->chunks[index % SNAPSHOT_PAGE_CHUNKS];
	uint32_t first = index * SNAPSHOT_CHUNK_ROWS, n = s->rows - first;
	struct chunk *chunk = spare_take(s, PIECE_CHUNK);

	if (n > SNAPSHOT_CHUNK_ROWS)
		n = SNAPSHOT_CHUNK_ROWS;
	for (uint32_t i = 0; i < n; i++)
		copy(context, first + i, chunk->rows + (size_t)i * s->row_words);
	if (s->current)
		*old = retire(*old, &(*place)->piece);
	*place = chunk;
}

bool snapshots_publish(struct snapshots *s, uint64_t version, void (*copy)(void *context, uint32_t row, void *out),
                       void *context)
{
	struct piece *old = NULL;
	struct snapshot *root;

	if (atomic_load_explicit(&s->readers, memory_order_acquire) == 0) { /* A4 */
		if (s->current)
			forget(s);
		return true;
	}
	for (uint32_t i = 0; !s->current && i < s->chunks_n; i++)
		mark(s, i);
	if (s->dirty_n == 0 && s->current->version == version)
		return true;
	take_returned(s);
	if (!pieces_suffice(s))
		return false;

	root = spare_take(s, PIECE_ROOT);
	root->version = version;
	while (s->dirty_n > 0) {
		uint32_t chunk = s->dirty_list[--s->dirty_n];

		s->dirty[chunk] = false;
		copy_chunk(s, chunk, &old, copy, context);
	}
	for (uint32_t i = 0; i < s->pages_n; i++) {
		root->pages[i] = s->fresh[i] ? s->fresh[i] : s->current->pages[i];
		s->fresh[i] = NULL;
	}
	if (s->current)
		old = retire(old, &s->current->piece);
	replace(s, root, old);
	return true;
}

/* ---- readers ----------------------------------------------------------------------------------- */

void snapshots_start(struct snapshots *s)
{
	rcu_start();
	atomic_fetch_add_explicit(&s->readers, 1, memory_order_release); /* R4 */
}

void snapshots_stop(struct snapshots *s)
{
	atomic_fetch_sub_explicit(&s->readers, 1, memory_order_release); /* R4 */
	rcu_stop();
}

const struct snapshot *snapshots_look(struct snapshots *s)
{
	/* A1: the pieces below it are written (R1). */
	return atomic_load_explicit(&s->newest, ORDER_A1);
}

uint64_t snapshot_version(const struct snapshot *p)
{
	return p->version;
}

const void *snapshot_row(const struct snapshot *p, uint32_t row)
{
	uint32_t chunk = row / SNAPSHOT_CHUNK_ROWS;
	const struct page *page = p->pages[chunk / SNAPSHOT_PAGE_CHUNKS];

	return page->chunks[chunk % SNAPSHOT_PAGE_CHUNKS]->rows + (size_t)(row % SNAPSHOT_CHUNK_ROWS) * p->row_words;
}

/* ---- begin and end ------------------------------------------------------------------------------- */

/* For two whole pictures and a quarter, and some more for those of one chunk. */
static uint32_t pieces_of(uint32_t n)
{
	return 2 * n + n / 4 + 16;
}

static bool pieces_make(struct snapshots *s, enum piece_kind kind, uint32_t n, size_t bytes)
{
	unsigned char *memory;

	bytes = (bytes + LINE - 1) / LINE * LINE;
	memory = aligned_alloc(LINE, bytes * n);
	if (!memory)
		return false;
	memset(memory, 0, bytes * n);
	s->memory[kind] = memory;
	for (uint32_t i = n; i-- > 0;) {
		struct piece *p = (struct piece *)(void *)(memory + i * bytes);

		p->kind = kind;
		spare_add(s, p);
		if (kind == PIECE_ROOT)
			((struct snapshot *)p)->row_words = s->row_words;
	}
	return true;
}

static void snapshots_drop(struct snapshots *s)
{
	for (int i = 0; i < PIECE_KINDS; i++)
		free(s->memory[i]);
	free(s->dirty);
	free(s->dirty_list);
	free(s->fresh);
	free(s);
}

static bool snapshots_make(struct snapshots *s)
{
	s->dirty = calloc(s->chunks_n, sizeof(*s->dirty));
	s->dirty_list = calloc(s->chunks_n, sizeof(*s->dirty_list));
	s->fresh = calloc(s->pages_n, sizeof(struct page *));
	return s->dirty && s->dirty_list && s->fresh &&
	       pieces_make(s, PIECE_CHUNK, pieces_of(s->chunks_n),
	                   sizeof(struct chunk) + (size_t)SNAPSHOT_CHUNK_ROWS * s->row_words * 8) &&
	       pieces_make(s, PIECE_PAGE, pieces_of(s->pages_n), sizeof(struct page)) &&
	       pieces_make(s, PIECE_ROOT, pieces_of(64), sizeof(struct snapshot) + s->pages_n * sizeof(struct page *));
}

int snapshots_new(struct snapshots **out, uint32_t rows, uint32_t row_bytes)
{
	struct snapshots *s = aligned_alloc(LINE, sizeof(*s));
	int rc;

	assert(rows > 0 && row_bytes > 0 && row_bytes % 8 == 0);
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->rows = rows;
	s->row_words = row_bytes / 8;
	s->chunks_n = (rows - 1) / SNAPSHOT_CHUNK_ROWS + 1;
	s->pages_n = (s->chunks_n - 1) / SNAPSHOT_PAGE_CHUNKS + 1;
	rc = snapshots_make(s) ? -pthread_create(&s->gardener, NULL, garden, s) : -ENOMEM;
	if (rc < 0) {
		snapshots_drop(s);
		return rc;
	}
	*out = s;
	return 0;
}

void snapshots_free(struct snapshots *s)
{
	atomic_store_explicit(&s->stop, 1, memory_order_relaxed);
	pthread_join(s->gardener, NULL);
	snapshots_drop(s);
}
