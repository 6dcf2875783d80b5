/* SPDX-License-Identifier: Apache-2.0 */
#include "core/devices/inventory_shares.h"

#include "core/devices/inventory_impl.h"

#include <string.h>

static const struct match *match_at(const struct node_devices *n, uint32_t question)
{
	return n && !n->counted && question < n->matches_n ? n->matches[question] : NULL;
}

/* Of the first option: those that selectors allow and that no taint bars. */
static uint64_t word_of(const struct match *m, const struct node_devices *n, uint32_t word)
{
	return m->sets[word] & m->sets[DEVICE_WORDS(n->devices_n) + word];
}

/* One request for a number of devices; several constraints are allowed. */
static bool is_plain(const struct question *q)
{
	return q->options_n == 1 && q->options->flags == 0 && q->options->count > 0 &&
	       q->options->count <= SHARE_GPUS_MAX;
}

/* The parts of a capacity, cut to a whole GPU. */
static uint32_t parts(device_amount part, device_amount value, bool up)
{
	if (value <= 0 || part >= value)
		return SHARE_WHOLE;
	if (part <= 0)
		return 0;
	/* Below value, so that 2^63 nanos times 1,000 stay far below 2^127. */
	return (uint32_t)((part * SHARE_WHOLE + (up ? value - 1 : 0)) / value);
}

/* By device: what is left of it. */
static void left_of_all(const struct inventory *v, const struct node_devices *n, uint16_t *left)
{
	const struct shared *s = n->shared;
	uint64_t space[NODE_WORDS];
	const uint64_t *used = used_now(v, n, space);

	for (uint32_t i = 0; i < n->devices_n; i++)
		left[i] = (s && device_in(s->set, i)) || !device_in(used, i) ? SHARE_WHOLE : 0;
	for (uint32_t i = 0; s && i < s->capacities_n; i++) {
		const struct node_capacity *c = &s->capacities[i];
		const device_amount value = device_amount_of(c->value_low, c->value_high);
		const uint32_t part = value > 0 ? parts(value - s->drawn[i], value, false) : SHARE_WHOLE;

		if (part < left[c->device])
			left[c->device] = (uint16_t)part;
	}
}

void inventory_shares(const struct inventory *v, node_id node, const uint32_t *questions,
                      uint32_t n, struct share_node *out)
{
	const struct node_devices *d = v->nodes[node];
	uint64_t any[NODE_WORDS] = { 0 };
	uint16_t left[NODE_DEVICES_MAX];

	if (!d || d->devices_n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct match *m = match_at(d, questions[i]);
		uint64_t some = 0;

		for (uint32_t word = 0; m && word < DEVICE_WORDS(d->devices_n); word++) {
			any[word] |= word_of(m, d, word);
			some |= word_of(m, d, word);
		}
		out->model |= (uint32_t)(some != 0) << i;
	}
	left_of_all(v, d, left);
	for (uint32_t i = 0; i < d->devices_n && out->gpus < SHARE_GPUS_MAX; i++)
		if (device_in(any, i) && left[i] > 0)
			out->free[out->gpus++] = left[i];
}

/* What a share takes of the device: of its scarcest capacity. */
static uint32_t share_of(const struct node_devices *n, const struct match *m, uint32_t device)
{
	const struct shared *s = n->shared;
	uint32_t most = 1;

	if (!s || !device_in(s->set, device))
		return SHARE_WHOLE;
	for (uint32_t i = 0; m->amounts && i < s->capacities_n; i++) {
		const struct node_capacity *c = &s->capacities[i];
		const device_amount value = device_amount_of(c->value_low, c->value_high);

		if (c->device == device && value > 0 && parts(m->amounts[i], value, true) > most)
			most = parts(m->amounts[i], value, true);
	}
	return most;
}

bool inventory_share_ask(const struct inventory *v, node_id node, uint32_t question,
                         struct gpu_ask *out)
{
	const struct node_devices *n = v->nodes[node];
	const struct match *m = match_at(n, question);
	const struct question *q = &v->questions[question];

	if (!m || !is_plain(q))
		return false;
	for (uint32_t word = 0; word < DEVICE_WORDS(n->devices_n); word++) {
		const uint64_t bits = word_of(m, n, word);

		if (bits == 0)
			continue;
		out->gpus = q->options->count;
		out->milli = share_of(n, m, word * 64 + (uint32_t)__builtin_ctzll(bits));
		return gpu_ask_valid(out);
	}
	return false;
}
