/* SPDX-License-Identifier: Apache-2.0 */
/* From the sets of a node to the choice: the lowest bits for a single request, else the search. */
#include "core/devices/choice.h"
#include "core/devices/inventory_impl.h"

#include <string.h>

/* Of one search.  Tenants write what is asked, and the core searches on all nodes. */
#define STEPS_MOST 2000u

static const struct match *match_of(const struct node_devices *n, uint32_t question)
{
	return n && question < n->matches_n ? n->matches[question] : NULL;
}

/* Of an option: first match, then tolerated. */
static const uint64_t *set_of(const struct match *m, const struct node_devices *n, uint32_t option,
                              uint32_t which)
{
	return m->sets + (size_t)(2 * option + which) * DEVICE_WORDS(n->devices_n);
}

static uint64_t free_word(const struct match *m, const struct node_devices *n, const uint64_t *used,
                          uint32_t word)
{
	return set_of(m, n, 0, 0)[word] & set_of(m, n, 0, 1)[word] & ~used[word];
}

static void choose_simple(const struct question *q, const struct match *m,
                          const struct node_devices *n, const uint64_t *used, struct picks *out)
{
	const uint32_t count = q->options->count;

	for (uint32_t word = 0; word < DEVICE_WORDS(n->devices_n); word++)
		for (uint64_t bits = free_word(m, n, used, word); bits && out->n < count; bits &= bits - 1)
			out->at[out->n++] =
				(struct device_pick){ .device = word * 64 + (uint32_t)__builtin_ctzll(bits) };
	if (out->n < count)
		out->n = 0;
}

/* A question in the form of the search. */
struct form {
	struct device devices[NODE_DEVICES_MAX];
	device_amount counters[NODE_COUNTERS_MAX]; /* what is left */
	struct device_capacity capacities[NODE_CAPACITIES_MAX];
	struct device_option options[QUESTION_OPTIONS_MAX];
	uint32_t of[QUESTION_OPTIONS_MAX]; /* by option: that of the question */
	struct device_request requests[QUESTION_OPTIONS_MAX];
	struct device_claim claims[QUESTION_OPTIONS_MAX];
	struct device_constraint constraints[QUESTION_CONSTRAINTS_MAX];
	uint8_t restricts[QUESTION_CONSTRAINTS_MAX][QUESTION_OPTIONS_MAX];
	struct device_question question;
	struct device_pool pool;
	struct device_node node;
};

/* By option and capacity.  Without amounts no match has a device that is shared. */
static const device_amount *amounts_of(const struct match *m, const struct node_devices *n,
                                       uint32_t option)
{
	static const device_amount nothing[NODE_CAPACITIES_MAX];

	if (!n->shared)
		return NULL;
	return m->amounts ? m->amounts + (size_t)option * n->shared->capacities_n : nothing;
}

/* Without those that the node serves, whose claim is the last one and has no constraints.  Each of
 * their requests has one option. */
static void form_options(struct form *f, const struct question *q, const struct match *m,
                         const struct node_devices *n, uint32_t served)
{
	static const uint64_t nothing[NODE_WORDS];
	const struct question_option *last = NULL;
	uint32_t requests = 0, options = 0;

	f->question = (struct device_question){ .claims = f->claims, .steps_most = STEPS_MOST };
	for (uint32_t i = 0; i < q->options_n; i++) {
		const struct question_option *o = &q->options[i];

		if (served & ~1u & 1u << device_group(o->flags))
			continue;
		f->of[options] = i;
		f->options[options] = (struct device_option){ .all = o->flags & QUESTION_ALL,
			                                          .admin = o->flags & QUESTION_ADMIN,
			                                          .count = o->count,
			                                          .match = set_of(m, n, i, 0),
			                                          .fault = nothing,
			                                          .tolerated = set_of(m, n, i, 1),
			                                          .amounts = amounts_of(m, n, i) };
		if (!last || o->claim != last->claim)
			f->claims[f->question.claims_n++] =
				(struct device_claim){ .requests = &f->requests[requests] };
		if (!last || o->claim != last->claim || o->request != last->request) {
			f->requests[requests++] = (struct device_request){ .options = &f->options[options] };
			f->claims[f->question.claims_n - 1].requests_n++;
		}
		f->requests[requests - 1].options_n++;
		options++;
		last = o;
	}
}

