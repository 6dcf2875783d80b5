/* SPDX-License-Identifier: Apache-2.0 */
/* Evictions and what they were for.  Nothing without --preemption on. */
#include "frontend/serve/metrics_impl.h"

#include "ipc/plans.h"

/* From bucket `first` on. */
static void counts_write(const struct victims_counts *c, unsigned first, const char *name,
                         const char *help, FILE *out)
{
	buckets_write(
		&(struct ledger_buckets){
			.counts = c->n, .n = VICTIMS_BOUNDS, .bound = victims_bound, .unit = 1, .sum = c->sum },
		first, name, help, out);
}

void metrics_evictions_write(const struct metrics *m, FILE *out)
{
	const struct evictor_counts *e = &m->evictor;
	const struct metrics_core *c = &m->core;

	if (!m->evicts)
		return;
	LABELLED(out, "muster_evictions_total", "mode", "Pods evicted for gangs.",
	         { m->evicts_best_effort ? "best-effort" : "respect", e->evicted });
	FIGURES(out,
	        GAUGE("muster_evictions_granted",
	              "0 while a right to evict is missing: muster explains and evicts no pod.",
	              m->evicts_granted),
	        GAUGE("muster_evictions_waiting", "Evictions that are not sent yet.", m->evicts_queued),
	        COUNTER("muster_evictions_refused_total",
	                "Evictions that a PodDisruptionBudget forbade.", e->refused),
	        COUNTER("muster_evictions_withdrawn_total",
	                "Evictions cancelled before they were sent.", e->withdrawn),
	        COUNTER("muster_evictions_failed_total",
	                "Evictions that the API server rejects: no right, or invalid.", e->failed),
	        COUNTER("muster_evictions_unknown_total", "Evictions without a conclusive answer.",
	                e->unknown));
	LABELLED(out, "muster_reclaims_total", "rule",
	         "Gangs for which pods of other queues were evicted, by the rule that allowed it.",
	         { "guarantee", e->gangs_by[EVICT_GUARANTEE] }, { "fair", e->gangs_by[EVICT_FAIR] });
	LABELLED(out, "muster_reclaimed_pods_total", "rule", "Pods evicted for gangs of other queues.",
	         { "guarantee", e->pods_by[EVICT_GUARANTEE] }, { "fair", e->pods_by[EVICT_FAIR] });
	FIGURES(out, COUNTER("muster_extras_given_back_total",
	                     "Members beyond a quorum evicted for other gangs.", e->extras));
	if (!m->core_up)
		return;
	LABELLED(
		out, "muster_preemptions_total", "result",
		"Nominations that ended, by result: all but placed and elsewhere may have evicted in vain.",
		{ "placed", c->preemption.placed }, { "elsewhere", c->preemption.elsewhere },
		{ "changed", c->preemption.changed }, { "refused", c->preemption.refused },
		{ "stuck", c->preemption.stuck }, { "taken_over", c->preemption.taken_over },
		{ "lost", c->preemption.lost });
	LABELLED(out, "muster_preemption_tickets_total", "event",
	         "Searches for victims of waiting gangs, by event.",
	         { "opened", c->preemption.tickets }, { "answered", c->preemption.answers },
	         { "stale", c->preemption.stale }, { "expired", c->preemption.expired });
	FIGURES(out,
	        GAUGE("muster_nominations", "Nominated gangs, whose victims are being evicted.",
	              c->preemption.open),
	        COUNTER("muster_evictions_wasted_total",
	                "Victims evicted for a nomination that was not placed.", c->preemption.wasted));
	counts_write(&c->preemption.victims, 1, "muster_preemption_victims",
	             "Pods that one plan evicts, of plans that evict some.", out);
	counts_write(&c->preemption.broken, 0, "muster_preemption_gangs_broken",
	             "Gangs that lose their quorum by one plan that evicts pods.", out);
}
