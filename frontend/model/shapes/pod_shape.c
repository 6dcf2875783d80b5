/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/shapes/pod_shape.h"

#include "frontend/decode/fields.h"
#include "frontend/devices/live.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/pods/shares.h"
#include "frontend/model/nodes/unaccounted.h"
#include "frontend/volume/volume.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A change of the shape under construction. */
struct derivation {
	struct spread_cause cause;
	struct policy_use use;
	struct shape_change change;
	struct shape_trouble trouble;
};

/* All that is derived, storage apart; empties m->scratch. */
static void derive_start(struct model *m, const struct pod_entry *p, struct derivation *d)
{
	arena_reset(&m->scratch);
	*d = (struct derivation){ .cause = { p->namespace, p->labels, p->labels_n, p->owner_kind,
		                                 p->owner } };
	d->change.payer = (struct shape_payer){ p->namespace, p->node != ID_NONE, false };
	d->change.namespace = namespace_at(m, p->namespace)->name;
	d->change.spread = p->spreads ? &d->cause : NULL;
	d->change.policy = policy_use_of(m, p->policy, p->labels, p->labels_n, &d->use);
}

/* Gives the pod the changed shape.  -EINVAL, -ENOSPC (counted): it keeps the old one until it is
 * put again. */
static int derive(struct model *m, struct pod_entry *p, struct derivation *d)
{
	uint32_t shape;
	int rc = shape_remake(m, p->shape, &d->change, &shape, &d->trouble);

	assert(p->shape < m->shapes.pool.n && shape_at(m, p->shape)->entry.refs > 0);
	if (rc < 0) {
		m->counts.limits_hit += rc == -ENOSPC;
		p->entry.retry = true;
		return rc;
	}
	shape_give(m, p->shape);
	p->shape = shape;
	return 0;
}

static const char *trouble_text(struct model *m, int rc, const struct shape_trouble *trouble,
                                uint32_t namespace)
{
	if (rc == -EINVAL)
		return trouble->fault;
	return share_text(m, &m->scratch, trouble->flag, namespace);
}

void pod_respread(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	uint32_t shape = p->shape;
	struct derivation d;
	int rc;

	assert(p->entry.slot.live && p->spreads);
	derive_start(m, p, &d);
	rc = derive(m, p, &d);
	/* Default constraints only score nodes, so the pod is not refused. */
	m->counts.limits_hit += rc == -EINVAL;
	if (shape != p->shape)
		store_mark_dirty(&m->pods, pod);
}

/* The text that the pod's object alone is refused with, "". */
static const char *pod_base_refusal(const struct pod_entry *p)
{
	const char *text = p->texts;

	for (int i = 0; i < 4; i++)
		text = next_text(text);
	return text;
}

/* POD_REFUSED follows from its refusals. */
static void pod_flag_refused(struct pod_entry *p)
{
	p->flags &= (uint8_t)~POD_REFUSED;
	if (p->node == ID_NONE &&
	    (pod_rare(p, POD_STORAGE_REFUSAL) || pod_rare(p, POD_POLICY_REFUSAL) ||
	     pod_rare(p, POD_LIMIT_REFUSAL) || *pod_base_refusal(p)))
		p->flags |= POD_REFUSED;
}

/* Kosmos' message, from its PreFilter.  For free(). */
static char *policy_refusal(struct model *m, const struct pod_entry *p)
{
	const struct policy_entry *e = policy_at(m, p->policy);
	const char *name = intern_text(&m->values, e->key.name), *why = e->refusal;
	char *text;

	if (e->waits)
		why = "it was changed again soon after a change, which applies within a minute";
	else if (!e->entry.stamp)
		why = arena_printf(&m->scratch, "workloadpolicies.kosmos.io \"%s\" not found", name);
	if (asprintf(&text,
	             "running PreFilter plugin \"LeafNodeWorkloadPolicy\": "
	             "Fail to obtain pod's(%s/%s) workload-policy(%s): %s",
	             p->texts, next_text(p->texts), name, why) < 0)
		fatal_memory();
	return text;
}

