/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes does the core take for a node, a pod and a device, and the frontend for a device
 * and for an allocated claim? Resident memory of a process that
 * holds one cluster, the ledger included, minus that of one that holds another; each is a child
 * that ends. Limits are as large as the cluster, and the number of columns is the default of
 * muster-core. */
#include "bench/bench.h"
#include "bench/cluster.h"
#include "bench/devices_live.h"

#include <sys/wait.h>
#include <unistd.h>

#define RESOURCES 32u /* the default of muster-core */

struct load {
	uint32_t nodes, pods, labels;
	bool devices; /* 8 on each node */
};

/* Of the frontend alone. */
struct live_load {
	uint32_t nodes, claims;
};

static double resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double measure_live(const void *context)
{
	const struct live_load *load = context;
	const double before = resident_bytes();

	/* The child ends with it. */
	return devices_live(load->nodes, load->claims) ? resident_bytes() - before : 0;
}

/* 0: it failed. */
static double measure_core(const void *context)
{
	const struct load *load = context;
	struct cluster_setup setup = { .nodes = load->nodes,
		                           .pods_more = load->pods + CLUSTER_MIX,
		                           .resources = RESOURCES,
		                           .bare = true };
	double before = resident_bytes();
	struct cluster c;

	if (!cluster_init(&c, &setup))
		return 0;
	if (load->devices)
		cluster_devices(&c, false, 3);
	for (uint32_t i = 0; i < load->pods; i++)
		cluster_pod_labelled(&c, SHAPE_MIX + i % CLUSTER_MIX, load->labels);
	/* Sixteen shapes are planned, so that they have their indices. */
	for (uint32_t i = 0; i < CLUSTER_MIX; i++)
		cluster_pod(&c, ID_NONE, SHAPE_MIX + i);
	cluster_plan(&c);
	/* The fields of pods as sent belong to the bench. */
	return resident_bytes() - before - (double)load->pods * sizeof(*c.pods);
}

/* What a child that ends measures of the load; 0 and a message: it failed. */
static double measure(const char *name, double (*here)(const void *load), const void *load)
{
	double bytes = 0;
	int fds[2], status;
	pid_t child;

	if (pipe(fds) < 0)
		return 0;
	child = fork();
	if (child == 0) {
		bytes = here(load);
		_exit(write(fds[1], &bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) ? 0 : 1);
	}
	close(fds[1]);
	if (child < 0 || read(fds[0], &bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		bytes = 0;
	close(fds[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	if (bytes <= 0)
		fprintf(stderr, "muster-bench: %s can't be measured\n", name);
	return bytes;
}

/* The cost of one of the n that the large load has more than the small one. */
static bool difference(struct bench_report *report, const char *name,
                       double (*here)(const void *load), const void *small, const void *large,
                       double n, double goal)
{
	const double a = measure(name, here, small), b = measure(name, here, large);

	if (a <= 0 || b <= 0)
		return false;
	bench_add_one(report, name, "bytes", (b - a) / n, false, goal);
	return true;
}

static bool pods(struct bench_report *report, const char *name, uint32_t n, uint32_t labels,
                 double goal)
{
	return difference(report, name, measure_core, &(struct load){ 1000, n, labels, false },
	                  &(struct load){ 1000, 2 * n, labels, false }, n, goal);
}

static bool whole(struct bench_report *report, const char *name, struct load load, double goal)
{
	double bytes = measure(name, measure_core, &load);

	if (bytes <= 0)
		return false;
	bench_add_one(report, name, "bytes", bytes, false, goal);
	return true;
}

/* In both processes; a claim is of a device of its own. */
static bool devices(struct bench_report *report, uint32_t nodes)
{
	const double n = 8.0 * nodes;

	return difference(report, "bytes-per-device", measure_core,
	                  &(struct load){ nodes, 0, 0, false }, &(struct load){ nodes, 0, 0, true }, n,
	                  16) &&
	       difference(report, "frontend-bytes-per-device", measure_live,
	                  &(struct live_load){ nodes, 0 }, &(struct live_load){ 2 * nodes, 0 }, n, 0) &&
	       difference(report, "frontend-bytes-per-claim", measure_live,
	                  &(struct live_load){ nodes, 0 }, &(struct live_load){ nodes, 8 * nodes }, n,
	                  1200);
}

bool bench_memory(struct bench_report *report, const struct bench_options *options)
{
	const uint32_t n = options->quick ? 20000 : 100000;

	if (!difference(report, "bytes-per-node", measure_core, &(struct load){ n, 0, 0, false },
	                &(struct load){ 2 * n, 0, 0, false }, n, 0) ||
	    !pods(report, "bytes-per-pod", n, 0, 192) ||
	    !pods(report, "bytes-per-pod-labels", n, 4, 0) || !devices(report, n / 20) ||
	    !whole(report, "rss-5000-50000", (struct load){ 5000, 50000, 0, false }, 16e6))
		return false;
	return options->quick ||
	       whole(report, "rss-100000-1000000", (struct load){ 100000, 1000000, 0, false }, 240e6);
}
