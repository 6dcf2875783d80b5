/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs and pods as records, with the facts and promises of pods. */
#include "frontend/model/flush/flush_impl.h"

#include "frontend/model/groups/gang_record.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/nodes/nodes.h"
#include "frontend/model/pods/facts.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/shapes/shapes.h"

#include <assert.h>
#include <string.h>

static bool send_gang(const struct flush *f, uint32_t gang)
{
	struct gang_form form;
	char *p;

	gang_form(f->m, gang, &form);
	p = flush_reserve(f, EVENT_GANG, gang_record_bytes(f->m, gang, &form));
	if (p)
		gang_record_write(f->m, gang, &form, p);
	return p != NULL;
}

bool flush_gangs(const struct flush *f)
{
	struct model *m = f->m;

	while (m->gangs.dirty.first != SLOT_NONE) {
		uint32_t gang = m->gangs.dirty.first;
		struct gang_entry *g = gang_at(m, gang);

		if (g->entry.slot.sent != 0 || !gang_is_void(m, gang)) {
			if (!send_gang(f, gang))
				return false;
			g->entry.slot.sent = g->entry.slot.generation;
		}
		list_remove(&m->gangs.dirty, &m->gangs.pool, gang);
	}
	return true;
}

static bool send_pod(const struct flush *f, uint32_t pod, const struct pod_entry *p)
{
	size_t namespace = strlen(p->texts), name = strlen(p->texts + namespace + 1);
	bool is_member = p->gang != ID_NONE && !gang_is_void(f->m, p->gang);
	const uint32_t run_s = jobs_run_s(f->m, pod, p->run_s);
	struct event_pod e = {
		.pod = pod,
		.generation = p->entry.slot.generation,
		.flags = pod_flags_of(f->m, p),
		.gang = is_member ? p->gang : ID_NONE,
		.shape = p->shape,
		.node = p->node,
		.priority = p->priority,
		.name_bytes = (uint32_t)(namespace + 1 + name),
		.labels_n = p->labels_n,
		.namespace = namespace_at(f->m, p->namespace)->name,
		.role = is_member ? p->role : ID_NONE,
		.scheduled_s = p->scheduled_s,
		.created_ns = p->created_ns,
		.uid = { p->uid[0], p->uid[1] },
		.queue = queues_of_pod(f->m, pod),
		.run_s = run_s,
		.expected_s = gang_expected_s(f->m, pod, run_s),
		.stated_s = gang_stated_s(f->m, pod),
	};
	size_t labels = p->labels_n * sizeof(*p->labels);
	char *at = flush_reserve(f, EVENT_POD, sizeof(e) + labels + e.name_bytes);

	/* What a record references is sent before it. */
	assert(shape_at(f->m, p->shape)->entry.slot.sent != 0);
	assert(p->node == ID_NONE || node_at(f->m, p->node)->entry.slot.sent != 0);
	assert(p->binding == ID_NONE || node_at(f->m, p->binding)->entry.slot.sent != 0);
	assert(!is_member || gang_at(f->m, p->gang)->entry.slot.sent != 0);
	if (!at)
		return false;
	if (p->node == ID_NONE && p->binding != ID_NONE) {
		e.flags |= p->intent ? p->intent : POD_BINDING;
		e.node = p->binding;
		e.keep_ms = p->keep_ms;
	}
	memcpy(at, &e, sizeof(e));
	pod_tail_write(p, namespace, e.name_bytes, at + sizeof(e));
	return true;
}

/* A slot may have another user than the one that was sent: the drop of that one goes first. */
bool flush_pods(const struct flush *f)
{
	struct model *m = f->m;

	while (m->pods.dirty.first != SLOT_NONE) {
		uint32_t pod = m->pods.dirty.first;
		struct slot *s = &pod_at(m, pod)->entry.slot;

		if (s->sent != 0 && (!s->live || s->sent != s->generation)) {
			if (!flush_drop(f, EVENT_POD_DROP, pod, s->sent))
				return false;
			s->sent = 0;
		}
		if (s->live) {
			if (!send_pod(f, pod, pod_at(m, pod)))
				return false;
			if (s->sent == 0)
				facts_mark(m, pod);
			s->sent = s->generation;
		}
		list_remove(&m->pods.dirty, &m->pods.pool, pod);
	}
	return true;
}

bool flush_facts(const struct flush *f)
{
	struct model *m = f->m;

	while (m->facts_first != SLOT_NONE) {
		const uint32_t pod = m->facts_first;
		const struct event_pod_facts e = facts_of(m, pod);

		if (!flush_record(f, EVENT_POD_FACTS, &e, sizeof(e)))
			return false;
		facts_unmark(m, pod);
	}
	return true;
}

/* What an earlier instance promised, once for each core, before EVENT_SYNCED. */
bool flush_promised(const struct flush *f)
{
	struct model *m = f->m;

	if (!m->synced_due)
		return true;
	for (; m->promised_next < m->pods.pool.n; m->promised_next++) {
		const struct pod_entry *p = pod_at(m, m->promised_next);
		const struct event_promised e = { .pod = m->promised_next,
			                              .generation = p->entry.slot.generation,
			                              .at_ns = p->promised_s * UINT64_C(1000000000) };

		if (!p->entry.slot.live || p->promised_s == 0 || p->node != ID_NONE ||
		    p->entry.slot.sent != p->entry.slot.generation)
			continue;
		if (!flush_record(f, EVENT_PROMISED, &e, sizeof(e)))
			return false;
	}
	return true;
}
