/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/devices/needs.h"

#include "frontend/devices/asked.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(t) (int)(t).bytes, (t).at

/* A free device of the request. */
struct spare {
	struct text node; /* bytes 0: of several */
	uint32_t value;   /* of the attribute */
};

struct need {
	struct devices *d;
	const struct claim_entry *claim;
	const struct option_entry *option;
	struct text attribute; /* that all have to have in common; bytes 0: none */
	struct devices_need *out;
	struct spare *spares;
	size_t spares_n, spares_cap;
	struct taken *taken; /* by device_entry.index */
};

/* A device of the request that is taken. */
struct taken {
	uint32_t rank;                     /* from 1, in order of slices; 0: it is another device */
	const struct claim_entry *counted; /* the last that it was counted for */
};

/* What a claim has of the devices that are taken. */
struct holding {
	struct taken *taken;
	const struct claim_entry *claim;
	const struct device_entry *first; /* by rank */
	uint32_t devices;
};

static const char *id_of(struct devices *d, const struct device_entry *e)
{
	return device_id(d, e->slice->driver, e->slice->pool, e->name);
}

/* Selectors of the class, then of the request, as kube-scheduler evaluates them. */
static bool is_selected(struct need *n, const struct class_entry *class, struct device_entry *e)
{
	const struct tree *lists[] = { jsontree_get(class->spec, "selectors"),
		                           jsontree_get(n->option->tree, "selectors") };

	for (int i = 0; i < 2; i++)
		TREE_EACH(selector, lists[i])
		{
			const char *error;
			const int result = expression_result(
				n->d, jsontree_text(jsontree_get(jsontree_get(selector, "cel"), "expression")), e,
				&error);

			if (result == SELECTOR_ERROR && n->out->failed == NULL) {
				n->out->failed = id_of(n->d, e);
				n->out->error = arena_copy(&n->d->arena, text_of(error));
			}
			if (result != SELECTOR_TRUE)
				return false;
		}
	return true;
}

static bool has_room(const struct need *n, const struct device_entry *e)
{
	device_amount amount;

	if (n->option->admin)
		return true;
	if (e->taken > 0 || !e->facts.allow_multiple_allocations)
		return e->taken + e->shares == 0;
	for (size_t i = 0; i < e->facts.capacities_n; i++)
		if (!capacity_takes(e, i, n->option, &amount) ||
		    e->consumed[i] + amount > e->facts.capacities[i].value.nano)
			return false;
	return true;
}

static bool counters_suffice(const struct slice_pool *p, const struct device_entry *e)
{
	for (size_t u = 0; u < e->uses_n; u++)
		for (size_t i = 0; i < p->n; i++)
			for (size_t k = 0;
			     p->slices[i]->generation == p->generation && k < p->slices[i]->counters_n; k++) {
				const struct device_counter *c = &p->slices[i]->counters[k];

				if (text_equal(c->set, e->uses[u].set) && text_equal(c->name, e->uses[u].name) &&
				    counter_drawn(p, c) + e->uses[u].value > c->value)
					return false;
			}
	return true;
}

static void spare_add(struct need *n, const struct device_entry *e)
{
	const struct text own = jsontree_text(jsontree_get(e->tree, "nodeName"));

	n->spares =
		arena_grow(&n->d->arena, n->spares, n->spares_n, &n->spares_cap, sizeof(*n->spares));
	n->spares[n->spares_n++] = (struct spare){
		.node = own.bytes > 0 ? own : e->slice->node,
		.value = n->attribute.bytes > 0 ? attribute_value(n->d, e, n->attribute) : 0,
	};
}

static void device_count(struct need *n, const struct slice_pool *p, const struct device_entry *e)
{
	struct device_lack *l = &n->out->lack;

	l->match++;
	if (!has_room(n, e)) {
		n->taken[e->index].rank = ++l->taken;
	} else if (!tolerated(e, jsontree_get(n->option->tree, "tolerations"))) {
		l->tainted++;
	} else if (!n->option->admin && !counters_suffice(p, e)) {
		l->shut++;
	} else {
		l->free++;
		spare_add(n, e);
	}
}

static int spare_order(const void *a, const void *b)
{
	const struct spare *x = a, *y = b;
	const int order = text_order(x->node, y->node);

	return order != 0 ? order : (x->value > y->value) - (x->value < y->value);
}

/* The most on one node, and of these with one value.  Each device of several nodes counts by
 * itself: which nodes reach it is not asked. */
