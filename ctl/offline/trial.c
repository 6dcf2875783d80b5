/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/trial.h"

#include "ctl/term/ctl.h"
#include "ctl/term/print.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct changing {
	const struct change *change;
	char *text; /* of the object that was changed last */
	uint32_t ended;
	const struct object *bad; /* one that can't be changed, NULL */
};

static cJSON *parse(const struct object *object)
{
	return cJSON_ParseWithLength(object->json.at, object->json.bytes);
}

/* The model accepts some texts that cJSON does not, such as half of a surrogate pair. */
static bool cannot_parse(const struct object *object, char *error, size_t error_bytes)
{
	char where[512];

	snprintf(error, error_bytes, "%s: %s %s can't be parsed, so it can't be tried in another form",
	         object_where(object, where, sizeof(where)), object->kind, object->name);
	return false;
}

static const char *text_at(const cJSON *o, const char *outer, const char *inner)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, outer), inner));
}

/* The node's JSON under another name, as a new node: without attached volumes. NULL: it can't be
 * parsed. */
static char *node_copy(const struct object *like, const char *name)
{
	cJSON *o = parse(like), *meta = cJSON_GetObjectItemCaseSensitive(o, "metadata");
	cJSON *labels = cJSON_GetObjectItemCaseSensitive(meta, "labels"), *host;
	char *text;

	if (o == NULL)
		return NULL;
	cJSON_ReplaceItemInObjectCaseSensitive(meta, "name", cJSON_CreateString(name));
	cJSON_DeleteItemFromObjectCaseSensitive(meta, "uid");
	cJSON_DeleteItemFromObjectCaseSensitive(meta, "resourceVersion");
	host = cJSON_GetObjectItemCaseSensitive(labels, "kubernetes.io/hostname");
	if (host != NULL)
		cJSON_ReplaceItemInObjectCaseSensitive(labels, "kubernetes.io/hostname",
		                                       cJSON_CreateString(name));
	cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "status"),
	                                        "volumesAttached");
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	if (text == NULL)
		fatal_memory();
	return text;
}

static bool is_kind(const struct object *o, const char *kind)
{
	return strcmp(o->kind, kind) == 0;
}

static void suffix(cJSON *o, const char *field, const char *with)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, field));
	char *longer = ctl_print("%s%s", text != NULL ? text : "", with);

	cJSON_ReplaceItemInObjectCaseSensitive(o, field, json_checked(cJSON_CreateString(longer)));
	free(longer);
}

/* The slice of the new node: a pool of its own. NULL: it is not of that node. */
static char *slice_copy(const struct object *slice, const struct object *like, const char *name)
{
	const char *of, *more = strrchr(name, '-') - strlen("-more");
	cJSON *o = parse(slice), *spec = cJSON_GetObjectItemCaseSensitive(o, "spec");
	char *text = NULL;

	of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(spec, "nodeName"));
	if (of != NULL && strcmp(of, like->name) == 0) {
		suffix(cJSON_GetObjectItemCaseSensitive(o, "metadata"), "name", more);
		suffix(cJSON_GetObjectItemCaseSensitive(spec, "pool"), "name", more);
		cJSON_ReplaceItemInObjectCaseSensitive(spec, "nodeName",
		                                       json_checked(cJSON_CreateString(name)));
		text = cJSON_PrintUnformatted(o);
		if (text == NULL)
			fatal_memory();
	}
	cJSON_Delete(o);
	return text;
}

/* The devices of a copy of a node: those that the node has. */
static bool slices_add(struct offline *offline, const struct files *files, const struct change *c,
                       const char *name, char *error, size_t error_bytes)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);
	bool ok = true;

	for (size_t i = 0; ok && offline_claims(offline) != NULL && i < n; i++) {
		struct object slice = objects[i];
		char *text =
			is_kind(&slice, "ResourceSlice") && strcmp(slice.api_version, "resource.k8s.io/v1") == 0
				? slice_copy(&slice, c->like, name)
				: NULL;

		if (text == NULL)
			continue;
		slice.json = (struct text){ text, strlen(text) };
		ok = offline_put_more(offline, &slice, error, error_bytes);
		free(text);
	}
	return ok;
}

static bool nodes_add(struct offline *offline, const struct files *files, const struct change *c,
                      char *error, size_t error_bytes)
{
	uint32_t number = 0;
	bool ok = true;

	for (uint32_t i = 0; ok && i < c->nodes; i++) {
		char name[256], *text;
		struct object more = *c->like;

		do
			snprintf(name, sizeof(name), "%.200s-more-%u", c->like->name, ++number);
		while (model_node_id(offline_model(offline), (struct text){ name, strlen(name) }) !=
		       ID_NONE);
		text = node_copy(c->like, name);
		if (text == NULL)
			return cannot_parse(c->like, error, error_bytes);
		more.json = (struct text){ text, strlen(text) };
		more.name = name;
		ok = offline_put_more(offline, &more, error, error_bytes) &&
		     slices_add(offline, files, c, name, error, error_bytes);
		free(text);
	}
	return ok;
}

