/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/judge.h"
#include "core/lifecycle/state.h"

int core_verdict(const struct core *c, uint32_t pod, struct judgement *out)
{
	const struct pod *p = pods_find(&c->pods, pod);

	if (!p)
		return -ENOENT;
	if (p->state != POD_PENDING)
		return -EBUSY;
	judge(&c->census, p->kind, c->config.score, out);
	return 0;
}
