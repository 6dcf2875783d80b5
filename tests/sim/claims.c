/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of devices in a run: slices and claims; what kube-controller-manager, the drivers and
 * another scheduler do to them.
 *
 * The controller makes the claims of templates, puts pods that have a node on `reservedFor` of what
 * is allocated, takes those that are over off it, frees what is reserved for nobody any more, and
 * deletes claims whose pod is over.  A driver says in
 * `status.devices` that a device is ready, or that it failed, and may take back that it is ready.
 */
#include "tests/sim/claims_impl.h"
#include "tests/sim/making.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_PATH "/apis/resource.k8s.io/v1/"
#define CLAIMS GROUP_PATH "namespaces/default/resourceclaims"
#define POD_STATUS "/api/v1/namespaces/default/pods/%s/status"
#define DRIVER "gpu.sim"
#define ALL 9u /* of devices: all that the fabric has */
#define LOOK_NS (400 * SIM_MS)

const struct as_json *claims_first(const struct as_json *o, const char *list)
{
	const struct as_json *array = as_json_array(o, list);

	return array != NULL ? array->first : NULL;
}

bool claims_foreign(const char *name)
{
	return name[0] == 'f';
}

bool claims_pod_over(const struct as_object *pod)
{
	const char *phase = as_object_field(pod, "status.phase");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

/* No tree may be in use. */
void claims_trees_begin(struct claims *c)
{
	if (c->trees_made < TREES)
		return;
	c->trees_made = 0;
	memset(c->trees, 0, sizeof(c->trees));
	as_arena_reset(&c->trees_arena);
}

const struct as_json *claims_tree(struct claims *c, const struct as_object *o)
{
	struct claims_tree *t = &c->trees[o->version % TREES];

	if (t->version != o->version) {
		c->trees_made++;
		*t = (struct claims_tree){ o->version, as_object_tree(&c->trees_arena, o) };
	}
	return t->tree;
}

const struct as_json *claims_status(struct claims *c, const struct as_object *claim)
{
	return as_json_get(claims_tree(c, claim), "status");
}

const struct as_json *claims_results(const struct as_json *allocation)
{
	return claims_first(as_json_get(allocation, "devices"), "results");
}

const struct as_object *claims_pod(const struct claims *c, const char *uid)
{
	for (struct as_index_entry *e = c->sim->api->pods->index.first[0]; e != NULL; e = e->next[0])
		if (strcmp(e->object->uid, uid) == 0)
			return e->object;
	return NULL;
}

const char *claims_name(const struct as_json *pod)
{
	const struct as_json *ref = claims_first(as_json_get(pod, "spec"), "resourceClaims");
	const char *name = json_text(ref, "resourceClaimName");

	if (ref == NULL || name[0] != '\0')
		return ref != NULL ? name : NULL;
	ref = claims_first(as_json_get(pod, "status"), "resourceClaimStatuses");
	return json_text(ref, "resourceClaimName");
}

const char *claims_owner(const struct as_json *claim)
{
	return json_text(claims_first(as_json_get(claim, "metadata"), "ownerReferences"), "uid");
}

static const char *path_of(const char *claim, const char *rest)
{
	static char path[160];

	snprintf(path, sizeof(path), CLAIMS "/%s%s", claim, rest);
	return path;
}

/* What the run begins with. */

uint32_t claims_devices(uint32_t node)
{
	return node == CLAIMS_FABRIC ? 2 : 1 + node % 3;
}

const char *claims_pool(uint32_t node)
{
	static char pool[16];

	snprintf(pool, sizeof(pool), node == CLAIMS_FABRIC ? "fabric" : "n%u", node);
	return pool;
}

static void slice_make(struct sim *s, uint32_t node)
{
	static const char binds[] =
		",\"bindingConditions\":[\"Ready\"],\"bindingFailureConditions\":[\"Broken\"]";
	char devices[512] = "";

	for (uint32_t i = 0; i < claims_devices(node); i++)
		snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices),
		         "%s{\"name\":\"d%u\"%s}", i > 0 ? "," : "", i,
		         node % 3 == 2 && i > 0 ? binds : "");
	sim_user(s, "POST", GROUP_PATH "resourceslices",
	         "{\"metadata\":{\"name\":\"n%u-gpu\"},\"spec\":{\"driver\":\"" DRIVER
	         "\",\"nodeName\":\"n%u\",\"pool\":{\"name\":\"n%u\",\"generation\":1,"
	         "\"resourceSliceCount\":1},\"devices\":[%s]}}",
	         node, node, node, devices);
}

