/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicies, and the pods that wait for their say.  A policy that comes, changes or goes
 * makes the shapes of those pods anew. */
#include "frontend/model/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As Kosmos' code reads it, and as its document writes it. */
#define LABEL "workload-policy/kosmos.io"
#define LABEL_OF_DOCUMENT "workload-policy.kosmos.io"

/* ---- what it says ------------------------------------------------------------------- */

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

/* In its place among the sorted ones; the last of a name counts. */
static void insert_share(struct model *m, struct policy_rules *r, struct policy_share share)
{
	uint32_t at = r->shares_n;

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

static int content_make(struct model *m, const struct policy_object *from,
                        struct policy_rules **out)
{
	struct policy_rules *r = calloc(1, sizeof(*r) + from->shares_n * sizeof(r->shares[0]));

	if (!r)
		return -ENOMEM;
	if (intern_take(&m->keys, from->topology, &r->topology) < 0) {
		free(r);
		return -ENOMEM;
	}
	r->flags = from->flags;
	if (rules_make(m, from->selector.rules.rules, from->selector.rules.n, &r->selector) < 0)
		goto give;
	for (size_t i = 0; i < from->shares_n; i++) {
		struct policy_share share = { .replicas = from->shares[i].replicas };

		if (intern_take(&m->values, from->shares[i].name, &share.value) < 0)
			goto give;
		insert_share(m, r, share);
	}
	*out = r;
	return 0;

give:
	content_free(m, r);
	return -ENOMEM;
}

static bool content_equal(const struct policy_rules *a, const struct policy_rules *b)
{
	if (!a || !b)
		return a == b;
	return a->topology == b->topology && a->flags == b->flags &&
	       rules_equal(a->selector, b->selector) && a->shares_n == b->shares_n &&
	       memcmp(a->shares, b->shares, a->shares_n * sizeof(a->shares[0])) == 0;
}

/* ---- entries ------------------------------------------------------------------------ */

struct wanted {
	const struct model *m;
	uint32_t namespace, name;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct policy_entry *e = policy_at(w->m, slot);

	return e->namespace == w->namespace && e->name == w->name;
}

static uint32_t policy_hash(const struct model *m, uint32_t namespace, uint32_t name)
{
	const uint32_t id[2] = { namespace, name };

	return (uint32_t)siphash(m->hash_key, id, sizeof(id));
}

/* Takes over what the caller holds of namespace and name. */
static int policy_make(struct model *m, uint32_t namespace, uint32_t name, uint32_t *policy)
{
	struct policy_entry *e;

	if (table_reserve(&m->policies_index) < 0 || pool_take(&m->policies, policy) < 0)
		return -ENOMEM;
	e = policy_at(m, *policy);
	e->namespace = namespace;
	e->name = name;
	e->hash = policy_hash(m, namespace, name);
	e->pods_first = SLOT_NONE;
	table_put(&m->policies_index, e->hash, *policy);
	return 0;
}

/* The entry of that name, made if need be; nobody wants it then. */
static int policy_enter(struct model *m, struct text namespace_text, struct text name_text,
                        uint32_t *policy)
{
	uint32_t namespace, name;
	struct wanted w;
	int rc = namespace_take(m, namespace_text, &namespace);

	if (rc < 0)
		return rc;
	rc = intern_take(&m->values, name_text, &name);
	if (rc < 0) {
		namespace_give(m, namespace);
		return -ENOMEM;
	}
	w = (struct wanted){ m, namespace, name };
	*policy = table_find(&m->policies_index, policy_hash(m, namespace, name), is_wanted, &w);
	if (*policy == SLOT_NONE)
		rc = policy_make(m, namespace, name, policy);
	else
		rc = 1; /* it holds these already */
	if (rc != 0) {
		intern_give(&m->values, name);
		namespace_give(m, namespace);
	}
	return rc < 0 ? rc : 0;
}

void policy_release_if_unused(struct model *m, uint32_t policy)
{
	struct policy_entry *e = policy_at(m, policy);
	uint32_t namespace = e->namespace, name = e->name;

	if (e->texts || e->pods > 0)
		return;
	table_remove(&m->policies_index, e->hash, policy);
	pool_give(&m->policies, policy);
	intern_give(&m->values, name);
	namespace_give(m, namespace);
}

/* ---- pods ----------------------------------------------------------------------------- */

int policy_of_pod(struct model *m, const struct pod_object *pod, uint32_t *policy,
                  const char **fault)
{
	const struct text *name = pairs_find(&pod->meta.labels, LABEL);
	const struct text *other = pairs_find(&pod->meta.labels, LABEL_OF_DOCUMENT);
	int rc;

	*policy = ID_NONE;
	if ((!name && !other) || m->policies_off || text_is(pod->owner.kind, "DaemonSet"))
		return 0;
	if (name && other &&
	    (name->bytes != other->bytes || memcmp(name->at, other->at, name->bytes) != 0)) {
		*fault = arena_printf(&m->arena,
		                      "label " LABEL " names policy %.*s, label " LABEL_OF_DOCUMENT
		                      " names policy %.*s",
		                      TEXT_SHOWN(*name), TEXT_SHOWN(*other));
		return -EINVAL;
	}
	rc = policy_enter(m, pod->meta.namespace, name ? *name : *other, policy);
	if (rc < 0)
		*policy = ID_NONE;
	return rc;
}

void policy_join(struct model *m, uint32_t policy, uint32_t pod)
{
	struct policy_entry *e = policy_at(m, policy);
	struct pod_entry *p = pod_at(m, pod);

	p->policy = policy;
	p->policy_prev = SLOT_NONE;
	p->policy_next = e->pods_first;
	if (e->pods_first != SLOT_NONE)
		pod_at(m, e->pods_first)->policy_prev = pod;
	e->pods_first = pod;
	e->pods++;
}

void policy_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	uint32_t policy = p->policy;

	if (policy == ID_NONE)
		return;
	if (p->policy_prev == SLOT_NONE)
		policy_at(m, policy)->pods_first = p->policy_next;
	else
		pod_at(m, p->policy_prev)->policy_next = p->policy_next;
	if (p->policy_next != SLOT_NONE)
		pod_at(m, p->policy_next)->policy_prev = p->policy_prev;
	p->policy = ID_NONE;
	free(p->policy_refusal);
	p->policy_refusal = NULL;
	assert(policy_at(m, policy)->pods > 0);
	policy_at(m, policy)->pods--;
	policy_release_if_unused(m, policy);
}

