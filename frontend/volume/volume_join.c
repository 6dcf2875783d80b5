/* SPDX-License-Identifier: Apache-2.0 */
/* What one pod's volumes ask for, plugin by plugin in kube-scheduler's order. */
#include "frontend/volume/volume_impl.h"

#include <errno.h>
#include <string.h>

static const struct text no_namespace = { "", 0 };

/* A claim that the pod names, by a volume. */
struct use {
	const struct volume_object *volume;
	const struct claim_object *claim; /* NULL: there is none */
	struct text name;
	bool waits; /* unbound, for its first consumer */
	bool bound; /* fully */
};

struct uses {
	struct use *at;
	size_t n, room;
};

/* ---- finding -------------------------------------------------------------------------- */

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
		const char *name;

		if (v->source != VOLUME_CLAIM && v->source != VOLUME_EPHEMERAL)
			continue;
		u = volume_more(j, out->at, out->n, &out->room, sizeof(*u));
		if (!u)
			return;
		out->at = u;
		u += out->n++;
		u->volume = v;
		u->name = v->name;
		if (v->source == VOLUME_EPHEMERAL) {
			name = arena_printf(j->arena, "%.*s-%.*s", (int)pod->name.bytes, pod->name.at,
			                    (int)v->name.bytes, v->name.at);
			if (!name) {
				j->rc = -ENOMEM;
				return;
			}
			u->name = text_of(name);
		}
		o = volume_look(j, VOLUME_KIND_CLAIM, pod->namespace, u->name);
		u->claim = o ? &o->claim : NULL;
		use_settle(j, u);
	}
}

/* ---- refusals: what PreFilter says of the pod as a whole --------------------------------- */

/* The first text stays. */
static void refuse(struct volume_join *j, struct pod_storage *out, enum volume_refusal by,
                   const char *text)
{
	if (out->refused != VOLUME_REFUSED_NOT)
		return;
	if (!text) {
		j->rc = -ENOMEM;
		return;
	}
	out->refused = by;
	out->refusal = text;
}

#define REFUSE_KUBE(j, out, ...)                                                                   \
	refuse(j, out, VOLUME_REFUSED_KUBE, arena_printf((j)->arena, __VA_ARGS__))
#define T(text) (int)(text).bytes, (text).at

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
	/* VolumeRestrictions wants to know the access modes of claims, but not of ephemeral ones. */
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
	/* VolumeZone looks at the volumes of claims, again not of ephemeral ones. */
	for (size_t i = 0; i < uses->n && out->refused == VOLUME_REFUSED_NOT; i++)
		if (uses->at[i].volume->source == VOLUME_CLAIM && uses->at[i].bound &&
		    !volume_of(j, uses->at[i].claim->volume))
			REFUSE_KUBE(j, out, "persistentvolume \"%.*s\" not found",
			            T(uses->at[i].claim->volume));
}

/* ---- rules of bound claims ----------------------------------------------------------------- */

static void rule_volume_node(struct volume_join *j, const struct pv_object *pv,
                             struct pod_storage *out)
{
	if (pv->has_affinity)
		volume_terms_add(j, volume_rule_add(j, out, NODE_WHY_VOLUME_NODE), pv->terms, pv->terms_n);
}