static void form_constraints(struct form *f, const struct question *q, const struct match *m,
                             const struct node_devices *n)
{
	const uint64_t *values = m->sets + (size_t)2 * q->options_n * DEVICE_WORDS(n->devices_n);
	uint32_t alternative = 0;

	memset(f->restricts, 0, q->constraints_n * sizeof(f->restricts[0]));
	for (uint32_t i = 0; i < q->constraints_n; i++) {
		const struct question_constraint *c = &q->constraints[i];
		struct device_claim *claim = &f->claims[c->claim];

		f->constraints[i] = (struct device_constraint){
			.distinct = c->flags & QUESTION_DISTINCT,
			.values =
				(const void *)((const char *)values + i * PADDED(n->devices_n * sizeof(uint32_t))),
			.options = f->restricts[i],
		};
		claim->constraints = claim->constraints_n++ == 0 ? &f->constraints[i] : claim->constraints;
		for (uint32_t k = 0; k < q->options_n; k++) {
			const struct question_option *o = &q->options[k];

			alternative = k > 0 && o->claim == o[-1].claim && o->request == o[-1].request
			                  ? alternative + 1
			                  : 0;
			if (o->claim == c->claim && c->options >> k & 1)
				f->restricts[i][o->request] |= (uint8_t)(1u << alternative);
		}
	}
}

static void form_node(struct form *f, const struct node_devices *n, const uint64_t *used)
{
	for (uint32_t i = 0; i < n->devices_n; i++)
		f->devices[i] = (struct device){ .flags = device_in(used, i) ? DEVICE_TAKEN : 0 };
	f->pool = (struct device_pool){ .state = POOL_USABLE, .devices = { 0, n->devices_n } };
	f->node = (struct device_node){
		.pools = &f->pool, .pools_n = 1, .devices = f->devices, .devices_n = n->devices_n
	};
}

static void form_shared(struct form *f, const struct node_devices *n, const uint64_t *used,
                        const device_amount *drawn)
{
	const struct shared *s = n->shared;

	for (uint32_t i = 0; i < n->devices_n; i++)
		if (device_in(s->set, i))
			f->devices[i].flags = DEVICE_SHARED | (device_in(used, i) ? DEVICE_DRAWN : 0);
	for (uint32_t i = 0; i < s->capacities_n; i++) {
		const struct node_capacity *c = &s->capacities[i];
		struct span *of = &f->devices[c->device].capacities;

		if (of->n++ == 0)
			of->first = i;
		f->capacities[i] =
			(struct device_capacity){ .value = device_amount_of(c->value_low, c->value_high),
			                          .consumed = drawn[i] };
	}
	f->node.capacities = f->capacities;
	f->node.capacities_n = s->capacities_n;
}

/* What the picks take of capacities. */
static void picks_draw(const struct form *f, struct picks *out)
{
	memset(out->drawn, 0, f->node.capacities_n * sizeof(*out->drawn));
	for (uint32_t i = 0; i < out->n; i++) {
		const struct device_pick *p = &out->at[i];
		const struct device *d = &f->devices[p->device];
		const device_amount *amounts =
			f->claims[p->claim].requests[p->request].options[p->option].amounts;

		if (device_in(out->idle, i) || !(d->flags & DEVICE_SHARED))
			continue;
		for (uint32_t k = d->capacities.first; k < d->capacities.first + d->capacities.n; k++)
			out->drawn[k] += amounts[k];
		out->capacities_n = f->node.capacities_n;
	}
}

static void picks_set(const struct question *q, const struct form *f, const struct choice *c,
                      struct picks *out)
{
	for (uint32_t i = 0; i < c->picks_n; i++) {
		const struct choice_pick *p = &c->picks[i];
		const struct device_option *o =
			&f->claims[p->claim].requests[p->request].options[p->option];

		const struct question_option *of = &q->options[f->of[o - f->options]];

		out->at[i] = (struct device_pick){ of->claim, of->request, p->option, p->device };
		if (of->flags & QUESTION_ADMIN)
			device_add(out->idle, i);
	}
	out->n = c->picks_n;
}