void pod_join_policy(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct derivation d;
	char *text = NULL;
	int rc = 0;

	assert(p->entry.slot.live && p->policy != ID_NONE);
	derive_start(m, p, &d);
	if (!policy_at(m, p->policy)->waits)
		rc = derive(m, p, &d);
	if (rc < 0)
		text = must_copy(trouble_text(m, rc, &d.trouble, p->namespace));
	else if (!d.change.policy || policy_at(m, p->policy)->waits)
		text = policy_refusal(m, p);
	pod_set_rare(p, POD_POLICY_REFUSAL, text);
	pod_flag_refused(p);
}

void pod_check_columns(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	const struct event_shape *e = (const void *)shape_at(m, p->shape)->body;
	const char *name = NULL;
	char *text = NULL;

	if (p->withdrawn)
		return;
	if ((p->flags & POD_OURS) && p->node == ID_NONE)
		name = amounts_left_out(m, (const void *)(e + 1), e->amounts_n);
	if (!name && !pod_rare(p, POD_LIMIT_REFUSAL))
		return;
	if (name && asprintf(&text, "the limit --max-resources is reached: there is no column for %s",
	                     name) < 0)
		fatal_memory();
	pod_set_rare(p, POD_LIMIT_REFUSAL, text);
	pod_flag_refused(p);
	store_mark_dirty(&m->pods, pod);
}

void pod_refuse_until_put(struct model *m, uint32_t pod, const char *text)
{
	struct pod_entry *p = pod_at(m, pod);

	m->counts.limits_hit++;
	p->withdrawn = true;
	p->entry.retry = true;
	pod_set_rare(p, POD_LIMIT_REFUSAL, must_copy(text));
	pod_flag_refused(p);
	store_mark_dirty(&m->pods, pod);
	model_note_lack(m, RESOURCE_INDEX_PODS);
}

static void set_storage_refusal(struct pod_entry *p, uint32_t refused, const char *text)
{
	pod_set_rare(p, POD_STORAGE_REFUSAL, refused != VOLUME_REFUSED_NOT ? must_copy(text) : NULL);
	p->storage_refused = (uint8_t)refused;
	pod_flag_refused(p);
}

/* The shape could not be stored. */
static void storage_fails(struct model *m, struct pod_entry *p, const char *text)
{
	assert(!p->storage_unaccounted || p->unaccounted);
	if (p->node == ID_NONE) {
		set_storage_refusal(p, VOLUME_REFUSED_OURS, text);
		return;
	}
	if (!p->unaccounted) {
		unaccounted_begin(m, p->node);
		p->storage_unaccounted = true;
	}
	p->unaccounted = true;
}

static struct volume_rule_object node_rule_of(struct model *m, const char *node)
{
	struct node_term *term = arena_array(&m->scratch, 1, sizeof(*term));

	term->rules = arena_array(&m->scratch, 1, sizeof(*term->rules));
	term->n = 1;
	term->rules->key = text_of("metadata.name");
	term->rules->is_field = true;
	term->rules->op = REQUIRE_IN;
	term->rules->values = arena_array(&m->scratch, 1, sizeof(struct text));
	term->rules->values_n = 1;
	*term->rules->values = text_of(arena_printf(&m->scratch, "%s", node));
	return (struct volume_rule_object){ .why = FILTER_DEVICE_CLAIM,
		                                .terms = term,
		                                .n = node[0] != '\0' };
}

static bool holds_nowhere(const struct node_term *t)
{
	bool is_void = t->n == 0;

	for (size_t i = 0; i < t->n; i++)
		is_void = is_void || t->rules[i].is_void;
	return is_void;
}

/* A selector that can't be read has no term, and holds nowhere. */
static struct volume_rule_object selector_rule_of(struct model *m, const char *selector)
{
	struct volume_rule_object rule = { .why = FILTER_DEVICE_CLAIM };
	const char *text = arena_printf(&m->scratch, "%s", selector);
	size_t cap = 0;
	struct json j;

	json_begin(&j, text, strlen(text), &m->scratch);
	if (!extract_node_terms(&j, &rule.terms, &rule.n, &cap) || !json_end(&j))
		rule.n = 0;
	for (size_t i = rule.n; i-- > 0;)
		if (holds_nowhere(&rule.terms[i]))
			rule.terms[i] = rule.terms[--rule.n];
	return rule;
}

