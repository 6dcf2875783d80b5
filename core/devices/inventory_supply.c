/* SPDX-License-Identifier: Apache-2.0 */
/* Why pods find no devices, in numbers of all nodes. */
#include "core/devices/inventory_impl.h"

#include <string.h>

#define VALUES_MAX 64u /* of an attribute on a node; more are not told apart from these */

/* Free devices of one node by the value of an attribute. */
struct alike {
	uint32_t value[VALUES_MAX], devices[VALUES_MAX], n, most;
};

static void alike_count(struct alike *a, uint32_t value)
{
	uint32_t i = 0;

	if (value == 0)
		return;
	while (i < a->n && a->value[i] != value)
		i++;
	if (i == VALUES_MAX)
		return;
	a->value[i] = value;
	a->n += i == a->n;
	a->most = ++a->devices[i] > a->most ? a->devices[i] : a->most;
}

/* One option on one node. */
struct supply {
	const struct node_devices *n;
	const struct question_option *option;
	const uint64_t *match, *tolerated;
	const device_amount *amounts; /* by capacity; NULL: the option gets no share */
	const uint32_t *values;       /* by device; NULL: none have to be the same */
	const uint64_t *used;
	uint32_t here; /* free ones */
	uint64_t space[NODE_WORDS];
	device_amount left[NODE_COUNTERS_MAX];
	uint64_t seen[COMMON_WORDS]; /* devices of several nodes that were counted */
};

static bool share_fits(const struct supply *s, uint32_t device)
{
	const struct shared *shared = s->n->shared;

	for (uint32_t i = 0; i < shared->capacities_n; i++) {
		const struct node_capacity *c = &shared->capacities[i];

		if (c->device == device && shared->drawn[i] + (s->amounts ? s->amounts[i] : 0) >
		                               device_amount_of(c->value_low, c->value_high))
			return false;
	}
	return true;
}

static bool is_taken(const struct supply *s, uint32_t device)
{
	if (s->option->flags & QUESTION_ADMIN)
		return false;
	if (s->n->shared && device_in(s->n->shared->set, device))
		return !share_fits(s, device);
	return device_in(s->used, device);
}

static void counters_set(struct supply *s)
{
	const struct counted *c = s->n->counted;

	memcpy(s->left, c->totals, c->counters_n * sizeof(*s->left));
	for (uint32_t d = 0; d < s->n->devices_n; d++)
		for (uint32_t i = 0; device_in(s->used, d) && i < c->devices[d].uses.n; i++) {
			const struct device_use *u = &c->uses[c->devices[d].uses.first + i];

			s->left[u->counter] -= u->amount;
		}
}

/* A device of which a share is in use takes no counters more. */
static bool is_shut(const struct supply *s, uint32_t device)
{
	const struct counted *c = s->n->counted;

	if (!c || s->option->flags & QUESTION_ADMIN || device_in(s->used, device))
		return false;
	for (uint32_t i = 0; i < c->devices[device].uses.n; i++) {
		const struct device_use *u = &c->uses[c->devices[device].uses.first + i];

		if (u->amount > s->left[u->counter])
			return true;
	}
	return false;
}

/* Another node lists it too, and it was counted there. */
static bool is_seen(struct supply *s, uint32_t device)
{
	const uint32_t common = common_of(s->n, device);

	if (common == ID_NONE)
		return false;
	if (device_in(s->seen, common))
		return true;
	device_add(s->seen, common);
	return false;
}

static void device_count(struct supply *s, uint32_t device, struct alike *alike,
                         struct device_lack *out)
{
	uint32_t *as = &out->free;

	if (is_taken(s, device)) {
		as = &out->taken;
	} else if (!device_in(s->tolerated, device)) {
		as = &out->tainted;
	} else if (is_shut(s, device)) {
		as = &out->shut;
	} else {
		s->here++;
		alike_count(alike, s->values ? s->values[device] : 0);
	}
	if (is_seen(s, device))
		return;
	out->match++;
	++*as;
}

static void node_count(struct supply *s, struct device_lack *out)
{
	struct alike alike;

	s->here = 0;
	alike.n = alike.most = 0;
	memset(alike.devices, 0, sizeof(alike.devices));
	if (s->n->counted)
		counters_set(s);
	for (uint32_t word = 0; word < DEVICE_WORDS(s->n->devices_n); word++)
		for (uint64_t bits = s->match[word]; bits; bits &= bits - 1)
			device_count(s, word * 64 + (uint32_t)__builtin_ctzll(bits), &alike, out);
	out->nodes += s->here > 0;
	out->most = s->here > out->most ? s->here : out->most;
	out->alike = alike.most > out->alike ? alike.most : out->alike;
}

/* The first matchAttribute that restricts the option; constraints_n: none does. */
static uint32_t constraint_of(const struct question *q, uint32_t option)
{
	uint32_t i = 0;

	while (i < q->constraints_n && (q->constraints[i].flags & QUESTION_DISTINCT ||
	                                !(q->constraints[i].options >> option & 1)))
		i++;
	return i;
}

static void supply_set(struct supply *s, const struct question *q, const struct match *m,
                       uint32_t option, uint32_t constraint)
{
	const size_t words = DEVICE_WORDS(s->n->devices_n);
	const char *values = (const char *)(m->sets + 2 * q->options_n * words);

	s->match = m->sets + 2 * option * words;
	s->tolerated = s->match + words;
	s->amounts = m->amounts ? m->amounts + (size_t)option * s->n->shared->capacities_n : NULL;
	s->values =
		constraint < q->constraints_n
			? (const void *)(values + constraint * PADDED(s->n->devices_n * sizeof(uint32_t)))
			: NULL;
}

void inventory_supply(const struct inventory *v, uint32_t nodes, uint32_t question, uint32_t option,
                      struct device_lack *out)
{
	const struct question *q = &v->questions[question];
	const uint32_t constraint = constraint_of(q, option);
	struct supply s __attribute__((uninitialized));

	*out = (struct device_lack){ .question = question,
		                         .option = option,
		                         .names_offset = q->labels[option].offset,
		                         .names_bytes = q->labels[option].bytes };
	s.option = &q->options[option];
	memset(s.seen, 0, sizeof(s.seen));
	if (!(s.option->flags & QUESTION_ALL))
		out->count = s.option->count;
	for (uint32_t i = 0; i < nodes; i++) {
		s.n = v->nodes[i];
		if (!s.n || question >= s.n->matches_n || !s.n->matches[question])
			continue;
		supply_set(&s, q, s.n->matches[question], option, constraint);
		s.used = used_now(v, s.n, s.space);
		node_count(&s, out);
	}
}

uint32_t inventory_options(const struct inventory *v, uint32_t question)
{
	return question < QUESTIONS_MAX ? v->questions[question].options_n : 0;
}
