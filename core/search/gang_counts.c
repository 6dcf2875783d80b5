/* SPDX-License-Identifier: Apache-2.0 */
/* The best set of a level by counts alone, for a gang whose ready members are of one class.
 *
 *   curve    for a node and each number e: the cheapest pods there without which it takes e members
 *            more (views_count_at(), an upper bound)
 *   sum      the cheapest way to share out the members that are missing over the curves: a knapsack
 *            over nodes, exact for the whole objective, since each criterion adds up over nodes or
 *            keeps its order when the same is added to both sides
 *
 * It is a relaxation: rules between pods, quorums of the gangs that lose members and budgets are
 * left out, gangs that would be broken do not go at all.  So no set of the level without broken
 * gangs is better than what is found here; if that one satisfies all that was left out, which is
 * asked in the end, it is the best. */
#include "core/search/gang_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SUBSETS_MOST 20000u /* of one node */
#define CHOICES_MOST 64000000u
#define SUBSET_STEPS 12u
#define CHOICE_STEPS 2u

/* The cheapest pods of a node for at least so many members more. */
struct option {
	bool known;
	uint32_t pods;
	uint64_t sum, start_sum;
	uint32_t first; /* t->victims[first .. first + pods): units, sorted by index */
};

struct curve {
	node_id node;
	uint32_t first, n; /* t->options[first + e - 1], e from 1 to n */
};

struct counts {
	struct gang_question *q;
	class_id class;
	uint32_t missing; /* members beyond what fits as things are */
	uint32_t *units;  /* of the level, by node, then twins together, the junior ones first */
	uint32_t units_n;
	struct curve *curves;
	uint32_t curves_n;
	struct option *options;
	size_t options_cap;
	uint32_t options_n;
	uint32_t *victims;
	size_t victims_cap;
	uint32_t victims_n;
	uint16_t *choices; /* [curve * (missing + 1) + members] */

	/* Of the node in work. */
	uint32_t *chosen;
	uint32_t base, subsets;
	bool too_many;
};

static const struct gang_unit *unit_at(const struct counts *t, uint32_t unit)
{
	return &t->q->units[unit];
}

static pod_id pod_of(const struct counts *t, uint32_t unit)
{
	return t->q->pods[unit_at(t, unit)->pods];
}

static node_id node_of(const struct counts *t, uint32_t unit)
{
	return search_at(&t->q->s, pod_of(t, unit))->node;
}

/* Negative if `a` is better; names are left out. */
static int option_compare(const struct option *a, const struct option *b)
{
	if (a->sum != b->sum)
		return numbers_compare(a->sum, b->sum);
	if (a->pods != b->pods)
		return numbers_compare(a->pods, b->pods);
	return numbers_compare(b->start_sum, a->start_sum);
}

/* The lowest rank of a name that is in one of two lists of units only, if it is below *rank;
 * *in_a: that list is a. */
