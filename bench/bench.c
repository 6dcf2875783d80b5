/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"
#include "ipc/clock.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <unistd.h>

#define RUNS_MOST 99u

#if defined(__x86_64__)
static bool cpu_says(const char *flag)
{
	char line[8192];
	bool found = false;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strncmp(line, "flags", 5) == 0 && strstr(line, flag);
	if (f)
		fclose(f);
	return found;
}

/* clock_gettime() takes 30 ns here, as long as some of the measured operations. */
uint64_t bench_now_ns(void)
{
	static double ns_per_tick; /* 0: unknown yet; < 0: the counter is not steady */
	static uint64_t ticks_0, ns_0;

	if (ns_per_tick == 0) {
		ns_0 = clock_monotonic_ns();
		ticks_0 = __builtin_ia32_rdtsc();
		ns_per_tick = -1;
		if (cpu_says(" constant_tsc") && cpu_says(" nonstop_tsc")) {
			while (clock_monotonic_ns() - ns_0 < 20000000)
				;
			ns_per_tick =
				(double)(clock_monotonic_ns() - ns_0) / (double)(__builtin_ia32_rdtsc() - ticks_0);
		}
	}
	if (ns_per_tick < 0)
		return clock_monotonic_ns();
	return ns_0 + (uint64_t)((double)(__builtin_ia32_rdtsc() - ticks_0) * ns_per_tick);
}
#else
uint64_t bench_now_ns(void)
{
	return clock_monotonic_ns();
}
#endif

bool bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

void bench_unpin(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t set;

	CPU_ZERO(&set);
	for (long cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; cpu++)
		CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_add(struct bench_report *report, const char *name, const char *unit, double *samples,
               size_t n, bool higher_is_better, double goal)
{
	size_t tail = n * 99 / 100;
	struct bench_row *row;

	if (report->rows_n == BENCH_ROWS || n == 0)
		abort(); /* a bug of the bench */
	row = &report->rows[report->rows_n++];
	qsort(samples, n, sizeof(*samples), bench_by_value);
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->unit = unit;
	row->higher_is_better = higher_is_better;
	row->median = samples[n / 2];
	row->best = higher_is_better ? samples[n - 1] : samples[0];
	row->p99 = higher_is_better ? samples[n - 1 - tail] : samples[tail];
	row->goal = goal;
}

#define HGRM_STEP 0.1 /* of the distance to 1: some seven rows until it halves */

bool bench_hgrm(const char *path, const double *sorted, size_t n)
{
	double left = 1, sum = 0, squares = 0, mean;
	FILE *f = fopen(path, "we");

	if (f)
		fputs("       Value     Percentile TotalCount 1/(1-Percentile)\n\n", f);
	while (f && left * (double)n >= 0.5) {
		size_t at = (size_t)((1 - left) * (double)n);

		if (at > n - 1)
			at = n - 1;
		fprintf(f, "%12.3f %14.12f %10zu %14.2f\n", sorted[at], 1 - left, at + 1, 1 / left);
		left -= left * HGRM_STEP;
	}
	for (size_t i = 0; i < n; i++)
		sum += sorted[i];
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (sorted[i] - mean) * (sorted[i] - mean);
	if (f)
		fprintf(f,
		        "%12.3f %14.12f %10zu\n#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"
		        "#[Max     = %12.3f, Total count    = %12zu]\n",
		        sorted[n - 1], 1.0, n, mean, sqrt(squares / (double)n), sorted[n - 1], n);
	if (f && fclose(f) == 0)
		return true;
	fprintf(stderr, "muster-bench: can't write %s: %s\n", path, strerror(errno));
	return false;
}

void bench_add_one(struct bench_report *report, const char *name, const char *unit, double value,
                   bool higher_is_better, double goal)
{
	bench_add(report, name, unit, &value, 1, higher_is_better, goal);
}

/* Gaps that the machine itself causes in a loop that only reads the clock, 99.9th percentile in us:
 * no latency below is better than this. */
static double stall_us_p999(void)
{
	enum { SLOTS = 100000 };
	static double gaps[SLOTS];
	uint64_t start = bench_now_ns(), slice = start, last = start, worst = 0;
	size_t n = 0;

	/* The largest gap of each 10 us slice over 300 ms: the stall that a measurement of that length
	 * would include. */
	while (last - start < 300000000u && n < SLOTS) {
		uint64_t now = bench_now_ns();

		if (now - last > worst)
			worst = now - last;
		last = now;
		if (now - slice >= 10000) {
			gaps[n++] = (double)worst / 1000;
			slice = now;
			worst = 0;
		}
	}
	qsort(gaps, n, sizeof(*gaps), bench_by_value);
	return n > 0 ? gaps[n * 999 / 1000] : 0;
}

static double median_of(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), bench_by_value);
	return values[n / 2];
}

