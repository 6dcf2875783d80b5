/* SPDX-License-Identifier: Apache-2.0 */
/* What others read of the model. */
#include "frontend/model/model_impl.h"
#include "frontend/trace/latency.h"
#include "frontend/volume/volume.h"

#include <string.h>

static const char *next_text(const char *text)
{
	return text + strlen(text) + 1;
}

static const char *gang_short_name(const struct gang_entry *e)
{
	return strchr(e->name, '/') + 1;
}

static void view_of(const struct model *m, uint32_t pod, struct pod_view *out)
{
	const struct pod_entry *e = pod_at(m, pod);
	bool is_member;

	out->namespace = e->texts;
	out->name = next_text(out->namespace);
	out->uid = next_text(out->name);
	out->resource_version = next_text(out->uid);
	out->refusal = next_text(out->resource_version);
	out->refusal_is_kube = false;
	out->condition_status = next_text(out->refusal);
	out->condition_reason = next_text(out->condition_status);
	out->condition_message = next_text(out->condition_reason);
	out->scheduler_name = intern_text(&m->schedulers, e->scheduler);
	out->node = e->node != ID_NONE ? node_at(m, e->node)->name : "";
	is_member = e->gang != ID_NONE && !gang_is_void(m, e->gang);
	out->gang = is_member ? gang_short_name(gang_at(m, e->gang)) : "";
	if (!*out->refusal && e->storage_refusal) {
		out->refusal = e->storage_refusal;
		out->refusal_is_kube = e->storage_refused == VOLUME_REFUSED_KUBE;
	}
	if (!*out->refusal && e->policy_refusal)
		out->refusal = e->policy_refusal;
	out->id = pod;
	out->generation = e->slot.generation;
	out->gang_id = is_member ? e->gang : ID_NONE;
	out->ours = e->flags & POD_OURS;
	out->gated = e->flags & POD_GATED;
	out->deleting = e->flags & POD_DELETING;
	out->priority = e->priority;
	out->created_ns = e->created_ns;
}

bool model_pod(const struct model *m, pod_id id, uint32_t generation, struct pod_view *out)
{
	const struct pod_entry *e = id < m->pods.n ? pod_at(m, id) : NULL;

	if (!e || !e->slot.live || e->slot.generation != generation)
		return false;
	view_of(m, id, out);
	return true;
}

bool model_last_put(const struct model *m, struct pod_put *out)
{
	const struct pod_entry *e = m->last_put != SLOT_NONE ? pod_at(m, m->last_put) : NULL;

	if (!e || !e->slot.live)
		return false;
	*out = (struct pod_put){
		.id = m->last_put,
		.generation = e->slot.generation,
		.node = e->node,
		.ours = e->flags & POD_OURS,
		.gated = e->flags & POD_GATED,
	};
	return true;
}

bool model_pod_by_name(const struct model *m, const char *namespace, const char *name,
                       struct pod_view *out)
{
	uint32_t pod = pod_find(m, text_of(namespace), text_of(name));

	if (pod == SLOT_NONE)
		return false;
	view_of(m, pod, out);
	return true;
}

const char *model_node(const struct model *m, node_id id, uint32_t generation)
{
	const struct node_entry *e = id < m->nodes.n ? node_at(m, id) : NULL;

	if (!e || !e->slot.live || e->slot.generation != generation || !e->body)
		return NULL;
	return e->name;
}

static void gang_view_counts(const struct model *m, const struct gang_entry *e,
                             struct gang_counts *out)
{
	*out = (struct gang_counts){ 0 };
	if (e->beside != SLOT_NONE)
		*out = ((const struct beside_entry *)pool_at(&m->besides, e->beside))->counts;
	out->n += e->members;
	out->ours += e->members;
	out->bound += e->bound;
	for (int i = 0; i < POD_PHASES; i++)
		out->phases[i] += e->phases[i];
}

node_id model_node_id(const struct model *m, struct text name)
{
	uint32_t node = node_find(m, name);

	return node != SLOT_NONE && node_at(m, node)->body ? node : ID_NONE;
}

/* Of the resource of a dialect, or -1. */
static int index_of(const struct model *m, uint32_t dialect)
{
	for (size_t i = 0; i < m->resources_n; i++)
		if (m->roles[i] == ROLE_GANGS && m->which[i] == dialect)
			return (int)i;
	return -1;
}

static const struct resource *resource_of(const struct model *m, uint32_t dialect)
{
	int index = index_of(m, dialect);

	return index >= 0 ? &m->resources[index] : NULL;
}

