/* SPDX-License-Identifier: Apache-2.0 */
/* How long does a search for victims take (core/search/search.h), and what does its answer cost the
 * planning thread?  Clusters of full nodes of 4 cpu; the searches are those of the world's thread,
 * up to its 100 million steps.  `proved`: the share of searches whose answer is proved best. */
#include "bench/bench.h"
#include "bench/builder.h"
#include "core/search/search.h"
#include "core/step/core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define STEPS UINT64_C(100000000)
#define NODE_CPU 4000
#define VICTIMS 40u
#define TICKETS 16u
#define BLOCKS 10u /* of decisions without and with a search beside, in turn */
#define DECISIONS 2000u

enum { SHAPE_LOW, SHAPE_HIGH };

struct scene {
	struct limits limits;
	struct core *core;
	struct ledger *ledger;
	uint64_t ledger_bytes;
	struct search_pod *pods;
	struct search_gang *gangs;
	struct search_facts facts;
	uint32_t nodes_n, pods_n, gangs_n;
	bool stays; /* the pods that are fed next */
	uint64_t time_ns, sequence;
	uint64_t evictions, bindings; /* commands */
	uint64_t random;
};

static uint32_t draw(struct scene *s, uint32_t below)
{
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(s->random >> 33) % below;
}

/* core_emit_fn */
static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct scene *s = context;

	s->evictions += kind == CMD_EVICT;
	s->bindings += kind == CMD_BIND;
	return true;
}

static void feed(struct scene *s, enum record_kind kind, const struct part *parts)
{
	struct builder b;
	struct record *r = builder_make(&b, kind, s->time_ns, parts);

	r->sequence = ++s->sequence;
	if (core_apply(s->core, r) < 0) {
		fprintf(stderr, "muster-bench: record %u was refused: %s\n", r->kind, core_fault(s->core));
		exit(1);
	}
}

static void node_feed(struct scene *s)
{
	const struct amount amounts[] = { { .resource = RESOURCE_CPU, .value = NODE_CPU },
		                              { .resource = RESOURCE_MEMORY, .value = INT64_C(1) << 36 },
		                              { .resource = RESOURCE_PODS, .value = 110 } };
	char name[32];
	const struct event_node e = { .node = s->nodes_n,
		                          .generation = 1,
		                          .flags = NODE_PRESENT,
		                          .name_bytes = (uint32_t)snprintf(name, sizeof(name), "node-%07u",
		                                                           s->nodes_n),
		                          .amounts_n = 3 };

	feed(s, EVENT_NODE,
	     PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }, { name, e.name_bytes }));
	s->nodes_n++;
}

static void shape_feed(struct scene *s, uint32_t shape, int64_t cpu_milli)
{
	const struct amount amounts[] = { { .resource = RESOURCE_CPU, .value = cpu_milli },
		                              { .resource = RESOURCE_MEMORY, .value = 1 << 20 },
		                              { .resource = RESOURCE_PODS, .value = 1 } };
	const struct event_shape e = { .shape = shape,
		                           .amounts_n = 3,
		                           .scored_cpu_milli = cpu_milli,
		                           .scored_memory_bytes = 1 << 20,
		                           .namespace = ID_NONE };

	feed(s, EVENT_SHAPE, PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }));
}

/* Its id. */
static gang_id gang_feed(struct scene *s, uint32_t quorum)
{
	char name[32];
	const struct event_gang e = { .gang = s->gangs_n,
		                          .generation = 1,
		                          .quorum = quorum,
		                          .name_bytes = (uint32_t)snprintf(name, sizeof(name), "bench/g-%u",
		                                                           s->gangs_n) };

	feed(s, EVENT_GANG, PARTS({ &e, sizeof(e) }, { name, e.name_bytes }));
	return s->gangs_n++;
}