static void fabric_make(struct sim *s)
{
	sim_user(
		s, "POST", GROUP_PATH "deviceclasses", "%s",
		"{\"metadata\":{\"name\":\"fabric\"},\"spec\":{\"selectors\":[{\"cel\":{\"expression\":"
		"\"device.driver == 'fabric.sim'\"}}]}}");
	sim_user(
		s, "POST", GROUP_PATH "resourceslices", "%s",
		"{\"metadata\":{\"name\":\"fabric\"},\"spec\":{\"driver\":\"fabric.sim\",\"allNodes\":true,"
		"\"pool\":{\"name\":\"fabric\",\"generation\":1,\"resourceSliceCount\":1},\"devices\":"
		"[{\"name\":\"d0\"},{\"name\":\"d1\"}]}}");
}

static void claim_make(struct sim *s, const char *name, const char *owner, unsigned count)
{
	char exactly[120] = "\"deviceClassName\":\"fabric\",\"allocationMode\":\"All\"";

	if (count != ALL)
		snprintf(exactly, sizeof(exactly),
		         "\"deviceClassName\":\"gpu\",\"allocationMode\":\"ExactCount\",\"count\":%u",
		         count);
	sim_user(
		s, "POST", CLAIMS,
		"{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
		"\"exactly\":{%s}}]}}}",
		name, owner, exactly);
}

void claims_start(struct sim *s)
{
	if (!script_claims(s->script))
		return;
	s->claims = as_alloc(sizeof(*s->claims));
	s->claims->sim = s;
	s->claims->random = sim_mix(s->script->seed ^ 0xc1a1);
	s->claims->taken_back = sim_mix(s->script->seed ^ 0xc1a2);
	s->claims->all =
		as_resources_find(&s->api->resources, "resource.k8s.io", "v1", "resourceclaims");
	sim_user(s, "POST", GROUP_PATH "deviceclasses", "%s",
	         "{\"metadata\":{\"name\":\"gpu\"},\"spec\":{\"selectors\":[{\"cel\":{\"expression\":"
	         "\"device.driver == '" DRIVER "'\"}}]}}");
	for (uint32_t i = 0; i < SIM_NODES; i++)
		slice_make(s, i);
	if (script_fabric(s->script))
		fabric_make(s);
	claim_make(s, "s0", "", 1);
	claim_make(s, "s1", "", 2);
}

void claims_free(struct sim *s)
{
	if (s->claims == NULL)
		return;
	as_arena_free(&s->claims->trees_arena);
	free(s->claims);
}

/* Lone pods share claims; members of gangs have one each, of a template for 1 or 2 devices.  Some
 * of either have one for the whole fabric, of which a gang can have one only. */
const char *claims_of_pod(const struct script *s, uint32_t group, uint32_t shape)
{
	static char text[120];

	if (!script_claims(s) || shape >= SIM_HUGE || shape % 3 == 0)
		return "";
	if (script_fabric(s) && shape / 3 % 3 == 0)
		snprintf(text, sizeof(text),
		         ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t%u\"}]",
		         ALL);
	else if (group == SIM_NONE && shape % 4 == 1)
		snprintf(text, sizeof(text),
		         ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"s%u\"}]",
		         shape / 4 % 2);
	else
		snprintf(text, sizeof(text),
		         ",\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t%u\"}]",
		         shape % 3);
	return text;
}

