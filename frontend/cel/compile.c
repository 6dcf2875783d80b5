/* SPDX-License-Identifier: Apache-2.0 */
/* From the tree to the program. */
#include "frontend/cel/program.h"

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scope {
	struct text name;
	uint32_t slot;
	bool lazy;
	uint32_t routine; /* lazy: where the value is computed */
	const struct scope *outer;
};

struct generator {
	struct cel_program *p;
	struct cel_error *error;
	size_t code_cap, constants_cap, functions_cap, loops_cap;
	bool failed;
};

static void generate(struct generator *g, const struct cel_node *n, const struct scope *scope);

__attribute__((format(printf, 3, 4))) static void fail(struct generator *g, bool refused,
                                                       const char *format, ...)
{
	va_list args;

	if (g->failed)
		return;
	g->failed = true;
	g->error->refused = refused;
	va_start(args, format);
	vsnprintf(g->error->text, sizeof(g->error->text), format, args);
	va_end(args);
}

static uint32_t emit(struct generator *g, enum cel_op op, uint32_t a, uint32_t b)
{
	struct cel_program *p = g->p;

	if (p->code_n == PROGRAM_MAX) {
		fail(g, true, "more than %d instructions", PROGRAM_MAX);
		g->error->limit = true;
		return 0;
	}
	p->code = arena_grow(&p->arena, p->code, p->code_n, &g->code_cap, sizeof(p->code[0]));
	p->code[p->code_n] = (struct cel_instruction){ .op = (uint8_t)op, .a = a, .b = b };
	return p->code_n++;
}

static uint32_t emit_flag(struct generator *g, enum cel_op op, bool flag, uint32_t a)
{
	uint32_t at = emit(g, op, a, 0);

	if (!g->failed)
		g->p->code[at].flag = flag;
	return at;
}

/* The jump at `at` goes to what is emitted next. */
static void land(struct generator *g, uint32_t at)
{
	if (!g->failed)
		g->p->code[at].a = g->p->code_n;
}

static void land_b(struct generator *g, uint32_t at)
{
	if (!g->failed)
		g->p->code[at].b = g->p->code_n;
}

static uint32_t constant(struct generator *g, struct cel_value v)
{
	struct cel_program *p = g->p;

	p->constants = arena_grow(&p->arena, p->constants, p->constants_n, &g->constants_cap,
	                          sizeof(p->constants[0]));
	p->constants[p->constants_n] = v;
	return p->constants_n++;
}

static void push(struct generator *g, struct cel_value v)
{
	emit(g, CEL_OP_CONST, constant(g, v), 0);
}

static uint32_t new_slot(struct generator *g)
{
	return g->p->slots_n++;
}

static void generate_ident(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} types[] = {
		{ "bool", CEL_BOOL },     { "int", CEL_INT },
		{ "uint", CEL_UINT },     { "double", CEL_DOUBLE },
		{ "string", CEL_STRING }, { "list", CEL_LIST },
		{ "map", CEL_MAP },       { "null_type", CEL_NULL },
		{ "type", CEL_TYPE },     { "optional_type", CEL_OPTIONAL },
	};
	size_t i;

	for (; scope; scope = scope->outer)
		if (text_equal(scope->name, n->name)) {
			if (scope->lazy)
				emit(g, CEL_OP_LAZY, scope->slot, scope->routine);
			else
				emit(g, CEL_OP_LOAD, scope->slot, 0);
			return;
		}
	if (text_is(n->name, "device")) {
		emit(g, CEL_OP_DEVICE, 0, 0);
		return;
	}
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (text_is(n->name, types[i].name)) {
			push(g, cel_type(types[i].kind));
			return;
		}
	fail(g, false, "compilation failed: undeclared reference to '%.*s' (in container '')",
	     (int)(n->name.bytes > 100 ? 100 : n->name.bytes), n->name.at);
}

static void generate_select(struct generator *g, const struct cel_node *n,
                            const struct scope *scope)
{
	uint32_t name;

	generate(g, n->args[0], scope);
	name = constant(g, cel_string(n->name));
	emit_flag(g, n->test ? CEL_OP_HAS : CEL_OP_SELECT, n->optional, name);
}

/* Terms that decide leave the chain at once. */
static void generate_logic(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	uint32_t *jumps = must_array(n->n, sizeof(jumps[0]));
	uint32_t i;

	for (i = 0; i < n->n; i++) {
		generate(g, n->args[i], scope);
		jumps[i] =
			emit_flag(g, i == 0 ? CEL_OP_LOGIC_FIRST : CEL_OP_LOGIC_NEXT, n->kind == NODE_OR, 0);
	}
	for (i = 0; i < n->n; i++)
		land(g, jumps[i]);
	free(jumps);
}

