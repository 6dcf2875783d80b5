/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/shapes/held.h"

#include "ipc/memory.h"

#include <stdlib.h>

struct held {
	struct held_list {
		struct held_number {
			enum number_of of;
			uint32_t number;
		} * at;
		size_t n, cap;
	} lists[OUTSIDERS_HELD];
	uint32_t newest;
};

static struct intern *intern_of(struct model *m, enum number_of of)
{
	return of == NUMBER_KEY ? &m->keys : &m->values;
}

void held_begin(struct model *m)
{
	struct held_list *l;

	if (!m->held)
		m->held = must_alloc(sizeof(*m->held));
	m->held->newest = (m->held->newest + 1) % OUTSIDERS_HELD;
	l = &m->held->lists[m->held->newest];
	for (size_t i = 0; i < l->n; i++)
		intern_give(intern_of(m, l->at[i].of), l->at[i].number);
	l->n = 0;
}

void held_add(void *model, enum number_of of, uint32_t number)
{
	struct model *m = model;
	struct held_list *l = &m->held->lists[m->held->newest];

	/* A resource that no node has fits nowhere, whatever its number; an image gives points. */
	if (of != NUMBER_KEY && of != NUMBER_VALUE)
		return;
	intern_hold(intern_of(m, of), number);
	l->at = must_reach(l->at, &l->cap, l->n, 64, sizeof(*l->at));
	l->at[l->n++] = (struct held_number){ of, number };
}

void held_visit(const struct model *m, shape_visit_fn visit, void *context)
{
	for (uint32_t i = 0; m->held && i < OUTSIDERS_HELD; i++)
		for (size_t k = 0; k < m->held->lists[i].n; k++)
			visit(context, m->held->lists[i].at[k].of, m->held->lists[i].at[k].number);
}

void held_free(struct model *m)
{
	for (uint32_t i = 0; m->held && i < OUTSIDERS_HELD; i++)
		free(m->held->lists[i].at);
	free(m->held);
}
