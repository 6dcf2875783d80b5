/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_truth.h"

struct json_out {
	char *at;
	size_t cap, n;
};

__attribute__((format(printf, 2, 3))) static void add(struct json_out *o, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(o->at + o->n, o->cap - o->n, format, args);
	va_end(args);
	cr_assert(n >= 0 && o->n + (size_t)n < o->cap);
	o->n += (size_t)n;
}

static void write_node(struct node_truth *n, int i)
{
	struct json_out o = { n->json, sizeof(n->json), 0 };
	const char *comma = "";

	add(&o, "{\"metadata\":{\"name\":\"n%d\",\"uid\":\"u\",\"resourceVersion\":\"%d\",\"labels\":{",
	    i, n->version);
	for (int k = 0; k < KEYS; k++) {
		if (n->labels[k] < 0)
			continue;
		add(&o, "%s\"k%d\":\"%d\"", comma, k, n->labels[k]);
		comma = ",";
	}
	add(&o, "}},\"spec\":{\"unschedulable\":%s,\"taints\":[", n->cordoned ? "true" : "false");
	if (n->taint >= 0)
		add(&o, "{\"key\":\"t%d\",\"value\":\"x\",\"effect\":\"NoSchedule\"}", n->taint);
	add(&o, "]},\"status\":{\"allocatable\":{\"cpu\":\"%d%s\",\"example.com/g%d\":\"%d\"}}}",
	    n->cpu, n->bad ? "x" : "", n->gpu % 3, n->gpu);
}

static void write_rule(struct json_out *o, const struct pod_truth *p)
{
	static const char open[] =
		",\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
		"{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"nowhere\",\"operator\":\"Exists\"}]},{";

	switch (p->rule) {
	case RULE_SELECTOR:
		add(o, ",\"nodeSelector\":{\"k%d\":\"%d\"}", p->key, p->value);
		break;
	case RULE_NOT_IN:
		add(o,
		    "%s\"matchExpressions\":[{\"key\":\"k%d\",\"operator\":\"NotIn\",\"values\":[\"%d\",\"zzz\"]}]}]}}}",
		    open, p->key, p->value);
		break;
	case RULE_EXISTS:
		add(o, "%s\"matchExpressions\":[{\"key\":\"k%d\",\"operator\":\"Exists\"}]}]}}}", open,
		    p->key);
		break;
	case RULE_NAME:
		add(o,
		    "%s\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n%d\"]}]}]}}}",
		    open, p->value);
		break;
	case RULE_GT:
		add(o,
		    "%s\"matchExpressions\":[{\"key\":\"k%d\",\"operator\":\"Gt\",\"values\":[\"%d\"]}]}]}}}",
		    open, p->key, p->value);
		break;
	default:
		break;
	}
}

static void write_pod(struct pod_truth *p, int i)
{
	struct json_out o = { p->json, sizeof(p->json), 0 };

	add(&o,
	    "{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"",
	    i, p->uid, p->version);
	add(&o, ",\"labels\":{\"always\":\"\"");
	for (int k = 0; k < PAIRS; k++)
		if (p->labels[k] >= 0)
			add(&o, ",\"l%d\":\"%d\"", k, p->labels[k]);
	if (p->group >= 0)
		add(&o, ",\"scheduling.x-k8s.io/pod-group\":\"g%d\"", p->group);
	if (p->policy >= 0)
		add(&o, ",\"workload-policy/kosmos.io\":\"y%d\"", p->policy);
	add(&o, "}%s},\"spec\":{\"schedulerName\":\"%s\",\"priority\":%d",
	    p->deleting ? ",\"deletionTimestamp\":\"2026-03-05T12:15:08Z\"" : "",
	    p->ours ? "muster" : "other", p->priority);
	add(&o,
	    ",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\",\"example.com/g%d\":\"1\"}}}]",
	    p->cpu, p->cpu % 4);
	if (p->node >= 0)
		add(&o, ",\"nodeName\":\"n%d\"", p->node);
	if (p->gated)
		add(&o, ",\"schedulingGates\":[{\"name\":\"x\"}]");
	if (p->tolerates >= 0)
		add(&o, ",\"tolerations\":[{\"key\":\"t%d\",\"value\":\"x\"}]", p->tolerates);
	write_rule(&o, p);
	if (p->spreads)
		add(&o,
		    ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"k0\",\"whenUnsatisfiable\":\"ScheduleAnyway\"}]");
	add(&o, "},\"status\":{\"phase\":\"%s\"}}", p->ended ? "Succeeded" : "Pending");
}

