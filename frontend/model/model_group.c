/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that describe groups, and the record of a group. */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the record ------------------------------------------------------------------- */

struct parts {
	const struct amount *amounts;
	const struct gang_role *roles;
	const struct gang_level *levels;
};

static struct parts parts_of(const char *body)
{
	const struct event_gang *e = (const void *)body;
	struct parts p = { .amounts = (const void *)(e + 1) };

	p.roles = (const void *)(p.amounts + e->amounts_n);
	p.levels = (const void *)(p.roles + e->roles_n);
	return p;
}

void group_release(struct model *m, const char *body)
{
	const struct event_gang *e = (const void *)body;
	struct parts p = parts_of(body);

	amounts_release(m, p.amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->roles_n; i++)
		intern_give(&m->values, p.roles[i].role);
	for (uint32_t i = 0; i < e->levels_n; i++)
		intern_give(&m->keys, p.levels[i].topology);
}

void group_object_clear(struct model *m, struct group_object *o)
{
	if (o->body)
		group_release(m, o->body);
	free(o->body);
	free(o->texts);
	free(o->refusal);
	free(o->status);
	*o = (struct group_object){ 0 };
}

static int role_order(const void *a, const void *b)
{
	const struct gang_role *x = a, *y = b;

	return x->role < y->role ? -1 : x->role > y->role;
}

/* Each part is counted in the body as it is added, so that group_release() always fits. */
static int build_roles(struct model *m, const struct group_spec *spec, const char **flag)
{
	struct event_gang *e = (void *)m->body.at;
	size_t from = m->body.bytes;

	for (size_t i = 0; i < spec->roles_n; i++) {
		struct gang_role r = { .quorum = spec->roles[i].quorum };
		int rc = model_intern(m, &m->values, text_of(spec->roles[i].role), &r.role, flag);

		if (rc < 0)
			return rc;
		body_add(&m->body, &r, sizeof(r));
		e->roles_n++;
	}
	qsort(m->body.at + from, e->roles_n, sizeof(struct gang_role), role_order);
	return 0;
}

static int build_levels(struct model *m, const struct group_spec *spec, const char **flag)
{
	struct event_gang *e = (void *)m->body.at;

	for (size_t i = 0; i < spec->levels_n; i++) {
		struct gang_level l = { .flags = spec->levels[i].required ? LEVEL_REQUIRED : 0 };
		int rc = model_intern(m, &m->keys, text_of(spec->levels[i].key), &l.topology, flag);

		if (rc < 0)
			return rc;
		body_add(&m->body, &l, sizeof(l));
		e->levels_n++;
	}
	return 0;
}

int group_build(struct model *m, uint32_t dialect, uint64_t created_ns,
                const struct group_spec *spec, const char **flag)
{
	struct event_gang head = { .quorum = spec->quorum,
		                       .created_ns = created_ns,
		                       .priority = spec->priority,
		                       .timeout_ns = spec->timeout_ns
		                                         ? spec->timeout_ns
		                                         : m->timeouts_ns[dialects[dialect]->timeout],
		                       .flags = (spec->refusal ? GANG_REFUSED : 0) |
		                                (spec->has_priority ? GANG_PRIORITY : 0) |
		                                (spec->after_others ? GANG_AFTER_OTHERS : 0) };
	struct event_gang *e = (void *)m->body.at;
	int rc;

	m->body.bytes = 0;
	m->body.too_long = false;
	body_add(&m->body, &head, sizeof(head));
	rc = body_amounts(m, &m->body, spec->min_resources, spec->min_resources_n, &e->amounts_n, flag);
	if (rc == 0)
		rc = build_roles(m, spec, flag);
	if (rc == 0)
		rc = build_levels(m, spec, flag);
	if (rc < 0)
		group_release(m, m->body.at);
	return rc;
}

/* ---- objects ---------------------------------------------------------------------------- */

static struct group_object *object_of(const struct model *m, uint32_t gang, uint32_t dialect)
{
	return &gang_at(m, gang)->objects[dialect - dialect_family(dialect)];
}

static bool is_twice(const struct model *m, uint32_t gang)
{
	return gang_at(m, gang)->objects[0].there && gang_at(m, gang)->objects[1].there;
}

void gang_forget_object(struct model *m, uint32_t gang, uint32_t dialect)
{
	struct group_object *o = object_of(m, gang, dialect);

	if (!o->there)
		return;
	m->counts.groups_twice -= is_twice(m, gang);
	gang_forget_status(m, gang, dialect);
	group_object_clear(m, o);
	gang_dirty(m, gang);
	gang_release_if_unused(m, gang);
}

