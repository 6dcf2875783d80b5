/* SPDX-License-Identifier: Apache-2.0 */
#include "core/devices/inventory.h"

#include "core/devices/inventory_impl.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct inventory *inventory_new(const struct limits *limits)
{
	struct inventory *v = must_alloc(sizeof(*v));

	v->nodes_n = limits->nodes;
	v->pods_n = limits->pods;
	v->nodes = must_array(limits->nodes, sizeof(struct node_devices *));
	v->pods = must_array(limits->pods, sizeof(struct holding *));
	return v;
}

static void match_free(struct inventory *v, uint32_t question, struct match *m)
{
	if (!m)
		return;
	v->questions[question].commons_n -= m->common;
	free(m->amounts);
	free(m);
}

static void matches_free(struct inventory *v, struct node_devices *n)
{
	for (uint32_t i = 0; i < n->matches_n; i++)
		match_free(v, i, n->matches[i]);
	free(n->matches);
	n->matches = NULL;
	n->matches_n = 0;
}

static void counted_free(struct counted *c)
{
	if (!c)
		return;
	free(c->pools);
	free(c->totals);
	free(c->uses);
	free(c);
}

static struct counted *counted_new(const struct event_node_devices *e,
                                   const struct node_lists *lists)
{
	const struct node_counter *counters = lists->counters;
	const struct node_use *uses = lists->uses;
	struct counted *c = must_alloc(sizeof(*c) + e->devices_n * sizeof(c->devices[0]));
	uint32_t *pool_of = must_array(e->counters_n + 1, sizeof(*pool_of));

	c->pools = must_array(e->counters_n + 1, sizeof(*c->pools));
	c->totals = must_array(e->counters_n + 1, sizeof(*c->totals));
	c->uses = must_array(e->uses_n + 1, sizeof(*c->uses));
	c->counters_n = e->counters_n;
	c->uses_n = e->uses_n;
	for (uint32_t i = 0; i < e->counters_n; i++) {
		if (i == 0 || counters[i].pool != counters[i - 1].pool)
			c->pools[c->pools_n++] = (struct device_pool){ .counters = { i, 0 } };
		c->pools[c->pools_n - 1].counters.n++;
		pool_of[i] = c->pools_n - 1;
		c->totals[i] = device_amount_of(counters[i].low, counters[i].high);
	}
	c->pools[0].devices = (struct span){ 0, e->devices_n };
	for (uint32_t i = 0; i < e->uses_n; i++) {
		struct counted_device *d = &c->devices[uses[i].device];

		if (d->uses.n++ == 0)
			d->uses.first = i;
		d->pool = pool_of[uses[i].counter];
		c->uses[i] =
			(struct device_use){ uses[i].counter, device_amount_of(uses[i].low, uses[i].high) };
	}
	free(pool_of);
	return c;
}

static void shared_free(struct shared *s)
{
	if (s)
		free(s->drawn);
	free(s);
}

static struct shared *shared_new(const struct event_node_devices *e, const struct node_lists *lists)
{
	struct shared *s = must_alloc(sizeof(*s) + e->capacities_n * sizeof(s->capacities[0]));

	memcpy(s->set, lists->shared, DEVICE_WORDS(e->devices_n) * sizeof(*s->set));
	memcpy(s->capacities, lists->capacities, e->capacities_n * sizeof(s->capacities[0]));
	s->capacities_n = e->capacities_n;
	s->drawn = must_array(e->capacities_n + 1, sizeof(*s->drawn));
	return s;
}

/* Its devices are not those of the node any more. */
static void holding_void(struct inventory *v, const struct node_devices *n, struct holding *h)
{
	commons_hold(v, n, h, -1);
	h->picks_n = 0;
	free(h->drawn);
	h->drawn = NULL;
}

static void holding_free(struct holding *h)
{
	free(h->drawn);
	free(h);
}

