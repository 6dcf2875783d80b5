/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of pods. */
#include "frontend/model/pods/ends.h"
#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/pods/facts.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/base/labels.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/groups/members.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/decode/volume_source.h"
#include "frontend/model/put/pod_state.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/pods/shares.h"
#include "frontend/model/nodes/unaccounted.h"
#include "frontend/volume/volume.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NODE_NAME_BYTES_MAX 253

static const char *stamp_of(const struct pod_entry *e)
{
	return next_text(next_text(e->texts));
}

/* All texts of an entry in one piece of memory. */
static char *pod_texts(const struct pod_object *pod, const struct pod_state *s, size_t *of_all)
{
	struct text parts[9] = { pod->meta.namespace, pod->meta.name, pod->meta.uid,
		                     pod->meta.version };
	size_t bytes = 0;
	char *texts, *p;

	if ((s->flags & POD_OURS) && pod->node_name.bytes == 0) {
		parts[4] = text_of(s->refusal);
		parts[5] = pod->condition_status;
		parts[6] = pod->condition_reason;
		parts[7] = pod->condition_message;
		parts[8] = pod->nominated;
	}
	for (int i = 0; i < 9; i++)
		bytes += parts[i].bytes + 1;
	*of_all = bytes;
	p = texts = must_grow(NULL, bytes);
	for (int i = 0; i < 9; i++) {
		if (parts[i].bytes > 0)
			memcpy(p, parts[i].at, parts[i].bytes);
		p += parts[i].bytes;
		*p++ = '\0';
	}
	return texts;
}

static void spread_join(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	assert(!p->spreads);
	chain_push(&m->pods.pool, offsetof(struct pod_entry, spread_link),
	           &namespace_at(m, p->namespace)->pods_first, pod);
	p->spreads = true;
}

static void spread_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);

	if (p->spreads)
		chain_remove(&m->pods.pool, offsetof(struct pod_entry, spread_link),
		             &namespace_at(m, p->namespace)->pods_first, pod);
	p->spreads = false;
}

/* Return the references of an entry that has changed since, or is gone. */
static void pod_give_old(struct model *m, const struct pod_entry *old)
{
	assert(!old->unaccounted || old->node != ID_NONE);
	if (old->unaccounted)
		unaccounted_end(m, old->node);
	if (old->node != ID_NONE)
		node_give(m, old->node);
	shape_give(m, old->shape);
	intern_give(&m->schedulers, old->scheduler);
	memory_pay_back(m, old->namespace, old->bytes);
	if (old->declared_spec != ID_NONE)
		declared_spec_give(m, old->declared_spec);
	if (old->role != ID_NONE)
		intern_give(&m->values, old->role);
	pod_labels_give(m, old->labels, old->labels_n);
	if (old->owner != ID_NONE)
		intern_give(&m->values, old->owner);
	namespace_give(m, old->namespace);
	free(old->texts);
}

static bool is_pending(const struct pod_entry *e)
{
	return (e->flags & POD_OURS) && e->node == ID_NONE;
}

void pod_unshape(struct model *m, uint32_t pod)
{
	spread_leave(m, pod);
	policy_leave(m, pod);
	pod_set_storage(m, pod, NULL);
}

void pod_forget(struct model *m, uint32_t pod)
{
	struct pod_entry *e = pod_at(m, pod);

	assert(e->entry.slot.live && m->counts.pods > 0);
	assert(m->counts.pods_ours_pending >= is_pending(e));
	m->counts.pods_ours_pending -= is_pending(e);
	m->counts.pods--;
	gang_phase_uncount(m, e);
	gang_place(m, pod, ID_NONE, 0, e->declared_spec);
	if (e->has_claims)
		pod_set_claims(m, pod, NULL, 0);
	pod_unshape(m, pod);
	facts_unmark(m, pod);
	if (m->queues)
		queues_forget_pod(m, pod);
	if (m->jobs)
		jobs_forget_pod(m, pod);
	share_return(m, SHARE_PODS, e->namespace, 1);
	pod_give_old(m, e);
	if (e->binding != ID_NONE)
		node_give(m, e->binding);
	pod_set_rare(e, POD_LIMIT_REFUSAL, NULL);
	pod_set_rare(e, POD_NOMINATED, NULL);
	assert(!e->rare);
	e->texts = NULL;
	e->labels = NULL;
	store_remove_dirty(&m->pods, pod);
}

