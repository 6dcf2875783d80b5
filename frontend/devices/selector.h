/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between devices and the evaluator of their selectors. */
#ifndef MUSTER_FRONTEND_SELECTOR_H
#define MUSTER_FRONTEND_SELECTOR_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attribute_type { ATTRIBUTE_INT, ATTRIBUTE_BOOL, ATTRIBUTE_STRING, ATTRIBUTE_VERSION };

struct device_attribute {
	struct text name;   /* as written */
	struct text domain; /* the driver's for a name without one */
	struct text id;     /* the name without its domain */
	enum attribute_type type;
	int64_t number; /* int, bool */
	struct text text;
};

struct device_quantity {
	struct text name, domain, id;
	struct text value;
};

/* What an expression sees of a device. */
struct device_facts {
	struct text driver;
	bool shared;
	struct device_attribute *attributes;
	size_t attributes_n;
	struct device_quantity *capacities;
	size_t capacities_n;
};

struct selector; /* a compiled expression */

/* Never NULL: an expression that is wrong gives its error for each device. */
struct selector *selector_new(struct text expression);
void selector_free(struct selector *s);

/* What the expression uses that muster does not know; NULL: nothing. */
const char *selector_refused(const struct selector *s);

enum selector_result { SELECTOR_TRUE = 1, SELECTOR_FALSE, SELECTOR_ERROR };
/* SELECTOR_ERROR: `error`. */
enum selector_result selector_match(struct selector *s, const struct device_facts *device,
                                    char *error, size_t error_bytes);

#endif
