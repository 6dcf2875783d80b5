/* SPDX-License-Identifier: Apache-2.0 */
/* From JSON to records, judged by kube-scheduler: over the records alone, a plain
 * look at each node gives the answers that kube-scheduler gave for the objects.
 *
 * Only pods in whose answers other pods play no part but for the room that they take;
 * all others are tests/process/test_verdicts.py's. */
#include "frontend/model/model.h"
#include "frontend/dialect/reason.h"

#include "tests/unit/support_kubectl.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_replay.h"
#include "tests/unit/test.h"

struct cluster {
	struct model *m;
	struct replay replay;
};

struct tally {
	size_t clusters, pairs, feasible, passed_over;
};

static const struct limits LIMITS =
	LIMITS_WITH(.nodes = 64, .pods = 512, .gangs = 8, .shapes = 512, .names = 256, .resources = 64,
                .name_bytes = 65536, .command_ring_bytes = 8192);

static void load(struct cluster *c, const cJSON *list)
{
	struct model_config config = { .limits = LIMITS };
	const cJSON *item;

	c->m = model_new(&config);
	cr_assert(c->m);
	replay_start(&c->replay, &LIMITS);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "items"))
	{
		const cJSON *kind = cJSON_GetObjectItemCaseSensitive(item, "kind");
		const cJSON *version = cJSON_GetObjectItemCaseSensitive(item, "apiVersion");
		int resource = model_resource_index(c->m, version->valuestring, kind->valuestring);
		struct decode_error error;
		char *text;

		if (resource < 0)
			continue;
		text = cJSON_PrintUnformatted(item);
		cr_assert(text);
		cr_assert_eq(model_put(c->m, resource, text, strlen(text), &error), 0, "%s: %s: %s",
		             error.object, error.field, error.text);
		free(text);
	}
	cr_assert(replay_flush(&c->replay, c->m, SIZE_MAX));
}

/* What pods that are bound to the node take of a resource, or 0; -1 and -2 are
 * cpu and memory as scores count them. */
static __int128 used(const struct cluster *c, const struct event_node *node, int resource)
{
	__int128 sum = 0;

	for (uint32_t i = 0; i < LIMITS.pods; i++) {
		const struct event_pod *p = (const void *)c->replay.pods[i].body;
		const struct event_shape *s;

		if (!p || p->node != node->node)
			continue;
		s = replay_shape(&c->replay, p);
		if (resource == -1)
			sum += s->scored_cpu_milli;
		else if (resource == -2)
			sum += s->scored_memory_bytes;
		else if (resource == RESOURCE_PODS)
			sum++;
		for (uint32_t a = 0; a < s->amounts_n; a++)
			if ((int)replay_shape_amounts(s)[a].resource == resource)
				sum += replay_shape_amounts(s)[a].value;
	}
	return sum;
}

static __int128 allocatable(const struct event_node *node, uint32_t resource)
{
	for (uint32_t a = 0; a < node->amounts_n; a++)
		if (replay_node_amounts(node)[a].resource == resource)
			return replay_node_amounts(node)[a].value;
	return 0;
}

static bool has_reason(const cJSON *reasons, const char *text)
{
	const cJSON *reason;

	cJSON_ArrayForEach(reason, reasons) if (strcmp(reason->valuestring, text) == 0) return true;
	return false;
}

/* Everything that is short, as kube-scheduler names it. */
static bool has_room(const struct cluster *c, const struct event_shape *s,
                     const struct event_node *node, const cJSON *reasons, const char *where)
{
	bool room = allocatable(node, RESOURCE_PODS) > used(c, node, RESOURCE_PODS);
	char text[600];

	if (!room)
		cr_assert(has_reason(reasons, "Too many pods"), "%s", where);
	for (uint32_t a = 0; a < s->amounts_n; a++) {
		uint32_t resource = replay_shape_amounts(s)[a].resource;

		if (replay_shape_amounts(s)[a].value <=
		    allocatable(node, resource) - used(c, node, (int)resource))
			continue;
		room = false;
		snprintf(text, sizeof(text), "Insufficient %s", model_name(c->m, resource));
		cr_assert(has_reason(reasons, text), "%s: %s", where, text);
	}
	return room;
}

