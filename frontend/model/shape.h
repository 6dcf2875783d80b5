/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: requests and rules of a pod in one canonical record body, found by its
 * bytes.  A shape holds the numbers that it is written with.
 *
 *   pod ──► struct draft, one array for each section ──► body ──► table
 *
 * What a shape owes to other objects than the pod is derived and stands last: what
 * volumes ask for, then the policy, then the default spread constraints, with their clauses and
 * values at the end of those.  So it can be taken off and made anew without the
 * pod's JSON. */
#ifndef MUSTER_FRONTEND_SHAPE_H
#define MUSTER_FRONTEND_SHAPE_H

#include "frontend/model/model_impl.h"
#include "frontend/volume/volume.h"

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

/* A shape as it is built.  Every number in it is held. */
struct draft {
	struct model *m;
	struct arena *arena;
	struct shape_trouble *trouble;
	struct event_shape head; /* counts apart */
	struct draft_section {
		char *at;
		size_t n, room;
	} sections[SECTIONS];
};

/* ---- shape.c ------------------------------------------------------------------ */

/* One more item, all zero, not yet counted: draft_keep() does that once the
 * numbers in it are held.  NULL: no memory. */
void *draft_more(struct draft *d, enum section section);
static inline void draft_keep(struct draft *d, enum section section)
{
	d->sections[section].n++;
}
static inline uint32_t draft_count(const struct draft *d, enum section section)
{
	return (uint32_t)d->sections[section].n;
}

/* Numbers of texts, held.  -ENOMEM, -ENOSPC. */
int draft_key(struct draft *d, struct text key, uint32_t *number);
int draft_value(struct draft *d, struct text value, uint32_t *number);
/* Append to SECTION_VALUES. */
int draft_add_values(struct draft *d, const struct text *values, size_t n, struct span *out);
/* -EINVAL, with what is wrong: a static text, or the arena's. */
int draft_fails(struct draft *d, const char *fault);
/* Give back the last ones of a section. */
void draft_cut(struct draft *d, enum section section, uint32_t n);

/* ---- shape_rules.c ------------------------------------------------------------- */

/* Can't kube-scheduler parse it? */
bool draft_rule_is_void(const struct node_rule *rule);
/* Append to SECTION_CLAUSES what must all hold. */
int draft_clauses(struct draft *d, const struct node_rule *rules, size_t n, struct span *out);
/* One more, of numbers that somebody holds. */
int draft_requirement(struct draft *d, const struct requirement *from, const uint32_t *values);
int draft_amounts(struct draft *d, const struct pod_object *pod, const struct effective *effective);
/* Its selector, node affinity and tolerations. */
int draft_node_rules(struct draft *d, const struct pod_object *pod);
int draft_images(struct draft *d, const struct pod_object *pod);

/* Take off the last clauses, with their values, which are the last ones. */
void draft_cut_clauses(struct draft *d, uint32_t n);

/* ---- shape_pods.c -------------------------------------------------------------- */

/* `strict`: a term that kube-scheduler could not read is a fault; else it is left out. */
int draft_pod_terms(struct draft *d, const struct pod_object *pod, bool strict);
int draft_spreads(struct draft *d, const struct pod_object *pod);
int draft_ports(struct draft *d, const struct pod_object *pod);
/* The default constraints of a pod with those labels and that owner, derived. */
int draft_default_spreads(struct draft *d, const struct spread_cause *cause);
void draft_strip_default_spreads(struct draft *d);

/* ---- shape_storage.c ------------------------------------------------------------ */

/* What the pod's volumes ask for, derived. */
int draft_storage(struct draft *d, const struct pod_storage *storage);
void draft_strip_storage(struct draft *d); /* after the default spreads and the policy */

/* ---- shape_policy.c ------------------------------------------------------------- */

/* Its policy, derived. */
int draft_policy(struct draft *d, const struct policy_use *use);
void draft_strip_policy(struct draft *d); /* after the default spreads */

#endif
