/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/quantity.h"

#include <errno.h>
#include <string.h>

typedef unsigned __int128 u128;

/* Digits kept exactly; of the rest only whether one is not 0. */
#define DIGITS_MAX 38

struct suffix {
	int exponent; /* of 10 */
	unsigned shift;
};

static bool suffix_si(char c, int *exponent)
{
	static const char letters[] = "numkMGTPE";
	static const int8_t exponents[] = { -9, -6, -3, 3, 6, 9, 12, 15, 18 };
	const char *found = c ? strchr(letters, c) : NULL;

	if (!found)
		return false;
	*exponent = exponents[found - letters];
	return true;
}

static bool suffix_binary(char c, unsigned *shift)
{
	static const char letters[] = "KMGTPE";
	const char *found = c ? strchr(letters, c) : NULL;

	if (!found)
		return false;
	*shift = 10 * (unsigned)(found - letters + 1);
	return true;
}

/* The N of e[+-]N, held within +-1000000.  As in Go, a number beyond int64 is an error. */
static bool suffix_exponent(const char *p, const char *end, int *out)
{
	bool negative = p < end && *p == '-';
	int64_t value = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, *p - '0', &value))
			return false;
	}
	/* value is minus N: the lowest int64 has no counterpart. */
	if (!negative && value == INT64_MIN)
		return false;
	if (value < -1000000)
		value = -1000000;
	*out = (int)(negative ? value : -value);
	return true;
}

static bool suffix_read(const char *p, const char *end, struct suffix *out)
{
	*out = (struct suffix){ 0 };
	if (p == end)
		return true;
	if (end - p == 1)
		return suffix_si(*p, &out->exponent);
	if (end - p == 2 && p[1] == 'i')
		return suffix_binary(*p, &out->shift);
	return (*p == 'e' || *p == 'E') && suffix_exponent(p + 1, end, &out->exponent);
}

/* digits * 10^exponent, plus a remainder below one digit if `more`. */
struct number {
	u128 digits;
	int64_t exponent;
	bool more;
};

/* Read digits[.digits]; the first byte after it, or NULL without a digit. */
static const char *number_read(const char *p, const char *end, struct number *out)
{
	bool point = false, any = false;
	int kept = 0;

	*out = (struct number){ 0 };
	for (; p < end; p++) {
		if (*p == '.') {
			if (point)
				return NULL;
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		any = true;
		if (kept < DIGITS_MAX) {
			out->digits = out->digits * 10 + (unsigned)(*p - '0');
			kept += out->digits > 0;
			out->exponent -= point;
		} else {
			out->more |= *p != '0';
			out->exponent += !point;
		}
	}
	return any ? p : NULL;
}

/* ceil(x / 10^n), with *more set if it is not exact; x is 256 bits, low word first. */
static void wide_divide(uint64_t x[4], int64_t n, bool *more)
{
	while (n > 0) {
		uint64_t divisor = 1;
		u128 rest = 0;

		for (; n > 0 && divisor < UINT64_C(1000000000000000000); n--)
			divisor *= 10;
		for (int i = 3; i >= 0; i--) {
			rest = rest << 64 | x[i];
			x[i] = (uint64_t)(rest / divisor);
			rest %= divisor;
		}
		*more |= rest > 0;
	}
}

static nano_t number_shrink(const struct number *q, unsigned shift, int64_t n)
{
	uint64_t x[4] = { (uint64_t)q->digits, (uint64_t)(q->digits >> 64), 0, 0 };
	bool more = q->more;
	u128 value;

	if (shift > 0) {
		x[2] = x[1] >> (64 - shift);
		x[1] = x[1] << shift | x[0] >> (64 - shift);
		x[0] <<= shift;
	}
	/* 10^38 * 2^60 has 57 digits: beyond that only `more` remains. */
	wide_divide(x, n < 80 ? n : 80, &more);
	value = (u128)x[1] << 64 | x[0];
	if (x[2] > 0 || x[3] > 0 || value >= (u128)NANO_MAX)
		return NANO_MAX;
	return (nano_t)value + more;
}

static nano_t number_grow(const struct number *q, unsigned shift, int64_t n)
{
	u128 value = q->digits;

	if (q->more) /* 38 digits and the first is not 0 */
		return NANO_MAX;
	for (; n > 0; n--) {
		if (value > (u128)NANO_MAX / 10)
			return NANO_MAX;
		value *= 10;
	}
	if (value > (u128)NANO_MAX >> shift)
		return NANO_MAX;
	value <<= shift;
	return (nano_t)value;
}

int quantity_parse(const char *text, size_t bytes, nano_t *out)
{
	const char *p = text, *end = text + bytes;
	bool negative = p < end && *p == '-';
	struct number q;
	struct suffix s;
	int64_t exponent;
	nano_t value;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	p = number_read(p, end, &q);
	if (!p || !suffix_read(p, end, &s))
		return -EINVAL;
	exponent = q.exponent + s.exponent + 9;
	if (q.digits == 0)
		value = 0;
	else if (exponent >= 0)
		value = number_grow(&q, s.shift, exponent);
	else
		value = number_shrink(&q, s.shift, -exponent);
	*out = negative ? -value : value;
	return 0;
}

nano_t quantity_add(nano_t a, nano_t b)
{
	nano_t sum = a + b; /* each is far below the end of 128 bits */

	return sum < NANO_MAX ? sum : NANO_MAX;
}

int64_t quantity_value(nano_t q)
{
	return (int64_t)((q + 999999999) / 1000000000);
}

int64_t quantity_milli(nano_t q)
{
	nano_t milli = (q + 999999) / 1000000;

	return milli < INT64_MAX ? (int64_t)milli : INT64_MAX;
}
