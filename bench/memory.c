/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes does the core take for a node and for a pod? Resident memory of a process that
 * holds one cluster, the ledger included, minus that of one that holds another; each is a child
 * that ends. Limits are as large as the cluster, and the number of columns is the default of
 * muster-core. */
#include "bench/bench.h"
#include "bench/cluster.h"

#include <sys/wait.h>
#include <unistd.h>

#define RESOURCES 32u /* the default of muster-core */

struct load {
	uint32_t nodes, pods, labels;
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

/* 0: it failed. */
static double measure_here(const struct load *load)
{
	struct cluster_setup setup = { .nodes = load->nodes,
		                           .pods_more = load->pods + CLUSTER_MIX,
		                           .resources = RESOURCES,
		                           .bare = true };
	double before = resident_bytes();
	struct cluster c;

	if (!cluster_init(&c, &setup))
		return 0;
	for (uint32_t i = 0; i < load->pods; i++)
		cluster_pod_labelled(&c, SHAPE_MIX + i % CLUSTER_MIX, load->labels);
	/* Sixteen shapes are planned, so that they have their indices. */
	for (uint32_t i = 0; i < CLUSTER_MIX; i++)
		cluster_pod(&c, ID_NONE, SHAPE_MIX + i);
	cluster_plan(&c);
	/* The fields of pods as sent belong to the bench. */
	return resident_bytes() - before - (double)load->pods * sizeof(*c.pods);
}

static double measure(const struct load *load)
{
	double bytes = 0;
	int fds[2], status;
	pid_t child;

	if (pipe(fds) < 0)
		return 0;
	child = fork();
	if (child == 0) {
		bytes = measure_here(load);
		_exit(write(fds[1], &bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) ? 0 : 1);
	}
	close(fds[1]);
	if (child < 0 || read(fds[0], &bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		bytes = 0;
	close(fds[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	if (bytes <= 0)
		fprintf(stderr, "muster-bench: can't measure %u nodes and %u pods\n", load->nodes,
		        load->pods);
	return bytes;
}

/* The cost of one more, from a small and a large load. */
static bool difference(struct bench_report *report, const char *name, struct load small,
                       struct load large, double n, double goal)
{
	double a = measure(&small), b = measure(&large);

	if (a <= 0 || b <= 0)
		return false;
	bench_add_one(report, name, "bytes", (b - a) / n, false, goal);
	return true;
}

static bool whole(struct bench_report *report, const char *name, struct load load, double goal)
{
	double bytes = measure(&load);

	if (bytes <= 0)
		return false;
	bench_add_one(report, name, "bytes", bytes, false, goal);
	return true;
}

bool bench_memory(struct bench_report *report, const struct bench_options *options)
{
	const uint32_t n = options->quick ? 20000 : 100000;

	if (!difference(report, "bytes-per-node", (struct load){ n, 0, 0 },
	                (struct load){ 2 * n, 0, 0 }, n, 0) ||
	    !difference(report, "bytes-per-pod", (struct load){ 1000, n, 0 },
	                (struct load){ 1000, 2 * n, 0 }, n, 192) ||
	    !difference(report, "bytes-per-pod-labels", (struct load){ 1000, n, 4 },
	                (struct load){ 1000, 2 * n, 4 }, n, 0) ||
	    !whole(report, "rss-5000-50000", (struct load){ 5000, 50000, 0 }, 16e6))
		return false;
	return options->quick ||
	       whole(report, "rss-100000-1000000", (struct load){ 100000, 1000000, 0 }, 240e6);
}
