/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of services and controllers, and the pods that they give default spread constraints. */
#include "frontend/model/base/labels.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/pods/pods.h"

#include <errno.h>

static bool concerns(const struct owner_entry *e, const struct label_rules *old,
                     const struct pod_entry *p)
{
	if (e->key.kind != OWNER_SERVICE)
		return p->owner_kind == e->key.kind && p->owner == e->key.name;
	return service_selects(e->rules, p->labels, p->labels_n) ||
	       service_selects(old, p->labels, p->labels_n);
}

/* One write of a tenant makes the core plan all pods concerned again, each of a shape of its own in
 * the worst case, before gangs of others that are created later. */
#define RESPREAD_POD_NS UINT64_C(5000000) /* of rest, for a pod of another shape */
#define RESPREAD_MOST_NS UINT64_C(60000000000)
/* Pods that cost as much: derived again with the same shape; passed over. */
#define RESPREAD_SAME 8u
#define RESPREAD_PASSED 64u

void respread_rest(const struct model *m, struct namespace_entry *n, uint64_t pods)
{
	const uint64_t rest_ns = pods * RESPREAD_POD_NS;

	n->respread_ns = m->now_ns + (rest_ns < RESPREAD_MOST_NS ? rest_ns : RESPREAD_MOST_NS);
}

bool respread_waits(struct model *m, struct namespace_entry *n)
{
	if (m->now_ns == 0 || m->now_ns >= n->respread_ns)
		return false;
	n->respread_due = true;
	if (n->respread_ns < m->respread_ns)
		m->respread_ns = n->respread_ns;
	return true;
}

/* Derives the default spreads of the pods that `e` concerns, or concerned with `old`; NULL: of all
 * pods of the namespace, after its policies and claims. */
static void respread(struct model *m, struct namespace_entry *n, const struct owner_entry *e,
                     const struct label_rules *old)
{
	uint64_t changed = e ? 0 : policies_apply(m, n) + storage_apply(m, n), same = 0, passed = 0;
	uint32_t next, shape;

	for (uint32_t p = n->pods_first; p != SLOT_NONE; p = next) {
		next = pod_at(m, p)->spread_link.next;
		shape = pod_at(m, p)->shape;
		if (e && !concerns(e, old, pod_at(m, p))) {
			passed++;
			continue;
		}
		pod_respread(m, p);
		if (pod_at(m, p)->shape != shape)
			changed++;
		else
			same++;
	}
	if (e && n->respread_due)
		return; /* one withdrawn: others are still deferred */
	n->respread_due = false;
	respread_rest(m, n, changed + same / RESPREAD_SAME + passed / RESPREAD_PASSED);
}

uint64_t model_respread(struct model *m, uint64_t now_ns)
{
	m->now_ns = now_ns;
	if (now_ns < m->respread_ns)
		return m->respread_ns;
	m->respread_ns = UINT64_MAX;
	STORE_EACH(&m->namespaces, i)
	{
		struct namespace_entry *n = namespace_at(m, i);

		if (n->respread_due && n->respread_ns <= now_ns)
			respread(m, n, NULL, NULL);
		else if (n->respread_due && n->respread_ns < m->respread_ns)
			m->respread_ns = n->respread_ns;
	}
	return m->respread_ns;
}

/* Takes over `rules`; pending pods concerned get another shape, at once or, if it `may_wait`, after
 * others of the namespace's: default spreads only score nodes. */
static void owner_set_rules(struct model *m, uint32_t owner, struct label_rules *rules,
                            bool may_wait)
{
	const struct owner_entry *e = owner_at(m, owner);
	struct namespace_entry *n = namespace_at(m, e->key.namespace);
	struct label_rules *old;

	if (rules_equal(e->rules, rules)) {
		rules_free(m, rules);
		return;
	}
	old = owner_swap_rules(m, owner, rules);
	if (!may_wait || !respread_waits(m, n))
		respread(m, n, e, old);
	rules_free(m, old);
}

void owner_forget(struct model *m, uint32_t owner)
{
	owner_set_rules(m, owner, NULL, true);
	owner_release(m, owner);
}

void owner_withdraw(struct model *m, uint32_t owner)
{
	/* Its bytes are needed now. */
	owner_set_rules(m, owner, NULL, false);
	owner_at(m, owner)->entry.retry = true;
	model_note_lack_of(m, ROLE_OWNERS, owner_at(m, owner)->key.kind);
}

/* A service or controller. */
struct owner_text {
	struct meta meta;
	struct node_rule *rules;
	size_t rules_n;
};

static int read_service(struct model *m, const char *json, size_t bytes, struct owner_text *out,
                        struct decode_error *error)
{
	struct service_object service;
	int rc = extract_service(json, bytes, &m->arena, &service, error);

	out->meta = service.meta;
	if (rc < 0 || service.selector.n == 0)
		return rc;
	out->rules = arena_alloc(&m->arena, service.selector.n * sizeof(*out->rules));
	for (size_t i = 0; i < service.selector.n; i++)
		out->rules[i] = (struct node_rule){ .key = service.selector.at[i].key,
			                                .op = REQUIRE_IN,
			                                .values = &service.selector.at[i].value,
			                                .values_n = 1 };
	out->rules_n = service.selector.n;
	return 0;
}

static int read_controller(struct model *m, int resource, const char *json, size_t bytes,
                           struct owner_text *out, struct decode_error *error)
{
	struct controller_object controller;
	int rc =
		extract_controller(json, bytes, &m->arena, m->resources[resource].kind, &controller, error);

	out->meta = controller.meta;
	out->rules = controller.selector.rules.rules;
	out->rules_n = controller.selector.is_given ? controller.selector.rules.n : 0;
	return rc;
}

int owner_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error)
{
	uint32_t kind = m->which[resource], owner, namespace;
	struct label_rules *rules = NULL;
	struct owner_text text = { 0 };
	struct entry *e;
	bool admitted;
	int read = kind == OWNER_SERVICE ? read_service(m, json, bytes, &text, error)
	                                 : read_controller(m, resource, json, bytes, &text, error);

	if (read == 0)
		read = rules_check(text.rules, text.rules_n, &text.meta, "spec.selector",
		                   "; it selects no pod", error);
	m->counts.objects_bad += read < 0;
	if (text.meta.name.bytes == 0)
		return read;
	if (!model_names_valid(&text.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	owner = owner_enter(m, kind, &text.meta);
	e = &owner_at(m, owner)->entry;
	if (!e->stamp && !referred_fits(m, &m->owners)) {
		owner_release(m, owner);
		return referred_refuse(m, &text.meta, error);
	}
	if (object_is_known(m, resource, e, &text.meta))
		return 0;
	stamp_set(&e->stamp, &text.meta);
	namespace = owner_at(m, owner)->key.namespace;
	m->object_bytes = bytes;
	admitted = memory_admits(m, namespace);
	e->retry = read < 0 || !admitted;
	/* One that cannot be read selects no pod. */
	if (read == 0 && admitted) {
		memory_payer(m, namespace);
		rules = rules_make(m, text.rules, text.rules_n);
		memory_payer(m, ID_NONE);
	}
	/* One that is not admitted neither, as if it were not there. */
	owner_set_rules(m, owner, rules, true);
	return read < 0 || admitted ? read : memory_refuse(m, namespace, &text.meta, error);
}

void owner_remove(struct model *m, int resource, const struct meta *meta)
{
	uint32_t owner = owner_enter(m, m->which[resource], meta);
	const struct entry *e = &owner_at(m, owner)->entry;

	if (!e->stamp || !stamp_is_successor(m, e->stamp, meta))
		owner_forget(m, owner);
}
