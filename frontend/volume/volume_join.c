/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a pod's volumes and the volumes of a node, by plugin in kube-scheduler's order. */
#include "frontend/volume/volume_impl.h"

#include <string.h>

#define T(text) (int)(text).bytes, (text).at

#define WAITING_MAX 64u /* claims of a pod, live: each is compared with each on every node */

static const struct text no_namespace = { "", 0 };

/* A volume of the pod that refers to a claim. */
struct use {
	const struct volume_object *volume;
	const struct claim_object *claim; /* NULL: it does not exist */
	struct text name;
	bool waits; /* unbound, for its first consumer */
	bool bound; /* fully */
};

struct uses {
	struct use *at;
	size_t n, cap;
};

static const struct class_object *class_of(struct volume_join *j, const struct claim_object *claim)
{
	const union volume_any *o;

	if (claim->class.bytes == 0)
		return NULL;
	o = volume_look(j, VOLUME_KIND_CLASS, no_namespace, claim->class);
	return o ? &o->class : NULL;
}

static const struct pv_object *volume_of(struct volume_join *j, struct text name)
{
	const union volume_any *o = volume_look(j, VOLUME_KIND_VOLUME, no_namespace, name);

	return o ? &o->pv : NULL;
}

/* A claim of an unknown class is immediate, and so is one that names its volume. */
static void use_settle(struct volume_join *j, struct use *u)
{
	const struct class_object *class;

	if (!u->claim)
		return;
	u->bound = u->claim->volume.bytes > 0 && u->claim->bind_completed;
	if (u->claim->volume.bytes > 0)
		return;
	class = class_of(j, u->claim);
	u->waits = class && class->waits;
}

static void find_uses(struct volume_join *j, const struct volume_pod *pod, struct uses *out)
{
	for (size_t i = 0; i < pod->volumes.n; i++) {
		const struct volume_object *v = &pod->volumes.at[i];
		const union volume_any *o;
		struct use *u;

		if (v->source != VOLUME_CLAIM && v->source != VOLUME_EPHEMERAL)
			continue;
		u = EXTRACT_ADD(j->arena, out->at, out->n, out->cap);
		u->volume = v;
		u->name = v->name;
		if (v->source == VOLUME_EPHEMERAL)
			u->name = text_of(arena_printf(j->arena, "%.*s-%.*s", T(pod->name), T(v->name)));
		o = volume_look(j, VOLUME_KIND_CLAIM, pod->namespace, u->name);
		u->claim = o ? &o->claim : NULL;
		use_settle(j, u);
	}
}

/* The first refusal counts. */
static void refuse(struct pod_storage *out, enum volume_refusal by, const char *text)
{
	if (out->refused != VOLUME_REFUSED_NOT)
		return;
	out->refused = by;
	out->refusal = text;
}

#define REFUSE_KUBE(j, out, ...)                                                                   \
	refuse(out, VOLUME_REFUSED_KUBE, arena_printf((j)->arena, __VA_ARGS__))
static bool is_owned(const struct volume_pod *pod, const struct claim_object *claim)
{
	return claim->owner_uid.bytes > 0 && text_equal(claim->owner_uid, pod->uid);
}

/* VolumeBinding, of one claim. */
static void refuse_claim(struct volume_join *j, const struct volume_pod *pod, const struct use *u,
                         struct pod_storage *out)
{
	bool ephemeral = u->volume->source == VOLUME_EPHEMERAL;

	if (!u->claim && ephemeral)
		REFUSE_KUBE(
			j, out,
			"waiting for ephemeral volume controller to create the persistentvolumeclaim \"%.*s\"",
			T(u->name));
	else if (!u->claim)
		REFUSE_KUBE(j, out, "persistentvolumeclaim \"%.*s\" not found", T(u->name));
	else if (u->claim->lost)
		REFUSE_KUBE(
			j, out,
			"persistentvolumeclaim \"%.*s\" bound to non-existent persistentvolume \"%.*s\"",
			T(u->name), T(u->claim->volume));
	else if (u->claim->deleting)
		REFUSE_KUBE(j, out, "persistentvolumeclaim \"%.*s\" is being deleted", T(u->name));
	else if (ephemeral && !is_owned(pod, u->claim))
		REFUSE_KUBE(j, out, "PVC %.*s/%.*s was not created for pod %.*s/%.*s (pod is not owner)",
		            T(pod->namespace), T(u->name), T(pod->namespace), T(pod->name));
}

