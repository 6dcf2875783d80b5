/* SPDX-License-Identifier: Apache-2.0 */
/* From a pattern to a tree, with the checks and texts of Go's regexp/syntax. */
#include "frontend/cel/regex_impl.h"

#include "frontend/cel/value.h"

#include <stdio.h>
#include <string.h>

#define REPEAT_MAX 1000

enum { FLAG_FOLD = 1, FLAG_LINES = 2, FLAG_DOT_NEWLINE = 4, FLAG_NOT_GREEDY = 8 };

struct parser {
	const char *begin, *at, *end;
	struct arena *arena;
	char *error;
	enum regex_result result;
	unsigned flags;
	unsigned depth;
	uint32_t nodes;
};

/* Ranges of code points, not sorted. */
struct ranges {
	struct regex_range *at;
	size_t n, cap;
};

static struct regex_node *parse_alternatives(struct parser *p);

static struct regex_node *fail(struct parser *p, const char *what, const char *from, const char *to)
{
	if (p->result == REGEX_OK) {
		p->result = REGEX_INVALID;
		snprintf(p->error, 256, "error parsing regexp: %s: `%.*s`", what,
		         (int)(to - from > 150 ? 150 : to - from), from);
	}
	return NULL;
}

static struct regex_node *refuse(struct parser *p, const char *what)
{
	if (p->result == REGEX_OK) {
		p->result = REGEX_REFUSED;
		snprintf(p->error, 256, "%s", what);
	}
	return NULL;
}

static struct regex_node *node(struct parser *p, enum regex_kind kind)
{
	struct regex_node *n = arena_alloc(p->arena, sizeof(*n));

	memset(n, 0, sizeof(*n));
	n->kind = kind;
	n->repeats = 1;
	p->nodes++;
	return n;
}

static void add(struct parser *p, struct ranges *r, uint32_t low, uint32_t high)
{
	r->at = arena_grow(p->arena, r->at, r->n, &r->cap, sizeof(r->at[0]));
	r->at[r->n++] = (struct regex_range){ low, high };
}

/* With the other case of letters of ASCII, and of the two signs that Unicode folds to one. */
static bool add_folded(struct parser *p, struct ranges *r, uint32_t low, uint32_t high)
{
	uint32_t c;

	add(p, r, low, high);
	if (!(p->flags & FLAG_FOLD))
		return true;
	for (c = 'a'; c <= 'z'; c++) {
		bool lower = c >= low && c <= high, upper = c - 32 >= low && c - 32 <= high;

		if (lower || upper) {
			add(p, r, c, c);
			add(p, r, c - 32, c - 32);
			if (c == 'k')
				add(p, r, 0x212a, 0x212a);
			if (c == 's')
				add(p, r, 0x17f, 0x17f);
		}
	}
	return high < 0x80 || (low == 0 && high == 0x10ffff) ||
	       refuse(p, "a regular expression without regard to case of letters beyond ASCII");
}

