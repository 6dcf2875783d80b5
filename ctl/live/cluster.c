/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/cluster.h"

#include "ctl/live/live.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/simulate.h"
#include "ctl/term/print.h"
#include "frontend/dialect/dialects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct told {
	char *gang; /* "ns/name" */
	char *reason;
};

struct cluster {
	struct files *files, *selected;
	struct offline *offline;
	struct simulation *simulation;
	struct told *told; /* sorted by gang; of its waiting pods */
	size_t told_n, told_room;
	const char *chosen_by; /* the selector; NULL: none */
	char **chosen;         /* gangs of pods that the selector matches, sorted */
	size_t chosen_n;
};

static int compare_told(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->gang, ((const struct told *)b)->gang);
}

static void note_told(void *context, const struct pod_view *pod)
{
	struct cluster *c = context;

	if (!pod->ours || pod->gang[0] == '\0' || pod->node[0] != '\0' ||
	    strcmp(pod->condition_status, "False") != 0 || pod->condition_message[0] == '\0')
		return;
	c->told = must_reach(c->told, &c->told_room, c->told_n, 64, sizeof(*c->told));
	c->told[c->told_n++] = (struct told){ .gang = ctl_print("%s/%s", pod->namespace, pod->gang),
		                                  .reason = must_copy(pod->condition_message) };
}

static void note_chosen(struct cluster *c)
{
	size_t n;
	const struct object *objects = files_objects(c->selected, &n);
	struct pod_view pod;

	c->chosen = must_array(n + 1, sizeof(*c->chosen));
	for (size_t i = 0; i < n; i++)
		if (model_pod_by_name(offline_model(c->offline), objects[i].namespace, objects[i].name,
		                      &pod) &&
		    pod.gang[0] != '\0')
			c->chosen[c->chosen_n++] = ctl_print("%s/%s", pod.namespace, pod.gang);
	if (c->chosen_n > 1)
		qsort(c->chosen, c->chosen_n, sizeof(*c->chosen), ctl_compare_texts);
}

static bool fill(struct cluster *c, const char *command, const struct cluster_question *q)
{
	struct fetch_gangs fetch = { .access = q->access,
		                         .namespace = q->namespace,
		                         .selector = q->selector,
		                         .served = offline_own_model(c->offline) };
	char error[2048] = "";

	if (!fetch_gangs(&fetch, c->files, c->selected, error, sizeof(error)) ||
	    !files_check(c->files, error, sizeof(error)) ||
	    !offline_put_all(c->offline, c->files, error, sizeof(error)) ||
	    !offline_place(c->offline, error, sizeof(error))) {
		ctl_usage(command, "%s", error);
		return false;
	}
	if (fetch.refused[0] != '\0')
		fprintf(stderr, "%s: no right to list %s: their gangs are shown without their objects\n",
		        command, fetch.refused);
	return true;
}

struct cluster *cluster_new(const char *command, const struct cluster_question *q)
{
	const struct offline_config config = offline_config_of(q->schedulers);
	struct cluster *c = must_alloc(sizeof(*c));

	c->chosen_by = q->selector;
	c->files = files_new();
	c->selected = files_new();
	c->offline = offline_new(&config);
	if (!fill(c, command, q)) {
		cluster_free(c);
		return NULL;
	}
	c->simulation = simulation_new(c->offline);
	model_each_pod(offline_model(c->offline), note_told, c);
	if (c->told_n > 1)
		qsort(c->told, c->told_n, sizeof(*c->told), compare_told);
	note_chosen(c);
	return c;
}

void cluster_free(struct cluster *c)
{
	for (size_t i = 0; i < c->told_n; i++) {
		free(c->told[i].gang);
		free(c->told[i].reason);
	}
	for (size_t i = 0; i < c->chosen_n; i++)
		free(c->chosen[i]);
	free(c->told);
	free(c->chosen);
	if (c->simulation != NULL)
		simulation_free(c->simulation);
	offline_free(c->offline);
	files_free(c->selected);
	files_free(c->files);
	free(c);
}

static uint32_t dialect_of(const char *name)
{
	const int found = dialect_find(name);

	return found < 0 ? UINT32_MAX : (uint32_t)found;
}

struct gangs cluster_gangs(const struct cluster *c)
{
	const struct simulation *s = c->simulation;
	struct gangs out = { .at = must_array(s->gangs_n + 1, sizeof(*out.at)) };

	for (size_t i = 0; i < s->gangs_n; i++) {
		const struct gang_result *g = &s->gangs[i];
		struct gang_copy *to = &out.at[out.n];

		if (g->members + g->succeeded + g->failed == 0)
			continue; /* without a member of these schedulers */
		out.n++;
		to->row = (struct gang_row){
			.generation = 1,
			.state = g->life,
			.placement = g->state,
			.dialect = dialect_of(g->dialect),
			.quorum = g->quorum,
			.members = g->members,
			.bound = g->placed,
			.succeeded = g->succeeded,
			.failed = g->failed,
			.priority = g->priority,
			.created_ns = g->created_ns,
			.band = g->band,
			.reason = g->why,
		};
		snprintf(to->name, sizeof(to->name), "%s", g->gang);
	}
	return out;
}

