/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that controllers would make: how many, under which names and with which fields,
 * beside those that are there; what is left out is said. */
#include "ctl/objects/members.h"
#include "ctl/objects/unroll.h"

#include "tests/unit/test.h"

#include <regex.h>

#define POD                                                                                        \
	"spec: {containers: [{name: m, image: x, resources: {requests: {memory: 9007199254740993}}}]}\n"

static struct arena arena;

static struct files *unrolled(const char *yaml)
{
	struct files *files = files_new();
	char error[1024] = "";

	cr_assert(files_take(files, "f", yaml, strlen(yaml), error, sizeof(error)), "%s", error);
	cr_assert(unroll(files, error, sizeof(error)), "%s", error);
	cr_assert(files_check(files, error, sizeof(error)), "%s", error);
	return files;
}

/* The names of a kind, as they stand, with a blank between. */
static const char *names(const struct files *files, const char *kind)
{
	static char out[4096];
	size_t n;
	const struct object *o = files_objects(files, &n);

	out[0] = '\0';
	for (size_t i = 0; i < n; i++)
		if (strcmp(o[i].kind, kind) == 0)
			snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s",
			         out[0] != '\0' ? " " : "", o[i].name);
	return out;
}

static bool matches(const char *text, const char *pattern)
{
	regex_t r;
	bool found;

	cr_assert(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB) == 0);
	found = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return found;
}

/* Raw text of a field of the object `name`; keys with dots are given one by one. */
static const char *field(const struct files *files, const char *kind, const char *name,
                         const char *path, const char *key)
{
	size_t n;
	const struct object *o = files_objects(files, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(o[i].kind, kind) == 0 && strcmp(o[i].name, name) == 0) {
			struct text t = members_find(&arena, o[i].json, path);

			if (key != NULL) {
				const struct members m = members_of(&arena, t);

				t = members_get(&m, key);
			}
			return t.at != NULL ? arena_copy(&arena, t) : "";
		}
	}
	return "no such object";
}

static void field_is(const struct files *files, const char *kind, const char *name,
                     const char *path, const char *key, const char *want)
{
	cr_assert_str_eq(field(files, kind, name, path, key), want, "%s %s: %s", kind, name, path);
}

static const char *word(const char *list, unsigned at)
{
	static char out[256];

	while (at-- > 0)
		list = strchr(list, ' ') + 1;
	snprintf(out, sizeof(out), "%.*s", (int)strcspn(list, " "), list);
	return out;
}

#define FIVE "[bcdfghjklmnpqrstvwxz2456789]{5}"

Test(unroll, a_deployment_makes_a_replicaset_and_its_pods)
{
	struct files *f =
		unrolled("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: a}\n"
	             "spec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n"
	             "  template:\n    metadata: {labels: {app: web}, annotations: {x: y}}\n    " POD);
	char set[256], pod[256];
	const char *hash;

	snprintf(set, sizeof(set), "%s", names(f, "ReplicaSet"));
	cr_assert(matches(set, "^web-[bcdfghjklmnpqrstvwxz2456789]{1,10}$"), "%s", set);
	cr_assert(matches(names(f, "Pod"), "^web-[^-]+-" FIVE " web-[^-]+-" FIVE "$"), "%s",
	          names(f, "Pod"));
	snprintf(pod, sizeof(pod), "%s", word(names(f, "Pod"), 0));
	cr_assert(strcmp(pod, word(names(f, "Pod"), 1)) != 0, "two names");
	cr_assert(strncmp(pod, set, strlen(set)) == 0, "%s", pod);
	hash = field(f, "Pod", pod, "metadata.labels", "pod-template-hash");
	cr_assert(strstr(set, arena_printf(&arena, "-%.*s", (int)strlen(hash) - 2, hash + 1)) != NULL,
	          "%s", hash);
	field_is(f, "Pod", pod, "metadata.labels.app", NULL, "\"web\"");
	field_is(f, "Pod", pod, "metadata.annotations.x", NULL, "\"y\"");
	field_is(f, "Pod", pod, "metadata.namespace", NULL, "\"a\"");
	/* A number that no double holds. */
	cr_assert(strstr(field(f, "Pod", pod, "spec.containers", NULL), "9007199254740993") != NULL);
	cr_assert(strstr(field(f, "Pod", pod, "metadata.ownerReferences", NULL), "\"ReplicaSet\"") !=
	          NULL);
	field_is(f, "ReplicaSet", set, "spec.selector.matchLabels", "pod-template-hash", hash);
	cr_assert_str_eq(files_notes(f), "2 pods of workloads were made\n");
	files_free(f);
}

