/* SPDX-License-Identifier: Apache-2.0 */
/* muster-sim: many seeds, one after the other. */
#include "tests/sim/beside.h"
#include "tests/sim/sim.h"

#include "ipc/clock.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each run makes its cores and trees anew; in pages of 4 KiB the kernel's faults are a third of it.
 * Read by jemalloc. */
extern const char *malloc_conf;
__attribute__((visibility("default"))) const char *malloc_conf = "thp:always";

struct options {
	uint64_t from, seeds, seconds;
	bool all, keep_going, shrink;
};

static const char help[] =
	"Usage: muster-sim [--seeds N] [--from K] [--seconds S] [--all] [--keep-going] [--no-shrink]\n"
	"\n"
	"Runs muster's core and the frontend's logic with an API server, kubelets and faults, on virtual\n"
	"time; each run is a function of its seed.\n"
	"\n"
	"  --seeds N      how many (100)\n"
	"  --from K       the first (1)\n"
	"  --seconds S    stop after so long; 0: do not (0)\n"
	"  --all          print the whole story of each run\n"
	"  --keep-going   go on after a failure\n"
	"  --no-shrink    print the story as it was, without looking for a shorter one\n"
	"\n"
	"Exit status: 0 all held, 1 something did not, 2 usage.\n";

static bool number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' && text[0] != '-';
}

static int read_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "seeds", required_argument, NULL, 'n' },   { "from", required_argument, NULL, 'f' },
		{ "seconds", required_argument, NULL, 's' }, { "all", no_argument, NULL, 'a' },
		{ "keep-going", no_argument, NULL, 'k' },    { "no-shrink", no_argument, NULL, 'S' },
		{ "help", no_argument, NULL, 'h' },          { 0 },
	};
	bool good = true;
	int c;

	*o = (struct options){ .from = 1, .seeds = 100, .shrink = true };
	while (good && (c = getopt_long(argc, argv, "", flags, NULL)) != -1) {
		switch (c) {
		case 'n':
			good = number(optarg, &o->seeds);
			break;
		case 'f':
			good = number(optarg, &o->from);
			break;
		case 's':
			good = number(optarg, &o->seconds);
			break;
		case 'a':
			o->all = true;
			break;
		case 'k':
			o->keep_going = true;
			break;
		case 'S':
			o->shrink = false;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			good = false;
		}
	}
	if (good && optind == argc)
		return -1;
	fputs(help, stderr);
	return 2;
}

static double now_s(void)
{
	return (double)clock_monotonic_ns() / 1e9;
}

static void tell_failure(const struct script *plan, const struct options *o, const char *why)
{
	struct script shorter;
	struct outcome out;

	if (o->shrink) {
		script_shrink(plan, why, 400, &shorter);
		printf("seed %llu: %s\n%zu of %zu actions are enough:\n", (unsigned long long)plan->seed,
		       why, shorter.n, plan->n);
		sim_run(&shorter, true, o->all, &out);
		printf("seed %llu: %s\n", (unsigned long long)plan->seed, out.why);
		script_free(&shorter);
	} else {
		sim_run(plan, true, o->all, &out);
	}
	printf("seed %llu: %s\nagain: muster-sim --from %llu --seeds 1\n",
	       (unsigned long long)plan->seed, why, (unsigned long long)plan->seed);
	fflush(stdout);
}

/* Two runs have to be equal, or the result depends on more than the seed. */
static bool is_repeatable(const struct script *plan, uint64_t hash)
{
	struct outcome again;

	sim_run(plan, false, false, &again);
	return again.hash == hash;
}

static void outcome_add(struct outcome *sum, const struct outcome *out)
{
	sum->steps += out->steps;
	sum->revisions += out->revisions;
	sum->virtual_ns += out->virtual_ns;
	sum->binds += out->binds;
	sum->crashes += out->crashes;
	sum->faults += out->faults;
	sum->claimed += out->claimed;
	sum->twice += out->twice;
	sum->unready += out->unready;
	sum->changes += out->changes;
	for (int t = 0; t < TEARS; t++) {
		sum->gangs[t] += out->gangs[t];
		sum->excused[t] += out->excused[t];
	}
	for (int w = 0; w < EXCUSES; w++)
		sum->excuses[w] += out->excuses[w];
	sum->hash = sim_mix(sum->hash ^ out->hash);
}

