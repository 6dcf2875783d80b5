/* SPDX-License-Identifier: Apache-2.0 */
/* How long from the event of a pending pod on one ring to its binding on the other? The core's own
 * loop runs on CPU 1 with the real segments; this thread is the frontend on CPU 0. Between two
 * samples the core has no work left and spins. */
#include "bench/bench.h"
#include "bench/cluster.h"
#include "core/daemon/loop.h"
#include "ipc/ring.h"
#include "ipc/wake.h"

#include <sched.h>

#define NODES 5000u
#define EVENT_RING_BYTES (UINT64_C(1) << 24)
#define RESULT_RING_BYTES (UINT64_C(1) << 20)
#define PATIENCE_NS UINT64_C(20000000000)

struct pipe {
	struct cluster cluster;
	struct loop *loop;
	struct link_peer peer;
	struct ring_writer events, results;
	struct ring_reader commands;
	const struct ledger *ledger;
	struct intake *intake;
	uint64_t start_ns; /* of the last record */
	alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
};

static void notify(void *context)
{
}

static void take_commands(struct pipe *p)
{
	struct record *r = (struct record *)(void *)p->buffer;

	while (ring_read(&p->commands, r) == 1)
		cluster_command(&p->cluster, r->kind, r + 1);
	ring_release(&p->commands);
}

static void publish(struct pipe *p, struct ring_writer *ring)
{
	ring_publish(ring);
	wake_up(&p->intake->core_doorbell, &p->ledger->core_parked);
}

static bool feed_ring(struct cluster *c, const struct record *r)
{
	struct pipe *p = c->feed_context;
	struct ring_writer *ring =
		r->kind >= RESULT_BOUND && r->kind <= RESULT_UNKNOWN ? &p->results : &p->events;
	uint64_t begun = bench_now_ns();
	uint32_t body = r->bytes - (uint32_t)sizeof(*r);
	struct record *place;

	while (!(place = ring_reserve(ring, r->kind, body, r->time_ns))) {
		publish(p, ring);
		take_commands(p);
		if (ring->broken || loop_peer(p->loop) != PEER_SERVED ||
		    bench_now_ns() - begun > PATIENCE_NS) {
			fprintf(stderr, "muster-bench: the core does not take records any more\n");
			return false;
		}
	}
	memcpy(place + 1, r + 1, body);
	p->start_ns = begun;
	publish(p, ring);
	return true;
}

/* Until the core has read everything. */
static bool settle(struct pipe *p)
{
	uint64_t begun = bench_now_ns();

	while (atomic_load_explicit(&p->ledger->event_head, memory_order_acquire) !=
	           p->events.tail_published ||
	       atomic_load_explicit(&p->ledger->result_head, memory_order_acquire) !=
	           p->results.tail_published) {
		take_commands(p);
		if (bench_now_ns() - begun > PATIENCE_NS || loop_peer(p->loop) != PEER_SERVED)
			return false;
	}
	for (begun = bench_now_ns(); bench_now_ns() - begun < 3000;)
		take_commands(p);
	return true;
}

static bool connect_rings(struct pipe *p)
{
	const unsigned char *ledger;
	unsigned char *intake;
	uint64_t begun = bench_now_ns(), epoch;

	if (link_make_intake(&p->peer.intake, EVENT_RING_BYTES, RESULT_RING_BYTES) < 0 ||
	    intake_check(&p->peer.intake, &p->peer.places) < 0)
		return false;
	p->peer.fd = -1;
	p->peer.role = LINK_FRONTEND;
	loop_offer(p->loop, &p->peer);
	while (loop_peer(p->loop) != PEER_SERVED) {
		sched_yield();
		if (bench_now_ns() - begun > PATIENCE_NS)
			return false;
	}
	p->intake = p->peer.intake.base;
	p->ledger = loop_ledger(p->loop)->base;
	intake = p->peer.intake.base;
	ledger = loop_ledger(p->loop)->base;
	epoch = loop_epoch(p->loop);
	ring_writer_init(&p->events, intake + p->peer.places.event_ring.offset,
	                 p->peer.places.event_ring.bytes, &p->intake->event_tail,
	                 &p->ledger->event_head, epoch);
	ring_writer_init(&p->results, intake + p->peer.places.result_ring.offset,
	                 p->peer.places.result_ring.bytes, &p->intake->result_tail,
	                 &p->ledger->result_head, epoch);
	ring_reader_init(&p->commands, ledger + p->ledger->command_ring.offset,
	                 p->ledger->command_ring.bytes, &p->ledger->command_tail,
	                 &p->intake->command_head, epoch);
	return true;
}

/* ns until the binding arrived; 0: it never did. */
static uint64_t single(struct pipe *p, uint32_t shape)
{
	struct cluster *c = &p->cluster;
	uint64_t binds = c->binds, start, end;
	pod_id pod = cluster_pod(c, ID_NONE, shape);

	start = p->start_ns;
	do {
		take_commands(p);
		end = bench_now_ns();
	} while (c->binds == binds && end - start < PATIENCE_NS);
	if (c->binds == binds)
		return 0;
	cluster_bound(c, &c->bind[binds % CLUSTER_BINDS]);
	cluster_pod_end(c, pod);
	return settle(p) ? end - start : 0;
}

static bool measure(struct bench_report *report, struct pipe *p, uint32_t n)
{
	enum { WARM = 500 };
	double *samples = malloc(n * sizeof(*samples));
	bool ok = samples != NULL;

	for (uint32_t i = 0; ok && i < n + WARM; i++) {
		uint64_t took = single(p, i % 2 ? SHAPE_GPU : SHAPE_ZONE);

		ok = took > 0;
		if (i >= WARM)
			samples[i - WARM] = (double)took / 1000;
	}
	if (ok)
		bench_add(report, "pipeline-single", "us", samples, n, false, 0);
	else
		fprintf(stderr, "muster-bench: a binding never came\n");
	free(samples);
	return ok;
}

bool bench_pipeline(struct bench_report *report, const struct bench_options *options)
{
	struct cluster_setup setup = { .nodes = options->nodes ? options->nodes : NODES,
		                           .pods_more = 1000,
		                           .feed = feed_ring };
	struct loop_config config = {
		.core.limits = cluster_limits(&setup), .spin_ns = 50000, .cpu = 1, .notify = notify
	};
	struct pipe *p =
		aligned_alloc(CACHE_LINE, (sizeof(*p) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	const char *what = "memory";
	bool ok;

	if (!p || !bench_pin(0))
		return false;
	memset(p, 0, sizeof(*p));
	setup.feed_context = p;
	if (loop_start(&p->loop, &config, &what) < 0) {
		fprintf(stderr, "muster-bench: can't start the core's loop: %s\n", what);
		free(p);
		return false;
	}
	ok = connect_rings(p);
	if (ok) {
		ok = cluster_init(&p->cluster, &setup) && settle(p) &&
		     measure(report, p, options->quick ? 1000 : 20000);
		cluster_free(&p->cluster);
	} else {
		fprintf(stderr, "muster-bench: the core's loop does not serve the rings\n");
	}
	loop_stop(p->loop);
	segment_close(&p->peer.intake);
	free(p);
	return ok;
}
