/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of policies, and the pending pods that they apply to. */
#include "frontend/model/base/limits.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/policies.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void content_free(struct model *m, struct policy_rules *r)
{
	if (!r)
		return;
	rules_free(m, r->selector);
	intern_give(&m->keys, r->topology);
	for (uint32_t i = 0; i < r->shares_n; i++)
		intern_give(&m->values, r->shares[i].value);
	free(r);
}

/* Keeps them sorted; the last one of a name counts. */
static void insert_share(struct model *m, struct policy_rules *r, struct policy_share share)
{
	uint32_t at = r->shares_n;

	assert(!m->policies_off);
	while (at > 0 && r->shares[at - 1].value > share.value)
		at--;
	if (at > 0 && r->shares[at - 1].value == share.value) {
		r->shares[at - 1].replicas = share.replicas;
		intern_give(&m->values, share.value);
		return;
	}
	memmove(&r->shares[at + 1], &r->shares[at], (r->shares_n - at) * sizeof(share));
	r->shares[at] = share;
	r->shares_n++;
}

static struct policy_rules *content_make(struct model *m, const struct policy_object *from)
{
	struct policy_rules *r = must_alloc(sizeof(*r) + from->shares_n * sizeof(r->shares[0]));

	r->topology = model_number(&m->keys, from->topology);
	r->flags = from->flags;
	r->selector = rules_make(m, from->selector.rules.rules, from->selector.rules.n);
	for (size_t i = 0; i < from->shares_n; i++) {
		struct policy_share share = { .replicas = from->shares[i].replicas };

		share.value = model_number(&m->values, from->shares[i].name);
		insert_share(m, r, share);
	}
	return r;
}

static bool content_equal(const struct policy_rules *a, const struct policy_rules *b)
{
	if (!a || !b)
		return a == b;
	return a->topology == b->topology && a->flags == b->flags &&
	       rules_equal(a->selector, b->selector) && a->shares_n == b->shares_n &&
	       memcmp(a->shares, b->shares, a->shares_n * sizeof(a->shares[0])) == 0;
}

/* Returns how many pods name it. */
static uint64_t pods_join(struct model *m, const struct policy_entry *e)
{
	uint64_t n = 0;

	for (uint32_t p = e->pods_first; p != SLOT_NONE; p = pod_at(m, p)->policy_link.next, n++) {
		pod_join_policy(m, p);
		store_mark_dirty(&m->pods, p);
	}
	return n;
}

/* Each change makes the core plan all its pods again, before gangs of others that are created
 * later: those that follow each other wait.  Its rules are hard, so until then its pods do, too. */
static void apply_or_wait(struct model *m, struct policy_entry *e, bool may_wait)
{
	struct namespace_entry *n = namespace_at(m, e->key.namespace);
	const bool waited = e->waits;
	uint64_t pods;

	e->waits = may_wait && e->pods_first != SLOT_NONE && respread_waits(m, n);
	n->policies_wait = n->policies_wait || e->waits;
	if (waited && e->waits)
		return;
	pods = pods_join(m, e);
	if (!e->waits && pods > 0 && !n->respread_due)
		respread_rest(m, n, pods);
}

uint64_t policies_apply(struct model *m, struct namespace_entry *n)
{
	uint64_t pods = 0;

	if (!n->policies_wait)
		return 0;
	n->policies_wait = false;
	STORE_EACH(&m->policies, i)
	{
		struct policy_entry *e = policy_at(m, i);

		if (!e->waits || namespace_at(m, e->key.namespace) != n)
			continue;
		e->waits = false;
		pods += pods_join(m, e);
	}
	return pods;
}

/* Replace the content: takes over `rules` and `refusal`. */
static void policy_set(struct model *m, uint32_t policy, struct policy_rules *rules, char *refusal,
                       bool may_wait)
{
	struct policy_entry *e = policy_at(m, policy);
	struct policy_rules *old = e->rules;

	assert(!rules || !refusal);
	e->rules = rules;
	free(e->refusal);
	e->refusal = refusal;
	apply_or_wait(m, e, may_wait);
	content_free(m, old);
}

