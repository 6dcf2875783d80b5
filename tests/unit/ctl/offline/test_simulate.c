/* SPDX-License-Identifier: Apache-2.0 */
/* simulate on random clusters, against plain sums: nothing over its allocatable, gangs
 * whole or not at all, nothing waits that would fit, and the order in which objects
 * stand in the file changes nothing. */
#include "frontend/base/bytes.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/simulate.h"

#include "tests/unit/test.h"

#include <time.h>
#include <unistd.h>

#define NODES 12
#define GANGS 10
#define PODS 80
#define SHAPES 4

struct world {
	unsigned cpu[NODES], gpu[NODES], slots[NODES]; /* allocatable */
	unsigned gang_quorum[GANGS];
	unsigned gang_shape[GANGS];
	struct {
		int gang; /* -1: alone */
		unsigned shape;
		int node; /* bound before; -1 */
		unsigned priority, created;
	} pods[PODS];
};

static const struct {
	unsigned cpu, gpu;
} shapes[SHAPES] = { { 1, 0 }, { 2, 1 }, { 3, 0 }, { 4, 4 } };

static uint64_t state;

static unsigned dice(unsigned n)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);

	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((z ^ (z >> 31)) % n);
}

static void make_world(struct world *w)
{
	for (int i = 0; i < NODES; i++) {
		w->cpu[i] = 2 + dice(8);
		w->gpu[i] = dice(3) == 0 ? 4 : 0;
		w->slots[i] = 1 + dice(8);
	}
	for (int i = 0; i < GANGS; i++) {
		w->gang_quorum[i] = 1 + dice(6);
		w->gang_shape[i] = dice(SHAPES);
	}
	for (int i = 0; i < PODS; i++) {
		w->pods[i].gang = dice(3) == 0 ? -1 : (int)dice(GANGS);
		w->pods[i].shape = w->pods[i].gang < 0 ? dice(SHAPES) : w->gang_shape[w->pods[i].gang];
		w->pods[i].priority = dice(3);
		w->pods[i].created = dice(50);
		w->pods[i].node = -1;
	}
}

static void put_pod(struct bytes *out, const struct world *w, int i)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\","
		"\"creationTimestamp\":\"2026-01-01T00:00:%02uZ\",\"labels\":{",
		i, w->pods[i].created);
	bytes_put(out, text);
	if (w->pods[i].gang >= 0) {
		snprintf(text, sizeof(text), "\"scheduling.x-k8s.io/pod-group\":\"g%d\"", w->pods[i].gang);
		bytes_put(out, text);
	}
	snprintf(
		text, sizeof(text),
		"}},\"spec\":{\"priority\":%u,\"containers\":[{\"name\":\"m\",\"resources\":{\"requests\":{"
		"\"cpu\":\"%u\",\"nvidia.com/gpu\":\"%u\"}}}]}}\n",
		w->pods[i].priority, shapes[w->pods[i].shape].cpu, shapes[w->pods[i].shape].gpu);
	bytes_put(out, text);
}

static void put_one(struct bytes *out, const struct world *w, int i)
{
	char text[512];

	if (i < NODES)
		snprintf(
			text, sizeof(text),
			"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\"},\"status\":{"
			"\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"64Gi\",\"pods\":\"%u\",\"nvidia.com/gpu\":\"%u\"}}}\n",
			i, w->cpu[i], w->slots[i], w->gpu[i]);
	else if (i < NODES + GANGS)
		snprintf(
			text, sizeof(text),
			"{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{"
			"\"name\":\"g%d\",\"namespace\":\"ns\",\"creationTimestamp\":\"2026-01-01T00:01:%02dZ\"},"
			"\"spec\":{\"minMember\":%u}}\n",
			i - NODES, i, w->gang_quorum[i - NODES]);
	else {
		put_pod(out, w, i - NODES - GANGS);
		return;
	}
	bytes_put(out, text);
}

/* The objects as one file, in a random order. */
static struct files *shuffled_file(const struct world *w)
{
	enum { N = NODES + GANGS + PODS };
	char path[] = "/tmp/muster-simulate-XXXXXX", error[512];
	struct files *files = files_new();
	struct bytes text = { 0 };
	int order[N], fd = mkstemp(path);

	for (int i = 0; i < N; i++) {
		int j = (int)dice((unsigned)i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < N; i++)
		put_one(&text, w, order[i]);
	cr_assert(write(fd, text.at, text.n) == (ssize_t)text.n);
	close(fd);
	cr_assert(files_read(files, path, error, sizeof(error)), "%s", error);
	cr_assert(files_check(files, error, sizeof(error)), "%s", error);
	unlink(path);
	bytes_free(&text);
	return files;
}

struct answer {
	struct offline *offline;
	struct simulation *s;
};

static struct answer simulate(const struct world *w, enum score_policy score)
{
	struct offline_config config = { .score = score };
	struct answer a = { .offline = offline_new(&config) };
	struct files *files = shuffled_file(w);
	char error[1024];

	cr_assert(offline_put_all(a.offline, files, error, sizeof(error)), "%s", error);
	cr_assert(offline_place(a.offline, error, sizeof(error)), "%s", error);
	files_free(files);
	a.s = simulation_new(a.offline);
	cr_assert(a.s->placements_n == PODS);
	cr_assert(a.s->gangs_n == GANGS);
	return a;
}

static void free_answer(struct answer *a)
{
	simulation_free(a->s);
	offline_free(a->offline);
}

struct sums {
	unsigned cpu[NODES], gpu[NODES], pods[NODES];
	unsigned gang_members[GANGS], gang_placed[GANGS];
};

static struct sums add_up(const struct world *w, const struct simulation *s)
{
	struct sums u = { 0 };

