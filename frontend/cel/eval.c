/* SPDX-License-Identifier: Apache-2.0 */
/* The machine.  No recursion: loops, subroutines of cel.bind() and short cuts are jumps. */
#include "frontend/cel/program.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct machine {
	struct cel_program *p;
	struct cel_scratch *s;
	uint32_t top; /* values on the stack */
	uint32_t calls;
	uint32_t at;
};

static void push(struct machine *m, struct cel_value v)
{
	assert(m->top < m->p->stack_n);
	m->p->stack[m->top++] = v;
}

static struct cel_value pop(struct machine *m)
{
	assert(m->top > 0);
	return m->p->stack[--m->top];
}

static struct cel_value *top(struct machine *m)
{
	assert(m->top > 0);
	return &m->p->stack[m->top - 1];
}

static struct cel_value print_error(struct cel_scratch *s, const char *what,
                                    const struct cel_value *v)
{
	struct text t = cel_print(s, v);

	return cel_error(s, "%s%.*s", what, (int)(t.bytes > 400 ? 400 : t.bytes), t.at ? t.at : "");
}

enum found { FOUND, MISSING, FAILED };

/* The position in a list that a value names, or an error. */
static enum found list_position(struct cel_scratch *s, const struct cel_value *key, int64_t *at,
                                struct cel_value *out)
{
	switch (key->kind) {
	case CEL_INT:
		*at = key->i;
		return FOUND;
	case CEL_UINT:
		if (key->u <= INT64_MAX) {
			*at = (int64_t)key->u;
			return FOUND;
		}
		break;
	case CEL_DOUBLE:
		if (key->d >= -0x1p63 && key->d < 0x1p63 && (double)(int64_t)key->d == key->d) {
			*at = (int64_t)key->d;
			return FOUND;
		}
		break;
	default:
		*out = cel_error(s, "unsupported index type '%s' in list", cel_type_name(key));
		return FAILED;
	}
	*out = print_error(s, "unsupported index value ", key);
	if (out->kind == CEL_ERROR)
		*out = cel_error(s, "%.*s in list", (int)out->n, out->text);
	return FAILED;
}

/* An item, an entry or a field.  MISSING: *out is the error, for those who need it. */
static enum found look_up(struct cel_scratch *s, const struct cel_value *v,
                          const struct cel_value *key, bool presence, struct cel_value *out)
{
	int64_t at;

	if (cel_is_map(v)) {
		if (cel_map_find(s, v, key, out))
			return FOUND;
	} else if (v->kind == CEL_LIST) {
		enum found rc = list_position(s, key, &at, out);

		if (rc != FOUND)
			return rc;
		if (at >= 0 && at < v->n) {
			*out = v->items[at];
			return FOUND;
		}
		if (!presence)
			*out = print_error(s, "index out of bounds: ", key);
		return MISSING;
	}
	if (!presence)
		*out = print_error(s, "no such key: ", key);
	return MISSING;
}

/* v[key], v.key; of an optional, or `optional`, an optional. */
static struct cel_value qualify(struct cel_scratch *s, const struct cel_value *v,
                                const struct cel_value *key, bool optional)
{
	struct cel_value out = { 0 };
	enum found rc;

	if (v->kind == CEL_ERROR)
		return *v;
	if (v->kind == CEL_OPTIONAL) {
		if (!v->n)
			return *v;
		optional = true;
		v = v->items;
	}
	if (key->kind == CEL_ERROR)
		return *key;
	if (key->kind != CEL_STRING && key->kind != CEL_BOOL && key->kind != CEL_INT &&
	    key->kind != CEL_UINT && key->kind != CEL_DOUBLE)
		return cel_error(s, "invalid qualifier type: %s", cel_go_type(key));
	rc = look_up(s, v, key, optional, &out);
	if (!optional || rc == FAILED)
		return out;
	return cel_optional(s, rc == FOUND ? &out : NULL);
}

