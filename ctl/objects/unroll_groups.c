/* SPDX-License-Identifier: Apache-2.0 */
/* What the controllers of JobSet and LeaderWorkerSet make: Jobs and StatefulSets. */
#include "ctl/objects/unroll_parts.h"

#include "frontend/json/json.h"

#include <stdio.h>
#include <string.h>

#define JOBSET "jobset.sigs.k8s.io/"

/* True with a note where the annotation asks for one group in each domain: the controllers do that
 * with affinity that follows the leader's node. */
static bool is_exclusive(const struct workload *w, const char *annotation)
{
	const struct members m = members_of(&w->u->arena, unroll_raw(w, "metadata.annotations"));

	if (members_get(&m, annotation).at == NULL)
		return false;
	unroll_note(w, "metadata.annotations[\"%s\"]: where its followers go depends on their leader",
	            annotation);
	return true;
}

/* The totals of a JobSet, and where it stands in them. */
struct counting {
	long long jobs;   /* of all before this one */
	long long global; /* of all */
};

static struct text labelled(struct arena *arena, struct text object, const struct members *labels)
{
	struct members m = members_of(arena, object);
	struct members metadata = members_of(arena, members_get(&m, "metadata"));

	members_set(arena, &metadata, "labels",
	            unroll_joined(arena, members_get(&metadata, "labels"), labels));
	members_set(arena, &metadata, "annotations",
	            unroll_joined(arena, members_get(&metadata, "annotations"), labels));
	members_set(arena, &m, "metadata", members_print(arena, &metadata));
	return members_print(arena, &m);
}

/* The template of its pods: a host name in the service of the JobSet, and OnFailure by default. */
static struct text pods_of_job(const struct workload *w, struct text template)
{
	struct arena *arena = &w->u->scratch;
	struct members m = members_of(arena, template);
	struct members spec = members_of(arena, members_get(&m, "spec"));
	const char *subdomain = unroll_text(w, "spec.network.subdomain");

	if (members_get(&spec, "restartPolicy").at == NULL)
		members_set_text(arena, &spec, "restartPolicy", "OnFailure");
	if (!text_is(unroll_raw(w, "spec.network.enableDNSHostnames"), "false"))
		members_set_text(arena, &spec, "subdomain",
		                 subdomain[0] != '\0' ? subdomain : w->object.name);
	members_set(arena, &m, "spec", members_print(arena, &spec));
	return members_print(arena, &m);
}

static void add_job(const struct workload *w, struct text replicated, const char *group,
                    long long index, long long replicas, const struct counting *c)
{
	struct arena *arena = &w->u->scratch;
	const char *name = arena_printf(arena, "%s-%s-%lld", w->object.name, group, index);
	struct members labels = { 0 }, metadata, spec;
	struct text all;

	if (unroll_exists(w, "Job", name))
		return;
	members_set_text(arena, &labels, JOBSET "jobset-name", w->object.name);
	members_set_text(arena, &labels, JOBSET "replicatedjob-name", group);
	members_set_text(arena, &labels, JOBSET "restart-attempt", "0");
	members_set_text(arena, &labels, JOBSET "replicatedjob-replicas",
	                 arena_printf(arena, "%lld", replicas));
	members_set_text(arena, &labels, JOBSET "job-index", arena_printf(arena, "%lld", index));
	members_set_text(arena, &labels, JOBSET "global-replicas",
	                 arena_printf(arena, "%lld", c->global));
	members_set_text(arena, &labels, JOBSET "job-global-index",
	                 arena_printf(arena, "%lld", c->jobs + index));

	spec = members_of(arena, members_find(arena, replicated, "template.spec"));
	if (members_get(&spec, "completionMode").at == NULL)
		members_set_text(arena, &spec, "completionMode", "Indexed");
	/* As the API server's defaults of a Job: both 1, or completions as many as parallelism where
	 * the webhook of JobSet makes it Indexed. */
	if (members_get(&spec, "completions").at == NULL)
		members_set(arena, &spec, "completions",
		            members_get(&spec, "parallelism").at != NULL ? members_get(&spec, "parallelism")
		                                                         : text_of("1"));
	members_set(arena, &spec, "template",
	            labelled(arena, pods_of_job(w, members_get(&spec, "template")), &labels));
	all = labelled(arena, members_find(arena, replicated, "template"), &labels);
	metadata = members_of(arena, members_find(arena, all, "metadata"));
	unroll_add(w, "batch/v1", "Job", name, &metadata, members_print(arena, &spec));
}

static bool replicas_of(const struct workload *w, struct text replicated, long long *replicas)
{
	const struct text raw = members_find(&w->u->arena, replicated, "replicas");

	*replicas = 1;
	if (raw.at == NULL ||
	    (raw_number(raw, replicas) && *replicas >= 0 && *replicas <= UNROLL_NUMBER_MAX))
		return true;
	return unroll_fail(w, "spec.replicatedJobs: replicas: %.*s: not a whole number from 0 to %d",
	                   raw.bytes > 60 ? 60 : (int)raw.bytes, raw.at, UNROLL_NUMBER_MAX);
}

