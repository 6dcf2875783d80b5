/* SPDX-License-Identifier: Apache-2.0 */
/* Objects into the model of an offline core, and what of them is passed over. */
#include "ctl/objects/admission.h"
#include "ctl/gpus/shares.h"
#include "ctl/objects/unroll.h"
#include "ctl/offline/claims.h"
#include "ctl/offline/offline_impl.h"
#include "ctl/term/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pass_over(struct offline *o, const struct object *object)
{
	const bool grouped = strchr(object->api_version, '/') != NULL;
	char kind[256];
	size_t i = 0;

	if ((o->config.reads_budgets && strcmp(object->kind, "PodDisruptionBudget") == 0) ||
	    unroll_takes(object))
		return;
	snprintf(kind, sizeof(kind), "%s%s%s", object->kind, grouped ? " of " : "",
	         grouped ? object->api_version : "");
	ctl_plain(kind);
	while (i < o->passed_n && strcmp(o->passed[i].kind, kind) != 0)
		i++;
	if (i == o->passed_n) {
		o->passed = must_grow(o->passed, (i + 1) * sizeof(*o->passed));
		o->passed[i] = (struct passed_over){ .kind = must_copy(kind) };
		o->passed_n++;
	}
	o->passed[i].n++;
}

/* The same object for the claims. */
static bool put_devices(struct offline *o, const struct object *object, struct text json,
                        char *error, size_t error_bytes)
{
	char where[512], text[512];

	if (!o->any_claims || !devices_take(object->api_version, object->kind))
		return true;
	if (claims_by_records(o->claims)) {
		if (strcmp(object->kind, "ResourceClaim") == 0)
			claims_store(o->claims, object);
		return true;
	}
	if (devices_put(claims_devices(o->claims), object->kind, json.at, json.bytes, text,
	                sizeof(text)))
		return true;
	ctl_plain(text);
	snprintf(error, error_bytes, "%s: %s %s: %s", object_where(object, where, sizeof(where)),
	         object->kind, object->name, text);
	return false;
}

/* True if the object is of resource.k8s.io or asks for claims: others need no second reading. */
static bool needs_claims(const struct object *object)
{
	static const char asks[] = "resourceClaim";

	return strncmp(object->api_version, "resource.k8s.io/", 16) == 0 ||
	       (strcmp(object->kind, "Pod") == 0 &&
	        memmem(object->json.at, object->json.bytes, asks, sizeof(asks) - 1) != NULL);
}

static bool put(struct offline *o, struct admission *admission, const struct object *object,
                char *error, size_t error_bytes)
{
	int resource = model_resource_index(o->model, object->api_version, object->kind);
	struct text json = object->json;
	struct decode_error e = { 0 };
	char where[512];
	int rc;

	if (resource == RESOURCE_INDEX_PODS &&
	    !admission_pod(admission, object, &json, error, error_bytes))
		return false;
	if (resource == RESOURCE_INDEX_NODES)
		json = admission_node(object, &o->node);
	if (!put_devices(o, object, json, error, error_bytes))
		return false;
	if (resource < 0) {
		if (o->claims == NULL || !devices_take(object->api_version, object->kind))
			pass_over(o, object);
		return true;
	}
	rc = model_put(o->model, resource, json.at, json.bytes, &e);
	if (rc == 0)
		return true;
	object_where(object, where, sizeof(where));
	snprintf(error, error_bytes, "%s: %s: %s%s%s", where, e.object, e.field,
	         e.field[0] != '\0' ? ": " : "", e.text);
	return false;
}

static bool unchanged(void *context, const struct object *object, struct text *json)
{
	return true;
}

bool offline_put_all(struct offline *o, const struct files *files, char *error, size_t error_bytes)
{
	return offline_put_changed(o, files, unchanged, NULL, error, error_bytes);
}

static int names_compare(const void *a, const void *b)
{
	const struct object *left = *(const struct object *const *)a,
						*right = *(const struct object *const *)b;
	const int order = strcmp(left->namespace, right->namespace);

	return order != 0 ? order : strcmp(left->name, right->name);
}

/* Pods behind all others and by their names, as in a list of the API server: members of a gang that
 * are equally old are planned in that order. To be freed; *pods_n of the *n are pods. */
static const struct object **as_listed(const struct files *files, size_t *n, size_t *pods_n)
{
	const struct object *objects = files_objects(files, n);
	const struct object **all = must_array(*n + 1, sizeof(const struct object *)), **pods = all;

	for (size_t i = 0; i < *n; i++)
		if (strcmp(objects[i].kind, "Pod") != 0)
			*pods++ = &objects[i];
	*pods_n = 0;
	for (size_t i = 0; i < *n; i++)
		if (strcmp(objects[i].kind, "Pod") == 0)
			pods[(*pods_n)++] = &objects[i];
	qsort(pods, *pods_n, sizeof(const struct object *), names_compare);
	return all;
}

