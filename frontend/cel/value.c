/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/cel/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *cel_alloc(struct cel_scratch *s, size_t bytes)
{
	static char end[16] __attribute__((aligned(16)));

	if (s->exceeded || bytes > CEL_MEMORY || s->bytes + bytes + 16 > CEL_MEMORY) {
		s->exceeded = true;
		return NULL;
	}
	if (bytes == 0)
		return end;
	s->bytes += bytes + 16;
	return arena_alloc(&s->arena, bytes);
}

void cel_charge(struct cel_scratch *s, size_t units)
{
	s->steps += units / 16 + 1;
	if (s->steps > CEL_STEPS)
		s->exceeded = true;
}

struct cel_value cel_bool(bool b)
{
	return (struct cel_value){ .kind = CEL_BOOL, .b = b };
}

struct cel_value cel_int(int64_t i)
{
	return (struct cel_value){ .kind = CEL_INT, .i = i };
}

struct cel_value cel_uint(uint64_t u)
{
	return (struct cel_value){ .kind = CEL_UINT, .u = u };
}

struct cel_value cel_double(double d)
{
	return (struct cel_value){ .kind = CEL_DOUBLE, .d = d };
}

struct cel_value cel_string(struct text t)
{
	return (struct cel_value){ .kind = CEL_STRING, .n = (uint32_t)t.bytes, .text = t.at };
}

struct cel_value cel_type(uint8_t kind)
{
	return (struct cel_value){ .kind = CEL_TYPE, .type = kind };
}

struct cel_value cel_error_text(const char *literal)
{
	return (struct cel_value){ .kind = CEL_ERROR, .n = (uint32_t)strlen(literal), .text = literal };
}

struct cel_value cel_no_overload(void)
{
	return cel_error_text("no such overload");
}

struct cel_value cel_error(struct cel_scratch *s, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;
	char *copy;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(text))
		n = sizeof(text) - 1;
	copy = cel_alloc(s, (size_t)n + 1);
	if (!copy)
		return cel_error_text("");
	memcpy(copy, text, (size_t)n);
	return (struct cel_value){ .kind = CEL_ERROR, .n = (uint32_t)n, .text = copy };
}

struct cel_value cel_list(struct cel_scratch *s, size_t n)
{
	struct cel_value v = { .kind = CEL_LIST, .n = (uint32_t)n };

	if (n > CEL_MEMORY / sizeof(struct cel_value))
		s->exceeded = true;
	v.items = cel_alloc(s, n * sizeof(struct cel_value));
	if (!v.items)
		return cel_error_text("");
	cel_charge(s, n);
	return v;
}

struct cel_value cel_optional(struct cel_scratch *s, const struct cel_value *value)
{
	struct cel_value v = { .kind = CEL_OPTIONAL };

	if (!value)
		return v;
	v.items = cel_alloc(s, sizeof(*value));
	if (!v.items)
		return cel_error_text("");
	*v.items = *value;
	v.n = 1;
	return v;
}

bool cel_is_map(const struct cel_value *v)
{
	return v->kind == CEL_MAP || v->kind >= CEL_DEVICE;
}

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[CEL_ERROR] = "error",
		[CEL_NULL] = "null_type",
		[CEL_BOOL] = "bool",
		[CEL_INT] = "int",
		[CEL_UINT] = "uint",
		[CEL_DOUBLE] = "double",
		[CEL_STRING] = "string",
		[CEL_LIST] = "list",
		[CEL_MAP] = "map",
		[CEL_TYPE] = "type",
		[CEL_OPTIONAL] = "optional_type",
		[CEL_SEMVER] = "kubernetes.Semver",
		[CEL_QUANTITY] = "kubernetes.Quantity",
	};

	return kind >= CEL_DEVICE ? "map" : names[kind];
}

const char *cel_type_name(const struct cel_value *v)
{
	return kind_name(v->kind);
}

