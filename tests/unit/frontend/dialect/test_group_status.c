/* SPDX-License-Identifier: Apache-2.0 */
/* What the status of a group's object is to be: by phases of its pods, in each API. */
#include "frontend/dialect/group_status.h"

#include "frontend/base/arena.h"
#include "frontend/model/valid.h"

#include "tests/unit/support_world.h"

#include <sys/resource.h>

#define NOW "2026-01-02T03:04:05Z"

struct group {
	struct gang_view gang;
	struct resource resource;
	struct group_status has;
	struct group_facts facts;
};

static void group_init(struct group *g, const char *version, uint32_t quorum)
{
	memset(g, 0, sizeof(*g));
	g->resource = (struct resource){ .version = version };
	g->has = group_status_empty;
	g->gang = (struct gang_view){ .namespace = "ns",
		                          .name = "g",
		                          .quorum = quorum,
		                          .owners = "ns/job",
		                          .resource = &g->resource,
		                          .status = &g->has };
	g->facts = (struct group_facts){ .gang = &g->gang, .message = "", .reason = "", .now = NOW };
}

/* So many pods of ours are in each phase; `bound` of them have a node. */
static void group_pods(struct group *g, uint32_t pending, uint32_t running, uint32_t succeeded,
                       uint32_t failed, uint32_t bound)
{
	uint32_t n = pending + running + succeeded + failed;

	g->gang.pods = (struct gang_counts){
		.n = n, .ours = n, .bound = bound, .phases = { pending, running, succeeded, failed }
	};
}

static void group_waits(struct group *g, uint32_t why, const char *reason, const char *message)
{
	g->facts.why = why;
	g->facts.reason = reason;
	g->facts.message = message;
}

/* One look at it, and that is what it has from then on; NULL when nothing changed. */
static const char *step(struct group *g, const struct dialect_status *dialect)
{
	static char text[2048];
	struct group_status want = g->has;
	struct jsonout out = { 0 };
	bool same;

	dialect->want(&g->facts, &want);
	group_status_write(dialect, &g->has, &want, NOW, &out);
	snprintf(text, sizeof(text), "%s", out.at);
	same = group_status_equal(&g->has, &want);
	cr_assert_eq(same, strcmp(text, "{}") == 0, "%s", text);
	jsonout_free(&out);
	g->has = want;
	return same ? NULL : text;
}

static void is_still(struct group *g, const struct dialect_status *dialect)
{
	const char *text = step(g, dialect);

	cr_assert_null(text, "%s", text);
}

struct life {
	uint32_t pending, running, succeeded, failed;
	const char *writes; /* NULL: nothing */
};

static void live(const struct dialect_status *dialect, uint32_t quorum, const struct life *lives,
                 size_t n)
{
	struct group g;

	group_init(&g, "v1alpha1", quorum);
	for (size_t i = 0; i < n; i++) {
		const struct life *l = &lives[i];
		const char *text;

		group_pods(&g, l->pending, l->running, l->succeeded, l->failed,
		           l->running + l->succeeded + l->failed);
		text = step(&g, dialect);
		if (l->writes)
			cr_assert_str_eq(text ? text : "nothing", l->writes, "step %zu", i);
		else
			cr_assert_null(text, "step %zu: %s", i, text);
		is_still(&g, dialect);
	}
}

#define LIVE(dialect, quorum, ...)                                                                 \
	do {                                                                                           \
		const struct life lives_[] = { __VA_ARGS__ };                                              \
		live(dialect, quorum, lives_, sizeof(lives_) / sizeof(lives_[0]));                         \
	} while (0)

/* COS-23: none; 3 pending; 3 running; 1 of 3 succeeded; all succeeded. */
Test(group_status, phases_of_a_group_from_its_first_pod_to_its_end)
{
	LIVE(&status_podgroup, 3, { 0, 0, 0, 0, "{\"phase\":\"Pending\"}" }, { 1, 0, 0, 0, NULL },
	     { 3, 0, 0, 0, "{\"phase\":\"Scheduling\",\"occupiedBy\":\"ns/job\"}" },
	     { 2, 1, 0, 0, "{\"running\":1}" }, { 0, 3, 0, 0, "{\"phase\":\"Running\",\"running\":3}" },
	     { 0, 2, 1, 0, "{\"running\":2,\"succeeded\":1}" },
	     { 0, 0, 3, 0, "{\"phase\":\"Finished\",\"running\":0,\"succeeded\":3}" },
	     { 3, 0, 0, 0, NULL }, { 0, 0, 0, 0, NULL });
}

