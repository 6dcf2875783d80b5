/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl simulate: place everything pending in files of objects. */
#include "ctl/offline/simulate.h"

#include "ctl/objects/files.h"
#include "ctl/offline/offline.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char **files;
	size_t files_n;
	const char **names;
	size_t names_n;
	enum output output;
	enum score_policy score;
};

static void print_help(void)
{
	fputs(
		"musterctl simulate -f FILE... [-o json] [--scheduler-name NAME]...\n"
		"                   [--score kube|pack|bestfit]\n"
		"\n"
		"Places everything that is pending in these objects, offline, by the code that the\n"
		"daemons run. Pods with a node stay where they are. Nothing is written anywhere.\n"
		"\n"
		"  -f FILE                  what kubectl get -o json or -o yaml prints: a List, one\n"
		"                           object or many documents, .gz too; - is standard input\n"
		"  -o json                  JSON instead of tables; cpu is in milli, memory in bytes\n"
		"  --scheduler-name NAME    only pods that name this scheduler; may be repeated\n"
		"                           (default: every pending pod)\n"
		"  --score NAME             kube: the sum of kube-scheduler's default profile (default);\n"
		"                           pack: the fullest nodes first; bestfit: the least that is left\n"
		"\n"
		"Exit status: 0 everything pending was placed, 1 something waits, 2 bad input.\n",
		stdout);
}

static void add_text(const char ***list, size_t *n, const char *text)
{
	*list = ctl_grow(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = text;
}

enum { OPT_NAME = 256, OPT_SCORE, OPT_HELP, OPT_VERSION };

/* -1: go on; else exit with this. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "filename", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "scheduler-name", required_argument, NULL, OPT_NAME },
		{ "score", required_argument, NULL, OPT_SCORE },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "f:o:h", flags, NULL)) != -1) {
		switch (c) {
		case 'f':
			add_text(&o->files, &o->files_n, optarg);
			break;
		case 'o':
			if (!ctl_output(argv[0], optarg, &o->output))
				return EXIT_USAGE;
			break;
		case OPT_NAME:
			add_text(&o->names, &o->names_n, optarg);
			break;
		case OPT_SCORE:
			if (!offline_score(argv[0], optarg, &o->score))
				return EXIT_USAGE;
			break;
		case 'h':
		case OPT_HELP:
			print_help();
			return EXIT_DONE;
		case OPT_VERSION:
			puts("musterctl " MUSTER_VERSION);
			return EXIT_DONE;
		default:
			return EXIT_USAGE; /* getopt has said what is wrong */
		}
	}
	for (; optind < argc; optind++)
		add_text(&o->files, &o->files_n, argv[optind]);
	if (o->files_n == 0)
		return ctl_usage(argv[0], "-f FILE is missing; see %s --help", argv[0]);
	return -1;
}

static int place(const struct options *o, const char *command, struct offline *offline)
{
	struct simulation *s;
	char text[1024];
	int rc;

	if (!offline_place(offline, text, sizeof(text)))
		return ctl_usage(command, "%s", text);
	if (offline_passed_over(offline, text, sizeof(text))[0] != '\0')
		fprintf(stderr, "%s: passed over: %s\n", command, text);
	s = simulation_new(offline);
	simulation_print(s, o->output);
	rc = s->waiting_n == 0 ? EXIT_DONE : EXIT_NO;
	simulation_free(s);
	return rc;
}

static int simulate(const struct options *o, const char *command)
{
	struct offline_config config = {
		.scheduler_names = o->names,
		.scheduler_names_n = o->names_n,
		.score = o->score,
	};
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	char error[2048];
	int rc;

	if (offline_read(offline, files, o->files, o->files_n, error, sizeof(error)))
		rc = place(o, command, offline);
	else
		rc = ctl_usage(command, "%s", error);
	offline_free(offline);
	files_free(files);
	return rc;
}

int simulate_main(int argc, char **argv)
{
	struct options o = { .score = SCORE_KUBE };
	int rc = take_options(&o, argc, argv);

	if (rc == -1)
		rc = simulate(&o, argv[0]);
	free(o.files);
	free(o.names);
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
