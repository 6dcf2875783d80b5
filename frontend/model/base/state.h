/* SPDX-License-Identifier: Apache-2.0 */
/* struct model: the tables of the object store.  Private to frontend/model/ and its tests.
 *
 *   nodes ◄──── pods ────► gangs          stores: slots found by name
 *     │         │  └─────► namespaces ◄──── owners, policies
 *     │         ▼            │
 *     │       shapes         │
 *     ▼         ▼            ▼
 *   label keys, label values, columns (resources), taints, images    interned texts
 *
 * An arrow is a counted reference.  An entry exists while its object exists or a reference to it
 * does; frontend/base/store.h has its states.  Each table has its own header: nodes.h, pods.h, ...
 * The slot of a pod is the exception: it is free at once, and its next user is sent after the drop
 * of the previous one. */
#ifndef MUSTER_FRONTEND_MODEL_STATE_H
#define MUSTER_FRONTEND_MODEL_STATE_H

#include "frontend/base/intern.h"
#include "frontend/base/store.h"
#include "frontend/dialect/dialects.h"
#include "frontend/decode/extract.h"
#include "frontend/model/model.h"

#define RESOURCES_WATCHED 32 /* nodes, pods, the dialects' and what pods refer to */

/* The body of a record under construction. */
struct body {
	char *at; /* RECORD_BYTES_MAX */
	size_t bytes;
	bool too_long;
};

/* A list of one resource. */
struct replace {
	uint32_t round; /* counts up */
	bool active;
};

enum role {
	ROLE_NODES,
	ROLE_PODS,
	ROLE_GANGS, /* which: the dialect */
	ROLE_NAMESPACES,
	ROLE_OWNERS,  /* which: enum owner_kind */
	ROLE_VOLUMES, /* which: enum volume_kind */
	ROLE_POLICIES,
	ROLE_BUDGETS,
	ROLE_DEVICES, /* which: enum live_kind */
	ROLE_QUEUES,  /* which: enum queue_source */
	ROLE_JOBS,
};

/* Tables with shares for namespaces: shares.h. */
enum share_of {
	SHARE_PODS,
	SHARE_GANGS,
	SHARE_SHAPES,
	SHARE_TERMS,
	SHARE_NAME_BYTES,
	SHARE_MEMORY,
	SHARES
};

/* The namespace (a slot) that is charged for a new shape; ID_NONE.  `bound`: its pod has a node, so
 * that the shape is made whatever the namespace's share; `shares_terms`: but for that of terms. */
struct shape_payer {
	uint32_t namespace;
	bool bound, shares_terms;
};

struct model {
	struct limits limits;
	uint64_t hash_key[2];
	char **scheduler_names;
	size_t scheduler_names_n;
	bool judges_others;
	uint64_t dialects_off;
	bool policies_off;
	bool preemption;         /* budgets are watched, and facts of pods sent */
	struct devices *devices; /* NULL: none */
	struct live *live;       /* frontend/devices/live.h; NULL: none */
	uint64_t served;         /* a bit for each dialect whose resource the cluster has */
	uint64_t timeouts_ns[GROUP_TIMEOUTS];
	struct resource resources[RESOURCES_WATCHED];
	enum role roles[RESOURCES_WATCHED];
	uint32_t which[RESOURCES_WATCHED];
	size_t resources_n;
	struct replace replace[RESOURCES_WATCHED];

