/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue each pod is in, and the records of queues. */
#include "frontend/model/groups/queues_impl.h"

#include "frontend/base/compare.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/pods.h"
#include "frontend/queues/decays.h"
#include "frontend/queues/unshared.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>

struct model_queues *model_queues_new(const struct model_config *config)
{
	struct model_queues *q;
	char fields[700];

	if (config->queues == MODEL_QUEUES_NONE)
		return NULL;
	q = must_alloc(sizeof(*q));
	q->automatic = config->queues == MODEL_QUEUES_AUTO;
	q->unshared = config->unshared;
	q->unshared_n = config->unshared_n;
	for (int s = QUEUES_VOLCANO; s < QUEUE_SOURCES; s++)
		q->watches[s] = q->automatic;
	if (!q->automatic) {
		q->source = (enum queue_source)(config->queues - MODEL_QUEUES_CONFIG);
		q->watches[q->source] = true;
	}
	if (q->watches[QUEUES_CONFIG]) {
		q->namespace = config->queues_namespace;
		q->name = config->queues_name;
		snprintf(fields, sizeof(fields), "metadata.namespace=%s,metadata.name=%s", q->namespace,
		         q->name);
		q->fields = must_copy(fields);
	}
	if (config->history_factor > 0) {
		q->terms.factor = config->history_factor;
		queues_decays(config->history_half_life_s, q->terms.decays);
		q->terms_due = true;
	}
	q->due = true;
	return q;
}

bool queues_watched(const struct model_queues *q, uint32_t source)
{
	return q->watches[source];
}

bool model_queues_automatic(const struct model_queues *q)
{
	return q && q->automatic;
}

/* Marks. */

static void marks_reach(struct queue_marks *marks, uint32_t slot)
{
	uint32_t n = marks->n;

	if (slot < n)
		return;
	while (n <= slot)
		n = n * 2 + 64;
	marks->at = must_grow(marks->at, n * sizeof(*marks->at));
	for (uint32_t i = marks->n; i < n; i++)
		marks->at[i] = ID_NONE;
	marks->n = n;
}

static uint32_t mark_at(const struct queue_marks *marks, uint32_t slot)
{
	return slot < marks->n ? marks->at[slot] : ID_NONE;
}

/* True if it is another one than before. */
static bool mark_set(struct model *m, struct queue_marks *marks, uint32_t slot, struct text name)
{
	const uint32_t before = mark_at(marks, slot);
	uint32_t after = ID_NONE;

	if (name.bytes > 0 && name.bytes < QUEUE_NAME_MAX)
		after = model_number(&m->values, name);
	if (before == ID_NONE && after == ID_NONE)
		return false;
	marks_reach(marks, slot);
	marks->at[slot] = after;
	if (before != ID_NONE)
		intern_give(&m->values, before);
	return before != after;
}

static const char *mark_text(const struct model *m, const struct queue_marks *marks, uint32_t slot)
{
	const uint32_t mark = mark_at(marks, slot);

	return mark != ID_NONE ? intern_text(&m->values, mark) : "";
}

/* The queue that selects the namespace by its labels, or SIZE_MAX; kept until they or the queues
 * change. */
static size_t selected(const struct model *m, uint32_t namespace)
{
	struct namespace_entry *e = namespace_at(m, namespace);
	struct pairs labels = { 0 };
	size_t at;

	if (!m->queues->tree->selects)
		return SIZE_MAX;
	if (e->selected == 0) {
		labels.at = must_array(e->labels_n + 1u, sizeof(*labels.at));
		for (; labels.n < e->labels_n; labels.n++)
			labels.at[labels.n] = (struct pair){
				.key = text_of(intern_text(&m->keys, e->labels[labels.n].key)),
				.value = text_of(intern_text(&m->values, e->labels[labels.n].value)),
			};
		at = queues_select(m->queues->tree, &labels);
		free(labels.at);
		e->selected = at == SIZE_MAX ? 1 : (uint32_t)at + 2;
	}
	return e->selected == 1 ? SIZE_MAX : e->selected - 2;
}