const struct gang_result *cluster_gang(const struct cluster *c, const char *name)
{
	for (size_t i = 0; i < c->simulation->gangs_n; i++)
		if (strcmp(c->simulation->gangs[i].gang, name) == 0)
			return &c->simulation->gangs[i];
	return NULL;
}

const char *cluster_reason(const struct cluster *c, const char *gang)
{
	/* qsort() and bsearch() take what they compare as it is. */
	const struct told wanted = { .gang = (char *)(uintptr_t)gang };
	const struct told *told =
		c->told_n > 0 ? bsearch(&wanted, c->told, c->told_n, sizeof(wanted), compare_told) : NULL;
	const struct gang_result *g;

	if (told != NULL)
		return told->reason;
	g = cluster_gang(c, gang);
	/* Without nodes only these are right. */
	return g != NULL && (g->why.why == WAIT_MEMBERS || g->why.why == WAIT_REFUSED) ? g->reason
	                                                                               : NULL;
}

bool cluster_selects(const struct cluster *c, const char *gang)
{
	char *wanted = (char *)(uintptr_t)gang;

	return c->chosen_n > 0 &&
	       bsearch(&wanted, c->chosen, c->chosen_n, sizeof(wanted), ctl_compare_texts) != NULL;
}

/* "Running" of a pod with a node, as its status has it. */
static char *phase_of(const struct object *object)
{
	cJSON *o = cJSON_ParseWithLength(object->json.at, object->json.bytes);
	const char *phase = cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "status"), "phase"));
	char *text = must_copy(phase == NULL || strcmp(phase, "Pending") == 0 ? "Starting" : phase);

	cJSON_Delete(o);
	return text;
}

static char *stage_of(const struct object *object, const struct pod_view *pod)
{
	if (pod->deleting)
		return must_copy("Terminating");
	if (pod->node[0] != '\0')
		return phase_of(object);
	return must_copy(pod->gated ? "Gated" : pod->refusal[0] != '\0' ? "Refused" : "Waiting");
}

cJSON *cluster_member(const struct object *object, const struct pod_view *pod)
{
	const uint64_t now = live_wall_ns();
	cJSON *o = json_checked(cJSON_CreateObject());
	char *stage = stage_of(object, pod);

	json_add_text(o, "pod", pod->name);
	json_add_text(o, "node", pod->node);
	json_add_text(o, "stage", stage);
	json_add_number(o, "age_s",
	                pod->created_ns != 0 && pod->created_ns < now
	                    ? (int64_t)((now - pod->created_ns) / UINT64_C(1000000000))
	                    : 0);
	free(stage);
	return o;
}

cJSON *cluster_members(const struct cluster *c, const char *gang)
{
	const struct model *m = offline_model(c->offline);
	cJSON *list = json_checked(cJSON_CreateArray());
	const char *slash = strchr(gang, '/');
	size_t n;
	const struct object *objects = files_objects(c->files, &n);
	struct pod_view pod;

	for (size_t i = 0; slash != NULL && i < n; i++)
		if (strcmp(objects[i].kind, "Pod") == 0 &&
		    model_pod_by_name(m, objects[i].namespace, objects[i].name, &pod) &&
		    strcmp(pod.gang, slash + 1) == 0 &&
		    strncmp(gang, pod.namespace, (size_t)(slash - gang)) == 0 &&
		    pod.namespace[slash - gang] == '\0')
			cJSON_AddItemToArray(list, cluster_member(&objects[i], &pod));
	return list;
}

static cJSON *single(const struct object *object, const struct pod_view *pod)
{
	cJSON *o = cluster_member(object, pod);
	char *name = ctl_print("%s/%s", pod->namespace, pod->name);
	const bool told = strcmp(pod->condition_status, "False") == 0;

	cJSON_ReplaceItemInObjectCaseSensitive(o, "pod", json_checked(cJSON_CreateString(name)));
	if (pod->node[0] == '\0' && (pod->refusal[0] != '\0' || told))
		json_add_text(o, "reason", pod->refusal[0] != '\0' ? pod->refusal : pod->condition_message);
	free(name);
	return o;
}

cJSON *cluster_singles(const struct cluster *c)
{
	cJSON *list = json_checked(cJSON_CreateArray());
	const struct files *files = c->chosen_by != NULL ? c->selected : c->files;
	size_t n;
	const struct object *objects = files_objects(files, &n);
	struct pod_view pod;

	for (size_t i = 0; i < n; i++)
		if (strcmp(objects[i].kind, "Pod") == 0 &&
		    model_pod_by_name(offline_model(c->offline), objects[i].namespace, objects[i].name,
		                      &pod) &&
		    pod.ours && pod.gang[0] == '\0')
			cJSON_AddItemToArray(list, single(&objects[i], &pod));
	return list;
}

const struct model *cluster_model(const struct cluster *c)
{
	return offline_model(c->offline);
}

const struct files *cluster_files(const struct cluster *c)
{
	return c->files;
}
