/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/builder.h"

#include <stdlib.h>
#include <string.h>

void builder_add(struct builder *b, const void *what, size_t bytes)
{
	size_t padded = (size_t)PADDED(bytes);

	if (padded > sizeof(b->bytes) - b->used)
		abort(); /* a bug of the bench */
	memcpy(b->bytes + b->used, what, bytes);
	memset(b->bytes + b->used + bytes, 0, padded - bytes);
	b->used += padded;
}

void builder_begin(struct builder *b, enum record_kind kind, uint64_t time_ns)
{
	struct record head = { .kind = (uint16_t)kind, .epoch = 1, .time_ns = time_ns };

	b->used = 0;
	builder_add(b, &head, sizeof(head));
}

const struct record *builder_end(struct builder *b)
{
	struct record *r = (struct record *)(void *)b->bytes;

	r->bytes = (uint32_t)b->used;
	return r;
}
