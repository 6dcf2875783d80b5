/* SPDX-License-Identifier: Apache-2.0 */
/* The flat program of an expression, for a machine with a stack of values.
 *
 * Variables of macros have slots, one each: no slot is used twice.  A macro's loop has an iterator.
 * The value of cel.bind() is a subroutine that its first use calls. */
#ifndef MUSTER_FRONTEND_CEL_PROGRAM_H
#define MUSTER_FRONTEND_CEL_PROGRAM_H

#include "frontend/cel/ast.h"
#include "frontend/cel/function.h"

#define PROGRAM_MAX 32768 /* instructions */

enum cel_op {
	CEL_OP_CONST,         /* push constant a */
	CEL_OP_DEVICE,        /* push the variable */
	CEL_OP_LOAD,          /* push slot a */
	CEL_OP_LAZY,          /* push slot a; if it is not set, call b, which sets it */
	CEL_OP_CLEAR,         /* slot a is not set */
	CEL_OP_RETURN,        /* of a subroutine: slot a becomes the top, which stays */
	CEL_OP_STORE,         /* pop into slot a */
	CEL_OP_SELECT,        /* the field of constant a; `flag`: optional */
	CEL_OP_HAS,           /* the same, whether it exists */
	CEL_OP_INDEX,         /* pop the index; `flag`: optional */
	CEL_OP_OPERATOR,      /* pop one or two; code a */
	CEL_OP_CALL,          /* function a of b arguments */
	CEL_OP_OPTIONAL_ITEM, /* the top is an item with '?' */
	CEL_OP_LIST,          /* pop a items */
	CEL_OP_MAP,           /* pop a entries */
	CEL_OP_JUMP,          /* to a */
	CEL_OP_LOGIC_FIRST,   /* `flag`: ||.  To a if the top decides */
	CEL_OP_LOGIC_NEXT,    /* pop a term and combine it with the one below; to a if it decides */
	CEL_OP_BRANCH,        /* pop a bool; false: to a; neither: leave the error and go to b */
	CEL_OP_OR_VALUE,  /* the top is an optional with a value: it is the result, to a; `flag`: as it
	                     is */
	CEL_OP_OPT_ENTER, /* optMap(): pop the optional's value into slot b, or go to a */
	CEL_OP_OPT_OF,    /* the top becomes an optional with that value */
	CEL_OP_FOLD,      /* pop the range of loop a; not one: leave the error and go to b */
	CEL_OP_NEXT,      /* the next item of loop a into its slots; none: to b */
	CEL_OP_APPEND,    /* pop an item and append it to the list in slot a */
	CEL_OP_PUT,       /* pop a value and put it into the map in slot a under the key in slot b */
	CEL_OP_BREAK,     /* slot a is the bool `flag`: to b */
	CEL_OP_END,
};

struct cel_instruction {
	uint8_t op;
	bool flag;
	uint32_t a, b;
};

struct cel_loop {
	uint32_t slot, slot2;
	bool two;
	/* While it runs. */
	struct cel_value range;
	uint32_t at, n;
};

struct cel_pattern {
	const struct regex *regex; /* NULL: none */
};

struct cel_program {
	struct arena arena; /* what follows */
	struct cel_instruction *code;
	uint32_t code_n;
	struct cel_value *constants;
	uint32_t constants_n;
	const struct cel_function **functions;
	struct cel_pattern *patterns; /* of each function, if its last argument is a constant pattern */
	uint32_t functions_n;
	struct cel_loop *loops;
	uint32_t loops_n;
	struct cel_value *slots;
	bool *set;
	uint32_t slots_n;
	struct cel_value *stack;
	uint32_t stack_n;
	uint32_t *calls; /* return addresses */
	struct cel_scratch scratch;
};

#endif
