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

static struct histogram *histogram_of(struct waits_figures *f, const char *namespace)
{
	uint32_t i = 0;

	while (i < f->n && i < WAITS_NAMESPACES && strcmp(f->namespaces[i].name, namespace) != 0)
		i++;
	if (i == f->n) {
		f->n++;
		snprintf(f->namespaces[i].name, sizeof(f->namespaces[i].name), "%s",
		         i < WAITS_NAMESPACES ? namespace : WAITS_OTHERS);
	}
	return &f->namespaces[i].waited;
}

void waits_add(struct waits *w, const char *namespace, uint64_t waited_ns)
{
	histogram_add(histogram_of(&w->figures, namespace), &buckets_waits, waited_ns);
}
