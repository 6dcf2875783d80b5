/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/yaml.h"

#include "frontend/json/json.h"
#include "frontend/base/log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* JSON needs a few bytes more than YAML, but never this many times as much;
 * only aliases of aliases do. */
#define EXPANSION 16
#define EXPANSION_FREE (1u << 20)

#define NO_ANCHOR SIZE_MAX

struct slice {
	size_t from;
	size_t n;
};

struct key {
	struct slice text;
	yaml_mark_t mark;
};

struct frame {
	bool mapping;
	bool has_key; /* the next node is a value */
	size_t items;
	size_t keys_from; /* into keys */
	size_t anchor;    /* into anchors, or NO_ANCHOR */
};

struct anchor {
	char *name; /* owned */
	struct slice at;
	bool open; /* within its node: an alias would contain itself */
};

struct convert {
	struct bytes *out;
	size_t out_max;
	struct frame stack[JSON_DEPTH];
	unsigned depth;
	struct key *keys; /* of all open mappings */
	size_t keys_n, keys_cap;
	struct anchor *anchors;
	size_t anchors_n, anchors_cap;
	struct yaml_marks *marks; /* NULL: not wanted */
	struct yaml_error *e;
};

static bool fail_at(struct convert *c, const yaml_mark_t *mark, const char *text)
{
	c->e->line = mark->line + 1;
	c->e->column = mark->column + 1;
	snprintf(c->e->text, sizeof(c->e->text), "%s", text);
	return false;
}

static struct anchor *find_anchor(struct convert *c, const char *name)
{
	for (size_t i = c->anchors_n; i > 0; i--)
		if (strcmp(c->anchors[i - 1].name, name) == 0)
			return &c->anchors[i - 1];
	return NULL;
}

/* A later anchor of the same name replaces it, as in YAML. */
static size_t open_anchor(struct convert *c, const char *name, size_t from)
{
	c->anchors = must_reach(c->anchors, &c->anchors_cap, c->anchors_n, 8, sizeof(*c->anchors));
	c->anchors[c->anchors_n++] =
		(struct anchor){ .name = must_copy(name), .at = { .from = from }, .open = true };
	return c->anchors_n - 1;
}

/* By number, since a node inside of it may have an anchor of the same name. */
static void close_anchor(struct convert *c, size_t anchor)
{
	struct anchor *a = &c->anchors[anchor];

	a->at.n = c->out->n - a->at.from;
	a->open = false;
}

static void forget_anchors(struct convert *c)
{
	for (size_t i = 0; i < c->anchors_n; i++)
		free(c->anchors[i].name);
	c->anchors_n = 0;
}

static void add_mark(struct convert *c, size_t at, size_t line, size_t column)
{
	struct yaml_marks *m = c->marks;

	m->marks = must_reach(m->marks, &m->cap, m->n, 64, sizeof(*m->marks));
	m->marks[m->n++] = (struct yaml_mark){ at, line, column };
}

/* Writes the separator before this node.  False: a key that is not a scalar. */
static bool before_node(struct convert *c, const yaml_mark_t *mark, bool scalar)
{
	struct frame *f;

	if (c->out->n > c->out_max)
		return fail_at(c, mark, "aliases make this document far larger than it is");
	f = c->depth > 0 ? &c->stack[c->depth - 1] : NULL;
	if (f && f->mapping && f->has_key) {
		bytes_put(c->out, ":");
	} else if (f) {
		if (f->mapping && !scalar)
			return fail_at(c, mark, "a key that is no plain text");
		if (f->items > 0)
			bytes_put(c->out, ",");
	}
	if (c->marks)
		add_mark(c, c->out->n, mark->line + 1, mark->column + 1);
	return true;
}

static void after_node(struct convert *c)
{
	struct frame *f;

	if (c->depth == 0) {
		bytes_put(c->out, "\n");
		return;
	}
	f = &c->stack[c->depth - 1];
	if (f->mapping)
		f->has_key = !f->has_key;
	if (!f->has_key)
		f->items++;
}

static bool is_key(const struct convert *c)
{
	return c->depth > 0 && c->stack[c->depth - 1].mapping && !c->stack[c->depth - 1].has_key;
}