	for (size_t i = 0; i < s->placements_n; i++) {
		const struct placement *p = &s->placements[i];
		int pod = atoi(p->pod + strlen("ns/p")), gang = w->pods[pod].gang, node;

		if (gang >= 0)
			u.gang_members[gang]++;
		if (p->node == NULL) {
			cr_expect(p->reason != NULL && p->reason[0] != '\0', "%s waits without a reason",
			          p->pod);
			continue;
		}
		node = atoi(p->node + 1);
		u.cpu[node] += shapes[w->pods[pod].shape].cpu;
		u.gpu[node] += shapes[w->pods[pod].shape].gpu;
		u.pods[node]++;
		if (gang >= 0)
			u.gang_placed[gang]++;
	}
	return u;
}

/* How many more pods of a shape the cluster takes. */
static unsigned capacity(const struct world *w, const struct sums *u, unsigned shape)
{
	unsigned sum = 0;

	for (int i = 0; i < NODES; i++) {
		unsigned n = w->slots[i] - u->pods[i];
		unsigned by_cpu = (w->cpu[i] - u->cpu[i]) / shapes[shape].cpu;
		unsigned by_gpu = shapes[shape].gpu > 0 ? (w->gpu[i] - u->gpu[i]) / shapes[shape].gpu : n;

		n = by_cpu < n ? by_cpu : n;
		sum += by_gpu < n ? by_gpu : n;
	}
	return sum;
}

static void check_sums(const struct world *w, const struct simulation *s, const struct sums *u)
{
	for (int i = 0; i < NODES; i++)
		cr_assert(u->cpu[i] <= w->cpu[i] && u->gpu[i] <= w->gpu[i] && u->pods[i] <= w->slots[i],
		          "n%d is over", i);
	for (int g = 0; g < GANGS; g++) {
		unsigned placed = u->gang_placed[g], quorum = w->gang_quorum[g],
				 missing = u->gang_members[g] - placed;

		cr_expect(placed == 0 || placed >= quorum, "g%d has %u of %u", g, placed, quorum);
		/* Room only shrinks, so what fits now would have fitted then. */
		if (u->gang_members[g] >= quorum && missing > 0)
			cr_expect(capacity(w, u, w->gang_shape[g]) < (placed > 0 ? 1 : quorum), "g%d would fit",
			          g);
	}
	for (size_t i = 0; i < s->placements_n; i++) {
		const struct placement *p = &s->placements[i];
		int pod = atoi(p->pod + strlen("ns/p"));

		if (p->gang == NULL && p->node == NULL)
			cr_expect(capacity(w, u, w->pods[pod].shape) == 0, "%s would fit", p->pod);
	}
}

static void check_gangs(const struct world *w, const struct simulation *s, const struct sums *u)
{
	for (size_t i = 0; i < s->gangs_n; i++) {
		const struct gang_result *g = &s->gangs[i];
		int id = atoi(g->gang + strlen("ns/g"));
		bool complete = u->gang_members[id] >= w->gang_quorum[id];

		cr_expect(g->quorum == w->gang_quorum[id], "%s: quorum %u", g->gang, g->quorum);
		cr_expect(g->members == u->gang_members[id], "%s: members %u", g->gang, g->members);
		cr_expect(g->placed == u->gang_placed[id], "%s: placed %u", g->gang, g->placed);
		if (!complete)
			cr_expect(g->state == GANG_INCOMPLETE, "%s: state %d", g->gang, (int)g->state);
		else if (g->placed >= g->quorum)
			cr_expect(g->state == GANG_PLACED, "%s: state %d", g->gang, (int)g->state);
		else
			cr_expect(g->state == GANG_WAITING, "%s: state %d", g->gang, (int)g->state);
		cr_expect((g->reason != NULL) == (g->state != GANG_PLACED || g->placed < g->members),
		          "%s: reason", g->gang);
	}
}

static void check_equal(const struct simulation *a, const struct simulation *b)
{
	for (size_t i = 0; i < a->placements_n; i++) {
		const struct placement *x = &a->placements[i], *y = &b->placements[i];

		cr_assert_str_eq(x->pod, y->pod);
		cr_expect((x->node == NULL) == (y->node == NULL) &&
		              (x->node == NULL || strcmp(x->node, y->node) == 0),
		          "%s: %s, in another order %s", x->pod, x->node, y->node);
	}
}

Test(simulate, random_clusters, .timeout = 120)
{
	uint64_t seed = (uint64_t)time(NULL);

	for (uint64_t round = 0; round < 150; round++) {
		struct world w;
		struct answer a, b;
		struct sums u;

		state = seed + round;
		make_world(&w);
		a = simulate(&w, round % 2 == 0 ? SCORE_KUBE : SCORE_PACK);
		b = simulate(&w, round % 2 == 0 ? SCORE_KUBE : SCORE_PACK);
		u = add_up(&w, a.s);
		cr_log_info("seed %llu\n", (unsigned long long)(seed + round));
		check_sums(&w, a.s, &u);
		check_gangs(&w, a.s, &u);
		check_equal(a.s, b.s);
		free_answer(&a);
		free_answer(&b);
	}
	printf("seeds %llu to %llu\n", (unsigned long long)seed, (unsigned long long)seed + 149);
}