/* The controllers of the cluster that the record is of have made what they make. */
Test(unroll, nothing_is_made_of_what_a_server_had)
{
	static const char set[] = "apiVersion: apps/v1\nkind: StatefulSet\n"
							  "metadata: {name: web, uid: 6a3a2c1e-0000-0000-0000-000000000001}\n"
							  "spec: {replicas: 3, template: {spec: {containers: []}}}\n";
	static const char with_pod[] = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n";
	static const char note[] = "not unrolled: StatefulSet default/web: it comes from a server, and "
							   "the files have no pods\n";
	char yaml[1024];

	for (int pod = 0; pod < 2; pod++) {
		struct files *f;
		size_t n;

		snprintf(yaml, sizeof(yaml), "%s%s", set, pod ? with_pod : "");
		f = unrolled(yaml);
		files_objects(f, &n);
		cr_assert_eq(n, 1u + (unsigned)pod);
		cr_assert_str_eq(files_notes(f), pod ? "" : note);
		files_free(f);
	}
}

Test(unroll, pods_that_run_count_and_ended_ones_do_not)
{
	static const char set[] =
		"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\n"
		"spec: {replicas: 4, template: {spec: {containers: []}}}\nstatus: {replicas: %d}\n"
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}\n"
		"status: {phase: %s}\n"
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, ownerReferences: [{kind: ReplicaSet, name: web}]}\n"
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: r, namespace: other, ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}\n";
	static const struct {
		int status;
		const char *phase;
		unsigned made;
	} rows[] = { { 1, "Running", 3 },
		         { 0, "Pending", 3 },
		         { 0, "Failed", 4 },
		         { 0, "Succeeded", 4 },
		         { 2, "Running", 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[2048];
		struct files *f;
		size_t n;

		snprintf(text, sizeof(text), set, rows[i].status, rows[i].phase);
		f = unrolled(text);
		files_objects(f, &n);
		cr_assert(n == 4 + rows[i].made, "row %zu: %zu", i, n);
		cr_assert(
			(rows[i].made == 0) ==
				(strcmp(files_notes(f), "not unrolled: ReplicaSet default/web: its status counts 2 "
		                                "pods, the files have 1 of them\n") == 0),
			"%s", files_notes(f));
		files_free(f);
	}
}

Test(unroll, a_statefulset_names_pods_and_claims_by_ordinal)
{
	struct files *f = unrolled(
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 3\n  ordinals: {start: 5}\n"
		"  serviceName: dbs\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: a}}]\n"
		"  template:\n    spec: {volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}], containers: []}\n"
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: db-6}\n"
		"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-7}\n");

	cr_assert_str_eq(names(f, "Pod"), "db-6 db-5 db-7");
	cr_assert_str_eq(names(f, "PersistentVolumeClaim"), "data-db-7 data-db-5");
	field_is(f, "Pod", "db-7", "spec.hostname", NULL, "\"db-7\"");
	field_is(f, "Pod", "db-7", "spec.subdomain", NULL, "\"dbs\"");
	field_is(f, "Pod", "db-7", "metadata.labels", "apps.kubernetes.io/pod-index", "\"7\"");
	field_is(f, "Pod", "db-7", "spec.volumes", NULL,
	         "[{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data-db-7\"}},"
	         "{\"name\":\"tmp\",\"emptyDir\":{}}]");
	field_is(f, "PersistentVolumeClaim", "data-db-5", "spec.storageClassName", NULL, "\"a\"");
	files_free(f);
}

