/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/ticket_search.h"

#include "core/lifecycle/state.h"
#include "core/world/reclaim_marks.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct found {
	struct event_answer body;
	struct answer_pod *pods; /* victims, then places; ANSWER_PODS_MAX */
};

static struct record *record_of(const struct found *f)
{
	const uint32_t pods =
		(f->body.victims_n + f->body.places_n) * (uint32_t)sizeof(struct answer_pod);
	const uint32_t bytes = (uint32_t)(sizeof(struct record) + sizeof(f->body)) + pods;
	struct record *r = must_alloc(bytes);
	unsigned char *at = (unsigned char *)(r + 1);

	assert(f->body.victims_n + f->body.places_n <= ANSWER_PODS_MAX);
	*r = (struct record){ .bytes = bytes, .kind = EVENT_ANSWER };
	memcpy(at, &f->body, sizeof(f->body));
	memcpy(at + sizeof(f->body), f->pods, pods);
	return r;
}

static struct answer_pod answer_pod(const struct core *c, pod_id pod, node_id node)
{
	return (struct answer_pod){ .pod = pod,
		                        .generation = c->pods.slots[pod].generation,
		                        .node = node,
		                        .node_generation = c->nodes.slots[node].generation };
}

/* The members that the plan has placed; false: a record does not take so many. */
static bool places_take(const struct core *c, struct found *f)
{
	const struct plan *plan = &c->plan;

	if (plan->placed > ANSWER_PODS_MAX)
		return false;
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->nodes[i] != ID_NONE)
			f->pods[f->body.places_n++] = answer_pod(c, plan->pods[i], plan->nodes[i]);
	return true;
}

/* The gang as a packing: core/pack. */
static void pack(struct kept *kept, const struct gang *g, struct found *f)
{
	struct core *c = kept->core;
	enum plan_answer answer;

	budget_reset(&c->budget);
	c->plan.search = true;
	c->plan.pack_steps = kept->facts.steps_most;
	gang_need_find(g, &c->need);
	answer = plan_gang(&c->plan, &c->views, false, &c->gangs, g, &c->need);
	f->body.steps = c->budget.spent + kept->facts.steps_most - c->plan.pack_left;
	c->plan.pack_steps = 0;
	f->body.verdict = answer == PLAN_IMPOSSIBLE ? ANSWER_IMPOSSIBLE : ANSWER_GAVE_UP;
	if (answer != PLAN_PLACED)
		return;
	if (places_take(c, f))
		f->body.verdict = ANSWER_PACKED;
	undo_all(&c->plan, &c->views, &c->gangs);
}

/* A lone pod: the victims of a node. */
static void pod_victims(struct kept *kept, const struct ticket *t, struct found *f)
{
	static const uint32_t verdicts[] = {
		[POD_FITS] = ANSWER_FREE,        [POD_NEVER] = ANSWER_NEVER,
		[POD_TERMINATING] = ANSWER_FREE, [POD_WAITS] = ANSWER_FREE,
		[POD_VICTIMS] = ANSWER_GAVE_UP,  [POD_NONE] = ANSWER_IMPOSSIBLE,
		[POD_GAVE_UP] = ANSWER_GAVE_UP,
	};
	const struct core *c = kept->core;
	const uint64_t steps_most = kept->facts.steps_most;
	const pod_id pod = gang_lone_pod(&c->gangs, t->gang);
	uint8_t *marks = reclaim_marks_lone(kept, kept->world, pod);
	const struct node_victims *node;
	struct pod_search s;
	int rc;

	kept->facts.reclaim = marks;
	kept->facts.steps_most = steps_most / (TICKETS_MAX - TICKETS_GANGS);
	rc = search_pod(kept->core, &kept->facts, pod, &s);
	kept->facts.steps_most = steps_most;
	kept->facts.reclaim = NULL;
	free(marks);
	if (rc < 0)
		return;
	f->body.verdict = verdicts[s.answer];
	f->body.steps += s.steps;
	node = f->body.verdict == ANSWER_GAVE_UP ? pod_search_nth(&s, t->nth) : NULL;
	if (node && node->objective.pods <= ANSWER_PODS_MAX) {
		f->body.verdict = ANSWER_VICTIMS;
		f->body.gap = s.answer != POD_VICTIMS;
		for (uint32_t i = 0; i < node->objective.pods; i++)
			f->pods[f->body.victims_n++] =
				answer_pod(c, node->pods[i], c->pods.slots[node->pods[i]].node);
	}
	pod_search_free(&s);
}

