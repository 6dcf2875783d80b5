/* Rows of figures, with what is needed to believe them. */
#ifndef MUSTER_BENCH_BENCH_H
#define MUSTER_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One figure.  `goal` 0: none. */
struct bench_row {
	char name[64];
	const char *unit; /* s, ms, us, ns, per_s or bytes */
	double best;
	double median;
	double p99;
	double goal;
};

struct bench_report {
	const char *bench;
	struct bench_row rows[64];
	size_t rows_n;
};

uint64_t bench_now_ns(void);

/* Run this thread on one CPU; false when the machine has no such CPU. */
bool bench_pin(int cpu);

/* Add a row from n samples (sorted in place).  `higher_is_better`: best is the
 * largest and p99 the value that 99 % reach. */
void bench_add(struct bench_report *report, const char *name, const char *unit, double *samples, size_t n,
               bool higher_is_better, double goal);

/* Gaps that the machine itself puts into a loop that does nothing but read the
 * clock, 99.9th percentile in us: no latency below is better than this. */
double bench_stall_us_p999(void);

void bench_print(const struct bench_report *report, bool json);

/* Each fills its report; false and a message on standard error if it can't run. */
bool bench_ring(struct bench_report *report);
bool bench_decide(struct bench_report *report);

#endif
