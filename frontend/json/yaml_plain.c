/* SPDX-License-Identifier: Apache-2.0 */
/* Types of plain scalars of YAML. */
#include "frontend/json/yaml.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_any(const char *text, size_t n, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strlen(*words) == n && memcmp(*words, text, n) == 0)
			return true;
	return false;
}

static size_t digits(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] >= '0' && text[i] <= '9')
		i++;
	return i;
}

/* 0x1F, 0o17 and, as kubectl reads it, 017.  False: not one, or over 64 bits. */
static bool based_integer(const char *text, size_t n, bool minus, struct bytes *out)
{
	unsigned base;
	uint64_t value = 0;
	char decimal[32];
	size_t i = 2;

	if (n > 2 && text[0] == '0' && text[1] == 'x')
		base = 16;
	else if (n > 2 && text[0] == '0' && text[1] == 'o')
		base = 8;
	else if (n > 1 && text[0] == '0')
		base = 8, i = 1;
	else
		return false;
	for (; i < n; i++) {
		char c = text[i];
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
		                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
		                                        : 99;

		if (digit >= base || value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	snprintf(decimal, sizeof(decimal), "%s%llu", minus ? "-" : "", (unsigned long long)value);
	bytes_put(out, decimal);
	return true;
}

/* 12, 1.5, .5, 1., 1e3: with the digits that were written. */
static bool decimal(const char *text, size_t n, bool minus, struct bytes *out)
{
	size_t whole = digits(text, n), fraction = 0, i = whole, skip = 0;
	size_t exponent_at, exponent = 0;

	if (i < n && text[i] == '.') {
		fraction = digits(text + i + 1, n - i - 1);
		i += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	exponent_at = i;
	if (i < n && (text[i] == 'e' || text[i] == 'E')) {
		i++;
		if (i < n && (text[i] == '+' || text[i] == '-'))
			i++;
		exponent = digits(text + i, n - i);
		if (exponent == 0)
			return false;
		i += exponent;
	}
	if (i != n)
		return false;
	while (skip + 1 < whole && text[skip] == '0')
		skip++;
	if (minus)
		bytes_put(out, "-");
	if (whole == 0)
		bytes_put(out, "0");
	bytes_add(out, text + skip, whole - skip);
	if (fraction > 0)
		bytes_add(out, text + whole, 1 + fraction);
	bytes_add(out, text + exponent_at, n - exponent_at);
	return true;
}

bool yaml_plain(const char *text, size_t n, struct bytes *out, bool *bad)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const trues[] = { "true", "True", "TRUE", NULL };
	static const char *const falses[] = { "false", "False", "FALSE", NULL };
	static const char *const infinite[] = { ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL };
	bool minus = n > 0 && text[0] == '-';
	size_t sign = n > 0 && (text[0] == '-' || text[0] == '+');

	*bad = false;
	if (is_any(text, n, nulls)) {
		bytes_put(out, "null");
		return true;
	}
	if (is_any(text, n, trues)) {
		bytes_put(out, "true");
		return true;
	}
	if (is_any(text, n, falses)) {
		bytes_put(out, "false");
		return true;
	}
	text += sign;
	n -= sign;
	if (is_any(text, n, infinite)) {
		*bad = true;
		return false;
	}
	return based_integer(text, n, minus, out) || decimal(text, n, minus, out);
}