/* Of no gang; node ID_NONE: it waits. */
static struct event_pod pod_record(pod_id pod, uint32_t generation, node_id node, const char *name)
{
	return (struct event_pod){ .pod = pod,
		                       .generation = generation,
		                       .flags = POD_OURS,
		                       .gang = ID_NONE,
		                       .shape = node == ID_NONE ? SHAPE_HIGH : SHAPE_LOW,
		                       .node = node,
		                       .name_bytes = (uint32_t)strlen(name),
		                       .namespace = 1,
		                       .role = ID_NONE,
		                       .created_ns = pod + generation,
		                       .uid = { pod, generation } };
}

/* node ID_NONE: it waits, with the higher priority, as which pods that stay have too.  Its id. */
static pod_id pod_feed(struct scene *s, gang_id gang, node_id node)
{
	const bool waits = node == ID_NONE;
	struct event_pod e;
	char name[32];

	snprintf(name, sizeof(name), "bench/p-%u", s->pods_n);
	e = pod_record(s->pods_n, 1, node, name);
	e.gang = gang;
	e.priority = waits || s->stays ? 10 : 0;
	feed(s, EVENT_POD, PARTS({ &e, sizeof(e) }, { name, e.name_bytes }));
	s->pods[s->pods_n] = (struct search_pod){ .start_s = waits ? START_NONE : 1 + draw(s, 100000),
		                                      .nominated = ID_NONE };
	return s->pods_n++;
}