/* The name of the queue that the pod goes to. */
static const char *name_of(const struct model *m, uint32_t pod)
{
	const struct model_queues *q = m->queues;
	const struct pod_entry *p = pod_at(m, pod);

	return queues_name_of(q->tree, mark_text(m, &q->pods[q->source], pod),
	                      p->gang != ID_NONE ? mark_text(m, &q->groups[q->source], p->gang) : "",
	                      p->texts, selected(m, p->namespace));
}

/* The pod is in another gang now. */
static void queues_follow_pod(struct model *m, uint32_t pod)
{
	struct model_queues *q = m->queues;
	uint32_t queue = QUEUE_MISSING;
	size_t at;

	if (!q->tree)
		return;
	at = queues_find(q->tree, name_of(m, pod));
	if (at != SIZE_MAX)
		queue = q->ids[at];
	marks_reach(&q->in, pod);
	if (q->in.at[pod] == queue && !(queue < q->slots_n && q->slots[queue].run_differs))
		return;
	q->in.at[pod] = queue;
	store_mark_dirty(&m->pods, pod);
}

uint32_t queues_of_pod(const struct model *m, uint32_t pod)
{
	return m->queues && m->queues->tree ? mark_at(&m->queues->in, pod) : QUEUE_ROOT;
}

uint32_t queues_run_s_of(const struct model *m, uint32_t pod)
{
	const uint32_t queue = queues_of_pod(m, pod);

	return m->queues && queue < m->queues->slots_n ? m->queues->slots[queue].run_s : 0;
}

void queues_note_pod(struct model *m, uint32_t pod, const char *json, size_t bytes)
{
	struct model_queues *q = m->queues;

	for (int s = 0; s < QUEUE_SOURCES; s++)
		if (q->watches[s])
			mark_set(
				m, &q->pods[s], pod,
				queues_mark((enum queue_source)s, false, (struct text){ json, bytes }, &m->arena));
	queues_follow_pod(m, pod);
}

static void follow_members(struct model *m, uint32_t gang)
{
	uint32_t next;

	for (uint32_t i = gang_at(m, gang)->members_first; i != SLOT_NONE; i = next) {
		next = pod_at(m, i)->gang_link.next;
		queues_follow_pod(m, i);
	}
}

void queues_note_group(struct model *m, uint32_t gang, const char *json, size_t bytes)
{
	struct model_queues *q = m->queues;
	bool differs = false;

	for (int s = 0; s < QUEUE_SOURCES; s++)
		if (q->watches[s])
			differs = mark_set(m, &q->groups[s], gang,
			                   queues_mark((enum queue_source)s, true, (struct text){ json, bytes },
			                               &m->arena)) ||
			          differs;
	if (differs)
		follow_members(m, gang);
}

void queues_forget_pod(struct model *m, uint32_t pod)
{
	struct model_queues *q = m->queues;

	for (int s = 0; s < QUEUE_SOURCES; s++)
		mark_set(m, &q->pods[s], pod, (struct text){ 0 });
	if (pod < q->in.n)
		q->in.at[pod] = QUEUE_MISSING;
}

void queues_forget_group(struct model *m, uint32_t gang)
{
	bool differs = false;

	for (int s = 0; s < QUEUE_SOURCES; s++)
		differs = mark_set(m, &m->queues->groups[s], gang, (struct text){ 0 }) || differs;
	if (differs)
		follow_members(m, gang);
}

void queues_count(const struct model *m, uint32_t *values)
{
	const struct model_queues *q = m->queues;

	for (int s = 0; s < QUEUE_SOURCES; s++) {
		for (uint32_t i = 0; i < q->pods[s].n; i++)
			if (q->pods[s].at[i] != ID_NONE)
				values[q->pods[s].at[i]]++;
		for (uint32_t i = 0; i < q->groups[s].n; i++)
			if (q->groups[s].at[i] != ID_NONE)
				values[q->groups[s].at[i]]++;
	}
}