/* COS-23: a fresh group with 2 running and 1 failed, in one write. */
Test(group_status, a_member_that_fails_ends_the_group)
{
	LIVE(&status_podgroup, 3,
	     { 0, 2, 0, 1,
	       "{\"phase\":\"Failed\",\"occupiedBy\":\"ns/job\",\"running\":2,\"failed\":1}" },
	     { 0, 2, 0, 0, NULL }, { 0, 0, 0, 0, NULL }, { 2, 0, 0, 0, NULL });
	/* The quorum must have come to its end; enough that succeeded is a good end. */
	LIVE(&status_podgroup, 4, { 1, 1, 0, 1, "{\"phase\":\"Pending\",\"running\":1,\"failed\":1}" });
	LIVE(&status_podgroup, 4,
	     { 2, 1, 0, 1,
	       "{\"phase\":\"Scheduling\",\"occupiedBy\":\"ns/job\",\"running\":1,\"failed\":1}" });
	LIVE(&status_podgroup, 2,
	     { 0, 0, 2, 1,
	       "{\"phase\":\"Finished\",\"occupiedBy\":\"ns/job\",\"succeeded\":2,\"failed\":1}" });
}

Test(group_status, a_group_that_loses_its_members_starts_over)
{
	LIVE(&status_podgroup, 3,
	     { 0, 3, 0, 0, "{\"phase\":\"Running\",\"occupiedBy\":\"ns/job\",\"running\":3}" },
	     { 1, 2, 0, 0, "{\"phase\":\"Scheduling\",\"running\":2}" },
	     { 0, 2, 0, 0, "{\"phase\":\"Pending\"}" }, { 0, 0, 0, 0, "{\"running\":0}" });
}

/* JobSet and Kueue delete all pods and make new ones, for the same PodGroup. */
Test(group_status, a_group_whose_job_is_restarted_is_not_failed_any_more)
{
	struct group g;

	LIVE(&status_podgroup, 3,
	     { 0, 2, 0, 1,
	       "{\"phase\":\"Failed\",\"occupiedBy\":\"ns/job\",\"running\":2,\"failed\":1}" },
	     { 0, 0, 0, 0, NULL }, { 2, 0, 0, 0, NULL },
	     { 3, 0, 0, 0, "{\"phase\":\"Scheduling\",\"running\":0,\"failed\":0}" },
	     { 0, 3, 0, 0, "{\"phase\":\"Running\",\"running\":3}" },
	     { 0, 0, 3, 0, "{\"phase\":\"Finished\",\"running\":0,\"succeeded\":3}" });
	/* A Job that replaces the one that failed keeps it. */
	LIVE(&status_podgroup, 3,
	     { 0, 2, 0, 1,
	       "{\"phase\":\"Failed\",\"occupiedBy\":\"ns/job\",\"running\":2,\"failed\":1}" },
	     { 1, 2, 0, 1, NULL });

	group_init(&g, "v1alpha1", 2);
	group_pods(&g, 0, 1, 0, 1, 2);
	g.has.phase = "Running";
	cr_assert(strstr(step(&g, &status_podgroup_older), "\"phase\":\"Failed\""));
	group_pods(&g, 2, 0, 0, 0, 0);
	cr_assert_str_eq(step(&g, &status_podgroup_older),
	                 "{\"phase\":\"PreScheduling\",\"occupiedBy\":\"ns/job\",\"scheduled\":0,"
	                 "\"running\":0,\"failed\":0}");
	group_pods(&g, 0, 2, 0, 0, 2);
	cr_assert_str_eq(step(&g, &status_podgroup_older),
	                 "{\"phase\":\"Running\",\"scheduled\":2,\"running\":2}");
}

Test(group_status, without_a_quorum_one_member_is_enough)
{
	LIVE(&status_podgroup, 0, { 0, 0, 0, 0, "{\"phase\":\"Pending\"}" },
	     { 0, 1, 0, 0, "{\"phase\":\"Running\",\"occupiedBy\":\"ns/job\",\"running\":1}" });
}

Test(group_status, counts_near_the_end_of_their_range)
{
	struct group g;

	group_init(&g, "v1alpha1", UINT32_MAX);
	g.gang.pods =
		(struct gang_counts){ .n = UINT32_MAX, .phases = { 0, UINT32_MAX - 1, UINT32_MAX - 1, 1 } };
	cr_assert(strstr(step(&g, &status_podgroup), "\"phase\":\"Failed\""));
}