static int compare_ranges(const void *a, const void *b)
{
	const struct regex_range *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static void negate(struct parser *p, struct ranges *r)
{
	struct ranges out = { 0 };
	uint32_t next = 0;
	size_t i;

	if (r->n)
		qsort(r->at, r->n, sizeof(r->at[0]), compare_ranges);
	for (i = 0; i < r->n; i++) {
		if (r->at[i].low > next)
			add(p, &out, next, r->at[i].low - 1);
		if (r->at[i].high >= next)
			next = r->at[i].high + 1;
	}
	if (next <= 0x10ffff)
		add(p, &out, next, 0x10ffff);
	*r = out;
}

static void merge(struct parser *p, struct ranges *to, const struct ranges *from)
{
	size_t i;

	for (i = 0; i < from->n; i++)
		add(p, to, from->at[i].low, from->at[i].high);
}

/* Ranges become sorted and disjoint, for the binary search of regex.c: negate() makes them so. */
static struct regex_node *class_node(struct parser *p, struct ranges *r)
{
	struct regex_node *n = node(p, REGEX_CLASS);

	if (r->n > 1) {
		negate(p, r);
		negate(p, r);
	}

	n->ranges = r->at;
	n->n = (uint32_t)r->n;
	return n;
}

static struct regex_node *literal(struct parser *p, uint32_t rune)
{
	struct ranges r = { 0 };

	return add_folded(p, &r, rune, rune) ? class_node(p, &r) : NULL;
}

static struct regex_node *assertion(struct parser *p, enum regex_assertion what)
{
	struct regex_node *n = node(p, REGEX_ASSERT);

	n->assertion = what;
	n->nullable = true;
	return n;
}

static uint32_t next(struct parser *p)
{
	uint32_t rune;

	p->at += cel_rune(p->at, p->end, &rune);
	return rune;
}

static bool is_alnum(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex(uint32_t c)
{
	if (c >= '0' && c <= '9')
		return (int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (int)(c - 'a' + 10);
	return c >= 'A' && c <= 'F' ? (int)(c - 'A' + 10) : -1;
}

/* Behind "\x". */
static bool escape_hex(struct parser *p, uint32_t *rune)
{
	uint32_t c, v = 0;
	int first, second;
	unsigned n = 0;

	if (p->at == p->end)
		return false;
	c = next(p);
	if (c == '{') {
		for (;;) {
			if (p->at == p->end)
				return false;
			c = next(p);
			if (c == '}')
				break;
			if (hex(c) < 0)
				return false;
			v = v * 16 + (uint32_t)hex(c);
			if (v > 0x10ffff)
				return false;
			n++;
		}
		*rune = v;
		return n > 0;
	}
	first = hex(c);
	if (p->at == p->end)
		return false;
	c = next(p);
	second = hex(c);
	*rune = (uint32_t)(first * 16 + second);
	return first >= 0 && second >= 0;
}

/* The escape at p->at, which is a backslash, of one character. */
static bool escape(struct parser *p, uint32_t *rune)
{
	static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
	const char *from = p->at++;
	const char *found;
	uint32_t c, v;
	unsigned i;

	if (p->at == p->end)
		return fail(p, "trailing backslash at end of expression", from, from);
	c = next(p);
	if (c == '0' || (c >= '1' && c <= '7' && p->at < p->end && *p->at >= '0' && *p->at <= '7')) {
		v = c - '0';
		for (i = 1; i < 3 && p->at < p->end && *p->at >= '0' && *p->at <= '7'; i++)
			v = v * 8 + (uint32_t)(*p->at++ - '0');
		*rune = v;
		return true;
	}
	if (c == 'x') {
		if (escape_hex(p, rune))
			return true;
		return fail(p, "invalid escape sequence", from, p->at);
	}
	found = c && c < 0x80 ? strchr(names, (int)c) : NULL;
	if (found) {
		*rune = (unsigned char)values[found - names];
		return true;
	}
	*rune = c;
	return (c < 0x80 && !is_alnum(c)) || fail(p, "invalid escape sequence", from, p->at);
}

/* \d \s \w and their opposites, of the letter. */
static bool perl_class(struct parser *p, char letter, struct ranges *out)
{
	struct ranges r = { 0 };

	switch (letter | 32) {
	case 'd':
		add(p, &r, '0', '9');
		break;
	case 's':
		add(p, &r, '\t', '\n');
		add(p, &r, '\f', '\r');
		add(p, &r, ' ', ' ');
		break;
	case 'w':
		add(p, &r, '0', '9');
		add(p, &r, 'A', 'Z');
		add(p, &r, '_', '_');
		add(p, &r, 'a', 'z');
		break;
	default:
		return false;
	}
	if (p->flags & FLAG_FOLD && (letter | 32) == 'w') {
		add(p, &r, 0x17f, 0x17f);
		add(p, &r, 0x212a, 0x212a);
	}
	if (!(letter & 32))
		negate(p, &r);
	merge(p, out, &r);
	return true;
}

static const struct {
	const char *name;
	struct regex_range ranges[4];
} posix[] = {
	{ "alnum", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } } },
	{ "alpha", { { 'A', 'Z' }, { 'a', 'z' } } },
	{ "ascii", { { 0, 0x7f } } },
	{ "blank", { { '\t', '\t' }, { ' ', ' ' } } },
	{ "cntrl", { { 0, 0x1f }, { 0x7f, 0x7f } } },
	{ "digit", { { '0', '9' } } },
	{ "graph", { { '!', '~' } } },
	{ "lower", { { 'a', 'z' } } },
	{ "print", { { ' ', '~' } } },
	{ "punct", { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } } },
	{ "space", { { '\t', '\r' }, { ' ', ' ' } } },
	{ "upper", { { 'A', 'Z' } } },
	{ "word", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' }, { '_', '_' } } },
	{ "xdigit", { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } } },
};