static void refuse_pod(struct volume_join *j, const struct volume_pod *pod, const struct uses *uses,
                       struct pod_storage *out)
{
	/* VolumeRestrictions.PreFilter reads the access modes of claims, but not of ephemeral ones. */
	for (size_t i = 0; i < uses->n; i++)
		if (uses->at[i].volume->source == VOLUME_CLAIM && !uses->at[i].claim)
			refuse_claim(j, pod, &uses->at[i], out);
	for (size_t i = 0; i < uses->n; i++)
		refuse_claim(j, pod, &uses->at[i], out);
	if (out->refused != VOLUME_REFUSED_NOT)
		return;
	for (size_t i = 0; i < uses->n; i++)
		if (!uses->at[i].bound && !uses->at[i].waits)
			REFUSE_KUBE(j, out, "pod has unbound immediate PersistentVolumeClaims");
	/* VolumeZone.PreFilter reads the volumes of claims, but not of ephemeral ones. */
	for (size_t i = 0; i < uses->n && out->refused == VOLUME_REFUSED_NOT; i++)
		if (uses->at[i].volume->source == VOLUME_CLAIM && uses->at[i].bound &&
		    !volume_of(j, uses->at[i].claim->volume))
			REFUSE_KUBE(j, out, "persistentvolume \"%.*s\" not found",
			            T(uses->at[i].claim->volume));
}

static void rule_volume_node(struct volume_join *j, const struct pv_object *pv,
                             struct pod_storage *out)
{
	if (pv->has_affinity)
		volume_terms_add(j->arena, volume_rule_add(j->arena, out, FILTER_VOLUME_NODE), pv->terms,
		                 pv->terms_n);
}

/* VolumeBinding checks the claims in order, up to one whose volume does not exist. */
static void rules_of_bound(struct volume_join *j, const struct uses *uses, struct pod_storage *out)
{
	const struct pv_object *pv;

	for (size_t i = 0; i < uses->n; i++) {
		if (!uses->at[i].bound)
			continue;
		pv = volume_of(j, uses->at[i].claim->volume);
		if (!pv) {
			volume_rule_add(j->arena, out, FILTER_VOLUME_GONE);
			return;
		}
		rule_volume_node(j, pv, out);
	}
}

/* VolumeZone, for claims but not for ephemeral ones. */
static void rules_of_zones(struct volume_join *j, const struct uses *uses, struct pod_storage *out)
{
	for (size_t i = 0; i < uses->n; i++) {
		const struct use *u = &uses->at[i];
		const struct pv_object *pv = NULL;

		if (u->bound && u->volume->source == VOLUME_CLAIM)
			pv = volume_of(j, u->claim->volume);
		if (pv)
			volume_zone_rules(j->arena, pv, out);
	}
}

static void attach(struct arena *arena, struct volume_attach_object **list, size_t *n, size_t *cap,
                   const struct volume_source_object *source)
{
	if (source->driver.bytes == 0 || source->handle.bytes == 0)
		return;
	for (size_t i = 0; i < *n; i++)
		if (text_equal((*list)[i].driver, source->driver) &&
		    text_equal((*list)[i].volume, source->handle))
			return;
	*EXTRACT_ADD(arena, *list, *n, *cap) =
		(struct volume_attach_object){ source->driver, source->handle };
}

/* A claim without a volume counts as one more volume of the driver of its class. */
static bool source_of_class(struct volume_join *j, const struct claim_object *claim,
                            struct volume_source_object *out)
{
	const struct class_object *class = class_of(j, claim);

