/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/unroll_parts.h"

#include "ctl/term/ctl.h"
#include "frontend/json/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* staging/src/k8s.io/apiserver/pkg/storage/names/generate.go: of 63 characters five are random. */
#define GENERATED_PREFIX_MAX 58
#define GENERATED_CHARACTERS 5

static const struct kind {
	const char *group; /* with its slash */
	const char *kind;
	bool (*unroll)(const struct workload *w);
} kinds[] = {
	{ "apps/", "Deployment", unroll_deployment },
	{ "apps/", "ReplicaSet", unroll_replicaset },
	{ "apps/", "StatefulSet", unroll_statefulset },
	{ "batch/", "Job", unroll_job },
	{ "jobset.x-k8s.io/", "JobSet", unroll_jobset },
	{ "leaderworkerset.x-k8s.io/", "LeaderWorkerSet", unroll_leaderworkerset },
};

static const struct kind *kind_of(const struct object *o)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].kind, o->kind) == 0 &&
		    strncmp(o->api_version, kinds[i].group, strlen(kinds[i].group)) == 0)
			return &kinds[i];
	return NULL;
}

bool unroll_takes(const struct object *object)
{
	return kind_of(object) != NULL;
}

static void read_owner(struct arena *arena, struct text references, struct existing *e)
{
	struct text one;
	struct json j;

	if (references.at == NULL || references.at[0] != '[')
		return;
	json_begin(&j, references.at, references.bytes, arena);
	if (!json_array(&j))
		return;
	while (json_item(&j)) {
		struct members m;

		if (!json_raw(&j, &one))
			return;
		m = members_of(arena, one);
		if (!text_is(members_get(&m, "controller"), "true"))
			continue;
		e->owner_kind = raw_text(arena, members_get(&m, "kind"));
		e->owner_name = raw_text(arena, members_get(&m, "name"));
	}
}

static void read_pod(struct arena *arena, const struct object *o, struct text metadata,
                     struct existing *e)
{
	const struct text phase = raw_text(arena, members_find(arena, o->json, "status.phase"));
	const struct members annotations =
		members_of(arena, members_find(arena, metadata, "annotations"));
	const struct text index =
		raw_text(arena, members_get(&annotations, "batch.kubernetes.io/job-completion-index"));

	e->succeeded = text_is(phase, "Succeeded");
	e->runs = !e->succeeded && !text_is(phase, "Failed") &&
	          members_find(arena, metadata, "deletionTimestamp").at == NULL;
	if (!raw_number(index, &e->index) || e->index < 0)
		e->index = -1;
}

/* By the owner, then by index, so that the indexes of a Job ascend. */
static int compare_owner(const struct existing *a, const struct existing *b)
{
	int order = strcmp(a->namespace, b->namespace);

	if (order == 0)
		order = text_order(a->owner_kind, b->owner_kind);
	return order != 0 ? order : text_order(a->owner_name, b->owner_name);
}

