/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of strings.  Positions are counted in code points, as in cel-go's ext/strings.go. */
#include "frontend/cel/function.h"

#include "frontend/json/json_scan.h"

#include <stdio.h>
#include <string.h>

uint32_t cel_string_size(struct cel_scratch *s, const struct cel_value *v)
{
	const char *p = v->text, *end = v->text + v->n;
	uint32_t n = 0, rune;

	cel_charge(s, v->n);
	for (; p < end; n++)
		p += cel_rune(p, end, &rune);
	return n;
}

/* Where code point `at` begins; the end if there are fewer. */
static const char *rune_at(const struct cel_value *v, int64_t at)
{
	const char *p = v->text, *end = v->text + v->n;
	uint32_t rune;

	while (at-- > 0 && p < end)
		p += cel_rune(p, end, &rune);
	return p;
}

static struct cel_value part(const char *from, const char *to)
{
	return cel_string((struct text){ from, (size_t)(to - from) });
}

static const char *search(const char *from, const char *end, struct text what)
{
	if (what.bytes == 0)
		return from;
	return from < end ? memmem(from, (size_t)(end - from), what.at, what.bytes) : NULL;
}

struct cel_value cel_string_contains(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];

	/* memmem() is linear. */
	cel_charge(c->s, (size_t)v->n + c->args[1].n);
	return cel_bool(search(v->text, v->text + v->n, cel_text(&c->args[1])) != NULL);
}

struct cel_value cel_string_starts_with(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0], *with = &c->args[1];

	cel_charge(c->s, with->n);
	return cel_bool(with->n <= v->n && (with->n == 0 || memcmp(v->text, with->text, with->n) == 0));
}

struct cel_value cel_string_ends_with(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0], *with = &c->args[1];

	cel_charge(c->s, with->n);
	return cel_bool(with->n <= v->n &&
	                (with->n == 0 || memcmp(v->text + v->n - with->n, with->text, with->n) == 0));
}

/* The pattern, compiled now if it is no constant.  NULL: *error. */
static const struct regex *pattern(struct cel_call *c, const char *before, struct cel_value *error)
{
	const struct regex *r = c->regex;
	struct text t = cel_text(&c->args[1]);
	char why[256];

	if (r)
		return r;
	/* What the compiler needs: the tree, and a program of any size. */
	cel_charge(c->s, t.bytes * 64 + 4096);
	if (c->s->exceeded || !cel_alloc(c->s, t.bytes * 64 + 4096)) {
		*error = cel_error_text("");
		return NULL;
	}
	switch (regex_compile(t, &c->s->arena, &r, why)) {
	case REGEX_OK:
		cel_charge(c->s, regex_size(r) * 8);
		return r;
	case REGEX_INVALID:
		*error = cel_error(c->s, "%s%s", before, why);
		return NULL;
	default:
		snprintf(c->s->why, sizeof(c->s->why), "%s", why);
		c->s->exceeded = true;
		*error = cel_error_text("");
		return NULL;
	}
}

static void *search_memory(struct cel_call *c, const struct regex *r)
{
	return cel_alloc(c->s, regex_memory(r));
}

static void charge_search(struct cel_call *c, const struct regex *r, size_t bytes)
{
	/* A step is 64 instructions of a thread, each some nanoseconds. */
	cel_charge(c->s, (bytes + 1) * (regex_size(r) + 4) / 4);
}

struct cel_value cel_string_matches(struct cel_call *c)
{
	struct cel_value error;
	const struct regex *r = pattern(c, "", &error);
	void *memory;

	if (!r)
		return error;
	charge_search(c, r, c->args[0].n);
	memory = search_memory(c, r);
	if (!memory || c->s->exceeded)
		return cel_error_text("");
	return cel_bool(regex_search(r, cel_text(&c->args[0]), 0, memory, NULL, NULL));
}

struct cel_value cel_string_find(struct cel_call *c)
{
	struct cel_value error;
	const struct regex *r = pattern(c, "Illegal regex: ", &error);
	size_t begin, end;
	void *memory;

	if (!r)
		return error;
	charge_search(c, r, c->args[0].n);
	memory = search_memory(c, r);
	if (!memory || c->s->exceeded)
		return cel_error_text("");
	if (!regex_search(r, cel_text(&c->args[0]), 0, memory, &begin, &end))
		return cel_string((struct text){ "", 0 });
	return part(c->args[0].text + begin, c->args[0].text + end);
}