/* v0.22: PreScheduling, then as its members are bound. */
Test(group_status, phases_of_the_older_api)
{
	struct group g;

	group_init(&g, "v1alpha1", 3);
	cr_assert_str_eq(step(&g, &status_podgroup_older), "{\"phase\":\"Pending\"}");
	group_pods(&g, 3, 0, 0, 0, 0);
	cr_assert_str_eq(step(&g, &status_podgroup_older),
	                 "{\"phase\":\"PreScheduling\",\"occupiedBy\":\"ns/job\"}");
	group_pods(&g, 3, 0, 0, 0, 1);
	cr_assert_str_eq(step(&g, &status_podgroup_older),
	                 "{\"phase\":\"Scheduling\",\"scheduleStartTime\":\"" NOW
	                 "\",\"scheduled\":1}");
	group_pods(&g, 2, 1, 0, 0, 3);
	cr_assert_str_eq(step(&g, &status_podgroup_older),
	                 "{\"phase\":\"Scheduled\",\"scheduled\":3,\"running\":1}");
	group_pods(&g, 0, 3, 0, 0, 3);
	cr_assert_str_eq(step(&g, &status_podgroup_older), "{\"phase\":\"Running\",\"running\":3}");
	group_pods(&g, 0, 2, 0, 0, 2);
	cr_assert_str_eq(step(&g, &status_podgroup_older), "{\"running\":2}",
	                 "what was scheduled stays counted");
	group_pods(&g, 0, 0, 3, 0, 3);
	cr_assert_str_eq(step(&g, &status_podgroup_older),
	                 "{\"phase\":\"Finished\",\"running\":0,\"succeeded\":3}");
	group_pods(&g, 0, 0, 0, 0, 0);
	is_still(&g, &status_podgroup_older);
}

Test(group_status, a_gang_of_the_older_api_that_is_bound_at_once)
{
	struct group g;

	group_init(&g, "v1alpha1", 2);
	group_pods(&g, 0, 2, 0, 0, 2);
	cr_assert_str_eq(
		step(&g, &status_podgroup_older),
		"{\"phase\":\"Running\",\"occupiedBy\":\"ns/job\",\"scheduled\":2,\"running\":2}");
	group_pods(&g, 0, 0, 0, 0, 0);
	cr_assert_str_eq(step(&g, &status_podgroup_older), "{\"phase\":\"Pending\",\"running\":0}");
}

#define TYPE(name, status, reason, message)                                                        \
	"{\"conditions\":[{\"type\":\"" name "\",\"status\":\"" status "\",\"reason\":\"" reason       \
	"\",\"message\":\"" message "\",\"lastTransitionTime\":\"" NOW "\"}]}"

