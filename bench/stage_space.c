/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/stage_impl.h"

#include "bench/bench.h"

#include "ctl/term/ctl.h"

#include <cjson/cJSON.h>

/* It may take a moment until pods can be created in a new namespace. */
static bool space_ready(struct space *p)
{
	char path[160],
		*body = ctl_print(
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"probe\"},\"spec\":{"
			"\"containers\":[{\"name\":\"c\",\"image\":\"registry.invalid/none:1\"}]}}");
	int status = 0;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?dryRun=All", p->namespace);
	for (int i = 0; i < 100 && status != 201; i++) {
		if (i > 0)
			client_idle(&p->stage->client, 100);
		status = client_one(&p->stage->client, "POST", path, body);
	}
	free(body);
	if (status != 201)
		fprintf(stderr, "muster-bench: no pod can be made in %s: %d %.300s\n", p->namespace, status,
		        client_said(&p->stage->client));
	return status == 201;
}

bool space_open(struct space *p, struct stage *s, const char *scheduler)
{
	char *body;
	int status;

	*p = (struct space){ .stage = s, .scheduler = scheduler };
	snprintf(p->namespace, sizeof(p->namespace), "muster-bench-%llx-%u",
	         (unsigned long long)s->began, s->spaces++);
	body =
		ctl_print("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
	              p->namespace);
	status = client_one(&s->client, "POST", "/api/v1/namespaces", body);
	free(body);
	if (status != 201) {
		fprintf(stderr, "muster-bench: can't make a namespace: %d %.300s\n", status,
		        client_said(&s->client));
		return false;
	}
	if (!space_ready(p))
		return false;
	client_watch(&s->client, p->namespace);
	return true;
}

bool space_close(struct space *p, bool ok)
{
	char path[160];

	if (!p->stage->clean)
		return ok;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?gracePeriodSeconds=0", p->namespace);
	client_one(&p->stage->client, "DELETE", path, NULL);
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s", p->namespace);
	client_one(&p->stage->client, "DELETE", path, NULL);
	return ok;
}

void space_make_pod(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;
	char labels[128] = "", group[128] = "", claims[128] = "";

	if (p->group_label)
		snprintf(labels, sizeof(labels), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"}",
		         p->group_label);
	if (p->group_native)
		snprintf(group, sizeof(group), "\"schedulingGroup\":{\"podGroupName\":\"%s\"},",
		         p->group_native);
	if (p->claims)
		snprintf(claims, sizeof(claims),
		         "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"pod-%05u\"}],", i);
	snprintf(path, 512, "/api/v1/namespaces/%s/pods", p->namespace);
	*body = ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%05u\"%s},\"spec\":{%s%s"
		"\"schedulerName\":\"%s\",\"restartPolicy\":\"Never\",\"enableServiceLinks\":false,"
		"\"automountServiceAccountToken\":false,\"terminationGracePeriodSeconds\":0,\"containers\":[{"
		"\"name\":\"worker\",\"image\":\"registry.invalid/none:1\",\"resources\":{\"requests\":{"
		"\"cpu\":\"1\",\"memory\":\"1Gi\"}%s}}]}}",
		i, labels, group, claims, p->scheduler,
		p->claims ? ",\"claims\":[{\"name\":\"gpu\"}]" : "");
}

bool space_has_no_room(const struct space *p, char *out, size_t out_bytes)
{
	const cJSON *pod, *condition;
	bool found = false;
	char path[200];
	cJSON *list;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods?fieldSelector=spec.nodeName%%3D",
	         p->namespace);
	if (client_one(&p->stage->client, "GET", path, NULL) != 200)
		return false;
	list = cJSON_Parse(client_said(&p->stage->client));
	pod = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "items"), 0);
	cJSON_ArrayForEach(condition,
	                   cJSON_GetObjectItem(cJSON_GetObjectItem(pod, "status"), "conditions"))
	{
		const char *reason = cJSON_GetStringValue(cJSON_GetObjectItem(condition, "reason"));
		const char *message = cJSON_GetStringValue(cJSON_GetObjectItem(condition, "message"));

		if (reason && message && strcmp(reason, "Unschedulable") == 0) {
			snprintf(out, out_bytes, "%s", message);
			found = true;
		}
	}
	cJSON_Delete(list);
	return found;
}
