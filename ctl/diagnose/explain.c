/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl explain: why a gang waits, and what would let it start. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/offline/fetch.h"
#include "ctl/live/http.h"
#include "ctl/live/live.h"
#include "ctl/preempt/preempt.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct live live;
	struct access_options access;
	struct arguments files;
	const char *gang;
	const char *add; /* "4xNODE" */
	const char *priority;
	struct arguments what_if;
	struct arguments schedulers;
	const char *listen; /* NULL: the default */
	bool try;           /* also look for what would help */
	bool asks_server;   /* for a name that is none of a gang */
	enum score_policy score;
	struct preempt_options preempt;
};

static const struct flag flags[] = {
	{ "filename", 'f', "-f FILE",
	  "these objects and no live scheduler: what kubectl get -o json or -o yaml\n"
	  "prints; may be repeated. Implies --try",
	  NULL, option_texts, offsetof(struct options, files) },
	FLAG_SOCKET(struct options, live.socket),
	{ "namespace", 'n', "-n, --namespace NAMESPACE", "of a gang that is named without one", NULL,
	  option_text, offsetof(struct options, live.namespace) },
	{ "try", 0, "--try", "what would let it start", NULL, NULL, offsetof(struct options, try) },
	{ "kubeconfig", 0, "--kubeconfig FILE",
	  KUBECONFIG_HELP ".\n"
	                  "Without --socket these objects and no live scheduler; implies --try",
	  NULL, option_text, offsetof(struct options, access.kubeconfig) },
	{ "context", 0, "--context NAME",
	  "of the kubeconfig, instead of its current-context; as --kubeconfig", NULL, option_text,
	  offsetof(struct options, access.context) },
	{ "scheduler-name", 0, "--scheduler-name NAME",
	  "of the API server's pods: those of this scheduler (default muster); of\n"
	  "files: pending pods of others are left out. May be repeated",
	  NULL, option_texts, offsetof(struct options, schedulers) },
	FLAG_TABLES(struct options, live.output, "JSON instead of text"),
	{ "add-node", 0, "--add-node NxNODE",
	  "test N more nodes like this one, with the objects of -f or of the\nAPI server", NULL,
	  option_text, offsetof(struct options, add) },
	{ "what-if", 0, "--what-if CHANGE",
	  "asks the running scheduler: nodes=N, nodes=NxNODE, priority=N,\n"
	  "without-pod=NS/NAME or without-namespace=NS; up to 4 times. Or -f FILE:\n"
	  "would the gang of the file start, if it was created now?",
	  NULL, option_texts, offsetof(struct options, what_if) },
	{ "listen", 0, "--listen ADDR:PORT",
	  "with --what-if -f: where muster-frontend serves (default " HTTP_LISTEN ")", NULL,
	  option_text, offsetof(struct options, listen) },
	{ "priority", 0, "--priority N", "test this priority of its pods, as with --add-node", NULL,
	  option_text, offsetof(struct options, priority) },
	FLAG_SCORE(struct options, score),
	{ "preempt", 0, "--preempt",
	  "which pods would have to be evicted so that pods or a gang can start;\n"
	  "with -f, and --pod or --gang. No pod is evicted",
	  NULL, NULL, offsetof(struct options, preempt.on) },
	{ "pod", 0, "--pod NS/NAME", "with --preempt: a pending pod; may be repeated", NULL,
	  option_texts, offsetof(struct options, preempt.pods) },
	{ "gang", 0, "--gang NS/NAME", "with --preempt: a gang", NULL, option_text,
	  offsetof(struct options, preempt.gang) },
	{ "preempt-victims", 0, "--preempt-victims NAME",
	  "own: pods with the scheduler name of the pod or gang (default);\n"
	  "all: those of every scheduler",
	  "own|all", option_text, offsetof(struct options, preempt.victims) },
	{ "preempt-budgets", 0, "--preempt-budgets NAME",
	  "respect: no PodDisruptionBudget is exceeded (default); best-effort: as\n"
	  "few as possible",
	  "respect|best-effort", option_text, offsetof(struct options, preempt.budgets) },
	{ "search-steps", 0, "--search-steps N",
	  "with --preempt: steps of about 10 ns after which the search gives up\n"
	  "(default 100000000)",
	  NULL, option_text, offsetof(struct options, preempt.steps) },
	{ 0 },
};

/* The change that the flags describe. -1: go on; else the exit code. */
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

/* The gang of the pod "ns/name"; NULL: there is none.  To be freed. */
static char *gang_of_member(const struct model *m, const char *name)
{
	struct pod_view pod;

	return offline_pod_named(m, name, &pod) && pod.gang[0] != '\0'
	           ? ctl_print("%s/%s", pod.namespace, pod.gang)
	           : NULL;
}

