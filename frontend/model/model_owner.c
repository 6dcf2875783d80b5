/* SPDX-License-Identifier: Apache-2.0 */
/* Services and controllers: the topology spread of pods without constraints of their
 * own.  kube-scheduler spreads those by default, counting the pods that the selectors
 * of a pod's services and of its controller match, all together. */
#include "frontend/model/shape.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rules ---------------------------------------------------------------------------- */

/* A service's: pairs that must all be there. */
static bool pairs_match(const struct owner_rules *r, const struct spread_cause *c)
{
	for (uint32_t i = 0; r && i < r->n; i++)
		if (labels_find(c->labels, c->labels_n, r->at[i].key) != r->values[r->at[i].values_first])
			return false;
	return r;
}

/* ---- services by the first pair of their selector ------------------------------------------ */

static uint32_t pair_hash(const struct model *m, uint32_t namespace, uint32_t key, uint32_t value)
{
	const uint32_t pair[3] = { namespace, key, value };

	return (uint32_t)siphash(m->hash_key, pair, sizeof(pair));
}

struct wanted_pair {
	const struct model *m;
	uint32_t namespace, key, value;
};

static bool has_pair(const void *context, uint32_t slot)
{
	const struct wanted_pair *w = context;
	const struct owner_entry *e = owner_at(w->m, slot);

	return e->namespace == w->namespace && e->rules->at[0].key == w->key &&
	       e->rules->values[0] == w->value;
}

static uint32_t first_service(const struct model *m, uint32_t namespace, uint32_t key,
                              uint32_t value)
{
	struct wanted_pair w = { m, namespace, key, value };

	return table_find(&m->services_index, pair_hash(m, namespace, key, value), has_pair, &w);
}

/* After table_reserve(). */
static void service_link(struct model *m, uint32_t service)
{
	struct owner_entry *e = owner_at(m, service), *head;
	uint32_t first;

	e->pair_next = e->pair_prev = SLOT_NONE;
	if (e->kind != OWNER_SERVICE || !e->rules)
		return;
	first = first_service(m, e->namespace, e->rules->at[0].key, e->rules->values[0]);
	e->pair_hash = pair_hash(m, e->namespace, e->rules->at[0].key, e->rules->values[0]);
	e->is_first = first == SLOT_NONE;
	if (e->is_first) {
		table_put(&m->services_index, e->pair_hash, service);
		return;
	}
	head = owner_at(m, first);
	e->pair_prev = first;
	e->pair_next = head->pair_next;
	if (e->pair_next != SLOT_NONE)
		owner_at(m, e->pair_next)->pair_prev = service;
	head->pair_next = service;
}

static void service_unlink(struct model *m, uint32_t service)
{
	struct owner_entry *e = owner_at(m, service);

	if (e->kind != OWNER_SERVICE || !e->rules)
		return;
	if (e->pair_next != SLOT_NONE)
		owner_at(m, e->pair_next)->pair_prev = e->pair_prev;
	if (!e->is_first) {
		owner_at(m, e->pair_prev)->pair_next = e->pair_next;
		return;
	}
	e->is_first = false;
	table_remove(&m->services_index, e->pair_hash, service);
	if (e->pair_next != SLOT_NONE) {
		owner_at(m, e->pair_next)->is_first = true;
		table_put(&m->services_index, e->pair_hash, e->pair_next);
	}
}

/* ---- entries ------------------------------------------------------------------------------ */

static uint32_t owner_hash(const struct model *m, uint32_t kind, uint32_t namespace, uint32_t name)
{
	const uint32_t id[3] = { kind, namespace, name };

	return (uint32_t)siphash(m->hash_key, id, sizeof(id));
}

struct wanted {
	const struct model *m;
	uint32_t kind, namespace, name;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct owner_entry *e = owner_at(w->m, slot);

	return e->kind == w->kind && e->namespace == w->namespace && e->name == w->name;
}

static uint32_t owner_find(const struct model *m, uint32_t kind, uint32_t namespace, uint32_t name)
{
	struct wanted w = { m, kind, namespace, name };

	return table_find(&m->owners_index, owner_hash(m, kind, namespace, name), is_wanted, &w);
}

/* Takes over what the caller holds of namespace and name. */
static int owner_make(struct model *m, uint32_t kind, uint32_t namespace, uint32_t name,
                      uint32_t *owner)
{
	struct owner_entry *e;

	if (table_reserve(&m->owners_index) < 0 || pool_take(&m->owners, owner) < 0)
		return -ENOMEM;
	e = owner_at(m, *owner);
	e->kind = kind;
	e->namespace = namespace;
	e->name = name;
	e->hash = owner_hash(m, kind, namespace, name);
	e->pair_next = e->pair_prev = SLOT_NONE;
	table_put(&m->owners_index, e->hash, *owner);
	return 0;
}

