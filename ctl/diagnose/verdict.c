/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl verdict: filters and scores of each node for a pending pod, alone, from files or by the
 * running core. */
#include "ctl/diagnose/verdict_live.h"
#include "ctl/live/http.h"
#include "ctl/offline/verdict.h"

#include <getopt.h>
#include <stdlib.h>

struct options {
	struct verdict_options of;
	struct live live;
	const char *listen; /* NULL: the default */
	bool is_live;
};

static const struct flag flags[] = {
	FLAG_FILES(struct options, of.files),
	{ "pod", 0, "--pod NS/NAME", "the pod; may be repeated", NULL, option_texts,
	  offsetof(struct options, of.pods) },
	{ "live", 0, "--live",
	  "the running muster-core answers, about a pod of the cluster or,\n"
	  "with -f, about one that the cluster does not have",
	  NULL, NULL, offsetof(struct options, is_live) },
	{ "listen", 0, "--listen ADDR:PORT",
	  "with --live -f: where muster-frontend serves (default " HTTP_LISTEN ")", NULL, option_text,
	  offsetof(struct options, listen) },
	FLAG_SOCKET(struct options, live.socket),
	FLAG_TABLES(struct options, of.output,
	            "JSON instead of tables: an object, or an array for several pods"),
	FLAG_SCORE(struct options, of.score),
	{ 0 },
};

static int live(struct options *o)
{
	int rc;

	if (o->of.score != SCORE_KUBE)
		return ctl_usage(o->live.command,
		                 "--live asks the running scheduler: it goes without --score");
	if (o->of.files.n > 0 && o->of.pods.n > 0)
		return ctl_usage(o->live.command, "--live judges the pod of -f, or pods of the cluster");
	rc = live_open(&o->live);
	if (rc == EXIT_DONE) {
		rc = verdict_live(&o->live, &o->of, o->listen != NULL ? o->listen : HTTP_LISTEN);
		live_close(&o->live);
	}
	return rc;
}

static int run(int argc, char **argv)
{
	struct options o = { .of = { .score = SCORE_KUBE }, .live = { .command = argv[0] } };
	int rc = command_read_flags(&verdict_command, argc, argv, &o);

	for (int i = optind; rc == -1 && i < argc; i++)
		arguments_add(o.is_live ? &o.of.pods : &o.of.files, argv[i]);
	if (rc == -1 && !o.is_live && o.live.socket != NULL)
		rc = ctl_usage(argv[0], "--socket goes with --live");
	if (rc == -1 && o.listen != NULL && !(o.is_live && o.of.files.n > 0))
		rc = ctl_usage(argv[0], "--listen goes with --live -f FILE");
	if (rc == -1 && !o.is_live && o.of.files.n == 0)
		rc = ctl_usage(argv[0], "-f FILE is missing; see %s --help", argv[0]);
	if (rc == -1 && o.of.pods.n == 0 && !(o.is_live && o.of.files.n > 0))
		rc = ctl_usage(argv[0], "--pod NS/NAME is missing; see %s --help", argv[0]);
	if (rc == -1)
		rc = o.is_live ? live(&o) : verdict_files(&o.of, argv[0]);
	free(o.of.files.at);
	free(o.of.pods.at);
	return rc;
}

const struct command verdict_command = {
	.name = "verdict",
	.summary = "for each node: is it feasible for a pod, why not, its score",
	.usage =
		"-f FILE... --pod NS/NAME... [-o json] [--score NAME]\n"
		"       musterctl verdict --live [--socket PATH] [-o json] NS/NAME...\n"
		"       musterctl verdict --live -f FILE [--listen ADDR:PORT] [--socket PATH] [-o json]",
	.about =
		"For each node: whether it is feasible for a pending pod, why not, and its score, by\n"
		"kube-scheduler's filters and scores. Each pod is evaluated alone: the other pending\n"
		"pods are left out. Nothing is written anywhere.\n"
		"\n"
		"With --live muster-core answers, beside its loop, from what it knows at that moment:\n"
		"bindings in flight and nominated members have their capacity, and a node is not\n"
		"feasible whose capacity is reserved for a gang before the pod in the queue, or where\n"
		"the pod would break a promised start. Nothing changes. With -f the pod is the one of\n"
		"the file, which the cluster does not have: muster-frontend reads it as it reads pods\n"
		"of the cluster, and nothing of it is stored.\n",
	.exits = "0 each pod has a feasible node, 1 a pod has none or muster-core does not answer,\n"
			 "2 bad input, 78 the live scheduler is of another release.",
	.flags = flags,
	.argument = "FILE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