/* Counts of pkg/controller/job: what is wanted less what is active. */
Test(unroll, a_job_makes_what_it_lacks)
{
	static const struct {
		const char *spec, *status;
		unsigned made;
	} rows[] = {
		{ "", "", 1 },
		{ "parallelism: 3,", "", 3 },
		{ "parallelism: 3, completions: 2,", "", 2 },
		{ "parallelism: 3, completions: 8,", "", 3 },
		{ "parallelism: 3, completions: 8,", "succeeded: 6", 2 },
		{ "parallelism: 3, completions: 8,", "succeeded: 8", 0 },
		{ "parallelism: 3,", "succeeded: 1", 0 },
		{ "parallelism: 0,", "", 0 },
		{ "parallelism: 3, suspend: true,", "", 0 },
		{ "parallelism: 3,", "conditions: [{type: Failed, status: \"True\"}]", 0 },
		{ "parallelism: 3,", "conditions: [{type: Failed, status: \"False\"}]", 3 },
		{ "parallelism: 3,", "active: 1", 0 },
		{ "parallelism: 150001,", "", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024];
		struct files *f;
		size_t n;

		snprintf(
			text, sizeof(text),
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {%s template: {spec: {containers: []}}}\n"
			"status: {%s}\n",
			rows[i].spec, rows[i].status);
		f = unrolled(text);
		files_objects(f, &n);
		cr_assert(n == 1 + rows[i].made, "row %zu: %zu", i, n - 1);
		cr_assert(rows[i].made == 0 || matches(word(names(f, "Pod"), 0), "^j-" FIVE "$"));
		files_free(f);
	}
}

Test(unroll, an_indexed_job_fills_the_indexes_that_are_free)
{
	struct files *f = unrolled(
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"
		"spec: {parallelism: 4, completions: 9, completionMode: Indexed, template: {spec: {containers: []}}}\n"
		"status: {succeeded: 3, completedIndexes: \"0,2-3\"}\n"
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: j-4-x, ownerReferences: [{kind: Job, name: j, controller: true}],\n"
		"  annotations: {batch.kubernetes.io/job-completion-index: \"4\"}}\n"
		"---\napiVersion: v1\nkind: Pod\nmetadata: {name: j-5-x, ownerReferences: [{kind: Job, name: j, controller: true}],\n"
		"  annotations: {batch.kubernetes.io/job-completion-index: \"5\"}}\nstatus: {phase: Failed}\n");
	char pod[256];

	cr_assert(matches(names(f, "Pod"), "^j-4-x j-5-x j-1-" FIVE " j-5-" FIVE " j-6-" FIVE "$"),
	          "%s", names(f, "Pod"));
	snprintf(pod, sizeof(pod), "%s", word(names(f, "Pod"), 2));
	field_is(f, "Pod", pod, "spec.hostname", NULL, "\"j-1\"");
	field_is(f, "Pod", pod, "metadata.annotations", "batch.kubernetes.io/job-completion-index",
	         "\"1\"");
	field_is(f, "Pod", pod, "metadata.labels", "batch.kubernetes.io/job-name", "\"j\"");
	cr_assert(strstr(files_notes(f), "not unrolled: Job default/j: 2 of its 9 pods") != NULL, "%s",
	          files_notes(f));
	files_free(f);
}

