/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/defined.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct definition {
	struct event_queue body; /* name_bytes 0: it isn't there */
	struct queue_amount *amounts;
	char *name;
};

struct defined {
	struct definition *at; /* by id */
	uint32_t n;            /* ids from here on were never used */
};

struct defined *defined_new(void)
{
	return must_alloc(sizeof(struct defined));
}

static void definition_drop(struct definition *q)
{
	free(q->amounts);
	free(q->name);
	*q = (struct definition){ 0 };
}

void defined_free(struct defined *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n; i++)
		definition_drop(&d->at[i]);
	free(d->at);
	free(d);
}

static bool is_same(const struct definition *q, const struct event_queue *e,
                    const struct queue_amount *amounts, const char *name)
{
	if (!q->name || (e->flags & QUEUE_GONE))
		return !q->name && (e->flags & QUEUE_GONE);
	return memcmp(&q->body, e, sizeof(*e)) == 0 && memcmp(q->name, name, e->name_bytes) == 0 &&
	       (e->amounts_n == 0 || memcmp(q->amounts, amounts, e->amounts_n * sizeof(*amounts)) == 0);
}

bool defined_put(struct defined *d, const struct event_queue *e, const struct queue_amount *amounts,
                 const char *name)
{
	struct definition *q;

	if (e->queue >= d->n) {
		d->at = must_grow(d->at, (e->queue + 1) * sizeof(*d->at));
		memset(d->at + d->n, 0, (e->queue + 1 - d->n) * sizeof(*d->at));
		d->n = e->queue + 1;
	}
	q = &d->at[e->queue];
	if (is_same(q, e, amounts, name))
		return false;
	definition_drop(q);
	if (e->flags & QUEUE_GONE)
		return true;
	q->body = *e;
	q->amounts = must_array(e->amounts_n + 1u, sizeof(*q->amounts));
	if (e->amounts_n > 0)
		memcpy(q->amounts, amounts, e->amounts_n * sizeof(*q->amounts));
	q->name = must_array(e->name_bytes + 1u, 1);
	memcpy(q->name, name, e->name_bytes);
	return true;
}

static bool is_there(const struct defined *d, uint32_t id)
{
	return id < d->n && d->at[id].name;
}

bool defined_any(const struct defined *d)
{
	return is_there(d, QUEUE_ROOT);
}

/* Steps to the root; QUEUE_DEPTH_MAX + 1: it isn't reached. */
static uint32_t depth_of(const struct defined *d, uint32_t id)
{
	uint32_t depth = 0;

	while (id != QUEUE_ROOT && depth <= QUEUE_DEPTH_MAX) {
		if (!is_there(d, id))
			return QUEUE_DEPTH_MAX + 1;
		id = d->at[id].body.parent;
		depth++;
	}
	return depth;
}

struct by_depth {
	uint32_t depth, id;
};

static int depth_compare(const void *a, const void *b)
{
	const struct by_depth *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void amounts_set(const struct definition *q, bool parked, struct share_def *out)
{
	for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
		out->limit[r] = QUEUE_NO_LIMIT;
		out->weight[r] = parked ? 0 : q->body.weight;
	}
	for (uint32_t i = 0; i < q->body.amounts_n && !parked; i++) {
		const struct queue_amount *a = &q->amounts[i];

		out->guarantee[a->resource] = a->guarantee;
		out->reserved[a->resource] = a->reserved;
		out->limit[a->resource] = a->limit;
		out->weight[a->resource] = a->weight;
	}
}

static void def_set(const struct defined *d, const struct by_depth *of, struct defined_set *s,
                    uint32_t number)
{
	const struct definition *q = &d->at[of->id];
	struct share_def *out = &s->defs[number];
	const bool parked = of->depth > QUEUE_DEPTH_MAX;

	*out = (struct share_def){
		.name = must_copy(q->name),
		.parent = number == 0 || parked ? 0 : s->numbers[q->body.parent],
		.priority = q->body.priority,
		.fifo = q->body.flags & QUEUE_FIFO,
		.parked = parked,
		.kept = q->body.flags & QUEUE_UNRECLAIMABLE,
		.state = (uint8_t)q->body.state,
		.min_run_s = q->body.min_run_s,
		.max_run_s = q->body.max_run_s,
	};
	amounts_set(q, parked, out);
	s->numbers[of->id] = number;
	s->about[number] = (struct defined_about){ .id = of->id, .source = q->body.source };
}

struct defined_set *defined_set(const struct defined *d, uint32_t resources)
{
	struct defined_set *s = must_alloc(sizeof(*s));
	struct by_depth *order = must_array(d->n + 1u, sizeof(*order));
	uint32_t n = 0;

	for (uint32_t id = 0; id < d->n; id++)
		if (is_there(d, id))
			order[n++] = (struct by_depth){ depth_of(d, id), id };
	qsort(order, n, sizeof(*order), depth_compare);
	*s = (struct defined_set){ .defs = must_array(n + 1u, sizeof(*s->defs)),
		                       .about = must_array(n + 1u, sizeof(*s->about)),
		                       .numbers = must_array(d->n + 1u, sizeof(*s->numbers)),
		                       .numbers_n = d->n };
	for (uint32_t id = 0; id < d->n; id++)
		s->numbers[id] = SHARE_MISSING;
	for (uint32_t i = 0; i < n; i++)
		def_set(d, &order[i], s, i);
	free(order);
	s->set = (struct share_set){
		.defs = s->defs,
		.n = n,
		.resources = resources,
		.unshared = is_there(d, QUEUE_ROOT) ? d->at[QUEUE_ROOT].body.unshared : 0,
	};
	return s;
}

void defined_set_free(struct defined_set *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->set.n; i++)
		free((char *)(uintptr_t)s->defs[i].name);
	free(s->defs);
	free(s->about);
	free(s->numbers);
	free(s);
}
