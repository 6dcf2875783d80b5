/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are feasible for a pod that waits, of the world: reservations, promises and
 * nominations are in it, it comes in pages of one moment, and nothing changes. */
#include "core/world/live_verdict.h"
#include "core/filter/evaluation.h"
#include "frontend/model/put/outsider.h"
#include "frontend/model/valid.h"
#include "core/world/what_if.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_nominations.h"
#include "tests/unit/support_random.h"

#include <errno.h>

static struct verdicts *box;

static void verdicts_start(void)
{
	box = verdicts_new();
	start();
}

static void verdicts_end(void)
{
	scene_end();
	verdicts_free(box);
}

TestSuite(live_verdict, .init = verdicts_start, .fini = verdicts_end);

static bool ended(void *context)
{
	return context != NULL;
}

static const struct live_answer *ask_until(const char *name, uint32_t number, uint32_t from,
                                           bool end)
{
	static struct live_answer a;
	const struct keeper_hooks hooks = { .ends = ended, .context = end ? &x : NULL };
	struct live_question q = {
		.version = QUESTION_VERSION, .about = ABOUT_POD, .number = number, .from = from
	};

	snprintf(q.pod, sizeof(q.pod), "ns/%s", name);
	cr_assert_null(question_fault(&q, &x.loop.core->config.limits));
	verdicts_answer(box, &(struct verdict_of){ follower_core(x.loop.world), 7, NULL, &hooks }, &q,
	                &a);
	return &a;
}

static const struct live_answer *ask(const char *name, uint32_t number, uint32_t from)
{
	return ask_until(name, number, from, false);
}

/* "0 yes, 1 cpu, 2 reserved for 0", ... by node; nodes are numbered in the order of their making.
 */
static const char *words_of(const struct live_answer *a)
{
	static const char *const how[] = { "bound", "binding", "nominated" };
	static const char *const held[] = { "yes", "reserved", "promised", "unknown" };
	static char text[1024];

	text[0] = '\0';
	if (a->verdict == QUESTION_PLACED)
		snprintf(text, sizeof(text), "%s to %u", how[a->page.placed], a->page.node);
	if (a->verdict == QUESTION_REFUSED)
		snprintf(text, sizeof(text), "%s", a->text);
	for (uint32_t i = 0; a->verdict == QUESTION_NODES && i < a->page.rows_n; i++) {
		const struct question_row *r = &a->page.rows[i];
		char *at = text + strlen(text);
		const size_t left = sizeof(text) - (size_t)(at - text);

		if (r->whys == 0)
			snprintf(at, left, "%s%u %s", i > 0 ? ", " : "", r->node, held[r->held]);
		else
			snprintf(at, left, "%s%u %s", i > 0 ? ", " : "", r->node,
			         r->whys == FILTER_BIT(FILTER_INSUFFICIENT) &&
			                 r->short_of == UINT64_C(1) << RESOURCE_CPU
			             ? "cpu"
			             : "no");
	}
	flush(); /* the world follows, and is valid */
	return text;
}

static const char *verdict_text(const char *name)
{
	return words_of(ask(name, 0, 0));
}

Test(live_verdict, has_the_filters_of_each_node)
{
	node("n1", 1);
	node("n2", 2);
	put("v1", "Node", "n3", "",
	    "\"spec\":{\"unschedulable\":true},\"status\":{\"allocatable\":{\"cpu\":\"4\","
	    "\"memory\":\"64Gi\",\"pods\":\"99\"}}");
	pod("there", 0, "", "n1", "");
	cr_assert_str_eq(verdict_text("there"), "muster-frontend is not there, or reads its lists");
	model_set_synced(x.m);
	group("g", 2);
	pod("g-0", 0, "g", "", "");
	flush();
	cr_assert_str_eq(verdict_text("g-0"), "0 cpu, 1 yes, 2 no", "its gang lacks a member");
	cr_assert_gt(ask("g-0", 0, 0)->page.rows[1].score, 0);
	cr_assert_str_eq(verdict_text("there"), "bound to 0");
	cr_assert_str_eq(verdict_text("nobody"), "there is no pod ns/nobody");
	pod("alone", 0, "", "", "");
	flush();
	cr_assert_str_eq(verdict_text("alone"), "binding to 1");
	cr_assert_str_eq(verdict_text("g-0"), "0 cpu, 1 yes, 2 no");
	cr_assert_eq(ask("g-0", 0, 0)->page.rows[1].binding, 1);
	cr_assert_eq(ask("g-0", 0, 0)->position, 7);
}

