/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/facts.h"
#include "ipc/units.h"

#define GRACE_MOST_S 3600u

/* A second DELETE only shortens the grace, and that of the same time. */
void facts_keep(struct kept_facts *f, const struct event_pod_facts *sent, uint64_t time_ns)
{
	if (facts_gone_ns(f, sent->generation) == 0)
		f->deleting_ns = time_ns;
	f->sent = *sent;
}

uint64_t facts_gone_ns(const struct kept_facts *f, uint32_t generation)
{
	if (f->sent.generation != generation || f->sent.ends_s == 0)
		return 0;
	return f->deleting_ns + f->sent.grace_s * NS_PER_S;
}

bool facts_overdue(const struct kept_facts *f, uint32_t generation, uint32_t patience_s,
                   uint64_t now_ns)
{
	const uint64_t gone_ns = facts_gone_ns(f, generation);
	const uint64_t most_ns = f->deleting_ns + GRACE_MOST_S * NS_PER_S;

	return gone_ns > 0 && now_ns > (gone_ns < most_ns ? gone_ns : most_ns) + patience_s * NS_PER_S;
}