/* ---- whom it concerns ---------------------------------------------------------------------- */

static bool concerns(const struct owner_entry *e, const struct owner_rules *old,
                     const struct pod_entry *p)
{
	const struct spread_cause c = { .labels = p->labels, .labels_n = p->labels_n };

	if (e->kind != OWNER_SERVICE)
		return p->owner_kind == e->kind && p->owner == e->name;
	return pairs_match(e->rules, &c) || pairs_match(old, &c);
}

/* Its rules are new: pods that wait and are concerned get another shape.  Takes over
 * `rules`; room in the services' index is there. */
static void owner_set_rules(struct model *m, uint32_t owner, struct owner_rules *rules)
{
	struct owner_entry *e = owner_at(m, owner);
	struct owner_rules *old = e->rules;
	uint32_t next;

	if (rules_equal(old, rules)) {
		rules_free(m, rules);
		return;
	}
	service_unlink(m, owner);
	e->rules = rules;
	service_link(m, owner);
	for (uint32_t p = namespace_at(m, e->namespace)->pods_first; p != SLOT_NONE; p = next) {
		next = pod_at(m, p)->spread_next;
		if (concerns(e, old, pod_at(m, p)))
			pod_respread(m, p);
	}
	rules_free(m, old);
}

void owner_forget(struct model *m, uint32_t owner)
{
	struct owner_entry *e = owner_at(m, owner);
	uint32_t namespace = e->namespace, name = e->name;

	owner_set_rules(m, owner, NULL);
	table_remove(&m->owners_index, e->hash, owner);
	free(e->texts);
	e->texts = NULL;
	pool_give(&m->owners, owner);
	intern_give(&m->values, name);
	namespace_give(m, namespace);
}

uint32_t owner_kind_of(const struct owner_object *owner)
{
	if (text_is(owner->api_version, "apps/v1")) {
		if (text_is(owner->kind, "ReplicaSet"))
			return OWNER_REPLICA_SET;
		if (text_is(owner->kind, "StatefulSet"))
			return OWNER_STATEFUL_SET;
	}
	if (text_is(owner->api_version, "v1") && text_is(owner->kind, "ReplicationController"))
		return OWNER_REPLICATION_CONTROLLER;
	return OWNER_NONE;
}

/* ---- the selector of the default constraints ------------------------------------------------- */

struct pair_list {
	struct arena *arena;
	struct pod_label *at;
	size_t n, room;
};