Test(live_verdict, nominated_members_have_their_capacity)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(api.nominated, 8);
	cr_assert(strstr(verdict_text("g-0"), "nominated to "));
	goes("low-0");
	goes("low-1");
	pod("late", 0, "", "", "");
	flush();
	cr_assert_str_eq(verdict_text("late"), "0 cpu, 1 cpu", "what two of them left is for g");
	cr_assert_eq(ask("late", 0, 0)->page.rows[0].nominated, 4);
}

static const char *file_text(int priority, const char *spec);

Test(live_verdict, reserved_capacity_is_for_the_owner_and_who_is_before_it)
{
	start_with(MODEL_QUEUES_NONE, 0, S);
	node("n1", 4);
	ends("low-0", 50, "n1", 1);
	ends("low-1", 50, "n1", 1);
	node("n2", 1);
	pod("other", 50, "", "n2", "");
	model_set_synced(x.m);
	waits("big", 4, 10);
	reserved();
	pod("small", 5, "", "", "");
	flush();
	cr_assert_str_eq(verdict_text("small"), "0 reserved, 1 cpu");
	cr_assert_eq(ask("small", 0, 0)->reserved_gang, x.loop.core->backfill.gang);
	cr_assert_str_eq(verdict_text("big-0"), "0 yes, 1 cpu", "it is the owner's");
	cr_assert_str_eq(file_text(10, ""), "0 reserved, 1 cpu", "the last one of its priority");
	cr_assert_str_eq(file_text(11, ""), "0 yes, 1 cpu", "it is before the owner");
}

/* Gang p, on n1 once low-0 has ended. */
static void one_is_promised(void)
{
	node("n1", 2);
	ends("low-0", 100, "n1", 1);
	synced();
	promised(2);
}

/* For ever on n1 would break what p was promised there; n2 is nobody's. */
Test(live_verdict, a_start_that_breaks_a_promise_is_none)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	one_is_promised();
	group("g", 2);
	pod("g-0", 10, "g", "", "");
	flush();
	cr_assert_str_eq(verdict_text("g-0"), "0 promised");
	cr_assert_eq(ask("g-0", 0, 0)->page.rows[0].promised, 0, "the number of p");
	cr_assert_str_eq(words_of(ask_until("g-0", 0, 0, true)), "0 unknown");
	cr_assert_str_eq(verdict_text("p-0"), "0 yes", "it is its own");
	cr_assert_str_eq(file_text(10, ""), "0 promised");
	cr_assert_str_eq(file_text(11, ""), "0 yes", "it outranks p");
	cr_assert_str_eq(file_text(10, "\"activeDeadlineSeconds\":10,"), "0 yes",
	                 "it has ended by then");
	/* The pod that has ended by then may. */
	put("v1", "Pod", "s-0", ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"s\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"restartPolicy\":\"Never\","
	    "\"activeDeadlineSeconds\":10,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	group("s", 2);
	flush();
	cr_assert_str_eq(verdict_text("s-0"), "0 yes");
}

static const struct limits MANY = LIMITS_WITH(.nodes = 512, .pods = 16, .shapes = 8, .names = 16,
                                              .name_bytes = 1 << 16, .command_ring_bytes = 1 << 17);

Test(live_verdict, pages_are_of_one_moment)
{
	uint32_t first, numbers[VERDICTS_KEPT];
	const struct live_answer *a;

	scene_end();
	scene_start((struct core_config){ .limits = MANY }, MODEL_QUEUES_NONE,
	            (struct lookout_config){ .feed_bytes = FEED_BYTES_LEAST * 16 });
	for (int i = 0; i < 400; i++)
		node(numbered("n", i), 1);
	model_set_synced(x.m);
	group("g", 2);
	pod("g-0", 0, "g", "", "");
	flush();
	a = ask("g-0", 0, 0);
	first = a->page.number;
	cr_assert(a->page.nodes == 400 && a->page.rows_n == QUESTION_ROWS && first != 0);
	pod("there", 0, "", "n-399", "");
	flush();
	a = ask("g-0", first, QUESTION_ROWS);
	cr_assert(a->verdict == QUESTION_NODES && a->page.from == QUESTION_ROWS);
	a = ask("g-0", first, 2 * QUESTION_ROWS);
	cr_assert_eq(a->page.rows_n, 400 - 2 * QUESTION_ROWS);
	cr_assert_eq(a->page.rows[a->page.rows_n - 1].whys, 0, "as it was");
	cr_assert_str_eq(words_of(ask("g-0", first, 0)),
	                 "more than 4 such answers are read at once; ask again", "it was given");
	/* The one that was read from the longest ago makes room. */
	for (unsigned i = 0; i < VERDICTS_KEPT; i++)
		numbers[i] = ask("g-0", 0, 0)->page.number;
	cr_assert_eq(ask("g-0", numbers[0], 5)->page.from, 5);
	cr_assert_eq(ask("g-0", 0, UINT32_MAX)->page.rows_n, 0, "behind the last one");
	cr_assert_eq(ask("g-0", numbers[0], 0)->verdict, QUESTION_NODES);
	cr_assert_eq(ask("g-0", 0, 0)->verdict, QUESTION_NODES);
	cr_assert_eq(ask("g-0", numbers[1], 0)->verdict, QUESTION_REFUSED);
}

