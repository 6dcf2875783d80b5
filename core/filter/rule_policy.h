/* SPDX-License-Identifier: Apache-2.0 */
/* Kosmos' WorkloadPolicy: what one domain of its topology is to a pod, by how many that match stand
 * there. */
#ifndef MUSTER_CORE_RULE_POLICY_H
#define MUSTER_CORE_RULE_POLICY_H

#include "core/classes/census.h"

/* The policy goes before all other scores: a better tier is a better node.  0: the share is
 * reached; else 1 and its points, 0 to 100. */
#define POLICY_TIERS 102u
/* What a tier counts in a total, more than any sum of scores. */
#define POLICY_TIER_SCORE 10000u

#define POLICY_NO_SHARE UINT32_MAX

/* Replicas of the share of that domain, which may be DOMAIN_NONE; POLICY_NO_SHARE. */
uint32_t policy_replicas(const struct policy_link *link, const struct topology *t, uint32_t domain);

/* NODE_FITS, or why no node of the domain takes one more; `count`: that match and stay. */
enum node_why policy_judges(const struct policy_link *link, uint32_t domain, uint32_t replicas,
                            uint64_t count);

/* Of a domain with a share. */
uint32_t policy_tier(const struct policy_link *link, uint32_t replicas, uint64_t count);

/* Does it bound how many of the kind may stand in a domain? */
bool policy_bounds(const struct census *cs, kind_id kind, const struct policy_link *link);

#endif
