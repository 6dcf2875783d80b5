/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/shapes/shapes.h"

#include "frontend/devices/devices.h"
#include "frontend/devices/live.h"
#include "frontend/model/base/body.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/nodes/images.h"
#include "frontend/model/shapes/shape_draft.h"
#include "frontend/model/pods/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* Of one pod: items of all sections but its amounts.  The core evaluates all of them for each node,
 * and any user who may create pods writes them. */
#define RULES_MAX 4096

#define IDLE_PART 4u     /* of the table, up to which idle shapes are kept */
#define IDLE_BYTES 4096u /* of one that is kept, with its texts */

bool shape_equal(const void *item, const void *key)
{
	const struct shape_entry *e = item;
	const struct body *body = key;

	return e->bytes == body->bytes && memcmp(e->body, body->at, e->bytes) == 0;
}

void shape_free(struct shape_entry *e)
{
	free(e->body);
}

static void ask_for_image(void *context, enum number_of of, uint32_t number)
{
	const struct model *m = context;

	if (of == NUMBER_IMAGE && !m->outside)
		image_ask(context, number);
}

static uint64_t memory_of(const struct shape_entry *e)
{
	return sizeof(*e) + e->bytes;
}

/* Its memory, too, for which no namespace paid. */
static void shape_charge(struct model *m, struct shape_entry *e, uint32_t namespace)
{
	e->namespace = namespace;
	if (namespace == ID_NONE)
		return;
	share_charge(m, SHARE_SHAPES, namespace, 1);
	if (e->terms > 0)
		share_charge(m, SHARE_TERMS, namespace, e->terms);
	memory_pay_back(m, ID_NONE, memory_of(e));
	memory_pay(m, namespace, memory_of(e));
}

static void shape_discharge(struct model *m, struct shape_entry *e)
{
	const uint32_t namespace = e->namespace;

	e->namespace = ID_NONE;
	if (namespace == ID_NONE)
		return;
	memory_pay_back(m, namespace, memory_of(e));
	memory_pay(m, ID_NONE, memory_of(e));
	if (e->terms > 0)
		share_return(m, SHARE_TERMS, namespace, e->terms);
	share_return(m, SHARE_SHAPES, namespace, 1);
}

/* NULL, or the limit that another shape of so many terms would exceed. */
static const char *limit_met(struct model *m, const struct shape_payer *payer, uint32_t terms)
{
	if (payer->namespace == ID_NONE)
		return NULL;
	if (terms > 0 && (!payer->bound || payer->shares_terms) &&
	    !share_admits(m, SHARE_TERMS, payer->namespace, terms))
		return TERMS_LIMIT;
	return payer->bound || share_admits(m, SHARE_SHAPES, payer->namespace, 1) ? NULL
	                                                                          : "--max-shapes";
}

/* The shape with m->body.  A new one takes over the numbers of the draft, which are released
 * otherwise. */
static int shape_enter(struct draft *d, uint32_t *shape)
{
	struct model *m = d->m;
	uint32_t hash = (uint32_t)siphash(m->hash_key, m->body.at, m->body.bytes), terms;
	struct shape_entry *e;

	assert(!m->body.too_long && m->body.bytes >= sizeof(struct event_shape));
	*shape = store_find(&m->shapes, hash, &m->body);
	if (*shape != SLOT_NONE) {
		e = shape_at(m, *shape);
		if (e->entry.refs == 0)
			shape_charge(m, e, d->payer.namespace);
		shape_hold(m, *shape);
		draft_release(d);
		return 0;
	}
	terms = draft_terms(d);
	d->flag = limit_met(m, &d->payer, terms);
	if (!d->flag && store_add(&m->shapes, hash, shape) < 0)
		d->flag = "--max-shapes";
	if (d->flag)
		return -ENOSPC;
	e = shape_at(m, *shape);
	e->terms = terms;
	m->terms += terms;
	e->bytes = (uint32_t)m->body.bytes;
	memory_pay(m, ID_NONE, memory_of(e));
	shape_charge(m, e, d->payer.namespace);
	e->entry.refs = 1;
	e->body = body_copy(&m->body);
	store_mark_dirty(&m->shapes, *shape);
	shape_visit(e->body, ask_for_image, m);
	return 0;
}

