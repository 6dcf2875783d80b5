/* SPDX-License-Identifier: Apache-2.0 */
/* May muster write claims of devices, and are there rules about devices that it ignores? */
#include "frontend/loop/frontend_impl.h"

#include "frontend/bind/taint_rules.h"
#include "frontend/evict/rights.h"

void claims_rights_begin(struct frontend *f)
{
	if (!f->config.reviews_claims)
		return;
	f->claims_rights = rights_new(f->env, RIGHTS_CLAIMS);
	f->taint_rules = taint_rules_new(f->env);
	f->claims_watch = model_resource_index(f->model, "resource.k8s.io/v1", "ResourceClaim");
}

uint64_t claims_rights_poll(struct frontend *f)
{
	uint64_t due, rules;

	if (!f->claims_rights || watch_absent(f->watches[f->claims_watch]))
		return NEVER_NS;
	due = rights_poll(f->claims_rights);
	rules = taint_rules_poll(f->taint_rules);
	return rules < due ? rules : due;
}