/* Objects on their way into the model. */
struct putting {
	struct offline *offline;
	struct admission *admission;
	offline_change_fn change;
	void *context;
	char *error;
	size_t error_bytes;
};

static bool put_changed(const struct putting *in, const struct object *const *objects, size_t n)
{
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++) {
		struct object object = *objects[i];

		if (!admission_takes(&object) && in->change(in->context, objects[i], &object.json))
			ok = put(in->offline, in->admission, &object, in->error, in->error_bytes);
	}
	return ok;
}

/* A pod that asks for a share of a GPU, or for whole ones beside such pods. */
static bool has_share(const struct object *pod)
{
	return memmem(pod->json.at, pod->json.bytes, GPU_SHARE, strlen(GPU_SHARE)) != NULL;
}

/* By records: a member of a gang has claims, the score looks at the devices of all nodes, or pods
 * ask for shares of GPUs: kube-scheduler has no answer for these, and records are faster. */
static bool wants_records(const struct offline *o, const struct object *const *pods, size_t pods_n)
{
	bool wants = o->config.score == SCORE_FGD || o->config.score == SCORE_MUSTER;

	for (size_t i = 0; !wants && i < pods_n; i++)
		wants = needs_claims(pods[i]) &&
		        (has_share(pods[i]) ||
		         model_claims_as_member(o->model, pods[i]->json.at, pods[i]->json.bytes));
	return wants;
}

bool offline_put_changed(struct offline *o, const struct files *files, offline_change_fn change,
                         void *context, char *error, size_t error_bytes)
{
	struct putting in = { o, admission_new(), change, context, error, error_bytes };
	size_t n, pods_n;
	const struct object **objects = as_listed(files, &n, &pods_n);
	const struct object *const *pods = objects + n - pods_n;
	bool ok = true;

	for (size_t i = 0; o->claims != NULL && !o->any_claims && i < n; i++)
		o->any_claims = needs_claims(objects[i]);
	for (size_t i = 0; ok && i < n; i++)
		if (admission_takes(objects[i]))
			ok = admission_put(in.admission, objects[i], error, error_bytes);
	ok = ok && put_changed(&in, objects, n - pods_n);
	/* Which pods are members depends on the other objects; they are put once more, into another
	 * model. */
	if (ok && o->any_claims && wants_records(o, pods, pods_n)) {
		offline_claims_by_records(o);
		ok = put_changed(&in, objects, n - pods_n);
	}
	ok = ok && put_changed(&in, pods, pods_n);
	free(objects);
	admission_free(in.admission);
	return ok;
}

bool offline_put_more(struct offline *o, const struct object *object, char *error,
                      size_t error_bytes)
{
	struct decode_error e = { 0 };
	int resource = model_resource_index(o->model, object->api_version, object->kind);
	struct text json =
		resource == RESOURCE_INDEX_NODES ? admission_node(object, &o->node) : object->json;
	bool by_search = o->claims != NULL && !claims_by_records(o->claims);
	int rc;

	if (!put_devices(o, object, json, error, error_bytes))
		return false;
	if (resource < 0 && by_search && devices_take(object->api_version, object->kind))
		return true;
	rc = resource < 0 ? -EINVAL : model_put(o->model, resource, json.at, json.bytes, &e);

	if (rc < 0)
		snprintf(error, error_bytes, "%s: %s: %s", e.object, e.field, e.text);
	return rc == 0;
}

bool offline_expand(struct files *files, bool devices, char *error, size_t error_bytes)
{
	if (!files_check(files, error, error_bytes) || !unroll(files, error, error_bytes) ||
	    !files_check(files, error, error_bytes))
		return false;
	gpu_shares(files, devices);
	return true;
}

bool offline_read(struct offline *o, struct files *files, const char *const *paths, size_t paths_n,
                  char *error, size_t error_bytes)
{
	for (size_t i = 0; i < paths_n; i++)
		if (!files_read(files, paths[i], error, error_bytes))
			return false;
	return offline_expand(files, o->config.reads_devices, error, error_bytes) &&
	       offline_put_all(o, files, error, error_bytes);
}

const char *offline_passed_over(const struct offline *o, char *out, size_t out_bytes)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < o->passed_n && at < out_bytes; i++)
		at += (size_t)snprintf(out + at, out_bytes - at, "%s%zu %s", i > 0 ? ", " : "",
		                       o->passed[i].n, o->passed[i].kind);
	return out;
}

void offline_say(const struct offline *o, const struct files *files, const char *command)
{
	const char *line = files_notes(files), *end;
	char passed[2048];

	if (offline_passed_over(o, passed, sizeof(passed))[0] != '\0')
		fprintf(stderr, "%s: passed over: %s\n", command, passed);
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
		fprintf(stderr, "%s: %.*s\n", command, (int)(end - line), line);
}
