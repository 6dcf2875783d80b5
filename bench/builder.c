/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/builder.h"

#include <stdlib.h>
#include <string.h>

struct record *builder_make(struct builder *b, enum record_kind kind, uint64_t time_ns,
                            const struct part *parts)
{
	struct record *r = (struct record *)(void *)b->bytes;
	size_t used = sizeof(*r);

	for (const struct part *p = parts; p->at; p++) {
		const size_t padded = (size_t)PADDED(p->bytes);

		if (padded > sizeof(b->bytes) - used)
			abort(); /* a bug of the bench */
		memcpy(b->bytes + used, p->at, p->bytes);
		memset(b->bytes + used + p->bytes, 0, padded - p->bytes);
		used += padded;
	}
	*r = (struct record){
		.kind = (uint16_t)kind, .epoch = 1, .time_ns = time_ns, .bytes = (uint32_t)used
	};
	return r;
}
