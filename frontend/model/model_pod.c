/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_NAME_BYTES_MAX 253

/* ---- entries ------------------------------------------------------------------------- */

static const char *next_text(const char *text)
{
	return text + strlen(text) + 1;
}

struct wanted {
	const struct model *m;
	struct text namespace, name;
};

static bool is_text(const char *terminated, struct text t)
{
	return strncmp(terminated, t.at, t.bytes) == 0 && terminated[t.bytes] == '\0';
}

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const char *texts = pod_at(w->m, slot)->texts;

	return is_text(texts, w->namespace) && is_text(next_text(texts), w->name);
}

static uint32_t pod_hash(const struct model *m, struct text namespace, struct text name)
{
	uint64_t key[2] = { siphash(m->hash_key, namespace.at, namespace.bytes), m->hash_key[1] };

	return (uint32_t)siphash(key, name.at, name.bytes);
}

uint32_t pod_find(const struct model *m, struct text namespace, struct text name)
{
	struct wanted w = { m, namespace, name };

	return table_find(&m->pods_index, pod_hash(m, namespace, name), is_wanted, &w);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

void pod_uid_number(const struct meta *meta, uint64_t out[2])
{
	static const uint64_t keys[2][2] = { { 1, 2 }, { 3, 4 } };
	struct text t = meta->uid.bytes > 0 ? meta->uid : meta->name;
	int digits = 0;

	out[0] = out[1] = 0;
	if (t.bytes == 36) {
		for (size_t i = 0; i < t.bytes; i++) {
			int digit = hex_digit(t.at[i]);

			if (digit < 0)
				continue;
			out[digits / 16 % 2] = out[digits / 16 % 2] << 4 | (uint64_t)digit;
			digits++;
		}
		if (digits == 32)
			return;
	}
	out[0] = siphash(keys[0], t.at, t.bytes);
	out[1] =
		siphash(keys[1], t.at, t.bytes) ^
		(meta->uid.bytes > 0 ? 0 : siphash(keys[0], meta->namespace.at, meta->namespace.bytes));
}

/* All texts of an entry in one piece of memory. */
static char *pod_texts(const struct pod_object *pod, const struct pod_state *s)
{
	bool waits = (s->flags & POD_OURS) && pod->node_name.bytes == 0;
	struct text parts[8] = { pod->meta.namespace, pod->meta.name, pod->meta.uid,
		                     pod->meta.version };
	size_t bytes = 0;
	char *texts, *p;

	if (waits) {
		parts[4] = text_of(s->refusal);
		parts[5] = pod->condition_status;
		parts[6] = pod->condition_reason;
		parts[7] = pod->condition_message;
	}
	for (int i = 0; i < 8; i++)
		bytes += parts[i].bytes + 1;
	p = texts = malloc(bytes);
	if (!texts)
		return NULL;
	for (int i = 0; i < 8; i++) {
		if (parts[i].bytes > 0)
			memcpy(p, parts[i].at, parts[i].bytes);
		p += parts[i].bytes;
		*p++ = '\0';
	}
	return texts;
}

/* ---- pods of a namespace that may get default spread constraints --------------------------- */

static void spread_join(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct namespace_entry *n = namespace_at(m, p->namespace);

	p->spread_prev = SLOT_NONE;
	p->spread_next = n->pods_first;
	if (n->pods_first != SLOT_NONE)
		pod_at(m, n->pods_first)->spread_prev = pod;
	n->pods_first = pod;
	p->spreads = true;
}

static void spread_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	if (!p->spreads)
		return;
	if (p->spread_prev == SLOT_NONE)
		namespace_at(m, p->namespace)->pods_first = p->spread_next;
	else
		pod_at(m, p->spread_prev)->spread_next = p->spread_next;
	if (p->spread_next != SLOT_NONE)
		pod_at(m, p->spread_next)->spread_prev = p->spread_prev;
	p->spreads = false;
}

void pod_shape_change(const struct model *m, uint32_t pod, struct spread_cause *cause,
                      struct policy_use *use, struct shape_change *out)
{
	const struct pod_entry *p = pod_at(m, pod);

	*cause = (struct spread_cause){ p->namespace, p->labels, p->labels_n, p->owner_kind, p->owner };
	*out =
		(struct shape_change){ .namespace = namespace_at(m, p->namespace)->name,
		                       .spread = p->spreads ? cause : NULL,
		                       .policy = policy_use_of(m, p->policy, p->labels, p->labels_n, use) };
}

