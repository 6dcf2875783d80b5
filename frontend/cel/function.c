/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/cel/function.h"

#include "frontend/base/compare.h"
#include "frontend/cel/ast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct cel_value overflow(void)
{
	return cel_error_text("integer overflow");
}

static struct cel_value unsigned_overflow(void)
{
	return cel_error_text("unsigned integer overflow");
}

static struct cel_value no_operator(struct cel_scratch *s, const struct cel_value *a,
                                    const char *name)
{
	/* In cel-go strings have methods, which are asked first and answer in their own words. */
	return a->kind == CEL_STRING ? cel_no_overload() : cel_error(s, "no such overload: %s", name);
}

static struct cel_value add_texts(struct cel_scratch *s, const struct cel_value *a,
                                  const struct cel_value *b)
{
	size_t n = (size_t)a->n + b->n;
	char *to = cel_alloc(s, n);

	cel_charge(s, n);
	if (!to)
		return cel_error_text("");
	if (a->n)
		memcpy(to, a->text, a->n);
	if (b->n)
		memcpy(to + a->n, b->text, b->n);
	return cel_string((struct text){ to, n });
}

static struct cel_value add_lists(struct cel_scratch *s, const struct cel_value *a,
                                  const struct cel_value *b)
{
	struct cel_value v = cel_list(s, (size_t)a->n + b->n);

	if (v.kind == CEL_LIST && a->n)
		memcpy(v.items, a->items, a->n * sizeof(v));
	if (v.kind == CEL_LIST && b->n)
		memcpy(v.items + a->n, b->items, b->n * sizeof(v));
	return v;
}

/* Of int or uint.  The quotient of a modulus has to fit too: that of the least int by -1 does not.
 */
static struct cel_value operate_whole(unsigned code, bool is_signed, nano_t a, nano_t b)
{
	const nano_t least = is_signed ? INT64_MIN : 0, most = is_signed ? INT64_MAX : UINT64_MAX;
	bool over = false;
	nano_t v;

	switch (code) {
	case OPERATOR_ADD:
		v = a + b;
		break;
	case OPERATOR_SUBTRACT:
		v = a - b;
		break;
	case OPERATOR_MULTIPLY:
		over = __builtin_mul_overflow(a, b, &v);
		break;
	default:
		if (b == 0)
			return cel_error_text(code == OPERATOR_DIVIDE ? "division by zero" : "modulus by zero");
		v = a / b;
		break;
	}
	if (over || v < least || v > most)
		return is_signed ? overflow() : unsigned_overflow();
	if (code == OPERATOR_MODULO)
		v = a % b;
	return is_signed ? cel_int((int64_t)v) : cel_uint((uint64_t)v);
}

static struct cel_value operate_double(unsigned code, double a, double b)
{
	switch (code) {
	case OPERATOR_ADD:
		return cel_double(a + b);
	case OPERATOR_SUBTRACT:
		return cel_double(a - b);
	case OPERATOR_MULTIPLY:
		return cel_double(a * b);
	default:
		return cel_double(a / b);
	}
}

static struct cel_value arithmetic(struct cel_scratch *s, unsigned code, const struct cel_value *a,
                                   const struct cel_value *b)
{
	static const char *const names[] = { "_+_", "_-_", "_*_", "_/_", "_%_" };

	if (code == OPERATOR_ADD && (a->kind == CEL_STRING || a->kind == CEL_LIST)) {
		if (b->kind != a->kind)
			return cel_no_overload();
		return a->kind == CEL_STRING ? add_texts(s, a, b) : add_lists(s, a, b);
	}
	if ((a->kind != CEL_INT && a->kind != CEL_UINT && a->kind != CEL_DOUBLE) ||
	    (a->kind == CEL_DOUBLE && code == OPERATOR_MODULO))
		return no_operator(s, a, names[code]);
	if (a->kind != b->kind)
		return cel_no_overload();
	if (a->kind == CEL_INT)
		return operate_whole(code, true, a->i, b->i);
	if (a->kind == CEL_UINT)
		return operate_whole(code, false, a->u, b->u);
	return operate_double(code, a->d, b->d);
}