static void view_object(const struct model *m, const struct gang_form *form, struct gang_view *out)
{
	static const struct group_object none;
	const struct group_object *o = form->object ? form->object : &none;
	const struct event_gang *body = (const void *)o->body;

	out->quorum = body ? body->quorum : 0;
	out->timeout_ns = body ? body->timeout_ns : 0;
	out->min_resources = body ? (const void *)(body + 1) : NULL;
	out->min_resources_n = body ? body->amounts_n : 0;
	out->uid = o->texts ? o->texts : "";
	out->resource_version = o->texts ? next_text(o->texts) : "";
	out->writes = o->texts ? dialects[form->dialect]->status : NULL;
	out->resource = out->writes ? resource_of(m, form->dialect) : NULL;
	out->status = o->status;
}

bool model_gang(const struct model *m, gang_id id, uint32_t generation, struct gang_view *out)
{
	const struct gang_entry *e = id < m->gangs.n ? gang_at(m, id) : NULL;
	struct gang_form form;

	if (!e || !e->slot.live || e->slot.generation != generation)
		return false;
	out->namespace = next_text(e->name);
	out->name = gang_short_name(e);
	gang_form(m, id, &form);
	out->dialect_index = form.dialect;
	out->dialect = dialects[form.dialect]->name;
	out->texts = dialects[form.dialect]->texts;
	out->refusal = form.refusal ? form.refusal : "";
	out->missing = !form.object;
	view_object(m, &form, out);
	out->owners = e->owners ? e->owners : "";
	out->scheduler_name = "";
	if (e->members_first != SLOT_NONE)
		out->scheduler_name = intern_text(&m->schedulers, pod_at(m, e->members_first)->scheduler);
	gang_view_counts(m, e, &out->pods);
	return true;
}

uint32_t model_gang_terms(const struct model *m, gang_id id)
{
	struct gang_form form;

	gang_form(m, id, &form);
	return gang_terms(m, &form);
}

bool model_gang_object(const struct model *m, gang_id id, uint32_t generation,
                       struct gang_object *out)
{
	const struct gang_entry *e = id < m->gangs.n ? gang_at(m, id) : NULL;
	struct gang_form form;

	if (!e || !e->slot.live || e->slot.generation != generation)
		return false;
	gang_form(m, id, &form);
	if (!form.object || !form.object->texts || form.object->hollow)
		return false;
	*out = (struct gang_object){
		.index = index_of(m, form.dialect),
		.namespace = next_text(e->name),
		.name = gang_short_name(e),
		.uid = form.object->texts,
		.resource_version = next_text(form.object->texts),
	};
	return out->index >= 0;
}

void model_gang_pending(const struct model *m, gang_id id,
                        void (*each)(void *context, const struct pod_view *pod), void *context)
{
	struct pod_view view;

	if (id >= m->gangs.n || !gang_at(m, id)->slot.live)
		return;
	for (uint32_t p = gang_at(m, id)->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_next) {
		if (!(pod_at(m, p)->flags & POD_OURS) || pod_at(m, p)->node != ID_NONE)
			continue;
		view_of(m, p, &view);
		each(context, &view);
	}
}

void model_begun_pending(const struct model *m,
                         void (*each)(void *context, const struct pod_view *pod), void *context)
{
	for (gang_id id = 0; id < m->gangs.n; id++) {
		struct gang_counts counts;

		if (!gang_at(m, id)->slot.live)
			continue;
		gang_view_counts(m, gang_at(m, id), &counts);
		if (counts.bound > 0)
			model_gang_pending(m, id, each, context);
	}
}

void model_each_pod(const struct model *m, void (*each)(void *context, const struct pod_view *pod),
                    void *context)
{
	struct pod_view view;

	for (uint32_t p = 0; p < m->pods.n; p++) {
		if (!pod_at(m, p)->slot.live)
			continue;
		view_of(m, p, &view);
		each(context, &view);
	}
}

const char *model_name(const struct model *m, name_id id)
{
	const char *text;

	if (id < m->limits.resources)
		text = intern_text(&m->columns, id);
	else
		text = intern_text(&m->taints, id - m->limits.resources);
	return text ? text : "";
}

static const char *text_or_none(const struct intern *in, uint32_t number)
{
	const char *text = intern_text(in, number);

	return text ? text : "";
}

const char *model_key_text(const struct model *m, uint32_t key)
{
	return text_or_none(&m->keys, key);
}

const char *model_value_text(const struct model *m, uint32_t value)
{
	return text_or_none(&m->values, value);
}

void model_counts(const struct model *m, struct model_counts *out)
{
	*out = m->counts;
	out->node_slots = m->nodes.n;
	out->shape_slots = m->shapes.n;
	out->shapes = m->shapes.used;
	out->pods_beside = m->others.used;
	out->referred = referred_count(m);
	out->names = m->columns.pool.used + m->taints.pool.used;
}
