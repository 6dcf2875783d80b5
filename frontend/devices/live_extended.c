/* SPDX-License-Identifier: Apache-2.0 */
/* Extended resources that devices serve (KEP 5004): the claim that a pod would get on a node, and
 * the claims that were made for pods. */
#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANNOTATION "resource.kubernetes.io/extended-resource-claim"
#define KEPT_BYTES 256u                /* blocks of what each waiting pod keeps */
#define GROUPS_KEY "muster.dev/groups" /* beside requests, of a claim that is not written yet */

/* Claims. */

static struct live_owned *owned_at(struct live *l, uint32_t number)
{
	l->owned = must_reach(l->owned, &l->owned_n, number, 64, sizeof(*l->owned));
	return &l->owned[number];
}

static void owner_note(struct live *l, uint32_t number)
{
	if (owned_at(l, number)->pod > 0)
		live_pod_note(l, l->owned[number].pod - 1);
}

/* Of a pod: its namespace and uid.  A claim of another namespace can name any owner. */
static uint32_t owner_number(struct live *l, struct text namespace, struct text uid)
{
	struct bytes key = { 0 };
	uint32_t number;

	bytes_add(&key, namespace.at, namespace.bytes);
	bytes_put(&key, "/");
	bytes_add(&key, uid.at, uid.bytes);
	number = live_number(&l->owners, (struct text){ key.at, key.n });
	bytes_free(&key);
	return number;
}

/* Tenants can write the annotation, too: what another consumer uses is not taken from it. */
static bool is_owners_alone(const struct live_claim *c)
{
	for (size_t i = 0; i < c->reserved_n; i++)
		if (strcmp(c->reserved[i], c->owner) != 0)
			return false;
	return c->owner[0];
}

void live_claim_own(struct live *l, struct live_claim *c, const struct tree *meta)
{
	const struct tree *mark = jsontree_get(jsontree_get(meta, "annotations"), ANNOTATION);
	struct live_owned *o;

	c->extended = is_owners_alone(c) && text_is(jsontree_text(mark), "true");
	if (!c->extended)
		return;
	c->owned = owner_number(l, text_of(c->namespace), text_of(c->owner));
	o = owned_at(l, c->owned);
	o->claims = must_grow(o->claims, (o->n + 1) * sizeof(*o->claims));
	o->claims[o->n++] = c->number;
	owner_note(l, c->owned);
}

void live_claim_disown(struct live *l, const struct live_claim *c)
{
	struct live_owned *o;
	size_t i = 0;

	if (!c->extended)
		return;
	o = owned_at(l, c->owned);
	while (o->claims[i] != c->number)
		i++;
	memmove(&o->claims[i], &o->claims[i + 1], (--o->n - i) * sizeof(*o->claims));
	owner_note(l, c->owned);
	intern_give(&l->owners, c->owned);
}

/* Pods. */

void live_claims_alone(struct live *l)
{
	l->alone = true;
}

/* Those of domains: other resources are no extended ones. */
static void requests_keep(struct arena *arena, const struct container_entry *from,
                          struct container_entry *to)
{
	to->requests = arena_array(arena, from->requests_n, sizeof(*to->requests));
	to->requests_n = 0;
	for (size_t i = 0; i < from->requests_n; i++) {
		const struct resource_request *r = &from->requests[i];

		if (r->value <= 0 || !memchr(r->name.at, '/', r->name.bytes))
			continue;
		to->requests[to->requests_n] = *r;
		to->requests[to->requests_n++].name = text_of(arena_copy(arena, r->name));
	}
}

static bool asks_extended(const struct pod_entry *p)
{
	for (size_t i = 0; i < p->containers_n; i++)
		for (size_t k = 0; k < p->containers[i].requests_n; k++)
			if (p->containers[i].requests[k].value > 0 &&
			    memchr(p->containers[i].requests[k].name.at, '/',
			           p->containers[i].requests[k].name.bytes))
				return true;
	return false;
}

/* What is needed of it, in an arena of its own. */
static struct pod_entry *entry_keep(struct arena *arena, const struct pod_entry *from)
{
	struct pod_entry *to = arena_array(arena, 1, sizeof(*to));

	to->containers = arena_array(arena, from->containers_n, sizeof(*to->containers));
	to->containers_n = from->containers_n;
	for (size_t i = 0; i < from->containers_n; i++) {
		to->containers[i] = from->containers[i];
		to->containers[i].name = text_of(arena_copy(arena, from->containers[i].name));
		requests_keep(arena, &from->containers[i], &to->containers[i]);
	}
	return to;
}

static const struct pod_entry *entry_read(struct live *l, const struct tree *t)
{
	const struct arena keep = l->store->arena;
	const struct pod_entry *p;
	char error[256];

	l->store->arena = l->scratch;
	p = pod_read(l->store, t, error, sizeof(error));
	l->scratch = l->store->arena;
	l->store->arena = keep;
	return p;
}

