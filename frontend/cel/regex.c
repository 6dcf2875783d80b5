/* SPDX-License-Identifier: Apache-2.0 */
/* From the tree to instructions, and their simulation: all threads step together over the text,
 * ordered by preference, each instruction at most once for each position. */
#include "frontend/cel/regex_impl.h"

#include "frontend/cel/value.h"

#include <stdio.h>
#include <string.h>

enum opcode { OP_CLASS, OP_ASSERT, OP_SPLIT, OP_MATCH };

struct instruction {
	uint8_t op;
	uint8_t assertion;
	uint32_t x, y; /* next; OP_SPLIT: preferred x, then y; OP_CLASS: y ranges */
	const struct regex_range *ranges;
};

struct regex {
	struct instruction *code;
	uint32_t n;
	uint32_t start;
};

struct compiler {
	struct instruction code[REGEX_MAX];
	uint32_t n, visits;
	bool full;
};

static uint32_t emit(struct compiler *c, struct instruction i)
{
	if (c->n == REGEX_MAX) {
		c->full = true;
		return 0;
	}
	c->code[c->n] = i;
	return c->n++;
}

/* Code is made from the end: the entry of `n` followed by the instruction `next`. */
static uint32_t compile(struct compiler *c, const struct regex_node *n, uint32_t next);

static uint32_t split(struct compiler *c, bool greedy, uint32_t body, uint32_t next)
{
	return emit(c, (struct instruction){
					   .op = OP_SPLIT, .x = greedy ? body : next, .y = greedy ? next : body });
}

/* At least once: the body, behind which it is decided. */
static uint32_t compile_plus(struct compiler *c, const struct regex_node *n, bool greedy,
                             uint32_t next)
{
	uint32_t loop = emit(c, (struct instruction){ .op = OP_SPLIT });
	uint32_t body = compile(c, n, loop);

	if (c->full)
		return 0;
	c->code[loop].x = greedy ? body : next;
	c->code[loop].y = greedy ? next : body;
	return body;
}

static uint32_t compile_star(struct compiler *c, const struct regex_node *n, bool greedy,
                             uint32_t next)
{
	uint32_t loop;

	/* As in Go: (body+)?, so that a body that matches nothing keeps its place in the order. */
	if (n->nullable)
		return split(c, greedy, compile_plus(c, n, greedy, next), next);
	loop = emit(c, (struct instruction){ .op = OP_SPLIT });
	if (!c->full) {
		uint32_t body = compile(c, n, loop);

		if (c->full)
			return 0;
		c->code[loop].x = greedy ? body : next;
		c->code[loop].y = greedy ? next : body;
	}
	return loop;
}

static uint32_t compile_repeat(struct compiler *c, const struct regex_node *n, uint32_t next)
{
	uint32_t at = next, end = next;
	int i;

	if (n->max < 0) {
		if (n->min == 0)
			return compile_star(c, n->one, n->greedy, next);
		at = compile_plus(c, n->one, n->greedy, next);
		for (i = 1; i < n->min && !c->full; i++)
			at = compile(c, n->one, at);
		return at;
	}
	for (i = n->min; i < n->max && !c->full; i++)
		at = split(c, n->greedy, compile(c, n->one, at), end);
	for (i = 0; i < n->min && !c->full; i++)
		at = compile(c, n->one, at);
	return at;
}

static uint32_t compile(struct compiler *c, const struct regex_node *n, uint32_t next)
{
	uint32_t i, at;

	/* Bodies without an instruction, as of (){1000}, are bounded by the visits. */
	c->full = c->full || ++c->visits > 16 * REGEX_MAX;
	if (c->full)
		return 0;
	switch (n->kind) {
	case REGEX_EMPTY:
		return next;
	case REGEX_CLASS:
		return emit(
			c, (struct instruction){ .op = OP_CLASS, .x = next, .y = n->n, .ranges = n->ranges });
	case REGEX_ASSERT:
		return emit(c, (struct instruction){
						   .op = OP_ASSERT, .assertion = (uint8_t)n->assertion, .x = next });
	case REGEX_SEQUENCE:
		for (i = n->n; i > 0 && !c->full; i--)
			next = compile(c, n->many[i - 1], next);
		return next;
	case REGEX_ALTERNATIVES:
		at = compile(c, n->many[n->n - 1], next);
		for (i = n->n - 1; i > 0 && !c->full; i--)
			at = split(c, true, compile(c, n->many[i - 1], next), at);
		return at;
	case REGEX_REPEAT:
		return compile_repeat(c, n, next);
	}
	return next;
}

