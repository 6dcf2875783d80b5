/* SPDX-License-Identifier: Apache-2.0 */
/* One pod without a gang: where it is, or why it waits. */
#include "ctl/diagnose/explain.h"
#include "ctl/live/cluster.h"
#include "ctl/term/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const char *name, *state, *node, *reason; /* NULL: none */
};

static void print_finding(const struct finding *f, enum output output)
{
	cJSON *o;

	if (output == OUTPUT_TEXT) {
		ctl_say("pod %s, without a gang: %s%s%s\n", f->name, f->state, f->node ? " on " : "",
		        f->node ? f->node : "");
		if (f->reason != NULL)
			ctl_say("\n%s\n", f->reason);
		return;
	}
	o = json_checked(cJSON_CreateObject());
	json_add_text(o, "pod", f->name);
	json_checked(cJSON_AddNullToObject(o, "gang"));
	json_add_text(o, "state", f->state);
	if (f->node != NULL)
		json_add_text(o, "node", f->node);
	if (f->reason != NULL)
		json_add_text(o, "reason", f->reason);
	json_print(o, true);
}

/* What its object says. */
static struct finding finding_of(const char *name, const struct pod_view *pod)
{
	struct finding f = { .name = name, .state = "Waiting" };

	if (pod->node[0] != '\0') {
		f.state = "Bound";
		f.node = pod->node;
		return f;
	}
	if (!pod->ours)
		f.state = "Another scheduler's";
	else if (pod->gated)
		f.state = "Gated";
	if (pod->refusal[0] != '\0')
		f.reason = pod->refusal;
	else if (strcmp(pod->condition_status, "False") == 0 && pod->condition_message[0] != '\0')
		f.reason = pod->condition_message;
	return f;
}

static bool find(const struct model *m, const char *name, struct pod_view *pod)
{
	const char *slash = strchr(name, '/');
	char *namespace = ctl_print("%.*s", (int)(slash - name), name);
	const bool found = model_pod_by_name(m, namespace, slash + 1, pod);

	free(namespace);
	return found;
}

int explain_pod(const struct explanation *x, enum output output)
{
	const struct simulation *answers = x->now.answers;
	struct finding f;
	struct pod_view pod;

	if (!find(offline_model(x->now.offline), x->gang, &pod) || pod.gang[0] != '\0')
		return -1;
	f = finding_of(x->gang, &pod);
	for (size_t i = 0; i < answers->placements_n && f.node == NULL; i++) {
		const struct placement *p = &answers->placements[i];

		if (strcmp(p->pod, x->gang) != 0)
			continue;
		f.reason = p->reason;
		f.node = p->node;
		f.state = p->node != NULL ? "Placed" : f.state;
	}
	print_finding(&f, output);
	if (f.node == NULL && output == OUTPUT_TEXT)
		explain_selector_print(x);
	return f.node != NULL ? EXIT_DONE : EXIT_NO;
}

int explain_pod_asked(const char *command, const struct access_options *access, const char *name,
                      enum output output, char **gang)
{
	const struct arguments usual = { 0 };
	const char *slash = strchr(name, '/');
	char *namespace = ctl_print("%.*s", (int)(slash - name), name);
	struct cluster *c =
		cluster_new(command, &(struct cluster_question){
								 .access = access, .namespace = namespace, .schedulers = &usual });
	struct pod_view pod;
	int rc = -1;

	*gang = NULL;
	free(namespace);
	if (c == NULL)
		return -1;
	if (find(cluster_model(c), name, &pod)) {
		const struct finding f = finding_of(name, &pod);

		if (pod.gang[0] != '\0') {
			*gang = ctl_print("%s/%s", pod.namespace, pod.gang);
		} else {
			print_finding(&f, output);
			rc = f.node != NULL ? EXIT_DONE : EXIT_NO;
		}
	}
	cluster_free(c);
	return rc;
}