static void write_group(struct group_truth *g, int i)
{
	struct json_out o = { g->json, sizeof(g->json), 0 };

	add(&o,
	    "{\"metadata\":{\"name\":\"g%d\",\"namespace\":\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"},\"spec\":{\"minMember\":%d,"
	    "\"minResources\":{\"example.com/h%d\":\"%d\"}}}",
	    i, g->uid, g->version, g->min, g->gpu % 2, g->gpu);
}

static void write_service(struct service_truth *v, int i)
{
	struct json_out o = { v->json, sizeof(v->json), 0 };
	const char *comma = "";

	add(&o,
	    "{\"metadata\":{\"name\":\"s%d\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"%d\"},\"spec\":{\"selector\":{",
	    i, v->version);
	for (int k = 0; k < PAIRS; k++) {
		if (v->selects[k] < 0)
			continue;
		add(&o, "%s\"l%d\":\"%d\"", comma, k, v->selects[k]);
		comma = ",";
	}
	add(&o, "}}}");
}

static void write_policy(struct policy_truth *y, int i)
{
	struct json_out o = { y->json, sizeof(y->json), 0 };

	add(&o,
	    "{\"metadata\":{\"name\":\"y%d\",\"namespace\":\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\"},\"spec\":{\"topologyKey\":\"k1\"",
	    i, y->uid, y->version);
	add(&o, ",\"allocationType\":\"%s\",\"allocationMethod\":\"%s\"",
	    y->bad        ? "bad"
	    : y->required ? "Required"
	                  : "Preferred",
	    y->fill ? "Fill" : "Balance");
	if (y->selects >= 0)
		add(&o, ",\"labelSelector\":{\"matchLabels\":{\"l0\":\"%d\"}}", y->selects);
	else
		add(&o, ",\"labelSelector\":{}");
	add(&o, ",\"allocationPolicy\":[");
	for (int k = y->shares; k-- > 0;)
		add(&o, "{\"name\":\"%d\",\"replicas\":%d}%s", k, k + y->version % 3, k ? "," : "");
	add(&o, "]}}");
}

static void write_namespace(struct namespace_truth *n)
{
	struct json_out o = { n->json, sizeof(n->json), 0 };

	add(&o,
	    "{\"metadata\":{\"name\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"%d\",\"labels\":{\"team\":\"%d\"}}}",
	    n->version, n->team);
}

static void put(struct truth *t, int resource, const char *json, bool may_fail)
{
	size_t n = strlen(json);
	char *exact = malloc(n);
	struct decode_error error;
	int rc;

	cr_assert(exact);
	memcpy(exact, json, n);
	rc = model_put(t->m, resource, exact, n, &error);
	cr_assert(rc == 0 || (rc == -EINVAL && may_fail) || (rc == -ENOSPC && t->is_tight), "%s: %s %s",
	          json, error.field, error.text);
	free(exact);
}

static void delete (struct truth *t, int resource, const char *json)
{
	cr_assert_eq(model_remove(t->m, resource, json, strlen(json), NULL), 0);
}

static void change_node(struct truth *t, int i)
{
	struct node_truth *n = &t->nodes[i];
	char old[sizeof(n->json)];
	bool was = n->exists;

	memcpy(old, n->json, sizeof(old));
	n->exists = true;
	n->version = ++t->version;
	n->bad = random_below(&t->r, 10) == 0;
	n->cordoned = random_below(&t->r, 5) == 0;
	n->cpu = (int)random_below(&t->r, 8) + 1;
	n->gpu = (int)random_below(&t->r, 5);
	n->taint = (int)random_below(&t->r, 5) - 2;
	for (int k = 0; k < KEYS; k++)
		n->labels[k] = (int)random_below(&t->r, 12) - 2;
	write_node(n, i);
	put(t, RESOURCE_INDEX_NODES, n->json, n->bad);
	if (was && random_below(&t->r, 8) == 0) /* a late event of an earlier version */
		put(t, RESOURCE_INDEX_NODES, old, true);
}

