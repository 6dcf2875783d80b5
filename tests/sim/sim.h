/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: core, the frontend's logic, an API server, kubelets and faults, in one thread on
 * virtual time from one seed.
 *
 *   script.c       makes a list of actions of the seed: users, nodes, other schedulers and faults
 *   queues.c       queues of the cluster, edits of them, and what they use, counted again
 *   uses.c         what they use, as the core has it
 *   claims.c       claims of devices: their controller, drivers, another scheduler, and the checks
 *   tenants.c      what the owner of one namespace does to the others
 *   hole.c         a load that a late Binding ends badly
 *   workload.c     applies one action to the API server or to a process
 *   net.c          the network: struct transport over tests/apisim as a function
 *   fate.c         the faults of requests
 *   instance.c     the two processes of an instance: frontend.h and core.h
 *   rings.c        the real rings between them
 *   version.c      the code of a version: these functions as a table
 *   invariants.c   what must hold at every revision of the API server's history, and at rest
 *   texts.c        the part of it that is about texts
 *   at_rest.c      the part of it that holds at rest
 *   fresh_start.c  what a core that starts on the state at rest would bind: nothing
 *   story.c        the events of a run, for the reader of a failure
 *   shrink.c       the shortest list of actions that still fails
 *
 * Some runs have two instances of which one leads by a lease.  Each has a network and clocks of its
 * own.  With a second version of muster each instance has a version, and another one after some
 * deaths: an upgrade, or the way back.
 *
 * A run is a function of its list of actions and its seed.  invariants.c shares no code with what
 * it checks. */
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

uint64_t sim_mix(uint64_t x);                    /* a hash */
uint64_t sim_next(uint64_t *state);              /* splitmix64 */
uint64_t sim_below(uint64_t *state, uint64_t n); /* n > 0 */
bool sim_percent(uint64_t *state, unsigned percent);

enum action_kind {
	ACTION_POD_NEW,      /* a pod, b group or NONE, c shape */
	ACTION_POD_DELETE,   /* a pod, b grace in s */
	ACTION_POD_AGAIN,    /* a pod: deleted and created again with the same name */
	ACTION_POD_END,      /* a pod: Succeeded or Failed (b) */
	ACTION_POD_UNGATE,   /* a pod */
	ACTION_POD_GRAB,     /* a pod: another scheduler binds it */
	ACTION_POD_TOUCH,    /* a pod: a label changes, so its version moves */
	ACTION_GROUP_NEW,    /* a group, b quorum */
	ACTION_GROUP_EDIT,   /* a group, b quorum */
	ACTION_GROUP_DELETE, /* a group */
	ACTION_TENANT,       /* a trick of tenants.c */
	ACTION_FOREIGN,      /* a pod of another scheduler, bound at once, c shape */
	ACTION_NODE_NEW,     /* a node, b cpu */
	ACTION_NODE_CORDON,  /* a node, b 0 or 1 */
	ACTION_NODE_SIZE,    /* a node, b cpu */
	ACTION_NODE_DELETE,  /* a node */
	ACTION_CLAIM_TAKE, /* another scheduler's claim a gets a device, from node b on; by a stale view
	                      (c) */
	ACTION_CLAIM_GIVE, /* claim a of it is deleted */
	ACTION_CORE_DIES,  /* of instance a; down for b ms */
	ACTION_FRONTEND_DIES,
	ACTION_BOTH_DIE,
	ACTION_API_DIES,   /* down for b ms */
	ACTION_CORE_STOPS, /* suspended for b ms */
	ACTION_FRONTEND_STOPS,
	ACTION_BOTH_STOP, /* its requests go on */
	ACTION_PAUSE,     /* the same, and its clocks stand still: a paused virtual machine */
	ACTION_COMPACT,
	ACTION_WATCHES_CUT,  /* possibly within a line */
	ACTION_WATCHES_SLOW, /* each by its own delay, for b ms */
	ACTION_NET,          /* fate a for b ms, in c percent of requests, or of Bindings: + 256 */
	ACTION_CUT,          /* instance a can't reach the API server for b ms */
	ACTION_CLOCK,        /* the wall clock jumps by a s, forward or (b) back */
	ACTION_QUEUES,       /* a text of queues.c */
	ACTION_KINDS
};

