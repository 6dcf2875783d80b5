#include "core/shapes.h"

#include "core/nodes.h"
#include "core/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules -------------------------------------------------------------- */

static const struct label *label_find(const struct node *n, uint32_t key)
{
	uint32_t low = 0, high = n->labels_n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (n->labels[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n->labels_n && n->labels[low].key == key ? &n->labels[low] : NULL;
}

static bool value_among(const struct shape *s, const struct requirement *q, uint32_t value)
{
	for (uint32_t i = 0; i < q->values_n; i++)
		if (s->values[q->values_first + i] == value)
			return true;
	return false;
}

static bool requirement_holds(const struct shape *s, const struct requirement *q, const struct node *n)
{
	const struct label *label = label_find(n, q->key);

	switch (q->op) {
	case REQUIRE_IN:
		return label && value_among(s, q, label->value);
	case REQUIRE_NOT_IN:
		return !label || !value_among(s, q, label->value);
	case REQUIRE_EXISTS:
		return label;
	case REQUIRE_NOT_EXISTS:
		return !label;
	case REQUIRE_GT:
		return label && label->number != LABEL_NOT_A_NUMBER && label->number > q->number;
	case REQUIRE_LT:
		return label && label->number != LABEL_NOT_A_NUMBER && label->number < q->number;
	default:
		return false;
	}
}

/* Do all requirements of the term hold that *i is the first of?  *i becomes the first
 * of the next one: they come sorted, so that all terms together are one pass. */
static bool term_holds(const struct shape *s, const struct node *n, uint32_t *i)
{
	uint32_t term = s->requirements[*i].term;
	bool holds = true;

	for (; *i < s->body->requirements_n && s->requirements[*i].term == term; (*i)++)
		holds = holds && requirement_holds(s, &s->requirements[*i], n);
	return holds;
}

/* Terms without requirements match nothing and are not looked at. */
static bool affinity_holds(const struct shape *s, const struct node *n)
{
	uint32_t i = 0;

	if (s->body->requirements_n > 0 && s->requirements[0].term == 0 && !term_holds(s, n, &i))
		return false;
	if (s->body->terms_n == 0)
		return true;
	while (i < s->body->requirements_n)
		if (term_holds(s, n, &i))
			return true;
	return false;
}

static bool taint_tolerated(const struct shape *s, const struct taint *taint)
{
	for (uint32_t i = 0; i < s->body->tolerations_n; i++) {
		const struct toleration *t = &s->tolerations[i];

		if (t->effect != EFFECT_ANY && t->effect != taint->effect)
			continue;
		if (t->key != TOLERATE_EVERY_KEY && t->key != taint->key)
			continue;
		if (t->any_value || t->value == taint->value)
			return true;
	}
	return false;
}

enum node_why shape_judges(const struct shape *s, const struct node *n, uint32_t *arg)
{
	*arg = 0;
	if ((n->flags & NODE_CORDONED) && !(s->body->flags & SHAPE_TOLERATES_CORDON))
		return NODE_WHY_CORDONED;
	for (uint32_t i = 0; i < n->taints_n; i++) {
		const struct taint *taint = &n->taints[i];

		if (taint->effect == EFFECT_PREFER_NO_SCHEDULE || taint_tolerated(s, taint))
			continue;
		*arg = taint->name;
		return NODE_WHY_TAINT;
	}
	return affinity_holds(s, n) ? NODE_FITS : NODE_WHY_AFFINITY;
}

static void judge(const struct shape *s, node_id id, const struct node *n)
{
	uint64_t bit = UINT64_C(1) << (id % 64);
	uint32_t arg;

	if (node_present(n) && shape_judges(s, n, &arg) == NODE_FITS)
		s->allowed[id / 64] |= bit;
	else
		s->allowed[id / 64] &= ~bit;
}

/* ---- the table ------------------------------------------------------------ */

int shapes_init(struct shapes *ss, const struct limits *limits)
{
	*ss = (struct shapes){ .limit = limits->shapes, .words = (limits->nodes + 63) / 64 };
	ss->slots = calloc(limits->shapes, sizeof(*ss->slots));
	return ss->slots ? 0 : -ENOMEM;
}

static void shape_clear(struct shape *s)
{
	free(s->body);
	free(s->requests);
	free(s->allowed);
	memset(s, 0, sizeof(*s));
}

void shapes_clear(struct shapes *ss)
{
	for (shape_id id = 0; id < ss->used; id++)
		shape_clear(&ss->slots[id]);
	ss->used = 0;
	ss->count = 0;
}

void shapes_free(struct shapes *ss)
{
	shapes_clear(ss);
	free(ss->slots);
	ss->slots = NULL;
}

/* A pod counts one pod whatever its record says. */
static void requests_fill(struct shape *s, const struct shape_record *record)
{
	int64_t values[RESOURCES_MAX] = { 0 };

	for (uint32_t i = 0; i < record->body->amounts_n; i++)
		values[record->amounts[i].resource] = record->amounts[i].value;
	values[RESOURCE_PODS] = 1;
	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		if (values[r] > 0)
			s->requests[s->requests_n++] = (struct request){ .resource = r, .value = values[r],
			                                                 .inverse = 1.0 / (double)values[r] };
}

static int shape_fill(struct shape *s, const struct shape_record *record, uint32_t words)
{
	const char *copy;

	s->body = malloc(record->bytes);
	s->requests = calloc(record->body->amounts_n + 1u, sizeof(*s->requests));
	s->allowed = calloc(words, sizeof(*s->allowed));
	if (!s->body || !s->requests || !s->allowed)
		return -ENOMEM;
	memcpy(s->body, record->body, record->bytes);
	s->body_bytes = record->bytes;
	/* The parts lie in the copy where they lay in the record. */
	copy = (const char *)s->body - (const char *)record->body + (const char *)record->requirements;
	s->requirements = (const struct requirement *)(const void *)copy;
	copy = (const char *)s->body - (const char *)record->body + (const char *)record->values;
	s->values = (const uint32_t *)(const void *)copy;
	copy = (const char *)s->body - (const char *)record->body + (const char *)record->tolerations;
	s->tolerations = (const struct toleration *)(const void *)copy;
	requests_fill(s, record);
	return 0;
}

int shapes_add(struct shapes *ss, const struct shape_record *record, const struct node *nodes, uint32_t nodes_used)
{
	shape_id id = record->body->shape;
	struct shape *old = shapes_find(ss, id);
	struct shape fresh = { 0 };

	if (old && old->body_bytes == record->bytes && memcmp(old->body, record->body, record->bytes) == 0)
		return 0;
	if (old && old->pods > 0)
		return -EPROTO;
	if (shape_fill(&fresh, record, ss->words) < 0) {
		shape_clear(&fresh);
		return -ENOMEM;
	}
	if (old)
		shapes_drop(ss, id);
	for (node_id node = 0; node < nodes_used; node++)
		judge(&fresh, node, &nodes[node]);
	ss->slots[id] = fresh;
	ss->count++;
	if (id >= ss->used)
		ss->used = id + 1;
	return 0;
}

void shapes_drop(struct shapes *ss, shape_id id)
{
	shape_clear(&ss->slots[id]);
	ss->count--;
}

void shapes_follow(struct shapes *ss, node_id id, const struct node *n)
{
	for (shape_id shape = 0; shape < ss->used; shape++)
		if (ss->slots[shape].body)
			judge(&ss->slots[shape], id, n);
}