/* True if the records of the two differ. */
static bool is_changed(const struct pod_entry *a, const struct pod_entry *b)
{
	return a->shape != b->shape || a->node != b->node || a->gang != b->gang ||
	       a->flags != b->flags || a->role != b->role || a->priority != b->priority ||
	       a->run_s != b->run_s || a->expected_s != b->expected_s ||
	       a->created_ns != b->created_ns || memcmp(a->uid, b->uid, sizeof(a->uid)) != 0 ||
	       a->labels_n != b->labels_n ||
	       (a->labels_n > 0 && memcmp(a->labels, b->labels, a->labels_n * sizeof(*a->labels)) != 0);
}

#define INDEX_BYTES 64u /* of the pod, here and where its slot is an index */

static bool stores_volumes(const struct pod_object *pod, bool bare)
{
	return pod->volumes && !(bare && volumes_bytes(pod->volumes) > POD_BARE_VOLUMES);
}

static void pod_pay(struct model *m, struct pod_entry *e, const struct pod_object *pod,
                    const struct pod_state *s, size_t texts)
{
	const bool stores = !s->unshaped && stores_volumes(pod, e->bare);

	e->bytes = (uint32_t)(sizeof(*e) + INDEX_BYTES + texts + e->labels_n * sizeof(*e->labels) +
	                      (stores ? volumes_bytes(pod->volumes) : 0));
	memory_pay(m, e->namespace, e->bytes);
}

/* True if it is another one than before.  The table reaches as far as a pod that states any; there
 * is none without queues. */
static bool stated_set(struct model *m, uint32_t pod, uint32_t stated_s)
{
	uint32_t n = m->stated_n;

	if (!m->states_runs || (pod >= n && stated_s == 0))
		return false;
	while (n <= pod)
		n = n * 2 + 64;
	if (n > m->stated_n) {
		m->stated = must_grow(m->stated, n * sizeof(*m->stated));
		memset(m->stated + m->stated_n, 0, (n - m->stated_n) * sizeof(*m->stated));
		m->stated_n = n;
	}
	if (m->stated[pod] == stated_s)
		return false;
	m->stated[pod] = stated_s;
	return true;
}

/* The fields of an entry that have no list.  True: it states another run time than before. */
static bool pod_fill(struct model *m, uint32_t pod, const struct pod_object *object,
                     const struct pod_state *s)
{
	const struct pod_ends ends = pod_ends_of(object, &m->arena);
	struct pod_entry *e = pod_at(m, pod);
	size_t texts;

	e->run_s = ends.run_s;
	e->expected_s = ends.expected_s;
	e->promised_s = object->node_name.bytes > 0 ? 0 : pod_promised_s(object, &m->arena);
	pod_uid_number(&object->meta, e->uid);
	e->created_ns = object->meta.created_ns;
	e->scheduled_s = object->node_name.bytes > 0 ? object->scheduled_s : 0;
	e->priority = object->priority;
	e->flags = s->flags;
	e->refusal_is_kube = s->refusal_is_kube;
	e->phase = (uint8_t)object->phase;
	e->entry.retry = s->retry;
	e->unaccounted = s->unaccounted;
	e->read_at = s->read_at;
	e->texts = pod_texts(object, s, &texts);
	e->shape = s->shape;
	e->node = s->node;
	e->scheduler = s->scheduler;
	e->namespace = s->namespace;
	e->labels = s->labels;
	e->labels_n = s->labels_n;
	e->owner = s->owner;
	e->owner_kind = s->owner_kind;
	e->bare = s->bare;
	e->bytes = 0;
	if (m->memory_limit > 0)
		pod_pay(m, e, object, s, texts);
	return stated_set(m, pod, ends.stated_s);
}