bool live_extended_set(struct live *l, uint32_t pod, const struct tree *t)
{
	const struct tree *status =
		jsontree_get(jsontree_get(t, "status"), "extendedResourceClaimStatus");
	const struct tree *uid = jsontree_get(jsontree_get(t, "metadata"), "uid");
	const struct pod_entry *from = entry_read(l, t);
	struct live_extended *e;

	live_extended_drop(l, &l->pods[pod]);
	if (l->alone || !from || !asks_extended(from))
		return false;
	e = l->pods[pod].extended = must_alloc(sizeof(*e));
	e->arena.block_bytes = e->claim_arena.block_bytes = KEPT_BYTES;
	e->entry = entry_keep(&e->arena, from);
	e->told = arena_copy(&e->arena, jsontree_text(jsontree_get(status, "resourceClaimName")));
	e->owner = owner_number(l, live_namespace(jsontree_get(t, "metadata")), jsontree_text(uid));
	e->version = l->classes_version - 1;
	owned_at(l, e->owner)->pod = pod + 1;
	return true;
}

void live_extended_free(struct live_pod *p)
{
	struct live_extended *e = p->extended;

	if (!e)
		return;
	free(e->made.spec);
	arena_free(&e->claim_arena);
	arena_free(&e->arena);
	free(e);
	p->extended = NULL;
}

void live_extended_drop(struct live *l, struct live_pod *p)
{
	if (!p->extended)
		return;
	l->owned[p->extended->owner].pod = 0;
	intern_give(&l->owners, p->extended->owner);
	live_extended_free(p);
}

/* The claim. */

static uint32_t group_of(const struct live_extended *e, struct text resource)
{
	for (uint32_t i = 0; i < e->resources_n; i++)
		if (text_equal(e->resources[i], resource))
			return i + 1;
	return 0;
}

static void groups_set(struct live_extended *e)
{
	for (size_t i = 0; i < e->claim->requests_n; i++) {
		const struct text resource = e->claim->requests[i].resource;

		if (group_of(e, resource) > 0)
			continue;
		if (e->resources_n == DEVICE_GROUPS_MAX) {
			e->too_many = true;
			return;
		}
		e->resources[e->resources_n++] = resource;
	}
}

static void put_request(struct bytes *out, const struct request_entry *r)
{
	char count[32];

	snprintf(count, sizeof(count), "%lld", (long long)r->options->count);
	bytes_put(out, "{\"name\":");
	bytes_quote(out, r->name.at, r->name.bytes);
	bytes_put(out, ",\"exactly\":{\"deviceClassName\":");
	bytes_quote(out, r->options->class.at, r->options->class.bytes);
	bytes_put(out, ",\"allocationMode\":\"ExactCount\",\"count\":");
	bytes_put(out, count);
	bytes_put(out, "}}");
}

static bool is_served(const struct live_extended *e, const struct request_entry *r, uint32_t served)
{
	return served >> group_of(e, r->resource) & 1;
}

static void put_spec(struct bytes *out, const struct live_extended *e, uint32_t served, bool groups)
{
	const char *before = "";
	char group[16];

	bytes_put(out, "{\"requests\":[");
	for (size_t i = 0; i < e->claim->requests_n; i++) {
		if (is_served(e, &e->claim->requests[i], served))
			continue;
		bytes_put(out, before);
		put_request(out, &e->claim->requests[i]);
		before = ",";
	}
	bytes_put(out, groups ? "],\"" GROUPS_KEY "\":[" : "]");
	for (size_t i = 0; groups && i < e->claim->requests_n; i++) {
		snprintf(group, sizeof(group), "%s%u", i > 0 ? "," : "",
		         group_of(e, e->claim->requests[i].resource));
		bytes_put(out, group);
	}
	bytes_put(out, groups ? "]}" : "}");
}

/* By the classes that there are now. */
static void made_renew(struct live *l, struct live_pod *p)
{
	static const struct tree nothing;
	const struct node_entry node = { .allocatable = &nothing };
	struct live_extended *e = p->extended;
	struct bytes spec = { 0 };

	if (e->version == l->classes_version)
		return;
	e->version = l->classes_version;
	free(e->made.spec);
	e->made = (struct live_claim){ .number = LIVE_NONE,
		                           .namespace = p->namespace,
		                           .name = (char *)(uintptr_t)LIVE_EXTENDED_NAME };
	e->resources_n = 0;
	e->too_many = false;
	arena_reset(&e->claim_arena);
	e->claim = extended_claim(l->store, e->entry, &node, &e->claim_arena);
	if (e->claim->requests_n == 0) {
		arena_free(&e->claim_arena);
		return;
	}
	groups_set(e);
	if (e->too_many)
		return;
	put_spec(&spec, e, 0, true);
	bytes_add(&spec, "", 1);
	e->made.spec = spec.at;
}