/* The shape of the draft, if it was built without an error. */
static int draft_done(struct draft *d, int rc, uint32_t *shape, struct shape_trouble *trouble)
{
	if (rc == 0)
		rc = draft_write(d);
	if (rc == 0)
		rc = shape_enter(d, shape);
	if (rc < 0)
		draft_release(d);
	memory_payer(d->m, ID_NONE);
	*trouble = (struct shape_trouble){ d->flag, d->fault };
	return rc;
}

/* The request is in the record: it is not zero, and each pod has one of `pods`. */
static bool is_asked(const struct effective *effective, uint32_t resource)
{
	return effective->amount[resource] != 0 && resource != RESOURCE_PODS;
}

/* No node has it by a device plugin, so devices have to serve it everywhere. */
static bool devices_serve(const struct model *m, struct text resource)
{
	const uint32_t id = resource_find(m, resource);

	return id >= RESOURCES_MAX && devices_back(m->devices, resource);
}

/* -ENOSPC */
static int draft_amounts(struct draft *d, const struct pod_object *pod,
                         const struct effective *effective, bool devices)
{
	for (uint32_t i = 0; i < pod->resources.n; i++) {
		struct amount *a;

		if (!is_asked(effective, i))
			continue;
		if (devices && devices_serve(d->m, pod->resources.at[i]))
			continue;
		a = draft_more(d, SECTION_AMOUNTS);
		a->value = effective->amount[i];
		if (resource_take(d->m, pod->resources.at[i], &a->resource, &d->flag) < 0)
			return -ENOSPC;
		if (devices && devices_back(d->m->devices, pod->resources.at[i]))
			a->flags = AMOUNT_DEVICES;
		draft_keep(d, SECTION_AMOUNTS);
	}
	if (draft_count(d, SECTION_AMOUNTS) > 0)
		qsort(d->sections[SECTION_AMOUNTS].at, d->sections[SECTION_AMOUNTS].n,
		      sizeof(struct amount), amount_order);
	return 0;
}

/* Which requests devices may serve on nodes without the resource. */
static void draft_groups(struct draft *d, uint32_t pod)
{
	struct amount *a = (void *)d->sections[SECTION_AMOUNTS].at;

	for (uint32_t i = 0; i < draft_count(d, SECTION_AMOUNTS); i++) {
		const uint32_t group =
			live_group(d->m->live, pod, text_of(resource_text(d->m, a[i].resource)));

		a[i].flags = group > 0 ? AMOUNT_DEVICES | group << AMOUNT_GROUP_SHIFT : 0;
	}
}

/* Rules that are the pod's own. */
static int draft_pod(struct draft *d, const struct shape_wish *w)
{
	int rc = draft_amounts(d, w->pod, w->effective, w->devices > 0);
	size_t rules = 0;

	if (rc == 0 && w->scope == SHAPE_WHOLE)
		rc = draft_node_rules(d, w->pod);
	if (rc == 0 && w->scope == SHAPE_WHOLE)
		draft_images(d, w->pod);
	if (rc == 0 && w->scope >= SHAPE_BEARING)
		rc = draft_pod_terms(d, w->pod, w->scope == SHAPE_WHOLE);
	if (rc == 0 && w->scope != SHAPE_REQUESTS)
		draft_ports(d, w->pod);
	if (rc == 0 && w->scope == SHAPE_WHOLE)
		rc = draft_spreads(d, w->pod);
	if (w->pod->needs_restart_all && w->scope == SHAPE_WHOLE)
		d->head.flags |= SHAPE_NEEDS_RESTART_ALL;
	for (enum section s = SECTION_AMOUNTS + 1; s < SECTIONS; s++)
		rules += d->sections[s].n;
	return rc == 0 && rules > RULES_MAX ? draft_fails(d, SHAPE_TOO_LONG) : rc;
}

int shape_take(struct model *m, const struct shape_wish *w, uint32_t *shape,
               struct shape_trouble *trouble)
{
	struct draft d = {
		.m = m,
		.arena = &m->arena,
		.payer = w->payer,
	};
	int rc;

