/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_extract.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char why[300];

__attribute__((format(printf, 1, 2))) static const char *say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return why;
}

/* Go on, or return what is wrong. */
#define TRY(question)                                                                              \
	do {                                                                                           \
		const char *wrong_ = (question);                                                           \
		if (wrong_)                                                                                \
			return wrong_;                                                                         \
	} while (0)

#define SAME(a, b, what)                                                                           \
	do {                                                                                           \
		if ((a) != (b))                                                                            \
			return say("%s", what);                                                                \
	} while (0)

const cJSON *tree_get(const cJSON *object, const char *name)
{
	const cJSON *member, *found = NULL;

	if (!cJSON_IsObject(object))
		return NULL;
	cJSON_ArrayForEach(member, object) if (strcmp(member->string, name) == 0) found = member;
	return cJSON_IsNull(found) ? NULL : found;
}

const cJSON *tree_of(const cJSON *object, const char *part, const char *name)
{
	const cJSON *one, *member, *found = NULL;

	cJSON_ArrayForEach(one, object) if (strcmp(one->string, part) == 0 && cJSON_IsObject(one))
		cJSON_ArrayForEach(member, one) if (strcmp(member->string, name) == 0) found = member;
	return cJSON_IsNull(found) ? NULL : found;
}

const char *tree_string(const cJSON *value)
{
	return cJSON_IsString(value) ? value->valuestring : "";
}

static const char *string(const cJSON *object, const char *name)
{
	return tree_string(tree_get(object, name));
}

static bool is(const cJSON *value, const char *text)
{
	return strcmp(tree_string(value), text) == 0;
}

