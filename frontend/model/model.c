/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/model_impl.h"
#include "frontend/volume/volume.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct resource resource_nodes = { "", "v1", "nodes", "Node", false };
static const struct resource resource_pods = { "", "v1", "pods", "Pod", false };

/* What pods refer to.  Behind the dialects', so that these keep their numbers. */
static const struct {
	struct resource resource;
	enum role role;
	uint32_t which;
} referred[] = {
	{ { "", "v1", "namespaces", "Namespace", false }, ROLE_NAMESPACES, 0 },
	{ { "", "v1", "services", "Service", false }, ROLE_OWNERS, OWNER_SERVICE },
	{ { "", "v1", "replicationcontrollers", "ReplicationController", false },
	  ROLE_OWNERS,
	  OWNER_REPLICATION_CONTROLLER },
	{ { "apps", "v1", "replicasets", "ReplicaSet", true }, ROLE_OWNERS, OWNER_REPLICA_SET },
	{ { "apps", "v1", "statefulsets", "StatefulSet", true }, ROLE_OWNERS, OWNER_STATEFUL_SET },
	{ { "kosmos.io", "v1alpha1", "workloadpolicies", "WorkloadPolicy", true }, ROLE_POLICIES, 0 },
};

/* ---- life ---------------------------------------------------------------------------- */

static void add_resource(struct model *m, const struct resource *r, enum role role, uint32_t which)
{
	assert(m->resources_n < RESOURCES_WATCHED);
	m->resources[m->resources_n] = *r;
	m->roles[m->resources_n] = role;
	m->which[m->resources_n++] = which;
}

static void model_resources_init(struct model *m)
{
	add_resource(m, &resource_nodes, ROLE_NODES, 0);
	add_resource(m, &resource_pods, ROLE_PODS, 0);
	for (uint32_t i = 0; i < dialects_n; i++)
		if (dialects[i]->resource && !(m->dialects_off >> i & 1))
			add_resource(m, dialects[i]->resource, ROLE_GANGS, i);
	for (size_t i = 0; i < sizeof(referred) / sizeof(referred[0]); i++)
		if (referred[i].role != ROLE_POLICIES || !m->policies_off)
			add_resource(m, &referred[i].resource, referred[i].role, referred[i].which);
	for (uint32_t i = 0; i < VOLUME_KINDS; i++)
		add_resource(m, &volume_resources[i], ROLE_VOLUMES, i);
}

static uint32_t columns_limit(const struct limits *l)
{
	return l->resources < RESOURCES_MAX ? l->resources : RESOURCES_MAX;
}

static uint32_t taints_limit(const struct limits *l)
{
	return l->names > l->resources ? l->names - l->resources : 0;
}

static void model_tables_init(struct model *m)
{
	const struct limits *l = &m->limits;

	intern_init(&m->keys, m->hash_key, UINT32_MAX - 1);
	intern_init(&m->values, m->hash_key, UINT32_MAX - 1);
	intern_init(&m->columns, m->hash_key, columns_limit(l));
	intern_init(&m->taints, m->hash_key, taints_limit(l));
	intern_init(&m->schedulers, m->hash_key, UINT32_MAX - 1);
	intern_init(&m->images, m->hash_key, UINT32_MAX - 1);
	pool_init(&m->shapes, sizeof(struct shape_entry), l->shapes);
	pool_init(&m->nodes, sizeof(struct node_entry), l->nodes);
	pool_init(&m->gangs, sizeof(struct gang_entry), l->gangs);
	pool_init(&m->pods, sizeof(struct pod_entry), l->pods);
	pool_init(&m->namespaces, sizeof(struct namespace_entry), UINT32_MAX - 1);
	pool_init(&m->owners, sizeof(struct owner_entry), UINT32_MAX - 1);
	pool_init(&m->descriptions, sizeof(struct description), UINT32_MAX - 1);
	pool_init(&m->hollows, sizeof(struct hollow_entry), UINT32_MAX - 1);
	pool_init(&m->besides, sizeof(struct beside_entry), UINT32_MAX - 1);
	pool_init(&m->others, sizeof(struct other_entry), l->pods);
	m->stir_first = m->stir_last = SLOT_NONE;
	pool_init(&m->policies, sizeof(struct policy_entry), UINT32_MAX - 1);
	list_init(&m->shapes_dirty, MODEL_DIRTY);
	list_init(&m->nodes_dirty, MODEL_DIRTY);
	list_init(&m->gangs_dirty, MODEL_DIRTY);
	list_init(&m->pods_dirty, MODEL_DIRTY);
	list_init(&m->namespaces_dirty, MODEL_DIRTY);
	list_init(&m->shapes_dead, MODEL_DEAD);
	list_init(&m->nodes_dead, MODEL_DEAD);
	list_init(&m->gangs_dead, MODEL_DEAD);
}

