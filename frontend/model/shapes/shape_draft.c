/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/shapes/shape_draft.h"

#include "frontend/model/base/body.h"
#include "frontend/model/base/columns.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define SECTION(count, type)                                                                       \
	{                                                                                              \
		offsetof(struct event_shape, count), sizeof(type)                                          \
	}

static const struct {
	size_t count; /* its offset in the head */
	size_t bytes; /* of an item */
} layout[SECTIONS] = {
	[SECTION_AMOUNTS] = SECTION(amounts_n, struct amount),
	[SECTION_REQUIREMENTS] = SECTION(requirements_n, struct requirement),
	[SECTION_VALUES] = SECTION(values_n, uint32_t),
	[SECTION_TOLERATIONS] = SECTION(tolerations_n, struct toleration),
	[SECTION_CLAUSES] = SECTION(clauses_n, struct requirement),
	[SECTION_PREFERENCES] = SECTION(preferences_n, struct preference),
	[SECTION_ALTERNATIVES] = SECTION(alternatives_n, struct span),
	[SECTION_VOLUME_RULES] = SECTION(volume_rules_n, struct volume_rule),
	[SECTION_POD_TERMS] = SECTION(pod_terms_n, struct pod_term),
	[SECTION_SPREADS] = SECTION(spreads_n, struct spread),
	[SECTION_PORTS] = SECTION(ports_n, struct host_port),
	[SECTION_IMAGES] = SECTION(images_n, uint32_t),
	[SECTION_ATTACHMENTS] = SECTION(attachments_n, struct attachment),
	[SECTION_EXCLUSIVES] = SECTION(exclusives_n, struct exclusive),
	[SECTION_POLICIES] = SECTION(policies_n, struct policy),
	[SECTION_SHARES] = SECTION(shares_n, struct policy_share),
};

static uint32_t count_in(const struct event_shape *head, enum section s)
{
	uint32_t n;

	memcpy(&n, (const char *)head + layout[s].count, sizeof(n));
	return n;
}

static void count_set(struct event_shape *head, enum section s, uint32_t n)
{
	memcpy((char *)head + layout[s].count, &n, sizeof(n));
}

static void visit_requirement(const struct requirement *r, shape_visit_fn visit, void *context)
{
	if (r->key != LABEL_KEY_NODE_NAME)
		visit(context, NUMBER_KEY, r->key);
}

static void visit_toleration(const struct toleration *t, shape_visit_fn visit, void *context)
{
	if (t->key != TOLERATE_EVERY_KEY)
		visit(context, NUMBER_KEY, t->key);
	if (!t->any_value)
		visit(context, NUMBER_VALUE, t->value);
}

static void visit_port(const struct host_port *p, shape_visit_fn visit, void *context)
{
	if (p->address != PORT_EVERY_ADDRESS)
		visit(context, NUMBER_VALUE, p->address);
	visit(context, NUMBER_VALUE, p->protocol);
}

static void visit_attachment(const struct attachment *a, shape_visit_fn visit, void *context)
{
	visit(context, NUMBER_VALUE, a->driver);
	visit(context, NUMBER_VALUE, a->volume);
}

#define FIELD(type, field, item) (((const struct type *)(item))->field)

static void visit_item(enum section s, const void *item, shape_visit_fn visit, void *context)
{
	switch (s) {
	case SECTION_AMOUNTS:
		visit(context, NUMBER_RESOURCE, FIELD(amount, resource, item));
		break;
	case SECTION_REQUIREMENTS:
	case SECTION_CLAUSES:
		visit_requirement(item, visit, context);
		break;
	case SECTION_VALUES:
		visit(context, NUMBER_VALUE, *(const uint32_t *)item);
		break;
	case SECTION_TOLERATIONS:
		visit_toleration(item, visit, context);
		break;
	case SECTION_POD_TERMS:
		visit(context, NUMBER_KEY, FIELD(pod_term, topology, item));
		break;
	case SECTION_SPREADS:
		visit(context, NUMBER_KEY, FIELD(spread, topology, item));
		break;
	case SECTION_PORTS:
		visit_port(item, visit, context);
		break;
	case SECTION_IMAGES:
		visit(context, NUMBER_IMAGE, *(const uint32_t *)item);
		break;
	case SECTION_ATTACHMENTS:
		visit_attachment(item, visit, context);
		break;
	case SECTION_EXCLUSIVES:
		visit(context, NUMBER_VALUE, FIELD(exclusive, item, item));
		break;
	case SECTION_POLICIES:
		visit(context, NUMBER_KEY, FIELD(policy, topology, item));
		break;
	case SECTION_SHARES:
		visit(context, NUMBER_VALUE, FIELD(policy_share, value, item));
		break;
	default:
		break; /* spans and weights */
	}
}