const char *cel_go_type(const struct cel_value *v)
{
	static const char *const names[] = {
		[CEL_ERROR] = "*types.Err",         [CEL_NULL] = "types.Null",
		[CEL_BOOL] = "types.Bool",          [CEL_INT] = "types.Int",
		[CEL_UINT] = "types.Uint",          [CEL_DOUBLE] = "types.Double",
		[CEL_STRING] = "types.String",      [CEL_LIST] = "*types.baseList",
		[CEL_MAP] = "*types.baseMap",       [CEL_TYPE] = "*types.Type",
		[CEL_OPTIONAL] = "*types.Optional", [CEL_SEMVER] = "cel.Semver",
		[CEL_QUANTITY] = "cel.Quantity",
	};

	if (v->kind == CEL_QUANTITY && v->quantity->computed)
		return "*cel.Quantity";
	return v->kind >= CEL_DEVICE ? names[CEL_MAP] : names[v->kind];
}

static int order(int difference)
{
	return (difference > 0) - (difference < 0);
}

static int order_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

static int order_double_int(double d, int64_t i)
{
	if (d < -0x1p63)
		return -1;
	if (d > 0x1p63)
		return 1;
	return order_doubles(d, (double)i);
}

static int order_double_uint(double d, uint64_t u)
{
	if (d < 0)
		return -1;
	if (d > 0x1p64)
		return 1;
	return order_doubles(d, (double)u);
}

static int order_int_uint(int64_t i, uint64_t u)
{
	if (i < 0 || u > INT64_MAX)
		return -1;
	return (i > (int64_t)u) - (i < (int64_t)u);
}

static bool is_number(const struct cel_value *v)
{
	return v->kind == CEL_INT || v->kind == CEL_UINT || v->kind == CEL_DOUBLE;
}

/* Of two numbers, neither of them NaN. */
static int order_numbers(const struct cel_value *a, const struct cel_value *b)
{
	if (a->kind == CEL_INT) {
		if (b->kind == CEL_INT)
			return (a->i > b->i) - (a->i < b->i);
		if (b->kind == CEL_UINT)
			return order_int_uint(a->i, b->u);
		return -order_double_int(b->d, a->i);
	}
	if (a->kind == CEL_UINT) {
		if (b->kind == CEL_INT)
			return -order_int_uint(b->i, a->u);
		if (b->kind == CEL_UINT)
			return (a->u > b->u) - (a->u < b->u);
		return -order_double_uint(b->d, a->u);
	}
	if (b->kind == CEL_INT)
		return order_double_int(a->d, b->i);
	if (b->kind == CEL_UINT)
		return order_double_uint(a->d, b->u);
	return order_doubles(a->d, b->d);
}

static bool is_nan(const struct cel_value *v)
{
	return v->kind == CEL_DOUBLE && isnan(v->d);
}

bool cel_comparable(const struct cel_value *v)
{
	return is_number(v) || v->kind == CEL_BOOL || v->kind == CEL_STRING;
}

struct cel_value cel_compare(struct cel_scratch *s, const struct cel_value *a,
                             const struct cel_value *b)
{
	if (b->kind == CEL_ERROR)
		return *b;
	if (is_number(a)) {
		if (is_nan(a))
			return cel_error_text("NaN values cannot be ordered");
		if (!is_number(b))
			return cel_no_overload();
		if (is_nan(b))
			return cel_error_text("NaN values cannot be ordered");
		return cel_int(order_numbers(a, b));
	}
	if (a->kind != b->kind || !cel_comparable(a))
		return cel_no_overload();
	if (a->kind == CEL_BOOL)
		return cel_int((int)a->b - (int)b->b);
	cel_charge(s, a->n);
	return cel_int(order(text_order(cel_text(a), cel_text(b))));
}

static bool text_found(struct text a, const struct cel_value *key)
{
	return text_equal(a, cel_text(key));
}

static bool has_domain(const struct cel_device *d, bool capacities, struct text domain)
{
	size_t i;

	if (capacities) {
		for (i = 0; i < d->capacities_n; i++)
			if (text_equal(d->capacities[i].domain, domain))
				return true;
		return false;
	}
	for (i = 0; i < d->attributes_n; i++)
		if (text_equal(d->attributes[i].domain, domain))
			return true;
	return false;
}

