/* SPDX-License-Identifier: Apache-2.0 */
/* muster-bench: how fast, and how sure we are. */
#include "bench/bench.h"
#include "core/daemon/policy.h"

#define USAGE 2

static const struct {
	const char *name;
	const char *what;
	bool (*run)(struct bench_report *report, const struct bench_options *options);
	bool alone; /* not part of `all`: no time is measured, or it takes minutes */
} benches[] = {
	{ "ring", "records from one CPU to another: latency and rate", bench_ring, false },
	{ "decide", "gangs and pods planned and reserved by the core", bench_decide, false },
	{ "devices", "claims of devices, in the core and in the frontend", bench_devices, false },
	{ "pipeline", "event in to binding out, through the rings and the core's loop", bench_pipeline,
	  false },
	{ "sustained", "pods per second through the core, whole lives", bench_sustained, false },
	{ "memory", "bytes of the core for a node and for a pod", bench_memory, false },
	{ "e2e", "pods through a whole API server: muster-apisim, or --kubeconfig", bench_e2e, false },
	{ "binds", "bindings a second at 10 and 30 ms a request, with a window of 12 beside",
	  bench_binds, true },
	{ "extender", "questions of kube-scheduler, node names alone, as answered over HTTP",
	  bench_extender, false },
	{ "compare", "muster and kube-scheduler on a real API server", bench_compare, true },
	{ "compare-devices", "the same with a gang whose members have a claim for a device each",
	  bench_compare_devices, true },
	{ "trace",
	  "a log of jobs, or a recording, through the core in virtual time: waits, promises kept",
	  bench_trace, true },
	{ "queues", "what queues and promised starts cost the core", bench_queues, true },
	{ "preempt", "searches for victims, and what an answer costs the core", bench_preempt, true },
	{ "openb", "share of GPUs that policies for shares allocate on a real trace", bench_openb,
	  true },
};
#define BENCHES_N (sizeof(benches) / sizeof(benches[0]))

struct arguments {
	const char *name;
	bool json;
	unsigned runs;
	struct bench_options options;
};

static void usage(FILE *out)
{
	fputs("usage: muster-bench NAME [-o json] [options]\n"
	      "       muster-bench trace FILE [--nodes N] [--promise-depth N] [options]\n\n",
	      out);
	for (size_t i = 0; i < BENCHES_N; i++)
		fprintf(out, "  %-15s %s%s\n", benches[i].name, benches[i].what,
		        benches[i].alone ? "; not part of all" : "");
	fputs(
		"  all             each of them; in JSON an array\n\n"
		"  --runs N           so many times (1); best of all, median of medians and tails\n"
		"  --quick            leave out what takes long or several GB of memory\n"
		"  --nodes N, --pods N, --gang N   where a bench has such a number: another one\n"
		"  --kubeconfig FILE  e2e: on this API server instead of muster-apisim, and with its\n"
		"                     nodes; --nodes N makes N more for the time of the bench\n"
		"  --rate N           e2e: create so many pods a second, whatever their latency (500)\n"
		"  --hgrm FILE        e2e: write the latencies at that rate as HdrHistogram percentiles\n"
		"  --data DIR         openb: where the trace lies, if not in the source tree\n"
		"  --only NAME        openb: one trace; preempt: one row, without its number of nodes\n"
		"  --promise-depth N  trace: so many jobs that wait are promised a start (64, or as\n"
		"                     recorded); 0: none\n"
		"  --true-times       trace: limits are the run times, as if users knew them\n"
		"  --add-nodes N      trace: so many nodes more than --nodes or the log say; of a\n"
		"                     recording as most of its nodes are\n"
		"  --score NAME       trace: kube (default; of a recording its own), pack, bestfit, fgd\n"
		"                     or muster\n"
		"  --queues FILE      trace: the log's users share by these queues, in place of a\n"
		"                     recording's; users: each has one\n"
		"  --reclaim MODE     trace: with --queues, guarantee or fair: what runs is taken back, and\n"
		"                     starts again later (off)\n"
		"  --busy USER        trace: also with each job of this user --busy-times N times (10):\n"
		"                     how much longer do the others wait?\n"
		"  --gantt FILE       trace: write a Gantt chart as SVG\n"
		"  --help, --version\n\n"
		"Every table names the CPU, the load and the stall floor of its own run.\n",
		out);
}

static bool number(const char *flag, const char *text, uint32_t *out)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || n == 0 || n > 10000000) {
		fprintf(stderr, "muster-bench: %s \"%s\" is not a number from 1 to 10000000\n", flag, text);
		return false;
	}
	*out = (uint32_t)n;
	return true;
}

static bool score(const char *text, uint32_t *out)
{
	enum score_policy policy;

	if (!policy_find(text, &policy)) {
		fprintf(stderr, "muster-bench: --score \"%s\" is none of " POLICY_NAMES "\n", text);
		return false;
	}
	*out = policy;
	return true;
}

static bool depth(const char *text, struct bench_options *o)
{
	o->has_depth = true;
	if (strcmp(text, "0") != 0)
		return number("--promise-depth", text, &o->depth);
	o->depth = 0;
	return true;
}