static struct cel_value relation(struct cel_scratch *s, unsigned code, const struct cel_value *a,
                                 const struct cel_value *b)
{
	static const char *const names[] = { "_<_", "_<=_", "_>_", "_>=_" };
	struct cel_value order;

	if (!cel_comparable(a))
		return no_operator(s, a, names[code - OPERATOR_LESS]);
	order = cel_compare(s, a, b);
	if (order.kind == CEL_ERROR)
		return order;
	switch (code) {
	case OPERATOR_LESS:
		return cel_bool(order.i < 0);
	case OPERATOR_LESS_EQUAL:
		return cel_bool(order.i <= 0);
	case OPERATOR_GREATER:
		return cel_bool(order.i > 0);
	default:
		return cel_bool(order.i >= 0);
	}
}

static bool list_contains(struct cel_scratch *s, const struct cel_value *list,
                          const struct cel_value *v)
{
	uint32_t i;

	for (i = 0; i < list->n && !s->exceeded; i++)
		if (cel_same(s, v, &list->items[i]))
			return true;
	return false;
}

static struct cel_value contained(struct cel_scratch *s, const struct cel_value *a,
                                  const struct cel_value *b)
{
	if (b->kind == CEL_LIST)
		return cel_bool(list_contains(s, b, a));
	if (cel_is_map(b))
		return cel_bool(cel_map_contains(s, b, a));
	return cel_no_overload();
}

static struct cel_value negate(struct cel_scratch *s, const struct cel_value *a)
{
	if (a->kind == CEL_INT)
		return a->i == INT64_MIN ? overflow() : cel_int(-a->i);
	if (a->kind == CEL_DOUBLE)
		return cel_double(-a->d);
	return a->kind == CEL_BOOL ? cel_no_overload() : no_operator(s, a, "-_");
}

struct cel_value cel_operate(struct cel_scratch *s, unsigned code, const struct cel_value *a,
                             const struct cel_value *b)
{
	struct cel_value v;

	if (a->kind == CEL_ERROR)
		return *a;
	if (code == OPERATOR_NOT)
		return a->kind == CEL_BOOL ? cel_bool(!a->b) : cel_no_overload();
	if (code == OPERATOR_NEGATE)
		return negate(s, a);
	if (b->kind == CEL_ERROR)
		return *b;
	switch (code) {
	case OPERATOR_EQUAL:
		return cel_equal(s, a, b);
	case OPERATOR_NOT_EQUAL:
		/* Anything but true, so also when they can't be compared. */
		v = cel_equal(s, a, b);
		return cel_bool(v.kind != CEL_BOOL || !v.b);
	case OPERATOR_IN:
		return contained(s, a, b);
	case OPERATOR_LESS:
	case OPERATOR_LESS_EQUAL:
	case OPERATOR_GREATER:
	case OPERATOR_GREATER_EQUAL:
		return relation(s, code, a, b);
	default:
		return arithmetic(s, code, a, b);
	}
}

static struct cel_value same(struct cel_call *c)
{
	return c->args[0];
}

static struct cel_value type_of(struct cel_call *c)
{
	return cel_type(c->args[0].kind);
}

static struct cel_value size_of(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];

	if (v->kind == CEL_STRING)
		return cel_int(cel_string_size(c->s, v));
	if (v->kind == CEL_LIST)
		return cel_int(v->n);
	if (cel_is_map(v))
		return cel_int(cel_map_size(c->s, v));
	return cel_error(c->s, "no such overload: size");
}

static struct cel_value cannot_convert(struct cel_call *c, const char *to)
{
	return cel_error(c->s, "type conversion error from 'string' to '%s'", to);
}