/* What has a fixed number: the four columns, and the pseudo label of a node's
 * name, which no label of an object can be equal to. */
static int model_seed(struct model *m)
{
	static const char *const columns[] = { "cpu", "memory", "ephemeral-storage", "pods" };
	uint32_t number;
	int rc;

	for (uint32_t i = 0; i < RESOURCE_EXTENDED; i++) {
		rc = intern_take(&m->columns, text_of(columns[i]), &number);
		if (rc < 0)
			return rc;
		assert(number == i);
	}
	rc = intern_take(&m->keys, (struct text){ "\0metadata.name", 14 }, &number);
	if (rc < 0)
		return rc;
	assert(number == LABEL_KEY_NODE_NAME);
	return shape_take_empty(m, &m->shape_empty);
}

static int model_copy_names(struct model *m, const struct model_config *config)
{
	if (config->scheduler_names_n == 0)
		return 0;
	m->scheduler_names = calloc(config->scheduler_names_n, sizeof(*m->scheduler_names));
	if (!m->scheduler_names)
		return -ENOMEM;
	for (size_t i = 0; i < config->scheduler_names_n; i++) {
		m->scheduler_names[i] = strdup(config->scheduler_names[i]);
		if (!m->scheduler_names[i])
			return -ENOMEM;
		m->scheduler_names_n++;
	}
	return 0;
}

struct model *model_new(const struct model_config *config)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->limits = config->limits;
	memcpy(m->hash_key, config->hash_key, sizeof(m->hash_key));
	m->dialects_off = config->dialects_off;
	m->policies_off = config->policies_off;
	memcpy(m->timeouts_ns, config->timeouts_ns, sizeof(m->timeouts_ns));
	m->begin_due = true;
	model_resources_init(m);
	model_tables_init(m);
	m->body.at = malloc(RECORD_BYTES_MAX);
	m->judges_others = config->judges_others;
	m->volumes = volumes_new(m->hash_key, config->claims_can_wait);
	if (!m->body.at || !m->volumes || model_copy_names(m, config) < 0 || model_seed(m) < 0) {
		model_free(m);
		return NULL;
	}
	volumes_limit(m->volumes, referred_limit(&m->limits));
	return m;
}

static void free_object(const struct group_object *o)
{
	free(o->texts);
	free(o->body);
	free(o->refusal);
	free(o->status);
}

static void free_gangs(struct model *m)
{
	for (uint32_t i = 0; i < m->gangs.n; i++) {
		if (gang_at(m, i)->slot.live) {
			free(gang_at(m, i)->name);
			free(gang_at(m, i)->differ);
			free(gang_at(m, i)->owners);
			free_object(&gang_at(m, i)->objects[0]);
			free_object(&gang_at(m, i)->objects[1]);
		}
	}
	for (uint32_t i = 0; i < m->descriptions.n; i++) {
		if (description_at(m, i)->slot.live) {
			free_object(&description_at(m, i)->object);
			free(description_at(m, i)->agree);
		}
	}
}

static void free_entries(struct model *m)
{
	free_gangs(m);
	for (uint32_t i = 0; i < m->shapes.n; i++)
		if (shape_at(m, i)->slot.live)
			free(shape_at(m, i)->body);
	for (uint32_t i = 0; i < m->nodes.n; i++) {
		if (node_at(m, i)->slot.live) {
			free(node_at(m, i)->name);
			free(node_at(m, i)->texts);
			free(node_at(m, i)->body);
			free(node_at(m, i)->images);
			free(node_at(m, i)->storage);
		}
	}
	for (uint32_t i = 0; i < m->pods.n; i++) {
		if (pod_at(m, i)->slot.live) {
			free(pod_at(m, i)->texts);
			free(pod_at(m, i)->labels);
			free(pod_at(m, i)->storage_refusal);
			free(pod_at(m, i)->policy_refusal);
		}
	}
	for (uint32_t i = 0; i < m->namespaces.n; i++) {
		if (namespace_at(m, i)->slot.live) {
			free(namespace_at(m, i)->texts);
			free(namespace_at(m, i)->labels);
		}
	}
	for (uint32_t i = 0; i < m->owners.n; i++) {
		if (owner_at(m, i)->slot.live) {
			free(owner_at(m, i)->texts);
			free(owner_at(m, i)->rules);
		}
	}
	for (uint32_t i = 0; i < m->policies.n; i++) {
		struct policy_entry *e = policy_at(m, i);

		if (e->slot.live) {
			free(e->texts);
			free(e->refusal);
			if (e->rules)
				free(e->rules->selector);
			free(e->rules);
		}
	}
}