struct cel_value cel_string_find_all(struct cel_call *c)
{
	struct cel_value error, out;
	const struct regex *r = pattern(c, "Illegal regex: ", &error);
	struct text t = cel_text(&c->args[0]);
	size_t from = 0, begin, end, last = SIZE_MAX;
	int64_t limit = c->n == 3 ? c->args[2].i : -1;
	void *memory;

	if (!r)
		return error;
	memory = search_memory(c, r);
	out = cel_list(c->s, t.bytes + 1);
	if (!memory || out.kind == CEL_ERROR)
		return cel_error_text("");
	out.n = 0;
	while (from <= t.bytes && (limit < 0 || out.n < limit) && !c->s->exceeded) {
		uint32_t rune;

		charge_search(c, r, t.bytes - from);
		if (c->s->exceeded || !regex_search(r, t, from, memory, &begin, &end))
			break;
		/* An empty match right behind another is none. */
		if (end > begin || begin != last)
			out.items[out.n++] = part(t.at + begin, t.at + end);
		last = end;
		from = end;
		if (end == begin)
			from += end < t.bytes ? cel_rune(t.at + end, t.at + t.bytes, &rune) : 1;
	}
	return out;
}

static struct cel_value out_of_range(struct cel_call *c, int64_t at)
{
	return cel_error(c->s, "index out of range: %lld", (long long)at);
}

struct cel_value cel_string_char_at(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	int64_t at = c->args[1].i;
	uint32_t n = cel_string_size(c->s, v), rune;
	const char *p;

	if (at < 0 || at > n)
		return out_of_range(c, at);
	if (at == n)
		return cel_string((struct text){ "", 0 });
	p = rune_at(v, at);
	return part(p, p + cel_rune(p, v->text + v->n, &rune));
}

struct cel_value cel_string_substring(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	int64_t from = c->args[1].i, n = cel_string_size(c->s, v), to = c->n == 3 ? c->args[2].i : n;

	if (c->n == 3 && from > to)
		return cel_error(c->s, "invalid substring range. start: %lld, end: %lld", (long long)from,
		                 (long long)to);
	if (from < 0 || from > n)
		return out_of_range(c, from);
	if (to < 0 || to > n)
		return out_of_range(c, to);
	return part(rune_at(v, from), rune_at(v, to));
}

struct cel_value cel_string_index_of(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0], *what = &c->args[1];
	int64_t from = c->n == 3 ? c->args[2].i : 0;
	const char *p;
	struct cel_value before;

	if (what->n == 0)
		return cel_int(from);
	if (from < 0)
		return out_of_range(c, from);
	if (from >= cel_string_size(c->s, v))
		return cel_int(-1);
	cel_charge(c->s, (size_t)v->n + what->n);
	p = search(rune_at(v, from), v->text + v->n, cel_text(what));
	if (!p)
		return cel_int(-1);
	before = part(v->text, p);
	return cel_int(cel_string_size(c->s, &before));
}

struct cel_value cel_string_last_index_of(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0], *what = &c->args[1];
	int64_t n = cel_string_size(c->s, v), from = c->n == 3 ? c->args[2].i : n - 1, at;
	const char *p, *end = v->text + v->n;

	if (what->n == 0)
		return cel_int(c->n == 3 ? from : n);
	if (c->n == 2 && v->n < what->n)
		return cel_int(-1);
	if (from < 0)
		return out_of_range(c, from);
	if (from >= n)
		return cel_int(-1);
	cel_charge(c->s, ((size_t)from + 1) * (what->n < 16 ? 1 : what->n / 16) * 4);
	if (c->s->exceeded)
		return cel_error_text("");
	/* Backwards over the beginnings of code points. */
	p = rune_at(v, from);
	for (at = from; at >= 0; at--) {
		if ((size_t)(end - p) >= what->n && memcmp(p, what->text, what->n) == 0)
			return cel_int(at);
		while (p > v->text) {
			p--;
			if (((unsigned char)*p & 0xc0) != 0x80)
				break;
		}
	}
	return cel_int(-1);
}

static struct cel_value recase(struct cel_call *c, char first, char last)
{
	const struct cel_value *v = &c->args[0];
	char *to = cel_alloc(c->s, v->n);
	uint32_t i;

	cel_charge(c->s, v->n);
	if (!to)
		return cel_error_text("");
	for (i = 0; i < v->n; i++)
		to[i] = v->text[i] >= first && v->text[i] <= last ? (char)(v->text[i] ^ 32) : v->text[i];
	return part(to, to + v->n);
}

struct cel_value cel_string_lower(struct cel_call *c)
{
	return recase(c, 'A', 'Z');
}

