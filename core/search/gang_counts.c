/* SPDX-License-Identifier: Apache-2.0 */
/* The best set of a level by counts alone, for a gang whose ready members are of one class.
 *
 *   curve    for a node and each number e: the cheapest pods there without which it takes e members
 *            more (views_count_at(), an upper bound)
 *   sum      the cheapest way to share out the members that are missing over the curves
 *            (gang_share.c), exact for the whole objective, since each criterion adds up over nodes
 *            or keeps its order when the same is added to both sides
 *
 * It is a relaxation: rules between pods, quorums of the gangs that lose members and budgets are
 * left out, gangs that would be broken do not go at all.  So no set of the level without broken
 * gangs is better than what is found here; if that one satisfies all that was left out, which is
 * asked in the end, it is the best. */
#include "core/search/counts_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define SUBSETS_MOST 20000u /* of one node */
#define SUBSET_STEPS 12u

static int units_order(const void *a, const void *b)
{
	return numbers_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* The pods of t->chosen are away: keeps them for each number that they make possible. */
static void option_keep(struct counts *t, struct curve *c, uint32_t n)
{
	struct core *core = t->q->s.c;
	const uint32_t takes = views_count_at(&core->views, c->node, t->class);
	uint32_t extra = takes > t->base ? takes - t->base : 0, first = t->victims_n;
	struct option o = { .known = true, .pods = n, .first = first };

	extra = extra < t->missing ? extra : t->missing;
	if (extra == 0)
		return;
	t->victims = must_reach(t->victims, &t->victims_cap, first + n, 256, sizeof(*t->victims));
	memcpy(t->victims + first, t->chosen, n * sizeof(*t->victims));
	qsort(t->victims + first, n, sizeof(*t->victims), units_order);
	for (uint32_t i = 0; i < n; i++) {
		const pod_id pod = pod_of(t, t->chosen[i]);

		o.sum += (uint64_t)((int64_t)search_at(&t->q->s, pod)->priority - INT32_MIN);
		o.rank_sum += search_rank_of(&t->q->s, pod);
		o.start_sum += search_facts_of(&t->q->s, pod)->start_s;
	}
	while (c->n < extra) {
		t->options =
			must_reach(t->options, &t->options_cap, c->first + c->n, 256, sizeof(*t->options));
		t->options[c->first + c->n++] = (struct option){ .known = false };
	}
	for (uint32_t e = 0; e < extra; e++) {
		struct option *kept = &t->options[c->first + e];
		int order = kept->known ? option_compare(&o, kept) : -1;
		pod_id name = ID_NONE;
		bool better = false;

		if (order == 0) {
			counts_names_differ(t, &o, kept, &name, &better);
			order = better ? -1 : 1;
		}
		if (order > 0)
			continue;
		*kept = o;
		t->victims_n = first + n;
	}
}

/* Each number of pods of each group of twins, t->units[at .. end), with n chosen so far. */
static void subsets(struct counts *t, struct curve *c, uint32_t at, uint32_t end, uint32_t n)
{
	uint32_t next = at, taken = 0;

	t->q->s.steps += SUBSET_STEPS;
	if (t->too_many || ++t->subsets > SUBSETS_MOST || search_spent(&t->q->s)) {
		t->too_many = true;
		return;
	}
	if (at == end) {
		if (n > 0)
			option_keep(t, c, n);
		return;
	}
	do
		next++;
	while (next < end && unit_at(t, t->units[next - 1])->senior == t->units[next]);
	subsets(t, c, next, end, n);
	for (; at + taken < next; taken++) {
		t->chosen[n + taken] = t->units[at + taken];
		search_remove(&t->q->s, pod_of(t, t->units[at + taken]));
		subsets(t, c, next, end, n + taken + 1);
	}
	while (taken-- > 0)
		search_restore(&t->q->s, pod_of(t, t->units[at + taken]));
}

/* The units of the level that may go one by one; false if a stale gang is among them: it goes whole
 * without being broken, which curves can't say. */
static bool units_sort(struct counts *t, uint32_t first)
{
	const struct gang_question *q = t->q;

	for (uint32_t i = first; i < q->units_n; i++)
		if (q->units[i].whole && q->s.gangs[q->units[i].gang].stale)
			return false;
	t->units = must_array(q->singles_n + 1u, sizeof(*t->units));
	for (uint32_t at = 0, end; at < q->singles_n; at = end) {
		end = at + 1;
		while (end < q->singles_n && q->units[q->singles[end]].senior == q->singles[end - 1])
			end++;
		for (uint32_t i = end; i-- > at;)
			if (q->singles[i] >= first)
				t->units[t->units_n++] = q->singles[i];
	}
	return true;
}

/* Members that do not fit as things are, by counts. */
static uint32_t count_missing(const struct counts *t, uint32_t need)
{
	const struct core *c = t->q->s.c;

	for (node_id id = 0; id < c->nodes.used && need > 0; id++) {
		const uint32_t takes =
			node_present(&c->nodes.slots[id]) ? views_count_at(&c->views, id, t->class) : 0;

		need -= takes < need ? takes : need;
	}
	t->q->s.steps += c->nodes.used;
	return need;
}

static bool curves_find(struct counts *t)
{
	struct core *c = t->q->s.c;

	t->curves = must_array(t->units_n + 1u, sizeof(*t->curves));
	t->chosen = must_array(t->units_n + 1u, sizeof(*t->chosen));
	for (uint32_t at = 0, end; at < t->units_n && !t->too_many; at = end) {
		struct curve *curve = &t->curves[t->curves_n];

		end = at;
		while (end < t->units_n &&
		       unit_at(t, t->units[end])->node == unit_at(t, t->units[at])->node)
			end++;
		*curve = (struct curve){ .node = unit_at(t, t->units[at])->node, .first = t->options_n };
		if (!node_present(&c->nodes.slots[curve->node]))
			continue;
		t->base = views_count_at(&c->views, curve->node, t->class);
		t->subsets = 0;
		subsets(t, curve, at, end, 0);
		t->options_n += curve->n;
		t->curves_n += curve->n > 0;
	}
	return !t->too_many;
}

bool gang_counts(struct gang_question *q, uint32_t first)
{
	struct counts t = { .q = q, .class = q->g->ready_class };
	bool *goes = must_array(q->units_n + 1u, sizeof(*goes));
	bool found = false;

	if (t.class != CLASS_NONE && units_sort(&t, first)) {
		for (uint32_t i = first; i < q->units_n; i++)
			for (uint32_t k = 0; k < q->units[i].n; k++)
				search_restore(&q->s, q->pods[q->units[i].pods + k]);
		t.missing = count_missing(&t, q->s.c->need.total);
		found = t.missing > 0 && t.missing < UINT16_MAX && curves_find(&t) &&
		        counts_share_out(&t, goes) && gang_try(q, first, goes);
	}
	free(t.units);
	free(t.curves);
	free(t.options);
	free(t.victims);
	free(t.choices);
	free(t.chosen);
	free(goes);
	return found;
}