/* LeastAllocated over cpu and memory. */
static int score(const struct cluster *c, const struct event_shape *s,
                 const struct event_node *node)
{
	const int64_t scored[2] = { s->scored_cpu_milli, s->scored_memory_bytes };
	int sum = 0, weights = 0;

	for (int i = 0; i < 2; i++) {
		__int128 most = allocatable(node, (uint32_t)i), taken = used(c, node, -1 - i) + scored[i];

		if (most == 0)
			continue;
		weights++;
		sum += taken > most ? 0 : (int)((most - taken) * 100 / most);
	}
	return weights > 0 ? sum / weights : 0;
}

static void check_answer(const struct cluster *c, const struct event_pod *pod, const cJSON *answer,
                         struct tally *tally, const char *where)
{
	const char *name = cJSON_GetObjectItemCaseSensitive(answer, "node")->valuestring;
	const cJSON *reasons = cJSON_GetObjectItemCaseSensitive(answer, "reasons");
	const cJSON *scores = cJSON_GetObjectItemCaseSensitive(answer, "scores");
	const cJSON *fit = cJSON_GetObjectItemCaseSensitive(scores, "NodeResourcesFit");
	const struct event_node *node = replay_node(&c->replay, name);
	const struct event_shape *s = replay_shape(&c->replay, pod);
	bool feasible = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "feasible"));
	char there[700];

	snprintf(there, sizeof(there), "%s on %s", where, name);
	cr_assert(node, "%s", there);
	tally->pairs++;
	tally->feasible += feasible;
	if (!replay_allows(s, node)) {
		cr_assert_not(feasible, "%s: the rules keep it off", there);
		return;
	}
	cr_assert_eq(has_room(c, s, node, reasons, there), feasible, "%s", there);
	if (feasible && fit)
		cr_assert_eq(score(c, s, node), fit->valueint, "%s: score %d, not %d", there,
		             score(c, s, node), fit->valueint);
}

/* Is there more to it than the node, and the room on it? */
static bool looks_further(const struct event_shape *s)
{
	return s->flags & SHAPE_NEEDS_RESTART_ALL || s->pod_terms_n > 0 || s->spreads_n > 0 ||
	       s->ports_n > 0 || s->volume_rules_n > 0 || s->attachments_n > 0 || s->exclusives_n > 0;
}

static bool is_for_us(const char *category)
{
	static const char *const known[] = { "resources", "taints", "nodeaffinity", "nodename",
		                                 "images",    "ports",  "spread",       "volumes" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(category, known[i]) == 0)
			return true;
	return false;
}

static void one_cluster(void *context, const char *path, const char *expect_path)
{
	struct tally *tally = context;
	cJSON *expect = kubectl_read(expect_path), *list;
	const cJSON *pod, *node;
	struct cluster c;

	if (!is_for_us(cJSON_GetObjectItemCaseSensitive(expect, "category")->valuestring)) {
		cJSON_Delete(expect);
		return;
	}
	list = kubectl_read(path);
	cr_assert(list, "%s", path);
	load(&c, list);
	tally->clusters++;
	cJSON_ArrayForEach(pod, cJSON_GetObjectItemCaseSensitive(expect, "pods"))
	{
		const char *name = cJSON_GetObjectItemCaseSensitive(pod, "pod")->valuestring;
		const struct event_pod *e = replay_pod(&c.replay, name);
		char where[600];

		snprintf(where, sizeof(where), "%s: %s", path, name);
		cr_assert(e, "%s", where);
		if ((e->flags & POD_REFUSED) || looks_further(replay_shape(&c.replay, e))) {
			tally->passed_over++;
			continue;
		}
		cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(pod, "nodes"))
			check_answer(&c, e, node, tally, where);
	}
	model_free(c.m);
	replay_free(&c.replay);
	cJSON_Delete(list);
	cJSON_Delete(expect);
}

Test(verdicts, the_records_say_what_kube_scheduler_says)
{
	struct tally tally = { 0 };

	cr_assert_geq(kubectl_verdicts(one_cluster, &tally), 5);
	printf("%zu clusters, %zu pairs of pod and node, %zu feasible; %zu pods passed over\n",
	       tally.clusters, tally.pairs, tally.feasible, tally.passed_over);
	cr_assert(tally.clusters >= 4 && tally.pairs > 200 && tally.feasible > 50 &&
	          tally.passed_over * 3 < tally.pairs);
}
