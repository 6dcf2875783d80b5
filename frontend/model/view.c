/* SPDX-License-Identifier: Apache-2.0 */
/* Views of the model for its users. */
#include "frontend/model/pods/memory.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/pods.h"
#include "frontend/trace/latency.h"
#include "frontend/volume/volume.h"

#include <assert.h>

static const char *gang_short_name(const struct gang_entry *e)
{
	return strchr(e->name, '/') + 1;
}

static void view_of(const struct model *m, uint32_t pod, struct pod_view *out)
{
	const struct pod_entry *e = pod_at(m, pod);
	bool is_member;

	assert(e->entry.slot.live && e->texts);
	out->namespace = e->texts;
	out->name = next_text(out->namespace);
	out->uid = next_text(out->name);
	out->resource_version = next_text(out->uid);
	out->refusal = next_text(out->resource_version);
	out->refusal_is_kube = e->refusal_is_kube;
	out->condition_status = next_text(out->refusal);
	out->condition_reason = next_text(out->condition_status);
	out->condition_message = next_text(out->condition_reason);
	out->nominated = next_text(out->condition_message);
	out->scheduler_name = intern_text(&m->schedulers, e->scheduler);
	out->node = e->node != ID_NONE ? node_at(m, e->node)->name : "";
	out->binding = e->binding != ID_NONE && e->node == ID_NONE ? node_at(m, e->binding)->name : "";
	out->phase = e->phase;
	is_member = e->gang != ID_NONE && !gang_is_void(m, e->gang);
	out->gang = is_member ? gang_short_name(gang_at(m, e->gang)) : "";
	if (!*out->refusal && pod_rare(e, POD_STORAGE_REFUSAL)) {
		out->refusal = pod_rare(e, POD_STORAGE_REFUSAL);
		out->refusal_is_kube = e->storage_refused == VOLUME_REFUSED_KUBE;
	}
	if (!*out->refusal && pod_rare(e, POD_POLICY_REFUSAL))
		out->refusal = pod_rare(e, POD_POLICY_REFUSAL);
	if (!*out->refusal && pod_rare(e, POD_LIMIT_REFUSAL))
		out->refusal = pod_rare(e, POD_LIMIT_REFUSAL);
	if (!*out->refusal && (pod_flags_of(m, e) & ~(uint32_t)e->flags))
		out->refusal = "its namespace is being deleted, so the API server takes no binding in it";
	out->id = pod;
	out->generation = e->entry.slot.generation;
	out->gang_id = is_member ? e->gang : ID_NONE;
	out->ours = e->flags & POD_OURS;
	out->gated = e->flags & POD_GATED;
	out->deleting = e->flags & POD_DELETING;
	out->priority = e->priority;
	out->created_ns = e->created_ns;
	out->promised_s = e->promised_s;
}

bool model_pod(const struct model *m, pod_id id, uint32_t generation, struct pod_view *out)
{
	const struct pod_entry *e = store_get(&m->pods, id, generation);

	if (!e)
		return false;
	view_of(m, id, out);
	return true;
}

bool model_pod_at(const struct model *m, pod_id id, struct pod_view *out)
{
	if (id >= m->pods.pool.n || !pod_at(m, id)->entry.slot.live)
		return false;
	view_of(m, id, out);
	return true;
}

uint32_t model_gangs_most(const struct model *m)
{
	return m->limits.gangs;
}

bool model_last_put(const struct model *m, struct pod_put *out)
{
	const struct pod_entry *e = m->last_put != SLOT_NONE ? pod_at(m, m->last_put) : NULL;

	if (!e || !e->entry.slot.live)
		return false;
	*out = (struct pod_put){
		.id = m->last_put,
		.generation = e->entry.slot.generation,
		.node = e->node,
		.ours = e->flags & POD_OURS,
		.gated = e->flags & POD_GATED,
		.created_ns = e->created_ns,
		.served_ns = LATENCY_NOT_SERVED,
	};
	return true;
}