/* Devices of no counters are of the first pool: that of a device matters for its counters alone. */
static void form_counters(struct form *f, const struct counted *c, uint32_t devices_n,
                          const uint64_t *used)
{
	memcpy(f->counters, c->totals, c->counters_n * sizeof(*f->counters));
	for (uint32_t i = 0; i < devices_n; i++) {
		const struct counted_device *d = &c->devices[i];

		f->devices[i].pool = d->pool;
		f->devices[i].uses = d->uses;
		for (uint32_t k = 0; device_in(used, i) && k < d->uses.n; k++)
			f->counters[c->uses[d->uses.first + k].counter] -= c->uses[d->uses.first + k].amount;
	}
	f->node.pools = c->pools;
	f->node.pools_n = c->pools_n;
	f->node.uses = c->uses;
	f->node.counters = f->counters;
	f->node.counters_n = c->counters_n;
}

static void choose_searched(const struct question *q, const struct match *m,
                            const struct node_devices *n, uint32_t served, const uint64_t *used,
                            const device_amount *drawn, struct picks *out)
{
	struct form f __attribute__((uninitialized));
	struct choice choice;

	form_options(&f, q, m, n, served);
	form_constraints(&f, q, m, n);
	form_node(&f, n, used);
	if (n->counted)
		form_counters(&f, n->counted, n->devices_n, used);
	if (n->shared)
		form_shared(&f, n, used, drawn);
	choice_make(&f.node, &f.question, &choice);
	out->gave_up = choice.outcome == CHOICE_GAVE_UP;
	if (choice.outcome == CHOICE_FOUND && choice.picks_n <= DEVICE_PICKS_MAX)
		picks_set(q, &f, &choice, out);
	if (n->shared)
		picks_draw(&f, out);
	choice_free(&choice);
}

/* As the pods that have them already; none on another node. */
static void choose_same(const struct inventory *v, const struct node_devices *n, uint32_t question,
                        struct picks *out)
{
	const struct holding *h = sharer_of(v, n, question);

	out->n = h ? h->picks_n : 0;
	if (out->n == 0)
		return;
	memcpy(out->at, h->picks, out->n * sizeof(*out->at));
	memcpy(out->idle, h->idle, sizeof(out->idle));
}

void inventory_choose(const struct inventory *v, const struct node_devices *n, uint32_t question,
                      uint32_t served, const uint64_t *used, const device_amount *drawn,
                      struct picks *out)
{
	const struct match *m = match_of(n, question);
	const struct question *q = m ? &v->questions[question] : NULL;

	out->n = out->capacities_n = 0;
	out->gave_up = false;
	memset(out->idle, 0, sizeof(out->idle));
	if (!m)
		return;
	if (v->sharers[question].n > 0 && q->one)
		choose_same(v, n, question, out);
	else if (q->simple && !n->counted && !n->shared)
		choose_simple(q, m, n, used, out);
	else
		choose_searched(q, m, n, served, used, drawn, out);
}

/* False: nothing of a capacity is taken. */
static bool picks_add(const struct picks *picks, device_amount *drawn)
{
	bool any = false;

	for (uint32_t i = 0; i < picks->capacities_n; i++) {
		drawn[i] += picks->drawn[i];
		any = any || picks->drawn[i] > 0;
	}
	return any;
}

/* One choice after the other, as pods would make them. */
static uint32_t room_searched(const struct inventory *v, const struct node_devices *n,
                              uint32_t question, uint32_t served, uint32_t most)
{
	uint64_t used[NODE_WORDS], before[NODE_WORDS];
	device_amount drawn[NODE_CAPACITIES_MAX];
	struct picks picks;
	uint32_t room = 0;

	if (n->listed)
		commons_use(v, n, used);
	else
		memcpy(used, n->used, sizeof(used));
	if (n->shared)
		memcpy(drawn, n->shared->drawn, n->shared->capacities_n * sizeof(*drawn));
	for (; room < most; room++) {
		inventory_choose(v, n, question, served, used, drawn, &picks);
		if (picks.n == 0)
			return room;
		memcpy(before, used, sizeof(used));
		picks_use(picks.at, picks.n, picks.idle, used);
		if (!picks_add(&picks, drawn) && memcmp(before, used, sizeof(used)) == 0)
			return most;
	}
	return room;
}

