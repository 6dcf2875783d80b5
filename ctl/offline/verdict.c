/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl verdict: filters and scores of each node for a pending pod, alone. */
#include "core/filter/evaluate.h"
#include "ctl/offline/verdict.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct arguments files, pods;
	enum output output;
	enum score_policy score;
};

static const struct flag flags[] = {
	FLAG_FILES(struct options, files),
	{ "pod", 0, "--pod NS/NAME", "the pod; may be repeated", NULL, option_texts,
	  offsetof(struct options, pods) },
	FLAG_OUTPUT(struct options, output,
	            "JSON instead of tables: an object, or an array for several pods"),
	FLAG_SCORE(struct options, score),
	{ 0 },
};

/* The message when the model has no such pod. */
static bool pod_is_unknown(const char *command, const char *asked, const char *namespace,
                           const char *name, const struct files *files)
{
	char where[512];
	size_t n;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; i < n; i++) {
		const struct object *o = &objects[i];

		if (strcmp(o->kind, "Pod") == 0 && strcmp(o->namespace, namespace) == 0 &&
		    strcmp(o->name, name) == 0)
			return ctl_usage(command, "--pod %s: it has ended: %s", asked,
			                 object_where(o, where, sizeof(where))),
			       false;
	}
	return ctl_usage(command, "--pod %s: no such pod among these objects", asked), false;
}

bool verdict_find_pod(const char *command, const char *asked, const struct offline *o,
                      const struct files *files, struct pod_view *pod)
{
	const char *slash = strchr(asked, '/');
	char *namespace;
	bool known;

	if (slash == NULL || slash == asked || slash[1] == '\0' || strchr(slash + 1, '/') != NULL)
		return ctl_usage(command, "--pod %s: not of the form NS/NAME", asked), false;
	namespace = must_copy(asked);
	namespace[slash - asked] = '\0';
	known = model_pod_by_name(offline_model(o), namespace, slash + 1, pod);
	if (!known)
		pod_is_unknown(command, asked, namespace, slash + 1, files);
	else if (pod->node[0] != '\0')
		ctl_usage(command, "--pod %s: it is bound to node %s, only a pending pod is judged", asked,
		          pod->node);
	free(namespace);
	return known && pod->node[0] == '\0';
}

static int print(const struct verdict *v, size_t n, enum output output)
{
	int rc = EXIT_DONE;

	if (output == OUTPUT_JSON)
		verdict_print_json(v, n, n > 1);
	for (size_t i = 0; i < n; i++) {
		if (output == OUTPUT_TEXT) {
			fputs(i > 0 ? "\n" : "", stdout);
			verdict_print_table(&v[i]);
		}
		if (v[i].feasible_n == 0)
			rc = EXIT_NO;
	}
	return rc;
}

static int judge_pods(const struct options *o, struct offline *offline, const struct pod_view *pods)
{
	size_t nodes_n;
	struct verdict_node *nodes = verdict_nodes(offline, &nodes_n);
	struct verdict *verdicts = must_array(o->pods.n, sizeof(*verdicts));
	int rc;

	for (size_t i = 0; i < o->pods.n; i++) {
		const struct evaluation *j = NULL;

		if (pods[i].refusal[0] == '\0' || pods[i].refusal_is_kube) {
			j = offline_evaluate(offline, pods[i].id);
			assert(j != NULL); /* it is pending, so the core has it */
		}
		/* The filter NodeAffinity comes before the plugins that read claims. */
		if (pods[i].refusal[0] != '\0' && j != NULL && j->whole != FILTER_CONFLICT)
			j = NULL;
		verdict_make(&verdicts[i], offline, &pods[i], j, nodes, nodes_n);
	}
	rc = print(verdicts, o->pods.n, o->output);
	for (size_t i = 0; i < o->pods.n; i++)
		verdict_free(&verdicts[i]);
	free(verdicts);
	free(nodes);
	return rc;
}

static int verdict(const struct options *o, const char *command)
{
	struct offline_config config = { .score = o->score, .reads_devices = true };
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	struct pod_view *pods = must_array(o->pods.n, sizeof(*pods));
	char text[2048];
	int rc = EXIT_DONE;

	if (!offline_read(offline, files, o->files.at, o->files.n, text, sizeof(text)) ||
	    !offline_start(offline, text, sizeof(text)))
		rc = ctl_usage(command, "%s", text);
	for (size_t i = 0; rc == EXIT_DONE && i < o->pods.n; i++)
		if (!verdict_find_pod(command, o->pods.at[i], offline, files, &pods[i]))
			rc = EXIT_USAGE;
	if (rc == EXIT_DONE) {
		offline_say(offline, files, command);
		rc = judge_pods(o, offline, pods);
	}
	free(pods);
	offline_free(offline);
	files_free(files);
	return rc;
}

static int run(int argc, char **argv)
{
	struct options o = { .score = SCORE_KUBE };
	int rc = command_read_flags(&verdict_command, argc, argv, &o);

	for (int i = optind; rc == -1 && i < argc; i++)
		arguments_add(&o.files, argv[i]);
	if (rc == -1 && o.files.n == 0)
		rc = ctl_usage(argv[0], "-f FILE is missing; see %s --help", argv[0]);
	if (rc == -1 && o.pods.n == 0)
		rc = ctl_usage(argv[0], "--pod NS/NAME is missing; see %s --help", argv[0]);
	if (rc == -1)
		rc = verdict(&o, argv[0]);
	free(o.files.at);
	free(o.pods.at);
	return rc;
}

const struct command verdict_command = {
	.name = "verdict",
	.summary = "for each node: is it feasible for a pod, why not, its score",
	.usage = "-f FILE... --pod NS/NAME... [-o json] [--score NAME]",
	.about = "For each node: whether it is feasible for a pending pod, why not, and its score, by\n"
			 "kube-scheduler's filters and scores. Each pod is evaluated alone: the other pending\n"
			 "pods are left out. Nothing is written anywhere.\n",
	.exits = "0 each pod has a feasible node, 1 a pod has none, 2 bad input.",
	.flags = flags,
	.argument = "FILE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