void policy_forget_object(struct model *m, uint32_t policy)
{
	struct policy_entry *e = policy_at(m, policy);

	if (!e->entry.stamp)
		return;
	stamp_clear(&e->entry);
	policy_set(m, policy, NULL, NULL, true);
	policy_release_if_unused(m, policy);
}

uint64_t policy_part_bytes(const struct model *m, uint32_t policy)
{
	const struct policy_rules *r = policy_at(m, policy)->rules;
	uint64_t bytes = r ? rules_part_bytes(m, r->selector) : 0;

	for (uint32_t i = 0; r && i < r->shares_n; i++)
		bytes += intern_part_bytes(&m->values, r->shares[i].value);
	return bytes;
}

void policy_withdraw(struct model *m, uint32_t policy, const char *text)
{
	policy_set(m, policy, NULL, must_copy(text), false);
	policy_at(m, policy)->entry.retry = true;
	model_note_lack_of(m, ROLE_POLICIES, 0);
}

/* `fault`: why the object cannot be applied, or NULL. */
static void policy_accept(struct model *m, uint32_t policy, const struct policy_object *object,
                          const char *fault)
{
	struct policy_entry *e = policy_at(m, policy);
	struct policy_rules *rules;
	bool had_object = e->entry.stamp;

	memory_payer(m, e->key.namespace);
	rules = fault ? NULL : content_make(m, object);
	memory_payer(m, ID_NONE);
	stamp_set(&e->entry.stamp, &object->meta);
	e->entry.retry = fault;
	if (had_object && rules && content_equal(e->rules, rules))
		content_free(m, rules);
	else
		policy_set(m, policy, rules, fault ? must_copy(fault) : NULL, true);
}

/* It is applied, but not as it is written. */
static int policy_fault(struct model *m, const struct policy_object *object,
                        struct decode_error *error)
{
	m->counts.objects_bad++;
	decode_error_set(error, &object->meta, "", "%s", object->below_zero);
	return -EINVAL;
}

int policy_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error)
{
	struct policy_object object;
	struct decode_error own;
	const char *fault = NULL;
	struct entry *e;
	uint32_t policy, namespace;
	bool admitted;
	int read;

	if (!error)
		error = &own;
	read = extract_policy(json, bytes, &m->arena, &object, error);
	if (read == 0)
		read = rules_check(object.selector.rules.rules, object.selector.rules.n, &object.meta,
		                   "spec.labelSelector", "", error);
	m->counts.objects_bad += read < 0;
	if (read < 0) {
		/* Its name may be behind what cannot be read. */
		extract_meta(json, bytes, &m->arena, &object.meta, NULL);
		if (object.meta.name.bytes == 0)
			return read;
		fault = arena_printf(&m->arena, "%s: %s", error->field, error->text);
	}
	if (!model_names_valid(&object.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	policy = policy_enter(m, object.meta.namespace, object.meta.name);
	e = &policy_at(m, policy)->entry;
	if (!e->stamp && e->refs == 0 && !referred_fits(m, &m->policies)) {
		policy_release_if_unused(m, policy);
		return referred_refuse(m, &object.meta, error);
	}
	if (object_is_known(m, resource, e, &object.meta))
		return 0;
	m->object_bytes = bytes;
	namespace = policy_at(m, policy)->key.namespace;
	admitted = fault || memory_admits(m, namespace);
	if (!admitted)
		fault = share_text(m, &m->arena, "--max-memory", namespace);
	policy_accept(m, policy, &object, fault);
	if (read < 0 || !admitted)
		return read < 0 ? read : memory_refuse(m, namespace, &object.meta, error);
	return object.below_zero ? policy_fault(m, &object, error) : 0;
}

void policy_remove(struct model *m, const struct meta *meta)
{
	uint32_t policy = policy_enter(m, meta->namespace, meta->name);
	const struct entry *e = &policy_at(m, policy)->entry;

	if (!e->stamp)
		policy_release_if_unused(m, policy);
	else if (!stamp_is_successor(m, e->stamp, meta))
		policy_forget_object(m, policy);
}
