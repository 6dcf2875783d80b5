/* SPDX-License-Identifier: Apache-2.0 */
/* The wait for binding conditions of the devices that claims were given. */
#include "frontend/bind/claim_bind_impl.h"

#define AGAIN_MS 20u /* the next plan has other devices */
#define UNREADY_MS 5000u

/* dynamicresources: isClaimTimeout; and by a clock of our own, should that of the allocation be
 * ahead. */
static bool is_late(const struct pod_claims *w, const struct live_claim_view *v)
{
	const struct env *env = w->cb->env;
	const uint64_t now_s = env->wall_ns(env->context) / NS_PER_S, most_ns = w->cb->conditions_ns;

	return (v->allocated_s > 0 && now_s >= (uint64_t)v->allocated_s + most_ns / NS_PER_S) ||
	       (w->waits_ns > 0 && env_now(env) - w->waits_ns >= most_ns);
}

/* Its devices did not become ready, and never will. */
static bool is_unready(struct claim_item *c, struct live_claim_view *v)
{
	return !c->drop && claim_item_view(c, v) && v->allocated &&
	       (v->conditions == LIVE_FAILED || (v->conditions == LIVE_WAITS && is_late(c->work, v)));
}

static void fail(struct pod_claims *w, const struct claim_item *c, const struct live_claim_view *v)
{
	if (v->conditions == LIVE_FAILED)
		pod_claims_fail(w, "claim %s binding failed: %s", c->name, v->failure);
	else
		pod_claims_fail(w, "device binding timeout");
}

/* What is this pod's alone is taken back as any other failure, once it has started. */
bool pod_claims_start_unready(struct pod_claims *w, struct prebind_why *why)
{
	struct live_claim_view v;

	for (uint32_t i = 0; i < w->n && !w->failed; i++) {
		struct claim_item *c = &w->items[i];

		if (c->drop || !claim_item_view(c, &v) || !v.allocated || !v.others)
			continue;
		if (is_unready(c, &v))
			fail(w, c, &v);
		else
			claim_item_conflicts(c);
	}
	if (!w->failed)
		return false;
	*why = w->why;
	why->retry_ms = UNREADY_MS;
	return true;
}

static void tell_wait(struct pod_claims *w)
{
	struct claim_bind *cb = w->cb;

	if (w->told || !cb->waits)
		return;
	w->told = true;
	cb->waits(cb->waits_context, w->pod, w->generation, w->node);
}

bool pod_claims_ready(struct pod_claims *w)
{
	const uint64_t now = env_now(w->cb->env);
	struct live_claim_view v;
	bool ready = true, again = true;

	if (w->waits_ns == 0)
		w->waits_ns = now;
	for (uint32_t i = 0; i < w->n; i++) {
		struct claim_item *c = &w->items[i];

		if (is_unready(c, &v)) {
			c->unready = true;
			/* With the same devices it would be written and taken back without end. */
			again = live_avoid(w->cb->live, w->pod, c->index, now + CLAIM_AVOID_MS * NS_PER_MS) &&
			        again;
			fail(w, c, &v);
			w->why.retry_ms = again ? AGAIN_MS : UNREADY_MS;
		}
		ready = ready && (c->drop || (claim_item_view(c, &v) && v.conditions == LIVE_MET));
	}
	if (!ready && !w->failed)
		tell_wait(w);
	return ready && !w->failed;
}
