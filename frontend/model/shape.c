/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/shape.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one pod: items of all sections but its amounts.  The core looks at all of them for
 * each node, and anybody who may create pods writes them. */
#define RULES_MAX 4096

/* ---- sections --------------------------------------------------------------------- */

#define SECTION(count, type)                                                                       \
	{                                                                                              \
		offsetof(struct event_shape, count), sizeof(type)                                          \
	}

static const struct {
	size_t count; /* where the head has it */
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

/* ---- the numbers of a section -------------------------------------------------------- */

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

static void visit_item(enum section s, const void *item, shape_visit_fn visit, void *context)
{
	switch (s) {
	case SECTION_AMOUNTS:
		visit(context, NUMBER_COLUMN, ((const struct amount *)item)->resource);
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
		visit(context, NUMBER_KEY, ((const struct pod_term *)item)->topology);
		break;
	case SECTION_SPREADS:
		visit(context, NUMBER_KEY, ((const struct spread *)item)->topology);
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
		visit(context, NUMBER_VALUE, ((const struct exclusive *)item)->thing);
		break;
	case SECTION_POLICIES:
		visit(context, NUMBER_KEY, ((const struct policy *)item)->topology);
		break;
	case SECTION_SHARES:
		visit(context, NUMBER_VALUE, ((const struct policy_share *)item)->value);
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
	return of == NUMBER_KEY      ? &m->keys
	       : of == NUMBER_VALUE  ? &m->values
	       : of == NUMBER_COLUMN ? &m->columns
	                             : &m->images;
}

static void give_number(void *context, enum number_of of, uint32_t number)
{
	intern_give(intern_of(context, of), number);
}

static void hold_number(void *context, enum number_of of, uint32_t number)
{
	intern_hold(intern_of(context, of), number);
}

/* ---- drafts ---------------------------------------------------------------------------- */

void *draft_more(struct draft *d, enum section section)
{
	struct draft_section *s = &d->sections[section];
	char *grown = arena_grow(d->arena, s->at, s->n, &s->room, layout[section].bytes);

	if (!grown)
		return NULL;
	s->at = grown;
	grown += s->n * layout[section].bytes;
	memset(grown, 0, layout[section].bytes);
	return grown;
}

void draft_cut(struct draft *d, enum section section, uint32_t n)
{
	struct draft_section *s = &d->sections[section];

	for (; n > 0; n--)
		visit_item(section, s->at + --s->n * layout[section].bytes, give_number, d->m);
}

/* Spread constraints and policies count pods of one namespace. */
static void draft_set_namespace(struct draft *d, uint32_t namespace)
{
	if (draft_count(d, SECTION_SPREADS) == 0 && draft_count(d, SECTION_POLICIES) == 0)
	namespace = ID_NONE;
	if (namespace != ID_NONE)
		intern_hold(&d->m->values, namespace);
	if (d->head.namespace != ID_NONE)
		intern_give(&d->m->values, d->head.namespace);
	d->head.namespace = namespace;
}

static void draft_release(struct draft *d)
{
	if (d->head.namespace != ID_NONE)
		intern_give(&d->m->values, d->head.namespace);
	for (enum section s = 0; s < SECTIONS; s++)
		draft_cut(d, s, draft_count(d, s));
}

int draft_fails(struct draft *d, const char *fault)
{
	d->trouble->fault = fault;
	return -EINVAL;
}

int draft_key(struct draft *d, struct text key, uint32_t *number)
{
	return model_intern(d->m, &d->m->keys, key, number, &d->trouble->flag);
}

int draft_value(struct draft *d, struct text value, uint32_t *number)
{
	return model_intern(d->m, &d->m->values, value, number, &d->trouble->flag);
}

static int draft_add_value(struct draft *d, struct text value)
{
	uint32_t *number = draft_more(d, SECTION_VALUES);
	int rc = number ? draft_value(d, value, number) : -ENOMEM;

	if (rc == 0)
		draft_keep(d, SECTION_VALUES);
	return rc;
}

int draft_add_values(struct draft *d, const struct text *values, size_t n, struct span *out)
{
	int rc = 0;

	out->first = draft_count(d, SECTION_VALUES);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = draft_add_value(d, values[i]);
	out->n = draft_count(d, SECTION_VALUES) - out->first;
	return rc;
}

/* The draft as a record's body in m->body. */
static int draft_write(struct draft *d)
{
	struct body *b = &d->m->body;

	for (enum section s = 0; s < SECTIONS; s++)
		count_set(&d->head, s, draft_count(d, s));
	b->bytes = 0;
	b->too_long = false;
	body_add(b, &d->head, sizeof(d->head));
	for (enum section s = 0; s < SECTIONS; s++) {
		body_add(b, d->sections[s].at, d->sections[s].n * layout[s].bytes);
		body_pad(b);
	}
	return b->too_long ? draft_fails(d, SHAPE_TOO_LONG) : 0;
}

/* What is in the body of a shape that is there, held once more; -ENOMEM. */
static int draft_load(struct draft *d, const char *body)
{
	const char *at = body + sizeof(d->head);

	memcpy(&d->head, body, sizeof(d->head));
	if (d->head.namespace != ID_NONE)
		intern_hold(&d->m->values, d->head.namespace);
	for (enum section s = 0; s < SECTIONS; s++) {
		uint32_t n = count_in(&d->head, s);

		for (uint32_t i = 0; i < n; i++) {
			void *item = draft_more(d, s);

			if (!item)
				return -ENOMEM;
			memcpy(item, at + i * layout[s].bytes, layout[s].bytes);
			visit_item(s, item, hold_number, d->m);
			draft_keep(d, s);
		}
		at += PADDED(n * layout[s].bytes);
	}
	return 0;
}

/* ---- the table ---------------------------------------------------------------- */

struct wanted {
	const struct model *m;
	const struct body *body;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct shape_entry *e = shape_at(w->m, slot);

	return e->bytes == w->body->bytes && memcmp(e->body, w->body->at, e->bytes) == 0;
}

static void ask_for_image(void *context, enum number_of of, uint32_t number)
{
	if (of == NUMBER_IMAGE)
		image_ask(context, number);
}

/* The shape with m->body; one that is new takes over the numbers: *fresh. */
static int shape_find_or_make(struct model *m, uint32_t *shape, const char **flag, bool *fresh)
{
	struct wanted w = { m, &m->body };
	uint32_t hash = (uint32_t)siphash(m->hash_key, m->body.at, m->body.bytes);
	struct shape_entry *e;
	char *copy;
	int rc;

	*fresh = false;
	*shape = table_find(&m->shapes_index, hash, is_wanted, &w);
	if (*shape != SLOT_NONE) {
		shape_hold(m, *shape);
		return 0;
	}
	if (table_reserve(&m->shapes_index) < 0)
		return -ENOMEM;
	copy = malloc(m->body.bytes);
	if (!copy)
		return -ENOMEM;
	rc = pool_take(&m->shapes, shape);
	if (rc < 0) {
		free(copy);
		*flag = "--max-shapes";
		return rc;
	}
	memcpy(copy, m->body.at, m->body.bytes);
	e = shape_at(m, *shape);
	e->refs = 1;
	e->hash = hash;
	e->bytes = (uint32_t)m->body.bytes;
	e->body = copy;
	e->slot.sent = 0;
	table_put(&m->shapes_index, hash, *shape);
	list_push(&m->shapes_dirty, &m->shapes, *shape);
	shape_visit(copy, ask_for_image, m);
	*fresh = true;
	return 0;
}

/* The shape of the draft, when it was built without an error. */
static int draft_done(struct draft *d, int rc, uint32_t *shape)
{
	bool fresh = false;

	if (rc == 0)
		rc = draft_write(d);
	if (rc == 0)
		rc = shape_find_or_make(d->m, shape, &d->trouble->flag, &fresh);
	if (!fresh)
		draft_release(d);
	return rc;
}

/* Rules that are the pod's own. */
static int draft_pod(struct draft *d, const struct shape_wish *w)
{
	int rc = draft_amounts(d, w->pod, w->effective);
	size_t rules = 0;

	if (rc == 0 && w->scope == SHAPE_WHOLE)
		rc = draft_node_rules(d, w->pod);
	if (rc == 0 && w->scope == SHAPE_WHOLE)
		rc = draft_images(d, w->pod);
	if (rc == 0 && w->scope != SHAPE_REQUESTS)
		rc = draft_pod_terms(d, w->pod, w->scope == SHAPE_WHOLE);
	if (rc == 0 && w->scope != SHAPE_REQUESTS)
		rc = draft_ports(d, w->pod);
	if (rc == 0 && w->scope == SHAPE_WHOLE)
		rc = draft_spreads(d, w->pod);
	if (w->pod->needs_restart_all && w->scope == SHAPE_WHOLE)
		d->head.flags |= SHAPE_NEEDS_RESTART_ALL;
	for (enum section s = SECTION_AMOUNTS + 1; s < SECTIONS; s++)
		rules += d->sections[s].n;
	return rc == 0 && rules > RULES_MAX ? draft_fails(d, SHAPE_TOO_LONG) : rc;
}

int shape_take(struct model *m, const struct shape_wish *w, uint32_t *shape,
               struct shape_trouble *trouble)
{
	struct draft d = { .m = m, .arena = &m->arena, .trouble = trouble };
	int rc;

	d.head.namespace = ID_NONE;
	d.head.scored_cpu_milli = w->effective->scored_cpu_milli;
	d.head.scored_memory_bytes = w->effective->scored_memory_bytes;
	d.head.placed_cpu_milli = w->effective->placed_cpu_milli - w->effective->scored_cpu_milli;
	d.head.placed_memory_bytes =
		w->effective->placed_memory_bytes - w->effective->scored_memory_bytes;
	rc = draft_pod(&d, w);
	if (rc == 0 && w->policy)
		rc = draft_policy(&d, w->policy);
	if (rc == 0 && w->spread)
		rc = draft_default_spreads(&d, w->spread);
	draft_set_namespace(&d, w->namespace);
	return draft_done(&d, rc, shape);
}

int shape_remake(struct model *m, uint32_t from, const struct shape_change *c, uint32_t *shape,
                 struct shape_trouble *trouble)
{
	struct draft d = { .m = m, .arena = &m->scratch, .trouble = trouble };
	int rc = draft_load(&d, shape_at(m, from)->body);

	if (rc == 0) {
		draft_strip_default_spreads(&d);
		draft_strip_policy(&d);
		if (c->storage) {
			draft_strip_storage(&d);
			rc = draft_storage(&d, c->storage);
		}
	}
	if (rc == 0 && c->policy)
		rc = draft_policy(&d, c->policy);
	if (rc == 0 && c->spread)
		rc = draft_default_spreads(&d, c->spread);
	draft_set_namespace(&d, c->namespace);
	return draft_done(&d, rc, shape);
}

int shape_take_empty(struct model *m, uint32_t *shape)
{
	static const struct pod_object nothing;
	static const struct effective none;
	const struct shape_wish w = {
		.pod = &nothing, .effective = &none, .scope = SHAPE_REQUESTS, .namespace = ID_NONE
	};
	struct shape_trouble trouble = { 0 };

	return shape_take(m, &w, shape, &trouble);
}

void shape_hold(struct model *m, uint32_t shape)
{
	struct shape_entry *e = shape_at(m, shape);

	if (e->refs++ == 0)
		list_remove(&m->shapes_dead, &m->shapes, shape);
}

void shape_give(struct model *m, uint32_t shape)
{
	struct shape_entry *e = shape_at(m, shape);

	if (--e->refs > 0)
		return;
	if (e->slot.sent == 0) {
		list_remove(&m->shapes_dirty, &m->shapes, shape);
		shape_bury(m, shape);
	} else {
		list_push(&m->shapes_dead, &m->shapes, shape);
	}
}

void shape_bury(struct model *m, uint32_t shape)
{
	struct shape_entry *e = shape_at(m, shape);

	list_remove(&m->shapes_dead, &m->shapes, shape);
	table_remove(&m->shapes_index, e->hash, shape);
	shape_visit(e->body, give_number, m);
	free(e->body);
	e->body = NULL;
	e->slot.sent = 0;
	pool_give(&m->shapes, shape);
}