	/* Not the name of a driver, so no node has a limit for it. */
	if (!class || text_is(class->provisioner, "kubernetes.io/no-provisioner"))
		return false;
	out->driver = volume_migrated(class->provisioner);
	if (out->driver.bytes == 0)
		out->driver = class->provisioner;
	out->handle = text_of(
		arena_printf(j->arena, "unbound %.*s/%.*s", T(claim->head.namespace), T(claim->head.name)));
	return true;
}

static void attachments_of(struct volume_join *j, const struct volume_pod *pod,
                           const struct uses *uses, struct pod_storage *out)
{
	struct volume_source_object source;

	for (size_t i = 0; i < uses->n; i++) {
		const struct claim_object *claim = uses->at[i].claim;
		const struct pv_object *pv;

		if (!claim)
			continue;
		pv = claim->volume.bytes > 0 ? volume_of(j, claim->volume) : NULL;
		if (pv)
			source = pv->source;
		else if (!source_of_class(j, claim, &source))
			continue;
		attach(j->arena, &out->attachments, &out->attachments_n, &out->attachments_cap, &source);
	}
	for (size_t i = 0; i < pod->volumes.n; i++)
		if (volume_disk_source(&pod->volumes.at[i], text_of("UNSPECIFIED"), j->arena, &source))
			attach(j->arena, &out->attachments, &out->attachments_n, &out->attachments_cap,
			       &source);
}

static void exclude(struct volume_join *j, struct pod_storage *out, const char *thing,
                    uint32_t flags)
{
	for (size_t i = 0; i < out->exclusives_n; i++) {
		if (text_is(out->exclusives[i].thing, thing)) {
			out->exclusives[i].flags &= flags;
			return;
		}
	}
	*EXTRACT_ADD(j->arena, out->exclusives, out->exclusives_n, out->exclusives_cap) =
		(struct volume_exclusive_object){ text_of(thing), flags };
}

static void exclude_disk(struct volume_join *j, const struct volume_object *v,
                         struct pod_storage *out)
{
	uint32_t flags = v->read_only ? EXCLUSIVE_SHARED : 0;

	switch (v->source) {
	case VOLUME_GCE_DISK:
		exclude(j, out, arena_printf(j->arena, "gce\n%.*s", T(v->name)), flags);
		break;
	case VOLUME_AWS_DISK:
		/* Never shared, not even for reading. */
		exclude(j, out, arena_printf(j->arena, "aws\n%.*s", T(v->name)), 0);
		break;
	case VOLUME_ISCSI:
		exclude(j, out, arena_printf(j->arena, "iscsi\n%.*s", T(v->name)), flags);
		break;
	case VOLUME_RBD:
		/* Images are equal if they have a monitor in common. */
		for (size_t i = 0; i < v->monitors.n; i++)
			exclude(j, out,
			        arena_printf(j->arena, "rbd\n%.*s\n%.*s\n%.*s", T(v->monitors.at[i]),
			                     T(v->pool), T(v->name)),
			        flags);
		break;
	default:
		break;
	}
}

/* Members of a gang are planned together, each as if it were alone.  So that no two get the same
 * volume, a node takes one pod that waits for volumes of a class without a provisioner, and a claim
 * one pod in all.  This ends when the pod is placed.
 *
 * Live, two that would get the same volume are seen before anything is written (volumes_choose()),
 * and the next plan knows: only where each node has one volume is this said beforehand.  A claim
 * that pods share is provisioned for the first of them, and the others follow its volume. */
static void exclude_waiting(struct volume_join *j, const struct volume_pod *pod,
                            const struct use *u, struct pod_storage *out)
{
	const struct class_object *class = class_of(j, u->claim);
	const bool is_static = class && text_is(class->provisioner, "kubernetes.io/no-provisioner");

	if (is_static && (!j->vs->live || volume_wait_single(j, u->claim)))
		exclude(j, out, arena_printf(j->arena, "wait\n%.*s", T(u->claim->class)), 0);
	if ((is_static || !j->vs->live) && u->volume->source == VOLUME_CLAIM &&
	    volume_look_shared(j, pod->namespace, u->name))
		exclude(j, out, arena_printf(j->arena, "wait\n%.*s\n%.*s", T(pod->namespace), T(u->name)),
		        EXCLUSIVE_CLAIM);
}

