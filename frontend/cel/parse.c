/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent over the grammar of cel-go (parser/gen/CEL.g4).  How deep it goes is bounded by
 * CEL_DEPTH brackets, and chains of operators by CHAIN_DEPTH. */
#include "frontend/cel/ast.h"
#include "frontend/cel/lex.h"

#include <string.h>

#define CHAIN_DEPTH 250 /* cel-go's limit of recursion */

struct parser {
	struct cel_lexer lexer;
	struct arena *arena;
	unsigned depth;
	uint32_t nodes;
};

/* A list of nodes that grows. */
struct nodes {
	struct cel_node **at;
	size_t n, cap;
};

static struct cel_node *parse_expression(struct parser *p);

static struct cel_node *node(struct parser *p, enum cel_node_kind kind)
{
	struct cel_node *n = arena_alloc(p->arena, sizeof(*n));

	memset(n, 0, sizeof(*n));
	n->kind = kind;
	n->depth = 1;
	p->nodes++;
	return n;
}

static void add(struct parser *p, struct nodes *list, struct cel_node *n)
{
	list->at = arena_grow(p->arena, list->at, list->n, &list->cap, sizeof(struct cel_node *));
	list->at[list->n++] = n;
}

/* NULL if it is too deep. */
static struct cel_node *with_args(struct parser *p, struct cel_node *n, struct nodes *args)
{
	size_t i;

	n->args = args->at;
	n->n = (uint32_t)args->n;
	for (i = 0; i < args->n; i++)
		if (args->at[i]->depth >= n->depth)
			n->depth = (uint16_t)(args->at[i]->depth + 1);
	if (n->depth <= CHAIN_DEPTH)
		return n;
	cel_lex_refuse(&p->lexer, "more than %d operators in a chain", CHAIN_DEPTH);
	p->lexer.error->limit = true;
	return NULL;
}

static struct cel_node *with_two(struct parser *p, struct cel_node *n, struct cel_node *a,
                                 struct cel_node *b)
{
	struct nodes args = { 0 };

	add(p, &args, a);
	if (b)
		add(p, &args, b);
	return with_args(p, n, &args);
}

static bool is(const struct parser *p, char punctuation)
{
	return p->lexer.token == TOKEN_PUNCTUATION && p->lexer.punctuation == punctuation;
}

static bool accept(struct parser *p, char punctuation)
{
	if (!is(p, punctuation))
		return false;
	cel_lex(&p->lexer);
	return true;
}

static bool unexpected(struct parser *p, const char *wanted)
{
	struct cel_lexer *l = &p->lexer;

	if (l->token == TOKEN_END)
		return cel_lex_fail(l, "Syntax error: mismatched input '<EOF>' expecting %s", wanted);
	return cel_lex_fail(l, "Syntax error: mismatched input '%.*s' expecting %s",
	                    (int)(l->at - l->token_at > 40 ? 40 : l->at - l->token_at), l->token_at,
	                    wanted);
}

static bool expect(struct parser *p, char punctuation)
{
	char wanted[4] = { '\'', punctuation, '\'', '\0' };

	return accept(p, punctuation) || unexpected(p, wanted);
}

static bool reserved(struct text name)
{
	static const char *const words[] = { "as",  "break",    "const",   "continue",  "else",
		                                 "for", "function", "if",      "import",    "in",
		                                 "let", "loop",     "package", "namespace", "return",
		                                 "var", "void",     "while" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_is(name, words[i]))
			return true;
	return false;
}

static bool enter(struct parser *p)
{
	if (p->depth++ < CEL_DEPTH)
		return true;
	cel_lex_refuse(&p->lexer, "nesting deeper than %d", CEL_DEPTH);
	p->lexer.error->limit = true;
	return false;
}

/* Expressions up to the closing bracket, which is read. */
static bool parse_list(struct parser *p, struct nodes *list, char close, bool optional_items)
{
	if (accept(p, close))
		return true;
	for (;;) {
		bool optional = optional_items && accept(p, '?');
		struct cel_node *item = parse_expression(p);

		if (!item)
			return false;
		if (optional) {
			struct cel_node *copy = node(p, item->kind);

			*copy = *item;
			copy->item_optional = true;
			item = copy;
		}
		add(p, list, item);
		if (!accept(p, ','))
			return expect(p, close);
		if (optional_items && accept(p, close))
			return true;
	}
}

static bool parse_entries(struct parser *p, struct nodes *list)
{
	if (accept(p, '}'))
		return true;
	for (;;) {
		bool optional = accept(p, '?');
		struct cel_node *key = parse_expression(p), *value;

		if (!key || !expect(p, ':'))
			return false;
		value = parse_expression(p);
		if (!value)
			return false;
		if (optional) {
			struct cel_node *copy = node(p, key->kind);

			*copy = *key;
			copy->item_optional = true;
			key = copy;
		}
		add(p, list, key);
		add(p, list, value);
		if (!accept(p, ','))
			return expect(p, '}');
		if (accept(p, '}'))
			return true;
	}
}

