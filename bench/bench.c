#include "bench/bench.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_add(struct bench_report *report, const char *name, const char *unit, double *samples, size_t n,
               bool higher_is_better, double goal)
{
	struct bench_row *row = &report->rows[report->rows_n++];
	size_t tail = n * 99 / 100;

	qsort(samples, n, sizeof(*samples), by_value);
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->unit = unit;
	row->median = samples[n / 2];
	row->best = higher_is_better ? samples[n - 1] : samples[0];
	row->p99 = higher_is_better ? samples[n - 1 - tail] : samples[tail];
	row->goal = goal;
}

double bench_stall_us_p999(void)
{
	enum { SLOTS = 100000 };
	static double gaps[SLOTS];
	uint64_t start = bench_now_ns(), slice = start, last = start, worst = 0;
	size_t n = 0;

	/* The worst gap of each 10 us slice over 300 ms: what a measurement of
	 * that length would have suffered. */
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
	qsort(gaps, n, sizeof(*gaps), by_value);
	return n > 0 ? gaps[n * 999 / 1000] : 0;
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

static void print_json(const struct bench_report *r, const char *cpu, double load1, double stall)
{
	cJSON *root = cJSON_CreateObject(), *rows;
	char *text;

	cJSON_AddStringToObject(root, "bench", r->bench);
	cJSON_AddStringToObject(root, "cpu", cpu);
	cJSON_AddNumberToObject(root, "load1", load1);
	cJSON_AddNumberToObject(root, "stall_us_p999", stall);
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
	double load[1] = { 0 }, stall = bench_stall_us_p999();
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	if (getloadavg(load, 1) != 1)
		load[0] = 0;
	if (json) {
		print_json(r, cpu, load[0], stall);
		return;
	}
	printf("%s: %s, load %.2f, stall floor p99.9 %.1f us\n", r->bench, cpu, load[0], stall);
	printf("  %-24s %6s %12s %12s %12s %12s\n", "row", "unit", "best", "median", "p99", "goal");
	for (size_t i = 0; i < r->rows_n; i++) {
		const struct bench_row *row = &r->rows[i];

		printf("  %-24s %6s %12.3f %12.3f %12.3f ", row->name, row->unit, row->best, row->median, row->p99);
		if (row->goal > 0)
			printf("%12.3f\n", row->goal);
		else
			printf("%12s\n", "-");
	}
}
