/* SPDX-License-Identifier: Apache-2.0 */
/* What share of the GPUs does the core's bestfit allocate? The experiment of FGD (USENIX ATC'23) on
 * the Alibaba openb trace: pods of the trace, as many as request 130 % of the GPUs, shuffled, one
 * by one, none leaves; a pod that does not fit is dropped. The figure is the share of GPU milli
 * allocated, the mean of ten seeds; the goal is the published one of the same policy. The core has
 * amounts of a node, not its single GPUs. Those are kept here, as by a device plugin, and published
 * as labels: the number of whole GPUs and the largest free share of one; a pod selects them by node
 * affinity. */
#include "bench/bench.h"
#include "bench/builder.h"
#include "core/step/core.h"

#include "bench/child.h"

#define MIB (INT64_C(1) << 20)
#define GPU_MILLI 1000
#define OFFERED 1.3
#define SEEDS 10u
#define SEED_FIRST 42u

enum { NODES_MAX = 2048, KINDS_MAX = 1024, PODS_MAX = 32768, GPUS_MAX = 8, MODELS_MAX = 32 };
enum { KEY_NAME = LABEL_KEY_NODE_NAME, KEY_MODEL, KEY_WHOLE, KEY_MOST };
enum { RESOURCE_GPU = RESOURCE_EXTENDED };

struct gpu_node {
	char name[32];
	int64_t cpu_milli, memory_mib;
	uint32_t gpus, model;
	int64_t used[GPUS_MAX]; /* milli */
};

/* Equal pods of the trace; the index is their shape. */
struct pod_kind {
	uint32_t count;
	int64_t cpu_milli, memory_mib, gpus, gpu_milli;
	uint32_t models[MODELS_MAX];
	uint32_t models_n;
};

struct openb {
	struct gpu_node nodes[NODES_MAX];
	struct pod_kind kinds[KINDS_MAX];
	char models[MODELS_MAX][32];
	uint32_t nodes_n, kinds_n, models_n;
	uint16_t pods[PODS_MAX]; /* kinds, in the order of arrival */
	uint32_t pods_n;
	uint64_t random, time_ns;
	struct core *core;
	node_id bound; /* by the last plan; ID_NONE */
};

static uint32_t model_of(struct openb *o, const char *name)
{
	for (uint32_t i = 0; i < o->models_n; i++)
		if (strcmp(o->models[i], name) == 0)
			return i;
	if (o->models_n == MODELS_MAX)
		return 0;
	snprintf(o->models[o->models_n], sizeof(o->models[0]), "%s", name);
	return o->models_n++;
}

/* Rows of a CSV file after its first; false and a message. */
static bool each_row(struct openb *o, const char *folder, const char *name,
                     bool (*row)(struct openb *, char *))
{
	char path[PROCESS_PATH + 128], line[512];
	FILE *f;
	bool ok = true;

	snprintf(path, sizeof(path), "%s/%s.csv", folder, name);
	f = fopen(path, "re");
	if (!f) {
		fprintf(stderr, "muster-bench: openb needs its trace, and %s can't be read; see --data\n",
		        path);
		return false;
	}
	ok = fgets(line, sizeof(line), f);
	while (ok && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\r\n")] = '\0';
		ok = row(o, line);
	}
	fclose(f);
	if (!ok)
		fprintf(stderr, "muster-bench: %s: not the trace: %s\n", path, line);
	return ok;
}

static bool node_row(struct openb *o, char *line)
{
	struct gpu_node *n = &o->nodes[o->nodes_n];
	char model[32] = "";
	long long cpu, memory;

	if (o->nodes_n == NODES_MAX ||
	    sscanf(line, "%31[^,],%lld,%lld,%u,%31s", n->name, &cpu, &memory, &n->gpus, model) < 4 ||
	    n->gpus > GPUS_MAX)
		return false;
	n->cpu_milli = cpu;
	n->memory_mib = memory;
	n->model = model_of(o, model);
	o->nodes_n++;
	return true;
}

