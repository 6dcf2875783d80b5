/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/put/pod_state.h"

#include "frontend/devices/devices.h"
#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/pods/ends.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/base/labels.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/model/pods/shares.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* What muster does not support, or NULL.  Of volumes frontend/volume/volume.h decides that. */
static const char *unsupported(const struct model *m, const struct pod_object *pod)
{
	if (pod->asks & ASKS_RESOURCE_CLAIM && !m->live &&
	    (!m->devices || devices_pod(m->devices, pod->meta.namespace, pod->meta.name) == 0))
		return "resource claims (spec.resourceClaims)";
	if (pod->asks & ASKS_TOLERATION_OPERATOR)
		return "operators other than Exists and Equal in spec.tolerations";
	return NULL;
}

void pod_state_release(struct model *m, struct pod_state *s)
{
	if (s->declared_spec != ID_NONE)
		declared_spec_give(m, s->declared_spec);
	if (s->role != ID_NONE)
		intern_give(&m->values, s->role);
	if (s->gang != ID_NONE)
		gang_release_if_unused(m, s->gang);
	if (s->node != ID_NONE)
		node_give(m, s->node);
	shape_give(m, s->shape);
	intern_give(&m->schedulers, s->scheduler);
	pod_labels_give(m, s->labels, s->labels_n);
	if (s->owner != ID_NONE)
		intern_give(&m->values, s->owner);
	if (s->policy != ID_NONE)
		policy_release_if_unused(m, s->policy);
	namespace_give(m, s->namespace);
}

void pod_state_refuse(struct pod_state *s, const char *text)
{
	s->flags |= POD_REFUSED;
	if (!*s->refusal)
		s->refusal = text;
}

/* Claims and extended resources of a pod that is to be placed. */
static void state_devices(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	const char *refusal;

	s->devices = devices_pod(m->devices, pod->meta.namespace, pod->meta.name);
	refusal = s->devices > 0 ? devices_refusal(m->devices, s->devices) : NULL;
	s->refusal_is_kube = refusal != NULL;
	if (s->devices > 0 && !refusal)
		refusal = devices_unsupported(m->devices, s->devices);
	if (!refusal)
		return;
	pod_state_refuse(s, arena_printf(&m->arena, "%s", refusal));
}

/* A limit was reached for a part of the pod: it waits, refused, until it is put again. */
static void state_limit(struct model *m, struct pod_state *s, const char *flag)
{
	s->flag = flag;
	s->retry = true;
	pod_state_refuse(s, share_text(m, &m->arena, flag, s->namespace));
}

static void state_role(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	const struct dialect *d = dialects[s->gang_dialect];
	const char *role = d->pod_role ? d->pod_role(pod, &m->arena) : NULL;

	if (!role || strlen(role) > OBJECT_NAME_MAX)
		return;
	memory_payer(m, s->namespace);
	s->role = model_number(&m->values, text_of(role));
	memory_payer(m, ID_NONE);
}

/* Of a pod that is refused for its marks the first group that it names has one more member that
 * can't be placed, so that the group's object shows why it waits.  It declares nothing: a group is
 * not refused for such a pod. */
static void state_refused_member(struct model *m, const struct pod_object *pod,
                                 const struct group_mark *mark, struct pod_state *s)
{
	const char *flag;

	if (!mark->group || !dialects[mark->dialect]->resource || pod->node_name.bytes > 0)
		return;
	s->gang_dialect = mark->dialect;
	if (gang_find_or_make(m, mark->dialect, pod, mark->group, &s->gang, &flag) < 0)
		s->gang = ID_NONE;
}

static void state_gang(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	struct group_mark mark;
	const char *flag;

	assert(s->gang == ID_NONE && s->declared_spec == ID_NONE);
	dialect_mark(pod, m->dialects_off, m->served, &m->arena, &mark);
	if (mark.mark == MARK_NONE)
		return;
	if (mark.mark == MARK_REFUSED) {
		pod_state_refuse(s, mark.name);
		if (!m->outside)
			state_refused_member(m, pod, &mark, s);
		return;
	}
	if (m->outside && !m->outside_gang)
		return;
	s->gang_dialect = mark.dialect;
	if (gang_find_or_make(m, mark.dialect, pod, mark.name, &s->gang, &flag) < 0) {
		s->gang = ID_NONE;
		state_limit(m, s, flag);
		return;
	}
	declared_spec_take(m, s->gang, mark.dialect, pod, &s->declared_spec);
	state_role(m, pod, s);
}