void shape_visit(const char *body, shape_visit_fn visit, void *context)
{
	const struct event_shape *head = (const void *)body;
	const char *at = body + sizeof(*head);

	if (head->namespace != ID_NONE)
		visit(context, NUMBER_VALUE, head->namespace);
	for (enum section s = 0; s < SECTIONS; s++) {
		uint32_t n = count_in(head, s);

		for (uint32_t i = 0; i < n; i++)
			visit_item(s, at + i * layout[s].bytes, visit, context);
		at += PADDED(n * layout[s].bytes);
	}
}

static struct intern *intern_of(struct model *m, enum number_of of)
{
	return of == NUMBER_KEY ? &m->keys : of == NUMBER_VALUE ? &m->values : &m->images;
}

void shape_give_number(void *context, enum number_of of, uint32_t number)
{
	if (of == NUMBER_RESOURCE)
		resource_give(context, number);
	else
		intern_give(intern_of(context, of), number);
}

static void hold_number(void *context, enum number_of of, uint32_t number)
{
	if (of == NUMBER_RESOURCE)
		resource_hold(context, number);
	else
		intern_hold(intern_of(context, of), number);
}

void *draft_more(struct draft *d, enum section section)
{
	struct draft_section *s = &d->sections[section];
	char *item;

	s->at = arena_grow(d->arena, s->at, s->n, &s->cap, layout[section].bytes);
	item = s->at + s->n * layout[section].bytes;
	memset(item, 0, layout[section].bytes);
	return item;
}

void draft_cut(struct draft *d, enum section section, uint32_t n)
{
	struct draft_section *s = &d->sections[section];

	assert(n <= s->n);
	for (; n > 0; n--)
		visit_item(section, s->at + --s->n * layout[section].bytes, shape_give_number, d->m);
}

void draft_cut_clauses(struct draft *d, uint32_t n)
{
	const struct requirement *clauses = (const void *)d->sections[SECTION_CLAUSES].at;
	uint32_t values = 0;

	assert(n <= draft_count(d, SECTION_CLAUSES));
	for (uint32_t i = 0; i < n; i++)
		values += clauses[draft_count(d, SECTION_CLAUSES) - 1 - i].values_n;
	draft_cut(d, SECTION_VALUES, values);
	draft_cut(d, SECTION_CLAUSES, n);
}

void draft_set_namespace(struct draft *d, uint32_t namespace)
{
	if (draft_count(d, SECTION_SPREADS) == 0 && draft_count(d, SECTION_POLICIES) == 0)
	namespace = ID_NONE;
	if (namespace != ID_NONE)
		intern_hold(&d->m->values, namespace);
	if (d->head.namespace != ID_NONE)
		intern_give(&d->m->values, d->head.namespace);
	d->head.namespace = namespace;
}

void draft_release(struct draft *d)
{
	if (d->head.namespace != ID_NONE)
		intern_give(&d->m->values, d->head.namespace);
	for (enum section s = 0; s < SECTIONS; s++)
		draft_cut(d, s, draft_count(d, s));
}

int draft_fails(struct draft *d, const char *fault)
{
	d->fault = fault;
	return -EINVAL;
}

struct span draft_add_values(struct draft *d, const struct text *values, size_t n)
{
	struct span out = { .first = draft_count(d, SECTION_VALUES), .n = (uint32_t)n };

	for (size_t i = 0; i < n; i++) {
		*(uint32_t *)draft_more(d, SECTION_VALUES) = model_number(&d->m->values, values[i]);
		draft_keep(d, SECTION_VALUES);
	}
	return out;
}

int draft_write(struct draft *d)
{
	struct body *b = &d->m->body;

	for (enum section s = 0; s < SECTIONS; s++)
		count_set(&d->head, s, draft_count(d, s));
	body_start(b);
	body_add(b, &d->head, sizeof(d->head));
	for (enum section s = 0; s < SECTIONS; s++) {
		body_add(b, d->sections[s].at, d->sections[s].n * layout[s].bytes);
		body_pad(b);
	}
	return b->too_long ? draft_fails(d, SHAPE_TOO_LONG) : 0;
}

void draft_load(struct draft *d, const char *body)
{
	const char *at = body + sizeof(d->head);

	assert(d->sections[SECTION_AMOUNTS].n == 0); /* a draft is loaded once, first */
	memcpy(&d->head, body, sizeof(d->head));
	if (d->head.namespace != ID_NONE)
		intern_hold(&d->m->values, d->head.namespace);
	for (enum section s = 0; s < SECTIONS; s++) {
		uint32_t n = count_in(&d->head, s);

		for (uint32_t i = 0; i < n; i++) {
			void *item = draft_more(d, s);

			memcpy(item, at + i * layout[s].bytes, layout[s].bytes);
			visit_item(s, item, hold_number, d->m);
			draft_keep(d, s);
		}
		at += PADDED(n * layout[s].bytes);
	}
}
