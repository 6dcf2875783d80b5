/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold when nothing goes on any more: gangs are whole, and what waits says why. */
#include "tests/sim/claims.h"
#include "tests/sim/invariants_impl.h"

#include <stdio.h>
#include <string.h>

static bool is_missing(const struct member *m, const struct gang_history *g)
{
	return m->counts && m->node[0] == '\0' && strcmp(m->group, g->name) == 0;
}

static int64_t missing_n(const struct invariants *b, const struct gang_history *g)
{
	int64_t n = 0;

	for (size_t i = 0; i < b->members_n; i++)
		n += is_missing(&b->members[i], g);
	return n;
}

/* Those of them that miss a device which another scheduler gave away after the gang's first
 * Binding, and for which no other devices are left. */
static int64_t robbed_n(const struct invariants *b, const struct gang_history *g)
{
	int64_t n = 0;

	for (size_t i = 0; i < b->members_n; i++)
		n += is_missing(&b->members[i], g) && b->members[i].robbed &&
		     !claims_serve(b, &b->members[i]);
	return n;
}

/* The places that were chosen for members that are not bound; all if no choice is known, since a
 * core died, or forgot all, before it sent it. */
static uint64_t chosen_for_missing(const struct invariants *b, const struct gang_history *g)
{
	uint64_t chosen = 0;

	for (size_t i = 0; i < b->members_n; i++)
		if (is_missing(&b->members[i], g))
			chosen |= b->members[i].chosen;
	return chosen != 0 || b->began_ns < g->first_plan_ns ? chosen : UINT64_MAX;
}

/* Why a gang is bound in part.  It has too few members; or a person took members away, or asked for
 * more, after the plan, or edited the group at any time, so that a core that starts in the middle
 * of the placement can't prove that it is one (docs/decisions/046); or a node that was chosen for a
 * member has less capacity than it had, since others use it or it shrank: not before the decision,
 * but for what a silent watch withholds; or members lack devices that others took.  All else is a
 * fault. */
static enum tear tear_of(const struct invariants *b, const struct gang_history *g, int64_t bound)
{
	const uint64_t chosen = chosen_for_missing(b, g);
	enum tear tear = TEAR_FAULT;

	if (bound + missing_n(b, g) < g->quorum)
		return TEAR_SHORT;
	if (g->first_bind_ns == 0) /* muster bound none of them */
		return TEAR_OTHERS;
	if (g->lost_ns > 0 && g->lost_ns + b->lag_ns >= g->first_bind_ns)
		return TEAR_PERSON;
	if (g->raised_ns > 0 && g->raised_ns >= (g->read_ns > 0 ? g->read_ns : g->first_bind_ns))
		return TEAR_PERSON;
	if (g->edited && g->first_plan_ns > 0 && b->began_ns >= g->first_plan_ns)
		return TEAR_PERSON;
	if (bound + missing_n(b, g) - robbed_n(b, g) < g->quorum)
		return TEAR_OTHERS;
	for (size_t i = 0; i < b->places_n; i++) {
		const struct place *p = &b->places[i];

		if ((chosen & UINT64_C(1) << i) == 0)
			continue;
		if (p->others_ns > 0 && p->others_ns + b->lag_ns >= g->first_bind_ns)
			return TEAR_OTHERS;
		if (p->less_ns > 0 && p->less_ns + b->lag_ns >= g->first_bind_ns)
			tear = TEAR_NODES;
	}
	return tear;
}

/* Why evictions left a gang without its quorum: a core that died had sent but some of them, or a
 * person asked for more members than muster can have known of. */
static enum tear cut_of(const struct invariants *b, const struct gang_history *g)
{
	if (b->began_ns >= g->cut_ns)
		return TEAR_DEATH;
	return g->raised_ns > 0 && g->raised_ns + b->lag_ns >= g->cut_ns ? TEAR_PERSON : TEAR_FAULT;
}

static int64_t bound_n(const struct invariants *b, const struct gang_history *g)
{
	int64_t bound = 0;

	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];

		bound += m->node[0] != '\0' && strcmp(m->group, g->name) == 0;
	}
	return bound;
}

bool invariants_partly_bound(const struct invariants *b, const char *group, size_t bytes)
{
	char key[NAME_BYTES + sizeof("default/")];

	for (size_t i = 0; i < b->gangs_n; i++) {
		const struct gang_history *g = &b->gangs[i];
		const int64_t bound = g->there ? bound_n(b, g) : 0;

		if (bound == 0 || bound >= g->quorum)
			continue;
		snprintf(key, sizeof(key), "default/%s", g->name);
		if (strlen(key) == bytes && memcmp(key, group, bytes) == 0)
			return true;
	}
	return false;
}