static bool pod_row(struct openb *o, char *line)
{
	struct pod_kind *k = &o->kinds[o->kinds_n];
	long long cpu, memory, gpus, milli;
	char models[256] = "";

	if (o->kinds_n == KINDS_MAX || sscanf(line, "%u,%lld,%lld,%lld,%lld,%255s", &k->count, &cpu,
	                                      &memory, &gpus, &milli, models) < 5)
		return false;
	k->cpu_milli = cpu;
	k->memory_mib = memory;
	k->gpus = gpus;
	k->gpu_milli = milli;
	for (char *rest = models, *one; (one = strsep(&rest, "|"));)
		if (*one && k->models_n < MODELS_MAX)
			k->models[k->models_n++] = model_of(o, one);
	o->kinds_n++;
	return true;
}

static uint32_t below(struct openb *o, uint32_t n)
{
	o->random = o->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((o->random >> 33) * n >> 31);
}

static int64_t asks(const struct openb *o, uint32_t pod)
{
	const struct pod_kind *k = &o->kinds[o->pods[pod]];

	return k->gpus * k->gpu_milli;
}

static int64_t all_milli(const struct openb *o)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < o->nodes_n; i++)
		sum += (int64_t)o->nodes[i].gpus * GPU_MILLI;
	return sum;
}

/* The pods of the trace, some repeated or left out so that they request enough. */
static void arrivals(struct openb *o)
{
	int64_t wanted = (int64_t)(OFFERED * (double)all_milli(o)), sum = 0;
	uint32_t trace;

	o->pods_n = 0;
	for (uint32_t kind = 0; kind < o->kinds_n; kind++)
		for (uint32_t i = 0; i < o->kinds[kind].count && o->pods_n < PODS_MAX; i++)
			o->pods[o->pods_n++] = (uint16_t)kind;
	trace = o->pods_n;
	for (uint32_t i = 0; i < trace; i++)
		sum += asks(o, i);
	while (sum < wanted && o->pods_n < PODS_MAX) {
		o->pods[o->pods_n] = o->pods[below(o, trace)];
		sum += asks(o, o->pods_n++);
	}
	for (uint32_t i = o->pods_n; i > 1; i--) {
		uint32_t other = below(o, i);
		uint16_t kind = o->pods[i - 1];

		o->pods[i - 1] = o->pods[other];
		o->pods[other] = kind;
	}
	while (sum > wanted && o->pods_n > 0)
		sum -= asks(o, --o->pods_n);
}

static void step(struct openb *o, struct builder *b)
{
	int rc = core_step(o->core, builder_end(b));

	o->time_ns += 1000;
	if (rc == 0)
		return;
	fprintf(stderr, "muster-bench: openb: %s: %s\n", strerror(-rc), core_fault(o->core));
	exit(1);
}

static void mark(struct openb *o, enum record_kind kind)
{
	struct builder b;

	builder_begin(&b, kind, o->time_ns);
	step(o, &b);
}

static void gpu_name(struct openb *o)
{
	struct event_name e = { .id = RESOURCE_GPU, .kind = NAME_RESOURCE, .bytes = 9 };
	struct builder b;

	builder_begin(&b, EVENT_NAME, o->time_ns);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, "gpu-milli", 9);
	step(o, &b);
}

static void tell_node(struct openb *o, uint32_t node)
{
	const struct gpu_node *n = &o->nodes[node];
	uint32_t whole = 0;
	int64_t most = 0;

	for (uint32_t i = 0; i < n->gpus; i++) {
		int64_t free_milli = GPU_MILLI - n->used[i];

		whole += free_milli == GPU_MILLI;
		most = free_milli > most ? free_milli : most;
	}
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = n->cpu_milli },
		{ .resource = RESOURCE_MEMORY, .value = n->memory_mib * MIB },
		{ .resource = RESOURCE_PODS, .value = 1000 },
		{ .resource = RESOURCE_GPU, .value = (int64_t)n->gpus * GPU_MILLI },
	};
	struct label labels[] = {
		{ .key = KEY_NAME, .value = 10000 + node, .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_MODEL, .value = n->model, .number = LABEL_NOT_A_NUMBER },
		{ .key = KEY_WHOLE, .value = 1000 + whole, .number = whole },
		{ .key = KEY_MOST, .value = 2000 + (uint32_t)most, .number = most },
	};
	struct event_node e = { .node = node,
		                    .generation = 1,
		                    .flags = NODE_PRESENT,
		                    .name_bytes = (uint32_t)strlen(n->name),
		                    .amounts_n = 4,
		                    .labels_n = 4 };
	struct builder b;

	builder_begin(&b, EVENT_NODE, o->time_ns);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, amounts, sizeof(amounts));
	builder_add(&b, labels, sizeof(labels));
	builder_add(&b, n->name, e.name_bytes);
	step(o, &b);
}