/* Ids. */

static int slot_compare(const void *a, const void *b, void *context)
{
	const struct queue_slot *slots = context;

	return strcmp(slots[*(const uint32_t *)a].name, slots[*(const uint32_t *)b].name);
}

static void slots_index(struct model_queues *q)
{
	q->by_name_n = 0;
	q->by_name = must_grow(q->by_name, (q->slots_n + 1) * sizeof(*q->by_name));
	for (uint32_t i = 0; i < q->slots_n; i++)
		if (q->slots[i].name)
			q->by_name[q->by_name_n++] = i;
	qsort_r(q->by_name, q->by_name_n, sizeof(*q->by_name), slot_compare, q->slots);
}

static const char *slot_name(const void *queues, size_t i)
{
	const struct model_queues *q = queues;

	return q->slots[q->by_name[i]].name;
}

static uint32_t slot_find(const struct model_queues *q, const char *name)
{
	const size_t at = names_find(name, q->by_name_n, slot_name, q);

	return at != SIZE_MAX ? q->by_name[at] : ID_NONE;
}

static void slot_dirty(struct model_queues *q, struct queue_slot *s)
{
	q->dirty_n += !s->dirty;
	s->dirty = true;
}

/* A free slot; the root has the first one.  ID_NONE: all are in use until pods have been sent. */
static uint32_t slot_make(struct model_queues *q, const char *name, uint32_t *from)
{
	while (*from < q->slots_n && q->slots[*from].name)
		++*from;
	if (*from == QUEUES_MAX)
		return ID_NONE;
	if (*from == q->slots_n) {
		q->slots = must_grow(q->slots, (q->slots_n + 1) * sizeof(*q->slots));
		q->slots[q->slots_n++] = (struct queue_slot){ 0 };
	}
	q->slots[*from].name = must_copy(name);
	return *from;
}

static void ids_find(struct model_queues *q)
{
	uint32_t free_from = 0;

	slots_index(q);
	q->ids = must_grow(q->ids, (q->tree->n + 1) * sizeof(*q->ids));
	for (uint32_t i = 0; i < q->slots_n; i++)
		q->slots[i].there = false;
	for (size_t i = 0; i < q->tree->n; i++) {
		q->ids[i] = slot_find(q, q->tree->queues[i].name);
		if (q->ids[i] == ID_NONE)
			q->ids[i] = slot_make(q, q->tree->queues[i].name, &free_from);
		if (q->ids[i] == ID_NONE)
			q->ids[i] = QUEUE_MISSING;
		else
			q->slots[q->ids[i]].there = true;
	}
	for (uint32_t i = 0; i < q->slots_n; i++) {
		q->gone_n += q->slots[i].name && !q->slots[i].there;
		if (q->slots[i].name && !q->slots[i].there && q->slots[i].sent)
			slot_dirty(q, &q->slots[i]);
	}
}

static uint32_t column_find(const void *context, const char *resource)
{
	const uint32_t id = resource_find(context, text_of(resource));

	return id < RESOURCES_MAX ? id : UINT32_MAX;
}

