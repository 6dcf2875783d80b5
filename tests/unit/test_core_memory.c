/* Every allocation of the core fails once while it is told of pods, rules between them, nodes and
 * namespaces: it says so, every sum holds, and the same record again is taken. */
#include "support_census.h"
#include "support_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define STEPS 1500

Test(memory, every_allocation_fails_once)
{
	static struct model m = { .feeding = FEED_FAILING, .fail_in = &fail_in };

	if (!CAN_FAIL)
		return; /* the suite runs the plain build as well */
	model_begin(&m, "memory");
	for (int i = 0; i < STEPS; i++)
		model_step(&m);
	fprintf(stderr, "memory: %u allocations failed\n", m.failed);
	cr_assert_gt(m.failed, STEPS);
	model_end(&m);
}
