/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/machines.h"

#include "ctl/live/cluster.h"
#include "ctl/offline/offline.h"
#include "ctl/term/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_LABEL "kubernetes.io/hostname"

struct machines {
	struct files *files;
	struct offline *offline;
};

static bool fill(struct machines *m, const char *command, const struct machines_question *q)
{
	struct fetch_nodes fetch = { .access = q->access,
		                         .name = q->name,
		                         .selector = q->selector,
		                         .pods = q->pods,
		                         .served = offline_own_model(m->offline) };
	char error[2048] = "";

	if (!fetch_nodes(&fetch, m->files, error, sizeof(error)) ||
	    !files_check(m->files, error, sizeof(error)) ||
	    !offline_put_all(m->offline, m->files, error, sizeof(error)) ||
	    !offline_start(m->offline, error, sizeof(error))) {
		ctl_usage(command, "%s", error);
		return false;
	}
	if (fetch.refused[0] != '\0')
		fprintf(stderr, "%s: no right to list %s: gangs of these kinds are not named\n", command,
		        fetch.refused);
	return true;
}

struct machines *machines_new(const char *command, const struct machines_question *q)
{
	const struct offline_config config = offline_config_of(q->schedulers);
	struct machines *m = must_alloc(sizeof(*m));

	m->files = files_new();
	m->offline = offline_new(&config);
	if (fill(m, command, q))
		return m;
	machines_free(m);
	return NULL;
}

void machines_free(struct machines *m)
{
	offline_free(m->offline);
	files_free(m->files);
	free(m);
}

const struct ledger *machines_ledger(const struct machines *m)
{
	return offline_ledger(m->offline);
}

static const struct object *node_object(const struct machines *m, const char *node)
{
	size_t n;
	const struct object *objects = files_objects(m->files, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(objects[i].kind, "Node") == 0 && strcmp(objects[i].name, node) == 0)
			return &objects[i];
	return NULL;
}

bool machines_have(const struct machines *m, const char *node)
{
	return node_object(m, node) != NULL;
}

cJSON *machines_labels(const struct machines *m, const char *node)
{
	const struct object *object = node_object(m, node);
	cJSON *labels = json_checked(cJSON_CreateObject()), *o, *of;
	const cJSON *label;

	if (object == NULL)
		return labels;
	o = cJSON_ParseWithLength(object->json.at, object->json.bytes);
	of = cJSON_GetObjectItemCaseSensitive(o, "metadata");
	cJSON_ArrayForEach(label, cJSON_GetObjectItemCaseSensitive(of, "labels"))
	{
		if (cJSON_IsString(label) && strcmp(label->string, HOST_LABEL) != 0)
			json_add_text(labels, label->string, label->valuestring);
	}
	cJSON_Delete(o);
	return labels;
}

cJSON *machines_pods(const struct machines *m, const char *node)
{
	const struct model *model = offline_model(m->offline);
	cJSON *list = json_checked(cJSON_CreateArray());
	size_t n;
	const struct object *objects = files_objects(m->files, &n);
	struct pod_view pod;

	for (size_t i = 0; i < n; i++) {
		cJSON *item;

		if (strcmp(objects[i].kind, "Pod") != 0 ||
		    !model_pod_by_name(model, objects[i].namespace, objects[i].name, &pod) ||
		    strcmp(pod.node, node) != 0)
			continue;
		item = cluster_member(&objects[i], &pod);
		json_add_text(item, "namespace", pod.namespace);
		json_add_text(item, "gang", pod.gang);
		json_add_text(item, "scheduler", pod.scheduler_name);
		cJSON_AddItemToArray(list, item);
	}
	return list;
}
