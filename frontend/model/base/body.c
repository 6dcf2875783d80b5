/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/base/body.h"

#include "frontend/model/base/columns.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void body_start(struct body *b)
{
	b->bytes = 0;
	b->too_long = false;
}

void *body_add(struct body *b, const void *bytes, size_t n)
{
	void *p = b->at + b->bytes;

	assert(b->bytes <= RECORD_BYTES_MAX - sizeof(struct record));
	if (b->too_long || n > RECORD_BYTES_MAX - sizeof(struct record) - b->bytes) {
		b->too_long = true;
		return NULL;
	}
	if (n > 0)
		memcpy(p, bytes, n);
	b->bytes += n;
	return p;
}

void body_pad(struct body *b)
{
	static const char zeros[8];

	body_add(b, zeros, (size_t)(PADDED(b->bytes) - b->bytes));
}

char *body_copy(const struct body *b)
{
	assert(!b->too_long && b->bytes > 0);
	return memcpy(must_grow(NULL, b->bytes), b->at, b->bytes);
}

int body_amounts(struct model *m, struct body *b, const struct amount_text *list, size_t n,
                 uint32_t *added, const char **flag)
{
	size_t from = b->bytes;
	int result = 0;

	*added = 0;
	for (size_t i = 0; i < n; i++) {
		struct amount a = { .value = list[i].value };

		if (a.value == 0)
			continue;
		if (resource_take(m, text_of(list[i].resource), &a.resource, flag) < 0) {
			result = -ENOSPC;
			continue;
		}
		if (!body_add(b, &a, sizeof(a))) {
			resource_give(m, a.resource);
			return -EINVAL;
		}
		++*added;
	}
	qsort(b->at + from, *added, sizeof(struct amount), amount_order);
	return result;
}

void amounts_release(struct model *m, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		resource_give(m, amounts[i].resource);
}
