/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/put/group_objects.h"

#include "frontend/decode/eviction.h"
#include "frontend/model/base/body.h"
#include "frontend/model/groups/candidates.h"
#include "frontend/model/pods/ends.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/groups/queues.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct group_object *object_of(const struct model *m, uint32_t gang, uint32_t dialect)
{
	assert(dialect < dialects_n && dialect_family(dialect) == gang_at(m, gang)->dialect);
	return &gang_at(m, gang)->objects[dialect - dialect_family(dialect)];
}

/* True if objects of two dialects describe it. */
static bool is_twice(const struct model *m, uint32_t gang)
{
	return gang_at(m, gang)->objects[0].there && gang_at(m, gang)->objects[1].there;
}

static void forget_object(struct model *m, uint32_t gang, uint32_t dialect)
{
	struct group_object *o = object_of(m, gang, dialect);

	if (!o->there)
		return;
	m->counts.groups_twice -= is_twice(m, gang);
	gang_forget_status(m, gang, dialect);
	if (m->queues)
		queues_forget_group(m, gang);
	group_object_clear(m, o);
	store_mark_dirty(&m->gangs, gang);
	gang_release_if_unused(m, gang);
}

void gang_forget_objects(struct model *m, uint32_t gang)
{
	for (uint32_t i = 0; i < 2 && gang_at(m, gang)->entry.slot.live; i++) {
		const struct gang_entry *e = gang_at(m, gang);
		uint32_t dialect = e->dialect + i;

		if (!e->objects[i].there)
			continue;
		for (size_t r = 0; r < m->resources_n; r++)
			if (m->roles[r] == ROLE_GANGS && m->which[r] == dialect)
				model_note_lack(m, (int)r);
		forget_object(m, gang, dialect);
	}
}

void gangs_replaced(struct model *m, uint32_t dialect, uint32_t round)
{
	candidates_replaced(m, dialect, round);
	STORE_EACH(&m->gangs, i)
	if (gang_at(m, i)->dialect == dialect_family(dialect) &&
	    object_of(m, i, dialect)->seen != round)
		forget_object(m, i, dialect);
}

/* Take over m->body and its references. */
static void object_set_body(struct model *m, uint32_t gang, struct group_object *o)
{
	assert(o->there && !m->body.too_long);
	if (o->body && o->bytes == m->body.bytes && memcmp(o->body, m->body.at, o->bytes) == 0) {
		group_release(m, m->body.at);
		return;
	}
	if (o->body)
		group_release(m, o->body);
	free(o->body);
	o->body = body_copy(&m->body);
	o->bytes = (uint32_t)m->body.bytes;
	store_mark_dirty(&m->gangs, gang);
}

/* A text for the log although the object is accepted; only when it is new. */
static void object_remark(const struct model *m, uint32_t gang, const struct meta *meta,
                          const char *remark, struct decode_error *error)
{
	if (!remark && is_twice(m, gang))
		remark = "there is a PodGroup of that name in scheduling.x-k8s.io and in "
				 "scheduling.sigs.k8s.io: each goes for pods with its own label";
	if (!remark)
		return;
	extract_object_name(meta, error->object, sizeof(error->object));
	snprintf(error->text, sizeof(error->text), "%s", remark);
}

static int object_enter(struct model *m, uint32_t dialect, const char *name,
                        const struct meta *meta, uint32_t *gang, struct decode_error *error)
{
	struct group_object *o;
	const char *flag;

	if (*gang == SLOT_NONE && gang_make(m, dialect, name, false, gang, &flag) < 0)
		return model_limit_meta(m, meta, flag, error);
	o = object_of(m, *gang, dialect);
	stamp_set(&o->stamp, meta);
	if (!o->there) {
		o->there = true;
		m->counts.groups_twice += is_twice(m, *gang);
	}
	list_remove(&m->gangs.dead, &m->gangs.pool, *gang);
	return 0;
}

