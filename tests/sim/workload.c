/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of users, controllers and other schedulers, as plain requests. */
#include "tests/apisim/call.h"
#include "tests/apisim/requests.h"
#include "tests/sim/claims.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_NODE "n10" /* SIM_HUGE_NODE: tainted for others */
#define PODS "/api/v1/namespaces/default/pods"

int sim_user(struct sim *s, const char *method, const char *target, const char *format, ...)
{
	struct as_request request = { .method = method,
		                          .target = target,
		                          .now_ns = SIM_EPOCH_NS + s->now_ns };
	struct as_response response;
	char *body = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&body, format, args) < 0)
		as_die("out of memory");
	va_end(args);
	request.content_type =
		strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
	request.body = body;
	request.body_bytes = strlen(body);
	as_api_handle(s->api, &request, &response);
	story_tell(s, "user    %s %s %s -> %d", method, target, body, response.status);
	as_text_free(&response.body);
	free(body);
	return response.status;
}

static const char *pod_path(uint32_t pod, const char *rest)
{
	static char path[128];

	snprintf(path, sizeof(path), PODS "/p%u%s", pod, rest);
	return path;
}

static void pod_make(struct sim *s, uint32_t pod, uint32_t group, uint32_t shape)
{
	static const char *const cpus[] = { "250m", "500m", "1", "1500m", "2", "3" };
	static const char *const memories[] = { "64Mi", "1Gi", "3Gi" };
	const char *gate =
		shape < SIM_HUGE && shape % 11 == 0 ? ",\"schedulingGates\":[{\"name\":\"sim/wait\"}]" : "";
	const bool huge = shape >= SIM_HUGE, gpu = shape == SIM_GPU;
	const char *class = shape == SIM_HUGE_FIRST || (!huge && shape % 7 == 0)
	                        ? ",\"priorityClassName\":\"high\""
	                        : "";
	char label[80] = "", run[64] = "", ends[80] = "";

	if (group != SIM_NONE)
		snprintf(label, sizeof(label), "\"scheduling.x-k8s.io/pod-group\":\"g%u\"", group);
	if (!huge && shape % 5 == 0)
		snprintf(run, sizeof(run), "\"muster.io/run-seconds\":\"%u\"", 1 + shape % 13);
	/* Some stay beyond their limit: apisim's kubelets know the run time alone. */
	if ((script_promises(s->script) > 0 || script_queues(s->script)) && shape % 4 > 0)
		snprintf(ends, sizeof(ends), ",\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":%u",
		         10 + shape % 29);
	sim_user(
		s, "POST", PODS,
		"{\"metadata\":{\"name\":\"p%u\",\"labels\":{%s%s},\"annotations\":{%s}},\"spec\":{\"schedulerName\":\"muster\"%s%s%s%s%s,"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"%s\"%s}}}]}}",
		pod, label, queues_label(s->script, pod, group), run, ends, gate, class,
		huge ? ",\"tolerations\":[{\"key\":\"huge\",\"operator\":\"Exists\"}]" : "",
		claims_of_pod(s->script, group, shape),
		gpu    ? "250m"
		: huge ? shape == SIM_HUGE_HALF ? "6" : "12"
			   : cpus[shape % 6],
		huge ? "64Mi" : memories[shape / 6 % 3], gpu ? ",\"nvidia.com/gpu\":\"1\"" : "");
}

static struct as_object *pod_find(struct sim *s, uint32_t pod)
{
	char key[64];

	snprintf(key, sizeof(key), "default/p%u", pod);
	return as_index_find(&s->api->pods->index, key);
}

static void pod_again(struct sim *s, uint32_t pod)
{
	struct as_object *o = pod_find(s, pod);
	const char *group = o != NULL ? as_object_label(o, "scheduling.x-k8s.io/pod-group") : NULL;
	uint32_t g = group != NULL ? (uint32_t)strtoul(group + 1, NULL, 10) : SIM_NONE;

	if (o == NULL)
		return;
	sim_user(s, "DELETE", pod_path(pod, ""), "{\"gracePeriodSeconds\":0}");
	pod_make(s, pod, g, pod * 7 + 1);
}

