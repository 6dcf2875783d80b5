/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of claims: no device is in two of them, pods are bound and run with theirs, and
 * none is left allocated to nobody.  Two things are excused, and counted: what another scheduler
 * did that muster can't have known, and that a driver took Ready back just before a Binding. */
#include "tests/sim/claims_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MOST_NS (60 * SIM_S)

static struct given *given_find(struct claims *c, const char *name)
{
	for (size_t i = 0; i < c->given_n; i++)
		if (strcmp(c->given[i].name, name) == 0)
			return &c->given[i];
	return NULL;
}

static bool is_ready(const struct as_json *status, const struct as_json *result)
{
	const struct as_json *said;

	if (claims_first(result, "bindingConditions") == NULL)
		return true;
	for (const struct as_json *d = claims_first(status, "devices"); d != NULL; d = d->next) {
		said = claims_first(d, "conditions");
		if (strcmp(json_text(d, "pool"), json_text(result, "pool")) == 0 &&
		    strcmp(json_text(d, "device"), json_text(result, "device")) == 0)
			return strcmp(json_text(said, "type"), "Ready") == 0 &&
			       strcmp(json_text(said, "status"), "True") == 0;
	}
	return false;
}

static struct given *given_new(struct claims *c, const char *name)
{
	struct given *g = &c->given[c->given_n++];

	if (c->given_n > LEFT_MAX)
		as_die("the simulator has too many claims");
	*g = (struct given){ .since_ns = c->sim->now_ns };
	snprintf(g->name, sizeof(g->name), "%s", name);
	return g;
}

/* `results`: of its allocation; NULL: it has none. */
static void given_note(struct claims *c, const char *name, const struct as_json *status,
                       const struct as_json *results)
{
	struct given *g = given_find(c, name);
	bool ready = true;

	if (results == NULL) {
		if (g != NULL)
			*g = c->given[--c->given_n];
		return;
	}
	g = g != NULL ? g : given_new(c, name);
	for (const struct as_json *r = results; r != NULL; r = r->next)
		ready = ready && is_ready(status, r);
	if (g->ready && !ready)
		g->unready_ns = c->sim->now_ns;
	g->ready = ready;
}

/* Another claim that has the device of that result; one of muster's before one of others'. */
static const struct as_object *also_in(struct claims *c, const char *claim,
                                       const struct as_json *mine)
{
	const struct as_object *foreign = NULL;

	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0]) {
		const struct as_json *r =
			claims_results(as_json_get(claims_status(c, e->object), "allocation"));

		for (; r != NULL && strcmp(e->object->name, claim) != 0; r = r->next)
			if (strcmp(json_text(r, "pool"), json_text(mine, "pool")) == 0 &&
			    strcmp(json_text(r, "device"), json_text(mine, "device")) == 0) {
				if (!claims_foreign(e->object->name))
					return e->object;
				foreign = e->object;
			}
	}
	return foreign;
}

/* Two claims have a device, and muster can't have known: the other scheduler gave it away after
 * muster did, or at most as long before as muster may not hear of it. */
static bool is_others_doing(struct claims *c, const char *a, const char *b, uint64_t at_ns)
{
	const struct given *foreign = given_find(c, claims_foreign(a) ? a : b);

	if (claims_foreign(a) == claims_foreign(b))
		return false;
	return foreign == NULL || foreign->since_ns + invariants_lag(c->sim->invariants) >= at_ns;
}

/* In no other claim; but what another scheduler did is its doing. */
static void judge_device(struct claims *c, const char *claim, const struct as_json *mine)
{
	const struct as_object *other = also_in(c, claim, mine);
	const struct given *ours;

	if (other == NULL)
		return;
	ours = given_find(c, claims_foreign(claim) ? other->name : claim);
	if (is_others_doing(c, claim, other->name, ours != NULL ? ours->since_ns : 0))
		c->twice++;
	else
		sim_fail(c->sim, "device: %s/%s is in claims %s and %s", json_text(mine, "pool"),
		         json_text(mine, "device"), claim, other->name);
}

/* NULL: the pod may run with its claim on that node.  `name`: of that. */
static const char *fault_of(struct claims *c, const struct as_object *pod, const char *node,
                            const char *name)
{
	const struct as_json *status, *results, *r;
	const struct as_object *claim;
	char key[NAME_BYTES + 16];

	snprintf(key, sizeof(key), "default/%s", name);
	claim = as_index_find(&c->all->index, key);
	if (claim == NULL)
		return "has a claim that does not exist";
	status = claims_status(c, claim);
	results = claims_results(as_json_get(status, "allocation"));
	if (results == NULL)
		return "has a claim that is not allocated";
	for (r = results; r != NULL; r = r->next)
		if (strcmp(json_text(r, "pool"), node) != 0 &&
		    strcmp(json_text(r, "pool"), claims_pool(CLAIMS_FABRIC)) != 0)
			return "has devices of another node";
	for (r = claims_first(status, "reservedFor"); r != NULL; r = r->next)
		if (strcmp(json_text(r, "uid"), pod->uid) == 0)
			return NULL;
	return "has a claim that is not reserved for it";
}

