/* SPDX-License-Identifier: Apache-2.0 */
/* Claims and volumes: what frontend/volume/volume.h says of a pod or node, as numbers. */
#include "frontend/volume/volume.h"

#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- pods --------------------------------------------------------------------------- */

const char *pod_base_refusal(const struct pod_entry *p)
{
	const char *text = p->texts;

	for (int i = 0; i < 4; i++)
		text += strlen(text) + 1;
	return text;
}

void pod_flag_refused(struct pod_entry *p)
{
	p->flags &= (uint8_t)~POD_REFUSED;
	if (p->node == ID_NONE && (p->storage_refusal || p->policy_refusal || *pod_base_refusal(p)))
		p->flags |= POD_REFUSED;
}

/* Why the pod's storage refuses it; "" when it does not.  -ENOMEM. */
static int set_refusal(struct model *m, uint32_t pod, uint32_t refused, const char *text)
{
	struct pod_entry *p = pod_at(m, pod);
	char *copy = NULL;

	if (refused != VOLUME_REFUSED_NOT && !(copy = strdup(text)))
		return -ENOMEM;
	free(p->storage_refusal);
	p->storage_refusal = copy;
	p->storage_refused = (uint8_t)refused;
	pod_flag_refused(p);
	return 0;
}

/* It could not be recorded: one that waits is refused; the node of one that is bound
 * takes no more until it can. */
static int storage_lost(struct model *m, uint32_t pod, int rc, const struct shape_trouble *trouble)
{
	struct pod_entry *p = pod_at(m, pod);
	const char *text;

	p->retry = true;
	m->counts.limits_hit += rc == -ENOSPC;
	if (p->node != ID_NONE) {
		p->storage_lost = p->storage_lost || !p->blind;
		if (!p->blind)
			blind_begin(m, p->node);
		p->blind = true;
		return rc;
	}
	text = rc == -EINVAL   ? trouble->fault
	       : rc == -ENOSPC ? arena_printf(&m->scratch, "the limit %s is reached", trouble->flag)
	                       : NULL;
	set_refusal(m, pod, VOLUME_REFUSED_OURS, text ? text : "no memory");
	return rc;
}

int pod_join_storage(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct pod_storage storage = { 0 };
	struct spread_cause cause;
	struct policy_use use;
	struct shape_change change;
	struct shape_trouble trouble = { 0 };
	uint32_t shape = ID_NONE;
	int rc;

	arena_reset(&m->scratch);
	pod_shape_change(m, pod, &cause, &use, &change);
	change.storage = &storage;
	rc = volumes_join_pod(m->volumes, pod, p->node != ID_NONE, &m->scratch, &storage);
	if (rc == 0 && storage.refused != VOLUME_REFUSED_NOT)
		storage = (struct pod_storage){ .refused = storage.refused, .refusal = storage.refusal };
	if (rc == 0)
		rc = shape_remake(m, p->shape, &change, &shape, &trouble);
	if (rc == 0) {
		shape_give(m, p->shape);
		p->shape = shape;
		rc = set_refusal(m, pod, storage.refused, storage.refusal);
	}
	if (rc < 0)
		return storage_lost(m, pod, rc, &trouble);
	if (p->storage_lost) {
		p->storage_lost = p->blind = false;
		blind_end(m, p->node);
	}
	return 0;
}

int pod_set_storage(struct model *m, uint32_t pod, const struct pod_object *object)
{
	struct pod_entry *p = pod_at(m, pod);
	bool any = object && object->volumes && object->volumes->n > 0;
	int rc;

	free(p->storage_refusal);
	p->storage_refusal = NULL;
	p->storage_refused = VOLUME_REFUSED_NOT;
	p->storage_lost = false;
	if (!any && !p->has_volumes)
		return 0;
	arena_reset(&m->scratch);
	rc = volumes_set_pod(m->volumes, pod, any ? object : NULL);
	if (rc < 0)
		return any ? storage_lost(m, pod, rc, NULL) : 0;
	m->counts.pods_with_volumes += any;
	m->counts.pods_with_volumes -= p->has_volumes;
	p->has_volumes = any;
	return any ? pod_join_storage(m, pod) : 0;
}

/* ---- nodes ---------------------------------------------------------------------------- */

static void storage_free(struct model *m, struct node_storage_entry *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->limits_n; i++)
		intern_give(&m->values, s->limits[i].driver);
	for (uint32_t i = 0; i < s->attached_n; i++) {
		intern_give(&m->values, s->attached[i].driver);
		intern_give(&m->values, s->attached[i].volume);
	}
	free(s);
}

/* In one piece of memory; *out NULL: there is nothing. */
static int storage_make(struct model *m, const struct node_storage *from,
                        struct node_storage_entry **out)
{
	struct node_storage_entry *s;

