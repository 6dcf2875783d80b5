/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/pods.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pods_init(struct pods *ps, const struct limits *limits)
{
	*ps = (struct pods){ .limit = limits->pods };
	/* Of calloc(), so that pods that never come take no memory. */
	ps->memory = calloc(1, (limits->pods + UINT64_C(1)) * sizeof(*ps->slots));
	if (!ps->memory)
		return -ENOMEM;
	ps->slots = (void *)((char *)ps->memory + CACHE_LINE - (uintptr_t)ps->memory % CACHE_LINE);
	return 0;
}

void pods_clear(struct pods *ps)
{
	for (pod_id id = 0; id < ps->used; id++) {
		free(ps->slots[id].name);
		memset(&ps->slots[id], 0, sizeof(ps->slots[id]));
	}
	ps->used = ps->count = ps->bound = 0;
	memset(ps->classes, 0, sizeof(ps->classes));
}

void pods_free(struct pods *ps)
{
	if (ps->slots)
		pods_clear(ps);
	free(ps->memory);
	ps->memory = NULL;
	ps->slots = NULL;
}

/* ---- rows of pods ----------------------------------------------------------- */

void pod_queue_init(struct pod_queue *q, enum pod_list list)
{
	*q = (struct pod_queue){ .first = ID_NONE, .last = ID_NONE, .list = list };
}

void pod_queue_push(struct pod_queue *q, struct pods *ps, pod_id id)
{
	struct pod *p = &ps->slots[id];

	assert(p->list == LIST_NONE);
	p->list = (uint8_t)q->list;
	p->list_previous = q->last;
	p->list_next = ID_NONE;
	if (q->last == ID_NONE)
		q->first = id;
	else
		ps->slots[q->last].list_next = id;
	q->last = id;
	q->n++;
}

void pod_queue_remove(struct pod_queue *q, struct pods *ps, pod_id id)
{
	struct pod *p = &ps->slots[id];

	assert(p->list == q->list);
	if (p->list_previous == ID_NONE)
		q->first = p->list_next;
	else
		ps->slots[p->list_previous].list_next = p->list_next;
	if (p->list_next == ID_NONE)
		q->last = p->list_previous;
	else
		ps->slots[p->list_next].list_previous = p->list_previous;
	p->list = LIST_NONE;
	q->n--;
}
