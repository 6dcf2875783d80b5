/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes as kube-scheduler judged them: the store's joins, looked at by plain loops
 * over the objects of each cluster, give its reasons. */
#include "frontend/decode/extract.h"
#include "frontend/volume/volume.h"

#include "tests/unit/support_kubectl.h"
#include "tests/unit/test.h"

#define NODES 64
#define PODS 512

struct node {
	struct node_object object;
	struct node_storage storage;
};

struct pod {
	struct pod_object object;
	struct pod_storage storage;
};

struct cluster {
	struct volumes *vs;
	struct arena arena;
	struct node nodes[NODES];
	size_t nodes_n;
	struct pod pods[PODS];
	size_t pods_n;
};

struct tally {
	size_t clusters, pairs, refused, said;
	const char *path;
};

static int volume_kind_of(const char *kind)
{
	for (int k = 0; k < VOLUME_KINDS; k++)
		if (strcmp(volume_resources[k].kind, kind) == 0)
			return k;
	return -1;
}

static const char *text_in(struct cluster *c, const cJSON *item)
{
	char *text = cJSON_PrintUnformatted(item);
	char *copy = arena_copy(&c->arena, text_of(text));

	free(text);
	cr_assert(copy);
	return copy;
}

static void load_item(struct cluster *c, const cJSON *item)
{
	const char *kind = cJSON_GetObjectItemCaseSensitive(item, "kind")->valuestring;
	const char *text = text_in(c, item);
	struct decode_error error;
	int volume_kind = volume_kind_of(kind), rc = 0;

	if (volume_kind >= 0) {
		rc = volumes_put(c->vs, (enum volume_kind)volume_kind, text, strlen(text), &c->arena,
		                 &error);
	} else if (strcmp(kind, "Node") == 0) {
		struct node_object *n = &c->nodes[c->nodes_n].object;

		cr_assert_lt(c->nodes_n, NODES);
		rc = extract_node(text, strlen(text), &c->arena, n, &error);
		volumes_set_node(c->vs, (uint32_t)c->nodes_n++, n->meta.name, &n->meta.labels);
	} else if (strcmp(kind, "Pod") == 0) {
		struct pod_object *p = &c->pods[c->pods_n].object;

		cr_assert_lt(c->pods_n, PODS);
		rc = extract_pod(text, strlen(text), &c->arena, p, &error);
		volumes_set_pod(c->vs, (uint32_t)c->pods_n++, p);
	}
	cr_assert_eq(rc, 0, "%s: %s: %s", error.object, error.field, error.text);
}

static void join_all(struct cluster *c)
{
	for (uint32_t i = 0; i < c->nodes_n; i++)
		volumes_join_node(c->vs, i, &c->arena, &c->nodes[i].storage);
	for (uint32_t i = 0; i < c->pods_n; i++)
		volumes_join_pod(c->vs, i, c->pods[i].object.node_name.bytes > 0, &c->arena,
		                 &c->pods[i].storage);
}

static const struct node *node_of(const struct cluster *c, struct text name)
{
	for (size_t i = 0; i < c->nodes_n; i++)
		if (text_equal(c->nodes[i].object.meta.name, name))
			return &c->nodes[i];
	return NULL;
}

static bool counts(const struct cluster *c, const struct pod *p)
{
	return p->object.node_name.bytes > 0 && !p->object.ended && node_of(c, p->object.node_name);
}

static bool is_on(const struct pod *p, const struct node *n)
{
	return text_equal(p->object.node_name, n->object.meta.name);
}

static bool clash(const struct pod *a, const struct pod *b, uint32_t claims)
{
	for (size_t i = 0; i < a->storage.exclusives_n; i++) {
		for (size_t k = 0; k < b->storage.exclusives_n; k++) {
			const struct volume_exclusive_object *x = &a->storage.exclusives[i];
			const struct volume_exclusive_object *y = &b->storage.exclusives[k];

			if (text_equal(x->thing, y->thing) && (x->flags & EXCLUSIVE_CLAIM) == claims &&
			    !(x->flags & y->flags & EXCLUSIVE_SHARED))
				return true;
		}
	}
	return false;
}

static bool has(const struct volume_attach_object *list, size_t n,
                const struct volume_attach_object *a)
{
	for (size_t i = 0; i < n; i++)
		if (text_equal(list[i].driver, a->driver) && text_equal(list[i].volume, a->volume))
			return true;
	return false;
}

