/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/dialect/dialects.h"

#include "frontend/dialect/dialect_read.h"
#include "frontend/decode/object.h"
#include "ipc/clean.h"

#include <assert.h>
#include <string.h>

extern const struct dialect dialect_podgroup, dialect_podgroup_old, dialect_lightweight,
	dialect_configmap, dialect_annotations, dialect_native, dialect_volcano, dialect_koordinator,
	dialect_kueue, dialect_yunikorn, dialect_kai, dialect_leaderworkerset; /* dialect_*.c */

const struct dialect *const dialects[] = {
	&dialect_podgroup,    &dialect_podgroup_old, &dialect_lightweight, &dialect_configmap,
	&dialect_annotations, &dialect_native,       &dialect_volcano,     &dialect_koordinator,
	&dialect_kueue,       &dialect_yunikorn,     &dialect_kai,         &dialect_leaderworkerset,
};
const size_t dialects_n = sizeof(dialects) / sizeof(dialects[0]);
static_assert(sizeof(dialects) / sizeof(dialects[0]) <= 64, "bits of what is off");

int dialect_find(const char *name)
{
	for (uint32_t i = 0; i < dialects_n; i++)
		if (strcmp(dialects[i]->name, name) == 0)
			return (int)i;
	return -1;
}

uint32_t dialect_family(uint32_t dialect)
{
	assert(dialect < dialects_n);
	return dialects[dialect]->shares ? dialect - 1 : dialect;
}

#define GROUP_NAME_BYTES_MAX 253

enum place { LABEL, ANNOTATION };

/* A mark of a system that is not supported yet. */
struct other_mark {
	const char *system;
	enum place place;
	const char *key;
};

static const struct other_mark others[] = {
	{ "Goedel", LABEL, "godel.bytedance.com/pod-group-name" },
	{ "Goedel", ANNOTATION, "godel.bytedance.com/pod-group-name" },
};

static const struct pairs *place_of(const struct pod_object *pod, const struct other_mark *m)
{
	return m->place == ANNOTATION ? &pod->meta.annotations : &pod->meta.labels;
}

static const char *place_name(const struct other_mark *m)
{
	return m->place == ANNOTATION ? "annotation" : "label";
}

/* The value of the mark, or NULL. */
static const char *other_value(const struct pod_object *pod, const struct other_mark *m,
                               struct arena *arena)
{
	const struct pairs *pairs = place_of(pod, m);
	const struct text *value = pairs_find(pairs, m->key);
	const char *text;

	if (!value)
		return NULL;
	text = m->place == ANNOTATION ? extract_annotation(*value, arena) : arena_copy(arena, *value);
	return text && *text ? text : NULL;
}

/* The result so far: the first group and its mark. */
struct found {
	const char *group;
	const char *mark; /* "label KEY" */
	const char *refusal;
	bool supported; /* `group` is of dialects[dialect] */
	uint32_t dialect;
};

/* Adds a mark that names a group. */
static void found_group(struct found *f, struct arena *arena, const char *group, const char *mark)
{
	if (!f->group) {
		f->group = group;
		f->mark = mark;
	} else if (strcmp(f->group, group) != 0 && !f->refusal) {
		f->refusal = arena_printf(arena, "%s names group %.253s, %s names group %.253s", f->mark,
		                          f->group, mark, group);
	}
}

/* The order in which marks count. */
enum rank { RANK_FIRST, RANK_YIELDS, RANK_NOT_SERVED };

static enum rank rank_of(const struct pod_object *pod, uint32_t dialect, uint64_t served)
{
	const struct dialect *d = dialects[dialect];

	if (d->if_served && !(served >> dialect & 1))
		return RANK_NOT_SERVED;
	return d->yields || (d->pod_yields && d->pod_yields(pod)) ? RANK_YIELDS : RANK_FIRST;
}

/* The annotation of that name is not a text that can be read, such as one with a NUL: the pod is
 * not one without it. */
static bool is_unreadable(const struct pod_object *pod, const char *mark, struct arena *arena)
{
	static const char annotation[] = "annotation ";
	const struct text *value;

	if (strncmp(mark, annotation, sizeof(annotation) - 1) != 0)
		return false;
	value = pairs_find(&pod->meta.annotations, mark + sizeof(annotation) - 1);
	return value && !extract_annotation(*value, arena);
}

