#include "frontend/model_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the record ------------------------------------------------------------------- */

static void gang_release(struct model *m, const char *body)
{
	const struct event_gang *e = (const void *)body;

	amounts_release(m, (const void *)(body + sizeof(*e)), e->amounts_n);
}

/* The record of a group with an object in m->body, its name apart. */
static int gang_build(struct model *m, uint32_t dialect, const struct meta *meta, const struct group_spec *spec,
                      const char **flag)
{
	struct event_gang head = { .quorum = spec->quorum, .created_ns = meta->created_ns,
				   .timeout_ns = spec->timeout_ns ? spec->timeout_ns
				                                  : m->timeouts_ns[dialects[dialect]->timeout],
				   .flags = spec->refusal ? GANG_REFUSED : 0 };
	struct event_gang *e;
	int rc;

	m->body.bytes = 0;
	m->body.too_long = false;
	body_add(&m->body, &head, sizeof(head));
	e = (void *)m->body.at;
	rc = body_amounts(m, &m->body, spec->min_resources, spec->min_resources_n, &e->amounts_n, flag);
	if (rc < 0)
		gang_release(m, m->body.at);
	return rc;
}

/* ---- entries ------------------------------------------------------------------------ */

struct wanted {
	const struct model *m;
	uint32_t dialect;
	const char *name;
};

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct gang_entry *e = gang_at(w->m, slot);

	return e->dialect == w->dialect && strcmp(e->name, w->name) == 0;
}

static uint32_t gang_hash(const struct model *m, uint32_t dialect, const char *name)
{
	return (uint32_t)siphash(m->hash_key, name, strlen(name)) + dialect;
}

uint32_t gang_find(const struct model *m, uint32_t dialect, const char *name)
{
	struct wanted w = { m, dialect, name };

	return table_find(&m->gangs_index, gang_hash(m, dialect, name), is_wanted, &w);
}

/* "namespace/name" NUL "namespace" NUL */
static char *gang_name_copy(const char *name)
{
	size_t bytes = strlen(name) + 1, namespace = (size_t)(strchr(name, '/') - name);
	char *copy = malloc(bytes + namespace + 1);

	if (!copy)
		return NULL;
	memcpy(copy, name, bytes);
	memcpy(copy + bytes, name, namespace);
	copy[bytes + namespace] = '\0';
	return copy;
}

static int gang_make(struct model *m, uint32_t dialect, const char *name, uint32_t *gang, const char **flag)
{
	struct gang_entry *e;
	char *copy;
	int rc;

	if (!model_name_room(m, strlen(name))) {
		*flag = "--max-name-bytes";
		return -ENOSPC;
	}
	if (table_reserve(&m->gangs_index) < 0)
		return -ENOMEM;
	copy = gang_name_copy(name);
	if (!copy)
		return -ENOMEM;
	rc = pool_take(&m->gangs, gang);
	if (rc < 0) {
		free(copy);
		*flag = "--max-gangs";
		return rc;
	}
	e = gang_at(m, *gang);
	e->hash = gang_hash(m, dialect, name);
	e->dialect = dialect;
	e->name = copy;
	e->members_first = SLOT_NONE;
	e->slot.sent = 0;
	m->name_bytes += NAME_ROOM(strlen(name));
	m->counts.gangs++;
	table_put(&m->gangs_index, e->hash, *gang);
	gang_find_beside(m, *gang);
	return 0;
}

static void gang_dirty(struct model *m, uint32_t gang)
{
	list_remove(&m->gangs_dead, &m->gangs, gang);
	list_push(&m->gangs_dirty, &m->gangs, gang);
}

void gang_release_if_unused(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (e->has_object || e->members > 0)
		return;
	list_remove(&m->gangs_dirty, &m->gangs, gang);
	if (e->slot.sent == 0)
		gang_bury(m, gang);
	else
		list_push(&m->gangs_dead, &m->gangs, gang);
}

void gang_bury(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	list_remove(&m->gangs_dead, &m->gangs, gang);
	gang_leave_beside(m, gang);
	table_remove(&m->gangs_index, e->hash, gang);
	m->name_bytes -= NAME_ROOM(strlen(e->name));
	m->counts.gangs--;
	free(e->name);
	e->name = NULL;
	e->slot.sent = 0;
	pool_give(&m->gangs, gang);
}

int gang_find_or_make(struct model *m, uint32_t dialect, struct text namespace, const char *name,
                      uint32_t *gang, const char **flag)
{
	char *full = arena_printf(&m->arena, "%.*s/%s", (int)namespace.bytes, namespace.at, name);

	if (!full)
		return -ENOMEM;
	*gang = gang_find(m, dialect, full);
	return *gang != SLOT_NONE ? 0 : gang_make(m, dialect, full, gang, flag);
}

/* ---- members -------------------------------------------------------------------------- */

void gang_join(struct model *m, uint32_t gang, uint32_t pod)
{
	struct gang_entry *e = gang_at(m, gang);
	struct pod_entry *p = pod_at(m, pod);

	p->gang = gang;
	p->gang_prev = SLOT_NONE;
	p->gang_next = e->members_first;
	if (e->members_first != SLOT_NONE)
		pod_at(m, e->members_first)->gang_prev = pod;
	e->members_first = pod;
	if (e->members++ == 0 && !e->has_object)
		gang_dirty(m, gang);
}

