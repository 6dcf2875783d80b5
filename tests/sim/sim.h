/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: core, the frontend's logic, an API server, kubelets and what goes wrong
 * among them, in one thread on virtual time from one seed.
 *
 *   script.c   the seed becomes a list of actions: what users, nodes, other schedulers and
 *            faults do, and when
 *   act.c    one action, done to the API server or to a process
 *   net.c    the network: struct transport over tests/apisim as a function
 *   duo.c    the two processes of an instance: frontend.h and core.h with the real rings between
 * them book.c   what must hold at every revision of the API server's history rest.c   what must
 * hold when all has come to rest story.c  what happened, for who reads a failure shrink.c the
 * shortest list of actions that still fails
 *
 * Some runs have two instances of which one leads by a lease.  Each has a network and clocks of its
 * own.
 *
 * A run is a function of its list of actions and its seed.  The judges (book.c, rest.c) share no
 * code with what they judge; only "what would a fresh start place" asks a second core. */
#ifndef MUSTER_TESTS_SIM_H
#define MUSTER_TESTS_SIM_H

#include "core/step/core.h"
#include "frontend/base/env.h"
#include "frontend/loop/frontend.h"
#include "tests/apisim/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MS UINT64_C(1000000)
#define SIM_S UINT64_C(1000000000)
#define SIM_NEVER UINT64_MAX
#define SIM_EPOCH_NS (UINT64_C(1795000000) * SIM_S) /* wall clock of virtual time 0 */

/* ---- random numbers -------------------------------------------------------- */

uint64_t sim_mix(uint64_t x);                    /* a hash */
uint64_t sim_next(uint64_t *state);              /* splitmix64 */
uint64_t sim_below(uint64_t *state, uint64_t n); /* n > 0 */
bool sim_percent(uint64_t *state, unsigned percent);

/* ---- script.c ------------------------------------------------------------------ */

enum act {
	ACT_POD_NEW,      /* a pod, b group or NONE, c shape */
	ACT_POD_DELETE,   /* a pod, b grace in s */
	ACT_POD_AGAIN,    /* a pod: deleted and made anew with the same name */
	ACT_POD_END,      /* a pod: Succeeded or Failed (b) */
	ACT_POD_UNGATE,   /* a pod */
	ACT_POD_GRAB,     /* a pod: another scheduler binds it */
	ACT_POD_TOUCH,    /* a pod: a label changes, so its version moves */
	ACT_GROUP_NEW,    /* a group, b quorum */
	ACT_GROUP_EDIT,   /* a group, b quorum */
	ACT_GROUP_DELETE, /* a group */
	ACT_FOREIGN,      /* a pod of another scheduler, bound at once, c shape */
	ACT_NODE_NEW,     /* a node, b cpu */
	ACT_NODE_CORDON,  /* a node, b 0 or 1 */
	ACT_NODE_SIZE,    /* a node, b cpu */
	ACT_NODE_DELETE,  /* a node */
	ACT_CORE_DIES,    /* of instance a; down for b ms */
	ACT_FRONTEND_DIES,
	ACT_BOTH_DIE,
	ACT_API_DIES,   /* down for b ms */
	ACT_CORE_STOPS, /* stands still for b ms */
	ACT_FRONTEND_STOPS,
	ACT_COMPACT,
	ACT_WATCHES_CUT,  /* in the middle of a line if need be */
	ACT_WATCHES_SLOW, /* each by its own delay, for b ms */
	ACT_NET,          /* fate a for b ms, in c percent of requests */
	ACT_CUT,          /* instance a hears nothing of the API server for b ms */
	ACT_CLOCK,        /* the wall clock jumps by a s, forward or (b) back */
	ACT_KINDS
};

#define SIM_GROUPS_PATH "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
#define SIM_NONE UINT32_MAX
#define SIM_NODES 10u
#define SIM_PODS 120u
#define SIM_GROUPS 16u
#define SIM_INSTANCES 2u

