/* SPDX-License-Identifier: Apache-2.0 */
/* Victims for one pod: kube-scheduler's DefaultPreemption (framework/preemption), on every node. */
#include "core/search/pod_impl.h"

#include "core/lifecycle/reservation.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

static uint32_t nominated_add(struct pod_question *q, node_id node)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < q->nominated_n; i++) {
		if (search_facts_of(&q->s, q->nominated[i])->nominated != node)
			continue;
		pod_counts_allocate(&q->s.c->pod_counts, node, search_at(&q->s, q->nominated[i])->class,
		                    false);
		n++;
	}
	return n;
}

static void nominated_remove(struct pod_question *q, node_id node)
{
	for (uint32_t i = 0; i < q->nominated_n; i++)
		if (search_facts_of(&q->s, q->nominated[i])->nominated == node)
			pod_counts_release(&q->s.c->pod_counts, node, search_at(&q->s, q->nominated[i])->class,
			                   false);
}

static void probe_make(struct pod_question *q)
{
	if (q->probed)
		return;
	evaluation_init(&q->probe, &q->s.c->config.limits, false);
	evaluate(&q->s.c->pod_counts, q->class, SCORE_KUBE, &q->probe);
	q->probed = true;
}

static bool evaluate_here(struct pod_question *q, node_id node)
{
	const struct pod_counts *cs = &q->s.c->pod_counts;

	probe_make(q);
	q->s.steps += 20 + (evaluate_reads_others(cs, q->class) ? q->s.c->nodes.used : 0);
	return evaluate_node(cs, q->class, node, &q->probe);
}

bool pod_fits(struct pod_question *q, node_id node)
{
	bool passed = true;

	if (nominated_add(q, node) > 0) {
		passed = evaluate_here(q, node);
		nominated_remove(q, node);
	}
	return passed && evaluate_here(q, node);
}

/* The status of each node as things are, into out->first. */
static void evaluate_first(struct pod_question *q)
{
	struct pod_search *out = q->out;
	const struct nodes *ns = &q->s.c->nodes;

	evaluate(&q->s.c->pod_counts, q->class, SCORE_KUBE, &out->first);
	for (uint32_t i = 0; i < q->nominated_n && out->first.whole == FILTER_PASSED; i++) {
		const node_id node = search_facts_of(&q->s, q->nominated[i])->nominated;
		const bool was = out->first.whys[node] == 0;

		if (!node_present(&ns->slots[node]) || pod_fits(q, node))
			continue;
		out->first.feasible -= was;
		copy_whys(&out->first, &q->probe, node);
	}
	q->s.steps += ns->used * 40;
}

/* True if evicting may change what the first filter said (kube-scheduler: Unschedulable, and not
 * UnschedulableAndUnresolvable). */
static bool is_resolvable(const struct pod_question *q, node_id node)
{
	static const uint32_t of_pods =
		FILTER_BIT(FILTER_PORTS) | FILTER_BIT(FILTER_INSUFFICIENT) | FILTER_BIT(FILTER_DISK) |
		FILTER_BIT(FILTER_CLAIM_IN_USE) | FILTER_BIT(FILTER_ATTACH) | FILTER_BIT(FILTER_SPREAD) |
		FILTER_BIT(FILTER_ANTI_AFFINITY) | FILTER_BIT(FILTER_EXISTING_ANTI_AFFINITY) |
		FILTER_BIT(FILTER_POLICY_FULL);
	const struct evaluation *e = &q->out->first;

	if (e->whole != FILTER_PASSED || !(e->whys[node] & of_pods))
		return false;
	if (!(e->whys[node] & FILTER_BIT(FILTER_INSUFFICIENT)))
		return true;
	/* noderesources: fitsRequest sets Unresolvable for every resource but the number of pods. */
	for (uint32_t i = 0; i < q->shape->sums_n; i++) {
		const struct request *r = &q->shape->requests[i];

		if (r->resource != RESOURCE_PODS && !nodes_leave_to_devices(&q->s.c->nodes, node, r) &&
		    r->value > nodes_allocatable(&q->s.c->nodes, node, r->resource))
			return false;
	}
	return q->shape->absent_n == 0;
}

