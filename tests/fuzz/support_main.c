/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include "ipc/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

void fuzz_found(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	abort();
}

#ifndef MUSTER_LIBFUZZER

struct input {
	uint8_t *data;
	size_t bytes;
};

struct corpus {
	struct input *at;
	size_t n;
};

static struct {
	uint64_t seed, run;
	const uint8_t *data;
	size_t bytes;
} now;

/* At any end (a finding, a sanitizer, a signal) prints the command that reproduces it. */
static void tell(void)
{
	char text[256];
	uint64_t kept = fuzzer.fresh ? now.run % FUZZ_FRESH : 0;
	int n =
		snprintf(text, sizeof(text),
	             "\nfuzz_%s --seed %llu --from %llu --runs %llu; the input has %zu bytes:\n",
	             fuzzer.name, (unsigned long long)now.seed, (unsigned long long)(now.run - kept),
	             (unsigned long long)(kept + 1), now.bytes);
	ssize_t ignored = write(2, text, (size_t)n);

	ignored = write(2, now.data, now.bytes < 20000 ? now.bytes : 20000);
	ignored = write(2, "\n", 1);
	(void)ignored;
}

static void ended(int signal_number)
{
	tell();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* Called by the sanitizers, where there are any. */
void __asan_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void die(const char *what)
{
	fprintf(stderr, "fuzz_%s: %s: %s\n", fuzzer.name, what, strerror(errno));
	exit(2);
}

static void corpus_add(struct corpus *c, const uint8_t *data, size_t bytes)
{
	struct input *grown = realloc(c->at, (c->n + 1) * sizeof(*grown));
	uint8_t *copy = malloc(bytes + 1);

	if (!grown || !copy)
		die("memory");
	if (bytes > 0)
		memcpy(copy, data, bytes);
	c->at = grown;
	c->at[c->n++] = (struct input){ copy, bytes };
}

/* All of it, whatever bytes there are; -1 at the end, but for a file that is empty. */
static ssize_t whole(FILE *f, char **text, size_t *cap)
{
	const bool first = *text == NULL;
	size_t n;

	*cap = fuzzer.bytes_max + 1;
	if (first && !(*text = malloc(*cap)))
		die("memory");
	n = fread(*text, 1, *cap, f);
	return n > 0 || first ? (ssize_t)n : -1;
}

static void corpus_read(struct corpus *c, const char *path, bool lines)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	if (!f)
		die(path);
	while ((n = lines ? getline(&text, &cap, f) : whole(f, &text, &cap)) >= 0) {
		if (lines && n > 0 && text[n - 1] == '\n')
			n--;
		if ((size_t)n <= fuzzer.bytes_max)
			corpus_add(c, (const uint8_t *)text, (size_t)n);
	}
	free(text);
	fclose(f);
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* In the order of names: a run is the same on each machine. */
static void corpus_load(struct corpus *c)
{
	struct dirent **names;
	char folder[200], path[600];
	int n;

	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", fuzzer.name);
	n = scandir(folder, &names, NULL, alphasort);
	if (n < 0)
		die(folder);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			corpus_read(c, path, ends_in(path, ".lines"));
		free(names[i]);
	}
	free(names);
	if (c->n == 0) {
		errno = ENOENT;
		die(folder);
	}
}

static void corpus_free(struct corpus *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->at[i].data);
	free(c->at);
}

/* Put `n` bytes in place of `gone` ones at `at`, as far as the buffer allows. */
static size_t put(uint8_t *data, size_t bytes, size_t at, size_t gone, const void *with, size_t n)
{
	if (gone > bytes - at)
		gone = bytes - at;
	if (bytes - gone + n > fuzzer.bytes_max)
		return bytes;
	memmove(data + at + n, data + at + gone, bytes - at - gone);
	if (n > 0)
		memcpy(data + at, with, n);
	return bytes - gone + n;
}

static size_t put_word(struct random *r, uint8_t *data, size_t bytes, size_t at)
{
	uint32_t n = 0;
	const char *word;

	while (fuzzer.words && fuzzer.words[n])
		n++;
	if (n == 0)
		return bytes;
	word = fuzzer.words[random_below(r, n)];
	return put(data, bytes, at, random_below(r, 2) ? strlen(word) : 0, word, strlen(word));
}

static size_t put_piece(struct random *r, const struct corpus *c, uint8_t *data, size_t bytes,
                        size_t at)
{
	const struct input *other = &c->at[random_below(r, (uint32_t)c->n)];
	size_t from, n;

	if (other->bytes == 0)
		return bytes;
	from = random_below(r, (uint32_t)other->bytes);
	n = 1 + random_below(r, 64);
	if (n > other->bytes - from)
		n = other->bytes - from;
	return put(data, bytes, at, random_below(r, 2) ? n : 0, other->data + from, n);
}

