/* SPDX-License-Identifier: Apache-2.0 */
/* What each controller makes. */
#include "ctl/objects/unroll_parts.h"

#include "frontend/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool unroll_template(const struct workload *w, const char *path, struct text *out)
{
	*out = unroll_raw(w, path);
	if (out->at == NULL || out->at[0] != '{')
		return unroll_fail(w, "%s is missing", path);
	if (members_find(&w->u->arena, *out, "spec").at == NULL)
		return unroll_fail(w, "%s.spec is missing", path);
	return true;
}

/* How many pods of the controller run, and whether those that its status counts are in the files:
 * else what is missing is unknown, and false, with a note. */
static bool running(const struct workload *w, long long counted, size_t *runs)
{
	size_t n;
	const struct existing *owned = unroll_owned(w, w->object.kind, w->object.name, &n);

	*runs = 0;
	for (size_t i = 0; i < n; i++)
		*runs += strcmp(owned[i].kind, "Pod") == 0 && owned[i].runs;
	if ((long long)*runs >= counted)
		return true;
	unroll_note(w, "its status counts %lld pods, the files have %zu of them", counted, *runs);
	return false;
}

bool unroll_deployment(const struct workload *w)
{
	struct arena *arena = &w->u->arena;
	struct members spec = { 0 }, metadata = { 0 }, label = { 0 }, template_members;
	struct text template, selector, labels;
	struct members selector_members, template_metadata;
	const char *hash;
	long long replicas;
	size_t owned;

	if (!unroll_template(w, "spec.template", &template) ||
	    !unroll_number(w, "spec.replicas", 1, UNROLL_NUMBER_MAX, &replicas))
		return false;
	unroll_owned(w, "Deployment", w->object.name, &owned);
	if (owned > 0)
		return true; /* its ReplicaSets say what is missing */
	if (unroll_is_true(w, "spec.paused"))
		return unroll_note(w, "spec.paused: no ReplicaSet is made");
	if (!unroll_number(w, "status.replicas", 0, UNROLL_NUMBER_MAX, &replicas))
		return false;
	if (replicas > 0)
		return unroll_note(w, "its status counts %lld pods, the files do not have its ReplicaSet",
		                   replicas);
	hash = unroll_hash(arena, template);
	members_set_text(arena, &label, "pod-template-hash", hash);

	selector = unroll_raw(w, "spec.selector");
	selector_members = members_of(arena, selector);
	members_set(arena, &selector_members, "matchLabels",
	            unroll_joined(arena, members_find(arena, selector, "matchLabels"), &label));
	template_metadata = members_of(arena, members_find(arena, template, "metadata"));
	labels = unroll_joined(arena, members_find(arena, template, "metadata.labels"), &label);
	members_set(arena, &template_metadata, "labels", labels);
	template_members = members_of(arena, template);
	members_set(arena, &template_members, "metadata", members_print(arena, &template_metadata));

	if (unroll_raw(w, "spec.replicas").at != NULL)
		members_set(arena, &spec, "replicas", unroll_raw(w, "spec.replicas"));
	members_set(arena, &spec, "selector", members_print(arena, &selector_members));
	members_set(arena, &spec, "template", members_print(arena, &template_members));
	members_set(arena, &metadata, "labels", labels);
	unroll_add(w, "apps/v1", "ReplicaSet", arena_printf(arena, "%s-%s", w->object.name, hash),
	           &metadata, members_print(arena, &spec));
	return true;
}