static bool gang_is_at_rest(struct invariants *b, const struct gang_history *g, char *why,
                            size_t why_bytes)
{
	const int64_t bound = bound_n(b, g);
	enum tear tear = TEAR_NONE;

	if (bound == 0)
		return true;
	if (g->cut_ns > 0) {
		tear = cut_of(b, g);
		snprintf(why, why_bytes, "cut: evictions left gang %s with less than its quorum", g->name);
	} else if (bound < g->quorum) {
		tear = tear_of(b, g, bound);
		snprintf(why, why_bytes, "torn: gang %s has %lld of %lld members bound", g->name,
		         (long long)bound, (long long)g->quorum);
	}
	b->torn[tear]++;
	return tear != TEAR_FAULT;
}

static bool pod_is_at_rest(struct invariants *b, const struct as_object *o, char *why,
                           size_t why_bytes)
{
	const struct as_json *tree = as_object_tree(&b->arena, o), *spec = as_json_get(tree, "spec");
	const struct as_json *gates = as_json_array(spec, "schedulingGates");
	const struct as_json *list = as_json_array(as_json_get(tree, "status"), "conditions");
	const char *phase = as_object_field(o, "status.phase");

	if (strcmp(json_text(spec, "schedulerName"), "muster") != 0 ||
	    json_text(spec, "nodeName")[0] != '\0' || o->deleting ||
	    (gates != NULL && gates->first != NULL) || strcmp(phase, "Succeeded") == 0 ||
	    strcmp(phase, "Failed") == 0)
		return true;
	for (const struct as_json *c = list != NULL ? list->first : NULL; c != NULL; c = c->next)
		if (strcmp(json_text(c, "type"), "PodScheduled") == 0 &&
		    strcmp(json_text(c, "status"), "False") == 0 &&
		    strcmp(json_text(c, "reason"), "Unschedulable") == 0 &&
		    json_text(c, "message")[0] != '\0')
			return true;
	snprintf(why, why_bytes, "silent: pod %s waits and does not say why", o->key);
	return false;
}

/* The message of its condition PodScheduled; "" if there is none. */
static const char *message_of(const struct as_json *tree)
{
	const struct as_json *list = as_json_array(as_json_get(tree, "status"), "conditions");

	for (const struct as_json *c = list != NULL ? list->first : NULL; c != NULL; c = c->next)
		if (strcmp(json_text(c, "type"), "PodScheduled") == 0)
			return json_text(c, "message");
	return "";
}

/* Another scheduler has bound a member of it, or one was lost. */
static bool was_helped(const struct invariants *b, const char *group)
{
	for (size_t i = 0; i < b->members_n; i++)
		if (strcmp(b->members[i].group, group) == 0 && member_helps(&b->members[i]))
			return true;
	for (size_t i = 0; i < b->gangs_n; i++)
		if (strcmp(b->gangs[i].name, group) == 0 && b->gangs[i].lost_ns > 0)
			return true;
	return false;
}

bool invariants_may_wait(struct invariants *b, const char *pod, bool held)
{
	const struct as_object *o = as_index_find(&b->sim->api->pods->index, pod);
	const char *group, *message;

	if (o == NULL)
		return false;
	as_arena_reset(&b->arena);
	message = message_of(as_object_tree(&b->arena, o));
	group = as_object_label(o, "scheduling.x-k8s.io/pod-group");
	if (held && (strstr(message, "room is held for ") != NULL ||
	             strstr(message, "room is promised to ") != NULL))
		b->excuses[EXCUSE_BEHIND]++;
	else if (group != NULL && was_helped(b, group) && strstr(message, "queue") != NULL)
		b->excuses[EXCUSE_BEGUN]++;
	else
		return false;
	return true;
}

bool invariants_at_rest(struct invariants *b, char *why, size_t why_bytes)
{
	memset(b->torn, 0, sizeof(b->torn));
	b->excuses[EXCUSE_BEHIND] = b->excuses[EXCUSE_BEGUN] = 0;
	for (size_t i = 0; i < b->gangs_n; i++)
		if (b->gangs[i].there && !gang_is_at_rest(b, &b->gangs[i], why, why_bytes))
			return false;
	for (struct as_index_entry *e = b->sim->api->pods->index.first[0]; e != NULL; e = e->next[0]) {
		as_arena_reset(&b->arena);
		if (!pod_is_at_rest(b, e->object, why, why_bytes))
			return false;
	}
	return true;
}

bool invariants_pod(const struct invariants *b, size_t i, struct invariants_pod *out)
{
	if (i >= b->members_n)
		return false;
	*out = (struct invariants_pod){
		.queue = b->members[i].queue,
		.placed = !b->members[i].over && b->members[i].node[0] != '\0',
		.cpu_milli = b->members[i].wants.cpu,
	};
	return true;
}

uint64_t invariants_gangs(const struct invariants *b, enum tear tear)
{
	return b->torn[tear];
}

uint64_t invariants_excuses(const struct invariants *b, enum excuse why)
{
	return b->excuses[why];
}
