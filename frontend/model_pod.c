#include "frontend/model_impl.h"

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
	return c >= '0' && c <= '9' ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The uid as a number that is the same in every epoch and process. */
static void uid_number(const struct meta *meta, uint64_t out[2])
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
	out[1] = siphash(keys[1], t.at, t.bytes) ^
		(meta->uid.bytes > 0 ? 0 : siphash(keys[0], meta->namespace.at, meta->namespace.bytes));
}

/* All texts of an entry in one piece of memory. */
static char *pod_texts(const struct pod_object *pod, const struct pod_state *s)
{
	bool waits = (s->flags & POD_OURS) && pod->node_name.bytes == 0;
	struct text parts[8] = { pod->meta.namespace, pod->meta.name, pod->meta.uid, pod->meta.version };
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

static void pod_leave_all(struct model *m, uint32_t pod)
{
	struct pod_entry *e = pod_at(m, pod);

	gang_leave(m, pod);
	if (e->blind)
		blind_end(m, e->node);
	if (e->node != ID_NONE)
		node_give(m, e->node);
	shape_give(m, e->shape);
	intern_give(&m->schedulers, e->scheduler);
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
	pod_leave_all(m, pod);
	if (e->binding != ID_NONE)
		node_give(m, e->binding);
	table_remove(&m->pods_index, e->hash, pod);
	free(e->texts);
	e->texts = NULL;
	if (e->slot.sent == 0)
		list_remove(&m->pods_dirty, &m->pods, pod);
	else
		list_push(&m->pods_dirty, &m->pods, pod);
	pool_give(&m->pods, pod);
}

/* A new entry for it, which refers to nothing yet. */
static int pod_enter(struct model *m, const struct meta *meta, uint32_t *pod, struct decode_error *error)
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
	e->gang = e->node = e->binding = e->shape = ID_NONE;
	table_put(&m->pods_index, e->hash, *pod);
	m->counts.pods++;
	return 0;
}

/* Let the entry be as the object says; it takes over what `s` holds. */
static void pod_take_over(struct model *m, uint32_t pod, const struct pod_object *object,
                          const struct pod_state *s, char *texts, bool is_new)
{
	struct pod_entry *e = pod_at(m, pod), old = *e;

	uid_number(&object->meta, e->uid);
	e->created_ns = object->meta.created_ns;
	e->priority = object->priority;
	e->flags = s->flags;
	e->retry = s->retry;
	e->blind = s->blind;
	e->texts = texts;
	e->shape = s->shape;
	e->node = s->node;
	e->scheduler = s->scheduler;
	if (e->gang != s->gang) {
		gang_leave(m, pod);
		if (s->gang != ID_NONE)
			gang_join(m, s->gang, pod);
	}
	if (e->blind)
		blind_begin(m, e->node);
	if (!is_new) {
		m->counts.pods_ours_pending -= is_waiting(&old);
		if (old.blind)
			blind_end(m, old.node);
		free(old.texts);
		shape_give(m, old.shape);
		if (old.node != ID_NONE)
			node_give(m, old.node);
		intern_give(&m->schedulers, old.scheduler);
	}
	m->counts.pods_ours_pending += is_waiting(e);
	m->counts.preferences += is_new && is_waiting(e) && object->has_soft_rules;
	if (is_new || old.shape != e->shape || old.node != e->node || old.gang != e->gang ||
	    old.flags != e->flags || old.priority != e->priority || old.created_ns != e->created_ns ||
	    memcmp(old.uid, e->uid, sizeof(e->uid)) != 0)
		list_push(&m->pods_dirty, &m->pods, pod);
}

static int pod_accept(struct model *m, uint32_t pod, const struct pod_object *object,
                      struct decode_error *error)
{
	bool is_new = pod == SLOT_NONE;
	struct pod_state s;
	char *texts, name[600];
	int rc;

	rc = pod_state_of(m, object, &s);
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
	return 0;
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
 * reason; one that is bound keeps the room that it had, or makes its node blind. */
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
	if (pod.meta.name.bytes == 0 || !model_names_valid(&pod.meta, NULL) || !is_node_name(&pod, NULL))
		return -EINVAL;
	known = pod_entry_of(m, &pod.meta);
	if (known != SLOT_NONE)
		pod_at(m, known)->seen = m->replace[RESOURCE_INDEX_PODS].round;
	bound = pod.node_name.bytes > 0;
	if (pod.ended || (bound ? stays_bound(m, known, &pod) : !pod_is_ours(m, &pod)))
		return -EINVAL;
	if (known != SLOT_NONE && is_old(m, pod_at(m, known), &pod.meta))
		return -EINVAL;
	is_new = known == SLOT_NONE;
	rc = pod_state_of(m, &pod, &s);
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
	int rc;

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
	if (object.ended || (object.node_name.bytes == 0 && !pod_is_ours(m, &object))) {
		if (pod != SLOT_NONE)
			pod_forget(m, pod);
		return 0;
	}
	return pod_accept(m, pod, &object, error);
}

int pod_remove(struct model *m, const struct meta *meta)
{
	uint32_t pod = pod_find(m, meta->namespace, meta->name);

	if (pod == SLOT_NONE)
		return 0;
	if (stamp_is_successor(next_text(next_text(pod_at(m, pod)->texts)), meta))
		m->counts.objects_stale++;
	else
		pod_forget(m, pod);
	return 0;
}