static struct cel_value attribute_value(const struct cel_attribute *a)
{
	switch (a->kind) {
	case CEL_ATTRIBUTE_INT:
		return cel_int(a->number);
	case CEL_ATTRIBUTE_BOOL:
		return cel_bool(a->number != 0);
	case CEL_ATTRIBUTE_STRING:
		return cel_string(a->string);
	case CEL_ATTRIBUTE_VERSION:
		break;
	}
	return (struct cel_value){ .kind = CEL_SEMVER, .version = &a->version };
}

static struct cel_value capacity_value(const struct cel_capacity *c)
{
	return (struct cel_value){ .kind = CEL_QUANTITY, .quantity = &c->value };
}

static bool find_in_domain(const struct cel_scratch *s, const struct cel_value *m,
                           const struct cel_value *key, struct cel_value *out)
{
	const struct cel_device *d = s->device;
	struct text domain = cel_text(m);
	size_t i;

	if (m->kind == CEL_ATTRIBUTE_DOMAIN) {
		for (i = 0; i < d->attributes_n; i++)
			if (text_found(d->attributes[i].name, key) &&
			    text_equal(d->attributes[i].domain, domain)) {
				*out = attribute_value(&d->attributes[i]);
				return true;
			}
		return false;
	}
	for (i = 0; i < d->capacities_n; i++)
		if (text_found(d->capacities[i].name, key) && text_equal(d->capacities[i].domain, domain)) {
			*out = capacity_value(&d->capacities[i]);
			return true;
		}
	return false;
}

static bool find_in_device(const struct cel_scratch *s, const struct cel_value *key,
                           struct cel_value *out)
{
	struct text name = cel_text(key);

	if (text_is(name, "attributes"))
		*out = (struct cel_value){ .kind = CEL_ATTRIBUTES };
	else if (text_is(name, "capacity"))
		*out = (struct cel_value){ .kind = CEL_CAPACITIES };
	else if (text_is(name, "driver"))
		*out = cel_string(s->device->driver);
	else if (text_is(name, "allowMultipleAllocations"))
		*out = cel_bool(s->device->allow_multiple_allocations);
	else
		return false;
	return true;
}

/* A key of a map that the expression made.  Integers are found as either type, a double as an
 * integer. */
static bool key_is(const struct cel_value *entry, const struct cel_value *key)
{
	if (is_number(entry) && is_number(key))
		return !is_nan(key) && order_numbers(entry, key) == 0;
	if (entry->kind != key->kind)
		return false;
	if (key->kind == CEL_STRING)
		return text_equal(cel_text(entry), cel_text(key));
	return key->kind == CEL_BOOL && entry->b == key->b;
}

bool cel_map_find(struct cel_scratch *s, const struct cel_value *m, const struct cel_value *key,
                  struct cel_value *out)
{
	uint32_t i;

	if (m->kind == CEL_MAP) {
		cel_charge(s, m->n);
		for (i = 0; i < m->n; i++)
			if (key_is(&m->items[2 * i], key)) {
				*out = m->items[2 * i + 1];
				return true;
			}
		return false;
	}
	if (key->kind != CEL_STRING && m->kind != CEL_ATTRIBUTES && m->kind != CEL_CAPACITIES)
		return false;
	switch (m->kind) {
	case CEL_DEVICE:
		return find_in_device(s, key, out);
	case CEL_ATTRIBUTES:
	case CEL_CAPACITIES:
		/* A domain that the device lacks is an empty map. */
		*out = (struct cel_value){ .kind = m->kind == CEL_ATTRIBUTES ? CEL_ATTRIBUTE_DOMAIN
			                                                         : CEL_CAPACITY_DOMAIN };
		if (key->kind == CEL_STRING) {
			out->text = key->text;
			out->n = key->n;
		} else {
			*out = (struct cel_value){ .kind = CEL_MAP };
		}
		return true;
	default:
		cel_charge(s, s->device->attributes_n + s->device->capacities_n);
		return find_in_domain(s, m, key, out);
	}
}

