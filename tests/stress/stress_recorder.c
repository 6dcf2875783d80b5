/* SPDX-License-Identifier: Apache-2.0 */
/* One thread records as fast as it can, in bursts, while the recorder's own writes.  The
 * file has every step once, whole and in order, up to where the recording ended;
 * ThreadSanitizer watches for bytes that are written to the file before they are there or
 * overwritten before they are in it.
 *
 *   stress_recorder [STEPS] */
#include "ipc/logline.h"
#include "core/daemon/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURST 20000u
#define BODY_MOST 64u /* words */

static uint64_t mix(uint64_t n)
{
	n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ^ (n >> 31);
}

/* What follows from the number of the step. */
static uint32_t make_step(uint64_t number, uint64_t *words)
{
	uint32_t body = (uint32_t)(mix(number) % BODY_MOST);
	struct record r = { .bytes = (uint32_t)sizeof(r) + body * 8,
		                .kind = EVENT_TICK,
		                .sequence = number };

	memcpy(words, &r, sizeof(r));
	for (uint32_t i = 0; i < body; i++)
		words[sizeof(r) / 8 + i] = mix(number + i);
	return r.bytes;
}

static void record_steps(struct recorder *r, uint64_t steps)
{
	uint64_t words[sizeof(struct record) / 8 + BODY_MOST];
	struct cmd_bind bind = { 0 };

	recorder_here(r);
	for (uint64_t n = 1; n <= steps; n++) {
		make_step(n, words);
		recorder_input(r, (const struct record *)(const void *)words);
		bind.attempt = (uint32_t)n;
		recorder_output(r, CMD_BIND, &bind, sizeof(bind));
		recorder_done(r, 0, n % 3 == 0);
		if (n % BURST == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
	}
}

/* The entries of one block; false when one is not as it was made. */
static bool check_block(const unsigned char *entries, uint64_t bytes, uint64_t *number)
{
	uint64_t words[sizeof(struct record) / 8 + BODY_MOST];
	struct recording_entry e;
	struct cmd_bind bind;

	for (uint64_t at = 0; at < bytes;) {
		uint32_t record_bytes = make_step(++*number, words);

		if (at + record_bytes + sizeof(e) + sizeof(bind) > bytes ||
		    memcmp(entries + at, words, record_bytes) != 0)
			return false;
		at += record_bytes;
		memcpy(&e, entries + at, sizeof(e));
		memcpy(&bind, entries + at + sizeof(e), sizeof(bind));
		if (e.kind != CMD_BIND || bind.attempt != (uint32_t)*number)
			return false;
		at += e.bytes;
		if (*number % 3 == 0)
			at += sizeof(struct recording_note);
	}
	return true;
}

/* How many steps the file has, or 0 and what is wrong with it. */
static uint64_t check_file(int fd, const char **wrong)
{
	struct recording_head head;
	struct recording_block b;
	uint64_t number = 0, room = 0;
	unsigned char *entries = NULL;
	FILE *f = fdopen(fd, "rb");
	bool ended = false;

	*wrong = "the file can't be read";
	if (f && fread(&head, sizeof(head), 1, f) == 1)
		*wrong = NULL;
	while (!*wrong && !ended && fread(&b, sizeof(b), 1, f) == 1) {
		ended = b.kind == BLOCK_END;
		if (b.bytes > room) {
			room = b.bytes;
			entries = realloc(entries, room);
			if (!entries)
				abort();
		}
		if (b.sum != recording_sum(SUM_START, &b, offsetof(struct recording_block, sum)) ||
		    fread(entries, 1, b.bytes, f) != b.bytes ||
		    b.entries_sum != recording_sum(SUM_START, entries, b.bytes))
			*wrong = "a sum is wrong";
		else if (!check_block(entries, b.bytes, &number))
			*wrong = "a step is not as it was recorded";
	}
	if (!*wrong && !ended)
		*wrong = "the recording has no end";
	free(entries);
	if (f)
		fclose(f);
	return *wrong ? 0 : number;
}

int main(int argc, char **argv)
{
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 300000, found;
	struct recorder_config config = { .bytes = RECORD_BYTES_DEFAULT };
	char path[] = "/tmp/muster-stress-XXXXXX";
	int fd = mkstemp(path);
	struct recorder *r;
	const char *wrong;

	log_set_level(LOG_ERROR + 1);
	config.path = path;
	if (fd < 0 || unlink(path) < 0 || recorder_open(&r, &config) < 0) {
		printf("FAIL recorder: %s: %s\n", path, strerror(errno));
		return 1;
	}
	close(fd);
	/* Nothing stays behind, however this ends. */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	record_steps(r, steps);
	recorder_close(r);
	found = check_file(fd, &wrong);
	if (wrong || found == 0) {
		printf("FAIL recorder: %s\n", wrong ? wrong : "nothing was recorded");
		return 1;
	}
	printf("ok recorder: %llu of %llu steps before the file was too slow, whole and in order\n",
	       (unsigned long long)found, (unsigned long long)steps);
	return 0;
}