static bool reclaim(const char *name, uint32_t *out)
{
	const bool fair = strcmp(name, "fair") == 0;

	if (strcmp(name, "off") != 0 && strcmp(name, "guarantee") != 0 && !fair) {
		fprintf(stderr, "muster-bench: --reclaim \"%s\": off, guarantee or fair\n", name);
		return false;
	}
	*out = strcmp(name, "off") == 0 ? 0 : PREEMPTION_RECLAIM | (fair ? PREEMPTION_FAIR : 0u);
	return true;
}

/* A flag with a value. False and a message when it is unknown or invalid. */
static bool read_flag(struct arguments *a, const char *flag, const char *value)
{
	struct bench_options *o = &a->options;
	uint32_t n;

	if (strcmp(flag, "--kubeconfig") == 0)
		o->kubeconfig = value;
	else if (strcmp(flag, "--data") == 0)
		o->data = value;
	else if (strcmp(flag, "--only") == 0)
		o->only = value;
	else if (strcmp(flag, "--hgrm") == 0)
		o->hgrm = value;
	else if (strcmp(flag, "--rate") == 0)
		return number(flag, value, &o->rate);
	else if (strcmp(flag, "--gantt") == 0)
		o->gantt = value;
	else if (strcmp(flag, "--queues") == 0)
		o->queues = value;
	else if (strcmp(flag, "--reclaim") == 0)
		return reclaim(value, &o->reclaim);
	else if (strcmp(flag, "--busy") == 0)
		o->busy = value;
	else if (strcmp(flag, "--busy-times") == 0)
		return number(flag, value, &o->busy_times);
	else if (strcmp(flag, "--score") == 0)
		return (o->has_score = score(value, &o->score));
	else if (strcmp(flag, "--promise-depth") == 0)
		return depth(value, o);
	else if (strcmp(flag, "--add-nodes") == 0)
		return number(flag, value, &o->add_nodes);
	else if (strcmp(flag, "--nodes") == 0)
		return number(flag, value, &o->nodes);
	else if (strcmp(flag, "--pods") == 0)
		return number(flag, value, &o->pods);
	else if (strcmp(flag, "--gang") == 0)
		return number(flag, value, &o->gang);
	else if (strcmp(flag, "--runs") == 0 && number(flag, value, &n) && n <= 99)
		a->runs = n;
	else if (strcmp(flag, "-o") == 0 && strcmp(value, "json") == 0)
		a->json = true;
	else if (strcmp(flag, "-o") == 0 && strcmp(value, "text") == 0)
		a->json = false;
	else {
		fprintf(stderr, "muster-bench: unexpected argument \"%s %s\"; see --help\n", flag, value);
		return false;
	}
	return true;
}

/* An exit code, or -1 to go on. */
static int read_arguments(struct arguments *a, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			usage(stdout);
			return 0;
		}
		if (strcmp(argv[i], "--version") == 0) {
			puts("muster-bench " MUSTER_VERSION);
			return 0;
		}
		if (strcmp(argv[i], "--quick") == 0) {
			a->options.quick = true;
		} else if (strcmp(argv[i], "--true-times") == 0) {
			a->options.true_times = true;
		} else if (argv[i][0] == '-' && i + 1 < argc) {
			if (!read_flag(a, argv[i], argv[i + 1]))
				return USAGE;
			i++;
		} else if (argv[i][0] != '-' && a->name == NULL) {
			a->name = argv[i];
		} else if (argv[i][0] != '-' && a->options.file == NULL && strcmp(a->name, "trace") == 0) {
			a->options.file = argv[i];
		} else {
			fprintf(stderr, "muster-bench: unexpected argument \"%s\"; see --help\n", argv[i]);
			return USAGE;
		}
	}
	if (a->name && strcmp(a->name, "trace") == 0 && !a->options.file) {
		fputs("muster-bench: trace: which log?  see --help\n", stderr);
		return USAGE;
	}
	if (a->name)
		return -1;
	usage(stderr);
	return USAGE;
}

/* An exit code. */
static int run(size_t i, const struct arguments *a)
{
	static struct bench_report report;

	memset(&report, 0, sizeof(report));
	report.bench = benches[i].name;
	if (!bench_repeat(&report, benches[i].run, &a->options, a->runs))
		return report.bad_input ? USAGE : 1;
	bench_print(&report, a->json);
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments a = { .runs = 1, .options = { .depth = 64, .busy_times = 10 } };
	int rc = read_arguments(&a, argc, argv);
	bool known = false, all;

	if (rc >= 0)
		return rc;
	all = strcmp(a.name, "all") == 0;
	for (size_t i = 0; i < BENCHES_N; i++) {
		if (all ? benches[i].alone : strcmp(a.name, benches[i].name) != 0)
			continue;
		if (all && a.json)
			puts(known ? "," : "[");
		known = true;
		rc = run(i, &a);
		if (rc != 0)
			return rc;
		fflush(stdout);
	}
	if (all && a.json)
		puts("]");
	if (!known) {
		fprintf(stderr, "muster-bench: no bench named \"%s\"; see --help\n", a.name);
		return USAGE;
	}
	return 0;
}