/* [:name:] at p->at.  False: it is none, or an error. */
static bool posix_class(struct parser *p, struct ranges *out)
{
	const char *from = p->at, *close;
	struct ranges r = { 0 };
	bool negative;
	struct text name;
	size_t i, k;

	close = memmem(from + 2, (size_t)(p->end - from - 2), ":]", 2);
	if (!close)
		return false;
	name = (struct text){ from + 2, (size_t)(close - from - 2) };
	negative = name.bytes && name.at[0] == '^';
	if (negative)
		name = (struct text){ name.at + 1, name.bytes - 1 };
	for (i = 0; i < sizeof(posix) / sizeof(posix[0]); i++)
		if (text_is(name, posix[i].name))
			break;
	if (i == sizeof(posix) / sizeof(posix[0]))
		return fail(p, "invalid character class range", from, close + 2);
	for (k = 0; k < 4 && (posix[i].ranges[k].high || k == 0); k++)
		if (!add_folded(p, &r, posix[i].ranges[k].low, posix[i].ranges[k].high))
			return false;
	if (negative)
		negate(p, &r);
	merge(p, out, &r);
	p->at = close + 2;
	return true;
}

/* One character of a class. */
static bool class_rune(struct parser *p, const char *class, uint32_t *rune)
{
	if (p->at == p->end)
		return fail(p, "missing closing ]", class, p->end);
	if (*p->at == '\\')
		return escape(p, rune);
	*rune = next(p);
	return true;
}

static bool class_item(struct parser *p, const char *class, struct ranges *r)
{
	const char *from = p->at;
	uint32_t low, high;

	if (p->end - p->at > 2 && p->at[0] == '[' && p->at[1] == ':') {
		if (posix_class(p, r))
			return true;
		if (p->result != REGEX_OK)
			return false;
	}
	if (p->end - p->at >= 2 && p->at[0] == '\\') {
		if (p->at[1] == 'p' || p->at[1] == 'P')
			return refuse(p, "a regular expression with a class of Unicode (\\p)");
		if (strchr("dDsSwW", p->at[1]) && p->at[1] && perl_class(p, p->at[1], r)) {
			p->at += 2;
			return true;
		}
	}
	if (!class_rune(p, class, &low))
		return false;
	high = low;
	if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
		p->at++;
		if (!class_rune(p, class, &high))
			return false;
		if (high < low)
			return fail(p, "invalid character class range", from, p->at);
	}
	return add_folded(p, r, low, high);
}

static struct regex_node *parse_class(struct parser *p)
{
	const char *class = p->at++;
	struct ranges r = { 0 };
	bool negative = p->at < p->end && *p->at == '^', first = true;

	if (negative)
		p->at++;
	while (p->at == p->end || *p->at != ']' || first) {
		first = false;
		if (!class_item(p, class, &r))
			return NULL;
	}
	p->at++;
	if (negative)
		negate(p, &r);
	return class_node(p, &r);
}

/* What a backslash begins outside a class. */
static struct regex_node *parse_backslash(struct parser *p)
{
	struct ranges r = { 0 };
	uint32_t rune;
	char c = p->end - p->at >= 2 ? p->at[1] : '\0';

	if (c == 'A' || c == 'b' || c == 'B' || c == 'z') {
		p->at += 2;
		return assertion(p, c == 'A'   ? REGEX_BEGIN
		                    : c == 'z' ? REGEX_END
		                    : c == 'b' ? REGEX_WORD_BOUNDARY
		                               : REGEX_NOT_WORD_BOUNDARY);
	}
	if (c == 'p' || c == 'P')
		return refuse(p, "a regular expression with a class of Unicode (\\p)");
	if (c && strchr("dDsSwW", c)) {
		p->at += 2;
		perl_class(p, c, &r);
		return class_node(p, &r);
	}
	return escape(p, &rune) ? literal(p, rune) : NULL;
}

static bool is_name(struct text name)
{
	size_t i;

	for (i = 0; i < name.bytes; i++)
		if (!is_alnum((unsigned char)name.at[i]) && name.at[i] != '_')
			return false;
	return name.bytes > 0;
}

/* (?flags) or (?flags: behind "(?".  True: a group begins. */
static bool parse_flags(struct parser *p, const char *from, bool *group)
{
	unsigned on = p->flags;
	bool minus = false, saw = false;

	while (p->at < p->end) {
		uint32_t c = next(p);
		unsigned flag = c == 'i'   ? FLAG_FOLD
		                : c == 'm' ? FLAG_LINES
		                : c == 's' ? FLAG_DOT_NEWLINE
		                : c == 'U' ? FLAG_NOT_GREEDY
		                           : 0;

		if (flag) {
			saw = true;
			on = minus ? on & ~flag : on | flag;
		} else if (c == '-' && !minus) {
			minus = true;
			saw = false;
		} else if ((c == ':' || c == ')') && (!minus || saw)) {
			*group = c == ':';
			p->flags = on;
			return true;
		} else {
			break;
		}
	}
	return fail(p,
	            p->at == p->end && p->at[-1] != ')' && p->end - from == 2
	                ? "missing closing )"
	                : "invalid or unsupported Perl syntax",
	            from, p->at);
}