static bool is_variable(struct parser *p, const struct cel_node *n)
{
	return n->kind == NODE_IDENT || cel_lex_fail(&p->lexer, "argument must be a simple name");
}

static struct cel_node *fold(struct parser *p, struct cel_node *range, const struct nodes *args,
                             unsigned code, unsigned variables)
{
	struct cel_node *n = node(p, NODE_FOLD);
	struct nodes all = { 0 };
	size_t i;

	for (i = 0; i < variables; i++)
		if (!is_variable(p, args->at[i]))
			return NULL;
	n->code = (uint8_t)code;
	n->name = args->at[0]->name;
	if (variables == 2)
		n->name2 = args->at[1]->name;
	if (variables == 2 && text_equal(n->name, n->name2)) {
		cel_lex_fail(&p->lexer, "duplicate variable name: %.*s", (int)n->name.bytes, n->name.at);
		return NULL;
	}
	add(p, &all, range);
	for (i = variables; i < args->n; i++)
		add(p, &all, args->at[i]);
	return with_args(p, n, &all);
}

static struct cel_node *variable(struct parser *p, enum cel_node_kind kind, struct cel_node *name,
                                 struct cel_node *value, struct cel_node *body, bool flat)
{
	struct cel_node *n = node(p, kind);

	if (!is_variable(p, name))
		return NULL;
	n->name = name->name;
	n->flat = flat;
	return with_two(p, n, value, body);
}

struct macro {
	const char *name;
	uint8_t args;
	uint8_t variables;
	uint8_t code;
};

static const struct macro macros[] = {
	{ "all", 2, 1, FOLD_ALL },
	{ "exists", 2, 1, FOLD_EXISTS },
	{ "exists_one", 2, 1, FOLD_EXISTS_ONE },
	{ "existsOne", 2, 1, FOLD_EXISTS_ONE },
	{ "map", 2, 1, FOLD_MAP },
	{ "map", 3, 1, FOLD_MAP_FILTER },
	{ "filter", 2, 1, FOLD_FILTER },
	{ "all", 3, 2, FOLD_ALL },
	{ "exists", 3, 2, FOLD_EXISTS },
	{ "exists_one", 3, 2, FOLD_EXISTS_ONE },
	{ "existsOne", 3, 2, FOLD_EXISTS_ONE },
	{ "transformList", 3, 2, FOLD_MAP },
	{ "transformList", 4, 2, FOLD_MAP_FILTER },
	{ "transformMap", 3, 2, FOLD_MAP_ENTRIES },
	{ "transformMap", 4, 2, FOLD_MAP_ENTRIES_FILTER },
};

/* A call with a receiver: a macro, a function of a name space, or a member. */
static struct cel_node *member_call(struct parser *p, struct cel_node *target, struct text name,
                                    struct nodes *args)
{
	static const char *const spaces[] = { "optional", "sets", "lists", "strings",
		                                  "cel",      "math", "net" };
	struct nodes all = { 0 };
	struct cel_node *n;
	size_t i;

	if (target->kind == NODE_IDENT && text_is(target->name, "cel") && text_is(name, "bind") &&
	    args->n == 3)
		return variable(p, NODE_BIND, args->at[0], args->at[1], args->at[2], false);
	for (i = 0; i < sizeof(macros) / sizeof(macros[0]); i++)
		if (text_is(name, macros[i].name) && args->n == macros[i].args)
			return fold(p, target, args, macros[i].code, macros[i].variables);
	if ((text_is(name, "optMap") || text_is(name, "optFlatMap")) && args->n == 2)
		return variable(p, NODE_OPT_MAP, args->at[0], target, args->at[1], name.bytes == 10);
	n = node(p, NODE_CALL);
	n->name = name;
	if (target->kind == NODE_IDENT)
		for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
			if (text_is(target->name, spaces[i])) {
				n->name =
					text_of(arena_printf(p->arena, "%s.%.*s", spaces[i], (int)name.bytes, name.at));
				return with_args(p, n, args);
			}
	n->member = true;
	add(p, &all, target);
	for (i = 0; i < args->n; i++)
		add(p, &all, args->at[i]);
	return with_args(p, n, &all);
}

static struct cel_node *global_call(struct parser *p, struct text name, struct nodes *args)
{
	struct cel_node *n;

