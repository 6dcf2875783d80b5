/* SPDX-License-Identifier: Apache-2.0 */
/* What the slow model has to ask the core itself; core/lifecycle/state.h has names that the model
 * has too. */
#include "core/lifecycle/state.h"

#include "tests/unit/support_slow.h"

bool slow_core_keeps_nothing(const struct core *c, pod_id id)
{
	const struct pod *p = pods_find(&c->pods, id);

	return p && p->reservation == RESERVATION_NONE;
}
