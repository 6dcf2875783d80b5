/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: all that are bound or ours. */
#ifndef MUSTER_FRONTEND_MODEL_PODS_H
#define MUSTER_FRONTEND_MODEL_PODS_H

#include "frontend/model/pods/namespaces.h"
#include "frontend/model/base/state.h"

/* Texts that few pods have. */
enum pod_rare {
	POD_STORAGE_REFUSAL,
	POD_POLICY_REFUSAL,
	POD_LIMIT_REFUSAL, /* columns.h, shares.h */
	POD_NOMINATED,     /* model_nominate() */
	POD_RARE_TEXTS
};

/* What is a number or a slot is referenced. */
struct pod_entry {
	struct entry entry; /* its stamp is in `texts` */
	char *texts;        /* namespace, name, uid, resourceVersion, refusal, of the condition
	                     * status, reason, message, and nominatedNodeName: each ended by a NUL */
	uint64_t created_ns;
	uint64_t uid[2];
	uint32_t shape;
	uint32_t gang;    /* ID_NONE */
	uint32_t node;    /* bound to; ID_NONE */
	uint32_t binding; /* a Binding to it may be in flight, or `intent` names it; ID_NONE */
	struct link gang_link;
	uint32_t gang_dialect;      /* of the mark */
	uint32_t declared_spec;     /* of its gang; ID_NONE */
	uint32_t role;              /* in its gang: a value's number, or ID_NONE */
	uint32_t scheduled_s;       /* as in struct event_pod */
	uint32_t run_s, expected_s; /* likewise; expected_s of its own annotation */
	uint32_t promised_s;        /* pod_promised_s() */
	uint32_t keep_ms;           /* as in struct event_pod */
	uint32_t scheduler;
	int32_t priority;
	uint32_t namespace;
	uint32_t labels_n;
	struct pod_label *labels; /* sorted by key; NULL without any */
	uint32_t owner;           /* value number of its controller's name; ID_NONE */
	uint32_t policy;          /* ID_NONE */
	struct link policy_link;
	struct link spread_link;
	struct link facts_link;
	/* As in struct event_pod_facts, with reclaim; else 0. */
	int32_t deletion_cost, completion_index;
	uint32_t start_s;         /* as in struct event_pod_facts */
	uint32_t ends_s;          /* likewise, with model.evicts */
	uint32_t grace_s;         /* likewise */
	uint32_t evicted_s;       /* likewise */
	uint64_t owner_hash;      /* of its controller's uid, with model.evicts; 0: none */
	char **rare;              /* by enum pod_rare: texts, or NULL; NULL: none at all */
	bool nominated_sent;      /* its last facts had a node */
	uint8_t facts;            /* enum fact_flags, but those of its namespace */
	bool facts_due;           /* they have to be sent: in the chain */
	uint8_t owner_kind;       /* enum owner_kind */
	uint8_t flags;            /* enum pod_flags, but POD_BINDING */
	uint8_t phase;            /* enum pod_phase */
	uint16_t intent;          /* of POD_INTENTS: of an earlier instance */
	bool withdrawn : 1;       /* some of its entries gave way: shares.h */
	bool spreads : 1;         /* by default: it is in the list of its namespace */
	bool storage_met : 1;     /* it could be planned with its claims: pod_storage_changed() */
	bool storage_waits : 1;   /* it is refused until storage_apply() */
	bool unaccounted;         /* its usage on its node is not known */
	bool storage_unaccounted; /* ... because the shape with its volumes could not be stored */
	bool has_volumes;         /* frontend/volume/ has it */
	bool has_claims;          /* ... and frontend/devices/ */
	uint8_t storage_refused;  /* enum volume_refusal */
	bool refusal_is_kube;     /* as in struct pod_view */
	bool bare;                /* without its labels and rules: memory.h */
	uint32_t bytes;           /* that its namespace pays for it */
	uint32_t read_at;         /* as in struct pod_state */
};
static_assert(sizeof(struct pod_entry) == 256, "four cache lines");

static inline struct pod_entry *pod_at(const struct model *m, uint32_t s)
{
	return store_at(&m->pods, s);
}

/* What follows a struct event_pod: the labels, and NAMESPACE/NAME of name_bytes. */
static inline void pod_tail_write(const struct pod_entry *p, size_t namespace_bytes,
                                  size_t name_bytes, char *at)
{
	const size_t labels = p->labels_n * sizeof(*p->labels);

	if (labels > 0)
		memcpy(at, p->labels, labels);
	at += labels;
	memcpy(at, p->texts, name_bytes);
	at[namespace_bytes] = '/';
}

/* status.nominatedNodeName, of pod_entry.texts. */
static inline const char *pod_nominated(const char *texts)
{
	for (int i = 0; i < 8; i++)
		texts += strlen(texts) + 1;
	return texts;
}

/* enum pod_flags as the core gets them: no pod is bound in a namespace that ends. */
static inline uint32_t pod_flags_of(const struct model *m, const struct pod_entry *p)
{
	const bool refused =
		p->node == ID_NONE && (p->flags & POD_OURS) && namespace_at(m, p->namespace)->ending;

	return p->flags | (refused ? POD_REFUSED : 0);
}

struct pod_key {
	struct text namespace, name;
};

/* NULL: none. */
static inline const char *pod_rare(const struct pod_entry *p, enum pod_rare which)
{
	return p->rare ? p->rare[which] : NULL;
}

/* Takes over a text of malloc(), or NULL: none. */
void pod_set_rare(struct pod_entry *p, enum pod_rare which, char *text);

bool pod_equal(const void *item, const void *key); /* const struct pod_key * */
void pod_free(struct pod_entry *e);

/* Slot of the pod of that name, or SLOT_NONE. */
uint32_t pod_find(const struct model *m, struct text namespace, struct text name);
uint32_t pod_hash(const struct model *m, struct text namespace, struct text name);

/* Of volumes of a pod that is kept without its rules (memory.h), at most: more than 128 are not
 * attached to one node, and their names have 253 bytes at most. */
#define POD_BARE_VOLUMES (128u * 512u)

/* pod_objects.c */

/* `first`: the text begins with the pod; *bytes are those of the pod then, 0: it is not JSON. */
int pod_put(struct model *m, const char *json, size_t *bytes, bool first,
            struct decode_error *error);
void pod_remove(struct model *m, const struct meta *meta);
/* Leave what a pod without a shape of its own has no part in. */
void pod_unshape(struct model *m, uint32_t pod);
/* The pod is gone, or is not ours any more. */
void pod_forget(struct model *m, uint32_t pod);

#endif