static void spares_count(struct need *n)
{
	struct device_lack *l = &n->out->lack;
	uint32_t here = 0, alike = 0;

	if (n->spares_n > 1)
		qsort(n->spares, n->spares_n, sizeof(*n->spares), spare_order);
	for (size_t i = 0; i < n->spares_n; i++) {
		const struct spare *s = &n->spares[i], *before = i > 0 ? s - 1 : NULL;
		const bool same = before != NULL && text_equal(s->node, before->node);

		here = same ? here + 1 : 1;
		alike = same && s->value == before->value ? alike + 1 : 1;
		l->nodes += !same;
		l->most = here > l->most ? here : l->most;
		if (n->attribute.bytes > 0 && s->value > 0 && alike > l->alike)
			l->alike = alike;
	}
}

static int claim_age(const void *a, const void *b)
{
	const struct claim_entry *x = *(const struct claim_entry *const *)a,
							 *y = *(const struct claim_entry *const *)b;
	int order = text_order(x->created, y->created);

	if (order == 0)
		order = text_order(x->namespace, y->namespace);
	return order != 0 ? order : text_order(x->name, y->name);
}

static const char *pod_of(struct devices *d, const struct claim_entry *c, size_t consumer)
{
	const struct tree *at = c->consumers->first;

	for (size_t i = 0; i < d->pods_n; i++)
		if (text_equal(d->pods[i]->uid, c->reserved[consumer]))
			return arena_printf(&d->arena, "%.*s/%.*s", TEXT(d->pods[i]->namespace),
			                    TEXT(d->pods[i]->name));
	for (size_t i = 0; at != NULL && i < consumer; i++)
		at = at->next;
	return at != NULL ? arena_printf(&d->arena, "%.*s/%.*s", TEXT(c->namespace),
	                                 TEXT(jsontree_text(jsontree_get(at, "name"))))
	                  : NULL;
}

static void holding_add(void *context, struct device_entry *e, const struct tree *result)
{
	struct holding *h = context;
	struct taken *t = &h->taken[e->index];

	if (t->rank == 0 || t->counted == h->claim)
		return;
	t->counted = h->claim;
	h->devices++;
	if (h->first == NULL || t->rank < h->taken[h->first->index].rank)
		h->first = e;
}

static void holder_tell(struct need *n, const struct claim_entry *c)
{
	struct devices_need *out = n->out;
	struct holding held = { .taken = n->taken, .claim = c };
	struct devices_holder *h;

	claim_devices_each(n->d, c, holding_add, &held);
	if (held.devices == 0 || out->holders_all++ >= NEED_HOLDERS_MAX)
		return;
	h = &out->holders[out->holders_n++];
	*h = (struct devices_holder){ .claim = claim_id(n->d, c),
		                          .devices = held.devices,
		                          .device = id_of(n->d, held.first) };
	h->pods = (uint32_t)c->reserved_n;
	if (h->pods > 0)
		h->pod = pod_of(n->d, c, 0);
}

static void holders_tell(struct need *n)
{
	const struct devices *d = n->d;
	const struct claim_entry **claims = must_array(d->claims_n + 1, sizeof(*claims));
	size_t allocated = 0;

	for (size_t i = 0; i < d->claims_n; i++)
		if (d->claims[i]->allocation != NULL)
			claims[allocated++] = d->claims[i];
	if (allocated > 1)
		qsort(claims, allocated, sizeof(*claims), claim_age);
	for (size_t i = 0; i < allocated; i++)
		holder_tell(n, claims[i]);
	free(claims);
}

static void need_count(struct need *n, const struct class_entry *class)
{
	struct devices *d = n->d;

	n->taken = must_array((size_t)d->devices_n + 1, sizeof(*n->taken));
	for (size_t i = 0; i < d->slices_n;) {
		const struct slice_pool p = slice_pool_at(d, i);

		for (size_t end = i + p.n; i < end; i++) {
			struct slice *s = d->slices[i];

			if (s->generation != p.generation || p.found != p.wanted)
				continue;
			for (size_t k = 0; k < s->devices_n; k++)
				if (!s->devices[k].unusable && capacities_allow(&s->devices[k], n->option) &&
				    is_selected(n, class, &s->devices[k]))
					device_count(n, &p, &s->devices[k]);
		}
	}
	spares_count(n);
	if (n->out->lack.taken > 0)
		holders_tell(n);
	free(n->taken);
}

/* The first attribute that devices of the option have to have in common. */
static struct text attribute_of(const struct claim_entry *c, const struct request_entry *r,
                                const struct option_entry *o)
{
	TREE_EACH(constraint, jsontree_get(c->spec, "constraints"))
	{
		const struct text name = jsontree_text(jsontree_get(constraint, "matchAttribute"));

		if (name.bytes > 0 && option_is_listed(jsontree_get(constraint, "requests"), r, o))
			return name;
	}
	return text_of("");
}

static bool option_need(struct devices *d, const struct claim_entry *c,
                        const struct request_entry *r, const struct option_entry *o,
                        struct devices_need *out)
{
	const struct class_entry *class = class_find(d, o->class);
	struct need n = {
		.d = d, .claim = c, .option = o, .attribute = attribute_of(c, r, o), .out = out
	};