static void node_free(struct inventory *v, struct node_devices *n)
{
	if (!n)
		return;
	matches_free(v, n);
	counted_free(n->counted);
	shared_free(n->shared);
	free(n->listed);
	for (uint32_t i = 0; i < n->holdings_n; i++)
		holding_free(n->holdings[i]);
	free(n->holdings);
	free(n);
}

static void question_free(struct question *q)
{
	free(q->options);
	free(q->labels);
	free(q->constraints);
	memset(q, 0, sizeof(*q));
}

void inventory_free(struct inventory *v)
{
	if (!v)
		return;
	for (uint32_t i = 0; i < v->nodes_n; i++)
		node_free(v, v->nodes[i]);
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		question_free(&v->questions[i]);
	free(v->nodes);
	free(v->commons);
	free(v->pods);
	free(v);
}

/* A holding with shares is of the capacities that the node has now. */
static void drawn_set(const struct node_devices *n, device_amount *drawn)
{
	const struct shared *s = n->shared;

	for (uint32_t i = 0; i < s->capacities_n; i++)
		drawn[i] = device_amount_of(s->capacities[i].consumed_low, s->capacities[i].consumed_high);
	for (uint32_t k = 0; k < n->holdings_n; k++)
		for (uint32_t i = 0; n->holdings[k]->drawn && i < s->capacities_n; i++)
			drawn[i] += n->holdings[k]->drawn[i];
}

/* The sets follow from the record and the holdings. */
static void used_set(struct node_devices *n)
{
	memcpy(n->used, n->taken, sizeof(n->used));
	for (uint32_t i = 0; i < n->holdings_n; i++) {
		const struct holding *h = n->holdings[i];

		picks_use(h->picks, h->picks_n, h->idle, n->used);
	}
	if (n->shared)
		drawn_set(n, n->shared->drawn);
	n->version++;
}

static uint32_t capacities_n(const struct node_devices *n)
{
	return n->shared ? n->shared->capacities_n : 0;
}

void inventory_node_set(struct inventory *v, const struct event_node_devices *e,
                        const struct node_lists *lists)
{
	struct node_devices *n = v->nodes[e->node];

	if (!n)
		n = v->nodes[e->node] = must_alloc(sizeof(*n));
	if (n->layout != e->layout || n->devices_n != e->devices_n ||
	    capacities_n(n) != e->capacities_n || !listed_is(n, e, lists)) {
		matches_free(v, n);
		for (uint32_t i = 0; i < n->holdings_n; i++)
			holding_void(v, n, n->holdings[i]);
		listed_set(v, n, e, lists);
	}
	n->layout = e->layout;
	n->devices_n = e->devices_n;
	n->flags = e->flags;
	counted_free(n->counted);
	n->counted = e->uses_n > 0 ? counted_new(e, lists) : NULL;
	shared_free(n->shared);
	n->shared = e->flags & NODE_DEVICES_SHARED ? shared_new(e, lists) : NULL;
	memset(n->taken, 0, sizeof(n->taken));
	memcpy(n->taken, lists->taken, DEVICE_WORDS(e->devices_n) * sizeof(*lists->taken));
	commons_taken(v, n);
	used_set(n);
}

/* What pods hold there ends with their reservations. */
void inventory_node_drop(struct inventory *v, node_id node)
{
	struct node_devices *n = v->nodes[node];

	if (!n)
		return;
	matches_free(v, n);
	for (uint32_t i = 0; i < n->holdings_n; i++)
		holding_void(v, n, n->holdings[i]);
	n->devices_n = 0;
	free(n->listed);
	n->listed = NULL;
	counted_free(n->counted);
	n->counted = NULL;
	shared_free(n->shared);
	n->shared = NULL;
	memset(n->taken, 0, sizeof(n->taken));
	used_set(n);
}