Test(group_status, the_native_condition_in_each_version)
{
	static const struct {
		const char *version, *type;
	} rows[] = {
		{ "v1", "PodGroupInitiallyScheduled" },
		{ "v1beta1", "PodGroupInitiallyScheduled" },
		{ "v1alpha3", "PodGroupInitiallyScheduled" },
		{ "v1alpha2", "PodGroupScheduled" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char type[64];
		struct group g;

		group_init(&g, rows[i].version, 2);
		is_still(&g, &status_native);
		group_pods(&g, 2, 0, 0, 0, 0);
		is_still(&g, &status_native);
		group_waits(&g, WAIT_ROOM, "Unschedulable", "1 of 2 has room");
		snprintf(type, sizeof(type), "\"type\":\"%s\",", rows[i].type);
		cr_assert(strstr(step(&g, &status_native), type));
		is_still(&g, &status_native);
	}
}

Test(group_status, the_native_condition_stays_once_it_is_true)
{
	struct group g;

	group_init(&g, "v1", 2);
	group_pods(&g, 2, 0, 0, 0, 0);
	group_waits(&g, WAIT_ROOM, "Unschedulable", "1 of 2");
	cr_assert_str_eq(step(&g, &status_native),
	                 TYPE("PodGroupInitiallyScheduled", "False", "Unschedulable", "1 of 2"));
	g.has.conditions[0].turned = "2025-01-01T00:00:00Z";
	group_waits(&g, WAIT_BIND_REFUSED, "SchedulerError", "refused");
	cr_assert(strstr(step(&g, &status_native),
	                 "\"reason\":\"SchedulerError\",\"message\":\"refused\","
	                 "\"lastTransitionTime\":\"2025-01-01T00:00:00Z\""));
	group_waits(&g, WAIT_NONE, "", "");
	group_pods(&g, 2, 0, 0, 0, 2);
	cr_assert_str_eq(step(&g, &status_native),
	                 TYPE("PodGroupInitiallyScheduled", "True", "Scheduled", ""));
	group_pods(&g, 1, 0, 0, 0, 0);
	group_waits(&g, WAIT_MEMBERS, "Unschedulable", "1 of 2");
	is_still(&g, &status_native);
}

/* Its pods are another scheduler's, which writes the condition itself. */
Test(group_status, groups_of_other_schedulers_are_left_alone)
{
	struct group g;

	group_init(&g, "v1", 1);
	g.gang.pods = (struct gang_counts){ .n = 2, .bound = 2, .phases = { 0, 2 } };
	is_still(&g, &status_native);
	is_still(&g, &status_volcano);
}

Test(group_status, phases_and_conditions_of_volcano)
{
	struct group g;

	group_init(&g, "v1beta1", 2);
	is_still(&g, &status_volcano);
	group_pods(&g, 1, 0, 0, 0, 0);
	group_waits(&g, WAIT_MEMBERS, "Unschedulable", "1 of 2");
	cr_assert_str_eq(step(&g, &status_volcano),
	                 "{\"phase\":\"Inqueue\",\"conditions\":[{\"type\":\"Unschedulable\","
	                 "\"status\":\"True\",\"reason\":\"NotEnoughTasks\",\"message\":\"1 of 2\","
	                 "\"lastTransitionTime\":\"" NOW "\"}]}");
	group_waits(&g, WAIT_ROOM, "Unschedulable", "no room");
	cr_assert(strstr(step(&g, &status_volcano),
	                 "\"reason\":\"NotEnoughResources\",\"message\":\"no room\""));
	group_waits(&g, WAIT_ROLE, "Unschedulable", "no ps");
	cr_assert(strstr(step(&g, &status_volcano), "\"reason\":\"NotEnoughPodsOfTask\""));
	group_waits(&g, WAIT_NONE, "", "");
	g.has.others = "{\"type\":\"Own\",\"status\":\"True\"}";
	group_pods(&g, 0, 2, 0, 0, 2);
	cr_assert_str_eq(
		step(&g, &status_volcano),
		"{\"phase\":\"Running\",\"running\":2,\"conditions\":[{\"type\":\"Own\",\"status\":\"True\"},"
		"{\"type\":\"Unschedulable\",\"status\":\"False\",\"reason\":\"NotEnoughPodsOfTask\",\"message\":\"no ps\","
		"\"lastTransitionTime\":\"" NOW "\"},{\"type\":\"Scheduled\",\"status\":\"True\","
		"\"reason\":\"tasks in gang are ready to be scheduled\",\"message\":\"\","
		"\"lastTransitionTime\":\"" NOW "\"}]}");
	group_pods(&g, 1, 1, 0, 0, 1);
	group_waits(&g, WAIT_ROOM, "Unschedulable", "no room");
	cr_assert(strstr(step(&g, &status_volcano), "\"phase\":\"Unknown\""),
	          "some run, the others can't");
	group_waits(&g, WAIT_NONE, "", "");
	group_pods(&g, 0, 0, 1, 1, 2);
	cr_assert(strstr(step(&g, &status_volcano), "\"phase\":\"Completed\""));
}

/* The controller of a Volcano job creates no pod before that. */
Test(group_status, a_group_without_pods_is_inqueue_where_muster_serves_its_queue)
{
	static const char *const before[] = { "",        "Pending",   "Inqueue",
		                                  "Running", "Completed", "Unknown" };
	struct group g;

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		group_init(&g, "v1beta1", 2);
		g.has.phase = before[i];
		is_still(&g, &status_volcano);
		g.facts.enqueue = true;
		if (i < 2)
			cr_assert_str_eq(step(&g, &status_volcano), "{\"phase\":\"Inqueue\"}");
		is_still(&g, &status_volcano);
	}
	/* Pods of another scheduler: it is theirs. */
	group_init(&g, "v1beta1", 2);
	g.facts.enqueue = true;
	group_pods(&g, 1, 0, 0, 0, 0);
	g.gang.pods.ours = 0;
	is_still(&g, &status_volcano);
}