bool unroll_replicaset(const struct workload *w)
{
	const struct members none = { 0 };
	const char *prefix = arena_printf(&w->u->arena, "%s-", w->object.name);
	struct text template, spec;
	long long replicas, counted;
	size_t runs;

	if (!unroll_number(w, "spec.replicas", 1, UNROLL_NUMBER_MAX, &replicas) ||
	    !unroll_number(w, "status.replicas", 0, UNROLL_NUMBER_MAX, &counted))
		return false;
	if (replicas == 0 || !running(w, counted, &runs) ||
	    !unroll_has_room(w, replicas - (long long)runs))
		return true;
	if (!unroll_template(w, "spec.template", &template))
		return false;
	spec = members_find(&w->u->arena, template, "spec");
	for (long long i = (long long)runs; i < replicas; i++)
		unroll_add_pod(w, template, unroll_name(w, prefix, (unsigned long long)i), &none, &none,
		               spec);
	return true;
}

static bool next_raw(struct json *j, struct text *one)
{
	return json_item(j) && json_raw(j, one);
}

static bool begin_array(struct json *j, struct text raw, struct arena *arena)
{
	if (raw.at == NULL || raw.at[0] != '[')
		return false;
	json_begin(j, raw.at, raw.bytes, arena);
	return json_array(j);
}

static const char *claim_name(const struct workload *w, const char *volume, long long ordinal)
{
	return arena_printf(&w->u->scratch, "%s-%s-%lld", volume, w->object.name, ordinal);
}

static const char *volume_name(const struct workload *w, struct text claim)
{
	struct arena *arena = &w->u->scratch;

	return arena_copy(arena, raw_text(arena, members_find(arena, claim, "metadata.name")));
}

static void make_claims(const struct workload *w, struct text claims, long long ordinal)
{
	struct text one;
	struct json j;

	if (!begin_array(&j, claims, &w->u->arena))
		return;
	while (next_raw(&j, &one)) {
		const char *claim = claim_name(w, volume_name(w, one), ordinal);
		struct members metadata = { 0 };

		if (!unroll_exists(w, "PersistentVolumeClaim", claim))
			unroll_add(w, "v1", "PersistentVolumeClaim", claim, &metadata,
			           members_find(&w->u->scratch, one, "spec"));
	}
}

/* The volumes of a pod: those of the claims, and of the template's those with other names. */
static struct text volumes_of(const struct workload *w, struct text claims, struct text volumes,
                              long long ordinal)
{
	struct arena *arena = &w->u->scratch;
	struct members by_name = { 0 };
	struct text one, printed;
	struct bytes list = { 0 };
	struct json j;

	if (begin_array(&j, volumes, arena))
		while (next_raw(&j, &one))
			members_set(arena, &by_name,
			            arena_copy(arena, raw_text(arena, members_find(arena, one, "name"))), one);
	if (begin_array(&j, claims, arena)) {
		while (next_raw(&j, &one)) {
			const char *volume = volume_name(w, one);
			struct members made = { 0 }, claim = { 0 };

			members_set_text(arena, &claim, "claimName", claim_name(w, volume, ordinal));
			members_set_text(arena, &made, "name", volume);
			members_set(arena, &made, "persistentVolumeClaim", members_print(arena, &claim));
			members_set(arena, &by_name, volume, members_print(arena, &made));
		}
	}
	for (size_t i = 0; i < by_name.n; i++) {
		bytes_put(&list, i == 0 ? "[" : ",");
		bytes_add(&list, by_name.at[i].raw.at, by_name.at[i].raw.bytes);
	}
	bytes_put(&list, by_name.n == 0 ? "[]" : "]");
	printed = (struct text){ arena_copy(arena, (struct text){ list.at, list.n }), list.n };
	bytes_free(&list);
	return printed;
}

/* The webhook of LeaderWorkerSet reads the index that a pod does not have yet from its name. */
static void add_index_of_group(struct arena *arena, struct text template, const char *ordinal,
                               struct members *labels)
{
	const struct members has = members_of(arena, members_find(arena, template, "metadata.labels"));

	if (members_get(&has, LWS "name").at == NULL)
		return;
	members_set_text(arena, labels,
	                 members_get(&has, LWS "worker-index").at != NULL ? LWS "group-index"
	                                                                  : LWS "worker-index",
	                 ordinal);
}

