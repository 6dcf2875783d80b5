/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/gang_record.h"

#include "frontend/model/base/columns.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/pods/ends.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/pods.h"

static const struct event_gang missing = { .flags = GANG_OBJECT_MISSING };

/* Of the object; the levels that its members declare and its name follow. */
static size_t object_bytes(const struct gang_form *form)
{
	return form->object ? form->object->bytes : sizeof(missing);
}

static size_t levels_bytes(const struct gang_form *form)
{
	return form->object ? form->levels_n * sizeof(*form->levels) : 0;
}

size_t gang_record_bytes(const struct model *m, uint32_t gang, const struct gang_form *form)
{
	return object_bytes(form) + levels_bytes(form) + strlen(gang_at(m, gang)->name);
}

void gang_record_write(struct model *m, uint32_t gang, const struct gang_form *form, char *at)
{
	const struct gang_entry *g = gang_at(m, gang);
	const size_t body = object_bytes(form), levels = levels_bytes(form), name = strlen(g->name);
	struct event_gang *e = (void *)at;

	memcpy(at, form->object ? form->object->body : (const void *)&missing, body);
	if (levels > 0)
		memcpy(at + body, form->levels, levels);
	memcpy(at + body + levels, g->name, name);
	e->gang = gang;
	e->generation = g->entry.slot.generation;
	e->dialect = form->dialect;
	e->spec_id = gang_spec_id(m, form);
	e->flags |= form->object && form->refusal ? GANG_REFUSED : 0;
	e->flags |= form->object && form->object->unchanged ? GANG_UNCHANGED : 0;
	e->levels_n += form->object ? form->levels_n : 0;
	e->name_bytes = (uint32_t)name;
	e->disruption = form->object ? form->object->disruption : 0;
	gang_life_to_wire(m, gang, form, e);
	amounts_to_wire(m, (void *)(e + 1), e->amounts_n);
}

uint32_t gang_expected_s(const struct model *m, uint32_t pod, uint32_t run_s)
{
	const struct pod_entry *p = pod_at(m, pod);
	struct gang_form form = { 0 };

	if (p->expected_s > 0 || (p->flags & POD_LASTS))
		return p->expected_s;
	if (p->gang != ID_NONE)
		gang_form(m, p->gang, &form);
	if ((form.object && form.object->expected_s > 0) || run_s > 0)
		return form.object ? form.object->expected_s : 0;
	return queue_expected_s(queues_run_s_of(m, pod));
}

uint32_t gang_stated_s(const struct model *m, uint32_t pod)
{
	const struct pod_entry *p = pod_at(m, pod);
	struct gang_form form = { 0 };
	uint32_t own, job;

	if (!m->states_runs || p->node != ID_NONE || (p->flags & POD_LASTS))
		return 0;
	own = pod < m->stated_n ? m->stated[pod] : 0;
	job = jobs_stated_s(m, pod);
	if (job > 0 && (p->run_s == 0 || job < own))
		return job;
	if (own > 0 || p->gang == ID_NONE)
		return own;
	gang_form(m, p->gang, &form);
	return form.object ? group_stated_s(form.object->expected_s) : 0;
}