/* The same pod as JSON of a file and in the cluster. */
static struct record_pod {
	const char *labels, *spec;
} const pods_of_files[] = {
	{ "", "" },
	{ "\"app\":\"a\"",
	  "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	  "\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}},\"topologyKey\":\"zone\"}]}}," },
	{ "\"app\":\"new\",\"tier\":\"none-has-it\"",
	  "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
	  "\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}}}],"
	  "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	  "\"labelSelector\":{\"matchLabels\":{\"tier\":\"none-has-it\"}},\"topologyKey\":\"zone\"}]}}," },
	{ "", "\"nodeSelector\":{\"zone\":\"nowhere\"}," },
	{ "\"app\":\"kept\"", "\"nodeSelector\":{\"zone\":\"z1\"}," },
	{ "\"role\":\"web\"", "\"tolerations\":[{\"operator\":\"Exists\"}]," },
};

static const char *pod_json(const char *name, const struct record_pod *p)
{
	static char json[4096];

	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\",\"labels\":{%s}},"
	         "\"spec\":{\"schedulerName\":\"muster\",%s\"schedulingGates\":[{\"name\":\"g\"}],"
	         "\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":1,\"hostPort\":80}],"
	         "\"resources\":{\"requests\":{\"cpu\":\"1\",\"none/of-it\":\"%d\"}}}]},"
	         "\"status\":{\"phase\":\"Pending\"}}",
	         name, name, ++x.version, p->labels, p->spec, *p->labels || *p->spec ? 0 : 2);
	return json;
}

static void zoned_node(const char *name, const char *zone, const char *taint)
{
	char labels[64];

	snprintf(labels, sizeof(labels), ",\"labels\":{\"zone\":\"%s\"}", zone);
	put("v1", "Node", name, labels,
	    "\"spec\":{\"taints\":[%s]},\"status\":{\"allocatable\":{\"cpu\":\"4\","
	    "\"memory\":\"64Gi\",\"pods\":\"99\"}}",
	    taint);
}

static void zones(void)
{
	zoned_node("n1", "z1", "");
	zoned_node("n2", "z1", "{\"key\":\"t\",\"effect\":\"NoSchedule\"}");
	zoned_node("n3", "z2", "");
	pod("there", 0, "", "n1", "");
	put("v1", "Pod", "keeper", ",\"labels\":{\"app\":\"keeper\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n1\",\"affinity\":{\"podAntiAffinity\":{"
	    "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":{"
	    "\"app\":\"kept\"}},\"topologyKey\":\"zone\"}]}},\"containers\":[{\"name\":\"c\","
	    "\"ports\":[{\"containerPort\":1,\"hostPort\":81}],\"resources\":{\"requests\":{"
	    "\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\"}");
	synced();
}

static void model_holds(void)
{
	char why[512];

	cr_assert(model_valid(x.m, why, sizeof(why)), "%s", why);
}

static void *no_record(void *context, enum record_kind kind, uint32_t bytes)
{
	cr_assert_fail("a record of kind %u is to be sent, of %u bytes", kind, bytes);
	return NULL;
}

static const struct outsider_records *records_of(const char *json)
{
	static struct outsider_records r;
	struct decode_error error = { 0 };

	cr_assert_eq(model_outsider(x.m, json, strlen(json), &r, &error), 0, "%s: %s", error.field,
	             error.text);
	r.pod.epoch = x.loop.core->epoch;
	model_holds();
	cr_assert(model_flush(x.m, &(struct model_sink){ .reserve = no_record }));
	return &r;
}

static const struct live_answer *ask_records(const struct live_pod *p)
{
	static struct live_answer a;
	const struct live_question q = { .version = QUESTION_VERSION, .about = ABOUT_POD };

	cr_assert_null(live_pod_fault(p, &x.loop.core->config.limits));
	verdicts_answer(box, &(struct verdict_of){ follower_core(x.loop.world), 7, p, NULL }, &q, &a);
	flush();
	return &a;
}

static const char *file_text(int priority, const char *spec)
{
	char json[16384];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"file\"},\"spec\":{\"restartPolicy\":\"Never\",\"priority\":%d,%s"
		"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
		priority, spec);
	return words_of(ask_records(&records_of(json)->pod));
}

