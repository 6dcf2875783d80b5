/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicy: the last filter, and a tier that precedes all scores. */
#include "core/filter/evaluate_impl.h"
#include "core/filter/rule_policy.h"

/* NULL: the class has none. */
static const struct policy_link *policy_of(const struct evaluator *e)
{
	return e->links && e->links->policy.policy ? &e->links->policy : NULL;
}

/* Sets sums[domain]: pods that match and are not being deleted. */
static const struct topology *policy_sum(const struct evaluator *e, const struct policy_link *link)
{
	const struct topology *t = topology_at(e, link->topology);

	sum_by_domain(e, t, e->cs->selectors.slots[link->selector].staying);
	return t;
}

void filter_policy(const struct evaluator *e)
{
	const struct policy_link *link = policy_of(e);
	const struct topology *t;

	if (!link)
		return;
	t = policy_sum(e, link);
	for (node_id id = 0; id < e->nodes->used; id++) {
		uint32_t domain = t->domain[id];
		enum filter_reason why;

		if (!is_feasible(e, id))
			continue;
		why = policy_filter(link, domain, policy_replicas(link, t, domain),
		                    domain == DOMAIN_NONE ? 0 : e->scratch->sums[domain]);
		if (why != FILTER_PASSED)
			e->out->whys[id] = FILTER_BIT(why);
	}
}

void score_policy(const struct evaluator *e)
{
	const struct policy_link *link = policy_of(e);
	const struct topology *t;

	if (!link)
		return;
	t = policy_sum(e, link);
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id))
			e->out->scores[id] +=
				POLICY_TIER_SCORE * policy_tier(link, policy_replicas(link, t, t->domain[id]),
			                                    e->scratch->sums[t->domain[id]]);
}