static int read_status(const struct dialect_status *dialect, const char *json,
                       struct group_status **out)
{
	struct arena arena = { 0 };
	struct group_status s;
	int rc = group_status_read(dialect, json, strlen(json), &arena, &s);

	*out = rc == 0 ? group_status_copy(&s) : NULL;
	arena_free(&arena);
	return rc;
}

Test(group_status, the_queue_is_read_for_volcano_alone)
{
	static const char json[] =
		"{\"spec\":{\"queue\":\"batch\"},\"status\":{\"phase\":\"Pending\"}}";
	struct group_status *s;

	cr_assert_eq(read_status(&status_volcano, json, &s), 0);
	cr_assert_str_eq(s->queue, "batch");
	cr_assert_str_eq(s->phase, "Pending");
	free(s);
	cr_assert_eq(read_status(&status_podgroup, json, &s), 0);
	cr_assert_str_eq(s->queue, "");
	free(s);
	cr_assert_eq(read_status(&status_volcano, "{\"spec\":{\"queue\":7}}", &s), -EINVAL);
}

Test(group_status, is_read_as_it_was_written)
{
	const char *json =
		"{\"spec\":{\"status\":{\"phase\":\"no\"}},\"status\":{\"phase\":\"Running\",\"occupiedBy\":\"ns/a,ns/b\","
		"\"running\":2,\"succeeded\":1,\"failed\":null,\"scheduled\":4000000000,\"scheduleStartTime\":\"t\","
		"\"more\":{},\"conditions\":[{\"type\":\"A\",\"x\":[1]},{\"type\":\"PodGroupScheduled\",\"status\":\"True\","
		"\"reason\":\"r\",\"message\":\"m \\\"q\\\"\",\"lastTransitionTime\":\"t2\",\"observedGeneration\":1},{}]}}";
	struct group_status *s;

	cr_assert_eq(read_status(&status_native, json, &s), 0);
	cr_assert_str_eq(s->phase, "Running");
	cr_assert_str_eq(s->occupied_by, "ns/a,ns/b");
	cr_assert_str_eq(s->started, "t");
	cr_assert(s->running == 2 && s->succeeded == 1 && s->failed == 0 && s->scheduled == INT32_MAX);
	cr_assert_str_eq(s->others, "", "they are merged by type");
	cr_assert_str_eq(s->conditions[0].status, "");
	cr_assert_str_eq(s->conditions[1].status, "True");
	cr_assert_str_eq(s->conditions[1].message, "m \"q\"");
	cr_assert_str_eq(s->conditions[1].turned, "t2");
	free(s);
}

/* A list that is replaced as a whole is written with all that was there. */
Test(group_status, conditions_of_others_are_kept_as_they_are_written)
{
	const char *json =
		"{\"status\":{\"conditions\":[{\"type\":\"A\",\"x\":[1]},{\"type\":\"Scheduled\"},{}]}}";
	struct group_status *s;

	cr_assert_eq(read_status(&status_volcano, json, &s), 0);
	cr_assert_str_eq(s->others, "{\"type\":\"A\",\"x\":[1]},{}");
	cr_assert_not(s->crowded);
	free(s);
	cr_assert_eq(read_status(&status_podgroup, json, &s), 0);
	cr_assert_str_eq(s->others, "", "it has none of its own to write");
	free(s);
}

static long most_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Each foreign condition was a copy of all before it: 60 KB of them took 584 MiB, and whoever may
 * write the status of one group could end the frontend again and again. */
Test(group_status, a_status_full_of_conditions_takes_no_more_than_it_is_long)
{
	static char json[64 + 4 * 20000] = "{\"status\":{\"phase\":\"Running\",\"conditions\":[{}";
	struct group_status has, want;
	struct arena arena = { 0 };
	struct jsonout out = { 0 };
	size_t n = strlen(json);
	long before = most_kib();

	for (int i = 0; i < 20000; i++, n += 3)
		memcpy(json + n, ",{}", 3);
	memcpy(json + n, "]}}", 4);
	cr_assert_eq(group_status_read(&status_volcano, json, strlen(json), &arena, &has), 0);
	cr_assert_lt(most_kib() - before, 32 * 1024);
	cr_assert(has.crowded);
	cr_assert_str_eq(has.others, "");
	/* Conditions of ours would take the place of those: they are not written, and nothing waits for
	 * them. */
	want = has;
	want.conditions[0] = (struct group_condition){ "True", "r", "m", "" };
	cr_assert(group_status_equal(&has, &want));
	want.phase = "Inqueue";
	cr_assert_not(group_status_equal(&has, &want));
	group_status_write(&status_volcano, &has, &want, NOW, &out);
	cr_assert_str_eq(out.at, "{\"phase\":\"Inqueue\"}");
	jsonout_free(&out);
	arena_free(&arena);
}

