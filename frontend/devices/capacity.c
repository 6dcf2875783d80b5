/* SPDX-License-Identifier: Apache-2.0 */
/* Consumable capacity: what a request takes of the capacities of a device
 * (dynamic-resource-allocation: calculateConsumedCapacity, violatesPolicy). */
#include "frontend/devices/devices_impl.h"

#include <stdlib.h>

static uint32_t amount_read(const struct tree *t, const char *key, uint32_t flag, nano_t *out)
{
	const struct tree *value = jsontree_get(t, key);

	return value->kind != TREE_NULL && quantity_parse(value->text.at, value->text.bytes, out) == 0
	           ? flag
	           : 0;
}

static int amount_order(const void *a, const void *b)
{
	nano_t x = *(const nano_t *)a, y = *(const nano_t *)b;

	return (x > y) - (x < y);
}

void policy_read(struct arena *arena, const struct tree *policy, struct capacity_policy *out)
{
	const struct tree *range = jsontree_get(policy, "validRange");
	const struct tree *valid = jsontree_get(policy, "validValues");

	*out = (struct capacity_policy){ 0 };
	out->flags = amount_read(policy, "default", CAPACITY_DEFAULT, &out->preset) |
	             amount_read(range, "min", CAPACITY_LEAST, &out->least) |
	             amount_read(range, "max", CAPACITY_MOST, &out->most) |
	             amount_read(range, "step", CAPACITY_STEP, &out->step);
	out->values = arena_array(arena, valid->n, sizeof(*out->values));
	TREE_EACH(value, valid)
	if (quantity_parse(value->text.at, value->text.bytes, &out->values[out->values_n]) == 0)
		out->values_n++;
	if (out->values_n == 0)
		return;
	out->flags |= CAPACITY_VALUES;
	qsort(out->values, out->values_n, sizeof(*out->values), amount_order);
}

void asks_read(struct arena *arena, struct option_entry *o)
{
	const struct tree *asks = jsontree_get(jsontree_get(o->tree, "capacity"), "requests");

	if (asks->n == 0)
		return;
	o->asks = arena_array(arena, asks->n, sizeof(*o->asks));
	TREE_EACH(ask, asks)
	if (quantity_parse(ask->text.at, ask->text.bytes, &o->asks[o->asks_n].amount) == 0)
		o->asks[o->asks_n++].name = ask->key;
}

static const struct capacity_ask *ask_find(const struct option_entry *o, struct text name)
{
	for (size_t i = 0; i < o->asks_n; i++)
		if (text_equal(o->asks[i].name, name))
			return &o->asks[i];
	return NULL;
}

bool capacity_takes(const struct device_entry *e, size_t capacity, const struct option_entry *o,
                    device_amount *out)
{
	const struct capacity_policy *p = &e->policies[capacity];
	const nano_t value = e->facts.capacities[capacity].value.nano;
	const struct capacity_ask *ask = ask_find(o, e->capacities[capacity]);
	nano_t amount = ask ? ask->amount : p->flags & CAPACITY_DEFAULT ? p->preset : value;

	if (ask && p->flags & CAPACITY_LEAST) {
		if (amount < p->least)
			amount = p->least;
		if (p->flags & CAPACITY_STEP && p->step > 0) {
			nano_t rest = (amount - p->least) % p->step;

			amount += rest > 0 ? p->step - rest : 0;
		}
	}
	if (ask && p->flags & CAPACITY_VALUES) {
		uint32_t i = 0;

		while (i < p->values_n && p->values[i] < amount)
			i++;
		if (i == p->values_n)
			return false;
		amount = p->values[i];
	}
	if (p->flags & CAPACITY_MOST && amount > p->most)
		return false;
	*out = amount;
	return amount <= value;
}

/* Devices that are not shared are compared the same way. */
bool capacities_allow(const struct device_entry *e, const struct option_entry *o)
{
	size_t found = 0;

	if (o->asks_n == 0 && !e->facts.allow_multiple_allocations)
		return true;
	for (size_t i = 0; i < e->facts.capacities_n; i++) {
		const bool asked = ask_find(o, e->capacities[i]) != NULL;
		device_amount amount;

		found += asked;
		if ((asked || e->facts.allow_multiple_allocations) && !capacity_takes(e, i, o, &amount))
			return false;
	}
	return found == o->asks_n;
}

static bool in_bounds(nano_t amount)
{
	return amount >= 0 && amount <= NANO_MAX;
}

bool capacities_in_bounds(const struct device_entry *e)
{
	bool good = true;

	for (size_t i = 0; i < e->facts.capacities_n; i++) {
		const struct capacity_policy *p = &e->policies[i];

		good = good && in_bounds(e->facts.capacities[i].value.nano) && in_bounds(p->preset) &&
		       in_bounds(p->least) && in_bounds(p->most) && in_bounds(p->step);
		for (uint32_t k = 0; k < p->values_n; k++)
			good = good && in_bounds(p->values[k]);
	}
	return good;
}
