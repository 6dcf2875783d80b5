/* SPDX-License-Identifier: Apache-2.0 */
/* Why a waiting pod finds no devices, in numbers of all nodes. */
#include "frontend/devices/live_impl.h"

#include <stdlib.h>
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
	a->devices[i]++;
	a->n += i == a->n;
	a->most = a->devices[i] > a->most ? a->devices[i] : a->most;
}

static bool is_taken(const struct live *l, const struct live_node *n, uint32_t device,
                     const struct option_entry *o)
{
	device_amount more[NODE_CAPACITIES_MAX] = { 0 };

	if (o->admin)
		return false;
	return live_is_shared(n, device) ? !live_share_fits(l, n, device, o, more)
	                                 : l->taken[n->keys[device]] > 0;
}

/* A device of which a share is in use takes no counters more. */
static bool is_shut(const struct live *l, const struct live_node *n, uint32_t device,
                    const struct option_entry *o)
{
	return !o->admin && l->taken[n->keys[device]] == 0 && !live_counters_suffice(l, n, &device, 1);
}

static void node_count(struct live *l, struct live_question *q, const struct live_node *n,
                       uint32_t option, struct text attribute, struct live_supply *out)
{
	const size_t words = DEVICE_WORDS(n->devices_n);
	uint64_t *sets = must_array(2 * q->options_n * words + 1, sizeof(*sets));
	const uint64_t *match = sets + 2 * option * words, *clean = match + words;
	const struct option_entry *o = q->options[option].entry;
	const uint32_t before = out->free;
	struct alike alike = { 0 };

	live_sets(l, q, n, sets);
	for (uint32_t d = 0; d < n->devices_n; d++) {
		if (!device_in(match, d))
			continue;
		out->match++;
		if (is_taken(l, n, d, o)) {
			out->taken++;
		} else if (!device_in(clean, d)) {
			out->tainted++;
		} else if (is_shut(l, n, d, o)) {
			out->shut++;
		} else {
			out->free++;
			if (attribute.bytes > 0)
				alike_count(&alike, attribute_value(l->store, n->devices[d], attribute));
		}
	}
	out->nodes += out->free > before;
	out->most = out->free - before > out->most ? out->free - before : out->most;
	out->alike = alike.most > out->alike ? alike.most : out->alike;
	free(sets);
}

/* The attribute of the first matchAttribute that restricts the option. */
static struct text attribute_of(const struct live_question *q, const struct live_option *o)
{
	TREE_EACH(constraint, jsontree_get(q->claims[o->claim].spec, "constraints"))
	{
		const struct tree *match = jsontree_get(constraint, "matchAttribute");

		if (match->kind == TREE_TEXT &&
		    option_is_listed(jsontree_get(constraint, "requests"),
		                     &q->claims[o->claim].requests[o->request], o->entry))
			return jsontree_text(match);
	}
	return (struct text){ 0 };
}

uint32_t live_asks(const struct live *l, uint32_t pod)
{
	const struct live_pod *p = live_pod_of(l, pod);

	return p && p->name ? p->question : LIVE_NONE;
}

bool live_supply(struct live *l, uint32_t pod, uint32_t i, struct live_supply *out)
{
	const uint32_t question = live_asks(l, pod);
	struct live_question *q = question != LIVE_NONE ? &l->questions[question] : NULL;
	const struct request_entry *r;
	const struct live_option *o;
	struct text attribute;

	if (!q || q->refusal || q->error || i >= q->options_n)
		return false;
	o = &q->options[i];
	r = &q->claims[o->claim].requests[o->request];
	attribute = attribute_of(q, o);
	*out = (struct live_supply){ .question = question,
		                         .count = o->entry->all ? 0 : (uint32_t)o->entry->count };
	for (size_t n = 0; n < l->nodes_n; n++)
		if (l->nodes[n] && !l->nodes[n]->relaid)
			node_count(l, q, l->nodes[n], i, attribute, out);
	arena_reset(&l->scratch);
	out->class = arena_copy(&l->scratch, o->entry->class);
	out->attribute = attribute.bytes > 0 ? arena_copy(&l->scratch, attribute) : NULL;
	out->request = arena_printf(&l->scratch, "%.*s%s%.*s", (int)r->name.bytes, r->name.at,
	                            r->prioritized ? "/" : "",
	                            r->prioritized ? (int)o->entry->name.bytes : 0, o->entry->name.at);
	return true;
}