static void body_renew(const struct model *m, size_t i)
{
	struct model_queues *q = m->queues;
	const struct queue_read *r = &q->tree->queues[i];
	struct queue_slot *s = &q->slots[q->ids[i]];
	struct queue_amount amounts[RESOURCES_MAX];
	const size_t parent = queues_find(q->tree, r->parent), name = strlen(r->name);
	struct event_queue e = {
		.queue = q->ids[i],
		.parent = i == 0               ? 0
		          : parent != SIZE_MAX ? q->ids[parent]
		                               : QUEUE_MISSING,
		.flags = (r->fifo ? QUEUE_FIFO : 0u) | (r->kept ? QUEUE_UNRECLAIMABLE : 0u),
		.priority = (int32_t)r->priority,
		.state = r->state,
		.source = q->source,
		.name_bytes = (uint32_t)name,
		.weight = queues_weight(r),
		.min_run_s = r->min_run_s,
		.max_run_s = r->max_run_s,
	};
	size_t bytes;
	char *body;

	if (i == 0)
		e.unshared = unshared_bits(q->unshared, q->unshared_n, column_find, m);
	e.amounts_n = queues_amounts(r, q->source, column_find, m, amounts, RESOURCES_MAX);
	bytes = PADDED(sizeof(e) + e.amounts_n * sizeof(*amounts) + name);
	body = must_array(bytes, 1);
	memcpy(body, &e, sizeof(e));
	if (e.amounts_n > 0)
		memcpy(body + sizeof(e), amounts, e.amounts_n * sizeof(*amounts));
	memcpy(body + sizeof(e) + e.amounts_n * sizeof(*amounts), r->name, name);
	if (!s->sent || s->bytes != bytes || memcmp(s->body, body, bytes) != 0)
		slot_dirty(q, s);
	free(s->body);
	s->body = body;
	s->bytes = bytes;
}

static void bodies_renew(struct model *m)
{
	struct model_queues *q = m->queues;

	q->columns_changed = m->counts.columns_changed;
	for (size_t i = 0; i < q->tree->n; i++)
		if (q->ids[i] != QUEUE_MISSING && strlen(q->tree->queues[i].name) < QUEUE_NAME_MAX)
			body_renew(m, i);
}

/* `relabelled`: only those of namespaces that are.  Those that have a node are sent first: the core
 * may plan between two records, and a gang that waits would find its new queue with less in use
 * than there is. */
static void pods_follow(struct model *m, bool relabelled)
{
#define FOLLOWS(p) (!relabelled || namespace_at(m, (p)->namespace)->relabelled)
	STORE_EACH(&m->pods, i)
	if ((pod_at(m, i)->node != ID_NONE || pod_at(m, i)->binding != ID_NONE) &&
	    FOLLOWS(pod_at(m, i)))
		queues_follow_pod(m, i);
	STORE_EACH(&m->pods, i)
	if (FOLLOWS(pod_at(m, i)))
		queues_follow_pod(m, i);
#undef FOLLOWS
}

/* The queues changed. */
static void namespaces_forget(struct model *m)
{
	STORE_EACH(&m->namespaces, i)
	{
		namespace_at(m, i)->selected = 0;
		namespace_at(m, i)->relabelled = false; /* all pods are looked up */
	}
}

/* Labels of namespaces changed: one pass over the pods for all of them, none where they have no
 * pods. */
static void relabelled_follow(struct model *m)
{
	bool any = false;

	for (uint32_t i = m->namespaces.dirty.first; i != SLOT_NONE;
	     i = namespace_at(m, i)->entry.slot.next)
		any = any || (namespace_at(m, i)->relabelled && namespace_at(m, i)->entry.refs > 0);
	if (any)
		pods_follow(m, true);
	for (uint32_t i = m->namespaces.dirty.first; i != SLOT_NONE;
	     i = namespace_at(m, i)->entry.slot.next)
		namespace_at(m, i)->relabelled = false;
}

/* What pods are expected to run, by queue. */
static void runs_find(struct model_queues *q)
{
	for (size_t i = 0; i < q->tree->n; i++) {
		struct queue_slot *s = q->ids[i] != QUEUE_MISSING ? &q->slots[q->ids[i]] : NULL;
		const uint32_t run_s = queues_run_s(q->tree, i);

		if (!s)
			continue;
		s->run_differs = s->run_s != run_s;
		s->run_s = run_s;
	}
}

static void runs_told(struct model_queues *q)
{
	for (uint32_t i = 0; i < q->slots_n; i++)
		q->slots[i].run_differs = false;
}