/* Merges row i of all runs. */
static void merge_row(struct bench_report *out, const struct bench_report *runs, unsigned n,
                      size_t i)
{
	double medians[RUNS_MOST], tails[RUNS_MOST], goals[RUNS_MOST];
	struct bench_row *row = &out->rows[i];

	*row = runs[0].rows[i];
	for (unsigned run = 0; run < n; run++) {
		const struct bench_row *one = &runs[run].rows[i];

		medians[run] = one->median;
		tails[run] = one->p99;
		goals[run] = one->goal;
		if (row->higher_is_better ? one->best > row->best : one->best < row->best)
			row->best = one->best;
	}
	row->median = median_of(medians, n);
	row->p99 = median_of(tails, n);
	row->goal = median_of(goals, n);
}

bool bench_repeat(struct bench_report *out,
                  bool (*run)(struct bench_report *, const struct bench_options *),
                  const struct bench_options *options, unsigned n)
{
	struct bench_report *runs = calloc(n, sizeof(*runs));
	double stalls[RUNS_MOST], load[1];
	bool ok = runs && n > 0 && n <= RUNS_MOST;

	for (unsigned i = 0; ok && i < n; i++) {
		ok = run(&runs[i], options) && runs[i].rows_n == runs[0].rows_n;
		out->bad_input = out->bad_input || runs[i].bad_input;
		stalls[i] = stall_us_p999();
		if (getloadavg(load, 1) == 1 && load[0] > out->load1)
			out->load1 = load[0];
	}
	if (ok) {
		out->runs = n;
		out->rows_n = runs[0].rows_n;
		for (size_t i = 0; i < out->rows_n; i++)
			merge_row(out, runs, n, i);
		out->stall_us_p999 = median_of(stalls, n);
	}
	free(runs);
	return ok;
}

static void cpu_name(char *out, size_t bytes)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "re");

	snprintf(out, bytes, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) == 0 && colon) {
			snprintf(out, bytes, "%s", colon + 2);
			out[strcspn(out, "\n")] = '\0';
			break;
		}
	}
	if (f)
		fclose(f);
}

static void print_json(const struct bench_report *r, const char *cpu)
{
	cJSON *root = cJSON_CreateObject(), *rows;
	char *text;

	cJSON_AddStringToObject(root, "bench", r->bench);
	cJSON_AddStringToObject(root, "cpu", cpu);
	cJSON_AddNumberToObject(root, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
	cJSON_AddNumberToObject(root, "runs", r->runs);
	cJSON_AddNumberToObject(root, "load1", r->load1);
	cJSON_AddNumberToObject(root, "stall_us_p999", r->stall_us_p999);
	rows = cJSON_AddArrayToObject(root, "rows");
	for (size_t i = 0; i < r->rows_n; i++) {
		const struct bench_row *row = &r->rows[i];
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "name", row->name);
		cJSON_AddStringToObject(o, "unit", row->unit);
		cJSON_AddNumberToObject(o, "best", row->best);
		cJSON_AddNumberToObject(o, "median", row->median);
		cJSON_AddNumberToObject(o, "p99", row->p99);
		if (row->goal > 0)
			cJSON_AddNumberToObject(o, "goal", row->goal);
		cJSON_AddItemToArray(rows, o);
	}
	text = cJSON_Print(root);
	puts(text ? text : "{}");
	cJSON_free(text);
	cJSON_Delete(root);
}

void bench_print(const struct bench_report *r, bool json)
{
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	if (json) {
		print_json(r, cpu);
		return;
	}
	printf("%s: %s, load %.2f, stall floor p99.9 %.1f us, runs %u\n", r->bench, cpu, r->load1,
	       r->stall_us_p999, r->runs);
	printf("  %-28s %6s %13s %13s %13s %13s\n", "row", "unit", "best", "median", "p99", "goal");
	for (size_t i = 0; i < r->rows_n; i++) {
		const struct bench_row *row = &r->rows[i];

		printf("  %-28s %6s %13.3f %13.3f %13.3f ", row->name, row->unit, row->best, row->median,
		       row->p99);
		if (row->goal > 0)
			printf("%13.3f\n", row->goal);
		else
			printf("%13s\n", "-");
	}
}