/* Whoever may write a status may write anything: then it is not touched. */
Test(group_status, what_is_no_status_is_an_error)
{
	static const char *const bad[] = {
		"{\"status\":{\"phase\":7}}",
		"{\"status\":{\"running\":\"x\"}}",
		"{\"status\":[]}",
		"{\"status\":{\"conditions\":[7]}}",
		"{\"status\":{\"conditions\":[{\"type\":{}}]}}",
		"[]",
	};
	struct group_status *s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(read_status(&status_native, bad[i], &s), -EINVAL, "%s", bad[i]);
	cr_assert_eq(read_status(&status_native, "{}", &s), 0);
	cr_assert(group_status_equal(s, &group_status_empty));
	free(s);
}

static const char *pod_as(const char *name, const char *uid, const char *version,
                          const char *scheduler, const char *node, const char *phase)
{
	static char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\","
		"\"resourceVersion\":\"%s\",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"},\"ownerReferences\":["
		"{\"kind\":\"Job\",\"name\":\"zeta\",\"uid\":\"1\",\"controller\":true},{\"kind\":\"X\",\"name\":\"alpha\",\"uid\":\"2\"}]},"
		"\"spec\":{\"schedulerName\":\"%s\",\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\"}]},"
		"\"status\":{\"phase\":\"%s\"}}",
		name, uid, version, scheduler, node, phase);
	return text;
}

/* The group's view; it was stirred, and only it. */
static struct gang_view stirred(struct model *m)
{
	struct gang_view v;
	uint32_t generation, other;
	gang_id id, no;
	char why[512];

	cr_assert(model_next_status_dirty(m, &id, &generation));
	cr_assert(model_gang(m, id, generation, &v));
	cr_assert(!model_next_status_dirty(m, &no, &other));
	cr_assert(model_valid(m, why, sizeof(why)), "%s", why);
	return v;
}

static struct gang_view counts_are(struct model *m, uint32_t pending, uint32_t running,
                                   uint32_t succeeded, uint32_t failed, uint32_t ours,
                                   uint32_t bound)
{
	const struct gang_view v = stirred(m);
	const struct gang_counts *c = &v.pods;

	cr_assert(c->phases[POD_PHASE_PENDING] == pending && c->phases[POD_PHASE_RUNNING] == running &&
	              c->phases[POD_PHASE_SUCCEEDED] == succeeded &&
	              c->phases[POD_PHASE_FAILED] == failed,
	          "wanted %u %u %u %u; pending %u, running %u, succeeded %u, failed %u", pending,
	          running, succeeded, failed, c->phases[0], c->phases[1], c->phases[2], c->phases[3]);
	cr_assert_eq(c->n, pending + running + succeeded + failed);
	cr_assert_eq(c->ours, ours);
	cr_assert_eq(c->bound, bound, "bound %u", c->bound);
	return v;
}

static bool is_quiet(struct model *m)
{
	uint32_t generation;
	gang_id id;

	return !model_next_status_dirty(m, &id, &generation);
}

#define UID "00000000-0000-0000-0000-00000000000"

Test(group_status, pods_are_counted_until_they_are_deleted)
{
	struct model *m = world_model();
	struct gang_view v;
	const char *json;

	world_put(m, RESOURCE_INDEX_DIALECTS, world_group("g", "1", 2));
	v = counts_are(m, 0, 0, 0, 0, 0, 0);
	cr_assert_str_eq(v.resource_version, "1");
	cr_assert_str_eq(v.owners, "");
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "1", "2", "muster", "", "Pending"));
	v = counts_are(m, 1, 0, 0, 0, 1, 0);
	cr_assert_str_eq(v.owners, "ns/alpha,ns/zeta");
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "1", "3", "muster", "n1", "Running"));
	counts_are(m, 0, 1, 0, 0, 1, 1);
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "1", "4", "muster", "n1", "Failed"));
	counts_are(m, 0, 0, 0, 1, 1, 1);
	/* Another pod of that name is another pod. */
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "2", "6", "muster", "", "Pending"));
	counts_are(m, 1, 0, 0, 0, 1, 0);
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "2", "7", "muster", "n1", "Succeeded"));
	counts_are(m, 0, 0, 1, 0, 1, 1);
	/* Its predecessor's end comes late: it is not this one's. */
	json = pod_as("a", UID "1", "5", "muster", "n1", "Failed");
	cr_assert_eq(model_remove(m, RESOURCE_INDEX_PODS, json, strlen(json), NULL), 0);
	cr_assert(is_quiet(m));
	json = pod_as("a", UID "2", "8", "muster", "n1", "Succeeded");
	cr_assert_eq(model_remove(m, RESOURCE_INDEX_PODS, json, strlen(json), NULL), 0);
	counts_are(m, 0, 0, 0, 0, 0, 0);
	model_free(m);
}

