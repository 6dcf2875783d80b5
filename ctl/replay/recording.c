/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/replay/recording.h"

#include "ctl/term/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define READ_STEP 65536u

__attribute__((format(printf, 2, 3))) static void damaged(struct recording *r, const char *format,
                                                          ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
}

/* Reads up to `bytes`. Fewer only at the end; -1 and `error` when the file can't be read. A packed
 * file that was cut ends where it was cut. */
static int64_t take(struct recording *r, void *out, uint64_t bytes)
{
	uint64_t got = 0;

	while (got < bytes) {
		unsigned int step = bytes - got < READ_STEP ? (unsigned int)(bytes - got) : READ_STEP;
		int n = gzread(r->file, (unsigned char *)out + got, step);
		int code = 0;

		if (n < 0) {
			const char *text = gzerror(r->file, &code);

			if (code == Z_BUF_ERROR)
				break;
			damaged(r, "offset %" PRIu64 ": %s", r->offset + got,
			        code == Z_ERRNO ? strerror(errno) : text);
			return -1;
		}
		if (n == 0)
			break;
		got += (uint64_t)n;
	}
	r->offset += got;
	return (int64_t)got;
}

static int bad_head(struct recording *r, const char *what)
{
	damaged(r, "%s", what);
	return EXIT_USAGE;
}

/* What is before the layout hash never moves; the rest has that layout. */
static int read_head(struct recording *r)
{
	struct recording_head *h = &r->head;
	int64_t got = take(r, h, offsetof(struct recording_head, created_ns));
	uint64_t rest = sizeof(*h) - offsetof(struct recording_head, created_ns);

	if (got < 0)
		return EXIT_USAGE;
	if (got < (int64_t)offsetof(struct recording_head, created_ns) || h->magic != RECORDING_MAGIC)
		return bad_head(r, "this is no recording of muster-core");
	if (h->version != RECORDING_VERSION) {
		damaged(r, "a recording of format %u; this program reads format %u", h->version,
		        RECORDING_VERSION);
		return EXIT_CONFIG;
	}
	if (h->layout_hash != abi_layout_hash()) {
		damaged(r,
		        "recorded with another layout: its layout is 0x%016" PRIx64
		        ", ours is 0x%016" PRIx64 "; replay it with a musterctl of the same build",
		        h->layout_hash, abi_layout_hash());
		return EXIT_CONFIG;
	}
	got = take(r, (unsigned char *)h + offsetof(struct recording_head, created_ns), rest);
	if (got < 0)
		return EXIT_USAGE;
	if (got < (int64_t)rest)
		return bad_head(r, "the file ends in its head");
	if (h->bytes != sizeof(*h) ||
	    h->sum != recording_sum(SUM_START, h, offsetof(struct recording_head, sum)))
		return bad_head(r, "offset 0: the head of the file is damaged");
	if (memchr(h->score, '\0', sizeof(h->score)) == NULL ||
	    memchr(h->program, '\0', sizeof(h->program)) == NULL)
		return bad_head(r, "offset 0: the head of the file is damaged");
	return EXIT_DONE;
}

int recording_open(struct recording *r, const char *path)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	memset(r, 0, sizeof(*r));
	if (fd < 0)
		return bad_head(r, strerror(errno));
	r->file = gzdopen(fd, "rb");
	if (r->file == NULL) {
		close(fd);
		fatal_memory();
	}
	gzbuffer(r->file, 4 * READ_STEP);
	return read_head(r);
}

void recording_close(struct recording *r)
{
	if (r->file != NULL)
		gzclose_r(r->file);
	free(r->block);
	r->file = NULL;
	r->block = NULL;
}

static bool block_sound(struct recording *r, const struct recording_block *b, uint64_t offset)
{
	if (b->magic != BLOCK_MAGIC ||
	    b->sum != recording_sum(SUM_START, b, offsetof(struct recording_block, sum))) {
		damaged(r, "offset %" PRIu64 ": the head of block %" PRIu64 " is damaged", offset,
		        r->blocks);
		return false;
	}
	if (b->number == r->blocks && b->kind >= BLOCK_ENTRIES && b->kind < BLOCK_KINDS &&
	    b->bytes <= BLOCK_BYTES_MAX && b->bytes % 8 == 0 &&
	    (b->kind != BLOCK_ENTRIES || b->bytes > 0) &&
	    (b->kind != BLOCK_END || (b->bytes == 0 && b->arg < END_KINDS)))
		return true;
	damaged(r, "offset %" PRIu64 ": block %" PRIu64 " is not as a recording has it", offset,
	        r->blocks);
	return false;
}

static int end_of(struct recording *r, enum recording_tail tail, unsigned int arg)
{
	unsigned char more;
	uint64_t offset = r->offset;
	int64_t got = tail >= TAIL_CRASHED ? take(r, &more, 1) : 0;

	if (got > 0)
		damaged(r, "offset %" PRIu64 ": something follows the end of the recording", offset);
	if (got != 0)
		return -1;
	r->tail = tail;
	r->tail_arg = arg;
	r->last = true;
	return 0;
}

