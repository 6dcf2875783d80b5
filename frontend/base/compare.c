/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/compare.h"

#include "ipc/abi.h"

#include <string.h>

bool int64_parse(struct text t, int64_t *out)
{
	const bool negative = t.bytes > 0 && t.at[0] == '-';
	size_t i = t.bytes > 0 && (t.at[0] == '-' || t.at[0] == '+');
	int64_t value = 0;

	if (i == t.bytes)
		return false;
	for (; i < t.bytes; i++) {
		const int digit = t.at[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return false;
	}
	*out = value;
	return true;
}

/* The lowest int64 stands for "none"; no label is negative, so the one above it compares the same.
 */
int64_t label_number(struct text t)
{
	int64_t value;

	if (!int64_parse(t, &value))
		return LABEL_NOT_A_NUMBER;
	return value == INT64_MIN ? INT64_MIN + 1 : value;
}

int version_compare(struct text a, struct text b)
{
	int order;

	if (a.bytes == 0 || b.bytes == 0)
		return 1;
	if (a.bytes != b.bytes)
		return a.bytes < b.bytes ? -1 : 1;
	order = memcmp(a.at, b.at, a.bytes);
	return order < 0 ? -1 : order > 0;
}

size_t names_find(const char *name, size_t n, const char *(*at)(const void *items, size_t i),
                  const void *items)
{
	size_t from = 0, to = n;

	while (from < to) {
		const size_t middle = (from + to) / 2;
		const int order = strcmp(name, at(items, middle));

		if (order == 0)
			return middle;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return SIZE_MAX;
}
