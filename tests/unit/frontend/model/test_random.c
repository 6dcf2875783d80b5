/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are put and removed at random, the ring is small, cores restart; whenever all is sent,
 * the records equal the objects. */
#include "core/shm/records.h"
#include "frontend/model/valid.h"

#include "tests/unit/support_random.h"
#include "tests/unit/support_replay.h"
#include "tests/unit/test.h"

#define NODES 6
#define PODS 14
#define GROUPS 3
#define KEYS 3
#define PAIRS 2 /* labels of pods, which services select by */
#define SERVICES 4
#define POLICIES 2

enum rule { RULE_NONE, RULE_SELECTOR, RULE_NOT_IN, RULE_EXISTS, RULE_NAME, RULE_GT, RULES };

/* The content of the objects. */
struct node_truth {
	bool exists, bad, cordoned;
	int version, cpu, gpu, taint; /* -1: none */
	int labels[KEYS];             /* -1: none */
	char json[1024];
};

struct pod_truth {
	bool exists, ours, ended, gated, deleting;
	int version, uid, node, group, cpu, priority;
	enum rule rule;
	int key, value, tolerates;
	int labels[PAIRS]; /* -1: none */
	bool spreads;      /* has a constraint of its own */
	int policy;        /* -1: none; POLICIES: one that never is */
	int binding;       /* node, -1 */
	uint32_t binding_id, binding_generation;
	char json[2048];
};

struct group_truth {
	bool exists;
	int version, uid, min, gpu;
	char json[1024];
};

struct service_truth {
	bool exists;
	int version;
	int selects[PAIRS]; /* -1: any */
	char json[512];
};

struct policy_truth {
	bool exists, bad, fill, required;
	int version, uid, selects; /* value of label l0; -1: any */
	int shares;                /* domains k1=0, 1, ... of so many replicas */
	char json[1024];
};

struct namespace_truth {
	bool exists;
	int version, team;
	char json[256];
};

struct truth {
	struct random r;
	struct model *m;
	struct replay replay;
	int version;
	bool is_tight; /* limits are reached: only the order of records is checked */
	struct node_truth nodes[NODES];
	struct pod_truth pods[PODS];
	struct group_truth groups[GROUPS];
	struct service_truth services[SERVICES];
	struct policy_truth policies[POLICIES];
	struct namespace_truth namespace; /* of all pods */
	int resource_services, resource_namespaces, resource_policies;
};

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

static bool is_known(const struct pod_truth *p)
{
	return p->exists && !p->ended && (p->ours || p->node >= 0);
}

static bool text_allows(const struct pod_truth *p, const struct node_truth *n, int node)
{
	int label = n->labels[p->key];

	if (n->cordoned || (n->taint >= 0 && n->taint != p->tolerates))
		return false;
	switch (p->rule) {
	case RULE_SELECTOR:
		return label == p->value;
	case RULE_NOT_IN:
		return label < 0 || label != p->value;
	case RULE_EXISTS:
		return label >= 0;
	case RULE_NAME:
		return node == p->value;
	case RULE_GT:
		return label >= 0 && label > p->value;
	default:
		return true;
	}
}

static bool selects(const struct service_truth *v, const struct pod_truth *p)
{
	bool any = false;

	for (int k = 0; v->exists && k < PAIRS; k++) {
		if (v->selects[k] >= 0 && v->selects[k] != p->labels[k])
			return false;
		any |= v->selects[k] >= 0;
	}
	return any;
}

/* The default constraints count by the pairs of all services that select the pod. */
static void same_spread(struct truth *t, const struct pod_truth *p, const struct event_pod *e)
{
	struct shape_record r;
	uint32_t pairs = 0;

	replay_parts(&t->replay, e, &r);
	for (int k = 0; k < PAIRS && !p->spreads && p->ours && p->node < 0; k++) {
		bool asked = false;

		for (int i = 0; i < SERVICES; i++)
			asked |= selects(&t->services[i], p) && t->services[i].selects[k] >= 0;
		pairs += asked;
	}
	if (pairs == 0) {
		cr_assert_eq(r.body->spreads_n, p->spreads && p->ours && p->node < 0);
		cr_assert(r.body->spreads_n == 0 || !(r.spreads[0].flags & SPREAD_DEFAULT));
		return;
	}
	cr_assert_eq(r.body->spreads_n, 2);
	cr_assert_eq(r.spreads[0].clauses.n, pairs);
	for (uint32_t i = 0; i < pairs; i++) {
		const struct requirement *q = &r.clauses[r.spreads[1].clauses.first + i];
		const char *key = intern_text(&t->m->keys, q->key);

		cr_assert(q->op == REQUIRE_IN && q->values_n == 1 && key[0] == 'l');
		cr_assert_eq(atoi(intern_text(&t->m->values, r.values[q->values_first])),
		             p->labels[key[1] - '0']);
	}
}

