/* SPDX-License-Identifier: Apache-2.0 */
/* What pods say of their group, where that is all there is of it, or beside its object: a quorum,
 * roles, levels.  Members of a gang that say the same hold one description, found by what it says,
 * so that a member that comes or goes costs one look; two in one gang are a disagreement. */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
	const struct model *m;
	uint32_t gang;
	const char *body;
	size_t bytes;
	const char *refusal, *agree;
};

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct description *d = description_at(w->m, slot);

	return d->gang == w->gang && d->object.bytes == w->bytes &&
	       memcmp(d->object.body, w->body, w->bytes) == 0 &&
	       is_same(d->object.refusal, w->refusal) && is_same(d->agree, w->agree);
}

static uint32_t wanted_hash(const struct wanted *w)
{
	uint64_t hash = siphash(w->m->hash_key, w->body, w->bytes) + w->gang;

	if (w->agree)
		hash += siphash(w->m->hash_key, w->agree, strlen(w->agree));
	return (uint32_t)hash;
}

/* A new one, not held yet; it takes over what m->body holds. */
static int describe_new(struct model *m, const struct wanted *w, uint32_t hash, uint32_t *slot)
{
	struct group_object o = { .there = true,
		                      .bytes = (uint32_t)w->bytes,
		                      .body = malloc(w->bytes) };
	char *agree = w->agree ? strdup(w->agree) : NULL;
	struct description *d;

	o.refusal = w->refusal ? strdup(w->refusal) : NULL;
	if (!o.body || (w->agree && !agree) || (w->refusal && !o.refusal) ||
	    table_reserve(&m->descriptions_index) < 0 || pool_take(&m->descriptions, slot) < 0) {
		free(o.body);
		free(o.refusal);
		free(agree);
		return -ENOMEM;
	}
	memcpy(o.body, w->body, w->bytes);
	d = description_at(m, *slot);
	d->hash = hash;
	d->gang = w->gang;
	d->object = o;
	d->agree = agree;
	table_put(&m->descriptions_index, hash, *slot);
	return 0;
}

int describe_take(struct model *m, uint32_t gang, uint32_t dialect, const struct pod_object *pod,
                  uint32_t *description, const char **flag)
{
	struct group_spec spec;
	struct wanted w = { .m = m, .gang = gang };
	uint32_t slot;
	int rc;

	*description = ID_NONE;
	if (!dialect_pod_says(pod, dialect, &m->arena, &spec))
		return m->arena.failed ? -ENOMEM : 0;
	if (!spec.refusal && spec.quorum > m->limits.pods)
		spec.refusal = arena_printf(&m->arena, "the quorum of %u is more than --max-pods, %u",
		                            spec.quorum, m->limits.pods);
	if (m->arena.failed)
		return -ENOMEM;
	rc = group_build(m, dialect, 0, &spec, flag);
	if (rc < 0)
		return rc;
	w.body = m->body.at;
	w.bytes = m->body.bytes;
	w.refusal = spec.refusal;
	w.agree = spec.agree;
	slot = table_find(&m->descriptions_index, wanted_hash(&w), is_wanted, &w);
	if (slot == SLOT_NONE)
		rc = describe_new(m, &w, wanted_hash(&w), &slot);
	if (slot == SLOT_NONE || description_at(m, slot)->refs > 0)
		group_release(m, m->body.at);
	if (rc < 0)
		return rc;
	description_at(m, slot)->refs++;
	*description = slot;
	return 0;
}

void describe_give(struct model *m, uint32_t description)
{
	struct description *d = description_at(m, description);

	if (--d->refs > 0)
		return;
	table_remove(&m->descriptions_index, d->hash, description);
	group_object_clear(m, &d->object);
	free(d->agree);
	d->agree = NULL;
	pool_give(&m->descriptions, description);
}

/* ---- how they differ --------------------------------------------------------------------- */

static const char *pod_name(const struct model *m, uint32_t pod)
{
	const char *texts = pod_at(m, pod)->texts;

	return texts ? texts + strlen(texts) + 1 : "";
}

static const struct event_gang *body_of(const struct description *d)
{
	return (const void *)d->object.body;
}

/* "a, b" */
static void levels_text(const struct model *m, const struct description *d, char *out,
                        size_t out_bytes)
{
	uint32_t n = body_of(d)->levels_n;
	const struct gang_level *l =
		(const struct gang_level *)(const void *)(d->object.body + d->object.bytes) - n;
	int at = snprintf(out, out_bytes, "%s", n == 0 ? "not given" : "");

	for (uint32_t i = 0; i < n && (size_t)at < out_bytes; i++)
		at += snprintf(out + at, out_bytes - (size_t)at, "%s%s %.200s", i ? ", " : "",
		               l[i].flags & LEVEL_REQUIRED ? "required" : "preferred",
		               intern_text(&m->keys, l[i].topology));
}

static char *difference(const struct model *m, const struct dialect *dialect, uint32_t a,
                        uint32_t b)
{
	const struct description *x = description_at(m, pod_at(m, a)->description);
	const struct description *y = description_at(m, pod_at(m, b)->description);
	const char *what = "the topology", *before = NULL;
	char left[900], right[900], *text = NULL;

	if (x->object.refusal || y->object.refusal) {
		if (asprintf(&text, "pod %s: %s", pod_name(m, x->object.refusal ? a : b),
		             x->object.refusal ? x->object.refusal : y->object.refusal) < 0)
			return NULL;
		return text;
	}
	if (body_of(x)->quorum != body_of(y)->quorum) {
		what = dialect->quorum_mark;
		before = dialect->quorum_differs;
		snprintf(left, sizeof(left), "%u", body_of(x)->quorum);
		snprintf(right, sizeof(right), "%u", body_of(y)->quorum);
	} else if (!is_same(x->agree, y->agree)) {
		what = dialect->agree_mark;
		before = dialect->agree_differs;
		snprintf(left, sizeof(left), "%s", x->agree ? x->agree : "not given");
		snprintf(right, sizeof(right), "%s", y->agree ? y->agree : "not given");
	} else {
		levels_text(m, x, left, sizeof(left));
		levels_text(m, y, right, sizeof(right));
		if (strcmp(left, right) == 0)
			what = "what they ask for";
	}
	if (asprintf(&text, "%s: %s is %s on pod %s and %s on pod %s",
	             before ? before : "members disagree", what ? what : "the quorum", left,
	             pod_name(m, a), right, pod_name(m, b)) < 0)
		return NULL;
	return text;
}

char *describe_difference(const struct model *m, uint32_t gang)
{
	const struct gang_entry *e = gang_at(m, gang);
	uint32_t a = SLOT_NONE;

	for (uint32_t p = e->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_next) {
		if (pod_at(m, p)->description == ID_NONE)
			continue;
		if (a == SLOT_NONE)
			a = p;
		else if (pod_at(m, p)->description != pod_at(m, a)->description)
			return difference(m, dialects[e->dialect], a, p);
	}
	return NULL;
}