const struct policy_use *policy_use_of(const struct model *m, uint32_t policy,
                                       const struct pod_label *labels, uint32_t n,
                                       struct policy_use *use)
{
	const struct policy_rules *rules = policy != ID_NONE ? policy_at(m, policy)->rules : NULL;

	if (!rules)
		return NULL;
	*use = (struct policy_use){ rules, !rules_hold(rules->selector, labels, n) };
	return use;
}

/* Kosmos' words, of its PreFilter. */
static char *refusal_of(const struct model *m, const struct pod_entry *p)
{
	const struct policy_entry *e = policy_at(m, p->policy);
	const char *name = intern_text(&m->values, e->name);
	char *text;
	int n;

	if (e->texts)
		n = asprintf(
			&text,
			"running PreFilter plugin \"LeafNodeWorkloadPolicy\": Fail to obtain pod's(%s/%s) "
			"workload-policy(%s): %s",
			p->texts, p->texts + strlen(p->texts) + 1, name, e->refusal ? e->refusal : "no memory");
	else
		n = asprintf(
			&text,
			"running PreFilter plugin \"LeafNodeWorkloadPolicy\": Fail to obtain pod's(%s/%s) "
			"workload-policy(%s): workloadpolicies.kosmos.io \"%s\" not found",
			p->texts, p->texts + strlen(p->texts) + 1, name, name);
	return n < 0 ? NULL : text;
}

/* Its shape can't be made with the policy. */
static char *trouble_of(int rc, const struct shape_trouble *trouble)
{
	char *text;

	if (rc == -EINVAL)
		return strdup(trouble->fault);
	if (rc == -ENOSPC && asprintf(&text, "the limit %s is reached", trouble->flag) >= 0)
		return text;
	return strdup("no memory");
}

void pod_join_policy(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct shape_trouble trouble = { 0 };
	struct spread_cause cause;
	struct policy_use use;
	struct shape_change change;
	uint32_t shape;
	char *text = NULL;
	int rc;

	arena_reset(&m->scratch);
	pod_shape_change(m, pod, &cause, &use, &change);
	rc = shape_remake(m, p->shape, &change, &shape, &trouble);
	if (rc < 0) {
		m->counts.limits_hit += rc == -ENOSPC;
		p->retry = true;
		text = trouble_of(rc, &trouble);
	} else {
		shape_give(m, p->shape);
		p->shape = shape;
		if (!change.policy)
			text = refusal_of(m, p);
	}
	free(p->policy_refusal);
	p->policy_refusal = text;
	pod_flag_refused(p);
	/* Refused for want of memory to say why, until it is read again. */
	if (!text && !change.policy) {
		p->retry = true;
		p->flags |= POD_REFUSED;
	}
}