static struct cel_value to_int(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	int64_t i;

	switch (v->kind) {
	case CEL_UINT:
		return v->u > INT64_MAX ? overflow() : cel_int((int64_t)v->u);
	case CEL_DOUBLE:
		return v->d > -0x1p63 && v->d < 0x1p63 ? cel_int((int64_t)v->d) : overflow();
	default:
		cel_charge(c->s, v->n);
		return int64_parse(cel_text(v), &i) ? cel_int(i) : cannot_convert(c, "int");
	}
}

static struct cel_value to_uint(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	uint64_t u;

	switch (v->kind) {
	case CEL_INT:
		return v->i < 0 ? unsigned_overflow() : cel_uint((uint64_t)v->i);
	case CEL_DOUBLE:
		return v->d >= 0 && v->d < 0x1p64 ? cel_uint((uint64_t)v->d) : unsigned_overflow();
	default:
		cel_charge(c->s, v->n);
		return cel_parse_uint(cel_text(v), &u) ? cel_uint(u) : cannot_convert(c, "uint");
	}
}

static struct cel_value to_double(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	double d;

	switch (v->kind) {
	case CEL_INT:
		return cel_double((double)v->i);
	case CEL_UINT:
		return cel_double((double)v->u);
	default:
		return cel_parse_double(cel_text(v), &d) ? cel_double(d) : cannot_convert(c, "double");
	}
}

static struct cel_value to_bool(struct cel_call *c)
{
	static const char *const words[] = { "1", "t", "T", "TRUE",  "true",  "True",
		                                 "0", "f", "F", "FALSE", "false", "False" };
	struct text t = cel_text(&c->args[0]);
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_is(t, words[i]))
			return cel_bool(i < 6);
	return cannot_convert(c, "bool");
}

static struct cel_value to_string(struct cel_call *c)
{
	return cel_string(cel_print(c->s, &c->args[0]));
}

/* The text without "v", without leading zeros, with three numbers. */
static struct cel_value normalize(struct cel_call *c, struct text text, struct text *out)
{
	struct text part[3];
	size_t n = 0, i, used = 0;
	char *to;

	if (text_starts(text, "v"))
		text = (struct text){ text.at + 1, text.bytes - 1 };
	while (n < 3) {
		const char *dot = n < 2 && text.bytes ? memchr(text.at, '.', text.bytes) : NULL;

		part[n] = text;
		if (dot) {
			part[n].bytes = (size_t)(dot - text.at);
			text.bytes -= part[n].bytes + 1;
			text.at = dot + 1;
		}
		n++;
		if (!dot)
			break;
	}
	if (n < 3 && part[n - 1].bytes &&
	    (memchr(part[n - 1].at, '+', part[n - 1].bytes) ||
	     memchr(part[n - 1].at, '-', part[n - 1].bytes)))
		return cel_error(c->s, "short version cannot contain PreRelease/Build meta data");
	to = cel_alloc(c->s,
	               part[0].bytes + (n > 1 ? part[1].bytes : 0) + (n > 2 ? part[2].bytes : 0) + 16);
	if (!to)
		return cel_error_text("");
	for (i = 0; i < 3; i++) {
		struct text t = i < n ? part[i] : text_of("0");

		if (t.bytes > 1) {
			while (t.bytes && *t.at == '0')
				t = (struct text){ t.at + 1, t.bytes - 1 };
			if (!t.bytes || *t.at < '0' || *t.at > '9')
				to[used++] = '0';
		}
		if (t.bytes)
			memcpy(to + used, t.at, t.bytes);
		used += t.bytes;
		if (i < 2)
			to[used++] = '.';
	}
	*out = (struct text){ to, used };
	return cel_bool(true);
}

static struct cel_value semver(struct cel_call *c)
{
	struct text text = cel_text(&c->args[0]);
	struct cel_version *v = cel_alloc(c->s, sizeof(*v));
	struct cel_error error;

	cel_charge(c->s, text.bytes);
	if (!v)
		return cel_error_text("");
	if (c->n == 2 && c->args[1].b) {
		struct cel_value normal = normalize(c, text, &text);

		if (normal.kind == CEL_ERROR)
			return normal;
	}
	if (!cel_version_parse(text, v, &error))
		return cel_error(c->s, "%s", error.text);
	return (struct cel_value){ .kind = CEL_SEMVER, .version = v };
}

