/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/page/history.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

struct sample {
	uint64_t wall_s;
	uint32_t waiting, running, pods_pending, pods_bound;
	uint32_t binds; /* since the sample before */
	float allocatable[HISTORY_RESOURCES], used[HISTORY_RESOURCES], free[HISTORY_RESOURCES];
};

struct ring {
	struct sample *at;
	uint32_t size, n, next;
	uint32_t step_s;
	uint64_t binds; /* the counter at the last sample */
};

struct history {
	struct ring fine, coarse;
	uint32_t resources;
	char names[HISTORY_RESOURCES][USAGE_NAME_MAX];
};

static struct ring ring_new(uint32_t size, uint32_t step_s)
{
	return (struct ring){ .at = must_array(size, sizeof(struct sample)),
		                  .size = size,
		                  .step_s = step_s };
}

struct history *history_new(void)
{
	struct history *h = must_alloc(sizeof(*h));

	h->fine = ring_new(HISTORY_FINE_SAMPLES, HISTORY_FINE_S);
	h->coarse = ring_new(HISTORY_SAMPLES, HISTORY_COARSE_S);
	return h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	free(h->fine.at);
	free(h->coarse.at);
	free(h);
}

static const struct sample *sample_at(const struct ring *r, uint32_t i)
{
	return &r->at[(r->next + r->size - r->n + i) % r->size];
}

/* A clock that was set back starts over: times of a ring increase. */
static bool ring_is_due(const struct ring *r, uint64_t wall_s)
{
	const struct sample *last = r->n > 0 ? sample_at(r, r->n - 1) : NULL;

	return !last || wall_s >= last->wall_s + r->step_s || wall_s < last->wall_s;
}

bool history_is_due(const struct history *h, uint64_t wall_ns)
{
	return ring_is_due(&h->fine, wall_ns / NS_PER_S);
}

/* The place of that name, a new one while there is space, or HISTORY_RESOURCES. */
static uint32_t place_of(struct history *h, const char *name)
{
	for (uint32_t i = 0; i < h->resources; i++)
		if (strcmp(h->names[i], name) == 0)
			return i;
	if (h->resources == HISTORY_RESOURCES)
		return HISTORY_RESOURCES;
	snprintf(h->names[h->resources], USAGE_NAME_MAX, "%s", name);
	return h->resources++;
}

static void sample_usage(struct history *h, const struct usage_figures *u, struct sample *s)
{
	for (uint32_t r = 0; r < u->n; r++) {
		const struct usage_row *row = &u->rows[r];
		uint32_t i;

		if (row->name[0] == '\0' || (row->allocatable == 0 && row->used == 0))
			continue;
		i = place_of(h, row->name);
		if (i == HISTORY_RESOURCES)
			continue;
		s->allocatable[i] = (float)row->allocatable;
		s->used[i] = (float)row->used;
		s->free[i] = (float)row->free;
	}
}

static void ring_add(struct ring *r, const struct sample *s, uint64_t binds)
{
	struct sample *to = &r->at[r->next];

	if (r->n > 0 && s->wall_s < sample_at(r, r->n - 1)->wall_s)
		r->n = 0;
	*to = *s;
	/* Another core counts from 0. */
	to->binds = r->n > 0 && binds >= r->binds ? (uint32_t)(binds - r->binds) : 0;
	r->binds = binds;
	r->next = (r->next + 1) % r->size;
	r->n += r->n < r->size;
}

void history_take(struct history *h, const struct metrics *m, uint64_t wall_ns)
{
	struct sample s = {
		.wall_s = wall_ns / NS_PER_S,
		.waiting = (uint32_t)(m->link.gangs[GANG_WAITING] + m->link.gangs[GANG_DEGRADED]),
		.running = (uint32_t)m->link.gangs[GANG_PLACED],
		.pods_pending = (uint32_t)m->core.gauges.pods_pending,
		.pods_bound = (uint32_t)m->core.gauges.pods_bound,
	};

	if (!m->core.gauges.synced)
		return;
	sample_usage(h, &m->usage, &s);
	if (ring_is_due(&h->fine, s.wall_s))
		ring_add(&h->fine, &s, m->core.stats.binds_accepted);
	if (ring_is_due(&h->coarse, s.wall_s))
		ring_add(&h->coarse, &s, m->core.stats.binds_accepted);
}

static void write_counts(const struct ring *r, const char *name, size_t offset, struct jsonout *out)
{
	jsonout_add(out, ",@s:[", name);
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t value;

		memcpy(&value, (const char *)sample_at(r, i) + offset, sizeof(value));
		jsonout_add(out, i > 0 ? ",@u" : "@u", (ull)value);
	}
	jsonout_add(out, "]");
}

static void write_amounts(const struct ring *r, const char *name, size_t offset, uint32_t resource,
                          struct jsonout *out)
{
	jsonout_add(out, ",@s:[", name);
	for (uint32_t i = 0; i < r->n; i++) {
		char text[48];
		float value;

		memcpy(&value, (const char *)sample_at(r, i) + offset + resource * sizeof(float),
		       sizeof(value));
		snprintf(text, sizeof(text), "%.6g", (double)value);
		jsonout_add(out, i > 0 ? ",@r" : "@r", text);
	}
	jsonout_add(out, "]");
}

void history_write(const struct history *h, const char *resource, const char *span,
                   uint64_t wall_ns, struct jsonout *out)
{
	const struct ring *r = h && strcmp(span, "day") == 0 ? &h->coarse : h ? &h->fine : NULL;
	uint32_t chosen = 0;

	jsonout_clear(out);
	jsonout_add(out, "{\"wall_s\":@u", (ull)(wall_ns / NS_PER_S));
	if (r) {
		for (uint32_t i = 0; i < h->resources; i++)
			if (strcmp(h->names[i], resource) == 0)
				chosen = i;
		jsonout_add(out, ",\"step_s\":@u,\"samples\":@u,\"names\":[", (ull)r->step_s, (ull)r->size);
		for (uint32_t i = 0; i < h->resources; i++)
			jsonout_add(out, i > 0 ? ",@s" : "@s", h->names[i]);
		jsonout_add(out, "],\"resource\":@s,\"t\":[", h->resources > 0 ? h->names[chosen] : "");
		for (uint32_t i = 0; i < r->n; i++)
			jsonout_add(out, i > 0 ? ",@u" : "@u", (ull)sample_at(r, i)->wall_s);
		jsonout_add(out, "]");
		write_counts(r, "waiting", offsetof(struct sample, waiting), out);
		write_counts(r, "running", offsetof(struct sample, running), out);
		write_counts(r, "pods_pending", offsetof(struct sample, pods_pending), out);
		write_counts(r, "pods_bound", offsetof(struct sample, pods_bound), out);
		write_counts(r, "binds", offsetof(struct sample, binds), out);
		write_amounts(r, "allocatable", offsetof(struct sample, allocatable), chosen, out);
		write_amounts(r, "used", offsetof(struct sample, used), chosen, out);
		write_amounts(r, "free", offsetof(struct sample, free), chosen, out);
	}
	jsonout_add(out, "}\n");
}