static bool add_key(struct convert *c, const yaml_event_t *ev)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t n = ev->data.scalar.length, from = c->out->n;

	if (n == 2 && memcmp(text, "<<", 2) == 0 && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return fail_at(c, &ev->start_mark, "merge keys (<<) are not supported");
	bytes_quote(c->out, text, n);
	c->keys = must_reach(c->keys, &c->keys_cap, c->keys_n, 64, sizeof(*c->keys));
	c->keys[c->keys_n++] = (struct key){ { from, c->out->n - from }, ev->start_mark };
	return true;
}

static bool tag_is(const yaml_event_t *ev, const char *tag)
{
	return ev->data.scalar.tag != NULL && strcmp((const char *)ev->data.scalar.tag, tag) == 0;
}

static bool add_value(struct convert *c, const yaml_event_t *ev)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t n = ev->data.scalar.length;
	bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	bool bad = false;

	if (ev->data.scalar.tag == NULL || tag_is(ev, "!")) {
		plain = plain && ev->data.scalar.tag == NULL;
	} else if (tag_is(ev, YAML_STR_TAG)) {
		plain = false;
	} else if (tag_is(ev, YAML_INT_TAG) || tag_is(ev, YAML_FLOAT_TAG) ||
	           tag_is(ev, YAML_BOOL_TAG) || tag_is(ev, YAML_NULL_TAG)) {
		plain = true;
	} else {
		return fail_at(c, &ev->start_mark, "this tag is not supported");
	}
	if (plain && yaml_plain(text, n, c->out, &bad))
		return true;
	if (bad)
		return fail_at(c, &ev->start_mark, "JSON has no such number");
	bytes_quote(c->out, text, n);
	return true;
}