void queues_refresh(struct model *m)
{
	struct model_queues *q = m->queues;
	struct queues_read *tree;
	char text[1024];

	if (q->due) {
		q->due = false;
		tree = queues_tree(q, text, sizeof(text));
		if (text[0] != '\0')
			queues_complain(q, text);
		if (!tree)
			return;
		queues_read_free(q->tree);
		q->tree = tree;
		ids_find(q);
		bodies_renew(m);
		runs_find(q);
		namespaces_forget(m);
		pods_follow(m, false);
		runs_told(q);
	} else if (q->tree && q->columns_changed != m->counts.columns_changed) {
		bodies_renew(m);
	}
	if (q->tree && q->tree->selects)
		relabelled_follow(m);
}

static void slot_free(struct model_queues *q, struct queue_slot *s)
{
	q->dirty_n -= s->dirty;
	free(s->name);
	free(s->body);
	*s = (struct queue_slot){ 0 };
}

static void past_begin(struct model_queues *q)
{
	q->past_due = q->past != NULL;
	q->past_next = q->past_amount = 0;
}

void model_keep_past(struct model *m, struct queues_past *past)
{
	struct model_queues *q = m->queues;

	past_free(q->past);
	q->past = past;
	q->past_due = false;
}

const struct queues_past *model_past(const struct model *m)
{
	return m->queues->past;
}

void model_send_past(struct model *m)
{
	past_begin(m->queues);
}

void queues_restart(struct model *m)
{
	struct model_queues *q = m->queues;

	for (uint32_t i = 0; q && i < q->slots_n; i++) {
		struct queue_slot *s = &q->slots[i];

		s->sent = false;
		if (s->name && s->there)
			slot_dirty(q, s);
		else if (s->name)
			slot_free(q, s);
	}
	if (!q)
		return;
	q->gone_n = 0;
	q->terms_due = q->terms.factor > 0;
	past_begin(q);
}

/* Amounts by resource, as the record has them; returns how many.  Names that are gone are left
 * out. */
static uint32_t past_amounts(const struct model *m, const struct past_amount *from, size_t n,
                             struct queue_past *out)
{
	struct queue_past by_resource[RESOURCES_MAX] = { 0 };
	uint32_t found = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t r = column_find(m, from[i].resource);

		if (r != UINT32_MAX)
			by_resource[r] = (struct queue_past){ r, from[i].part, from[i].value };
	}
	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		if (by_resource[r].value > 0 || by_resource[r].part > 0)
			out[found++] = by_resource[r];
	return found;
}

static bool queue_past_flush(const struct model *m, const struct past_queue *past,
                             const struct model_sink *sink)
{
	const struct model_queues *q = m->queues;
	const size_t at = q->tree ? queues_find(q->tree, past->name) : SIZE_MAX;
	const uint32_t id = at != SIZE_MAX ? q->ids[at] : QUEUE_MISSING;
	struct queue_past amounts[RESOURCES_MAX];
	struct event_queue_past *e;
	uint32_t n;

	if (id == QUEUE_MISSING || !q->slots[id].sent)
		return true;
	n = past_amounts(m, q->past->amounts + q->past_amount, past->amounts_n, amounts);
	if (n == 0)
		return true;
	e = sink->reserve(sink->context, EVENT_QUEUE_PAST,
	                  (uint32_t)(sizeof(*e) + n * sizeof(*amounts)));
	if (!e)
		return false;
	*e = (struct event_queue_past){ .queue = id, .amounts_n = n, .at_s = q->past->at_s };
	memcpy(e + 1, amounts, n * sizeof(*amounts));
	return true;
}

/* After the records of the queues. */
static bool past_flush(struct model *m, const struct model_sink *sink)
{
	struct model_queues *q = m->queues;

	while (q->past_due && q->past_next < q->past->n) {
		if (!queue_past_flush(m, &q->past->queues[q->past_next], sink))
			return false;
		q->past_amount += q->past->queues[q->past_next++].amounts_n;
	}
	q->past_due = false;
	return true;
}

