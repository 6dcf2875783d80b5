/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/queue_past.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

/* The newest first, one for each queue, so that records can't fill memory. */
struct past_list {
	struct past_list *next;
	struct event_queue_past body;
	struct queue_past amounts[];
};

static void past_remove(struct past_list **list, uint32_t queue)
{
	for (struct past_list **at = list; *at; at = &(*at)->next) {
		struct past_list *found = *at;

		if (found->body.queue != queue)
			continue;
		*at = found->next;
		free(found);
		return;
	}
}

void past_list_add(struct past_list **list, const struct queue_past_record *past)
{
	const size_t bytes = past->body->amounts_n * sizeof(*past->amounts);
	struct past_list *one = must_alloc(sizeof(*one) + bytes);

	past_remove(list, past->body->queue);
	one->body = *past->body;
	if (bytes > 0)
		memcpy(one->amounts, past->amounts, bytes);
	one->next = *list;
	*list = one;
}

void past_list_free(struct past_list **list)
{
	while (*list) {
		struct past_list *first = *list;

		*list = first->next;
		free(first);
	}
}

void past_list_restore(const struct past_list *list, struct core *c)
{
	for (; list; list = list->next) {
		const uint32_t q = defined_number(c->turns.set, list->body.queue);

		if (q != SHARE_MISSING)
			shares_history_restore(c->turns.shares, q, list->amounts, list->body.amounts_n,
			                       list->body.at_s);
	}
}