static struct cel_value is_semver(struct cel_call *c)
{
	return cel_bool(semver(c).kind == CEL_SEMVER);
}

static struct cel_value version_number(struct cel_call *c, unsigned which)
{
	return cel_int((int64_t)c->args[0].version->number[which]);
}

static struct cel_value major(struct cel_call *c)
{
	return version_number(c, 0);
}

static struct cel_value minor(struct cel_call *c)
{
	return version_number(c, 1);
}

static struct cel_value patch(struct cel_call *c)
{
	return version_number(c, 2);
}

static int order(struct cel_call *c)
{
	if (c->args[0].kind == CEL_SEMVER) {
		cel_charge(c->s, c->args[0].version->pre.bytes + c->args[1].version->pre.bytes);
		return cel_version_compare(c->args[0].version, c->args[1].version);
	}
	return cel_quantity_compare(c->args[0].quantity, c->args[1].quantity);
}

static struct cel_value compare_to(struct cel_call *c)
{
	return cel_int(order(c));
}

static struct cel_value is_greater_than(struct cel_call *c)
{
	return cel_bool(order(c) > 0);
}

static struct cel_value is_less_than(struct cel_call *c)
{
	return cel_bool(order(c) < 0);
}

static struct cel_value quantity(struct cel_call *c)
{
	struct cel_quantity *q = cel_alloc(c->s, sizeof(*q));
	struct cel_error error;

	cel_charge(c->s, c->args[0].n);
	if (!q)
		return cel_error_text("");
	if (!cel_quantity_parse(cel_text(&c->args[0]), q, &error))
		return cel_error(c->s, "%s", error.text);
	return (struct cel_value){ .kind = CEL_QUANTITY, .quantity = q };
}

static struct cel_value is_quantity(struct cel_call *c)
{
	return cel_bool(quantity(c).kind == CEL_QUANTITY);
}

static struct cel_value sign(struct cel_call *c)
{
	nano_t n = c->args[0].quantity->nano;

	return cel_int((n > 0) - (n < 0));
}

static struct cel_value as_integer(struct cel_call *c)
{
	int64_t i;

	return cel_quantity_int(c->args[0].quantity, &i)
	           ? cel_int(i)
	           : cel_error_text("cannot convert value to integer");
}

static struct cel_value is_integer(struct cel_call *c)
{
	int64_t i;

	return cel_bool(cel_quantity_int(c->args[0].quantity, &i));
}

static struct cel_value as_float(struct cel_call *c)
{
	return cel_double(cel_quantity_double(c->args[0].quantity));
}

static struct cel_value sum(struct cel_call *c, bool minus)
{
	struct cel_quantity *q = cel_alloc(c->s, sizeof(*q));
	struct cel_quantity whole = { 0 };
	const struct cel_quantity *b = &whole;

	if (!q)
		return cel_error_text("");
	/* The lowest integer has no counterpart: in Kubernetes it is added and subtracted the same. */
	if (c->args[1].kind == CEL_INT && c->args[1].i == INT64_MIN)
		minus = false;
	if (c->args[1].kind == CEL_INT)
		whole.nano = (nano_t)c->args[1].i * 1000000000;
	else
		b = c->args[1].quantity;
	*q = cel_quantity_sum(c->args[0].quantity, b, minus);
	return (struct cel_value){ .kind = CEL_QUANTITY, .quantity = q };
}

static struct cel_value quantity_add_to(struct cel_call *c)
{
	return sum(c, false);
}

static struct cel_value quantity_sub(struct cel_call *c)
{
	return sum(c, true);
}

static struct cel_value optional_of(struct cel_call *c)
{
	return cel_optional(c->s, &c->args[0]);
}

