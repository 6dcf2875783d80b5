/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of devices with allowMultipleAllocations: what allocations, and those that are being
 * written, take of each capacity. */
#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 1536
#define DRAWS_MAX 64u /* capacities of a result; a device has 32 at most */

/* The sum is exact: each amount is below NANO_MAX, and 2^32 of them have no overflow. */
static uint32_t draw_number(struct live *l, uint32_t device, struct text capacity)
{
	char key[KEY_BYTES];
	uint32_t number;

	snprintf(key, sizeof(key), "%s/%.*s", intern_text(&l->device_names, device),
	         (int)capacity.bytes, capacity.at);
	number = live_number(&l->draw_names, text_of(key));
	l->drawn = must_reach(l->drawn, &l->drawn_n, number, 256, sizeof(*l->drawn));
	return number;
}

static void draw_touch(struct live *l, const struct live_draw *d)
{
	live_device_touch(l, d->device);
}

static void draw_add(struct live *l, const struct live_draw *d, int sign)
{
	l->drawn[d->number].sum += sign * d->amount;
}

void live_draws_touch(struct live *l, const struct live_draws *d)
{
	for (size_t i = 0; i < d->n; i++)
		draw_touch(l, &d->at[i]);
}

static void draw_take(struct live *l, struct live_draws *to, uint32_t device, uint32_t claim,
                      struct text capacity, nano_t amount)
{
	to->at = must_grow(to->at, (to->n + 1) * sizeof(*to->at));
	to->at[to->n] = (struct live_draw){ .number = draw_number(l, device, capacity),
		                                .device = device,
		                                .claim = claim,
		                                .amount = amount };
	draw_add(l, &to->at[to->n++], 1);
}

void live_draws_read(struct live *l, const struct tree *result, uint32_t device, uint32_t claim,
                     struct live_draws *to)
{
	uint32_t left = DRAWS_MAX;

	TREE_EACH(one, jsontree_get(result, "consumedCapacity"))
	{
		nano_t amount;

		if (left-- == 0)
			return;
		if (quantity_parse(one->text.at, one->text.bytes, &amount) == 0 && amount > 0)
			draw_take(l, to, device, claim, one->key, amount);
	}
}

void live_draws_give(struct live *l, struct live_draws *d)
{
	for (size_t i = 0; i < d->n; i++) {
		draw_add(l, &d->at[i], -1);
		intern_give(&l->draw_names, d->at[i].number);
	}
	free(d->at);
	*d = (struct live_draws){ 0 };
}

void live_draws_hold(struct live *l, const struct live_draws *d, int sign)
{
	for (size_t i = 0; i < d->n; i++)
		l->drawn[d->at[i].number].held += sign * d->at[i].amount;
	live_draws_touch(l, d);
}

/* The claim has its allocation: that counts, and not what was being written. */
void live_draws_landed(struct live *l, uint32_t claim, struct live_draws *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		if (d->at[i].claim != claim) {
			d->at[kept++] = d->at[i];
			continue;
		}
		draw_add(l, &d->at[i], -1);
		draw_touch(l, &d->at[i]);
		intern_give(&l->draw_names, d->at[i].number);
	}
	d->n = kept;
}

/* Nodes. */

void live_shares_give(struct live *l, struct live_node *n)
{
	for (uint32_t i = 0; i < n->capacities_n; i++) {
		live_conflicts_freed(l, &n->keys[n->capacities[i].device], 1);
		l->drawn[n->capacities[i].number].known = false;
		intern_give(&l->draw_names, n->capacities[i].number);
	}
	n->capacities_n = 0;
	n->shared = NULL;
}

static bool is_usable(const struct device_entry *e)
{
	return e->facts.allow_multiple_allocations && !live_is_several(e->slice) &&
	       capacities_in_bounds(e);
}

static void capacities_lay(struct live *l, struct live_node *n, uint32_t device)
{
	const struct device_entry *e = n->devices[device];

	for (uint32_t i = 0; i < e->facts.capacities_n; i++) {
		const uint32_t number = draw_number(l, n->keys[device], e->capacities[i]);

		l->drawn[number].known = true;
		l->drawn[number].value = e->facts.capacities[i].value.nano;
		n->capacities[n->capacities_n++] = (struct live_capacity){ device, i, number };
	}
}

