/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/groups/members.h"

#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/pods.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static const char *pod_name(const struct model *m, uint32_t pod)
{
	return next_text(pod_at(m, pod)->texts);
}

/* "required a, preferred b" */
static void levels_text(const struct model *m, const struct declared_spec *d, char *out,
                        size_t out_bytes)
{
	const struct gang_level *l = group_parts_of(d->object.body).levels;
	uint32_t n = group_head(&d->object)->levels_n;
	int at = snprintf(out, out_bytes, "%s", n == 0 ? "not given" : "");

	for (uint32_t i = 0; i < n && (size_t)at < out_bytes; i++)
		at += snprintf(out + at, out_bytes - (size_t)at, "%s%s %.200s", i ? ", " : "",
		               l[i].flags & LEVEL_REQUIRED ? "required" : "preferred",
		               intern_text(&m->keys, l[i].topology));
}

/* Two members and the values in which their specs differ. */
struct conflict {
	const char *before, *what;
	char left[900], right[900];
};

static void find_conflict(const struct model *m, const struct dialect *dialect,
                          const struct declared_spec *x, const struct declared_spec *y,
                          struct conflict *c)
{
	uint32_t left = group_head(&x->object)->quorum, right = group_head(&y->object)->quorum;

	if (left != right) {
		c->what = dialect->quorum_mark;
		c->before = dialect->quorum_differs;
		snprintf(c->left, sizeof(c->left), "%u", left);
		snprintf(c->right, sizeof(c->right), "%u", right);
	} else if (!same_text(x->agree, y->agree)) {
		c->what = dialect->agree_mark;
		c->before = dialect->agree_differs;
		snprintf(c->left, sizeof(c->left), "%s", x->agree ? x->agree : "not given");
		snprintf(c->right, sizeof(c->right), "%s", y->agree ? y->agree : "not given");
	} else {
		levels_text(m, x, c->left, sizeof(c->left));
		levels_text(m, y, c->right, sizeof(c->right));
		c->what = strcmp(c->left, c->right) == 0 ? "what they ask for" : "the topology";
	}
}

static char *conflict_text(const struct model *m, const struct dialect *dialect, uint32_t a,
                           uint32_t b)
{
	const struct declared_spec *x = declared_spec_at(m, pod_at(m, a)->declared_spec);
	const struct declared_spec *y = declared_spec_at(m, pod_at(m, b)->declared_spec);
	struct conflict c = { 0 };
	char *text;
	int n;

	assert(x != y && x->gang == y->gang);
	if (x->object.refusal || y->object.refusal) {
		n = asprintf(&text, "pod %s: %s", pod_name(m, x->object.refusal ? a : b),
		             x->object.refusal ? x->object.refusal : y->object.refusal);
	} else {
		find_conflict(m, dialect, x, y, &c);
		n = asprintf(&text, "%s: %s is %s on pod %s and %s on pod %s",
		             c.before ? c.before : "members disagree", c.what ? c.what : "the quorum",
		             c.left, pod_name(m, a), c.right, pod_name(m, b));
	}
	if (n < 0)
		fatal_memory();
	return text;
}

/* A text, for free(); NULL: all members declare the same. */
static char *declared_conflict(const struct model *m, uint32_t gang)
{
	const struct gang_entry *e = gang_at(m, gang);
	uint32_t a = SLOT_NONE;

	for (uint32_t p = e->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_link.next) {
		if (pod_at(m, p)->declared_spec == ID_NONE)
			continue;
		if (a == SLOT_NONE)
			a = p;
		else if (pod_at(m, p)->declared_spec != pod_at(m, a)->declared_spec)
			return conflict_text(m, dialects[e->dialect], a, p);
	}
	return NULL;
}

/* A spec that some member declares. */
static uint32_t pick_declared_spec(const struct model *m, const struct gang_entry *e)
{
	if (e->specs_n == 0)
		return ID_NONE;
	if (e->declared_spec != ID_NONE && declared_spec_at(m, e->declared_spec)->uses > 0)
		return e->declared_spec;
	for (uint32_t p = e->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_link.next)
		if (pod_at(m, p)->declared_spec != ID_NONE)
			return pod_at(m, p)->declared_spec;
	return ID_NONE;
}

/* Pods of other schedulers in a group whose members must have one: a text, for free(); NULL without
 * any. */
