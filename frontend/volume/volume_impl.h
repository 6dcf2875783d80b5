/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the store of volumes, shared by extract_volume.c and the files volume*.c.
 *
 *   kinds[k]: entries ──► object, one block of memory with all its texts
 *
 *   facts ◄── edges ──► users (pods, nodes)
 *
 * A fact is the state of something that a join looked at, by a hash of its name: an
 * object, there or not, or all objects of some kind and class.  What changes looks
 * its facts up and makes their users dirty.  Two names of one hash cost a join that
 * need not be, nothing else. */
#ifndef MUSTER_FRONTEND_VOLUME_IMPL_H
#define MUSTER_FRONTEND_VOLUME_IMPL_H

#include "frontend/base/table.h"
#include "frontend/decode/extract.h"
#include "frontend/volume/volume.h"

/* ---- objects ------------------------------------------------------------------ */

enum access_modes {
	ACCESS_ONCE = 1u << 0,      /* ReadWriteOnce */
	ACCESS_READ_MANY = 1u << 1, /* ReadOnlyMany */
	ACCESS_MANY = 1u << 2,      /* ReadWriteMany */
	ACCESS_ONCE_POD = 1u << 3,  /* ReadWriteOncePod */
	ACCESS_OTHER = 1u << 4,
};

/* What every object has; the first member of each. */
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
	bool bind_completed; /* the annotation is there, with whatever value */
	bool has_selected_node;
	bool lost;
	bool deleting;
	uint32_t modes; /* enum access_modes */
};

struct volume_source_object {
	struct text driver; /* CSI's, of a migrated in-tree volume too; "" else */
	struct text handle;
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
	size_t terms_n, terms_room;
	struct pairs labels;
};

struct class_object {
	struct volume_head head;
	struct text provisioner;
	bool waits;                   /* WaitForFirstConsumer */
	struct node_term *topologies; /* rules REQUIRE_IN; none: everywhere */
	size_t topologies_n, topologies_room;
};