static void change_pod(struct truth *t, int i)
{
	struct pod_truth *p = &t->pods[i];
	char old[sizeof(p->json)];
	bool was = p->exists && !p->ended;

	memcpy(old, p->json, sizeof(old));
	if (!p->exists || p->ended || random_below(&t->r, 12) == 0) {
		p->uid++;
		p->node = p->binding = -1;
		p->ended = p->deleting = was = false;
		p->ours = random_below(&t->r, 3) > 0;
		p->cpu = (int)random_below(&t->r, 6);
		p->rule = (enum rule)random_below(&t->r, RULES);
		p->key = (int)random_below(&t->r, KEYS);
		p->value = (int)random_below(&t->r, 10);
		p->tolerates = (int)random_below(&t->r, 4) - 1;
		p->priority = (int)random_below(&t->r, 3) - 1;
		p->spreads = random_below(&t->r, 4) == 0;
		p->policy = random_below(&t->r, 2) ? (int)random_below(&t->r, POLICIES + 1) : -1;
	}
	for (int k = 0; k < PAIRS; k++)
		p->labels[k] = random_below(&t->r, 3) ? (int)random_below(&t->r, 2) : -1;
	p->exists = true;
	p->version = ++t->version;
	p->group = random_below(&t->r, 10) ? (i % 4) - 1 : (int)random_below(&t->r, GROUPS + 1) - 1;
	p->gated = p->node < 0 && random_below(&t->r, 6) == 0;
	p->deleting |= random_below(&t->r, 15) == 0;
	if (p->node < 0 && random_below(&t->r, 4) == 0)
		p->node = (int)random_below(&t->r, NODES);
	p->ended = p->node >= 0 && random_below(&t->r, 6) == 0;
	if (p->ended || (!p->ours && p->node < 0))
		p->binding = -1;
	write_pod(p, i);
	put(t, RESOURCE_INDEX_PODS, p->json, false);
	if (was && !p->ended && (p->ours || p->node >= 0) && random_below(&t->r, 8) == 0)
		put(t, RESOURCE_INDEX_PODS, old, false);
}

static void change_group(struct truth *t, int i)
{
	struct group_truth *g = &t->groups[i];

	if (!g->exists || random_below(&t->r, 10) == 0)
		g->uid++;
	g->exists = true;
	g->version = ++t->version;
	g->min = (int)random_below(&t->r, 5);
	g->gpu = (int)random_below(&t->r, 3);
	write_group(g, i);
	put(t, RESOURCE_INDEX_DIALECTS, g->json, false);
}

static void change_service(struct truth *t, int i)
{
	struct service_truth *v = &t->services[i];

	v->exists = true;
	v->version = ++t->version;
	for (int k = 0; k < PAIRS; k++)
		v->selects[k] = (int)random_below(&t->r, 4) - 2;
	write_service(v, i);
	put(t, t->resource_services, v->json, false);
}

static void change_policy(struct truth *t, int i)
{
	struct policy_truth *y = &t->policies[i];
	char old[sizeof(y->json)];
	bool was = y->exists;

	memcpy(old, y->json, sizeof(old));
	if (!was || random_below(&t->r, 10) == 0) {
		y->uid++;
		was = false;
	}
	y->exists = true;
	y->version = ++t->version;
	y->bad = random_below(&t->r, 6) == 0;
	y->fill = random_below(&t->r, 2);
	y->required = random_below(&t->r, 2);
	y->selects = (int)random_below(&t->r, 3) - 1;
	y->shares = (int)random_below(&t->r, 4);
	write_policy(y, i);
	put(t, t->resource_policies, y->json, y->bad);
	if (was && random_below(&t->r, 8) == 0)
		put(t, t->resource_policies, old, true);
}

static void change_namespace(struct truth *t)
{
	t->namespace.exists = true;
	t->namespace.version = ++t->version;
	t->namespace.team = (int)random_below(&t->r, 3);
	write_namespace(&t->namespace);
	put(t, t->resource_namespaces, t->namespace.json, false);
}

static void delete_some(struct truth *t)
{
	int i;

	switch (random_below(&t->r, 6)) {
	case 5:
		i = (int)random_below(&t->r, POLICIES);
		if (t->policies[i].exists)
			delete (t, t->resource_policies, t->policies[i].json);
		t->policies[i].exists = false;
		break;
	case 3:
		i = (int)random_below(&t->r, SERVICES);
		if (t->services[i].exists)
			delete (t, t->resource_services, t->services[i].json);
		t->services[i].exists = false;
		break;
	case 4:
		if (t->namespace.exists)
			delete (t, t->resource_namespaces, t->namespace.json);
		t->namespace.exists = false;
		break;
	case 0:
		i = (int)random_below(&t->r, NODES);
		if (t->nodes[i].exists)
			delete (t, RESOURCE_INDEX_NODES, t->nodes[i].json);
		t->nodes[i].exists = false;
		break;
	case 1:
		i = (int)random_below(&t->r, PODS);
		if (t->pods[i].exists)
			delete (t, RESOURCE_INDEX_PODS, t->pods[i].json);
		t->pods[i].exists = false;
		t->pods[i].binding = -1;
		break;
	default:
		i = (int)random_below(&t->r, GROUPS);
		if (t->groups[i].exists)
			delete (t, RESOURCE_INDEX_DIALECTS, t->groups[i].json);
		t->groups[i].exists = false;
	}
}