bool cel_map_contains(struct cel_scratch *s, const struct cel_value *m, const struct cel_value *key)
{
	struct cel_value ignored;

	if (m->kind == CEL_ATTRIBUTES || m->kind == CEL_CAPACITIES) {
		cel_charge(s, s->device->attributes_n + s->device->capacities_n);
		return key->kind == CEL_STRING &&
		       has_domain(s->device, m->kind == CEL_CAPACITIES, cel_text(key));
	}
	return cel_map_find(s, m, key, &ignored);
}

/* The index of the attribute or capacity that is entry `at` of the map, or n. */
static size_t entry_index(const struct cel_device *d, const struct cel_value *m, uint32_t at)
{
	bool capacities = m->kind == CEL_CAPACITIES || m->kind == CEL_CAPACITY_DOMAIN;
	bool domains = m->kind == CEL_ATTRIBUTES || m->kind == CEL_CAPACITIES;
	size_t n = capacities ? d->capacities_n : d->attributes_n;
	size_t i, before;

	for (i = 0; i < n; i++) {
		struct text domain = capacities ? d->capacities[i].domain : d->attributes[i].domain;

		if (domains) {
			for (before = 0; before < i; before++)
				if (text_equal(capacities ? d->capacities[before].domain
				                          : d->attributes[before].domain,
				               domain))
					break;
			if (before < i)
				continue;
		} else if (!text_equal(domain, cel_text(m))) {
			continue;
		}
		if (at-- == 0)
			return i;
	}
	return n;
}

uint32_t cel_map_size(struct cel_scratch *s, const struct cel_value *m)
{
	const struct cel_device *d = s->device;
	bool capacities = m->kind == CEL_CAPACITIES || m->kind == CEL_CAPACITY_DOMAIN;
	uint32_t n = 0;

	if (m->kind == CEL_MAP)
		return m->n;
	if (m->kind == CEL_DEVICE)
		return 4;
	while (!s->exceeded &&
	       entry_index(d, m, n) < (capacities ? d->capacities_n : d->attributes_n)) {
		cel_charge(s, 32);
		n++;
	}
	return n;
}

void cel_map_entry(struct cel_scratch *s, const struct cel_value *m, uint32_t at,
                   struct cel_value *key, struct cel_value *value)
{
	static const char *const fields[] = { "driver", "allowMultipleAllocations", "attributes",
		                                  "capacity" };
	const struct cel_device *d = s->device;
	size_t i;

	if (m->kind == CEL_MAP) {
		*key = m->items[2 * at];
		*value = m->items[2 * at + 1];
		return;
	}
	if (m->kind == CEL_DEVICE) {
		*key = cel_string(text_of(fields[at]));
		find_in_device(s, key, value);
		return;
	}
	cel_charge(s, 32);
	i = entry_index(d, m, at);
	switch (m->kind) {
	case CEL_ATTRIBUTES:
		*key = cel_string(d->attributes[i].domain);
		*value = (struct cel_value){ .kind = CEL_ATTRIBUTE_DOMAIN, .n = key->n, .text = key->text };
		break;
	case CEL_CAPACITIES:
		*key = cel_string(d->capacities[i].domain);
		*value = (struct cel_value){ .kind = CEL_CAPACITY_DOMAIN, .n = key->n, .text = key->text };
		break;
	case CEL_ATTRIBUTE_DOMAIN:
		*key = cel_string(d->attributes[i].name);
		*value = attribute_value(&d->attributes[i]);
		break;
	default:
		*key = cel_string(d->capacities[i].name);
		*value = capacity_value(&d->capacities[i]);
		break;
	}
}

/* How deep values may be nested that are compared or printed. */
#define VALUE_DEPTH 32

static struct cel_value equal(struct cel_scratch *s, const struct cel_value *a,
                              const struct cel_value *b, unsigned depth);