const struct live_claim *live_extended_made(struct live *l, struct live_pod *p)
{
	if (!p->extended)
		return NULL;
	made_renew(l, p);
	return p->extended->made.spec ? &p->extended->made : NULL;
}

/* The pod, if it would get a claim on a node that has none of the resources; else NULL. */
static struct live_pod *made_for(struct live *l, uint32_t pod)
{
	struct live_pod *p = live_pod_of(l, pod);

	return p && p->name && live_extended_made(l, p) ? p : NULL;
}

uint32_t live_group_of_request(const struct tree *spec, uint32_t request)
{
	const struct tree *groups = jsontree_get(spec, GROUPS_KEY);
	int64_t group = 0;

	TREE_EACH(one, groups)
	if (request-- == 0) {
		group = strtol(one->text.at, NULL, 10);
		break;
	}
	return group > 0 && group <= DEVICE_GROUPS_MAX ? (uint32_t)group : 0;
}

uint32_t live_group(struct live *l, uint32_t pod, struct text resource)
{
	struct live_pod *p = made_for(l, pod);

	return p ? group_of(p->extended, resource) : 0;
}

const char *live_resource(struct live *l, uint32_t pod, uint32_t group)
{
	struct live_pod *p = made_for(l, pod);

	return p && group <= p->extended->resources_n ? p->extended->resources[group - 1].at : NULL;
}

bool live_extended_spec(struct live *l, uint32_t pod, uint32_t served, struct bytes *spec)
{
	struct live_pod *p = made_for(l, pod);
	bool any = false;

	for (size_t i = 0; p && i < p->extended->claim->requests_n; i++)
		any = any || !is_served(p->extended, &p->extended->claim->requests[i], served);
	if (any) {
		put_spec(spec, p->extended, served, false);
		bytes_add(spec, "", 1);
	}
	return any;
}

static int by_text(const void *a, const void *b)
{
	return text_order(*(const struct text *)a, *(const struct text *)b);
}

void live_extended_mappings(struct live *l, uint32_t pod, uint32_t served, struct bytes *list)
{
	struct live_pod *p = made_for(l, pod);
	struct text sorted[DEVICE_GROUPS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; p && i < p->extended->resources_n; i++)
		if (!(served >> (i + 1) & 1))
			sorted[n++] = p->extended->resources[i];
	qsort(sorted, n, sizeof(sorted[0]), by_text);
	for (uint32_t i = 0; i < n; i++)
		extended_mappings(p->extended->entry, sorted[i], list);
	bytes_add(list, "", 1);
}

const char *live_extended_told(const struct live *l, uint32_t pod)
{
	const struct live_pod *p = live_pod_of(l, pod);

	return p && p->extended ? p->extended->told : "";
}

bool live_wants(struct live *l, uint32_t pod)
{
	struct live_pod *p = live_pod_of(l, pod);

	return p && p->name &&
	       (p->refs_n > 0 || live_extended_n(l, p) > 0 || live_extended_made(l, p) ||
	        live_extended_told(l, pod)[0]);
}

void live_extended_cut(const struct live_question *q, uint32_t claim, uint32_t served,
                       struct claim_entry *out, uint32_t *to, struct arena *arena)
{
	const struct claim_entry *all = &q->claims[claim];

	*out = *all;
	out->requests = arena_array(arena, all->requests_n, sizeof(*out->requests));
	out->requests_n = 0;
	for (uint32_t i = 0; i < all->requests_n; i++) {
		to[i] = (uint32_t)out->requests_n;
		if (!(served & ~1u & 1u << live_group_of_request(all->spec, i)))
			out->requests[out->requests_n++] = all->requests[i];
	}
}

/* The claim of its extended resources: one that is allocated, else the one that would be made. */
static const struct live_claim *extended_of(struct live *l, struct live_pod *p, bool allocated)
{
	for (uint32_t i = 0; i < live_extended_n(l, p); i++) {
		const struct live_claim *c = live_extended_at(l, p, i);

		if (c->allocation && !c->deleting)
			return allocated ? c : NULL;
	}
	return allocated ? NULL : live_extended_made(l, p);
}

uint32_t live_claims_of(struct live *l, struct live_pod *p, bool allocated,
                        const struct live_claim **out)
{
	const struct live_claim *extended = extended_of(l, p, allocated);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->refs_n && n < POD_CLAIMS_MAX; i++) {
		const struct live_claim *c = live_claim_at(l, p->refs[i].claim);
		bool known = !c || p->refs[i].not_needed || (c->allocation != NULL) != allocated;

		for (uint32_t k = 0; !known && k < n; k++)
			known = out[k] == c;
		if (!known)
			out[n++] = c;
	}
	if (extended)
		out[n++] = extended;
	return n;
}
