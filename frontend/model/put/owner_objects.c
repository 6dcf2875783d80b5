/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of services and controllers, and the pods that they give default spread constraints. */
#include "frontend/model/base/labels.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/owners.h"
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

/* Takes over `rules`; pending pods concerned get another shape. */
static void owner_set_rules(struct model *m, uint32_t owner, struct label_rules *rules)
{
	const struct owner_entry *e = owner_at(m, owner);
	struct label_rules *old;
	uint32_t next;

	if (rules_equal(e->rules, rules)) {
		rules_free(m, rules);
		return;
	}
	old = owner_swap_rules(m, owner, rules);
	for (uint32_t p = namespace_at(m, e->key.namespace)->pods_first; p != SLOT_NONE; p = next) {
		next = pod_at(m, p)->spread_link.next;
		if (concerns(e, old, pod_at(m, p)))
			pod_respread(m, p);
	}
	rules_free(m, old);
}

void owner_forget(struct model *m, uint32_t owner)
{
	owner_set_rules(m, owner, NULL);
	owner_release(m, owner);
}

void owner_withdraw(struct model *m, uint32_t owner)
{
	owner_set_rules(m, owner, NULL);
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
	owner_set_rules(m, owner, rules);
	return read < 0 || admitted ? read : memory_refuse(m, namespace, &text.meta, error);
}

void owner_remove(struct model *m, int resource, const struct meta *meta)
{
	uint32_t owner = owner_enter(m, m->which[resource], meta);
	const struct entry *e = &owner_at(m, owner)->entry;

	if (!e->stamp || !stamp_is_successor(m, e->stamp, meta))
		owner_forget(m, owner);
}
