/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl explain: why a gang waits, and what would let it start. */
#include "ctl/diagnose/explain.h"
#include "ctl/live/live.h"
#include "ctl/offline/fetch.h"

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
	const char *socket;
	const char *add; /* "4xTYPE" */
	const char *priority;
	bool try; /* what would help is looked for as well */
	enum output output;
	enum score_policy score;
};

static void print_help(void)
{
	fputs(
		"musterctl explain [-f FILE...] [-o json] [--try] [--add-node NxNODE] [--priority N] NS/GANG\n"
		"\n"
		"Why that gang waits: what it needs and what there is, which rule keeps how many nodes from it and\n"
		"which gangs come before it.\n"
		"\n"
		"Of a live scheduler it is what that one knows and has promised to others, read out of its ledger;\n"
		"nobody is asked. With --try also what would let the gang start, found by placing everything that is\n"
		"pending anew, offline, as simulate does: the objects are those of the files, or are listed from the\n"
		"API server. Each help was tried: with it the gang starts, with half of it, it does not. Nothing is\n"
		"written anywhere.\n"
		"\n"
		"  -f FILE             these objects and no live scheduler: what kubectl get -o json or -o yaml\n"
		"                      prints; may be repeated. Implies --try\n"
		"  --socket PATH       muster-core's socket (default: $MUSTER_SOCKET, or\n"
		"                      " LINK_DEFAULT_SOCKET ", or that of musterctl up)\n"
		"  --try               what would let it start\n"
		"  --kubeconfig FILE   how to reach the API server; else $KUBECONFIG, else the pod's service account.\n"
		"                      Without --socket these objects and no live scheduler; implies --try\n"
		"  --context NAME      of the kubeconfig, instead of its current-context; as --kubeconfig\n"
		"  -o json             JSON instead of text\n"
		"  --add-node NxNODE   what if there were N more nodes like this one? Would it start?\n"
		"  --priority N        what if its pods had this priority? Both are asked of objects, as --kubeconfig\n"
		"  --score kube|pack|bestfit   whose order of nodes (default: kube)\n"
		"\n"
		"Exit status: 0 the gang is placed (or would be), 1 it waits or the live scheduler doesn't know it,\n"
		"2 bad input, 78 the live scheduler has another memory layout.\n",
		stdout);
}

enum {
	OPT_KUBECONFIG = 256,
	OPT_CONTEXT,
	OPT_SOCKET,
	OPT_TRY,
	OPT_ADD,
	OPT_PRIORITY,
	OPT_SCORE,
	OPT_HELP,
	OPT_VERSION
};