void model_free(struct model *m)
{
	if (!m)
		return;
	free_entries(m);
	pool_free(&m->shapes);
	pool_free(&m->nodes);
	pool_free(&m->gangs);
	pool_free(&m->pods);
	pool_free(&m->namespaces);
	pool_free(&m->owners);
	pool_free(&m->descriptions);
	pool_free(&m->hollows);
	pool_free(&m->besides);
	pool_free(&m->others);
	table_free(&m->besides_index);
	table_free(&m->others_index);
	pool_free(&m->policies);
	table_free(&m->shapes_index);
	table_free(&m->nodes_index);
	table_free(&m->gangs_index);
	table_free(&m->pods_index);
	table_free(&m->namespaces_index);
	table_free(&m->owners_index);
	table_free(&m->policies_index);
	table_free(&m->services_index);
	table_free(&m->descriptions_index);
	table_free(&m->hollows_index);
	intern_free(&m->keys);
	intern_free(&m->values);
	intern_free(&m->columns);
	intern_free(&m->taints);
	intern_free(&m->schedulers);
	intern_free(&m->images);
	free(m->image_uses);
	for (size_t i = 0; i < m->scheduler_names_n; i++)
		free(m->scheduler_names[i]);
	free(m->scheduler_names);
	volumes_free(m->volumes);
	free(m->body.at);
	arena_free(&m->arena);
	arena_free(&m->scratch);
	free(m);
}

int model_set_limits(struct model *m, const struct limits *l)
{
	uint64_t names = m->name_bytes + m->columns.text_bytes + m->taints.text_bytes;

	if (l->nodes < m->nodes.n || l->pods < m->pods.n || l->gangs < m->gangs.n ||
	    l->shapes < m->shapes.n || columns_limit(l) < m->columns.pool.n ||
	    taints_limit(l) < m->taints.pool.n || l->name_bytes < names)
		return -ENOSPC;
	m->limits = *l;
	m->nodes.limit = l->nodes;
	m->pods.limit = l->pods;
	m->others.limit = l->pods > m->others.n ? l->pods : m->others.n;
	m->gangs.limit = l->gangs;
	m->shapes.limit = l->shapes;
	volumes_limit(m->volumes, referred_limit(l));
	m->columns.pool.limit = columns_limit(l);
	m->taints.pool.limit = taints_limit(l);
	return 0;
}

/* ---- resources ------------------------------------------------------------------------ */

const struct resource *model_resources(const struct model *m, size_t *n)
{
	*n = m->resources_n;
	return m->resources;
}

/* The versions of a resource, the newest first, up to a NULL; NULL: there is one. */
static const char *const *versions_of(const struct model *m, size_t resource)
{
	return m->roles[resource] == ROLE_GANGS ? dialects[m->which[resource]]->versions : NULL;
}

static bool is_version(const struct model *m, size_t resource, const char *version)
{
	const char *const *versions = versions_of(m, resource);

	for (; versions && *versions; versions++)
		if (strcmp(*versions, version) == 0)
			return true;
	return strcmp(m->resources[resource].version, version) == 0;
}

static bool is_api_version(const struct model *m, size_t resource, const char *api_version)
{
	const char *group = m->resources[resource].group;
	size_t bytes = strlen(group);

	if (bytes == 0)
		return is_version(m, resource, api_version);
	return strncmp(api_version, group, bytes) == 0 && api_version[bytes] == '/' &&
	       is_version(m, resource, api_version + bytes + 1);
}

int model_resource_index(const struct model *m, const char *api_version, const char *kind)
{
	for (size_t i = 0; i < m->resources_n; i++)
		if (strcmp(m->resources[i].kind, kind) == 0 && is_api_version(m, i, api_version))
			return (int)i;
	return -1;
}

const char *model_resource_older(const struct model *m, int resource, const char *version)
{
	const char *const *versions = versions_of(m, (size_t)resource);

	if (!version)
		return versions ? versions[0] : m->resources[resource].version;
	for (; versions && *versions; versions++)
		if (strcmp(*versions, version) == 0)
			return versions[1];
	return NULL;
}

void model_resource_found(struct model *m, int resource, const char *version)
{
	m->resources[resource].version = version;
}