static void join_nodes(struct model *m, const struct live_verdict *v, struct pod_storage *storage)
{
	const size_t n = storage->rules_n + v->selectors_n + (v->node != NULL);
	struct volume_rule_object *rules;

	if (n == storage->rules_n)
		return;
	rules = arena_array(&m->scratch, n, sizeof(*rules));
	if (storage->rules_n > 0)
		memcpy(rules, storage->rules, storage->rules_n * sizeof(*rules));
	for (uint32_t i = 0; i < v->selectors_n; i++)
		rules[storage->rules_n++] = selector_rule_of(m, v->selectors[i]);
	if (v->node)
		rules[storage->rules_n++] = node_rule_of(m, v->node);
	storage->rules = rules;
}

/* Where its claims are allocated, and what is to be chosen for the others.  Nothing once its
 * devices are chosen and being written; those of a binding that is taken back for an earlier
 * instance are not: the core keeps what it took for them. */
static void join_claims(struct model *m, uint32_t pod, struct pod_storage *storage,
                        struct shape_change *change)
{
	const struct pod_entry *p = pod_at(m, pod);
	const bool begun = p->binding != ID_NONE && p->intent == 0;
	const bool placed = p->node != ID_NONE || (begun && live_is_chosen(m->live, pod));
	struct live_verdict verdict = { 0 };

	if (p->has_claims && !p->storage_waits)
		live_judge(m->live, pod, placed, &verdict);
	change->devices_change = true;
	change->pod = pod;
	change->devices = verdict.devices;
	if (verdict.refusal) {
		storage->refused = verdict.refusal_is_kube ? VOLUME_REFUSED_KUBE : VOLUME_REFUSED_OURS;
		storage->refusal = arena_printf(&m->scratch, "%s", verdict.refusal);
		change->devices = 0;
	}
	/* Each of them would get devices of its own, of which the claim can have those of one. */
	if (!verdict.refusal && p->gang != ID_NONE && verdict.devices > 0 && !verdict.one &&
	    live_claims_shared(m->live, pod)) {
		storage->refused = VOLUME_REFUSED_OURS;
		storage->refusal = "muster does not support members of a gang that share a claim which is "
						   "not allocated yet and have another one that is not";
		change->devices = 0;
		return;
	}
	if (!verdict.refusal)
		join_nodes(m, &verdict, storage);
}

/* No Binding of it may be in flight either. */
static bool awaits_node(const struct pod_entry *p)
{
	return p->node == ID_NONE && p->binding == ID_NONE;
}

static void pod_join_storage(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct pod_storage storage = { 0 };
	struct derivation d;
	int rc;

	assert(p->entry.slot.live);
	derive_start(m, p, &d);
	p->storage_waits = p->storage_waits && awaits_node(p);
	if (p->storage_waits) {
		storage.refused = VOLUME_REFUSED_OURS;
		storage.refusal = "its claims were changed again soon after a change, which applies within "
						  "a minute";
	} else if (p->has_volumes) {
		volumes_join_pod(m->volumes, pod, p->node != ID_NONE, &m->scratch, &storage);
	}
	if (m->live)
		join_claims(m, pod, &storage, &d.change);
	if (storage.refused != VOLUME_REFUSED_NOT)
		storage = (struct pod_storage){ .refused = storage.refused, .refusal = storage.refusal };
	d.change.storage = &storage;
	rc = derive(m, p, &d);
	if (rc < 0) {
		storage_fails(m, p, trouble_text(m, rc, &d.trouble, p->namespace));
		return;
	}
	set_storage_refusal(p, storage.refused, storage.refusal);
	p->storage_met = p->storage_met || storage.refused == VOLUME_REFUSED_NOT;
	if (p->storage_unaccounted) {
		p->storage_unaccounted = p->unaccounted = false;
		unaccounted_end(m, p->node);
	}
}