static double number(const cJSON *value)
{
	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static bool is_text(struct text t, const char *expected)
{
	return strlen(expected) == t.bytes && (t.bytes == 0 || memcmp(expected, t.at, t.bytes) == 0);
}

static const char *text_differs(struct text t, const char *expected, const char *what)
{
	return is_text(t, expected)
	           ? NULL
	           : say("%s: \"%.*s\", not \"%s\"", what, (int)t.bytes, t.at ? t.at : "", expected);
}

/* How many names there are in a map. */
static size_t map_size(const cJSON *map)
{
	const cJSON *member;
	size_t n = 0;

	cJSON_ArrayForEach(member, map)
	{
		const cJSON *later = member->next;

		while (later && strcmp(later->string, member->string) != 0)
			later = later->next;
		n += later == NULL;
	}
	return n;
}

static const char *pairs_differ(const struct pairs *p, const cJSON *map, const char *what)
{
	SAME(p->n, map_size(map), what);
	for (size_t i = 0; i < p->n; i++) {
		const cJSON *member, *found = NULL;

		if (i > 0 && text_order(p->at[i - 1].key, p->at[i].key) >= 0)
			return say("%s: not sorted", what);
		cJSON_ArrayForEach(member, map) if (is_text(p->at[i].key, member->string)) found = member;
		if (!found)
			return say("%s: no %.*s", what, (int)p->at[i].key.bytes, p->at[i].key.at);
		TRY(text_differs(p->at[i].value, tree_string(found), what));
	}
	return NULL;
}

static const char *texts_differ(const struct text *at, size_t n, const cJSON *list,
                                const char *what)
{
	const cJSON *item;
	size_t i = 0;

	SAME(n, (size_t)cJSON_GetArraySize(list), what);
	cJSON_ArrayForEach(item, list) TRY(text_differs(at[i++], tree_string(item), what));
	return NULL;
}

static const char *annotations_differ(const struct pairs *p, const cJSON *map)
{
	struct arena arena = { 0 };
	const char *wrong = NULL;
	const cJSON *member;

	if ((int)p->n != cJSON_GetArraySize(map))
		return "annotations";
	cJSON_ArrayForEach(member, map)
	{
		const struct text *raw = pairs_find(p, member->string);
		const char *value = raw ? extract_annotation(*raw, &arena) : NULL;

		/* Not read unless it is asked for: it may be no string. */
		if (!raw || (value && cJSON_IsString(tree_get(map, member->string)) &&
		             strcmp(value, string(map, member->string)) != 0))
			wrong = "an annotation";
	}
	arena_free(&arena);
	return wrong;
}

const char *meta_differs(const struct meta *m, const cJSON *object)
{
	const char *created = tree_string(tree_of(object, "metadata", "creationTimestamp"));
	struct tm tm = { 0 };
	const char *end;

	TRY(text_differs(m->name, tree_string(tree_of(object, "metadata", "name")), "name"));
	TRY(text_differs(m->namespace, tree_string(tree_of(object, "metadata", "namespace")),
	                 "namespace"));
	TRY(text_differs(m->uid, tree_string(tree_of(object, "metadata", "uid")), "uid"));
	TRY(text_differs(m->version, tree_string(tree_of(object, "metadata", "resourceVersion")),
	                 "resourceVersion"));
	SAME(m->deleting, tree_of(object, "metadata", "deletionTimestamp") != NULL,
	     "deletionTimestamp");
	end = strptime(created, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (end && !*end && strlen(created) == 20 && tm.tm_sec < 60 && timegm(&tm) > 0 &&
	    timegm(&tm) < 9000000000)
		SAME(m->created_ns, (uint64_t)timegm(&tm) * 1000000000, "creationTimestamp");
	TRY(pairs_differ(&m->labels, tree_of(object, "metadata", "labels"), "labels"));
	return annotations_differ(&m->annotations, tree_of(object, "metadata", "annotations"));
}

static const char *owner_differs(const struct owner_object *o, const cJSON *object)
{
	const cJSON *owner, *found = NULL;

	cJSON_ArrayForEach(
		owner, tree_of(object, "metadata",
	                   "ownerReferences")) if (!found &&
	                                           cJSON_IsTrue(tree_get(owner, "controller")) &&
	                                           string(owner, "kind")[0]) found = owner;
	TRY(text_differs(o->kind, string(found, "kind"), "owner's kind"));
	TRY(text_differs(o->name, string(found, "name"), "owner's name"));
	TRY(text_differs(o->uid, string(found, "uid"), "owner's uid"));
	return text_differs(o->api_version, string(found, "apiVersion"), "owner's apiVersion");
}

static const char *rule_differs(const struct node_rule *r, const cJSON *rule)
{
	static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };

	TRY(text_differs(r->key, string(rule, "key"), "a rule's key"));
	TRY(texts_differ(r->values, r->values_n, tree_get(rule, "values"), "a rule's values"));
	if (!is(tree_get(rule, "operator"), operators[r->op])) {
		for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
			if (is(tree_get(rule, "operator"), operators[i]))
				return "a rule's operator";
		if (!r->is_void)
			return "a rule with an unknown operator is not void";
	}
	return NULL;
}

static const char *term_differs(const struct node_term *t, const cJSON *term)
{
	const cJSON *list, *rule;
	size_t n = 0;

	cJSON_ArrayForEach(list, term)
	{
		bool is_field = strcmp(list->string, "matchFields") == 0;

		if ((!is_field && strcmp(list->string, "matchExpressions") != 0) ||
		    tree_get(term, list->string) != list)
			continue;
		cJSON_ArrayForEach(rule, list)
		{
			if (n == t->n || t->rules[n].is_field != is_field)
				return "a term's rules";
			TRY(rule_differs(&t->rules[n++], rule));
		}
	}
	SAME(n, t->n, "a term's rules");
	return NULL;
}

/* What the map says, sorted by key: rules[*n] and on. */
static const char *map_rules_differ(const struct node_term *t, const cJSON *map, size_t *n)
{
	size_t first = *n, size = map_size(map);

	*n += size;
	if (*n > t->n)
		return "a selector's labels";
	for (size_t i = first; i < *n; i++) {
		const struct node_rule *r = &t->rules[i];
		const cJSON *member, *found = NULL;

		cJSON_ArrayForEach(member, map) if (is_text(r->key, member->string)) found = member;
		if (!found || r->op != REQUIRE_IN || r->values_n != 1 ||
		    !is_text(r->values[0], tree_string(found)))
			return "a selector's label";
		if (i > first && text_order(t->rules[i - 1].key, r->key) >= 0)
			return "a selector's labels are not sorted";
	}
	return NULL;
}

/* Without what match keys added: *n of its rules are the selector's own. */
static const char *selector_differs(const struct selector_object *s, const cJSON *selector,
                                    size_t *n)
{
	const cJSON *part, *rule;

	*n = 0;
	SAME(s->is_given, selector != NULL, "is there a selector");
	cJSON_ArrayForEach(part, selector)
	{
		if (strcmp(part->string, "matchLabels") == 0)
			TRY(map_rules_differ(&s->rules, part, n));
		if (strcmp(part->string, "matchExpressions") != 0)
			continue;
		cJSON_ArrayForEach(rule, part)
		{
			if (*n == s->rules.n)
				return "a selector's rules";
			TRY(rule_differs(&s->rules.rules[(*n)++], rule));
		}
	}
	return NULL;
}

static const char *whole_selector_differs(const struct selector_object *s, const cJSON *selector)
{
	size_t n;

	TRY(selector_differs(s, selector, &n));
	SAME(n, s->rules.n, "a selector has more rules");
	return NULL;
}

/* One more rule, if the pod has the label: rules[*n]. */
static const char *key_differs(const struct selector_object *s, const cJSON *object,
                               const char *key, uint32_t op, bool always, size_t *n)
{
	const cJSON *member, *value = NULL;
	const struct node_rule *r;

	cJSON_ArrayForEach(member,
	                   tree_of(object, "metadata", "labels")) if (strcmp(member->string, key) == 0)
		value = member;
	if (!value)
		return NULL;
	for (size_t i = 0; i < *n; i++) {
		r = &s->rules.rules[i];
		if (is_text(r->key, key) && (!always || (r->op == op && r->values_n == 1 &&
		                                         is_text(r->values[0], tree_string(value)))))
			return NULL;
	}
	if (*n == s->rules.n)
		return "a match key is missing";
	r = &s->rules.rules[(*n)++];
	if (!is_text(r->key, key) || r->op != op || r->values_n != 1 ||
	    !is_text(r->values[0], tree_string(value)))
		return "a match key";
	return NULL;
}

static const char *keys_differ(const struct selector_object *s, const cJSON *object,
                               const cJSON *keys, uint32_t op, bool always, size_t *n)
{
	const cJSON *key;

	cJSON_ArrayForEach(key, keys) TRY(key_differs(s, object, tree_string(key), op, always, n));
	return NULL;
}

/* spec.affinity of all specs together. */
static const cJSON *affinity_get(const cJSON *object, const char *name)
{
	const cJSON *spec, *affinity, *member, *found = NULL;

	cJSON_ArrayForEach(spec, object) if (strcmp(spec->string, "spec") == 0 && cJSON_IsObject(spec))
		cJSON_ArrayForEach(affinity, spec) if (strcmp(affinity->string, "affinity") == 0 &&
	                                           cJSON_IsObject(affinity))
			cJSON_ArrayForEach(member, affinity) if (strcmp(member->string, name) == 0) found =
				member;
	return cJSON_IsNull(found) ? NULL : found;
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static const char *node_affinity_differs(const struct pod_object *pod, const cJSON *object)
{
	const cJSON *affinity = affinity_get(object, "nodeAffinity"),
				*required = tree_get(affinity, REQUIRED), *item, *term;
	size_t n = 0;

	SAME(pod->has_node_terms, required != NULL, "is there required node affinity");
	SAME(pod->terms_n, (size_t)cJSON_GetArraySize(tree_get(required, "nodeSelectorTerms")),
	     "terms");
	cJSON_ArrayForEach(item, tree_get(required, "nodeSelectorTerms"))
		TRY(term_differs(&pod->terms[n++], item));
	n = 0;
	cJSON_ArrayForEach(item, tree_get(affinity, PREFERRED))
	{
		term = tree_get(item, "preference");
		if (cJSON_GetArraySize(tree_get(term, "matchExpressions")) +
		        cJSON_GetArraySize(tree_get(term, "matchFields")) ==
		    0)
			continue;
		if (n == pod->preferences_n ||
		    pod->preferences[n].weight != (int32_t)number(tree_get(item, "weight")))
			return "a preference's weight";
		TRY(term_differs(&pod->preferences[n++].term, term));
	}
	SAME(n, pod->preferences_n, "preferences");
	return NULL;
}

static const char *pod_term_differs(const struct pod_term_object *t, const cJSON *term,
                                    const cJSON *object)
{
	size_t n;

	TRY(text_differs(t->topology, string(term, "topologyKey"), "topologyKey"));
	TRY(texts_differ(t->namespaces.at, t->namespaces.n, tree_get(term, "namespaces"),
	                 "namespaces"));
	TRY(whole_selector_differs(&t->namespace_selector, tree_get(term, "namespaceSelector")));
	TRY(selector_differs(&t->selector, tree_get(term, "labelSelector"), &n));
	TRY(keys_differ(&t->selector, object, tree_get(term, "matchLabelKeys"), REQUIRE_IN, false, &n));
	TRY(keys_differ(&t->selector, object, tree_get(term, "mismatchLabelKeys"), REQUIRE_NOT_IN,
	                false, &n));
	SAME(n, t->selector.rules.n, "a term's selector has more rules");
	return NULL;
}

static const char *pod_terms_differ(const struct pod_object *pod, const cJSON *object,
                                    uint32_t kind, const cJSON *list, size_t *seen)
{
	bool weighted = kind == POD_TERM_PREFERRED || kind == POD_TERM_PREFERRED_ANTI;
	const cJSON *item;
	size_t at = 0;

	cJSON_ArrayForEach(item, list)
	{
		while (at < pod->pod_terms_n && pod->pod_terms[at].kind != kind)
			at++;
		if (at == pod->pod_terms_n)
			return "a pod term is missing";
		SAME(pod->pod_terms[at].weight, weighted ? (int32_t)number(tree_get(item, "weight")) : 0,
		     "a pod term's weight");
		TRY(pod_term_differs(&pod->pod_terms[at++],
		                     weighted ? tree_get(item, "podAffinityTerm") : item, object));
		++*seen;
	}
	return NULL;
}

static const char *pod_affinity_differs(const struct pod_object *pod, const cJSON *object)
{
	const cJSON *affinity = affinity_get(object, "podAffinity"),
				*anti = affinity_get(object, "podAntiAffinity");
	size_t seen = 0;

	TRY(pod_terms_differ(pod, object, POD_TERM_AFFINITY, tree_get(affinity, REQUIRED), &seen));
	TRY(pod_terms_differ(pod, object, POD_TERM_PREFERRED, tree_get(affinity, PREFERRED), &seen));
	TRY(pod_terms_differ(pod, object, POD_TERM_ANTI_AFFINITY, tree_get(anti, REQUIRED), &seen));
	TRY(pod_terms_differ(pod, object, POD_TERM_PREFERRED_ANTI, tree_get(anti, PREFERRED), &seen));
	SAME(seen, pod->pod_terms_n, "there are more pod terms");
	return NULL;
}

static const char *spreads_differ(const struct pod_object *pod, const cJSON *object)
{
	const cJSON *list = tree_of(object, "spec", "topologySpreadConstraints"), *item;
	const struct spread_object *s = pod->spreads;
	size_t n;

	SAME(pod->spreads_n, (size_t)cJSON_GetArraySize(list), "spreads");
	cJSON_ArrayForEach(item, list)
	{
		uint32_t flags =
			(is(tree_get(item, "whenUnsatisfiable"), "DoNotSchedule") ? SPREAD_HARD : 0u) |
			(is(tree_get(item, "nodeAffinityPolicy"), "Ignore") ? SPREAD_IGNORES_AFFINITY : 0u) |
			(is(tree_get(item, "nodeTaintsPolicy"), "Honor") ? SPREAD_HONORS_TAINTS : 0u);

		TRY(text_differs(s->topology, string(item, "topologyKey"), "topologyKey"));
		SAME(s->flags, flags, "a spread's policies");
		SAME(s->max_skew, (int32_t)number(tree_get(item, "maxSkew")), "maxSkew");
		SAME(s->min_domains, (int32_t)number(tree_get(item, "minDomains")), "minDomains");
		TRY(selector_differs(&s->selector, tree_get(item, "labelSelector"), &n));
		TRY(keys_differ(&s->selector, object, tree_get(item, "matchLabelKeys"), REQUIRE_IN, true,
		                &n));
		SAME(n, s->selector.rules.n, "a spread's selector has more rules");
		s++;
	}
	return NULL;
}

static const char *tolerations_differ(const struct toleration_object *t, size_t n,
                                      const cJSON *list)
{
	static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute" };
	const cJSON *item;

	SAME(n, (size_t)cJSON_GetArraySize(list), "tolerations");
	cJSON_ArrayForEach(item, list)
	{
		TRY(text_differs(t->key, string(item, "key"), "a toleration's key"));
		TRY(text_differs(t->value, string(item, "value"), "a toleration's value"));
		SAME(t->exists, is(tree_get(item, "operator"), "Exists"), "a toleration's operator");
		if (!is(tree_get(item, "effect"), effects[t->effect]))
			return "a toleration's effect";
		t++;
	}
	return NULL;
}

static const char *amount_differs(const struct quantity_of *q, const cJSON *value, const char *name)
{
	nano_t amount;

	/* What a number's text was, cJSON doesn't keep. */
	if (!cJSON_IsString(value))
		return cJSON_IsNumber(value) || !value ? NULL : say("%s is no quantity", name);
	if (strpbrk(value->valuestring, " \t\n\v\f\r"))
		return NULL;
	if (quantity_parse(value->valuestring, strlen(value->valuestring), &amount) < 0 ||
	    amount != q->amount)
		return say("the amount of %s", name);
	return NULL;
}

/* Everything that counts in the map is there, and what else there is comes from `more`. */
static const char *quantities_differ(const struct quantities *q, const struct resource_names *names,
                                     const cJSON *map, const cJSON *more)
{
	const cJSON *lists[] = { map, more }, *member;
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++) {
		char name[512];
		const cJSON *value = NULL;
		struct text t = names->at[q->at[i].resource];

		snprintf(name, sizeof(name), "%.*s", (int)t.bytes, t.at);
		for (int l = 0; l < 2 && !value; l++)
			cJSON_ArrayForEach(member, lists[l]) if (is_text(t, member->string)) value = member;
		if (!value)
			return say("no %s", name);
		TRY(amount_differs(&q->at[i], cJSON_IsNull(value) ? NULL : value, name));
	}
	for (int l = 0; l < 2; l++) {
		cJSON_ArrayForEach(member, lists[l])
		{
			const cJSON *other;
			bool again = false;

			for (other = member->next; other; other = other->next)
				again |= strcmp(other->string, member->string) == 0;
			if (l == 1)
				cJSON_ArrayForEach(other, map) again |= strcmp(other->string, member->string) == 0;
			n += !again && extract_is_counted(text_of(member->string));
		}
	}
	SAME(n, q->n, "how many resources");
	return NULL;
}

static const char *ports_differ(const struct container *c, const cJSON *ports)
{
	const struct port_object *p = c->ports;
	const cJSON *item;

	SAME(c->ports_n, (size_t)cJSON_GetArraySize(ports), "ports");
	cJSON_ArrayForEach(item, ports)
	{
		const char *protocol = string(item, "protocol");

		SAME(p->port, (uint32_t)number(tree_get(item, "hostPort")), "hostPort");
		SAME(p->container_port, (uint32_t)number(tree_get(item, "containerPort")), "containerPort");
		TRY(text_differs(p->address, string(item, "hostIP"), "hostIP"));
		TRY(text_differs(p->protocol, protocol[0] ? protocol : "TCP", "protocol"));
		p++;
	}
	return NULL;
}

static const char *container_differs(const struct container *c, const cJSON *item, bool is_init,
                                     const struct resource_names *names)
{
	const cJSON *resources = tree_get(item, "resources"), *rule;
	bool restarts_all = false;

	cJSON_ArrayForEach(rule, tree_get(item, "restartPolicyRules"))
	{
		const cJSON *member;

		if (cJSON_IsObject(rule))
			cJSON_ArrayForEach(member, rule) restarts_all |=
				strcmp(member->string, "action") == 0 && is(member, "RestartAllContainers");
	}
	TRY(text_differs(c->name, string(item, "name"), "a container's name"));
	TRY(text_differs(c->image, string(item, "image"), "a container's image"));
	SAME(c->is_init, is_init, "is it an init container");
	SAME(c->is_sidecar, is_init && is(tree_get(item, "restartPolicy"), "Always"),
	     "is it a sidecar");
	SAME(c->restarts_all, restarts_all, "RestartAllContainers");
	TRY(ports_differ(c, tree_get(item, "ports")));
	return quantities_differ(&c->requests, names, tree_get(resources, "requests"),
	                         tree_get(resources, "limits"));
}

static const char *containers_differ(const struct pod_object *pod, const cJSON *list, bool is_init,
                                     size_t *seen)
{
	const cJSON *item;
	size_t at = 0;

	cJSON_ArrayForEach(item, list)
	{
		while (at < pod->containers_n && pod->containers[at].is_init != is_init)
			at++;
		if (at == pod->containers_n)
			return "a container is missing";
		TRY(container_differs(&pod->containers[at++], item, is_init, &pod->resources));
		++*seen;
	}
	return NULL;
}

/* What the pod as a whole has of ports, images and features. */
static const char *sums_differ(const struct pod_object *pod, const cJSON *object)
{
	size_t ports = 0, images = 0, restarts = 0;
	const cJSON *volume, *member;

	for (size_t i = 0; i < pod->containers_n; i++) {
		const struct container *c = &pod->containers[i];

		images += c->image.bytes > 0;
		restarts += c->restarts_all;
		for (size_t p = 0; p < c->ports_n && (!c->is_init || c->is_sidecar); p++) {
			uint32_t port = c->ports[p].port == 0 && pod->has_host_network
			                    ? c->ports[p].container_port
			                    : c->ports[p].port;

			if (port == 0)
				continue;
			if (ports == pod->ports_n || pod->ports[ports++].port != port)
				return "a port of the pod";
		}
	}
	cJSON_ArrayForEach(volume, tree_of(object, "spec", "volumes"))
	{
		const cJSON *reference;

		if (cJSON_IsObject(volume))
			cJSON_ArrayForEach(member, volume) if (strcmp(member->string, "image") == 0 &&
			                                       cJSON_IsObject(member))
				cJSON_ArrayForEach(reference, member) images +=
				strcmp(reference->string, "reference") == 0 && tree_string(reference)[0];
	}
	SAME(ports, pod->ports_n, "ports of the pod");
	SAME(images, pod->images_n, "images of the pod");
	SAME(restarts > 0, pod->needs_restart_all, "needs_restart_all");
	SAME(pod->containers_n, pod->image_containers, "image_containers");
	return NULL;
}

static const char *names_differ(const struct pod_object *pod, const cJSON *object)
{
	const char *scheduler = tree_string(tree_of(object, "spec", "schedulerName"));
	const cJSON *priority = tree_of(object, "spec", "priority");

	TRY(text_differs(pod->scheduler_name, *scheduler ? scheduler : "default-scheduler",
	                 "schedulerName"));
	TRY(text_differs(pod->node_name, tree_string(tree_of(object, "spec", "nodeName")), "nodeName"));
	SAME(pod->priority, (int32_t)number(priority), "priority");
	TRY(text_differs(
		pod->native_group.at ? pod->native_group : (struct text){ "", 0 },
		tree_string(tree_of(tree_of(object, "spec", "schedulingGroup"), "podGroupName", NULL)),
		"schedulingGroup"));
	SAME(pod->has_workload_ref, cJSON_IsObject(tree_of(object, "spec", "workloadRef")),
	     "workloadRef");
	SAME(pod->gated, cJSON_GetArraySize(tree_of(object, "spec", "schedulingGates")) > 0,
	     "schedulingGates");
	SAME(pod->has_deadline, tree_of(object, "spec", "activeDeadlineSeconds") != NULL,
	     "activeDeadlineSeconds");
	TRY(text_differs(pod->restart_policy, tree_string(tree_of(object, "spec", "restartPolicy")),
	                 "restartPolicy"));
	SAME(pod->has_host_network, cJSON_IsTrue(tree_of(object, "spec", "hostNetwork")),
	     "hostNetwork");
	return NULL;
}

static const char *status_differs(const struct pod_object *pod, const cJSON *object)
{
	const cJSON *phase = tree_of(object, "status", "phase"), *status, *list, *item;
	const char *condition = "";

	SAME(pod->ended, is(phase, "Succeeded") || is(phase, "Failed"), "phase");
	cJSON_ArrayForEach(status,
	                   object) if (strcmp(status->string, "status") == 0 && cJSON_IsObject(status))
		cJSON_ArrayForEach(list, status) if (strcmp(list->string, "conditions") == 0)
			cJSON_ArrayForEach(item, list) if (is(tree_get(item, "type"), "PodScheduled"))
				condition = string(item, "status");
	return text_differs(pod->condition_status, condition, "PodScheduled");
}

const char *pod_differs(const struct pod_object *pod, const cJSON *object)
{
	const cJSON *resources = tree_of(object, "spec", "resources");
	size_t containers = 0;

	TRY(meta_differs(&pod->meta, object));
	TRY(owner_differs(&pod->owner, object));
	TRY(names_differ(pod, object));
	TRY(containers_differ(pod, tree_of(object, "spec", "containers"), false, &containers));
	TRY(containers_differ(pod, tree_of(object, "spec", "initContainers"), true, &containers));
	SAME(containers, pod->containers_n, "there are more containers");
	TRY(sums_differ(pod, object));
	TRY(quantities_differ(&pod->pod_requests, &pod->resources, tree_get(resources, "requests"),
	                      NULL));
	TRY(quantities_differ(&pod->pod_limits, &pod->resources, tree_get(resources, "limits"), NULL));
	TRY(quantities_differ(&pod->overhead, &pod->resources, tree_of(object, "spec", "overhead"),
	                      NULL));
	TRY(pairs_differ(&pod->node_selector, tree_of(object, "spec", "nodeSelector"), "nodeSelector"));
	TRY(node_affinity_differs(pod, object));
	TRY(pod_affinity_differs(pod, object));
	TRY(spreads_differ(pod, object));
	TRY(tolerations_differ(pod->tolerations, pod->tolerations_n,
	                       tree_of(object, "spec", "tolerations")));
	return status_differs(pod, object);
}

static const char *taints_differ(const struct node_object *node, const cJSON *list)
{
	static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute" };
	const cJSON *item;
	size_t n = 0;

	cJSON_ArrayForEach(item, list)
	{
		const char *effect = string(item, "effect");

		if (strcmp(effect, effects[1]) != 0 && strcmp(effect, effects[2]) != 0 &&
		    strcmp(effect, effects[3]) != 0)
			continue;
		if (n == node->taints_n || !is(tree_get(item, "effect"), effects[node->taints[n].effect]))
			return "a taint's effect";
		TRY(text_differs(node->taints[n].key, string(item, "key"), "a taint's key"));
		TRY(text_differs(node->taints[n++].value, string(item, "value"), "a taint's value"));
	}
	SAME(n, node->taints_n, "taints");
	return NULL;
}

static const char *images_differ(const struct node_object *node, const cJSON *list)
{
	const cJSON *item, *name;
	size_t n = 0;

	cJSON_ArrayForEach(item, list)
	{
		double bytes = number(tree_get(item, "sizeBytes"));

		cJSON_ArrayForEach(name, tree_get(item, "names"))
		{
			if (tree_string(name)[0] == '\0')
				continue;
			if (n == node->images_n || (double)node->images[n].bytes != (bytes > 0 ? bytes : 0))
				return "an image's size";
			TRY(text_differs(node->images[n++].name, tree_string(name), "an image's name"));
		}
	}
	SAME(n, node->images_n, "images");
	return NULL;
}

const char *node_differs(const struct node_object *node, const cJSON *object)
{
	const cJSON *feature;
	bool restarts_all = false;

	cJSON_ArrayForEach(feature, tree_of(object, "status", "declaredFeatures")) restarts_all |=
		is(feature, "RestartAllContainersOnContainerExits");
	TRY(meta_differs(&node->meta, object));
	SAME(node->cordoned, cJSON_IsTrue(tree_of(object, "spec", "unschedulable")), "unschedulable");
	SAME(node->restarts_all, restarts_all, "declaredFeatures");
	TRY(taints_differ(node, tree_of(object, "spec", "taints")));
	TRY(images_differ(node, tree_of(object, "status", "images")));
	return quantities_differ(&node->allocatable, &node->resources,
	                         tree_of(object, "status", "allocatable"), NULL);
}

const char *service_differs(const struct service_object *service, const cJSON *object)
{
	TRY(meta_differs(&service->meta, object));
	return pairs_differ(&service->selector, tree_of(object, "spec", "selector"), "selector");
}

const char *controller_differs(const struct controller_object *controller, const cJSON *object,
                               bool is_map)
{
	const cJSON *selector = tree_of(object, "spec", "selector");
	size_t n = 0;

	TRY(meta_differs(&controller->meta, object));
	if (!is_map)
		return whole_selector_differs(&controller->selector, selector);
	if (cJSON_GetArraySize(selector) == 0)
		return NULL; /* of the template: test_extract has it by hand */
	TRY(map_rules_differ(&controller->selector.rules, selector, &n));
	SAME(n, controller->selector.rules.n, "a selector has more rules");
	return NULL;
}