	memory_payer(m, w->payer.namespace);
	d.head.namespace = ID_NONE;
	d.head.devices = w->devices;
	d.head.scored_cpu_milli = w->effective->scored_cpu_milli;
	d.head.scored_memory_bytes = w->effective->scored_memory_bytes;
	d.head.placed_cpu_milli = w->effective->placed_cpu_milli - w->effective->scored_cpu_milli;
	d.head.placed_memory_bytes =
		w->effective->placed_memory_bytes - w->effective->scored_memory_bytes;
	rc = draft_pod(&d, w);
	if (rc == 0 && w->policy)
		draft_policy(&d, w->policy);
	if (rc == 0 && w->spread)
		draft_default_spreads(&d, w->spread);
	draft_set_namespace(&d, w->namespace);
	return draft_done(&d, rc, shape, trouble);
}

int shape_remake(struct model *m, uint32_t from, const struct shape_change *c, uint32_t *shape,
                 struct shape_trouble *trouble)
{
	struct draft d = {
		.m = m,
		.arena = &m->scratch,
		.payer = c->payer,
	};
	int rc = 0;

	assert(shape_at(m, from)->entry.refs > 0);
	memory_payer(m, c->payer.namespace);
	draft_load(&d, shape_at(m, from)->body);
	if (c->devices_change) {
		d.head.devices = c->devices;
		draft_groups(&d, c->pod);
	}
	draft_strip_default_spreads(&d);
	draft_strip_policy(&d);
	if (c->storage) {
		draft_strip_storage(&d);
		rc = draft_storage(&d, c->storage);
	}
	if (rc == 0 && c->policy)
		draft_policy(&d, c->policy);
	if (rc == 0 && c->spread)
		draft_default_spreads(&d, c->spread);
	draft_set_namespace(&d, c->namespace);
	return draft_done(&d, rc, shape, trouble);
}

int shape_rename_resources(struct model *m, uint32_t from, uint32_t *shape,
                           struct shape_trouble *trouble)
{
	struct draft d = {
		.m = m,
		.arena = &m->scratch,
		.payer = { shape_at(m, from)->namespace, true, false },
	};

	draft_load(&d, shape_at(m, from)->body);
	amounts_refresh(m, (void *)d.sections[SECTION_AMOUNTS].at, draft_count(&d, SECTION_AMOUNTS));
	return draft_done(&d, 0, shape, trouble);
}

int shape_strip(struct model *m, uint32_t from, const struct shape_payer *payer, uint32_t *shape,
                struct shape_trouble *trouble)
{
	static const enum section kept[] = { SECTION_AMOUNTS, SECTION_PORTS, SECTION_ATTACHMENTS,
		                                 SECTION_EXCLUSIVES };
	struct draft d = { .m = m, .arena = &m->scratch, .payer = *payer };
	uint32_t keep = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		keep |= 1u << kept[i];
	draft_load(&d, shape_at(m, from)->body);
	for (enum section s = 0; s < SECTIONS; s++)
		if (!(keep >> s & 1))
			draft_cut(&d, s, draft_count(&d, s));
	draft_set_namespace(&d, ID_NONE);
	return draft_done(&d, 0, shape, trouble);
}

uint32_t shape_take_empty(struct model *m)
{
	static const struct pod_object nothing;
	static const struct effective none;
	const struct shape_wish w = { .payer = { ID_NONE, true, false },
		                          .pod = &nothing,
		                          .effective = &none,
		                          .scope = SHAPE_REQUESTS,
		                          .namespace = ID_NONE };
	struct shape_trouble trouble = { 0 };
	uint32_t shape;
	int rc = shape_take(m, &w, &shape, &trouble);

	assert(rc == 0);
	(void)rc;
	return shape;
}

void shape_hold(struct model *m, uint32_t shape)
{
	struct shape_entry *e = shape_at(m, shape);

	assert(e->entry.slot.live);
	if (e->entry.refs++ > 0)
		return;
	list_remove(&m->shapes.dead, &m->shapes.pool, shape);
	list_remove(&m->shapes_idle, &m->shapes.pool, shape);
}

struct size {
	const struct model *m;
	size_t bytes;
};

static const struct intern *intern_for(const struct model *m, enum number_of of)
{
	return of == NUMBER_KEY ? &m->keys : of == NUMBER_VALUE ? &m->values : &m->images;
}

static void text_add(void *context, enum number_of of, uint32_t number)
{
	struct size *size = context;

	if (of != NUMBER_RESOURCE) /* nodes have those */
		size->bytes += strlen(intern_text(intern_for(size->m, of), number));
}