bool model_waiting_pod(const struct model *m, uint32_t gang, uint32_t generation,
                       struct pod_view *out)
{
	return gang >= m->limits.gangs && model_pod(m, gang - m->limits.gangs, generation, out);
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
	const struct node_entry *e = store_get(&m->nodes, id, generation);

	return e && e->body ? e->name : NULL;
}

bool model_node_has(const struct model *m, node_id id, const char *resource)
{
	const struct event_node *e = (const void *)node_at(m, id)->body;
	const struct amount *amounts = (const void *)(e + 1);
	const uint32_t column = intern_find(&m->columns, text_of(resource));

	for (uint32_t i = 0; e && i < e->amounts_n; i++)
		if (amounts[i].resource == column)
			return amounts[i].value > 0;
	return false;
}

const char *model_node_uid(const struct model *m, node_id id)
{
	const struct node_entry *e = node_at(m, id);

	return e->entry.stamp ? e->entry.stamp : "";
}

uint32_t model_node_generation(const struct model *m, node_id id)
{
	return node_at(m, id)->entry.slot.generation;
}

static void gang_view_counts(const struct model *m, const struct gang_entry *e,
                             struct gang_counts *out)
{
	*out = (struct gang_counts){ 0 };
	if (e->non_members != SLOT_NONE)
		*out = non_member_sum_at(m, e->non_members)->counts;
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

struct node_names *model_node_names(const struct model *m)
{
	return m->node_names;
}

/* Index of the resource of a dialect, or -1. */
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
	out->uid = o->stamp ? o->stamp : "";
	out->resource_version = o->stamp ? next_text(o->stamp) : "";
	out->writes = o->stamp ? dialects[form->dialect]->status : NULL;
	out->resource = out->writes ? resource_of(m, form->dialect) : NULL;
	out->status = o->status;
}

