/* SPDX-License-Identifier: Apache-2.0 */
/* Versions, quantities and numbers from text, with the errors of the libraries that Kubernetes
 * uses: github.com/blang/semver, apimachinery's resource.Quantity, strconv. */
#include "frontend/cel/value.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

__attribute__((format(printf, 2, 3))) static bool fail(struct cel_error *error, const char *format,
                                                       ...)
{
	va_list args;

	*error = (struct cel_error){ 0 };
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return false;
}

static bool only_digits(struct text t)
{
	size_t i;

	for (i = 0; i < t.bytes; i++)
		if (!is_digit(t.at[i]))
			return false;
	return true;
}

static bool only_alphanumeric(struct text t)
{
	size_t i;

	for (i = 0; i < t.bytes; i++) {
		char c = t.at[i];

		if (!is_digit(c) && c != '-' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
			return false;
	}
	return true;
}

/* Up to the separator, which is removed from what remains; all if there is none. */
static struct text cut(struct text *rest, char separator)
{
	const char *at = rest->bytes ? memchr(rest->at, separator, rest->bytes) : NULL;
	struct text part = *rest;

	if (!at) {
		*rest = (struct text){ NULL, 0 };
		return part;
	}
	part.bytes = (size_t)(at - part.at);
	rest->bytes -= part.bytes + 1;
	rest->at = at + 1;
	return part;
}

/* Quoted as Go's %q does it, for texts of the printable part of ASCII; other bytes as \x. */
static const char *quote(struct text t, char out[256])
{
	size_t n = 0, i;

	out[n++] = '"';
	for (i = 0; i < t.bytes && n < 240; i++) {
		unsigned char c = (unsigned char)t.at[i];

		if (c == '"' || c == '\\')
			out[n++] = '\\';
		if (c == '\n' || c == '\t' || c == '\r')
			n += (size_t)snprintf(out + n, 256 - n, "\\%c",
			                      c == '\n'   ? 'n'
			                      : c == '\t' ? 't'
			                                  : 'r');
		else if (c < 0x20 || c == 0x7f)
			n += (size_t)snprintf(out + n, 256 - n, "\\x%02x", c);
		else
			out[n++] = (char)c;
	}
	out[n++] = '"';
	out[n] = '\0';
	return out;
}

static bool number_parse(struct text t, uint64_t *out, struct cel_error *error)
{
	char quoted[256];

	if (cel_parse_uint(t, out))
		return true;
	return fail(error, "strconv.ParseUint: parsing %s: %s", quote(t, quoted),
	            t.bytes ? "value out of range" : "invalid syntax");
}

static bool part_parse(struct text t, const char *name, const char *title, uint64_t *out,
                       struct cel_error *error)
{
	char quoted[256];

	if (!only_digits(t))
		return fail(error, "Invalid character(s) found in %s number %s", name, quote(t, quoted));
	if (t.bytes > 1 && t.at[0] == '0')
		return fail(error, "%s number must not contain leading zeroes %s", title, quote(t, quoted));
	return number_parse(t, out, error);
}

static bool pre_valid(struct text pre, struct cel_error *error)
{
	char quoted[256];

	for (;;) {
		bool last = !memchr(pre.at, '.', pre.bytes);
		struct text part = cut(&pre, '.');
		uint64_t number;

		if (part.bytes == 0)
			return fail(error, "Prerelease is empty");
		if (only_digits(part)) {
			if (part.bytes > 1 && part.at[0] == '0')
				return fail(error, "Numeric PreRelease version must not contain leading zeroes %s",
				            quote(part, quoted));
			if (!number_parse(part, &number, error))
				return false;
		} else if (!only_alphanumeric(part)) {
			return fail(error, "Invalid character(s) found in prerelease %s", quote(part, quoted));
		}
		if (last)
			return true;
	}
}

static bool build_valid(struct text build, struct cel_error *error)
{
	char quoted[256];

	for (;;) {
		bool last = !build.bytes || !memchr(build.at, '.', build.bytes);
		struct text part = cut(&build, '.');

		if (part.bytes == 0)
			return fail(error, "Build meta data is empty");
		if (!only_alphanumeric(part))
			return fail(error, "Invalid character(s) found in build meta data %s",
			            quote(part, quoted));
		if (last)
			return true;
	}
}

bool cel_version_parse(struct text text, struct cel_version *out, struct cel_error *error)
{
	struct cel_version v = { 0 };
	struct text rest = text, part[2];
	struct text build, pre;
	bool has_build, has_pre;
	unsigned i;

	if (text.bytes == 0)
		return fail(error, "Version string empty");
	for (i = 0; i < 2; i++) {
		if (!rest.bytes || !memchr(rest.at, '.', rest.bytes))
			return fail(error, "No Major.Minor.Patch elements found");
		part[i] = cut(&rest, '.');
	}
	if (!part_parse(part[0], "major", "Major", &v.number[0], error) ||
	    !part_parse(part[1], "minor", "Minor", &v.number[1], error))
		return false;
	has_build = rest.bytes && memchr(rest.at, '+', rest.bytes);
	build = rest;
	rest = cut(&build, '+');
	has_pre = rest.bytes && memchr(rest.at, '-', rest.bytes);
	pre = rest;
	rest = cut(&pre, '-');
	if (!part_parse(rest, "patch", "Patch", &v.number[2], error))
		return false;
	if (has_pre && pre.bytes == 0)
		return fail(error, "Prerelease is empty");
	if (has_pre && !pre_valid(pre, error))
		return false;
	if (has_build && !build_valid(build, error))
		return false;
	v.pre = has_pre ? pre : (struct text){ NULL, 0 };
	*out = v;
	return true;
}

static int pre_compare(struct text a, struct text b)
{
	bool a_digits = only_digits(a), b_digits = only_digits(b);
	int order = text_order(a, b);

	if (a_digits != b_digits)
		return a_digits ? -1 : 1;
	/* Numbers have no leading zeros, so the longer one is greater. */
	if (a_digits && a.bytes != b.bytes)
		return a.bytes < b.bytes ? -1 : 1;
	return (order > 0) - (order < 0);
}

int cel_version_compare(const struct cel_version *a, const struct cel_version *b)
{
	struct text ra = a->pre, rb = b->pre;
	unsigned i;

	for (i = 0; i < 3; i++)
		if (a->number[i] != b->number[i])
			return a->number[i] > b->number[i] ? 1 : -1;
	if (!ra.bytes || !rb.bytes)
		return ra.bytes ? -1 : rb.bytes ? 1 : 0;
	while (ra.bytes && rb.bytes) {
		struct text pa = cut(&ra, '.'), pb = cut(&rb, '.');
		int rc = pre_compare(pa, pb);

		if (rc)
			return rc;
	}
	return ra.bytes ? 1 : rb.bytes ? -1 : 0;
}

#define FORMAT_WRONG                                                                               \
	"quantities must match the regular expression "                                                \
	"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

static const char *digits_end(const char *p, const char *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

/* How the number is stored: parseQuantity's choice between an int64 with a scale and a decimal. */
static void quantity_form(struct text digits, struct text fraction, struct text suffix,
                          struct cel_quantity *q)
{
	static const char letters[] = "numkMGTPE";
	static const int8_t exponents[] = { -9, -6, -3, 3, 6, 9, 12, 15, 18 };
	int exponent = 0, precision;

	q->scale = 0;
	q->decimal = false;
	if (suffix.bytes == 2 && suffix.at[1] == 'i') {
		static const char binary[] = "KMGTPE";
		const char *at = strchr(binary, suffix.at[0]);

		exponent = at ? 10 * (int)(at - binary + 1) : 0;
		precision = fraction.bytes ? -1 : 15 - (int)digits.bytes - exponent * 3 / 10 - 1;
		q->decimal = precision < 0;
		return;
	}
	if (suffix.bytes == 1 && strchr(letters, suffix.at[0]))
		exponent = exponents[strchr(letters, suffix.at[0]) - letters];
	else if (suffix.bytes > 1)
		exponent = atoi(suffix.at + 1);
	precision = 18 - (int)(digits.bytes + fraction.bytes);
	exponent -= (int)fraction.bytes;
	q->decimal = precision < 0 || exponent < -9 || exponent > 100;
	q->scale = q->decimal ? 0 : (int8_t)exponent;
}

bool cel_quantity_parse(struct text text, struct cel_quantity *out, struct cel_error *error)
{
	const char *end = text.at + text.bytes, *p = text.at;
	struct text digits, fraction = { NULL, 0 }, suffix;
	struct cel_quantity q = { 0 };
	char copy[96];

	if (text.bytes == 0)
		return fail(error, FORMAT_WRONG);
	if (*p == '-' || *p == '+')
		p++;
	while (p < end && *p == '0')
		p++;
	digits.at = p;
	p = digits_end(p, end);
	digits.bytes = (size_t)(p - digits.at);
	if (digits.bytes == 0)
		digits = text_of("0");
	if (p < end && *p == '.') {
		fraction.at = ++p;
		p = digits_end(p, end);
		fraction.bytes = (size_t)(p - fraction.at);
	}
	suffix.at = p;
	while (p < end && memchr("eEinumkKMGTP", *p, 12))
		p++;
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	p = digits_end(p, end);
	if (p < end)
		return fail(error, FORMAT_WRONG);
	suffix.bytes = (size_t)(p - suffix.at);
	/* A number without digits is 0 for the API server, and an error for quantity_parse(). */
	if (suffix.at == text.at || (suffix.at == text.at + 1 && !is_digit(*text.at))) {
		int n = snprintf(copy, sizeof(copy), "0%.*s", (int)(suffix.bytes > 80 ? 80 : suffix.bytes),
		                 suffix.at);

		if (quantity_parse(copy, (size_t)n, &q.nano) < 0)
			return fail(error, "unable to parse quantity's suffix");
	} else if (quantity_parse(text.at, text.bytes, &q.nano) < 0) {
		return fail(error, "unable to parse quantity's suffix");
	}
	if (suffix.bytes < sizeof(copy)) {
		if (suffix.bytes)
			memcpy(copy, suffix.at, suffix.bytes);
		copy[suffix.bytes] = '\0';
		suffix.at = copy;
	} else {
		suffix.bytes = 0;
	}
	quantity_form(digits, fraction, suffix, &q);
	*out = q;
	return true;
}

int cel_quantity_compare(const struct cel_quantity *a, const struct cel_quantity *b)
{
	return (a->nano > b->nano) - (a->nano < b->nano);
}

static nano_t power10(int n)
{
	nano_t v = 1;

	while (n-- > 0)
		v *= 10;
	return v;
}

bool cel_quantity_int(const struct cel_quantity *q, int64_t *out)
{
	if (q->decimal || q->scale < 0 || q->nano % 1000000000 != 0)
		return false;
	if (q->nano / 1000000000 > INT64_MAX || q->nano / 1000000000 < INT64_MIN)
		return false;
	*out = (int64_t)(q->nano / 1000000000);
	return true;
}

double cel_quantity_double(const struct cel_quantity *q)
{
	if (q->decimal)
		return (double)q->nano * 1e-9;
	if (q->scale == 0)
		return (double)(q->nano / 1000000000);
	if (q->scale > 27)
		return (double)q->nano * 1e-9;
	return (double)(q->nano / power10(9 + q->scale)) * pow(10, q->scale);
}

struct cel_quantity cel_quantity_sum(const struct cel_quantity *a, const struct cel_quantity *b,
                                     bool minus)
{
	struct cel_quantity sum = { .computed = true };
	nano_t most = NANO_MAX * 16;

	sum.nano = minus ? a->nano - b->nano : a->nano + b->nano;
	if (sum.nano > most)
		sum.nano = most;
	if (sum.nano < -most)
		sum.nano = -most;
	if (b->nano == 0 && !b->decimal) {
		sum.scale = a->scale;
		sum.decimal = a->decimal;
	} else if (a->nano == 0 && (!a->decimal || !b->decimal)) {
		sum.scale = b->scale;
		sum.decimal = b->decimal;
	} else {
		sum.scale = a->scale < b->scale ? a->scale : b->scale;
		sum.decimal = a->decimal || b->decimal;
	}
	return sum;
}

void cel_name_split(struct text written, struct text driver, struct text *domain, struct text *name)
{
	const char *slash = written.bytes ? memchr(written.at, '/', written.bytes) : NULL;

	if (!slash) {
		*domain = driver;
		*name = written;
		return;
	}
	domain->at = written.at;
	domain->bytes = (size_t)(slash - written.at);
	name->at = slash + 1;
	name->bytes = written.bytes - domain->bytes - 1;
}

bool cel_parse_uint(struct text t, uint64_t *out)
{
	uint64_t v = 0;
	size_t i;

	if (t.bytes == 0)
		return false;
	for (i = 0; i < t.bytes; i++) {
		if (!is_digit(t.at[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(t.at[i] - '0'), &v))
			return false;
	}
	*out = v;
	return true;
}

/* strconv.ParseFloat: decimal and hexadecimal numbers, inf and nan. */
bool cel_parse_double(struct text t, double *out)
{
	char copy[128];
	char *end;
	size_t i;

	if (t.bytes == 0 || t.bytes >= sizeof(copy))
		return false;
	for (i = 0; i < t.bytes; i++)
		if (!strchr("0123456789+-.eEinftyaINFTYAxXpPbcdBCD", t.at[i]) || t.at[i] == '\0')
			return false;
	memcpy(copy, t.at, t.bytes);
	copy[t.bytes] = '\0';
	*out = strtod(copy, &end);
	/* "1e400" is out of range; "inf" is not. */
	if (isinf(*out) && !strpbrk(copy, "iI"))
		return false;
	/* Go has hexadecimal numbers with an exponent only. */
	if (strpbrk(copy, "xX") && !strpbrk(copy, "pP"))
		return false;
	if (isnan(*out) && (copy[0] == '+' || copy[0] == '-'))
		return false;
	return end == copy + t.bytes;
}

size_t cel_rune(const char *at, const char *end, uint32_t *rune)
{
	const unsigned char *p = (const unsigned char *)at;
	size_t left = (size_t)(end - at), n, i;
	uint32_t r;

	if (p[0] < 0x80) {
		*rune = p[0];
		return 1;
	}
	*rune = 0xfffd;
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || left < n)
		return 1;
	r = p[0] & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		r = r << 6 | (p[i] & 0x3f);
	}
	if ((n == 3 && r < 0x800) || (n == 4 && r < 0x10000) || r > 0x10ffff ||
	    (r >= 0xd800 && r < 0xe000))
		return 1;
	*rune = r;
	return n;
}