/* Reads the next block with entries: 1, 0 at the end, or -1. */
static int read_block(struct recording *r)
{
	struct recording_block b;
	uint64_t offset = r->offset;
	int64_t got = take(r, &b, sizeof(b));

	if (got < 0)
		return -1;
	if (got < (int64_t)sizeof(b))
		return end_of(r, got == 0 ? TAIL_OPEN : TAIL_CUT, 0);
	if (!block_sound(r, &b, offset))
		return -1;
	if (b.kind == BLOCK_END)
		return end_of(r, TAIL_ENDED, b.arg);
	if (b.bytes > r->room) {
		r->block = must_grow(r->block, b.bytes);
		r->room = b.bytes;
	}
	r->block_offset = r->offset;
	got = take(r, r->block, b.bytes);
	if (got < 0)
		return -1;
	if (got < (int64_t)b.bytes)
		return end_of(r, TAIL_CUT, 0);
	if (b.entries_sum != recording_sum(SUM_START, r->block, b.bytes)) {
		damaged(r, "offset %" PRIu64 ": the sum of block %" PRIu64 " (%" PRIu64 " bytes) is wrong",
		        r->block_offset, r->blocks, b.bytes);
		return -1;
	}
	r->blocks++;
	r->block_bytes = b.bytes;
	r->at = 0;
	if (b.kind == BLOCK_CRASH && end_of(r, TAIL_CRASHED, b.arg) < 0)
		return -1;
	return b.bytes > 0 ? 1 : 0;
}

static int bad_entry(struct recording *r)
{
	damaged(r, "offset %" PRIu64 ": an entry is not as a recording has it",
	        r->block_offset + r->at);
	return -1;
}

/* The current entry. False: there is none, or it does not fit. */
static bool entry_at(const struct recording *r, struct recording_entry *e)
{
	uint64_t left = r->block_bytes - r->at;

	if (left < sizeof(*e))
		return false;
	memcpy(e, r->block + r->at, sizeof(*e));
	return e->bytes >= sizeof(*e) && e->bytes <= RECORD_BYTES_MAX && e->bytes % 8 == 0 &&
	       e->bytes <= left;
}

static bool is_command(uint16_t kind)
{
	return kind > EVENT_ANSWER && kind < RECORD_KINDS;
}

static bool take_note(struct recording *r, const struct recording_entry *e,
                      struct recording_step *step)
{
	struct recording_note note;

	if (e->bytes != sizeof(note) || e->flags == 0 || e->flags > (NOTE_REFUSED | NOTE_ERROR))
		return false;
	memcpy(&note, r->block + r->at, sizeof(note));
	step->refused = note.head.flags & NOTE_REFUSED;
	step->error = note.error;
	r->at += sizeof(note);
	return true;
}

int recording_next(struct recording *r, struct recording_step *step)
{
	struct recording_entry e;
	int rc;

	while (r->at == r->block_bytes) {
		rc = r->last ? 0 : read_block(r);
		if (rc <= 0)
			return rc;
	}
	*step = (struct recording_step){ .offset = r->block_offset + r->at, .number = ++r->steps };
	if (!entry_at(r, &e) || e.kind == RECORD_PAD || e.kind > EVENT_ANSWER ||
	    e.bytes < sizeof(struct record))
		return bad_entry(r);
	step->record = (const void *)(r->block + r->at);
	r->at += e.bytes;
	step->commands = r->block + r->at;
	while (entry_at(r, &e) && is_command(e.kind)) {
		r->at += e.bytes;
		step->commands_n++;
	}
	step->commands_bytes = (uint64_t)(r->block + r->at - step->commands);
	if (entry_at(r, &e) && e.kind == RECORD_PAD && !take_note(r, &e, step))
		return bad_entry(r);
	step->unfinished = r->at == r->block_bytes && r->last && r->tail == TAIL_CRASHED;
	return 1;
}

const char *recording_tail_text(const struct recording *r, char *out, size_t out_bytes)
{
	static const char *const ends[] = {
		[END_STOPPED] = "ended when the core was stopped",
		[END_LIMIT] = "ended at --record-bytes",
		[END_SLOW] = "ended because the file could not be written as fast as events came",
		[END_FAILED] = "ended because the file could not be written",
	};

	if (r->tail == TAIL_ENDED)
		return ends[r->tail_arg];
	if (r->tail == TAIL_OPEN)
		return "has no end: the core was killed, or runs still";
	if (r->tail == TAIL_CUT)
		return "ends within a block: the core was killed, or the file was cut";
	if (r->tail_arg == 0)
		return "ended when the core ran out of memory";
	snprintf(out, out_bytes, "ended when the core crashed (signal %u)", r->tail_arg);
	return out;
}