struct cel_value cel_string_upper(struct cel_call *c)
{
	return recase(c, 'a', 'z');
}

/* White space by Unicode, as strings.TrimSpace() has it. */
static bool is_space(uint32_t r)
{
	return (r >= '\t' && r <= '\r') || r == ' ' || r == 0x85 || r == 0xa0 || r == 0x1680 ||
	       (r >= 0x2000 && r <= 0x200a) || r == 0x2028 || r == 0x2029 || r == 0x202f ||
	       r == 0x205f || r == 0x3000;
}

struct cel_value cel_string_trim(struct cel_call *c)
{
	const char *p = c->args[0].text, *end = p + c->args[0].n, *from = end, *to = end;
	uint32_t rune;
	bool seen = false;

	cel_charge(c->s, c->args[0].n);
	while (p < end) {
		size_t n = cel_rune(p, end, &rune);

		if (!is_space(rune)) {
			if (!seen)
				from = p;
			seen = true;
			to = p + n;
		}
		p += n;
	}
	return part(from, seen ? to : from);
}

/* The next place of `old` from p on; of an empty one each code point, and the end. */
static const char *next_old(const char *p, const char *end, struct text old, bool first)
{
	uint32_t rune;

	if (old.bytes)
		return search(p, end, old);
	if (first)
		return p;
	return p < end ? p + cel_rune(p, end, &rune) : NULL;
}

struct cel_value cel_string_replace(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	struct text old = cel_text(&c->args[1]), new = cel_text(&c->args[2]);
	int64_t limit = c->n == 4 ? c->args[3].i : -1, count, i;
	const char *p = v->text, *end = p + v->n, *at;
	size_t n = v->n;
	char *to, *out;

	cel_charge(c->s, (size_t)v->n + old.bytes);
	for (count = 0, at = p; limit < 0 || count < limit; count++) {
		at = next_old(at, end, old, count == 0);
		if (!at)
			break;
		at += old.bytes;
	}
	n = n + (size_t)count * new.bytes - (size_t)count *old.bytes;
	cel_charge(c->s, n);
	to = out = cel_alloc(c->s, n);
	if (!to)
		return cel_error_text("");
	for (at = p, i = 0; i < count; i++) {
		const char *found = next_old(at, end, old, i == 0);

		if (found > p)
			memcpy(to, p, (size_t)(found - p));
		to += found - p;
		if (new.bytes)
			memcpy(to, new.at, new.bytes);
		to += new.bytes;
		at = p = found + old.bytes;
	}
	if (end > p)
		memcpy(to, p, (size_t)(end - p));
	return part(out, out + n);
}

struct cel_value cel_string_split(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	struct text separator = cel_text(&c->args[1]);
	int64_t limit = c->n == 3 ? c->args[2].i : -1;
	const char *p = v->text, *end = p + v->n;
	struct cel_value out;
	size_t most;

	cel_charge(c->s, (size_t)v->n + separator.bytes);
	most = separator.bytes ? v->n / separator.bytes + 1 : cel_string_size(c->s, v);
	if (limit == 0)
		most = 0;
	if (limit > 0 && (size_t)limit < most)
		most = (size_t)limit;
	out = cel_list(c->s, most);
	if (out.kind == CEL_ERROR)
		return out;
	out.n = 0;
	while (out.n + 1 < most) {
		uint32_t rune;
		const char *at = separator.bytes ? search(p, end, separator) : p + cel_rune(p, end, &rune);

		if (!at)
			break;
		out.items[out.n++] = part(p, at);
		p = at + separator.bytes;
	}
	if (most)
		out.items[out.n++] = part(p, end);
	return out;
}

struct cel_value cel_string_quote(struct cel_call *c)
{
	static const char from[] = "\a\b\f\n\r\t\v\\\"", letter[] = "abfnrtv\\\"";
	const struct cel_value *v = &c->args[0];
	const char *p = v->text, *end = p + v->n;
	char *to = cel_alloc(c->s, (size_t)v->n * 3 + 2), *out = to;

	cel_charge(c->s, v->n);
	if (!to)
		return cel_error_text("");
	*to++ = '"';
	while (p < end) {
		const char *found = *p ? strchr(from, *p) : NULL;
		uint32_t rune;

		if (found) {
			*to++ = '\\';
			*to++ = letter[found - from];
			p++;
			continue;
		}
		p += cel_rune(p, end, &rune);
		to += utf8_put(to, rune);
	}
	*to++ = '"';
	return part(out, to);
}