/* A new list: some objects have changed, some are gone. */
static void replace(struct truth *t)
{
	int resource = (int)random_below(&t->r, 3);
	int n = resource == RESOURCE_INDEX_NODES  ? NODES
	        : resource == RESOURCE_INDEX_PODS ? PODS
	                                          : GROUPS;

	model_replace_begin(t->m, resource);
	for (int i = 0; i < n; i++) {
		bool *exists = resource == RESOURCE_INDEX_NODES  ? &t->nodes[i].exists
		               : resource == RESOURCE_INDEX_PODS ? &t->pods[i].exists
		                                                 : &t->groups[i].exists;
		uint32_t fate = random_below(&t->r, 6);

		if (!*exists && fate != 1)
			continue;
		if (fate == 0) {
			*exists = false;
			if (resource == RESOURCE_INDEX_PODS)
				t->pods[i].binding = -1;
		} else if (fate == 1 && resource == RESOURCE_INDEX_NODES) {
			change_node(t, i);
		} else if (fate == 1 && resource == RESOURCE_INDEX_PODS) {
			change_pod(t, i);
		} else if (fate == 1) {
			change_group(t, i);
		} else {
			put(t, resource,
			    resource == RESOURCE_INDEX_NODES  ? t->nodes[i].json
			    : resource == RESOURCE_INDEX_PODS ? t->pods[i].json
			                                      : t->groups[i].json,
			    true);
		}
	}
	model_replace_end(t->m, resource);
}

/* A new list of services and of the namespace; some are gone. */
static void replace_referred(struct truth *t)
{
	model_replace_begin(t->m, t->resource_services);
	for (int i = 0; i < SERVICES; i++) {
		if (random_below(&t->r, 4) == 0)
			change_service(t, i);
		else if (random_below(&t->r, 4) == 0)
			t->services[i].exists = false;
		else if (t->services[i].exists)
			put(t, t->resource_services, t->services[i].json, false);
	}
	model_replace_end(t->m, t->resource_services);
	model_replace_begin(t->m, t->resource_policies);
	for (int i = 0; i < POLICIES; i++) {
		t->policies[i].exists = t->policies[i].exists && random_below(&t->r, 3);
		if (t->policies[i].exists)
			put(t, t->resource_policies, t->policies[i].json, t->policies[i].bad);
	}
	model_replace_end(t->m, t->resource_policies);
	model_replace_begin(t->m, t->resource_namespaces);
	t->namespace.exists = false;
	if (random_below(&t->r, 2))
		change_namespace(t);
	model_replace_end(t->m, t->resource_namespaces);
}

static void bind_some(struct truth *t)
{
	int i = (int)random_below(&t->r, PODS), node = (int)random_below(&t->r, NODES);
	struct pod_truth *p = &t->pods[i];
	struct pod_view v;
	char name[8];
	const struct event_node *n;

	snprintf(name, sizeof(name), "p%d", i);
	if (!model_pod_by_name(t->m, "ns", name, &v))
		return;
	if (p->binding >= 0) {
		model_bind_end(t->m, p->binding_id, p->binding_generation);
		p->binding = -1;
		return;
	}
	snprintf(name, sizeof(name), "n%d", node);
	n = replay_node(&t->replay, name);
	if (!n || !v.ours || *v.node || !model_node(t->m, n->node, n->generation))
		return;
	model_bind_begin(t->m, v.id, v.generation, n->node);
	p->binding = node;
	p->binding_id = v.id;
	p->binding_generation = v.generation;
}

void truth_step(struct truth *t)
{
	switch (random_below(&t->r, 17)) {
	case 15:
	case 16:
		change_policy(t, (int)random_below(&t->r, POLICIES));
		break;
	case 12:
	case 13:
		change_service(t, (int)random_below(&t->r, SERVICES));
		break;
	case 14:
		if (random_below(&t->r, 10) == 0)
			replace_referred(t);
		else
			change_namespace(t);
		break;
	case 0:
	case 1:
		change_node(t, (int)random_below(&t->r, NODES));
		break;
	case 2:
		change_group(t, (int)random_below(&t->r, GROUPS));
		break;
	case 3:
	case 4:
		delete_some(t);
		break;
	case 5:
		if (random_below(&t->r, 6) == 0)
			replace(t);
		break;
	case 6:
		bind_some(t);
		break;
	case 7:
		if (random_below(&t->r, 30) == 0) {
			replay_forget(&t->replay); /* a new core */
			model_restart(t->m);
		}
		break;
	default:
		change_pod(t, (int)random_below(&t->r, PODS));
	}
}
