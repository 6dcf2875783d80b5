/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/pods.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void pods_init(struct pods *ps, const struct limits *limits)
{
	*ps = (struct pods){ .limit = limits->pods };
	/* Zeroed by the kernel on first use: slots that are never used take no memory. */
	ps->memory = must_array(limits->pods + (size_t)1, sizeof(*ps->slots));
	ps->slots = (void *)((char *)ps->memory + CACHE_LINE - (uintptr_t)ps->memory % CACHE_LINE);
	ps->ending = must_array(limits->pods / 64 + (size_t)1, sizeof(*ps->ending));
	ps->placed = must_array(PLACED_LOG, sizeof(*ps->placed));
}

void pods_clear(struct pods *ps)
{
	for (pod_id id = 0; id < ps->used; id++) {
		free(ps->slots[id].name);
		memset(&ps->slots[id], 0, sizeof(ps->slots[id]));
	}
	memset(ps->ending, 0, (ps->limit / 64 + (size_t)1) * sizeof(*ps->ending));
	ps->used = ps->count = 0;
	ps->placed_n = 0;
	memset(ps->by_readiness, 0, sizeof(ps->by_readiness));
	memset(ps->reservations, 0, sizeof(ps->reservations));
}

void pods_free(struct pods *ps)
{
	if (ps->slots)
		pods_clear(ps);
	free(ps->memory);
	free(ps->ending);
	free(ps->placed);
	ps->memory = NULL;
	ps->ending = NULL;
	ps->placed = NULL;
	ps->slots = NULL;
}

void pods_note_all_placed(struct pods *ps, const pod_id *ids, uint32_t n)
{
	for (uint32_t done = 0, run; done < n; done += run) {
		const uint32_t at = ps->placed_n % PLACED_LOG, room = PLACED_LOG - at;

		run = n - done < room ? n - done : room;
		memcpy(&ps->placed[at], &ids[done], run * sizeof(*ids));
		ps->placed_n += run;
	}
}

pod_id pods_ending(const struct pods *ps, pod_id id)
{
	const uint32_t words = (ps->used + 63) / 64;

	if (id >= ps->used)
		return ID_NONE;
	for (uint32_t word = id / 64, from = id % 64; word < words; word++, from = 0) {
		const uint64_t bits = ps->ending[word] >> from << from;

		if (bits)
			return word * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return ID_NONE;
}

void pod_list_init(struct pod_list *list)
{
	*list = (struct pod_list){ .first = ID_NONE, .last = ID_NONE };
}

void pod_list_push(struct pod_list *list, struct pods *ps, pod_id id)
{
	struct pod *p = &ps->slots[id];

	p->list_previous = list->last;
	p->list_next = ID_NONE;
	if (list->last == ID_NONE)
		list->first = id;
	else
		ps->slots[list->last].list_next = id;
	list->last = id;
	list->n++;
}

void pod_list_remove(struct pod_list *list, struct pods *ps, pod_id id)
{
	struct pod *p = &ps->slots[id];

	assert(list->n > 0);
	if (p->list_previous == ID_NONE)
		list->first = p->list_next;
	else
		ps->slots[p->list_previous].list_next = p->list_next;
	if (p->list_next == ID_NONE)
		list->last = p->list_previous;
	else
		ps->slots[p->list_next].list_previous = p->list_previous;
	list->n--;
}
