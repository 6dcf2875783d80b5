/* muster-bench: how fast, and how sure we are. */
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	const char *what;
	bool (*run)(struct bench_report *report);
} benches[] = {
	{ "ring", "records from one CPU to another: latency and rate", bench_ring },
	{ "decide", "gangs and pods planned and reserved by the core", bench_decide },
};
#define BENCHES_N (sizeof(benches) / sizeof(benches[0]))

static void usage(FILE *out)
{
	fputs("usage: muster-bench NAME [-o json]\n\n", out);
	for (size_t i = 0; i < BENCHES_N; i++)
		fprintf(out, "  %-8s %s\n", benches[i].name, benches[i].what);
	fputs("  all      each of them; in JSON an array\n\n"
	      "Not there yet: pipeline sustained memory e2e compare openb\n\n"
	      "Every table names the CPU, the load and the stall floor of its own run.\n",
	      out);
}

static bool run(size_t i, bool json)
{
	static struct bench_report report;

	memset(&report, 0, sizeof(report));
	report.bench = benches[i].name;
	if (!benches[i].run(&report))
		return false;
	bench_print(&report, json);
	return true;
}

int main(int argc, char **argv)
{
	const char *name = NULL;
	bool json = false, known = false, all;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			usage(stdout);
			return 0;
		} else if (strcmp(argv[i], "--version") == 0) {
			puts("muster-bench " MUSTER_VERSION);
			return 0;
		} else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0) {
			json = true;
			i++;
		} else if (argv[i][0] != '-' && name == NULL) {
			name = argv[i];
		} else {
			fprintf(stderr, "muster-bench: unexpected argument \"%s\"; see --help\n", argv[i]);
			return 2;
		}
	}
	if (name == NULL) {
		usage(stderr);
		return 2;
	}
	all = strcmp(name, "all") == 0;
	for (size_t i = 0; i < BENCHES_N; i++) {
		if (strcmp(name, benches[i].name) != 0 && !all)
			continue;
		if (all && json)
			puts(known ? "," : "[");
		known = true;
		if (!run(i, json))
			return 1;
	}
	if (all && json)
		puts("]");
	if (!known) {
		fprintf(stderr, "muster-bench: no bench named \"%s\"; see --help\n", name);
		return 2;
	}
	return 0;
}