void model_resource_served(struct model *m, int resource, bool served)
{
	if (m->roles[resource] == ROLE_GANGS)
		gangs_served(m, m->which[resource], served);
}

/* ---- objects in -------------------------------------------------------------------------- */

int model_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	m->counts.objects_put++;
	m->last_put = SLOT_NONE;
	arena_reset(&m->arena);
	if (error)
		error->object[0] = error->field[0] = error->text[0] = '\0';
	switch (m->roles[resource]) {
	case ROLE_NODES:
		return node_put(m, json, bytes, error);
	case ROLE_PODS:
		return pod_put(m, json, bytes, error);
	case ROLE_NAMESPACES:
		return namespace_put(m, resource, json, bytes, error);
	case ROLE_OWNERS:
		return owner_put(m, resource, json, bytes, error);
	case ROLE_VOLUMES:
		return storage_put(m, resource, json, bytes, error);
	case ROLE_POLICIES:
		return policy_put(m, resource, json, bytes, error);
	default:
		return gang_put(m, resource, json, bytes, error);
	}
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
		m->counts.objects_bad += rc == -EINVAL;
		return rc;
	}
	m->counts.objects_removed++;
	if (m->roles[resource] != ROLE_NODES && m->roles[resource] != ROLE_NAMESPACES)
		model_default_namespace(&meta);
	switch (m->roles[resource]) {
	case ROLE_NODES:
		return node_remove(m, &meta);
	case ROLE_PODS:
		return pod_remove(m, &meta);
	case ROLE_NAMESPACES:
		return namespace_remove(m, &meta);
	case ROLE_OWNERS:
		return owner_remove(m, resource, &meta);
	case ROLE_VOLUMES:
		return volumes_remove(m->volumes, m->which[resource], &meta);
	case ROLE_POLICIES:
		return policy_remove(m, &meta);
	default:
		return gang_remove(m, resource, &meta);
	}
}

void model_replace_begin(struct model *m, int resource)
{
	m->replace[resource].round++;
	m->replace[resource].active = true;
	if (m->roles[resource] == ROLE_VOLUMES)
		volumes_replace_begin(m->volumes, m->which[resource]);
}

void model_replace_abort(struct model *m, int resource)
{
	m->replace[resource].active = false;
	if (m->roles[resource] == ROLE_VOLUMES)
		volumes_replace_abort(m->volumes, m->which[resource]);
}

static void replace_nodes(struct model *m, uint32_t round)
{
	for (uint32_t i = 0; i < m->nodes.n; i++)
		if (node_at(m, i)->slot.live && node_at(m, i)->seen != round)
			node_forget_object(m, i);
}

static void replace_pods(struct model *m, uint32_t round)
{
	for (uint32_t i = 0; i < m->pods.n; i++)
		if (pod_at(m, i)->slot.live && pod_at(m, i)->seen != round)
			pod_forget(m, i);
	others_replace(m, round);
	blind_listed(m, round);
}

static void replace_namespaces(struct model *m, uint32_t round)
{
	for (uint32_t i = 0; i < m->namespaces.n; i++)
		if (namespace_at(m, i)->slot.live && namespace_at(m, i)->seen != round)
			namespace_forget_object(m, i);
}

static void replace_owners(struct model *m, uint32_t kind, uint32_t round)
{
	for (uint32_t i = 0; i < m->owners.n; i++)
		if (owner_at(m, i)->slot.live && owner_at(m, i)->kind == kind &&
		    owner_at(m, i)->seen != round)
			owner_forget(m, i);
}

static void replace_policies(struct model *m, uint32_t round)
{
	for (uint32_t i = 0; i < m->policies.n; i++)
		if (policy_at(m, i)->slot.live && policy_at(m, i)->texts && policy_at(m, i)->seen != round)
			policy_forget_object(m, i);
}

void model_replace_end(struct model *m, int resource)
{
	uint32_t round = m->replace[resource].round, which = m->which[resource];

	if (!m->replace[resource].active)
		return;
	m->replace[resource].active = false;
	switch (m->roles[resource]) {
	case ROLE_NODES:
		replace_nodes(m, round);
		break;
	case ROLE_PODS:
		replace_pods(m, round);
		break;
	case ROLE_NAMESPACES:
		replace_namespaces(m, round);
		break;
	case ROLE_OWNERS:
		replace_owners(m, which, round);
		break;
	case ROLE_VOLUMES:
		volumes_replace_end(m->volumes, which);
		break;
	case ROLE_POLICIES:
		replace_policies(m, round);
		break;
	default:
		gangs_replaced(m, which, round);
	}
}