static char *scheduler_conflict(const struct model *m, const struct gang_entry *e)
{
	const struct non_member_sum *s;
	const struct pod_entry *p;
	char *text;

	if (e->non_members == SLOT_NONE || e->members == 0 || !dialects[e->dialect]->one_scheduler)
		return NULL;
	s = non_member_sum_at(m, e->non_members);
	if (s->foreign == 0)
		return NULL;
	p = pod_at(m, e->members_first);
	if (asprintf(&text, "members disagree: spec.schedulerName is %s on pod %s and %s on others",
	             intern_text(&m->schedulers, p->scheduler), next_text(p->texts),
	             intern_text(&m->schedulers, s->scheduler)) < 0)
		fatal_memory();
	return text;
}

void gang_refresh(struct model *m, uint32_t gang)
{
	struct gang_entry *e = gang_at(m, gang);

	assert(e->entry.slot.live);
	e->declared_spec = pick_declared_spec(m, e);
	free(e->conflict);
	e->conflict = e->specs_n > 1 ? declared_conflict(m, gang) : scheduler_conflict(m, e);
	if (e->members > 0)
		store_mark_dirty(&m->gangs, gang);
}

/* True if *n changed from or to 0. */
static bool count_one(uint32_t *n, bool more)
{
	assert(more || *n > 0);
	*n += more ? 1 : UINT32_MAX;
	return *n == (more ? 1u : 0u);
}

/* True if objects of two dialects may describe it. */
static bool gang_is_shared(const struct gang_entry *e)
{
	return e->dialect + 1 < dialects_n && dialects[e->dialect + 1]->shares == dialects[e->dialect];
}

/* Count a member by its mark and its declared spec; true if the gang's record may change. */
static bool gang_count(struct model *m, uint32_t gang, const struct pod_entry *p, bool more)
{
	struct gang_entry *e = gang_at(m, gang);
	bool changed = count_one(&e->named[p->gang_dialect - e->dialect], more) && gang_is_shared(e);

	assert(e->specs_n <= e->members + 1);
	if (p->declared_spec != ID_NONE &&
	    count_one(&declared_spec_at(m, p->declared_spec)->uses, more)) {
		e->specs_n += more ? 1 : UINT32_MAX;
		changed = true;
	}
	return changed;
}

/* The record of a gang follows from its members. */
static void gang_changed(struct model *m, uint32_t gang)
{
	gang_refresh(m, gang);
	store_mark_dirty(&m->gangs, gang);
}

static void gang_leave(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	uint32_t gang = p->gang;
	struct gang_entry *e;

	if (gang == ID_NONE)
		return;
	e = gang_at(m, gang);
	chain_remove(&m->pods.pool, offsetof(struct pod_entry, gang_link), &e->members_first, pod);
	p->gang = ID_NONE;
	assert(e->members > 0);
	e->members--;
	assert((e->members == 0) == (e->members_first == SLOT_NONE));
	if (gang_count(m, gang, p, false))
		gang_changed(m, gang);
	gang_release_if_unused(m, gang);
}

static void gang_join(struct model *m, uint32_t gang, uint32_t pod)
{
	struct gang_entry *e = gang_at(m, gang);
	struct pod_entry *p = pod_at(m, pod);

	assert(p->gang == ID_NONE && e->entry.slot.live);
	assert(p->gang_dialect - e->dialect < 2);
	chain_push(&m->pods.pool, offsetof(struct pod_entry, gang_link), &e->members_first, pod);
	p->gang = gang;
	/* The first member, also of another run than the one that was whole. */
	if (e->members++ == 0 &&
	    (e->non_members == SLOT_NONE || non_member_sum_at(m, e->non_members)->counts.ours == 0))
		e->whole = false;
	if (gang_count(m, gang, p, true))
		gang_changed(m, gang);
	else if (e->members == 1)
		store_mark_dirty(&m->gangs, gang);
}

void gang_place(struct model *m, uint32_t pod, uint32_t gang, uint32_t dialect, uint32_t spec)
{
	struct pod_entry *p = pod_at(m, pod);
	bool changed;

	assert(gang == ID_NONE || dialect_family(dialect) == gang_at(m, gang)->dialect);
	assert(gang == ID_NONE || spec == ID_NONE || declared_spec_at(m, spec)->gang == gang);
	if (p->gang != gang)
		gang_leave(m, pod);
	if (p->gang == ID_NONE) {
		p->gang_dialect = dialect;
		p->declared_spec = spec;
		if (gang != ID_NONE)
			gang_join(m, gang, pod);
		return;
	}
	if (p->gang_dialect == dialect && p->declared_spec == spec)
		return;
	changed = gang_count(m, gang, p, false);
	p->gang_dialect = dialect;
	p->declared_spec = spec;
	changed |= gang_count(m, gang, p, true);
	if (changed)
		gang_changed(m, gang);
}
