/* SPDX-License-Identifier: Apache-2.0 */
/* A core without its daemon, driven by name: objects go in as records, commands come out as text.
 * No thread, clock or sleep; time advances by story_tick().  After each record core_valid() must
 * hold.  test_stories.c runs the stories of tests/stories on it. */
#ifndef MUSTER_TESTS_SUPPORT_STORY_H
#define MUSTER_TESTS_SUPPORT_STORY_H

#include "core/step/core.h"
#include "tests/unit/test.h"

#define STORY_MAX 256u /* of each kind of object */

enum { STORY_GPU = RESOURCE_EXTENDED };

#define STORY_ROLES 3u

#define STORY_HOLD_MS 60000 /* a gang that waited so long gets a backfill reservation */

/* Amounts are cores, GiB and devices; *_milli and *_bytes are added to them.  pods: 0 is 110.
 * Strings of a pod have to live as long as the story. */
struct story_node {
	const char *name;
	int64_t cpu, cpu_milli, memory, memory_bytes, gpu, pods;
	const char *zone;
	const char *taint;
	bool cordoned;
	bool absent; /* no object; only pods name it */
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
	bool changed;      /* since its creation */
	bool has_priority; /* of the group's own */
	int32_t priority;
	uint32_t spec, succeeded, failed;     /* struct event_gang */
	bool whole, ended_count;              /* GANG_WHOLE, GANG_ENDED_COUNT */
	struct story_role roles[STORY_ROLES]; /* up to the first without a name */
};

struct story_pod {
	const char *name;
	const char *gang; /* NULL: alone */
	int64_t cpu, cpu_milli, memory, memory_bytes, gpu;
	const char *zone; /* node selector */
	uint32_t devices; /* struct event_shape; with gpu: its group 1 serves that */
	const char *tolerates;
	const char *node; /* bound to, or with `binding` being bound to */
	const char *role;
	int32_t priority;
	uint64_t created;
	int64_t scheduled; /* seconds; 0: 1 if it is bound; -1: unknown */
	bool lasts;        /* does not end by itself */
	bool binding, gated, deleting, refused, foreign;
	bool intended, void_node, retained; /* `node` is of the journal: POD_INTENTS */
	int32_t keep_ms;                    /* ... so long, for another scheduler */
	int32_t queue;                      /* its id; -1: QUEUE_MISSING */
	int32_t run, expected;              /* seconds: the enforced and the expected length */
};

/* A queue; amounts are of cpu, in milli, and limit 0 is none. */
struct story_queue {
	const char *name;
	int32_t id, parent, priority, state;
	int64_t guarantee, reserved, limit, weight;
	bool fifo, gone;
};

struct story;

/* reserve_after_ms: 0 for no backfill reservations.  The core has got EVENT_BEGIN. */
struct story *story_new(enum score_policy score, uint64_t reserve_after_ms);
/* The same with promised starts of a grain; by_soft: core_config.backfill_by_soft. */
struct story_promises {
	uint32_t depth;
	uint64_t grain_ms;
	uint64_t window_ms; /* 0: the default */
	uint64_t at_ms;     /* when the core gets EVENT_BEGIN */
	bool by_soft;
	uint64_t look_steps; /* core_config.look_steps */
};
struct story *story_new_promising(enum score_policy score, uint64_t reserve_after_ms,
                                  const struct story_promises *promises);
/* The promise of a gang or lone pod; false: none. */
bool story_promise(struct story *s, const char *name, struct core_promise *out);
/* EVENT_PROMISED of the pod, at a time of the story. */
void story_promised(struct story *s, const char *pod, uint64_t at_s);
void story_free(struct story *s);
/* .fini of a suite: frees the last story that was made, unless the test has. */
void story_end(void);
struct core *story_core(struct story *s);
struct ledger *story_ledger(struct story *s);
/* The row of a group in the ledger, which must be there. */
const struct gang_row *story_row(struct story *s, const char *gang);

/* Sends EVENT_SYNCED unless the frontend has, and EVENT_PLAN as long as the core wants to plan. */
void story_plan(struct story *s);
void story_synced(struct story *s);

/* A new frontend: every object has to be sent again.  A pod of the same name keeps its uid. */
void story_begin(struct story *s);

void story_tick(struct story *s, uint64_t ms);

/* Adds or changes an object. */
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
/* Drops the shapes that no pod has, as the frontend does. */
void story_drop_shapes(struct story *s);

/* Results of the last CMD_BIND of a pod, and the watch event that confirms it. */
void story_bound(struct story *s, const char *pod);
void story_refused(struct story *s, const char *pod, uint32_t retry_ms);
void story_unknown(struct story *s, const char *pod);
void story_confirm(struct story *s, const char *pod);
/* The watch events of all pods with this prefix that have a binding. */
void story_all_bound(struct story *s, const char *prefix);

/* Another scheduler asks to reserve capacity for its pod on one of these nodes ("a b c"), for
 * keep_ms.  The core answers "assume POD NODE" or "assume POD nowhere, COUNT WHY...". */
void story_set_queue(struct story *s, struct story_queue queue);
/* How the past of queues counts, and that of one of them: cpu in milli, seconds ago. */
void story_queue_terms(struct story *s, uint32_t factor, uint32_t half_life_s);
void story_queue_past(struct story *s, uint32_t queue, int64_t cpu, uint64_t ago_s);
void story_assume(struct story *s, const char *pod, const char *nodes, uint32_t keep_ms);

/* How many more commands the ring takes; UINT32_MAX: any number. */
void story_room(struct story *s, uint32_t commands);

/* The commands since the last story_skip() or story_expect(), one a line:
 *
 *   bind POD NODE                               also retry-bind and cancel-bind
 *   devices POD NODE: DEVICE...
 *   gang NAME STATE BOUND/QUORUM of MEMBERS
 *   why NAME: REASON
 */
const char *story_said(const struct story *s);
void story_skip(struct story *s);
/* Compares them with the text. */
void story_expect(struct story *s, const char *text);

/* The node of the last CMD_BIND of a pod; "" when there was none or it was refused. */
const char *story_where(const struct story *s, const char *pod);
/* spec_id of that command. */
uint32_t story_spec(const struct story *s, const char *pod);
/* The number of pods with this prefix that have one. */
uint32_t story_count(const struct story *s, const char *prefix);

/* The last reason of a gang or lone pod as in its command, "none" without one.  Good until the next
 * call. */
const char *story_reason(struct story *s, const char *name);

/* stem and i, as "n7", of at most 7 bytes; good for 63 calls more. */
const char *story_nth(const char *stem, int i);

/* Feeds a record as it is; header fields are filled in.  Returns the result of core_step(). */
int story_feed(struct story *s, enum record_kind kind, const void *body, uint32_t bytes);

#endif