static void print_sums(const struct outcome *sum, uint64_t passed, uint64_t failed)
{
	struct core_preemption preempted;

	printf(
		"gangs bound: %llu whole, %llu with too few members, %llu torn by a person, %llu by others, "
		"%llu by nodes\n",
		(unsigned long long)sum->gangs[TEAR_NONE], (unsigned long long)sum->gangs[TEAR_SHORT],
		(unsigned long long)sum->gangs[TEAR_PERSON], (unsigned long long)sum->gangs[TEAR_OTHERS],
		(unsigned long long)sum->gangs[TEAR_NODES]);
	printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
	printf(
		"excused: %llu others, %llu nodes, %llu evictions that a death cut short; a start would bind "
		"%llu that wait behind a gang that is before it, %llu of gangs that others began; %llu "
		"bindings of those above a queue's limit\n",
		(unsigned long long)(sum->excused[TEAR_OTHERS] + sum->excused[TEAR_PERSON]),
		(unsigned long long)sum->excused[TEAR_NODES], (unsigned long long)sum->excused[TEAR_DEATH],
		(unsigned long long)sum->excuses[EXCUSE_BEHIND],
		(unsigned long long)sum->excuses[EXCUSE_BEGUN],
		(unsigned long long)sum->excuses[EXCUSE_QUEUE]);
	printf("claims: %llu pods bound with devices; excused: %llu times another scheduler gave one "
	       "twice, %llu of one that was ready just before\n",
	       (unsigned long long)sum->claimed, (unsigned long long)sum->twice,
	       (unsigned long long)sum->unready);
	if (sum->changes > 0)
		printf("versions: %llu times an instance went on with the other one\n",
		       (unsigned long long)sum->changes);
	printf("searches for victims: %llu proved a set\n", (unsigned long long)beside_found());
	beside_preempted(&preempted);
	printf("nominations: %llu, %llu of them placed on the room that was made; %llu evictions, %llu "
	       "for lone pods, %llu wasted; %llu stale answers\n",
	       (unsigned long long)preempted.nominations, (unsigned long long)preempted.placed,
	       (unsigned long long)preempted.evictions, (unsigned long long)beside_lone(),
	       (unsigned long long)preempted.wasted, (unsigned long long)preempted.stale);
}

int main(int argc, char **argv)
{
	struct outcome out, sum = { 0 };
	struct options o;
	uint64_t failed = 0, ran = 0;
	double start = now_s(), took;
	int rc = read_options(&o, argc, argv);

	if (rc >= 0)
		return rc;
	for (uint64_t i = 0; i < o.seeds && (o.seconds == 0 || now_s() - start < (double)o.seconds);
	     i++) {
		struct script plan;

		script_make(&plan, o.from + i);
		sim_run(&plan, o.all, o.all, &out);
		ran++;
		outcome_add(&sum, &out);
		if (out.failed) {
			failed++;
			tell_failure(&plan, &o, out.why);
		} else if (i % 64 == 0 && !is_repeatable(&plan, out.hash)) {
			failed++;
			printf("seed %llu: two runs of it differ\n", (unsigned long long)plan.seed);
		}
		script_free(&plan);
		if (failed > 0 && !o.keep_going)
			break;
	}
	took = now_s() - start;
	printf(
		"seeds %llu to %llu: %.0f virtual s, %llu steps, %llu revisions, %llu bindings, %llu crashes, %llu faults of "
		"requests; %.0f seeds a minute; hash %016llx\n",
		(unsigned long long)o.from, (unsigned long long)(o.from + ran - 1),
		(double)sum.virtual_ns * 1e-9, (unsigned long long)sum.steps,
		(unsigned long long)sum.revisions, (unsigned long long)sum.binds,
		(unsigned long long)sum.crashes, (unsigned long long)sum.faults, (double)ran / took * 60,
		(unsigned long long)sum.hash);
	print_sums(&sum, ran - failed, failed);
	return failed > 0;
}
