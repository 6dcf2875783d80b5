/* SPDX-License-Identifier: Apache-2.0 */
#include "core/devices/choice.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a constraint has seen of the devices that are chosen now. */
struct constraint_state {
	uint32_t n;
	uint32_t value;     /* matchAttribute: of the first device */
	uint32_t *distinct; /* distinctAttribute: by request, 0: none */
};

struct search {
	const struct device_node *node;
	const struct device_question *question;
	struct choice *out;
	uint64_t looks; /* devices looked at */
	uint64_t steps_most, looks_most;
	uint32_t *options_first;  /* by claim and request: index of its first option in `needs` */
	uint32_t *requests_first; /* by claim: index in options_first */
	uint32_t *needs;          /* by option: its devices */
	uint64_t *wanted;         /* by option, a set: all of them (allocationMode All) */
	uint32_t *claim_picks;    /* by claim */
	struct constraint_state *states;
	uint32_t *states_first;  /* by claim */
	uint64_t *held;          /* devices that are chosen now and not shared */
	uint32_t *shares;        /* by device: chosen shares */
	device_amount *drawn;    /* by counter: by devices that are chosen now */
	device_amount *consumed; /* by capacity: the same */
	uint32_t picks_cap;
};

/* Where the search is.  `chosen`: the option is decided. */
struct place {
	uint32_t claim;
	uint32_t request;
	uint32_t option;
	uint32_t done; /* devices of the request so far */
	uint32_t from; /* the first device that may be next */
	bool chosen;
};

enum progress { PROGRESS_NONE, PROGRESS_DONE, PROGRESS_END }; /* the last: with an error */

static const struct device_request *request_at(const struct search *s, const struct place *p)
{
	return &s->question->claims[p->claim].requests[p->request];
}

static const struct device_option *option_at(const struct search *s, const struct place *p)
{
	return &request_at(s, p)->options[p->option];
}

static uint32_t option_index(const struct search *s, const struct place *p)
{
	return s->options_first[s->requests_first[p->claim] + p->request] + p->option;
}

static uint64_t *wanted_of(const struct search *s, const struct place *p)
{
	return &s->wanted[(size_t)option_index(s, p) * (DEVICE_WORDS(s->node->devices_n) + 1)];
}

static uint32_t *need_of(const struct search *s, const struct place *p)
{
	return &s->needs[option_index(s, p)];
}

static enum progress fail(struct search *s, enum choice_outcome outcome, const struct place *p,
                          uint32_t device)
{
	s->out->outcome = outcome;
	s->out->at = (struct choice_pick){ p->claim, p->request, p->option, device };
	return PROGRESS_END;
}

static bool capacity_fits(const struct search *s, const struct device_option *o, uint32_t device)
{
	const struct device *d = &s->node->devices[device];
	bool fits = true;

	if (!(d->flags & DEVICE_SHARED))
		return true;
	for (uint32_t i = d->capacities.first; fits && i < d->capacities.first + d->capacities.n; i++)
		fits = s->node->capacities[i].consumed + s->consumed[i] + o->amounts[i] <=
		       s->node->capacities[i].value;
	return fits;
}

static bool draws(const struct search *s, uint32_t device)
{
	const struct device *d = &s->node->devices[device];

	return d->uses.n > 0 && !(d->flags & DEVICE_DRAWN) && s->shares[device] == 0;
}

/* All counters of the pool are compared at each step. */
static bool counters_fit(struct search *s, uint32_t device)
{
	const struct device *d = &s->node->devices[device];
	const struct span *all = &s->node->pools[d->pool].counters;
	bool fits = true;

	if (!draws(s, device))
		return true;
	for (uint32_t i = d->uses.first; i < d->uses.first + d->uses.n; i++)
		s->drawn[s->node->uses[i].counter] += s->node->uses[i].amount;
	for (uint32_t i = all->first; fits && i < all->first + all->n; i++)
		fits = s->drawn[i] <= s->node->counters[i];
	for (uint32_t i = d->uses.first; i < d->uses.first + d->uses.n; i++)
		s->drawn[s->node->uses[i].counter] -= s->node->uses[i].amount;
	return fits;
}

static bool restricts(const struct device_constraint *c, const struct place *p)
{
	return c->options[p->request] >> p->option & 1;
}