/* As in cel-go, an item whose comparison is an error counts as equal. */
static struct cel_value equal_lists(struct cel_scratch *s, const struct cel_value *a,
                                    const struct cel_value *b, unsigned depth)
{
	uint32_t i;

	if (b->kind != CEL_LIST || a->n != b->n)
		return cel_bool(false);
	for (i = 0; i < a->n && !s->exceeded; i++) {
		struct cel_value same = equal(s, &a->items[i], &b->items[i], depth + 1);

		if (same.kind == CEL_BOOL && !same.b)
			return same;
	}
	return cel_bool(true);
}

static struct cel_value equal_maps(struct cel_scratch *s, const struct cel_value *a,
                                   const struct cel_value *b, unsigned depth)
{
	uint32_t n, i;

	if (!cel_is_map(b))
		return cel_bool(false);
	n = cel_map_size(s, a);
	if (n != cel_map_size(s, b))
		return cel_bool(false);
	for (i = 0; i < n && !s->exceeded; i++) {
		struct cel_value key, value, other, same;

		cel_map_entry(s, a, i, &key, &value);
		if (!cel_map_find(s, b, &key, &other))
			return cel_bool(false);
		same = equal(s, &value, &other, depth + 1);
		if (same.kind == CEL_BOOL && !same.b)
			return same;
	}
	return cel_bool(true);
}

static struct cel_value equal(struct cel_scratch *s, const struct cel_value *a,
                              const struct cel_value *b, unsigned depth)
{
	if (depth > VALUE_DEPTH)
		s->exceeded = true;
	cel_charge(s, 1);
	if (s->exceeded)
		return cel_bool(false);
	if (a->kind == CEL_NULL || b->kind == CEL_NULL)
		return cel_bool(a->kind == b->kind);
	if (is_number(a))
		return cel_bool(is_number(b) && !is_nan(a) && !is_nan(b) && order_numbers(a, b) == 0);
	if (cel_is_map(a))
		return equal_maps(s, a, b, depth);
	switch (a->kind) {
	case CEL_BOOL:
		return cel_bool(b->kind == CEL_BOOL && a->b == b->b);
	case CEL_STRING:
		cel_charge(s, a->n);
		return cel_bool(b->kind == CEL_STRING && text_equal(cel_text(a), cel_text(b)));
	case CEL_LIST:
		return equal_lists(s, a, b, depth);
	case CEL_TYPE:
		return cel_bool(b->kind == CEL_TYPE && strcmp(kind_name(a->type), kind_name(b->type)) == 0);
	case CEL_OPTIONAL:
		if (b->kind != CEL_OPTIONAL || a->n != b->n)
			return cel_bool(false);
		return a->n ? equal(s, a->items, b->items, depth + 1) : cel_bool(true);
	case CEL_SEMVER:
		if (b->kind != CEL_SEMVER)
			return cel_no_overload();
		cel_charge(s, a->version->pre.bytes + b->version->pre.bytes);
		return cel_bool(cel_version_compare(a->version, b->version) == 0);
	case CEL_QUANTITY:
		if (b->kind != CEL_QUANTITY || b->quantity->computed)
			return cel_no_overload();
		return cel_bool(cel_quantity_compare(a->quantity, b->quantity) == 0);
	default:
		return *a;
	}
}

struct cel_value cel_equal(struct cel_scratch *s, const struct cel_value *a,
                           const struct cel_value *b)
{
	return equal(s, a, b, 0);
}

bool cel_same(struct cel_scratch *s, const struct cel_value *a, const struct cel_value *b)
{
	struct cel_value same = equal(s, a, b, 0);

	return same.kind == CEL_BOOL && same.b;
}

/* The shortest digits that give the number again, in Go's %g. */
static int print_double(char out[40], double d)
{
	char digits[40];
	int precision, exponent;
	char *e;

	if (isnan(d))
		return snprintf(out, 40, "NaN");
	if (isinf(d))
		return snprintf(out, 40, "%sInf", d < 0 ? "-" : "+");
	for (precision = 0; precision < 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*e", precision, d);
		if (strtod(digits, NULL) == d)
			break;
	}
	e = strchr(digits, 'e');
	exponent = atoi(e + 1);
	if (exponent < -4 || exponent >= 6)
		return snprintf(out, 40, "%s", digits);
	if (precision > exponent)
		return snprintf(out, 40, "%.*f", precision - exponent, d);
	return snprintf(out, 40, "%.0f", d);
}

