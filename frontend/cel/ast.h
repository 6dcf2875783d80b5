/* SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree of an expression; macros are nodes of their own. */
#ifndef MUSTER_FRONTEND_CEL_AST_H
#define MUSTER_FRONTEND_CEL_AST_H

#include "frontend/cel/value.h"

enum cel_node_kind {
	NODE_CONST,
	NODE_IDENT,
	NODE_SELECT, /* args[0].name; `optional` for .?; `test` for has() */
	NODE_INDEX,  /* args[0][args[1]]; `optional` for [?] */
	NODE_CALL,   /* name(args); with `member` the first is the receiver */
	NODE_OPERATOR,
	NODE_LIST,
	NODE_MAP, /* key, value, key, value */
	NODE_AND,
	NODE_OR,
	NODE_CONDITIONAL,
	NODE_BIND,    /* args: value, body; of variable name */
	NODE_OPT_MAP, /* args: optional, body; of variable name; `flat` */
	NODE_FOLD,    /* args: range, then those of the macro */
};

enum cel_operator {
	OPERATOR_ADD,
	OPERATOR_SUBTRACT,
	OPERATOR_MULTIPLY,
	OPERATOR_DIVIDE,
	OPERATOR_MODULO,
	OPERATOR_EQUAL,
	OPERATOR_NOT_EQUAL,
	OPERATOR_LESS,
	OPERATOR_LESS_EQUAL,
	OPERATOR_GREATER,
	OPERATOR_GREATER_EQUAL,
	OPERATOR_IN,
	OPERATOR_NOT,
	OPERATOR_NEGATE,
};

enum cel_fold {
	FOLD_ALL,
	FOLD_EXISTS,
	FOLD_EXISTS_ONE,
	FOLD_MAP,        /* body */
	FOLD_MAP_FILTER, /* filter, body */
	FOLD_FILTER,
	FOLD_MAP_ENTRIES, /* transformMap(): the value of each key */
	FOLD_MAP_ENTRIES_FILTER,
};

struct cel_node {
	enum cel_node_kind kind;
	uint8_t code; /* enum cel_operator, enum cel_fold */
	bool optional, test, member, flat;
	bool item_optional; /* an item of a list or the key of an entry with '?' */
	uint16_t depth;
	uint32_t n;
	struct cel_node **args;
	struct text name;
	struct text name2; /* NODE_FOLD: the second variable, or empty */
	struct cel_value value;
};

/* NULL: error says why.  Nodes are in the arena; their texts in the arena or in `text`. */
struct cel_node *cel_parse(struct text text, struct arena *arena, uint32_t *nodes,
                           struct cel_error *error);

#endif