static void tell_shape(struct openb *o, uint32_t kind)
{
	const struct pod_kind *k = &o->kinds[kind];
	bool shared = k->gpus == 1 && k->gpu_milli < GPU_MILLI;
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = k->cpu_milli },
		{ .resource = RESOURCE_MEMORY, .value = k->memory_mib * MIB },
		{ .resource = RESOURCE_PODS, .value = 1 },
		{ .resource = RESOURCE_GPU, .value = k->gpus * k->gpu_milli },
	};
	struct requirement rules[2];
	struct event_shape e = { .shape = kind,
		                     .amounts_n = k->gpus > 0 ? 4 : 3,
		                     .values_n = k->models_n,
		                     .scored_cpu_milli = k->cpu_milli,
		                     .scored_memory_bytes = k->memory_mib * MIB,
		                     .namespace = ID_NONE };
	struct builder b;

	if (k->models_n > 0)
		rules[e.requirements_n++] =
			(struct requirement){ .op = REQUIRE_IN, .key = KEY_MODEL, .values_n = k->models_n };
	if (k->gpus > 0)
		rules[e.requirements_n++] =
			(struct requirement){ .op = REQUIRE_GT,
			                      .key = shared ? KEY_MOST : KEY_WHOLE,
			                      .values_first = k->models_n,
			                      .number = (shared ? k->gpu_milli : k->gpus) - 1 };
	builder_begin(&b, EVENT_SHAPE, o->time_ns);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, amounts, e.amounts_n * sizeof(amounts[0]));
	builder_add(&b, rules, e.requirements_n * sizeof(rules[0]));
	builder_add(&b, k->models, k->models_n * sizeof(k->models[0]));
	step(o, &b);
}

static void tell_pod(struct openb *o, uint32_t pod)
{
	char name[32];
	struct event_pod e = { .pod = pod,
		                   .generation = pod + 1,
		                   .flags = POD_OURS,
		                   .gang = ID_NONE,
		                   .shape = o->pods[pod],
		                   .node = ID_NONE,
		                   .created_ns = o->time_ns,
		                   .uid = { pod, 1 } };
	struct builder b;

	e.name_bytes = (uint32_t)snprintf(name, sizeof(name), "openb/pod-%05u", pod);
	builder_begin(&b, EVENT_POD, o->time_ns);
	builder_add(&b, &e, sizeof(e));
	builder_add(&b, name, e.name_bytes);
	step(o, &b);
}

static void drop_pod(struct openb *o, uint32_t pod)
{
	struct event_drop e = { .id = pod, .generation = pod + 1 };
	struct builder b;

	builder_begin(&b, EVENT_POD_DROP, o->time_ns);
	builder_add(&b, &e, sizeof(e));
	step(o, &b);
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	if (kind == CMD_BIND)
		((struct openb *)context)->bound = ((const struct cmd_bind *)body)->node;
	return true;
}

/* The GPU with the smallest sufficient share, or as many whole ones as requested. */
static bool take_gpus(struct gpu_node *n, const struct pod_kind *k)
{
	uint32_t best = GPUS_MAX, left = (uint32_t)k->gpus;

	if (k->gpus == 1 && k->gpu_milli < GPU_MILLI) {
		for (uint32_t i = 0; i < n->gpus; i++)
			if (GPU_MILLI - n->used[i] >= k->gpu_milli &&
			    (best == GPUS_MAX || n->used[i] > n->used[best]))
				best = i;
		if (best < GPUS_MAX)
			n->used[best] += k->gpu_milli;
		return best < GPUS_MAX;
	}
	for (uint32_t i = 0; i < n->gpus && left > 0; i++)
		if (n->used[i] == 0) {
			n->used[i] = k->gpu_milli;
			left--;
		}
	return left == 0;
}

