/* Shapes: requests and rules of a pod in one canonical record body, found by its
 * bytes.  A shape holds the numbers that it is written with. */
#include "frontend/model_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one pod.  The core looks at all of them for each node, and anybody who may create
 * pods writes them. */
#define TERMS_MAX 1024
#define RULES_MAX 4096 /* requirements, values and tolerations */

struct shape_parts {
	const struct amount *amounts;
	const struct requirement *requirements;
	const uint32_t *values;
	const struct toleration *tolerations;
};

static void shape_parts(const char *body, struct shape_parts *out)
{
	const struct event_shape *e = (const void *)body;
	const char *p = body + sizeof(*e);

	out->amounts = (const void *)p;
	p += e->amounts_n * sizeof(struct amount);
	out->requirements = (const void *)p;
	p += e->requirements_n * sizeof(struct requirement);
	out->values = (const void *)p;
	p += PADDED(e->values_n * sizeof(uint32_t));
	out->tolerations = (const void *)p;
}

/* Give back the numbers in a body; its counts say how far it was built. */
static void shape_release(struct model *m, const char *body)
{
	const struct event_shape *e = (const void *)body;
	struct shape_parts p;

	shape_parts(body, &p);
	amounts_release(m, p.amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->requirements_n; i++)
		if (p.requirements[i].key != LABEL_KEY_NODE_NAME)
			intern_give(&m->keys, p.requirements[i].key);
	for (uint32_t i = 0; i < e->values_n; i++)
		intern_give(&m->values, p.values[i]);
	for (uint32_t i = 0; i < e->tolerations_n; i++) {
		if (p.tolerations[i].key != TOLERATE_EVERY_KEY)
			intern_give(&m->keys, p.tolerations[i].key);
		if (!p.tolerations[i].any_value)
			intern_give(&m->values, p.tolerations[i].value);
	}
}

/* ---- building --------------------------------------------------------------- */

/* The requirements' values are collected beside them: they follow in the body. */
struct builder {
	struct model *m;
	struct body *b;
	const char **flag;
	uint32_t *values;
	size_t values_n, values_room;
};

static struct event_shape *head_of(struct builder *s)
{
	return (void *)s->b->at;
}

static int build_amounts(struct builder *s, const struct pod_object *pod, const struct effective *effective)
{
	struct amount_text list[RESOURCES_MAX];
	size_t n = 0;

	for (uint32_t i = 0; i < pod->resources.n; i++) {
		char *name;

		if (effective->amount[i] == 0 || i == RESOURCE_PODS)
			continue;
		name = arena_copy(&s->m->arena, pod->resources.at[i]);
		if (!name)
			return -ENOMEM;
		list[n++] = (struct amount_text){ name, effective->amount[i] };
	}
	return body_amounts(s->m, s->b, list, n, &head_of(s)->amounts_n, s->flag);
}

static int build_value(struct builder *s, struct text value)
{
	uint32_t *grown = arena_grow(&s->m->arena, s->values, s->values_n, &s->values_room, sizeof(*grown));
	int rc;

	if (!grown)
		return -ENOMEM;
	s->values = grown;
	rc = model_intern(s->m, &s->m->values, value, &grown[s->values_n], s->flag);
	if (rc == 0)
		s->values_n++;
	return rc;
}

static int build_requirement(struct builder *s, uint32_t term, const struct node_rule *rule)
{
	struct requirement r = { .term = term, .op = rule->op, .values_first = (uint32_t)s->values_n };
	int rc;

	if (rule->op == REQUIRE_GT || rule->op == REQUIRE_LT) {
		r.number = label_number(rule->values[0]);
	} else {
		for (size_t i = 0; i < rule->values_n; i++) {
			rc = build_value(s, rule->values[i]);
			if (rc < 0)
				return rc;
			r.values_n++;
		}
	}
	if (rule->is_field) {
		r.key = LABEL_KEY_NODE_NAME;
	} else {
		rc = model_intern(s->m, &s->m->keys, rule->key, &r.key, s->flag);
		if (rc < 0)
			return rc;
	}
	if (!body_add(s->b, &r, sizeof(r))) {
		if (!rule->is_field)
			intern_give(&s->m->keys, r.key);
		return -EINVAL;
	}
	head_of(s)->requirements_n++;
	return 0;
}

/* Does kube-scheduler fail to parse the term?  Then it matches nothing, just as
 * one without requirements. */
static bool term_is_void(const struct node_term *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct node_rule *r = &t->rules[i];

		if (r->is_void)
			return true;
		if ((r->op == REQUIRE_GT || r->op == REQUIRE_LT) &&
		    label_number(r->values[0]) == LABEL_NOT_A_NUMBER)
			return true;
	}
	return false;
}