static void state_policy(struct model *m, const struct pod_object *pod, struct pod_state *s)
{
	const char *fault;

	if (policy_of_pod(m, pod, &s->policy, &fault) < 0)
		pod_state_refuse(s, fault);
}

/* A pod that is kept whole and gives nothing up stays so while it waits: its requests are on the
 * node that its Binding names, or its gang is partially bound. */
static bool stays_whole(const struct model *m, const struct pod_object *pod, uint32_t known)
{
	const struct pod_entry *e = known != SLOT_NONE ? pod_at(m, known) : NULL;

	if (!e || e->bare || e->withdrawn || pod->node_name.bytes > 0 || pod_gives_way(m, e))
		return false;
	return e->binding != ID_NONE || memory_fits(m);
}

/* What rules of other pods match it by, and what its default constraints follow from. */
static void state_identity(struct model *m, const struct pod_object *pod, uint32_t known,
                           struct pod_state *s)
{
	bool pending = ((s->flags & POD_OURS) || m->judges_others) && pod->node_name.bytes == 0;

	s->namespace = namespace_take(m, pod->meta.namespace);
	s->bare = !memory_admits(m, s->namespace) && !stays_whole(m, pod, known);
	if (s->bare)
		return;
	memory_payer(m, s->namespace);
	if (pod_labels_take(m, &pod->meta.labels, &s->labels, &s->labels_n) < 0) {
		if (pod->node_name.bytes > 0)
			s->fault = "has more than 1024 labels; rules of other pods don't see it";
		else
			pod_state_refuse(s, "it has more than 1024 labels");
	}
	s->spreads = pending && pod->spreads_n == 0;
	s->owner_kind = s->spreads ? (uint8_t)owner_kind_of(&pod->owner) : OWNER_NONE;
	if (s->owner_kind != OWNER_NONE)
		s->owner = model_number(&m->values, pod->owner.name);
	memory_payer(m, ID_NONE);
}

/* The shape of a bound pod found no slot.  The one it was pending with has the same requests, and
 * more rules than are needed. */
static bool keeps_shape(struct model *m, const struct pod_object *pod, uint32_t known,
                        const struct effective *effective, struct pod_state *s)
{
	const struct pod_entry *e = known != SLOT_NONE ? pod_at(m, known) : NULL;

	if (!e || e->unaccounted || e->shape == m->shape_empty ||
	    !shape_asks(m, e->shape, pod, effective))
		return false;
	shape_hold(m, e->shape);
	s->shape = e->shape;
	return true;
}

/* Its namespace has more terms between pods than its share: a pod that waited with them keeps them,
 * and another one counts without, read again when there are less. */
static int state_termless(struct model *m, uint32_t known, const struct shape_wish *w,
                          struct pod_state *s)
{
	struct shape_wish ports = *w;
	struct shape_trouble trouble;

	if (known != SLOT_NONE && !pod_at(m, known)->entry.retry &&
	    keeps_shape(m, w->pod, known, w->effective, s))
		return 0;
	ports.scope = SHAPE_PORTS;
	if (shape_take(m, &ports, &s->shape, &trouble) < 0)
		return -ENOSPC;
	s->flag = TERMS_LIMIT;
	s->retry = true;
	return 0;
}

/* The pod has no shape of its own. */
static void state_unshaped(struct model *m, struct pod_state *s, bool bound)
{
	s->unaccounted = bound;
	s->spreads = false;
	s->unshaped = true;
	if (s->policy != ID_NONE)
		policy_release_if_unused(m, s->policy);
	s->policy = ID_NONE;
	shape_hold(m, m->shape_empty);
	s->shape = m->shape_empty;
}