static bool place_all(struct openb *o, double *percent)
{
	int64_t taken = 0;

	for (uint32_t pod = 0; pod < o->pods_n; pod++) {
		const struct pod_kind *k = &o->kinds[o->pods[pod]];

		o->bound = ID_NONE;
		tell_pod(o, pod);
		while (core_wants_plan(o->core))
			mark(o, EVENT_PLAN);
		if (o->bound == ID_NONE) {
			drop_pod(o, pod);
			continue;
		}
		if (!take_gpus(&o->nodes[o->bound], k)) {
			fprintf(stderr, "muster-bench: openb: a pod is on a node without such a GPU\n");
			return false;
		}
		taken += k->gpus * k->gpu_milli;
		if (k->gpus > 0)
			tell_node(o, o->bound);
	}
	*percent = 100 * (double)taken / (double)all_milli(o);
	return true;
}

static bool seed_run(struct openb *o, uint32_t seed, double *percent)
{
	struct core_config config = {
		.limits = { .nodes = NODES_MAX,
		            .pods = PODS_MAX,
		            .gangs = 16,
		            .shapes = KINDS_MAX,
		            .names = 16,
		            .resources = 5,
		            .name_bytes = 1u << 20,
		            .command_ring_bytes = 1u << 20 },
		.score = SCORE_BESTFIT,
		.emit = emit,
		.context = o,
	};
	const char *what = NULL;
	uint64_t bytes = core_ledger_bytes(&config.limits, &what);
	struct ledger *ledger = bytes ? aligned_alloc(4096, (bytes + 4095) & ~UINT64_C(4095)) : NULL;
	bool ok = false;

	o->random = seed;
	o->time_ns = 1;
	if (ledger)
		memset(ledger, 0, bytes);
	o->core = ledger ? core_new(&config, ledger) : NULL;
	if (o->core) {
		arrivals(o);
		mark(o, EVENT_BEGIN);
		gpu_name(o);
		for (uint32_t node = 0; node < o->nodes_n; node++) {
			memset(o->nodes[node].used, 0, sizeof(o->nodes[node].used));
			tell_node(o, node);
		}
		for (uint32_t kind = 0; kind < o->kinds_n; kind++)
			tell_shape(o, kind);
		mark(o, EVENT_SYNCED);
		ok = place_all(o, percent);
	} else {
		fprintf(stderr, "muster-bench: no memory for openb%s%s\n", what ? ": " : "",
		        what ? what : "");
	}
	core_free(o->core);
	free(ledger);
	return ok;
}

static bool trace_row(struct bench_report *report, const char *folder, const char *trace,
                      double published)
{
	struct openb *o = calloc(1, sizeof(*o));
	double percents[SEEDS];
	char name[64];
	bool ok = o && each_row(o, folder, "nodes", node_row) && each_row(o, folder, trace, pod_row);

	for (uint32_t i = 0; ok && i < SEEDS; i++)
		ok = seed_run(o, SEED_FIRST + i, &percents[i]);
	free(o);
	if (!ok)
		return false;
	for (uint32_t i = 1; i < SEEDS; i++)
		percents[0] += percents[i];
	snprintf(name, sizeof(name), "bestfit/%s", trace);
	bench_add_one(report, name, "percent", percents[0] / SEEDS, true, published);
	return true;
}

bool bench_openb(struct bench_report *report, const struct bench_options *options)
{
	static const struct {
		const char *trace;
		double bestfit;
	} published[] = { { "default", 93.08 },
		              { "cpu050", 93.79 },
		              { "gpushare40", 91.69 },
		              { "multigpu20", 93.93 },
		              { "gpuspec10", 93.30 } };
	char folder[PROCESS_PATH + 32] = "";

	if (options->data)
		snprintf(folder, sizeof(folder), "%s", options->data);
	else if (child_tree(folder))
		strcat(folder, "/bench/data/openb");
	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		if (options->only && strcmp(options->only, published[i].trace) != 0)
			continue;
		if (!trace_row(report, folder, published[i].trace, published[i].bestfit))
			return false;
	}
	if (report->rows_n > 0)
		return true;
	fprintf(stderr, "muster-bench: no openb trace named %s\n", options->only);
	return false;
}