/* The controller. */

static bool mentions(const struct as_object *o, const char *word)
{
	return memmem(o->body, o->body_bytes, word, strlen(word)) != NULL;
}

static bool make_of(struct claims *c, const struct as_object *pod)
{
	const struct as_json *tree, *ref;
	const char *name;
	char owner[300], claim[64], path[160];

	/* Most are done; a tree costs as much as all else that a step does. */
	if (pod->deleting || claims_pod_over(pod) || !mentions(pod, "resourceClaimTemplateName") ||
	    mentions(pod, "resourceClaimStatuses"))
		return false;
	tree = claims_tree(c, pod);
	ref = claims_first(as_json_get(tree, "spec"), "resourceClaims");
	name = claims_name(tree);
	if (name == NULL || name[0] != '\0')
		return false;
	snprintf(claim, sizeof(claim), "%s-gpu-%u", pod->name, c->made++);
	snprintf(
		owner, sizeof(owner),
		",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"%s\",\"uid\":"
		"\"%s\",\"controller\":true}]",
		pod->name, pod->uid);
	snprintf(path, sizeof(path), POD_STATUS, pod->name);
	claim_make(c->sim, claim, owner,
	           (unsigned)json_text(ref, "resourceClaimTemplateName")[1] - '0');
	sim_user(c->sim, "PATCH", path,
	         "{\"status\":{\"resourceClaimStatuses\":[{\"name\":\"gpu\",\"resourceClaimName\":"
	         "\"%s\"}]}}",
	         claim);
	return true;
}

static bool is_consumer(const struct claims *c, const struct as_json *entry)
{
	const struct as_object *pod = claims_pod(c, json_text(entry, "uid"));

	return pod != NULL && !claims_pod_over(pod);
}

static void clear(struct claims *c, const char *name)
{
	sim_user(c->sim, "PATCH", path_of(name, "/status"), "%s",
	         "{\"status\":{\"allocation\":null,\"reservedFor\":null,\"devices\":null}}");
}

/* resourceclaim controller: syncClaim. */
static bool tidy(struct claims *c, const struct as_object *claim)
{
	const struct as_json *tree = claims_tree(c, claim), *status = claims_status(c, claim);
	const struct as_json *reserved = claims_first(status, "reservedFor");
	const struct as_object *owner = claims_pod(c, claims_owner(tree));
	char name[NAME_BYTES], kept[2048] = "";
	bool gone = false;

	snprintf(name, sizeof(name), "%s", claim->name);
	for (const struct as_json *r = reserved; r != NULL; r = r->next) {
		gone = gone || !is_consumer(c, r);
		if (is_consumer(c, r))
			snprintf(kept + strlen(kept), sizeof(kept) - strlen(kept),
			         "%s{\"resource\":\"pods\",\"name\":\"%s\",\"uid\":\"%s\"}", kept[0] ? "," : "",
			         json_text(r, "name"), json_text(r, "uid"));
	}
	if (claims_owner(tree)[0] != '\0' && (owner == NULL || claims_pod_over(owner))) {
		clear(c, name);
		sim_user(c->sim, "PATCH", path_of(name, ""), "%s", "{\"metadata\":{\"finalizers\":null}}");
		sim_user(c->sim, "DELETE", path_of(name, ""), "%s", "");
		return true;
	}
	if (!gone)
		return false;
	if (kept[0] == '\0')
		clear(c, name);
	else
		sim_user(c->sim, "PATCH", path_of(name, "/status"), "{\"status\":{\"reservedFor\":[%s]}}",
		         kept);
	return true;
}

/* resourceclaim controller: syncPod.  Another scheduler gave the pod its node, and what muster
 * allocated for it was not freed. */
