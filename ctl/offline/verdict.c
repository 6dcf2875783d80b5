/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl verdict: what each node says of a pending pod, alone. */
#include "core/filter/judge.h"
#include "ctl/offline/verdict.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char **files;
	size_t files_n;
	const char **pods;
	size_t pods_n;
	enum output output;
	enum score_policy score;
};

static void print_help(void)
{
	fputs("musterctl verdict -f FILE... --pod NS/NAME... [-o json] [--score kube|pack|bestfit]\n"
	      "\n"
	      "Says of each node whether it is feasible for a pending pod, why not, and its score, as\n"
	      "kube-scheduler's filters and scores do. Each pod is judged alone: the other pending\n"
	      "pods aren't there. Nothing is written anywhere.\n"
	      "\n"
	      "  -f FILE         what kubectl get -o json or -o yaml prints: a List, one object or\n"
	      "                  many documents, .gz too; - is standard input\n"
	      "  --pod NS/NAME   the pod; may be repeated\n"
	      "  -o json         JSON instead of tables: an object, or an array for several pods\n"
	      "  --score NAME    kube: the sum of kube-scheduler's default profile (default);\n"
	      "                  pack: the fullest nodes first; bestfit: the least that is left\n"
	      "\n"
	      "Exit status: 0 each pod has a feasible node, 1 a pod has none, 2 bad input.\n",
	      stdout);
}

static void add_text(const char ***list, size_t *n, const char *text)
{
	*list = ctl_grow(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = text;
}

enum { OPT_POD = 256, OPT_SCORE, OPT_HELP, OPT_VERSION };

/* -1: go on; else exit with this. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "filename", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "pod", required_argument, NULL, OPT_POD },
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
		case OPT_POD:
			add_text(&o->pods, &o->pods_n, optarg);
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
	if (o->pods_n == 0)
		return ctl_usage(argv[0], "--pod NS/NAME is missing; see %s --help", argv[0]);
	return -1;
}

/* ---- which pod --------------------------------------------------------------- */

/* Why the model knows no such pod. */
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

/* Find the pending pod that was asked for.  False and a message. */
static bool find_pod(const char *command, const char *asked, const struct offline *o,
                     const struct files *files, struct pod_view *pod)
{
	const char *slash = strchr(asked, '/');
	char *namespace;
	bool known;

	if (slash == NULL || slash == asked || slash[1] == '\0' || strchr(slash + 1, '/') != NULL)
		return ctl_usage(command, "--pod %s: not of the form NS/NAME", asked), false;
	namespace = ctl_copy(asked);
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

/* ---- answers -------------------------------------------------------------------- */

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
	struct verdict *verdicts = ctl_alloc(o->pods_n, sizeof(*verdicts));
	int rc;

	for (size_t i = 0; i < o->pods_n; i++) {
		const struct judgement *j = NULL;

		if (pods[i].refusal[0] == '\0' || pods[i].refusal_is_kube) {
			j = offline_judge(offline, pods[i].id);
			assert(j != NULL); /* it is pending, and the core was told of it */
		}
		/* NodeAffinity finds fault before the plugins that look at claims do. */
		if (pods[i].refusal[0] != '\0' && j != NULL && j->whole != NODE_WHY_CONFLICT)
			j = NULL;
		verdict_make(&verdicts[i], offline, &pods[i], j, nodes, nodes_n);
	}
	rc = print(verdicts, o->pods_n, o->output);
	for (size_t i = 0; i < o->pods_n; i++)
		verdict_free(&verdicts[i]);
	free(verdicts);
	free(nodes);
	return rc;
}

static int verdict(const struct options *o, const char *command)
{
	struct offline_config config = { .score = o->score };
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	struct pod_view *pods = ctl_alloc(o->pods_n, sizeof(*pods));
	char text[2048];
	int rc = EXIT_DONE;

	if (!offline_read(offline, files, o->files, o->files_n, text, sizeof(text)) ||
	    !offline_start(offline, text, sizeof(text)))
		rc = ctl_usage(command, "%s", text);
	for (size_t i = 0; rc == EXIT_DONE && i < o->pods_n; i++)
		if (!find_pod(command, o->pods[i], offline, files, &pods[i]))
			rc = EXIT_USAGE;
	if (rc == EXIT_DONE) {
		if (offline_passed_over(offline, text, sizeof(text))[0] != '\0')
			fprintf(stderr, "%s: passed over: %s\n", command, text);
		rc = judge_pods(o, offline, pods);
	}
	free(pods);
	offline_free(offline);
	files_free(files);
	return rc;
}

int verdict_main(int argc, char **argv)
{
	struct options o = { .score = SCORE_KUBE };
	int rc = take_options(&o, argc, argv);

	if (rc == -1)
		rc = verdict(&o, argv[0]);
	free(o.files);
	free(o.pods);
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