static bool distinct_from_all(const struct constraint_state *state, uint32_t requests_n,
                              uint32_t value)
{
	for (uint32_t i = 0; i < requests_n; i++) {
		uint32_t other = state->distinct[i];

		/* Values of two types can't be compared, which counts as equal. */
		if (other != 0 && (other == value || DEVICE_VALUE_TYPE(other) != DEVICE_VALUE_TYPE(value)))
			return false;
	}
	return true;
}

static bool constraint_add(const struct search *s, const struct device_constraint *c,
                           struct constraint_state *state, const struct place *p, uint32_t device)
{
	uint32_t value = c->values[device];

	if (!restricts(c, p))
		return true;
	if (value == 0)
		return false;
	if (c->distinct) {
		if (state->n > 0 &&
		    !distinct_from_all(state, s->question->claims[p->claim].requests_n, value))
			return false;
		state->distinct[p->request] = value;
	} else if (state->n == 0) {
		state->value = value;
	} else if (state->value != value) {
		return false;
	}
	state->n++;
	return true;
}

/* distinctAttribute forgets the value of the request, even if earlier devices of it are kept: it
 * has one value for each request (distinctAttributeConstraint.remove). */
static void constraint_remove(const struct device_constraint *c, struct constraint_state *state,
                              const struct place *p)
{
	if (!restricts(c, p))
		return;
	state->n--;
	if (c->distinct)
		state->distinct[p->request] = 0;
}

static void constraints_remove(struct search *s, const struct place *p, uint32_t n)
{
	const struct device_claim *claim = &s->question->claims[p->claim];

	for (uint32_t i = 0; i < n; i++)
		constraint_remove(&claim->constraints[i], &s->states[s->states_first[p->claim] + i], p);
}

/* All or none of them. */
static bool constraints_add(struct search *s, const struct place *p, uint32_t device)
{
	const struct device_claim *claim = &s->question->claims[p->claim];

	for (uint32_t i = 0; i < claim->constraints_n; i++) {
		if (!constraint_add(s, &claim->constraints[i], &s->states[s->states_first[p->claim] + i], p,
		                    device)) {
			constraints_remove(s, p, i);
			return false;
		}
	}
	return true;
}

static bool in_claim(const struct search *s, uint32_t claim, uint32_t device)
{
	for (uint32_t i = 0; i < s->out->picks_n; i++)
		if (s->out->picks[i].claim == claim && s->out->picks[i].device == device)
			return true;
	return false;
}

static bool is_free(const struct search *s, const struct place *p, uint32_t device)
{
	uint32_t flags = s->node->devices[device].flags;

	if (flags & DEVICE_SHARED)
		return !(flags & DEVICE_TAKEN) || option_at(s, p)->admin;
	if (option_at(s, p)->admin)
		return !in_claim(s, p->claim, device);
	return !(flags & DEVICE_TAKEN) && !device_in(s->held, device);
}

/* +1 when the device is chosen, -1 when that is taken back. */
static void account(struct search *s, const struct place *p, uint32_t device, int sign)
{
	const struct device *d = &s->node->devices[device];

	if (sign < 0)
		s->shares[device]--;
	if (draws(s, device))
		for (uint32_t i = d->uses.first; i < d->uses.first + d->uses.n; i++)
			s->drawn[s->node->uses[i].counter] += sign * s->node->uses[i].amount;
	if (sign > 0)
		s->shares[device]++;
	for (uint32_t i = d->capacities.first;
	     d->flags & DEVICE_SHARED && i < d->capacities.first + d->capacities.n; i++)
		s->consumed[i] += sign * option_at(s, p)->amounts[i];
	if (!(d->flags & DEVICE_SHARED) && s->shares[device] == 0)
		s->held[device / 64] &= ~(UINT64_C(1) << (device % 64));
	else if (!(d->flags & DEVICE_SHARED))
		device_add(s->held, device);
}

/* Chooses the device for the request; PROGRESS_NONE when something is in the way. */
static enum progress device_take(struct search *s, const struct place *p, uint32_t device)
{
	const struct device_option *o = option_at(s, p);
	struct choice *out = s->out;

	if (++out->steps > s->steps_most || out->picks_n == CHOICE_PICKS_MAX)
		return fail(s, CHOICE_GAVE_UP, p, device);
	if (!is_free(s, p, device) || !capacity_fits(s, o, device) || !counters_fit(s, device) ||
	    !device_in(o->tolerated, device))
		return PROGRESS_NONE;
	if (!constraints_add(s, p, device))
		return o->all ? fail(s, CHOICE_CONSTRAINT, p, device) : PROGRESS_NONE;
	account(s, p, device, 1);
	if (out->picks_n == s->picks_cap) {
		s->picks_cap = s->picks_cap * 2 + DEVICE_RESULTS_MAX;
		out->picks = must_grow(out->picks, s->picks_cap * sizeof(*out->picks));
	}
	out->picks[out->picks_n++] = (struct choice_pick){ p->claim, p->request, p->option, device };
	s->claim_picks[p->claim]++;
	return PROGRESS_DONE;
}

