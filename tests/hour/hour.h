/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster for an hour of virtual time: the core's and the frontend's code, muster-apisim's, and
 * kubelets, in one thread without faults.  tests/sim breaks everything in a cluster of ten nodes;
 * this breaks nothing in one of a hundred thousand.
 *
 *   hour.c     the loop over virtual time, and the figures
 *   time.c     timers
 *   net.c      requests and watches between the frontend and the API server
 *   daemons.c  core and frontend, the rings between them, and what they cost
 *   load.c     pods and gangs that come, run and end; nodes that join and leave
 *   room.c     the judge: is a node overfilled?
 *
 * A run is a function of its settings; what is measured decides nothing. */
#ifndef MUSTER_TESTS_HOUR_H
#define MUSTER_TESTS_HOUR_H

#include "frontend/base/env.h"
#include "frontend/base/histogram.h"
#include "ipc/abi.h"
#include "tests/apisim/api.h"

#include <stdbool.h>
#include <stdint.h>

#define HOUR_US UINT64_C(1000)
#define HOUR_MS UINT64_C(1000000)
#define HOUR_S UINT64_C(1000000000)
#define HOUR_NEVER UINT64_MAX
#define HOUR_EPOCH_NS (UINT64_C(1795000000) * HOUR_S) /* wall clock of virtual time 0 */
#define HOUR_NONE UINT32_MAX

struct hour_settings {
	uint32_t nodes;
	uint32_t rate;    /* pods created a second, half of them as members of gangs */
	uint32_t seconds; /* for how long */
	uint32_t gang;    /* members of the largest gang; sizes are powers of two up to it */
	uint32_t churn;   /* nodes that join a minute; as many leave */
	uint32_t life_s;  /* mean time that a pod runs */
};

enum timer_kind {
	TIMER_CALL,  /* a request arrives, or its answer does */
	TIMER_MAKE,  /* pods are created */
	TIMER_POD,   /* the next step of a pod's life */
	TIMER_GANG,  /* all members of a gang that has begun must be bound by now */
	TIMER_JOIN,  /* of nodes */
	TIMER_LEAVE, /* ... */
};

struct timer {
	uint64_t at_ns, order; /* among equal times the first one added */
	enum timer_kind kind;
	uint32_t index, serial; /* of a pod or gang */
	struct http_call *call;
};

struct timers {
	struct timer *at; /* a binary heap */
	size_t n, room;
	uint64_t added;
};

void timers_add(struct timers *t, struct timer timer);
uint64_t timers_due_ns(const struct timers *t); /* HOUR_NEVER: there is none */
struct timer timers_take(struct timers *t);     /* the first one */

struct hour_net;
struct daemons;
struct load;
struct room;

struct hour {
	struct hour_settings settings;
	uint64_t now_ns; /* virtual, from 0 */
	uint64_t random;
	uint64_t api_random;
	struct timers timers;
	struct as_api *api;
	struct hour_net *net;
	struct daemons *daemons;
	struct load *load;
	struct room *room;
	bool failed;
	char why[512]; /* the first violation */
};

struct bench_report;

/* Adds its rows; false and a message after a violation. */
bool hour_run(struct bench_report *report, const struct hour_settings *settings);

void hour_fail(struct hour *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t hour_random(struct hour *h, uint64_t below); /* below > 0 */
void hour_after(struct hour *h, uint64_t delay_ns, enum timer_kind kind, uint32_t index,
                uint32_t serial);
/* A request of a user, a controller or a kubelet. Returns the status. */
int hour_request(struct hour *h, const char *method, const char *target, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

struct hour_net *hour_net_new(struct hour *h);
void hour_net_free(struct hour_net *n); /* after the frontend */
struct transport *hour_net_transport(struct hour_net *n);
void hour_net_timer(struct hour_net *n, struct http_call *c);
uint64_t hour_net_due_ns(struct hour_net *n); /* of watches */
void hour_net_watches(struct hour_net *n);

/* What one of the two processes has cost. */
struct side {
	uint64_t cpu_ns;
	int64_t heap_bytes, heap_most; /* live allocations; 0: the allocator has no counters */
	struct histogram turns;        /* CPU time, by buckets_fine */
};

/* A turn of the core's loop, as core/daemon/loop.c makes them. */
struct core_turn {
	uint64_t at_ns; /* virtual */
	uint64_t cpu_ns, parts_ns[LOOP_PARTS];
	uint32_t records;
	uint32_t slowest_kind; /* of its records, by the clock of the wall */
	uint64_t slowest_ns;
};

#define TURNS_KEPT 8u

struct daemons_figures {
	struct side core, frontend;
	uint64_t parts_most_ns[LOOP_PARTS];   /* once all objects were listed */
	uint64_t start_most_ns;               /* the longest turn before */
	struct core_turn longest[TURNS_KEPT]; /* after it, the longest first */
	uint64_t ledger_bytes;
};

struct daemons *daemons_new(struct hour *h); /* it is h->daemons */
void daemons_free(struct daemons *d);
void daemons_run(struct daemons *d); /* what is due */
uint64_t daemons_due_ns(const struct daemons *d);
bool daemons_synced(const struct daemons *d);
/* Around each callback of the frontend. */
void daemons_callback_begin(struct daemons *d);
void daemons_callback_end(struct daemons *d);
/* What is allocated between the two is not of the process that runs. */
int64_t daemons_heap_begin(void);
void daemons_heap_end(struct daemons *d, int64_t before);
const struct daemons_figures *daemons_figures(const struct daemons *d);
/* Recomputes the sums of core and model. */
void daemons_check(struct daemons *d);

struct load_figures {
	uint64_t created, bound, ended, lost;  /* pods; lost: with a node that left */
	uint64_t gangs, gangs_lost;            /* lost: a member was, so that all were deleted */
	uint64_t joins, leaves, late;          /* late: Bindings to a node that had just left */
	uint64_t waiting;                      /* pods without a node now */
	struct histogram wait_lone, wait_gang; /* from its creation, or that of the last member, to
	                                        * the Binding's effect: virtual, by buckets_fine */
};

struct load *load_new(struct hour *h); /* and the nodes */
void load_free(struct load *l);
void load_start(struct load *l);
void load_stop(struct load *l); /* no more pods and nodes */
void load_timer(struct load *l, const struct timer *t);
void load_bound(struct load *l, const char *path, const char *body); /* a Binding took effect */
const struct load_figures *load_figures(const struct load *l);

enum { ROOM_CPU, ROOM_MEMORY, ROOM_GPU, ROOM_PODS, ROOMS };
struct amounts {
	int64_t of[ROOMS]; /* milli of cpu, MiB */
};

struct room *room_new(uint32_t nodes); /* at most so many in all */
void room_free(struct room *r);
/* The name of a node: in no order, as clouds give them. */
void room_name(uint32_t node, char out[16]);
uint32_t room_node(const struct room *r, const char *name); /* HOUR_NONE: there was none */
void room_join(struct room *r, uint32_t node, struct amounts size);
void room_leave(struct room *r, uint32_t node);
bool room_has(const struct room *r, uint32_t node);
/* False: the node is overfilled. */
bool room_take(struct room *r, uint32_t node, struct amounts wants);
void room_give(struct room *r, uint32_t node, struct amounts wants);
/* Share of the cpu of all nodes that is taken. */
double room_taken(const struct room *r);
/* All sums again from the API server's objects. */
void room_check(struct room *r, struct hour *h);

#endif
