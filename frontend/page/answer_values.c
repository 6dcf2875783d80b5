/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/page/answer_impl.h"

#include <stdio.h>

void answer_number(struct jsonout *out, const char *format, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	jsonout_add(out, format, text);
}

uint64_t answer_since_s(uint64_t ns, uint64_t now_ns)
{
	return ns != 0 && ns < now_ns ? (now_ns - ns) / NS_PER_S : 0;
}

const char *answer_stage(const struct pod_view *pod)
{
	if (pod->deleting)
		return "Terminating";
	if (*pod->node)
		return pod->phase == POD_PHASE_RUNNING ? "Running" : "Bound";
	if (*pod->binding)
		return "Binding";
	if (pod->gated)
		return "Gated";
	return *pod->refusal ? "Refused" : "Waiting";
}