#define SIM_GROUPS_PATH "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
#define SIM_NONE UINT32_MAX
#define SIM_LEADER UINT32_MAX /* the instance that leads, or the first one */
#define SIM_NODES 10u
#define SIM_PODS 120u
#define SIM_HUGE_NODE 10u   /* of 12 cpu, more than any other */
#define SIM_HUGE 1000u      /* shape: fills it */
#define SIM_HUGE_HALF 1001u /* fills half of it */
#define SIM_GPU 1003u       /* shape: asks for a GPU */
#define SIM_GPU_NODE 11u    /* has GPUs */
#define SIM_TENANT "tenant"
#define SIM_HUGE_FIRST 1002u /* fills it, and has a higher priority */
#define SIM_GROUPS 16u
#define SIM_INSTANCES 2u
#define SIM_REPLICAS (2 * SIM_INSTANCES)
#define SIM_ONLY_BINDINGS 256u /* of ACTION_NET */

struct action {
	uint64_t at_ns;
	enum action_kind kind;
	uint32_t a, b, c;
};

/* Parameters of the code under test.  Half of the seeds have those of production; in the others
 * rare paths are common: windows are full, queues overflow, deadlines are over, and turns come
 * early. */
struct knobs {
	unsigned bind_connections, bind_connections_first;
	uint32_t bind_deadline_ms;
	unsigned report_per_second;
	size_t report_queue;
	uint64_t journal_gather_ns, journal_remove_ns; /* 0: as in production, as the next one */
	size_t journal_intents;
	uint64_t lease_ns;      /* the other times are in its proportion */
	unsigned early_percent; /* of turns of either process come before they are due */
};

struct script {
	uint64_t seed;
	struct action *at; /* by at_ns */
	size_t n;
	uint64_t end_ns; /* of the actions: then all faults are over */
	uint64_t event_ring_bytes, result_ring_bytes, command_ring_bytes;
	uint64_t reserve_after_ns;
	struct knobs knobs;
	uint32_t instances;
	uint32_t rate_permille; /* of the second one's monotonic clock */
	/* Of writes in the network when their sender dies, that arrive up to 40 s later. */
	uint32_t late_percent;
	bool kubelets;
	bool tenants; /* with limits that are near */
	bool foreign; /* others bind, and nodes change */
};

/* Gangs evict pods. */
static inline bool script_evicts(const struct script *s)
{
	return s->seed % 4 == 1;
}

/* How many starts are promised at most; 0: in most runs none. */
static inline uint32_t script_promises(const struct script *s)
{
	return s->seed % 3 == 1 ? 1 + (uint32_t)(s->seed / 3 % 7) : 0;
}

/* How far ahead at most; 0: as by default.  Pods have deadlines of 10 to 38 s, so that they end up
 * to 128 s ahead, with the grace period and a minute for the start. */
static inline uint64_t script_promise_window_ns(const struct script *s)
{
	return s->seed / 21 % 2 == 0 ? 0 : (30 + s->seed / 42 % 4 * 30) * SIM_S;
}

/* Pods are in queues. */
static inline bool script_queues(const struct script *s)
{
	return s->seed % 5 == 3;
}

/* There are devices, and pods with claims. */
static inline bool script_claims(const struct script *s)
{
	return s->seed % 5 == 4;
}

/* ... and claims of all devices of a pool that every node sees. */
static inline bool script_fabric(const struct script *s)
{
	return script_claims(s) && s->seed / 5 % 2 == 1;
}

/* How queues take back what others have; of enum preemption_flags. */
static inline uint32_t script_reclaims(const struct script *s)
{
	if (!script_queues(s))
		return 0;
	return PREEMPTION_RECLAIM | (s->seed / 20 % 2 == 1 ? (uint32_t)PREEMPTION_FAIR : 0u);
}

/* The factor of the history of queues. */
static inline uint32_t script_history(const struct script *s)
{
	return script_queues(s) && s->seed / 5 % 3 == 1 ? 1000 : 0;
}

void script_make(struct script *p, uint64_t seed);
void script_free(struct script *p);
const char *action_name(enum action_kind kind);

