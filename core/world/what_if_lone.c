/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/what_if_lone.h"

#include "core/lifecycle/state.h"
#include "core/world/reclaim_marks.h"
#include "core/world/victims_row.h"

#include <stdio.h>
#include <stdlib.h>

static bool has_node(const struct lone_pods *l, const struct core *c, uint32_t i)
{
	return c->pods.slots[l->put.pods[i]].node != ID_NONE;
}

void lone_reason(struct lone_pods *l, const struct cmd_reason *command)
{
	for (uint32_t i = 0; command->gang == ID_NONE && i < l->put.pods_n; i++)
		if (l->put.pods[i] == command->pod)
			l->reasons[i] = command->reason;
}

bool lone_tried(const struct lone_pods *l, const struct core *c)
{
	for (uint32_t i = 0; i < l->put.pods_n; i++)
		if (!has_node(l, c, i) && l->reasons[i].why == WAIT_NONE)
			return false;
	return true;
}

uint32_t lone_count(const struct lone_pods *l, const struct core *c, uint32_t *on)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->put.pods_n; i++)
		if (has_node(l, c, i)) {
			on[c->pods.slots[l->put.pods[i]].node]++;
			n++;
		}
	return n;
}

/* The victims of the node that kube-scheduler would choose, as a search for a gang has them. */
static struct gang_search search_of(const struct pod_search *s)
{
	static const uint32_t answers[] = {
		[POD_FITS] = VICTIMS_NEEDLESS,        [POD_NEVER] = VICTIMS_NEVER,
		[POD_TERMINATING] = VICTIMS_NEEDLESS, [POD_WAITS] = VICTIMS_NEEDLESS,
		[POD_VICTIMS] = VICTIMS_PROVED,       [POD_NONE] = VICTIMS_IMPOSSIBLE,
		[POD_GAVE_UP] = VICTIMS_GAVE_UP,
	};
	struct gang_search found = { .answer = answers[s->answer], .steps = s->steps };
	const struct node_victims *node = pod_search_nth(s, 0);

	if (node && (s->answer == POD_VICTIMS || s->answer == POD_GAVE_UP)) {
		found.found = true;
		found.objective = node->objective;
		found.pods = s->pods + (node->pods - s->pods);
	}
	return found;
}

static void victims_fill(struct kept *kept, pod_id pod, bool budgets_unknown,
                         struct live_answer *out)
{
	const uint32_t index = kept->core->config.limits.gangs + pod;
	uint8_t *marks = reclaim_marks_lone(kept, kept->core, pod);
	struct pod_search s;
	struct gang_search found;
	int rc;

	kept->facts.reclaim = marks;
	rc = search_pod(kept->core, &kept->facts, pod, &s);
	kept->facts.reclaim = NULL;
	free(marks);
	if (rc < 0)
		return;
	found = search_of(&s);
	victims_row_set(&out->victims,
	                &(struct victims_found){ .core = kept->core,
	                                         .facts = &kept->facts,
	                                         .search = &found,
	                                         .gang = index,
	                                         .generation = kept->core->pods.slots[pod].generation,
	                                         .budgets_unknown = budgets_unknown });
	pod_search_free(&s);
}

void lone_waits_fill(const struct lone_pods *l, struct kept *kept, bool budgets_unknown,
                     struct live_answer *out)
{
	const struct core *c = kept->core;
	const struct pod *p;
	uint32_t i = 0;

	while (i + 1 < l->put.pods_n && has_node(l, c, i))
		i++;
	p = &c->pods.slots[l->put.pods[i]];
	out->verdict = QUESTION_WAITS;
	out->reason = l->reasons[i];
	snprintf(out->text, sizeof(out->text), "%.*s", (int)p->name_bytes, p->name);
	if (waits_for_capacity(out->reason.why))
		victims_fill(kept, l->put.pods[i], budgets_unknown, out);
}
