/* SPDX-License-Identifier: Apache-2.0 */
/* Objects, lists and Bindings in: each to the table of its role. */
#include "frontend/devices/live.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/put/group_objects.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/nodes/unaccounted.h"
#include "frontend/volume/volume.h"

#include <assert.h>
#include <errno.h>

/* An object of frontend/volume/. */
static int storage_put(struct model *m, int resource, const char *json, size_t bytes,
                       struct decode_error *error)
{
	int rc = volumes_put(m->volumes, m->which[resource], json, bytes, &m->arena, error);
	struct meta meta;

	m->counts.objects_bad += rc == -EINVAL;
	if (rc != -ENOSPC)
		return rc;
	rc = extract_meta(json, bytes, &m->arena, &meta, error);
	meta.kind = text_of(m->resources[resource].kind);
	return rc < 0 ? rc : referred_refuse(m, &meta, error);
}

static int pod_put_queued(struct model *m, const char *json, size_t *bytes, bool first,
                          struct decode_error *error)
{
	const int rc = pod_put(m, json, bytes, first, error);

	if (m->queues && m->last_put != SLOT_NONE)
		queues_note_pod(m, m->last_put, json, *bytes);
	return rc;
}

static void put_begin(struct model *m, int resource, struct decode_error *error)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	m->counts.objects_put++;
	m->last_put = SLOT_NONE;
	arena_reset(&m->arena);
	if (error)
		error->object[0] = error->field[0] = error->text[0] = '\0';
}

int model_put_first(struct model *m, int resource, const char *json, size_t bytes, size_t *used,
                    struct decode_error *error)
{
	if (m->roles[resource] == ROLE_PODS) {
		put_begin(m, resource, error);
		*used = bytes;
		return pod_put_queued(m, json, used, true, error);
	}
	*used = json_value_bytes(json, bytes);
	return *used > 0 ? model_put(m, resource, json, *used, error) : -EINVAL;
}

int model_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error)
{
	put_begin(m, resource, error);
	switch (m->roles[resource]) {
	case ROLE_NODES:
		return node_put(m, json, bytes, error);
	case ROLE_PODS:
		return pod_put_queued(m, json, &bytes, false, error);
	case ROLE_NAMESPACES:
		return namespace_put(m, resource, json, bytes, error);
	case ROLE_OWNERS:
		return owner_put(m, resource, json, bytes, error);
	case ROLE_VOLUMES:
		return storage_put(m, resource, json, bytes, error);
	case ROLE_POLICIES:
		return policy_put(m, resource, json, bytes, error);
	case ROLE_BUDGETS:
		return budget_put(m, resource, json, bytes, error);
	case ROLE_DEVICES:
		return live_put(m->live, m->which[resource], json, bytes, error);
	case ROLE_QUEUES:
		return queues_put(m, resource, json, bytes, error);
	case ROLE_JOBS:
		return job_put(m, resource, json, bytes, error);
	case ROLE_GANGS:
		return gang_put(m, resource, json, bytes, error);
	}
	return -EINVAL;
}

int model_remove(struct model *m, int resource, const char *json, size_t bytes,
                 struct decode_error *error)
{
	struct meta meta;
	int rc;

	assert(resource >= 0 && (size_t)resource < m->resources_n);
	arena_reset(&m->arena);
	rc = extract_meta(json, bytes, &m->arena, &meta, error);
	if (rc < 0) {
		m->counts.objects_bad++;
		return rc;
	}
	m->counts.objects_removed++;
	if (m->roles[resource] != ROLE_NODES && m->roles[resource] != ROLE_NAMESPACES)
		model_default_namespace(&meta);
	switch (m->roles[resource]) {
	case ROLE_NODES:
		node_remove(m, &meta);
		break;
	case ROLE_PODS:
		pod_remove(m, &meta);
		break;
	case ROLE_NAMESPACES:
		namespace_remove(m, &meta);
		break;
	case ROLE_OWNERS:
		owner_remove(m, resource, &meta);
		break;
	case ROLE_VOLUMES:
		volumes_remove(m->volumes, m->which[resource], &meta);
		break;
	case ROLE_POLICIES:
		policy_remove(m, &meta);
		break;
	case ROLE_BUDGETS:
		budget_remove(m, &meta);
		break;
	case ROLE_DEVICES:
		live_remove(m->live, m->which[resource], meta.namespace, meta.name);
		break;
	case ROLE_QUEUES:
		queues_remove(m, resource, &meta);
		break;
	case ROLE_JOBS:
		job_remove(m, &meta);
		break;
	case ROLE_GANGS:
		gang_remove(m, resource, &meta);
		break;
	}
	return 0;
}

bool model_lacks(const struct model *m, int resource)
{
	return m->lacks >> resource & 1;
}

void model_lacks_anew(struct model *m)
{
	memory_lacks_anew(m);
}

void model_lacks_begin(struct model *m, int resource)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	m->lacks &= ~(UINT32_C(1) << resource);
	m->replace[resource].round++;
}