static void add_ordinal(const struct workload *w, struct text template, struct text claims,
                        const char *service, const char *revision, long long i)
{
	struct arena *arena = &w->u->scratch;
	struct members spec, labels = { 0 };
	const struct members annotations = { 0 };
	const char *name, *ordinal;

	if (unroll_exists(w, "Pod", arena_printf(arena, "%s-%lld", w->object.name, i)))
		return;
	make_claims(w, claims, i);
	name = arena_printf(arena, "%s-%lld", w->object.name, i);
	ordinal = arena_printf(arena, "%lld", i);
	spec = members_of(arena, members_find(arena, template, "spec"));
	if (claims.at != NULL)
		members_set(arena, &spec, "volumes",
		            volumes_of(w, claims, members_get(&spec, "volumes"), i));
	members_set_text(arena, &spec, "hostname", name);
	members_set_text(arena, &spec, "subdomain", service);
	members_set_text(arena, &labels, "statefulset.kubernetes.io/pod-name", name);
	members_set_text(arena, &labels, "apps.kubernetes.io/pod-index", ordinal);
	members_set_text(arena, &labels, "controller-revision-hash", revision);
	add_index_of_group(arena, template, ordinal, &labels);
	unroll_add_pod(w, template, name, &labels, &annotations, members_print(arena, &spec));
}

bool unroll_statefulset(const struct workload *w)
{
	struct arena *arena = &w->u->arena;
	const struct text claims = unroll_raw(w, "spec.volumeClaimTemplates");
	const char *service = unroll_text(w, "spec.serviceName"), *revision;
	long long replicas, first, counted;
	struct text template;
	size_t runs;

	if (!unroll_number(w, "spec.replicas", 1, UNROLL_NUMBER_MAX, &replicas) ||
	    !unroll_number(w, "spec.ordinals.start", 0, UNROLL_NUMBER_MAX, &first) ||
	    !unroll_number(w, "status.replicas", 0, UNROLL_NUMBER_MAX, &counted))
		return false;
	if (replicas == 0 || !running(w, counted, &runs) || !unroll_has_room(w, replicas))
		return true;
	if (!unroll_template(w, "spec.template", &template))
		return false;
	revision = arena_printf(arena, "%s-%s", w->object.name, unroll_hash(arena, template));
	for (long long i = first; i < first + replicas; i++)
		add_ordinal(w, template, claims, service, revision, i);
	return true;
}

/* A condition Complete or Failed that is True. */
static bool has_ended(const struct workload *w)
{
	struct text one;
	struct json j;

	if (!begin_array(&j, unroll_raw(w, "status.conditions"), &w->u->arena))
		return false;
	while (next_raw(&j, &one)) {
		const struct members m = members_of(&w->u->arena, one);
		const struct text type = raw_text(&w->u->arena, members_get(&m, "type"));

		if (text_is(raw_text(&w->u->arena, members_get(&m, "status")), "True") &&
		    (text_is(type, "Complete") || text_is(type, "Failed")))
			return true;
	}
	return false;
}

/* Whether status.completedIndexes, "1,3-5" in ascending order, has the index; *at moves on, so the
 * indexes have to ascend as well. */
static bool is_completed(const char **at, long long index)
{
	while (**at != '\0') {
		char *end;
		const long long first = strtoll(*at, &end, 10);
		const long long last = *end == '-' ? strtoll(end + 1, &end, 10) : first;

		if (end == *at || index < first)
			return false;
		if (index <= last)
			return true;
		*at = *end == ',' ? end + 1 : end;
	}
	return false;
}