/* Update the entry from the object; it takes over the references of `s`. */
static void pod_take_over(struct model *m, uint32_t pod, const struct pod_object *object,
                          const struct pod_state *s, bool is_new)
{
	struct pod_entry *e = pod_at(m, pod), old;
	bool states;

	assert(e->entry.slot.live && (!s->unaccounted || s->node != ID_NONE));
	m->last_put = pod;
	spread_leave(m, pod);
	old = *e;
	states = pod_fill(m, pod, object, s);
	e->entry.seen = m->replace[RESOURCE_INDEX_PODS].round;
	if (s->spreads)
		spread_join(m, pod);
	gang_phase_uncount(m, &old);
	e->role = s->role;
	gang_place(m, pod, s->gang, s->gang_dialect, s->declared_spec);
	gang_phase_count(m, e);
	if (e->gang != ID_NONE)
		gang_set_owners(m, e->gang, object);
	if (e->policy != s->policy) {
		policy_leave(m, pod);
		if (s->policy != ID_NONE)
			policy_join(m, s->policy, pod);
	}
	if (e->unaccounted)
		unaccounted_begin(m, e->node);
	pod_set_storage(m, pod, s->unshaped || !stores_volumes(object, s->bare) ? NULL : object);
	if (s->policy != ID_NONE)
		pod_join_policy(m, pod);
	pod_set_rare(e, POD_LIMIT_REFUSAL, NULL);
	e->withdrawn = false;
	pod_check_columns(m, pod);
	facts_set(m, pod, object, is_new ? "" : pod_nominated(old.texts));
	if (old.node != e->node)
		facts_mark(m, pod);
	if (is_new || states || is_changed(&old, e))
		store_mark_dirty(&m->pods, pod);
	if (m->jobs)
		jobs_note_pod(m, pod, object);
	if (!is_new) {
		m->counts.pods_ours_pending -= is_pending(&old);
		pod_give_old(m, &old);
	}
	m->counts.pods_ours_pending += is_pending(e);
}

/* A new entry, without references.
 *   -ENOSPC  with *error */
static int pod_enter(struct model *m, const struct meta *meta, const struct pod_state *s,
                     uint32_t *pod, struct decode_error *error)
{
	bool admitted = s->node != ID_NONE || share_admits(m, SHARE_PODS, s->namespace, 1);
	struct pod_entry *e;

	assert(meta->namespace.bytes > 0 && meta->name.bytes > 0);
	if (!admitted || store_add(&m->pods, pod_hash(m, meta->namespace, meta->name), pod) < 0) {
		model_limit_meta(m, meta, "--max-pods", error);
		if (!admitted && m->pods.pool.used < m->pods.pool.limit && error)
			snprintf(error->text, sizeof(error->text), "%s",
			         share_text(m, &m->arena, "--max-pods", s->namespace));
		return -ENOSPC;
	}
	share_charge(m, SHARE_PODS, s->namespace, 1);
	e = pod_at(m, *pod);
	e->gang = e->node = e->binding = e->shape = e->owner = e->policy = e->declared_spec = e->role =
		ID_NONE;
	e->intent = 0;
	m->counts.pods++;
	return 0;
}

/* It is counted, but not with all its rules. */
static int pod_fault(struct model *m, const struct pod_object *object, const char *fault,
                     struct decode_error *error)
{
	m->counts.objects_bad++;
	decode_error_set(error, &object->meta, "metadata", "%s", fault);
	return -EINVAL;
}

/* A bound pod was left out. */
static void pod_lost(struct model *m, const struct pod_object *pod, struct decode_error *error)
{
	unaccounted_lost(m, node_find(m, pod->node_name), pod->node_name, error);
}

int pod_accept(struct model *m, uint32_t pod, const struct pod_object *object,
               struct decode_error *error)
{
	bool is_new = pod == SLOT_NONE;
	struct pod_state s;