void pod_respread(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	struct spread_cause cause;
	struct policy_use use;
	struct shape_change change;
	struct shape_trouble trouble = { 0 };
	uint32_t shape;
	int rc;

	arena_reset(&m->scratch);
	pod_shape_change(m, pod, &cause, &use, &change);
	rc = shape_remake(m, p->shape, &change, &shape, &trouble);
	if (rc < 0) {
		/* It only scores nodes: the old one does until the pod is read again. */
		m->counts.limits_hit++;
		p->retry = true;
		return;
	}
	if (shape != p->shape)
		list_push(&m->pods_dirty, &m->pods, pod);
	shape_give(m, p->shape);
	p->shape = shape;
}

/* ---- entries, going on ----------------------------------------------------------------------- */

/* What an entry held that has changed since, or is gone. */
static void pod_give_old(struct model *m, const struct pod_entry *old)
{
	if (old->blind)
		blind_end(m, old->node);
	if (old->node != ID_NONE)
		node_give(m, old->node);
	shape_give(m, old->shape);
	intern_give(&m->schedulers, old->scheduler);
	if (old->description != ID_NONE)
		describe_give(m, old->description);
	if (old->role != ID_NONE)
		intern_give(&m->values, old->role);
	pod_labels_give(m, old->labels, old->labels_n);
	if (old->owner != ID_NONE)
		intern_give(&m->values, old->owner);
	namespace_give(m, old->namespace);
	free(old->texts);
}

static bool is_waiting(const struct pod_entry *e)
{
	return (e->flags & POD_OURS) && e->node == ID_NONE;
}

void pod_forget(struct model *m, uint32_t pod)
{
	struct pod_entry *e = pod_at(m, pod);

	m->counts.pods_ours_pending -= is_waiting(e);
	m->counts.pods--;
	gang_phase_uncount(m, e);
	gang_place(m, pod, ID_NONE, 0, e->description);
	spread_leave(m, pod);
	policy_leave(m, pod);
	pod_set_storage(m, pod, NULL);
	pod_give_old(m, e);
	if (e->binding != ID_NONE)
		node_give(m, e->binding);
	table_remove(&m->pods_index, e->hash, pod);
	e->texts = NULL;
	e->labels = NULL;
	if (e->slot.sent == 0)
		list_remove(&m->pods_dirty, &m->pods, pod);
	else
		list_push(&m->pods_dirty, &m->pods, pod);
	pool_give(&m->pods, pod);
}

/* A new entry for it, which refers to nothing yet. */
static int pod_enter(struct model *m, const struct meta *meta, uint32_t *pod,
                     struct decode_error *error)
{
	struct pod_entry *e;
	char name[600];
	int rc;

	if (table_reserve(&m->pods_index) < 0)
		return -ENOMEM;
	rc = pool_take(&m->pods, pod);
	if (rc == -ENOSPC) {
		extract_object_name(meta, name, sizeof(name));
		return model_limit(m, name, "--max-pods", error);
	}
	if (rc < 0)
		return rc;
	e = pod_at(m, *pod);
	e->hash = pod_hash(m, meta->namespace, meta->name);
	e->gang = e->node = e->binding = e->shape = e->owner = e->policy = e->description = e->role =
		ID_NONE;
	table_put(&m->pods_index, e->hash, *pod);
	m->counts.pods++;
	return 0;
}

/* Does the core have to hear of it? */
static bool is_changed(const struct pod_entry *a, const struct pod_entry *b)
{
	return a->shape != b->shape || a->node != b->node || a->gang != b->gang ||
	       a->flags != b->flags || a->role != b->role || a->priority != b->priority ||
	       a->created_ns != b->created_ns || memcmp(a->uid, b->uid, sizeof(a->uid)) != 0 ||
	       a->labels_n != b->labels_n ||
	       (a->labels_n > 0 && memcmp(a->labels, b->labels, a->labels_n * sizeof(*a->labels)) != 0);
}