void live_shares_lay(struct live *l, struct live_node *n)
{
	size_t capacities = 0, shared = 0;

	for (uint32_t i = 0; i < n->devices_n; i++) {
		if (!is_usable(n->devices[i]))
			continue;
		shared++;
		capacities += n->devices[i]->facts.capacities_n;
	}
	if (shared == 0 || capacities > NODE_CAPACITIES_MAX ||
	    sizeof(struct record) + live_node_space(n, capacities, true) > RECORD_BYTES_MAX)
		return;
	n->shared = arena_array(&n->arena, DEVICE_WORDS(n->devices_n), sizeof(*n->shared));
	n->capacities = arena_array(&n->arena, capacities + 1, sizeof(*n->capacities));
	for (uint32_t i = 0; i < n->devices_n; i++) {
		if (!is_usable(n->devices[i]))
			continue;
		device_add(n->shared, i);
		capacities_lay(l, n, i);
	}
}

/* Of a device that is had as a whole more is consumed than there is of anything. */
void live_shares_write(const struct live *l, const struct live_node *n, struct node_capacity *out)
{
	for (uint32_t i = 0; i < n->capacities_n; i++) {
		const struct live_capacity *c = &n->capacities[i];
		const struct live_drawn *d = &l->drawn[c->number];
		device_amount consumed = d->sum - d->held;

		consumed = consumed < NANO_MAX ? consumed : NANO_MAX;
		if (l->whole[n->keys[c->device]] > 0)
			consumed = NANO_MAX + 1;
		out[i] = (struct node_capacity){ .device = c->device };
		device_amount_split(d->value, &out[i].value_low, &out[i].value_high);
		device_amount_split(consumed, &out[i].consumed_low, &out[i].consumed_high);
	}
}

/* Of a device that does not match it is 0. */
void live_amounts_write(const struct live_question *q, const struct live_node *n,
                        struct match_amount *out)
{
	for (uint32_t i = 0; i < q->options_n; i++)
		for (uint32_t k = 0; k < n->capacities_n; k++, out++) {
			const struct live_capacity *c = &n->capacities[k];
			device_amount amount = 0;

			if (!capacity_takes(n->devices[c->device], c->index, q->options[i].entry, &amount))
				amount = 0;
			device_amount_split(amount, &out->low, &out->high);
		}
}

/* Choices. */

bool live_is_shared(const struct live_node *n, uint32_t device)
{
	return n->shared && device_in(n->shared, device);
}

bool live_share_fits(const struct live *l, const struct live_node *n, uint32_t device,
                     const struct option_entry *o, device_amount *more)
{
	if (l->whole[n->keys[device]] > 0)
		return false;
	for (uint32_t i = 0; i < n->capacities_n; i++) {
		const struct live_capacity *c = &n->capacities[i];
		const struct live_drawn *d = &l->drawn[c->number];
		device_amount amount;

		if (c->device != device)
			continue;
		if (!capacity_takes(n->devices[device], c->index, o, &amount))
			return false;
		more[i] += amount;
		if (d->sum + more[i] > d->value)
			return false;
	}
	return true;
}

void live_share_take(struct live *l, const struct live_node *n, uint32_t device,
                     const struct option_entry *o, uint32_t claim, struct live_draws *to)
{
	const struct device_entry *e = n->devices[device];
	device_amount amount;

	for (size_t i = 0; i < e->facts.capacities_n; i++)
		if (capacity_takes(e, i, o, &amount) && amount > 0)
			draw_take(l, to, n->keys[device], claim, e->capacities[i], amount);
	live_draws_touch(l, to);
}

device_amount *live_share_amounts(const struct device_entry *e, const struct option_entry *o,
                                  struct arena *arena)
{
	device_amount *amounts = arena_array(arena, e->facts.capacities_n + 1, sizeof(*amounts));

	for (size_t i = 0; i < e->facts.capacities_n; i++)
		capacity_takes(e, i, o, &amounts[i]);
	return amounts;
}