static size_t change_bytes(struct random *r, const struct corpus *c, uint8_t *data, size_t bytes)
{
	size_t at = random_below(r, (uint32_t)bytes + 1);
	uint8_t byte = (uint8_t)random_next(r);

	switch (random_below(r, 7)) {
	case 0:
		return put(data, bytes, at, 1, &byte, 1);
	case 1:
		return put(data, bytes, at, random_below(r, 16), NULL, 0);
	case 2:
		return put(data, bytes, at, 0, &byte, 1);
	case 3:
		if (at < bytes)
			data[at] ^= (uint8_t)(1u << random_below(r, 8));
		return bytes;
	case 4:
		return put_piece(r, c, data, bytes, at);
	case 5:
		return random_below(r, 20) ? bytes : at; /* cut off */
	default:
		return put_word(r, data, bytes, at);
	}
}

static size_t input_make(struct random *r, const struct corpus *c, uint8_t *data)
{
	const struct input *from = &c->at[random_below(r, (uint32_t)c->n)];
	size_t bytes = from->bytes, changed;

	if (bytes > 0)
		memcpy(data, from->data, bytes);
	for (uint32_t i = random_below(r, 6); i > 0; i--) {
		changed = fuzzer.change && random_below(r, 3)
		              ? fuzzer.change(r, data, bytes, fuzzer.bytes_max)
		              : 0;
		bytes = changed > 0 ? changed : change_bytes(r, c, data, bytes);
	}
	return bytes;
}

static double seconds(void)
{
	return (double)clock_monotonic_ns() / 1e9;
}

/* An allocation of the very size: a sanitizer sees the first byte past it. */
static void run_one(const uint8_t *data, size_t bytes)
{
	uint8_t *exact = malloc(bytes + (bytes == 0));

	if (!exact)
		die("memory");
	if (bytes > 0)
		memcpy(exact, data, bytes);
	now.data = exact;
	now.bytes = bytes;
	LLVMFuzzerTestOneInput(exact, bytes);
	now.data = NULL;
	now.bytes = 0;
	free(exact);
}

static void run_all(const struct corpus *c, double limit, uint64_t runs)
{
	uint8_t *data = malloc(fuzzer.bytes_max + 1);
	uint64_t first = now.run;
	double start = seconds();

	if (!data)
		die("memory");
	for (; now.run - first < runs && ((now.run & 63) != 0 || seconds() - start < limit);
	     now.run++) {
		struct random r = { now.seed * UINT64_C(0x9e3779b97f4a7c15) ^
			                now.run * UINT64_C(0xd1342543de82ef95) };
		size_t bytes;

		if (fuzzer.fresh && now.run % FUZZ_FRESH == 0)
			fuzzer.fresh();
		random_next(&r);
		bytes = input_make(&r, c, data);
		run_one(data, bytes);
	}
	printf("fuzz_%s: %llu runs of seed %llu in %.0f s\n1 passed, 0 failed\n", fuzzer.name,
	       (unsigned long long)(now.run - first), (unsigned long long)now.seed, seconds() - start);
	free(data);
}

static uint64_t number(const char *option, const char *text)
{
	char *end;
	uint64_t value;

	errno = text ? 0 : EINVAL;
	value = text ? strtoull(text, &end, 0) : 0;
	if (errno != 0 || *end != '\0' || end == text) {
		errno = EINVAL;
		die(option);
	}
	return value;
}

int main(int argc, char **argv)
{
	uint64_t limit = 10, runs = UINT64_MAX;
	struct corpus corpus = { 0 };
	int i;

	now.seed = 1;
	for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
		uint64_t value = number(argv[i], argv[i + 1]);

		if (strcmp(argv[i], "--seconds") == 0)
			limit = value;
		else if (strcmp(argv[i], "--runs") == 0)
			runs = value, limit = UINT32_MAX;
		else if (strcmp(argv[i], "--seed") == 0)
			now.seed = value;
		else if (strcmp(argv[i], "--from") == 0)
			now.run = value;
		else
			number(argv[i], NULL);
	}
	if (__asan_set_death_callback)
		__asan_set_death_callback(tell);
	signal(SIGABRT, ended);
	signal(SIGSEGV, ended);
	if (i < argc) {
		for (; i < argc; i++)
			corpus_read(&corpus, argv[i], ends_in(argv[i], ".lines"));
		for (size_t k = 0; k < corpus.n; k++)
			run_one(corpus.at[k].data, corpus.at[k].bytes);
		printf("%zu passed, 0 failed\n", corpus.n);
	} else {
		corpus_load(&corpus);
		run_all(&corpus, (double)limit, runs);
	}
	corpus_free(&corpus);
	return 0;
}
#endif