/* The policy that must be in the pod's shape. */
static const struct policy_truth *good_policy(const struct truth *t, const struct pod_truth *p)
{
	bool named = p->policy >= 0 && p->policy < POLICIES && p->ours && p->node < 0;

	return named && t->policies[p->policy].exists && !t->policies[p->policy].bad
	           ? &t->policies[p->policy]
	           : NULL;
}

static void same_policy(struct truth *t, const struct pod_truth *p, const struct event_pod *e)
{
	const struct policy_truth *y = good_policy(t, p);
	struct shape_record r;

	replay_parts(&t->replay, e, &r);
	cr_assert_eq(r.body->policies_n, y != NULL);
	cr_assert_eq(r.body->shares_n, y ? (uint32_t)y->shares : 0);
	if (!y)
		return;
	cr_assert_eq(r.policies[0].flags,
	             (y->fill ? POLICY_FILL : 0u) | (y->required ? POLICY_REQUIRED : 0u) |
	                 (y->selects >= 0 && y->selects != p->labels[0] ? POLICY_UNSELECTED : 0u));
	cr_assert_str_eq(intern_text(&t->m->keys, r.policies[0].topology), "k1");
	cr_assert_eq(r.policies[0].clauses.n, y->selects >= 0);
	for (uint32_t i = 0; i < r.body->shares_n; i++)
		cr_assert_eq(
			r.shares[i].replicas,
			(uint32_t)(atoi(intern_text(&t->m->values, r.shares[i].value)) + y->version % 3));
}

static void same_labels(struct truth *t, const struct pod_truth *p, const struct event_pod *e)
{
	uint32_t n = 1 + (p->group >= 0) + (p->policy >= 0);

	for (int k = 0; k < PAIRS; k++)
		n += p->labels[k] >= 0;
	cr_assert_eq(e->labels_n, n);
	cr_assert_str_eq(intern_text(&t->m->values, e->namespace), "ns");
	for (uint32_t i = 0; i < n; i++) {
		const char *key = intern_text(&t->m->keys, replay_pod_labels(e)[i].key);

		if (key[0] == 'l')
			cr_assert_eq(atoi(intern_text(&t->m->values, replay_pod_labels(e)[i].value)),
			             p->labels[key[1] - '0']);
	}
}

static void same_pod(struct truth *t, int i, size_t *found)
{
	const struct pod_truth *p = &t->pods[i];
	const struct event_pod *e;
	const struct event_shape *s;
	char name[16], group[16];

	snprintf(name, sizeof(name), "ns/p%d", i);
	e = replay_pod(&t->replay, name);
	cr_assert_eq(e != NULL, is_known(p), "%s", name);
	if (!e)
		return;
	++*found;
	cr_assert_eq(
		e->flags & ~(uint32_t)POD_BINDING,
		(p->ours ? POD_OURS : 0u) | (p->gated ? POD_GATED : 0u) |
			(p->deleting ? POD_DELETING : POD_LASTS) |
			(p->policy >= 0 && p->ours && p->node < 0 && !good_policy(t, p) ? POD_REFUSED : 0u));
	cr_assert_eq(e->priority, p->priority);
	snprintf(group, sizeof(group), "ns/g%d", p->group);
	cr_assert_eq(e->gang,
	             p->group >= 0 && p->ours ? replay_gang(&t->replay, group)->gang : ID_NONE);
	snprintf(name, sizeof(name), "n%d", p->node);
	if (!(e->flags & POD_BINDING))
		cr_assert_eq(e->node, p->node >= 0 ? replay_node(&t->replay, name)->node : ID_NONE);
	same_labels(t, p, e);
	same_spread(t, p, e);
	same_policy(t, p, e);
	s = replay_shape(&t->replay, e);
	cr_assert_eq(replay_amount(&t->replay, replay_shape_amounts(s), s->amounts_n, "cpu"),
	             p->cpu > 0 ? p->cpu * 1000 : -1);
	snprintf(name, sizeof(name), "example.com/g%d", p->cpu % 4);
	cr_assert_eq(replay_amount(&t->replay, replay_shape_amounts(s), s->amounts_n, name), 1);
	for (int n = 0; n < NODES && p->ours && p->node < 0; n++) {
		const struct event_node *node;

		snprintf(name, sizeof(name), "n%d", n);
		node = replay_node(&t->replay, name);
		if (node && (node->flags & NODE_PRESENT))
			cr_assert_eq(replay_allows(s, node), text_allows(p, &t->nodes[n], n), "p%d on n%d", i,
			             n);
	}
}

