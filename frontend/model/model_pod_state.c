/* SPDX-License-Identifier: Apache-2.0 */
/* A pod's state as its object says it, before the model takes it over: what it refers
 * to, and why muster can't judge it. */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <string.h>

/* ---- what is refused -------------------------------------------------------------- */

/* Why muster can't judge the pod, or NULL.  What its volumes ask for and can't be judged
 * frontend/volume/volume.h says. */
static const char *pod_asks_refusal(const struct pod_object *pod)
{
	static const struct {
		uint32_t asks;
		const char *text;
	} texts[] = {
		{ ASKS_RESOURCE_CLAIM, "resource claims (spec.resourceClaims)" },
		{ ASKS_TOLERATION_OPERATOR, "operators other than Exists and Equal in spec.tolerations" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (pod->asks & texts[i].asks)
			return texts[i].text;
	return NULL;
}

/* ---- what it refers to ------------------------------------------------------------ */

void pod_state_release(struct model *m, struct pod_state *s)
{
	if (s->description != ID_NONE)
		describe_give(m, s->description);
	if (s->role != ID_NONE)
		intern_give(&m->values, s->role);
	if (s->gang != ID_NONE)
		gang_release_if_unused(m, s->gang);
	if (s->node != ID_NONE)
		node_give(m, s->node);
	if (s->shape != ID_NONE)
		shape_give(m, s->shape);
	if (s->scheduler != SLOT_NONE)
		intern_give(&m->schedulers, s->scheduler);
	pod_labels_give(m, s->labels, s->labels_n);
	if (s->owner != ID_NONE)
		intern_give(&m->values, s->owner);
	if (s->policy != ID_NONE)
		policy_release_if_unused(m, s->policy);
	if (s->namespace != SLOT_NONE)
		namespace_give(m, s->namespace);
}

bool pod_is_ours(const struct model *m, const struct pod_object *pod)
{
	if (m->scheduler_names_n == 0)
		return true;
	for (size_t i = 0; i < m->scheduler_names_n; i++)
		if (text_is(pod->scheduler_name, m->scheduler_names[i]))
			return true;
	return false;
}

void pod_state_refuse(struct pod_state *s, const char *text)
{
	s->flags |= POD_REFUSED;
	if (!*s->refusal)
		s->refusal = text ? text : "no memory";
}

/* A limit in the way of one part of a pod: it waits, refused, for room. */
static int state_limit(struct model *m, struct pod_state *s, const char *flag)
{
	s->flag = flag;
	s->retry = true;
	pod_state_refuse(s, arena_printf(&m->arena, "the limit %s is reached", flag));
	return 0;
}

static int state_role(struct model *m, const struct pod_object *pod, struct pod_state *s,
                      const char **flag)
{
	const struct dialect *d = dialects[s->gang_dialect];
	const char *role = d->pod_role ? d->pod_role(pod, &m->arena) : NULL;
	int rc = role ? model_intern(m, &m->values, text_of(role), &s->role, flag) : 0;

	if (rc < 0)
		s->role = ID_NONE;
	return rc;
}

static int state_gang(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	struct group_mark mark;
	const char *flag = NULL;
	int rc = dialect_mark(pod, m->dialects_off, m->served, &m->arena, &mark);

	if (rc < 0 || mark.mark == MARK_NONE)
		return rc;
	if (mark.mark == MARK_REFUSED) {
		pod_state_refuse(s, mark.name);
		return 0;
	}
	s->gang_dialect = mark.dialect;
	rc = gang_find_or_make(m, mark.dialect, pod->meta.namespace, mark.name, &s->gang, &flag);
	if (rc < 0)
		s->gang = ID_NONE;
	if (rc == 0)
		rc = describe_take(m, s->gang, mark.dialect, pod, &s->description, &flag);
	if (rc == 0)
		rc = state_role(m, pod, s, &flag);
	if (rc == 0)
		return 0;
	return rc == -ENOSPC ? state_limit(m, s, flag) : rc;
}

static int state_policy(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	const char *fault = NULL;
	int rc = policy_of_pod(m, pod, &s->policy, &fault);

	if (rc != -EINVAL)
		return rc;
	pod_state_refuse(s, fault);
	return 0;
}

/* What it is counted by in rules of others, and by what it may get default ones. */
static int state_identity(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	bool waits = ((s->flags & POD_OURS) || m->judges_others) && pod->node_name.bytes == 0;
	int rc = namespace_take(m, pod->meta.namespace, &s->namespace);

	if (rc < 0) {
		s->namespace = SLOT_NONE;
		return rc;
	}
	rc = pod_labels_take(m, &pod->meta.labels, &s->labels, &s->labels_n);
	if (rc == -EINVAL) {
		if (pod->node_name.bytes > 0)
			s->fault = "has more than 1024 labels; rules of other pods don't see it";
		else
			pod_state_refuse(s, "it has more than 1024 labels");
		rc = 0;
	}
	if (rc < 0 || !waits || pod->spreads_n > 0)
		return rc;
	s->spreads = true;
	s->owner_kind = (uint8_t)owner_kind_of(&pod->owner);
	if (s->owner_kind != OWNER_NONE && intern_take(&m->values, pod->owner.name, &s->owner) < 0) {
		s->owner = ID_NONE;
		return -ENOMEM;
	}
	return 0;
}

/* There is no room for the shape of a bound pod; the one that it waited with says more than
 * would be needed, and as much of what it takes. */
static bool keeps_shape(struct model *m, const struct pod_object *pod, uint32_t known,
                        const struct effective *effective, struct pod_state *s)
{
	const struct pod_entry *e = known != SLOT_NONE ? pod_at(m, known) : NULL;

	if (!e || e->blind || e->shape == m->shape_empty || !shape_asks(m, e->shape, pod, effective))
		return false;
	shape_hold(m, e->shape);
	s->shape = e->shape;
	return true;
}

static int state_shape(struct model *m, const struct pod_object *pod, uint32_t known,
                       struct pod_state *s)
{
	const struct spread_cause cause = { s->namespace, s->labels, s->labels_n, s->owner_kind,
		                                s->owner };
	bool bound = pod->node_name.bytes > 0;
	struct policy_use use;
	struct effective effective;
	struct shape_wish w = { .pod = pod,
		                    .effective = &effective,
		                    .scope = bound ? SHAPE_BEARING : SHAPE_REQUESTS,
		                    .namespace = namespace_at(m, s->namespace)->name,
		                    .spread = s->spreads ? &cause : NULL,
		                    .policy = policy_use_of(m, s->policy, s->labels, s->labels_n, &use) };
	struct shape_trouble trouble = { 0 };
	int rc;

	if (!bound && ((s->flags & POD_OURS) || m->judges_others))
		w.scope = SHAPE_WHOLE;
	extract_effective(pod, bound, &effective);
	rc = shape_take(m, &w, &s->shape, &trouble);
	if (rc == -EINVAL && bound) {
		w.scope = SHAPE_REQUESTS;
		s->fault =
			"has too many rules of pod affinity, or too long ones; it is counted without them";
		rc = shape_take(m, &w, &s->shape, &trouble);
	}
	if (rc == 0 || (rc == -ENOSPC && bound && keeps_shape(m, pod, known, &effective, s)))
		return 0;
	s->shape = ID_NONE;
	if (rc == -ENOMEM)
		return rc;
	s->blind = bound;
	s->spreads = false;
	s->unshaped = true;
	if (s->policy != ID_NONE)
		policy_release_if_unused(m, s->policy);
	s->policy = ID_NONE;
	if (rc == -ENOSPC)
		state_limit(m, s, trouble.flag);
	else
		pod_state_refuse(s, trouble.fault);
	shape_hold(m, m->shape_empty);
	s->shape = m->shape_empty;
	return 0;
}

static int state_node(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	const char *flag = NULL;
	int rc;

	if (pod->node_name.bytes == 0)
		return 0;
	rc = node_take(m, pod->node_name, &s->node, &flag);
	if (rc == 0)
		return 0;
	s->node = ID_NONE;
	s->flag = flag;
	return rc;
}

int pod_state_of(struct model *m, const struct pod_object *pod, uint32_t known, struct pod_state *s)
{
	const char *asks = pod_asks_refusal(pod);
	bool bound = pod->node_name.bytes > 0;
	int rc;

	*s = (struct pod_state){ .shape = ID_NONE,
		                     .gang = ID_NONE,
		                     .node = ID_NONE,
		                     .scheduler = SLOT_NONE,
		                     .namespace = SLOT_NONE,
		                     .owner = ID_NONE,
		                     .policy = ID_NONE,
		                     .description = ID_NONE,
		                     .role = ID_NONE,
		                     .refusal = "" };
	s->flags = (pod_is_ours(m, pod) ? POD_OURS : 0) | (pod->gated ? POD_GATED : 0) |
	           (pod->meta.deleting ? POD_DELETING : 0);
	rc = model_intern(m, &m->schedulers, pod->scheduler_name, &s->scheduler, &s->flag);
	if (rc < 0)
		return rc;
	if (asks && (s->flags & POD_OURS))
		pod_state_refuse(s, arena_printf(&m->arena, "muster does not support %s yet", asks));
	rc = state_node(m, pod, s);
	if (rc == 0)
		rc = state_identity(m, pod, s);
	if (rc == 0 && (s->flags & POD_OURS) && !bound)
		rc = state_policy(m, pod, s);
	if (rc == 0)
		rc = state_shape(m, pod, known, s);
	if (rc == 0 && (s->flags & POD_OURS))
		rc = state_gang(m, pod, s);
	/* What runs, runs. */
	if (bound)
		s->flags &= (uint8_t)~POD_REFUSED;
	if (rc == 0 && m->arena.failed) /* some text of it is not what it should be */
		rc = -ENOMEM;
	if (rc < 0)
		pod_state_release(m, s);
	return rc;
}