void inventory_question_set(struct inventory *v, const struct event_question *e,
                            const struct question_option *options,
                            const struct question_constraint *constraints)
{
	struct question *q = &v->questions[e->question];

	inventory_question_drop(v, e->question);
	q->options_n = e->options_n;
	q->constraints_n = e->constraints_n;
	q->options = must_array(e->options_n, sizeof(*q->options));
	q->labels = must_array(e->options_n, sizeof(*q->labels));
	memcpy(q->options, options, e->options_n * sizeof(*options));
	q->constraints = must_array(e->constraints_n + 1, sizeof(*q->constraints));
	memcpy(q->constraints, constraints, e->constraints_n * sizeof(*constraints));
	for (uint32_t i = 0; i < e->options_n; i++) {
		q->prefers = q->prefers || options[i].flags & QUESTION_PREFERS;
		q->groups |= 1u << device_group(options[i].flags);
	}
	q->one = options->flags & QUESTION_ONE;
	q->simple = e->options_n == 1 && e->constraints_n == 0 &&
	            (options->flags & ~(uint32_t)QUESTION_GROUPS) == 0 &&
	            options->count <= DEVICE_RESULTS_MAX;
}

void inventory_question_label(struct inventory *v, uint32_t question, const char *text,
                              uint32_t bytes, uint64_t offset)
{
	struct question *q = &v->questions[question];
	uint32_t at = 0;

	q->text_offset = offset;
	q->text_bytes = bytes;
	for (uint32_t i = 0; i < q->options_n && at < bytes; i++) {
		const uint32_t first = at;

		for (uint32_t spaces = 0; at < bytes && spaces < 3; at++)
			spaces += text[at] == ' ';
		q->labels[i] = (struct question_label){ offset + first, at - first };
	}
}

uint32_t inventory_question_text(const struct inventory *v, uint32_t question, uint64_t *offset)
{
	*offset = v->questions[question].text_offset;
	return v->questions[question].text_bytes;
}

/* The next question of that number is another claim. */
static void sharers_end(struct inventory *v, uint32_t question)
{
	struct sharers *s = &v->sharers[question];
	const struct node_devices *n = s->n > 0 ? v->nodes[s->node] : NULL;

	for (uint32_t i = 0; n && i < n->holdings_n; i++)
		if (n->holdings[i]->question == question)
			n->holdings[i]->shared = false;
	s->n = 0;
}

void inventory_question_drop(struct inventory *v, uint32_t question)
{
	sharers_end(v, question);
	for (uint32_t i = 0; i < v->nodes_n; i++) {
		struct node_devices *n = v->nodes[i];

		if (!n || question >= n->matches_n)
			continue;
		match_free(v, question, n->matches[question]);
		n->matches[question] = NULL;
	}
	question_free(&v->questions[question]);
}

/* Some option may have a device of several nodes. */
static bool match_is_common(const struct node_devices *n, const uint64_t *sets, uint32_t options)
{
	const uint32_t words = DEVICE_WORDS(n->devices_n);

	for (uint32_t i = 0; n->listed && i < options; i++)
		for (uint32_t word = 0; word < words; word++)
			if (sets[(size_t)2 * i * words + word] & n->listed->set[word])
				return true;
	return false;
}

