/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of claims: no device is in two of them, pods run with theirs, and none is left
 * allocated to nobody. */
#include "tests/sim/claims_impl.h"

#include <stdio.h>
#include <string.h>

#define KEPT_MOST_NS (60 * SIM_S)

/* In no other claim; but what another scheduler did is its doing. */
static void judge_device(struct invariants *b, const char *claim, const struct as_json *mine)
{
	struct claims *c = b->sim->claims;

	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0]) {
		const struct as_json *r =
			claims_results(as_json_get(claims_status(c, e->object), "allocation"));

		for (; r != NULL && strcmp(e->object->name, claim) != 0; r = r->next) {
			if (strcmp(json_text(r, "pool"), json_text(mine, "pool")) != 0 ||
			    strcmp(json_text(r, "device"), json_text(mine, "device")) != 0)
				continue;
			if (claims_foreign(claim) || claims_foreign(e->object->name))
				c->twice++;
			else
				sim_fail(b->sim, "device: %s/%s is in claims %s and %s", json_text(mine, "pool"),
				         json_text(mine, "device"), claim, e->object->name);
		}
	}
}

void claims_judge(struct invariants *b, const struct as_event *e)
{
	struct claims *c = b->sim->claims;
	const struct as_json *r;

	if (c == NULL || e->kind == AS_DELETED)
		return;
	as_arena_reset(&c->arena);
	for (r = claims_results(as_json_get(claims_status(c, e->object), "allocation")); r != NULL;
	     r = r->next)
		judge_device(b, e->object->name, r);
}

static bool is_ready(const struct as_json *status, const struct as_json *result)
{
	if (claims_first(result, "bindingConditions") == NULL)
		return true;
	for (const struct as_json *d = claims_first(status, "devices"); d != NULL; d = d->next)
		if (strcmp(json_text(d, "pool"), json_text(result, "pool")) == 0 &&
		    strcmp(json_text(d, "device"), json_text(result, "device")) == 0)
			return strcmp(json_text(claims_first(d, "conditions"), "type"), "Ready") == 0;
	return false;
}

/* NULL: the pod may run with its claim on that node. */
static const char *fault_of(struct claims *c, const struct as_object *pod, const char *node)
{
	const char *name = claims_name(as_object_tree(&c->arena, pod));
	const struct as_json *status, *results, *r;
	const struct as_object *claim;
	char key[NAME_BYTES + 16];

	if (name == NULL)
		return NULL;
	snprintf(key, sizeof(key), "default/%s", name);
	claim = as_index_find(&c->all->index, key);
	if (claim == NULL)
		return "has a claim that does not exist";
	status = claims_status(c, claim);
	results = claims_results(as_json_get(status, "allocation"));
	if (results == NULL)
		return "has a claim that is not allocated";
	for (r = results; r != NULL; r = r->next)
		if (strcmp(json_text(r, "pool"), node) != 0)
			return "has devices of another node";
		else if (!is_ready(status, r))
			return "has a device that is not ready";
	for (r = claims_first(status, "reservedFor"); r != NULL; r = r->next)
		if (strcmp(json_text(r, "uid"), pod->uid) == 0)
			return NULL;
	return "has a claim that is not reserved for it";
}

/* A pod that is over runs no more, and its claim may be gone. */
void claims_judge_bound(struct invariants *b, const struct as_object *pod, const char *node)
{
	const char *fault;

	if (b->sim->claims == NULL || claims_pod_over(pod))
		return;
	as_arena_reset(&b->sim->claims->arena);
	fault = fault_of(b->sim->claims, pod, node);
	b->sim->claims->bound += claims_name(as_object_tree(&b->sim->claims->arena, pod)) != NULL;
	if (fault != NULL)
		sim_fail(b->sim, "claim: %s is bound to %s and %s", pod->key, node, fault);
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
	as_arena_reset(&c->arena);
	for (struct as_index_entry *e = c->all->index.first[0]; e != NULL; e = e->next[0]) {
		if (claims_foreign(e->object->name) ||
		    as_json_get(claims_status(c, e->object), "allocation") == NULL || is_used(c, e->object))
			continue;
		snprintf(why, why_bytes, "left: claim %s is allocated to nobody", e->object->name);
		return false;
	}
	return true;
}