static int build_requirements(struct builder *s, const struct pod_object *pod)
{
	int rc;

	if (pod->terms_n > TERMS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < pod->node_selector.n; i++) {
		struct node_rule rule = { .key = pod->node_selector.at[i].key, .op = REQUIRE_IN,
					  .values = &pod->node_selector.at[i].value, .values_n = 1 };

		rc = build_requirement(s, 0, &rule);
		if (rc < 0)
			return rc;
	}
	for (size_t t = 0; t < pod->terms_n; t++) {
		if (term_is_void(&pod->terms[t]))
			continue;
		for (size_t i = 0; i < pod->terms[t].n; i++) {
			rc = build_requirement(s, (uint32_t)t + 1, &pod->terms[t].rules[i]);
			if (rc < 0)
				return rc;
		}
	}
	if (pod->has_node_terms)
		head_of(s)->terms_n = pod->terms_n > 0 ? (uint32_t)pod->terms_n : 1;
	return 0;
}

/* All values at once.  Whatever happens, they are the body's or given back. */
static int build_values(struct builder *s, int result)
{
	if (result == 0 && s->values_n > 0) {
		if (body_add(s->b, s->values, s->values_n * sizeof(*s->values)))
			head_of(s)->values_n = (uint32_t)s->values_n;
		body_pad(s->b);
		result = s->b->too_long ? -EINVAL : 0;
	}
	if (s->values_n != head_of(s)->values_n)
		for (size_t i = 0; i < s->values_n; i++)
			intern_give(&s->m->values, s->values[i]);
	return result;
}

static int build_toleration(struct builder *s, const struct toleration_object *from)
{
	struct toleration t = { .key = TOLERATE_EVERY_KEY, .any_value = from->exists, .effect = from->effect };
	int rc;

	if (from->key.bytes > 0) {
		rc = model_intern(s->m, &s->m->keys, from->key, &t.key, s->flag);
		if (rc < 0)
			return rc;
	}
	if (!from->exists) {
		rc = model_intern(s->m, &s->m->values, from->value, &t.value, s->flag);
		if (rc < 0)
			goto give_key;
	}
	if (!body_add(s->b, &t, sizeof(t))) {
		rc = -EINVAL;
		goto give_value;
	}
	head_of(s)->tolerations_n++;
	return 0;

give_value:
	if (!from->exists)
		intern_give(&s->m->values, t.value);
give_key:
	if (from->key.bytes > 0)
		intern_give(&s->m->keys, t.key);
	return rc;
}

/* The taint that a cordon stands for: node.kubernetes.io/unschedulable:NoSchedule. */
static bool tolerates_cordon(const struct toleration_object *t)
{
	if (t->effect != EFFECT_ANY && t->effect != EFFECT_NO_SCHEDULE)
		return false;
	if (t->key.bytes > 0 && !text_is(t->key, "node.kubernetes.io/unschedulable"))
		return false;
	return t->exists || t->value.bytes == 0;
}

static int build_rules(struct builder *s, const struct pod_object *pod)
{
	int rc = build_values(s, build_requirements(s, pod));

	for (size_t i = 0; rc == 0 && i < pod->tolerations_n; i++) {
		rc = build_toleration(s, &pod->tolerations[i]);
		if (tolerates_cordon(&pod->tolerations[i]))
			head_of(s)->flags |= SHAPE_TOLERATES_CORDON;
	}
	if (rc == 0 && (uint64_t)head_of(s)->requirements_n + head_of(s)->values_n + head_of(s)->tolerations_n > RULES_MAX)
		rc = -EINVAL;
	return rc;
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

/* The shape with m->body, whose numbers go over to it. */
static int shape_find_or_make(struct model *m, uint32_t *shape, const char **flag)
{
	struct wanted w = { m, &m->body };
	uint32_t hash = (uint32_t)siphash(m->hash_key, m->body.at, m->body.bytes);
	struct shape_entry *e;
	char *copy;
	int rc;

	*shape = table_find(&m->shapes_index, hash, is_wanted, &w);
	if (*shape != SLOT_NONE) {
		shape_hold(m, *shape);
		shape_release(m, m->body.at);
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
	return 0;
}

int shape_take(struct model *m, const struct pod_object *pod, const struct effective *effective, bool rules,
               uint32_t *shape, const char **flag)
{
	struct event_shape head = { .scored_cpu_milli = effective->scored_cpu_milli,
				    .scored_memory_bytes = effective->scored_memory_bytes };
	struct builder s = { .m = m, .b = &m->body, .flag = flag };
	int rc;

	m->body.bytes = 0;
	m->body.too_long = false;
	body_add(&m->body, &head, sizeof(head));
	rc = build_amounts(&s, pod, effective);
	if (rc == 0 && rules)
		rc = build_rules(&s, pod);
	if (rc == 0)
		rc = shape_find_or_make(m, shape, flag);
	if (rc < 0)
		shape_release(m, m->body.at);
	return rc;
}

int shape_take_empty(struct model *m, uint32_t *shape)
{
	static const struct pod_object nothing;
	static const struct effective none;
	const char *flag;

	return shape_take(m, &nothing, &none, false, shape, &flag);
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
	shape_release(m, e->body);
	free(e->body);
	e->body = NULL;
	e->slot.sent = 0;
	pool_give(&m->shapes, shape);
}
