/* SPDX-License-Identifier: Apache-2.0 */
/* Could a gang ever fit, that is in a cluster where all other pods that end have ended? */
#include "core/cycle/backfill_impl.h"

#include "core/plan/minimum.h"

#include <assert.h>

/* True if as many members of each role as are missing could fit; could[i] of kind i do. */
static bool roles_could_fit(struct core *c, const struct gang *g, const struct wanted *w,
                            const uint32_t could[HOLD_CLASSES_MAX])
{
	gang_need_find(g, &c->need);
	for (uint32_t r = 0; r < c->need.roles_n; r++) {
		uint32_t members[HOLD_CLASSES_MAX] = { 0 };
		uint64_t fit = 0;

		for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
			const struct pod *p = &c->pods.slots[id];

			for (uint32_t i = 0; i < w->n; i++)
				members[i] += p->readiness == MEMBER_READY && p->class == w->classes[i] &&
				              p->role == c->need.roles[r].role;
		}
		for (uint32_t i = 0; i < w->n; i++)
			fit += members[i] < could[i] ? members[i] : could[i];
		if (fit < c->need.roles[r].quorum)
			return false;
	}
	return true;
}

bool could_fit(struct core *c, const struct gang *g, struct wanted *w)
{
	uint32_t could[HOLD_CLASSES_MAX] = { 0 };
	uint64_t fit = 0;

	assert(w->n <= HOLD_CLASSES_MAX);
	budget_spend(&c->budget, (uint64_t)w->n * c->nodes.used * NODE_STEPS);
	if (gang_asks_minimum(g) &&
	    !minimum_could_be_met(g, &c->pods, &c->shapes, &c->nodes, w->lasting))
		return false;
	if (gang_requires_level(g))
		return domain_could_fit(c, g, w, gang_missing(g));
	for (uint32_t i = 0; i < w->n; i++) {
		const struct shape *s = class_shape(&c->pod_counts, w->classes[i]);
		uint32_t left = w->members[i];

		for (node_id id = 0; id < c->nodes.used && left > 0; id++)
			left -= empty_most(c, w->lasting, id, s, left);
		could[i] = ruled_most(c, w->lasting, w->classes[i], w->members[i] - left);
		fit += could[i];
	}
	return fit >= gang_missing(g) && roles_could_fit(c, g, w, could);
}

bool lasting_pods_bar(struct core *c, const struct gang *g)
{
	struct wanted w;

	if (!c->lasting.any || !wanted_find(c, g, &w))
		return false;
	w.lasting = NULL;
	return could_fit(c, g, &w);
}

bool fit_is_certain(const struct core *c, const struct gang *g, const struct wanted *w)
{
	return w->n == 1 && !class_has_rules(c, w->classes[0]) && !gang_asks_minimum(g);
}