static bool terms_flush(struct model_queues *q, const struct model_sink *sink)
{
	struct event_queue_terms *e;

	if (!q->terms_due)
		return true;
	e = sink->reserve(sink->context, EVENT_QUEUE_TERMS, sizeof(*e));
	if (!e)
		return false;
	*e = q->terms;
	q->terms_due = false;
	return true;
}

bool queues_flush(struct model *m, const struct model_sink *sink)
{
	struct model_queues *q = m->queues;

	if (!terms_flush(q, sink))
		return false;
	for (uint32_t i = 0; q->dirty_n > 0 && i < q->slots_n; i++) {
		struct queue_slot *s = &q->slots[i];
		struct event_queue *e;
		char *p;

		if (!s->dirty)
			continue;
		p = s->body ? sink->reserve(sink->context, EVENT_QUEUE, (uint32_t)s->bytes) : NULL;
		if (s->body && !p)
			return false;
		if (p) {
			memcpy(p, s->body, s->bytes);
			e = (void *)p;
			e->flags |= s->there ? 0 : QUEUE_GONE;
		}
		s->sent = s->there && p;
		s->dirty = false;
		q->dirty_n--;
	}
	return !q->past_due || past_flush(m, sink);
}

void queues_flushed(struct model *m)
{
	struct model_queues *q = m->queues;

	if (q->gone_n == 0)
		return;
	q->gone_n = 0;
	for (uint32_t i = 0; i < q->slots_n; i++)
		if (q->slots[i].name && !q->slots[i].there && !q->slots[i].sent)
			slot_free(q, &q->slots[i]);
}

/* For others. */

const char *model_queue_name(const struct model *m, uint32_t queue)
{
	const struct model_queues *q = m->queues;

	return q && queue < q->slots_n && q->slots[queue].name ? q->slots[queue].name : "";
}

const char *model_queue_object(const struct model *m, const char *name, const struct resource **of,
                               const char **field)
{
	static const char *const fields[QUEUE_SOURCES] = {
		[QUEUES_VOLCANO] = "allocated", [QUEUES_KOORDINATOR] = "used"
	};
	const struct model_queues *q = m->queues;
	const size_t at = q && q->tree ? queues_find(q->tree, name) : SIZE_MAX;

	if (at == SIZE_MAX || at == QUEUE_ROOT || !fields[q->tree->source])
		return NULL;
	/* Koordinator's default quota is there without an object. */
	if (q->tree->source == QUEUES_KOORDINATOR && !q->tree->queues[at].namespace[0])
		return NULL;
	*field = fields[q->tree->source];
	for (size_t i = 0; i < m->resources_n; i++)
		if (m->roles[i] == ROLE_QUEUES && m->which[i] == (uint32_t)q->tree->source) {
			*of = &m->resources[i];
			return q->tree->queues[at].namespace;
		}
	return NULL;
}

const char *model_pod_queue(const struct model *m, pod_id pod)
{
	return m->queues && m->queues->tree && pod < m->pods.pool.n && pod_at(m, pod)->entry.slot.live
	           ? name_of(m, pod)
	           : NULL;
}

bool model_has_queues(const struct model *m)
{
	return m->queues && m->queues->tree;
}

const char *model_gang_queue(const struct model *m, gang_id gang)
{
	const uint32_t first = gang < m->gangs.pool.n && gang_at(m, gang)->entry.slot.live
	                           ? gang_at(m, gang)->members_first
	                           : SLOT_NONE;

	return first != SLOT_NONE ? model_pod_queue(m, first) : NULL;
}

const char *model_queues_invalid(const struct model *m, uint64_t *n)
{
	*n = m->queues ? m->queues->invalid_n : 0;
	return m->queues ? m->queues->invalid : NULL;
}

const char *model_resource_fields(const struct model *m, int resource)
{
	return m->roles[resource] == ROLE_QUEUES && m->which[resource] == QUEUES_CONFIG
	           ? m->queues->fields
	           : NULL;
}