/* -1: go on; else exit with this. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "filename", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "kubeconfig", required_argument, NULL, OPT_KUBECONFIG },
		{ "context", required_argument, NULL, OPT_CONTEXT },
		{ "socket", required_argument, NULL, OPT_SOCKET },
		{ "try", no_argument, NULL, OPT_TRY },
		{ "add-node", required_argument, NULL, OPT_ADD },
		{ "priority", required_argument, NULL, OPT_PRIORITY },
		{ "score", required_argument, NULL, OPT_SCORE },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ 0 },
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
		case OPT_KUBECONFIG:
			o->access.kubeconfig = optarg;
			break;
		case OPT_CONTEXT:
			o->access.context = optarg;
			break;
		case OPT_SOCKET:
			o->socket = optarg;
			break;
		case OPT_TRY:
			o->try = true;
			break;
		case OPT_ADD:
			o->add = optarg;
			break;
		case OPT_PRIORITY:
			o->priority = optarg;
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
	if (optind + 1 != argc || strchr(argv[optind], '/') == NULL)
		return ctl_usage(argv[0], "one gang is needed, as NAMESPACE/NAME");
	o->gang = argv[optind];
	return -1;
}

/* What the flags ask for; -1: go on. */
static int take_change(const struct options *o, const char *command, const struct files *files,
                       struct change *c)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);
	char *end;
	long number;

	*c = (struct change){ 0 };
	if (o->add != NULL) {
		errno = 0;
		number = strtol(o->add, &end, 10);
		if (errno || end == o->add || *end != 'x' || number < 1 || number > 100000)
			return ctl_usage(
				command, "--add-node %s: not a number from 1 to 100000, x and the name of a node",
				o->add);
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

/* Of objects alone. */
static int explain_objects(const struct options *o, const char *command, const struct files *files)
{
	struct trial_config config = { .files = files, .offline = { .score = o->score } };
	struct explanation x = { .gang = o->gang, .config = &config };
	struct change change;
	char error[2048] = "", passed[1024];
	int rc = take_change(o, command, files, &change);

	if (rc >= 0)
		return rc;
	if (!world_make(&config, &change, &x.now, error, sizeof(error))) {
		world_free(&x.now);
		return ctl_usage(command, "%s", error);
	}
	if (offline_passed_over(x.now.offline, passed, sizeof(passed))[0] != '\0')
		fprintf(stderr, "%s: passed over: %s\n", command, passed);
	x.gangs = x.now.answers->gangs;
	x.gangs_n = x.now.answers->gangs_n;
	x.names = reason_names_of(x.now.answers->model);
	x.result = world_gang(&x.now, o->gang);
	if (x.result == NULL) {
		rc = ctl_usage(command, "%s: there is no such gang in these objects", o->gang);
	} else {
		/* With a what-if the answer is whether it starts; nothing more is tried. */
		if (x.result->state == GANG_WAITING && explain_is_queued(x.result) && o->add == NULL &&
		    o->priority == NULL)
			explain_help(&x);
		explain_print(&x, o->output);
		rc = x.result->state == GANG_PLACED ? EXIT_DONE : EXIT_NO;
	}
	world_free(&x.first);
	world_free(&x.now);
	return rc;
}

/* The objects of the files, or those of the API server when there are none. */
static bool read_objects(const struct options *o, struct files *files, char *error,
                         size_t error_bytes)
{
	bool ok = o->files_n > 0 || fetch_all(files, &o->access, error, error_bytes);

	for (size_t i = 0; ok && i < o->files_n; i++)
		ok = files_read(files, o->files[i], error, error_bytes);
	return ok && files_check(files, error, error_bytes);
}

static int explain_offline(const struct options *o, const char *command)
{
	struct files *files = files_new();
	char error[2048] = "";
	int rc = read_objects(o, files, error, sizeof(error)) ? explain_objects(o, command, files)
	                                                      : ctl_usage(command, "%s", error);

	files_free(files);
	return rc;
}

/* What would help the gang of x, by the API server's objects.  False and `error`. */
static bool try_helps(const struct options *o, struct explanation *x, struct files *files,
                      struct trial_config *config, char *error, size_t error_bytes)
{
	const struct gang_result *g;

	*config = (struct trial_config){ .files = files, .offline = { .score = o->score } };
	x->config = config;
	if (!read_objects(o, files, error, error_bytes) ||
	    !world_make(config, &(struct change){ 0 }, &x->now, error, error_bytes))
		return false;
	g = world_gang(&x->now, x->gang);
	if (g == NULL) {
		snprintf(error, error_bytes, "%s: the API server has no such gang", x->gang);
		return false;
	}
	x->starts_now = g->state == GANG_PLACED;
	if (x->starts_now)
		x->helps_tried = true;
	else
		explain_help(x);
	return true;
}

static int explain_live(const struct options *o, const struct live *l)
{
	struct explanation x = { .gang = o->gang };
	struct explain_live *picture = explain_live_take(l, &x);
	struct trial_config config;
	struct files *files = files_new();
	char error[2048] = "";
	int rc;

	if (x.result == NULL) {
		fprintf(stderr, "%s: the scheduler behind %s knows no gang %s\n", l->command, l->socket,
		        o->gang);
		rc = EXIT_NO;
	} else if (o->try && x.result->state == GANG_WAITING && explain_is_queued(x.result) &&
	           !try_helps(o, &x, files, &config, error, sizeof(error))) {
		rc = ctl_usage(l->command, "--try: %s", error);
	} else {
		explain_print(&x, o->output);
		rc =
			x.result->state == GANG_PLACED || x.result->state == GANG_BINDING ? EXIT_DONE : EXIT_NO;
	}
	world_free(&x.first);
	world_free(&x.now);
	files_free(files);
	explain_live_free(picture);
	return rc;
}

static bool names_server(const struct options *o)
{
	return o->access.kubeconfig != NULL || o->access.context != NULL;
}

/* Is a live scheduler to be asked?  None for who names objects, or wants them changed. */
static bool wants_live(const struct options *o)
{
	return o->files_n == 0 && o->add == NULL && o->priority == NULL &&
	       (o->socket != NULL || !names_server(o));
}

int explain_main(int argc, char **argv)
{
	struct options o = { .score = SCORE_KUBE };
	struct live l = { .command = argv[0] };
	int rc = take_options(&o, argc, argv);

	if (rc == -1 && wants_live(&o)) {
		o.try = o.try || names_server(&o);
		l.socket = live_socket(o.socket);
		rc = live_open(&l);
		if (rc == EXIT_DONE) {
			rc = explain_live(&o, &l);
			live_close(&l);
		} else if (rc == EXIT_NO && o.socket == NULL) {
			fprintf(stderr, "%s: so the API server's objects are placed here\n", argv[0]);
			rc = -1;
		}
	}
	if (rc == -1)
		rc = explain_offline(&o, argv[0]);
	free(o.files);
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