static void generate_conditional(struct generator *g, const struct cel_node *n,
                                 const struct scope *scope)
{
	uint32_t branch, jump;

	generate(g, n->args[0], scope);
	branch = emit(g, CEL_OP_BRANCH, 0, 0);
	generate(g, n->args[1], scope);
	jump = emit(g, CEL_OP_JUMP, 0, 0);
	land(g, branch);
	generate(g, n->args[2], scope);
	land(g, jump);
	land_b(g, branch);
}

static void generate_bind(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	struct scope inner = { .name = n->name, .slot = new_slot(g), .lazy = true, .outer = scope };
	uint32_t jump;

	emit(g, CEL_OP_CLEAR, inner.slot, 0);
	jump = emit(g, CEL_OP_JUMP, 0, 0);
	inner.routine = g->p->code_n;
	generate(g, n->args[0], scope);
	emit(g, CEL_OP_RETURN, inner.slot, 0);
	land(g, jump);
	generate(g, n->args[1], &inner);
}

static void generate_opt_map(struct generator *g, const struct cel_node *n,
                             const struct scope *scope)
{
	struct scope inner = { .name = n->name, .slot = new_slot(g), .outer = scope };
	uint32_t enter;

	generate(g, n->args[0], scope);
	enter = emit(g, CEL_OP_OPT_ENTER, 0, inner.slot);
	generate(g, n->args[1], &inner);
	if (!n->flat)
		emit(g, CEL_OP_OPT_OF, 0, 0);
	land(g, enter);
}

struct loop_code {
	uint32_t index; /* of struct cel_loop */
	uint32_t accumulator;
	uint32_t fold, next;
	struct scope variable, variable2;
	const struct scope *scope;
};

/* The range, the start value, and the head of the loop. */
static void loop_begin(struct generator *g, struct loop_code *l, const struct cel_node *n,
                       const struct scope *scope, struct cel_value start)
{
	struct cel_program *p = g->p;
	struct cel_loop *loop;

	l->variable = (struct scope){ .name = n->name, .slot = new_slot(g), .outer = scope };
	l->variable2 = (struct scope){ .name = n->name2, .slot = new_slot(g), .outer = &l->variable };
	l->scope = n->name2.bytes ? &l->variable2 : &l->variable;
	l->accumulator = new_slot(g);
	p->loops = arena_grow(&p->arena, p->loops, p->loops_n, &g->loops_cap, sizeof(p->loops[0]));
	l->index = p->loops_n++;
	loop = &p->loops[l->index];
	memset(loop, 0, sizeof(*loop));
	loop->slot = l->variable.slot;
	loop->slot2 = l->variable2.slot;
	loop->two = n->name2.bytes > 0;
	generate(g, n->args[0], scope);
	l->fold = emit(g, CEL_OP_FOLD, l->index, 0);
	if (start.kind == CEL_LIST || start.kind == CEL_MAP)
		emit(g, start.kind == CEL_LIST ? CEL_OP_LIST : CEL_OP_MAP, 0, 0);
	else
		push(g, start);
	emit(g, CEL_OP_STORE, l->accumulator, 0);
	l->next = emit(g, CEL_OP_NEXT, l->index, 0);
}

/* Back to the head; behind the loop the result is on the stack. */
static void loop_end(struct generator *g, const struct loop_code *l)
{
	emit(g, CEL_OP_JUMP, l->next, 0);
	land_b(g, l->next);
	emit(g, CEL_OP_LOAD, l->accumulator, 0);
}

/* all(), exists() */
static void fold_logic(struct generator *g, const struct cel_node *n, const struct scope *scope,
                       bool any)
{
	struct loop_code l;
	uint32_t first, second, stop;

	loop_begin(g, &l, n, scope, cel_bool(!any));
	emit(g, CEL_OP_LOAD, l.accumulator, 0);
	first = emit_flag(g, CEL_OP_LOGIC_FIRST, any, 0);
	generate(g, n->args[1], l.scope);
	second = emit_flag(g, CEL_OP_LOGIC_NEXT, any, 0);
	land(g, first);
	land(g, second);
	emit(g, CEL_OP_STORE, l.accumulator, 0);
	stop = emit_flag(g, CEL_OP_BREAK, any, l.accumulator);
	emit(g, CEL_OP_JUMP, l.next, 0);
	land_b(g, l.next);
	land_b(g, stop);
	emit(g, CEL_OP_LOAD, l.accumulator, 0);
	land_b(g, l.fold);
}

