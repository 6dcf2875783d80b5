/* SPDX-License-Identifier: Apache-2.0 */
/* Records as tables: the arrays behind the struct of a kind, and the valid values of each field.  A
 * second implementation of ipc/abi.h, compared with core/shm/records.c. */
#ifndef MUSTER_TESTS_FUZZ_SUPPORT_LAYOUT_H
#define MUSTER_TESTS_FUZZ_SUPPORT_LAYOUT_H

#include "ipc/abi.h"

#include <stdbool.h>

enum rule {
	RULE_WITHIN,    /* low .. high */
	RULE_OR_NONE,   /* the same, or ID_NONE */
	RULE_BITS,      /* none but those of high */
	RULE_RISES,     /* above the one before it in its array */
	RULE_ONCE,      /* unlike all before it in its array; within low .. high */
	RULE_REQUESTED, /* below low: once; low .. high: behind those, and sorted */
	RULE_SPAN,      /* of the part with the number low */
};

enum width { WIDTH_U32, WIDTH_I32, WIDTH_I64 };

struct field {
	enum rule rule;
	enum width width;
	uint32_t offset;
	int64_t low, high;
};

/* An array behind the struct, or the struct itself. */
struct part {
	uint32_t count; /* offset of the number of its elements in the struct, without `elements` */
	uint32_t bytes; /* of an element */
	const struct field *fields;
	uint32_t fields_n;
	bool text; /* bytes that are no NUL */
	/* How many elements, where that is no field of the struct: saturates. */
	uint32_t (*elements)(const unsigned char *body);
};

#define PARTS_MOST 16

/* Where the parts of a record are. */
struct view_of {
	const struct layout *layout;
	unsigned char *body;
	unsigned char *at[PARTS_MOST];
	uint32_t n[PARTS_MOST];
};

struct layout {
	struct part body; /* its count means nothing */
	struct part parts[PARTS_MOST];
	uint32_t parts_n;
	/* Checks that no table has.  NULL: the record is valid. */
	const char *(*more)(const struct view_of *v);
};

/* False if the counts do not add up to the length of the record. */
bool layout_open(const struct record *r, struct view_of *out);

/* NULL if the record by itself is valid by ipc/abi.h, else what is wrong. */
const char *layout_fault(const struct record *r);

int64_t field_get(const struct field *f, const unsigned char *element);
void field_put(const struct field *f, unsigned char *element, int64_t value);

#endif
