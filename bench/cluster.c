/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "bench/cluster.h"

#include "bench/bench.h"
#include "bench/cluster_records.h"
#include "core/world/feed.h"
#include "ipc/clock.h"
#include "ipc/units.h"

#define GIB (INT64_C(1) << 30)
#define SPARE_NAMES 256u
#define GANGS 4096u

static pod_id pod_begin(struct cluster *c, gang_id gang, uint32_t shape)
{
	pod_id pod = c->free_n > 0 ? c->free_pods[--c->free_n] : c->next_pod++;

	if (pod >= c->pods_limit) {
		fprintf(stderr, "muster-bench: more than %u pods at once\n", c->pods_limit);
		exit(1);
	}
	c->pods[pod] =
		(struct cluster_told){ .generation = ++c->generation, .gang = gang, .shape = shape };
	return pod;
}

pod_id cluster_pod(struct cluster *c, gang_id gang, uint32_t shape)
{
	pod_id pod = pod_begin(c, gang, shape);

	tell_pod(c, &(struct pod_spec){ .pod = pod, .gang = gang, .shape = shape, .node = ID_NONE });
	return pod;
}

pod_id cluster_pod_on(struct cluster *c, gang_id gang, uint32_t shape, struct cluster_terms terms)
{
	pod_id pod = pod_begin(c, gang, shape);

	tell_pod(c, &(struct pod_spec){ .pod = pod,
	                                .gang = gang,
	                                .shape = shape,
	                                .node = terms.node,
	                                .foreign = terms.node != ID_NONE,
	                                .queue = terms.queue,
	                                .run_s = terms.run_s });
	return pod;
}

void cluster_queue(struct cluster *c, uint32_t queue, uint32_t parent, bool guaranteed)
{
	tell_queue(c, queue, parent, guaranteed);
}

pod_id cluster_pod_labelled(struct cluster *c, uint32_t shape, uint32_t labels)
{
	pod_id pod = pod_begin(c, ID_NONE, shape);

	tell_pod(c, &(struct pod_spec){ .pod = pod,
	                                .gang = ID_NONE,
	                                .shape = shape,
	                                .node = pod % c->nodes,
	                                .foreign = true,
	                                .labels = labels });
	return pod;
}

void cluster_bound(struct cluster *c, const struct cluster_bind *bind)
{
	const struct cluster_told *told = &c->pods[bind->pod];
	struct result r = { .pod = bind->pod,
		                .generation = bind->pod_generation,
		                .node = bind->node,
		                .attempt = bind->attempt };

	tell(c, RESULT_BOUND, PARTS({ &r, sizeof(r) }));
	tell_pod(c,
	         &(struct pod_spec){
				 .pod = bind->pod, .gang = told->gang, .shape = told->shape, .node = bind->node });
}

void cluster_pod_end(struct cluster *c, pod_id pod)
{
	tell_drop(c, EVENT_POD_DROP, pod, c->pods[pod].generation);
	c->free_pods[c->free_n++] = pod;
}

void cluster_gang(struct cluster *c, gang_id gang, uint32_t quorum)
{
	c->gang_generations[gang] = ++c->generation;
	tell_gang(c, gang, quorum);
}

void cluster_gang_end(struct cluster *c, gang_id gang)
{
	tell_drop(c, EVENT_GANG_DROP, gang, c->gang_generations[gang]);
}

void cluster_new_shape(struct cluster *c, bool scarce)
{
	struct shape_spec s;

	if (c->new_shapes++ > 0)
		tell_drop(c, EVENT_SHAPE_DROP, SHAPE_NEW, 0);
	s = shape_spec(c, SHAPE_NEW);
	if (scarce)
		s = shape_spec_scarce(s);
	tell_shape(c, SHAPE_NEW, &s);
}

void cluster_soft_shapes(struct cluster *c)
{
	for (uint32_t shape = SHAPE_SERVICE; shape < SHAPE_DEVICE; shape++) {
		struct shape_spec s = shape_spec(c, shape);

		tell_shape(c, shape, &s);
	}
}

void cluster_node_join(struct cluster *c, node_id node)
{
	tell_node(c, node, 0);
}

void cluster_node_leave(struct cluster *c, node_id node)
{
	tell_drop(c, EVENT_NODE_DROP, node, 1);
}

