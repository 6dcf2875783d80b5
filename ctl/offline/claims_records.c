/* SPDX-License-Identifier: Apache-2.0 */
/* The daemons' way: the core has the devices by records and chooses, and what is written for a pod
 * is checked and made by frontend/devices/live.h. */
#include "ctl/offline/claims_impl.h"

#include "ctl/offline/offline.h"
#include "ctl/term/ctl.h"
#include "ctl/term/print.h"
#include "frontend/devices/live.h"

#include <stdlib.h>
#include <string.h>

static struct live *live_of(const struct claims *c)
{
	return model_live(offline_own_model(c->offline));
}

void claims_records_free(struct claims *c)
{
	for (size_t i = 0; i < c->chosen_n; i++)
		free(c->chosen[i]);
	for (size_t i = 0; i < c->stored_n; i++) {
		free(c->stored[i].namespace);
		free(c->stored[i].name);
		free(c->stored[i].json);
	}
	free(c->chosen);
	free(c->stored);
}

void claims_store(struct claims *c, const struct object *object)
{
	c->stored = must_reach(c->stored, &c->stored_cap, c->stored_n, 64, sizeof(*c->stored));
	c->stored[c->stored_n++] = (struct stored_claim){
		must_copy(object->namespace),
		must_copy(object->name),
		ctl_print("%.*s", (int)object->json.bytes, object->json.at),
	};
}

static struct stored_claim *stored_find(const struct claims *c, const char *namespace,
                                        const char *name)
{
	for (size_t i = 0; i < c->stored_n; i++)
		if (strcmp(c->stored[i].name, name) == 0 && strcmp(c->stored[i].namespace, namespace) == 0)
			return &c->stored[i];
	return NULL;
}

void claims_choose(struct claims *c, const struct cmd_devices *cmd)
{
	const size_t bytes = cmd->picks_n * sizeof(struct device_pick);
	struct chosen *k = must_alloc(sizeof(*k) + bytes);

	k->head = *cmd;
	memcpy(k->picks, cmd + 1, bytes);
	c->chosen = must_reach(c->chosen, &c->chosen_n, cmd->pod, 64, sizeof(struct chosen *));
	free(c->chosen[cmd->pod]);
	c->chosen[cmd->pod] = k;
}

/* The allocations of one pod. */
struct taking {
	struct claims *claims;
	const char *namespace, *pod; /* NULL: nothing is written */
	struct claim_devices devices;
	struct taken_claim {
		char *name, *allocation;
	} * at;
	size_t n;
};

static const char *text_in(const cJSON *o, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));

	return text != NULL ? text : "";
}

static void device_add_named(struct claim_devices *list, const char *claim, const cJSON *result)
{
	const cJSON *consumed = cJSON_GetObjectItemCaseSensitive(result, "consumedCapacity");
	char *json = consumed != NULL ? cJSON_PrintUnformatted(consumed) : NULL;

	list->at = must_grow(list->at, (list->n + 1) * sizeof(*list->at));
	list->at[list->n++] = (struct claim_device){
		.claim = must_copy(claim),
		.request = must_copy(text_in(result, "request")),
		.device = ctl_print("%s/%s/%s", text_in(result, "driver"), text_in(result, "pool"),
		                    text_in(result, "device")),
		.consumed = json != NULL ? must_copy(json) : NULL,
		.admin = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "adminAccess")),
	};
	cJSON_free(json);
}

static void allocation_take(void *context, const char *claim, const char *allocation)
{
	struct taking *t = context;
	cJSON *o = json_checked(cJSON_Parse(allocation));
	const cJSON *result, *devices = cJSON_GetObjectItemCaseSensitive(o, "devices");

	cJSON_ArrayForEach(result, cJSON_GetObjectItemCaseSensitive(devices, "results"))
		device_add_named(&t->devices, claim, result);
	cJSON_Delete(o);
	if (t->pod == NULL)
		return;
	t->at = must_grow(t->at, (t->n + 1) * sizeof(*t->at));
	t->at[t->n++] = (struct taken_claim){ must_copy(claim), must_copy(allocation) };
	claims_add_written(t->claims, t->namespace, t->pod, claim, allocation);
}

static bool take(struct claims *c, uint32_t pod, node_id node, const struct cmd_devices *head,
                 const struct device_pick *picks, struct taking *t)
{
	return live_writing(live_of(c), pod, offline_node_name(c->offline, node), head, picks, 0,
	                    (const uint64_t[]){ 0, c->shares++ * DEVICE_PICKS_MAX }, allocation_take,
	                    t);
}