/* Negative if x costs less; when its victims started is left out. */
static int cost_compare(const struct objective *x, const struct objective *y)
{
	if (x->violations != y->violations)
		return x->violations < y->violations ? -1 : 1;
	if (x->highest != y->highest)
		return x->highest < y->highest ? -1 : 1;
	if (x->broken != y->broken)
		return x->broken < y->broken ? -1 : 1;
	if (x->sum != y->sum)
		return x->sum < y->sum ? -1 : 1;
	return (x->pods > y->pods) - (x->pods < y->pods);
}

/* framework/preemption: pickOneNodeForPreemption; of equal nodes the first by name. */
static bool is_better(const struct node_victims *a, const struct node_victims *b)
{
	const int order = cost_compare(&a->objective, &b->objective);

	return order != 0 ? order < 0 : a->start_s > b->start_s;
}

static void nodes_try(struct pod_question *q)
{
	struct pod_search *out = q->out;
	const struct nodes *ns = &q->s.c->nodes;

	out->best = 0;
	q->quick = pod_is_quick(q);
	if (q->quick)
		pod_quick_begin(q);
	for (uint32_t rank = 0; rank < ns->count && !search_spent(&q->s); rank++) {
		const node_id node = ns->order[rank];
		enum node_try said;

		if (!node_present(&ns->slots[node]) || !is_resolvable(q, node))
			continue;
		if (!q->quick || !pod_try_quickly(q, node, &said))
			said = pod_try_node(q, node);
		out->tries[node] = (uint8_t)said;
		if (out->tries[node] == TRY_VICTIMS && out->nodes_n > 1 &&
		    is_better(&out->nodes[out->nodes_n - 1], &out->nodes[out->best]))
			out->best = out->nodes_n - 1;
	}
	for (uint32_t i = 0, first = 0; i < out->nodes_n; first += out->nodes[i++].objective.pods)
		out->nodes[i].pods = out->pods + first;
}

static void sort_by_node(struct pod_question *q)
{
	const struct core *c = q->s.c;
	uint32_t n = 0;

	q->first = must_array(c->nodes.used + 2u, sizeof(*q->first));
	for (pod_id id = 0; id < c->pods.used; id++)
		if (c->pods.slots[id].generation && c->pods.slots[id].node != ID_NONE) {
			q->first[c->pods.slots[id].node + 2]++;
			n++;
		}
	for (uint32_t i = 2; i < c->nodes.used + 2u; i++) {
		q->most_here = q->first[i] > q->most_here ? q->first[i] : q->most_here;
		q->first[i] += q->first[i - 1];
	}
	q->bound = must_array(n + 1, sizeof(*q->bound));
	for (pod_id id = 0; id < c->pods.used; id++)
		if (c->pods.slots[id].generation && c->pods.slots[id].node != ID_NONE)
			q->bound[q->first[c->pods.slots[id].node + 1]++] = id;
	q->victims = must_array(n + 1, sizeof(*q->victims));
	q->s.steps += c->pods.used;
}

/* Pods that filters see on the node they are nominated to: pending, and not less important. */
static void find_nominated(struct pod_question *q)
{
	const struct core *c = q->s.c;

	q->nominated = must_array(c->pods.used + 1u, sizeof(*q->nominated));
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];
		const node_id node = search_facts_of(&q->s, id)->nominated;

		if (p->generation && id != q->pod && p->node == ID_NONE && node < c->nodes.used &&
		    node_present(&c->nodes.slots[node]) && p->priority >= q->s.priority)
			q->nominated[q->nominated_n++] = id;
	}
}

static void question_free(struct pod_question *q)
{
	search_end(&q->s);
	if (q->probed)
		evaluation_free(&q->probe);
	free(q->first);
	free(q->bound);
	free(q->nominated);
	free(q->units);
	free(q->pods);
	free(q->victims);
	free(q->left);
	free(q->takes);
	free(q->known);
	free(q->rivals);
}

/* By node: a pod has gone from there. */
static bool *nodes_left(const struct pod_question *q)
{
	bool *left = must_array(q->s.c->nodes.used + 1u, sizeof(*left));

	for (pod_id id = 0; id < q->s.c->pods.used; id++)
		if (q->s.away[id])
			left[search_at(&q->s, id)->node] = true;
	return left;
}