/* VolumeBinding looks at the claims in order, up to one whose volume is gone. */
static void rules_of_bound(struct volume_join *j, const struct uses *uses, struct pod_storage *out)
{
	const struct pv_object *pv;

	for (size_t i = 0; i < uses->n; i++) {
		if (!uses->at[i].bound)
			continue;
		pv = volume_of(j, uses->at[i].claim->volume);
		if (!pv) {
			volume_rule_add(j, out, NODE_WHY_VOLUME_GONE);
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
			volume_zone_rules(j, pv, out);
	}
}

/* ---- attachments -------------------------------------------------------------------------------
 */

static void attach(struct volume_join *j, struct volume_attach_object **list, size_t *n,
                   size_t *room, const struct volume_source_object *source)
{
	struct volume_attach_object *grown;

	if (source->driver.bytes == 0 || source->handle.bytes == 0)
		return;
	for (size_t i = 0; i < *n; i++)
		if (text_equal((*list)[i].driver, source->driver) &&
		    text_equal((*list)[i].volume, source->handle))
			return;
	grown = volume_more(j, *list, *n, room, sizeof(*grown));
	if (!grown)
		return;
	*list = grown;
	grown[(*n)++] = (struct volume_attach_object){ source->driver, source->handle };
}

/* Of a claim without a volume: its class tells the driver, and it will be a volume of its own. */
static bool source_of_class(struct volume_join *j, const struct claim_object *claim,
                            struct volume_source_object *out)
{
	const struct class_object *class = class_of(j, claim);
	const char *handle;

	/* Not the name of a driver, so no node limits it. */
	if (!class || text_is(class->provisioner, "kubernetes.io/no-provisioner"))
		return false;
	out->driver = volume_migrated(class->provisioner);
	if (out->driver.bytes == 0)
		out->driver = class->provisioner;
	handle =
		arena_printf(j->arena, "unbound %.*s/%.*s", T(claim->head.namespace), T(claim->head.name));
	if (!handle) {
		j->rc = -ENOMEM;
		return false;
	}
	out->handle = text_of(handle);
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
		attach(j, &out->attachments, &out->attachments_n, &out->attachments_room, &source);
	}
	for (size_t i = 0; i < pod->volumes.n; i++)
		if (volume_disk_source(&pod->volumes.at[i], text_of("UNSPECIFIED"), j->arena, &source))
			attach(j, &out->attachments, &out->attachments_n, &out->attachments_room, &source);
}

/* ---- what two pods can't have at once
 * ------------------------------------------------------------ */

static void exclude(struct volume_join *j, struct pod_storage *out, const char *thing,
                    uint32_t flags)
{
	struct volume_exclusive_object *grown;

	if (!thing) {
		j->rc = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < out->exclusives_n; i++) {
		if (text_is(out->exclusives[i].thing, thing)) {
			out->exclusives[i].flags &= flags;
			return;
		}
	}
	grown =
		volume_more(j, out->exclusives, out->exclusives_n, &out->exclusives_room, sizeof(*grown));
	if (!grown)
		return;
	out->exclusives = grown;
	grown[out->exclusives_n++] = (struct volume_exclusive_object){ text_of(thing), flags };
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
		/* Not shared, not even by those who only read. */
		exclude(j, out, arena_printf(j->arena, "aws\n%.*s", T(v->name)), 0);
		break;
	case VOLUME_ISCSI:
		exclude(j, out, arena_printf(j->arena, "iscsi\n%.*s", T(v->name)), flags);
		break;
	case VOLUME_RBD:
		/* An image is the same when one of the monitors is. */
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

/* Members of a gang are planned at once, each as if it were alone.  So that no two take
 * the same volume: on each node only one that waits for volumes of a class which
 * can't make more, and of a claim only one at all.  This is over once it is placed. */
static void exclude_waiting(struct volume_join *j, const struct volume_pod *pod,
                            const struct use *u, struct pod_storage *out)
{
	const struct class_object *class = class_of(j, u->claim);

	if (class && text_is(class->provisioner, "kubernetes.io/no-provisioner"))
		exclude(j, out, arena_printf(j->arena, "wait\n%.*s", T(u->claim->class)), 0);
	if (u->volume->source == VOLUME_CLAIM && volume_look_shared(j, pod->namespace, u->name))
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

/* ---- all of it
 * -------------------------------------------------------------------------------------- */

/* Claims that wait, each as often as the pod names it; NULL: no memory. */
static const struct claim_object **waiting_claims(struct volume_join *j, const struct uses *uses,
                                                  bool once, size_t *n)
{
	const struct claim_object **claims =
		arena_alloc(j->arena, (uses->n + 1) * sizeof(const void *));
	size_t k;

	*n = 0;
	if (!claims) {
		j->rc = -ENOMEM;
		return NULL;
	}
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

static void rules_of_waiting(struct volume_join *j, const struct uses *uses,
                             struct pod_storage *out)
{
	size_t n;
	const struct claim_object **claims = waiting_claims(j, uses, false, &n);

	if (!claims || n == 0)
		return;
	if (j->vs->can_wait)
		volume_wait_rules(j, claims, n, out);
	else
		refuse(j, out, VOLUME_REFUSED_OURS,
		       arena_printf(
				   j->arena,
				   "persistentvolumeclaim \"%.*s\" waits for its first consumer (class \"%.*s\"), "
				   "and muster does not bind claims",
				   T(claims[0]->head.name), T(claims[0]->class)));
}

int volumes_assume(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = pod };
	const struct volume_pod *who = volume_user(&vs->facts, false, pod);
	struct uses uses = { NULL, 0, 0 };
	const struct claim_object **claims;
	size_t n;

	if (!who || !vs->can_wait)
		return 0;
	find_uses(&j, who, &uses);
	claims = waiting_claims(&j, &uses, true, &n);
	if (j.rc < 0 || !claims || n == 0)
		return j.rc;
	return volume_wait_assume(&j, claims, n, node);
}

int volumes_join_pod(struct volumes *vs, uint32_t pod, bool bound, struct arena *arena,
                     struct pod_storage *out)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = pod };
	const struct volume_pod *who = volume_user(&vs->facts, false, pod);
	struct pod_storage s = { .refusal = "" };
	struct uses uses = { NULL, 0, 0 };

	*out = s;
	if (!who)
		return 0;
	volume_join_begin(&j);
	find_uses(&j, who, &uses);
	if (!bound)
		refuse_pod(&j, who, &uses, &s);
	for (size_t i = 0; i < uses.n && !bound && vs->can_wait; i++)
		if (uses.at[i].waits)
			exclude_waiting(&j, who, &uses.at[i], &s);
	if (!bound && s.refused == VOLUME_REFUSED_NOT) {
		rules_of_bound(&j, &uses, &s);
		rules_of_waiting(&j, &uses, &s);
		rules_of_zones(&j, &uses, &s);
	}
	attachments_of(&j, who, &uses, &s);
	exclusives_of(&j, who, &uses, &s);
	if (volume_join_end(&j) < 0)
		return j.rc;
	*out = s;
	return 0;
}