void pod_set_storage(struct model *m, uint32_t pod, const struct pod_object *object)
{
	struct pod_entry *p = pod_at(m, pod);
	bool any = object && object->volumes && object->volumes->n > 0;
	bool claims = p->has_claims && object;

	pod_set_rare(p, POD_STORAGE_REFUSAL, NULL);
	p->storage_refused = VOLUME_REFUSED_NOT;
	p->storage_unaccounted = false;
	if (!any && !p->has_volumes && !claims)
		return;
	arena_reset(&m->scratch);
	if (any || p->has_volumes)
		volumes_set_pod(m->volumes, pod, any ? object : NULL);
	m->counts.pods_with_volumes += any;
	m->counts.pods_with_volumes -= p->has_volumes;
	p->has_volumes = any;
	if (any || claims)
		pod_join_storage(m, pod);
}

static void pod_join_again(struct model *m, uint32_t pod)
{
	const struct pod_entry *p = pod_at(m, pod);
	const uint32_t shape = p->shape, flags = p->flags;
	const char *refusal = pod_rare(p, POD_STORAGE_REFUSAL);
	char *before = refusal ? must_copy(refusal) : NULL;

	pod_join_storage(m, pod);
	if (p->shape != shape || p->flags != flags ||
	    !same_text(before, pod_rare(p, POD_STORAGE_REFUSAL)))
		store_mark_dirty(&m->pods, pod);
	free(before);
}

void pod_set_claims(struct model *m, uint32_t pod, const char *json, size_t bytes)
{
	struct pod_entry *p = pod_at(m, pod);
	const bool waits = json && (p->flags & POD_OURS) && p->node == ID_NONE;
	const bool has = waits && live_pod_set(m->live, pod, json, bytes);

	if (!has && !p->has_claims)
		return;
	if (!has)
		live_pod_drop(m->live, pod);
	p->has_claims = has;
	pod_join_again(m, pod);
}

/* True if a change of claims that several pods name is deferred, which makes the core plan the pod
 * once more.  Those that apply at one time are one change. */
static bool claims_wait(struct model *m, const struct pod_entry *p)
{
	struct namespace_entry *n = namespace_at(m, p->namespace);

	if (n->claims_ns != m->now_ns) {
		if (respread_waits(m, n))
			return true;
		n->claims_ns = m->now_ns;
		n->claims_pods = 0;
	}
	respread_rest(m, n, ++n->claims_pods);
	return false;
}

void pod_storage_changed(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	/* The first claims of a pod are a part of its creation. */
	const bool again = p->storage_met && awaits_node(p) &&
	                   ((p->has_claims && live_shared_changed(m->live, pod)) ||
	                    (p->has_volumes && volumes_shared_changed(m->volumes, pod)));
	const bool refused = p->storage_refused != VOLUME_REFUSED_NOT;
	const uint32_t shape = p->shape;

	if (p->storage_waits && awaits_node(p))
		return;
	pod_join_again(m, pod);
	if (!again || p->storage_refused != VOLUME_REFUSED_NOT || (!refused && p->shape == shape) ||
	    !claims_wait(m, p))
		return;
	if (m->storage_waits_n == m->storage_waits_cap) {
		m->storage_waits_cap = m->storage_waits_cap * 2 + 64;
		m->storage_waits =
			must_grow(m->storage_waits, m->storage_waits_cap * sizeof(*m->storage_waits));
	}
	m->storage_waits[m->storage_waits_n++] = pod;
	p->storage_waits = true;
	pod_join_again(m, pod);
}

uint64_t storage_apply(struct model *m, const struct namespace_entry *n)
{
	size_t left = 0;
	uint64_t pods = 0;

	for (size_t i = 0; i < m->storage_waits_n; i++) {
		const uint32_t pod = m->storage_waits[i];
		struct pod_entry *p = pod_at(m, pod);

		if (!p->entry.slot.live || !p->storage_waits)
			continue;
		if (namespace_at(m, p->namespace) != n) {
			m->storage_waits[left++] = pod;
			continue;
		}
		/* The next join is as its first one, so that it waits once. */
		p->storage_waits = p->storage_met = false;
		if (p->has_volumes)
			volumes_join_again(m->volumes, pod);
		if (p->has_claims)
			live_pod_judge_again(m->live, pod);
		pods++;
	}
	m->storage_waits_n = left;
	return pods;
}