Test(live_verdict, a_pod_of_a_file_with_too_many_rules)
{
	char spec[8192] = "\"topologySpreadConstraints\":[";

	zones();
	for (int i = 0; i < 33; i++)
		snprintf(
			spec + strlen(spec), sizeof(spec) - strlen(spec),
			"%s{\"maxSkew\":%d,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
			"\"labelSelector\":{\"matchLabels\":{\"a\":\"%d\"}}}",
			i > 0 ? "," : "", i + 1, i);
	strcat(spec, "],");
	cr_assert_str_eq(file_text(0, spec), "the pod has more than 32 rules about other pods");
}

Test(live_verdict, a_pod_of_a_file_is_as_the_same_pod_in_the_cluster)
{
	struct live_answer outside;
	const char *json;
	struct decode_error error;
	char name[32];

	zones();
	for (size_t i = 0; i < sizeof(pods_of_files) / sizeof(pods_of_files[0]); i++) {
		snprintf(name, sizeof(name), "file-%zu", i);
		json = pod_json(name, &pods_of_files[i]);
		outside = *ask_records(&records_of(json)->pod);
		cr_assert_eq(outside.verdict, QUESTION_NODES, "%s", outside.text);
		cr_assert_eq(model_put(x.m, RESOURCE_INDEX_PODS, json, strlen(json), &error), 0);
		flush();
		cr_assert_eq(outside.page.nodes, 3);
		cr_assert_arr_eq(outside.page.rows, ask(name, 0, 0)->page.rows,
		                 3 * sizeof(struct question_row), "pod %zu: %s", i, words_of(&outside));
		gone(name);
		flush();
	}
	cr_assert_str_eq(words_of(ask_records(&records_of(pod_json("p", &pods_of_files[1]))->pod)),
	                 "0 no, 1 no, 2 yes");
	cr_assert_str_eq(words_of(ask_records(&records_of(pod_json("p", &pods_of_files[3]))->pod)),
	                 "0 no, 1 no, 2 no");
	cr_assert_str_eq(records_of(pod_json("p", &pods_of_files[0]))->names[0].text, "none/of-it");
}

static void pod_fails(const char *json, const char *field)
{
	struct outsider_records r;
	struct decode_error error = { 0 };

	cr_assert_eq(model_outsider(x.m, json, strlen(json), &r, &error), -EINVAL);
	cr_assert_str_eq(error.field, field, "%s", error.text);
	model_holds();
}

Test(live_verdict, a_pod_of_a_file_that_is_no_pending_one)
{
	const struct outsider_records *r;
	struct outsider_records other;

	zones();
	pod_fails(pod_json("there", &pods_of_files[0]), "metadata.name");
	pod_fails("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n1\"}}", "spec.nodeName");
	pod_fails("{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"Failed\"}}", "status.phase");
	pod_fails("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"resourceClaims\":[{\"name\":\"c\","
	          "\"resourceClaimName\":\"mine\"}]}}",
	          "spec.resourceClaims[0]");
	pod_fails("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"tolerations\":[{\"operator\":\"Gt\"}]}}",
	          "spec.tolerations[0]");
	r = records_of("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"tolerations\":[{\"operator\":\"Gt\","
	               "\"key\":\"k\",\"value\":\"1\"}]}}");
	cr_assert(r->refusal != NULL, "as a watch refuses it");
	other = *records_of(pod_json("p", &pods_of_files[1]));
	other.pod.epoch++;
	cr_assert_str_eq(ask_records(&other.pod)->text,
	                 "muster-frontend has connected again since it read the pod; ask again");
}