/* Volumes of the driver on the node when the pod comes, and whether it brings any. */
static size_t attached(struct cluster *c, const struct node *n, const struct pod *p,
                       struct text driver, bool *brings)
{
	struct volume_attach_object seen[512];
	size_t count = 0, before;

	for (size_t i = 0; i < c->pods_n; i++)
		for (size_t k = 0; counts(c, &c->pods[i]) && is_on(&c->pods[i], n) &&
		                   k < c->pods[i].storage.attachments_n;
		     k++) {
			const struct volume_attach_object *a = &c->pods[i].storage.attachments[k];

			if (text_equal(a->driver, driver) && !has(seen, count, a))
				seen[count++] = *a;
		}
	for (size_t k = 0; k < n->storage.attached_n; k++)
		if (text_equal(n->storage.attached[k].driver, driver) &&
		    !has(seen, count, &n->storage.attached[k]))
			seen[count++] = n->storage.attached[k];
	before = count;
	for (size_t k = 0; k < p->storage.attachments_n; k++)
		if (text_equal(p->storage.attachments[k].driver, driver) &&
		    !has(seen, count, &p->storage.attachments[k]))
			seen[count++] = p->storage.attachments[k];
	*brings = count > before;
	return count;
}

static bool clause_holds(const struct node_rule *r, const struct node *n)
{
	const struct text *value = r->is_field ? &n->object.meta.name : NULL;
	bool in = false;

	for (size_t i = 0; !r->is_field && i < n->object.meta.labels.n; i++)
		if (text_equal(n->object.meta.labels.at[i].key, r->key))
			value = &n->object.meta.labels.at[i].value;
	for (size_t i = 0; value && i < r->values_n; i++)
		in |= text_equal(r->values[i], *value);
	switch (r->op) {
	case REQUIRE_IN:
		return in;
	case REQUIRE_NOT_IN:
		return !in;
	case REQUIRE_EXISTS:
		return value != NULL;
	default:
		cr_assert_eq(r->op, REQUIRE_NOT_EXISTS);
		return value == NULL;
	}
}

static bool rule_holds(const struct volume_rule_object *rule, const struct node *n)
{
	for (size_t t = 0; t < rule->n; t++) {
		size_t r = 0;

		while (r < rule->terms[t].n && clause_holds(&rule->terms[t].rules[r], n))
			r++;
		if (r == rule->terms[t].n)
			return true;
	}
	return false;
}

static uint32_t evaluate(struct cluster *c, const struct pod *p, const struct node *n)
{
	uint32_t broken = 0, claims = 0;
	bool brings;

	for (size_t i = 0; i < c->pods_n; i++) {
		if (!counts(c, &c->pods[i]))
			continue;
		if (is_on(&c->pods[i], n) && clash(p, &c->pods[i], 0))
			return 1u << FILTER_DISK;
		claims |= (uint32_t)clash(p, &c->pods[i], EXCLUSIVE_CLAIM);
	}
	if (claims)
		return 1u << FILTER_CLAIM_IN_USE;
	for (size_t i = 0; i < n->storage.limits_n; i++)
		if (attached(c, n, p, n->storage.limits[i].driver, &brings) > n->storage.limits[i].most &&
		    brings)
			return 1u << FILTER_ATTACH;
	for (size_t i = 0; i < p->storage.rules_n; i++)
		if (!rule_holds(&p->storage.rules[i], n))
			broken |= 1u << p->storage.rules[i].why;
	return broken & ((1u << FILTER_VOLUME_ZONE) - 1) ? broken & ((1u << FILTER_VOLUME_ZONE) - 1)
	                                                 : broken;
}