	if (pod_state_of(m, object, pod, &s) < 0) {
		if (!is_new)
			pod_forget(m, pod);
		model_limit_meta(m, &object->meta, s.flag, error);
		pod_lost(m, object, error);
		return -ENOSPC;
	}
	if (is_new && pod_enter(m, &object->meta, &s, &pod, error) < 0) {
		if (s.node != ID_NONE)
			pod_lost(m, object, error);
		pod_state_release(m, &s);
		return -ENOSPC;
	}
	pod_take_over(m, pod, object, &s, is_new);
	if (s.flag) {
		model_limit_meta(m, &object->meta, s.flag, error);
		if (strcmp(s.flag, "--max-memory") == 0)
			memory_lack(m, s.namespace, m->object_bytes);
		if (s.unaccounted)
			unaccounted_explain(object->node_name, error);
		else if (error && (s.bare || strcmp(s.flag, TERMS_LIMIT) == 0))
			snprintf(error->text, sizeof(error->text), "%s%s%s",
			         s.node == ID_NONE ? "" : "counts without its ",
			         s.node == ID_NONE ? ""
			         : s.bare          ? "labels and rules of pod affinity: "
			                           : "rules of pod affinity: ",
			         share_text(m, &m->arena, s.flag, s.namespace));
		return -ENOSPC;
	}
	return s.fault ? pod_fault(m, object, s.fault, error) : 0;
}

/* The entry of the pod with this name and uid.  An entry with another uid is of a pod that is gone:
 * it is removed. */
static uint32_t pod_entry_of(struct model *m, const struct meta *meta)
{
	uint32_t pod = pod_find(m, meta->namespace, meta->name);

	non_member_note_put(m, meta);
	if (pod != SLOT_NONE && !text_is(meta->uid, stamp_of(pod_at(m, pod)))) {
		pod_forget(m, pod);
		pod = SLOT_NONE;
	}
	if (pod != SLOT_NONE)
		pod_at(m, pod)->entry.seen = m->replace[RESOURCE_INDEX_PODS].round;
	return pod;
}

static bool is_known(struct model *m, uint32_t pod, const struct meta *meta)
{
	const struct pod_entry *e = pod != SLOT_NONE ? pod_at(m, pod) : NULL;

	return e && stamp_covers(m, stamp_of(e), meta, e->entry.retry);
}

static bool is_node_name(const struct pod_object *pod, struct decode_error *error)
{
	if (pod->node_name.bytes <= NODE_NAME_BYTES_MAX)
		return true;
	decode_error_set(error, &pod->meta, "spec.nodeName", "is longer than %d bytes",
	                 NODE_NAME_BYTES_MAX);
	return false;
}

/* True if it is bound to the node that it was bound to. */
static bool stays_bound(const struct model *m, uint32_t known, const struct pod_object *pod)
{
	const struct pod_entry *e = known != SLOT_NONE ? pod_at(m, known) : NULL;

	return e && e->node != ID_NONE && text_is(pod->node_name, node_at(m, e->node)->name);
}

/* The usage of a bound pod that cannot be read whole, such as one that asks for more resources than
 * there are columns: without its rules, and of what nodes have.  Else a pod that somebody bound by
 * hand would take the node from all others: a kubelet admits it, and does not mind resources that
 * the node lacks.
 *   -EINVAL  that cannot be read either */
static int pod_usage_read(struct model *m, const char *json, size_t bytes, struct pod_object *out)
{
	struct resource_names known = { 0 };

	resource_names_seed(&known);
	for (uint32_t i = RESOURCE_EXTENDED; i < m->columns.pool.n; i++)
		if (intern_refs(&m->columns, i) > 0)
			known.at[known.n++] = text_of(intern_text(&m->columns, i));
	return extract_pod_usage(json, bytes, &m->arena, &known, out, NULL);
}

/* A pod that cannot be read.  One of ours is stored as refused, so that it gets a reason; one that
 * is bound is counted by its usage, or keeps what was counted, or its node is unaccounted, until it
 * ends. */
