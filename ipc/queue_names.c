/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/queue_names.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct queue_names queue_names_read(const struct observer *o)
{
	struct queue_names q = { .n = observe_queues_there(o) };
	struct queue_copy *copy = must_alloc(sizeof(*copy));

	q.at = must_array(q.n + 1u, sizeof(*q.at));
	for (uint32_t id = 0; id < q.n; id++)
		if (observe_queue(o, id, copy) && copy->row.there)
			q.at[id] = (struct queue_name){ .name = must_copy(copy->row.name),
				                            .parent = copy->row.parent,
				                            .state = copy->row.state };
	free(copy);
	return q;
}

void queue_names_free(struct queue_names *q)
{
	for (uint32_t id = 0; id < q->n; id++)
		free(q->at[id].name);
	free(q->at);
	*q = (struct queue_names){ 0 };
}

const struct queue_name *queue_names_find(const struct queue_names *q, uint32_t id)
{
	return id < q->n && q->at[id].name ? &q->at[id] : NULL;
}

/* `upper`/`path`, which is freed. */
static char *path_longer(const char *upper, char *path)
{
	const size_t n = strlen(upper), bytes = strlen(path) + 1;
	char *longer = must_array(n + 1 + bytes, 1);

	memcpy(longer, upper, n);
	longer[n] = '/';
	memcpy(longer + n + 1, path, bytes);
	free(path);
	return longer;
}

char *queue_names_path(const struct queue_names *q, uint32_t id, uint32_t *depth)
{
	char *path = must_copy(q->at[id].name);
	uint32_t above = 0;

	while (id != QUEUE_ROOT && above <= QUEUE_DEPTH_MAX) {
		const struct queue_name *parent;

		id = q->at[id].parent;
		parent = queue_names_find(q, id);
		if (!parent)
			break;
		path = path_longer(parent->name, path);
		above++;
	}
	if (depth)
		*depth = above;
	return path;
}