static void limit_add(struct volume_join *j, const struct volume_limit_object *limit,
                      struct node_storage *out)
{
	struct volume_limit_object *grown =
		volume_more(j, out->limits, out->limits_n, &out->limits_room, sizeof(*grown));
	size_t i = out->limits_n;

	if (!grown)
		return;
	out->limits = grown;
	for (; i > 0; i--) {
		size_t n = grown[i - 1].driver.bytes < limit->driver.bytes ? grown[i - 1].driver.bytes
		                                                           : limit->driver.bytes;
		int order = n > 0 ? memcmp(grown[i - 1].driver.at, limit->driver.at, n) : 0;

		if (order < 0 || (order == 0 && grown[i - 1].driver.bytes <= limit->driver.bytes))
			break;
		grown[i] = grown[i - 1];
	}
	grown[i] = *limit;
	out->limits_n++;
}

int volumes_join_node(struct volumes *vs, uint32_t node, struct arena *arena,
                      struct node_storage *out)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = node, .of_node = true };
	const struct volume_node_labels *who = volume_user(&vs->facts, true, node);
	const union volume_any *o;
	struct node_storage s = { 0 };
	uint32_t at = SLOT_NONE;

	*out = s;
	if (!who)
		return 0;
	volume_join_begin(&j);
	o = volume_look(&j, VOLUME_KIND_NODE, no_namespace, who->name);
	for (size_t i = 0; o && i < o->csi_node.limits_n; i++)
		limit_add(&j, &o->csi_node.limits[i], &s);
	while ((o = volume_look_group(&j, VOLUME_KIND_ATTACHMENT, who->name, &at))) {
		const struct pv_object *pv;
		struct volume_source_object source = { .driver = o->attachment.attacher };

		pv = o->attachment.volume.bytes > 0 ? volume_of(&j, o->attachment.volume) : NULL;
		if (!pv || !pv->is_csi)
			continue;
		source.handle = pv->source.handle;
		attach(&j, &s.attached, &s.attached_n, &s.attached_room, &source);
	}
	if (volume_join_end(&j) < 0)
		return j.rc;
	*out = s;
	return 0;
}