/* Free capacity of the node by the objects of the API server. */
static bool has_room(struct sim *s, struct as_arena *a, const struct as_object *node,
                     const struct as_amounts *wants)
{
	struct as_amounts all = as_node_allocatable(a, as_object_tree(a, node));

	for (size_t i = 0; i < wants->n; i++) {
		int64_t sum = wants->at[i].value;

		for (struct as_index_entry *e = s->api->pods->index.first[0]; e != NULL; e = e->next[0]) {
			const char *phase = as_object_field(e->object, "status.phase");
			struct as_amounts uses;

			if (strcmp(as_object_field(e->object, "spec.nodeName"), node->name) != 0 ||
			    strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
				continue;
			uses = as_pod_requests(a, as_object_tree(a, e->object));
			sum += as_amounts_get(&uses, wants->at[i].name);
		}
		if (sum > as_amounts_get(&all, wants->at[i].name))
			return false;
	}
	return true;
}

static void foreign_bind(struct sim *s, const char *pod)
{
	struct as_arena a = { 0 };
	char key[80], path[160];
	struct as_object *o;
	struct as_amounts wants;

	snprintf(key, sizeof(key), "default/%s", pod);
	snprintf(path, sizeof(path), PODS "/%s/binding", pod);
	o = as_index_find(&s->api->pods->index, key);
	if (o == NULL)
		return;
	wants = as_pod_requests(&a, as_object_tree(&a, o));
	for (struct as_index_entry *e = s->api->nodes->index.first[0]; e != NULL; e = e->next[0]) {
		if (strcmp(e->object->name, HUGE_NODE) == 0 || !has_room(s, &a, e->object, &wants))
			continue;
		sim_user(s, "POST", path,
		         "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}",
		         pod, e->object->name);
		break;
	}
	as_arena_free(&a);
}

static void foreign(struct sim *s, uint32_t pod, uint32_t shape)
{
	char name[32];

	snprintf(name, sizeof(name), "f%u", pod);
	sim_user(
		s, "POST", PODS,
		"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"schedulerName\":\"other\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
		"\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]}}",
		name, 1 + shape % 2);
	foreign_bind(s, name);
}

static void node_make(struct sim *s, uint32_t node, uint32_t cpu)
{
	static const char taint[] =
		",\"spec\":{\"taints\":[{\"key\":\"huge\",\"effect\":\"NoSchedule\"}]}";

	sim_user(
		s, "POST", "/api/v1/nodes",
		"{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"kubernetes.io/hostname\":\"n%u\"}}%s,\"status\":{\"capacity\":"
		"{\"cpu\":\"%u\",\"memory\":\"8Gi\",\"pods\":\"%u\"%s}}}",
		node, node, node == SIM_HUGE_NODE ? taint : "", node == SIM_HUGE_NODE ? 12 : 1 + cpu % 9,
		3 + cpu % 5, node == SIM_GPU_NODE ? ",\"nvidia.com/gpu\":\"2\"" : "");
}

static void node_size(struct sim *s, uint32_t node, uint32_t cpu)
{
	char path[64];

	snprintf(path, sizeof(path), "/api/v1/nodes/n%u/status", node);
	sim_user(s, "PATCH", path,
	         "{\"status\":{\"allocatable\":{\"cpu\":\"%u\"},\"capacity\":{\"cpu\":\"%u\"}}}",
	         1 + cpu % 9, 1 + cpu % 9);
}

static void node_change(struct sim *s, const struct action *a)
{
	char path[64];

	snprintf(path, sizeof(path), "/api/v1/nodes/n%u", a->a);
	if (a->kind == ACTION_NODE_DELETE)
		sim_user(s, "DELETE", path, "%s", "");
	else
		sim_user(s, "PATCH", path, "{\"spec\":{\"unschedulable\":%s}}", a->b ? "true" : "null");
}

static void group_do(struct sim *s, const struct action *a)
{
	char path[160];

	snprintf(path, sizeof(path), SIM_GROUPS_PATH "/g%u", a->a);
	if (a->kind == ACTION_GROUP_NEW)
		sim_user(s, "POST", SIM_GROUPS_PATH,
		         "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\","
		         "\"metadata\":{\"name\":\"g%u\"},\"spec\":{\"minMember\":%u}}",
		         a->a, a->b);
	else if (a->kind == ACTION_GROUP_EDIT)
		sim_user(s, "PATCH", path, "{\"spec\":{\"minMember\":%u}}", 1 + a->b);
	else
		sim_user(s, "DELETE", path, "%s", "");
}

static void network_do(const struct replica *p, const struct action *a, uint64_t until_ns)
{
	switch (a->kind) {
	case ACTION_API_DIES:
		p->code->net_down(p->net, until_ns);
		break;
	case ACTION_WATCHES_CUT:
		p->code->net_cut_watches(p->net);
		break;
	case ACTION_WATCHES_SLOW:
		p->code->net_watches_slow(p->net, until_ns);
		break;
	case ACTION_NET:
		p->code->net_window(p->net, (enum fate)a->a, until_ns, a->c % SIM_ONLY_BINDINGS,
		                    a->c >= SIM_ONLY_BINDINGS);
		break;
	default:
		break;
	}
}

static uint32_t leader_of(struct sim *s)
{
	const struct replica *leader = sim_leader(s);

	return (leader != NULL ? (uint32_t)(leader - s->replicas) : SIM_LEADER) % s->script->instances;
}

static void process_do(struct sim *s, const struct action *a)
{
	uint64_t ns = (1 + a->b) * SIM_MS, until = s->now_ns + ns;
	const uint32_t instance = a->a == SIM_LEADER ? leader_of(s) : a->a % s->script->instances;
	const struct replica *p = sim_replica(s, instance);

	story_tell(s, "fault   %s %u %u %u",
	           a->kind == ACTION_NET ? fate_name((enum fate)a->a) : action_name(a->kind), a->a,
	           a->b, a->c);
	switch (a->kind) {
	case ACTION_BOTH_DIE:
		sim_restart(s, instance, ns);
		break;
	case ACTION_CORE_DIES:
		p->code->core_dies(p->instance, ns);
		break;
	case ACTION_FRONTEND_DIES:
		p->code->frontend_dies(p->instance, ns);
		break;
	case ACTION_CORE_STOPS:
		p->code->core_stops(p->instance, ns);
		break;
	case ACTION_FRONTEND_STOPS:
		p->code->frontend_stops(p->instance, ns);
		break;
	case ACTION_BOTH_STOP:
		p->code->frontend_stops(p->instance, ns);
		p->code->core_stops(p->instance, ns);
		break;
	case ACTION_PAUSE:
		p->code->pauses(p->instance, ns);
		break;
	case ACTION_COMPACT:
		as_store_compact(s->api->store);
		break;
	case ACTION_CUT:
		p->code->net_down(p->net, until);
		break;
	case ACTION_CLOCK:
		s->wall_jump_ns = (a->b ? -(int64_t)a->a : (int64_t)a->a) * (int64_t)SIM_S;
		break;
	default:
		for (uint32_t i = 0; i < s->replicas_n; i++)
			network_do(&s->replicas[i], a, until);
	}
}

void workload_do(struct sim *s, const struct action *a)
{
	char name[32];

	switch (a->kind) {
	case ACTION_POD_NEW:
		pod_make(s, a->a, a->b, a->c);
		break;
	case ACTION_POD_DELETE:
		sim_user(s, "DELETE", pod_path(a->a, ""), "{\"gracePeriodSeconds\":%u}", a->b);
		break;
	case ACTION_POD_AGAIN:
		pod_again(s, a->a);
		break;
	case ACTION_POD_END:
		sim_user(s, "PATCH", pod_path(a->a, "/status"), "{\"status\":{\"phase\":\"%s\"}}",
		         a->b ? "Failed" : "Succeeded");
		break;
	case ACTION_POD_UNGATE:
		sim_user(s, "PATCH", pod_path(a->a, ""), "%s", "{\"spec\":{\"schedulingGates\":null}}");
		break;
	case ACTION_POD_GRAB:
		snprintf(name, sizeof(name), "p%u", a->a);
		foreign_bind(s, name);
		break;
	case ACTION_POD_TOUCH:
		sim_user(s, "PATCH", pod_path(a->a, ""),
		         "{\"metadata\":{\"labels\":{\"touched\":\"%llu\"}}}",
		         (unsigned long long)(s->now_ns % 1000));
		break;
	case ACTION_GROUP_NEW:
	case ACTION_GROUP_EDIT:
	case ACTION_GROUP_DELETE:
		group_do(s, a);
		break;
	case ACTION_TENANT:
		tenants_do(s, a->a);
		break;
	case ACTION_QUEUES:
		queues_edit(s, a->a);
		break;
	case ACTION_CLAIM_TAKE:
	case ACTION_CLAIM_GIVE:
		claims_do(s, a);
		break;
	case ACTION_FOREIGN:
		foreign(s, a->a, a->c);
		break;
	case ACTION_NODE_NEW:
		node_make(s, a->a, a->b);
		break;
	case ACTION_NODE_SIZE:
		node_size(s, a->a, a->b);
		break;
	case ACTION_NODE_CORDON:
	case ACTION_NODE_DELETE:
		node_change(s, a);
		break;
	default:
		process_do(s, a);
	}
}

void workload_start(struct sim *s)
{
	char *why = NULL;

	if (as_api_add_custom(s->api, "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true,
	                      true, SIM_EPOCH_NS + s->now_ns, &why) < 0)
		as_die("the simulator's resources: %s", why);
	queues_start(s);
	claims_start(s);
	if (s->script->tenants)
		sim_user(s, "POST", "/api/v1/namespaces", "%s",
		         "{\"metadata\":{\"name\":\"" SIM_TENANT "\"}}");
	sim_user(s, "POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
	         "{\"metadata\":{\"name\":\"high\"},\"value\":1000}");
}
