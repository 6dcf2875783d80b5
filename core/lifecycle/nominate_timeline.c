/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations in the timeline of promises: victims are known ends, and members are there from the
 * time when the last one is gone. */
#include "core/lifecycle/nominate.h"

uint64_t victim_gone_ns(const struct core *c, const struct eviction *v)
{
	const uint64_t gone_ns = facts_gone_ns(&c->tickets.facts[v->pod], v->generation);

	return v->state == VICTIM_ENDING && gone_ns > c->now_ns ? gone_ns : c->now_ns + VICTIM_GRACE_NS;
}

uint64_t victims_gone_ns(const struct core *c, const struct eviction *victims, uint32_t n)
{
	uint64_t last_ns = c->now_ns;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t gone_ns = victim_gone_ns(c, &victims[i]);

		last_ns = gone_ns > last_ns ? gone_ns : last_ns;
	}
	return last_ns;
}

void nomination_timeline_enter(struct core *c, const struct nomination *n)
{
	for (uint32_t i = 0; c->promises.timeline && i < n->places_n; i++) {
		const struct pod *p = &c->pods.slots[n->places[i].pod];
		const struct timeline_entry entry = { .pod = n->places[i].pod,
			                                  .gang = n->gang,
			                                  .node = p->node,
			                                  .shape = p->shape,
			                                  .ours = true };

		timeline_pod_enter(c->promises.timeline, &entry, n->start_ns);
	}
}

void nomination_timeline_leave(struct core *c, const struct nomination *n)
{
	for (uint32_t i = 0; c->promises.timeline && i < n->places_n; i++)
		timeline_pod_leave(c->promises.timeline, n->places[i].pod);
}

void nomination_victims_expect(struct core *c, const struct nomination *n, uint64_t by_ns)
{
	for (uint32_t i = 0; c->promises.timeline && i < n->victims_n; i++)
		if (n->victims[i].state != VICTIM_ENDING)
			timeline_pod_evict(c->promises.timeline, n->victims[i].pod, by_ns);
}

void nomination_timeline_restore(struct core *c, const struct nomination *n)
{
	nomination_timeline_enter(c, n);
	nomination_victims_expect(c, n, n->start_ns);
}

void nomination_timeline_release(struct core *c, const struct nomination *n)
{
	nomination_timeline_leave(c, n);
	nomination_victims_expect(c, n, 0);
}

__attribute__((cold)) void nomination_timeline_begin(struct core *c, const struct nomination *n)
{
	for (uint32_t i = 0; i < n->victims_n; i++)
		timeline_pod_evict(c->promises.timeline, n->victims[i].pod,
		                   victim_gone_ns(c, &n->victims[i]));
	nomination_timeline_enter(c, n);
	promise_nominate(c->promises.timeline, n->gang, true);
}