static void fold_one(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	struct loop_code l;
	uint32_t branch, jump;

	loop_begin(g, &l, n, scope, cel_int(0));
	generate(g, n->args[1], l.scope);
	branch = emit(g, CEL_OP_BRANCH, 0, 0);
	emit(g, CEL_OP_LOAD, l.accumulator, 0);
	push(g, cel_int(1));
	emit(g, CEL_OP_OPERATOR, OPERATOR_ADD, 0);
	jump = emit(g, CEL_OP_JUMP, 0, 0);
	land(g, branch);
	emit(g, CEL_OP_LOAD, l.accumulator, 0);
	land(g, jump);
	land_b(g, branch);
	emit(g, CEL_OP_STORE, l.accumulator, 0);
	loop_end(g, &l);
	push(g, cel_int(1));
	emit(g, CEL_OP_OPERATOR, OPERATOR_EQUAL, 0);
	land_b(g, l.fold);
}

/* map(), filter(), transformList(), transformMap(): an item of the result for each item of the
 * range. */
static void fold_items(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	bool map = n->code == FOLD_MAP_ENTRIES || n->code == FOLD_MAP_ENTRIES_FILTER;
	bool filter = n->code != FOLD_MAP && n->code != FOLD_MAP_ENTRIES;
	struct loop_code l;
	uint32_t branch = 0;

	loop_begin(g, &l, n, scope, (struct cel_value){ .kind = map ? CEL_MAP : CEL_LIST });
	if (filter) {
		generate(g, n->args[1], l.scope);
		branch = emit(g, CEL_OP_BRANCH, l.next, 0);
	}
	if (n->code == FOLD_FILTER)
		emit(g, CEL_OP_LOAD, l.variable.slot, 0);
	else
		generate(g, n->args[n->n - 1], l.scope);
	emit(g, map ? CEL_OP_PUT : CEL_OP_APPEND, l.accumulator, l.variable.slot);
	if (filter) {
		emit(g, CEL_OP_JUMP, l.next, 0);
		/* The condition was an error, which the result becomes. */
		land_b(g, branch);
		emit(g, CEL_OP_STORE, l.accumulator, 0);
	}
	loop_end(g, &l);
	land_b(g, l.fold);
}

static void generate_fold(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	switch ((enum cel_fold)n->code) {
	case FOLD_ALL:
	case FOLD_EXISTS:
		fold_logic(g, n, scope, n->code == FOLD_EXISTS);
		return;
	case FOLD_EXISTS_ONE:
		fold_one(g, n, scope);
		return;
	default:
		fold_items(g, n, scope);
		return;
	}
}

static void generate_items(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	uint32_t i;

	for (i = 0; i < n->n; i++) {
		bool entry = n->kind == NODE_MAP;

		generate(g, n->args[i], scope);
		if (entry ? i % 2 == 1 && n->args[i - 1]->item_optional : n->args[i]->item_optional)
			emit_flag(g, CEL_OP_OPTIONAL_ITEM, entry, 0);
	}
	emit(g, n->kind == NODE_MAP ? CEL_OP_MAP : CEL_OP_LIST, n->kind == NODE_MAP ? n->n / 2 : n->n,
	     0);
}

/* A pattern that is a constant is compiled once, and refused once if it is not valid. */
static void compile_pattern(struct generator *g, const struct cel_node *n, struct cel_pattern *out)
{
	const struct cel_node *pattern = n->n >= 2 ? n->args[1] : NULL;
	bool matches = text_is(n->name, "matches");
	char why[256];
	enum regex_result rc;

	if (!pattern || pattern->kind != NODE_CONST || pattern->value.kind != CEL_STRING ||
	    (!matches && !text_is(n->name, "find") && !text_is(n->name, "findAll")))
		return;
	rc = regex_compile(cel_text(&pattern->value), &g->p->arena, &out->regex, why);
	if (rc == REGEX_REFUSED)
		fail(g, true, "%s", why);
	if (rc == REGEX_INVALID)
		fail(g, false, "compilation failed: invalid %s argument: %s",
		     matches ? "matches" : "regular expression", why);
	if (rc != REGEX_OK)
		out->regex = NULL;
}

static void generate_call(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	struct cel_program *p = g->p;
	const struct cel_function *f;
	struct cel_pattern pattern = { 0 };
	uint32_t i, jump;
	int bytes = (int)(n->name.bytes > 100 ? 100 : n->name.bytes);

	if (n->member && n->n == 2 && (text_is(n->name, "orValue") || text_is(n->name, "or"))) {
		generate(g, n->args[0], scope);
		jump = emit_flag(g, CEL_OP_OR_VALUE, text_is(n->name, "or"), 0);
		generate(g, n->args[1], scope);
		land(g, jump);
		return;
	}
	f = cel_function_find(n->name, n->member, n->n);
	if (!f) {
		if (cel_function_known(n->name))
			fail(g, false, "compilation failed: found no matching overload for '%.*s'", bytes,
			     n->name.at);
		else
			fail(g, true, "function %.*s", bytes, n->name.at);
		return;
	}
	for (i = 0; i < n->n; i++)
		generate(g, n->args[i], scope);
	compile_pattern(g, n, &pattern);
	if (p->functions_n == g->functions_cap) {
		size_t cap = g->functions_cap;

		p->functions =
			arena_grow(&p->arena, p->functions, p->functions_n, &cap, sizeof(p->functions[0]));
		p->patterns = arena_grow(&p->arena, p->patterns, p->functions_n, &g->functions_cap,
		                         sizeof(p->patterns[0]));
	}
	p->functions[p->functions_n] = f;
	p->patterns[p->functions_n] = pattern;
	emit(g, CEL_OP_CALL, p->functions_n++, n->n);
}

