/* SPDX-License-Identifier: Apache-2.0 */
/* quantity_parse() against the grammar and decimal arithmetic, digit by digit. */
#include "frontend/json/quantity.h"

#include "tests/fuzz/fuzz.h"

#include <ctype.h>

#define BYTES_MAX 200
#define DIGITS 700 /* of the number in units of 10^-9 */

/* clang-format off */
static const char *const words[] = {
	"n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3",
	"e-3", "e+18", "E-9", "e400", ".", "-", "+", "0", "9223372036854775807", "9223372036854775808",
	"0.000000001", "1e9999999999", "000000", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "quantity", .bytes_max = BYTES_MAX, .words = words };

/* A whole number >= 0, the lowest digit first. */
struct decimal {
	uint8_t digit[DIGITS];
};

static void decimal_double(struct decimal *d)
{
	int carry = 0;

	for (int i = 0; i < DIGITS; i++) {
		int twice = d->digit[i] * 2 + carry;

		d->digit[i] = (uint8_t)(twice % 10);
		carry = twice / 10;
	}
}

/* Is a more than b? */
static bool decimal_is_more(const struct decimal *a, const struct decimal *b)
{
	for (int i = DIGITS - 1; i >= 0; i--)
		if (a->digit[i] != b->digit[i])
			return a->digit[i] > b->digit[i];
	return false;
}

static void decimal_of(nano_t value, struct decimal *d)
{
	memset(d, 0, sizeof(*d));
	for (int i = 0; value > 0; i++, value /= 10)
		d->digit[i] = (uint8_t)(value % 10);
}

struct parts {
	bool negative;
	char whole[BYTES_MAX + 1], fraction[BYTES_MAX + 1];
	long exponent; /* of 10, kept within +-100000 */
	int shift;
};

static const char *digits_of(const char *p, char *out)
{
	while (isdigit((unsigned char)*p))
		*out++ = *p++;
	*out = '\0';
	return p;
}

/* e or E and a number: false when it is none, or beyond int64. */
static bool exponent_of(const char *p, long *out)
{
	const char *q = p + 1 + (p[1] == '-' || p[1] == '+');
	char *end;
	long value;

	if (!isdigit((unsigned char)*q))
		return false;
	errno = 0;
	value = strtol(p + 1, &end, 10);
	if (errno != 0 || *end != '\0')
		return false;
	*out = value > 100000 ? 100000 : value < -100000 ? -100000 : value;
	return true;
}

static bool parts_of(const char *p, struct parts *out)
{
	static const char si[] = "num kMGTPE", binary[] = "KMGTPE";

	memset(out, 0, sizeof(*out));
	out->negative = *p == '-';
	p += *p == '-' || *p == '+';
	p = digits_of(p, out->whole);
	if (*p == '.')
		p = digits_of(p + 1, out->fraction);
	if (!out->whole[0] && !out->fraction[0])
		return false;
	if (!*p)
		return true;
	if (!p[1] && *p != ' ' && strchr(si, *p)) {
		out->exponent = ((long)(strchr(si, *p) - si) - 3) * 3;
		return true;
	}
	if (p[1] == 'i' && !p[2] && strchr(binary, *p)) {
		out->shift = (int)(strchr(binary, *p) - binary + 1) * 10;
		return true;
	}
	return (*p == 'e' || *p == 'E') && exponent_of(p, &out->exponent);
}

/* The amount in units of 10^-9, rounded up and cut at the most there is. */
static void amount_of(const struct parts *s, struct decimal *out)
{
	char digits[2 * BYTES_MAX + 1];
	struct decimal most, scaled = { .digit = { 0 } };
	/* All of it 300 places to the left: a digit that falls off to the right counts as
	 * something, one that falls off to the left as too much. */
	long n = snprintf(digits, sizeof(digits), "%s%s", s->whole, s->fraction);
	long low = 300 + 9 + s->exponent - (long)strlen(s->fraction);
	bool more = false, too_much = false;

	for (long i = 0; i < n; i++) {
		long place = low + n - 1 - i;

		if (digits[i] == '0')
			continue;
		if (place < 0)
			more = true;
		else if (place >= DIGITS - 30)
			too_much = true;
		else
			scaled.digit[place] = (uint8_t)(digits[i] - '0');
	}
	for (int i = 0; i < s->shift; i++)
		decimal_double(&scaled);
	for (int i = 0; i < 300; i++)
		more |= scaled.digit[i] > 0;
	memset(out, 0, sizeof(*out));
	memcpy(out->digit, scaled.digit + 300, DIGITS - 300);
	for (int i = 0; more && i < DIGITS; i++) {
		more = out->digit[i] == 9;
		out->digit[i] = more ? 0 : (uint8_t)(out->digit[i] + 1);
	}
	decimal_of(NANO_MAX, &most);
	if (too_much || decimal_is_more(out, &most))
		*out = most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char text[BYTES_MAX + 1];
	nano_t value = 12345, magnitude;
	struct decimal expected, found;
	struct parts parts;
	bool is_good;

	if (bytes > BYTES_MAX)
		return 0;
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	is_good = strlen(text) == bytes && parts_of(text, &parts);
	if (quantity_parse((const char *)data, bytes, &value) != (is_good ? 0 : -EINVAL))
		fuzz_found("it is %s quantity\n", is_good ? "a" : "no");
	if (!is_good)
		return 0;
	magnitude = value < 0 ? -value : value;
	amount_of(&parts, &expected);
	decimal_of(magnitude, &found);
	if (memcmp(&expected, &found, sizeof(found)) != 0 || (value < 0 && !parts.negative) ||
	    (value > 0 && parts.negative))
		fuzz_found("the amount is wrong\n");
	if (quantity_value(magnitude) < 0 || quantity_milli(magnitude) < quantity_value(magnitude) ||
	    (magnitude > 0 && quantity_value(magnitude) == 0) ||
	    quantity_add(magnitude, NANO_MAX) != NANO_MAX)
		fuzz_found("rounding is wrong\n");
	return 0;
}