/* Let the entry be as the object says; it takes over what `s` holds. */
static void pod_take_over(struct model *m, uint32_t pod, const struct pod_object *object,
                          const struct pod_state *s, char *texts, bool is_new)
{
	struct pod_entry *e = pod_at(m, pod), old;

	m->last_put = pod;
	spread_leave(m, pod);
	old = *e;
	pod_uid_number(&object->meta, e->uid);
	e->created_ns = object->meta.created_ns;
	e->priority = object->priority;
	e->flags = s->flags;
	e->phase = (uint8_t)object->phase;
	e->retry = s->retry;
	e->blind = s->blind;
	e->texts = texts;
	e->shape = s->shape;
	e->node = s->node;
	e->scheduler = s->scheduler;
	e->namespace = s->namespace;
	e->labels = s->labels;
	e->labels_n = s->labels_n;
	e->owner = s->owner;
	e->owner_kind = s->owner_kind;
	if (s->spreads)
		spread_join(m, pod);
	gang_phase_uncount(m, &old);
	e->role = s->role;
	gang_place(m, pod, s->gang, s->gang_dialect, s->description);
	gang_phase_count(m, e);
	if (e->gang != ID_NONE)
		gang_owned(m, e->gang, object);
	if (e->policy != s->policy) {
		policy_leave(m, pod);
		if (s->policy != ID_NONE)
			policy_join(m, s->policy, pod);
	}
	if (e->blind)
		blind_begin(m, e->node);
	pod_set_storage(m, pod, s->unshaped ? NULL : object);
	if (s->policy != ID_NONE)
		pod_join_policy(m, pod);
	if (is_new || is_changed(&old, e))
		list_push(&m->pods_dirty, &m->pods, pod);
	if (!is_new) {
		m->counts.pods_ours_pending -= is_waiting(&old);
		pod_give_old(m, &old);
	}
	m->counts.pods_ours_pending += is_waiting(e);
}

/* It counts, but not as a whole. */
static int pod_fault(struct model *m, const struct pod_object *object, const char *fault,
                     struct decode_error *error)
{
	m->counts.objects_bad++;
	extract_object_name(&object->meta, error->object, sizeof(error->object));
	snprintf(error->field, sizeof(error->field), "metadata");
	snprintf(error->text, sizeof(error->text), "%s", fault);
	return -EINVAL;
}

static int pod_accept(struct model *m, uint32_t pod, const struct pod_object *object,
                      struct decode_error *error)
{
	bool is_new = pod == SLOT_NONE;
	struct pod_state s;
	char *texts, name[600];
	int rc;

	rc = pod_state_of(m, object, pod, &s);
	if (rc == -ENOSPC) {
		/* It runs on a node that there is no room for. */
		if (!is_new)
			pod_forget(m, pod);
		extract_object_name(&object->meta, name, sizeof(name));
		model_limit(m, name, s.flag, error);
		blind_lost(m, object->node_name, error);
		return -ENOSPC;
	}
	if (rc < 0)
		return rc;
	texts = pod_texts(object, &s);
	if (!texts) {
		pod_state_release(m, &s);
		return -ENOMEM;
	}
	if (is_new) {
		rc = pod_enter(m, &object->meta, &pod, error);
		if (rc < 0) {
			free(texts);
			if (rc == -ENOSPC && s.node != ID_NONE)
				blind_lost(m, object->node_name, error);
			pod_state_release(m, &s);
			return rc;
		}
	}
	pod_take_over(m, pod, object, &s, texts, is_new);
	pod_at(m, pod)->seen = m->replace[RESOURCE_INDEX_PODS].round;
	if (s.flag) {
		extract_object_name(&object->meta, name, sizeof(name));
		model_limit(m, name, s.flag, error);
		if (s.blind)
			blind_explain(object->node_name, error);
		return -ENOSPC;
	}
	return s.fault ? pod_fault(m, object, s.fault, error) : 0;
}

/* ---- objects ---------------------------------------------------------------------------- */

/* Is the object no newer than the one that is known? */
static bool is_old(struct model *m, const struct pod_entry *e, const struct meta *meta)
{
	const char *uid = next_text(next_text(e->texts));
	int order = version_compare(meta->version, text_of(next_text(uid)));

	if (order < 0)
		m->counts.objects_stale++;
	return order < 0 || (order == 0 && !e->retry);
}

/* Find the entry of this very pod.  One of the same name with another uid is
 * forgotten: that pod is gone. */
static uint32_t pod_entry_of(struct model *m, const struct meta *meta)
{
	uint32_t pod = pod_find(m, meta->namespace, meta->name);

	other_meet(m, meta);
	if (pod != SLOT_NONE && !is_text(next_text(next_text(pod_at(m, pod)->texts)), meta->uid)) {
		pod_forget(m, pod);
		pod = SLOT_NONE;
	}
	return pod;
}

static bool is_node_name(const struct pod_object *pod, struct decode_error *error)
{
	if (pod->node_name.bytes <= NODE_NAME_BYTES_MAX)
		return true;
	if (error) {
		extract_object_name(&pod->meta, error->object, sizeof(error->object));
		snprintf(error->field, sizeof(error->field), "spec.nodeName");
		snprintf(error->text, sizeof(error->text), "is longer than %d bytes", NODE_NAME_BYTES_MAX);
	}
	return false;
}

