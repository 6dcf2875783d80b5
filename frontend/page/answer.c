/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/page/answer.h"

#include "frontend/page/answer_impl.h"

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
