/* SPDX-License-Identifier: Apache-2.0 */
/* Victims of one pod by sums against those by filters, on random small clusters: the pods s0 and s1
 * that wait are alike, but s1 asks for a host port that nobody uses, and so for the filters. */
#include "core/lifecycle/state.h"
#include "ctl/preempt/facts.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

TestSuite(one_pod);

enum { CLUSTERS = 400, NODES = 4, BOUND = 24 };

static int between(struct random *r, int least, int most)
{
	return least + (int)random_below(r, (uint32_t)(most - least + 1));
}

static void write_pod(FILE *f, const char *name, int cpu, int priority, const char *more)
{
	fprintf(
		f,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
		"\"%s\",\"labels\":{\"app\":\"%c\"}},\"spec\":{\"schedulerName\":\"muster\",\"priority\":"
		"%d,\"containers\":[{\"name\":\"main\",\"image\":\"p\",\"resources\":{\"requests\":{"
		"\"cpu\":\"%d\"}}%s",
		name, name[0], priority, cpu, more);
}

/* Every fifth cluster has a budget for the pods whose name begins with "b". */
static char *cluster_text(struct random *r)
{
	static const int32_t priorities[] = { INT32_MIN, -5, 0, 0, 1, 11 };
	const int nodes = between(r, 1, NODES), bound = between(r, 1, BOUND), cpu = between(r, 1, 6);
	char *text = NULL, name[16], more[160];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n", f);
	if (between(r, 0, 4) == 0)
		fputs(
			"{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{"
			"\"namespace\":\"ns\",\"name\":\"b\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":"
			"\"b\"}}},\"status\":{\"disruptionsAllowed\":1}},\n",
			f);
	for (int i = 0; i < nodes; i++)
		fprintf(
			f,
			"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\"},\"status\":{"
			"\"allocatable\":{\"cpu\":\"%d\",\"pods\":\"%d\"}}},\n",
			i, between(r, 3, 40), between(r, 0, 3) == 0 ? 4 : 110);
	for (int i = 0; i < bound; i++) {
		snprintf(name, sizeof(name), "%c%c%d", 'a' + between(r, 0, 5), 'a' + between(r, 0, 25), i);
		write_pod(f, name, between(r, 1, 3), priorities[random_below(r, 6)], "}],");
		fprintf(
			f,
			"\"nodeName\":\"n%d\"},\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-01-01T"
			"%02d:00:00Z\"}},\n",
			between(r, 0, nodes - 1), between(r, 0, 5));
	}
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		snprintf(more, sizeof(more), "%s}]},\"status\":{\"phase\":\"Pending\"}}%s",
		         i > 0 ? ",\"ports\":[{\"containerPort\":9,\"hostPort\":9}]" : "",
		         i > 0 ? "" : ",\n");
		write_pod(f, name, cpu, 10, more);
	}
	fputs("\n]}\n", f);
	fclose(f);
	return text;
}

struct asked {
	struct files *files;
	struct offline *offline;
	struct facts *facts;
};

static void ask_begin(struct asked *a, const char *text, bool respect, uint64_t steps_most)
{
	const struct facts_policy policy = { .respect = respect, .steps_most = steps_most };
	char error[1024] = "";

	a->files = files_new();
	a->offline = offline_new(&(struct offline_config){ .reads_budgets = true });
	cr_assert(files_take(a->files, "test", text, strlen(text), error, sizeof(error)), "%s\n%s",
	          error, text);
	cr_assert(offline_put_all(a->offline, a->files, error, sizeof(error)), "%s", error);
	cr_assert(offline_start(a->offline, error, sizeof(error)), "%s", error);
	a->facts = facts_new(a->offline, a->files, &policy, error, sizeof(error));
	cr_assert(a->facts, "%s", error);
}

static void ask(const struct asked *a, const char *name, struct pod_search *out)
{
	struct core *c = offline_core(a->offline);
	pod_id found = ID_NONE;

	for (pod_id id = 0; id < c->pods.used; id++) {
		uint32_t bytes;
		const char *at = c->pods.slots[id].generation ? search_pod_name(c, id, &bytes) : NULL;

		if (at && bytes == strlen(name) && memcmp(at, name, bytes) == 0)
			found = id;
	}
	cr_assert_eq(search_pod(c, facts_for(a->facts, "muster"), found, out), 0, "%s", name);
}

