/* SPDX-License-Identifier: Apache-2.0 */
/* A Gantt chart: a line for each node, time to the right, a box for each job on neighbouring
 * nodes. A job that was promised a start has a frame. */
#include "bench/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1600.0
#define HEIGHT 800.0
#define MARGIN 40.0

static int by_node(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void box(FILE *f, const struct play *p, const struct trace *t, uint32_t job, uint32_t node,
                uint32_t n, double of_node)
{
	const struct play_job *j = &p->jobs[job];
	const double of_s = p->span_s > 0 ? WIDTH / (double)p->span_s : 0;
	const bool told = j->told_s != TRACE_NOT_STARTED;

	fprintf(
		f,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%u,60%%,65%%)\"%s>"
		"<title>job %llu: %u x %g, submitted %llu, ",
		MARGIN + (double)j->start_s * of_s, MARGIN + node * of_node,
		(double)(j->end_s - j->start_s) * of_s, n * of_node,
		(unsigned)(t->jobs[job].number * 47 % 360), told ? " stroke=\"#333\"" : "",
		(unsigned long long)t->jobs[job].number, t->jobs[job].members, t->jobs[job].milli / 1000.0,
		(unsigned long long)t->jobs[job].submit_s);
	if (told)
		fprintf(f, "promised %llu, ", (unsigned long long)j->told_s);
	fprintf(f, "ran %llu to %llu s</title></rect>\n", (unsigned long long)j->start_s,
	        (unsigned long long)j->end_s);
}

bool play_gantt(const struct play *p, const struct trace *t, uint32_t nodes, const char *path)
{
	FILE *f = fopen(path, "we");
	const double of_node = HEIGHT / nodes;
	bool ok;

	if (!f) {
		fprintf(stderr, "muster-bench: %s: %s\n", path, strerror(errno));
		return false;
	}
	fprintf(
		f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" "
		"font-size=\"14\" stroke-width=\"0.3\">\n<text x=\"%g\" y=\"25\">%u nodes, %llu s, %u "
		"jobs; framed: promised a start</text>\n",
		WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN, MARGIN, nodes, (unsigned long long)p->span_s,
		t->jobs_n);
	for (uint32_t job = 0; job < t->jobs_n; job++) {
		const uint32_t n = trace_quorum(&t->jobs[job]);
		uint32_t *at = p->nodes + p->jobs[job].nodes_first;

		if (p->jobs[job].start_s == TRACE_NOT_STARTED)
			continue;
		qsort(at, n, sizeof(*at), by_node);
		for (uint32_t i = 0, first = 0; i < n; i++)
			if (i + 1 == n || at[i + 1] > at[i] + 1) {
				box(f, p, t, job, at[first], at[i] - at[first] + 1, of_node);
				first = i + 1;
			}
	}
	fputs("</svg>\n", f);
	ok = !ferror(f);
	if (fclose(f) != 0 || !ok) {
		fprintf(stderr, "muster-bench: %s: can't be written\n", path);
		return false;
	}
	return true;
}