struct action {
	uint64_t at_ns;
	enum act act;
	uint32_t a, b, c;
};

struct script {
	uint64_t seed;
	struct action *at; /* by at_ns */
	size_t n;
	uint64_t end_ns; /* of the actions: then all faults are over */
	uint64_t event_ring_bytes, result_ring_bytes, command_ring_bytes;
	uint64_t hold_after_ns;
	uint32_t instances;
	uint32_t rate_permille; /* of the second one's monotonic clock */
	bool kubelets;
	bool foreign; /* others bind, and nodes change */
};

void script_make(struct script *p, uint64_t seed);
void script_free(struct script *p);
const char *act_name(enum act act);

/* What happens to a request. */
enum fate {
	FATE_SOUND,
	FATE_NOT_SENT,     /* no connection */
	FATE_LOST_REQUEST, /* never came there, the connection breaks */
	FATE_LOST_REPLY,   /* it took effect, the connection breaks */
	FATE_LATE,         /* 504 at once, and it takes effect up to 40 s later */
	FATE_LATE_LOST,    /* no answer, and it takes effect after the timeout or before */
	FATE_500_BEFORE,
	FATE_500_AFTER,
	FATE_409_BEFORE, /* etcd's timeout as a Conflict */
	FATE_409_AFTER,
	FATE_429,
	FATE_503_BEFORE,
	FATE_502_AFTER,
	FATE_403,
	FATE_401,
	FATE_SLOW,      /* up to 10 s */
	FATE_410,       /* of lists' pages and watches */
	FATE_HALF_OPEN, /* a watch that says nothing from now on */
	FATE_TWICE,     /* a watch that sends an event a second time */
	FATES
};

const char *fate_name(enum fate fate);

/* ---- the world --------------------------------------------------------------- */

struct net;
struct duo;
struct book;
struct story;
struct as_kubelets;

struct sim {
	const struct script *script;
	uint64_t now_ns;      /* virtual, from 0 */
	int64_t wall_jump_ns; /* of the frontends' wall clocks */
	uint64_t random;      /* of the frontends */
	uint64_t api_random;
	uint64_t faults_random;
	struct as_api *api;
	struct as_kubelets *kubelets;
	struct net *nets[SIM_INSTANCES];
	struct duo *duos[SIM_INSTANCES];
	struct book *book;
	struct story *story;
	bool failed;
	char why[1024]; /* the violation, its first word names the invariant */
	uint64_t steps;
};

/* The first violation is kept. */
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is a gang torn at rest, with some of its members bound and not as many as have to be?  Then by
 * what. */
enum tear {
	TEAR_NONE,   /* it is whole */
	TEAR_LOST,   /* a member was deleted or ended, or the group was edited */
	TEAR_LESS,   /* others took room, or a node shrank, was cordoned or deleted */
	TEAR_ORPHAN, /* a Binding landed of which nobody alive knew */
	TEAR_FAULT,  /* by muster */
	TEARS
};

struct outcome {
	bool failed;
	char why[1024];
	uint64_t hash; /* of the whole story */
	uint64_t steps, revisions, virtual_ns;
	uint64_t binds, crashes, faults;
	uint64_t gangs[TEARS];
};

/* Run the plan.  The story goes to standard output when `tell`, its last lines. */
void sim_run(const struct script *plan, bool tell, bool tell_all, struct outcome *out);

