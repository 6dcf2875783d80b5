/* SPDX-License-Identifier: Apache-2.0 */
/* Queues in /metrics: QUEUES_SHOWN by name, the sum of the others as "other". */
#include "frontend/serve/metrics_impl.h"

#include "ipc/memory.h"
#include "ipc/observe.h"

#include <stdlib.h>
#include <string.h>

static void row_read(struct queue_figures *row, const struct queue_copy *copy, uint32_t resources)
{
	row->waiting += copy->row.waiting;
	row->placed += copy->row.placed;
	row->share = copy->row.share == QUEUE_SHARE_INFINITE
	                 ? -1
	                 : (double)copy->row.share / (double)QUEUE_SHARE_ONE;
	for (uint32_t r = 0; r < resources; r++) {
		const struct queue_amounts *a = &copy->amounts[r];

		row->amounts[r].used += (double)a->used;
		row->amounts[r].asked += (double)a->asked;
		row->amounts[r].guarantee += (double)a->guarantee;
		row->amounts[r].history +=
			(double)a->history + (double)a->history_part / (double)QUEUE_PAST_ONE;
		row->amounts[r].limit = a->limit == QUEUE_NO_LIMIT ? -1 : (double)a->limit;
	}
}

static struct queues_figures *figures_grow(struct queues_figures *f, size_t n)
{
	return must_grow(f, sizeof(*f) + n * sizeof(f->rows[0]));
}

void metrics_queues_read(struct metrics *m, const struct observer *o)
{
	const uint32_t there = observe_queues_there(o);
	struct queues_figures *f = figures_grow(NULL, 0);
	struct queue_copy *copy = must_alloc(sizeof(*copy));

	memset(f, 0, sizeof(*f));
	f->refs = 1;
	for (uint32_t id = 0; id < there; id++) {
		if (!observe_queue(o, id, copy))
			continue;
		if (f->n <= QUEUES_SHOWN) {
			f = figures_grow(f, f->n + 1);
			f->rows[f->n++] = (struct queue_figures){ 0 };
		}
		snprintf(f->rows[f->n - 1].name, sizeof(f->rows[0].name), "%s",
		         f->n > QUEUES_SHOWN ? "other" : copy->row.name);
		row_read(&f->rows[f->n - 1], copy, o->places.limits.resources);
	}
	for (uint32_t r = 0; r < o->places.limits.resources; r++)
		observe_name(o, r, f->resources[r]);
	free(copy);
	metrics_queues_give(m);
	m->queues = f;
}

void metrics_queues_hold(const struct metrics *m)
{
	if (m->queues)
		atomic_fetch_add_explicit(&m->queues->refs, 1, memory_order_relaxed);
}

void metrics_queues_give(struct metrics *m)
{
	/* The last one frees what the others wrote and read. */
	if (m->queues && atomic_fetch_sub_explicit(&m->queues->refs, 1, memory_order_acq_rel) == 1)
		free(m->queues);
	m->queues = NULL;
}

static double value_of(const struct queue_figures *row, uint32_t r, int what)
{
	const double values[] = { row->amounts[r].used, row->amounts[r].asked,
		                      row->amounts[r].guarantee, row->amounts[r].limit,
		                      row->amounts[r].history };

	return values[what];
}

/* In the base unit of Prometheus: cores, bytes. */
static void amounts_family(const struct queues_figures *q, const char *name, const char *help,
                           int what, FILE *out)
{
	family_write(out, name, "gauge", help);
	for (size_t i = 0; i < q->n; i++)
		for (uint32_t r = 0; r < RESOURCES_MAX; r++) {
			const double value = value_of(&q->rows[i], r, what);

			/* What is 0 has no sample, but for a limit. */
			if (q->resources[r][0] == '\0' || value < 0 || (value == 0 && what != 3))
				continue;
			fprintf(out, "%s{queue=\"", name);
			label_write(q->rows[i].name, out);
			fputs("\",resource=\"", out);
			label_write(q->resources[r], out);
			fprintf(out, "\"} %.17g\n", r == RESOURCE_CPU ? value / 1000 : value);
		}
}

static void queue_sample(const char *name, const struct queue_figures *row, const char *state,
                         double value, FILE *out)
{
	fprintf(out, "%s{queue=\"", name);
	label_write(row->name, out);
	if (state)
		fprintf(out, "\",state=\"%s", state);
	fprintf(out, "\"} %.17g\n", value);
}

void metrics_queues_write(const struct metrics *m, FILE *out)
{
	const struct queues_figures *q = m->queues;

	FIGURES(out, COUNTER("muster_queues_refused_total",
	                     "Queues, or files of them, that could not be read (QueuesInvalid).",
	                     m->queues_refused));
	if (!q || q->n == 0)
		return;
	amounts_family(q, "muster_queue_used", "What pods of the queue request that have a node.", 0,
	               out);
	amounts_family(q, "muster_queue_asked",
	               "That, and what members of complete gangs request that wait.", 1, out);
	amounts_family(q, "muster_queue_guarantee", "What the queue is guaranteed, scaled.", 2, out);
	amounts_family(q, "muster_queue_limit", "The most that it may use.", 3, out);
	amounts_family(q, "muster_queue_history", "What it used in the past, with --history-factor.", 4,
	               out);
	family_write(out, "muster_queue_share", "gauge",
	             "What it uses above its guarantee, in parts of the cluster and its weight.");
	for (size_t i = 0; i < q->n && i < QUEUES_SHOWN; i++)
		if (q->rows[i].share >= 0)
			queue_sample("muster_queue_share", &q->rows[i], NULL, q->rows[i].share, out);
	family_write(out, "muster_queue_gangs", "gauge", "Gangs and lone pods in the queue.");
	for (size_t i = 0; i < q->n; i++) {
		queue_sample("muster_queue_gangs", &q->rows[i], "waiting", q->rows[i].waiting, out);
		queue_sample("muster_queue_gangs", &q->rows[i], "placed", q->rows[i].placed, out);
	}
}