static bool reserve(struct claims *c, const struct as_object *pod)
{
	const struct as_json *status;
	const struct as_object *claim;
	char key[NAME_BYTES + 16], others[2048] = "";

	if (pod->deleting || claims_pod_over(pod) || as_object_field(pod, "spec.nodeName")[0] == '\0' ||
	    !mentions(pod, "resourceClaims") || claims_name(claims_tree(c, pod)) == NULL)
		return false;
	snprintf(key, sizeof(key), "default/%s", claims_name(claims_tree(c, pod)));
	claim = as_index_find(&c->all->index, key);
	status = claim != NULL ? claims_status(c, claim) : NULL;
	if (as_json_get(status, "allocation") == NULL)
		return false;
	for (const struct as_json *r = claims_first(status, "reservedFor"); r != NULL; r = r->next) {
		if (strcmp(json_text(r, "uid"), pod->uid) == 0)
			return false;
		snprintf(others + strlen(others), sizeof(others) - strlen(others),
		         "{\"resource\":\"pods\",\"name\":\"%s\",\"uid\":\"%s\"},", json_text(r, "name"),
		         json_text(r, "uid"));
	}
	sim_user(c->sim, "PATCH", path_of(claim->name, "/status"),
	         "{\"status\":{\"reservedFor\":[%s{\"resource\":\"pods\",\"name\":\"%s\",\"uid\":"
	         "\"%s\"}]}}",
	         others, pod->name, pod->uid);
	return true;
}

/* What the driver says next of a claim's devices; NULL: nothing now.  Ready is taken back now and
 * then, and given again. */
static const char *ready_next(struct claims *c, const struct as_json *status)
{
	const bool calm = c->sim->now_ns > c->sim->script->end_ns;
	const struct as_json *told = claims_first(status, "devices");
	const struct as_json *said = claims_first(told, "conditions");

	if (told == NULL)
		return sim_percent(&c->random, calm ? 50 : 80) ? NULL : "True";
	if (strcmp(json_text(said, "type"), "Ready") != 0)
		return NULL;
	if (strcmp(json_text(said, "status"), "True") != 0)
		return sim_percent(&c->taken_back, 50) ? "True" : NULL;
	return !calm && sim_percent(&c->taken_back, 3) ? "False" : NULL;
}

/* The driver: of all devices of the claim that wait. */
static bool tell(struct claims *c, const struct as_object *claim)
{
	const struct as_json *status = claims_status(c, claim);
	const char *ready = ready_next(c, status);
	const bool fails =
		claims_first(status, "devices") == NULL && c->sim->now_ns <= c->sim->script->end_ns;
	char devices[1024] = "";

	if (ready == NULL)
		return false;
	for (const struct as_json *r = claims_results(as_json_get(status, "allocation")); r != NULL;
	     r = r->next)
		if (claims_first(r, "bindingConditions") != NULL)
			snprintf(devices + strlen(devices), sizeof(devices) - strlen(devices),
			         "%s{\"driver\":\"" DRIVER
			         "\",\"pool\":\"%s\",\"device\":\"%s\",\"conditions\":"
			         "[{\"type\":\"%s\",\"status\":\"%s\",\"reason\":\"Said\",\"message\":\"\","
			         "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}",
			         devices[0] ? "," : "", json_text(r, "pool"), json_text(r, "device"),
			         fails && sim_percent(&c->random, 20) ? "Broken" : "Ready", ready);
	if (devices[0] == '\0')
		return false;
	sim_user(c->sim, "PATCH", path_of(claim->name, "/status"), "{\"status\":{\"devices\":[%s]}}",
	         devices);
	return true;
}

/* An action of one changes what is iterated. */
static bool act(struct claims *c)
{
	claims_trees_begin(c);
	for (struct as_index_entry *e = c->sim->api->pods->index.first[0]; e != NULL; e = e->next[0])
		if (make_of(c, e->object) || reserve(c, e->object))
			return true;
	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0])
		if (!claims_foreign(e->object->name) && (tidy(c, e->object) || tell(c, e->object)))
			return true;
	return false;
}

/* Another scheduler. */

