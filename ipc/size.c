/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/size.h"

#include <stddef.h>
#include <string.h>

static bool unit_read(const char *suffix, uint64_t *out)
{
	static const struct {
		const char *suffix;
		uint64_t bytes;
	} units[] = {
		{ "", 1 },
		{ "k", 1000 },
		{ "M", 1000000 },
		{ "G", 1000000000 },
		{ "T", UINT64_C(1000000000000) },
		{ "Ki", UINT64_C(1) << 10 },
		{ "Mi", UINT64_C(1) << 20 },
		{ "Gi", UINT64_C(1) << 30 },
		{ "Ti", UINT64_C(1) << 40 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(suffix, units[i].suffix) == 0) {
			*out = units[i].bytes;
			return true;
		}
	}
	return false;
}

bool size_read(const char *text, uint64_t *out)
{
	uint64_t n = 0, unit;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		const uint64_t digit = (uint64_t)(*at - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	if (at == text || !unit_read(at, &unit) || n > UINT64_MAX / unit)
		return false;
	*out = n * unit;
	return true;
}

bool max_memory_read(const char *text, uint64_t *out)
{
	uint64_t bytes;

	if (!size_read(text, &bytes) || bytes < MAX_MEMORY_LEAST || bytes > MAX_MEMORY_MOST)
		return false;
	*out = bytes;
	return true;
}