static void device_give(struct search *s, const struct place *p, uint32_t device)
{
	constraints_remove(s, p, s->question->claims[p->claim].constraints_n);
	s->claim_picks[p->claim]--;
	s->out->picks_n--;
	account(s, p, device, -1);
}

static enum progress search_on(struct search *s, struct place p);

/* The device, and then everything that follows. */
static enum progress search_with(struct search *s, const struct place *p, uint32_t device)
{
	struct place next = *p;
	enum progress done = device_take(s, p, device);

	if (done != PROGRESS_DONE)
		return done;
	next.done++;
	next.from = device + 1;
	done = search_on(s, next);
	if (done == PROGRESS_NONE)
		device_give(s, p, device);
	return done;
}

/* The devices of allocationMode All are known; one that can't be had ends the search. */
static enum progress search_all(struct search *s, const struct place *p)
{
	const uint64_t *wanted = wanted_of(s, p);

	for (uint32_t device = p->from; device < s->node->devices_n; device++)
		if (device_in(wanted, device))
			return search_with(s, p, device);
	return PROGRESS_NONE;
}

static enum progress search_devices(struct search *s, const struct place *p)
{
	const struct device_option *o = option_at(s, p);

	for (uint32_t device = p->from; device < s->node->devices_n; device++) {
		enum progress done;

		if (++s->looks > s->looks_most)
			return fail(s, CHOICE_GAVE_UP, p, device);
		if (!is_free(s, p, device))
			continue;
		if (device_in(o->fault, device))
			return fail(s, CHOICE_SELECTOR, p, device);
		if (!device_in(o->match, device))
			continue;
		done = search_with(s, p, device);
		if (done != PROGRESS_NONE)
			return done;
	}
	return PROGRESS_NONE;
}

static enum progress search_option(struct search *s, struct place p)
{
	const struct device_option *o = option_at(s, &p);
	uint32_t need = *need_of(s, &p);

	if (o->all && need == 0)
		return PROGRESS_NONE;
	if (p.done >= need)
		return search_on(s, (struct place){ .claim = p.claim, .request = p.request + 1 });
	if ((uint64_t)s->claim_picks[p.claim] + need - p.done > DEVICE_RESULTS_MAX)
		return PROGRESS_NONE;
	return o->all ? search_all(s, &p) : search_devices(s, &p);
}

/* allocator.allocateOne */
static enum progress search_on(struct search *s, struct place p)
{
	if (p.claim == s->question->claims_n)
		return PROGRESS_DONE;
	if (p.request == s->question->claims[p.claim].requests_n)
		return search_on(s, (struct place){ .claim = p.claim + 1 });
	if (p.chosen)
		return search_option(s, p);
	p.chosen = true;
	for (p.option = 0; p.option < request_at(s, &p)->options_n; p.option++) {
		enum progress done = search_option(s, p);

		if (done != PROGRESS_NONE)
			return done;
	}
	return PROGRESS_NONE;
}

/* The devices that allocationMode All means: those that match, taken or not, but not those whose
 * capacity is used up by allocated shares. */
static bool count_all(struct search *s, const struct place *p, uint32_t *need)
{
	const struct device_option *o = option_at(s, p);

	*need = 0;
	for (uint32_t i = 0; i < s->node->pools_n; i++) {
		const struct device_pool *pool = &s->node->pools[i];

		s->out->pool = i;
		if (pool->state != POOL_USABLE)
			return fail(s, pool->state == POOL_INCOMPLETE ? CHOICE_INCOMPLETE : CHOICE_INVALID, p,
			            0) != PROGRESS_END;
		for (uint32_t d = pool->devices.first; d < pool->devices.first + pool->devices.n; d++) {
			if (device_in(o->fault, d))
				return fail(s, CHOICE_SELECTOR, p, d) != PROGRESS_END;
			if (device_in(o->match, d) && capacity_fits(s, o, d)) {
				device_add(wanted_of(s, p), d);
				++*need;
			}
		}
	}
	return true;
}

