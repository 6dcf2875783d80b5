/* SPDX-License-Identifier: Apache-2.0 */
/* What invariants.c and at_rest.c share: what the judge remembers of the API server's history. */
#ifndef MUSTER_TESTS_INVARIANTS_IMPL_H
#define MUSTER_TESTS_INVARIANTS_IMPL_H

#include "tests/apisim/call.h"
#include "tests/sim/sim.h"

#define NAME_BYTES 64

struct sum {
	int64_t cpu, memory, pods;
};

struct member {
	char uid[AS_UID_BYTES];
	uint64_t number[2]; /* of the uid, as in struct event_pod */
	char key[NAME_BYTES];
	char node[NAME_BYTES]; /* "" while it has none */
	char group[NAME_BYTES];
	char queue[8]; /* "": none */
	struct sum wants;
	int64_t stated_s; /* activeDeadlineSeconds; 0: none */
	uint64_t version;
	bool ours; /* by its schedulerName */
	bool over; /* ended or gone */
	bool succeeded;
	bool evicted; /* by muster */
	bool counts;  /* as a member that could be placed or is: not over, leaving or gated */
	bool by_muster;
	bool core_knows[SIM_INSTANCES]; /* that it has a node */
	uint64_t lost_ns;               /* when it ceased to count; 0: it did not */
	/* The core's last decision about it. */
	char decided[NAME_BYTES];
	uint64_t decided_at; /* counts decisions; 0: never */
	uint64_t decided_ns;
	bool begun;      /* another member had a node then, or one that may have landed there */
	uint64_t chosen; /* bit i: some decision was for places[i] */
	uint32_t instance;
	struct sum others; /* on that node, that the core knew then */
	struct sum size;   /* of that node, as it knew it then */
	/* Another scheduler gave a device of its claim away after its gang's first Binding. */
	bool robbed;
	/* The last Binding that reached the server. */
	char posted_node[NAME_BYTES], posted_version[24];
};

struct place {
	char name[NAME_BYTES];
	bool there, cordoned;
	struct sum size, known[SIM_INSTANCES];
	uint64_t others_ns; /* when another scheduler last bound a pod to it; 0: never */
	uint64_t less_ns;   /* when it last shrank, was cordoned or deleted; 0: never */
};

struct gang_history {
	char name[NAME_BYTES];
	bool there;
	int64_t quorum;
	uint64_t first_plan_ns; /* when a core chose a node for a member first; 0: never */
	uint64_t first_bind_ns; /* 0: none yet */
	bool sent; /* a Binding of a member has left that may land, as its sender sees it */
	uint64_t
		lost_ns; /* when a member was lost last that left too few, or had been chosen; 0: never */
	bool edited; /* since it was created: its first placement can't be proved (046) */
	uint64_t raised_ns; /* when it became another group or wanted more last; 0: never */
	uint64_t cut_ns;    /* when muster evicted a member and left too few, until none or enough run;
	                     * 0: it did not */
	uint64_t read_ns;   /* when muster read it last before that first Binding; 0: never */
};

struct invariants {
	struct sim *sim;
	uint64_t seen;
	struct member *members;
	size_t members_n, members_room;
	struct place places[64];
	size_t places_n;
	struct gang_history gangs[64];
	size_t gangs_n;
	const char *posting; /* uid of the pod whose Binding is handled now */
	char posting_uid[AS_UID_BYTES];
	uint64_t decisions, binds, leases;
	char holder[NAME_BYTES];    /* of the lease */
	uint64_t began_ns;          /* when a core was last told all from the start */
	uint64_t lag_ns;            /* of what a decision was based on */
	uint64_t overfilled[TEARS]; /* Bindings that landed on a full node, by whose fault */
	uint64_t torn[TEARS];
	uint64_t excuses[EXCUSES]; /* at rest: what a core that starts then would bind */
	struct as_arena arena;
};

/* A member of a group that another scheduler bound. */
bool member_helps(const struct member *m);
/* NULL: none has that uid. */
struct member *member_find(struct invariants *b, const char *uid);
/* A Binding of one of its members has landed, or may. */
bool gang_has_begun(struct invariants *b, const char *name);
/* The pod would fit on that node beside what is there, but for its devices. */
bool place_has_room(const struct invariants *b, const struct place *p, const struct member *m);

/* "" if there is none. */
const char *json_text(const struct as_json *o, const char *name);

/* texts.c: a text that muster wrote, and those of a pod's conditions, have no control characters.
 */
void judge_text(struct invariants *b, const struct as_object *o, const char *text);
void judge_conditions(struct invariants *b, const struct as_object *o, const struct as_json *tree);

#endif
