/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the store of volumes, for the files volume*.c.
 *
 *   kinds[k]: entries ──► object, one block of memory with all its texts
 *
 *   facts ◄── edges ──► users (pods, nodes)
 *
 * A fact is something that the result of a join depends on, found by the hash of its name: an
 * object, whether it exists or not, or all objects of a kind in a group.  A change looks its facts
 * up and marks their users dirty.  A hash collision costs an unnecessary join. */
#ifndef MUSTER_FRONTEND_VOLUME_IMPL_H
#define MUSTER_FRONTEND_VOLUME_IMPL_H

#include "frontend/decode/extract.h"
#include "frontend/base/store.h"
#include "frontend/volume/volume.h"

enum access_modes {
	ACCESS_ONCE = 1u << 0,      /* ReadWriteOnce */
	ACCESS_READ_MANY = 1u << 1, /* ReadOnlyMany */
	ACCESS_MANY = 1u << 2,      /* ReadWriteMany */
	ACCESS_ONCE_POD = 1u << 3,  /* ReadWriteOncePod */
	ACCESS_OTHER = 1u << 4,
};

/* The first member of every object. */
struct volume_head {
	struct text namespace; /* "" of kinds without */
	struct text name;
	struct text uid;
	struct text version;
};

struct claim_object {
	struct volume_head head;
	struct text class;     /* "" */
	struct text volume;    /* spec.volumeName */
	struct text owner_uid; /* of its controller, "" */
	struct text selected_node;
	struct text attributes_class;
	struct selector_object selector;
	nano_t request;
	bool has_request;
	bool is_block;       /* volumeMode Block */
	bool bind_completed; /* the annotation exists */
	bool has_selected_node;
	bool lost;
	bool deleting;
	uint32_t modes; /* enum access_modes */
};

struct pv_object {
	struct volume_head head;
	struct text class;
	struct text attributes_class;
	bool has_claim; /* spec.claimRef */
	struct text claim_namespace, claim_name, claim_uid;
	struct volume_source_object source;
	bool is_csi; /* spec.csi, not a migrated one */
	bool is_block;
	bool is_available;
	bool deleting;
	uint32_t modes;
	nano_t capacity;
	bool has_affinity;
	struct node_term *terms;
	size_t terms_n, terms_cap;
	struct pairs labels;
};

struct class_object {
	struct volume_head head;
	struct text provisioner;
	bool waits;                   /* WaitForFirstConsumer */
	struct node_term *topologies; /* rules REQUIRE_IN; none: everywhere */
	size_t topologies_n, topologies_cap;
};

struct csi_node_object {
	struct volume_head head;
	struct volume_limit_object *limits;
	size_t limits_n, limits_cap;
};

struct driver_object {
	struct volume_head head;
	bool tells_capacity; /* spec.storageCapacity */
};

struct capacity_object {
	struct volume_head head;
	struct text class;
	bool has_limit;
	nano_t limit; /* maximumVolumeSize, else capacity */
	bool has_total;
	nano_t total; /* capacity */
	struct selector_object nodes;
};

struct attachment_object {
	struct volume_head head;
	struct text attacher;
	struct text node;
	struct text volume; /* PersistentVolume, "" of an inline one */
};

union volume_any {
	struct volume_head head;
	struct claim_object claim;
	struct pv_object pv;
	struct class_object class;
	struct csi_node_object csi_node;
	struct driver_object driver;
	struct capacity_object capacity;
	struct attachment_object attachment;
};

int extract_volume_kind(enum volume_kind kind, const char *json, size_t bytes, struct arena *arena,
                        union volume_any *out, struct decode_error *error);

/* A copy of the object and all that it points to, for free(). */
void *volume_pack(enum volume_kind kind, const union volume_any *from);
/* A pod's identity and volumes. */
struct volume_pod;
struct volume_pod *volume_pack_pod(const struct pod_object *pod);

struct volume_pod {
	struct text namespace, name, uid;
	struct pod_volumes volumes;
};

/* A node's name and labels. */
struct volume_node_labels {
	struct text name;
	struct pairs labels;
};
struct volume_node_labels *volume_pack_node(struct text name, const struct pairs *labels);

/* Lists found by the hash of a name: a store of struct volume_keyed. */
struct volume_keyed {
	struct entry entry;
	uint64_t hash;
	uint32_t first; /* or SLOT_NONE */
	uint32_t count; /* of the caller; 0 at first */
};

void volume_keys_init(struct store *ks);
struct volume_keyed *volume_keys_find(const struct store *ks, uint64_t hash); /* or NULL */
uint32_t volume_keys_add(struct store *ks, uint64_t hash); /* finds or makes the key */