static struct cel_value has(struct cel_scratch *s, const struct cel_value *v,
                            const struct cel_value *key)
{
	struct cel_value out = { 0 };

	if (v->kind == CEL_ERROR)
		return *v;
	if (v->kind == CEL_OPTIONAL) {
		if (!v->n)
			return cel_bool(false);
		v = v->items;
	}
	switch (look_up(s, v, key, true, &out)) {
	case FOUND:
		return cel_bool(true);
	case MISSING:
		return cel_bool(false);
	default:
		return out;
	}
}

/* An item of a list or a value of a map that is written with '?'. */
static void optional_item(struct machine *m, bool entry)
{
	struct cel_value *v = top(m);
	struct text item;

	if (v->kind == CEL_ERROR)
		return;
	if (v->kind == CEL_OPTIONAL) {
		v->type = 1;
		return;
	}
	item = cel_print(m->s, v);
	if (entry) {
		const struct cel_value *key = &m->p->stack[m->top - 2];
		struct text name = key->kind == CEL_ERROR ? (struct text){ 0 } : cel_print(m->s, key);

		*v = cel_error(m->s, "cannot initialize optional entry '%.*s' from non-optional value %.*s",
		               (int)(name.bytes > 200 ? 200 : name.bytes), name.at ? name.at : "",
		               (int)(item.bytes > 200 ? 200 : item.bytes), item.at ? item.at : "");
		return;
	}
	*v = cel_error(m->s, "cannot initialize optional list element from non-optional value %.*s",
	               (int)(item.bytes > 400 ? 400 : item.bytes), item.at ? item.at : "");
}

static bool is_optional_item(const struct cel_value *v)
{
	return v->kind == CEL_OPTIONAL && v->type == 1;
}

static void make_list(struct machine *m, uint32_t n)
{
	struct cel_value *items = &m->p->stack[m->top - n];
	struct cel_value list;
	uint32_t i, used = 0;

	m->top -= n;
	for (i = 0; i < n; i++)
		if (items[i].kind == CEL_ERROR) {
			push(m, items[i]);
			return;
		}
	list = cel_list(m->s, n);
	if (list.kind == CEL_ERROR) {
		push(m, list);
		return;
	}
	for (i = 0; i < n; i++) {
		if (!is_optional_item(&items[i]))
			list.items[used++] = items[i];
		else if (items[i].n)
			list.items[used++] = items[i].items[0];
	}
	list.n = used;
	push(m, list);
}

/* Go's map: the keys are equal when their types are. */
static bool key_equal(const struct cel_value *a, const struct cel_value *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case CEL_BOOL:
		return a->b == b->b;
	case CEL_INT:
	case CEL_UINT:
		return a->u == b->u;
	case CEL_DOUBLE:
		return a->d == b->d;
	case CEL_STRING:
		return text_equal(cel_text(a), cel_text(b));
	default:
		return false;
	}
}

static void map_set(struct cel_scratch *s, struct cel_value *map, const struct cel_value *key,
                    const struct cel_value *value)
{
	uint32_t i;

	cel_charge(s, map->n);
	for (i = 0; i < map->n; i++)
		if (key_equal(&map->items[2 * i], key))
			break;
	if (i < map->n && !value) {
		map->items[2 * i] = map->items[2 * (map->n - 1)];
		map->items[2 * i + 1] = map->items[2 * (map->n - 1) + 1];
		map->n--;
	}
	if (!value)
		return;
	if (i == map->n)
		map->n++;
	map->items[2 * i] = *key;
	map->items[2 * i + 1] = *value;
}

static void make_map(struct machine *m, uint32_t n)
{
	struct cel_value *items = &m->p->stack[m->top - 2 * n];
	struct cel_value map;
	uint32_t i;

	m->top -= 2 * n;
	for (i = 0; i < 2 * n; i++)
		if (items[i].kind == CEL_ERROR) {
			push(m, items[i]);
			return;
		}
	map = cel_list(m->s, (size_t)2 * n);
	if (map.kind == CEL_LIST) {
		map.kind = CEL_MAP;
		map.n = 0;
		for (i = 0; i < n; i++) {
			const struct cel_value *value = &items[2 * i + 1];

			if (is_optional_item(value))
				value = value->n ? value->items : NULL;
			map_set(m->s, &map, &items[2 * i], value);
		}
	}
	push(m, map);
}

