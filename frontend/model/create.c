/* SPDX-License-Identifier: Apache-2.0 */
/* A model is created and freed; its limits, and the resources that it watches. */
#include "frontend/devices/live.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/groups/candidates.h"
#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/node_names.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/shapes/held.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/volume/volume.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct resource resource_nodes = { "", "v1", "nodes", "Node", false };
static const struct resource resource_pods = { "", "v1", "pods", "Pod", false };

/* What pods refer to, after the dialects' resources, whose indices do not change. */
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
	{ { "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true }, ROLE_BUDGETS, 0 },
};

static const struct resource resource_jobs = { "batch", "v1", "jobs", "Job", true };

/* By their source. */
static const struct resource queue_resources[QUEUE_SOURCES] = {
	[QUEUES_CONFIG] = { "", "v1", "configmaps", "ConfigMap", false },
	[QUEUES_VOLCANO] = { "scheduling.volcano.sh", "v1beta1", "queues", "Queue", true },
	[QUEUES_KOORDINATOR] = { "scheduling.sigs.k8s.io", "v1alpha1", "elasticquotas", "ElasticQuota",
	                         true },
	[QUEUES_KAI] = { "scheduling.run.ai", "v2", "queues", "Queue", true },
};

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
		if ((referred[i].role != ROLE_POLICIES || !m->policies_off) &&
		    (referred[i].role != ROLE_BUDGETS || m->preemption))
			add_resource(m, &referred[i].resource, referred[i].role, referred[i].which);
	for (uint32_t i = 0; i < QUEUE_SOURCES; i++)
		if (m->queues && queues_watched(m->queues, i))
			add_resource(m, &queue_resources[i], ROLE_QUEUES, i);
	if (m->jobs)
		add_resource(m, &resource_jobs, ROLE_JOBS, 0);
	for (uint32_t i = 0; i < VOLUME_KINDS; i++)
		add_resource(m, &volume_resources[i], ROLE_VOLUMES, i);
	for (uint32_t i = 0; m->live && i < LIVE_KINDS; i++)
		add_resource(m, &live_resources[i], ROLE_DEVICES, i);
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
	const uint32_t many = UINT32_MAX - 1;
	const struct limits *l = &m->limits;

	intern_init(&m->keys, m->hash_key, many);
	intern_init(&m->values, m->hash_key, many);
	intern_init(&m->columns, m->hash_key, columns_limit(l));
	intern_init(&m->taints, m->hash_key, taints_limit(l));
	intern_init(&m->left_out, m->hash_key, many);
	intern_init(&m->schedulers, m->hash_key, many);
	intern_init(&m->images, m->hash_key, many);
	store_init(&m->shapes, sizeof(struct shape_entry), l->shapes, shape_equal);
	list_init(&m->shapes_idle, SHAPES_IDLE);
	store_init(&m->nodes, sizeof(struct node_entry), l->nodes, node_equal);
	store_init(&m->gangs, sizeof(struct gang_entry), l->gangs, gang_equal);
	store_init(&m->pods, sizeof(struct pod_entry), l->pods, pod_equal);
	store_init(&m->namespaces, sizeof(struct namespace_entry), many, namespace_equal);
	store_init(&m->owners, sizeof(struct owner_entry), many, named_equal);
	store_init(&m->policies, sizeof(struct policy_entry), many, named_equal);
	store_init(&m->budgets, sizeof(struct budget_entry), many, named_equal);
	store_init(&m->declared_specs, sizeof(struct declared_spec), many, declared_spec_equal);
	store_init(&m->candidates, sizeof(struct candidate), many, candidate_equal);
	store_init(&m->non_members, sizeof(struct non_member), l->pods, non_member_equal);
	store_init(&m->non_member_sums, sizeof(struct non_member_sum), many, non_member_sum_equal);
	m->status_first = m->status_last = m->facts_first = SLOT_NONE;
}