static struct trial_config config_of(const struct options *o, const struct files *files)
{
	struct trial_config config = { .files = files, .offline = offline_config_of(&o->schedulers) };

	/* Files are of pods that muster is to place; in a cluster other schedulers have theirs. */
	if (o->files.n > 0 && o->schedulers.n == 0)
		config.offline.scheduler_names_n = 0;
	config.offline.score = o->score;
	config.offline.reads_devices = o->files.n > 0;
	config.offline.pack_steps = OFFLINE_PACK_STEPS;
	return config;
}

/* Explains from objects alone. */
static int explain_objects(const struct options *o, const char *command, const struct files *files)
{
	struct trial_config config = config_of(o, files);
	struct explanation x = { .gang = o->gang, .config = &config };
	struct usage_figures *usage = NULL;
	struct change change;
	char error[2048] = "", *member = NULL;
	int rc = take_change(o, command, files, &change);

	if (rc >= 0)
		return rc;
	if (!world_make(&config, &change, &x.now, error, sizeof(error))) {
		world_free(&x.now);
		return ctl_usage(command, "%s", error);
	}
	offline_say(x.now.offline, files, command);
	x.gangs = x.now.answers->gangs;
	x.gangs_n = x.now.answers->gangs_n;
	x.names = reason_names_of(x.now.answers->model);
	usage = explain_usage(offline_ledger(x.now.offline));
	x.usage = usage;
	x.change = o->add != NULL || o->priority != NULL ? &change : NULL;
	x.result = world_gang(&x.now, o->gang);
	if (x.result == NULL && o->priority == NULL) {
		member = gang_of_member(offline_model(x.now.offline), o->gang);
		x.result = member != NULL ? world_gang(&x.now, member) : NULL;
		x.gang = x.result != NULL ? member : o->gang;
	}
	if (x.result == NULL) {
		rc = explain_pod(&x, o->live.output);
		if (rc < 0)
			rc = ctl_usage(command, "%s: there is no such gang or pod %s", o->gang,
			               o->files.n > 0 ? "in these objects"
			                              : "of this scheduler (--scheduler-name)");
	} else {
		/* With a change the result is whether it starts; nothing more is tried. */
		if (x.change != NULL) {
			x.starts_without = x.result->state == GANG_PLACED &&
			                   trial_starts(&config, &(struct change){ 0 }, x.gang);
		} else if (x.result->state == GANG_WAITING && explain_is_queued(x.result)) {
			explain_help(&x);
		}
		explain_print(&x, o->live.output);
		rc = x.result->state == GANG_PLACED ? EXIT_DONE : EXIT_NO;
	}
	free(x.ends);
	world_free(&x.first);
	world_free(&x.now);
	free(usage);
	free(member);
	return rc;
}

/* The objects of the files, or those of the API server when there are none. 0, or as fetch_all().
 */
static int read_objects(const struct options *o, struct files *files, char *error,
                        size_t error_bytes)
{
	int rc = o->files.n > 0 ? 0 : fetch_all(files, &o->access, error, error_bytes);
	bool ok = rc == 0;

	for (size_t i = 0; ok && i < o->files.n; i++)
		ok = files_read(files, o->files.at[i], error, error_bytes);
	/* A cluster has the pods that its controllers made, and the daemons read no annotations for
	 * shares of GPUs. */
	ok = ok && (o->files.n == 0 ? files_check(files, error, error_bytes)
	                            : offline_expand(files, true, error, error_bytes));
	return ok || rc < 0 ? rc : -EIO;
}

static struct conditions_question question_of(const struct options *o, const char *command)
{
	return (struct conditions_question){ .command = command,
		                                 .name = o->gang,
		                                 .access = &o->access,
		                                 .schedulers = &o->schedulers,
		                                 .output = o->live.output };
}

/* A user who may read one namespace cannot have anything placed, but its pods have conditions. */
static int explain_refused(const struct options *o, const char *command, const char *error)
{
	const struct conditions_question q = question_of(o, command);

	if (o->add != NULL || o->priority != NULL)
		return ctl_usage(command, "%s", error);
	fprintf(stderr, "%s: from the pods of its namespace alone: %s\n", command, error);
	return explain_conditions(&q);
}

static int explain_offline(const struct options *o, const char *command)
{
	struct files *files = files_new();
	char error[2048] = "";
	int rc = read_objects(o, files, error, sizeof(error));

	if (rc == 0)
		rc = explain_objects(o, command, files);
	else
		rc = rc == -EACCES ? explain_refused(o, command, error) : ctl_usage(command, "%s", error);
	files_free(files);
	return rc;
}