static uint32_t why_of(const char *reason)
{
	static const struct {
		const char *text;
		uint32_t why;
	} known[] = {
		{ "node(s) had no available disk", FILTER_DISK },
		{ "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
		  "another pod",
		  FILTER_CLAIM_IN_USE },
		{ "node(s) exceed max volume count", FILTER_ATTACH },
		{ "node(s) didn't match PersistentVolume's node affinity", FILTER_VOLUME_NODE },
		{ "node(s) didn't find available persistent volumes to bind", FILTER_VOLUME_BIND },
		{ "node(s) did not have enough free storage", FILTER_VOLUME_SPACE },
		{ "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
		  FILTER_VOLUME_GONE },
		{ "node(s) had no available volume zone", FILTER_VOLUME_ZONE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(reason, known[i].text) == 0)
			return known[i].why;
	return FILTER_PASSED;
}

static const char *field(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return item && item->valuestring ? item->valuestring : "";
}

static void compare(struct tally *t, struct cluster *c, const struct pod *p, const cJSON *expect)
{
	const struct node *n = node_of(c, text_of(field(expect, "node")));
	const cJSON *reasons = cJSON_GetObjectItemCaseSensitive(expect, "reasons"), *reason;
	const char *plugin = field(expect, "plugin");
	bool volumes = strncmp(plugin, "Volume", 6) == 0 || strcmp(plugin, "NodeVolumeLimits") == 0;
	bool later = !*plugin || strcmp(plugin, "PodTopologySpread") == 0 ||
	             strcmp(plugin, "InterPodAffinity") == 0;
	uint32_t want = 0, got;

	t->pairs++;
	cr_assert(n);
	cJSON_ArrayForEach(reason, reasons) if (volumes && why_of(reason->valuestring) != FILTER_PASSED)
		want |= 1u << why_of(reason->valuestring);
	if (p->storage.refused != VOLUME_REFUSED_NOT) {
		t->refused++;
		cr_assert_eq(p->storage.refused, VOLUME_REFUSED_KUBE);
		cr_assert_eq(cJSON_GetArraySize(reasons), 1, "%s %s", t->path, p->storage.refusal);
		cr_assert_str_eq(cJSON_GetArrayItem(reasons, 0)->valuestring, p->storage.refusal, "%s",
		                 t->path);
		return;
	}
	cr_assert(!volumes || want, "%s: %.*s on %s: %s not refused", t->path,
	          (int)p->object.meta.name.bytes, p->object.meta.name.at, field(expect, "node"),
	          cJSON_GetArrayItem(reasons, 0)->valuestring);
	if (!volumes && !later)
		return;
	got = evaluate(c, p, n);
	t->said += want != 0;
	cr_expect_eq(got, want, "%s: %.*s on %s: %x, not %x", t->path, (int)p->object.meta.name.bytes,
	             p->object.meta.name.at, field(expect, "node"), got, want);
}

static const struct pod *pod_of(const struct cluster *c, const char *name)
{
	for (size_t i = 0; i < c->pods_n; i++) {
		char have[600];

		snprintf(have, sizeof(have), "%.*s/%.*s", (int)c->pods[i].object.meta.namespace.bytes,
		         c->pods[i].object.meta.namespace.at, (int)c->pods[i].object.meta.name.bytes,
		         c->pods[i].object.meta.name.at);
		if (strcmp(have, name) == 0)
			return &c->pods[i];
	}
	return NULL;
}

static void check_cluster(void *context, const char *cluster, const char *expect)
{
	static const uint64_t key[2] = { 1, 2 };
	struct tally *t = context;
	struct cluster *c = calloc(1, sizeof(*c));
	cJSON *answers = kubectl_read(expect), *list;
	const cJSON *item, *node;

	cr_assert(c && answers);
	t->path = cluster;
	if (strcmp(field(answers, "category"), "volumes") == 0) {
		list = kubectl_read(cluster);
		t->clusters++;
		c->vs = volumes_new(key, true);
		cr_assert(c->vs);
		cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "items"))
			load_item(c, item);
		join_all(c);
		cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answers, "pods"))
		{
			const struct pod *p = pod_of(c, field(item, "pod"));

			cr_assert(p);
			cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(item, "nodes"))
				compare(t, c, p, node);
		}
		volumes_free(c->vs);
		arena_free(&c->arena);
		cJSON_Delete(list);
	}
	cJSON_Delete(answers);
	free(c);
}

Test(volume, says_what_kube_scheduler_says)
{
	struct tally t = { 0 };

	cr_assert_gt(kubectl_verdicts(check_cluster, &t), 0);
	cr_assert_gt(t.clusters, 0);
	cr_assert_gt(t.said, 0);
	cr_assert_gt(t.refused, 0);
	printf("%zu clusters, %zu pairs, %zu refused by volumes, %zu with reasons of volumes\n",
	       t.clusters, t.pairs, t.refused, t.said);
}
