#include "tests/apisim/quantity.h"

#include <stdio.h>
#include <string.h>

#define NANO ((__int128)1000000000)
/* Far above any int64 in nano, far below overflow. */
#define LIMIT ((__int128)1 << 100)

static const struct {
	const char *text;
	int binary; /* power of 1024, or 0 */
	int decimal; /* power of ten */
} suffixes[] = {
	{"n", 0, -9}, {"u", 0, -6}, {"m", 0, -3}, {"", 0, 0},   {"k", 0, 3},  {"M", 0, 6},  {"G", 0, 9},
	{"T", 0, 12}, {"P", 0, 15}, {"E", 0, 18}, {"Ki", 1, 0}, {"Mi", 2, 0}, {"Gi", 3, 0}, {"Ti", 4, 0},
	{"Pi", 5, 0}, {"Ei", 6, 0},
};

static __int128 times(__int128 value, __int128 factor)
{
	return value > LIMIT / factor ? LIMIT : value * factor;
}

/* Digits behind the ninth decimal round up, away from zero. */
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

bool as_quantity_parse(const char *text, struct as_quantity *out)
{
	bool negative = *text == '-', any = false;
	int binary, decimal, fraction = 0;
	__int128 value = 0;

	if (*text == '-' || *text == '+')
		text++;
	for (bool point = false; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		any = true;
		value = times(value, 10);
		if (value < LIMIT)
			value += *text - '0';
		fraction += point;
	}
	if (!any || !parse_suffix(text, out, &binary, &decimal))
		return false;
	for (; binary > 0; binary--)
		value = times(value, 1024);
	decimal += 9 - fraction;
	for (; decimal > 0 && value > 0; decimal--)
		value = times(value, 10);
	/* One division, so that rounding up happens once. */
	if (decimal < 0 && value > 0) {
		__int128 by = 1;

		for (; decimal < 0 && by < LIMIT; decimal++)
			by = times(by, 10);
		value = divide_up(value, by);
	}
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
	return scaled(q, NANO / 1000);
}

int64_t as_quantity_value(const struct as_quantity *q)
{
	return scaled(q, NANO);
}

static void print_number(char out[64], bool negative, __int128 value, const char *suffix)
{
	char digits[48];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value > 0);
	snprintf(out, 64, "%s%s%s", negative ? "-" : "", digits + at, suffix);
}

void as_quantity_print(const struct as_quantity *q, char out[64])
{
	static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	static const char *const decimal[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
	static const char *const exponent[] = {"e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18"};
	bool negative = q->nano < 0;
	__int128 value = negative ? -q->nano : q->nano;
	size_t power = 0;

	if (value == 0) {
		snprintf(out, 64, "0");
		return;
	}
	/* Small binary amounts are written as decimal ones, so that 0.5 stays 500m. */
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