/* True if it fits on some node when the pods that are being deleted have gone, and nominations of
 * lower priority are given up; they stay away.  A node that lacks what only its own pods take has
 * to be one of theirs: with rules between pods each question looks at all nodes. */
static bool fits_later(struct pod_question *q)
{
	static const uint32_t of_own = FILTER_BIT(FILTER_PORTS) | FILTER_BIT(FILTER_INSUFFICIENT);
	const struct nodes *ns = &q->s.c->nodes;
	bool fits = false, *left;

	if (q->out->first.whole != FILTER_PASSED ||
	    search_remove_nominated(&q->s) + search_remove_ending(&q->s) == 0)
		return false;
	left = nodes_left(q);
	for (node_id id = 0; id < ns->used && !fits && !search_spent(&q->s); id++)
		fits = node_present(&ns->slots[id]) && is_resolvable(q, id) &&
		       (left[id] || (q->out->first.whys[id] & ~of_own)) && pod_fits(q, id);
	free(left);
	return fits;
}

/* defaultpreemption: PodEligibleToPreemptOthers, its second half. */
static bool waits_for_victims(const struct pod_question *q)
{
	const struct nodes *ns = &q->s.c->nodes;
	const node_id node = search_facts_of(&q->s, q->pod)->nominated;

	if (node >= ns->used || !node_present(&ns->slots[node]) || !is_resolvable(q, node))
		return false;
	for (uint32_t i = q->first[node]; i < q->first[node + 1]; i++) {
		const struct pod *p = search_at(&q->s, q->bound[i]);

		if ((p->flags & POD_DELETING) && search_facts_of(&q->s, q->bound[i])->preempted &&
		    p->priority < q->s.priority)
			return true;
	}
	return false;
}

static enum pod_answer answer_of(struct pod_question *q)
{
	if (q->out->first.feasible > 0)
		return POD_FITS;
	if (search_facts_of(&q->s, q->pod)->never)
		return POD_NEVER;
	if (waits_for_victims(q))
		return POD_TERMINATING;
	if (fits_later(q))
		return POD_WAITS;
	nodes_try(q);
	if (search_spent(&q->s))
		return POD_GAVE_UP;
	return q->out->nodes_n > 0 ? POD_VICTIMS : POD_NONE;
}

int search_pod(struct core *c, const struct search_facts *facts, pod_id pod, struct pod_search *out)
{
	const struct pod *p = pods_find(&c->pods, pod);
	struct pod_question q = { .pod = pod, .out = out };

	if (!p)
		return -ENOENT;
	if (!reservation_is_pending(p))
		return -EBUSY;
	*out = (struct pod_search){ .answer = POD_NONE };
	evaluation_init(&out->first, &c->config.limits, false);
	evaluation_init(&out->after, &c->config.limits, false);
	out->tries = must_array(c->config.limits.nodes, sizeof(*out->tries));
	search_begin(&q.s, c, facts, p->priority);
	q.class = p->class;
	q.shape = class_shape(&c->pod_counts, p->class);
	q.left = must_array(facts->budgets_n + 1u, sizeof(*q.left));
	sort_by_node(&q);
	find_nominated(&q);
	evaluate_first(&q);
	out->after.absent = out->first.absent;
	out->after.absent_n = out->first.absent_n;
	out->answer = answer_of(&q);
	out->steps = q.s.steps;
	question_free(&q);
	return 0;
}

const struct node_victims *pod_search_nth(const struct pod_search *s, uint32_t nth)
{
	const struct node_victims *best = s->best < s->nodes_n ? &s->nodes[s->best] : NULL;
	const struct node_victims *at = best;
	bool *passed = must_array(s->nodes_n + 1u, sizeof(*passed));

	for (; at && nth > 0; nth--) {
		const struct node_victims *next = NULL;

		passed[at - s->nodes] = true;
		for (uint32_t i = 0; i < s->nodes_n; i++)
			if (!passed[i] && (!next || is_better(&s->nodes[i], next)))
				next = &s->nodes[i];
		at = next && cost_compare(&next->objective, &best->objective) == 0 ? next : NULL;
	}
	free(passed);
	return at;
}

void pod_search_free(struct pod_search *s)
{
	free(s->pods);
	free(s->nodes);
	free(s->tries);
	evaluation_free(&s->first);
	evaluation_free(&s->after);
	*s = (struct pod_search){ 0 };
}