/* True if the gang waits for capacity in that core, too. */
static bool waits(struct kept *kept, struct gang *g)
{
	if ((g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED)) || gang_quorum_met(g) ||
	    !gang_enough(g, MEMBER_READY) || kept->core->nodes.present == 0)
		return false;
	gang_ready_class_find(&kept->core->gangs, g);
	return true;
}

int kept_search(struct kept *kept, const struct core *has, gang_id gang, struct gang_search *out)
{
	struct reclaim_marks marks = reclaim_marks(kept, has, gang);
	int rc;

	kept->facts.reclaim = marks.marks;
	kept->facts.ranks = marks.ranks;
	rc = search_gang(kept->core, &kept->facts, gang, out);
	kept->facts.reclaim = NULL;
	kept->facts.ranks = NULL;
	reclaim_marks_free(&marks);
	return rc;
}

/* Who has to go, or that it fits without. */
static void victims(struct kept *kept, struct found *f)
{
	static const uint32_t verdicts[] = {
		[VICTIMS_UNASKED] = ANSWER_UNASKED, [VICTIMS_NEVER] = ANSWER_NEVER,
		[VICTIMS_NEEDLESS] = ANSWER_FREE,   [VICTIMS_WAITS] = ANSWER_FREE,
		[VICTIMS_PROVED] = ANSWER_VICTIMS,  [VICTIMS_IMPOSSIBLE] = ANSWER_IMPOSSIBLE,
		[VICTIMS_GAVE_UP] = ANSWER_GAVE_UP, [VICTIMS_DEVICES] = ANSWER_GAVE_UP,
	};
	struct gang_search s;

	if (kept_search(kept, kept->world, f->body.gang, &s) < 0)
		return;
	f->body.verdict = verdicts[s.answer];
	f->body.steps += s.steps;
	if (s.found && s.objective.pods <= ANSWER_PODS_MAX) {
		f->body.verdict = ANSWER_VICTIMS;
		f->body.gap = s.answer != VICTIMS_PROVED;
		for (uint32_t i = 0; i < s.objective.pods; i++)
			f->pods[f->body.victims_n++] =
				answer_pod(kept->core, s.pods[i], kept->core->pods.slots[s.pods[i]].node);
	} else if (f->body.verdict == ANSWER_VICTIMS) {
		f->body.verdict = ANSWER_GAVE_UP;
	}
	gang_search_free(&s);
}

static void group_search(struct kept *kept, const struct gang *g, uint32_t flags, struct found *f)
{
	if ((flags & PREEMPTION_PACK) && !gang_has_levels(g))
		pack(kept, g, f);
	if ((flags & PREEMPTION_ON) && f->body.verdict != ANSWER_PACKED)
		victims(kept, f);
}

struct record *ticket_search(struct kept *kept, const struct ticket *t, uint64_t position,
                             uint32_t flags)
{
	struct gang *g = &kept->core->gangs.slots[t->gang];
	struct found f = { .body = { .ticket = t->number,
		                         .position = position,
		                         .gang = t->gang,
		                         .generation = t->generation,
		                         .verdict = ANSWER_UNASKED },
		               .pods = must_array(ANSWER_PODS_MAX, sizeof(*f.pods)) };
	struct record *r;

	if (g->generation == t->generation && waits(kept, g)) {
		if (gang_is_group(&kept->core->gangs, t->gang))
			group_search(kept, g, flags, &f);
		else
			pod_victims(kept, t, &f);
	}
	r = record_of(&f);
	free(f.pods);
	return r;
}