void cluster_node(struct cluster *c, node_id node, bool more)
{
	tell_node(c, node, more ? 8 * GIB : 0);
}

/* The core's loop publishes changes after that many records at most; other feeds have a loop of
 * their own. */
#define SHOWN_AFTER 256u

static void show(struct cluster *c)
{
	if (c->core)
		core_show(c->core);
}

/* In the measured path: only what the core's own loop does. */
bool cluster_turn(struct cluster *c)
{
	const struct record r = {
		.bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = 1, .time_ns = c->time_ns
	};

	if (!core_wants_plan(c->core))
		return false;
	c->time_ns += 1000;
	if (!c->feed(c, &r))
		exit(1);
	show(c);
	ring_publish(&c->commands);
	return true;
}

void cluster_decide(struct cluster *c)
{
	while (cluster_turn(c))
		;
}

void cluster_take(struct cluster *c)
{
	struct record *r = (struct record *)(void *)c->buffer;

	while (ring_read(&c->taken, r) == 1)
		cluster_command(c, r->kind, r + 1);
	ring_release(&c->taken);
}

uint64_t cluster_plan(struct cluster *c)
{
	uint64_t took = bench_now_ns();

	cluster_decide(c);
	took = bench_now_ns() - took;
	cluster_take(c);
	return took;
}

uint64_t cluster_single(struct cluster *c, uint32_t shape)
{
	const pod_id pod = cluster_pod(c, ID_NONE, shape);
	const uint64_t took = cluster_plan(c);

	cluster_pod_end(c, pod);
	cluster_plan(c);
	return took;
}

void cluster_batch(struct cluster *c)
{
	c->batching = true;
	c->batch_bytes = 0;
}

uint64_t cluster_run(struct cluster *c)
{
	uint64_t start = bench_now_ns();
	uint32_t n = 0;

	c->batching = false;
	for (size_t at = 0; at < c->batch_bytes;) {
		const struct record *r = (const void *)(c->batch + at);

		if (!c->feed(c, r))
			exit(1);
		at += r->bytes;
		if (++n % SHOWN_AFTER == 0)
			show(c);
	}
	show(c);
	return bench_now_ns() - start;
}

void cluster_command(struct cluster *c, enum record_kind kind, const void *body)
{
	if (kind == CMD_BIND) {
		const struct cmd_bind *b = body;

		c->bind[c->binds++ % CLUSTER_BINDS] =
			(struct cluster_bind){ .pod = b->pod,
			                       .node = b->node,
			                       .pod_generation = b->pod_generation,
			                       .attempt = b->attempt };
	} else if (kind == CMD_REASON) {
		c->reasons++;
	}
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct cluster *c = context;
	struct record *r = ring_reserve(&c->commands, kind, bytes, c->time_ns);

	if (r)
		memcpy(r + 1, body, bytes);
	if (r && c->followed)
		feed_output(c->followed, kind, body, bytes);
	return r;
}

static int make(void *context, uint64_t offset, uint64_t bytes)
{
	return segment_make(&((struct cluster *)context)->segment, offset, bytes);
}

/* As the loop: what a world costs is behind one branch. */
static __attribute__((noinline)) int apply_followed(struct cluster *c, const struct record *r)
{
	int rc;

	feed_input(c->followed, r);
	rc = core_apply(c->core, r);
	feed_done(c->followed, rc, false);
	return rc;
}

static bool feed_core(struct cluster *c, const struct record *r)
{
	int rc = c->followed ? apply_followed(c, r) : core_apply(c->core, r);

	if (rc == 0)
		return true;
	fprintf(stderr, "muster-bench: record kind %u: %s: %s\n", r->kind, strerror(-rc),
	        core_fault(c->core));
	return false;
}

struct limits cluster_limits(const struct cluster_setup *s)
{
	return (struct limits){ .nodes = s->nodes + s->spare,
		                    .pods = s->pods_more + (s->bare ? 1 : 2 * s->nodes),
		                    .gangs = GANGS,
		                    .shapes = 128,
		                    .names = SPARE_NAMES,
		                    .resources = s->resources ? s->resources : 8,
		                    .name_bytes = (uint64_t)s->nodes * 64 + (1u << 20),
		                    /* muster-core's default, and more where commands are read in one go. */
		                    .command_ring_bytes = s->bare ? 1u << 20 : 1u << 22 };
}