static int64_t seconds_of(const char *text)
{
	struct tm tm = { 0 };

	return text != NULL && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) != NULL ? (int64_t)timegm(&tm)
	                                                                        : 0;
}

int64_t pod_known_end(const struct object *pod)
{
	cJSON *o = parse(pod);
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(o, "spec");
	const cJSON *deadline = cJSON_GetObjectItemCaseSensitive(spec, "activeDeadlineSeconds");
	const char *node = text_at(o, "spec", "nodeName"), *phase = text_at(o, "status", "phase");
	int64_t start = seconds_of(text_at(o, "status", "startTime")), end = 0;

	/* The API server accepts 32 bits. */
	if (node != NULL && *node && start > 0 && cJSON_IsNumber(deadline) &&
	    deadline->valuedouble >= 0 && deadline->valuedouble <= INT32_MAX &&
	    (phase == NULL || (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)))
		end = start + (int64_t)deadline->valuedouble;
	cJSON_Delete(o);
	return end;
}

static bool is_replaced(const cJSON *meta)
{
	static const char *const kinds[] = { "ReplicaSet", "StatefulSet", "DaemonSet",
		                                 "ReplicationController", "Node" };
	const cJSON *owner, *owners = cJSON_GetObjectItemCaseSensitive(meta, "ownerReferences");

	cJSON_ArrayForEach(owner, owners)
	{
		const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(owner, "kind"));

		for (size_t i = 0; kind != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strcmp(kind, kinds[i]) == 0)
				return true;
	}
	return false;
}

bool pod_may_end(const struct object *pod, int64_t *since)
{
	cJSON *o = parse(pod);
	const char *node = text_at(o, "spec", "nodeName"), *phase = text_at(o, "status", "phase");
	const char *start = text_at(o, "status", "startTime");
	const bool ended =
		phase != NULL && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0);
	const bool may = node != NULL && *node && !ended &&
	                 !is_replaced(cJSON_GetObjectItemCaseSensitive(o, "metadata"));

	*since = seconds_of(start != NULL ? start : text_at(o, "metadata", "creationTimestamp"));
	cJSON_Delete(o);
	return may;
}

/* The object with that priority; pods, and groups that have a priority of their own. */
static void prefer(struct changing *g, const struct object *object, struct text *json)
{
	cJSON *o = parse(object), *spec = cJSON_GetObjectItemCaseSensitive(o, "spec");

	if (o == NULL)
		g->bad = object;
	if (spec != NULL) {
		cJSON_DeleteItemFromObjectCaseSensitive(spec, "priority");
		cJSON_AddNumberToObject(spec, "priority", g->change->priority);
		free(g->text);
		g->text = cJSON_PrintUnformatted(o);
		if (g->text == NULL)
			fatal_memory();
		*json = (struct text){ g->text, strlen(g->text) };
	}
	cJSON_Delete(o);
}

static bool is_favoured(const struct change *c, const struct object *object,
                        const struct offline *base)
{
	struct pod_view pod;
	const char *slash = strchr(c->favoured, '/');
	size_t namespace = (size_t)(slash - c->favoured);

	if (strlen(object->namespace) != namespace ||
	    strncmp(object->namespace, c->favoured, namespace) != 0)
		return false;
	if (!is_kind(object, "Pod")) /* a native group of Kubernetes */
		return is_kind(object, "PodGroup") &&
		       strncmp(object->api_version, "scheduling.k8s.io/", 18) == 0 &&
		       strcmp(object->name, slash + 1) == 0;
	return model_pod_by_name(offline_model(base), object->namespace, object->name, &pod) &&
	       strcmp(pod.gang[0] != '\0' ? pod.gang : pod.name, slash + 1) == 0 && pod.node[0] == '\0';
}

struct applying {
	struct changing changing;
	const struct offline *base; /* has the gang's pods; NULL: not needed */
	char **ended;               /* "ns/name" of the pods that have ended, sorted */
	size_t ended_n;
};

static int by_address(const void *a, const void *b)
{
	const struct object *left = *(const struct object *const *)a;
	const struct object *right = *(const struct object *const *)b;

	return left < right ? -1 : left > right;
}