static bool is_zero(const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_NULL:
		return true;
	case CEL_BOOL:
		return !v->b;
	case CEL_INT:
	case CEL_UINT:
		return v->u == 0;
	case CEL_DOUBLE:
		return v->d == 0;
	case CEL_STRING:
	case CEL_LIST:
	case CEL_MAP:
	case CEL_OPTIONAL:
		return v->n == 0;
	default:
		return false;
	}
}

static struct cel_value optional_of_non_zero(struct cel_call *c)
{
	const struct cel_value *v = &c->args[0];
	bool zero = v->kind > CEL_DEVICE ? cel_map_size(c->s, v) == 0 : is_zero(v);

	return cel_optional(c->s, zero ? NULL : v);
}

static struct cel_value optional_none(struct cel_call *c)
{
	return cel_optional(c->s, NULL);
}

static struct cel_value optional_value(struct cel_call *c)
{
	return c->args[0].n ? c->args[0].items[0] : cel_error_text("optional.none() dereference");
}

static struct cel_value optional_has_value(struct cel_call *c)
{
	return cel_bool(c->args[0].n > 0);
}

/* Overloads of one name stand together, in the order in which cel-go tries them. */
static const struct cel_function functions[] = {
	{ "size", false, "a", size_of, PLAIN_NOT },
	{ "size", true, "a", size_of, PLAIN_NOT },
	{ "type", false, "a", type_of, PLAIN_NOT },
	{ "dyn", false, "a", same, PLAIN_NOT },
	{ "bool", false, "b", same, PLAIN_NOT },
	{ "bool", false, "s", to_bool, PLAIN_NOT },
	{ "int", false, "i", same, PLAIN_NOT },
	{ "int", false, "d", to_int, PLAIN_NOT },
	{ "int", false, "s", to_int, PLAIN_NOT },
	{ "int", false, "u", to_int, PLAIN_NOT },
	{ "uint", false, "u", same, PLAIN_NOT },
	{ "uint", false, "d", to_uint, PLAIN_NOT },
	{ "uint", false, "i", to_uint, PLAIN_NOT },
	{ "uint", false, "s", to_uint, PLAIN_NOT },
	{ "double", false, "d", same, PLAIN_NOT },
	{ "double", false, "i", to_double, PLAIN_NOT },
	{ "double", false, "s", to_double, PLAIN_NOT },
	{ "double", false, "u", to_double, PLAIN_NOT },
	{ "string", false, "s", same, PLAIN_NOT },
	{ "string", false, "b", to_string, PLAIN_NOT },
	{ "string", false, "d", to_string, PLAIN_NOT },
	{ "string", false, "i", to_string, PLAIN_NOT },
	{ "string", false, "u", to_string, PLAIN_NOT },
	{ "contains", true, "ss", cel_string_contains, PLAIN_TEXT },
	{ "startsWith", true, "ss", cel_string_starts_with, PLAIN_TEXT },
	{ "endsWith", true, "ss", cel_string_ends_with, PLAIN_TEXT },
	{ "matches", false, "ss", cel_string_matches, PLAIN_NAME },
	{ "matches", true, "ss", cel_string_matches, PLAIN_NAME },
	{ "find", true, "ss", cel_string_find, PLAIN_NOT },
	{ "findAll", true, "ss", cel_string_find_all, PLAIN_NOT },
	{ "findAll", true, "ssi", cel_string_find_all, PLAIN_NOT },
	{ "charAt", true, "si", cel_string_char_at, PLAIN_NOT },
	{ "indexOf", true, "ss", cel_string_index_of, PLAIN_NOT },
	{ "indexOf", true, "ssi", cel_string_index_of, PLAIN_NOT },
	{ "indexOf", true, "la", cel_list_index_of, PLAIN_NOT },
	{ "lastIndexOf", true, "ss", cel_string_last_index_of, PLAIN_NOT },
	{ "lastIndexOf", true, "ssi", cel_string_last_index_of, PLAIN_NOT },
	{ "lastIndexOf", true, "la", cel_list_last_index_of, PLAIN_NOT },
	{ "lowerAscii", true, "s", cel_string_lower, PLAIN_NOT },
	{ "upperAscii", true, "s", cel_string_upper, PLAIN_NOT },
	{ "replace", true, "sss", cel_string_replace, PLAIN_NOT },
	{ "replace", true, "sssi", cel_string_replace, PLAIN_NOT },
	{ "split", true, "ss", cel_string_split, PLAIN_NOT },
	{ "split", true, "ssi", cel_string_split, PLAIN_NOT },
	{ "substring", true, "si", cel_string_substring, PLAIN_NOT },
	{ "substring", true, "sii", cel_string_substring, PLAIN_NOT },
	{ "trim", true, "s", cel_string_trim, PLAIN_NOT },
	{ "strings.quote", false, "s", cel_string_quote, PLAIN_NOT },
	{ "join", true, "S", cel_list_join, PLAIN_NOT },
	{ "join", true, "Ss", cel_list_join, PLAIN_NOT },
	{ "sum", true, "N", cel_list_sum, PLAIN_NOT },
	{ "min", true, "C", cel_list_min, PLAIN_NOT },
	{ "max", true, "C", cel_list_max, PLAIN_NOT },
	{ "isSorted", true, "C", cel_list_is_sorted, PLAIN_NOT },
	{ "sort", true, "l", cel_list_sort, PLAIN_NAME },
	{ "slice", true, "lii", cel_list_slice, PLAIN_NOT },
	{ "reverse", true, "l", cel_list_reverse, PLAIN_NOT },
	{ "distinct", true, "l", cel_list_distinct, ENDS },
	{ "flatten", true, "l", cel_list_flatten, PLAIN_NOT },
	{ "flatten", true, "li", cel_list_flatten, PLAIN_NOT },
	{ "lists.range", false, "i", cel_list_range, PLAIN_NOT },
	{ "first", true, "l", cel_list_first, PLAIN_NOT },
	{ "last", true, "l", cel_list_last, PLAIN_NOT },
	{ "sets.contains", false, "ll", cel_sets_contains, PLAIN_NOT },
	{ "sets.equivalent", false, "ll", cel_sets_equivalent, PLAIN_NOT },
	{ "sets.intersects", false, "ll", cel_sets_intersects, PLAIN_NOT },
	{ "semver", false, "s", semver, PLAIN_NOT },
	{ "semver", false, "sb", semver, PLAIN_NOT },
	{ "isSemver", false, "s", is_semver, PLAIN_NOT },
	{ "isSemver", false, "sb", is_semver, PLAIN_NOT },
	{ "major", true, "v", major, PLAIN_NOT },
	{ "minor", true, "v", minor, PLAIN_NOT },
	{ "patch", true, "v", patch, PLAIN_NOT },
	{ "compareTo", true, "vv", compare_to, PLAIN_NOT },
	{ "compareTo", true, "qq", compare_to, PLAIN_NOT },
	{ "isGreaterThan", true, "vv", is_greater_than, PLAIN_NOT },
	{ "isGreaterThan", true, "qq", is_greater_than, PLAIN_NOT },
	{ "isLessThan", true, "vv", is_less_than, PLAIN_NOT },
	{ "isLessThan", true, "qq", is_less_than, PLAIN_NOT },
	{ "quantity", false, "s", quantity, PLAIN_NOT },
	{ "isQuantity", false, "s", is_quantity, PLAIN_NOT },
	{ "sign", false, "q", sign, PLAIN_NOT },
	{ "asInteger", true, "q", as_integer, PLAIN_NOT },
	{ "isInteger", true, "q", is_integer, PLAIN_NOT },
	{ "asApproximateFloat", true, "q", as_float, PLAIN_NOT },
	{ "add", true, "qq", quantity_add_to, PLAIN_NOT },
	{ "add", true, "qi", quantity_add_to, PLAIN_NOT },
	{ "sub", true, "qq", quantity_sub, PLAIN_NOT },
	{ "sub", true, "qi", quantity_sub, PLAIN_NOT },
	{ "optional.of", false, "a", optional_of, PLAIN_NOT },
	{ "optional.ofNonZeroValue", false, "a", optional_of_non_zero, PLAIN_NOT },
	{ "optional.none", false, "", optional_none, PLAIN_NOT },
	{ "value", true, "o", optional_value, PLAIN_NOT },
	{ "hasValue", true, "o", optional_has_value, PLAIN_NOT },
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

bool cel_function_known(struct text name)
{
	size_t i;

	for (i = 0; i < FUNCTIONS; i++)
		if (text_is(name, functions[i].name))
			return true;
	return false;
}

const struct cel_function *cel_function_find(struct text name, bool member, uint32_t n)
{
	size_t i;

	for (i = 0; i < FUNCTIONS; i++)
		if (functions[i].member == member && strlen(functions[i].signature) == n &&
		    text_is(name, functions[i].name))
			return &functions[i];
	return NULL;
}

static bool fits(char letter, const struct cel_value *v)
{
	switch (letter) {
	case 's':
		return v->kind == CEL_STRING;
	case 'i':
		return v->kind == CEL_INT;
	case 'u':
		return v->kind == CEL_UINT;
	case 'd':
		return v->kind == CEL_DOUBLE;
	case 'b':
		return v->kind == CEL_BOOL;
	case 'v':
		return v->kind == CEL_SEMVER;
	case 'q':
		return v->kind == CEL_QUANTITY;
	case 'l':
		return v->kind == CEL_LIST;
	case 'o':
		return v->kind == CEL_OPTIONAL;
	case 'S':
		return v->kind == CEL_LIST && (v->n == 0 || v->items[0].kind == CEL_STRING);
	case 'C':
		return v->kind == CEL_LIST && (v->n == 0 || cel_comparable(&v->items[0]));
	case 'N':
		return v->kind == CEL_LIST &&
		       (v->n == 0 || v->items[0].kind == CEL_INT || v->items[0].kind == CEL_UINT ||
		        v->items[0].kind == CEL_DOUBLE);
	default:
		return true;
	}
}

static bool all_fit(const struct cel_function *f, const struct cel_call *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		if (!fits(f->signature[i], &c->args[i]))
			return false;
	return true;
}

static struct cel_value no_function(const struct cel_function *f, struct cel_call *c)
{
	char text[256];
	size_t n = 0;
	uint32_t i;

	/* Strings have methods in cel-go, which answer in their own words. */
	if (f->plain == PLAIN_TEXT || (f->plain == PLAIN_NAME && c->args[0].kind == CEL_STRING))
		return cel_no_overload();
	/* So does what cel-go puts in the place of a call with a constant pattern. */
	if (c->regex)
		return cel_no_overload();
	if (f->plain == PLAIN_NAME)
		return cel_error(c->s, "no such overload: %s", f->name);
	for (i = 0; i < c->n && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
		                      cel_type_name(&c->args[i]));
	return cel_error(c->s, "no such overload: %s(%s)", f->name, c->n ? text : "");
}

struct cel_value cel_function_call(const struct cel_function *f, struct cel_call *c)
{
	const struct cel_function *o = f;
	uint32_t i;

	if (f->plain == ENDS && c->args[0].kind != CEL_LIST) {
		c->s->ended = true;
		c->s->end = cel_error(
			c->s,
			"internal error: interface conversion: %s is not traits.Lister: "
			"missing method %s",
			cel_go_type(&c->args[0]),
			c->args[0].kind >= CEL_INT && c->args[0].kind <= CEL_STRING ? "Contains" : "Add");
	}
	for (i = 0; i < c->n; i++)
		if (c->args[i].kind == CEL_ERROR)
			return c->args[i];
	for (; o < functions + FUNCTIONS && strcmp(o->name, f->name) == 0; o++)
		if (o->member == f->member && strlen(o->signature) == c->n && all_fit(o, c))
			return o->call(c);
	return no_function(f, c);
}
