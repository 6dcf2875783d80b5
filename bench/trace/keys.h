/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for strings of bytes, dense from 0 in the order in which they first came. */
#ifndef MUSTER_BENCH_KEYS_H
#define MUSTER_BENCH_KEYS_H

#include "frontend/base/table.h"

#include <stddef.h>
#include <stdint.h>

struct key {
	void *bytes; /* a copy, ended by a zero */
	size_t n;
};

struct keys {
	struct key *at;
	uint32_t n;
	size_t room;
	struct table table; /* of numbers */
};

#define KEYS_NONE SLOT_NONE

/* Its number; it has one from now on. */
uint32_t keys_take(struct keys *k, const void *bytes, size_t n);
/* Its number, or KEYS_NONE. */
uint32_t keys_find(const struct keys *k, const void *bytes, size_t n);
const char *keys_text(const struct keys *k, uint32_t number);
void keys_free(struct keys *k);

#endif
