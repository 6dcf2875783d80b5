/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar and the canonical form of k8s.io/apimachinery's resource.Quantity,
 * its oddities included: "Gi" is 0, "+1" and "5." are answered as they are. */
#include "tests/apisim/quantity.h"

#include <stdio.h>
#include <string.h>

#define NANO ((__int128)1000000000)
#define MILLI ((__int128)1000000)
/* Far above any int64 in nano, far below overflow. */
#define LIMIT ((__int128)1 << 100)

static const struct {
	const char *text;
	int binary;  /* power of 1024, or 0 */
	int decimal; /* power of ten */
} suffixes[] = {
	{ "n", 0, -9 }, { "u", 0, -6 }, { "m", 0, -3 }, { "", 0, 0 },   { "k", 0, 3 },  { "M", 0, 6 },
	{ "G", 0, 9 },  { "T", 0, 12 }, { "P", 0, 15 }, { "E", 0, 18 }, { "Ki", 1, 0 }, { "Mi", 2, 0 },
	{ "Gi", 3, 0 }, { "Ti", 4, 0 }, { "Pi", 5, 0 }, { "Ei", 6, 0 },
};

static __int128 times(__int128 value, __int128 factor)
{
	return value > LIMIT / factor ? LIMIT : value * factor;
}

/* What doesn't divide rounds up, away from zero. */
static __int128 divide_up(__int128 value, __int128 by)
{
	return value / by + (value % by != 0);
}

/* e or E and an integer, and nothing more. */
static bool parse_exponent(const char *text, int *out)
{
	int sign = 1, value = 0;

	if (*text != 'e' && *text != 'E')
		return false;
	text++;
	if (*text == '+' || *text == '-')
		sign = *text++ == '-' ? -1 : 1;
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (value < 1000)
			value = value * 10 + (*text - '0');
	}
	*out = sign * value;
	return true;
}

static bool parse_suffix(const char *text, struct as_quantity *out, int *binary, int *decimal)
{
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(text, suffixes[i].text) != 0)
			continue;
		*binary = suffixes[i].binary;
		*decimal = suffixes[i].decimal;
		out->format = *binary > 0 ? AS_BINARY : AS_DECIMAL;
		return true;
	}
	*binary = 0;
	out->format = AS_EXPONENT;
	return parse_exponent(text, decimal);
}

struct digits {
	__int128 value;
	int whole, fraction; /* how many; leading zeros don't count */
	int zeros;           /* at the end */
	bool first_is_zero;
};

static void take_digit(struct digits *d, char c)
{
	if (d->whole + d->fraction == 0)
		d->first_is_zero = c == '0';
	d->value = times(d->value, 10);
	if (d->value < LIMIT)
		d->value += c - '0';
	d->zeros = c == '0' ? d->zeros + 1 : 0;
}

static const char *parse_digits(const char *text, struct digits *d)
{
	while (*text == '0')
		text++;
	for (; *text >= '0' && *text <= '9'; text++) {
		take_digit(d, *text);
		d->whole++;
	}
	if (d->whole == 0) {
		d->first_is_zero = true;
		d->zeros = 1;
		d->whole = 1;
	}
	if (*text != '.')
		return text;
	for (text++; *text >= '0' && *text <= '9'; text++) {
		take_digit(d, *text);
		d->fraction++;
	}
	return text;
}

/* Whether the server takes the text itself for the canonical form; it looks at
 * the digits, not at the number. */
static bool is_as_written(const struct digits *d, const struct as_quantity *q, int binary,
                          int decimal)
{
	int scale = decimal - d->fraction;

	if (q->format == AS_BINARY)
		return d->fraction == 0 && d->whole + 3 * binary + 1 <= 15 && (d->value & 7) != 0;
	return d->whole + d->fraction <= 18 && scale >= -9 && scale % 3 == 0 && d->zeros < 3 &&
	       !d->first_is_zero;
}

static __int128 scale_nano(__int128 value, int decimal)
{
	__int128 by = 1;

	for (; decimal > 0 && value > 0 && value < LIMIT; decimal--)
		value = times(value, 10);
	/* One division, so that rounding up happens once. */
	for (; decimal < 0 && by < LIMIT; decimal++)
		by = times(by, 10);
	return divide_up(value, by);
}

bool as_quantity_parse(const char *text, struct as_quantity *out)
{
	bool negative = *text == '-';
	struct digits d = { 0 };
	int binary, decimal;
	__int128 value;

	if (*text == '\0')
		return false;
	if (strcmp(text, "0") == 0) {
		*out = (struct as_quantity){ .as_written = true };
		return true;
	}
	if (*text == '-' || *text == '+')
		text++;
	text = parse_digits(text, &d);
	if (!parse_suffix(text, out, &binary, &decimal))
		return false;
	out->as_written = is_as_written(&d, out, binary, decimal);
	value = d.value;
	for (int b = binary; b > 0; b--)
		value = times(value, 1024);
	value = scale_nano(value, decimal + 9 - d.fraction);
	if (out->format == AS_BINARY && value > INT64_MAX * NANO)
		value = INT64_MAX * NANO; /* the only format that is capped */
	out->nano = negative ? -value : value;
	return true;
}

static int64_t scaled(const struct as_quantity *q, __int128 unit)
{
	bool negative = q->nano < 0;
	__int128 value = negative ? -q->nano / unit : divide_up(q->nano, unit);

	if (value > INT64_MAX)
		value = INT64_MAX;
	return (int64_t)(negative ? -value : value);
}

int64_t as_quantity_milli(const struct as_quantity *q)
{
	return scaled(q, MILLI);
}

int64_t as_quantity_value(const struct as_quantity *q)
{
	return scaled(q, NANO);
}

static void print_number(char out[AS_QUANTITY_BYTES], bool negative, __int128 value,
                         const char *suffix)
{
	char digits[48];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value > 0);
	snprintf(out, AS_QUANTITY_BYTES, "%s%s%s", negative ? "-" : "", digits + at, suffix);
}

static void print_canonical(const struct as_quantity *q, __int128 value,
                            char out[AS_QUANTITY_BYTES])
{
	static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	static const char *const decimal[] = { "n", "u", "m", "", "k", "M", "G", "T", "P", "E" };
	static const char *const exponent[] = { "e-9", "e-6", "e-3", "",    "e3",
		                                    "e6",  "e9",  "e12", "e15", "e18" };
	bool negative = q->nano < 0;
	size_t power = 0;

	/* Small binary amounts are written as decimal ones: half a byte is 500m. */
	if (q->format == AS_BINARY && value >= 1024 * NANO) {
		value = divide_up(value, NANO);
		for (; power < 6 && value % 1024 == 0; power++)
			value /= 1024;
		print_number(out, negative, value, binary[power]);
		return;
	}
	for (; power < 9 && value % 1000 == 0; power++)
		value /= 1000;
	print_number(out, negative, value, q->format == AS_EXPONENT ? exponent[power] : decimal[power]);
}

void as_quantity_canonical(const char *text, const struct as_quantity *q,
                           char out[AS_QUANTITY_BYTES])
{
	__int128 value = q->nano < 0 ? -q->nano : q->nano;
	bool whole_millis = value % MILLI == 0;

	/* Beyond what 128 bit hold the digits are not known any more. */
	if (((q->as_written && whole_millis) || value >= LIMIT) && strlen(text) < AS_QUANTITY_BYTES) {
		memcpy(out, text, strlen(text) + 1);
		return;
	}
	if (value == 0) {
		memcpy(out, "0", 2);
		return;
	}
	print_canonical(q, divide_up(value, MILLI) * MILLI, out);
}
