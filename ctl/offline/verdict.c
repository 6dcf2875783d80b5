/* SPDX-License-Identifier: Apache-2.0 */
/* verdict on files: filters and scores of each node for a pending pod, alone. */
#include "core/filter/evaluate.h"
#include "ctl/offline/verdict.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int judge_pods(const struct verdict_options *o, struct offline *offline,
                      const struct pod_view *pods)
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
	rc = verdict_print(verdicts, o->pods.n, o->output);
	for (size_t i = 0; i < o->pods.n; i++)
		verdict_free(&verdicts[i]);
	free(verdicts);
	free(nodes);
	return rc;
}

int verdict_files(const struct verdict_options *o, const char *command)
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