/* Read the group; what cannot be read or honoured is refused in *spec. */
static int object_read(struct model *m, uint32_t dialect, const char *json, size_t bytes,
                       struct group_spec *spec, struct decode_error *error)
{
	int rc = dialects[dialect]->group_read(json, bytes, &m->arena, spec, error);

	if (rc < 0) {
		*spec = (struct group_spec){ 0 };
		spec->refusal = arena_printf(&m->arena, "%s: %s", error->field, error->text);
		m->counts.objects_bad++;
	} else {
		spec->refusal = group_spec_refusal(m, spec);
	}
	return rc;
}

/* Build the record and store it.  -ENOSPC: its minResources name what there is no column for, the
 * group is refused. */
static int object_accept(struct model *m, uint32_t dialect, uint32_t gang, const struct meta *meta,
                         struct group_spec *spec, struct decode_error *error)
{
	struct group_object *o = object_of(m, gang, dialect);
	const char *flag;
	int rc = group_build(m, dialect, meta->created_ns, spec, &flag), limit = 0;

	o->retry = rc < 0;
	if (rc == -ENOSPC) {
		limit = model_limit(m, gang_at(m, gang)->name, flag, error);
		*spec = (struct group_spec){ .refusal =
			                             arena_printf(&m->arena, "the limit %s is reached", flag) };
		rc = group_build(m, dialect, meta->created_ns, spec, &flag);
	}
	if (rc < 0)
		return rc;
	free(o->refusal);
	o->refusal = spec->refusal ? must_copy(spec->refusal) : NULL;
	object_set_body(m, gang, o);
	return limit;
}

/* True if the object has no group data and no pod names it. */
static bool is_mere_candidate(struct model *m, uint32_t dialect, const char *name, uint32_t gang,
                              const struct group_spec *spec)
{
	if (!spec->hollow) {
		candidate_remove(m, dialect, name);
		return false;
	}
	if (gang != SLOT_NONE && gang_at(m, gang)->members > 0)
		return false;
	if (gang != SLOT_NONE)
		forget_object(m, gang, dialect);
	return true;
}

static char *object_full_name(struct model *m, const struct meta *meta)
{
	return arena_printf(&m->arena, "%.*s/%.*s", (int)meta->namespace.bytes, meta->namespace.at,
	                    (int)meta->name.bytes, meta->name.at);
}

#define NATIVE "scheduling.k8s.io/"

/* By the native modes, which muster's annotation overrides; an unknown one counts as none. */
static uint32_t disruption_read(struct model *m, const char *json, size_t bytes)
{
	static const char *const key = "muster.dev/disruption-mode";
	struct evicted_group_object g;
	uint32_t mode = 0, never;

	if (extract_evicted_group(json, bytes, &m->arena, &g, NULL) < 0)
		return 0;
	never = extract_opts_out(&g.meta, &m->arena) ? GANG_DISRUPT_NEVER : 0;
	if (g.meta.api_version.bytes > sizeof(NATIVE) - 1 &&
	    memcmp(g.meta.api_version.at, NATIVE, sizeof(NATIVE) - 1) == 0) {
		if (text_is(g.mode, "Pod") || text_is(g.mode, "single"))
			mode = GANG_DISRUPT_POD;
		else if (text_is(g.mode, "PodGroup") || text_is(g.mode, "all"))
			mode = GANG_DISRUPT_WHOLE;
	}
	if (annotation_is(&g.meta, key, "pod", &m->arena))
		mode = GANG_DISRUPT_POD;
	else if (annotation_is(&g.meta, key, "whole", &m->arena))
		mode = GANG_DISRUPT_WHOLE;
	else if (annotation_is(&g.meta, key, "quorum", &m->arena))
		mode = 0;
	/* None of its members is beyond its quorum once it has a node. */
	if (mode == 0 && annotation_is(&g.meta, "muster.dev/elastic", "false", &m->arena))
		mode = GANG_DISRUPT_WHOLE;
	return mode | never;
}

