#include "frontend/json_scan.h"

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__
static inline __m128i load16(const char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline unsigned bytes_equal(__m128i v, char c)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}
#endif

const char *scan_text(const char *p, const char *end)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v = load16(p);
		/* As signed bytes, control bytes and those above ASCII are less than a blank. */
		unsigned hit = bytes_equal(v, '"') | bytes_equal(v, '\\') |
			(unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)));

		if (hit)
			return p + __builtin_ctz(hit);
		p += 16;
	}
#endif
	while (p < end && *p != '"' && *p != '\\' && (signed char)*p >= 0x20)
		p++;
	return p;
}

static const char *scan_quote(const char *p, const char *end)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v = load16(p);
		unsigned hit = bytes_equal(v, '"') | bytes_equal(v, '\\');

		if (hit)
			return p + __builtin_ctz(hit);
		p += 16;
	}
#endif
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

const char *scan_string(const char *p, const char *end)
{
	for (;;) {
		p = scan_quote(p, end);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p + 1;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
}

/* The first quote or bracket. */
static const char *scan_structure(const char *p, const char *end)
{
#ifdef __SSE2__
	while (end - p >= 16) {
		__m128i v = load16(p);
		/* '[' and '{', ']' and '}' differ in one bit. */
		__m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
		unsigned hit = bytes_equal(v, '"') | bytes_equal(folded, '{') | bytes_equal(folded, '}');

		if (hit)
			return p + __builtin_ctz(hit);
		p += 16;
	}
#endif
	while (p < end && *p != '"' && *p != '{' && *p != '}' && *p != '[' && *p != ']')
		p++;
	return p;
}

const char *scan_container(const char *p, const char *end, unsigned depth)
{
	uint64_t kinds = 0; /* one bit for each level: is it an object? */
	unsigned level = 0;

	if (depth > 64)
		depth = 64;
	for (;;) {
		p = scan_structure(p, end);
		if (p == end)
			return NULL;
		switch (*p++) {
		case '"':
			p = scan_string(p, end);
			if (!p)
				return NULL;
			break;
		case '{':
		case '[':
			if (level == depth)
				return NULL;
			kinds = kinds << 1 | (p[-1] == '{');
			level++;
			break;
		default:
			if ((kinds & 1) != (p[-1] == '}'))
				return NULL;
			kinds >>= 1;
			if (--level == 0)
				return p;
		}
	}
}

const char *scan_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

static bool is_tail(const char *p, const char *end, int n)
{
	if (end - p <= n)
		return false;
	for (int i = 1; i <= n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/* Bytes of the character at p, or 0. */
static int utf8_bytes(const char *p, const char *end)
{
	unsigned char a = (unsigned char)p[0];
	unsigned char b = end - p > 1 ? (unsigned char)p[1] : 0;

	if (a < 0x80)
		return 1;
	if (a >= 0xc2 && a <= 0xdf)
		return is_tail(p, end, 1) ? 2 : 0;
	if (a >= 0xe0 && a <= 0xef) {
		if (!is_tail(p, end, 2) || (a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f))
			return 0;
		return 3;
	}
	if (a >= 0xf0 && a <= 0xf4) {
		if (!is_tail(p, end, 3) || (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

bool scan_utf8(const char *p, const char *end)
{
	while (p < end) {
		int n = utf8_bytes(p, end);

		if (n == 0)
			return false;
		p += n;
	}
	return true;
}