void gang_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	uint32_t gang = p->gang;
	struct gang_entry *e;

	if (gang == ID_NONE)
		return;
	e = gang_at(m, gang);
	if (p->gang_prev == SLOT_NONE)
		e->members_first = p->gang_next;
	else
		pod_at(m, p->gang_prev)->gang_next = p->gang_next;
	if (p->gang_next != SLOT_NONE)
		pod_at(m, p->gang_next)->gang_prev = p->gang_prev;
	p->gang = ID_NONE;
	assert(e->members > 0);
	e->members--;
	gang_release_if_unused(m, gang);
}

/* ---- objects ---------------------------------------------------------------------------- */

static void gang_set_body(struct model *m, uint32_t gang, char *body, size_t bytes)
{
	struct gang_entry *e = gang_at(m, gang);

	if (e->body) {
		gang_release(m, e->body);
		free(e->body);
	}
	e->body = body;
	e->bytes = (uint32_t)bytes;
	gang_dirty(m, gang);
}

void gang_forget_object(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	if (!e->has_object)
		return;
	e->has_object = false;
	e->retry = false;
	free(e->texts);
	e->texts = NULL;
	free(e->refusal);
	e->refusal = NULL;
	gang_forget_status(m, gang);
	gang_set_body(m, gang, NULL, 0);
	gang_release_if_unused(m, gang);
}

/* The group as it is now: m->body and `refusal`, NULL or malloc'ed. */
static int gang_accept(struct model *m, uint32_t gang, char *refusal)
{
	struct gang_entry *e = gang_at(m, gang);
	char *copy = malloc(m->body.bytes);

	if (!copy) {
		gang_release(m, m->body.at);
		free(refusal);
		return -ENOMEM;
	}
	free(e->refusal);
	e->refusal = refusal;
	if (e->body && e->bytes == m->body.bytes && memcmp(e->body, m->body.at, e->bytes) == 0) {
		gang_release(m, m->body.at);
		free(copy);
		return 0;
	}
	memcpy(copy, m->body.at, m->body.bytes);
	gang_set_body(m, gang, copy, m->body.bytes);
	return 0;
}

static int gang_enter(struct model *m, uint32_t dialect, const char *name, const struct meta *meta,
                      uint32_t *gang, struct decode_error *error)
{
	const char *flag = NULL;
	char *stamp = model_stamp(meta);
	struct gang_entry *e;
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
	e = gang_at(m, *gang);
	free(e->texts);
	e->texts = stamp;
	e->has_object = true;
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
static int gang_read(struct model *m, uint32_t dialect, const char *json, size_t bytes,
                     struct group_spec *spec, struct decode_error *error)
{
	struct decode_error own;
	int rc;

	if (!error)
		error = &own;
	rc = dialects[dialect]->group_read(json, bytes, &m->arena, spec, error);
	if (rc == -EINVAL) {
		*spec = (struct group_spec){ 0 };
		spec->refusal = arena_printf(&m->arena, "%s: %s", error->field, error->text);
		m->counts.objects_bad++;
	} else if (rc == 0) {
		spec->refusal = gang_refusal(m, spec);
	}
	return rc;
}

int gang_put(struct model *m, int resource, const char *json, size_t bytes, struct decode_error *error)
{
	uint32_t dialect = m->which[resource], gang;
	struct meta meta;
	struct group_spec spec;
	const char *flag = NULL;
	char *name, *refusal = NULL;
	int rc, read;

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
	name = arena_printf(&m->arena, "%.*s/%.*s", (int)meta.namespace.bytes, meta.namespace.at,
			    (int)meta.name.bytes, meta.name.at);
	if (!name)
		return -ENOMEM;
	gang = gang_find(m, dialect, name);
	if (gang != SLOT_NONE) {
		gang_at(m, gang)->seen = m->replace[resource].round;
		if (stamp_covers(m, gang_at(m, gang)->texts, &meta, gang_at(m, gang)->retry))
			return 0;
	}
	read = gang_read(m, dialect, json, bytes, &spec, error);
	if (read == -ENOMEM || m->arena.failed)
		return -ENOMEM;
	rc = gang_enter(m, dialect, name, &meta, &gang, error);
	if (rc < 0)
		return rc;
	gang_at(m, gang)->seen = m->replace[resource].round;
	gang_read_status(m, gang, resource, json, bytes);
	rc = gang_build(m, dialect, &meta, &spec, &flag);
	gang_at(m, gang)->retry = rc < 0;
	if (rc == -ENOSPC) {
		/* Its minResources name what there is no column for: refused. */
		read = model_limit(m, name, flag, error);
		spec = (struct group_spec){ .refusal = arena_printf(&m->arena, "the limit %s is reached", flag) };
		if (!spec.refusal)
			return -ENOMEM;
		rc = gang_build(m, dialect, &meta, &spec, &flag);
	}
	if (rc < 0)
		return rc;
	if (spec.refusal && !(refusal = strdup(spec.refusal))) {
		gang_release(m, m->body.at);
		return -ENOMEM;
	}
	rc = gang_accept(m, gang, refusal);
	return rc < 0 ? rc : read;
}

int gang_remove(struct model *m, int resource, const struct meta *meta)
{
	char *name = arena_printf(&m->arena, "%.*s/%.*s", (int)meta->namespace.bytes, meta->namespace.at,
				  (int)meta->name.bytes, meta->name.at);
	uint32_t gang;

	if (!name)
		return -ENOMEM;
	gang = gang_find(m, m->which[resource], name);
	if (gang == SLOT_NONE || !gang_at(m, gang)->has_object)
		return 0;
	if (stamp_is_successor(gang_at(m, gang)->texts, meta))
		m->counts.objects_stale++;
	else
		gang_forget_object(m, gang);
	return 0;
}