	if (text_is(name, "has") && args->n == 1) {
		struct cel_node *field = args->at[0];

		if (field->kind != NODE_SELECT) {
			cel_lex_fail(&p->lexer, "invalid argument to has() macro");
			return NULL;
		}
		n = node(p, NODE_SELECT);
		*n = *field;
		n->test = true;
		return n;
	}
	n = node(p, NODE_CALL);
	n->name = name;
	return with_args(p, n, args);
}

static struct cel_node *parse_name(struct parser *p)
{
	struct text name = p->lexer.text;
	struct nodes args = { 0 };
	struct cel_node *n;

	if (reserved(name)) {
		cel_lex_fail(&p->lexer, "reserved identifier: %.*s", (int)name.bytes, name.at);
		return NULL;
	}
	cel_lex(&p->lexer);
	if (accept(p, '('))
		return parse_list(p, &args, ')', false) ? global_call(p, name, &args) : NULL;
	if (is(p, '{')) {
		cel_lex_refuse(&p->lexer, "a message");
		return NULL;
	}
	n = node(p, NODE_IDENT);
	n->name = name;
	return n;
}

static struct cel_node *parse_constant(struct parser *p, bool negative)
{
	struct cel_node *n = node(p, NODE_CONST);

	n->value = p->lexer.value;
	if (p->lexer.too_big && !negative) {
		cel_lex_fail(&p->lexer, "invalid int literal");
		return NULL;
	}
	if (negative && n->value.kind == CEL_INT)
		n->value.i = (int64_t)(0 - (uint64_t)n->value.i);
	if (negative && n->value.kind == CEL_DOUBLE)
		n->value.d = -n->value.d;
	cel_lex(&p->lexer);
	return n;
}

static struct cel_node *parse_primary(struct parser *p)
{
	struct nodes items = { 0 };
	struct cel_node *n;

	if (p->lexer.token == TOKEN_CONST)
		return parse_constant(p, false);
	if (accept(p, '.') && p->lexer.token != TOKEN_IDENT) {
		unexpected(p, "IDENTIFIER");
		return NULL;
	}
	if (p->lexer.token == TOKEN_IDENT)
		return parse_name(p);
	if (accept(p, '(')) {
		n = parse_expression(p);
		return n && expect(p, ')') ? n : NULL;
	}
	if (accept(p, '[')) {
		n = node(p, NODE_LIST);
		if (accept(p, ',')) /* "[,]" is an empty list */
			return expect(p, ']') ? n : NULL;
		return parse_list(p, &items, ']', true) ? with_args(p, n, &items) : NULL;
	}
	if (accept(p, '{')) {
		n = node(p, NODE_MAP);
		if (accept(p, ','))
			return expect(p, '}') ? n : NULL;
		return parse_entries(p, &items) ? with_args(p, n, &items) : NULL;
	}
	unexpected(p, "an expression");
	return NULL;
}

static struct cel_node *parse_index(struct parser *p, struct cel_node *target)
{
	struct cel_node *n = node(p, NODE_INDEX), *index;

	n->optional = accept(p, '?');
	index = parse_expression(p);
	return index && expect(p, ']') ? with_two(p, n, target, index) : NULL;
}

static struct cel_node *parse_select(struct parser *p, struct cel_node *target)
{
	bool optional = accept(p, '?');
	bool escaped = p->lexer.token == TOKEN_ESCAPED_IDENT;
	struct nodes args = { 0 };
	struct text name = p->lexer.text;
	struct cel_node *n;

	if (p->lexer.token != TOKEN_IDENT && !escaped) {
		unexpected(p, "IDENTIFIER");
		return NULL;
	}
	if (!escaped && text_is(name, "in")) {
		unexpected(p, "IDENTIFIER");
		return NULL;
	}
	cel_lex(&p->lexer);
	if (!optional && !escaped && accept(p, '('))
		return parse_list(p, &args, ')', false) ? member_call(p, target, name, &args) : NULL;
	n = node(p, NODE_SELECT);
	n->name = name;
	n->optional = optional;
	return with_two(p, n, target, NULL);
}

static struct cel_node *parse_members(struct parser *p, struct cel_node *n)
{
	while (n) {
		if (accept(p, '.'))
			n = parse_select(p, n);
		else if (accept(p, '['))
			n = parse_index(p, n);
		else
			break;
	}
	return n;
}

static struct cel_node *parse_unary(struct parser *p)
{
	char operator= is(p, '!') ? '!' : is(p, '-') ? '-' : '\0';
	struct cel_node *n, *outer;
	unsigned count = 0;