	struct intern keys, values;    /* of labels and taints */
	struct intern columns, taints; /* shown by name; taints: absent resources too (columns.h) */
	struct intern left_out;        /* resources of nodes that found no column */
	uint32_t column_nodes[RESOURCES_MAX]; /* nodes that have it, by column */
	bool columns_due;                     /* some are held or absent now and were not before */
	uint32_t columns_taken;               /* times that one was held that was not before */
	struct intern schedulers;
	struct intern images;
	struct image_use *image_uses; /* by image */
	size_t image_uses_n;
	bool images_due;               /* some are fresh */
	struct node_names *node_names; /* of nodes with a body */
	struct volumes *volumes;       /* frontend/volume/volume.h; pods and nodes by their slots */
	struct store shapes, nodes, gangs, pods, namespaces, owners, policies, budgets;
	struct list shapes_idle;            /* without pods, known to the core: shapes/shapes.h */
	struct store declared_specs;        /* of groups, by their members */
	struct store candidates;            /* ConfigMaps */
	struct store non_members;           /* pods */
	struct store non_member_sums;       /* of these, by group */
	struct table services_index;        /* by the first pair of their selector */
	uint32_t status_first, status_last; /* gangs, by gang_entry.status_next */
	uint32_t shape_empty;               /* without requests and rules; always there */
	uint64_t now_ns;                    /* of model_respread() */
	uint64_t respread_ns;               /* the next time that a namespace with respread_due has */
	uint32_t *storage_waits;            /* pods with that, and some that were */
	size_t storage_waits_n, storage_waits_cap;
	uint64_t name_bytes; /* name_bytes_of() of the names of nodes and gangs */
	uint64_t terms;      /* shape_entry.terms of all shapes */

	/* pods/memory.h */
	uint64_t memory_limit; /* 0: any */
	uint64_t memory_used;  /* with memory_limit: bytes of all that is counted */
	struct intern_payer payer;
	size_t object_bytes;  /* of the text of the object that is put */
	bool texts_due;       /* some were withdrawn and are still there */
	uint32_t memory_rest; /* refreshes until those that memory is short for give way again */

	uint32_t tenants;     /* namespaces that are charged for something: shares.h */
	bool shared;          /* there were two at least: the last eighth of each table is kept */
	bool shares_due;      /* a namespace found no entry, or the last ones are in use */
	bool newcomer;        /* ... and it is charged for nothing yet */
	uint64_t memory_lack; /* bytes: memory_lack() since model_lacks_anew(); UINT64_MAX: none */
	uint64_t lack_round;  /* rises with model_lacks_anew() */
	bool share_freed;     /* a namespace whose objects lacked some has it in its share since then */
	uint32_t lacks; /* a bit for each resource of which objects were left out since its last list */

	bool lost; /* bound pods of nodes without an entry were left out, so that nodes made now are */
	uint32_t lost_round;      /* unaccounted until a list after this round */
	bool accounted_nodes_due; /* nodes that are not unaccounted any more have to be sent */

	uint32_t facts_first;  /* pods whose facts have to be sent: a chain over facts_link */
	bool budgets_unserved; /* the API server has none, or does not let them be read */
	bool budgets_left_out; /* some found no space */
	size_t budget_bytes;   /* of the selectors and names of all budgets */
	bool preemption_due;   /* EVENT_PREEMPTION has to be sent */
	uint32_t preemption_flags, preempt_min_run_s, preempt_cooldown_s, preempt_patience_s,
		reclaim_patience_s;
	bool may_evict;                /* model_set_evicts() may follow */
	bool evicts;                   /* PREEMPTION_ON */
	struct owner_evicted *evicted; /* EVICTED_OWNERS, by hash; NULL: none */

	struct model_queues *queues; /* NULL: none are served */
	struct model_jobs *jobs;     /* pods/jobs.h; NULL: they end no pods */

	bool outside;       /* the pod that is put is in no gang, and is forgotten: put/outsider.h */
	bool outside_gang;  /* ... is, as its gang is: put/outsider_gang.h */
	struct held *held;  /* shapes/held.h; NULL: none */
	uint32_t outsiders; /* put/outsider.h: since all was sent */

	bool begin_due;
	bool synced;
	bool synced_due;
	bool states_runs;
	uint32_t *stated; /* by pod: pod_ends.stated_s, of those below stated_n */
	uint32_t stated_n;
	uint32_t promised_next; /* before it: EVENT_PROMISED of pods from this slot on */

	uint32_t last_put;    /* the pod that the last object was; SLOT_NONE */
	struct arena arena;   /* of the object that is put or removed */
	struct arena scratch; /* of a shape that is derived again */
	struct body body;
	struct model_counts counts;
};

#endif
