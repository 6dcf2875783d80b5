/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/json_scan.h"

#include <stdint.h>
#include <string.h>

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

struct masks {
	uint64_t quotes, backslashes, opens, closes, braces;
};

static void masks_of(const char *p, struct masks *m)
{
	*m = (struct masks){ 0 };
#ifdef __SSE2__
	for (int i = 0; i < 4; i++) {
		__m128i v = load16(p + 16 * i);
		/* '[' and '{', ']' and '}' differ in one bit. */
		__m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));

		m->quotes |= (uint64_t)bytes_equal(v, '"') << (16 * i);
		m->backslashes |= (uint64_t)bytes_equal(v, '\\') << (16 * i);
		m->opens |= (uint64_t)bytes_equal(folded, '{') << (16 * i);
		m->closes |= (uint64_t)bytes_equal(folded, '}') << (16 * i);
		/* Of brackets, the braces have the bit that 'a' has and 'A' has not. */
		m->braces |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_slli_epi16(v, 2)) << (16 * i);
	}
#else
	for (int i = 0; i < 64; i++) {
		m->quotes |= (uint64_t)(p[i] == '"') << i;
		m->backslashes |= (uint64_t)(p[i] == '\\') << i;
		m->opens |= (uint64_t)(p[i] == '{' || p[i] == '[') << i;
		m->closes |= (uint64_t)(p[i] == '}' || p[i] == ']') << i;
		m->braces |= (uint64_t)(p[i] == '{' || p[i] == '}') << i;
	}
#endif
}

#define KINDS_BITS 64u

struct skip {
	uint64_t kinds; /* one bit for each of the innermost levels: it is an object */
	unsigned level;
	bool is_deep;       /* there were more levels than bits: brackets are counted alone */
	bool is_escaped;    /* the next byte follows a backslash */
	uint64_t in_string; /* all ones: within a string */
};

/* Bits of bytes that follow a backslash which is not escaped itself. */
static uint64_t escaped_bits(struct skip *s, uint64_t backslashes)
{
	uint64_t escaped = s->is_escaped;

	backslashes &= ~escaped;
	s->is_escaped = false;
	while (backslashes) {
		uint64_t bit = backslashes & -backslashes;

		if (bit >> 63)
			s->is_escaped = true;
		escaped |= bit << 1;
		backslashes &= ~(bit | bit << 1);
	}
	return escaped;
}

/* Bits of bytes within strings: from each quote to the next. */
static uint64_t string_bits(struct skip *s, uint64_t quotes)
{
	quotes ^= quotes << 1;
	quotes ^= quotes << 2;
	quotes ^= quotes << 4;
	quotes ^= quotes << 8;
	quotes ^= quotes << 16;
	quotes ^= quotes << 32;
	quotes ^= s->in_string;
	s->in_string = 0 - (quotes >> 63);
	return quotes;
}

/* Index after the bracket that closes the container; -1: not in this block; -2: not JSON. */
static int skip_block(struct skip *s, const char *p)
{
	struct masks m;
	uint64_t strings, bits;

	masks_of(p, &m);
	if (m.backslashes || s->is_escaped)
		m.quotes &= ~escaped_bits(s, m.backslashes);
	strings = string_bits(s, m.quotes);
	for (bits = (m.opens | m.closes) & ~strings; bits; bits &= bits - 1) {
		int i = __builtin_ctzll(bits);
		uint64_t brace = m.braces >> i & 1;

		if (m.opens >> i & 1) {
			if (s->level == KINDS_BITS)
				s->is_deep = true;
			s->kinds = s->kinds << 1 | brace;
			s->level++;
			continue;
		}
		if ((s->kinds & 1) != brace && !s->is_deep)
			return -2;
		s->kinds >>= 1;
		if (--s->level == 0)
			return i + 1;
	}
	return -1;
}

const char *scan_container(const char *p, const char *end)
{
	struct skip s = { 0 };
	char tail[64];
	int at;

	if (end - p >= 2 && p[1] == (p[0] == '{' ? '}' : ']'))
		return p + 2;
	for (; end - p >= 64; p += 64) {
		at = skip_block(&s, p);
		if (at != -1)
			return at < 0 ? NULL : p + at;
	}
	memset(tail, ' ', sizeof(tail));
	memcpy(tail, p, (size_t)(end - p));
	at = skip_block(&s, tail);
	return at < 0 ? NULL : p + at;
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

size_t scan_drop_broken(char *text)
{
	const char *p = text, *end = text + strlen(text);
	char *out = text;

	while (p < end) {
		int n = utf8_bytes(p, end);

		for (int i = 0; i < n; i++)
			*out++ = *p++;
		p += n == 0;
	}
	*out = '\0';
	return (size_t)(end - out);
}