/* Is it bound to the node that it was bound to? */
static bool stays_bound(const struct model *m, uint32_t known, const struct pod_object *pod)
{
	const struct pod_entry *e = known != SLOT_NONE ? pod_at(m, known) : NULL;

	return e && e->node != ID_NONE && is_text(node_at(m, e->node)->name, pod->node_name);
}

/* A pod that can't be read.  One of ours is kept as refused, so that it gets a
 * reason; one that is bound keeps the room that it had, or makes its node blind, until it ends. */
static int pod_put_bad(struct model *m, const char *json, size_t bytes, struct decode_error *error)
{
	struct pod_object pod;
	struct pod_state s;
	uint32_t known;
	char *texts;
	bool is_new, bound;
	int rc;

	m->counts.objects_bad++;
	extract_pod_basics(json, bytes, &m->arena, &pod, NULL);
	if (pod.meta.name.bytes == 0 || !model_names_valid(&pod.meta, NULL) ||
	    !is_node_name(&pod, NULL))
		return -EINVAL;
	known = pod_entry_of(m, &pod.meta);
	if (known != SLOT_NONE)
		pod_at(m, known)->seen = m->replace[RESOURCE_INDEX_PODS].round;
	bound = pod.node_name.bytes > 0;
	if (pod.ended) {
		other_put(m, &pod, NULL);
		if (known != SLOT_NONE && !is_old(m, pod_at(m, known), &pod.meta))
			pod_forget(m, known);
		return -EINVAL;
	}
	if (bound ? stays_bound(m, known, &pod) : !pod_is_ours(m, &pod))
		return -EINVAL;
	if (known != SLOT_NONE && is_old(m, pod_at(m, known), &pod.meta))
		return -EINVAL;
	is_new = known == SLOT_NONE;
	rc = pod_state_of(m, &pod, known, &s);
	if (rc < 0) {
		if (rc == -ENOSPC && bound)
			blind_lost(m, pod.node_name, error);
		return -EINVAL;
	}
	s.blind = bound;
	if (bound)
		blind_explain(pod.node_name, error);
	else
		pod_state_refuse(&s, arena_printf(&m->arena, "%s: %s", error->field, error->text));
	texts = pod_texts(&pod, &s);
	if (!texts || (is_new && pod_enter(m, &pod.meta, &known, NULL) < 0)) {
		free(texts);
		if (bound)
			blind_lost(m, pod.node_name, NULL);
		pod_state_release(m, &s);
		return -EINVAL;
	}
	pod_take_over(m, known, &pod, &s, texts, is_new);
	pod_at(m, known)->seen = m->replace[RESOURCE_INDEX_PODS].round;
	return -EINVAL;
}

int pod_put(struct model *m, const char *json, size_t bytes, struct decode_error *error)
{
	struct decode_error own;
	struct pod_object object;
	uint32_t pod;
	int rc, accepted;

	if (!error)
		error = &own;
	rc = extract_pod(json, bytes, &m->arena, &object, error);
	if (rc == 0 && !(model_names_valid(&object.meta, error) && is_node_name(&object, error)))
		rc = -EINVAL;
	if (rc == -EINVAL)
		return pod_put_bad(m, json, bytes, error);
	if (rc < 0)
		return rc;
	pod = pod_entry_of(m, &object.meta);
	if (pod != SLOT_NONE) {
		pod_at(m, pod)->seen = m->replace[RESOURCE_INDEX_PODS].round;
		if (is_old(m, pod_at(m, pod), &object.meta))
			return 0;
	}
	if (object.ended ||
	    (object.node_name.bytes == 0 && !m->judges_others && !pod_is_ours(m, &object))) {
		if (pod != SLOT_NONE)
			pod_forget(m, pod);
		return other_put(m, &object, error);
	}
	rc = pod_is_ours(m, &object) ? 0 : other_put(m, &object, error);
	accepted = pod_accept(m, pod, &object, error);
	return accepted < 0 ? accepted : rc;
}

int pod_remove(struct model *m, const struct meta *meta)
{
	uint32_t pod = pod_find(m, meta->namespace, meta->name);

	other_remove(m, meta);
	if (pod == SLOT_NONE)
		return 0;
	if (stamp_is_successor(next_text(next_text(pod_at(m, pod)->texts)), meta))
		m->counts.objects_stale++;
	else
		pod_forget(m, pod);
	return 0;
}