void gangs_replaced(struct model *m, uint32_t dialect, uint32_t round)
{
	hollows_replaced(m, dialect, round);
	for (uint32_t i = 0; i < m->gangs.n; i++) {
		const struct gang_entry *e = gang_at(m, i);

		if (e->slot.live && e->dialect == dialect_family(dialect) &&
		    object_of(m, i, dialect)->there && object_of(m, i, dialect)->seen != round)
			gang_forget_object(m, i, dialect);
	}
}

/* The object as it is now: m->body and `refusal`, NULL or malloc'ed. */
static int object_accept(struct model *m, uint32_t gang, struct group_object *o, char *refusal)
{
	char *copy = malloc(m->body.bytes);

	if (!copy) {
		group_release(m, m->body.at);
		free(refusal);
		return -ENOMEM;
	}
	free(o->refusal);
	o->refusal = refusal;
	if (o->body && o->bytes == m->body.bytes && memcmp(o->body, m->body.at, o->bytes) == 0) {
		group_release(m, m->body.at);
		free(copy);
		return 0;
	}
	memcpy(copy, m->body.at, m->body.bytes);
	if (o->body)
		group_release(m, o->body);
	free(o->body);
	o->body = copy;
	o->bytes = (uint32_t)m->body.bytes;
	gang_dirty(m, gang);
	return 0;
}

/* What is worth a line in the log although the object is taken; not with every version of it. */
static void object_remark(const struct model *m, uint32_t gang, const struct meta *meta,
                          const char *remark, struct decode_error *error)
{
	if (!remark && is_twice(m, gang))
		remark =
			"there is a PodGroup of that name in scheduling.x-k8s.io and in scheduling.sigs.k8s.io: each goes for "
			"pods with its own label";
	if (!remark)
		return;
	extract_object_name(meta, error->object, sizeof(error->object));
	snprintf(error->text, sizeof(error->text), "%s", remark);
}

static int object_enter(struct model *m, uint32_t dialect, const char *name,
                        const struct meta *meta, uint32_t *gang, struct decode_error *error)
{
	const char *flag = NULL;
	char *stamp = model_stamp(meta);
	struct group_object *o;
	char object[600];
	int rc;

	if (!stamp)
		return -ENOMEM;
	if (*gang == SLOT_NONE) {
		rc = gang_make(m, dialect, name, gang, &flag);
		if (rc < 0) {
			free(stamp);
			extract_object_name(meta, object, sizeof(object));
			return rc == -ENOSPC ? model_limit(m, object, flag, error) : rc;
		}
	}
	o = object_of(m, *gang, dialect);
	free(o->texts);
	o->texts = stamp;
	if (!o->there) {
		o->there = true;
		m->counts.groups_twice += is_twice(m, *gang);
	}
	list_remove(&m->gangs_dead, &m->gangs, *gang);
	return 0;
}

/* What refuses the group, or NULL. */
static const char *gang_refusal(struct model *m, const struct group_spec *spec)
{
	if (spec->refusal)
		return spec->refusal;
	if (spec->quorum <= m->limits.pods)
		return NULL;
	return arena_printf(&m->arena, "the quorum of %u is more than --max-pods, %u", spec->quorum,
	                    m->limits.pods);
}

/* Read the group; what can't be read or honoured is refused in *spec. */
static int object_read(struct model *m, uint32_t dialect, const char *json, size_t bytes,
                       struct group_spec *spec, struct decode_error *error)
{
	int rc = dialects[dialect]->group_read(json, bytes, &m->arena, spec, error);

	if (rc == -EINVAL) {
		*spec = (struct group_spec){ 0 };
		spec->refusal = arena_printf(&m->arena, "%s: %s", error->field, error->text);
		m->counts.objects_bad++;
	} else if (rc == 0) {
		spec->refusal = gang_refusal(m, spec);
	}
	return rc;
}

/* Build the record and take it over.  What finds no room is refused: 0, or -ENOSPC for that. */
static int object_take(struct model *m, uint32_t dialect, uint32_t gang, const struct meta *meta,
                       struct group_spec *spec, struct decode_error *error)
{
	struct group_object *o = object_of(m, gang, dialect);
	const char *flag = NULL;
	char *refusal = NULL;
	int rc = group_build(m, dialect, meta->created_ns, spec, &flag), limit = 0;

