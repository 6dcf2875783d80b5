/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/units.h"

#include "ipc/abi.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_bytes(uint32_t resource, const char *name)
{
	return resource == RESOURCE_MEMORY || resource == RESOURCE_EPHEMERAL ||
	       strncmp(name, "hugepages-", strlen("hugepages-")) == 0;
}

static void print_bytes(int64_t value, char *out, size_t out_bytes)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	double scaled = (double)value;
	size_t unit = 0;

	/* A value that would be rounded to 1024.0 is 1.0 of the next unit. */
	while ((scaled >= 1023.95 || scaled <= -1023.95) &&
	       unit + 1 < sizeof(units) / sizeof(units[0])) {
		scaled /= 1024;
		unit++;
	}
	/* One decimal, none if it is 0. */
	if (scaled * 10 == (double)((int64_t)scaled * 10))
		snprintf(out, out_bytes, "%.0f%s", scaled, units[unit]);
	else
		snprintf(out, out_bytes, "%.1f%s", scaled, units[unit]);
}

/* Without trailing zeros. */
static void print_milli(int64_t value, char *out, size_t out_bytes)
{
	uint64_t milli = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	int digits = 3;
	unsigned rest = (unsigned)(milli % 1000);

	for (; digits > 0 && rest % 10 == 0; digits--)
		rest /= 10;
	snprintf(out, out_bytes, "%s%" PRIu64, value < 0 ? "-" : "", milli / 1000);
	if (digits > 0)
		snprintf(out + strlen(out), out_bytes - strlen(out), ".%0*u", digits, rest);
}

const char *units_amount(uint32_t resource, const char *name, int64_t value, char *out,
                         size_t out_bytes)
{
	if (resource == RESOURCE_CPU)
		print_milli(value, out, out_bytes);
	else if (is_bytes(resource, name))
		print_bytes(value, out, out_bytes);
	else
		snprintf(out, out_bytes, "%" PRId64, value);
	return out;
}

const char *units_of(uint32_t resource, const char *name)
{
	return resource == RESOURCE_CPU ? "milli" : is_bytes(resource, name) ? "bytes" : "count";
}

const char *units_age(uint64_t ns, char *out, size_t out_bytes)
{
	uint64_t s = ns / UINT64_C(1000000000);

	if (s < 120)
		snprintf(out, out_bytes, "%" PRIu64 "s", s);
	else if (s < 120 * 60)
		snprintf(out, out_bytes, "%" PRIu64 "m", s / 60);
	else if (s < 48 * 3600)
		snprintf(out, out_bytes, "%" PRIu64 "h", s / 3600);
	else
		snprintf(out, out_bytes, "%" PRIu64 "d", s / 86400);
	return out;
}
