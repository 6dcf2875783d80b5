/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/claims.h"

#include "core/base/probe.h"
#include "core/filter/judge.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/state.h"
#include "core/plan/reason.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_MS UINT64_C(1000000)

void claims_init(struct claims *cl)
{
	*cl = (struct claims){ .due_ns = UINT64_MAX };
	pod_queue_init(&cl->kept, LIST_CLAIM);
}

static void claim_pop(struct claims *cl)
{
	free(cl->asked[cl->first].nodes);
	cl->asked[cl->first].nodes = NULL;
	cl->first = (cl->first + 1) % CLAIMS_MAX;
	cl->n--;
}

void claims_clear(struct claims *cl)
{
	while (cl->n > 0)
		claim_pop(cl);
	claims_init(cl);
}

int claim_event(struct core *c, const struct claim_record *record)
{
	const struct event_claim *e = record->body;
	const struct pod *p = pods_find(&c->pods, e->pod);
	struct claims *cl = &c->claims;
	struct claim *claim = &cl->asked[(cl->first + cl->n) % CLAIMS_MAX];

	if (!p || p->generation != e->pod_generation)
		return refuse(c, "claim of an unknown pod");
	if (p->flags & POD_OURS)
		return refuse(c, "claim of a pod that muster places");
	if (cl->n == CLAIMS_MAX)
		return -ENOSPC;
	claim->nodes = malloc(e->words * sizeof(*claim->nodes) + 1);
	if (!claim->nodes)
		return -ENOMEM;
	memcpy(claim->nodes, record->nodes, e->words * sizeof(*claim->nodes));
	claim->body = *e;
	cl->n++;
	PROBE(claim_taken, e->pod, e->pod_generation, e->ticket);
	return 0;
}

/* ---- where ------------------------------------------------------------------------------ */

static bool is_asked(const struct claim *claim, node_id id)
{
	return id / 64 < claim->body.words && claim->nodes[id / 64] >> (id % 64) & 1;
}

/* The other scheduler's own filters have passed these nodes, so what counts is the room.  Of those
 * with room the one that muster's judgement puts first, then those that it would not take. */
static node_id node_choose(struct core *c, const struct claim *claim, kind_id kind)
{
	struct judgement *j = &c->views.judgement;
	node_id best = ID_NONE;
	uint32_t best_score = 0;

	nodes_sort(&c->nodes);
	judge(&c->census, kind, c->config.score, j);
	for (uint32_t rank = 0; rank < c->nodes.present; rank++) {
		const node_id id = c->nodes.order[rank];
		const uint32_t score = j->whys[id] == 0 ? j->scores[id] + 1 : 0;

		if (!is_asked(claim, id) || (best != ID_NONE && score <= best_score) ||
		    !views_room(&c->views, id, kind))
			continue;
		best = id;
		best_score = score;
	}
	return best;
}

static void say_why(const struct core *c, struct reason *r)
{
	struct why_count counts[JUDGEMENT_COUNTS_MAX];
	uint32_t n = judgement_counts(&c->views.judgement, &c->nodes, counts);

	r->why = WHY_ROOM;
	r->need = 1;
	r->nodes = c->nodes.present;
	r->counts_n = n < WHY_COUNTS_MAX ? n : WHY_COUNTS_MAX;
	memcpy(r->counts, counts, r->counts_n * sizeof(*counts));
}

/* Is the pod still one that may be given room? */
static struct pod *claimant(struct core *c, const struct claim *claim)
{
	struct pod *p = pods_find(&c->pods, claim->body.pod);

	if (!p || p->generation != claim->body.pod_generation || (p->flags & (POD_OURS | POD_DELETING)))
		return NULL;
	return p->state == POD_PENDING || p->list == LIST_CLAIM ? p : NULL;
}

static void claim_look(struct core *c, const struct claim *claim, struct cmd_claim *answer)
{
	struct pod *p = claimant(c, claim);

	*answer = (struct cmd_claim){ .pod = claim->body.pod,
		                          .pod_generation = claim->body.pod_generation,
		                          .ticket = claim->body.ticket,
		                          .node = ID_NONE };
	if (!p) {
		answer->reason.why = WHY_REFUSED;
		return;
	}
	if (p->list == LIST_CLAIM && claim->body.keep_ms > 0)
		pod_unclaim(c, claim->body.pod);
	answer->node = p->list == LIST_CLAIM && is_asked(claim, p->node)
	                   ? p->node
	                   : node_choose(c, claim, p->kind);
	if (answer->node == ID_NONE) {
		say_why(c, &answer->reason);
		return;
	}
	answer->node_generation = c->nodes.slots[answer->node].generation;
	if (claim->body.keep_ms > 0)
		pod_claim(c, claim->body.pod, answer->node, c->now_ns + claim->body.keep_ms * NS_PER_MS);
}

bool claims_answer(struct core *c)
{
	struct claims *cl = &c->claims;

	while (cl->n > 0 || cl->answer_waits) {
		if (!cl->answer_waits)
			claim_look(c, &cl->asked[cl->first], &cl->answer);
		cl->answer_waits =
			!c->config.emit(c->config.context, CMD_CLAIM, &cl->answer, sizeof(cl->answer));
		if (cl->answer_waits)
			return false;
		PROBE(claim_answered, cl->answer.pod, cl->answer.pod_generation, cl->answer.ticket,
		      cl->answer.node);
		claim_pop(cl);
	}
	return true;
}

void claims_tick(struct core *c)
{
	struct claims *cl = &c->claims;

	if (c->now_ns >= cl->due_ns)
		cl->due_ns = pods_over(c, &cl->kept, pod_unclaim);
}
