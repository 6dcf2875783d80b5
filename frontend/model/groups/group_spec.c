/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/group_spec.h"

#include "frontend/model/base/body.h"
#include "frontend/model/base/limits.h"

#include <assert.h>
#include <stdlib.h>

struct group_parts group_parts_of(const char *body)
{
	const struct event_gang *e = (const void *)body;
	struct group_parts p = { .amounts = (const void *)(e + 1) };

	p.roles = (const void *)(p.amounts + e->amounts_n);
	p.levels = (const void *)(p.roles + e->roles_n);
	return p;
}

void group_release(struct model *m, const char *body)
{
	const struct event_gang *e = (const void *)body;
	struct group_parts p = group_parts_of(body);

	amounts_release(m, p.amounts, e->amounts_n);
	for (uint32_t i = 0; i < e->roles_n; i++)
		intern_give(&m->values, p.roles[i].role);
	for (uint32_t i = 0; i < e->levels_n; i++)
		intern_give(&m->keys, p.levels[i].topology);
}

void group_object_free(struct group_object *o)
{
	free(o->body);
	free(o->stamp);
	free(o->refusal);
	free(o->status);
}

void group_object_clear(struct model *m, struct group_object *o)
{
	if (o->body)
		group_release(m, o->body);
	group_object_free(o);
	*o = (struct group_object){ 0 };
}

static int role_order(const void *a, const void *b)
{
	const struct gang_role *x = a, *y = b;

	return x->role < y->role ? -1 : x->role > y->role;
}

/* Parts are counted in the body as they are added, so that group_release() fits at any time. */
static void build_roles(struct model *m, const struct group_spec *spec)
{
	struct event_gang *e = (void *)m->body.at;
	size_t from = m->body.bytes;

	for (size_t i = 0; i < spec->roles_n; i++) {
		struct gang_role r = { .quorum = spec->roles[i].quorum };

		r.role = model_number(&m->values, text_of(spec->roles[i].role));
		body_add(&m->body, &r, sizeof(r));
		e->roles_n++;
	}
	qsort(m->body.at + from, e->roles_n, sizeof(struct gang_role), role_order);
}

static void build_levels(struct model *m, const struct group_spec *spec)
{
	struct event_gang *e = (void *)m->body.at;

	for (size_t i = 0; i < spec->levels_n; i++) {
		struct gang_level l = { .flags = spec->levels[i].required ? LEVEL_REQUIRED : 0 };

		l.topology = model_number(&m->keys, text_of(spec->levels[i].key));
		body_add(&m->body, &l, sizeof(l));
		e->levels_n++;
	}
}

int group_build(struct model *m, uint32_t dialect, uint64_t created_ns,
                const struct group_spec *spec, const char **flag)
{
	struct event_gang head = { .quorum = spec->quorum,
		                       .created_ns = created_ns,
		                       .priority = spec->priority };
	struct event_gang *e = (void *)m->body.at;
	int rc;

	assert(dialect < dialects_n && spec->roles_n <= GANG_ROLES_MAX &&
	       spec->levels_n <= GANG_LEVELS_MAX);
	head.timeout_ns =
		spec->timeout_ns ? spec->timeout_ns : m->timeouts_ns[dialects[dialect]->timeout];
	head.flags = (spec->refusal ? GANG_REFUSED : 0) | (spec->has_priority ? GANG_PRIORITY : 0) |
	             (spec->after_others ? GANG_AFTER_OTHERS : 0);
	body_start(&m->body);
	body_add(&m->body, &head, sizeof(head));
	rc = body_amounts(m, &m->body, spec->min_resources, spec->min_resources_n, &e->amounts_n, flag);
	if (rc < 0) {
		group_release(m, m->body.at);
		return rc;
	}
	build_roles(m, spec);
	build_levels(m, spec);
	return 0;
}

const char *group_spec_refusal(struct model *m, const struct group_spec *spec)
{
	if (spec->refusal)
		return spec->refusal;
	if (spec->quorum <= m->limits.pods)
		return NULL;
	return arena_printf(&m->arena, "the quorum of %u is more than --max-pods, %u", spec->quorum,
	                    m->limits.pods);
}
