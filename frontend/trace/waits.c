/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/trace/waits.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wait_slot {
	uint64_t since_ns;
	uint32_t generation; /* 0: it does not wait */
};

struct waits {
	struct wait_slot *slots; /* by gang_id */
	size_t slots_n;
	struct waits_figures figures;
};

struct waits *waits_new(void)
{
	return must_alloc(sizeof(struct waits));
}

void waits_free(struct waits *w)
{
	if (w != NULL)
		free(w->slots);
	free(w);
}

const struct waits_figures *waits_figures(const struct waits *w)
{
	return &w->figures;
}

bool waits_gang(struct waits *w, const struct cmd_gang *cmd, uint64_t now_ns, uint64_t *waited_ns)
{
	struct wait_slot *s;

	w->slots = must_reach(w->slots, &w->slots_n, cmd->gang, 256, sizeof(*s));
	s = &w->slots[cmd->gang];
	switch (cmd->state) {
	case GANG_WAITING:
	case GANG_BINDING:
		if (s->generation != cmd->generation)
			*s = (struct wait_slot){ .since_ns = now_ns, .generation = cmd->generation };
		return false;
	case GANG_PLACED:
		if (s->generation == 0 || s->generation != cmd->generation)
			return false; /* a new core finds it placed */
		*waited_ns = now_ns - s->since_ns;
		s->generation = 0;
		return true;
	default:
		s->generation = 0;
		return false;
	}
}

static struct histogram *histogram_of(struct waits_table *t, const char *name)
{
	uint32_t i = 0;

	while (i < t->n && i < WAITS_NAMED && strcmp(t->named[i].name, name) != 0)
		i++;
	if (i == t->n) {
		t->n++;
		snprintf(t->named[i].name, sizeof(t->named[i].name), "%s",
		         i < WAITS_NAMED ? name : WAITS_OTHERS);
	}
	return &t->named[i].waited;
}

void waits_add(struct waits *w, const char *namespace, const char *queue, uint64_t waited_ns)
{
	histogram_add(histogram_of(&w->figures.namespaces, namespace), &buckets_waits, waited_ns);
	if (queue && queue[0])
		histogram_add(histogram_of(&w->figures.queues, queue), &buckets_waits, waited_ns);
}