bool model_gang(const struct model *m, gang_id id, uint32_t generation, struct gang_view *out)
{
	const struct gang_entry *e = store_get(&m->gangs, id, generation);
	struct gang_form form;

	if (!e)
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

uint32_t model_gang_slots(const struct model *m)
{
	return m->gangs.pool.n;
}

uint32_t model_gang_generation(const struct model *m, gang_id id)
{
	const struct slot *slot;

	if (id >= m->gangs.pool.n)
		return 0;
	slot = &gang_at(m, id)->entry.slot;
	return slot->live ? slot->generation : 0;
}

uint32_t model_gang_spec_id(const struct model *m, gang_id id)
{
	struct gang_form form;

	assert(id < m->gangs.pool.n && gang_at(m, id)->entry.slot.live);
	gang_form(m, id, &form);
	return gang_spec_id(m, &form);
}

bool model_gang_object(const struct model *m, gang_id id, uint32_t generation,
                       struct gang_object *out)
{
	const struct gang_entry *e = store_get(&m->gangs, id, generation);
	struct gang_form form;

	if (!e)
		return false;
	gang_form(m, id, &form);
	if (!form.object || !form.object->stamp || form.object->candidate)
		return false;
	*out = (struct gang_object){
		.index = index_of(m, form.dialect),
		.namespace = next_text(e->name),
		.name = gang_short_name(e),
		.uid = form.object->stamp,
		.resource_version = next_text(form.object->stamp),
	};
	return out->index >= 0;
}

static void each_member(const struct model *m, gang_id id, bool pending,
                        void (*each)(void *context, const struct pod_view *pod), void *context)
{
	struct pod_view view;

	if (id >= m->gangs.pool.n || !gang_at(m, id)->entry.slot.live)
		return;
	for (uint32_t p = gang_at(m, id)->members_first; p != SLOT_NONE;
	     p = pod_at(m, p)->gang_link.next) {
		if (pending && (!(pod_at(m, p)->flags & POD_OURS) || pod_at(m, p)->node != ID_NONE))
			continue;
		view_of(m, p, &view);
		each(context, &view);
	}
}

void model_gang_pending(const struct model *m, gang_id id,
                        void (*each)(void *context, const struct pod_view *pod), void *context)
{
	each_member(m, id, true, each, context);
}

void model_gang_members(const struct model *m, gang_id id,
                        void (*each)(void *context, const struct pod_view *pod), void *context)
{
	each_member(m, id, false, each, context);
}

void model_begun_pending(const struct model *m,
                         void (*each)(void *context, const struct pod_view *pod), void *context)
{
	STORE_EACH(&m->gangs, id)
	{
		struct gang_counts counts;

		gang_view_counts(m, gang_at(m, id), &counts);
		if (counts.bound > 0)
			model_gang_pending(m, id, each, context);
	}
}

void model_each_pod(const struct model *m, void (*each)(void *context, const struct pod_view *pod),
                    void *context)
{
	struct pod_view view;

	STORE_EACH(&m->pods, p)
	{
		view_of(m, p, &view);
		each(context, &view);
	}
}

static const char *text_or_empty(const struct intern *in, uint32_t number)
{
	const char *text = intern_text(in, number);

	return text ? text : "";
}

void model_node_pods(const struct model *m, node_id id,
                     void (*each)(void *context, const struct pod_view *pod), void *context)
{
	struct pod_view view;

	STORE_EACH(&m->pods, p)
	{
		if (pod_at(m, p)->node != id && pod_at(m, p)->binding != id)
			continue;
		view_of(m, p, &view);
		each(context, &view);
	}
}

static const struct event_node *node_body(const struct model *m, node_id id)
{
	return id < m->nodes.pool.n && node_at(m, id)->entry.slot.live
	           ? (const void *)node_at(m, id)->body
	           : NULL;
}

uint32_t model_node_labels(const struct model *m, node_id id, const struct label **labels)
{
	const struct event_node *e = node_body(m, id);

	if (!e)
		return 0;
	*labels = (const void *)((const struct amount *)(e + 1) + e->amounts_n);
	return e->labels_n;
}

uint32_t model_node_taints(const struct model *m, node_id id, const struct taint **taints)
{
	const struct event_node *e = node_body(m, id);

	if (!e)
		return 0;
	*taints = (const void *)((const struct label *)(const void *)((const struct amount *)(e + 1) +
	                                                              e->amounts_n) +
	                         e->labels_n);
	return e->taints_n;
}

uint32_t model_key_id(const struct model *m, struct text key)
{
	const uint32_t number = intern_find(&m->keys, key);

	return number != SLOT_NONE ? number : ID_NONE;
}

const char *model_name(const struct model *m, name_id id)
{
	if (id < m->limits.resources)
		return text_or_empty(&m->columns, id);
	return text_or_empty(&m->taints, id - m->limits.resources);
}

const char *model_key_text(const struct model *m, uint32_t key)
{
	return text_or_empty(&m->keys, key);
}

const char *model_value_text(const struct model *m, uint32_t value)
{
	return text_or_empty(&m->values, value);
}

void model_counts(const struct model *m, struct model_counts *out)
{
	*out = m->counts;
	out->node_slots = m->nodes.pool.n;
	out->shape_slots = m->shapes.pool.n;
	out->shapes = m->shapes.pool.used;
	out->terms = m->terms;
	out->non_member_pods = m->non_members.pool.used;
	out->referred = referred_count(m);
	out->memory_parts = memory_parts(m);
	out->memory_free = memory_has_space(m);
	out->names = m->columns.pool.used + m->taints.pool.used;
}

uint32_t model_pod_generation(const struct model *m, pod_id id)
{
	return id < m->pods.pool.n && pod_at(m, id)->entry.slot.live
	           ? pod_at(m, id)->entry.slot.generation
	           : 0;
}

bool model_pod_binds(const struct model *m, pod_id id)
{
	const struct pod_entry *p = pod_at(m, id);

	return p->binding != ID_NONE && p->intent != POD_INTENT_RETAIN;
}
