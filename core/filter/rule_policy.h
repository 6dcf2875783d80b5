/* SPDX-License-Identifier: Apache-2.0 */
/* Kosmos' WorkloadPolicy: whether a domain of its topology takes a pod, and its tier, by the
 * number of matching pods there. */
#ifndef MUSTER_CORE_RULE_POLICY_H
#define MUSTER_CORE_RULE_POLICY_H

#include "core/classes/pod_counts.h"

/* A node of a higher tier precedes all nodes of lower ones, whatever their scores.  0: the share is
 * reached; else 1 + points, 0 to 100. */
#define POLICY_TIERS 102u
/* Weight of a tier in a total; more than any sum of scores. */
#define POLICY_TIER_SCORE 10000u

#define POLICY_NO_SHARE UINT32_MAX

/* Replicas of the domain's share; POLICY_NO_SHARE without one and for DOMAIN_NONE. */
uint32_t policy_replicas(const struct policy_link *link, const struct topology *t, uint32_t domain);

/* FILTER_PASSED, or why no node of the domain takes one more pod; `count`: matching pods there that
 * are not being deleted. */
enum filter_reason policy_filter(const struct policy_link *link, uint32_t domain, uint32_t replicas,
                                 uint64_t count);

/* Of a domain with a share. */
uint32_t policy_tier(const struct policy_link *link, uint32_t replicas, uint64_t count);

/* True if the policy limits the number of pods of the class in a domain. */
bool policy_bounds(const struct pod_counts *cs, class_id class, const struct policy_link *link);

#endif