static void check_nodes(const struct pod_search *s, const struct pod_search *t, const char *text)
{
	cr_assert_eq(s->answer, t->answer, "%d %d\n%s", s->answer, t->answer, text);
	cr_assert_eq(s->nodes_n, t->nodes_n, "%s", text);
	cr_assert_eq(s->best, t->best, "%s", text);
	for (uint32_t i = 0; i < s->nodes_n; i++) {
		const struct node_victims *x = &s->nodes[i], *y = &t->nodes[i];

		cr_assert_eq(x->node, y->node, "%s", text);
		cr_assert_eq(x->start_s, y->start_s, "%s", text);
		cr_assert_eq(x->objective.highest, y->objective.highest, "%s", text);
		cr_assert_eq(x->objective.sum, y->objective.sum, "%s", text);
		cr_assert_eq(x->objective.start_sum, y->objective.start_sum, "%s", text);
		cr_assert_eq(x->objective.violations, y->objective.violations, "%s", text);
		cr_assert_eq(x->objective.pods, y->objective.pods, "%s", text);
		cr_assert_eq(memcmp(x->pods, y->pods, x->objective.pods * sizeof(*x->pods)), 0, "%s", text);
	}
	for (node_id id = 0; id < NODES && s->answer != POD_FITS; id++) {
		cr_assert_eq(s->tries[id], t->tries[id], "%s", text);
		cr_assert_eq(s->after.whys[id], t->after.whys[id], "%s", text);
		cr_assert_eq(s->after.short_of[id], t->after.short_of[id], "%s", text);
	}
}

Test(one_pod, has_the_same_victims_by_sums_as_by_filters)
{
	struct random r = random_start("one_pod");
	unsigned nodes_n = 0, none = 0;

	for (unsigned i = 0; i < CLUSTERS; i++) {
		char *text = cluster_text(&r);
		struct pod_search s, t;
		char why[512] = "";
		struct asked a;

		ask_begin(&a, text, i % 2 == 0, UINT64_C(1) << 40);
		ask(&a, "ns/s0", &s);
		ask(&a, "ns/s1", &t);
		check_nodes(&s, &t, text);
		nodes_n += s.nodes_n;
		none += s.answer == POD_NONE;
		cr_assert(core_valid(offline_core(a.offline), why, sizeof(why)), "%s", why);
		pod_search_free(&s);
		pod_search_free(&t);
		facts_free(a.facts);
		offline_free(a.offline);
		files_free(a.files);
		free(text);
	}
	cr_assert(nodes_n > CLUSTERS / 10 && none > 0, "%u nodes, %u without victims", nodes_n, none);
}

enum { FULL = 60 };

/* Nodes that a pod fills each, on the first ones with one that ends; and s0, whose rules read all
 * nodes. */
static char *full_text(int priority, int ends)
{
	char *text = NULL, name[16];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n", f);
	for (int i = 0; i < FULL; i++) {
		fprintf(
			f,
			"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\",\"labels\":{"
			"\"kubernetes.io/hostname\":\"n%d\"}},\"status\":{\"allocatable\":{\"cpu\":\"2\","
			"\"pods\":\"9\"}}},\n",
			i, i);
		snprintf(name, sizeof(name), "a%d", i);
		write_pod(f, name, 2, priority, "}],");
		fprintf(f, "\"nodeName\":\"n%d\"},\"status\":{\"phase\":\"Running\"}},\n", i);
		if (i >= ends)
			continue;
		fprintf(
			f,
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
			"\"e%d\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"nodeName\":\"n%d\","
			"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},"
			"\"status\":{\"phase\":\"Running\"}},\n",
			i, i);
	}
	write_pod(f, "s0", 1, 10,
	          "}],\"affinity\":{\"podAntiAffinity\":{"
	          "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
	          "\"kubernetes.io/hostname\",\"labelSelector\":{\"matchLabels\":{\"app\":\"s\"}}}]}}},"
	          "\"status\":{\"phase\":\"Pending\"}}\n]}\n");
	fclose(f);
	return text;
}

static void ask_full(int priority, int ends, uint64_t steps_most, struct pod_search *out)
{
	char *text = full_text(priority, ends);
	struct asked a;

	ask_begin(&a, text, true, steps_most);
	ask(&a, "ns/s0", out);
	facts_free(a.facts);
	offline_free(a.offline);
	files_free(a.files);
	free(text);
}

/* Each node was looked at for room that is to come, however much work that was. */
Test(one_pod, gives_up_among_nodes_that_are_asked_for_room_to_come)
{
	struct pod_search s;

	ask_full(11, FULL, 1, &s);
	cr_assert_eq(s.answer, POD_GAVE_UP, "%d", s.answer);
	cr_assert_lt(s.steps, 60 * FULL, "%llu steps", (unsigned long long)s.steps);
	pod_search_free(&s);
}

/* All steps went into asking nodes where no pod ends, and no victim was looked for. */
Test(one_pod, asks_for_room_to_come_where_pods_end)
{
	struct pod_search s;

	ask_full(0, 1, 55 * FULL, &s);
	cr_assert(s.nodes_n > 0, "answer %d after %llu steps", s.answer, (unsigned long long)s.steps);
	pod_search_free(&s);
}