	if (class == NULL)
		return false;
	*out = (struct devices_need){
		.claim = claim_id(d, c),
		.names = arena_printf(&d->arena, "%.*s%s%.*s %.*s %.*s ", TEXT(r->name),
		                      r->prioritized ? "/" : "", TEXT(o->name), TEXT(o->class),
		                      TEXT(n.attribute.bytes > 0 ? n.attribute : text_of("-"))),
		.lack = { .members = 1, .count = o->all ? 0 : (uint32_t)o->count },
	};
	need_count(&n, class);
	return true;
}

static const char *allocated_of(struct devices *d, const struct claim_entry *c)
{
	const char *text = "";

	TREE_EACH(result, jsontree_get(jsontree_get(c->allocation, "devices"), "results"))
	text = arena_printf(&d->arena, "%s%s%s", text, text[0] != '\0' ? ", " : "",
	                    device_id(d, jsontree_text(jsontree_get(result, "driver")),
	                              jsontree_text(jsontree_get(result, "pool")),
	                              jsontree_text(jsontree_get(result, "device"))));
	return text;
}

static size_t options_n(const struct claim_entry *c)
{
	size_t n = 1;

	for (size_t i = 0; i < c->requests_n; i++)
		n += c->requests[i].options_n;
	return n;
}

static size_t claim_needs(struct devices *d, const struct claim_entry *c, struct devices_need *out)
{
	size_t n = 0;

	if (c->allocation != NULL) {
		out[0] = (struct devices_need){ .claim = claim_id(d, c), .allocated = allocated_of(d, c) };
		return 1;
	}
	for (size_t i = 0; i < c->requests_n; i++)
		for (size_t k = 0; k < c->requests[i].options_n; k++)
			n += option_need(d, c, &c->requests[i], &c->requests[i].options[k], &out[n]);
	return n;
}

struct devices_need *devices_needs(struct devices *d, uint32_t pod, size_t *n)
{
	const struct pod_entry *p = d->pods[pod - 1];
	struct devices_need *all = NULL;

	devices_prepare(d);
	*n = 0;
	for (size_t i = 0; i < p->refs_n; i++) {
		const struct claim_entry *c =
			p->refs[i].not_needed ? NULL : claim_find(d, p->namespace, p->refs[i].name);

		if (c == NULL)
			continue;
		all = must_grow(all, (*n + options_n(c)) * sizeof(*all));
		*n += claim_needs(d, c, &all[*n]);
	}
	return all;
}

struct listed {
	struct text node;
	size_t devices; /* of slices of this node alone, of the newest generation */
};

static int node_order(const void *a, const void *b)
{
	return text_order(((const struct listed *)a)->node, ((const struct listed *)b)->node);
}

/* Nodes with more devices than muster uses; returns how many texts there are then. */
static size_t excess_nodes(struct devices *d, struct listed *at, size_t listed_n, const char **all,
                           size_t n)
{
	if (listed_n > 1)
		qsort(at, listed_n, sizeof(*at), node_order);
	for (size_t i = 0, end; i < listed_n; i = end) {
		size_t sum = 0;

		for (end = i; end < listed_n && text_equal(at[end].node, at[i].node); end++)
			sum += at[end].devices;
		if (sum > NODE_DEVICES_MAX)
			all[n++] = arena_printf(
				&d->arena, "node %.*s: %zu of its %zu devices, those beyond the first %u by pool",
				TEXT(at[i].node), sum - NODE_DEVICES_MAX, sum, NODE_DEVICES_MAX);
	}
	return n;
}

const char **devices_unused(struct devices *d, size_t *n)
{
	const char **all = must_array(2 * d->slices_n + 1, sizeof(*all));
	struct listed *listed = must_array(d->slices_n + 1, sizeof(*listed));
	size_t listed_n = 0;

	devices_prepare(d);
	*n = 0;
	for (size_t i = 0; i < d->slices_n;) {
		const struct slice_pool p = slice_pool_at(d, i);
		const struct slice *s = p.slices[0];

		if (p.found != p.wanted)
			all[(*n)++] = arena_printf(
				&d->arena,
				"pool %.*s of driver %.*s: %lld of the %lld ResourceSlices of its generation %lld "
				"exist",
				TEXT(s->pool), TEXT(s->driver), (long long)p.found, (long long)p.wanted,
				(long long)p.generation);
		for (size_t end = i + p.n; i < end; i++)
			if (p.found == p.wanted && d->slices[i]->generation == p.generation &&
			    d->slices[i]->node.bytes > 0)
				listed[listed_n++] = (struct listed){ d->slices[i]->node, d->slices[i]->devices_n };
	}
	*n = excess_nodes(d, listed, listed_n, all, *n);
	free(listed);
	return all;
}