/* A request of a user, another scheduler or a controller: no fault hits it.  The status. */
int sim_user(struct sim *s, const char *method, const char *target, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- act.c ---- */
void act_do(struct sim *s, const struct action *a);
void act_start(struct sim *s); /* what is there before anything happens */

/* ---- net.c ---- */
/* may_write(context): asked before each request that changes something and isn't about the lease.
 */
struct net *net_new(struct sim *s, uint32_t instance, bool (*may_write)(void *context));
void net_context(struct net *n, void *context);
void net_free(struct net *n);
struct transport *net_transport(struct net *n);
void net_window(struct net *n, enum fate fate, uint64_t until_ns, unsigned percent);
void net_watches_slow(struct net *n, uint64_t until_ns);
void net_cut_watches(struct net *n);
void net_down(struct net *n, uint64_t until_ns); /* all connections break; none opens before */
void net_calm(struct net *n);                    /* no faults any more */
/* The client is dead: what it sent may arrive yet, nobody hears of it. */
void net_orphan(struct net *n);
uint32_t net_life(const struct net *n); /* of the client, unlike any other client's */
/* Do what is due; true when the client was told something. */
bool net_run(struct net *n);
uint64_t net_due_ns(struct net *n);
unsigned net_busy(const struct net *n); /* requests that are no watches, nor about the lease */
uint64_t net_requests(const struct net *n);
uint64_t net_faults(const struct net *n);

/* ---- duo.c ---- */
struct duo *duo_new(struct sim *s, uint32_t instance);
void duo_free(struct duo *p);
void duo_core_dies(struct duo *p, uint64_t down_ns);
void duo_frontend_dies(struct duo *p, uint64_t down_ns);
void duo_core_stops(struct duo *p, uint64_t ns);
void duo_frontend_stops(struct duo *p, uint64_t ns);
void duo_run(struct duo *p, bool heard);
uint64_t duo_due_ns(const struct duo *p);
/* NULL: all is up, nothing on a ring, nothing to plan or to send; else what is not so. */
const char *duo_busy(const struct duo *p);
bool duo_leads(const struct duo *p); /* up, and may act */
bool duo_holds(const struct duo *p); /* the core keeps room for a gang */
bool duo_may_write(void *duo);
void duo_check(struct duo *p, bool thorough);
uint64_t duo_crashes(const struct duo *p);

/* ---- book.c ---- */
struct book *book_new(struct sim *s);
void book_free(struct book *b);
void book_look(struct book *b); /* at all revisions since the last look */
/* The server said what this group is, and will be heard. */
void book_group_read(struct book *b, const char *name);
/* A Binding came to the server; it is handled between these two. */
void book_post_begin(struct book *b, const char *path, const char *body, uint32_t frontend_life);
void book_post_end(struct book *b);
/* A request leaves that changes something and isn't about the lease. */
void book_writes(struct book *b, uint32_t instance, const char *path);
/* The core of an instance heard of it, or said it: what it can know is what it is judged by. */
void book_core_began(struct book *b,
                     uint32_t instance); /* EVENT_BEGIN: it forgets all but its own bindings */
void book_core_died(struct book *b, uint32_t instance);
void book_all_died(struct book *b,
                   uint32_t instance); /* nobody is left who knows which Bindings are under way */
void book_core_pod(struct book *b, uint32_t instance, const uint64_t uid[2], const char *node);
void book_core_node(struct book *b, uint32_t instance, const char *name,
                    const struct amount *amounts, uint32_t n);
void book_core_binds(struct book *b, uint32_t instance, const char *uid, const char *node,
                     uint32_t frontend_life);
uint64_t book_revisions(const struct book *b);
uint64_t book_changes(const struct book *b); /* revisions but for those of leases */
uint64_t book_binds(const struct book *b);
/* Gangs of which some member was bound, by what book_rest() found. */
uint64_t book_gangs(const struct book *b, enum tear tear);
/* Gangs are whole and conditions there; else false and why. */
bool book_rest(struct book *b, char *why, size_t why_bytes);

/* ---- rest.c ---- */
/* Would a core that starts afresh on the API server's state bind nothing?  Else false and what. */
bool rest_fresh(struct sim *s, char *out, size_t out_bytes);

/* ---- story.c ---- */
struct story *story_new(bool tell_all);
void story_free(struct story *s);
void story_tell(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t story_hash(const struct story *s);
void story_print(const struct story *s);

/* ---- shrink.c ---- */
/* A part of the plan that still fails by the same invariant; `out` is a plan of its own. */
void script_shrink(const struct script *plan, const char *why, unsigned runs_max,
                   struct script *out);

#endif
