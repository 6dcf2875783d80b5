/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of CEL. */
#ifndef MUSTER_FRONTEND_CEL_LEX_H
#define MUSTER_FRONTEND_CEL_LEX_H

#include "frontend/cel/value.h"

enum cel_token {
	TOKEN_END,
	TOKEN_IDENT,
	TOKEN_ESCAPED_IDENT, /* between backquotes */
	TOKEN_CONST,
	TOKEN_PUNCTUATION, /* one of ( ) [ ] { } . , ? : + - * / % ! < > */
	TOKEN_EQUAL,
	TOKEN_NOT_EQUAL,
	TOKEN_LESS_EQUAL,
	TOKEN_GREATER_EQUAL,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_BAD,
};

struct cel_lexer {
	const char *begin, *at, *end;
	struct arena *arena;
	const char *token_at;
	enum cel_token token;
	char punctuation;
	struct text text;       /* of an identifier */
	struct cel_value value; /* of a constant */
	/* A number whose lowest value has no counterpart above: 9223372036854775808 behind '-'. */
	bool too_big;
	struct cel_error *error; /* of TOKEN_BAD */
};

void cel_lex(struct cel_lexer *l);

/* "compilation failed: ERROR: <input>:LINE:COLUMN: ..." of the current token.  Returns false. */
bool cel_lex_fail(struct cel_lexer *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What muster does not know. */
bool cel_lex_refuse(struct cel_lexer *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