void model_lacks_end(struct model *m, int resource)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n && !m->replace[resource].active);
	if (m->roles[resource] == ROLE_PODS)
		unaccounted_listed(m, m->replace[resource].round);
}

void model_replace_begin(struct model *m, int resource)
{
	model_lacks_begin(m, resource);
	m->replace[resource].active = true;
	if (m->roles[resource] == ROLE_VOLUMES)
		volumes_replace_begin(m->volumes, m->which[resource]);
	if (m->roles[resource] == ROLE_DEVICES)
		live_replace_begin(m->live, m->which[resource]);
}

void model_replace_abort(struct model *m, int resource)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	m->replace[resource].active = false;
	if (m->roles[resource] == ROLE_VOLUMES)
		volumes_replace_abort(m->volumes, m->which[resource]);
}

/* The list is complete: forget what was not in it. */
static void forget_unlisted(struct model *m, struct store *s, uint32_t round,
                            void (*forget)(struct model *m, uint32_t slot))
{
	STORE_EACH(s, i)
	if (((const struct entry *)store_at(s, i))->seen != round)
		forget(m, i);
}

static void replace_pods(struct model *m, uint32_t round)
{
	forget_unlisted(m, &m->pods, round, pod_forget);
	non_members_replaced(m, round);
	unaccounted_listed(m, round);
}

static void replace_owners(struct model *m, uint32_t kind, uint32_t round)
{
	STORE_EACH(&m->owners, i)
	if (owner_at(m, i)->key.kind == kind && owner_at(m, i)->entry.seen != round)
		owner_forget(m, i);
}

void model_replace_end(struct model *m, int resource)
{
	uint32_t round = m->replace[resource].round, which = m->which[resource];

	assert(resource >= 0 && (size_t)resource < m->resources_n);
	if (!m->replace[resource].active)
		return;
	m->replace[resource].active = false;
	switch (m->roles[resource]) {
	case ROLE_NODES:
		forget_unlisted(m, &m->nodes, round, node_forget_object);
		break;
	case ROLE_PODS:
		replace_pods(m, round);
		break;
	case ROLE_NAMESPACES:
		forget_unlisted(m, &m->namespaces, round, namespace_forget_object);
		break;
	case ROLE_OWNERS:
		replace_owners(m, which, round);
		break;
	case ROLE_VOLUMES:
		volumes_replace_end(m->volumes, which);
		break;
	case ROLE_POLICIES:
		forget_unlisted(m, &m->policies, round, policy_forget_object);
		break;
	case ROLE_BUDGETS:
		forget_unlisted(m, &m->budgets, round, budget_forget_object);
		break;
	case ROLE_DEVICES:
		live_replace_end(m->live, which);
		break;
	case ROLE_QUEUES:
		queues_replaced(m, resource, round);
		break;
	case ROLE_JOBS:
		jobs_replaced(m, round);
		break;
	case ROLE_GANGS:
		gangs_replaced(m, which, round);
		break;
	}
}

/* False: the pod or the node is gone. */
static bool binding_set(struct model *m, pod_id id, uint32_t generation, node_id node,
                        uint32_t intent, uint32_t keep_ms)
{
	struct pod_entry *p = store_get(&m->pods, id, generation);

	if (!p || node >= m->nodes.pool.n || !node_at(m, node)->entry.slot.live)
		return false;
	node_hold(m, node);
	if (p->binding != ID_NONE)
		node_give(m, p->binding);
	p->binding = node;
	p->intent = (uint16_t)intent;
	p->keep_ms = keep_ms;
	if (p->has_claims)
		live_pod_judge_again(m->live, id);
	return true;
}

void model_bind_begin(struct model *m, pod_id id, uint32_t generation, node_id node)
{
	binding_set(m, id, generation, node, 0, 0);
}

void model_intend(struct model *m, pod_id id, uint32_t generation, node_id node, uint32_t intent)
{
	if (binding_set(m, id, generation, node, intent, 0))
		store_mark_dirty(&m->pods, id);
}

void model_keep(struct model *m, pod_id id, uint32_t generation, node_id node, uint32_t keep_ms)
{
	if (binding_set(m, id, generation, node, POD_INTENT_BIND, keep_ms))
		store_mark_dirty(&m->pods, id);
}

void model_bind_end(struct model *m, pod_id id, uint32_t generation)
{
	struct pod_entry *p = store_get(&m->pods, id, generation);

	if (!p || p->binding == ID_NONE)
		return;
	node_give(m, p->binding);
	p->binding = ID_NONE;
	p->intent = 0;
	p->keep_ms = 0;
	if (p->has_claims)
		live_pod_judge_again(m->live, id);
}

void model_assume(struct model *m, pod_id id, uint32_t generation, node_id node)
{
	const struct pod_entry *p = store_get(&m->pods, id, generation);

	if (!p || !p->has_volumes)
		return;
	arena_reset(&m->scratch);
	volumes_assume(m->volumes, id, node, &m->scratch);
}