/* Each subset of six indexes that succeeded or run, against a loop over all. */
Test(unroll, indexes_agree_with_a_plain_count)
{
	for (unsigned done = 0; done < 64; done++) {
		for (unsigned parallelism = 1; parallelism < 7; parallelism += 2) {
			char text[4096], want[256] = "", have[256] = "";
			unsigned left = 0, made = 0;
			const char *list;
			struct files *f;

			snprintf(
				text, sizeof(text),
				"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {parallelism: %u, completions: 6, "
				"completionMode: Indexed, template: {spec: {containers: []}}}\n",
				parallelism);
			for (unsigned i = 0; i < 6; i++) {
				left += !(done >> i & 1);
				if (done >> i & 1)
					snprintf(
						text + strlen(text), sizeof(text) - strlen(text),
						"---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%u, ownerReferences: [{kind: Job, "
						"name: j, controller: true}],\n  annotations: "
						"{batch.kubernetes.io/job-completion-index: \"%u\"}}\nstatus: {phase: Succeeded}\n",
						i, i);
			}
			for (unsigned i = 0; i < 6 && made < parallelism && left > 0; i++)
				if (!(done >> i & 1) && ++made)
					snprintf(want + strlen(want), sizeof(want) - strlen(want), "%u ", i);
			f = unrolled(text);
			for (list = names(f, "Pod"); list != NULL && *list != '\0';
			     list = strchr(list, ' ') ? strchr(list, ' ') + 1 : NULL)
				if (list[0] == 'j')
					snprintf(have + strlen(have), sizeof(have) - strlen(have), "%c ", list[2]);
			cr_assert_str_eq(have, want, "done %u, parallelism %u", done, parallelism);
			files_free(f);
			arena_reset(&arena);
		}
	}
}

Test(unroll, long_names_are_cut_where_the_api_server_cuts_them)
{
	char text[1024], name[64];
	struct files *f;

	memset(name, 'n', 60);
	name[60] = '\0';
	snprintf(
		text, sizeof(text),
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec: {completions: 1, completionMode: Indexed, template: {spec: {containers: []}}}\n"
		"---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: %s}\nspec: {template: {spec: {containers: []}}}\n",
		name, name);
	f = unrolled(text);
	cr_assert(matches(names(f, "Pod"), "^n{55}-0-" FIVE " n{58}" FIVE "$"), "%s", names(f, "Pod"));
	files_free(f);
}

Test(unroll, a_jobset_makes_indexed_jobs)
{
	struct files *f = unrolled(
		"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  replicatedJobs:\n"
		"  - {name: d, template: {spec: {template: {spec: {containers: []}}}}}\n"
		"  - {name: w, replicas: 2, template: {spec: {parallelism: 2, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}}\n");
	char pod[256];

	cr_assert_str_eq(names(f, "Job"), "s-d-0 s-w-0 s-w-1");
	cr_assert(matches(names(f, "Pod"), "^s-d-0-0-" FIVE " s-w-0-0-" FIVE " s-w-0-1-" FIVE
	                                   " s-w-1-0-" FIVE " s-w-1-1-" FIVE "$"),
	          "%s", names(f, "Pod"));
	snprintf(pod, sizeof(pod), "%s", word(names(f, "Pod"), 4));
	field_is(f, "Pod", pod, "metadata.labels", "jobset.sigs.k8s.io/job-index", "\"1\"");
	field_is(f, "Pod", pod, "metadata.labels", "jobset.sigs.k8s.io/job-global-index", "\"2\"");
	field_is(f, "Pod", pod, "metadata.labels.a", NULL, "\"b\"");
	field_is(f, "Pod", pod, "spec.subdomain", NULL, "\"s\"");
	field_is(f, "Pod", pod, "spec.hostname", NULL, "\"s-w-1-1\"");
	files_free(f);
}

Test(unroll, a_leaderworkerset_makes_leaders_and_workers)
{
	struct files *f = unrolled(
		"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: s}\nspec:\n  replicas: 2\n  leaderWorkerTemplate:\n"
		"    size: 3\n    leaderTemplate: {metadata: {labels: {role: leader}}, spec: {containers: []}}\n    workerTemplate: {spec: {containers: []}}\n");

	cr_assert_str_eq(names(f, "StatefulSet"), "s s-0 s-1");
	cr_assert_str_eq(names(f, "Pod"), "s-0 s-1 s-0-1 s-0-2 s-1-1 s-1-2");
	field_is(f, "Pod", "s-1", "metadata.labels.role", NULL, "\"leader\"");
	field_is(f, "Pod", "s-1", "metadata.labels", "leaderworkerset.sigs.k8s.io/group-index",
	         "\"1\"");
	field_is(f, "Pod", "s-1", "metadata.labels", "leaderworkerset.sigs.k8s.io/worker-index",
	         "\"0\"");
	field_is(f, "Pod", "s-1-2", "metadata.labels", "leaderworkerset.sigs.k8s.io/group-index",
	         "\"1\"");
	field_is(f, "Pod", "s-1-2", "metadata.labels", "leaderworkerset.sigs.k8s.io/worker-index",
	         "\"2\"");
	field_is(f, "Pod", "s-1-2", "metadata.annotations", "leaderworkerset.sigs.k8s.io/size",
	         "\"3\"");
	field_is(f, "Pod", "s-1-2", "metadata.annotations", "leaderworkerset.sigs.k8s.io/leader-name",
	         "\"s-1\"");
	cr_assert_str_eq(field(f, "Pod", "s-1-2", "metadata.labels",
	                       "leaderworkerset.sigs.k8s.io/template-revision-hash"),
	                 field(f, "Pod", "s-0", "metadata.labels",
	                       "leaderworkerset.sigs.k8s.io/template-revision-hash"));
	files_free(f);
}

