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

bool answer_write(const struct answer_source *s, const struct question *q, struct jsonout *out)
{
	jsonout_clear(out);
	switch ((enum question_kind)q->kind) {
	case QUESTION_STATE:
		answer_state(s, out);
		return true;
	case QUESTION_CELLS:
		answer_cells(s, q, out);
		return true;
	case QUESTION_GANGS:
		answer_gangs(s, q, out);
		return true;
	case QUESTION_HISTORY:
		history_write(s->history, q->resource, q->span, s->wall_ns, out);
		return true;
	case QUESTION_QUEUES:
		answer_queues(s, q, out);
		return true;
	case QUESTION_GANG:
		return answer_gang(s, q, out);
	case QUESTION_NODE:
		return answer_node(s, q, out);
	case QUESTIONS:
	case QUESTION_OUTSIDER:
		break;
	}
	return false;
}