/* Two foreign pods for each node: one of some eighths of it, one of any size. */
static void half_fill(struct cluster *c)
{
	for (uint32_t node = 0; node < c->nodes; node++) {
		uint32_t type = node % CLUSTER_TYPES, mixed = node * 2654435761u >> 16;
		uint32_t shapes[2] = { SHAPE_FILL + type * CLUSTER_FILLS + mixed % CLUSTER_FILLS,
			                   SHAPE_MIX + mixed / CLUSTER_FILLS % CLUSTER_MIX };

		for (int i = 0; i < 2; i++)
			tell_pod(c, &(struct pod_spec){ .pod = pod_begin(c, ID_NONE, shapes[i]),
			                                .gang = ID_NONE,
			                                .shape = shapes[i],
			                                .node = node,
			                                .foreign = true });
	}
}

static void fill(struct cluster *c, bool bare)
{
	tell(c, EVENT_BEGIN, NO_PARTS);
	tell_names(c);
	for (uint32_t shape = 0; shape < SHAPES_N; shape++) {
		struct shape_spec s = shape_spec(c, shape);

		if (shape != SHAPE_NEW)
			tell_shape(c, shape, &s);
	}
	for (uint32_t node = 0; node < c->nodes; node++)
		tell_node(c, node, 0);
	if (!bare)
		half_fill(c);
	tell(c, EVENT_SYNCED, NO_PARTS);
}

static bool no_room(struct cluster *c, const char *what)
{
	fprintf(stderr, "muster-bench: no memory for %u nodes%s%s\n", c->nodes, what ? ": " : "",
	        what ? what : "");
	cluster_free(c);
	return false;
}

static bool core_init(struct cluster *c, uint32_t promises)
{
	/* muster-core's default. */
	struct core_config config = { .limits = c->limits,
		                          .emit = emit,
		                          .make = make,
		                          .context = c,
		                          .clock_ns = clock_monotonic_ns,
		                          .reserve_after_ns = UINT64_C(60000000000),
		                          .promise_depth = promises,
		                          .promise_grain_ns = NS_PER_S };
	const char *what = NULL;
	uint64_t bytes = core_ledger_bytes(&config.limits, &what);
	unsigned char *ring;

	c->feed = feed_core;
	if (bytes > 0 && segment_create_bare(&c->segment, "muster-bench", bytes) == 0 &&
	    segment_make(&c->segment, 0, core_ledger_bytes_first(&config.limits)) == 0)
		c->ledger = c->segment.base;
	c->core = c->ledger ? core_new(&config, c->ledger) : NULL;
	c->buffer = malloc(RECORD_BYTES_MAX);
	if (!c->core || !c->buffer)
		return no_room(c, what);
	ring = (unsigned char *)c->ledger + c->ledger->command_ring.offset;
	ring_writer_init(&c->commands, ring, c->limits.command_ring_bytes, &c->ledger->command_tail,
	                 &c->taken_head, 1);
	ring_reader_init(&c->taken, ring, c->limits.command_ring_bytes, &c->ledger->command_tail,
	                 &c->taken_head, 1);
	return true;
}

bool cluster_init(struct cluster *c, const struct cluster_setup *setup)
{
	*c = (struct cluster){ .limits = cluster_limits(setup),
		                   .nodes = setup->nodes,
		                   .racks = setup->racks,
		                   .scattered = setup->scattered,
		                   .feed = setup->feed,
		                   .feed_context = setup->feed_context,
		                   .time_ns = 1 };
	c->pods_limit = c->limits.pods;
	c->free_pods = malloc(c->pods_limit * sizeof(*c->free_pods));
	c->pods = malloc(c->pods_limit * sizeof(*c->pods));
	c->gang_generations = malloc(GANGS * sizeof(*c->gang_generations));
	c->bind = malloc(CLUSTER_BINDS * sizeof(*c->bind));
	if (!c->free_pods || !c->pods || !c->gang_generations || !c->bind)
		return no_room(c, NULL);
	if (!c->feed && !core_init(c, setup->promises))
		return false;
	fill(c, setup->bare);
	if (c->core)
		cluster_plan(c);
	return true;
}

void cluster_free(struct cluster *c)
{
	core_free(c->core);
	segment_close(&c->segment);
	free(c->free_pods);
	free(c->pods);
	free(c->gang_generations);
	free(c->bind);
	free(c->batch);
	free(c->buffer);
}