bool claims_taken(struct claims *c, const char *pool, const char *device, bool stale)
{
	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0])
		for (const struct as_json *r =
		         claims_results(as_json_get(claims_status(c, e->object), "allocation"));
		     r != NULL; r = r->next)
			if (strcmp(json_text(r, "pool"), pool) == 0 &&
			    strcmp(json_text(r, "device"), device) == 0 &&
			    (!stale || claims_foreign(e->object->name)))
				return true;
	return false;
}

static void foreign_write(struct claims *c, const char *claim, uint32_t node, const char *device)
{
	const bool fabric = node == CLAIMS_FABRIC;
	const char *pool = claims_pool(node);
	char selector[160] = "";

	if (!fabric)
		snprintf(selector, sizeof(selector),
		         ",\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
		         "\"metadata.name\",\"operator\":\"In\",\"values\":[\"%s\"]}]}]}",
		         pool);
	claim_make(c->sim, claim, "", 1);
	sim_user(c->sim, "PATCH", path_of(claim, "/status"),
	         "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
	         "\"driver\":\"%s\",\"pool\":\"%s\",\"device\":\"%s\"}]}%s},\"reservedFor\":"
	         "[{\"resource\":\"pods\",\"name\":\"other\",\"uid\":\"other\"}]}}",
	         fabric ? "fabric.sim" : DRIVER, pool, device, selector);
}

/* The first device that is free from that node on; in some runs the fabric is before the nodes. */
static void foreign_take(struct claims *c, uint32_t number, uint32_t from, bool stale)
{
	const bool fabric = script_fabric(c->sim->script) && number % 3 == 0;
	char claim[16], device[16];

	snprintf(claim, sizeof(claim), "f%u", number);
	for (uint32_t i = fabric ? 0 : 3; i < 3 + SIM_NODES * 3; i++) {
		const uint32_t node = i < 3 ? CLAIMS_FABRIC : (from + i / 3 - 1) % SIM_NODES;

		snprintf(device, sizeof(device), "d%u", i % 3);
		if (i % 3 >= claims_devices(node) || claims_taken(c, claims_pool(node), device, stale))
			continue;
		foreign_write(c, claim, node, device);
		return;
	}
}

void claims_do(struct sim *s, const struct action *a)
{
	char claim[16];

	snprintf(claim, sizeof(claim), "f%u", a->a);
	claims_trees_begin(s->claims);
	if (a->kind == ACTION_CLAIM_TAKE)
		foreign_take(s->claims, a->a, a->b, a->c > 0);
	else
		sim_user(s, "DELETE", path_of(claim, ""), "%s", "");
}

void making_claims(struct making *m)
{
	/* Half of the lines are for bindings that are held, and a gang that has not enough waits. */
	if (m->p->knobs.journal_intents > 0)
		m->p->knobs.journal_intents += 16;
	for (uint32_t n = making_below(m, 7), i = 0; i < n; i++) {
		const uint64_t at = sim_below(&m->random, m->p->end_ns);

		making_add(m, at, ACTION_CLAIM_TAKE, i, making_below(m, SIM_NODES),
		           making_below(m, 3) == 0);
		if (making_below(m, 3) > 0)
			making_add(m, at + sim_below(&m->random, 10 * SIM_S), ACTION_CLAIM_GIVE, i, 0, 0);
	}
}

void claims_run(struct sim *s)
{
	struct claims *c = s->claims;

	if (c == NULL || s->now_ns < c->look_ns)
		return;
	c->look_ns = s->now_ns + LOOK_NS;
	while (act(c))
		continue;
	claims_look_for_left(c);
}

void claims_counts(const struct sim *s, uint64_t *bound, uint64_t *twice, uint64_t *unready)
{
	*unready = s->claims != NULL ? s->claims->unready : 0;
	*bound = s->claims != NULL ? s->claims->bound : 0;
	*twice = s->claims != NULL ? s->claims->twice : 0;
}

uint64_t claims_due_ns(const struct sim *s)
{
	return s->claims != NULL ? s->claims->look_ns : SIM_NEVER;
}