/* The fault of a request. */
enum fate {
	FATE_SOUND,
	FATE_NOT_SENT,     /* no connection */
	FATE_LOST_REQUEST, /* never arrived, the connection breaks */
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
	FATE_SLOW,    /* up to 10 s */
	FATE_WEBHOOK, /* of Bindings: handled up to 30 s later, if `?timeout=` is not over by then */
	FATE_QUEUE,   /* priority and fairness: it waits for up to a quarter of its time, or gets 429 */
	FATE_ETCD,    /* etcd stands still: 504 after `?timeout=`, and it may take effect later */
	FATE_410,     /* of lists' pages and watches */
	FATE_HALF_OPEN, /* a watch that is silent from now on */
	FATE_TWICE,     /* a watch that sends an event a second time */
	FATES
};

const char *fate_name(enum fate fate);

struct net;
struct instance;
struct invariants;
struct story;
struct claims;
struct as_kubelets;
struct model_config;
struct version;

/* An instance has one of each version, and uses one of them. */
struct replica {
	const struct version *code;
	struct instance *instance;
	struct net *net;
	bool used;
};

struct sim {
	const struct script *script;
	uint64_t now_ns;      /* virtual, from 0 */
	int64_t wall_jump_ns; /* of the frontends' wall clocks */
	uint64_t random;      /* of the frontends */
	uint64_t api_random;
	uint64_t faults_random;
	uint32_t queue_variants; /* bit i: that text was written */
	struct as_api *api;
	struct as_kubelets *kubelets;
	struct replica replicas[SIM_REPLICAS];
	uint32_t replicas_n;
	unsigned frontends[SIM_INSTANCES]; /* started so far, of either version */
	uint64_t changes;                  /* of an instance's version */
	struct invariants *invariants;
	struct claims *claims; /* NULL: none */
	struct story *story;
	bool failed;
	char why[1024]; /* the violation, its first word names the invariant */
	uint64_t steps;
};

/* The first violation is kept. */
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Why a gang is torn at rest: some of its members are bound, and fewer than its quorum. */
enum tear {
	TEAR_NONE,   /* quorum met */
	TEAR_SHORT,  /* it has too few members: they were deleted or ended, or the group was edited */
	TEAR_PERSON, /* the same, and then others came */
	TEAR_OTHERS, /* other schedulers took capacity */
	TEAR_NODES,  /* a node shrank, was cordoned or deleted */
	TEAR_DEATH,  /* a process died between the evictions of a gang that goes whole */
	TEAR_FAULT,  /* by muster */
	TEARS
};

/* What looks wrong and is not, as far as the judge knows; counted. */
enum excuse {
	EXCUSE_BEHIND, /* a pod waits that a start would bind: room is held for, or promised to, a gang
	                * that is before it in the queue */
	EXCUSE_BEGUN,  /* the same: its gang asks its queue, but to a core that starts it has begun,
	                * since  another scheduler has bound a member, or one was lost */
	EXCUSE_QUEUE,  /* such a gang was completed above the limit of its queue */
	EXCUSES
};

struct outcome {
	bool failed;
	char why[1024];
	uint64_t hash; /* of the whole story */
	uint64_t steps, revisions, virtual_ns;
	uint64_t binds, crashes, faults;
	uint64_t gangs[TEARS];
	uint64_t excused[TEARS];          /* gangs, and Bindings to nodes that were full */
	uint64_t claimed, twice, unready; /* claims_counts() */
	uint64_t changes;                 /* of an instance's version */
	uint64_t excuses[EXCUSES];
};

/* Runs the plan. With `tell` the last lines of the story are printed on standard output. */
void sim_run(const struct script *plan, bool tell, bool tell_all, struct outcome *out);

