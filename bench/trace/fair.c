/* SPDX-License-Identifier: Apache-2.0 */
/* How fairly a play served queues, from the times of its jobs alone: nothing here asks the core. */
#include "bench/trace/queues.h"

#include "bench/bench.h"
#include "ipc/memory.h"

#include <stdlib.h>

/* At a time, a job asks for its places, has them, or leaves them. */
struct change {
	uint64_t at_s;
	uint32_t queue;
	double asks, has; /* places more */
};

/* All by queue. */
struct filling {
	const struct trace_queues *q;
	uint32_t *first, *next; /* children; QUEUE_MISSING: none */
	double *asks, *has;     /* leaves, now */
	double *wants, *gets;   /* what it asks for within limits; is entitled to */
	double *entitled, *received;
	double *guarantee; /* of an inner queue at least its children's */
};

static bool is_played(const struct play_job *j)
{
	return j->start_s != TRACE_NOT_STARTED;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* A part of the rest for each child that wants more, by weight: round by round, as those that have
 * all leave theirs to the others.  False: none of these weights wants more, or nothing is left. */
static bool fill_round(struct filling *f, uint32_t queue, bool weighted, double *rest)
{
	const double begin = *rest;
	double weights = 0;
	bool full = false;

	for (uint32_t c = f->first[queue]; c != QUEUE_MISSING; c = f->next[c])
		if (f->wants[c] > f->gets[c] && (f->q->at[c].amount.weight > 0) == weighted)
			weights += weighted ? (double)f->q->at[c].amount.weight : 1;
	if (weights <= 0 || begin <= 0)
		return false;
	for (uint32_t c = f->first[queue]; c != QUEUE_MISSING; c = f->next[c]) {
		const double weight = weighted ? (double)f->q->at[c].amount.weight : 1;
		const double part = begin * weight / weights, missing = f->wants[c] - f->gets[c];

		if (missing <= 0 || (f->q->at[c].amount.weight > 0) != weighted)
			continue;
		full = full || missing <= part;
		f->gets[c] = missing <= part ? f->wants[c] : f->gets[c] + part;
		*rest -= least(missing, part);
	}
	return full;
}

/* What a queue is entitled to becomes its children's. */
static void fill_children(struct filling *f, uint32_t queue)
{
	double guaranteed = 0, rest = f->gets[queue], scale;

	for (uint32_t c = f->first[queue]; c != QUEUE_MISSING; c = f->next[c])
		guaranteed += least(f->wants[c], f->guarantee[c]);
	scale = guaranteed > rest ? rest / guaranteed : 1;
	for (uint32_t c = f->first[queue]; c != QUEUE_MISSING; c = f->next[c])
		f->gets[c] = scale * least(f->wants[c], f->guarantee[c]);
	rest -= scale * guaranteed;
	while (fill_round(f, queue, true, &rest))
		;
	while (fill_round(f, queue, false, &rest))
		;
}

static void fill(struct filling *f, double capacity)
{
	const struct trace_queues *q = f->q;

	for (uint32_t i = 0; i < q->n; i++)
		f->wants[i] = q->at[i].leaf ? f->asks[i] : 0;
	for (uint32_t i = q->n; i-- > 0;) {
		f->wants[i] = least(f->wants[i], (double)q->at[i].amount.limit);
		if (i > 0)
			f->wants[q->at[i].event.parent] += f->wants[i];
	}
	f->gets[0] = least(f->wants[0], capacity);
	for (uint32_t i = 0; i < q->n; i++)
		if (!q->at[i].leaf)
			fill_children(f, i);
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

/* Of all jobs that ran, with the runs that they lost; to be freed. */
static struct change *changes_of(const struct play *p, const struct trace *t,
                                 const struct trace_queues *q, uint32_t *n)
{
	struct change *out = must_array(3 * (size_t)t->jobs_n + 2 * p->lost_n, sizeof(*out));

	*n = 0;
	for (size_t i = 0; i < p->lost_n; i++) {
		const struct trace_job *j = &t->jobs[p->lost[i].job];
		const uint32_t queue = q->of_user[j->user];
		const double size = (double)j->members * j->milli;

		out[(*n)++] = (struct change){ p->lost[i].start_s, queue, 0, size };
		out[(*n)++] = (struct change){ p->lost[i].end_s, queue, 0, -size };
	}
	for (uint32_t i = 0; i < t->jobs_n; i++) {
		const struct trace_job *j = &t->jobs[i];
		const uint32_t queue = q->of_user[j->user];
		const double size = (double)j->members * j->milli;

		if (!is_played(&p->jobs[i]))
			continue;
		out[(*n)++] = (struct change){ j->submit_s, queue, size, 0 };
		out[(*n)++] = (struct change){ p->jobs[i].start_s, queue, 0, size };
		out[(*n)++] = (struct change){ p->jobs[i].end_s, queue, -size, -size };
	}
	qsort(out, *n, sizeof(*out), by_time);
	return out;
}

static void filling_init(struct filling *f, const struct trace_queues *q)
{
	double **const rows[] = { &f->asks,     &f->has,      &f->wants,    &f->gets,
		                      &f->entitled, &f->received, &f->guarantee };
	double *below;

	*f = (struct filling){ .q = q };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		*rows[i] = must_array(q->n, sizeof(double));
	f->first = must_array(q->n, sizeof(*f->first));
	f->next = must_array(q->n, sizeof(*f->next));
	for (uint32_t i = 0; i < q->n; i++)
		f->first[i] = f->next[i] = QUEUE_MISSING;
	for (uint32_t i = 1; i < q->n; i++) {
		f->next[i] = f->first[q->at[i].event.parent];
		f->first[q->at[i].event.parent] = i;
	}
	below = must_array(q->n, sizeof(*below));
	for (uint32_t i = q->n; i-- > 0;) {
		const double own = (double)q->at[i].amount.guarantee;

		f->guarantee[i] = own > below[i] ? own : below[i];
		below[q->at[i].event.parent] += f->guarantee[i];
	}
	free(below);
}

static void filling_free(struct filling *f)
{
	double *const rows[] = { f->asks,     f->has,      f->wants,    f->gets,
		                     f->entitled, f->received, f->guarantee };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		free(rows[i]);
	free(f->first);
	free(f->next);
}

static double jain_of(const struct filling *f)
{
	double sum = 0, squares = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->q->n; i++) {
		const double part = f->entitled[i] > 0 ? f->received[i] / f->entitled[i] : 0;

		if (f->entitled[i] <= 0)
			continue;
		sum += part;
		squares += part * part;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : 1;
}

double fair_jain(const struct play *p, const struct trace *t, const struct trace_queues *q,
                 uint32_t nodes)
{
	const uint64_t last_s = t->jobs[t->jobs_n - 1].submit_s;
	struct filling f;
	uint32_t n;
	struct change *changes = changes_of(p, t, q, &n);
	double jain;

	filling_init(&f, q);
	for (uint32_t i = 0; i < n && changes[i].at_s < last_s;) {
		const uint64_t now_s = changes[i].at_s;
		uint64_t until_s;

		for (; i < n && changes[i].at_s == now_s; i++) {
			f.asks[changes[i].queue] += changes[i].asks;
			f.has[changes[i].queue] += changes[i].has;
		}
		until_s = i < n && changes[i].at_s < last_s ? changes[i].at_s : last_s;
		fill(&f, (double)nodes * t->node_milli);
		for (uint32_t k = 0; k < q->n; k++) {
			f.entitled[k] += q->at[k].leaf ? f.gets[k] * (double)(until_s - now_s) : 0;
			f.received[k] += f.has[k] * (double)(until_s - now_s);
		}
	}
	jain = jain_of(&f);
	filling_free(&f);
	free(changes);
	return jain;
}

/* A job of a recording that waits at its end has waited until then. */
static bool has_waited(const struct play *p, const struct trace *t, uint32_t job)
{
	return is_played(&p->jobs[job]) || t->end_s > 0;
}

static double wait_of(const struct play *p, const struct trace *t, uint32_t job)
{
	const uint64_t until_s = is_played(&p->jobs[job]) ? p->jobs[job].start_s : t->end_s;

	return (double)(until_s - t->jobs[job].submit_s);
}

double fair_wait_p99(const struct play *p, const struct trace *t, const struct trace_queues *q,
                     uint32_t queue)
{
	double *waits = must_array(t->jobs_n, sizeof(*waits)), p99 = -1;
	size_t n = 0;

	for (uint32_t i = 0; i < t->jobs_n; i++)
		if (has_waited(p, t, i) && (queue == QUEUE_MISSING || q->of_user[t->jobs[i].user] == queue))
			waits[n++] = wait_of(p, t, i);
	if (n > 0) {
		qsort(waits, n, sizeof(*waits), bench_by_value);
		p99 = waits[n * 99 / 100];
	}
	free(waits);
	return p99;
}

double fair_others_wait(const struct play *p, const struct trace *t, uint32_t user)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->jobs_n; i++) {
		if (!has_waited(p, t, i) || t->jobs[i].user == user)
			continue;
		sum += wait_of(p, t, i);
		n++;
	}
	return n > 0 ? sum / n : 0;
}