void claims_choose_on(struct claims *c, uint32_t node, struct claim_devices *out)
{
	struct taking t = { .claims = c };
	struct device_pick picks[DEVICE_PICKS_MAX];
	struct cmd_devices head;

	if (core_devices(offline_core(c->offline), c->evaluated, node, &head, picks) &&
	    take(c, c->evaluated, node, &head, picks, &t))
		live_written(live_of(c), c->evaluated, NULL);
	*out = t.devices;
}

/* The claim as it would be after the writes: allocated, and reserved for the pod. */
static char *claim_written(const char *json, const char *allocation, const struct pod_view *pod)
{
	cJSON *o = json_checked(cJSON_Parse(json)), *one = json_checked(cJSON_CreateObject());
	cJSON *status = cJSON_GetObjectItemCaseSensitive(o, "status"), *reserved;
	char *printed, *text;

	if (!cJSON_IsObject(status)) {
		cJSON_DeleteItemFromObjectCaseSensitive(o, "status");
		status = json_checked(cJSON_AddObjectToObject(o, "status"));
	}
	if (allocation != NULL) {
		cJSON_DeleteItemFromObjectCaseSensitive(status, "allocation");
		json_checked(cJSON_AddRawToObject(status, "allocation", allocation));
	}
	reserved = cJSON_GetObjectItemCaseSensitive(status, "reservedFor");
	if (!cJSON_IsArray(reserved)) {
		cJSON_DeleteItemFromObjectCaseSensitive(status, "reservedFor");
		reserved = json_checked(cJSON_AddArrayToObject(status, "reservedFor"));
	}
	json_add_text(one, "resource", "pods");
	json_add_text(one, "name", pod->name);
	json_add_text(one, "uid", pod->uid);
	cJSON_AddItemToArray(reserved, one);
	printed = cJSON_PrintUnformatted(o);
	if (printed == NULL)
		fatal_memory();
	text = must_copy(printed);
	cJSON_free(printed);
	cJSON_Delete(o);
	return text;
}

/* The store and the model get it. */
static void write_one(struct claims *c, const struct pod_view *pod, const char *name,
                      const char *allocation)
{
	struct model *m = offline_own_model(c->offline);
	struct stored_claim *stored = stored_find(c, pod->namespace, name);
	char *json = stored != NULL ? claim_written(stored->json, allocation, pod) : NULL;

	if (json == NULL)
		return;
	free(stored->json);
	stored->json = json;
	model_put(m, model_resource_index(m, "resource.k8s.io/v1", "ResourceClaim"), json, strlen(json),
	          NULL);
}

static const char *allocation_of(const struct taking *t, const char *claim)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->at[i].name, claim) == 0)
			return t->at[i].allocation;
	return NULL;
}

static void write_all(struct claims *c, const struct pod_view *pod, const struct taking *t)
{
	struct live_claim_view v;

	for (uint32_t i = 0; i < live_claims_n(live_of(c), pod->id); i++)
		if (live_claim(live_of(c), pod->id, i, &v) && !v.reserved) {
			char *name = must_copy(v.name);

			write_one(c, pod, name, allocation_of(t, name));
			free(name);
		}
	live_written(live_of(c), pod->id, NULL);
}

/* A claim that others have too may be allocated since the core chose. */
static bool is_allocated(const struct claims *c, uint32_t pod)
{
	struct live_claim_view v;
	bool all = true;

	for (uint32_t i = 0; i < live_claims_n(live_of(c), pod); i++)
		all = all && (!live_claim(live_of(c), pod, i, &v) || v.allocated);
	return all;
}

bool claims_write(struct claims *c, const struct pod_view *pod, node_id node)
{
	const struct chosen *k = pod->id < c->chosen_n ? c->chosen[pod->id] : NULL;
	struct taking t = { .claims = c, .namespace = pod->namespace, .pod = pod->name };

	if (live_claims_n(live_of(c), pod->id) == 0)
		return true;
	if (live_asks(live_of(c), pod->id) != UINT32_MAX && !is_allocated(c, pod->id) &&
	    !(k != NULL && k->head.node == node && take(c, pod->id, node, &k->head, k->picks, &t)))
		return false;
	write_all(c, pod, &t);
	c->placed = must_reach(c->placed, &c->placed_n, pod->id + 1, 64, sizeof(*c->placed));
	c->placed[pod->id + 1] = must_alloc(sizeof(**c->placed));
	*c->placed[pod->id + 1] = t.devices;
	for (size_t i = 0; i < t.n; i++) {
		free(t.at[i].name);
		free(t.at[i].allocation);
	}
	free(t.at);
	return true;
}