static void names_differ(const struct counts *t, const uint32_t *a, uint32_t a_n, const uint32_t *b,
                         uint32_t b_n, uint32_t *rank, bool *in_a)
{
	uint32_t i = 0, k = 0;

	while (i < a_n || k < b_n) {
		const bool from_a = k == b_n || (i < a_n && a[i] < b[k]);
		uint32_t at;

		if (i < a_n && k < b_n && a[i] == b[k]) {
			i++, k++;
			continue;
		}
		at = t->q->ranks[pod_of(t, from_a ? a[i++] : b[k++])];
		if (at < *rank) {
			*rank = at;
			*in_a = from_a;
		}
	}
}

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
		uint32_t rank = UINT32_MAX;
		bool better = false;

		if (order == 0) {
			names_differ(t, t->victims + o.first, n, t->victims + kept->first, kept->pods, &rank,
			             &better);
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

static const struct option *option_at(const struct counts *t, uint32_t curve, uint32_t e)
{
	static const struct option none = { .known = true };

	return e > 0 ? &t->options[t->curves[curve].first + e - 1] : &none;
}

static uint16_t *choice_at(const struct counts *t, uint32_t curve, uint32_t members)
{
	return &t->choices[(size_t)curve * (t->missing + 1) + members];
}

/* Two ways to `members` on curves 0 to `curve` cost the same, with e_a and e_b on the last: true if
 * the first name that is in one of them only is a's. */
static bool names_better(struct counts *t, uint32_t curve, uint32_t members, uint32_t e_a,
                         uint32_t e_b)
{
	uint32_t a = members, b = members, rank = UINT32_MAX;
	bool in_a = false;

	for (;;) {
		const struct option *x = option_at(t, curve, e_a), *y = option_at(t, curve, e_b);

		if (e_a != e_b)
			names_differ(t, t->victims + x->first, x->pods, t->victims + y->first, y->pods, &rank,
			             &in_a);
		t->q->s.steps += CHOICE_STEPS;
		a -= e_a;
		b -= e_b;
		if (curve-- == 0 || a == b)
			return in_a;
		e_a = *choice_at(t, curve, a);
		e_b = *choice_at(t, curve, b);
	}
}

/* The best way to that many members on curves 0 to `curve`; values[] is that of the curves
 * before. */
static void choose(struct counts *t, struct option *values, uint32_t curve, uint32_t members)
{
	const uint32_t n = t->curves[curve].n < members ? t->curves[curve].n : members;
	struct option best = values[members];
	uint32_t choice = 0;

	for (uint32_t e = 1; e <= n; e++) {
		const struct option *before = &values[members - e], *o = option_at(t, curve, e);
		const struct option way = { .known = true,
			                        .sum = before->sum + o->sum,
			                        .pods = before->pods + o->pods,
			                        .start_sum = before->start_sum + o->start_sum };
		int order;

		if (!before->known)
			continue;
		order = best.known ? option_compare(&way, &best) : -1;
		if (order > 0 || (order == 0 && !names_better(t, curve, members, e, choice)))
			continue;
		best = way;
		choice = e;
	}
	values[members] = best;
	*choice_at(t, curve, members) = (uint16_t)choice;
	t->q->s.steps += CHOICE_STEPS * (n + 1);
}

/* Sets goes[unit] of the best set; false if the curves don't suffice. */
static bool share_out(struct counts *t, bool *goes)
{
	struct option *values = must_array(t->missing + 1u, sizeof(*values));
	uint32_t left = t->missing;
	bool found;

	t->choices = must_array((size_t)t->curves_n * (t->missing + 1u), sizeof(*t->choices));
	values[0].known = true;
	for (uint32_t curve = 0; curve < t->curves_n && !search_spent(&t->q->s); curve++)
		for (uint32_t members = t->missing; members > 0; members--)
			choose(t, values, curve, members);
	found = values[left].known && !search_spent(&t->q->s);
	for (uint32_t curve = t->curves_n; found && curve-- > 0;) {
		const uint32_t e = *choice_at(t, curve, left);
		const struct option *o = option_at(t, curve, e);

		for (uint32_t i = 0; i < o->pods; i++)
			goes[t->victims[o->first + i]] = true;
		left -= e;
	}
	free(values);
	return found;
}

struct place {
	uint32_t unit, root; /* its most senior twin */
	node_id node;
};

static int places_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = numbers_compare(x->node, y->node);

	order = order ? order : numbers_compare(x->root, y->root);
	return order ? order : numbers_compare(y->unit, x->unit);
}

/* The units of the level that may go one by one; false if a stale gang is among them: it goes whole
 * without being broken, which curves can't say. */
static bool units_sort(struct counts *t, uint32_t first)
{
	const struct gang_question *q = t->q;
	struct place *places = must_array(q->units_n + 1u, sizeof(*places));
	uint32_t *roots = must_array(q->units_n + 1u, sizeof(*roots));
	bool stale = false;

	for (uint32_t i = first; i < q->units_n; i++) {
		const struct gang_unit *u = &q->units[i];

		roots[i] = u->senior == NO_UNIT ? i : roots[u->senior];
		if (u->whole)
			stale = stale || q->s.gangs[u->gang].stale;
		else
			places[t->units_n++] = (struct place){ i, roots[i], node_of(t, i) };
	}
	if (t->units_n > 1)
		qsort(places, t->units_n, sizeof(*places), places_compare);
	t->units = must_array(t->units_n + 1u, sizeof(*t->units));
	for (uint32_t i = 0; i < t->units_n; i++)
		t->units[i] = places[i].unit;
	free(places);
	free(roots);
	return !stale;
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
		while (end < t->units_n && node_of(t, t->units[end]) == node_of(t, t->units[at]))
			end++;
		*curve = (struct curve){ .node = node_of(t, t->units[at]), .first = t->options_n };
		if (!node_present(&c->nodes.slots[curve->node]))
			continue;
		t->base = views_count_at(&c->views, curve->node, t->class);
		t->subsets = 0;
		subsets(t, curve, at, end, 0);
		t->options_n += curve->n;
		t->curves_n += curve->n > 0;
	}
	return !t->too_many && (uint64_t)t->curves_n * (t->missing + 1u) <= CHOICES_MOST;
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
		found = t.missing > 0 && t.missing < UINT16_MAX && curves_find(&t) && share_out(&t, goes) &&
		        gang_try(q, first, goes);
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
