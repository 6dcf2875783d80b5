/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"

#include "core/filter/evaluate.h"
#include "core/filter/gpus.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"

int core_verdict(struct core *c, uint32_t pod, struct evaluation *out)
{
	const struct pod *p = pods_find(&c->pods, pod);

	if (!p)
		return -ENOENT;
	if (!reservation_is_pending(p))
		return -EBUSY;
	gpus_follow(&c->pod_counts);
	evaluate(&c->pod_counts, p->class, c->config.score, out);
	return 0;
}
