/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of metrics: families with one sample, and the files that write them. */
#ifndef MUSTER_FRONTEND_METRICS_IMPL_H
#define MUSTER_FRONTEND_METRICS_IMPL_H

#include "frontend/serve/metrics.h"

struct figure {
	const char *name;
	const char *type; /* "counter", "gauge" */
	const char *help;
	double value;
};

void family_write(FILE *out, const char *name, const char *type, const char *help);
void figures_write(FILE *out, const struct figure *f, size_t n);

#define FIGURES(out, ...)                                                                          \
	do {                                                                                           \
		const struct figure figures_[] = { __VA_ARGS__ };                                          \
		figures_write(out, figures_, sizeof(figures_) / sizeof(figures_[0]));                      \
	} while (0)

#define COUNTER(name, help, value)                                                                 \
	{                                                                                              \
		name, "counter", help, (double)(value)                                                     \
	}
#define GAUGE(name, help, value)                                                                   \
	{                                                                                              \
		name, "gauge", help, (double)(value)                                                       \
	}

/* A family of one type, with a sample for each value of a label; LABELLED: of counters. */
struct labelled {
	const char *value;
	uint64_t n;
};

void labelled_write(FILE *out, const char *name, const char *type, const char *label,
                    const char *help, const struct labelled *l, size_t n);

#define LABELLED(out, name, label, help, ...)                                                      \
	do {                                                                                           \
		const struct labelled labelled_[] = { __VA_ARGS__ };                                       \
		labelled_write(out, name, "counter", label, help, labelled_,                               \
		               sizeof(labelled_) / sizeof(labelled_[0]));                                  \
	} while (0)

/* A histogram of the ledger (ipc/plans.h). */
struct ledger_buckets {
	const _Atomic uint64_t *counts; /* by bucket; counts[n]: above all bounds */
	unsigned n;
	uint64_t (*bound)(unsigned i); /* of bucket i < n */
	double unit;                   /* 1e-9 for ns in a family of seconds */
	uint64_t sum;
};

/* Its family, with bounds from bucket `first` on. */
void buckets_write(const struct ledger_buckets *b, unsigned first, const char *name,
                   const char *help, FILE *out);
/* The same without the head of the family; `labels` is `a="b",` or "". */
void buckets_rows_write(const struct ledger_buckets *b, unsigned first, const char *name,
                        const char *labels, FILE *out);

/* Pods: kube-scheduler's families, stages. */
void metrics_pods_write(const struct metrics *m, FILE *out);
/* Waiting times of gangs. */
void metrics_waits_write(const struct metrics *m, FILE *out);
/* Resources of nodes. */
void metrics_usage_write(const struct metrics *m, FILE *out);
/* Queues. */
void metrics_queues_write(const struct metrics *m, FILE *out);
/* Escapes a label's value: it may contain anything. */
void label_write(const char *text, FILE *out);
/* Volumes, devices and their claims. */
void metrics_claims_write(const struct metrics *m, FILE *out);
/* The listeners. */
void metrics_port_write(const struct metrics *m, FILE *out);
/* The core: plans, rings, limits, gangs. */
void metrics_link_write(const struct metrics *m, FILE *out);
/* The loops of both processes: what held them up. */
void metrics_turns_write(const struct metrics *m, FILE *out);

/* Evictions. */
void metrics_evictions_write(const struct metrics *m, FILE *out);

#endif