static bool scalar(struct convert *c, const yaml_event_t *ev)
{
	const char *anchor = (const char *)ev->data.scalar.anchor;
	size_t opened = NO_ANCHOR;
	bool key = is_key(c);

	/* An empty document is a null without a position. */
	if (c->depth == 0 && ev->data.scalar.length == 0 &&
	    ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return true;
	if (!before_node(c, &ev->start_mark, true))
		return false;
	if (anchor != NULL)
		opened = open_anchor(c, anchor, c->out->n);
	if (!(key ? add_key(c, ev) : add_value(c, ev)))
		return false;
	if (opened != NO_ANCHOR)
		close_anchor(c, opened);
	after_node(c);
	return true;
}

/* The first mark at or after this byte; marks->n: none. */
static size_t first_mark(const struct yaml_marks *marks, size_t at)
{
	size_t low = 0, high = marks->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (marks->marks[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Gives the copy of `from` at `to` the position of the alias, whose own mark ends the loop. */
static void copy_marks(struct convert *c, struct slice from, size_t to, const yaml_mark_t *mark)
{
	size_t i = first_mark(c->marks, from.from + 1);

	for (; c->marks->marks[i].at < from.from + from.n; i++)
		add_mark(c, to + c->marks->marks[i].at - from.from, mark->line + 1, mark->column + 1);
}

static bool alias(struct convert *c, const yaml_event_t *ev)
{
	const struct anchor *a = find_anchor(c, (const char *)ev->data.alias.anchor);

	if (a == NULL)
		return fail_at(c, &ev->start_mark, "an alias of an anchor that is not there");
	if (a->open)
		return fail_at(c, &ev->start_mark, "an alias that contains itself");
	if (is_key(c))
		return fail_at(c, &ev->start_mark, "an alias as a key is not supported");
	if (!before_node(c, &ev->start_mark, false))
		return false;
	if (a->at.n > c->out_max || c->out->n > c->out_max - a->at.n)
		return fail_at(c, &ev->start_mark, "aliases make this document far larger than it is");
	if (c->marks)
		copy_marks(c, a->at, c->out->n, &ev->start_mark);
	bytes_room(c->out, a->at.n);
	bytes_add(c->out, c->out->at + a->at.from, a->at.n);
	after_node(c);
	return true;
}

static bool open_container(struct convert *c, const yaml_event_t *ev, bool mapping)
{
	const char *anchor =
		(const char *)(mapping ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor);
	const char *tag =
		(const char *)(mapping ? ev->data.mapping_start.tag : ev->data.sequence_start.tag);

	if (c->depth == JSON_DEPTH)
		return fail_at(c, &ev->start_mark, "nested too deeply");
	if (tag != NULL && strcmp(tag, mapping ? YAML_MAP_TAG : YAML_SEQ_TAG) != 0)
		return fail_at(c, &ev->start_mark, "this tag is not supported");
	if (!before_node(c, &ev->start_mark, false))
		return false;
	c->stack[c->depth++] = (struct frame){
		.mapping = mapping,
		.keys_from = c->keys_n,
		.anchor = anchor != NULL ? open_anchor(c, anchor, c->out->n) : NO_ANCHOR,
	};
	bytes_put(c->out, mapping ? "{" : "[");
	return true;
}

static int compare_texts(const struct key *a, const struct key *b, const char *text)
{
	size_t n = a->text.n < b->text.n ? a->text.n : b->text.n;
	int order = memcmp(text + a->text.from, text + b->text.from, n);

	return order != 0 ? order : (a->text.n > b->text.n) - (a->text.n < b->text.n);
}

static int compare_keys(const void *a, const void *b, void *context)
{
	const struct key *x = a, *y = b;
	int order = compare_texts(x, y, context);

	return order != 0 ? order : (x->text.from > y->text.from) - (x->text.from < y->text.from);
}

static bool keys_differ(struct convert *c, const struct frame *f)
{
	struct key *keys = c->keys + f->keys_from;
	size_t n = c->keys_n - f->keys_from;
	char text[128];

	if (n < 2)
		return true;
	qsort_r(keys, n, sizeof(*keys), compare_keys, c->out->at);
	for (size_t i = 1; i < n; i++) {
		if (compare_texts(&keys[i - 1], &keys[i], c->out->at) != 0)
			continue;
		snprintf(text, sizeof(text), "the key %.*s stands twice in one mapping",
		         keys[i].text.n > 64 ? 64 : (int)keys[i].text.n, c->out->at + keys[i].text.from);
		return fail_at(c, &keys[i].mark, text);
	}
	return true;
}

static bool close_container(struct convert *c)
{
	struct frame *f = &c->stack[--c->depth];
	bool differ = !f->mapping || keys_differ(c, f);

	c->keys_n = f->keys_from;
	bytes_put(c->out, f->mapping ? "}" : "]");
	if (f->anchor != NO_ANCHOR)
		close_anchor(c, f->anchor);
	if (differ)
		after_node(c);
	return differ;
}

static bool take_event(struct convert *c, const yaml_event_t *ev)
{
	switch (ev->type) {
	case YAML_DOCUMENT_END_EVENT:
		forget_anchors(c);
		return true;
	case YAML_SCALAR_EVENT:
		return scalar(c, ev);
	case YAML_ALIAS_EVENT:
		return alias(c, ev);
	case YAML_SEQUENCE_START_EVENT:
		return open_container(c, ev, false);
	case YAML_MAPPING_START_EVENT:
		return open_container(c, ev, true);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_container(c);
	default:
		return true;
	}
}

static bool convert(struct convert *c, yaml_parser_t *parser)
{
	for (;;) {
		yaml_event_t ev;
		bool ok, last;

		if (!yaml_parser_parse(parser, &ev)) {
			const char *problem = parser->problem != NULL ? parser->problem : "not YAML";

			return fail_at(c, &parser->problem_mark, problem);
		}
		ok = take_event(c, &ev);
		last = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
		if (!ok || last)
			return ok;
	}
}

bool yaml_to_json(const char *text, size_t n, struct bytes *out, struct yaml_marks *marks,
                  struct yaml_error *e)
{
	struct convert *c = must_alloc(sizeof(*c));
	yaml_parser_t parser;
	bool ok;

	c->out = out;
	c->marks = marks;
	c->e = e;
	c->out_max = out->n + EXPANSION_FREE + n * EXPANSION;
	if (yaml_parser_initialize(&parser)) {
		yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
		ok = convert(c, &parser);
		yaml_parser_delete(&parser);
	} else {
		ok = fail_at(c, &(yaml_mark_t){ 0 }, "out of memory");
	}
	forget_anchors(c);
	free(c->anchors);
	free(c->keys);
	free(c);
	return ok;
}

struct yaml_mark yaml_mark_find(const struct yaml_marks *marks, size_t at)
{
	size_t i = first_mark(marks, at);

	if (marks->n == 0)
		return (struct yaml_mark){ 0, 1, 1 };
	return marks->marks[i < marks->n ? i : marks->n - 1];
}

void yaml_marks_free(struct yaml_marks *marks)
{
	free(marks->marks);
	*marks = (struct yaml_marks){ 0 };
}