static void part_add(void *context, enum number_of of, uint32_t number)
{
	struct size *size = context;
	const struct intern *in = intern_for(size->m, of);

	if (of != NUMBER_RESOURCE)
		size->bytes += intern_part_bytes(in, number);
}

uint64_t shape_part_bytes(const struct model *m, uint32_t shape)
{
	const struct shape_entry *e = shape_at(m, shape);
	struct size size = { m, memory_of(e) };

	shape_visit(e->body, part_add, &size);
	return size.bytes / e->entry.refs;
}

/* A quota of pods no longer bounds what is stored of the shape, nor the rules of it that the core
 * evaluates for each node that changes. */
static bool is_small(const struct model *m, const struct shape_entry *e)
{
	struct size size = { m, e->bytes };

	if (e->bytes <= IDLE_BYTES)
		shape_visit(e->body, text_add, &size);
	return size.bytes <= IDLE_BYTES;
}

/* Rules between pods would make classes of pods and views of others costlier as long as the shape
 * is there; an absent resource takes a name, of which tenants have few, and volumes and devices
 * are rarely those of the next pod. */
static bool may_idle(const struct event_shape *e)
{
	const struct amount *amounts = (const void *)(e + 1);

	for (uint32_t i = 0; i < e->amounts_n; i++)
		if (amounts[i].resource >= RESOURCES_MAX)
			return false;
	return e->devices == 0 && e->pod_terms_n == 0 && e->spreads_n == 0 && e->policies_n == 0 &&
	       e->volume_rules_n == 0 && e->attachments_n == 0 && e->exclusives_n == 0;
}

void shape_give(struct model *m, uint32_t shape)
{
	struct shape_entry *e = shape_at(m, shape);

	assert(e->entry.refs > 0);
	if (--e->entry.refs > 0)
		return;
	shape_discharge(m, e);
	if (store_retire(&m->shapes, shape)) {
		shape_bury(m, shape);
	} else if (may_idle((const void *)e->body) && is_small(m, e)) {
		list_remove(&m->shapes.dead, &m->shapes.pool, shape);
		list_push(&m->shapes_idle, &m->shapes.pool, shape);
	}
}

static void idle_end(struct model *m)
{
	const uint32_t shape = m->shapes_idle.first;

	list_remove(&m->shapes_idle, &m->shapes.pool, shape);
	list_push(&m->shapes.dead, &m->shapes.pool, shape);
}

void shapes_idle_limit(struct model *m)
{
	uint32_t used = m->shapes.pool.used;

	for (; used > m->limits.shapes / IDLE_PART && m->shapes_idle.first != SLOT_NONE; used--)
		idle_end(m);
}

void shapes_idle_end(struct model *m)
{
	while (m->shapes_idle.first != SLOT_NONE)
		idle_end(m);
}

void shape_bury(struct model *m, uint32_t shape)
{
	struct shape_entry *e = shape_at(m, shape);

	assert(e->entry.refs == 0 && shape != m->shape_empty);
	assert(e->namespace == ID_NONE && e->entry.slot.list != SHAPES_IDLE);
	memory_pay_back(m, ID_NONE, memory_of(e));
	m->terms -= e->terms;
	shape_visit(e->body, shape_give_number, m);
	shape_free(e);
	store_remove(&m->shapes, shape);
}

/* True if a request of the shape is this amount of that resource. */
static bool asks_amount(const struct model *m, const struct event_shape *e, struct text resource,
                        int64_t value)
{
	const struct amount *amounts = (const void *)(e + 1);
	uint32_t id = resource_find(m, resource);
	bool found = false;

	for (uint32_t i = 0; i < e->amounts_n && id != ID_NONE; i++)
		found = found || (amounts[i].resource == id && amounts[i].value == value);
	return found;
}

bool shape_asks(struct model *m, uint32_t shape, const struct pod_object *pod,
                const struct effective *effective)
{
	const struct event_shape *e = (const void *)shape_at(m, shape)->body;
	uint32_t n = 0;

	for (uint32_t i = 0; i < pod->resources.n; i++) {
		if (!is_asked(effective, i))
			continue;
		if (!asks_amount(m, e, pod->resources.at[i], effective->amount[i]))
			return false;
		n++;
	}
	return n == e->amounts_n;
}