static struct regex_node *empty(struct parser *p)
{
	struct regex_node *n = node(p, REGEX_EMPTY);

	n->nullable = true;
	return n;
}

static struct regex_node *parse_group(struct parser *p)
{
	const char *from = p->at++;
	unsigned flags = p->flags;
	struct regex_node *n;
	bool group = true;

	if (p->at < p->end && *p->at == '?') {
		size_t left = (size_t)(p->end - from);
		bool with_p = left > 4 && from[2] == 'P' && from[3] == '<';

		if (with_p || (left > 3 && from[2] == '<')) {
			const char *name = from + (with_p ? 4 : 3);
			const char *close = memchr(from, '>', left);

			if (!close)
				return fail(p, "invalid named capture", from, p->end);
			if (close < name || !is_name((struct text){ name, (size_t)(close - name) }))
				return fail(p, "invalid named capture", from, close + 1);
			p->at = close + 1;
		} else {
			p->at++;
			if (!parse_flags(p, from, &group))
				return NULL;
			/* (?i) holds up to the end of the group that it stands in. */
			if (!group)
				return empty(p);
		}
	}
	if (p->depth++ >= REGEX_DEPTH)
		return refuse(p, "a regular expression nested deeper than 100");
	n = parse_alternatives(p);
	p->depth--;
	if (!n)
		return NULL;
	if (p->at == p->end)
		return fail(p, "missing closing )", p->begin, p->end);
	p->at++;
	p->flags = flags;
	return n;
}

/* A number of at most 1001, or -1. */
static int repeat_number(struct parser *p)
{
	const char *from = p->at;
	int n = 0;

	while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
		n = n * 10 + (*p->at - '0');
		if (n > REPEAT_MAX)
			n = REPEAT_MAX + 1;
		p->at++;
	}
	/* As in Go, "{01}" is no repetition. */
	return p->at == from || (p->at - from > 1 && *from == '0') ? -1 : n;
}

/* {2}, {2,} or {2,5} at p->at.  False: it is a literal. */
static bool parse_braces(struct parser *p, int *min, int *max)
{
	const char *from = p->at++;

	*min = repeat_number(p);
	if (*min >= 0 && p->at < p->end) {
		*max = *min;
		if (*p->at == ',') {
			p->at++;
			*max = p->at < p->end && *p->at == '}' ? -1 : repeat_number(p);
			if (*max < 0 && (p->at == p->end || *p->at != '}' || p->at[-1] != ',')) {
				p->at = from;
				return false;
			}
		}
		if (p->at < p->end && *p->at == '}') {
			p->at++;
			return true;
		}
	}
	p->at = from;
	return false;
}

/* The repetition at p->at of `item`, which is NULL if there is none. */
static struct regex_node *repeat(struct parser *p, struct regex_node *item, const char **last,
                                 int min, int max, const char *from)
{
	struct regex_node *n;
	bool greedy = !(p->flags & FLAG_NOT_GREEDY);
	unsigned product;

	if (min > REPEAT_MAX || max > REPEAT_MAX || (max >= 0 && min > max))
		return fail(p, "invalid repeat count", from, p->at);
	if (p->at < p->end && *p->at == '?') {
		p->at++;
		greedy = !greedy;
	}
	if (*last)
		return fail(p, "invalid nested repetition operator", *last, p->at);
	if (!item)
		return fail(p, "missing argument to repetition operator", from, p->at);
	product = item->repeats * (unsigned)(max > 1 ? max : min > 1 ? min : 1);
	if (product > REPEAT_MAX)
		return fail(p, "invalid repeat count", from, p->at);
	n = node(p, REGEX_REPEAT);
	n->repeats = product;
	n->min = min;
	n->max = max;
	n->greedy = greedy;
	n->nullable = min == 0 || item->nullable;
	n->one = item;
	*last = from;
	return n;
}

/* Items in a row. */
struct row {
	struct regex_node **at;
	size_t n, cap;
};

static void row_add(struct parser *p, struct row *r, struct regex_node *n)
{
	r->at = arena_grow(p->arena, r->at, r->n, &r->cap, sizeof(r->at[0]));
	r->at[r->n++] = n;
}

static struct regex_node *row_node(struct parser *p, enum regex_kind kind, const struct row *r)
{
	struct regex_node *n = node(p, kind);
	size_t i;

