/* SPDX-License-Identifier: Apache-2.0 */
/* Stories for the core: objects by name go in as records, commands come out as
 * text.  No thread, no clock, no sleep; time goes on when the story says so.
 *
 *   struct story *s = story_new();
 *   story_node(s, .name = "n1", .cpu = 4);
 *   story_pod(s, .name = "a", .cpu = 4);
 *   story_plan(s);
 *   story_expect(s, "bind a n1\n");
 *
 * After each record core_valid() must hold. */
#ifndef MUSTER_TESTS_SUPPORT_STORY_H
#define MUSTER_TESTS_SUPPORT_STORY_H

#include "core/step/core.h"

#include <stdbool.h>

#define STORY_MAX 256u /* of each kind of object */

enum { STORY_GPU = RESOURCE_EXTENDED };

#define STORY_ROLES 3u

#define STORY_HOLD_MS 60000 /* a gang that waited so long for room is held some */

/* Amounts are in cores, GiB and pieces; *_milli and *_bytes say them exactly.  A node
 * has room for 110 pods unless told otherwise. */
struct story_node {
	const char *name;
	int64_t cpu, cpu_milli, memory, memory_bytes, gpu, pods;
	const char *zone;
	const char *taint;
	bool cordoned;
	bool absent; /* only pods name it */
};

struct story_role {
	const char *name;
	uint32_t quorum;
};

struct story_gang {
	const char *name;
	uint32_t quorum;
	int64_t cpu, gpu; /* minResources */
	uint64_t created;
	bool missing, refused, after_others;
	bool has_priority; /* its own */
	int32_t priority;
	uint32_t terms;                       /* struct event_gang */
	struct story_role roles[STORY_ROLES]; /* up to the first without a name */
};

struct story_pod {
	const char *name;
	const char *gang; /* NULL: alone */
	int64_t cpu, cpu_milli, memory, memory_bytes, gpu;
	const char *zone; /* node selector */
	const char *tolerates;
	const char *node; /* bound to, or with `binding` on its way */
	const char *role;
	int32_t priority;
	uint64_t created;
	bool binding, gated, deleting, refused, foreign;
};

struct story;

struct story *story_new(void);
struct story *story_new_with(enum score_policy score);
struct story *story_new_holding(uint64_t hold_after_ms); /* 0: never */
void story_free(struct story *s);
struct core *story_core(struct story *s);
/* The row of a group in the ledger, by its name; it is there. */
const struct gang_row *story_row(struct story *s, const char *gang);
struct ledger *story_ledger(struct story *s);
struct limits story_limits(const struct story *s);

/* EVENT_BEGIN came with story_new(); story_plan() sends EVENT_SYNCED if that is still
 * to come, and plans as long as the core wants to. */
void story_plan(struct story *s);
void story_synced(struct story *s);

/* A new frontend: all objects are forgotten and have to be told again; what was
 * told keeps its uid. */
void story_begin(struct story *s);

void story_tick(struct story *s, uint64_t ms);

/* Set an object, anew or as it is now. */
void story_set_node(struct story *s, struct story_node node);
void story_set_gang(struct story *s, struct story_gang gang);
void story_set_pod(struct story *s, struct story_pod pod);
#define story_node(s, ...) story_set_node(s, (struct story_node){ __VA_ARGS__ })
#define story_gang(s, ...) story_set_gang(s, (struct story_gang){ __VA_ARGS__ })
#define story_pod(s, ...) story_set_pod(s, (struct story_pod){ __VA_ARGS__ })
/* n alike, named "<name>-0" ... */
#define story_pods(s, n, ...) story_set_pods(s, n, (struct story_pod){ __VA_ARGS__ })
void story_set_pods(struct story *s, uint32_t n, struct story_pod pod);

void story_drop_node(struct story *s, const char *name);
void story_drop_gang(struct story *s, const char *name);
void story_drop_pod(struct story *s, const char *name);

/* Answers to the last CMD_BIND of a pod, and the watch that confirms it. */
void story_bound(struct story *s, const char *pod);
void story_refused(struct story *s, const char *pod, uint32_t retry_ms);
void story_unknown(struct story *s, const char *pod);
void story_confirm(struct story *s, const char *pod);
/* ... of every pod with this prefix that has one. */
void story_all_bound(struct story *s, const char *prefix);

/* Another scheduler asks for room for its pod on one of those nodes ("a b c"), for so long.  The
 * answer is a line "claim POD NODE", or "claim POD nowhere: WHY ...". */
void story_claim(struct story *s, const char *pod, const char *nodes, uint32_t keep_ms);

/* How many more commands find room; UINT32_MAX: any number. */
void story_room(struct story *s, uint32_t commands);

/* All that was said since the last time, one command a line:
 *
 *   bind POD NODE
 *   gang NAME STATE BOUND/QUORUM of MEMBERS
 *   why NAME: WHY ...
 */
void story_expect(struct story *s, const char *text);
void story_skip(struct story *s);
const char *story_said(const struct story *s);

/* Node of the last CMD_BIND of a pod, "" when there was none or it was refused. */
const char *story_where(const struct story *s, const char *pod);
/* The terms of that command. */
uint32_t story_terms(const struct story *s, const char *pod);
/* Pods with this prefix that have one. */
uint32_t story_count(const struct story *s, const char *prefix);

/* The last reason told for a gang or lone pod; NULL when none was. */
const struct reason *story_why(const struct story *s, const char *name);

/* Feed a record as it is and say what core_step() said; the header's length, epoch and
 * time are filled in. */
int story_feed(struct story *s, enum record_kind kind, const void *body, uint32_t bytes);

#endif
