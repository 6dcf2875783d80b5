/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that are scripts: a head of some bytes, then steps of equal length. */
#ifndef MUSTER_TESTS_FUZZ_SUPPORT_SCRIPT_H
#define MUSTER_TESTS_FUZZ_SUPPORT_SCRIPT_H

#include "tests/unit/support_random.h"

#include <stddef.h>
#include <stdint.h>

/* For struct fuzzer: adds or replaces a random step.  The new length; 0 if the buffer is full. */
size_t script_change(struct random *r, uint8_t *data, size_t bytes, size_t cap, size_t head,
                     size_t step);

#endif