struct csi_node_object {
	struct volume_head head;
	struct volume_limit_object *limits;
	size_t limits_n, limits_room;
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

/* ---- extract_volume.c: JSON -> object, in the arena ---------------------------- */

int extract_volume_kind(enum volume_kind kind, const char *json, size_t bytes, struct arena *arena,
                        union volume_any *out, struct decode_error *error);

/* The provisioner or plugin that a CSI driver took over ("kubernetes.io/aws-ebs"): that
 * driver's name, or "". */
struct text volume_migrated(struct text plugin);

/* CSI's view of an in-tree disk; false: it has none.  The zone is part of some handles. */
bool volume_disk_source(const struct volume_object *v, struct text zone, struct arena *arena,
                        struct volume_source_object *out);

/* Reads the source if `member` is one that is looked at. */
bool extract_volume_source(struct json *j, struct text member, struct volume_object *v);

/* ---- volume_pack.c: one block of memory for an object --------------------------- */

/* A copy with all that it points to, for free(); NULL: no memory. */
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

/* ---- volume_facts.c: who looked at what ----------------------------------------- */

/* Lists found by the hash of a name. */
struct volume_keyed {
	struct slot slot;
	uint64_t hash;
	uint32_t first; /* or SLOT_NONE */
	uint32_t count; /* for whoever counts */
};

struct volume_keys {
	struct pool pool;
	struct table index;
};

void volume_keys_init(struct volume_keys *ks);
void volume_keys_free(struct volume_keys *ks);
struct volume_keyed *volume_keys_find(const struct volume_keys *ks, uint64_t hash); /* or NULL */
int volume_keys_take(struct volume_keys *ks, uint64_t hash, uint32_t *key);         /* -ENOMEM */
void volume_keys_drop(struct volume_keys *ks, uint32_t key);

static inline struct volume_keyed *volume_keyed_at(const struct volume_keys *ks, uint32_t key)
{
	return pool_at(&ks->pool, key);
}

enum volume_fact {
	FACT_OBJECT,                             /* + kind: that object */
	FACT_GROUP = FACT_OBJECT + VOLUME_KINDS, /* + kind: all of that group */
	FACT_NODES = FACT_GROUP + VOLUME_KINDS,  /* names and labels of all nodes */
	FACT_SHARED,                             /* is the claim named by several pods? */
};

/* Someone who looked at facts: a pod or a node. */
struct volume_user {
	uint32_t edges_first; /* or SLOT_NONE */
	uint32_t dirty_next, dirty_prev;
	bool dirty;
	bool failed;
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
	uint32_t user;
	bool of_node;
	uint32_t fact_next, fact_prev;
	uint32_t user_next;
};

struct volume_facts {
	struct volume_keys keys;
	struct pool edges;
	struct volume_users users[2]; /* pods, nodes */
	uint32_t failed;              /* of them */
};

void volume_facts_init(struct volume_facts *fs);
void volume_facts_free(struct volume_facts *fs);
/* Of that number, with `what` in place of what it was, or NULL; it is clean and looked
 * at nothing.  -ENOMEM: `what` is not taken. */
int volume_user_set(struct volume_facts *fs, bool of_node, uint32_t user, void *what);
const void *volume_user(const struct volume_facts *fs, bool of_node, uint32_t user); /* or NULL */
/* It may not have looked at all that it needs: dirty when anything changes. */
void volume_user_failed(struct volume_facts *fs, bool of_node, uint32_t user);
void volume_user_clean(struct volume_facts *fs, bool of_node, uint32_t user);
bool volume_user_next(struct volume_facts *fs, bool of_node, uint32_t *user);
int volume_fact_look(struct volume_facts *fs, uint64_t fact, bool of_node, uint32_t user);
void volume_fact_changed(struct volume_facts *fs, uint64_t fact);

/* ---- volume.c: the store -------------------------------------------------------- */

struct volume_entry {
	struct slot slot;
	uint32_t hash;
	uint32_t seen;
	uint32_t group; /* or SLOT_NONE */
	uint32_t group_next, group_prev;
	union volume_any *object; /* as large as its kind; NULL: it can't be read */
	char *name;               /* namespace "/" name */
};

/* Entries of a kind; volumes and capacities are grouped by class, attachments by node. */
struct volume_table {
	struct pool entries;
	struct table index;
	struct volume_keys groups;
	uint32_t round;
	bool replacing;
};

struct volumes {
	uint64_t hash_key[2];
	bool can_wait;
	uint32_t limit; /* objects of each kind */
	struct volume_table kinds[VOLUME_KINDS];
	struct volume_facts facts;
	struct volume_keys shared; /* pods that name a claim, counted */
	uint64_t epoch;            /* counts changes of all that waiting claims depend on */
	struct wait_cache *waits;  /* or NULL */
};

/* A join under way: on behalf of whom, where its answers lie.  What it looks at, it
 * depends on from then on. */
struct volume_join {
	struct volumes *vs;
	struct arena *arena;
	uint32_t user;
	bool of_node;
	int rc; /* -ENOMEM sticks */
};

/* It depends on nothing any more. */
void volume_join_begin(struct volume_join *j);
/* What failed is tried again when something changes: j->rc. */
int volume_join_end(struct volume_join *j);
/* The object, or NULL. */
const union volume_any *volume_look(struct volume_join *j, enum volume_kind kind,
                                    struct text namespace, struct text name);
/* All of a group, one after the other: *at is SLOT_NONE at first; NULL at the end. */
const union volume_any *volume_look_group(struct volume_join *j, enum volume_kind kind,
                                          struct text group, uint32_t *at);
void volume_look_nodes(struct volume_join *j);
/* Do several pods name the claim? */
bool volume_look_shared(struct volume_join *j, struct text namespace, struct text name);
/* Room for one more at the end of an array in the arena, zeroed; NULL: j->rc. */
void *volume_more(struct volume_join *j, void *items, size_t n, size_t *room, size_t item_bytes);

/* Replaces the object of an entry by a changed copy; it is freed with the entry. */
int volume_change(struct volumes *vs, enum volume_kind kind, const union volume_any *changed);

/* ---- volume_rules.c: rules over node labels ---------------------------------------- */

/* One more rule, without alternatives. */
struct volume_rule_object *volume_rule_add(struct volume_join *j, struct pod_storage *out,
                                           enum node_why why);
/* One more alternative. */
struct node_term *volume_term_add(struct volume_join *j, struct volume_rule_object *rule);
/* One more rule of it about a label, with those values (not copied). */
void volume_clause_add(struct volume_join *j, struct node_term *term, struct text key,
                       enum require_op op, struct text *values, size_t values_n);
/* What can match nothing is left out. */
void volume_terms_add(struct volume_join *j, struct volume_rule_object *rule,
                      const struct node_term *terms, size_t n);

/* The value, or NULL. */
const struct text *volume_label(const struct pairs *labels, struct text key);
bool volume_clauses_hold(const struct node_term *term, const struct pairs *labels);
/* As a volume's required node affinity: one term holds. */
bool volume_terms_hold(const struct node_term *terms, size_t n, const struct pairs *labels);

/* ---- volume_zone.c ------------------------------------------------------------------ */

void volume_zone_rules(struct volume_join *j, const struct pv_object *pv, struct pod_storage *out);

/* ---- volume_wait_rules.c: claims that wait for their first consumer ---------------------- */

/* For each node, whether its volumes can be had there, as rules of *out. */
void volume_wait_rules(struct volume_join *j, const struct claim_object *const *claims, size_t n,
                       struct pod_storage *out);
void volume_wait_free(struct volumes *vs);
/* The claims, all different, take what they find on that node.  -ENOMEM. */
int volume_wait_assume(struct volume_join *j, const struct claim_object *const *claims, size_t n,
                       uint32_t node);

#endif
