/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the environment: overloads by the kinds of their arguments, chosen when called.
 */
#ifndef MUSTER_FRONTEND_CEL_FUNCTION_H
#define MUSTER_FRONTEND_CEL_FUNCTION_H

#include "frontend/cel/regex.h"
#include "frontend/cel/value.h"

struct cel_call {
	struct cel_scratch *s;
	struct cel_value *args;
	uint32_t n;
	/* Of a pattern that is a constant, compiled before; else NULL. */
	const struct regex *regex;
};

typedef struct cel_value (*cel_function_fn)(struct cel_call *c);

struct cel_function {
	const char *name;
	bool member;
	/* One letter an argument: s string, i int, u uint, d double, b bool, v version, q quantity, l
	 * list, o optional, a anything; S list of strings, C of what can be ordered, N of numbers, by
	 * its first item. */
	const char *signature;
	cel_function_fn call;
	/* Of what does not fit the error says only "no such overload", or that and the name; or it ends
	 * the evaluation, as cel-go's count of costs does. */
	enum { PLAIN_NOT, PLAIN_TEXT, PLAIN_NAME, ENDS } plain;
};

/* The first overload of that name, form and number of arguments, or NULL. */
const struct cel_function *cel_function_find(struct text name, bool member, uint32_t n);
/* True if some overload has that name. */
bool cel_function_known(struct text name);
/* Call the overload that fits.  An argument that is an error is the result. */
struct cel_value cel_function_call(const struct cel_function *f, struct cel_call *c);

/* An operator of enum cel_operator on values, strict. */
struct cel_value cel_operate(struct cel_scratch *s, unsigned code, const struct cel_value *a,
                             const struct cel_value *b);

/* functions_list.c */
struct cel_value cel_list_sum(struct cel_call *c);
struct cel_value cel_list_min(struct cel_call *c);
struct cel_value cel_list_max(struct cel_call *c);
struct cel_value cel_list_sort(struct cel_call *c);
struct cel_value cel_list_is_sorted(struct cel_call *c);
struct cel_value cel_list_index_of(struct cel_call *c);
struct cel_value cel_list_last_index_of(struct cel_call *c);
struct cel_value cel_list_slice(struct cel_call *c);
struct cel_value cel_list_reverse(struct cel_call *c);
struct cel_value cel_list_distinct(struct cel_call *c);
struct cel_value cel_list_flatten(struct cel_call *c);
struct cel_value cel_list_range(struct cel_call *c);
struct cel_value cel_list_first(struct cel_call *c);
struct cel_value cel_list_last(struct cel_call *c);
struct cel_value cel_list_join(struct cel_call *c);
struct cel_value cel_sets_contains(struct cel_call *c);
struct cel_value cel_sets_equivalent(struct cel_call *c);
struct cel_value cel_sets_intersects(struct cel_call *c);

/* functions_string.c */
struct cel_value cel_string_contains(struct cel_call *c);
struct cel_value cel_string_starts_with(struct cel_call *c);
struct cel_value cel_string_ends_with(struct cel_call *c);
struct cel_value cel_string_matches(struct cel_call *c);
struct cel_value cel_string_find(struct cel_call *c);
struct cel_value cel_string_find_all(struct cel_call *c);
struct cel_value cel_string_char_at(struct cel_call *c);
struct cel_value cel_string_index_of(struct cel_call *c);
struct cel_value cel_string_last_index_of(struct cel_call *c);
struct cel_value cel_string_lower(struct cel_call *c);
struct cel_value cel_string_upper(struct cel_call *c);
struct cel_value cel_string_replace(struct cel_call *c);
struct cel_value cel_string_split(struct cel_call *c);
struct cel_value cel_string_substring(struct cel_call *c);
struct cel_value cel_string_trim(struct cel_call *c);
struct cel_value cel_string_quote(struct cel_call *c);
/* The number of code points. */
uint32_t cel_string_size(struct cel_scratch *s, const struct cel_value *v);

#endif
