/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/policies.h"

#include "frontend/model/pods/pods.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* The label in the code of Kosmos, and in its documentation. */
#define LABEL "workload-policy/kosmos.io"
#define LABEL_OF_DOCUMENT "workload-policy.kosmos.io"

void policy_free(struct policy_entry *e)
{
	free(e->refusal);
	if (e->rules)
		free(e->rules->selector);
	free(e->rules);
}

uint32_t policy_enter(struct model *m, struct text namespace, struct text name)
{
	bool is_new;
	const uint32_t policy = named_enter(m, &m->policies, 0, namespace, name, &is_new);

	if (is_new)
		policy_at(m, policy)->pods_first = SLOT_NONE;
	return policy;
}

void policy_release_if_unused(struct model *m, uint32_t policy)
{
	const struct policy_entry *e = policy_at(m, policy);

	assert(e->entry.slot.live);
	if (e->entry.stamp || e->entry.refs > 0)
		return;
	assert(!e->rules && !e->refusal && e->pods_first == SLOT_NONE);
	named_remove(m, &m->policies, policy);
}

int policy_of_pod(struct model *m, const struct pod_object *pod, uint32_t *policy,
                  const char **fault)
{
	const struct text *name = pairs_find(&pod->meta.labels, LABEL);
	const struct text *other = pairs_find(&pod->meta.labels, LABEL_OF_DOCUMENT);

	*policy = ID_NONE;
	if ((!name && !other) || m->policies_off || text_is(pod->owner.kind, "DaemonSet"))
		return 0;
	if (name && other && !text_equal(*name, *other)) {
		*fault = arena_printf(&m->arena,
		                      "label " LABEL " names policy %.*s, label " LABEL_OF_DOCUMENT
		                      " names policy %.*s",
		                      TEXT_SHOWN(*name), TEXT_SHOWN(*other));
		return -EINVAL;
	}
	*policy = policy_enter(m, pod->meta.namespace, name ? *name : *other);
	return 0;
}

void policy_join(struct model *m, uint32_t policy, uint32_t pod)
{
	struct policy_entry *e = policy_at(m, policy);

	assert(pod_at(m, pod)->policy == ID_NONE && e->entry.slot.live);
	pod_at(m, pod)->policy = policy;
	chain_push(&m->pods.pool, offsetof(struct pod_entry, policy_link), &e->pods_first, pod);
	e->entry.refs++;
}

void policy_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	uint32_t policy = p->policy;

	if (policy == ID_NONE)
		return;
	chain_remove(&m->pods.pool, offsetof(struct pod_entry, policy_link),
	             &policy_at(m, policy)->pods_first, pod);
	p->policy = ID_NONE;
	pod_set_rare(p, POD_POLICY_REFUSAL, NULL);
	assert(policy_at(m, policy)->entry.refs > 0);
	policy_at(m, policy)->entry.refs--;
	assert((policy_at(m, policy)->entry.refs == 0) ==
	       (policy_at(m, policy)->pods_first == SLOT_NONE));
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
