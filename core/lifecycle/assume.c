/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/assume.h"

#include "core/base/probe.h"
#include "core/filter/evaluate.h"
#include "core/filter/gpus.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/state.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BEST_TRIED 64u

static void request_pop(struct assumes *as)
{
	assert(as->n > 0);
	free(as->requests[as->first].nodes);
	as->requests[as->first].nodes = NULL;
	as->first = (as->first + 1) % ASSUMES_MAX;
	as->n--;
}

void assumes_clear(struct assumes *as)
{
	while (as->n > 0)
		request_pop(as);
	*as = (struct assumes){ .due_ns = UINT64_MAX };
	pod_list_init(&as->pods);
}

int assume_event(struct core *c, const struct assume_record *record)
{
	const struct event_assume *e = record->body;
	const struct pod *p = pods_find(&c->pods, e->pod);
	struct assumes *as = &c->assumes;
	struct assume_request *request = &as->requests[(as->first + as->n) % ASSUMES_MAX];

	if (!p || p->generation != e->pod_generation)
		return refuse(c, "assume request for an unknown pod");
	if (p->flags & POD_OURS)
		return refuse(c, "assume request for a pod that muster places");
	if (as->n == ASSUMES_MAX)
		return -ENOSPC;
	request->nodes = must_array(e->words, sizeof(*request->nodes));
	memcpy(request->nodes, record->nodes, e->words * sizeof(*request->nodes));
	request->body = *e;
	as->n++;
	PROBE(assume_accepted, e->pod, e->pod_generation, e->ticket);
	return 0;
}

static bool is_candidate(const uint64_t *nodes, uint32_t words, node_id id)
{
	return id / 64 < words && nodes[id / 64] >> (id % 64) & 1;
}

/* The class's view, whose keys are one more than the scores of evaluate(); NULL where they are not:
 * with a policy scores have tiers, and behind a backfill reservation scores that are normalised
 * over all nodes leave out the reserved ones. */
static const struct view *view_scored(struct core *c, class_id class)
{
	const struct view_scope scope = { .behind = true };
	const struct view *v;

	if (class_shape(&c->pod_counts, class)->body->policies_n > 0)
		return NULL;
	v = views_get(&c->views, &scope, class);
	return v->mode == VIEW_PLAIN || c->views.hold.version == 0 ? v : NULL;
}

static void evaluate_all(struct core *c, class_id class)
{
	evaluate(&c->pod_counts, class, c->config.score, &c->views.evaluation);
}

/* The choice of assume_node(), if it is among the first nodes with the view's highest key, as it is
 * where a scheduler asks about most nodes; ID_NONE: look at all of them. */
static node_id choose_best(const struct core *c, const struct view *v, const uint64_t *nodes,
                           uint32_t words, class_id class)
{
	const tree_key top = v->mode == VIEW_PLAIN ? tree_top(&v->tree) : 0;
	uint32_t rank = top > 0 ? tree_best(&v->tree) : TREE_NONE;

	for (uint32_t i = 0; i < BEST_TRIED && rank != TREE_NONE; i++) {
		const node_id id = c->nodes.order[rank];

		if (is_candidate(nodes, words, id) && views_suffice(&c->views, id, class))
			return id;
		rank = tree_next(&v->tree, rank + 1, top);
	}
	return ID_NONE;
}

node_id assume_node(struct core *c, const uint64_t *nodes, uint32_t words, class_id class)
{
	const struct evaluation *j = &c->views.evaluation;
	const struct view *v;
	node_id best = ID_NONE;
	uint32_t best_score = 0;

	nodes_sort(&c->nodes);
	gpus_follow(&c->pod_counts);
	v = view_scored(c, class);
	if (!v)
		evaluate_all(c, class);
	else
		best = choose_best(c, v, nodes, words, class);
	if (best != ID_NONE)
		return best;
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		const node_id id = c->nodes.order[rank];
		uint32_t score;

		if (!is_candidate(nodes, words, id) || !node_present(&c->nodes.slots[id]))
			continue;
		if (v)
			score = view_open(v, rank) ? view_key(v, rank) : 0;
		else
			score = j->whys[id] == 0 ? j->scores[id] + 1 : 0;
		if ((best != ID_NONE && score <= best_score) || !views_suffice(&c->views, id, class))
			continue;
		best = id;
		best_score = score;
	}
	return best;
}

static void reason_fill(struct core *c, class_id class, struct reason *r)
{
	struct filter_count counts[EVALUATION_COUNTS_MAX];
	uint32_t n;

	evaluate_all(c, class);
	n = evaluation_counts(&c->views.evaluation, &c->nodes, counts);
	r->why = WAIT_ROOM;
	r->need = 1;
	r->nodes = c->nodes.present;
	r->counts_n = n < FILTER_COUNTS_MAX ? n : FILTER_COUNTS_MAX;
	memcpy(r->counts, counts, r->counts_n * sizeof(*counts));
}

/* NULL if nothing may be reserved for the pod any more. */
static struct pod *requested_pod(struct core *c, const struct assume_request *request)
{
	struct pod *p = pods_find(&c->pods, request->body.pod);

	if (!p || p->generation != request->body.pod_generation ||
	    (p->flags & (POD_OURS | POD_DELETING)))
		return NULL;
	return reservation_is_pending(p) || p->reservation == RESERVATION_ASSUMED ? p : NULL;
}

/* keep_ms 0 selects a node and reserves nothing. */
static void request_decide(struct core *c, const struct assume_request *request,
                           struct cmd_assume *answer)
{
	const struct event_assume *e = &request->body;
	const struct pod *p = requested_pod(c, request);

	*answer = (struct cmd_assume){
		.pod = e->pod, .pod_generation = e->pod_generation, .ticket = e->ticket, .node = ID_NONE
	};
	if (!p) {
		answer->reason.why = WAIT_REFUSED;
		return;
	}
	if (p->reservation == RESERVATION_ASSUMED && e->keep_ms > 0)
		reservation_end(c, e->pod);
	if (p->reservation == RESERVATION_ASSUMED && is_candidate(request->nodes, e->words, p->node))
		answer->node = p->node;
	else
		answer->node = assume_node(c, request->nodes, e->words, p->class);
	if (answer->node == ID_NONE) {
		reason_fill(c, p->class, &answer->reason);
		return;
	}
	answer->node_generation = c->nodes.slots[answer->node].generation;
	if (e->keep_ms > 0)
		pod_assume(c, e->pod, answer->node, c->now_ns + e->keep_ms * NS_PER_MS);
}

bool assumes_answer(struct core *c)
{
	struct assumes *as = &c->assumes;
	struct cmd_assume *answer = &as->answer;

	assert(as->n <= ASSUMES_MAX);
	while (as->n > 0 || as->answer_waits) {
		if (!as->answer_waits)
			request_decide(c, &as->requests[as->first], answer);
		as->answer_waits = !c->config.emit(c->config.context, CMD_ASSUME, answer, sizeof(*answer));
		if (as->answer_waits)
			return false;
		PROBE(assume_answered, answer->pod, answer->pod_generation, answer->ticket, answer->node);
		request_pop(as);
	}
	return true;
}

void assumes_tick(struct core *c)
{
	struct assumes *as = &c->assumes;

	if (c->now_ns >= as->due_ns)
		as->due_ns = pods_expire(c, &as->pods, reservation_end);
}
