/* SPDX-License-Identifier: Apache-2.0 */
/* The one symbol by which the simulator reaches the code of a version: versions.sh hides all others
 * of the second one. */
#include "tests/sim/sim.h"

const struct version sim_version = {
	.net_new = net_new,
	.net_free = net_free,
	.net_window = net_window,
	.net_watches_slow = net_watches_slow,
	.net_cut_watches = net_cut_watches,
	.net_down = net_down,
	.net_calm = net_calm,
	.net_run = net_run,
	.net_due_ns = net_due_ns,
	.net_busy = net_busy,
	.net_faults = net_faults,
	.make = instance_new,
	.free = instance_free,
	.core_dies = instance_core_dies,
	.frontend_dies = instance_frontend_dies,
	.core_stops = instance_core_stops,
	.frontend_stops = instance_frontend_stops,
	.pauses = instance_pauses,
	.resumed_ns = instance_resumed_ns,
	.run = instance_run,
	.due_ns = instance_due_ns,
	.busy = instance_busy,
	.queues_at_rest = instance_queues_at_rest,
	.leads = instance_leads,
	.holds = instance_holds,
	.may_write = instance_may_write,
	.check = instance_check,
	.crashes = instance_crashes,
};