/* Texts with a fixed number: the four columns, and the pseudo label of a node's name, which no
 * label of an object can be equal to.  False: the limits are too small for them. */
static bool model_seed(struct model *m)
{
	static const char *const columns[] = { "cpu", "memory", "ephemeral-storage", "pods" };
	uint32_t number;

	for (uint32_t i = 0; i < RESOURCE_EXTENDED; i++) {
		if (intern_take(&m->columns, text_of(columns[i]), &number) < 0)
			return false;
		assert(number == i);
	}
	if (m->limits.shapes == 0)
		return false;
	number = model_number(&m->keys, (struct text){ "\0metadata.name", 14 });
	assert(number == LABEL_KEY_NODE_NAME);
	m->shape_empty = shape_take_empty(m);
	return true;
}

static void model_copy_names(struct model *m, const struct model_config *config)
{
	m->scheduler_names_n = config->scheduler_names_n;
	m->scheduler_names = must_array(config->scheduler_names_n, sizeof(*m->scheduler_names));
	for (size_t i = 0; i < config->scheduler_names_n; i++)
		m->scheduler_names[i] = must_copy(config->scheduler_names[i]);
}

struct model *model_new(const struct model_config *config)
{
	struct model *m = must_alloc(sizeof(*m));

	m->limits = config->limits;
	memcpy(m->hash_key, config->hash_key, sizeof(m->hash_key));
	m->dialects_off = config->dialects_off;
	m->policies_off = config->policies_off;
	m->preemption = config->preemption;
	m->preemption_due = config->preemption;
	m->may_evict = config->may_evict;
	m->preemption_flags = config->preemption_flags;
	m->preempt_min_run_s = config->preempt_min_run_s;
	m->preempt_cooldown_s = config->preempt_cooldown_s;
	m->preempt_patience_s = config->preempt_patience_s;
	m->reclaim_patience_s = config->reclaim_patience_s;
	m->budgets_unserved = true;
	m->judges_others = config->judges_others;
	m->devices = config->devices;
	m->live = config->devices_live ? live_new(config->hash_key) : NULL;
	memcpy(m->timeouts_ns, config->timeouts_ns, sizeof(m->timeouts_ns));
	m->begin_due = true;
	m->queues = model_queues_new(config);
	m->states_runs = m->queues || config->states_runs;
	m->jobs = jobs_new(config);
	model_resources_init(m);
	model_tables_init(m);
	memory_start(m, config->memory_bytes);
	m->node_names = node_names_new(m->hash_key);
	m->body.at = must_alloc(RECORD_BYTES_MAX);
	m->volumes = volumes_new(m->hash_key, config->claims_can_wait);
	if (config->binds_claims)
		volumes_bind_live(m->volumes);
	volumes_limit(m->volumes, referred_limit(&m->limits));
	model_copy_names(m, config);
	if (!model_seed(m)) {
		model_free(m);
		return NULL;
	}
	return m;
}

static void free_items(struct model *m)
{
	STORE_EACH(&m->shapes, i)
	shape_free(shape_at(m, i));
	STORE_EACH(&m->nodes, i)
	node_free(node_at(m, i));
	STORE_EACH(&m->gangs, i)
	gang_free(gang_at(m, i));
	STORE_EACH(&m->pods, i)
	pod_free(pod_at(m, i));
	STORE_EACH(&m->namespaces, i)
	namespace_free(namespace_at(m, i));
	STORE_EACH(&m->owners, i)
	owner_free(owner_at(m, i));
	STORE_EACH(&m->policies, i)
	policy_free(policy_at(m, i));
	STORE_EACH(&m->budgets, i)
	budget_free(budget_at(m, i));
	STORE_EACH(&m->declared_specs, i)
	declared_spec_free(declared_spec_at(m, i));
}

