/* SPDX-License-Identifier: Apache-2.0 */
/* A pod's WorkloadPolicy in its shape. */
#include "frontend/model/pods/policies.h"
#include "frontend/model/shapes/shape_draft.h"

#include <assert.h>

void draft_policy(struct draft *d, const struct policy_use *use)
{
	const struct policy_rules *rules = use->rules;
	const struct label_rules *selector = rules->selector;
	struct policy *policy = draft_more(d, SECTION_POLICIES);

	assert(draft_count(d, SECTION_POLICIES) == 0); /* a pod has at most one */
	policy->topology = rules->topology;
	policy->flags = rules->flags | (use->unselected ? POLICY_UNSELECTED : 0);
	policy->clauses.first = draft_count(d, SECTION_CLAUSES);
	policy->shares.n = rules->shares_n;
	for (uint32_t i = 0; selector && i < selector->n; i++)
		draft_requirement(d, &selector->at[i], selector->values + selector->at[i].values_first);
	policy->clauses.n = draft_count(d, SECTION_CLAUSES) - policy->clauses.first;
	for (uint32_t i = 0; i < rules->shares_n; i++) {
		*(struct policy_share *)draft_more(d, SECTION_SHARES) = rules->shares[i];
		intern_hold(&d->m->values, rules->shares[i].value);
		draft_keep(d, SECTION_SHARES);
	}
	intern_hold(&d->m->keys, policy->topology);
	draft_keep(d, SECTION_POLICIES);
}

void draft_strip_policy(struct draft *d)
{
	const struct policy *policy = (const void *)d->sections[SECTION_POLICIES].at;

	if (draft_count(d, SECTION_POLICIES) == 0)
		return;
	draft_cut_clauses(d, policy->clauses.n);
	draft_cut(d, SECTION_SHARES, draft_count(d, SECTION_SHARES));
	draft_cut(d, SECTION_POLICIES, 1);
}
