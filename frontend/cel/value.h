/* SPDX-License-Identifier: Apache-2.0 */
/* Values of CEL, their equality, order, conversions and texts.
 *
 * A value of kind CEL_ERROR is what cel-go calls an error value: && and || absorb it, everything
 * else hands it on.  Memory comes from the scratch of the evaluation. */
#ifndef MUSTER_FRONTEND_CEL_VALUE_H
#define MUSTER_FRONTEND_CEL_VALUE_H

#include "frontend/cel/cel.h"

enum cel_kind {
	CEL_ERROR,
	CEL_NULL,
	CEL_BOOL,
	CEL_INT,
	CEL_UINT,
	CEL_DOUBLE,
	CEL_STRING,
	CEL_LIST,
	CEL_MAP,
	CEL_TYPE,
	CEL_OPTIONAL,
	CEL_SEMVER,
	CEL_QUANTITY,
	CEL_DEVICE,     /* the variable */
	CEL_ATTRIBUTES, /* device.attributes: by domain */
	CEL_CAPACITIES, /* device.capacity: by domain */
	CEL_ATTRIBUTE_DOMAIN,
	CEL_CAPACITY_DOMAIN,
};

struct cel_value {
	uint8_t kind;
	uint8_t type; /* CEL_TYPE: the kind it names */
	uint32_t n;   /* bytes of a string or error; items of a list; entries of a map; 1 of an optional
	                 with a value */
	union {
		bool b;
		int64_t i;
		uint64_t u;
		double d;
		const char *text;        /* CEL_STRING, CEL_ERROR; also the domain of CEL_*_DOMAIN */
		struct cel_value *items; /* of a map: key, value, key, value */
		const struct cel_version *version;
		const struct cel_quantity *quantity;
	};
};

/* What one evaluation uses. */
struct cel_scratch {
	struct arena arena;
	size_t bytes;
	uint64_t steps;
	bool exceeded;
	char why[256]; /* of `exceeded`, if it is not steps or memory */
	/* What in cel-go ends the evaluation as a whole, whatever && and || would make of it; kind
	 * CEL_ERROR once it is set. */
	bool ended;
	struct cel_value end;
	const struct cel_device *device;
};

/* NULL when a limit is exceeded, which is then recorded: the evaluation ends. */
void *cel_alloc(struct cel_scratch *s, size_t bytes);
/* Count `units` of 16 bytes or items as one step each. */
void cel_charge(struct cel_scratch *s, size_t units);

static inline struct text cel_text(const struct cel_value *v)
{
	return (struct text){ v->text, v->n };
}

struct cel_value cel_bool(bool b);
struct cel_value cel_int(int64_t i);
struct cel_value cel_uint(uint64_t u);
struct cel_value cel_double(double d);
struct cel_value cel_string(struct text t);
struct cel_value cel_type(uint8_t kind);
struct cel_value cel_list(struct cel_scratch *s, size_t n); /* items not set */
struct cel_value cel_optional(struct cel_scratch *s,
                              const struct cel_value *value); /* NULL: none */
struct cel_value cel_error(struct cel_scratch *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
struct cel_value cel_error_text(const char *literal);
struct cel_value cel_no_overload(void);

bool cel_is_map(const struct cel_value *v);
/* The name of its type as cel-go prints it, and the name of its type in Go. */
const char *cel_type_name(const struct cel_value *v);
const char *cel_go_type(const struct cel_value *v);

/* Maps of each form. */
uint32_t cel_map_size(struct cel_scratch *s, const struct cel_value *m);
bool cel_map_find(struct cel_scratch *s, const struct cel_value *m, const struct cel_value *key,
                  struct cel_value *out);
void cel_map_entry(struct cel_scratch *s, const struct cel_value *m, uint32_t at,
                   struct cel_value *key, struct cel_value *value);
/* `in`: without the empty map that an unknown domain stands for. */
bool cel_map_contains(struct cel_scratch *s, const struct cel_value *m,
                      const struct cel_value *key);

/* A bool, or an error. */
struct cel_value cel_equal(struct cel_scratch *s, const struct cel_value *a,
                           const struct cel_value *b);
/* True if they are equal; an error is not. */
bool cel_same(struct cel_scratch *s, const struct cel_value *a, const struct cel_value *b);
/* An int -1, 0 or 1, or an error.  a is comparable: cel_comparable(). */
struct cel_value cel_compare(struct cel_scratch *s, const struct cel_value *a,
                             const struct cel_value *b);
bool cel_comparable(const struct cel_value *v);

/* As Go prints it with %v. */
struct text cel_print(struct cel_scratch *s, const struct cel_value *v);

int cel_quantity_compare(const struct cel_quantity *a, const struct cel_quantity *b);
bool cel_quantity_int(const struct cel_quantity *q, int64_t *out);
double cel_quantity_double(const struct cel_quantity *q);
struct cel_quantity cel_quantity_sum(const struct cel_quantity *a, const struct cel_quantity *b,
                                     bool minus);

/* One code point of UTF-8, or U+FFFD for a byte that starts none; the bytes it takes. */
size_t cel_rune(const char *at, const char *end, uint32_t *rune);

/* A conversion of text as strconv does it. */
bool cel_parse_uint(struct text t, uint64_t *out);
bool cel_parse_double(struct text t, double *out);

#endif
