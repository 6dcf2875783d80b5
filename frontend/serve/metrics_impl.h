/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of metrics: families of one line, and the files that write them. */
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

/* Of pods: kube-scheduler's families, stages. */
void metrics_pods_write(const struct metrics *m, FILE *out);
/* Of what the core shows: plans, rings, limits, gangs. */
void metrics_link_write(const struct metrics *m, FILE *out);

#endif
