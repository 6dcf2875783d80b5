/* SPDX-License-Identifier: Apache-2.0 */
/* A shape under construction.
 *
 * The parts that depend on other objects than the pod are derived, and come last: what volumes
 * need, then the policy, then the default spread constraints, each with its clauses and values at
 * the end of theirs.  So they can be removed and derived again without the pod's JSON. */
#ifndef MUSTER_FRONTEND_MODEL_SHAPE_DRAFT_H
#define MUSTER_FRONTEND_MODEL_SHAPE_DRAFT_H

#include "frontend/model/base/limits.h"

#include <assert.h>

struct policy_use;   /* frontend/model/pods/policies.h */
struct pod_storage;  /* frontend/volume/volume.h */
struct spread_cause; /* frontend/model/pods/owners.h */

#define SHAPE_WEIGHT_MAX 100 /* as the API server allows */
#define SHAPE_TOO_LONG                                                                             \
	"its placement rules are too long: muster takes 1024 terms of node affinity, 256 of pod "      \
	"affinity, 256 spread constraints, and 4096 requirements, values, tolerations, ports and "     \
	"images in all"

#define HOSTNAME_KEY "kubernetes.io/hostname"

/* In the order of the record. */
enum section {
	SECTION_AMOUNTS,
	SECTION_REQUIREMENTS,
	SECTION_VALUES,
	SECTION_TOLERATIONS,
	SECTION_CLAUSES,
	SECTION_PREFERENCES,
	SECTION_ALTERNATIVES,
	SECTION_VOLUME_RULES,
	SECTION_POD_TERMS,
	SECTION_SPREADS,
	SECTION_PORTS,
	SECTION_IMAGES,
	SECTION_ATTACHMENTS,
	SECTION_EXCLUSIVES,
	SECTION_POLICIES,
	SECTION_SHARES,
	SECTIONS
};

/* Every number in it is referenced. */
struct draft {
	struct model *m;
	struct arena *arena;
	struct shape_payer payer;
	const char *flag;        /* -ENOSPC: the limit */
	const char *fault;       /* -EINVAL: what is wrong with the rules; static or the arena's */
	struct event_shape head; /* without its counts */
	struct draft_section {
		char *at;
		size_t n, cap;
	} sections[SECTIONS];
};

/* shape_draft.c */

/* One more item, all zero, not yet counted: draft_keep() does that once the numbers in it are
 * referenced. */
void *draft_more(struct draft *d, enum section section);
static inline void draft_keep(struct draft *d, enum section section)
{
	assert(d->sections[section].n < d->sections[section].cap);
	d->sections[section].n++;
}
static inline uint32_t draft_count(const struct draft *d, enum section section)
{
	return (uint32_t)d->sections[section].n;
}
/* Append to SECTION_VALUES. */
struct span draft_add_values(struct draft *d, const struct text *values, size_t n);
/* -EINVAL; the fault is a static text or the arena's. */
int draft_fails(struct draft *d, const char *fault);
/* Remove the last n items of a section. */
void draft_cut(struct draft *d, enum section section, uint32_t n);
/* Remove the last n clauses, with their values, which are the last ones. */
void draft_cut_clauses(struct draft *d, uint32_t n);
void draft_load(struct draft *d, const char *body);
/* The body of the record in m->body; -EINVAL: it is too long. */
int draft_write(struct draft *d);
void draft_release(struct draft *d);
/* Calls `visit` for every number in a shape's body. */
enum number_of { NUMBER_KEY, NUMBER_VALUE, NUMBER_RESOURCE, NUMBER_IMAGE };
typedef void (*shape_visit_fn)(void *context, enum number_of of, uint32_t number);
void shape_visit(const char *body, shape_visit_fn visit, void *context);
/* A shape_visit_fn of struct model *: one reference less. */
void shape_give_number(void *context, enum number_of of, uint32_t number);
/* Spread constraints and policies count pods of one namespace: a value number. */
void draft_set_namespace(struct draft *d, uint32_t namespace);

/* shape_rules.c */

/* True if kube-scheduler cannot parse it. */
bool draft_rule_is_void(const struct node_rule *rule);
/* Append to SECTION_CLAUSES requirements that must all hold; -EINVAL. */
int draft_clauses(struct draft *d, const struct node_rule *rules, size_t n, struct span *out);
/* One more, of numbers that are referenced elsewhere. */
void draft_requirement(struct draft *d, const struct requirement *from, const uint32_t *values);
/* nodeSelector, node affinity and tolerations; -EINVAL. */
int draft_node_rules(struct draft *d, const struct pod_object *pod);
void draft_images(struct draft *d, const struct pod_object *pod);

/* shape_pods.c */

/* `strict`: a term that kube-scheduler cannot read is -EINVAL; else it is left out. */
int draft_pod_terms(struct draft *d, const struct pod_object *pod, bool strict);
int draft_spreads(struct draft *d, const struct pod_object *pod); /* -EINVAL */
void draft_ports(struct draft *d, const struct pod_object *pod);

/* Derived parts.  They are removed in the order spreads, policy, storage. */
void draft_default_spreads(struct draft *d, const struct spread_cause *cause);
void draft_strip_default_spreads(struct draft *d);
/* Terms and spread constraints that are the pod's own, not the default ones. */
uint32_t draft_terms(const struct draft *d);
void draft_policy(struct draft *d, const struct policy_use *use); /* shape_policy.c */
void draft_strip_policy(struct draft *d);
/* shape_storage.c; -EINVAL */
int draft_storage(struct draft *d, const struct pod_storage *storage);
void draft_strip_storage(struct draft *d);

#endif