/* What would help the gang of x, found with the API server's objects. False and `error`. */
static bool try_helps(const struct options *o, struct explanation *x, struct files *files,
                      struct trial_config *config, char *error, size_t error_bytes)
{
	const struct gang_result *g;

	*config = config_of(o, files);
	x->config = config;
	if (read_objects(o, files, error, error_bytes) < 0 ||
	    !world_make(config, &(struct change){ 0 }, &x->now, error, error_bytes))
		return false;
	g = world_gang(&x->now, x->gang);
	if (g == NULL) {
		snprintf(error, error_bytes, "%s: the API server has no such gang", x->gang);
		return false;
	}
	if (g->why.why == WAIT_REFUSED) {
		snprintf(
			error, error_bytes,
			"%s: nothing is tried: %s. Of claims the running scheduler answers --what-if, and -f "
			"takes them as files",
			x->gang, g->reason);
		return false;
	}
	x->starts_now = g->state == GANG_PLACED;
	if (x->starts_now)
		x->helps_tried = true;
	else
		explain_help(x);
	return true;
}

static int explain_live(struct options *o, const struct live *l);

/* A ledger has no pods: the API server is asked where the name is none of a gang. */
static int explain_named(struct options *o, const struct live *l)
{
	const struct conditions_question question = question_of(o, l->command);
	char *gang = NULL;
	int rc = -1;

	if (o->asks_server)
		rc = explain_pod_asked(&question, &gang);
	if (gang != NULL) {
		o->gang = gang;
		o->asks_server = false;
		rc = explain_live(o, l);
		free(gang);
	} else if (rc < 0) {
		fprintf(stderr,
		        "%s: the scheduler behind %s has no gang %s; names of pods are those of an API "
		        "server: --kubeconfig\n",
		        l->command, l->socket, o->gang);
		rc = EXIT_NO;
	}
	return rc;
}

