/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/selector.h"

#include "tests/apisim/resource.h"

#include <stdlib.h>
#include <string.h>

struct scan {
	struct as_arena *arena;
	const char *at;
	const char *error;
};

static bool word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '_' || c == '.' || c == '/';
}

static void skip_space(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n')
		s->at++;
}

/* Empty when there is none. */
static const char *take_word(struct scan *s)
{
	const char *start;

	skip_space(s);
	start = s->at;
	while (word_byte(*s->at))
		s->at++;
	return as_arena_copy(s->arena, start, (size_t)(s->at - start));
}

static bool take(struct scan *s, const char *token)
{
	size_t n = strlen(token);

	skip_space(s);
	if (strncmp(s->at, token, n) != 0)
		return false;
	s->at += n;
	return true;
}

static void add_value(struct as_arena *a, struct as_requirement *r, const char *value)
{
	const char **values = as_arena_alloc(a, (r->n + 1) * sizeof(*values));

	if (r->n > 0)
		memcpy(values, r->values, r->n * sizeof(*values));
	values[r->n++] = value;
	r->values = values;
}

/* "(a, b)" after in or notin. */
static bool take_values(struct scan *s, struct as_requirement *r)
{
	if (!take(s, "("))
		return false;
	do {
		add_value(s->arena, r, take_word(s));
	} while (take(s, ","));
	return take(s, ")");
}

static bool is_integer(const char *text)
{
	size_t digits = strspn(text + (text[0] == '-'), "0123456789");

	return digits > 0 && digits < 19 && text[(text[0] == '-') + digits] == '\0';
}

static bool take_requirement(struct scan *s, struct as_requirement *r)
{
	bool absent = take(s, "!");
	const char *op;

	r->name = take_word(s);
	if (r->name[0] == '\0')
		return false;
	skip_space(s);
	if (absent || *s->at == '\0' || *s->at == ',') {
		r->op = absent ? AS_ABSENT : AS_EXISTS;
		return true;
	}
	if (take(s, "==") || take(s, "=")) {
		r->op = AS_IN;
		add_value(s->arena, r, take_word(s));
		return true;
	}
	if (take(s, "!=")) {
		r->op = AS_NOT_IN;
		add_value(s->arena, r, take_word(s));
		return true;
	}
	if (*s->at == '>' || *s->at == '<') {
		r->op = *s->at++ == '>' ? AS_GREATER : AS_LESS;
		add_value(s->arena, r, take_word(s));
		return is_integer(r->values[0]);
	}
	op = take_word(s);
	if (strcmp(op, "in") != 0 && strcmp(op, "notin") != 0)
		return false;
	r->op = op[0] == 'i' ? AS_IN : AS_NOT_IN;
	return take_values(s, r);
}

static bool parse_labels(struct as_arena *a, const char *text, struct as_selector *out,
                         const char **error)
{
	struct scan s = { .arena = a, .at = text };

	skip_space(&s);
	while (*s.at != '\0') {
		struct as_requirement *r = as_arena_alloc(a, sizeof(*r));

		*r = (struct as_requirement){ 0 };
		if (!take_requirement(&s, r))
			goto bad;
		r->next = out->labels;
		out->labels = r;
		skip_space(&s);
		if (*s.at == '\0')
			return true;
		if (*s.at != ',')
			goto bad;
		s.at++;
		skip_space(&s);
		if (*s.at == '\0')
			goto bad;
	}
	return true;
bad:
	*error = as_arena_printf(a, "unable to parse requirement: \"%s\" at byte %zu", text,
	                         (size_t)(s.at - text));
	return false;
}

static bool field_known(const struct as_resource *resource, const char *name)
{
	for (const char *const *f = resource->fields; *f != NULL; f++)
		if (strcmp(*f, name) == 0)
			return true;
	return false;
}

static bool parse_field(struct as_arena *a, const struct as_resource *resource, char *term,
                        struct as_selector *out, const char **error)
{
	struct as_requirement *r = as_arena_alloc(a, sizeof(*r));
	char *op = term + strcspn(term, "=!");
	char *value;

	*r = (struct as_requirement){ .op = *op == '!' ? AS_NOT_IN : AS_IN };
	value = op + (op[0] != '\0' && op[1] == '=' ? 2 : 1);
	if (*op == '\0' || (*op == '!' && op[1] != '=')) {
		*error = as_arena_printf(a, "invalid selector: '%s'; can't understand '%s'", term, term);
		return false;
	}
	*op = '\0';
	r->name = term;
	add_value(a, r, value);
	if (!field_known(resource, term)) {
		*error = as_arena_printf(a, "field label not supported: %s", term);
		return false;
	}
	r->next = out->fields;
	out->fields = r;
	return true;
}

static bool parse_fields(struct as_arena *a, const struct as_resource *resource, const char *text,
                         struct as_selector *out, const char **error)
{
	char *at = as_arena_copy(a, text, strlen(text));

	while (at != NULL && *at != '\0') {
		char *comma = strchr(at, ',');

		if (comma != NULL)
			*comma = '\0';
		if (!parse_field(a, resource, at, out, error))
			return false;
		at = comma != NULL ? comma + 1 : NULL;
	}
	return true;
}

bool as_selector_parse(struct as_arena *a, const struct as_resource *resource, const char *labels,
                       const char *fields, struct as_selector *out, const char **error)
{
	*out = (struct as_selector){ 0 };
	if (labels != NULL && !parse_labels(a, labels, out, error))
		return false;
	return fields == NULL || parse_fields(a, resource, fields, out, error);
}

static bool value_in(const struct as_requirement *r, const char *value)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->values[i], value) == 0)
			return true;
	return false;
}

static bool label_matches(const struct as_requirement *r, const char *value)
{
	switch (r->op) {
	case AS_IN:
		return value != NULL && value_in(r, value);
	case AS_NOT_IN:
		return value == NULL || !value_in(r, value);
	case AS_EXISTS:
		return value != NULL;
	case AS_ABSENT:
		return value == NULL;
	default:
		if (value == NULL || !is_integer(value))
			return false;
		return r->op == AS_GREATER ? strtoll(value, NULL, 10) > strtoll(r->values[0], NULL, 10)
		                           : strtoll(value, NULL, 10) < strtoll(r->values[0], NULL, 10);
	}
}

bool as_selector_matches(const struct as_selector *s, const struct as_object *o)
{
	for (const struct as_requirement *r = s->fields; r != NULL; r = r->next)
		if (!label_matches(r, as_object_field(o, r->name)))
			return false;
	for (const struct as_requirement *r = s->labels; r != NULL; r = r->next)
		if (!label_matches(r, as_object_label(o, r->name)))
			return false;
	return true;
}

static struct as_requirement *copy_list(struct as_arena *a, const struct as_requirement *list)
{
	struct as_requirement *first = NULL, **link = &first;

	for (; list != NULL; list = list->next) {
		struct as_requirement *r = as_arena_alloc(a, sizeof(*r));

		*r = (struct as_requirement){ .op = list->op,
			                          .name = as_arena_copy(a, list->name, strlen(list->name)) };
		for (size_t i = 0; i < list->n; i++)
			add_value(a, r, as_arena_copy(a, list->values[i], strlen(list->values[i])));
		*link = r;
		link = &r->next;
	}
	return first;
}

struct as_selector as_selector_copy(struct as_arena *a, const struct as_selector *s)
{
	return (struct as_selector){ .labels = copy_list(a, s->labels),
		                         .fields = copy_list(a, s->fields) };
}