void model_free(struct model *m)
{
	struct store *stores[] = { &m->shapes,     &m->nodes,       &m->gangs,
		                       &m->pods,       &m->namespaces,  &m->owners,
		                       &m->budgets,    &m->policies,    &m->declared_specs,
		                       &m->candidates, &m->non_members, &m->non_member_sums };
	struct intern *interns[] = { &m->keys,     &m->values,     &m->columns, &m->taints,
		                         &m->left_out, &m->schedulers, &m->images };

	if (!m)
		return;
	free_items(m);
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
		store_free(stores[i]);
	for (size_t i = 0; i < sizeof(interns) / sizeof(interns[0]); i++)
		intern_free(interns[i]);
	table_free(&m->services_index);
	node_names_free(m->node_names);
	free(m->image_uses);
	free(m->evicted);
	free(m->stated);
	free(m->storage_waits);
	for (size_t i = 0; i < m->scheduler_names_n; i++)
		free(m->scheduler_names[i]);
	free(m->scheduler_names);
	model_queues_free(m);
	jobs_free(m->jobs);
	volumes_free(m->volumes);
	live_free(m->live);
	free(m->body.at);
	held_free(m);
	arena_free(&m->arena);
	arena_free(&m->scratch);
	free(m);
}

int model_set_limits(struct model *m, const struct limits *l)
{
	uint64_t names = m->name_bytes + m->columns.text_bytes + m->taints.text_bytes;

	if (l->nodes < m->nodes.pool.n || l->pods < m->pods.pool.n || l->gangs < m->gangs.pool.n ||
	    l->shapes < m->shapes.pool.n || columns_limit(l) < m->columns.pool.n ||
	    taints_limit(l) < m->taints.pool.n || l->name_bytes < names)
		return -ENOSPC;
	m->limits = *l;
	m->nodes.pool.limit = l->nodes;
	m->pods.pool.limit = l->pods;
	m->non_members.pool.limit = l->pods > m->non_members.pool.n ? l->pods : m->non_members.pool.n;
	m->gangs.pool.limit = l->gangs;
	m->shapes.pool.limit = l->shapes;
	volumes_limit(m->volumes, referred_limit(l));
	m->columns.pool.limit = columns_limit(l);
	m->taints.pool.limit = taints_limit(l);
	return 0;
}

struct live *model_live(struct model *m)
{
	return m->live;
}

const struct resource *model_resources(const struct model *m, size_t *n)
{
	*n = m->resources_n;
	return m->resources;
}

/* The versions of a resource, the newest first, up to a NULL; NULL: it has one version. */
static const char *const *versions_of(const struct model *m, size_t resource)
{
	assert(resource < m->resources_n);
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
	assert(resource >= 0 && is_version(m, (size_t)resource, version));
	m->resources[resource].version = version;
}

void model_resource_served(struct model *m, int resource, bool served)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	if (m->roles[resource] == ROLE_GANGS)
		gangs_served(m, m->which[resource], served);
	if (m->roles[resource] != ROLE_BUDGETS || m->budgets_unserved == !served)
		return;
	m->budgets_unserved = !served;
	m->preemption_due = true;
}

const char *model_resource_without(const struct model *m, int resource)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	if (m->roles[resource] == ROLE_BUDGETS)
		return "they count as unknown";
	if (m->roles[resource] == ROLE_JOBS)
		return "their deadlines end no pods (deploy/job-deadlines has the right)";
	if (m->roles[resource] == ROLE_QUEUES && model_queues_automatic(m->queues))
		return "--queues auto goes on without these queues (deploy/queues has the rights)";
	return NULL;
}

bool model_resource_awaited(const struct model *m, int resource)
{
	assert(resource >= 0 && (size_t)resource < m->resources_n);
	return m->roles[resource] != ROLE_BUDGETS;
}

struct volumes *model_volumes(struct model *m)
{
	return m->volumes;
}

int model_volume_resource(const struct model *m, uint32_t kind)
{
	int i = 0;

	while (m->roles[i] != ROLE_VOLUMES || m->which[i] != kind)
		i++;
	return i;
}