static int explain_live(struct options *o, const struct live *l)
{
	struct explanation x = { .gang = o->gang };
	struct explain_live *picture = explain_live_take(l, &x);
	struct trial_config config;
	struct files *files = files_new();
	char error[2048] = "";
	int rc;

	if (x.result == NULL) {
		rc = explain_named(o, l);
	} else if (o->try && x.result->state == GANG_WAITING && explain_is_queued(x.result) &&
	           !try_helps(o, &x, files, &config, error, sizeof(error))) {
		rc = ctl_usage(l->command, "--try: %s", error);
	} else {
		explain_print(&x, o->live.output);
		rc = explain_exit(x.result);
	}
	free(x.ends);
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

/* True to read the live scheduler: no objects are named and none is to be changed. */
static bool wants_live(const struct options *o)
{
	return o->files.n == 0 && o->add == NULL && o->priority == NULL &&
	       (o->live.socket != NULL || !names_server(o));
}

/* --what-if: the running core answers. */
static int what_if(struct options *o)
{
	int rc;

	if (!wants_live(o) || o->try || o->preempt.on || names_server(o))
		return ctl_usage(o->live.command,
		                 "--what-if asks the running scheduler: it goes without -f, --kubeconfig, "
		                 "--try, --preempt, --add-node and --priority");
	rc = live_open(&o->live);
	if (rc == EXIT_DONE) {
		rc = explain_what_if(&o->live, o->gang, &o->what_if);
		live_close(&o->live);
	}
	return rc;
}

/* The change "-f" takes the first argument as its value. */
static bool asks_created(const struct options *o)
{
	bool asks = false;

	for (size_t i = 0; i < o->what_if.n; i++)
		asks = asks || strcmp(o->what_if.at[i], "-f") == 0;
	return asks;
}

/* --what-if -f FILE: the running core answers, of what muster-frontend reads. */
static int what_if_created(struct options *o, int argc, char **argv)
{
	int rc;

	if (o->what_if.n > 1 || o->add != NULL || o->priority != NULL || o->try || o->preempt.on ||
	    names_server(o))
		return ctl_usage(o->live.command,
		                 "--what-if -f FILE goes without other changes, --kubeconfig, --try, "
		                 "--preempt, --add-node and --priority");
	if (optind == argc)
		return ctl_usage(o->live.command, "--what-if -f: a file is missing");
	for (int i = optind; i < argc; i++)
		arguments_add(&o->files, argv[i]);
	rc = live_open(&o->live);
	if (rc == EXIT_DONE) {
		rc = explain_what_if_created(&o->live, &o->files,
		                             o->listen != NULL ? o->listen : HTTP_LISTEN);
		live_close(&o->live);
	}
	return rc;
}

static int explain(struct options *o)
{
	const char *command = o->live.command;
	bool socket_given = o->live.socket != NULL;
	int rc;

	if (!wants_live(o))
		return explain_offline(o, command);
	o->try = o->try || names_server(o);
	o->asks_server = names_server(o) || (!socket_given && access_is_there(&o->access));
	rc = live_open(&o->live);
	if (rc == EXIT_DONE) {
		rc = explain_live(o, &o->live);
		live_close(&o->live);
	} else if (rc == EXIT_NO && !socket_given) {
		fprintf(stderr, "%s: so the API server is asked\n", command);
		rc = explain_offline(o, command);
	}
	return rc;
}

/* --preempt: what is asked about is named by flags. */
static int preempt(const struct options *o, int arguments)
{
	const char *command = o->live.command;
	const struct preempt_options *p = &o->preempt;

	if (arguments > 0 || (p->pods.n > 0) == (p->gang != NULL))
		return ctl_usage(command, "--preempt takes --pod NS/NAME or --gang NS/NAME, one of them");
	if (o->files.n == 0)
		return ctl_usage(command, "--preempt: -f FILE is missing; see %s --help", command);
	if (o->try || o->add != NULL || o->priority != NULL || o->live.socket != NULL)
		return ctl_usage(command, "--preempt goes without --try, --add-node, --priority and "
		                          "--socket");
	return preempt_explain(command, p, &o->files, o->live.output, o->score);
}

static int run(int argc, char **argv)
{
	struct options o = { .live = { .command = argv[0] }, .score = SCORE_KUBE };
	int rc = command_read_flags(&explain_command, argc, argv, &o);
	char *name = NULL;

	if (rc == -1 && asks_created(&o))
		rc = what_if_created(&o, argc, argv);
	else if (rc == -1 && o.listen != NULL)
		rc = ctl_usage(argv[0], "--listen goes with --what-if -f FILE");
	if (rc == -1 && o.preempt.on)
		rc = preempt(&o, argc - optind);
	else if (rc == -1 && (o.preempt.pods.n > 0 || o.preempt.gang != NULL))
		rc = ctl_usage(argv[0], "--pod and --gang go with --preempt");
	if (rc == -1 && optind + 1 != argc)
		rc = ctl_usage(argv[0], "one gang is needed, as NAMESPACE/NAME or [-n NAMESPACE] NAME");
	if (rc == -1) {
		o.gang = name = ctl_gang_named(argv[optind], o.live.namespace);
		rc = o.what_if.n > 0 ? what_if(&o) : explain(&o);
	}
	free(name);
	free(o.files.at);
	free(o.preempt.pods.at);
	free(o.what_if.at);
	return rc;
}

const struct command explain_command = {
	.name = "explain",
	.summary = "why a gang or pod waits, and what would let it start",
	.usage =
		"[-f FILE...] [-o json] [--try] [--add-node NxNODE] [--priority N] NS/GANG\n"
		"       musterctl explain --what-if CHANGE... [-o json] NS/GANG\n"
		"       musterctl explain --what-if -f FILE... [--listen ADDR:PORT] [-o json]\n"
		"       musterctl explain --preempt -f FILE... --pod NS/NAME... | --gang NS/NAME [-o json|wide]",
	.about = "Why that gang waits: what it needs and what is free, which rule excludes how\n"
			 "many nodes, and which gangs are before it.\n"
			 "\n"
			 "Of a live scheduler it is what its ledger contains, reservations included; no\n"
			 "request is sent to anything. With --try also what would let the gang start, found\n"
			 "by placing everything that is pending again, offline, as simulate does: the objects\n"
			 "are those of the files, or are listed from the API server. Each answer was tried:\n"
			 "with it the gang starts, with half of it, it does not. Nothing is written anywhere.\n"
			 "A caller who may not list nodes gets what muster wrote into the gang's pods.\n"
			 "\n"
			 "With --what-if muster-core answers, beside its loop, from what it knows at that\n"
			 "moment: would the gang start if that were so, and where; else why not, and which\n"
			 "evictions would start it. Nothing changes. With -f the gang is that of the files,\n"
			 "as simulate reads them, which the cluster does not have: muster-core plans it with\n"
			 "its queues, promises and reservations. Pods without a gang start when they can.\n",
	.exits = "0 the gang is placed (or would be), 1 it waits or the live scheduler has no such\n"
			 "gang, 2 bad input, 78 the live scheduler is of another release.",
	.flags = flags,
	.argument = "NAMESPACE/GANG",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