struct printer {
	struct cel_scratch *s;
	char *at;
	size_t n, cap;
};

static void print_bytes(struct printer *p, const char *at, size_t n)
{
	char *more;

	cel_charge(p->s, n);
	if (n > p->cap - p->n) {
		size_t cap = (p->cap + n) * 2;

		more = cel_alloc(p->s, cap);
		if (!more)
			return;
		if (p->n)
			memcpy(more, p->at, p->n);
		p->at = more;
		p->cap = cap;
	}
	if (n)
		memcpy(p->at + p->n, at, n);
	p->n += n;
}

__attribute__((format(printf, 2, 3))) static void print_short(struct printer *p, const char *format,
                                                              ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_bytes(p, text, strlen(text));
}

static void print_value(struct printer *p, const struct cel_value *v, unsigned depth);

static void print_list(struct printer *p, const struct cel_value *v, unsigned depth)
{
	print_short(p, "[");
	for (uint32_t i = 0; i < v->n; i++) {
		print_short(p, i > 0 ? ", " : "");
		print_value(p, &v->items[i], depth + 1);
	}
	print_short(p, "]");
}

static void print_map(struct printer *p, const struct cel_value *v, unsigned depth)
{
	const uint32_t n = cel_map_size(p->s, v);

	print_short(p, "{");
	for (uint32_t i = 0; i < n && !p->s->exceeded; i++) {
		struct cel_value key, value;

		print_short(p, i > 0 ? ", " : "");
		cel_map_entry(p->s, v, i, &key, &value);
		print_value(p, &key, depth + 1);
		print_short(p, ": ");
		print_value(p, &value, depth + 1);
	}
	print_short(p, "}");
}

static void print_version(struct printer *p, const struct cel_version *v)
{
	print_short(p, "%llu.%llu.%llu%s", (unsigned long long)v->number[0],
	            (unsigned long long)v->number[1], (unsigned long long)v->number[2],
	            v->pre.bytes > 0 ? "-" : "");
	print_bytes(p, v->pre.at, v->pre.bytes);
}

static void print_optional(struct printer *p, const struct cel_value *v, unsigned depth)
{
	print_short(p, v->n > 0 ? "optional(" : "optional.none(");
	if (v->n > 0)
		print_value(p, v->items, depth + 1);
	print_short(p, ")");
}

static void print_value(struct printer *p, const struct cel_value *v, unsigned depth)
{
	char text[64];

	if (depth > VALUE_DEPTH)
		p->s->exceeded = true;
	if (p->s->exceeded)
		return;
	switch (v->kind) {
	case CEL_NULL:
		print_short(p, "null");
		return;
	case CEL_BOOL:
		print_short(p, "%s", v->b ? "true" : "false");
		return;
	case CEL_INT:
		print_short(p, "%lld", (long long)v->i);
		return;
	case CEL_UINT:
		print_short(p, "%llu", (unsigned long long)v->u);
		return;
	case CEL_DOUBLE:
		print_bytes(p, text, (size_t)print_double(text, v->d));
		return;
	case CEL_QUANTITY:
		print_bytes(p, text, (size_t)print_double(text, cel_quantity_double(v->quantity)));
		return;
	case CEL_STRING:
	case CEL_ERROR:
		print_bytes(p, v->text, v->n);
		return;
	case CEL_TYPE:
		print_short(p, "%s", kind_name(v->type));
		return;
	case CEL_LIST:
		print_list(p, v, depth);
		return;
	case CEL_OPTIONAL:
		print_optional(p, v, depth);
		return;
	case CEL_SEMVER:
		print_version(p, v->version);
		return;
	default:
		print_map(p, v, depth);
		return;
	}
}

struct text cel_print(struct cel_scratch *s, const struct cel_value *v)
{
	struct printer p = { .s = s };

	print_value(&p, v, 0);
	return (struct text){ p.at, p.n };
}
