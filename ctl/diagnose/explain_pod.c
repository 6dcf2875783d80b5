/* SPDX-License-Identifier: Apache-2.0 */
/* One pod without a gang: where it is, or why it waits.  And what muster wrote into pods, for a
 * caller who may not list what a placement depends on. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/diagnose/explain_devices.h"
#include "ctl/live/cluster.h"
#include "ctl/offline/claims.h"
#include "ctl/offline/devices_json.h"
#include "ctl/term/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const char *name, *state, *node, *reason; /* NULL: none */
	const struct claim_devices *placed;       /* on files: that it would get; NULL: none */
	struct devices *devices;                  /* of all objects; NULL: not read */
	const struct model *model;
	const struct explanation *with; /* has a change, on objects; NULL: none */
};

static void print_placed(const struct claim_devices *list)
{
	for (size_t i = 0; list != NULL && i < list->n; i++)
		ctl_say("%sclaim %s, request %s: %s\n", i == 0 ? "\n" : "", list->at[i].claim,
		        list->at[i].request, list->at[i].device);
}

static void print_finding(const struct finding *f, enum output output)
{
	cJSON *o;

	if (output != OUTPUT_JSON) {
		ctl_say("pod %s, without a gang: %s%s%s\n", f->name, f->state, f->node ? " on " : "",
		        f->node ? f->node : "");
		if (f->with != NULL)
			explain_answer_print(f->with, f->node != NULL);
		if (f->reason != NULL)
			ctl_say("\n%s\n", f->reason);
		print_placed(f->placed);
		if (f->devices != NULL && f->placed == NULL)
			explain_devices_print(f->devices, f->model, f->name);
		return;
	}
	o = json_checked(cJSON_CreateObject());
	json_add_text(o, "pod", f->name);
	json_checked(cJSON_AddNullToObject(o, "gang"));
	json_add_text(o, "state", f->state);
	if (f->node != NULL)
		json_add_text(o, "node", f->node);
	if (f->with != NULL)
		explain_answer_json(o, f->with, f->node != NULL);
	if (f->reason != NULL)
		json_add_text(o, "reason", f->reason);
	if (f->placed != NULL)
		cJSON_AddItemToObject(o, "devices", devices_json(f->placed));
	else if (f->devices != NULL)
		explain_devices_json(o, f->devices, f->model, f->name);
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

/* As the simulation left them.  Where a member of a gang has claims, the core placed the pods by
 * records: then as the files have them, before any pod was placed.  *own is to be freed. */
static struct devices *devices_of(const struct explanation *x, struct devices **own)
{
	struct claims *claims = offline_claims(x->now.offline);
	struct devices *d = claims != NULL ? claims_devices(claims) : NULL;
	char error[1024];

	if (claims == NULL || d != NULL)
		return d;
	*own = devices_new();
	return explain_devices_put(*own, x->config->files, error, sizeof(error)) ? *own : NULL;
}

/* It is placed without the change as well. */
static bool is_placed_without(const struct explanation *x)
{
	const struct placement *p;
	struct world w;
	char error[1024];
	bool placed = false;

	if (world_make(x->config, &(struct change){ 0 }, &w, error, sizeof(error))) {
		p = world_pod(&w, x->gang);
		placed = p != NULL && p->node != NULL;
	}
	world_free(&w);
	return placed;
}

int explain_pod(struct explanation *x, enum output output)
{
	struct devices *own = NULL;
	const struct placement *p;
	struct finding f;
	struct pod_view pod;

	if (!offline_pod_named(offline_model(x->now.offline), x->gang, &pod) || pod.gang[0] != '\0')
		return -1;
	f = finding_of(x->gang, &pod);
	f.model = offline_model(x->now.offline);
	f.devices = devices_of(x, &own);
	p = f.node == NULL ? world_pod(&x->now, x->gang) : NULL;
	if (p != NULL) {
		f.reason = p->reason;
		f.node = p->node;
		f.placed = p->devices;
		f.state = p->node != NULL ? "Placed" : f.state;
		f.with = x->change != NULL ? x : NULL;
		x->starts_without = f.with != NULL && p->node != NULL && is_placed_without(x);
	}
	print_finding(&f, output);
	if (f.node == NULL && output != OUTPUT_JSON)
		explain_selector_print(x);
	if (own != NULL)
		devices_free(own);
	return f.node != NULL ? EXIT_DONE : EXIT_NO;
}

/* The pod names claims; what devices serve of its extended resources is not asked. */
static bool has_claims(const struct cluster *c, const struct pod_view *pod)
{
	static const char asks[] = "\"resourceClaims\"";
	size_t n;
	const struct object *objects = files_objects(cluster_files(c), &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(objects[i].kind, "Pod") == 0 && strcmp(objects[i].name, pod->name) == 0 &&
		    strcmp(objects[i].namespace, pod->namespace) == 0)
			return memmem(objects[i].json.at, objects[i].json.bytes, asks, sizeof(asks) - 1);
	return false;
}

/* Those of the API server now; NULL after a message. */
static struct devices *devices_asked(const char *command, const struct access_options *access,
                                     const struct cluster *c)
{
	struct files *files = files_new();
	struct devices *d = devices_new();
	char error[2048];
	const bool ok = fetch_claims(files, access, true, error, sizeof(error)) &&
	                explain_devices_put(d, files, error, sizeof(error)) &&
	                explain_devices_put(d, cluster_files(c), error, sizeof(error));

	files_free(files);
	if (ok)
		return d;
	fprintf(stderr, "%s: devices are not counted: %s\n", command, error);
	devices_free(d);
	return NULL;
}

/* The namespace of a question; NULL after a message. */
static struct cluster *cluster_asked(const struct conditions_question *q)
{
	const char *slash = strchr(q->name, '/');
	char *namespace = ctl_print("%.*s", (int)(slash - q->name), q->name);
	struct cluster *c = cluster_new(
		q->command, &(struct cluster_question){
						.access = q->access, .namespace = namespace, .schedulers = q->schedulers });

	free(namespace);
	return c;
}

/* As explain_pod_asked(). */
static int pod_conditions(const struct conditions_question *q, const struct cluster *c, char **gang)
{
	struct finding f;
	struct pod_view pod;

	if (!offline_pod_named(cluster_model(c), q->name, &pod))
		return -1;
	if (pod.gang[0] != '\0') {
		*gang = ctl_print("%s/%s", pod.namespace, pod.gang);
		return -1;
	}
	f = finding_of(q->name, &pod);
	f.model = cluster_model(c);
	f.devices = has_claims(c, &pod) ? devices_asked(q->command, q->access, c) : NULL;
	print_finding(&f, q->output);
	if (f.devices != NULL)
		devices_free(f.devices);
	return f.node != NULL ? EXIT_DONE : EXIT_NO;
}

int explain_pod_asked(const struct conditions_question *q, char **gang)
{
	struct cluster *c = cluster_asked(q);
	int rc = -1;

	*gang = NULL;
	if (c != NULL) {
		rc = pod_conditions(q, c, gang);
		cluster_free(c);
	}
	return rc;
}

/* Without nodes its reason is that of its pods alone, and it has no place in a queue. */
static int gang_conditions(const struct conditions_question *q, const struct cluster *c,
                           const char *name)
{
	const struct gang_result *g = cluster_gang(c, name);
	struct gang_result shown;

	if (g == NULL)
		return ctl_usage(q->command,
		                 "%s: the API server has no such gang or pod of this scheduler "
		                 "(--scheduler-name)",
		                 name);
	shown = *g;
	/* Only printed, which changes no text. */
	shown.reason = (char *)(uintptr_t)cluster_reason(c, name);
	shown.why = (struct reason){ 0 };
	explain_print(&(struct explanation){ .gang = name, .result = &shown, .conditions_only = true },
	              q->output);
	return explain_exit(g);
}

int explain_conditions(const struct conditions_question *q)
{
	struct cluster *c = cluster_asked(q);
	char *gang = NULL;
	int rc;

	if (c == NULL)
		return EXIT_USAGE;
	rc = pod_conditions(q, c, &gang);
	if (rc < 0)
		rc = gang_conditions(q, c, gang != NULL ? gang : q->name);
	free(gang);
	cluster_free(c);
	return rc;
}