static void same_node(struct truth *t, int i, size_t *found)
{
	const struct node_truth *n = &t->nodes[i];
	bool is_named = false;
	const struct event_node *e;
	char name[16];

	for (int p = 0; p < PODS; p++)
		is_named |= is_known(&t->pods[p]) && (t->pods[p].node == i || t->pods[p].binding == i);
	snprintf(name, sizeof(name), "n%d", i);
	e = replay_node(&t->replay, name);
	cr_assert_eq(e != NULL, n->exists || is_named, "%s: %d, %d", name, n->exists, is_named);
	if (!e)
		return;
	++*found;
	cr_assert_eq(e->flags,
	             n->exists && !n->bad ? NODE_PRESENT | (n->cordoned ? NODE_CORDONED : 0u) : 0u,
	             "%s: flags %u, exists %d, bad %d: %s", name, e->flags, n->exists, n->bad, n->json);
	if (!(e->flags & NODE_PRESENT))
		return;
	cr_assert_eq(replay_amount(&t->replay, replay_node_amounts(e), e->amounts_n, "cpu"),
	             n->cpu * 1000);
	snprintf(name, sizeof(name), "example.com/g%d", n->gpu % 3);
	cr_assert_eq(replay_amount(&t->replay, replay_node_amounts(e), e->amounts_n, name),
	             n->gpu > 0 ? n->gpu : -1);
	cr_assert_eq(e->taints_n, n->taint >= 0);
	if (n->taint >= 0) {
		snprintf(name, sizeof(name), "t%d: x", n->taint);
		cr_assert_str_eq(model_name(t->m, replay_taints(e)[0].name), name);
	}
}

static void same_group(struct truth *t, int i, size_t *found)
{
	const struct group_truth *g = &t->groups[i];
	const struct event_gang *e;
	bool is_named = false;
	char name[20];

	for (int p = 0; p < PODS; p++)
		is_named |= is_known(&t->pods[p]) && t->pods[p].ours && t->pods[p].group == i;
	snprintf(name, sizeof(name), "ns/g%d", i);
	e = replay_gang(&t->replay, name);
	cr_assert_eq(e != NULL, g->exists || is_named, "%s", name);
	if (!e)
		return;
	++*found;
	cr_assert_eq(e->flags, g->exists ? 0u : GANG_OBJECT_MISSING);
	cr_assert_eq(e->quorum, g->exists ? (uint32_t)g->min : 0);
	snprintf(name, sizeof(name), "example.com/h%d", g->gpu % 2);
	cr_assert_eq(replay_amount(&t->replay, replay_gang_amounts(e), e->amounts_n, name),
	             g->exists && g->gpu > 0 ? g->gpu : -1);
}

static void same_namespace(struct truth *t)
{
	const struct event_namespace *e;
	const struct pod_label *l;

	cr_assert_eq(t->replay.namespaces_n, t->namespace.exists);
	if (!t->namespace.exists)
		return;
	e = (const void *)t->replay.namespaces[0].body;
	l = (const void *)(e + 1);
	cr_assert_eq(e->labels_n, 1);
	cr_assert_str_eq(intern_text(&t->m->values, e->name), "ns");
	cr_assert_eq(atoi(intern_text(&t->m->values, l->value)), t->namespace.team);
}