static void exclusives_of(struct volume_join *j, const struct volume_pod *pod,
                          const struct uses *uses, struct pod_storage *out)
{
	for (size_t i = 0; i < pod->volumes.n; i++)
		exclude_disk(j, &pod->volumes.at[i], out);
	for (size_t i = 0; i < uses->n; i++)
		if (uses->at[i].volume->source == VOLUME_CLAIM && uses->at[i].claim &&
		    (uses->at[i].claim->modes & ACCESS_ONCE_POD))
			exclude(
				j, out,
				arena_printf(j->arena, "claim\n%.*s\n%.*s", T(pod->namespace), T(uses->at[i].name)),
				EXCLUSIVE_CLAIM);
}

/* Claims that wait; with `once` each one once, otherwise as often as the pod names it. */
static const struct claim_object **waiting_claims(struct volume_join *j, const struct uses *uses,
                                                  bool once, size_t *n)
{
	const struct claim_object **claims =
		arena_alloc(j->arena, (uses->n + 1) * sizeof(const void *));
	size_t k;

	*n = 0;
	for (size_t i = 0; i < uses->n; i++) {
		if (!uses->at[i].waits)
			continue;
		for (k = 0; k < *n && once; k++)
			if (claims[k] == uses->at[i].claim)
				break;
		if (!once || k == *n)
			claims[(*n)++] = uses->at[i].claim;
	}
	return claims;
}

static bool claims_are_busy(const struct volumes *vs, const struct claim_object *const *claims,
                            size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!volume_is_busy(vs, claims[i]))
			return false;
	return true;
}

static void rules_of_waiting(struct volume_join *j, const struct uses *uses,
                             struct pod_storage *out)
{
	size_t n;
	const struct claim_object **claims = waiting_claims(j, uses, false, &n);

	if (n == 0)
		return;
	if (j->vs->live && n > WAITING_MAX) {
		refuse(out, VOLUME_REFUSED_OURS,
		       arena_printf(j->arena, "more than %u claims that wait for their first consumer",
		                    WAITING_MAX));
		return;
	}
	if (claims_are_busy(j->vs, claims, n))
		return;
	if (j->vs->can_wait)
		volume_wait_rules(j, claims, n, out);
	else
		refuse(out, VOLUME_REFUSED_OURS,
		       arena_printf(
				   j->arena,
				   "persistentvolumeclaim \"%.*s\" waits for its first consumer (class \"%.*s\"), "
				   "and muster does not bind claims",
				   T(claims[0]->head.name), T(claims[0]->class)));
}

const struct claim_object **volume_pod_waiting(struct volume_join *j, const struct volume_pod *pod,
                                               size_t *n)
{
	struct uses uses = { NULL, 0, 0 };

	find_uses(j, pod, &uses);
	return waiting_claims(j, &uses, true, n);
}

bool volume_pod_reached(struct volume_join *j, const struct volume_pod *pod,
                        const struct volume_node_labels *node)
{
	struct uses uses = { NULL, 0, 0 };

	find_uses(j, pod, &uses);
	for (size_t i = 0; i < uses.n; i++) {
		const struct pv_object *pv =
			uses.at[i].bound ? volume_of(j, uses.at[i].claim->volume) : NULL;

		if (uses.at[i].bound &&
		    (!pv ||
		     (pv->has_affinity && !volume_terms_hold(pv->terms, pv->terms_n, &node->labels))))
			return false;
	}
	return true;
}

/* Whether the pod's claims wait, for volumes_pod_waits(); once they did, until the pod is bound: a
 * plan may be older than what they were bound to. */