static void add_job_pod(const struct workload *w, struct text template, long long n, bool indexed)
{
	struct arena *arena = &w->u->scratch;
	const char *job = w->object.name, *prefix, *index;
	struct members labels = { 0 }, annotations = { 0 };
	struct text spec = members_find(arena, template, "spec");

	members_set_text(arena, &labels, "batch.kubernetes.io/job-name", job);
	members_set_text(arena, &labels, "job-name", job);
	if (indexed) {
		struct members more = members_of(arena, spec);
		char tail[32];
		const int bytes = snprintf(tail, sizeof(tail), "-%lld-", n);

		/* The API server's generator would cut the index off: podGenerateNameWithIndex(). */
		prefix = arena_printf(arena, "%.*s%s", 58 - bytes, job, tail);
		index = arena_printf(arena, "%lld", n);
		members_set_text(arena, &labels, "batch.kubernetes.io/job-completion-index", index);
		members_set_text(arena, &annotations, "batch.kubernetes.io/job-completion-index", index);
		members_set_text(arena, &more, "hostname", arena_printf(arena, "%s-%s", job, index));
		spec = members_print(arena, &more);
	} else {
		prefix = arena_printf(arena, "%s-", job);
	}
	unroll_add_pod(w, template, unroll_name(w, prefix, (unsigned long long)n), &labels,
	               &annotations, spec);
}

/* Of an indexed Job the first indexes that neither succeeded nor run. */
static void add_indexed(const struct workload *w, struct text template, long long completions,
                        long long wanted)
{
	const char *completed = unroll_text(w, "status.completedIndexes");
	size_t n, at = 0;
	const struct existing *owned = unroll_owned(w, "Job", w->object.name, &n);

	for (long long i = 0; i < completions && wanted > 0; i++) {
		bool taken = is_completed(&completed, i);

		for (; at < n && owned[at].index <= i; at++)
			taken |= owned[at].index == i && (owned[at].runs || owned[at].succeeded);
		if (taken)
			continue;
		add_job_pod(w, template, i, true);
		wanted--;
	}
}

bool unroll_job(const struct workload *w)
{
	const bool endless = unroll_raw(w, "spec.completions").at == NULL;
	const bool indexed = strcmp(unroll_text(w, "spec.completionMode"), "Indexed") == 0;
	long long parallelism, completions, succeeded, counted, wanted, more;
	struct text template;
	size_t runs, n, ended = 0;
	const struct existing *owned;

	if (!unroll_number(w, "spec.parallelism", 1, UNROLL_NUMBER_MAX, &parallelism) ||
	    !unroll_number(w, "spec.completions", 0, UNROLL_NUMBER_MAX, &completions) ||
	    !unroll_number(w, "status.succeeded", 0, UNROLL_NUMBER_MAX, &succeeded) ||
	    !unroll_number(w, "status.active", 0, UNROLL_NUMBER_MAX, &counted))
		return false;
	if (has_ended(w))
		return true;
	if (unroll_is_true(w, "spec.suspend"))
		return unroll_note(w, "spec.suspend: no pods are made");
	if (!running(w, counted, &runs))
		return true;
	if (!unroll_template(w, "spec.template", &template))
		return false;
	if (indexed && endless)
		return unroll_fail(w, "spec.completions is missing, which completionMode Indexed needs");
	owned = unroll_owned(w, "Job", w->object.name, &n);
	for (size_t i = 0; i < n; i++)
		ended += owned[i].succeeded;
	if (succeeded < (long long)ended)
		succeeded = (long long)ended;
	/* A queue of work makes no more pods once one has succeeded. */
	wanted = !endless ? completions - succeeded : succeeded > 0 ? 0 : parallelism;
	if (wanted > parallelism)
		wanted = parallelism;
	more = wanted - (long long)runs;
	if (!unroll_has_room(w, more))
		return true;
	if (!endless && completions - succeeded > parallelism)
		unroll_note(w, "%lld of its %lld pods, which come as others end: spec.parallelism is %lld",
		            completions - succeeded - parallelism, completions, parallelism);
	if (indexed)
		add_indexed(w, template, completions, more);
	for (long long i = 0; !indexed && i < more; i++)
		add_job_pod(w, template, (long long)runs + i, false);
	return true;
}