enum regex_result regex_compile(struct text pattern, struct arena *arena, const struct regex **out,
                                char error[256])
{
	struct arena space = { 0 }; /* what is needed here alone */
	struct compiler *c;
	struct regex_node *tree = NULL;
	struct regex *r;
	enum regex_result rc = regex_parse(pattern, arena, &tree, error);
	uint32_t match;

	if (rc != REGEX_OK)
		return rc;
	c = arena_alloc(&space, sizeof(*c));
	c->n = c->visits = 0;
	c->full = false;
	match = emit(c, (struct instruction){ .op = OP_MATCH });
	r = arena_alloc(arena, sizeof(*r));
	r->start = compile(c, tree, match);
	if (c->full) {
		snprintf(error, 256, "a regular expression of more than %d instructions", REGEX_MAX);
		arena_free(&space);
		return REGEX_REFUSED;
	}
	r->n = c->n;
	r->code = arena_alloc(arena, c->n * sizeof(c->code[0]));
	memcpy(r->code, c->code, c->n * sizeof(c->code[0]));
	arena_free(&space);
	*out = r;
	return REGEX_OK;
}

size_t regex_size(const struct regex *r)
{
	return r->n;
}

/* Threads at one position, in the order of preference. */
struct threads {
	uint32_t *pc;
	uint32_t *start;
	uint32_t *place; /* of a pc in the list; checked against it, so it need not be cleared */
	uint32_t n;
};

struct search {
	const struct regex *r;
	struct text text;
	struct threads list[2];
	uint32_t *stack;
};

size_t regex_memory(const struct regex *r)
{
	return sizeof(uint32_t) * ((size_t)r->n * 8 + 4);
}

static bool is_word(struct text t, size_t at)
{
	char c;

	if (at >= t.bytes)
		return false;
	c = t.at[at];
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool holds(enum regex_assertion what, struct text t, size_t at)
{
	switch (what) {
	case REGEX_BEGIN:
		return at == 0;
	case REGEX_END:
		return at == t.bytes;
	case REGEX_BEGIN_LINE:
		return at == 0 || t.at[at - 1] == '\n';
	case REGEX_END_LINE:
		return at == t.bytes || t.at[at] == '\n';
	case REGEX_WORD_BOUNDARY:
		return (at > 0 && is_word(t, at - 1)) != is_word(t, at);
	case REGEX_NOT_WORD_BOUNDARY:
		return (at > 0 && is_word(t, at - 1)) == is_word(t, at);
	}
	return false;
}

/* Follow what consumes nothing. */
static void add_thread(struct search *s, struct threads *to, uint32_t pc, uint32_t start, size_t at)
{
	uint32_t depth = 0;

	s->stack[depth++] = pc;
	while (depth > 0) {
		const struct instruction *i;

		pc = s->stack[--depth];
		if (to->place[pc] < to->n && to->pc[to->place[pc]] == pc)
			continue;
		to->place[pc] = to->n;
		to->pc[to->n] = pc;
		to->start[to->n] = start;
		to->n++;
		i = &s->r->code[pc];
		if (i->op == OP_SPLIT) {
			s->stack[depth++] = i->y;
			s->stack[depth++] = i->x;
		} else if (i->op == OP_ASSERT && holds((enum regex_assertion)i->assertion, s->text, at)) {
			s->stack[depth++] = i->x;
		}
	}
}

static bool in_class(const struct instruction *i, uint32_t rune)
{
	uint32_t low = 0, high = i->y;

	while (low < high) {
		const uint32_t k = low + (high - low) / 2;

		if (rune > i->ranges[k].high)
			low = k + 1;
		else
			high = k;
	}
	return low < i->y && rune >= i->ranges[low].low;
}

bool regex_search(const struct regex *r, struct text text, size_t from, void *memory, size_t *begin,
                  size_t *end)
{
	struct search s = { .r = r, .text = text };
	uint32_t *m = memory;
	struct threads *now = &s.list[0], *then = &s.list[1], *swap;
	bool found = false;
	size_t at = from, width;
	uint32_t i;

	memset(memory, 0, regex_memory(r));
	for (i = 0; i < 2; i++) {
		s.list[i].pc = m + (size_t)r->n * (3 * i);
		s.list[i].start = m + (size_t)r->n * (3 * i + 1);
		s.list[i].place = m + (size_t)r->n * (3 * i + 2);
	}
	s.stack = m + (size_t)r->n * 6;
	for (;; at += width) {
		uint32_t rune = 0;

		if (!found)
			add_thread(&s, now, r->start, (uint32_t)at, at);
		width = at < text.bytes ? cel_rune(text.at + at, text.at + text.bytes, &rune) : 0;
		for (i = 0; i < now->n; i++) {
			const struct instruction *in = &r->code[now->pc[i]];

			if (in->op == OP_MATCH) {
				found = true;
				if (!begin)
					return true;
				*begin = now->start[i];
				*end = at;
				break;
			}
			if (in->op == OP_CLASS && width && in_class(in, rune))
				add_thread(&s, then, in->x, now->start[i], at + width);
		}
		if (width == 0 || (found && then->n == 0))
			return found;
		swap = now;
		now = then;
		then = swap;
		then->n = 0;
	}
}