bool inventory_match_set(struct inventory *v, const struct event_match *e, const uint64_t *sets,
                         const uint32_t *values, const struct match_amount *amounts)
{
	struct node_devices *n = v->nodes[e->node];
	struct question *q = &v->questions[e->question];
	const size_t set_bytes = (size_t)2 * q->options_n * DEVICE_WORDS(e->devices_n) * sizeof(*sets);
	const size_t value_bytes = (size_t)e->constraints_n * PADDED(e->devices_n * sizeof(*values));
	struct match *m;

	if (!n || n->layout != e->layout || n->devices_n != e->devices_n || q->options_n == 0 ||
	    q->options_n != e->options_n || q->constraints_n != e->constraints_n ||
	    (e->capacities_n > 0 && e->capacities_n != capacities_n(n)))
		return false;
	if (e->question >= n->matches_n) {
		n->matches = must_grow(n->matches, (e->question + 1) * sizeof(struct match *));
		memset(n->matches + n->matches_n, 0,
		       (e->question + 1 - n->matches_n) * sizeof(struct match *));
		n->matches_n = e->question + 1;
	}
	m = must_alloc(sizeof(*m) + set_bytes + value_bytes);
	memcpy(m->sets, sets, set_bytes);
	memcpy((char *)m->sets + set_bytes, values, value_bytes);
	if (e->capacities_n > 0)
		m->amounts = must_array((size_t)e->options_n * e->capacities_n, sizeof(*m->amounts));
	for (uint32_t i = 0; i < e->options_n * e->capacities_n; i++)
		m->amounts[i] = device_amount_of(amounts[i].low, amounts[i].high);
	match_free(v, e->question, n->matches[e->question]);
	m->common = match_is_common(n, sets, q->options_n);
	q->commons_n += m->common;
	n->matches[e->question] = m;
	n->version++;
	return true;
}

static void holding_add(struct node_devices *n, struct holding *h)
{
	if (n->holdings_n == n->holdings_cap) {
		n->holdings_cap = n->holdings_cap * 2 + 8;
		n->holdings = must_grow(n->holdings, n->holdings_cap * sizeof(struct holding *));
	}
	n->holdings[n->holdings_n++] = h;
}

static struct holding *holding_remove(struct node_devices *n, uint32_t at)
{
	struct holding *h = n->holdings[at];

	n->holdings_n--;
	memmove(n->holdings + at, n->holdings + at + 1,
	        (n->holdings_n - at) * sizeof(struct holding *));
	return h;
}

struct holding *sharer_of(const struct inventory *v, const struct node_devices *n,
                          uint32_t question)
{
	for (uint32_t i = 0; v->sharers[question].n > 0 && i < n->holdings_n; i++)
		if (n->holdings[i]->shared && n->holdings[i]->question == question)
			return n->holdings[i];
	return NULL;
}

/* The holding has the devices of the claim, beside others. */
static void sharer_enter(struct inventory *v, struct holding *h)
{
	struct sharers *s;

	h->shared = h->picks_n > 0 && v->questions[h->question].one; /* else it may be any number */
	if (!h->shared)
		return;
	s = &v->sharers[h->question];
	assert(s->n == 0 || s->node == h->node);
	s->n++;
	s->node = h->node;
}

/* It is none of the node's holdings any more.  What it has of capacities the next one has. */
static void sharer_leave(struct inventory *v, const struct node_devices *n, struct holding *h)
{
	struct holding *next;

	if (!h->shared)
		return;
	v->sharers[h->question].n--;
	next = sharer_of(v, n, h->question);
	if (!next || next->drawn)
		return;
	next->drawn = h->drawn;
	h->drawn = NULL;
}

static void shares_take(struct shared *s, struct holding *h, const struct picks *picks)
{
	h->drawn = must_array(picks->capacities_n, sizeof(*h->drawn));
	memcpy(h->drawn, picks->drawn, picks->capacities_n * sizeof(*h->drawn));
	for (uint32_t i = 0; i < picks->capacities_n; i++)
		s->drawn[i] += h->drawn[i];
}

uint32_t inventory_peek(const struct inventory *v, node_id node, uint32_t question, uint32_t served,
                        uint32_t *layout, struct device_pick *picks)
{
	const struct node_devices *n = v->nodes[node];
	uint64_t space[NODE_WORDS];
	struct picks found;

	if (!n)
		return 0;
	inventory_choose(v, n, question, served, used_now(v, n, space), drawn_of(n), &found);
	memcpy(picks, found.at, found.n * sizeof(*picks));
	*layout = n->layout;
	return found.n;
}

