/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the inventory share. */
#ifndef MUSTER_CORE_INVENTORY_IMPL_H
#define MUSTER_CORE_INVENTORY_IMPL_H

#include "core/devices/inventory.h"
#include "ipc/devices.h"

#define NODE_WORDS DEVICE_WORDS(NODE_DEVICES_MAX)
#define COMMON_WORDS DEVICE_WORDS(COMMON_DEVICES_MAX)

/* The devices of a node that the options of a question may have. */
struct match {
	/* inventory_room() by the search, of the node's `version`; 0: not known. */
	uint64_t room_version;
	uint32_t room, room_most, room_served;
	uint64_t points_version; /* the same of inventory_points() */
	uint32_t points, points_served;
	bool common;            /* it has a device of several nodes */
	device_amount *amounts; /* by option and capacity; NULL: none */
	uint64_t sets[]; /* by option: match, tolerated; then the values by constraint and device */
};

/* Counters of a node's pools, and what its devices use of them. */
struct counted {
	struct device_pool *pools; /* all devices are in the first one's span */
	uint32_t pools_n, counters_n, uses_n;
	device_amount *totals; /* by counter */
	struct device_use *uses;
	struct counted_device {
		uint32_t pool;
		struct span uses;
	} devices[]; /* by number */
};

/* The devices of a node that are shared. */
struct shared {
	uint64_t set[NODE_WORDS];
	device_amount *drawn; /* by capacity: by the record and by holdings */
	uint32_t capacities_n;
	struct node_capacity capacities[];
};

/* The devices of a node that others may have too. */
struct listed {
	uint64_t set[NODE_WORDS];
	uint32_t n;
	struct node_common at[]; /* sorted by device */
};

struct node_devices {
	uint32_t layout, devices_n;
	struct counted *counted;    /* NULL: no device uses counters */
	struct shared *shared;      /* NULL: no device is shared */
	struct listed *listed;      /* NULL: no device is of several nodes */
	uint32_t flags;             /* enum node_devices_flags */
	uint64_t version;           /* counts changes of `used` and of matches; not 0 */
	uint64_t taken[NODE_WORDS]; /* by the record; not those of several nodes */
	uint64_t used[NODE_WORDS];  /* and by holdings of this node: used_now() has those of all */
	struct match **matches;     /* by question; NULL: not known */
	uint32_t matches_n;
	struct holding **holdings; /* in the order of their taking */
	uint32_t holdings_n, holdings_cap;
};

/* Names of an option, in the memory of the caller. */
struct question_label {
	uint64_t offset;
	uint32_t bytes; /* 0: none */
};

struct question {
	struct question_option *options; /* NULL: no such question */
	struct question_label *labels;   /* by option */
	struct question_constraint *constraints;
	uint64_t text_offset; /* of all labels */
	uint32_t text_bytes;
	uint32_t options_n, constraints_n;
	uint32_t commons_n; /* matches with a device of several nodes */
	bool simple;        /* one claim of one request for a number of devices, without constraints */
	bool prefers;       /* has QUESTION_PREFERS */
	bool one;           /* has QUESTION_ONE */
	uint32_t groups;    /* of its options, as bits; 1: some have none */
};

/* Devices of several nodes, by common number. */
struct commons {
	uint64_t version;                  /* counts changes */
	uint64_t taken[COMMON_WORDS];      /* by the last record that has it */
	uint32_t held[COMMON_DEVICES_MAX]; /* by holdings of all nodes */
};

/* Of a question with one claim: the pods that hold its devices, all on one node. */
struct sharers {
	uint32_t n, node;
};

struct inventory {
	struct node_devices **nodes; /* NULL: without devices */
	struct commons *commons;     /* NULL: no node has listed one */
	struct holding **pods;
	uint32_t nodes_n, pods_n;
	struct question questions[QUESTIONS_MAX];
	struct sharers sharers[QUESTIONS_MAX]; /* by question */
};

struct picks {
	struct device_pick at[DEVICE_PICKS_MAX];
	uint32_t n; /* 0: none were found */
	uint64_t idle[PICKS_WORDS];
	bool gave_up;
	uint32_t capacities_n;                    /* of `drawn`; 0: no share is taken */
	device_amount drawn[NODE_CAPACITIES_MAX]; /* by capacity */
};

/* Adds to the set what the picks take. */
static inline void picks_use(const struct device_pick *picks, uint32_t n, const uint64_t *idle,
                             uint64_t *used)
{
	for (uint32_t i = 0; i < n; i++)
		if (!device_in(idle, i))
			device_add(used, picks[i].device);
}

/* inventory.c: a holding of the question's one claim; NULL: none on this node. */
struct holding *sharer_of(const struct inventory *v, const struct node_devices *n,
                          uint32_t question);

/* inventory_choose.c: the devices of one more pod, of those that are not in `used`, and of what is
 * not `drawn` (by capacity; NULL when no device is shared). */
void inventory_choose(const struct inventory *v, const struct node_devices *n, uint32_t question,
                      uint32_t served, const uint64_t *used, const device_amount *drawn,
                      struct picks *out);

/* Some option is asked on a node that serves these groups. */
static inline bool question_asks(const struct question *q, uint32_t served)
{
	return q->groups & ~served || q->groups == 0;
}

/* inventory_common.c */
/* The node lists what the record has. */
bool listed_is(const struct node_devices *n, const struct event_node_devices *e,
               const struct node_lists *lists);
void listed_set(struct inventory *v, struct node_devices *n, const struct event_node_devices *e,
                const struct node_lists *lists);
/* What the record says of all nodes is taken from n->taken. */
void commons_taken(struct inventory *v, struct node_devices *n);
/* A holding of the node begins (1) or ends to have its devices. */
void commons_hold(struct inventory *v, const struct node_devices *n, const struct holding *h,
                  int sign);
/* NULL: the node lists none. */
struct listed *listed_copy(const struct listed *l);
struct commons *commons_copy(const struct commons *c);
bool commons_check(const struct inventory *v);
/* ID_NONE: the device is of this node alone. */
uint32_t common_of(const struct node_devices *n, uint32_t device);
void commons_use(const struct inventory *v, const struct node_devices *n, uint64_t *used);

/* `used` with the devices that are in use on other nodes, in `space` if it differs. */
static inline const uint64_t *used_now(const struct inventory *v, const struct node_devices *n,
                                       uint64_t space[NODE_WORDS])
{
	if (!n->listed)
		return n->used;
	commons_use(v, n, space);
	return space;
}

/* Of what used_now() depends on. */
static inline uint64_t version_now(const struct inventory *v, const struct node_devices *n)
{
	return n->listed ? n->version + v->commons->version : n->version;
}

static inline const device_amount *drawn_of(const struct node_devices *n)
{
	return n->shared ? n->shared->drawn : NULL;
}

#endif
