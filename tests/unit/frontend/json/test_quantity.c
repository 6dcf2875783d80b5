/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities against what Kubernetes makes of them, and random ones against
 * arithmetic on decimal digits by hand. */
#include "frontend/json/quantity.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

static nano_t parsed(const char *text)
{
	nano_t q = -1;

	cr_assert_eq(quantity_parse(text, strlen(text), &q), 0, "%s is a quantity", text);
	return q;
}

Test(quantity, in_units_and_thousandths)
{
	static const struct {
		const char *text;
		int64_t value, milli;
	} rows[] = {
		{ "0", 0, 0 },
		{ "1", 1, 1000 },
		{ "+3", 3, 3000 },
		{ "007", 7, 7000 },
		{ "100m", 1, 100 },
		{ "1500m", 2, 1500 },
		{ "0.1", 1, 100 },
		{ "0.0001", 1, 1 },
		{ ".5", 1, 500 },
		{ "5.", 5, 5000 },
		{ "1u", 1, 1 },
		{ "1n", 1, 1 },
		{ "0.1n", 1, 1 },
		{ "1k", 1000, 1000000 },
		{ "2M", 2000000, 2000000000 },
		{ "1.5Gi", 1610612736, 1610612736000 },
		{ "1Ki", 1024, 1024000 },
		{ "0.5Ki", 512, 512000 },
		{ "1e3", 1000, 1000000 },
		{ "1E3", 1000, 1000000 },
		{ "250e-3", 1, 250 },
		{ "1e+2", 100, 100000 },
		{ "1E", INT64_C(1000000000000000000), INT64_MAX },
		{ "7Ei", INT64_C(8070450532247928832), INT64_MAX },
		{ "8Ei", INT64_MAX, INT64_MAX },
		{ "9223372036854775807", INT64_MAX, INT64_MAX },
		{ "9223372036854775806", INT64_MAX - 1, INT64_MAX },
		{ "1e400", INT64_MAX, INT64_MAX },
		{ "1e-400", 1, 1 },
		{ "0e400", 0, 0 },
		{ "0.0000001", 1, 1 },
		{ "100000000000000000000m", INT64_C(100000000000000000), INT64_C(9223372036854775807) },
		{ "1e4294967296", INT64_MAX, INT64_MAX },
		{ "99999999999999999999999999999999999999999999999999e-48", 100, 100000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		nano_t q = parsed(rows[i].text);

		cr_assert_eq(quantity_value(q), rows[i].value, "%s is %lld units", rows[i].text,
		             (long long)quantity_value(q));
		cr_assert_eq(quantity_milli(q), rows[i].milli, "%s is %lld milli", rows[i].text,
		             (long long)quantity_milli(q));
	}
}

Test(quantity, what_is_none)
{
	static const char *const bad[] = { "",
		                               " ",
		                               "-",
		                               "+",
		                               ".",
		                               "Ki",
		                               "12x",
		                               "1e18Ei",
		                               "1e",
		                               "1e+",
		                               "1Kii",
		                               "1 Ki",
		                               "1..2",
		                               "1.2.3",
		                               "--1",
		                               "1k5",
		                               "0x10",
		                               "1e99999999999999999999",
		                               "1ki",
		                               "1K",
		                               "NaN",
		                               "inf",
		                               "1e1.5",
		                               "1m-1",
		                               "1,5",
		                               "1i",
		                               ("\xc2\xb5"
		                                "1") };
	nano_t q;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(quantity_parse(bad[i], strlen(bad[i]), &q), -EINVAL, "\"%s\" is none", bad[i]);
	cr_assert_eq(quantity_parse("1\0"
	                            "2",
	                            3, &q),
	             -EINVAL);
}

Test(quantity, a_sign_is_kept)
{
	cr_assert(parsed("-1") == -(nano_t)1000000000);
	cr_assert(parsed("-0.1n") == -1);
	cr_assert(parsed("-1e400") == -NANO_MAX);
}

Test(quantity, three_times_1500m_bytes_are_five)
{
	nano_t sum = 0;

	for (int i = 0; i < 3; i++)
		sum = quantity_add(sum, parsed("1500m"));
	cr_assert_eq(quantity_value(sum), 5);
	cr_assert(quantity_add(NANO_MAX, 1) == NANO_MAX);
}

#define DIGITS 2000

struct decimal {
	int digit[DIGITS]; /* the lowest first */
	int n;
};

static void decimal_double(struct decimal *d)
{
	int carry = 0;

	for (int i = 0; i < d->n || carry; i++) {
		int sum = (i < d->n ? d->digit[i] * 2 : 0) + carry;

		cr_assert(i < DIGITS);
		if (i >= d->n)
			d->n = i + 1;
		d->digit[i] = sum % 10;
		carry = sum / 10;
	}
}

static void decimal_increment(struct decimal *d)
{
	int i = 0;

	for (; i < d->n && d->digit[i] == 9; i++)
		d->digit[i] = 0;
	if (i == d->n)
		d->digit[d->n++] = 0;
	d->digit[i]++;
}

/* digits (as text, the highest first) * 2^shift * 10^exponent, rounded up, as text. */
static void by_hand(const char *digits, int shift, int exponent, char *out)
{
	static struct decimal d;
	bool lost = false;
	int n = (int)strlen(digits), i;

	memset(&d, 0, sizeof(d));
	for (i = 0; i < n; i++)
		d.digit[i] = digits[n - 1 - i] - '0';
	d.n = n;
	for (i = 0; i < shift; i++)
		decimal_double(&d);
	if (exponent > 0) {
		cr_assert(d.n + exponent < DIGITS);
		memmove(d.digit + exponent, d.digit, (size_t)d.n * sizeof(int));
		memset(d.digit, 0, (size_t)exponent * sizeof(int));
		d.n += exponent;
	} else if (exponent < 0) {
		int cut = -exponent < d.n ? -exponent : d.n;

		for (i = 0; i < cut; i++)
			lost |= d.digit[i] != 0;
		memmove(d.digit, d.digit + cut, (size_t)(d.n - cut) * sizeof(int));
		d.n -= cut;
	}
	if (lost)
		decimal_increment(&d);
	while (d.n > 0 && d.digit[d.n - 1] == 0)
		d.n--;
	if (d.n == 0)
		strcpy(out, "0");
	else
		for (i = 0; i < d.n; i++)
			sprintf(out + i, "%d", d.digit[d.n - 1 - i]);
	/* NANO_MAX */
	if (d.n > 28 || (d.n == 28 && strcmp(out, "9223372036854775807000000000") > 0))
		strcpy(out, "9223372036854775807000000000");
}

static void print_nano(nano_t q, char *out)
{
	char reversed[64];
	int n = 0;

	do {
		reversed[n++] = (char)('0' + (int)(q % 10));
		q /= 10;
	} while (q > 0);
	for (int i = 0; i < n; i++)
		out[i] = reversed[n - 1 - i];
	out[n] = '\0';
}

Test(quantity, random_ones_are_exact)
{
	static const struct {
		const char *text;
		int exponent, shift;
	} suffixes[] = {
		{ "", 0, 0 },    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },
		{ "k", 3, 0 },   { "M", 6, 0 },   { "G", 9, 0 },   { "T", 12, 0 },
		{ "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
		{ "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
	};
	struct random r = random_start("quantity");

	for (int round = 0; round < 60000; round++) {
		char text[400], digits[300], expected[DIGITS + 1], found[64];
		uint32_t whole = random_below(&r, random_below(&r, 8) == 0 ? 120 : 12);
		uint32_t part = random_below(&r, random_below(&r, 8) == 0 ? 120 : 12);
		int n = 0, exponent = 9 - (int)part, shift = 0;
		nano_t q;

		if (whole + part == 0)
			whole = 1;
		for (uint32_t i = 0; i < whole + part; i++)
			digits[i] = (char)('0' + (random_below(&r, 3) ? random_below(&r, 10) : 0));
		digits[whole + part] = '\0';
		n = sprintf(text, "%.*s", (int)whole, digits);
		if (part > 0 || random_below(&r, 4) == 0)
			n += sprintf(text + n, ".%s", digits + whole);
		if (random_below(&r, 4) == 0) {
			int e = (int)random_below(&r, 81) - 40;

			sprintf(text + n, "%c%s%d", random_below(&r, 2) ? 'e' : 'E',
			        e >= 0 && random_below(&r, 2) ? "+" : "", e);
			exponent += e;
		} else {
			uint32_t s = random_below(&r, sizeof(suffixes) / sizeof(suffixes[0]));

			strcpy(text + n, suffixes[s].text);
			exponent += suffixes[s].exponent;
			shift = suffixes[s].shift;
		}
		by_hand(digits, shift, exponent, expected);
		cr_assert_eq(quantity_parse(text, strlen(text), &q), 0, "%s is a quantity", text);
		print_nano(q, found);
		cr_assert_str_eq(found, expected, "%s: %s, not %s", text, found, expected);
	}
}

/* Garbage of the right letters: whatever comes, it is taken or refused, and never
 * read past its end. */
Test(quantity, random_garbage_is_no_harm)
{
	static const char letters[] = "0123456789.+-eEinumkKMGTPx ";
	struct random r = random_start("quantity garbage");

	for (int round = 0; round < 200000; round++) {
		uint32_t n = random_below(&r, 12);
		char *text = malloc(n + (n == 0));
		nano_t q = 0;

		cr_assert(text);
		for (uint32_t i = 0; i < n; i++)
			text[i] = letters[random_below(&r, sizeof(letters) - 1)];
		if (quantity_parse(text, n, &q) == 0)
			cr_assert(q <= NANO_MAX && q >= -NANO_MAX);
		free(text);
	}
}