/* A term of && or ||: what is neither true, false nor an error is an error. */
static struct cel_value term(struct cel_value v)
{
	return v.kind == CEL_BOOL || v.kind == CEL_ERROR ? v : cel_no_overload();
}

static void logic_first(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value *v = top(m);

	*v = term(*v);
	if (v->kind == CEL_BOOL && v->b == i->flag)
		m->at = i->a;
}

static void logic_next(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value v = term(pop(m));
	struct cel_value *before = top(m);

	if (v.kind == CEL_BOOL && v.b == i->flag) {
		*before = v;
		m->at = i->a;
	} else if (before->kind != CEL_ERROR) {
		*before = v;
	}
}

static void branch(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value v = pop(m);

	if (v.kind == CEL_BOOL) {
		if (!v.b)
			m->at = i->a;
		return;
	}
	push(m, term(v));
	m->at = i->b;
}

static void or_value(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value *v = top(m);

	if (v->kind != CEL_OPTIONAL) {
		m->at = i->a;
	} else if (v->n) {
		if (!i->flag)
			*v = *v->items;
		m->at = i->a;
	} else {
		pop(m);
	}
}

static void opt_enter(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value *v = top(m);

	if (v->kind == CEL_OPTIONAL && v->n) {
		m->p->slots[i->b] = *v->items;
		pop(m);
		return;
	}
	if (v->kind != CEL_OPTIONAL && v->kind != CEL_ERROR)
		*v = cel_error(m->s, "no such overload: hasValue(%s)", cel_type_name(v));
	m->at = i->a;
}

static void fold_begin(struct machine *m, const struct cel_instruction *i)
{
	struct cel_loop *l = &m->p->loops[i->a];
	struct cel_value *v = top(m);

	if (v->kind != CEL_LIST && !cel_is_map(v)) {
		if (v->kind != CEL_ERROR && l->two)
			*v = cel_error(m->s, "unsupported comprehension range type: %s", cel_go_type(v));
		else if (v->kind != CEL_ERROR)
			*v = cel_error(m->s, "got '%s', expected iterable type", cel_go_type(v));
		m->at = i->b;
		return;
	}
	l->range = pop(m);
	l->at = 0;
	l->n = l->range.kind == CEL_LIST ? l->range.n : cel_map_size(m->s, &l->range);
}

static void fold_next(struct machine *m, const struct cel_instruction *i)
{
	struct cel_loop *l = &m->p->loops[i->a];
	struct cel_value *slots = m->p->slots;
	struct cel_value key, value;

	if (l->at == l->n) {
		m->at = i->b;
		return;
	}
	if (l->range.kind == CEL_LIST) {
		slots[l->slot] = l->two ? cel_int(l->at) : l->range.items[l->at];
		slots[l->slot2] = l->range.items[l->at];
	} else {
		cel_map_entry(m->s, &l->range, l->at, &key, &value);
		slots[l->slot] = key;
		slots[l->slot2] = value;
	}
	l->at++;
}

/* Space for one item more, of `each` values.  The capacity is the next power of two. */
static bool reserve(struct cel_scratch *s, struct cel_value *list, uint32_t each)
{
	struct cel_value *more;
	uint32_t n = list->n;

	if (n & (n - 1))
		return true;
	more = cel_alloc(s, (size_t)(n ? 2 * n : 1) * each * sizeof(*more));
	if (!more)
		return false;
	if (n)
		memcpy(more, list->items, (size_t)n * each * sizeof(*more));
	list->items = more;
	return true;
}

static void append(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value v = pop(m);
	struct cel_value *list = &m->p->slots[i->a];

	if (list->kind == CEL_ERROR)
		return;
	if (v.kind == CEL_ERROR)
		*list = v;
	else if (reserve(m->s, list, 1))
		list->items[list->n++] = v;
}

