/* SPDX-License-Identifier: Apache-2.0 */
/* Victims among many gangs that go whole, more of them than branches can be tried for; and among
 * the lone pods of 5,000 nodes. */
#include "ctl/preempt/facts.h"
#include "tests/unit/test.h"

TestSuite(blocks);

enum { CPU = 4 };

static void write_pod(FILE *f, const char *gang, int i, int node, int cpu, int start)
{
	fprintf(f,
	        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
	        "\"%s-%d\",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"}},\"spec\":{"
	        "\"schedulerName\":\"muster\",\"priority\":%d,",
	        gang, i, gang, node < 0 ? 10 : 0);
	if (node >= 0)
		fprintf(f, "\"nodeName\":\"n%d\",", node);
	fprintf(f,
	        "\"containers\":[{\"name\":\"main\",\"image\":\"p\",\"resources\":{\"requests\":"
	        "{\"cpu\":\"%d\"}}}]},\"status\":{\"phase\":\"%s\"",
	        cpu, node < 0 ? "Pending" : "Running");
	if (node >= 0)
		fprintf(f, ",\"startTime\":\"2026-01-01T00:%02d:00Z\"", start);
	fputs("}},\n", f);
}

static void write_group(FILE *f, const char *name, int quorum, const char *after)
{
	fprintf(f,
	        "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{"
	        "\"namespace\":\"ns\",\"name\":\"%s\"},\"spec\":{\"minMember\":%d}}%s",
	        name, quorum, after);
}

/* Full nodes.  The packed gangs have a node each for themselves, the others lie across CPU nodes.
 * The packed started first, so that by importance they are the last to go. */
static char *cluster_text(int nodes, int packed)
{
	char *text = NULL, name[16];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n", f);
	for (int i = 0; i < nodes; i++)
		fprintf(f,
		        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\"},"
		        "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"pods\":\"110\"}}},\n",
		        i, CPU);
	for (int g = 0; g < nodes; g++) {
		snprintf(name, sizeof(name), "v%d", g);
		for (int i = 0; i < CPU; i++)
			write_pod(f, name, i,
			          g < packed ? g : packed + (g - packed + i * 17) % (nodes - packed), 1,
			          g < packed ? 0 : 1 + g % 50);
		write_group(f, name, CPU, ",\n");
	}
	for (int i = 0; i < packed; i++)
		write_pod(f, "w", i, -1, CPU, 0);
	write_group(f, "w", packed, "]}\n");
	fclose(f);
	return text;
}

static gang_id gang_named(struct offline *o, const char *name)
{
	const struct model *m = offline_model(o);
	struct gang_view view;

	for (gang_id id = 0; id < model_gang_slots(m); id++)
		if (model_gang_generation(m, id) &&
		    model_gang(m, id, model_gang_generation(m, id), &view) && strcmp(view.name, name) == 0)
			return id;
	cr_assert_fail("no gang %s", name);
	return ID_NONE;
}

/* How often a search asked if it is to end, and at which time it is; 0: never. */
struct asks {
	unsigned n, end_at;
};

static bool ends(void *context)
{
	struct asks *a = context;

	return ++a->n == a->end_at;
}

/* A search for the gang w in that List, which is freed.  The caller frees it with
 * gang_search_free(). */
static struct gang_search search(char *text, struct asks *asks)
{
	const struct facts_policy policy = { .respect = true, .steps_most = 100000000 };
	struct files *files = files_new();
	struct offline *o = offline_new(&(struct offline_config){ .reads_budgets = true });
	char error[1024] = "";
	struct search_facts with_asks;
	struct gang_search s;
	struct facts *facts;

	cr_assert(files_take(files, "test", text, strlen(text), error, sizeof(error)), "%s", error);
	cr_assert(offline_put_all(o, files, error, sizeof(error)), "%s", error);
	cr_assert(offline_start(o, error, sizeof(error)), "%s", error);
	facts = facts_new(o, files, &policy, error, sizeof(error));
	cr_assert(facts, "%s", error);
	with_asks = *facts_for(facts, "muster");
	with_asks.ends = ends;
	with_asks.context = asks;
	cr_assert_eq(search_gang(offline_core(o), &with_asks, gang_named(o, "w"), &s), 0);
	cr_assert(core_valid(offline_core(o), error, sizeof(error)), "the core is as it was: %s",
	          error);
	facts_free(facts);
	offline_free(o);
	files_free(files);
	free(text);
	return s;
}