Test(group_status, pods_of_other_schedulers_are_counted_as_theirs)
{
	struct model *m = world_model();

	/* Before the group is there. */
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "1", "2", "other", "", "Pending"));
	world_put(m, RESOURCE_INDEX_PODS, pod_as("b", UID "2", "3", "other", "n1", "Running"));
	world_put(m, RESOURCE_INDEX_PODS, pod_as("c", UID "3", "4", "muster", "n1", "Succeeded"));
	cr_assert(is_quiet(m));
	world_put(m, RESOURCE_INDEX_DIALECTS, world_group("g", "5", 2));
	counts_are(m, 1, 1, 1, 0, 1, 2);
	world_put(m, RESOURCE_INDEX_PODS, pod_as("b", UID "2", "6", "other", "n1", "Running"));
	cr_assert(is_quiet(m), "nothing changed");
	world_put(m, RESOURCE_INDEX_PODS, pod_as("b", UID "2", "7", "other", "n1", "Succeeded"));
	counts_are(m, 1, 0, 2, 0, 1, 2);
	model_free(m);
}

Test(group_status, a_list_forgets_the_pods_that_are_not_in_it)
{
	struct model *m = world_model();

	world_put(m, RESOURCE_INDEX_DIALECTS, world_group("g", "1", 2));
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "1", "2", "muster", "n1", "Succeeded"));
	world_put(m, RESOURCE_INDEX_PODS, pod_as("b", UID "2", "3", "muster", "n1", "Succeeded"));
	counts_are(m, 0, 0, 2, 0, 2, 2);
	model_replace_begin(m, RESOURCE_INDEX_PODS);
	world_put(m, RESOURCE_INDEX_PODS, pod_as("b", UID "2", "3", "muster", "n1", "Succeeded"));
	model_replace_end(m, RESOURCE_INDEX_PODS);
	counts_are(m, 0, 0, 1, 0, 1, 1);
	model_free(m);
}

Test(group_status, ended_pods_are_kept_up_to_a_limit)
{
	const char *names[] = { "muster" };
	struct model_config config = {
		.scheduler_names = names,
		.scheduler_names_n = 1,
		.limits = { .nodes = 4,
		            .pods = 2,
		            .gangs = 4,
		            .shapes = 8,
		            .names = 16,
		            .resources = 8,
		            .name_bytes = 4096 },
	};
	struct model *m = model_new(&config);
	struct decode_error error;
	struct model_counts counts;
	const char *json;

	world_put(m, RESOURCE_INDEX_DIALECTS, world_group("g", "1", 2));
	world_put(m, RESOURCE_INDEX_PODS, pod_as("a", UID "1", "2", "muster", "n1", "Succeeded"));
	world_put(m, RESOURCE_INDEX_PODS, pod_as("b", UID "2", "3", "muster", "n1", "Succeeded"));
	json = pod_as("c", UID "3", "4", "muster", "n1", "Succeeded");
	cr_assert_eq(model_put(m, RESOURCE_INDEX_PODS, json, strlen(json), &error), -ENOSPC);
	cr_assert(strstr(error.text, "--max-pods"), "%s", error.text);
	counts_are(m, 0, 0, 2, 0, 2, 2);
	model_counts(m, &counts);
	cr_assert_eq(counts.non_member_pods, 2);
	/* A live pod has room all the same. */
	world_put(m, RESOURCE_INDEX_PODS, pod_as("d", UID "4", "5", "muster", "", "Pending"));
	counts_are(m, 1, 0, 2, 0, 3, 2);
	model_free(m);
}