static void same(struct truth *t)
{
	const struct limits *l = &t->replay.limits;
	size_t pods = 0, nodes = 0, groups = 0;

	for (int i = 0; i < GROUPS; i++)
		same_group(t, i, &groups);
	for (int i = 0; i < NODES; i++)
		same_node(t, i, &nodes);
	for (int i = 0; i < PODS; i++)
		same_pod(t, i, &pods);
	same_namespace(t);
	cr_assert_eq(replay_count(t->replay.pods, l->pods), pods);
	cr_assert_eq(replay_count(t->replay.nodes, l->nodes), nodes);
	cr_assert_eq(replay_count(t->replay.gangs, l->gangs), groups);
	for (uint32_t i = 0; i < l->shapes; i++) {
		bool is_used = i == t->m->shape_empty;

		for (uint32_t p = 0; p < l->pods; p++)
			is_used |= t->replay.pods[p].body &&
			           ((struct event_pod *)(void *)t->replay.pods[p].body)->shape == i;
		cr_assert_eq(t->replay.shapes[i].generation != 0, is_used, "shape %u", i);
	}
}

/* A number must mean the same text while the core has a record with it; texts are read when a
 * record is new. */
struct meaning {
	unsigned serial;
	char text[64];
};

static void numbers_mean_the_same(struct truth *t, struct meaning *known)
{
	for (uint32_t i = 0; i < t->replay.limits.nodes; i++) {
		const struct event_node *e = (const void *)t->replay.nodes[i].body;
		char text[64] = "";
		size_t n = 0;

		for (uint32_t l = 1; e && l < e->labels_n && n + 20 < sizeof(text); l++) {
			const char *key = intern_text(&t->m->keys, replay_labels(e)[l].key);
			const char *value = intern_text(&t->m->values, replay_labels(e)[l].value);

			cr_assert(key && value, "a number that is out there is free");
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.5s=%.5s,", key, value);
		}
		if (e && known[i].serial == t->replay.nodes[i].serial)
			cr_assert_str_eq(known[i].text, text, "a number was used again too early");
		known[i].serial = t->replay.nodes[i].serial;
		memcpy(known[i].text, text, sizeof(text));
	}
}

static void step(struct truth *t)
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

static void run(struct truth *t, const struct limits *limits, int rounds)
{
	static const char *const names[] = { "muster" };
	struct model_config config = { .scheduler_names = names,
		                           .scheduler_names_n = 1,
		                           .limits = *limits };
	struct meaning known[NODES * 2] = { 0 };
	int complete = 0;

	config.hash_key[0] = random_next(&t->r);
	t->m = model_new(&config);
	cr_assert(t->m);
	t->resource_services = model_resource_index(t->m, "v1", "Service");
	t->resource_namespaces = model_resource_index(t->m, "v1", "Namespace");
	t->resource_policies = model_resource_index(t->m, "kosmos.io/v1alpha1", "WorkloadPolicy");
	replay_start(&t->replay, limits);
	replay_add_core(&t->replay);
	for (int i = 0; i < PODS; i++)
		t->pods[i].node = t->pods[i].binding = -1;
	for (int round = 0; round < rounds; round++) {
		char why[200] = "";

		for (uint32_t n = random_below(&t->r, 6); n > 0; n--)
			step(t);
		cr_assert(model_valid(t->m, why, sizeof(why)), "round %d: %s", round, why);
		if (replay_flush(&t->replay, t->m,
		                 random_below(&t->r, 3) ? random_below(&t->r, 8) : 1000)) {
			complete++;
			if (!t->is_tight)
				same(t);
			memset(known, 0, sizeof(known));
		} else {
			numbers_mean_the_same(t, known);
		}
	}
	cr_assert(complete > rounds / 20 && complete < rounds, "%d of %d flushes were complete",
	          complete, rounds);
	model_free(t->m);
	replay_free(&t->replay);
}

Test(model_random, records_equal_the_objects)
{
	static struct truth t;
	const struct limits limits = { .nodes = NODES,
		                           .pods = PODS,
		                           .gangs = GROUPS * 2,
		                           .shapes = 64,
		                           .names = 64,
		                           .resources = 32,
		                           .name_bytes = 65536,
		                           .command_ring_bytes = 8192 };

	t = (struct truth){ .r = random_start("model") };
	run(&t, &limits, 8000);
}

Test(model_random, limits_break_no_rule)
{
	static struct truth t;
	const struct limits limits = { .nodes = 4,
		                           .pods = 8,
		                           .gangs = 2,
		                           .shapes = 5,
		                           .names = 10,
		                           .resources = 7,
		                           .name_bytes = 320,
		                           .command_ring_bytes = 8192 };

	t = (struct truth){ .r = random_start("model limits"), .is_tight = true };
	run(&t, &limits, 8000);
	cr_assert_eq(t.is_tight, true);
}
