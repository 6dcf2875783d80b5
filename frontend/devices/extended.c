/* SPDX-License-Identifier: Apache-2.0 */
/* The claim of a pod's extended resources that devices serve (KEP 5004): made for each node, of
 * those that its device plugin does not serve (dynamicresources: createRequestsAndMappings). */
#include "frontend/devices/devices_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
	struct devices *d;
	const struct pod_entry *pod;
	const struct node_entry *node;
	struct arena *arena;
	struct claim_entry *claim;
	size_t cap;
};

/* The class that serves the resource on this node; NULL: none does. */
static const struct class_entry *serving(const struct making *m, struct text resource)
{
	const struct class_entry *class = class_of_resource(m->d, resource);
	const struct tree *plugin = jsontree_find(m->node->allocatable, resource);
	nano_t amount = 0;

	if (class == NULL || plugin->kind == TREE_NULL)
		return class;
	return quantity_parse(plugin->text.at, plugin->text.bytes, &amount) == 0 && amount > 0 ? NULL
	                                                                                       : class;
}

static void add_request(struct making *m, size_t container, uint32_t rank,
                        const struct class_entry *class, struct text resource, int64_t count)
{
	static const struct tree nothing;
	struct request_entry *q;

	m->claim->requests = arena_grow(m->arena, m->claim->requests, m->claim->requests_n, &m->cap,
	                                sizeof(*m->claim->requests));
	q = &m->claim->requests[m->claim->requests_n++];
	*q = (struct request_entry){
		.name = text_of(arena_printf(m->arena, "container-%zu-request-%u", container, rank)),
		.options = arena_alloc(m->arena, sizeof(*q->options)),
		.options_n = 1,
		.resource = resource,
	};
	*q->options = (struct option_entry){ .class = class->name, .tree = &nothing, .count = count };
}

static int64_t asked_of(const struct container_entry *c, struct text resource, uint32_t *rank)
{
	for (size_t i = 0; i < c->requests_n; i++)
		if (text_equal(c->requests[i].name, resource)) {
			*rank = c->requests[i].rank;
			return c->requests[i].value;
		}
	return 0;
}

static bool is_long_lived(const struct container_entry *c)
{
	return !c->init || c->sidecar;
}

/* What the container needs of the resource beyond the devices of long-lived containers that start
 * later. */
static int64_t rest_of(const struct pod_entry *p, size_t container, struct text resource,
                       uint32_t *rank)
{
	int64_t rest = asked_of(&p->containers[container], resource, rank);
	uint32_t unused;

	for (size_t k = container + 1; k < p->containers_n; k++)
		if (is_long_lived(&p->containers[k]))
			rest -= asked_of(&p->containers[k], resource, &unused);
	return rest;
}

/* The init container with the largest rest: it has one request for all of them.  0: none has. */
static int64_t largest_rest(const struct pod_entry *p, struct text resource, size_t *container,
                            uint32_t *rank)
{
	int64_t most = 0;

	for (size_t i = 0; i < p->containers_n; i++) {
		uint32_t of = 0; /* only without a rest, which gcc 14 does not see */
		const int64_t rest = is_long_lived(&p->containers[i]) ? 0 : rest_of(p, i, resource, &of);

		if (rest <= most)
			continue;
		most = rest;
		*container = i;
		*rank = of;
	}
	return most;
}

static void add_rest(struct making *m, const struct class_entry *class, struct text resource)
{
	size_t container = 0;
	uint32_t rank = 0;
	const int64_t most = largest_rest(m->pod, resource, &container, &rank);

	if (most > 0)
		add_request(m, container, rank, class, resource, most);
}

/* True if an earlier container or request names the resource. */
static bool was_before(const struct pod_entry *p, size_t container, size_t request)
{
	struct text name = p->containers[container].requests[request].name;
	uint32_t unused;

	for (size_t i = 0; i < container; i++)
		if (asked_of(&p->containers[i], name, &unused) > 0)
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct text *x = &((const struct request_entry *)a)->name,
					  *y = &((const struct request_entry *)b)->name;

	return strcmp(x->at, y->at);
}

struct claim_entry *extended_claim(struct devices *d, const struct pod_entry *pod,
                                   const struct node_entry *node, struct arena *arena)
{
	static const struct tree nothing;
	struct making m = { d, pod, node, arena, arena_alloc(arena, sizeof(struct claim_entry)), 0 };

	*m.claim = (struct claim_entry){
		.namespace = pod->namespace,
		.name = text_of("<extended-resources>"),
		.extended = true,
		.spec = &nothing,
		.statuses = &nothing,
	};
	for (size_t i = 0; i < pod->containers_n; i++) {
		const struct container_entry *c = &pod->containers[i];

		for (size_t k = 0; k < c->requests_n; k++) {
			const struct class_entry *class =
				c->requests[k].value > 0 ? serving(&m, c->requests[k].name) : NULL;

			if (class == NULL)
				continue;
			if (is_long_lived(c))
				add_request(&m, i, c->requests[k].rank, class, c->requests[k].name,
				            c->requests[k].value);
			if (!was_before(pod, i, k))
				add_rest(&m, class, c->requests[k].name);
		}
	}
	if (m.claim->requests_n > 0)
		qsort(m.claim->requests, m.claim->requests_n, sizeof(*m.claim->requests), by_name);
	return m.claim;
}

static void put_mapping(struct bytes *list, const struct container_entry *c, struct text resource,
                        size_t container, uint32_t rank)
{
	char name[64];

	snprintf(name, sizeof(name), "container-%zu-request-%u", container, rank);
	bytes_put(list, list->n > 0 ? ",{\"containerName\":" : "{\"containerName\":");
	bytes_quote(list, c->name.at, c->name.bytes);
	bytes_put(list, ",\"resourceName\":");
	bytes_quote(list, resource.at, resource.bytes);
	bytes_put(list, ",\"requestName\":\"");
	bytes_put(list, name);
	bytes_put(list, "\"}");
}

/* First what later containers have, as far as it is needed, then the request for the rest. */
static void put_reused(const struct pod_entry *p, size_t container, struct text resource,
                       struct bytes *list)
{
	const struct container_entry *c = &p->containers[container];
	uint32_t rank = 0;
	int64_t left = asked_of(c, resource, &rank);
	size_t of = container;

	for (size_t k = container + 1; k < p->containers_n && left > 0; k++) {
		const int64_t has =
			is_long_lived(&p->containers[k]) ? asked_of(&p->containers[k], resource, &rank) : 0;

		if (has > 0)
			put_mapping(list, c, resource, k, rank);
		left -= has;
	}
	if (left > 0 && largest_rest(p, resource, &of, &rank) > 0)
		put_mapping(list, c, resource, of, rank);
}

void extended_mappings(const struct pod_entry *p, struct text resource, struct bytes *list)
{
	uint32_t rank;

	for (size_t i = 0; i < p->containers_n; i++)
		if (is_long_lived(&p->containers[i]) && asked_of(&p->containers[i], resource, &rank) > 0)
			put_mapping(list, &p->containers[i], resource, i, rank);
	for (size_t i = 0; i < p->containers_n; i++)
		if (!is_long_lived(&p->containers[i]))
			put_reused(p, i, resource, list);
}