/* As JSON, without its quotes. */
static const char *raw_annotation(const struct pod_object *pod, const char *mark,
                                  struct arena *arena)
{
	struct text raw = *pairs_find(&pod->meta.annotations, strchr(mark, ' ') + 1);

	if (raw.bytes >= 2 && raw.at[0] == '"')
		raw = (struct text){ raw.at + 1, raw.bytes - 2 };
	return arena_copy(arena, raw);
}

static enum mark mark_of(const struct pod_object *pod, const struct dialect *d, struct arena *arena,
                         const char **name)
{
	enum mark mark;

	for (int i = 0; i < 2 && pod->meta.annotations.n > 0; i++) {
		const char *read = i == 0 ? d->mark : d->quorum_mark;

		if (read && is_unreadable(pod, read, arena))
			return read_refused_mark(pod, read, raw_annotation(pod, read, arena),
			                         "not a text that can be read", arena, name);
	}
	mark = d->pod_mark(pod, arena, name);
	if (mark == MARK_MEMBER && !clean_is(*name))
		return read_refused_mark(pod, d->mark, *name, "a group's name has no control characters",
		                         arena, name);
	return mark;
}

static void find_mark(const struct pod_object *pod, uint32_t dialect, struct arena *arena,
                      struct found *f)
{
	const char *name;

	switch (mark_of(pod, dialects[dialect], arena, &name)) {
	case MARK_NONE:
		break;
	case MARK_REFUSED:
		if (!f->refusal)
			f->refusal = name;
		break;
	case MARK_MEMBER:
		if (!f->group) {
			f->supported = true;
			f->dialect = dialect;
		}
		found_group(f, arena, name, dialects[dialect]->mark);
		break;
	}
}

static void find_supported(const struct pod_object *pod, uint64_t off, uint64_t served,
                           enum rank rank, struct arena *arena, struct found *f)
{
	for (uint32_t i = 0; i < dialects_n; i++) {
		if (off >> i & 1 || rank_of(pod, i, served) != rank)
			continue;
		find_mark(pod, i, arena, f);
		if (rank == RANK_NOT_SERVED && f->group)
			return;
	}
}

static void find_others(const struct pod_object *pod, struct arena *arena, struct found *f,
                        const char **unsupported)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct other_mark *m = &others[i];
		const char *value = other_value(pod, m, arena);

		if (!value)
			continue;
		if (!*unsupported)
			*unsupported = arena_printf(arena, "muster does not support %s groups yet (%s %s)",
			                            m->system, place_name(m), m->key);
		found_group(f, arena, value, arena_printf(arena, "%s %s", place_name(m), m->key));
	}
}

int dialect_mark(const struct pod_object *pod, uint64_t off, uint64_t served, struct arena *arena,
                 struct group_mark *out)
{
	struct found f = { 0 };
	const char *unsupported = NULL;

	*out = (struct group_mark){ .mark = MARK_NONE };
	find_supported(pod, off, served, RANK_FIRST, arena, &f);
	find_others(pod, arena, &f, &unsupported);
	for (enum rank rank = RANK_YIELDS; rank <= RANK_NOT_SERVED && !f.group && !f.refusal; rank++)
		find_supported(pod, off, served, rank, arena, &f);
	if (!f.refusal && !f.supported)
		f.refusal = unsupported;
	if (f.refusal) {
		out->mark = MARK_REFUSED;
		out->name = f.refusal;
		if (f.supported && strlen(f.group) <= GROUP_NAME_BYTES_MAX) {
			out->dialect = f.dialect;
			out->group = f.group;
		}
	} else if (f.group && strlen(f.group) > GROUP_NAME_BYTES_MAX) {
		out->mark = MARK_REFUSED;
		out->name = arena_printf(arena, "%s is longer than %d bytes", f.mark, GROUP_NAME_BYTES_MAX);
	} else if (f.group) {
		out->mark = MARK_MEMBER;
		out->dialect = f.dialect;
		out->name = f.group;
	}
	return 0;
}

bool dialect_pod_spec(const struct pod_object *pod, uint32_t dialect, struct arena *arena,
                      struct group_spec *out)
{
	const struct dialect *d = dialects[dialect];
	bool declares;

	assert(dialect < dialects_n);
	*out = (struct group_spec){ 0 };
	declares = d->pod_group && d->pod_group(pod, arena, out);
	read_levels(&pod->meta.annotations, out, arena);
	return declares || out->levels_n > 0 || out->refusal;
}