static void waits_set(struct volumes *vs, uint32_t pod, const struct uses *uses, bool bound)
{
	struct volume_user *u = &vs->facts.users[0].at[pod];
	bool waits = u->waits && !bound;

	for (size_t i = 0; i < uses->n && !bound; i++)
		waits = waits || uses->at[i].waits;
	vs->waiting += waits;
	vs->waiting -= u->waits;
	u->waits = waits;
}

void volumes_assume(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = pod };
	const struct volume_pod *who = volume_user(&vs->facts, false, pod);
	const struct claim_object **claims;
	size_t n;

	if (!who || !vs->can_wait)
		return;
	claims = volume_pod_waiting(&j, who, &n);
	if (n > 0)
		volume_wait_assume(&j, claims, n, node);
}

void volumes_join_pod(struct volumes *vs, uint32_t pod, bool bound, struct arena *arena,
                      struct pod_storage *out)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = pod };
	const struct volume_pod *who = volume_user(&vs->facts, false, pod);
	struct pod_storage s = { .refusal = "" };
	struct uses uses = { NULL, 0, 0 };

	*out = s;
	if (!who)
		return;
	volume_join_begin(&j);
	find_uses(&j, who, &uses);
	waits_set(vs, pod, &uses, bound);
	if (!bound)
		refuse_pod(&j, who, &uses, &s);
	for (size_t i = 0; i < uses.n && !bound && vs->can_wait; i++)
		if (uses.at[i].waits && !volume_is_busy(vs, uses.at[i].claim))
			exclude_waiting(&j, who, &uses.at[i], &s);
	if (!bound && s.refused == VOLUME_REFUSED_NOT) {
		rules_of_bound(&j, &uses, &s);
		rules_of_waiting(&j, &uses, &s);
		rules_of_zones(&j, &uses, &s);
	}
	attachments_of(&j, who, &uses, &s);
	exclusives_of(&j, who, &uses, &s);
	*out = s;
}

static void limit_add(struct arena *arena, const struct volume_limit_object *limit,
                      struct node_storage *out)
{
	size_t i = out->limits_n;
	struct volume_limit_object *grown;

	EXTRACT_ADD(arena, out->limits, out->limits_n, out->limits_cap);
	grown = out->limits;
	for (; i > 0; i--) {
		size_t n = grown[i - 1].driver.bytes < limit->driver.bytes ? grown[i - 1].driver.bytes
		                                                           : limit->driver.bytes;
		int order = n > 0 ? memcmp(grown[i - 1].driver.at, limit->driver.at, n) : 0;

		if (order < 0 || (order == 0 && grown[i - 1].driver.bytes <= limit->driver.bytes))
			break;
		grown[i] = grown[i - 1];
	}
	grown[i] = *limit;
}

void volumes_join_node(struct volumes *vs, uint32_t node, struct arena *arena,
                       struct node_storage *out)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = node, .of_node = true };
	const struct volume_node_labels *who = volume_user(&vs->facts, true, node);
	const union volume_any *o;
	struct node_storage s = { 0 };
	uint32_t at = SLOT_NONE;

	*out = s;
	if (!who)
		return;
	volume_join_begin(&j);
	o = volume_look(&j, VOLUME_KIND_NODE, no_namespace, who->name);
	for (size_t i = 0; o && i < o->csi_node.limits_n; i++)
		limit_add(arena, &o->csi_node.limits[i], &s);
	while ((o = volume_look_group(&j, VOLUME_KIND_ATTACHMENT, who->name, &at))) {
		const struct pv_object *pv;
		struct volume_source_object source = { .driver = o->attachment.attacher };

		pv = o->attachment.volume.bytes > 0 ? volume_of(&j, o->attachment.volume) : NULL;
		if (!pv || !pv->is_csi)
			continue;
		source.handle = pv->source.handle;
		attach(arena, &s.attached, &s.attached_n, &s.attached_cap, &source);
	}
	*out = s;
}
