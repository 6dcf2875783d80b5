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

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fuzzer {
	const char *name; /* folder of its corpus: a file is an input, of *.lines each line is */
	size_t bytes_max; /* of an input */
	const char *const *words; /* put in now and then; ends with NULL */
	/* Mutates an input by its structure: its new length, at most `cap`; 0: mutate its bytes
	 * instead.  May be NULL. */
	size_t (*change)(struct random *r, uint8_t *data, size_t bytes, size_t cap);
	/* Called before each run whose number FUZZ_FRESH divides: drops all state of earlier runs, so
	 * that a finding can be reproduced from the last such run on.  NULL: there is no state. */
	void (*fresh)(void);
};

#define FUZZ_FRESH 64

extern const struct fuzzer fuzzer;

/* Looks at one input; a finding is a call of fuzz_found() or a crash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

__attribute__((format(printf, 1, 2), noreturn)) void fuzz_found(const char *format, ...);

#endif