/* Nothing takes it from a pod that muster bound with it. */
static void judge_kept(struct invariants *b, const char *claim)
{
	struct claims *c = b->sim->claims;

	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];
		const struct as_object *pod =
			m->by_muster && !m->over ? as_index_find(&b->sim->api->pods->index, m->key) : NULL;
		const char *name, *fault;

		if (pod == NULL || strcmp(pod->uid, m->uid) != 0 || claims_pod_over(pod))
			continue;
		name = claims_name(claims_tree(c, pod));
		fault = name != NULL && strcmp(name, claim) == 0 ? fault_of(c, pod, m->node, name) : NULL;
		if (fault != NULL)
			sim_fail(b->sim, "claim: %s runs on %s and %s", m->key, m->node, fault);
	}
}

/* What the claim of its pod asks for; NULL: it has none. */
static const struct as_json *request_of(const struct invariants *b, const struct member *m)
{
	struct claims *c = b->sim->claims;
	const struct as_object *pod = as_index_find(&b->sim->api->pods->index, m->key), *claim = NULL;
	const struct as_json *devices;
	char key[NAME_BYTES + 16];

	if (pod != NULL) {
		snprintf(key, sizeof(key), "default/%s", claims_name(claims_tree(c, pod)));
		claim = as_index_find(&c->all->index, key);
	}
	if (claim == NULL)
		return NULL;
	devices = as_json_get(as_json_get(claims_tree(c, claim), "spec"), "devices");
	return as_json_get(claims_first(devices, "requests"), "exactly");
}

static bool asks_for_all(const struct invariants *b, const struct member *m)
{
	return strcmp(json_text(request_of(b, m), "allocationMode"), "All") == 0;
}

/* Members of a gang that each ask for all devices of the fabric can't run together: when the one
 * that had them is robbed, none of the others can have them in its place. */
static void rob_in_its_place(struct invariants *b, const struct member *robbed)
{
	if (!asks_for_all(b, robbed))
		return;
	for (size_t i = 0; i < b->members_n; i++) {
		struct member *m = &b->members[i];

		if (m->counts && m->node[0] == '\0' && strcmp(m->group, robbed->group) == 0 &&
		    asks_for_all(b, m))
			m->robbed = true;
	}
}

/* A claim has just got its devices.  Muster's: its pod misses none any more.  Another scheduler's:
 * the pod that had that device misses it, and that may tear its gang if it has begun. */
static void note_robbed(struct invariants *b, const struct as_object *given,
                        const struct as_json *results)
{
	struct claims *c = b->sim->claims;
	const bool foreign = claims_foreign(given->name);

	for (const struct as_json *r = results; r != NULL; r = r->next) {
		const struct as_object *had = foreign ? also_in(c, given->name, r) : given;
		struct member *m = had == NULL || claims_foreign(had->name)
		                       ? NULL
		                       : member_find(b, claims_owner(claims_tree(c, had)));

		if (m == NULL || m->node[0] != '\0')
			continue;
		m->robbed = foreign && gang_has_begun(b, m->group);
		if (m->robbed)
			rob_in_its_place(b, m);
	}
}

void claims_judge(struct invariants *b, const struct as_event *e)
{
	struct claims *c = b->sim->claims;
	const struct as_json *status, *results;

	if (c == NULL)
		return;
	claims_trees_begin(c);
	status = claims_status(c, e->object);
	results = e->kind != AS_DELETED ? claims_results(as_json_get(status, "allocation")) : NULL;
	if (results != NULL && given_find(c, e->object->name) == NULL)
		note_robbed(b, e->object, results);
	given_note(c, e->object->name, status, results);
	for (const struct as_json *r = results; r != NULL; r = r->next)
		judge_device(c, e->object->name, r);
	if (!claims_foreign(e->object->name))
		judge_kept(b, e->object->name);
}

/* NULL: all its devices are there and ready, as far as muster can know. */
static const char *devices_fault(struct claims *c, const char *name)
{
	const uint64_t now = c->sim->now_ns, lag_ns = invariants_lag(c->sim->invariants);
	const struct as_object *other, *claim;
	const struct given *g;
	char key[NAME_BYTES + 16];

	snprintf(key, sizeof(key), "default/%s", name);
	claim = as_index_find(&c->all->index, key);
	for (const struct as_json *r =
	         claims_results(as_json_get(claims_status(c, claim), "allocation"));
	     r != NULL; r = r->next) {
		other = also_in(c, name, r);
		if (other != NULL && !is_others_doing(c, name, other->name, now))
			return "has a device that was known to be in another claim";
		if (is_ready(claims_status(c, claim), r))
			continue;
		g = given_find(c, name);
		if (g == NULL || g->unready_ns == 0 || g->unready_ns + lag_ns < now)
			return "has a device that is not ready";
		c->unready++;
	}
	return NULL;
}