static bool ends(const struct change *c, const struct object *object)
{
	const int64_t end = c->ended_s > 0 && is_kind(object, "Pod") ? pod_known_end(object) : 0;

	if (c->ended_n > 0)
		return bsearch(&object, c->ended, c->ended_n, sizeof(*c->ended), by_address) != NULL;
	return end > 0 && end <= c->ended_s;
}

/* Claims come before pods, so who has ended is known before both. */
static void find_ended(struct applying *a, const struct files *files)
{
	size_t n, cap = 0;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; i < n; i++) {
		if (!ends(a->changing.change, &objects[i]))
			continue;
		a->ended = must_reach(a->ended, &cap, a->ended_n, 16, sizeof(char *));
		a->ended[a->ended_n++] = ctl_print("%s/%s", objects[i].namespace, objects[i].name);
	}
	if (a->ended_n > 0)
		qsort(a->ended, a->ended_n, sizeof(char *), ctl_compare_texts);
}

static bool has_ended(const struct applying *a, const char *namespace, const char *name)
{
	char *key = ctl_print("%s/%s", namespace, name);
	const bool found =
		bsearch(&key, a->ended, a->ended_n, sizeof(char *), ctl_compare_texts) != NULL;

	free(key);
	return found;
}

/* A claim whose pods have all ended is allocated no more, as its controller does it. */
static void free_claim(struct applying *a, const struct object *object, struct text *json)
{
	cJSON *o = parse(object), *status = cJSON_GetObjectItemCaseSensitive(o, "status");
	const cJSON *one, *list = cJSON_GetObjectItemCaseSensitive(status, "reservedFor");
	bool all = cJSON_GetArraySize(list) > 0;

	cJSON_ArrayForEach(one, list)
	{
		const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "name"));

		all = all && name != NULL && has_ended(a, object->namespace, name);
	}
	if (all) {
		cJSON_DeleteItemFromObjectCaseSensitive(o, "status");
		free(a->changing.text);
		a->changing.text = cJSON_PrintUnformatted(o);
		if (a->changing.text == NULL)
			fatal_memory();
		*json = text_of(a->changing.text);
	}
	cJSON_Delete(o);
}

static bool apply(void *context, const struct object *object, struct text *json)
{
	struct applying *a = context;
	const struct change *c = a->changing.change;

	if (ends(c, object)) {
		a->changing.ended++;
		return false;
	}
	if (a->ended_n > 0 && is_kind(object, "ResourceClaim"))
		free_claim(a, object, json);
	if (a->base != NULL && is_favoured(c, object, a->base))
		prefer(&a->changing, object, json);
	return true;
}

bool world_make(const struct trial_config *config, const struct change *change, struct world *out,
                char *error, size_t error_bytes)
{
	struct applying a = { .changing = { .change = change } };
	struct offline *base = NULL;
	bool ok = true;

	error[0] = '\0';
	*out = (struct world){ .offline = offline_new(&config->offline) };
	find_ended(&a, config->files);
	if (change->favoured != NULL) {
		base = offline_new(&config->offline);
		ok = offline_put_all(base, config->files, error, error_bytes);
		a.base = base;
	}
	ok = ok && offline_put_changed(out->offline, config->files, apply, &a, error, error_bytes) &&
	     (a.changing.bad == NULL || cannot_parse(a.changing.bad, error, error_bytes)) &&
	     nodes_add(out->offline, config->files, change, error, error_bytes) &&
	     offline_place(out->offline, error, error_bytes);
	if (ok)
		out->answers = simulation_new(out->offline);
	out->ended = a.changing.ended;
	for (size_t i = 0; i < a.ended_n; i++)
		free(a.ended[i]);
	free(a.ended);
	free(a.changing.text);
	offline_free(base);
	return ok;
}

void world_free(struct world *w)
{
	if (w->answers != NULL)
		simulation_free(w->answers);
	offline_free(w->offline);
	*w = (struct world){ 0 };
}

const struct gang_result *world_gang(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->answers->gangs_n; i++)
		if (strcmp(w->answers->gangs[i].gang, name) == 0)
			return &w->answers->gangs[i];
	return NULL;
}

const struct placement *world_pod(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->answers->placements_n; i++)
		if (strcmp(w->answers->placements[i].pod, name) == 0)
			return &w->answers->placements[i];
	return NULL;
}

bool trial_starts(const struct trial_config *config, const struct change *change, const char *gang)
{
	const struct gang_result *g;
	struct world w;
	char error[1024];
	bool starts = false;

	if (world_make(config, change, &w, error, sizeof(error))) {
		g = world_gang(&w, gang);
		starts = g != NULL && g->state == GANG_PLACED;
	}
	world_free(&w);
	return starts;
}