/* Counts what each option needs; false with an error. */
static bool count_needs(struct search *s)
{
	for (uint32_t claim = 0; claim < s->question->claims_n; claim++) {
		const struct device_claim *c = &s->question->claims[claim];
		uint64_t least = 0;

		for (uint32_t request = 0; request < c->requests_n; request++) {
			uint32_t fewest = UINT32_MAX;

			for (uint32_t option = 0; option < c->requests[request].options_n; option++) {
				const struct place p = { .claim = claim, .request = request, .option = option };
				uint32_t *need = need_of(s, &p);

				*need = option_at(s, &p)->count;
				if (option_at(s, &p)->all && !count_all(s, &p, need))
					return false;
				fewest = *need < fewest ? *need : fewest;
			}
			least += fewest;
		}
		if (least > DEVICE_RESULTS_MAX) {
			s->out->number = least > UINT32_MAX ? UINT32_MAX : (uint32_t)least;
			fail(s, CHOICE_TOO_MANY, &(struct place){ .claim = claim }, 0);
			return false;
		}
	}
	return true;
}

static void search_init(struct search *s)
{
	const struct device_question *q = s->question;
	uint32_t requests = 0, options = 0, constraints = 0, requests_most = 0;

	s->requests_first = must_array(q->claims_n + 1, sizeof(*s->requests_first));
	s->states_first = must_array(q->claims_n + 1, sizeof(*s->states_first));
	for (uint32_t i = 0; i < q->claims_n; i++) {
		s->requests_first[i] = requests;
		s->states_first[i] = constraints;
		requests += q->claims[i].requests_n;
		constraints += q->claims[i].constraints_n;
		if (q->claims[i].requests_n > requests_most)
			requests_most = q->claims[i].requests_n;
	}
	s->options_first = must_array(requests + 1, sizeof(*s->options_first));
	for (uint32_t i = 0; i < q->claims_n; i++)
		for (uint32_t r = 0; r < q->claims[i].requests_n; r++) {
			assert(q->claims[i].requests[r].options_n <= DEVICE_OPTIONS_MAX);
			s->options_first[s->requests_first[i] + r] = options;
			options += q->claims[i].requests[r].options_n;
		}
	s->needs = must_array(options + 1, sizeof(*s->needs));
	s->wanted = must_array((size_t)(options + 1) * (DEVICE_WORDS(s->node->devices_n) + 1),
	                       sizeof(*s->wanted));
	s->claim_picks = must_array(q->claims_n + 1, sizeof(*s->claim_picks));
	s->states = must_array(constraints + 1, sizeof(*s->states));
	for (uint32_t i = 0; i < constraints; i++)
		s->states[i].distinct = must_array(requests_most + 1, sizeof(uint32_t));
	s->held = must_array(DEVICE_WORDS(s->node->devices_n) + 1, sizeof(*s->held));
	s->shares = must_array(s->node->devices_n + 1, sizeof(*s->shares));
	s->drawn = must_array(s->node->counters_n + 1, sizeof(*s->drawn));
	s->consumed = must_array(s->node->capacities_n + 1, sizeof(*s->consumed));
	s->states_first[q->claims_n] = constraints;
}

static void search_free(struct search *s)
{
	for (uint32_t i = 0; i < s->states_first[s->question->claims_n]; i++)
		free(s->states[i].distinct);
	free(s->states);
	free(s->requests_first);
	free(s->states_first);
	free(s->options_first);
	free(s->needs);
	free(s->wanted);
	free(s->claim_picks);
	free(s->held);
	free(s->shares);
	free(s->drawn);
	free(s->consumed);
}

void choice_make(const struct device_node *node, const struct device_question *question,
                 struct choice *out)
{
	struct search s = { .node = node, .question = question, .out = out };
	enum progress done;

	s.steps_most = question->steps_most > 0 ? question->steps_most : CHOICE_STEPS_MAX;
	s.looks_most = s.steps_most * (CHOICE_LOOKS_MAX / CHOICE_STEPS_MAX);
	*out = (struct choice){ .outcome = CHOICE_NONE };
	search_init(&s);
	if (count_needs(&s)) {
		done = search_on(&s, (struct place){ 0 });
		if (done == PROGRESS_DONE)
			out->outcome = CHOICE_FOUND;
	}
	search_free(&s);
}

void choice_free(struct choice *c)
{
	free(c->picks);
	*c = (struct choice){ 0 };
}
