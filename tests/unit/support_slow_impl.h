/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster's side (support_slow.c, support_slow_events.c) and the reference
 * (support_slow_check.c) of a random cluster share.  For those three alone. */
#ifndef MUSTER_TESTS_SUPPORT_SLOW_IMPL_H
#define MUSTER_TESTS_SUPPORT_SLOW_IMPL_H

#include "tests/unit/support_slow.h"

#include <stdalign.h>

enum { CPU, MEMORY, PODS, GPU, AMOUNTS };

enum { SLOW_ROLES = 2, ROLE_FIRST = 20 };

enum { TAINT_NAME = 8, KEY_ZONE = 1, KEY_TAINT = 2, TAINT_VALUE = 5 };

struct shape {
	int64_t amounts[AMOUNTS];
	uint32_t zone; /* 0: any */
	bool tolerates;
	bool told;
};

struct node {
	bool live, present, cordoned, tainted;
	uint32_t generation, zone;
	int64_t amounts[AMOUNTS];
};

struct gang {
	bool live, missing, refused, after_others, has_priority;
	uint32_t generation, quorum;
	int32_t priority;
	uint32_t roles[SLOW_ROLES]; /* their quorums, 0: none */
	int64_t cpu;                /* minResources */
	uint64_t created;
	uint32_t why;   /* last told */
	bool alike;     /* before the plan */
	bool started;   /* in this plan */
	bool begins;    /* in this plan its first members get nodes */
	uint32_t begun; /* how many had to start together when its first member did; 0: it is whole, or
	                 * that is not known */
};

enum where { NOWHERE, IN_FLIGHT, ANSWERED, BOUND };

struct pod {
	bool live, ours, gated, deleting, refused, lasts;
	uint32_t generation, gang, shape, node, attempt, why, role; /* SLOW_ROLES: none */
	enum where where;
	bool keeps;     /* refused, and its room is kept */
	bool withdrawn; /* IN_FLIGHT, to be taken back */
	bool first;     /* got a node by the plan with which its gang began */
	int32_t priority;
	uint64_t created, retry_ns, refusals;
};

struct slow {
	struct random *r;
	enum score_policy score;
	bool strict, checking, breaking, refreshed, ask_all;
	struct core *core;
	struct ledger *ledger;
	uint64_t time_ns, epoch;
	uint32_t room; /* commands that fit; replayed by marks in the log */
	struct shape shapes[SLOW_SHAPES];
	struct node nodes[SLOW_NODES];
	struct gang gangs[SLOW_GANGS];
	struct pod pods[SLOW_PODS];
	unsigned char *log, *said;
	size_t log_n, log_room, said_n, said_room;
	struct slow_counts counts;
	alignas(8) unsigned char record[4096];
	size_t used;
};

void slow_record(struct slow *s, enum record_kind kind);
void slow_tell_names(struct slow *s);
void slow_tell_node(struct slow *s, uint32_t id);
void slow_tell_gang(struct slow *s, uint32_t id);
void slow_tell_pod(struct slow *s, uint32_t id);
void slow_tell_drop(struct slow *s, enum record_kind kind, uint32_t id, uint32_t generation);
void slow_tell_result(struct slow *s, enum record_kind kind, const struct result *result);

/* Something happens, or a new frontend comes. */
void slow_event(struct slow *s);
void slow_epoch(struct slow *s);

/* Does this pod take room on that node, as far as anybody can know? */
bool slow_takes_room(const struct pod *p, uint32_t node);

/* How many have to start together. */
uint32_t slow_total(const struct gang *g);
/* How many have a node. */
uint32_t slow_have(const struct slow *s, uint32_t gang);

/* After anything happened: refused members keep their room until the gang is planned again, while
 * it has begun and has members enough. */
void check_kept(struct slow *s);
void check_before_plan(struct slow *s);
void check_bind(struct slow *s, const struct cmd_bind *b);
void check_after_plan(struct slow *s);

#endif
