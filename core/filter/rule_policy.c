/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/rule_policy.h"

#include <stdlib.h>

static int share_order(const void *key, const void *item)
{
	uint32_t value = *(const uint32_t *)key, other = ((const struct policy_share *)item)->value;

	return value < other ? -1 : value > other;
}

uint32_t policy_replicas(const struct policy_link *link, const struct topology *t, uint32_t domain)
{
	const struct policy_share *share;

	if (domain == DOMAIN_NONE)
		return POLICY_NO_SHARE;
	share = bsearch(&t->values[domain], link->shares, link->policy->shares.n, sizeof(*share),
	                share_order);
	return share ? share->replicas : POLICY_NO_SHARE;
}

enum filter_reason policy_filter(const struct policy_link *link, uint32_t domain, uint32_t replicas,
                                 uint64_t count)
{
	if (link->policy->flags & POLICY_UNSELECTED)
		return FILTER_POLICY_SELECTOR;
	if (domain == DOMAIN_NONE)
		return FILTER_POLICY_LABEL;
	if (replicas == POLICY_NO_SHARE)
		return FILTER_POLICY_VALUE;
	if (count >= replicas && (link->policy->flags & POLICY_REQUIRED))
		return FILTER_POLICY_FULL;
	return FILTER_PASSED;
}

uint32_t policy_tier(const struct policy_link *link, uint32_t replicas, uint64_t count)
{
	if (count >= replicas)
		return 0;
	if (link->policy->flags & POLICY_FILL)
		return 1 + (uint32_t)(count * 100 / replicas);
	return 1 + (uint32_t)((replicas - count) * 100 / replicas);
}

bool policy_bounds(const struct pod_counts *cs, class_id class, const struct policy_link *link)
{
	return (link->policy->flags & POLICY_REQUIRED) &&
	       class_matches(&cs->pod_classes, class, link->selector);
}