void inventory_take(struct inventory *v, node_id node, uint32_t question, uint32_t served,
                    uint32_t n)
{
	struct node_devices *d = v->nodes[node];

	if (inventory_is_served(v, question, served))
		return;
	if (!d)
		d = v->nodes[node] = must_alloc(sizeof(*d));
	while (n-- > 0) {
		uint64_t space[NODE_WORDS];
		struct picks picks;
		struct holding *h;

		inventory_choose(v, d, question, served, used_now(v, d, space), drawn_of(d), &picks);
		h = must_alloc(sizeof(*h) + picks.n * sizeof(*h->picks));
		h->pod = ID_NONE;
		h->node = node;
		h->question = question;
		h->layout = d->layout;
		h->picks_n = picks.n;
		memcpy(h->idle, picks.idle, sizeof(h->idle));
		memcpy(h->picks, picks.at, picks.n * sizeof(*h->picks));
		picks_use(h->picks, h->picks_n, h->idle, d->used);
		if (picks.capacities_n > 0)
			shares_take(d->shared, h, &picks);
		commons_hold(v, d, h, 1);
		sharer_enter(v, h);
		holding_add(d, h);
	}
	d->version++;
}

void inventory_give(struct inventory *v, node_id node, uint32_t question)
{
	struct node_devices *n = v->nodes[node];

	for (uint32_t i = n ? n->holdings_n : 0; i-- > 0;) {
		struct holding *h = n->holdings[i];

		if (h->pod != ID_NONE || h->question != question)
			continue;
		commons_hold(v, n, h, -1);
		holding_remove(n, i);
		sharer_leave(v, n, h);
		holding_free(h);
		used_set(n);
		return;
	}
}

void inventory_adopt(struct inventory *v, node_id node, uint32_t question, pod_id pod)
{
	struct node_devices *n = v->nodes[node];

	assert(pod < v->pods_n && !v->pods[pod]);
	for (uint32_t i = 0; n && i < n->holdings_n; i++) {
		if (n->holdings[i]->pod != ID_NONE || n->holdings[i]->question != question)
			continue;
		n->holdings[i]->pod = pod;
		v->pods[pod] = n->holdings[i];
		return;
	}
}

void inventory_return(struct inventory *v, pod_id pod)
{
	struct holding *h = v->pods[pod];
	struct node_devices *n = h ? v->nodes[h->node] : NULL;
	uint32_t i = 0;

	if (!h)
		return;
	while (n->holdings[i] != h)
		i++;
	holding_add(n, holding_remove(n, i));
	h->pod = ID_NONE;
	v->pods[pod] = NULL;
}

const struct holding *inventory_held(const struct inventory *v, pod_id pod)
{
	return v->pods[pod];
}

static bool shares_check(const struct node_devices *n)
{
	device_amount drawn[NODE_CAPACITIES_MAX];

	if (!n->shared)
		return true;
	drawn_set(n, drawn);
	return memcmp(drawn, n->shared->drawn, n->shared->capacities_n * sizeof(*drawn)) == 0;
}

bool inventory_check(const struct inventory *v)
{
	uint32_t sharers[QUESTIONS_MAX] = { 0 };

	for (uint32_t i = 0; i < v->nodes_n; i++) {
		const struct node_devices *n = v->nodes[i];
		uint64_t used[NODE_WORDS];

		if (!n)
			continue;
		memcpy(used, n->taken, sizeof(used));
		for (uint32_t k = 0; k < n->holdings_n; k++) {
			const struct holding *h = n->holdings[k];

			if (h->pod == ID_NONE || v->pods[h->pod] != h || h->node != i)
				return false;
			if (h->shared && (v->sharers[h->question].node != i || !v->questions[h->question].one))
				return false;
			if (h->shared)
				sharers[h->question]++;
			picks_use(h->picks, h->picks_n, h->idle, used);
		}
		if (memcmp(used, n->used, sizeof(used)) != 0 || !shares_check(n))
			return false;
	}
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		if (sharers[i] != v->sharers[i].n)
			return false;
	return commons_check(v);
}