/* A list of literals that cel-go makes a set of. */
static bool is_set(const struct cel_node *n)
{
	uint32_t i;

	for (i = 0; n->kind == NODE_LIST && i < n->n; i++)
		if (n->args[i]->kind != NODE_CONST || n->args[i]->value.kind == CEL_NULL ||
		    n->args[i]->item_optional)
			return false;
	return n->kind == NODE_LIST;
}

static void generate_operator(struct generator *g, const struct cel_node *n,
                              const struct scope *scope)
{
	bool set = n->code == OPERATOR_IN && is_set(n->args[1]);
	uint32_t i;

	/* As in cel-go, what is looked up in an empty list is not evaluated. */
	if (set && n->args[1]->n == 0) {
		push(g, cel_bool(false));
		return;
	}
	for (i = 0; i < n->n; i++)
		generate(g, n->args[i], scope);
	emit_flag(g, CEL_OP_OPERATOR, set, n->code);
}

static void generate(struct generator *g, const struct cel_node *n, const struct scope *scope)
{
	if (g->failed)
		return;
	switch (n->kind) {
	case NODE_CONST:
		push(g, n->value);
		return;
	case NODE_IDENT:
		generate_ident(g, n, scope);
		return;
	case NODE_SELECT:
		generate_select(g, n, scope);
		return;
	case NODE_INDEX:
		generate(g, n->args[0], scope);
		generate(g, n->args[1], scope);
		emit_flag(g, CEL_OP_INDEX, n->optional, 0);
		return;
	case NODE_CALL:
		generate_call(g, n, scope);
		return;
	case NODE_OPERATOR:
		generate_operator(g, n, scope);
		return;
	case NODE_LIST:
	case NODE_MAP:
		generate_items(g, n, scope);
		return;
	case NODE_AND:
	case NODE_OR:
		generate_logic(g, n, scope);
		return;
	case NODE_CONDITIONAL:
		generate_conditional(g, n, scope);
		return;
	case NODE_BIND:
		generate_bind(g, n, scope);
		return;
	case NODE_OPT_MAP:
		generate_opt_map(g, n, scope);
		return;
	case NODE_FOLD:
		generate_fold(g, n, scope);
		return;
	}
}

/* Fills in what precedes `scratch`.  False: error says why. */
static bool program_generate(struct cel_program *p, const struct cel_node *tree, uint32_t nodes,
                             struct cel_error *error)
{
	struct generator g = { .p = p, .error = error };

	generate(&g, tree, NULL);
	emit(&g, CEL_OP_END, 0, 0);
	if (g.failed)
		return false;
	/* Each node of the tree leaves one value, and a loop two more while it runs. */
	p->stack_n = 3 * nodes + 8;
	p->stack = arena_alloc(&p->arena, p->stack_n * sizeof(p->stack[0]));
	p->slots = arena_alloc(&p->arena, (p->slots_n + 1) * sizeof(p->slots[0]));
	p->set = arena_alloc(&p->arena, p->slots_n + 1);
	memset(p->set, 0, p->slots_n + 1);
	p->calls = arena_alloc(&p->arena, (p->slots_n + 1) * sizeof(p->calls[0]));
	return true;
}

struct cel_program *cel_compile(struct text text, struct cel_error *error)
{
	struct cel_program *p;
	struct cel_node *tree;
	struct text copy;
	uint32_t nodes;
	bool ok;

	*error = (struct cel_error){ 0 };
	if (text.bytes > CEL_TEXT_MAX) {
		error->refused = error->limit = true;
		snprintf(error->text, sizeof(error->text), "an expression of more than %d bytes",
		         CEL_TEXT_MAX);
		return NULL;
	}
	p = must_alloc(sizeof(*p));
	copy = (struct text){ arena_copy(&p->arena, text), text.bytes };
	/* Texts of constants stay in the arena of the program. */
	tree = cel_parse(copy, &p->arena, &nodes, error);
	ok = tree && program_generate(p, tree, nodes, error);
	if (ok)
		return p;
	cel_free(p);
	return NULL;
}

size_t cel_bytes(const struct cel_program *p)
{
	return sizeof(*p) + arena_bytes(&p->arena);
}

void cel_free(struct cel_program *p)
{
	if (!p)
		return;
	arena_free(&p->scratch.arena);
	arena_free(&p->arena);
	free(p);
}
