/* SPDX-License-Identifier: Apache-2.0 */
/* CEL selectors of dynamic resource allocation: an expression over one variable, `device`, that is
 * true, false or an error for each device.
 *
 *     program = cel_compile(text, &error);          once, when the selector is first seen
 *     rc = cel_eval(program, &device, &match, &error);      for each device
 *
 * The environment is that of Kubernetes 1.36 (k8s.io/dynamic-resource-allocation/cel/compile.go),
 * less what B5 of the contract leaves out: bytes, timestamps, durations, URLs, IP addresses, CIDR
 * ranges and format strings.  Results and the texts of errors are those of cel-go 0.26.
 *
 * Stricter than the API server: 10 KiB of text, brackets and operators nested 64 deep, CEL_STEPS
 * steps and CEL_MEMORY bytes for each evaluation.  A step is an instruction, or 16 bytes or items
 * that a function reads or writes.  Not checked are types: expressions come from the API server,
 * which has checked them.  Of errors found when compiling only unknown names, syntax, literals,
 * constant patterns of regular expressions and the type of the result are reported. */
#ifndef MUSTER_FRONTEND_CEL_H
#define MUSTER_FRONTEND_CEL_H

#include "frontend/base/arena.h"
#include "frontend/json/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CEL_TEXT_MAX 10240
#define CEL_DEPTH 64
#define CEL_STEPS 100000
#define CEL_MEMORY ((size_t)1 << 20)

/* A semantic version, by the rules of github.com/blang/semver: ordered by the three numbers and the
 * part behind '-'; the build part behind '+' is parsed and ignored.  `pre` points into the text. */
struct cel_version {
	uint64_t number[3];
	struct text pre;
};

struct cel_error {
	/* Refused: the expression uses what muster does not know or exceeds a limit of muster's; `text`
	 * is a noun phrase for "selector of claim X uses TEXT, which muster does not know" or a whole
	 * clause if `limit`.  Otherwise `text` is the API server's or kube-scheduler's own. */
	bool refused;
	bool limit;
	char text[512];
};

/* False: *text is not a version, and error->text says why. */
bool cel_version_parse(struct text text, struct cel_version *out, struct cel_error *error);
int cel_version_compare(const struct cel_version *a, const struct cel_version *b);

enum cel_attribute_kind {
	CEL_ATTRIBUTE_INT,
	CEL_ATTRIBUTE_BOOL,
	CEL_ATTRIBUTE_STRING,
	CEL_ATTRIBUTE_VERSION
};

struct cel_attribute {
	struct text domain; /* of names without one, the driver's */
	struct text name;
	enum cel_attribute_kind kind;
	int64_t number;     /* CEL_ATTRIBUTE_INT, CEL_ATTRIBUTE_BOOL */
	struct text string; /* CEL_ATTRIBUTE_STRING, and CEL_ATTRIBUTE_VERSION as written */
	struct cel_version version;
};

/* A quantity with the form in which Kubernetes stores it, which decides what isInteger() and
 * asApproximateFloat() answer. */
struct cel_quantity {
	nano_t nano;
	int8_t scale;  /* an int64 times 10^scale, unless `decimal` */
	bool decimal;  /* an arbitrary decimal: never an integer for isInteger() */
	bool computed; /* by add() or sub(): on the right of == an error, as in Kubernetes */
};

/* False: *text is not a quantity, and error->text says why. */
bool cel_quantity_parse(struct text text, struct cel_quantity *out, struct cel_error *error);

struct cel_capacity {
	struct text domain;
	struct text name;
	struct cel_quantity value;
};

/* What a selector may ask of a device.  Nothing is copied. */
struct cel_device {
	struct text driver;
	bool allow_multiple_allocations;
	const struct cel_attribute *attributes;
	size_t attributes_n;
	const struct cel_capacity *capacities;
	size_t capacities_n;
};

/* The domain and name of an attribute or capacity as a slice writes it: "domain/name", or "name"
 * with the driver as its domain. */
void cel_name_split(struct text written, struct text driver, struct text *domain,
                    struct text *name);

struct cel_program;

/* NULL: error says why.  The text need not outlive the call. */
struct cel_program *cel_compile(struct text text, struct cel_error *error);
void cel_free(struct cel_program *p);
/* Memory that it has for as long as it lives: a pattern of a few bytes takes up to 128 KiB. */
size_t cel_bytes(const struct cel_program *p);

/* Evaluate.  Not from two threads at a time: the program has the stack of an evaluation.
 *
 *   0         *match is set
 *   -EINVAL   an error of CEL; error->text is kube-scheduler's
 *   -E2BIG    more than CEL_STEPS steps or CEL_MEMORY bytes; error->refused */
int cel_eval(struct cel_program *p, const struct cel_device *device, bool *match,
             struct cel_error *error);
/* That the last evaluation took. */
uint64_t cel_steps(const struct cel_program *p);

#endif