	o->retry = rc < 0;
	if (rc == -ENOSPC) {
		/* Its minResources name what there is no column for. */
		limit = model_limit(m, gang_at(m, gang)->name, flag, error);
		*spec = (struct group_spec){ .refusal =
			                             arena_printf(&m->arena, "the limit %s is reached", flag) };
		if (!spec->refusal)
			return -ENOMEM;
		rc = group_build(m, dialect, meta->created_ns, spec, &flag);
	}
	if (rc < 0)
		return rc;
	if (spec->refusal && !(refusal = strdup(spec->refusal))) {
		group_release(m, m->body.at);
		return -ENOMEM;
	}
	rc = object_accept(m, gang, o, refusal);
	return rc < 0 ? rc : limit;
}

/* An object that says nothing of a group is one only for pods that name it: true when this
 * one is not. */
static bool object_is_hollow(struct model *m, uint32_t dialect, const char *name, uint32_t gang,
                             const struct group_spec *spec)
{
	if (!spec->hollow) {
		hollow_remove(m, dialect, name);
		return false;
	}
	if (gang != SLOT_NONE && gang_at(m, gang)->members > 0)
		return false;
	if (gang != SLOT_NONE)
		gang_forget_object(m, gang, dialect);
	return true;
}

static char *object_full_name(struct model *m, const struct meta *meta)
{
	return arena_printf(&m->arena, "%.*s/%.*s", (int)meta->namespace.bytes, meta->namespace.at,
	                    (int)meta->name.bytes, meta->name.at);
}

/* An object with a good name: the rest of gang_put(). */
static int object_put(struct model *m, int resource, const struct meta *meta, const char *json,
                      size_t bytes, struct decode_error *error)
{
	uint32_t dialect = m->which[resource], round = m->replace[resource].round, gang;
	char *name = object_full_name(m, meta);
	struct group_spec spec;
	bool is_new = true;
	int rc, read;

	if (!name)
		return -ENOMEM;
	gang = gang_find(m, dialect, name);
	if (gang != SLOT_NONE) {
		struct group_object *o = object_of(m, gang, dialect);

		is_new = !o->there;
		o->seen = round;
		if (!o->hollow && stamp_covers(m, o->texts, meta, o->retry))
			return 0;
	}
	read = object_read(m, dialect, json, bytes, &spec, error);
	if (read == -ENOMEM || m->arena.failed)
		return -ENOMEM;
	rc = spec.hollow ? hollow_add(m, dialect, name, round) : 0;
	if (rc < 0)
		return rc == -ENOSPC ? referred_refuse(m, meta, error) : rc;
	if (object_is_hollow(m, dialect, name, gang, &spec))
		return read;
	rc = object_enter(m, dialect, name, meta, &gang, error);
	if (rc < 0)
		return rc;
	object_of(m, gang, dialect)->seen = round;
	object_of(m, gang, dialect)->hollow = spec.hollow;
	rc = gang_read_status(m, gang, dialect, json, bytes);
	if (rc < 0) {
		object_of(m, gang, dialect)->retry = true;
		return rc;
	}
	rc = object_take(m, dialect, gang, meta, &spec, error);
	if (rc == 0 && read == 0 && is_new)
		object_remark(m, gang, meta, spec.remark, error);
	return rc < 0 ? rc : read;
}

int gang_put(struct model *m, int resource, const char *json, size_t bytes,
             struct decode_error *error)
{
	struct decode_error own;
	struct meta meta;
	int rc;

	if (!error)
		error = &own;
	rc = extract_meta(json, bytes, &m->arena, &meta, error);
	if (rc < 0) {
		m->counts.objects_bad += rc == -EINVAL;
		return rc;
	}
	meta.kind = text_of(m->resources[resource].kind);
	if (!model_names_valid(&meta, error)) {
		m->counts.objects_bad++;
		return -EINVAL;
	}
	gangs_served(m, m->which[resource], true);
	return object_put(m, resource, &meta, json, bytes, error);
}

int gang_remove(struct model *m, int resource, const struct meta *meta)
{
	uint32_t dialect = m->which[resource], gang;
	char *name = object_full_name(m, meta);
	const struct group_object *o;

	if (!name)
		return -ENOMEM;
	hollow_remove(m, dialect, name);
	gang = gang_find(m, dialect, name);
	if (gang == SLOT_NONE)
		return 0;
	o = object_of(m, gang, dialect);
	if (!o->there)
		return 0;
	if (o->texts && stamp_is_successor(o->texts, meta))
		m->counts.objects_stale++;
	else
		gang_forget_object(m, gang, dialect);
	return 0;
}