static inline struct volume_keyed *volume_keyed_at(const struct store *ks, uint32_t key)
{
	return store_at(ks, key);
}

enum volume_fact {
	FACT_OBJECT,                             /* + kind: that object */
	FACT_GROUP = FACT_OBJECT + VOLUME_KINDS, /* + kind: all of that group */
	FACT_NODES = FACT_GROUP + VOLUME_KINDS,  /* names and labels of all nodes */
	FACT_SHARED,                             /* whether several pods name the claim */
	/* No facts, hashed likewise: struct volume_holds. */
	HOLD_ASSUMED,
	HOLD_AVOIDED, /* + enum volume_place */
	HOLD_CLAIM = HOLD_AVOIDED + VOLUME_PLACES,
	HOLD_SPACE,
	HOLD_BUSY,
};

/* A pod or a node, whose join depends on facts. */
struct volume_user {
	uint32_t edges_first; /* or SLOT_NONE */
	uint32_t dirty_next, dirty_prev;
	bool dirty;
	bool shared_changed; /* volumes_shared_changed() */
	bool waits;
	void *what; /* struct volume_pod or volume_node_labels; NULL: no such user */
};

struct volume_users {
	struct volume_user *at;
	uint32_t n;
	uint32_t dirty_first, dirty_last; /* or SLOT_NONE */
};

struct volume_edge {
	struct slot slot;
	uint32_t fact;
	struct link of_fact; /* edges of one fact */
	uint32_t user;
	bool of_node;
	uint32_t user_next;
};

struct volume_facts {
	struct store keys;
	struct pool edges;
	struct volume_users users[2]; /* pods, nodes */
};

void volume_facts_init(struct volume_facts *fs);
void volume_facts_free(struct volume_facts *fs);
/* Replaces the user of that number; NULL removes it.  Takes ownership of `what`.  The user is clean
 * and depends on nothing. */
void volume_user_set(struct volume_facts *fs, bool of_node, uint32_t user, void *what);
const void *volume_user(const struct volume_facts *fs, bool of_node, uint32_t user); /* or NULL */
void volume_user_clean(struct volume_facts *fs, bool of_node, uint32_t user);
bool volume_user_next(struct volume_facts *fs, bool of_node, uint32_t *user);
/* The user depends on the fact from now on. */
void volume_fact_look(struct volume_facts *fs, uint64_t fact, bool of_node, uint32_t user);
/* `shared`: it is a claim that several pods name. */
void volume_fact_changed(struct volume_facts *fs, uint64_t fact, bool shared);
void volume_user_mark(struct volume_facts *fs, bool of_node, uint32_t user); /* dirty */

struct volume_entry {
	struct entry entry;
	uint32_t group; /* or SLOT_NONE */
	struct link of_group;
	union volume_any *object; /* as large as its kind; NULL: it can't be read */
	char *name;               /* namespace "/" name */
};

/* Entries of a kind; volumes and capacities are grouped by class, attachments by node. */
struct volume_table {
	struct store entries; /* struct volume_entry */
	struct store groups;
	uint32_t round;
	bool replacing;
};

static inline struct volume_entry *volume_entry_at(const struct volume_table *t, uint32_t entry)
{
	return store_at(&t->entries, entry);
}

/* A store_equal_fn of struct volume_name. */
struct volume_name {
	struct text namespace, name;
};
bool volume_entry_equal(const void *item, const void *key);

struct volume_avoid {
	uint64_t hash, claim_hash; /* HOLD_AVOIDED, HOLD_CLAIM */
	char *namespace, *claim;
	uint64_t until_ns;
};

/* Space of a CSIStorageCapacity that is being provisioned. */
struct volume_planned {
	uint64_t space; /* HOLD_SPACE */
	nano_t sum;
};

#define AVOIDS_MAX 16384u

/* What is known of claims and volumes beyond their objects. */
struct volume_holds {
	struct store assumed; /* volumes; `first` is a hash of the claim's uid, `count` of claims */
	struct store avoided; /* pairs of a claim and a node or volume, counted */
	struct store busy;    /* claims, counted */
	struct store claims;  /* that have any of these, counted */
	struct volume_avoid *avoids;
	size_t avoids_n, avoids_cap;
	struct volume_planned *planned;
	size_t planned_n, planned_cap;
};