static int pod_put_bad(struct model *m, const char *json, size_t bytes, struct decode_error *error)
{
	struct pod_object pod, usage;
	struct pod_state s;
	uint32_t known;
	bool is_new, bound, is_counted;

	m->counts.objects_bad++;
	extract_pod_basics(json, bytes, &m->arena, &pod, NULL);
	if (pod.meta.name.bytes == 0 || !model_names_valid(&pod.meta, NULL) ||
	    !is_node_name(&pod, NULL))
		return -EINVAL;
	known = pod_entry_of(m, &pod.meta);
	is_new = known == SLOT_NONE;
	bound = pod.node_name.bytes > 0;
	if (pod.ended) {
		non_member_put(m, &pod, NULL);
		if (!is_new && !is_known(m, known, &pod.meta))
			pod_forget(m, known);
		return -EINVAL;
	}
	if (is_known(m, known, &pod.meta))
		return -EINVAL;
	is_counted = bound && pod_usage_read(m, json, bytes, &usage) == 0;
	if (is_counted)
		pod = usage;
	else if (bound ? stays_bound(m, known, &pod) : !pod_is_ours(m, &pod))
		return -EINVAL;
	if (pod_state_of(m, &pod, known, &s) < 0) {
		if (bound)
			pod_lost(m, &pod, error);
		return -EINVAL;
	}
	s.unaccounted = s.unaccounted || (bound && !is_counted);
	s.read_at = is_counted ? m->columns_taken : UINT32_MAX;
	if (s.unaccounted)
		unaccounted_explain(pod.node_name, error);
	else if (!bound)
		pod_state_refuse(&s, arena_printf(&m->arena, "%s: %s", error->field, error->text));
	if (is_new && pod_enter(m, &pod.meta, &s, &known, NULL) < 0) {
		if (bound)
			pod_lost(m, &pod, NULL);
		pod_state_release(m, &s);
		return -EINVAL;
	}
	pod_take_over(m, known, &pod, &s, is_new);
	return -EINVAL;
}

bool pod_may_claim(const struct pod_object *pod)
{
	bool may = pod->asks & ASKS_RESOURCE_CLAIM;

	for (uint32_t i = 0; i < pod->resources.n && !may; i++)
		may = memchr(pod->resources.at[i].at, '/', pod->resources.at[i].bytes) != NULL;
	return may;
}

static int pod_read(struct model *m, const char *json, size_t *bytes, bool first,
                    struct pod_object *out, struct decode_error *error)
{
	size_t used;
	int rc;

	if (!first)
		return extract_pod(json, *bytes, &m->arena, out, error);
	rc = extract_pod_first(json, *bytes, &m->arena, out, &used, error);
	*bytes = rc == 0 ? used : json_value_bytes(json, *bytes);
	return rc;
}

int pod_put(struct model *m, const char *json, size_t *bytes, bool first,
            struct decode_error *error)
{
	struct decode_error own;
	struct pod_object object;
	uint32_t pod;
	int rc, accepted;

	if (!error)
		error = &own;
	rc = pod_read(m, json, bytes, first, &object, error);
	m->object_bytes = *bytes;
	if (rc < 0 || !model_names_valid(&object.meta, error) || !is_node_name(&object, error))
		return pod_put_bad(m, json, *bytes, error);
	pod = pod_entry_of(m, &object.meta);
	if (is_known(m, pod, &object.meta))
		return 0;
	if (object.ended ||
	    (object.node_name.bytes == 0 && !m->judges_others && !pod_is_ours(m, &object))) {
		if (pod != SLOT_NONE)
			pod_forget(m, pod);
		return non_member_put(m, &object, error);
	}
	rc = pod_is_ours(m, &object) ? 0 : non_member_put(m, &object, error);
	accepted = pod_accept(m, pod, &object, error);
	if (m->live && m->last_put != SLOT_NONE)
		pod_set_claims(m, m->last_put,
		               pod_may_claim(&object) && !pod_at(m, m->last_put)->bare ? json : NULL,
		               *bytes);
	return accepted < 0 ? accepted : rc;
}

bool model_claims_as_member(struct model *m, const char *json, size_t bytes)
{
	struct decode_error error;
	struct pod_object object;
	struct group_mark mark;

	arena_reset(&m->arena);
	if (extract_pod(json, bytes, &m->arena, &object, &error) < 0 || object.ended ||
	    object.node_name.bytes > 0 || !(object.asks & ASKS_RESOURCE_CLAIM) ||
	    !pod_is_ours(m, &object))
		return false;
	dialect_mark(&object, m->dialects_off, m->served, &m->arena, &mark);
	return mark.mark == MARK_MEMBER;
}

void pod_remove(struct model *m, const struct meta *meta)
{
	uint32_t pod = pod_find(m, meta->namespace, meta->name);

	non_member_remove(m, meta);
	if (pod != SLOT_NONE && !stamp_is_successor(m, stamp_of(pod_at(m, pod)), meta))
		pod_forget(m, pod);
}
