/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/claims.h"

#include "tests/apisim/call.h"
#include "tests/apisim/kubelet.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 2000000u
#define REST_FIRST_NS (5 * SIM_S)  /* after the last action: when rest is looked for first */
#define REST_MOST_NS (300 * SIM_S) /* a silent watch is found after 150 s */
#define REST_LOOK_NS (20 * SIM_S)
#define CHECK_EVERY 64u /* steps between two checks of everything */

void sim_fail(struct sim *s, const char *format, ...)
{
	va_list args;

	if (s->failed)
		return;
	s->failed = true;
	va_start(args, format);
	vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
	story_tell(s, "FAILED  %s", s->why);
}

static uint64_t api_random(void *context)
{
	return sim_next(context);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What runs there dies, and starts again after so long; SIM_NEVER: it does not. */
static void replica_restart(const struct sim *s, struct replica *p, uint64_t down_ns)
{
	const uint64_t most_ns = SIM_NEVER - s->now_ns;

	p->used = down_ns != SIM_NEVER;
	p->code->frontend_dies(p->instance, least(down_ns, most_ns));
	p->code->core_dies(p->instance, least(down_ns, most_ns));
}

static void replica_add(struct sim *s, uint32_t instance, const struct version *code)
{
	struct replica *p = &s->replicas[s->replicas_n++];

	p->code = code;
	p->net = code->net_new(s, instance, code->may_write);
	p->instance = code->make(s, instance, p->net);
	replica_restart(s, p, SIM_NEVER);
}

struct replica *sim_replica(struct sim *s, uint32_t instance)
{
	struct replica *p = &s->replicas[instance];

	return p->used ? p : p + s->script->instances;
}

void sim_restart(struct sim *s, uint32_t instance, uint64_t down_ns)
{
	struct replica *p = sim_replica(s, instance);

	if (s->replicas_n > s->script->instances && sim_mix(s->script->seed ^ s->now_ns) % 2 == 0) {
		replica_restart(s, p, SIM_NEVER);
		p = &s->replicas[p == &s->replicas[instance] ? s->script->instances + instance : instance];
		s->changes++;
		story_tell(s, "fault   instance %u goes on with the %s version", instance,
		           p->code == &sim_version ? "tree's" : "other");
	}
	replica_restart(s, p, down_ns);
}

static void sim_begin(struct sim *s, const struct script *plan, bool tell_all)
{
	static const char *const gates[] = { "DynamicResourceAllocation", NULL };
	const struct version *other = &sim_version_other;

	*s = (struct sim){
		.script = plan,
		.random = sim_mix(plan->seed ^ 1),
		.api_random = sim_mix(plan->seed ^ 2),
		.faults_random = sim_mix(plan->seed ^ 3),
	};
	s->story = story_new(tell_all);
	s->api = as_api_new(&(struct as_config){
		.history = 4096,
		.random = api_random,
		.context = &s->api_random,
		.now_ns = SIM_EPOCH_NS,
		.bookmark_ms = 60000,
		.gates = script_claims(plan) ? gates : NULL,
	});
	s->kubelets = as_kubelets_new(s->api, &(struct as_kubelet_config){ .enabled = plan->kubelets,
	                                                                   .start_ms = 300,
	                                                                   .grace_ms = 2000,
	                                                                   .time_scale = 1 });
	s->invariants = invariants_new(s);
	for (uint32_t i = 0; i < plan->instances; i++)
		replica_add(s, i, &sim_version);
	for (uint32_t i = 0; other != NULL && i < plan->instances; i++)
		replica_add(s, i, other);
	for (uint32_t i = 0; i < plan->instances; i++) {
		const bool of_other = other != NULL && sim_mix(plan->seed + i) % 2 == 0;

		replica_restart(s, &s->replicas[of_other ? plan->instances + i : i], 0);
	}
	workload_start(s);
}

static void sim_end(struct sim *s)
{
	for (uint32_t i = 0; i < s->replicas_n; i++) {
		s->replicas[i].code->free(s->replicas[i].instance);
		s->replicas[i].code->net_free(s->replicas[i].net);
	}
	claims_free(s);
	invariants_free(s->invariants);
	as_kubelets_free(s->kubelets);
	as_api_free(s->api);
	story_free(s->story);
}

static uint64_t virtual_of(uint64_t wall_ns)
{
	return wall_ns == UINT64_MAX ? SIM_NEVER : wall_ns > SIM_EPOCH_NS ? wall_ns - SIM_EPOCH_NS : 0;
}

static void check(struct sim *s, bool thorough)
{
	for (uint32_t i = 0; i < s->replicas_n; i++)
		s->replicas[i].code->check(s->replicas[i].instance, thorough);
}

/* Everything that is due now, and the checks. */
static void step(struct sim *s)
{
	as_kubelets_run(s->kubelets, SIM_EPOCH_NS + s->now_ns);
	claims_run(s);
	invariants_check(s->invariants);
	for (uint32_t i = 0; i < s->replicas_n; i++) {
		const struct replica *p = &s->replicas[i];

		p->code->run(p->instance, p->code->net_run(p->net));
		invariants_check(s->invariants);
	}
	check(s, ++s->steps % CHECK_EVERY == 0);
	if (s->steps > STEPS_MAX)
		sim_fail(s, "busy: %u steps and no end", STEPS_MAX);
}

static uint64_t next_due(struct sim *s)
{
	uint64_t due = least(virtual_of(as_kubelets_due_ns(s->kubelets)), claims_due_ns(s));

	for (uint32_t i = 0; i < s->replicas_n; i++) {
		const struct replica *p = &s->replicas[i];

		due = least(due, least(p->code->net_due_ns(p->net), p->code->due_ns(p->instance)));
	}
	return due > s->now_ns ? due : s->now_ns + 1000;
}

/* Go on until that time. */
static void run_until(struct sim *s, uint64_t until_ns)
{
	while (!s->failed) {
		uint64_t due = next_due(s);

		if (due >= until_ns)
			break;
		s->now_ns = due;
		step(s);
	}
	if (!s->failed)
		s->now_ns = until_ns;
}

static void run_actions(struct sim *s)
{
	for (size_t i = 0; i < s->script->n && !s->failed; i++) {
		const struct action *a = &s->script->at[i];

		run_until(s, a->at_ns);
		if (s->failed)
			return;
		invariants_check(s->invariants); /* before history may be compacted */
		workload_do(s, a);
		step(s);
	}
	run_until(s, s->script->end_ns);
}

struct replica *sim_leader(struct sim *s)
{
	for (uint32_t i = 0; i < s->script->instances; i++) {
		struct replica *p = sim_replica(s, i);

		if (p->code->leads(p->instance))
			return p;
	}
	return NULL;
}

/* What is still under way, or NULL.  A standby has nothing to do. */
static const char *busy(struct sim *s)
{
	const struct replica *leader = sim_leader(s);

	for (uint32_t i = 0; i < s->replicas_n; i++)
		if (s->replicas[i].code->net_busy(s->replicas[i].net) > 0)
			return "requests do not come to an end";
	return leader != NULL ? leader->code->busy(leader->instance) : "nobody leads";
}

/* Is all at rest and as it should be?  Else why not. */
static bool is_at_rest(struct sim *s, char *why, size_t why_bytes)
{
	const struct replica *leader = sim_leader(s);
	char binds[800];

	if (busy(s) != NULL)
		snprintf(why, why_bytes, "liveness: %s", busy(s));
	else if (!invariants_at_rest(s->invariants, why, why_bytes) ||
	         !claims_at_rest(s, why, why_bytes) ||
	         !leader->code->queues_at_rest(leader->instance, why, why_bytes))
		return false;
	else if (fresh_start_binds_nothing(s, binds, sizeof(binds)))
		return true;
	else
		snprintf(why, why_bytes, "waits: a fresh start would bind %s", binds);
	return false;
}

/* What is not right yet may become right: it fails only when it stays so. */
static void run_to_rest(struct sim *s)
{
	/* A pod that stays beyond its end moves promises in steps that double. */
	const uint64_t most_ns = REST_MOST_NS * (script_promises(s->script) > 0 ? 6 : 1);
	uint64_t end = s->now_ns + most_ns, wait = REST_FIRST_NS, changes;
	char why[1000] = "";

	story_tell(s, "calm    no faults from now on");
	for (uint32_t i = 0; i < s->replicas_n; i++)
		s->replicas[i].code->net_calm(s->replicas[i].net);
	while (!s->failed && s->now_ns < end) {
		changes = invariants_changes(s->invariants);
		run_until(s, s->now_ns + wait);
		snprintf(why, sizeof(why), "liveness: revisions do not come to an end");
		/* A tick may be in flight at any time. */
		for (int i = 0; i < 10 && !s->failed && busy(s) != NULL; i++)
			run_until(s, s->now_ns + 7 * SIM_MS);
		if (!s->failed && changes == invariants_changes(s->invariants) &&
		    is_at_rest(s, why, sizeof(why))) {
			check(s, true);
			return;
		}
		wait = least(wait + wait / 2, REST_LOOK_NS);
	}
	if (!s->failed)
		sim_fail(s, "%s", why);
}

void sim_run(const struct script *plan, bool tell, bool tell_all, struct outcome *out)
{
	uint64_t crashes = 0, faults = 0;
	struct sim s;

	sim_begin(&s, plan, tell && tell_all);
	run_actions(&s);
	if (!s.failed)
		run_to_rest(&s);
	if (tell)
		story_print(s.story);
	for (uint32_t i = 0; i < s.replicas_n; i++) {
		crashes += s.replicas[i].code->crashes(s.replicas[i].instance);
		faults += s.replicas[i].code->net_faults(s.replicas[i].net);
	}
	*out = (struct outcome){
		.failed = s.failed,
		.hash = story_hash(s.story),
		.steps = s.steps,
		.revisions = invariants_revisions(s.invariants),
		.virtual_ns = s.now_ns,
		.binds = invariants_binds(s.invariants),
		.crashes = crashes,
		.faults = faults,
		.changes = s.changes,
	};
	for (int t = 0; t < TEARS; t++) {
		out->gangs[t] = invariants_gangs(s.invariants, (enum tear)t);
		out->excused[t] = invariants_excused(s.invariants, (enum tear)t);
	}
	claims_counts(&s, &out->claimed, &out->twice, &out->unready);
	for (int w = 0; w < EXCUSES; w++)
		out->excuses[w] = invariants_excuses(s.invariants, (enum excuse)w);
	memcpy(out->why, s.why, sizeof(out->why));
	sim_end(&s);
}
