/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/claims_figures.h"

#include "frontend/bind/claim_bind_impl.h"

void claims_figures_read(struct claims_figures *out, const struct claim_bind *cb)
{
	const struct pod_claims *w;

	*out = (struct claims_figures){ 0 };
	TAILQ_FOREACH (w, &cb->works, link)
		for (uint32_t i = 0; w->started && i < w->n; i++) {
			const struct claim_item *c = &w->items[i];
			struct live_claim_view v;

			if (!c->name || !live_claim_named(cb->live, w->namespace, c->name, w->pod_uid, &v))
				continue;
			out->writing += !w->undoing && !v.allocated && c->allocation;
			out->undoing += w->undoing && v.allocated;
		}
}
