/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl simulate: place everything pending in files of objects. */
#include "ctl/offline/simulate.h"

#include "ctl/objects/files.h"
#include "ctl/offline/evictions.h"
#include "ctl/offline/fetch.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/queues.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct arguments files, names, unshared;
	struct access_options access;
	enum output output;
	enum score_policy score;
	const char *queues;
	struct evictions_flags evictions;
	uint64_t pack_steps;
	uint32_t evicts; /* struct offline_config */
};

static const struct flag flags[] = {
	FLAG_FILES(struct options, files),
	{ "kubeconfig", 0, "--kubeconfig FILE",
	  "instead of files: the objects of this API server, read once; else\n"
	  "$KUBECONFIG, else the pod's service account, else ~/.kube/config",
	  NULL, option_text, offsetof(struct options, access.kubeconfig) },
	FLAG_CONTEXT(struct options, access),
	FLAG_TABLES(struct options, output, "JSON instead of tables; cpu is in milli, memory in bytes"),
	{ "scheduler-name", 0, "--scheduler-name NAME",
	  "only pods that name this scheduler; may be repeated\n(default: every pending pod)", NULL,
	  option_texts, offsetof(struct options, names) },
	FLAG_SCORE(struct options, score),
	{ "queues", 0, "--queues SOURCE", QUEUES_HELP, NULL, option_text,
	  offsetof(struct options, queues) },
	FLAG_UNSHARED(struct options, unshared),
	FLAGS_EVICTIONS(struct options, evictions),
	{ "search-steps", 0, "--search-steps N",
	  "steps of about 10 ns that are spent on a gang of unlike members when\n"
	  "the quick plan finds no place; 0: none, as the daemons (default\n"
	  "100000000)",
	  NULL, offline_steps, offsetof(struct options, pack_steps) },
	{ 0 },
};

static int place(const struct options *o, const char *command, const struct files *files,
                 struct offline *offline)
{
	struct simulation *s;
	char text[1024];
	int rc;

	if (!offline_place(offline, text, sizeof(text)))
		return ctl_usage(command, "%s", text);
	offline_say(offline, files, command);
	s = simulation_new(offline);
	simulation_print(s, o->output);
	rc = s->waiting_n == 0 ? EXIT_DONE : EXIT_NO;
	simulation_free(s);
	return rc;
}

/* A cluster has the pods that its controllers made, so only those of files are made here. */
static bool read_objects(const struct options *o, struct files *files, struct offline *offline,
                         char *error, size_t error_bytes)
{
	if (o->files.n > 0)
		return offline_read(offline, files, o->files.at, o->files.n, error, error_bytes);
	return fetch_all(files, &o->access, error, error_bytes) == 0 &&
	       files_check(files, error, error_bytes) &&
	       offline_put_all(offline, files, error, error_bytes);
}

static int simulate(const struct options *o, const char *command)
{
	struct offline_config config = {
		.scheduler_names = o->names.at,
		.scheduler_names_n = o->names.n,
		.score = o->score,
		.reads_devices = o->evicts == 0 && o->files.n > 0,
		.evicts = o->evicts,
		.pack_steps = o->pack_steps,
	};
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	struct queues *queues = NULL;
	char error[2048] = "";
	int rc;

	if (read_objects(o, files, offline, error, sizeof(error)) &&
	    (o->queues == NULL ||
	     (queues = queues_read(o->queues, &o->unshared, files, error, sizeof(error))) != NULL)) {
		offline_use_queues(offline, queues);
		rc = place(o, command, files, offline);
	} else {
		rc = ctl_usage(command, "%s", error);
	}
	offline_free(offline);
	queues_free(queues);
	files_free(files);
	return rc;
}

static int run(int argc, char **argv)
{
	struct options o = { .score = SCORE_KUBE, .pack_steps = OFFLINE_PACK_STEPS };
	bool named;
	int rc = command_read_flags(&simulate_command, argc, argv, &o);

	for (int i = optind; rc == -1 && i < argc; i++)
		arguments_add(&o.files, argv[i]);
	named = o.access.kubeconfig != NULL || o.access.context != NULL;
	if (rc == -1 && o.files.n == 0 && !access_is_there(&o.access))
		rc = ctl_usage(argv[0], "-f FILE is missing, or --kubeconfig FILE; see %s --help", argv[0]);
	if (rc == -1 && o.files.n > 0 && named)
		rc = ctl_usage(argv[0], "-f and --kubeconfig: objects come from one of the two");
	if (rc == -1 && o.unshared.n > 0 && o.queues == NULL)
		rc = ctl_usage(argv[0], "--unshared-resource: --queues is missing");
	if (rc == -1 && !evictions_read(&o.evictions, o.queues != NULL, argv[0], &o.evicts))
		rc = EXIT_USAGE;
	if (rc == -1)
		rc = simulate(&o, argv[0]);
	free(o.files.at);
	free(o.names.at);
	free(o.unshared.at);
	return rc;
}

const struct command simulate_command = {
	.name = "simulate",
	.summary = "place everything pending in files of objects, offline",
	.usage = "[-f FILE... | --kubeconfig FILE] [-o json] [--scheduler-name NAME]...\n"
			 "                   [--score NAME] [--queues SOURCE [--unshared-resource NAME]...]\n"
			 "                   [--preemption on [--reclaim guarantee|fair]] [--search-steps N]",
	.about =
		"Places everything that is pending in these objects, offline, by the code that the\n"
		"daemons run. Pods with a node stay where they are; workloads (Deployment, ReplicaSet,\n"
		"StatefulSet, Job, JobSet, LeaderWorkerSet) count with the pods that they would make.\n"
		"Nothing is written anywhere.\n",
	.exits = "0 everything pending was placed, 1 something waits, 2 bad input.",
	.flags = flags,
	.argument = "FILE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
