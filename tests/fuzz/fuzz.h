/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzers: each is a file fuzz_NAME.c with one of these and one function; main is in
 * support_main.c, or libFuzzer's.
 *
 *     fuzz_NAME [--seconds N] [--runs N] [--seed N] [--from N] [FILE...]
 *
 * Run N of a seed is the same each time: an input of tests/fuzz/corpus/NAME, changed.  A
 * finding ends the program, which prints what runs it again.  With FILEs these are
 * the inputs, once and as they are. */
#ifndef MUSTER_TESTS_FUZZ_H
#define MUSTER_TESTS_FUZZ_H

#include "tests/unit/support_random.h"

#include <stddef.h>
#include <stdint.h>

struct fuzzer {
	const char *name; /* folder of its corpus: a file is an input, of *.lines each line is */
	size_t bytes_max; /* of an input */
	const char *const *words; /* put in now and then; ends with NULL */
	/* Changes an input in its own way: its new length, at most `room`; 0 leaves it to
	 * the bytes.  May be NULL. */
	size_t (*change)(struct random *r, uint8_t *data, size_t bytes, size_t room);
	/* Before each run whose number FUZZ_FRESH divides: forget what was kept from runs before, so
	 * that a finding can be had again from the last such run on.  NULL: nothing is kept. */
	void (*fresh)(void);
};

#define FUZZ_FRESH 64

extern const struct fuzzer fuzzer;

/* Looks at one input; a finding is a call of fuzz_found() or a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

__attribute__((format(printf, 1, 2), noreturn)) void fuzz_found(const char *format, ...);

#endif