	*out = NULL;
	if (from->limits_n == 0 && from->attached_n == 0)
		return 0;
	s = calloc(1, sizeof(*s) + from->limits_n * sizeof(*s->limits) +
	                  from->attached_n * sizeof(*s->attached));
	if (!s)
		return -ENOMEM;
	s->limits = (void *)(s + 1);
	s->attached = (void *)(s->limits + from->limits_n);
	for (size_t i = 0; i < from->limits_n; i++) {
		if (intern_take(&m->values, from->limits[i].driver, &s->limits[i].driver) < 0)
			goto give;
		s->limits[s->limits_n++].most = from->limits[i].most;
	}
	for (size_t i = 0; i < from->attached_n; i++) {
		struct attachment *a = &s->attached[i];

		if (intern_take(&m->values, from->attached[i].driver, &a->driver) < 0)
			goto give;
		if (intern_take(&m->values, from->attached[i].volume, &a->volume) < 0) {
			intern_give(&m->values, a->driver);
			goto give;
		}
		s->attached_n++;
	}
	*out = s;
	return 0;

give:
	storage_free(m, s);
	return -ENOMEM;
}

static bool storage_equal(const struct node_storage_entry *a, const struct node_storage_entry *b)
{
	if (!a || !b)
		return a == b;
	return a->limits_n == b->limits_n && a->attached_n == b->attached_n &&
	       memcmp(a->limits, b->limits, a->limits_n * sizeof(*a->limits)) == 0 &&
	       memcmp(a->attached, b->attached, a->attached_n * sizeof(*a->attached)) == 0;
}

int node_join_storage(struct model *m, uint32_t node, bool *changed)
{
	struct node_storage storage = { 0 };
	struct node_storage_entry *made = NULL;
	struct node_entry *n;
	int rc;

	arena_reset(&m->scratch);
	rc = volumes_join_node(m->volumes, node, &m->scratch, &storage);
	if (rc == 0)
		rc = storage_make(m, &storage, &made);
	if (rc < 0)
		return rc;
	n = node_at(m, node);
	*changed = !storage_equal(n->storage, made);
	storage_free(m, n->storage);
	n->storage = made;
	m->sight_due = m->sight_due || n->storage_lost;
	n->storage_lost = false;
	return 0;
}

int node_set_storage(struct model *m, uint32_t node, const struct node_object *object,
                     bool *changed)
{
	int rc = volumes_set_node(m->volumes, node, object->meta.name, &object->meta.labels);

	return rc < 0 ? rc : node_join_storage(m, node, changed);
}

void node_clear_storage(struct model *m, uint32_t node)
{
	struct node_entry *n = node_at(m, node);

	volumes_drop_node(m->volumes, node);
	storage_free(m, n->storage);
	n->storage = NULL;
	n->storage_lost = false;
}

void model_assume(struct model *m, pod_id id, uint32_t generation, node_id node)
{
	const struct pod_entry *p = id < m->pods.n ? pod_at(m, id) : NULL;

	if (!p || !p->slot.live || p->slot.generation != generation || !p->has_volumes)
		return;
	arena_reset(&m->scratch);
	volumes_assume(m->volumes, id, node, &m->scratch);
}

/* ---- objects --------------------------------------------------------------------------- */

int storage_put(struct model *m, int resource, const char *json, size_t bytes,
                struct decode_error *error)
{
	int rc = volumes_put(m->volumes, m->which[resource], json, bytes, &m->arena, error);

	struct meta meta;

	m->counts.objects_bad += rc == -EINVAL;
	if (rc != -ENOSPC)
		return rc;
	rc = extract_meta(json, bytes, &m->arena, &meta, error);
	meta.kind = text_of(m->resources[resource].kind);
	return rc < 0 ? rc : referred_refuse(m, &meta, error);
}

/* ---- what changed ------------------------------------------------------------------------ */

void model_settle(struct model *m)
{
	uint32_t slot;

	while (volumes_next_pod(m->volumes, &slot)) {
		struct pod_entry *p = pod_at(m, slot);
		uint32_t shape = p->shape, flags = p->flags;

		pod_join_storage(m, slot);
		if (p->shape != shape || p->flags != flags)
			list_push(&m->pods_dirty, &m->pods, slot);
	}
	while (volumes_next_node(m->volumes, &slot)) {
		bool changed = false;

		if (!node_at(m, slot)->body)
			continue;
		if (node_join_storage(m, slot, &changed) < 0)
			changed = node_at(m, slot)->storage_lost = true;
		if (changed)
			list_push(&m->nodes_dirty, &m->nodes, slot);
	}
}
