/* SPDX-License-Identifier: Apache-2.0 */
/* muster-hour: a large cluster for an hour of virtual time. */
#include "tests/hour/hour.h"

#include "bench/bench.h"

#include <getopt.h>

static const char help[] =
	"Usage: muster-hour [-o json] [options]\n"
	"\n"
	"The code of both daemons and of muster-apisim on virtual time: pods come at a steady rate, half of\n"
	"them as members of gangs, run and end, while nodes join and leave.  Nothing fails; tests/sim has\n"
	"the faults.  Prints rows like muster-bench, and the longest turns of the core's loop on standard\n"
	"error.\n"
	"\n"
	"  --nodes N      (130000)\n"
	"  --rate N       pods created a second (1000)\n"
	"  --seconds N    of virtual time (3600)\n"
	"  --life N       seconds that a pod runs on average (300)\n"
	"  --gang N       members of the largest gang; sizes are 2, 4, 8 ... (512)\n"
	"  --churn N      nodes that join a minute; as many leave (60)\n"
	"  -o json        JSON instead of a table\n"
	"\n"
	"Exit status: 0 all held, 1 a node was overfilled, a gang torn or a sum wrong, 2 usage.\n";

static bool number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || n == 0 || n > 1000000)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* An exit code, or -1 to go on. */
static int read_options(struct hour_settings *s, bool *json, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "nodes", required_argument, NULL, 'n' },   { "rate", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 's' }, { "life", required_argument, NULL, 'l' },
		{ "gang", required_argument, NULL, 'g' },    { "churn", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },          { 0 },
	};
	bool good = true;
	int c;

	while (good && (c = getopt_long(argc, argv, "o:", flags, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == 'o')
			good = *json = strcmp(optarg, "json") == 0;
		else
			good = c == 'n'   ? number(optarg, &s->nodes)
			       : c == 'r' ? number(optarg, &s->rate)
			       : c == 's' ? number(optarg, &s->seconds)
			       : c == 'l' ? number(optarg, &s->life_s)
			       : c == 'g' ? number(optarg, &s->gang)
			       : c == 'c' ? number(optarg, &s->churn)
			                  : false;
	}
	if (good && optind == argc)
		return -1;
	fputs(help, stderr);
	return 2;
}

static struct hour_settings settings = {
	.nodes = 130000, .rate = 1000, .seconds = 3600, .gang = 512, .churn = 60, .life_s = 300
};

/* Of bench_repeat(), which adds the machine's load and stalls. */
static bool run(struct bench_report *report, const struct bench_options *none)
{
	return hour_run(report, &settings);
}

int main(int argc, char **argv)
{
	static struct bench_report report = { .bench = "hour" };
	bool json = false;
	int rc = read_options(&settings, &json, argc, argv);

	if (rc >= 0)
		return rc;
	if (!bench_repeat(&report, run, NULL, 1))
		return 1;
	bench_print(&report, json);
	return 0;
}