struct volumes {
	uint64_t hash_key[2];
	bool can_wait;
	bool live;
	uint32_t waiting; /* pods */
	struct volume_holds holds;
	uint32_t limit; /* objects of each kind */
	struct volume_table kinds[VOLUME_KINDS];
	struct volume_facts facts;
	struct store shared;      /* pods that name a claim, counted */
	uint64_t epoch;           /* counts changes of all that waiting claims depend on */
	struct wait_cache *waits; /* or NULL */
};

/* A join of a user, with its result in the arena.  The user depends on all that volume_look*()
 * read for it. */
struct volume_join {
	struct volumes *vs;
	struct arena *arena;
	uint32_t user;
	bool of_node;
};

/* Removes the dependencies of an earlier join. */
void volume_join_begin(struct volume_join *j);
/* The object, or NULL. */
const union volume_any *volume_look(struct volume_join *j, enum volume_kind kind,
                                    struct text namespace, struct text name);
/* The next object of a group: *at is SLOT_NONE at first; NULL at the end. */
const union volume_any *volume_look_group(struct volume_join *j, enum volume_kind kind,
                                          struct text group, uint32_t *at);
void volume_look_nodes(struct volume_join *j);
/* True if several pods name the claim. */
bool volume_look_shared(struct volume_join *j, struct text namespace, struct text name);

uint64_t volume_hash(const struct volumes *vs, uint32_t what, struct text a, struct text b);
/* The object, or NULL; nothing depends on it. */
const union volume_any *volume_find(const struct volumes *vs, enum volume_kind kind,
                                    struct text namespace, struct text name);
/* As if the object had changed. */
void volume_touch(struct volumes *vs, enum volume_kind kind, struct text namespace,
                  struct text name);

/* volume_holds.c */
void volume_holds_init(struct volume_holds *h);
void volume_holds_free(struct volume_holds *h);
bool volume_is_busy(const struct volumes *vs, const struct claim_object *claim);
bool volume_is_held(const struct volumes *vs, const struct claim_object *claim);
bool volume_is_assumed(const struct volumes *vs, const struct pv_object *pv);
bool volume_is_assumed_for(const struct volumes *vs, const struct pv_object *pv,
                           const struct claim_object *claim);
uint64_t volume_space(const struct volumes *vs, const struct capacity_object *capacity);
/* What of it is being provisioned. */
nano_t volume_planned(const struct volumes *vs, uint64_t space);
bool volume_is_avoided(const struct volumes *vs, const struct claim_object *claim,
                       enum volume_place place, struct text name);

/* Replaces the object of an entry by a changed copy; it is freed with the entry. */
void volume_change(struct volumes *vs, enum volume_kind kind, const union volume_any *changed);

/* One more rule, without alternatives. */
struct volume_rule_object *volume_rule_add(struct arena *arena, struct pod_storage *out,
                                           enum filter_reason why);
/* One more alternative. */
struct node_term *volume_term_add(struct arena *arena, struct volume_rule_object *rule);
/* One more rule of it about a label, with those values (not copied). */
void volume_clause_add(struct arena *arena, struct node_term *term, struct text key,
                       enum require_op op, struct text *values, size_t values_n);
/* Terms that match no node are left out. */
void volume_terms_add(struct arena *arena, struct volume_rule_object *rule,
                      const struct node_term *terms, size_t n);

/* The value, or NULL. */
const struct text *volume_label(const struct pairs *labels, struct text key);
bool volume_clauses_hold(const struct node_term *term, const struct pairs *labels);
/* As a volume's required node affinity: one term holds. */
bool volume_terms_hold(const struct node_term *terms, size_t n, const struct pairs *labels);

void volume_zone_rules(struct arena *arena, const struct pv_object *pv, struct pod_storage *out);

/* volume_join.c: the claims of the pod that wait, each once, in the arena. */
const struct claim_object **volume_pod_waiting(struct volume_join *j, const struct volume_pod *pod,
                                               size_t *n);
/* The node satisfies the node affinity of the volumes that the pod's claims are bound to. */
bool volume_pod_reached(struct volume_join *j, const struct volume_pod *pod,
                        const struct volume_node_labels *node);
/* True if no two volumes of the claim's class can be on one node, so that one pod of a gang may
 * have one there. */
bool volume_wait_single(struct volume_join *j, const struct claim_object *claim);

/* Adds rules to *out: the nodes on which all claims can be satisfied. */
void volume_wait_rules(struct volume_join *j, const struct claim_object *const *claims, size_t n,
                       struct pod_storage *out);
void volume_wait_free(struct volumes *vs);
/* Binds the claims, all different, to what they get on the node, in the store alone. */
void volume_wait_assume(struct volume_join *j, const struct claim_object *const *claims, size_t n,
                        uint32_t node);

#endif