static uint32_t room_remembered(const struct inventory *v, const struct node_devices *n,
                                struct match *m, uint32_t question, uint32_t served, uint32_t most)
{
	if (m->room_version != version_now(v, n) || m->room_served != served ||
	    (m->room == m->room_most && m->room_most < most)) {
		m->room = room_searched(v, n, question, served, most);
		m->room_most = most;
		m->room_served = served;
		m->room_version = version_now(v, n);
	}
	return m->room < most ? m->room : most;
}

/* Its devices serve as many pods as a claim can have. */
static uint32_t room_of_one(const struct inventory *v, const struct node_devices *n,
                            struct match *m, uint32_t question, uint32_t most)
{
	const uint32_t sharers = v->sharers[question].n;
	const struct holding *h = sharers > 0 ? sharer_of(v, n, question) : NULL;
	bool any = h && h->picks_n > 0;

	if (sharers == 0)
		any = room_remembered(v, n, m, question, 0, 1) > 0;
	if (!any || sharers >= CLAIM_CONSUMERS_MAX)
		return 0;
	return most < CLAIM_CONSUMERS_MAX - sharers ? most : CLAIM_CONSUMERS_MAX - sharers;
}

bool inventory_is_served(const struct inventory *v, uint32_t question, uint32_t served)
{
	return question < QUESTIONS_MAX && !question_asks(&v->questions[question], served);
}

bool inventory_prefers(const struct inventory *v, uint32_t question)
{
	return question < QUESTIONS_MAX && v->questions[question].prefers;
}

static uint32_t points_of(const struct question *q, const struct picks *picks)
{
	uint32_t points = 0, first = 0;

	for (uint32_t i = 0; i < picks->n; i++) {
		const struct device_pick *p = &picks->at[i];

		if (i > 0 && p->claim == p[-1].claim && p->request == p[-1].request)
			continue;
		while (q->options[first].claim != p->claim || q->options[first].request != p->request)
			first++;
		if (q->options[first].flags & QUESTION_PREFERS)
			points += DEVICE_OPTIONS_MAX - p->option;
	}
	return points;
}

uint32_t inventory_points(const struct inventory *v, node_id node, uint32_t question,
                          uint32_t served)
{
	const struct node_devices *n = v->nodes[node];
	struct match *m = n && question < n->matches_n ? n->matches[question] : NULL;
	uint64_t space[NODE_WORDS];
	struct picks picks;

	if (!m)
		return 0;
	if (m->points_version != version_now(v, n) || m->points_served != served) {
		inventory_choose(v, n, question, served, used_now(v, n, space), drawn_of(n), &picks);
		m->points = points_of(&v->questions[question], &picks);
		m->points_version = version_now(v, n);
		m->points_served = served;
	}
	return m->points;
}

bool inventory_has_match(const struct inventory *v, node_id node, uint32_t question)
{
	return match_of(v->nodes[node], question) != NULL;
}

uint32_t inventory_room(const struct inventory *v, node_id node, uint32_t question, uint32_t served,
                        uint32_t most)
{
	const struct node_devices *n = question < QUESTIONS_MAX ? v->nodes[node] : NULL;
	struct match *m = n && question < n->matches_n ? n->matches[question] : NULL;
	uint64_t space[NODE_WORDS];
	uint32_t n_free = 0;

	if (served != 0 && inventory_is_served(v, question, served))
		return most;
	if (!m)
		return 0;
	if (v->questions[question].one)
		return room_of_one(v, n, m, question, most);
	if (v->questions[question].simple && !n->counted && !n->shared) {
		const uint64_t *used = used_now(v, n, space);

		for (uint32_t word = 0; word < DEVICE_WORDS(n->devices_n); word++)
			n_free += (uint32_t)__builtin_popcountll(free_word(m, n, used, word));
		n_free /= v->questions[question].options->count;
		return n_free < most ? n_free : most;
	}
	return room_remembered(v, n, m, question, served, most);
}

enum inventory_lack inventory_lack(const struct inventory *v, node_id node, uint32_t question,
                                   uint32_t served)
{
	const struct node_devices *n = question < QUESTIONS_MAX ? v->nodes[node] : NULL;
	uint64_t space[NODE_WORDS];
	struct picks picks;

	if (!n)
		return LACK_DEVICES;
	inventory_choose(v, n, question, served, used_now(v, n, space), drawn_of(n), &picks);
	if (picks.gave_up)
		return LACK_GAVE_UP;
	return n->flags & NODE_DEVICES_INVALID ? LACK_POOL : LACK_DEVICES;
}