Test(unroll, what_is_left_out_is_said)
{
	static const struct {
		const char *text, *note;
	} rows[] = {
		{ "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {paused: true, template: {spec: {}}}",
		  "Deployment default/w: spec.paused" },
		{ "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {template: {spec: {}}}\nstatus: {replicas: 1}",
		  "the files do not have its ReplicaSet" },
		{ "apiVersion: batch/v1\nkind: Job\nmetadata: {name: w, deletionTimestamp: \"2026-01-01T00:00:00Z\"}\nspec: {template: {spec: {}}}",
		  "it is being deleted" },
		{ "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: w}\nspec: {suspend: true, replicatedJobs: []}",
		  "spec.suspend" },
		{ "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: w, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: zone}}\nspec: {replicatedJobs: []}",
		  "exclusive-topology" },
		{ "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: w, annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: zone}}\nspec: {leaderWorkerTemplate: {workerTemplate: {spec: {}}}}",
		  "exclusive-topology" },
		{ "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: w}\nspec: {replicas: 2147483647, leaderWorkerTemplate: {size: 2147483647, workerTemplate: {spec: {}}}}",
		  "more than 150000" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct files *f = unrolled(rows[i].text);

		cr_assert_str_eq(names(f, "Pod"), "", "row %zu", i);
		cr_assert(strstr(files_notes(f), rows[i].note) != NULL, "row %zu: %s", i, files_notes(f));
		files_free(f);
	}
}

Test(unroll, what_is_wrong_is_named)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {replicas: -1, template: {spec: {}}}",
		  "f: Deployment default/w: spec.replicas: -1: not a whole number from 0 to 2147483647" },
		{ "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w}\nspec: {replicas: \"3\", template: {spec: {}}}",
		  "f: StatefulSet default/w: spec.replicas: \"3\": not a whole number from 0 to 2147483647" },
		{ "apiVersion: batch/v1\nkind: Job\nmetadata: {name: w}\nspec: {}",
		  "f: Job default/w: spec.template is missing" },
		{ "apiVersion: batch/v1\nkind: Job\nmetadata: {name: w}\nspec: {completionMode: Indexed, template: {spec: {}}}",
		  "f: Job default/w: spec.completions is missing, which completionMode Indexed needs" },
		{ "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: w}\nspec: {replicatedJobs: [{name: a}]}",
		  "f: JobSet default/w: spec.replicatedJobs: a: template.spec.template.spec is missing" },
		{ "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: w}\nspec: {leaderWorkerTemplate: {size: 0, workerTemplate: {spec: {}}}}",
		  "f: LeaderWorkerSet default/w: spec.leaderWorkerTemplate.size: 0: at least the leader" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct files *files = files_new();
		char error[1024] = "";

		cr_assert(files_take(files, "f", rows[i].text, strlen(rows[i].text), error, sizeof(error)),
		          "%s", error);
		cr_assert_not(unroll(files, error, sizeof(error)), "row %zu", i);
		cr_assert_str_eq(error, rows[i].error);
		files_free(files);
	}
}

static void free_arena(void)
{
	arena_free(&arena);
}

TestSuite(unroll, .fini = free_arena);