static bool scene_init(struct scene *s, uint32_t nodes, int64_t low, int64_t high, uint64_t seed)
{
	struct core_config config = { .emit = emit, .context = s };
	void *memory;

	*s = (struct scene){ .limits = { .nodes = 8192,
		                             .pods = 1 << 16,
		                             .gangs = 4096,
		                             .shapes = 16,
		                             .names = 64,
		                             .resources = 8,
		                             .name_bytes = 1 << 24,
		                             .command_ring_bytes = 1 << 20 },
		                 .time_ns = UINT64_C(1000000000000),
		                 .random = seed };
	config.limits = s->limits;
	s->ledger_bytes = core_ledger_bytes(&s->limits, NULL);
	memory = mmap(NULL, s->ledger_bytes, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	s->pods = calloc(s->limits.pods, sizeof(*s->pods));
	s->gangs = calloc(s->limits.gangs, sizeof(*s->gangs));
	if (memory == MAP_FAILED || !s->pods || !s->gangs) {
		fprintf(stderr, "muster-bench: no memory\n");
		return false;
	}
	s->ledger = memory;
	s->core = core_new(&config, s->ledger);
	s->facts = (struct search_facts){
		.pods = s->pods, .gangs = s->gangs, .respect = true, .steps_most = STEPS
	};
	feed(s, EVENT_BEGIN, NO_PARTS);
	shape_feed(s, SHAPE_LOW, low);
	shape_feed(s, SHAPE_HIGH, high);
	for (uint32_t i = 0; i < nodes; i++)
		node_feed(s);
	return true;
}

static void scene_free(struct scene *s)
{
	core_free(s->core);
	if (s->ledger)
		munmap(s->ledger, s->ledger_bytes);
	free(s->pods);
	free(s->gangs);
}

/* So many lone pods of the lower priority on each node. */
static void fill(struct scene *s, uint32_t each)
{
	for (node_id node = 0; node < s->nodes_n; node++)
		for (uint32_t i = 0; i < each; i++)
			pod_feed(s, ID_NONE, node);
}

/* A gang that waits, of so many members. */
static gang_id waiting(struct scene *s, uint32_t members)
{
	const gang_id gang = gang_feed(s, members);

	for (uint32_t i = 0; i < members; i++)
		pod_feed(s, gang, ID_NONE);
	return gang;
}

/* A pod of 3 cpu, nodes with four of 0.9. */
static bool one_pod(struct bench_report *report)
{
	double samples[15];
	struct scene s;
	pod_id pod;

	if (!scene_init(&s, 5000, 900, 3000, 1))
		return false;
	fill(&s, 4);
	pod = pod_feed(&s, ID_NONE, ID_NONE);
	feed(&s, EVENT_SYNCED, NO_PARTS);
	for (size_t i = 0; i < 15; i++) {
		const uint64_t begun_ns = bench_now_ns();
		struct pod_search found;
		const int rc = search_pod(s.core, &s.facts, pod, &found);

		samples[i] = (double)(bench_now_ns() - begun_ns) / 1e6;
		if (rc < 0 || found.answer != POD_VICTIMS || found.nodes_n != 5000) {
			fprintf(stderr, "muster-bench: not all nodes are candidates\n");
			return false;
		}
		pod_search_free(&found);
	}
	bench_add(report, "one-pod/5000", "ms", samples, 15, false, 1);
	scene_free(&s);
	return true;
}

/* One search for the gang: ms, and whether its answer is proved; < 0: it is not what it has to be.
 */
static double search_once(struct scene *s, gang_id gang, uint32_t pods, bool *proved)
{
	const uint64_t begun_ns = bench_now_ns();
	struct gang_search found;
	const int rc = search_gang(s->core, &s->facts, gang, &found);
	const double ms = (double)(bench_now_ns() - begun_ns) / 1e6;
	bool right =
		rc == 0 && (pods > 0 ? found.answer == VICTIMS_GAVE_UP ||
	                               (found.answer == VICTIMS_PROVED && found.objective.pods >= pods)
	                         : found.answer == VICTIMS_IMPOSSIBLE);

	*proved = rc == 0 && found.answer != VICTIMS_GAVE_UP;
	if (rc == 0)
		gang_search_free(&found);
	if (!right)
		fprintf(stderr, "muster-bench: a search has a wrong answer\n");
	return right ? ms : -1;
}

static void share_add(struct bench_report *report, const char *name, unsigned proved, unsigned n,
                      double goal)
{
	bench_add_one(report, name, "percent", 100.0 * proved / n, true, goal);
}

/* A gang of one kind, and lone pods of one size: `members` of which each needs one to go; 0
 * victims: evicting all of them is not enough. */
static bool gang_of_pods(struct bench_report *report, const char *name, const char *share,
                         uint32_t members, int64_t cpu_milli, uint32_t victims, double goal)
{
	double samples[5];
	struct scene s;
	gang_id gang;
	unsigned n = 0, proved_n = 0;

	if (!scene_init(&s, 5000, 1000, cpu_milli, 2))
		return false;
	fill(&s, 4);
	if (victims == 0) { /* empty nodes would just do, but one can't be emptied */
		node_feed(&s);
		s.stays = true;
		pod_feed(&s, ID_NONE, s.nodes_n - 1);
		s.stays = false;
	}
	gang = waiting(&s, members);
	feed(&s, EVENT_SYNCED, NO_PARTS);
	while (n < 5) {
		bool proved;
		const double ms = search_once(&s, gang, victims, &proved);

		if (ms < 0)
			return false;
		samples[n++] = ms;
		proved_n += proved;
	}
	bench_add(report, name, "ms", samples, n, false, goal);
	share_add(report, share, proved_n, n, 100);
	scene_free(&s);
	return true;
}

/* 1,000 gangs of ten on 1,000 nodes of ten pods, at random, and a gang of 64 that waits. */
static bool gang_of_gangs(struct bench_report *report, unsigned clusters)
{
	double samples[20];
	unsigned proved_n = 0;

	for (unsigned n = 0; n < clusters; n++) {
		struct scene s;
		uint32_t free_n = 10000;
		node_id *at = malloc(free_n * sizeof(*at));
		gang_id gang;
		bool proved;

		if (!at || !scene_init(&s, 1000, 400, 1000, 100 + n))
			return false;
		for (uint32_t i = 0; i < free_n; i++)
			at[i] = i / 10;
		for (uint32_t g = 0; g < 1000; g++) {
			const gang_id victim = gang_feed(&s, 10);

			for (uint32_t i = 0; i < 10; i++) {
				const uint32_t place = draw(&s, free_n);

				pod_feed(&s, victim, at[place]);
				at[place] = at[--free_n];
			}
		}
		gang = waiting(&s, 64);
		feed(&s, EVENT_SYNCED, NO_PARTS);
		samples[n] = search_once(&s, gang, 64, &proved);
		proved_n += proved;
		scene_free(&s);
		free(at);
		if (samples[n] < 0)
			return false;
	}
	bench_add(report, "gang-64-gangs/1000", "ms", samples, clusters, false, 50);
	share_add(report, "gang-64-gangs/1000 proved", proved_n, clusters, 95);
	return true;
}

/* The answer to the ticket of that number: the gang's members go where these pods run. */
static void answer_feed(struct scene *s, gang_id gang, uint64_t ticket, pod_id first)
{
	struct event_answer e = { .ticket = ticket,
		                      .gang = gang,
		                      .generation = 1,
		                      .verdict = ANSWER_VICTIMS,
		                      .victims_n = VICTIMS };
	struct answer_pod victims[VICTIMS];

	for (uint32_t i = 0; i < VICTIMS; i++)
		victims[i] = (struct answer_pod){
			.pod = first + i, .generation = 1, .node = (first + i) / 4, .node_generation = 1
		};
	feed(s, EVENT_ANSWER, PARTS({ &e, sizeof(e) }, { victims, sizeof(victims) }));
}

static void facts_feed(struct scene *s)
{
	for (pod_id pod = 0; pod < s->pods_n; pod++) {
		const struct event_pod_facts e = { .nominated = ID_NONE,
			                               .completion_index = -1,
			                               .pod = pod,
			                               .generation = 1,
			                               .start_s = s->pods[pod].start_s == START_NONE
			                                              ? 0
			                                              : s->pods[pod].start_s,
			                               .flags = FACT_OURS };

		feed(s, EVENT_POD_FACTS, PARTS({ &e, sizeof(e) }));
	}
}

/* What the loop does for an answer of 40 victims: it checks it and each single victim, places the
 * gang there and writes the commands. */
static bool tickets(struct bench_report *report)
{
	const struct event_preemption terms = { .flags = PREEMPTION_EXPLAIN | PREEMPTION_ON };
	double samples[TICKETS];
	gang_id gangs[TICKETS];
	struct scene s;

	if (!scene_init(&s, 5000, 1000, 1000, 3))
		return false;
	feed(&s, EVENT_PREEMPTION, PARTS({ &terms, sizeof(terms) }));
	fill(&s, 4);
	for (uint32_t i = 0; i < TICKETS; i++)
		gangs[i] = waiting(&s, VICTIMS);
	facts_feed(&s);
	feed(&s, EVENT_SYNCED, NO_PARTS);
	while (core_wants_plan(s.core))
		feed(&s, EVENT_PLAN, NO_PARTS);
	for (uint32_t i = 0; i < TICKETS; i++) {
		const uint64_t begun_ns = bench_now_ns();

		answer_feed(&s, gangs[i], i + 1, i * VICTIMS);
		while (core_wants_plan(s.core))
			feed(&s, EVENT_PLAN, NO_PARTS);
		samples[i] = (double)(bench_now_ns() - begun_ns) / 1e3;
		if (s.evictions != (i + 1) * VICTIMS) {
			fprintf(stderr, "muster-bench: %llu of %u evictions were commanded\n",
			        (unsigned long long)s.evictions, (i + 1) * VICTIMS);
			return false;
		}
	}
	bench_add(report, "ticket-40/5000", "us", samples, TICKETS, false, 20);
	scene_free(&s);
	return true;
}

/* Searches on a core of its own for as long as it is wanted, as the world's thread does. */
struct searcher {
	struct scene s;
	gang_id gang;
	_Atomic bool wanted, busy, ended;
	_Atomic bool wrong; /* an answer was not proved */
};

static void *searcher_run(void *context)
{
	struct searcher *r = context;

	while (!atomic_load(&r->ended)) {
		bool proved = true;

		atomic_store(&r->busy, atomic_load(&r->wanted));
		if (!atomic_load(&r->busy)) {
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
			continue;
		}
		if (search_once(&r->s, r->gang, 1000, &proved) < 0 || !proved)
			atomic_store(&r->wrong, true);
	}
	return NULL;
}

static void searcher_set(struct searcher *r, bool wanted)
{
	atomic_store(&r->wanted, wanted);
	while (atomic_load(&r->busy) != wanted)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

/* us from the record of a pod that fits to its command; it is deleted then.  < 0: none came. */
static double decision(struct scene *s, pod_id pod, uint32_t generation)
{
	const struct event_pod e = pod_record(pod, generation, ID_NONE, "bench/p");
	const struct event_drop gone = { .id = pod, .generation = generation };
	const uint64_t bindings = s->bindings, begun_ns = bench_now_ns();
	double us;

	feed(s, EVENT_POD, PARTS({ &e, sizeof(e) }, { "bench/p", e.name_bytes }));
	while (core_wants_plan(s->core))
		feed(s, EVENT_PLAN, NO_PARTS);
	us = (double)(bench_now_ns() - begun_ns) / 1e3;
	feed(s, EVENT_POD_DROP, PARTS({ &gone, sizeof(gone) }));
	return s->bindings == bindings + 1 ? us : -1;
}

/* The nodes of gang-1000, full, and its gang. */
static bool full_nodes(struct scene *s)
{
	if (!scene_init(s, 5000, 1000, 1000, 2))
		return false;
	fill(s, 4);
	return true;
}

static bool decisions(struct searcher *r, struct scene *s, double *without, double *with)
{
	uint32_t generation = 0;

	for (uint32_t block = 0; block < 2 * BLOCKS; block++) {
		double *samples = (block % 2 == 0 ? without : with) + (size_t)block / 2 * DECISIONS;

		searcher_set(r, block % 2 == 1);
		for (uint32_t i = 0; i < DECISIONS; i++) {
			samples[i] = decision(s, s->pods_n, ++generation);
			if (samples[i] < 0)
				return false;
		}
	}
	return !atomic_load(&r->wrong);
}

static double p99_of(const struct bench_report *report)
{
	return report->rows[report->rows_n - 1].p99;
}

/* What the search for a gang of 1,000 costs decisions about other pods, which the planning thread
 * makes meanwhile. */
static bool beside(struct bench_report *report)
{
	static double without[BLOCKS * DECISIONS], with[BLOCKS * DECISIONS];
	static struct searcher r;
	struct scene s;
	pthread_t thread;
	double p99;
	bool right;

	r = (struct searcher){ 0 };
	if (!full_nodes(&r.s) || !full_nodes(&s))
		return false;
	r.gang = waiting(&r.s, 1000);
	feed(&r.s, EVENT_SYNCED, NO_PARTS);
	node_feed(&s); /* with room for the other pods */
	feed(&s, EVENT_SYNCED, NO_PARTS);
	if (pthread_create(&thread, NULL, searcher_run, &r) != 0)
		return false;
	right = decisions(&r, &s, without, with);
	atomic_store(&r.ended, true);
	pthread_join(thread, NULL);
	scene_free(&r.s);
	scene_free(&s);
	if (!right) {
		fprintf(stderr, "muster-bench: a pod was not placed, or a search not proved\n");
		return false;
	}
	bench_add(report, "decision/5000", "us", without, BLOCKS * DECISIONS, false, 0);
	p99 = p99_of(report);
	bench_add(report, "decision-beside/5000", "us", with, BLOCKS * DECISIONS, false, 1.1 * p99);
	return true;
}

static bool is_asked(const struct bench_options *options, const char *row)
{
	return !options->only || strcmp(options->only, row) == 0;
}

bool bench_preempt(struct bench_report *report, const struct bench_options *options)
{
	bool right = true;

	if (is_asked(options, "one-pod"))
		right = one_pod(report);
	if (right && is_asked(options, "gang-1000"))
		right =
			gang_of_pods(report, "gang-1000/5000", "gang-1000/5000 proved", 1000, 1000, 1000, 20);
	if (right && is_asked(options, "gang-64-gangs"))
		right = gang_of_gangs(report, options->quick ? 3 : 20);
	if (right && is_asked(options, "hopeless"))
		right = gang_of_pods(report, "hopeless/5000", "hopeless/5000 proved", 5001, 4000, 0, 1);
	if (right && is_asked(options, "ticket-40"))
		right = tickets(report);
	if (right && is_asked(options, "beside"))
		right = beside(report);
	return right;
}