	if (!operator)
		return parse_members(p, parse_primary(p));
	while (accept(p, operator))
		count++;
	/* The sign of a literal belongs to it. */
	if (operator== '-' && p->lexer.token ==
	    TOKEN_CONST &&(p->lexer.value.kind == CEL_INT || p->lexer.value.kind == CEL_DOUBLE)) {
		n = parse_members(p, parse_constant(p, true));
		count--;
	} else {
		n = parse_members(p, parse_primary(p));
	}
	if (!n || count % 2 == 0)
		return n;
	outer = node(p, NODE_OPERATOR);
	outer->code = operator== '!' ? OPERATOR_NOT : OPERATOR_NEGATE;
	return with_two(p, outer, n, NULL);
}

static struct cel_node *binary(struct parser *p, unsigned code, struct cel_node *left,
                               struct cel_node *right)
{
	struct cel_node *n;

	if (!right)
		return NULL;
	n = node(p, NODE_OPERATOR);
	n->code = (uint8_t)code;
	return with_two(p, n, left, right);
}

static struct cel_node *parse_product(struct parser *p)
{
	struct cel_node *left = parse_unary(p);

	while (left) {
		if (accept(p, '*'))
			left = binary(p, OPERATOR_MULTIPLY, left, parse_unary(p));
		else if (accept(p, '/'))
			left = binary(p, OPERATOR_DIVIDE, left, parse_unary(p));
		else if (accept(p, '%'))
			left = binary(p, OPERATOR_MODULO, left, parse_unary(p));
		else
			break;
	}
	return left;
}

static struct cel_node *parse_sum(struct parser *p)
{
	struct cel_node *left = parse_product(p);

	while (left) {
		if (accept(p, '+'))
			left = binary(p, OPERATOR_ADD, left, parse_product(p));
		else if (accept(p, '-'))
			left = binary(p, OPERATOR_SUBTRACT, left, parse_product(p));
		else
			break;
	}
	return left;
}

static int relation(const struct parser *p)
{
	switch (p->lexer.token) {
	case TOKEN_EQUAL:
		return OPERATOR_EQUAL;
	case TOKEN_NOT_EQUAL:
		return OPERATOR_NOT_EQUAL;
	case TOKEN_LESS_EQUAL:
		return OPERATOR_LESS_EQUAL;
	case TOKEN_GREATER_EQUAL:
		return OPERATOR_GREATER_EQUAL;
	case TOKEN_IDENT:
		return text_is(p->lexer.text, "in") ? OPERATOR_IN : -1;
	default:
		return is(p, '<') ? OPERATOR_LESS : is(p, '>') ? OPERATOR_GREATER : -1;
	}
}

static struct cel_node *parse_relation(struct parser *p)
{
	struct cel_node *left = parse_sum(p);
	int code;

	while (left && (code = relation(p)) >= 0) {
		cel_lex(&p->lexer);
		left = binary(p, (unsigned)code, left, parse_sum(p));
	}
	return left;
}

/* Terms of a chain; a chain of one is its term. */
static struct cel_node *parse_logical(struct parser *p, enum cel_node_kind kind)
{
	enum cel_token token = kind == NODE_AND ? TOKEN_AND : TOKEN_OR;
	struct nodes terms = { 0 };

	for (;;) {
		struct cel_node *term = kind == NODE_AND ? parse_relation(p) : parse_logical(p, NODE_AND);

		if (!term)
			return NULL;
		if (p->lexer.token != token && terms.n == 0)
			return term;
		add(p, &terms, term);
		if (p->lexer.token != token)
			return with_args(p, node(p, kind), &terms);
		cel_lex(&p->lexer);
	}
}

static struct cel_node *parse_expression(struct parser *p)
{
	struct nodes args = { 0 };
	struct cel_node *n, *yes, *no;

	if (!enter(p))
		return NULL;
	n = parse_logical(p, NODE_OR);
	if (n && accept(p, '?')) {
		yes = parse_logical(p, NODE_OR);
		if (!yes || !expect(p, ':'))
			return NULL;
		no = parse_expression(p);
		if (!no)
			return NULL;
		add(p, &args, n);
		add(p, &args, yes);
		add(p, &args, no);
		n = with_args(p, node(p, NODE_CONDITIONAL), &args);
	}
	p->depth--;
	return n;
}

struct cel_node *cel_parse(struct text text, struct arena *arena, uint32_t *nodes,
                           struct cel_error *error)
{
	struct parser p = { .arena = arena };
	struct cel_node *n;

	p.lexer = (struct cel_lexer){
		.begin = text.at, .at = text.at, .end = text.at + text.bytes, .arena = arena, .error = error
	};
	cel_lex(&p.lexer);
	n = parse_expression(&p);
	if (n && p.lexer.token != TOKEN_END) {
		unexpected(&p, "<EOF>");
		n = NULL;
	}
	/* A bad token may end an expression that is otherwise complete. */
	if (error->text[0])
		n = NULL;
	*nodes = p.nodes;
	return n;
}