/* Without a core nothing is sent, and numbers of texts are not used again. */
Test(live_verdict, pods_of_files_are_few_until_all_is_sent)
{
	const char *json = pod_json("p", &pods_of_files[2]);
	struct outsider_records r;
	struct decode_error error;

	zones();
	for (uint32_t i = 0; i < OUTSIDERS_UNSENT; i++)
		cr_assert_eq(model_outsider(x.m, json, strlen(json), &r, &error), 0);
	cr_assert_eq(model_outsider(x.m, json, strlen(json), &r, &error), -ENOSPC);
	cr_assert_str_eq(error.text, "muster-core has not taken all records yet; ask again");
	model_holds();
	cr_assert(model_flush(x.m, &(struct model_sink){ .reserve = no_record }));
	cr_assert_eq(model_outsider(x.m, json, strlen(json), &r, &error), 0);
}

/* Rows of nodes have 8 amounts until more are named; filters pass over what devices serve. */
Test(live_verdict, a_pod_of_a_file_with_a_resource_that_was_not_named)
{
	struct limits limits = LIMITS;
	struct live_pod p;
	struct event_shape *e = (void *)(p.records + sizeof(struct record));
	struct amount *a = (void *)(e + 1);

	scene_end();
	limits.names = limits.resources = RESOURCES_MAX;
	scene_start((struct core_config){ .limits = limits, .promise_depth = 4 }, MODEL_QUEUES_NONE,
	            (struct lookout_config){ .feed_bytes = FEED_BYTES_LEAST * 16 });
	one_is_promised();
	p = records_of("{\"metadata\":{\"name\":\"file\"},\"spec\":{\"containers\":[{\"name\":\"c\","
	               "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}")
	        ->pod;
	cr_assert(e->amounts_n == 1 && a->resource == RESOURCE_CPU);
	a->resource = RESOURCES_MAX - 1;
	a->flags = AMOUNT_DEVICES;
	cr_assert_str_eq(words_of(ask_records(&p)),
	                 "muster-core has no name yet for a resource of the pod; ask again");
}

/* One bit, one word or the length is another: it has a fault, or is answered. */
Test(live_verdict, records_of_a_pod_that_were_edited)
{
	struct random r = random_start("live_verdict.edited");
	unsigned faults = 0, answers = 0;
	struct live_pod p;

	zones();
	for (unsigned i = 0; i < 20000; i++) {
		const uint32_t n = sizeof(pods_of_files) / sizeof(pods_of_files[0]);
		uint32_t bytes;

		if (i % 100 == 0)
			p = records_of(pod_json("p", &pods_of_files[random_below(&r, n)]))->pod;
		struct live_pod edited = p;

		bytes = p.shape_bytes + p.pod_bytes;
		for (uint32_t k = random_below(&r, 3); k < 3; k++) {
			const uint32_t word = 4 * random_below(&r, bytes / 4), kind = random_below(&r, 4);
			const uint32_t values[] = { random_below(&r, 16), UINT32_MAX,
				                        1u << random_below(&r, 32) };

			if (kind < 3)
				memcpy(edited.records + word, &values[kind], 4);
			else if (random_below(&r, 20) == 0)
				edited.shape_bytes = random_below(&r, QUESTION_RECORDS + 64);
			else
				edited.records[word] ^= (unsigned char)(1u << random_below(&r, 8));
		}
		if (live_pod_fault(&edited, &x.loop.core->config.limits)) {
			faults++;
			continue;
		}
		answers += ask_records(&edited)->verdict == QUESTION_NODES;
	}
	fprintf(stderr, "%u have a fault, %u are answered\n", faults, answers);
	cr_assert(faults > 1000 && answers > 1000);
}

Test(live_verdict, a_question_that_makes_no_sense_is_none)
{
	struct live_question q = { .version = QUESTION_VERSION, .about = ABOUT_POD };

	cr_assert_str_eq(question_fault(&q, &LIMITS), "the name of a pod has no namespace");
	q.number = 1;
	cr_assert_null(question_fault(&q, &LIMITS), "a later page names no pod");
	memset(q.pod, 'a', sizeof(q.pod));
	cr_assert_str_eq(question_fault(&q, &LIMITS), "a name has no end");
	q.about = ABOUT_KINDS;
	cr_assert_str_eq(question_fault(&q, &LIMITS), "a question of an unknown kind");
}