/* A later value of a key replaces the former. */
static int list_set(struct pair_list *l, uint32_t key, uint32_t value)
{
	struct pod_label *grown;

	for (size_t i = 0; i < l->n; i++) {
		if (l->at[i].key == key) {
			l->at[i].value = value;
			return 0;
		}
	}
	grown = arena_grow(l->arena, l->at, l->n, &l->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->at = grown;
	grown[l->n++] = (struct pod_label){ key, value };
	return 0;
}

static int list_set_all(struct pair_list *l, const struct owner_rules *r)
{
	int rc = 0;

	for (uint32_t i = 0; r && rc == 0 && i < r->n; i++)
		if (r->at[i].op == REQUIRE_IN && r->at[i].values_n == 1)
			rc = list_set(l, r->at[i].key, r->values[r->at[i].values_first]);
	return rc;
}

static int list_services(const struct model *m, struct pair_list *l, const struct spread_cause *c)
{
	for (uint32_t i = 0; i < c->labels_n; i++) {
		uint32_t s = first_service(m, c->namespace, c->labels[i].key, c->labels[i].value);

		for (; s != SLOT_NONE; s = owner_at(m, s)->pair_next) {
			const struct owner_rules *r = owner_at(m, s)->rules;
			int rc = pairs_match(r, c) ? list_set_all(l, r) : 0;

			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static int pair_order(const void *a, const void *b)
{
	const struct pod_label *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static bool is_among(const struct pair_list *l, const struct requirement *q, const uint32_t *values)
{
	for (size_t i = 0; i < l->n; i++)
		if (q->op == REQUIRE_IN && q->values_n == 1 && l->at[i].key == q->key &&
		    l->at[i].value == values[0])
			return true;
	return false;
}

int owner_clauses(struct draft *d, const struct spread_cause *c, struct span *out)
{
	struct pair_list l = { .arena = d->arena };
	const struct owner_rules *rules = NULL;
	uint32_t owner = SLOT_NONE;
	int rc = list_services(d->m, &l, c);

	if (c->owner_kind != OWNER_NONE)
		owner = owner_find(d->m, c->owner_kind, c->namespace, c->owner);
	if (owner != SLOT_NONE)
		rules = owner_at(d->m, owner)->rules;
	if (rc == 0 && c->owner_kind == OWNER_REPLICATION_CONTROLLER) {
		rc = list_set_all(&l, rules);
		rules = NULL;
	}
	if (l.n > 1)
		qsort(l.at, l.n, sizeof(*l.at), pair_order);
	out->first = draft_count(d, SECTION_CLAUSES);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		rc = draft_requirement(
			d, &(struct requirement){ .op = REQUIRE_IN, .key = l.at[i].key, .values_n = 1 },
			&l.at[i].value);
	for (uint32_t i = 0; rules && rc == 0 && i < rules->n; i++)
		if (!is_among(&l, &rules->at[i], rules->values + rules->at[i].values_first))
			rc = draft_requirement(d, &rules->at[i], rules->values + rules->at[i].values_first);
	out->n = draft_count(d, SECTION_CLAUSES) - out->first;
	return rc;
}

/* ---- objects -----------------------------------------------------------------------------------
 */

/* A service or controller, whichever it is. */
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
	out->rules_n = 0;
	if (rc < 0 || service.selector.n == 0)
		return rc;
	out->rules = arena_alloc(&m->arena, service.selector.n * sizeof(*out->rules));
	if (!out->rules)
		return -ENOMEM;
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

/* The entry of that kind and name, made if need be: without texts then. */
static int owner_enter(struct model *m, uint32_t kind, const struct meta *meta, uint32_t *owner)
{
	uint32_t namespace, name;
	int rc = namespace_take(m, meta->namespace, &namespace);

	if (rc < 0)
		return rc;
	rc = intern_take(&m->values, meta->name, &name);
	if (rc == 0) {
		*owner = owner_find(m, kind, namespace, name);
		if (*owner == SLOT_NONE)
			rc = owner_make(m, kind, namespace, name, owner);
		else
			rc = 1; /* it holds these already */
		if (rc == 0)
			return 0;
		intern_give(&m->values, name);
	}
	namespace_give(m, namespace);
	return rc > 0 ? 0 : -ENOMEM;
}

static int owner_accept(struct model *m, uint32_t owner, const struct owner_text *text)
{
	struct owner_rules *rules;
	char *stamp;
	int rc = table_reserve(&m->services_index);

	if (rc < 0)
		return rc;
	stamp = model_stamp(&text->meta);
	if (!stamp)
		return -ENOMEM;
	rc = rules_make(m, text->rules, text->rules_n, &rules);
	if (rc < 0) {
		free(stamp);
		return rc;
	}
	free(owner_at(m, owner)->texts);
	owner_at(m, owner)->texts = stamp;
	owner_set_rules(m, owner, rules);
	return 0;
}

int owner_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error)
{
	uint32_t kind = m->which[resource], owner;
	struct owner_text text = { 0 };
	int rc, read;

	read = kind == OWNER_SERVICE ? read_service(m, json, bytes, &text, error)
	                             : read_controller(m, resource, json, bytes, &text, error);
	if (read == -ENOMEM)
		return read;
	m->counts.objects_bad += read < 0;
	if (text.meta.name.bytes == 0)
		return read;
	if (!model_names_valid(&text.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	rc = owner_enter(m, kind, &text.meta, &owner);
	if (rc < 0)
		return rc;
	if (!owner_at(m, owner)->texts && !referred_fits(m, &m->owners)) {
		owner_forget(m, owner);
		return referred_refuse(m, &text.meta, error);
	}
	owner_at(m, owner)->seen = m->replace[resource].round;
	if (stamp_covers(m, owner_at(m, owner)->texts, &text.meta, owner_at(m, owner)->bad))
		return 0;
	if (read < 0) /* it selects nobody until it can be read */
		text.rules_n = 0;
	rc = owner_accept(m, owner, &text);
	owner_at(m, owner)->bad = read < 0 || rc < 0;
	if (rc < 0 && !owner_at(m, owner)->texts)
		owner_forget(m, owner);
	return rc < 0 ? rc : read;
}

int owner_remove(struct model *m, int resource, const struct meta *meta)
{
	uint32_t owner;
	int rc = owner_enter(m, m->which[resource], meta, &owner);

	if (rc < 0)
		return rc;
	if (owner_at(m, owner)->texts && stamp_is_successor(owner_at(m, owner)->texts, meta))
		m->counts.objects_stale++;
	else
		owner_forget(m, owner);
	return 0;
}