	n->many = r->at;
	n->n = (uint32_t)r->n;
	n->nullable = kind == REGEX_SEQUENCE;
	for (i = 0; i < r->n; i++) {
		if (r->at[i]->repeats > n->repeats)
			n->repeats = r->at[i]->repeats;
		n->nullable = kind == REGEX_SEQUENCE ? n->nullable && r->at[i]->nullable
		                                     : n->nullable || r->at[i]->nullable;
	}
	return n;
}

/* \Q...\E: each character as it is. */
static bool parse_quoted(struct parser *p, struct row *r)
{
	p->at += 2;
	while (p->at < p->end) {
		struct regex_node *n;

		if (p->end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'E') {
			p->at += 2;
			break;
		}
		n = literal(p, next(p));
		if (!n)
			return false;
		row_add(p, r, n);
	}
	return true;
}

static struct regex_node *parse_dot(struct parser *p)
{
	struct ranges r = { 0 };

	p->at++;
	if (p->flags & FLAG_DOT_NEWLINE) {
		add(p, &r, 0, 0x10ffff);
	} else {
		add(p, &r, 0, '\n' - 1);
		add(p, &r, '\n' + 1, 0x10ffff);
	}
	return class_node(p, &r);
}

static struct regex_node *parse_item(struct parser *p)
{
	bool lines = p->flags & FLAG_LINES;

	switch (*p->at) {
	case '(':
		return parse_group(p);
	case '[':
		return parse_class(p);
	case '.':
		return parse_dot(p);
	case '^':
		p->at++;
		return assertion(p, lines ? REGEX_BEGIN_LINE : REGEX_BEGIN);
	case '$':
		p->at++;
		return assertion(p, lines ? REGEX_END_LINE : REGEX_END);
	case '\\':
		return parse_backslash(p);
	default:
		return literal(p, next(p));
	}
}

/* A repetition, if there is one at p->at.  False: an error. */
static bool parse_repeat(struct parser *p, struct row *r, const char **last, bool *found)
{
	const char *from = p->at;
	struct regex_node *item = r->n ? r->at[r->n - 1] : NULL, *n;
	int min = 0, max = -1;

	*found = false;
	if (*from == '{') {
		if (!parse_braces(p, &min, &max))
			return true;
	} else if (*from == '*' || *from == '+' || *from == '?') {
		min = *from == '+';
		max = *from == '?' ? 1 : -1;
		p->at++;
	} else {
		return true;
	}
	*found = true;
	n = repeat(p, item, last, min, max, from);
	if (n)
		r->at[r->n - 1] = n;
	return n;
}

static struct regex_node *parse_sequence(struct parser *p)
{
	struct row r = { 0 };
	const char *last = NULL; /* the repetition that was just read */

	while (p->at < p->end && *p->at != '|' && *p->at != ')') {
		struct regex_node *n;
		bool flags_only, found;

		if (!parse_repeat(p, &r, &last, &found))
			return NULL;
		if (found)
			continue;
		last = NULL;
		if (p->end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'Q') {
			if (!parse_quoted(p, &r))
				return NULL;
			continue;
		}
		n = parse_item(p);
		if (!n)
			return NULL;
		/* (?i) is nothing that could be repeated. */
		flags_only = n->kind == REGEX_EMPTY && p->at[-1] == ')' && n->n == 0;
		if (!flags_only)
			row_add(p, &r, n);
	}
	return row_node(p, REGEX_SEQUENCE, &r);
}

static struct regex_node *parse_alternatives(struct parser *p)
{
	struct row r = { 0 };

	for (;;) {
		struct regex_node *n = parse_sequence(p);

		if (!n)
			return NULL;
		row_add(p, &r, n);
		if (p->at == p->end || *p->at != '|')
			break;
		p->at++;
	}
	return r.n == 1 ? r.at[0] : row_node(p, REGEX_ALTERNATIVES, &r);
}

enum regex_result regex_parse(struct text pattern, struct arena *arena, struct regex_node **out,
                              char error[256])
{
	struct parser p = { .begin = pattern.at,
		                .at = pattern.at,
		                .end = pattern.at + pattern.bytes,
		                .arena = arena,
		                .error = error };
	struct regex_node *n;

	if (pattern.bytes > CEL_TEXT_MAX) {
		refuse(&p, "a regular expression of more than 10 KiB");
		return p.result;
	}
	n = parse_alternatives(&p);
	if (n && p.at < p.end)
		n = fail(&p, "unexpected )", p.begin, p.end);
	*out = n;
	return p.result;
}