static void put(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value v = pop(m);
	struct cel_value *map = &m->p->slots[i->a];

	if (map->kind == CEL_ERROR)
		return;
	if (v.kind == CEL_ERROR)
		*map = v;
	else if (reserve(m->s, map, 2))
		map_set(m->s, map, &m->p->slots[i->b], &v);
}

static void call(struct machine *m, const struct cel_instruction *i)
{
	struct cel_call c = { .s = m->s,
		                  .args = &m->p->stack[m->top - i->b],
		                  .n = i->b,
		                  .regex = m->p->patterns[i->a].regex };
	struct cel_value v = cel_function_call(m->p->functions[i->a], &c);

	m->top -= i->b;
	push(m, v);
}

static void operate(struct machine *m, const struct cel_instruction *i)
{
	struct cel_value b = i->a >= OPERATOR_NOT ? (struct cel_value){ 0 } : pop(m);
	struct cel_value a = pop(m);

	/* A version is no key of a Go map, which is what a list of literals has become. */
	if (i->flag && a.kind == CEL_SEMVER) {
		m->s->ended = true;
		m->s->end =
			cel_error_text("internal error: runtime error: hash of unhashable type cel.Semver");
	}
	push(m, cel_operate(m->s, i->a, &a, &b));
}

static void lazy(struct machine *m, const struct cel_instruction *i)
{
	if (m->p->set[i->a]) {
		push(m, m->p->slots[i->a]);
		return;
	}
	assert(m->calls < m->p->slots_n);
	m->p->calls[m->calls++] = m->at;
	m->at = i->b;
}

static void lazy_return(struct machine *m, const struct cel_instruction *i)
{
	m->p->slots[i->a] = *top(m);
	m->p->set[i->a] = true;
	m->at = m->p->calls[--m->calls];
}

/* Instructions that may be followed by another one than the next, and those inside of loops. */
static void step_jump(struct machine *m, const struct cel_instruction *i)
{
	const struct cel_value *slots = m->p->slots;

	switch ((enum cel_op)i->op) {
	case CEL_OP_JUMP:
		m->at = i->a;
		break;
	case CEL_OP_LOGIC_FIRST:
		logic_first(m, i);
		break;
	case CEL_OP_LOGIC_NEXT:
		logic_next(m, i);
		break;
	case CEL_OP_BRANCH:
		branch(m, i);
		break;
	case CEL_OP_OR_VALUE:
		or_value(m, i);
		break;
	case CEL_OP_OPT_ENTER:
		opt_enter(m, i);
		break;
	case CEL_OP_FOLD:
		fold_begin(m, i);
		break;
	case CEL_OP_NEXT:
		fold_next(m, i);
		break;
	case CEL_OP_APPEND:
		append(m, i);
		break;
	case CEL_OP_PUT:
		put(m, i);
		break;
	case CEL_OP_BREAK:
		if (slots[i->a].kind == CEL_BOOL && slots[i->a].b == i->flag)
			m->at = i->b;
		break;
	default:
		assert(false);
	}
}

