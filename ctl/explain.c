/* musterctl explain: why a gang waits, and what would let it start. */
#include "ctl/explain.h"
#include "ctl/fetch.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct access_options access;
	const char **files;
	size_t files_n;
	const char *gang;
	const char *add; /* "4xTYPE" */
	const char *priority;
	enum output output;
	enum score_policy score;
};

static void print_help(void)
{
	fputs("musterctl explain [-f FILE...] [-o json] [--add-node NxNODE] [--priority N] NS/GANG\n"
	      "\n"
	      "Places everything that is pending in these objects, or in the cluster if no file is given, as\n"
	      "simulate does: offline, nothing is written anywhere. Tells\n"
	      "why that gang waits: what it needs and what there is, which rule keeps how many nodes from it,\n"
	      "which gangs come before it, and what would let it start. Each help was tried: with it the gang\n"
	      "starts, with half of it, it does not.\n"
	      "\n"
	      "  -f FILE             what kubectl get -o json or -o yaml prints; may be repeated\n"
	      "  --kubeconfig FILE   without -f: how to reach the API server; else $KUBECONFIG, else the pod's\n"
	      "                      service account\n"
	      "  --context NAME      of the kubeconfig, instead of its current-context\n"
	      "  -o json             JSON instead of text\n"
	      "  --add-node NxNODE   what if there were N more nodes like this one? Would it start?\n"
	      "  --priority N        what if its pods had this priority?\n"
	      "  --score NAME        kube (default), pack or bestfit\n"
	      "\n"
	      "Exit status: 0 the gang is placed (or would be), 1 it waits, 2 bad input.\n",
	      stdout);
}

enum { OPT_KUBECONFIG = 256, OPT_CONTEXT, OPT_ADD, OPT_PRIORITY, OPT_SCORE, OPT_HELP, OPT_VERSION };

/* -1: go on; else exit with this. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{"filename", required_argument, NULL, 'f'},
		{"output", required_argument, NULL, 'o'},
		{"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
		{"context", required_argument, NULL, OPT_CONTEXT},
		{"add-node", required_argument, NULL, OPT_ADD},
		{"priority", required_argument, NULL, OPT_PRIORITY},
		{"score", required_argument, NULL, OPT_SCORE},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "f:o:h", flags, NULL)) != -1) {
		switch (c) {
		case 'f':
			o->files = ctl_grow(o->files, o->files_n + 1, sizeof(*o->files));
			o->files[o->files_n++] = optarg;
			break;
		case 'o':
			if (!ctl_output(argv[0], optarg, &o->output))
				return EXIT_USAGE;
			break;
		case OPT_KUBECONFIG: o->access.kubeconfig = optarg; break;
		case OPT_CONTEXT: o->access.context = optarg; break;
		case OPT_ADD: o->add = optarg; break;
		case OPT_PRIORITY: o->priority = optarg; break;
		case OPT_SCORE:
			if (!offline_score(argv[0], optarg, &o->score))
				return EXIT_USAGE;
			break;
		case 'h':
		case OPT_HELP: print_help(); return EXIT_DONE;
		case OPT_VERSION: puts("musterctl " MUSTER_VERSION); return EXIT_DONE;
		default: return EXIT_USAGE; /* getopt has said what is wrong */
		}
	}
	if (optind + 1 != argc || strchr(argv[optind], '/') == NULL)
		return ctl_usage(argv[0], "one gang is needed, as NAMESPACE/NAME");
	o->gang = argv[optind];
	return -1;
}

/* What the flags ask for; -1: go on. */
static int take_change(const struct options *o, const char *command, const struct files *files, struct change *c)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);
	char *end;
	long number;

	*c = (struct change){0};
	if (o->add != NULL) {
		errno = 0;
		number = strtol(o->add, &end, 10);
		if (errno || end == o->add || *end != 'x' || number < 1 || number > 100000)
			return ctl_usage(command, "--add-node %s: not a number from 1 to 100000, x and the name of a node", o->add);
		c->nodes = (uint32_t)number;
		for (size_t i = 0; i < n && c->like == NULL; i++)
			if (strcmp(objects[i].kind, "Node") == 0 && strcmp(objects[i].name, end + 1) == 0)
				c->like = &objects[i];
		if (c->like == NULL)
			return ctl_usage(command, "--add-node %s: there is no node %s", o->add, end + 1);
	}
	if (o->priority != NULL) {
		errno = 0;
		number = strtol(o->priority, &end, 10);
		if (errno || end == o->priority || *end || number < INT32_MIN || number > INT32_MAX)
			return ctl_usage(command, "--priority %s: not a number of 32 bits", o->priority);
		c->favoured = o->gang;
		c->priority = (int32_t)number;
	}
	return -1;
}

static int explain(const struct options *o, const char *command, const struct files *files)
{
	struct trial_config config = {.files = files, .offline = {.score = o->score}};
	struct explanation x = {.gang = o->gang, .config = &config};
	struct change change;
	char error[2048], passed[1024];
	int rc = take_change(o, command, files, &change);

	if (rc >= 0)
		return rc;
	if (!world_make(&config, &change, &x.now, error, sizeof(error))) {
		world_free(&x.now);
		return ctl_usage(command, "%s", error);
	}
	if (offline_passed_over(x.now.offline, passed, sizeof(passed))[0] != '\0')
		fprintf(stderr, "%s: passed over: %s\n", command, passed);
	x.result = world_gang(&x.now, o->gang);
	if (x.result == NULL) {
		rc = ctl_usage(command, "%s: there is no such gang in these objects", o->gang);
	} else {
		/* With a what-if the answer is whether it starts; nothing more is tried. */
		if (x.result->reason != NULL && o->add == NULL && o->priority == NULL)
			explain_help(&x);
		explain_print(&x, o->output);
		rc = x.result->state == GANG_PLACED ? EXIT_DONE : EXIT_NO;
	}
	world_free(&x.first);
	world_free(&x.now);
	return rc;
}

int explain_main(int argc, char **argv)
{
	struct options o = {.score = SCORE_KUBE};
	struct files *files;
	char error[2048];
	int rc = take_options(&o, argc, argv);

	if (rc == -1) {
		bool ok = true;

		files = files_new();
		if (o.files_n == 0)
			ok = fetch_all(files, &o.access, error, sizeof(error));
		for (size_t i = 0; ok && i < o.files_n; i++)
			ok = files_read(files, o.files[i], error, sizeof(error));
		ok = ok && files_check(files, error, sizeof(error));
		rc = ok ? explain(&o, argv[0], files) : ctl_usage(argv[0], "%s", error);
		files_free(files);
	}
	free(o.files);
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