static bool each_replicated(const struct workload *w, struct counting *c, bool add)
{
	struct arena *arena = &w->u->arena;
	const struct text list = unroll_raw(w, "spec.replicatedJobs");
	struct text one;
	struct json j;

	if (list.at == NULL || list.at[0] != '[')
		return unroll_fail(w, "spec.replicatedJobs is missing");
	json_begin(&j, list.at, list.bytes, arena);
	for (bool more = json_array(&j); more && json_item(&j) && json_raw(&j, &one);) {
		const char *name = arena_copy(arena, raw_text(arena, members_find(arena, one, "name")));
		long long replicas;

		if (name[0] == '\0')
			return unroll_fail(w, "spec.replicatedJobs: name is missing");
		if (members_find(arena, one, "template.spec.template.spec").at == NULL)
			return unroll_fail(w, "spec.replicatedJobs: %s: template.spec.template.spec is missing",
			                   name);
		if (!replicas_of(w, one, &replicas))
			return false;
		for (long long i = 0; add && i < replicas; i++)
			add_job(w, one, name, i, replicas, c);
		*(add ? &c->jobs : &c->global) += replicas;
	}
	return true;
}

bool unroll_jobset(const struct workload *w)
{
	struct counting c = { 0 };
	size_t owned;

	if (!each_replicated(w, &c, false))
		return false;
	if (unroll_text(w, "status.terminalState")[0] != '\0')
		return true;
	if (unroll_is_true(w, "spec.suspend"))
		return unroll_note(w, "spec.suspend: its Jobs make no pods");
	if (!unroll_has_room(w, c.global)) /* a pod for each Job at least */
		return true;
	if (is_exclusive(w, "alpha.jobset.sigs.k8s.io/exclusive-topology"))
		return true;
	unroll_owned(w, "JobSet", w->object.name, &owned);
	if (owned == 0 && unroll_raw(w, "status.replicatedJobsStatus").at != NULL)
		return unroll_note(w, "it has a status, the files do not have its Jobs");
	return each_replicated(w, &c, true);
}

/* Of the leaders (`group` below 0), or of the workers of one group. */
static void add_statefulset(const struct workload *w, struct text template, long long group,
                            long long replicas, long long size, const char *revision)
{
	struct arena *arena = &w->u->scratch;
	const bool leaders = group < 0;
	const char *name =
		leaders ? w->object.name : arena_printf(arena, "%s-%lld", w->object.name, group);
	struct members metadata = { 0 }, spec = { 0 }, ordinals = { 0 }, labels = { 0 },
				   annotations = { 0 }, template_members = members_of(arena, template),
				   template_metadata =
					   members_of(arena, members_get(&template_members, "metadata")),
				   selector = { 0 };

	if (unroll_exists(w, "StatefulSet", name))
		return;
	members_set_text(arena, &labels, LWS "name", w->object.name);
	members_set_text(arena, &labels, LWS "template-revision-hash", revision);
	members_set_text(arena, &annotations, LWS "size", arena_printf(arena, "%lld", size));
	if (leaders) {
		members_set_text(arena, &labels, LWS "worker-index", "0");
	} else {
		members_set_text(arena, &labels, LWS "group-index", arena_printf(arena, "%lld", group));
		members_set_text(arena, &annotations, LWS "leader-name", name);
		members_set(arena, &ordinals, "start", text_of("1"));
		members_set(arena, &spec, "ordinals", members_print(arena, &ordinals));
	}
	members_set(arena, &template_metadata, "labels",
	            unroll_joined(arena, members_get(&template_metadata, "labels"), &labels));
	members_set(arena, &template_metadata, "annotations",
	            unroll_joined(arena, members_get(&template_metadata, "annotations"), &annotations));
	members_set(arena, &template_members, "metadata", members_print(arena, &template_metadata));
	members_set(arena, &selector, "matchLabels", members_print(arena, &labels));
	members_set(arena, &spec, "replicas", text_of(arena_printf(arena, "%lld", replicas)));
	members_set_text(arena, &spec, "podManagementPolicy", "Parallel");
	/* networkConfig.subdomainPolicy UniquePerReplica: a service for each group. */
	members_set_text(
		arena, &spec, "serviceName",
		strcmp(unroll_text(w, "spec.networkConfig.subdomainPolicy"), "UniquePerReplica") == 0
			? name
			: w->object.name);
	members_set(arena, &spec, "selector", members_print(arena, &selector));
	members_set(arena, &spec, "template", members_print(arena, &template_members));
	members_set(arena, &metadata, "labels", members_print(arena, &labels));
	unroll_add(w, "apps/v1", "StatefulSet", name, &metadata, members_print(arena, &spec));
}

bool unroll_leaderworkerset(const struct workload *w)
{
	static const char workers_path[] = "spec.leaderWorkerTemplate.workerTemplate";
	long long replicas, size, counted;
	struct text workers, leader = unroll_raw(w, "spec.leaderWorkerTemplate.leaderTemplate");
	const char *revision;

	if (!unroll_number(w, "spec.replicas", 1, UNROLL_NUMBER_MAX, &replicas) ||
	    !unroll_number(w, "spec.leaderWorkerTemplate.size", 1, UNROLL_NUMBER_MAX, &size) ||
	    !unroll_number(w, "status.replicas", 0, UNROLL_NUMBER_MAX, &counted) ||
	    !unroll_template(w, workers_path, &workers))
		return false;
	if (size == 0)
		return unroll_fail(w, "spec.leaderWorkerTemplate.size: 0: at least the leader");
	if (is_exclusive(w, LWS "exclusive-topology") || !unroll_has_room(w, replicas * size))
		return true;
	if (counted > 0 && !unroll_exists(w, "StatefulSet", w->object.name))
		return unroll_note(
			w, "its status counts %lld groups, the files do not have its StatefulSets", counted);
	revision = unroll_hash(&w->u->arena, unroll_raw(w, "spec.leaderWorkerTemplate"));
	if (replicas == 0)
		return true;
	add_statefulset(w, leader.at != NULL ? leader : workers, -1, replicas, size, revision);
	for (long long i = 0; size > 1 && i < replicas; i++)
		add_statefulset(w, workers, i, size - 1, size, revision);
	return true;
}