static void disruption_set(struct model *m, uint32_t gang, struct group_object *o, const char *json,
                           size_t bytes)
{
	const uint32_t disruption = m->preemption ? disruption_read(m, json, bytes) : 0;

	if (o->disruption == disruption)
		return;
	o->disruption = disruption;
	store_mark_dirty(&m->gangs, gang);
}

/* Its annotations; members without a length of their own are sent with that of the group. */
static void expected_set(struct model *m, uint32_t gang, struct group_object *o, const char *json,
                         size_t bytes)
{
	struct evicted_group_object g;
	uint32_t expected_s = 0;

	if (memmem(json, bytes, "muster.dev/run-seconds", sizeof("muster.dev/run-seconds") - 1) &&
	    extract_evicted_group(json, bytes, &m->arena, &g, NULL) == 0)
		expected_s = group_expected_s(&g.meta, &m->arena);
	if (o->expected_s == expected_s)
		return;
	o->expected_s = expected_s;
	for (uint32_t p = gang_at(m, gang)->members_first; p != SLOT_NONE;
	     p = pod_at(m, p)->gang_link.next)
		store_mark_dirty(&m->pods, p);
}

/* An object with a valid name. */
static int object_put(struct model *m, int resource, const struct meta *meta, const char *json,
                      size_t bytes, struct decode_error *error)
{
	uint32_t dialect = m->which[resource], round = m->replace[resource].round;
	char *name = object_full_name(m, meta);
	uint32_t gang = gang_find(m, dialect, name);
	struct group_object *o = gang != SLOT_NONE ? object_of(m, gang, dialect) : NULL;
	bool is_new = !o || !o->there;
	struct group_spec spec;
	int rc, read;

	if (o)
		o->seen = round;
	if (o && !o->candidate && stamp_covers(m, o->stamp, meta, o->retry))
		return 0;
	read = object_read(m, dialect, json, bytes, &spec, error);
	if (spec.hollow && candidate_add(m, dialect, name, round) < 0)
		return referred_refuse(m, meta, error);
	if (is_mere_candidate(m, dialect, name, gang, &spec))
		return read;
	rc = object_enter(m, dialect, name, meta, &gang, error);
	if (rc < 0)
		return rc;
	object_of(m, gang, dialect)->seen = round;
	object_of(m, gang, dialect)->candidate = spec.hollow;
	object_of(m, gang, dialect)->unchanged = extract_is_unchanged(json, bytes, &m->arena);
	gang_read_status(m, gang, dialect, json, bytes);
	disruption_set(m, gang, object_of(m, gang, dialect), json, bytes);
	if (m->queues)
		queues_note_group(m, gang, json, bytes);
	expected_set(m, gang, object_of(m, gang, dialect), json, bytes);
	rc = object_accept(m, dialect, gang, meta, &spec, error);
	if (rc == 0 && read == 0 && is_new)
		object_remark(m, gang, meta, spec.remark, error);
	return rc < 0 ? rc : read;
}

int gang_put(struct model *m, int resource, const char *json, size_t bytes,
             struct decode_error *error)
{
	struct decode_error own;
	struct meta meta;

	if (!error)
		error = &own;
	if (extract_meta(json, bytes, &m->arena, &meta, error) < 0) {
		m->counts.objects_bad++;
		return -EINVAL;
	}
	meta.kind = text_of(m->resources[resource].kind);
	if (!model_names_valid(&meta, error)) {
		m->counts.objects_bad++;
		return -EINVAL;
	}
	gangs_served(m, m->which[resource], true);
	return object_put(m, resource, &meta, json, bytes, error);
}

void gang_remove(struct model *m, int resource, const struct meta *meta)
{
	uint32_t dialect = m->which[resource], gang;
	char *name = object_full_name(m, meta);
	const struct group_object *o;

	candidate_remove(m, dialect, name);
	gang = gang_find(m, dialect, name);
	if (gang == SLOT_NONE)
		return;
	o = object_of(m, gang, dialect);
	if (o->there && !(o->stamp && stamp_is_successor(m, o->stamp, meta)))
		forget_object(m, gang, dialect);
}