/* A pod that is over runs no more, and its claim may be gone. */
void claims_judge_bound(struct invariants *b, const struct as_object *pod, const char *node)
{
	struct claims *c = b->sim->claims;
	const char *name, *fault;

	if (c == NULL || claims_pod_over(pod))
		return;
	claims_trees_begin(c);
	name = claims_name(claims_tree(c, pod));
	if (name == NULL)
		return;
	c->bound++;
	fault = fault_of(c, pod, node, name);
	if (fault == NULL)
		fault = devices_fault(c, name);
	if (fault != NULL)
		sim_fail(b->sim, "claim: %s is bound to %s and %s", pod->key, node, fault);
}

/* Devices of that slice that are in no claim. */
static int64_t free_n(struct claims *c, uint32_t node)
{
	char device[16];
	int64_t n = 0;

	for (uint32_t i = 0; i < claims_devices(node); i++) {
		snprintf(device, sizeof(device), "d%u", i);
		n += !claims_taken(c, claims_pool(node), device, false);
	}
	return n;
}

bool claims_serve(const struct invariants *b, const struct member *m)
{
	struct claims *c = b->sim->claims;
	const struct as_json *request;
	int64_t count = 0;

	claims_trees_begin(c);
	request = request_of(b, m);
	if (request == NULL) /* it has lost more than devices */
		return true;
	as_json_integer(request, "count", &count);
	if (strcmp(json_text(request, "allocationMode"), "All") == 0 &&
	    free_n(c, CLAIMS_FABRIC) < claims_devices(CLAIMS_FABRIC))
		return false;
	for (size_t i = 0; i < b->places_n; i++) {
		const char *name = b->places[i].name;
		const uint32_t node = (uint32_t)strtoul(name + 1, NULL, 10);

		if (node < SIM_NODES && place_has_room(b, &b->places[i], m) && free_n(c, node) >= count)
			return true;
	}
	return false;
}

/* Some pod that has a node uses it. */
static bool is_used(struct claims *c, const struct as_object *claim)
{
	const struct as_json *r = claims_first(claims_status(c, claim), "reservedFor");

	for (; r != NULL; r = r->next) {
		const struct as_object *pod = claims_pod(c, json_text(r, "uid"));

		if (pod != NULL && as_object_field(pod, "spec.nodeName")[0] != '\0')
			return true;
	}
	return false;
}

static void note_left(struct claims *c, const char *name)
{
	struct left *l = c->left;

	while (l < c->left + c->left_n && strcmp(l->name, name) != 0)
		l++;
	if (l == c->left + LEFT_MAX)
		as_die("the simulator has too many claims");
	if (l == c->left + c->left_n) {
		*l = (struct left){ .since_ns = c->sim->now_ns };
		snprintf(l->name, sizeof(l->name), "%s", name);
		c->left_n++;
	}
	l->seen = true;
}

/* Faults hold up what is given back: only what is left long after them counts. */
void claims_look_for_left(struct claims *c)
{
	const uint64_t calm_ns = c->sim->script->end_ns + invariants_lag(c->sim->invariants);
	size_t kept = 0;

	for (size_t i = 0; i < c->left_n; i++)
		c->left[i].seen = false;
	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0])
		if (!claims_foreign(e->object->name) &&
		    as_json_get(claims_status(c, e->object), "allocation") != NULL &&
		    !is_used(c, e->object))
			note_left(c, e->object->name);
	for (size_t i = 0; i < c->left_n; i++) {
		const uint64_t since = c->left[i].since_ns;

		if (!c->left[i].seen)
			continue;
		c->left[kept++] = c->left[i];
		if (c->sim->now_ns > KEPT_MOST_NS + (since > calm_ns ? since : calm_ns))
			sim_fail(c->sim, "left: claim %s has been allocated to nobody for %llu s",
			         c->left[kept - 1].name,
			         (unsigned long long)((c->sim->now_ns - since) / SIM_S));
	}
	c->left_n = kept;
}

bool claims_at_rest(struct sim *s, char *why, size_t why_bytes)
{
	struct claims *c = s->claims;

	if (c == NULL)
		return true;
	claims_trees_begin(c);
	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0]) {
		if (claims_foreign(e->object->name) ||
		    as_json_get(claims_status(c, e->object), "allocation") == NULL || is_used(c, e->object))
			continue;
		snprintf(why, why_bytes, "left: claim %s is allocated to nobody", e->object->name);
		return false;
	}
	return true;
}