static void state_shape(struct model *m, const struct pod_object *pod, uint32_t known,
                        struct pod_state *s)
{
	const struct spread_cause cause = { s->namespace, s->labels, s->labels_n, s->owner_kind,
		                                s->owner };
	bool bound = pod->node_name.bytes > 0;
	struct policy_use use;
	struct effective effective;
	struct shape_wish w = { .payer = { s->namespace, bound, true },
		                    .pod = pod,
		                    .effective = &effective,
		                    .scope = s->bare ? SHAPE_PORTS
		                             : bound ? SHAPE_BEARING
		                                     : SHAPE_REQUESTS,
		                    .namespace = namespace_at(m, s->namespace)->name,
		                    .spread = s->spreads ? &cause : NULL };
	struct shape_trouble trouble = { 0 };
	int rc;

	if (s->bare && !bound) {
		state_unshaped(m, s, false);
		state_limit(m, s, "--max-memory");
		return;
	}
	w.devices = s->devices;
	w.policy = policy_use_of(m, s->policy, s->labels, s->labels_n, &use);
	if (!bound && ((s->flags & POD_OURS) || m->judges_others))
		w.scope = SHAPE_WHOLE;
	extract_effective(pod, bound, &effective);
	rc = shape_take(m, &w, &s->shape, &trouble);
	if (rc == -EINVAL && bound) {
		w.scope = SHAPE_REQUESTS;
		s->fault = "has too many rules of pod affinity, or too long ones; "
				   "it is counted without them";
		rc = shape_take(m, &w, &s->shape, &trouble);
	}
	if (rc == -ENOSPC && bound && strcmp(trouble.flag, TERMS_LIMIT) == 0)
		rc = state_termless(m, known, &w, s);
	if (rc == 0 || (rc == -ENOSPC && bound && keeps_shape(m, pod, known, &effective, s)))
		return;
	state_unshaped(m, s, bound);
	if (rc == -ENOSPC)
		state_limit(m, s, trouble.flag);
	else
		pod_state_refuse(s, trouble.fault);
}

int pod_state_of(struct model *m, const struct pod_object *pod, uint32_t known, struct pod_state *s)
{
	const char *reason = unsupported(m, pod);
	bool bound = pod->node_name.bytes > 0, ours = pod_is_ours(m, pod);
	uint32_t scheduler = model_number(&m->schedulers, pod_scheduler_name(pod));

	*s = (struct pod_state){ .gang = ID_NONE,
		                     .node = ID_NONE,
		                     .scheduler = scheduler,
		                     .owner = ID_NONE,
		                     .policy = ID_NONE,
		                     .declared_spec = ID_NONE,
		                     .role = ID_NONE,
		                     .read_at = UINT32_MAX,
		                     .refusal = "" };
	s->flags = (ours ? POD_OURS : 0) | (pod->gated ? POD_GATED : 0) |
	           (pod->meta.deleting ? POD_DELETING : 0) | (pod_lasts(pod) ? POD_LASTS : 0);
	if (reason && ours)
		pod_state_refuse(s, arena_printf(&m->arena, "muster does not support %s yet", reason));
	if (bound && node_take(m, pod->node_name, &s->node, &s->flag) < 0) {
		intern_give(&m->schedulers, scheduler);
		return -ENOSPC;
	}
	s->flag = NULL;
	state_identity(m, pod, known, s);
	if (m->devices && ours && !bound && s->refusal[0] == '\0')
		state_devices(m, pod, s);
	if (ours && !bound && !s->bare)
		state_policy(m, pod, s);
	state_shape(m, pod, known, s);
	if (ours)
		state_gang(m, pod, s);
	if (s->devices > 0 && s->gang != ID_NONE)
		pod_state_refuse(
			s, "muster does not support extended resources from devices for a gang's members yet");
	if (s->bare && !s->flag) { /* it is counted; read again when there is room */
		s->flag = "--max-memory";
		s->retry = true;
	}
	if (bound) /* it runs: nothing refuses it any more */
		s->flags &= (uint8_t)~POD_REFUSED;
	return 0;
}