/* A request of a user, another scheduler or a controller, without faults. Returns the status. */
int sim_user(struct sim *s, const char *method, const char *target, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

void workload_do(struct sim *s, const struct action *a);
void tenants_do(struct sim *s, uint32_t trick);

/* The label of a pod, with a comma in front if it is of a group; "" without queues. */
const char *queues_label(const struct script *s, uint32_t pod, uint32_t group);
void queues_configure(const struct script *s, struct model_config *model);
void queues_start(struct sim *s);
void queues_edit(struct sim *s, uint32_t variant);
/* The most milli of cpu that the queue was ever limited to; INT64_MAX: at some time it was not. */
int64_t queues_limit(const struct sim *s, const char *queue);
/* The longest run time that a gang of it was ever allowed to state; INT64_MAX: any. */
int64_t queues_max_run_s(const struct sim *s, const char *queue);
/* True if each queue of the core uses what the pods of it request that have a node, by the API
 * server's history alone. */
bool queues_at_rest(const struct sim *s, const struct core *c, char *why, size_t why_bytes);

void workload_start(struct sim *s); /* the state before the first action */

/* The functions of net.c and instance.c, which use structs of core and frontend, have no other
 * callers than their version's: struct version.
 *
 * may_write(context): called before each write that is not about the lease. */
struct net *net_new(struct sim *s, uint32_t instance, bool (*may_write)(void *context));
void net_context(struct net *n, void *context);
void net_free(struct net *n);
struct transport *net_transport(struct net *n);
void net_window(struct net *n, enum fate fate, uint64_t until_ns, unsigned percent, bool bindings);
void net_watches_slow(struct net *n, uint64_t until_ns);
void net_cut_watches(struct net *n);
void net_down(struct net *n, uint64_t until_ns); /* all connections break; none opens before */
void net_calm(struct net *n);                    /* no faults any more */
/* The client is suspended until then: what it has sent goes on, answers wait for it.  0: it is
 * not. */
void net_freeze(struct net *n, uint64_t until_ns);
/* Its clock does not see that time: its own timeouts are later. */
void net_pause(struct net *n, uint64_t ns);
/* The client is dead: its requests may still arrive, their answers are dropped.  Of its writes that
 * have not arrived yet, `late_percent` are kept in the network for up to 40 s. */
void net_orphan(struct net *n, unsigned late_percent);
/* Runs what is due. True when a callback of the client was called. */
bool net_run(struct net *n);
uint64_t net_due_ns(struct net *n);
unsigned net_busy(const struct net *n); /* requests but for watches and those about the lease */
uint64_t net_faults(const struct net *n);

struct instance *instance_new(struct sim *s, uint32_t instance, struct net *net);
void instance_free(struct instance *p);
void instance_core_dies(struct instance *p, uint64_t down_ns);
void instance_frontend_dies(struct instance *p, uint64_t down_ns);
void instance_core_stops(struct instance *p, uint64_t ns);
void instance_frontend_stops(struct instance *p, uint64_t ns);
/* Suspends both and stops their clocks; the wall clock is not set right afterwards. */
void instance_pauses(struct instance *p, uint64_t ns);
uint64_t instance_resumed_ns(const struct instance *p); /* 0: it was never paused */
void instance_run(struct instance *p, bool heard);
uint64_t instance_due_ns(const struct instance *p);
/* NULL: both run, the rings are empty, nothing to plan or to send; else what is pending. */
const char *instance_busy(const struct instance *p);
/* True if its queues use what their pods do; else why not. */
bool instance_queues_at_rest(const struct instance *p, char *why, size_t why_bytes);
bool instance_leads(const struct instance *p); /* up, and may act */
/* Room may be kept from a pod of that priority: for the gang of a backfill reservation, which is
 * before it by priority or while its first placement is under way, or by a start that is
 * promised. */
bool instance_holds(const struct instance *p, int32_t priority);
bool instance_may_write(void *instance);
struct model *instance_model(const struct instance *p); /* NULL: its frontend is dead */
void instance_check(struct instance *p, bool thorough);
uint64_t instance_crashes(const struct instance *p);

/* The code of one version of muster, and what of the simulator has to be compiled with it.
 * muster-sim has that of this tree; in muster-sim-versions (versions.sh) the same functions of
 * another version stand beside it. */
struct version {
	__typeof__(net_new) *net_new;
	__typeof__(net_free) *net_free;
	__typeof__(net_window) *net_window;
	__typeof__(net_watches_slow) *net_watches_slow;
	__typeof__(net_cut_watches) *net_cut_watches;
	__typeof__(net_down) *net_down;
	__typeof__(net_calm) *net_calm;
	__typeof__(net_run) *net_run;
	__typeof__(net_due_ns) *net_due_ns;
	__typeof__(net_busy) *net_busy;
	__typeof__(net_faults) *net_faults;
	__typeof__(instance_new) *make;
	__typeof__(instance_free) *free;
	__typeof__(instance_core_dies) *core_dies;
	__typeof__(instance_frontend_dies) *frontend_dies;
	__typeof__(instance_core_stops) *core_stops;
	__typeof__(instance_frontend_stops) *frontend_stops;
	__typeof__(instance_pauses) *pauses;
	__typeof__(instance_resumed_ns) *resumed_ns;
	__typeof__(instance_run) *run;
	__typeof__(instance_due_ns) *due_ns;
	__typeof__(instance_busy) *busy;
	__typeof__(instance_queues_at_rest) *queues_at_rest;
	__typeof__(instance_leads) *leads;
	__typeof__(instance_holds) *holds;
	__typeof__(instance_may_write) *may_write;
	__typeof__(instance_check) *check;
	__typeof__(instance_crashes) *crashes;
};

extern const struct version sim_version;                             /* of this tree */
extern const struct version sim_version_other __attribute__((weak)); /* NULL: none is linked */

struct replica *sim_leader(struct sim *s);                     /* NULL: none */
struct replica *sim_replica(struct sim *s, uint32_t instance); /* that it uses */
/* Both processes die and are down for so long.  With a second version the next ones are of the
 * other one half of the time: an upgrade, or the way back. */
void sim_restart(struct sim *s, uint32_t instance, uint64_t down_ns);

struct invariants *invariants_new(struct sim *s);
void invariants_free(struct invariants *b);
void invariants_check(struct invariants *b); /* all revisions since the last check */
/* The server has answered a read of this group, and the answer will arrive. */
void invariants_group_read(struct invariants *b, const char *name);
/* The server has accepted muster's eviction of the pod of that path. */
void invariants_evicted(struct invariants *b, const char *path);
/* A Binding leaves for the pod of that path, and its answer will not say that it can't land. */
void invariants_sent(struct invariants *b, const char *path);
/* A Binding arrived at the server; it is handled between these two calls. */
void invariants_post_begin(struct invariants *b, const char *path, const char *body);
void invariants_post_end(struct invariants *b);
/* A write leaves that is not about the lease. */
void invariants_writes(struct invariants *b, uint32_t instance, const char *path);
/* Records from and to the core of an instance: checks use what the core can know. */
void invariants_core_began(
	struct invariants *b, uint32_t instance); /* EVENT_BEGIN: it forgets all but its own bindings */
void invariants_core_died(struct invariants *b, uint32_t instance);
void invariants_core_pod(struct invariants *b, uint32_t instance, const uint64_t uid[2],
                         const char *node);
void invariants_core_node(struct invariants *b, uint32_t instance, const char *name,
                          const struct amount *amounts, uint32_t n);
void invariants_core_binds(struct invariants *b, uint32_t instance, const char *uid,
                           const char *node);
/* For how long a watch may withhold something. */
uint64_t invariants_lag(const struct invariants *b);
/* True if that pod ("namespace/name"), which a core that starts now would bind, waits for one of
 * those, and its condition says so; counted.  `held`: a hold or a promise may keep it waiting. */
bool invariants_may_wait(struct invariants *b, const char *pod, bool held);
/* Some members of that group ("namespace/name") are bound, fewer than its quorum. */
bool invariants_partly_bound(const struct invariants *b, const char *group, size_t bytes);
uint64_t invariants_excuses(const struct invariants *b, enum excuse why);
uint64_t invariants_revisions(const struct invariants *b);
uint64_t invariants_changes(const struct invariants *b); /* revisions but for those of leases */
uint64_t invariants_binds(const struct invariants *b);
/* Gangs of which some member was bound, by what invariants_at_rest() found. */
uint64_t invariants_gangs(const struct invariants *b, enum tear tear);
/* What was excused by that: torn gangs, and Bindings that landed on a node that was full. */
uint64_t invariants_excused(const struct invariants *b, enum tear tear);
/* Pod i as the API server's history has it; false: there are no more. */
struct invariants_pod {
	const char *queue; /* "": it names none */
	bool placed;       /* it has a node, also one that is gone, and has not ended */
	int64_t cpu_milli;
};
bool invariants_pod(const struct invariants *b, size_t i, struct invariants_pod *out);
/* True: gangs meet their quorum and conditions are set; else why not. */
bool invariants_at_rest(struct invariants *b, char *why, size_t why_bytes);

/* True if a core that starts on the API server's state, with limits that are far and without holds
 * and promises, binds nothing of the namespace default that may not wait; else what it binds. */
bool fresh_start_binds_nothing(struct sim *s, char *out, size_t out_bytes);

struct story *story_new(bool tell_all);
void story_free(struct story *s);
void story_tell(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t story_hash(const struct story *s);
void story_print(const struct story *s);

/* A part of the plan that still fails by the same invariant; `out` is a plan of its own. */
void script_shrink(const struct script *plan, const char *why, unsigned runs_max,
                   struct script *out);

#endif