/* False at the end. */
static bool step(struct machine *m)
{
	struct cel_program *p = m->p;
	const struct cel_instruction *i = &p->code[m->at++];
	struct cel_value v;

	switch ((enum cel_op)i->op) {
	case CEL_OP_CONST:
		push(m, p->constants[i->a]);
		break;
	case CEL_OP_DEVICE:
		push(m, (struct cel_value){ .kind = CEL_DEVICE });
		break;
	case CEL_OP_LOAD:
		push(m, p->slots[i->a]);
		break;
	case CEL_OP_LAZY:
		lazy(m, i);
		break;
	case CEL_OP_CLEAR:
		p->set[i->a] = false;
		break;
	case CEL_OP_RETURN:
		lazy_return(m, i);
		break;
	case CEL_OP_STORE:
		p->slots[i->a] = pop(m);
		break;
	case CEL_OP_SELECT:
		*top(m) = qualify(m->s, top(m), &p->constants[i->a], i->flag);
		break;
	case CEL_OP_HAS:
		*top(m) = has(m->s, top(m), &p->constants[i->a]);
		break;
	case CEL_OP_INDEX:
		v = pop(m);
		*top(m) = qualify(m->s, top(m), &v, i->flag);
		break;
	case CEL_OP_OPERATOR:
		operate(m, i);
		break;
	case CEL_OP_CALL:
		call(m, i);
		break;
	case CEL_OP_OPTIONAL_ITEM:
		optional_item(m, i->flag);
		break;
	case CEL_OP_LIST:
		make_list(m, i->a);
		break;
	case CEL_OP_MAP:
		make_map(m, i->a);
		break;
	case CEL_OP_OPT_OF:
		if (top(m)->kind != CEL_ERROR)
			*top(m) = cel_optional(m->s, top(m));
		break;
	case CEL_OP_END:
		return false;
	default:
		step_jump(m, i);
	}
	return true;
}

/* What types.Val.ConvertToNative(bool) says of each type. */
static void not_a_bool(const struct cel_value *v, struct cel_error *error)
{
	static const char *const why[] = {
		[CEL_INT] = "unsupported type conversion from 'int' to bool",
		[CEL_UINT] = "unsupported type conversion from 'uint' to bool",
		[CEL_DOUBLE] = "unsupported type conversion from 'double' to bool",
		[CEL_STRING] = "unsupported native conversion from string to 'bool'",
		[CEL_SEMVER] = "type conversion error from 'Semver' to 'bool'",
		[CEL_QUANTITY] = "type conversion error from 'Quantity' to 'bool'",
	};
	const char *text = v->kind < sizeof(why) / sizeof(why[0]) ? why[v->kind] : NULL;

	snprintf(error->text, sizeof(error->text),
	         "CEL result of type %s could not be converted to bool: %s%s%s", cel_type_name(v),
	         text ? text : "type conversion error from '", text ? "" : cel_type_name(v),
	         text ? "" : "' to 'bool'");
}

static int evaluate(struct cel_program *p, const struct cel_device *device, bool *match,
                    struct cel_error *error)
{
	struct machine m = { .p = p, .s = &p->scratch };
	struct cel_value v;

	*error = (struct cel_error){ 0 };
	p->scratch.bytes = 0;
	p->scratch.steps = 0;
	p->scratch.why[0] = '\0';
	p->scratch.exceeded = p->scratch.ended = false;
	p->scratch.device = device;
	while (!p->scratch.exceeded && !p->scratch.ended && step(&m))
		if (++p->scratch.steps > CEL_STEPS)
			p->scratch.exceeded = true;
	if (p->scratch.exceeded) {
		error->refused = error->limit = true;
		if (p->scratch.why[0]) {
			error->limit = false;
			snprintf(error->text, sizeof(error->text), "%s", p->scratch.why);
			return -E2BIG;
		}
		snprintf(error->text, sizeof(error->text), "more than %d steps or %zu KiB", CEL_STEPS,
		         CEL_MEMORY >> 10);
		return -E2BIG;
	}
	v = p->scratch.ended ? p->scratch.end : pop(&m);
	if (v.kind == CEL_BOOL) {
		*match = v.b;
		return 0;
	}
	if (v.kind == CEL_ERROR)
		snprintf(error->text, sizeof(error->text), "%.*s", (int)v.n, v.text);
	else
		not_a_bool(&v, error);
	return -EINVAL;
}

/* What an evaluation took is not kept: a tenant may have thousands of programs. */
int cel_eval(struct cel_program *p, const struct cel_device *device, bool *match,
             struct cel_error *error)
{
	int rc = evaluate(p, device, match, error);

	arena_free(&p->scratch.arena);
	return rc;
}

uint64_t cel_steps(const struct cel_program *p)
{
	return p->scratch.steps;
}