/* ---- objects ---------------------------------------------------------------------------- */

/* It says something else now: takes over `rules` and `refusal`. */
static void policy_set(struct model *m, uint32_t policy, struct policy_rules *rules, char *refusal)
{
	struct policy_entry *e = policy_at(m, policy);
	struct policy_rules *old = e->rules;

	e->rules = rules;
	free(e->refusal);
	e->refusal = refusal;
	for (uint32_t p = e->pods_first; p != SLOT_NONE; p = pod_at(m, p)->policy_next) {
		pod_join_policy(m, p);
		list_push(&m->pods_dirty, &m->pods, p);
	}
	content_free(m, old);
}

void policy_forget_object(struct model *m, uint32_t policy)
{
	struct policy_entry *e = policy_at(m, policy);

	free(e->texts);
	e->texts = NULL;
	e->bad = false;
	policy_set(m, policy, NULL, NULL);
	policy_release_if_unused(m, policy);
}

/* What it says, or why it can't be honoured. */
static int policy_accept(struct model *m, uint32_t policy, const struct policy_object *object,
                         const char *fault)
{
	struct policy_entry *e = policy_at(m, policy);
	struct policy_rules *rules = NULL;
	char *stamp = model_stamp(&object->meta), *refusal = NULL;
	bool was_there = e->texts;

	if (!stamp)
		return -ENOMEM;
	if ((fault && !(refusal = strdup(fault))) || (!fault && content_make(m, object, &rules) < 0)) {
		free(stamp);
		return -ENOMEM;
	}
	free(e->texts);
	e->texts = stamp;
	e->bad = fault;
	if (was_there && rules && content_equal(e->rules, rules))
		content_free(m, rules);
	else
		policy_set(m, policy, rules, refusal);
	return 0;
}

/* It counts, but not as it is written. */
static int policy_fault(struct model *m, const struct policy_object *object,
                        struct decode_error *error)
{
	m->counts.objects_bad++;
	extract_object_name(&object->meta, error->object, sizeof(error->object));
	error->field[0] = '\0';
	snprintf(error->text, sizeof(error->text), "%s", object->below_zero);
	return -EINVAL;
}

int policy_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error)
{
	struct policy_object object;
	struct decode_error own;
	const char *fault = NULL;
	uint32_t policy;
	int rc, read;

	if (!error)
		error = &own;
	read = extract_policy(json, bytes, &m->arena, &object, error);
	if (read == -ENOMEM)
		return read;
	m->counts.objects_bad += read < 0;
	if (read < 0) {
		/* Who it is may stand behind what is wrong with it. */
		extract_meta(json, bytes, &m->arena, &object.meta, NULL);
		if (object.meta.name.bytes == 0)
			return read;
		fault = arena_printf(&m->arena, "%s: %s", error->field, error->text);
		if (!fault)
			return -ENOMEM;
	}
	if (!model_names_valid(&object.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	rc = policy_enter(m, object.meta.namespace, object.meta.name, &policy);
	if (rc < 0)
		return rc;
	if (!policy_at(m, policy)->texts && policy_at(m, policy)->pods == 0 &&
	    !referred_fits(m, &m->policies)) {
		policy_release_if_unused(m, policy);
		return referred_refuse(m, &object.meta, error);
	}
	policy_at(m, policy)->seen = m->replace[resource].round;
	if (stamp_covers(m, policy_at(m, policy)->texts, &object.meta, policy_at(m, policy)->bad))
		return 0;
	rc = policy_accept(m, policy, &object, fault);
	policy_release_if_unused(m, policy);
	if (rc < 0 || read < 0)
		return rc < 0 ? rc : read;
	return object.below_zero ? policy_fault(m, &object, error) : 0;
}

int policy_remove(struct model *m, const struct meta *meta)
{
	uint32_t policy;
	int rc = policy_enter(m, meta->namespace, meta->name, &policy);

	if (rc < 0)
		return rc;
	if (!policy_at(m, policy)->texts)
		policy_release_if_unused(m, policy);
	else if (stamp_is_successor(policy_at(m, policy)->texts, meta))
		m->counts.objects_stale++;
	else
		policy_forget_object(m, policy);
	return 0;
}
