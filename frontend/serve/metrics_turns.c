/* SPDX-License-Identifier: Apache-2.0 */
/* What held the loops of both processes up, by part of their turns. */
#include "frontend/serve/metrics_impl.h"
#include "ipc/plans.h"

#include <stdio.h>

#define CORE_FIRST 4 /* the first bound that is written: 15.6 us */

static void core_write(const struct metrics_core *c, FILE *out)
{
	static const char name[] = "muster_core_loop_part_seconds";
	static const char *const parts[LOOP_PARTS] = {
		[LOOP_RESULTS] = "results", [LOOP_EVENTS] = "events",     [LOOP_ANSWERS] = "answers",
		[LOOP_PLANS] = "plans",     [LOOP_DOORBELL] = "doorbell",
	};

	family_write(out, name, "histogram", "Time of the core's loop, by part of an iteration.");
	for (unsigned part = 0; part < LOOP_PARTS; part++) {
		const struct ledger_buckets buckets = { .counts = c->loop.took[part],
			                                    .n = PLAN_BOUNDS,
			                                    .bound = plans_bound_ns,
			                                    .unit = 1e-9,
			                                    .sum = c->loop.ns[part] };
		char label[48];

		snprintf(label, sizeof(label), "part=\"%s\",", parts[part]);
		buckets_rows_write(&buckets, CORE_FIRST, name, label, out);
	}
	FIGURES(out, COUNTER("muster_core_loop_runqueue_seconds_total",
	                     "Time in which the core's loop could run and had no CPU.",
	                     (double)c->loop.runqueue_ns * 1e-9));
}

void metrics_turns_write(const struct metrics *m, FILE *out)
{
	static const char name[] = "muster_loop_part_seconds";

	family_write(out, name, "histogram", "Time of the frontend's loop, by part of an iteration.");
	for (unsigned part = 0; part < TURN_PARTS; part++) {
		char label[48];

		snprintf(label, sizeof(label), "part=\"%s\",", turn_part_name(part));
		histogram_write(&m->turns.parts[part], &buckets_attempt, 1e-9, name, label, out);
	}
	FIGURES(out, COUNTER("muster_loop_runqueue_seconds_total",
	                     "Time in which the frontend's loop could run and had no CPU.",
	                     (double)m->runqueue_ns * 1e-9));
	if (m->core_up)
		core_write(&m->core, out);
}