static int compare_by_owner(const void *a, const void *b)
{
	const struct existing *x = a, *y = b;
	const int order = compare_owner(x, y);

	return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static int compare_by_name(const void *a, const void *b)
{
	const struct existing *x = *(const struct existing *const *)a;
	const struct existing *y = *(const struct existing *const *)b;
	int order = strcmp(x->kind, y->kind);

	if (order == 0)
		order = strcmp(x->namespace, y->namespace);
	return order != 0 ? order : strcmp(x->name, y->name);
}

static void take_existing(struct unrolling *u)
{
	size_t n;
	const struct object *objects = files_objects(u->files, &n);

	u->by_owner = must_array(n + 1, sizeof(*u->by_owner));
	u->by_name = must_array(n + 1, sizeof(const struct existing *));
	for (size_t i = 0; i < n; i++) {
		const struct object *o = &objects[i];
		struct existing *e = &u->by_owner[u->existing_n];
		struct text metadata;

		if (strcmp(o->kind, "Pod") != 0 && strcmp(o->kind, "PersistentVolumeClaim") != 0 &&
		    kind_of(o) == NULL)
			continue;
		*e = (struct existing){ o->kind,   o->namespace, o->name, { "", 0 },
			                    { "", 0 }, false,        false,   -1 };
		metadata = members_find(&u->arena, o->json, "metadata");
		read_owner(&u->arena, members_find(&u->arena, metadata, "ownerReferences"), e);
		if (strcmp(o->kind, "Pod") == 0) {
			u->pods_in_files++;
			read_pod(&u->arena, o, metadata, e);
		}
		u->existing_n++;
	}
	if (u->existing_n == 0)
		return;
	qsort(u->by_owner, u->existing_n, sizeof(*u->by_owner), compare_by_owner);
	for (size_t i = 0; i < u->existing_n; i++)
		u->by_name[i] = &u->by_owner[i];
	qsort(u->by_name, u->existing_n, sizeof(const struct existing *), compare_by_name);
}

const struct existing *unroll_owned(const struct workload *w, const char *kind, const char *name,
                                    size_t *n)
{
	const struct unrolling *u = w->u;
	const struct existing key = { .namespace = w->object.namespace,
		                          .owner_kind = text_of(kind),
		                          .owner_name = text_of(name) };
	size_t low = 0, high = u->existing_n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare_owner(&u->by_owner[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < u->existing_n && compare_owner(&u->by_owner[low + *n], &key) == 0; ++*n)
		;
	return &u->by_owner[low];
}

bool unroll_exists(const struct workload *w, const char *kind, const char *name)
{
	const struct existing e = { .kind = kind, .namespace = w->object.namespace, .name = name };
	const struct existing *key = &e;

	return bsearch(&key, w->u->by_name, w->u->existing_n, sizeof(const struct existing *),
	               compare_by_name) != NULL;
}

struct text unroll_raw(const struct workload *w, const char *path)
{
	return members_find(&w->u->arena, w->object.json, path);
}

const char *unroll_text(const struct workload *w, const char *path)
{
	return arena_copy(&w->u->arena, raw_text(&w->u->arena, unroll_raw(w, path)));
}

bool unroll_is_true(const struct workload *w, const char *path)
{
	return text_is(unroll_raw(w, path), "true");
}

bool unroll_number(const struct workload *w, const char *path, long long otherwise, long long max,
                   long long *out)
{
	const struct text raw = unroll_raw(w, path);

	*out = otherwise;
	if (raw.at == NULL || (raw_number(raw, out) && *out >= 0 && *out <= max))
		return true;
	return unroll_fail(w, "%s: %.*s: not a whole number from 0 to %lld", path,
	                   raw.bytes > 60 ? 60 : (int)raw.bytes, raw.at, max);
}

/* "Deployment default/web: ..." */
__attribute__((format(printf, 4, 0))) static void
put_what(const struct workload *w, char *out, size_t out_bytes, const char *format, va_list args)
{
	const int n =
		snprintf(out, out_bytes, "%s %s/%s: ", w->object.kind, w->object.namespace, w->object.name);

	if (n > 0 && (size_t)n < out_bytes)
		vsnprintf(out + n, out_bytes - (size_t)n, format, args);
}

bool unroll_fail(const struct workload *w, const char *format, ...)
{
	char where[512], what[768];
	va_list args;

	va_start(args, format);
	put_what(w, what, sizeof(what), format, args);
	va_end(args);
	snprintf(w->u->error, w->u->error_bytes, "%s: %s",
	         object_where(&w->object, where, sizeof(where)), what);
	return false;
}

bool unroll_note(const struct workload *w, const char *format, ...)
{
	char what[768];
	va_list args;

	va_start(args, format);
	put_what(w, what, sizeof(what), format, args);
	va_end(args);
	ctl_plain(what);
	bytes_put(&w->u->notes, "not unrolled: ");
	bytes_put(&w->u->notes, what);
	bytes_put(&w->u->notes, "\n");
	return true;
}

static unsigned long long mix(unsigned long long hash, struct text t)
{
	for (size_t i = 0; i < t.bytes; i++)
		hash = (hash ^ (unsigned char)t.at[i]) * 0x100000001b3ULL; /* FNV-1a */
	return hash;
}

#define HASH_SEED 0xcbf29ce484222325ULL

/* k8s.io/apimachinery/pkg/util/rand: no vowels, and nothing that looks like another. */
static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";

const char *unroll_hash(struct arena *arena, struct text of)
{
	char digits[32];

	/* A controller-manager hashes the template as it has it in memory to 32 bits, and encodes the
	 * decimal digits; only the form can be the same. */
	snprintf(digits, sizeof(digits), "%u", (unsigned)(mix(HASH_SEED, of) >> 32));
	for (char *p = digits; *p != '\0'; p++)
		*p = alphabet[(unsigned char)*p % (sizeof(alphabet) - 1)];
	return arena_copy(arena, text_of(digits));
}

const char *unroll_name(const struct workload *w, const char *prefix, unsigned long long seed)
{
	/* 27^5 names; the factor is coprime to it, so that no seed below repeats another's. */
	const unsigned long long names = 14348907, factor = 5167919;
	const unsigned long long hash =
		mix(mix(HASH_SEED, text_of(w->object.namespace)), text_of(prefix));

	for (;; seed += UNROLL_PODS_MAX) {
		char tail[GENERATED_CHARACTERS + 1] = "";
		unsigned long long rest = (hash % names + seed % names * factor) % names;
		const char *name;

		for (int i = 0; i < GENERATED_CHARACTERS; i++, rest /= sizeof(alphabet) - 1)
			tail[i] = alphabet[rest % (sizeof(alphabet) - 1)];
		name = arena_printf(&w->u->scratch, "%.*s%s", GENERATED_PREFIX_MAX, prefix, tail);
		if (!unroll_exists(w, "Pod", name))
			return name;
	}
}

struct text unroll_joined(struct arena *arena, struct text raw, const struct members *more)
{
	struct members m = members_of(arena, raw);

	for (size_t i = 0; i < more->n; i++)
		members_set(arena, &m, arena_copy(arena, more->at[i].name), more->at[i].raw);
	return members_print(arena, &m);
}

void unroll_add(const struct workload *w, const char *api_version, const char *kind,
                const char *name, struct members *metadata, struct text spec)
{
	struct arena *arena = &w->u->scratch;
	const struct object *o = &w->object;
	struct members reference = { 0 }, object = { 0 };
	struct text printed;

	members_set_text(arena, metadata, "name", name);
	members_set_text(arena, metadata, "namespace", o->namespace);
	if (w->created.at != NULL)
		members_set(arena, metadata, "creationTimestamp", w->created);
	members_set_text(arena, &reference, "apiVersion", o->api_version);
	members_set_text(arena, &reference, "kind", o->kind);
	members_set_text(arena, &reference, "name", o->name);
	members_set(arena, &reference, "uid", w->uid.at != NULL ? w->uid : text_of("\"unrolled\""));
	members_set(arena, &reference, "controller", text_of("true"));
	printed = members_print(arena, &reference);
	members_set(arena, metadata, "ownerReferences",
	            text_of(arena_printf(arena, "[%.*s]", (int)printed.bytes, printed.at)));
	members_set_text(arena, &object, "apiVersion", api_version);
	members_set_text(arena, &object, "kind", kind);
	members_set(arena, &object, "metadata", members_print(arena, metadata));
	members_set(arena, &object, "spec", spec);
	files_make(w->u->files, o, api_version, kind, name, members_print(arena, &object));
	arena_reset(arena);
}

bool unroll_has_room(const struct workload *w, long long pods)
{
	if (pods <= (long long)(UNROLL_PODS_MAX - w->u->pods))
		return true;
	unroll_note(w, "%lld pods: with the others more than %d", pods, UNROLL_PODS_MAX);
	return false;
}

void unroll_add_pod(const struct workload *w, struct text template, const char *name,
                    const struct members *labels, const struct members *annotations,
                    struct text spec)
{
	struct arena *arena = &w->u->scratch;
	struct members metadata = { 0 };

	w->u->pods++;
	members_set(arena, &metadata, "labels",
	            unroll_joined(arena, members_find(arena, template, "metadata.labels"), labels));
	members_set(
		arena, &metadata, "annotations",
		unroll_joined(arena, members_find(arena, template, "metadata.annotations"), annotations));
	unroll_add(w, "v1", "Pod", name, &metadata, spec);
}

static bool one(struct unrolling *u, const struct kind *kind, const struct object *object)
{
	struct workload w = { .u = u, .object = *object };

	w.uid = unroll_raw(&w, "metadata.uid");
	w.created = unroll_raw(&w, "metadata.creationTimestamp");
	if (unroll_raw(&w, "metadata.deletionTimestamp").at != NULL)
		return unroll_note(&w, "it is being deleted");
	/* Its controller has made its pods there, so they are in the files, or were left out. */
	if (w.uid.at != NULL)
		return u->pods_in_files > 0 ||
		       unroll_note(&w, "it comes from a server, and the files have no pods");
	return kind->unroll(&w);
}

bool unroll(struct files *files, char *error, size_t error_bytes)
{
	struct unrolling u = { .files = files, .error = error, .error_bytes = error_bytes };
	size_t n, workloads = 0;
	bool ok = true;

	files_objects(files, &n);
	for (size_t i = 0; i < n; i++)
		workloads += unroll_takes(&files_objects(files, &n)[i]);
	if (workloads == 0)
		return true;
	take_existing(&u);
	/* What is made is added behind, so it is unrolled as well. */
	for (size_t i = 0; ok && i < n; i++) {
		const struct object *o = &files_objects(files, &n)[i];
		const struct kind *kind = kind_of(o);

		if (kind != NULL)
			ok = one(&u, kind, o);
		files_objects(files, &n);
	}
	if (u.pods > 0) {
		char made[64];

		snprintf(made, sizeof(made), "%zu pods of workloads were made\n", u.pods);
		bytes_put(&u.notes, made);
	}
	files_note(files, (struct text){ u.notes.at, u.notes.n });
	bytes_free(&u.notes);
	free(u.by_owner);
	free(u.by_name);
	arena_free(&u.arena);
	arena_free(&u.scratch);
	return ok;
}