/* One that ends by itself. */
static struct gang_search ask(int nodes, int packed)
{
	struct asks asks = { 0 };
	struct gang_search s = search(cluster_text(nodes, packed), &asks);

	cr_assert(s.found);
	cr_assert_eq(s.objective.broken, packed, "%u", s.objective.broken);
	cr_assert_eq(s.objective.pods, packed * CPU, "%u", s.objective.pods);
	return s;
}

Test(blocks, those_whose_pods_are_together_go)
{
	struct gang_search s = ask(200, 10);

	cr_assert_eq(s.answer, VICTIMS_GAVE_UP, "it is not proved ...");
	cr_assert_lt(s.steps, 10000000, "... and not tried for: %llu", (unsigned long long)s.steps);
	gang_search_free(&s);
}

Test(blocks, few_gangs_are_not_exchanged_a_million_times)
{
	struct gang_search s = ask(8, 2);

	cr_assert_eq(s.answer, VICTIMS_PROVED);
	cr_assert_lt(s.steps, 100000, "%llu", (unsigned long long)s.steps);
	gang_search_free(&s);
}

/* Exchanges count as steps only when all were done, and nothing ended them before. */
Test(blocks, a_search_among_gangs_can_be_ended)
{
	struct asks asks = { .end_at = 5 };
	struct gang_search s = search(cluster_text(200, 10), &asks);

	cr_assert_eq(s.answer, VICTIMS_GAVE_UP);
	cr_assert_eq(asks.n, 5);
	cr_assert_lt(s.steps, 8 * SEARCH_ASKS, "%llu", (unsigned long long)s.steps);
	gang_search_free(&s);
}

enum { NODES = 5000, MEMBERS = 1000 };

static int start_of(int pod)
{
	return 1 + pod * 7919 % 59; /* 0: it has none */
}

/* Full nodes of lone pods that are alike but for their starts, and a gang of a cpu each. */
static char *lone_text(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n", f);
	for (int i = 0; i < NODES; i++)
		fprintf(f,
		        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\"},"
		        "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"pods\":\"110\"}}},\n",
		        i, CPU);
	for (int i = 0; i < NODES * CPU; i++)
		fprintf(
			f,
			"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
			"\"low-%d\"},\"spec\":{\"schedulerName\":\"muster\",\"priority\":0,\"nodeName\":"
			"\"n%d\",\"containers\":[{\"name\":\"main\",\"image\":\"p\",\"resources\":{"
			"\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":"
			"\"1970-01-01T00:%02d:00Z\"}},\n",
			i, i / CPU, start_of(i));
	for (int i = 0; i < MEMBERS; i++)
		write_pod(f, "w", i, -1, 1, 0);
	write_group(f, "w", MEMBERS, "]}\n");
	fclose(f);
	return text;
}

static int later_first(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

/* PRE-24: each member needs one of them to go, so the best set is that of the latest starts, and
 * the work for it is bounded. */
Test(blocks, a_gang_of_1000_on_5000_full_nodes_is_proved)
{
	static int starts[NODES * CPU];
	struct asks asks = { 0 };
	struct gang_search s = search(lone_text(), &asks);
	uint64_t sum = 0;

	for (int i = 0; i < NODES * CPU; i++)
		starts[i] = start_of(i);
	qsort(starts, NODES * CPU, sizeof(starts[0]), later_first);
	for (int i = 0; i < MEMBERS; i++)
		sum += (uint64_t)starts[i] * 60;
	cr_assert_eq(s.answer, VICTIMS_PROVED);
	cr_assert_eq(s.objective.pods, MEMBERS);
	cr_assert_eq(s.objective.start_sum, sum, "%llu", (unsigned long long)s.objective.start_sum);
	cr_assert_lt(s.steps, 2000000, "%llu", (unsigned long long)s.steps);
	gang_search_free(&s);
}
