/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicy, behind kube-scheduler's own filters and before its scores. */
#include "core/filter/judge_impl.h"
#include "core/filter/rule_policy.h"

/* NULL: the kind has none. */
static const struct policy_link *policy_of(const struct judging *j)
{
	return j->links && j->links->policy.policy ? &j->links->policy : NULL;
}

/* sums[domain]: pods that match and are not being deleted. */
static const struct topology *policy_sum(const struct judging *j, const struct policy_link *link)
{
	const struct topology *t = judging_topology(j, link->topology);

	judging_sum(j, t, j->cs->selectors.slots[link->selector].staying);
	return t;
}

void judge_policy(const struct judging *j)
{
	const struct policy_link *link = policy_of(j);
	const struct topology *t;

	if (!link)
		return;
	t = policy_sum(j, link);
	for (node_id id = 0; id < j->nodes->used; id++) {
		uint32_t domain = t->domain[id];
		enum node_why why;

		if (!judging_open(j, id))
			continue;
		why = policy_judges(link, domain, policy_replicas(link, t, domain),
		                    domain == DOMAIN_NONE ? 0 : j->scratch->sums[domain]);
		if (why != NODE_FITS)
			j->out->whys[id] = WHY_BIT(why);
	}
}

void score_policy(const struct judging *j)
{
	const struct policy_link *link = policy_of(j);
	const struct topology *t;

	if (!link)
		return;
	t = policy_sum(j, link);
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id))
			j->out->scores[id] +=
				POLICY_TIER_SCORE * policy_tier(link, policy_replicas(link, t, t->domain[id]),
			                                    j->scratch->sums[t->domain[id]]);
}
